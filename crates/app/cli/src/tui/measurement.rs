//! A measurement under way.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::{Block, Gauge, Paragraph, Row, Table};
use romer_measure::measure::Observer;
use romer_record::document::{StreamInterval, Way};
use romer_report::live::skew;
use romer_report::{count, maybe_time, percent};
use romer_units::Duration;

use super::{Picture, Shared, change, chart, seconds, share};

/// Intervals that are remembered: ten minutes of half seconds.
const REMEMBERED: usize = 1_200;
/// Notes that are shown.
const NOTES: usize = 3;
/// Streams that have a line.
const STREAMS: usize = 16;
/// Columns of the longest target, and of what is said of clocks.
const LONGEST_TARGET: u16 = 40;
const CLOCKS: u16 = 24;
/// Measurements that take less have tenths of seconds.
const SHORT_NS: i64 = 10_000_000_000;

/// What is seen of a measurement.
#[derive(Debug, Default)]
pub(crate) struct MeasurementPicture {
    expected: Option<Duration>,
    way: Way,
    streams: Vec<Stream>,
    notes: VecDeque<String>,
    folder: String,
    held: bool,
}

#[derive(Debug)]
struct Stream {
    latest: StreamInterval,
    /// When, the median and the 99th percentile of that interval.
    delays: VecDeque<(f64, f64, f64)>,
}

impl MeasurementPicture {
    /// Of a measurement whose packets go `way`, that takes `expected`.
    pub(crate) fn new(way: Way, expected: Option<Duration>) -> Shared<Self> {
        Arc::new(Mutex::new(Self { way, expected, ..Self::default() }))
    }

    fn take(&mut self, interval: &StreamInterval) {
        if self.held {
            return;
        }
        let place = self.streams.iter().position(|one| one.latest.stream == interval.stream);
        let place = place.unwrap_or_else(|| {
            self.streams.push(Stream { latest: interval.clone(), delays: VecDeque::new() });
            self.streams.len() - 1
        });
        let Some(stream) = self.streams.get_mut(place) else { return };
        stream.latest.clone_from(interval);
        let delay = &interval.round_trip_delay_ns;
        if let Some((median, p99)) = delay.median.zip(delay.p99.or(delay.max)) {
            if stream.delays.len() == REMEMBERED {
                stream.delays.pop_front();
            }
            stream.delays.push_back((seconds(interval.elapsed_ns), median, p99));
        }
    }

    fn note(&mut self, text: &str) {
        if self.notes.len() == NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back(romer_report::escape::terminal(text));
    }

    fn progress(&self) -> (f64, String) {
        let elapsed = self.streams.iter().map(|one| one.latest.elapsed_ns).max().unwrap_or(0);
        let whole = self.expected.map_or(0, Duration::as_nanos);
        let done = if whole > 0 { (seconds(elapsed) / seconds(whole)).clamp(0.0, 1.0) } else { 0.0 };
        let shown = |nanos| {
            let decimals = usize::from(whole > 0 && whole < SHORT_NS);
            format!("{:.decimals$}", seconds(nanos))
        };
        let of = if whole > 0 { format!(" of {} s", shown(whole)) } else { " s".into() };
        (done, format!("{}{of}", shown(elapsed)))
    }

    /// What stands above the clocks, where any stream tells of them.
    fn clocks(&self) -> &'static str {
        if self.streams.iter().any(|one| one.latest.clock.is_some()) { "clocks" } else { "" }
    }

    /// The streams, in so many columns of the terminal: where there are few, the figures that tell least are left out
    /// rather than cut.
    fn table(&self, width: u16) -> Table<'static> {
        let [come, missing] =
            if self.way.is_one_way() { ["arrived", "not yet"] } else { ["back", "not back"] };
        let heads = ["target", "sent", come, missing, "median", "99 %", self.clocks()];
        let longest = self.streams.iter().map(|one| one.latest.target.chars().count()).max().unwrap_or(0);
        let target = u16::try_from(longest).unwrap_or(u16::MAX).clamp(6, LONGEST_TARGET);
        let widths = [target, 10, 10, 9, 8, 8, if self.clocks().is_empty() { 0 } else { CLOCKS }];
        // What is left out first stands last.
        let mut shown = vec![0, 3, 4];
        for place in [1, 5, 2, 6] {
            let taken: u16 = shown.iter().map(|at: &usize| widths[*at] + 1).sum();
            if widths[place] > 0 && taken + widths[place] < width {
                shown.push(place);
            }
        }
        shown.sort_unstable();
        let rows = self.streams.iter().take(STREAMS).map(|one| {
            let latest = &one.latest;
            let missing = share(latest.sent.saturating_sub(latest.returned), latest.sent);
            let delay = &latest.round_trip_delay_ns;
            let cells = [
                romer_report::escape::terminal(&latest.target),
                count(latest.sent),
                count(latest.returned),
                missing.map_or_else(|| "-".into(), percent),
                maybe_time(delay.median, true),
                maybe_time(delay.p99.or(delay.max), true),
                latest.clock.as_ref().map_or_else(String::new, |clock| skew(clock, true)),
            ];
            Row::new(shown.iter().map(|place| cells[*place].clone()).collect::<Vec<_>>())
        });
        let constraints = shown.iter().map(|place| Constraint::Min(widths[*place]));
        let head = Row::new(shown.iter().map(|place| heads[*place]).collect::<Vec<_>>()).bold();
        let title = "streams, and the delay at last";
        Table::new(rows, constraints).header(head).block(Block::bordered().title(title))
    }
}

impl Picture for MeasurementPicture {
    fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        let lines = u16::try_from(self.streams.len().clamp(1, STREAMS)).unwrap_or(1) + 3;
        let notes = u16::try_from(self.notes.len()).unwrap_or(0);
        let parts = [
            Constraint::Length(1),
            Constraint::Min(6),
            Constraint::Length(lines),
            Constraint::Length(notes + 1),
        ];
        let [top, middle, streams, bottom] = Layout::vertical(parts).areas(area);
        let (done, words) = self.progress();
        frame.render_widget(Gauge::default().ratio(done).label(words).gauge_style(super::COLOURS[0]), top);
        // One stream shows its spread; of several, each has its median.
        let curves: Vec<(&str, Vec<(f64, f64)>)> = match self.streams.as_slice() {
            [one] => vec![
                ("median", one.delays.iter().map(|(at, median, _)| (*at, *median)).collect()),
                ("99 %", one.delays.iter().map(|(at, _, p99)| (*at, *p99)).collect()),
            ],
            all => all
                .iter()
                .take(super::COLOURS.len())
                .map(|one| {
                    let points = one.delays.iter().map(|(at, median, _)| (*at, *median)).collect();
                    (one.latest.target.as_str(), points)
                })
                .collect(),
        };
        let title = if self.way.is_one_way() {
            "one-way delay: known at the end, when the stamps of both ends are here"
        } else {
            "round-trip delay, by the stamps at hand"
        };
        chart(frame, middle, title, &curves, |value| maybe_time(Some(value), true));
        frame.render_widget(self.table(streams.width.saturating_sub(2)), streams);
        let mut words: Vec<Line<'_>> =
            self.notes.iter().map(|note| Line::from(format!("note: {note}"))).collect();
        words.push(Line::from(format!("kept in {}", self.folder)).dim());
        frame.render_widget(Paragraph::new(words), bottom);
    }

    fn hold(&mut self, held: bool) {
        self.held = held;
    }
}

/// Puts what a measurement tells into its picture.
pub(crate) struct Painter(pub(crate) Shared<MeasurementPicture>);

impl Observer for Painter {
    fn on_start(&mut self, folder: &Path, _streams: usize) {
        let folder = romer_report::escape::terminal(&folder.to_string_lossy());
        change(&self.0, |picture| picture.folder = folder);
    }

    fn on_note(&mut self, _stream: u16, text: &str) {
        change(&self.0, |picture| picture.note(text));
    }

    fn on_interval(&mut self, interval: &StreamInterval) {
        change(&self.0, |picture| picture.take(interval));
    }
}

#[cfg(test)]
mod tests {
    use romer_record::document::{ClockSoFar, STREAM, Summary};

    use super::*;
    use crate::tui::tests::shown;

    fn interval(stream: u16, seconds: i64, sent: u64, returned: u64, median: f64) -> StreamInterval {
        StreamInterval {
            schema: STREAM.into(),
            stream,
            target: format!("host{stream}.example"),
            elapsed_ns: seconds * 1_000_000_000,
            sent,
            returned,
            kept_entries: 0,
            kept_sent: 0,
            round_trip_delay_ns: Summary {
                count: 9,
                median: Some(median),
                p99: Some(median * 2.0),
                ..Summary::default()
            },
            clock: None,
        }
    }

    #[test]
    fn a_measurement_is_seen_with_its_delay_and_what_is_missing() {
        let picture = MeasurementPicture::new(Way::RoundTrip, Some(Duration::from_secs(10)));
        let mut painter = Painter(Arc::clone(&picture));
        painter.on_start(Path::new("/runs/one"), 1);
        painter.on_note(0, "a note\u{1b}[2J");
        for second in 1..=5 {
            painter.on_interval(&interval(0, second, 100, 75, 20e6));
        }
        let text = shown(&*picture.lock().unwrap(), 100, 30);
        for part in
            ["5 of 10 s", "host0.example", "25.0", "kept in /runs/one", "note: a note", "round-trip delay"]
        {
            assert!(text.contains(part), "{part} is missing:\n{text}");
        }
        assert!(text.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)), "no curve:\n{text}");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn the_clocks_have_a_column_where_they_are_two() {
        let picture = MeasurementPicture::new(Way::RoundTrip, None);
        let mut painter = Painter(Arc::clone(&picture));
        let clock = ClockSoFar {
            method: "piecewise".into(),
            skew_ppm: Some(20.5),
            skew_interval_ppm: Some([20.0, 21.0]),
            why_not: None,
        };
        painter.on_interval(&StreamInterval { clock: Some(clock), ..interval(0, 1, 10, 10, 1e6) });
        let text = shown(&*picture.lock().unwrap(), 140, 20);
        assert!(text.contains("clocks") && text.contains("+20.50 ppm (± 0.50)"), "{text}");
    }

    #[test]
    fn a_narrow_terminal_has_fewer_figures_and_none_that_is_cut() {
        let picture = MeasurementPicture::new(Way::RoundTrip, Some(Duration::from_millis(1_500)));
        let mut painter = Painter(Arc::clone(&picture));
        for stream in 0..2 {
            painter.on_interval(&interval(stream, 1, 12_345, 12_000, 1_234_567.0));
        }
        let text = shown(&*picture.lock().unwrap(), 40, 20);
        for part in ["host0.example", "host1.example", "not back", "median", "1.23", "1.0 of 1.5 s"] {
            assert!(text.contains(part), "{part} is missing:\n{text}");
        }
        assert!(!text.contains("99 %"), "{text}");
        let wide = shown(&*picture.lock().unwrap(), 100, 20);
        assert!(["99 %", "sent", "back"].iter().all(|part| wide.contains(part)), "{wide}");
    }

    #[test]
    fn a_picture_that_is_held_does_not_change() {
        let picture = MeasurementPicture::new(Way::RoundTrip, None);
        let mut painter = Painter(Arc::clone(&picture));
        painter.on_interval(&interval(0, 1, 10, 10, 1e6));
        picture.lock().unwrap().hold(true);
        painter.on_interval(&interval(0, 2, 9_999, 10, 1e6));
        let text = shown(&*picture.lock().unwrap(), 80, 20);
        assert!(!text.contains("9999") && !text.contains("9\u{202f}999"), "{text}");
        // Nothing is too small for it.
        shown(&*picture.lock().unwrap(), 5, 3);
    }
}
