//! How delays, their changes and the packets' spacing are distributed.

use std::borrow::Cow;

use romer_metrics::jitter;
use romer_record::OneWaySingleton;
use romer_record::document::Measurement;

use super::distributions::{Changes, Sorted, sorted, steps};
use super::distributions::{deviations, steps_within};
use super::drawing::{Axis, Figure, Ink, Labels, Layer};
use super::laid::Row;
use super::over_time::Spaced;
use super::ranks::{at, share};
use crate::input::Singletons;
use crate::number::{NO_BREAK, TimeScale, time};
use crate::table::MeasuredPath;

/// Points of a tail.
const TAIL: usize = 400;

/// The share of packets that took longer, on a logarithmic axis: the tail that a distribution function hides.
pub(super) fn tail(m: &Measurement, sorted: &Sorted) -> Option<Figure> {
    tail_of(&MeasuredPath::ALL.map(|way| (way.label(m), Ink::from(way), sorted.of_way(way))))
}

/// The same of series of delays, each ascending.
pub(super) fn tail_of(rows: &[Row<'_>]) -> Option<Figure> {
    let series: Vec<&Row<'_>> = rows.iter().filter(|(_, _, all)| all.len() > 10).collect();
    let end = series.iter().filter_map(|(_, _, all)| all.last().copied()).fold(0.0, f64::max);
    let most = series.iter().map(|(_, _, all)| all.len()).max()?;
    if end <= 0.0 {
        return None;
    }
    let unit = TimeScale::for_nanos(end);
    let lowest = -share(most, 1).log10().ceil();
    let line = |all: &[f64]| -> Vec<(f64, f64)> {
        // Evenly in the exponent, so that the last packets are drawn one by one.
        let n = all.len();
        let mut points = Vec::with_capacity(TAIL);
        for step in 0..=TAIL {
            let longer = 10f64.powf(share(n, 1).log10() * (1.0 - share(step, TAIL)));
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count of at most n packets"
            )]
            let longer = (longer.round() as usize).clamp(1, n);
            let delay = all[n - longer];
            points.push((delay / unit.nanos(), share(longer, n).log10()));
        }
        points.dedup();
        // So many took at least as long as each; from one to the next the share stays what it is after the one.
        let last = points.last().map(|(delay, _)| (*delay, lowest));
        let treads = points.windows(2).flat_map(|pair| [pair[0], (pair[0].0, pair[1].1)]);
        treads.chain(points.last().copied()).chain(last).collect()
    };
    Some(Figure {
        name: "tail",
        title: "Delay CCDF (logarithmic)".into(),
        caption: format!("Share of packets with a longer delay. Maximum delay: {}.", time(end, true)),
        x: Axis {
            title: format!("delay, {}", unit.name(true)),
            from: 0.0,
            to: 1.02 * end / unit.nanos(),
            labels: Labels::Numbers,
        },
        y: Axis {
            title: "share of packets (logarithmic)".into(),
            from: lowest,
            to: 0.0,
            labels: Labels::Shares,
        },
        layers: series.iter().map(|(_, ink, all)| Layer::Line(*ink, line(all))).collect(),
        legend: series.iter().map(|(name, ink, _)| (name.clone(), *ink)).collect(),
    })
}

/// The jitters by their definitions, each as a distribution function over a logarithmic axis.
pub(super) fn jitters(
    m: &Measurement,
    singletons: &Singletons<'_>,
    delays: &Sorted,
    changes: &Changes,
) -> Option<Figure> {
    let way = [MeasuredPath::Forward, MeasuredPath::Reverse, MeasuredPath::RoundTrip]
        .into_iter()
        .find(|way| singletons.singletons(*way).len() > 2)?;
    let these: &[OneWaySingleton] = singletons.singletons(way);
    let between_delays = match changes.of_way(way) {
        Some(changes) => Cow::Borrowed(changes),
        None => Cow::Owned(sorted(jitter::delay_difference(these))),
    };
    let delays = delays.of_way(way);
    let rows = [
        ("inter-arrival difference", Ink::Forward, sorted(jitter::inter_arrival_difference(these)).into()),
        ("delay difference", Ink::Reverse, between_delays),
        ("deviation from the mean", Ink::RoundTrip, deviations(delays).into()),
    ];
    let single = jitter::rfc3550(these).map_or_else(String::new, |value| {
        format!(" RFC{NO_BREAK}3550 interarrival jitter at the end: {}.", time(value, true))
    });
    let range = delays.first().zip(delays.last()).map_or_else(String::new, |(least, greatest)| {
        format!(" Peak to peak: {}.", time(greatest - least, true))
    });
    let caption = format!("{}.{range}{single}", way.label(m));
    let rows = rows.map(|(name, ink, values)| (name.to_owned(), ink, values));
    logarithmic("jitter", "Jitter by definition", caption, rows.into())
}

/// Times between departures and between arrivals.
pub(super) fn between(spaced: &Spaced) -> Option<Figure> {
    let rows = [
        ("departures", Ink::Text, &spaced.departures.sorted),
        ("arrivals, forward", Ink::Forward, &spaced.there.sorted),
        ("arrivals, reverse", Ink::Reverse, &spaced.back.sorted),
    ];
    let rows: Vec<_> = rows.into_iter().filter(|(_, _, values)| values.len() > 1).collect();
    let low = rows.iter().filter_map(|(_, _, values)| at(values, 0.002)).fold(f64::INFINITY, f64::min);
    let high = rows.iter().filter_map(|(_, _, values)| at(values, 0.998)).fold(0.0, f64::max);
    if !low.is_finite() || high <= 0.0 {
        return None;
    }
    let room = (0.08 * (high - low)).max(1.0);
    let (from, to) = ((low - room).max(0.0), high + room);
    let unit = TimeScale::for_nanos(to);
    let layers =
        rows.iter().map(|(_, ink, values)| Layer::Line(*ink, steps_within(values, (from, to), unit)));
    Some(Figure {
        name: "between",
        title: "Inter-packet times".into(),
        caption: "A steep curve is a regular stream.".into(),
        x: Axis {
            title: format!("time between packets, {}", unit.name(true)),
            from: from / unit.nanos(),
            to: to / unit.nanos(),
            labels: Labels::Numbers,
        },
        y: Axis {
            title: "cumulative share of intervals, %".into(),
            from: 0.0,
            to: 100.0,
            labels: Labels::Numbers,
        },
        layers: layers.collect(),
        legend: rows.iter().map(|(name, ink, _)| ((*name).into(), *ink)).collect(),
    })
}

/// Distribution functions over a logarithmic axis of time.
pub(super) fn logarithmic(
    name: &'static str,
    title: &str,
    caption: String,
    rows: Vec<(String, Ink, Cow<'_, [f64]>)>,
) -> Option<Figure> {
    let rows: Vec<_> = rows.into_iter().filter(|(_, _, values)| values.len() > 1).collect();
    let greatest = rows.iter().filter_map(|(_, _, values)| values.last().copied()).fold(0.0, f64::max);
    if greatest <= 0.0 {
        return None;
    }
    let least = rows.iter().filter_map(|(_, _, values)| at(values, 0.25)).fold(f64::INFINITY, f64::min);
    let from = (least.max(10.0).log10() - 1.0).floor().max(0.0);
    let layers = rows.iter().map(|(_, ink, values)| {
        let logs = steps(values).into_iter().map(|(value, y)| (value.max(1.0).log10().max(from), y));
        Layer::Line(*ink, logs.collect())
    });
    Some(Figure {
        name,
        title: title.into(),
        caption,
        x: Axis {
            title: "jitter (logarithmic)".into(),
            from,
            to: greatest.max(10.0).log10().ceil(),
            labels: Labels::Decades,
        },
        y: Axis { title: "cumulative share, %".into(), from: 0.0, to: 100.0, labels: Labels::Numbers },
        layers: layers.collect(),
        legend: rows.iter().map(|(name, ink, _)| (name.clone(), *ink)).collect(),
    })
}
