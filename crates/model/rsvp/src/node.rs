//! What every node shares: packets that arrive, packets to send, and discarded packets.

use core::net::Ipv4Addr;

use romer_units::Dscp;
use romer_wire::ip::Ecn;
use romer_wire::ipv4::{self, Ipv4Error};
use thiserror::Error;

use crate::message::{Message, Packet, Rejection, TooLong};

/// The IP protocol number of RSVP.
pub const PROTOCOL: u8 = 46;
/// The TTL of messages that a node originates.
pub const TTL: u8 = 255;

/// The option Router Alert (RFC 2113).
const ROUTER_ALERT: [u8; 4] = [0x94, 4, 0, 0];
/// The code point of network control (RFC 4594).
const NETWORK_CONTROL: Option<Dscp> = Dscp::new(48);

/// A packet that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The interface, as a router's configuration numbers it; of a host 0.
    pub interface: usize,
    /// The TTL of its IP header.
    pub ttl: u8,
    /// The payload of the IP packet.
    pub octets: &'a [u8],
}

/// A packet to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The interface, as a router's configuration numbers it; of a host 0.
    pub interface: usize,
    /// The source address. That of a Path message is the flow's sender, also if a router forwards it.
    pub source: Ipv4Addr,
    /// The destination address.
    pub destination: Ipv4Addr,
    /// The TTL.
    pub ttl: u8,
    /// Whether the IP header has the option Router Alert (RFC 2113).
    pub router_alert: bool,
    /// The payload of the IP packet.
    pub octets: Vec<u8>,
}

impl Outgoing {
    /// The IPv4 packet with its header: the code point of network control, and an identification of 0.
    ///
    /// # Errors
    /// [`Ipv4Error::TooLong`]: it has more than 65,535 octets.
    pub fn to_ipv4(&self) -> Result<Vec<u8>, Ipv4Error> {
        let alert: &[u8] = if self.router_alert { &ROUTER_ALERT } else { &[] };
        let header = ipv4::Repr {
            source: self.source,
            destination: self.destination,
            dscp: NETWORK_CONTROL.unwrap_or(Dscp::DEFAULT),
            ecn: Ecn::of_tos(0),
            identification: 0,
            dont_fragment: false,
            ttl: self.ttl,
            protocol: PROTOCOL,
            options: ipv4::Options::new(alert).unwrap_or_default(),
        };
        let mut packet = vec![0; header.octets().saturating_add(self.octets.len())];
        header.emit(&mut packet)?.copy_from_slice(&self.octets);
        Ok(packet)
    }
}

/// A packet that a node ignores, or cannot forward.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Discard {
    /// It is no legal message.
    #[error("{0}")]
    Rejected(Rejection),
    /// The message to send is too long.
    #[error("{0}")]
    TooLong(TooLong),
    /// There is no other interface towards its destination.
    #[error("there is no route to {0} through another interface")]
    NoRoute(Ipv4Addr),
    /// Its TTL does not allow to forward it.
    #[error("its TTL is used up")]
    Ttl,
    /// It belongs to no state of this node.
    #[error("it belongs to no state of this node")]
    NoState,
    /// There is no room for a further flow.
    #[error("the table of flows is full")]
    TableFull,
}

/// Where a message is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope {
    pub(crate) interface: usize,
    pub(crate) source: Ipv4Addr,
    pub(crate) destination: Ipv4Addr,
    pub(crate) ttl: u8,
}

impl Envelope {
    /// From a host's only interface.
    pub(crate) const fn of_host(source: Ipv4Addr, destination: Ipv4Addr) -> Self {
        Self { interface: 0, source, destination, ttl: TTL }
    }
    /// The packet with `message`.
    pub(crate) fn seal(self, message: Message) -> Result<Outgoing, Discard> {
        let Self { interface, source, destination, ttl } = self;
        let router_alert = message.kind().has_router_alert();
        let octets = Packet { send_ttl: ttl, message }.emit().map_err(Discard::TooLong)?;
        Ok(Outgoing { interface, source, destination, ttl, router_alert, octets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The packet has a right checksum, the code point of network control and the TTL, and Router Alert if it is requested.
    #[test]
    fn packets_have_headers() {
        for router_alert in [false, true] {
            let outgoing = Outgoing {
                interface: 0,
                source: [198, 18, 0, 2].into(),
                destination: [198, 19, 0, 2].into(),
                ttl: 254,
                router_alert,
                octets: vec![1, 2, 3],
            };
            let octets = outgoing.to_ipv4().unwrap();
            let packet = ipv4::Packet::parse(&octets).unwrap();
            assert!(packet.checksum_is_right());
            assert_eq!((packet.source(), packet.destination()), (outgoing.source, outgoing.destination));
            assert_eq!((packet.ttl(), packet.protocol(), packet.dscp().value()), (254, PROTOCOL, 48));
            assert_eq!(packet.options(), if router_alert { &ROUTER_ALERT[..] } else { &[] });
            assert_eq!(packet.payload(), [1, 2, 3]);
        }
        let long = Outgoing {
            interface: 0,
            source: [198, 18, 0, 2].into(),
            destination: [198, 19, 0, 2].into(),
            ttl: 1,
            router_alert: false,
            octets: vec![0; 65_516],
        };
        assert!(matches!(long.to_ipv4(), Err(Ipv4Error::TooLong(_))));
    }
}
