//! The document of two measurements compared (`romer/comparison/1`).

use romer_units::TimestampPoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{DelayKind, Limit, Summary};
use crate::warning::{ComparisonWarning, StampMoment};

/// The name of the comparison's schema.
pub const COMPARISON: &str = "romer/comparison/1";

/// Comparison of two measurements. Every difference is B minus A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// `romer/comparison/1`.
    pub schema: String,
    /// Measurement A, the reference.
    pub a: ComparedRun,
    /// Measurement B.
    pub b: ComparedRun,
    /// Metric that is named first, such as `delay_ns.median`. With `--by` it decides the verdicts.
    pub by: String,
    /// Method of the confidence intervals.
    pub method: String,
    /// Seed of the resampling, six unsigned 32-bit integers; a constant.
    pub seed: [u32; 6],
    /// Directions that both measurements have.
    pub directions: Vec<ComparedDirection>,
    /// Time stamps of run A compared with captures of its packets (`--reference`). Omitted without captures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stamps: Vec<ComparedStamp>,
    /// Requested limits of differences, and whether each passed.
    pub limits: Vec<Limit>,
    /// Warnings about the comparison.
    pub warnings: Vec<ComparisonWarning>,
}

/// Time stamps of one moment, compared packet by packet with a capture at the same host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedStamp {
    /// Event of the packets.
    pub moment: StampMoment,
    /// Source of the run's time stamps.
    pub stamp_source: TimestampPoint,
    /// Packets of the run with this time stamp that the capture does not have.
    pub unmatched: u64,
    /// Time stamp of the run minus time stamp of the capture, nanoseconds.
    pub difference_ns: Summary,
}

/// A compared measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// Name of the run or file, as given.
    pub name: String,
    /// Target.
    pub target: String,
    /// Start time, UTC (RFC 3339); `null` if unknown.
    pub started: Option<String>,
    /// Comment of the user.
    pub comment: Option<String>,
}

/// Comparison of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedDirection {
    /// Direction: `forward`, `reverse` or `round_trip`.
    pub direction: String,
    /// Kind of the delays of both; `null` if the kinds differ, in which case delays are not compared.
    pub delay_kind: Option<DelayKind>,
    /// Verdict.
    pub verdict: ComparisonVerdict,
    /// Verdict as text, with the significant differences and the metrics without an interval.
    pub text: String,
    /// Comparison of each metric.
    pub figures: Vec<ComparedFigure>,
}

/// Verdict on B, compared with A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonVerdict {
    /// B is better.
    Improved,
    /// B is worse.
    Worse,
    /// Some metrics are better and some are worse.
    Mixed,
    /// The metric differs, and the difference is neither better nor worse.
    Changed,
    /// No significant difference.
    NotSignificant,
    /// The difference has no confidence interval.
    Inconclusive,
}

/// Comparison of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedFigure {
    /// Metric, as its path in a direction of the measurement document, such as `delay_ns.p99`.
    pub figure: String,
    /// Value of measurement A, in the unit of the metric.
    pub a: Option<f64>,
    /// Value of measurement B, in the unit of the metric.
    pub b: Option<f64>,
    /// B minus A, in the unit of the metric.
    pub difference: Option<f64>,
    /// 95 % confidence interval of the difference; `null` if there are too few independent or distinct
    /// values.
    pub interval: Option<[f64; 2]>,
}
