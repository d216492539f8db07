//! The stamps of a passage, and its moment on the sender's clock.

use romer_record::Passage;
use romer_units::{Arrival, Departure, Timestamp};

use super::heading::Heading;
use crate::clocks::across;

pub(super) fn stamps(passage: &Passage) -> Option<(Timestamp<Departure>, Timestamp<Arrival>)> {
    passage.departure.zip(passage.arrival)
}

/// The difference of a passage's stamps.
pub(super) fn raw(passage: &Passage) -> Option<i128> {
    stamps(passage).map(|(departure, arrival)| across(departure, arrival))
}

/// The moment of a passage on the sender's clock.
pub(super) fn moment(passage: &Passage, heading: Heading) -> Option<i64> {
    match heading {
        Heading::Forward => passage.departure.map(Timestamp::as_nanos),
        Heading::Reverse => passage.arrival.map(Timestamp::as_nanos),
    }
}

/// The moment of a packet on the sender's clock.
pub(super) fn moment_of(
    (departure, arrival): (Timestamp<Departure>, Timestamp<Arrival>),
    heading: Heading,
) -> i64 {
    match heading {
        Heading::Forward => departure.as_nanos(),
        Heading::Reverse => arrival.as_nanos(),
    }
}
