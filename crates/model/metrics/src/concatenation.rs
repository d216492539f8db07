//! Networks in series: delays of the one added to those of the other (Hershberger 2005, section 10.4).
//!
//! If a packet's delay in the one network tells nothing of its delay in the other, the delay of both in series is
//! distributed as the convolution of the two. That is tested first, where both were measured at the same time
//! ([`independence`]); then the convolution is made ([`Sums::new`]) and may be held against a measurement of both in series
//! ([`Sums::against`]). Its mean, standard deviation and extremes are those of the samples by formula; its distribution function
//! is added up for each value of the one over all of the other, of large samples with means of values that lie between many
//! others. All three samples are drawn anew by moving blocks of the length that their dependence asks for,
//! so that the tests know how little packets that share their fate tell.

use romer_record::document::Summary;
use romer_units::random::{RandomStream, Seed};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::bootstrap::{SEED, Statistic};
use crate::interval::Dependence;
use crate::summary::Moments;
use crate::value::{real, to_usize};

/// Samples that are drawn.
pub const RESAMPLES: usize = 399;
/// Values of a series that samples are drawn from, at most: of longer ones every second, third, ... is taken.
const VALUES: usize = 1 << 17;
/// A sample is put together from so many blocks at most.
const MOST_BLOCKS: usize = 1 << 12;
/// Points that stand for a sample in a convolution: so many at either end are its values one by one, and so many means of as
/// many values each are what lies between.
const POINTS: PointBudget = PointBudget { ends: 1 << 13, between: 1 << 14 };
/// The same of a sample that is drawn anew.
const POINTS_DRAWN: PointBudget = PointBudget { ends: 256, between: 768 };
/// Places at which two distribution functions are compared.
const CDF_COMPARISON_POINTS: usize = 64;
/// Halvings in which a quantile is found.
const HALVINGS: usize = 80;
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
    let dependence = Dependence::estimate(&products[..], |product| product);
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

/// How many points stand for a sample.
#[derive(Clone, Copy, Debug)]
struct PointBudget {
    ends: usize,
    between: usize,
}

/// A series in classes, and how it is drawn anew.
struct Series {
    /// The class of each value, in order of time.
    of_place: Vec<u16>,
    /// The mean of each class, ascending.
    values: Vec<f64>,
    block: usize,
    name: u32,
}

impl Series {
    fn from_values(values: &[f64], name: u32) -> Self {
        let values: Vec<f64> = values.iter().copied().step_by(values.len().div_ceil(VALUES).max(1)).collect();
        let asked = Dependence::estimate(&values[..], |value| value).block().unwrap_or(1);
        let block = asked.max(values.len().div_ceil(MOST_BLOCKS)).min(values.len());
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
        let mut of_place = vec![0; values.len()];
        let mut means = Vec::new();
        for class in classes(values.len(), POINTS_DRAWN) {
            let places = &order[class];
            for place in places {
                of_place[*place] = u16::try_from(means.len()).unwrap_or(u16::MAX);
            }
            means.push(places.iter().map(|place| values[*place]).sum::<f64>() / real(places.len()));
        }
        Self { of_place, values: means, block, name }
    }

    /// As it is.
    fn plain(&self) -> Points {
        self.counted(&self.of_place)
    }

    /// Drawn anew.
    fn drawn(&self, number: u32) -> Points {
        let stream = RandomStream::new(Seed(SEED.0.map(|part| part.wrapping_add(104))), [self.name, number]);
        let count = self.of_place.len();
        let mut drawn = Vec::with_capacity(count + self.block);
        let mut ordinal = 0;
        while drawn.len() < count {
            let start = to_usize(stream.unit(ordinal) * real(count - self.block + 1));
            drawn.extend_from_slice(&self.of_place[start..start + self.block]);
            ordinal += 1;
        }
        drawn.truncate(count);
        self.counted(&drawn)
    }

    fn counted(&self, of_place: &[u16]) -> Points {
        let mut counts = vec![0_u32; self.values.len()];
        of_place.iter().for_each(|class| counts[usize::from(*class)] += 1);
        let there = self.values.iter().zip(&counts).filter(|(_, count)| **count > 0);
        Points::from_points(there.map(|(value, count)| (*value, f64::from(*count))))
    }
}

/// Places of an ascending sample in classes: each of the values at the ends alone, and those between in equal parts.
fn classes(count: usize, room: PointBudget) -> impl Iterator<Item = std::ops::Range<usize>> {
    let ends = room.ends.min(count / 2);
    let between = count - 2 * ends;
    let parts = room.between.min(between);
    let edge = move |part: usize| ends + part * between / parts.max(1);
    let low = (0..ends).map(|place| place..place + 1);
    let middle = (0..parts).map(move |part| edge(part)..edge(part + 1));
    low.chain(middle).chain((count - ends..count).map(|place| place..place + 1))
}

/// A distribution on points. It is kept as numbers of values, which floats hold exactly: of sums of shares the last digit would
/// be no more than how they were added up, and two distributions that are the same would differ by it.
struct Points {
    /// Ascending.
    values: Vec<f64>,
    /// How many there are of each.
    weights: Vec<f64>,
    /// How many there are before each, and of all.
    below: Vec<f64>,
    /// How many there are.
    all: f64,
}

impl Points {
    fn from_points(points: impl Iterator<Item = (f64, f64)>) -> Self {
        let (values, counts): (Vec<f64>, Vec<f64>) = points.unzip();
        let mut all = 0.0;
        let mut below = vec![0.0];
        below.extend(counts.iter().map(|count| {
            all += count;
            all
        }));
        Self { values, weights: counts, below, all }
    }

    /// An ascending sample.
    fn of_sample(sorted: &[f64], room: PointBudget) -> Self {
        let point = |class: std::ops::Range<usize>| {
            let values = &sorted[class];
            (values.iter().sum::<f64>() / real(values.len()), real(values.len()))
        };
        Self::from_points(classes(sorted.len(), room).map(point))
    }

    fn mean(&self) -> f64 {
        self.values.iter().zip(&self.weights).map(|(value, weight)| value * (weight / self.all)).sum()
    }

    /// The probability of what is not above a place.
    fn share(&self, place: f64) -> f64 {
        self.below[self.values.partition_point(|value| *value <= place)] / self.all
    }

    fn quantile(&self, p: f64) -> f64 {
        let place = self.below[1..].partition_point(|below| *below < (p - PROBABILITY_RESOLUTION) * self.all);
        self.values[place.min(self.values.len() - 1)]
    }

    fn value(&self, statistic: Statistic) -> f64 {
        match statistic {
            Statistic::Mean => self.mean(),
            Statistic::Quantile(p) => self.quantile(p),
        }
    }
}

/// Probabilities are exact to this, however many values there are.
const PROBABILITY_RESOLUTION: f64 = 1e-12;

/// The convolution of two distributions: that of their sum, if they are independent.
struct Convolution {
    parts: [Points; 2],
    /// What is taken off the sums.
    about: f64,
}

impl Convolution {
    fn convolve(a: Points, b: Points) -> Self {
        Self { parts: [a, b], about: 0.0 }
    }

    /// The probability of sums that are not above a place.
    fn share(&self, place: f64) -> f64 {
        self.share_of_sums(place + self.about)
    }

    fn share_of_sums(&self, place: f64) -> f64 {
        let [a, b] = &self.parts;
        // As the one grows the other has to shrink.
        let mut end = b.values.len();
        let mut sum = 0.0;
        for (value, weight) in a.values.iter().zip(&a.weights) {
            while end > 0 && value + b.values[end - 1] > place {
                end -= 1;
            }
            if end == 0 {
                break;
            }
            sum += weight * b.below[end];
        }
        sum / (a.all * b.all)
    }

    fn end(&self, pick: fn(&[f64]) -> Option<&f64>) -> f64 {
        self.parts.iter().filter_map(|part| pick(&part.values)).sum()
    }

    /// The least sum that so large a share is not above.
    fn quantile(&self, p: f64) -> f64 {
        self.quantile_of_sums(p) - self.about
    }

    fn quantile_of_sums(&self, p: f64) -> f64 {
        let (mut low, mut high) = (self.end(<[f64]>::first), self.end(<[f64]>::last));
        if p <= 0.0 || self.share_of_sums(low) >= p - PROBABILITY_RESOLUTION {
            return low;
        }
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high {
                break;
            }
            if self.share_of_sums(middle) >= p - PROBABILITY_RESOLUTION {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }

    fn value(&self, statistic: Statistic) -> f64 {
        match statistic {
            Statistic::Mean => self.parts.iter().map(Points::mean).sum::<f64>() - self.about,
            Statistic::Quantile(p) => self.quantile(p),
        }
    }

    fn about_the_median(&mut self) {
        self.about = self.quantile_of_sums(0.5);
    }
}

/// The delays of two networks in series.
pub struct Sums {
    sums: Convolution,
    /// Sums of all values, each of the one with each of the other.
    count: u64,
    mean: f64,
    stddev: f64,
    rough: Convolution,
    drawn: Vec<Convolution>,
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
    pub fn new(a: &[f64], b: &[f64]) -> Option<Self> {
        if a.len().min(b.len()) < FEWEST {
            return None;
        }
        let (first, second) = (ascending(a.to_vec()), ascending(b.to_vec()));
        let of_both = [Moments::from_values(&first[..])?, Moments::from_values(&second[..])?];
        let sums =
            Convolution::convolve(Points::of_sample(&first, POINTS), Points::of_sample(&second, POINTS));
        let count = (a.len() as u64).saturating_mul(b.len() as u64);
        let (a, b) = (Series::from_values(a, 1), Series::from_values(b, 2));
        let rough = Convolution::convolve(a.plain(), b.plain());
        let numbers = 0..u32::try_from(RESAMPLES).unwrap_or(u32::MAX);
        let drawn = numbers.map(|number| Convolution::convolve(a.drawn(number), b.drawn(number))).collect();
        let mean = of_both.iter().map(Moments::mean).sum();
        let stddev = of_both.iter().map(Moments::variance).sum::<f64>().sqrt();
        Some(Self { sums, count, mean, stddev, rough, drawn })
    }

    /// The same, each sample of sums about its own median: where the offset of clocks is not known.
    #[must_use]
    pub fn about_the_median(mut self) -> Self {
        for sums in [&mut self.sums, &mut self.rough].into_iter().chain(&mut self.drawn) {
            sums.about_the_median();
        }
        self
    }

    /// The sums' distribution. There are as many as pairs of values, and they have no order: no intervals.
    pub fn summary(&self) -> Summary {
        let quantile = |p: f64| Some(self.sums.quantile(p));
        Summary {
            count: self.count,
            min: quantile(0.0),
            max: Some(self.sums.end(<[f64]>::last) - self.sums.about),
            mean: Some(self.mean - self.sums.about),
            stddev: Some(self.stddev),
            ..Summary::of_quantiles(quantile)
        }
    }

    fn value(&self, statistic: Statistic) -> f64 {
        match statistic {
            Statistic::Mean => self.mean - self.sums.about,
            Statistic::Quantile(p) => self.sums.quantile(p),
        }
    }

    /// A statistic of the sums, and its 95 % interval.
    pub fn statistic(&self, statistic: Statistic) -> (f64, [f64; 2]) {
        let found = self.value(statistic);
        let rough = self.rough.value(statistic);
        let away = self.drawn.iter().map(|drawn| drawn.value(statistic) - rough).collect();
        (found, middle(away).map(|end| found + end))
    }

    /// Held against delays that were measured with both networks in series; `None` below [`FEWEST`].
    pub fn against(&self, measured: &[f64], statistics: &[Statistic]) -> Option<Against> {
        if measured.len() < FEWEST {
            return None;
        }
        let series = Series::from_values(measured, 3);
        let plain = series.plain();
        let places: Vec<f64> = (0..CDF_COMPARISON_POINTS / 2)
            .map(|place| (real(place) + 0.5) / real(CDF_COMPARISON_POINTS / 2))
            .flat_map(|p| [plain.quantile(p), self.rough.quantile(p)])
            .collect();
        let apart = |measured: &Points, sums: &Convolution| -> Vec<f64> {
            places.iter().map(|place| measured.share(*place) - sums.share(*place)).collect()
        };
        let here = apart(&plain, &self.rough);
        let distance = here.iter().map(|apart| apart.abs()).fold(0.0, f64::max);
        let distance = if distance < PROBABILITY_RESOLUTION { 0.0 } else { distance };
        let mut farther = 1;
        let mut differences = vec![Vec::with_capacity(RESAMPLES); statistics.len()];
        for (number, sums) in (0..).zip(&self.drawn) {
            let drawn = series.drawn(number);
            let moved = apart(&drawn, sums).into_iter().zip(&here).map(|(drawn, here)| (drawn - here).abs());
            farther += usize::from(moved.fold(0.0, f64::max) >= distance - PROBABILITY_RESOLUTION);
            for (statistic, differences) in statistics.iter().zip(&mut differences) {
                let there = drawn.value(*statistic) - plain.value(*statistic);
                differences.push(there - (sums.value(*statistic) - self.rough.value(*statistic)));
            }
        }
        let measured = ascending(measured.to_vec());
        let intervals = statistics.iter().zip(differences).map(|(statistic, away)| {
            let found = value(&measured, *statistic) - self.value(*statistic);
            middle(away).map(|end| found + end)
        });
        Some(Against {
            distance,
            p_value: real(farther) / real(self.drawn.len() + 1),
            difference_intervals: intervals.collect(),
        })
    }
}

fn ascending(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values
}

fn quantile(sorted: &[f64], p: f64) -> f64 {
    let place = p * real(sorted.len() - 1);
    let below = to_usize(place).min(sorted.len() - 1);
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (place - real(below))
}

fn value(sorted: &[f64], statistic: Statistic) -> f64 {
    match statistic {
        Statistic::Mean => sorted.iter().sum::<f64>() / real(sorted.len()),
        Statistic::Quantile(p) => quantile(sorted, p),
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
        let stream = RandomStream::new(Seed([8; 6]), [name, seed]);
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
        let sums = Sums::new(&series(1, 1, 4_000, 0.0), &series(2, 1, 4_000, 0.0)).unwrap();
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
    fn the_sums_are_those_of_each_value_with_each() {
        // Tails without a variance, of which thinning leaves nothing.
        let heavy = |name| -> Vec<f64> {
            series(name, 2, 1_500, 0.0).into_iter().map(|value| 20e6 + 1e6 * (value / 1.5).exp()).collect()
        };
        let (a, b) = (heavy(1), heavy(2));
        let all = ascending(a.iter().flat_map(|a| b.iter().map(move |b| a + b)).collect());
        let sums = Sums::new(&a, &b).unwrap();
        let found = sums.summary();
        let exact = crate::summary(&all);
        assert_eq!((found.count, found.min, found.max), (exact.count, exact.min, exact.max));
        for (found, exact) in [
            (found.mean, exact.mean),
            (found.stddev, exact.stddev),
            (found.p25, exact.p25),
            (found.median, exact.median),
            (found.p95, exact.p95),
            (found.p99, exact.p99),
            (found.p99_9, exact.p99_9),
        ] {
            let (found, exact) = (found.unwrap(), exact.unwrap());
            assert!((found / exact - 1.0).abs() < 1e-5, "{found} {exact}");
        }
        let mean = a.iter().chain(&b).sum::<f64>() / 1_500.0;
        let (value, [low, high]) = sums.statistic(Statistic::Mean);
        assert!((value / mean - 1.0).abs() < 1e-12 && low < mean && mean < high, "{mean} in {low} to {high}");
        let about = sums.about_the_median().summary();
        assert_eq!(about.median, Some(0.0));
        assert!((about.max.unwrap() / (exact.max.unwrap() - exact.median.unwrap()) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn points_that_stand_for_many_values_change_no_quantile_by_more_than_chance_does() {
        let a: Vec<f64> = series(1, 3, 5_000, 0.0);
        let b: Vec<f64> = series(2, 3, 5_000, 0.0);
        let [whole, few] = [POINTS, POINTS_DRAWN].map(|room| {
            let of = |values: &[f64]| Points::of_sample(&ascending(values.to_vec()), room);
            Convolution::convolve(of(&a), of(&b))
        });
        for p in [0.01, 0.5, 0.95, 0.999] {
            let (exact, found) = (whole.quantile(p), few.quantile(p));
            assert!((found / exact - 1.0).abs() < 0.002, "{p}: {found} {exact}");
        }
    }

    #[test]
    fn a_series_that_is_the_sum_holds_and_one_that_is_not_does_not() {
        let statistics = [Statistic::Mean, Statistic::Quantile(0.95)];
        let mut refused = 0;
        for seed in 0..10 {
            let of = |name, memory| series(name, seed, 600, memory);
            let sums = Sums::new(&of(1, 0.5), &of(2, 0.0)).unwrap();
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
    fn a_perfect_sum_is_no_farther_from_what_was_measured_than_nothing() {
        for count in [60, 499, 500, 1_000, 7_919] {
            let of = |delay: f64| vec![delay; count];
            let sums = || Sums::new(&of(5e6), &of(7e6)).unwrap();
            for (sums, measured) in [(sums(), 12e6), (sums().about_the_median(), 0.0)] {
                let found = sums.against(&of(measured), &[Statistic::Mean]).unwrap();
                assert_eq!((found.distance, found.p_value), (0.0, 1.0), "{count}: {found:?}");
            }
            // Of two values each as often, in turns, and one: the sum is as far from each of its values.
            let two: Vec<f64> = (0..2 * count).map(|n| if n % 2 == 0 { 5e6 } else { 6e6 }).collect();
            let both: Vec<f64> = two.iter().map(|delay| delay + 7e6).collect();
            let found = Sums::new(&two, &of(7e6)).unwrap().against(&both, &[]).unwrap();
            assert_eq!((found.distance, found.p_value), (0.0, 1.0), "{count}: {found:?}");
        }
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
