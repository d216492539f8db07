//! The document of two networks in series (`romer/concatenation/1`): what their delays add up to, held against a third.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::comparison::ComparedRun;
use crate::document::{DelayKind, Summary};
use crate::warning::ConcatenationWarning;

/// The name of the concatenation's schema.
pub const CONCATENATION: &str = "romer/concatenation/1";

/// Two measurements of networks in series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Concatenation {
    /// `romer/concatenation/1`.
    pub schema: String,
    /// The first network.
    pub a: ComparedRun,
    /// The second.
    pub b: ComparedRun,
    /// Both in series, measured; `null` where that was not given.
    pub against: Option<ComparedRun>,
    /// How the sums and the tests were made, in words.
    pub method: String,
    /// Seed of the resampling, six unsigned 32-bit integers; it is always the same.
    pub seed: [u32; 6],
    /// The directions that all have.
    pub directions: Vec<ConcatenatedDirection>,
    /// What a reader should know before relying on the figures.
    pub warnings: Vec<ConcatenationWarning>,
}

/// One direction of all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConcatenatedDirection {
    /// `forward`, `reverse` or `round_trip`.
    pub direction: String,
    /// What is added. Variable delays are those above the median (half of them are below it, and negative), and only their shape
    /// is compared with
    /// the third.
    pub delay_kind: DelayKind,
    /// Whether the two networks' delays depend on each other, which adding them takes them not to do; `null` where they
    /// were not measured at the same time, so that it cannot be seen.
    pub independence: Option<Independence>,
    /// Delays of both in series, if they are independent: each delay of the first is added to each of the second.
    /// `count` is the number of these sums.
    pub predicted_delay_ns: Summary,
    /// Delays that were measured there.
    pub measured_delay_ns: Option<Summary>,
    /// Comparison of the two distributions.
    pub test: Option<DistributionTest>,
    /// Figures of both.
    pub figures: Vec<ConcatenatedFigure>,
    /// The verdict in words.
    pub words: String,
}

/// Whether delays at the same moments depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Independence {
    /// Packets of both that were sent at nearly the same moment.
    pub pairs: u64,
    /// Spearman's correlation of their delays.
    pub rank_correlation: f64,
    /// The probability of so much or more of it, were there none.
    pub p_value: f64,
    /// It is not below 5 %.
    pub independent: bool,
}

/// A test of two samples with autocorrelated values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DistributionTest {
    /// The greatest difference of the two distribution functions (Kolmogorov and Smirnov).
    pub distance: f64,
    /// The probability of so much or more, were they one.
    pub p_value: f64,
    /// It is not below 5 %.
    pub held: bool,
}

/// A figure of the prediction and of the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConcatenatedFigure {
    /// `mean`, `median`, `p95` or `p99`; no median of variable delays, which are those above it.
    pub name: String,
    /// Of the delays added up, nanoseconds.
    pub predicted_ns: f64,
    /// 95 % interval of it.
    pub predicted_interval_ns: [f64; 2],
    /// Of the delays measured.
    pub measured_ns: Option<f64>,
    /// Measured minus predicted.
    pub difference_ns: Option<f64>,
    /// 95 % interval of it.
    pub difference_interval_ns: Option<[f64; 2]>,
}
