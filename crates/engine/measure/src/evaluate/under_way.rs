//! Probes that were under way when the program was killed: nobody waited for them.

use romer_record::{Fate, Passage};
use romer_timebase::Related;
use romer_units::Duration;

/// Makes those astray that have no arrival and left less than `waiting` before the last that is known of; how many they are.
pub(super) fn leave_astray(related: &mut Related, waiting: Duration) -> usize {
    let ways = [&mut related.forward, &mut related.reverse, &mut related.round_trip];
    ways.map(|passages| mark(passages, waiting)).into_iter().max().unwrap_or(0)
}

fn mark(passages: &mut [Passage], waiting: Duration) -> usize {
    let Some(last) = passages.iter().filter_map(Passage::left).max() else { return 0 };
    let is_under_way = |passage: &&mut Passage| {
        passage.fate == Fate::Lost && passage.left().is_some_and(|left| last - left < waiting)
    };
    passages.iter_mut().filter(is_under_way).map(|passage| passage.fate = Fate::Astray).count()
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
            leaving: romer_record::Leaving::Unknown,
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
        assert_eq!(mark(&mut passages, Duration::from_nanos(1_000)), 2);
        let fates = passages.map(|passage| passage.fate);
        assert_eq!(fates, [Fate::Lost, Fate::Arrived, Fate::Astray, Fate::Arrived, Fate::Astray]);
        assert_eq!(mark(&mut [], Duration::from_nanos(1_000)), 0);
    }
}
