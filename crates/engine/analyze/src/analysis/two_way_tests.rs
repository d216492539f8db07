//! Files of both directions: when and how much what is told of clocks and path was.

use std::path::PathBuf;

use romer_record::document::ClockEvent;
use romer_units::random::{RandomStream, Seed};

use super::file_tests::{MS, Packet, SECOND, folder, table};
use super::{Analysis, analyze};

/// One packet in so long.
const INTERVAL: i64 = 20 * MS;

/// What is told of so many packets that wait some 50 microseconds, by a responder's clock that runs so much faster and is set by `step`, while the
/// way there becomes longer by `longer`; both at a moment.
fn detected(
    name: &str,
    seed: u32,
    count: i64,
    (ppm, step, longer, at): (i64, i64, i64, i64),
) -> Vec<ClockEvent> {
    let random = RandomStream::new(Seed([seed, 9, 0, 0, 0, 0]), [0, 0]);
    let mut drawn = 0;
    let mut wait = || {
        drawn += 1;
        #[expect(clippy::cast_possible_truncation, reason = "some microseconds")]
        let wait = (-(1.0 - random.unit(drawn)).ln() * 50e3) as i64;
        wait
    };
    let there: Vec<Packet> = (0..count)
        .map(|n| n * INTERVAL)
        .map(|left| (left, Some(left + 10 * MS + wait() + if left < at { 0 } else { longer })))
        .collect();
    let back: Vec<Packet> = there
        .iter()
        .map(|(_, came)| came.unwrap())
        .map(|left| (left, Some(left + 12 * MS + wait())))
        .collect();
    let far = |now: i64| 500 * SECOND + now + now * ppm / 1_000_000 + if now < at { 0 } else { step };
    let folder = folder(name);
    let files: [PathBuf; 2] = ["there.csv", "back.csv"].map(|name| folder.join(name));
    table(&files[0], &there, |left| 500 * SECOND + left, far);
    table(&files[1], &back, far, |came| 500 * SECOND + came);
    let mut analysis = Analysis::new(&files[0], String::new());
    analysis.reverse = Some(files[1].clone());
    let m = analyze(&analysis).unwrap().measurement;
    std::fs::remove_dir_all(&folder).unwrap();
    m.clock.events
}

/// (By the responder's clock, whose rate the interval left out, 20 of 40 were held.)
#[test]
fn a_ways_change_is_told_in_the_senders_seconds() {
    let mut missed = 0;
    for seed in 0..20 {
        let (ppm, longer) = ([-60, -35, 35, 60][seed as usize % 4], [3 * MS, 10 * MS][seed as usize / 4 % 2]);
        let events = detected("change", seed, 3_000, (ppm, 0, longer, 31 * SECOND));
        let [event] = &events[..] else { panic!("{seed}: {events:?}") };
        assert_eq!((event.kind.as_str(), event.direction.as_deref()), ("path-change", Some("forward")));
        let [low, high] = event.size_interval_ns.unwrap();
        missed += u32::from(longer < low || high < longer);
    }
    // Of 20 at 5 %, more than 6 with a probability of 3e-5.
    assert!(missed <= 6, "{missed} of 20");
}

/// (Of five minutes, by 90 to 250 ms late.)
#[test]
fn a_step_is_told_between_the_packets_where_it_was_however_long_the_run_is() {
    for seed in 0..4 {
        let at = (100 + 37 * i64::from(seed)) * SECOND;
        let step = [12 * MS, -15 * MS][seed as usize % 2];
        let events = detected("moment", seed, 15_000, (20, step, 0, at));
        let [event] = &events[..] else { panic!("{seed}: {events:?}") };
        assert_eq!(event.kind, "clock-step");
        assert!((event.at_ns - at).abs() <= 2 * INTERVAL, "{seed}: {at} {event:?}");
    }
}
