//! The demonstration, to its end and before it.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::common::lab::noted_prefixes;
use crate::common::process::{self, Process, romer};
use crate::common::{at, count, schema};

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Waits until the run in `folder` has kept something; the demonstration says nothing itself while it measures.
fn await_log(folder: &Path) {
    let log = folder.join("packets.log");
    while log.metadata().map_or(0, |metadata| metadata.len()) < 2_000 {
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn demonstration(home: &Path, duration: &str) -> Process {
    let mut command = romer(["demo", "--quiet", "--duration", duration, "--json"]);
    Process::start(command.arg(home.join("demo.json")).arg("--out").arg(home.join("run")))
}

fn lab_of(process: u32) -> bool {
    noted_prefixes().contains(&format!("rdemo{process}"))
}

#[test]
fn the_demonstration_measures_two_streams_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let demo = demonstration(home.path(), "1s");
    let process = demo.id();
    demo.wait().with_code(0);
    let document = read(&home.path().join("demo.json"));
    schema::assert_valid(&document, "demo");
    assert_eq!(at(&document, "/measurement/measurements/0/traffic/model"), "melp");
    assert_eq!(count(&document, "/measurement/measurements/0/traffic/payload_octets"), 14);
    for direction in ["forward", "reverse"] {
        for (stream, packets) in [(0, 23), (1, 50)] {
            let received = format!("/measurement/measurements/{stream}/{direction}/packets/received");
            assert_eq!(count(&document, &received), packets, "{received}");
        }
    }
    assert!(!lab_of(process));
}

#[test]
fn a_demonstration_that_is_interrupted_keeps_its_part_and_leaves_nothing() {
    for signal in ["INT", "TERM", "HUP"] {
        let home = tempfile::tempdir().unwrap();
        let demo = demonstration(home.path(), "1h");
        let process = demo.id();
        await_log(&home.path().join("run"));
        demo.signal(signal);
        demo.wait().with_code(130);
        let document = read(&home.path().join("demo.json"));
        assert_eq!(at(&document, "/measurement/measurements/0/partial"), true, "{signal}");
        assert!(home.path().join("run/packets.parquet").exists(), "{signal}");
        assert!(!lab_of(process), "{signal}");
    }
}

#[test]
fn what_a_killed_demonstration_leaves_goes_with_the_next() {
    let home = tempfile::tempdir().unwrap();
    let demo = demonstration(home.path(), "1h");
    let killed = demo.id();
    await_log(&home.path().join("run"));
    demo.signal("KILL");
    demo.wait();
    assert!(lab_of(killed), "killed, it cannot take its lab down itself");
    let next = tempfile::tempdir().unwrap();
    demonstration(next.path(), "1s").wait().with_code(0);
    assert!(!lab_of(killed));
    // Its measurement was told of the end, and kept what it had, or left a log that can be completed.
    loop {
        let report = process::run(romer(["report", "--quiet"]).arg(home.path().join("run")));
        if !report.stderr.contains("being written by another") {
            report.with_code(0);
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
