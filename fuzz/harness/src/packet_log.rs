//! The packet log as a run's folder holds it.

use std::io;
use std::path::Path;

use romer_store::{LogFrame, LogReader, LogWriter, Sink};

use crate::log_entries::examples;
use crate::{Seed, assert_message};

/// The longest message of a refusal.
const LONGEST_MESSAGE: usize = 1_000;

/// The shortest entry: tag, stream, sequence, time.
const MIN_ENTRY_OCTETS: u64 = 19;

pub(crate) fn run(octets: &[u8]) {
    let length = octets.len() as u64;
    let Some((frames, good)) = read(octets) else { return };
    assert!(good <= length);
    let entries: u64 = frames
        .iter()
        .map(|frame| match frame {
            LogFrame::Entries(entries) => entries.len() as u64,
            LogFrame::Lost(_) => 0,
        })
        .sum();
    assert!(entries * MIN_ENTRY_OCTETS <= length, "more entries than octets for them");
    // What is good stays good, whatever is behind it.
    let whole = usize::try_from(good).expect("no longer than the input");
    assert_eq!(read(&octets[..whole]).map(|(frames, _)| frames), Some(frames.clone()));
    let longer = [&octets[..whole], &[0; 64]].concat();
    if whole > 0 {
        assert_eq!(read(&longer), Some((frames, good)));
    }
}

/// The frames, and how many octets hold them; `None` where it is no log, or has times that cannot be.
fn read(octets: &[u8]) -> Option<(Vec<LogFrame>, u64)> {
    let mut reader = match LogReader::new(octets, Path::new("packets.log")) {
        Ok(reader) => reader,
        Err(error) => {
            assert_message(&error, LONGEST_MESSAGE);
            return None;
        }
    };
    let mut frames = Vec::new();
    loop {
        match reader.next_frame() {
            Ok(Some(frame)) => frames.push(frame),
            Ok(None) => break,
            // A time that cannot be.
            Err(error) => {
                assert_message(&error, LONGEST_MESSAGE);
                return None;
            }
        }
    }
    assert_eq!(reader.next_frame().expect("memory can be read"), None, "the end is the end");
    Some((frames, reader.good_octets()))
}

/// A disk of so many octets.
struct Disk {
    octets: Vec<u8>,
    room: usize,
}

impl Sink for &mut Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room - self.octets.len());
        if taken == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.octets.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.octets.truncate(usize::try_from(length).expect("what was written"));
        Ok(())
    }
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A log of `frames` frames on a disk of `room` octets that has room again in the end.
fn log(frames: usize, room: usize) -> Vec<u8> {
    let mut disk = Disk { octets: Vec::new(), room };
    let mut writer = LogWriter::begin(&mut disk, 4).expect("there is room for the header");
    for _ in 0..frames {
        examples().iter().for_each(|(_, entry)| {
            writer.append(3, entry);
        });
        writer.flush();
    }
    drop(writer);
    disk.octets
}

pub(crate) fn seeds() -> Vec<Seed> {
    let two = log(2, 1 << 20);
    let with = |at: usize, octet: u8| {
        let mut other = two.clone();
        other[at] = octet;
        other
    };
    vec![
        Seed::new("empty", []),
        Seed::new("only_its_name", &two[..8]),
        Seed::new("header", log(0, 1 << 20)),
        Seed::new("one_frame", log(1, 1 << 20)),
        Seed::new("two_frames", two.clone()),
        Seed::new("full_disk", log(9, 1_000)),
        Seed::new("cut_in_a_head", &two[..20]),
        Seed::new("cut_in_a_frame", &two[..two.len() - 5]),
        Seed::new("zeros_behind", [two.clone(), vec![0; 40]].concat()),
        Seed::new("another_name", with(0, b'R')),
        Seed::new("later_version", with(8, 9)),
        Seed::new("damaged_header", with(13, 0xaa)),
        Seed::new("longest_frame", with(18, 0x10)),
        Seed::new("length_with_its_highest_bit", with(19, 0x80)),
        Seed::new("damaged_entry", with(60, 0x55)),
    ]
}
