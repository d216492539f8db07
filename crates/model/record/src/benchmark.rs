//! The document of a benchmark (`romer/benchmark/1`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Histogram, Jitter, Limit, Summary};
use crate::warning::BenchmarkWarning;

mod bound;
mod event;
mod forecast;
pub(crate) mod header;
mod invalid;
mod judgement;
mod self_test;
mod stream_setup;

pub use bound::{NoEvidence, ResultBound};
pub use event::{
    BenchmarkEvent, BenchmarkEventKind, DeviceOutages, InvalidTrials, LinkRecovery, PortCondition, PortState,
    ResumedFrom, SilentSize, SilentStream, StallEffect, TrialOutage,
};
pub use forecast::{BENCHMARK_FORECAST, BenchmarkForecast, ForecastTrial};
pub use header::{ChangedHeader, HeaderFrames};
pub use invalid::{DeviceAbsence, InvalidCause, InvalidTrial, PortRefusal, TesterStall, UncertainLoss};
pub use judgement::{
    ClaimFinding, ClaimSubject, ClassShare, DecidingFrames, DecidingLoad, Discipline, Expectation,
    JudgedTrial, Judgement, MarkedField, Observation, PassedInTotal, ProfileSide, Reservation,
    SchedulerFault, TrialCount,
};
pub use self_test::{
    Accounted, Baseline, GapError, SelfTest, SelfTestItem, SelfTestObservation, SelfTestRequest,
    SelfTestTiming,
};
pub use stream_setup::{StreamProtocol, StreamSetup};

/// The name of the benchmark document's schema.
pub const BENCHMARK: &str = "romer/benchmark/1";

/// The name of the schema of an interrupted benchmark's plan.
pub const BENCHMARK_PLAN: &str = "romer/benchmark-plan/1";

/// Settings of a benchmark, stored in its folder so that an interrupted benchmark can continue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkPlan {
    /// `romer/benchmark-plan/1`.
    pub schema: String,
    /// Start time, RFC 3339.
    pub started: String,
    /// Arguments of the command after `romer bench`.
    pub arguments: Vec<String>,
    /// Seed of the order of trials, of random sizes and gaps.
    pub seed: [u32; 6],
    /// Settings on which the trials depend. A benchmark continues only if all of them are unchanged.
    pub settings: BTreeMap<String, String>,
}

/// What is kept of a benchmark while it goes on, in its order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchmarkEntry {
    /// The tester's own test.
    SelfTest {
        /// What it came to.
        self_test: SelfTest,
        /// The tester's own part of the latency.
        calibration: Option<Baseline>,
    },
    /// A trial that has ended.
    Trial {
        /// It.
        trial: Box<Trial>,
        /// The procedure was told of it; otherwise it was to be made again.
        judged: bool,
    },
    /// Something that happened.
    Event(BenchmarkEvent),
}

/// Results of a benchmark of a device under test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Benchmark {
    /// `romer/benchmark/1`.
    pub schema: String,
    /// Start time, RFC 3339.
    pub started: String,
    /// End time, RFC 3339.
    pub ended: String,
    /// Whether the benchmark was interrupted: the results are incomplete.
    pub partial: bool,
    /// `throughput`, `load-sweep`, `latency`, `frame-loss`, `back-to-back`, `recovery`, `reset`,
    /// `policing`, `priority` or `self-test`.
    pub procedure: String,
    /// Criterion of the results, as text.
    pub criterion: String,
    /// Device under test.
    pub dut: Device,
    /// Test setup.
    pub setup: Setup,
    /// All trials, in the order of their execution.
    pub trials: Vec<Trial>,
    /// Results of the trials, for each case and frame size (and load, if loads were given).
    pub results: Vec<BenchmarkResult>,
    /// Differences between cases, for each frame size and load.
    pub differences: Vec<Difference>,
    /// Differences between cases over all frame sizes and loads; empty if there is one combination only.
    #[serde(default)]
    pub overall: Vec<Overall>,
    /// Verdicts on classes or claims, for procedures with verdicts.
    pub verdicts: Vec<Judgement>,
    /// Outliers in a curve: results that deviate from those of neighbouring loads or sizes.
    pub outliers: Vec<Outlier>,
    /// Events of the device and of the tester.
    pub events: Vec<BenchmarkEvent>,
    /// Latency of the tester itself; `null` if not measured.
    pub calibration: Option<Baseline>,
    /// Self-test of the tester; `null` if skipped.
    pub self_test: Option<SelfTest>,
    /// Requested limits, and whether each passed.
    pub limits: Vec<Limit>,
    /// Warnings about the results.
    pub warnings: Vec<BenchmarkWarning>,
}

/// Description of the device under test by the user (`--dut-label`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Model.
    pub model: Option<String>,
    /// Software version.
    pub software: Option<String>,
    /// Age. Chadda 2004 found older devices to be slower.
    #[serde(default)]
    pub age: Option<String>,
    /// All labels.
    pub labels: BTreeMap<String, String>,
}

/// Test setup of a benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// Transmit port, `[NETNS/]IFACE`.
    pub tx: String,
    /// Receive port, `[NETNS/]IFACE`.
    pub rx: String,
    /// Source address of the test frames.
    pub source: String,
    /// Destination address of the test frames.
    pub destination: String,
    /// MAC address of the next hop, to which the frames are sent.
    pub next_hop: String,
    /// Line rate (100 % load), bit/s at layer 1 (with preamble and gap).
    pub line_rate_bps: f64,
    /// Streams.
    pub streams: Vec<StreamSetup>,
    /// Duration of a trial, nanoseconds.
    pub trial_ns: i64,
    /// Wait before and after each trial (`--settle`), nanoseconds.
    pub settle_ns: i64,
    /// Number of repeats of each trial.
    pub repeats: u32,
    /// Cases (device configurations) and the commands that set them.
    pub cases: BTreeMap<String, Option<String>>,
    /// Seed of the order of trials, of random sizes and gaps.
    pub seed: [u32; 6],
    /// Version of romer.
    pub software: String,
    /// Kernel version of the testing host.
    pub kernel: String,
    /// Layer at which rates count bytes.
    pub rate_layer: String,
    /// Number of frames sent between the trials to test whether the device forwards.
    pub probes: u64,
}

/// A load in several units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Number of frames.
    pub frames: u64,
    /// Load, bit/s at layer 1 (with preamble and gap).
    pub bps: f64,
    /// Load, frames per second.
    pub pps: f64,
    /// Load, percent of the line rate (layer 1).
    pub percent: f64,
    /// Rate of the payload (above UDP, TCP or IP), percent of the line rate; as in the charts of Chadda 2004.
    pub payload_percent: f64,
}

/// A requested load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestedLoad {
    /// Load, percent of the line rate (layer 1).
    pub percent: f64,
    /// Load, frames per second.
    pub pps: f64,
}

/// Results of one trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Case (device configuration).
    pub case: String,
    /// Frame size in bytes, including FCS; `null` for a mixture.
    pub frame_size: Option<u32>,
    /// Mixture of frame sizes; `null` if all frames have one size.
    #[serde(default)]
    pub mixture: Option<String>,
    /// Number of the repeat, from 0.
    pub repeat: u32,
    /// Purpose: `measure`, `search`, `confirm`, ...
    pub purpose: String,
    /// Start of the transmission, nanoseconds after the start of the benchmark.
    pub at_ns: i64,
    /// Requested duration of the transmission, nanoseconds.
    pub duration_ns: i64,
    /// Requested load, before rounding to whole frames and random gaps; `null` in documents of older
    /// versions.
    #[serde(default)]
    pub requested_load: Option<RequestedLoad>,
    /// Scheduled load: whole frames, with the random gaps and sizes of the schedule.
    pub intended_load: Load,
    /// Offered load: frames sent to the device.
    pub offered: Load,
    /// Forwarded frames, each counted once, without streams that the device is expected to drop. Rates count
    /// frames that arrived within the transmission time, shifted by the minimum latency; for streams without
    /// growth of the device's queue, all frames.
    pub forwarded: Load,
    /// Requested frames that the tester did not send; they are not lost.
    pub unsent: u64,
    /// Unsent frames for which the transmit port had no link, because the reset device had disabled it; they
    /// count in the outage of a reset. In other trials frames wait for the link and leave late, and this is
    /// zero.
    #[serde(default)]
    pub unlinked: u64,
    /// Scheduled departures of the first and the last of these frames, nanoseconds after that of the first
    /// frame of the trial; `null` if there are none.
    #[serde(default)]
    pub unlinked_between_ns: Option<[i64; 2]>,
    /// Frames sent that did not arrive, of streams that the device is expected to forward; for the others see
    /// `per_stream`.
    pub lost: u64,
    /// Departure of the first lost frame, nanoseconds after the scheduled departure of the first frame of the
    /// trial; `null` if none was lost.
    #[serde(default)]
    pub first_loss_ns: Option<i64>,
    /// Departure of the last lost frame, nanoseconds after the scheduled departure of the first frame of the
    /// trial.
    #[serde(default)]
    pub last_loss_ns: Option<i64>,
    /// Lost frames that the tester may have dropped unread.
    pub tester_drops: u64,
    /// Frames that left in bursts after a pause of the tester, which the schedule does not have, or shortly
    /// after such a burst.
    #[serde(default)]
    pub stall_affected: u64,
    /// Frames of `stall_affected` that did not arrive.
    #[serde(default)]
    pub stall_affected_lost: u64,
    /// Lost frames attributed to the tester: those it dropped unread, and losses of frames in bursts beyond
    /// the loss ratio of frames on schedule, unless the latter shows that the device was overloaded.
    #[serde(default)]
    pub lost_by_tester: u64,
    /// Minimum and maximum of the frames lost by the device. Minimum: all lost frames that left on schedule,
    /// and of those in bursts the lower end (95 %) of the same ratio. Maximum: all except those that the
    /// tester is known to have dropped. `null` in documents of older versions.
    #[serde(default)]
    pub lost_by_device: Option<[u64; 2]>,
    /// Upper end of the 95 % interval of the loss ratio; with no loss in N frames about 3/N.
    pub loss_ratio_bound: Option<f64>,
    /// Duplicate frames received.
    pub duplicated: u64,
    /// Frames that arrived after a later frame of their flow (same stream, addresses and ports; RFC 4737).
    pub reordered: u64,
    /// Frames with a changed length or changed test data.
    pub altered: u64,
    /// Frames that arrived with a changed payload. Frames with damaged test data cannot be identified: they
    /// also count as lost, and belong to no stream.
    #[serde(default)]
    pub corrupted: u64,
    /// Reason why the trial is invalid; `null` if it is valid.
    pub invalid: Option<InvalidTrial>,
    /// Highest rate that the tester could send, frames per second, if below the requested rate; else `null`.
    #[serde(default)]
    pub tester_limit_pps: Option<f64>,
    /// Whether the trial is invalid because the device did not forward, not because of the tester.
    #[serde(default)]
    pub device_unreachable: bool,
    /// Whether frames of one size stopped arriving while frames of other sizes still arrived: the device
    /// drops them.
    #[serde(default)]
    pub size_lost: bool,
    /// Whether frames still arrived when the wait after the trial ended; later ones count as lost.
    #[serde(default)]
    pub still_arriving: bool,
    /// Headers that frames had on arrival but not at departure, with their number of frames: the device translates or
    /// encapsulates. Length and markings of encapsulated frames are not compared.
    #[serde(default)]
    pub other_headers: Vec<HeaderFrames>,
    /// Outages of the device or its host; `null` in documents of older versions.
    #[serde(default)]
    pub outages: Option<DeviceOutages>,
    /// Latency of all frames, nanoseconds.
    pub latency_ns: Summary,
    /// Definition of the latency.
    pub latency_definition: LatencyDefinition,
    /// Offsets from the latency to the definitions of RFC 1242 and RFC 4689; with several frame sizes,
    /// offsets of the mean.
    pub latency_conversion_ns: LatencyConversion,
    /// Latency by the definitions of RFC 1242 and RFC 4689, each frame converted with its own size; `null` if
    /// frames have no transmission time, so that all definitions are equal.
    #[serde(default)]
    pub latency_by_definition_ns: Option<LatencyByDefinition>,
    /// Jitter by several methods, nanoseconds; of the stream with the most frames.
    pub jitter_ns: Jitter,
    /// Jitter (RFC 4689, section 3.2.5) of the stream with the most frames: absolute difference of the delays
    /// of two frames that arrived one after the other, even if frames between them were lost. Method 3
    /// compares frames that were sent one after the other. Section 3.4.4.8 of the RFC counts in order of
    /// departure, which is the same without reordering.
    #[serde(default)]
    pub jitter_rfc4689_ns: Summary,
    /// Latency variation of consecutive frames in order of departure, signed, nanoseconds (RFC 3393); of the
    /// stream with the most frames.
    #[serde(default)]
    pub ipdv_ns: Summary,
    /// Latency minus the minimum latency, nanoseconds (RFC 5481, section 4.2); of the stream with the most
    /// frames.
    #[serde(default)]
    pub pdv_ns: Summary,
    /// Delay of the departures after their scheduled times, nanoseconds.
    pub lateness_ns: Summary,
    /// Maximum number of frames sent at once after a pause of the tester.
    pub longest_catch_up: u64,
    /// Histogram of the latency.
    pub latency_histogram: Histogram,
    /// Frames by DSCP as sent and as received: `{sent: {received: frames}}`.
    pub markings: BTreeMap<String, BTreeMap<String, u64>>,
    /// Frames by VLAN priority as sent and as received: `{sent: {received: frames}}`; empty if no stream has
    /// a tag.
    #[serde(default)]
    pub priorities: BTreeMap<String, BTreeMap<String, u64>>,
    /// Frames by VLAN identifier as sent and as received: `{sent: {received: frames}}` (`0` is a priority
    /// tag); empty if no frame had a tag.
    #[serde(default)]
    pub vlans: BTreeMap<String, BTreeMap<String, u64>>,
    /// Frames by ECN codepoint (RFC 3168) as sent and as received: `{sent: {received: frames}}`; empty if all
    /// were `not-ect`.
    #[serde(default)]
    pub ecns: BTreeMap<String, BTreeMap<String, u64>>,
    /// Decisions of the policer on all streams that share a bucket; `null` if there is no policer, or if
    /// every stream has its own bucket.
    pub policed: Option<Policed>,
    /// Results of each stream.
    pub per_stream: Vec<StreamResult>,
    /// Frames sent in each second.
    #[serde(default)]
    pub offered_per_second: Vec<u64>,
    /// Frames that arrived in each second.
    pub forwarded_per_second: Vec<u64>,
    /// Scheduling gaps of the testing host during the trial.
    pub host_gaps: Gaps,
}

/// Definition of a latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LatencyDefinition {
    /// First bit in to last bit out: from the time stamp of the tester before it gives the frame to the interface, to the
    /// time stamp of the kernel when it has the whole frame.
    #[default]
    Filo,
}

/// Offsets to other definitions of latency, nanoseconds. The latency of romer is from the transmission of the
/// first byte to the arrival of the whole frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyConversion {
    /// First bit in to first bit out (bit-forwarding devices).
    pub fifo: i64,
    /// Last bit in to first bit out (RFC 1242, store and forward).
    pub lifo: i64,
    /// Last bit in to last bit out (RFC 4689, forwarding delay).
    pub lilo: i64,
}

/// Latency by the definitions of RFC 1242 and RFC 4689, over all frames, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyByDefinition {
    /// First bit in to first bit out (bit-forwarding devices).
    pub fifo: Summary,
    /// Last bit in to first bit out (RFC 1242, store and forward).
    pub lifo: Summary,
    /// Last bit in to last bit out (RFC 4689, forwarding delay).
    pub lilo: Summary,
}

/// Scheduling gaps of the testing host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gaps {
    /// Share of the time in which the sending thread was ready and did not run, because of the hypervisor or
    /// the system.
    pub share: Option<f64>,
    /// Longest gap, nanoseconds.
    pub longest_ns: Option<i64>,
}

/// Decisions of a policer on the frames of a trial, compared with a token bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Policed {
    /// In profile and forwarded unchanged (correct).
    pub conforming_passed: u64,
    /// In profile, but dropped or remarked (wrong).
    pub conforming_stopped: u64,
    /// Out of profile, and dropped or remarked (correct).
    pub excess_stopped: u64,
    /// Out of profile, but forwarded unchanged (wrong).
    pub excess_passed: u64,
    /// Frames within one frame of the bucket limit, for which both decisions are correct.
    pub at_boundary: u64,
    /// Frames of `at_boundary` that were dropped or remarked.
    #[serde(default)]
    pub at_boundary_stopped: u64,
    /// Verdict on all frames together; absent in documents of older versions.
    #[serde(default)]
    pub total: Option<PolicedTotal>,
}

/// Decisions of a policer on all frames of a trial together, in frames of mean size. This is known even if
/// the latency varies too much to judge single frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicedTotal {
    /// Frames forwarded unchanged.
    pub passed: u64,
    /// Frames that the bucket allows if frames reach the policer at their departure times.
    pub nominal: u64,
    /// Lower bound of the conforming frames that were dropped or remarked, whatever part of the latency
    /// variation occurs before the policer.
    pub min_conforming_stopped: u64,
    /// Lower bound of the excess frames that passed, whatever part of the latency variation occurs before the
    /// policer.
    pub min_excess_passed: u64,
    /// Tolerance at the bucket limit, frames.
    pub boundary_frames: u64,
    /// Maximum latency minus minimum latency, nanoseconds.
    pub latency_range_ns: i64,
    /// Time in which the empty bucket fills, nanoseconds.
    pub fill_time_ns: i64,
}

/// Results of one stream of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamResult {
    /// Name of the stream.
    pub name: String,
    /// Whether the device is expected to drop the stream; its losses are in no loss ratio of the trial.
    #[serde(default)]
    pub expect_drop: bool,
    /// Requested frames.
    pub intended: u64,
    /// Frames sent to the device.
    pub offered: u64,
    /// Forwarded frames, each counted once.
    pub forwarded: u64,
    /// Frames that did not arrive.
    pub lost: u64,
    /// Duplicate frames received.
    pub duplicated: u64,
    /// Frames that arrived after a later frame of their flow (RFC 4737).
    pub reordered: u64,
    /// Frames that arrived with a changed payload.
    #[serde(default)]
    pub corrupted: u64,
    /// Forwarding rate, bit/s at layer 1. It counts frames that arrived within the transmission time, shifted
    /// by the minimum latency, and thus excludes frames that the device queued and sent later.
    pub forwarded_bps: f64,
    /// Offered load, bit/s of frames including FCS (layer 2).
    pub offered_l2_bps: f64,
    /// Forwarding rate, bit/s of frames including FCS (layer 2).
    pub forwarded_l2_bps: f64,
    /// Mean frame size in bytes, including FCS; `null` if no frame was sent.
    #[serde(default)]
    pub frame_octets: Option<f64>,
    /// Lower and upper bound of the rate that the scheduler should give the stream, bit/s at layer 2; `null`
    /// if no scheduler is tested.
    #[serde(default)]
    pub expected_l2_bps: Option<[f64; 2]>,
    /// Frames sent in each second.
    #[serde(default)]
    pub offered_per_second: Vec<u64>,
    /// Frames that arrived in each second.
    #[serde(default)]
    pub forwarded_per_second: Vec<u64>,
    /// Latency, nanoseconds.
    pub latency_ns: Summary,
    /// Histogram of the latency.
    #[serde(default)]
    pub latency_histogram: Histogram,
    /// Jitter by several methods, nanoseconds.
    pub jitter_ns: Jitter,
    /// Jitter (RFC 4689, section 3.2.5): absolute difference of the delays of two frames of the stream that
    /// arrived one after the other, even if frames between them were lost. Method 3 compares frames that were
    /// sent one after the other. Section 3.4.4.8 of the RFC counts in order of departure, which is the same
    /// without reordering.
    #[serde(default)]
    pub jitter_rfc4689_ns: Summary,
    /// Latency variation of consecutive frames in order of departure, signed, nanoseconds (RFC 3393).
    #[serde(default)]
    pub ipdv_ns: Summary,
    /// Latency minus the minimum latency, nanoseconds (RFC 5481, section 4.2).
    #[serde(default)]
    pub pdv_ns: Summary,
    /// DSCPs of the received frames.
    pub dscp_out: BTreeMap<String, u64>,
    /// Frames by size: sent, received, lost, smallest first; empty if all have one size.
    #[serde(default)]
    pub per_size: Vec<SizeResult>,
    /// Decisions of the policer on the frames of the stream, if it has its own bucket; else `null`.
    #[serde(default)]
    pub policed: Option<Policed>,
}

/// Frames of one size in a trial. With more than 32 sizes, the most frequent ones have their own rows; the
/// others share one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeResult {
    /// Smallest frame size of the row in bytes, including FCS.
    pub min_octets: u32,
    /// Largest frame size of the row in bytes, including FCS.
    pub max_octets: u32,
    /// Frames sent to the device.
    pub offered: u64,
    /// Frames that did not arrive.
    pub lost: u64,
}

/// Statistics over the repeats of a trial, for one case, frame size and quantity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkResult {
    /// Case (device configuration).
    pub case: String,
    /// Frame size in bytes, including FCS; `null` for a mixture.
    pub frame_size: Option<u32>,
    /// Requested load, percent of the line rate; `null` if the load is the result.
    pub load_percent: Option<f64>,
    /// Quantity with its unit: `forwarded_percent`, `latency_ns`, `throughput_pps`, ...
    pub quantity: String,
    /// Number of repeats.
    pub count: u64,
    /// Mean over the repeats.
    pub mean: Option<f64>,
    /// Standard deviation over the repeats (n-1).
    pub stddev: Option<f64>,
    /// Minimum over the repeats.
    pub min: Option<f64>,
    /// Maximum over the repeats.
    pub max: Option<f64>,
    /// 95 % confidence interval of the mean; `null` if the tester limits the result, which is then a lower
    /// bound.
    pub interval: Option<[f64; 2]>,
    /// Method of the interval: `student`; or `none-of-n` if no frame was lost in any trial: its upper end is
    /// the loss ratio at which no loss would occur with a probability of 5 %.
    pub method: String,
    /// Median over the repeats.
    pub median: Option<f64>,
    /// 95 % confidence interval of the median, by order statistics; `null` below six repeats.
    pub median_interval: Option<[f64; 2]>,
    /// Maximum that the line rate allows, in the unit of the quantity.
    pub theoretical: Option<f64>,
    /// What limits the result besides the capacity of the device; `null`: nothing. If there is no value
    /// (`count` is 0), this is the reason.
    pub bounded_by: Option<ResultBound>,
}

/// Paired difference of a quantity between two cases, repeat by repeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Reference case, which is subtracted.
    pub from: String,
    /// Compared case.
    pub to: String,
    /// Frame size in bytes, including FCS; `null` for a mixture.
    pub frame_size: Option<u32>,
    /// Load, percent of the line rate; `null` if the load is the result.
    pub load_percent: Option<f64>,
    /// Quantity with its unit, such as `latency_ns`.
    pub quantity: String,
    /// Number of pairs of repeats.
    pub count: u64,
    /// Mean of the paired differences, in the unit of the quantity.
    pub mean: Option<f64>,
    /// Standard deviation of the paired differences (n-1).
    pub stddev: Option<f64>,
    /// Student's 95 % confidence interval of the mean difference.
    pub interval: Option<[f64; 2]>,
    /// Probability of a mean difference at least as large by chance (p-value), corrected for all differences
    /// of the benchmark (Holm); `null` below two pairs.
    #[serde(default)]
    pub probability: Option<f64>,
    /// Whether `probability` is below 5 %. Without any true difference, the probability that any difference
    /// of the benchmark is called significant is at most 5 %. The interval is that of this difference alone.
    pub significant: bool,
}

/// Difference between two cases over all frame sizes and loads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overall {
    /// Reference case, which is subtracted.
    pub from: String,
    /// Compared case.
    pub to: String,
    /// Quantity with its unit, such as `latency_ns`.
    pub quantity: String,
    /// Number of combinations of frame size and load that were measured in both cases in every valid repeat.
    pub combinations: u64,
    /// Number of valid repeats. Each repeat counts as one value: the mean of its differences. Trials of one
    /// repeat share the state of host and device, so only further repeats show its variation. 0 in documents
    /// of older versions.
    #[serde(default)]
    pub repeats: u64,
    /// Mean over the repeats of the median over all combinations of size and load. Few overloaded
    /// combinations do not dominate it.
    pub median: Option<f64>,
    /// Student's 95 % confidence interval of `median`, over the repeats; `null` with one repeat.
    pub median_interval: Option<[f64; 2]>,
    /// Mean over the repeats of the mean over all combinations of size and load.
    pub mean: Option<f64>,
    /// Student's 95 % confidence interval of `mean`, over the repeats; `null` with one repeat.
    pub interval: Option<[f64; 2]>,
}

/// An outlier in a curve: a result that deviates from those of neighbouring loads or sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// Case (device configuration).
    pub case: String,
    /// Frame size in bytes, including FCS.
    pub frame_size: Option<u32>,
    /// Load, percent of the line rate.
    pub load_percent: Option<f64>,
    /// Quantity with its unit, such as `latency_ns`.
    pub quantity: String,
    /// Measured value, in the unit of the quantity.
    pub measured: f64,
    /// Value expected from the neighbours, in the unit of the quantity.
    pub expected: f64,
    /// Probability of such a deviation by chance (p-value), corrected for all points, quantities and cases
    /// (Holm): below 1 %.
    pub probability: f64,
}
