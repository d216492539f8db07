//! What the charts show, before they are drawn.
//!
//! A chart of a long run is thinned so that the page stays small: the points are put into buckets, and of each
//! bucket the least and the greatest stay, so that the envelope is exact and no outlier disappears. At most
//! 4,000 are drawn of a series, and 1,500 where the chart is narrow.

mod clocks;
pub(crate) mod emulated;
mod shapes;

use romer_record::document::{Direction, Histogram, Measurement};
use romer_record::{Fate, Passage};

use crate::chart::Shape;
use crate::number::{NO_BREAK, Unit, count, time};
use crate::table::Way;
use crate::{Passages, Stream};

/// The most marks at an edge.
const MOST_MARKS: usize = 800;
/// Steps of a drawn distribution function.
const STEPS: usize = 400;
/// Columns of the loss strip.
const STRIP: usize = 400;

/// Colours by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Text,
    Grid,
    Forward,
    Reverse,
    RoundTrip,
    Lost,
}

impl From<Way> for Ink {
    fn from(way: Way) -> Self {
        match way {
            Way::Forward => Self::Forward,
            Way::Reverse => Self::Reverse,
            Way::RoundTrip => Self::RoundTrip,
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
    Nothing,
}

#[derive(Clone, Debug)]
pub(crate) enum Layer {
    Points(Ink, Vec<(f64, f64)>),
    Line(Ink, Vec<(f64, f64)>),
    /// Filled from the axis up to the line.
    Area(Ink, Vec<(f64, f64)>),
    /// Marks at the lower axis.
    Below(Ink, Vec<f64>),
    /// Marks at the upper edge: values beyond it.
    Above(Ink, Vec<f64>),
    /// Rectangles with their opacity: left, right, bottom, top.
    Bars(Ink, Vec<([f64; 4], f64)>),
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
    /// A strip instead of a whole chart.
    pub(crate) low: bool,
}

/// All figures that the data allow.
pub(crate) fn figures(stream: &Stream<'_>) -> Vec<Figure> {
    let m = stream.measurement;
    let mut figures = Vec::new();
    if let Some(passages) = stream.passages {
        let times = Times::of(&passages);
        figures.extend(over_time(m, &passages, &times, &[Way::RoundTrip]));
        figures.extend(over_time(m, &passages, &times, &[Way::Forward, Way::Reverse]));
        figures.extend(losses(&passages, &times));
        figures.extend(clocks::order(&passages, &times));
        figures.extend(clocks::corrections(m, &passages, &times));
    }
    figures.extend(histogram(m, stream.passages.as_ref()));
    if let Some(passages) = stream.passages {
        figures.extend(distribution(m, &passages));
        figures.extend(shapes::tail(m, &passages));
        figures.extend(spacing(&passages));
    }
    figures.extend(shapes::all(stream));
    figures.extend(stream.passages.as_ref().and_then(clocks::location));
    figures
}

impl Passages<'_> {
    pub(crate) fn of(&self, way: Way) -> &[Passage] {
        match way {
            Way::Forward => self.forward,
            Way::Reverse => self.reverse,
            Way::RoundTrip => self.round_trip,
        }
    }
}

/// When each probe left the sender, which is the time axis of every chart, whichever clock a stamp is on.
pub(crate) struct Times {
    /// Sequence and nanoseconds since the first departure, in order of sequence.
    departures: Vec<(u64, i64)>,
    unit: Unit,
    pub(crate) end: f64,
}

impl Times {
    pub(crate) fn of(passages: &Passages<'_>) -> Self {
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
        Self { departures, unit: Unit::of(end), end }
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

pub(crate) fn delays(passages: &[Passage]) -> Vec<f64> {
    let mut delays: Vec<f64> = passages
        .iter()
        .filter(|p| p.fate == Fate::Arrived)
        .filter_map(|p| p.delay.map(|delay| as_float(delay.as_nanos())))
        .collect();
    delays.sort_unstable_by(f64::total_cmp);
    delays
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

/// Where an axis begins and ends: around all values, or, where a few outliers would flatten the rest, around 99.5 %
/// of them. It begins at zero unless that would waste much of it.
pub(crate) fn ends(sorted: &[f64]) -> (f64, f64) {
    let (Some(least), Some(most), Some(all)) =
        (sorted.first().copied(), at(sorted, 0.995), sorted.last().copied())
    else {
        return (0.0, 1.0);
    };
    let (usual, whole) = ((most - least).max(1.0), all - least);
    let end = least + if whole > 2.5 * usual { 1.6 * usual } else { 1.06 * whole.max(1.0) };
    let from = if least > 0.3 * end { least - 0.08 * (end - least) } else { least.min(0.0) };
    (from, end)
}

fn over_time(m: &Measurement, passages: &Passages<'_>, times: &Times, ways: &[Way]) -> Option<Figure> {
    let mut all: Vec<f64> = ways.iter().flat_map(|way| delays(passages.of(*way))).collect();
    all.sort_unstable_by(f64::total_cmp);
    all.first()?;
    let (from, end) = ends(&all);
    let unit = Unit::of(end);
    let mut layers = Vec::new();
    let mut beyond = 0;
    for way in ways {
        let points: Vec<(f64, f64)> = passages
            .of(*way)
            .iter()
            .filter(|p| p.fate == Fate::Arrived)
            .filter_map(|p| Some((times.of_probe(p.sequence)?, as_float(p.delay?.as_nanos()))))
            .collect();
        let (within, above): (Vec<_>, Vec<_>) = points.into_iter().partition(|(_, delay)| *delay <= end);
        beyond += above.len();
        let scaled = within.into_iter().map(|(x, y)| (x, y / unit.nanos())).collect();
        layers.push(Layer::Points((*way).into(), scaled));
        layers.push(Layer::Above((*way).into(), thin_marks(above.into_iter().map(|(x, _)| x).collect())));
    }
    let round_trip = ways == [Way::RoundTrip];
    let lost: Vec<f64> = if round_trip { lost_at(passages.round_trip, times, &[]) } else { Vec::new() };
    let mut caption = Vec::new();
    if from > 0.0 {
        caption.push("The scale does not begin at zero.".to_owned());
    }
    if beyond > 0 {
        caption.push(format!(
            "{} of {} lie above {} and are drawn as marks at the upper edge.",
            count(beyond as u64),
            count(all.len() as u64),
            time(end, true)
        ));
    }
    if all.len() / ways.len() > Shape::Wide.most_points() {
        caption.push("Of each moment the shortest and the longest delay are drawn.".to_owned());
    }
    let mut legend: Vec<(String, Ink)> = ways.iter().map(|way| (way.label(m), (*way).into())).collect();
    if !lost.is_empty() {
        legend.push(("lost".into(), Ink::Lost));
        layers.push(Layer::Below(Ink::Lost, thin_marks(lost)));
    }
    let happened: Vec<f64> =
        m.events.iter().map(|event| as_float(event.at_ns) / times.unit.nanos()).collect();
    let happened: Vec<f64> = happened.into_iter().filter(|x| (0.0..=times.axis().to).contains(x)).collect();
    if !happened.is_empty() {
        legend.push(("something happened".into(), Ink::Text));
        layers.push(Layer::Below(Ink::Text, thin_marks(happened)));
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
        low: false,
    })
}

/// Keeps the least and the greatest of each bucket of consecutive points.
pub(crate) fn thin(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    if points.len() <= most {
        return points.to_vec();
    }
    let bucket = points.len().div_ceil(most / 2);
    let mut kept = Vec::with_capacity(most);
    for chunk in points.chunks(bucket) {
        let by_delay = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let (Some(least), Some(greatest)) = (chunk.iter().min_by(by_delay), chunk.iter().max_by(by_delay))
        else {
            continue;
        };
        kept.push(*least);
        kept.push(*greatest);
    }
    kept
}

/// Marks nearer than about a pixel of the widest chart are one.
fn thin_marks(mut marks: Vec<f64>) -> Vec<f64> {
    marks.sort_unstable_by(f64::total_cmp);
    let step = marks.last().copied().unwrap_or(0.0) * share(1, MOST_MARKS);
    marks.dedup_by(|later, earlier| *later - *earlier < step);
    marks
}

/// When those probes were sent that did not arrive in time and are not among `others`.
fn lost_at(passages: &[Passage], times: &Times, others: &[Fate]) -> Vec<f64> {
    passages
        .iter()
        .filter(|p| p.fate != Fate::Arrived && !others.contains(&p.fate) && p.copy == 0)
        .filter_map(|p| times.of_probe(p.sequence))
        .collect()
}

fn losses(passages: &Passages<'_>, times: &Times) -> Option<Figure> {
    let unknown = [Fate::Unknown];
    let known = [Fate::Lost, Fate::Late];
    let rows = [
        ("lost on the way there", Ink::Forward, lost_at(passages.forward, times, &unknown)),
        ("lost on the way back", Ink::Reverse, lost_at(passages.reverse, times, &unknown)),
        ("lost, not known where", Ink::Lost, lost_at(passages.forward, times, &known)),
    ];
    let rows: Vec<_> = rows.into_iter().filter(|(_, _, marks)| !marks.is_empty()).collect();
    if rows.is_empty() {
        return None;
    }
    let end = times.end / times.unit.nanos();
    let sent = per_column(times.moments(), end);
    let mut layers = Vec::new();
    for (index, (_, ink, marks)) in rows.iter().enumerate() {
        let lost = per_column(marks.iter().copied(), end);
        let edges = [share(index, rows.len()) + 0.06, share(index + 1, rows.len()) - 0.06];
        layers.push(Layer::Bars(*ink, strip(&lost, &sent, end, edges)));
    }
    Some(Figure {
        name: "loss",
        title: "Losses".into(),
        caption:
            "The shade tells the share lost of the probes sent in that moment: under 10 %, under 50 %, more."
                .into(),
        x: times.axis(),
        y: Axis { title: String::new(), from: 0.0, to: 1.0, labels: Labels::Nothing },
        layers,
        legend: rows.into_iter().map(|(name, ink, _)| (name.into(), ink)).collect(),
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

/// The end of the axis of distributions: the greatest delay of any way, or, where that is far out, a little more
/// than the greatest p99.
fn common_end(m: &Measurement) -> Option<f64> {
    let end = |direction: &Direction| {
        let (p99, max) = (direction.delay_ns.p99?, direction.delay_ns.max?);
        Some(if max > 1.3 * p99 { 1.15 * p99 } else { max })
    };
    Way::ALL.iter().filter_map(|way| end(way.of(m))).reduce(f64::max).filter(|end| *end > 0.0)
}

fn histogram(m: &Measurement, passages: Option<&Passages<'_>>) -> Option<Figure> {
    let end = common_end(m)?;
    let unit = Unit::of(end);
    let mut layers = Vec::new();
    let mut legend = Vec::new();
    let mut top: f64 = 0.0;
    // Bins of one width let the eye compare the ways; without the packets those of the document have to do.
    let of_document = || Way::ALL.map(|way| (way, density(&way.of(m).histograms.delay, end, unit))).into();
    for (way, outline) in passages.map_or_else(of_document, |passages| shapes::outlines(passages, end, unit))
    {
        if outline.len() > 2 {
            top = outline.iter().map(|(_, y)| *y).fold(top, f64::max);
            layers.push(Layer::Area(way.into(), outline));
            legend.push((way.label(m), way.into()));
        }
    }
    layers.first()?;
    Some(Figure {
        name: "histogram",
        title: "Distribution of the delay".into(),
        caption: beyond_note(m, end),
        x: delay_axis(end, unit),
        y: Axis {
            title: format!("% of packets per {}", unit.name(true)),
            from: 0.0,
            to: 1.08 * top,
            labels: Labels::Numbers,
        },
        layers,
        legend,
        low: false,
    })
}

fn delay_axis(end: f64, unit: Unit) -> Axis {
    Axis {
        title: format!("delay, {}", unit.name(true)),
        from: 0.0,
        to: end / unit.nanos(),
        labels: Labels::Numbers,
    }
}

fn beyond_note(m: &Measurement, end: f64) -> String {
    let beyond: Vec<String> = Way::ALL
        .iter()
        .filter(|way| way.of(m).delay_ns.max.is_some_and(|max| max > end))
        .map(|way| format!("{} up to {}", way.name(), time(way.of(m).delay_ns.max.unwrap_or(end), true)))
        .collect();
    if beyond.is_empty() {
        String::new()
    } else {
        format!("Not shown: the longest delays, {}.", beyond.join(", "))
    }
}

/// The outline of a histogram as a density in percent per unit, so that bins of different width compare.
#[expect(clippy::cast_precision_loss, reason = "a chart has about a thousand steps")]
fn density(histogram: &Histogram, end: f64, unit: Unit) -> Vec<(f64, f64)> {
    let total = histogram.counts.iter().sum::<u64>();
    let mut outline = Vec::new();
    for (edges, count) in histogram.bin_edges_ns.windows(2).zip(&histogram.counts) {
        let [from, to] = edges else { continue };
        let (from, to) = (as_float(*from), as_float(*to).max(as_float(*from) + 1.0));
        if total == 0 || from > end {
            continue;
        }
        let height = 100.0 * *count as f64 / total as f64 / ((to - from) / unit.nanos());
        if outline.is_empty() {
            outline.push((from / unit.nanos(), 0.0));
        }
        outline.push((from / unit.nanos(), height));
        outline.push((to.min(end) / unit.nanos(), height));
    }
    if let Some((last, _)) = outline.last().copied() {
        outline.push((last, 0.0));
    }
    outline
}

fn distribution(m: &Measurement, passages: &Passages<'_>) -> Option<Figure> {
    let end = common_end(m)?;
    let unit = Unit::of(end);
    let mut layers = Vec::new();
    let mut legend = Vec::new();
    for way in Way::ALL {
        let delays = delays(passages.of(way));
        if delays.len() > 1 {
            let within = steps(&delays).into_iter().filter(|(delay, _)| *delay <= end);
            layers
                .push(Layer::Line(way.into(), within.map(|(delay, y)| (delay / unit.nanos(), y)).collect()));
            legend.push((way.label(m), way.into()));
        }
    }
    (!layers.is_empty()).then(|| Figure {
        name: "distribution",
        title: "Share of packets that took no longer".into(),
        caption: beyond_note(m, end),
        x: delay_axis(end, unit),
        y: Axis { title: "% of packets".into(), from: 0.0, to: 100.0, labels: Labels::Numbers },
        layers,
        legend,
        low: false,
    })
}

/// The distribution function of sorted values, in percent.
pub(crate) fn steps(sorted: &[f64]) -> Vec<(f64, f64)> {
    (0..=STEPS)
        .filter_map(|step| Some((at(sorted, share(step, STEPS))?, 100.0 * share(step, STEPS))))
        .collect()
}

/// How far the spacing of packets is from what it should be: the sender's own error, and what the path adds.
fn spacing(passages: &Passages<'_>) -> Option<Figure> {
    let error = passages.forward.iter().filter(|p| p.copy == 0).filter_map(|p| p.departure_error);
    let error = sorted(error.map(|error| as_float(error.as_nanos()).abs()));
    let rows = [
        ("sender's departure error", Ink::Text, error),
        ("changed on the way there", Ink::Forward, sorted(changes(passages.forward))),
        ("changed on the way back", Ink::Reverse, sorted(changes(passages.reverse))),
    ];
    let rows: Vec<_> = rows.into_iter().filter(|(_, _, values)| values.len() > 1).collect();
    let greatest = rows.iter().filter_map(|(_, _, values)| values.last().copied()).fold(0.0, f64::max);
    if greatest <= 0.0 {
        return None;
    }
    let median = |values: &[f64]| at(values, 0.5).unwrap_or(1.0);
    let least = rows.iter().map(|(_, _, values)| median(values)).fold(f64::INFINITY, f64::min);
    let from = (least.max(10.0).log10() - 1.0).floor().max(0.0);
    let to = greatest.max(10.0).log10().ceil();
    let layers = rows
        .iter()
        .map(|(_, ink, values)| {
            let logs = steps(values).into_iter().map(|(value, y)| (value.max(1.0).log10().max(from), y));
            Layer::Line(*ink, logs.collect())
        })
        .collect();
    let worst = rows.iter().map(|(name, _, values)| {
        format!("{name}: 99{NO_BREAK}% within {}", time(at(values, 0.99).unwrap_or(0.0), true))
    });
    Some(Figure {
        name: "spacing",
        title: "Error of the packets' spacing".into(),
        caption: format!(
            "{}. The change of spacing between consecutive packets is |IPDV| (RFC 3393).",
            capital(&worst.collect::<Vec<_>>().join("; "))
        ),
        x: Axis { title: "error (logarithmic)".into(), from, to, labels: Labels::Decades },
        y: Axis { title: "% of packets with no more".into(), from: 0.0, to: 100.0, labels: Labels::Numbers },
        layers,
        legend: rows.into_iter().map(|(name, ink, _)| (name.into(), ink)).collect(),
        low: false,
    })
}

/// With a capital first.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The difference of delay between packets of consecutive numbers, both arrived, without its sign.
fn changes(passages: &[Passage]) -> impl Iterator<Item = f64> {
    let first: Vec<&Passage> = passages.iter().filter(|p| p.copy == 0 && p.fate == Fate::Arrived).collect();
    let differences: Vec<f64> = first
        .windows(2)
        .filter_map(|pair| match pair {
            [a, b] if b.sequence == a.sequence + 1 => Some(as_float((b.delay? - a.delay?).as_nanos()).abs()),
            _ => None,
        })
        .collect();
    differences.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_envelope() {
        let points: Vec<(f64, f64)> = (0..100_000u32)
            .map(|n| (f64::from(n), if n == 77_777 { 1e6 } else { f64::from(n % 13) }))
            .collect();
        let thinned = thin(&points, 4_000);
        assert!(thinned.len() <= 4_000);
        assert!(thinned.contains(&(77_777.0, 1e6)), "an outlier does not disappear");
        let count = thinned.iter().filter(|(_, y)| *y <= 0.0).count();
        assert!(count > 1_000, "nor do the least values");
    }
}
