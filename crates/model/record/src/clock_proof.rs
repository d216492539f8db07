//! The JSON document of the proof that a clock's error is found (`romer/clock-proof/1`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calibration::Machine;
use crate::warning::SkewUnknown;

/// The name of the proof's schema.
pub const CLOCK_PROOF: &str = "romer/clock-proof/1";

/// Packets over loopback, with one clock for both ends. The time stamps of one end were converted to a simulated clock,
/// which the estimator had to find.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockProof {
    /// `romer/clock-proof/1`.
    pub schema: String,
    /// Version of romer that measured.
    pub software: String,
    /// When, UTC (RFC 3339).
    pub measured: String,
    /// Of which machine.
    pub machine: Machine,
    /// Round trips.
    pub probes: u64,
    /// Time between two of them, nanoseconds.
    pub interval_ns: i64,
    /// Round trips that have all their stamps.
    pub complete: u64,
    /// The method by which the clock was found.
    pub method: String,
    /// Why no rate was found, where none was.
    pub not_identifiable: Option<SkewUnknown>,
    /// How much faster the pretended clock runs.
    pub skew_ppm: ProofFigure,
    /// Its steps, in order of time.
    pub steps: Vec<PretendedStep>,
    /// What was taken for an event of a clock, and was none: nanoseconds after the first packet.
    pub invented_at_ns: Vec<i64>,
    /// Whether the estimator found all simulated values, and nothing else.
    pub held: bool,
}

/// A figure that was requested, and what was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProofFigure {
    /// What the pretended clock does.
    pub asked: f64,
    /// What was found; `null` where nothing was.
    pub found: Option<f64>,
    /// 95 % interval of what was found.
    pub interval: Option<[f64; 2]>,
    /// Whether the simulated value lies in the interval, or outside by at most its width, or by the effect of a change
    /// of 10 us of the path's minimum delay.
    pub held: bool,
}

/// A step of the pretended clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PretendedStep {
    /// When, nanoseconds after the first packet.
    pub at_ns: i64,
    /// When it was seen; `null` where it was not.
    pub found_at_ns: Option<i64>,
    /// By how much, nanoseconds.
    pub size_ns: ProofFigure,
}
