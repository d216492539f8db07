//! Delay as a law and an Ornstein-Uhlenbeck process on its normal scores.
//!
//! The scores of two packets `gap` apart have the correlation exp(-gap / `time`). The process is Markov, so the likelihood of scores at
//! irregular times is the product of normal densities, each given the score before. Lost packets are longer gaps.

use crate::Estimate;
use crate::optimum::{maximum, profile};
use crate::scores::Scores;
use crate::series::Observation;

/// The smallest variance of a score given the one before.
const LEAST_VARIANCE: f64 = 1e-9;
/// Half of the 95 % quantile of chi-squared with one degree of freedom: what a correlation must gain in log-likelihood.
const LEAST_GAIN: f64 = 1.920_729_410_347;
/// A correlation time this many times shorter than the spacing gives a correlation of exp(-3), 5 %.
pub const INDEPENDENT_FROM: f64 = 3.0;

/// The correlation time of delays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorrelationTime {
    /// In seconds. 0 where [`CorrelationTime::is_bound`].
    pub time: Estimate,
    /// Whether delays are independent at the spacing of the packets, so that only an upper bound of the time is known.
    pub is_bound: bool,
}

impl CorrelationTime {
    /// Delays that are independent at this spacing. The time is at most `longest`, and the bound at least a time that the packets cannot
    /// tell from 0.
    pub fn independent(spacing: f64, longest: Option<f64>) -> Self {
        let bound = spacing / INDEPENDENT_FROM;
        let interval = [0.0, longest.map_or(bound, |longest| longest.max(bound))];
        Self { time: Estimate { value: 0.0, interval: Some(interval) }, is_bound: true }
    }
}

/// Scores with their times.
pub(crate) fn scored(segment: &[Observation], scores: &Scores) -> Vec<(f64, f64)> {
    segment.iter().filter_map(|one| Some((one.at, scores.score(one.delay?)))).collect()
}

/// The log-likelihood of scores with correlation time `time`, less that of independent scores.
pub(crate) fn log_likelihood(points: &[(f64, f64)], time: f64) -> f64 {
    let pair = |pair: &[(f64, f64)]| {
        let [(before, from), (at, to)] = [pair[0], pair[1]];
        log_ratio(from, to, (-(at - before) / time).exp())
    };
    points.windows(2).map(pair).sum()
}

/// The log of the density of a score, given one with this correlation, over the standard normal density.
fn log_ratio(from: f64, to: f64, correlation: f64) -> f64 {
    let variance = variance(correlation);
    0.5 * (to * to - (to - correlation * from).powi(2) / variance - variance.ln())
}

/// The same without the log.
pub(crate) fn ratio(from: f64, to: f64, correlation: f64) -> f64 {
    let variance = variance(correlation);
    (0.5 * (to * to - (to - correlation * from).powi(2) / variance)).exp() / variance.sqrt()
}

/// Of a score, given one with this correlation.
fn variance(correlation: f64) -> f64 {
    (1.0 - correlation * correlation).max(LEAST_VARIANCE)
}

/// The greatest log-likelihood for a correlation time, over all means and deviations of the scores. A sample's scores have mean 0 and
/// deviation 1 by construction; those of the process differ, and the interval of the time is that much wider.
fn concentrated(points: &[Vec<(f64, f64)>], time: f64) -> f64 {
    // Of each score: the correlation with the one before, and both; the first of a segment has correlation 0.
    let each = || {
        points.iter().flat_map(|points| {
            let first = points.first().map(|(_, score)| (0.0, 0.0, *score));
            let pair = |pair: &[(f64, f64)]| ((-(pair[1].0 - pair[0].0) / time).exp(), pair[0].1, pair[1].1);
            first.into_iter().chain(points.windows(2).map(pair))
        })
    };
    // Sums of squares of (score - c before) - mean (1 - c).
    let (mut count, mut logs) = (0.0, 0.0);
    let [mut squares, mut products, mut units] = [0.0; 3];
    for (c, before, score) in each() {
        let variance = (1.0 - c * c).max(LEAST_VARIANCE);
        let (value, unit) = (score - c * before, 1.0 - c);
        count += 1.0;
        logs += variance.ln();
        squares += value * value / variance;
        products += value * unit / variance;
        units += unit * unit / variance;
    }
    let left = (squares - products * products / units.max(1e-300)).max(1e-12);
    -0.5 * (logs + count * (left / count).ln())
}

/// Fits the correlation time to segments of time; `spacing` is that of the packets.
pub fn fit(segments: &[&[Observation]], scores: &Scores, spacing: f64) -> CorrelationTime {
    let points: Vec<Vec<(f64, f64)>> = segments.iter().map(|segment| scored(segment, scores)).collect();
    let likelihood = |log_time: f64| concentrated(&points, log_time.exp());
    let duration: f64 =
        segments.iter().filter_map(|segment| Some(segment.last()?.at - segment.first()?.at)).sum();
    let shortest = (spacing / 20.0).max(1e-9).ln();
    let longest = (duration.max(spacing) * 2.0).max(2e-9).ln();
    let best = maximum(likelihood, shortest, longest, 48);
    let ends = profile(likelihood, best, shortest, longest);
    let gain = likelihood(best) - likelihood(shortest);
    let [low, high] = ends.map(|end| end.map(f64::exp));
    if gain < LEAST_GAIN || best.exp() * INDEPENDENT_FROM < spacing {
        return CorrelationTime::independent(spacing, high);
    }
    let interval = high.map(|high| [low.unwrap_or(0.0), high]);
    CorrelationTime { time: Estimate { value: best.exp(), interval }, is_bound: false }
}

#[cfg(test)]
pub(crate) mod tests {
    use romer_units::random::{RandomStream, Seed};

    use super::*;
    use crate::series::Series;

    /// Standard normal numbers of a seed.
    pub(crate) fn normal(name: u32) -> impl FnMut() -> f64 {
        let stream = RandomStream::new(Seed([3, 1, 4, 1, 5, 9]), [name, 0]);
        let mut ordinal = 0;
        move || {
            ordinal += 2;
            let radius = (-2.0 * (1.0 - stream.unit(ordinal)).ln()).sqrt();
            radius * (std::f64::consts::TAU * stream.unit(ordinal + 1)).cos()
        }
    }

    /// Delays of an exponential law with mean 10 ms above 20 ms, with this correlation time, at these times.
    pub(crate) fn delays(name: u32, time: f64, at: impl Iterator<Item = f64>) -> Vec<Observation> {
        let mut normal = normal(name);
        let (mut score, mut before) = (normal(), None::<f64>);
        at.map(|at| {
            let correlation = before.map_or(0.0, |before| (-(at - before) / time).exp());
            score = correlation * score + (1.0 - correlation * correlation).sqrt() * normal();
            before = Some(at);
            let share = 0.5 * statrs::function::erf::erfc(score / std::f64::consts::SQRT_2);
            Observation { at, size: None, is_lost: false, delay: Some(0.02 - 0.01 * share.max(1e-300).ln()) }
        })
        .collect()
    }

    fn fitted(observations: Vec<Observation>) -> CorrelationTime {
        let series = Series::new(observations);
        let scores = Scores::new(&series.delays());
        fit(&[series.observations()], &scores, series.spacing(0.5))
    }

    /// The correlation time is recovered at regular and irregular spacings: of 50 intervals of 95 % each, 43 to 50 contain it
    /// (a binomial number is below 43 once in 250 times; the seeds are fixed).
    #[test]
    fn a_correlation_time_is_recovered() {
        for is_regular in [true, false] {
            let covered = (0..50_u32).filter(|name| {
                let random = RandomStream::new(Seed([2; 6]), [*name, 1]);
                let mut at = 0.0;
                let times = (0..2_000).map(|n| {
                    at += if is_regular { 0.02 } else { -0.02 * (1.0 - random.unit(n)).ln() };
                    at
                });
                let found = fitted(delays(*name, 0.1, times));
                let [low, high] = found.time.interval.unwrap();
                assert!(!found.is_bound);
                (low..=high).contains(&0.1)
            });
            let covered = covered.count();
            assert!(covered >= 43, "{covered} of 50 ({is_regular})");
        }
    }

    /// Independent delays give a bound of at least a third of the spacing, in at least 45 of 50 draws.
    #[test]
    fn independent_delays_bound_the_time() {
        let bounds = (0..50_u32).filter(|name| {
            let found = fitted(delays(*name, 1e-6, (0..1_000).map(|n| f64::from(n) * 0.03)));
            found.is_bound && found.time.interval.unwrap()[1] >= 0.01
        });
        let bounds = bounds.count();
        assert!(bounds >= 45, "{bounds}");
    }
}
