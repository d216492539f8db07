//! A run's folder: never overwritten unasked, readable however it ended, identical after a round trip.
#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::{manifest, row, sent};
use proptest::prelude::*;
use romer_record::Exit;
use romer_record::manifest::Status;
use romer_record::{RoundTrip, Stamps, assemble};
use romer_store::{
    Finished, Location, NewRun, RowsSource, Run, Runs, State, StoreError, read_rows, write_rows,
};
use romer_units::{Clock, Timestamp};

fn folder(path: &Path, force: bool) -> Location {
    Location::Folder { path: path.into(), force }
}

fn finish(run: NewRun, rows: &BTreeMap<u16, Vec<RoundTrip>>) -> Run {
    run.finish(&Finished {
        status: Status::Complete,
        rows,
        measurements: &[],
        outcomes: &(),
        html: Some("<!doctype html>"),
    })
    .unwrap()
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn write_and_read(streams: &BTreeMap<u16, Vec<RoundTrip>>) -> BTreeMap<u16, Vec<RoundTrip>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    write_rows(file.path(), streams, &()).unwrap();
    read_rows(file.path()).unwrap()
}

fn stamps<C: Clock>(kernel: i64, user: i64, told: Option<i64>) -> Stamps<C> {
    let [kernel, user] = [kernel, user].map(|nanos| Some(Timestamp::from_nanos(nanos)));
    Stamps { nic: None, kernel, user, told: told.map(Timestamp::from_nanos) }
}

/// A minute of round trips, one every 100 ms, between two romers on quiet hosts: threads wake up to 50 µs late, and other delays vary
/// by 5 µs. The generator is that of Knuth (MMIX).
fn minute() -> BTreeMap<u16, Vec<RoundTrip>> {
    let mut state = 1_u64;
    let mut draw = |below: i64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(state >> 33).unwrap() % below
    };
    let rows = (0..600_u32).map(|number| {
        let wake_error = draw(50_000);
        let mut now = 1_796_078_526_155_775_250 + i64::from(number) * 100_000_000 + wake_error;
        let mut next = |least: i64| {
            now += least + draw(5_000);
            now
        };
        let [t1_user, t1, t2, t2_user] = [0, 3_000, 2_000, 30_000].map(&mut next);
        let [t3_told, t3_user, t3, t4, t4_user] = [4_000, 2_000, 4_000, 2_000, 30_000].map(&mut next);
        RoundTrip {
            sequence: number.into(),
            size: 44,
            wake_error_ns: Some(wake_error),
            t1: stamps(t1, t1_user, None),
            t2: stamps(t2, t2_user, Some(t2)),
            t3: stamps(t3, t3_user, Some(t3_told)),
            t4: stamps(t4, t4_user, None),
            forward_ttl: Some(255),
            reverse_ttl: Some(255),
            forward_tos: Some(0),
            reverse_tos: Some(0),
            reply_number: Some(number),
            seen_by_responder: true,
            returned: true,
            ..RoundTrip::default()
        }
    });
    BTreeMap::from([(0, rows.collect())])
}

/// The rows of a minute take at most 21.5 kB. The arrival that replies state is that of the responder's kernel, and is stored again only if
/// one reply differs.
#[test]
fn equal_stamps_are_stored_once() {
    const MOST_OCTETS: u64 = 21_500;
    let octets_of = |rows: &BTreeMap<u16, Vec<RoundTrip>>| {
        let file = tempfile::NamedTempFile::new().unwrap();
        write_rows(file.path(), rows, &()).unwrap();
        assert_eq!(read_rows(file.path()).unwrap(), *rows);
        file.path().metadata().unwrap().len()
    };
    let mut rows = minute();
    let once = octets_of(&rows);
    assert!(once <= MOST_OCTETS, "{once}");
    for row in rows.get_mut(&0).unwrap().iter_mut().skip(599) {
        row.t2.told = row.t2.user;
    }
    let twice = octets_of(&rows);
    assert!(twice > once + 1_000, "{once} {twice}");
    for row in rows.get_mut(&0).unwrap() {
        row.t2.told = None;
    }
    assert!(octets_of(&rows) < once + 1_000, "a column without values takes little");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_read_back_from_parquet_as_they_were(
        streams in prop::collection::btree_map(any::<u16>(), prop::collection::vec(row(), 1..60), 0..4),
    ) {
        prop_assert_eq!(write_and_read(&streams), streams);
    }

    #[test]
    fn a_damaged_parquet_file_is_refused_whatever_was_damaged(
        rows in prop::collection::vec(row(), 1..20), flips in prop::collection::hash_set(0usize..1 << 20, 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let file = tempfile::NamedTempFile::new().unwrap();
        write_rows(file.path(), &BTreeMap::from([(0, rows)]), &()).unwrap();
        let original = fs::read(file.path()).unwrap();
        let mut bytes = original.clone();
        for flip in flips {
            let bit = flip % (bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(file.path(), &bytes).unwrap();
        match read_rows(file.path()) {
            Ok(_) => prop_assert!(bytes == original, "two flips of one bit"),
            Err(error) => {
                prop_assert_eq!(error.exit(), Exit::BadData, "{}", error);
                prop_assert!(!error.to_string().contains(|c: char| c.is_control()), "{}", error);
            }
        }
    }
}

#[test]
fn many_rows_and_several_row_groups_read_back_and_take_little_room() {
    let rows: Vec<RoundTrip> = (0..300_000u32)
        .map(|n| {
            let t1 = 1_700_000_000_000_000_000 + i64::from(n) * 1_000_000 + i64::from(n % 700);
            let mut row = RoundTrip { sequence: n.into(), size: 44, returned: true, ..RoundTrip::default() };
            row.t1.kernel = Some(Timestamp::from_nanos(t1));
            row.t4.kernel = Some(Timestamp::from_nanos(t1 + 130_000));
            row
        })
        .collect();
    let streams = BTreeMap::from([(0, rows)]);
    let file = tempfile::NamedTempFile::new().unwrap();
    write_rows(file.path(), &streams, &()).unwrap();
    assert!(read_rows(file.path()).unwrap() == streams);
    let octets_per_row = fs::metadata(file.path()).unwrap().len() / 300_000;
    assert!(octets_per_row < 8, "{octets_per_row} octets a row");
}

#[test]
fn what_is_no_packet_log_of_ours_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for content in [&b""[..], b"PAR1", b"PAR1PAR1", b"PAR1\xff\xff\xff\x7fPAR1", &[0; 4096]] {
        fs::write(file.path(), content).unwrap();
        assert_eq!(read_rows(file.path()).unwrap_err().exit(), Exit::BadData);
    }
}

#[test]
fn a_finished_run_holds_its_files_and_no_log() {
    let home = tempfile::tempdir().unwrap();
    let runs = Runs::by_environment(Some(home.path().into()), None).unwrap();
    let mut run = NewRun::create(&runs.location("198.18.0.2"), manifest(1)).unwrap();
    assert_eq!(run.folder(), home.path().join("romer/runs/20261107T101112Z-198.18.0.2"));
    let mut log = run.log_writer().unwrap();
    let entries: Vec<_> = (0..100).map(sent).collect();
    assert!(entries.iter().all(|entry| log.append(0, entry)));
    assert_eq!(log.flush().entries, 100);
    let reading = Run::open(run.folder()).unwrap();
    assert_eq!(reading.state(), State::Running);
    let rows = reading.rows().unwrap();
    assert_eq!(rows.source, RowsSource::Log { discarded_octets: 0, lost_entries: 0 });
    assert_eq!(rows.streams[&0], assemble(&entries));
    drop(log);
    let run = finish(run, &rows.streams);
    assert_eq!(
        names(run.folder()),
        ["manifest.json", "measurement.json.gz", "packets.parquet", "report.html"]
    );
    assert_eq!(run.state(), State::Complete);
    let again = run.rows().unwrap();
    assert_eq!((again.source, &again.streams), (RowsSource::Finished, &rows.streams));
    assert_eq!(run.measurements().unwrap(), []);
    // Another run in the same second has its own folder.
    let second = NewRun::create(&runs.location("198.18.0.2"), manifest(1)).unwrap();
    assert!(second.folder().ends_with("20261107T101112Z-198.18.0.2-2"));
    assert_eq!(second.manifest().name, "20261107T101112Z-198.18.0.2-2");
    let listed: Vec<_> = runs.list().unwrap().into_iter().map(|l| l.run.unwrap().state()).collect();
    assert_eq!(listed, [State::Running, State::Complete]);
    drop(second);
    assert_eq!(runs.list().unwrap()[0].run.as_ref().unwrap().state(), State::Killed);
}

#[test]
fn nothing_is_overwritten_without_force_and_only_runs_with_it() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("deep/run");
    let first = NewRun::create(&folder(&path, false), manifest(1)).unwrap();
    assert!(matches!(NewRun::create(&folder(&path, false), manifest(1)), Err(StoreError::Exists { .. })));
    assert!(matches!(NewRun::create(&folder(&path, true), manifest(1)), Err(StoreError::InUse { .. })));
    finish(first, &BTreeMap::new());
    fs::write(path.join("notes.txt"), "mine").unwrap();
    assert!(matches!(NewRun::create(&folder(&path, false), manifest(1)), Err(StoreError::Exists { .. })));
    let replaced = NewRun::create(&folder(&path, true), manifest(1)).unwrap();
    assert_eq!(names(&path), ["manifest.json", "notes.txt", "packets.log"], "only the run's own files went");
    drop(replaced);

    let foreign = home.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    for content in ["{}", "not JSON", r#"{"schema": "romer/manifest/2"}"#, r#"{"schema": "other/1"}"#] {
        fs::write(foreign.join("manifest.json"), content).unwrap();
        let refused = NewRun::create(&folder(&foreign, true), manifest(1));
        assert!(matches!(refused, Err(StoreError::NotReplaceable { .. })), "{content}");
    }
    assert_eq!(names(&foreign), ["manifest.json"]);
}

#[test]
fn a_killed_run_is_completed_once_and_a_live_one_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("run");
    let mut run = NewRun::create(&folder(&path, false), manifest(1)).unwrap();
    let mut log = run.log_writer().unwrap();
    log.append(0, &sent(0));
    log.flush();
    assert!(matches!(Run::open(&path).unwrap().resume(), Err(StoreError::InUse { .. })));
    assert!(run.log_writer().is_err(), "one log, one writer");
    drop((run, log));
    // Killed while the rows were being written.
    fs::write(path.join("packets.parquet.unfinished"), "PAR1").unwrap();
    let killed = Run::open(&path).unwrap();
    assert_eq!(killed.state(), State::Killed);
    let rows = killed.rows().unwrap().streams;
    let end =
        Finished { status: Status::Recovered, rows: &rows, measurements: &[], outcomes: &(), html: None };
    let run = killed.resume().unwrap().finish(&end).unwrap();
    assert_eq!((run.state(), run.rows().unwrap().streams), (State::Recovered, rows));
    assert_eq!(names(&path), ["manifest.json", "measurement.json.gz", "packets.parquet"]);
    assert!(matches!(run.resume(), Err(StoreError::NotARun { .. })));
}

#[test]
fn a_run_that_was_killed_before_it_had_a_log_is_completed_without_rows() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("run");
    drop(NewRun::create(&folder(&path, false), manifest(1)).unwrap());
    fs::remove_file(path.join("packets.log")).unwrap();
    let killed = Run::open(&path).unwrap();
    let rows = killed.rows().unwrap().streams;
    assert!(rows.is_empty());
    let end =
        Finished { status: Status::Recovered, rows: &rows, measurements: &[], outcomes: &(), html: None };
    assert_eq!(killed.resume().unwrap().finish(&end).unwrap().state(), State::Recovered);
}

#[test]
fn a_run_that_cannot_be_put_in_place_is_still_there_to_be_recovered() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("run");
    let mut run = NewRun::create(&folder(&path, false), manifest(1)).unwrap();
    let mut log = run.log_writer().unwrap();
    log.append(0, &sent(0));
    log.flush();
    drop(log);
    // A folder in the way stands for a disk that refuses.
    fs::create_dir(path.join("measurement.json.gz")).unwrap();
    let end = Finished {
        status: Status::Complete,
        rows: &BTreeMap::new(),
        measurements: &[],
        outcomes: &(),
        html: None,
    };
    let error = run.finish(&end).unwrap_err();
    assert_eq!(error.exit(), Exit::Environment);
    assert_eq!(names(&path), ["manifest.json", "measurement.json.gz", "packets.log", "packets.parquet"]);
    assert_eq!(Run::open(&path).unwrap().state(), State::Killed);
}

#[test]
fn what_is_not_a_run_is_refused_with_the_place() {
    let home = tempfile::tempdir().unwrap();
    let open = |content: &[u8]| {
        fs::write(home.path().join("manifest.json"), content).unwrap();
        let error = Run::open(home.path()).unwrap_err();
        assert_eq!(error.exit(), Exit::BadData);
        error.to_string()
    };
    assert!(matches!(Run::open(home.path()), Err(StoreError::NotARun { .. })));
    assert!(matches!(Run::open(&home.path().join("none")), Err(StoreError::Missing { .. })));
    assert!(open(b"{\n  \"schema\": ").contains("line 2, column"));
    assert!(open(b"\xff{}").contains("byte 0"));
    assert!(open(br#"{"schema": "romer/manifest/9"}"#).contains("version 9"));
    assert!(open(br#"{"schema": "\u001b[2Jromer"}"#).contains("must be"));
    assert!(open(br#"{"schema": "romer/manifest/1"}"#).contains("missing field"));
}

#[test]
fn the_folder_of_runs_follows_the_environment() {
    let root = |state: Option<&str>, home: Option<&str>| {
        Runs::by_environment(state.map(Into::into), home.map(Into::into))
            .map(|runs| runs.root().to_path_buf())
    };
    assert_eq!(root(Some("/s"), Some("/h")).unwrap(), Path::new("/s/romer/runs"));
    assert_eq!(root(None, Some("/h")).unwrap(), Path::new("/h/.local/state/romer/runs"));
    assert_eq!(root(Some("relative"), Some("/h")).unwrap(), Path::new("/h/.local/state/romer/runs"));
    assert!(matches!(root(Some(""), None), Err(StoreError::NoHome)));
    assert!(Runs::at("/nonexistent/runs".into()).list().unwrap().is_empty());
}
