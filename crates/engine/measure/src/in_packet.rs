//! Programs of this host's kernel that write time stamps into probes and replies.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use romer_bpf::stamper::{PacketStamper, StampingEnd};
use romer_endpoint::EndpointError;
use romer_endpoint::in_packet::{atomic_ahead, refusal};
use romer_endpoint::names::with_zone;
use romer_host::link::Network;
use romer_host::{HostError, host_info};

use super::options::MeasureOptions;
use super::prepared::Prepared;

/// The interface of packets to this host itself.
const LOOPBACK: &str = "lo";

/// Refuses what in-packet stamps cannot be combined with.
///
/// # Errors
/// [`EndpointError::Usage`].
pub(super) fn check(options: &MeasureOptions) -> Result<(), EndpointError> {
    if !options.has_in_packet_stamps() {
        return Ok(());
    }
    if options.direction.is_one_way() {
        return Err(EndpointError::Usage(
            "options cannot be combined (--stamp in-packet, --direction): the packets have to return; choose round-trip".into(),
        ));
    }
    if options.is_authenticated() {
        return Err(EndpointError::Usage(
            "options cannot be combined (--stamp in-packet, --key-file or --authenticate): the programs change the packets; leave one of them out"
                .into(),
        ));
    }
    Ok(())
}

/// Attaches the programs to the interfaces by which these streams leave, if they are to have in-packet stamps.
///
/// # Errors
/// [`EndpointError::Host`]: no interface is known, or the kernel refuses the programs.
pub(super) fn attach(streams: &[Prepared]) -> Result<Option<PacketStamper>, EndpointError> {
    let (mut interfaces, mut own) = (BTreeSet::new(), BTreeSet::new());
    let network = Network::open(None).map_err(|error| refusal(LOOPBACK, error))?;
    for stream in streams.iter().filter(|stream| stream.shared.in_packet_stamps) {
        let shared = &stream.shared;
        let refused = |source| refusal(with_zone(shared.target), source);
        let route = host_info::route_to(shared.target).map_err(refused)?;
        // Packets to an address of this host go over loopback.
        let loopback = (route.source == shared.target.ip()).then(|| LOOPBACK.to_owned());
        let interface = shared.interface.clone().or(loopback).or(route.interface);
        let unknown = HostError::Unsuitable("it is not known by which interface the probes leave");
        let interface = interface.ok_or_else(|| refused(unknown))?;
        let bound = shared.socket.local_address();
        if bound.ip().is_unspecified() {
            // The kernel chooses one of these.
            let addresses = network.addresses(&interface).map_err(refused)?;
            let all = addresses.into_iter().chain([route.source]);
            own.extend(all.map(|address| SocketAddr::new(address, bound.port())));
        } else {
            own.insert(bound);
        }
        interfaces.insert(interface);
    }
    if interfaces.is_empty() {
        return Ok(None);
    }
    let interfaces: Vec<String> = interfaces.into_iter().collect();
    let own: Vec<SocketAddr> = own.into_iter().collect();
    PacketStamper::attach(StampingEnd::Initiator, &own, atomic_ahead(), &interfaces)
        .map(Some)
        .map_err(|error| refusal(interfaces.join(", "), error))
}
