//! Progress of a measurement: JSON lines on standard output, or a live view on a terminal.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use romer_measure::Observer;
use romer_record::document::{ProbeDirection, STREAM, StreamInterval, StreamLine, StreamReturn};
use romer_record::note::{Note, Notice};
use romer_report::live::LiveView;
use romer_report::text::TextStyle;
use romer_report::warning::Text;
use romer_server::{Follower, LiveStream};
use romer_units::{Duration, counted, was};

use crate::ndjson::StreamLines;
use crate::output::{self, Color};

/// Which output is requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgressOutput {
    /// No prose.
    pub(crate) quiet: bool,
    /// JSON lines on standard output.
    pub(crate) stream: bool,
    /// Colour.
    pub(crate) color: Color,
}

/// Prints the progress of a measurement.
pub(crate) struct ProgressPrinter {
    talk: ProgressOutput,
    view: LiveView,
    screen: Option<Screen>,
    way: ProbeDirection,
    follower: Option<Follower>,
    told: ReportedEvents,
    /// Those of `--json-lines`, where they are asked for.
    lines: Option<StreamLines>,
}

impl ProgressPrinter {
    /// A narrator of a measurement whose packets go `way`, that takes `expected`.
    pub(crate) fn new(talk: ProgressOutput, way: ProbeDirection, expected: Option<Duration>) -> Self {
        let shown = !talk.quiet && io::stderr().is_terminal() && !output::is_dumb();
        Self {
            talk,
            view: LiveView::new(way, expected.map(Duration::as_nanos)),
            screen: shown.then(Screen::default),
            way,
            follower: None,
            told: ReportedEvents::default(),
            lines: talk.stream.then(StreamLines::new),
        }
    }

    /// The view goes, and what was told is waited for until it is taken, if it is read at all. Gives how many lines of `--json-lines`
    /// were skipped.
    pub(crate) fn finish(mut self, interrupted: &AtomicBool) -> u64 {
        self.clear();
        let skipped = self.lines.take().map_or(0, |lines| lines.finish(interrupted));
        if skipped > 0 && !self.talk.quiet {
            let (lines, were) = (counted(skipped, "line"), was(skipped));
            output::eprint_line(&format!(
                "note: {lines} of --json-lines {were} skipped: the reader was too slow; the measurement itself is complete"
            ));
        }
        skipped
    }

    fn clear(&mut self) {
        if let Some(screen) = &mut self.screen {
            screen.draw(&[]);
        }
    }

    fn write_line(&mut self, line: StreamLine) {
        if let Some(lines) = &mut self.lines {
            lines.write_line(line);
        }
    }

    fn draw(&mut self) {
        let style = output::style_of_stderr(self.talk.color);
        if let Some(screen) = &mut self.screen {
            let [columns, rows] = output::size_of_stderr();
            // A line that the terminal breaks, or one that has left it above, cannot be taken back.
            let width = columns.unwrap_or(usize::MAX).min(style.width).saturating_sub(1);
            let mut lines = self.view.lines(&TextStyle { width, ..style });
            lines.truncate(rows.map_or(usize::MAX, |rows| rows.saturating_sub(1)));
            screen.draw(&lines);
        }
    }
}

/// Kinds of notes that are remembered: more are not about the same.
const MAX_REPORTED_EVENTS: usize = 64;

/// What was told of which streams, so that what happened to all is said once.
#[derive(Debug, Default)]
pub(crate) struct ReportedEvents {
    reported: VecDeque<(String, BTreeSet<u16>)>,
    /// The last of each stream.
    last: BTreeMap<u16, String>,
}

impl ReportedEvents {
    /// Whether this is to be said: it is neither the last that happened to the stream, nor what was said a moment ago of another one. After
    /// something else it has happened again.
    pub(crate) fn is_new(&mut self, stream: u16, text: &str) -> bool {
        if self.last.insert(stream, text.to_owned()).is_some_and(|last| last == text) {
            return false;
        }
        if let Some((_, streams)) = self.reported.iter_mut().find(|(known, _)| known == text) {
            if streams.insert(stream) {
                return false;
            }
            *streams = BTreeSet::from([stream]);
            return true;
        }
        if self.reported.len() >= MAX_REPORTED_EVENTS {
            self.reported.pop_front();
        }
        self.reported.push_back((text.to_owned(), BTreeSet::from([stream])));
        true
    }
}

/// Some lines at the bottom of the terminal.
#[derive(Debug, Default)]
struct Screen {
    lines: usize,
}

impl Screen {
    /// Puts `lines` in the place of those that are there.
    fn draw(&mut self, lines: &[String]) {
        let mut text = String::new();
        if self.lines > 0 {
            // Up to the first line, and nothing from there on.
            text.push_str(&format!("\x1b[{}A\r\x1b[J", self.lines));
        }
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        self.lines = lines.len();
        let mut out = io::stderr().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

impl Observer for ProgressPrinter {
    fn on_start(&mut self, folder: &Path, _streams: usize) {
        if self.talk.stream {
            let folder = romer_report::escape::terminal(&folder.to_string_lossy());
            let note: Note = Notice::RunSaved { folder }.into();
            let text = note.text();
            self.write_line(StreamLine::Event { schema: STREAM.into(), stream: 0, note, text });
        }
        // What is measured there and back tells its delays by itself.
        let follows = (self.screen.is_some() || self.talk.stream) && self.way.is_one_way();
        self.follower = follows.then(|| Follower::new(folder));
        self.draw();
    }

    fn on_note(&mut self, stream: u16, note: &Note) {
        let text = romer_report::escape::terminal(&note.text());
        if self.talk.stream {
            let note = note.clone();
            self.write_line(StreamLine::Event { schema: STREAM.into(), stream, note, text: text.clone() });
        }
        if !self.talk.quiet && self.told.is_new(stream, &text) {
            self.clear();
            output::eprint_line(&format!("note: {text}"));
            self.draw();
        }
    }

    fn on_interval(&mut self, interval: &StreamInterval) {
        let follower = self.follower.as_mut();
        let live = follower.and_then(|log| log.interval(interval.stream, interval.elapsed_ns));
        if self.talk.stream {
            let of_log = live.as_ref().map(LiveStream::to_stream);
            let [forward, reverse] =
                of_log.unwrap_or_else(|| [interval.forward.clone(), interval.reverse.clone()]);
            self.write_line(StreamLine::Interval(Box::new(StreamInterval {
                forward,
                reverse,
                ..interval.clone()
            })));
        }
        self.view.take(interval);
        if let Some(live) = live {
            self.view.take_ways(interval.stream, &live.ways());
        }
        self.draw();
    }

    fn on_return(&mut self, returned: &StreamReturn) {
        self.write_line(StreamLine::Return(Box::new(returned.clone())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_to_all_streams_is_said_once() {
        let mut told = ReportedEvents::default();
        let of = |told: &mut ReportedEvents, text: &str| {
            (0..200).filter(|stream| told.is_new(*stream, text)).count()
        };
        assert_eq!(of(&mut told, "it was paused for 5.2s"), 1);
        assert_eq!(of(&mut told, "it was paused for 11.4s"), 1);
        assert_eq!(of(&mut told, "it was paused for 5.2s"), 1, "it did so again");
        for number in 0..2 * MAX_REPORTED_EVENTS {
            assert!(told.is_new(0, &number.to_string()));
            assert!(!told.is_new(0, &number.to_string()), "the same once more");
        }
        assert!(told.reported.len() <= MAX_REPORTED_EVENTS);
    }
}
