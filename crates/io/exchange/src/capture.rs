//! Captured traffic, pcap or pcapng: the UDP packets of a file, with what tells one from another.

use std::hash::Hasher;
use std::io::Read;
use std::net::IpAddr;

use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};
use romer_store::decoding::guarded;
use romer_wire::dissect::{NetworkHeader, Transport};
use romer_wire::udp::Datagram;
use romer_wire::{dissect, ip, ipv4, ipv6};
use thiserror::Error;

/// Octets that are read at a time, and the largest block that a file may have.
const BUFFER: usize = 4 << 20;
/// The kinds of pcapng's blocks whose options are looked at: an interface's description, its statistics, a packet.
const DESCRIPTION: u32 = 1;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;
/// How a section of pcapng begins, and its mark of the order of octets, as big-endian numbers.
const SECTION: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

/// Why a capture is not read.
#[derive(Debug, Error)]
pub enum CaptureFault {
    /// A block or packet is not what it should be.
    #[error("{why}")]
    Record {
        /// Its number, from 1.
        record: u64,
        /// `WHY; what to do`.
        why: String,
    },
}

/// How captures begin: pcap with stamps in microseconds and in nanoseconds, in either order of octets, and pcapng.
const MAGICS: [[u8; 4]; 5] = [
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0x0a, 0x0d, 0x0d, 0x0a],
];

/// Whether these octets begin a capture.
pub fn is_capture(head: &[u8]) -> bool {
    head.first_chunk().is_some_and(|magic| MAGICS.contains(magic))
}

/// One packet of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// When, nanoseconds since 1970 on the capturing host's clock.
    pub at_ns: i64,
    /// Who sent it to whom.
    pub flow: Flow,
    /// What tells it from others: a hash of its payload, or of the beginning of that ([`read_beginnings`]).
    pub content: u64,
    /// The identification of its IPv4 header; 0 where there is none.
    pub identification: u16,
    /// Octets of UDP payload, as the header says.
    pub size: u32,
    /// TTL or hop limit.
    pub ttl: u8,
    /// TOS or traffic class.
    pub tos: u8,
}

/// Addresses and ports of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// The sender's.
    pub source: (IpAddr, u16),
    /// The receiver's.
    pub destination: (IpAddr, u16),
}

impl Flow {
    /// The flow back.
    pub const fn back(self) -> Self {
        Self { source: self.destination, destination: self.source }
    }
}

impl std::fmt::Display for Flow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (from, to) = (self.source, self.destination);
        let (from, to) = (std::net::SocketAddr::from(from), std::net::SocketAddr::from(to));
        write!(f, "{from} to {to}")
    }
}

/// What a capture holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// Its UDP packets, in the file's order.
    pub packets: Vec<Captured>,
    /// Packets of other kinds, and parts of packets.
    pub others: u64,
    /// Packets of which the file has a part only.
    pub snapped: u64,
    /// The least that it has of the payload of such a packet among its UDP packets, octets.
    pub least_kept: Option<usize>,
    /// UDP packets that are none of a stream, which were left out ([`read_beginnings`]).
    pub aside: u64,
    /// The last packet is not whole, and was left out.
    pub truncated: bool,
}

/// A packet that lacks more than this was never on a network.
const MAX_PACKET_OCTETS: usize = 128 << 10;

/// An interface: its link, its clock (units a second, and the offset in seconds), and how many octets of a packet it
/// keeps at most.
#[derive(Clone, Copy)]
struct Interface {
    link: Linktype,
    resolution: u64,
    offset_s: i64,
    snap: u32,
}

impl Interface {
    /// Nanoseconds since 1970.
    fn at(&self, high: u32, low: u32) -> i128 {
        let units = i128::from(high) << 32 | i128::from(low);
        i128::from(self.offset_s) * 1_000_000_000 + units * 1_000_000_000 / i128::from(self.resolution)
    }
}

/// The units of time in a second, by what `if_tsresol` says: a power of 10, or of 2 where its first bit is set. `None` where
/// there are 2^64 or more.
fn units_a_second(resolution: u8) -> Option<u64> {
    let power = u32::from(resolution & 0x7f);
    if resolution & 0x80 == 0 { 10_u64.checked_pow(power) } else { 1_u64.checked_shl(power) }
}

/// What the header of a pcap file says of all its packets.
#[derive(Clone, Copy)]
struct Legacy {
    link: Linktype,
    /// Nanoseconds of a unit of time.
    unit: u64,
    snap: u32,
    is_big_endian: bool,
}

/// The most octets of a packet, as a file says it. None says 0, and nothing is held to it; pcapng's document means that by
/// it, and that of pcap forbids it and is not obeyed.
const fn snap_of(said: u32) -> u32 {
    if said == 0 { u32::MAX } else { said }
}

/// A packet as a capture has it.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// When, nanoseconds since 1970 on the capturing host's clock.
    pub at_ns: i64,
    /// What the file has of it, from the first octet on.
    pub octets: &'a [u8],
    /// How many octets it had.
    pub whole: u32,
    /// Whether it is an Ethernet frame.
    pub is_ethernet: bool,
    /// The number of the interface that it was captured on, in order of description; 0 in a pcap file.
    pub interface: u32,
    link: Linktype,
}

/// What a file had besides its packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// The program that wrote it, as its first section says (`shb_userappl` of pcapng).
    pub program: Option<String>,
    /// When the capture began, as an interface's statistics say first (`isb_starttime` of little-endian pcapng),
    /// nanoseconds since 1970.
    pub began_ns: Option<i64>,
    /// Packets without a time, which were passed over.
    pub timeless: u64,
    /// The last packet is not whole, and was left out.
    pub truncated: bool,
}

/// Reads a whole capture of UDP.
///
/// # Errors
/// [`CaptureFault`] where it is none, or a packet says what cannot be.
pub fn read(inner: impl Read + Send) -> Result<Capture, CaptureFault> {
    read_beginnings(inner, usize::MAX, |_| false, |_| Ok(()))
}

/// The same, where packets are told apart by the first `most` octets of their payloads alone, so that those of a capture that
/// has no more of them are found in another one that has. Those of which `is_aside` says, by as much of the payload as the file has,
/// that they are none of a stream are left out. It goes on while `admit` lets so many packets be.
///
/// # Errors
/// As [`read`], and in the words of `admit`.
pub fn read_beginnings(
    inner: impl Read + Send,
    most: usize,
    is_aside: impl Fn(&[u8]) -> bool,
    admit: impl Fn(u64) -> Result<(), String>,
) -> Result<Capture, CaptureFault> {
    let mut capture = Capture::default();
    let mut whole = Vec::new();
    let walked = walk(inner, |record| {
        let lacks = usize::try_from(record.whole).unwrap_or(usize::MAX).saturating_sub(record.octets.len());
        capture.snapped += u64::from(lacks > 0);
        let packet = if (1..=MAX_PACKET_OCTETS).contains(&lacks) {
            // The headers are read as if the rest were there, and say how long it is.
            whole.clear();
            whole.extend_from_slice(record.octets);
            whole.resize(record.octets.len() + lacks, 0);
            captured(&whole, record, most, &is_aside)
        } else {
            captured(record.octets, record, most, &is_aside)
        };
        match packet {
            Some((.., true)) => capture.aside += 1,
            Some((packet, kept, false)) => {
                capture.packets.push(packet);
                admit(capture.packets.len() as u64)?;
                let cut = kept.filter(|_| lacks > 0);
                capture.least_kept = [capture.least_kept, cut].into_iter().flatten().min();
            }
            None => capture.others += 1,
        }
        Ok(())
    })?;
    capture.others += walked.timeless;
    capture.truncated = walked.truncated;
    Ok(capture)
}

/// Hands over each packet of a capture, in the file's order, until `each` says in words why it goes no further.
///
/// # Errors
/// [`CaptureFault`] where it is no capture, a packet says what cannot be, or `each` refuses one. More octets of a packet than the
/// file says that it keeps of any (its snap length; of pcapng, each interface's) cannot be by the formats' documents, and
/// libpcap refuses them as well.
pub fn walk(
    inner: impl Read + Send,
    mut each: impl FnMut(&Record<'_>) -> Result<(), String>,
) -> Result<Walked, CaptureFault> {
    let first = |why: &str| CaptureFault::Record { record: 1, why: why.into() };
    let opened =
        guarded(|| create_reader(BUFFER, inner)).map_err(|undecodable| first(&undecodable.to_string()))?;
    let mut reader = opened.map_err(|error| match error {
        PcapError::Eof => first("the file is empty; name a capture"),
        _ => first("it is neither pcap nor pcapng; name a capture, as tcpdump -w writes it"),
    })?;
    let mut state = WalkState::default();
    loop {
        let next = guarded(|| reader.next()).map_err(|undecodable| state.fault(undecodable.to_string()))?;
        match next {
            Ok((length, block)) => {
                if matches!(block, PcapBlockOwned::NG(_)) && !length.is_multiple_of(4) {
                    return Err(state.uneven(length));
                }
                state.block(&block, &mut each)?;
                reader.consume(length);
            }
            Err(PcapError::Eof) => break,
            Err(PcapError::Incomplete(_)) => match reader.refill() {
                Ok(()) => {}
                Err(_) => return Err(state.fault("the file cannot be read to its end; copy it again".into())),
            },
            Err(PcapError::UnexpectedEof) => {
                state.cut(reader.data())?;
                state.walked.truncated = true;
                break;
            }
            Err(PcapError::BufferTooSmall) => {
                return Err(state.fault(format!(
                    "a block is longer than {BUFFER} bytes, the limit for a packet; is the file damaged?"
                )));
            }
            Err(_) => return Err(state.fault("its block is not in the format; is the file damaged?".into())),
        }
    }
    Ok(state.walked)
}

#[derive(Default)]
struct WalkState {
    record: u64,
    legacy: Option<Legacy>,
    interfaces: Vec<Interface>,
    is_big_endian: bool,
    walked: Walked,
}

/// Who is given the packets.
type Each<'e> = dyn FnMut(&Record<'_>) -> Result<(), String> + 'e;

/// When a packet came and how long it was, as its block says.
struct Said {
    at: i128,
    kept: u32,
    whole: u32,
    snap: u32,
    link: Linktype,
    interface: u32,
}

impl WalkState {
    fn fault(&self, why: String) -> CaptureFault {
        CaptureFault::Record { record: self.record + 1, why }
    }

    fn block(&mut self, block: &PcapBlockOwned<'_>, each: &mut Each<'_>) -> Result<(), CaptureFault> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.legacy = Some(Legacy {
                    link: header.network,
                    unit: if header.is_nanosecond_precision() { 1 } else { 1_000 },
                    snap: snap_of(header.snaplen),
                    is_big_endian: header.is_bigendian(),
                });
                Ok(())
            }
            PcapBlockOwned::Legacy(packet) => {
                let Some(Legacy { link, unit, snap, .. }) = self.legacy else {
                    return Err(self.fault("a packet comes before the header; is the file damaged?".into()));
                };
                let at =
                    i128::from(packet.ts_sec) * 1_000_000_000 + i128::from(packet.ts_usec) * i128::from(unit);
                let said = Said { at, kept: packet.caplen, whole: packet.origlen, snap, link, interface: 0 };
                self.packet(&said, packet.data, each)
            }
            PcapBlockOwned::NG(Block::SectionHeader(section)) => {
                self.interfaces.clear();
                self.is_big_endian = section.big_endian();
                if self.record == 0 && self.walked.program.is_none() {
                    let program = section.shb_userappl().and_then(Result::ok);
                    self.walked.program = program.map(str::to_owned);
                }
                Ok(())
            }
            PcapBlockOwned::NG(Block::InterfaceStatistics(statistics)) => {
                // The reader takes the option's octets for little-endian whatever the section is.
                let began = statistics.isb_starttime().and_then(Result::ok).filter(|_| !self.is_big_endian);
                let interface = usize::try_from(statistics.if_id).ok().and_then(|id| self.interfaces.get(id));
                if let (None, Some(((high, low), interface))) = (self.walked.began_ns, began.zip(interface)) {
                    self.walked.began_ns = i64::try_from(interface.at(high, low)).ok();
                }
                Ok(())
            }
            PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                let Some(resolution) = units_a_second(interface.if_tsresol) else {
                    return Err(self.fault("the resolution of an interface's clock is not supported; capture with microseconds or nanoseconds".into()));
                };
                let (offset_s, snap) = (interface.ts_offset(), snap_of(interface.snaplen));
                self.interfaces.push(Interface { link: interface.linktype, resolution, offset_s, snap });
                Ok(())
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let interface =
                    usize::try_from(packet.if_id).ok().and_then(|id| self.interfaces.get(id).copied());
                let Some(described) = interface else {
                    return Err(self.fault(format!(
                        "it names interface {}, which the file does not describe; is it damaged?",
                        packet.if_id
                    )));
                };
                let (at, Interface { link, snap, .. }) =
                    (described.at(packet.ts_high, packet.ts_low), described);
                let (kept, whole, interface) = (packet.caplen, packet.origlen, packet.if_id);
                self.packet(&Said { at, kept, whole, snap, link, interface }, packet.data, each)
            }
            // Without a time a packet is of no use here.
            PcapBlockOwned::NG(Block::SimplePacket(_)) => {
                self.record += 1;
                self.walked.timeless += 1;
                Ok(())
            }
            PcapBlockOwned::NG(_) => Ok(()),
        }
    }

    /// What the octets at the end of the file, which are no whole packet or block, say of its length.
    fn cut(&self, octets: &[u8]) -> Result<(), CaptureFault> {
        if self.legacy.is_none() {
            return self.cut_block(octets);
        }
        let (Some(legacy), Some(kept)) = (self.legacy, octets.get(8..).and_then(<[u8]>::first_chunk)) else {
            return Ok(());
        };
        let kept = if legacy.is_big_endian { u32::from_be_bytes(*kept) } else { u32::from_le_bytes(*kept) };
        self.within(kept, legacy.snap)
    }

    /// A block of a pcapng that the file has whole, and that still cannot be read, is not cut off but damaged, and so is
    /// one of a length that no block has, or of another than it has.
    fn cut_block(&self, octets: &[u8]) -> Result<(), CaptureFault> {
        let is_section = word(octets, 0, true) == Some(SECTION);
        let is_big_endian =
            if is_section { word(octets, 8, true) == Some(BYTE_ORDER) } else { self.is_big_endian };
        let Some(length) = word(octets, 4, is_big_endian) else { return Ok(()) };
        if !length.is_multiple_of(4) {
            return Err(self.uneven(length));
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length <= octets.len() {
            return Err(self
                .fault("the contents of its block are longer than the block; is the file damaged?".into()));
        }
        match own_end(octets, length, is_big_endian) {
            Ok(None) => Ok(()),
            Ok(Some(end)) => Err(self.fault(format!(
                "its block header states {length} bytes, more than the file has, but its contents end at {end}; is the file damaged?"
            ))),
            Err(Longer) => Err(self.fault("the contents of its block are longer than the block; is the file damaged?".into())),
        }
    }

    fn uneven(&self, length: impl std::fmt::Display) -> CaptureFault {
        self.fault(format!(
            "its block has {length} bytes, which is not a multiple of 4; is the file damaged?"
        ))
    }

    /// Refuses more octets of a packet than are kept of any.
    fn within(&self, kept: u32, snap: u32) -> Result<(), CaptureFault> {
        if kept <= snap {
            return Ok(());
        }
        Err(self.fault(format!(
            "{kept} bytes of it are stored, more than the snap length {snap}; is the file damaged, or its snap length wrong?"
        )))
    }

    fn packet(&mut self, said: &Said, data: &[u8], each: &mut Each<'_>) -> Result<(), CaptureFault> {
        self.within(said.kept, said.snap)?;
        let octets = usize::try_from(said.kept).ok().and_then(|kept| data.get(..kept));
        let Some(octets) = octets else {
            return Err(self.fault("its length is more than the block holds; is the file damaged?".into()));
        };
        let at_ns = i64::try_from(said.at).ok().filter(|at| at.unsigned_abs() < 1 << 62);
        let Some(at_ns) = at_ns else {
            return Err(self.fault("its time is out of range; is the file damaged?".into()));
        };
        let Said { whole, link, interface, .. } = *said;
        let is_ethernet = link == Linktype::ETHERNET;
        each(&Record { at_ns, octets, whole, is_ethernet, interface, link })
            .map_err(|why| self.fault(why))?;
        self.record += 1;
        Ok(())
    }
}

/// What is in a block ends behind it.
struct Longer;

/// Where the block of pcapng that stands first ends by its contents: by the length of its packet and of its options, behind
/// which its own length stands again. `None` where the file ends before that, or nothing can be told of this kind of block.
fn own_end(octets: &[u8], length: usize, is_big_endian: bool) -> Result<Option<usize>, Longer> {
    let number = |at| word(octets, at, is_big_endian).and_then(|number| usize::try_from(number).ok());
    let fixed = match word(octets, 0, is_big_endian) {
        Some(SECTION) => Some(24),
        Some(DESCRIPTION) => Some(16),
        Some(STATISTICS) => Some(20),
        Some(PACKET) => number(20).and_then(|kept| kept.checked_next_multiple_of(4)?.checked_add(28)),
        _ => None,
    };
    let Some(mut at) = fixed else { return Ok(None) };
    loop {
        let end = at.saturating_add(4);
        if end > length {
            return Err(Longer);
        }
        let Some(last) = number(at) else { return Ok(None) };
        if last == end {
            return Ok(Some(end));
        }
        // An option: its kind, and its length without the padding.
        let option = octets.get(at + 2..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        let option = if is_big_endian { u16::from_be_bytes(option) } else { u16::from_le_bytes(option) };
        at = end.saturating_add(usize::from(option).next_multiple_of(4));
    }
}

/// The number of four octets that stands there.
fn word(octets: &[u8], at: usize, is_big_endian: bool) -> Option<u32> {
    let octets = *octets.get(at..)?.first_chunk()?;
    Some(if is_big_endian { u32::from_be_bytes(octets) } else { u32::from_le_bytes(octets) })
}

/// The UDP packet in the frame of a record, whose `octets` are there or stand for those that are not, and how many octets of its
/// payload the record has where these are not all; and whether that is none of a stream.
fn captured(
    octets: &[u8],
    record: &Record<'_>,
    most: usize,
    is_aside: &dyn Fn(&[u8]) -> bool,
) -> Option<(Captured, Option<usize>, bool)> {
    let &Record { link, at_ns, .. } = record;
    let (network, datagram) = dissected(octets, link)?;
    let (from, to, identification, ttl, tos): (IpAddr, IpAddr, u16, u8, u8) = match network {
        NetworkHeader::Ipv4(packet) => (
            packet.source().into(),
            packet.destination().into(),
            packet.identification(),
            packet.ttl(),
            packet.dscp().tos() | packet.ecn().bits(),
        ),
        NetworkHeader::Ipv6(packet) => (
            packet.source().into(),
            packet.destination().into(),
            0,
            packet.hop_limit(),
            packet.dscp().tos() | packet.ecn().bits(),
        ),
        NetworkHeader::Other => return None,
    };
    let payload = datagram.payload();
    // Of what lacks, the end may have been padding.
    let padding = match &network {
        NetworkHeader::Ipv4(packet) => packet.padding().len(),
        NetworkHeader::Ipv6(packet) => packet.padding().len(),
        NetworkHeader::Other => 0,
    };
    let behind = padding + datagram.surplus().len();
    let lacks = octets.len().saturating_sub(record.octets.len()).saturating_sub(behind);
    let kept = payload.len().checked_sub(lacks)?;
    let mut hasher = std::hash::DefaultHasher::new();
    let beginning = payload.get(..kept)?;
    hasher.write(&beginning[..kept.min(most)]);
    let packet = Captured {
        at_ns,
        flow: Flow { source: (from, datagram.source_port()), destination: (to, datagram.destination_port()) },
        content: hasher.finish(),
        identification,
        size: u32::try_from(payload.len()).unwrap_or(u32::MAX),
        ttl,
        tos,
    };
    Some((packet, (lacks > 0).then_some(kept), is_aside(beginning)))
}

/// The UDP datagram of a packet of this link, with the header that carries it.
fn dissected(octets: &[u8], link: Linktype) -> Option<(NetworkHeader<'_>, Datagram<'_>)> {
    let (network, transport) = if link == Linktype::ETHERNET {
        let dissected = dissect::frame(octets).ok()?;
        (dissected.network, dissected.transport)
    } else {
        let packet = octets.get(head(link)?..)?;
        above(match packet.first()? >> 4 {
            4 => NetworkHeader::Ipv4(ipv4::Packet::parse(packet).ok()?),
            6 => NetworkHeader::Ipv6(ipv6::Packet::parse(packet).ok()?),
            _ => return None,
        })?
    };
    let Transport::Udp(datagram) = transport else { return None };
    Some((network, datagram))
}

/// Hands over each UDP packet of a capture that the file has whole: its flow, its time (nanoseconds since 1970) and its payload.
///
/// # Errors
/// As [`walk`].
pub fn walk_udp(
    inner: impl Read + Send,
    mut each: impl FnMut(Flow, i64, &[u8]) -> Result<(), String>,
) -> Result<Walked, CaptureFault> {
    walk(inner, |record| {
        let Some((network, datagram)) = dissected(record.octets, record.link) else { return Ok(()) };
        let Some((source, destination)) = network.addresses() else { return Ok(()) };
        let flow = Flow {
            source: (source, datagram.source_port()),
            destination: (destination, datagram.destination_port()),
        };
        each(flow, record.at_ns, datagram.payload())
    })
}

/// Octets before the IP packet on links that are not Ethernet; what is behind them and no IP packet is left out by its
/// version.
fn head(link: Linktype) -> Option<usize> {
    match link {
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | Linktype(12 | 14) => Some(0),
        Linktype::NULL | Linktype(108) => Some(4),
        Linktype::LINUX_SLL => Some(16),
        Linktype::LINUX_SLL2 => Some(20),
        _ => None,
    }
}

fn above(network: NetworkHeader<'_>) -> Option<(NetworkHeader<'_>, Transport<'_>)> {
    let (protocol, octets) = match &network {
        NetworkHeader::Ipv4(packet) => (packet.protocol(), packet.payload()),
        NetworkHeader::Ipv6(packet) => (packet.upper_protocol(), packet.upper()),
        NetworkHeader::Other => return None,
    };
    if network.fragment().is_some() || protocol != ip::protocol::UDP {
        return None;
    }
    let datagram = Datagram::parse(octets).ok()?;
    Some((network, Transport::Udp(datagram)))
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
