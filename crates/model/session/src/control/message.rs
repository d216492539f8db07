//! What both ends say to each other.

use std::net::SocketAddr;

use romer_record::document::{ClockSync, DamagedProbes, ProbeDirection};
use romer_record::event::Event;
use romer_record::log::{Card, ResponderDeparture, ResponderRecord};
use romer_record::refusal::Refusal;
use romer_traffic::Departure;
use romer_units::Duration;
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use super::stream::ReverseStreamRequest;

/// Version of the control protocol.
pub const VERSION: u32 = 1;
/// Default TCP port.
pub const PORT: u16 = 8862;
/// What this version can do beyond round trips, by the names that stand in a welcome.
pub const FEATURES: [&str; 8] = [ONE_WAY, RESUME, TRACE, CARDS, FETCH, LAST_WORD, DAMAGE, AUTHENTICATE];
/// Sessions of one way only.
pub const ONE_WAY: &str = "one-way";
/// Sessions that go on over another connection, from another address.
pub const RESUME: &str = "resume";
/// Streams of the responder's that are recorded ones.
pub const TRACE: &str = "trace";
/// Stamps of network cards in the log that is brought back.
pub const CARDS: &str = "card-stamps";
/// The log comes home in parts during the run, when it is asked for.
pub const FETCH: &str = "fetch";
/// A session outlives its connection to its last word: the responder keeps that, and answers questions, until the sender
/// hangs up.
pub const LAST_WORD: &str = "last-word";
/// Round-trip probes of a session are authenticated by key material of its connection, if that is requested.
pub const AUTHENTICATE: &str = "authenticate";
/// Damaged probes are counted if that is requested.
pub const DAMAGE: &str = "damage";
/// Of a responder alone: it has such stamps to give, because a network card of its takes them.
pub const HAS_CARD: &str = "takes-card-stamps";
/// Time between two associations, and between two questions, of a session. Mappings of NATs live half a minute
/// at the least (RFC 4787 section 4.3 asks for two).
pub const KEEP_ALIVE: Duration = Duration::from_secs(3);
/// After so long without a word in a one-way session the other end is gone.
pub const SILENCE: Duration = Duration::from_secs(20);

/// By what two ends find out that they read one clock: same boot, same distance between two of its clocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockIdentity {
    /// The kernel's boot identifier.
    pub boot_id: String,
    /// Real-time clock minus time since boot, nanoseconds. A clone of a running virtual machine shares the boot
    /// identifier, but not this.
    pub realtime_minus_boottime_ns: i64,
}

impl ClockIdentity {
    /// Two readings of one clock's distance may differ by this much, because two clocks are not read at once.
    pub const READING_ERROR_NS: u64 = 20_000;

    /// Whether both are the same clock.
    pub fn is_shared_with(&self, other: &Self) -> bool {
        !self.boot_id.is_empty()
            && self.boot_id == other.boot_id
            && self.realtime_minus_boottime_ns.abs_diff(other.realtime_minus_boottime_ns)
                <= Self::READING_ERROR_NS
    }
}

/// First message of the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientHello {
    /// [`VERSION`].
    pub version: u32,
    /// Name and version of the program.
    pub software: String,
    /// The sender's clock.
    pub clock: ClockIdentity,
    /// What it can do beyond the first version: some of [`FEATURES`], and what later versions have.
    #[serde(default)]
    pub features: Vec<String>,
}

impl ClientHello {
    /// Whether the sender has `feature`.
    pub fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|own| own == feature)
    }
}

/// Reply of the responder to [`ClientHello`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerHello {
    /// [`VERSION`].
    pub version: u32,
    /// Name and version of the program.
    pub software: String,
    /// The responder's clock.
    pub clock: ClockIdentity,
    /// UDP port of the test packets.
    pub test_port: u16,
    /// Whether the responder takes stamps in its kernel.
    pub kernel_stamps: bool,
    /// How the responder's clock is kept; not told by earlier versions.
    #[serde(default)]
    pub clock_sync: Option<ClockSync>,
    /// The responder's host does not hear routers that return packets of IPv4 as too long: its `net.ipv4.ip_no_pmtu_disc` is this,
    /// 2 or more. `None` where it does, and of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip_no_pmtu_disc: Option<u32>,
    /// What it can do beyond round trips: some of [`FEATURES`], and what later versions have.
    #[serde(default)]
    pub features: Vec<String>,
}

impl ServerHello {
    /// The answer of a responder that does round trips without stamps of its kernel.
    pub fn new(software: &str, clock: ClockIdentity, test_port: u16) -> Self {
        let software = software.to_owned();
        Self {
            version: VERSION,
            software,
            clock,
            test_port,
            kernel_stamps: false,
            clock_sync: None,
            ip_no_pmtu_disc: None,
            features: Vec::new(),
        }
    }

    /// Whether the responder has `feature`.
    pub fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|own| own == feature)
    }
}

/// The responder answers only who has its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// Sixteen fresh octets, 32 hexadecimal digits.
    pub nonce: String,
}

/// One end has the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// Sixteen octets that this end drew, 32 hexadecimal digits.
    pub nonce: String,
    /// The code over both nonces, 32 hexadecimal digits.
    pub code: String,
}

/// The share of one end in a pairing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairShare {
    /// A message of SPAKE2, 66 hexadecimal digits.
    pub share: String,
}

/// One end has the pairing code of the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairProof {
    /// A code over the label of this end with the key that both ends agreed on, 32 hexadecimal digits.
    pub proof: String,
}

/// What the sender is going to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Session identifier in the test packets (RFC 8972).
    pub ssid: u16,
    /// Mean time between probes, nanoseconds.
    pub interval_ns: i64,
    /// Probes that will be sent at the most.
    pub count: u64,
    /// Payload of UDP, octets.
    pub payload_octets: u32,
    /// Which way the packets go; [`ProbeDirection::Both`] is two sessions.
    #[serde(default)]
    pub direction: ProbeDirection,
    /// What the responder is to send; only of [`ProbeDirection::Reverse`].
    #[serde(default)]
    pub stream: Option<ReverseStreamRequest>,
}

/// The session is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// Secret for the association datagram, 32 hexadecimal digits.
    pub token: String,
    /// Records that the responder holds before it sends some back during the run.
    pub buffered_records: u64,
    /// Key of the one-way probes, 32 hexadecimal digits; only of one-way sessions.
    #[serde(default)]
    pub key: Option<String>,
    /// By what the sender shows over another connection that the session is its own, 32 hexadecimal digits; only where
    /// both ends have [`RESUME`].
    #[serde(default)]
    pub secret: Option<String>,
}

/// A session is to go on over this connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// The session's secret, 32 hexadecimal digits.
    pub secret: String,
    /// Messages of those that are said only once that have come.
    pub heard: u64,
    /// For so long, nanoseconds, the sender has known that something is amiss.
    pub silent_ns: i64,
}

/// It does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// Secret for the association datagram from the new address, 32 hexadecimal digits.
    pub token: String,
    /// Number of the message that comes next, of those that are said only once.
    pub next: u64,
}

/// How far the responder was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Messages of those that are said only once that have come, in all.
    pub messages: u64,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// All sessions are taken.
    Busy,
    /// More packets a second than one address may send.
    Rate,
    /// A test longer than the responder takes part in.
    Length,
    /// Larger packets than the responder sends.
    Size,
    /// A field is outside its range.
    Invalid,
    /// There is no such session here, or not any more.
    Session,
    /// The responder answers other addresses only; said by earlier versions, which did not hang up on them.
    Address,
}

/// The session is not open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Why.
    pub code: RefusalCode,
    /// Why, with the limit.
    #[serde(default)]
    pub reason: Refusal,
    /// The limit that was passed, and what would have been granted.
    pub granted: Option<u64>,
    /// Try again after this many seconds.
    pub retry_after_seconds: Option<u64>,
}

/// The address of the test packets is proved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Associated {
    /// Where the association came from, as the responder sees it: an address and a port.
    #[serde(deserialize_with = "socket_address")]
    pub address: String,
    /// Where it came from another address than the one before: how long before it the last datagram of the session came from
    /// there, and the first from here, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_ns: Option<[i64; 2]>,
    /// Where it came from before that, as far as the sender may not know, in order: what it was told before it went on over another
    /// connection may not have come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Moved>,
}

/// The address of the test packets was another than before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Where they came from then: an address and a port.
    #[serde(deserialize_with = "socket_address")]
    pub address: String,
    /// How long before this association the last datagram of the session came from where it was before, and the first from there,
    /// nanoseconds.
    pub moved_ns: [i64; 2],
}

/// An address and a port as text. What is no such address is refused, so that the text is short.
fn socket_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    SocketAddr::deserialize(deserializer).map(|address| address.to_string())
}

/// Totals of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionTotals {
    /// Test packets of this session that arrived.
    pub received: u64,
    /// Reflections sent.
    pub reflected: u64,
    /// Records that did not fit the buffer and are lost.
    pub records_lost: u64,
    /// Transmit stamps that the kernel did not deliver.
    pub stamps_missing: u64,
    /// Datagrams, of all senders, that the responder's kernel dropped while the session ran because the program was
    /// too slow to read them. They are no losses of the path.
    #[serde(default)]
    pub kernel_drops: u64,
    /// Datagrams from where the session's probes come from that named it and were none of them: altered on the way, or cut.
    #[serde(default)]
    pub bad_tag: u64,
    /// Datagrams, of all senders, that the responder's kernel dropped while the session ran because their UDP checksum was
    /// wrong; `None` where it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum_errors: Option<u64>,
    /// Synchronisation of the responder's clock at the end, with the largest bound of its error while the session ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_sync: Option<ClockSync>,
}

/// Progress of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Probes that have arrived at the responder, each counted once; of round trips, those that are in its log.
    pub received: u64,
    /// Probes that have left the responder.
    pub departed: u64,
    /// The highest number of a one-way probe that has arrived; `None` before any has, and of round trips.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest: Option<u64>,
}

/// No more probes will leave the responder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departed {
    /// How many have left.
    pub count: u64,
}

/// What happened to the responder or its host while the session runs; each is told once, soon after it was noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Events {
    /// With times from a beginning of the responder's own.
    pub events: Vec<Event>,
}

/// Probes have a pattern from now on, by which the responder is to count the damaged ones, and which it is to write into its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountDamage {
    /// The pattern's tag.
    pub tag: u32,
}

/// Damaged probes that arrived at the responder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damaged {
    /// Their counts; `None` if the responder could not count them.
    pub forward: Option<DamagedProbes>,
}

/// A protocol error, sent before the connection closes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtocolError {
    /// What kind of fault.
    pub code: ComplaintCode,
    /// In words.
    pub message: String,
}

/// Kinds of fault in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComplaintCode {
    /// No such type of frame.
    UnknownType,
    /// A known frame out of its turn.
    State,
    /// A body that cannot be read.
    Body,
    /// Another version of the protocol.
    Version,
    /// The proof does not show that the sender has the responder's key.
    Proof,
    /// The responder answers protected connections only.
    Unprotected,
    /// The responder answers paired senders only.
    NotPaired,
    /// The pairing has failed.
    Pairing,
}

/// Why a responder answers nothing over a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ConnectionRefusal {
    /// It is not protected.
    #[error("the responder answers TLS connections only")]
    Unprotected,
    /// Its sender is not paired with the responder.
    #[error("the responder answers paired initiators only")]
    NotPaired,
}

/// What a sender says to be paired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairStep {
    /// Its share.
    Share(PairShare),
    /// Its proof.
    Proof(PairProof),
}

/// One frame of the control channel.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Sender's first word.
    Hello(ClientHello),
    /// Responder's answer.
    Welcome(ServerHello),
    /// The responder has a key.
    Challenge(Challenge),
    /// One end has the key.
    Proof(Proof),
    /// What the sender is going to do.
    Request(Request),
    /// The session is open.
    Granted(Granted),
    /// The session is not open.
    Refused(Refused),
    /// The address of the test packets is proved.
    Associated(Associated),
    /// No more probes will come.
    Stop,
    /// Records of the responder.
    Log(Vec<ResponderRecord>),
    /// Totals; the responder's last word.
    End(SessionTotals),
    /// Something was not understood.
    Complaint(ProtocolError),
    /// The responder is to send its probes from now on.
    Start,
    /// The responder is to send no more.
    Halt,
    /// How far has it come?
    Ask,
    /// So far.
    Heard(Progress),
    /// The records that there are by now are to come, and not only at the end.
    Fetch,
    /// Records of the responder's departures.
    Departures(Vec<ResponderDeparture>),
    /// All probes of the responder have left.
    Departed(Departed),
    /// Something happened to the responder or its host.
    Events(Events),
    /// A session is to go on over this connection.
    Resume(Resume),
    /// It does.
    Resumed(Resumed),
    /// How far the responder was heard.
    Received(Received),
    /// Departures of a recorded stream that the responder is to send.
    Part(Vec<Departure>),
    /// Stamps of the responder's network cards.
    Cards(Vec<Card>),
    /// Damaged probes are to be counted.
    CountDamage(CountDamage),
    /// Damaged probes that arrived at the responder.
    Damaged(Damaged),
    /// The probes of the session are to be authenticated by key material of the connection; the answer is the same.
    Authenticate,
    /// The share of one end in a pairing.
    PairShare(PairShare),
    /// One end has the pairing code.
    PairProof(PairProof),
    /// A frame of a type that this version does not know.
    Unknown(u8),
}

/// Sixteen octets as 32 hexadecimal digits.
pub fn hex(token: crate::association::Token) -> String {
    token.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// The token that `text` spells.
pub fn unhex(text: &str) -> Option<crate::association::Token> {
    let digits = text.as_bytes();
    if digits.len() != 2 * crate::association::TOKEN || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut token = crate::association::Token::default();
    for (octet, pair) in token.iter_mut().zip(digits.chunks_exact(2)) {
        *octet = u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(token)
}
