//! The stamps of a passage, and its moment on the sender's clock.

use romer_record::Passage;
use romer_units::{Arrival, Departure, Direction, Timestamp};

use crate::clocks::across;

pub(super) fn stamps(passage: &Passage) -> Option<(Timestamp<Departure>, Timestamp<Arrival>)> {
    passage.departure.zip(passage.arrival)
}

/// The difference of a passage's stamps.
pub(super) fn raw(passage: &Passage) -> Option<i128> {
    stamps(passage).map(|(departure, arrival)| across(departure, arrival))
}

/// The moment of a passage on the sender's clock.
pub(super) fn moment(passage: &Passage, heading: Direction) -> Option<i64> {
    match heading {
        Direction::Forward => passage.departure.map(Timestamp::as_nanos),
        Direction::Reverse => passage.arrival.map(Timestamp::as_nanos),
    }
}

/// The moment of a packet on the sender's clock.
pub(super) fn moment_of(
    (departure, arrival): (Timestamp<Departure>, Timestamp<Arrival>),
    heading: Direction,
) -> i64 {
    match heading {
        Direction::Forward => departure.as_nanos(),
        Direction::Reverse => arrival.as_nanos(),
    }
}
