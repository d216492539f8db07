//! The distributions of delay and displacement, by inverse functions of our own.
//!
//! Every law is that of a real number of nanoseconds, not below 0; a delay is that number rounded to the nearest
//! nanosecond. A law is asked from both ends, because far out in a tail only the smaller share is exact.

use std::sync::Arc;

use crate::special_functions::{gamma_quantile, gamma_shares, normal_below, normal_quantile};

/// A distribution of lengths of time, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub enum DelayDistribution {
    /// Every value from `low` to `high` alike; `low` may equal `high`.
    Uniform {
        /// Least value, at least 0.
        low: f64,
        /// Greatest value.
        high: f64,
    },
    /// Normal, cut at 0: what the whole distribution has below 0 is left out, and the rest is what is drawn from.
    Normal {
        /// Mean before the cut, at least 0.
        mean: f64,
        /// Standard deviation before the cut.
        stddev: f64,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// Pareto: the share above x is (scale/x)^shape.
    Pareto {
        /// Least value, above 0.
        scale: f64,
        /// Above 0; there is no mean up to 1 and no variance up to 2.
        shape: f64,
    },
    /// Gamma with mean shape·scale.
    Gamma {
        /// Above 0.
        shape: f64,
        /// Above 0.
        scale: f64,
    },
    /// Between measured values, linearly between order statistics. Ascending, at least one.
    Empirical(Arc<[f64]>),
}

impl DelayDistribution {
    /// The share strictly below `x`, and the share strictly above.
    pub(crate) fn shares(&self, x: f64) -> (f64, f64) {
        match self {
            Self::Uniform { low, high } => {
                if x < *low || (x <= *low && high > low) {
                    (0.0, 1.0)
                } else if x > *high || (x >= *high && high > low) {
                    (1.0, 0.0)
                } else if high > low {
                    ((x - low) / (high - low), (high - x) / (high - low))
                } else {
                    (0.0, 0.0)
                }
            }
            Self::Normal { mean, stddev } => {
                if x <= 0.0 {
                    return (0.0, 1.0);
                }
                let left = normal_below(-mean / stddev);
                let z = (x - mean) / stddev;
                let above = normal_below(-z) / (1.0 - left);
                let below = (normal_below(z) - left) / (1.0 - left);
                (below.max(0.0), above.min(1.0))
            }
            Self::Exponential { mean } => {
                let x = x.max(0.0) / mean;
                (-libm::expm1(-x), libm::exp(-x))
            }
            Self::Pareto { scale, shape } => {
                let above = if x <= *scale { 1.0 } else { libm::pow(scale / x, *shape) };
                (1.0 - above, above)
            }
            Self::Gamma { shape, scale } => gamma_shares(*shape, x / scale),
            Self::Empirical(values) => (empirical_below(values, x), 1.0 - empirical_at_most(values, x)),
        }
    }

    /// The value with the share `below` under it and `above` over it; both above 0 and together 1.
    pub(crate) fn quantile(&self, below: f64, above: f64) -> f64 {
        match self {
            Self::Uniform { low, high } => low + below * (high - low),
            Self::Normal { mean, stddev } => {
                let left = normal_below(-mean / stddev);
                let z = if below < 0.5 {
                    normal_quantile(left + below * (1.0 - left))
                } else {
                    -normal_quantile(above * (1.0 - left))
                };
                (mean + stddev * z).max(0.0)
            }
            Self::Exponential { mean } => -mean * libm::log(above),
            Self::Pareto { scale, shape } => scale * libm::pow(above, -1.0 / shape),
            Self::Gamma { shape, scale } => scale * gamma_quantile(*shape, below, above),
            Self::Empirical(values) => empirical_quantile(values, below),
        }
    }

    /// The value that a number in (0, 1) stands for.
    pub fn draw(&self, unit: f64) -> f64 {
        self.quantile(unit, 1.0 - unit)
    }

    /// The share of the values up to `x`.
    pub fn share_up_to(&self, x: f64) -> f64 {
        1.0 - self.shares(x).1
    }

    /// How wide the law is: between its 10 % and 90 % quantiles. 0 for a constant.
    pub fn width(&self) -> f64 {
        self.quantile(0.9, 0.1) - self.quantile(0.1, 0.9)
    }

    /// What is as good as the largest value: exceeded once in 10^9 draws.
    pub fn practical_maximum(&self) -> f64 {
        self.quantile(1.0 - 1e-9, 1e-9)
    }

    /// Whether its variance is finite.
    pub fn has_variance(&self) -> bool {
        !matches!(self, Self::Pareto { shape, .. } if *shape <= 2.0)
    }

    /// Its skewness: the third central moment over the deviation's third power; infinite where there is none. Of a normal law that of the
    /// whole one, before the cut.
    pub(crate) fn skewness(&self) -> f64 {
        match self {
            Self::Uniform { .. } | Self::Normal { .. } => 0.0,
            Self::Exponential { .. } => 2.0,
            Self::Gamma { shape, .. } => 2.0 / libm::sqrt(*shape),
            Self::Pareto { shape, .. } if *shape <= 3.0 => f64::INFINITY,
            Self::Pareto { shape, .. } => {
                2.0 * (1.0 + shape) / (shape - 3.0) * libm::sqrt((shape - 2.0) / shape)
            }
            Self::Empirical(values) => {
                let moment = crate::goodness_of_fit::central_moments(values);
                let variance = moment(2);
                if variance > 0.0 { moment(3) / libm::pow(variance, 1.5) } else { 0.0 }
            }
        }
    }

    /// The share of a normal law that the cut at 0 leaves out; 0 for all others.
    pub fn cut(&self) -> f64 {
        match self {
            Self::Normal { mean, stddev } => normal_below(-mean / stddev),
            _ => 0.0,
        }
    }

    /// The law between this one and `other`, where both are of one kind; `None` where they are not.
    pub(crate) fn between(&self, other: &Self, share: f64) -> Option<Self> {
        let mix = |a: &f64, b: &f64| a + (b - a) * share;
        Some(match (self, other) {
            (Self::Uniform { low: a, high: b }, Self::Uniform { low: c, high: d }) => {
                Self::Uniform { low: mix(a, c), high: mix(b, d) }
            }
            (Self::Normal { mean: a, stddev: b }, Self::Normal { mean: c, stddev: d }) => {
                Self::Normal { mean: mix(a, c), stddev: mix(b, d) }
            }
            (Self::Exponential { mean: a }, Self::Exponential { mean: b }) => {
                Self::Exponential { mean: mix(a, b) }
            }
            (Self::Pareto { scale: a, shape: b }, Self::Pareto { scale: c, shape: d }) => {
                Self::Pareto { scale: mix(a, c), shape: mix(b, d) }
            }
            (Self::Gamma { shape: a, scale: b }, Self::Gamma { shape: c, scale: d }) => {
                Self::Gamma { shape: mix(a, c), scale: mix(b, d) }
            }
            _ => return None,
        })
    }
}

fn rank(values: &[f64], lower: usize, x: f64) -> f64 {
    let (a, b) = (values[lower], values[lower + 1]);
    let part = if b > a { (x - a) / (b - a) } else { 0.0 };
    (crate::convert::count(lower as u64) + part) / crate::convert::count(values.len() as u64 - 1)
}

fn empirical_below(values: &[f64], x: f64) -> f64 {
    match values.partition_point(|value| *value < x) {
        0 => 0.0,
        n if n == values.len() => 1.0,
        n => rank(values, n - 1, x),
    }
}

fn empirical_at_most(values: &[f64], x: f64) -> f64 {
    match values.partition_point(|value| *value <= x) {
        0 => 0.0,
        n if n == values.len() => 1.0,
        n => rank(values, n - 1, x),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index below the length")]
fn empirical_quantile(values: &[f64], below: f64) -> f64 {
    let position = below * crate::convert::count(values.len() as u64 - 1);
    let lower = (libm::floor(position) as usize).min(values.len().saturating_sub(2));
    let (a, b) = (values[lower], values[(lower + 1).min(values.len() - 1)]);
    a + (b - a) * (position - crate::convert::count(lower as u64)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims;
    use crate::generator::{Draws, Generator, Lane, Owner};
    use romer_units::random::Seed;

    pub(crate) fn all() -> Vec<DelayDistribution> {
        vec![
            DelayDistribution::Uniform { low: 1e4, high: 5e4 },
            DelayDistribution::Normal { mean: 5e7, stddev: 1e7 },
            DelayDistribution::Normal { mean: 1e4, stddev: 2e4 },
            DelayDistribution::Exponential { mean: 3e6 },
            DelayDistribution::Pareto { scale: 1e6, shape: 2.5 },
            DelayDistribution::Gamma { shape: 0.4, scale: 1e7 },
            DelayDistribution::Gamma { shape: 3.0, scale: 1e6 },
            DelayDistribution::Empirical((0..=1_000).map(|n| f64::from(n * n)).collect()),
        ]
    }

    #[test]
    fn a_draw_from_each_law_is_of_that_law() {
        for law in all() {
            let mut draws = Draws::new(Owner {
                seed: Seed([1, 2, 3, 4, 5, 6]),
                generator: Generator::Counter,
                port: 0,
                flow: 0,
            });
            let sample = (0..100_000).map(|n| law.draw(draws.unit(Lane::Delay, n, 0))).collect();
            claims::kolmogorov(sample, |x| law.share_up_to(x));
        }
    }

    #[test]
    fn quantiles_and_shares_undo_each_other_in_both_tails() {
        for law in all() {
            for p in [1e-6, 1e-3, 0.2, 0.5, 0.8] {
                let (below, _) = law.shares(law.quantile(p, 1.0 - p));
                assert!((below / p - 1.0).abs() < 1e-6, "{law:?} at {p}: {below}");
                let (_, above) = law.shares(law.quantile(1.0 - p, p));
                assert!((above / p - 1.0).abs() < 1e-6, "{law:?} at 1 - {p}: {above}");
            }
        }
    }

    #[test]
    fn known_moments_come_out() {
        // The mean of a law is the integral of its quantile function.
        let mean = |law: &DelayDistribution| {
            (0..100_000).map(|n| law.draw((f64::from(n) + 0.5) / 1e5)).sum::<f64>() / 1e5
        };
        for (law, expected) in [
            (DelayDistribution::Uniform { low: 10.0, high: 50.0 }, 30.0),
            (DelayDistribution::Normal { mean: 5e7, stddev: 1e7 }, 5e7),
            // Cut at its mean, the normal law has the mean of a half-normal one.
            (
                DelayDistribution::Normal { mean: 0.0, stddev: 1e6 },
                1e6 * libm::sqrt(2.0 / core::f64::consts::PI),
            ),
            (DelayDistribution::Exponential { mean: 7.0 }, 7.0),
            (DelayDistribution::Gamma { shape: 3.0, scale: 4.0 }, 12.0),
            (DelayDistribution::Pareto { scale: 1.0, shape: 4.0 }, 4.0 / 3.0),
        ] {
            assert!((mean(&law) / expected - 1.0).abs() < 1e-3, "{law:?}: {}", mean(&law));
        }
    }
}
