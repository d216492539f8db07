//! What flows are told apart by.

use romer_impair::Headers;
use romer_units::Dscp;
use romer_wire::dissect::Network;
use romer_wire::ethernet::Frame;
use romer_wire::ip;

/// What flows are told apart by, as far as the frame can be read.
pub(crate) fn headers(octets: &[u8]) -> Headers {
    let Ok(frame) = Frame::parse(octets) else { return Headers::default() };
    let mut headers = Headers {
        ethertype: Some(frame.ether_type().0),
        vlan: frame.tags().iter().next().map(|tag| tag.vlan()),
        ..Headers::default()
    };
    let Ok(network) = Network::parse(&frame) else { return headers };
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

#[cfg(test)]
mod tests {
    use super::*;

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
