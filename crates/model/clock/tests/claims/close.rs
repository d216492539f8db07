//! Two steps of the clocks within some tenths of a second, which the floors of a run do not tell apart.

use crate::chances::Chances;
use romer_clock::skew::{ChangeKind, Estimate, Estimator, Method};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Clock, Direction, Timestamp};

/// When the clocks are set.
const AT: f64 = 30.003;
/// The ways, seconds.
const WAYS: [f64; 2] = [0.01, 0.012];

#[expect(clippy::cast_possible_truncation, reason = "a minute")]
fn at<C: Clock>(seconds: f64) -> Timestamp<C> {
    Timestamp::from_nanos((seconds * 1e9).round() as i64)
}

/// A minute of packets 20 ms apart that wait an exponential 0.3 ms each way, while the responder is set by `sizes[0]` and the sender, so much later, by
/// `sizes[1]`, seconds.
fn play(seed: u32, sizes: [f64; 2], later: f64) -> Estimate {
    let random = RandomStream::new(Seed([seed, 0x636c_6f73, 0, 0, 0, 0]), [0, 0]);
    let mut chances = Chances::new(random);
    let set = |t: f64, from: f64, size: f64| if t >= from { size } else { 0.0 };
    let by_sender = |t: f64| t + set(t, AT + later, sizes[1]);
    let by_responder = |t: f64| t * (1.0 + 2e-5) + set(t, AT, sizes[0]);
    let mut estimator = Estimator::new(Method::Best, None);
    for n in 0..3_000 {
        let left = 0.02 * f64::from(n) + chances.exponential(2e-5);
        let came = left + WAYS[0] + chances.exponential(3e-4);
        let home = came + WAYS[1] + chances.exponential(3e-4);
        estimator.push(Direction::Forward, at(by_sender(left)), at(by_responder(came)));
        estimator.push(Direction::Reverse, at(by_responder(came)), at(by_sender(home)));
    }
    estimator.estimate()
}

/// (All of twelve were told as one step of 13 ms, with delays between them off by 7 ms, which nothing said.)
#[test]
fn two_steps_a_fifth_of_a_second_apart_are_two() {
    for sizes in [[0.02, 0.007], [-0.02, 0.007], [0.005, -0.006], [0.005, 0.006], [-0.1, 0.03]] {
        for seed in 0..4 {
            let estimate = play(seed, sizes, 0.2);
            let [one, other] = estimate.events[..] else { panic!("{sizes:?} {seed}: {:?}", estimate.events) };
            for (event, (size, when)) in [one, other].into_iter().zip([(sizes[0], AT), (-sizes[1], AT + 0.2)])
            {
                assert_eq!(event.kind, ChangeKind::ClockStep, "{sizes:?} {seed}");
                let off = event.size_ns as f64 - 1e9 * size;
                // The sender's step counts by its own clock, which runs otherwise by 20 parts in a million.
                assert!(off.abs() < event.error_ns + 2e4 * size.abs(), "{sizes:?} {seed}: {event:?}");
                assert!(event.error_ns < 3e5, "{sizes:?} {seed}: {event:?}");
                assert!((event.at_ns as f64 / 1e9 - when).abs() < 0.05, "{sizes:?} {seed}: {event:?}");
            }
        }
    }
}

/// Where too few packets lie between two steps, they are one, and delays are said to be off by what lies between.
#[test]
fn where_two_steps_are_told_as_one_the_delays_are_said_to_be_off() {
    for seed in 0..6 {
        let estimate = play(seed, [0.02, 0.007], 0.07);
        if estimate.events.len() == 1 {
            let error = estimate.corrections[0].error_at(30_000_000_000);
            assert!(error > 6.5e6 && error < 1e7, "{seed}: {error}");
        }
    }
}

#[test]
fn one_step_is_one() {
    for seed in 0..12 {
        for size in [0.003, -0.02] {
            let events = play(seed, [size, 0.0], 0.2).events;
            assert_eq!(events.len(), 1, "{seed}: {events:?}");
        }
    }
}
