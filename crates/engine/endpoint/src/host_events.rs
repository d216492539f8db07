//! Events of a host, as initiator and responder report them.

use std::net::IpAddr;

use romer_clock::steps::{ClockChange, ClockReadings};
use romer_host::clock;
use romer_host::host_info::{self, PacketTooBigHandling};
use romer_host::watch::read_clocks;
use romer_record::event::{Event, EventDetail, EventKind, EventLocation, TEXT_LENGTH_MAX, Unsent};
use romer_record::manifest::ClockRelation;
use romer_units::{Duration, Monotonic, Timestamp};

use crate::interface::LinkTransition;

/// Whoever has not looked for so long has not been told of what happened when it did: its program stood still.
pub const UNWATCHED: Duration = romer_singletons::UNWATCHED;

/// All clocks of this host, as a [`ClockWatch`](romer_clock::steps::ClockWatch) wants them.
pub fn reading() -> ClockReadings {
    let clocks = read_clocks();
    ClockReadings {
        realtime: clocks.realtime,
        monotonic: clocks.monotonic,
        boottime: clocks.boottime,
        within: clocks.within,
    }
}

/// An event of now without a detail, with its time told from `start`.
pub fn event(kind: EventKind, location: EventLocation, start: Timestamp<Monotonic>) -> Event {
    let now = clock::now();
    Event::new(kind, location, (now.monotonic - start).as_nanos(), now.realtime.as_nanos())
}

/// An event of now with this detail, with its time told from `start`.
pub fn detailed(detail: EventDetail, location: EventLocation, start: Timestamp<Monotonic>) -> Event {
    let now = clock::now();
    Event::with(detail, location, (now.monotonic - start).as_nanos(), now.realtime.as_nanos())
}

/// That a route came or went.
pub fn route_change((to, prefix): (IpAddr, u8), gateway: IpAddr, added: bool) -> EventDetail {
    let prefix = format!("{to}/{prefix}");
    if added {
        EventDetail::RouteAdded { prefix, gateway }
    } else {
        EventDetail::RouteRemoved { prefix, gateway }
    }
}

/// That the host did not send what is too long for the path to `target`, of which it knows the `mtu`: by what it makes of the reports
/// of routers, that length may be its own.
pub fn too_long(
    unsent: Unsent,
    target: IpAddr,
    mtu: Option<u32>,
    handling: Option<PacketTooBigHandling>,
) -> EventDetail {
    let least = match handling {
        Some(PacketTooBigHandling::Least(least)) if target.is_ipv4() => Some(least),
        _ => None,
    };
    EventDetail::TooLong { unsent, target, host_limit: least.is_some() && least == mtu }
}

/// The value of `net.ipv4.ip_no_pmtu_disc` if this host ignores ICMP errors about IPv4 packets that are too long.
pub fn ip_no_pmtu_disc() -> Option<u32> {
    match host_info::packet_too_big_handling() {
        Ok(PacketTooBigHandling::Unheard(setting)) => Some(setting),
        _ => None,
    }
}

/// Whether `address` is among those of `to`/`prefix`.
pub fn covers(to: IpAddr, prefix: u8, address: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    };
    let mask = u128::MAX.checked_shl(128 - u32::from(prefix.min(128))).unwrap_or(0);
    to.is_ipv4() == address.is_ipv4() && (bits(to) ^ bits(address)) & mask == 0
}

/// What a look at the clocks has shown, at the end of this `location`.
pub fn clock_event(change: ClockChange, location: EventLocation, start: Timestamp<Monotonic>) -> Event {
    match change {
        ClockChange::Step(step) => Event { step: Some(step), ..event(EventKind::ClockStep, location, start) },
        ClockChange::Suspended(time) => {
            Event { duration_ns: Some(time), ..event(EventKind::Suspend, location, start) }
        }
        ClockChange::Paused(time) => {
            Event { duration_ns: Some(time), ..event(EventKind::Pause, location, start).over(time) }
        }
    }
}

/// What is noticed now, at a moment between these, with times from `start`.
pub(crate) fn between(now: Event, between: [Timestamp<Monotonic>; 2], start: Timestamp<Monotonic>) -> Event {
    let [earliest, latest] = between.map(|at| now.at_ns.saturating_sub((at - start).as_nanos()).max(0));
    now.between(earliest, latest)
}

/// Whether an event of this kind may say of how many datagrams it is.
const fn tells_of_datagrams(kind: EventKind) -> bool {
    matches!(kind, EventKind::ReceiveOverflow | EventKind::NotSent | EventKind::AddressChange)
}

/// The beginning of a text of a far end, without control characters.
pub fn far_words(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(TEXT_LENGTH_MAX).collect()
}

/// What a far end has told just now, as an event of a measurement that began at `start`: its own times are told from
/// another moment. It began with the measurement at the earliest. `None` for what this end sees itself: what happened to the clock
/// that both ends read, and that the conversation broke off and went on; and for what cannot be, though each of its times can.
pub fn reported_by_responder(
    told: &Event,
    relation: ClockRelation,
    start: Timestamp<Monotonic>,
) -> Option<Event> {
    let is_of_clock = matches!(
        told.kind,
        EventKind::ClockStep | EventKind::ClockSyncLost | EventKind::ClockSyncChange | EventKind::Suspend
    );
    if told.kind == EventKind::Resumed || (relation == ClockRelation::Shared && is_of_clock) {
        return None;
    }
    // A sender that it finds elsewhere may have moved, or a NAT on the way; this end knows which.
    let is_of_path = (told.kind, told.location) == (EventKind::AddressChange, EventLocation::Path);
    let location = if is_of_path { EventLocation::Path } else { EventLocation::Responder };
    let now = event(told.kind, location, start);
    let length = told.until_ns.map(|until| until.saturating_sub(told.at_ns).max(0));
    let event = Event {
        at_ns: now.at_ns.saturating_sub(length.unwrap_or(0)),
        until_ns: length.map(|_| now.at_ns),
        clock_ns: told.clock_ns,
        detail: told.detail.clone(),
        duration_ns: told.duration_ns,
        step: told.step.filter(|_| told.kind == EventKind::ClockStep),
        mtu: told.mtu.filter(|_| matches!(told.kind, EventKind::MtuChange | EventKind::NotSent)),
        detection_latency_ns: told.detection_latency_ns.filter(|late| *late > 0),
        datagrams: told.datagrams.filter(|_| tells_of_datagrams(told.kind)),
        ..now
    };
    Some(event.from_start()).filter(Event::is_plausible)
}

/// How much later than it was what an interface did may have been noticed, `since_look` after the look before: nothing is said of
/// little, unless it was told of together with what followed, and its moment is still to be found.
pub fn noticed_late(deed: LinkTransition, since_look: Duration) -> Option<i64> {
    (since_look > UNWATCHED || deed.is_gathered).then_some(since_look.as_nanos())
}

#[cfg(test)]
mod tests {
    use romer_record::event::ClockStep;
    use romer_record::plausible::{MOMENTS, SPANS};

    use super::*;

    /// A prefix covers the addresses that begin with it.
    #[test]
    fn prefixes_cover_their_addresses() {
        let covers =
            |to: &str, prefix, address: &str| covers(to.parse().unwrap(), prefix, address.parse().unwrap());
        assert!(covers("0.0.0.0", 0, "198.18.0.3") && covers("198.18.0.0", 15, "198.19.0.3"));
        assert!(!covers("198.18.0.0", 16, "198.19.0.3") && !covers("::", 0, "198.19.0.3"));
        assert!(covers("2001:2::", 48, "2001:2:0:18::3") && !covers("2001:2::", 64, "2001:2:0:18::3"));
        assert!(covers("198.18.0.3", 32, "198.18.0.3"));
    }

    /// Events of the responder are timed by this host and shortened.
    #[test]
    fn remote_events_are_timed_here() {
        let start = clock::monotonic_now() - Duration::from_secs(100);
        let step = Some(ClockStep { size_ns: 5, size_interval_ns: None, before_ns: 1, after_ns: 9 });
        let told = Event {
            until_ns: Some(10_000_000_000),
            duration_ns: Some(3_000_000_000),
            step,
            ..Event::new(EventKind::Pause, EventLocation::Sender, 7_000_000_000, 42)
        };
        let kept = reported_by_responder(&told, ClockRelation::Shared, start).unwrap();
        assert_eq!((kept.location, kept.clock_ns, kept.step), (EventLocation::Responder, 42, None));
        assert_eq!(kept.until_ns.map(|until| until - kept.at_ns), Some(3_000_000_000));
        assert!(kept.until_ns >= Some(100_000_000_000));
        assert_eq!(kept.duration_ns, told.duration_ns);
        let hostile = EventDetail::InterfaceUp { interface: "\x1b[2J".into() };
        let hostile = Event::with(hostile, EventLocation::Responder, 1, 42);
        assert_eq!(reported_by_responder(&hostile, ClockRelation::Unknown, start), None);
        let stepped = Event { kind: EventKind::ClockStep, ..told.clone() };
        assert_eq!(reported_by_responder(&stepped, ClockRelation::Shared, start), None);
        let kept = reported_by_responder(&stepped, ClockRelation::Unknown, start).unwrap();
        assert_eq!(kept.step, step, "the rows are put right by it");
        let resumed = Event { kind: EventKind::Resumed, ..told };
        assert_eq!(reported_by_responder(&resumed, ClockRelation::Unknown, start), None, "this end tells it");
    }

    /// Of every event of which each time can be, what is kept can be read again; no event begins before the measurement.
    #[test]
    fn kept_events_of_far_ends_are_plausible() {
        let start = clock::monotonic_now() - Duration::from_secs(100);
        let times = [SPANS.start, -4_000_000_000_000_000_000, -1, 0, 100_000_000_000, SPANS.end - 1];
        let moments = [MOMENTS.start, 0, clock::realtime_now().as_nanos(), MOMENTS.end - 1];
        let (mut kept, mut dropped) = (0, 0);
        for at_ns in times {
            for until_ns in times.map(Some).into_iter().chain([None]) {
                for clock_ns in moments {
                    let detection_latency_ns = until_ns;
                    let event = Event::new(EventKind::LinkUp, EventLocation::Responder, at_ns, clock_ns);
                    let event = Event { until_ns, detection_latency_ns, ..event };
                    assert!(event.is_plausible());
                    match reported_by_responder(&event, ClockRelation::Unknown, start) {
                        Some(event) => {
                            kept += 1;
                            assert!(event.is_plausible() && event.at_ns >= 0, "{event:?}");
                            assert_eq!(event.clone().from_start(), event);
                        }
                        None => dropped += 1,
                    }
                }
            }
        }
        assert!(kept > 100 && dropped > 5, "{kept} kept, {dropped} dropped");
    }
}
