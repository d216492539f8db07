//! The causes of losses: which event was under way when a lost packet left its host, or was due at the other.
//!
//! A cause is an annotation (RFC 7680 section 2.4 counts the loss whatever the cause). Each host's events are compared with the
//! packet's moment at that host, by that host's clock.

use std::collections::BTreeMap;

use romer_record::document::LossCause;
use romer_record::event::{Event, EventKind, EventLocation};
use romer_record::{Fate, OneWaySingleton};
use romer_units::Timestamp;

use crate::due::due;
use crate::link::{Down, HEARD_WITHIN_NS, downs, left_by};
use crate::relate::StreamSingletons;

/// A refusal is reported within this time of the packet: it takes a round trip, and a far host reports twice a second.
const REPORTED_WITHIN_NS: i64 = 2_000_000_000;
/// The sender asks for its packets by a new mapping of a NAT every three seconds.
const REBOUND_WITHIN_NS: i64 = 4_000_000_000;

/// The causes of the losses of a stream, by sequence number. Losses that are not listed have no known cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    /// From sender to responder.
    pub forward: BTreeMap<u64, LossCause>,
    /// From responder to sender.
    pub reverse: BTreeMap<u64, LossCause>,
    /// There and back: those of either direction, and of the replies that were not sent.
    pub round_trip: BTreeMap<u64, LossCause>,
}

impl Causes {
    /// The causes by the `events` of the run. `headers` are the octets of IP and UDP.
    pub fn from_events(related: &StreamSingletons, events: &[Event], headers: u32) -> Self {
        if events.is_empty() && related.unanswered.is_empty() {
            return Self::default();
        }
        let find = |singletons, ends| by_event(singletons, events, ends, headers);
        let forward = find(&related.forward, [EventLocation::Sender, EventLocation::Responder]);
        let reverse = find(&related.reverse, [EventLocation::Responder, EventLocation::Sender]);
        let mut round_trip = find(&related.round_trip, [EventLocation::Sender; 2]);
        let one_way = forward.iter().chain(&reverse).map(|(sequence, cause)| (*sequence, *cause));
        let not_replied = not_replied(related, events, headers);
        for (sequence, cause) in one_way.chain(not_replied) {
            let own = round_trip.entry(sequence).or_insert(cause);
            *own = cause.min(*own);
        }
        Self { forward, reverse, round_trip }
    }
}

/// Why the far host did not send replies: they were too long for the path, or its queue did not accept them.
fn not_replied(related: &StreamSingletons, events: &[Event], headers: u32) -> Vec<(u64, LossCause)> {
    let refused = events
        .iter()
        .filter(|one| (one.kind, one.location) == (EventKind::NotSent, EventLocation::Responder));
    let most =
        refused.filter_map(|event| event.mtu).max().map_or(u32::MAX, |mtu| mtu.saturating_sub(headers));
    let is_long = |sequence: u64| {
        let place = related.round_trip.partition_point(|probe| probe.sequence < sequence);
        related.round_trip.get(place).is_some_and(|probe| probe.size > most)
    };
    let cause = |sequence: &u64| {
        (*sequence, if is_long(*sequence) { LossCause::PathMtu } else { LossCause::SenderQueue })
    };
    related.unanswered.iter().map(cause).collect()
}

/// What an end of a way is for its packets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PathEnd {
    Sending,
    Receiving,
}

/// A time in which packets of more than `most` octets of payload may be lost for `cause`.
struct Span {
    cause: LossCause,
    from: i64,
    until: i64,
    most: Option<u32>,
}

/// The causes of those of `singletons` that are lost, or may be, and go from the host at the first of `ends` to the second.
fn by_event(
    singletons: &[OneWaySingleton],
    events: &[Event],
    ends: [EventLocation; 2],
    headers: u32,
) -> BTreeMap<u64, LossCause> {
    let [leaving, coming] = [(ends[0], PathEnd::Sending), (ends[1], PathEnd::Receiving)]
        .map(|(location, end)| spans(singletons, events, location, end, headers));
    let mut causes = BTreeMap::new();
    if leaving.is_empty() && coming.is_empty() {
        return causes;
    }
    for (singleton, due) in due(singletons).filter(|(one, _)| one.fate.is_lost() || one.fate == Fate::Unknown)
    {
        let left = singleton.left().map(Timestamp::as_nanos);
        let fits = |span: &&Span, moment: Option<i64>| {
            moment.is_some_and(|moment| (span.from..=span.until).contains(&moment))
                && span.most.is_none_or(|most| singleton.size > most)
        };
        let there = leaving.iter().filter(|span| fits(span, left));
        let here = coming.iter().filter(|span| fits(span, due));
        if let Some(cause) = there.chain(here).map(|span| span.cause).min() {
            causes.insert(singleton.sequence, cause);
        }
    }
    causes
}

/// When the packets that arrived left, or arrived, by the clock of that end.
struct Arrived<'a> {
    singletons: &'a [OneWaySingleton],
    end: PathEnd,
    /// In order, once they are needed.
    moments: Option<Vec<i64>>,
}

impl Arrived<'_> {
    /// The first after `moment`; the end of time where there is none.
    fn next_after(&mut self, moment: i64) -> i64 {
        let (singletons, end) = (self.singletons, self.end);
        let moments = self.moments.get_or_insert_with(|| {
            let arrived = singletons.iter().filter(|one| one.fate == Fate::Arrived);
            let mut moments: Vec<i64> = match end {
                PathEnd::Sending => arrived.filter_map(|one| Some(one.departure?.as_nanos())).collect(),
                PathEnd::Receiving => arrived.filter_map(|one| Some(one.arrival?.as_nanos())).collect(),
            };
            moments.sort_unstable();
            moments
        });
        moments.get(moments.partition_point(|one| *one <= moment)).copied().unwrap_or(i64::MAX)
    }
}

/// The times of the events at `location`, by its host's clock; those of the path are on the sender's.
fn spans(
    singletons: &[OneWaySingleton],
    events: &[Event],
    location: EventLocation,
    end: PathEnd,
    headers: u32,
) -> Vec<Span> {
    let downs = match end {
        PathEnd::Sending => left_by(events, location),
        PathEnd::Receiving => downs(events, location),
    };
    let down =
        |down: Down| Span { cause: LossCause::InterfaceDown, from: down.from, until: down.until, most: None };
    let mut all: Vec<Span> = downs.into_iter().map(down).collect();
    let is_here = |event: &Event| {
        event.location == location
            || (event.location == EventLocation::Path && location == EventLocation::Sender)
    };
    let mut own = events.iter().filter(|event| is_here(event));
    let mut arrived = Arrived { singletons, end, moments: None };
    while let Some(event) = own.next() {
        let length = event.until_ns.map_or(0, |until| until.saturating_sub(event.at_ns));
        let until = event.clock_ns.saturating_add(length);
        let most = event.mtu.map(|mtu| mtu.saturating_sub(headers));
        let (cause, before, until) = match (event.kind, end, most) {
            (EventKind::AddressChange, PathEnd::Receiving, _) if event.location == EventLocation::Path => {
                let came = arrived.next_after(until).saturating_add(HEARD_WITHIN_NS);
                (LossCause::NatRebinding, HEARD_WITHIN_NS, came.min(until.saturating_add(REBOUND_WITHIN_NS)))
            }
            (EventKind::AddressChange, ..) if event.location != EventLocation::Path => {
                (LossCause::AddressChange, HEARD_WITHIN_NS, until)
            }
            (EventKind::MtuChange, PathEnd::Receiving, Some(_)) => {
                let mut later = own.clone().filter(|one| one.kind == EventKind::MtuChange);
                (
                    LossCause::InterfaceMtu,
                    HEARD_WITHIN_NS,
                    later.next().map_or(i64::MAX, |next| next.clock_ns),
                )
            }
            (EventKind::PathError | EventKind::NotSent, PathEnd::Sending, Some(_)) => {
                (LossCause::PathMtu, REPORTED_WITHIN_NS, until)
            }
            (EventKind::PathError, PathEnd::Sending, None) => {
                (LossCause::IcmpUnreachable, REPORTED_WITHIN_NS, until)
            }
            (EventKind::NotSent, PathEnd::Sending, None) => {
                (LossCause::SenderQueue, REPORTED_WITHIN_NS, until)
            }
            (EventKind::ResponderLost, PathEnd::Sending, _) => {
                (LossCause::ResponderRestart, HEARD_WITHIN_NS, arrived.next_after(event.clock_ns))
            }
            (EventKind::ResponderLost, PathEnd::Receiving, _) => {
                (LossCause::ResponderRestart, HEARD_WITHIN_NS, until)
            }
            _ => continue,
        };
        all.push(Span { cause, from: event.clock_ns.saturating_sub(before), until, most });
    }
    all
}

#[cfg(test)]
mod tests {
    use romer_record::manifest::ClockRelation;
    use romer_record::{RoundTrip, Stamps};
    use romer_units::{Clock, Duration, TimestampPoint};

    use super::*;
    use crate::due::tests::singleton;
    use crate::relate::{ResponderLog, relate};
    use crate::selection::Selection;

    const MS: i64 = 1_000_000;
    const FORWARD: [EventLocation; 2] = [EventLocation::Sender, EventLocation::Responder];
    const REVERSE: [EventLocation; 2] = [EventLocation::Responder, EventLocation::Sender];
    /// The clock of the receiving host is ahead by this.
    const AHEAD: i64 = 3_600_000 * MS;

    /// One packet every 10 ms for 10 s, 30 ms on the way to a clock that is an hour ahead. Every fifth has 100 octets, the
    /// others 1,400. All that were sent from 4 s to 6 s are lost, and one long before.
    fn sent() -> Vec<OneWaySingleton> {
        let one = |n: i64| {
            let is_lost = (400..600).contains(&n) || n == 10;
            OneWaySingleton {
                size: if n % 5 == 0 { 100 } else { 1_400 },
                arrival: (!is_lost).then(|| Timestamp::from_nanos(AHEAD + (n * 10 + 30) * MS)),
                ..singleton(
                    n.unsigned_abs(),
                    Some(n * 10 * MS),
                    if is_lost { Fate::Lost } else { Fate::Arrived },
                )
            }
        };
        (0..1_000).map(one).collect()
    }

    fn event(kind: EventKind, location: EventLocation, clock_ns: i64, length: Option<i64>) -> Event {
        Event { until_ns: length.map(|length| length * MS), ..Event::new(kind, location, 0, clock_ns) }
    }

    /// The cause, how many have it, and the first and the last of them.
    fn found(events: &[Event], ends: [EventLocation; 2]) -> Option<(LossCause, usize, u64, u64)> {
        let causes = by_event(&sent(), events, ends, 28);
        let (first, last) = (causes.first_key_value()?, causes.last_key_value()?);
        assert!(causes.values().all(|cause| cause == first.1), "{causes:?}");
        Some((*first.1, causes.len(), *first.0, *last.0))
    }

    /// Departures count by the sending host's clock, arrivals that were due by the receiving one's.
    #[test]
    fn event_compared_on_own_clock() {
        use EventKind::{AddressChange, LinkDown};
        let here = event(LinkDown, EventLocation::Sender, 4_500 * MS, Some(500));
        assert_eq!(
            found(std::slice::from_ref(&here), FORWARD),
            Some((LossCause::InterfaceDown, 56, 445, 500))
        );
        let there = event(LinkDown, EventLocation::Responder, AHEAD + 4_530 * MS, Some(500));
        assert_eq!(found(&[there], FORWARD), Some((LossCause::InterfaceDown, 56, 445, 500)));
        let moved = event(AddressChange, EventLocation::Responder, AHEAD + 4_530 * MS, Some(500));
        assert_eq!(found(&[moved], FORWARD), Some((LossCause::AddressChange, 56, 445, 500)));
        assert_eq!(found(std::slice::from_ref(&here), [EventLocation::Responder; 2]), None, "another host's");
        // A program that stood still for four seconds sent nothing then.
        let late = Event { detection_latency_ns: Some(4_000 * MS), ..here };
        assert_eq!(found(&[late], FORWARD), Some((LossCause::InterfaceDown, 51, 450, 500)));
    }

    /// A NAT's new mapping is a cause where the packets come to the sender.
    #[test]
    fn rebinding_is_cause_of_reverse_losses() {
        let mapped = |at| event(EventKind::AddressChange, EventLocation::Path, at, Some(500));
        assert_eq!(
            found(&[mapped(AHEAD + 4_080 * MS)], REVERSE),
            Some((LossCause::NatRebinding, 200, 400, 599))
        );
        assert_eq!(found(&[mapped(4_080 * MS)], FORWARD), None);
    }

    /// Only packets that are longer than the reported size are lost for it.
    #[test]
    fn length_is_cause_of_long_packets() {
        let of = |kind, location, at, mtu| Event { mtu, ..event(kind, location, at, Some(1_000)) };
        let reported = of(EventKind::PathError, EventLocation::Path, 4_500 * MS, Some(1_300));
        assert_eq!(found(&[reported], FORWARD), Some((LossCause::PathMtu, 120, 401, 549)));
        let unreachable = of(EventKind::PathError, EventLocation::Path, 4_500 * MS, None);
        assert_eq!(found(&[unreachable], FORWARD), Some((LossCause::IcmpUnreachable, 151, 400, 550)));
        let lowered = |at, mtu| of(EventKind::MtuChange, EventLocation::Responder, AHEAD + at * MS, mtu);
        let both = [lowered(4_530, Some(1_300)), lowered(5_030, Some(1_500))];
        assert_eq!(found(&both, FORWARD), Some((LossCause::InterfaceMtu, 44, 446, 499)));
        assert_eq!(found(&both[1..], FORWARD), None, "they were not longer than that");
    }

    /// A round trip has the cause of its loss in either direction, and of a reply that was not sent.
    #[test]
    fn round_trip_takes_cause_of_direction() {
        fn stamps<C: Clock>(at: Option<i64>) -> Stamps<C> {
            Stamps { user: at.map(|at| Timestamp::from_nanos(at * MS)), ..Stamps::default() }
        }
        // 2 is lost on the way to a host whose interface is down, 3 gets no reply, which is refused, and 5 is lost.
        let row = |n: i64| {
            let (seen, returned) = (![2, 5].contains(&n), ![2, 3, 5].contains(&n));
            let at = |is_there: bool, later: i64| is_there.then_some(n * 10_000 + later);
            RoundTrip {
                sequence: n.unsigned_abs(),
                size: 100,
                t1: stamps(at(true, 0)),
                t2: stamps(at(seen, 10)),
                t3: stamps(at(returned, 10)),
                t4: stamps(at(returned, 20)),
                seen_by_responder: seen,
                returned,
                ..RoundTrip::default()
            }
        };
        let rows: Vec<RoundTrip> = (0..8).map(row).collect();
        let user = Some(TimestampPoint::User);
        let selection = Selection { t1: user, t2: user, t3: user, t4: user };
        let waiting = Duration::from_millis(2_000);
        let related = relate(&rows, &selection, ClockRelation::Shared, waiting, ResponderLog::Complete);
        let down = event(EventKind::LinkDown, EventLocation::Responder, 20_000 * MS, Some(500));
        let causes = Causes::from_events(&related, std::slice::from_ref(&down), 28);
        assert_eq!(causes.forward, [(2, LossCause::InterfaceDown)].into());
        let expected = [(2, LossCause::InterfaceDown), (3, LossCause::SenderQueue)];
        assert_eq!((&causes.reverse, causes.round_trip), (&BTreeMap::new(), expected.into()));
        let refused =
            Event { mtu: Some(127), ..event(EventKind::NotSent, EventLocation::Responder, 0, Some(0)) };
        let causes = Causes::from_events(&related, &[down, refused], 28);
        assert_eq!(causes.round_trip.get(&3), Some(&LossCause::PathMtu));
    }

    /// Of several events the first cause in order counts.
    #[test]
    fn first_cause_wins() {
        let down = event(EventKind::LinkDown, EventLocation::Responder, AHEAD + 4_050 * MS, Some(2_000));
        let gone = event(EventKind::ResponderLost, EventLocation::Path, 4_050 * MS, Some(1_000));
        let until_one_came = Some((LossCause::ResponderRestart, 200, 400, 599));
        assert_eq!(found(std::slice::from_ref(&gone), FORWARD), until_one_came);
        assert_eq!(found(&[gone, down], FORWARD), Some((LossCause::InterfaceDown, 200, 400, 599)));
    }
}
