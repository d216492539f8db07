//! What several tests need.

use romer_record::{Fate, Leaving, Passage};
use romer_units::Timestamp;

/// A packet that arrived, with its stamps.
pub(crate) fn passage(sequence: u64, departure: i64, arrival: i64) -> Passage {
    Passage {
        sequence,
        copy: 0,
        size: 64,
        fate: Fate::Arrived,
        departure: Some(Timestamp::from_nanos(departure)),
        arrival: Some(Timestamp::from_nanos(arrival)),
        delay: None,
        ttl: None,
        tos: None,
        leaving: Leaving::Unknown,
    }
}
