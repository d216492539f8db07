//! Files as they are, or, of those that gzip compressed, what they hold.
//!
//! Whether a file is compressed its first octets say, and not its name. What it unpacks to is bounded: a small file of octets
//! that repeat may hold a thousand times its size, which no packet log does, and which would fill the memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use romer_store::untrusted;
use thiserror::Error;

/// How a file begins that gzip compressed.
const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Octets that are read at a time.
const BUFFER: usize = 256 << 10;
/// What a file may unpack to at the most, and so many times its own size, once it is more than the last.
const MOST: u64 = 8 << 30;
const TIMES: u64 = 300;
const SMALL: u64 = 64 << 20;

/// Why a compressed file is not read to its end: `WHY; what to do`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Refusal(String);

impl Refusal {
    /// The refusal that an error of reading comes from, if it comes from one.
    pub fn from_error(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

/// A file that is read, unpacked where it is compressed. What is wrong with a compressed one is an [`io::Error`] that holds a
/// [`Refusal`].
#[derive(Debug)]
pub struct Source {
    inner: Inner,
    refusal: Option<Refusal>,
}

#[derive(Debug)]
enum Inner {
    Plain(BufReader<File>),
    Packed { decoder: Box<MultiGzDecoder<CountingReader<BufReader<File>>>>, unpacked: u64 },
}

impl Source {
    /// Opens a file.
    ///
    /// # Errors
    /// Of the system.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(BUFFER, untrusted::open_input(path)?);
        let inner = if file.fill_buf()?.starts_with(&MAGIC) {
            let decoder = Box::new(MultiGzDecoder::new(CountingReader { inner: file, taken: 0 }));
            Inner::Packed { decoder, unpacked: 0 }
        } else {
            Inner::Plain(file)
        };
        Ok(Self { inner, refusal: None })
    }

    /// Why it was not read to its end, where that is because of how it is compressed.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (decoder, unpacked) = match &mut self.inner {
            Inner::Plain(file) => return file.read(buffer),
            Inner::Packed { decoder, unpacked } => (decoder, unpacked),
        };
        let why = match decoder.read(buffer) {
            Ok(read) => {
                *unpacked += read as u64;
                match too_much(*unpacked, decoder.get_ref().taken) {
                    None => return Ok(read),
                    Some(why) => why,
                }
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                "it is compressed by gzip and cut off; copy it again, or have it written to its end"
                    .to_owned()
            }
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) =>
            {
                format!("it is compressed by gzip and damaged ({error}); copy it again")
            }
            Err(error) => return Err(error),
        };
        let refusal = Refusal(why);
        self.refusal = Some(refusal.clone());
        Err(io::Error::other(refusal))
    }
}

/// Why so much is no longer unpacked of so many octets that were read, if it is too much.
fn too_much(unpacked: u64, taken: u64) -> Option<String> {
    let most = taken.saturating_mul(TIMES).clamp(SMALL, MOST);
    (unpacked > most).then(|| {
        let bound = if most < MOST { format!("{TIMES} times its size") } else { format!("{} GiB", MOST >> 30) };
        format!("it is compressed by gzip and unpacks to more than {bound}; unpack it with gunzip if it is to be trusted")
    })
}

/// A reader that knows how much was taken from it.
#[derive(Debug)]
struct CountingReader<R> {
    inner: R,
    taken: u64,
}

impl<R: BufRead> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.taken += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for CountingReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, octets: usize) {
        self.taken += octets as u64;
        self.inner.consume(octets);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(octets: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(octets).unwrap();
        encoder.finish().unwrap()
    }

    fn file(octets: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(octets).unwrap();
        file
    }

    fn read(octets: &[u8]) -> Result<Vec<u8>, String> {
        let file = file(octets);
        let mut source = Source::open(file.path()).unwrap();
        let mut all = Vec::new();
        match source.read_to_end(&mut all) {
            Ok(_) => Ok(all),
            Err(error) => {
                assert_eq!(source.refusal(), Refusal::from_error(&error));
                Err(Refusal::from_error(&error).unwrap().to_string())
            }
        }
    }

    #[test]
    fn a_file_is_read_as_it_is_or_unpacked_and_in_its_parts() {
        let text: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
        assert_eq!(read(&text).unwrap(), text);
        assert_eq!(read(&packed(&text)).unwrap(), text);
        assert_eq!(read(&[packed(b"one,"), packed(b"two")].concat()).unwrap(), b"one,two");
        assert_eq!(read(&packed(b"")).unwrap(), b"");
        assert_eq!(read(b"").unwrap(), b"");
        assert_eq!(read(&MAGIC[..1]).unwrap(), &MAGIC[..1]);
    }

    #[test]
    fn what_is_cut_off_or_damaged_is_refused_in_words() {
        let whole = packed(&(0..9_000u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
        for length in [2, 9, 40, whole.len() - 9, whole.len() - 1] {
            assert!(read(&whole[..length]).unwrap_err().contains("cut off"), "{length}");
        }
        let mut damaged = whole.clone();
        let checksum = damaged.len() - 6;
        damaged[checksum] ^= 1;
        assert!(read(&damaged).unwrap_err().contains("damaged"));
        assert!(read(&[whole, b"and what is no gzip".to_vec()].concat()).unwrap_err().contains("damaged"));
    }

    #[test]
    fn a_bomb_is_refused_before_it_fills_the_memory() {
        assert!(too_much(SMALL, 1).is_none() && too_much(SMALL + 1, 1).is_some());
        assert!(too_much(1 << 30, 4 << 20).is_none() && too_much(1 << 30, 3 << 20).is_some());
        assert!(too_much(MOST, u64::MAX).is_none() && too_much(MOST + 1, u64::MAX).is_some());
        let octets = usize::try_from(SMALL).unwrap() + 1;
        assert!(read(&packed(&vec![b' '; octets])).unwrap_err().contains("more than 300 times"));
    }
}
