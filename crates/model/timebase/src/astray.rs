//! Losses that are none of the path's: what left while the other end was looked for under an address that it had no more,
//! by a mapping of a NAT that was gone, and what would have arrived while the interface there was down.

use std::collections::{BTreeMap, BTreeSet};

use romer_record::event::{Event, EventKind, Side};
use romer_record::{Fate, Passage};
use romer_units::{Duration, Timestamp};

use crate::due::{arrivals, due};
use crate::steps::{Down, HEARD_WITHIN_NS, closed, downs, left_by};
use mapping::before_mappings;

mod mapping;

/// A change of an address is known within this time as a rule.
const KNOWN_WITHIN_NS: i64 = 50_000_000;
/// Between two looks at the interfaces of a host lies no more, or it is said of what is noticed how late that may be.
pub const UNWATCHED: Duration = Duration::from_millis(300);

/// Why a packet did not arrive, or not in sight, though the path did not lose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It went to an address, or was to come to one, that the other end had no more.
    Address,
    /// The interface that it came to was down.
    Link,
    /// The interface that it left by was down: its kernel passed it on, and it came no further.
    LeftBy,
    /// The interface that it came to was down at some moment while the program there stood still, and nothing tells when.
    Unwatched,
    /// It went to a mapping of a NAT that was gone.
    Mapping,
    /// It was longer than the interface took that it came to.
    TooLong,
    /// It was longer than a link of the path takes, which reported so.
    Refused,
    /// It found a full socket.
    Unread,
    /// The host there did not send the reply to it.
    Unanswered,
    /// It left after the last packet of which it is known that the far end had it, which went away.
    Gone,
}

/// Says of the packets of `passages` with these sequence `numbers` that did not arrive that they went astray; of those that are
/// `carried` to the end of the way, where the host dropped them, that they were not read.
pub fn mark(passages: &mut [Passage], numbers: &BTreeMap<u64, Cause>, carried: &BTreeSet<u64>) {
    for passage in passages.iter_mut().filter(|passage| passage.fate == Fate::Lost) {
        match numbers.get(&passage.sequence) {
            Some(Cause::Unread) if carried.contains(&passage.sequence) => passage.fate = Fate::Unread,
            Some(_) => passage.fate = Fate::Astray,
            None => {}
        }
    }
}

/// The sequence numbers of those of `passages` that are lost, and left while an address changed, by `events` of the host at
/// `sending`, whose clock the departures are on; what was on its way when the address went is lost with it: `longest` is the
/// longest delay that was seen. Or that would have arrived while an interface of the host at `receiving` was down, or its
/// address away, whose clock the arrivals are on: as long after their departure as the one before them that arrived. What left
/// while an interface at `sending` was down, or let nothing out yet, came no further. Of what the responder sends,
/// those besides that were lost one after the other until packets came by a new mapping of a NAT, or none came any more: the
/// old one was gone.
pub fn astray(
    passages: &[Passage],
    events: &[Event],
    [sending, receiving]: [Side; 2],
    longest: Duration,
) -> BTreeMap<u64, Cause> {
    let length = |event: &Event| event.until_ns.map(|until| until.saturating_sub(event.at_ns));
    let changes = |side| {
        let is_change = move |event: &&Event| event.kind == EventKind::AddressChange && event.side == side;
        events.iter().filter(is_change)
    };
    let moved: Vec<(i64, i64)> = changes(sending)
        .filter_map(|event| {
            let before = longest.as_nanos().saturating_add(KNOWN_WITHIN_NS);
            let until = event.clock_ns.saturating_add(length(event)?);
            Some((event.clock_ns.saturating_sub(before), until))
        })
        .collect();
    let down = unproved(downs(events, receiving), passages);
    let away = changes(receiving).filter_map(|event| {
        let heard = event.clock_ns;
        let until = heard.saturating_add(length(event)?);
        Some(Down { from: heard.saturating_sub(HEARD_WITHIN_NS), heard, until, is_unwatched: false })
    });
    let away = unproved(away.collect(), passages);
    let mapped: Vec<[i64; 2]> = changes(Side::Path)
        .filter(|_| [sending, receiving] == [Side::Responder, Side::Sender])
        .map(|event| [event.clock_ns, event.clock_ns.saturating_add(length(event).unwrap_or(0))])
        .collect();
    let left_by = left_by(events, sending);
    let mut astray = BTreeMap::new();
    if moved.is_empty() && down.is_empty() && left_by.is_empty() && away.is_empty() && mapped.is_empty() {
        return astray;
    }
    let has_moved =
        |left: Timestamp<_>| moved.iter().any(|(from, until)| (*from..=*until).contains(&left.as_nanos()));
    let within = |downs: &[Down], moment: i64| {
        downs.iter().find(|down| (down.from..=down.until).contains(&moment)).copied()
    };
    for (passage, due) in due(passages).filter(|(passage, _)| passage.fate == Fate::Lost) {
        let down = due.and_then(|due| within(&down, due));
        if passage.left().is_some_and(has_moved) {
            astray.insert(passage.sequence, Cause::Address);
        } else if let Some(down) = down {
            let cause =
                if down.is_unwatched && due < Some(down.heard) { Cause::Unwatched } else { Cause::Link };
            astray.insert(passage.sequence, cause);
        } else if due.is_some_and(|due| within(&away, due).is_some()) {
            astray.insert(passage.sequence, Cause::Address);
        }
    }
    for sequence in before_mappings(passages, &mapped) {
        astray.entry(sequence).or_insert(Cause::Mapping);
    }
    if !left_by.is_empty() {
        let closed =
            closed(left_by.clone(), passages.iter().filter_map(|one| Some(one.departure?.as_nanos())));
        let gone = lost_with_moment(passages).filter(|(_, left, is_stamped)| {
            within(if *is_stamped { &left_by } else { &closed }, *left).is_some()
        });
        for (sequence, ..) in gone {
            astray.entry(sequence).or_insert(Cause::LeftBy);
        }
    }
    astray
}

/// The lost of `passages`, each with the moment at which it left or was to, and whether that is stamped: of those that have no
/// stamp, for an interface without a carrier stamps none, it is taken to lie between the ones beside them that have.
fn lost_with_moment(passages: &[Passage]) -> impl Iterator<Item = (u64, i64, bool)> {
    let first = passages.iter().filter(|passage| passage.copy == 0);
    let mut known: Vec<(u64, i64)> =
        first.filter_map(|one| Some((one.sequence, one.departure?.as_nanos()))).collect();
    known.sort_unstable();
    let moment = move |passage: &Passage| {
        if let Some(left) = passage.departure {
            return Some(left.as_nanos());
        }
        let place = known.partition_point(|(sequence, _)| *sequence < passage.sequence);
        let before = place.checked_sub(1).and_then(|place| known.get(place));
        match (before, known.get(place)) {
            (Some((first, from)), Some((last, to))) => {
                let share = i128::from(passage.sequence - first) * i128::from(to.saturating_sub(*from));
                let after = i64::try_from(share / i128::from(last - first)).unwrap_or(0);
                Some(from.saturating_add(after))
            }
            (one, other) => one.or(other).map(|(_, left)| *left),
        }
    };
    let lost = passages.iter().filter(|passage| passage.fate == Fate::Lost);
    lost.filter_map(move |passage| Some((passage.sequence, moment(passage)?, passage.departure.is_some())))
}

/// The times when an interface was down, each up to the first packet that came nevertheless: the kernel may tell late that a
/// link is up again. And from the last on that came before, where that was so short before it was heard of that the program there
/// may have been kept from hearing of it all that time: what was lost in between without one that came was lost with it, as far as
/// anybody can tell.
fn unproved(mut downs: Vec<Down>, passages: &[Passage]) -> Vec<Down> {
    if downs.is_empty() {
        return downs;
    }
    let moments = arrivals(passages);
    for down in &mut downs {
        // What came just before it was heard of came before it went down.
        let place = moments.partition_point(|moment| *moment <= down.heard);
        let first = moments.get(place);
        down.until = first.map_or(down.until, |first| down.until.min(*first));
        let last = place.checked_sub(1).and_then(|last| moments.get(last));
        let earliest = down.heard.saturating_sub(UNWATCHED.as_nanos());
        if let Some(last) = last.filter(|last| !down.is_unwatched && **last >= earliest) {
            down.from = down.from.min(last.saturating_add(1));
        }
    }
    downs
}

/// Dates by the packets of `passages`, which come to the host at `receiving`, that an interface there went down while its
/// program stood still, which that noticed when it went on: it was in the longest time of the standstill in which none
/// came, though some were due all through it. If it was up again by then, that was when the next one came. Where none were
/// due, nothing tells when it was: then the event says of how long a time it was some moment.
pub fn date_standing(events: &mut [Event], receiving: Side, passages: &[Passage]) {
    let pauses = pauses(events, receiving);
    let window = |event: &Event| standstill(event, receiving, &pauses);
    let standing: Vec<(usize, (i64, i64))> = (0..events.len())
        .filter(|place| events[*place].kind == EventKind::LinkDown)
        .filter_map(|place| Some((place, window(&events[place])?)))
        .collect();
    if standing.is_empty() {
        return;
    }
    let moments = arrivals(passages);
    let missing: Vec<i64> =
        due(passages).filter(|(one, _)| one.fate == Fate::Lost).filter_map(|(_, due)| due).collect();
    for (place, (from, until)) in standing {
        let is_up = |event: &Event| {
            let at = window(event).filter(|(at, _)| at.abs_diff(from) <= HEARD_WITHIN_NS.unsigned_abs());
            event.kind == EventKind::LinkUp && at.is_some()
        };
        let up = events.iter().skip(place).position(is_up).map(|up| place + up);
        let gaps = moments.windows(2).map(|pair| (pair[0], pair[1]));
        let last = moments.last().map(|last| (*last, until.max(*last)));
        let gaps = gaps.chain(last).filter(|(before, after)| *before < until && *after > from);
        let longest = gaps.max_by_key(|(before, after)| after.saturating_sub(*before));
        let Some([went, came]) = longest.and_then(|gap| between(gap, &missing)) else {
            // What came shows that it was up, unless it was so again.
            let shown = moments.iter().rfind(|moment| **moment <= until).filter(|_| up.is_none());
            let from = shown.map_or(from, |shown| from.max(*shown));
            for place in up.into_iter().chain([place]) {
                let late = events[place].clock_ns.saturating_sub(from).max(0);
                events[place].noticed_late_ns = Some(late).filter(|late| *late > LONG_NS);
            }
            continue;
        };
        set(&mut events[place], went);
        if let Some(up) = up {
            set(&mut events[up], came);
            let until = events[up].at_ns;
            events[place].until_ns = events[place].until_ns.map(|_| until);
        }
    }
}

/// The standstills of the program at `receiving`, from the last moment at which it ran.
fn pauses(events: &[Event], receiving: Side) -> Vec<(i64, i64)> {
    let own = events.iter().filter(|event| event.side == receiving && event.kind == EventKind::Pause);
    let length = |event: &Event| event.until_ns.map_or(0, |until| until.saturating_sub(event.at_ns));
    own.map(|pause| (pause.clock_ns, pause.clock_ns.saturating_add(length(pause)))).collect()
}

/// The standstill in which `event` was, of the host at `receiving`, if it was noticed after one only: as it says itself, or, of
/// a run that an earlier version has measured, by the `pauses`.
fn standstill(event: &Event, receiving: Side, pauses: &[(i64, i64)]) -> Option<(i64, i64)> {
    let at = event.clock_ns;
    let soon = |(from, until): &&(i64, i64)| (*from..=until.saturating_add(HEARD_WITHIN_NS)).contains(&at);
    let by_pause = || pauses.iter().find(soon).copied();
    let own = event.noticed_late_ns.map(|late| (at.saturating_sub(late), at));
    own.or_else(by_pause).filter(|_| event.side == receiving)
}

/// When an interface went down, and when it was up again, in the time between two packets that came: each from the one moment
/// to the other. `None` where of those that are `missing` too few were due in that time to tell: none in more than two thirds of it.
fn between((before, after): (i64, i64), missing: &[i64]) -> Option<[(i64, i64); 2]> {
    let within: Vec<i64> = missing.iter().copied().filter(|due| (before..after).contains(due)).collect();
    let moments: Vec<i64> = [before].into_iter().chain(within.iter().copied()).chain([after]).collect();
    let longest = moments.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max()?;
    let (first, last) = (within.iter().min()?, within.iter().max()?);
    (longest / 2 <= after.saturating_sub(before) / 3).then_some([(before, *first), (*last, after)])
}

/// What is known to be within so long has its moment; what is known less well says so.
const LONG_NS: i64 = 250_000_000;

/// Dates `event`, that was between these moments: going down is taken to have been at the first, being up again at the last,
/// unless they are far apart.
fn set(event: &mut Event, (earliest, latest): (i64, i64)) {
    let apart = latest.saturating_sub(earliest);
    let is_long = apart > LONG_NS;
    let at = if is_long || event.kind == EventKind::LinkUp { latest } else { earliest };
    let earlier = event.clock_ns.saturating_sub(at);
    let earlier = if event.kind == EventKind::LinkDown { earlier.max(0) } else { earlier };
    event.at_ns = event.at_ns.saturating_sub(earlier);
    event.clock_ns = event.clock_ns.saturating_sub(earlier);
    event.noticed_late_ns = is_long.then_some(apart);
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

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
            leaving: romer_record::Leaving::Unknown,
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
            sequence: None,
            noticed_late_ns: None,
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
    fn what_came_for_an_address_that_was_away_went_astray_until_a_packet_came() {
        // One every 10 ms, 30 ms on the way. The receiver's address is away from 5 to 6 s; one in 20 is lost besides.
        let passages: Vec<Passage> = (0..1_000)
            .map(|n: i64| {
                let at = n * 10 * MS + 30 * MS;
                let lost = (5_000 * MS..6_000 * MS).contains(&at) || n % 20 == 7;
                let fate = if lost { Fate::Lost } else { Fate::Arrived };
                let mut one = passage(n.unsigned_abs(), Some(n * 10 * MS), fate);
                one.arrival = (!lost).then(|| Timestamp::from_nanos(at));
                one
            })
            .collect();
        let ends = [Side::Responder, Side::Sender];
        let gone = |side, length| {
            let events = [Event { clock_ns: 5_000 * MS, ..moved(side, length) }];
            astray(&passages, &events, ends, Duration::from_millis(30))
        };
        let all: BTreeMap<u64, Cause> = (497..597).map(|n| (n, Cause::Address)).collect();
        assert_eq!(gone(Side::Sender, Some(1_000 * MS)), all);
        // It is told of a little late that it is back: what is lost after the first packet is the path's.
        assert_eq!(gone(Side::Sender, Some(1_400 * MS)), all);
        assert!(gone(Side::Sender, None).is_empty(), "it is not known how long");
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
        assert_eq!(
            gone,
            (497..547).map(|n| (n, Cause::Link)).collect(),
            "those of the half second, and none of the 17 after it"
        );
    }

    #[test]
    fn what_is_lost_right_before_a_link_is_heard_to_be_down_is_lost_with_it_and_nothing_further_away() {
        // One every 10 ms, 30 ms on the way. The interface is down from `from` to 5.5 s, and that is heard of at 5 s.
        let astray_of = |from: i64, lost_before: &[i64]| {
            let passages: Vec<Passage> = (0..1_000)
                .map(|n: i64| {
                    let at = n * 10 * MS + 30 * MS;
                    let lost = (from * MS..5_500 * MS).contains(&at) || lost_before.contains(&n);
                    let fate = if lost { Fate::Lost } else { Fate::Arrived };
                    let mut one = passage(n.unsigned_abs(), Some(n * 10 * MS), fate);
                    one.arrival = (!lost).then(|| Timestamp::from_nanos(at));
                    one
                })
                .collect();
            let event = |kind, at: i64| Event { kind, clock_ns: at * MS, ..moved(Side::Responder, None) };
            let events = [event(EventKind::LinkDown, 5_000), event(EventKind::LinkUp, 5_500)];
            astray(&passages, &events, [Side::Sender, Side::Responder], Duration::from_millis(30))
        };
        // The program there heard of it 230 ms late. One that was lost before another came is the path's.
        let all: BTreeMap<u64, Cause> = (474..547).map(|n| (n, Cause::Link)).collect();
        assert_eq!(astray_of(4_770, &[472, 470]), all);
        // What has been lost for longer than it can have been kept from that began without the interface.
        let usual: BTreeMap<u64, Cause> = (492..547).map(|n| (n, Cause::Link)).collect();
        assert_eq!(astray_of(4_600, &[]), usual);
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
        let gone = |event: Event, ends| {
            let gone = astray(&passages, &[event], ends, Duration::from_millis(20));
            assert!(gone.values().all(|cause| *cause == Cause::Mapping));
            gone.into_keys().collect::<BTreeSet<u64>>()
        };
        assert_eq!(gone(told(Side::Path, 5_400), ends), (30..55).collect());
        // Where it is known when that was, the end of that time counts.
        let between = Event { until_ns: Some(2_400 * MS), ..told(Side::Path, 3_000) };
        assert_eq!(gone(between, ends), (30..55).collect());
        assert!(gone(told(Side::Path, 8_000), ends).is_empty(), "nothing was lost before it");
        assert!(gone(told(Side::Path, 5_400), [Side::Sender, Side::Responder]).is_empty());
        assert!(gone(told(Side::Sender, 5_400), ends).is_empty(), "another's event, and it has no length");
        // A second mapping that went soon after has losses of its own.
        let twice = [told(Side::Path, 5_400), told(Side::Path, 5_900)];
        let twice = astray(&passages, &twice, ends, Duration::from_millis(20));
        assert!(twice.into_keys().eq((30..55).chain([57])));
        // Without a mapping for longer than the sender lets pass, it was something else that took the first of them.
        let mut long = passages.clone();
        long[11..30].iter_mut().for_each(|passage| (passage.fate, passage.arrival) = (Fate::Lost, None));
        let gone = astray(&long, &[told(Side::Path, 5_400)], ends, Duration::from_millis(20));
        assert!(gone.keys().copied().eq(15..55));
        // Before the rest of them two that were answered, each so that the next send call failed, and one that came through; and one long before.
        let mut some = passages.clone();
        [26, 28].into_iter().for_each(|n| (some[n].fate, some[n].arrival) = (Fate::Lost, None));
        some.retain(|one| ![11, 27, 29].contains(&one.sequence));
        let mut answered = told(Side::Path, 3_000);
        answered.until_ns = Some(2_400 * MS);
        let some = astray(&some, &[answered], ends, Duration::from_millis(20));
        assert!(some.keys().copied().eq([26].into_iter().chain(28..55).filter(|n| *n != 29)), "{some:?}");
        // Where none came by the new one any more, it is to the end.
        let ended = astray(&long[..50], &[told(Side::Path, 5_400)], ends, Duration::from_millis(20));
        assert!(ended.keys().copied().eq(10..50), "{ended:?}");
        mark(&mut long, &gone, &BTreeSet::new());
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
        // By the sender's clock, which is an hour behind: what left meanwhile was lost there.
        let left = |from: i64, until: i64| {
            link(Side::Sender, from, until).map(|one| Event { clock_ns: one.clock_ns - hour, ..one })
        };
        let gone = astray(
            &passages,
            &left(5_010, 6_000),
            [Side::Sender, Side::Responder],
            Duration::from_millis(30),
        );
        assert_eq!(gone.len(), 100);
        assert!(gone.values().all(|cause| *cause == Cause::LeftBy), "{gone:?}");
        assert_eq!(count(&left(7_000, 8_000)), 0, "nothing was lost then");
        // Noticed late by a program that stood still, which is not known to have sent meanwhile.
        let late = left(6_030, 6_035).map(|one| Event { noticed_late_ns: Some(3_000 * MS), ..one });
        assert_eq!(count(&late), 0);
        // What has no stamp of its departure is placed between the ones that have.
        let mut unstamped = passages.clone();
        unstamped.iter_mut().filter(|one| one.fate == Fate::Lost).for_each(|one| one.departure = None);
        let ends = [Side::Sender, Side::Responder];
        assert_eq!(astray(&unstamped, &left(5_010, 6_000), ends, Duration::from_millis(30)), gone);
        // An interface that is up again lets out what it stamps, and for up to a second nothing.
        let up_before = left(5_010, 5_300);
        assert_eq!(astray(&unstamped, &up_before, ends, Duration::from_millis(30)), gone);
        assert_eq!(astray(&passages, &up_before, ends, Duration::from_millis(30)).len(), 31);
    }

    #[test]
    fn a_link_that_went_down_while_the_program_stood_still_is_dated_by_what_came() {
        // One every 10 ms, 30 ms on the way. The program stands still from 3 to 6 s; the interface is down from 4 to 5 s, or
        // from 4 to 7 s; which the program hears at 6 s. The path loses every hundredth.
        for (up, heard) in [(5_000, 6_001), (7_000, 7_000)] {
            let passages: Vec<Passage> = (0..1_000)
                .map(|n: i64| {
                    let at = n * 10 * MS + 30 * MS;
                    let lost = (4_000 * MS..up * MS).contains(&at) || n % 100 == 50;
                    let fate = if lost { Fate::Lost } else { Fate::Arrived };
                    let mut one = passage(n.unsigned_abs(), Some(n * 10 * MS), fate);
                    one.arrival = (!lost).then(|| Timestamp::from_nanos(at));
                    one
                })
                .collect();
            let event = |kind, at: i64, until: Option<i64>| Event {
                kind,
                at_ns: at * MS,
                clock_ns: at * MS,
                until_ns: until.map(|until| until * MS),
                ..moved(Side::Sender, None)
            };
            let mut events = [
                event(EventKind::Pause, 3_000, Some(6_000)),
                event(EventKind::LinkDown, 6_001, Some(heard)),
                event(EventKind::LinkUp, heard, None),
            ];
            let ends = [Side::Responder, Side::Sender];
            let longest = Duration::from_millis(30);
            let expected = (397..(up / 10 - 3).unsigned_abs()).map(|n| (n, Cause::Link)).collect();
            assert_ne!(astray(&passages, &events, ends, longest), expected);
            date_standing(&mut events, Side::Responder, &passages);
            assert_eq!(events[1].clock_ns, 6_001 * MS, "another host's");
            date_standing(&mut events, Side::Sender, &passages);
            assert_eq!(astray(&passages, &events, ends, longest), expected);
            assert_eq!((events[1].at_ns, events[1].clock_ns), (3_990 * MS, 3_990 * MS));
            let came = if up == 5_000 { 5_000 } else { 7_000 };
            assert_eq!((events[1].until_ns, events[2].at_ns), (Some(came * MS), came * MS));
        }
    }

    #[test]
    fn a_link_that_went_down_while_nothing_was_due_says_in_which_time_that_was() {
        // One every 10 ms, 30 ms on the way; none leaves from 3 to 6 s, in which the program stands still. What left last is
        // lost, and one long before.
        let passages: Vec<Passage> = (0..1_000)
            .filter(|n: &i64| !(300..600).contains(n))
            .map(|n: i64| {
                let lost = (298..300).contains(&n) || n == 100;
                let fate = if lost { Fate::Lost } else { Fate::Arrived };
                let mut one = passage(n.unsigned_abs(), Some(n * 10 * MS), fate);
                one.arrival = (!lost).then(|| Timestamp::from_nanos(n * 10 * MS + 30 * MS));
                one
            })
            .collect();
        let event = |kind, at: i64, late: Option<i64>| Event {
            kind,
            at_ns: at * MS,
            clock_ns: at * MS,
            until_ns: None,
            noticed_late_ns: late.map(|late| late * MS),
            ..moved(Side::Sender, None)
        };
        let longest = Duration::from_millis(30);
        let mut events = [
            event(EventKind::Pause, 3_000, None),
            event(EventKind::LinkDown, 6_001, Some(3_001)),
            event(EventKind::LinkUp, 6_001, Some(3_001)),
        ];
        for received in [&passages[..], &[]] {
            let before = events.clone();
            date_standing(&mut events, Side::Sender, received);
            assert_eq!(events, before, "nothing tells when it was");
            assert_eq!(events[1].window(), [3_000 * MS, 6_001 * MS]);
        }
        let gone = astray(&passages, &events, [Side::Responder, Side::Sender], longest);
        assert_eq!(gone, [(298, Cause::Unwatched), (299, Cause::Unwatched)].into());
        // One that stays down went down after the last packet that came.
        let mut down = [events[0].clone(), events[1].clone(), event(EventKind::LinkUp, 8_000, None)];
        date_standing(&mut down, Side::Sender, &passages[..300]);
        assert_eq!(down[1].window(), [3_000 * MS, 6_001 * MS]);
        let mut down = [events[0].clone(), event(EventKind::LinkDown, 6_001, Some(4_001))];
        date_standing(&mut down, Side::Sender, &passages[..300]);
        assert_eq!(down[1].window(), [3_000 * MS, 6_001 * MS], "the last came at 3 s");
    }

    #[test]
    fn a_link_is_dated_as_well_as_the_packets_that_were_due_tell() {
        // One a second, 30 ms on the way; the program stands still from 2.5 to 7.5 s, the interface is down from 3.5 to 5.5 s.
        let passages: Vec<Passage> = (0..10)
            .map(|n: i64| {
                let lost = (4..6).contains(&n);
                let fate = if lost { Fate::Lost } else { Fate::Arrived };
                let mut one = passage(n.unsigned_abs(), Some(n * 1_000 * MS), fate);
                one.arrival = (!lost).then(|| Timestamp::from_nanos(n * 1_000 * MS + 30 * MS));
                one
            })
            .collect();
        let event = |kind| Event {
            kind,
            at_ns: 7_500 * MS,
            clock_ns: 7_500 * MS,
            until_ns: None,
            noticed_late_ns: Some(5_000 * MS),
            ..moved(Side::Responder, None)
        };
        let mut events = [event(EventKind::LinkDown), event(EventKind::LinkUp)];
        date_standing(&mut events, Side::Responder, &passages);
        assert_eq!(events[0].window(), [3_030 * MS, 4_030 * MS]);
        assert_eq!(events[1].window(), [5_030 * MS, 6_030 * MS]);
        let gone = astray(&passages, &events, [Side::Sender, Side::Responder], Duration::from_millis(30));
        assert_eq!(gone, [(4, Cause::Link), (5, Cause::Link)].into());
    }
}
