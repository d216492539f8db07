//! Reservations between two hosts.

use super::common::lab::{FAR, Lab};
use super::common::process::{self, Process};

/// The flow's request: 64 bytes at 3 kB/s, with 28 bytes of headers.
const REQUEST: &str = "guaranteed service, 4312.5 bytes/s, bursts of 92 bytes, packets of at most 92 bytes";

/// A sender and its receiver reserve, confirm, and remove the reservation at the end.
#[test]
fn reservations_last_until_their_sender_ends() {
    let lab = Lab::path();
    let mut receiver = Process::start(&mut lab.romer("B", ["rsvp", "receive", FAR]));
    assert_eq!(receiver.line(), format!("waiting for flows to {FAR}:5003\n"));
    let flow = ["rsvp", "send", FAR, "--size", "64", "--token-rate", "3kBps"];
    let mut sender = Process::start(&mut lab.romer("A", flow));
    let announced = sender.line();
    assert_eq!(
        announced,
        format!(
            "announcing 198.18.0.2:5003 > {FAR}:5003: 4312.5 bytes/s, bursts of 92 bytes, packets of 92 bytes\n"
        )
    );
    assert_eq!(sender.line(), format!("reserved: {REQUEST}\n"));
    let reserving = receiver.line();
    assert_eq!(
        reserving,
        format!("reserving for 198.18.0.2:5003: {REQUEST}; queueing delay at most 21.3 ms\n")
    );
    assert_eq!(receiver.line(), "reserved for 198.18.0.2:5003, confirmed by 198.18.0.2\n");
    sender.signal("TERM");
    let ended = sender.wait().with_code(0);
    assert_eq!(ended.stderr, "");
    assert_eq!(receiver.line(), "the flow 198.18.0.2:5003 has ended\n");
    receiver.signal("INT");
    assert_eq!(receiver.wait().with_code(130).stderr, "");
}

/// A router without RSVP is reported, and the end of the receiver is known to the sender.
#[test]
fn routers_without_rsvp_are_reported() {
    let lab = Lab::router();
    let far = "198.19.0.2";
    let mut receiver =
        Process::start(&mut lab.romer("B", ["rsvp", "receive", far, "--service", "controlled-load"]));
    assert_eq!(receiver.line(), format!("waiting for flows to {far}:5003\n"));
    let mut sender = Process::start(&mut lab.romer("A", ["rsvp", "send", far]));
    assert!(sender.line().starts_with("announcing 198.18.0.2:5003 > "));
    let reserved = sender.line();
    assert!(reserved.starts_with("reserved: controlled load, "), "{reserved}");
    assert!(receiver.line().starts_with("reserving for 198.18.0.2:5003: controlled load, "));
    assert!(receiver.line().starts_with("reserved for 198.18.0.2:5003"));
    receiver.signal("TERM");
    let ended = receiver.wait().with_code(0);
    assert!(ended.stderr.contains("note: a router on the path has no RSVP"), "{}", ended.stderr);
    assert_eq!(sender.line(), "the reservation was removed\n");
    sender.signal("TERM");
    sender.wait().with_code(0);
}

/// Messages that routers must read have the option Router Alert and TTL 255 on the wire: those to the receiver, and none of those
/// to the sender.
#[test]
fn messages_downstream_have_router_alert() {
    let lab = Lab::path();
    let alert = "ip protocol 46 ip ttl 255 @nh,0,8 0x46 @nh,160,32 0x94040000 counter name alert";
    let plain = "ip protocol 46 ip ttl 255 @nh,0,8 0x45 counter name plain";
    let all = "ip protocol 46 counter name every";
    for host in ["A", "B"] {
        lab.filter(
            host,
            &format!(
                "table ip test {{ counter alert {{ }}; counter plain {{ }}; counter every {{ }}; \
                 chain input {{ type filter hook input priority 0; {alert}; {plain}; {all}; }}; }}"
            ),
        );
    }
    let mut receiver = Process::start(&mut lab.romer("B", ["rsvp", "receive", FAR]));
    receiver.line();
    let mut sender = Process::start(&mut lab.romer("A", ["rsvp", "send", FAR]));
    sender.line();
    receiver.line();
    assert!(receiver.line().starts_with("reserved for 198.18.0.2:5003"), "it is confirmed");
    let counted = |host| ["alert", "plain", "every"].map(|counter| lab.counted(host, "ip", counter));
    let [alert, plain, all] = counted("B");
    assert!(alert >= 2 && plain == 0 && all == alert, "a Path and a ResvConf: {alert}, {plain}, {all}");
    let [alert, plain, all] = counted("A");
    assert!(alert == 0 && plain >= 1 && all == plain, "a Resv: {alert}, {plain}, {all}");
    for end in [sender, receiver] {
        end.signal("TERM");
        end.wait().with_code(0);
    }
}

/// Without an answer each end fails with code 5 and names the protocol.
#[test]
fn missing_ends_are_reported() {
    let lab = Lab::path();
    for (host, words, says) in [
        ("A", "send", "no reservation (198.18.0.3:5003): no receiver has reserved within 1 s"),
        ("B", "receive", "no flow (198.18.0.3:5003): no sender has announced one within 1 s"),
    ] {
        let ended = process::run(&mut lab.romer(host, ["rsvp", words, FAR, "--waiting-time", "1s"]));
        let stderr = ended.with_code(5).stderr;
        assert!(stderr.contains(says) && stderr.contains("IP protocol 46"), "{stderr}");
    }
}

/// Packets that are longer than the MTU are a note, with the size that fits.
#[test]
fn fragmented_packets_are_noted() {
    let lab = Lab::path();
    for (size, is_noted) in [("3000", true), ("1472", false)] {
        let flow = ["rsvp", "send", FAR, "--size", size, "--waiting-time", "1s"];
        let stderr = process::run(&mut lab.romer("A", flow)).with_code(5).stderr;
        let note = "note: packets of 3028 bytes exceed the MTU of 1500 bytes";
        assert_eq!(stderr.contains(note), is_noted, "{stderr}");
        assert_eq!(stderr.contains("use payloads of 1472 bytes or less"), is_noted, "{stderr}");
    }
}
