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
    /// The run of the path. The name of a run in the folder of the loop is relative to it.
    pub path: ComparedRun,
    /// Which of its streams was modelled.
    pub stream: u16,
    /// The run of the emulation.
    pub emulation: ComparedRun,
    /// The scenario that was emulated.
    pub scenario: String,
    /// The seed of the emulation: six numbers that replay every decision of chance; `null` if the emulator left no document.
    pub seed: Option<[u32; 6]>,
    /// What was modelled of each direction.
    pub model: Vec<DirectionModel>,
    /// Each direction that both runs know.
    pub directions: Vec<LoopDirection>,
    /// Method of the confidence intervals and of the verdict.
    pub method: String,
    /// What a reader should know of the model.
    pub model_warnings: Vec<ModelWarning>,
    /// What may affect the verdicts besides the model; A is the path, B the emulation.
    pub warnings: Vec<ComparisonWarning>,
}

/// What the data show of the emulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopVerdict {
    /// Every figure that is judged is within its tolerance.
    Reproduced,
    /// No figure differs, but some are beyond their tolerance, and the data do not show whether by chance.
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
    /// With `variable`, the clock offset of the path is unknown: the delays of both runs are those above the minimum of each.
    pub delay_kind: Option<DelayKind>,
    /// Each figure, and the distances of the distributions of delay.
    pub figures: Vec<LoopFigure>,
    /// Autocorrelation of delay.
    pub autocorrelation: Vec<LoopLag>,
    /// Loss periods (RFC 3357), by their length.
    pub loss_periods: Vec<LoopLossPeriod>,
    /// Mean delay of the emulation minus the mean delay of the same packets in the emulator: what this machine added around the
    /// emulator. It is part of the delays of the emulation. `null` where it is not known.
    pub added_ns: Option<f64>,
}

/// A figure of the path and of the emulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoopFigure {
    /// Its place in a direction of the measurement document, such as `delay_ns.p99`; `autocorrelation` of delays of consecutive
    /// packets; or a distance of the distributions of delay: `kolmogorov_smirnov` (a share) or `wasserstein_ns`.
    pub figure: String,
    /// Of the path; `null` for a distance.
    pub path: Option<f64>,
    /// Of the emulation; `null` for a distance.
    pub emulation: Option<f64>,
    /// Emulation minus path, or the distance of both.
    pub difference: Option<f64>,
    /// 95 % confidence interval of the difference; `null` where the data do not allow one.
    pub interval: Option<[f64; 2]>,
    /// The difference of the second half of the run of the path from its first, without its sign: what time and chance do to the
    /// path itself. `null` where it is not known.
    pub halves: Option<f64>,
    /// Up to which difference the figure is reproduced. 0: up to what chance does, which is an interval that includes 0. `null`:
    /// the figure is not judged.
    pub tolerance: Option<f64>,
    /// What the difference shows; `null`: the figure is not judged.
    pub result: Option<LoopResult>,
}

/// What the difference of a figure shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopResult {
    /// It is within the tolerance.
    Within,
    /// It is beyond the tolerance, and either has no interval, or one that includes 0.
    Undecided,
    /// It is beyond the tolerance, and its interval excludes 0.
    Differs,
}

/// The autocorrelation of delay at a lag.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoopLag {
    /// The lag, packets.
    pub packets: u32,
    /// The lag at the mean interval of the stream, nanoseconds.
    pub lag_ns: i64,
    /// Of the path.
    pub path: Option<f64>,
    /// Of the emulation.
    pub emulation: Option<f64>,
}

/// Loss periods of a length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopLossPeriod {
    /// Consecutive packets that were lost.
    pub packets: u64,
    /// Periods of that length on the path.
    pub path: u64,
    /// The same of the emulation.
    pub emulation: u64,
}
