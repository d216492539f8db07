//! What a reader should know before trusting a benchmark's numbers.

use std::collections::BTreeMap;

use romer_method::{Ask, Frames};
use romer_units::{Duration, counted, counted_as};

use crate::classes::{TOLERANCE, classes};
use crate::frames::{flows, sizes_of};
use crate::options::{BenchOptions, StreamOptions};
use crate::proof::{NEARLY, Proof, unaccounted};
use crate::trial::{FEW_AT_ONCE, Kept};

/// All of it, of a benchmark that has ended.
pub(crate) fn warnings(options: &BenchOptions, proof: Option<&Proof>, kept: &[Kept]) -> Vec<String> {
    let mut warnings = options.notes.clone();
    match proof {
        None => {
            let why =
                if options.self_test.is_none() { "--skip-self-test" } else { "its test was interrupted" };
            warnings
                .push(format!("no self-test ({why}): the loss and latency of the tester itself are unknown"));
        }
        Some(proof) if proof.found.tests.iter().any(|test| !test.held) => {
            warnings.push("the tester failed part of its self-test; see \"self_test\"".into());
        }
        Some(_) => {}
    }
    let invalid = kept.iter().filter(|kept| kept.trial.invalid.is_some()).count();
    if invalid > 0 {
        warnings.push(format!(
            "{invalid} of {} discarded (inconclusive); see \"invalid\" of each",
            counted_as(kept.len() as u64, "trial", "trials")
        ));
    }
    let shared = kept
        .iter()
        .map(|kept| &kept.trial)
        .filter(|trial| trial.invalid.is_none() && trial.lost_by_tester > 0);
    let (trials, lost) =
        shared.fold((0_u64, 0), |(trials, lost), trial| (trials + 1, lost + trial.lost_by_tester));
    if trials > 0 {
        warnings.push(format!(
            "in {}, {lost} lost frames are attributed to the tester and excluded from loss_ratio; see lost_by_tester and \
             lost_by_device of each",
            counted(trials, "trial")
        ));
    }
    warnings.extend(tester_limits(kept));
    warnings.extend(proof.and_then(|proof| beyond_proof(proof, kept)));
    if options.real_line().is_none() {
        warnings.push("virtual interfaces have no line rate: loads are relative to --line-rate".into());
    }
    let below = kept.iter().filter(|kept| kept.trial.latency_ns.min.is_some_and(|least| least < 0.0)).count();
    if below > 0 {
        warnings.push(format!(
            "{} latencies below zero: the subtracted tester latency was measured at 10 % of the line rate with the shortest \
             frames, and is lower at other loads and sizes",
            counted_as(below as u64, "trial has", "trials have")
        ));
    }
    if let (Some(least), false) =
        (options.frames.iter().filter_map(Frames::size).min(), options.too_small.is_empty())
    {
        let asked: Vec<String> = options.too_small.iter().map(|size| size.octets().to_string()).collect();
        warnings.push(format!(
            "frames of {} bytes were requested: they are too short for the stream headers and the test data, and are replaced by \
             frames of {}",
            asked.join(", "),
            least.octets()
        ));
    }
    warnings.extend(options.in_step_words());
    for stream in unfit(options) {
        warnings.push(stream);
    }
    warnings.extend(beyond_capacity(options, kept));
    warnings.extend(too_short(kept));
    warnings.extend(still_coming(options, kept));
    warnings.extend(other_headers(kept));
    warnings.extend(too_long(options, kept));
    warnings.extend(no_reset(kept));
    warnings.extend(one_bucket(options));
    // What could not leave while a link was down leaves when it is back; the device was away then, not the host.
    let there = kept.iter().filter(|kept| !kept.trial.device_away && kept.trial.invalid.is_none());
    let bursts = there.map(|kept| kept.trial.longest_catch_up).max().unwrap_or(0);
    if bursts > FEW_AT_ONCE {
        warnings.push(format!(
            "the host was descheduled (vCPU or steal): bursts of up to {bursts} frames followed, which a device may not buffer; \
             see longest_catch_up of each trial"
        ));
    }
    warnings
}

/// Of which frames the tester could offer less than was to be sent, and how much it could.
fn tester_limits(kept: &[Kept]) -> Vec<String> {
    let mut limits: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for kept in kept {
        let Some(limit) = kept.trial.tester_limit_pps else { continue };
        let [most, due] = limits.entry(kept.frames.to_string()).or_default();
        (*most, *due) = (most.max(limit), due.max(kept.trial.intended_load.pps));
    }
    let words = |(frames, [most, due]): (String, [f64; 2])| {
        format!(
            "limited by the tester: of frames {frames} it can send at most {most:.0} frames/s, and up to {due:.0} were requested"
        )
    };
    limits.into_iter().map(words).collect()
}

/// That streams share the bucket that a policer is judged by.
fn one_bucket(options: &BenchOptions) -> Option<String> {
    let sharing = options.streams.iter().filter(|stream| stream.profile.is_none()).count();
    (options.claims.profile.is_some() && sharing > 1).then(|| {
        format!(
            "{sharing} streams are judged by one common bucket, whatever their markings; if the device has a bucket for each \
             class, give each stream its own (--stream profile=)"
        )
    })
}

/// That trials lost frames at rates which the tester has not proved, and why these are the device's all the same.
fn beyond_proof(proof: &Proof, kept: &[Kept]) -> Option<String> {
    let proven = proof.found.highest_pps.unwrap_or(0.0);
    let rate = |kept: &Kept| kept.trial.intended_load.pps;
    let beyond = kept
        .iter()
        .filter(|kept| kept.trial.invalid.is_none() && kept.trial.lost > 0 && rate(kept) > proven * NEARLY);
    let (trials, most) = beyond.fold((0_u64, 0.0), |(trials, most), kept| (trials + 1, rate(kept).max(most)));
    let ratio = unaccounted(&proof.found, most).filter(|_| trials > 0)?;
    Some(format!(
        "{} lost frames at rates above the {proven:.0} frames/s of the self-test: the tester itself may have lost up to {:.3} % \
         of them, the maximum in the self-test at such rates; see lost_by_device of each",
        counted(trials, "trial"),
        ratio * 100.0
    ))
}

/// That trials have so few frames that their load is not the one that was asked for.
fn too_short(kept: &[Kept]) -> Option<String> {
    /// With as many, one more or less is a hundredth.
    const ENOUGH: u64 = 100;
    let valid = kept.iter().map(|kept| &kept.trial).filter(|trial| trial.invalid.is_none());
    let few = valid.filter(|trial| trial.purpose != Ask::BURST && trial.intended_load.frames < ENOUGH);
    let (trials, least) =
        few.fold((0, u64::MAX), |(trials, least), trial| (trials + 1, least.min(trial.intended_load.frames)));
    (trials > 0).then(|| {
        format!(
            "{} fewer than {ENOUGH} frames (minimum {least}): one frame is a large part of the load and of the loss; use longer \
             trials (--trial), or a higher --line-rate or --loads",
            counted_as(trials, "trial has", "trials have")
        )
    })
}

/// That the device translates or encapsulates frames.
fn other_headers(kept: &[Kept]) -> Option<String> {
    /// So many of them are named.
    const NAMED: usize = 4;
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for (header, count) in kept.iter().flat_map(|kept| &kept.trial.other_headers) {
        *all.entry(header).or_default() += count;
    }
    let named =
        all.iter().take(NAMED).map(|(header, count)| format!("{header}: {}", counted(*count, "frame")));
    let named: Vec<String> = named.collect();
    let more = all.len().saturating_sub(NAMED);
    let and = if more > 0 { format!(", and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| {
        format!(
            "the device translates or encapsulates: frames arrived with other headers ({}{and}) and intact test data. Their loss and \
             latency are known; lengths and markings of encapsulated frames are not compared",
            named.join(", ")
        )
    })
}

/// That the wait for the frames of trials ended while they still came.
fn still_coming(options: &BenchOptions, kept: &[Kept]) -> Option<String> {
    let cut = kept.iter().filter(|kept| kept.trial.still_coming).count() as u64;
    (cut > 0).then(|| {
        format!(
            "{} frames after the maximum wait: later frames count as lost; use a longer --settle (now {})",
            counted_as(cut, "trial still received", "trials still received"),
            options.settle
        )
    })
}

/// That of the longest frames none came, where of shorter ones some did.
fn too_long(options: &BenchOptions, kept: &[Kept]) -> Option<String> {
    let valid = kept.iter().filter(|kept| kept.trial.invalid.is_none() && kept.trial.offered.frames > 0);
    let mut came: BTreeMap<u32, u64> = BTreeMap::new();
    for kept in valid {
        *came.entry(kept.frames.size()?.octets()).or_default() += kept.trial.carried.frames;
    }
    let longest_that_came = came.iter().rev().find(|(_, carried)| **carried > 0).map(|(size, _)| *size)?;
    let shortest_that_did_not = came.keys().copied().find(|size| *size > longest_that_came)?;
    let around = options.streams.iter().map(StreamOptions::around_packets).min()?;
    Some(format!(
        "no frame of {shortest_that_did_not} bytes or more arrived, and frames of {longest_that_came} bytes did: check the MTU of \
         the device, which must be at least {}",
        shortest_that_did_not - around
    ))
}

/// That a reset cost no frame: nothing shows that there was one.
fn no_reset(kept: &[Kept]) -> Option<String> {
    let valid = kept.iter().map(|kept| &kept.trial).filter(|trial| trial.invalid.is_none());
    let whole = valid.filter(|trial| trial.purpose == Ask::RESET && trial.lost + trial.unlinked == 0).count();
    (whole > 0).then(|| {
        format!(
            "in {} the reset lost no frame: the device forwards during a reset, or was not reset; check the command (--reset)",
            counted(whole as u64, "trial")
        )
    })
}

/// That the classes carried more than the capacity that they are judged by. A frame that was under way already when a trial began
/// to count, or a whole one at its end, is none.
fn beyond_capacity(options: &BenchOptions, kept: &[Kept]) -> Option<String> {
    let (_, capacity) = options.claims.scheduler?;
    let valid = kept.iter().filter(|kept| kept.trial.invalid.is_none());
    let carried = valid.map(|kept| {
        let streams = &kept.trial.per_stream;
        let largest =
            classes(options, &kept.frames, streams, capacity).iter().map(|class| class.sizes[1]).max();
        let length = Duration::from_nanos(kept.trial.duration_ns).as_secs_f64().max(1e-9);
        let a_frame = f64::from(largest.unwrap_or(0)) * 8.0 / length;
        streams.iter().map(|stream| stream.carried_l2_bps).sum::<f64>() - a_frame
    });
    let most = carried.fold(0.0, f64::max) / capacity;
    (most > 1.0 + TOLERANCE).then(|| {
        format!(
            "the classes forwarded {:.1} % of the capacity: the line is faster than stated (--capacity), or its rate counts other \
             bytes per frame (without check sequence, as Linux counts: 4 fewer; with preamble and gap: 20 more)",
            most * 100.0
        )
    })
}

/// Streams whose headers leave no room for the test data in the smallest of their frames.
fn unfit(options: &BenchOptions) -> Vec<String> {
    let smallest = |frames: &Frames| sizes_of(frames, 0).first().copied();
    let streams = options.streams.iter().zip(flows(options));
    streams
        .filter_map(|(stream, flow)| {
            let of_all = || options.frames.iter().filter_map(smallest).min();
            let size = stream.frames.as_ref().map_or_else(of_all, smallest);
            let size = size.filter(|size| *size < flow.least)?;
            Some(format!(
                "stream {}: frames of {size} bytes are too short for its headers and the test data, and are sent with {} bytes",
                stream.name, flow.least
            ))
        })
        .collect()
}
