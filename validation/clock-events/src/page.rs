//! The figures as a page in Markdown.

use std::fmt::Write;

use crate::compare::{COVERAGE, Comparison, LOSS, RMS_RATIO, precision, recall};
use crate::play::Kind;
use crate::row::Figures;
use crate::run::Plan;

/// Three significant digits.
fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let size = value.abs();
    if size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 1.0 {
        format!("{value:.2}")
    } else if size >= 0.1 {
        format!("{value:.3}")
    } else if size >= 0.01 {
        format!("{value:.4}")
    } else {
        format!("{value:.5}")
    }
}

fn cell(value: Option<f64>) -> String {
    value.map_or_else(String::new, digits)
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{:.1}", value * 100.0))
}

fn microseconds(value: Option<f64>) -> String {
    cell(value.map(|value| value / 1e3))
}

/// A line for whoever watches.
pub(crate) fn progress(one: &Figures) -> String {
    format!(
        "{} [{}]: {} plays, {} refused, RMS {} ppm, coverage {} %, exact {} %, {:.1} s",
        one.row,
        one.method,
        one.outcomes.len(),
        one.refused(),
        cell(one.rms()),
        percent(one.coverage()),
        percent(Some(one.exact())),
        one.seconds
    )
}

/// The whole page.
pub(crate) fn page(plan: &Plan, figures: &[Figures]) -> String {
    let mut text = "# Events, rates and delays by the estimate of the clocks\n\n".to_owned();
    let _ = writeln!(
        text,
        "Written by `romer-validation -- clock-events`. Simulated runs with known truth, up to {} of each row, seeds from {}. \
         A row with long runs has fewer. Methods of `--skew`: {}.\n",
        plan.plays,
        plan.first_seed,
        plan.methods.join(", ")
    );
    for method in &plan.methods {
        let own: Vec<&Figures> = figures.iter().filter(|one| one.method == *method).collect();
        let _ = writeln!(text, "## Rates and delays: {method}\n");
        rates(&mut text, &own);
        let _ = writeln!(text, "\n## Events: {method}\n");
        events(&mut text, &own);
        text.push('\n');
    }
    if let [reference, others @ ..] = &plan.methods[..] {
        for other in others {
            comparison(&mut text, figures, reference, other);
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn rates(text: &mut String, figures: &[&Figures]) {
    text.push_str(
        "RMS, bias, median error and half width (median) of the rate in ppm. Coverage: share of the intervals of 95 % that \
         contain the true rate, in %. Delays: root mean square error and stated error (medians, microseconds), plays in which no \
         delay has an error above the stated one, and delays that have, in %, and the largest ratio of an error to the stated \
         one. Bounds: share of the bounds of the offset that contain it, in %.\n\n\
         | row | plays | refused | RMS | bias | median | coverage | half width | delay RMS | stated | all within | beyond | worst ratio | bounds |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for one in figures {
        let cells = [
            one.row.clone(),
            one.outcomes.len().to_string(),
            one.refused().to_string(),
            cell(one.rms()),
            cell(one.bias()),
            cell(one.median()),
            percent(one.coverage()),
            cell(one.half_width()),
            microseconds(one.delay_rms()),
            microseconds(one.stated()),
            percent(one.all_within()),
            one.beyond().map_or_else(String::new, |value| format!("{:.3}", value * 100.0)),
            cell(one.worst_ratio()),
            percent(one.bounded()),
        ];
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
}

fn events(text: &mut String, figures: &[&Figures]) {
    text.push_str(
        "Exact: plays in which all true changes are reported and nothing else, in %. Recall: true changes that are reported with \
         their kind, time and size. Precision: reported events that are true changes; without true changes, plays without \
         events. By kind: matched / true / reported, and with `+` true changes that are reported as another kind that may be this one.\n\n\
         | row | plays | exact | recall | precision | clock step | slew | path forward | path reverse |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for one in figures {
        let kinds: Vec<String> = (0..Kind::ALL.len())
            .map(|place| {
                let counts = one.counts(place);
                match (counts.truths, counts.events) {
                    (0, 0) => String::new(),
                    (truths, events) if counts.open == 0 => {
                        format!("{} / {truths} / {events}", counts.matched)
                    }
                    (truths, events) => format!("{} / {truths} / {events} + {}", counts.matched, counts.open),
                }
            })
            .collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            one.row,
            one.outcomes.len(),
            percent(Some(one.exact())),
            percent(recall(one)),
            percent(precision(one)),
            kinds.join(" | ")
        );
    }
}

fn comparison(text: &mut String, figures: &[Figures], reference: &str, other: &str) {
    let _ = writeln!(
        text,
        "## {other} compared with {reference}\n\n\
         Worse is a row with a ratio of root mean square errors above {RMS_RATIO:.2} that chance does not explain (paired \
         bootstrap), a coverage outside {:.0} to {:.0} % and farther from it than the reference's, a recall or a precision that \
         is lower by more than {:.0} point, or more refusals.\n\n\
         | row | RMS ratio | 95 % interval | coverage | recall | precision | exact: only {reference}, only {other} | refused | worse |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
        COVERAGE[0] * 100.0,
        COVERAGE[1] * 100.0,
        LOSS * 100.0
    );
    let (mut rows, mut worse) = (0, 0);
    for one in figures.iter().filter(|one| one.method == reference) {
        let Some(method) = figures.iter().find(|figures| figures.method == other && figures.row == one.row)
        else {
            continue;
        };
        let found = Comparison::new(one, method);
        rows += 1;
        worse += usize::from(!found.worse().is_empty());
        let points =
            |change: Option<f64>| change.map_or_else(String::new, |change| format!("{:+.1}", change * 100.0));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} to {} | {} | {} | {}, {} | {}, {} | {} |",
            one.row,
            cell(found.ratio.map(|ratio| ratio.0)),
            found.ratio.map_or_else(String::new, |(_, [low, high])| format!(
                "{} to {}",
                digits(low),
                digits(high)
            )),
            percent(one.coverage()),
            percent(method.coverage()),
            points(found.recall),
            points(found.precision),
            found.exact_alone[0],
            found.exact_alone[1],
            found.refused[0],
            found.refused[1],
            found.worse().join(", ")
        );
    }
    let _ = writeln!(text, "\n{worse} of {rows} rows are worse.\n");
}
