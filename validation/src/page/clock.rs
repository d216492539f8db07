//! The clocks' table.

use super::table::{Out, head, row};
use crate::clock::{Cell, Clocks, GROUP};

/// Two or three digits that mean something.
fn ppm(value: Option<f64>) -> String {
    value.map_or_else(
        || "-".to_owned(),
        |value| match value {
            below if below < 0.0995 => format!("{value:.4}"),
            below if below < 9.95 => format!("{value:.2}"),
            _ => format!("{value:.0}"),
        },
    )
}

fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{:.1}", value * 100.0))
}

/// A cell of `best` in a line.
pub(crate) fn progress_clock(cell: &Cell) -> String {
    format!(
        "  clock    {:<28} {:<5} rms {} ppm, {} % of {} intervals hold the truth ({} % too high, {} % too low), {} refused",
        cell.scenario,
        cell.method,
        ppm(cell.rms_ppm),
        share(cell.coverage),
        cell.plays - cell.refused,
        share(cell.missed.map(|missed| missed[0])),
        share(cell.missed.map(|missed| missed[1])),
        cell.refused,
    )
}

/// The section.
pub(crate) fn clocks(out: &mut Out, clocks: &Clocks) {
    let text = format!(
        "\n## Clocks\n\nNo packet is sent for this: every method of `--skew` over the scenarios S1 to S15 of `romer-sim`, in \
         which the difference of the clocks' rates is known, and `best` over some more. Root of the mean square error in \
         ppm over {GROUP} plays of a scenario; in brackets what is published of the method over the same scenarios (others' \
         seeds, their own implementations). The plays took {:.0} s.\n",
        clocks.seconds
    );
    out.push_str(&text);
    let mut methods: Vec<&str> = Vec::new();
    let mut scenarios: Vec<&str> = Vec::new();
    for cell in &clocks.cells {
        if !methods.contains(&cell.method.as_str()) {
            methods.push(&cell.method);
        }
        if !scenarios.contains(&cell.scenario.as_str()) {
            scenarios.push(&cell.scenario);
        }
    }
    let mut names = vec!["scenario"];
    names.extend(&methods);
    head(out, 1, &names);
    for scenario in &scenarios {
        let cells = methods.iter().map(|method| {
            let cell = clocks.cells.iter().find(|cell| cell.scenario == **scenario && cell.method == *method);
            cell.map_or_else(|| "-".to_owned(), error)
        });
        let cells: Vec<String> = std::iter::once((*scenario).to_owned()).chain(cells).collect();
        row(out, cells.iter().map(String::as_str));
    }
    intervals(out, clocks);
}

fn error(cell: &Cell) -> String {
    let own = if cell.refused == cell.plays { "refused".into() } else { ppm(cell.rms_ppm) };
    match cell.published_ppm {
        Some(_) => format!("{own} ({})", ppm(cell.published_ppm)),
        None => own,
    }
}

fn intervals(out: &mut Out, clocks: &Clocks) {
    out.push_str(
        "\n### Intervals\n\nOf how many plays the 95 % interval holds the truth, in percent; of the published methods too, \
         whose intervals assume what their conditions are. *Half width*: of `best`, on average.\n",
    );
    let methods: Vec<&str> = {
        let first = clocks.cells.first().map(|cell| cell.scenario.as_str());
        let of_first = clocks.cells.iter().filter(|cell| Some(cell.scenario.as_str()) == first);
        of_first.filter(|cell| !cell.is_best()).map(|cell| cell.method.as_str()).collect()
    };
    let mut names = vec![
        "scenario",
        "best",
        "plays",
        "refused",
        "too high",
        "too low",
        "median error, ppm",
        "half width, ppm",
    ];
    names.extend(&methods);
    head(out, 1, &names);
    for best in clocks.cells.iter().filter(|cell| cell.is_best()) {
        let mut cells = vec![
            best.scenario.clone(),
            share(best.coverage),
            best.plays.to_string(),
            best.refused.to_string(),
            share(best.missed.map(|missed| missed[0])),
            share(best.missed.map(|missed| missed[1])),
            ppm(best.median_error_ppm),
            ppm(best.half_width_ppm),
        ];
        cells.extend(methods.iter().map(|method| {
            let cell =
                clocks.cells.iter().find(|cell| cell.scenario == best.scenario && cell.method == *method);
            share(cell.and_then(|cell| cell.coverage))
        }));
        row(out, cells.iter().map(String::as_str));
    }
    for cell in &clocks.cells {
        if let Some(baseline) = cell.baseline_ns {
            let text = format!(
                "\n{}: what the correction of `{}` leaves of the clock, root of the mean square, median of the plays: {:.1} us.\n",
                cell.scenario,
                cell.method,
                baseline / 1e3
            );
            out.push_str(&text);
        }
    }
}
