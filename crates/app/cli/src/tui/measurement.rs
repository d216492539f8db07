//! A measurement under way.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::{Block, Gauge, Paragraph, Row, Table};
use romer_measure::Observer;
use romer_record::document::{ProbeDirection, StreamInterval};
use romer_record::note::Note;
use romer_report::live::{loss, skew};
use romer_report::warning::Text;
use romer_report::{count, maybe_time, percent};
use romer_server::{Follower, LiveStream, LiveWay};
use romer_units::Duration;

use crate::progress::ReportedEvents;

use super::{PANEL, Panel, PanelUnit, Picture, Points, Shared, change, panels, seconds, share};

/// Intervals that are remembered: ten minutes of half seconds.
const HISTORY_INTERVALS: usize = 1_200;
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
    way: ProbeDirection,
    streams: Vec<StreamState>,
    notes: VecDeque<String>,
    folder: String,
    /// Delays of one way are told above the least so far.
    above_least: bool,
    held: bool,
}

#[derive(Debug)]
struct StreamState {
    latest: StreamInterval,
    points: VecDeque<IntervalPoint>,
}

/// What came of an interval; nothing where it is not known.
#[derive(Clone, Copy, Debug, Default)]
struct IntervalPoint {
    /// Its end, seconds.
    at: f64,
    /// Median and 99th percentile of the round trips.
    round_trip: Option<(f64, f64)>,
    /// Medians of the delays there and back, and 99th percentiles.
    ways: [Option<f64>; 2],
    highest: [Option<f64>; 2],
    /// Jitter (RFC 3550) so far: there, back, there and back.
    jitters: [Option<f64>; 3],
    /// Share lost of the probes of which it is known whether they came.
    loss: Option<f64>,
    /// The same of packets that go one way, there and back.
    lost: [Option<f64>; 2],
}

type PointField = fn(&IntervalPoint) -> Option<f64>;

fn curve(stream: &StreamState, of: PointField) -> Points {
    stream.points.iter().filter_map(|point| Some((point.at, of(point)?))).collect()
}

impl IntervalPoint {
    fn from_interval(interval: &StreamInterval, live: Option<&LiveStream>) -> Self {
        let delay = &interval.round_trip_delay_ns;
        let ways = live.map(|live| [live.forward(), live.reverse(), live.round_trip()]);
        let [there, back, both] = ways.map_or([[None; 2]; 3], |ways| ways.map(LiveWay::quantiles));
        let lost =
            |way: &LiveWay| way.counts().and_then(|[sent, came]| share(sent.saturating_sub(came), sent));
        Self {
            at: seconds(interval.elapsed_ns),
            // By the stamps of both ways and of the result, where the log has them; else by those at hand.
            round_trip: both[0].zip(both[1]).or_else(|| delay.median.zip(delay.p99.or(delay.max))),
            ways: [there[0], back[0]],
            highest: [there[1], back[1]],
            jitters: ways.map_or([None; 3], |ways| ways.map(LiveWay::jitter)),
            loss: loss(interval),
            lost: live.map_or([None; 2], |live| [live.forward(), live.reverse()].map(lost)),
        }
    }
}

impl MeasurementPicture {
    /// Of a measurement whose packets go `way`, that takes `expected`.
    pub(crate) fn new(way: ProbeDirection, expected: Option<Duration>) -> Shared<Self> {
        Arc::new(Mutex::new(Self { way, expected, ..Self::default() }))
    }

    fn take(&mut self, interval: &StreamInterval, live: Option<&LiveStream>) {
        if self.held {
            return;
        }
        let place = self.streams.iter().position(|one| one.latest.stream == interval.stream);
        let place = place.unwrap_or_else(|| {
            self.streams.push(StreamState { latest: interval.clone(), points: VecDeque::new() });
            self.streams.len() - 1
        });
        let Some(stream) = self.streams.get_mut(place) else { return };
        stream.latest.clone_from(interval);
        if stream.points.len() == HISTORY_INTERVALS {
            stream.points.pop_front();
        }
        stream.points.push_back(IntervalPoint::from_interval(interval, live));
    }

    /// The curve of each stream.
    fn each(&self, of: PointField) -> Vec<(&str, Points)> {
        let some = self.streams.iter().take(super::COLOURS.len());
        some.map(|one| (one.latest.target.as_str(), curve(one, of))).collect()
    }

    /// What is drawn. One stream shows its spread and its ways; of several, each has its median, jitter and losses.
    fn panels(&self) -> Vec<Panel<'_>> {
        if self.way.is_one_way() { self.one_way_panels() } else { self.round_trip_panels() }
    }

    /// Of packets that go one way: of one stream both ways, as far as it has them; of several the way there, or here where
    /// none go there.
    fn one_way_panels(&self) -> Vec<Panel<'_>> {
        let there = self.way != ProbeDirection::Reverse;
        let of = |ways: [PointField; 2]| match self.streams.as_slice() {
            [one] => ["forward", "reverse"]
                .into_iter()
                .zip(ways.map(|of| curve(one, of)))
                .filter(|(_, points)| !points.is_empty())
                .collect(),
            _ => self.each(ways[usize::from(!there)]),
        };
        let both = match self.streams.as_slice() {
            [one] => vec![("", curve(one, |point| point.loss))],
            _ => self.each(|point| point.loss),
        };
        let delays = of([|point| point.ways[0], |point| point.ways[1]]);
        let title = if delays.iter().all(|(_, points)| points.is_empty()) {
            "one-way delay: waiting for the time stamps of the responder"
        } else {
            self.ways_title()
        };
        let lost = of([|point| point.lost[0], |point| point.lost[1]]);
        let jitters = of([|point| point.jitters[0], |point| point.jitters[1]]);
        let highest = of([|point| point.highest[0], |point| point.highest[1]]);
        let panel = |title, curves, unit, zero| Panel { title, curves, unit, zero };
        let both = panel("loss", both, PanelUnit::Share, true);
        let lost = panel("loss", lost, PanelUnit::Share, true);
        let known = !lost.is_empty();
        vec![
            panel(title, delays, PanelUnit::Time, false),
            if known { lost } else { both },
            panel("jitter (RFC 3550)", jitters, PanelUnit::Time, true),
            panel("p99 delay", highest, PanelUnit::Time, false),
        ]
    }

    fn round_trip_panels(&self) -> Vec<Panel<'_>> {
        let each = |of: PointField| self.each(of);
        let median: PointField = |point| point.round_trip.map(|(median, _)| median);
        let loss: PointField = |point| point.loss;
        let (round_trips, ways, jitters, losses) = match self.streams.as_slice() {
            [one] => (
                vec![
                    ("median", curve(one, median)),
                    ("p99", curve(one, |point| point.round_trip.map(|(_, p99)| p99))),
                ],
                vec![
                    ("forward", curve(one, |point| point.ways[0])),
                    ("reverse", curve(one, |point| point.ways[1])),
                ],
                vec![
                    ("forward", curve(one, |point| point.jitters[0])),
                    ("reverse", curve(one, |point| point.jitters[1])),
                    ("round trip", curve(one, |point| point.jitters[2])),
                ],
                vec![("", curve(one, loss))],
            ),
            _ => (each(median), each(|point| point.ways[0]), each(|point| point.jitters[2]), each(loss)),
        };
        vec![
            Panel { title: "round-trip delay", curves: round_trips, unit: PanelUnit::Time, zero: false },
            Panel { title: "loss", curves: losses, unit: PanelUnit::Share, zero: true },
            Panel { title: "jitter (RFC 3550)", curves: jitters, unit: PanelUnit::Time, zero: true },
            Panel { title: self.ways_title(), curves: ways, unit: PanelUnit::Time, zero: false },
        ]
    }

    /// What delays of one way are: the far clock's offset is in them where both ends do not read one clock.
    const fn ways_title(&self) -> &'static str {
        match (self.above_least, self.streams.len(), self.way) {
            (false, 0 | 1, _) => "one-way delay",
            (false, _, ProbeDirection::Reverse) => "reverse delay",
            (false, _, _) => "forward delay",
            (true, 0 | 1, _) => "one-way delay above the minimum",
            (true, _, ProbeDirection::Reverse) => "reverse delay above the minimum",
            (true, _, _) => "forward delay above the minimum",
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
        let words = if whole == 0 {
            format!("{} s", shown(elapsed))
        } else if elapsed > whole {
            format!("{} s, waiting for late packets", shown(whole))
        } else {
            format!("{} of {} s", shown(elapsed), shown(whole))
        };
        (done, words)
    }

    /// What stands above the clocks, where any stream tells of them.
    fn clocks(&self) -> &'static str {
        if self.streams.iter().any(|one| one.latest.clock.is_some()) { "clock skew" } else { "" }
    }

    /// The streams, in so many columns of the terminal: where there are few, the figures that tell least are left out
    /// rather than cut, and before the figures the target of a stream that is the only one.
    fn table(&self, width: u16) -> Table<'static> {
        let delays = if self.way.is_one_way() { ["forward", "reverse"] } else { ["median", "p99"] };
        let heads =
            ["target", "sent", "received", "loss", delays[0], delays[1], self.clocks(), "outstanding"];
        let longest = self.streams.iter().map(|one| one.latest.target.chars().count()).max().unwrap_or(0);
        let target = u16::try_from(longest).unwrap_or(u16::MAX).clamp(6, LONGEST_TARGET);
        let mut widths = [target, 10, 10, 9, 8, 8, if self.clocks().is_empty() { 0 } else { CLOCKS }, 11];
        let mut order = [4, 3, 0, 1, 5, 2, 6, 7];
        if self.streams.len() > 1 {
            // Which stream it is tells more than its second figure, were it only the beginning.
            order[..3].copy_from_slice(&[0, 4, 3]);
            widths[0] = target.min(width.saturating_sub(9)).max(6);
        }
        // What is left out first stands last.
        let mut shown: Vec<usize> = Vec::new();
        for place in order {
            let taken: u16 = shown.iter().map(|at| widths[*at] + 1).sum();
            if widths[place] > 0 && taken + widths[place] <= width {
                shown.push(place);
            }
        }
        shown.sort_unstable();
        let rows = self.streams.iter().take(STREAMS).map(|one| {
            let latest = &one.latest;
            let last = |of: fn(&IntervalPoint) -> Option<f64>| one.points.iter().rev().find_map(of);
            let delays = if self.way.is_one_way() {
                [last(|point| point.ways[0]), last(|point| point.ways[1])]
            } else {
                let whole = one.points.back().and_then(|point| point.round_trip);
                [whole.map(|(median, _)| median), whole.map(|(_, highest)| highest)]
            };
            let cells = [
                romer_report::escape::terminal(&latest.target),
                count(latest.sent),
                count(latest.returned),
                loss(latest).map_or_else(|| "-".into(), percent),
                maybe_time(delays[0], true),
                maybe_time(delays[1], true),
                latest.clock.as_ref().map_or_else(String::new, |clock| skew(clock, true)),
                count(latest.outstanding),
            ];
            Row::new(shown.iter().map(|place| cells[*place].clone()).collect::<Vec<_>>())
        });
        let constraints = shown.iter().map(|place| Constraint::Min(widths[*place]));
        let head = Row::new(shown.iter().map(|place| heads[*place]).collect::<Vec<_>>()).bold();
        Table::new(rows, constraints).header(head)
    }
}

impl Picture for MeasurementPicture {
    fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        let streams = u16::try_from(self.streams.len().clamp(1, STREAMS)).unwrap_or(1);
        // Without room for a border there is none.
        let bordered = area.height >= 1 + 3 + streams;
        let lines = streams + if bordered { 3 } else { 1 };
        let notes = u16::try_from(self.notes.len()).unwrap_or(0);
        // Where there is no room for both, the figures tell more than a chart, and that more than where it is kept.
        let charted = area.height > lines + PANEL;
        let rest = area.height.saturating_sub(1 + lines + if charted { PANEL } else { 0 });
        let parts = [
            Constraint::Length(1),
            Constraint::Min(0),
            Constraint::Length(lines),
            Constraint::Length((notes + 1).min(rest)),
        ];
        let [top, middle, streams, bottom] = Layout::vertical(parts).areas(area);
        let (done, words) = self.progress();
        frame.render_widget(Gauge::default().ratio(done).label(words).gauge_style(super::COLOURS[0]), top);
        if charted {
            panels(frame, middle, self.panels());
        }
        let table = if bordered {
            let inner = streams.width.saturating_sub(2);
            let title = "streams (latest values)";
            let title = if title.len() <= usize::from(inner) { title } else { "streams" };
            self.table(inner).block(Block::bordered().title(title))
        } else {
            self.table(streams.width)
        };
        frame.render_widget(table, streams);
        let mut words: Vec<Line<'_>> =
            self.notes.iter().map(|note| Line::from(format!("note: {note}"))).collect();
        words.push(Line::from(format!("saved to {}", self.folder)).dim());
        frame.render_widget(Paragraph::new(words), bottom);
    }

    fn hold(&mut self, held: bool) {
        self.held = held;
    }
}

/// Puts what a measurement tells into its picture, with what its packet log tells beside that.
pub(crate) struct Painter {
    picture: Shared<MeasurementPicture>,
    follower: Option<Follower>,
    told: ReportedEvents,
}

impl Painter {
    pub(crate) fn new(picture: Shared<MeasurementPicture>) -> Self {
        Self { picture, follower: None, told: ReportedEvents::default() }
    }
}

impl Observer for Painter {
    fn on_start(&mut self, folder: &Path, _streams: usize) {
        self.follower = Some(Follower::new(folder));
        let folder = romer_report::escape::terminal(&folder.to_string_lossy());
        change(&self.picture, |picture| picture.folder = folder);
    }

    fn on_note(&mut self, stream: u16, note: &Note) {
        let text = note.text();
        if !self.told.is_new(stream, &text) {
            return;
        }
        change(&self.picture, |picture| picture.note(&text));
    }

    fn on_interval(&mut self, interval: &StreamInterval) {
        let follower = self.follower.as_mut();
        let live = follower.and_then(|log| log.interval(interval.stream, interval.elapsed_ns));
        change(&self.picture, |picture| {
            picture.above_least |= live.as_ref().is_some_and(LiveStream::is_above_least);
            picture.take(interval, live.as_ref());
        });
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
            settled: sent,
            lost: sent - returned.min(sent),
            outstanding: 0,
            durable_entries: 0,
            durable_sent: 0,
            round_trip_delay_ns: Summary {
                count: 9,
                median: Some(median),
                p99: Some(median * 2.0),
                ..Summary::default()
            },
            forward: None,
            reverse: None,
            clock: None,
        }
    }

    #[test]
    fn a_measurement_is_seen_with_its_delay_and_what_is_missing() {
        let picture = MeasurementPicture::new(ProbeDirection::RoundTrip, Some(Duration::from_secs(10)));
        let mut painter = Painter::new(Arc::clone(&picture));
        painter.on_start(Path::new("/runs/one"), 1);
        let hostile = romer_record::note::Notice::ResponderObjects { error: "a note\u{1b}[2J".into() };
        painter.on_note(0, &hostile.into());
        for second in 1..=5 {
            painter.on_interval(&interval(0, second, 100, 75, 20e6));
        }
        let text = shown(&*picture.lock().unwrap(), 100, 30);
        for part in [
            "5 of 10 s",
            "host0.example",
            "25.0",
            "saved to /runs/one",
            "note: the responder does not send, and reports: a note",
            "round-trip delay",
            "loss",
            "outstanding",
        ] {
            assert!(text.contains(part), "{part} is missing:\n{text}");
        }
        assert!(text.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)), "no curve:\n{text}");
        // All packets are sent, and late ones may still come.
        painter.on_interval(&interval(0, 12, 100, 75, 20e6));
        let text = shown(&*picture.lock().unwrap(), 100, 30);
        assert!(text.contains("10 s, waiting for late packets"), "{text}");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn losses_jitter_and_both_ways_have_curves_where_there_is_room() {
        let mut picture = MeasurementPicture::default();
        for second in 1..=5_u32 {
            picture.take(&interval(0, i64::from(second), 100, 75, 20e6), None);
            let points = &mut picture.streams[0].points;
            let last = points.back_mut().unwrap();
            last.ways = [Some(12e6), Some(8e6)];
            last.jitters = [Some(1e6), Some(2e6), None];
        }
        let text = shown(&picture, 160, 40).replace('\u{a0}', " ");
        for part in [
            "round-trip delay ─ median 20",
            "loss ─  25",
            "jitter (RFC 3550) ─ forward 1",
            "─ reverse 2",
            "one-way delay ─ forward 12",
            "─ reverse 8",
        ] {
            assert!(text.contains(part), "{part:?} is missing:\n{text}");
        }
        assert!(!text.contains("┌median"), "no legend hides a curve:\n{text}");
        let small = shown(&picture, 80, 18);
        assert!(small.contains("round-trip delay") && !small.contains("jitter"), "{small}");
    }

    #[test]
    fn packets_of_both_ways_have_their_delays_losses_and_jitter_as_soon_as_the_other_end_tells() {
        let picture = MeasurementPicture::new(ProbeDirection::Both, None);
        let mut picture = picture.lock().unwrap();
        picture.take(&interval(0, 1, 100, 75, 0.0), None);
        let before = shown(&*picture, 160, 40).replace('\u{a0}', " ");
        assert!(before.contains("loss ─  25"), "{before}");
        picture.above_least = true;
        for second in 2..=5_u32 {
            picture.take(&interval(0, i64::from(second), 100, 75, 0.0), None);
            let last = picture.streams[0].points.back_mut().unwrap();
            last.ways = [Some(12e6), Some(8e6)];
            last.highest = [Some(15e6), None];
            last.lost = [Some(0.03), Some(0.02)];
            last.jitters = [Some(1e6), Some(2e6), None];
        }
        let text = shown(&*picture, 160, 40).replace('\u{a0}', " ");
        for part in [
            "one-way delay above the minimum ─ forward 12",
            "─ reverse 8",
            "loss ─ forward 3",
            "─ reverse 2",
            "jitter (RFC 3550) ─ forward 1",
            "p99 delay ─ forward 15",
        ] {
            assert!(text.contains(part), "{part:?} is missing:\n{text}");
        }
        assert!(!text.contains("round-trip") && !text.contains("loss ─  25"), "{text}");
    }

    #[test]
    fn the_clocks_have_a_column_where_they_are_two() {
        let picture = MeasurementPicture::new(ProbeDirection::RoundTrip, None);
        let mut painter = Painter::new(Arc::clone(&picture));
        let clock = ClockSoFar {
            method: "piecewise".into(),
            skew_ppm: Some(20.5),
            skew_interval_ppm: Some([20.0, 21.0]),
            why_not: None,
            revision_ns: None,
        };
        painter.on_interval(&StreamInterval { clock: Some(clock), ..interval(0, 1, 10, 10, 1e6) });
        let text = shown(&*picture.lock().unwrap(), 140, 20);
        assert!(text.contains("clock skew") && text.contains("+20.50 ± 0.50 ppm"), "{text}");
    }

    #[test]
    fn a_narrow_terminal_has_fewer_figures_and_none_that_is_cut() {
        let picture = MeasurementPicture::new(ProbeDirection::RoundTrip, Some(Duration::from_millis(1_500)));
        let mut painter = Painter::new(Arc::clone(&picture));
        for stream in 0..2 {
            painter.on_interval(&interval(stream, 1, 12_345, 12_000, 1_234_567.0));
        }
        let text = shown(&*picture.lock().unwrap(), 40, 20);
        for part in ["host0.example", "host1.example", "loss", "median", "1.23", "1.0 of 1.5 s"] {
            assert!(text.contains(part), "{part} is missing:\n{text}");
        }
        assert!(!text.contains("p99"), "{text}");
        // Nor is a table without its figures, where there is room for nothing else.
        let low = shown(&*picture.lock().unwrap(), 40, 10);
        assert!(["host0.example", "host1.example", "1.23"].iter().all(|part| low.contains(part)), "{low}");
        let wide = shown(&*picture.lock().unwrap(), 100, 20);
        assert!(["p99", "sent", "received"].iter().all(|part| wide.contains(part)), "{wide}");
    }

    #[test]
    fn a_tiny_terminal_has_how_far_it_is_and_what_tells_most_of_one_stream_or_two() {
        for streams in [1_u16, 2] {
            let picture = MeasurementPicture::new(ProbeDirection::RoundTrip, Some(Duration::from_secs(10)));
            let mut painter = Painter::new(Arc::clone(&picture));
            for stream in 0..streams {
                painter.on_interval(&interval(stream, 5, 12_345, 12_000, 1_234_567.0));
            }
            // The last of five lines is for the keys.
            let text = shown(&*picture.lock().unwrap(), 20, 4).replace('\u{a0}', " ");
            for part in ["5 of 10 s", "median", "1.23 ms"] {
                assert!(text.contains(part), "{part} is missing:\n{text}");
            }
            let is_one = streams == 1;
            assert_eq!([text.contains("loss"), text.contains("2.79 %")], [is_one; 2], "{text}");
            assert_eq!(text.contains("host1."), !is_one, "{text}");
        }
    }

    #[test]
    fn nothing_panics_however_small_the_terminal() {
        for way in [ProbeDirection::RoundTrip, ProbeDirection::Both] {
            let mut picture =
                MeasurementPicture { way, folder: "/runs/one".into(), ..MeasurementPicture::default() };
            for streams in 0..4 {
                for second in 1..=3 {
                    (0..streams)
                        .for_each(|stream| picture.take(&interval(stream, second, 100, 75, 20e6), None));
                }
                picture.note("a note");
                for (width, height) in (0..24).flat_map(|width| (0..16).map(move |height| (width, height))) {
                    shown(&picture, width, height);
                }
            }
        }
    }

    #[test]
    fn a_picture_that_is_held_does_not_change() {
        let picture = MeasurementPicture::new(ProbeDirection::RoundTrip, None);
        let mut painter = Painter::new(Arc::clone(&picture));
        painter.on_interval(&interval(0, 1, 10, 10, 1e6));
        picture.lock().unwrap().hold(true);
        painter.on_interval(&interval(0, 2, 9_999, 10, 1e6));
        let text = shown(&*picture.lock().unwrap(), 80, 20);
        assert!(!text.contains("9999") && !text.contains("9\u{202f}999"), "{text}");
        // Nothing is too small for it.
        shown(&*picture.lock().unwrap(), 5, 3);
    }
}
