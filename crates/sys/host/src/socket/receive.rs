//! Receiving datagrams, many with one call.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;

use super::address;
use super::control::{CONTROL_LEN, message, messages};
use super::send::{Source, is_earlier_error};
use super::stamping::StampingSocket;
use crate::HostError;
use crate::clock::{Realtime, realtime_now};
use crate::phc::PhcTime;

/// Most datagrams of one batch; the headers of so many lie on the stack.
const MAX_BATCH: usize = 64;
/// The longest UDP payload that a socket can hand over (RFC 768, without jumbograms).
const MAX_PAYLOAD: usize = 65_535;
/// How many pending ICMP errors one receive steps over.
const RETRIES: usize = 64;

/// A datagram that was received.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// The UDP payload, cut to the batch's payload size.
    pub payload: &'a [u8],
    /// Length of the UDP payload as it came, also where `payload` is shorter.
    pub length: usize,
    /// Whether `payload` was cut.
    pub truncated: bool,
    /// Who sent it.
    pub peer: SocketAddr,
    /// The address it was sent to, which an answer should come from.
    pub destination: Option<IpAddr>,
    /// Index of the interface it came in by; 0 if unknown.
    pub interface: u32,
    /// When the kernel took it from the driver; `None` where it took no stamp.
    pub kernel: Option<Realtime>,
    /// When the network card took it from the wire, by its own clock; `None` where it took no stamp.
    pub card: Option<PhcTime>,
    /// Read from the real-time clock right after the receive call; one reading for the whole batch.
    pub user: Realtime,
    /// Time to live or hop limit on arrival.
    pub ttl: Option<u8>,
    /// TOS or traffic-class octet on arrival, ECN bits included.
    pub tos: Option<u8>,
    /// How many the kernel had dropped when this one came, because they found the socket full or were damaged. Counts from the
    /// opening of the socket; wraps at 2^32. What it grew by since the datagram before was dropped between the two.
    pub dropped_before: u32,
}

impl Datagram<'_> {
    /// From where it is to be answered: from the address that it was sent to, and, where that or its sender is known on its
    /// link only, by the interface that it came in by. Else the host's routes say by which: Linux takes whatever is sent by an
    /// interface that has no route to there for a neighbour's, so that nobody would learn that there is no way.
    pub fn answered_from(&self) -> Option<Source> {
        let address = self.destination?;
        let on_link = is_link_local(address) || is_link_local(self.peer.ip());
        Some(Source { address, interface: if on_link { self.interface } else { 0 } })
    }
}

/// Whether an address says something on its own link only.
fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address
            .to_ipv4_mapped()
            .map_or_else(|| address.is_unicast_link_local(), |mapped| mapped.is_link_local()),
    }
}

/// Room for datagrams, allocated once.
#[derive(Debug)]
pub struct ReceiveBatch {
    payload_size: usize,
    payloads: Box<[u8]>,
    names: Box<[[u8; address::ADDRESS_LEN]]>,
    controls: Box<[[u8; CONTROL_LEN]]>,
    received: Vec<RawDatagram>,
    user: Realtime,
}

#[derive(Clone, Copy, Debug)]
struct RawDatagram {
    length: usize,
    peer: SocketAddr,
    destination: Option<IpAddr>,
    interface: u32,
    kernel: Option<Realtime>,
    card: Option<PhcTime>,
    ttl: Option<u8>,
    tos: Option<u8>,
    dropped_before: u32,
}

impl ReceiveBatch {
    /// Room for `datagrams` (1 to 64) of up to `payload_size` octets (1 to 65,535) each; values outside are taken
    /// to the nearest end.
    pub fn new(datagrams: usize, payload_size: usize) -> Self {
        let datagrams = datagrams.clamp(1, MAX_BATCH);
        let payload_size = payload_size.clamp(1, MAX_PAYLOAD);
        Self {
            payload_size,
            payloads: vec![0; datagrams * payload_size].into_boxed_slice(),
            names: vec![[0; address::ADDRESS_LEN]; datagrams].into_boxed_slice(),
            controls: vec![[0; CONTROL_LEN]; datagrams].into_boxed_slice(),
            received: Vec::with_capacity(datagrams),
            user: Realtime::from_nanos(0),
        }
    }

    /// The datagrams of the last receive, in order of arrival.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Datagram<'_>> {
        self.received.iter().zip(self.payloads.chunks_exact(self.payload_size)).map(|(received, room)| {
            let kept = received.length.min(self.payload_size);
            Datagram {
                payload: &room[..kept],
                length: received.length,
                truncated: received.length > kept,
                peer: received.peer,
                destination: received.destination,
                interface: received.interface,
                kernel: received.kernel,
                card: received.card,
                user: self.user,
                ttl: received.ttl,
                tos: received.tos,
                dropped_before: received.dropped_before,
            }
        })
    }

    /// How many datagrams the last receive brought.
    pub fn len(&self) -> usize {
        self.received.len()
    }

    /// Whether the last receive brought nothing.
    pub fn is_empty(&self) -> bool {
        self.received.is_empty()
    }

    /// How many datagrams one receive can bring.
    pub fn capacity(&self) -> usize {
        self.names.len()
    }
}

impl StampingSocket {
    /// Receives what is there, up to the batch's capacity, without blocking, and gives the number of datagrams.
    /// A full batch means that more may wait.
    ///
    /// # Errors
    /// A system call's refusal, as of memory. ICMP errors are none: they come with the
    /// [transmit events](StampingSocket::transmit_events).
    pub fn receive_batch(&self, batch: &mut ReceiveBatch) -> Result<usize, HostError> {
        batch.received.clear();
        let mut headers = [const { empty_header() }; MAX_BATCH];
        let mut vectors = [const { libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 } }; MAX_BATCH];
        let rooms = batch.payloads.chunks_exact_mut(batch.payload_size);
        let rooms = rooms.zip(batch.names.iter_mut()).zip(batch.controls.iter_mut());
        for (((room, name), control), (header, vector)) in rooms.zip(headers.iter_mut().zip(&mut vectors)) {
            *vector = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
            *header = receive_header(name, vector, control);
        }
        let headers = &mut headers[..batch.names.len()];
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        let Some(count) = self.receive_messages(headers, flags)? else { return Ok(0) };
        batch.user = realtime_now();
        for (index, header) in headers[..count].iter().enumerate() {
            let name = &batch.names[index][..header.msg_hdr.msg_namelen as usize];
            let control = &batch.controls[index][..header.msg_hdr.msg_controllen.min(CONTROL_LEN)];
            // A datagram without a sender's address of our family cannot be; if it were, it is of no use.
            if let Some(peer) = address::decode(name) {
                batch.received.push(read_datagram(header.msg_len as usize, peer, control));
            }
        }
        Ok(batch.received.len())
    }

    /// One `recvmmsg`; `None` where nothing waits. The headers point into memory that outlives the call.
    pub(super) fn receive_messages(
        &self,
        headers: &mut [libc::mmsghdr],
        flags: libc::c_int,
    ) -> Result<Option<usize>, HostError> {
        let length = libc::c_uint::try_from(headers.len()).unwrap_or(0);
        for _ in 0..RETRIES {
            // SAFETY: `headers` is exclusively ours; each header describes buffers that the callers of this method
            // have borrowed exclusively beyond it, with their true lengths. No timeout is given.
            let answer = unsafe {
                libc::recvmmsg(
                    self.descriptor.as_raw_fd(),
                    headers.as_mut_ptr(),
                    length,
                    flags as _,
                    std::ptr::null_mut(),
                )
            };
            if let Ok(count) = usize::try_from(answer) {
                return Ok(Some(count));
            }
            let error = HostError::last("receive");
            match error.errno() {
                Some(libc::EAGAIN) => return Ok(None),
                Some(libc::EINTR) => {}
                _ if is_earlier_error(&error) => {}
                _ => return Err(error),
            }
        }
        Ok(None)
    }
}

/// A header that describes nothing.
pub(super) const fn empty_header() -> libc::mmsghdr {
    // SAFETY: an mmsghdr is pointers and integers, for which zero is valid.
    unsafe { std::mem::zeroed() }
}

/// A header that lets a receive fill `name`, the vector's buffer and `control`.
pub(super) fn receive_header(
    name: &mut [u8; address::ADDRESS_LEN],
    vector: &mut libc::iovec,
    control: &mut [u8; CONTROL_LEN],
) -> libc::mmsghdr {
    let mut header = empty_header();
    header.msg_hdr = message(name, Some(vector), &[]);
    header.msg_hdr.msg_control = control.as_mut_ptr().cast();
    header.msg_hdr.msg_controllen = control.len();
    header
}

fn read_datagram(length: usize, peer: SocketAddr, control: &[u8]) -> RawDatagram {
    let mut received = RawDatagram {
        length,
        peer,
        destination: None,
        interface: 0,
        kernel: None,
        card: None,
        ttl: None,
        tos: None,
        dropped_before: 0,
    };
    for message in messages(control) {
        let octet = || message.integer().and_then(|value| u8::try_from(value).ok());
        match (message.level, message.kind) {
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPING_NEW) => {
                received.kernel = message.software_stamp().map(Realtime::from_nanos);
                received.card = message.card_stamp();
            }
            // None comes as long as none was dropped.
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                received.dropped_before = message.integer().map_or(0, i32::cast_unsigned);
            }
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                // struct in_pktinfo: interface, the local address, the destination in the header.
                received.interface = address::array(message.data, 0).map_or(0, u32::from_ne_bytes);
                received.destination =
                    address::array::<4>(message.data, 8).map(|ip| IpAddr::V4(Ipv4Addr::from(ip)));
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                received.interface = address::array(message.data, 16).map_or(0, u32::from_ne_bytes);
                received.destination =
                    address::array::<16>(message.data, 0).map(|ip| IpAddr::V6(Ipv6Addr::from(ip)));
            }
            (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                received.ttl = octet();
            }
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => received.tos = octet(),
            // One octet, where IPv6 gives an integer.
            (libc::IPPROTO_IP, libc::IP_TOS) => received.tos = message.data.first().copied(),
            _ => {}
        }
    }
    received
}
