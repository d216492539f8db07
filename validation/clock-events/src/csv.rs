//! The figures as CSV.

use std::fmt::Write;

use crate::play::Kind;
use crate::row::Figures;

/// A value with enough digits, or nothing.
fn cell(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.6}"))
}

/// One line per row and method.
pub(crate) fn rows(figures: &[Figures]) -> String {
    let mut text =
        "row,method,plays,refused,rms_ppm,bias_ppm,median_error_ppm,coverage,half_width_ppm,exact".to_owned();
    for kind in Kind::ALL {
        let name = kind.name().replace(' ', "_");
        for what in ["truths", "events", "matched", "open"] {
            let _ = write!(text, ",{name}_{what}");
        }
    }
    text.push_str(
        ",delay_rms_ns,delay_stated_ns,delays_all_within,delays_beyond,worst_delay_ratio,bounds_hold\n",
    );
    for one in figures {
        let cells =
            [one.rms(), one.bias(), one.median(), one.coverage(), one.half_width(), Some(one.exact())];
        let cells = cells.map(cell).join(",");
        // Names have commas.
        let _ =
            write!(text, "\"{}\",{},{},{},{cells}", one.row, one.method, one.outcomes.len(), one.refused());
        for place in 0..Kind::ALL.len() {
            let counts = one.counts(place);
            let _ = write!(text, ",{},{},{},{}", counts.truths, counts.events, counts.matched, counts.open);
        }
        let delays =
            [one.delay_rms(), one.stated(), one.all_within(), one.beyond(), one.worst_ratio(), one.bounded()];
        let _ = writeln!(text, ",{}", delays.map(cell).join(","));
    }
    text
}

/// One line per play.
pub(crate) fn plays(figures: &[Figures]) -> String {
    let mut text =
        "row,method,seed,error_ppm,low_ppm,high_ppm,events,matched,truths,worst_ns,stated_ns,beyond\n"
            .to_owned();
    for one in figures {
        for outcome in &one.outcomes {
            let rate = outcome.rate.map_or_else(
                || ",,".to_owned(),
                |(error, [low, high])| format!("{error:.9},{low:.9},{high:.9}"),
            );
            let [events, matched, truths] = outcome.counts.iter().fold([0; 3], |sum, counts| {
                [sum[0] + counts.events, sum[1] + counts.matched, sum[2] + counts.truths]
            });
            let delays = outcome.delays.map_or_else(
                || ",,".to_owned(),
                |delays| format!("{:.1},{:.1},{:.6}", delays.worst_ns, delays.stated_ns, delays.beyond),
            );
            let _ = writeln!(
                text,
                "\"{}\",{},{},{rate},{events},{matched},{truths},{delays}",
                one.row, one.method, outcome.seed
            );
        }
    }
    text
}
