//! What is asked much of, and what costs little.

use super::{Out, head, percent, row, us};
use crate::results::Results;
use crate::scale::fast::{Fast, INTERVAL};
use crate::scale::many::Many;
use crate::scale::voice::Voice;

/// A run at 100,000 probes a second in a line.
pub(crate) fn progress_fast(run: &Fast) -> String {
    format!(
        "  fast     {} of {} probes stamped at both ends, {:.0}/s; memory {} to {} and {} to {} KiB; iperf lost {} of {}",
        run.counts.stamped,
        run.asked,
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
        "  many     {} targets, {} of {} probes incomplete; deviation of a target: {} us, 95 % {}, most {}",
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
            run.asked.to_string(),
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
         process; one target alone right before, in the same watched state. The deviation of each target's round trips \
         by kernel stamps, of the packets that no gap of the host touched, in microseconds: of the target in the middle, of \
         the one above which one of twenty is, and of the last.\n",
    );
    let names = [
        "run",
        "targets",
        "probes",
        "incomplete",
        "deviation: middle",
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
            "\nThe target in the middle over one alone, median of the runs: {factor:.2}.\n"
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
