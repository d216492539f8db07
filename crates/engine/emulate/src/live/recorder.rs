//! A thread that writes samples into files: departures in CSV, and a capture in which each packet says its fate.

use std::io::{self, Write};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use romer_impair::{Nanos, PortId};
use romer_wire::pcapng;

use super::subscription::{PacketFate, SampleFeed, Sampled};
use crate::departures::HEADER;

/// Between two looks at a feed that was empty.
const PAUSE: Duration = Duration::from_millis(2);
/// Between two times at which what has been written is put where others can read it, and where it outlives us.
const FLUSH: Duration = Duration::from_millis(500);

/// What a capture says wrote it.
pub(crate) const RECORDED_BY: &str = "romer emulate";

/// What is written, and where.
pub struct Sink {
    /// Its name, for errors.
    pub path: PathBuf,
    /// Its end.
    pub out: Box<dyn Write + Send>,
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Sink").field(&self.path).finish()
    }
}

/// What was written.
#[derive(Debug, Default)]
pub struct Recorded {
    /// Packets.
    pub packets: u64,
    /// Packets that are not there, because the files were written too slowly.
    pub missed: u64,
    /// A file that could not be written, and why. The others, and what came before, are whole.
    pub failed: Vec<(PathBuf, io::Error)>,
}

/// The thread. It ends when its bridge has ended.
#[derive(Debug)]
pub struct Recorder(JoinHandle<Recorded>);

impl Recorder {
    /// Writes what `feed` gives: departures into each of `csv`, frames into `capture` (for which the feed must give
    /// octets).
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(feed: SampleFeed, csv: Vec<Sink>, capture: Option<Sink>) -> io::Result<Self> {
        let mut writers: Vec<Writer> = Vec::new();
        writers.extend(csv.into_iter().map(|sink| Writer {
            sink,
            kind: RecordFormat::Csv,
            buffer: Vec::new(),
        }));
        writers.extend(capture.map(|sink| Writer { sink, kind: RecordFormat::Capture, buffer: Vec::new() }));
        let thread = std::thread::Builder::new().name("samples".into());
        thread.spawn(move || record(feed, writers)).map(Self)
    }

    /// Waits for the end, which comes when the bridge has ended and everything is written.
    pub fn finish(self) -> Recorded {
        self.0.join().unwrap_or_default()
    }
}

enum RecordFormat {
    Csv,
    Capture,
}

struct Writer {
    sink: Sink,
    kind: RecordFormat,
    buffer: Vec<u8>,
}

fn record(mut feed: SampleFeed, mut writers: Vec<Writer>) -> Recorded {
    let mut recorded = Recorded::default();
    let started = feed.started_realtime();
    for writer in &mut writers {
        writer.begin(started);
    }
    let mut flushed = Instant::now();
    loop {
        let number = feed.drain(|packet| {
            for writer in &mut writers {
                writer.take(packet, started);
            }
        });
        recorded.packets += number as u64;
        // One that fails is left; the others go on.
        let is_time = flushed.elapsed() >= FLUSH;
        if is_time {
            flushed = Instant::now();
        }
        writers.retain_mut(|writer| match writer.write(is_time) {
            Ok(()) => true,
            Err(error) => {
                recorded.failed.push((writer.sink.path.clone(), error));
                false
            }
        });
        if feed.has_ended() {
            break;
        }
        if number == 0 {
            std::thread::sleep(PAUSE);
        }
    }
    for mut writer in writers {
        if let Err(error) = writer.sink.out.flush() {
            recorded.failed.push((writer.sink.path, error));
        }
    }
    recorded.missed = feed.missed();
    recorded
}

impl Writer {
    fn begin(&mut self, started: i64) {
        match self.kind {
            RecordFormat::Csv => self.buffer.extend(format!("{HEADER}\n").into_bytes()),
            RecordFormat::Capture => {
                pcapng::section(&mut self.buffer, RECORDED_BY);
                for way in PortId::BOTH {
                    pcapng::interface(&mut self.buffer, pcapng::ETHERNET, &way.letter().to_string());
                }
                // From which timelines and chains by time count.
                for interface in 0..2 {
                    pcapng::began(&mut self.buffer, interface, u64::try_from(started).unwrap_or(0));
                }
            }
        }
    }

    fn take(&mut self, packet: &Sampled, started: i64) {
        let port = packet.way();
        match self.kind {
            RecordFormat::Csv => {
                // A vector takes everything.
                let _ = packet.write(&mut self.buffer);
            }
            RecordFormat::Capture => {
                let comments: Vec<String> =
                    packet.fates.iter().map(|fate| comment(packet, fate, port)).collect();
                let comments: Vec<&str> = comments.iter().map(String::as_str).collect();
                let nanos = u64::try_from(started.saturating_add(packet.arrival)).unwrap_or(0);
                let interface = u32::from(port == PortId::B);
                pcapng::packet(&mut self.buffer, interface, nanos, &packet.octets, &comments);
            }
        }
    }

    fn write(&mut self, flush: bool) -> io::Result<()> {
        self.sink.out.write_all(&self.buffer)?;
        self.buffer.clear();
        if flush { self.sink.out.flush() } else { Ok(()) }
    }
}

/// The fate in words, as a reader of captures sees it.
fn comment(packet: &Sampled, fate: &PacketFate, port: PortId) -> String {
    let what = if fate.copy == 0 {
        format!("romer: packet {} at {}", packet.ordinal, port.letter())
    } else {
        format!("romer: duplicate {}", fate.copy)
    };
    let asked = fate.requested.map_or(String::new(), |nanos| format!(", requested {}", ms(nanos)));
    let moved = match fate.displacement {
        0 => String::new(),
        u32::MAX => ", displaced for a time".to_owned(),
        packets => format!(", displaced by {packets}"),
    };
    let damaged = if fate.corrupted { ", corrupted" } else { "" };
    match (fate.departure, fate.lost) {
        (Some((departure, rank)), _) => {
            let held = ms(departure - packet.arrival);
            format!("{what}, departed as number {rank} after {held}{asked}{moved}{damaged}")
        }
        (None, Some(cause)) => format!("{what}, lost:{}{moved}", cause.name()),
        (None, None) => format!("{what}, fate unknown"),
    }
}

fn ms(nanos: Nanos) -> String {
    format!("{}.{:06} ms", nanos / 1_000_000, (nanos % 1_000_000).abs())
}
