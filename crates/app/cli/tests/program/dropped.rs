//! What a host's own queue drops after it has taken it: it did not leave, and the path has not lost it.

use serde_json::Value;

use crate::common::lab::{FAR, FAR_V6, Lab};
use crate::common::{at, count, process, warned};

/// The interface of a host of a path.
fn interface(host: &str) -> &'static str {
    if host == "A" { "t0" } else { "t1" }
}

/// Has the interface of `host` send some 100 packets of 1,000 octets a second, out of a queue of six that drops the oldest.
fn narrow(lab: &Lab, host: &str) {
    for queue in
        ["root handle 1: tbf rate 850kbit burst 3000 limit 100000", "parent 1:1 pfifo_head_drop limit 6"]
    {
        let arguments = ["qdisc", "add", "dev", interface(host)].into_iter().chain(queue.split(' '));
        process::run(lab.command(host, "tc").args(arguments)).with_code(0);
    }
}

/// Has the path lose every tenth packet on the way there, and every tenth on the way back, and count them.
const LOSING: &str = "iifname e0 udp dport 862 numgen inc mod 10 0 counter name there drop
    iifname e1 udp sport 862 numgen inc mod 10 0 counter name back drop";

/// What the queue of the host at `side` dropped is not among the losses, which are those of the path.
fn assert_not_lost(document: &Value, way: &str, side: &str, lost_on_path: u64, what: &str) {
    let packets = |way: &str, name: &str| count(document, &format!("/{way}/packets/{name}"));
    let lost = packets(way, "lost");
    // A busy machine may lose some itself.
    let nearly = lost_on_path.saturating_sub(2)..=lost_on_path + 4;
    assert!(nearly.contains(&lost), "{what}: {lost} of {lost_on_path}: {document:#}");
    let interface = interface(if side == "sender" { "A" } else { "B" });
    let events = at(document, "/events").as_array().unwrap();
    let own = |event: &&Value| {
        event["code"] == "not-sent"
            && event["location"] == side
            && event["detail"] == "queue-drops"
            && event["queue"] == "pfifo_head_drop"
            && event["interface"] == interface
    };
    let told: u64 = events.iter().filter(own).map(|event| event["datagrams"].as_u64().unwrap()).sum();
    assert!(told >= 100, "{what}: {events:#?}");
    let not_sent = packets(way, "not_sent");
    assert!(not_sent >= told && not_sent <= told + 10, "{what}: {document:#}");
    assert!(warned(document).contains("did not leave"), "{what}: {document:#}");
}

#[test]
fn what_a_hosts_own_queue_drops_after_it_took_it_did_not_leave_and_the_paths_losses_beside_it_are_lost() {
    for (host, side, directions) in
        [("B", "responder", ["round-trip", "reverse"]), ("A", "sender", ["round-trip", "forward"])]
    {
        let lab = Lab::path();
        lab.bridge(LOSING);
        narrow(&lab, host);
        let _responder = lab.respond(&[]);
        let way = if side == "sender" { "forward" } else { "reverse" };
        let counter = if side == "sender" { "there" } else { "back" };
        for direction in directions {
            let before = lab.counted("E", "bridge", counter);
            let stream = ["--interval", "5ms", "--size", "1000B", "--duration", "3s"];
            let document = lab.measure(&[&stream[..], &["--direction", direction, FAR]].concat()).document();
            let lost = lab.counted("E", "bridge", counter) - before;
            assert_not_lost(&document, way, side, lost, &format!("{direction}, {host}"));
        }
    }
}

/// Probes that are damaged on the way are among the lost, though the kernel counts them like those for which a socket has no room,
/// and the far kernel's checksum errors are reported beside them.
#[test]
fn checksum_errors_beside_losses() {
    let lab = Lab::path();
    lab.bridge("iifname e0 udp dport 862 numgen inc mod 10 0 counter name there udp checksum set 0xbeef");
    let _responder = lab.respond(&[]);
    for target in [FAR, FAR_V6] {
        let run = lab.measure(&["--count", "100", "--interval", "2ms", target]);
        let document = run.document();
        let [lost, errors, own] =
            ["/forward/packets/lost", "/checksum_errors/responder", "/checksum_errors/sender"]
                .map(|name| count(&document, name));
        assert!((9..=11).contains(&lost), "{document:#}");
        assert_eq!([errors, own], [lost, 0], "{target}");
        let warnings = warned(&document);
        assert!(!warnings.contains("receive-buffer-overflow"), "{warnings}");
        let is_overflow = |event: &Value| event["code"] == "receive-overflow";
        assert!(!at(&document, "/events").as_array().unwrap().iter().any(is_overflow), "{document:#}");
        let [sent, ratio] = ["/forward/packets/sent", "/forward/loss/ratio"].map(|name| at(&document, name));
        assert!((ratio.as_f64().unwrap() * sent.as_f64().unwrap() - lost as f64).abs() < 0.5, "{document:#}");
        let words = format!("the responder's host dropped {lost} datagrams with a wrong UDP checksum");
        assert!(warnings.contains(&words), "{warnings}");
    }
    let clean = Lab::path();
    let _responder = clean.respond(&[]);
    let document = clean.measure(&["--count", "10", "--interval", "2ms", FAR]).document();
    assert_eq!(at(&document, "/checksum_errors"), &serde_json::json!({"sender": 0, "responder": 0}));
    assert!(!warned(&document).contains("checksum-errors"));
}
