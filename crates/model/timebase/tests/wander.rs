//! A rate that wanders over ten minutes: the interval of its mean.

use romer_timebase::skew::{Estimator, Heading, Method};
use romer_units::Timestamp;
use romer_units::random::{Seed, Stream};

/// Whether the interval holds the mean over the run of a rate that swings by up to 1 ppm within 5 to 40 minutes. Packets wait an exponential
/// time of 0.1 ms, or the square of a normal number that keeps nine tenths of the last one, in milliseconds.
fn holds(seed: u32) -> bool {
    let random = Stream::new(Seed([seed, 0x7761_6e64, 0, 0, 0, 0]), [0, 0]);
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
    let ahead = |x: f64| skew * x + swing / turn * (phase.cos() - (turn * x + phase).cos());
    let mut estimator = Estimator::new(Method::Best, None);
    for n in 0..12_000_u32 {
        let left = f64::from(n) * 0.05;
        let came = left + (5e6 + waits(&mut unit, 0)) / 1e9;
        let home = came + (5e6 + waits(&mut unit, 1)) / 1e9;
        estimator.push(Heading::Forward, at(left, 0.0), at(came, ahead(came)));
        estimator.push(Heading::Reverse, at(came, ahead(came)), at(home, 0.0));
    }
    let truth = (ahead(600.0) - ahead(0.0)) / 600.0 / 1e3;
    let within = |[low, high]: [f64; 2]| low <= truth && truth <= high;
    estimator.estimate().skew.is_some_and(|skew| within(skew.interval_ppm))
}

#[expect(clippy::cast_possible_truncation, reason = "minutes")]
fn at<C: romer_units::Clock>(x: f64, more: f64) -> Timestamp<C> {
    Timestamp::from_nanos((x * 1e9 + more).round() as i64)
}

/// Of 80 intervals that hold in nine of ten, more than 24 miss with a probability below 1e-6. (Where the rate beyond the outermost floors was not
/// counted, and high floors as much as others, a third missed.)
#[test]
fn the_mean_of_a_rate_that_swings_lies_within_its_interval() {
    let missed = (0..80).filter(|seed| !holds(*seed)).count();
    assert!(missed <= 16, "{missed} of 80");
}
