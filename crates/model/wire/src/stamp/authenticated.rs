//! Test packets of the authenticated mode (RFC 8762 sections 4.2.2 and 4.3.2, RFC 8972 figures 3 and 4).
//!
//! | octets | sender's packet | reflector's packet |
//! |---|---|---|
//! | 0 to 3 | sequence number | sequence number |
//! | 4 to 15 | zero | zero |
//! | 16 to 23 | timestamp (T1) | timestamp (T3) |
//! | 24, 25 | error estimate | error estimate of T2 and T3 |
//! | 26, 27 | session identifier | the sender's |
//! | 28 to 31 | zero | zero |
//! | 32 to 39 | zero | receive timestamp (T2) |
//! | 40 to 47 | zero | zero |
//! | 48 to 51 | zero | the sender's sequence number |
//! | 52 to 63 | zero | zero |
//! | 64 to 71 | zero | the sender's timestamp (T1) |
//! | 72, 73 | zero | the sender's error estimate |
//! | 74 to 79 | zero | zero |
//! | 80 | zero | TTL of the sender's packet on arrival |
//! | 81 to 95 | zero | zero |
//! | 96 to 111 | code over octets 0 to 95 | code over octets 0 to 95 |
//!
//! The code is verified before any field is read (RFC 8762 section 4.4); it says nothing about the octets
//! after 111, which the HMAC TLV protects ([`super::tlv`]). A packet of fewer than 112 octets is none: there
//! is no short form, and TWAMP's own authenticated mode is another protocol (RFC 8762 section 4.6).

use core::num::NonZeroU16;
use core::ops::Range;

use thiserror::Error;

use super::estimate::ErrorEstimate;
use super::key::{Key, TAG};
use super::reflector::{self, ReflectorPacket};
use super::sender::SenderPacket;
use super::wire_time::WireTime;
use crate::bytes;

/// Octets of an authenticated base packet of either kind.
pub const AUTHENTICATED_BASE: usize = 112;
/// Octets that the code covers: "the first six blocks" (RFC 8762 section 4.4).
const COVERED: usize = AUTHENTICATED_BASE - TAG;

/// Where the fields lie.
mod offset {
    pub(super) const SEQUENCE: usize = 0;
    pub(super) const TIMESTAMP: usize = 16;
    pub(super) const ERROR: usize = 24;
    pub(super) const SSID: usize = 26;
    pub(super) const RECEIVE_TIMESTAMP: usize = 32;
    pub(super) const SENDER_SEQUENCE: usize = 48;
    pub(super) const SENDER_TIMESTAMP: usize = 64;
    pub(super) const SENDER_ERROR: usize = 72;
    pub(super) const SENDER_TTL: usize = 80;
    pub(super) const CODE: usize = 96;
}

/// The octets of a request that must be zero.
const SENDER_ZEROS: [Range<usize>; 2] = [4..16, 28..COVERED];
/// Why octets are no authenticated test packet, or cannot become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AuthError {
    /// Fewer than [`AUTHENTICATED_BASE`].
    #[error("an authenticated test packet has at least {AUTHENTICATED_BASE} octets, not {0}")]
    TooShort(usize),
    /// The code is not that of this key over these octets.
    #[error("the packet was not made with this key, or was changed on the way")]
    WrongCode,
    /// No room for a reply as long as its request.
    #[error("a reply of {need} octets does not fit a buffer of {have}")]
    NoRoom {
        /// Octets of the reply.
        need: usize,
        /// Octets of the buffer.
        have: usize,
    },
}

impl SenderPacket {
    /// Reads a request whose code is right. What must be zero is ignored (RFC 8762 section 4.2.2); see
    /// [`authenticated_sender_zeros_are_zero`].
    ///
    /// # Errors
    /// [`AuthError::TooShort`], [`AuthError::WrongCode`].
    pub fn parse_authenticated(octets: &[u8], key: &Key) -> Result<Self, AuthError> {
        let verified = verified(octets, key)?;
        Ok(Self::read_authenticated(verified))
    }

    fn read_authenticated(base: &[u8; COVERED]) -> Self {
        Self {
            sequence: u32::from_be_bytes(field(base, offset::SEQUENCE)),
            timestamp: WireTime(u64::from_be_bytes(field(base, offset::TIMESTAMP))),
            error: ErrorEstimate::from_bits(u16::from_be_bytes(field(base, offset::ERROR))),
            ssid: NonZeroU16::new(u16::from_be_bytes(field(base, offset::SSID))),
        }
    }

    /// Fills `buf`, which is as long as the packet is to be, and at least [`AUTHENTICATED_BASE`]; everything
    /// past the code is zero, where TLVs may be written afterwards.
    ///
    /// # Errors
    /// [`AuthError::TooShort`].
    pub fn emit_authenticated(&self, buf: &mut [u8], key: &Key) -> Result<(), AuthError> {
        if buf.len() < AUTHENTICATED_BASE {
            return Err(AuthError::TooShort(buf.len()));
        }
        buf.fill(0);
        bytes::put(buf, offset::SEQUENCE, &self.sequence.to_be_bytes());
        bytes::put(buf, offset::TIMESTAMP, &self.timestamp.0.to_be_bytes());
        bytes::put(buf, offset::ERROR, &self.error.bits().to_be_bytes());
        bytes::put(buf, offset::SSID, &self.ssid.map_or(0, NonZeroU16::get).to_be_bytes());
        seal(buf, key);
        Ok(())
    }
}

impl ReflectorPacket {
    /// Reads a reply whose code is right; all its fields are there. What must be zero is ignored (RFC 8762
    /// section 4.3.2).
    ///
    /// # Errors
    /// [`AuthError::TooShort`], [`AuthError::WrongCode`].
    pub fn parse_authenticated(octets: &[u8], key: &Key) -> Result<Self, AuthError> {
        let verified = verified(octets, key)?;
        Ok(Self::read_authenticated(verified))
    }

    fn read_authenticated(base: &[u8; COVERED]) -> Self {
        // A reply begins with the same fields as a request.
        let SenderPacket { sequence, timestamp, error, ssid } = SenderPacket::read_authenticated(base);
        let time = |offset| Some(WireTime(u64::from_be_bytes(field(base, offset))));
        let [ttl] = field(base, offset::SENDER_TTL);
        Self {
            sequence,
            timestamp,
            error,
            ssid,
            receive_timestamp: time(offset::RECEIVE_TIMESTAMP),
            sender_sequence: Some(u32::from_be_bytes(field(base, offset::SENDER_SEQUENCE))),
            sender_timestamp: time(offset::SENDER_TIMESTAMP),
            sender_error: Some(ErrorEstimate::from_bits(u16::from_be_bytes(field(
                base,
                offset::SENDER_ERROR,
            )))),
            sender_ttl: Some(ttl),
        }
    }

    /// Writes the reply over the request that `datagram` holds: its first 112 octets. The octets after those
    /// stay, for [`super::tlv::reflect_over`] to work on. Fields that are `None` become zero.
    ///
    /// # Errors
    /// [`AuthError::TooShort`].
    pub fn emit_authenticated_over(&self, datagram: &mut [u8], key: &Key) -> Result<(), AuthError> {
        let short = AuthError::TooShort(datagram.len());
        let base = datagram.get_mut(..AUTHENTICATED_BASE).ok_or(short)?;
        base.fill(0);
        let time = |time: Option<WireTime>| time.unwrap_or_default().0.to_be_bytes();
        bytes::put(base, offset::SEQUENCE, &self.sequence.to_be_bytes());
        bytes::put(base, offset::TIMESTAMP, &self.timestamp.0.to_be_bytes());
        bytes::put(base, offset::ERROR, &self.error.bits().to_be_bytes());
        bytes::put(base, offset::SSID, &self.ssid.map_or(0, NonZeroU16::get).to_be_bytes());
        bytes::put(base, offset::RECEIVE_TIMESTAMP, &time(self.receive_timestamp));
        bytes::put(base, offset::SENDER_SEQUENCE, &self.sender_sequence.unwrap_or_default().to_be_bytes());
        bytes::put(base, offset::SENDER_TIMESTAMP, &time(self.sender_timestamp));
        bytes::put(
            base,
            offset::SENDER_ERROR,
            &self.sender_error.map_or(0, ErrorEstimate::bits).to_be_bytes(),
        );
        bytes::put(base, offset::SENDER_TTL, &[self.sender_ttl.unwrap_or_default()]);
        seal(base, key);
        Ok(())
    }

    /// Writes the reply to `request` at the start of `buf`, followed by the request's own octets from 112 on,
    /// and gives its length, which is the request's.
    ///
    /// # Errors
    /// [`AuthError::TooShort`] of the request, [`AuthError::NoRoom`] where `buf` is shorter than it.
    pub fn emit_authenticated(&self, request: &[u8], buf: &mut [u8], key: &Key) -> Result<usize, AuthError> {
        let no_room = AuthError::NoRoom { need: request.len(), have: buf.len() };
        let reply = buf.get_mut(..request.len()).ok_or(no_room)?;
        reply.copy_from_slice(request);
        self.emit_authenticated_over(reply, key)?;
        Ok(request.len())
    }
}

/// The session identifier that an authenticated request names, if it is that long. It claims nothing.
pub fn authenticated_session_of(request: &[u8]) -> Option<u16> {
    bytes::at(request, offset::SSID).map(u16::from_be_bytes)
}

/// Whether the octets that the sender of an authenticated request must leave zero are zero. One with others is
/// answered all the same (RFC 8762 section 4.2.2 has them ignored). `false` below 112 octets.
pub fn authenticated_sender_zeros_are_zero(request: &[u8]) -> bool {
    are_zero(request, &SENDER_ZEROS)
}

/// Whether `octets` are a reply of the authenticated mode, which no reflector answers; see
/// [`super::looks_like_reply`]. Where both directions have one key, the code of a reply is right for a request too, and
/// tells nothing.
pub fn looks_like_authenticated_reply(octets: &[u8]) -> bool {
    let Some(base) = octets.get(..AUTHENTICATED_BASE).and_then(<[u8]>::first_chunk) else { return false };
    reflector::has_times_of_reply(&ReflectorPacket::read_authenticated(base))
}

fn are_zero(octets: &[u8], ranges: &[Range<usize>]) -> bool {
    octets.len() >= AUTHENTICATED_BASE
        && ranges
            .iter()
            .all(|range| octets.get(range.clone()).is_some_and(|field| field.iter().all(|o| *o == 0)))
}

/// The octets that the code covers, if it is right.
fn verified<'a>(octets: &'a [u8], key: &Key) -> Result<&'a [u8; COVERED], AuthError> {
    let short = AuthError::TooShort(octets.len());
    let covered = octets.first_chunk().ok_or(short)?;
    let code = bytes::at(octets, offset::CODE).ok_or(short)?;
    if key.verifies(&[covered], &code) { Ok(covered) } else { Err(AuthError::WrongCode) }
}

/// Writes the code of a base packet.
fn seal(base: &mut [u8], key: &Key) {
    if let Some(covered) = base.first_chunk::<COVERED>() {
        let code = key.tag(&[covered]);
        bytes::put(base, offset::CODE, &code);
    }
}

/// The `N` octets at `offset`; every field lies within.
fn field<const N: usize>(base: &[u8; COVERED], offset: usize) -> [u8; N] {
    bytes::at(base, offset).unwrap_or([0; N])
}

#[cfg(test)]
#[path = "authenticated_tests.rs"]
mod tests;
