//! Beliefs about raw IPv4 sockets.

use std::net::Ipv4Addr;
use std::os::fd::AsFd;

use romer_host::netns;
use romer_host::raw_ipv4::RawIpv4Socket;
use romer_host::socket::wait_any;
use romer_units::Duration;

use romer_testnet::namespace::{Pair, as_ordinary_user, with_network};

/// The protocol of RSVP.
const PROTOCOL: u8 = 46;
/// A header of 24 octets with Router Alert, TTL 255 and code point CS6; length, identification and checksum are zero.
const HEADER: [u8; 24] =
    [0x46, 0xc0, 0, 0, 0, 0, 0, 0, 255, PROTOCOL, 0, 0, 198, 18, 0, 77, 198, 18, 0, 3, 0x94, 4, 0, 0];

/// Relied on by `rsvp`: source, TTL and Router Alert arrive as they were written, and the kernel completes the header.
#[test]
fn raw_packets_keep_their_headers() {
    with_network("raw_ipv4::raw_packets_keep_their_headers", || {
        let pair = Pair::create();
        let [one, other] = [&pair.one, &pair.other].map(|namespace| {
            netns::with_namespace(&namespace.0, || RawIpv4Socket::open(PROTOCOL).unwrap()).unwrap()
        });
        let mut buffer = [0; 128];
        assert!(other.receive(&mut buffer).unwrap().is_none(), "an empty socket does not block");
        let packet = [&HEADER[..], b"reservation."].concat();
        one.send(&packet, Ipv4Addr::new(198, 18, 0, 3)).unwrap();
        let ready = wait_any(&[other.as_fd()], None, Some(Duration::from_secs(10))).unwrap();
        assert!(ready.readable(0), "nothing arrives");
        let received = other.receive(&mut buffer).unwrap().unwrap();
        assert_eq!(received.len(), packet.len());
        assert_eq!(received[2..4], [0, 36], "the length");
        assert_eq!((received[8], received[9]), (255, PROTOCOL));
        assert_eq!(received[12..16], HEADER[12..16], "the source, which is no address of the host");
        assert_eq!(received[20..], packet[20..]);
        let words = received[..24].chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum: u32 = words.sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "the checksum");
        // The sender's own socket has no copy.
        assert!(one.receive(&mut buffer).unwrap().is_none());
        assert!(
            one.send(&[&HEADER[..], &[0; 1_500]].concat(), Ipv4Addr::new(198, 18, 0, 3))
                .unwrap_err()
                .is_too_long()
        );
    });
}

/// Relied on by the message of `rsvp` that names the missing capability.
#[test]
fn raw_sockets_need_a_right() {
    as_ordinary_user("raw_ipv4::raw_sockets_need_a_right", || {
        assert!(RawIpv4Socket::open(PROTOCOL).unwrap_err().is_permission());
    });
}
