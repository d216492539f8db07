//! What is asked much of, and what costs little.

use super::table::{Out, head, percent, row, us};
use crate::results::Results;
use crate::scale::fast::{Fast, INTERVAL};
use crate::scale::frames::{Frames, SWEEP, Sweep};
use crate::scale::many::Many;
use crate::scale::voice::Voice;

/// A run at 100,000 probes a second in a line.
pub(crate) fn progress_fast(run: &Fast) -> String {
    format!(
        "  fast     {} of {} probes stamped at both ends, {:.0}/s; memory {} to {} and {} to {} KiB; iperf lost {} of {}",
        run.counts.stamped,
        run.requested,
        run.counts.rate_pps,
        run.sender.early_kib,
        run.sender.late_kib,
        run.responder.early_kib,
        run.responder.late_kib,
        run.iperf_lost,
        run.iperf_sent,
    )
}

/// One target, or many, in a line.
pub(crate) fn progress_many(many: &Many) -> String {
    let [middle, most, last] = many.spread().unwrap_or_default();
    format!(
        "  many     {} targets, {} of {} probes incomplete; scatter of a target: {} us, 95 % {}, most {}",
        many.targets,
        many.incomplete,
        many.probes,
        us(middle),
        us(most),
        us(last),
    )
}

/// The cost of a stream in a line.
pub(crate) fn progress_voice(voice: &Voice) -> String {
    format!(
        "  voice    {:<29} sender {}, responder {} of a core",
        voice.of.name(),
        percent(voice.sender_ratio),
        percent(voice.responder_ratio),
    )
}

/// Generator and analyser in a line.
pub(crate) fn progress_frames(run: &Frames) -> String {
    format!(
        "  bench    {} of {} frames with latency; at most {:.0}/s without loss, trafgen {:.0}/s, iperf 3 {:.0}/s; late by {} us, 99 % {}",
        run.with_latency,
        run.requested,
        run.highest_pps.unwrap_or_default(),
        run.trafgen_pps,
        run.iperf3_pps,
        us(run.lateness_p50_ns),
        us(run.lateness_p99_ns),
    )
}

/// The sweep in a line.
pub(crate) fn progress_sweep(sweep: &Sweep) -> String {
    format!("  sweep    {} trials in {:.0} s, {} of them invalid", sweep.trials, sweep.seconds, sweep.invalid)
}

pub(super) fn frames(out: &mut Out, results: &Results) {
    if results.frames.is_empty() {
        return;
    }
    out.push_str(
        "\n## Frames from generator to analyser\n\n`romer bench` over the link between the two hosts, frames of 64 octets, ten \
         seconds at 148,809 a second and at 14,881. *Highest*: the throughput that a search to 1 % of 1,000 Mbit/s finds \
         without one frame lost. trafgen sends as fast as one core can, and nobody but a counter looks at its frames; iperf 3 \
         sends datagrams of 18 octets as fast as it can. *Late*: how long after its moment a frame is given to the \
         interface, those among them that a gap of the host touched. *Own latency*: what the self-test finds on this link \
         at a tenth of the line's rate, in microseconds. *Floor*: one way over the same link by the kernel's stamps at sending \
         and arrival, 5,000 probes of 72 octets 1 ms apart, likewise: a path through the kernel's own stack, where the \
         test frames bypass it.\n",
    );
    let names = [
        "run",
        "frames",
        "sent",
        "with latency",
        "lost",
        "highest, /s",
        "trafgen, /s",
        "iperf 3, /s",
        "lost",
        "late: median",
        "99 %",
        "own latency: least",
        "median",
        "deviation",
        "floor: least",
        "median",
        "deviation",
        "longest gap",
        "gaps, share of the time",
    ];
    head(out, 1, &names);
    for run in &results.frames {
        let own = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), us);
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a gap")]
        let longest = run.longest_gap_ns as f64;
        let cells = [
            run.circumstances.run.to_string(),
            run.requested.to_string(),
            run.sent.to_string(),
            run.with_latency.to_string(),
            run.lost.to_string(),
            run.highest_pps.map_or_else(|| "-".to_owned(), |pps| format!("{pps:.0}")),
            format!("{:.0}", run.trafgen_pps),
            format!("{:.0}", run.iperf3_pps),
            percent(run.iperf3_lost_ratio),
            us(run.lateness_p50_ns),
            us(run.lateness_p99_ns),
            own(run.baseline.min_ns),
            own(run.baseline.median_ns),
            own(run.baseline.stddev_ns),
            us(run.floor.figures.min_ns),
            us(run.floor.median_ns),
            us(run.floor.figures.stddev_ns),
            us(longest),
            percent(run.circumstances.host.stolen_ratio),
        ];
        row(out, cells.iter().map(String::as_str));
    }
}

pub(super) fn sweep(out: &mut Out, results: &Results) {
    let Some(sweep) = &results.sweep else { return };
    // Results of versions that took the places for independent say so.
    let interval = if sweep.overall.iter().all(|one| one.repeats > 0) {
        "in the mean of the repeats, with its interval of 95 % over the repeats"
    } else {
        "with its interval of 95 % over these, which leaves out what all trials of a repeat have in common"
    };
    let text = format!(
        "\n## A sweep of the laboratory's router\n\nFrames of {} octets at {} of 20 Mbit/s, trials of 1 s, {} repeats, in the cases \
         none, classify and remark: {} trials in {:.0} s, of which {} told nothing of the router. What a case costs over \
         another, in the median latency, in microseconds: the median over all sizes and loads, {interval}.\n",
        SWEEP[0], SWEEP[1], sweep.repeats, sweep.trials, sweep.seconds, sweep.invalid,
    );
    out.push_str(&text);
    head(out, 2, &["case", "over", "sizes and loads", "cost", "interval"]);
    for one in &sweep.overall {
        let interval = one
            .median_interval
            .map_or_else(|| "-".to_owned(), |[low, high]| format!("{} to {}", us(low), us(high)));
        let cost = us(one.median.unwrap_or_default());
        row(out, [one.to.as_str(), one.from.as_str(), &one.combinations.to_string(), &cost, &interval]);
    }
}

pub(super) fn fast(out: &mut Out, results: &Results) {
    if results.fast.is_empty() {
        return;
    }
    let text = format!(
        "\n## 100,000 one-way probes a second\n\nOne every {INTERVAL}, IP packets of 64 octets, each logged at both ends. \
         *Stamped*: with the kernel's stamps of both ends in the log. Memory is resident, in KiB: the most in the second \
         fifth of the sending, the most in its last, and the most afterwards, when the sender has read its log back, \
         evaluated it and written the run. iperf 2 ran right behind at the same rate and size, for a fifth of the time; it \
         logs nothing.\n",
    );
    out.push_str(&text);
    let names = [
        "run",
        "probes",
        "sent",
        "arrived",
        "stamped",
        "a second",
        "sender's memory",
        "responder's memory",
        "sender, of a core",
        "responder",
        "iperf: sent",
        "lost",
        "gaps, share of the time",
    ];
    head(out, 1, &names);
    for run in &results.fast {
        let memory =
            |one: crate::scale::Memory| format!("{}, {}, {}", one.early_kib, one.late_kib, one.after_kib);
        let share = |ratio: Option<f64>| ratio.map_or_else(|| "-".to_owned(), percent);
        let cells = [
            run.circumstances.run.to_string(),
            run.requested.to_string(),
            run.counts.sent.to_string(),
            run.counts.received.to_string(),
            run.counts.stamped.to_string(),
            format!("{:.0}", run.counts.rate_pps),
            memory(run.sender),
            memory(run.responder),
            share(run.sender_cpu_ratio),
            share(run.responder_cpu_ratio),
            run.iperf_sent.to_string(),
            run.iperf_lost.to_string(),
            percent(run.circumstances.host.stolen_ratio),
        ];
        row(out, cells.iter().map(String::as_str));
    }
}

pub(super) fn many(out: &mut Out, results: &Results) {
    if results.many.is_empty() {
        return;
    }
    out.push_str(
        "\n## Many targets\n\nEach target an address of the far host with a session of its own, 50 probes a second, all in one \
         process; one target alone right before, in the same watched state. The scatter of each target's round trips \
         by kernel stamps, in microseconds (half of what lies between the values that 16 and 84 of a hundred packets stay \
         below; all packets count, and a gap of the host here and there does not move it): of the target in the middle, of \
         the one above which one of twenty is, and of the last. Beside many targets the sending thread is awake all the \
         time, because the next deadline is always near; hence its share of a core.\n",
    );
    let names = [
        "run",
        "targets",
        "probes",
        "incomplete",
        "scatter: middle",
        "95 %",
        "most",
        "of a core",
        "gaps, share of the time",
    ];
    head(out, 1, &names);
    for one in results.many.iter().flatten() {
        let [middle, most, last] = one.spread().map_or_else(Default::default, |spread| spread.map(us));
        let cells = [
            one.circumstances.run.to_string(),
            one.targets.to_string(),
            one.probes.to_string(),
            one.incomplete.to_string(),
            middle,
            most,
            last,
            one.cpu_ratio.map_or_else(|| "-".to_owned(), percent),
            percent(one.circumstances.host.stolen_ratio),
        ];
        row(out, cells.iter().map(String::as_str));
    }
    if let Some((factor, _)) = results.many_factor() {
        out.push_str(&format!(
            "\nWhat 19 of 20 targets do not exceed, over one alone, median of the runs: {factor:.2}.\n"
        ));
    }
}

pub(super) fn voice(out: &mut Out, results: &Results) {
    if results.voice.is_empty() {
        return;
    }
    out.push_str(
        "\n## What a voice stream costs\n\nMELP frames, two in a packet every 45 ms; irtt with packets as large at the same \
         pace. Processor time of both ends as the kernel counts it. *An hour*: what the measuring end would use in an hour, \
         its beginning and its end included.\n",
    );
    let names =
        ["", "looked at, s", "sender, of a core", "responder", "an hour, s", "gaps, share of the time"];
    head(out, 1, &names);
    for voice in &results.voice {
        let cells = [
            voice.of.name().to_owned(),
            format!("{:.0}", voice.seconds),
            percent(voice.sender_ratio),
            percent(voice.responder_ratio),
            format!("{:.0}", voice.sender_hour_s),
            percent(voice.circumstances.host.stolen_ratio),
        ];
        row(out, cells.iter().map(String::as_str));
    }
}
