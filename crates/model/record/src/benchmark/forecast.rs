//! The document of what a benchmark would do (`romer/benchmark-forecast/1`).

use std::collections::BTreeMap;

use super::stream_setup::StreamSetup;
use crate::warning::BenchmarkWarning;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of the schema of what a benchmark would do (`--dry-run --json`).
pub const BENCHMARK_FORECAST: &str = "romer/benchmark-forecast/1";

/// Forecast of a benchmark: its trials and duration. No frame is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkForecast {
    /// `romer/benchmark-forecast/1`.
    pub schema: String,
    /// Procedure, with the values of romer/benchmark/1.
    pub procedure: String,
    /// Criterion of the results, as text.
    pub criterion: String,
    /// Transmit port, `[NETNS/]IFACE`.
    pub tx: String,
    /// Receive port, `[NETNS/]IFACE`.
    pub rx: String,
    /// Source address of the test frames.
    pub source: String,
    /// Destination address of the test frames.
    pub destination: String,
    /// Line rate (100 % load), bit/s at layer 1 (with preamble and gap).
    pub line_rate_bps: f64,
    /// Streams.
    pub streams: Vec<StreamSetup>,
    /// Warnings about the plan.
    pub warnings: Vec<BenchmarkWarning>,
    /// Cases (device configurations) and the commands that set them.
    pub cases: BTreeMap<String, Option<String>>,
    /// Number of repeats of each trial.
    pub repeats: u32,
    /// Seed of the order of trials, of random sizes and gaps. `--seed` with this value gives these trials.
    pub seed: [u32; 6],
    /// Trials in their order; empty if each trial depends on the previous result.
    pub trials: Vec<ForecastTrial>,
    /// Expected number of trials, if long trials confirm the short first trials of a search; without a
    /// search, the maximum.
    #[serde(default)]
    pub trials_usual: u64,
    /// Expected duration with that number of trials, nanoseconds.
    #[serde(default)]
    pub time_usual_ns: i64,
    /// Maximum number of trials, without repeated ones. For a multiple loss ratio search, it assumes that the
    /// losses of the device depend on load and duration only.
    pub trials_at_most: u64,
    /// Maximum duration in nanoseconds, with self-test, waits and forwarding tests; without the commands of
    /// cases and without repeated trials.
    pub time_at_most_ns: i64,
}

/// A planned trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForecastTrial {
    /// Case (device configuration).
    pub case: String,
    /// Purpose: `measure`, `reset`; of a self-test, the name of the test, such as `line-rate` or `gap-100us`.
    #[serde(default)]
    pub purpose: String,
    /// Frame size in bytes, including FCS; `null` for a mixture.
    pub frame_size: Option<u32>,
    /// Mixture of frame sizes; `null` if all frames have one size.
    pub mixture: Option<String>,
    /// Load, percent of the line rate.
    pub load_percent: f64,
    /// Load in frames per second, with the frame sizes of the trial.
    pub pps: f64,
    /// Duration of the transmission, nanoseconds.
    pub duration_ns: i64,
    /// Number of the repeat, from 0.
    pub repeat: u32,
}
