//! Packets that were in flight when the program was killed.

use romer_record::{Fate, OneWaySingleton};
use romer_singletons::StreamSingletons;
use romer_units::Duration;

/// Marks the packets in flight: those that have no arrival and left less than `waiting` before the last that is known of. Of a
/// round trip that did not come back nobody knows either on which way it was; what the far end's log of one way does not tell of
/// may have arrived, and stays unknown.
pub(super) fn mark_in_flight(related: &mut StreamSingletons, waiting: Duration) {
    let is_round_trip = !related.round_trip.is_empty();
    let ways = [&mut related.forward, &mut related.reverse, &mut related.round_trip];
    ways.into_iter().for_each(|singletons| mark(singletons, waiting, is_round_trip));
}

/// What a call over one way counts: what the far end's log does not tell of, which did not come back whole, is no loss.
pub(crate) fn known(singletons: &[OneWaySingleton]) -> Vec<OneWaySingleton> {
    let is_known = |singleton: &&OneWaySingleton| singleton.fate != Fate::Unknown;
    singletons.iter().filter(is_known).copied().collect()
}

fn mark(singletons: &mut [OneWaySingleton], waiting: Duration, is_round_trip: bool) {
    let Some(last) = singletons.iter().filter_map(OneWaySingleton::left).max() else { return };
    let is_in_flight = |singleton: &&mut OneWaySingleton| {
        let is_out = singleton.fate == Fate::Lost || (is_round_trip && singleton.fate == Fate::Unknown);
        is_out && singleton.left().is_some_and(|left| last - left < waiting)
    };
    singletons.iter_mut().filter(is_in_flight).for_each(|singleton| singleton.fate = Fate::InFlight);
}

#[cfg(test)]
mod tests {
    use romer_units::Timestamp;

    use super::*;

    fn singleton(sequence: u64, departure: i64, fate: Fate) -> OneWaySingleton {
        OneWaySingleton {
            sequence,
            copy: 0,
            size: 64,
            fate,
            departure: Some(Timestamp::from_nanos(departure)),
            arrival: None,
            delay: None,
            ttl: None,
            tos: None,
            leaving: romer_record::Leaving::UNKNOWN,
        }
    }

    #[test]
    fn what_left_at_the_end_was_not_waited_for() {
        let mut singletons = [
            singleton(0, 0, Fate::Lost),
            singleton(1, 100, Fate::Arrived),
            singleton(2, 1_001, Fate::Lost),
            singleton(3, 2_000, Fate::Arrived),
            singleton(4, 2_000, Fate::Lost),
        ];
        let waiting = Duration::from_nanos(1_000);
        mark(&mut singletons, waiting, false);
        let fates = singletons.map(|singleton| singleton.fate);
        assert_eq!(fates, [Fate::Lost, Fate::Arrived, Fate::InFlight, Fate::Arrived, Fate::InFlight]);
        // On the ways of a round trip it is not known where such a probe was.
        let unknown = || [singleton(0, 0, Fate::Unknown), singleton(1, 2_000, Fate::Unknown)];
        let (mut one_way, mut both_ways) = (unknown(), unknown());
        mark(&mut one_way, waiting, false);
        mark(&mut both_ways, waiting, true);
        assert_eq!(one_way, unknown());
        assert_eq!(both_ways.map(|singleton| singleton.fate), [Fate::Unknown, Fate::InFlight]);
        assert!(known(&one_way).is_empty());
    }
}
