//! IPv4 (RFC 791).

use core::net::Ipv4Addr;

use romer_units::Dscp;
use thiserror::Error;

use crate::bytes;
use crate::checksum::{self, Pseudo, Sum};
use crate::ip::{Ecn, Fragment};

/// Octets of a header without options.
pub const HEADER: usize = 20;
/// The most octets of options.
pub const MOST_OPTIONS: usize = 40;

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;

/// Why bytes are not an IPv4 packet, or cannot become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Ipv4Error {
    /// Shorter than its header.
    #[error("an IPv4 packet of {have} octets is cut off in its header, which takes {need}")]
    Truncated {
        /// Octets that there are.
        have: usize,
        /// Octets that are needed.
        need: usize,
    },
    /// Another version.
    #[error("the version of an IPv4 packet is 4, not {0}")]
    Version(u8),
    /// A header length below 5 words.
    #[error("an IPv4 header has at least 5 words, not {0}")]
    HeaderLength(u8),
    /// A total length that is shorter than the header or longer than the bytes.
    #[error(
        "the IPv4 total length of {total} octets is not between the header's {header} and the {have} received"
    )]
    TotalLength {
        /// The total length that the header states.
        total: usize,
        /// The header's own length.
        header: usize,
        /// Octets that there are.
        have: usize,
    },
    /// The header's checksum is wrong.
    #[error("the IPv4 header checksum is wrong")]
    Checksum,
    /// A part of a packet, where a whole one is wanted.
    #[error("an IPv4 fragment is not a whole packet")]
    Fragment,
    /// More octets than a packet can have.
    #[error("{0} octets of payload are too many for an IPv4 packet")]
    TooLong(usize),
}

/// A view of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    fixed: &'a [u8; HEADER],
    header: &'a [u8],
    payload: &'a [u8],
    padding: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Lays the view on `octets`. What lies past the total length is padding of the link, and is kept apart.
    ///
    /// # Errors
    /// [`Ipv4Error`], where a length or the version is wrong. A wrong checksum is not an error here: see
    /// [`Packet::checksum_is_right`].
    pub fn parse(octets: &'a [u8]) -> Result<Self, Ipv4Error> {
        let have = octets.len();
        let fixed = octets.first_chunk::<HEADER>().ok_or(Ipv4Error::Truncated { have, need: HEADER })?;
        let (version, words) = (fixed[0] >> 4, fixed[0] & 0x0f);
        if version != 4 {
            return Err(Ipv4Error::Version(version));
        }
        if words < 5 {
            return Err(Ipv4Error::HeaderLength(words));
        }
        let need = usize::from(words) * 4;
        if have < need {
            return Err(Ipv4Error::Truncated { have, need });
        }
        let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        let wrong = Ipv4Error::TotalLength { total, header: need, have };
        let (packet, padding) = octets.split_at_checked(total).ok_or(wrong)?;
        let (header, payload) = packet.split_at_checked(need).ok_or(wrong)?;
        Ok(Self { fixed, header, payload, padding })
    }

    /// The differentiated-services code point.
    pub const fn dscp(&self) -> Dscp {
        Dscp::of_tos(self.fixed[1])
    }
    /// The congestion notification.
    pub const fn ecn(&self) -> Ecn {
        Ecn::of_tos(self.fixed[1])
    }
    /// What fragments of this packet have in common.
    pub const fn identification(&self) -> u16 {
        u16::from_be_bytes([self.fixed[4], self.fixed[5]])
    }
    const fn flags_and_offset(&self) -> u16 {
        u16::from_be_bytes([self.fixed[6], self.fixed[7]])
    }
    /// Whether routers must not cut it.
    pub const fn dont_fragment(&self) -> bool {
        self.flags_and_offset() & DONT_FRAGMENT != 0
    }
    /// Which part of a packet this is; `None` where it is whole.
    pub fn fragment(&self) -> Option<Fragment> {
        let bits = self.flags_and_offset();
        (bits & (MORE_FRAGMENTS | OFFSET) != 0).then(|| Fragment {
            identification: u32::from(self.identification()),
            offset: (bits & OFFSET) << 3,
            more: bits & MORE_FRAGMENTS != 0,
        })
    }
    /// Time to live, in hops.
    pub const fn ttl(&self) -> u8 {
        self.fixed[8]
    }
    /// The protocol of the payload ([`crate::ip::protocol`]).
    pub const fn protocol(&self) -> u8 {
        self.fixed[9]
    }
    /// The header's checksum, as received.
    pub const fn checksum(&self) -> u16 {
        u16::from_be_bytes([self.fixed[10], self.fixed[11]])
    }
    /// Whether the header is undamaged.
    pub fn checksum_is_right(&self) -> bool {
        Sum::new().octets(self.header).is_right()
    }
    /// Where it comes from.
    pub const fn source(&self) -> Ipv4Addr {
        let [.., a, b, c, d, _, _, _, _] = *self.fixed;
        Ipv4Addr::new(a, b, c, d)
    }
    /// Where it is going; with a source route that is not used up, the next stop only.
    pub const fn destination(&self) -> Ipv4Addr {
        let [.., a, b, c, d] = *self.fixed;
        Ipv4Addr::new(a, b, c, d)
    }
    /// The options, their padding included; 0 to 40 octets.
    pub fn options(&self) -> &'a [u8] {
        self.header.get(HEADER..).unwrap_or_default()
    }
    /// The whole header with its options.
    pub const fn header(&self) -> &'a [u8] {
        self.header
    }
    /// What the packet carries, without the link's padding.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }
    /// What follows the packet in the bytes that the view was laid on: the link's padding.
    pub const fn padding(&self) -> &'a [u8] {
        self.padding
    }

    /// What a transport's checksum covers of this header: its source and its last destination, which a source
    /// route that is not used up holds as its last address (RFC 1122 section 3.2.1.8 c).
    pub fn pseudo(&self) -> Pseudo {
        let destination = final_stop(self.options()).unwrap_or(self.destination());
        Pseudo::V4 { source: self.source(), destination }
    }
}

/// The last address of a source route (options 131 and 137) that has stops left to make.
fn final_stop(options: &[u8]) -> Option<Ipv4Addr> {
    const END: u8 = 0;
    const NO_OPERATION: u8 = 1;
    const LOOSE_ROUTE: u8 = 131;
    const STRICT_ROUTE: u8 = 137;
    let mut rest = options;
    while let Some((kind, tail)) = rest.split_first() {
        if *kind == END {
            return None;
        }
        if *kind == NO_OPERATION {
            rest = tail;
            continue;
        }
        let len = usize::from(*tail.first()?);
        let (option, after) = rest.split_at_checked(len)?;
        if option.len() < 2 {
            return None;
        }
        if matches!(*kind, LOOSE_ROUTE | STRICT_ROUTE) {
            // The pointer counts from 1; the route is used up when it points past the option.
            let route = option.get(3..)?;
            let used_up = usize::from(*option.get(2)?) > len;
            return if used_up { None } else { route.last_chunk::<4>().map(|last| Ipv4Addr::from(*last)) };
        }
        rest = after;
    }
    None
}

/// The options of a header: whole words, at most ten.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Options {
    octets: [u8; MOST_OPTIONS],
    len: usize,
}

impl Options {
    /// No options.
    pub const NONE: Self = Self { octets: [0; MOST_OPTIONS], len: 0 };

    /// These octets as options, filled up with zeros (end of options) to whole words; `None` above 40 octets.
    pub fn new(octets: &[u8]) -> Option<Self> {
        let mut options = Self { octets: [0; MOST_OPTIONS], len: octets.len().next_multiple_of(4) };
        options.octets.get_mut(..octets.len())?.copy_from_slice(octets);
        Some(options)
    }

    /// The octets, whole words.
    pub fn octets(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::NONE
    }
}

impl core::fmt::Debug for Options {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Options").field(&self.octets()).finish()
    }
}

/// The header of a whole packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Where it comes from.
    pub source: Ipv4Addr,
    /// Where it is going.
    pub destination: Ipv4Addr,
    /// The differentiated-services code point.
    pub dscp: Dscp,
    /// The congestion notification.
    pub ecn: Ecn,
    /// What its fragments would have in common.
    pub identification: u16,
    /// Whether routers must not cut it.
    pub dont_fragment: bool,
    /// Time to live, in hops.
    pub ttl: u8,
    /// The protocol of the payload ([`crate::ip::protocol`]).
    pub protocol: u8,
    /// The options.
    pub options: Options,
}

impl Repr {
    /// The header of `packet`, in which the reserved flag is dropped.
    ///
    /// # Errors
    /// [`Ipv4Error::Checksum`] and [`Ipv4Error::Fragment`]: what is damaged or a part has no header to go by.
    pub fn parse(packet: &Packet<'_>) -> Result<Self, Ipv4Error> {
        if !packet.checksum_is_right() {
            return Err(Ipv4Error::Checksum);
        }
        if packet.fragment().is_some() {
            return Err(Ipv4Error::Fragment);
        }
        Ok(Self {
            source: packet.source(),
            destination: packet.destination(),
            dscp: packet.dscp(),
            ecn: packet.ecn(),
            identification: packet.identification(),
            dont_fragment: packet.dont_fragment(),
            ttl: packet.ttl(),
            protocol: packet.protocol(),
            options: Options::new(packet.options()).unwrap_or_default(),
        })
    }

    /// How many octets the header takes.
    pub fn octets(&self) -> usize {
        HEADER + self.options.octets().len()
    }

    /// Writes the header at the start of `packet`, which is as long as the whole packet, and gives what
    /// follows it, for the payload.
    ///
    /// # Errors
    /// [`Ipv4Error::Truncated`] where the header does not fit, [`Ipv4Error::TooLong`] above 65,535 octets.
    pub fn emit<'b>(&self, packet: &'b mut [u8]) -> Result<&'b mut [u8], Ipv4Error> {
        let (have, need) = (packet.len(), self.octets());
        let total =
            u16::try_from(have).map_err(|_| Ipv4Error::TooLong(have.saturating_sub(need)))?.to_be_bytes();
        let (header, payload) =
            packet.split_at_mut_checked(need).ok_or(Ipv4Error::Truncated { have, need })?;
        // At most 60 octets, so at most 15 words.
        let words = u8::try_from(need / 4).unwrap_or(15);
        let flags = if self.dont_fragment { DONT_FRAGMENT } else { 0 };
        bytes::put(header, 0, &[0x40 | words, self.dscp.tos() | self.ecn.bits()]);
        bytes::put(header, 2, &total);
        bytes::put(header, 4, &self.identification.to_be_bytes());
        bytes::put(header, 6, &flags.to_be_bytes());
        bytes::put(header, 8, &[self.ttl, self.protocol, 0, 0]);
        bytes::put(header, 12, &self.source.octets());
        bytes::put(header, 16, &self.destination.octets());
        bytes::put(header, HEADER, self.options.octets());
        let sum = checksum::checksum(header);
        bytes::put(header, 10, &sum.to_be_bytes());
        Ok(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::protocol;
    use proptest::prelude::*;

    pub(super) fn repr() -> impl Strategy<Value = Repr> {
        let options = proptest::collection::vec(any::<u8>(), 0..=MOST_OPTIONS);
        (any::<[u32; 2]>(), any::<u8>(), any::<u16>(), any::<bool>(), any::<[u8; 2]>(), options).prop_map(
            |(addresses, tos, identification, dont_fragment, [ttl, protocol], options)| Repr {
                source: addresses[0].into(),
                destination: addresses[1].into(),
                dscp: Dscp::of_tos(tos),
                ecn: Ecn::of_tos(tos),
                identification,
                dont_fragment,
                ttl,
                protocol,
                options: Options::new(&options).unwrap(),
            },
        )
    }

    fn plain() -> Repr {
        Repr {
            source: Ipv4Addr::new(198, 18, 0, 2),
            destination: Ipv4Addr::new(198, 18, 0, 3),
            dscp: Dscp::EF,
            ecn: Ecn::NotEct,
            identification: 7,
            dont_fragment: true,
            ttl: 64,
            protocol: protocol::UDP,
            options: Options::NONE,
        }
    }

    fn packet(payload: usize) -> Vec<u8> {
        let mut octets = vec![0; HEADER + payload];
        plain().emit(&mut octets).unwrap();
        octets
    }

    #[test]
    fn the_fields_of_a_well_known_header_are_read() {
        let octets = [
            0x45, 0x00, 0x00, 0x14, 0x1c, 0x46, 0x40, 0x00, 0x40, 0x06, 0xb2, 0x0e, 0xac, 0x10, 0x0a, 0x63,
            0xac, 0x10, 0x0a, 0x0c, 0xee, 0xee,
        ];
        let packet = Packet::parse(&octets).unwrap();
        assert!(packet.checksum_is_right());
        assert_eq!(packet.source(), Ipv4Addr::new(172, 16, 10, 99));
        assert_eq!(packet.destination(), Ipv4Addr::new(172, 16, 10, 12));
        assert_eq!((packet.ttl(), packet.protocol(), packet.identification()), (64, 6, 0x1c46));
        assert!(packet.dont_fragment() && packet.fragment().is_none());
        assert_eq!((packet.payload(), packet.padding()), (&[][..], &[0xee, 0xee][..]));
    }

    #[test]
    fn padding_of_the_link_is_not_payload() {
        let mut octets = packet(3);
        octets.extend([0xee; 23]);
        let view = Packet::parse(&octets).unwrap();
        assert_eq!((view.payload().len(), view.padding().len()), (3, 23));
    }

    #[test]
    fn malformed_lengths_are_named() {
        let mut octets = packet(10);
        octets[0] = 0x44;
        assert_eq!(Packet::parse(&octets), Err(Ipv4Error::HeaderLength(4)));
        octets[0] = 0x65;
        assert_eq!(Packet::parse(&octets), Err(Ipv4Error::Version(6)));
        octets[0] = 0x4f;
        assert_eq!(Packet::parse(&octets), Err(Ipv4Error::Truncated { have: 30, need: 60 }));
        octets[0] = 0x45;
        for total in [0, 19, 31, u16::MAX] {
            octets[2..4].copy_from_slice(&total.to_be_bytes());
            let error = Ipv4Error::TotalLength { total: total.into(), header: 20, have: 30 };
            assert_eq!(Packet::parse(&octets), Err(error));
        }
        assert_eq!(Packet::parse(&octets[..19]), Err(Ipv4Error::Truncated { have: 19, need: 20 }));
    }

    #[test]
    fn forty_octets_of_options_are_honoured() {
        let repr = Repr { options: Options::new(&[1; 40]).unwrap(), ..plain() };
        let mut octets = vec![0; 60 + 5];
        assert_eq!(repr.emit(&mut octets).unwrap().len(), 5);
        let view = Packet::parse(&octets).unwrap();
        assert_eq!((view.options(), view.payload()), (&[1; 40][..], &[0; 5][..]));
        assert!(view.checksum_is_right());
        assert_eq!(Options::new(&[1; 41]), None);
    }

    #[test]
    fn every_part_of_a_packet_is_a_fragment_and_has_no_repr() {
        for (bits, offset, more) in [(0x2000u16, 0, true), (0x0001, 8, false), (0x3fff, 65_528, true)] {
            let mut octets = packet(8);
            octets[6..8].copy_from_slice(&bits.to_be_bytes());
            let view = Packet::parse(&octets).unwrap();
            assert_eq!(view.fragment(), Some(Fragment { identification: 7, offset, more }));
            assert_eq!(Repr::parse(&view), Err(Ipv4Error::Checksum));
            let sum = checksum::update_u16(view.checksum(), DONT_FRAGMENT, bits);
            octets[10..12].copy_from_slice(&sum.to_be_bytes());
            assert_eq!(Repr::parse(&Packet::parse(&octets).unwrap()), Err(Ipv4Error::Fragment));
        }
    }

    #[test]
    fn a_source_route_with_stops_left_names_the_last_destination() {
        let last = Ipv4Addr::new(10, 0, 0, 9);
        let route = |pointer| [1, 131, 11, pointer, 10, 0, 0, 8, 10, 0, 0, 9];
        assert_eq!(final_stop(&route(4)), Some(last));
        assert_eq!(final_stop(&route(8)), Some(last));
        assert_eq!(final_stop(&route(12)), None, "used up");
        assert_eq!(final_stop(&[0, 131, 7, 4, 10, 0, 0, 8]), None, "after the end of options");
        for broken in [&[131][..], &[131, 0], &[131, 1], &[131, 2], &[131, 3, 1], &[131, 40, 4, 1, 2]] {
            assert_eq!(final_stop(broken), None);
        }
    }

    #[test]
    fn a_packet_longer_than_its_length_field_is_not_written() {
        let mut octets = vec![0; 65_536];
        assert_eq!(plain().emit(&mut octets), Err(Ipv4Error::TooLong(65_516)));
        assert!(plain().emit(&mut octets[..65_535]).is_ok());
        assert_eq!(plain().emit(&mut octets[..19]), Err(Ipv4Error::Truncated { have: 19, need: 20 }));
    }

    proptest! {
        #[test]
        fn a_header_is_read_as_written(repr in repr(), payload: Vec<u8>, padding: Vec<u8>) {
            let mut octets = vec![0xaa; repr.octets() + payload.len()];
            repr.emit(&mut octets).unwrap().copy_from_slice(&payload);
            octets.extend(&padding);
            let view = Packet::parse(&octets).unwrap();
            prop_assert_eq!(Repr::parse(&view), Ok(repr));
            prop_assert_eq!(view.payload(), payload.as_slice());
            prop_assert_eq!(view.padding(), padding.as_slice());
        }

        #[test]
        fn any_bytes_are_survived(octets: Vec<u8>) {
            look_at(&octets)?;
        }

        #[test]
        fn any_header_is_survived(first in 0x40u8..0x50, total in 0u16..90, rest: [u8; 32], more: [u8; 32]) {
            let mut octets = [&[first, 0][..], &total.to_be_bytes(), &rest, &more].concat();
            look_at(&octets)?;
            let sum = checksum::checksum(&[&octets[..10], &octets[12..20]].concat());
            octets[10..12].copy_from_slice(&sum.to_be_bytes());
            look_at(&octets)?;
        }

        #[test]
        fn a_damaged_octet_of_the_header_is_noticed(repr in repr(), place in 1usize..20, change in 1u8..) {
            let mut octets = vec![0; repr.octets()];
            repr.emit(&mut octets).unwrap();
            octets[place] ^= change;
            if let Ok(view) = Packet::parse(&octets) {
                prop_assert!(!view.checksum_is_right());
            }
        }
    }

    fn look_at(octets: &[u8]) -> Result<(), TestCaseError> {
        let Ok(view) = Packet::parse(octets) else { return Ok(()) };
        let whole = [view.header(), view.payload(), view.padding()].concat();
        prop_assert_eq!(whole, octets);
        let _ = view.pseudo();
        if let Ok(repr) = Repr::parse(&view) {
            let mut again = vec![0; view.header().len() + view.payload().len()];
            repr.emit(&mut again).unwrap();
            // Everything but the reserved flag comes back, and the checksum with it.
            if octets[6] & 0x80 == 0 {
                prop_assert_eq!(&again[..view.header().len()], view.header());
            }
        }
        Ok(())
    }
}
