//! The demonstration, to its end and before it.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::common::lab::{noted_prefixes, state_folder};
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
            let sent = format!("/measurement/measurements/{stream}/{direction}/packets/sent");
            assert_eq!(count(&document, &sent), packets, "{sent}");
        }
    }
    // The emulator between the hosts accounts for every packet, and what it was asked for stands beside what came.
    for (way, place) in [("a_to_b", 0), ("b_to_a", 1)] {
        let of = |name: &str| count(&document, &format!("/emulation/{way}/{name}"));
        let lost = at(&document, &format!("/emulation/{way}/lost")).as_object().unwrap().values();
        let lost: u64 = lost.map(|value| value.as_u64().unwrap()).sum();
        assert_eq!(of("received") + of("duplicates_created"), of("transmitted") + of("queued") + lost);
        assert!(of("received") >= 73, "{document:#}");
        let compared = |name: &str| at(&document, &format!("/comparison/directions/{place}/{name}")).clone();
        assert_eq!(compared("packets"), 73);
        assert_ne!(compared("verdict"), "too_few");
        // No packet was faster than asked for, and the asked-for median is that of the preset (the least delay is 25
        // and 15 ms), whatever the machine added to the measured one.
        let median =
            at(&document, &format!("/comparison/directions/{place}/figures/5/requested")).as_f64().unwrap();
        let measured = at(&document, &format!("/comparison/directions/{place}/figures/5/measured"));
        assert!((20e6..60e6).contains(&median) && measured.as_f64().unwrap() > 15e6, "{document:#}");
    }
    // It ends with the closed loop of the second stream, in a folder beside the run.
    let closed = read(&home.path().join("run-loop/loop.json"));
    schema::assert_valid(&closed, "loop");
    assert_eq!(
        (count(&closed, "/stream"), count(&closed, "/directions/0/autocorrelation/0/lag_ns")),
        (1, 20_000_000)
    );
    assert!(home.path().join("run-loop/loop.html").exists());
    let named = at(&document, "/closed_loop");
    assert_eq!((&named["name"], &named["verdict"]), (&Value::from("run-loop"), at(&closed, "/verdict")));
    assert_eq!(read(Path::new(named["document"].as_str().unwrap())), closed);
    assert!(!lab_of(process));
}

/// A folder that cannot be that of the loop is refused before anything is measured.
#[test]
fn taken_loop_folders_are_refused_first() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("run-loop")).unwrap();
    std::fs::write(home.path().join("run-loop/letter"), "mine").unwrap();
    let ended = demonstration(home.path(), "1h").wait().with_code(2);
    assert!(ended.stderr.contains("run-loop): it contains files that are not of a loop"), "{ended:?}");
    assert!(!home.path().join("run").exists() && !home.path().join("demo.json").exists());
}

#[test]
fn a_demonstration_that_is_interrupted_keeps_its_part_and_leaves_nothing() {
    for (signal, code) in process::ends(130) {
        let home = tempfile::tempdir().unwrap();
        let demo = demonstration(home.path(), "1h");
        let process = demo.id();
        await_log(&home.path().join("run"));
        demo.signal(signal);
        demo.wait().with_code(code);
        let document = read(&home.path().join("demo.json"));
        assert_eq!(at(&document, "/measurement/measurements/0/partial"), true, "{signal}");
        assert!(home.path().join("run/packets.parquet").exists(), "{signal}");
        assert!(!lab_of(process), "{signal}");
    }
}

/// Waits until the lab of this prefix is gone; fails where nobody takes it down.
fn await_no_lab(prefix: &str) {
    for _ in 0..600 {
        if !noted_prefixes().iter().any(|noted| noted == prefix) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the lab {prefix} stands after 30 s");
}

/// A calibration that is killed leaves no lab, whatever it was doing.
#[test]
fn killed_calibration_leaves_no_lab() {
    for _ in 0..2 {
        let home = tempfile::tempdir().unwrap();
        let mut command = romer(["calibrate", "--quiet", "--rounds", "50"]);
        let calibration = Process::start(command.env("XDG_STATE_HOME", home.path()));
        let prefix = format!("rcalibrate{}", calibration.id());
        while !noted_prefixes().contains(&prefix) {
            std::thread::sleep(Duration::from_millis(5));
        }
        calibration.signal("KILL");
        calibration.wait();
        await_no_lab(&prefix);
        let namespaces = process::run(std::process::Command::new("ip").args(["netns", "list"])).stdout;
        assert!(!namespaces.contains(&prefix), "{namespaces}");
    }
}

/// A demonstration that is killed leaves no lab, no folder of its own, and the run as far as it came.
#[test]
fn killed_demonstration_leaves_no_lab() {
    let home = tempfile::tempdir().unwrap();
    let demo = demonstration(home.path(), "1h");
    let killed = demo.id();
    await_log(&home.path().join("run"));
    let scratch = state_folder().join(format!("rdemo{killed}.d"));
    assert!(scratch.is_dir());
    demo.signal("KILL");
    demo.wait();
    await_no_lab(&format!("rdemo{killed}"));
    assert!(!scratch.exists() && !std::env::temp_dir().join(format!("romer-demo-{killed}")).exists());
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
