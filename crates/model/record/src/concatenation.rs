//! The document of two networks in series (`romer/concatenation/1`): what their delays add up to, compared with a measurement of both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::comparison::ComparedRun;
use crate::document::{DelayKind, Summary};
use crate::warning::ConcatenationWarning;

/// The name of the concatenation's schema.
pub const CONCATENATION: &str = "romer/concatenation/1";

/// Prediction for two networks in series, from a measurement of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Concatenation {
    /// `romer/concatenation/1`.
    pub schema: String,
    /// Measurement of the first network.
    pub a: ComparedRun,
    /// Measurement of the second network.
    pub b: ComparedRun,
    /// Measurement of both in series; `null` if not given.
    pub measured: Option<ComparedRun>,
    /// The values that are added.
    #[serde(default)]
    pub quantity: AddedQuantity,
    /// Methods of the prediction and of the tests, as text.
    pub method: String,
    /// Seed of the resampling, six unsigned 32-bit integers; a constant.
    pub seed: [u32; 6],
    /// Directions that all measurements have.
    pub directions: Vec<ConcatenatedDirection>,
    /// Warnings about the prediction.
    pub warnings: Vec<ConcatenationWarning>,
}

/// Values of packets that are added in a prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddedQuantity {
    /// Delays.
    #[default]
    Delay,
    /// Signed delay variation of consecutive packets (RFC 3393). Fields with `delay` in their names have its values.
    Ipdv,
}

/// Prediction and test of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConcatenatedDirection {
    /// Direction: `forward`, `reverse` or `round_trip`.
    pub direction: String,
    /// Kind of the delays; `absolute` for delay variation. Variable delays are relative to the median (half of them are negative), and only
    /// the shape of their distribution is compared with the third measurement.
    pub delay_kind: DelayKind,
    /// Test whether the delays of the two networks are independent, as the prediction assumes; `null` if they
    /// were not measured at the same time.
    pub independence: Option<Independence>,
    /// Predicted delays of both in series if they are independent, nanoseconds: each delay of the first is
    /// added to each of the second. `count` is the number of these sums.
    pub predicted_delay_ns: Summary,
    /// Delays measured over both networks in series, nanoseconds.
    pub measured_delay_ns: Option<Summary>,
    /// Comparison of the two distributions.
    pub test: Option<DistributionTest>,
    /// Statistics of the prediction and of the measurement.
    pub figures: Vec<ConcatenatedFigure>,
    /// Verdict as text.
    pub text: String,
}

/// Test whether delays at the same times are independent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Independence {
    /// Pairs of packets that were sent at nearly the same time.
    pub pairs: u64,
    /// Spearman's rank correlation of the delays.
    pub rank_correlation: f64,
    /// Probability of a correlation at least as large if the delays were independent.
    pub p_value: f64,
    /// Whether the delays are independent: `p_value` is at least 5 %.
    pub independent: bool,
}

/// Test whether two samples have the same distribution, for autocorrelated values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DistributionTest {
    /// Maximum difference of the distribution functions (Kolmogorov-Smirnov distance).
    pub distance: f64,
    /// Probability of a distance at least as large if both had one distribution.
    pub p_value: f64,
    /// Whether the distributions agree: `p_value` is at least 5 %.
    pub passed: bool,
}

/// A statistic of the prediction and of the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConcatenatedFigure {
    /// `mean`, `median`, `p95` or `p99`. Variable delays have no `median`, as they are relative to it.
    pub name: String,
    /// Value of the predicted delays, nanoseconds.
    pub predicted_ns: f64,
    /// 95 % confidence interval of the prediction, nanoseconds.
    pub predicted_interval_ns: [f64; 2],
    /// Value of the measured delays, nanoseconds.
    pub measured_ns: Option<f64>,
    /// Measured minus predicted value, nanoseconds.
    pub difference_ns: Option<f64>,
    /// 95 % confidence interval of the difference, nanoseconds.
    pub difference_interval_ns: Option<[f64; 2]>,
}
