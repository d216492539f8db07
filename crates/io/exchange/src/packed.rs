//! Files as they are, or, of those that gzip compressed, what they hold.
//!
//! Whether a file is compressed its first octets say, and not its name. What it unpacks to is bounded: a small file of octets
//! that repeat may hold a thousand times its size, which no packet log does, and which would fill the memory. So are the records in
//! it, which take more memory than their octets: to its size where it is compressed, and to the memory of this host in any case.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use romer_store::{memory, untrusted};
use thiserror::Error;

/// How a file begins that gzip compressed.
const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Octets that are read at a time.
const BUFFER: usize = 256 << 10;
/// What a file may unpack to at the most, and so many times its own size, once it is more than the last.
const MAX_UNPACKED_OCTETS: u64 = 8 << 30;
const TIMES: u64 = 300;
const SMALL: u64 = 4 << 20;
/// Records that a compressed file may have however small it is, beside one for each of its octets: records differ in their numbers,
/// which takes more.
const ALWAYS: u64 = 1 << 16;

/// By what the records of a file are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// Each is a line.
    Lines,
    /// Each has two JSON objects or more.
    Objects,
    /// Whoever reads them counts them ([`Source::budget`]).
    Uncounted,
}

impl Records {
    /// How many records begin at the most where these octets are counted.
    fn value(self, count: &Count) -> u64 {
        match self {
            Self::Lines => count.feeds.max(count.returns),
            Self::Objects => count.braces / 2,
            Self::Uncounted => 0,
        }
    }
}

/// Octets of a text that begin or end records.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    feeds: u64,
    returns: u64,
    braces: u64,
}

impl Count {
    fn add(&mut self, records: Records, octets: &[u8]) {
        let count = |wanted: u8| octets.iter().filter(|octet| **octet == wanted).count() as u64;
        match records {
            Records::Lines => {
                self.feeds += count(b'\n');
                self.returns += count(b'\r');
            }
            Records::Objects => self.braces += count(b'{'),
            Records::Uncounted => {}
        }
    }
}

/// Why a file is not read to its end, though it could be: `WHY; what to do`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Refusal(String);

impl Refusal {
    /// The refusal that an error of reading comes from, if it comes from one.
    pub fn from_error(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

/// How many records of a file may be taken into memory: those that this host has memory for, and of a compressed file no more than it
/// has octets, but for 65,536.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Octets of memory that this host had, where that is known.
    available: Option<u64>,
    /// Octets that were taken from a compressed file.
    taken: Option<Arc<AtomicU64>>,
}

impl Budget {
    /// Whether there may be so many.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub fn admit(&self, records: u64) -> Result<(), String> {
        let available = self.available.unwrap_or(u64::MAX);
        if records.saturating_mul(memory::OF_A_ROW) > available {
            let megabytes = available / 1_000_000;
            return Err(format!(
                "its packets do not fit into the memory that this host has ({megabytes} MB); free memory, or use a host with more"
            ));
        }
        let taken = self.taken.as_ref().map_or(u64::MAX, |taken| taken.load(Ordering::Relaxed));
        if records > taken.saturating_add(ALWAYS) {
            return Err("it is compressed by gzip and holds more packets than bytes; unpack it with gunzip if it is to be trusted".into());
        }
        Ok(())
    }
}

/// A file that is read, unpacked where it is compressed. What is wrong with a compressed one, and with one that holds too much, is
/// an [`io::Error`] that holds a [`Refusal`].
#[derive(Debug)]
pub struct Source {
    inner: Inner,
    records: Records,
    count: Count,
    budget: Budget,
    refusal: Option<Refusal>,
}

#[derive(Debug)]
enum Inner {
    Plain(BufReader<File>),
    Packed { decoder: Box<MultiGzDecoder<CountingReader<BufReader<File>>>>, unpacked: u64 },
}

impl Source {
    /// Opens a file with such records.
    ///
    /// # Errors
    /// Of the system.
    pub fn open(path: &Path, records: Records) -> io::Result<Self> {
        Self::open_within(path, records, memory::available())
    }

    /// The same on a host that has so much memory.
    fn open_within(path: &Path, records: Records, available: Option<u64>) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(BUFFER, untrusted::open_input(path)?);
        let is_packed = file.fill_buf()?.starts_with(&MAGIC);
        let taken = is_packed.then(Arc::default);
        let inner = match &taken {
            Some(taken) => {
                let counted = CountingReader { inner: file, taken: Arc::clone(taken) };
                Inner::Packed { decoder: Box::new(MultiGzDecoder::new(counted)), unpacked: 0 }
            }
            None => Inner::Plain(file),
        };
        let budget = Budget { available, taken };
        Ok(Self { inner, records, count: Count::default(), budget, refusal: None })
    }

    /// How many records may be taken from it, for who counts them.
    pub fn budget(&self) -> Budget {
        self.budget.clone()
    }

    /// Why it was not read to its end, where that is because of how it is compressed or what it holds.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }
}

impl Source {
    /// Reads some octets, or says why no more are read.
    fn take(&mut self, buffer: &mut [u8]) -> io::Result<Result<usize, String>> {
        let (decoder, unpacked) = match &mut self.inner {
            Inner::Plain(file) => return file.read(buffer).map(Ok),
            Inner::Packed { decoder, unpacked } => (decoder, unpacked),
        };
        let why = match decoder.read(buffer) {
            Ok(read) => {
                *unpacked += read as u64;
                match too_much(*unpacked, decoder.get_ref().taken.load(Ordering::Relaxed)) {
                    None => return Ok(Ok(read)),
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
        Ok(Err(why))
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let why = match self.take(buffer)? {
            Ok(read) => {
                self.count.add(self.records, &buffer[..read]);
                match self.budget.admit(self.records.value(&self.count)) {
                    Ok(()) => return Ok(read),
                    Err(why) => why,
                }
            }
            Err(why) => why,
        };
        let refusal = Refusal(why);
        self.refusal = Some(refusal.clone());
        Err(io::Error::other(refusal))
    }
}

/// Why so much is no longer unpacked of so many octets that were read, if it is too much.
fn too_much(unpacked: u64, taken: u64) -> Option<String> {
    let most = taken.saturating_mul(TIMES).clamp(SMALL, MAX_UNPACKED_OCTETS);
    (unpacked > most).then(|| {
        let bound = if most < MAX_UNPACKED_OCTETS { format!("{TIMES} times its size") } else { format!("{} GiB", MAX_UNPACKED_OCTETS >> 30) };
        format!("it is compressed by gzip and unpacks to more than {bound}; unpack it with gunzip if it is to be trusted")
    })
}

/// A reader that knows how much was taken from it.
#[derive(Debug)]
struct CountingReader<R> {
    inner: R,
    taken: Arc<AtomicU64>,
}

impl<R: BufRead> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.taken.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for CountingReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, octets: usize) {
        self.taken.fetch_add(octets as u64, Ordering::Relaxed);
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
        let mut source = Source::open(file.path(), Records::Uncounted).unwrap();
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
        assert!(
            too_much(MAX_UNPACKED_OCTETS, u64::MAX).is_none()
                && too_much(MAX_UNPACKED_OCTETS + 1, u64::MAX).is_some()
        );
        let octets = usize::try_from(SMALL).unwrap() + 1;
        assert!(read(&packed(&vec![b' '; octets])).unwrap_err().contains("more than 300 times"));
    }

    /// Reads a file with such records to its end, on a host with so much memory.
    fn read_records(octets: &[u8], records: Records, available: u64) -> Result<u64, String> {
        let file = file(octets);
        let mut source = Source::open_within(file.path(), records, Some(available)).unwrap();
        let read = io::copy(&mut source, &mut io::sink());
        read.map_err(|error| Refusal::from_error(&error).unwrap().to_string())
    }

    /// A compressed file has no more records than octets, but for some thousand: lines that repeat are refused, however they end, and
    /// packets that differ are read.
    #[test]
    fn packed_records_are_bounded() {
        const PACKETS: u64 = 200_000;
        for (record, records) in [
            ("5,9,1,2,3,4\n", Records::Lines),
            ("5,9,1,2,3,4\r\n", Records::Lines),
            ("5,9,1,2,3,4\r", Records::Lines),
            ("{\"a\":{}},", Records::Objects),
        ] {
            let of = |number: u64| packed(record.repeat(usize::try_from(number).unwrap()).as_bytes());
            let refused = read_records(&of(PACKETS), records, u64::MAX).unwrap_err();
            assert!(refused.contains("more packets than bytes"), "{record:?}: {refused}");
            assert!(read_records(&of(ALWAYS), records, u64::MAX).is_ok(), "{record:?}");
        }
        // The most alike that there are: of a periodic stream, none of whose packets arrives.
        let line = |n: u64| format!("{n},44,{},,,\n", 1_700_000_000_000_000_000 + n * 20_000_000);
        let text: String = (0..PACKETS).map(line).collect();
        assert!(read_records(&packed(text.as_bytes()), Records::Lines, u64::MAX).is_ok());
    }

    /// No more records are taken in than fit into the memory that the host has, whether the file is compressed or not.
    #[test]
    fn records_fit_into_memory() {
        let text = "5,9,1,2,3,4\n".repeat(50_000);
        for octets in [text.clone().into_bytes(), packed(text.as_bytes())] {
            let needed = 50_000 * memory::OF_A_ROW;
            assert!(read_records(&octets, Records::Lines, needed).is_ok());
            let refused = read_records(&octets, Records::Lines, needed - 1).unwrap_err();
            assert!(refused.contains("do not fit into the memory that this host has (31 MB)"), "{refused}");
        }
    }
}
