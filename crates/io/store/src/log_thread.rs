//! The packet log on a thread of its own, so that whoever handles packets never waits for a disk.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use romer_record::log::Entry;
use romer_record::manifest::{EntryKind, NotLogged};

use crate::error::StoreError;
use crate::writer::{Acknowledged, LogEnd, LogFile, LogWriter, Sink};

/// The writer looks for entries this often, and flushes what it found: the longest an entry waits to be
/// acknowledged, if the disk is willing.
const ROUND: Duration = Duration::from_millis(25);
/// The same once it has found few for a while, as of a voice stream: waking costs more there than anything else.
const SLOW_ROUND: Duration = Duration::from_millis(100);
/// Entries of one round that are many, and rounds of few entries that are a while (4 s).
const MANY: usize = 16;
const A_WHILE: u32 = 160;
/// The log is brought to the disk this often.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Entries of one kind that were given up for good: how many, and between which numbers of packets.
#[derive(Debug)]
struct DroppedEntries {
    entries: AtomicU64,
    first: AtomicU64,
    last: AtomicU64,
}

impl DroppedEntries {
    const fn new() -> Self {
        Self { entries: AtomicU64::new(0), first: AtomicU64::new(u64::MAX), last: AtomicU64::new(0) }
    }

    fn add(&self, sequence: u64) {
        self.first.fetch_min(sequence, Ordering::Relaxed);
        self.last.fetch_max(sequence, Ordering::Relaxed);
        self.entries.fetch_add(1, Ordering::Release);
    }

    fn reason(&self, kind: EntryKind) -> Option<NotLogged> {
        let entries = self.entries.load(Ordering::Acquire);
        let [first, last] = [&self.first, &self.last].map(|number| number.load(Ordering::Relaxed));
        (entries > 0).then_some(NotLogged { kind, entries, first, last })
    }
}

/// What is kept up to now; readable from any thread at any time.
#[derive(Debug)]
pub struct Watermark {
    offered: AtomicU64,
    overflowed: AtomicU64,
    entries: AtomicU64,
    lost: AtomicU64,
    failed: AtomicBool,
    sent: Box<[AtomicU64]>,
    /// Of each stream, by the kind of entry.
    given_up: Box<[[DroppedEntries; EntryKind::ALL.len()]]>,
}

impl Watermark {
    fn new(streams: u16) -> Self {
        Self {
            offered: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
            entries: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            sent: (0..streams).map(|_| AtomicU64::new(0)).collect(),
            given_up: (0..streams).map(|_| EntryKind::ALL.map(|_| DroppedEntries::new())).collect(),
        }
    }

    /// Entries that survive a kill of this program.
    pub fn entries(&self) -> u64 {
        self.entries.load(Ordering::Acquire)
    }

    /// Every `Sent` (or `NotSent`) entry of `stream` with a number below this survives a kill of this program.
    pub fn sent(&self, stream: u16) -> u64 {
        self.sent.get(usize::from(stream)).map_or(0, |sent| sent.load(Ordering::Acquire))
    }

    /// Entries given up until now: the queue to the log was full, or the disk.
    pub fn lost(&self) -> u64 {
        // What the writer has heard of the overflows is in both; the larger one is the news.
        self.lost.load(Ordering::Acquire).max(self.overflowed.load(Ordering::Acquire))
    }

    /// Notes an entry that is neither in the log nor in memory.
    fn give_up(&self, stream: u16, entry: &Entry) {
        let kinds = self.given_up.get(usize::from(stream)).into_iter().flatten();
        let of = EntryKind::from_entry(entry);
        for (given_up, _) in kinds.zip(EntryKind::ALL).filter(|(_, kind)| *kind == of) {
            given_up.add(entry.sequence());
        }
    }

    /// What was given up for good until now of `stream`, by the kind of entry.
    pub fn given_up(&self, stream: u16) -> Vec<NotLogged> {
        let kinds = self.given_up.get(usize::from(stream)).into_iter().flatten();
        kinds.zip(EntryKind::ALL).filter_map(|(given_up, kind)| given_up.reason(kind)).collect()
    }

    /// A write has failed; the outcome will say how.
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    fn publish<S: Sink>(&self, writer: &LogWriter<S>, state: Acknowledged) {
        for (sent, stream) in self.sent.iter().zip(0..) {
            sent.store(writer.durable_sent(stream), Ordering::Release);
        }
        self.entries.store(state.entries, Ordering::Release);
        self.lost.store(state.lost, Ordering::Release);
        self.failed.store(writer.failure().is_some(), Ordering::Release);
    }
}

/// The end of the log that packets are written into; each thread has its clone.
#[derive(Clone, Debug)]
pub struct LogSender {
    channel: SyncSender<(u16, Entry)>,
    kept: Arc<Watermark>,
}

impl LogSender {
    /// Hands over an entry. It never blocks, allocates or wakes another thread: where the queue is full the entry
    /// is given up and counted, and `false` comes back.
    pub fn append(&self, stream: u16, entry: &Entry) -> bool {
        self.kept.offered.fetch_add(1, Ordering::Relaxed);
        match self.channel.try_send((stream, *entry)) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.kept.overflowed.fetch_add(1, Ordering::Relaxed);
                self.kept.give_up(stream, entry);
                false
            }
        }
    }

    /// Hands over an entry, and waits while the queue is full. For whatever is in no hurry: the far end's log, once
    /// nothing is sent any more.
    pub fn append_patiently(&self, stream: u16, entry: &Entry) {
        self.kept.offered.fetch_add(1, Ordering::Relaxed);
        if self.channel.send((stream, *entry)).is_err() {
            self.kept.overflowed.fetch_add(1, Ordering::Relaxed);
            self.kept.give_up(stream, entry);
        }
    }

    /// What is kept up to now.
    pub fn kept(&self) -> &Arc<Watermark> {
        &self.kept
    }
}

/// How a log ended.
#[derive(Debug)]
pub struct LogOutcome {
    /// Entries that were handed over.
    pub offered: u64,
    /// Entries in the log.
    pub kept: u64,
    /// What went wrong, if anything: entries that are not in the log ([`StoreError::NotKept`]), or a failed
    /// synchronisation ([`StoreError::Io`]).
    pub error: Option<StoreError>,
    /// The entries that the disk refused, as far as memory held them ([`LogEnd::not_kept`]).
    pub not_kept: Vec<(u16, Entry)>,
}

/// The log's threads: one writes, one synchronises.
#[derive(Debug)]
pub struct LogThread {
    sender: LogSender,
    stop: Arc<AtomicBool>,
    writer: Option<JoinHandle<LogEnd>>,
    syncer: Option<JoinHandle<Option<io::Error>>>,
    path: PathBuf,
}

impl LogThread {
    /// Starts a log of `streams` streams, with a queue of `capacity` entries (88 octets each, allocated now).
    /// The queue must hold what arrives while one write waits for the disk: 65,536 is 0.65 s at 100,000 entries
    /// a second.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the header cannot be written or a thread cannot be started.
    pub fn start(file: LogFile, streams: u16, capacity: usize) -> Result<Self, StoreError> {
        let path = file.path().to_path_buf();
        let second = file.second_handle()?;
        let writer =
            LogWriter::begin(file, streams).map_err(StoreError::io("write the packet log", &path))?;
        let (channel, entries) = sync_channel(capacity.max(1));
        let kept = Arc::new(Watermark::new(streams));
        let stop = Arc::new(AtomicBool::new(false));
        let mut log = Self {
            sender: LogSender { channel, kept: Arc::clone(&kept) },
            stop: Arc::clone(&stop),
            writer: None,
            syncer: None,
            path,
        };
        let spawn_error = StoreError::io("start the packet log's thread", &log.path);
        let stopped = Arc::clone(&stop);
        log.writer = Some(
            thread::Builder::new()
                .name("romer-log".into())
                .spawn(move || write_until(writer, &entries, &kept, &stopped))
                .map_err(spawn_error)?,
        );
        let spawn_error = StoreError::io("start the thread that synchronises the packet log", &log.path);
        log.syncer = Some(
            thread::Builder::new()
                .name("romer-log-sync".into())
                .spawn(move || sync_until(&second, &stop))
                .map_err(spawn_error)?,
        );
        Ok(log)
    }

    /// A hand to write with.
    pub fn sender(&self) -> LogSender {
        self.sender.clone()
    }

    /// What is kept up to now.
    pub fn kept(&self) -> &Arc<Watermark> {
        self.sender.kept()
    }

    /// Writes what was handed over, synchronises, and ends both threads. Entries that are handed over by other
    /// threads after this call began may not be kept; those that were handed over before it are.
    pub fn finish(mut self) -> LogOutcome {
        self.end_threads();
        let end = self.writer.take().and_then(|thread| thread.join().ok());
        let sync_failure = self.syncer.take().and_then(|thread| thread.join().ok()).flatten();
        let offered = self.kept().offered.load(Ordering::Acquire);
        let kept = end.as_ref().map_or(self.kept().entries(), |end| end.state.entries);
        let (write_failure, last_sync, not_kept) =
            end.map_or((None, None, Vec::new()), |end| (end.write_failure, end.sync_failure, end.not_kept));
        let missing = offered.saturating_sub(kept);
        let error = if missing > 0 {
            Some(StoreError::NotKept { path: self.path.clone(), entries: missing, source: write_failure })
        } else {
            sync_failure.or(last_sync).map(StoreError::io("bring the packet log to the disk", &self.path))
        };
        LogOutcome { offered, kept, error, not_kept }
    }

    fn end_threads(&self) {
        self.stop.store(true, Ordering::Release);
        let writer = self.writer.as_ref().map(JoinHandle::thread);
        let syncer = self.syncer.as_ref().map(JoinHandle::thread);
        for thread in writer.into_iter().chain(syncer) {
            thread.unpark();
        }
    }
}

impl Drop for LogThread {
    /// A log that is dropped unfinished (a panic, an early return) still writes what it was given.
    fn drop(&mut self) {
        self.end_threads();
        if let Some(thread) = self.writer.take() {
            let _ = thread.join();
        }
    }
}

/// The writer looks by itself at a steady pace instead of waiting to be woken: waking is a system call and a lock
/// in the thread that sends, which is where packets are handled.
fn write_until<S: Sink>(
    mut writer: LogWriter<S>,
    entries: &Receiver<(u16, Entry)>,
    kept: &Watermark,
    stop: &AtomicBool,
) -> LogEnd {
    let mut told_of = 0;
    let mut slow = 0_u32;
    loop {
        // Read before draining, so that what was handed over before the stop is drained after it.
        let last = stop.load(Ordering::Acquire);
        let mut found = 0_usize;
        for (stream, entry) in entries.try_iter() {
            if !writer.append(stream, &entry) {
                kept.give_up(stream, &entry);
            }
            found += 1;
        }
        let overflowed = kept.overflowed.load(Ordering::Acquire);
        writer.note_lost(overflowed - told_of);
        told_of = overflowed;
        let state = writer.flush();
        kept.publish(&writer, state);
        if last {
            return writer.finish();
        }
        slow = if found > MANY { 0 } else { slow.saturating_add(1) };
        thread::park_timeout(if slow > A_WHILE { SLOW_ROUND } else { ROUND });
    }
}

fn sync_until(file: &File, stop: &AtomicBool) -> Option<io::Error> {
    let mut failure = None;
    while !stop.load(Ordering::Acquire) {
        thread::park_timeout(SYNC_EVERY);
        if let Err(error) = file.sync_data() {
            failure.get_or_insert(error);
        }
    }
    failure
}
