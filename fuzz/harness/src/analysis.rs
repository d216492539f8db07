//! Packet logs of other programs from the file to the document: whatever the packets say, there is a document or a refusal.

use romer_analyze::analysis::{Analysis, analyze};
use romer_report::text::{TextStyle, summary};

use crate::scratch::with_file;
use crate::{Seed, assert_message};

/// The longest message of a refusal.
const LONGEST_MESSAGE: usize = 2_000;
/// What a file is taken for, by its name.
const NAMES: [&str; 4] = ["log.csv", "log.raw", "log.json", "log"];

/// The first octet says what the rest is taken for.
pub(crate) fn run(octets: &[u8]) {
    let Some((kind, rest)) = octets.split_first() else { return };
    with_file(NAMES[usize::from(*kind) % NAMES.len()], rest, |path| {
        match analyze(&Analysis::new(path, "romer analyze".into())) {
            Ok(evaluated) => {
                let text = summary(&[evaluated.measurement], None, &TextStyle::default(), true);
                assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "control characters in {text:?}");
            }
            Err(error) => assert_message(&error, LONGEST_MESSAGE),
        }
    });
}

pub(crate) fn seeds() -> Vec<Seed> {
    let of = |kind: u8, text: &str| [&[kind][..], text.as_bytes()].concat();
    let four = |row: fn(i64) -> [i64; 4]| {
        let mut text = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n".to_owned();
        for number in 0..40 {
            let [t1, t2, t3, t4] = row(number);
            text += &format!("{number},44,{t1},{t2},{t3},{t4}\n");
        }
        of(0, &text)
    };
    let two = |row: fn(i64) -> [i64; 2]| {
        let mut text = "sequence,size,sent_ns,received_ns\n".to_owned();
        for number in 0..40 {
            let [sent, received] = row(number);
            text += &format!("{number},44,{sent},{received}\n");
        }
        of(0, &text)
    };
    let raw: String = (0..40).map(|n| format!("{}:{}:{}:64:{n}\n", n * 1_000, n * 1_000 + 30, 30)).collect();
    vec![
        Seed::new("empty", []),
        Seed::new(
            "round_trips",
            four(|n| [n * 20_000, n * 20_000 + 900, n * 20_000 + 950, n * 20_000 + 2_000]),
        ),
        Seed::new("one_way", two(|n| [n * 20_000, n * 20_000 + 900 + n % 7])),
        Seed::new("far_clock_stands", four(|n| [n * 20_000, 5, 5, n * 20_000 + 2_000])),
        Seed::new("far_clock_of_zero", four(|n| [n * 20_000, 0, 0, n * 20_000 + 2_000])),
        Seed::new("far_clock_saws", four(|n| [n * 20_000, n * 7 % 50, n * 7 % 50 + 1, n * 20_000 + 2_000])),
        Seed::new(
            "far_clock_runs_back",
            four(|n| [n * 20_000, -n * 20_000, -n * 20_000 + 1, n * 20_000 + 2_000]),
        ),
        Seed::new(
            "far_clock_at_the_edge",
            four(|n| [n * 20_000, i64::MAX / 2, i64::MAX / 2, n * 20_000 + 2_000]),
        ),
        Seed::new("arrives_before_it_leaves", four(|n| [n * 20_000, 0, 0, n * 20_000 - 2_000])),
        Seed::new("all_at_once", two(|_| [0, 0])),
        Seed::new("all_in_centuries", two(|n| [n * 100_000_000_000_000_000, n * 100_000_000_000_000_000])),
        Seed::new("raw", of(1, &raw)),
        Seed::new("irtt", of(2, r#"{"round_trips":[]}"#)),
        Seed::new("no_ending", of(3, "sequence,size,sent_ns,received_ns\n0,44,1,2\n")),
    ]
}
