//! Beliefs about raw IPv4 sockets.

use std::net::Ipv4Addr;
use std::os::fd::AsFd;

use romer_host::netns;
use romer_host::raw_ipv4::RawIpv4Socket;
use romer_host::socket::wait_any;
use romer_units::Duration;

use romer_testnet::namespace::{Namespace, Pair, as_ordinary_user, with_network};

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

/// Relied on by the router of a lab: a socket of an interface receives packets with Router Alert for other hosts, with the TTL with
/// which they arrived, and no socket receives those without it.
#[test]
fn routers_receive_alerts() {
    with_network("raw_ipv4::routers_receive_alerts", || {
        let far = Ipv4Addr::new(192, 0, 2, 9);
        let pair = Pair::create();
        let [network, router] = [&pair.one, &pair.other].map(Namespace::network);
        network.add_route(far.into(), 32, Ipv4Addr::new(198, 18, 0, 3).into()).unwrap();
        router.add_route(far.into(), 32, Ipv4Addr::new(198, 18, 0, 2).into()).unwrap();
        router.set_parameter("net/ipv4/ip_forward", "1").unwrap();
        let open =
            |name: &Namespace, open: fn() -> RawIpv4Socket| netns::with_namespace(&name.0, open).unwrap();
        let sender = open(&pair.one, || RawIpv4Socket::open(PROTOCOL).unwrap());
        let host = open(&pair.other, || RawIpv4Socket::open(PROTOCOL).unwrap());
        let alerted = open(&pair.other, || RawIpv4Socket::open_router(PROTOCOL, "v1").unwrap());
        let elsewhere = open(&pair.other, || RawIpv4Socket::open_router(PROTOCOL, "lo").unwrap());
        let mut header = HEADER;
        header[16..20].copy_from_slice(&far.octets());
        // The same without the option.
        let mut plain = header[..20].to_vec();
        plain[0] = 0x45;
        sender.send(&[&plain[..], b"without"].concat(), far).unwrap();
        sender.send(&[&header[..], b"alert"].concat(), far).unwrap();
        let ready = wait_any(&[alerted.as_fd()], None, Some(Duration::from_secs(10))).unwrap();
        assert!(ready.readable(0), "nothing arrives");
        let mut buffer = [0; 128];
        let received = alerted.receive(&mut buffer).unwrap().unwrap();
        assert_eq!((received[8], &received[24..]), (255, &b"alert"[..]));
        for socket in [&alerted, &host, &elsewhere] {
            assert!(socket.receive(&mut buffer).unwrap().is_none());
        }
    });
}

/// Relied on by the message of `rsvp` that names the missing capability.
#[test]
fn raw_sockets_need_a_right() {
    as_ordinary_user("raw_ipv4::raw_sockets_need_a_right", || {
        assert!(RawIpv4Socket::open(PROTOCOL).unwrap_err().is_permission());
    });
}
