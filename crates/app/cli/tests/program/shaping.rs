//! Shaping by the kernel: it is there while a measurement runs, and the interface is as before after every end.

use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::lab::{FAR, FAR_V6, Lab};
use crate::common::process::{self, Process};
use crate::common::{at, count};

/// The interface of host A towards host B.
const INTERFACE: &str = "t0";
/// A packet of 64 bytes every 4 ms.
const BUCKET: &str = "token-bucket:16kBps,64B";

/// What `tc` says of the interface of host A.
fn tc(lab: &Lab, arguments: &[&str]) -> String {
    process::run(lab.command("A", "tc").args(arguments).args(["dev", INTERFACE])).with_code(0).stdout
}

fn disciplines(lab: &Lab) -> String {
    tc(lab, &["qdisc", "show"])
}

/// A measurement that is shaped, with the folder of its run.
fn shaped(lab: &Lab, shaper: &str, target: &str) -> (Process, TempDir) {
    let (mut command, home) =
        lab.measuring(&["--traffic", BUCKET, "--direction", "forward", "--shape", shaper]);
    command.args(["--duration", "100s", "--json-lines", "--json-lines-interval", "20ms", target]);
    (Process::start(&mut command), home)
}

/// Reads its lines until it has sent so many probes.
fn await_sent(measuring: &mut Process, probes: u64) {
    loop {
        let line = measuring.line();
        assert!(!line.is_empty(), "the measurement has ended");
        let line: Value = serde_json::from_str(&line).unwrap();
        if at(&line, "/type") == "interval" && count(&line, "/sent") >= probes {
            return;
        }
    }
}

/// Waits until the interface has these disciplines.
fn await_disciplines(lab: &Lab, expected: &str, what: &str) {
    let give_up = Instant::now() + Duration::from_secs(20);
    while disciplines(lab) != expected {
        assert!(Instant::now() < give_up, "{what}: {}", disciplines(lab));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Packets that have passed the class of the flow.
fn shaped_packets(lab: &Lab) -> u64 {
    let text = tc(lab, &["-s", "class", "show"]);
    let words: Vec<&str> = text.split_whitespace().collect();
    let place = words.iter().position(|word| *word == "pkt").unwrap_or_else(|| panic!("no class: {text}"));
    words[place - 1].parse().unwrap()
}

/// Both shapers are installed while a measurement runs, for both families, and removed after an interrupt and after a kill. The
/// class of htb has the probes.
#[test]
fn shapers_are_removed_after_every_end() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let before = disciplines(&lab);
    for (shaper, discipline, target) in
        [("kernel", "htb", FAR), ("kernel:htb", "htb", FAR_V6), ("kernel:tbf", "tbf", FAR)]
    {
        for signal in ["INT", "KILL"] {
            let (mut measuring, _home) = shaped(&lab, shaper, target);
            await_sent(&mut measuring, 50);
            let during = disciplines(&lab);
            assert!(during.starts_with(&format!("qdisc {discipline} 72")), "{shaper}: {during}");
            if discipline == "htb" {
                assert!(shaped_packets(&lab) >= 40, "{shaper}, {target}");
            }
            measuring.signal(signal);
            measuring.wait();
            await_disciplines(&lab, &before, &format!("{shaper} after {signal}"));
        }
    }
}

/// A discipline that somebody has set is there again afterwards, with its handle and options, also after a kill.
#[test]
fn former_disciplines_are_restored() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for former in ["5: pfifo limit 77", "6: tbf rate 50mbit burst 20000 limit 900000"] {
        let set = ["qdisc", "replace", "dev", INTERFACE, "root", "handle"];
        process::run(lab.command("A", "tc").args(set).args(former.split(' '))).with_code(0);
        let before = disciplines(&lab);
        for signal in ["INT", "KILL"] {
            let (mut measuring, _home) = shaped(&lab, "kernel", FAR);
            await_sent(&mut measuring, 10);
            assert!(disciplines(&lab).starts_with("qdisc htb 72"), "{}", disciplines(&lab));
            measuring.signal(signal);
            measuring.wait();
            await_disciplines(&lab, &before, &format!("{former} after {signal}"));
        }
    }
}

/// A flow that is shaped is listed with its service, rate and packets; without one, nothing is.
#[test]
fn shaped_flows_are_listed() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let flows = || process::run(&mut lab.romer("A", ["qtcp", "--flows"])).with_code(0).stdout;
    assert!(flows().starts_with("no flow: "));
    for target in [FAR, FAR_V6] {
        let (mut command, _home) = lab.measuring(&["--traffic", BUCKET, "--direction", "forward"]);
        command.args(["--shape", "kernel:htb", "--service", "guaranteed", "--duration", "100s"]);
        command.args(["--json-lines", "--json-lines-interval", "20ms", target]);
        let mut measuring = Process::start(&mut command);
        await_sent(&mut measuring, 50);
        let listed = flows();
        let rate = if target == FAR { "26,500" } else { "31,500" };
        assert!(listed.starts_with("t0: *:"), "{listed}");
        assert!(listed.contains(target), "{listed}");
        assert!(listed.contains(&format!(": guaranteed, {rate} bytes/s, ")), "{listed}");
        let packets = listed.split(", ").find_map(|part| part.strip_suffix(" packets sent")).unwrap();
        assert!(packets.parse::<u64>().unwrap() >= 40, "{listed}");
        measuring.signal("INT");
        measuring.wait();
    }
    assert!(flows().starts_with("no flow: "));
}

/// The run records what shaped it, and every probe arrives with a departure of the kernel's.
#[test]
fn runs_record_their_shaper() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = lab.measure(&["--traffic", BUCKET, "--shape", "kernel:htb", "--count", "100", FAR]);
    let document = run.document();
    let shaping = at(&document, "/traffic/kernel_shaping");
    assert_eq!(at(shaping, "/discipline"), "htb");
    assert_eq!(at(shaping, "/interface"), INTERFACE);
    // 64 bytes of payload are a frame of 106 without its check sequence.
    assert_eq!(count(shaping, "/octets_per_second"), 26_500);
    assert_eq!(count(shaping, "/lead_ns"), 16_000_000);
    assert_eq!(count(&document, "/round_trip/packets/received"), 100);
    assert!(run.rows().iter().all(|row| row.stamps[0].is_some()), "a departure has no stamp");
}

/// A discipline with classes of somebody else's is not replaced, and a right that is missing is named.
#[test]
fn what_cannot_be_restored_is_not_replaced() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let arguments = ["--traffic", BUCKET, "--shape", "kernel", "--count", "10", FAR];
    let (mut allowed, _home) = lab.measuring(&arguments);
    let without = ["--bounding-set=-net_admin", "--inh-caps=-net_admin", process::PROGRAM, "measure"];
    let home = tempfile::tempdir().unwrap();
    let mut refused = lab.command("A", "setpriv");
    refused.args(without).args(arguments).arg("--no-route").arg("--out").arg(home.path().join("run"));
    let before = disciplines(&lab);
    let ended = process::run(&mut refused).with_code(4);
    assert!(ended.stderr.contains("cannot shape the stream (--shape, t0)"), "{ended:?}");
    assert!(ended.stderr.contains("CAP_NET_ADMIN is missing"), "{ended:?}");
    assert_eq!(disciplines(&lab), before);
    let set = ["qdisc", "add", "dev", INTERFACE, "root", "handle", "5:", "htb"];
    process::run(lab.command("A", "tc").args(set)).with_code(0);
    let ended = process::run(&mut allowed).with_code(4);
    assert!(ended.stderr.contains("its queueing discipline, htb 5:, cannot be restored"), "{ended:?}");
    assert!(disciplines(&lab).starts_with("qdisc htb 5: root"), "{}", disciplines(&lab));
}
