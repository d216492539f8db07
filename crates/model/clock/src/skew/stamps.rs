//! The stamps of a singleton, and its moment on the sender's clock.

use romer_record::OneWaySingleton;
use romer_units::{Arrival, Departure, Direction, Timestamp};

use crate::clocks::across;

pub(super) fn stamps(singleton: &OneWaySingleton) -> Option<(Timestamp<Departure>, Timestamp<Arrival>)> {
    singleton.departure.zip(singleton.arrival)
}

/// The difference of a singleton's stamps.
pub(super) fn raw(singleton: &OneWaySingleton) -> Option<i128> {
    stamps(singleton).map(|(departure, arrival)| across(departure, arrival))
}

/// The moment of a singleton on the sender's clock.
pub(super) fn moment(singleton: &OneWaySingleton, heading: Direction) -> Option<i64> {
    match heading {
        Direction::Forward => singleton.departure.map(Timestamp::as_nanos),
        Direction::Reverse => singleton.arrival.map(Timestamp::as_nanos),
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
