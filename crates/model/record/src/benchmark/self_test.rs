//! What the tester's own test comes to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Method of the measurement, as text.
    pub method: String,
    /// Whether the latency of the tester is subtracted from the results.
    pub subtracted: bool,
}

/// Self-test of the tester (Chadda 2004, section 2.7).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTest {
    /// Result of each test.
    pub tests: Vec<SelfTestItem>,
    /// Claims about the tester that the self-test supports, as text.
    pub claims: Vec<String>,
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
    /// Requirement, as text.
    pub requested: String,
    /// Observed result, as text.
    pub observed: String,
    /// Gaps between departures, or latency, nanoseconds.
    pub values_ns: Summary,
}
