//! Asked for beside measured (`romer/fidelity/1`), and a measured path as a scenario (`romer/model/1`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::warning::{FidelityWarning, ModelWarning};

/// The name of the schema of asked-for beside measured.
pub const FIDELITY: &str = "romer/fidelity/1";
/// The name of the schema of a model.
pub const MODEL: &str = "romer/model/1";

/// Predictions of a scenario compared with a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fidelity {
    /// `romer/fidelity/1`.
    pub schema: String,
    /// How the expectation was found, in words.
    pub method: String,
    /// Each direction that was measured.
    pub directions: Vec<FidelityDirection>,
    /// What a reader should know before relying on the figures.
    pub warnings: Vec<FidelityWarning>,
}

/// One direction, all of its streams together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FidelityDirection {
    /// `forward` or `reverse`.
    pub direction: String,
    /// Packets that were sent.
    pub packets: u64,
    /// In how many runs of the scenario in virtual time, over the same departures, the expectation was found.
    pub replicates: u32,
    /// What the data show.
    pub verdict: FidelityVerdict,
    /// Share of such runs in which some figure lies as far out as the farthest one measured.
    pub p_value: f64,
    /// The verdict in words.
    pub words: String,
    /// What hosts and links around the emulator added to a delay on average, as far as `--allow` permits: each delay counts by
    /// what it is above the expected delay of its rank.
    pub added_ns: f64,
    /// With an allowance (`--allow`) of this many nanoseconds the measurement would be consistent; `null` where it is consistent,
    /// and where no allowance up to the median delay of the scenario is sufficient.
    pub sufficient_allowance_ns: Option<f64>,
    /// Each figure.
    pub figures: Vec<FidelityFigure>,
    /// The distribution of delay as a whole; `null` where too few packets arrived.
    pub distribution: Option<Distribution>,
}

/// What the data show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FidelityVerdict {
    /// Nothing speaks against it that the network did what the scenario says.
    AsRequested,
    /// Fewer than one run of the scenario in a hundred lies as far out.
    Differs,
    /// There are too few packets to decide.
    TooFew,
}

/// A figure, requested and measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FidelityFigure {
    /// `loss_ratio` (of the packets that were sent; those that the scenario damages without repairing their checksums are
    /// among the lost), `duplicated_ratio` and `reordered_ratio` (further copies, and reordered packets of RFC 4737, of the
    /// packets that arrived), `delay_ns.mean`, `delay_ns.p25`, ...
    pub figure: String,
    /// What the scenario makes one expect; in the unit that the figure's name says.
    pub asked: f64,
    /// In 95 of 100 runs of the scenario it lies in here, without an allowance.
    pub asked_interval: [f64; 2],
    /// What was measured, without an allowance.
    pub measured: f64,
    /// 95 %: of a share by Wilson, of a delay by moving blocks drawn anew; `null` where the data do not allow one.
    pub measured_interval: Option<[f64; 2]>,
    /// Share of runs of the scenario in which this figure deviates as much, on either side. With `--allow`, a delay of the
    /// measurement or of a run that is above the expected one is first reduced towards it, by at most the allowance.
    pub p_value: f64,
}

/// Two distributions of delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// The greatest difference of the cumulative distributions (Kolmogorov and Smirnov).
    pub ks_distance: f64,
    /// Share of runs of the scenario that are as far from the distribution of all of them.
    pub p_value: f64,
    /// How many independent delays would lie as far from their distribution as such a run does: successive delays are
    /// alike.
    pub effective_values: f64,
}

/// A measured path as a scenario that can be emulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathModel {
    /// `romer/model/1`.
    pub schema: String,
    /// The run as it was given.
    pub run: String,
    /// Each direction that was measured.
    pub directions: Vec<DirectionModel>,
    /// The scenario.
    pub scenario: String,
    /// The measured run compared with what the scenario predicts.
    pub check: Option<Fidelity>,
    /// What a reader should know before relying on the figures.
    pub warnings: Vec<ModelWarning>,
}

/// The model of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionModel {
    /// `forward` or `reverse`.
    pub direction: String,
    /// Packets that were sent.
    pub packets: u64,
    /// `none`, `bernoulli` or `gilbert-elliott`.
    pub loss: String,
    /// Share of packets lost.
    pub loss_ratio: Option<f64>,
    /// 95 %, by Wilson.
    pub loss_ratio_interval: Option<[f64; 2]>,
    /// Gilbert-Elliott: chance that a packet after an arrived one is lost.
    pub p: Option<f64>,
    /// 95 %, by Wilson.
    pub p_interval: Option<[f64; 2]>,
    /// Gilbert-Elliott: chance that a packet after a lost one arrives.
    pub r: Option<f64>,
    /// 95 %, by Wilson.
    pub r_interval: Option<[f64; 2]>,
    /// Values of the empirical distribution of delay.
    pub delays: u64,
    /// Lag-one autocorrelation of normal scores of delay that the scenario asks for; 0 where the data show none.
    pub delay_correlation: f64,
    /// Share of packets displaced.
    pub reordered_ratio: Option<f64>,
    /// Share of packets duplicated.
    pub duplicated_ratio: Option<f64>,
}
