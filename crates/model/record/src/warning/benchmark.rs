//! The warnings of a benchmark.

use crate::benchmark::header::HeaderFrames;

crate::warning::family::warnings! {
/// A warning of a benchmark.
BenchmarkWarning {
    /// The self-test was skipped or interrupted. The loss and latency of the tester itself are unknown.
    Warning SelfTestMissing {
        /// Whether it was interrupted; otherwise skipped (`--skip-self-test`).
        interrupted: bool,
    },
    /// The tester failed part of its self-test: see `self_test`.
    Warning SelfTestFailed,
    /// Another device answered between the ports during a self-test. The results are of both.
    Error DeviceInSelfTest {
        /// MAC address of the other device.
        mac: String,
    },
    /// Trials were discarded as invalid, because they say nothing about the device: see `invalid` of each.
    Warning TrialsDiscarded {
        /// Number of discarded trials.
        discarded: u64,
        /// Number of all trials.
        trials: u64,
    },
    /// Lost frames are attributed to the tester and excluded from `loss_ratio`.
    Warning LossOfTester {
        /// Number of trials with such losses.
        trials: u64,
        /// Number of lost frames.
        frames: u64,
    },
    /// The tester cannot send frames at the requested rate.
    Warning TesterRateLimit {
        /// Frame size or mixture.
        frames: String,
        /// Highest rate of the tester, frames per second.
        limit_pps: f64,
        /// Highest requested rate, frames per second.
        requested_pps: f64,
    },
    /// Frames were lost at rates above those of the self-test. The tester may have lost some of them.
    Warning LossBeyondSelfTest {
        /// Number of affected trials.
        trials: u64,
        /// Highest rate of the self-test, frames per second.
        self_test_pps: f64,
        /// Upper bound of the loss ratio of the tester.
        tester_loss_ratio: f64,
    },
    /// The ports are virtual and have no line rate. Loads are relative to `--line-rate`.
    Note LineRateVirtual,
    /// Latencies are below zero: the subtracted latency of the tester is lower at other loads and sizes.
    Warning LatencyNegative {
        /// Number of affected trials.
        trials: u64,
    },
    /// Requested frames are too short for the headers and the test data. Longer frames were sent.
    Warning FramesTooShort {
        /// Requested frame sizes, bytes.
        requested_bytes: Vec<u32>,
        /// Frame size sent, bytes.
        sent_bytes: u32,
    },
    /// Frames of a stream are too short for its headers and the test data. Longer frames were sent.
    Warning StreamFramesTooShort {
        /// Number of the stream.
        stream: String,
        /// Requested frame size, bytes.
        requested_bytes: u32,
        /// Frame size sent, bytes.
        sent_bytes: u32,
    },
    /// Streams have constant rates. Their phases decide whose frames find a queue full, which may resemble a
    /// scheduler.
    Warning StreamsInStep {
        /// Streams with constant rates.
        streams: Vec<String>,
    },
    /// The classes forwarded more than the stated capacity.
    Warning CapacityExceeded {
        /// Forwarded load / stated capacity.
        forwarded_ratio: f64,
    },
    /// Trials have few frames, so that a single frame has a large effect on load and loss.
    Warning FewFrames {
        /// Number of affected trials.
        trials: u64,
        /// Sufficient number of frames.
        needed_frames: u64,
        /// Smallest number of frames of a trial.
        min_frames: u64,
    },
    /// Frames still arrived when the wait after a trial ended. Later ones count as lost.
    Warning FramesStillArriving {
        /// Number of affected trials.
        trials: u64,
        /// Wait after a trial (`--settle`), nanoseconds.
        settle_ns: i64,
    },
    /// Streams that the device is expected to drop are offered, and are excluded from the results.
    Note DroppedStreamsOffered {
        /// Streams with `expect=drop`.
        streams: Vec<String>,
        /// Share of the offered frames in these streams.
        offered_ratio: f64,
    },
    /// The device translates or encapsulates frames.
    Note HeadersChanged {
        /// Number of frames by their headers on arrival.
        headers: Vec<HeaderFrames>,
    },
    /// No frame above a size arrived, although shorter ones did: the MTU of the device may be too small.
    Warning LongFramesLost {
        /// Smallest frame size of which none arrived, bytes.
        lost_bytes: u32,
        /// Largest frame size that arrived, bytes.
        arrived_bytes: u32,
        /// MTU that the lost size needs, bytes.
        mtu_bytes: u32,
    },
    /// A reset lost no frame: the device forwards during a reset, or was not reset.
    Warning ResetWithoutLoss {
        /// Number of affected trials.
        trials: u64,
    },
    /// Several streams share one token bucket.
    Warning BucketShared {
        /// Streams of the bucket.
        streams: u64,
    },
    /// The host was descheduled. The tester then sent bursts, which a device may not buffer.
    Warning HostDescheduled {
        /// Number of frames of the longest burst.
        burst_frames: u64,
    },
    /// Trials with more than the maximum number of frames are skipped, and count as limited by the tester.
    Warning TrialFramesLimited {
        /// Maximum number of frames of a trial.
        max_frames: u64,
        /// Load above which trials are skipped, as a share of the line rate.
        load_ratio: f64,
        /// Duration of a trial, nanoseconds.
        trial_ns: i64,
    },
    /// The line rate is too low for some loads of the scheduler test. They are skipped.
    Warning LoadsAboveLine {
        /// Highest possible load, as a share of the line rate.
        line_ratio: f64,
        /// Highest possible load, as a share of the capacity.
        capacity_ratio: f64,
        /// Highest load of the test, as a share of the capacity.
        max_load_ratio: f64,
    },
}
}
