//! What a pair measured in a minute. Sums of a pair can be merged over time.

use core::fmt;
use core::str::FromStr;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::net::IpAddr;

use romer_units::TimestampPoint;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::hash::hash;
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
    /// Rows of other directions are left out. Reordering is counted among these rows only. The sources of stamps and the paths are in
    /// no row: the caller adds them.
    pub fn add_rows(&mut self, rows: &[Row], offset_ns: Option<i64>) {
        let direction = self.key.direction;
        for row in rows.iter().filter(|row| row.direction == direction) {
            self.add_row(row, offset_ns);
        }
        let first_copies = || {
            rows.iter().filter(|row| {
                row.direction == direction
                    && matches!(row.fate, RowFate::Arrived | RowFate::Late | RowFate::LostReverse)
            })
        };
        let forward = first_copies().filter_map(|row| Some((row.t2_ns?, i128::from(row.sequence))));
        self.reordered_forward = self.reordered_forward.saturating_add(reordered(forward));
        // A reply is sent when its probe arrives, and has no number of its own.
        let reverse = first_copies().filter_map(|row| {
            let sent = match direction {
                RowDirection::RoundTrip => i128::from(row.t3_ns?),
                RowDirection::Forward | RowDirection::Reverse => i128::from(row.sequence),
            };
            Some((row.t4_ns?, sent))
        });
        self.reordered_reverse = self.reordered_reverse.saturating_add(reordered(reverse));
    }

    fn add_row(&mut self, row: &Row, offset_ns: Option<i64>) {
        let (counter, is_sent) = match row.fate {
            RowFate::Arrived => (&mut self.received, true),
            RowFate::Late => (&mut self.late, true),
            RowFate::LostForward => (&mut self.lost_forward, true),
            RowFate::LostReverse => (&mut self.lost_reverse, true),
            RowFate::Lost => (&mut self.lost_unknown, true),
            RowFate::Duplicate => (&mut self.duplicates, false),
            RowFate::NotSent | RowFate::InFlight | RowFate::InstrumentDrop => (&mut self.unobserved, false),
        };
        *counter = counter.saturating_add(1);
        self.sent = self.sent.saturating_add(u64::from(is_sent));
        self.forward_ttl.extend(row.forward_ttl);
        self.reverse_ttl.extend(row.reverse_ttl);
        self.forward_tos.extend(row.forward_tos);
        self.reverse_tos.extend(row.reverse_tos);
        let has_returned = row.fate == RowFate::Arrived;
        if has_returned && let Some(delay) = round_trip(row) {
            self.round_trip.add(delay);
        }
        let Some(offset) = offset_ns else { return };
        if has_returned || row.fate == RowFate::LostReverse {
            let delay = difference(row.t2_ns, row.t1_ns).and_then(|raw| raw.checked_sub(offset));
            delay.into_iter().for_each(|delay| self.forward.add(delay));
        }
        if has_returned {
            let delay = difference(row.t4_ns, row.t3_ns).and_then(|raw| raw.checked_add(offset));
            delay.into_iter().for_each(|delay| self.reverse.add(delay));
        }
    }

    /// Adds the packets of another sum of the same pair. Merging is associative and commutative.
    ///
    /// # Errors
    /// [`MergeError`] if the other sum is of another pair, traffic or direction.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        if self.key != other.key {
            return Err(MergeError { one: Box::new(self.key.clone()), other: Box::new(other.key.clone()) });
        }
        self.first_minute = self.first_minute.min(other.first_minute);
        self.last_minute = self.last_minute.max(other.last_minute);
        for (count, added) in [
            (&mut self.sent, other.sent),
            (&mut self.received, other.received),
            (&mut self.lost_forward, other.lost_forward),
            (&mut self.lost_reverse, other.lost_reverse),
            (&mut self.lost_unknown, other.lost_unknown),
            (&mut self.late, other.late),
            (&mut self.duplicates, other.duplicates),
            (&mut self.reordered_forward, other.reordered_forward),
            (&mut self.reordered_reverse, other.reordered_reverse),
            (&mut self.unobserved, other.unobserved),
        ] {
            *count = count.saturating_add(added);
        }
        self.round_trip.merge(&other.round_trip);
        self.forward.merge(&other.forward);
        self.reverse.merge(&other.reverse);
        self.offset = match (self.offset, other.offset) {
            (Some(one), Some(other)) => Some(one.hull(other)),
            (one, other) => one.or(other),
        };
        self.stamps.extend(&other.stamps);
        self.paths.merge(&other.paths);
        self.forward_ttl.extend(&other.forward_ttl);
        self.reverse_ttl.extend(&other.reverse_ttl);
        self.forward_tos.extend(&other.forward_tos);
        self.reverse_tos.extend(&other.reverse_tos);
        Ok(())
    }

    /// Lost packets of all directions, with those that arrived late.
    pub const fn lost(&self) -> u64 {
        let by_direction = self.lost_forward.saturating_add(self.lost_reverse);
        by_direction.saturating_add(self.lost_unknown).saturating_add(self.late)
    }
}

/// The later time minus the earlier one.
fn difference(later: Option<i64>, earlier: Option<i64>) -> Option<i64> {
    later?.checked_sub(earlier?)
}

/// The round-trip delay of a row, without the time in the responder if that is known.
fn round_trip(row: &Row) -> Option<i64> {
    let whole = difference(row.t4_ns, row.t1_ns)?;
    whole.checked_sub(difference(row.t3_ns, row.t2_ns).unwrap_or(0))
}

/// The number of packets that arrived after one that was sent later (RFC 4737 section 3), of their arrival times and sending order.
fn reordered(packets: impl Iterator<Item = (i64, i128)>) -> u64 {
    let mut arrivals: Vec<(i64, i128)> = packets.collect();
    arrivals.sort_unstable();
    let (mut latest, mut count) = (i128::MIN, 0_u64);
    for (_, sent) in arrivals {
        count += u64::from(sent < latest);
        latest = latest.max(sent);
    }
    count
}

impl DelaySum {
    /// Adds a delay, nanoseconds.
    pub fn add(&mut self, delay_ns: i64) {
        self.min_ns = Some(self.min_ns.map_or(delay_ns, |least| least.min(delay_ns)));
        self.max_ns = Some(self.max_ns.map_or(delay_ns, |greatest| greatest.max(delay_ns)));
        self.sketch.add(delay_ns);
    }

    /// Adds the delays of another sum.
    pub fn merge(&mut self, other: &Self) {
        self.min_ns = self.min_ns.into_iter().chain(other.min_ns).min();
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sketch.merge(&other.sketch);
    }

    /// The quantile of a probability from 0 to 1, nanoseconds: that of the sketch, within the extremes.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        let (least, greatest) = (self.min_ns?, self.max_ns?);
        let value = self.sketch.quantile(p)?;
        Some(value.max(nearest_real(least)).min(nearest_real(greatest)))
    }
}

/// The nearest floating-point number.
#[expect(clippy::cast_precision_loss, reason = "a relative error of 2^-53 is far below that of the sketch")]
const fn nearest_real(nanos: i64) -> f64 {
    nanos as f64
}

impl OffsetBound {
    /// The smallest bound that includes both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self { low_ns: self.low_ns.min(other.low_ns), high_ns: self.high_ns.max(other.high_ns) }
    }

    /// Its middle: the offset of symmetric delays, nanoseconds.
    pub const fn middle_ns(self) -> i64 {
        self.low_ns.midpoint(self.high_ns)
    }
}

impl PathHashes {
    /// Adds a hash.
    pub fn insert(&mut self, hash: PathHash) {
        self.hashes.insert(hash);
        while self.hashes.len() > MAX_PATHS {
            self.hashes.pop_last();
            self.more = true;
        }
    }

    /// Adds the hashes of another set.
    pub fn merge(&mut self, other: &Self) {
        self.more |= other.more;
        other.hashes.iter().for_each(|hash| self.insert(*hash));
    }
}

impl PathHash {
    /// The hash of a path: of the addresses of its hops in their order, `None` for a hop that did not reply.
    pub fn of_hops(hops: &[Option<IpAddr>]) -> Self {
        const SILENT: &str = "*";
        let words: Vec<String> = hops
            .iter()
            .map(|hop| hop.map_or_else(|| SILENT.to_owned(), |address| address.to_string()))
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Self(hash(&words))
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

#[cfg(test)]
mod tests;
