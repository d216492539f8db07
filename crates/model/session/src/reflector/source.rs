//! Sources that no sender has.

use core::net::{IpAddr, Ipv4Addr};

use super::{Incoming, Refusal};

/// Ports whose services answer any datagram: a reply to one of these could come back for ever (RFC 4732
/// section 2.1.4 tells of echo and chargen). 862 is the reflectors' own.
pub const ANSWERING_PORTS: &[u16] = &[7, 13, 17, 19, 53, 123, 862];

/// Why the source of a datagram is none to be answered, if it is not. `own_ports` are the ports of this reflector.
///
/// The broadcast addresses of networks are not known here; the kernel lets nothing be sent to those of its own.
pub(super) fn refusal(incoming: &Incoming<'_>, own_ports: &[u16]) -> Option<Refusal> {
    let (source, here) = (incoming.source, incoming.destination.ip().to_canonical());
    let address = source.ip().to_canonical();
    if address == here && (source.port() == incoming.destination.port() || own_ports.contains(&source.port()))
    {
        return Some(Refusal::Loop);
    }
    let ill_reputed = ANSWERING_PORTS.contains(&source.port()) || own_ports.contains(&source.port());
    let bad = source.port() == 0
        || (ill_reputed && !incoming.proved && !incoming.is_expected_association())
        || address.is_multicast()
        || address.is_unspecified()
        || matches!(address, IpAddr::V4(v4) if is_no_host(v4))
        || (address.is_loopback() && !here.is_loopback());
    bad.then_some(Refusal::BadSource)
}

/// "This network" (0.0.0.0/8) and the reserved block with the broadcast address (240.0.0.0/4): RFC 6890 says that
/// neither is a source that is forwarded.
fn is_no_host(address: Ipv4Addr) -> bool {
    let [first, ..] = address.octets();
    first == 0 || first >= 240
}
