//! Several runs on the same axes, with what differs.

use romer_record::Fate;
use romer_record::comparison::Comparison;

use super::{chart, data, page};
use crate::ReportError;
use crate::chart::Shape;
use crate::comparison::{Figure as Compared, Subject, cells, compare};
use crate::escape::markup;
use crate::figure::{
    Axis, Figure, Ink, Labels, Layer, Times, as_float, at, capital, delays, ends, share, steps, thin,
};
use crate::number::{Unit, count, time};
use crate::table::Way;

/// The most runs whose colours can be told apart.
pub const MOST: usize = 5;
/// The colours of the runs.
const INKS: [Ink; MOST] = [Ink::Forward, Ink::Reverse, Ink::RoundTrip, Ink::Lost, Ink::Text];

/// The page of up to [`MOST`] measurements: the delays of each direction on the same axes, and how each differs from the
/// first, with intervals. What came from outside is escaped.
///
/// # Errors
/// [`ReportError::Chart`].
pub fn overlay(subjects: &[Subject<'_>], by: Compared) -> Result<String, ReportError> {
    let (mut drawn, mut body) = (Vec::new(), String::new());
    body.push_str(&format!(
        "<article><header><h1>{} runs on the same axes</h1></header>\n<ol>",
        subjects.len()
    ));
    for subject in subjects {
        let m = subject.stream.measurement;
        let comment = m.metadata.comment.as_ref().map_or_else(String::new, |comment| format!(" · {comment}"));
        let line = format!("{} · {} · {}{comment}", subject.name, m.target, m.started);
        body.push_str(&format!("<li>{}</li>", markup(&line)));
    }
    body.push_str("</ol>\n");
    for way in Way::ALL {
        for figure in [over_time(subjects, way), distribution(subjects, way)].into_iter().flatten() {
            chart(&figure, &mut drawn, &mut body)?;
        }
    }
    differences(subjects, by, &mut body);
    body.push_str("</article>\n<section id=\"data\"><h2>Data in this page</h2></section>\n");
    let streams: Vec<_> = subjects.iter().map(|subject| subject.stream).collect();
    let footer = "Each run's own page and packet log are in its folder.";
    Ok(page("Several runs", &body, footer, &data::document(&streams), drawn))
}

/// Who is who.
fn legend(subjects: &[Subject<'_>], way: Way) -> Vec<(String, Ink)> {
    let name = |(subject, (number, ink)): (&Subject<'_>, (usize, Ink))| {
        let kind = way.label(subject.stream.measurement);
        (format!("{}. {} ({kind})", number + 1, subject.name), ink)
    };
    subjects.iter().zip(INKS.into_iter().enumerate()).map(name).collect()
}

/// The delays of a direction, each run from its first probe on.
fn over_time(subjects: &[Subject<'_>], way: Way) -> Option<Figure> {
    let mut series = Vec::new();
    let (mut all, mut length) = (Vec::new(), 0.0);
    for subject in subjects {
        let passages = subject.stream.passages?;
        let times = Times::of(&passages);
        let points: Vec<(f64, f64)> = passages
            .of(way)
            .iter()
            .filter(|passage| passage.fate == Fate::Arrived)
            .filter_map(|passage| {
                Some((times.since_first(passage.sequence)?, as_float(passage.delay?.as_nanos())))
            })
            .collect();
        length = f64::max(length, times.end);
        let kept = thin(&points, 2 * Shape::Wide.most_points());
        all.extend(kept.iter().map(|(_, y)| *y));
        series.push(kept);
    }
    all.sort_unstable_by(f64::total_cmp);
    all.first()?;
    let (_, end) = ends(&all);
    let (unit, seconds) = (Unit::of(end), Unit::of(length));
    let beyond = all.iter().filter(|value| **value > end).count();
    let layers = series.into_iter().zip(INKS).map(|(points, ink)| {
        let within = points.into_iter().filter(|(_, y)| *y <= end);
        Layer::Points(ink, within.map(|(x, y)| (x / seconds.nanos(), y / unit.nanos())).collect())
    });
    Some(Figure {
        name: match way {
            Way::Forward => "delay-forward",
            Way::Reverse => "delay-reverse",
            Way::RoundTrip => "delay-round-trip",
        },
        title: format!("Delay, {}", way.name()),
        caption: if beyond > 0 {
            format!("Not shown: {} above {}.", count(beyond as u64), time(end, true))
        } else {
            String::new()
        },
        x: Axis {
            title: format!("time since each run's first probe, {}", seconds.name(true)),
            from: 0.0,
            to: length / seconds.nanos(),
            labels: Labels::Numbers,
        },
        y: Axis {
            title: format!("delay, {}", unit.name(true)),
            from: 0.0,
            to: end / unit.nanos(),
            labels: Labels::Numbers,
        },
        layers: layers.collect(),
        legend: legend(subjects, way),
        low: false,
    })
}

fn distribution(subjects: &[Subject<'_>], way: Way) -> Option<Figure> {
    let mut sorted = Vec::new();
    for subject in subjects {
        sorted.push(delays(subject.stream.passages?.of(way)));
    }
    let end = sorted.iter().filter_map(|values| Some(1.15 * at(values, 0.99)?)).reduce(f64::max)?.max(1.0);
    let unit = Unit::of(end);
    let layers = sorted.iter().zip(INKS).map(|(values, ink)| {
        let within = steps(values).into_iter().filter(|(delay, _)| *delay <= end);
        Layer::Line(ink, within.map(|(delay, y)| (delay / unit.nanos(), y)).collect())
    });
    Some(Figure {
        name: match way {
            Way::Forward => "distribution-forward",
            Way::Reverse => "distribution-reverse",
            Way::RoundTrip => "distribution-round-trip",
        },
        title: format!("Share of packets that took no longer, {}", way.name()),
        caption: String::new(),
        x: Axis {
            title: format!("delay, {}", unit.name(true)),
            from: 0.0,
            to: end / unit.nanos(),
            labels: Labels::Numbers,
        },
        y: Axis { title: "% of packets".into(), from: 0.0, to: 100.0 * share(1, 1), labels: Labels::Numbers },
        layers: layers.collect(),
        legend: legend(subjects, way),
        low: false,
    })
}

/// How each later run differs from the first, judged and told as `compare` does.
fn differences(subjects: &[Subject<'_>], by: Compared, body: &mut String) {
    let Some((first, others)) = subjects.split_first() else { return };
    let mut methods: Vec<String> = Vec::new();
    for (other, number) in others.iter().zip(2..) {
        body.push_str(&format!("<section><h2>{number} against 1</h2>\n"));
        match compare(first, other, by) {
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
        body.push_str(&format!("<p class=\"when\">{}.</p>\n", markup(&method)));
    }
}

fn difference(comparison: &Comparison, number: usize, body: &mut String) {
    body.push_str(&format!("<p class=\"when\">A is 1, B is {number}.</p>\n"));
    for direction in &comparison.directions {
        body.push_str(&format!("<p><strong>{}</strong></p>\n", markup(&capital(&direction.words))));
    }
    for warning in &comparison.warnings {
        body.push_str(&format!("<p class=\"bad\">{}.</p>\n", markup(&capital(warning))));
    }
    for direction in comparison.directions.iter().filter(|direction| !direction.figures.is_empty()) {
        body.push_str(&format!(
            "<div class=\"scroll\"><table><thead><tr><th>{}</th><th>A</th><th>B</th><th>B − A</th><th>95 % of B − A</th></tr></thead>\n<tbody>\n",
            direction.direction.replace('_', " ")
        ));
        for figure in &direction.figures {
            let [name, rest @ ..] = cells(figure, true);
            let rest: String = rest.iter().map(|cell| format!("<td>{}</td>", markup(cell))).collect();
            body.push_str(&format!("<tr><th>{}</th>{rest}</tr>\n", markup(&name)));
        }
        body.push_str("</tbody></table></div>\n");
    }
}
