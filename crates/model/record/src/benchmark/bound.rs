//! What limits a result of a benchmark.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::invalid::InvalidTrial;

/// What limits a result besides the capacity of the device, or why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResultBound {
    /// The tester could not offer more.
    Tester,
    /// The device did not forward (outage), in every repetition of a trial.
    DeviceUnreachable,
    /// The line rate.
    LineRate,
    /// The longest burst of the procedure.
    LongestBurst,
    /// The end of the trial.
    TrialEnd,
    /// No load passed, so that there is no throughput to start from.
    NoPassingLoad,
    /// The overload caused no loss, so that there is no recovery to measure.
    NoOverloadLoss,
    /// The overload caused no loss except in bursts of the tester.
    NoDeviceLoss,
}

/// Why a trial or a search gave no evidence about the device.
#[derive(Clone, Debug, PartialEq)]
pub enum NoEvidence {
    /// The trial is invalid.
    InvalidTrial(InvalidTrial),
    /// No time of recovery was found.
    NoRecovery(ResultBound),
    /// No load passed.
    NoPassingLoad(ResultBound),
}
