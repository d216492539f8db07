//! The document of what a benchmark would do (`romer/benchmark-forecast/1`).

use std::collections::BTreeMap;

use crate::warning::BenchmarkWarning;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of the schema of what a benchmark would do (`--dry-run --json`).
pub const BENCHMARK_FORECAST: &str = "romer/benchmark-forecast/1";

/// What a benchmark would do, without anything having been sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkForecast {
    /// `romer/benchmark-forecast/1`.
    pub schema: String,
    /// As in the benchmark's document.
    pub procedure: String,
    /// By what a result would be found, in words.
    pub criterion: String,
    /// The interface that would send, `[NETNS/]IFACE`.
    pub tx: String,
    /// The interface that would receive.
    pub rx: String,
    /// Source address of the test frames.
    pub source: String,
    /// Their destination.
    pub destination: String,
    /// The rate that loads are percentages of, bits a second at layer 1 (with preamble and gap).
    pub line_rate_bps: f64,
    /// The streams, in words.
    pub streams: Vec<String>,
    /// What is to be known before.
    pub warnings: Vec<BenchmarkWarning>,
    /// The cases, and the commands that would set them.
    pub cases: BTreeMap<String, Option<String>>,
    /// How often each trial would be made.
    pub repeats: u32,
    /// Seed of the order of trials, of random sizes and gaps: with `--seed` the trials are these.
    pub seed: [u32; 6],
    /// The trials in their order; empty if each depends on the previous result.
    pub trials: Vec<ForecastTrial>,
    /// Number of trials if the device forwards in long trials what it forwards in the short trials that lead a search;
    /// without such trials, the maximum.
    #[serde(default)]
    pub trials_usual: u64,
    /// How long all of it would take then.
    #[serde(default)]
    pub time_usual_ns: i64,
    /// Maximum number of trials without repeated ones. For a multiple loss ratio search, of a device with losses that
    /// depend on the load and length of a trial only.
    pub trials_at_most: u64,
    /// Maximum duration, with self-test, settling times and tests whether the device forwards; without the commands of
    /// cases and without repeated trials.
    pub time_at_most_ns: i64,
}

/// A trial that would be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForecastTrial {
    /// Its case.
    pub case: String,
    /// What it is for: `measure`, `reset`; of a self-test the name of the test, such as `line-rate` or `gap-100us`.
    #[serde(default)]
    pub purpose: String,
    /// Octets of its frames with check sequence; `null` for a mixture.
    pub frame_size: Option<u32>,
    /// The mixture; `null` for frames of one size.
    pub mixture: Option<String>,
    /// The load, percent of the line rate.
    pub load_percent: f64,
    /// The same in frames a second, of frames as the trial has them.
    pub pps: f64,
    /// How long it would send.
    pub duration_ns: i64,
    /// Which repeat, from 0.
    pub repeat: u32,
}
