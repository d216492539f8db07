//! Strips: where in the run something became of packets.

use romer_metrics::reordering;
use romer_record::{Fate, Passage};

use super::{Axis, Figure, Ink, Labels, Laid, Layer, Times, share};
use crate::Passages;
use crate::number::Unit;
use crate::table::Way;

/// Columns of a strip.
const STRIP: usize = 400;
const SHADE: &str =
    "The shade tells the share lost of the probes sent in that moment: under 10 %, under 50 %, more.";

/// When those probes were sent that did not arrive in time and are not among `others`.
pub(super) fn lost_at(passages: &[Passage], times: &Times, others: &[Fate]) -> Vec<f64> {
    passages
        .iter()
        .filter(|p| p.fate != Fate::Arrived && !others.contains(&p.fate) && p.copy == 0)
        .filter_map(|p| times.of_probe(p.sequence))
        .collect()
}

/// Where packets were lost.
pub(super) fn losses(passages: &Passages<'_>, times: &Times) -> Option<Figure> {
    let unknown = [Fate::Unknown, Fate::Astray];
    let known = [Fate::Lost, Fate::Late, Fate::Astray];
    let not_astray = [Fate::Lost, Fate::Late, Fate::Unknown];
    let astray = |passages| lost_at(passages, times, &not_astray);
    let mut gone_astray = [astray(passages.forward), astray(passages.reverse)].concat();
    if gone_astray.is_empty() {
        gone_astray = astray(passages.round_trip);
    }
    let rows = [
        ("lost on the way there", Ink::Forward, lost_at(passages.forward, times, &unknown)),
        ("lost on the way back", Ink::Reverse, lost_at(passages.reverse, times, &unknown)),
        ("lost, not known where", Ink::Lost, lost_at(passages.forward, times, &known)),
        ("astray, which is none of the path's doing", Ink::Text, gone_astray),
    ];
    let figure = Figure { name: "loss", title: "Losses".into(), caption: SHADE.into(), ..bare(times) };
    stripes(figure, rows.map(|(name, ink, marks)| (name.into(), ink, marks)).into(), times)
}

/// A figure of strips that has none yet.
fn bare(times: &Times) -> Figure {
    Figure {
        name: "",
        title: String::new(),
        caption: String::new(),
        x: times.axis(),
        y: Axis { title: String::new(), from: 0.0, to: 1.0, labels: Labels::Nothing },
        layers: Vec::new(),
        legend: Vec::new(),
        low: true,
    }
}

/// The figure with a strip for each row that has marks: its name, its ink, and when those were sent that it marks.
/// `None` where no row has any.
fn stripes(mut figure: Figure, mut rows: Vec<(String, Ink, Vec<f64>)>, times: &Times) -> Option<Figure> {
    rows.retain(|(_, _, marks)| !marks.is_empty());
    if rows.is_empty() {
        return None;
    }
    let end = times.end / times.unit.nanos();
    let sent = per_column(times.moments(), end);
    for (index, (_, ink, marks)) in rows.iter().enumerate() {
        let marked = per_column(marks.iter().copied(), end);
        figure.layers.push(Layer::Bars(*ink, strip(&marked, &sent, end, edges(index, rows.len()))));
    }
    figure.legend = rows.into_iter().map(|(name, ink, _)| (name, ink)).collect();
    Some(figure)
}

/// Where a strip of several lies, from the bottom to the top.
fn edges(index: usize, of: usize) -> [f64; 2] {
    [share(index, of) + 0.06, share(index + 1, of) - 0.06]
}

/// A strip for each run: where packets of `way` were lost, by when each run sent them. `None` where none was.
pub(super) fn several_losses(runs: &[Laid<'_>], way: Way, length: f64, name: &'static str) -> Option<Figure> {
    let unit = Unit::of(length);
    let end = length / unit.nanos();
    let lost: Vec<Vec<f64>> = runs
        .iter()
        .map(|run| lost_at(run.passages.of(way), &run.times, &[Fate::Unknown, Fate::Astray]))
        .collect();
    if lost.iter().all(Vec::is_empty) {
        return None;
    }
    // The first run is the uppermost strip, as in the legend.
    let layers = runs.iter().zip(&lost).enumerate().map(|(index, (run, lost))| {
        let scale = run.times.unit.nanos() / unit.nanos();
        let lost = per_column(lost.iter().map(|x| x * scale), end);
        let sent = per_column(run.times.moments().map(|x| x * scale), end);
        Layer::Bars(run.ink, strip(&lost, &sent, end, edges(runs.len() - 1 - index, runs.len())))
    });
    Some(Figure {
        name,
        title: format!("Losses, {}", way.name()),
        caption: SHADE.into(),
        x: Axis {
            title: format!("time since each run's first probe, {}", unit.name(true)),
            from: 0.0,
            to: end,
            labels: Labels::Numbers,
        },
        y: Axis { title: String::new(), from: 0.0, to: 1.0, labels: Labels::Nothing },
        layers: layers.collect(),
        legend: runs.iter().map(|run| (run.name.clone(), run.ink)).collect(),
        low: true,
    })
}

/// The columns with losses as bars between `edges`; neighbours of one shade are one bar.
fn strip(lost: &[usize], sent: &[usize], end: f64, [bottom, top]: [f64; 2]) -> Vec<([f64; 4], f64)> {
    let shade = |(lost, sent): (&usize, &usize)| match share(*lost, *sent) {
        none if none <= 0.0 => 0.0,
        few if few < 0.1 => 0.5,
        some if some < 0.5 => 0.75,
        _ => 1.0,
    };
    let shades: Vec<f64> = lost.iter().zip(sent).map(shade).collect();
    let mut bars = Vec::new();
    let mut column = 0;
    for same in shades.chunk_by(|a, b| a.total_cmp(b).is_eq()) {
        let (left, right) = (end * share(column, STRIP), end * share(column + same.len(), STRIP));
        column += same.len();
        if let Some(shade) = same.first().filter(|shade| **shade > 0.0) {
            bars.push(([left, right, bottom, top], *shade));
        }
    }
    bars
}

fn per_column(times: impl Iterator<Item = f64>, end: f64) -> Vec<usize> {
    let mut columns = vec![0; STRIP];
    for time in times {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a column of the strip"
        )]
        let column = (time / end * STRIP as f64) as usize;
        if let Some(count) = columns.get_mut(column.min(STRIP - 1)) {
            *count += 1;
        }
    }
    columns
}

/// Where packets came out of order, and where more than once.
pub(super) fn order(passages: &Passages<'_>, times: &Times) -> Option<Figure> {
    let mut rows = Vec::new();
    for (way, name) in [(Way::Forward, "there"), (Way::Reverse, "back")] {
        let (late, twice) = disorder(passages.of(way), times);
        rows.push((format!("out of order, {name}"), Ink::from(way), late));
        rows.push((format!("duplicates, {name}"), Ink::RoundTrip, twice));
    }
    let figure = Figure {
        name: "order",
        title: "Out of order, and more than once".into(),
        caption: "The shade tells the share of the probes sent in that moment: under 10 %, under 50 %, more. A packet is out \
                  of order where one that was sent later came before it (RFC 4737)."
            .into(),
        ..bare(times)
    };
    stripes(figure, rows, times)
}

/// When those were sent that arrived after one of a higher number, and those that arrived more than once.
fn disorder(passages: &[Passage], times: &Times) -> (Vec<f64>, Vec<f64>) {
    let late = reordering(passages).into_iter().filter_map(|packet| times.of_probe(packet.sequence));
    let copies = passages.iter().filter(|passage| passage.fate == Fate::Arrived && passage.copy > 0);
    let twice = copies.filter(|copy| copy.arrival.is_some()).filter_map(|copy| times.of_probe(copy.sequence));
    (late.collect(), twice.collect())
}
