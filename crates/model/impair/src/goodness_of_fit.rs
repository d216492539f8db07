//! Whether numbers are of a law: the tests of Pham 2004's chapter 5, and the numbers that a run draws from.
//!
//! Each test gives the probability with which numbers of the law give as large a statistic. They say nothing of how the
//! numbers follow each other; for that there are the plots.

use romer_units::random::Seed;

use crate::convert;
use crate::generator::{Draws, Generator, Lane, Owner};
use crate::special_functions::{gamma_shares, normal_below, normal_quantile};

/// What a test says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goodness {
    /// Its statistic.
    pub statistic: f64,
    /// With which probability it is as large where the law holds.
    pub p_value: f64,
}

/// Kolmogorov's and Smirnov's: the greatest distance between the share of the numbers up to a value and that of the
/// law, with Stephens' correction for few numbers (1970). `None` of nothing.
pub fn kolmogorov_smirnov(sample: &[f64], share_up_to: impl Fn(f64) -> f64) -> Option<Goodness> {
    let mut sample = sample.to_vec();
    sample.sort_by(f64::total_cmp);
    let n = convert::count(sample.len() as u64);
    let distance = (0_u64..).zip(&sample).fold(0.0_f64, |worst, (rank, value)| {
        let expected = share_up_to(*value);
        let [before, after] = [rank, rank + 1].map(|rank| convert::count(rank) / n);
        worst.max(expected - before).max(after - expected)
    });
    let root = libm::sqrt(n);
    let z = (root + 0.12 + 0.11 / root) * distance;
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
        sign * libm::exp(-2.0 * f64::from(k * k) * z * z)
    };
    // Below this the series does not converge, and the probability is one to fifteen digits.
    let p_value = if z < 0.2 { 1.0 } else { (1..=100).map(term).sum::<f64>().clamp(0.0, 1.0) };
    (!sample.is_empty()).then_some(Goodness { statistic: distance, p_value })
}

/// Pearson's chi-square over `cells` cells, each of which has the same share of the law. `None` where a cell would have
/// fewer than 5 numbers, for which it does not hold.
pub fn chi_square(sample: &[f64], cells: u16, share_up_to: impl Fn(f64) -> f64) -> Option<Goodness> {
    let expected = convert::count(sample.len() as u64) / f64::from(cells);
    if cells < 2 || expected < 5.0 {
        return None;
    }
    let mut counts = vec![0_u64; usize::from(cells)];
    for value in sample {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is from 0 to 1")]
        let cell = (share_up_to(*value) * f64::from(cells)) as usize;
        if let Some(count) = counts.get_mut(cell.min(usize::from(cells) - 1)) {
            *count += 1;
        }
    }
    let statistic = counts.iter().map(|count| (convert::count(*count) - expected).powi(2) / expected).sum();
    let p_value = gamma_shares(f64::from(cells - 1) / 2.0, statistic / 2.0).1;
    Some(Goodness { statistic, p_value })
}

/// Jarque's and Bera's: whether skewness and kurtosis are those of a normal law, whatever its mean and deviation. The
/// probability is that of many numbers. `None` of fewer than 8, or of numbers that are all one.
pub fn jarque_bera(sample: &[f64]) -> Option<Goodness> {
    let n = convert::count(sample.len() as u64);
    let moment = central_moments(sample);
    let variance = moment(2);
    if sample.len() < 8 || variance <= 0.0 {
        return None;
    }
    let skewness = moment(3) / variance.powf(1.5);
    let excess = moment(4) / (variance * variance) - 3.0;
    let statistic = n / 6.0 * (skewness * skewness + excess * excess / 4.0);
    Some(Goodness { statistic, p_value: libm::exp(-statistic / 2.0) })
}

/// The central moments of numbers, by their power.
pub(crate) fn central_moments(sample: &[f64]) -> impl Fn(i32) -> f64 {
    let n = convert::count(sample.len() as u64);
    let mean = sample.iter().sum::<f64>() / n;
    move |power| sample.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / n
}

/// The share of the normal law of mean 0 and deviation 1 up to `value`.
pub fn normal_share_up_to(value: f64) -> f64 {
    normal_below(value)
}

/// The scores of `count` normal numbers in ascending order: the quantiles at (i - 1/2)/n.
pub fn normal_scores(count: u32) -> Vec<f64> {
    (0..count).map(|rank| normal_quantile((f64::from(rank) + 0.5) / f64::from(count))).collect()
}

/// Numbers that a generator gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// Between 0 and 1.
    pub uniform: Vec<f64>,
    /// Of mean 0 and deviation 1, made of further ones as the delays of a run are: by Leva's method with a generator
    /// that draws in sequence, by the inverse function with one that counts.
    pub normal: Vec<f64>,
}

/// The first `count` numbers that decide the losses of packets at port a with this seed, and as many normal ones of
/// those that decide their delays.
pub fn numbers(generator: Generator, seed: Seed, count: u32) -> Numbers {
    let mut draws = Draws::new(Owner { seed, generator, port: 0, flow: 0 });
    let mut uniform = Vec::new();
    let mut normal = Vec::new();
    for ordinal in 0..u64::from(count) {
        uniform.push(draws.unit(Lane::Loss, ordinal, 0));
        normal.push(draws.normal(Lane::Delay, ordinal, 0));
    }
    Numbers { uniform, normal }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: Seed = Seed([1, 2, 3, 4, 5, 6]);
    const EACH: [Generator; 3] = [Generator::Counter, Generator::Mrg, Generator::Mrg32k3a];

    #[test]
    fn every_generators_numbers_pass_their_tests() {
        // Ten tests at 1e-6.
        for generator in EACH {
            let Numbers { uniform, normal } = numbers(generator, SEED, 20_000);
            let found = [
                kolmogorov_smirnov(&uniform, |x| x),
                chi_square(&uniform, 100, |x| x),
                kolmogorov_smirnov(&normal, normal_share_up_to),
                jarque_bera(&normal),
            ];
            for test in found.map(Option::unwrap) {
                assert!(test.p_value > 1e-6, "{generator:?}: {found:?}");
            }
        }
    }

    #[test]
    fn numbers_of_another_law_do_not_pass() {
        let Numbers { uniform, normal } = numbers(Generator::Counter, SEED, 20_000);
        let bent: Vec<f64> = uniform.iter().map(|x| x.powf(1.1)).collect();
        assert!(kolmogorov_smirnov(&bent, |x| x).unwrap().p_value < 1e-6);
        assert!(chi_square(&bent, 100, |x| x).unwrap().p_value < 1e-6);
        assert!(jarque_bera(&uniform).unwrap().p_value < 1e-6);
        let shifted: Vec<f64> = normal.iter().map(|x| x + 0.1).collect();
        assert!(kolmogorov_smirnov(&shifted, normal_share_up_to).unwrap().p_value < 1e-6);
        assert!(jarque_bera(&shifted).unwrap().p_value > 1e-6, "which does not look at the mean");
    }

    #[test]
    fn known_statistics_have_their_known_probabilities() {
        // Of one number in the middle the distance is a half. Of 100, Kolmogorov's 5 % point by Stephens is 1.358/10.131.
        assert!((kolmogorov_smirnov(&[0.5], |x| x).unwrap().statistic - 0.5).abs() < 1e-12);
        let even: Vec<f64> = (0..100).map(|n| (f64::from(n) + 0.5) / 100.0).collect();
        let found = kolmogorov_smirnov(&even, |x| (x - 0.129_04).max(0.0)).unwrap();
        assert!((found.p_value - 0.05).abs() < 0.002, "{found:?}");
        // Chi-square with 9 degrees of freedom exceeds 16.919 with 5 %: here 10 cells of 10, one shifted.
        let p = gamma_shares(4.5, 16.919 / 2.0).1;
        assert!((p - 0.05).abs() < 1e-5, "{p}");
        assert_eq!(chi_square(&even, 10, |x| x).unwrap(), Goodness { statistic: 0.0, p_value: 1.0 });
        // Skewness 0 and kurtosis 1 of two values alike: n/6 * (4/4).
        let two: Vec<f64> = (0..60).map(|n| f64::from(n % 2)).collect();
        let found = jarque_bera(&two).unwrap();
        assert!((found.statistic - 10.0).abs() < 1e-9 && (found.p_value - libm::exp(-5.0)).abs() < 1e-9);
    }

    #[test]
    fn too_few_numbers_say_nothing() {
        assert_eq!(kolmogorov_smirnov(&[], |x| x), None);
        assert_eq!(chi_square(&[0.5; 49], 10, |x| x), None);
        assert_eq!((jarque_bera(&[1.0; 7]), jarque_bera(&[1.0; 50])), (None, None));
        let scores = normal_scores(3);
        assert!(scores[1].abs() < 1e-12 && (scores[0] + scores[2]).abs() < 1e-12);
    }
}
