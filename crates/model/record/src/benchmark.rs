//! The document of a benchmark (`romer/benchmark/1`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Histogram, Jitter, Limit, Summary};
use crate::warning::BenchmarkWarning;

mod forecast;
mod invalid;
mod self_test;

pub use forecast::{BENCHMARK_FORECAST, BenchmarkForecast, ForecastTrial};
pub use invalid::InvalidCause;
pub use self_test::{Accounted, Baseline, SelfTest, SelfTestItem};

/// The name of the benchmark document's schema.
pub const BENCHMARK: &str = "romer/benchmark/1";

/// The name of the schema of an interrupted benchmark's plan.
pub const BENCHMARK_PLAN: &str = "romer/benchmark-plan/1";

/// What a benchmark's folder says of what was requested, so that it can go on after an interruption.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkPlan {
    /// `romer/benchmark-plan/1`.
    pub schema: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// The command's arguments after `romer bench`.
    pub arguments: Vec<String>,
    /// Seed of the order of trials, of random sizes and gaps.
    pub seed: [u32; 6],
    /// All settings that the trials depend on. A benchmark continues only if all of them are the same.
    pub asked: BTreeMap<String, String>,
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

/// What a device under test did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Benchmark {
    /// `romer/benchmark/1`.
    pub schema: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// When it ended, RFC 3339.
    pub ended: String,
    /// It was interrupted: what is there is a part.
    pub partial: bool,
    /// `throughput`, `load-sweep`, `latency`, `frame-loss`, `back-to-back`, `recovery`, `reset`,
    /// `policing`, `priority` or `self-test`.
    pub procedure: String,
    /// By what a result was found, in words.
    pub criterion: String,
    /// The device.
    pub dut: Device,
    /// How it was tested.
    pub setup: Setup,
    /// Every trial, in the order in which it was run.
    pub trials: Vec<Trial>,
    /// Results of the trials, for each case and frame size (and load, if loads were given).
    pub results: Vec<BenchmarkResult>,
    /// Between cases.
    pub differences: Vec<Difference>,
    /// The same over all frames and loads together, where there is more than one of these.
    #[serde(default)]
    pub overall: Vec<Overall>,
    /// What each class or claim came to, where a procedure judges.
    pub verdicts: Vec<Judgement>,
    /// Places where a curve breaks from its neighbours.
    pub soft_spots: Vec<SoftSpot>,
    /// What happened to the device and to the tester.
    pub events: Vec<BenchmarkEvent>,
    /// The tester's own part of the latency; `null` where it was not measured.
    pub calibration: Option<Baseline>,
    /// Whether the tester is what it claims to be; `null` where that was not tested.
    pub self_test: Option<SelfTest>,
    /// Limits that were stated, and whether they passed.
    pub limits: Vec<Limit>,
    /// What a reader should know before relying on the figures.
    pub warnings: Vec<BenchmarkWarning>,
}

/// The device under test, as the user describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Its model.
    pub model: Option<String>,
    /// Its software.
    pub software: Option<String>,
    /// How old it is, in the user's words: Chadda 2004 found older devices to be slower.
    #[serde(default)]
    pub age: Option<String>,
    /// All that was said of it.
    pub labels: BTreeMap<String, String>,
}

/// How a device was tested.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// The interface that sends, `[NETNS/]IFACE`.
    pub tx: String,
    /// The interface that receives.
    pub rx: String,
    /// Source address of the test frames.
    pub source: String,
    /// Their destination.
    pub destination: String,
    /// The link-layer address that they were sent to.
    pub next_hop: String,
    /// The rate that loads are percentages of, bits a second at layer 1 (with preamble and gap).
    pub line_rate_bps: f64,
    /// The streams, in words.
    pub streams: Vec<String>,
    /// How long a trial sends.
    pub trial_ns: i64,
    /// How long is waited before and after.
    pub settle_ns: i64,
    /// How often each trial is made.
    pub repeats: u32,
    /// The cases, and the commands that set them.
    pub cases: BTreeMap<String, Option<String>>,
    /// Seed of the order of trials, of random sizes and gaps.
    pub seed: [u32; 6],
    /// Version of romer.
    pub software: String,
    /// The testing host's kernel.
    pub kernel: String,
    /// What the octets of a rate count.
    pub rate_layer: String,
    /// Frames that were sent between the trials to test whether the device forwards; nearly all arrived.
    pub probes: u64,
}

/// A load, in the units in which people ask for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Frames.
    pub frames: u64,
    /// Bits a second at layer 1 (with preamble and gap).
    pub bps: f64,
    /// Frames a second.
    pub pps: f64,
    /// Of the line rate, by layer 1.
    pub percent: f64,
    /// What the frames carry above UDP, TCP or IP, of the line rate, as Chadda 2004 drew it.
    pub payload_percent: f64,
}

/// A load that is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestedLoad {
    /// Of the line rate, by layer 1.
    pub percent: f64,
    /// Frames a second.
    pub pps: f64,
}

/// One trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Its case.
    pub case: String,
    /// Octets of its frames with check sequence; `null` for a mixture.
    pub frame_size: Option<u32>,
    /// The mixture; `null` for frames of one size.
    #[serde(default)]
    pub mixture: Option<String>,
    /// Which repeat, from 0.
    pub repeat: u32,
    /// What it was for, in a word: `measure`, `search`, `confirm`, ...
    pub purpose: String,
    /// When it began to send, nanoseconds after the benchmark did.
    pub at_ns: i64,
    /// How long it was to send.
    pub duration_ns: i64,
    /// What was requested, before whole frames and chance made a schedule of it; `null` in documents of older versions.
    #[serde(default)]
    pub requested_load: Option<RequestedLoad>,
    /// What was due by that schedule: whole frames, of random gaps and sizes as many as chance had.
    pub intended_load: Load,
    /// What was given to the device.
    pub offered: Load,
    /// Forwarded frames, each counted once. Rates are of the frames that arrived in the time of sending, shifted by the
    /// minimum latency; of streams of which the device queued no more at the end than before, of all frames.
    pub carried: Load,
    /// Frames requested that the tester did not send; they are not lost.
    pub unsent: u64,
    /// Of those, frames that the sending port did not take because a device that was reset had taken its link; they count for how
    /// long it was away. In trials in which it is not reset, frames wait for the link and leave late, and there are none.
    #[serde(default)]
    pub unlinked: u64,
    /// When the first and the last of these were due, nanoseconds after the trial's first frame was; `null`: there are none.
    #[serde(default)]
    pub unlinked_between_ns: Option<[i64; 2]>,
    /// Frames offered that did not come, of streams that the device is to carry: of those that it is to drop, see `per_stream`.
    pub lost: u64,
    /// When the first of those had been sent, nanoseconds after the trial's first frame was due; `null`: none was lost.
    #[serde(default)]
    pub first_loss_ns: Option<i64>,
    /// When the last of them had been.
    #[serde(default)]
    pub last_loss_ns: Option<i64>,
    /// Of those, how many the tester itself may have dropped unread.
    pub tester_drops: u64,
    /// Frames that left in bursts that the schedule does not have, because the tester had paused, or in their wake.
    #[serde(default)]
    pub stall_affected: u64,
    /// Of these, those that did not come.
    #[serde(default)]
    pub stall_affected_lost: u64,
    /// Lost frames that are laid to the tester: what it dropped unread, and what is missing of the frames in bursts beyond what
    /// those on schedule let expect, unless these show that the device was overloaded.
    #[serde(default)]
    pub lost_by_tester: u64,
    /// Minimum and maximum of the frames that the device lost. Minimum: all lost frames that left on schedule, and of
    /// those in bursts the lower end (95 %) of the same ratio. Maximum: all except those that the tester is proved to
    /// have dropped. `null` in documents of older versions.
    #[serde(default)]
    pub lost_by_device: Option<[u64; 2]>,
    /// Upper end of the 95 % interval of the loss ratio; with no loss in N frames about 3/N.
    pub loss_ratio_bound: Option<f64>,
    /// Further copies that came.
    pub duplicated: u64,
    /// Frames that came after one of their own flow (stream, addresses and ports) that was sent later (RFC 4737).
    pub reordered: u64,
    /// Frames with a changed length or changed test data.
    pub altered: u64,
    /// Frames that arrived with a changed payload. Those with damaged test data cannot be identified; they also count
    /// as lost, and belong to no stream.
    #[serde(default)]
    pub corrupted: u64,
    /// Why the trial is invalid; `null`: it is valid.
    pub invalid: Option<String>,
    /// Of which kind that is; `null`: the trial is valid, or the document is from an older version.
    #[serde(default)]
    pub invalid_cause: Option<InvalidCause>,
    /// Frames a second that the tester could offer, where it was too slow for those that were due; `null`: it was not.
    #[serde(default)]
    pub tester_limit_pps: Option<f64>,
    /// It is invalid because the device did not forward, and not because of the tester.
    #[serde(default)]
    pub device_unreachable: bool,
    /// Nothing of its frames came from some moment on, nor after its end, while frames of other sizes did then: the device drops
    /// them.
    #[serde(default)]
    pub size_lost: bool,
    /// Frames still came when the wait for them after the trial had reached its bound: those that came later are lost.
    #[serde(default)]
    pub still_coming: bool,
    /// Headers that frames came with and were not sent with, in words (`ethertype 0x8847 (MPLS)`, `source address 203.0.113.1`), each
    /// with its frames: the device translates or encapsulates. Of frames that are in others, length and markings are not compared.
    #[serde(default)]
    pub other_headers: BTreeMap<String, u64>,
    /// Pauses of the device or its host; `null` in documents of older versions.
    #[serde(default)]
    pub standstills: Option<Standstills>,
    /// Latency of every frame.
    pub latency_ns: Summary,
    /// From where to where latency is counted, in words.
    pub latency_definition: String,
    /// What to add to a latency for the definitions of RFC 1242 and RFC 4689; of frames of several sizes, what to add to the
    /// mean.
    pub latency_conversion_ns: LatencyConversion,
    /// The latency by these definitions, each frame converted by its own size; `null` where frames take no time on the line,
    /// so that all definitions are one.
    #[serde(default)]
    pub latency_by_definition_ns: Option<LatencyByDefinition>,
    /// The jitters, as in a measurement; of the stream with the most frames.
    pub jitter_ns: Jitter,
    /// The jitter of that stream by RFC 4689 section 3.2.5: the absolute difference of the delays of two frames of a stream that
    /// came one after the
    /// other, in order of arrival, also where frames between them were lost (method 3 looks at frames that were sent one after
    /// the other). Its section 3.4.4.8 counts in order of sending; that is the same where nothing was reordered.
    #[serde(default)]
    pub jitter_rfc4689_ns: Summary,
    /// Signed differences of the latencies of consecutive frames, in order of sending (RFC 3393), of the same stream.
    #[serde(default)]
    pub ipdv_ns: Summary,
    /// Latencies above the least one (RFC 5481, section 4.2), of the same stream.
    #[serde(default)]
    pub pdv_ns: Summary,
    /// How late frames were given to the interface.
    pub lateness_ns: Summary,
    /// Most frames that were given at once to make up for lost time.
    pub longest_catch_up: u64,
    /// Distribution of the latency.
    pub latency_histogram: Histogram,
    /// Code points that went in, and with which they came out: `{in: {out: frames}}`.
    pub markings: BTreeMap<String, BTreeMap<String, u64>>,
    /// The same of VLAN priorities; empty where no stream has a tag.
    #[serde(default)]
    pub priorities: BTreeMap<String, BTreeMap<String, u64>>,
    /// The same of VLANs, by number (`0` is a tag for its priority only); empty where no frame had a tag.
    #[serde(default)]
    pub vlans: BTreeMap<String, BTreeMap<String, u64>>,
    /// The same of code points of congestion notification (RFC 3168); empty where all were `not-ect` before and after.
    #[serde(default)]
    pub ecns: BTreeMap<String, BTreeMap<String, u64>>,
    /// The policer's decisions of all streams that share a bucket; `null` if none is judged, or if every stream has its
    /// own bucket.
    pub policed: Option<Policed>,
    /// Each stream by itself.
    pub per_stream: Vec<StreamResult>,
    /// Frames that left in each second.
    #[serde(default)]
    pub offered_per_second: Vec<u64>,
    /// Frames that came in each second.
    pub carried_per_second: Vec<u64>,
    /// Steal time of the testing host in this time.
    pub host_gaps: Gaps,
}

/// What the other definitions of latency add to ours, which is from the first octet's handing over to the whole
/// frame's arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyConversion {
    /// First bit in to first bit out (bit forwarding devices).
    pub fifo: i64,
    /// Last bit in to first bit out (RFC 1242, store and forward).
    pub lifo: i64,
    /// Last bit in to last bit out (RFC 4689, forwarding delay).
    pub lilo: i64,
}

/// The latency of every frame by the definitions of RFC 1242 and RFC 4689.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyByDefinition {
    /// First bit in to first bit out (bit forwarding devices).
    pub fifo: Summary,
    /// Last bit in to first bit out (RFC 1242, store and forward).
    pub lifo: Summary,
    /// Last bit in to last bit out (RFC 4689, forwarding delay).
    pub lilo: Summary,
}

/// Gaps of the testing host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gaps {
    /// Share of the time that the sending thread was not run by the host or the system while it wanted to be.
    pub share: Option<f64>,
    /// The longest at once.
    pub longest_ns: Option<i64>,
}

/// Outages of the device in a trial: at least 0.1 s, in which at least 50 frames left and none of them arrived, or
/// nothing arrived. And up to five shorter ones: at least a hundredth of the trial, in which at least ten frames left
/// and nothing arrived, and at least five times the transmission time of the largest frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Standstills {
    /// How many there were.
    pub count: u64,
    /// How long they were together.
    pub sum_ns: i64,
    /// How long the longest was.
    pub longest_ns: i64,
    /// Frames that left in them and did not come.
    pub lost: u64,
}

/// What a policer did with the frames of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Policed {
    /// In profile, and passed unchanged.
    pub conforming_passed: u64,
    /// In profile, and dropped or remarked: wrong.
    pub conforming_stopped: u64,
    /// Out of profile, and dropped or remarked.
    pub excess_stopped: u64,
    /// Out of profile, and passed unchanged: wrong.
    pub excess_passed: u64,
    /// Within one frame of the edge of the bucket, so that either is right: what passes more than the bucket holds, or is
    /// stopped although there is more in it, leaves the edge.
    pub at_boundary: u64,
    /// Of these, how many were dropped or remarked.
    #[serde(default)]
    pub at_boundary_stopped: u64,
    /// All frames together; absent in documents of older versions.
    #[serde(default)]
    pub together: Option<PolicedTogether>,
}

/// A policer's decisions on all frames of a trial together, in frames of their mean size. This is known even if the
/// latency varies too much to judge single frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicedTogether {
    /// Passed unchanged.
    pub passed: u64,
    /// What the bucket lets pass of frames that are at the device when they are sent.
    pub nominal: u64,
    /// Frames that were wrongly stopped, whatever part of the latency variation is before the policer.
    pub missing: u64,
    /// Frames that wrongly passed between some two frames, whatever part of the latency variation is before the
    /// policer.
    pub beyond: u64,
    /// What the edge of the bucket leaves open.
    pub edge: u64,
    /// Maximum difference between the latency of a frame and the minimum latency, nanoseconds.
    pub latest_ns: i64,
    /// In what time the empty bucket is full, nanoseconds.
    pub fills_in_ns: i64,
}

/// One stream of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamResult {
    /// Its name.
    pub name: String,
    /// The device is to drop all of it: what of it does not come is in no loss of the trial.
    #[serde(default)]
    pub expect_drop: bool,
    /// Frames requested.
    pub intended: u64,
    /// Frames given to the device.
    pub offered: u64,
    /// Frames that came, each once.
    pub carried: u64,
    /// Frames that did not.
    pub lost: u64,
    /// Further copies.
    pub duplicated: u64,
    /// Frames that came after one of their own flow that was sent later.
    pub reordered: u64,
    /// Frames that arrived with a changed payload.
    #[serde(default)]
    pub corrupted: u64,
    /// What came out in the time in which frames were sent, later by the least latency, bits a second at layer 1: what a device
    /// holds and gives out when nothing is sent to it any more is in no rate.
    pub carried_bps: f64,
    /// What was given to the device, bits a second of frames with check sequence (layer 2).
    pub offered_l2_bps: f64,
    /// Forwarded frames, in the same unit.
    pub carried_l2_bps: f64,
    /// Octets of its frames with check sequence, in the mean; `null` where none was offered.
    #[serde(default)]
    pub frame_octets: Option<f64>,
    /// What its scheduler owes it, from and to, bits a second at layer 2; `null` where no scheduler is judged.
    #[serde(default)]
    pub expected_l2_bps: Option<[f64; 2]>,
    /// Frames that left in each second.
    #[serde(default)]
    pub offered_per_second: Vec<u64>,
    /// Frames that came in each second.
    #[serde(default)]
    pub carried_per_second: Vec<u64>,
    /// Latency.
    pub latency_ns: Summary,
    /// Its distribution.
    #[serde(default)]
    pub latency_histogram: Histogram,
    /// The jitters.
    pub jitter_ns: Jitter,
    /// Jitter by RFC 4689 section 3.2.5: the absolute difference of the delays of two frames of a stream that came one after the
    /// other, in order of arrival, also where frames between them were lost (method 3 looks at frames that were sent one after
    /// the other). Its section 3.4.4.8 counts in order of sending; that is the same where nothing was reordered.
    #[serde(default)]
    pub jitter_rfc4689_ns: Summary,
    /// Signed differences of the latencies of consecutive frames, in order of sending (RFC 3393).
    #[serde(default)]
    pub ipdv_ns: Summary,
    /// Latencies above the least one (RFC 5481, section 4.2).
    #[serde(default)]
    pub pdv_ns: Summary,
    /// Code points that it came out with.
    pub dscp_out: BTreeMap<String, u64>,
    /// Frames by size: sent, received, lost, smallest first; empty where all have one size.
    #[serde(default)]
    pub per_size: Vec<SizeResult>,
    /// The policer's decisions on its frames, if it has its own bucket; else `null`.
    #[serde(default)]
    pub policed: Option<Policed>,
}

/// Frames of one size in a trial. Of more than 32 sizes the most frequent ones have a row of their own, and the others one
/// together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeResult {
    /// Octets of the smallest of them, with check sequence.
    pub least_octets: u32,
    /// Octets of the largest.
    pub most_octets: u32,
    /// Frames given to the device.
    pub offered: u64,
    /// Frames that did not come.
    pub lost: u64,
}

/// Results of the trials of a case and a frame size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkResult {
    /// The case.
    pub case: String,
    /// Octets of the frames; `null` for a mixture.
    pub frame_size: Option<u32>,
    /// The load that was requested, percent of the line rate; `null` where the load is what was found.
    pub load_percent: Option<f64>,
    /// What was found: `carried_percent`, `latency_ns`, `throughput_pps`, ...
    pub quantity: String,
    /// How many repeats it is of.
    pub count: u64,
    /// Their mean.
    pub mean: Option<f64>,
    /// Their standard deviation (n-1).
    pub stddev: Option<f64>,
    /// Least.
    pub min: Option<f64>,
    /// Greatest.
    pub max: Option<f64>,
    /// The 95 % interval of the mean; `null` where the tester bounds the result, which is a lower bound then.
    pub interval: Option<[f64; 2]>,
    /// Method of the interval: `student`; or `none-of-n` if no frame was lost in any trial: up to the ratio at which
    /// all frames would arrive with a probability of 5 %.
    pub method: String,
    /// The median.
    pub median: Option<f64>,
    /// The interval of the median by order statistics; `null` below six repeats.
    pub median_interval: Option<[f64; 2]>,
    /// The most that the line allows, in the unit of the quantity.
    pub theoretical: Option<f64>,
    /// What bounds the result besides the device's capacity: the tester, the line, an outage of the device; `null`:
    /// nothing. If there is no value (`count` is 0), this is the reason.
    pub bounded_by: Option<String>,
}

/// The difference of a quantity between two cases, repeat by repeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The case that is subtracted.
    pub from: String,
    /// The case that it is subtracted from.
    pub to: String,
    /// Octets of the frames; `null` for a mixture.
    pub frame_size: Option<u32>,
    /// The load; `null` where the load is what was found.
    pub load_percent: Option<f64>,
    /// What differs.
    pub quantity: String,
    /// Pairs of repeats.
    pub count: u64,
    /// Mean of the paired differences.
    pub mean: Option<f64>,
    /// Their standard deviation (n-1).
    pub stddev: Option<f64>,
    /// Student's 95 % interval of their mean.
    pub interval: Option<[f64; 2]>,
    /// Probability of as great a mean by chance, corrected for all differences of the benchmark (Holm); `null` below two pairs.
    #[serde(default)]
    pub probability: Option<f64>,
    /// Whether that is below 5 %: if there are no differences, the probability that any difference of the benchmark is
    /// called significant is at most 5 %. The interval is of this difference alone.
    pub significant: bool,
}

/// What one case differs by from another over all frames and loads of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overall {
    /// The case that is subtracted.
    pub from: String,
    /// The case that it is subtracted from.
    pub to: String,
    /// What differs.
    pub quantity: String,
    /// Frames and loads at which both were measured in every repeat that counts.
    pub places: u64,
    /// Valid repeats, each of which is one value: the mean of its differences. Trials of one repeat share the state of
    /// host and device, so only further repeats show its variation. 0 in documents of older versions.
    #[serde(default)]
    pub repeats: u64,
    /// The mean over the repeats of the median over the places: where a device is full at some loads, these do not carry it away.
    pub median: Option<f64>,
    /// Student's 95 % interval of that, over the repeats; `null` of a single one.
    pub median_interval: Option<[f64; 2]>,
    /// The mean over the repeats of the mean over the places.
    pub mean: Option<f64>,
    /// Student's 95 % interval of that, over the repeats; `null` of a single one.
    pub interval: Option<[f64; 2]>,
}

/// What a claim came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// The case.
    pub case: String,
    /// Octets of the frames that it is about; `null` where it is about all, or about a mixture.
    #[serde(default)]
    pub frame_size: Option<u32>,
    /// The mixture that it is about; `null` where it is about all trials of the case, or about frames of one size.
    #[serde(default)]
    pub mixture: Option<String>,
    /// The class or stream, and where it is about one trial, that trial.
    pub subject: String,
    /// What was expected, in words.
    pub expected: String,
    /// What was found, in words.
    pub found: String,
    /// Whether it holds; `null`: the trials are inconclusive, because the device or its host paused, or because there
    /// are too few frames (see `found`).
    pub holds: Option<bool>,
}

/// A place where a curve breaks from its neighbours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoftSpot {
    /// The case.
    pub case: String,
    /// Octets of the frames.
    pub frame_size: Option<u32>,
    /// The load.
    pub load_percent: Option<f64>,
    /// Of what.
    pub quantity: String,
    /// What was found there.
    pub found: f64,
    /// What its neighbours let expect.
    pub expected: f64,
    /// Probability of a deviation as great by chance, corrected for all places, quantities and cases (Holm): below 1 %.
    pub probability: f64,
    /// In words.
    pub text: String,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkEvent {
    /// When, nanoseconds after the benchmark began.
    pub at_ns: i64,
    /// `device-silent`, `device-back`, `device-rebooted` (it is back, and a link to it had been down), `device-away` (within a
    /// trial), `device-stalled` (it paused, and went on), `link-lost` (a reset took the link
    /// from a port of the tester), `stream-silent` (nothing of a stream came while others lived), `stream-back`,
    /// `size-silent` (nothing of a size came any more, while others did),
    /// `device-unsteady` (it was away in a trial as often as that was made), `device-gone`, `trial-repeated`,
    /// `port-down` (a port of the tester was switched off on this host), `port-up`, `port-gone` (it did not come back, or was removed
    /// or renamed), `tester-limit` (the tester fell short so often that the benchmark has ended early), `tester-overloaded`,
    /// `command-ended` (that of a case or a reset, with the benchmark), `clock-set`, `resumed`.
    pub kind: String,
    /// In words.
    pub text: String,
    /// What is dropped, for an event `size-silent` of one trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<DroppedFrames>,
}

/// Frames that a device drops which is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DroppedFrames {
    /// Which, in words: a frame size, or a mixture.
    pub frames: String,
    /// The case.
    pub case: String,
    /// The load that was requested, percent of the line.
    pub load_percent: f64,
}
