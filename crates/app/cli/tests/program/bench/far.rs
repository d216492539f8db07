//! Devices that are far away, and streams of which nothing comes.

use super::*;

/// A router behind which everything is so long away, there and back: an emulator stands between it and the port that takes in.
fn far(lab: &Lab, folder: &Path, delay: &str) -> Process {
    process::run(lab.command("B", "ip").args(["link", "add", "x0", "type", "veth", "peer", "name", "x1"]))
        .with_code(0);
    for link in ["x0", "x1"] {
        process::run(lab.command("B", "ip").args(["link", "set", link, "up"])).with_code(0);
    }
    // Of what waits for a neighbour that is not known yet the router keeps one frame, and drops the others.
    process::run(lab.command("R", "sysctl").args(["-w", "net.ipv4.neigh.r1.unres_qlen_bytes=0"]))
        .with_code(0);
    let scenario = folder.join("far.toml");
    let text = format!("[a_to_b.delay]\nfixed = \"{delay}\"\n[b_to_a.delay]\nfixed = \"{delay}\"\n");
    std::fs::write(&scenario, text).unwrap();
    let mut emulate =
        lab.romer("B", ["emulate", "--port", "a=t1", "--port", "b=x0", "--allow-default-route"]);
    let mut emulator = Process::start(emulate.arg("--scenario").arg(&scenario));
    let line = emulator.line();
    assert!(line.starts_with("emulating: "), "{line:?} {:?}", emulator.wait());
    emulator
}

#[test]
fn a_device_that_is_a_tenth_of_a_second_away_has_learned_all_addresses_before_a_trial() {
    let lab = Lab::router();
    let folder = tempfile::tempdir().unwrap();
    let mut emulator = far(&lab, folder.path(), "100ms");
    let prefix = lab.prefix();
    let ports = ["--tx", &format!("{prefix}A/t0"), "--rx", &format!("{prefix}B/x1")].map(str::to_owned);
    let mut asked = lab.romer("A", ["bench", "load-sweep", "--skip-self-test", "--json", "-", "--quiet"]);
    asked.args(ports).arg("--out").arg(folder.path().join("run"));
    asked.args(["--source", "198.18.0.2", "--destination", "198.19.0.66"]);
    asked.args(["--stream", "name=range,destination=198.19.0.70-198.19.0.77", "--stream", "name=one"]);
    asked.args(["--stream", "name=other,destination=198.19.0.80"]);
    asked.args(["--frame-sizes", "128", "--loads", "30%", "--line-rate", "2Mbit", "--trial", "1s"]);
    // What leaves last is waited for, though it comes later than the time to settle.
    let found = document(process::run(asked.args(["--settle", "50ms"])));
    let trial = &trials(&found)[0];
    if is_valid(trial) {
        assert_eq!(count(trial, "/lost"), 0, "{trial:#}");
        assert!(number(trial, "/latency_ns/min") > 99e6, "{trial:#}");
    }
    assert!(emulator.is_running(), "{:?}", emulator.wait());
}

/// What a device that takes longer than any usual wait carries is waited for, and the forecast is corrected by that.
#[test]
fn six_seconds_away_loses_nothing() {
    let lab = Lab::router();
    let folder = tempfile::tempdir().unwrap();
    let _emulator = far(&lab, folder.path(), "6s");
    let prefix = lab.prefix();
    let ports = ["--tx", &format!("{prefix}A/t0"), "--rx", &format!("{prefix}B/x1")].map(str::to_owned);
    let mut asked = lab.romer("A", ["bench", "load-sweep", "--skip-self-test", "--json", "-"]);
    asked.args(ports).arg("--out").arg(folder.path().join("run"));
    asked.args(["--source", "198.18.0.2", "--destination", "198.19.0.66", "--frame-sizes", "128"]);
    asked.args(["--loads", "10%", "--line-rate", "2Mbit", "--trial", "300ms", "--settle", "50ms"]);
    let ended = process::run(&mut asked);
    // Less than a second was forecast. The first correction is before the first trial, when the path is known.
    let corrected = ended.stderr.lines().find(|line| line.starts_with("longer than forecast: "));
    assert!(corrected.is_some_and(|line| line.contains("instead of under 1 s")), "{ended:?}");
    let found = document(ended);
    let trial = trials(&found).last().unwrap();
    if is_valid(trial) {
        assert_eq!(count(trial, "/lost"), 0, "{trial:#}");
        assert!(number(trial, "/latency_ns/min") > 5.9e9, "{trial:#}");
    }
}

#[test]
fn a_stream_that_the_router_does_not_forward_is_told_beside_one_that_it_does() {
    let lab = Lab::router();
    // The first stream goes where nobody forwards to, so that it is the second that tells that the device is there.
    let streams = ["--stream", "name=lost,destination=203.0.113.9", "--stream", "name=live"];
    let load = ["--frame-sizes", "128", "--loads", "30%", "--line-rate", "2Mbit", "--trial", "1s"];
    let arguments = [&["load-sweep"], &streams[..], &load, &["--settle", "100ms"]].concat();
    let folder = tempfile::tempdir().unwrap();
    let asked = process::run(command(&lab, folder.path(), &arguments).arg("--skip-self-test"));
    let text = std::fs::read_to_string(folder.path().join("benchmark.json")).unwrap();
    let found: Value = serde_json::from_str(&text).unwrap();
    let trial = &trials(&found)[0];
    if is_valid(trial) {
        let of = |place: usize, what: &str| count(trial, &format!("/per_stream/{place}/{what}"));
        assert_eq!((of(0, "forwarded"), of(1, "lost")), (0, 0), "{trial:#}");
        assert!(asked.stdout.contains("event: stream lost: none of "), "{}", asked.stdout);
        let event = &at(&found, "/events")[0];
        assert_eq!(event["code"], "stream-silent", "{event}");
        // What a device does not carry of a stream while it carries all of another is a claim that does not hold.
        assert_eq!(asked.code, Some(6), "{asked:?}");
        assert!(
            asked.stdout.contains("FAIL: baseline, stream lost: expected: forwarded like others"),
            "{asked:?}"
        );
    }
}

#[test]
fn a_size_that_the_router_drops_is_its_loss_and_hinders_no_other() {
    let lab = Lab::router();
    // Packets of 46 octets are those of frames of 64, the first that are looked at.
    lab.filter(
        "R",
        "table ip small { chain c { type filter hook forward priority 0 ; ip length 46 drop ; } ; }",
    );
    let load = ["--frame-sizes", "64,512", "--loads", "30%", "--line-rate", "2Mbit", "--trial", "1s"];
    // 6: what is claimed of the device does not hold, that it carries frames of each size.
    let found =
        bench(&lab, &[&["load-sweep"], &load[..], &["--settle", "100ms"]].concat()).with_code(6).document();
    let verdict = &at(&found, "/verdicts")[0];
    assert_eq!(
        (&verdict["frame_size"], &verdict["passed"]),
        (&Value::from(64), &Value::from(false)),
        "{verdict}"
    );
    for trial in trials(&found).iter().filter(|trial| is_valid(trial)) {
        let small = at(trial, "/frame_size") == &Value::from(64);
        let [offered, lost] = ["/offered/frames", "/lost"].map(|what| count(trial, what));
        assert_eq!(lost, if small { offered } else { 0 }, "{trial:#}");
    }
}

#[test]
fn a_device_that_answers_for_its_next_hop_in_a_case_only_is_brought_into_one() {
    let lab = Lab::router();
    let resolves =
        |state: &str| format!("nsenter --net=/run/netns/{}R ip link set r0 arp {state}", lab.prefix());
    let unresolved = || {
        process::run(lab.command("R", "ip").args(["link", "set", "r0", "arp", "off"])).with_code(0);
    };
    unresolved();
    let load = ["--frame-sizes", "128", "--loads", "20%", "--line-rate", "2Mbit", "--trial", "200ms"];
    let more = ["--settle", "100ms", "--case", &format!("up={}", resolves("on"))];
    let found = document(bench(&lab, &[&["load-sweep"], &load[..], &more].concat()));
    assert_eq!(trials(&found)[0]["case"], "up", "{found:#}");
    assert!(trials(&found).iter().all(|trial| !is_valid(trial) || count(trial, "/lost") == 0), "{found:#}");
    // No case helps here, and what was asked for is told.
    unresolved();
    let ended =
        bench(&lab, &[&["load-sweep"], &load[..], &["--settle", "100ms", "--case", "x=true"]].concat());
    let said = ended.with_code(4).stderr;
    assert!(said.contains("the next hop cannot be found (--next-hop)"), "{said}");
}
