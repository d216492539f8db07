//! How the tests judge samples: each bound is broken with probability 1e-6 where the claim holds.

/// Fails where `sample` is not of the distribution: Kolmogorov's distance times the root of the size exceeds 2.694
/// with probability 1e-6.
pub(crate) fn kolmogorov(sample: Vec<f64>, distribution: impl Fn(f64) -> f64) {
    let size = sample.len() as f64;
    kolmogorov_of(sample, size, distribution);
}

/// The same for a sample that holds no more than `effective` independent values.
pub(crate) fn kolmogorov_of(mut sample: Vec<f64>, effective: f64, distribution: impl Fn(f64) -> f64) {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let distance = sample.iter().enumerate().fold(0.0_f64, |worst, (i, x)| {
        let expected = distribution(*x);
        worst.max((expected - i as f64 / n).abs()).max(((i + 1) as f64 / n - expected).abs())
    });
    let statistic = distance * effective.sqrt();
    assert!(statistic < 2.694, "Kolmogorov's distance is {statistic} with {effective} values");
}

/// Fails where `found` lies further from `expected` than 4.892 standard deviations (two-sided 1e-6).
pub(crate) fn near(what: &str, found: f64, expected: f64, stddev: f64) {
    let z = (found - expected) / stddev;
    assert!(z.abs() < 4.892, "{what}: {found} where {expected} is expected, {z} deviations");
}

/// A count of `n` independent trials of probability `p`, by the normal approximation (n p (1 - p) above 1,000).
pub(crate) fn binomial(what: &str, found: u64, n: u64, p: f64) {
    let (found, n) = (found as f64, n as f64);
    near(what, found, n * p, (n * p * (1.0 - p)).sqrt());
}
