//! STAMP test packets (RFC 8762, with the session identifier of RFC 8972), and the TWAMP-Light packets
//! (RFC 5357 section 4) that share the layout of the unauthenticated ones. Those of the authenticated mode
//! have a layout of their own ([`SenderPacket::parse_authenticated`]); what may follow either is in
//! [`tlv`].
//!
//! | octets | sender's packet | reflector's packet |
//! |---|---|---|
//! | 0 to 3 | sequence number | sequence number |
//! | 4 to 11 | timestamp (T1) | timestamp (T3) |
//! | 12, 13 | error estimate | error estimate of T2 and T3 |
//! | 14, 15 | session identifier | the sender's |
//! | 16 to 23 | zero | receive timestamp (T2) |
//! | 24 to 27 | zero | the sender's sequence number |
//! | 28 to 35 | zero | the sender's timestamp (T1) |
//! | 36, 37 | zero | the sender's error estimate |
//! | 38, 39 | zero | zero |
//! | 40 | zero | TTL of the sender's packet on arrival |
//! | 41 to 43 | zero | zero |
//!
//! A base packet has 44 octets both ways. A TWAMP-Light sender may send as few as 14.
//!
//! **How long a reply is** ([`ReplyLength`]). A reply to a request of 44 octets or more has the request's length, and
//! returns its octets from 44 on unchanged (RFC 8762 section 4.3): TLVs of RFC 8972, which [`tlv::reflect_over`] then
//! answers, or padding. A shorter request gets the base packet of 44 octets (section 4.6), or a reply of its own
//! length where the reflector is configured so.
//!
//! **How a reply is recognised** ([`looks_like_reply`]). Octets 16 to 23 hold the receive timestamp, which lies within
//! seconds of the departure timestamp in octets 4 to 11. A request has zeros there, or padding. A reflector also knows
//! the replies to its own packets by their sender's timestamp, which is a time of its own clock ([`returns_time_near`]).

mod authenticated;
mod estimate;
mod key;
mod reflector;
mod sender;
pub mod tlv;

use thiserror::Error;

use crate::ntp::{NtpTime, PtpTime};

pub use authenticated::{
    AUTHENTICATED_BASE, AuthError, authenticated_sender_zeros_are_zero, looks_like_authenticated_reply,
};
pub use estimate::ErrorEstimate;
pub use key::{KEY_MIN, Key, KeyError, KeyFile, KeyForm, TAG};
pub use reflector::{
    ReflectorPacket, ReplyLength, SHORTEST_RECOGNISABLE, looks_like_reply, returns_time_near,
};
pub use sender::{SenderPacket, sender_zeros_are_zero, session_of};

/// Octets of a base packet of either kind.
pub const BASE: usize = 44;
/// Octets of the shortest request (RFC 4656 section 4.1.2): sequence number, timestamp, error estimate.
pub const SHORTEST: usize = 14;
/// The UDP port of reflectors (RFC 8545).
pub const PORT: u16 = 862;

/// Where the fields lie.
pub mod offset {
    /// The sequence number, 4 octets, in both packets.
    pub const SEQUENCE: usize = 0;
    /// The sender's departure time (T1) in its own packet, the reflector's (T3) in a reply; 8 octets.
    pub const TIMESTAMP: usize = 4;
    /// The error estimate, 2 octets, in both packets.
    pub const ERROR: usize = 12;
    /// The session identifier of RFC 8972, 2 octets, in both packets.
    pub const SSID: usize = 14;
    /// The time at which the reflector received the request (T2), 8 octets.
    pub const RECEIVE_TIMESTAMP: usize = 16;
    /// The request's sequence number, 4 octets.
    pub const SENDER_SEQUENCE: usize = 24;
    /// The request's timestamp (T1), 8 octets.
    pub const SENDER_TIMESTAMP: usize = 28;
    /// The request's error estimate, 2 octets.
    pub const SENDER_ERROR: usize = 36;
    /// Two octets of zero.
    pub const ZERO: usize = 38;
    /// The TTL or hop limit with which the request arrived, 1 octet; three octets of zero follow.
    pub const SENDER_TTL: usize = 40;
}

/// Why octets are not a test packet, or cannot become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StampError {
    /// Fewer than [`SHORTEST`].
    #[error("a test packet has at least {SHORTEST} octets, not {0}")]
    TooShort(usize),
    /// No room for a reply as long as its request.
    #[error("a reply of {need} octets does not fit a buffer of {have}")]
    NoRoom {
        /// Octets of the reply.
        need: usize,
        /// Octets of the buffer.
        have: usize,
    },
}

/// How the timestamps beside an error estimate are written: its Z bit (RFC 8186 section 2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimestampFormat {
    /// NTP, 64 bits (Z = 0): what every STAMP node understands.
    #[default]
    Ntp,
    /// PTPv2, truncated to 64 bits (Z = 1).
    Ptp,
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

/// A timestamp as it is on the wire. What it means depends on the [`TimestampFormat`] of the error estimate
/// that goes with it; kept raw, so that a reflector returns the sender's to the bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WireTime(pub u64);

impl WireTime {
    /// `nanos` nanoseconds after 1970-01-01 in this format.
    pub fn from_unix_nanos(nanos: i64, format: TimestampFormat) -> Self {
        match format {
            TimestampFormat::Ntp => Self(NtpTime::from_unix_nanos(nanos).0),
            TimestampFormat::Ptp => Self(PtpTime::from_unix_nanos(nanos).0),
        }
    }

    /// Nanoseconds after 1970-01-01, in the era nearest to `reference` (see [`crate::ntp`]); `None` where the
    /// octets are no time in this format.
    pub fn to_unix_nanos(self, format: TimestampFormat, reference: i64) -> Option<i64> {
        match format {
            TimestampFormat::Ntp => Some(NtpTime(self.0).to_unix_nanos(reference)),
            TimestampFormat::Ptp => PtpTime(self.0).to_unix_nanos(reference),
        }
    }

    /// Whether all octets are zero: the sender stated no time (or, for one instant in 136 years, did).
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// How much later this is than `earlier`, in nanoseconds; `None` where either is no time in this format.
    pub(crate) fn nanos_since(self, earlier: Self, format: TimestampFormat) -> Option<i64> {
        match format {
            TimestampFormat::Ntp => Some(NtpTime(self.0).nanos_since(NtpTime(earlier.0))),
            TimestampFormat::Ptp => PtpTime(self.0).nanos_since(PtpTime(earlier.0)),
        }
    }
}

#[cfg(test)]
pub(crate) mod strategies {
    use super::*;
    use core::num::NonZeroU16;
    use proptest::prelude::*;

    pub(crate) fn sender() -> impl Strategy<Value = SenderPacket> {
        any::<(u32, u64, u16, u16)>().prop_map(|(sequence, timestamp, error, ssid)| SenderPacket {
            sequence,
            timestamp: WireTime(timestamp),
            error: ErrorEstimate::from_bits(error),
            ssid: NonZeroU16::new(ssid),
        })
    }
}
