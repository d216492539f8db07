//! Putting the namespaces and links up, where the rights for it are there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use romer_host::clock::monotonic_now;
use romer_host::link::Network;
use romer_host::netns;
use romer_host::socket::{Outgoing, ReceiveBatch, SocketOptions, StampingSocket};
use romer_units::Duration;

use crate::error::LabError;
use crate::topology::{
    Endpoint, Host, LabPort, NamespacePrefix, ROUTER_PORTS, Topology, V4_PREFIX, V6_PREFIX, router_addresses,
};

/// How long links and addresses may take until they carry packets.
const LINK_UP_TIMEOUT: Duration = Duration::from_secs(10);
/// How long one priming datagram may take.
const PRIMING: Duration = Duration::from_millis(50);

/// The free text on our links, by which the namespaces are known to be ours.
pub(crate) fn mark(prefix: &NamespacePrefix, kind: Topology) -> String {
    format!("romer lab {} {}", kind.name(), prefix.as_str())
}

/// Builds the laboratory. What it had made when it failed stays, for [`remove`].
pub(crate) fn build(kind: Topology, prefix: &NamespacePrefix) -> Result<(), LabError> {
    for host in kind.hosts() {
        netns::create(&host.namespace(prefix.as_str()))?;
    }
    let open = |host: Host| Network::open(Some(&host.namespace(prefix.as_str())));
    let (a, b) = (open(Host::A)?, open(Host::B)?);
    let mut between = Vec::new();
    for host in kind.between() {
        if let Some(ports) = host.ports() {
            between.push((host, open(host)?, ports));
        }
    }
    // Some kernels come without IPv6, or have it switched off; the laboratory then has IPv4 only.
    let v6 = Path::new("/proc/sys/net/ipv6/conf/all").exists();
    for network in [&a, &b].into_iter().chain(between.iter().map(|(_, network, _)| network)) {
        network.set_up("lo", true)?;
        if v6 {
            quieten_v6(network)?;
        }
    }
    // The ports of an emulator have no address of their own, not even a link-local one.
    if v6 && kind != Topology::Router {
        for (_, network, _) in &between {
            for name in ["all", "default"] {
                network.set_parameter(&format!("net/ipv6/conf/{name}/disable_ipv6"), "1")?;
            }
        }
    }
    // All ports from A to B: each two of them are the ends of a link.
    let (Some(end_a), Some(end_b)) = (kind.endpoint(Host::A), kind.endpoint(Host::B)) else { return Ok(()) };
    let inner = between.iter().flat_map(|(host, network, ports)| ports.map(|port| (*host, network, port)));
    let mut ports = vec![(Host::A, &a, end_a.port)];
    ports.extend(inner);
    ports.push((Host::B, &b, end_b.port));
    let mark = mark(prefix, kind);
    for link in ports.chunks_exact(2) {
        let [(_, network, port), (peer, peer_network, peer_port)] = link else { continue };
        network.add_veth(port.name, peer_port.name, Some(&peer.namespace(prefix.as_str())))?;
        prepare(network, *port, &mark)?;
        prepare(peer_network, *peer_port, &mark)?;
    }
    for (_, network, ports) in &between {
        match kind {
            Topology::Path | Topology::Chain { .. } => connect_bridge(network, ports)?,
            Topology::Router => connect_router(network, kind, v6)?,
        }
    }
    connect_ends(&a, &b, kind, v6)?;
    for (_, network, port) in &ports {
        await_running(network, port.name)?;
    }
    prime(kind, prefix, v6)
}

/// Keeps the kernel from sending what nobody asked for, and from waiting for doubles of its addresses.
fn quieten_v6(network: &Network) -> Result<(), LabError> {
    for name in ["all", "default"] {
        network.set_parameter(&format!("net/ipv6/conf/{name}/disable_ipv6"), "0")?;
        network.set_parameter(&format!("net/ipv6/conf/{name}/accept_dad"), "0")?;
        network.set_parameter(&format!("net/ipv6/conf/{name}/accept_ra"), "0")?;
        network.set_parameter(&format!("net/ipv6/conf/{name}/router_solicitations"), "0")?;
    }
    Ok(())
}

fn prepare(network: &Network, port: LabPort, mark: &str) -> Result<(), LabError> {
    network.set_mac(port.name, port.mac)?;
    network.set_alias(port.name, mark)?;
    // A veth has no line rate: only without offloads is one packet one frame of its true size and checksum.
    network.disable_offloads(port.name)?;
    network.set_up(port.name, true)?;
    Ok(())
}

/// A bridge of the kernel in the emulator's place, so that the path carries packets without one.
fn connect_bridge(middle: &Network, ports: &[LabPort; 2]) -> Result<(), LabError> {
    const BRIDGE: &str = "br0";
    middle.add_bridge(BRIDGE)?;
    for port in ports {
        middle.set_bridge(port.name, Some(BRIDGE))?;
    }
    Ok(())
}

fn connect_router(middle: &Network, kind: Topology, v6: bool) -> Result<(), LabError> {
    middle.set_parameter("net/ipv4/ip_forward", "1")?;
    for name in ["all", "r0", "r1"] {
        middle.set_parameter(&format!("net/ipv4/conf/{name}/rp_filter"), "0")?;
        middle.set_parameter(&format!("net/ipv4/conf/{name}/send_redirects"), "0")?;
    }
    if v6 {
        middle.set_parameter("net/ipv6/conf/all/forwarding", "1")?;
    }
    let ends = [Host::A, Host::B].map(|host| kind.endpoint(host));
    for ((port, (own_v4, own_v6)), end) in ROUTER_PORTS.into_iter().zip(router_addresses()).zip(ends) {
        middle.add_address(port.name, own_v4.into(), V4_PREFIX)?;
        if v6 {
            middle.add_address(port.name, own_v6.into(), V6_PREFIX)?;
        }
        if let Some(end) = end {
            know(middle, port.name, &end, v6)?;
        }
    }
    Ok(())
}

/// Gives the two ends their addresses and what they need to know to reach each other.
fn connect_ends(a: &Network, b: &Network, kind: Topology, v6: bool) -> Result<(), LabError> {
    let (Some(end_a), Some(end_b)) = (kind.endpoint(Host::A), kind.endpoint(Host::B)) else { return Ok(()) };
    for (network, end) in [(a, &end_a), (b, &end_b)] {
        network.add_address(end.port.name, end.v4.into(), V4_PREFIX)?;
        if v6 {
            network.add_address(end.port.name, end.v6.into(), V6_PREFIX)?;
        }
    }
    match kind {
        Topology::Path | Topology::Chain { .. } => {
            know(a, end_a.port.name, &end_b, v6)?;
            know(b, end_b.port.name, &end_a, v6)
        }
        Topology::Router => {
            let gateways = router_addresses().into_iter().zip(ROUTER_PORTS);
            for ((network, end), ((v4_gateway, v6_gateway), port)) in
                [(a, &end_a), (b, &end_b)].into_iter().zip(gateways)
            {
                let gateway = Endpoint { port, v4: v4_gateway, v6: v6_gateway };
                know(network, end.port.name, &gateway, v6)?;
                network.add_route(Ipv4Addr::UNSPECIFIED.into(), 0, v4_gateway.into())?;
                if v6 {
                    network.add_route(Ipv6Addr::UNSPECIFIED.into(), 0, v6_gateway.into())?;
                }
            }
            Ok(())
        }
    }
}

/// Tells a link for good where its neighbour is, so that no first packet waits for an answer (RFC 2544 section
/// 23 has the device learn before each trial for the same reason).
fn know(network: &Network, port: &str, neighbour: &Endpoint, v6: bool) -> Result<(), LabError> {
    network.set_neighbour(port, neighbour.v4.into(), neighbour.port.mac)?;
    if v6 {
        network.set_neighbour(port, neighbour.v6.into(), neighbour.port.mac)?;
    }
    Ok(())
}

fn await_running(network: &Network, port: &str) -> Result<(), LabError> {
    let deadline = monotonic_now() + LINK_UP_TIMEOUT;
    while !network.link(port)?.running && monotonic_now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    Ok(())
}

/// Sends a datagram each way for each family and waits for it, so that whoever comes next loses none: a link that
/// says it runs may still drop what it is given, because its queue comes into being a moment later.
fn prime(kind: Topology, prefix: &NamespacePrefix, v6: bool) -> Result<(), LabError> {
    let (Some(a), Some(b)) = (kind.endpoint(Host::A), kind.endpoint(Host::B)) else { return Ok(()) };
    for (index, (one, other)) in a.addresses().into_iter().zip(b.addresses()).enumerate() {
        let family = ["IPv4", "IPv6"][index];
        if family == "IPv6" && !v6 {
            continue;
        }
        let (at_a, at_b) = (bind(Host::A, one, prefix)?, bind(Host::B, other, prefix)?);
        for (from, to, sender, receiver) in
            [(Host::A, Host::B, &at_a, &at_b), (Host::B, Host::A, &at_b, &at_a)]
        {
            if !passes(sender, receiver)? {
                return Err(LabError::Silent {
                    family,
                    from: from.namespace(prefix.as_str()),
                    to: to.namespace(prefix.as_str()),
                    seconds: LINK_UP_TIMEOUT.as_nanos() / 1_000_000_000,
                });
            }
        }
    }
    Ok(())
}

fn bind(host: Host, address: IpAddr, prefix: &NamespacePrefix) -> Result<StampingSocket, LabError> {
    let options = SocketOptions { kernel_stamps: false, ..SocketOptions::default() };
    let bind = || StampingSocket::bind(SocketAddr::new(address, 0), &options);
    Ok(netns::with_namespace(&host.namespace(prefix.as_str()), bind)??)
}

fn passes(sender: &StampingSocket, receiver: &StampingSocket) -> Result<bool, LabError> {
    let mut batch = ReceiveBatch::new(1, 64);
    let deadline = monotonic_now() + LINK_UP_TIMEOUT;
    while monotonic_now() < deadline {
        match sender.send(&Outgoing::new(b"romer lab", receiver.local_address(), 0)) {
            Ok(_) => {
                if receiver.wait(Some(PRIMING))?.readable(0) && receiver.receive_batch(&mut batch)? > 0 {
                    return Ok(true);
                }
            }
            // Addresses and routes of IPv6 come into force a moment after they were set.
            Err(_) => std::thread::sleep(PRIMING.to_std()),
        }
    }
    Ok(false)
}

/// Removes the laboratory's namespaces, whichever of them there are.
pub(crate) fn remove(kind: Topology, prefix: &NamespacePrefix) -> Result<(), LabError> {
    for host in kind.hosts() {
        match netns::delete(&host.namespace(prefix.as_str())) {
            Ok(()) | Err(romer_host::HostError::Missing { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Whether the namespace `name` has a link that bears our mark.
pub(crate) fn is_marked(name: &str, mark: &str) -> bool {
    Network::open(Some(name))
        .and_then(|network| network.links())
        .is_ok_and(|links| links.iter().any(|link| link.alias.as_deref() == Some(mark)))
}

/// Whether the namespace `name`, which a laboratory has noted as its own, is so indeed: it bears the mark, or the
/// laboratory was killed before it could be marked, so that nothing is there yet, or nothing but loopback and
/// links of our names.
pub(crate) fn is_ours(name: &str, mark: &str) -> bool {
    const NAMES: [&str; 8] = ["lo", "t0", "t1", "e0", "e1", "r0", "r1", "br0"];
    match Network::open(Some(name)).and_then(|network| network.links()) {
        Ok(links) => {
            links.iter().any(|link| link.alias.as_deref() == Some(mark))
                || links.iter().all(|link| NAMES.contains(&link.name.as_str()))
        }
        // A name on which no namespace is mounted.
        Err(error) => error.is_not_a_namespace(),
    }
}
