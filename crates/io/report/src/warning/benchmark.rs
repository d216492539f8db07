//! The warnings of a benchmark as text.

use romer_record::benchmark::HeaderFrames;
use romer_record::warning::BenchmarkWarning;
use romer_units::{Duration, counted, counted_as};

use crate::sentence::Text;

impl Text for BenchmarkWarning {
    fn text(&self) -> String {
        match self {
            Self::SelfTestMissing { interrupted } => {
                let why = if *interrupted { "its test was interrupted" } else { "--skip-self-test" };
                format!("no self-test ({why}): the loss and latency of the tester itself are unknown")
            }
            Self::SelfTestFailed => {
                "this host failed part of its self-test: some results are less exact".into()
            }
            Self::DeviceInSelfTest { mac } => format!(
                "{mac} answered, which is neither of the tester's ports: a device is between them, and the results are of both and \
                 not of the tester alone; join the ports with a cable"
            ),
            Self::TrialsDiscarded { discarded, trials } => format!(
                "{discarded} of {} discarded (inconclusive); see \"invalid\" of each",
                counted_as(*trials, "trial", "trials")
            ),
            Self::LossOfTester { trials, frames } => format!(
                "in {}, {} attributed to the tester and excluded from the loss ratio; the report shows both counts for each trial",
                counted(*trials, "trial"),
                counted_as(*frames, "lost frame is", "lost frames are")
            ),
            Self::TesterRateLimit { frames, limit_pps, requested_pps } => format!(
                "limited by the tester: of frames {frames} it can send at most {limit_pps:.0} frames/s, and up to {requested_pps:.0} \
                 were requested"
            ),
            Self::LossBeyondSelfTest { trials, self_test_pps, tester_loss_ratio } => format!(
                "{} lost frames at rates above the {self_test_pps:.0} frames/s of the self-test: the tester itself may have lost up to \
                 {:.3} % of them, the maximum in the self-test at such rates; see lost_by_device of each",
                counted(*trials, "trial"),
                tester_loss_ratio * 100.0
            ),
            Self::LineRateVirtual => {
                "virtual interfaces have no line rate: loads are relative to --line-rate".into()
            }
            Self::LatencyNegative { trials } => format!(
                "{} latencies below zero: the subtracted tester latency was measured at 10 % of the line rate with the shortest \
                 frames, and is lower at other loads and sizes",
                counted_as(*trials, "trial has", "trials have")
            ),
            Self::FramesTooShort { requested_bytes, sent_bytes } => {
                let sizes: Vec<String> = requested_bytes.iter().map(u32::to_string).collect();
                format!(
                    "frames of {} bytes were requested: they are too short for the stream headers and the test data, and are \
                     replaced by frames of {sent_bytes}",
                    sizes.join(", ")
                )
            }
            Self::StreamFramesTooShort { stream, requested_bytes, sent_bytes } => format!(
                "stream {stream}: frames of {requested_bytes} bytes are too short for its headers and the test data, and are sent \
                 with {sent_bytes} bytes"
            ),
            Self::StreamsInStep { streams } => format!(
                "the streams {} send evenly: the phases between them decide which of them finds a queue full, so that one queue for all may \
                 look like a scheduler; pace=poisson does not have that effect",
                streams.join(", ")
            ),
            Self::CapacityExceeded { forwarded_ratio } => format!(
                "the classes forwarded {:.1} % of the capacity: the line is faster than stated (--capacity), or its rate counts other \
                 bytes per frame (without check sequence, as Linux counts: 4 fewer; with preamble and gap: 20 more)",
                forwarded_ratio * 100.0
            ),
            Self::FewFrames { trials, needed_frames, min_frames } => format!(
                "{} fewer than {needed_frames} frames (minimum {min_frames}): one frame is a large part of the load and of the loss; use \
                 longer trials (--trial), or a higher --line-rate or --loads",
                counted_as(*trials, "trial has", "trials have")
            ),
            Self::FramesStillArriving { trials, settle_ns } => format!(
                "{} frames after the maximum wait: later frames count as lost; use a longer --settle (now {})",
                counted_as(*trials, "trial still received", "trials still received"),
                Duration::from_nanos(*settle_ns).readable()
            ),
            Self::DroppedStreamsOffered { streams, offered_ratio } => format!(
                "throughput and forwarded rates are of the streams that the device is to forward; those that it is to drop \
                 (expect=drop: {}) are {} of the offered frames",
                streams.join(", "),
                crate::number::percent(*offered_ratio).replace(crate::number::NO_BREAK, " ")
            ),
            Self::HeadersChanged { headers } => format!(
                "the device translates or encapsulates: frames arrived with other headers ({}) and intact test data. Their loss and \
                 latency are known; lengths and markings of encapsulated frames are not compared",
                some_of(headers)
            ),
            Self::LongFramesLost { lost_bytes, arrived_bytes, mtu_bytes } => format!(
                "no frame of {lost_bytes} bytes or more arrived, and frames of {arrived_bytes} bytes did: check the MTU of the device, \
                 which must be at least {mtu_bytes}"
            ),
            Self::ResetWithoutLoss { trials } => format!(
                "in {} the reset lost no frame: the device forwards during a reset, or was not reset; check the command (--reset)",
                counted(*trials, "trial")
            ),
            Self::BucketShared { streams } => format!(
                "{streams} streams are judged by one common bucket, whatever their markings; if the device has a bucket for each class, \
                 give each stream its own (--stream profile=)"
            ),
            Self::HostDescheduled { burst_frames } => format!(
                "this host lost its processor (vCPU or steal): romer then sent bursts of up to {burst_frames} frames, which the device \
                 may have dropped; benchmark.json has the longest burst of each trial (longest_catch_up)"
            ),
            Self::TrialFramesLimited { max_frames, load_ratio, trial_ns } => format!(
                "a trial has at most {} million frames: above {} % of the line rate, trials of {} are skipped, and count as limited by \
                 the tester; a shorter --trial raises this limit",
                max_frames / 1_000_000,
                percent(*load_ratio),
                Duration::from_nanos(*trial_ns).readable()
            ),
            Self::LoadsAboveLine { line_ratio, capacity_ratio, max_load_ratio } => format!(
                "at {:.0} % of the line (--line-rate), the highest possible load, the streams offer {:.1} % of the capacity \
                 (--capacity): the test needs loads up to {:.1} % of it, and those above the line are left out; use a faster line, or a \
                 lower capacity of the device",
                line_ratio * 100.0,
                capacity_ratio * 100.0,
                max_load_ratio * 100.0
            ),
        }
    }
}

/// The first headers with their frames.
fn some_of(headers: &[HeaderFrames]) -> String {
    const NAMED: usize = 4;
    let named = headers.iter().take(NAMED);
    let named = named
        .map(|HeaderFrames { header, frames }| format!("{}: {}", header.text(), counted(*frames, "frame")));
    let named: Vec<String> = named.collect();
    let more = headers.len().saturating_sub(NAMED);
    let and = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("{}{and}", named.join(", "))
}

/// A share in percent with one decimal, and with two significant digits below 1 %.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = (1..9).find(|decimals| percent * 10_f64.powi(*decimals) >= 9.5).unwrap_or(1);
    let decimals = usize::try_from(decimals).unwrap_or(1);
    format!("{percent:.decimals$}")
}
