//! What the charts show, before they are drawn.
//!
//! A chart of a long run is thinned so that the page stays small: the points are put into buckets, and of each
//! bucket those stay that are spread evenly by rank, so that a picture is as dense as that of all would be, and the least and
//! the greatest where they stand apart, so that no outlier disappears. At most 8,000 are drawn of a series, 4,000 on paper
//! and in files, and 1,500 where the chart is narrow; of those of which a page has many, 1,470 where there are more than 2,000. What stands apart is sought in
//! some 500 stretches of either, which are about as many as can be told apart. The caption says how many are drawn, and of
//! how many.

mod clocks;
mod distributions;
pub(crate) mod emulated;
mod found;
mod over_time;
mod several;
mod shapes;
mod stretches;
mod strips;
mod thin;

use romer_record::Passage;

use crate::chart::Shape;
use crate::input::{Passages, Stream};
use crate::number::{TimeScale, count};
use crate::table::Trip;
use distributions::{Changes, Sorted, sorted};
pub(crate) use distributions::{capital, delays, steps};
use over_time::Spaced;
pub(crate) use several::{Laid, overlaid};
pub(crate) use stretches::{Mark, Stretch};
pub(crate) use strips::{Column, decade_label, decades};
use thin::thin_peaks;
pub(crate) use thin::{Cloud, MOST_POINTS, Outlier, peaks};

/// Where values beyond an axis are drawn, as captions say it.
pub(crate) const BEYOND: &str = "in the strip at the top (logarithmic)";

/// Colours by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Text,
    Grid,
    Forward,
    Reverse,
    RoundTrip,
    Lost,
    Found,
}

impl From<Trip> for Ink {
    fn from(way: Trip) -> Self {
        match way {
            Trip::Forward => Self::Forward,
            Trip::Reverse => Self::Reverse,
            Trip::RoundTrip => Self::RoundTrip,
        }
    }
}

/// An axis from one value to another.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) title: String,
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) labels: Labels,
}

/// What stands at an axis's marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Labels {
    Numbers,
    /// The values are logarithms (base 10) of nanoseconds.
    Decades,
    /// The values are logarithms (base 10) of shares.
    Shares,
    /// Strips one above the other, evenly from 0 to 1, each with an axis of its own: the logarithm (base 10) of a share, from
    /// `lowest` to 0 ([`strips::edges`]).
    Rows {
        rows: usize,
        lowest: i32,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum Layer {
    Points(Ink, Cloud),
    Line(Ink, Vec<(f64, f64)>),
    /// Filled from the axis up to the line.
    Area(Ink, Vec<(f64, f64)>),
    /// Marks at the lower axis.
    Below(Ink, Vec<Mark>),
    /// Marks at the upper end of the vertical axis.
    Top(Ink, Vec<Mark>),
    /// Values beyond the upper end of the axis, which are drawn in a strip above it.
    Above(Ink, Vec<(f64, f64)>),
    /// Rectangles with their opacity: left, right, bottom, top.
    Bars(Ink, Vec<([f64; 4], f64)>),
    /// Those of a strip, with what they stand for.
    Strip(Ink, Vec<Column>),
}

#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) title: String,
    pub(crate) caption: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) layers: Vec<Layer>,
    pub(crate) legend: Vec<(String, Ink)>,
}

impl Figure {
    /// How many strips there are instead of a whole chart.
    pub(crate) fn rows(&self) -> Option<usize> {
        match self.y.labels {
            Labels::Rows { rows, .. } => Some(rows),
            _ => None,
        }
    }

    /// The greatest value that lies beyond the vertical axis, if any does.
    pub(crate) fn most_beyond(&self) -> Option<f64> {
        let beyond = self.layers.iter().flat_map(|layer| match layer {
            Layer::Above(_, marks) => &marks[..],
            _ => &[],
        });
        beyond.map(|(_, y)| *y).reduce(f64::max).filter(|most| *most > self.y.to)
    }

    /// How many points are drawn where a series has at most so many, of how many, and how many of the longest series.
    fn counted(&self, most: usize) -> (usize, usize, usize) {
        let (mut drawn, mut of, mut longest) = (0, 0, 0);
        for layer in &self.layers {
            if let Layer::Points(_, cloud) = layer {
                let points = cloud.thinned(most).drawn();
                (drawn, of, longest) = (drawn + points, of + cloud.of, longest.max(points));
            }
        }
        (drawn, of, longest)
    }

    /// What is drawn of how much, and what marks mean, for a chart that has no page around it.
    pub(crate) fn alone(&self, most: usize) -> String {
        let mut words = Vec::from_iter(Some(self.caption.clone()).filter(|caption| !caption.is_empty()));
        let (drawn, of, _) = self.counted(most);
        if drawn < of {
            words.push(format!("Thinned to {} of {} points.", count(drawn as u64), count(of as u64)));
        }
        words.join(" ")
    }

    /// That not all points are drawn, and which are, where that is so.
    pub(crate) fn sampled(&self) -> Option<String> {
        let (drawn, of, longest) = self.counted(MOST_POINTS);
        let paper = Shape::Wide.most_points();
        let fewer = if longest > paper {
            format!(" (in print up to {} a series)", count(paper as u64))
        } else {
            String::new()
        };
        let lines = self.layers.iter().any(|layer| match layer {
            Layer::Points(_, cloud) => !cloud.thinned(MOST_POINTS).far.is_empty(),
            _ => false,
        });
        let extremes = if lines {
            "extremes are always drawn, as the ends of thin lines"
        } else {
            "extremes are always drawn"
        };
        (drawn < of).then(|| {
            format!("Thinned to {} of {} points{fewer}; {extremes}.", count(drawn as u64), count(of as u64))
        })
    }
}

/// All figures that the data allow.
pub(crate) fn figures(stream: &Stream<'_>) -> Vec<Figure> {
    let m = stream.measurement;
    let Some(passages) = &stream.passages else { return distributions::of_document(m).into_iter().collect() };
    let many = passages.forward.len().max(passages.reverse.len()) >= MANY;
    let (sorted, (times, spaced)) = both(
        many,
        || Sorted::of(passages),
        || {
            let times = Times::from_passages(passages);
            let spaced = Spaced::from_passages(passages, &times);
            (times, spaced)
        },
    );
    let over_time = || {
        let mut figures = Vec::new();
        figures.extend(over_time::delays(m, passages, &sorted, &times, &[Trip::RoundTrip]));
        figures.extend(over_time::delays(m, passages, &sorted, &times, &[Trip::Forward, Trip::Reverse]));
        figures.extend(strips::losses(passages, &times));
        figures.extend(strips::order(passages, &times));
        figures.extend(clocks::corrections(m, passages, &times));
        figures
    };
    let shapes = || {
        let mut figures = Vec::new();
        figures.extend(distributions::histogram(m, &sorted));
        figures.extend(distributions::distribution(m, &sorted));
        figures.extend(shapes::tail(m, &sorted));
        // Of a long run what is not wanted any more is given back before the next is made.
        let between = shapes::between(&spaced);
        let spacings = over_time::between(spaced, &times);
        let changes = Changes::of(passages);
        figures.extend(distributions::spacing(passages, &changes));
        figures.extend(shapes::jitters(m, passages, &sorted, &changes));
        figures.extend(between);
        figures.extend(clocks::location(passages));
        figures.extend(clocks::location_shape(passages));
        (spacings, figures)
    };
    let (mut figures, (spacings, shapes)) = both(many, over_time, shapes);
    figures.extend(spacings);
    figures.extend(shapes);
    figures
}

/// From so many passages on a second thread is worth its making.
const MANY: usize = 100_000;

/// Does two things, of long runs at once.
fn both<A: Send, B: Send>(many: bool, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B) -> (A, B) {
    if !many {
        return (a(), b());
    }
    std::thread::scope(|scope| {
        let one = scope.spawn(a);
        let other = b();
        match one.join() {
            Ok(one) => (one, other),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

impl Passages<'_> {
    pub(crate) fn passages(&self, way: Trip) -> &[Passage] {
        match way {
            Trip::Forward => self.forward,
            Trip::Reverse => self.reverse,
            Trip::RoundTrip => self.round_trip,
        }
    }
}

/// When each probe left the sender, which is the time axis of every chart, whichever clock a stamp is on.
pub(crate) struct Times {
    /// Sequence and nanoseconds since the first departure, in order of sequence.
    departures: Vec<(u64, i64)>,
    unit: TimeScale,
    pub(crate) end: f64,
}

impl Times {
    pub(crate) fn from_passages(passages: &Passages<'_>) -> Self {
        let ways = [passages.round_trip, passages.forward, passages.reverse];
        let from = ways.into_iter().find(|passages| !passages.is_empty()).unwrap_or_default();
        let mut departures: Vec<(u64, i64)> =
            from.iter().filter_map(|p| Some((p.sequence, p.departure?.as_nanos()))).collect();
        departures.sort_unstable();
        departures.dedup_by_key(|(sequence, _)| *sequence);
        let first = departures.iter().map(|(_, at)| *at).min().unwrap_or(0);
        for (_, at) in &mut departures {
            *at = at.saturating_sub(first);
        }
        let end = departures.iter().map(|(_, at)| *at).max().unwrap_or(0);
        let end = as_float(end).max(1.0);
        Self { departures, unit: TimeScale::for_nanos(end), end }
    }

    /// When each was sent, in the unit of the axis.
    fn moments(&self) -> impl Iterator<Item = f64> {
        self.departures.iter().map(|(_, at)| as_float(*at) / self.unit.nanos())
    }

    fn of_probe(&self, sequence: u64) -> Option<f64> {
        self.since_first(sequence).map(|nanos| nanos / self.unit.nanos())
    }

    /// When a probe was sent, nanoseconds after the first.
    pub(crate) fn since_first(&self, sequence: u64) -> Option<f64> {
        // Where no number is left out, as in most runs, its place is known.
        let guess = sequence.checked_sub(self.departures.first()?.0).and_then(|n| usize::try_from(n).ok());
        if let Some((_, at)) =
            guess.and_then(|place| self.departures.get(place)).filter(|one| one.0 == sequence)
        {
            return Some(as_float(*at));
        }
        let index = self.departures.binary_search_by_key(&sequence, |(sequence, _)| *sequence).ok()?;
        self.departures.get(index).map(|(_, at)| as_float(*at))
    }
    fn axis(&self) -> Axis {
        Axis {
            title: format!("time since the first probe, {}", self.unit.name(true)),
            from: 0.0,
            to: self.end / self.unit.nanos(),
            labels: Labels::Numbers,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a chart has about a thousand steps")]
pub(crate) fn as_float(nanos: i64) -> f64 {
    nanos as f64
}

#[expect(clippy::cast_precision_loss, reason = "a chart has about a thousand steps")]
pub(crate) fn share(part: usize, of: usize) -> f64 {
    part as f64 / of.max(1) as f64
}

pub(crate) fn at(sorted: &[f64], quantile: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index within the slice"
    )]
    let index = (last as f64 * quantile).round() as usize;
    sorted.get(index.min(last)).copied()
}

/// The same of several that are each ascending, as if they were one.
fn at_of(sorted: &[&[f64]], quantile: f64) -> Option<f64> {
    if let [one] = sorted {
        return at(one, quantile);
    }
    let last = sorted.iter().map(|values| values.len()).sum::<usize>().checked_sub(1)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index within all of them"
    )]
    let wanted = ((last as f64 * quantile).round() as usize).min(last);
    // Of all of them the least that so many lie below or at: it is a value of one of them.
    let reach =
        |value: f64| sorted.iter().map(|values| values.partition_point(|one| *one <= value)).sum::<usize>();
    let first_of = |values: &&[f64]| {
        let place = values.partition_point(|value| reach(*value) <= wanted);
        values.get(place).copied()
    };
    sorted.iter().filter_map(first_of).reduce(f64::min)
}

/// Where an axis begins and ends: around all values, or, where a few outliers would flatten the rest, around 99.5 %
/// of them. It begins at zero unless that would waste much of it.
pub(crate) fn ends(sorted: &[f64]) -> (f64, f64) {
    ends_of(&[sorted])
}

/// The same of several that are each ascending.
pub(crate) fn ends_of(sorted: &[&[f64]]) -> (f64, f64) {
    let firsts = sorted.iter().filter_map(|values| values.first().copied());
    let lasts = sorted.iter().filter_map(|values| values.last().copied());
    let (Some(least), Some(most), Some(all)) =
        (firsts.reduce(f64::min), at_of(sorted, 0.995), lasts.reduce(f64::max))
    else {
        return (0.0, 1.0);
    };
    // Where nothing varies, an axis of a single nanosecond would be all digits.
    let least_length = (1e-5 * least.abs()).max(1.0);
    let (usual, whole) = ((most - least).max(least_length), (all - least).max(least_length));
    let end = least + if whole > 2.5 * usual { 1.6 * usual } else { 1.06 * whole.max(1.0) };
    let from = if least > 0.3 * end { least - 0.08 * (end - least) } else { least.min(0.0) };
    (from, end)
}
