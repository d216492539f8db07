//! An emulation that follows a path whose delay changes.

use std::fs;
use std::path::Path;

use romer_units::Duration;
use serde_json::Value;

use crate::common::lab::{FAR, Lab};
use crate::common::process::{self, Process, romer};
use crate::common::{at, number, schema};

const MS: i64 = 1_000_000;

/// Two pairs of links on host A. The emulator that follows is between their inner ends, and what leaves the first outer end crosses it.
fn links(lab: &Lab) {
    let ip = |words: &str| process::run(lab.command("A", "ip").args(words.split(' '))).with_code(0);
    for (outer, inner) in [("p0", "p1"), ("q0", "q1")] {
        ip(&format!("link add {outer} type veth peer name {inner}"));
        ip(&format!("link set {outer} up"));
        ip(&format!("link set {inner} up"));
    }
    ip("addr add 203.0.113.1/24 dev p0");
    ip("neigh add 203.0.113.2 lladdr 02:00:00:00:00:02 dev p0 nud permanent");
}

/// Packets that cross the emulator.
fn traffic(lab: &Lab) -> Process {
    let script = "while sleep 0.02; do echo > /dev/udp/203.0.113.2/9; done";
    Process::start(lab.command("A", "bash").args(["-c", script]))
}

/// The path that is followed has this delay in each direction.
fn delayed(lab: &Lab, delay: &str) -> Process {
    let mut emulator = Process::start(
        &mut lab.romer("E", ["emulate", "--port", "a=e0", "--port", "b=e1", "--delay", delay]),
    );
    let line = emulator.line();
    assert!(line.starts_with("emulating"), "{line:?} {:?}", emulator.wait());
    emulator
}

/// Fields of the lines of departures, or of samples.
fn table(file: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// The departures of these arrivals in virtual time.
fn replay(scenario: &Path, arrivals: &Path, folder: &Path) -> Vec<Vec<String>> {
    let out = folder.join("departures.csv");
    let mut command = romer(["emulate", "--offline", "--quiet", "--force", "--scenario"]);
    command.arg(scenario).arg("--arrivals").arg(arrivals).arg("--departures").arg(&out);
    process::run(&mut command).with_code(0);
    table(&out)
}

/// The least delay of a scenario from port a to port b, nanoseconds.
fn least_delay(scenario: &Path, folder: &Path) -> i64 {
    let arrivals = folder.join("arrivals.csv");
    let lines: String = (0..100).map(|number| format!("{},a,100\n", number * 10 * MS)).collect();
    fs::write(&arrivals, lines).unwrap();
    let rows = replay(scenario, &arrivals, folder);
    rows.iter().filter_map(|row| row[8].parse::<i64>().ok()).min().unwrap()
}

/// Reads lines of the follower until one holds.
fn wait_for(follower: &mut Process, mut holds: impl FnMut(&str) -> bool) {
    loop {
        let line = follower.line();
        assert!(!line.is_empty(), "the emulation has ended");
        if holds(&line) {
            return;
        }
    }
}

/// The scenario that a line names.
fn scenario_of(line: &str) -> Option<&str> {
    let begin = line.find("scenario-")?;
    Some(&line[begin..begin + line[begin..].find(".toml")? + ".toml".len()])
}

/// The emulated delay is that of the path before and after its change, also while the target does not answer, and the recorded timeline
/// repeats the delays of the run.
#[test]
fn emulations_follow_a_path() {
    let lab = Lab::path();
    let responder = lab.respond(&[]);
    links(&lab);
    let folder = tempfile::tempdir().unwrap();
    let [out, json] = ["out", "emulation.json"].map(|name| folder.path().join(name));
    let path = delayed(&lab, "10ms");
    let mut command = lab.romer("A", ["emulate", "--port", "a=p1", "--port", "b=q1", "--follow", FAR]);
    command.args(["--refit-every", "2s", "--interval", "10ms", "--out"]).arg(&out).arg("--json").arg(&json);
    let mut follower = Process::start(&mut command);
    let line = follower.line();
    assert!(line.starts_with("emulating: a p1 - b q1"), "{line:?} {:?}", follower.wait());
    wait_for(&mut follower, |line| {
        line.contains(
            "with a packet of 44 bytes (IP packets of 72 bytes) every 10.0 ms and a refit every 2.00 s",
        )
    });
    let traffic = traffic(&lab);
    let least = |line: &str| Some(least_delay(&out.join(scenario_of(line)?), folder.path()));
    // No packet of the path is faster than its emulator, and this machine delays few of them by as much again.
    wait_for(&mut follower, |line| least(line).is_some_and(|least| (10 * MS..25 * MS).contains(&least)));
    path.signal("TERM");
    path.wait().with_code(0);
    let _path = delayed(&lab, "30ms");
    wait_for(&mut follower, |line| least(line).is_some_and(|least| least >= 30 * MS));
    drop(responder);
    wait_for(&mut follower, |line| line.contains("no probe was answered"));
    follower.signal("TERM");
    let ended = follower.wait().with_code(0);
    drop(traffic);
    let document: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    schema::assert_valid(&document, "emulation");
    let events = at(&document, "/refits").as_array().unwrap();
    let of = |code: &str| events.iter().filter(|event| event["code"] == code).collect::<Vec<_>>();
    let (refits, unanswered) = (of("refitted"), of("unanswered"));
    assert!(refits.len() >= 2 && !unanswered.is_empty(), "{document:#}");
    assert!(ended.stdout.contains(&format!("{} refits applied", refits.len())), "{ended:?}");

    // The timeline has the moments of the changes, and what was emulated last is the last fit.
    let timeline = fs::read_to_string(out.join("scenario.toml")).unwrap();
    let steps: Vec<i64> = refits.iter().map(|refit| refit["at_ns"].as_i64().unwrap()).collect();
    assert_eq!(timeline.matches("[[timeline]]").count(), refits.len());
    for (refit, at) in refits.iter().zip(&steps) {
        let file = refit["scenario"].as_str().unwrap();
        let step = format!("at = \"{}\"\nscenario = \"{file}\"\n", Duration::from_nanos(*at));
        assert!(timeline.contains(&step), "{step}\n{timeline}");
        assert!(out.join(format!("measurements/{:03}", refit["period"].as_u64().unwrap())).is_dir());
    }
    let last = out.join(refits[refits.len() - 1]["scenario"].as_str().unwrap());
    assert_eq!(at(&document, "/scenario").as_str().unwrap(), fs::read_to_string(last).unwrap());

    // The arrivals of the run in virtual time have the delays of the run. A packet that arrived just before a change may have been taken
    // up after it.
    let samples = out.join("samples.csv");
    let live = table(&samples);
    let replayed = replay(&out.join("scenario.toml"), &samples, folder.path());
    let mut delays = Vec::new();
    for (live, replayed) in live.iter().zip(&replayed) {
        assert_eq!(live[..5], replayed[..5]);
        let arrival: i64 = live[4].parse().unwrap();
        if steps.iter().all(|step| (arrival - step).abs() > 5 * MS) {
            assert_eq!(live[8], replayed[8], "{live:?} {replayed:?}");
            delays.extend(live[8].parse::<i64>().ok());
        }
    }
    assert_eq!(live.len(), replayed.len());
    assert_eq!(delays.iter().min(), Some(&0), "everything passes until the first fit");
    assert!(delays.iter().any(|delay| (10 * MS..25 * MS).contains(delay)));
    assert!(delays.iter().any(|delay| *delay >= 30 * MS));
    assert!(number(&document, "/a_to_b/actual_delay_ns/max") >= 30e6, "{document:#}");
}

/// A target that does not answer is an error at the start, which names it, and no folder is made.
#[test]
fn silent_targets_are_refused() {
    let lab = Lab::path();
    links(&lab);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut command =
        lab.romer("A", ["emulate", "--port", "a=p1", "--port", "b=q1", "--follow", FAR, "--out"]);
    let ended = process::run(command.arg(&out)).with_code(5);
    assert!(ended.stderr.starts_with("error: ") && ended.stderr.contains(FAR), "{ended:?}");
    assert!(ended.stderr.contains("romer respond") && !out.exists(), "{ended:?}");
}
