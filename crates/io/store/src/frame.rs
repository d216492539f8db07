//! The packet log's bytes: a header, then frames.
//!
//! ```text
//! header  "romerlog"  u16 version of the frames  u16 version of the entries  u32 crc of the 12 octets before
//! frame   u32 length and kind  u32 crc of the length's four octets and the payload  payload
//! ```
//! All little-endian; the checksum is CRC-32 (IEEE 802.3). The length counts the payload; its highest bit is set
//! in a *notice*, whose payload is a u64: how many entries could not be kept up to here. Any other frame's payload
//! is one or more entries of [`romer_record::log`]. The length is under the checksum too, so that neither a flipped
//! bit in it nor a run of zeros (what some file systems leave after a loss of power) passes for a frame.

use romer_record::log::{self, Entries, Entry};

pub(crate) const MAGIC: [u8; 8] = *b"romerlog";
/// Version of the frames.
pub(crate) const VERSION: u16 = 1;
pub(crate) const HEADER: usize = 16;
/// Octets before a frame's payload.
pub(crate) const HEAD: usize = 8;
/// The longest payload that is written or believed.
pub(crate) const LONGEST: usize = 1 << 20;
const NOTICE: u32 = 1 << 31;

/// The header of a new log.
pub(crate) fn header() -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8..10].copy_from_slice(&VERSION.to_le_bytes());
    header[10..12].copy_from_slice(&log::VERSION.to_le_bytes());
    let crc = crc32fast::hash(&header[..12]);
    header[12..].copy_from_slice(&crc.to_le_bytes());
    header
}

/// What the first octets of a file say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileHeader {
    /// A log that can be read here.
    Good,
    /// The file ends inside the header: its writer was killed at the very start.
    Cut,
    /// Not a packet log.
    Foreign,
    /// The header is damaged.
    Damaged,
    /// A newer romer's: its version of the frames or of the entries.
    Newer { found: u16, known: u16 },
}

pub(crate) fn read_header(bytes: &[u8]) -> FileHeader {
    let Some(header) = bytes.first_chunk::<HEADER>() else {
        return if header().starts_with(bytes) { FileHeader::Cut } else { FileHeader::Foreign };
    };
    if header[..8] != MAGIC {
        return FileHeader::Foreign;
    }
    if crc32fast::hash(&header[..12]) != u32_at(header, 12) {
        return FileHeader::Damaged;
    }
    let frames = u16::from_le_bytes([header[8], header[9]]);
    let entries = u16::from_le_bytes([header[10], header[11]]);
    if frames > VERSION {
        FileHeader::Newer { found: frames, known: VERSION }
    } else if entries > log::VERSION {
        FileHeader::Newer { found: entries, known: log::VERSION }
    } else {
        FileHeader::Good
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |octets| u32::from_le_bytes(*octets))
}

/// Header of a frame: whether it is a notice, the length of its payload, and the checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) notice: bool,
    pub(crate) length: usize,
    first: [u8; 4],
    crc: u32,
}

impl FrameHeader {
    /// `None` where no frame of ours has such a length.
    pub(crate) fn read(bytes: [u8; HEAD]) -> Option<Self> {
        let first = [bytes[0], bytes[1], bytes[2], bytes[3]];
        let word = u32::from_le_bytes(first);
        let notice = word & NOTICE != 0;
        let length = usize::try_from(word & !NOTICE).ok()?;
        let believable = if notice { length == 8 } else { (1..=LONGEST).contains(&length) };
        believable.then(|| Self { notice, length, first, crc: u32_at(&bytes, 4) })
    }

    pub(crate) fn guards(&self, payload: &[u8]) -> bool {
        payload.len() == self.length && checksum(self.first, payload) == self.crc
    }
}

fn checksum(first: [u8; 4], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&first);
    hasher.update(payload);
    hasher.finalize()
}

/// Fills in the head of a frame whose payload stands after [`HEAD`] reserved octets.
pub(crate) fn seal(frame: &mut [u8]) {
    seal_as(frame, 0);
}

/// A notice that `entries` could not be kept up to here.
pub(crate) fn notice(entries: u64) -> [u8; HEAD + 8] {
    let mut frame = [0; HEAD + 8];
    frame[HEAD..].copy_from_slice(&entries.to_le_bytes());
    seal_as(&mut frame, NOTICE);
    frame
}

fn seal_as(frame: &mut [u8], kind: u32) {
    let Some((head, payload)) = frame.split_at_mut_checked(HEAD) else { return };
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX >> 1);
    let first = (length | kind).to_le_bytes();
    head[..4].copy_from_slice(&first);
    head[4..].copy_from_slice(&checksum(first, payload).to_le_bytes());
}

/// The entries of a frame's payload; `None` if one of them is not an entry.
pub(crate) fn entries(payload: &[u8]) -> Option<Vec<(u16, Entry)>> {
    Entries::new(payload).collect::<Result<_, _>>().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_zeros_is_no_frame() {
        assert_eq!(FrameHeader::read([0; HEAD]), None);
    }

    #[test]
    fn a_header_reads_back_and_each_flipped_bit_is_seen() {
        assert_eq!(read_header(&header()), FileHeader::Good);
        for bit in 0..HEADER * 8 {
            let mut damaged = header();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(read_header(&damaged), FileHeader::Foreign | FileHeader::Damaged), "bit {bit}");
        }
        for length in 0..HEADER {
            assert_eq!(read_header(&header()[..length]), FileHeader::Cut);
        }
        assert_eq!(read_header(b"PAR1"), FileHeader::Foreign);
    }

    #[test]
    fn a_later_version_is_told_from_damage() {
        let mut later = header();
        later[8] = 7;
        let crc = crc32fast::hash(&later[..12]);
        later[12..].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(read_header(&later), FileHeader::Newer { found: 7, known: VERSION });
    }
}
