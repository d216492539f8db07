//! What a Session-Reflector returns.

use core::num::NonZeroU16;

use super::estimate::ErrorEstimate;
use super::layout::{BASE, SHORTEST, StampError, offset};
use super::sender::SenderPacket;
use super::wire_time::{TimestampFormat, WireTime};
use crate::bytes;

/// The packet of a Session-Reflector (RFC 8762 section 4.3.1, RFC 8972 figure 2). Fields that a short reply
/// has no room for are `None`; since they lie in order, a field is there only if all before it are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReflectorPacket {
    /// The request's sequence number in a stateless reflector; a count of the replies in a stateful one.
    pub sequence: u32,
    /// When the reply left (T3).
    pub timestamp: WireTime,
    /// How well T2 and T3 are known, and how both are written.
    pub error: ErrorEstimate,
    /// The request's session identifier; a reflector that does not know RFC 8972 returns none.
    pub ssid: Option<NonZeroU16>,
    /// When the request arrived (T2); in replies of 24 octets and more.
    pub receive_timestamp: Option<WireTime>,
    /// The request's sequence number; from 28 octets.
    pub sender_sequence: Option<u32>,
    /// When the request left (T1), as its sender wrote it; from 36 octets.
    pub sender_timestamp: Option<WireTime>,
    /// How well T1 is known, and how it is written; from 38 octets.
    pub sender_error: Option<ErrorEstimate>,
    /// The TTL or hop limit with which the request arrived; from 41 octets.
    pub sender_ttl: Option<u8>,
}

impl ReflectorPacket {
    /// The complete reply of a stateless reflector to `request`, which arrived at `received` with `ttl` hops
    /// left. A stateful one sets its own count as [`ReflectorPacket::sequence`].
    pub const fn answering(
        request: &SenderPacket,
        received: WireTime,
        departs: WireTime,
        error: ErrorEstimate,
        ttl: u8,
    ) -> Self {
        Self {
            sequence: request.sequence,
            timestamp: departs,
            error,
            ssid: request.ssid,
            receive_timestamp: Some(received),
            sender_sequence: Some(request.sequence),
            sender_timestamp: Some(request.timestamp),
            sender_error: Some(request.error),
            sender_ttl: Some(ttl),
        }
    }

    /// Reads a reply of [`SHORTEST`] octets or more. What must be zero is ignored, as RFC 8762 section 4.3.1
    /// says.
    ///
    /// # Errors
    /// [`StampError::TooShort`].
    pub fn parse(octets: &[u8]) -> Result<Self, StampError> {
        // A reply begins with the same fields as a request.
        let SenderPacket { sequence, timestamp, error, ssid } = SenderPacket::parse(octets)?;
        let time = |offset| bytes::at(octets, offset).map(|field| WireTime(u64::from_be_bytes(field)));
        Ok(Self {
            sequence,
            timestamp,
            error,
            ssid,
            receive_timestamp: time(offset::RECEIVE_TIMESTAMP),
            sender_sequence: bytes::at(octets, offset::SENDER_SEQUENCE).map(u32::from_be_bytes),
            sender_timestamp: time(offset::SENDER_TIMESTAMP),
            sender_error: bytes::at(octets, offset::SENDER_ERROR)
                .map(|field| ErrorEstimate::from_bits(u16::from_be_bytes(field))),
            sender_ttl: bytes::at(octets, offset::SENDER_TTL).map(|[ttl]| ttl),
        })
    }

    /// Writes the reply over `datagram`, which holds the request: its first 44 octets, or all of a shorter one.
    /// The octets from 44 on stay, and so are returned as they came (RFC 8762 section 4.3). Fields that are
    /// `None` become zero, a field that fits only in part is zero as far as it goes.
    ///
    /// # Errors
    /// [`StampError::TooShort`].
    pub fn emit_over(&self, datagram: &mut [u8]) -> Result<(), StampError> {
        if datagram.len() < SHORTEST {
            return Err(StampError::TooShort(datagram.len()));
        }
        let len = datagram.len().min(BASE);
        let base = datagram.get_mut(..len).unwrap_or_default();
        base.fill(0);
        let mut field = |offset: usize, octets: &[u8]| {
            if offset + octets.len() <= len {
                bytes::put(base, offset, octets);
            }
        };
        field(offset::SEQUENCE, &self.sequence.to_be_bytes());
        field(offset::TIMESTAMP, &self.timestamp.0.to_be_bytes());
        field(offset::ERROR, &self.error.bits().to_be_bytes());
        field(offset::SSID, &self.ssid.map_or(0, NonZeroU16::get).to_be_bytes());
        field(offset::RECEIVE_TIMESTAMP, &self.receive_timestamp.unwrap_or_default().0.to_be_bytes());
        field(offset::SENDER_SEQUENCE, &self.sender_sequence.unwrap_or_default().to_be_bytes());
        field(offset::SENDER_TIMESTAMP, &self.sender_timestamp.unwrap_or_default().0.to_be_bytes());
        field(offset::SENDER_ERROR, &self.sender_error.map_or(0, ErrorEstimate::bits).to_be_bytes());
        field(offset::SENDER_TTL, &[self.sender_ttl.unwrap_or_default()]);
        Ok(())
    }

    /// Writes the reply to `request` at the start of `buf`, and returns its length, which follows from the request's
    /// by `length`. The request's own octets follow the base packet.
    ///
    /// # Errors
    /// [`StampError::TooShort`] of the request, [`StampError::NoRoom`] where `buf` is shorter than the reply.
    pub fn emit_reply(
        &self,
        request: &[u8],
        length: ReplyLength,
        buf: &mut [u8],
    ) -> Result<usize, StampError> {
        if request.len() < SHORTEST {
            return Err(StampError::TooShort(request.len()));
        }
        let need = length.of_reply(request.len());
        let no_room = StampError::NoRoom { need, have: buf.len() };
        let reply = buf.get_mut(..need).ok_or(no_room)?;
        bytes::put(reply, 0, request);
        self.emit_over(reply)?;
        Ok(need)
    }

    /// What is left of this packet in a reply of `len` octets: what [`ReflectorPacket::parse`] reads there.
    #[must_use]
    pub fn truncated(&self, len: usize) -> Self {
        Self {
            ssid: self.ssid.filter(|_| len >= offset::SSID + 2),
            receive_timestamp: self.receive_timestamp.filter(|_| len >= offset::RECEIVE_TIMESTAMP + 8),
            sender_sequence: self.sender_sequence.filter(|_| len >= offset::SENDER_SEQUENCE + 4),
            sender_timestamp: self.sender_timestamp.filter(|_| len >= offset::SENDER_TIMESTAMP + 8),
            sender_error: self.sender_error.filter(|_| len >= offset::SENDER_ERROR + 2),
            sender_ttl: self.sender_ttl.filter(|_| len > offset::SENDER_TTL),
            ..*self
        }
    }
}

/// In which format a reflector writes its times (T2, T3, a follow-up).
///
/// A request's Z bit says how the sender wrote T1, and nothing about the reply: RFC 8762 section 4.2.1 has
/// either end configured, lets a sender use PTP though its reflector uses NTP, and makes NTP the default; RFC
/// 8186 section 2.2 calls the sender's format a local decision, and section 2.3 has each error estimate speak
/// for the timestamp beside it. So the sender's T1 and error estimate are returned to the bit, and the reply
/// has an error estimate of its own with its own Z. RFC 8186 section 2.3.1 leaves it to configuration, too, how
/// ends without a control connection agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReplyFormat {
    /// NTP, whatever the request has: every node reads it (RFC 8762 section 4.2.1), and a TWAMP-Light sender
    /// may read nothing else (section 4.6).
    #[default]
    Ntp,
    /// PTP, whatever the request has: for senders configured to read it.
    Ptp,
    /// The request's: a sender that writes PTP reads it too, and one that knows of no Z writes 0 there.
    AsRequested,
}

impl ReplyFormat {
    /// The format of the reply to a request with this error estimate.
    pub const fn answering(self, request: ErrorEstimate) -> TimestampFormat {
        match self {
            Self::Ntp => TimestampFormat::Ntp,
            Self::Ptp => TimestampFormat::Ptp,
            Self::AsRequested => request.format(),
        }
    }
}

/// How long the reply to a request is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReplyLength {
    /// At least a base packet, however short the request (RFC 8762 section 4.6).
    #[default]
    AtLeastBase,
    /// The request's length, as TWAMP's truncated padding has it (RFC 5357 section 4.2.1).
    Symmetric,
}

impl ReplyLength {
    /// Octets of the reply to a request of so many.
    pub const fn of_reply(self, request: usize) -> usize {
        match self {
            Self::AtLeastBase if request < BASE => BASE,
            Self::AtLeastBase | Self::Symmetric => request,
        }
    }
}

/// Octets of the shortest reply that every reflector can recognise as one, and whose own reply can be: it ends with the
/// sender's timestamp (T1).
pub const SHORTEST_RECOGNISABLE: usize = offset::SENDER_TIMESTAMP + 8;

/// How far apart T2 and T3 of a reply are at most, nanoseconds, and how long a reply to a packet of ours takes at most. A
/// reflector sends no reply later than that.
const LONGEST_STAY_NANOS: u64 = 10_000_000_000;

/// Whether `octets` are a reply, which no reflector answers: two reflectors that answer each other would never stop.
///
/// A reply has a receive timestamp (T2) that is not zero and lies within 10 s of its departure timestamp (T3). A
/// request has zeros in the place of T2. Other octets there are padding, and are ignored (RFC 8762 section 4.2.1);
/// random ones pass for a T2 once in 2 * 10^8.
///
/// Below 24 octets there is no T2, and nothing tells a reply from a request. A reflector sends no reply of fewer than
/// [`SHORTEST_RECOGNISABLE`] octets.
pub fn looks_like_reply(octets: &[u8]) -> bool {
    ReflectorPacket::parse(octets).is_ok_and(|packet| has_times_of_reply(&packet))
}

/// Whether `octets` return a time (T1) within 10 s of `now`, nanoseconds after 1970 on the clock of who received them: it
/// is then a reply to a packet that this host sent.
///
/// By this a reflector knows the replies to its own replies, of reflectors that state no receive timestamp, or a wrong
/// one. A request has zeros there, or padding; random octets pass once in 10^8.
pub fn returns_time_near(octets: &[u8], now: i64) -> bool {
    let returned =
        bytes::at(octets, offset::SENDER_TIMESTAMP).map(|field| WireTime(u64::from_be_bytes(field)));
    let Some(returned) = returned.filter(|time| !time.is_zero()) else { return false };
    [TimestampFormat::Ntp, TimestampFormat::Ptp].into_iter().any(|format| {
        returned.to_unix_nanos(format, now).is_some_and(|time| time.abs_diff(now) <= LONGEST_STAY_NANOS)
    })
}

/// Whether the times are those of a reply: T2 stated, T3 near it.
pub(super) fn has_times_of_reply(packet: &ReflectorPacket) -> bool {
    let Some(received) = packet.receive_timestamp.filter(|time| !time.is_zero()) else { return false };
    let stay = packet.timestamp.nanos_since(received, packet.error.format());
    stay.is_some_and(|nanos| nanos.unsigned_abs() <= LONGEST_STAY_NANOS)
}

#[cfg(test)]
#[path = "reflector_tests.rs"]
mod tests;
