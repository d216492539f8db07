//! What happens to the tester's own ports, what a device does to headers, and what a user declares of it.

use super::*;

const LOAD: [&str; 9] =
    ["load-sweep", "--frame-sizes", "128", "--loads", "20%", "--line-rate", "2Mbit", "--settle", "50ms"];

/// A port that is down or has no carrier is named before anything is said of the device.
#[test]
fn port_without_link_is_named() {
    let lab = Lab::router();
    let port = |host: &str, name: &str| format!("{}{host}/{name}", lab.prefix());
    let set = |host: &str, link: &str, state: &str| {
        process::run(lab.command(host, "ip").args(["link", "set", link, state])).with_code(0);
    };
    set("A", "t0", "down");
    let down = bench(&lab, &LOAD).with_code(4).stderr;
    let told = format!(
        "the tester's port {} is down on this host; switch it on with `ip -n {}A link set t0 up`",
        port("A", "t0"),
        lab.prefix()
    );
    assert!(down.contains(&told), "{down}");
    set("A", "t0", "up");
    set("R", "r1", "down");
    let cut = bench(&lab, &LOAD).with_code(4).stderr;
    assert!(cut.contains(&format!("the tester's port {} has no carrier; ", port("B", "t1"))), "{cut}");
}

/// A port that is switched off and on again within a trial is named, and the device is not said to be away.
#[test]
fn port_switched_off_is_named() {
    let lab = Lab::router();
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let arguments = [&LOAD[..], &["--trial", "300ms", "--repeat", "1000", "--skip-self-test"]].concat();
    let mut begun = Process::start(&mut command(&lab, &run, &arguments));
    let log = || std::fs::read_to_string(run.join("trials.log")).unwrap_or_default();
    let told = format!("\"invalid\":{{\"cause\":\"port-down\",\"port\":\"{}B/t1\"", lab.prefix());
    // A port that is off when the benchmark opens it is another fault.
    while !log().contains("{\"trial\":") {
        assert!(begun.is_running(), "it ended before a trial was kept: {:?}", begun.wait());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // The port may be off between two trials, which no trial has to say.
    while !log().contains(&told) {
        assert!(begun.is_running(), "it ended: {:?}", begun.wait());
        process::run(lab.command("B", "ip").args(["link", "set", "t1", "down"])).with_code(0);
        process::run(lab.command("B", "ip").args(["link", "set", "t1", "up"])).with_code(0);
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    assert!(!log().contains("device-away"), "{}", log());
}

/// A port that is renamed under way ends the benchmark, with its name and what to do.
#[test]
fn renamed_port_is_named() {
    let lab = Lab::router();
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let arguments = [&LOAD[..], &["--trial", "300ms", "--repeat", "100", "--skip-self-test"]].concat();
    let mut begun = Process::start(&mut command(&lab, &run, &arguments));
    let kept = || {
        let log = std::fs::read_to_string(run.join("trials.log")).unwrap_or_default();
        log.lines().filter(|line| line.contains("{\"trial\":")).count()
    };
    while kept() < 1 {
        assert!(begun.is_running(), "it ended before a trial was kept: {:?}", begun.wait());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    process::run(lab.command("B", "ip").args(["link", "set", "t1", "down"])).with_code(0);
    process::run(lab.command("B", "ip").args(["link", "set", "t1", "name", "x1"])).with_code(0);
    let ended = begun.wait().with_code(4);
    let prefix = lab.prefix();
    let told = format!(
        "the tester's port {prefix}B/t1 was renamed to x1; restore its name with `ip -n {prefix}B link set x1 name t1`"
    );
    assert!(ended.stderr.contains(&told) && ended.stderr.contains("--resume"), "{ended:?}");
}

/// A device that translates addresses forwards, loses nothing, and is told as one that translates.
#[test]
fn translating_device_is_told() {
    let lab = Lab::router();
    lab.filter(
        "R",
        "table ip t { chain c { type filter hook forward priority 0 ; udp dport 50001 ip saddr set 203.0.113.7 ; } ; }",
    );
    let found = document(bench(&lab, &[&LOAD[..], &["--trial", "300ms"]].concat()));
    let trial = trials(&found).last().unwrap();
    let [offered, forwarded] = ["/offered/frames", "/forwarded/frames"].map(|what| count(trial, what));
    let header = &at(trial, "/other_headers")[0];
    assert_eq!(
        (&header["code"], &header["address"]),
        (&"source-address".into(), &"203.0.113.7".into()),
        "{trial:#}"
    );
    assert_eq!(header["frames"], forwarded, "{trial:#}");
    if is_valid(trial) {
        assert_eq!(offered, forwarded);
    }
    assert!(at(&found, "/warnings").to_string().contains("headers-changed"), "{found:#}");
}

/// A router that drops one stream, as it is declared to, passes the benchmark; where it is to drop the other, it does not.
#[test]
fn declared_drop_is_judged() {
    let lab = Lab::router();
    lab.filter(
        "R",
        "table ip t { chain c { type filter hook forward priority 0 ; udp dport 5001 drop ; } ; }",
    );
    let judged = |pass: &str, drop: &str| {
        let streams = [format!("name=pass,ports={pass}"), format!("name=drop,ports={drop},expect=drop")];
        let streams = ["--stream", &streams[0], "--stream", &streams[1]];
        bench(&lab, &[&LOAD[..], &streams, &["--trial", "300ms", "--patience", "2s"]].concat())
    };
    let held = document(judged("5002", "5001"));
    if trials(&held).iter().any(is_valid) {
        assert_eq!(verdicts(&held), [("stream drop".into(), true)]);
        assert_eq!(trials(&held).iter().map(|trial| count(trial, "/lost")).sum::<u64>(), 0);
    }
    let silent = judged("5001", "5002").with_code(5).stderr;
    assert!(silent.contains("the device does not forward"), "{silent}");
}
