//! What clocks did to the delays, and what the program's own stamps would have.

use romer_record::document::{Histogram, Measurement};
use romer_record::{Fate, Passage};
use romer_timebase::skew::Correction;

use super::distributions::density;
use super::thin::Thinning;
use super::{Axis, Figure, Ink, Labels, Layer, Times, as_float};
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
    let arrived = || {
        let arrived = passages.iter().filter(|passage| passage.fate == Fate::Arrived);
        arrived.filter_map(|passage| {
            let at = moment(passage, way)?;
            let x = times.of_probe(passage.sequence)?;
            let after = as_float(passage.delay?.as_nanos());
            Some(Corrected { x, at, before: after + as_float(correction.at(at)), after })
        })
    };
    let (mut count, mut least, mut before, mut after) = (0, f64::INFINITY, f64::NEG_INFINITY, 0.0f64);
    for one in arrived() {
        count += 1;
        (least, before, after) = (least.min(one.before), before.max(one.before), after.max(one.after));
    }
    if count == 0 {
        return None;
    }
    let end = (before - least).max(after).max(1.0);
    let unit = Unit::of(end);
    let mut clouds = [Thinning::new(count, POINTS), Thinning::new(count, POINTS)];
    let mut band = Band::new(count, correction);
    for Corrected { x, at, before, after } in arrived() {
        clouds[0].push((x, (before - least) / unit.nanos()));
        clouds[1].push((x, after / unit.nanos()));
        band.push(x, at);
    }
    let [before, after] = clouds.map(Thinning::finish);
    let widest = band.widest;
    let band = band.bars(least, unit);
    let ink = Ink::from(way);
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
            Layer::Points(Ink::Text, before),
            Layer::Points(ink, after),
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

/// A delay before and after the correction, nanoseconds.
struct Corrected {
    /// When, in the unit of the axis, and on the sender's clock.
    x: f64,
    at: i64,
    before: f64,
    after: f64,
}

/// What was taken out as rectangles, each from the least to the greatest of its interval in a column.
struct Band<'a> {
    correction: &'a Correction,
    /// Packets in a column, and how many the open one has.
    column: usize,
    filled: usize,
    open: Option<[f64; 4]>,
    columns: Vec<[f64; 4]>,
    widest: f64,
}

impl<'a> Band<'a> {
    fn new(count: usize, correction: &'a Correction) -> Self {
        let column = count.div_ceil(BAND).max(1);
        Self { correction, column, filled: 0, open: None, columns: Vec::new(), widest: 0.0 }
    }

    fn push(&mut self, x: f64, at: i64) {
        let (value, error) = (as_float(self.correction.at(at)), self.correction.error_at(at));
        self.widest = self.widest.max(error);
        let (low, high) = (value - error, value + error);
        self.open = Some(self.open.map_or([x, x, low, high], |[left, right, bottom, top]| {
            [left.min(x), right.max(x), bottom.min(low), top.max(high)]
        }));
        self.filled += 1;
        if self.filled == self.column {
            self.columns.extend(self.open.take());
            self.filled = 0;
        }
    }

    /// Rectangles above `least`, in `unit`.
    fn bars(mut self, least: f64, unit: Unit) -> Vec<([f64; 4], f64)> {
        self.columns.extend(self.open.take());
        let bar = |[left, right, low, high]: [f64; 4]| {
            let (low, high) = (low - least, high - least);
            (high > 0.0).then(|| ([left, right, low.max(0.0) / unit.nanos(), high / unit.nanos()], 0.5))
        };
        self.columns.into_iter().filter_map(bar).collect()
    }
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

/// How often the program's stamps lie how far from the kernel's (seed 000, figures 9.3 and 9.4 from the side).
pub(super) fn location_shape(passages: &Passages<'_>) -> Option<Figure> {
    let shapes = &passages.location.shapes;
    let rows = [
        ("sender, departure", Ink::Text, &shapes.sender_departure),
        ("responder, arrival", Ink::Forward, &shapes.responder_arrival),
        ("responder, departure", Ink::Reverse, &shapes.responder_departure),
        ("sender, arrival", Ink::RoundTrip, &shapes.sender_arrival),
    ];
    let rows: Vec<_> =
        rows.into_iter().filter(|(_, _, shape)| shape.counts.iter().sum::<u64>() > 1).collect();
    let (least, end) =
        rows.iter().map(|(_, _, shape)| bulk(shape)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    let unit = Unit::of(end.max(1.0));
    let drawn: Vec<_> =
        rows.iter().map(|(name, ink, shape)| (*name, *ink, density(shape, end, unit))).collect();
    let top = drawn.iter().flat_map(|(_, _, outline)| outline).map(|point| point.1).fold(0.0, f64::max);
    Some(Figure {
        name: "location-shape",
        title: "How far the program's stamps lie from the kernel's, and how often".into(),
        caption: "Each stamp of the program is late on arrival, and early on departure, by what the host needs between the \
                  kernel's stamp and the program's: a mean, which could be subtracted, and a spread, which could not. The \
                  farthest hundredth is not shown."
            .into(),
        x: Axis {
            title: format!("apart, {}", unit.name(true)),
            from: least.min(0.0) / unit.nanos(),
            to: end / unit.nanos(),
            labels: Labels::Numbers,
        },
        y: Axis {
            title: format!("% of stamps per {}", unit.name(true)),
            from: 0.0,
            to: 1.08 * top,
            labels: Labels::Numbers,
        },
        layers: drawn.iter().map(|(_, ink, outline)| Layer::Area(*ink, outline.clone())).collect(),
        legend: drawn.iter().map(|(name, ink, _)| ((*name).into(), *ink)).collect(),
        low: false,
    })
}

/// Where a histogram begins, and the edge above which a hundredth lies at the most.
fn bulk(shape: &Histogram) -> (f64, f64) {
    let total: u64 = shape.counts.iter().sum();
    let mut below = 0;
    let most = shape.counts.iter().position(|count| {
        below += count;
        100 * below >= 99 * total
    });
    let edge = |place: usize| shape.bin_edges_ns.get(place).map_or(0.0, |edge| as_float(*edge));
    (edge(0), most.map_or(0.0, |place| edge(place + 1)).max(1.0))
}
