//! The list of runs, with their results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::closed_loop::LoopVerdict;
use crate::document::{DelayKind, ProbeDirection};

/// Schema of [`RunList`].
pub const RUN_LIST: &str = "romer/runs/1";

/// Runs: those of a folder, or those that were deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunList {
    /// Schema name, `romer/runs/1`.
    pub schema: String,
    /// Folder of the runs.
    pub folder: String,
    /// Runs, newest first.
    pub runs: Vec<RunListEntry>,
}

/// Kind of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Measurement.
    #[default]
    Measurement,
    /// Benchmark.
    Benchmark,
    /// Emulation stored with `--out`.
    Emulation,
    /// Closed loop.
    Loop,
}

/// A run in the list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunListEntry {
    /// Name of the run and its folder.
    pub name: String,
    /// Kind of the run.
    pub kind: RunKind,
    /// Start time, RFC 3339; empty if the run cannot be read.
    pub created: String,
    /// `complete`, `partial`, `recovered`, `running` or `killed`; `damaged` if the run cannot be read.
    pub state: String,
    /// Size of the files in its folder, bytes.
    pub size_octets: u64,
    /// Targets of a measurement or a loop; ports of a benchmark or an emulation.
    pub targets: Vec<String>,
    /// Traffic model of a measurement or a loop; procedure of a benchmark.
    pub traffic: Option<String>,
    /// Direction of the probes of a measurement or a loop.
    pub direction: Option<ProbeDirection>,
    /// Comment of the user.
    pub comment: Option<String>,
    /// Reason why the run cannot be read; `null` if it can.
    pub error: Option<String>,
    /// Delay, loss and MOS of each direction of a measurement.
    pub figures: Vec<RunFigures>,
    /// Number of checked limits; of a benchmark, including its claims.
    pub limits: u64,
    /// Failed limits and claims, as text.
    pub failed_limits: Vec<String>,
    /// Verdict of a closed loop; `null` for other runs, and for loops that were not closed.
    pub verdict: Option<LoopVerdict>,
    /// Actual folder of a run that is listed by a symbolic link; deleting the run removes the link only.
    pub link_target: Option<String>,
}

/// Results of one direction of a run. Of several streams: the highest delay and loss, and the lowest MOS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFigures {
    /// Direction.
    pub direction: ProbeDirection,
    /// Median of the delay, nanoseconds.
    pub delay_median_ns: Option<f64>,
    /// 99 % quantile of the delay, nanoseconds.
    pub delay_p99_ns: Option<f64>,
    /// Kind of the delays: absolute, or relative to the minimum.
    pub delay_kind: Option<DelayKind>,
    /// Loss ratio: lost packets / sent packets.
    pub loss_ratio: Option<f64>,
    /// Mean opinion score of a call in this direction.
    pub mos: Option<f64>,
}
