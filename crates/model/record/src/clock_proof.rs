//! The JSON document of the proof that a clock's error is found (`romer/clock-proof/1`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calibration::Machine;
use crate::warning::SkewUnknown;

/// The name of the proof's schema.
pub const CLOCK_PROOF: &str = "romer/clock-proof/1";

/// Test of the clock estimator: packets over loopback, with one clock for both ends. The time stamps of one
/// end were converted to a simulated clock, which the estimator had to find.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockProof {
    /// `romer/clock-proof/1`.
    pub schema: String,
    /// Version of romer that measured.
    pub software: String,
    /// Time of the test, UTC (RFC 3339).
    pub measured: String,
    /// Machine of the test.
    pub machine: Machine,
    /// Number of round trips.
    pub probes: u64,
    /// Time between two probes, nanoseconds.
    pub interval_ns: i64,
    /// Round trips with all four time stamps.
    pub complete: u64,
    /// Estimation method.
    pub method: String,
    /// Reason why no skew was estimated; `null` if one was.
    pub not_identifiable: Option<SkewUnknown>,
    /// Skew of the simulated clock: simulated, estimated and their agreement, ppm.
    pub skew_ppm: ProofFigure,
    /// Steps of the simulated clock, in order of time.
    pub steps: Vec<SimulatedStep>,
    /// Times of reported clock events that were not simulated, nanoseconds after the first packet.
    pub false_events_at_ns: Vec<i64>,
    /// Whether the estimator found all simulated values, and nothing else.
    pub passed: bool,
}

/// A simulated value and its estimate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProofFigure {
    /// Simulated value.
    pub simulated: f64,
    /// Estimated value; `null` if there is none.
    pub estimated: Option<f64>,
    /// 95 % confidence interval of the estimate.
    pub interval: Option<[f64; 2]>,
    /// Whether the simulated value is in the interval, or outside by at most its width, or by the effect of a
    /// change of 10 us of the path's minimum delay.
    pub passed: bool,
}

/// A step of the simulated clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedStep {
    /// Simulated time of the step, nanoseconds after the first packet.
    pub at_ns: i64,
    /// Estimated time of the step, nanoseconds after the first packet; `null` if it was not detected.
    pub detected_at_ns: Option<i64>,
    /// Size of the step: simulated, estimated and their agreement, nanoseconds.
    pub size_ns: ProofFigure,
}
