//! Steps of a clock over a way that is long against the run: both directions show one step a round trip apart where it was the responder's, and
//! at one moment where it was the sender's.

use romer_clock::skew::{ChangeKind, Estimate, Estimator, Method};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Clock, Direction, Timestamp};

/// Each way takes so long, seconds.
const WAY: f64 = 0.1;
const STEP_AT: f64 = 5.3;

#[expect(clippy::cast_possible_truncation, reason = "seconds")]
fn rounded(x: f64) -> i64 {
    x.round() as i64
}

fn at<C: Clock>(x: f64, more: f64) -> Timestamp<C> {
    Timestamp::from_nanos(rounded((x + more) * 1e9))
}

/// Ten seconds of packets 10 ms apart, each way 0.1 s and an exponential time of 0.3 ms, with clocks that are set by so much, the sender's and the
/// responder's, and ways that become longer: forward at a moment, and in reverse at another.
fn play(seed: u32, [sender, responder]: [f64; 2], longer: [(f64, f64); 2]) -> Estimate {
    let random = RandomStream::new(Seed([seed, 0x6c6f_6e67, 0, 0, 0, 0]), [0, 0]);
    let wait = |ordinal: u64| -3e-4 * (1.0 - random.unit(ordinal)).ln();
    let set = |size: f64, x: f64| if x >= STEP_AT { size } else { 0.0 };
    let rate = (random.unit(0) - 0.5) * 1e-4;
    let changed = |way: usize, x: f64| if x >= longer[way].0 { longer[way].1 } else { 0.0 };
    let mut estimator = Estimator::new(Method::Best, None);
    for n in 0..1_000_u32 {
        let left = f64::from(n) * 0.01;
        let came = left + WAY + wait(2 * u64::from(n) + 1) + changed(0, left);
        let home = came + WAY + wait(2 * u64::from(n) + 2) + changed(1, came);
        let there = rate * came + set(responder, came);
        estimator.push(Direction::Forward, at(left, set(sender, left)), at(came, there));
        estimator.push(Direction::Reverse, at(came, there), at(home, set(sender, home)));
    }
    estimator.estimate()
}

const NONE: [(f64, f64); 2] = [(0.0, 0.0); 2];

#[test]
fn a_step_of_either_clock_is_a_step_however_long_the_way_is() {
    for seed in 0..15 {
        for size in [5e-3, -5e-3] {
            for set in [[size, 0.0], [0.0, size]] {
                let found = play(seed, set, NONE);
                let [one] = &found.events[..] else { panic!("{seed}, {set:?}: {:?}", found.events) };
                assert_eq!(one.kind, ChangeKind::ClockStep, "{seed}, {set:?}: {one:?}");
                let truth = (set[1] - set[0]) * 1e9;
                assert!((one.size_ns as f64 - truth).abs() < 50e3, "{seed}, {set:?}: {one:?}");
                assert!((one.at_ns as f64 / 1e9 - STEP_AT).abs() < 0.3, "{seed}, {set:?}: {one:?}");
                for (heading, sign) in Direction::BOTH.into_iter().zip([1.0, -1.0]) {
                    // What lies 0.3 s beside the step has all of it, or nothing.
                    let correction = found.correction(heading);
                    let value = |x: f64| correction.at(rounded(x * 1e9)) as f64;
                    let gone = value(STEP_AT + 0.3 + set[0]) - value(STEP_AT - 0.3);
                    let drift = found.skew.unwrap().ppm * 600.0 * sign;
                    assert!(
                        (gone - drift - sign * truth).abs() < 50e3,
                        "{seed}, {set:?}, {heading:?}: {gone}"
                    );
                }
            }
        }
    }
}

/// Ways that become as much longer and shorter, but not a round trip apart.
#[test]
fn opposite_changes_of_a_long_way_are_not_steps() {
    for seed in 0..15 {
        for size in [5e-3, -5e-3] {
            let found = play(seed, [0.0; 2], [(5.3, size), (5.8, -size)]);
            let steps = found.events.iter().filter(|one| one.kind == ChangeKind::ClockStep).count();
            assert_eq!(steps, 0, "{seed}, {size}: {:?}", found.events);
        }
    }
}
