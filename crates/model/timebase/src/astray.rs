//! Losses that are none of the path's: what left while the other end was looked for under an address that it had no more,
//! by a mapping of a NAT that was gone, and what would have arrived while the interface there was down.

use std::collections::BTreeSet;

use romer_record::event::{Event, EventKind, Side};
use romer_record::{Fate, Passage};
use romer_units::{Duration, Timestamp};

use crate::steps::{HEARD_WITHIN_NS, downs};

/// A change of an address is known within this time as a rule.
const KNOWN_WITHIN_NS: i64 = 50_000_000;
/// A new mapping of a NAT is told of within this time of the first packet that comes by it.
const TOLD_WITHIN_NS: u64 = 1_000_000_000;
/// The sender asks anew for its packets every three seconds; without a mapping for longer, it was not that.
const CLOSED_AT_MOST_NS: i64 = 4_000_000_000;

/// Says of the packets of `passages` with these sequence `numbers` that did not arrive that they went astray.
pub fn mark(passages: &mut [Passage], numbers: &BTreeSet<u64>) {
    let lost = passages.iter_mut().filter(|passage| passage.fate == Fate::Lost);
    lost.filter(|passage| numbers.contains(&passage.sequence))
        .for_each(|passage| passage.fate = Fate::Astray);
}

/// The sequence numbers of those of `passages` that are lost, and left while an address changed, by `events` of the host at
/// `sending`, whose clock the departures are on; what was on its way when the address went is lost with it: `longest` is the
/// longest delay that was seen. Or that would have arrived while an interface of the host at `receiving` was down, whose
/// clock the arrivals are on: as long after their departure as the one before them that arrived. Of what the responder sends,
/// those besides that were lost one after the other until packets came by a new mapping of a NAT: the old one was gone.
pub fn astray(
    passages: &[Passage],
    events: &[Event],
    [sending, receiving]: [Side; 2],
    longest: Duration,
) -> BTreeSet<u64> {
    let moved: Vec<(i64, i64)> = events
        .iter()
        .filter(|event| event.kind == EventKind::AddressChange && event.side == sending)
        .filter_map(|event| {
            let length = event.until_ns?.saturating_sub(event.at_ns);
            let before = longest.as_nanos().saturating_add(KNOWN_WITHIN_NS);
            Some((event.clock_ns.saturating_sub(before), event.clock_ns.saturating_add(length)))
        })
        .collect();
    let down = unproved(downs(events, receiving), passages);
    let mapped: Vec<i64> = events
        .iter()
        .filter(|event| event.kind == EventKind::AddressChange && event.side == Side::Path)
        .filter(|_| [sending, receiving] == [Side::Responder, Side::Sender])
        .map(|event| event.clock_ns)
        .collect();
    if moved.is_empty() && down.is_empty() && mapped.is_empty() {
        return BTreeSet::new();
    }
    let took = |passage: &Passage| {
        let (left, arrived) = passage.departure.zip(passage.arrival)?;
        Some(arrived.as_nanos().saturating_sub(left.as_nanos()))
    };
    let within = |windows: &[(i64, i64)], moment: i64| {
        windows.iter().any(|(from, until)| (*from..=*until).contains(&moment))
    };
    let mut taking = passages.iter().find_map(took);
    let mut astray = BTreeSet::new();
    for passage in passages {
        taking = took(passage).or(taking);
        let Some(left) = passage.departure.map(Timestamp::as_nanos).filter(|_| passage.fate == Fate::Lost)
        else {
            continue;
        };
        let due = taking.map(|taking| left.saturating_add(taking));
        if within(&moved, left) || due.is_some_and(|due| within(&down, due)) {
            astray.insert(passage.sequence);
        }
    }
    for moment in mapped {
        astray.extend(before_mapping(passages, moment));
    }
    astray
}

/// The times when an interface was down, each up to the first packet that came nevertheless: the kernel may tell late that a
/// link is up again.
fn unproved(mut downs: Vec<(i64, i64)>, passages: &[Passage]) -> Vec<(i64, i64)> {
    if downs.is_empty() {
        return downs;
    }
    let came = passages.iter().filter(|passage| passage.fate == Fate::Arrived);
    let mut moments: Vec<i64> = came.filter_map(|passage| passage.arrival).map(Timestamp::as_nanos).collect();
    moments.sort_unstable();
    for (from, until) in &mut downs {
        // What came just before it was heard of came before it went down.
        let heard = from.saturating_add(HEARD_WITHIN_NS);
        let first = moments.get(moments.partition_point(|moment| *moment <= heard));
        *until = first.map_or(*until, |first| (*until).min(*first));
    }
    downs
}

/// What was lost without a break before the first packet that came by a mapping that was told of at `moment` by the receiver's
/// clock.
fn before_mapping(passages: &[Passage], moment: i64) -> Vec<u64> {
    let firsts: Vec<&Passage> = passages.iter().filter(|passage| passage.copy == 0).collect();
    let ends = firsts.windows(2).enumerate().filter_map(|(place, pair)| {
        let came = pair[1].arrival.filter(|_| pair[0].fate == Fate::Lost && pair[1].fate == Fate::Arrived)?;
        Some((came.as_nanos().abs_diff(moment), place + 1)).filter(|(apart, _)| *apart <= TOLD_WITHIN_NS)
    });
    let Some((_, end)) = ends.min() else { return Vec::new() };
    let last = firsts[end].departure.map(Timestamp::as_nanos);
    let closed = |passage: &&&Passage| {
        let before = last.zip(passage.departure).map(|(last, left)| last.saturating_sub(left.as_nanos()));
        passage.fate == Fate::Lost && before.is_none_or(|before| before <= CLOSED_AT_MOST_NS)
    };
    firsts[..end].iter().rev().take_while(closed).map(|passage| passage.sequence).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A passage of 44 octets that did not arrive.
    pub(crate) fn passage(sequence: u64, departure: Option<i64>, fate: Fate) -> Passage {
        Passage {
            sequence,
            copy: 0,
            size: 44,
            fate,
            departure: departure.map(Timestamp::from_nanos),
            arrival: None,
            delay: None,
            ttl: None,
            tos: None,
            departure_error: None,
        }
    }

    fn moved(side: Side, length: Option<i64>) -> Event {
        Event {
            at_ns: 0,
            until_ns: length,
            kind: EventKind::AddressChange,
            side,
            detail: String::new(),
            clock_ns: 5_000 * MS,
            step: None,
            datagrams: None,
            mtu: None,
        }
    }

    #[test]
    fn what_left_while_the_address_changed_went_astray_and_nothing_else() {
        // One every 10 ms from 0 to 10 s, of which those that left from 4.9 s to 7 s are lost, and one long before.
        let passages: Vec<Passage> = (0..1_000)
            .map(|n: i64| {
                let lost = (490..=700).contains(&n) || n == 100;
                let fate = if lost { Fate::Lost } else { Fate::Arrived };
                passage(n.unsigned_abs(), Some(n * 10 * MS), fate)
            })
            .collect();
        let longest = Duration::from_millis(60);
        let ends = [Side::Sender, Side::Responder];
        let window = |side, length| astray(&passages, &[moved(side, length)], ends, longest).len();
        assert_eq!(window(Side::Sender, Some(2_000 * MS)), 211, "with those that were on their way");
        assert_eq!(window(Side::Sender, Some(1_000 * MS)), 111);
        assert_eq!(window(Side::Responder, Some(2_000 * MS)), 0, "another clock's window");
        assert_eq!(window(Side::Sender, None), 0, "it had no length");
        let unknown = [passage(0, Some(6_000 * MS), Fate::Unknown), passage(1, None, Fate::Lost)];
        assert!(astray(&unknown, &[moved(Side::Sender, Some(9_000 * MS))], ends, longest).is_empty());
    }

    #[test]
    fn what_is_lost_after_a_packet_has_come_is_lost_though_the_link_is_told_to_be_down() {
        // One every 10 ms, 30 ms on the way. The interface is down from 5 to 5.5 s, and is told to be up at 6 s; of those that
        // come in between every third is lost.
        let passages: Vec<Passage> = (0..1_000)
            .map(|n: i64| {
                let at = n * 10 * MS + 30 * MS;
                let is_down = (5_000 * MS..5_500 * MS).contains(&at);
                let lost = is_down || ((5_500 * MS..6_000 * MS).contains(&at) && n % 3 == 0);
                let fate = if lost { Fate::Lost } else { Fate::Arrived };
                let mut one = passage(n.unsigned_abs(), Some(n * 10 * MS), fate);
                one.arrival = (!lost).then(|| Timestamp::from_nanos(at));
                one
            })
            .collect();
        let event = |kind, at: i64| Event { kind, clock_ns: at * MS, ..moved(Side::Sender, None) };
        let events = [event(EventKind::LinkDown, 5_000), event(EventKind::LinkUp, 6_000)];
        let gone = astray(&passages, &events, [Side::Responder, Side::Sender], Duration::from_millis(30));
        assert_eq!(gone, (497..547).collect(), "those of the half second, and none of the 17 after it");
    }

    #[test]
    fn what_was_lost_until_a_new_mapping_was_there_went_astray_and_nothing_else() {
        // One every 100 ms from the responder, 20 ms on the way; those of 3.0 to 5.4 s are lost, one long before, and one after.
        let passages: Vec<Passage> = (0..100)
            .map(|n: i64| {
                let lost = (30..55).contains(&n) || n == 10 || n == 57;
                let fate = if lost { Fate::Lost } else { Fate::Arrived };
                let mut one = passage(n.unsigned_abs(), Some(n * 100 * MS), fate);
                one.arrival = (!lost).then(|| Timestamp::from_nanos(n * 100 * MS + 20 * MS));
                one
            })
            .collect();
        let ends = [Side::Responder, Side::Sender];
        let told = |side, clock_ns: i64| Event { clock_ns: clock_ns * MS, ..moved(side, None) };
        let gone = |event: Event, ends| astray(&passages, &[event], ends, Duration::from_millis(20));
        assert_eq!(gone(told(Side::Path, 5_400), ends), (30..55).collect());
        assert!(gone(told(Side::Path, 8_000), ends).is_empty(), "nothing was lost before it");
        assert!(gone(told(Side::Path, 5_400), [Side::Sender, Side::Responder]).is_empty());
        assert!(gone(told(Side::Sender, 5_400), ends).is_empty(), "another's event, and it has no length");
        // Without a mapping for longer than the sender lets pass, it was something else that took the first of them.
        let mut long = passages.clone();
        long[11..30].iter_mut().for_each(|passage| (passage.fate, passage.arrival) = (Fate::Lost, None));
        let gone = astray(&long, &[told(Side::Path, 5_400)], ends, Duration::from_millis(20));
        assert_eq!(gone, (15..55).collect());
        mark(&mut long, &gone);
        assert_eq!(long.iter().filter(|passage| passage.fate == Fate::Astray).count(), 40);
        assert_eq!((long[10].fate, long[55].fate, long[57].fate), (Fate::Lost, Fate::Arrived, Fate::Lost));
    }

    #[test]
    fn what_would_have_arrived_while_the_interface_there_was_down_went_astray_and_nothing_else() {
        // One every 10 ms from 0 to 10 s, of which those that left from 5 s to 6 s are lost, and one long before; the clock
        // of the far host is an hour ahead, the way takes 30 ms.
        let hour = 3_600_000 * MS;
        let passages: Vec<Passage> = (0..1_000)
            .map(|n: i64| {
                let lost = (500..600).contains(&n) || n == 100;
                let mut one = passage(
                    n.unsigned_abs(),
                    Some(n * 10 * MS),
                    if lost { Fate::Lost } else { Fate::Arrived },
                );
                one.arrival = (!lost).then(|| Timestamp::from_nanos(n * 10 * MS + 30 * MS + hour));
                one
            })
            .collect();
        let event = |kind, side, clock_ns| Event { kind, clock_ns, ..moved(side, None) };
        let link = |side, from: i64, until: i64| {
            [
                event(EventKind::LinkDown, side, hour + from * MS),
                event(EventKind::LinkUp, side, hour + until * MS),
            ]
        };
        let count = |events: &[Event]| {
            astray(&passages, events, [Side::Sender, Side::Responder], Duration::from_millis(30)).len()
        };
        assert_eq!(count(&link(Side::Responder, 5_040, 6_030)), 100, "all but the one long before");
        assert_eq!(count(&link(Side::Responder, 5_540, 6_030)), 54, "heard of within 50 ms");
        assert_eq!(count(&link(Side::Responder, 7_000, 8_000)), 0, "nothing was lost then");
        assert_eq!(count(&link(Side::Sender, 5_040, 6_030)), 0, "the other host's");
    }
}
