//! Ethernet II and IEEE 802.3 frames with up to two VLAN tags, from the destination address to the end of the
//! payload; without preamble and check sequence, as a packet socket gives and takes them.

use core::fmt;

use thiserror::Error;

use crate::bytes;

/// Octets of a header without tags.
pub const HEADER: usize = 14;
/// Octets of one VLAN tag.
pub const TAG: usize = 4;
/// The most tags that are looked through: a customer's inside a service's (IEEE 802.1ad).
pub const MOST_TAGS: usize = 2;

/// A 48-bit hardware address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// Every station.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Whether this names a group of stations (broadcast included): the lowest bit of the first octet.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// Whether this is one of the sixteen addresses that bridges keep to themselves, 01-80-C2-00-00-00 to -0F
    /// (IEEE 802.1Q table 8-1): spanning tree, pause, LLDP and the like.
    pub const fn is_link_local(self) -> bool {
        matches!(self.0, [0x01, 0x80, 0xc2, 0x00, 0x00, 0x00..=0x0f])
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// What the last two octets of the header say (IEEE 802.3 clause 3.2.6): from 1536 on the protocol, up to
/// 1500 the length of an LLC payload. Values between have no meaning, and are kept as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// ARP.
    pub const ARP: Self = Self(0x0806);
    /// A customer's VLAN tag (IEEE 802.1Q).
    pub const CUSTOMER_TAG: Self = Self(0x8100);
    /// IPv6.
    pub const IPV6: Self = Self(0x86dd);
    /// A service provider's VLAN tag (IEEE 802.1ad).
    pub const SERVICE_TAG: Self = Self(0x88a8);
}

/// Which of the two tag protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TagProtocol {
    /// 8100 (IEEE 802.1Q).
    Customer,
    /// 88a8 (IEEE 802.1ad).
    Service,
}

impl TagProtocol {
    const fn from_type(kind: EtherType) -> Option<Self> {
        match kind {
            EtherType::CUSTOMER_TAG => Some(Self::Customer),
            EtherType::SERVICE_TAG => Some(Self::Service),
            _ => None,
        }
    }

    /// Its type number.
    pub const fn ether_type(self) -> EtherType {
        match self {
            Self::Customer => EtherType::CUSTOMER_TAG,
            Self::Service => EtherType::SERVICE_TAG,
        }
    }
}

/// A VLAN tag (IEEE 802.1Q clause 9.6). VLAN 0 is a tag for its priority only, and is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag {
    /// Customer's or service's.
    pub protocol: TagProtocol,
    control: u16,
}

impl Tag {
    /// A tag; `None` where `priority` is above 7 or `vlan` above 4095.
    pub const fn new(protocol: TagProtocol, priority: u8, drop_eligible: bool, vlan: u16) -> Option<Self> {
        if priority > 7 || vlan > 4095 {
            return None;
        }
        let control = ((priority as u16) << 13) | ((drop_eligible as u16) << 12) | vlan;
        Some(Self { protocol, control })
    }

    /// A tag with this control information: priority, drop eligibility and VLAN as they are on the wire.
    pub const fn from_control(protocol: TagProtocol, control: u16) -> Self {
        Self { protocol, control }
    }

    /// The sixteen bits of control information.
    pub const fn control(self) -> u16 {
        self.control
    }

    /// The priority code point, 0 to 7.
    pub const fn priority(self) -> u8 {
        self.control.to_be_bytes()[0] >> 5
    }

    /// Whether the frame may be dropped first.
    pub const fn drop_eligible(self) -> bool {
        self.control & 0x1000 != 0
    }

    /// The VLAN, 0 to 4095; 0 is none.
    pub const fn vlan(self) -> u16 {
        self.control & 0x0fff
    }
}

/// The tags of a frame, from the outside in; at most [`MOST_TAGS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tags {
    /// No tag.
    #[default]
    None,
    /// One tag.
    One(Tag),
    /// Two tags.
    Two {
        /// The one that comes first on the wire.
        outer: Tag,
        /// The one next to the payload.
        inner: Tag,
    },
}

impl Tags {
    /// The tags from the outside in.
    pub fn iter(self) -> impl Iterator<Item = Tag> {
        let (first, second) = match self {
            Self::None => (None, None),
            Self::One(tag) => (Some(tag), None),
            Self::Two { outer, inner } => (Some(outer), Some(inner)),
        };
        first.into_iter().chain(second)
    }

    /// How many octets they take.
    pub const fn octets(self) -> usize {
        match self {
            Self::None => 0,
            Self::One(_) => TAG,
            Self::Two { .. } => 2 * TAG,
        }
    }
}

/// Why bytes are not a frame, or do not hold one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EthernetError {
    /// Shorter than its headers.
    #[error("a frame of {have} octets is cut off in its headers, which take {need}")]
    Truncated {
        /// Octets that there are.
        have: usize,
        /// Octets that are needed.
        need: usize,
    },
    /// More than [`MOST_TAGS`] tags.
    #[error("a frame with more than {MOST_TAGS} VLAN tags is not looked into")]
    TooManyTags,
}

/// A view of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    repr: Repr,
    octets: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Lays the view on `octets`, which begin with the destination address.
    ///
    /// # Errors
    /// [`EthernetError`], where headers are cut off or a third tag follows.
    pub fn parse(octets: &'a [u8]) -> Result<Self, EthernetError> {
        let truncated = |need| EthernetError::Truncated { have: octets.len(), need };
        let addresses: [u8; 12] = bytes::at(octets, 0).ok_or(truncated(HEADER))?;
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5] = addresses;
        let mut tags = Tags::None;
        let ether_type = loop {
            let place = addresses.len() + tags.octets();
            let kind = EtherType(u16::from_be_bytes(bytes::at(octets, place).ok_or(truncated(place + 2))?));
            let Some(protocol) = TagProtocol::from_type(kind) else { break kind };
            let control = u16::from_be_bytes(bytes::at(octets, place + 2).ok_or(truncated(place + TAG + 2))?);
            let tag = Tag::from_control(protocol, control);
            tags = match tags {
                Tags::None => Tags::One(tag),
                Tags::One(outer) => Tags::Two { outer, inner: tag },
                Tags::Two { .. } => return Err(EthernetError::TooManyTags),
            };
        };
        let repr = Repr {
            destination: MacAddress([d0, d1, d2, d3, d4, d5]),
            source: MacAddress([s0, s1, s2, s3, s4, s5]),
            tags,
            ether_type,
        };
        Ok(Self { repr, octets, payload: octets.get(repr.octets()..).unwrap_or_default() })
    }

    /// The fields of the header.
    pub const fn repr(&self) -> Repr {
        self.repr
    }

    /// Where the frame is going.
    pub const fn destination(&self) -> MacAddress {
        self.repr.destination
    }

    /// Where it came from.
    pub const fn source(&self) -> MacAddress {
        self.repr.source
    }

    /// Its VLAN tags.
    pub const fn tags(&self) -> Tags {
        self.repr.tags
    }

    /// What the payload is, past all tags.
    pub const fn ether_type(&self) -> EtherType {
        self.repr.ether_type
    }

    /// What follows the header, padding included: only the payload's own length field tells one from the
    /// other.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The whole frame.
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }
}

/// The header of a frame. One with a tag's type number as `ether_type` would be read as one more tag; see
/// [`Repr::emit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Where the frame is going.
    pub destination: MacAddress,
    /// Where it comes from.
    pub source: MacAddress,
    /// Its VLAN tags.
    pub tags: Tags,
    /// What the payload is.
    pub ether_type: EtherType,
}

impl Repr {
    /// How many octets the header takes.
    pub const fn octets(&self) -> usize {
        HEADER + self.tags.octets()
    }

    /// Writes the header at the start of `buf`, and gives what follows it, for the payload.
    ///
    /// # Errors
    /// [`EthernetError::Truncated`] where `buf` is too short, [`EthernetError::TooManyTags`] where
    /// `ether_type` is that of a tag: tags belong in `tags`.
    pub fn emit<'b>(&self, buf: &'b mut [u8]) -> Result<&'b mut [u8], EthernetError> {
        if TagProtocol::from_type(self.ether_type).is_some() {
            return Err(EthernetError::TooManyTags);
        }
        let have = buf.len();
        let (header, payload) = buf
            .split_at_mut_checked(self.octets())
            .ok_or(EthernetError::Truncated { have, need: self.octets() })?;
        bytes::put(header, 0, &self.destination.0);
        bytes::put(header, 6, &self.source.0);
        let mut place = 12;
        for tag in self.tags.iter() {
            bytes::put(header, place, &tag.protocol.ether_type().0.to_be_bytes());
            bytes::put(header, place + 2, &tag.control.to_be_bytes());
            place += TAG;
        }
        bytes::put(header, place, &self.ether_type.0.to_be_bytes());
        Ok(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tag() -> impl Strategy<Value = Tag> {
        (any::<bool>(), any::<u16>()).prop_map(|(service, control)| {
            let protocol = if service { TagProtocol::Service } else { TagProtocol::Customer };
            Tag::from_control(protocol, control)
        })
    }

    fn repr() -> impl Strategy<Value = Repr> {
        let tags = prop_oneof![
            Just(Tags::None),
            tag().prop_map(Tags::One),
            (tag(), tag()).prop_map(|(outer, inner)| Tags::Two { outer, inner }),
        ];
        let kind =
            any::<u16>().prop_filter("a tag", |kind| TagProtocol::from_type(EtherType(*kind)).is_none());
        (any::<[u8; 6]>(), any::<[u8; 6]>(), tags, kind).prop_map(|(to, from, tags, kind)| Repr {
            destination: MacAddress(to),
            source: MacAddress(from),
            tags,
            ether_type: EtherType(kind),
        })
    }

    #[test]
    fn a_customer_tag_inside_a_service_tag_is_seen_with_both() {
        let octets = [
            0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 1, 0x88, 0xa8, 0xb0, 0x64, 0x81, 0x00, 0x20, 0x00,
            0x08, 0x00, 0x45,
        ];
        let frame = Frame::parse(&octets).unwrap();
        let outer = Tag::new(TagProtocol::Service, 5, true, 100).unwrap();
        let inner = Tag::new(TagProtocol::Customer, 1, false, 0).unwrap();
        assert_eq!(frame.tags(), Tags::Two { outer, inner });
        assert_eq!((outer.priority(), outer.drop_eligible(), outer.vlan()), (5, true, 100));
        assert_eq!((inner.priority(), inner.drop_eligible(), inner.vlan()), (1, false, 0));
        assert_eq!((frame.ether_type(), frame.payload()), (EtherType::IPV4, &[0x45][..]));
        assert!(frame.destination().is_group() && frame.destination().is_link_local());
        assert!(!frame.source().is_group());
        assert_eq!(frame.source().to_string(), "02:00:00:00:00:01");
    }

    #[test]
    fn a_third_tag_is_named_and_not_followed() {
        let mut octets = [0; 40];
        for place in [12, 16, 20] {
            octets[place..place + 2].copy_from_slice(&[0x81, 0x00]);
        }
        assert_eq!(Frame::parse(&octets), Err(EthernetError::TooManyTags));
    }

    #[test]
    fn a_frame_of_fourteen_octets_is_whole_and_empty() {
        assert_eq!(Frame::parse(&[0; 14]).unwrap().payload(), &[0u8; 0]);
        assert_eq!(Frame::parse(&[0; 13]), Err(EthernetError::Truncated { have: 13, need: 14 }));
        assert_eq!(Frame::parse(&[]), Err(EthernetError::Truncated { have: 0, need: 14 }));
    }

    #[test]
    fn impossible_tags_cannot_be_made() {
        assert_eq!(Tag::new(TagProtocol::Customer, 8, false, 1), None);
        assert_eq!(Tag::new(TagProtocol::Customer, 7, false, 4096), None);
    }

    proptest! {
        #[test]
        fn a_header_is_read_as_written(repr in repr(), payload: Vec<u8>) {
            let mut buf = vec![0xaa; repr.octets()];
            buf.extend(&payload);
            prop_assert_eq!(repr.emit(&mut buf).unwrap().len(), payload.len());
            let frame = Frame::parse(&buf).unwrap();
            prop_assert_eq!(frame.repr(), repr);
            prop_assert_eq!(frame.payload(), payload.as_slice());
            prop_assert_eq!(frame.tags().iter().count() * TAG, repr.tags.octets());
        }

        #[test]
        fn any_bytes_are_survived_and_a_frame_writes_its_own_header(octets: Vec<u8>) {
            if let Ok(frame) = Frame::parse(&octets) {
                let mut again = octets.clone();
                frame.repr().emit(&mut again).unwrap();
                prop_assert_eq!(again, octets);
            }
        }

        #[test]
        fn a_cut_frame_is_refused(repr in repr(), cut in 0usize..22) {
            let mut buf = vec![0; repr.octets()];
            repr.emit(&mut buf).unwrap();
            if cut < buf.len() {
                let refused = matches!(Frame::parse(&buf[..cut]), Err(EthernetError::Truncated { .. }));
                prop_assert!(refused);
                prop_assert!(repr.emit(&mut buf[..cut]).is_err());
            }
        }
    }
}
