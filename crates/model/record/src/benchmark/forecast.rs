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
    /// The trials in their order; empty where each follows from what the one before comes to.
    pub trials: Vec<ForecastTrial>,
    /// How many trials there would be where the device carries in long trials what it carries in the short ones that lead a
    /// search; of procedures without such trials as many as at the most.
    #[serde(default)]
    pub trials_usual: u64,
    /// How long all of it would take then.
    #[serde(default)]
    pub time_usual_ns: i64,
    /// How many trials there would be at the most, without those that have to be made again; of a multiple loss ratio search,
    /// of devices that lose frames by load and length of a trial alone.
    pub trials_at_most: u64,
    /// How long all of it would take at the most, with the tester's own test, settling times and looking whether the device
    /// forwards, without setting cases and without trials that have to be made again.
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
