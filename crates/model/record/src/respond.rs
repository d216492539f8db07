//! What a responder tells of itself (`romer/respond/1`): on SIGUSR1, and at its end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Event;

/// The name of the responder's schema.
pub const RESPOND: &str = "romer/respond/1";

/// A responder up to now. All counts are since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Respond {
    /// [`RESPOND`].
    pub schema: String,
    /// Name and version of the program.
    pub software: String,
    /// When it started, RFC 3339.
    pub started: String,
    /// The time that the counts are of, RFC 3339: just after the signal that requested them.
    pub at: String,
    /// Where test packets are received.
    pub test_addresses: Vec<String>,
    /// Where control conversations are received.
    pub control_addresses: Vec<String>,
    /// Only authenticated tests are answered.
    pub authenticated: bool,
    /// The replies of each session are numbered.
    pub stateful: bool,
    /// The clock, as the replies state it.
    pub clock: RespondClock,
    /// What came.
    pub requests: RespondRequests,
    /// What was answered.
    pub replies: RespondReplies,
    /// Probes of the responder's own, in one-way sessions.
    #[serde(default)]
    pub probes: RespondProbes,
    /// What was not answered, by cause.
    pub refused: RespondRefused,
    /// Extensions of the answered requests.
    pub tlvs: RespondTlvs,
    /// Sessions.
    pub sessions: RespondSessions,
    /// Datagrams and turns of its work that the thread that reflects gave up because of a fault of the responder's own.
    #[serde(default)]
    pub failed_turns: u64,
    /// Pieces of work of one of its threads that took longer than five seconds: a fault of romer's.
    #[serde(default)]
    pub stuck_turns: u64,
    /// The latest 256 events of the responder and its host; times are from its start.
    #[serde(default)]
    pub events: Vec<Event>,
    /// Events before those.
    #[serde(default)]
    pub events_forgotten: u64,
}

/// The responder's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondClock {
    /// A daemon synchronises it.
    pub synchronised: bool,
    /// The bound of its error that the replies state.
    pub error_ns: Option<i64>,
}

/// What came to a responder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondRequests {
    /// Datagrams read.
    pub received: u64,
    /// Their octets of UDP payload.
    pub octets: u64,
    /// Probes of one-way sessions among them; nothing answers these.
    #[serde(default)]
    pub one_way: u64,
    /// Probes of one-way sessions that came from another address than their session's, as they do where a NAT has got
    /// another outer address, until the session has followed there. Each is taken once.
    #[serde(default)]
    pub elsewhere: u64,
    /// Datagrams that name a one-way session of their host and were not made with its key: no probes of it, and judged as
    /// any other request is.
    #[serde(default)]
    pub bad_tag: u64,
    /// Probes of one-way sessions that had ended, up to two minutes before; none is answered, and none is in `one_way`.
    #[serde(default)]
    pub after_end: u64,
    /// Datagrams by which senders proved their address; none is answered.
    pub associations: u64,
    /// Requests with octets that must be zero and are not; answered.
    pub nonzero_mbz: u64,
    /// Requests with an error estimate with multiplier 0; they are answered.
    pub bad_error_estimate: u64,
    /// Datagrams that the kernel dropped before they could be read, damaged ones among them.
    pub kernel_drops: u64,
}

/// What a responder answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondReplies {
    /// Replies sent.
    pub sent: u64,
    /// Their octets of UDP payload. With the headers of IP, a reply has at most 1.72 times the octets of its request: a
    /// request of 14 octets is answered with 44.
    pub octets: u64,
    /// Replies that the kernel would not take, and those that were not sent because they were more than 10 s late.
    pub not_sent: u64,
}

/// Probes that a responder sent in one-way sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondProbes {
    /// Probes sent.
    pub sent: u64,
    /// Their octets of UDP payload.
    pub octets: u64,
    /// Probes that were due and not sent, because they exceeded a limit.
    pub held_back: RespondHeldBack,
}

/// Probes that were due and not sent, by the limit that they exceeded. Networks are a /24 of IPv4 or a /56 of IPv6.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondHeldBack {
    /// Packets a second to one network (`--rate`).
    pub packet_rate: u64,
    /// Bits a second to one network, of a responder that is open to all: 10 Mbit/s.
    pub network_bits: u64,
    /// Bits a second in total, of a responder that is open to all: 100 Mbit/s.
    pub total_bits: u64,
}

/// What a responder did not answer, by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondRefused {
    /// Shorter than any test packet; with `--symmetric-only`, also those below 36 octets of a sender that is not proved.
    pub too_short: u64,
    /// From port 0, from the port of a service that answers anything, or from an address that is not of a single host.
    pub bad_source: u64,
    /// From the responder's own address and port.
    pub r#loop: u64,
    /// Replies of reflectors.
    pub not_request: u64,
    /// From outside the allowed ranges.
    pub not_allowed: u64,
    /// Over the rate of its prefix.
    pub rate_limited: u64,
    /// Arrived with a TTL below the least, or with none that is known.
    pub below_min_ttl: u64,
    /// Not made with the key.
    pub auth_fail: u64,
    /// Made with the key, and received before, or too old to decide.
    pub replay: u64,
    /// Made with the key, and no place to remember it.
    pub table_full: u64,
}

/// Extensions of the requests that a responder answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondTlvs {
    /// TLVs answered.
    pub answered: u64,
    /// TLVs returned with U.
    pub unrecognized: u64,
    /// Requests with a TLV that was returned with M.
    pub malformed: u64,
    /// Requests with TLVs that were returned with flag I.
    pub auth_fail: u64,
}

/// Sessions that a responder's control channel did not grant, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondSessionsRefused {
    /// All sessions, or all that one network (a /24 or a /56) may have, were taken.
    pub busy: u64,
    /// The request exceeded the packets per second that one network, or all networks, may send or receive in all
    /// sessions together.
    pub rate: u64,
    /// The request was for more time than a session may take.
    pub length: u64,
    /// The request was for larger packets than the responder sends.
    pub size: u64,
    /// The request was for something impossible.
    pub invalid: u64,
    /// Was to go on, and is not there any more.
    pub gone: u64,
    /// Connections from outside the allowed ranges, which are hung up before a word is said.
    pub not_allowed: u64,
    /// Connections that were cut off unheard, because there were too many of their network or of all, or because what they had
    /// begun to say took too much memory.
    pub unheard: u64,
    /// Conversations that came to nothing and in which something was said that is no frame of the protocol, or one out of its
    /// turn: as by a program that speaks another. They are counted when they end.
    #[serde(default)]
    pub invalid_message: u64,
    /// Conversations that ended without a request for a session, and in which nothing was wrong: nothing was said within 5 s, or
    /// nothing more, or the other end hung up.
    #[serde(default)]
    pub no_request: u64,
}

impl RespondSessionsRefused {
    /// All sessions among them: conversations in which none was requested are none.
    pub const fn all(&self) -> u64 {
        let Self { busy, rate, length, size, invalid, gone, not_allowed, unheard, .. } = *self;
        busy + rate + length + size + invalid + gone + not_allowed + unheard
    }
}

/// Sessions of a responder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RespondSessions {
    /// Sessions that the control channel granted.
    pub granted: u64,
    /// Control connections whose sender did not prove that it has the key.
    pub proofs_refused: u64,
    /// Sessions that the control channel did not grant, by cause.
    #[serde(default)]
    pub refused: RespondSessionsRefused,
    /// Control conversations that were closed because of a fault of the responder's own.
    #[serde(default)]
    pub failed: u64,
    /// Idle sessions that were ended in favour of others.
    #[serde(default)]
    pub evicted_sessions: u64,
    /// Sessions remembered now: those that are numbered, or guarded against replays.
    pub remembered: u64,
    /// How many can be.
    pub places: u64,
    /// Requests answered without state, because their session found no place.
    pub without_place: u64,
    /// Sessions that lost their place to another after a silence.
    pub evicted: u64,
}
