//! An emulation under way.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::widgets::{Block, Paragraph, Row, Table, Wrap};
use romer_record::document::Summary;
use romer_record::emulation::{EmulatedDirection, Emulation, mean_between};
use romer_report::{count, maybe_time, percent};

use super::{Panel, PanelUnit, Picture, Points, Shared, panels};

/// Seconds that are remembered.
const HISTORY_SECONDS: usize = 600;

/// What is seen of an emulation.
#[derive(Debug, Default)]
pub(crate) struct EmulationPicture {
    latest: Option<Emulation>,
    /// When, seconds after the start, and what each direction did in the second before.
    seconds: VecDeque<(f64, [Second; 2])>,
    /// When, and how it stood then.
    before: Option<(f64, [EmulatedDirection; 2])>,
    held: bool,
}

/// What one direction did between two looks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Second {
    /// Packets a second that came in, went out, and were lost.
    rates: [f64; 3],
    /// Means of the delays: asked for, got in all, and of that in the rate's queue, nanoseconds.
    delays: [Option<f64>; 3],
}

impl Second {
    #[expect(clippy::cast_precision_loss, reason = "a rate on a picture")]
    fn between(was: &EmulatedDirection, is: &EmulatedDirection, seconds: f64) -> Self {
        let lost = |one: &EmulatedDirection| one.lost.values().sum::<u64>();
        let counts = |one: &EmulatedDirection| [one.received, one.transmitted, lost(one)];
        let [before, now] = [was, is].map(counts);
        let delays: [fn(&EmulatedDirection) -> &Summary; 3] =
            [|one| &one.requested_delay_ns, |one| &one.total_delay_ns, |one| &one.rate_queue_ns];
        Self {
            rates: [0, 1, 2].map(|what: usize| now[what].saturating_sub(before[what]) as f64 / seconds),
            delays: delays.map(|of| mean_since(of(was), of(is))),
        }
    }
}

/// The mean of what came to a sample; after the summaries were begun anew, of all since.
fn mean_since(was: &Summary, is: &Summary) -> Option<f64> {
    if is.count < was.count { is.mean } else { mean_between((was.count, was.mean), (is.count, is.mean)) }
}

impl EmulationPicture {
    pub(crate) fn new() -> Shared<Self> {
        Arc::new(Mutex::new(Self::default()))
    }

    /// Takes in how it stands `at` seconds after its start.
    pub(crate) fn take(&mut self, at: f64, document: Emulation) {
        let now = [document.a_to_b.clone(), document.b_to_a.clone()];
        if let Some((then, were)) = self.before.as_ref().filter(|(then, _)| at > *then) {
            let second = [0, 1].map(|way: usize| Second::between(&were[way], &now[way], at - then));
            if self.seconds.len() == HISTORY_SECONDS {
                self.seconds.pop_front();
            }
            self.seconds.push_back((at, second));
        }
        self.before = Some((at, now));
        if !self.held {
            self.latest = Some(document);
        }
    }
}

/// What there is of each direction.
const FIGURES: [&str; 11] = [
    "received",
    "transmitted",
    "lost",
    "duplicates",
    "out of order",
    "queued",
    "balanced",
    "requested delay",
    "actual delay",
    "total delay",
    "error p99",
];
/// The same by their places, those that tell most before the others.
const FIRST: [usize; 11] = [0, 1, 2, 9, 7, 5, 6, 8, 10, 3, 4];
/// Columns beside a table's own: its borders.
const BORDERS: usize = 2;
/// Lines of a table, of the causes of loss, and the fewest of the charts.
const HEIGHT: u16 = 5;
const CAUSES: u16 = 2;
const CHARTS: u16 = 6;
/// Columns with which the charts of both directions stand beside each other.
const ABREAST: u16 = 60;

/// What was lost, by cause.
fn causes(one: &EmulatedDirection) -> String {
    let some = one.lost.iter().filter(|(_, lost)| **lost > 0);
    let words: Vec<_> = some.map(|(cause, lost)| format!("{cause} {}", count(*lost))).collect();
    if words.is_empty() { "none".into() } else { words.join(", ") }
}

fn row(one: &EmulatedDirection) -> [String; 11] {
    let lost: u64 = one.lost.values().sum();
    [
        count(one.received),
        count(one.transmitted),
        format!("{} ({})", count(lost), one.loss_ratio().map_or_else(|| "-".into(), percent)),
        count(one.duplicates_created),
        count(one.overtaken),
        count(one.queued),
        if one.balances() { "yes".into() } else { "NO".into() },
        maybe_time(one.requested_delay_ns.median, true),
        maybe_time(one.actual_delay_ns.median, true),
        maybe_time(one.total_delay_ns.median, true),
        maybe_time(one.delay_error_ns.p99, true),
    ]
}

/// Some of the figures of both directions, as columns.
struct FigureGroup {
    title: &'static str,
    columns: Vec<[String; 3]>,
}

impl FigureGroup {
    fn new(title: &'static str, figures: &[usize], rows: &[[String; 11]; 2]) -> Self {
        let names = ["".into(), "a to b".into(), "b to a".into()];
        let columns =
            figures.iter().map(|at| [FIGURES[*at].into(), rows[0][*at].clone(), rows[1][*at].clone()]);
        Self { title, columns: std::iter::once(names).chain(columns).collect() }
    }

    fn width(column: &[String; 3]) -> usize {
        column.iter().map(|text| text.chars().count()).max().unwrap_or(0)
    }

    /// Columns of a terminal that it takes.
    fn needs(&self) -> usize {
        self.columns.iter().map(|column| Self::width(column) + 1).sum::<usize>() - 1 + BORDERS
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        // No column is cut as long as another has room to spare.
        let least = |column| Constraint::Min(u16::try_from(Self::width(column)).unwrap_or(u16::MAX));
        let line =
            |at: usize| Row::new(self.columns.iter().map(|column| column[at].clone()).collect::<Vec<_>>());
        let seen = Table::new([line(1), line(2)], self.columns.iter().map(least))
            .header(line(0).bold())
            .block(Block::bordered().title(self.title));
        frame.render_widget(seen, area);
    }
}

/// Whether there is room for charts beside one table.
const fn has_charts(area: Rect) -> bool {
    area.height >= CHARTS + HEIGHT && area.width >= ABREAST
}

/// These figures as tables below each other, as many as it takes for none to be cut.
fn tables(chosen: &[usize], rows: &[[String; 11]; 2], area: Rect) -> Vec<FigureGroup> {
    let mut parts: Vec<FigureGroup> = Vec::new();
    let mut rest = chosen;
    while !rest.is_empty() {
        let title = match (parts.is_empty(), chosen.len() == FIGURES.len()) {
            (true, true) => "since the start",
            (true, false) => "since the start (most important)",
            (false, _) => "continued",
        };
        let fits =
            |count: &usize| FigureGroup::new(title, &rest[..*count], rows).needs() <= usize::from(area.width);
        let count = (1..=rest.len()).rev().find(fits).unwrap_or(1);
        parts.push(FigureGroup::new(title, &rest[..count], rows));
        rest = &rest[count..];
    }
    parts
}

/// The figures as tables, none of them cut: all, or those that tell most where there is no room for more.
fn parts(rows: &[[String; 11]; 2], area: Rect) -> Vec<FigureGroup> {
    let charts = if has_charts(area) { CHARTS } else { 0 };
    let most = usize::from(area.height.saturating_sub(charts) / HEIGHT).max(1);
    let chosen = |count: usize| {
        let mut chosen = FIRST[..count].to_vec();
        chosen.sort_unstable();
        tables(&chosen, rows, area)
    };
    (2..=FIRST.len()).rev().map(chosen).find(|parts| parts.len() <= most).unwrap_or_else(|| chosen(1))
}

impl EmulationPicture {
    /// What is drawn of a direction.
    fn panels(&self, way: usize) -> Vec<Panel<'static>> {
        let rate = |what: usize| self.seconds.iter().map(|(at, both)| (*at, both[way].rates[what])).collect();
        let delay = |what: usize| -> Points {
            self.seconds.iter().filter_map(|(at, both)| Some((*at, both[way].delays[what]?))).collect()
        };
        let [packets, delays, lost] = [
            ["a to b, packets/s", "a to b, delay", "a to b, lost/s"],
            ["b to a, packets/s", "b to a, delay", "b to a, lost/s"],
        ][way];
        let mut held = vec![("requested", delay(0)), ("total", delay(1))];
        held.extend(Some(("rate queue", delay(2))).filter(|(_, points)| !points.is_empty()));
        vec![
            Panel {
                title: packets,
                curves: vec![("in", rate(0)), ("out", rate(1))],
                unit: PanelUnit::Number,
                zero: true,
            },
            Panel { title: delays, curves: held, unit: PanelUnit::Time, zero: true },
            Panel { title: lost, curves: vec![("", rate(2))], unit: PanelUnit::Number, zero: true },
        ]
    }
}

impl Picture for EmulationPicture {
    fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        let nothing = EmulatedDirection::default();
        let directions =
            self.latest.as_ref().map_or([&nothing, &nothing], |seen| [&seen.a_to_b, &seen.b_to_a]);
        let causes_of = if area.height >= HEIGHT + CAUSES { CAUSES } else { 0 };
        let [area, foot] = Layout::vertical([Constraint::Min(0), Constraint::Length(causes_of)]).areas(area);
        let parts = parts(&directions.map(row), area);
        let heights = parts.iter().map(|_| Constraint::Length(HEIGHT));
        let rest = if has_charts(area) { Constraint::Min(CHARTS) } else { Constraint::Length(0) };
        let places = Layout::vertical(std::iter::once(rest).chain(heights)).split(area);
        let charts = places.first().copied().unwrap_or(area);
        let halves = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas::<2>(charts);
        for (way, half) in halves.into_iter().enumerate().filter(|_| has_charts(area)) {
            panels(frame, half, self.panels(way));
        }
        for (part, place) in parts.iter().zip(places.iter().skip(1)) {
            part.draw(frame, *place);
        }
        let [there, back] = directions.map(causes);
        let lost = Paragraph::new(format!("lost a to b: {there}; b to a: {back}")).wrap(Wrap { trim: true });
        frame.render_widget(lost, foot);
    }

    fn hold(&mut self, held: bool) {
        self.held = held;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::shown;
    use super::*;

    fn busy() -> EmulatedDirection {
        let mut one = EmulatedDirection {
            received: 12_345_678,
            transmitted: 12_222_222,
            duplicates_created: 4_321,
            overtaken: 54_321,
            queued: 321,
            ..EmulatedDirection::default()
        };
        one.lost.insert("model".into(), one.received + one.duplicates_created - one.transmitted - one.queued);
        for (summary, value) in [
            (&mut one.requested_delay_ns, 30_400_000.0),
            (&mut one.actual_delay_ns, 30_500_000.0),
            (&mut one.total_delay_ns, 99_700_000.0),
            (&mut one.delay_error_ns, 123_000.0),
        ] {
            summary.median = Some(value);
            summary.p99 = Some(value);
        }
        one
    }

    fn document(one: &EmulatedDirection) -> Emulation {
        Emulation {
            schema: romer_record::emulation::EMULATION.into(),
            started: String::new(),
            ended: String::new(),
            ended_by: None,
            seed: [1; 6],
            generator: "counter".into(),
            data_plane: "packet".into(),
            scenario: String::new(),
            ports: std::collections::BTreeMap::new(),
            impairments_off_since: None,
            changes: Vec::new(),
            refits: Vec::new(),
            a_to_b: one.clone(),
            b_to_a: one.clone(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn packets_delays_and_losses_of_each_second_are_drawn_from_zero() {
        let mut picture = EmulationPicture::default();
        let mut one = EmulatedDirection::default();
        for second in 0..30_u64 {
            one.received = 20 * second;
            one.transmitted = 19 * second;
            one.lost.insert("model".into(), second);
            for (summary, mean) in [
                (&mut one.requested_delay_ns, 30e6),
                (&mut one.total_delay_ns, 480e6),
                (&mut one.rate_queue_ns, 450e6),
            ] {
                summary.count = 19 * second;
                summary.mean = (second > 0).then_some(mean);
            }
            picture.take(f64::from(u32::try_from(second).unwrap()), document(&one));
        }
        let seen = shown(&picture, 140, 50).replace('\u{a0}', " ");
        for part in [
            "a to b, packets/s ─ in 20 ─ out 19",
            "b to a, delay ─ requested 30.0 ms ─ total 480 ms ─ rate queue 450 ms",
            "a to b, lost/s ─  1.0",
            "│0.0│",
        ] {
            assert!(seen.contains(part), "{part:?} is missing:\n{seen}");
        }
        // A small terminal has the packets at least.
        let small = shown(&picture, 80, 20);
        assert!(small.contains("packets/s") && !small.contains("lost/s"), "{small}");
    }

    #[test]
    fn a_mean_is_of_what_came_and_after_a_new_beginning_of_all_since() {
        let of = |count, mean| Summary { count, mean: Some(mean), ..Summary::default() };
        assert_eq!(mean_since(&of(10, 5.0), &of(20, 10.0)), Some(15.0));
        assert_eq!(mean_since(&of(10, 5.0), &of(10, 5.0)), None);
        assert_eq!(mean_since(&of(10, 5.0), &of(3, 7.0)), Some(7.0));
    }

    #[test]
    fn a_small_terminal_has_the_figures_that_tell_most_and_none_of_them_cut() {
        let one = busy();
        let mut picture = EmulationPicture { latest: Some(document(&one)), ..EmulationPicture::default() };
        for second in 0..5 {
            picture.take(f64::from(second), document(&one));
        }
        for (width, height, charts) in
            [(50, 7, false), (50, 12, false), (50, 13, false), (60, 16, true), (80, 13, true), (80, 18, true)]
        {
            let seen = shown(&picture, width, height).replace('\u{a0}', " ");
            assert_eq!(seen.contains("packets/s"), charts, "{width}x{height}:\n{seen}");
            assert!(seen.contains("a to b") && seen.contains("b to a"), "{width}x{height}:\n{seen}");
            let drawn = FIGURES.into_iter().zip(row(&one)).filter(|(figure, _)| seen.contains(*figure));
            let mut count = 0;
            for (figure, value) in drawn {
                count += 1;
                let value = value.replace('\u{a0}', " ");
                assert!(seen.contains(&value), "{figure} at {width}x{height}:\n{seen}");
            }
            assert!(count >= 3, "{width}x{height}:\n{seen}");
        }
    }

    #[test]
    fn no_figure_is_cut_however_wide_the_terminal() {
        let one = busy();
        let picture = EmulationPicture { latest: Some(document(&one)), ..EmulationPicture::default() };
        // Nothing is too small for it.
        for (width, height) in (0..30).flat_map(|width| (0..16).map(move |height| (width, height))) {
            shown(&picture, width, height);
        }
        for width in [40, 80, 100, 120, 132, 200] {
            let seen = shown(&picture, width, 40);
            assert!(seen.contains("lost a to b: model"), "{seen}");
            for text in FIGURES.into_iter().map(str::to_owned).chain(row(&one)) {
                // What does not break a line is drawn as a space is.
                let text = text.replace('\u{a0}', " ");
                assert!(seen.replace('\u{a0}', " ").contains(&text), "{text:?} at {width} columns:\n{seen}");
            }
        }
    }
}
