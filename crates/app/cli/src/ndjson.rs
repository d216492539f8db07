//! Writes the lines of `--json-lines` on a thread of their own. A slow reader never delays the measurement: lines that it does not
//! take in time are skipped, and their number is reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use romer_host::ending::Stage;
use romer_record::document::{STREAM, StreamLine};

use crate::output;

/// Lines that wait to be written, at the most, besides what the system holds for the reader.
const MAX_QUEUED_LINES: usize = 64;
/// A reader that has taken nothing for so long when all is measured is not waited for any longer.
const READER_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two looks at what it has taken.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Octets that are written at once, so that it is seen that a slow reader reads.
const WRITE_OCTETS: usize = 4_096;
/// A reader was given up: what was written last may be half a line, and nothing can follow it.
static GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// Writes lines of `--json-lines` to standard output.
#[derive(Debug)]
pub(crate) struct StreamLines {
    /// `None` where there is no thread, and lines are written at once.
    writer: Option<(SyncSender<StreamLine>, Writing)>,
    /// Skipped since the reader was last told.
    untold: u64,
    /// The same at the end.
    left: Arc<AtomicU64>,
    /// Skipped in all.
    skipped: Arc<AtomicU64>,
}

impl StreamLines {
    /// Nothing is written yet.
    pub(crate) fn new() -> Self {
        let (sender, lines) = sync_channel(MAX_QUEUED_LINES);
        let left = Arc::<AtomicU64>::default();
        let at_the_end = Arc::clone(&left);
        let writing = Writing::begin(move |taken| write_all(&lines, &at_the_end, taken));
        Self { writer: writing.map(|writing| (sender, writing)), untold: 0, left, skipped: Arc::default() }
    }

    /// Writes `line`, or skips it where the reader is too far behind.
    pub(crate) fn write_line(&mut self, line: StreamLine) {
        let Some((writer, _)) = &self.writer else { return write(&line, &AtomicU64::default()) };
        let told = |line| !matches!(writer.try_send(line), Err(TrySendError::Full(_)));
        // Before the next line that it gets, the reader is told of those that it did not.
        if self.untold > 0 && told(skipped(self.untold)) {
            self.untold = 0;
        }
        if self.untold > 0 || !told(line) {
            self.untold += 1;
            self.skipped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until the reader has taken all that was told, or it is given up. Gives how many lines were skipped.
    pub(crate) fn finish(self, interrupted: &AtomicBool) -> u64 {
        if let Some((writer, writing)) = self.writer {
            self.left.store(self.untold, Ordering::Release);
            drop(writer);
            writing.finish(interrupted);
        }
        self.skipped.load(Ordering::Relaxed)
    }
}

/// Writes the last lines, and waits until their reader has taken them, or it is given up.
pub(crate) fn write_last(lines: Vec<StreamLine>, interrupted: &AtomicBool) {
    if GIVEN_UP.load(Ordering::Acquire) {
        return;
    }
    let lines = Arc::new(lines);
    let own = Arc::clone(&lines);
    match Writing::begin(move |taken| own.iter().for_each(|line| write(line, taken))) {
        Some(writing) => writing.finish(interrupted),
        None => lines.iter().for_each(|line| write(line, &AtomicU64::default())),
    }
}

/// A thread that writes.
#[derive(Debug)]
struct Writing {
    thread: JoinHandle<()>,
    /// Pieces that were taken.
    taken: Arc<AtomicU64>,
}

impl Writing {
    /// `None` where the system gives no thread.
    fn begin(work: impl FnOnce(&AtomicU64) + Send + 'static) -> Option<Self> {
        let taken = Arc::<AtomicU64>::default();
        let count = Arc::clone(&taken);
        let thread = std::thread::Builder::new().name("romer-lines".into()).spawn(move || work(&count));
        Some(Self { thread: thread.ok()?, taken })
    }

    /// Waits for its end. A reader that takes nothing for [`READER_TIMEOUT`] is given up, and at once when another signal comes.
    fn finish(self, interrupted: &AtomicBool) {
        let stage = Stage::begin(READER_TIMEOUT + POLL_INTERVAL);
        let was_interrupted = interrupted.load(Ordering::Acquire);
        let (mut taken, mut since) = (self.taken.load(Ordering::Acquire), Instant::now());
        while !self.thread.is_finished() {
            let now = self.taken.load(Ordering::Acquire);
            if now != taken {
                (taken, since) = (now, Instant::now());
                stage.renew();
            }
            let why = if since.elapsed() >= READER_TIMEOUT {
                "the reader of the pipe accepted no data for 10 s"
            } else if interrupted.load(Ordering::Acquire) != was_interrupted {
                "interrupted while waiting for the reader of the pipe"
            } else {
                std::thread::sleep(POLL_INTERVAL);
                continue;
            };
            GIVEN_UP.store(true, Ordering::Release);
            return output::give_up(why);
        }
        // A panic of the thread has been reported by itself.
        let _ = self.thread.join();
    }
}

fn skipped(lines: u64) -> StreamLine {
    StreamLine::Skipped { schema: STREAM.into(), lines }
}

fn write_all(lines: &Receiver<StreamLine>, left: &AtomicU64, taken: &AtomicU64) {
    lines.iter().for_each(|line| write(&line, taken));
    let left = left.load(Ordering::Acquire);
    if left > 0 {
        write(&skipped(left), taken);
    }
}

/// Writes one line, and counts the pieces of it that its reader has taken.
fn write(line: &StreamLine, taken: &AtomicU64) {
    if GIVEN_UP.load(Ordering::Acquire) {
        return;
    }
    let Ok(mut text) = serde_json::to_string(line) else { return };
    text.push('\n');
    output::print_in_pieces(romer_report::escape::data(&text).as_bytes(), WRITE_OCTETS, || {
        taken.fetch_add(1, Ordering::Release);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(n: usize) -> StreamLine {
        let note = romer_record::note::Notice::LogArriving { records: n.try_into().unwrap() }.into();
        StreamLine::Event { schema: STREAM.into(), stream: 0, note, text: n.to_string() }
    }

    #[test]
    fn a_reader_that_is_behind_is_told_how_many_lines_it_did_not_get_before_the_next_one() {
        let (sender, read) = sync_channel(4);
        let writing = Writing::begin(|_| {}).unwrap();
        let (left, skipped_lines) = (Arc::<AtomicU64>::default(), Arc::default());
        let mut lines = StreamLines {
            writer: Some((sender, writing)),
            untold: 0,
            left: Arc::clone(&left),
            skipped: skipped_lines,
        };
        (0..9).for_each(|n| lines.write_line(event(n)));
        let taken: Vec<StreamLine> = read.try_iter().collect();
        assert_eq!(taken, (0..4).map(event).collect::<Vec<_>>());
        (9..14).for_each(|n| lines.write_line(event(n)));
        let taken: Vec<StreamLine> = read.try_iter().collect();
        assert_eq!(taken, [skipped(5), event(9), event(10), event(11)]);
        assert_eq!(lines.untold, 2);
        assert_eq!(lines.finish(&AtomicBool::new(false)), 7);
        assert_eq!((read.try_iter().next(), left.load(Ordering::Relaxed)), (None, 2), "they are told last");
    }
}
