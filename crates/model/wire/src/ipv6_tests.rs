use super::*;
use proptest::prelude::*;

const UDP: u8 = protocol::UDP;

fn plain(next_header: u8) -> Repr {
    Repr {
        source: "2001:db8::1".parse().unwrap(),
        destination: "2001:db8::2".parse().unwrap(),
        dscp: Dscp::EF,
        ecn: Ecn::Ect0,
        flow_label: FlowLabel::new(0xabcde).unwrap(),
        hop_limit: 64,
        next_header,
    }
}

fn packet(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; HEADER + payload.len()];
    plain(next_header).emit(&mut octets).unwrap().copy_from_slice(payload);
    octets
}

/// An extension header of 8 octets of padding options, or a fragment header of an atomic fragment.
fn extension(next: u8) -> [u8; 8] {
    [next, 0, 0, 0, 0, 0, 0, 0]
}

#[test]
fn the_fixed_header_is_laid_out_as_rfc_8200_section_3_says() {
    let octets = packet(UDP, &[1, 2]);
    assert_eq!(&octets[..8], &[0x6b, 0xaa, 0xbc, 0xde, 0, 2, 17, 64]);
    let view = Packet::parse(&octets).unwrap();
    assert_eq!((view.dscp(), view.ecn(), view.flow_label().value()), (Dscp::EF, Ecn::Ect0, 0xabcde));
    assert_eq!((view.upper_protocol(), view.upper(), view.extensions()), (UDP, &[1, 2][..], 0));
    let (source, destination) = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
    assert_eq!(view.pseudo(), Some(Pseudo::V6 { source, destination }));
}

#[test]
fn padding_of_the_link_is_not_payload() {
    let mut octets = packet(UDP, &[1, 2, 3]);
    octets.extend([0xee; 9]);
    let view = Packet::parse(&octets).unwrap();
    assert_eq!((view.payload().len(), view.padding().len()), (3, 9));
}

#[test]
fn malformed_lengths_are_named() {
    let mut octets = packet(UDP, &[0; 10]);
    assert_eq!(Packet::parse(&octets[..39]), Err(Ipv6Error::Truncated { have: 39, need: 40 }));
    assert_eq!(Packet::parse(&octets[..49]), Err(Ipv6Error::PayloadLength { stated: 10, have: 9 }));
    octets[0] = 0x45;
    assert_eq!(Packet::parse(&octets), Err(Ipv6Error::Version(4)));
}

#[test]
fn eight_extension_headers_are_walked_and_a_ninth_is_one_too_many() {
    let chain = |count: usize| {
        let next = |i: usize| if i + 1 == count { UDP } else { protocol::DESTINATION_OPTIONS };
        let headers: Vec<u8> = (0..count).flat_map(|i| extension(next(i))).collect();
        packet(protocol::HOP_BY_HOP, &[headers.as_slice(), &[7; 4]].concat())
    };
    let octets = chain(8);
    let view = Packet::parse(&octets).unwrap();
    assert_eq!((view.upper_protocol(), view.upper(), view.extensions()), (UDP, &[7; 4][..], 8));
    assert_eq!(Packet::parse(&chain(9)), Err(Ipv6Error::TooManyExtensions));
    assert_eq!(Packet::parse(&chain(50)), Err(Ipv6Error::TooManyExtensions));
}

#[test]
fn hop_by_hop_options_come_first_or_not_at_all() {
    let headers = [extension(protocol::HOP_BY_HOP), extension(UDP)].concat();
    let octets = packet(protocol::DESTINATION_OPTIONS, &headers);
    assert_eq!(Packet::parse(&octets), Err(Ipv6Error::HopByHopNotFirst));
}

#[test]
fn each_kind_of_extension_header_has_its_own_length() {
    for (kind, length, octets) in [
        (protocol::HOP_BY_HOP, 1, 16),
        (protocol::ROUTING, 0, 8),
        (protocol::FRAGMENT, 200, 8),
        (protocol::AUTHENTICATION, 4, 24),
        (protocol::DESTINATION_OPTIONS, 255, 2048),
        (protocol::MOBILITY, 2, 24),
    ] {
        let mut payload = vec![0; octets + 3];
        payload[..2].copy_from_slice(&[UDP, length]);
        let whole = packet(kind, &payload);
        assert_eq!(Packet::parse(&whole).unwrap().upper().len(), 3, "{kind}");
        let cut = packet(kind, &payload[..octets - 1]);
        assert_eq!(Packet::parse(&cut), Err(Ipv6Error::ExtensionTruncated(kind)));
    }
}

#[test]
fn what_is_encrypted_or_absent_ends_the_walk() {
    for last in [protocol::ESP, protocol::NO_NEXT_HEADER, protocol::ICMPV6, 253] {
        let octets = packet(protocol::HOP_BY_HOP, &[extension(last), [9; 8]].concat());
        let view = Packet::parse(&octets).unwrap();
        assert_eq!((view.upper_protocol(), view.upper()), (last, &[9; 8][..]));
    }
    assert_eq!(Packet::parse(&packet(protocol::NO_NEXT_HEADER, &[])).unwrap().upper(), &[0u8; 0]);
}

#[test]
fn an_atomic_fragment_is_a_whole_packet() {
    let octets = packet(protocol::FRAGMENT, &[extension(UDP), [5; 8]].concat());
    let view = Packet::parse(&octets).unwrap();
    assert_eq!((view.fragment(), view.upper_protocol(), view.upper()), (None, UDP, &[5; 8][..]));
}

#[test]
fn a_fragment_is_told_and_not_looked_into() {
    for (bits, offset, more) in [(0x0001u16, 0, true), (0x0008, 8, false), (0xfff9, 65_528, true)] {
        let mut header = extension(protocol::DESTINATION_OPTIONS);
        header[2..4].copy_from_slice(&bits.to_be_bytes());
        header[4..].copy_from_slice(&[1, 2, 3, 4]);
        let octets = packet(protocol::FRAGMENT, &[header, [0xff; 8]].concat());
        let view = Packet::parse(&octets).unwrap();
        assert_eq!(view.fragment(), Some(Fragment { identification: 0x0102_0304, offset, more }));
        assert_eq!(view.upper_protocol(), protocol::DESTINATION_OPTIONS);
        assert_eq!(view.upper(), &[0xff; 8]);
    }
}

#[test]
fn a_jumbogram_is_named_as_not_supported() {
    let mut octets = packet(protocol::HOP_BY_HOP, &[UDP, 0, 0xc2, 4, 0, 1, 0, 0]);
    octets[4..6].fill(0);
    assert_eq!(Packet::parse(&octets), Err(Ipv6Error::Jumbogram));
    assert_eq!(plain(protocol::HOP_BY_HOP).emit(&mut octets[..40]), Err(Ipv6Error::Jumbogram));
}

#[test]
fn a_route_with_stops_left_tells_its_last_stop() {
    let route = |kind: u8, left: u8| {
        let mut header = [0; 40];
        header[..4].copy_from_slice(&[UDP, 4, kind, left]);
        header[8..24].fill(0xaa);
        header[24..].fill(0xbb);
        packet(protocol::ROUTING, &header)
    };
    let destination = |octets: &[u8]| match Packet::parse(octets).unwrap().pseudo() {
        Some(Pseudo::V6 { destination, .. }) => Some(destination.octets()),
        _ => None,
    };
    let here = "2001:db8::2".parse::<Ipv6Addr>().unwrap().octets();
    assert_eq!(destination(&route(0, 0)), Some(here));
    assert_eq!(destination(&route(0, 1)), Some([0xbb; 16]));
    assert_eq!(destination(&route(4, 1)), Some([0xaa; 16]));
    assert_eq!(destination(&route(3, 1)), None);
}

#[test]
fn a_payload_longer_than_its_length_field_is_not_written() {
    let mut octets = vec![0; HEADER + 65_536];
    assert_eq!(plain(UDP).emit(&mut octets), Err(Ipv6Error::TooLong(65_536)));
    assert!(plain(UDP).emit(&mut octets[..HEADER + 65_535]).is_ok());
    assert!(plain(UDP).emit(&mut octets[..39]).is_err());
    assert_eq!(FlowLabel::new(1 << 20), None);
}

proptest! {
    #[test]
    fn a_header_is_read_as_written(
        addresses: [u128; 2], class: u8, label in 0u32..1 << 20, hop_limit: u8,
        next_header in prop_oneof![Just(6u8), Just(17), Just(58), 200u8..],
        payload: Vec<u8>, padding: Vec<u8>,
    ) {
        let repr = Repr {
            source: addresses[0].into(),
            destination: addresses[1].into(),
            dscp: Dscp::of_tos(class),
            ecn: Ecn::of_tos(class),
            flow_label: FlowLabel::new(label).unwrap(),
            hop_limit,
            next_header,
        };
        let mut octets = vec![0xaa; HEADER + payload.len()];
        repr.emit(&mut octets).unwrap().copy_from_slice(&payload);
        octets.extend(&padding);
        let view = Packet::parse(&octets).unwrap();
        prop_assert_eq!(Repr::parse(&view), repr);
        prop_assert_eq!((view.payload(), view.padding()), (payload.as_slice(), padding.as_slice()));
        prop_assert_eq!((view.upper_protocol(), view.upper()), (next_header, payload.as_slice()));
    }

    #[test]
    fn any_bytes_are_survived(octets: Vec<u8>) {
        let _ = Packet::parse(&octets);
    }

    #[test]
    fn any_chain_of_extension_headers_is_survived(
        first in prop::sample::select(&[0u8, 17, 43, 44, 51, 60, 135][..]),
        chain in proptest::collection::vec(
            (prop::sample::select(&[0u8, 17, 43, 44, 51, 60, 135][..]), 0u8..4, any::<[u8; 6]>()), 0..12),
        tail: Vec<u8>,
    ) {
        let chain = chain.iter().flat_map(|(next, len, rest)| {
            let mut header = vec![*next, *len];
            header.extend(rest);
            header.resize((usize::from(*len) + 1) * 8, 0);
            header
        });
        let payload: Vec<u8> = chain.chain(tail).collect();
        let mut octets = packet(UDP, &payload);
        octets[6] = first;
        if let Ok(view) = Packet::parse(&octets) {
            prop_assert!(view.extensions() <= MOST_EXTENSIONS);
            prop_assert!(view.payload().ends_with(view.upper()));
            let mut again = octets.clone();
            Repr::parse(&view).emit(&mut again).unwrap();
            prop_assert_eq!(again, octets);
        }
    }
}
