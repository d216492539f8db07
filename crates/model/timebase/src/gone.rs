//! Losses of which it is not known that they are the path's: round trips from when on a far end was gone until somebody answered
//! there again.

use romer_record::event::{Event, EventKind};
use romer_record::{Fate, Passage};
use romer_units::Timestamp;

/// The sequence numbers of those of the round trips of `passages` that are lost, after the last that had come back when the control
/// conversation broke off, by `events` (`far-end-gone`), and before the first that left after that and came back, as where
/// another responder answers there: there may have been nobody for them.
pub fn gone(passages: &[Passage], events: &[Event]) -> Vec<u64> {
    let mut all = Vec::new();
    for event in events.iter().filter(|event| event.kind == EventKind::FarEndGone) {
        let broke = event.clock_ns;
        let firsts = || passages.iter().filter(|passage| passage.copy == 0);
        let came = |passage: &&Passage| matches!(passage.fate, Fate::Arrived | Fate::Late);
        let before = |moment: Option<i64>| moment.is_some_and(|moment| moment <= broke);
        let had_come = |one: &&Passage| came(one) && before(one.arrival.map(Timestamp::as_nanos));
        let last = firsts().rev().find(had_come).map(|one| one.sequence);
        let after = firsts().skip_while(|one| last.is_some_and(|last| one.sequence <= last));
        let is_answered_again =
            |one: &Passage| came(&one) && one.left().is_some_and(|left| left.as_nanos() > broke);
        let until_then = after.take_while(|one| !is_answered_again(one));
        all.extend(until_then.filter(|one| one.fate == Fate::Lost).map(|one| one.sequence));
    }
    all
}

#[cfg(test)]
mod tests {
    use romer_record::event::Side;

    use super::*;
    use crate::astray::tests::passage;

    const MS: i64 = 1_000_000;

    /// One every 10 ms, away for 30; those that `is_lost` says are lost.
    fn sent(is_lost: impl Fn(i64) -> bool) -> Vec<Passage> {
        let one = |n: i64| Passage {
            arrival: (!is_lost(n)).then(|| Timestamp::from_nanos((n * 10 + 30) * MS)),
            ..passage(
                n.unsigned_abs(),
                Some(n * 10 * MS),
                if is_lost(n) { Fate::Lost } else { Fate::Arrived },
            )
        };
        (0..1_000).map(one).collect()
    }

    fn broke_off(at: i64) -> Event {
        Event {
            at_ns: at * MS,
            until_ns: Some((at + 1_000) * MS),
            kind: EventKind::FarEndGone,
            side: Side::Path,
            detail: String::new(),
            clock_ns: at * MS,
            step: None,
            datagrams: None,
            mtu: None,
            sequence: None,
            noticed_late_ns: None,
        }
    }

    #[test]
    fn what_was_not_answered_while_nobody_was_there_is_not_known_to_be_lost_and_what_was_before_and_after_is()
    {
        // From 398 on nothing is answered until 431; the path loses one before, and one after.
        let passages = sent(|n| (398..431).contains(&n) || [380, 500].contains(&n));
        assert_eq!(gone(&passages, &[broke_off(4_015)]), (398..431).collect::<Vec<u64>>());
        assert!(gone(&passages, &[]).is_empty());
        // What was under way comes back after the conversation has broken off.
        let passages = sent(|n| (402..431).contains(&n) || [380, 500].contains(&n));
        assert_eq!(gone(&passages, &[broke_off(4_015)]), (402..431).collect::<Vec<u64>>());
        // Nobody answers any more, or nobody ever has.
        assert_eq!(gone(&sent(|n| n >= 398), &[broke_off(4_015)]), (398..1_000).collect::<Vec<u64>>());
        assert_eq!(gone(&sent(|n| n < 431), &[broke_off(4_015)]), (0..431).collect::<Vec<u64>>());
    }
}
