//! The circumstances of a measurement: hosts, clocks, the way between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Circumstances of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metadata {
    /// The user's words.
    pub comment: Option<String>,
    /// Name of the measuring host.
    pub host: String,
    /// Its kernel.
    pub kernel: String,
    /// Driver of the outgoing interface.
    pub nic_driver: Option<String>,
    /// Its clock source.
    pub clock_source: Option<String>,
    /// Its synchronisation.
    pub clock_sync: ClockSync,
    /// The route to the target, hop by hop, at the start and at the end; `null` if not requested.
    pub route: Option<Vec<Hop>>,
    /// The command that repeats this measurement.
    pub command: String,
    /// Version of romer.
    pub software: String,
    /// Version of romer at the responder, where it is one.
    pub responder_software: Option<String>,
    /// Synchronisation of the responder's clock, if its romer reports it.
    #[serde(default)]
    pub responder_clock_sync: Option<ClockSync>,
}

/// What a host says of its clock's synchronisation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockSync {
    /// The kernel holds its clock for synchronised.
    pub synchronised: Option<bool>,
    /// The kernel's estimate of its error.
    pub estimated_error_ns: Option<i64>,
    /// The kernel's bound of its error.
    pub maximum_error_ns: Option<i64>,
    /// `ok`, `leap-second` or `error`, as the kernel says (adjtimex).
    #[serde(default)]
    pub state: Option<String>,
    /// By how much the kernel speeds the clock up (positive) or slows it down.
    #[serde(default)]
    pub frequency_ppm: Option<f64>,
    /// International atomic time minus this clock, seconds; 0 if the kernel does not know it.
    #[serde(default)]
    pub tai_offset_s: Option<i32>,
    /// Daemons that were seen to run: `chronyd`, `ntpd`, `ntpd-rs`, `systemd-timesyncd`, `ptp4l`, `phc2sys`.
    #[serde(default)]
    pub sync_daemons: Vec<String>,
    /// What chrony says, where it runs and answers.
    #[serde(default)]
    pub chrony: Option<Chrony>,
}

/// What chrony reports about the clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chrony {
    /// The server that it follows; empty for none.
    pub reference: String,
    /// Distance from a reference clock; 0 without a reference.
    pub stratum: u8,
    /// By how much the clock is behind (positive) or ahead of what chrony holds for true.
    pub offset_ns: i64,
    /// The bound that chrony states for the clock's error.
    pub bound_ns: i64,
    /// How well the clock's rate is known.
    pub skew_ppm: f64,
}

/// One hop of the route to the target: the address that reported an expired TTL or hop limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hop {
    /// Its number, from 1.
    pub hop: u8,
    /// Who answered before the first probe; `null` if no host did, or if the route had ended.
    pub at_start: Option<HopAnswer>,
    /// Who answered after the last probe, in the same form.
    pub at_end: Option<HopAnswer>,
}

/// Who answered from a hop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HopAnswer {
    /// Its address.
    pub address: String,
    /// It is the target: the path ends here.
    pub target: bool,
}
