//! The charts of an emulation.

use std::cmp::Reverse;

use romer_record::emulation::EmulatedPacket;

use super::distributions::sorted;
use super::distributions::{ascending, steps_within};
use super::drawing::{Axis, BEYOND, Figure, Ink, Labels, Layer};
use super::ranks::{as_float, at, ends, share};
use super::thin::Cloud;
use crate::emulation::{Drawn, EmulatedPackets, Judged, Sampled};
use crate::number::{NO_BREAK, TimeScale, capital, count, time};

/// Packets of the chart that joins each requested delay to the actual one.
const JOINED: usize = 50;
/// Pairs of a lag plot: as many as are drawn one by one.
const PAIRS: usize = 1_500;
/// Bins of a histogram.
const BINS: usize = 60;

/// Names of a direction's figures, a to b and b to a.
struct Names {
    sequence: &'static str,
    distribution: &'static str,
    gaps: &'static str,
    spacing: &'static str,
    losses: &'static str,
}

const NAMES: [Names; 2] = [
    Names {
        sequence: "a-to-b-delay-sequence",
        distribution: "a-to-b-delay-distribution",
        gaps: "a-to-b-delay-gaps",
        spacing: "a-to-b-between-packets",
        losses: "a-to-b-between-losses",
    },
    Names {
        sequence: "b-to-a-delay-sequence",
        distribution: "b-to-a-delay-distribution",
        gaps: "b-to-a-delay-gaps",
        spacing: "b-to-a-between-packets",
        losses: "b-to-a-between-losses",
    },
];

/// The figures of a direction that its packets allow.
pub(crate) fn of_way(way: &EmulatedPackets<'_>, number: usize) -> Vec<Figure> {
    let names = &NAMES[number.min(1)];
    let left: Vec<Left> = way.packets.iter().filter_map(Left::from_packet).collect();
    [
        sequence(names.sequence, way.name, &left),
        distribution(names.distribution, way, &left),
        gaps(names.gaps, way.name, &left),
        spacing(names.spacing, way),
        losses(names.losses, way),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A packet or copy that left.
struct Left {
    ordinal: f64,
    asked: f64,
    held: f64,
}

impl Left {
    fn from_packet(packet: &EmulatedPacket) -> Option<Self> {
        Some(Self {
            ordinal: number(packet.ordinal),
            asked: as_float(packet.requested_delay_ns?),
            held: as_float(packet.departure_ns? - packet.arrival_ns),
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "a chart has about a thousand steps")]
fn number(ordinal: u64) -> f64 {
    ordinal as f64
}

/// Both delays of these packets, and what a chart of them reaches to.
fn both(left: &[Left]) -> (Vec<f64>, Vec<f64>, (f64, f64)) {
    let asked = ascending(left.iter().map(|left| left.asked).collect());
    let held = ascending(left.iter().map(|left| left.held).collect());
    let (from, to) = ends(&asked);
    let (least, most) = ends(&held);
    (asked, held, (from.min(least), to.max(most)))
}

fn time_axis(title: &str, (from, to): (f64, f64), unit: TimeScale) -> Axis {
    Axis {
        title: format!("{title}, {}", unit.name(true)),
        from: from / unit.nanos(),
        to: to / unit.nanos(),
        labels: Labels::Numbers,
    }
}

fn asked_and_held() -> Vec<(String, Ink)> {
    vec![("requested".into(), Ink::Forward), ("actual".into(), Ink::Reverse)]
}

/// Requested and actual delay in sequence.
fn sequence(name: &'static str, way: &str, left: &[Left]) -> Option<Figure> {
    let last = left.iter().map(|left| left.ordinal).fold(0.0, f64::max);
    let first = left.iter().map(|left| left.ordinal).fold(f64::INFINITY, f64::min);
    let (_, held, (from, to)) = both(left);
    let most = held.last().copied()?;
    let unit = TimeScale::for_nanos(to);
    let points = |of: fn(&Left) -> f64| -> Vec<(f64, f64)> {
        let points = left.iter().map(|left| (left.ordinal, of(left)));
        points.filter(|(_, nanos)| *nanos <= to).map(|(x, nanos)| (x, nanos / unit.nanos())).collect()
    };
    let above = left.iter().filter(|left| left.held > to);
    let above: Vec<(f64, f64)> = above.map(|left| (left.ordinal, left.held / unit.nanos())).collect();
    let beyond = if above.is_empty() {
        String::new()
    } else {
        let number = count(above.len() as u64);
        format!(" {number} above {} are {BEYOND}; the longest was {}.", time(to, true), time(most, true))
    };
    Some(Figure {
        name,
        title: format!("{}: requested and actual delay per packet", capital(way)),
        caption: format!(
            "From arrival to departure, including the waits for order and for the rate.{beyond}"
        ),
        x: Axis { title: "packet".into(), from: first, to: last, labels: Labels::Numbers },
        y: time_axis("delay", (from, to), unit),
        layers: vec![
            Layer::Points(Ink::Reverse, Cloud::all(points(|left| left.held))),
            Layer::Points(Ink::Forward, Cloud::all(points(|left| left.asked))),
            Layer::Above(Ink::Reverse, super::thin::thin_peaks(above)),
        ],
        legend: asked_and_held(),
    })
}

/// Figures 7.7, 7.8, 7.13 and 7.14: theoretical against empirical distribution.
fn distribution(name: &'static str, way: &EmulatedPackets<'_>, left: &[Left]) -> Option<Figure> {
    if left.len() < 2 {
        return None;
    }
    let (asked, held, (from, to)) = both(left);
    let unit = TimeScale::for_nanos(to);
    let mut layers = Vec::new();
    let mut legend = Vec::new();
    if let Some(theory) = way.theory {
        let within = theory.iter().filter(|(nanos, _)| (from..=to).contains(nanos));
        let percent = within.map(|(nanos, share)| (nanos / unit.nanos(), 100.0 * share)).collect();
        layers.push(Layer::Line(Ink::Text, percent));
        legend.push(("theory".into(), Ink::Text));
    }
    for (ink, values) in [(Ink::Forward, &asked), (Ink::Reverse, &held)] {
        layers.push(Layer::Line(ink, steps_within(values, (from, to), unit)));
    }
    legend.extend(asked_and_held());
    let words = if way.theory.is_some() {
        "Theory: the delay distribution of the scenario, including the fixed delay."
    } else {
        "The scenario has no single distribution here (states, flows, steps or a trace): the requested delay of each packet \
         is shown instead."
    };
    Some(Figure {
        name,
        title: format!("{}: theoretical and empirical delay distribution", capital(way.name)),
        caption: words.into(),
        x: time_axis("delay", (from, to), unit),
        y: Axis {
            title: "cumulative share of packets, %".into(),
            from: 0.0,
            to: 100.0,
            labels: Labels::Numbers,
        },
        layers,
        legend,
    })
}

/// Figure 7.9: what each packet was held beyond what was asked for.
fn gaps(name: &'static str, way: &str, left: &[Left]) -> Option<Figure> {
    let shown = left.get(..left.len().min(JOINED)).filter(|shown| shown.len() > 1)?;
    let (_, _, (from, to)) = both(shown);
    // All are drawn, so that the axis reaches to the longest.
    let to = shown.iter().map(|left| 1.06 * left.held).fold(to, f64::max);
    let unit = TimeScale::for_nanos(to);
    let (first, last) = (shown.first()?.ordinal, shown.last()?.ordinal);
    let mut layers: Vec<Layer> = shown
        .iter()
        .map(|left| {
            let ends = [left.asked, left.held].map(|nanos| (left.ordinal, nanos / unit.nanos()));
            Layer::Line(Ink::Grid, ends.into())
        })
        .collect();
    let points =
        |of: fn(&Left) -> f64| shown.iter().map(|left| (left.ordinal, of(left) / unit.nanos())).collect();
    layers.push(Layer::Points(Ink::Reverse, Cloud::all(points(|left| left.held))));
    layers.push(Layer::Points(Ink::Forward, Cloud::all(points(|left| left.asked))));
    let mut worst: Vec<&Left> = shown.iter().collect();
    worst.sort_by_key(|left| Reverse(ordered(left.held - left.asked)));
    let gap = worst.first().map_or(0.0, |left| left.held - left.asked);
    Some(Figure {
        name,
        title: format!("{}: difference between requested and actual delay", capital(way)),
        caption: format!(
            "The first {} packets; each line joins requested and actual delay. Maximum difference: {}.",
            count(shown.len() as u64),
            time(gap, true)
        ),
        x: Axis { title: "packet".into(), from: first, to: last.max(first + 1.0), labels: Labels::Numbers },
        y: time_axis("delay", (from, to), unit),
        layers,
        legend: asked_and_held(),
    })
}

/// A time in whole nanoseconds, which can be put in order.
#[expect(clippy::cast_possible_truncation, reason = "times of a run")]
fn ordered(nanos: f64) -> i64 {
    nanos as i64
}

/// Figure 7.6: times between departures, beside those between arrivals.
fn spacing(name: &'static str, way: &EmulatedPackets<'_>) -> Option<Figure> {
    let between = |times: Vec<i64>| {
        let mut times = times;
        times.sort_unstable();
        sorted(times.windows(2).map(|pair| pair[1] - pair[0]).collect())
    };
    let arrivals = way.packets.iter().filter(|packet| packet.copy == 0).map(|packet| packet.arrival_ns);
    let arrivals = between(arrivals.collect());
    let departures = between(way.packets.iter().filter_map(|packet| packet.departure_ns).collect());
    let rows: Vec<(&str, Ink, Vec<f64>)> =
        [("arrivals", Ink::Forward, arrivals), ("departures", Ink::Reverse, departures)]
            .into_iter()
            .filter(|(_, _, values)| values.len() > 1)
            .collect();
    let end = rows.iter().filter_map(|(_, _, values)| at(values, 0.995)).fold(0.0, f64::max) * 1.1;
    if end <= 0.0 {
        return None;
    }
    let unit = TimeScale::for_nanos(end);
    let layers = rows
        .iter()
        .map(|(_, ink, values)| Layer::Line(*ink, steps_within(values, (f64::NEG_INFINITY, end), unit)));
    Some(Figure {
        name,
        title: format!("{}: inter-packet times", capital(way.name)),
        caption: "A steep curve is a regular stream. Packets that leave at the same time are at zero.".into(),
        x: time_axis("inter-packet time", (0.0, end), unit),
        y: Axis {
            title: "cumulative share of intervals, %".into(),
            from: 0.0,
            to: 100.0,
            labels: Labels::Numbers,
        },
        layers: layers.collect(),
        legend: rows.iter().map(|(name, ink, _)| ((*name).to_owned(), *ink)).collect(),
    })
}

/// How many packets came from one loss to the next: losses that come in bursts lie low.
fn losses(name: &'static str, way: &EmulatedPackets<'_>) -> Option<Figure> {
    let lost: Vec<u64> = way
        .packets
        .iter()
        .filter(|packet| packet.copy == 0 && packet.is_lost)
        .map(|packet| packet.ordinal)
        .collect();
    let points: Vec<(f64, f64)> = lost
        .windows(2)
        .map(|pair| (number(pair[1]), number(pair[1].saturating_sub(pair[0])).max(1.0).log10()))
        .collect();
    let (first, last) = (points.first()?.0, points.last()?.0);
    let most = points.iter().map(|(_, gap)| *gap).fold(0.0, f64::max);
    let in_a_row = lost.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
    Some(Figure {
        name,
        title: format!("{}: loss distance", capital(way.name)),
        caption: format!(
            "{} lost; {:.1}{NO_BREAK}% of them directly after another loss. Logarithmic scale.",
            count(lost.len() as u64),
            100.0 * share(in_a_row, lost.len())
        ),
        x: Axis { title: "packet".into(), from: first, to: last.max(first + 1.0), labels: Labels::Numbers },
        y: Axis {
            title: "packets since the previous loss (logarithmic)".into(),
            from: 0.0,
            to: most.ceil().max(1.0),
            labels: Labels::Numbers,
        },
        layers: vec![Layer::Points(Ink::Lost, Cloud::all(points))],
        legend: vec![("lost packet".into(), Ink::Lost)],
    })
}

/// Names of a generator's figures: of its uniform numbers, and of its normal ones.
const EDA: [[&str; 4]; 2] = [
    ["uniform-run-sequence", "uniform-lag", "uniform-histogram", "uniform-normal-probability"],
    ["normal-run-sequence", "normal-lag", "normal-histogram", "normal-probability"],
];

/// The four plots of exploratory data analysis (figures 5.1 to 5.3), of the numbers that a run drew from.
pub(crate) fn of_numbers(sampled: &Sampled<'_>, drawn: Drawn) -> Vec<Figure> {
    let (values, names, what) = match drawn {
        Drawn::Uniform => (sampled.uniform, EDA[0], "uniform numbers"),
        Drawn::Normal => (sampled.normal, EDA[1], "normal numbers"),
    };
    let ordered = ascending(values.to_vec());
    let (Some(least), Some(most)) = (ordered.first().copied(), ordered.last().copied()) else {
        return Vec::new();
    };
    let room = 0.04 * (most - least).max(1e-9);
    let range = (least - room, most + room);
    let axis =
        |title: &str, (from, to): (f64, f64)| Axis { title: title.into(), from, to, labels: Labels::Numbers };
    let figure = |name, title: &str, caption: String, x, y, layer| Figure {
        name,
        title: format!("{}: {title}", capital(what)),
        caption,
        x,
        y,
        layers: vec![layer],
        legend: Vec::new(),
    };
    let judged: Vec<String> =
        sampled.judged.iter().filter(|judged| judged.of == drawn).map(Judged::text).collect();
    let run = (0..values.len()).map(|at| share(at, 1)).zip(values.iter().copied()).collect();
    let lag = values.windows(2).take(PAIRS).map(|pair| (pair[0], pair[1])).collect();
    let probable = sampled.scores.iter().copied().zip(ordered.iter().copied());
    let scores = (
        sampled.scores.first().copied().unwrap_or(-1.0) - 0.1,
        sampled.scores.last().copied().unwrap_or(1.0) + 0.1,
    );
    let (bars, top) = bars(&ordered, (least, most));
    let length = share(values.len(), 1);
    vec![
        figure(
            names[0],
            "run sequence",
            judged.join(" "),
            axis("number", (0.0, length)),
            axis("value", range),
            Layer::Points(Ink::RoundTrip, Cloud::all(run)),
        ),
        figure(
            names[1],
            "lag plot",
            format!("Each number over the one before it, the first {}.", count(PAIRS as u64)),
            axis("number before", range),
            axis("number", range),
            Layer::Points(Ink::RoundTrip, Cloud::all(lag)),
        ),
        figure(
            names[2],
            "histogram",
            String::new(),
            axis("value", range),
            axis("numbers", (0.0, 1.08 * top)),
            Layer::Bars(Ink::RoundTrip, bars),
        ),
        figure(
            names[3],
            "normal probability",
            "A straight line is a normal distribution.".into(),
            axis("normal score", scores),
            axis("value", range),
            Layer::Points(Ink::RoundTrip, Cloud::all(probable.collect())),
        ),
    ]
}

/// A histogram of sorted values, and its highest bar.
fn bars(ordered: &[f64], (least, most): (f64, f64)) -> (Vec<([f64; 4], f64)>, f64) {
    let width = (most - least).max(1e-9) * share(1, BINS);
    let below = |edge: f64| ordered.partition_point(|value| *value < edge);
    let mut bars = Vec::with_capacity(BINS);
    let mut top: f64 = 1.0;
    for bin in 0..BINS {
        let [from, to] = [bin, bin + 1].map(|edge| least + width * share(edge, 1));
        let end = if bin + 1 == BINS { ordered.len() } else { below(to) };
        let height = share(end - below(from), 1);
        top = top.max(height);
        bars.push(([from, to, 0.0, height], 0.75));
    }
    (bars, top)
}
