//! The monitor of a responder's host: its events, each with the sessions that it concerns.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use romer_clock::steps::ClockChange;
use romer_host::clock;
use romer_host::link::Network;
use romer_record::document::ClockSync;
use romer_record::event::{Event, EventDetail, EventKind, EventLocation};
use romer_units::{Duration, Monotonic, Timestamp};

use crate::host_events::between;
use crate::host_monitor::{HostChange, HostMonitor, LinkNews};
use crate::interface::LinkState;
use crate::overflow::Overflow;
use crate::scheduling_watch::SchedulingWatch;

/// Events that a responder remembers: the latest.
const MAX_STORED_EVENTS: usize = 256;
/// Between two questions to an interface how it is.
const QUESTIONS: Duration = Duration::from_millis(20);

/// Events that are remembered: the latest, and how many there were before.
#[derive(Clone, Debug, Default)]
pub struct Remembered {
    /// The latest, oldest first.
    pub events: VecDeque<Event>,
    /// How many earlier ones had to go.
    pub forgotten: u64,
}

/// A happening at the responder, with the interface, the address or the destinations of the route that it is about, if it is
/// about one.
#[derive(Clone, Debug)]
pub struct Occurrence {
    /// Of this interface alone.
    pub interface: Option<String>,
    /// Of who reaches this host at this address alone.
    pub address: Option<IpAddr>,
    /// Of whom this route leads to alone.
    pub route: Option<(IpAddr, u8)>,
    /// What happened.
    pub event: Event,
}

#[derive(Clone, Copy, Debug)]
struct WatchedInterface {
    tidings: LinkState,
    mtu: Option<u32>,
}

/// Monitors the host of a responder.
#[derive(Debug)]
pub struct ResponderHostMonitor {
    host: HostMonitor,
    /// Of the responder's threads: that one of them has not looked for long does not mean that it stood still.
    pulse: Arc<SchedulingWatch>,
    links: BTreeMap<String, WatchedInterface>,
    /// Interfaces that were used when it last looked.
    queues_of: BTreeSet<String>,
    remembered: Arc<Mutex<Remembered>>,
    /// Addresses that were taken away, and when: the latest of them.
    away: Vec<(IpAddr, Timestamp<Monotonic>)>,
    /// When interfaces are asked again.
    next_question: Timestamp<Monotonic>,
}

impl ResponderHostMonitor {
    /// Begins to watch the network namespace of the current thread, and the clocks. Where the system gives no watch of
    /// the network, only the clocks are watched.
    pub fn begin(remembered: Arc<Mutex<Remembered>>, pulse: Arc<SchedulingWatch>) -> Self {
        let links = Network::open(None).and_then(|network| network.links()).unwrap_or_default();
        let links = links.into_iter().map(|link| {
            (link.name, WatchedInterface { tidings: LinkState::unknown(link.running), mtu: Some(link.mtu) })
        });
        Self {
            host: HostMonitor::begin(EventLocation::Responder, clock::monotonic_now()),
            pulse,
            links: links.collect(),
            queues_of: BTreeSet::new(),
            remembered,
            away: Vec::new(),
            next_question: clock::monotonic_now(),
        }
    }

    /// What has happened since the last look. Those of the interfaces that are `used` are asked how they are, every now and then.
    pub fn look<'a>(&mut self, used: impl Iterator<Item = &'a str>) -> Vec<Occurrence> {
        let now = clock::monotonic_now();
        self.pulse.beat(now);
        let changes = self.host.clock_changes().into_iter();
        // By its own looks this thread cannot tell whether another has worked.
        let mut all: Vec<Event> = changes
            .filter(|(change, _)| !matches!(change, ClockChange::Paused(_)))
            .map(|(_, event)| event)
            .collect();
        all.extend(self.pulse.standstill().map(|[from, until]| {
            let pause = between(self.host.event(EventKind::Pause), [from, until], self.host.start());
            Event { duration_ns: Some((until - from).as_nanos()), ..pause }
        }));
        let own = |event| Occurrence { interface: None, address: None, route: None, event };
        let mut all: Vec<Occurrence> = all.into_iter().map(own).collect();
        let mut changes = self.host.network_changes();
        if now >= self.next_question {
            self.next_question = now + QUESTIONS;
            let used: BTreeSet<&str> = used.collect();
            changes.extend(used.into_iter().filter_map(|name| self.host.link(name)).map(HostChange::Link));
        }
        for change in changes {
            match change {
                HostChange::Link(LinkNews { name, state, mtu }) => self.link(&name, state, mtu, &mut all),
                HostChange::Missed => all.push(own(self.host.detailed(EventDetail::NetworkChanges))),
                HostChange::Address { address, added } => all.extend(self.address(address, added)),
                HostChange::Route { to, prefix, gateway: Some(gateway), added } => {
                    all.push(self.route((to, prefix), gateway, added));
                }
                HostChange::Route { gateway: None, .. } => {}
            }
        }
        all.iter().for_each(|occurrence| self.remember(&occurrence.event));
        all
    }

    /// What the synchronisation of the clock has shown since the last look, which is due each second, or if `now`; `None` if none is
    /// due. While there are sessions, its daemons are asked again where their last answers are old.
    pub fn look_at_clock_sync(&mut self, has_sessions: bool, now: bool) -> Option<Vec<Occurrence>> {
        let events = self.host.clock_sync_changes(has_sessions, now)?;
        events.iter().for_each(|event| self.remember(event));
        let own = |event| Occurrence { interface: None, address: None, route: None, event };
        Some(events.into_iter().map(own).collect())
    }

    /// The synchronisation of the clock at the last look.
    pub fn clock_sync(&self) -> ClockSync {
        self.host.clock_sync()
    }

    /// Bound of the clock's error at the last look, nanoseconds; `None` if this host states none.
    pub fn clock_error_bound_ns(&self) -> Option<i64> {
        self.host.clock_error_bound_ns()
    }

    /// What the queues of the interfaces that are `used` have dropped since the last look, if another is due, or `now`. One that was
    /// not used then is looked at at once, so that it is known what it had dropped before.
    pub fn look_at_queues<'a>(&mut self, used: impl Iterator<Item = &'a str>, now: bool) -> Vec<Occurrence> {
        let names: BTreeSet<&str> = used.collect();
        let is_new = names.iter().any(|name| !self.queues_of.contains(*name));
        if !now && !is_new && clock::monotonic_now() < self.host.queues_due() {
            return Vec::new();
        }
        self.queues_of = names.iter().map(|name| (*name).to_owned()).collect();
        let index = |name: &str| self.host.link(name).map(|news| news.state.index);
        let used = names.into_iter().filter_map(|name| Some((index(name)?, name.to_owned()))).collect();
        let drops = self.host.queue_drops(&used).into_iter();
        let of_queue =
            |(name, event)| Occurrence { interface: Some(name), address: None, route: None, event };
        drops.map(of_queue).collect()
    }

    /// Something else happened to this end.
    pub fn note(&self, detail: EventDetail) -> Event {
        self.note_over(detail, Duration::ZERO)
    }

    /// The same of what began `length` ago, and is over.
    pub fn note_over(&self, detail: EventDetail, length: Duration) -> Event {
        let mut event = self.host.detailed(detail);
        if length > Duration::ZERO {
            event = event.over(length.as_nanos());
        }
        self.remember(&event);
        event
    }

    /// The same of what was between these moments.
    pub fn note_between(&self, detail: EventDetail, moments: [Timestamp<Monotonic>; 2]) -> Event {
        let event = between(self.host.detailed(detail), moments, self.host.start());
        self.remember(&event);
        event
    }

    /// Datagrams found a full socket of this end.
    pub fn overflowed(&self, overflow: &Overflow) -> Event {
        let event = overflow.event(EventLocation::Responder, self.host.start());
        self.remember(&event);
        event
    }

    /// An address that was taken away and is back is told of: what came for it meanwhile was dropped by this host.
    fn address(&mut self, address: IpAddr, added: bool) -> Option<Occurrence> {
        let place = self.away.iter().position(|(gone, _)| *gone == address);
        let before = place.map(|place| self.away.remove(place).1);
        let now = clock::monotonic_now();
        if !added {
            if self.away.len() >= MAX_STORED_EVENTS {
                self.away.remove(0);
            }
            self.away.push((address, now));
            return None;
        }
        let length = now - before?;
        let event = self.host.detailed(EventDetail::AddressRestored { address });
        let event = Event { duration_ns: Some(length.as_nanos()), ..event.over(length.as_nanos()) };
        Some(Occurrence { interface: None, address: Some(address), route: None, event })
    }

    /// A route of this host came or went: what is sent to where it leads goes another way from now on, or not at all.
    fn route(&self, (to, prefix): (IpAddr, u8), gateway: IpAddr, added: bool) -> Occurrence {
        let event = self.host.route_event((to, prefix), gateway, added);
        Occurrence { interface: None, address: None, route: Some((to, prefix)), event }
    }

    fn link(&mut self, name: &str, tidings: LinkState, mtu: Option<u32>, all: &mut Vec<Occurrence>) {
        let known = self.links.get(name).copied();
        let deeds = known.map(|known| tidings.deeds_since(known.tidings));
        if deeds == Some(None) {
            return;
        }
        match mtu {
            Some(_) => drop(self.links.insert(name.to_owned(), WatchedInterface { tidings, mtu })),
            // It is gone, and its name may be another's.
            None => drop(self.links.remove(name)),
        }
        let (Some(before), Some(Some(deeds))) = (known, deeds) else { return };
        let own = |event| Occurrence { interface: Some(name.to_owned()), address: None, route: None, event };
        all.extend(deeds.into_iter().map(|deed| own(self.host.link_event(name, deed))));
        if let (Some(before), Some(now)) = (before.mtu, mtu)
            && before != now
        {
            all.push(own(self.host.mtu_event(name, before, now)));
        }
    }

    fn remember(&self, event: &Event) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.events.len() >= MAX_STORED_EVENTS {
            remembered.events.pop_front();
            remembered.forgotten += 1;
        }
        remembered.events.push_back(event.clone());
    }
}

#[cfg(test)]
mod tests {
    use romer_clock::steps::ClockWatch;
    use romer_record::manifest::ClockRelation;

    use super::*;
    use crate::host_events::{reading, reported_by_responder};

    const fn tidings(up: bool, changes: u32) -> LinkState {
        LinkState { up, index: 7, changes: Some(changes) }
    }

    fn occurrences() -> (ResponderHostMonitor, Arc<Mutex<Remembered>>) {
        let remembered = Arc::new(Mutex::new(Remembered::default()));
        let mut host = HostMonitor::begin(EventLocation::Responder, clock::monotonic_now());
        host.watch = None;
        let own = ResponderHostMonitor {
            host,
            pulse: Arc::new(SchedulingWatch::new(clock::monotonic_now())),
            links: BTreeMap::from([(
                "t1".to_owned(),
                WatchedInterface { tidings: tidings(true, 2), mtu: Some(1_500) },
            )]),
            queues_of: BTreeSet::new(),
            remembered: Arc::clone(&remembered),
            away: Vec::new(),
            next_question: clock::monotonic_now(),
        };
        (own, remembered)
    }

    /// An address that returns is reported with the length of its absence.
    #[test]
    fn returned_address_states_absence() {
        let (mut own, _) = occurrences();
        let [one, other] = ["192.0.2.1", "2001:db8::1"].map(|address| address.parse().unwrap());
        assert!(own.address(one, true).is_none(), "it had not been away");
        assert!(own.address(one, false).is_none() && own.address(other, false).is_none());
        let back = own.address(one, true).unwrap();
        assert_eq!((back.address, back.event.kind), (Some(one), EventKind::AddressChange));
        assert!(back.event.until_ns.is_some_and(|until| until >= back.event.at_ns), "{back:?}");
        assert!(own.address(one, true).is_none(), "it is told once");
        for number in 0..2 * u32::try_from(MAX_STORED_EVENTS).unwrap() {
            own.address(std::net::Ipv4Addr::from_bits(number).into(), false);
        }
        assert!(own.away.len() <= MAX_STORED_EVENTS);
    }

    /// A late thread is no stall while another one runs.
    #[test]
    fn one_late_thread_is_no_stall() {
        let (mut own, _) = occurrences();
        let began = clock::monotonic_now() - Duration::from_secs(20);
        let late = |own: &mut ResponderHostMonitor| {
            let mut before = reading();
            before.monotonic -= 8_100_000_000;
            before.boottime -= 8_100_000_000;
            before.realtime -= 8_100_000_000;
            own.host.clocks = ClockWatch::new(before);
            own.look(std::iter::empty())
        };
        own.host.start = began;
        own.pulse = Arc::new(SchedulingWatch::new(began));
        for tenths in 0..=200 {
            own.pulse.beat(began + Duration::from_millis(100 * tenths));
        }
        assert!(late(&mut own).is_empty(), "the other thread ran all the time");
        own.pulse = Arc::new(SchedulingWatch::new(began));
        own.pulse.beat(began + Duration::from_secs(3));
        for tenths in 30..=200 {
            own.pulse.beat(began + Duration::from_millis(100 * tenths));
        }
        let all = late(&mut own);
        let [told] = &all[..] else { panic!("{all:?}") };
        assert_eq!((told.event.kind, told.event.duration_ns), (EventKind::Pause, Some(3_000_000_000)));
        assert_eq!((told.event.at_ns, told.event.until_ns), (0, Some(3_000_000_000)));
    }

    /// A route change of the responder names where the route leads.
    #[test]
    fn responder_routes_name_the_target() {
        let (own, _) = occurrences();
        let [to, by] = ["0.0.0.0", "198.19.0.1"].map(|address| address.parse().unwrap());
        let gone = own.route((to, 0), by, false);
        assert_eq!((gone.route, gone.event.kind), (Some((to, 0)), EventKind::RouteChange));
        let removed = EventDetail::RouteRemoved { prefix: "0.0.0.0/0".into(), gateway: by };
        assert_eq!(gone.event.detail, Some(removed));
        let told = reported_by_responder(&gone.event, ClockRelation::Shared, own.host.start).unwrap();
        assert_eq!((told.kind, told.location), (EventKind::RouteChange, EventLocation::Responder));
    }

    /// Transitions of a link are events; its first known state is not.
    #[test]
    fn only_link_transitions_are_events() {
        let (mut own, _) = occurrences();
        let mut all = Vec::new();
        own.link("t1", tidings(true, 2), Some(1_500), &mut all);
        own.link("new", tidings(false, 1), Some(1_500), &mut all);
        assert!(all.is_empty(), "{all:?}");
        own.link("t1", tidings(false, 3), Some(1_000), &mut all);
        own.link("t1", tidings(true, 4), Some(1_000), &mut all);
        // Told later than an answer to a question.
        own.link("t1", tidings(false, 3), Some(1_500), &mut all);
        own.link("t1", LinkState { changes: None, ..tidings(false, 0) }, None, &mut all);
        let kinds: Vec<EventKind> = all.iter().map(|one| one.event.kind).collect();
        assert_eq!(
            kinds,
            [EventKind::LinkDown, EventKind::MtuChange, EventKind::LinkUp, EventKind::LinkDown]
        );
        assert!(all.iter().all(|one| one.interface.as_deref() == Some("t1")));
        assert!(all.iter().all(|one| one.event.detection_latency_ns.is_none()), "nobody stood still");
    }

    /// Transitions between two polls state the time between them.
    #[test]
    fn unobserved_transitions_have_a_window() {
        let (mut own, _) = occurrences();
        own.host.looked = clock::monotonic_now() - Duration::from_secs(5);
        own.look(std::iter::empty());
        let mut all = Vec::new();
        own.link("t1", tidings(false, 3), Some(1_500), &mut all);
        assert!(all[0].event.detection_latency_ns >= Some(5_000_000_000), "{all:?}");
        let told = reported_by_responder(&all[0].event, ClockRelation::Shared, own.host.start).unwrap();
        assert_eq!(told.detection_latency_ns, all[0].event.detection_latency_ns);
        own.look(std::iter::empty());
        own.link("t1", tidings(true, 4), Some(1_500), &mut all);
        assert_eq!(all[1].event.detection_latency_ns, None);
    }

    /// A link interruption that the kernel reports in one message is reported.
    #[test]
    fn merged_link_messages_are_reported() {
        let (mut own, _) = occurrences();
        own.host.looked = clock::monotonic_now() - Duration::from_millis(20);
        own.look(std::iter::empty());
        let mut all = Vec::new();
        own.link("t1", tidings(true, 4), Some(1_500), &mut all);
        let kinds: Vec<EventKind> = all.iter().map(|one| one.event.kind).collect();
        assert_eq!(kinds, [EventKind::LinkDown, EventKind::LinkUp]);
        // When it was is found by the packets of that time.
        assert!(all.iter().all(|one| one.event.detection_latency_ns >= Some(20_000_000)), "{all:?}");
    }

    /// The newest events are stored, the others are counted.
    #[test]
    fn older_events_are_counted() {
        let (own, remembered) = occurrences();
        for number in 0..MAX_STORED_EVENTS + 10 {
            own.note(EventDetail::InterfaceUp { interface: number.to_string() });
        }
        let remembered = remembered.lock().unwrap();
        assert_eq!((remembered.events.len(), remembered.forgotten), (MAX_STORED_EVENTS, 10));
        assert_eq!(remembered.events[0].detail, Some(EventDetail::InterfaceUp { interface: "10".into() }));
    }
}
