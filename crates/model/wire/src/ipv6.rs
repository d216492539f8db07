//! IPv6 (RFC 8200), its extension headers walked as far as needed to find what the packet carries.

use core::net::Ipv6Addr;

use romer_units::Dscp;
use thiserror::Error;

use crate::bytes;
use crate::checksum::Pseudo;
use crate::ip::{Ecn, Fragment, protocol};

/// Octets of the fixed header.
pub const HEADER: usize = 40;
/// The most extension headers that are walked. RFC 8504 section 5.3 lets a node set such a limit; 8 is its
/// number for options, and no packet in honest use comes near it.
pub const MOST_EXTENSIONS: u8 = 8;

/// Why bytes are not an IPv6 packet, or cannot become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Ipv6Error {
    /// Shorter than its header.
    #[error("an IPv6 packet of {have} octets is cut off in its header, which takes {need}")]
    Truncated {
        /// Octets that there are.
        have: usize,
        /// Octets that are needed.
        need: usize,
    },
    /// Another version.
    #[error("the version of an IPv6 packet is 6, not {0}")]
    Version(u8),
    /// More payload stated than there is.
    #[error("an IPv6 packet states a payload of {stated} octets, and {have} were received")]
    PayloadLength {
        /// The payload length that the header states.
        stated: usize,
        /// Octets that follow the header.
        have: usize,
    },
    /// A jumbogram (RFC 2675): its length is in an option.
    #[error("IPv6 jumbograms are not supported")]
    Jumbogram,
    /// More than [`MOST_EXTENSIONS`] extension headers.
    #[error("an IPv6 packet with more than {MOST_EXTENSIONS} extension headers is not looked into")]
    TooManyExtensions,
    /// An extension header that goes on past the end of the packet.
    #[error("IPv6 extension header {0} is cut off")]
    ExtensionTruncated(u8),
    /// Hop-by-hop options anywhere but first (RFC 8200 section 4.1).
    #[error("IPv6 hop-by-hop options are not the first extension header")]
    HopByHopNotFirst,
    /// More octets than a packet can have.
    #[error("{0} octets of payload are too many for an IPv6 packet")]
    TooLong(usize),
}

/// What the walk past the extension headers found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Upper<'a> {
    protocol: u8,
    payload: &'a [u8],
    extensions: u8,
    fragment: Option<Fragment>,
    final_stop: FinalStop,
}

/// Where a packet with a routing header is going in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FinalStop {
    /// To the destination in the fixed header.
    Destination,
    /// To the last address of a route.
    Address(Ipv6Addr),
    /// A kind of route that we cannot read.
    Unknown,
}

/// A view of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    fixed: &'a [u8; HEADER],
    payload: &'a [u8],
    padding: &'a [u8],
    upper: Upper<'a>,
}

impl<'a> Packet<'a> {
    /// Lays the view on `octets`. What lies past the payload length is padding of the link, and is kept
    /// apart.
    ///
    /// # Errors
    /// [`Ipv6Error`], where a length, the version or the chain of extension headers is wrong or too long.
    pub fn parse(octets: &'a [u8]) -> Result<Self, Ipv6Error> {
        let truncated = Ipv6Error::Truncated { have: octets.len(), need: HEADER };
        let (fixed, rest) = octets.split_first_chunk::<HEADER>().ok_or(truncated)?;
        let version = fixed[0] >> 4;
        if version != 6 {
            return Err(Ipv6Error::Version(version));
        }
        let stated = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
        let next = fixed[6];
        // A payload of no octets has no room for hop-by-hop options, unless its length is in one of them.
        if stated == 0 && next == protocol::HOP_BY_HOP {
            return Err(Ipv6Error::Jumbogram);
        }
        let (payload, padding) =
            rest.split_at_checked(stated).ok_or(Ipv6Error::PayloadLength { stated, have: rest.len() })?;
        Ok(Self { fixed, payload, padding, upper: walk(next, payload)? })
    }

    const fn traffic_class(&self) -> u8 {
        (self.fixed[0] << 4) | (self.fixed[1] >> 4)
    }
    /// The differentiated-services code point.
    pub const fn dscp(&self) -> Dscp {
        Dscp::of_tos(self.traffic_class())
    }
    /// The congestion notification.
    pub const fn ecn(&self) -> Ecn {
        Ecn::of_tos(self.traffic_class())
    }
    /// The flow label (RFC 6437).
    pub const fn flow_label(&self) -> FlowLabel {
        FlowLabel(u32::from_be_bytes([0, self.fixed[1] & 0x0f, self.fixed[2], self.fixed[3]]))
    }
    /// Hops that it may still make.
    pub const fn hop_limit(&self) -> u8 {
        self.fixed[7]
    }
    /// Where it comes from.
    pub fn source(&self) -> Ipv6Addr {
        address(self.fixed, 8)
    }
    /// Where it is going; with a routing header that is not used up, the next stop only.
    pub fn destination(&self) -> Ipv6Addr {
        address(self.fixed, 24)
    }
    /// Everything after the fixed header, extension headers included, without the link's padding.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }
    /// What follows the packet in the bytes that the view was laid on: the link's padding.
    pub const fn padding(&self) -> &'a [u8] {
        self.padding
    }
    /// How many extension headers were walked, an atomic fragment's among them.
    pub const fn extensions(&self) -> u8 {
        self.upper.extensions
    }
    /// Which part of a packet this is; `None` where it is whole. An atomic fragment (RFC 6946) is whole.
    pub const fn fragment(&self) -> Option<Fragment> {
        self.upper.fragment
    }
    /// The protocol behind the extension headers ([`crate::ip::protocol`]). Of a fragment, what its fragment
    /// header names, which may be one more extension header.
    pub const fn upper_protocol(&self) -> u8 {
        self.upper.protocol
    }
    /// What lies behind the extension headers.
    pub const fn upper(&self) -> &'a [u8] {
        self.upper.payload
    }

    /// What a transport's checksum covers of this packet's headers: the source and the final destination (RFC
    /// 8200 section 8.1). `None` where a route with stops left is of a kind that does not tell its last one.
    pub fn pseudo(&self) -> Option<Pseudo> {
        let destination = match self.upper.final_stop {
            FinalStop::Destination => self.destination(),
            FinalStop::Address(address) => address,
            FinalStop::Unknown => return None,
        };
        Some(Pseudo::V6 { source: self.source(), destination })
    }
}

fn address(fixed: &[u8; HEADER], offset: usize) -> Ipv6Addr {
    // Both offsets lie within the array, so there is always an address.
    Ipv6Addr::from(bytes::at::<16>(fixed, offset).unwrap_or_default())
}

/// Walks the extension headers of `payload`, the first of which is `next`.
fn walk(mut next: u8, payload: &[u8]) -> Result<Upper<'_>, Ipv6Error> {
    let mut rest = payload;
    let mut extensions = 0;
    let mut final_stop = FinalStop::Destination;
    let mut fragment = None;
    while fragment.is_none() && is_extension(next) {
        if next == protocol::HOP_BY_HOP && extensions > 0 {
            return Err(Ipv6Error::HopByHopNotFirst);
        }
        if extensions == MOST_EXTENSIONS {
            return Err(Ipv6Error::TooManyExtensions);
        }
        let cut = Ipv6Error::ExtensionTruncated(next);
        let head = rest.first_chunk::<8>().ok_or(cut)?;
        let len = extension_octets(next, head[1]);
        let (header, tail) = rest.split_at_checked(len).ok_or(cut)?;
        match next {
            protocol::FRAGMENT => fragment = fragment_of(head),
            protocol::ROUTING => final_stop = final_stop_of(header, head),
            _ => {}
        }
        (next, rest) = (head[0], tail);
        extensions += 1;
    }
    Ok(Upper { protocol: next, payload: rest, extensions, fragment, final_stop })
}

const fn is_extension(protocol: u8) -> bool {
    matches!(
        protocol,
        protocol::HOP_BY_HOP
            | protocol::ROUTING
            | protocol::FRAGMENT
            | protocol::AUTHENTICATION
            | protocol::DESTINATION_OPTIONS
            | protocol::MOBILITY
            | protocol::HIP
            | protocol::SHIM6
    )
}

/// How long an extension header is, given its second octet. Most count words of 8 octets after the first; the
/// authentication header counts words of 4 after the first two, and the fragment header is always 8 octets.
const fn extension_octets(kind: u8, length: u8) -> usize {
    match kind {
        protocol::FRAGMENT => 8,
        protocol::AUTHENTICATION => (length as usize + 2) * 4,
        _ => (length as usize + 1) * 8,
    }
}

/// The part that a fragment header tells of; `None` for an atomic fragment.
fn fragment_of(header: &[u8; 8]) -> Option<Fragment> {
    let bits = u16::from_be_bytes([header[2], header[3]]);
    let [.., a, b, c, d] = *header;
    let (offset, more) = (bits & 0xfff8, bits & 1 == 1);
    (offset != 0 || more).then(|| Fragment { identification: u32::from_be_bytes([a, b, c, d]), offset, more })
}

/// Where a routing header leads. Types 0 (RFC 5095 forbids it, but it is seen) and 2 (RFC 6275) list their
/// stops in order; type 4 (RFC 8754) lists them backwards, so that its first segment is the last stop.
fn final_stop_of(header: &[u8], head: &[u8; 8]) -> FinalStop {
    let (kind, segments_left) = (head[2], head[3]);
    if segments_left == 0 {
        return FinalStop::Destination;
    }
    let addresses = header.get(8..).unwrap_or_default();
    let last = match kind {
        0 | 2 => addresses.last_chunk::<16>(),
        4 => addresses.first_chunk::<16>(),
        _ => None,
    };
    last.map_or(FinalStop::Unknown, |octets| FinalStop::Address(Ipv6Addr::from(*octets)))
}

/// A flow label (RFC 6437): 20 bits, 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlowLabel(u32);

impl FlowLabel {
    /// The label `value`; `None` above 20 bits.
    pub const fn new(value: u32) -> Option<Self> {
        if value >> 20 == 0 { Some(Self(value)) } else { None }
    }
    /// 0 to 1,048,575.
    pub const fn value(self) -> u32 {
        self.0
    }
}

/// The fixed header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Where it comes from.
    pub source: Ipv6Addr,
    /// Where it is going.
    pub destination: Ipv6Addr,
    /// The differentiated-services code point.
    pub dscp: Dscp,
    /// The congestion notification.
    pub ecn: Ecn,
    /// The flow label.
    pub flow_label: FlowLabel,
    /// Hops that it may make.
    pub hop_limit: u8,
    /// What follows the fixed header: a protocol or the first extension header ([`crate::ip::protocol`]).
    pub next_header: u8,
}

impl Repr {
    /// The fixed header of `packet`.
    pub fn parse(packet: &Packet<'_>) -> Self {
        Self {
            source: packet.source(),
            destination: packet.destination(),
            dscp: packet.dscp(),
            ecn: packet.ecn(),
            flow_label: packet.flow_label(),
            hop_limit: packet.hop_limit(),
            next_header: packet.fixed[6],
        }
    }

    /// Writes the fixed header at the start of `packet`, which is as long as the whole packet, and gives what
    /// follows it, for the payload.
    ///
    /// # Errors
    /// [`Ipv6Error::Truncated`] where the header does not fit, [`Ipv6Error::TooLong`] above 65,535 octets of
    /// payload, [`Ipv6Error::Jumbogram`] for hop-by-hop options without room for them.
    pub fn emit<'b>(&self, packet: &'b mut [u8]) -> Result<&'b mut [u8], Ipv6Error> {
        let truncated = Ipv6Error::Truncated { have: packet.len(), need: HEADER };
        let (header, payload) = packet.split_at_mut_checked(HEADER).ok_or(truncated)?;
        let stated = u16::try_from(payload.len()).map_err(|_| Ipv6Error::TooLong(payload.len()))?;
        if stated == 0 && self.next_header == protocol::HOP_BY_HOP {
            return Err(Ipv6Error::Jumbogram);
        }
        let class = u32::from(self.dscp.tos() | self.ecn.bits());
        let first = (6 << 28) | (class << 20) | self.flow_label.0;
        bytes::put(header, 0, &first.to_be_bytes());
        bytes::put(header, 4, &stated.to_be_bytes());
        bytes::put(header, 6, &[self.next_header, self.hop_limit]);
        bytes::put(header, 8, &self.source.octets());
        bytes::put(header, 24, &self.destination.octets());
        Ok(payload)
    }
}

#[cfg(test)]
#[path = "ipv6_tests.rs"]
mod tests;
