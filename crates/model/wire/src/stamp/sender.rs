//! What a Session-Sender sends.

use core::num::NonZeroU16;

use super::estimate::ErrorEstimate;
use super::layout::{BASE, SHORTEST, StampError, offset};
use super::wire_time::WireTime;
use crate::bytes;

/// The packet of a Session-Sender (RFC 8762 section 4.2.1, RFC 8972 figure 1). A TWAMP-Light sender's packet
/// reads the same; what this calls the session identifier is padding there, and comes back like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderPacket {
    /// Counts the session's packets from zero.
    pub sequence: u32,
    /// When the packet left (T1).
    pub timestamp: WireTime,
    /// How well that is known.
    pub error: ErrorEstimate,
    /// The session identifier, if the sender uses one.
    pub ssid: Option<NonZeroU16>,
}

impl SenderPacket {
    /// Reads a request of [`SHORTEST`] octets or more. What must be zero is ignored, as RFC 8762 section
    /// 4.2.1 says; see [`sender_zeros_are_zero`].
    ///
    /// # Errors
    /// [`StampError::TooShort`].
    pub fn parse(octets: &[u8]) -> Result<Self, StampError> {
        let short = StampError::TooShort(octets.len());
        Ok(Self {
            sequence: u32::from_be_bytes(bytes::at(octets, offset::SEQUENCE).ok_or(short)?),
            timestamp: WireTime(u64::from_be_bytes(bytes::at(octets, offset::TIMESTAMP).ok_or(short)?)),
            error: ErrorEstimate::from_bits(u16::from_be_bytes(
                bytes::at(octets, offset::ERROR).ok_or(short)?,
            )),
            ssid: bytes::at(octets, offset::SSID).map(u16::from_be_bytes).and_then(NonZeroU16::new),
        })
    }

    /// Fills `buf`, which is as long as the packet is to be, and at least [`SHORTEST`]; everything past the
    /// fields is zero. Below 44 octets it is a TWAMP-Light request, below 16 it has no session identifier.
    ///
    /// # Errors
    /// [`StampError::TooShort`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<(), StampError> {
        if buf.len() < SHORTEST {
            return Err(StampError::TooShort(buf.len()));
        }
        buf.fill(0);
        bytes::put(buf, offset::SEQUENCE, &self.sequence.to_be_bytes());
        bytes::put(buf, offset::TIMESTAMP, &self.timestamp.0.to_be_bytes());
        bytes::put(buf, offset::ERROR, &self.error.bits().to_be_bytes());
        // A field that does not fit as a whole is left out.
        if buf.len() >= offset::SSID + 2 {
            bytes::put(buf, offset::SSID, &self.ssid.map_or(0, NonZeroU16::get).to_be_bytes());
        }
        Ok(())
    }
}

/// The session identifier that an unauthenticated request names, if it is that long. It claims nothing.
pub fn session_of(request: &[u8]) -> Option<u16> {
    bytes::at(request, offset::SSID).map(u16::from_be_bytes)
}

/// Whether the octets that a sender must leave zero are zero, as far as `request` reaches: 16 to 43. A
/// request with others is answered all the same (RFC 8762 section 4.2.1 has them ignored); TWAMP-Light puts
/// padding there.
pub fn sender_zeros_are_zero(request: &[u8]) -> bool {
    let base = request.get(..BASE).unwrap_or(request);
    base.iter().skip(offset::RECEIVE_TIMESTAMP).all(|octet| *octet == 0)
}

#[cfg(test)]
mod tests {
    use super::super::strategies::sender;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_packet_is_laid_out_as_rfc_8972_figure_1_has_it() {
        let packet = SenderPacket {
            sequence: 0x0102_0304,
            timestamp: WireTime(0x1112_1314_2122_2324),
            error: ErrorEstimate::from_bits(0x9807),
            ssid: NonZeroU16::new(0x5a5b),
        };
        let mut buf = [0xff; BASE];
        packet.emit(&mut buf).unwrap();
        let fields = [1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24, 0x98, 0x07, 0x5a, 0x5b];
        assert_eq!(buf[..16], fields);
        assert_eq!(buf[16..], [0; 28]);
        assert_eq!(SenderPacket::parse(&buf), Ok(packet));
    }

    #[test]
    fn a_request_has_at_least_fourteen_octets() {
        for len in 0..SHORTEST {
            assert_eq!(SenderPacket::parse(&vec![0xff; len]), Err(StampError::TooShort(len)));
        }
        for len in [14, 15, 16, 41, 43, 44, 100] {
            assert!(SenderPacket::parse(&vec![0xff; len]).is_ok(), "{len}");
        }
    }

    #[test]
    fn octets_that_should_be_zero_are_noticed_and_nothing_else_is() {
        for place in 0..60 {
            let mut octets = [0; 60];
            octets[place] = 1;
            assert_eq!(sender_zeros_are_zero(&octets), !(16..44).contains(&place), "{place}");
        }
        assert!(sender_zeros_are_zero(&[0xff; 16]));
        assert!(!sender_zeros_are_zero(&[0xff; 17]));
    }

    proptest! {
        #[test]
        fn a_packet_is_read_as_written(packet in sender(), len in SHORTEST..200) {
            let mut buf = vec![0xff; len];
            packet.emit(&mut buf).unwrap();
            let expected = SenderPacket { ssid: packet.ssid.filter(|_| len >= 16), ..packet };
            prop_assert_eq!(SenderPacket::parse(&buf), Ok(expected));
            prop_assert!(sender_zeros_are_zero(&buf));
            prop_assert!(buf[16.min(len)..].iter().all(|octet| *octet == 0));
        }

        #[test]
        fn any_bytes_are_survived(octets: Vec<u8>) {
            prop_assert_eq!(SenderPacket::parse(&octets).is_ok(), octets.len() >= SHORTEST);
            let _ = sender_zeros_are_zero(&octets);
        }

        #[test]
        fn a_buffer_that_is_too_short_is_left_alone(packet in sender(), len in 0..SHORTEST) {
            let mut buf = vec![0xee; len];
            prop_assert_eq!(packet.emit(&mut buf), Err(StampError::TooShort(len)));
            prop_assert!(buf.iter().all(|octet| *octet == 0xee));
        }
    }
}
