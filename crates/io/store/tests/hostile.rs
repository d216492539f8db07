//! Runs that somebody made to harm their reader: links, pipes, and files that contradict themselves.
#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use common::{manifest, row, sent};
use proptest::prelude::*;
use romer_record::Exit;
use romer_record::event::{ClockStep, Event, EventKind, EventLocation};
use romer_record::log::Entry;
use romer_record::manifest::{MOST_STREAMS, Manifest, Status};
use romer_record::{RoundTrip, Stamps};
use romer_store::{
    BenchmarkRun, Finished, Location, NewRun, Run, Runs, State, read_rows, recover, write_rows,
};
use romer_units::Timestamp;

/// CRC-32 (IEEE 802.3).
fn crc32(octets: &[u8]) -> u32 {
    !octets.iter().fold(u32::MAX, |crc, octet| {
        (0..8).fold(crc ^ u32::from(*octet), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

/// Puts the checksum right in a Parquet file of romer's, as whoever changes it on purpose would do.
fn sealed(mut octets: Vec<u8>) -> Vec<u8> {
    let tail = octets.len() - 8;
    let footer = u32::from_le_bytes(octets[tail..tail + 4].try_into().unwrap()) as usize;
    let Some(guard) = tail.checked_sub(footer).and_then(|footer| footer.checked_sub(12)) else {
        return octets;
    };
    let crc = crc32(&[&octets[..guard], &octets[guard + 12..]].concat());
    octets[guard + 8..guard + 12].copy_from_slice(&crc.to_le_bytes());
    octets
}

fn killed_run(home: &Path) -> std::path::PathBuf {
    let location = Location::Folder { path: home.join("run"), force: false };
    let mut run = NewRun::create(&location, manifest(1)).unwrap();
    let mut log = run.log_writer().unwrap();
    assert!(log.append(0, &sent(0)));
    drop(log);
    run.folder().to_path_buf()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever is changed in a file whose checksum is right again, it is read or refused: no panic, and no memory for what a page
    /// or the metadata says that it holds.
    #[test]
    fn changed_files_are_read_or_refused(
        rows in prop::collection::vec(row(), 1..40),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let file = tempfile::NamedTempFile::new().unwrap();
        write_rows(file.path(), &BTreeMap::from([(0, rows)]), &()).unwrap();
        let mut octets = fs::read(file.path()).unwrap();
        let end = octets.len() - 8;
        for (place, octet) in changes {
            octets[place.index(end)] = octet;
        }
        fs::write(file.path(), sealed(octets)).unwrap();
        if let Err(error) = read_rows(file.path()) {
            prop_assert_eq!(error.exit(), Exit::BadData, "{}", error);
        }
    }
}

/// Rows that say nothing take the fewest octets. The writer's are read, however many they are.
#[test]
fn rows_without_stamps_are_read() {
    let row = |sequence| RoundTrip { sequence, size: 44, not_sent: true, ..RoundTrip::default() };
    let file = tempfile::NamedTempFile::new().unwrap();
    for count in [1_000_u64, 600_000] {
        let streams = BTreeMap::from([(0, (0..count).map(row).collect::<Vec<_>>())]);
        write_rows(file.path(), &streams, &()).unwrap();
        eprintln!("{count} rows, {} octets", fs::metadata(file.path()).unwrap().len());
        assert_eq!(read_rows(file.path()).unwrap()[&0].len() as u64, count);
    }
}

/// What a killed run's folder has under the names that its completion writes to is not followed.
#[test]
fn completing_follows_no_link() {
    let home = tempfile::tempdir().unwrap();
    let folder = killed_run(home.path());
    let victim = home.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    for name in ["packets.parquet", "measurement.json.gz", "report.html", "manifest.json"] {
        symlink(&victim, folder.join(format!("{name}.unfinished"))).unwrap();
    }
    let run = Run::open(&folder).unwrap();
    let rows = run.rows().unwrap().streams;
    let end = Finished {
        status: Status::Recovered,
        rows: &rows,
        measurements: &[],
        outcomes: &(),
        html: Some("<!doctype html>"),
    };
    let run = run.resume().unwrap().finish(&end).unwrap();
    assert_eq!(run.state(), State::Recovered);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(run.rows().unwrap().streams, rows);
}

/// A link, a pipe or a device in a run's folder is an error at once, whichever file it stands for.
#[test]
fn what_is_no_file_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let outside = home.path().join("outside");
    fs::write(&outside, "a secret of the system").unwrap();
    for name in ["manifest.json", "packets.log", "packets.parquet", "measurement.json.gz", "report.html"] {
        for kind in ["pipe", "link", "endless"] {
            let folder = killed_run(&home.path().join(format!("{name}-{kind}")));
            let path = folder.join(name);
            let _ = fs::remove_file(&path);
            match kind {
                "pipe" => assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
                "link" => symlink(&outside, &path).unwrap(),
                _ => symlink("/dev/zero", &path).unwrap(),
            }
            let refusal = match Run::open(&folder) {
                Err(error) => Some(error),
                Ok(run) => match name {
                    "measurement.json.gz" => run.measurements().err(),
                    "report.html" => run.report().err(),
                    _ => run.rows().err(),
                },
            };
            let refusal = refusal.unwrap_or_else(|| panic!("{name} {kind}")).to_string();
            assert!(refusal.contains(name) && refusal.contains("it is "), "{refusal}");
        }
    }
    // The list of runs goes on past such a folder.
    let runs = Runs::at(home.path().join("manifest.json-pipe"));
    assert!(runs.list().unwrap().iter().all(|listed| listed.run.is_err()));
    let folder = home.path().join("benchmark");
    fs::create_dir(&folder).unwrap();
    assert!(Command::new("mkfifo").arg(folder.join("plan.json")).status().unwrap().success());
    assert!(BenchmarkRun::plan(&folder).is_err());
}

/// A manifest with more streams than a run may have is refused with the limit.
#[test]
fn streams_are_bounded() {
    let home = tempfile::tempdir().unwrap();
    let folder = killed_run(home.path());
    for (streams, is_read) in [(MOST_STREAMS, true), (MOST_STREAMS + 1, false)] {
        let manifest = serde_json::to_string(&manifest(streams)).unwrap();
        fs::write(folder.join("manifest.json"), manifest).unwrap();
        let read = Run::open(&folder);
        assert_eq!(read.is_ok(), is_read, "{streams}");
        assert!(
            read.err().is_none_or(|error| error.to_string().contains("at most 1024, and this one has 1025"))
        );
    }
}

/// Times that cannot be are refused with their place, in the manifest, the packet log and the finished log alike.
#[test]
fn impossible_times_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let folder = killed_run(home.path());
    let manifest = folder.join("manifest.json");
    let usual = fs::read_to_string(&manifest).unwrap();
    let step = ClockStep { size_ns: i64::MIN, size_interval_ns: None, before_ns: 1, after_ns: 2 };
    let event =
        Event { step: Some(step), ..Event::new(EventKind::ClockStep, EventLocation::Responder, 1, 2) };
    let mut changed: Manifest = serde_json::from_str(&usual).unwrap();
    changed.streams[0].events = vec![event];
    fs::write(&manifest, serde_json::to_string(&changed).unwrap()).unwrap();
    let refused = Run::open(&folder).unwrap_err().to_string();
    assert!(refused.contains("streams[0].events") && refused.contains("1957 to 2102"), "{refused}");

    let location = Location::Folder { path: home.path().join("other"), force: false };
    let mut run = NewRun::create(&location, common::manifest(1)).unwrap();
    // One that is written all the same is left out.
    let own = Event::new(EventKind::LinkUp, EventLocation::Sender, 1, 2);
    run.update_manifest(|manifest| {
        manifest.streams[0].events = vec![changed.streams[0].events[0].clone(), own.clone()];
    })
    .unwrap();
    assert_eq!(Run::open(run.folder()).unwrap().manifest().streams[0].events, [own]);
    let mut log = run.log_writer().unwrap();
    assert!(log.append(0, &sent(0)));
    assert!(log.append(0, &Entry::SentStamp { sequence: 0, kernel_ns: i64::MIN }));
    log.flush();
    drop(log);
    let refused = recover(&run.folder().join("packets.log")).unwrap_err().to_string();
    assert!(refused.contains("frame at byte ") && refused.contains("1957 to 2102"), "{refused}");

    let rows = home.path().join("packets.parquet");
    let t2 = Stamps { user: Some(Timestamp::from_nanos(i64::MIN)), ..Stamps::default() };
    write_rows(&rows, &BTreeMap::from([(0, vec![RoundTrip { t2, ..RoundTrip::default() }])]), &()).unwrap();
    let refused = read_rows(&rows).unwrap_err().to_string();
    assert!(refused.contains("column t2_user_ns, row group 0, row 0"), "{refused}");
}
