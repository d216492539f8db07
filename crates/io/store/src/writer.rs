//! Writes the packet log.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use romer_record::log::{self, Entry};

use crate::error::StoreError;
use crate::frame::{self, HEAD};

/// A frame is written when it has grown to this many octets, if no one asks for it earlier.
const FRAME_TARGET: usize = 32 << 10;
/// More than any entry takes (the longest is 56 octets).
const ENTRY_ROOM: usize = 96;

/// Where a log is written to: a file, or in tests one that fails.
pub trait Sink {
    /// Appends some of `bytes` and says how many.
    ///
    /// # Errors
    /// Of the operating system.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts off everything after the first `length` octets.
    ///
    /// # Errors
    /// Of the operating system.
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Brings what was written to the disk.
    ///
    /// # Errors
    /// Of the operating system.
    fn sync(&mut self) -> io::Result<()>;
}

/// A log's file, opened to append.
#[derive(Debug)]
pub struct LogFile {
    file: File,
    path: PathBuf,
}

impl LogFile {
    /// Makes the file and locks it, so that no other romer takes the run for a dead one.
    ///
    /// # Errors
    /// [`StoreError::Io`]; a file of this name must not exist.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path)
            .map_err(StoreError::io("make the packet log", path))?;
        // Some file systems have no locks; the run is none the worse for it.
        let _ = file.try_lock();
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// Another handle of the same file, for the thread that synchronises it.
    pub(crate) fn second_handle(&self) -> Result<File, StoreError> {
        self.file.try_clone().map_err(StoreError::io("open the packet log a second time", &self.path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Sink for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut self.file, bytes)
    }
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// What the kernel has taken: these entries survive a kill of this program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// Entries kept, of all streams.
    pub entries: u64,
    /// Entries that wait in the frame for the next flush.
    pub waiting: u64,
    /// Entries given up: they are in no file. Above zero only after a write has failed, or where the caller said
    /// so ([`LogWriter::note_lost`]).
    pub lost: u64,
}

/// How a [`LogWriter`] ended.
#[derive(Debug)]
pub struct LogEnd {
    /// What the kernel has taken; what still waits or is lost is in no file.
    pub state: Acknowledged,
    /// The first error of any write. Where nothing waits and nothing is lost, a later attempt made up for it.
    pub write_failure: Option<io::Error>,
    /// The error of the last synchronisation.
    pub sync_failure: Option<io::Error>,
    /// The entries that are not in the log because the disk refused them, in their order; at most 2,000,000 of them
    /// are held in memory.
    pub not_kept: Vec<(u16, Entry)>,
}

/// Entries held in memory when the disk takes no more: 176 MB at the most.
const MOST_SPILLED: usize = 2_000_000;

/// Appends entries to a log.
///
/// Entries gather in a frame; [`flush`](Self::flush) hands the frame to the kernel with one `write(2)`, and
/// [`append`](Self::append) does so by itself when the frame has grown to 32 KiB. A write that fails (disk full)
/// does not end anything: what the kernel took of the frame is cut off again, the frame waits, and the next flush
/// tries once more, so that a log goes on when space has been freed. Only when a waiting frame has grown to 1 MiB
/// are further entries given up: counted, and held in memory ([`LogEnd::not_kept`]); the count is written into the
/// log as soon as it can be.
///
/// A writer that is dropped flushes nothing: call [`finish`](Self::finish).
#[derive(Debug)]
pub struct LogWriter<S: Sink = LogFile> {
    sink: S,
    /// `HEAD` reserved octets, then the payload.
    frame: Vec<u8>,
    state: Acknowledged,
    /// `lost` as the log's last notice says.
    lost_noted: u64,
    /// Length of the file up to its last whole frame.
    length: u64,
    /// The next flush by itself.
    flush_at: usize,
    /// For each stream, all numbers below this one are in the file ...
    durable_sent: Vec<u64>,
    /// ... or in the file and the frame.
    framed_sent: Vec<u64>,
    failure: Option<io::Error>,
    /// The file ends in a torn frame that could not be cut off, so nothing written after it could be read.
    broken: bool,
    /// What the log cannot take is held here, so that the run can still be evaluated.
    spilled: Vec<(u16, Entry)>,
}

impl<S: Sink> LogWriter<S> {
    /// Begins a log for `streams` streams: writes the header.
    ///
    /// # Errors
    /// Of the operating system, if the header cannot be written.
    pub fn begin(mut sink: S, streams: u16) -> io::Result<Self> {
        write_all(&mut sink, &frame::header())?;
        let mut frame = Vec::with_capacity(FRAME_TARGET + ENTRY_ROOM);
        frame.resize(HEAD, 0);
        Ok(Self {
            sink,
            frame,
            state: Acknowledged::default(),
            lost_noted: 0,
            length: frame::HEADER as u64,
            flush_at: FRAME_TARGET,
            durable_sent: vec![0; usize::from(streams)],
            framed_sent: vec![0; usize::from(streams)],
            failure: None,
            broken: false,
            spilled: Vec::new(),
        })
    }

    /// Adds an entry. It is acknowledged only after the next flush. Gives whether it is in the log or in memory, and not given up
    /// for good.
    pub fn append(&mut self, stream: u16, entry: &Entry) -> bool {
        if self.broken || self.frame.len() + ENTRY_ROOM > HEAD + frame::LONGEST {
            self.state.lost += 1;
            let has_room = self.spilled.len() < MOST_SPILLED;
            if has_room {
                self.spilled.push((stream, *entry));
            }
            return has_room;
        }
        log::encode(stream, entry, &mut self.frame);
        self.state.waiting += 1;
        if let Entry::Sent { sequence, .. } | Entry::NotSent { sequence, .. } = entry
            && let Some(next) = self.framed_sent.get_mut(usize::from(stream))
            && *next == *sequence
        {
            *next += 1;
        }
        if self.frame.len() >= self.flush_at {
            self.flush();
        }
        true
    }

    /// Hands the waiting frame to the kernel, and says what is acknowledged now. A failure is kept
    /// ([`failure`](Self::failure)), and the frame with it.
    pub fn flush(&mut self) -> Acknowledged {
        if self.state.waiting > 0 && !self.broken {
            frame::seal(&mut self.frame);
            if self.write_frame() {
                self.frame.truncate(HEAD);
                self.flush_at = FRAME_TARGET;
                self.state.entries += self.state.waiting;
                self.state.waiting = 0;
                self.durable_sent.copy_from_slice(&self.framed_sent);
            } else {
                self.flush_at = self.frame.len() + FRAME_TARGET;
            }
        }
        self.write_notice();
        self.state
    }

    /// Brings everything flushed to the disk (`fdatasync`): from then on it survives a loss of power too. This
    /// can take long; never call it where packets are handled.
    ///
    /// # Errors
    /// Of the operating system; the entries may then be on the disk or not.
    pub fn sync(&mut self) -> io::Result<()> {
        self.sink.sync()
    }

    /// Flushes, synchronises, and ends.
    pub fn finish(mut self) -> LogEnd {
        let state = self.flush();
        let sync_failure = self.sync().err();
        // What still waits was refused by the disk; it comes before what was given up because of it.
        let waiting = log::Entries::new(self.frame.get(HEAD..).unwrap_or_default());
        let mut not_kept: Vec<(u16, Entry)> = waiting.map_while(Result::ok).collect();
        not_kept.append(&mut self.spilled);
        LogEnd { state, write_failure: self.failure, sync_failure, not_kept }
    }

    /// The first error of any write, though later ones may have succeeded.
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Tells the log of entries that were lost before they reached it.
    pub fn note_lost(&mut self, entries: u64) {
        self.state.lost += entries;
    }

    /// Every `Sent` (or `NotSent`) entry of `stream` with a number below this is acknowledged. It counts numbers
    /// that came in order from 0; where one is missing it stays.
    pub fn durable_sent(&self, stream: u16) -> u64 {
        self.durable_sent.get(usize::from(stream)).copied().unwrap_or(0)
    }

    fn write_notice(&mut self) {
        // Never before the frame that waits: the notice says "up to here".
        if self.state.lost > self.lost_noted && self.state.waiting == 0 && !self.broken {
            let notice = frame::notice(self.state.lost);
            if self.write_whole(&notice) {
                self.lost_noted = self.state.lost;
            }
        }
    }

    fn write_frame(&mut self) -> bool {
        let frame = std::mem::take(&mut self.frame);
        let written = self.write_whole(&frame);
        self.frame = frame;
        written
    }

    /// Writes all of `bytes`, or leaves the file as it was.
    fn write_whole(&mut self, bytes: &[u8]) -> bool {
        match write_all(&mut self.sink, bytes) {
            Ok(()) => {
                self.length += bytes.len() as u64;
                true
            }
            Err(error) => {
                self.failure.get_or_insert(error);
                self.broken = self.sink.cut(self.length).is_err();
                if self.broken {
                    // These will never be written, and say so.
                    self.state.lost += std::mem::take(&mut self.state.waiting);
                }
                false
            }
        }
    }
}

fn write_all<S: Sink>(sink: &mut S, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match sink.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
