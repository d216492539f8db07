//! Events of a host, as initiator and responder detect them, and the monitor of the host of a responder.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use romer_clock::steps::{ClockChange, ClockReadings, ClockWatch};
use romer_host::clock;
use romer_host::host_info::{self, PacketTooBigHandling};
use romer_host::link::Network;
use romer_host::watch::{NetworkChange, Watch, read_clocks};
use romer_record::event::{Event, EventDetail, EventKind, EventLocation, TEXT_LENGTH_MAX, Unsent};
use romer_record::manifest::ClockRelation;
use romer_units::{Duration, Monotonic, Timestamp};

use crate::interface::{LinkState, LinkTransition};
use crate::overflow::Overflow;
use crate::queues::QueueWatch;
use crate::scheduling_watch::SchedulingWatch;

/// Events that a responder remembers: the latest.
const MAX_STORED_EVENTS: usize = 256;
/// Whoever has not looked for so long has not been told of what happened when it did: its program stood still.
pub const UNWATCHED: Duration = romer_singletons::UNWATCHED;
/// Between two questions to an interface how it is.
const QUESTIONS: Duration = Duration::from_millis(20);

/// All clocks of this host, as a [`ClockWatch`] wants them.
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
fn between(now: Event, between: [Timestamp<Monotonic>; 2], start: Timestamp<Monotonic>) -> Event {
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
    let is_of_clock = matches!(told.kind, EventKind::ClockStep | EventKind::Suspend);
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
    watch: Option<Watch>,
    clocks: ClockWatch,
    /// Of the responder's threads: that one of them has not looked for long does not mean that it stood still.
    pulse: Arc<SchedulingWatch>,
    start: Timestamp<Monotonic>,
    links: BTreeMap<String, WatchedInterface>,
    queues: QueueWatch,
    /// Interfaces that were used when it last looked.
    queues_of: BTreeSet<String>,
    remembered: Arc<Mutex<Remembered>>,
    /// Addresses that were taken away, and when: the latest of them.
    away: Vec<(IpAddr, Timestamp<Monotonic>)>,
    /// The last look.
    looked: Timestamp<Monotonic>,
    /// How long before this look the one before it was.
    since_look: Duration,
    /// When interfaces are asked again.
    next_question: Timestamp<Monotonic>,
}

/// How much later than it was what an interface did may have been noticed, `since_look` after the look before: nothing is said of
/// little, unless it was told of together with what followed, and its moment is still to be found.
pub fn noticed_late(deed: LinkTransition, since_look: Duration) -> Option<i64> {
    (since_look > UNWATCHED || deed.is_gathered).then_some(since_look.as_nanos())
}

impl ResponderHostMonitor {
    /// Begins to watch the network namespace of the current thread, and the clocks. Where the system gives no watch of
    /// the network, only the clocks are watched.
    pub fn begin(remembered: Arc<Mutex<Remembered>>, pulse: Arc<SchedulingWatch>) -> Self {
        let watch = Watch::new().ok();
        let links = Network::open(None).and_then(|network| network.links()).unwrap_or_default();
        let links = links.into_iter().map(|link| {
            (link.name, WatchedInterface { tidings: LinkState::unknown(link.running), mtu: Some(link.mtu) })
        });
        Self {
            watch,
            clocks: ClockWatch::new(reading()),
            pulse,
            start: clock::monotonic_now(),
            links: links.collect(),
            queues: QueueWatch::begin(),
            queues_of: BTreeSet::new(),
            remembered,
            away: Vec::new(),
            looked: clock::monotonic_now(),
            since_look: Duration::ZERO,
            next_question: clock::monotonic_now(),
        }
    }

    /// What has happened since the last look. Those of the interfaces that are `used` are asked how they are, every now and then.
    pub fn look<'a>(&mut self, used: impl Iterator<Item = &'a str>) -> Vec<Occurrence> {
        let start = self.start;
        let now = clock::monotonic_now();
        self.since_look = now - std::mem::replace(&mut self.looked, now);
        self.pulse.beat(now);
        let changes = self.clocks.look(reading()).into_iter();
        // By its own looks this thread cannot tell whether another has worked.
        let mut all: Vec<Event> = changes
            .filter(|change| !matches!(change, ClockChange::Paused(_)))
            .map(|change| clock_event(change, EventLocation::Responder, start))
            .collect();
        all.extend(self.pulse.standstill().map(|[from, until]| {
            let now = event(EventKind::Pause, EventLocation::Responder, start);
            let pause = between(now, [from, until], start);
            Event { duration_ns: Some((until - from).as_nanos()), ..pause }
        }));
        let own = |event| Occurrence { interface: None, address: None, route: None, event };
        let mut all: Vec<Occurrence> = all.into_iter().map(own).collect();
        let mut changes = self.watch.as_mut().map(Watch::changes).unwrap_or_default();
        if let Some(watch) = self.watch.as_ref().filter(|_| now >= self.next_question) {
            self.next_question = now + QUESTIONS;
            let used: BTreeSet<&str> = used.collect();
            changes.extend(used.into_iter().filter_map(|name| watch.link(name)));
        }
        for change in changes {
            match change {
                NetworkChange::Link { interface, name, up, mtu, carrier_changes, .. } => {
                    let tidings = LinkState { up, index: interface, changes: carrier_changes };
                    self.link(&name, tidings, mtu, &mut all);
                }
                NetworkChange::Missed => {
                    all.push(Occurrence {
                        interface: None,
                        address: None,
                        route: None,
                        event: detailed(EventDetail::NetworkChanges, EventLocation::Responder, start),
                    });
                }
                NetworkChange::Address { address, added, .. } => {
                    all.extend(self.address(address, added));
                }
                NetworkChange::Route { to, prefix, gateway: Some(gateway), added, .. } => {
                    all.push(self.route((to, prefix), gateway, added));
                }
                NetworkChange::Route { .. } => {}
            }
        }
        all.iter().for_each(|occurrence| self.remember(&occurrence.event));
        all
    }

    /// What the queues of the interfaces that are `used` have dropped since the last look, if another is due, or `now`. One that was
    /// not used then is looked at at once, so that it is known what it had dropped before.
    pub fn look_at_queues<'a>(&mut self, used: impl Iterator<Item = &'a str>, now: bool) -> Vec<Occurrence> {
        let names: BTreeSet<&str> = used.collect();
        let is_new = names.iter().any(|name| !self.queues_of.contains(*name));
        if !now && !is_new && clock::monotonic_now() < self.queues.due() {
            return Vec::new();
        }
        self.queues_of = names.iter().map(|name| (*name).to_owned()).collect();
        let index = |name: &str| match self.watch.as_ref()?.link(name)? {
            NetworkChange::Link { interface, .. } => Some(interface),
            _ => None,
        };
        let used = names.into_iter().filter_map(|name| Some((index(name)?, name.to_owned()))).collect();
        let drops = self.queues.look(&used).into_iter();
        drops
            .map(|drops| Occurrence {
                event: drops.event(EventLocation::Responder, self.start),
                interface: Some(drops.interface),
                address: None,
                route: None,
            })
            .collect()
    }

    /// Something else happened to this end.
    pub fn note(&self, detail: EventDetail) -> Event {
        self.note_over(detail, Duration::ZERO)
    }

    /// The same of what began `length` ago, and is over.
    pub fn note_over(&self, detail: EventDetail, length: Duration) -> Event {
        let mut event = detailed(detail, EventLocation::Responder, self.start);
        if length > Duration::ZERO {
            event = event.over(length.as_nanos());
        }
        self.remember(&event);
        event
    }

    /// The same of what was between these moments.
    pub fn note_between(&self, detail: EventDetail, moments: [Timestamp<Monotonic>; 2]) -> Event {
        let event = between(detailed(detail, EventLocation::Responder, self.start), moments, self.start);
        self.remember(&event);
        event
    }

    /// Datagrams found a full socket of this end.
    pub fn overflowed(&self, overflow: &Overflow) -> Event {
        let event = overflow.event(EventLocation::Responder, self.start);
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
        let event = detailed(EventDetail::AddressRestored { address }, EventLocation::Responder, self.start);
        let event = Event { duration_ns: Some(length.as_nanos()), ..event.over(length.as_nanos()) };
        Some(Occurrence { interface: None, address: Some(address), route: None, event })
    }

    /// A route of this host came or went: what is sent to where it leads goes another way from now on, or not at all.
    fn route(&self, (to, prefix): (IpAddr, u8), gateway: IpAddr, added: bool) -> Occurrence {
        let event =
            detailed(route_change((to, prefix), gateway, added), EventLocation::Responder, self.start);
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
        let mut tell = |detail, detection_latency_ns| {
            let event =
                Event { detection_latency_ns, ..detailed(detail, EventLocation::Responder, self.start) };
            all.push(Occurrence { interface: Some(name.to_owned()), address: None, route: None, event });
        };
        for deed in deeds {
            tell(deed.detail(name), noticed_late(deed, self.since_look));
        }
        if let (Some(before), Some(now)) = (before.mtu, mtu)
            && before != now
        {
            tell(EventDetail::InterfaceMtu { interface: name.to_owned(), mtu_before: before }, None);
            if let Some(told) = all.last_mut() {
                told.event.mtu = Some(now);
            }
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
    use romer_record::event::ClockStep;
    use romer_record::plausible::{MOMENTS, SPANS};

    use super::*;

    const fn tidings(up: bool, changes: u32) -> LinkState {
        LinkState { up, index: 7, changes: Some(changes) }
    }

    fn occurrences() -> (ResponderHostMonitor, Arc<Mutex<Remembered>>) {
        let remembered = Arc::new(Mutex::new(Remembered::default()));
        let own = ResponderHostMonitor {
            watch: None,
            clocks: ClockWatch::new(reading()),
            pulse: Arc::new(SchedulingWatch::new(clock::monotonic_now())),
            start: clock::monotonic_now(),
            links: BTreeMap::from([(
                "t1".to_owned(),
                WatchedInterface { tidings: tidings(true, 2), mtu: Some(1_500) },
            )]),
            queues: QueueWatch::begin(),
            queues_of: BTreeSet::new(),
            remembered: Arc::clone(&remembered),
            away: Vec::new(),
            looked: clock::monotonic_now(),
            since_look: Duration::ZERO,
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
            own.clocks = ClockWatch::new(before);
            own.look(std::iter::empty())
        };
        own.start = began;
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

    /// A route change of the responder names where the route leads.
    #[test]
    fn responder_routes_name_the_target() {
        let (own, _) = occurrences();
        let [to, by] = ["0.0.0.0", "198.19.0.1"].map(|address| address.parse().unwrap());
        let gone = own.route((to, 0), by, false);
        assert_eq!((gone.route, gone.event.kind), (Some((to, 0)), EventKind::RouteChange));
        let removed = EventDetail::RouteRemoved { prefix: "0.0.0.0/0".into(), gateway: by };
        assert_eq!(gone.event.detail, Some(removed));
        let told = reported_by_responder(&gone.event, ClockRelation::Shared, own.start).unwrap();
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
        own.looked = clock::monotonic_now() - Duration::from_secs(5);
        own.look(std::iter::empty());
        let mut all = Vec::new();
        own.link("t1", tidings(false, 3), Some(1_500), &mut all);
        assert!(all[0].event.detection_latency_ns >= Some(5_000_000_000), "{all:?}");
        let told = reported_by_responder(&all[0].event, ClockRelation::Shared, own.start).unwrap();
        assert_eq!(told.detection_latency_ns, all[0].event.detection_latency_ns);
        own.look(std::iter::empty());
        own.link("t1", tidings(true, 4), Some(1_500), &mut all);
        assert_eq!(all[1].event.detection_latency_ns, None);
    }

    /// A link interruption that the kernel reports in one message is reported.
    #[test]
    fn merged_link_messages_are_reported() {
        let (mut own, _) = occurrences();
        own.looked = clock::monotonic_now() - Duration::from_millis(20);
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
