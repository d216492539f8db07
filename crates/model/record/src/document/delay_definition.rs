//! What a delay spans.

use romer_units::Place;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::probe_direction::ProbeDirection;

/// What the delays of a direction span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DelayDefinition {
    /// The direction.
    pub direction: ProbeDirection,
    /// From where to where.
    #[serde(flatten)]
    pub span: DelaySpan,
    /// The calibrated baseline, which is subtracted from the delays, nanoseconds; absent if none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_ns: Option<f64>,
}

/// From where to where a delay is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "span", rename_all = "kebab-case")]
pub enum DelaySpan {
    /// From the stamp of the departure to that of the arrival.
    OneWay {
        /// Where the departure is stamped; `null` if the responder or the file does not state it.
        departure: Option<Place>,
        /// Where the arrival is stamped, likewise.
        arrival: Option<Place>,
        /// It contains the time that the responder took to answer.
        includes_responder: bool,
    },
    /// (t4-t1)-(t3-t2).
    RoundTrip,
    /// t4-t1, with the time that the responder took to answer.
    RoundTripWithResponder,
    /// There is no delay.
    None {
        /// Why.
        reason: NoDelay,
    },
}

/// Why a direction has no delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoDelay {
    /// Nothing is known to have arrived.
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
