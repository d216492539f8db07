//! Losses that are none of the path's: what a program handed to an interface that let nothing out, where it alone stamps
//! departures.

use std::collections::BTreeSet;

use romer_record::event::{Event, Side};
use romer_record::{Fate, Passage};
use romer_units::Timestamp;

use crate::steps::{closed, left_by};

/// The sequence numbers of those of `passages` that are lost, and that a program at `sending` stamped and handed to an interface
/// that was down, by `events`, or let nothing out yet: up to the first that arrived. It is for departures that the program has
/// stamped: of those that the driver has, [`astray`](crate::astray::astray) knows which ones left.
pub fn held_back(passages: &[Passage], events: &[Event], sending: Side) -> BTreeSet<u64> {
    let left = |one: &Passage| one.departure.map(Timestamp::as_nanos);
    let arrived = passages.iter().filter(|one| matches!(one.fate, Fate::Arrived | Fate::Late));
    let closed = closed(left_by(events, sending), arrived.filter_map(left));
    let is_within = |left: i64| closed.iter().any(|down| (down.from..=down.until).contains(&left));
    let lost = passages.iter().filter(|one| one.fate == Fate::Lost);
    lost.filter(|one| left(one).is_some_and(is_within)).map(|one| one.sequence).collect()
}

#[cfg(test)]
mod tests {
    use romer_record::event::EventKind;

    use super::*;
    use crate::astray::tests::passage;

    const MS: i64 = 1_000_000;

    #[test]
    fn what_was_lost_from_when_a_link_went_down_up_to_the_first_that_arrived_did_not_leave() {
        // One every 10 ms. The interface is down from 2 to 3 s and lets the first out at 3.5 s, all of which the program stamps;
        // the path loses one before and two after.
        let is_lost = |n: i64| (200..350).contains(&n) || [100, 351, 400].contains(&n);
        let fate = |n: i64| if is_lost(n) { Fate::Lost } else { Fate::Arrived };
        let mut passages: Vec<Passage> =
            (0..600).map(|n: i64| passage(n.unsigned_abs(), Some(n * 10 * MS), fate(n))).collect();
        let event = |kind, at: i64| Event {
            at_ns: at * MS,
            until_ns: None,
            kind,
            side: Side::Sender,
            detail: String::new(),
            clock_ns: at * MS,
            step: None,
            datagrams: None,
            mtu: None,
            sequence: None,
            noticed_late_ns: None,
        };
        let events = [event(EventKind::LinkDown, 2_000), event(EventKind::LinkUp, 3_000)];
        assert_eq!(held_back(&passages, &events, Side::Sender), (200..350).collect());
        assert!(held_back(&passages, &events, Side::Responder).is_empty(), "another host's");
        assert!(held_back(&passages, &[], Side::Sender).is_empty());
        // Nor is it later than the kernel's link watch takes at the most: 1.2 s.
        passages[350..].iter_mut().for_each(|one| one.fate = Fate::Lost);
        assert_eq!(held_back(&passages, &events, Side::Sender), (200..=420).collect());
    }
}
