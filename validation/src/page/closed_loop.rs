//! The closed loop's table.

use super::table::{Out, head, percent, row};
use crate::closed_loop::{LoopCell, Loops, Sample};

fn ms(nanos: f64) -> String {
    format!("{:.2}", nanos / 1e6)
}

fn both(cell: &LoopCell, of: impl Fn(&Sample) -> f64) -> String {
    format!("{} / {}", ms(of(&cell.measured)), ms(of(&cell.emulated)))
}

#[expect(clippy::cast_precision_loss, reason = "some milliseconds")]
fn spacing(cell: &LoopCell) -> String {
    format!("{:.0}", cell.spacing_ns as f64 / 1e6)
}

fn share(cell: &LoopCell) -> String {
    if cell.spread_ns > 0.0 { percent(cell.distance_ns / cell.spread_ns) } else { "-".to_owned() }
}

/// The section.
pub(crate) fn loops(out: &mut Out, loops: &Loops) {
    out.push_str(&format!(
        "\n## Closed loop\n\nNo packet is sent for this. Each path is measured for 2 minutes with probes every 20 ms, modelled as \
         `romer model` does it, and emulated. Then the measured path (2 minutes) and the emulated one (up to 10 times as long, at most 400,000 \
         packets) are compared at four packet spacings: measured / emulated, times in milliseconds. Probes weigh nothing, so that each \
         spacing is the same load. The bounds are 5 % or 1 ms for mean, \
         median and 95 %, 15 % or 1 ms for 99 %, no reordering, and for Wasserstein's distance 10 % of the spread from 5 % to 95 % (recorded \
         links: 20 %). If another measurement of the path would differ by more (95 % of pairs of series resampled from the probes by blocks), \
         that is the bound, and so it is for the loss. It took {:.0} s.\n",
        loops.seconds
    ));
    let names = ["path", "model", "outside", "spacing", "mean", "median", "95 %", "99 %", "loss", "distance"];
    head(out, 3, &names);
    for path in &loops.paths {
        for (number, cell) in path.cells.iter().enumerate() {
            let [name, model] = if number == 0 { [path.path.as_str(), path.model.as_str()] } else { [""; 2] };
            let loss =
                format!("{} / {}", percent(cell.measured.loss_ratio), percent(cell.emulated.loss_ratio));
            let cells = [
                name.to_owned(),
                model.to_owned(),
                cell.outside.join(", "),
                spacing(cell),
                both(cell, |sample| sample.mean_ns),
                both(cell, |sample| sample.p50_ns),
                both(cell, |sample| sample.p95_ns),
                both(cell, |sample| sample.p99_ns),
                loss,
                share(cell),
            ];
            row(out, cells.iter().map(String::as_str));
        }
    }
}
