//! An emulation under way.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::widgets::{Block, Row, Table};
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

fn row(name: &'static str, one: &EmulatedDirection) -> Row<'static> {
    let lost: u64 = one.lost.values().sum();
    let offered = one.received + one.duplicates_created;
    Row::new([
        name.to_owned(),
        count(one.received),
        count(one.transmitted),
        format!("{} ({})", count(lost), share(lost, offered).map_or_else(|| "-".into(), percent)),
        count(one.duplicates_created),
        count(one.reordered),
        count(one.queued),
        maybe_time(one.requested_delay_ns.median, true),
        maybe_time(one.actual_delay_ns.median, true),
        maybe_time(one.delay_error_ns.p99, true),
        if one.balances() { "yes".into() } else { "NO".into() },
    ])
}

impl Picture for EmulationPicture {
    fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        let [charts, table] = Layout::vertical([Constraint::Min(6), Constraint::Length(5)]).areas(area);
        let halves = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas::<2>(charts);
        for (way, (title, half)) in
            ["a to b, packets a second", "b to a, packets a second"].into_iter().zip(halves).enumerate()
        {
            let of = |end: usize| self.rates.iter().map(|(at, rates)| (*at, rates[way][end])).collect();
            chart(frame, half, title, &[("in", of(0)), ("out", of(1))], |value| format!("{value:.0}"));
        }
        let head = [
            "",
            "received",
            "sent on",
            "lost",
            "copies",
            "reordered",
            "held",
            "delay asked",
            "delay held",
            "error 99 %",
            "balanced",
        ];
        let rows = self
            .latest
            .iter()
            .flat_map(|document| [row("a to b", &document.a_to_b), row("b to a", &document.b_to_a)]);
        let widths = [Constraint::Fill(1); 11];
        let seen = Table::new(rows, widths)
            .header(Row::new(head).bold())
            .block(Block::bordered().title("since the start"));
        frame.render_widget(seen, table);
    }

    fn hold(&mut self, held: bool) {
        self.held = held;
    }
}
