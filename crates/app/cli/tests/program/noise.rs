//! Cross traffic between hosts: what is sent, what arrives, and the rate of it.

use serde_json::Value;

use crate::common::lab::{FAR, FAR_V6, Lab};
use crate::common::process::{self, Process};
use crate::common::{at, count, number, schema};

/// A sink on host B that is ready; its document follows on standard output.
fn sink(lab: &Lab, document: &std::path::Path) -> Process {
    let mut sink = Process::start(lab.romer("B", ["noise", "sink", "--json"]).arg(document));
    assert_eq!(sink.line(), "receiving: UDP port 8890\n");
    sink
}

fn read(path: &std::path::Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The sink has all that the source has sent, the source sends what its rate and duration give, and the far port counts frames of
/// its code point.
#[test]
fn sources_and_sinks_agree() {
    let lab = Lab::path();
    lab.filter(
        "B",
        "table inet test {
            counter seen { }
            chain input {
                type filter hook input priority 0
                udp dport 8890 ip dscp cs1 counter name seen
            }
        }",
    );
    for target in [FAR, FAR_V6] {
        let home = tempfile::tempdir().unwrap();
        let arrived = home.path().join("sink.json");
        let sink = sink(&lab, &arrived);
        let mix = ["--mix", "imix:simple", "--rate", "1Mbit", "--duration", "2s", "--dscp", "cs1"];
        let source = lab.romer("A", ["noise", "source", target, "--json", "-"]).args(mix).output().unwrap();
        let source = process::Ended::from(source).with_code(0).document();
        sink.signal("TERM");
        assert_eq!(sink.wait().code, Some(0));
        let arrived = read(&arrived);
        schema::assert_valid(&source, "noise-source");
        schema::assert_valid(&arrived, "noise-sink");
        assert_eq!(at(&source, "/partial"), false);
        // 2 Mbit are 250,000 octets: the last packet is the first that goes beyond.
        let octets = count(&source, "/octets");
        let missing = count(&source, "/refused") + count(&source, "/skipped");
        assert!(octets <= 250_000 + 1_518, "{source:#}");
        assert!(missing > 0 || octets >= 250_000, "{source:#}");
        let rate = number(&source, "/bits_per_second");
        assert!(rate <= 1_010_000.0 && rate > 0.0, "{source:#}");
        for name in ["/packets", "/octets", "/payload_octets"] {
            assert_eq!(count(&arrived, name) + lost(&arrived, name), count(&source, name), "{target} {name}");
        }
        if target == FAR {
            assert_eq!(lab.counted("B", "inet", "seen"), count(&source, "/packets"));
        }
    }
}

/// Packets that the sink's kernel had no room for; of octets it is not known which.
fn lost(arrived: &Value, name: &str) -> u64 {
    let dropped = count(arrived, "/dropped");
    assert!(dropped == 0 || name == "/packets", "the sink was too slow: {arrived:#}");
    dropped
}

/// A trace gives sizes and pattern; an interrupt ends a source that has no duration, with what it has sent.
#[test]
fn traces_repeat_until_the_end() {
    let lab = Lab::path();
    let home = tempfile::tempdir().unwrap();
    let trace = home.path().join("one.csv");
    std::fs::write(&trace, "offset_ns,size\n0,100\n1000000,300\n").unwrap();
    let arrived = home.path().join("sink.json");
    let sink = sink(&lab, &arrived);
    let mix = format!("trace:{}", trace.display());
    let sent = home.path().join("source.json");
    let mut source = Process::start(
        lab.romer("A", ["noise", "source", FAR, "--rate", "800kbit", "--layer", "payload", "--mix", &mix])
            .arg("--json")
            .arg(&sent),
    );
    assert_eq!(source.line(), "sending: 800.0 kbit/s to 198.18.0.3:8890\n");
    // Two packets are 4 ms of the rate.
    while lab_received(&lab) < 20 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    source.signal("INT");
    let ended = source.wait();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    sink.signal("INT");
    assert_eq!(sink.wait().code, Some(130));
    let (sent, arrived) = (read(&sent), read(&arrived));
    let packets = count(&sent, "/packets");
    assert!(packets >= 20, "{sent:#}");
    assert_eq!(count(&arrived, "/packets"), packets);
    // 100 and 300 in turn.
    assert_eq!(count(&sent, "/payload_octets"), 200 * packets - 100 * (packets % 2));
}

/// A source and a measurement that start after the calibration of a test start while its sender pauses, and not before: the receiver
/// is not there when they begin to wait.
#[test]
fn sources_wait_for_calibrations() {
    let lab = Lab::path();
    let home = tempfile::tempdir().unwrap();
    let sink = sink(&lab, &home.path().join("sink.json"));
    let _responder = lab.respond(&[]);
    let noise = ["noise", "source", FAR, "--mix", "imix:simple", "--rate", "100kbit", "--after", FAR];
    let mut source = Process::start(&mut lab.romer("A", noise));
    let (mut measuring, _run) = lab.measuring(&["-c", "5", "-i", "10ms", "--after", FAR, FAR]);
    let measuring = Process::start(&mut measuring);
    let mut receiver = Process::start(&mut lab.romer("B", ["qtcp", "-c50", "-n50", "-r"]));
    assert_eq!(receiver.line(), "Waiting for QoS sender to initiate QoS connection.\n");
    let mut sender =
        Process::start_with_input(&mut lab.romer("A", ["qtcp", "-l64", "-R100", "-c50", "-n50", "-t", FAR]));
    let lines = [sender.line(), sender.line()];
    assert_eq!(lines[1], "Calibration complete. Type 'c' to continue.\n", "{lines:?}");
    assert_eq!(source.line(), format!("sending: 100.0 kbit/s to {FAR}:8890\n"));
    let measured = measuring.wait().with_code(0);
    assert!(
        measured.stderr.contains("note: waiting for the calibration of the test at 198.18.0.3\n"),
        "{measured:?}"
    );
    sender.enter("c");
    sender.wait().with_code(0);
    receiver.wait().with_code(0);
    source.signal("INT");
    assert!(source.wait().with_code(130).stdout.contains(" sent in "));
    sink.signal("TERM");
    sink.wait().with_code(0);
}

/// UDP datagrams that host B has delivered.
fn lab_received(lab: &Lab) -> u64 {
    let counters = process::run(lab.command("B", "cat").arg("/proc/net/snmp")).with_code(0).stdout;
    let line = counters.lines().filter(|line| line.starts_with("Udp: ")).nth(1).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
