//! The intervals cover the truth as often as they say, over several hundred trials with fixed seeds.
//!
//! The claim is at least 90 % for a nominal 95 %. With 600 trials of an interval that is right the number that miss
//! is binomial with mean 30, and exceeds 60 with a probability of 2e-7.

use romer_metrics::jitter::{delay_difference, inter_arrival_difference};
use romer_metrics::{
    DirectionContext, LossPattern, Part, delays, described, deviations, loss_pattern, of_neighbours, summary,
    wilson_interval,
};
use romer_record::document::{DelayKind, DirectionResults};
use romer_record::{Fate, OneWaySingleton};
use romer_units::random::{RandomStream, Seed};

use crate::common::{arrived, gone};

const TRIALS: u32 = 600;
const MOST_MISSED: u32 = 60;
const MOST_ABSENT: u32 = 18;

/// Standard normal numbers by Box and Muller.
fn normals(trial: u32, count: u64) -> Vec<f64> {
    let stream = RandomStream::new(Seed([20, 26, 0, 0, 0, 1]), [trial, 1]);
    let pairs = (0..count.div_ceil(2)).flat_map(|n| {
        let radius = (-2.0 * (1.0 - stream.unit(2 * n)).ln()).sqrt();
        let (sin, cos) = (stream.unit(2 * n + 1) * std::f64::consts::TAU).sin_cos();
        [radius * cos, radius * sin]
    });
    pairs.take(usize::try_from(count).expect("a small number")).collect()
}

fn exponentials(trial: u32, count: u64) -> Vec<f64> {
    let stream = RandomStream::new(Seed([20, 26, 0, 0, 0, 2]), [trial, 2]);
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
struct DistributionTruth {
    mean: f64,
    median: f64,
    p95: f64,
}

const NORMAL: DistributionTruth = DistributionTruth { mean: 0.0, median: 0.0, p95: 1.644_853_6 };

/// Asserts that at most one interval in ten misses the truth, and that few are withheld. Of short series there may be none
/// of p95.
#[track_caller]
fn assert_covers(name: &str, series: impl Fn(u32) -> Vec<f64>, truth: DistributionTruth) {
    let mut tallies = [Tally::default(), Tally::default(), Tally::default()];
    for trial in 0..TRIALS {
        let values = series(trial);
        let summary = summary(&values);
        tallies[0].add(summary.mean_interval, truth.mean);
        tallies[1].add(summary.median_interval, truth.median);
        if values.len() >= 1_000 {
            // Of values that depend on each other much, there may be none that is known to lie above p95. NaN is in any interval.
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
        let truth = DistributionTruth { mean: 1.0, median: std::f64::consts::LN_2, p95: 20_f64.ln() };
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

/// Values that are drawn back by the value before the last one, as those of a wide distribution in exact order are: their mean is known
/// better than the correlation of neighbours alone would have it.
#[test]
fn intervals_of_values_that_swing_back_cover_and_are_not_wider_than_that() {
    for (first, second, count) in [(1.2, -0.5, 2_000_u64), (1.2, -0.5, 500), (1.5, -0.75, 2_000)] {
        let series = |trial| {
            let mut last = [0.0; 2];
            let step = |noise: f64| {
                last = [first * last[0] + second * last[1] + noise, last[0]];
                last[0]
            };
            normals(trial, count + 200).into_iter().map(step).skip(200).collect::<Vec<_>>()
        };
        assert_covers(
            &format!("AR(2) {first} {second}, n = {count}"),
            series,
            DistributionTruth { p95: f64::NAN, ..NORMAL },
        );
        let half = |trial| {
            let [low, high] = summary(&series(trial)).mean_interval.expect("a long series");
            0.5 * (high - low)
        };
        let mean = (0..TRIALS).map(half).sum::<f64>() / f64::from(TRIALS);
        let deviation = 1.0 / (1.0 - first - second) / f64::from(u32::try_from(count).expect("small")).sqrt();
        let ratio = mean / (1.96 * deviation);
        assert!(
            (0.9..1.35).contains(&ratio),
            "AR(2) {first} {second}, n = {count}: {ratio} of the right width"
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
fn a_series_worth_few_independent_values_has_no_interval_that_misses_more_often_than_it_says() {
    for (rho, count) in
        [(0.0, 500), (0.5, 100), (0.5, 500), (0.9, 500), (0.99, 500), (0.99, 1_500), (0.99, 5_000)]
    {
        let mut tallies = [(0, 0); 4];
        for trial in 0..TRIALS {
            let found = summary(&autoregression(trial, count, rho));
            let all = [
                (found.mean_interval, 0.0),
                (found.median_interval, 0.0),
                (found.p95_interval, 1.644_853_6),
                (found.p99_interval, 2.326_347_9),
            ];
            for ((told, missed), (interval, truth)) in tallies.iter_mut().zip(all) {
                if let Some([low, high]) = interval {
                    *told += 1;
                    *missed += u32::from(truth < low || truth > high);
                }
            }
        }
        for (told, missed) in tallies {
            // Told of few series, those are the ones that happen to look less dependent than they are: of one in a hundred at most.
            assert!(missed <= told / 10 + 6, "AR(1) {rho}, n = {count}: {missed} of {told} in {tallies:?}");
        }
        let [mean, median, ..] = tallies.map(|(told, _)| told);
        let worth = f64::from(u32::try_from(count).expect("a small number")) * (1.0 - rho) / (1.0 + rho);
        if worth > 20.0 {
            assert!(mean.min(median) >= TRIALS * 3 / 4, "AR(1) {rho}, n = {count}: told {tallies:?}");
        } else if worth < 3.0 {
            assert!(mean.max(median) <= TRIALS / 50, "AR(1) {rho}, n = {count}: told {tallies:?}");
        }
    }
}

#[test]
fn how_many_differences_tell_their_p99_is_no_matter_of_chance() {
    // Differences of independent exponential delays are exponential themselves, without their sign.
    for (count, told) in [(400, false), (700, false), (1_100, false), (2_000, true), (6_000, true)] {
        let mut tally = Tally::default();
        for trial in 0..TRIALS {
            let delays: Vec<i64> =
                exponentials(trial, count).iter().map(|delay| nanoseconds(1e9 * delay)).collect();
            let differences: Vec<i64> = delays.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
            tally.add(of_neighbours(&differences, 1).p99_interval, 1e9 * 100_f64.ln());
        }
        let absent = if told { 0..=MOST_ABSENT } else { TRIALS..=TRIALS };
        assert!(tally.missed <= MOST_MISSED && absent.contains(&tally.absent), "n = {count}: {tally:?}");
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

#[expect(clippy::cast_possible_truncation, reason = "a float beyond the range becomes its end")]
fn nanoseconds(value: f64) -> i64 {
    value.round() as i64
}

#[test]
fn deviations_from_the_mean_are_covered_though_the_mean_is_that_of_the_same_skewed_delays() {
    // Of exponential delays the mean deviation is 2/e, and half are within asinh(e/4). Of Pareto's of shape 2.5 above 0 the
    // mean is 2/3, and the mean deviation twice the integral of the survivor function above that, 4/3 (3/5)^1.5. How many are
    // within q of it is (1 + 2/3 - q)^-2.5 - (1 + 2/3 + q)^-2.5.
    let exponential: fn(f64) -> f64 = |value| value;
    let pareto: fn(f64) -> f64 = |value| (value / 2.5).exp() - 1.0;
    let e = std::f64::consts::E;
    let heavy = (4.0 / 3.0 * 0.6_f64.powf(1.5), 0.477_544_63);
    for (name, of, (mean, median), counts) in [
        ("exponential", exponential, (2.0 / e, (e / 4.0).asinh()), &[200, 1_000, 4_000][..]),
        ("Pareto", pareto, heavy, &[4_000][..]),
    ] {
        for count in counts {
            let mut tallies = [Tally::default(), Tally::default()];
            for trial in 0..TRIALS {
                let values = exponentials(trial, *count);
                let delay = |value: &f64| nanoseconds(1e9 * of(*value));
                let packets = values.iter().zip(0..).map(|(value, n)| arrived(n, 0, delay(value)));
                let found = deviations(&packets.collect::<Vec<_>>());
                tallies[0].add(found.mean_interval, 1e9 * mean);
                tallies[1].add(found.median_interval, 1e9 * median);
            }
            for tally in &tallies {
                assert!(
                    tally.missed <= MOST_MISSED && tally.absent <= MOST_ABSENT,
                    "{name}, n = {count}: mean and median {tallies:?}"
                );
            }
        }
    }
}

#[test]
fn means_of_few_skewed_delays_and_of_their_differences_are_covered() {
    let of = |trial, count, pareto: bool| -> Vec<OneWaySingleton> {
        let delay = |value: f64| nanoseconds(1e6 * if pareto { (value / 2.5).exp() } else { value });
        let delays = exponentials(trial, count).into_iter().map(delay).zip(0_u32..);
        let packet = |(delay, n)| {
            let departure = 20_000_000 * i64::from(n);
            arrived(u64::from(n), departure, departure + delay)
        };
        delays.map(packet).collect()
    };
    for (count, pareto) in [(20, false), (60, false), (100, false), (1_000, true)] {
        // Of exponential delays |a - b| and |a - 2b + c| have the means 1 and 16/9; of Pareto's of shape 2.5, 5/6 and 1.5286.
        let truth = if pareto { [5.0 / 3.0, 5.0 / 6.0, 1.528_6] } else { [1.0, 1.0, 16.0 / 9.0] };
        let mut tallies = [Tally::default(), Tally::default(), Tally::default()];
        for trial in 0..TRIALS {
            let singletons = of(trial, count, pareto);
            let found = [
                described(&delays(&singletons)).0,
                of_neighbours(&delay_difference(&singletons), 1),
                of_neighbours(&inter_arrival_difference(&singletons), 2),
            ];
            for ((tally, found), truth) in tallies.iter_mut().zip(found).zip(truth) {
                tally.add(found.mean_interval, 1e6 * truth);
            }
        }
        for tally in &tallies {
            assert!(
                tally.missed <= MOST_MISSED,
                "n = {count}, Pareto {pareto}: delay, first and second differences {tallies:?}"
            );
        }
    }
}

#[test]
fn means_of_differences_in_a_row_are_covered_and_their_intervals_are_as_narrow_as_two_delays_let_them_be() {
    let context = DirectionContext {
        delay_kind: DelayKind::Absolute,
        complete: true,
        lost: None,
        ordered: true,
        copies_attributed: true,
        not_sent: Some(0),
        dscp_sent: None,
        ecn_sent: None,
    };
    // Whether packets leave at random, and how many of a hundred are lost.
    for (count, random, lost) in [(30_u16, false, 0_u8), (300, false, 0), (1_000, false, 5), (1_000, true, 0)]
    {
        let mut tallies = [Tally::default(), Tally::default()];
        let mut widths = [0.0; 2];
        for trial in 0..TRIALS {
            let delays = exponentials(trial, count.into());
            let stream = RandomStream::new(Seed([20, 26, 0, 0, 0, 4]), [trial, 4]);
            let mut departure = 0;
            let packets = delays.iter().zip(0..).map(|(value, n)| {
                let gap = if random { -(1.0 - stream.unit(2 * n)).ln() } else { 1.0 };
                departure += nanoseconds(20e6 * gap);
                if 100.0 * stream.unit(2 * n + 1) < f64::from(lost) {
                    gone(n, departure, Fate::Lost)
                } else {
                    arrived(n, departure, departure + nanoseconds(1e6 * value))
                }
            });
            let packets: Vec<OneWaySingleton> = packets.collect();
            let mut found = DirectionResults::default();
            [Part::Differences, Part::Arrivals]
                .into_iter()
                .for_each(|part| part.compute(&packets, &context).put(&mut found));
            let spacing = 20e6 / (1.0 - f64::from(lost) / 100.0);
            let both = [(found.ipdv_ns, 0.0), (found.inter_arrival_ns, spacing)];
            for (((found, truth), tally), width) in both.into_iter().zip(&mut tallies).zip(&mut widths) {
                tally.add(found.mean_interval, truth);
                *width += found.mean_interval.map_or(0.0, |[low, high]| high - low) / f64::from(TRIALS);
            }
        }
        for tally in &tallies {
            assert!(
                tally.missed <= MOST_MISSED && tally.absent == 0,
                "n = {count}, at random {random}, lost {lost} %: {tallies:?}"
            );
        }
        // Two exponential delays are within three times their mean of each other in 95 of 100.
        let least = 6e6 / f64::from(count - 1);
        if !random && lost == 0 {
            assert!(widths.iter().all(|width| *width < 2.0 * least), "{widths:?}, at best {least}");
        }
    }
}

/// Losses of Gilbert's model, in its stationary state: after a packet that came one is lost with the probability `into`, and
/// after a lost one the next comes with the probability `out`.
fn losses(trial: u32, count: u64, into: f64, out: f64) -> LossPattern {
    let stream = RandomStream::new(Seed([20, 26, 0, 0, 0, 3]), [trial, 3]);
    let mut lost = stream.unit(count) < into / (into + out);
    let singletons = (0..count).map(|sequence| {
        lost = stream.unit(sequence) < if lost { 1.0 - out } else { into };
        if lost { gone(sequence, 0, Fate::Lost) } else { arrived(sequence, 0, 1) }
    });
    loss_pattern(&singletons.collect::<Vec<_>>()).expect("no fate is unknown")
}

#[test]
fn the_interval_of_the_loss_ratio_covers_losses_in_bursts_and_independent_ones() {
    for (into, out, count) in [
        (0.005, 0.2, 10_000),
        (0.01, 0.5, 10_000),
        (0.002, 0.1, 10_000),
        (0.01, 0.5, 1_000),
        // Independent.
        (0.01, 0.99, 1_000),
        (0.2, 0.8, 300),
        (0.2, 0.8, 3_000),
    ] {
        let mut tally = Tally::default();
        for trial in 0..TRIALS {
            tally.add(losses(trial, count, into, out).ratio_interval(), into / (into + out));
        }
        // Fewer than six periods of which one is longer than a packet tell none.
        assert!(tally.missed <= MOST_MISSED, "{into} {out}, n = {count}: {tally:?}");
        assert!(tally.absent <= TRIALS / 10, "{into} {out}, n = {count}: {tally:?}");
    }
}

#[test]
fn few_losses_in_bursts_do_not_tell_their_ratio_and_single_ones_do_as_if_they_were_independent() {
    let of = |lost: fn(u64) -> bool| {
        let packet = |sequence| {
            if lost(sequence) { gone(sequence, 0, Fate::Lost) } else { arrived(sequence, 0, 1) }
        };
        loss_pattern(&(0..1_000).map(packet).collect::<Vec<_>>()).unwrap().ratio_interval()
    };
    assert_eq!(of(|_| false), wilson_interval(0, 1_000));
    assert_eq!(of(|_| true), wilson_interval(1_000, 1_000));
    assert_eq!(of(|sequence| sequence % 300 == 7), wilson_interval(4, 1_000));
    assert_eq!(of(|sequence| sequence % 300 < 2), None);
    // Ten of ten each: as far apart as they can be, they vary by nothing but their number.
    let [low, high] = of(|sequence| sequence % 100 < 10).unwrap();
    let [least, most] = wilson_interval(100, 1_000).unwrap();
    assert!(low <= least && most <= high, "{low} {high}");
}
