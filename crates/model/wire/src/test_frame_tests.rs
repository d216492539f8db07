use core::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;
use crate::dissect;
use crate::ethernet::TagProtocol;

fn form(v6: bool, carried: Carried, tag: Option<Tag>) -> Form {
    let [source, destination] = if v6 {
        [1, 2].map(|host| IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, host)))
    } else {
        [2, 3].map(|host| IpAddr::V4(Ipv4Addr::new(198, 18, 0, host)))
    };
    Form {
        destination_mac: MacAddress([2, 0, 0, 0, 0, 1]),
        source_mac: MacAddress([2, 0, 0, 0, 0, 2]),
        tag,
        source,
        destination,
        dscp: Dscp::EF,
        ecn: Ecn::of_tos(2),
        ttl: 64,
        carried,
    }
}

const UDP: Carried = Carried::Udp { source: 50_000, destination: 5_001 };
const TCP: Carried = Carried::Tcp { source: 50_000, destination: 5_001 };

#[test]
fn the_smallest_frames_are_those_of_the_seed() {
    let tag = Tag::new(TagProtocol::Customer, 5, false, 10);
    for (v6, carried, tag, least) in [
        (false, UDP, None, 64),
        (false, UDP, tag, 68),
        // Chadda 2004 section 3.2.1: TCP with a stamp takes 76.
        (false, TCP, None, 76),
        (false, Carried::Plain, None, 64),
        (true, UDP, None, 84),
        (true, TCP, tag, 100),
    ] {
        let form = form(v6, carried, tag);
        assert_eq!(form.least(), least);
        assert_eq!(form.template(least).unwrap().octets.len(), least - CHECK_SEQUENCE);
        assert_eq!(form.template(least - 1), Err(FormError::TooSmall { octets: least - 1, least }));
    }
}

#[test]
fn sixty_four_octets_are_filled_to_the_last() {
    let template = form(false, UDP, None).template(64).unwrap();
    assert_eq!(template.mark + MARK, template.octets.len());
}

#[test]
fn addresses_of_two_versions_make_no_frame() {
    let mixed = Form { destination: IpAddr::V6(Ipv6Addr::LOCALHOST), ..form(false, UDP, None) };
    assert_eq!(mixed.template(128), Err(FormError::TwoVersions));
}

fn carried() -> impl Strategy<Value = Carried> {
    prop_oneof![Just(UDP), Just(TCP), Just(Carried::Plain)]
}

proptest! {
    #[test]
    fn every_mark_is_read_back_and_leaves_the_checksum_right(
        v6: bool, carried in carried(), tagged: bool, signature: u32, stream: u16, sequence: u32,
        sent in 0..=LATEST, more in 0usize..1_500, ports: [u16; 2], hosts: [u8; 2],
    ) {
        let tag = tagged.then(|| Tag::new(TagProtocol::Customer, 5, false, 10)).flatten();
        let form = form(v6, carried, tag);
        let mut template = form.template(form.least() + more).unwrap();
        template.set_ports(ports[0], ports[1]);
        let other = |address: IpAddr, host: u8| match address {
            IpAddr::V4(address) => IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() ^ u32::from(host) << 8)),
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() ^ u128::from(host) << 64)),
        };
        let [source, destination] = [other(form.source, hosts[0]), other(form.destination, hosts[1])];
        template.set_addresses(source, destination);
        let wrong_version = if v6 { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { IpAddr::V6(Ipv6Addr::LOCALHOST) };
        template.set_addresses(wrong_version, wrong_version);
        let mark = Mark { stream, sequence, sent };
        prop_assert!(Signature(signature).emit(mark, &mut template.octets[template.mark..]));
        let seen = locate(&template.octets).unwrap();
        prop_assert_eq!(seen.mark, template.mark);
        prop_assert_eq!((seen.tos, seen.ttl), (46 << 2 | 2, 64));
        prop_assert_eq!(seen.tag, tagged.then_some(5 << 13 | 10));
        prop_assert_eq!(Signature(signature).read(&template.octets[seen.mark..]), Some(mark));
        prop_assert_eq!(Signature(!signature).read(&template.octets[seen.mark..]), None);
        let whole = dissect::frame(&template.octets).unwrap();
        let pseudo = whole.network.pseudo().unwrap();
        match (pseudo, &whole.network) {
            (Pseudo::V4 { source: a, destination: b }, dissect::NetworkHeader::Ipv4(packet)) => {
                prop_assert_eq!([IpAddr::V4(a), IpAddr::V4(b)], [source, destination]);
                prop_assert!(packet.checksum_is_right());
            }
            (Pseudo::V6 { source: a, destination: b }, _) => {
                prop_assert_eq!([IpAddr::V6(a), IpAddr::V6(b)], [source, destination]);
            }
            _ => prop_assert!(false, "addresses of the version that was sent"),
        }
        match carried {
            Carried::Udp { .. } => {
                let datagram = whole.udp().unwrap();
                prop_assert!(matches!(datagram.verify(pseudo), udp::Checksum::Right));
                prop_assert_eq!([datagram.source_port(), datagram.destination_port()], ports);
            }
            Carried::Tcp { .. } => {
                let segment = &template.octets[template.mark - TCP_HEADER..];
                let sum = pseudo.sum(protocol::TCP, u32::try_from(segment.len()).unwrap());
                prop_assert!(sum.octets(segment).is_right());
            }
            Carried::Plain => {}
        }
    }

    #[test]
    fn damage_to_a_mark_is_seen(mark: [u8; 12], place in 0usize..MARK, bit in 0u8..8) {
        let mut octets = [0; MARK];
        let [a, b, c, d, e, f, g, h, ..] = mark;
        let said = Mark { stream: u16::from_be_bytes([a, b]), sequence: u32::from_be_bytes([c, d, e, f]), sent: u64::from(u16::from_be_bytes([g, h])) };
        Signature(7).emit(said, &mut octets);
        octets[place] ^= 1 << bit;
        prop_assert_eq!(Signature(7).read(&octets), None);
    }

    #[test]
    fn any_octets_are_looked_at_without_panic(octets in proptest::collection::vec(any::<u8>(), 0..120)) {
        if let Some(seen) = locate(&octets) {
            let _ = octets.get(seen.mark..).map(|mark| Signature(0).read(mark));
        }
    }
}

#[test]
fn a_bit_that_changes_behind_the_mark_or_in_it_is_seen() {
    for (v6, carried) in [(false, UDP), (false, TCP), (true, Carried::Plain)] {
        let Template { octets: mut frame, mark } = form(v6, carried, None).template(1_518).unwrap();
        let signature = Signature(0x1234_5678);
        assert!(signature.emit(Mark { stream: 1, sequence: 2, sent: 3 }, &mut frame[mark..]));
        assert!(is_intact(&frame, mark) && signature.is_here(&frame[mark..]));
        for place in [mark + MARK, mark + 700, frame.len() - 1] {
            frame[place] ^= 0x10;
            assert!(!is_intact(&frame, mark), "{place}");
            frame[place] ^= 0x10;
        }
        frame[mark + 9] ^= 1;
        assert_eq!((signature.read(&frame[mark..]), signature.is_here(&frame[mark..])), (None, true));
        assert!(!Signature(1).is_here(&frame[mark..]));
    }
    // Of a frame that was cut off, what is there is as it was.
    assert!(is_intact(&[0; 64], 42) && is_intact(&[0; 20], 42));
    assert!(!Signature(0).is_here(&[0; 17]));
}

/// A mark is found behind headers that nobody knows, and addresses are those of the packet.
#[test]
fn mark_is_found_behind_other_headers() {
    let mark = Mark { stream: 1, sequence: 7, sent: 9 };
    for v6 in [false, true] {
        let form = form(v6, UDP, None);
        let mut frame = form.template(128).unwrap();
        assert!(Signature(5).emit(mark, &mut frame.octets[frame.mark..]));
        let seen = locate(&frame.octets).unwrap();
        assert_eq!(seen.addresses(&frame.octets), Some([form.source, form.destination]));
        assert_eq!(Signature(5).find(&frame.octets), Some((frame.mark, mark)));
        // An MPLS label between the Ethernet header and the packet.
        let mut labelled = frame.octets[..12].to_vec();
        labelled.extend([0x88, 0x47, 0x00, 0x3e, 0x8b, 0x40]);
        labelled.extend(&frame.octets[14..]);
        assert_eq!(locate(&labelled), None);
        assert_eq!(Signature(5).find(&labelled), Some((frame.mark + 4, mark)));
        assert_eq!(Signature(6).find(&labelled), None);
    }
    assert_eq!(Signature(5).find(&[0; 20]), None);
}
