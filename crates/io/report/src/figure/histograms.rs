//! Histograms of the times between packets and of the signed delay variation, and that variation over time: with the delay
//! histogram, the four metrics of Hershberger 2005, chapter 8.

use romer_metrics::received;
use romer_record::OneWaySingleton;
use romer_record::document::Measurement;

use super::distributions::{outline, sorted};
use super::drawing::{Axis, Figure, Ink, Labels, Layer};
use super::over_time::Spaced;
use super::ranks::{as_float, at};
use super::stretches::Stretches;
use super::thin::Thinning;
use super::times::Times;
use crate::input::Singletons;
use crate::number::TimeScale;
use crate::table::MeasuredPath;

/// The share of the values at either end that may lie outside of a histogram.
const OUTSIDE: f64 = 0.002;

/// Histograms of the times between departures, and between arrivals.
pub(super) fn intervals(spaced: &Spaced) -> Vec<Figure> {
    let departures = [("departures".to_owned(), Ink::Text, &spaced.departures.sorted[..])];
    let arrivals = [
        ("forward".to_owned(), Ink::Forward, &spaced.there.sorted[..]),
        ("reverse".to_owned(), Ink::Reverse, &spaced.back.sorted[..]),
    ];
    let time = "time between packets";
    let figures = [
        drawn("histogram-departures", "Inter-departure time histogram", time, &departures),
        drawn("histogram-arrivals", "Inter-arrival time histogram", time, &arrivals),
    ];
    figures.into_iter().flatten().collect()
}

/// The histogram of the signed delay variation.
pub(super) fn variation(m: &Measurement, singletons: &Singletons<'_>) -> Option<Figure> {
    let ways: Vec<(MeasuredPath, Vec<f64>)> = ways(singletons)
        .map(|way| (way, sorted(changes(singletons.singletons(way)).map(|(_, change)| change).collect())))
        .collect();
    let rows: Vec<_> =
        ways.iter().map(|(way, values)| (way.label(m), Ink::from(*way), &values[..])).collect();
    drawn("histogram-ipdv", "Delay variation histogram", "IPDV", &rows)
}

/// The signed delay variation of consecutive packets over time.
pub(super) fn over_time(m: &Measurement, singletons: &Singletons<'_>, times: &Times) -> Option<Figure> {
    let (mut least, mut most, mut rows) = (0_i64, 0_i64, Vec::new());
    for way in ways(singletons) {
        let mut count = 0;
        for (_, change) in changes(singletons.singletons(way)) {
            (least, most, count) = (least.min(change), most.max(change), count + 1);
        }
        if count > 1 {
            rows.push((way, count));
        }
    }
    rows.first()?;
    // Where nothing varies, the axis is a nanosecond long on both sides.
    let (from, to) = (1.06 * as_float(least.min(-1)), 1.06 * as_float(most.max(1)));
    let unit = TimeScale::for_nanos(to.max(-from));
    let layers = rows.iter().map(|(way, count)| {
        let mut points = Thinning::sparse(*count);
        let mut stretches = Stretches::new(times.axis().to);
        for (sequence, change) in changes(singletons.singletons(*way)) {
            let Some(x) = times.of_probe(sequence) else { continue };
            let point = (x, as_float(change) / unit.nanos());
            stretches.push(point);
            points.push(point);
        }
        let mut points = points.finish();
        points.stretches = Some(stretches).filter(|_| points.drawn() < points.of);
        Layer::Points((*way).into(), points)
    });
    Some(Figure {
        name: "ipdv",
        title: "Delay variation".into(),
        caption: "Delay minus the delay of the packet before (IPDV, RFC 3393).".into(),
        x: times.axis(),
        y: Axis {
            title: format!("IPDV, {}", unit.name(true)),
            from: from / unit.nanos(),
            to: to / unit.nanos(),
            labels: Labels::Numbers,
        },
        layers: layers.collect(),
        legend: rows.iter().map(|(way, _)| (way.label(m), Ink::from(*way))).collect(),
    })
}

/// The directions, or the round trip where there are none.
fn ways(singletons: &Singletons<'_>) -> impl Iterator<Item = MeasuredPath> {
    let is_one_way = !singletons.forward.is_empty() || !singletons.reverse.is_empty();
    let is_drawn = move |way: &MeasuredPath| (*way != MeasuredPath::RoundTrip) == is_one_way;
    MeasuredPath::ALL.into_iter().filter(is_drawn)
}

/// The delay of each packet minus that of the packet before, by the sequence number of the later one.
fn changes(singletons: &[OneWaySingleton]) -> impl Iterator<Item = (u64, i64)> {
    let pairs = received(singletons).zip(received(singletons).skip(1));
    pairs.filter(|(before, packet)| before.sequence.checked_add(1) == Some(packet.sequence)).filter_map(
        |(before, packet)| {
            Some((packet.sequence, packet.delay?.as_nanos().saturating_sub(before.delay?.as_nanos())))
        },
    )
}

/// A histogram of series in nanoseconds, each ascending, in bins of one width.
fn drawn(name: &'static str, title: &str, quantity: &str, rows: &[(String, Ink, &[f64])]) -> Option<Figure> {
    let rows: Vec<_> = rows.iter().filter(|(_, _, values)| values.len() > 1).collect();
    let low = rows.iter().filter_map(|(_, _, values)| at(values, OUTSIDE)).reduce(f64::min)?;
    let high = rows.iter().filter_map(|(_, _, values)| at(values, 1.0 - OUTSIDE)).reduce(f64::max)?;
    let room = (0.08 * (high - low)).max(1.0);
    let reach = (low - room, high + room);
    let unit = TimeScale::for_nanos(reach.1.max(-reach.0));
    let outlines: Vec<_> = rows.iter().map(|(_, ink, values)| (*ink, outline(values, reach, unit))).collect();
    let top = outlines.iter().flat_map(|(_, outline)| outline).map(|(_, y)| *y).fold(0.0, f64::max);
    Some(Figure {
        name,
        title: title.into(),
        caption: "Without the longest and the shortest 0.2 %.".into(),
        x: Axis {
            title: format!("{quantity}, {}", unit.name(true)),
            from: reach.0 / unit.nanos(),
            to: reach.1 / unit.nanos(),
            labels: Labels::Numbers,
        },
        y: Axis {
            title: format!("% of packets per {}", unit.name(true)),
            from: 0.0,
            to: 1.08 * top,
            labels: Labels::Numbers,
        },
        layers: outlines.into_iter().map(|(ink, outline)| Layer::Area(ink, outline)).collect(),
        legend: rows.iter().map(|(name, ink, _)| (name.clone(), *ink)).collect(),
    })
}
