//! The intervals cover the truth as often as they say, over several hundred trials with fixed seeds.
//!
//! The claim is at least 90 % for a nominal 95 %. With 600 trials of an interval that is right the number that miss
//! is binomial with mean 30, and exceeds 60 with a probability of 2e-7.

use romer_metrics::summary;
use romer_units::random::{Seed, Stream};

const TRIALS: u32 = 600;
const MOST_MISSED: u32 = 60;
const MOST_ABSENT: u32 = 18;

/// Standard normal numbers by Box and Muller.
fn normals(trial: u32, count: u64) -> Vec<f64> {
    let stream = Stream::new(Seed([20, 26, 0, 0, 0, 1]), [trial, 1]);
    let pairs = (0..count.div_ceil(2)).flat_map(|n| {
        let radius = (-2.0 * (1.0 - stream.unit(2 * n)).ln()).sqrt();
        let (sin, cos) = (stream.unit(2 * n + 1) * std::f64::consts::TAU).sin_cos();
        [radius * cos, radius * sin]
    });
    pairs.take(usize::try_from(count).expect("a small number")).collect()
}

fn exponentials(trial: u32, count: u64) -> Vec<f64> {
    let stream = Stream::new(Seed([20, 26, 0, 0, 0, 2]), [trial, 2]);
    (0..count).map(|n| -(1.0 - stream.unit(n)).ln()).collect()
}

/// A first-order autoregression in its stationary state.
fn autoregression(trial: u32, count: u64, rho: f64) -> Vec<f64> {
    let mut value = None;
    let step = |noise: f64| {
        let next = value.map_or(noise, |last: f64| rho * last + (1.0 - rho * rho).sqrt() * noise);
        value = Some(next);
        next
    };
    normals(trial, count).into_iter().map(step).collect()
}

/// What became of the intervals of the trials.
#[derive(Debug, Default)]
struct Tally {
    missed: u32,
    absent: u32,
}

impl Tally {
    fn add(&mut self, interval: Option<[f64; 2]>, truth: f64) {
        match interval {
            Some([low, high]) => self.missed += u32::from(truth < low || truth > high),
            None => self.absent += 1,
        }
    }
}

/// Mean, median and p95 of what a series is drawn from.
#[derive(Clone, Copy)]
struct Truth {
    mean: f64,
    median: f64,
    p95: f64,
}

const NORMAL: Truth = Truth { mean: 0.0, median: 0.0, p95: 1.644_853_6 };

/// Asserts that at most one interval in ten misses the truth, and that few are withheld. Of short series there may be none
/// of p95.
#[track_caller]
fn assert_covers(name: &str, series: impl Fn(u32) -> Vec<f64>, truth: Truth) {
    let mut tallies = [Tally::default(), Tally::default(), Tally::default()];
    for trial in 0..TRIALS {
        let values = series(trial);
        let summary = summary(&values);
        tallies[0].add(summary.mean_interval, truth.mean);
        tallies[1].add(summary.median_interval, truth.median);
        if values.len() >= 1_000 {
            // Of values that depend on each other much, there may be none that is known to lie above p95.
            tallies[2].add(summary.p95_interval.or(Some([truth.p95; 2])), truth.p95);
        }
    }
    for tally in &tallies {
        assert!(
            tally.missed <= MOST_MISSED && tally.absent <= MOST_ABSENT,
            "{name}: mean, median and p95 {tallies:?}"
        );
    }
}

#[test]
fn intervals_cover_independent_normal_values() {
    for count in [6, 10, 24, 25, 50, 100, 1_000, 3_000] {
        assert_covers(&format!("normal, n = {count}"), |trial| normals(trial, count), NORMAL);
    }
}

#[test]
fn intervals_cover_independent_exponential_values() {
    // Skewed: Student's interval of the mean needs some values before the mean is nearly normal.
    for count in [50, 100, 1_000, 3_000] {
        let truth = Truth { mean: 1.0, median: std::f64::consts::LN_2, p95: 20_f64.ln() };
        assert_covers(&format!("exponential, n = {count}"), |trial| exponentials(trial, count), truth);
    }
}

#[test]
fn intervals_cover_values_that_depend_on_those_before() {
    for (rho, count) in [(0.5, 500), (0.5, 2_000), (0.9, 1_000), (0.9, 2_000), (0.9, 5_000)] {
        assert_covers(
            &format!("AR(1) {rho}, n = {count}"),
            |trial| autoregression(trial, count, rho),
            NORMAL,
        );
    }
}

#[test]
fn of_too_few_independent_values_beyond_a_quantile_no_interval_is_told() {
    for (rho, count) in [(0.9, 500), (0.9, 1_000), (0.98, 3_000)] {
        // An interval is only told where it covers as often as it says: of those that are, and of all that were tried.
        let mut tally = [(0, 0), (0, 0)];
        for trial in 0..TRIALS {
            let summary = summary(&autoregression(trial, count, rho));
            let both = [(summary.p95_interval, 1.644_853_6), (summary.p99_interval, 2.326_347_9)];
            for ((told, missed), (interval, truth)) in tally.iter_mut().zip(both) {
                if let Some([low, high]) = interval {
                    *told += 1;
                    *missed += u32::from(truth < low || truth > high);
                }
            }
        }
        for (told, missed) in tally {
            // Told of few series, those are of the less usual ones; told of many, of 5 % more than twice that is below 1e-6.
            assert!(missed <= told / 10 + 6, "AR(1) {rho}, n = {count}: {missed} of {told}");
        }
        assert!(tally[1].0 <= TRIALS / 50, "p99 of AR(1) {rho}, n = {count}: told {} times", tally[1].0);
    }
}

#[test]
fn independent_intervals_would_not_have_covered_them() {
    // What the widening is for: Student's interval as if the values were independent.
    let mut counted = 0;
    for trial in 0..TRIALS {
        let summary = summary(&autoregression(trial, 2_000, 0.9));
        let half = 1.96 * summary.stddev.unwrap() / 2_000_f64.sqrt();
        counted += u32::from(summary.mean.unwrap().abs() <= half);
        let [low, high] = summary.mean_interval.unwrap();
        assert!(high - low >= 2.0 * half, "never narrower");
    }
    assert!(counted < TRIALS / 2, "{counted} of {TRIALS}");
}
