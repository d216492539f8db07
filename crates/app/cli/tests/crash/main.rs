//! Measurements that are killed at any moment, and disks that fill up: what was acknowledged is never lost.
//!
//! `ROMER_KILLS` says how many measurements are killed (200 unless it is set). The moments are drawn from a seed that
//! a failure names.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

#[path = "../common/mod.rs"]
mod common;
mod disk;
mod victim;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use romer_units::random::{RandomStream, Seed};
use serde_json::Value;

use common::process::{self, Process, romer};
use common::{at, count};
use victim::{Acknowledged, Moment, Victim};

/// Probes of a measurement that is to be killed.
const PROBES: u64 = 100;
/// Measurements at a time.
const PARALLEL_RUNS: u64 = 4;
/// Where the moments come from.
const SEED: Seed = Seed([3, 1, 4, 1, 5, 9]);

/// A responder that is ready, and the address of its control port.
fn responder() -> (Process, String) {
    let mut responder =
        Process::start(&mut romer(["respond", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"]));
    let line = responder.line();
    let address = line.trim_end().rsplit(' ').next().unwrap().to_owned();
    assert!(line.contains("control at TCP"), "{line:?}");
    (responder, address)
}

fn kills() -> u64 {
    std::env::var("ROMER_KILLS").map_or(200, |text| text.parse().unwrap())
}

/// The moment of kill `number`, where a measurement that is left alone takes `whole` milliseconds.
fn moment(number: u64, whole: u64) -> Moment {
    // The stream's name: "cras", "h".
    let [kind, early, late, ..] = RandomStream::new(SEED, [0x6372_6173, 0x68]).block(number).map(u64::from);
    if kind % 3 == 0 {
        // Within the writing of the rows, the document, the page and the manifest, which takes some milliseconds.
        Moment::AfterTheLastProbe(late % 40_000)
    } else {
        Moment::AfterTheStart(early % (whole * 1_200))
    }
}

/// A measurement killed at any time loses no acknowledged record.
#[test]
fn kills_lose_no_acknowledged_record() {
    let (_responder, there) = responder();
    let started = Instant::now();
    let home = tempfile::tempdir().unwrap();
    let left_alone = Victim::start(&there, &home.path().join("run"), PROBES).left_alone();
    assert!(left_alone.sent > 0, "nothing was ever acknowledged");
    let whole = u64::try_from(started.elapsed().as_millis()).unwrap();
    let (next, outcomes) = (AtomicU64::new(0), [const { AtomicU64::new(0) }; 3]);
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL_RUNS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= kills() {
                        return;
                    }
                    let moment = moment(number, whole);
                    let outcome =
                        kill_once(&there, moment, &format!("kill {number} of seed {SEED}, {moment:?}"));
                    outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let [nothing, recovered, complete] = outcomes.map(AtomicU64::into_inner);
    println!("{nothing} killed before they were runs, {recovered} recovered, {complete} complete");
    assert_eq!(nothing + recovered + complete, kills());
    assert!(kills() < 20 || recovered > 0, "no measurement was killed while it ran");
}

/// What came of a measurement that was killed.
#[derive(Clone, Copy, Debug)]
enum After {
    /// It was no run yet.
    Nothing,
    /// It was completed from its log.
    Recovered,
    /// It had ended.
    Complete,
}

fn kill_once(there: &str, moment: Moment, what: &str) -> After {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("run");
    let acknowledged = Victim::start(there, &folder, PROBES).killed(moment);
    if !folder.join("manifest.json").exists() {
        assert_eq!(acknowledged, Acknowledged::default(), "{what}");
        let (code, error) =
            if folder.exists() { (3, "error: this is not a run (") } else { (4, "error: no such run (") };
        let ended = process::run(romer(["report", "--quiet", "--json", "-"]).arg(&folder)).with_code(code);
        assert!(ended.stderr.starts_with(error), "{what}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{what}: {ended:?}");
        return After::Nothing;
    }
    assert_entries(&folder, &acknowledged, what);
    let status = status(&folder);
    assert_intact(&folder, acknowledged.sent, what, status == "running");
    if status == "running" {
        return After::Recovered;
    }
    assert_eq!(status, "complete", "{what}");
    After::Complete
}

fn status(folder: &Path) -> String {
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    at(&manifest, "/status").as_str().unwrap().to_owned()
}

/// Every entry that was acknowledged is in the log, if there still is one.
fn assert_entries(folder: &Path, acknowledged: &Acknowledged, what: &str) {
    let log = folder.join("packets.log");
    if log.exists() {
        let recovered = romer_store::recover(&log).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(recovered.entries() >= acknowledged.entries, "{what}: {recovered:?} {acknowledged:?}");
        assert_eq!(recovered.lost_entries, 0, "{what}");
    } else {
        assert!(acknowledged.entries == 0 || folder.join("packets.parquet").exists(), "{what}");
    }
}

/// The run can be read, holds every probe below `sent`, and reads the same again; it is partial where it was `cut`.
fn assert_intact(folder: &Path, sent: u64, what: &str, cut: bool) {
    let read = || {
        let ended = process::run(romer(["report", "--quiet", "--json", "-"]).arg(folder));
        assert_eq!(ended.code, Some(0), "{what}: {ended:?}");
        ended.document()
    };
    let document = read();
    assert_eq!(at(&document, "/partial"), cut, "{what}");
    assert!(count(&document, "/round_trip/packets/sent") >= sent, "{what}: {document:#}");
    assert_eq!(status(folder), if cut { "recovered" } else { "complete" }, "{what}");
    assert_eq!(read(), document, "{what}: it reads otherwise the second time");
    // With their fates: of the last ones it is not known what became of them.
    let mut export = romer(["report", "--quiet", "--fates", "--csv", "-"]);
    let csv = process::run(export.arg(folder)).with_code(0).stdout;
    let sequences: std::collections::BTreeSet<u64> =
        csv.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
    for probe in 0..sent {
        assert!(sequences.contains(&probe), "{what}: probe {probe} of {sent} is lost");
    }
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(!name.ends_with(".unfinished") && name != "packets.log", "{what}: {name} is left over");
    }
}
