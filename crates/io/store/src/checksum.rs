//! A checksum inside a Parquet file that other readers do not notice.
//!
//! Parquet's own metadata has no checksum, and its readers trust it: damage there gives wrong rows, enormous
//! allocations or a panic. A Parquet file ends with its footer, the footer's length (u32) and `PAR1`; readers find
//! the footer from the end, and everything before it by the offsets that stand in it. So there is room just
//! before the footer for something that no offset points to:
//!
//! ```text
//! PAR1  pages  "romercrc" u32 crc  footer  u32 length of the footer  PAR1
//! ```
//! The CRC-32 is that of the whole file without these twelve octets.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

const MAGIC: [u8; 8] = *b"romercrc";
const GUARD: u64 = 12;
const TAIL: u64 = 8;
const PARQUET: [u8; 4] = *b"PAR1";

/// Passes octets on to a file and sums them up.
#[derive(Debug)]
pub(crate) struct Summed<'a> {
    file: &'a mut File,
    sum: crc32fast::Hasher,
}

impl<'a> Summed<'a> {
    pub(crate) fn new(file: &'a mut File) -> Self {
        Self { file, sum: crc32fast::Hasher::new() }
    }

    /// Puts the guard into the finished Parquet file.
    pub(crate) fn seal(self) -> io::Result<()> {
        let crc = self.sum.finalize();
        let length = self.file.seek(SeekFrom::End(0))?;
        let from = footer_start(self.file, length)?.ok_or(io::ErrorKind::InvalidData)?;
        let mut footer = Vec::new();
        self.file.seek(SeekFrom::Start(from))?;
        self.file.read_to_end(&mut footer)?;
        self.file.seek(SeekFrom::Start(from))?;
        self.file.write_all(&MAGIC)?;
        self.file.write_all(&crc.to_le_bytes())?;
        self.file.write_all(&footer)
    }
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Where the footer begins; `None` where this is no Parquet file.
fn footer_start(file: &mut File, length: u64) -> io::Result<Option<u64>> {
    let Some(tail_at) = length.checked_sub(TAIL) else { return Ok(None) };
    file.seek(SeekFrom::Start(tail_at))?;
    let mut tail = [0; 8];
    file.read_exact(&mut tail)?;
    let [a, b, c, d, magic @ ..] = tail;
    let footer = u64::from(u32::from_le_bytes([a, b, c, d]));
    Ok((magic == PARQUET).then(|| tail_at.checked_sub(footer)).flatten())
}

/// What a look at the guard says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChecksumVerdict {
    /// The file is as it was written.
    Whole,
    /// The file is too short for Parquet or does not end as one.
    NotParquet,
    /// There is no guard at this byte.
    Unguarded(u64),
    /// The checksum at this byte does not fit the file.
    Damaged(u64),
}

/// Compares the file with its guard, and leaves it at its beginning.
pub(crate) fn check(file: &mut File) -> io::Result<ChecksumVerdict> {
    let length = file.seek(SeekFrom::End(0))?;
    let Some(footer) = footer_start(file, length)? else { return Ok(ChecksumVerdict::NotParquet) };
    let Some(guard_at) = footer.checked_sub(GUARD) else { return Ok(ChecksumVerdict::NotParquet) };
    file.rewind()?;
    let mut sum = crc32fast::Hasher::new();
    add(file, guard_at, &mut sum)?;
    let (mut magic, mut crc) = ([0; 8], [0; 4]);
    file.read_exact(&mut magic)?;
    file.read_exact(&mut crc)?;
    if magic != MAGIC {
        return Ok(ChecksumVerdict::Unguarded(guard_at));
    }
    add(file, length - footer, &mut sum)?;
    file.rewind()?;
    let fits = sum.finalize() == u32::from_le_bytes(crc);
    Ok(if fits { ChecksumVerdict::Whole } else { ChecksumVerdict::Damaged(guard_at + MAGIC.len() as u64) })
}

fn add(file: &mut File, octets: u64, sum: &mut crc32fast::Hasher) -> io::Result<()> {
    let mut rest = file.take(octets);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match rest.read(&mut buffer)? {
            0 => return Ok(()),
            count => sum.update(buffer.get(..count).unwrap_or_default()),
        }
    }
}
