//! Asking for a neighbour's link-layer address and answering such questions: ARP (RFC 826) and, of neighbour
//! discovery (RFC 4861), the solicitation and the advertisement.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use romer_units::Dscp;

use crate::bytes;
use crate::checksum::Pseudo;
use crate::ethernet::{EtherType, Frame, MacAddress, Repr as Ethernet, Tags};
use crate::ip::{Ecn, protocol};
use crate::ipv6;

const ARP: EtherType = EtherType(0x0806);
/// Octets of an ARP packet for Ethernet and IPv4.
const ARP_OCTETS: usize = 28;
const REQUEST: u16 = 1;
const REPLY: u16 = 2;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// Hop limit without which a message of neighbour discovery is not believed.
const NEAR: u8 = 255;
/// The smallest frame, without check sequence.
const MIN_FRAME_OCTETS: usize = 60;

/// A question or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Who has `target`? Asked by `asker`.
    Asks {
        /// Whose link-layer address is wanted.
        target: IpAddr,
        /// Who asks.
        asker: IpAddr,
        /// The asker's link-layer address.
        asker_mac: MacAddress,
    },
    /// `address` is at `mac`.
    Tells {
        /// The address.
        address: IpAddr,
        /// Where it is.
        mac: MacAddress,
    },
}

/// Reads a frame; `None` where it is neither a question nor an answer, or is not as the standards have it.
pub fn read(frame: &[u8]) -> Option<Message> {
    let frame = Frame::parse(frame).ok()?;
    match frame.ether_type() {
        ARP => read_arp(frame.payload()),
        EtherType::IPV6 => read_discovery(frame.payload()),
        _ => None,
    }
}

fn read_arp(packet: &[u8]) -> Option<Message> {
    const ETHERNET_AND_IPV4: [u8; 6] = [0, 1, 8, 0, 6, 4];
    if bytes::at::<6>(packet, 0)? != ETHERNET_AND_IPV4 {
        return None;
    }
    let address = |at| Some(IpAddr::V4(Ipv4Addr::from(bytes::at::<4>(packet, at)?)));
    let mac = MacAddress(bytes::at(packet, 8)?);
    match u16::from_be_bytes(bytes::at(packet, 6)?) {
        REQUEST => Some(Message::Asks { target: address(24)?, asker: address(14)?, asker_mac: mac }),
        REPLY => Some(Message::Tells { address: address(14)?, mac }),
        _ => None,
    }
}

fn read_discovery(packet: &[u8]) -> Option<Message> {
    let packet = ipv6::Packet::parse(packet).ok()?;
    let message = packet.upper();
    if packet.upper_protocol() != protocol::ICMPV6 || packet.hop_limit() != NEAR {
        return None;
    }
    let length = u32::try_from(message.len()).ok()?;
    if !packet.pseudo()?.sum(protocol::ICMPV6, length).octets(message).is_right() {
        return None;
    }
    let target = IpAddr::V6(Ipv6Addr::from(bytes::at::<16>(message, 8)?));
    match *message.first()? {
        SOLICITATION => {
            let mac = option(message, 1)?;
            Some(Message::Asks { target, asker: IpAddr::V6(packet.source()), asker_mac: mac })
        }
        ADVERTISEMENT => Some(Message::Tells { address: target, mac: option(message, 2)? }),
        _ => None,
    }
}

/// The link-layer address in the option of this kind.
fn option(message: &[u8], kind: u8) -> Option<MacAddress> {
    let mut rest = message.get(24..)?;
    while let [found, units, ..] = rest {
        if *found == kind {
            return bytes::at(rest, 2).map(MacAddress);
        }
        let length = usize::from(*units) * 8;
        rest = rest.get(length..).filter(|_| length > 0)?;
    }
    None
}

/// The frame that asks who has `target`. The two addresses are of one version.
pub fn ask(target: IpAddr, source: IpAddr, source_mac: MacAddress) -> Option<Vec<u8>> {
    match (target, source) {
        (IpAddr::V4(target), IpAddr::V4(source)) => {
            Some(arp(REQUEST, MacAddress([0xff; 6]), (source, source_mac), (target, MacAddress([0; 6]))))
        }
        (IpAddr::V6(target), IpAddr::V6(source)) => {
            let [.., a, b, c] = target.octets();
            let group = Ipv6Addr::from([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a, b, c]);
            let destination = MacAddress([0x33, 0x33, 0xff, a, b, c]);
            discovery(SOLICITATION, [0; 4], target, 1, (source, source_mac), (group, destination))
        }
        _ => None,
    }
}

/// The frame that answers `asker` that `address` is at `mac`.
pub fn reply(address: IpAddr, mac: MacAddress, asker: IpAddr, asker_mac: MacAddress) -> Option<Vec<u8>> {
    match (address, asker) {
        (IpAddr::V4(address), IpAddr::V4(asker)) => {
            Some(arp(REPLY, asker_mac, (address, mac), (asker, asker_mac)))
        }
        (IpAddr::V6(address), IpAddr::V6(asker)) => {
            // Solicited, and to be taken instead of what was known before.
            let flags = [0x60, 0, 0, 0];
            discovery(ADVERTISEMENT, flags, address, 2, (address, mac), (asker, asker_mac))
        }
        _ => None,
    }
}

fn arp(
    operation: u16,
    to: MacAddress,
    sender: (Ipv4Addr, MacAddress),
    target: (Ipv4Addr, MacAddress),
) -> Vec<u8> {
    let mut frame = vec![0; MIN_FRAME_OCTETS];
    let header = Ethernet { destination: to, source: sender.1, tags: Tags::None, ether_type: ARP };
    if let Ok(packet) = header.emit(&mut frame) {
        debug_assert!(packet.len() >= ARP_OCTETS);
        bytes::put(packet, 0, &[0, 1, 8, 0, 6, 4]);
        bytes::put(packet, 6, &operation.to_be_bytes());
        bytes::put(packet, 8, &sender.1.0);
        bytes::put(packet, 14, &sender.0.octets());
        bytes::put(packet, 18, &target.1.0);
        bytes::put(packet, 24, &target.0.octets());
    }
    frame
}

fn discovery(
    kind: u8,
    flags: [u8; 4],
    target: Ipv6Addr,
    option: u8,
    from: (Ipv6Addr, MacAddress),
    to: (Ipv6Addr, MacAddress),
) -> Option<Vec<u8>> {
    let mut message = [0; 32];
    bytes::put(&mut message, 0, &[kind, 0, 0, 0]);
    bytes::put(&mut message, 4, &flags);
    bytes::put(&mut message, 8, &target.octets());
    bytes::put(&mut message, 24, &[option, 1]);
    bytes::put(&mut message, 26, &from.1.0);
    let pseudo = Pseudo::V6 { source: from.0, destination: to.0 };
    let length = u32::try_from(message.len()).ok()?;
    let checksum = pseudo.sum(protocol::ICMPV6, length).octets(&message).checksum();
    bytes::put(&mut message, 2, &checksum.to_be_bytes());
    let mut frame = vec![0; 14 + ipv6::HEADER + message.len()];
    let ethernet =
        Ethernet { destination: to.1, source: from.1, tags: Tags::None, ether_type: EtherType::IPV6 };
    let header = ipv6::Repr {
        source: from.0,
        destination: to.0,
        dscp: Dscp::DEFAULT,
        ecn: Ecn::of_tos(0),
        flow_label: ipv6::FlowLabel::default(),
        hop_limit: NEAR,
        next_header: protocol::ICMPV6,
    };
    let packet = ethernet.emit(&mut frame).ok()?;
    header.emit(packet).ok()?.copy_from_slice(&message);
    Some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OURS: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
    const THEIRS: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

    proptest! {
        #[test]
        fn questions_and_answers_are_read_back(v4: [u32; 2], v6: [u128; 2], six: bool) {
            let [a, b] = if six {
                v6.map(|address| IpAddr::V6(address.into()))
            } else {
                v4.map(|address| IpAddr::V4(address.into()))
            };
            let question = ask(a, b, OURS).unwrap();
            prop_assert!(question.len() >= MIN_FRAME_OCTETS);
            prop_assert_eq!(read(&question), Some(Message::Asks { target: a, asker: b, asker_mac: OURS }));
            let answer = reply(a, THEIRS, b, OURS).unwrap();
            prop_assert_eq!(read(&answer), Some(Message::Tells { address: a, mac: THEIRS }));
        }

        #[test]
        fn any_octets_are_read_without_panic(octets in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = read(&octets);
            let mut arp = vec![0; 12];
            arp.extend([8, 6]);
            arp.extend(&octets);
            let _ = read(&arp);
        }
    }

    #[test]
    fn addresses_of_two_versions_have_no_words_for_each_other() {
        let [four, six] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        assert_eq!(ask(four, six, OURS), None);
        assert_eq!(reply(six, OURS, four, THEIRS), None);
    }

    #[test]
    fn a_message_from_beyond_the_link_is_not_believed() {
        let mut question =
            ask(IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST), OURS).unwrap();
        question[14 + 7] = 64;
        assert_eq!(read(&question), None);
    }
}
