//! A clock that lies in a known way: what it does to stamps, and whether an estimate is judged as it deserves.
#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use romer_clock::SimulatedClock;
use romer_clock::skew::{Estimate, InTurn, usable};
use romer_record::manifest::SkewRequest;
use romer_record::warning::SkewUnknown;
use romer_record::{RoundTrip, Stamps};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Clock, Timestamp};

use crate::common::singleton;

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;
const LENGTH: i64 = 60 * SECOND;
const STARTED: i64 = 1_700_000_000 * SECOND;

fn stamps<C: Clock>(nanos: i64) -> Stamps<C> {
    let at = |later| Some(Timestamp::from_nanos(nanos + later));
    Stamps { nic: None, kernel: at(0), user: at(2_000), told: at(1) }
}

/// A minute of round trips over a path of 30 us each way, on which packets wait some microseconds, by one clock.
fn rows() -> Vec<RoundTrip> {
    let chances = [0, 1].map(|name| RandomStream::new(Seed([7; 6]), [name, 1]));
    let step = 10 * MS;
    let row = |n: u64| {
        let waited = |way: usize| {
            let wait = -4_000.0 * (1.0 - chances[way].unit(n)).ln();
            #[expect(clippy::cast_possible_truncation, reason = "some microseconds")]
            let wait = wait as i64;
            30_000 + wait
        };
        let t1 = STARTED + i64::try_from(n).unwrap() * step;
        let t2 = t1 + waited(0);
        let t3 = t2 + 8_000;
        RoundTrip {
            sequence: n,
            t1: stamps(t1),
            t2: stamps(t2),
            t3: stamps(t3),
            t4: stamps(t3 + waited(1)),
            returned: true,
            seen_by_responder: true,
            ..RoundTrip::default()
        }
    };
    (0..u64::try_from(LENGTH / step).unwrap()).map(row).collect()
}

/// What the estimator of a measurement makes of the rows, seen through a clock.
fn through(clock: &SimulatedClock) -> Estimate {
    let mut rows = rows();
    clock.pass(&mut rows);
    let by_kernel = |n: u64, [left, came]: [Option<i64>; 2]| singleton(n, left.unwrap(), came.unwrap());
    let nanos = |row: &RoundTrip| {
        let [t1, t4] = [row.t1.kernel, row.t4.kernel].map(|stamp| stamp.map(Timestamp::as_nanos));
        let [t2, t3] = [row.t2.kernel, row.t3.kernel].map(|stamp| stamp.map(Timestamp::as_nanos));
        [[t1, t2], [t3, t4]]
    };
    let [forward, reverse] =
        [0, 1].map(|way| rows.iter().map(|row| by_kernel(row.sequence, nanos(row)[way])).collect::<Vec<_>>());
    usable(&SkewRequest::default(), &forward, &reverse, &InTurn).0
}

#[test]
fn the_responders_stamps_are_moved_all_alike_and_the_senders_not_at_all() {
    let clock =
        SimulatedClock { offset_ns: 5 * SECOND, skew_ppm: 100.0, steps: vec![(30 * SECOND, -7 * MS)] };
    let (before, mut after) = (rows(), rows());
    clock.pass(&mut after);
    let first = before[0].t2.kernel.unwrap().as_nanos();
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((before.t1, before.t4), (after.t1, after.t4));
        let moved = |at: i64| at + clock.ahead_ns(at - first);
        for (was, is) in [(before.t2, after.t2), (before.t3, after.t3)] {
            for (was, is) in [(was.kernel, is.kernel), (was.user, is.user), (was.told, is.told)] {
                assert_eq!(is.map(Timestamp::as_nanos), was.map(|time| moved(time.as_nanos())));
            }
        }
    }
    assert_eq!(clock.ahead_ns(0), 5 * SECOND);
    assert_eq!(clock.ahead_ns(20 * SECOND), 5 * SECOND + 2 * MS, "100 ppm of 20 s");
    assert_eq!(clock.ahead_ns(30 * SECOND), 5 * SECOND + 3 * MS - 7 * MS, "and set back from its moment on");
    let mut nothing: Vec<RoundTrip> = Vec::new();
    clock.pass(&mut nothing);
    assert!(nothing.is_empty());
}

#[test]
fn what_the_clock_did_is_found_out_and_nothing_else() {
    for (skew_ppm, steps) in [
        (-41.0, vec![]),
        (0.0, vec![(20 * SECOND, 5 * MS)]),
        (37.25, vec![(20 * SECOND, 5 * MS), (40 * SECOND, -9 * MS)]),
    ] {
        let clock = SimulatedClock { offset_ns: 3_600 * SECOND, skew_ppm, steps };
        let found = clock.found_out(&through(&clock), LENGTH);
        assert!(found.passed(), "{clock:?}: {found:?}");
        assert_eq!(found.steps.len(), clock.steps.len());
    }
}

#[test]
fn an_estimate_that_is_wrong_is_said_to_be() {
    let clock = SimulatedClock { offset_ns: 0, skew_ppm: 20.0, steps: vec![(30 * SECOND, 5 * MS)] };
    let estimate = through(&clock);
    let against = |other: &SimulatedClock| other.found_out(&estimate, LENGTH);
    let faster = against(&SimulatedClock { skew_ppm: 22.0, ..clock.clone() });
    assert!(!faster.skew_ppm.passed && !faster.passed(), "{faster:?}");
    let never = against(&SimulatedClock { steps: vec![], ..clock.clone() });
    assert!(!never.passed() && never.false_events_at_ns.len() == 1, "{never:?}");
    let elsewhere = against(&SimulatedClock { steps: vec![(10 * SECOND, 5 * MS)], ..clock.clone() });
    assert!(!elsewhere.passed() && elsewhere.steps[0].detected_at_ns.is_none(), "{elsewhere:?}");
    let larger = against(&SimulatedClock { steps: vec![(30 * SECOND, 9 * MS)], ..clock.clone() });
    assert!(!larger.passed() && !larger.steps[0].size_ns.passed, "{larger:?}");
    let silent =
        clock.found_out(&Estimate { why_not: Some(SkewUnknown::FewOrClose), ..Estimate::default() }, LENGTH);
    assert!(!silent.passed() && silent.skew_ppm.estimated.is_none());
}
