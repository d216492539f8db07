//! Why the clocks of two hosts could not be related, as typed values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::EventLocation;
use crate::probe_direction::ProbeDirection;

/// Reason why the skew of two clocks could not be estimated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum SkewUnknown {
    /// No packet has the time stamps of both hosts.
    NoTimeStamps,
    /// Fewer packets than needed have the time stamps of both hosts.
    FewPackets {
        /// Number that is needed.
        needed: u64,
    },
    /// There are too few packets, or they are too close in time.
    FewOrClose,
    /// The packets span less than a second.
    ShortSpan,
    /// The packets were sent in a few groups with pauses between them.
    Clustered,
    /// There are too few packets between the clock events.
    FewBetweenEvents,
    /// No two windows of the method have enough packets for a slope.
    FewPerWindow {
        /// Length of a window, nanoseconds.
        window_ns: i64,
    },
    /// The minimum delay of a direction changes during a large part of the time.
    MinimumMoves {
        /// The direction.
        direction: ProbeDirection,
        /// Share of the time in which it changes.
        moving_ratio: f64,
    },
    /// The minimum delay of a direction drifts faster than clocks do.
    MinimumDrifts {
        /// The direction.
        direction: ProbeDirection,
        /// Drift of the minimum delay, ppm.
        drift_ppm: f64,
    },
    /// The two directions give different skews, so that the minimum delay of one of them changes.
    DirectionsDiffer {
        /// Skew by the forward direction, ppm.
        forward_ppm: f64,
        /// Skew by the reverse direction, ppm.
        reverse_ppm: f64,
    },
    /// There are too few packets for the uncertainty of the slope.
    UncertaintyUnknown {
        /// Slope, ppm.
        skew_ppm: f64,
    },
    /// The run is too short for a useful uncertainty.
    RunTooShort {
        /// Estimate, ppm.
        skew_ppm: f64,
        /// Half the width of its 95 % confidence interval, ppm.
        error_ppm: f64,
        /// Resolution of the time stamps, nanoseconds; `null` if it is 1 ns.
        resolution_ns: Option<i64>,
    },
    /// Both directions give a skew that is impossible for clocks.
    RateImpossible {
        /// Skew, ppm.
        skew_ppm: f64,
    },
    /// The skew exceeds that of clocks, and the directions differ: the delay of a path changes.
    RateOfPath {
        /// Skew, ppm.
        skew_ppm: f64,
    },
    /// The skew exceeds that of clocks, and one direction alone does not show whether the path changes.
    RateAmbiguous {
        /// Skew, ppm.
        skew_ppm: f64,
    },
    /// With the estimate, one-way delays exceed their round-trip delays.
    Contradicted(OneWayContradiction),
}

/// Probes with a one-way delay above their round-trip delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneWayContradiction {
    /// Number of such probes.
    pub contradicting: u64,
    /// Number of compared probes.
    pub compared: u64,
    /// Largest one-way delay of these probes, nanoseconds.
    pub one_way_delay_ns: i64,
    /// Round-trip delay of that probe, nanoseconds.
    pub round_trip_delay_ns: i64,
    /// Skew in both directions, ppm, if it exceeds that of free-running clocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew_ppm: Option<f64>,
    /// Resolution of the time stamps, nanoseconds, if it exceeds the round-trip delay and is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_ns: Option<i64>,
}

/// How the time stamps contradict the synchronisation of the clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum SynchronisationContradiction {
    /// A packet arrived before it left by more than the bound.
    ArrivalBeforeDeparture {
        /// Direction.
        direction: ProbeDirection,
        /// Largest time between arrival and later departure, nanoseconds.
        max_ns: i64,
    },
    /// The offset of the clocks moved during the run by more than both bounds allow.
    OffsetMoved {
        /// Movement, without the error of its estimate, nanoseconds.
        movement_ns: i64,
    },
    /// The responder's clock was set during the run.
    ClockSet,
    /// A host lost the synchronisation of its clock during the run.
    Lost(SynchronisationLoss),
}

/// Loss of synchronisation of a host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SynchronisationLoss {
    /// The host.
    pub location: EventLocation,
    /// Time of the loss, nanoseconds after the start of the run.
    pub at_ns: i64,
}

/// Packets whose arrival precedes their departure, by the time stamps of one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlyArrivals {
    /// Number of such packets, forward.
    pub forward: u64,
    /// Number of forward packets with a delay.
    pub forward_compared: u64,
    /// Number of such packets, reverse.
    pub reverse: u64,
    /// Number of reverse packets with a delay.
    pub reverse_compared: u64,
    /// Largest time between arrival and later departure, nanoseconds.
    pub max_ns: i64,
}
