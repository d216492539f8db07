//! The checksum of a frame's transport: where it stands, and what it ought to be.

use crate::checksum::{Sum, udp_sent};
use crate::dissect::NetworkHeader;
use crate::ethernet::Frame;
use crate::ip::protocol;

/// The field in which TCP, UDP, ICMP or ICMPv6 keeps the checksum of what a frame carries whole.
#[derive(Clone, Copy, Debug)]
pub struct ChecksumField<'a> {
    protocol: u8,
    /// The transport's header and all behind it.
    upper: &'a [u8],
    /// Where these begin in the frame, and the field in them.
    begin: usize,
    at: usize,
    /// The sum of what is covered beside the octets themselves.
    beside: Sum,
}

impl<'a> ChecksumField<'a> {
    /// Of a frame that begins with its destination address; `None` where it carries none of these protocols, a part
    /// of a packet only, or a packet whose final destination is not known.
    pub fn locate(octets: &'a [u8]) -> Option<Self> {
        let network = NetworkHeader::parse(&Frame::parse(octets).ok()?).ok()?;
        let (protocol, upper) = network.carried().filter(|_| network.fragment().is_none())?;
        let at = match protocol {
            protocol::TCP => 16,
            protocol::UDP => 6,
            protocol::ICMP | protocol::ICMPV6 => 2,
            _ => return None,
        };
        let beside = if protocol == protocol::ICMP {
            Sum::new()
        } else {
            network.pseudo()?.sum(protocol, u32::try_from(upper.len()).ok()?)
        };
        // The packet is part of the frame, so that its upper part can be found by where the slices lie.
        let begin = upper.as_ptr().addr() - octets.as_ptr().addr();
        (upper.len() >= at + 2).then_some(Self { protocol, upper, begin, at, beside })
    }

    /// The number of the protocol ([`protocol`]).
    pub const fn protocol(&self) -> u8 {
        self.protocol
    }
    /// Where the field begins, in octets of the frame.
    pub const fn place(&self) -> usize {
        self.begin + self.at
    }
    /// What stands in it.
    pub fn value(&self) -> u16 {
        u16::from_be_bytes([self.upper[self.at], self.upper[self.at + 1]])
    }
    /// Whether it says that there is no checksum, which UDP may.
    pub fn is_left_out(&self) -> bool {
        self.protocol == protocol::UDP && self.value() == 0
    }
    /// What stands there where a sender left the sum over its octets to the driver: that of the pseudo-header.
    pub const fn unfinished(&self) -> u16 {
        self.beside.folded()
    }
    /// What ought to stand there.
    pub fn right(&self) -> u16 {
        let (before, behind) = (&self.upper[..self.at], &self.upper[self.at + 2..]);
        let checksum = self.beside.octets(before).u16(0).octets(behind).checksum();
        if self.protocol == protocol::UDP { udp_sent(checksum) } else { checksum }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A frame over IPv4 with `protocol`, and behind the header these octets.
    fn frame(protocol: u8, upper: &[u8]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        let total = u16::try_from(20 + upper.len()).unwrap().to_be_bytes();
        frame.extend([8, 0, 0x45, 0, total[0], total[1], 0, 0, 0x40, 0, 64, protocol, 0, 0]);
        frame.extend([198, 18, 0, 2, 198, 18, 0, 3]);
        frame.extend(upper);
        frame
    }

    /// The word-by-word sum over pseudo-header and octets, with nothing of ours in it.
    fn by_definition(protocol: u8, upper: &[u8]) -> u32 {
        let length = u16::try_from(upper.len()).unwrap().to_be_bytes();
        let mut all = Vec::new();
        if protocol != 1 {
            all.extend([198, 18, 0, 2, 198, 18, 0, 3, 0, protocol, length[0], length[1]]);
        }
        all.extend(upper);
        let words = all.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
        let wide: u32 = words.sum();
        let once = (wide & 0xffff) + (wide >> 16);
        (once & 0xffff) + (once >> 16)
    }

    proptest! {
        #[test]
        fn what_ought_to_stand_there_makes_the_sum_right(
            mut upper in proptest::collection::vec(any::<u8>(), 20..200),
            protocol in prop::sample::select(vec![1_u8, 6, 17]),
        ) {
            // A datagram states its length.
            let length = u16::try_from(upper.len()).unwrap().to_be_bytes();
            if protocol == 17 {
                upper[4..6].copy_from_slice(&length);
            }
            let mut octets = frame(protocol, &upper);
            let field = ChecksumField::locate(&octets).unwrap();
            let (place, right) = (field.place(), field.right());
            prop_assert_eq!(&field.value().to_be_bytes(), &octets[place..place + 2]);
            octets[place..place + 2].copy_from_slice(&right.to_be_bytes());
            prop_assert_eq!(by_definition(protocol, &octets[34..]), 0xffff);
            prop_assert!(protocol != 17 || right != 0);
        }

        #[test]
        fn any_octets_have_a_field_within_them_or_none(mut octets: Vec<u8>, is_v6: bool) {
            if let Some(place) = octets.get_mut(12..14) {
                place.copy_from_slice(if is_v6 { &[0x86, 0xdd] } else { &[8, 0] });
            }
            if let Some(field) = ChecksumField::locate(&octets) {
                let _ = (field.right(), field.is_left_out());
                prop_assert!(field.place() + 2 <= octets.len());
            }
        }
    }

    #[test]
    fn parts_of_packets_and_other_protocols_have_none() {
        let mut part = frame(17, &[0; 30]);
        part[20] = 0x20;
        assert!(ChecksumField::locate(&part).is_none());
        assert!(ChecksumField::locate(&frame(132, &[0; 30])).is_none());
        assert!(ChecksumField::locate(&frame(6, &[0; 17])).is_none(), "too short to have one");
        assert!(ChecksumField::locate(&frame(17, &[0; 30])).is_some_and(|field| field.is_left_out()));
    }
}
