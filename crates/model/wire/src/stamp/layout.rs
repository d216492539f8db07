//! The layout of an unauthenticated test packet: where its fields lie, and how short it may be.

use thiserror::Error;

/// Octets of a base packet of either kind.
pub const BASE: usize = 44;
/// Octets of the shortest request (RFC 4656 section 4.1.2): sequence number, timestamp, error estimate.
pub const SHORTEST: usize = 14;

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
