//! The lines of `--stream`. They are written by a thread of their own, so that a reader that does not read holds up nothing of what
//! is measured: what it is too far behind for is skipped, and it is told how much that was.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use romer_record::document::{STREAM, StreamLine};

use crate::output;

/// Lines that wait to be written, at the most, besides what the system holds for the reader.
const WAITING: usize = 64;

/// Writes lines of `--stream` to standard output.
#[derive(Debug)]
pub(crate) struct Lines {
    /// `None` where there is no thread, and lines are written at once.
    writer: Option<(SyncSender<StreamLine>, JoinHandle<()>)>,
    /// Skipped since the reader was last told.
    untold: u64,
    /// Skipped in all.
    skipped: Arc<AtomicU64>,
}

impl Lines {
    /// Nothing is written yet.
    pub(crate) fn new() -> Self {
        let (sender, lines) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().name("romer-lines".into()).spawn(move || write_all(&lines));
        let writer = thread.ok().map(|thread| (sender, thread));
        Self { writer, untold: 0, skipped: Arc::default() }
    }

    /// Writes `line`, or skips it where the reader is too far behind.
    pub(crate) fn tell(&mut self, line: StreamLine) {
        let Some((writer, _)) = &self.writer else { return write(&line) };
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

    /// Waits until the reader has taken all that was told. Gives how many lines were skipped.
    pub(crate) fn finish(self) -> u64 {
        if let Some((writer, thread)) = self.writer {
            if self.untold > 0 {
                let _ = writer.send(skipped(self.untold));
            }
            drop(writer);
            // A panic of the thread has been reported by itself.
            let _ = thread.join();
        }
        self.skipped.load(Ordering::Relaxed)
    }
}

fn skipped(lines: u64) -> StreamLine {
    StreamLine::Skipped { schema: STREAM.into(), lines }
}

fn write_all(lines: &Receiver<StreamLine>) {
    lines.iter().for_each(|line| write(&line));
}

/// Writes one line at once, and waits for its reader.
pub(crate) fn write(line: &StreamLine) {
    if let Ok(mut text) = serde_json::to_string(line) {
        text.push('\n');
        output::print(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(n: usize) -> StreamLine {
        StreamLine::Event { schema: STREAM.into(), stream: 0, text: n.to_string() }
    }

    #[test]
    fn a_reader_that_is_behind_is_told_how_many_lines_it_did_not_get_before_the_next_one() {
        let (sender, read) = sync_channel(4);
        let thread = std::thread::spawn(|| {});
        let mut lines = Lines { writer: Some((sender, thread)), untold: 0, skipped: Arc::default() };
        (0..9).for_each(|n| lines.tell(event(n)));
        let taken: Vec<StreamLine> = read.try_iter().collect();
        assert_eq!(taken, (0..4).map(event).collect::<Vec<_>>());
        (9..14).for_each(|n| lines.tell(event(n)));
        let taken: Vec<StreamLine> = read.try_iter().collect();
        assert_eq!(taken, [skipped(5), event(9), event(10), event(11)]);
        assert_eq!(lines.untold, 2);
        assert_eq!(lines.finish(), 7);
        assert_eq!(read.try_iter().collect::<Vec<_>>(), [skipped(2)]);
    }
}
