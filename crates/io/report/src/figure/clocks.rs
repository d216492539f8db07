//! What clocks did to the delays, and what the program's own stamps would have.

use romer_metrics::reordering;
use romer_record::document::Measurement;
use romer_record::{Fate, Passage};
use romer_timebase::skew::Correction;

use super::{Axis, Figure, Ink, Labels, Layer, Times, as_float, share, thin};
use crate::Passages;
use crate::number::{Unit, count, time};
use crate::table::Way;

/// Columns of the band of the interval.
const BAND: usize = 100;
/// Points of a series: enough for its envelope, which is all that can be told of two clouds over each other.
const POINTS: usize = 400;

/// The delays of each direction before and after the clocks were taken out of them, with the interval of what was.
pub(super) fn corrections(m: &Measurement, passages: &Passages<'_>, times: &Times) -> Vec<Figure> {
    [Way::Forward, Way::Reverse]
        .into_iter()
        .zip(passages.corrections)
        .filter(|(_, correction)| !correction.is_empty())
        .filter_map(|(way, correction)| corrected(m, way, passages.of(way), correction, times))
        .collect()
}

/// The moment of a passage on the sender's clock.
fn moment(passage: &Passage, way: Way) -> Option<i64> {
    match way {
        Way::Reverse => passage.arrival.map(romer_units::Timestamp::as_nanos),
        _ => passage.departure.map(romer_units::Timestamp::as_nanos),
    }
}

fn corrected(
    m: &Measurement,
    way: Way,
    passages: &[Passage],
    correction: &Correction,
    times: &Times,
) -> Option<Figure> {
    let mut before = Vec::new();
    let mut after = Vec::new();
    // Where the line of what was taken out runs, by its moment.
    let mut out: Vec<(f64, i64)> = Vec::new();
    for passage in passages.iter().filter(|passage| passage.fate == Fate::Arrived) {
        let all = (times.of_probe(passage.sequence), passage.delay, moment(passage, way));
        let (Some(x), Some(delay), Some(at)) = all else { continue };
        let delay = as_float(delay.as_nanos());
        before.push((x, delay + as_float(correction.at(at))));
        after.push((x, delay));
        out.push((x, at));
    }
    let least = before.iter().map(|(_, y)| *y).reduce(f64::min)?;
    before.iter_mut().for_each(|(_, y)| *y -= least);
    let greatest = |points: &[(f64, f64)]| points.iter().map(|(_, y)| *y).fold(0.0, f64::max);
    let end = greatest(&before).max(greatest(&after)).max(1.0);
    let unit = Unit::of(end);
    let scaled = |points: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        let kept = thin(&points, POINTS);
        kept.into_iter().map(|(x, y)| (x, y / unit.nanos())).collect()
    };
    let band = band(&out, correction, least, unit);
    let ink = Ink::from(way);
    let widest = out.iter().map(|(_, at)| correction.error_at(*at)).fold(0.0, f64::max);
    Some(Figure {
        name: if way == Way::Reverse { "clock-reverse" } else { "clock-forward" },
        title: format!("Clock error taken out, {}", way.name()),
        caption: format!(
            "Both above their least value. {} The band is what was taken out, with its 95 % interval: a corrected delay is \
             off by {} at the most because of it.",
            found(m),
            time(widest, true)
        ),
        x: times.axis(),
        y: Axis {
            title: format!("delay above the least, {}", unit.name(true)),
            from: 0.0,
            to: end / unit.nanos(),
            labels: Labels::Numbers,
        },
        layers: vec![
            Layer::Points(Ink::Text, scaled(before)),
            Layer::Points(ink, scaled(after)),
            Layer::Bars(Ink::Lost, band),
        ],
        legend: vec![
            ("as the clocks had it".into(), Ink::Text),
            ("corrected".into(), ink),
            ("taken out, with its interval".into(), Ink::Lost),
        ],
        low: false,
    })
}

/// What was taken out as rectangles, each from the least to the greatest of its interval in a column.
fn band(out: &[(f64, i64)], correction: &Correction, least: f64, unit: Unit) -> Vec<([f64; 4], f64)> {
    let chunk = out.len().div_ceil(BAND).max(1);
    let bars = out.chunks(chunk).filter_map(|part| {
        let ends = |(_, at): &(f64, i64)| {
            let (value, error) = (as_float(correction.at(*at)) - least, correction.error_at(*at));
            [value - error, value + error]
        };
        let low = part.iter().map(|one| ends(one)[0]).reduce(f64::min)?;
        let high = part.iter().map(|one| ends(one)[1]).reduce(f64::max)?;
        let left = part.iter().map(|one| one.0).reduce(f64::min)?;
        let right = part.iter().map(|one| one.0).reduce(f64::max)?;
        (high > 0.0).then(|| ([left, right, low.max(0.0) / unit.nanos(), high / unit.nanos()], 0.5))
    });
    bars.collect()
}

/// What was found of the clocks, in a sentence.
fn found(m: &Measurement) -> String {
    match (m.clock.skew_ppm, m.clock.skew_interval_ppm) {
        (Some(skew), Some([low, high])) => format!(
            "The responder's clock runs {skew:+.4} ppm faster ({low:+.4} to {high:+.4}, by {}).",
            m.clock.method
        ),
        _ => String::new(),
    }
}

/// How far the program's stamps lie from the kernel's (seed 000, figures 9.3 and 9.4), at each end and in each direction.
pub(super) fn location(passages: &Passages<'_>) -> Option<Figure> {
    let series = passages.location;
    let rows = [
        ("sender, departure", Ink::Text, &series.sender_departure),
        ("responder, arrival", Ink::Forward, &series.responder_arrival),
        ("responder, departure", Ink::Reverse, &series.responder_departure),
        ("sender, arrival", Ink::RoundTrip, &series.sender_arrival),
    ];
    let rows: Vec<_> = rows.into_iter().filter(|(_, _, points)| points.len() > 1).collect();
    let mut all: Vec<f64> =
        rows.iter().flat_map(|(_, _, points)| points.iter().map(|(_, apart)| as_float(*apart))).collect();
    all.sort_unstable_by(f64::total_cmp);
    let least = all.first()?.min(0.0);
    let (_, end) = super::ends(&all);
    let last = rows.iter().flat_map(|(_, _, points)| points.iter().map(|point| point.0)).max().unwrap_or(0);
    let (unit, length) = (Unit::of(end), Unit::of(as_float(last).max(1.0)));
    let mut layers = Vec::new();
    let mut beyond = 0;
    for (_, ink, points) in &rows {
        let scaled = |(at, apart): &(i64, i64)| (as_float(*at) / length.nanos(), as_float(*apart));
        let (within, above): (Vec<_>, Vec<_>) = points.iter().map(scaled).partition(|(_, y)| *y <= end);
        beyond += above.len();
        layers.push(Layer::Points(*ink, within.into_iter().map(|(x, y)| (x, y / unit.nanos())).collect()));
        layers.push(Layer::Above(*ink, super::thin_marks(above.into_iter().map(|(x, _)| x).collect())));
    }
    let more = if beyond > 0 {
        format!(" {} lie above {} and are marks at the upper edge.", count(beyond as u64), time(end, true))
    } else {
        String::new()
    };
    Some(Figure {
        name: "location",
        title: "From the program's stamps to the kernel's".into(),
        caption: format!(
            "How far the program's own stamp of a packet lies from the kernel's: what the kernel's stamps spare the delays.{more}"
        ),
        x: Axis {
            title: format!("time since the first stamp, {}", length.name(true)),
            from: 0.0,
            to: as_float(last).max(1.0) / length.nanos(),
            labels: Labels::Numbers,
        },
        y: Axis {
            title: format!("apart, {}", unit.name(true)),
            from: least / unit.nanos(),
            to: end / unit.nanos(),
            labels: Labels::Numbers,
        },
        layers,
        legend: rows.into_iter().map(|(name, ink, _)| (name.into(), ink)).collect(),
        low: false,
    })
}

/// Where packets came out of order, and where more than once.
pub(super) fn order(passages: &Passages<'_>, times: &Times) -> Option<Figure> {
    let mut rows = Vec::new();
    for (way, name) in [(Way::Forward, "there"), (Way::Reverse, "back")] {
        let (late, twice) = disorder(passages.of(way), times);
        rows.push((format!("out of order, {name}"), Ink::from(way), late));
        rows.push((format!("duplicates, {name}"), Ink::RoundTrip, twice));
    }
    rows.retain(|(_, _, marks)| !marks.is_empty());
    if rows.is_empty() {
        return None;
    }
    let end = times.end / times.unit.nanos();
    let sent = super::per_column(times.moments(), end);
    let mut layers = Vec::new();
    for (index, (_, ink, marks)) in rows.iter().enumerate() {
        let here = super::per_column(marks.iter().copied(), end);
        let edges = [share(index, rows.len()) + 0.06, share(index + 1, rows.len()) - 0.06];
        layers.push(Layer::Bars(*ink, super::strip(&here, &sent, end, edges)));
    }
    Some(Figure {
        name: "order",
        title: "Out of order, and more than once".into(),
        caption: "The shade tells the share of the probes sent in that moment: under 10 %, under 50 %, more. A packet is out \
                  of order where one that was sent later came before it (RFC 4737)."
            .into(),
        x: times.axis(),
        y: Axis { title: String::new(), from: 0.0, to: 1.0, labels: Labels::Nothing },
        layers,
        legend: rows.into_iter().map(|(name, ink, _)| (name, ink)).collect(),
        low: true,
    })
}

/// When those were sent that arrived after one of a higher number, and those that arrived more than once.
fn disorder(passages: &[Passage], times: &Times) -> (Vec<f64>, Vec<f64>) {
    let late = reordering(passages).into_iter().filter_map(|packet| times.of_probe(packet.sequence));
    let copies = passages.iter().filter(|passage| passage.fate == Fate::Arrived && passage.copy > 0);
    let twice = copies.filter(|copy| copy.arrival.is_some()).filter_map(|copy| times.of_probe(copy.sequence));
    (late.collect(), twice.collect())
}
