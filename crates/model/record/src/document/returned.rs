//! One returned probe, as it is reported while the run goes on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::direction::DelayKind;

/// A probe that returned (`measure --json-lines --each`), from the time stamps that are available during the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamReturn {
    /// `romer/stream/1`.
    pub schema: String,
    /// Stream number, from 0.
    pub stream: u16,
    /// Sequence number of the probe, from 0. A duplicated reply has a line of its own.
    pub sequence: u64,
    /// Departure of the probe by the initiator's clock, nanoseconds since 1970-01-01 UTC.
    pub departure_ns: i64,
    /// Round-trip delay, without the processing time of the responder if its reply states it, nanoseconds.
    pub round_trip_delay_ns: i64,
    /// Forward direction; `null` if the reply has no time stamps of the responder.
    pub forward: Option<ReturnedWay>,
    /// Reverse direction; `null` if the reply has no time stamps of the responder.
    pub reverse: Option<ReturnedWay>,
    /// Skew of the responder's clock as estimated so far, ppm; `null` if it is not known yet, and if both ends use one clock.
    pub skew_ppm: Option<f64>,
    /// Error of the one-way delays of this probe by the clocks, nanoseconds. Absolute delays: the stated bound, 0 if both ends use one
    /// clock. Others: relative to the first probe, by the 95 % confidence interval of the skew, and `null` without it.
    pub delay_error_ns: Option<f64>,
}

/// One direction of a returned probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReturnedWay {
    /// Kind of `delay_ns`: absolute, or relative to the minimum so far.
    pub delay_kind: DelayKind,
    /// Delay, nanoseconds; corrected by the skew so far unless it is absolute. A later estimate of the skew does not change lines that are written.
    pub delay_ns: f64,
    /// Arrival minus departure by the two clocks, uncorrected, nanoseconds.
    pub stamp_difference_ns: i64,
}
