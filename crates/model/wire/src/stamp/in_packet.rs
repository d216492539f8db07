//! The field of a test packet into which programs in the kernel write time stamps.
//!
//! | octets of the packet | field |
//! |---|---|
//! | 0 to 43 | base packet of RFC 8762 |
//! | 44 to 47 | header of an Extra Padding TLV (RFC 8972 section 4.1) that reaches to the end of the packet |
//! | 48 to 55 | [`MAGIC`] |
//! | 56 to 63 | t1: the probe left the initiator |
//! | 64 to 71 | t2: it arrived at the responder |
//! | 72 to 79 | t3: the reply left the responder |
//! | 80 to 87 | t4: it arrived at the initiator |
//! | 88 to ... | zero |
//!
//! A stamp is nanoseconds after 1970 on the real-time clock of the host that wrote it, big-endian; 0 means that there is none. A
//! program writes its stamp only if it and the later ones are 0. An echo of UDP and a STAMP reflector both return the field.

use super::layout::BASE;
use super::sender::{SenderPacket, sender_zeros_are_zero};
use super::tlv::{Flags, HEADER, kind};
use crate::bytes;

/// What the field begins with.
pub const MAGIC: [u8; 8] = *b"romer-t4";
/// Where the field begins.
pub const OFFSET: usize = BASE + HEADER;
/// Where t1 to t4 lie.
pub const STAMPS: [usize; 4] = [OFFSET + 8, OFFSET + 16, OFFSET + 24, OFFSET + 32];
/// Octets of the shortest packet with the field.
pub const SHORTEST: usize = OFFSET + 40;

/// The stamps of a packet, nanoseconds after 1970; `None` where no program wrote one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InPacketStamps {
    /// The probe left the initiator, by its clock.
    pub t1: Option<i64>,
    /// It arrived at the responder, by that host's clock.
    pub t2: Option<i64>,
    /// The reply left the responder, by that host's clock.
    pub t3: Option<i64>,
    /// It arrived at the initiator, by its clock.
    pub t4: Option<i64>,
}

impl InPacketStamps {
    /// Reads the stamps of a packet; `None` if it has no such field.
    pub fn parse(packet: &[u8]) -> Option<Self> {
        if bytes::at(packet, OFFSET)? != MAGIC || packet.len() < SHORTEST {
            return None;
        }
        let [t1, t2, t3, t4] = STAMPS.map(|offset| {
            let nanos = bytes::at(packet, offset).map(i64::from_be_bytes);
            nanos.filter(|nanos| *nanos > 0)
        });
        Some(Self { t1, t2, t3, t4 })
    }
}

/// Writes the field, without stamps, behind the base packet of `packet`. Gives whether it fits: [`SHORTEST`] octets.
pub fn emit(packet: &mut [u8]) -> bool {
    let Some(length) = packet.len().checked_sub(OFFSET).filter(|_| packet.len() >= SHORTEST) else {
        return false;
    };
    let Ok(length) = u16::try_from(length) else { return false };
    packet.iter_mut().skip(OFFSET).for_each(|octet| *octet = 0);
    let [high, low] = length.to_be_bytes();
    bytes::put(packet, BASE, &[Flags::UNRECOGNIZED.bits(), kind::EXTRA_PADDING, high, low]);
    bytes::put(packet, OFFSET, &MAGIC);
    true
}

/// Reads a probe that was returned as it was sent: a packet with the field whose base packet is a sender's. `None` for a reply
/// of a STAMP reflector, which writes into the octets that a sender leaves 0.
pub fn parse_echo(packet: &[u8]) -> Option<SenderPacket> {
    InPacketStamps::parse(packet)?;
    if !sender_zeros_are_zero(packet) {
        return None;
    }
    SenderPacket::parse(packet).ok()
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroU16;

    use super::super::tlv::{Tlvs, Value};
    use super::super::{ErrorEstimate, ReflectorPacket, WireTime};
    use super::*;

    fn probe(octets: usize) -> (SenderPacket, Vec<u8>) {
        let sender = SenderPacket {
            sequence: 9,
            timestamp: WireTime(77),
            error: ErrorEstimate::from_bits(1),
            ssid: NonZeroU16::new(5),
        };
        let mut packet = vec![0; octets];
        sender.emit(&mut packet).unwrap();
        assert!(emit(&mut packet));
        (sender, packet)
    }

    /// The field is one Extra Padding TLV, whatever the length of the packet, and has no stamps at first.
    #[test]
    fn the_field_is_a_tlv() {
        for octets in [SHORTEST, 89, 1_472, 65_507] {
            let (sender, packet) = probe(octets);
            let tlvs: Vec<_> = Tlvs::new(&packet[BASE..]).collect();
            assert_eq!(tlvs.len(), 1, "{octets}");
            let tlv = tlvs[0].unwrap();
            assert!(matches!(tlv.value(), Ok(Value::ExtraPadding(_))), "{octets}");
            assert_eq!(InPacketStamps::parse(&packet), Some(InPacketStamps::default()));
            assert_eq!(parse_echo(&packet), Some(sender));
        }
    }

    /// Stamps lie in their order; a packet that is shorter, or begins otherwise, has none.
    #[test]
    fn stamps_are_read_in_order() {
        let (_, mut packet) = probe(SHORTEST);
        for (offset, nanos) in STAMPS.into_iter().zip([1_i64, 2, 3, i64::MAX]) {
            packet[offset..offset + 8].copy_from_slice(&nanos.to_be_bytes());
        }
        let stamps = InPacketStamps { t1: Some(1), t2: Some(2), t3: Some(3), t4: Some(i64::MAX) };
        assert_eq!(InPacketStamps::parse(&packet), Some(stamps));
        assert_eq!(InPacketStamps::parse(&packet[..SHORTEST - 1]), None);
        packet[OFFSET] ^= 1;
        assert_eq!(InPacketStamps::parse(&packet), None);
        assert!(!emit(&mut packet[..SHORTEST - 1]));
    }

    /// A reflector's reply is no echo.
    #[test]
    fn replies_are_no_echoes() {
        let (sender, mut packet) = probe(SHORTEST);
        let reply = ReflectorPacket::answering(&sender, WireTime(1), WireTime(2), sender.error, 64);
        reply.emit_over(&mut packet).unwrap();
        assert_eq!(parse_echo(&packet), None);
        assert!(InPacketStamps::parse(&packet).is_some());
    }
}
