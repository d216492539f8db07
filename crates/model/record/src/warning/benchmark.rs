//! The warnings of a benchmark.

use std::collections::BTreeMap;

crate::warning::family::warnings! {
/// A warning of a benchmark.
BenchmarkWarning {
    /// The self-test was skipped or interrupted. The loss and latency of the tester itself are unknown.
    Warning SelfTestMissing {
        /// It was interrupted, not skipped (`--skip-self-test`).
        interrupted: bool,
    },
    /// The tester failed part of its self-test: see `self_test`.
    Warning SelfTestFailed,
    /// Another device answered between the ports of a self-test. The results are of both.
    Error DeviceInSelfTest {
        /// Its MAC address.
        mac: String,
    },
    /// Trials were discarded, because they are not evidence about the device: see `invalid` of each.
    Warning TrialsDiscarded {
        /// The discarded trials.
        discarded: u64,
        /// All trials.
        trials: u64,
    },
    /// Lost frames are attributed to the tester and excluded from `loss_ratio`.
    Warning LossOfTester {
        /// Trials with such losses.
        trials: u64,
        /// The frames.
        frames: u64,
    },
    /// The tester cannot send frames at the requested rate.
    Warning TesterRateLimit {
        /// The frame size or mixture.
        frames: String,
        /// The highest rate it can send, frames per second.
        limit_pps: f64,
        /// The highest requested rate, frames per second.
        requested_pps: f64,
    },
    /// Trials lost frames at rates above those of the self-test. The tester may have lost some of them.
    Warning LossBeyondSelfTest {
        /// The trials.
        trials: u64,
        /// The highest rate of the self-test, frames per second.
        proven_pps: f64,
        /// The largest share that the tester may have lost.
        tester_loss_ratio: f64,
    },
    /// The ports are virtual and have no line rate. Loads are relative to `--line-rate`.
    Note LineRateVirtual,
    /// Latencies are below zero: the subtracted latency of the tester is lower at other loads and sizes.
    Warning LatencyNegative {
        /// The trials.
        trials: u64,
    },
    /// Requested frames are too short for the headers and the test data. Longer ones were sent.
    Warning FramesTooShort {
        /// The requested sizes, bytes.
        requested_bytes: Vec<u32>,
        /// The size that was sent, bytes.
        sent_bytes: u32,
    },
    /// Frames of a stream are too short for its headers and the test data. Longer ones were sent.
    Warning StreamFramesTooShort {
        /// The stream.
        stream: String,
        /// The requested size, bytes.
        requested_bytes: u32,
        /// The size that was sent, bytes.
        sent_bytes: u32,
    },
    /// Streams send evenly. Their phases decide which of them finds a queue full, which may look like a scheduler.
    Warning StreamsInStep {
        /// The streams.
        streams: Vec<String>,
    },
    /// The classes forwarded more than the stated capacity.
    Warning CapacityExceeded {
        /// The share of the capacity.
        forwarded_ratio: f64,
    },
    /// Trials have few frames: one frame is a large part of the load and of the loss.
    Warning FewFrames {
        /// The trials.
        trials: u64,
        /// The number of frames that would suffice.
        needed_frames: u64,
        /// The smallest number of frames.
        min_frames: u64,
    },
    /// Frames still arrived when the wait after a trial ended. Later ones count as lost.
    Warning FramesStillArriving {
        /// The trials.
        trials: u64,
        /// The wait (`--settle`), nanoseconds.
        settle_ns: i64,
    },
    /// Streams that the device is to drop are offered, and are not part of the results.
    Note DroppedStreamsOffered {
        /// The streams (`expect=drop`).
        streams: Vec<String>,
        /// Their share of the offered frames.
        offered_ratio: f64,
    },
    /// The device translates or encapsulates frames.
    Note HeadersChanged {
        /// Frames by the headers with which they arrived.
        headers: BTreeMap<String, u64>,
    },
    /// No frame from a size on arrived, and shorter ones did: the MTU of the device may be too small.
    Warning LongFramesLost {
        /// The smallest size of which none arrived, bytes.
        lost_bytes: u32,
        /// The largest size that arrived, bytes.
        arrived_bytes: u32,
        /// The MTU that the lost size needs, bytes.
        mtu_bytes: u32,
    },
    /// A reset lost no frame: the device forwards during a reset, or was not reset.
    Warning ResetWithoutLoss {
        /// The trials.
        trials: u64,
    },
    /// Streams are judged by one common token bucket.
    Warning BucketShared {
        /// The streams.
        streams: u64,
    },
    /// The host was descheduled. Bursts followed, which a device may not buffer.
    Warning HostDescheduled {
        /// Frames of the longest burst.
        burst_frames: u64,
    },
    /// A trial has a maximum number of frames. Trials of full length at higher loads are skipped, and count as limited by the tester.
    Warning TrialFramesLimited {
        /// The maximum.
        max_frames: u64,
        /// The load from which on trials are skipped, as a share of the line rate.
        load_ratio: f64,
        /// The length of a trial, nanoseconds.
        trial_ns: i64,
    },
    /// The line cannot offer all loads at which a scheduler is to be tested. Those above are left out.
    Warning LoadsAboveLine {
        /// The highest load that can be offered, as a share of the line rate.
        line_ratio: f64,
        /// That load as a share of the capacity.
        capacity_ratio: f64,
        /// The highest load of the test, as a share of the capacity.
        wanted_ratio: f64,
    },
}
}
