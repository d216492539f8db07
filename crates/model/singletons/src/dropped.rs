//! Packets that a queue of the host which sent them dropped after it had taken them: they never left.

use romer_record::document::ProbeDirection;
use romer_record::event::{Event, EventKind, EventLocation};
use romer_record::{RoundTrip, Stamps};
use romer_units::{Clock, Timestamp};

/// A packet may have waited so long in the queue before that dropped it.
const WAITED_NS: i64 = 4_000_000_000;
/// The host's readings of its queues and its stamps of packets are no farther apart than that.
const NEARLY_NS: i64 = 50_000_000;
/// Of so many packets that came one may have no stamp of the driver: where more have none, a missing stamp says nothing.
const STAMPED_BUT_ONE_OF: u64 = 100;

/// Whether `event` tells that a queue of a host dropped packets, which it may have taken before: how many there were at the most is
/// in its `datagrams`. What a host refused at once has no such number.
pub fn is_of_queue(event: &Event) -> bool {
    event.kind == EventKind::NotSent && event.datagrams.is_some()
}

/// What an event of a queue explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Place of the event among all.
    pub event: usize,
    /// So many probes or replies did not leave. At least 1.
    pub packets: u64,
}

/// A packet that a host handed to its queue.
#[derive(Clone, Copy)]
struct Handed {
    row: usize,
    at: i64,
    is_stamped: bool,
    has_come: bool,
}

/// Takes back from those that were sent the probes and the replies that a queue of the host which sent them dropped, by `events`
/// ([`is_of_queue`]): of those that it was handed up to 4 s before, and that have no stamp of the driver and were seen by nobody, as
/// many as it dropped at the most. So it is only where the driver stamped nearly all that came, then and all in all: where stamps
/// are missing for other reasons, nothing tells such a packet from one that the path lost. What is not taken back stays as it is.
pub fn withdraw_dropped(rows: &mut [RoundTrip], events: &[Event]) -> Vec<Dropped> {
    let mut all = Vec::new();
    for location in [EventLocation::Sender, EventLocation::Responder] {
        let own = |(_, event): &(usize, &Event)| is_of_queue(event) && event.location == location;
        let queues: Vec<(usize, &Event)> = events.iter().enumerate().filter(own).collect();
        if queues.is_empty() {
            continue;
        }
        let handed: Vec<Handed> =
            rows.iter().enumerate().filter_map(|(place, row)| handed(place, row, location)).collect();
        if !are_stamped(handed.iter()) {
            continue;
        }
        for (event, queue) in queues {
            let packets = withdraw(rows, &handed, queue, location);
            if packets > 0 {
                all.push(Dropped { event, packets });
            }
        }
    }
    all
}

/// The packet of a row that left the host at `location`, if one did.
fn handed(row: usize, of: &RoundTrip, location: EventLocation) -> Option<Handed> {
    let is_ours = location == EventLocation::Sender;
    let (departure, has_come) = match of.way {
        _ if of.not_sent || (is_ours && of.copy > 0) => return None,
        ProbeDirection::Reverse if is_ours => return None,
        ProbeDirection::Forward | ProbeDirection::Both if !is_ours => return None,
        _ if is_ours => (moments(&of.t1), of.returned || of.seen_by_responder),
        _ => (moments(&of.t3), of.returned),
    };
    Some(Handed { row, at: departure?.0, is_stamped: departure?.1, has_come })
}

/// When the program handed it over, and whether it was stamped on its way out.
fn moments<C: Clock>(stamps: &Stamps<C>) -> Option<(i64, bool)> {
    let is_stamped = stamps.kernel.is_some() || stamps.nic.is_some();
    stamps.user.map(Timestamp::as_nanos).map(|at| (at, is_stamped))
}

/// Whether of these that came nearly all are stamped: at least one.
fn are_stamped<'a>(handed: impl Iterator<Item = &'a Handed>) -> bool {
    let (mut stamped, mut others) = (0_u64, 0_u64);
    for one in handed.filter(|one| one.has_come) {
        *(if one.is_stamped { &mut stamped } else { &mut others }) += 1;
    }
    stamped > 0 && others.saturating_mul(STAMPED_BUT_ONE_OF) <= stamped.saturating_add(others)
}

/// Takes back what one event of a queue explains, and gives how many that are.
fn withdraw(rows: &mut [RoundTrip], handed: &[Handed], queue: &Event, location: EventLocation) -> u64 {
    let length = queue.until_ns.map_or(0, |until| until.saturating_sub(queue.at_ns));
    let from = queue.clock_ns.saturating_sub(WAITED_NS);
    let until = queue.clock_ns.saturating_add(length).saturating_add(NEARLY_NS);
    let then = || handed.iter().filter(|one| (from..=until).contains(&one.at));
    if then().any(|one| one.has_come) && !are_stamped(then()) {
        return 0;
    }
    let most = queue.datagrams.unwrap_or(0);
    let mut packets = 0;
    for one in then().filter(|one| !one.is_stamped && !one.has_come) {
        let row = &mut rows[one.row];
        let is_reply = row.way == ProbeDirection::RoundTrip && location == EventLocation::Responder;
        let is_taken_back = if is_reply { row.t3.user.is_none() } else { row.not_sent };
        if is_taken_back || packets >= most {
            continue;
        }
        if is_reply {
            // It is as if the host had refused the reply: of that there is no stamp.
            row.t3 = Stamps::default();
        } else {
            row.not_sent = true;
        }
        packets += 1;
    }
    packets
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn stamps<C: Clock>(at: i64, is_stamped: bool) -> Stamps<C> {
        let stamp = |at| Some(Timestamp::from_nanos(at));
        Stamps {
            user: stamp(at),
            kernel: is_stamped.then_some(()).and_then(|()| stamp(at + MS / 10)),
            ..Stamps::default()
        }
    }

    /// One every 10 ms; the packets that the host at `location` sends are lost by its queue, or by the path, as these say.
    fn sent(
        way: ProbeDirection,
        location: EventLocation,
        queue: impl Fn(i64) -> bool,
        path: impl Fn(i64) -> bool,
    ) -> Vec<RoundTrip> {
        let one = |n: i64| {
            let (by_queue, came) = (queue(n), !queue(n) && !path(n));
            let is_ours = location == EventLocation::Sender;
            RoundTrip {
                way,
                sequence: n.unsigned_abs(),
                t1: stamps(n * 10 * MS, !(is_ours && by_queue)),
                t3: if !is_ours || came { stamps(n * 10 * MS, !by_queue) } else { Stamps::default() },
                seen_by_responder: way != ProbeDirection::Reverse && (!is_ours || came),
                returned: way != ProbeDirection::Forward && came,
                ..RoundTrip::default()
            }
        };
        (0..1_000).map(one).collect()
    }

    fn dropped(location: EventLocation, from: i64, until: i64, datagrams: Option<u64>) -> Event {
        Event {
            until_ns: Some(until * MS),
            datagrams,
            ..Event::new(EventKind::NotSent, location, from * MS, from * MS)
        }
    }

    /// The numbers of those that did not leave.
    fn unsent(rows: &[RoundTrip], location: EventLocation) -> Vec<u64> {
        let is_unsent = |row: &&RoundTrip| {
            let is_reply = row.way == ProbeDirection::RoundTrip && location == EventLocation::Responder;
            row.not_sent || (is_reply && row.t3.user.is_none())
        };
        rows.iter().filter(is_unsent).map(|row| row.sequence).collect()
    }

    #[test]
    fn what_a_queue_dropped_after_taking_it_never_left_and_what_the_path_lost_beside_it_did() {
        let queue = |n: i64| (300..600).contains(&n) && n % 3 == 0;
        let path = |n: i64| n % 20 == 7;
        let all: Vec<u64> = (300..600).filter(|n| n % 3 == 0).collect();
        for (way, location) in [
            (ProbeDirection::RoundTrip, EventLocation::Sender),
            (ProbeDirection::Forward, EventLocation::Sender),
            (ProbeDirection::RoundTrip, EventLocation::Responder),
            (ProbeDirection::Reverse, EventLocation::Responder),
        ] {
            let events = [dropped(location, 3_000, 6_000, Some(100))];
            let mut rows = sent(way, location, queue, path);
            let told = withdraw_dropped(&mut rows, &events);
            assert_eq!(told, [Dropped { event: 0, packets: 100 }], "{way:?} {location:?}");
            assert_eq!(unsent(&rows, location), all, "{way:?} {location:?}");
            assert!(withdraw_dropped(&mut rows, &events).is_empty(), "once");
        }
    }

    #[test]
    fn without_a_queue_that_dropped_so_many_then_a_missing_stamp_says_nothing() {
        let queue = |n: i64| (300..600).contains(&n) && n % 3 == 0;
        let taken = |events: &[Event]| {
            let mut rows = sent(ProbeDirection::RoundTrip, EventLocation::Responder, queue, |_| false);
            withdraw_dropped(&mut rows, events).iter().map(|one| one.packets).sum::<u64>()
        };
        assert_eq!(taken(&[]), 0);
        assert_eq!(
            taken(&[dropped(EventLocation::Responder, 3_000, 6_000, None)]),
            0,
            "it refused them at once"
        );
        assert_eq!(taken(&[dropped(EventLocation::Sender, 3_000, 6_000, Some(100))]), 0, "another host's");
        assert_eq!(taken(&[dropped(EventLocation::Responder, 1_000, 2_000, Some(100))]), 0, "before");
        assert_eq!(
            taken(&[dropped(EventLocation::Responder, 3_000, 6_000, Some(40))]),
            40,
            "no more than it dropped"
        );
        let parts = [(3_000, 4_000), (4_000, 5_000), (5_000, 6_000)];
        let parts = parts.map(|(from, until)| dropped(EventLocation::Responder, from, until, Some(40)));
        assert_eq!(taken(&parts), 100);
    }

    #[test]
    fn where_the_driver_does_not_stamp_what_comes_either_nothing_is_taken_back() {
        let queue = |n: i64| (300..600).contains(&n) && n % 3 == 0;
        let events = [dropped(EventLocation::Sender, 3_000, 6_000, Some(1_000))];
        let taken = |is_unstamped: &dyn Fn(u64) -> bool| {
            let mut rows = sent(ProbeDirection::RoundTrip, EventLocation::Sender, queue, |_| false);
            rows.iter_mut().filter(|row| is_unstamped(row.sequence)).for_each(|row| row.t1.kernel = None);
            withdraw_dropped(&mut rows, &events).iter().map(|one| one.packets).sum::<u64>()
        };
        assert_eq!(taken(&|_| true), 0, "it stamps none");
        assert_eq!(taken(&|n| n > 700), 0, "the stamps ended");
        // The stamps of nine in a thousand found no room: eight while the queue dropped.
        assert_eq!(taken(&|n| [301, 302, 304, 305, 307, 308, 310, 311, 900].contains(&n)), 0);
        assert_eq!(taken(&|n| [301, 850, 900].contains(&n)), 100);
    }
}
