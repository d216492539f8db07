//! Probes that were under way when the program was killed: nobody waited for them, and they are not lost.

use romer_record::{Fate, Passage};
use romer_timebase::Related;
use romer_units::Duration;

/// Takes those out that have no arrival and left less than `waiting` before the last that is known of. Gives how many
/// probes that were.
pub(super) fn forget_those_under_way(related: &mut Related, waiting: Duration) -> u64 {
    let ways = [&mut related.forward, &mut related.reverse, &mut related.round_trip];
    ways.map(|passages| forget(passages, waiting)).into_iter().max().unwrap_or(0)
}

fn forget(passages: &mut Vec<Passage>, waiting: Duration) -> u64 {
    let before = passages.len();
    if let Some(last) = passages.iter().filter_map(|passage| passage.departure).max() {
        let is_under_way = |passage: &Passage| {
            passage.fate == Fate::Lost
                && passage.departure.is_some_and(|departure| last - departure < waiting)
        };
        passages.retain(|passage| !is_under_way(passage));
    }
    u64::try_from(before - passages.len()).unwrap_or(u64::MAX)
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
            departure_error: None,
        }
    }

    #[test]
    fn what_was_waited_for_is_lost_and_what_was_not_is_not() {
        let mut passages = vec![
            passage(0, 0, Fate::Lost),
            passage(1, 100, Fate::Arrived),
            passage(2, 1_001, Fate::Lost),
            passage(3, 2_000, Fate::Arrived),
            passage(4, 2_000, Fate::Lost),
        ];
        assert_eq!(forget(&mut passages, Duration::from_nanos(1_000)), 2);
        let left: Vec<u64> = passages.iter().map(|passage| passage.sequence).collect();
        assert_eq!(left, [0, 1, 3]);
    }
}
