//! What clocks did to the delays, and what the program's own stamps would have.

use std::borrow::Cow;

use romer_clock::skew::Correction;
use romer_record::document::{Histogram, Measurement};
use romer_record::{Fate, OneWaySingleton};
use romer_units::saturating_sum;

use super::distributions::sorted;
use super::distributions::{BINS, density, outline_in};
use super::drawing::{Axis, BEYOND, Figure, Ink, Labels, Layer};
use super::ranks::{as_float, share};
use super::stretches::Stretches;
use super::thin::Cloud;
use super::thin::Thinning;
use super::times::Times;
use crate::input::Singletons;
use crate::number::{TimeScale, count, counted, percent, time};
use crate::table::MeasuredPath;
use crate::words::pace;

/// Columns of the band of the interval.
const BAND: usize = 100;
/// How high it is drawn at the least, as a share of the axis, and how strong.
const THIN: f64 = 0.008;
const STRONG: f64 = 0.9;

/// The delays of each direction before and after the clocks were taken out of them, with the interval of what was.
pub(super) fn corrections(m: &Measurement, singletons: &Singletons<'_>, times: &Times) -> Vec<Figure> {
    [MeasuredPath::Forward, MeasuredPath::Reverse]
        .into_iter()
        .zip(singletons.corrections)
        .filter(|(_, correction)| !correction.is_empty())
        .filter_map(|(way, correction)| corrected(m, way, singletons.singletons(way), correction, times))
        .collect()
}

/// The moment of a singleton on the sender's clock.
fn moment(singleton: &OneWaySingleton, way: MeasuredPath) -> Option<i64> {
    match way {
        MeasuredPath::Reverse => singleton.arrival.map(romer_units::Timestamp::as_nanos),
        _ => singleton.departure.map(romer_units::Timestamp::as_nanos),
    }
}

fn corrected(
    m: &Measurement,
    way: MeasuredPath,
    singletons: &[OneWaySingleton],
    correction: &Correction,
    times: &Times,
) -> Option<Figure> {
    let arrived = || {
        let arrived = singletons.iter().filter(|singleton| singleton.fate == Fate::Arrived);
        arrived.filter_map(|singleton| {
            let at = moment(singleton, way)?;
            let x = times.of_probe(singleton.sequence)?;
            let after = as_float(singleton.delay?.as_nanos());
            Some(Corrected { x, at, before: after + as_float(correction.at(at)), after })
        })
    };
    let (mut total, mut least) = (0, f64::INFINITY);
    for one in arrived() {
        total += 1;
        least = least.min(one.before);
    }
    if total == 0 {
        return None;
    }
    let end = reach(arrived(), total, least);
    let unit = TimeScale::for_nanos(end);
    // Two clouds lie over each other, in each direction.
    let mut clouds = [Thinning::sparse(total), Thinning::sparse(total)];
    let mut stretches = [(); 2].map(|()| Stretches::new(times.axis().to));
    let mut beyond = [Vec::new(), Vec::new()];
    let mut above = 0u64;
    let mut band = Band::new(total, correction);
    for Corrected { x, at, before, after } in arrived() {
        let both = [before - least, after];
        above += u64::from(both.iter().any(|value| *value > end));
        for (value, stretches) in both.into_iter().zip(&mut stretches) {
            stretches.push((x, value / unit.nanos()));
        }
        for ((value, cloud), beyond) in both.into_iter().zip(&mut clouds).zip(&mut beyond) {
            if value > end {
                beyond.push((x, value / unit.nanos()));
            } else {
                cloud.push((x, value / unit.nanos()));
            }
        }
        band.push(x, at);
    }
    let [mut before, mut after] = clouds.map(Thinning::finish);
    [before.stretches, after.stretches] = stretches.map(Some);
    let [before_beyond, after_beyond] = beyond.map(super::thin::thin_peaks);
    let widest = band.widest;
    let band = band.bars(least, end, unit);
    let ink = Ink::from(way);
    let more = if above == 0 {
        String::new()
    } else {
        let lie = if above == 1 { "1 lies".to_owned() } else { format!("{} lie", count(above)) };
        format!(
            " Of {} {lie} above {}, {BEYOND}.",
            counted(total as u64, "packet", "packets"),
            time(end, true)
        )
    };
    Some(Figure {
        name: if way == MeasuredPath::Reverse { "clock-reverse" } else { "clock-forward" },
        title: format!("Clock correction, {}", way.name()),
        caption: format!(
            "Delays above their minimum. {} Band: correction with its 95 % confidence interval. Error of a corrected delay: \
             up to {}.{more}",
            caption(m),
            time(widest, true)
        ),
        x: times.axis(),
        y: Axis {
            title: format!("delay above minimum, {}", unit.name(true)),
            from: 0.0,
            to: end / unit.nanos(),
            labels: Labels::Numbers,
        },
        layers: vec![
            Layer::Points(Ink::Text, before),
            Layer::Points(ink, after),
            Layer::Bars(Ink::Lost, band),
            Layer::Above(Ink::Text, before_beyond),
            Layer::Above(ink, after_beyond),
        ],
        legend: vec![
            ("uncorrected".into(), Ink::Text),
            ("corrected".into(), ink),
            ("correction".into(), Ink::Lost),
        ],
    })
}

/// Of so many values one is looked at for the end of an axis.
const LOOKED_AT: usize = 100_000;

/// Where the axis ends: around all but what a few packets would flatten the rest for.
fn reach(arrived: impl Iterator<Item = Corrected>, total: usize, least: f64) -> f64 {
    let every = total.div_ceil(LOOKED_AT).max(1);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut most = [0.0f64; 2];
    for (number, one) in arrived.enumerate() {
        let values = [one.before - least, one.after];
        most = [most[0].max(values[0]), most[1].max(values[1])];
        if number % every == 0 {
            before.push(values[0]);
            after.push(values[1]);
        }
    }
    let end = |mut values: Vec<f64>, most: f64| {
        values.push(most);
        values.sort_unstable_by(f64::total_cmp);
        super::ranks::ends(&values).1
    };
    end(before, most[0]).max(end(after, most[1])).max(1.0)
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

    /// Rectangles from `least` to `end` above it, in `unit`.
    fn bars(mut self, least: f64, end: f64, unit: TimeScale) -> Vec<([f64; 4], f64)> {
        self.columns.extend(self.open.take());
        let bar = |[left, right, low, high]: [f64; 4]| {
            // A band that is narrower than a line can be seen is as wide as one.
            let thin = (THIN * end - (high - low)).max(0.0) / 2.0;
            let (low, high) = (low - least - thin, high - least + thin);
            let seen = high > 0.0 && low < end;
            seen.then(|| ([left, right, low.max(0.0) / unit.nanos(), high.min(end) / unit.nanos()], STRONG))
        };
        self.columns.into_iter().filter_map(bar).collect()
    }
}

/// What was found of the clocks, in a sentence.
fn caption(m: &Measurement) -> String {
    match (m.clock.skew_ppm, m.clock.skew_interval_ppm) {
        (Some(skew), Some([low, high])) => {
            format!(
                "The responder's clock runs {} (method {}).",
                pace(skew, Some([low, high]), "the sender's"),
                m.clock.method
            )
        }
        _ => String::new(),
    }
}

/// How far the program's stamps lie from the kernel's (Hershberger 2005, figures 9.3 and 9.4), at each end and in each direction.
pub(super) fn location(singletons: &Singletons<'_>) -> Option<Figure> {
    let series = singletons.location;
    let rows = [
        ("t1 (sent)", Ink::Text, &series.sender_departure),
        ("t2 (received)", Ink::Forward, &series.responder_arrival),
        ("t3 (replied)", Ink::Reverse, &series.responder_departure),
        ("t4 (returned)", Ink::RoundTrip, &series.sender_arrival),
    ];
    let rows: Vec<_> = rows.into_iter().filter(|(_, _, points)| points.len() > 1).collect();
    let mut all: Vec<f64> =
        rows.iter().flat_map(|(_, _, points)| points.iter().map(|(_, apart)| as_float(*apart))).collect();
    all.sort_unstable_by(f64::total_cmp);
    let least = all.first()?.min(0.0);
    let (_, end) = super::ranks::ends(&all);
    let last = rows.iter().flat_map(|(_, _, points)| points.iter().map(|point| point.0)).max().unwrap_or(0);
    let (unit, length) = (TimeScale::for_nanos(end), TimeScale::for_nanos(as_float(last).max(1.0)));
    let mut layers = Vec::new();
    let mut beyond = 0;
    for (_, ink, points) in &rows {
        let scaled = |(at, apart): &(i64, i64)| (as_float(*at) / length.nanos(), as_float(*apart));
        let (within, above): (Vec<_>, Vec<_>) = points.iter().map(scaled).partition(|(_, y)| *y <= end);
        beyond += above.len();
        let points = within.into_iter().map(|(x, y)| (x, y / unit.nanos())).collect();
        layers.push(Layer::Points(*ink, Cloud::all(points)));
        let above = above.into_iter().map(|(x, y)| (x, y / unit.nanos())).collect();
        layers.push(Layer::Above(*ink, super::thin::thin_peaks(above)));
    }
    let more = if beyond > 0 {
        let [lie, are] = if beyond == 1 { ["lies", "is"] } else { ["lie", "are"] };
        format!(" {} {lie} above {} and {are} {BEYOND}.", count(beyond as u64), time(end, true))
    } else {
        String::new()
    };
    Some(Figure {
        name: "location",
        title: "User-space minus kernel time stamp".into(),
        caption: format!("Error that user-space time stamps would have added.{more}"),
        x: Axis {
            title: format!("time since the first time stamp, {}", length.name(true)),
            from: 0.0,
            to: as_float(last).max(1.0) / length.nanos(),
            labels: Labels::Numbers,
        },
        y: Axis {
            title: format!("difference, {}", unit.name(true)),
            from: least / unit.nanos(),
            to: end / unit.nanos(),
            labels: Labels::Numbers,
        },
        layers,
        legend: rows.into_iter().map(|(name, ink, _)| (name.into(), ink)).collect(),
    })
}

/// How often the program's stamps lie how far from the kernel's (Hershberger 2005, figures 9.3 and 9.4 from the side).
pub(super) fn location_shape(singletons: &Singletons<'_>) -> Option<Figure> {
    let (series, shapes) = (singletons.location, &singletons.location.shapes);
    let rows = [
        ("t1 (sent)", Ink::Text, &shapes.sender_departure, &series.sender_departure),
        ("t2 (received)", Ink::Forward, &shapes.responder_arrival, &series.responder_arrival),
        ("t3 (replied)", Ink::Reverse, &shapes.responder_departure, &series.responder_departure),
        ("t4 (returned)", Ink::RoundTrip, &shapes.sender_arrival, &series.sender_arrival),
    ];
    let rows: Vec<_> = rows.into_iter().filter(|(_, _, shape, _)| shape.total() > 1).collect();
    let (least, end) = seen(&rows.iter().map(|(_, _, shape, _)| bulk(shape)).collect::<Vec<_>>())?;
    let unit = TimeScale::for_nanos(end.max(1.0));
    let width = common_width(rows.iter().map(|(_, _, shape, _)| *shape), (least, end));
    let at_hand = || bins_of_all(rows.iter().map(|(_, _, shape, points)| (*shape, points.len())));
    let bins = if width.is_none() { at_hand() } else { None };
    let drawn: Vec<_> = rows
        .iter()
        .map(|(name, ink, shape, points)| {
            let outline = if let Some(bins) = bins {
                let apart = sorted(points.iter().map(|point| point.1).collect());
                outline_in(bins, &apart, (least, end), unit)
            } else {
                let shape = width.map_or(Cow::Borrowed(*shape), |width| Cow::Owned(in_bins(shape, width)));
                density(&shape, (f64::NEG_INFINITY, end), unit)
            };
            (*name, *ink, outline)
        })
        .collect();
    let width = width.map(as_float).or(bins.map(|bins| (end - least) / share(bins, 1)));
    let bins = width.map_or_else(
        || " Bins have different widths; areas are proportional to counts.".to_owned(),
        |width| format!(" Bin width {}.", time(width, true)),
    );
    let top = drawn.iter().flat_map(|(_, _, outline)| outline).map(|point| point.1).fold(0.0, f64::max);
    let beyond = rows.iter().filter_map(|(name, _, shape, _)| {
        Some(format!("{} of {name}", percent(Some(beyond(shape, end)).filter(|share| *share > 0.0)?)))
    });
    let beyond = beyond.collect::<Vec<_>>().join(", ");
    let beyond = if beyond.is_empty() { beyond } else { format!(" Beyond the right edge: {beyond}.") };
    Some(Figure {
        name: "location-shape",
        title: "User-space minus kernel time stamp, histogram".into(),
        caption: format!("User-space time stamps are late on arrival and early on departure.{bins}{beyond}"),
        x: Axis {
            title: format!("difference, {}", unit.name(true)),
            from: least.min(0.0) / unit.nanos(),
            to: end / unit.nanos(),
            labels: Labels::Numbers,
        },
        y: Axis {
            title: format!("% of time stamps per {}", unit.name(true)),
            from: 0.0,
            to: 1.08 * top,
            labels: Labels::Numbers,
        },
        layers: drawn.iter().map(|(_, ink, outline)| Layer::Area(*ink, outline.clone())).collect(),
        legend: drawn.iter().map(|(name, ink, _)| ((*name).into(), *ink)).collect(),
    })
}

/// How many bins of one width there are for histograms of which all values are at hand, of which there are `usize`: fewer where
/// there are few values for each.
fn bins_of_all<'a>(mut shapes: impl Iterator<Item = (&'a Histogram, usize)>) -> Option<usize> {
    const MIN_VALUES_PER_BIN: usize = 25;
    const EACH: usize = 4;
    let least = shapes.try_fold(usize::MAX, |least, (shape, at_hand)| {
        let all = shape.total() == at_hand as u64;
        all.then_some(least.min(at_hand))
    });
    Some((least? / EACH).clamp(MIN_VALUES_PER_BIN, BINS))
}

/// The width of the widest bin that is seen, where bins of that width are still many enough for a picture.
fn common_width<'a>(shapes: impl Iterator<Item = &'a Histogram>, (least, end): (f64, f64)) -> Option<i64> {
    const MIN_VALUES_PER_BIN: f64 = 25.0;
    let widths = shapes.flat_map(|shape| {
        // The first and the last may be as wide as all that lies beyond the others.
        let inner = shape.bin_edges_ns.get(1..shape.bin_edges_ns.len().saturating_sub(1)).unwrap_or_default();
        let pairs: Vec<[i64; 2]> = inner.windows(2).map(|pair| [pair[0], pair[1]]).collect();
        pairs.into_iter().filter(|pair| as_float(pair[0]) < end && as_float(pair[1]) > least)
    });
    let widest = widths.map(|[from, to]| to.saturating_sub(from)).max().filter(|width| *width > 0)?;
    (as_float(widest) * MIN_VALUES_PER_BIN <= end - least).then_some(widest)
}

/// The same in bins of that width. What lies in a bin that reaches over several of them is shared by how far it does.
fn in_bins(shape: &Histogram, width: i64) -> Histogram {
    let (Some(first), Some(last)) = (shape.bin_edges_ns.first(), shape.bin_edges_ns.last()) else {
        return shape.clone();
    };
    let from = first.div_euclid(width);
    let bins = usize::try_from(last.div_euclid(width).saturating_sub(from).saturating_add(1))
        .unwrap_or(0)
        .min(MOST_BINS);
    let edge = |bin: usize| from.saturating_add(i64::try_from(bin).unwrap_or(0)).saturating_mul(width);
    let mut counts = vec![0.0; bins];
    for (pair, count) in shape.bin_edges_ns.windows(2).zip(&shape.counts) {
        let whole = as_float(pair[1].saturating_sub(pair[0])).max(1.0);
        let start = usize::try_from(pair[0].div_euclid(width).saturating_sub(from)).unwrap_or(0);
        for (bin, sum) in counts.iter_mut().enumerate().skip(start) {
            let (low, high) =
                (edge(bin).max(pair[0]), edge(bin + 1).min(pair[1].max(pair[0].saturating_add(1))));
            if low >= high {
                break;
            }
            #[expect(clippy::cast_precision_loss, reason = "a chart has about a thousand steps")]
            let count = *count as f64;
            *sum += count * as_float(high.saturating_sub(low)) / whole;
        }
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of stamps")]
    let mut counts: Vec<u64> = counts.into_iter().map(|count: f64| (count * PARTS).round() as u64).collect();
    let mut edges: Vec<i64> = (0..=bins).map(edge).collect();
    if edges.last() < Some(last) {
        let all = shape.total().saturating_mul(1_000);
        counts.push(counts.iter().fold(all, |left, count| left.saturating_sub(*count)));
        edges.push(*last);
    }
    Histogram { bin_edges_ns: edges, counts }
}

/// The most bins that are drawn; what lies farther is told by the caption.
const MOST_BINS: usize = 2_000;
/// In how many parts a count is told that bins share.
const PARTS: f64 = 1_000.0;

/// Where a histogram begins, and the edge above which a hundredth lies at the most; or, where that is far out, an edge
/// four times as far from the beginning as that above which a fourth lies at the most, so that the bulk is seen.
fn bulk(shape: &Histogram) -> (f64, f64) {
    let begin = edge(shape, 0);
    let (usual, most) = (below(shape, 75) - begin, below(shape, 99) - begin);
    (begin, (begin + most.min(4.0 * usual)).max(1.0))
}

/// From where to where all of these are seen that reach about as far as each other; of one that reaches farther, what lies there.
fn seen(bulks: &[(f64, f64)]) -> Option<(f64, f64)> {
    const TIMES: f64 = 20.0;
    let least = bulks.iter().map(|bulk| bulk.0).reduce(f64::min)?;
    let [shortest, longest] =
        [f64::min, f64::max].map(|of| bulks.iter().map(|bulk| bulk.1 - least).reduce(of).unwrap_or(1.0));
    Some((least, least + longest.min(TIMES * shortest)))
}

fn edge(shape: &Histogram, place: usize) -> f64 {
    shape.bin_edges_ns.get(place).map_or(0.0, |edge| as_float(*edge))
}

/// The edge below which so many in a hundred lie at the least.
fn below(shape: &Histogram, percent: u64) -> f64 {
    let total = u128::from(shape.total());
    let mut sum = 0_u64;
    let place = shape.counts.iter().position(|count| {
        sum = sum.saturating_add(*count);
        100 * u128::from(sum) >= u128::from(percent) * total
    });
    place.map_or(0.0, |place| edge(shape, place + 1))
}

/// The share that lies in bins that begin at `end` or beyond it.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn beyond(shape: &Histogram, end: f64) -> f64 {
    let total = shape.total();
    let bins = shape.bin_edges_ns.iter().zip(&shape.counts);
    let far = saturating_sum(bins.filter(|(from, _)| as_float(**from) >= end).map(|(_, count)| count));
    far as f64 / total.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edges and counts at the ends of their types, as the records of a hostile far end make them, do not overflow.
    #[test]
    fn extreme_histograms() {
        let shape = Histogram {
            bin_edges_ns: vec![i64::MIN, -1, 0, 1, i64::MAX],
            counts: vec![u64::MAX, 3, 3, u64::MAX],
        };
        assert_eq!(shape.total(), u64::MAX);
        for width in [1, 1_000, i64::MAX] {
            let rebinned = in_bins(&shape, width);
            assert!(rebinned.counts.len() <= MOST_BINS + 1, "{width}");
            assert_eq!(rebinned.bin_edges_ns.len(), rebinned.counts.len() + 1, "{width}");
        }
        let (begin, end) = bulk(&shape);
        assert!(begin <= end && beyond(&shape, end) <= 1.0);
        let same = Histogram { bin_edges_ns: vec![0; 5], counts: vec![1; 4] };
        assert_eq!(common_width([&same].into_iter(), (-1.0, 1.0)), None, "bins have a width");
    }

    #[test]
    fn histograms_beside_each_other_have_bins_of_one_width_where_these_are_many_enough() {
        let shape = |width: i64, counts: Vec<u64>| Histogram {
            bin_edges_ns: (0..=counts.len()).map(|n| width * i64::try_from(n).unwrap()).collect(),
            counts,
        };
        let (fine, coarse) = (shape(1_000, vec![10; 100]), shape(5_000, vec![1; 40]));
        assert_eq!(common_width([&fine, &coarse].into_iter(), (0.0, 200_000.0)), Some(5_000));
        let rebinned = in_bins(&fine, 5_000);
        assert!(rebinned.bin_edges_ns.windows(2).all(|pair| pair[1] - pair[0] == 5_000));
        assert!(rebinned.counts[..20].iter().all(|count| *count == 50_000), "{rebinned:?}");
        assert_eq!(rebinned.counts.iter().sum::<u64>(), 1_000_000, "none is lost");
        // Too few of them would be no picture of those that are fine.
        assert_eq!(common_width([&fine, &coarse].into_iter(), (0.0, 50_000.0)), None);
        // A tail that reaches far is one bin from where no more are drawn, and what it holds is still of all.
        let far = Histogram { bin_edges_ns: vec![0, 1_000, 1_000_000_000], counts: vec![3, 1] };
        let rebinned = in_bins(&far, 1_000);
        assert_eq!((rebinned.counts.len(), rebinned.counts[0]), (MOST_BINS + 1, 3_000));
        assert_eq!(rebinned.counts.iter().sum::<u64>(), 4_000);
        // Bins that do not divide the others are shared, and none is lost below zero either.
        let odd = Histogram { bin_edges_ns: vec![-3_000, 4_000, 11_000], counts: vec![7, 14] };
        let rebinned = in_bins(&odd, 5_000);
        assert_eq!(rebinned.bin_edges_ns[0], -5_000);
        assert_eq!(rebinned.counts, [3_000, 6_000, 10_000, 2_000]);
    }

    #[test]
    fn stamps_that_are_all_at_hand_have_bins_of_one_width_however_few_they_are() {
        let shape = |counts: Vec<u64>| Histogram { bin_edges_ns: vec![0, 1, 3], counts };
        let (few, many) = (shape(vec![30, 10]), shape(vec![300, 100]));
        assert_eq!(bins_of_all([(&few, 40), (&many, 400)].into_iter()), Some(25));
        assert_eq!(bins_of_all([(&many, 400)].into_iter()), Some(100));
        assert_eq!(bins_of_all([(&many, 400), (&many, 50)].into_iter()), None, "of some only a part is");
    }

    #[test]
    fn a_far_tail_does_not_take_the_bulk_of_a_histogram_out_of_sight() {
        let shape = |counts: Vec<u64>| Histogram {
            bin_edges_ns: vec![0, 5_000, 10_000, 20_000, 3_000_000, 3_500_000],
            counts,
        };
        let far = shape(vec![600, 300, 50, 0, 50]);
        assert_eq!(bulk(&far), (0.0, 40_000.0), "four times the edge above which a fourth lies");
        assert!((beyond(&far, 40_000.0) - 0.05).abs() < 1e-12);
        let near = shape(vec![300, 300, 400, 0, 0]);
        assert_eq!(bulk(&near), (0.0, 20_000.0), "without a tail all is shown");
        assert!(beyond(&near, 20_000.0) <= 0.0);
        assert_eq!(seen(&[(0.0, 40_000.0), (-10.0, 90_000.0)]), Some((-10.0, 90_000.0)));
        // One end that is kept waiting takes the others not out of sight either.
        assert_eq!(seen(&[(0.0, 40_000.0), (0.0, 90_000_000.0)]), Some((0.0, 800_000.0)));
    }
}
