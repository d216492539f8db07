//! The same figures of several runs, on the same axes.

use romer_metrics::{jitter, received};

use super::distributions::{NOT_FROM_ZERO, delay_axis, density_figure, outline, span, steps_within};
use super::distributions::{delays, sorted};
use super::drawing::{Axis, BEYOND, Figure, Ink, Labels, Layer};
use super::laid::{OverlaidRun, Row};
use super::ranks::{as_float, at, ends_of, share};
use super::shapes::{logarithmic, tail_of};
use super::stretches::Stretches;
use super::strips::several_losses;
use super::thin::Thinning;
use super::thin::{MOST_POINTS, thin_peaks};
use crate::number::{TimeScale, count, time};
use crate::table::MeasuredPath;

/// What is drawn of one way: every figure of a single run's page that has a place for several.
pub(crate) fn overlaid(runs: &[OverlaidRun<'_>], way: MeasuredPath) -> Vec<Figure> {
    let above = |run: &OverlaidRun<'_>| -> Vec<f64> {
        delays(run.singletons.singletons(way)).into_iter().map(|delay| delay - run.floor).collect()
    };
    let delays: Vec<Vec<f64>> = runs.iter().map(above).collect();
    let rows: Vec<Row<'_>> = runs
        .iter()
        .zip(&delays)
        .filter(|(_, delays)| delays.len() > 1)
        .map(|(run, delays)| (run.name.clone(), run.ink, &delays[..]))
        .collect();
    let length = runs.iter().map(|run| run.times.end).fold(1.0, f64::max);
    let mut figures = Vec::new();
    figures.extend(over_time(runs, &rows, way, length));
    figures.extend(several_losses(runs, way, length, name("loss", way)));
    figures.extend(histogram(&rows, way));
    figures.extend(distribution(&rows, way));
    figures.extend(tail_of(&rows).map(|figure| Figure {
        name: name("tail", way),
        title: format!("{}, {}", figure.title, way.name()),
        ..figure
    }));
    figures.extend(changes(runs, way));
    figures
}

fn name(kind: &str, way: MeasuredPath) -> &'static str {
    const NAMES: [[&str; 3]; 6] = [
        ["delay-forward", "delay-reverse", "delay-round-trip"],
        ["loss-forward", "loss-reverse", "loss-round-trip"],
        ["histogram-forward", "histogram-reverse", "histogram-round-trip"],
        ["distribution-forward", "distribution-reverse", "distribution-round-trip"],
        ["tail-forward", "tail-reverse", "tail-round-trip"],
        ["jitter-forward", "jitter-reverse", "jitter-round-trip"],
    ];
    let place = MeasuredPath::ALL.iter().position(|one| *one == way).unwrap_or(0);
    NAMES.iter().map(|names| names[place]).find(|name| name.starts_with(kind)).unwrap_or("")
}

pub(super) fn legend(rows: &[Row<'_>]) -> Vec<(String, Ink)> {
    rows.iter().map(|(name, ink, _)| (name.clone(), *ink)).collect()
}

/// The delays of a direction, each run from its first probe on.
fn over_time(runs: &[OverlaidRun<'_>], rows: &[Row<'_>], way: MeasuredPath, length: f64) -> Option<Figure> {
    rows.first()?;
    let all: Vec<&[f64]> = rows.iter().map(|(_, _, delays)| *delays).collect();
    let (from, end) = ends_of(&all);
    let (unit, seconds) = (TimeScale::for_nanos(end), TimeScale::for_nanos(length));
    let (mut layers, mut beyond) = (Vec::new(), 0u64);
    for run in runs {
        let singletons = run.singletons.singletons(way);
        let mut within = Thinning::new(singletons.len(), MOST_POINTS);
        let mut above = Vec::new();
        let mut stretches = Stretches::new(length / seconds.nanos());
        for singleton in received(singletons) {
            let Some((at, delay)) = run.times.since_first(singleton.sequence).zip(singleton.delay) else {
                continue;
            };
            let (x, y) = (at / seconds.nanos(), as_float(delay.as_nanos()) - run.floor);
            stretches.push((x, y / unit.nanos()));
            if y <= end {
                within.push((x, y / unit.nanos()));
            } else {
                beyond += 1;
                above.push((x, y / unit.nanos()));
            }
        }
        let mut within = within.finish();
        within.stretches = Some(stretches).filter(|_| within.drawn() < within.of);
        layers.push(Layer::Points(run.ink, within));
        layers.push(Layer::Above(run.ink, thin_peaks(above)));
    }
    let mut caption = Vec::new();
    if runs.iter().any(|run| run.floor > 0.0) {
        caption.push(
            "The clock offset of some runs is unknown: all delays are above their minimum, here and in the figures below."
                .to_owned(),
        );
    }
    if from > 0.0 {
        caption.push("The scale does not begin at zero.".to_owned());
    }
    if beyond > 0 {
        let lie = if beyond == 1 { "1 lies".to_owned() } else { format!("{} lie", count(beyond)) };
        caption.push(format!("{lie} above {}, {BEYOND}.", time(end, true)));
    }
    Some(Figure {
        name: name("delay", way),
        title: format!("Delay, {}", way.name()),
        caption: caption.join(" "),
        x: Axis {
            title: format!("time since each run's first probe, {}", seconds.name(true)),
            from: 0.0,
            to: length / seconds.nanos(),
            labels: Labels::Numbers,
        },
        y: Axis {
            title: format!("delay, {}", unit.name(true)),
            from: from / unit.nanos(),
            to: end / unit.nanos(),
            labels: Labels::Numbers,
        },
        layers,
        legend: legend(rows),
    })
}

/// Where an axis of delays begins and ends for all runs.
fn reach(rows: &[Row<'_>]) -> Option<(f64, f64)> {
    let of = |(_, _, delays): &Row<'_>| Some([*delays.first()?, at(delays, 0.99)?, *delays.last()?]);
    let series: Vec<[f64; 3]> = rows.iter().filter_map(of).collect();
    span(&series)
}

/// Which delays an axis does not reach.
fn not_shown(rows: &[Row<'_>], (from, end): (f64, f64)) -> String {
    let beyond = rows.iter().filter_map(|(name, _, delays)| {
        let most = delays.last().copied().filter(|most| *most > end)?;
        Some(format!("of {name} up to {}", time(most, true)))
    });
    let beyond: Vec<String> = beyond.collect();
    let mut words: Vec<String> = (from > 0.0).then(|| NOT_FROM_ZERO.into()).into_iter().collect();
    if !beyond.is_empty() {
        words.push(format!("Beyond the right edge are the longest delays, {}.", beyond.join(", ")));
    }
    words.join(" ")
}

fn histogram(rows: &[Row<'_>], way: MeasuredPath) -> Option<Figure> {
    let reach = reach(rows)?;
    let unit = TimeScale::for_nanos(reach.1);
    let outlines = rows.iter().map(|(name, ink, delays)| (name.clone(), *ink, outline(delays, reach, unit)));
    let figure = density_figure(outlines.collect(), reach, unit, not_shown(rows, reach))?;
    let title = format!("{}, {}", figure.title, way.name());
    Some(Figure { name: name("histogram", way), title, ..figure })
}

fn distribution(rows: &[Row<'_>], way: MeasuredPath) -> Option<Figure> {
    let reach = reach(rows)?;
    let (end, unit) = (reach.1, TimeScale::for_nanos(reach.1));
    let layers = rows
        .iter()
        .map(|(_, ink, values)| Layer::Line(*ink, steps_within(values, (f64::NEG_INFINITY, end), unit)));
    Some(Figure {
        name: name("distribution", way),
        title: format!("Delay CDF, {}", way.name()),
        caption: not_shown(rows, reach),
        x: delay_axis(reach, unit),
        y: Axis { title: "% of packets".into(), from: 0.0, to: 100.0 * share(1, 1), labels: Labels::Numbers },
        layers: layers.collect(),
        legend: legend(rows),
    })
}

/// By how much delays change from packet to packet.
fn changes(runs: &[OverlaidRun<'_>], way: MeasuredPath) -> Option<Figure> {
    let rows = runs.iter().map(|run| {
        let changes = sorted(jitter::delay_difference(run.singletons.singletons(way)));
        (run.name.clone(), run.ink, changes.into())
    });
    logarithmic(
        name("jitter", way),
        &format!("Delay variation between consecutive packets, {}", way.name()),
        "|IPDV| (RFC 3393): absolute difference between the delays of consecutive packets.".into(),
        rows.collect(),
    )
}
