//! What a responder grants.

use romer_units::Duration;

/// What other sessions have of what a responder grants: those of a sender's network, and those of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// Packets a second that senders of the network send.
    pub coming: u64,
    /// Packets a second that the responder sends to the network.
    pub own: u64,
    /// Bits a second that the responder sends to the network.
    pub own_bits: u64,
    /// Bits a second that the responder sends to all networks.
    pub all_own_bits: u64,
    /// Packets a second that all networks send.
    pub all_coming: u64,
    /// Packets a second that the responder sends to all networks.
    pub all_own: u64,
    /// The network has as many sessions as one may have.
    pub all_sessions: bool,
    /// The responder sends in as many sessions with the network as it may with one.
    pub network_sends: bool,
    /// The responder sends in as many sessions as it may with all networks.
    pub all_send: bool,
}

/// What a responder grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Packets a second that one network may send, in all of its sessions.
    pub packets_per_second: u64,
    /// Packets a second that the responder itself may send to one network, in all of its sessions.
    pub own_packets_per_second: u64,
    /// Packets a second of either kind in the sessions of all networks.
    pub all_packets_per_second: u64,
    /// Bits of IP packets a second that the responder itself may send to one network, in all of its sessions; `None` for no limit.
    pub own_bits_per_second: Option<u64>,
    /// The same to all networks.
    pub all_own_bits_per_second: Option<u64>,
    /// What other sessions have of these.
    pub others: Others,
    /// The largest payload that the responder itself sends, octets.
    pub largest_payload: u32,
    /// Length of one test.
    pub longest: Duration,
    /// From connecting to the open session.
    pub handshake: Duration,
    /// From connecting to the first whole frame.
    pub first_frame: Duration,
    /// Records that a session holds before some are sent back.
    pub buffered_records: usize,
    /// Departures of a recorded stream that a conversation may tell.
    pub told_departures: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            packets_per_second: 100_000,
            own_packets_per_second: 100_000,
            all_packets_per_second: 400_000,
            own_bits_per_second: None,
            all_own_bits_per_second: None,
            others: Others::default(),
            // An IPv6 packet that fills the largest frames that are common.
            largest_payload: 9_000 - 48,
            longest: Duration::from_secs(31 * 86_400),
            handshake: Duration::from_secs(10),
            first_frame: Duration::from_secs(5),
            buffered_records: 16_384,
            told_departures: 1 << 18,
        }
    }
}
