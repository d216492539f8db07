//! Strips: where in the run something became of packets.

use std::collections::VecDeque;

use romer_metrics::reordering;
use romer_record::{Fate, Passage};

use super::{Axis, Figure, Ink, Labels, Laid, Layer, Times, share};
use crate::Passages;
use crate::number::Unit;
use crate::table::Way;

/// Columns of a strip.
const STRIP: usize = 400;
/// Probes in a row that make a moment, where a column stands for more.
const MOMENT: usize = 20;
const SHADE: &str = "The shade tells the worst moment of each stretch, the greatest share lost of up to 20 probes in a row: under \
                     10 %, under 50 %, more.";

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
    let unknown = [Fate::Unknown, Fate::Astray, Fate::Unread];
    let known = [Fate::Lost, Fate::Late, Fate::Astray, Fate::Unread];
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
    for (index, (_, ink, marks)) in rows.iter().enumerate() {
        let shares = worst(marks.clone(), times.moments(), end);
        figure.layers.push(Layer::Bars(*ink, strip(&shares, end, edges(index, rows.len()))));
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
        .map(|run| lost_at(run.passages.of(way), &run.times, &[Fate::Unknown, Fate::Astray, Fate::Unread]))
        .collect();
    if lost.iter().all(Vec::is_empty) {
        return None;
    }
    // The first run is the uppermost strip, as in the legend.
    let layers = runs.iter().zip(&lost).enumerate().map(|(index, (run, lost))| {
        let scale = run.times.unit.nanos() / unit.nanos();
        let lost = lost.iter().map(|x| x * scale).collect();
        let shares = worst(lost, run.times.moments().map(|x| x * scale), end);
        Layer::Bars(run.ink, strip(&shares, end, edges(runs.len() - 1 - index, runs.len())))
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
fn strip(shares: &[f64], end: f64, [bottom, top]: [f64; 2]) -> Vec<([f64; 4], f64)> {
    let shade = |share: &f64| match *share {
        none if none <= 0.0 => 0.0,
        few if few < 0.1 => 0.5,
        some if some < 0.5 => 0.75,
        _ => 1.0,
    };
    let shades: Vec<f64> = shares.iter().map(shade).collect();
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

/// Of each column the greatest share of `marks` among so many probes in a row as make a moment, or among all of the column
/// where these are fewer: an outage does not vanish in the mean of a long stretch. `sent` are all probes, in order.
fn worst(mut marks: Vec<f64>, sent: impl Iterator<Item = f64>, end: f64) -> Vec<f64> {
    marks.sort_unstable_by(f64::total_cmp);
    let mut columns = vec![(0, 0, 0.0_f64); STRIP];
    let mut marks = marks.into_iter().peekable();
    // The places of those marks that are within the moment which ends now.
    let mut recent = VecDeque::new();
    for (place, time) in sent.enumerate() {
        if let Some((of, _, _)) = columns.get_mut(column(time, end)) {
            *of += 1;
        }
        while let Some(mark) = marks.next_if(|mark| *mark <= time) {
            recent.push_back(place);
            while recent.front().is_some_and(|first| place - first >= MOMENT) {
                recent.pop_front();
            }
            if let Some((_, marked, greatest)) = columns.get_mut(column(mark, end)) {
                *marked += 1;
                *greatest = greatest.max(share(recent.len(), MOMENT));
            }
        }
    }
    let of_column = |(of, marked, greatest)| if of <= MOMENT { share(marked, of) } else { greatest };
    columns.into_iter().map(of_column).collect()
}

fn column(time: f64, end: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a column of the strip"
    )]
    let column = (time / end * STRIP as f64) as usize;
    column.min(STRIP - 1)
}

/// Where packets came out of order, and where more than once.
pub(super) fn order(passages: &Passages<'_>, times: &Times) -> Option<Figure> {
    let mut rows = Vec::new();
    for (way, name, again) in [(Way::Forward, "there", Ink::RoundTrip), (Way::Reverse, "back", Ink::Text)] {
        let (late, twice) = disorder(passages.of(way), times);
        rows.push((format!("out of order, {name}"), Ink::from(way), late));
        rows.push((format!("duplicates, {name}"), again, twice));
    }
    let figure = Figure {
        name: "order",
        title: "Out of order, and more than once".into(),
        caption: "The shade tells the worst moment of each stretch, the greatest share of up to 20 probes in a row: under 10 %, \
                  under 50 %, more. A packet is out of order where one that was sent later came before it (RFC 4737)."
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_dark_however_long_the_run_around_it() {
        // A million probes of which every thousandth is lost, and two hundred in a row.
        let lost = |n: &u32| n % 1_000 == 7 || (400_000..400_200).contains(n);
        let marks: Vec<f64> = (0..1_000_000).filter(lost).map(f64::from).collect();
        let shares = worst(marks, (0..1_000_000).map(f64::from), 1e6);
        assert_eq!(shares.len(), STRIP);
        for (column, found) in shares.into_iter().enumerate() {
            let expected = if column == 160 { 1.0 } else { share(1, MOMENT) };
            assert!((found - expected).abs() < 1e-9, "{found} in column {column}");
        }
        // Of a short run a column is the share of its probes, and one without any has none.
        let shares = worst(vec![0.0, 1.0], (0..800).map(f64::from), 800.0);
        assert_eq!(shares[..3], [1.0, 0.0, 0.0]);
    }
}
