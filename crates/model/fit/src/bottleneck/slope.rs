//! The rate from the delays of packets of different sizes.
//!
//! Each octet adds the transmission time of one octet to the delay. At the true time, whether the delay without transmission rises or
//! falls from a packet to the next does not depend on the size of the next one:
//!
//! ```text
//! T(time) = sum over n of u(n) * sign(r(n) - r(n-1)),    r = d - s * time,    u = s(n) less its regression on s(n-1)
//! ```
//!
//! has the mean 0. In a queue that does not empty between the packets, r(n) - r(n-1) contains the transmission of packet n-1. Therefore
//! only the part of a size counts that the size before does not determine: alternating sizes show no rate.
//!
//! T decreases with the time. Its zero is the estimate, and the times at which it is within 1.96 deviations of 0 are the
//! interval. No distribution of delay is assumed: this is the inversion of a sign test. The deviation allows for dependent terms
//! (Newey and West 1987).

use super::Step;
use crate::Estimate;
use crate::optimum::Z;

/// Fewer steps do not show a rate.
const FEWEST: usize = 50;
/// The deviation of the sizes that the sizes before do not determine is at least this share of their mean.
const LEAST_SPREAD: f64 = 0.05;
/// The ends of the interval differ by at most this factor, or the rate is unknown.
const MOST_RATIO: f64 = 3.0;
/// Differences of delay below this are none, in seconds: time stamps have a resolution of 1 ns.
const EQUAL: f64 = 1e-9;
/// Steps over which terms may depend on each other.
const LAGS: usize = 5;
/// Halvings of the range of an end of the interval.
const HALVINGS: usize = 60;

/// The transmission time of an octet in seconds; `None` where delays do not depend on the size.
pub(crate) fn fit(steps: &[Step]) -> Option<Estimate> {
    if steps.len() < FEWEST {
        return None;
    }
    let count = steps.len() as f64;
    let mean = steps.iter().map(|step| step.size).sum::<f64>() / count;
    let mean_before = steps.iter().map(|step| step.size_before).sum::<f64>() / count;
    let covariance: f64 =
        steps.iter().map(|step| (step.size - mean) * (step.size_before - mean_before)).sum();
    let variance_before: f64 = steps.iter().map(|step| (step.size_before - mean_before).powi(2)).sum();
    let regression = if variance_before > 0.0 { covariance / variance_before } else { 0.0 };
    let undetermined = |step: &Step| step.size - mean - regression * (step.size_before - mean_before);
    let variance = steps.iter().map(|step| undetermined(step).powi(2)).sum::<f64>() / count;
    if variance.sqrt() < LEAST_SPREAD * mean {
        return None;
    }
    let terms = |octet: f64| {
        steps.iter().map(move |step| {
            let change = step.apart - step.gap - octet * (step.size - step.size_before);
            if change.abs() < EQUAL { 0.0 } else { undetermined(step) * change.signum() }
        })
    };
    let sum = |octet: f64| terms(octet).sum::<f64>();
    let change = steps.iter().map(|step| (step.apart - step.gap).abs()).fold(0.0, f64::max);
    let highest = 2.0 * change / variance.sqrt();
    // The least time at which the sum is at most `level`.
    let place = |level: f64| {
        let (mut low, mut high) = (0.0, highest);
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            *(if sum(middle) > level { &mut low } else { &mut high }) = middle;
        }
        (low + high) / 2.0
    };
    let value = place(0.0);
    // Near the estimate, ties of a path without cross-traffic are terms too.
    let terms: Vec<f64> = terms(value * (1.0 - 1e-6)).collect();
    let lagged = |lag: usize| terms.iter().zip(&terms[lag..]).map(|(a, b)| a * b).sum::<f64>();
    let weighted = (1..=LAGS).map(|lag| 2.0 * (1.0 - lag as f64 / (LAGS + 1) as f64) * lagged(lag));
    // Without dependence it would be the sum of squares.
    let deviation = (lagged(0) + weighted.sum::<f64>()).max(0.25 * lagged(0)).sqrt();
    if sum(0.0) <= Z * deviation || sum(highest) >= -Z * deviation {
        return None;
    }
    let [low, high] = [place(Z * deviation), place(-Z * deviation)];
    (low > 0.0 && high <= MOST_RATIO * low).then_some(Estimate { value, interval: Some([low, high]) })
}
