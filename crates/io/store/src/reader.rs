//! Reads the packet log, however it ended.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use romer_record::log::Entry;

use crate::error::{IMPLAUSIBLE, StoreError};
use crate::frame::{self, FileHeader, FrameHeader, HEAD, HEADER};
use crate::untrusted;

/// What one frame holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogFrame {
    /// Entries, each with its stream.
    Entries(Vec<(u16, Entry)>),
    /// The writer's word that this many entries could not be kept from the log's beginning up to here.
    Lost(u64),
}

/// Reads a log frame by frame, up to its end or to the first frame that is torn or damaged.
#[derive(Debug)]
pub struct LogReader<R> {
    input: R,
    path: PathBuf,
    payload: Vec<u8>,
    /// Octets that belong to the header and whole frames.
    good: u64,
    /// Octets taken from the input.
    taken: u64,
    ended: bool,
}

impl LogReader<BufReader<File>> {
    /// Opens a log.
    ///
    /// # Errors
    /// [`StoreError::Io`], and those of [`LogReader::new`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let file = untrusted::open(path).map_err(StoreError::io("open the packet log", path))?;
        Self::new(BufReader::with_capacity(1 << 16, file), path)
    }
}

impl<R: Read> LogReader<R> {
    /// Reads the header. A log that was cut inside its header is an empty one. `path` is for errors.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] where this is no log of ours or its header is damaged, [`StoreError::Newer`],
    /// [`StoreError::Io`].
    pub fn new(mut input: R, path: &Path) -> Result<Self, StoreError> {
        let mut header = [0; HEADER];
        let taken = fill(&mut input, &mut header).map_err(StoreError::io("read the packet log", path))?;
        let ended = match frame::read_header(header.get(..taken).unwrap_or_default()) {
            FileHeader::Good => false,
            FileHeader::Cut => true,
            FileHeader::Foreign => {
                return Err(StoreError::malformed(path, "byte 0", "it does not begin as a packet log does"));
            }
            FileHeader::Damaged => {
                return Err(StoreError::malformed(path, "byte 8", "the header's checksum does not fit it"));
            }
            FileHeader::Newer { found, known } => {
                return Err(StoreError::Newer {
                    path: path.to_path_buf(),
                    place: "byte 8",
                    found: found.into(),
                    known: known.into(),
                });
            }
        };
        let good = if ended { 0 } else { taken as u64 };
        Ok(Self { input, path: path.to_path_buf(), payload: Vec::new(), good, taken: taken as u64, ended })
    }

    /// The next frame, or `None` at the end or at the first damage.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the file cannot be read, [`StoreError::Malformed`] where an entry has a time that cannot be.
    pub fn next_frame(&mut self) -> Result<Option<LogFrame>, StoreError> {
        if self.ended {
            return Ok(None);
        }
        let frame = self.read_frame().map_err(StoreError::io("read the packet log", &self.path))?;
        self.ended = frame.is_none();
        if let Some(LogFrame::Entries(entries)) = &frame
            && !entries.iter().all(|(_, entry)| entry.is_plausible())
        {
            let place = format!("frame at byte {}", self.good);
            return Err(StoreError::malformed(&self.path, place, IMPLAUSIBLE));
        }
        if frame.is_some() {
            self.good = self.taken;
        }
        Ok(frame)
    }

    fn read_frame(&mut self) -> io::Result<Option<LogFrame>> {
        let mut head = [0; HEAD];
        let got = fill(&mut self.input, &mut head)?;
        self.taken += got as u64;
        let Some(head) = (got == HEAD).then(|| FrameHeader::read(head)).flatten() else { return Ok(None) };
        self.payload.resize(head.length, 0);
        let got = fill(&mut self.input, &mut self.payload)?;
        self.taken += got as u64;
        let payload = self.payload.get(..got).unwrap_or_default();
        if !head.guards(payload) {
            return Ok(None);
        }
        Ok(if head.notice {
            payload.first_chunk().map(|octets| LogFrame::Lost(u64::from_le_bytes(*octets)))
        } else {
            frame::entries(payload).map(LogFrame::Entries)
        })
    }

    /// Octets of the header and of the whole frames read so far.
    pub fn good_octets(&self) -> u64 {
        self.good
    }
}

impl<R: Read + Seek> LogReader<R> {
    /// Goes on where the whole frames end, after [`next_frame`](Self::next_frame) has given `None`: the log may have
    /// grown since, where its writer is still at it.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn go_on(&mut self) -> Result<(), StoreError> {
        self.input
            .seek(SeekFrom::Start(self.good))
            .map_err(StoreError::io("read the packet log", &self.path))?;
        self.taken = self.good;
        // A log that was cut in its header has no frames yet.
        self.ended = self.good == 0;
        Ok(())
    }
}

/// Reads until `buffer` is full or the input ends; says how much.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match input.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Everything that a log holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The entries of each stream, in the order of writing.
    pub streams: BTreeMap<u16, Vec<Entry>>,
    /// Octets after the last whole frame: what was being written at the moment of the kill. They were never
    /// acknowledged.
    pub discarded_octets: u64,
    /// Entries that the writer could not keep, by its own count.
    pub lost_entries: u64,
}

impl Recovered {
    /// Number of entries, of all streams.
    pub fn entries(&self) -> u64 {
        self.streams.values().map(|entries| entries.len() as u64).sum()
    }
}

/// The most entries that are taken into memory (72 octets each).
const MOST_ENTRIES: u64 = 1 << 28;

/// Reads a whole log, whether its writer ended well or was killed.
///
/// # Errors
/// [`StoreError`] of opening and reading; damage inside is no error, it ends the log.
pub fn recover(path: &Path) -> Result<Recovered, StoreError> {
    let length = path.symlink_metadata().map_err(StoreError::io("open the packet log", path))?.len();
    let mut reader = LogReader::open(path)?;
    let mut recovered = Recovered::default();
    let mut count = 0;
    while let Some(frame) = reader.next_frame()? {
        match frame {
            LogFrame::Lost(entries) => recovered.lost_entries = entries,
            LogFrame::Entries(entries) => {
                count += entries.len() as u64;
                if count > MOST_ENTRIES {
                    return Err(StoreError::TooLarge {
                        path: path.to_path_buf(),
                        found: count,
                        unit: "entries or more",
                        limit: MOST_ENTRIES,
                    });
                }
                for (stream, entry) in entries {
                    recovered.streams.entry(stream).or_default().push(entry);
                }
            }
        }
    }
    recovered.discarded_octets = length.saturating_sub(reader.good_octets());
    Ok(recovered)
}
