//! Verdicts on claims about a device.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::DeviceOutages;

/// Verdict on a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// Case (device configuration).
    pub case: String,
    /// Frame size in bytes, including FCS; `null` if the claim is about all frames or about a mixture.
    #[serde(default)]
    pub frame_size: Option<u32>,
    /// Mixture of frame sizes; `null` if the claim is about all trials of the case, or about frames of one
    /// size.
    #[serde(default)]
    pub mixture: Option<String>,
    /// What the claim is about.
    pub subject: ClaimSubject,
    /// Expected result.
    pub expected: Expectation,
    /// Observed result.
    pub observed: Observation,
    /// Whether the claim passed; `null`: inconclusive, because the device or its host paused, or because
    /// there are too few frames (see `observed`).
    pub passed: Option<bool>,
}

/// A trial whose verdict is its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedTrial {
    /// Requested load, percent of the line rate.
    pub load_percent: f64,
    /// Number of the repeat, from 0.
    pub repeat: u32,
}

/// A field of a frame that a device may mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkedField {
    /// The code point of differentiated services.
    CodePoint,
    /// The VLAN of the tag.
    Vlan,
    /// The priority of the tag.
    Priority,
    /// The code point of congestion notification.
    Ecn,
}

/// The frames of a stream that a token bucket allows, or the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileSide {
    /// In profile.
    In,
    /// Out of profile.
    Out,
}

/// How a scheduler serves its classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// A class is served if no class before it has a waiting frame.
    Strict,
    /// Each class has its share, and what it leaves goes to the others by their shares (CBQ, WRR, WFQ).
    Weighted,
    /// All frames wait in one queue with a limit in frames. There are no classes.
    Fifo,
    /// All frames wait in one queue with a limit in bytes. There are no classes.
    FifoOctets,
}

/// A fault of a weighted scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerFault {
    /// All frames wait in one queue: there are no classes.
    OneQueue,
    /// A class sends at least one frame in each pass, even if its share is less than the frame (Chadda 2004, figure 1-5).
    WholeFrames,
    /// Weights count frames instead of bytes.
    CountsFrames,
}

/// What a claim is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum ClaimSubject {
    /// The order of the frames of a flow.
    #[default]
    Order,
    /// Duplicates of frames.
    Copies,
    /// Length and test data of frames.
    Content,
    /// Payload of frames.
    Payload,
    /// The marking of frames that are sent with a value of a field.
    Marking {
        /// The field.
        field: MarkedField,
        /// Value that the frames are sent with.
        sent: String,
        /// Whether the claim is about frames out of profile only.
        out_of_profile: bool,
    },
    /// A stream.
    Stream {
        /// Name of the stream.
        stream: String,
    },
    /// Frames of the size `frame_size`.
    FrameSize {
        /// The stream that has this size; `null`: all streams.
        stream: Option<String>,
    },
    /// A policer of which no trial gives evidence.
    Policer {
        /// The stream of its bucket; `null`: all streams that share a bucket.
        stream: Option<String>,
    },
    /// The decisions of a policer on frames in or out of profile.
    Profile {
        /// Which frames.
        side: ProfileSide,
        /// The stream of the bucket; `null`: all streams that share a bucket.
        stream: Option<String>,
        /// The trial; `null`: all trials of the case.
        trial: Option<JudgedTrial>,
    },
    /// A scheduler of which no trial gives evidence.
    Scheduler,
    /// A class of a scheduler in a trial.
    Class {
        /// Name of the class.
        class: String,
        /// The trial.
        trial: JudgedTrial,
    },
    /// Two classes of a scheduler, the more important one first.
    Classes {
        /// Names of the classes.
        classes: [String; 2],
        /// The trial; `null`: all trials of the case.
        trial: Option<JudgedTrial>,
    },
    /// The weights of a scheduler in a trial.
    Weights {
        /// The trial.
        trial: JudgedTrial,
    },
}

/// Expected result of a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Expectation {
    /// The frames of a flow (addresses and ports) arrive in order.
    #[default]
    InOrder,
    /// Every frame arrives once.
    Once,
    /// Length and test data of frames are unchanged.
    ContentUnchanged,
    /// The payload of frames is unchanged.
    PayloadUnchanged,
    /// The frames arrive with a value of the field.
    MarkedAs {
        /// The value.
        received: String,
    },
    /// The device drops the stream (`expect=drop`).
    Dropped,
    /// The device forwards these frames like others.
    ForwardedLikeOthers,
    /// The policer passes frames in profile and no others.
    ProfileOnly,
    /// The policer passes the frames.
    Passed,
    /// The policer passes the frames unchanged.
    PassedUnchanged,
    /// The policer passes the frames with the expected marking.
    PassedMarked,
    /// The policer drops or remarks the frames.
    DroppedOrRemarked,
    /// The policer drops the frames, or marks them differently from conforming frames.
    DroppedOrMarkedDifferently,
    /// The scheduler serves the streams by its discipline.
    ServedBy {
        /// The discipline.
        discipline: Discipline,
    },
    /// The class receives its share of the capacity.
    CapacityShare {
        /// The discipline.
        discipline: Discipline,
        /// Lower bound of the share.
        min_ratio: f64,
        /// Upper bound of the share.
        max_ratio: f64,
        /// Load of the class, share of the capacity.
        offered_ratio: f64,
    },
    /// The first class is served before the second.
    FirstBeforeSecond,
    /// The first class is forwarded no less than the second while it has frames.
    FirstNoLess {
        /// Weights of the two classes.
        weights: [f64; 2],
    },
    /// Each of the classes has its share.
    SharesBy {
        /// The discipline.
        discipline: Discipline,
    },
    /// The weights are shares of the transmitted bytes.
    WeightsInBytes,
}

/// Observed result of a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// What was observed.
    #[serde(flatten)]
    pub finding: ClaimFinding,
    /// What limits the evidence.
    #[serde(default)]
    pub reservations: Vec<Reservation>,
}

impl From<ClaimFinding> for Observation {
    fn from(finding: ClaimFinding) -> Self {
        Self { finding, reservations: Vec::new() }
    }
}

/// Number of trials of a number of trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialCount {
    /// Number of trials in which it was observed.
    pub observed: u64,
    /// Number of all trials with such frames.
    pub all: u64,
}

/// What a class of a scheduler forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassShare {
    /// Share of the capacity.
    pub ratio: f64,
    /// Mean frame size, bytes.
    pub frame_bytes: f64,
}

/// A load that would decide a claim.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecidingLoad {
    /// Total load, share of the capacity.
    pub capacity_ratio: f64,
    /// The same load, share of the line rate.
    pub line_ratio: f64,
}

/// A number of frames that would decide a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecidingFrames {
    /// Number of frames in a trial.
    pub frames: u64,
    /// Duration of such a trial, seconds.
    pub trial_s: u64,
}

/// Frames that a policer passed, compared with those that the bucket allows in total.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "kebab-case")]
pub enum PassedInTotal {
    /// The difference exceeds what the latency explains.
    Wrong {
        /// Number of frames that passed.
        passed: u64,
        /// Number of frames that the bucket allows.
        allowed: u64,
        /// Number of frames, fewer (in profile) or more (out of profile), that the latency does not explain.
        unexplained: u64,
    },
    /// The latency varies too much to decide.
    Uncertain {
        /// Number of frames that passed.
        passed: u64,
        /// Number of frames that the bucket allows.
        allowed: u64,
        /// Maximum latency minus minimum latency, nanoseconds.
        latency_range_ns: i64,
        /// Time in which the empty bucket fills, nanoseconds.
        fill_time_ns: i64,
    },
    /// The number agrees.
    Right {
        /// Number of frames that passed.
        passed: u64,
        /// Number of frames that the bucket allows.
        allowed: u64,
        /// Number of all frames.
        frames: u64,
    },
}

/// What was observed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum ClaimFinding {
    /// No trial of the case gives evidence.
    #[default]
    NoConclusiveTrial,
    /// No such frame was sent.
    NoFrameSent,
    /// Not tested: no frame was on this side of a profile.
    NoFrameInProfile {
        /// The side.
        side: ProfileSide,
        /// The stream; `null`: any.
        stream: Option<String>,
    },
    /// Not tested: at these loads a scheduler that confuses the classes would forward the same of both.
    ClassesNotDistinguished {
        /// A load that would distinguish them; `null`: no load of this line does.
        load: Option<DecidingLoad>,
        /// Whether the classes are served by weight.
        weighted: bool,
        /// The class with the lower load.
        lower_class: String,
        /// Tolerance of the verdict, share of the capacity.
        tolerance_ratio: f64,
    },
    /// Anomalies of frames.
    Anomalies {
        /// Number of frames.
        frames: u64,
        /// Number of these frames that count as lost, because their test data are damaged.
        lost: u64,
    },
    /// Received frames of those sent.
    Received {
        /// Number of frames that arrived.
        received: u64,
        /// Number of frames sent.
        sent: u64,
        /// The trials; `null`: all of the case.
        trials: Option<TrialCount>,
    },
    /// Received frames by their marking.
    Marked {
        /// Number of frames with the expected marking.
        conforming: u64,
        /// Number of frames by other markings.
        others: BTreeMap<String, u64>,
        /// Number of frames out of profile by markings that are not expected.
        excess: BTreeMap<String, u64>,
        /// Number of frames out of profile by the marking that is expected of them.
        expected_excess: BTreeMap<String, u64>,
        /// Number of frames that did not arrive.
        lost: u64,
    },
    /// Decisions of a policer.
    Policed {
        /// Number of correct decisions.
        right: u64,
        /// Number of wrong decisions.
        wrong: u64,
        /// Number of frames within one frame of the bucket limit, for which both decisions are correct.
        at_boundary: u64,
        /// All frames together; `null` if they add nothing.
        total: Option<PassedInTotal>,
    },
    /// Share of the capacity that the class received.
    ReceivedShare {
        /// The share.
        forwarded_ratio: f64,
    },
    /// A larger part of the second class was forwarded.
    SecondPreferred,
    /// Shares of the capacity that the two classes received.
    ReceivedShares {
        /// Of each class.
        classes: [ClassShare; 2],
    },
    /// The shares of all classes match those of a scheduler with one of these faults.
    MatchesFaults {
        /// The faults.
        faults: Vec<SchedulerFault>,
    },
}

/// What limits the evidence of a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Reservation {
    /// The device or its host stalled. If the claim failed, this does not explain it; if the verdict is inconclusive,
    /// this is the reason.
    DeviceStalled {
        /// The pauses.
        outages: DeviceOutages,
        /// Duration of the trial, nanoseconds.
        trial_ns: i64,
        /// Number of earlier trials of the same in which the device stalled as well.
        previous_trials: u64,
    },
    /// This number of frames does not show smaller deviations.
    Resolution {
        /// Number of frames.
        frames: u64,
        /// Deviation of a correct scheduler by chance, share of the capacity (probability of more: 1e-6).
        chance_ratio: f64,
    },
    /// Inconclusive, because chance explains the deviation at this number of frames.
    FewFrames {
        /// Number of frames.
        frames: u64,
        /// Deviation of a correct scheduler by chance, share of the capacity (probability of more: 1e-6).
        chance_ratio: f64,
        /// A trial that would decide; `null`: no trial does, because the share is too close to the tolerance of 5 %.
        needed: Option<DecidingFrames>,
    },
    /// Inconclusive, because others were lost as well: an overloaded device may starve some.
    OthersLost {
        /// Loss ratio of the others.
        loss_ratio: f64,
    },
    /// At a single load, a queue with space for one such frame may have the same effect.
    SingleLoad,
}
