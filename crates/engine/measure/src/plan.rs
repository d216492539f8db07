//! What is to be sent to one address of a target, and the socket for it.

use std::net::SocketAddr;
use std::sync::Arc;

use romer_endpoint::EndpointError;
use romer_endpoint::card::{Card, Cards, refusal};
use romer_host::host_info;
use romer_host::link::Network;
use romer_host::route::is_of_several_hosts;
use romer_host::socket::{SocketOptions, StampingSocket};
use romer_record::document::ProbeDirection;
use romer_record::manifest::StampRequest;
use romer_traffic::{Payloads, Request, Schedule};

use super::options::{Contents, MeasureOptions, StreamOptions, TTL, floor, payloads, schedule_of};

/// What is to be sent to one address of a target, checked before anybody is called there.
pub(super) struct Plan {
    pub(super) address: SocketAddr,
    pub(super) local: SocketAddr,
    pub(super) card: Option<Arc<Card>>,
    pub(super) traffic: Request,
    pub(super) schedule: Schedule,
    pub(super) payloads: Payloads,
    pub(super) floor: u32,
}

impl Plan {
    /// # Errors
    /// Why nothing can be sent to `address`.
    pub(super) fn new(
        options: &MeasureOptions,
        cards: &Cards,
        stream: &StreamOptions,
        way: ProbeDirection,
        address: SocketAddr,
    ) -> Result<Self, EndpointError> {
        let local = local_address(options, address)?;
        let card =
            if options.stamp == StampRequest::Nic { Some(card(options, cards, address)?) } else { None };
        let contents = Contents::of_run(options);
        let (traffic, schedule) = schedule_of(stream, address, way, contents)?;
        let payloads = payloads(stream, &schedule, way, address, mtu(address, options), contents)?;
        let floor = floor(stream, &schedule, way, contents);
        // What is wrong with where probes are to leave from is told before anybody is called from there.
        bind(options, local, &socket_options(options))?;
        Ok(Self { address, local, card, traffic, schedule, payloads, floor })
    }
}

/// The network card that the probes leave by, switched on.
fn card(options: &MeasureOptions, cards: &Cards, target: SocketAddr) -> Result<Arc<Card>, EndpointError> {
    let interface = options.interface.clone().or_else(|| host_info::route_to(target).ok()?.interface);
    let interface = interface.ok_or_else(|| {
        refusal(
            None,
            romer_host::HostError::Unsuitable("it is not known by which interface the probes leave"),
        )
    })?;
    cards.open(&interface)
}

/// The largest IP packet that the path is known to take: the interface's that was asked for, or the route's.
pub(super) fn mtu(target: SocketAddr, options: &MeasureOptions) -> Option<u32> {
    match &options.interface {
        Some(interface) => host_info::interface_mtu(interface).ok(),
        None => host_info::route_to(target).ok().map(|route| route.mtu),
    }
}

fn interfaces() -> String {
    let links = Network::open(None).and_then(|network| network.links()).unwrap_or_default();
    links.into_iter().map(|link| link.name).collect::<Vec<_>>().join(", ")
}

pub(super) fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}

pub(super) fn local_address(
    options: &MeasureOptions,
    target: SocketAddr,
) -> Result<SocketAddr, EndpointError> {
    match options.source {
        Some(source) if source.is_ipv4() != target.is_ipv4() => Err(EndpointError::Usage(format!(
            "the source is of another family than the target (--source): {source} cannot send to {}; give an address \
             of the same family, or choose the target's with -4 or -6",
            target.ip()
        ))),
        // Where the system does not tell, it says so itself when the socket is opened.
        Some(source) if is_of_several_hosts(source).unwrap_or(false) => Err(EndpointError::Usage(format!(
            "the source is the address of several hosts (--source): {source} is a network's broadcast address, or a group's, and no \
             host sends from there; give an address of this host, or leave it out"
        ))),
        source => Ok(SocketAddr::new(source.unwrap_or(host_info::unspecified(target)), 0)),
    }
}

/// How sockets for what is sent to a target are set up.
pub(super) fn socket_options(options: &MeasureOptions) -> SocketOptions {
    SocketOptions {
        interface: options.interface.clone(),
        dscp: options.dscp,
        ecn: options.ecn,
        ttl: Some(options.ttl.unwrap_or(TTL)),
        priority: options.traffic_control.priority,
        kernel_stamps: options.stamp != StampRequest::User,
        card_stamps: options.stamp == StampRequest::Nic,
        dont_fragment: true,
        path_errors: true,
        ..SocketOptions::default()
    }
}

/// A socket for probes from `local`.
pub(super) fn bind(
    options: &MeasureOptions,
    local: SocketAddr,
    socket_options: &SocketOptions,
) -> Result<StampingSocket, EndpointError> {
    StampingSocket::bind(local, socket_options).map_err(|error| {
        let (place, mend) = match (&options.interface, options.source) {
            (Some(interface), _) if error.errno() == Some(19) => (
                format!("--interface {interface}"),
                format!("name one of this host's interfaces: {}", interfaces()),
            ),
            _ if error.is_permission() && options.traffic_control.priority.is_some() => (
                "--service".into(),
                "a priority above 6 takes CAP_NET_ADMIN: run as root, `sudo setcap cap_net_admin+ep $(command -v romer)`, or \
                 use a lower priority in --marks"
                    .to_string(),
            ),
            (_, Some(source)) => (format!("--source {source}"), "name an address of this host".to_string()),
            _ => (local.to_string(), "see whether the host has an address of this family".to_string()),
        };
        EndpointError::Host { what: "open a socket for the probes", place, source: Box::new(error), mend }
    })
}
