//! What it takes to analyse a long run.

use super::table::{Out, head, row};
use crate::analyse::{Analysed, Cost};

fn ways(run: &Analysed) -> &'static str {
    if run.round_trips { "there and back" } else { "one way" }
}

#[expect(clippy::cast_precision_loss, reason = "rounded to a few digits")]
fn mega(octets: u64) -> String {
    format!("{:.1} MB", octets as f64 / 1e6)
}

#[expect(clippy::cast_precision_loss, reason = "rounded to a few digits")]
fn pace(packets: u64, cost: Cost) -> String {
    format!("{:.1}", packets as f64 / cost.seconds / 1e6)
}

/// A run in a line.
pub(crate) fn progress_analysed(run: &Analysed) -> String {
    format!(
        "  analyse  {} packets {}: {:.1} s, {} ({} million packets a second); the report {:.1} s, {}, {} of HTML; the floor {:.2} s",
        run.packets,
        ways(run),
        run.analysis.seconds,
        mega(run.analysis.peak_octets),
        pace(run.packets, run.analysis),
        run.report.seconds,
        mega(run.report.peak_octets),
        mega(run.page_octets),
        run.floor_seconds,
    )
}

/// The section.
pub(crate) fn analysed(out: &mut Out, runs: &[Analysed]) {
    if runs.is_empty() {
        return;
    }
    out.push_str(
        "\n## Analysis\n\nRuns that are made up (packets that wait in a queue, clocks 20 ppm apart, 0.2 % lost, 0.2 % out of order, 0.2 % twice), written as \
         `romer measure` leaves them, and read by `romer analyze RUN --json FILE` and `romer report RUN --html FILE` in \
         processes of their own: from start to end, and the most resident memory. The floor is what the simplest program \
         needs to read the octets of the same file and to sort the delays of one way once.\n",
    );
    head(
        out,
        2,
        &[
            "packets",
            "file",
            "analysis, s",
            "million packets a second",
            "memory",
            "report, s",
            "memory",
            "page",
            "floor, s",
        ],
    );
    for run in runs {
        let cells = [
            format!("{} {}", run.packets, ways(run)),
            mega(run.octets),
            format!("{:.1}", run.analysis.seconds),
            pace(run.packets, run.analysis),
            mega(run.analysis.peak_octets),
            format!("{:.1}", run.report.seconds),
            mega(run.report.peak_octets),
            mega(run.page_octets),
            format!("{:.2}", run.floor_seconds),
        ];
        row(out, cells.iter().map(String::as_str));
    }
}
