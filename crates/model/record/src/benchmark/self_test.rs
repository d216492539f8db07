//! What the tester's own test comes to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::invalid::InvalidTrial;
use crate::document::Summary;

/// Latency of the tester itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// Minimum latency of a direct connection, nanoseconds.
    pub min_ns: Option<f64>,
    /// Median latency of a direct connection, nanoseconds.
    pub median_ns: Option<f64>,
    /// Standard deviation of this latency, nanoseconds.
    pub stddev_ns: Option<f64>,
    /// MAC address of the device between the ports of the tester; `null` for a direct link.
    #[serde(default)]
    pub device: Option<String>,
    /// Whether the latency of the tester is subtracted from the results.
    pub subtracted: bool,
}

/// Self-test of the tester (Chadda 2004, section 2.7).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTest {
    /// Result of each test.
    pub tests: Vec<SelfTestItem>,
    /// Largest error of the received gaps in the tests of gaps, 75th percentile of each, nanoseconds; `null` if not
    /// measured.
    #[serde(default)]
    pub received_gap_error_ns: Option<f64>,
    /// Highest rate that transmitter and receiver sustained together, frames per second.
    pub highest_pps: Option<f64>,
    /// Losses of the tester itself, for every repeat of each test, passed or not.
    #[serde(default)]
    pub ledger: Vec<Accounted>,
}

/// Losses in one trial of the self-test, which has no device under test, and losses that the tester can
/// explain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accounted {
    /// Frames sent per second.
    pub offered_pps: f64,
    /// Frames sent.
    pub offered: u64,
    /// Lost frames of those sent.
    pub lost: u64,
    /// Upper bound of the lost frames that neither a drop counter nor a pause of the tester explains. In a
    /// trial they would be attributed to the device.
    pub unaccounted: u64,
}

/// One test of the self-test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTestItem {
    /// `line-rate`, `line-rate-marked`, `above-line-rate`, `highest-rate` (if the line rate was not sustained),
    /// `gap-100us`, `gap-150us`, `gap-200us`, `loopback-latency`.
    pub name: String,
    /// Whether the test passed.
    pub passed: bool,
    /// What is sent.
    pub requested: SelfTestRequest,
    /// What was observed.
    pub observed: SelfTestObservation,
    /// Gaps between departures, or latency, nanoseconds.
    pub values_ns: Summary,
}

/// What a test of the self-test sends: frames of 64 bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum SelfTestRequest {
    /// Frames at a constant rate.
    Rate {
        /// Load, share of the line rate.
        load_ratio: f64,
        /// Code point of the frames.
        dscp: String,
        /// Time from the start of a frame to that of the next, nanoseconds.
        interval_ns: f64,
    },
    /// Frames with a gap between them.
    Gap {
        /// Time from the end of a frame to the start of the next, nanoseconds.
        gap_ns: i64,
    },
    /// Frames for the latency of the link alone.
    Latency {
        /// Load, share of the line rate.
        load_ratio: f64,
    },
}

impl Default for SelfTestRequest {
    fn default() -> Self {
        Self::Latency { load_ratio: 0.0 }
    }
}

/// What was observed in a test of the self-test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTestObservation {
    /// Number of requested frames.
    pub requested_frames: u64,
    /// Number of frames that were sent.
    pub sent_frames: u64,
    /// Number of frames that arrived.
    pub received_frames: u64,
    /// Why the trial is invalid; `null` if it is valid.
    pub invalid: Option<InvalidTrial>,
    /// Gaps or latency.
    pub timing: SelfTestTiming,
}

/// Gaps or latency in a test of the self-test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum SelfTestTiming {
    /// Gaps between frames.
    Gaps {
        /// Median error of the gaps between departures.
        sent: GapError,
        /// 75th percentile of the error of the gaps between arrivals; `null` if the test is not about gaps.
        received: Option<GapError>,
    },
    /// Latency of the link.
    Latency {
        /// Median, nanoseconds.
        median_ns: Option<f64>,
        /// Standard deviation, nanoseconds.
        stddev_ns: Option<f64>,
    },
}

impl Default for SelfTestTiming {
    fn default() -> Self {
        Self::Latency { median_ns: None, stddev_ns: None }
    }
}

/// Error of gaps between frames.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GapError {
    /// The error, nanoseconds; `null` if there was no gap.
    pub error_ns: Option<f64>,
    /// Largest error that passes, nanoseconds.
    pub limit_ns: f64,
}
