//! Measurements that begin later, and again and again.

use std::path::Path;

use super::common::lab::{FAR, Lab, stored};
use super::common::process::{self, Process};
use super::common::{at, schema};

/// The documents of the runs in `folder`, each of which has ended.
fn runs(folder: &Path) -> Vec<serde_json::Value> {
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let read = |run: &std::path::PathBuf| {
        let document = stored(run);
        schema::assert_valid(&document, "measurement");
        document
    };
    names.iter().map(read).collect()
}

#[test]
fn each_turn_is_a_run_of_its_own_and_those_that_were_missed_are_told() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let home = tempfile::tempdir().unwrap();
    // Each run takes at least 180 ms: of turns that are 20 ms apart some are missed.
    for (every, missing) in [("2s", false), ("20ms", true)] {
        let folder = home.path().join(every);
        let mut command = lab.romer("A", ["measure", "--every", every, "--times", "3", "--count", "10"]);
        let ended =
            process::run(command.args(["--interval", "20ms", FAR, "--json", "-", "--out"]).arg(&folder))
                .with_code(0);
        let missed = ended.stderr.lines().filter(|line| line.contains("missed: the previous run")).count();
        let runs = runs(&folder);
        assert_eq!(runs.len(), 3, "{ended:?}");
        assert!(!missing || missed > 0, "{ended:?}");
        let told = ended.stdout.lines().map(serde_json::from_str::<serde_json::Value>);
        assert_eq!(told.collect::<Result<Vec<_>, _>>().unwrap(), runs, "a document of each run, on a line");
        for run in &runs {
            assert_eq!(at(run, "/partial"), false);
            let command = at(run, "/metadata/command").as_str().unwrap();
            assert!(!command.contains("--every") && !command.contains("--times"), "{command}");
        }
    }
}

#[test]
fn a_broken_limit_names_the_run_that_broke_it() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let home = tempfile::tempdir().unwrap();
    let limit = ["--limit", "round_trip.delay_ns.median<1ns"];
    let mut command = lab.romer("A", ["measure", "--every", "1s", "--times", "2", "--count", "3"]);
    let command = command.args(limit).args(["--interval", "10ms", FAR, "--out"]).arg(home.path());
    let ended = process::run(command).with_code(6);
    let errors: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 2, "{ended:?}");
    let mut folders: Vec<_> =
        std::fs::read_dir(home.path()).unwrap().map(|run| run.unwrap().path()).collect();
    folders.sort();
    for ((error, folder), (number, run)) in errors.iter().zip(&folders).zip((1..).zip(runs(home.path()))) {
        let began = at(&run, "/started").as_str().unwrap();
        let start =
            format!("error: run {number}, started at {began}, saved to {}: limit failed", folder.display());
        assert!(error.starts_with(&start), "{error:?} is not {start:?}");
    }
}

#[test]
fn an_interrupt_between_two_runs_ends_in_good_order() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let home = tempfile::tempdir().unwrap();
    let arguments =
        ["measure", "--every", "1h", "--count", "3", "--interval", "10ms", "--json-lines", FAR, "--out"];
    let mut measuring = Process::start(lab.romer("A", arguments).arg(home.path()));
    loop {
        let line = measuring.line();
        assert!(!line.is_empty(), "it ended by itself");
        if line.contains("\"type\":\"final\"") {
            break;
        }
    }
    measuring.signal("INT");
    assert_eq!(measuring.wait().code, Some(130));
    assert_eq!(runs(home.path()).len(), 1);
}

#[test]
fn a_run_begins_when_it_is_asked_to() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let before = std::time::SystemTime::now();
    let run = lab.measure(&["--start", "+1s", "--count", "3", "--interval", "10ms", FAR]);
    let first = run.rows()[0].four()[0];
    let asked = before.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() + 1_000_000_000;
    assert!(u128::try_from(first).unwrap() >= asked, "{first} is before {asked}");
}

#[test]
fn the_first_probes_leave_at_the_time_that_was_asked_for() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for direction in ["round-trip", "reverse"] {
        // The laboratory's preparations take less than that.
        let asked = std::time::SystemTime::now() + std::time::Duration::from_secs(4);
        let text = humantime::format_rfc3339_millis(asked).to_string();
        let options = ["--count", "5", "--interval", "10ms", "--direction", direction, "--json", "-"];
        let mut command = lab.romer("A", [&["measure", FAR, "--start", &text], &options[..]].concat());
        let ended = process::run(&mut command).with_code(0);
        assert!(!ended.stderr.contains(" late: "), "{ended:?}");
        let document: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        let started = at(&document, "/started").as_str().unwrap();
        assert!(started.starts_with(&text[..text.len() - 1]), "{started} for {text}");
    }
}
