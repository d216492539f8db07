//! How delays, and the errors of the packets' spacing, are distributed.

use romer_metrics::{jitter, put_in_order};
use romer_record::OneWaySingleton;
use romer_record::document::{DirectionResults, Histogram, Measurement};

use super::drawing::{Axis, Figure, Ink, Labels, Layer};
use super::ranks::{as_float, at, ends_of, share};
use crate::input::Singletons;
use crate::number::{TimeScale, capital, time};
use crate::table::MeasuredPath;

/// Steps of a drawn distribution function.
const STEPS: usize = 400;
/// Bins of a histogram that several series share.
pub(super) const BINS: usize = 110;

/// The delays of packets that arrived in time, ascending.
pub(crate) fn delays(singletons: &[OneWaySingleton]) -> Vec<f64> {
    sorted(romer_metrics::delays(singletons))
}

/// The same of each way: most figures want them.
pub(super) struct Sorted([Vec<f64>; 3]);

impl Sorted {
    pub(super) fn new(singletons: &Singletons<'_>) -> Self {
        Self(MeasuredPath::ALL.map(|way| delays(singletons.singletons(way))))
    }

    pub(super) fn of_way(&self, way: MeasuredPath) -> &[f64] {
        let ways = MeasuredPath::ALL.into_iter().zip(&self.0);
        ways.filter(|(one, _)| *one == way).map(|(_, delays)| &delays[..]).next().unwrap_or_default()
    }

    /// Of several ways: how many there are, and where an axis for all of them begins and ends.
    pub(super) fn together(&self, ways: &[MeasuredPath]) -> (usize, (f64, f64)) {
        let all: Vec<&[f64]> = ways.iter().map(|way| self.of_way(*way)).collect();
        (all.iter().map(|delays| delays.len()).sum(), ends_of(&all))
    }
}

/// Whole numbers, ascending.
pub(super) fn sorted(mut values: Vec<i64>) -> Vec<f64> {
    put_in_order(&mut values);
    values.into_iter().map(as_float).collect()
}

/// By how much delays change from packet to packet, without the sign (|IPDV|, RFC 3393), ascending, forward and in
/// reverse: two figures want them.
pub(super) struct Changes([Vec<f64>; 2]);

impl Changes {
    pub(super) fn new(singletons: &Singletons<'_>) -> Self {
        Self([singletons.forward, singletons.reverse].map(|these| sorted(jitter::delay_difference(these))))
    }

    /// Those of a way, and of there and back nothing.
    pub(super) fn of_way(&self, way: MeasuredPath) -> Option<&[f64]> {
        match way {
            MeasuredPath::Forward => Some(&self.0[0]),
            MeasuredPath::Reverse => Some(&self.0[1]),
            MeasuredPath::RoundTrip => None,
        }
    }
}

/// How far values deviate from their mean, ascending, of values that are ascending.
pub(super) fn deviations(sorted: &[f64]) -> Vec<f64> {
    let Some(pivot) = sorted.first() else { return Vec::new() };
    let mean = pivot + sorted.iter().map(|value| value - pivot).sum::<f64>() / share(sorted.len(), 1);
    let (below, above) = sorted.split_at(sorted.partition_point(|value| *value < mean));
    let (mut below, mut above) = (below.iter().rev().peekable(), above.iter().peekable());
    let mut all = Vec::with_capacity(sorted.len());
    while let (Some(low), Some(high)) = (below.peek(), above.peek()) {
        let (low, high) = (mean - **low, **high - mean);
        all.push(low.min(high));
        if low < high {
            below.next()
        } else {
            above.next()
        };
    }
    all.extend(below.map(|low| mean - low));
    all.extend(above.map(|high| high - mean));
    all
}

/// Numbers, ascending.
pub(super) fn ascending(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Where the axis of distributions begins and ends, of series by their least, 99th percentile and greatest: from zero, or
/// from a little below the least where most of the axis would be empty, to the greatest or, where that is far out, a little
/// beyond the greatest p99.
pub(super) fn span(series: &[[f64; 3]]) -> Option<(f64, f64)> {
    let end = |base: fn(&[f64; 3]) -> f64| {
        let ends = series.iter().map(|one| {
            let (base, [_, p99, most]) = (base(one), one);
            if most - base > 1.3 * (p99 - base) { base + 1.15 * (p99 - base) } else { *most }
        });
        ends.reduce(f64::max)
    };
    let (least, whole) = (series.iter().map(|one| one[0]).reduce(f64::min)?, end(|_| 0.0)?);
    if least <= 0.3 * whole {
        return Some((0.0, whole)).filter(|_| whole > 0.0);
    }
    // Where nothing varies, an axis of a single nanosecond would be all digits.
    let end = end(|one| one[0])?.max(least + (1e-5 * least).max(1.0));
    Some((least - 0.08 * (end - least), end))
}

fn common_span(m: &Measurement) -> Option<(f64, f64)> {
    let of = |direction: &DirectionResults| {
        let delay = &direction.delay_ns;
        Some([delay.min?, delay.p99?, delay.max?])
    };
    let series: Vec<[f64; 3]> = MeasuredPath::ALL.iter().filter_map(|way| of(way.results(m))).collect();
    span(&series)
}

/// The histogram. Bins of one width let the eye compare the ways.
pub(super) fn histogram(m: &Measurement, sorted: &Sorted) -> Option<Figure> {
    let reach = common_span(m)?;
    let unit = TimeScale::for_nanos(reach.1);
    let ways = MeasuredPath::ALL.into_iter().map(|way| (way, sorted.of_way(way)));
    let ways = ways.filter(|(_, delays)| delays.len() > 1);
    of_outlines(m, reach, unit, ways.map(|(way, delays)| (way, outline(delays, reach, unit))).collect())
}

/// The histogram of a stream whose packets are not at hand: with the bins of the document.
pub(super) fn of_document(m: &Measurement) -> Option<Figure> {
    let reach = common_span(m)?;
    let unit = TimeScale::for_nanos(reach.1);
    let outlines = MeasuredPath::ALL.map(|way| (way, density(&way.results(m).histograms.delay, reach, unit)));
    of_outlines(m, reach, unit, outlines.into())
}

fn of_outlines(
    m: &Measurement,
    reach: (f64, f64),
    unit: TimeScale,
    outlines: Vec<(MeasuredPath, Vec<(f64, f64)>)>,
) -> Option<Figure> {
    let rows = outlines.into_iter().map(|(way, outline)| (way.label(m), way.into(), outline));
    density_figure(rows.collect(), reach, unit, beyond_note(m, reach))
}

/// A histogram's name, its colour and its outline.
pub(super) type Outlined = (String, Ink, Vec<(f64, f64)>);

/// Outlines of histograms over each other.
pub(super) fn density_figure(
    rows: Vec<Outlined>,
    reach: (f64, f64),
    unit: TimeScale,
    caption: String,
) -> Option<Figure> {
    let mut layers = Vec::new();
    let mut legend = Vec::new();
    let mut top: f64 = 0.0;
    for (name, ink, outline) in rows {
        if outline.len() > 2 {
            top = outline.iter().map(|(_, y)| *y).fold(top, f64::max);
            layers.push(Layer::Area(ink, outline));
            legend.push((name, ink));
        }
    }
    layers.first()?;
    Some(Figure {
        name: "histogram",
        title: "Delay histogram".into(),
        caption,
        x: delay_axis(reach, unit),
        y: Axis {
            title: format!("% of packets per {}", unit.name(true)),
            from: 0.0,
            to: 1.08 * top,
            labels: Labels::Numbers,
        },
        layers,
        legend,
    })
}

pub(super) fn delay_axis((from, end): (f64, f64), unit: TimeScale) -> Axis {
    Axis {
        title: format!("delay, {}", unit.name(true)),
        from: from / unit.nanos(),
        to: end / unit.nanos(),
        labels: Labels::Numbers,
    }
}

/// Said where an axis of delays begins elsewhere.
pub(super) const NOT_FROM_ZERO: &str = "The scale does not begin at zero.";

fn beyond_note(m: &Measurement, (from, end): (f64, f64)) -> String {
    let beyond: Vec<String> = MeasuredPath::ALL
        .iter()
        .filter(|way| way.results(m).delay_ns.max.is_some_and(|max| max > end))
        .map(|way| format!("{} up to {}", way.name(), time(way.results(m).delay_ns.max.unwrap_or(end), true)))
        .collect();
    let mut words: Vec<String> = (from > 0.0).then(|| NOT_FROM_ZERO.into()).into_iter().collect();
    if !beyond.is_empty() {
        words.push(format!("Not shown: the longest delays, {}.", beyond.join(", ")));
    }
    words.join(" ")
}

/// The outline of a histogram as a density in percent per unit, so that bins of different width compare.
#[expect(clippy::cast_precision_loss, reason = "a chart has about a thousand steps")]
pub(super) fn density(histogram: &Histogram, (start, end): (f64, f64), unit: TimeScale) -> Vec<(f64, f64)> {
    let total = histogram.total();
    let mut outline = Vec::new();
    for (edges, count) in histogram.bin_edges_ns.windows(2).zip(&histogram.counts) {
        let [from, to] = edges else { continue };
        let (from, to) = (as_float(*from), as_float(*to).max(as_float(*from) + 1.0));
        if total == 0 || from > end || to <= start {
            continue;
        }
        let height = 100.0 * *count as f64 / total as f64 / ((to - from) / unit.nanos());
        let from = from.max(start);
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

/// The distribution function.
pub(super) fn distribution(m: &Measurement, sorted: &Sorted) -> Option<Figure> {
    let reach = common_span(m)?;
    let (end, unit) = (reach.1, TimeScale::for_nanos(reach.1));
    let mut layers = Vec::new();
    let mut legend = Vec::new();
    for way in MeasuredPath::ALL {
        let delays = sorted.of_way(way);
        if delays.len() > 1 {
            layers.push(Layer::Line(way.into(), steps_within(delays, (f64::NEG_INFINITY, end), unit)));
            legend.push((way.label(m), way.into()));
        }
    }
    (!layers.is_empty()).then(|| Figure {
        name: "distribution",
        title: "Delay CDF".into(),
        caption: beyond_note(m, reach),
        x: delay_axis(reach, unit),
        y: Axis { title: "% of packets".into(), from: 0.0, to: 100.0, labels: Labels::Numbers },
        layers,
        legend,
    })
}

/// The counts of sorted delays in bins of one width from one end of an axis to the other, as an outline in percent a unit.
pub(super) fn outline(delays: &[f64], reach: (f64, f64), unit: TimeScale) -> Vec<(f64, f64)> {
    outline_in(BINS, delays, reach, unit)
}

/// The same in so many bins.
pub(super) fn outline_in(
    bins: usize,
    delays: &[f64],
    (start, end): (f64, f64),
    unit: TimeScale,
) -> Vec<(f64, f64)> {
    let width = (end - start) / share(bins, 1);
    let mut outline = Vec::with_capacity(2 * bins + 2);
    for bin in 0..bins {
        let (from, to) = (start + width * share(bin, 1), start + width * share(bin + 1, 1));
        let below = |edge: f64| delays.partition_point(|delay| *delay < edge);
        let count = below(to) - below(from);
        let height = 100.0 * share(count, delays.len()) / (width / unit.nanos());
        outline.push((from / unit.nanos(), height));
        outline.push((to / unit.nanos(), height));
    }
    outline.push((end / unit.nanos(), 0.0));
    outline
}

/// The distribution function of sorted values, in percent.
pub(crate) fn steps(sorted: &[f64]) -> Vec<(f64, f64)> {
    (0..=STEPS)
        .filter_map(|step| Some((at(sorted, share(step, STEPS))?, 100.0 * share(step, STEPS))))
        .collect()
}

/// The same so far as an axis reaches, in `unit`: up to its ends, also where the next step lies beyond them.
pub(super) fn steps_within(sorted: &[f64], (from, to): (f64, f64), unit: TimeScale) -> Vec<(f64, f64)> {
    let below = 100.0 * share(sorted.partition_point(|value| *value < from), sorted.len().max(1));
    let up_to = 100.0 * share(sorted.partition_point(|value| *value <= to), sorted.len().max(1));
    let before = sorted.first().filter(|least| **least < from).map(|_| (from, below));
    let after = sorted.last().filter(|most| **most > to).map(|_| (to, up_to));
    let within = steps(sorted).into_iter().filter(|(value, _)| (from..=to).contains(value));
    before.into_iter().chain(within).chain(after).map(|(value, y)| (value / unit.nanos(), y)).collect()
}

/// How far the spacing of packets is from what it should be: the sender's own error, and what the path adds.
pub(super) fn spacing(singletons: &Singletons<'_>, changes: &Changes) -> Option<Figure> {
    let error =
        singletons.forward.iter().filter(|p| p.copy == 0).filter_map(OneWaySingleton::departure_error);
    let error = sorted(error.map(|error| error.as_nanos().saturating_abs()).collect());
    let [there, back] = &changes.0;
    let rows = [
        ("sender", Ink::Text, &error),
        ("forward path", Ink::Forward, there),
        ("reverse path", Ink::Reverse, back),
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
    let worst = rows
        .iter()
        .map(|(name, _, values)| format!("{name}: p99 {}", time(at(values, 0.99).unwrap_or(0.0), true)));
    Some(Figure {
        name: "spacing",
        title: "Inter-packet gap error".into(),
        caption: format!(
            "{}. Sender: actual minus scheduled departure. Path: |IPDV| (RFC 3393).",
            capital(&worst.collect::<Vec<_>>().join("; "))
        ),
        x: Axis { title: "error (logarithmic)".into(), from, to, labels: Labels::Decades },
        y: Axis {
            title: "cumulative share of packets, %".into(),
            from: 0.0,
            to: 100.0,
            labels: Labels::Numbers,
        },
        layers,
        legend: rows.into_iter().map(|(name, ink, _)| (name.into(), ink)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_of_delays_begins_where_they_do_if_most_of_it_were_empty_else() {
        let near = |found: Option<(f64, f64)>, from: f64, end: f64| {
            let found = found.unwrap();
            assert!((found.0 - from).abs() < 1e-6 && (found.1 - end).abs() < 1e-6, "{found:?}");
        };
        near(span(&[[5.0e6, 5.4e6, 5.5e6]]), 4.96e6, 5.5e6);
        // One packet far out does not take the others' place, wherever the axis begins.
        near(span(&[[5.0e6, 5.4e6, 9.0e6]]), 5.0e6 - 0.08 * 0.46e6, 5.46e6);
        near(span(&[[0.0, 1.0e6, 9.0e6]]), 0.0, 1.15e6);
        near(span(&[[0.2e6, 1.0e6, 1.2e6], [0.9e6, 2.0e6, 2.1e6]]), 0.0, 2.1e6);
        near(span(&[[5.0e6, 5.4e6, 5.5e6], [9.0e6, 10.0e6, 10.1e6]]), 5.0e6 - 0.08 * 5.1e6, 10.1e6);
        near(span(&[[5.0e6, 5.0e6, 5.0e6]]), 5.0e6 - 4.0, 5.0e6 + 50.0);
        assert!(span(&[[0.0; 3]]).is_none() && span(&[]).is_none());
        // What varies by half a millisecond about five is more than two bars.
        let delays: Vec<f64> = (0..1_000).map(|n| 5.0e6 + 500.0 * f64::from(n)).collect();
        let bars = outline(&delays, span(&[[5.0e6, 5.495e6, 5.5e6]]).unwrap(), TimeScale::for_nanos(5.0e6));
        assert!(bars.iter().filter(|bar| bar.1 > 0.0).count() > 150, "two points a bar");
    }

    #[test]
    fn a_distribution_reaches_to_the_ends_of_its_axis_wherever_its_steps_are() {
        // Of a thousand one is far out, and so are all between the last two of the steps.
        let mut values: Vec<f64> = (0..1_000).map(f64::from).collect();
        values[999] = 50_000.0;
        let unit = TimeScale::for_nanos(1.0);
        let drawn = steps_within(&values, (10.5, 2_000.0), unit);
        for ((x, y), due) in [(drawn[0], (10.5, 1.1)), (drawn[drawn.len() - 1], (2_000.0, 99.9))] {
            assert!((x * unit.nanos() - due.0).abs() + (y - due.1).abs() < 1e-6, "{x}, {y}: {due:?}");
        }
        assert!(drawn.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1 <= two[1].1), "{drawn:?}");
        assert_eq!(steps_within(&values, (0.0, 50_000.0), unit).len(), STEPS + 1, "all of it is within");
    }

    #[test]
    fn deviations_from_the_mean_are_ascending_and_those_of_the_values() {
        for values in
            [vec![], vec![3.0], vec![1.0, 1.0], vec![0.0, 1.0, 2.0, 3.0, 14.0], vec![0.0, 9.0, 10.0]]
        {
            let mean = values.iter().sum::<f64>() / share(values.len(), 1);
            let expected = ascending(values.iter().map(|value| f64::abs(value - mean)).collect());
            assert_eq!(deviations(&values), expected, "{values:?}");
        }
    }
}
