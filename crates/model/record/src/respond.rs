//! What a responder tells of itself (`romer/respond/1`): on SIGUSR1, and at its end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Event;

/// The name of the responder's schema.
pub const RESPOND: &str = "romer/respond/1";

/// Counters of a responder since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Respond {
    /// `romer/respond/1`.
    pub schema: String,
    /// Name and version of the program.
    pub software: String,
    /// Start time, RFC 3339.
    pub started: String,
    /// Time of the counters, RFC 3339: just after the signal that requested them.
    pub at: String,
    /// Listening addresses for test packets.
    pub test_addresses: Vec<String>,
    /// Listening addresses of the control channel.
    pub control_addresses: Vec<String>,
    /// Whether only authenticated tests are answered.
    pub authenticated: bool,
    /// Whether the replies of each session are numbered.
    pub stateful: bool,
    /// State of the clock, as stated in the replies.
    pub clock: RespondClock,
    /// Datagrams received.
    pub requests: RespondRequests,
    /// Replies.
    pub replies: RespondReplies,
    /// Probes sent in one-way sessions.
    #[serde(default)]
    pub probes: RespondProbes,
    /// Requests without a reply, by cause.
    pub refused: RespondRefused,
    /// Reflector in the kernel (`--in-kernel`). Its packets are counted here only, except those that it passed to
    /// the responder. `null` without it.
    #[serde(default)]
    pub in_kernel: Option<RespondKernel>,
    /// Programs in the kernel that write time stamps into packets (`--in-packet`). `null` without them.
    #[serde(default)]
    pub in_packet: Option<RespondInPacket>,
    /// TLV extensions of the answered requests.
    pub tlvs: RespondTlvs,
    /// Sessions.
    pub sessions: RespondSessions,
    /// Datagrams and loop iterations that the reflector thread abandoned because of an internal fault of
    /// romer.
    #[serde(default)]
    pub failed_iterations: u64,
    /// Loop iterations of a thread that took longer than 5 s: an internal fault of romer.
    #[serde(default)]
    pub stuck_iterations: u64,
    /// Latest 256 events of the responder and its host; times are since its start.
    #[serde(default)]
    pub events: Vec<Event>,
    /// Number of earlier events that are no longer listed.
    #[serde(default)]
    pub events_dropped: u64,
}

/// The responder's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondClock {
    /// Whether a daemon synchronises the clock.
    pub synchronised: bool,
    /// Error bound of the clock that the replies state, nanoseconds.
    pub error_ns: Option<i64>,
}

/// Datagrams that the responder received.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondRequests {
    /// Datagrams read.
    pub received: u64,
    /// UDP payload of the received datagrams, bytes.
    pub octets: u64,
    /// Probes of one-way sessions; not answered.
    #[serde(default)]
    pub one_way: u64,
    /// Probes of one-way sessions from another address than the session's, as after a NAT replaced its
    /// mapping, until the session uses the new address. Each is accepted once.
    #[serde(default)]
    pub other_address: u64,
    /// Datagrams that name a one-way session of their source and have an invalid tag: no probes, and
    /// processed as other requests.
    #[serde(default)]
    pub bad_tag: u64,
    /// Probes of one-way sessions that had ended up to two minutes before; not answered, and not counted by
    /// `one_way`.
    #[serde(default)]
    pub after_end: u64,
    /// Association datagrams, by which initiators validate their address; not answered.
    pub associations: u64,
    /// Requests with nonzero bytes in fields that must be zero; answered.
    pub nonzero_mbz: u64,
    /// Requests with an Error Estimate of multiplier 0; answered.
    pub bad_error_estimate: u64,
    /// Datagrams that the kernel dropped before they were read, including damaged ones.
    pub kernel_drops: u64,
}

/// Replies of the responder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondReplies {
    /// Replies sent.
    pub sent: u64,
    /// UDP payload of the replies, bytes. With IP headers, a reply has at most 1.72 times the bytes of its
    /// request: a request of 14 bytes is answered with 44.
    pub octets: u64,
    /// Replies that the kernel refused, or that were more than 10 s late.
    pub not_sent: u64,
}

/// Probes that the responder sent in one-way sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondProbes {
    /// Probes sent.
    pub sent: u64,
    /// UDP payload of the sent probes, bytes.
    pub octets: u64,
    /// Probes that were due and not sent because of a limit.
    pub rate_limited: RespondRateLimited,
}

/// Probes that were due and not sent because of a limit, by limit. Networks are a /24 of IPv4 or a /56 of
/// IPv6.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondRateLimited {
    /// By the packet rate limit to one network (`--rate`).
    pub packet_rate: u64,
    /// By the bit rate limit to one network, for a responder that is open to all: 10 Mbit/s.
    pub network_bits: u64,
    /// By the total bit rate limit, for a responder that is open to all: 100 Mbit/s.
    pub total_bits: u64,
}

/// Reflector in the kernel: an XDP program that answers plain requests before the network stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondKernel {
    /// Interfaces that the program is attached to.
    pub interfaces: Vec<RespondKernelInterface>,
    /// Time-stamp point of the receive and transmit time stamps in its replies: `program`, which takes both.
    pub stamps: String,
    /// Replies sent.
    pub sent: u64,
    /// UDP payload of the replies, bytes; each reply has the length of its request.
    pub octets: u64,
    /// Requests dropped because they exceeded the rate limit of their source (`--rate`).
    pub rate_limited: u64,
    /// Datagrams to the test addresses that were passed to the responder: packets of sessions, requests with TLVs,
    /// short requests, and all that it refuses.
    pub passed: u64,
}

/// Programs in the kernel (tcx) that write time stamps into requests and replies with a field for them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondInPacket {
    /// Interfaces that the programs are attached to.
    pub interfaces: Vec<String>,
    /// Addresses and UDP ports of this host. Their packets are stamped.
    pub addresses: Vec<String>,
    /// Time-stamp point of t2 and t3: `program`.
    pub stamps: String,
    /// Requests stamped (t2).
    pub requests: u64,
    /// Replies stamped (t3).
    pub replies: u64,
}

/// Interface with a reflector in the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondKernelInterface {
    /// Name of the interface.
    pub interface: String,
    /// Place of the program: `xdp-native` (in the driver) or `xdp-generic` (behind the driver).
    pub mode: String,
}

/// Requests without a reply, by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondRefused {
    /// Shorter than any test packet; with `--symmetric-only`, also requests below 36 bytes from an address
    /// that is not validated.
    pub too_short: u64,
    /// Sent from port 0, from the port of a service that answers any datagram, or from an address that is not
    /// that of a single host.
    pub bad_source: u64,
    /// Sent from the responder's own address and port.
    pub r#loop: u64,
    /// Replies of reflectors.
    pub not_request: u64,
    /// Source outside the allowed ranges.
    pub not_allowed: u64,
    /// Above the rate limit of the source network.
    pub rate_limited: u64,
    /// TTL below the minimum, or unknown.
    pub below_min_ttl: u64,
    /// Not authenticated with the key.
    pub auth_fail: u64,
    /// Authenticated, but received before, or too old to decide.
    pub replay: u64,
    /// Authenticated, but no session slot was free.
    pub table_full: u64,
}

/// TLV extensions of the answered requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondTlvs {
    /// TLVs answered.
    pub answered: u64,
    /// TLVs returned with flag U (unrecognized).
    pub unrecognized: u64,
    /// Requests with a TLV that was returned with flag M (malformed).
    pub malformed: u64,
    /// Requests with TLVs that were returned with flag I (integrity).
    pub auth_fail: u64,
}

/// Sessions rejected by the control channel, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondSessionsRefused {
    /// All sessions, or all that one network (a /24 or a /56) may have, were in use.
    pub busy: u64,
    /// Request that exceeds the packet rate that one network, or all networks, may send or receive in all
    /// sessions together.
    pub rate: u64,
    /// Request for a longer session than permitted.
    pub length: u64,
    /// Request for larger packets than the responder sends.
    pub size: u64,
    /// Invalid request.
    pub invalid: u64,
    /// Request to resume a session that no longer exists.
    pub unknown_session: u64,
    /// Connections from outside the allowed ranges, which are closed at once.
    pub not_allowed: u64,
    /// Connections closed before their request was read, because there were too many of their network or in
    /// total, or because their first message used too much memory.
    pub overload: u64,
    /// Connections without a session that sent a message that is not in the protocol, or out of order, such
    /// as those of programs with another protocol. Counted when they end.
    #[serde(default)]
    pub invalid_message: u64,
    /// Connections that ended without a request and without an invalid message: silent for 5 s, or closed by
    /// the client.
    #[serde(default)]
    pub no_request: u64,
}

impl RespondSessionsRefused {
    /// All sessions among them: conversations in which none was requested are none.
    pub const fn all(&self) -> u64 {
        let Self { busy, rate, length, size, invalid, unknown_session, not_allowed, overload, .. } = *self;
        busy + rate + length + size + invalid + unknown_session + not_allowed + overload
    }
}

/// Sessions of the responder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondSessions {
    /// Sessions accepted by the control channel.
    pub accepted: u64,
    /// Control connections whose client did not prove that it has the key.
    pub auth_fail: u64,
    /// Sessions rejected by the control channel, by cause.
    #[serde(default)]
    pub refused: RespondSessionsRefused,
    /// Control connections that were closed because of an internal fault of the responder.
    #[serde(default)]
    pub failed: u64,
    /// Idle sessions that were ended in favour of others.
    #[serde(default)]
    pub evicted_sessions: u64,
    /// Current sessions with state: numbered, or protected against replays.
    pub with_state: u64,
    /// Maximum number of sessions.
    pub slots: u64,
    /// Requests answered without state, because no session slot was free.
    pub without_slot: u64,
    /// Idle sessions whose slot was given to another session.
    pub evicted: u64,
}
