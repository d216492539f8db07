//! The packets of a run as Parquet, whose checksum is made right again, so that what stands behind it is reached.

use std::collections::BTreeMap;
use std::fs;

use romer_record::RoundTrip;
use romer_store::{read_rows, write_rows};
use romer_units::Timestamp;

use crate::scratch::with_file;
use crate::{Seed, assert_message};

/// The longest message of a refusal.
const LONGEST_MESSAGE: usize = 2_000;
/// What stands before the footer: the checksum's name and the checksum.
const GUARD: &[u8] = b"romercrc";
/// The footer's length and the file's name for itself.
const TAIL: usize = 8;
/// Rows that an octet of the file may stand for: runs of equal values are short.
const ROWS_OF_AN_OCTET: usize = 1 << 10;

pub(crate) fn run(octets: &[u8]) {
    with_file("packets.parquet", &sealed(octets.to_vec()), |path| match read_rows(path) {
        Ok(streams) => {
            let rows: usize = streams.values().map(Vec::len).sum();
            assert!(rows <= octets.len() * ROWS_OF_AN_OCTET, "{rows} rows of {} octets", octets.len());
        }
        Err(error) => assert_message(&error, LONGEST_MESSAGE),
    });
}

/// The file with a checksum that fits, where it has one at its place.
fn sealed(mut octets: Vec<u8>) -> Vec<u8> {
    let Some(place) = guard(&octets) else { return octets };
    let mut sum = crc32fast::Hasher::new();
    sum.update(&octets[..place]);
    sum.update(&octets[place + GUARD.len() + 4..]);
    let sum = sum.finalize().to_le_bytes();
    octets[place + GUARD.len()..][..4].copy_from_slice(&sum);
    octets
}

/// Where the checksum begins.
fn guard(octets: &[u8]) -> Option<usize> {
    let tail = octets.len().checked_sub(TAIL)?;
    let footer = u32::from_le_bytes(octets[tail..][..4].try_into().ok()?);
    let place = tail.checked_sub(usize::try_from(footer).ok()?)?.checked_sub(GUARD.len() + 4)?;
    octets[place..].starts_with(GUARD).then_some(place)
}

/// A file of so many probes in each of so many streams.
fn file(streams: u16, probes: u64) -> Vec<u8> {
    let row = |sequence: u64| {
        let nanos = i64::try_from(sequence).expect("a few probes") * 20_000_000;
        let mut row = RoundTrip { sequence, size: 44, ..RoundTrip::default() };
        row.t1.kernel = Some(Timestamp::from_nanos(nanos));
        row.t4.kernel = Some(Timestamp::from_nanos(nanos + 1_000_000));
        row
    };
    let rows: BTreeMap<u16, Vec<RoundTrip>> =
        (0..streams).map(|stream| (stream, (0..probes).map(row).collect())).collect();
    let folder = tempfile::tempdir().expect("a folder for the file");
    let path = folder.path().join("packets.parquet");
    write_rows(&path, &rows, &()).expect("rows can be written");
    fs::read(&path).expect("what was written")
}

pub(crate) fn seeds() -> Vec<Seed> {
    let one = file(1, 3);
    let with = |at: usize, octet: u8| {
        let mut other = one.clone();
        let at = at.min(other.len() - 1);
        other[at] = octet;
        other
    };
    let end = one.len();
    vec![
        Seed::new("empty", []),
        Seed::new("only_its_name", *b"PAR1PAR1"),
        Seed::new("one_stream", one.clone()),
        Seed::new("two_streams", file(2, 2)),
        Seed::new("no_rows", file(1, 0)),
        Seed::new("cut", &one[..end / 2]),
        Seed::new("footer_longer_than_the_file", with(end - 6, 0x7f)),
        Seed::new("footer_of_nothing", with(end - 8, 0)),
        Seed::new("damaged_page", with(40, 0xff)),
        Seed::new("damaged_footer", with(end - 100, 0xff)),
        Seed::new("without_guard", [&one[..4], b"PAR1"].concat()),
    ]
}
