//! How far two distributions are apart.
//!
//! | distance | what |
//! | --- | --- |
//! | Kolmogorov and Smirnov | the greatest difference of the cumulative distributions: a share of the values, from 0 to 1 |
//! | Wasserstein, of order 1 | the area between the cumulative distributions: by how much values have to be moved on average to turn one distribution into the other, in the unit of the values |
//!
//! Both are norms of the difference of two cumulative distributions. What a sample misses of the true difference is drawn by moving
//! blocks ([`crate::bootstrap`]), and 95 % of it is the arm of the interval: by the triangle inequality, a true distance is
//! no farther from the found one than the norm of what is missed. The interval therefore holds at least 95 %, also where
//! both distributions are one.

use crate::bootstrap::{FEWEST, RESAMPLES, Statistic, block_length, draw, number, tells};
use crate::value::{real, to_usize};

/// The most values at which cumulative distributions are compared while they are drawn anew.
const PLACES: usize = 1 << 11;

/// A distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// As found.
    pub value: f64,
    /// 95 % confidence interval, not below 0; `None` where too few values are as good as independent.
    pub interval: Option<[f64; 2]>,
}

/// Both distances of two series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distances {
    /// That of Kolmogorov and Smirnov.
    pub kolmogorov_smirnov: Distance,
    /// That of Wasserstein.
    pub wasserstein: Distance,
}

/// The distances of the distributions of `a` and `b`, which are in order of time; `None` where one is empty. `names` tell the draws of one
/// series from those of another.
pub fn distances(a: &[f64], b: &[f64], names: [u32; 2]) -> Option<Distances> {
    let (first, second) = (ascending(a), ascending(b));
    let values = [kolmogorov_smirnov(&first, &second)?, wasserstein(&first, &second)?];
    let arms = arms([a, b], &Places::new(&first, &second), names);
    let distance = |place: usize, most: f64| Distance {
        value: values[place],
        interval: arms
            .map(|arms| [(values[place] - arms[place]).max(0.0), (values[place] + arms[place]).min(most)]),
    };
    Some(Distances { kolmogorov_smirnov: distance(0, 1.0), wasserstein: distance(1, f64::INFINITY) })
}

/// The Kolmogorov-Smirnov distance of two samples, each ascending; `None` where one is empty.
pub fn kolmogorov_smirnov(a: &[f64], b: &[f64]) -> Option<f64> {
    steps(a, b).map(|steps| steps.into_iter().map(|(apart, _)| apart.abs()).fold(0.0, f64::max))
}

/// The Wasserstein distance of order 1 of two samples, each ascending; `None` where one is empty.
pub fn wasserstein(a: &[f64], b: &[f64]) -> Option<f64> {
    steps(a, b).map(|steps| steps.into_iter().map(|(apart, width)| apart.abs() * width).sum())
}

/// The difference of the cumulative distributions from each value to the next, and how wide that is.
fn steps(a: &[f64], b: &[f64]) -> Option<Vec<(f64, f64)>> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (mut in_a, mut in_b) = (0, 0);
    let mut steps = Vec::with_capacity(a.len() + b.len());
    while let Some(value) = least(a.get(in_a), b.get(in_b)) {
        in_a += a[in_a..].iter().take_while(|one| **one <= value).count();
        in_b += b[in_b..].iter().take_while(|one| **one <= value).count();
        let width = least(a.get(in_a), b.get(in_b)).map_or(0.0, |next| next - value);
        steps.push((real(in_a) / real(a.len()) - real(in_b) / real(b.len()), width));
    }
    Some(steps)
}

fn least(a: Option<&f64>, b: Option<&f64>) -> Option<f64> {
    a.into_iter().chain(b).copied().reduce(f64::min)
}

fn ascending(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// The values at which the cumulative distributions of two samples are compared: all, or some that are spread evenly by rank.
struct Places(Vec<f64>);

impl Places {
    /// Of two samples, each ascending.
    fn new(a: &[f64], b: &[f64]) -> Self {
        let mut all: Vec<f64> = a.iter().chain(b).copied().collect();
        all.sort_unstable_by(f64::total_cmp);
        all.dedup();
        if all.len() > PLACES {
            let last = all.len() - 1;
            all = (0..PLACES).map(|place| all[last * place / (PLACES - 1)]).collect();
        }
        Self(all)
    }

    /// Up to which place each value counts.
    fn of(&self, series: &[f64]) -> Vec<u16> {
        let place = |value: &f64| self.0.partition_point(|one| one < value);
        series.iter().map(|value| u16::try_from(place(value)).unwrap_or(u16::MAX)).collect()
    }
}

/// 95 % of what the samples miss of the true difference, by both norms.
fn arms(series: [&[f64]; 2], places: &Places, names: [u32; 2]) -> Option<[f64; 2]> {
    if series.iter().any(|one| one.len() < FEWEST || !tells(one, Statistic::Quantile(0.5), 0)) {
        return None;
    }
    let blocks = series.map(block_length);
    let of_series = series.map(|one| places.of(one));
    // What a block adds at each place, of both series: b counts against a.
    let weights = [1.0 / real(series[0].len()), -1.0 / real(series[1].len())];
    let mut own = vec![0.0; places.0.len()];
    for (of_series, weight) in of_series.iter().zip(weights) {
        of_series.iter().for_each(|place| own[usize::from(*place)] += weight);
    }
    let mut missed = [Vec::with_capacity(RESAMPLES), Vec::with_capacity(RESAMPLES)];
    let mut drawn = vec![0.0; places.0.len()];
    for sample in 0..RESAMPLES {
        drawn.iter_mut().zip(&own).for_each(|(drawn, own)| *drawn = -own);
        for one in 0..2 {
            draw(series[one].len(), blocks[one], [names[one], number(sample)], |range| {
                of_series[one][range].iter().for_each(|place| drawn[usize::from(*place)] += weights[one]);
            });
        }
        let (mut apart, mut greatest, mut area) = (0.0, 0.0_f64, 0.0);
        for (place, step) in drawn.iter().enumerate() {
            apart += step;
            greatest = greatest.max(f64::abs(apart));
            let width = places.0.get(place + 1).map_or(0.0, |next| next - places.0[place]);
            area += f64::abs(apart) * width;
        }
        missed[0].push(greatest);
        missed[1].push(area);
    }
    Some(missed.map(|values| {
        let sorted = ascending(&values);
        sorted[to_usize((0.95 * real(sorted.len() - 1)).round())]
    }))
}

#[cfg(test)]
mod tests {
    use romer_units::random::{RandomStream, Seed};

    use super::*;

    fn near(found: Option<f64>, expected: f64) {
        assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?}, not {expected}");
    }

    /// By hand: the cumulative distributions of 1, 2, 4 and 2, 5 differ by 1/3 from 1 to 2, by 1/6 from 2 to 4, by 1/2 from 4 to 5. The
    /// area is 1/3 + 2/6 + 1/2.
    #[test]
    fn distances_by_hand() {
        let (a, b) = ([1.0, 2.0, 4.0], [2.0, 5.0]);
        near(kolmogorov_smirnov(&a, &b), 0.5);
        near(wasserstein(&a, &b), 7.0 / 6.0);
        near(wasserstein(&b, &a), 7.0 / 6.0);
        // Moved by 3 as a whole; and equal samples, of different size.
        near(wasserstein(&a, &[4.0, 5.0, 7.0]), 3.0);
        near(kolmogorov_smirnov(&[1.0, 1.0, 2.0, 2.0], &[1.0, 2.0]), 0.0);
        near(wasserstein(&[1.0, 1.0, 2.0, 2.0], &[1.0, 2.0]), 0.0);
        near(kolmogorov_smirnov(&[1.0], &[9.0]), 1.0);
        assert_eq!((kolmogorov_smirnov(&[], &a), wasserstein(&a, &[])), (None, None));
    }

    /// An exponential series of mean 1 about which each value keeps `memory` of the normal score before it.
    fn series(name: u32, count: u64, memory: f64, shift: f64) -> Vec<f64> {
        let stream = RandomStream::new(Seed([11; 6]), [name, 0]);
        let normal = |n: u64| {
            (-2.0 * stream.unit(2 * n).max(1e-12).ln()).sqrt()
                * (std::f64::consts::TAU * stream.unit(2 * n + 1)).cos()
        };
        let mut score = normal(0);
        (1..=count)
            .map(|n| {
                score = memory * score + (1.0 - memory * memory).sqrt() * normal(n);
                let above = statrs::function::erf::erfc(score / std::f64::consts::SQRT_2) / 2.0;
                shift - above.max(1e-12).ln()
            })
            .collect()
    }

    /// Intervals hold the true distance of two shifted exponential distributions: W = shift, KS = 1 - exp(-shift). Of 100 pairs 95 are
    /// expected at least; fewer than 87 have a probability below 1 in 1000.
    #[test]
    fn intervals_hold_the_true_distance() {
        for (memory, count) in [(0.0, 300), (0.7, 1_500)] {
            for shift in [0.0, 0.15, 1.0] {
                let mut held = [0, 0];
                for pair in 0..100 {
                    let a = series(2 * pair, count, memory, 0.0);
                    let b = series(2 * pair + 1, count, memory, shift);
                    let found = distances(&a, &b, [0, 1]).unwrap();
                    let true_values = [1.0 - f64::exp(-shift), shift];
                    for (place, distance) in [found.kolmogorov_smirnov, found.wasserstein].iter().enumerate()
                    {
                        let [low, high] = distance.interval.unwrap();
                        held[place] += u32::from((low..=high).contains(&true_values[place]));
                    }
                }
                assert!(held.iter().all(|held| *held >= 87), "{memory}, {shift}: {held:?} of 100");
            }
        }
    }

    /// A shift that is far greater than chance has an interval that excludes 0 and is not wider than a third of it.
    #[test]
    fn a_large_shift_is_told() {
        let found = distances(&series(1, 2_000, 0.0, 0.0), &series(2, 2_000, 0.0, 1.0), [0, 1]).unwrap();
        let [low, high] = found.wasserstein.interval.unwrap();
        assert!(low > 0.85 && high < 1.18, "{found:?}");
        assert!(found.kolmogorov_smirnov.interval.unwrap()[0] > 0.55, "{found:?}");
    }

    /// Few values, and values that depend on each other too much, have distances without intervals.
    #[test]
    fn too_few_values_have_no_interval() {
        let found = distances(&[1.0, 2.0], &[2.0, 3.0], [0, 1]).unwrap();
        assert_eq!((found.wasserstein.value, found.wasserstein.interval), (1.0, None));
        let slow = series(1, 200, 0.999, 0.0);
        assert_eq!(distances(&slow, &slow, [0, 1]).unwrap().kolmogorov_smirnov.interval, None);
    }
}
