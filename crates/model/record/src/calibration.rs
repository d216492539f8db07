//! The JSON document of a calibration (`romer/calibration/1`): the tool's own error on one machine.

use romer_units::Place;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of the calibration's schema.
pub const CALIBRATION: &str = "romer/calibration/1";

/// The tool's own error on the machine on which it was measured, as table 11.1 of Hershberger 2005 has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationRecord {
    /// `romer/calibration/1`.
    pub schema: String,
    /// Version of romer that measured; another version has another error.
    pub software: String,
    /// When, UTC (RFC 3339).
    pub measured: String,
    /// Of which machine.
    pub machine: Machine,
    /// How often everything was measured; each figure is the median of the rounds' figures.
    pub rounds: u32,
    /// Round trips of each round.
    pub probes: u32,
    /// Time between two of them, nanoseconds.
    pub interval_ns: i64,
    /// Their IP packets, octets.
    pub packet_octets: u32,
    /// The error by the place of the stamps, over a path that takes next to no time.
    pub places: Vec<PlaceError>,
    /// Whether a path that is the same in both directions is measured so.
    pub symmetry: Vec<Symmetry>,
    /// The error that does not depend on a link's rate (Hershberger 2005, equations 9.1 and 9.2).
    pub two_rates: Vec<TwoRates>,
    /// Why `two_rates` is empty, where it is.
    pub two_rates_missing: Option<String>,
    /// Steal time of the host in this time.
    pub host_gaps: HostGaps,
}

/// The machine that a calibration is of. A measurement on any other does not use it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Name of the host.
    pub host: String,
    /// Its kernel.
    pub kernel: String,
    /// Its clock source.
    pub clock_source: Option<String>,
    /// Its processors.
    pub processors: u32,
}

/// The tool's error where all four stamps are taken in one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceError {
    /// Where the stamps are taken.
    pub place: Place,
    /// In a delay from sender to responder.
    pub forward: Share,
    /// In a delay from responder to sender.
    pub reverse: Share,
    /// In a round trip.
    pub round_trip: Share,
}

/// What the tool adds to a delay. All are medians over the rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// The floor: a round's least.
    pub baseline_ns: f64,
    /// A round's median.
    pub median_ns: f64,
    /// How far above the floor the error goes: a round's 99 % quantile less its least.
    pub uncertainty_ns: f64,
    /// How far above the floor a round's greatest is. What the host takes away is in it.
    pub greatest_ns: f64,
}

/// Whether FOWD = ROWD = RTT/2 on a path that is the same in both directions: medians of one-way delays and of
/// half the round trip, each the median over the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Symmetry {
    /// Where the stamps were taken.
    pub place: Place,
    /// From sender to responder.
    pub forward_ns: f64,
    /// From responder to sender.
    pub reverse_ns: f64,
    /// Half the round trip.
    pub half_round_trip_ns: f64,
    /// The larger of both distances between a one-way delay and half the round trip.
    pub differ_by_ns: f64,
    /// How far they may differ: the larger of both one-way uncertainties.
    pub tolerance_ns: f64,
    /// Whether they differ by no more.
    pub held: bool,
}

/// One delay over a link at two rates, and what of it does not depend on the rate: delay = octets * 8 / rate + error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TwoRates {
    /// Where the stamps were taken.
    pub place: Place,
    /// The slow rate, bits of frames without their check sequence a second.
    pub slow_bps: u64,
    /// The fast rate, in the same unit.
    pub fast_bps: u64,
    /// Delay at the slow rate, the median of a round's packets and then of the rounds.
    pub slow_delay_ns: f64,
    /// The same at the fast rate.
    pub fast_delay_ns: f64,
    /// The octets that solve both equations.
    pub octets: f64,
    /// The octets that were sent.
    pub octets_sent: u32,
    /// The error that solves both equations.
    pub error_ns: f64,
    /// Packets that were measured, all rounds and both rates together.
    pub packets: u64,
    /// Excluded packets: the link was idle before them, or a time stamp is missing.
    pub set_aside: u64,
    /// Whether `octets` is within 5 % of `octets_sent`.
    pub held: bool,
}

/// Time that the host took away from this system, seen right before each round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostGaps {
    /// Time for which each processor was watched, all rounds together.
    pub watched_ns: i64,
    /// Share of the watched time that was taken.
    pub stolen_ratio: f64,
    /// The longest time at once.
    pub longest_ns: i64,
}

impl CalibrationRecord {
    /// The error where all stamps are taken at `place`; `None` where that was not measured.
    pub fn at(&self, place: Place) -> Option<&PlaceError> {
        self.places.iter().find(|error| error.place == place)
    }
}
