//! Confidence intervals at 95 % that allow for dependence between the values.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

use crate::summary::{finite, real, whole};

/// 97.5 % quantile of the standard normal distribution: the two-sided 95 %.
pub(crate) const NORMAL_975: f64 = 1.959_963_984_540_054;
/// Fewer values than this say nothing of the dependence between them.
const FEWEST_VALUES: usize = 25;
/// While the means of neighbouring batches are correlated, batches are made longer, but not fewer than this.
const FEWEST_BATCHES: usize = 10;
/// Up to these degrees of freedom Student's quantile is searched for; the search loses its digits far above.
const STUDENT_EXACT: f64 = 200.0;
/// Up to this size the binomial distribution is used as it is, and above it its normal limit.
const BINOMIAL_EXACT: usize = 1_000;

/// The interval of the mean by Student's distribution; `None` below two values.
pub(crate) fn of_mean(series: &[f64], mean: f64, stddev: f64) -> Option<[f64; 2]> {
    let half = Dependence::of(series, |value| value).widening()? * stddev / real(series.len()).sqrt();
    Some([finite(mean - half)?, finite(mean + half)?])
}

/// The ranks, counted from 0, of the order statistics that enclose the median; `None` below six values, or where
/// the values depend on each other so much that the interval would reach beyond them.
pub(crate) fn ranks_of_median(series: &[f64], median: f64) -> Option<[usize; 2]> {
    let n = series.len();
    let low = binomial_rank(n)?;
    let dependence = Dependence::of(series, |value| if value <= median { 1.0 } else { 0.0 });
    if dependence.inflation <= 1.0 {
        return Some([low - 1, n - low]);
    }
    let centre = real(n + 1) / 2.0;
    let place = centre - (centre - real(low)) * dependence.widening()? / NORMAL_975;
    let low = whole(place).min(low);
    (place >= 1.0).then(|| [low - 1, n - low])
}

/// The greatest rank (from 1) below which the median lies with a probability under 2.5 %, for `n` independent
/// values.
fn binomial_rank(n: usize) -> Option<usize> {
    let rank = if n <= BINOMIAL_EXACT {
        usize::try_from(Binomial::new(0.5, n as u64).ok()?.inverse_cdf(0.025)).ok()?
    } else {
        whole(real(n) / 2.0 - NORMAL_975 / 2.0 * real(n).sqrt())
    };
    (rank > 0).then_some(rank)
}

/// The 97.5 % quantile of Student's distribution; `None` without a degree of freedom.
pub fn student_975(freedom: f64) -> Option<f64> {
    if freedom > STUDENT_EXACT {
        // Abramowitz and Stegun 26.7.5, about the normal quantile; what it leaves out is below 1e-6 from here on.
        let z = NORMAL_975;
        let first = (z.powi(3) + z) / 4.0;
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
        return Some(z + first / freedom + second / freedom.powi(2));
    }
    finite(StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975))
}

/// How much the values of a series depend on those before them.
struct Dependence {
    /// How many times the variance of the mean exceeds that of independent values, at least 1.
    inflation: f64,
    /// Degrees of freedom of what is estimated from the series.
    freedom: f64,
}

impl Dependence {
    /// By the variance of the means of non-overlapping batches of about the root of the sample's size each. Where
    /// neighbouring batches still depend on each other they are too short to tell, and are doubled as long as
    /// enough of them are left.
    fn of(series: &[f64], value: impl Fn(f64) -> f64) -> Self {
        let n = series.len();
        let independent = Self { inflation: 1.0, freedom: real(n.saturating_sub(1)) };
        if n < FEWEST_VALUES {
            return independent;
        }
        let mean = series.iter().map(|x| value(*x)).sum::<f64>() / real(n);
        let variance = series.iter().map(|x| (value(*x) - mean).powi(2)).sum::<f64>() / real(n - 1);
        let mut most = independent;
        let mut length = n.isqrt();
        loop {
            let batches = series.chunks_exact(length);
            let of_batch = |batch: &[f64]| batch.iter().map(|x| value(*x) - mean).sum::<f64>() / real(length);
            let means: Vec<f64> = batches.map(of_batch).collect();
            let (spread, lag) = spread_and_lag(&means);
            let inflation = spread * real(length) / variance;
            if inflation.is_finite() && inflation > most.inflation {
                let effective = (real(n) / inflation - 1.0).max(1.0);
                most = Self { inflation, freedom: effective.min(real(means.len() - 1)) };
            }
            let correlated = lag * real(means.len()).sqrt() > 1.0;
            if !correlated || n / (length * 2) < FEWEST_BATCHES {
                return most;
            }
            length *= 2;
        }
    }

    /// Half the width of the mean's interval, in standard errors of the mean of independent values; `None` without
    /// a degree of freedom.
    fn widening(&self) -> Option<f64> {
        Some(student_975(self.freedom)? * self.inflation.sqrt())
    }
}

/// Variance (n-1) of the batch means, and the correlation of each with the next.
fn spread_and_lag(means: &[f64]) -> (f64, f64) {
    let centre = means.iter().sum::<f64>() / real(means.len());
    let squares: f64 = means.iter().map(|mean| (mean - centre).powi(2)).sum();
    let products: f64 = means.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    (squares / real(means.len() - 1), if squares > 0.0 { products / squares } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_quantiles_are_those_of_the_tables() {
        for (freedom, quantile) in
            [(1.0, 12.7062), (4.0, 2.7764), (9.0, 2.2622), (30.0, 2.0423), (1e7, 1.9600)]
        {
            let found = student_975(freedom).unwrap();
            assert!((found - quantile).abs() < 1e-4, "{freedom}: {found}");
        }
        assert_eq!(student_975(0.0), None);
        // The expansion takes over without a step.
        let [exact, expanded] =
            [STUDENT_EXACT, STUDENT_EXACT + 1e-6].map(|freedom| student_975(freedom).unwrap());
        assert!((exact - expanded).abs() < 1e-6, "{exact} {expanded}");
    }

    #[test]
    fn the_medians_ranks_are_those_of_the_tables() {
        // Two-sided sign test at 5 %: the greatest rank whose tail stays under 2.5 %.
        for (n, rank) in [(5, None), (6, Some(1)), (8, Some(1)), (9, Some(2)), (20, Some(6)), (100, Some(40))]
        {
            assert_eq!(binomial_rank(n), rank, "n = {n}");
        }
        // The normal limit takes over without a step.
        let exact = binomial_rank(BINOMIAL_EXACT).unwrap();
        let limit = binomial_rank(BINOMIAL_EXACT + 1).unwrap();
        assert!(exact.abs_diff(limit) <= 1, "{exact} {limit}");
    }
}
