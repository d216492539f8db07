//! Strips: where in the run something became of packets.

use std::collections::VecDeque;

use romer_metrics::reordering;
use romer_record::{Fate, OneWaySingleton};

use super::drawing::{Axis, Column, Figure, Ink, Labels, Layer};
use super::laid::OverlaidRun;
use super::ranks::share;
use super::stretches;
use super::times::Times;
use crate::input::Singletons;
use crate::number::{NO_BREAK, TimeScale, counted, grouped, time};
use crate::table::MeasuredPath;

/// Columns of a strip.
const STRIP: usize = 400;
/// Probes in a row that make a moment, where a column stands for more.
const MOMENT: usize = 20;
/// What counts as lost.
pub(super) const LOST: [Fate; 2] = [Fate::Lost, Fate::Late];
/// The shades of a moment of which few are marked, some, and most.
const SHADES: [f64; 3] = [0.5, 0.75, 1.0];

/// When those probes were sent that have one of these `fates`.
pub(super) fn sent_at(singletons: &[OneWaySingleton], times: &Times, fates: &[Fate]) -> Vec<f64> {
    singletons
        .iter()
        .filter(|p| fates.contains(&p.fate) && p.copy == 0)
        .filter_map(|p| times.of_probe(p.sequence))
        .collect()
}

/// Where packets were lost.
pub(super) fn losses(singletons: &Singletons<'_>, times: &Times) -> Option<Figure> {
    let rows = [
        ("lost, forward", Ink::Forward, sent_at(singletons.forward, times, &LOST)),
        ("lost, reverse", Ink::Reverse, sent_at(singletons.reverse, times, &LOST)),
        ("lost, direction unknown", Ink::Lost, sent_at(singletons.forward, times, &[Fate::Unknown])),
    ];
    let figure = Figure { name: "loss", title: "Losses".into(), ..bare(times) };
    stripes(figure, rows.map(|(name, ink, marks)| (name.into(), ink, marks)).into(), times, "were lost")
}

/// A figure of strips that has none yet.
fn bare(times: &Times) -> Figure {
    Figure {
        name: "",
        title: String::new(),
        caption: String::new(),
        x: times.axis(),
        y: rows(1, 1),
        layers: Vec::new(),
        legend: Vec::new(),
    }
}

/// The axis of so many strips whose columns have so many probes at the most.
fn rows(rows: usize, most: usize) -> Axis {
    // So low that a single one of them is seen.
    let single = (0.5 / share(most.max(1), 1)).log10().floor();
    #[expect(clippy::cast_possible_truncation, reason = "a power of ten that a count has")]
    let lowest = single as i32;
    Axis {
        title: "% of the probes in each column (logarithmic)".into(),
        from: 0.0,
        to: 1.0,
        labels: Labels::Rows { rows, lowest },
    }
}

/// The figure with a strip for each row that has marks: its name, its ink, and when those were sent that it marks; and what is said of
/// these. `None` where no row has any.
fn stripes(
    mut figure: Figure,
    mut rows: Vec<(String, Ink, Vec<f64>)>,
    times: &Times,
    said: &str,
) -> Option<Figure> {
    rows.retain(|(_, _, marks)| !marks.is_empty());
    if rows.is_empty() {
        return None;
    }
    let end = times.end / times.unit.nanos();
    let strips = rows.iter().map(|(_, ink, marks)| (*ink, counts(marks.clone(), times.moments(), end)));
    layers(&mut figure, strips.collect(), end);
    figure.caption = caption(&figure, times.end, said);
    figure.legend = rows.into_iter().map(|(name, ink, _)| (name, ink)).collect();
    Some(figure)
}

/// Puts strips into a figure, the first at the bottom.
fn layers(figure: &mut Figure, strips: Vec<(Ink, Vec<Counted>)>, end: f64) {
    let of = strips.len();
    let most = strips.iter().flat_map(|(_, counts)| counts).map(|column| column.of).max().unwrap_or(1);
    figure.y = rows(of, most);
    for (index, (ink, counts)) in strips.into_iter().enumerate() {
        figure.layers.push(Layer::Strip(ink, columns(&counts, end, edges(index, of), &figure.y)));
    }
}

/// What columns, their heights and their shades are, where these are marked of which is `said` what.
fn caption(figure: &Figure, end_ns: f64, said: &str) -> String {
    let Labels::Rows { lowest, .. } = figure.y.labels else { return String::new() };
    let most = figure.layers.iter().flat_map(|layer| match layer {
        Layer::Strip(_, columns) => &columns[..],
        _ => &[],
    });
    let most = counted(most.map(|column| column.of).max().unwrap_or(1) as u64, "probe", "probes");
    format!(
        "Each column: {}, up to {most}. Height: share of probes that {said}, {} to 100 % (logarithmic). Darker: higher share in any \
         {MOMENT} consecutive probes (under 10 %, under 50 %, more).",
        time(end_ns * share(1, STRIP), true),
        decade_label(lowest),
    )
}

/// Where a strip of several lies, from the bottom to the top.
pub(super) fn edges(index: usize, of: usize) -> [f64; 2] {
    [(share(index, 1) + 0.08) / share(of, 1), (share(index, 1) + 0.92) / share(of, 1)]
}

/// A power of ten as a share: `0.001 %`.
pub(crate) fn decade_label(decade: i32) -> String {
    let decimals = usize::try_from(-decade - 2).unwrap_or(0);
    format!("{}{NO_BREAK}%", grouped(100.0 * 10f64.powi(decade), decimals))
}

/// Where the decades of strips are, by their logarithms: the places of the lines, and which of these have room for a label. What
/// a strip begins with is beside the end of the one below it; the lowest has none below it, and the others begin with the same.
pub(crate) fn decades(rows: usize, lowest: i32) -> impl Iterator<Item = (f64, i32, bool)> {
    let step = (1 - lowest) / 2;
    (0..rows).flat_map(move |row| {
        let [bottom, top] = edges(row, rows);
        (lowest..=0).map(move |decade| {
            let up = f64::from(decade - lowest) / f64::from(-lowest);
            let named = decade % step.max(1) == 0 && up > 0.2 || row == 0 && decade == lowest;
            (bottom + up * (top - bottom), decade, named)
        })
    })
}

/// A strip for each run: where packets of `way` were lost, by when each run sent them. `None` where none was.
pub(super) fn several_losses(
    runs: &[OverlaidRun<'_>],
    way: MeasuredPath,
    length: f64,
    name: &'static str,
) -> Option<Figure> {
    let unit = TimeScale::for_nanos(length);
    let end = length / unit.nanos();
    let lost: Vec<Vec<f64>> =
        runs.iter().map(|run| sent_at(run.singletons.singletons(way), &run.times, &LOST)).collect();
    if lost.iter().all(Vec::is_empty) {
        return None;
    }
    // The first run is the uppermost strip, as in the legend.
    let strips = runs.iter().zip(&lost).rev().map(|(run, lost)| {
        let scale = run.times.unit.nanos() / unit.nanos();
        let lost = lost.iter().map(|x| x * scale).collect();
        (run.ink, counts(lost, run.times.moments().map(|x| x * scale), end))
    });
    let mut figure = Figure {
        name,
        title: format!("Losses, {}", way.name()),
        caption: String::new(),
        x: Axis {
            title: format!("time since each run's first probe, {}", unit.name(true)),
            from: 0.0,
            to: end,
            labels: Labels::Numbers,
        },
        y: rows(1, 1),
        layers: Vec::new(),
        legend: runs.iter().map(|run| (run.name.clone(), run.ink)).collect(),
    };
    layers(&mut figure, strips.collect(), end);
    figure.caption = caption(&figure, length, "were lost");
    Some(figure)
}

/// The columns that have marks, between `edges`.
fn columns(counts: &[Counted], end: f64, [bottom, top]: [f64; 2], axis: &Axis) -> Vec<Column> {
    let Labels::Rows { lowest, .. } = axis.labels else { return Vec::new() };
    let column = |(place, counted): (usize, &Counted)| {
        let Counted { of, marked, worst } = *counted;
        let high = 1.0 - share(marked.min(of), of).log10() / f64::from(lowest);
        let shade = usize::from(worst >= 0.1) + usize::from(worst >= 0.5);
        (marked > 0).then(|| Column {
            across: end * share(place, STRIP)..end * share(place + 1, STRIP),
            up: bottom..bottom + high.clamp(0.0, 1.0) * (top - bottom),
            opacity: SHADES[shade],
            marked,
            of,
            worst,
        })
    };
    counts.iter().enumerate().filter_map(column).collect()
}

/// What there is in a column: probes, how many are marked, and the greatest share of marked ones in a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    of: usize,
    marked: usize,
    worst: f64,
}

/// Of each column how many `marks` there are among how many probes, and the greatest share among so many probes in a row as make a
/// moment, or among all of the column where these are fewer: an outage does not vanish in the mean of a long stretch. `sent` are
/// all probes, in order.
fn counts(mut marks: Vec<f64>, sent: impl Iterator<Item = f64>, end: f64) -> Vec<Counted> {
    marks.sort_unstable_by(f64::total_cmp);
    let mut columns = vec![Counted::default(); STRIP];
    let mut marks = marks.into_iter().peekable();
    // The places of those marks that are within the moment which ends now.
    let mut recent = VecDeque::new();
    for (place, time) in sent.enumerate() {
        if let Some(column) = columns.get_mut(stretches::place(time, end, STRIP)) {
            column.of += 1;
        }
        while let Some(mark) = marks.next_if(|mark| *mark <= time) {
            recent.push_back(place);
            while recent.front().is_some_and(|first| place - first >= MOMENT) {
                recent.pop_front();
            }
            if let Some(column) = columns.get_mut(stretches::place(mark, end, STRIP)) {
                column.marked += 1;
                column.worst = column.worst.max(share(recent.len(), MOMENT));
            }
        }
    }
    for column in &mut columns {
        if column.of <= MOMENT {
            column.worst = share(column.marked, column.of);
        }
    }
    columns
}

/// Where packets came out of order, and where more than once.
pub(super) fn order(singletons: &Singletons<'_>, times: &Times) -> Option<Figure> {
    let mut rows = Vec::new();
    for (way, name, again) in
        [(MeasuredPath::Forward, "forward", Ink::RoundTrip), (MeasuredPath::Reverse, "reverse", Ink::Text)]
    {
        let (late, twice) = disorder(singletons.singletons(way), times);
        rows.push((format!("reordered, {name}"), Ink::from(way), late));
        rows.push((format!("duplicates, {name}"), again, twice));
    }
    let figure = Figure { name: "order", title: "Reordering and duplicates".into(), ..bare(times) };
    let mut figure = stripes(figure, rows, times, "were reordered or duplicated")?;
    figure.caption.push_str(" Reordered: a packet sent later arrived before it (RFC 4737).");
    Some(figure)
}

/// When those were sent that arrived after one of a higher number, and those that arrived more than once.
fn disorder(singletons: &[OneWaySingleton], times: &Times) -> (Vec<f64>, Vec<f64>) {
    let late = reordering(singletons).into_iter().filter_map(|packet| times.of_probe(packet.sequence));
    let copies = singletons.iter().filter(|singleton| singleton.fate == Fate::Arrived && singleton.copy > 0);
    let twice = copies.filter(|copy| copy.arrival.is_some()).filter_map(|copy| times.of_probe(copy.sequence));
    (late.collect(), twice.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_dark_however_long_the_run_around_it() {
        // A million probes of which every thousandth is lost, and two hundred in a row.
        let lost = |n: &u32| n % 1_000 == 7 || (400_000..400_200).contains(n);
        let marks: Vec<f64> = (0..1_000_000).filter(lost).map(f64::from).collect();
        let shares = counts(marks, (0..1_000_000).map(f64::from), 1e6);
        assert_eq!(shares.len(), STRIP);
        for (column, found) in shares.into_iter().map(|column| column.worst).enumerate() {
            let expected = if column == 160 { 1.0 } else { share(1, MOMENT) };
            assert!((found - expected).abs() < 1e-9, "{found} in column {column}");
        }
        // Of a short run a column is the share of its probes, and one without any has none.
        let shares = counts(vec![0.0, 1.0], (0..800).map(f64::from), 800.0);
        assert_eq!(shares.iter().take(3).map(|column| column.worst).collect::<Vec<_>>(), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn a_column_is_as_high_as_its_share_a_single_loss_is_seen_and_a_burst_stands_out() {
        let drawn = |probes: u32, lost: &dyn Fn(&u32) -> bool| {
            let marks: Vec<f64> = (0..probes).filter(lost).map(f64::from).collect();
            let counts = counts(marks, (0..probes).map(f64::from), f64::from(probes));
            let axis = rows(1, counts.iter().map(|column| column.of).max().unwrap());
            columns(&counts, 1.0, [0.0, 1.0], &axis)
        };
        // Three million of which every thousandth is lost: as high as a thousandth is, and as light as scattered losses are.
        let even = drawn(3_000_000, &|n| n % 1_000 == 7);
        assert_eq!(even.len(), STRIP);
        assert!(
            even.iter().all(|column| (column.up.end - 0.4).abs() < 0.04 && column.opacity < 0.6),
            "{even:?}"
        );
        // Every hundredth is higher, and a burst of twenty in a row is dark.
        let more = drawn(3_000_000, &|n| n % 100 == 7);
        assert!(more.iter().all(|column| (column.up.end - 0.6).abs() < 0.02));
        let burst = drawn(3_000_000, &|n| n % 1_000 == 7 || (1_000_100..1_000_120).contains(n));
        let dark: Vec<&Column> = burst.iter().filter(|column| column.opacity > 0.9).collect();
        assert!(matches!(dark[..], [one] if one.marked > 20 && one.of == 7_500), "{dark:?}");
        for probes in [300, 3_000, 3_000_000] {
            let single = drawn(probes, &|n| *n == probes / 2);
            assert!(
                matches!(&single[..], [one] if one.up.end > 0.15 && one.marked == 1),
                "{probes}: {single:?}"
            );
        }
        assert_eq!(
            [-5, -3, -2, 0].map(decade_label).join(" ").replace(NO_BREAK, " "),
            "0.001 % 0.1 % 1 % 100 %"
        );
        let all = drawn(3_000, &|n| *n >= 1_500);
        assert!(
            all.len() == STRIP / 2 && all.iter().all(|column| column.up.end > 0.999 && column.opacity > 0.9)
        );
    }
}
