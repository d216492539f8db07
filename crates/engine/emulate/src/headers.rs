//! What the engine has to know of a frame's headers: by what flows are told apart, and what counts at layer 3.

use romer_impair::Headers;
use romer_units::Dscp;
use romer_wire::dissect::NetworkHeader;
use romer_wire::ethernet::{self, EtherType, Frame};
use romer_wire::ip;

/// What flows are told apart by, as far as the frame can be read.
pub(crate) fn headers(octets: &[u8]) -> Headers {
    let Ok(frame) = Frame::parse(octets) else { return Headers::default() };
    let mut headers = Headers {
        ethertype: Some(frame.ether_type().0),
        vlan: frame.tags().iter().next().map(|tag| tag.vlan()),
        ..Headers::default()
    };
    let Ok(network) = NetworkHeader::parse(&frame) else { return headers };
    let Some((protocol, upper)) = network.carried() else { return headers };
    headers.protocol = Some(protocol);
    headers.dscp = network.dscp().map(Dscp::value);
    (headers.source, headers.destination) = network.addresses().unzip();
    let has_ports = matches!(protocol, ip::protocol::TCP | ip::protocol::UDP);
    // Only the first fragment has the ports.
    if has_ports && network.fragment().is_none_or(|fragment| fragment.offset == 0) {
        let word = |at: usize| Some(u16::from_be_bytes(upper.get(at..at + 2)?.try_into().ok()?));
        (headers.source_port, headers.destination_port) = (word(0), word(2));
    }
    headers
}

/// Octets of the check sequence.
const CHECK_SEQUENCE: u32 = 4;

/// The octets that count at layer 3 of a frame of which `octets` were kept and which has `length` octets with padding and
/// check sequence: those of an IP packet by its own header; of any other frame (ARP, MPLS, a packet whose header is none),
/// all that follows the Ethernet header and the VLAN tags.
pub(crate) fn network_length(octets: &[u8], length: u32) -> u32 {
    let frame = Frame::parse(octets).ok();
    let header = frame.as_ref().map_or(ethernet::HEADER, |frame| frame.repr().octets());
    let behind = length.saturating_sub(CHECK_SEQUENCE + u32::try_from(header).unwrap_or(u32::MAX));
    let stated = frame.and_then(|frame| stated_length(frame.ether_type(), frame.payload()));
    stated.filter(|stated| *stated <= behind).unwrap_or(behind)
}

/// The length of the IP packet that begins with `octets`, as its header states it.
fn stated_length(kind: EtherType, octets: &[u8]) -> Option<u32> {
    let version = octets.first()? >> 4;
    let word = |at: usize| Some(u32::from(u16::from_be_bytes(octets.get(at..at + 2)?.try_into().ok()?)));
    match (kind, version) {
        (EtherType::IPV4, 4) => word(2).filter(|total| *total >= 20),
        // A packet of 0 octets is a jumbogram, whose length is elsewhere.
        (EtherType::IPV6, 6) => word(4).filter(|payload| *payload > 0).map(|payload| payload + 40),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An untagged or tagged frame without check sequence, of at least `least` octets.
    fn frame(tags: &[u8], kind: u16, packet: &[u8], least: usize) -> Vec<u8> {
        let mut frame = [&[2; 12], tags, &kind.to_be_bytes()[..], packet].concat();
        frame.resize(frame.len().max(least), 0);
        frame
    }

    /// Layer 3 counts the IP packet's own length, whatever tags and padding are about it; other frames count what follows
    /// header and tags.
    #[test]
    fn layer_3_length_of_frames() {
        let ipv4 = |total: u16| {
            let [high, low] = total.to_be_bytes();
            let mut packet = vec![0x45, 0, high, low];
            packet.resize(usize::from(total), 0);
            packet
        };
        let ipv6 = |payload: u16| {
            let [high, low] = payload.to_be_bytes();
            let mut packet = vec![0x60, 0, 0, 0, high, low];
            packet.resize(40 + usize::from(payload), 0);
            packet
        };
        let vlan = [0x81, 0, 0, 9];
        let qinq = [0x88, 0xa8, 0, 8, 0x81, 0, 0, 9];
        let of = |octets: Vec<u8>| {
            let whole = u32::try_from(octets.len()).unwrap();
            network_length(&octets, (whole + 4).max(64))
        };
        for tags in [&[][..], &vlan, &qinq] {
            for padded in [0, 60] {
                assert_eq!(of(frame(tags, 0x0800, &ipv4(42), padded)), 42, "{tags:?} {padded}");
            }
            assert_eq!(of(frame(tags, 0x0800, &ipv4(1_500), 0)), 1_500, "{tags:?}");
            assert_eq!(of(frame(tags, 0x86dd, &ipv6(8), 60)), 48, "{tags:?}");
            assert_eq!(of(frame(tags, 0x8847, &[7; 200], 0)), 200, "MPLS behind {tags:?}");
        }
        // ARP of 28 octets: with padding and without it the frame on the wire is the same.
        assert_eq!([0, 60].map(|least| of(frame(&[], 0x0806, &[0; 28], least))), [46; 2]);
        // Lengths that cannot be: longer than the frame, shorter than a header, a jumbogram.
        assert_eq!(of(frame(&[], 0x0800, &ipv4(200)[..100], 0)), 100);
        assert_eq!(of(frame(&[], 0x0800, &[0x45, 0, 0, 0], 104)), 90);
        assert_eq!(of(frame(&[], 0x86dd, &ipv6(0), 104)), 90);
        assert_eq!(of(vec![2; 13]), 46);
    }

    /// A capture that kept only the first octets of a packet still has its length.
    #[test]
    fn layer_3_length_of_cut_capture() {
        let packet = [&[0x45, 0, 0x05, 0xdc][..], &[0; 16]].concat();
        assert_eq!(network_length(&frame(&[], 0x0800, &packet, 0), 1_518), 1_500);
    }

    #[test]
    fn flows_are_told_apart_by_their_headers() {
        let mut frame = vec![2; 12];
        frame.extend([0x81, 0, 0x20, 9, 8, 0]);
        frame.extend([0x45, 0xb8, 0, 38, 0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 2, 198, 18, 0, 3]);
        frame.extend([0x1b, 0x58, 0x13, 0x89, 0, 18, 0xff, 0xff]);
        frame.resize(frame.len() + 10, 7);
        let found = headers(&frame);
        assert_eq!((found.dscp, found.protocol, found.vlan), (Some(46), Some(17), Some(9)));
        assert_eq!((found.ethertype, found.source_port), (Some(0x0800), Some(7_000)));
        assert_eq!((found.destination_port, found.destination), (Some(5_001), "198.18.0.3".parse().ok()));
        assert_eq!(headers(&[0; 3]), Headers::default());
        assert_eq!(headers(&frame[..24]).dscp, None);
        // The rest of a packet that was cut has no ports.
        frame[25] = 9;
        assert_eq!((headers(&frame).protocol, headers(&frame).source_port), (Some(17), None));
    }

    proptest::proptest! {
        #[test]
        fn any_frame_is_read_without_panic(octets in proptest::collection::vec(proptest::arbitrary::any::<u8>(), 0..200)) {
            let _ = headers(&octets);
        }
    }
}
