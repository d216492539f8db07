//! What stands out in a measurement, besides its figures: patterns that were looked for and found, each with how strong
//! it is and how likely chance alone would have shown it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::probe_direction::ProbeDirection;

/// A pattern that was found. Only significant patterns are reported: `false_alarm_probability` bounds the probability
/// that a stream without the pattern shows one as clear at any period, place and size. It is at most 1e-6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Where it was found: `forward`, `reverse` or `round_trip`. Round trips are searched if the delays of the two
    /// directions are unknown, and for losses by length if their direction is unknown.
    pub direction: ProbeDirection,
    /// When it begins, after the first departure of that direction; `null` where it holds throughout.
    pub at_ns: Option<i64>,
    /// Its end, in the same unit; `null` if it has no length, or lasts to the end of the run.
    pub until_ns: Option<i64>,
    /// The bound of the probability of a false alarm; `null` where nothing was inferred (a TTL that changed, changed).
    pub false_alarm_probability: Option<f64>,
    /// What it is.
    pub pattern: Pattern,
}

/// What kinds of pattern there are, with what each is described by. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Pattern {
    /// Packets wait long at moments that repeat.
    PeriodicDelaySpikes {
        /// The time between two spikes.
        period_ns: f64,
        /// 95 % interval of it.
        period_interval_ns: [f64; 2],
        /// When the first was due, after the first departure.
        phase_ns: f64,
        /// By how much a spike's first packet lies above the median, in the median of the spikes.
        height_ns: f64,
        /// Spikes that were seen.
        spikes: u64,
        /// Spikes that would have been seen, had none been left out; those in which nothing was sent do not count.
        cycles: u64,
        /// Seen of all: how strong it is.
        strength_ratio: f64,
        /// A shorter period that was found too, and of which this one is a multiple.
        multiple_of_ns: Option<f64>,
    },
    /// Delays, or the differences of consecutive ones, lie near the multiples of a step.
    DelayGrid {
        /// Whether `delay` lies on the grid, or `ipdv`, the difference of consecutive delays.
        of: GridOf,
        /// The step.
        step_ns: f64,
        /// 95 % interval of it.
        #[serde(default)]
        step_interval_ns: Option<[f64; 2]>,
        /// Where the grid lies: from 0 to less than a step. Of a variable delay it is without meaning, and `null`.
        offset_ns: Option<f64>,
        /// 95 % interval of it, which may begin below 0 or end above a step: multiples of the step do not count.
        #[serde(default)]
        offset_interval_ns: Option<[f64; 2]>,
        /// Points of the grid that hold values.
        points: u64,
        /// Values within an eighth of a step of a point, of all: how strong it is. By chance it is a quarter.
        strength_ratio: f64,
        /// The step is hardly larger than the resolution of the time stamps: it may be an effect of the clocks, and not
        /// of the path.
        #[serde(default)]
        doubtful: bool,
    },
    /// The delay changed at once, and stayed so for a while.
    DelayStep {
        /// 95 % interval of the moment: from the last packet that surely left before the step to the first that surely left
        /// after it, nanoseconds after the first departure. `at_ns` is the first packet after the step.
        #[serde(default)]
        at_interval_ns: Option<[i64; 2]>,
        /// Change of the path's delay, by the medians.
        size_ns: f64,
        /// 95 % interval of it.
        size_interval_ns: Option<[f64; 2]>,
        /// Its size in inter-quartile ranges of the delay around it.
        strength_ratio: f64,
    },
    /// Packets came another way: their hops changed, and perhaps their delay.
    RouteChange {
        /// TTL, or hop limit, on arrival before.
        ttl_from: u8,
        /// And after.
        ttl_to: u8,
        /// Change of the path's delay; `null` if the delay did not change.
        delay_step_ns: Option<f64>,
    },
    /// Packets that follow each other come by several ways: their hops differ from packet to packet.
    SeveralRoutes {
        /// The least TTL, or hop limit, on arrival.
        ttl_min: u8,
        /// The greatest.
        ttl_max: u8,
        /// How often it changed from a packet to the next.
        changes: u64,
        /// Changes over packets: how strong it is.
        strength_ratio: f64,
    },
    /// Consecutive packets came more than once.
    DuplicateBurst {
        /// The first of them.
        first_sequence: u64,
        /// How many packets.
        packets: u64,
        /// How many copies too many.
        copies: u64,
        /// Its packets among all that came more than once: how strong it is.
        strength_ratio: f64,
    },
    /// All packets beyond a length were lost, as if a host on the path drops longer ones.
    LossByLength {
        /// The longest packet that arrived, octets of the payload of UDP.
        longest_arrived_bytes: u32,
        /// The shortest lost one among those longer than that, in the same unit.
        shortest_lost_bytes: u32,
        /// Packets of at least this length.
        packets: u64,
        /// They among all that were lost: how strong it is.
        strength_ratio: f64,
    },
    /// Packets that were sent apart arrive together.
    CoalescedArrivals {
        /// They arrive within this time of the one before.
        within_ns: f64,
        /// Groups of such packets.
        groups: u64,
        /// Packets in a group, on average.
        mean_packets: f64,
        /// Packets that arrive right behind another, of all: how strong it is.
        strength_ratio: f64,
    },
}

/// What lies on a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GridOf {
    /// The delays.
    Delay,
    /// The differences of the delays of consecutive packets (RFC 3393).
    Ipdv,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_has_its_kind_in_its_pattern() {
        let finding = Finding {
            direction: ProbeDirection::RoundTrip,
            at_ns: Some(5),
            until_ns: None,
            false_alarm_probability: Some(1e-9),
            pattern: Pattern::RouteChange { ttl_from: 64, ttl_to: 63, delay_step_ns: None },
        };
        let value = serde_json::to_value(&finding).unwrap();
        assert_eq!(value["pattern"]["kind"], "route-change");
        assert_eq!((&value["direction"], &value["pattern"]["ttl_to"]), (&"round_trip".into(), &63.into()));
        assert_eq!(serde_json::from_value::<Finding>(value).unwrap(), finding);
    }
}
