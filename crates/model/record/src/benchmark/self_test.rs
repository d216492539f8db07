//! What the tester's own test comes to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::Summary;

/// The tester's own part of a latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// Least latency of a direct connection.
    pub least_ns: Option<f64>,
    /// Its median.
    pub median_ns: Option<f64>,
    /// Its standard deviation.
    pub stddev_ns: Option<f64>,
    /// How it was measured, in words.
    pub method: String,
    /// Whether it is subtracted.
    pub subtracted: bool,
}

/// The tests of Chadda 2004, section 2.7, on the tester itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTest {
    /// Each by itself.
    pub tests: Vec<SelfTestItem>,
    /// What the report may claim for it, in words.
    pub claims: Vec<String>,
    /// The highest rate that generator and analyser sustained together, frames per second.
    pub highest_pps: Option<f64>,
    /// Losses of the tester itself: every repeat of each test, passed or not.
    #[serde(default)]
    pub ledger: Vec<Accounted>,
}

/// What a test of the tester lost, of which there is no device to lose any, and what of that the tester knew of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accounted {
    /// Frames that left, a second.
    pub offered_pps: f64,
    /// Frames that left.
    pub offered: u64,
    /// Of these, frames that did not come.
    pub lost: u64,
    /// Upper bound of the lost frames that neither a drop counter nor a pause explains: in a trial they would pass for the
    /// device's loss.
    pub unaccounted: u64,
}

/// One test of the tester.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTestItem {
    /// `line-rate`, `line-rate-marked`, `above-line-rate`, `highest-rate` (if the line rate was not sustained),
    /// `gap-100us`, `gap-150us`, `gap-200us`, `loopback-latency`.
    pub name: String,
    /// Whether it was met.
    pub held: bool,
    /// The requirement, in words.
    pub asked: String,
    /// What was found, in words.
    pub found: String,
    /// The gaps between departures, or the latency.
    pub values_ns: Summary,
}
