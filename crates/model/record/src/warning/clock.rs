//! Why the clocks of two hosts could not be related, as typed values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::probe_direction::ProbeDirection;

/// Why the skew of two clocks could not be estimated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum SkewUnknown {
    /// No packet has the time stamps of both hosts.
    NoTimeStamps,
    /// Fewer packets than needed have the time stamps of both hosts.
    FewPackets {
        /// The number that is needed.
        needed: u64,
    },
    /// There are too few packets, or they are too close in time.
    FewOrClose,
    /// The packets span less than a second.
    ShortSpan,
    /// The packets were sent at a few moments with pauses between them.
    Clustered,
    /// There are too few packets between the events of the clocks.
    FewBetweenEvents,
    /// No two windows of the method have packets that give a slope.
    FewPerWindow {
        /// The length of a window, nanoseconds.
        window_ns: i64,
    },
    /// The minimum delay of a direction changes during a large part of the time.
    MinimumMoves {
        /// The direction.
        direction: ProbeDirection,
        /// The share of the time.
        moving_ratio: f64,
    },
    /// The minimum delay of a direction drifts faster than clocks do.
    MinimumDrifts {
        /// The direction.
        direction: ProbeDirection,
        /// Its drift, ppm.
        drift_ppm: f64,
    },
    /// The directions give different rates, so that the minimum delay of one of them changes.
    DirectionsDiffer {
        /// The rate by the forward direction, ppm.
        forward_ppm: f64,
        /// The rate by the reverse direction, ppm.
        reverse_ppm: f64,
    },
    /// There are too few packets to give the uncertainty of the slope.
    UncertaintyUnknown {
        /// The slope, ppm.
        skew_ppm: f64,
    },
    /// The run is too short for a useful uncertainty.
    RunTooShort {
        /// The estimate, ppm.
        skew_ppm: f64,
        /// Half the width of its 95 % interval, ppm.
        error_ppm: f64,
        /// The resolution of the time stamps, nanoseconds; `null` if they resolve single nanoseconds.
        resolution_ns: Option<i64>,
    },
    /// Both directions show a rate that no clock has.
    RateImpossible {
        /// The rate, ppm.
        skew_ppm: f64,
    },
    /// The rate exceeds that of clocks, and the directions differ: a path changes.
    RateOfPath {
        /// The rate, ppm.
        skew_ppm: f64,
    },
    /// The rate exceeds that of clocks, and one direction alone does not show whether a path changes.
    RateAmbiguous {
        /// The rate, ppm.
        skew_ppm: f64,
    },
    /// One-way delays with the estimate exceed their round-trip delays.
    Contradicted(OneWayContradiction),
}

/// Probes with a one-way delay above their round-trip delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneWayContradiction {
    /// Such probes.
    pub contradicting: u64,
    /// Probes that were compared.
    pub compared: u64,
    /// The largest such one-way delay, nanoseconds.
    pub one_way_delay_ns: i64,
    /// The round-trip delay of that probe, nanoseconds.
    pub round_trip_delay_ns: i64,
    /// The skew that both directions show, where it exceeds that of free-running clocks, ppm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew_ppm: Option<f64>,
    /// The resolution of the time stamps, where it exceeds the round-trip delay and is the reason, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_ns: Option<i64>,
}

/// Packets that arrive before they leave, by the time stamps of one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlyArrivals {
    /// Such packets forward.
    pub forward: u64,
    /// Forward packets with a delay.
    pub forward_compared: u64,
    /// Such packets in reverse.
    pub reverse: u64,
    /// Reverse packets with a delay.
    pub reverse_compared: u64,
    /// The largest time below zero, nanoseconds.
    pub most_ns: i64,
}
