//! Requested and measured figures (`romer/fidelity/1`), and a measured path as a scenario (`romer/model/1`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::warning::{FidelityWarning, ModelWarning};

/// The name of the schema of requested and measured figures.
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
    /// Verdict.
    pub verdict: FidelityVerdict,
    /// Share of simulated runs in which some figure deviates as much as the most deviating measured one.
    pub p_value: f64,
    /// Verdict as text.
    pub text: String,
    /// Mean delay that hosts and links around the emulator added, as far as `--allowance` permits: each delay
    /// counts by its excess over the expected delay of its rank.
    pub added_ns: f64,
    /// Allowance (`--allowance`) in nanoseconds with which the measurement would be consistent. `null` if it is
    /// consistent without one, or if no allowance up to the median delay of the scenario is sufficient.
    pub sufficient_allowance_ns: Option<f64>,
    /// Each figure.
    pub figures: Vec<FidelityFigure>,
    /// The distribution of delay as a whole; `null` where too few packets arrived.
    pub distribution: Option<Distribution>,
}

/// Verdict of a comparison with a scenario.
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
    /// arrived. `delay_ns.mean`, `delay_ns.p25`, ...: delays in nanoseconds. The check of a model also has
    /// `loss_run.mean` (packets lost in a row) and `delay_autocorrelation.lag_N` (correlation of the ranks of delays of packets
    /// N apart).
    pub figure: String,
    /// Value expected from the scenario, in the unit of the figure.
    pub requested: f64,
    /// Range of 95 % of the simulated runs, without an allowance, in the unit of the figure.
    pub requested_interval: [f64; 2],
    /// Range of measured values that the verdict accepts, with the allowance. In 99 % of the simulated runs, all figures are in their
    /// ranges.
    pub accepted: [f64; 2],
    /// Minimum detectable difference: where the path differs from the scenario by this much, the value is outside `accepted` in 95 of 100
    /// measurements.
    pub detectable: f64,
    /// Measured value, without an allowance.
    pub measured: f64,
    /// 95 % confidence interval of the measured value: of a share by Wilson, of a delay by a moving-block
    /// bootstrap; `null` if there are too few values.
    pub measured_interval: Option<[f64; 2]>,
    /// Share of simulated runs in which this figure deviates as much, in either direction. With `--allowance`, a
    /// delay of the measurement or of a run that is above the expected one is first reduced towards it, by at
    /// most the allowance.
    pub p_value: f64,
}

/// Two distributions of delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Maximum difference of the distribution functions (Kolmogorov-Smirnov distance).
    pub ks_distance: f64,
    /// Largest distance that the verdict accepts.
    pub accepted: f64,
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
    /// Each direction that was measured. Empty for recorded rates, and for several runs.
    pub directions: Vec<DirectionModel>,
    /// Each direction with recorded rates instead of packets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkModel>,
    /// Each of several runs, in the order of the timeline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ModelPart>,
    /// The scenario.
    pub scenario: String,
    /// The measured run compared with what the scenario predicts for the departures of its packets.
    pub check: Option<Fidelity>,
    /// One half of the blocks of the run, compared with what models fitted to the other half predict, for every second and every fourth
    /// packet.
    pub held_out: Vec<HeldOutCheck>,
    /// With `--plan`: the measurements that would determine what is still unknown; empty if none is needed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<MeasurementPlan>,
    /// What a reader should know before relying on the figures.
    pub warnings: Vec<ModelWarning>,
}

/// The recorded rates of one direction of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkModel {
    /// `forward` or `reverse`.
    pub direction: String,
    /// Kind of the recording.
    pub recording: LinkRecording,
    /// Duration in nanoseconds, after which the rates repeat.
    pub duration_ns: f64,
    /// Mean rate in bit/s.
    pub mean_bit_per_s: f64,
    /// The longest time in nanoseconds in which no packet leaves: with the rate 0, or between two times of a mahimahi trace.
    pub longest_outage_ns: f64,
}

/// How the rates of a link were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkRecording {
    /// A table of rates by time.
    Rates,
    /// A mahimahi trace: times at which packets leave.
    Mahimahi,
}

/// The model of one of several runs, which follow one another in the timeline of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelPart {
    /// The run as it was given.
    pub run: String,
    /// Start in the timeline, nanoseconds.
    pub at_ns: i64,
    /// Duration in the timeline, nanoseconds.
    pub duration_ns: i64,
    /// Each direction that was measured.
    pub directions: Vec<DirectionModel>,
    /// The run compared with what its model alone predicts for the departures of its packets.
    pub check: Fidelity,
    /// One half of the blocks of the run, compared with what models fitted to the other half predict.
    pub held_out: Vec<HeldOutCheck>,
}

/// A measurement that would determine what a model leaves unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasurementPlan {
    /// Options of `romer measure`, each followed by its value. The traffic, its size and its direction are those of the measured run, as far
    /// as `reasons` permit.
    pub options: Vec<String>,
    /// Mean packet spacing in nanoseconds.
    pub spacing_ns: f64,
    /// Duration in nanoseconds.
    pub duration_ns: f64,
    /// What the measurement would determine.
    pub reasons: Vec<PlanReason>,
}

/// What a model leaves unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanReason {
    /// Delays are independent at the measured spacing, so their correlation time is unknown.
    CorrelationTime {
        /// `forward` or `reverse`.
        direction: String,
    },
    /// The interval of a parameter is wider than a quarter of its value on either side, or unbounded.
    Parameter {
        /// `forward` or `reverse`.
        direction: String,
        /// The name of the parameter.
        name: String,
    },
    /// The rate of the narrowest link: packets were too far apart to be queued behind each other there. Pairs or trains of packets are
    /// proposed.
    Rate {
        /// `forward` or `reverse`.
        direction: String,
    },
    /// A trace replaces the models. A longer run shows more of what they did not reproduce.
    Misfit {
        /// `forward` or `reverse`.
        direction: String,
    },
}

/// The comparison of held-out blocks with a model that was fitted to the other blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldOutCheck {
    /// Every n-th packet of the held-out blocks is compared; this is n.
    pub every: u32,
    /// The comparison. Ranges are wider by the error of the fit.
    pub fidelity: Fidelity,
}

/// The model of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionModel {
    /// `forward` or `reverse`.
    pub direction: String,
    /// Packets that were sent.
    pub packets: u64,
    /// The family of the delay. `unknown`: no delays are known. `constant`: one delay. `independent`: independent at the packet spacing.
    /// `correlated`: correlated in time. `regimes`: a Markov chain in time; each state has its distribution of delay and its loss ratio.
    /// `bottleneck`: a rate limit, behind one of these models for the wait for cross-traffic. `trace`: the recorded delays, by time. If the
    /// parameters have `spikes.period_ns`, the family is that of the delays without periodic spikes.
    pub delay: String,
    /// The family of the loss. `none`: no loss. `bernoulli`: independent losses. `bursts`: two states in time, the bad one loses all packets.
    /// `gilbert`: the bad one loses some. `gilbert-elliott`: both lose some. `regimes`, `trace`: those of the delay.
    pub loss: String,
    /// For `trace`: the family of delay that was tried last, and did not reproduce the measurement. `null` if the trace was requested, or
    /// includes another run that no family reproduces.
    pub replaced: Option<String>,
    /// The families that were compared.
    pub candidates: Vec<ModelCandidate>,
    /// Share of packets lost.
    pub loss_ratio: Option<f64>,
    /// 95 % confidence interval of the loss ratio: by Wilson for independent losses, else by a moving-block bootstrap.
    pub loss_ratio_interval: Option<[f64; 2]>,
    /// Each parameter of the families of delay and loss.
    pub parameters: Vec<ModelParameter>,
    /// Number of packets with a known delay.
    pub delays: u64,
    /// Share of packets displaced.
    pub reordered_ratio: Option<f64>,
    /// Share of packets duplicated.
    pub duplicated_ratio: Option<f64>,
    /// For which traffic the measurement supports the model.
    pub supported: Supported,
}

/// A family of models, and how well it predicts blocks of time that it was not fitted to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelCandidate {
    /// The families of delay and loss, such as `correlated + bursts`, `regimes 3`, or `bottleneck + correlated + none`.
    pub family: String,
    /// The log-likelihood of all blocks, minus that of independent delays with the measured distribution. The smallest family within
    /// two standard errors of the best one is chosen. `null` if the family cannot be fitted to all blocks.
    pub held_out_log_likelihood: Option<f64>,
    /// Whether it was chosen; with a trace, whether it was tried last.
    pub is_chosen: bool,
    /// Figure of the check in which it deviated most: a name of `figures`, or `delay_distribution`. `null` unless it failed a check. If a
    /// family with a bottleneck failed and no other is left, it stays chosen, because a trace has no rate.
    pub misfit: Option<String>,
}

/// A parameter of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelParameter {
    /// `delay.correlation_time_ns`, or `loss.probability`. Mean time in each state of the loss: `loss.good_ns` and `loss.bad_ns`. Loss ratio in
    /// each state: `loss.good_ratio` and `loss.bad_ratio`. Of regime 1, and so on: `regime_1.sojourn_ns` (mean duration),
    /// `regime_1.loss_ratio`, `regime_1.correlation_time_ns`, `regime_1.share` (of the time). Of a bottleneck: `bottleneck.rate_bit_per_s`
    /// (of IP packets), `bottleneck.base_ns` (the delay of an empty packet that does not wait), `bottleneck.buffer_ns` (the time in which a
    /// full queue is transmitted). Of periodic delay spikes: `spikes.period_ns`, and `spikes.height_ns` (the slowest packet of a spike above
    /// the median delay without spikes).
    pub name: String,
    /// Value, in the unit that the name ends with.
    pub value: f64,
    /// 95 % confidence interval: by the profile of the likelihood or its curvature. Of a bottleneck also by the inversion of a test, and
    /// from the extremes of the delays. Of the period of spikes, that of the finding. `null` if the measurement does not bound it.
    pub interval: Option<[f64; 2]>,
}

/// For which traffic a measurement supports a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Supported {
    /// Packet spacings in nanoseconds: from the 5 % quantile of those measured to a tenth of the run.
    pub spacing_ns: [f64; 2],
    /// Sizes of IP packets in octets (UDP over IPv4: the payload and 28).
    pub size_octets: [u32; 2],
    /// Largest load in bit/s of IP packets: that of the measured packets, or the rate of a bottleneck that pairs or trains of packets
    /// showed.
    pub load_bit_per_s: f64,
    /// Whether only an upper bound of the correlation time of delays is known, because delays are independent at the measured spacing. In
    /// the scenario they are then independent at shorter spacings too, as far as packet order permits.
    pub is_correlation_time_bound: bool,
}
