//! The document of a closed loop (`romer/loop/1`): a measured path beside the emulation of its model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::comparison::ComparedRun;
use crate::document::DelayKind;
use crate::fidelity::DirectionModel;
use crate::warning::{ComparisonWarning, ModelWarning};

/// The name of the loop's schema.
pub const LOOP: &str = "romer/loop/1";

/// A path that was measured, modelled, emulated and measured again with the same plan. Every difference is emulation minus path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClosedLoop {
    /// `romer/loop/1`.
    pub schema: String,
    /// The verdict: that of the worst direction.
    pub verdict: LoopVerdict,
    /// The run of the path. The name of a run in the folder of the loop is relative to that folder.
    pub path: ComparedRun,
    /// Number of the modelled stream of that run, from 0.
    pub stream: u16,
    /// The run of the emulation.
    pub emulation: ComparedRun,
    /// The scenario that was emulated.
    pub scenario: String,
    /// The seed of the emulation: six numbers that repeat every random decision; `null` if the emulator wrote no document.
    pub seed: Option<[u32; 6]>,
    /// The model of each direction.
    pub model: Vec<DirectionModel>,
    /// Each direction that was measured in both runs.
    pub directions: Vec<LoopDirection>,
    /// Method of the confidence intervals and of the verdict.
    pub method: String,
    /// What a reader should know before relying on the model.
    pub model_warnings: Vec<ModelWarning>,
    /// What may affect the verdicts besides the model. A is the path, B the emulation.
    pub warnings: Vec<ComparisonWarning>,
}

/// Verdict of a closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopVerdict {
    /// Every figure that is judged is within its tolerance, or within the repeatability of the path.
    Reproduced,
    /// No figure differs, but some are beyond both, perhaps by chance or because the emulator was late.
    Undecided,
    /// A figure differs.
    NotReproduced,
}

/// One direction of both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoopDirection {
    /// `forward`, `reverse` or `round_trip`.
    pub direction: String,
    /// The verdict: that of the worst figure.
    pub verdict: LoopVerdict,
    /// The verdict as text.
    pub text: String,
    /// With `variable`, the clock offset of the path is unknown: the delays of each run are those above its minimum.
    pub delay_kind: Option<DelayKind>,
    /// Each figure, and the distances between the distributions of delay.
    pub figures: Vec<LoopFigure>,
    /// Autocorrelation of delay.
    pub autocorrelation: Vec<LoopLag>,
    /// Loss periods (RFC 3357), by their length.
    pub loss_periods: Vec<LoopLossPeriod>,
    /// Mean delay that the hosts and links of the lab added around the emulator, nanoseconds: the mean delay of the emulation minus the
    /// mean delay of the same packets in the emulator. It is included in the delays of the emulation. `null` if unknown.
    pub added_ns: Option<f64>,
}

/// A figure of the path and of the emulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoopFigure {
    /// Its path in a direction of the measurement document, such as `delay_ns.p99`; `autocorrelation` of delays of consecutive
    /// packets; or a distance between the distributions of delay: `kolmogorov_smirnov` (from 0 to 1) or `wasserstein_ns`.
    pub figure: String,
    /// Value of the path; `null` for a distance.
    pub path: Option<f64>,
    /// Value of the emulation; `null` for a distance.
    pub emulation: Option<f64>,
    /// Emulation minus path; of a distance, the distance itself.
    pub difference: Option<f64>,
    /// 95 % confidence interval of the difference; `null` if there are too few independent values.
    pub interval: Option<[f64; 2]>,
    /// Absolute difference between the two halves of the run of the path: how much the path itself changes with time and by chance.
    /// `null` if unknown.
    pub halves: Option<f64>,
    /// Difference that two measurements of the path with this plan do not exceed in 95 of 100 cases, by the variation within the run of the
    /// path. `null` if there are too few independent values.
    pub repeatability: Option<f64>,
    /// Largest difference that counts as reproduced, however small `repeatability` is. 0: only a difference within `repeatability` counts.
    /// `null`: the figure is not judged.
    pub tolerance: Option<f64>,
    /// Minimum detectable difference: a true difference of this size is beyond both limits in 95 of 100 loops of this length. `null` if
    /// `repeatability` is unknown or the figure is not judged.
    pub detectable: Option<f64>,
    /// How much the late departures of the emulator may change the figure, nanoseconds: the mean or the quantile of its error, by the
    /// figure. `null` if unknown, and for figures other than delays.
    #[serde(default)]
    pub emulator_late_ns: Option<f64>,
    /// The same of the emulator of the path, if the path is an emulation on this host (`romer demo`).
    #[serde(default)]
    pub path_late_ns: Option<f64>,
    /// Result of the comparison; `null`: the figure is not judged.
    pub result: Option<LoopResult>,
}

/// Result of the comparison of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopResult {
    /// The difference is within the tolerance, or within the repeatability.
    Within,
    /// The difference is beyond both. It has no interval, or one that includes 0, or it exceeds them by no more than the emulator was
    /// late.
    Undecided,
    /// The difference is beyond both, its interval excludes 0, and the emulator was not late by as much.
    Differs,
}

/// The autocorrelation of delay at a lag.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoopLag {
    /// Lag, packets.
    pub packets: u32,
    /// Lag at the mean interval of the stream, nanoseconds.
    pub lag_ns: i64,
    /// Autocorrelation of the path.
    pub path: Option<f64>,
    /// Autocorrelation of the emulation.
    pub emulation: Option<f64>,
}

/// Loss periods of one length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopLossPeriod {
    /// Length: number of consecutive lost packets.
    pub packets: u64,
    /// Number of periods of this length on the path.
    pub path: u64,
    /// Number of periods of this length in the emulation.
    pub emulation: u64,
}
