//! The page of a closed loop: both runs on the same axes.

use romer_record::closed_loop::{ClosedLoop, LoopDirection, LoopResult, LoopVerdict};
use romer_record::document::{DelayKind, Measurement};

use super::figures::{autocorrelation, loss_periods};
use super::text::{COLUMNS, added, cells, name, notes, verdict};
use crate::comparison::{Series, Subject};
use crate::escape::{lines, markup};
use crate::figure::{Figure, Ink, OverlaidRun, Times, overlaid};
use crate::html::{charts, page as whole};
use crate::input::ReportError;
use crate::number::capital;
use crate::table::MeasuredPath;
use crate::words::Words;

/// The colours of the path and of the emulation.
pub(super) const INKS: [Ink; 2] = [Ink::Forward, Ink::Reverse];
/// Their names.
pub(super) const NAMES: [&str; 2] = ["path", "emulation"];

/// The page of `closed_loop`, which compares these runs. What came from outside is escaped, and nothing is fetched.
///
/// # Errors
/// [`ReportError::Chart`].
pub fn page(
    closed_loop: &ClosedLoop,
    path: &Subject<'_>,
    emulation: &Subject<'_>,
) -> Result<String, ReportError> {
    let runs = [path, emulation];
    let (mut drawn, mut body) = (Vec::new(), String::from("<article>\n"));
    heading(closed_loop, &mut body);
    let notes: String =
        notes(closed_loop).iter().map(|note| format!("<li>{}</li>", markup(&capital(note)))).collect();
    if !notes.is_empty() {
        body.push_str(&format!("<section class=\"note\"><ul>{notes}</ul></section>\n"));
    }
    table(closed_loop, &mut body);
    for direction in &closed_loop.directions {
        let Some(way) = MeasuredPath::ALL.into_iter().find(|way| way.field() == direction.direction) else {
            continue;
        };
        charts(&figures(runs, direction, way), &mut drawn, &mut body)?;
    }
    ratings(runs.map(|run| run.stream.measurement), &mut body);
    body.push_str(&format!(
        "<details><summary>Scenario</summary>\n<pre><code>{}</code></pre></details>\n",
        lines(&closed_loop.scenario)
    ));
    body.push_str(&format!("<p class=\"when\">{}</p>\n</article>\n", markup(&closed_loop.method)));
    let footer = "All values can be recomputed from the runs in this folder; the fate of every packet in the emulator \
                  from the scenario and its seed.";
    let document = serde_json::to_value(closed_loop).unwrap_or_default();
    Ok(whole("Closed loop", &body, footer, &document, drawn))
}

fn heading(closed_loop: &ClosedLoop, body: &mut String) {
    let class = match closed_loop.verdict {
        LoopVerdict::Reproduced => "good",
        LoopVerdict::Undecided => "",
        LoopVerdict::NotReproduced => "bad",
    };
    let run = |name: &str, run: &romer_record::comparison::ComparedRun| {
        let started = run.started.as_ref().map(|started| Words::PAGE.moment(started)).unwrap_or_default();
        format!("{name}: {} ({started})", markup(&run.name))
    };
    body.push_str(&format!(
        "<header><h1>Closed loop: path to {}</h1>\n<p class=\"when\">{} · {}</p>\n<p class=\"verdict {class}\">{}</p></header>\n",
        markup(&closed_loop.path.target),
        run("Path", &closed_loop.path),
        run("emulation", &closed_loop.emulation),
        markup(verdict(closed_loop)),
    ));
    for direction in &closed_loop.directions {
        body.push_str(&format!(
            "<p><strong>{}</strong>: {}.</p>\n",
            markup(&capital(&name(direction))),
            markup(&direction.text)
        ));
    }
}

/// One table, so that the columns of all directions stand below each other.
fn table(closed_loop: &ClosedLoop, body: &mut String) {
    body.push_str("<section><h2>Path and emulation</h2>\n<div class=\"scroll\" tabindex=\"0\"><table>\n");
    let [_, columns @ ..] = COLUMNS;
    for direction in &closed_loop.directions {
        let names: String = columns.iter().map(|column| format!("<th>{column}</th>")).collect();
        let title = direction.direction.replace('_', " ");
        body.push_str(&format!("<tbody><tr class=\"head\"><th>{title}</th>{names}</tr>\n"));
        for figure in &direction.figures {
            let [name, values @ .., result] = cells(figure, true);
            let values: String = values.iter().map(|cell| format!("<td>{}</td>", markup(cell))).collect();
            let class = match figure.result {
                Some(LoopResult::Within) => "good",
                Some(LoopResult::Differs) => "bad",
                _ => "",
            };
            body.push_str(&format!(
                "<tr><th>{}</th>{values}<td class=\"{class}\">{result}</td></tr>\n",
                markup(&name)
            ));
        }
        body.push_str("</tbody>\n");
    }
    body.push_str("</table></div>\n");
    for direction in &closed_loop.directions {
        if let Some(added) = added(direction, true) {
            let name = capital(&direction.direction.replace('_', " "));
            body.push_str(&format!("<p class=\"when\">{name}: {}</p>\n", markup(&added)));
        }
    }
    body.push_str("</section>\n");
}

/// The figures of a direction.
fn figures(runs: [&Subject<'_>; 2], direction: &LoopDirection, way: MeasuredPath) -> Vec<Figure> {
    let mut laid = Vec::new();
    for ((run, ink), name) in runs.into_iter().zip(INKS).zip(NAMES) {
        let Some(singletons) = run.stream.singletons else { return Vec::new() };
        let least = || Series::Delay.values(singletons.singletons(way)).into_iter().reduce(f64::min);
        let is_relative = direction.delay_kind == Some(DelayKind::Variable);
        let floor = if is_relative { least().unwrap_or(0.0) } else { 0.0 };
        laid.push(OverlaidRun {
            name: name.into(),
            ink,
            singletons,
            times: Times::from_singletons(&singletons),
            floor,
        });
    }
    let mut figures = overlaid(&laid, way);
    figures.extend(autocorrelation(direction, way));
    figures.extend(loss_periods(direction, way));
    figures
}

/// The ratings of both as a call, one below the other.
fn ratings(measurements: [&Measurement; 2], body: &mut String) {
    let mut rows = String::new();
    for (m, name) in measurements.into_iter().zip(NAMES) {
        for voice in &m.voice {
            rows.push_str(&format!("<li>{}: {}</li>", capital(name), markup(&Words::PAGE.voice(m, voice))));
        }
    }
    if !rows.is_empty() {
        body.push_str(&format!(
            "<section><h2>Voice quality</h2>\n<ul class=\"found\">{rows}</ul></section>\n"
        ));
    }
}
