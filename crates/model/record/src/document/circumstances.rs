//! The circumstances of a measurement: hosts, clocks, the way between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hosts, command, comment and route of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metadata {
    /// Comment of the user.
    pub comment: Option<String>,
    /// Name of the initiator's host.
    pub host: String,
    /// Kernel version of the initiator's host.
    pub kernel: String,
    /// Driver of the outgoing interface.
    pub nic_driver: Option<String>,
    /// Clock source of the initiator's kernel.
    pub clock_source: Option<String>,
    /// Synchronisation of the initiator's clock.
    pub clock_sync: ClockSync,
    /// The route to the target, hop by hop, at the start and at the end; `null` if not requested.
    pub route: Option<Vec<Hop>>,
    /// Equivalent command line.
    pub command: String,
    /// Version of romer.
    pub software: String,
    /// Version of romer at the responder; `null` for other reflectors.
    pub responder_software: Option<String>,
    /// Synchronisation of the responder's clock, if its romer reports it.
    #[serde(default)]
    pub responder_clock_sync: Option<ClockSync>,
}

/// Synchronisation of a host's clock, as reported by the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockSync {
    /// Whether the clock is synchronised, according to the kernel.
    pub synchronised: Option<bool>,
    /// Estimated error of the clock by the kernel, nanoseconds.
    pub estimated_error_ns: Option<i64>,
    /// Maximum error of the clock by the kernel, nanoseconds.
    pub maximum_error_ns: Option<i64>,
    /// State of the clock by the kernel (adjtimex): `ok`, `leap-second` or `error`.
    #[serde(default)]
    pub state: Option<String>,
    /// Frequency correction by the kernel, ppm: positive if the clock is sped up.
    #[serde(default)]
    pub frequency_ppm: Option<f64>,
    /// TAI minus this clock, seconds; 0 if the kernel does not know it.
    #[serde(default)]
    pub tai_offset_s: Option<i32>,
    /// Running synchronisation daemons: `chronyd`, `ntpd`, `ntpd-rs`, `systemd-timesyncd`, `ptp4l`,
    /// `phc2sys`.
    #[serde(default)]
    pub sync_daemons: Vec<String>,
    /// State reported by chrony; `null` if it does not run or answer.
    #[serde(default)]
    pub chrony: Option<Chrony>,
}

/// State of the clock as reported by chrony.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chrony {
    /// Reference server; empty if none.
    pub reference: String,
    /// Distance from a reference clock; 0 without a reference.
    pub stratum: u8,
    /// Offset of the clock by chrony, nanoseconds: positive if the clock is behind, negative if it is ahead.
    pub offset_ns: i64,
    /// Maximum error of the clock by chrony, nanoseconds.
    pub bound_ns: i64,
    /// Uncertainty of the clock rate, ppm.
    pub skew_ppm: f64,
}

/// One hop of the route to the target: the address that reported an expired TTL or hop limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hop {
    /// Number of the hop, from 1.
    pub hop: u8,
    /// Address that replied before the first probe; `null` if none did, or if the path ended before this hop.
    pub at_start: Option<HopAnswer>,
    /// Address that replied after the last probe; `null` if none did, or if the path ended before this hop.
    pub at_end: Option<HopAnswer>,
}

/// Reply from a hop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HopAnswer {
    /// Address of the hop.
    pub address: String,
    /// Whether the address is the target: the path ends here.
    pub target: bool,
}
