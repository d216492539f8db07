//! From a frame down to its UDP datagram, one layer after the other.

use core::net::IpAddr;

use romer_units::Dscp;
use thiserror::Error;

use crate::checksum::Pseudo;
use crate::ethernet::{EtherType, EthernetError, Frame};
use crate::ip::{Fragment, protocol};
use crate::ipv4::{self, Ipv4Error};
use crate::ipv6::{self, Ipv6Error};
use crate::udp::{Checksum, Datagram, UdpError};

/// Why a frame could not be read to the end. What was read before is lost with it: a frame that is forwarded
/// goes on as it came, and one that is received is dropped and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DissectError {
    /// Of the frame itself.
    #[error(transparent)]
    Ethernet(#[from] EthernetError),
    /// Of its IPv4 packet.
    #[error(transparent)]
    Ipv4(#[from] Ipv4Error),
    /// Of its IPv6 packet.
    #[error(transparent)]
    Ipv6(#[from] Ipv6Error),
    /// Of its UDP datagram.
    #[error(transparent)]
    Udp(#[from] UdpError),
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkHeader<'a> {
    /// An IPv4 packet.
    Ipv4(ipv4::Packet<'a>),
    /// An IPv6 packet.
    Ipv6(ipv6::Packet<'a>),
    /// Something else, which the frame's type names.
    Other,
}

impl<'a> NetworkHeader<'a> {
    /// What a frame carries.
    ///
    /// # Errors
    /// [`DissectError`] of a packet that is none.
    pub fn parse(frame: &Frame<'a>) -> Result<Self, DissectError> {
        Ok(match frame.ether_type() {
            EtherType::IPV4 => Self::Ipv4(ipv4::Packet::parse(frame.payload())?),
            EtherType::IPV6 => Self::Ipv6(ipv6::Packet::parse(frame.payload())?),
            _ => Self::Other,
        })
    }

    /// The protocol that a packet carries ([`protocol`]) and its octets, of a fragment too; `None` of no packet.
    pub fn carried(&self) -> Option<(u8, &'a [u8])> {
        match self {
            Self::Ipv4(packet) => Some((packet.protocol(), packet.payload())),
            Self::Ipv6(packet) => Some((packet.upper_protocol(), packet.upper())),
            Self::Other => None,
        }
    }

    /// The part of a packet that this is; `None` where it is whole or no packet.
    pub fn fragment(&self) -> Option<Fragment> {
        match self {
            Self::Ipv4(packet) => packet.fragment(),
            Self::Ipv6(packet) => packet.fragment(),
            Self::Other => None,
        }
    }

    /// The code point of a packet.
    pub fn dscp(&self) -> Option<Dscp> {
        match self {
            Self::Ipv4(packet) => Some(packet.dscp()),
            Self::Ipv6(packet) => Some(packet.dscp()),
            Self::Other => None,
        }
    }

    /// Where a packet comes from, and where its header says that it goes.
    pub fn addresses(&self) -> Option<(IpAddr, IpAddr)> {
        match self {
            Self::Ipv4(packet) => Some((packet.source().into(), packet.destination().into())),
            Self::Ipv6(packet) => Some((packet.source().into(), packet.destination().into())),
            Self::Other => None,
        }
    }

    /// What a transport's checksum covers of the packet's header; `None` where that cannot be known.
    pub fn pseudo(&self) -> Option<Pseudo> {
        match self {
            Self::Ipv4(packet) => Some(packet.pseudo()),
            Self::Ipv6(packet) => packet.pseudo(),
            Self::Other => None,
        }
    }
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport<'a> {
    /// A UDP datagram.
    Udp(Datagram<'a>),
    /// A part of a packet, which is never taken for a transport's header.
    Fragment(Fragment),
    /// Another protocol ([`protocol`]).
    Other(u8),
    /// The frame carries no IP packet.
    None,
}

/// A frame with all its layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dissected<'a> {
    /// The frame.
    pub frame: Frame<'a>,
    /// What it carries.
    pub network: NetworkHeader<'a>,
    /// What that carries.
    pub transport: Transport<'a>,
}

impl<'a> Dissected<'a> {
    /// The UDP datagram, if that is what the frame carries.
    pub const fn udp(&self) -> Option<Datagram<'a>> {
        match self.transport {
            Transport::Udp(datagram) => Some(datagram),
            _ => None,
        }
    }

    /// What the checksum of the UDP datagram says; `None` without a datagram, or where its final destination
    /// is not known. The checksum of the IPv4 header is a matter of its own
    /// ([`ipv4::Packet::checksum_is_right`]).
    pub fn udp_checksum(&self) -> Option<Checksum> {
        Some(self.udp()?.verify(self.network.pseudo()?))
    }
}

/// Reads a frame, which begins with its destination address, as far down as UDP.
///
/// # Errors
/// [`DissectError`], naming the layer and what is wrong with it.
pub fn frame(octets: &[u8]) -> Result<Dissected<'_>, DissectError> {
    let frame = Frame::parse(octets)?;
    let network = NetworkHeader::parse(&frame)?;
    let transport = match (network.carried(), network.fragment()) {
        (None, _) => Transport::None,
        (Some(_), Some(fragment)) => Transport::Fragment(fragment),
        (Some((protocol::UDP, octets)), None) => Transport::Udp(Datagram::parse(octets)?),
        (Some((other, _)), None) => Transport::Other(other),
    };
    Ok(Dissected { frame, network, transport })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethernet::{self, MacAddress, Tag, TagProtocol, Tags};
    use crate::ip::Ecn;
    use crate::udp;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use proptest::prelude::*;

    fn ethernet(tags: Tags, ether_type: EtherType) -> ethernet::Repr {
        let (destination, source) = (MacAddress([2, 0, 0, 0, 0, 2]), MacAddress([2, 0, 0, 0, 0, 1]));
        ethernet::Repr { destination, source, tags, ether_type }
    }

    const PORTS: udp::Repr = udp::Repr { source_port: 40_000, destination_port: 862 };

    fn over_ipv4(tags: Tags, payload: &[u8]) -> Vec<u8> {
        let (source, destination) = (Ipv4Addr::new(198, 18, 0, 2), Ipv4Addr::new(198, 18, 0, 3));
        let link = ethernet(tags, EtherType::IPV4);
        let packet = ipv4::Repr {
            source,
            destination,
            dscp: Dscp::EF,
            ecn: Ecn::NotEct,
            identification: 0,
            dont_fragment: true,
            ttl: 64,
            protocol: protocol::UDP,
            options: ipv4::Options::NONE,
        };
        let mut octets = vec![0; link.octets() + ipv4::HEADER + udp::HEADER + payload.len()];
        let datagram = packet.emit(link.emit(&mut octets).unwrap()).unwrap();
        datagram[udp::HEADER..].copy_from_slice(payload);
        PORTS.emit(Pseudo::V4 { source, destination }, datagram).unwrap();
        octets
    }

    fn over_ipv6(payload: &[u8]) -> Vec<u8> {
        let (source, destination): (Ipv6Addr, Ipv6Addr) =
            ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
        let link = ethernet(Tags::None, EtherType::IPV6);
        let packet = ipv6::Repr {
            source,
            destination,
            dscp: Dscp::DEFAULT,
            ecn: Ecn::NotEct,
            flow_label: ipv6::FlowLabel::default(),
            hop_limit: 64,
            next_header: protocol::UDP,
        };
        let mut octets = vec![0; link.octets() + ipv6::HEADER + udp::HEADER + payload.len()];
        let datagram = packet.emit(link.emit(&mut octets).unwrap()).unwrap();
        datagram[udp::HEADER..].copy_from_slice(payload);
        PORTS.emit(Pseudo::V6 { source, destination }, datagram).unwrap();
        octets
    }

    /// Reads a captured frame, finds every checksum right, and writes the same octets from what was read.
    fn read_and_write(octets: &[u8]) -> Dissected<'_> {
        let found = frame(octets).unwrap();
        assert_eq!(found.udp_checksum(), Some(Checksum::Right));
        let (link, datagram) = (found.frame.repr(), found.udp().unwrap());
        let mut again = vec![0; octets.len()];
        let packet = link.emit(&mut again).unwrap();
        let carried = match &found.network {
            NetworkHeader::Ipv4(read) => ipv4::Repr::parse(read).unwrap().emit(packet).unwrap(),
            NetworkHeader::Ipv6(read) => ipv6::Repr::parse(read).emit(packet).unwrap(),
            NetworkHeader::Other => panic!("not IP"),
        };
        carried[udp::HEADER..].copy_from_slice(datagram.payload());
        datagram.repr().emit(found.network.pseudo().unwrap(), carried).unwrap();
        assert_eq!(again, octets);
        found
    }

    // Captured on a TAP device from Linux 6.18, which computes checksums itself there.

    #[test]
    fn a_frame_that_linux_sent_over_ipv4_is_read_and_written_to_the_bit() {
        let octets = [
            0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x45, 0xb8,
            0x00, 0x27, 0x65, 0xd7, 0x40, 0x00, 0x40, 0x11, 0x48, 0x0d, 0xc6, 0x12, 0x00, 0x02, 0xc6, 0x12,
            0x00, 0x03, 0x9c, 0x40, 0x03, 0x5e, 0x00, 0x13, 0x2a, 0x48, 0x52, 0x6f, 0x65, 0x6d, 0x65, 0x72,
            0x20, 0x31, 0x36, 0x37, 0x36,
        ];
        let found = read_and_write(&octets);
        let NetworkHeader::Ipv4(packet) = found.network else { panic!("not IPv4") };
        assert_eq!((packet.dscp(), packet.ttl(), packet.dont_fragment()), (Dscp::EF, 64, true));
        assert_eq!(
            (found.udp().unwrap().repr(), found.udp().unwrap().payload()),
            (PORTS, &b"Roemer 1676"[..])
        );
    }

    #[test]
    fn a_frame_that_linux_sent_over_ipv6_is_read_and_written_to_the_bit() {
        let octets = [
            0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x86, 0xdd, 0x60, 0x08,
            0xac, 0x9e, 0x00, 0x13, 0x11, 0x40, 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
            0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
            0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x9c, 0x40, 0x03, 0x5e, 0x00, 0x13, 0x5a, 0xfb, 0x52, 0x6f,
            0x65, 0x6d, 0x65, 0x72, 0x20, 0x31, 0x36, 0x37, 0x36,
        ];
        let found = read_and_write(&octets);
        let NetworkHeader::Ipv6(packet) = found.network else { panic!("not IPv6") };
        assert_eq!((packet.flow_label().value(), packet.hop_limit()), (0x8ac9e, 64));
        assert_eq!(
            (found.udp().unwrap().repr(), found.udp().unwrap().payload()),
            (PORTS, &b"Roemer 1676"[..])
        );
    }

    #[test]
    fn a_probe_is_found_under_two_tags_with_its_padding_stripped() {
        let tags = Tags::Two {
            outer: Tag::new(TagProtocol::Service, 0, false, 7).unwrap(),
            inner: Tag::new(TagProtocol::Customer, 5, false, 0).unwrap(),
        };
        let mut octets = over_ipv4(tags, b"hello");
        octets.resize(64, 0xee);
        let found = frame(&octets).unwrap();
        assert_eq!(found.frame.tags(), tags);
        assert_eq!(found.udp().unwrap().payload(), b"hello");
        assert_eq!(found.udp_checksum(), Some(Checksum::Right));
    }

    #[test]
    fn a_probe_is_found_over_ipv6() {
        let octets = over_ipv6(&[1; 44]);
        let found = frame(&octets).unwrap();
        assert_eq!(found.udp().unwrap().payload(), &[1; 44]);
        assert_eq!(found.udp_checksum(), Some(Checksum::Right));
    }

    #[test]
    fn a_fragment_is_never_read_as_a_datagram() {
        let mut octets = over_ipv4(Tags::None, &[0; 8]);
        octets[20] = 0x20;
        let found = frame(&octets).unwrap();
        assert!(matches!(found.transport, Transport::Fragment(Fragment { offset: 0, more: true, .. })));
        assert_eq!((found.udp(), found.udp_checksum()), (None, None));
    }

    #[test]
    fn what_is_not_ip_or_not_udp_is_told() {
        let mut octets = vec![0; 60];
        ethernet(Tags::None, EtherType::ARP).emit(&mut octets).unwrap();
        assert_eq!(frame(&octets).unwrap().transport, Transport::None);
        let mut octets = over_ipv4(Tags::None, &[0; 8]);
        octets[23] = protocol::TCP;
        assert_eq!(frame(&octets).unwrap().transport, Transport::Other(protocol::TCP));
    }

    #[test]
    fn the_layer_that_is_wrong_is_named() {
        let good = over_ipv4(Tags::None, &[0; 8]);
        let broken = |place: usize, value: u8| {
            let mut octets = good.clone();
            octets[place] = value;
            frame(&octets).unwrap_err()
        };
        assert_eq!(frame(&good[..13]).unwrap_err(), EthernetError::Truncated { have: 13, need: 14 }.into());
        assert_eq!(broken(14, 0x44), Ipv4Error::HeaderLength(4).into());
        assert_eq!(broken(39, 7), UdpError::Length { stated: 7, have: 16 }.into());
        let mut octets = over_ipv6(&[]);
        octets[14] = 0;
        assert_eq!(frame(&octets).unwrap_err(), Ipv6Error::Version(0).into());
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(octets: Vec<u8>) {
            let _ = frame(&octets);
        }

        #[test]
        fn any_damage_to_a_good_frame_is_survived(
            v6: bool, payload in proptest::collection::vec(any::<u8>(), 0..60),
            damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            cut: prop::sample::Index,
        ) {
            let mut octets = if v6 { over_ipv6(&payload) } else { over_ipv4(Tags::None, &payload) };
            for (place, value) in damage {
                let place = place.index(octets.len());
                octets[place] = value;
            }
            octets.truncate(cut.index(octets.len() + 1));
            if let Ok(found) = frame(&octets) {
                let _ = found.udp_checksum();
            }
        }
    }
}
