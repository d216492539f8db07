//! Frames as a port receives them, down to their UDP datagram.

use core::net::{Ipv4Addr, Ipv6Addr};

use romer_units::Dscp;
use romer_wire::checksum::{Pseudo, checksum, update_range};
use romer_wire::dissect::{self, NetworkHeader};
use romer_wire::ethernet::{self, EtherType, Frame, MacAddress, Tag, TagProtocol, Tags};
use romer_wire::ip::{Ecn, protocol};
use romer_wire::udp::Checksum;
use romer_wire::{ipv4, ipv6, udp};

use crate::Seed;

pub(crate) fn run(octets: &[u8]) {
    if let Ok(frame) = Frame::parse(octets) {
        let mut again = octets.to_vec();
        frame.repr().emit(&mut again).expect("as long as before");
        assert_eq!(again, octets, "a frame writes its own header");
    }
    // What fuzzers find about one layer should not need the layers around it.
    if let Ok(packet) = ipv4::Packet::parse(octets) {
        look_at_ipv4(&packet, octets);
    }
    if let Ok(packet) = ipv6::Packet::parse(octets) {
        look_at_ipv6(&packet, octets);
    }
    if let Ok(found) = dissect::frame(octets) {
        match &found.network {
            NetworkHeader::Ipv4(packet) => look_at_ipv4(packet, found.frame.payload()),
            NetworkHeader::Ipv6(packet) => look_at_ipv6(packet, found.frame.payload()),
            NetworkHeader::Other => {}
        }
        if let (Some(datagram), Some(pseudo)) = (found.udp(), found.network.pseudo()) {
            assert!(found.network.fragment().is_none(), "a fragment was read as a datagram");
            look_at_udp(&datagram, pseudo, found.udp_checksum());
        }
    }
    update(octets);
}

fn look_at_ipv4(packet: &ipv4::Packet<'_>, octets: &[u8]) {
    assert_eq!([packet.header(), packet.payload(), packet.padding()].concat(), octets);
    let _ = packet.pseudo();
    let Ok(repr) = ipv4::Repr::parse(packet) else { return };
    let mut again = vec![0; packet.header().len() + packet.payload().len()];
    repr.emit(&mut again).expect("as long as before");
    let again = ipv4::Packet::parse(&again).expect("what is emitted is legal");
    assert!(again.checksum_is_right());
    assert_eq!(ipv4::Repr::parse(&again), Ok(repr));
}

fn look_at_ipv6(packet: &ipv6::Packet<'_>, octets: &[u8]) {
    assert_eq!(octets.len(), ipv6::HEADER + packet.payload().len() + packet.padding().len());
    assert!(packet.payload().ends_with(packet.upper()));
    assert!(packet.extensions() <= ipv6::MOST_EXTENSIONS);
    let _ = packet.pseudo();
    let len = octets.len() - packet.padding().len();
    let mut again = octets.get(..len).unwrap_or_default().to_vec();
    ipv6::Repr::parse(packet).emit(&mut again).expect("as long as before");
    assert_eq!(Some(again.as_slice()), octets.get(..len), "a packet writes its own header");
}

fn look_at_udp(datagram: &udp::Datagram<'_>, pseudo: Pseudo, said: Option<Checksum>) {
    assert_eq!(said, Some(datagram.verify(pseudo)));
    let mut again = [&[0; udp::HEADER], datagram.payload()].concat();
    datagram.repr().emit(pseudo, &mut again).expect("as long as before");
    let again = udp::Datagram::parse(&again).expect("what is emitted is legal");
    assert_eq!(again.verify(pseudo), Checksum::Right);
    // With a right checksum in the datagram, it is the one that we compute.
    assert!(said != Some(Checksum::Right) || again.checksum() == datagram.checksum());
}

/// A checksum that is updated for a change is the one of the changed octets.
fn update(octets: &[u8]) {
    let [from, to, rest @ ..] = octets else { return };
    let (from, to) = (usize::from(*from) % (rest.len() + 1), usize::from(*to) % (rest.len() + 1));
    let (from, to) = (from.min(to), from.max(to));
    // The first octet is not zero and not changed; an all-zero sum has two checksums.
    let before = [&[0x45], rest].concat();
    let mut after = before.clone();
    let Some(range) = after.get_mut(from + 1..to + 1) else { return };
    range.reverse();
    let new = range.to_vec();
    let old = before.get(from + 1..to + 1).unwrap_or_default();
    assert_eq!(update_range(checksum(&before), from + 1, old, &new), Ok(checksum(&after)));
}

const V4: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(198, 18, 0, 2), Ipv4Addr::new(198, 18, 0, 3));
const V6: (Ipv6Addr, Ipv6Addr) =
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2));
const PORTS: udp::Repr = udp::Repr { source_port: 40_000, destination_port: 862 };

/// A frame with `tags` around `packet`.
fn frame(tags: Tags, ether_type: u16, packet: &[u8]) -> Vec<u8> {
    let header = ethernet::Repr {
        destination: MacAddress([2, 0, 0, 0, 0, 2]),
        source: MacAddress([2, 0, 0, 0, 0, 1]),
        tags,
        ether_type: EtherType(ether_type),
    };
    let mut octets = vec![0; header.octets()];
    header.emit(&mut octets).expect("there is room");
    octets.extend(packet);
    octets
}

fn datagram(pseudo: Pseudo, payload: &[u8]) -> Vec<u8> {
    let mut octets = [&[0; udp::HEADER], payload].concat();
    PORTS.emit(pseudo, &mut octets).expect("there is room");
    octets
}

fn udp_over_ipv4(options: &[u8], payload: &[u8]) -> Vec<u8> {
    let header = ipv4::Repr {
        source: V4.0,
        destination: V4.1,
        dscp: Dscp::EF,
        ecn: Ecn::NotEct,
        identification: 7,
        dont_fragment: true,
        ttl: 64,
        protocol: protocol::UDP,
        options: ipv4::Options::new(options).unwrap_or_default(),
    };
    let datagram = datagram(Pseudo::V4 { source: V4.0, destination: V4.1 }, payload);
    let mut octets = vec![0; header.octets() + datagram.len()];
    header.emit(&mut octets).expect("there is room").copy_from_slice(&datagram);
    octets
}

/// A packet with `extensions`, the kind of each and its octets, before what it carries.
fn over_ipv6(extensions: &[(u8, &[u8])], last: u8, carried: &[u8]) -> Vec<u8> {
    let kinds = extensions.iter().map(|(kind, _)| *kind).chain([last]);
    let mut payload = Vec::new();
    for ((_, octets), next) in extensions.iter().zip(kinds.clone().skip(1)) {
        payload.push(next);
        payload.extend(*octets);
    }
    payload.extend(carried);
    let header = ipv6::Repr {
        source: V6.0,
        destination: V6.1,
        dscp: Dscp::EF,
        ecn: Ecn::Ect0,
        flow_label: ipv6::FlowLabel::new(0xabcde).unwrap_or_default(),
        hop_limit: 64,
        next_header: kinds.clone().next().unwrap_or(last),
    };
    let mut octets = vec![0; ipv6::HEADER + payload.len()];
    header.emit(&mut octets).expect("there is room").copy_from_slice(&payload);
    octets
}

fn udp_over_ipv6(extensions: &[(u8, &[u8])]) -> Vec<u8> {
    let datagram = datagram(Pseudo::V6 { source: V6.0, destination: V6.1 }, &[7; 44]);
    over_ipv6(extensions, protocol::UDP, &datagram)
}

/// `octets` with others from `place` on.
fn with(mut octets: Vec<u8>, place: usize, others: &[u8]) -> Vec<u8> {
    octets[place..place + others.len()].copy_from_slice(others);
    octets
}

pub(crate) fn seeds() -> Vec<Seed> {
    [link_seeds(), ipv4_seeds(), ipv6_seeds()].concat()
}

fn link_seeds() -> Vec<Seed> {
    let packet = udp_over_ipv4(&[], &[7; 44]);
    let tag = |protocol, control| Tag::from_control(protocol, control);
    let one = Tags::One(tag(TagProtocol::Customer, 0xa064));
    let two =
        Tags::Two { outer: tag(TagProtocol::Service, 0xb0c8), inner: tag(TagProtocol::Customer, 0x2001) };
    let priority_only = Tags::One(tag(TagProtocol::Customer, 0xe000));
    let mut padded = frame(Tags::None, 0x0800, &udp_over_ipv4(&[], &[7; 14]));
    padded.resize(64, 0xee);
    let third = [&[0x81, 0x00, 0x00, 0x01, 0x08, 0x00], packet.as_slice()].concat();
    let bpdu = [&[0x42, 0x42, 0x03][..], &[0; 35]].concat();
    vec![
        Seed::new("empty", []),
        Seed::new("runt_of_fourteen", frame(Tags::None, 0x0800, &[])),
        Seed::new("cut_in_the_addresses", [2, 0, 0, 0, 0, 2, 2]),
        Seed::new("cut_in_the_tag", [&[2; 12][..], &[0x81, 0x00, 0x00]].concat()),
        Seed::new("ipv4_padded", padded),
        Seed::new("tagged", frame(one, 0x0800, &packet)),
        Seed::new("tagged_for_priority_only", frame(priority_only, 0x0800, &packet)),
        Seed::new("tagged_twice", frame(two, 0x0800, &packet)),
        Seed::new("tagged_three_times", with(frame(two, 0x0800, &third), 20, &[0x81, 0x00])),
        Seed::new("arp", frame(Tags::None, 0x0806, &[0; 28])),
        Seed::new("spanning_tree", with(frame(Tags::None, 38, &bpdu), 0, &[0x01, 0x80, 0xc2, 0, 0, 0])),
    ]
}

fn ipv4_seeds() -> Vec<Seed> {
    let plain = || frame(Tags::None, 0x0800, &udp_over_ipv4(&[], &[7; 44]));
    let route = [1, 131, 11, 4, 10, 0, 0, 8, 10, 0, 0, 9];
    let routed = frame(Tags::None, 0x0800, &udp_over_ipv4(&route, &[7; 8]));
    let options = frame(Tags::None, 0x0800, &udp_over_ipv4(&[1; 40], &[7; 8]));
    vec![
        Seed::new("ipv4_udp", plain()),
        Seed::new("ipv4_without_ethernet", udp_over_ipv4(&[], &[7; 14])),
        Seed::new("ipv4_forty_octets_of_options", options),
        Seed::new("ipv4_source_route", routed),
        Seed::new("ipv4_header_of_four_words", with(plain(), 14, &[0x44])),
        Seed::new("ipv4_version_six", with(plain(), 14, &[0x65])),
        Seed::new("ipv4_longer_than_the_frame", with(plain(), 16, &[0xff, 0xff])),
        Seed::new("ipv4_shorter_than_its_header", with(plain(), 16, &[0, 19])),
        Seed::new("ipv4_first_fragment", with(plain(), 20, &[0x20, 0x00])),
        Seed::new("ipv4_last_fragment", with(plain(), 20, &[0x00, 0x03])),
        Seed::new("ipv4_wrong_checksum", with(plain(), 24, &[0xde, 0xad])),
        Seed::new("ipv4_tcp", with(plain(), 23, &[protocol::TCP])),
        Seed::new("udp_length_seven", with(plain(), 38, &[0, 7])),
        Seed::new("udp_longer_than_the_packet", with(plain(), 38, &[0, 53])),
        Seed::new("udp_surplus", with(plain(), 38, &[0, 44])),
        Seed::new("udp_without_checksum", with(plain(), 40, &[0, 0])),
        Seed::new("udp_wrong_checksum", with(plain(), 40, &[0xde, 0xad])),
    ]
}

fn ipv6_seeds() -> Vec<Seed> {
    let v6 = |packet: &[u8]| frame(Tags::None, 0x86dd, packet);
    let options: &[u8] = &[0, 1, 4, 0, 0, 0, 0];
    let (hop, dest) = ((protocol::HOP_BY_HOP, options), (protocol::DESTINATION_OPTIONS, options));
    let fragment = |bits: &'static [u8; 7]| (protocol::FRAGMENT, &bits[..]);
    let route: &[u8] = &[2, 0, 1, 0, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
    let segments: &[u8] = &[2, 4, 1, 0, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
    let jumbo: &[u8] = &[0, 0xc2, 4, 0, 1, 0, 0];
    let chain = |count: usize| [&[hop][..], &vec![dest; count - 1]].concat();
    let authenticated: &[u8] = &[1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1];
    vec![
        Seed::new("ipv6_udp", v6(&udp_over_ipv6(&[]))),
        Seed::new("ipv6_without_ethernet", udp_over_ipv6(&[])),
        Seed::new("ipv6_options", v6(&udp_over_ipv6(&[hop, dest]))),
        Seed::new("ipv6_eight_extensions", v6(&udp_over_ipv6(&chain(8)))),
        Seed::new("ipv6_nine_extensions", v6(&udp_over_ipv6(&chain(9)))),
        Seed::new("ipv6_hop_by_hop_not_first", v6(&udp_over_ipv6(&[dest, hop]))),
        Seed::new("ipv6_atomic_fragment", v6(&udp_over_ipv6(&[fragment(&[0; 7])]))),
        Seed::new("ipv6_first_fragment", v6(&udp_over_ipv6(&[fragment(&[0, 0, 1, 9, 9, 9, 9])]))),
        Seed::new("ipv6_last_fragment", v6(&udp_over_ipv6(&[fragment(&[0, 0, 8, 9, 9, 9, 9])]))),
        Seed::new("ipv6_route", v6(&udp_over_ipv6(&[(protocol::ROUTING, route)]))),
        Seed::new("ipv6_segments", v6(&udp_over_ipv6(&[(protocol::ROUTING, segments)]))),
        Seed::new("ipv6_authenticated", v6(&udp_over_ipv6(&[(protocol::AUTHENTICATION, authenticated)]))),
        Seed::new("ipv6_encrypted", v6(&over_ipv6(&[hop], protocol::ESP, &[9; 16]))),
        Seed::new("ipv6_nothing_follows", v6(&over_ipv6(&[], protocol::NO_NEXT_HEADER, &[]))),
        Seed::new("ipv6_extension_cut_off", v6(&over_ipv6(&[], protocol::DESTINATION_OPTIONS, &[17, 9, 0]))),
        Seed::new("ipv6_jumbogram", with(v6(&udp_over_ipv6(&[(protocol::HOP_BY_HOP, jumbo)])), 18, &[0, 0])),
        Seed::new("ipv6_udp_without_checksum", with(v6(&udp_over_ipv6(&[])), 60, &[0, 0])),
    ]
}
