//! The emulator, table by table.

use super::table::{Out, head, line, percent, row, us};
use crate::results::{Emulation, Results, middle, target};
use crate::scale::emulated::{Alone, Case, CaseGroup, Emulated, Resident};

/// A case in a line.
pub(crate) fn progress_emulated(one: &Emulated) -> String {
    format!(
        "  emulate  {:>4} B {:>6}/s {:<20} hold error {:>6} us, 99 % {:>6}; external {:>6} us (one link {}); dropped {}, unaccounted {}; \
         offered {:.0}/s   [{}]",
        one.case.octets,
        one.case.pps,
        target(one.case.target),
        maybe(one.hold_error_p50_ns),
        maybe(one.hold_error_p99_ns),
        maybe(one.external.map(|external| external.p50_ns)),
        maybe(one.external.and(one.link_p50_ns)),
        one.dropped,
        one.unaccounted(),
        one.offered_pps,
        one.case.table.title(),
    )
}

/// The generator without the emulator in a line.
pub(crate) fn progress_alone(alone: &Alone) -> String {
    format!(
        "  emulate  without the emulator, both ways: {:.0}/s each way, {} of {} came; at most {:.0}/s each way",
        alone.offered_pps, alone.came, alone.sent, alone.most_pps,
    )
}

/// Its memory in a line.
pub(crate) fn progress_resident(resident: &Resident) -> String {
    format!(
        "  emulate  memory at {:.0}/s: {} KiB early, {} KiB late",
        resident.offered_pps, resident.memory.early_kib, resident.memory.late_kib,
    )
}

fn maybe(nanos: Option<f64>) -> String {
    nanos.map_or_else(|| "-".to_owned(), us)
}

pub(super) fn emulated(out: &mut Out, results: &Results) {
    let results = &results.emulation;
    let cases = results.cases();
    let Some((_, first)) = cases.first() else { return };
    line(
        out,
        format_args!(
            "\n## The emulator\n\nThe tables of Pham 2004 in our numbers: frames of 64, 759 and 1,518 octets at 10, 50 and 100 % of \
             100 Mbit/s, over virtual links (data plane: {}), generator, emulator and receivers sharing this machine's cores. \
             Times in microseconds, each the median of the runs; counts of all runs together. *Hold error*: what the \
             emulator held a packet beyond what was asked, by its own account. *External*: from the generator's clock before it \
             gave a frame to the link to the kernel's stamp at the far end, without what was asked; the two links, the sending \
             of the frame and the generator's own gaps are in it. *One link*: the same to where the emulator would receive the \
             frame, without it: what it adds, with the second link, is the difference. *Seed*: its means, on a board of its own over wires; \
             external in 7.2 the latency between its ports, elsewhere what the delay added to that; *at most* is what it \
             managed a second where that is less than what is sent here. *Dropped*: without being asked to. *Unaccounted*: \
             sent and not received by the emulator, or sent on by it and not come, or neither lost nor sent on.",
            first[0].data_plane
        ),
    );
    for table in CaseGroup::ALL {
        let here: Vec<_> = cases.iter().filter(|(case, _)| case.table == table).collect();
        if here.is_empty() {
            continue;
        }
        line(out, format_args!("\n### {}", table.title()));
        let names = [
            "octets",
            "asked, /s",
            "delay",
            "offered, /s",
            "hold error: p50",
            "p99",
            "seed",
            "external: p50",
            "p99",
            "one link: p50",
            "seed",
            "seed, at most /s",
            "sent",
            "dropped",
            "unaccounted",
            "gaps, share of the time",
        ];
        head(out, 0, &names);
        for (case, runs) in here {
            cells(out, case, runs);
        }
    }
    comparison_table(out, results);
}

fn cells(out: &mut Out, case: &Case, runs: &[&Emulated]) {
    let figure = |of: fn(&Emulated) -> Option<f64>| maybe(middle(runs, of));
    let theirs = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
    let sum = |of: fn(&Emulated) -> u64| runs.iter().map(|one| of(one)).sum::<u64>().to_string();
    let offered = middle(runs, |one| Some(one.offered_pps)).unwrap_or_default();
    let stolen = middle(runs, |one| Some(one.circumstances.host.stolen_ratio)).unwrap_or_default();
    let cells = [
        case.octets.to_string(),
        case.pps.to_string(),
        target(case.target),
        format!("{offered:.0}"),
        figure(|one| one.hold_error_p50_ns),
        figure(|one| one.hold_error_p99_ns),
        theirs(case.theirs.internal_us),
        figure(|one| Some(one.external?.p50_ns)),
        figure(|one| Some(one.external?.p99_ns)),
        figure(|one| one.external.and(one.link_p50_ns)),
        theirs(case.theirs.external_us),
        case.theirs.most_pps.map_or_else(|| "-".to_owned(), |pps| pps.to_string()),
        sum(|one| one.sent),
        sum(|one| one.dropped),
        sum(Emulated::unaccounted),
        percent(stolen),
    ];
    row(out, cells.iter().map(String::as_str));
}

/// What is not the emulator between two hosts.
fn comparison_table(out: &mut Out, results: &Emulation) {
    if !results.alone.is_empty() {
        out.push_str(
            "\n### Without the emulator\n\nGenerator (one thread for both ways) and receivers over one link each, 64 octets, both ways \
             at once.\n",
        );
        head(out, 1, &["run", "asked, /s each way", "offered", "sent", "came", "at most, /s each way"]);
        for alone in &results.alone {
            let cells = [
                alone.circumstances.run.to_string(),
                crate::scale::emulated::MAX_PACKETS_PER_SECOND.to_string(),
                format!("{:.0}", alone.offered_pps),
                alone.sent.to_string(),
                alone.came.to_string(),
                format!("{:.0}", alone.most_pps),
            ];
            row(out, cells.iter().map(String::as_str));
        }
    }
    if !results.resident.is_empty() {
        out.push_str("\n### Resident memory of `romer emulate`, 148,809 packets a second held for 100 ms\n");
        head(out, 1, &["run", "offered, /s", "early, KiB", "late, KiB"]);
        for resident in &results.resident {
            let cells = [
                resident.circumstances.run.to_string(),
                format!("{:.0}", resident.offered_pps),
                resident.memory.early_kib.to_string(),
                resident.memory.late_kib.to_string(),
            ];
            row(out, cells.iter().map(String::as_str));
        }
    }
    if !results.engine.is_empty() {
        out.push_str("\n### The engine alone, nanoseconds a packet (the least of three times a million)\n");
        head(out, 1, &["impairment", "ns a packet"]);
        for cost in &results.engine {
            row(out, [cost.impairment, &format!("{:.0}", cost.packet_ns)]);
        }
    }
}
