//! A rate that wanders over ten minutes: the interval of its mean.

use romer_clock::skew::{Estimate, Estimator, Method};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Direction, Timestamp};

/// How a rate wanders: as a temperature does, by up to 1 ppm within 5 to 40 minutes, or at random, by 0.01 ppm in the first second.
#[derive(Clone, Copy, Debug)]
enum Wander {
    Swing,
    Walk,
}

/// Ten minutes of a clock that wanders. Packets wait an exponential time of 0.1 ms, or the square of a normal number that keeps nine tenths of
/// the last one, in milliseconds. Gives what is told, and the mean rate over the run.
fn play(seed: u32, wander: Wander) -> (Estimate, f64) {
    let random = RandomStream::new(Seed([seed, 0x7761_6e64, 0, 0, 0, 0]), [0, 0]);
    let mut drawn = 0;
    let mut unit = || {
        drawn += 1;
        random.unit(drawn)
    };
    let (skew, swing, period, phase) = (
        (2.0 * unit() - 1.0) * 50e3,
        100.0 + 900.0 * unit(),
        300.0 + 2_100.0 * unit(),
        std::f64::consts::TAU * unit(),
    );
    let mut last = [0.0f64; 2];
    let mut waits = |unit: &mut dyn FnMut() -> f64, way: usize| {
        if seed.is_multiple_of(2) {
            return -1e5 * (1.0 - unit()).ln();
        }
        let normal = (-2.0 * (1.0 - unit()).ln()).sqrt() * (std::f64::consts::TAU * unit()).cos();
        last[way] = 0.9 * last[way] + (1.0f64 - 0.81).sqrt() * normal;
        1e6 * last[way] * last[way]
    };
    let turn = std::f64::consts::TAU / period;
    let walked = walk(seed);
    let ahead = |x: f64| {
        skew * x
            + match wander {
                Wander::Swing => swing / turn * (phase.cos() - (turn * x + phase).cos()),
                Wander::Walk => between(&walked, x / TICK),
            }
    };
    let mut estimator = Estimator::new(Method::Best, None);
    for n in 0..12_000_u32 {
        let left = f64::from(n) * 0.05;
        let came = left + (5e6 + waits(&mut unit, 0)) / 1e9;
        let home = came + (5e6 + waits(&mut unit, 1)) / 1e9;
        estimator.push(Direction::Forward, at(left, 0.0), at(came, ahead(came)));
        estimator.push(Direction::Reverse, at(came, ahead(came)), at(home, 0.0));
    }
    (estimator.estimate(), (ahead(600.0) - ahead(0.0)) / 600.0 / 1e3)
}

/// Whether the interval holds the mean rate, and nothing else is told.
fn holds(seed: u32, wander: Wander) -> bool {
    let (found, truth) = play(seed, wander);
    let within = |[low, high]: [f64; 2]| low <= truth && truth <= high;
    found.skew.is_some_and(|skew| within(skew.interval_ppm))
}

/// Seconds between the points of a walk.
const TICK: f64 = 0.1;

/// By how much a clock is ahead whose rate walks at random.
fn walk(seed: u32) -> Vec<f64> {
    let random = RandomStream::new(Seed([seed, 0x7761_6c6b, 0, 0, 0, 0]), [0, 0]);
    let (mut ahead, mut rate) = (0.0, 0.0);
    let mut ordinal = 0;
    let points = (0..6_200).map(|_| {
        // Twelve numbers from 0 to 1 have a variance of 1 together.
        let normal = (0..12)
            .map(|_| {
                random.unit({
                    ordinal += 1;
                    ordinal
                })
            })
            .sum::<f64>()
            - 6.0;
        ahead += rate * TICK;
        rate += 10.0 * TICK.sqrt() * normal;
        ahead
    });
    points.collect()
}

/// A value between two points.
fn between(points: &[f64], place: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some thousand points")]
    let left = (place.max(0.0) as usize).min(points.len() - 2);
    points[left] + (place - left as f64) * (points[left + 1] - points[left])
}

#[expect(clippy::cast_possible_truncation, reason = "minutes")]
fn at<C: romer_units::Clock>(x: f64, more: f64) -> Timestamp<C> {
    Timestamp::from_nanos((x * 1e9 + more).round() as i64)
}

/// Of 160 intervals that hold in 94 of 100, more than 20 miss with a probability below 0.001. (Where each direction was smoothed by itself, and
/// bends were taken for small changes, one in six missed of those that walk at random.)
#[test]
fn the_mean_of_a_rate_that_wanders_lies_within_its_interval() {
    for wander in [Wander::Swing, Wander::Walk] {
        let missed = (0..80).filter(|seed| !holds(*seed, wander)).count();
        assert!(missed <= 12, "{wander:?}: {missed} of 80");
    }
}

/// What bends is no change: of 80 such clocks no more than four are told to have been set or slewed, or their ways to have changed.
#[test]
fn bends_of_a_rate_that_walks_at_random_are_no_changes() {
    let changed = (0..80).filter(|seed| !play(*seed, Wander::Walk).0.events.is_empty()).count();
    assert!(changed <= 4, "{changed} of 80");
}

/// Two minutes of packets every 20 ms, which wait an exponential time of 0.1 ms, while the responder's clock runs 0.17 ppm fast and is
/// slewed by `size_ns` within `lasts` seconds from `from` on. Gives the stated error of the delays, and the greatest true one, nanoseconds.
fn slewed(seed: u32, size_ns: f64, from: f64, lasts: f64) -> (f64, f64) {
    let random = RandomStream::new(Seed([seed, 0x736c_6577, 0, 0, 0, 0]), [0, 0]);
    let mut drawn = 0;
    let mut wait = || {
        drawn += 1;
        -1e5 * (1.0 - random.unit(drawn)).ln()
    };
    let ahead = |x: f64| 170.0 * x + size_ns * ((x - from) / lasts).clamp(0.0, 1.0);
    let mut estimator = Estimator::new(Method::Best, None);
    for n in 0..6_000_u32 {
        let left = f64::from(n) * 0.02;
        let came = left + (2e6 + wait()) / 1e9;
        let home = came + (3e6 + wait()) / 1e9;
        estimator.push(Direction::Forward, at(left, 0.0), at(came, ahead(came)));
        estimator.push(Direction::Reverse, at(came, ahead(came)), at(home, 0.0));
    }
    let estimate = estimator.estimate();
    let correction = estimate.correction(Direction::Forward);
    #[expect(clippy::cast_possible_truncation, reason = "minutes")]
    let ns = |x: f64| (x * 1e9) as i64;
    let left: Vec<f64> = (0..600_u32)
        .map(|n| f64::from(n) * 0.2)
        .map(|x| ahead(x) - correction.at(correction.origin_ns + ns(x)) as f64)
        .collect();
    let mean = left.iter().sum::<f64>() / left.len() as f64;
    let off = left.iter().map(|one| (one - mean).abs()).fold(0.0, f64::max);
    (
        correction.error_at(correction.origin_ns).max(correction.error_at(correction.origin_ns + ns(120.0))),
        off,
    )
}

/// Where a slew is as small as what packets wait, the stated error of delays is below 0.1 ms and the true one below 20 us: the variance of
/// the curve at the ends of the run is no rounding error. The seeds are fixed.
#[test]
fn small_slew_states_small_error() {
    let random = RandomStream::new(Seed([4, 0x7374_6174, 0, 0, 0, 0]), [0, 0]);
    let draw = |seed: u32, which: u64| random.unit(u64::from(seed) * 4 + which + 1);
    let slews = (0..60).map(|seed| match seed {
        0 => (-30e3, 82.0, 18.0),
        _ => {
            let size = (20e3 + 40e3 * draw(seed, 0)) * if draw(seed, 1) < 0.5 { -1.0 } else { 1.0 };
            let lasts = 5.0 + 25.0 * draw(seed, 2);
            (size, 10.0 + draw(seed, 3) * (100.0 - lasts), lasts)
        }
    });
    for (seed, (size, from, lasts)) in (0..).zip(slews) {
        let (stated, off) = slewed(seed, size, from, lasts);
        let case = format!("{size} ns in {lasts} s from {from} s: stated {stated} ns, true {off} ns");
        assert!(stated < 1e5 && off < 20e3, "{case}");
    }
}
