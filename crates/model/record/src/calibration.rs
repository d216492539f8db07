//! The JSON document of a calibration (`romer/calibration/1`): the tool's own error on one machine.

use romer_units::TimestampPoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::summary::Summary;

/// The name of the calibration's schema.
pub const CALIBRATION: &str = "romer/calibration/1";

/// Measurement error of romer on one machine, as in table 11.1 of Hershberger 2005.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationRecord {
    /// `romer/calibration/1`.
    pub schema: String,
    /// Version of romer; a calibration applies to this version only.
    pub software: String,
    /// Time of the calibration, UTC (RFC 3339).
    pub measured: String,
    /// Machine of the calibration.
    pub machine: Machine,
    /// Number of rounds; each value is the median over the rounds.
    pub rounds: u32,
    /// Round trips in each round.
    pub probes: u32,
    /// Time between two probes, nanoseconds.
    pub interval_ns: i64,
    /// Size of the IP packets, bytes.
    pub packet_octets: u32,
    /// Error by the source of the time stamps, over a path of negligible delay.
    pub stamp_errors: Vec<StampSourceError>,
    /// Test that a symmetric path is measured as symmetric.
    pub symmetry: Vec<Symmetry>,
    /// Error that does not depend on the link rate (Hershberger 2005, equations 9.1 and 9.2).
    pub two_rates: Vec<TwoRates>,
    /// Reason why `two_rates` is empty.
    pub two_rates_missing: Option<TwoRatesMissing>,
    /// Steal time during the calibration.
    pub host_gaps: HostGaps,
}

/// Reason why the test at two link rates has no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum TwoRatesMissing {
    /// The kernel cannot limit the rate of a link.
    NotSlowed {
        /// The error.
        error: String,
    },
    /// The host did not send pairs of packets back to back.
    NoPairs,
}

/// Machine of a calibration. Measurements on other machines do not use it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Host name.
    pub host: String,
    /// Kernel version.
    pub kernel: String,
    /// Clock source of the kernel.
    pub clock_source: Option<String>,
    /// Number of processors.
    pub processors: u32,
}

/// Measurement error if all four time stamps have the same source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StampSourceError {
    /// Source of the time stamps.
    pub stamp_source: TimestampPoint,
    /// Error of the forward delay.
    pub forward: AddedDelay,
    /// Error of the reverse delay.
    pub reverse: AddedDelay,
    /// Error of the round-trip delay.
    pub round_trip: AddedDelay,
}

/// Delay that romer and the host add. All values are medians over the rounds, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddedDelay {
    /// Minimum added delay of a round (baseline).
    pub baseline_ns: f64,
    /// Median added delay of a round.
    pub median_ns: f64,
    /// 99 % quantile minus baseline of a round.
    pub uncertainty_ns: f64,
    /// Maximum minus baseline of a round, including scheduling delays.
    pub max_ns: f64,
}

/// Test of FOWD = ROWD = RTT/2 on a symmetric path: medians of the one-way delays and of half the round-trip
/// delay, each the median over the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Symmetry {
    /// Source of the time stamps.
    pub stamp_source: TimestampPoint,
    /// Forward delay, nanoseconds.
    pub forward_ns: f64,
    /// Reverse delay, nanoseconds.
    pub reverse_ns: f64,
    /// Half of the round-trip delay, nanoseconds.
    pub half_round_trip_ns: f64,
    /// Larger of the two differences between a one-way delay and half the round-trip delay, nanoseconds.
    pub difference_ns: f64,
    /// Maximum permitted difference: the larger uncertainty of the two one-way delays, nanoseconds.
    pub tolerance_ns: f64,
    /// Whether the difference is within the tolerance.
    pub passed: bool,
}

/// The name of the schema of `romer calibrate --common-event FILE FILE`.
pub const COMMON_EVENTS: &str = "romer/common-events/1";

/// Comparison of two clocks by common events (`romer calibrate --common-event FILE FILE`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommonEvents {
    /// `romer/common-events/1`.
    pub schema: String,
    /// The file of the first host and the file of the second host, as given.
    pub files: [String; 2],
    /// The result.
    pub clocks: ClockDifference,
    /// Whether the median difference is within the sum of both bounds; `null` if a host states no bound.
    pub within_bounds: Option<bool>,
}

/// Difference of the clocks of two hosts, by events that both stamped (Hershberger 2005, section 2.5.4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockDifference {
    /// Clock of the second host minus that of the first, nanoseconds.
    pub difference_ns: Summary,
    /// Events that only the first host stamped, and only the second.
    pub unmatched: [u64; 2],
    /// Largest bound of the error of each clock by its host, nanoseconds; `null` if it stated none at some event.
    pub bounds_ns: [Option<i64>; 2],
}

impl ClockDifference {
    /// Whether the median difference is within the sum of both bounds; `None` if a host states no bound.
    pub fn is_within_bounds(&self) -> Option<bool> {
        let [first, second] = self.bounds_ns;
        #[expect(clippy::cast_precision_loss, reason = "bounds are below a hundred days")]
        let bound = first?.saturating_add(second?) as f64;
        Some(self.difference_ns.median?.abs() <= bound)
    }
}

/// Delay over a link at two rates, and the part that does not depend on the rate: delay = bytes * 8 / rate +
/// error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TwoRates {
    /// Source of the time stamps.
    pub stamp_source: TimestampPoint,
    /// Slow rate, bit/s of frames without FCS.
    pub slow_bps: u64,
    /// Fast rate, bit/s of frames without FCS.
    pub fast_bps: u64,
    /// Delay at the slow rate, nanoseconds: median over the rounds of the median of a round.
    pub slow_delay_ns: f64,
    /// Delay at the fast rate, nanoseconds: median over the rounds of the median of a round.
    pub fast_delay_ns: f64,
    /// Frame size that solves both equations, bytes.
    pub octets: f64,
    /// Actual frame size, bytes.
    pub octets_sent: u32,
    /// Error that solves both equations, nanoseconds.
    pub error_ns: f64,
    /// Number of measured packets, all rounds and both rates.
    pub packets: u64,
    /// Excluded packets: the link was idle before them, or a time stamp is missing.
    pub excluded: u64,
    /// Whether `octets` is within 5 % of `octets_sent`.
    pub passed: bool,
}

/// The name of the schema of `romer calibrate --rates`.
pub const TWO_RATES: &str = "romer/two-rates/1";

/// Constant error of a network card, from two runs over one link at two rates (`romer calibrate --rates`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TwoRuns {
    /// `romer/two-rates/1`.
    pub schema: String,
    /// The run at the slow rate and the run at the fast rate, as given.
    pub runs: [String; 2],
    /// The result. Delays are half of the round trip.
    pub two_rates: TwoRates,
}

/// Time that the hypervisor took from this system, measured before each round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostGaps {
    /// Observed time for each processor, all rounds together, nanoseconds.
    pub observed_ns: i64,
    /// Share of the observed time that was taken.
    pub stolen_ratio: f64,
    /// Longest interruption, nanoseconds.
    pub longest_ns: i64,
}

impl CalibrationRecord {
    /// The error where all stamps are taken at `place`; `None` where that was not measured.
    pub fn at(&self, place: TimestampPoint) -> Option<&StampSourceError> {
        self.stamp_errors.iter().find(|error| error.stamp_source == place)
    }
}
