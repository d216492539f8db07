//! An emulation under way.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::widgets::{Block, Paragraph, Row, Table, Wrap};
use romer_record::emulation::{EmulatedDirection, Emulation};
use romer_report::{count, maybe_time, percent};

use super::{Picture, Shared, chart, share};

/// Seconds that are remembered.
const REMEMBERED: usize = 600;

/// What is seen of an emulation.
#[derive(Debug, Default)]
pub(crate) struct EmulationPicture {
    latest: Option<Emulation>,
    /// When, seconds after the start, and the packets a second that came in and went out, for each direction.
    rates: VecDeque<(f64, [[f64; 2]; 2])>,
    /// When, and the counts then.
    before: Option<(f64, [[u64; 2]; 2])>,
    held: bool,
}

impl EmulationPicture {
    pub(crate) fn new() -> Shared<Self> {
        Arc::new(Mutex::new(Self::default()))
    }

    /// Takes in how it stands `at` seconds after its start.
    pub(crate) fn take(&mut self, at: f64, document: Emulation) {
        let counts = [&document.a_to_b, &document.b_to_a].map(|one| [one.received, one.transmitted]);
        if let Some((then, were)) = self.before
            && at > then
        {
            #[expect(clippy::cast_precision_loss, reason = "a rate on a picture")]
            let rate = |now: u64, was: u64| now.saturating_sub(was) as f64 / (at - then);
            let rates =
                [0, 1].map(|way: usize| [0, 1].map(|end: usize| rate(counts[way][end], were[way][end])));
            if self.rates.len() == REMEMBERED {
                self.rates.pop_front();
            }
            self.rates.push_back((at, rates));
        }
        self.before = Some((at, counts));
        if !self.held {
            self.latest = Some(document);
        }
    }
}

/// What there is of each direction.
const FIGURES: [&str; 10] = [
    "received",
    "sent on",
    "lost",
    "copies",
    "reordered",
    "held",
    "balanced",
    "delay asked",
    "delay held",
    "error 99 %",
];
/// Columns beside a table's own: its borders.
const BORDERS: usize = 2;
/// Lines of a table, of the causes of loss, and the fewest of the charts.
const HEIGHT: u16 = 5;
const CAUSES: u16 = 2;
const CHARTS: u16 = 6;

/// What was lost, by cause.
fn causes(one: &EmulatedDirection) -> String {
    let some = one.lost.iter().filter(|(_, lost)| **lost > 0);
    let words: Vec<_> = some.map(|(cause, lost)| format!("{cause} {}", count(*lost))).collect();
    if words.is_empty() { "nothing".into() } else { words.join(", ") }
}

fn row(one: &EmulatedDirection) -> [String; 10] {
    let lost: u64 = one.lost.values().sum();
    let offered = one.received + one.duplicates_created;
    [
        count(one.received),
        count(one.transmitted),
        format!("{} ({})", count(lost), share(lost, offered).map_or_else(|| "-".into(), percent)),
        count(one.duplicates_created),
        count(one.reordered),
        count(one.queued),
        if one.balances() { "yes".into() } else { "NO".into() },
        maybe_time(one.requested_delay_ns.median, true),
        maybe_time(one.actual_delay_ns.median, true),
        maybe_time(one.delay_error_ns.p99, true),
    ]
}

/// Some of the figures of both directions, as columns.
struct Part {
    title: &'static str,
    columns: Vec<[String; 3]>,
}

impl Part {
    fn of(title: &'static str, figures: std::ops::Range<usize>, rows: &[[String; 10]; 2]) -> Self {
        let names = ["".into(), "a to b".into(), "b to a".into()];
        let columns = figures.map(|at| [FIGURES[at].into(), rows[0][at].clone(), rows[1][at].clone()]);
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

/// The figures as tables below each other, as many as it takes for none to be cut, and no more than there is room for.
fn parts(rows: &[[String; 10]; 2], area: Rect) -> Vec<Part> {
    let most = usize::from(area.height.saturating_sub(CHARTS) / HEIGHT).max(1);
    let mut parts: Vec<Part> = Vec::new();
    let mut from = 0;
    while from < FIGURES.len() {
        let title = if from == 0 { "since the start" } else { "more of it" };
        let whole = parts.len() + 1 == most;
        let fits = |to: &usize| whole || Part::of(title, from..*to, rows).needs() <= usize::from(area.width);
        let to = (from + 1..=FIGURES.len()).rev().find(fits).unwrap_or(from + 1);
        parts.push(Part::of(title, from..to, rows));
        from = to;
    }
    parts
}

impl Picture for EmulationPicture {
    fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        let nothing = EmulatedDirection::default();
        let directions =
            self.latest.as_ref().map_or([&nothing, &nothing], |seen| [&seen.a_to_b, &seen.b_to_a]);
        let [area, foot] = Layout::vertical([Constraint::Min(0), Constraint::Length(CAUSES)]).areas(area);
        let parts = parts(&directions.map(row), area);
        let heights = parts.iter().map(|_| Constraint::Length(HEIGHT));
        let places = Layout::vertical(std::iter::once(Constraint::Min(CHARTS)).chain(heights)).split(area);
        let charts = places.first().copied().unwrap_or(area);
        let halves = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas::<2>(charts);
        for (way, (title, half)) in
            ["a to b, packets a second", "b to a, packets a second"].into_iter().zip(halves).enumerate()
        {
            let of = |end: usize| self.rates.iter().map(|(at, rates)| (*at, rates[way][end])).collect();
            chart(frame, half, title, &[("in", of(0)), ("out", of(1))], |value| format!("{value:.0}"));
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
            reordered: 54_321,
            queued: 321,
            ..EmulatedDirection::default()
        };
        one.lost.insert("model".into(), one.received + one.duplicates_created - one.transmitted - one.queued);
        for (summary, value) in [
            (&mut one.requested_delay_ns, 30_400_000.0),
            (&mut one.actual_delay_ns, 30_500_000.0),
            (&mut one.delay_error_ns, 123_000.0),
        ] {
            summary.median = Some(value);
            summary.p99 = Some(value);
        }
        one
    }

    #[test]
    fn no_figure_is_cut_however_wide_the_terminal() {
        let one = busy();
        let document = Emulation {
            schema: romer_record::emulation::EMULATION.into(),
            started: String::new(),
            ended: String::new(),
            ended_by: None,
            seed: [1; 6],
            generator: "counter".into(),
            data_plane: "packet".into(),
            scenario: String::new(),
            ports: std::collections::BTreeMap::new(),
            changes: Vec::new(),
            a_to_b: one.clone(),
            b_to_a: one.clone(),
            warnings: Vec::new(),
        };
        let picture = EmulationPicture { latest: Some(document), ..EmulationPicture::default() };
        // Nothing is too small for it.
        shown(&picture, 5, 3);
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
