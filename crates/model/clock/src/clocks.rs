//! The one place where two clocks meet.

use romer_units::{Arrival, Clock, Departure, Duration, Timestamp};

/// Nanoseconds from a reading of the departing host's clock to one of the arriving host's: the delay, plus the
/// arriving clock's offset from the departing one. No other function subtracts times of two clocks.
pub fn across(departure: Timestamp<Departure>, arrival: Timestamp<Arrival>) -> i128 {
    i128::from(arrival.as_nanos()) - i128::from(departure.as_nanos())
}

/// Nanoseconds between two readings of one clock, without overflow.
pub fn elapsed<C: Clock>(earlier: Timestamp<C>, later: Timestamp<C>) -> i128 {
    i128::from(later.as_nanos()) - i128::from(earlier.as_nanos())
}

/// `nanos` as a length of time; `None` outside its range.
pub fn length(nanos: i128) -> Option<Duration> {
    i64::try_from(nanos).ok().map(Duration::from_nanos)
}
