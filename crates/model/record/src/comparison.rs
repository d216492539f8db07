//! The document of two measurements compared (`romer/comparison/1`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{DelayKind, Limit};
use crate::warning::ComparisonWarning;

/// The name of the comparison's schema.
pub const COMPARISON: &str = "romer/comparison/1";

/// Two measurements compared. Every difference is B minus A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// `romer/comparison/1`.
    pub schema: String,
    /// What is compared with.
    pub a: ComparedRun,
    /// What is compared.
    pub b: ComparedRun,
    /// The metric that is named first, such as `delay_ns.median`. With `--by` it decides the verdicts.
    pub by: String,
    /// Method of the confidence intervals.
    pub method: String,
    /// Seed of the resampling, six unsigned 32-bit integers; it is always the same.
    pub seed: [u32; 6],
    /// The directions that both have.
    pub directions: Vec<ComparedDirection>,
    /// Limits on differences, and whether each passed.
    pub limits: Vec<Limit>,
    /// What may affect the verdicts.
    pub warnings: Vec<ComparisonWarning>,
}

/// One of the two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// As it was given.
    pub name: String,
    /// Its target.
    pub target: String,
    /// When it was measured, UTC (RFC 3339); `null` where it is not known.
    pub started: Option<String>,
    /// The user's comment.
    pub comment: Option<String>,
}

/// One direction of both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedDirection {
    /// `forward`, `reverse` or `round_trip`.
    pub direction: String,
    /// Kind of the delays of both; `null` where the kinds differ, and then they are not compared.
    pub delay_kind: Option<DelayKind>,
    /// The verdict.
    pub verdict: ComparisonVerdict,
    /// The verdict as text, with the clear differences and the metrics without an interval.
    pub words: String,
    /// Each figure.
    pub figures: Vec<ComparedFigure>,
}

/// The verdict on B, compared with A.
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

/// A figure of both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedFigure {
    /// Its place in a direction of the measurement document, such as `delay_ns.p99`.
    pub figure: String,
    /// Of A.
    pub a: Option<f64>,
    /// Of B.
    pub b: Option<f64>,
    /// B minus A.
    pub difference: Option<f64>,
    /// 95 % confidence interval of the difference; `null` where the data do not allow one.
    pub interval: Option<[f64; 2]>,
}
