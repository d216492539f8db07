//! What is found of one direction.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::summary::Summary;

/// Kind of a delay: absolute, or relative to the minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelayKind {
    /// Absolute delay.
    Absolute,
    /// Delay minus the minimum delay; the clock offset is unknown.
    Variable,
}

/// Results of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionResults {
    /// Packet counts.
    pub packets: Packets,
    /// Kind of the delays in `delay_ns`; `null` if there are none.
    pub delay_kind: Option<DelayKind>,
    /// Delay after clock correction, nanoseconds (RFC 7679; RFC 2681 for the round trip).
    pub delay_ns: Summary,
    /// Delay variation of consecutive packets, signed, nanoseconds (RFC 3393).
    pub ipdv_ns: Summary,
    /// Delay minus the minimum delay, nanoseconds (RFC 5481).
    pub pdv_ns: Summary,
    /// Jitter by several methods, nanoseconds.
    pub jitter_ns: Jitter,
    /// Time between consecutive departures, nanoseconds.
    pub inter_departure_ns: Summary,
    /// Time between consecutive arrivals, nanoseconds.
    pub inter_arrival_ns: Summary,
    /// Actual minus scheduled departure time, nanoseconds.
    pub departure_error_ns: Option<Summary>,
    /// Histograms.
    pub histograms: Histograms,
    /// Loss and its pattern (RFC 7680, RFC 3357).
    pub loss: Loss,
    /// Reordering (RFC 4737).
    pub reordering: Reordering,
    /// Duplication (RFC 5560).
    pub duplicates: Duplicates,
    /// TTL or hop limit on arrival.
    pub ttl: Ttl,
    /// DSCPs sent and received.
    pub dscp: DscpSeen,
    /// ECN codepoints sent and received.
    #[serde(default)]
    pub ecn: EcnSeen,
}

/// Packet counts of a direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Packets {
    /// Packets that left the sending host: received, lost, dropped by the destination host, in flight, or of
    /// unknown fate.
    pub sent: Option<u64>,
    /// Packets that arrived within the waiting time, each counted once; a lower bound if `received_at_least`
    /// is true.
    pub received: Option<u64>,
    /// Whether `received` is a lower bound: the records of other packets are missing. Omitted if false.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub received_at_least: bool,
    /// Packets that left the sending host and did not arrive within the waiting time (RFC 7680 section 2.4),
    /// whatever the cause; `null` if the direction of a loss is unknown.
    pub lost: Option<u64>,
    /// Lower bound of the lost packets, if `lost` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_at_least: Option<u64>,
    /// Duplicates that arrived; `null` in forward and reverse direction if replies arrived twice that have
    /// neither time stamps nor numbers of the responder: the direction in which they were copied is unknown.
    pub duplicated: Option<u64>,
    /// Packets that arrived after one with a higher sequence number (RFC 4737); `null` if the time stamps
    /// that give the order are missing or rejected.
    pub reordered: Option<u64>,
    /// Packets that arrived at the destination host, which dropped them before the program read them
    /// (`receive-overflow`; RFC 7680 sections 2.7 and 2.8.3): sent, and not lost. Of round trips, those that
    /// either host dropped. Omitted if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instrument_drops: Option<u64>,
    /// Packets that left within the waiting time before a run was killed, and had not arrived: neither
    /// received nor lost. Omitted if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u64>,
    /// Lost packets that arrived after the waiting time.
    pub late: Option<u64>,
    /// Packets that arrived damaged (`--checksum header`); they count as lost. `null` if they are not counted: the kernel drops
    /// packets with a wrong UDP checksum.
    pub corrupted: Option<u64>,
    /// Packets that the sending host refused to send: neither sent nor lost. Of the reverse direction of
    /// round trips, replies that the responder's host refused.
    pub not_sent: Option<u64>,
}

/// Jitter: the four methods of Chadda 2004, with its names, and the interarrival jitter of RFC 3550. All in
/// nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Jitter {
    /// Method 1: maximum delay minus minimum delay (one value).
    pub peak_to_peak: Summary,
    /// Method 2: absolute difference of consecutive inter-arrival times, packets in order of departure.
    pub inter_arrival_difference: Summary,
    /// Method 2 with packets in order of arrival; only if packets were reordered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inter_arrival_difference_in_order_of_arrival: Option<Summary>,
    /// Method 3: absolute difference of consecutive delays.
    pub delay_difference: Summary,
    /// Method 4: absolute deviation of each delay from the mean.
    pub deviation_from_mean: Summary,
    /// Interarrival jitter (RFC 3550, section 6.4.1), in order of arrival, after the last packet.
    pub rfc3550: Option<f64>,
}

/// Histograms of a direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Histograms {
    /// Histogram of `delay_ns`.
    pub delay: Histogram,
    /// Histogram of the absolute differences of consecutive delays.
    pub jitter: Histogram,
    /// Histogram of `inter_departure_ns`.
    pub inter_departure: Histogram,
    /// Histogram of `inter_arrival_ns`.
    pub inter_arrival: Histogram,
}

/// Histogram: `counts[i]` values are in [`bin_edges_ns[i]`, `bin_edges_ns[i + 1]`); the last bin includes its
/// upper edge. Empty if there are no values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Histogram {
    /// Edges of the bins, nanoseconds; one more than `counts`.
    pub bin_edges_ns: Vec<i64>,
    /// Number of values in each bin.
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
    /// Loss ratio: lost / sent packets, without packets in flight at the end.
    pub ratio: Option<f64>,
    /// 95 % confidence interval of the loss ratio (Wilson), with the effective sample size, so that loss
    /// bursts widen it. `null` below six loss periods that are not all of one packet; unreliable below twenty
    /// loss periods, or if they occur in few bursts. If the number of losses is known, but not which packets,
    /// losses are assumed to be independent.
    pub ratio_interval: Option<[f64; 2]>,
    /// Lengths of the loss periods, in packets: the first 10,000. Empty if the number of lost packets is
    /// known, but not which.
    pub periods: Vec<u64>,
    /// Statistics of all loss periods, if there are more than `periods` lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub periods_all: Option<Tally>,
    /// Longest loss period of at least two packets; the first of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<LossPeriod>,
    /// Distances between consecutive losses, in packets: the first 10,000; empty if `periods` is.
    pub distances: Vec<u64>,
    /// Statistics of all distances, if there are more than `distances` lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distances_all: Option<Tally>,
    /// Losses by cause. The counts add up to `lost` if the lost packets are known individually. A cause
    /// changes no other count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<LossesByCause>,
}

/// Lost packets with one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LossesByCause {
    /// The cause.
    pub cause: LossCause,
    /// Number of lost packets.
    pub count: u64,
    /// Sequence number of the first lost packet.
    pub first: u64,
    /// Sequence number of the last lost packet.
    pub last: u64,
}

/// Event during which a packet was lost. Of several events, the first in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossCause {
    /// An interface of its source or destination host was down (`link-down`).
    InterfaceDown,
    /// The address of a host changed (`address-change`).
    AddressChange,
    /// A NAT replaced its mapping (`address-change` on the path).
    NatRebinding,
    /// It was longer than the MTU of the receiving interface (`mtu-change`).
    InterfaceMtu,
    /// It was longer than the MTU of the path (`path-error` or `not-sent` with an `mtu`).
    PathMtu,
    /// The sending host refused packets, or its queue dropped them (`not-sent`). Of a round trip, this
    /// includes replies that the responder's host did not send.
    SenderQueue,
    /// The responder was not reachable, or was restarted (`responder-lost`).
    ResponderRestart,
    /// A router or the destination host reported packets as undeliverable (`path-error`).
    IcmpUnreachable,
    /// No event at that time is known.
    Unknown,
}

impl LossCause {
    /// Its name, as documents have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InterfaceDown => "interface-down",
            Self::AddressChange => "address-change",
            Self::NatRebinding => "nat-rebinding",
            Self::InterfaceMtu => "interface-mtu",
            Self::PathMtu => "path-mtu",
            Self::SenderQueue => "sender-queue",
            Self::ResponderRestart => "responder-restart",
            Self::IcmpUnreachable => "icmp-unreachable",
            Self::Unknown => "unknown",
        }
    }
}

/// A loss period: consecutive lost packets (RFC 3357).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LossPeriod {
    /// Number of lost packets.
    pub packets: u64,
    /// Sequence number of the first lost packet.
    pub sequence: u64,
    /// Departure of the first lost packet, nanoseconds after the first packet of the direction; `null` if
    /// unknown.
    pub at_ns: Option<i64>,
    /// Time from that departure to the departure of the next packet that was not lost, nanoseconds. At the
    /// end of the stream: to that of the last lost packet. `null` if unknown.
    pub duration_ns: Option<i64>,
}

/// The most values that `periods`, `distances` and `extents` list, and changes of the time to live: a document is to be read,
/// and a run may have millions.
pub const LISTED: usize = 10_000;

/// Statistics of all values, including those that are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// Number of values.
    pub count: u64,
    /// Maximum.
    pub max: u64,
    /// Number of values that are 1, 2 to 3, 4 to 7, 8 to 15 and so on: `by_power_of_two[i]` values are at
    /// least 2^i and less than 2^(i+1).
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
    /// Reordered / received packets.
    pub ratio: Option<f64>,
    /// Reordering extents (RFC 4737 section 4.2.3), in order of arrival: the first 10,000.
    pub extents: Vec<u64>,
    /// Statistics of all extents, if there are more than `extents` lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extents_all: Option<Tally>,
}

/// Duplication (RFC 5560).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Duplicates {
    /// Time from the first copy of a packet to each duplicate, nanoseconds.
    pub spacing_ns: Summary,
}

/// TTL or hop limit on arrival.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ttl {
    /// Minimum.
    pub min: Option<u8>,
    /// Maximum.
    pub max: Option<u8>,
    /// Changes of the TTL: the first 10,000.
    pub changes: Vec<TtlChange>,
    /// Number of all changes, if there are more than `changes` lists.
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

/// A change of the TTL between received packets, in order of departure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TtlChange {
    /// Sequence number of the first packet after the change.
    pub sequence: u64,
    /// TTL before the change.
    pub from: u8,
    /// TTL after the change.
    pub to: u8,
}

/// DSCPs sent and received.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DscpSeen {
    /// DSCP sent. Replies of `romer respond` have the DSCP of their requests, as its log records; `null` if
    /// these were several, and for other reflectors, which do not report it.
    pub sent: Option<u8>,
    /// DSCPs received, with their number of packets.
    pub received: BTreeMap<String, u64>,
}

/// ECN codepoints sent and received (RFC 3168): `not-ect`, `ect0`, `ect1`, `ce`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EcnSeen {
    /// ECN codepoint sent. `romer respond` sends its packets with `not-ect`, including replies; `null` for
    /// other reflectors, which do not report it.
    pub sent: Option<String>,
    /// ECN codepoints received, with their number of packets.
    pub received: BTreeMap<String, u64>,
}
