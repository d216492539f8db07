//! What really comes to a host, whatever port it is for, and packets with any source.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

/// `SOCK_RAW`.
const RAW: i32 = 3;
/// `IPPROTO_UDP`, and `IPPROTO_RAW`, by which whole packets are sent.
const UDP: i32 = 17;
const WHOLE: i32 = 255;

/// The reflector.
pub(crate) const REFLECTOR: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(198, 18, 0, 3), 862);

/// A datagram from the reflector.
#[derive(Debug)]
pub(crate) struct Heard {
    /// The port that it was sent to.
    pub(crate) port: u16,
    pub(crate) payload: Vec<u8>,
}

/// Hears every datagram that comes from the reflector to this host.
#[derive(Debug)]
pub(crate) struct Tap {
    socket: UdpSocket,
}

fn raw(protocol: i32) -> UdpSocket {
    let socket = Socket::new(Domain::IPV4, Type::from(RAW), Some(Protocol::from(protocol))).unwrap();
    // Room for a flood; the kernel gives what it allows.
    socket.set_recv_buffer_size(8 << 20).unwrap();
    UdpSocket::from(socket)
}

impl Tap {
    pub(crate) fn open() -> Self {
        Self { socket: raw(UDP) }
    }

    /// The next datagram, within `time`.
    pub(crate) fn hear(&self, time: Duration) -> Option<Heard> {
        self.socket.set_read_timeout(Some(time)).unwrap();
        let mut packet = vec![0; 65_535];
        loop {
            let (length, from) = match self.socket.recv_from(&mut packet) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) => panic!("{error}"),
            };
            let header = usize::from(packet[0] & 15) * 4;
            let [udp, payload] = [&packet[header..header + 8], &packet[header + 8..length]];
            let port = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
            if from.ip() == SocketAddr::V4(REFLECTOR).ip() && port(0) == REFLECTOR.port() {
                return Some(Heard { port: port(2), payload: payload.to_vec() });
            }
        }
    }
}

/// Sends `payload` to the reflector in a packet that says it comes from `source`.
pub(crate) fn send_as(source: SocketAddrV4, payload: &[u8]) {
    send_from(source, REFLECTOR, payload);
}

/// Sends `payload` to `destination` in a packet that says it comes from `source`.
pub(crate) fn send_from(source: SocketAddrV4, destination: SocketAddrV4, payload: &[u8]) {
    let socket = raw(WHOLE);
    let length = u16::try_from(28 + payload.len()).unwrap();
    // The kernel fills in length and checksum of the IP header; a UDP checksum of 0 is none (RFC 768).
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0];
    packet.extend(source.ip().octets());
    packet.extend(destination.ip().octets());
    for word in [source.port(), destination.port(), length - 20, 0] {
        packet.extend(word.to_be_bytes());
    }
    packet.extend(payload);
    socket.send_to(&packet, destination).unwrap();
}
