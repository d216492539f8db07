//! What a pair measured in a minute. Sums of a pair can be merged over time.

use core::fmt;
use core::str::FromStr;
use std::borrow::Cow;
use std::collections::BTreeSet;

use romer_units::TimestampPoint;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::rows::{Row, RowDirection, RowFate, SchemaRefusal, check_schema};
use crate::sketch::DelaySketch;
use crate::subjects::MessageId;
use crate::time::Minute;
use crate::token::Token;

/// The version of sums that this release writes.
pub const SUMS_SCHEMA: u32 = 1;
/// Path hashes that a sum keeps at most; routes change rarely.
pub const MAX_PATHS: usize = 16;

/// The sums of all pairs of an agent's run in a minute: one message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MinuteSums {
    /// Version of its form, [`SUMS_SCHEMA`] when written.
    pub schema: u32,
    /// The tenant.
    pub tenant: Token,
    /// The agent that measured.
    pub agent: Token,
    /// Its site.
    pub site: Token,
    /// Revision of the plan.
    pub revision: u64,
    /// The run.
    pub run: Token,
    /// The minute in which the packets were sent.
    pub minute: Minute,
    /// A sum for each pair and direction.
    pub pairs: Vec<PairSum>,
}

impl MinuteSums {
    /// The identifier of its message.
    pub fn message_id(&self) -> MessageId {
        MessageId { run: self.run.clone(), agent: self.agent.clone(), minute: self.minute }
    }

    /// Whether it can be read.
    ///
    /// # Errors
    /// [`SchemaRefusal`] if its version is neither [`SUMS_SCHEMA`] nor the one before it.
    pub const fn check(&self) -> Result<(), SchemaRefusal> {
        check_schema(self.schema, SUMS_SCHEMA)
    }
}

/// The pair, the traffic and the direction of a sum.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SumKey {
    /// The agent that measured.
    pub agent: Token,
    /// The agent that replies.
    pub target: Token,
    /// Its site.
    pub target_site: Token,
    /// Name of the traffic.
    pub traffic: Token,
    /// Direction of the probes.
    pub direction: RowDirection,
}

/// What the packets of a pair came to. `sent` is the sum of `received`, `late`, `lost_forward`, `lost_reverse` and `lost_unknown`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairSum {
    /// The pair.
    #[serde(flatten)]
    pub key: SumKey,
    /// The first minute.
    pub first_minute: Minute,
    /// The last minute: in a sum of one minute, the first one.
    pub last_minute: Minute,
    /// Packets sent of which the outcome is known.
    pub sent: u64,
    /// Packets that arrived within the waiting time.
    pub received: u64,
    /// Packets lost between initiator and responder.
    pub lost_forward: u64,
    /// Packets lost between responder and initiator.
    pub lost_reverse: u64,
    /// Packets lost in an unknown direction.
    pub lost_unknown: u64,
    /// Packets that arrived after the waiting time.
    pub late: u64,
    /// Further copies of packets.
    pub duplicates: u64,
    /// Packets that arrived at the responder after one that was sent later (RFC 4737).
    pub reordered_forward: u64,
    /// Packets that arrived at the initiator after one that was sent later (RFC 4737).
    pub reordered_reverse: u64,
    /// Packets without a known outcome: refused by the sending host, dropped by a receiving host, or in flight at the end of the run.
    pub unobserved: u64,
    /// Round-trip delays without the time in the responder.
    pub round_trip: DelaySum,
    /// Delays from initiator to responder. Empty without an estimate of the clock offset.
    pub forward: DelaySum,
    /// Delays from responder to initiator. Empty without an estimate of the clock offset.
    pub reverse: DelaySum,
    /// Bounds of the clock offset, responder minus initiator.
    pub offset: Option<OffsetBound>,
    /// Where time stamps were taken.
    pub stamps: BTreeSet<StampSource>,
    /// Hashes of the paths, as route discovery found them.
    pub paths: PathHashes,
    /// TTLs or hop limits on arrival at the responder.
    pub forward_ttl: BTreeSet<u8>,
    /// TTLs or hop limits on arrival at the initiator.
    pub reverse_ttl: BTreeSet<u8>,
    /// ToS octets or traffic classes on arrival at the responder.
    pub forward_tos: BTreeSet<u8>,
    /// ToS octets or traffic classes on arrival at the initiator.
    pub reverse_tos: BTreeSet<u8>,
}

/// Delays: their extremes, and a sketch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DelaySum {
    /// Minimum, nanoseconds; `null` without delays.
    pub min_ns: Option<i64>,
    /// Maximum, nanoseconds; `null` without delays.
    pub max_ns: Option<i64>,
    /// All delays.
    #[serde(default)]
    pub sketch: DelaySketch,
}

/// Bounds of a clock offset, nanoseconds. The offset lies between them, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OffsetBound {
    /// The least offset.
    pub low_ns: i64,
    /// The greatest offset.
    pub high_ns: i64,
}

/// Where the time stamps of a row were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct StampSource {
    /// At the initiator.
    pub initiator: Option<TimestampPoint>,
    /// At the responder; `null` if it does not say.
    pub responder: Option<TimestampPoint>,
}

/// The hash of a path. In JSON it is a text of 16 hexadecimal digits, because many readers round large numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathHash(pub u64);

/// The smallest [`MAX_PATHS`] hashes, and whether there were more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathHashes {
    /// The hashes.
    pub hashes: BTreeSet<PathHash>,
    /// Whether hashes were left out.
    #[serde(default)]
    pub more: bool,
}

/// Sums of two pairs cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("sums of different pairs cannot be merged: {} to {} and {} to {}", one.agent, one.target, other.agent, other.target)]
pub struct MergeError {
    /// One pair.
    pub one: Box<SumKey>,
    /// The other pair.
    pub other: Box<SumKey>,
}

impl PairSum {
    /// A sum without packets.
    pub fn new(key: SumKey, minute: Minute) -> Self {
        Self {
            key,
            first_minute: minute,
            last_minute: minute,
            sent: 0,
            received: 0,
            lost_forward: 0,
            lost_reverse: 0,
            lost_unknown: 0,
            late: 0,
            duplicates: 0,
            reordered_forward: 0,
            reordered_reverse: 0,
            unobserved: 0,
            round_trip: DelaySum::default(),
            forward: DelaySum::default(),
            reverse: DelaySum::default(),
            offset: None,
            stamps: BTreeSet::new(),
            paths: PathHashes::default(),
            forward_ttl: BTreeSet::new(),
            reverse_ttl: BTreeSet::new(),
            forward_tos: BTreeSet::new(),
            reverse_tos: BTreeSet::new(),
        }
    }

    /// Adds the rows of its pair and direction that were sent in a minute. `offset_ns` is the estimated clock offset, responder minus
    /// initiator, by which one-way delays are corrected; without it they are left out.
    ///
    /// Rows of other directions are left out. Reordering is counted among these rows only.
    pub fn add_rows(&mut self, rows: &[Row], offset_ns: Option<i64>) {
        let direction = self.key.direction;
        for row in rows.iter().filter(|row| row.direction == direction) {
            self.add_row(row, offset_ns);
        }
    }

    fn add_row(&mut self, row: &Row, _offset_ns: Option<i64>) {
        let counter = match row.fate {
            RowFate::Arrived => &mut self.received,
            _ => &mut self.unobserved,
        };
        *counter += 1;
    }

    /// Adds the packets of another sum of the same pair. Merging is associative and commutative.
    ///
    /// # Errors
    /// [`MergeError`] if the other sum is of another pair, traffic or direction.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        if self.key != other.key {
            return Err(MergeError { one: Box::new(self.key.clone()), other: Box::new(other.key.clone()) });
        }
        Ok(())
    }

    /// Lost packets of all directions, with those that arrived late.
    pub const fn lost(&self) -> u64 {
        self.lost_forward + self.lost_reverse + self.lost_unknown + self.late
    }
}

impl PathHash {
    /// The hash of a path: of the addresses of its hops in their order, `None` for a hop that did not reply.
    pub fn of_hops(hops: &[Option<std::net::IpAddr>]) -> Self {
        let _ = hops;
        Self(0)
    }
}

impl fmt::Display for PathHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A text that is not 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text:?} is not a path hash of 16 hexadecimal digits")]
pub struct PathHashError {
    /// The beginning of the text.
    pub text: String,
}

impl FromStr for PathHash {
    type Err = PathHashError;
    fn from_str(text: &str) -> Result<Self, PathHashError> {
        let is_hash = text.len() == 16 && text.bytes().all(|octet| octet.is_ascii_hexdigit());
        let hash = u64::from_str_radix(text, 16).ok().filter(|_| is_hash);
        hash.map(Self).ok_or_else(|| PathHashError { text: romer_units::excerpt(text, 40) })
    }
}

impl Serialize for PathHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PathHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for PathHash {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "PathHash".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[0-9a-fA-F]{16}$" })
    }
}
