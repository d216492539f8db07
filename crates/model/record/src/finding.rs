//! What stands out in a measurement, besides its figures: patterns that were looked for and found, each with how strong
//! it is and how likely chance alone would have shown it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::probe_direction::ProbeDirection;

/// A detected pattern. Only significant patterns are reported: `false_alarm_probability` bounds the
/// probability that a stream without the pattern shows one as clear at any period, position and size. It is
/// at most 1e-6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Direction of the pattern: `forward`, `reverse` or `round_trip`. Round trips are searched if the delays
    /// of the two directions are unknown, and for losses if their direction is unknown.
    pub direction: ProbeDirection,
    /// Start of the pattern, nanoseconds after the first departure of the direction; `null` if the pattern
    /// covers the whole run.
    pub at_ns: Option<i64>,
    /// End of the pattern, nanoseconds after the first departure of the direction; `null` if it is
    /// instantaneous, or lasts until the end of the run.
    pub until_ns: Option<i64>,
    /// Bound of the probability of a false alarm; `null` for facts that are not inferred statistically, such
    /// as a changed TTL.
    pub false_alarm_probability: Option<f64>,
    /// Its code and severity, and the parameters of the pattern.
    #[serde(flatten)]
    pub pattern: Pattern,
}

crate::warning::family::warnings! {
/// Kinds of pattern with their parameters. Times are in nanoseconds.
Pattern {
    /// Periodic delay spikes.
    Note PeriodicDelaySpikes {
        /// Time between two spikes.
        period_ns: f64,
        /// 95 % confidence interval of the period.
        period_interval_ns: [f64; 2],
        /// Time of the first expected spike after the first departure.
        phase_ns: f64,
        /// Height: median over the spikes of the delay of the first packet above the median delay.
        height_ns: f64,
        /// Number of observed spikes.
        spikes: u64,
        /// Number of expected spikes in the run; periods without departures do not count.
        cycles: u64,
        /// Strength: observed / expected spikes.
        strength_ratio: f64,
        /// Shorter period that was also detected, and of which this one is a multiple.
        multiple_of_ns: Option<f64>,
    },
    /// Delays, or differences of consecutive delays, are near multiples of a step (quantization).
    Note DelayGrid {
        /// Quantised values: `delay`, or `ipdv`, the difference of consecutive delays.
        quantity: GridQuantity,
        /// Step between two multiples.
        step_ns: f64,
        /// 95 % confidence interval of the step.
        #[serde(default)]
        step_interval_ns: Option<[f64; 2]>,
        /// Offset of the multiples, from 0 to less than a step; `null` for a variable delay, where it has no
        /// meaning.
        offset_ns: Option<f64>,
        /// 95 % confidence interval of the offset, modulo the step: it may begin below 0 or end above the
        /// step.
        #[serde(default)]
        offset_interval_ns: Option<[f64; 2]>,
        /// Number of multiples with values.
        points: u64,
        /// Strength: share of the values within an eighth of a step of a multiple; 0.25 by chance.
        strength_ratio: f64,
        /// Whether the step is hardly larger than the resolution of the time stamps, so that it may be an
        /// effect of the clocks and not of the path.
        #[serde(default)]
        doubtful: bool,
    },
    /// A lasting change of the delay at one time.
    Note DelayStep {
        /// 95 % confidence interval of the time of the change, nanoseconds after the first departure: from
        /// the last packet that left before it to the first packet that left after it. `at_ns` is the first
        /// packet after the change.
        #[serde(default)]
        at_interval_ns: Option<[i64; 2]>,
        /// Change of the median delay of the path.
        size_ns: f64,
        /// 95 % confidence interval of the change.
        size_interval_ns: Option<[f64; 2]>,
        /// Strength: size of the change / inter-quartile range of the neighbouring delays.
        strength_ratio: f64,
    },
    /// A route change: another number of hops, and perhaps another delay.
    Note RouteChange {
        /// TTL or hop limit on arrival before the change.
        ttl_from: u8,
        /// TTL or hop limit on arrival after the change.
        ttl_to: u8,
        /// Change of the delay of the path; `null` if the delay did not change.
        delay_step_ns: Option<f64>,
    },
    /// Several routes at the same time: the number of hops differs from packet to packet.
    Note SeveralRoutes {
        /// Minimum TTL or hop limit on arrival.
        ttl_min: u8,
        /// Maximum TTL or hop limit on arrival.
        ttl_max: u8,
        /// Number of changes between consecutive packets.
        changes: u64,
        /// Strength: changes / packets.
        strength_ratio: f64,
    },
    /// A burst of duplicates: consecutive packets arrived more than once.
    Note DuplicateBurst {
        /// Sequence number of the first packet of the burst.
        first_sequence: u64,
        /// Number of duplicated packets in the burst.
        packets: u64,
        /// Number of duplicates in the burst.
        copies: u64,
        /// Strength: share of all duplicated packets that are in the burst.
        strength_ratio: f64,
    },
    /// All packets above a length were lost, as if a host on the path drops longer ones (MTU).
    Note LossByLength {
        /// UDP payload of the longest packet that arrived, bytes.
        longest_arrived_bytes: u32,
        /// UDP payload of the shortest lost packet above `longest_arrived_bytes`, bytes.
        shortest_lost_bytes: u32,
        /// Number of packets of at least `shortest_lost_bytes`.
        packets: u64,
        /// Strength: share of all lost packets that are that long.
        strength_ratio: f64,
    },
    /// Periodic groups of losses.
    PeriodicLoss {
        /// Time between two groups.
        period_ns: f64,
        /// 95 % confidence interval of the period.
        period_interval_ns: [f64; 2],
        /// Time of the first expected group after the first departure.
        phase_ns: f64,
        /// Number of observed groups.
        groups: u64,
        /// Number of expected groups in the run; periods without departures do not count.
        cycles: u64,
        /// Number of packets lost in these groups.
        packets: u64,
        /// Strength: observed / expected groups.
        strength_ratio: f64,
    },
    /// Packets that were sent apart arrive together (coalescing).
    Note CoalescedArrivals {
        /// Maximum time between two arrivals of a group.
        within_ns: f64,
        /// Number of groups.
        groups: u64,
        /// Mean number of packets in a group.
        mean_packets: f64,
        /// Strength: share of all packets that arrive immediately after another.
        strength_ratio: f64,
    },
}
}

/// Values near multiples of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GridQuantity {
    /// The delays.
    Delay,
    /// The differences of the delays of consecutive packets (RFC 3393).
    Ipdv,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A finding is written with its code, its severity and the fields of its pattern side by side, as warnings are, and read again.
    #[test]
    fn written_and_read() {
        let finding = Finding {
            direction: ProbeDirection::RoundTrip,
            at_ns: Some(5),
            until_ns: None,
            false_alarm_probability: Some(1e-9),
            pattern: Pattern::RouteChange { ttl_from: 64, ttl_to: 63, delay_step_ns: None },
        };
        let value = serde_json::to_value(&finding).unwrap();
        let expected = serde_json::json!({
            "direction": "round_trip", "at_ns": 5, "until_ns": null, "false_alarm_probability": 1e-9,
            "severity": "note", "code": "route-change", "ttl_from": 64, "ttl_to": 63, "delay_step_ns": null
        });
        assert_eq!(value, expected);
        assert_eq!(serde_json::from_value::<Finding>(value).unwrap(), finding);
    }
}
