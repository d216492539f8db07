//! The router of a lab that reserves bandwidth.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::count;
use crate::common::lab::Lab;
use crate::common::process::{self, Process};

/// Host B behind the router.
const FAR: &str = "198.19.0.2";
/// Packets of 128 bytes: 100 of payload, 28 of headers. At 12.5 kB/s they have exactly the rate of the line.
const WHOLE_LINE: [&str; 4] = ["--size", "100", "--token-rate", "12500Bps"];

/// A router with lines of 16,000 bytes/s that is ready.
fn router(lab: &Lab) -> Process {
    let mut command = process::romer(["lab", "case", "rsvp", "--rate", "128kbit", "--prefix", lab.prefix()]);
    let mut router = Process::start(&mut command);
    assert_eq!(router.line(), "reserving by RSVP: 128.0 kbit/s of IP packets in each direction\n");
    router
}

fn receiver(lab: &Lab, port: &str) -> Process {
    let mut receiver = Process::start(&mut lab.romer("B", ["rsvp", "receive", FAR, "--port", port]));
    assert_eq!(receiver.line(), format!("waiting for flows to {FAR}:{port}\n"));
    receiver
}

fn sender(lab: &Lab, port: &str, traffic: [&str; 4]) -> Process {
    let mut command = lab.romer("A", ["rsvp", "send", FAR, "--port", port]);
    let mut sender = Process::start(command.args(traffic));
    assert!(sender.line().starts_with(&format!("announcing 198.18.0.2:{port} > {FAR}:{port}: ")));
    sender
}

/// Reads lines of the router until one begins so: refused requests are repeated with each refresh.
fn await_line(router: &mut Process, begin: &str) {
    loop {
        let line = router.line();
        assert!(line.starts_with(begin) || line.starts_with("refused: "), "{line:?}");
        if line.starts_with(begin) {
            return;
        }
    }
}

/// What `tc` says of the router's interface towards host B.
fn tc(lab: &Lab, what: &str) -> String {
    process::run(lab.command("R", "tc").args([what, "show", "dev", "r1"])).with_code(0).stdout
}

/// A reservation may have the whole rate of the line. While it is there, the smallest further one is refused with code 1 value 2, and
/// admitted when the first has ended. The classes of the interface follow.
#[test]
fn lines_are_reserved_once() {
    let lab = Lab::router();
    let mut router = router(&lab);
    let receivers = ["5003", "5004"].map(|port| receiver(&lab, port));
    let [mut first_receiver, mut second_receiver] = receivers;
    let mut first = sender(&lab, "5003", WHOLE_LINE);
    assert!(first.line().starts_with("reserved: guaranteed service, 16000 bytes/s"));
    assert_eq!(
        router.line(),
        "reserved: 198.18.0.2:5003 > 198.19.0.2:5003: guaranteed service, 16000 bytes/s\n"
    );
    let classes = tc(&lab, "class");
    assert!(classes.contains("class htb 7276:2010 parent 7276:1 "), "{classes}");
    let listed = process::run(&mut lab.romer("R", ["qtcp", "--flows"])).with_code(0).stdout;
    let flow = "r1: 198.18.0.2:5003 > 198.19.0.2:5003: guaranteed, 16,000 bytes/s, 0 bytes, 0 packets sent, 0 dropped\n";
    assert_eq!(listed, flow);
    assert!(first_receiver.line().starts_with("reserving for 198.18.0.2:5003: "));
    assert!(first_receiver.line().starts_with("reserved for 198.18.0.2:5003, confirmed by "));

    let second = sender(&lab, "5004", ["--size", "100", "--token-rate", "1Bps"]);
    assert_eq!(
        router.line(),
        "refused: 198.18.0.2:5004 > 198.19.0.2:5004: guaranteed service, 1.28 bytes/s: the requested bandwidth is not available \
         (code 1, value 2)\n"
    );
    assert!(second_receiver.line().starts_with("reserving for 198.18.0.2:5004: "));
    first.signal("TERM");
    first.wait().with_code(0);
    await_line(&mut router, "removed: 198.18.0.2:5003 > ");
    second_receiver.signal("TERM");
    let note = second_receiver.wait().with_code(0).stderr;
    assert!(
        note.contains("198.19.0.1 reports: the requested bandwidth is not available (code 1, value 2)"),
        "{note}"
    );

    // Both ends start anew, so that neither waits for its next refresh.
    second.signal("TERM");
    second.wait().with_code(0);
    let mut again = receiver(&lab, "5004");
    let mut second = sender(&lab, "5004", WHOLE_LINE);
    assert!(second.line().starts_with("reserved: guaranteed service, 16000 bytes/s"));
    assert!(again.line().starts_with("reserving for 198.18.0.2:5004: "));
    await_line(&mut router, "reserved: 198.18.0.2:5004 > ");
    router.signal("TERM");
    router.wait().with_code(0);
    assert!(!tc(&lab, "qdisc").contains("htb"), "{}", tc(&lab, "qdisc"));
}

/// A router that is killed leaves no queue. While one runs, the router has no other case and no second one of them.
#[test]
fn killed_routers_leave_no_queues() {
    let lab = Lab::router();
    let before = tc(&lab, "qdisc");
    let router = router(&lab);
    for case in ["none", "rsvp"] {
        let second = process::run(&mut process::romer(["lab", "case", case, "--prefix", lab.prefix()]));
        let stderr = second.with_code(4).stderr;
        assert!(stderr.contains("the router is in use"), "{stderr}");
    }
    assert!(tc(&lab, "qdisc").contains("qdisc htb 7276: root "));
    router.signal("KILL");
    assert_eq!(router.wait().code, None);
    let give_up = Instant::now() + Duration::from_secs(20);
    while tc(&lab, "qdisc") != before {
        assert!(Instant::now() < give_up, "{}", tc(&lab, "qdisc"));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Under cross traffic above the rate of the line, a call with a reservation loses no packet, and one without loses some: the queue of
/// best effort is full after a quarter of the call, and then drops every fourth packet. The cross traffic ends after the call, so that
/// the control connection transfers the rest.
#[test]
fn reservations_protect_calls() {
    let lab = Lab::router();
    let _router = router(&lab);
    let _sink = Process::start(&mut lab.romer("B", ["noise", "sink", "--quiet"]));
    for reserved in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("got.json");
        let mut command = lab.romer("B", ["qtcp", "-r", "-c20", "-n200", "-k0", "--json"]);
        let mut receiver = Process::start(command.arg(&file));
        assert_eq!(receiver.line(), "Waiting for QoS sender to initiate QoS connection.\n");
        let noise = ["noise", "source", FAR, "--mix", "imix:simple", "--rate", "150kbit", "--after", FAR];
        let _source = Process::start(lab.romer("A", noise).args(["--duration", "6s"]));
        let call = ["qtcp", "-t", FAR, "-l64", "-R3", "-c20", "-n200", "-y"];
        let mut sender = lab.romer("A", call);
        if reserved {
            sender.args(["-S", "GR"]);
        }
        process::run(&mut sender).with_code(0);
        receiver.wait().with_code(0);
        let document: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(count(&document, "/measured/lost") == 0, reserved, "{document:#}");
    }
}
