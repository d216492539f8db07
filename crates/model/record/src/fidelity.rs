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
    /// Method of the prediction, as text.
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
    /// Number of simulated runs of the scenario, with the departures of the measurement.
    pub replicates: u32,
    /// What the data show.
    pub verdict: FidelityVerdict,
    /// Share of simulated runs in which some figure deviates as much as the most deviating measured one.
    pub p_value: f64,
    /// Verdict as text.
    pub words: String,
    /// Mean delay that hosts and links around the emulator added, as far as `--allow` permits: each delay
    /// counts by its excess over the expected delay of its rank.
    pub added_ns: f64,
    /// Allowance (`--allow`) in nanoseconds with which the measurement would be consistent. `null` if it is
    /// consistent without one, or if no allowance up to the median delay of the scenario is sufficient.
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
    /// The measurement is consistent with the scenario.
    AsRequested,
    /// The measurement differs: fewer than 1 % of simulated runs deviate as much.
    Differs,
    /// Too few packets to decide.
    TooFew,
}

/// A figure, requested and measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FidelityFigure {
    /// Metric. `loss_ratio`: of the sent packets; packets that the scenario damages without repairing their
    /// checksums count as lost. `duplicated_ratio` and `reordered_ratio` (RFC 4737): of the packets that
    /// arrived. `delay_ns.mean`, `delay_ns.p25`, ...: delays in nanoseconds.
    pub figure: String,
    /// Value expected from the scenario, in the unit of the figure.
    pub asked: f64,
    /// Range of 95 % of the simulated runs, without an allowance, in the unit of the figure.
    pub asked_interval: [f64; 2],
    /// What was measured, without an allowance.
    pub measured: f64,
    /// 95 % confidence interval of the measured value: of a share by Wilson, of a delay by a moving-block
    /// bootstrap; `null` if there are too few values.
    pub measured_interval: Option<[f64; 2]>,
    /// Share of simulated runs in which this figure deviates as much, in either direction. With `--allow`, a
    /// delay of the measurement or of a run that is above the expected one is first reduced towards it, by at
    /// most the allowance.
    pub p_value: f64,
}

/// Two distributions of delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Maximum difference of the distribution functions (Kolmogorov-Smirnov distance).
    pub ks_distance: f64,
    /// Share of simulated runs that deviate as much from the distribution of all simulated runs.
    pub p_value: f64,
    /// Effective sample size of the delays of a run, as consecutive delays are correlated.
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
    /// 95 % confidence interval of the loss ratio (Wilson).
    pub loss_ratio_interval: Option<[f64; 2]>,
    /// Gilbert-Elliott: probability that a packet after a received one is lost.
    pub p: Option<f64>,
    /// 95 % confidence interval of `p` (Wilson).
    pub p_interval: Option<[f64; 2]>,
    /// Gilbert-Elliott: probability that a packet after a lost one is received.
    pub r: Option<f64>,
    /// 95 % confidence interval of `r` (Wilson).
    pub r_interval: Option<[f64; 2]>,
    /// Number of values of the empirical delay distribution.
    pub delays: u64,
    /// Lag-one autocorrelation of the normal scores of delay in the scenario; 0 if the data show none.
    pub delay_correlation: f64,
    /// Share of packets displaced.
    pub reordered_ratio: Option<f64>,
    /// Share of packets duplicated.
    pub duplicated_ratio: Option<f64>,
}
