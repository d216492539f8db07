//! Networks in series: delays of the one added to those of the other (seed 000, section 10.4).
//!
//! If a packet's delay in the one network tells nothing of its delay in the other, the delay of both in series is
//! distributed as the convolution of the two. That is tested first, where both were measured at the same time
//! ([`independence`]); then the convolution is made ([`Sums::of`]) and may be held against a measurement of both in series
//! ([`Sums::against`]). All three samples are drawn anew by moving blocks of the length that their dependence asks for,
//! so that the tests know how little packets that share their fate tell.

use romer_units::random::{Seed, Stream};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::bootstrap::{SEED, Statistic};
use crate::interval::Dependence;
use crate::summary::{real, whole};

/// Samples that are drawn.
pub const RESAMPLES: usize = 399;
/// Values of a series at most: of longer ones every second, third, ... is taken.
const VALUES: usize = 4_096;
/// Quantiles that stand for a sample in a convolution, and in one of a sample drawn anew.
const POINTS: usize = 512;
const POINTS_DRAWN: usize = 64;
/// Places at which two distribution functions are compared.
const PLACES: usize = 64;
/// Fewer values, or pairs, than this tell nothing.
pub const FEWEST: usize = 60;

/// Spearman's correlation of pairs in order of time, and the probability of so much or more of it if there is none, by
/// Student's distribution with the dependence of the products in it. `None` below [`FEWEST`] pairs.
pub fn independence(pairs: &[(f64, f64)]) -> Option<(f64, f64)> {
    if pairs.len() < FEWEST {
        return None;
    }
    let first = ranks(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>());
    let second = ranks(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>());
    let products: Vec<f64> = first.iter().zip(&second).map(|(a, b)| a * b).collect();
    let n = real(products.len());
    let correlation = products.iter().sum::<f64>() / n;
    let variance = products.iter().map(|product| (product - correlation).powi(2)).sum::<f64>() / (n - 1.0);
    let dependence = Dependence::of(&products, |product| product);
    let error = (variance * dependence.inflation() / n).sqrt();
    if error <= 0.0 {
        return None;
    }
    let student = StudentsT::new(0.0, 1.0, dependence.freedom().min(1e6)).ok()?;
    Some((correlation, 2.0 * student.sf((correlation / error).abs())))
}

/// Ranks with mean 0 and variance 1; equal values share theirs. All 0 where all are equal.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for same in order.chunk_by(|a, b| values[*a].total_cmp(&values[*b]).is_eq()) {
        let rank = real(below) + real(same.len() - 1) / 2.0;
        same.iter().for_each(|place| ranks[*place] = rank);
        below += same.len();
    }
    let middle = real(values.len() - 1) / 2.0;
    let spread = (ranks.iter().map(|rank| (rank - middle).powi(2)).sum::<f64>() / real(values.len())).sqrt();
    ranks.iter().map(|rank| if spread > 0.0 { (rank - middle) / spread } else { 0.0 }).collect()
}

/// A series, and how it is drawn anew.
struct Series {
    values: Vec<f64>,
    block: usize,
    name: u32,
}

impl Series {
    fn of(values: &[f64], name: u32) -> Self {
        let values: Vec<f64> = values.iter().copied().step_by(values.len().div_ceil(VALUES).max(1)).collect();
        let block = Dependence::of(&values, |value| value).block().unwrap_or(1).min(values.len());
        Self { values, block, name }
    }

    /// Drawn anew, ascending.
    fn drawn(&self, number: u32) -> Vec<f64> {
        let stream = Stream::new(Seed(SEED.0.map(|part| part.wrapping_add(104))), [self.name, number]);
        let mut values = Vec::with_capacity(self.values.len() + self.block);
        let mut ordinal = 0;
        while values.len() < self.values.len() {
            let start = whole(stream.unit(ordinal) * real(self.values.len() - self.block + 1));
            values.extend_from_slice(&self.values[start..start + self.block]);
            ordinal += 1;
        }
        values.truncate(self.values.len());
        ascending(values)
    }
}

fn ascending(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values
}

fn quantile(sorted: &[f64], p: f64) -> f64 {
    let place = p * real(sorted.len() - 1);
    let below = whole(place).min(sorted.len() - 1);
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (place - real(below))
}

fn value(sorted: &[f64], statistic: Statistic) -> f64 {
    match statistic {
        Statistic::Mean => sorted.iter().sum::<f64>() / real(sorted.len()),
        Statistic::Quantile(p) => quantile(sorted, p),
    }
}

/// At most `points` values that are distributed as the sample, all of it where it is no larger.
fn points(sorted: &[f64], points: usize) -> Vec<f64> {
    if sorted.len() <= points {
        return sorted.to_vec();
    }
    (0..points).map(|point| quantile(sorted, (real(point) + 0.5) / real(points))).collect()
}

/// The convolution of two samples, ascending.
fn convolution(a: &[f64], b: &[f64], most: usize) -> Vec<f64> {
    let (a, b) = (points(a, most), points(b, most));
    ascending(a.iter().flat_map(|a| b.iter().map(move |b| a + b)).collect())
}

/// The share of a sample that is not above a place.
fn share(sorted: &[f64], place: f64) -> f64 {
    real(sorted.partition_point(|value| *value <= place)) / real(sorted.len())
}

/// The delays of two networks in series.
pub struct Sums {
    sums: Vec<f64>,
    rough: Vec<f64>,
    drawn: Vec<Vec<f64>>,
}

/// What a measurement of both networks in series says.
#[derive(Clone, Debug, PartialEq)]
pub struct Against {
    /// The greatest difference of the distribution functions, and the probability of so much or more if they are one.
    pub distance: f64,
    /// The probability.
    pub p_value: f64,
    /// 95 % intervals of the differences of the statistics that were asked for, measured minus predicted.
    pub difference_intervals: Vec<[f64; 2]>,
}

impl Sums {
    /// Of the delays of two networks, in order of time; `None` below [`FEWEST`] of either.
    pub fn of(a: &[f64], b: &[f64]) -> Option<Self> {
        if a.len().min(b.len()) < FEWEST {
            return None;
        }
        let whole = convolution(&ascending(a.to_vec()), &ascending(b.to_vec()), POINTS);
        let (a, b) = (Series::of(a, 1), Series::of(b, 2));
        let rough = convolution(&ascending(a.values.clone()), &ascending(b.values.clone()), POINTS_DRAWN);
        let numbers = 0..u32::try_from(RESAMPLES).unwrap_or(u32::MAX);
        let drawn =
            numbers.map(|number| convolution(&a.drawn(number), &b.drawn(number), POINTS_DRAWN)).collect();
        Some(Self { sums: whole, rough, drawn })
    }

    /// The same, each sample of sums about its own median: where the offset of clocks is not known.
    #[must_use]
    pub fn about_the_median(mut self) -> Self {
        for sums in [&mut self.sums, &mut self.rough].into_iter().chain(&mut self.drawn) {
            let middle = value(sums, Statistic::Quantile(0.5));
            sums.iter_mut().for_each(|sum| *sum -= middle);
        }
        self
    }

    /// The sums, ascending.
    pub fn values(&self) -> &[f64] {
        &self.sums
    }

    /// A statistic of the sums, and its 95 % interval.
    pub fn statistic(&self, statistic: Statistic) -> (f64, [f64; 2]) {
        let found = value(&self.sums, statistic);
        let rough = value(&self.rough, statistic);
        let away = self.drawn.iter().map(|drawn| value(drawn, statistic) - rough).collect();
        (found, middle(away).map(|end| found + end))
    }

    /// Held against delays that were measured with both networks in series; `None` below [`FEWEST`].
    pub fn against(&self, measured: &[f64], statistics: &[Statistic]) -> Option<Against> {
        if measured.len() < FEWEST {
            return None;
        }
        let series = Series::of(measured, 3);
        let sorted = ascending(series.values.clone());
        let places: Vec<f64> = (0..PLACES / 2)
            .map(|place| (real(place) + 0.5) / real(PLACES / 2))
            .flat_map(|p| [quantile(&sorted, p), quantile(&self.rough, p)])
            .collect();
        let apart = |measured: &[f64], sums: &[f64]| -> Vec<f64> {
            places.iter().map(|place| share(measured, *place) - share(sums, *place)).collect()
        };
        let here = apart(&sorted, &self.rough);
        let distance = here.iter().map(|apart| apart.abs()).fold(0.0, f64::max);
        let mut farther = 1;
        let mut differences = vec![Vec::with_capacity(RESAMPLES); statistics.len()];
        for (number, sums) in (0..).zip(&self.drawn) {
            let drawn = series.drawn(number);
            let moved = apart(&drawn, sums).into_iter().zip(&here).map(|(drawn, here)| (drawn - here).abs());
            farther += usize::from(moved.fold(0.0, f64::max) >= distance);
            for (statistic, differences) in statistics.iter().zip(&mut differences) {
                let there = value(&drawn, *statistic) - value(&sorted, *statistic);
                differences.push(there - (value(sums, *statistic) - value(&self.rough, *statistic)));
            }
        }
        let measured = ascending(measured.to_vec());
        let intervals = statistics.iter().zip(differences).map(|(statistic, away)| {
            let found = value(&measured, *statistic) - value(&self.sums, *statistic);
            middle(away).map(|end| found + end)
        });
        Some(Against {
            distance,
            p_value: real(farther) / real(self.drawn.len() + 1),
            difference_intervals: intervals.collect(),
        })
    }
}

/// The middle 95 % of values.
fn middle(values: Vec<f64>) -> [f64; 2] {
    let sorted = ascending(values);
    [0.025, 0.975].map(|p| quantile(&sorted, p))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exponential values that remember `memory` of the last one.
    fn series(name: u32, seed: u32, count: u64, memory: f64) -> Vec<f64> {
        let stream = Stream::new(Seed([8; 6]), [name, seed]);
        let mut value = 0.0;
        let step = |ordinal| {
            value = memory * value - (1.0 - memory) * (1.0 - stream.unit(ordinal)).ln();
            value
        };
        (0..count).map(step).collect()
    }

    fn added(a: &[f64], b: &[f64]) -> Vec<f64> {
        a.iter().zip(b).map(|(a, b)| a + b).collect()
    }

    #[test]
    fn the_sum_of_two_exponential_delays_has_an_erlang_distribution() {
        let sums = Sums::of(&series(1, 1, 4_000, 0.0), &series(2, 1, 4_000, 0.0)).unwrap();
        // Erlang of two stages: mean 2, median 1.678, p95 4.744; what 4,000 of each leave open is in the intervals.
        for (statistic, truth) in [
            (Statistic::Mean, 2.0),
            (Statistic::Quantile(0.5), 1.678_35),
            (Statistic::Quantile(0.95), 4.743_86),
        ] {
            let (found, [low, high]) = sums.statistic(statistic);
            let half = (high - low) / 2.0;
            assert!(
                (found - truth).abs() < 2.5 * half && half < 0.2,
                "{statistic:?}: {found} in {low} to {high}"
            );
        }
    }

    #[test]
    fn a_series_that_is_the_sum_holds_and_one_that_is_not_does_not() {
        let statistics = [Statistic::Mean, Statistic::Quantile(0.95)];
        let mut refused = 0;
        for seed in 0..10 {
            let of = |name, memory| series(name, seed, 600, memory);
            let sums = Sums::of(&of(1, 0.5), &of(2, 0.0)).unwrap();
            let measured = added(&of(3, 0.5), &of(4, 0.0));
            let same = sums.against(&measured, &statistics).unwrap();
            refused += u32::from(same.p_value < 0.05);
            let slower: Vec<f64> = measured.iter().map(|delay| 1.5 * delay).collect();
            let other = sums.against(&slower, &statistics).unwrap();
            assert!(other.p_value < 0.01, "seed {seed}: {other:?}");
            assert!(other.difference_intervals[0][0] > 0.0, "seed {seed}: {other:?}");
        }
        // Binomial of 10 at 5 %: more than 6 with a probability of 8e-8.
        assert!(refused <= 6, "{refused} of 10");
    }

    #[test]
    fn delays_that_depend_on_each_other_are_told_and_others_are_not() {
        let mut wrongly = 0;
        for seed in 0..30 {
            let (a, b) = (series(1, seed, 1_000, 0.9), series(2, seed, 1_000, 0.9));
            let apart: Vec<_> = a.iter().copied().zip(b.iter().copied()).collect();
            let (_, p) = independence(&apart).unwrap();
            wrongly += u32::from(p < 0.05);
            let together: Vec<_> = a.iter().zip(&b).map(|(a, b)| (*a, a + 0.5 * b)).collect();
            let (correlation, p) = independence(&together).unwrap();
            assert!(correlation > 0.5 && p < 1e-4, "seed {seed}: {correlation} {p}");
        }
        // Binomial of 30 at 5 %: more than 10 with a probability of 3e-7.
        assert!(wrongly <= 10, "{wrongly} of 30");
        assert_eq!(independence(&[(1.0, 2.0); 59]), None);
        assert_eq!(independence(&[(1.0, 2.0); 100]), None, "no spread");
    }
}
