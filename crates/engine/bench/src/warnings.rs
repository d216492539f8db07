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
            warnings.push(format!(
                "the tester was not tested ({why}): nothing says how much of a loss or a latency is its own"
            ));
        }
        Some(proof) if proof.found.tests.iter().any(|test| !test.held) => {
            warnings.push("the tester is not in all what it is asked for: see its claims".into());
        }
        Some(_) => {}
    }
    let invalid = kept.iter().filter(|kept| kept.trial.invalid.is_some()).count();
    if invalid > 0 {
        warnings.push(format!(
            "{invalid} of {} nothing of the device; see why with each",
            counted_as(kept.len() as u64, "trial tells", "trials tell")
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
            "of {} of the device, {lost} lost frames are laid to the tester, which loss_ratio leaves out: see \
             lost_by_tester and lost_by_device of each",
            counted_as(trials, "trial that tells", "trials that tell")
        ));
    }
    warnings.extend(tester_limits(kept));
    warnings.extend(proof.and_then(|proof| beyond_proof(proof, kept)));
    if options.real_line().is_none() {
        warnings.push(
            "neither interface has a line rate: frames leave as fast as they are given, and loads are shares of the \
             rate stated by --line-rate"
                .into(),
        );
    }
    let below = kept.iter().filter(|kept| kept.trial.latency_ns.min.is_some_and(|least| least < 0.0)).count();
    if below > 0 {
        warnings.push(format!(
            "{} latencies below zero: the tester's own part, which is subtracted, was measured at a tenth of the \
             line's rate with the shortest frames, and is less at other loads and sizes",
            counted_as(below as u64, "trial has", "trials have")
        ));
    }
    if let (Some(least), false) =
        (options.frames.iter().filter_map(Frames::size).min(), options.too_small.is_empty())
    {
        let asked: Vec<String> = options.too_small.iter().map(|size| size.octets().to_string()).collect();
        warnings.push(format!(
            "frames of {} octets were asked for: they have no room for the streams' headers and the test data, and are sent \
             and told as frames of {}",
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
            "the tester's host was away: up to {bursts} frames left at once to make up for it, which a device may not \
             hold; see longest_catch_up of each trial"
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
            "the tester is the limit: of frames {frames} it could offer {most:.0} a second at the most, where up to {due:.0} were due"
        )
    };
    limits.into_iter().map(words).collect()
}

/// That streams share the bucket that a policer is judged by.
fn one_bucket(options: &BenchOptions) -> Option<String> {
    let sharing = options.streams.iter().filter(|stream| stream.profile.is_none()).count();
    (options.claims.profile.is_some() && sharing > 1).then(|| {
        format!(
            "{sharing} streams are judged as one bucket together, whatever their markings; where the device has a bucket for each \
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
        "{} lost frames at rates above the {proven:.0} frames a second that the tester has proved: these are the device's \
         up to what the tester may have lost without knowing, which in its own tests at such rates was {:.3} % at the most; see \
         lost_by_device of each",
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
            "{} fewer than {ENOUGH} frames, and as few as {least}: a frame more or less is a large part of the load and \
             of the loss; make trials longer (--trial), or take a higher --line-rate or higher --loads",
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
            "the device translates or encapsulates: frames come out with headers that they were not sent with ({}{and}) and whole test \
             data, so that their loss and latency are known; lengths and markings are not compared where other headers are around them",
            named.join(", ")
        )
    })
}

/// That the wait for the frames of trials ended while they still came.
fn still_coming(options: &BenchOptions, kept: &[Kept]) -> Option<String> {
    let cut = kept.iter().filter(|kept| kept.trial.still_coming).count() as u64;
    (cut > 0).then(|| {
        format!(
            "{} when the longest wait for frames was over: what came later counts as lost; a longer --settle ({} now) waits for it",
            counted_as(cut, "trial still had frames coming", "trials still had frames coming"),
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
        "no frame of {shortest_that_did_not} octets or more came, and frames of {longest_that_came} did: look at the MTU of the device's \
         interfaces, which is to be {} at the least for them",
        shortest_that_did_not - around
    ))
}

/// That a reset cost no frame: nothing shows that there was one.
fn no_reset(kept: &[Kept]) -> Option<String> {
    let valid = kept.iter().map(|kept| &kept.trial).filter(|trial| trial.invalid.is_none());
    let whole = valid.filter(|trial| trial.purpose == Ask::RESET && trial.lost + trial.unlinked == 0).count();
    (whole > 0).then(|| {
        format!(
            "in {} the reset cost no frame: either the device forwards while it is reset, or nothing was reset; see what \
             the command does (--reset)",
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
            "the classes carried {:.1} % of the capacity together, and are judged by shares of it: the line carries more than was \
             stated (--capacity), or its rate counts other octets (of frames without their check sequences, as Linux counts them, it \
             is 4 octets a frame more; with preamble and gap, 20 less)",
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
                "stream {}: frames of {size} octets have no room for its headers and the test data, and are {} octets long",
                stream.name, flow.least
            ))
        })
        .collect()
}
