//! Packets that were in flight when the program was killed.

use romer_passages::StreamPassages;
use romer_record::{Fate, Passage};
use romer_units::Duration;

/// Marks the packets in flight: those that have no arrival and left less than `waiting` before the last that is known of. Of a
/// round trip that did not come back nobody knows either on which way it was; what the far end's log of one way does not tell of
/// may have arrived, and stays unknown.
pub(super) fn mark_in_flight(related: &mut StreamPassages, waiting: Duration) {
    let is_round_trip = !related.round_trip.is_empty();
    let ways = [&mut related.forward, &mut related.reverse, &mut related.round_trip];
    ways.into_iter().for_each(|passages| mark(passages, waiting, is_round_trip));
}

/// What a call over one way counts: what the far end's log does not tell of, which did not come back whole, is no loss.
pub(crate) fn known(passages: &[Passage]) -> Vec<Passage> {
    let is_known = |passage: &&Passage| passage.fate != Fate::Unknown;
    passages.iter().filter(is_known).copied().collect()
}

fn mark(passages: &mut [Passage], waiting: Duration, is_round_trip: bool) {
    let Some(last) = passages.iter().filter_map(Passage::left).max() else { return };
    let is_in_flight = |passage: &&mut Passage| {
        let is_out = passage.fate == Fate::Lost || (is_round_trip && passage.fate == Fate::Unknown);
        is_out && passage.left().is_some_and(|left| last - left < waiting)
    };
    passages.iter_mut().filter(is_in_flight).for_each(|passage| passage.fate = Fate::InFlight);
}

#[cfg(test)]
mod tests {
    use romer_units::Timestamp;

    use super::*;

    fn passage(sequence: u64, departure: i64, fate: Fate) -> Passage {
        Passage {
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
        let mut passages = [
            passage(0, 0, Fate::Lost),
            passage(1, 100, Fate::Arrived),
            passage(2, 1_001, Fate::Lost),
            passage(3, 2_000, Fate::Arrived),
            passage(4, 2_000, Fate::Lost),
        ];
        let waiting = Duration::from_nanos(1_000);
        mark(&mut passages, waiting, false);
        let fates = passages.map(|passage| passage.fate);
        assert_eq!(fates, [Fate::Lost, Fate::Arrived, Fate::InFlight, Fate::Arrived, Fate::InFlight]);
        // On the ways of a round trip it is not known where such a probe was.
        let unknown = || [passage(0, 0, Fate::Unknown), passage(1, 2_000, Fate::Unknown)];
        let (mut one_way, mut both_ways) = (unknown(), unknown());
        mark(&mut one_way, waiting, false);
        mark(&mut both_ways, waiting, true);
        assert_eq!(one_way, unknown());
        assert_eq!(both_ways.map(|passage| passage.fate), [Fate::Unknown, Fate::InFlight]);
        assert!(known(&one_way).is_empty());
    }
}
