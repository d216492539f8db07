//! Packets that arrived at a host whose socket was full: the measuring host dropped them, and the path did not lose them.

use std::collections::BTreeSet;

use romer_record::OneWaySingleton;
use romer_record::event::{Event, EventKind, EventLocation};

use crate::due::runs;

/// When a packet was due that did not come is known no better than this.
const NEARLY_NS: i64 = 250_000_000;

/// The sequence numbers of those of `singletons` that are lost, and that the kernel of the host at `receiving` dropped unread, by
/// `events`. With each datagram that is read the kernel tells how many it had dropped before: so many were dropped between that
/// one and the one before, which is the time of the event. Of those that were due then and did not come, as many are taken as
/// were dropped, first those that are missing one after the other: a socket that is full takes nothing more for a while. Where
/// more were dropped than those, they are the ones that are missing right after them: when the last was dropped is known by a
/// datagram that was read after it, or not at all. Where most of those in a row were dropped, the ones that the path lost are taken to
/// lie evenly among them, rather than one after the other.
pub fn instrument_drops(
    singletons: &[OneWaySingleton],
    events: &[Event],
    receiving: EventLocation,
) -> BTreeSet<u64> {
    let own = |event: &&Event| event.location == receiving && event.kind == EventKind::ReceiveOverflow;
    let overflows: Vec<(i64, i64, u64)> = events
        .iter()
        .filter(own)
        .filter_map(|event| {
            let length = event.until_ns?.saturating_sub(event.at_ns);
            let until = event.clock_ns.saturating_add(length).saturating_add(NEARLY_NS);
            Some((event.clock_ns.saturating_sub(NEARLY_NS), until, event.datagrams?))
        })
        .collect();
    let mut found = BTreeSet::new();
    if overflows.is_empty() {
        return found;
    }
    let runs = runs(singletons);
    for (from, until, dropped) in overflows {
        let mut missing: Vec<(Vec<u64>, Vec<u64>)> = Vec::new();
        for run in &runs {
            let left = || run.iter().filter(|(sequence, _)| !found.contains(sequence));
            let then: Vec<u64> = left()
                .filter(|(_, due)| (from..=until).contains(due))
                .map(|(sequence, _)| *sequence)
                .collect();
            if !then.is_empty() {
                missing.push((
                    then,
                    left().filter(|(_, due)| *due > until).map(|(sequence, _)| *sequence).collect(),
                ));
            }
        }
        missing.sort_by_key(|(then, _)| std::cmp::Reverse(then.len()));
        let mut dropped = usize::try_from(dropped).unwrap_or(usize::MAX);
        for (then, after) in missing {
            let taken = if dropped < then.len() && dropped > then.len() / 2 {
                let of = then.len();
                // The place of each is past one more of the shares that fall to it.
                (0..of)
                    .filter(|place| (place + 1) * dropped / of > place * dropped / of)
                    .map(|place| then[place])
                    .collect()
            } else {
                then.into_iter().chain(after).take(dropped).collect::<Vec<u64>>()
            };
            dropped -= taken.len();
            found.extend(taken);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use romer_record::Fate;
    use romer_units::Timestamp;

    use super::*;
    use crate::due::tests::singleton;

    const MS: i64 = 1_000_000;

    /// One a millisecond, 30 ms on the way to a clock that is an hour ahead; those that `is_lost` says are lost.
    fn sent(is_lost: impl Fn(i64) -> bool) -> Vec<OneWaySingleton> {
        let one = |n: i64| {
            let lost = is_lost(n);
            let fate = if lost { Fate::Lost } else { Fate::Arrived };
            OneWaySingleton {
                arrival: (!lost).then(|| Timestamp::from_nanos(HOUR + (n + 30) * MS)),
                ..singleton(n.unsigned_abs(), Some(n * MS), fate)
            }
        };
        (0..10_000).map(one).collect()
    }

    const HOUR: i64 = 3_600_000 * MS;

    fn overflow(location: EventLocation, from: i64, until: Option<i64>, datagrams: u64) -> Event {
        Event {
            until_ns: until.map(|until| until * MS),
            datagrams: Some(datagrams),
            ..Event::new(EventKind::ReceiveOverflow, location, from * MS, HOUR + from * MS)
        }
    }

    #[test]
    fn what_a_full_socket_took_no_more_was_not_lost_by_the_path() {
        // The socket is full from 4 s to 6.05 s; the path loses every hundredth, and fifty at 8 s.
        let path = |n: i64| n % 100 == 50 || (8_000..8_050).contains(&n);
        let full = |n: i64| (3_970..6_020).contains(&n);
        let singletons = sent(|n| path(n) || full(n));
        // Of the 2,050 the path had lost 21 before they came.
        let gone = instrument_drops(
            &singletons,
            &[overflow(EventLocation::Responder, 3_999, Some(6_050), 2_029)],
            EventLocation::Responder,
        );
        assert_eq!(gone.len(), 2_029);
        assert!(gone.iter().all(|n| full(n.cast_signed())), "{:?} to {:?}", gone.first(), gone.last());
        // Of another host's, where it is not known when, or where none was dropped: the path lost them.
        for event in [
            overflow(EventLocation::Sender, 3_999, Some(6_050), 2_029),
            overflow(EventLocation::Responder, 3_999, None, 2_029),
            overflow(EventLocation::Responder, 1_000, Some(1_001), 0),
        ] {
            assert!(instrument_drops(&singletons, &[event], EventLocation::Responder).is_empty());
        }
    }

    #[test]
    fn what_was_dropped_while_a_full_socket_was_emptied_is_found_in_all_its_gaps_and_no_more() {
        // Just after waking it is full again and again for 20 ms; the path loses every hundredth.
        let full = |n: i64| (2_000..2_400).contains(&n) && n % 40 < 20;
        let singletons = sent(|n| n % 100 == 55 || full(n));
        let gaps: Vec<Event> = (0..10)
            .map(|gap| overflow(EventLocation::Sender, 2_029 + 40 * gap, Some(2_050 + 40 * gap), 20))
            .collect();
        let gone = instrument_drops(&singletons, &gaps, EventLocation::Sender);
        assert_eq!(gone, (2_000..2_400u64).filter(|n| n % 40 < 20).collect());
        let together = [overflow(EventLocation::Sender, 2_029, Some(2_410), 200)];
        assert_eq!(instrument_drops(&singletons, &together, EventLocation::Sender), gone);
    }

    #[test]
    fn what_is_missing_right_after_the_last_datagram_that_was_read_was_dropped_if_so_many_were() {
        // Full from 4 s to the end, and the last datagram that was read came at 4.15 s; the path loses every hundredth.
        let singletons = sent(|n| n % 100 == 50 || n >= 4_000);
        let until_the_end = overflow(EventLocation::Responder, 3_900, Some(4_150), 5_940);
        let gone = instrument_drops(&singletons, &[until_the_end], EventLocation::Responder);
        assert_eq!(gone.len(), 5_940);
        assert!(gone.iter().all(|n| *n >= 4_000), "{:?}", gone.first());
        // What is missing after others have come is the path's, however many were dropped.
        let singletons = sent(|n| n % 100 == 50 || (4_000..4_100).contains(&n));
        let gone = instrument_drops(
            &singletons,
            &[overflow(EventLocation::Responder, 3_900, Some(4_050), 5_940)],
            EventLocation::Responder,
        );
        assert!(gone.iter().all(|n| (3_620..4_280).contains(n)), "{gone:?}");
    }
}
