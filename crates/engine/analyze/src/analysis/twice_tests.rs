//! One path measured twice: what a comparison says of it.

use std::fmt::Write as _;

use romer_record::comparison::ComparisonVerdict;
use romer_report::comparison::{Subject, compare};
use romer_units::random::{RandomStream, Seed};

use super::{Analysis, analyze};

const PACKETS: u32 = 1_500;

/// How long packets wait.
#[derive(Clone, Copy, Debug)]
enum Waits {
    Normal,
    Remembering,
    Gamma,
    Exponential,
}

/// A run of packets one way, 20 ms apart, by clocks of one rate.
fn run(waits: Waits, seed: u32, which: u32) -> String {
    let random = RandomStream::new(Seed([seed, 0x7477_6963, 0, 0, 0, 0]), [which, 0]);
    let unit = |place: u64| random.unit(place).clamp(1e-12, 1.0 - 1e-12);
    let exponential = |place: u64| -unit(place).ln();
    let mut last = 0.0;
    let mut text = String::from("sequence,size,sent_ns,received_ns\n");
    for n in 0..PACKETS {
        let place = u64::from(n) * 3;
        let normal =
            (2.0 * exponential(place)).sqrt() * (std::f64::consts::TAU * unit(place + 1)).cos() * 2e5;
        last = 0.7 * last + normal;
        let wait = match waits {
            Waits::Normal => normal,
            Waits::Remembering => last,
            Waits::Gamma => 3e5 * (0..3).map(|one| exponential(place + one)).sum::<f64>(),
            Waits::Exponential => 1e6 * exponential(place),
        };
        let sent = 1_000_000_000_000 + i64::from(n) * 20_000_000;
        #[expect(clippy::cast_possible_truncation, reason = "some milliseconds")]
        let received = sent + 10_000_000 + wait.round() as i64;
        writeln!(text, "{n},100,{sent},{received}").unwrap();
    }
    text
}

/// How many of so many pairs show no difference of the median.
fn shown_alike(waits: Waits, pairs: u32) -> usize {
    let folder = std::env::temp_dir().join(format!("romer-twice-{}-{waits:?}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let alike = (0..pairs).filter(|seed| {
        let [a, b] = [0, 1].map(|which| {
            let file = folder.join(format!("{which}.csv"));
            std::fs::write(&file, run(waits, *seed, which)).unwrap();
            analyze(&Analysis::new(&file, String::new())).unwrap()
        });
        let subject = |name, evaluated| Subject { name, stream: evaluated };
        let compared = compare(
            &subject("A", a.for_report()),
            &subject("B", b.for_report()),
            Some("delay_ns.median".parse().unwrap()),
        );
        let compared = compared.unwrap();
        let one = &compared.directions[0];
        assert_ne!(one.verdict, ComparisonVerdict::Inconclusive, "{waits:?}: {}", one.text);
        one.verdict == ComparisonVerdict::NotSignificant
    });
    let alike = alike.count();
    std::fs::remove_dir_all(&folder).unwrap();
    alike
}

/// Where 95 % hold, fewer than 16 of 24 are one play in a million. (Of those with normal waits 3 of 20 held.)
#[test]
fn one_path_measured_twice_is_no_two() {
    let held = [Waits::Normal, Waits::Remembering, Waits::Gamma, Waits::Exponential]
        .map(|waits| (waits, shown_alike(waits, 24)));
    assert!(held.iter().all(|(_, held)| *held >= 16), "{held:?}");
}
