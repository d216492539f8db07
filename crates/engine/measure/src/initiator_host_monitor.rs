//! Monitors this host during a measurement: its events are reported and stored with the streams that they concern.

mod clocks;
mod counters;
mod network;
mod rebinding;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use romer_endpoint::host_events::{detailed, event};
use romer_endpoint::host_monitor::{HostMonitor, LinkNews};
use romer_endpoint::interface::LinkState;
use romer_endpoint::overflow;
use romer_endpoint::queues;
use romer_host::{clock, host_info};
use romer_record::document::ClockSync;
use romer_record::event::{Event, EventDetail, EventKind, EventLocation};
use romer_singletons::dropped::is_of_queue;
use romer_units::{Duration, Monotonic, Timestamp};

use super::observer::Observer;
use super::stream::Shared;
use clocks::Doubt;
pub(super) use rebinding::is_one as is_rebinding;

/// Most events that are kept of a run; a link that flaps all the time is no news after so many.
const MAX_STORED_EVENTS: usize = 1_000;
/// So far apart do two sessions tell of one event, at the most.
const TOGETHER: Duration = Duration::from_secs(5);
/// Between two looks at what the sockets dropped.
const DROPS: Duration = Duration::from_secs(1);

/// A stream with what was known of its way at the last look.
struct WatchedPath {
    shared: Arc<Shared>,
    interface: Option<String>,
    source: Option<IpAddr>,
    /// The address that its probes are to leave from, whichever the route has.
    bound: Option<IpAddr>,
    /// That address is not this host's at present.
    is_homeless: bool,
    /// The last look before its source changed.
    before_change: Option<Instant>,
    mtu: Option<u32>,
    /// The least that the way was known to take when probes had been refused for their length.
    refused_over: Option<u32>,
    not_sent: Episode,
    path_errors: Episode,
    nobody: Episode,
    too_long: Episode,
}

/// A count that grows, and the event that stands for its present growth.
#[derive(Default)]
struct Episode {
    count: u64,
    before: u64,
    event: Option<usize>,
    last: Option<Timestamp<Monotonic>>,
}

/// An interface that probes leave by.
struct WatchedInterface {
    name: String,
    tidings: LinkState,
    mtu: Option<u32>,
    /// The event of its going down.
    down: Option<usize>,
    /// It was down when it was first looked at, which has not been told yet.
    was_down: bool,
    /// Another of its name has come, by which the probes that are bound to it cannot go.
    is_left: bool,
}

/// An event that is kept.
struct StoredEvent {
    /// The number of the stream that it is about; `None` for all. Both directions of one stream have its number.
    stream: Option<u16>,
    /// Which of the directions has told it; none where it is about all streams.
    by: Vec<usize>,
    event: Event,
}

impl StoredEvent {
    /// Whether it is `other`, which direction `by` of its stream has told by itself: what happens to a host or to a way
    /// is told of each session over it.
    fn is(&self, other: &Event, by: usize) -> bool {
        let own = &self.event;
        let length = |event: &Event| event.until_ns.map_or(0, |until| until.saturating_sub(event.at_ns));
        let apart = (own.clock_ns.saturating_sub(other.clock_ns.saturating_add(length(other))))
            .max(other.clock_ns.saturating_sub(own.clock_ns.saturating_add(length(own))));
        is_of_host(own.kind)
            && !self.by.is_empty()
            && !self.by.contains(&by)
            && (own.kind, own.location, &own.detail) == (other.kind, other.location, &other.detail)
            && apart <= TOGETHER.as_nanos()
    }

    /// Takes up how long it was for the other direction.
    fn join(&mut self, other: &Event, by: usize) {
        self.by.push(by);
        let own = &mut self.event;
        own.at_ns = own.at_ns.min(other.at_ns);
        own.clock_ns = own.clock_ns.min(other.clock_ns);
        own.until_ns = own.until_ns.max(other.until_ns);
    }
}

/// Whether what happened is the host's or the way's, and not that of one session's packets, which each counts for itself.
pub(super) const fn is_of_host(kind: EventKind) -> bool {
    !matches!(kind, EventKind::NotSent | EventKind::PathError | EventKind::ReceiveOverflow)
}

/// Monitors this host for the streams of a run.
pub(super) struct InitiatorHostMonitor {
    host: HostMonitor,
    ways: Vec<WatchedPath>,
    links: Vec<WatchedInterface>,
    events: Vec<StoredEvent>,
    /// How many of them were told.
    told: usize,
    next_drops: Timestamp<Monotonic>,
    /// Probes that had been sent at the last look.
    sent: u64,
    /// The last look at the network.
    looked: Instant,
    doubt: Option<Doubt>,
    /// Addresses that probes left from and that were taken away, with the place of the event.
    away: BTreeMap<IpAddr, Option<usize>>,
}

impl InitiatorHostMonitor {
    /// Begins to watch. Where the system gives no watch of the network, only the clocks are watched. `start` is the
    /// moment from which times are told.
    pub(super) fn begin(streams: &[Arc<Shared>], start: Timestamp<Monotonic>) -> Self {
        let mut own = Self {
            host: HostMonitor::begin(EventLocation::Sender, start),
            ways: streams.iter().map(WatchedPath::new).collect(),
            links: Vec::new(),
            events: Vec::new(),
            told: 0,
            next_drops: clock::monotonic_now() + DROPS,
            sent: 0,
            looked: Instant::now(),
            doubt: None,
            away: BTreeMap::new(),
        };
        own.follow_links();
        own.look_at_queues();
        own
    }

    /// Takes up the interfaces that probes leave by and that are not followed yet.
    fn follow_links(&mut self) {
        for name in self.ways.iter().filter_map(|way| way.interface.as_ref()) {
            if self.links.iter().all(|link| link.name != *name) {
                let mtu = host_info::interface_mtu(name).ok();
                let mut tidings = LinkState::unknown(true);
                let mut was_down = false;
                if let Some(LinkNews { state, .. }) = self.host.link(name) {
                    (tidings.index, tidings.changes, was_down) = (state.index, state.changes, !state.up);
                }
                let name = name.clone();
                self.links.push(WatchedInterface {
                    name,
                    tidings,
                    mtu,
                    down: None,
                    was_down,
                    is_left: false,
                });
            }
        }
    }

    /// Waits up to `time`, or until something happens.
    pub(super) fn wait(&self, time: Duration) {
        self.host.wait(time);
    }

    /// Looks for the last time, when nothing more is received.
    pub(super) fn look_last(&mut self, observer: &mut dyn Observer) {
        self.next_drops = clock::monotonic_now();
        self.look_at_clock_sync(true);
        self.look_waiting(observer);
    }

    /// The synchronisation of this host's clock at the last look, with the largest bound of its error.
    pub(super) fn clock_sync(&self) -> ClockSync {
        self.host.clock_sync()
    }

    /// Looks, when this thread was waiting for a far end: that it has not looked for a while is no standstill of the program.
    pub(super) fn look_waiting(&mut self, observer: &mut dyn Observer) {
        self.look_at_clocks_after_waiting();
        self.look(observer);
    }

    /// Looks what has happened, and tells it.
    pub(super) fn look(&mut self, observer: &mut dyn Observer) {
        self.look_at_clocks();
        self.look_at_clock_sync(false);
        self.look_at_network();
        let now = clock::monotonic_now();
        self.look_at_counters(now);
        // Whether what a queue dropped was any of the probes is known when all are looked at.
        for kept in self.events.iter().skip(self.told).filter(|kept| !is_of_queue(&kept.event)) {
            observer.on_note(kept.stream.unwrap_or(0), &kept.event.clone().into());
        }
        self.told = self.events.len();
    }

    /// The session of stream `stream` goes on over another connection, after `length`.
    pub(super) fn resumed(
        &mut self,
        stream: usize,
        before: Option<IpAddr>,
        now: Option<IpAddr>,
        length: Duration,
    ) {
        // To whole milliseconds, as it was noticed no better.
        let whole_ns = length.as_nanos() / 1_000_000 * 1_000_000;
        let event = match (before, now) {
            (Some(address_before), Some(address)) if address_before != address => {
                let detail = EventDetail::SessionMoved { address, address_before };
                let event = self.host.detailed(detail).over(length.as_nanos());
                Event { duration_ns: Some(whole_ns), ..event }
            }
            _ => {
                let duration_ns = Some(whole_ns).filter(|nanos| *nanos > 0);
                Event { duration_ns, ..event(EventKind::Resumed, EventLocation::Path, self.host.start()) }
            }
        };
        self.keep(Some(stream), event);
    }

    /// The far end of stream `stream` is out of reach for good, and has been for `length`.
    pub(super) fn gone(&mut self, stream: usize, detail: EventDetail, length: Duration) {
        let one = detailed(detail, EventLocation::Path, self.host.start());
        self.keep(Some(stream), one.over(length.as_nanos()));
    }

    /// The last moment at which that address was still what it had been before its last change.
    pub(super) fn before_change(&self, stream: usize) -> Option<Instant> {
        self.ways.get(stream).and_then(|way| way.before_change)
    }

    /// This host's address has changed, and the far end of stream `stream` is of a version whose sessions stay.
    pub(super) fn cannot_follow(&mut self, stream: usize, software: &str) {
        let software = software.chars().filter(|letter| !letter.is_control()).take(60).collect();
        self.note(Some(stream), EventDetail::SessionNotMoved { software }, EventLocation::Sender);
    }

    /// This host's address towards the target of stream `stream`, as it was known at the last change; `None` where there
    /// is no way.
    pub(super) fn source(&self, stream: usize) -> Option<IpAddr> {
        self.ways.get(stream).and_then(|way| way.source)
    }

    /// Whether this host has a way to the target of stream `stream` at present, by an interface that is up.
    pub(super) fn has_way(&self, stream: usize) -> bool {
        let has = |way: &&WatchedPath| way.source.is_some() && !way.is_homeless;
        let Some(way) = self.ways.get(stream).filter(has) else { return false };
        let is_there = |link: &WatchedInterface| link.tidings.up && !link.is_left;
        self.links.iter().all(|link| is_there(link) || way.interface.as_ref() != Some(&link.name))
    }

    /// The events that concern stream `stream`, of whichever direction.
    pub(super) fn events_of(&self, stream: usize) -> Vec<Event> {
        let number = self.number(stream);
        let own = self.events.iter().filter(|kept| kept.stream.is_none() || kept.stream == number);
        // A queue of this host dropped none of the probes where all were stamped on their way out.
        let ways = self.ways.iter().filter(|way| Some(way.shared.number) == number);
        let all_left = ways.map(|way| &way.shared).all(|shared| !shared.lacks_stamps());
        let says_nothing =
            |event: &Event| all_left && is_of_queue(event) && event.location == EventLocation::Sender;
        let own = own.map(|kept| kept.event.clone()).filter(|event| !says_nothing(event));
        own.map(Event::from_start).collect()
    }

    fn number(&self, stream: usize) -> Option<u16> {
        self.ways.get(stream).map(|way| way.shared.number)
    }

    /// The far end of stream `stream` told of this.
    pub(super) fn told(&mut self, stream: usize, event: Event) {
        if event.kind == EventKind::ReceiveOverflow {
            let number = self.number(stream);
            let first = self.ways.iter().position(|way| Some(way.shared.number) == number);
            // All sessions come to one socket there, and each tells of it.
            if first == Some(stream) {
                self.overflowed(stream, event);
            }
            return;
        }
        if rebinding::is_one(&event) {
            self.told_rebound(stream, event);
            return;
        }
        if is_of_queue(&event) {
            self.dropped(Some(stream), event);
            return;
        }
        self.keep(Some(stream), event);
    }

    /// A queue dropped packets, which may be of stream `stream`, or of all. As long as that goes on it is one event.
    fn dropped(&mut self, stream: Option<usize>, event: Event) {
        let number = stream.and_then(|stream| self.number(stream));
        let mut own = self.events.iter_mut().rev().filter(|kept| kept.stream == number);
        if !own.any(|kept| queues::go_on(&mut kept.event, &event)) {
            self.keep(stream, event);
        }
    }

    /// Datagrams of stream `stream` found a full socket. As long as that goes on it is one event.
    fn overflowed(&mut self, stream: usize, event: Event) {
        let number = self.number(stream);
        let is_full = self.events.len() >= MAX_STORED_EVENTS;
        let last = self.events.iter_mut().rev().find(|kept| {
            kept.stream == number && (kept.event.kind, kept.event.location) == (event.kind, event.location)
        });
        if let Some(last) = last {
            if overflow::go_on(&mut last.event, &event) {
                return;
            }
            // By it packets are told from losses, however much else has happened.
            if is_full {
                return overflow::add_to(&mut last.event, &event);
            }
        } else if is_full {
            return self.events.push(StoredEvent { stream: number, by: vec![stream], event });
        }
        self.keep(Some(stream), event);
    }

    /// Notes an event, and gives its place; `None` where there are too many.
    fn note(&mut self, stream: Option<usize>, detail: EventDetail, location: EventLocation) -> Option<usize> {
        let event = detailed(detail, location, self.host.start());
        self.keep(stream, event)
    }

    fn keep(&mut self, stream: Option<usize>, one: Event) -> Option<usize> {
        let number = stream.and_then(|stream| self.number(stream));
        if let Some(by) = stream {
            let is_told = |kept: &StoredEvent| kept.stream == number && kept.is(&one, by);
            if let Some(place) = self.events.iter().position(is_told) {
                self.events[place].join(&one, by);
                return Some(place);
            }
        }
        self.push(stream, one)
    }

    /// Keeps what nobody has told of, and gives its place; `None` where there are too many.
    fn push(&mut self, stream: Option<usize>, one: Event) -> Option<usize> {
        let number = stream.and_then(|stream| self.number(stream));
        if self.events.len() >= MAX_STORED_EVENTS {
            return None;
        }
        let last = self.events.len() + 1 == MAX_STORED_EVENTS;
        let event = if last { self.host.detailed(EventDetail::TooMany) } else { one };
        self.events.push(StoredEvent { stream: number, by: stream.into_iter().collect(), event });
        (!last).then(|| self.events.len() - 1)
    }

    fn event(&mut self, place: Option<usize>) -> Option<&mut Event> {
        place.and_then(|place| self.events.get_mut(place)).map(|kept| &mut kept.event)
    }
}

impl WatchedPath {
    fn new(shared: &Arc<Shared>) -> Self {
        let route = host_info::route_to(shared.target).ok();
        shared.leaves_from(route.as_ref().map(|route| route.source));
        let own = shared.socket.local_address().ip();
        Self {
            shared: Arc::clone(shared),
            bound: Some(own).filter(|own| !own.is_unspecified()),
            is_homeless: false,
            interface: shared
                .interface
                .clone()
                .or_else(|| route.as_ref().and_then(|route| route.interface.clone())),
            source: route.as_ref().map(|route| route.source),
            before_change: None,
            mtu: route.as_ref().map(|route| route.mtu),
            refused_over: None,
            not_sent: Episode::default(),
            path_errors: Episode::default(),
            nobody: Episode::default(),
            too_long: Episode::default(),
        }
    }
}

/// Whether two directions tell of one event: what happened to a host is told of each of its streams, with one reading of its
/// clock.
pub(super) fn is_same(one: &Event, other: &Event) -> bool {
    (one.kind, one.location, one.clock_ns) == (other.kind, other.location, other.clock_ns)
        && one.detail == other.detail
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn kept(kind: EventKind, clock_ns: i64, until_ns: Option<i64>) -> StoredEvent {
        let event = Event { until_ns, ..Event::new(kind, EventLocation::Sender, clock_ns, clock_ns) };
        StoredEvent { stream: Some(3), by: vec![0], event }
    }

    #[test]
    fn what_both_directions_tell_of_a_host_is_one_event_as_long_as_either_says() {
        let mut own = kept(EventKind::AddressChange, 10 * S, Some(13 * S));
        let other = kept(EventKind::AddressChange, 11 * S, Some(14 * S)).event;
        assert!(own.is(&other, 1));
        assert!(!own.is(&other, 0), "of one direction it is another");
        let removed = EventDetail::AddressRemoved { address: IpAddr::from([198, 18, 0, 1]) };
        assert!(!own.is(&Event { detail: Some(removed), ..other.clone() }, 1));
        let later = kept(EventKind::AddressChange, 18 * S + 1, None).event;
        assert!(!own.is(&later, 1));
        own.join(&other, 1);
        assert_eq!((own.event.at_ns, own.event.clock_ns, own.event.until_ns), (10 * S, 10 * S, Some(14 * S)));
        assert!(!own.is(&other, 1), "it has told it");
    }

    #[test]
    fn an_interface_that_was_down_from_the_beginning_is_not_told_to_go_down() {
        let told = |was_down| {
            let mut own = InitiatorHostMonitor::begin(&[], clock::monotonic_now());
            let (name, mtu) = ("t0".to_owned(), None);
            own.links.push(WatchedInterface {
                name,
                tidings: LinkState::unknown(true),
                mtu,
                down: None,
                was_down,
                is_left: false,
            });
            for up in [false, true, false] {
                own.link("t0", LinkState::unknown(up), None);
            }
            own.events.into_iter().filter_map(|kept| kept.event.detail).collect::<Vec<_>>()
        };
        let interface = "t0".to_owned();
        let down = EventDetail::InterfaceDown { interface: interface.clone(), times: 1 };
        let up = EventDetail::InterfaceUp { interface: interface.clone() };
        let before = EventDetail::InterfaceDownBefore { interface, no_carrier: false };
        assert_eq!(told(false), [down.clone(), up.clone(), down.clone()]);
        assert_eq!(told(true), [before, up, down]);
    }

    #[test]
    fn what_each_session_counts_for_itself_is_not_one() {
        for kind in [EventKind::NotSent, EventKind::PathError, EventKind::ReceiveOverflow] {
            assert!(!kept(kind, 0, None).is(&kept(kind, 0, None).event, 1), "{kind:?}");
        }
    }
}
