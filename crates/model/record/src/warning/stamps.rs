//! What warnings of a measurement state about time stamps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Event of a packet that has a time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StampMoment {
    /// Departure at the initiator (t1).
    SenderDeparture,
    /// Arrival at the responder (t2).
    ResponderArrival,
    /// Departure at the responder (t3).
    ResponderDeparture,
    /// Arrival at the initiator (t4).
    SenderArrival,
}

/// Range of the share of packets without a delay, over tenths of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Uneven {
    /// Smallest share.
    pub min_ratio: f64,
    /// Largest share.
    pub max_ratio: f64,
}

/// Wrong unit in the fraction field of a time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FalseUnit {
    /// Microseconds instead of fractions of 2^-32 s.
    Microseconds,
    /// Microseconds instead of nanoseconds.
    MicrosecondsForNanoseconds,
    /// Nanoseconds instead of fractions of 2^-32 s: PTP time stamps without the Z bit of the error estimate.
    Nanoseconds,
}

/// A contradiction in the time stamps of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Contradiction {
    /// The reply left before the request arrived (t3 before t2).
    ReplyBeforeRequest {
        /// Number of such replies.
        replies: u64,
        /// Largest contradiction, nanoseconds.
        max_ns: i64,
    },
    /// The processing time of the responder exceeds the round trip (t3-t2 above t4-t1).
    StayAboveRoundTrip {
        /// Number of such replies.
        replies: u64,
        /// Largest contradiction, nanoseconds.
        max_ns: i64,
    },
    /// A one-way delay is below those of neighbouring probes, but the round-trip delay is not.
    OneWayBelowNeighbours {
        /// Number of such replies.
        replies: u64,
        /// Largest contradiction, nanoseconds.
        max_ns: i64,
    },
}

/// Remedy for missing time stamps of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StampsRemedy {
    /// Columns t2_ns and t3_ns.
    Csv,
    /// Option `irtt client --tstamp=both`.
    Irtt,
}

/// Source of the departures of a log of ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DepartureBasis {
    /// Time stamps of the replies less the round trips. Departures of lost packets lie between those of their neighbours.
    Replies,
    /// Sequence numbers, and the mean interval of the statistics.
    Statistics,
    /// Sequence numbers, and one second, the default interval of ping.
    Default,
}
