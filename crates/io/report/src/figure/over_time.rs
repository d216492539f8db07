//! Delays, and times between packets, over the time of the run.

use romer_metrics::{nearly_ascending, received, sent};
use romer_record::OneWaySingleton;
use romer_record::document::Measurement;
use romer_record::event::Event;

use super::distributions::Sorted;
use super::drawing::{Axis, BEYOND, Figure, Ink, Labels, Layer};
use super::found;
use super::ranks::{as_float, ends};
use super::stretches::{Stretches, marks, marks_among};
use super::strips::{LOST, sent_at};
use super::thin::{Cloud, MOST_POINTS, thin_peaks};
use super::thin::{Outlier, Thinning};
use super::times::Times;
use crate::input::Singletons;
use crate::number::{TimeScale, count, time};
use crate::table::MeasuredPath;

/// The delays of `ways`.
pub(super) fn delays(
    m: &Measurement,
    singletons: &Singletons<'_>,
    sorted: &Sorted,
    times: &Times,
    ways: &[MeasuredPath],
) -> Option<Figure> {
    let (number, (from, end)) = sorted.together(ways);
    if number == 0 {
        return None;
    }
    let unit = TimeScale::for_nanos(end);
    let mut layers = Vec::new();
    let mut beyond = 0;
    let round_trip = ways == [MeasuredPath::RoundTrip];
    let lost: Vec<f64> = if round_trip { sent_at(singletons.round_trip, times, &LOST) } else { Vec::new() };
    // A way of which nothing is known has no place in the legend.
    let ways: Vec<MeasuredPath> =
        ways.iter().copied().filter(|way| !sorted.of_way(*way).is_empty()).collect();
    for way in &ways {
        let points = received(singletons.singletons(*way))
            .filter_map(|p| Some((times.of_probe(p.sequence)?, as_float(p.delay?.as_nanos()))));
        let count = sorted.of_way(*way).partition_point(|delay| *delay <= end);
        let mut within = Thinning::new(count, MOST_POINTS);
        let mut above = Vec::new();
        let mut stretches = Stretches::new(times.axis().to);
        lost.iter().for_each(|x| stretches.lose(*x));
        for (x, delay) in points {
            stretches.push((x, delay / unit.nanos()));
            if delay <= end {
                within.push((x, delay / unit.nanos()));
            } else {
                beyond += 1;
                above.push((x, delay / unit.nanos()));
            }
        }
        let mut within = within.finish();
        within.stretches = Some(stretches).filter(|_| within.drawn() < within.of);
        layers.push(Layer::Points((*way).into(), within));
        layers.push(Layer::Above((*way).into(), thin_peaks(above)));
    }
    let mut caption = Vec::new();
    if from > 0.0 {
        caption.push("The scale does not begin at zero.".to_owned());
    }
    if beyond > 0 {
        caption.push(format!(
            "{} of {} {} above {} and {} {BEYOND}.",
            count(beyond),
            count(number as u64),
            if beyond == 1 { "lies" } else { "lie" },
            time(end, true),
            if beyond == 1 { "is" } else { "are" }
        ));
    }
    let mut legend: Vec<(String, Ink)> = ways.iter().map(|way| (way.label(m), (*way).into())).collect();
    if !lost.is_empty() {
        legend.push(("lost".into(), Ink::Lost));
        let marks = marks_among(lost, times.moments());
        if marks.iter().any(|mark| mark.count > 1) {
            caption.push("Marks at the bottom: at least one packet lost (see the chart of losses).".into());
        }
        layers.push(Layer::Below(Ink::Lost, marks));
    }
    let since = |at: i64| as_float(at.saturating_sub(singletons.begins_ns)) / times.unit.nanos();
    let happened: Vec<f64> = m.events.iter().flat_map(Event::window).map(since).collect();
    let happened: Vec<f64> = happened.into_iter().filter(|x| (0.0..=times.axis().to).contains(x)).collect();
    if !happened.is_empty() {
        legend.push(("event".into(), Ink::Text));
        layers.push(Layer::Below(Ink::Text, marks(happened)));
    }
    // A round trip has what was found of its two ways.
    let marked = if round_trip { &MeasuredPath::ALL[..] } else { &ways[..] };
    if let Some((marks, name)) = found::layer(m, singletons, times, marked) {
        legend.push((name, Ink::Found));
        layers.push(marks);
    }
    Some(Figure {
        name: if round_trip { "delay-round-trip" } else { "delay-one-way" },
        title: if round_trip { "Round-trip delay".into() } else { "One-way delay".into() },
        caption: caption.join(" "),
        x: times.axis(),
        y: Axis {
            title: format!("delay, {}", unit.name(true)),
            from: from / unit.nanos(),
            to: end / unit.nanos(),
            labels: Labels::Numbers,
        },
        layers,
        legend,
    })
}

/// Traffic of which the chart by number is drawn: what Qtcp sends, and recordings.
const NUMBERED: [&str; 2] = ["token-bucket", "trace"];

/// The delays of both ways by sequence number, as Qtcp's documentation shows them.
pub(super) fn by_number(m: &Measurement, singletons: &Singletons<'_>, sorted: &Sorted) -> Option<Figure> {
    if !NUMBERED.iter().any(|model| m.traffic.model.starts_with(model)) {
        return None;
    }
    let number = |p: &OneWaySingleton| as_float(i64::try_from(p.sequence).unwrap_or(i64::MAX));
    let ways = [MeasuredPath::Forward, MeasuredPath::Reverse];
    let ways: Vec<MeasuredPath> = ways.into_iter().filter(|way| !sorted.of_way(*way).is_empty()).collect();
    let end = ways.iter().filter_map(|way| sorted.of_way(*way).last().copied()).reduce(f64::max)?.max(1.0);
    let unit = TimeScale::for_nanos(end);
    let (mut layers, mut lost, mut last) = (Vec::new(), Vec::new(), 1.0_f64);
    let mut least = 0.0_f64;
    for way in &ways {
        let packets = singletons.singletons(*way);
        let mut cloud = Thinning::new(sorted.of_way(*way).len(), MOST_POINTS);
        let points =
            received(packets).filter_map(|p| Some((number(p), as_float(p.delay?.as_nanos()) / unit.nanos())));
        points.for_each(|point| cloud.push(point));
        layers.push(Layer::Points((*way).into(), cloud.finish()));
        lost.extend(packets.iter().filter(|p| p.copy == 0 && LOST.contains(&p.fate)).map(number));
        last = packets.iter().map(number).fold(last, f64::max);
        least = least.min(sorted.of_way(*way).first().copied().unwrap_or(0.0));
    }
    let mut legend: Vec<(String, Ink)> = ways.iter().map(|way| (way.label(m), (*way).into())).collect();
    if !lost.is_empty() {
        legend.push(("lost".into(), Ink::Lost));
        layers.push(Layer::Below(Ink::Lost, marks(lost)));
    }
    Some(Figure {
        name: "delay-by-number",
        title: "One-way delay by sequence number".into(),
        caption: String::new(),
        x: Axis { title: "sequence number".into(), from: 0.0, to: last, labels: Labels::Numbers },
        y: Axis {
            title: format!("delay, {}", unit.name(true)),
            from: least / unit.nanos(),
            to: 1.04 * end / unit.nanos(),
            labels: Labels::Numbers,
        },
        layers,
        legend,
    })
}

/// How long after the one before it each packet left, and arrived, each on its own host's clock (Hershberger 2005, figures 9.5 to
/// 9.8): what the sender's schedule and the path's holding back look like one by one.
pub(super) fn between(spaced: Spaced, times: &Times) -> Vec<Figure> {
    let Spaced { departures, there, back } = spaced;
    let reception = [("forward", Ink::Forward, there), ("reverse", Ink::Reverse, back)];
    let figures = [
        spacings(
            "inter-transmission",
            "Inter-departure time",
            "Time between the departures of consecutive packets, on the clock of the sending host.",
            [("departures", Ink::Text, departures)].into(),
            times,
        ),
        spacings(
            "inter-reception",
            "Inter-arrival time",
            "Time between the arrivals of consecutive packets, on the clock of the receiving host.",
            reception.into(),
            times,
        ),
    ];
    figures.into_iter().flatten().collect()
}

/// Times between departures, and between arrivals of each direction.
pub(super) struct Spaced {
    pub(super) departures: Spacings,
    pub(super) there: Spacings,
    pub(super) back: Spacings,
}

impl Spaced {
    pub(super) fn from_singletons(singletons: &Singletons<'_>, times: &Times) -> Self {
        let there = [singletons.forward, singletons.round_trip].into_iter().find(|these| !these.is_empty());
        let departures = sent(there.unwrap_or_default())
            .filter_map(|singleton| Some((singleton.departure?.as_nanos(), singleton.sequence)));
        let arrivals = |these| {
            let moments = received(these).filter_map(|singleton: &OneWaySingleton| {
                Some((singleton.arrival?.as_nanos(), singleton.sequence))
            });
            Spacings::from_moments(moments, times)
        };
        Self {
            departures: Spacings::from_moments(departures, times),
            there: arrivals(singletons.forward),
            back: arrivals(singletons.reverse),
        }
    }
}

/// Times from one packet to the next, in the order in which they came about.
pub(super) struct Spacings {
    within: Cloud,
    /// Those beyond an axis that is as long as this series needs: all of them.
    far: Vec<(f64, f64)>,
    /// What there is in each stretch of time.
    stretches: Stretches,
    /// Nanoseconds, ascending.
    pub(super) sorted: Vec<f64>,
}

impl Spacings {
    /// Of packets by their moment and their number.
    fn from_moments(moments: impl Iterator<Item = (i64, u64)>, times: &Times) -> Self {
        let moments = nearly_ascending(moments);
        let spacing = |pair: &[(i64, u64)]| as_float(pair[1].0.saturating_sub(pair[0].0));
        let sorted = super::distributions::sorted(
            moments.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0)).collect(),
        );
        let end = ends(&sorted).1;
        let mut within = Thinning::sparse(sorted.partition_point(|spacing| *spacing <= end));
        let mut far = Vec::new();
        let mut stretches = Stretches::new(times.axis().to);
        for pair in moments.windows(2) {
            let Some(x) = times.of_probe(pair[1].1) else { continue };
            stretches.push((x, spacing(pair)));
            match spacing(pair) {
                spacing if spacing <= end => within.push((x, spacing)),
                spacing => far.push((x, spacing)),
            }
        }
        Self { within: within.finish(), far, stretches, sorted }
    }
}

fn spacings(
    name: &'static str,
    title: &str,
    caption: &str,
    rows: Vec<(&'static str, Ink, Spacings)>,
    times: &Times,
) -> Option<Figure> {
    let rows: Vec<_> = rows.into_iter().filter(|(_, _, these)| these.sorted.len() > 1).collect();
    let reach = rows.iter().map(|(_, _, these)| ends(&these.sorted));
    let (from, end) = reach.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    let unit = TimeScale::for_nanos(end);
    let legend = rows.iter().map(|(name, ink, _)| ((*name).into(), *ink)).collect();
    let beyond: usize = rows
        .iter()
        .map(|(_, _, these)| these.sorted.len() - these.sorted.partition_point(|y| *y <= end))
        .sum();
    let mut layers = Vec::new();
    for (_, ink, these) in rows {
        // The axis is that of the longest series: what lies beyond its own may be within.
        let (near, above): (Vec<_>, Vec<_>) = these.far.iter().copied().partition(|(_, y)| *y <= end);
        let of = these.within.of + near.len();
        let mut few = Thinning::sparse(near.len());
        near.into_iter().for_each(|point| few.push(point));
        let few = few.finish();
        let scaled = |(x, y): (f64, f64)| (x, y / unit.nanos());
        let all = these.within.points.iter().copied().chain(few.points);
        let mut points: Vec<(f64, f64)> = all.map(scaled).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all = these.within.far.iter().copied().chain(few.far);
        let mut far: Vec<Outlier> =
            all.map(|far| Outlier { at: scaled(far.at), from: far.from / unit.nanos() }).collect();
        far.sort_by(|a, b| a.at.0.total_cmp(&b.at.0));
        let stretches = Some(these.stretches.in_units(unit.nanos()));
        layers.push(Layer::Points(ink, Cloud { points, far, of, begins: these.within.begins, stretches }));
        let above = above.into_iter().map(|(x, y)| (x, y / unit.nanos())).collect();
        layers.push(Layer::Above(ink, thin_peaks(above)));
    }
    let more = if beyond == 0 {
        String::new()
    } else {
        let are = if beyond == 1 { "is" } else { "are" };
        format!(" {} above {} {are} {BEYOND}.", count(beyond as u64), time(end, true))
    };
    Some(Figure {
        name,
        title: title.into(),
        caption: format!("{caption}{more}"),
        x: times.axis(),
        y: Axis {
            title: format!("time between packets, {}", unit.name(true)),
            from: from / unit.nanos(),
            to: end / unit.nanos(),
            labels: Labels::Numbers,
        },
        layers,
        legend,
    })
}
