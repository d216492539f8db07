//! Packets that a sender's offloads have joined, taken apart as the wire would have had them.
//!
//! Between virtual links (veth, and so containers) the sender's kernel leaves it to the other end to cut what an
//! application wrote at once, and a packet socket there is handed the whole: headers once, and up to 64 KiB behind
//! them. [`Joined`] does what the sender's hardware would have done: each part gets headers of its own, with its
//! sequence number, lengths, flags, identification and checksums. Its doc names the rules.

use crate::checksum::checksum;
use crate::dissect::NetworkHeader;
use crate::ethernet::Frame;
use crate::ip::protocol;
use crate::transport::ChecksumField;
use crate::{bytes, udp};

/// Octets of a TCP header without options.
const TCP_HEADER: usize = 20;
/// Flags of TCP that the last part alone keeps (FIN, PSH), and that the first alone keeps (CWR).
const LAST_ONLY: u8 = 0x09;
const FIRST_ONLY: u8 = 0x80;
/// UDP ports at which tunnels end: VXLAN (RFC 7348, and Linux's older one) and Geneve (RFC 8926).
const TUNNELS: [u16; 3] = [4_789, 8_472, 6_081];

/// What was joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinedKind {
    /// Segments of a TCP connection over IPv4.
    TcpV4,
    /// Segments of a TCP connection over IPv6.
    TcpV6,
    /// Datagrams of UDP, over either.
    Udp,
}

/// A joined packet in its frame.
///
/// The parts carry the payload in order, `size` octets each and the last what is left. Of TCP, the sequence number
/// goes on by what was carried before, FIN and PSH stay with the last part and CWR with the first (as RFC 3168
/// section 6.1.2 wants it said once); the identification of IPv4 goes on by one a part; lengths and checksums are
/// each part's own.
#[derive(Clone, Copy, Debug)]
pub struct Joined<'a> {
    octets: &'a [u8],
    /// Where the IP header begins, the transport's, and the payload; and where that ends.
    network: usize,
    transport: usize,
    payload: usize,
    end: usize,
    is_v4: bool,
    is_tcp: bool,
    size: usize,
}

impl<'a> Joined<'a> {
    /// The frame of these octets, of which it is said that parts of `size` octets of payload each were joined.
    /// `None` where it is not what is said, so that nothing is known of how to take it apart: another protocol, a
    /// packet within a packet, a fragment, or no size.
    pub fn parse(octets: &'a [u8], kind: JoinedKind, size: u16) -> Option<Self> {
        let joined = Self::opened(octets)?;
        let is_it = match kind {
            JoinedKind::TcpV4 => joined.is_tcp && joined.is_v4,
            JoinedKind::TcpV6 => joined.is_tcp && !joined.is_v4,
            JoinedKind::Udp => !joined.is_tcp,
        };
        (is_it && size > 0).then_some(Self { size: size.into(), ..joined })
    }

    /// The frame of these octets, of which nobody says how long its parts were, as in a capture: parts as long as IP
    /// packets of `mtu` octets have room for. `None` where nothing is known of how to take it apart, as of
    /// [`Joined::parse`], where it is a tunnel's (VXLAN, Geneve), whose parts lie within it, and where `mtu` has no room
    /// behind its headers.
    pub fn fitting(octets: &'a [u8], mtu: usize) -> Option<Self> {
        let joined = Self::opened(octets).filter(|joined| joined.is_tcp || !joined.is_tunnel())?;
        let size = mtu.checked_sub(joined.payload - joined.network).filter(|size| *size > 0)?;
        Some(Self { size, ..joined })
    }

    /// The frame, as one part.
    fn opened(octets: &'a [u8]) -> Option<Self> {
        let frame = Frame::parse(octets).ok()?;
        let network = NetworkHeader::parse(&frame).ok()?;
        let (protocol, upper) = network.carried().filter(|_| network.fragment().is_none())?;
        let is_tcp = match protocol {
            protocol::TCP => true,
            protocol::UDP => false,
            _ => return None,
        };
        network.pseudo()?;
        let header = if is_tcp { usize::from(*upper.get(12)? >> 4) * 4 } else { udp::HEADER };
        let least = if is_tcp { TCP_HEADER } else { udp::HEADER };
        if header < least || upper.len() <= header {
            return None;
        }
        // The slices are parts of the frame, so that they can be found by where they lie.
        let place = |part: &[u8]| part.as_ptr().addr() - octets.as_ptr().addr();
        let transport = place(upper);
        Some(Self {
            octets,
            network: place(frame.payload()),
            transport,
            payload: transport + header,
            end: transport + upper.len(),
            is_v4: matches!(network, NetworkHeader::Ipv4(_)),
            is_tcp,
            size: upper.len() - header,
        })
    }

    /// Whether a datagram goes to a port at which tunnels end.
    fn is_tunnel(&self) -> bool {
        let port = self.octets.get(self.transport + 2..).and_then(<[u8]>::first_chunk);
        port.is_some_and(|port| TUNNELS.contains(&u16::from_be_bytes(*port)))
    }

    /// Where the transport's header begins, in octets of the frame.
    pub const fn transport(&self) -> usize {
        self.transport
    }

    /// How many parts there are, at least one.
    pub const fn parts(&self) -> usize {
        (self.end - self.payload).div_ceil(self.size)
    }

    /// Octets of the frame of the longest part, which is the first.
    pub fn longest(&self) -> usize {
        self.payload + self.size.min(self.end - self.payload)
    }

    /// Octets of the frame of a part, counted from 0; `None` where there is no such part.
    pub fn octets_of(&self, part: usize) -> Option<usize> {
        let from = part.checked_mul(self.size)?.checked_add(self.payload).filter(|from| *from < self.end)?;
        Some(self.payload + self.size.min(self.end - from))
    }

    /// Writes the frame of a part, counted from 0, to the beginning of `room`; its octets. `None` where there is no
    /// such part or no such room.
    pub fn emit(&self, part: usize, room: &mut [u8]) -> Option<usize> {
        let carried_before = part.checked_mul(self.size)?;
        let from = self.payload.checked_add(carried_before).filter(|from| *from < self.end)?;
        let to = self.end.min(from + self.size);
        let length = self.payload + (to - from);
        let made = room.get_mut(..length)?;
        bytes::put(made, 0, &self.octets[..self.payload]);
        bytes::put(made, self.payload, &self.octets[from..to]);
        self.finish_network(made, part);
        self.finish_transport(made, carried_before, part == 0, to == self.end);
        let field = ChecksumField::locate(made).map(|field| (field.place(), field.right()));
        let (place, right) = field?;
        bytes::put(made, place, &right.to_be_bytes());
        Some(length)
    }

    fn finish_network(&self, made: &mut [u8], part: usize) {
        let length = |from: usize, made: &[u8]| u16::try_from(made.len() - from).unwrap_or(u16::MAX);
        if !self.is_v4 {
            const FIXED: usize = 40;
            let length = length(self.network + FIXED, made);
            bytes::put(made, self.network + 4, &length.to_be_bytes());
            return;
        }
        let length = length(self.network, made);
        let header = &mut made[self.network..self.transport];
        let identification = u16::from_be_bytes([header[4], header[5]]);
        #[expect(clippy::cast_possible_truncation, reason = "identifications go round")]
        let identification = identification.wrapping_add(part as u16);
        bytes::put(header, 2, &length.to_be_bytes());
        bytes::put(header, 4, &identification.to_be_bytes());
        bytes::put(header, 10, &[0, 0]);
        let sum = checksum(header);
        bytes::put(header, 10, &sum.to_be_bytes());
    }

    fn finish_transport(&self, made: &mut [u8], carried_before: usize, is_first: bool, is_last: bool) {
        let header = &mut made[self.transport..];
        if !self.is_tcp {
            let length = u16::try_from(header.len()).unwrap_or(u16::MAX);
            bytes::put(header, 4, &length.to_be_bytes());
            return;
        }
        let sequence = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        let step = u32::try_from(carried_before).unwrap_or(u32::MAX);
        bytes::put(header, 4, &sequence.wrapping_add(step).to_be_bytes());
        let gone = if is_last { 0 } else { LAST_ONLY } | if is_first { 0 } else { FIRST_ONLY };
        header[13] &= !gone;
    }
}

#[cfg(test)]
#[path = "segmentation_tests.rs"]
mod tests;
