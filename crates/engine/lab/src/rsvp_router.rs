//! The laboratory's router as a transit node of RSVP: it runs the state machine of [`romer_rsvp::Router`] on its two
//! interfaces, and gives admitted flows a class of their own.
//!
//! It works in the network namespace of this process. A separate process removes the queues if this one is killed.

use std::os::fd::AsFd;

use romer_host::clock::monotonic_now;
use romer_host::host_info::interface_mtu;
use romer_host::raw_ipv4::RawIpv4Socket;
use romer_host::socket::wait_any;
use romer_host::watchdog_process::WatchdogProcess;
use romer_rsvp::message::Message;
use romer_rsvp::{
    Arrival, ErrorCode, FlowKey, Flowspec, Hop, Interface, Outgoing, PROTOCOL, Packet, RefreshPeriod,
    Reservation, Router, RouterAction, RouterConfig,
};
use romer_units::random::Seed;
use romer_units::{Duration, LineRate, Prefix};
use romer_wire::ipv4;

use crate::error::LabError;
use crate::reserved_classes::{self, ReservedClasses};
use crate::topology::{Topology, V4_PREFIX, router_addresses};

/// The only argument with which this program removes the queues of a router that is no more. A program that uses [`route`] calls
/// [`router_guard_main`] when it is started so.
pub const ROUTER_GUARD_ARGUMENT: &str = "__lab-router-guard";
/// How often the router looks whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Packets that are read at once from one interface.
const MOST_READ: usize = 64;
/// The longest IPv4 packet.
const LARGEST_PACKET: usize = 65_535;
/// Flows of which the router keeps state.
const MOST_FLOWS: usize = 1_000;

/// What a router reports.
#[derive(Clone, Debug, PartialEq)]
pub enum RouterEvent {
    /// Its queues are there, and it receives messages.
    Ready,
    /// A flow has its rate, or a new one.
    Reserved(Reservation),
    /// A flow has no reservation any more.
    Removed(Reservation),
    /// A request was refused.
    Refused {
        /// The flow.
        flow: FlowKey,
        /// The request.
        flowspec: Flowspec,
        /// The reason.
        code: ErrorCode,
    },
}

/// Removes the queues of a router that was killed.
pub fn router_guard_main() {
    for port in Topology::Router.middle_ports() {
        reserved_classes::remove_all(port.name);
    }
}

/// Reserves on lines of the rate `line`, one in each direction, until `is_ended` says so. A line counts IP packets, as reservations
/// do. They may use all of it.
///
/// # Errors
/// This is no router of a laboratory, the rights are missing (`CAP_NET_RAW`, `CAP_NET_ADMIN`), or `tc` is missing or refuses.
pub fn route(
    line: LineRate,
    seed: Seed,
    is_ended: &dyn Fn() -> bool,
    report: &mut dyn FnMut(RouterEvent),
) -> Result<(), LabError> {
    let [towards_a, towards_b] = Topology::Router.middle_ports().map(|port| port.name);
    let names = [towards_a, towards_b];
    let mut interfaces = Vec::new();
    let mut routes = Vec::new();
    let mut sockets = Vec::new();
    let mut mtus = Vec::new();
    for (number, (name, (address, _))) in names.into_iter().zip(router_addresses()).enumerate() {
        let mtu = interface_mtu(name)?;
        sockets.push(RawIpv4Socket::open_router(PROTOCOL, name)?);
        interfaces.extend(Hop::new(address, 0).map(|address| interface(address, mtu, line)));
        routes.extend(Prefix::new(address.into(), V4_PREFIX).map(|prefix| (prefix, number)));
        mtus.push(mtu);
    }
    let config = RouterConfig { interfaces, routes, period: RefreshPeriod::DEFAULT, most_flows: MOST_FLOWS };
    let unusable = || LabError::Router("its addresses are not those of a router");
    let router = Router::new(config, seed).ok_or_else(unusable)?;
    // It ends, and removes the queues, when this function or this process does.
    let _guardian = WatchdogProcess::running(&[ROUTER_GUARD_ARGUMENT])?;
    let classes = names.into_iter().zip(mtus);
    let classes = classes.map(|(name, mtu)| ReservedClasses::prepare(name, line, mtu));
    let mut node = Node {
        router,
        sockets,
        classes: classes.collect::<Result<_, _>>()?,
        buffer: vec![0; LARGEST_PACKET],
    };
    report(RouterEvent::Ready);
    while !is_ended() {
        node.wait()?;
        node.work(report)?;
    }
    Ok(())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "RSVP has bandwidths in single precision, and rates of lines are whole"
)]
fn interface(address: Hop, mtu: u32, line: LineRate) -> Interface {
    Interface {
        address,
        mtu,
        bandwidth: line.bits() as f32 / 8.0,
        reservable: line.bits() as f64 / 8.0,
        latency: None,
    }
}

/// A router with its sockets and queues, by the numbers of its interfaces.
struct Node {
    router: Router,
    sockets: Vec<RawIpv4Socket>,
    classes: Vec<ReservedClasses>,
    buffer: Vec<u8>,
}

impl Node {
    /// Waits for a message or a deadline, at most [`POLL_INTERVAL`].
    fn wait(&self) -> Result<(), LabError> {
        let now = monotonic_now();
        let latest = now + POLL_INTERVAL;
        let until = self.router.deadline().map_or(latest, |deadline| deadline.min(latest));
        let descriptors: Vec<_> = self.sockets.iter().map(AsFd::as_fd).collect();
        wait_any(&descriptors, None, Some(until - now))?;
        Ok(())
    }

    /// Does what is due, and reads what has arrived.
    fn work(&mut self, report: &mut dyn FnMut(RouterEvent)) -> Result<(), LabError> {
        let actions = self.router.expire(monotonic_now());
        self.perform(actions, report)?;
        for interface in 0..self.sockets.len() {
            for _ in 0..MOST_READ {
                let Some(socket) = self.sockets.get(interface) else { break };
                // An error of an earlier packet is reported once, and ends nothing.
                let Ok(Some(octets)) = socket.receive(&mut self.buffer) else { break };
                let Ok(packet) = ipv4::Packet::parse(octets) else { continue };
                let arrival = Arrival { interface, ttl: packet.ttl(), octets: packet.payload() };
                let actions = self.router.receive(&arrival, monotonic_now());
                self.perform(actions, report)?;
            }
        }
        Ok(())
    }

    fn perform(
        &mut self,
        actions: Vec<RouterAction>,
        report: &mut dyn FnMut(RouterEvent),
    ) -> Result<(), LabError> {
        for action in actions {
            match action {
                RouterAction::Send(packet) => self.send(&packet, report),
                RouterAction::Install(reservation) => {
                    if let Some(classes) = self.classes.get_mut(reservation.interface) {
                        classes.install(&reservation)?;
                    }
                    report(RouterEvent::Reserved(reservation));
                }
                RouterAction::Remove(reservation) => {
                    if let Some(classes) = self.classes.get_mut(reservation.interface) {
                        classes.remove(&reservation.flow)?;
                    }
                    report(RouterEvent::Removed(reservation));
                }
                // Messages of other programs arrive too.
                RouterAction::Discarded(_) => {}
            }
        }
        Ok(())
    }

    fn send(&self, packet: &Outgoing, report: &mut dyn FnMut(RouterEvent)) {
        if let (Some(socket), Ok(octets)) = (self.sockets.get(packet.interface), packet.to_ipv4()) {
            // What is not sent is sent again with the next refresh.
            let _ = socket.send(&octets, packet.destination);
        }
        if let Some(refused) = refusal(packet) {
            report(refused);
        }
    }
}

/// What a packet says, if it is this router's own refusal.
fn refusal(packet: &Outgoing) -> Option<RouterEvent> {
    let Message::ResvErr { session, error, flow: Some(flow), .. } =
        Packet::parse(&packet.octets).ok()?.message
    else {
        return None;
    };
    let flowspec = flow.flowspec.filter(|_| error.node == packet.source)?;
    let key = FlowKey { session: session.key(), source: flow.filter };
    Some(RouterEvent::Refused { flow: key, flowspec, code: error.code })
}
