//! What is found of one direction.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::summary::Summary;

/// Whether a delay is the whole of it, or what it has above its least value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelayKind {
    /// The whole delay.
    Absolute,
    /// The part above the minimum; the clocks' offset is not known.
    Variable,
}

/// One direction's results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionResults {
    /// Packet counts.
    pub packets: Packets,
    /// What `delay_ns` is; `null` where there is none.
    pub delay_kind: Option<DelayKind>,
    /// Delay after clock correction (RFC 7679; RFC 2681 for the round trip).
    pub delay_ns: Summary,
    /// Delay variation of consecutive packets, signed (RFC 3393).
    pub ipdv_ns: Summary,
    /// Delay above the least one (RFC 5481).
    pub pdv_ns: Summary,
    /// The jitters, each by its definition.
    pub jitter_ns: Jitter,
    /// Between departures.
    pub inter_departure_ns: Summary,
    /// Between arrivals.
    pub inter_arrival_ns: Summary,
    /// Real departure minus scheduled one.
    pub departure_error_ns: Option<Summary>,
    /// Distributions.
    pub histograms: Histograms,
    /// Loss and its pattern.
    pub loss: Loss,
    /// Reordering.
    pub reordering: Reordering,
    /// Duplication.
    pub duplicates: Duplicates,
    /// Hops.
    pub ttl: Ttl,
    /// Code points sent and received.
    pub dscp: DscpSeen,
    /// ECN bits sent and received.
    #[serde(default)]
    pub ecn: EcnSeen,
}

/// Packet counts of a direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Packets {
    /// Left the sending host: received, lost, dropped by the destination host, in flight, or of unknown fate.
    pub sent: Option<u64>,
    /// Arrived in time, each counted once; a lower bound where `received_at_least` is true.
    pub received: Option<u64>,
    /// `received` is a lower bound: it is unknown whether other packets arrived, because their log was not received.
    /// Omitted if false.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub received_at_least: bool,
    /// Left the sending host and did not arrive within the waiting time (RFC 7680 section 2.4), whatever the cause; `null`
    /// where the direction of the loss cannot be known.
    pub lost: Option<u64>,
    /// Where `lost` is `null`: the lower bound of the packets that did not arrive in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_at_least: Option<u64>,
    /// Further copies that arrived.
    pub duplicated: Option<u64>,
    /// Arrived after a packet with a higher number (RFC 4737); `null` where the time stamps that give the order are missing or refused.
    pub reordered: Option<u64>,
    /// Arrived at the destination host, which dropped them before the program read them (`receive-overflow`; RFC 7680
    /// sections 2.7 and 2.8.3): sent and not lost. Of round trips, those that either host dropped. Left out where there are
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instrument_drops: Option<u64>,
    /// Left less than the waiting time before a run that was killed, and had not arrived: neither received nor lost. Left out
    /// where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u64>,
    /// Arrived after the waiting time; among the lost.
    pub late: Option<u64>,
    /// Arrived damaged; `null` because UDP's checksum drops damage unseen.
    pub corrupted: Option<u64>,
    /// The host itself refused to send; neither sent nor lost. Of the reverse direction of round trips, the replies of
    /// the responder's host.
    pub not_sent: Option<u64>,
}

/// The jitters: Chadda 2004's four methods in its order and on its terms, and RFC 3550's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Jitter {
    /// Method 1: greatest delay minus least (one value).
    pub peak_to_peak: Summary,
    /// Method 2: absolute difference of consecutive inter-arrival times, packets in order of sending.
    pub inter_arrival_difference: Summary,
    /// Method 2 with packets in order of arrival; only where packets were reordered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inter_arrival_difference_in_order_of_arrival: Option<Summary>,
    /// Method 3: absolute difference of consecutive delays.
    pub delay_difference: Summary,
    /// Method 4: absolute deviation of each delay from the mean.
    pub deviation_from_mean: Summary,
    /// RFC 3550 section 6.4.1, in order of arrival, after the last packet.
    pub rfc3550: Option<f64>,
}

/// Distributions of a direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Histograms {
    /// Of `delay_ns`.
    pub delay: Histogram,
    /// Of the absolute differences of consecutive delays.
    pub jitter: Histogram,
    /// Of `inter_departure_ns`.
    pub inter_departure: Histogram,
    /// Of `inter_arrival_ns`.
    pub inter_arrival: Histogram,
}

/// Counts between edges: `counts[i]` values lie in [`bin_edges_ns[i]`, `bin_edges_ns[i + 1]`), the last edge
/// included. Empty where there are no values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Histogram {
    /// One more than there are counts.
    pub bin_edges_ns: Vec<i64>,
    /// Values in each bin.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// Values in all bins.
    pub fn total(&self) -> u64 {
        romer_units::saturating_sum(&self.counts)
    }
}

/// Loss and its pattern (RFC 7680, RFC 3357).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loss {
    /// Lost over sent, without what was in flight at the end.
    pub ratio: Option<f64>,
    /// 95 % interval of the ratio (Wilson), with the effective sample size, so that losses in bursts widen it. `null`
    /// below six loss periods that are not all of one packet; unreliable below twenty periods, or where they occur in a
    /// few bursts. Where the number of losses is known, but not which packets, losses are assumed to be independent.
    pub ratio_interval: Option<[f64; 2]>,
    /// Lengths of the loss periods, in packets: the first 10,000. Empty also where it is known how many were lost, and not
    /// which: then they do not add up to what was lost.
    pub periods: Vec<u64>,
    /// What all periods are, where there are more than `periods` lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub periods_all: Option<Tally>,
    /// The longest period, and of several as long the first, where it is of two packets or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<LossPeriod>,
    /// Distances between consecutive losses, in packets: the first 10,000; empty with `periods`.
    pub distances: Vec<u64>,
    /// What all distances are, where there are more than `distances` lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distances_all: Option<Tally>,
    /// The losses by cause. The counts add up to `lost` where that is known packet by packet. A cause changes no count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<LossesByCause>,
}

/// The losses that have one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LossesByCause {
    /// The cause.
    pub cause: LossCause,
    /// How many packets.
    pub count: u64,
    /// The sequence number of the first of them.
    pub first: u64,
    /// The sequence number of the last of them.
    pub last: u64,
}

/// An event that was under way when a packet was lost. Of several, the first in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossCause {
    /// An interface that it left or was to arrive by was down (`link-down`).
    InterfaceDown,
    /// The address of a host changed (`address-change`).
    AddressChange,
    /// A NAT replaced its mapping (`address-change` on the path).
    NatRebinding,
    /// It was longer than the interface of the destination host accepts (`mtu-change`).
    InterfaceMtu,
    /// It was longer than a link of the path accepts (`path-error` or `not-sent` with an `mtu`).
    PathMtu,
    /// The sending host refused packets or its queue dropped them (`not-sent`). Of a round trip also: the responder's host did
    /// not send the reply.
    SenderQueue,
    /// The responder was not reachable, or was restarted (`responder-lost`).
    ResponderRestart,
    /// The path or the far host reported packets as undeliverable (`path-error`).
    IcmpUnreachable,
    /// No event is known.
    Unknown,
}

/// Consecutive packets that were lost (RFC 3357).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LossPeriod {
    /// How many.
    pub packets: u64,
    /// The number of the first of them.
    pub sequence: u64,
    /// When that one was sent, after the first packet of the direction; `null` where it is not known.
    pub at_ns: Option<i64>,
    /// From then until the next packet was sent that was not lost, or, at the end of the stream, the last of them; `null`
    /// where it is not known.
    pub duration_ns: Option<i64>,
}

/// The most values that `periods`, `distances` and `extents` list, and changes of the time to live: a document is to be read,
/// and a run may have millions.
pub const LISTED: usize = 10_000;

/// Statistics of all values, including those that are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// How many there are.
    pub count: u64,
    /// The greatest.
    pub max: u64,
    /// How many are 1, 2 or 3, 4 to 7, 8 to 15 and so on: `by_power_of_two[i]` of them lie from 2 to the power of i up to, but
    /// without, twice that.
    pub by_power_of_two: Vec<u64>,
}

impl Tally {
    /// The values as a document has them: those that are listed, and where these are not all, the tally of all. Values are 1
    /// or more.
    pub fn listed(values: &[u64]) -> (Vec<u64>, Option<Self>) {
        match values.get(..LISTED).filter(|listed| listed.len() < values.len()) {
            Some(listed) => (listed.to_vec(), Some(Self::from_values(values))),
            None => (values.to_vec(), None),
        }
    }

    /// The tally of all these. Values are 1 or more.
    pub fn from_values(values: &[u64]) -> Self {
        let mut tally = Self { count: values.len() as u64, ..Self::default() };
        for value in values {
            tally.max = tally.max.max(*value);
            let power = value.checked_ilog2().unwrap_or(0) as usize;
            if tally.by_power_of_two.len() <= power {
                tally.by_power_of_two.resize(power + 1, 0);
            }
            tally.by_power_of_two[power] += 1;
        }
        tally
    }
}

/// Reordering (RFC 4737).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reordering {
    /// Reordered over received.
    pub ratio: Option<f64>,
    /// Extents of the reordered packets (RFC 4737 section 4.2.3), in order of arrival: of the first 10,000.
    pub extents: Vec<u64>,
    /// What all extents are, where there are more than `extents` lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extents_all: Option<Tally>,
}

/// Duplication (RFC 5560).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Duplicates {
    /// Time from the first copy of a packet to each further one.
    pub spacing_ns: Summary,
}

/// Time to live, or hop limit, on arrival.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ttl {
    /// Least.
    pub min: Option<u8>,
    /// Greatest.
    pub max: Option<u8>,
    /// Where it changed: the first 10,000 changes.
    pub changes: Vec<TtlChange>,
    /// How many changes there are, where there are more than `changes` lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes_all: Option<u64>,
}

impl Ttl {
    /// Lists the changes, up to [`LISTED`] of them.
    pub fn list(&mut self, mut changes: Vec<TtlChange>) {
        self.changes_all = (changes.len() > LISTED).then_some(changes.len() as u64);
        changes.truncate(LISTED);
        self.changes = changes;
    }
}

/// A change of the time to live between packets that arrived, in the order in which they were sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TtlChange {
    /// First packet with the new value.
    pub sequence: u64,
    /// Value before.
    pub from: u8,
    /// Value after.
    pub to: u8,
}

/// Code points on the path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DscpSeen {
    /// Sent. The replies of a `romer respond` have the code point of their requests, as its log shows; `null` if these
    /// were several, and for other reflectors, which do not report it.
    pub sent: Option<u8>,
    /// Received, with the number of packets that had each.
    pub received: BTreeMap<String, u64>,
}

/// ECN bits on the path (RFC 3168), by name: `not-ect`, `ect0`, `ect1`, `ce`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EcnSeen {
    /// Sent. A `romer respond` sends its replies with `not-ect`, also those of round trips; `null` for other
    /// reflectors, which do not report it.
    pub sent: Option<String>,
    /// Received, with the number of packets that had each.
    pub received: BTreeMap<String, u64>,
}
