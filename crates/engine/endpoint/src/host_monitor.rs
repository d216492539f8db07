//! The monitor of a host's clocks, network and queues, which both ends of a measurement use.
//!
//! It detects changes and makes their events. To which sessions or streams an event belongs is decided by the monitors of the two
//! ends ([`crate::responder_host_monitor`], and the one of the initiator in `romer-measure`).

use std::collections::BTreeMap;
use std::net::IpAddr;

use romer_clock::SyncWatch;
use romer_clock::steps::{ClockChange, ClockWatch};
use romer_host::clock;
use romer_host::watch::{NetworkChange, Watch};
use romer_record::document::ClockSync;
use romer_record::event::{Event, EventDetail, EventKind, EventLocation};
use romer_units::{Duration, Monotonic, Timestamp};

use crate::clock_sync::{clock_sync, renew};
use crate::host_events::{clock_event, detailed, event, noticed_late, reading, route_change};
use crate::interface::{LinkState, LinkTransition};
use crate::queues::QueueWatch;

/// Time between two looks at the synchronisation of the clock.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// The present state of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkNews {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: LinkState,
    /// Its MTU, bytes; `None` if it was removed.
    pub mtu: Option<u32>,
}

/// A change of the network of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostChange {
    /// The state of an interface, which need not differ from before.
    Link(LinkNews),
    /// An address was added or removed.
    Address {
        /// The address.
        address: IpAddr,
        /// Whether it was added.
        added: bool,
    },
    /// A route was added or removed.
    Route {
        /// Its destinations begin with this address.
        to: IpAddr,
        /// Number of the leading bits of `to` that count.
        prefix: u8,
        /// The next router, if it has one.
        gateway: Option<IpAddr>,
        /// Whether it was added.
        added: bool,
    },
    /// There were more changes than the kernel stored.
    Missed,
}

impl From<NetworkChange> for HostChange {
    fn from(change: NetworkChange) -> Self {
        match change {
            NetworkChange::Link { interface, name, up, mtu, carrier_changes, .. } => {
                let state = LinkState { up, index: interface, changes: carrier_changes };
                Self::Link(LinkNews { name, state, mtu })
            }
            NetworkChange::Address { address, added, .. } => Self::Address { address, added },
            NetworkChange::Route { to, prefix, gateway, added, .. } => {
                Self::Route { to, prefix, gateway, added }
            }
            NetworkChange::Missed => Self::Missed,
        }
    }
}

/// Monitors the host at one end of a measurement.
#[derive(Debug)]
pub struct HostMonitor {
    location: EventLocation,
    /// The moment from which the times of events are counted.
    pub(crate) start: Timestamp<Monotonic>,
    /// `None` if the system does not report changes of the network.
    pub(crate) watch: Option<Watch>,
    pub(crate) clocks: ClockWatch,
    sync: SyncWatch,
    /// When the next look at the synchronisation of the clock is due.
    sync_due: Timestamp<Monotonic>,
    queues: QueueWatch,
    /// When the network was looked at.
    pub(crate) looked: Timestamp<Monotonic>,
    /// Time between the last two looks at the network.
    since_look: Duration,
}

impl HostMonitor {
    /// Begins to monitor the host of this `side`, in the network namespace of the current thread. The times of events are counted
    /// from `start`.
    pub fn begin(location: EventLocation, start: Timestamp<Monotonic>) -> Self {
        Self {
            location,
            start,
            watch: Watch::new().ok(),
            clocks: ClockWatch::new(reading()),
            sync: SyncWatch::new(clock_sync()),
            sync_due: clock::monotonic_now() + SYNC_INTERVAL,
            queues: QueueWatch::begin(),
            looked: clock::monotonic_now(),
            since_look: Duration::ZERO,
        }
    }

    /// The moment from which the times of events are counted.
    pub const fn start(&self) -> Timestamp<Monotonic> {
        self.start
    }

    /// Waits up to `time`, or until the network changes.
    pub fn wait(&self, time: Duration) {
        let waited = self.watch.as_ref().map(|watch| watch.wait(time));
        if !matches!(waited, Some(Ok(()))) {
            std::thread::sleep(time.to_std());
        }
    }

    /// An event of now at this host, without a detail.
    pub fn event(&self, kind: EventKind) -> Event {
        event(kind, self.location, self.start)
    }

    /// An event of now at this host.
    pub fn detailed(&self, detail: EventDetail) -> Event {
        detailed(detail, self.location, self.start)
    }

    /// The changes of the clocks since the last call, with their events.
    pub fn clock_changes(&mut self) -> Vec<(ClockChange, Event)> {
        let changes = self.clocks.look(reading()).into_iter();
        changes.map(|change| (change, clock_event(change, self.location, self.start))).collect()
    }

    /// The changes of the clock's synchronisation since the last look, which is due each second, or if `now`; `None` if none is due.
    /// If `renews`, its daemons are asked again in the background where their last answers are old.
    pub fn clock_sync_changes(&mut self, renews: bool, now: bool) -> Option<Vec<Event>> {
        let time = clock::monotonic_now();
        if !now && time < self.sync_due {
            return None;
        }
        self.sync_due = time + SYNC_INTERVAL;
        if renews {
            renew();
        }
        let changes = self.sync.look(clock_sync()).into_iter();
        Some(changes.map(|change| detailed(change, self.location, self.start)).collect())
    }

    /// The synchronisation of the clock at the last look, with the largest bound of its error since the begin.
    pub fn clock_sync(&self) -> ClockSync {
        self.sync.state()
    }

    /// Bound of the clock's error at the last look, nanoseconds; `None` if this host states none.
    pub fn clock_error_bound_ns(&self) -> Option<i64> {
        self.sync.error_bound_ns()
    }

    /// The changes of the network since the last call, as far as the kernel reports them.
    pub fn network_changes(&mut self) -> Vec<HostChange> {
        let now = clock::monotonic_now();
        self.since_look = now - std::mem::replace(&mut self.looked, now);
        let changes = self.watch.as_mut().map(Watch::changes).unwrap_or_default();
        changes.into_iter().map(HostChange::from).collect()
    }

    /// The present state of the interface `name`; `None` if it does not exist or cannot be asked.
    pub fn link(&self, name: &str) -> Option<LinkNews> {
        match self.watch.as_ref()?.link(name).map(HostChange::from)? {
            HostChange::Link(news) => Some(news),
            HostChange::Address { .. } | HostChange::Route { .. } | HostChange::Missed => None,
        }
    }

    /// The event of a transition of the interface `name`: now, or at some moment since the last look.
    pub fn link_event(&self, name: &str, transition: LinkTransition) -> Event {
        let detection_latency_ns = noticed_late(transition, self.since_look);
        Event { detection_latency_ns, ..self.detailed(transition.detail(name)) }
    }

    /// The event of a changed MTU of the interface `name`.
    pub fn mtu_event(&self, name: &str, mtu_before: u32, mtu: u32) -> Event {
        let detail = EventDetail::InterfaceMtu { interface: name.to_owned(), mtu_before };
        Event { mtu: Some(mtu), ..self.detailed(detail) }
    }

    /// The event of a route to the addresses `to` that was added or removed.
    pub fn route_event(&self, to: (IpAddr, u8), gateway: IpAddr, added: bool) -> Event {
        self.detailed(route_change(to, gateway, added))
    }

    /// Packets that the queues of the interfaces `used` (by index, with their names) dropped since the last call: an event for each
    /// interface, with its name.
    pub fn queue_drops(&mut self, used: &BTreeMap<u32, String>) -> Vec<(String, Event)> {
        let (location, start) = (self.location, self.start);
        let drops = self.queues.look(used).into_iter();
        drops
            .map(|drops| {
                let event = drops.event(location, start);
                (drops.interface, event)
            })
            .collect()
    }

    /// When the next look at the queues is due.
    pub fn queues_due(&self) -> Timestamp<Monotonic> {
        self.queues.due()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transition between two looks that were far apart states how late it may have been noticed.
    #[test]
    fn late_transitions_state_their_latency() {
        let mut monitor = HostMonitor::begin(EventLocation::Sender, clock::monotonic_now());
        monitor.watch = None;
        monitor.network_changes();
        let down = LinkTransition { kind: EventKind::LinkDown, times: 1, is_gathered: false };
        assert_eq!(monitor.link_event("t0", down).detection_latency_ns, None);
        monitor.looked = clock::monotonic_now() - Duration::from_secs(5);
        assert_eq!(monitor.network_changes(), []);
        let event = monitor.link_event("t0", down);
        assert!(event.detection_latency_ns >= Some(5_000_000_000), "{event:?}");
        assert_eq!(event.location, EventLocation::Sender);
    }

    /// The synchronisation of the clock is looked at each second, and when it is requested.
    #[test]
    fn clock_sync_is_looked_at_when_due() {
        let mut monitor = HostMonitor::begin(EventLocation::Sender, clock::monotonic_now());
        monitor.sync_due = clock::monotonic_now() + Duration::from_secs(3_600);
        assert!(monitor.clock_sync_changes(false, false).is_none());
        assert!(monitor.clock_sync_changes(false, true).is_some());
        monitor.sync_due = clock::monotonic_now();
        assert!(monitor.clock_sync_changes(false, false).is_some());
        assert_eq!(monitor.clock_error_bound_ns(), monitor.clock_sync().error_bound_ns());
    }

    /// A changed MTU is stated with the one before.
    #[test]
    fn changed_mtu_has_both_values() {
        let monitor = HostMonitor::begin(EventLocation::Responder, clock::monotonic_now());
        let event = monitor.mtu_event("t1", 1_500, 1_000);
        assert_eq!((event.kind, event.mtu), (EventKind::MtuChange, Some(1_000)));
        let detail = EventDetail::InterfaceMtu { interface: "t1".into(), mtu_before: 1_500 };
        assert_eq!(event.detail, Some(detail));
    }
}
