//! What a delay spans.

use romer_units::TimestampPoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::probe_direction::ProbeDirection;

/// Definition of the delays of a direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DelayDefinition {
    /// The direction.
    pub direction: ProbeDirection,
    /// Start and end of the delay.
    #[serde(flatten)]
    pub span: DelaySpan,
    /// Calibrated baseline that is subtracted from the delays, nanoseconds; absent if none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_ns: Option<f64>,
}

/// From where to where a delay is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "span", rename_all = "kebab-case")]
pub enum DelaySpan {
    /// From the departure to the arrival.
    OneWay {
        /// Source of the departure time stamp; `null` if the responder or the file does not state it.
        departure: Option<TimestampPoint>,
        /// Source of the arrival time stamp; `null` if the responder or the file does not state it.
        arrival: Option<TimestampPoint>,
        /// Whether the delay includes the processing time of the responder.
        includes_responder: bool,
    },
    /// Round trip without the processing time of the responder: (t4-t1)-(t3-t2).
    RoundTrip,
    /// Round trip with the processing time of the responder: t4-t1.
    RoundTripWithResponder,
    /// No delay is known.
    None {
        /// Reason.
        reason: NoDelay,
    },
}

/// Reason why a direction has no delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoDelay {
    /// No packet is known to have arrived.
    NothingArrived,
    /// The time stamps of the responder are unusable.
    ResponderStampsUnusable,
    /// The clocks of the two hosts cannot be related.
    ClocksUnrelated,
    /// The responder does not state when probes arrived (t2).
    ArrivalsUnknown,
    /// The responder does not state when replies left (t3).
    DeparturesUnknown,
}
