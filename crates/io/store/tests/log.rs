//! The packet log keeps what it acknowledged, whatever the disk does and however the file was damaged.
#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

mod common;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::rc::Rc;

use common::{entry, sent};
use proptest::prelude::*;
use romer_record::Exit;
use romer_record::log::Entry;
use romer_record::manifest::{EntryKind, NotLogged};
use romer_store::{LogFile, LogFrame, LogReader, LogThread, LogWriter, Sink, StoreError, recover};

/// A disk in memory that does as the script says for its first writes, and well afterwards.
#[derive(Clone, Default)]
struct Disk {
    bytes: Rc<RefCell<Vec<u8>>>,
    script: Rc<RefCell<Vec<Fault>>>,
    cannot_cut: bool,
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    /// Takes only so many octets.
    Short(usize),
    Interrupted,
    Full,
    /// Takes so many octets, and has no room for the rest.
    FullAfter(usize),
}

impl Sink for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fault = {
            let mut script = self.script.borrow_mut();
            if script.is_empty() { Fault::None } else { script.remove(0) }
        };
        let taken = match fault {
            Fault::None => bytes.len(),
            Fault::Short(count) => count.clamp(1, bytes.len()),
            Fault::Interrupted => return Err(io::ErrorKind::Interrupted.into()),
            Fault::Full => return Err(io::ErrorKind::StorageFull.into()),
            Fault::FullAfter(count) => {
                self.script.borrow_mut().insert(0, Fault::Full);
                count.clamp(1, bytes.len())
            }
        };
        self.bytes.borrow_mut().extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }
    fn cut(&mut self, length: u64) -> io::Result<()> {
        if self.cannot_cut {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        self.bytes.borrow_mut().truncate(usize::try_from(length).unwrap());
        Ok(())
    }
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        3 => Just(Fault::None),
        2 => (1usize..80).prop_map(Fault::Short),
        1 => Just(Fault::Interrupted),
        1 => Just(Fault::Full),
        1 => (1usize..80).prop_map(Fault::FullAfter),
    ]
}

/// The entries of a log in memory and its count of lost ones; `None` where it is refused as a whole.
fn read(bytes: &[u8]) -> Option<(Vec<(u16, Entry)>, u64)> {
    let mut reader = LogReader::new(bytes, Path::new("memory")).ok()?;
    let (mut entries, mut lost) = (Vec::new(), 0);
    while let Some(frame) = reader.next_frame().unwrap() {
        match frame {
            LogFrame::Entries(more) => entries.extend(more),
            LogFrame::Lost(count) => lost = count,
        }
    }
    Some((entries, lost))
}

/// A log with a frame for each group, and where each frame ends.
fn write(groups: &[Vec<(u16, Entry)>]) -> (Vec<u8>, Vec<usize>) {
    let disk = Disk::default();
    let bytes = Rc::clone(&disk.bytes);
    let mut writer = LogWriter::begin(disk, 4).unwrap();
    let mut ends = Vec::new();
    for group in groups {
        for (stream, entry) in group {
            writer.append(*stream, entry);
        }
        writer.flush();
        ends.push(bytes.borrow().len());
    }
    drop(writer);
    (Rc::try_unwrap(bytes).unwrap().into_inner(), ends)
}

fn groups(frames: usize) -> impl Strategy<Value = Vec<Vec<(u16, Entry)>>> {
    prop::collection::vec(prop::collection::vec((0u16..4, entry()), 1..6), 1..frames)
}

fn before(groups: &[Vec<(u16, Entry)>], ends: &[usize], byte: usize) -> Vec<(u16, Entry)> {
    groups
        .iter()
        .zip(ends)
        .take_while(|(_, end)| **end <= byte)
        .flat_map(|(group, _)| group.clone())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_log_cut_at_any_byte_gives_every_whole_frame_and_nothing_else(groups in groups(5)) {
        let (bytes, ends) = write(&groups);
        for cut in 0..=bytes.len() {
            let (entries, lost) = read(&bytes[..cut]).unwrap();
            prop_assert_eq!(entries, before(&groups, &ends, cut));
            prop_assert_eq!(lost, 0);
        }
    }

    #[test]
    fn a_log_that_grows_is_followed_to_its_end_wherever_it_stood(groups in groups(5), cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..5)) {
        let (bytes, ends) = write(&groups);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.push(bytes.len());
        cuts.sort_unstable();
        let file = tempfile::NamedTempFile::new().unwrap();
        let (mut reader, mut found) = (None, Vec::new());
        for cut in cuts {
            std::fs::write(file.path(), &bytes[..cut]).unwrap();
            let mut following = match reader.take() {
                Some(reader) => reader,
                None => LogReader::open(file.path()).unwrap(),
            };
            following.go_on().unwrap();
            while let Some(frame) = following.next_frame().unwrap() {
                if let LogFrame::Entries(more) = frame {
                    found.extend(more);
                }
            }
            prop_assert_eq!(&found, &before(&groups, &ends, cut));
            // A log that is cut in its header is opened anew.
            reader = (following.good_octets() > 0).then_some(following);
        }
    }

    #[test]
    fn any_flipped_bit_costs_its_own_frame_and_what_follows_and_makes_no_false_entry(groups in groups(4)) {
        let (bytes, ends) = write(&groups);
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            match read(&damaged) {
                None => prop_assert!(bit / 8 < 16, "only a damaged header refuses the whole"),
                Some((entries, _)) => prop_assert_eq!(entries, before(&groups, &ends, bit / 8)),
            }
        }
    }

    #[test]
    fn zeros_or_noise_after_the_end_add_nothing(groups in groups(4), noise in prop::collection::vec(any::<u8>(), 0..200)) {
        let (mut bytes, _) = write(&groups);
        let all: Vec<_> = groups.concat();
        let length = bytes.len();
        bytes.extend(std::iter::repeat_n(0, 5000));
        prop_assert_eq!(&read(&bytes).unwrap().0, &all);
        bytes.truncate(length);
        bytes.extend(noise);
        prop_assert_eq!(&read(&bytes).unwrap().0, &all);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes);
        let mut headed = write(&[]).0;
        headed.extend(bytes);
        let _ = read(&headed);
    }

    #[test]
    fn whatever_the_disk_does_the_log_holds_what_was_acknowledged_and_the_rest_is_counted(
        groups in groups(12), script in prop::collection::vec(fault(), 0..40), cannot_cut in any::<bool>(),
    ) {
        let disk = Disk { cannot_cut, ..Disk::default() };
        let (bytes, faults) = (Rc::clone(&disk.bytes), Rc::clone(&disk.script));
        let mut writer = LogWriter::begin(disk, 4).unwrap();
        *faults.borrow_mut() = script;
        let mut acknowledged = 0;
        let mut offered = Vec::new();
        for group in &groups {
            for (stream, entry) in group {
                writer.append(*stream, entry);
                offered.push((*stream, *entry));
            }
            let state = writer.flush();
            prop_assert!(state.entries >= acknowledged, "an acknowledgement is never taken back");
            acknowledged = state.entries;
            prop_assert_eq!(state.entries + state.waiting + state.lost, offered.len() as u64);
            let kept = usize::try_from(acknowledged).unwrap();
            prop_assert_eq!(&read(&bytes.borrow()).unwrap().0, &offered[..kept]);
        }
        let failed = writer.failure().is_some();
        faults.borrow_mut().clear();
        let end = writer.finish();
        prop_assert_eq!(end.state.entries + end.state.lost, offered.len() as u64);
        prop_assert_eq!(end.write_failure.is_some(), failed);
        if !cannot_cut {
            prop_assert_eq!(end.state.lost, 0, "room came back, and everything was written");
        }
    }

    #[test]
    fn every_sent_probe_below_the_mark_is_in_the_log(
        order in prop::collection::vec(0u64..12, 0..30), fails in prop::collection::vec(any::<bool>(), 8),
    ) {
        let disk = Disk::default();
        let (bytes, faults) = (Rc::clone(&disk.bytes), Rc::clone(&disk.script));
        let mut writer = LogWriter::begin(disk, 1).unwrap();
        for (index, sequence) in order.iter().enumerate() {
            writer.append(0, &sent(*sequence));
            if index % 3 == 0 {
                if fails[index / 3 % 8] {
                    faults.borrow_mut().push(Fault::Full);
                }
                writer.flush();
                let kept: Vec<u64> = read(&bytes.borrow()).unwrap().0.iter().map(|(_, e)| e.sequence()).collect();
                prop_assert!((0..writer.durable_sent(0)).all(|sequence| kept.contains(&sequence)));
            }
        }
    }
}

/// A failure at any of the first writes loses no acknowledged entry.
#[test]
fn failed_writes_lose_no_acknowledged_entry() {
    for nth in 0..12 {
        for fault in [Fault::Short(3), Fault::Interrupted, Fault::Full, Fault::FullAfter(11)] {
            let disk = Disk::default();
            let (bytes, faults) = (Rc::clone(&disk.bytes), Rc::clone(&disk.script));
            let mut writer = LogWriter::begin(disk, 1).unwrap();
            *faults.borrow_mut() = std::iter::repeat_n(Fault::None, nth).chain([fault]).collect();
            for sequence in 0..10 {
                writer.append(0, &sent(sequence));
                let state = writer.flush();
                assert_eq!(read(&bytes.borrow()).unwrap().0.len() as u64, state.entries, "{nth} {fault:?}");
            }
            assert_eq!(writer.finish().state.entries, 10, "{nth} {fault:?}");
        }
    }
}

#[test]
fn a_full_disk_bounds_what_waits_and_the_log_says_how_much_was_given_up() {
    let disk = Disk::default();
    let (bytes, faults) = (Rc::clone(&disk.bytes), Rc::clone(&disk.script));
    let mut writer = LogWriter::begin(disk, 1).unwrap();
    *faults.borrow_mut() = vec![Fault::Full; 100_000];
    for sequence in 0..100_000 {
        writer.append(0, &sent(sequence));
    }
    let state = writer.flush();
    assert_eq!(state.entries, 0);
    assert!(state.waiting > 0 && state.lost > 0 && state.waiting + state.lost == 100_000, "{state:?}");
    faults.borrow_mut().clear();
    let state = writer.flush();
    assert_eq!((state.entries + state.lost, state.waiting), (100_000, 0));
    let (entries, lost) = read(&bytes.borrow()).unwrap();
    assert_eq!((entries.len() as u64, lost), (state.entries, state.lost));
    assert_eq!(writer.durable_sent(0), state.entries);
}

#[test]
fn what_a_full_disk_refuses_is_given_back_in_its_order() {
    let disk = Disk::default();
    let (bytes, faults) = (Rc::clone(&disk.bytes), Rc::clone(&disk.script));
    let mut writer = LogWriter::begin(disk, 1).unwrap();
    (0..10).for_each(|sequence| assert!(writer.append(0, &sent(sequence))));
    writer.flush();
    *faults.borrow_mut() = vec![Fault::Full; 200_000];
    (10..100_000).for_each(|sequence| assert!(writer.append(0, &sent(sequence))));
    let end = writer.finish();
    let (kept, _) = read(&bytes.borrow()).unwrap();
    assert_eq!(kept.len(), 10);
    let numbers = kept.iter().chain(&end.not_kept).map(|(_, entry)| entry.sequence());
    assert!(numbers.eq(0..100_000), "kept and given back are everything, once");
}

#[test]
fn a_frame_is_written_by_itself_when_it_has_grown() {
    let disk = Disk::default();
    let bytes = Rc::clone(&disk.bytes);
    let mut writer = LogWriter::begin(disk, 1).unwrap();
    for sequence in 0..2_000 {
        writer.append(0, &sent(sequence));
    }
    let written = bytes.borrow().len();
    assert!((32 << 10..64 << 10).contains(&written), "{written}");
}

#[test]
fn the_thread_keeps_all_that_was_handed_over_by_several_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("packets.log");
    let log = LogThread::start(LogFile::create(&path).unwrap(), 3, 1 << 16).unwrap();
    std::thread::scope(|scope| {
        for stream in 0..3 {
            let sender = log.sender();
            scope.spawn(move || (0..5_000).for_each(|n| assert!(sender.append(stream, &sent(n)))));
        }
    });
    let kept = std::sync::Arc::clone(log.kept());
    let outcome = log.finish();
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!((outcome.offered, outcome.kept), (15_000, 15_000));
    assert_eq!((kept.entries(), kept.sent(0), kept.sent(2), kept.lost()), (15_000, 5_000, 5_000, 0));
    let recovered = recover(&path).unwrap();
    assert_eq!((recovered.entries(), recovered.discarded_octets, recovered.lost_entries), (15_000, 0, 0));
    let numbers: Vec<u64> = recovered.streams[&1].iter().map(Entry::sequence).collect();
    assert_eq!(numbers, (0..5_000).collect::<Vec<_>>(), "in the order of writing");
}

/// A full queue drops entries without blocking, and reports each.
#[test]
fn full_queues_drop_and_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("packets.log");
    let log = LogThread::start(LogFile::create(&path).unwrap(), 1, 4).unwrap();
    let sender = log.sender();
    let taken = (0..100_000).filter(|n| sender.append(0, &sent(*n))).count() as u64;
    assert!(taken < 100_000);
    let outcome = log.finish();
    assert_eq!((outcome.offered, outcome.kept), (100_000, taken));
    assert_eq!(sender.kept().lost(), 100_000 - taken);
    assert!(
        matches!(outcome.error, Some(StoreError::NotKept { entries, source: None, .. }) if entries == 100_000 - taken)
    );
    let recovered = recover(&path).unwrap();
    assert_eq!((recovered.entries(), recovered.lost_entries), (taken, 100_000 - taken));
    assert!(!sender.append(0, &sent(0)), "after the end nothing is taken");
}

#[test]
fn a_dropped_log_still_writes_what_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("packets.log");
    let log = LogThread::start(LogFile::create(&path).unwrap(), 1, 100).unwrap();
    for sequence in 0..50 {
        assert!(log.sender().append(0, &sent(sequence)));
    }
    drop(log);
    assert_eq!(recover(&path).unwrap().entries(), 50);
}

#[test]
fn what_is_no_log_is_refused_with_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.log");
    std::fs::write(&path, b"PAR1 and so on, longer than a header").unwrap();
    let error = recover(&path).unwrap_err();
    assert_eq!(error.exit(), Exit::BadData);
    assert!(error.to_string().contains("byte 0"), "{error}");
    std::fs::write(&path, b"romer").unwrap();
    let recovered = recover(&path).unwrap();
    assert_eq!((recovered.streams, recovered.discarded_octets), (BTreeMap::new(), 5));
    assert!(matches!(recover(Path::new("/nonexistent/x")), Err(StoreError::Io { .. })));
}

#[test]
fn of_entries_that_a_full_queue_gives_up_the_kind_and_the_numbers_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("packets.log");
    let log = LogThread::start(LogFile::create(&path).unwrap(), 2, 1).unwrap();
    let sender = log.sender();
    let came =
        |sequence| Entry::Came { sequence, size: 9, user_ns: 5, kernel_ns: None, ttl: None, tos: None };
    // The thread looks every 25 ms: of so many handed over at once it can take a few at the most.
    let [mut departures, mut arrivals] = [(); 2].map(|()| Vec::new());
    for n in 100..10_100 {
        if !sender.append(1, &sent(n)) {
            departures.push(n);
        }
        if !sender.append(1, &came(n)) {
            arrivals.push(n);
        }
    }
    let kept = std::sync::Arc::clone(log.kept());
    let outcome = log.finish();
    let not_logged = |kind, numbers: &[u64]| NotLogged {
        kind,
        entries: numbers.len() as u64,
        first: numbers[0],
        last: *numbers.last().unwrap(),
    };
    let expected = [not_logged(EntryKind::Departure, &departures), not_logged(EntryKind::Arrival, &arrivals)];
    assert_eq!(kept.given_up(1), expected);
    assert_eq!((kept.given_up(0), kept.given_up(2)), (Vec::new(), Vec::new()));
    assert_eq!(outcome.offered - outcome.kept, (departures.len() + arrivals.len()) as u64);
    assert!(matches!(outcome.error, Some(StoreError::NotKept { .. })));
}
