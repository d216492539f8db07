//! Several runs on the same axes, with what differs.

use crate::words::Words;
use romer_record::comparison::Comparison;
use romer_record::document::{DelayKind, Measurement};

use super::{charts, data, overview, page};
use crate::comparison::{Subject, cells, compare};
use crate::escape::markup;
use crate::figure::{Ink, OverlaidRun, Times, overlaid};
use crate::input::ReportError;
use crate::number::capital;
use crate::sentence::Text as _;
use crate::table::MeasuredPath;

/// The most runs whose colours can be told apart.
pub const MAX_RUNS: usize = 5;
/// The colours of the runs.
const INKS: [Ink; MAX_RUNS] = [Ink::Forward, Ink::Reverse, Ink::RoundTrip, Ink::Lost, Ink::Text];

/// The page of up to [`MAX_RUNS`] measurements: delays, losses and jitter of each direction on the same axes, and how each differs from the
/// first, with intervals; and the `command` that makes it again. What came from outside is escaped.
///
/// # Errors
/// [`ReportError::Chart`].
pub fn overlay(subjects: &[Subject<'_>], command: &str) -> Result<String, ReportError> {
    let (mut drawn, mut body) = (Vec::new(), String::new());
    body.push_str(&format!("<article><header><h1>{} runs compared</h1></header>\n<ol>", subjects.len()));
    for subject in subjects {
        let m = subject.stream.measurement;
        body.push_str(&format!("<li>{}</li>", markup(&named(subject.name, m))));
    }
    body.push_str("</ol>\n");
    let mut figures = Vec::new();
    for way in MeasuredPath::ALL {
        let runs: Option<Vec<OverlaidRun<'_>>> = subjects
            .iter()
            .zip(INKS.into_iter().enumerate())
            .map(|(subject, (number, ink))| laid(subject, number, ink, way))
            .collect();
        let mut runs = runs.unwrap_or_default();
        level(&mut runs, subjects, way);
        figures.extend(overlaid(&runs, way));
    }
    differences(subjects, &mut body);
    charts(&figures, &mut drawn, &mut body)?;
    for (subject, number) in subjects.iter().zip(1..) {
        let title = format!("{number}. {}", subject.name);
        overview::setup_of(subject.stream.measurement, &title, command, &mut body);
    }
    if !command.is_empty() {
        let command = markup(command);
        body.push_str(&format!("<section><h2>Reproduce</h2>\n<pre><code>{command}</code></pre></section>\n"));
    }
    body.push_str("</article>\n<section id=\"data\"><h2>Download data</h2></section>\n");
    let streams: Vec<_> = subjects.iter().map(|subject| subject.stream).collect();
    Ok(page("Several runs", &body, where_kept(subjects), &data::document(&streams), drawn))
}

/// What a run is called, once: of a file its target is its name, and it does not tell when it began.
fn named(name: &str, m: &Measurement) -> String {
    let started = Words::PAGE.moment(&m.started);
    let mut parts = vec![name];
    for part in [Some(m.target.as_str()), Some(&started), m.metadata.comment.as_deref()].into_iter().flatten()
    {
        if !part.is_empty() && !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.join(" · ")
}

/// Where the packets are of which the page is made.
fn where_kept(subjects: &[Subject<'_>]) -> &'static str {
    let files = subjects.iter().filter(|subject| subject.stream.measurement.source.is_some()).count();
    match files {
        0 => "The report and the packet log of each run are in its folder.",
        all if all == subjects.len() => "All values can be recomputed from the files above.",
        _ => {
            "Runs have a report and a packet log in their folder; values of a file can be recomputed from it."
        }
    }
}

/// A run as figures have it; `None` where its packets are not at hand.
fn laid<'a>(subject: &Subject<'a>, number: usize, ink: Ink, way: MeasuredPath) -> Option<OverlaidRun<'a>> {
    let singletons = subject.stream.singletons?;
    let kind = way.label(subject.stream.measurement);
    let name = format!("{}. {} ({kind})", number + 1, subject.name);
    Some(OverlaidRun { name, ink, singletons, times: Times::from_singletons(&singletons), floor: 0.0 })
}

/// Where delays of some runs are known above the least only, takes the least off those of the others, and says so in their
/// names: what is above the least is not to be drawn beside whole delays.
fn level(runs: &mut [OverlaidRun<'_>], subjects: &[Subject<'_>], way: MeasuredPath) {
    let kind = |subject: &Subject<'_>| way.results(subject.stream.measurement).delay_kind;
    if !subjects.iter().any(|subject| kind(subject) == Some(DelayKind::Variable)) {
        return;
    }
    for (run, subject) in runs.iter_mut().zip(subjects) {
        let m = subject.stream.measurement;
        if let (Some(DelayKind::Absolute), Some(least)) = (kind(subject), way.results(m).delay_ns.min) {
            run.floor = least;
            run.name.push_str(", above the minimum");
        }
    }
}

/// How each later run differs from the first, judged and told as `compare` does.
fn differences(subjects: &[Subject<'_>], body: &mut String) {
    let Some((first, others)) = subjects.split_first() else { return };
    let mut methods: Vec<String> = Vec::new();
    for (other, number) in others.iter().zip(2..) {
        body.push_str(&format!("<section><h2>Comparison: run {number} vs. run 1</h2>\n"));
        match compare(first, other, None) {
            Some(comparison) => {
                difference(&comparison, number, body);
                if !methods.contains(&comparison.method) {
                    methods.push(comparison.method);
                }
            }
            None => body.push_str("<p>They have no direction in common.</p>\n"),
        }
        body.push_str("</section>\n");
    }
    for method in methods {
        body.push_str(&format!("<p class=\"when\">{}</p>\n", markup(&method)));
    }
}

fn difference(comparison: &Comparison, number: usize, body: &mut String) {
    body.push_str(&format!("<p class=\"when\">A is run 1, B is run {number}.</p>\n"));
    for direction in &comparison.directions {
        body.push_str(&format!("<p><strong>{}</strong></p>\n", markup(&capital(&direction.text))));
    }
    for warning in &comparison.warnings {
        body.push_str(&format!("<p class=\"bad\">{}.</p>\n", markup(&capital(&warning.text()))));
    }
    let directions: Vec<_> =
        comparison.directions.iter().filter(|direction| !direction.figures.is_empty()).collect();
    if directions.is_empty() {
        return;
    }
    // One table, so that the columns of all directions stand below each other.
    body.push_str("<div class=\"scroll\" tabindex=\"0\"><table>\n");
    for direction in directions {
        body.push_str(&format!(
            "<tbody><tr class=\"head\"><th>{}</th><th>A</th><th>B</th><th>B − A</th><th>95 % CI of B − A</th></tr>\n",
            direction.direction.replace('_', " ")
        ));
        for figure in &direction.figures {
            let [name, rest @ ..] = cells(figure, true);
            let rest: String = rest.iter().map(|cell| format!("<td>{}</td>", markup(cell))).collect();
            body.push_str(&format!("<tr><th>{}</th>{rest}</tr>\n", markup(&name)));
        }
        body.push_str("</tbody>\n");
    }
    body.push_str("</table></div>\n");
}
