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
pub mod in_packet;
mod key;
mod layout;
mod reflector;
mod sender;
pub mod tlv;
mod wire_time;

pub use authenticated::{
    AUTHENTICATED_BASE, AuthError, authenticated_sender_zeros_are_zero, authenticated_session_of,
    looks_like_authenticated_reply,
};
pub use estimate::ErrorEstimate;
pub use key::{KEY_MIN, Key, KeyError, KeyFile, KeyForm, TAG};
pub use layout::{BASE, SHORTEST, StampError, offset};
pub use reflector::{
    ReflectorPacket, ReplyFormat, ReplyLength, SHORTEST_RECOGNISABLE, looks_like_reply, returns_time_near,
};
pub use sender::{SenderPacket, sender_zeros_are_zero, session_of};
pub use wire_time::{TimestampFormat, WireTime};

/// The UDP port of reflectors (RFC 8545).
pub const PORT: u16 = 862;

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
