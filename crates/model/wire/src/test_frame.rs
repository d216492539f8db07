//! Test frames of benchmarks: what a generator writes into every one of them, and where an analyser finds it.
//!
//! Each frame carries 18 octets, which is just what UDP over IPv4 has room for in the smallest frame of Ethernet
//! (64 octets with the check sequence, without VLAN tag): a signature of the run (4), the stream (2), the number of
//! the frame in its stream (4), when it was sent in nanoseconds after the trial's epoch (6), and a word that makes
//! the ones' complement sum over all 18 octets 0xffff. By that word the checksum of UDP or TCP over the frame is
//! always the same, however the rest changes, so that it is computed once for a stream; and damage shows. All that follows
//! the mark is zeros, so that damage shows there as well ([`is_intact`]).

use core::net::IpAddr;

use romer_units::Dscp;

use crate::checksum::{self, Pseudo, Sum};
use crate::ethernet::{EtherType, MacAddress, Repr as Ethernet, Tag, Tags};
use crate::ip::{Ecn, protocol};
use crate::{bytes, ipv4, ipv6, udp};

/// Octets of the mark.
pub const MARK: usize = 18;
/// Octets of the frame check sequence, which no socket sees.
pub const CHECK_SEQUENCE: usize = 4;
/// The protocol of frames that are plain IP: one for experiments (RFC 3692).
pub const PLAIN: u8 = 253;
/// Greatest stamp, in nanoseconds after the trial's epoch: 48 bits, three days.
pub const LATEST: u64 = (1 << 48) - 1;
/// Octets of a TCP header without options.
const TCP_HEADER: usize = 20;

/// What tells the frames of one run from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature(pub u32);

/// What a test frame says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Number of its stream.
    pub stream: u16,
    /// Number of the frame in its stream, from 0.
    pub sequence: u32,
    /// When it was given to the interface, nanoseconds after the trial's epoch; at most [`LATEST`].
    pub sent: u64,
}

impl Signature {
    /// Writes the mark into the first 18 octets of `place`; whether they are there.
    pub fn emit(self, mark: Mark, place: &mut [u8]) -> bool {
        let Some(place) = place.get_mut(..MARK) else { return false };
        let sent = mark.sent.min(LATEST).to_be_bytes();
        bytes::put(place, 0, &self.0.to_be_bytes());
        bytes::put(place, 4, &mark.stream.to_be_bytes());
        bytes::put(place, 6, &mark.sequence.to_be_bytes());
        bytes::put(place, 10, &sent[2..]);
        let complement = Sum::new().octets(&place[..16]).checksum();
        bytes::put(place, 16, &complement.to_be_bytes());
        true
    }

    /// Whether a mark of this run begins here, be it damaged or not.
    pub fn is_here(self, octets: &[u8]) -> bool {
        octets.len() >= MARK && octets.starts_with(&self.0.to_be_bytes())
    }

    /// Finds a whole mark of this run wherever it is in the first octets of a frame, behind headers that are not known; with where it
    /// begins.
    pub fn find(self, frame: &[u8]) -> Option<(usize, Mark)> {
        /// Headers in front of the mark have fewer octets, with those of several tunnels.
        const FARTHEST: usize = 256;
        let from = crate::ethernet::HEADER;
        let begins = frame.get(from..)?.windows(MARK).take(FARTHEST);
        begins.zip(from..).find_map(|(octets, at)| Some((at, self.read(octets)?)))
    }

    /// Reads a mark of this run; `None` for anything else, and for a damaged one.
    pub fn read(self, octets: &[u8]) -> Option<Mark> {
        let mark: &[u8; MARK] = octets.first_chunk()?;
        if mark[..4] != self.0.to_be_bytes() || !Sum::new().octets(mark).is_right() {
            return None;
        }
        let [_, _, _, _, s0, s1, n0, n1, n2, n3, t0, t1, t2, t3, t4, t5, _, _] = *mark;
        Some(Mark {
            stream: u16::from_be_bytes([s0, s1]),
            sequence: u32::from_be_bytes([n0, n1, n2, n3]),
            sent: u64::from_be_bytes([0, 0, t0, t1, t2, t3, t4, t5]),
        })
    }
}

/// What a frame carries above IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// UDP with these ports.
    Udp {
        /// Source port.
        source: u16,
        /// Destination port.
        destination: u16,
    },
    /// A TCP header of an established connection (ACK), with these ports.
    Tcp {
        /// Source port.
        source: u16,
        /// Destination port.
        destination: u16,
    },
    /// Nothing: the mark follows the IP header, the protocol is [`PLAIN`].
    Plain,
}

impl Carried {
    const fn protocol(self) -> u8 {
        match self {
            Self::Udp { .. } => protocol::UDP,
            Self::Tcp { .. } => protocol::TCP,
            Self::Plain => PLAIN,
        }
    }
    const fn header(self) -> usize {
        match self {
            Self::Udp { .. } => udp::HEADER,
            Self::Tcp { .. } => TCP_HEADER,
            Self::Plain => 0,
        }
    }
}

/// The frames of a stream, but for their mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Where the frame goes on its first link.
    pub destination_mac: MacAddress,
    /// Where it comes from.
    pub source_mac: MacAddress,
    /// Its VLAN tag.
    pub tag: Option<Tag>,
    /// Source address; both are of one version.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Code point.
    pub dscp: Dscp,
    /// ECN bits.
    pub ecn: Ecn,
    /// Hops that it may make.
    pub ttl: u8,
    /// What is above IP.
    pub carried: Carried,
}

/// Why there is no such frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// Source and destination are of two versions of IP.
    #[error("source and destination are not of one version of IP")]
    TwoVersions,
    /// The headers and the mark need more room.
    #[error(
        "a frame of {octets} octets has no room for its headers and 18 octets of test data; it takes {least}"
    )]
    TooSmall {
        /// Octets asked for, with the check sequence.
        octets: usize,
        /// The least that does.
        least: usize,
    },
    /// An IP packet cannot be as long.
    #[error("a frame of {0} octets is longer than an IP packet can be")]
    TooLong(usize),
}

/// A frame ready but for its mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The frame, without its check sequence.
    pub octets: Vec<u8>,
    /// Where the mark goes.
    pub mark: usize,
}

impl Form {
    /// Octets of the smallest frame of this form, with check sequence.
    pub const fn least(&self) -> usize {
        let tag = if self.tag.is_some() { 4 } else { 0 };
        let ip = if self.source.is_ipv4() { ipv4::HEADER } else { ipv6::HEADER };
        let needed = 14 + tag + ip + self.carried.header() + MARK + CHECK_SEQUENCE;
        // A tagged frame of the smallest kind is the untagged one and its tag.
        if needed < 64 + tag { 64 + tag } else { needed }
    }

    /// Octets of headers between the beginning of the frame and what is above IP and its transport.
    pub const fn overhead(&self) -> usize {
        let tag = if self.tag.is_some() { 4 } else { 0 };
        let ip = if self.source.is_ipv4() { ipv4::HEADER } else { ipv6::HEADER };
        14 + tag + ip + self.carried.header() + CHECK_SEQUENCE
    }

    /// The frame of `octets` octets, check sequence included, with a mark of zeros that has the right sum.
    ///
    /// # Errors
    /// [`FormError`]: it has no room for what it must carry, or the addresses do not fit each other.
    pub fn template(&self, octets: usize) -> Result<Template, FormError> {
        let least = self.least();
        if octets < least {
            return Err(FormError::TooSmall { octets, least });
        }
        let too_long = |_| FormError::TooLong(octets);
        let mut frame = vec![0; octets - CHECK_SEQUENCE];
        let ethernet = Ethernet {
            destination: self.destination_mac,
            source: self.source_mac,
            tags: self.tag.map_or(Tags::None, Tags::One),
            ether_type: if self.source.is_ipv4() { EtherType::IPV4 } else { EtherType::IPV6 },
        };
        let start = ethernet.octets();
        let packet = ethernet.emit(&mut frame).map_err(|_| FormError::TooLong(octets))?;
        let (carried, pseudo) = match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let header = ipv4::Repr {
                    source,
                    destination,
                    dscp: self.dscp,
                    ecn: self.ecn,
                    identification: 0,
                    dont_fragment: true,
                    ttl: self.ttl,
                    protocol: self.carried.protocol(),
                    options: ipv4::Options::NONE,
                };
                (
                    header.emit(packet).map_err(|_| FormError::TooLong(octets))?,
                    Pseudo::V4 { source, destination },
                )
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let header = ipv6::Repr {
                    source,
                    destination,
                    dscp: self.dscp,
                    ecn: self.ecn,
                    flow_label: ipv6::FlowLabel::default(),
                    hop_limit: self.ttl,
                    next_header: self.carried.protocol(),
                };
                (
                    header.emit(packet).map_err(|_| FormError::TooLong(octets))?,
                    Pseudo::V6 { source, destination },
                )
            }
            _ => return Err(FormError::TwoVersions),
        };
        let header = self.carried.header();
        Signature(0).emit(Mark { stream: 0, sequence: 0, sent: 0 }, &mut carried[header..]);
        match self.carried {
            Carried::Udp { source, destination } => {
                udp::Repr { source_port: source, destination_port: destination }
                    .emit(pseudo, carried)
                    .map_err(|_| FormError::TooLong(octets))?;
            }
            Carried::Tcp { source, destination } => {
                let length = u32::try_from(carried.len()).map_err(too_long)?;
                emit_tcp(source, destination, pseudo.sum(protocol::TCP, length), carried);
            }
            Carried::Plain => {}
        }
        let ip = if self.source.is_ipv4() { ipv4::HEADER } else { ipv6::HEADER };
        Ok(Template { octets: frame, mark: start + ip + header })
    }
}

/// Header and checksum over the payload that is in place.
fn emit_tcp(source: u16, destination: u16, pseudo: Sum, segment: &mut [u8]) {
    const DATA_OFFSET_AND_ACK: [u8; 2] = [5 << 4, 0x10];
    bytes::put(segment, 0, &source.to_be_bytes());
    bytes::put(segment, 2, &destination.to_be_bytes());
    bytes::put(segment, 12, &DATA_OFFSET_AND_ACK);
    bytes::put(segment, 14, &u16::MAX.to_be_bytes());
    bytes::put(segment, 16, &[0, 0]);
    let checksum = pseudo.octets(segment).checksum();
    bytes::put(segment, 16, &checksum.to_be_bytes());
}

impl Template {
    /// Gives the frame other ports, and puts the checksum right; nothing where it carries none. The mark's place
    /// is not touched.
    pub fn set_ports(&mut self, source: u16, destination: u16) {
        let Some((transport, checksum_at)) = self.transport() else { return };
        let Some(old) = self.octets.get(transport..transport + 4) else { return };
        let old: [u8; 4] = [old[0], old[1], old[2], old[3]];
        let [a, b] = source.to_be_bytes();
        let [c, d] = destination.to_be_bytes();
        let new = [a, b, c, d];
        let place = transport + checksum_at;
        let Some(&[high, low]) = self.octets.get(place..place + 2).and_then(<[u8]>::first_chunk) else {
            return;
        };
        let field = u16::from_be_bytes([high, low]);
        let updated = checksum::update_u32(field, u32::from_be_bytes(old), u32::from_be_bytes(new));
        let updated = if checksum_at == 6 { checksum::udp_sent(updated) } else { updated };
        bytes::put(&mut self.octets, transport, &new);
        bytes::put(&mut self.octets, place, &updated.to_be_bytes());
    }

    /// Gives the frame other addresses, of its version of IP, and puts the checksums right; nothing for those of the other
    /// version. The mark's place is not touched.
    pub fn set_addresses(&mut self, source: IpAddr, destination: IpAddr) {
        let above = self.transport();
        let start = above.map_or(self.mark, |(transport, _)| transport);
        let (mut new, mut old) = ([0; 32], [0; 32]);
        let (octets, is_v4) = match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                bytes::put(&mut new, 0, &source.octets());
                bytes::put(&mut new, 4, &destination.octets());
                (8, true)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                bytes::put(&mut new, 0, &source.octets());
                bytes::put(&mut new, 16, &destination.octets());
                (32, false)
            }
            _ => return,
        };
        // The addresses are the end of the header, which has no options.
        let Some(begin) = start.checked_sub(octets) else { return };
        let header = if is_v4 { ipv4::HEADER } else { ipv6::HEADER };
        let version =
            start.checked_sub(header).and_then(|first| self.octets.get(first)).map(|first| first >> 4);
        let Some(found) = self.octets.get(begin..start) else { return };
        if version != Some(if is_v4 { 4 } else { 6 }) {
            return;
        }
        bytes::put(&mut old, 0, found);
        if is_v4 {
            self.update(begin - 2, &old, &new, |sum| sum);
        }
        if let Some((transport, at)) = above {
            self.update(transport + at, &old, &new, if at == 6 { checksum::udp_sent } else { |sum| sum });
        }
        bytes::put(&mut self.octets, begin, &new[..octets]);
    }

    /// Puts the checksum at `place` right for octets that change.
    fn update(&mut self, place: usize, old: &[u8; 32], new: &[u8; 32], sent: fn(u16) -> u16) {
        let Some(&[high, low]) = self.octets.get(place..place + 2).and_then(<[u8]>::first_chunk) else {
            return;
        };
        if let Ok(sum) = checksum::update_range(u16::from_be_bytes([high, low]), 0, old, new) {
            bytes::put(&mut self.octets, place, &sent(sum).to_be_bytes());
        }
    }

    /// Where the transport's header begins, and where in it the checksum is.
    fn transport(&self) -> Option<(usize, usize)> {
        let seen = locate(&self.octets)?;
        match seen.protocol {
            protocol::UDP => Some((self.mark.checked_sub(udp::HEADER)?, 6)),
            protocol::TCP => Some((self.mark.checked_sub(TCP_HEADER)?, 16)),
            _ => None,
        }
    }
}

/// What an analyser sees of a frame beside its mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    /// Where the IP header begins.
    pub ip: usize,
    /// Where a mark would be.
    pub mark: usize,
    /// The TOS or traffic-class octet.
    pub tos: u8,
    /// The outermost VLAN tag's control field: priority, drop eligible, VLAN.
    pub tag: Option<u16>,
    /// What is above IP.
    pub protocol: u8,
    /// TTL or hop limit.
    pub ttl: u8,
}

impl Located {
    /// Source and destination address of the packet in this frame.
    pub fn addresses(&self, frame: &[u8]) -> Option<[IpAddr; 2]> {
        let packet = frame.get(self.ip..)?;
        if packet.first()? >> 4 == 4 {
            let all: &[u8; 8] = packet.get(12..)?.first_chunk()?;
            let [a, b, c, d, e, f, g, h] = *all;
            return Some([IpAddr::from([a, b, c, d]), IpAddr::from([e, f, g, h])]);
        }
        let address = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<16>()?));
        Some([address(8)?, address(24)?])
    }

    /// Source and destination port of the packet in this frame; `None` where it is neither UDP nor TCP.
    pub fn ports(&self, frame: &[u8]) -> Option<[u16; 2]> {
        if ![protocol::UDP, protocol::TCP].contains(&self.protocol) {
            return None;
        }
        let packet = frame.get(self.ip..)?;
        let first = *packet.first()?;
        let header = if first >> 4 == 4 { usize::from(first & 15) * 4 } else { ipv6::HEADER };
        let [a, b, c, d] = *packet.get(header..)?.first_chunk()?;
        Some([u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])])
    }
}

/// Whether a whole mark of any run begins here; `None` where there are fewer octets than it has.
pub fn is_whole(octets: &[u8]) -> Option<bool> {
    let mark: &[u8; MARK] = octets.first_chunk()?;
    Some(Sum::new().octets(mark).is_right())
}

/// Whether what follows the mark, which begins at `mark`, is as it was sent: zeros up to the frame's end.
pub fn is_intact(frame: &[u8], mark: usize) -> bool {
    frame.get(mark.saturating_add(MARK)..).is_none_or(|rest| rest.iter().all(|octet| *octet == 0))
}

/// Finds where a test frame would have its mark; `None` for a frame that is no whole IP packet as ours are. Quick,
/// and checks nothing but what it needs: whether the mark is one says [`Signature::read`].
pub fn locate(frame: &[u8]) -> Option<Located> {
    const TAGS: [u16; 2] = [0x8100, 0x88a8];
    let word = |at: usize| -> Option<u16> { Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?)) };
    let mut at = 12;
    let mut tag = None;
    while TAGS.contains(&word(at)?) && at < 20 {
        tag = tag.or(word(at + 2));
        at += 4;
    }
    let packet = frame.get(at + 2..)?;
    let begin = at + 2;
    let (tos, ttl, protocol, header) = match word(at)? {
        0x0800 => {
            let first = *packet.first()?;
            (*packet.get(1)?, *packet.get(8)?, *packet.get(9)?, usize::from(first & 15) * 4)
        }
        0x86dd => {
            let class = u16::from_be_bytes(*packet.first_chunk()?) >> 4;
            (u8::try_from(class & 0xff).unwrap_or(0), *packet.get(7)?, *packet.get(6)?, ipv6::HEADER)
        }
        _ => return None,
    };
    let above = begin + header;
    let mark = match protocol {
        protocol::UDP => above + udp::HEADER,
        protocol::TCP => above + usize::from(*frame.get(above + 12)? >> 4) * 4,
        PLAIN => above,
        _ => return None,
    };
    Some(Located { ip: begin, mark, tos, tag, protocol, ttl })
}

#[cfg(test)]
#[path = "test_frame_tests.rs"]
mod tests;
