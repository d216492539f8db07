//! Whose loss it is, of frames that a real queue drops: a tester that is stopped again and again before a router that carries
//! all that is offered, a router that carries less before a tester that sends on schedule, and both at once.

use std::time::Duration;

use super::*;

/// The router sends with so many bits a second of frames, and lets so many octets wait.
fn shape(lab: &Lab, rate: &str, limit: &str) {
    process::run(
        lab.command("R", "tc").args([
            "qdisc", "add", "dev", "r1", "root", "tbf", "rate", rate, "burst", "1600", "limit", limit,
        ]),
    )
    .with_code(0);
}

/// 1,488 frames of 64 octets a second (714 kbit/s without check sequence), in trials of so long; where that is wanted, the
/// tester runs for so many milliseconds, is stopped for so many, and so on.
fn swept(lab: &Lab, trial: &str, stops: Option<[u64; 2]>) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let load = ["--frame-sizes", "64", "--loads", "50%", "--line-rate", "2Mbit"];
    let times = ["--trial", trial, "--settle", "500ms", "--skip-self-test", "--quiet"];
    let mut begun = Process::start(&mut command(lab, &run, &[&["load-sweep"], &load[..], &times].concat()));
    while let Some([runs, stands]) = stops.filter(|_| begun.is_running()) {
        std::thread::sleep(Duration::from_millis(runs));
        begun.signal("STOP");
        std::thread::sleep(Duration::from_millis(stands));
        begun.signal("CONT");
    }
    let ended = begun.wait();
    let text = std::fs::read_to_string(run.join("benchmark.json"));
    let document: Value = serde_json::from_str(&text.unwrap_or_else(|_| panic!("{ended:?}"))).unwrap();
    schema::assert_valid(&document, "benchmark");
    trials(&document).to_vec()
}

/// The device's part of the lost frames, from and to.
fn device(trial: &Value) -> [u64; 2] {
    [0, 1].map(|end| count(trial, &format!("/lost_by_device/{end}")))
}

/// A stopped tester attributes no loss to a router that forwards everything.
#[test]
fn stopped_testers_blame_no_router() {
    let lab = Lab::router();
    // 250 frames find room, which is 170 ms of them: more than half of what a stop of 300 ms brings at once.
    shape(&lab, "1500kbit", "15000");
    let all = swept(&lab, "3s", Some([700, 300]));
    assert!(all.iter().any(|trial| count(trial, "/stall_affected_lost") > 50), "{all:#?}");
    for trial in &all {
        assert_eq!(device(trial)[0], 0, "{trial:#}");
        assert_eq!(is_valid(trial), count(trial, "/lost") == 0, "{trial:#}");
    }
}

#[test]
fn a_router_that_carries_less_has_all_the_loss_and_the_tester_none() {
    let lab = Lab::router();
    // 625 frames a second.
    shape(&lab, "300kbit", "1600");
    let all = swept(&lab, "3s", None);
    let trial = all.last().unwrap();
    assert!(count(trial, "/lost") * 2 > count(trial, "/offered/frames"), "{trial:#}");
    // Where the host took its processor from the tester, some of it may be the tester's.
    if count(trial, "/stall_affected") == 0 && count(trial, "/tester_drops") == 0 {
        assert_eq!((device(trial), count(trial, "/lost_by_tester")), ([count(trial, "/lost"); 2], 0));
        assert!(is_valid(trial) && all.len() == 1, "{all:#?}");
    }
}

#[test]
fn of_a_stopped_tester_and_a_router_that_carries_less_the_routers_part_has_an_interval() {
    let lab = Lab::router();
    shape(&lab, "300kbit", "1600");
    let mut known = 0;
    for trial in swept(&lab, "6s", Some([2_000, 50])) {
        let [least, most] = device(&trial);
        let (offered, lost) = (number(&trial, "/offered/frames"), count(&trial, "/lost"));
        assert!(least <= most && most <= lost && count(&trial, "/stall_affected_lost") > 0, "{trial:#}");
        // It carries 625 of 1,488, and holds some fifty at the beginning.
        let regular = offered - number(&trial, "/stall_affected");
        if regular > 1_000.0 {
            known += 1;
            let [low, high] = [least, most].map(|count| count as f64 / offered);
            assert!(low < 0.62 && high > 0.46 && high - low < 0.2, "{low} {high}: {trial:#}");
        }
    }
    assert!(known > 0, "the wake of a stop is half a second, of two");
}

#[test]
fn frames_that_come_damaged_are_counted_and_named() {
    let lab = Lab::path();
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("damages.toml");
    std::fs::write(&scenario, "[a_to_b.corrupt]\nprobability = 0.2\n").unwrap();
    let mut emulate = lab.romer("E", ["emulate", "--port", "a=e0", "--port", "b=e1"]);
    let mut emulator = Process::start(emulate.arg("--scenario").arg(&scenario));
    let line = emulator.line();
    assert!(line.starts_with("emulating: "), "{line:?} {:?}", emulator.wait());
    let arguments = ["load-sweep", "--frame-sizes", "1518", "--loads", "30%", "--line-rate", "10Mbit"];
    let times = ["--trial", "1s", "--settle", "100ms"];
    let found = bench(&lab, &[&arguments[..], &times].concat()).with_code(6).document();
    let named: Vec<String> = verdicts(&found).into_iter().map(|(subject, _)| subject).collect();
    assert!(named.contains(&"payload".into()), "{named:?}");
    let trial = &trials(&found)[0];
    // A fifth of 243 frames, of which 97 of a hundred have their damage behind the test data: fewer than 15 have a
    // probability far below 1e-6.
    assert!(count(trial, "/corrupted") >= 15, "{trial:#}");
    assert!(count(trial, "/per_stream/0/corrupted") <= count(trial, "/corrupted"));
}
