//! A router that reserves bandwidth: it keeps path and reservation state, admits reservations by their rate, and refreshes its
//! neighbours.
//!
//! Each flow has one receiver and its own reservation (fixed filter), so that reservations are never merged. The rules for
//! merging, and the blockade state that they need (RFC 2205 section 3.5), have no effect then.

mod path;
mod reservation;

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use romer_units::Prefix;
use romer_units::random::Seed;

use crate::adspec::PathElement;
use crate::flowspec::Flowspec;
use crate::message::{Forwarded, Message, Packet, Rejection, SenderDescriptor};
use crate::node::{Arrival, Discard, Envelope, Outgoing, TTL};
use crate::object::{Confirm, Filter, Hop, RefreshPeriod, Session, SessionKey};
use crate::soft_state::{Moment, RefreshTimes};

/// A router's interface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interface {
    /// Its address.
    pub address: Hop,
    /// Its MTU, in octets of IP packet.
    pub mtu: u32,
    /// The bandwidth of its link, in octets/s; above 0.
    pub bandwidth: f32,
    /// The rate that reservations may have in all, in octets/s.
    pub reservable: f64,
    /// The least latency through the router and the link, in microseconds, if known.
    pub latency: Option<u32>,
}

/// What a router is.
#[derive(Clone, Debug, PartialEq)]
pub struct RouterConfig {
    /// Its interfaces; their numbers are the indices.
    pub interfaces: Vec<Interface>,
    /// Destinations and the numbers of the interfaces to them. The first match counts.
    pub routes: Vec<(Prefix, usize)>,
    /// The refresh period.
    pub period: RefreshPeriod,
    /// The most flows of which it keeps state.
    pub most_flows: usize,
}

/// What identifies a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowKey {
    /// The session.
    pub session: SessionKey,
    /// The sender.
    pub source: Filter,
}

/// A reservation in place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reservation {
    /// The flow.
    pub flow: FlowKey,
    /// The number of the interface through which the flow leaves.
    pub interface: usize,
    /// The request.
    pub flowspec: Flowspec,
    /// The end of its lifetime, unless it is refreshed.
    pub expires: Moment,
}

/// What a router does.
#[derive(Clone, Debug, PartialEq)]
pub enum RouterAction {
    /// Send a packet.
    Send(Outgoing),
    /// Give the flow its rate at its interface, or change the rate.
    Install(Reservation),
    /// The flow has no reservation any more.
    Remove(Reservation),
    /// A packet was ignored, or one could not be sent.
    Discarded(Discard),
}

#[derive(Clone, Debug)]
struct Reserved {
    flowspec: Flowspec,
    next: Hop,
    confirm: Option<Confirm>,
    forwarded: Forwarded,
    expires: Moment,
    refresh_at: Moment,
}

#[derive(Clone, Debug)]
struct FlowState {
    session: Session,
    previous: Hop,
    arrives: usize,
    leaves: usize,
    /// The TTL of Path messages that leave.
    ttl: u8,
    sender: SenderDescriptor,
    breaks_path: bool,
    forwarded: Forwarded,
    expires: Moment,
    refresh_at: Moment,
    reserved: Option<Reserved>,
}

impl FlowState {
    const fn key(&self) -> FlowKey {
        FlowKey { session: self.session.key(), source: self.sender.template }
    }
    fn reservation(&self) -> Option<Reservation> {
        let Reserved { flowspec, expires, .. } = *self.reserved.as_ref()?;
        Some(Reservation { flow: self.key(), interface: self.leaves, flowspec, expires })
    }
}

/// A router. Call [`Router::receive`] for each RSVP packet that arrives, also for those with Router Alert that have another
/// destination, and [`Router::expire`] at [`Router::deadline`]. Times must not decrease.
#[derive(Clone, Debug)]
pub struct Router {
    config: RouterConfig,
    refreshes: RefreshTimes,
    flows: BTreeMap<FlowKey, FlowState>,
}

type Actions = Vec<RouterAction>;

impl Router {
    /// A router without state. `None` if a route leads to an interface that does not exist.
    pub fn new(config: RouterConfig, seed: Seed) -> Option<Self> {
        let exists = |route: &(Prefix, usize)| route.1 < config.interfaces.len();
        let refreshes = RefreshTimes::new(config.period, seed);
        config.routes.iter().all(exists).then(|| Self { config, refreshes, flows: BTreeMap::new() })
    }

    /// The flows of which there is path state.
    pub fn paths(&self) -> impl Iterator<Item = FlowKey> {
        self.flows.keys().copied()
    }
    /// The reservations in place.
    pub fn reservations(&self) -> impl Iterator<Item = Reservation> {
        self.flows.values().filter_map(FlowState::reservation)
    }
    /// The rate of all reservations at an interface, in octets/s.
    pub fn reserved_rate(&self, interface: usize) -> f64 {
        let at = self.reservations().filter(|reservation| reservation.interface == interface);
        at.map(|reservation| f64::from(reservation.flowspec.rate())).sum()
    }

    /// The time at which [`Router::expire`] has something to do.
    pub fn deadline(&self) -> Option<Moment> {
        let times = |state: &FlowState| {
            let reserved = state.reserved.as_ref().map(|reserved| reserved.expires.min(reserved.refresh_at));
            let path = state.expires.min(state.refresh_at);
            reserved.map_or(path, |reserved| reserved.min(path))
        };
        self.flows.values().map(times).min()
    }

    /// Does what is due at `now`. State that ends is removed in the neighbours too.
    pub fn expire(&mut self, now: Moment) -> Vec<RouterAction> {
        let mut actions = Actions::new();
        let keys: Vec<FlowKey> = self.flows.keys().copied().collect();
        for key in keys {
            self.expire_flow(key, now, &mut actions);
        }
        actions
    }

    fn expire_flow(&mut self, key: FlowKey, now: Moment, actions: &mut Actions) {
        let Some(state) = self.flows.get_mut(&key) else { return };
        if state.expires <= now {
            self.remove_path(key, Forwarded::new(), actions);
            return;
        }
        let refresh_path = state.refresh_at <= now;
        if refresh_path {
            state.refresh_at = self.refreshes.next(now);
        }
        let mut refresh_reservation = false;
        let mut expired = false;
        if let Some(reserved) = &mut state.reserved {
            expired = reserved.expires <= now;
            refresh_reservation = !expired && reserved.refresh_at <= now;
            if refresh_reservation {
                reserved.refresh_at = self.refreshes.next(now);
            }
        }
        if refresh_path {
            self.send_path(key, actions);
        }
        if expired {
            self.remove_reservation(key, Forwarded::new(), actions);
        }
        if refresh_reservation {
            self.send_reservation(key, actions);
        }
    }

    /// Reads a packet.
    pub fn receive(&mut self, arrival: &Arrival<'_>, now: Moment) -> Vec<RouterAction> {
        let mut actions = self.expire(now);
        let Packet { send_ttl, message } = match Packet::parse(arrival.octets) {
            Ok(packet) => packet,
            Err(rejection) => {
                self.reject(rejection, arrival.interface, &mut actions);
                return actions;
            }
        };
        let result = match message {
            Message::Path { session, hop, period, sender, forwarded } => {
                let breaks_path = arrival.ttl != send_ttl;
                let announced = path::Announcement { session, hop, period, sender, forwarded, breaks_path };
                self.receive_path(announced, arrival, now, &mut actions)
            }
            Message::PathTear { session, hop, sender, forwarded } => {
                let flow = FlowKey { session: session.key(), source: sender.template };
                self.receive_path_tear(flow, hop, forwarded, &mut actions)
            }
            message @ Message::PathErr { .. } => self.forward_path_error(message, &mut actions),
            Message::Resv { session, hop, period, confirm, flows, forwarded } => {
                let common =
                    reservation::Request { session, hop, period, confirm, forwarded, arrival: *arrival };
                self.receive_reservations(&common, &flows, now, &mut actions);
                Ok(())
            }
            Message::ResvTear { session, flows, forwarded, .. } => {
                self.receive_reservation_tear(session, &flows, &forwarded, arrival, &mut actions)
            }
            message @ Message::ResvErr { .. } => self.forward_reservation_error(message, &mut actions),
            message @ Message::ResvConf { .. } => self.forward_confirmation(message, &mut actions),
        };
        actions.extend(result.err().map(RouterAction::Discarded));
        actions
    }

    fn reject(&self, rejection: Rejection, interface: usize, actions: &mut Actions) {
        if let Some(from) = self.config.interfaces.get(interface)
            && let Some((to, report)) = rejection.report(from.address.address())
        {
            self.send_to(interface, to, report, actions);
        }
        actions.push(RouterAction::Discarded(Discard::Rejected(rejection)));
    }

    fn interface(&self, number: usize) -> Option<&Interface> {
        self.config.interfaces.get(number)
    }
    /// The number of the interface towards `destination`.
    fn route(&self, destination: Ipv4Addr) -> Option<usize> {
        let mut routes = self.config.routes.iter();
        routes.find(|(prefix, _)| prefix.contains(destination.into())).map(|(_, interface)| *interface)
    }
    fn is_own(&self, address: Ipv4Addr) -> bool {
        self.config.interfaces.iter().any(|interface| interface.address.address() == address)
    }

    /// Sends `message` from the interface's own address.
    fn send_to(&self, interface: usize, destination: Ipv4Addr, message: Message, actions: &mut Actions) {
        let Some(from) = self.interface(interface) else { return };
        let source = from.address.address();
        seal(Envelope { interface, source, destination, ttl: TTL }, message, actions);
    }
}

fn seal(envelope: Envelope, message: Message, actions: &mut Actions) {
    actions.push(envelope.seal(message).map_or_else(RouterAction::Discarded, RouterAction::Send));
}

impl Interface {
    /// What the interface adds to the properties of the path of packets of at most `packet_size` octets. It is scheduled by
    /// weighted fair queueing, so C is the packet size and D the duration of a packet of the MTU (RFC 2212, "Exported
    /// Information").
    fn element(&self, packet_size: u32) -> PathElement {
        let micros = f64::from(self.mtu) / f64::from(self.bandwidth) * 1e6;
        PathElement {
            bandwidth: self.bandwidth,
            latency: self.latency,
            mtu: self.mtu,
            c: packet_size,
            d: whole(micros.ceil()),
        }
    }
}

/// A whole number; beyond the range its nearest end.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
const fn whole(value: f64) -> u32 {
    value as u32
}
