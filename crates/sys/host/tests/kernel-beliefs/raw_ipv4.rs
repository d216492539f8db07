//! Beliefs about raw IPv4 sockets.

use std::fs::File;
use std::io::Read;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

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

/// An IPv4 packet of UDP from 198.18.0.2 to 198.18.0.3 with this payload. Its checksums are computed here, word by word.
fn udp(payload: &[u8]) -> Vec<u8> {
    fn checksum(octets: &[u8]) -> [u8; 2] {
        let words =
            octets.chunks(2).map(|word| u32::from(word[0]) << 8 | word.get(1).copied().map_or(0, u32::from));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        (!u16::try_from(sum).unwrap()).to_be_bytes()
    }
    let addresses = [198, 18, 0, 2, 198, 18, 0, 3];
    let length = u16::try_from(8 + payload.len()).unwrap().to_be_bytes();
    let mut segment = [&[0x9c, 0x40, 0x03, 0x5e][..], &length, &[0, 0], payload].concat();
    let pseudo = [&addresses[..], &[0, 17], &length, &segment].concat();
    segment[6..8].copy_from_slice(&checksum(&pseudo));
    let whole = u16::try_from(28 + payload.len()).unwrap().to_be_bytes();
    let mut header = [&[0x45, 0][..], &whole, &[0, 1, 0x40, 0, 64, 17, 0, 0], &addresses].concat();
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum);
    [header, segment].concat()
}

/// A packet socket for all IPv4 packets of the namespace, as tcpdump has one. What it has is read without waiting.
fn capture(namespace: &Namespace) -> File {
    let open = || {
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK;
        // SAFETY: the call takes plain numbers.
        let descriptor = unsafe { libc::socket(libc::AF_PACKET, kind, i32::from(0x0800_u16.to_be())) };
        assert!(descriptor >= 0, "{}", std::io::Error::last_os_error());
        // SAFETY: the descriptor was opened just now and nobody else has it.
        File::from(unsafe { OwnedFd::from_raw_fd(descriptor) })
    };
    netns::with_namespace(&namespace.0, open).unwrap()
}

/// Relied on by `measure --checksum header`: a packet socket has damaged packets byte for byte as a capture has them, and those of
/// the mark alone; a UDP socket has the undamaged one alone.
#[test]
fn taps_receive_damaged_packets() {
    use romer_host::socket::{Mark, PacketTap, ReceiveBatch, SocketOptions, StampingSocket};

    with_network("raw_ipv4::taps_receive_damaged_packets", || {
        let pair = Pair::create();
        let sender = netns::with_namespace(&pair.one.0, || RawIpv4Socket::open(17).unwrap()).unwrap();
        let marks = [Mark { offset: 28, word: 0x726f_6d65 }, Mark { offset: 36, word: 0x0102_0304 }];
        let (tap, receiver) = netns::with_namespace(&pair.other.0, || {
            let address = "198.18.0.3:862".parse().unwrap();
            let receiver = StampingSocket::bind(address, &SocketOptions::default()).unwrap();
            (PacketTap::open(false, &marks).unwrap(), receiver)
        })
        .unwrap();
        let mut captured = capture(&pair.other);
        let right = udp(b"rome....\x01\x02\x03\x04 and more");
        let damaged = |place: usize| {
            let mut packet = right.clone();
            packet[place] ^= 0x10;
            packet
        };
        // In the payload, in either mark, in the ports and in the checksum; and one that has no mark.
        let marked = [right.clone(), damaged(45), damaged(28), damaged(36), damaged(22), damaged(27)];
        let other = udp(b"nothing of the kind, but long");
        let to = Ipv4Addr::new(198, 18, 0, 3);
        for packet in marked.iter().chain([&other]) {
            sender.send(packet, to).unwrap();
        }
        let mut buffer = [0; 256];
        for packet in &marked {
            let received = loop {
                let ready = wait_any(&[tap.as_fd()], None, Some(Duration::from_secs(10))).unwrap();
                assert!(ready.readable(0), "it does not arrive");
                if let Some(received) = tap.receive(&mut buffer).unwrap() {
                    break received;
                }
            };
            assert_eq!(received.octets, &packet[..]);
            let ready = wait_any(&[captured.as_fd()], None, Some(Duration::from_secs(10))).unwrap();
            assert!(ready.readable(0), "the capture has it as well");
            let mut octets = [0; 256];
            let length = captured.read(&mut octets).unwrap();
            assert_eq!(received.octets, &octets[..length], "as a capture has it");
            assert!(!received.is_checksum_unfinished);
        }
        let mut batch = ReceiveBatch::new(8, 128);
        let mut payloads = Vec::new();
        while payloads.len() < 2 {
            assert!(!receiver.wait(Some(Duration::from_secs(10))).unwrap().timed_out());
            receiver.receive_batch(&mut batch).unwrap();
            payloads.extend(batch.iter().map(|datagram| datagram.payload.to_vec()));
        }
        assert_eq!(payloads, [right[28..].to_vec(), other[28..].to_vec()]);
        assert!(tap.receive(&mut buffer).unwrap().is_none(), "what has no mark is not received");
    });
}
