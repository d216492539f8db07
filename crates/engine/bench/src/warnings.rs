//! What a reader should know before trusting a benchmark's numbers.

use std::collections::BTreeMap;

use romer_method::{Frames, TrialRequest};
use romer_record::benchmark::{ChangedHeader, HeaderFrames};
use romer_record::warning::BenchmarkWarning;
use romer_units::Duration;

use crate::classes::{TOLERANCE, classes};
use crate::frames::{flows, sizes_of};
use crate::options::{BenchOptions, StreamOptions};
use crate::tester_evidence::{RATE_TOLERANCE_FACTOR, TesterEvidence, unaccounted};
use crate::trial::{CaseTrial, FEW_AT_ONCE};

/// All of it, of a benchmark that has ended.
pub(crate) fn warnings(
    options: &BenchOptions,
    proof: Option<&TesterEvidence>,
    kept: &[CaseTrial],
) -> Vec<BenchmarkWarning> {
    let mut warnings = options.notes.clone();
    match proof {
        None => {
            let interrupted = options.self_test.is_some();
            warnings.push(BenchmarkWarning::SelfTestMissing { interrupted });
        }
        Some(proof) if proof.found.tests.iter().any(|test| !test.passed) => {
            warnings.push(BenchmarkWarning::SelfTestFailed);
        }
        Some(_) => {}
    }
    let invalid = kept.iter().filter(|kept| kept.trial.invalid.is_some()).count();
    if invalid > 0 {
        let (discarded, trials) = (invalid as u64, kept.len() as u64);
        warnings.push(BenchmarkWarning::TrialsDiscarded { discarded, trials });
    }
    let shared = kept
        .iter()
        .map(|kept| &kept.trial)
        .filter(|trial| trial.invalid.is_none() && trial.lost_by_tester > 0);
    let (trials, lost) =
        shared.fold((0_u64, 0), |(trials, lost), trial| (trials + 1, lost + trial.lost_by_tester));
    if trials > 0 {
        warnings.push(BenchmarkWarning::LossOfTester { trials, frames: lost });
    }
    warnings.extend(tester_limits(kept));
    warnings.extend(proof.and_then(|proof| beyond_proof(proof, kept)));
    if options.real_line().is_none() {
        warnings.push(BenchmarkWarning::LineRateVirtual);
    }
    let below = kept.iter().filter(|kept| kept.trial.latency_ns.min.is_some_and(|least| least < 0.0)).count();
    if below > 0 {
        warnings.push(BenchmarkWarning::LatencyNegative { trials: below as u64 });
    }
    if let (Some(least), false) =
        (options.frames.iter().filter_map(Frames::size).min(), options.too_small.is_empty())
    {
        warnings.push(BenchmarkWarning::FramesTooShort {
            requested_bytes: options.too_small.iter().map(|size| size.octets()).collect(),
            sent_bytes: least.octets(),
        });
    }
    warnings.extend(options.in_step_warning());
    warnings.extend(unfit(options));
    warnings.extend(beyond_capacity(options, kept));
    warnings.extend(too_short(kept));
    warnings.extend(still_arriving(options, kept));
    warnings.extend(dropped_streams(options));
    warnings.extend(other_headers(kept));
    warnings.extend(too_long(options, kept));
    warnings.extend(no_reset(kept));
    warnings.extend(one_bucket(options));
    // What could not leave while a link was down leaves when it is back; the device was away then, not the host.
    let there = kept.iter().filter(|kept| !kept.trial.device_unreachable && kept.trial.invalid.is_none());
    let bursts = there.map(|kept| kept.trial.longest_catch_up).max().unwrap_or(0);
    if bursts > FEW_AT_ONCE {
        warnings.push(BenchmarkWarning::HostDescheduled { burst_frames: bursts });
    }
    warnings
}

/// Of which frames the tester could offer less than was to be sent, and how much it could.
fn tester_limits(kept: &[CaseTrial]) -> Vec<BenchmarkWarning> {
    let mut limits: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for kept in kept {
        let Some(limit) = kept.trial.tester_limit_pps else { continue };
        let [most, due] = limits.entry(kept.frames.to_string()).or_default();
        (*most, *due) = (most.max(limit), due.max(kept.trial.intended_load.pps));
    }
    let warning = |(frames, [limit_pps, requested_pps]): (String, [f64; 2])| {
        BenchmarkWarning::TesterRateLimit { frames, limit_pps, requested_pps }
    };
    limits.into_iter().map(warning).collect()
}

/// That streams share the bucket that a policer is judged by.
fn one_bucket(options: &BenchOptions) -> Option<BenchmarkWarning> {
    let sharing = options.streams.iter().filter(|stream| stream.profile.is_none()).count();
    (options.claims.profile.is_some() && sharing > 1)
        .then_some(BenchmarkWarning::BucketShared { streams: sharing as u64 })
}

/// That trials lost frames at rates which the tester has not proved, and why these are the device's all the same.
fn beyond_proof(proof: &TesterEvidence, kept: &[CaseTrial]) -> Option<BenchmarkWarning> {
    let proven = proof.found.highest_pps.unwrap_or(0.0);
    let rate = |kept: &CaseTrial| kept.trial.intended_load.pps;
    let beyond = kept.iter().filter(|kept| {
        kept.trial.invalid.is_none() && kept.trial.lost > 0 && rate(kept) > proven * RATE_TOLERANCE_FACTOR
    });
    let (trials, most) = beyond.fold((0_u64, 0.0), |(trials, most), kept| (trials + 1, rate(kept).max(most)));
    let ratio = unaccounted(&proof.found, most).filter(|_| trials > 0)?;
    Some(BenchmarkWarning::LossBeyondSelfTest { trials, self_test_pps: proven, tester_loss_ratio: ratio })
}

/// That trials have so few frames that their load is not the one that was asked for.
fn too_short(kept: &[CaseTrial]) -> Option<BenchmarkWarning> {
    /// With as many, one more or less is a hundredth.
    const MIN_FRAMES_PER_TRIAL: u64 = 100;
    let valid = kept.iter().map(|kept| &kept.trial).filter(|trial| trial.invalid.is_none());
    let few = valid.filter(|trial| {
        trial.purpose != TrialRequest::BURST && trial.intended_load.frames < MIN_FRAMES_PER_TRIAL
    });
    let (trials, least) =
        few.fold((0, u64::MAX), |(trials, least), trial| (trials + 1, least.min(trial.intended_load.frames)));
    (trials > 0).then_some(BenchmarkWarning::FewFrames {
        trials,
        needed_frames: MIN_FRAMES_PER_TRIAL,
        min_frames: least,
    })
}

/// That the load has streams that the device is to drop.
fn dropped_streams(options: &BenchOptions) -> Option<BenchmarkWarning> {
    let dropped = options.streams.iter().filter(|stream| stream.expect_drop);
    let streams: Vec<String> = dropped.map(|stream| stream.name.clone()).collect();
    let frames = options.frames.first().filter(|_| !streams.is_empty())?;
    let [all, some] = [options.nominal(frames, 1.0), options.to_carry(frames, 1.0)].map(|load| load.pps);
    let offered_ratio = 1.0 - some / all.max(1e-9);
    Some(BenchmarkWarning::DroppedStreamsOffered { streams, offered_ratio })
}

/// That the device translates or encapsulates frames.
fn other_headers(kept: &[CaseTrial]) -> Option<BenchmarkWarning> {
    let mut counts: BTreeMap<ChangedHeader, u64> = BTreeMap::new();
    for HeaderFrames { header, frames } in kept.iter().flat_map(|kept| &kept.trial.other_headers) {
        *counts.entry(*header).or_default() += frames;
    }
    let headers: Vec<HeaderFrames> =
        counts.into_iter().map(|(header, frames)| HeaderFrames { header, frames }).collect();
    (!headers.is_empty()).then_some(BenchmarkWarning::HeadersChanged { headers })
}

/// That the wait for the frames of trials ended while they still came.
fn still_arriving(options: &BenchOptions, kept: &[CaseTrial]) -> Option<BenchmarkWarning> {
    let cut = kept.iter().filter(|kept| kept.trial.still_arriving).count() as u64;
    (cut > 0)
        .then(|| BenchmarkWarning::FramesStillArriving { trials: cut, settle_ns: options.settle.as_nanos() })
}

/// That of the longest frames none came, where of shorter ones some did.
fn too_long(options: &BenchOptions, kept: &[CaseTrial]) -> Option<BenchmarkWarning> {
    let valid = kept.iter().filter(|kept| kept.trial.invalid.is_none() && kept.trial.offered.frames > 0);
    let mut came: BTreeMap<u32, u64> = BTreeMap::new();
    for kept in valid {
        *came.entry(kept.frames.size()?.octets()).or_default() += kept.trial.forwarded.frames;
    }
    let longest_that_came =
        came.iter().rev().find(|(_, forwarded)| **forwarded > 0).map(|(size, _)| *size)?;
    let shortest_that_did_not = came.keys().copied().find(|size| *size > longest_that_came)?;
    let around = options.streams.iter().map(StreamOptions::around_packets).min()?;
    Some(BenchmarkWarning::LongFramesLost {
        lost_bytes: shortest_that_did_not,
        arrived_bytes: longest_that_came,
        mtu_bytes: shortest_that_did_not - around,
    })
}

/// That a reset cost no frame: nothing shows that there was one.
fn no_reset(kept: &[CaseTrial]) -> Option<BenchmarkWarning> {
    let valid = kept.iter().map(|kept| &kept.trial).filter(|trial| trial.invalid.is_none());
    let whole = valid
        .filter(|trial| trial.purpose == TrialRequest::RESET && trial.lost + trial.unlinked == 0)
        .count();
    (whole > 0).then_some(BenchmarkWarning::ResetWithoutLoss { trials: whole as u64 })
}

/// That the classes forwarded more than the capacity that they are judged by. A frame that was under way already when a trial began
/// to count, or a whole one at its end, is none.
fn beyond_capacity(options: &BenchOptions, kept: &[CaseTrial]) -> Option<BenchmarkWarning> {
    let (_, capacity) = options.claims.scheduler?;
    let valid = kept.iter().filter(|kept| kept.trial.invalid.is_none());
    let forwarded = valid.map(|kept| {
        let streams = &kept.trial.per_stream;
        let largest =
            classes(options, &kept.frames, streams, capacity).iter().map(|class| class.sizes[1]).max();
        let length = Duration::from_nanos(kept.trial.duration_ns).as_secs_f64().max(1e-9);
        let a_frame = f64::from(largest.unwrap_or(0)) * 8.0 / length;
        streams.iter().map(|stream| stream.forwarded_l2_bps).sum::<f64>() - a_frame
    });
    let most = forwarded.fold(0.0, f64::max) / capacity;
    (most > 1.0 + TOLERANCE).then_some(BenchmarkWarning::CapacityExceeded { forwarded_ratio: most })
}

/// Streams whose headers leave no room for the test data in the smallest of their frames.
fn unfit(options: &BenchOptions) -> Vec<BenchmarkWarning> {
    let smallest = |frames: &Frames| sizes_of(frames, 0).first().copied();
    let streams = options.streams.iter().zip(flows(options));
    streams
        .filter_map(|(stream, flow)| {
            let of_all = || options.frames.iter().filter_map(smallest).min();
            let size = stream.frames.as_ref().map_or_else(of_all, smallest);
            let size = size.filter(|size| *size < flow.least)?;
            Some(BenchmarkWarning::StreamFramesTooShort {
                stream: stream.name.clone(),
                requested_bytes: size,
                sent_bytes: flow.least,
            })
        })
        .collect()
}
