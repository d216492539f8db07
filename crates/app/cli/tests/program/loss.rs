//! Packets that nftables drops or doubles between the hosts: how many is known from its counters, where from the
//! side of the rule. And those that a host dropped last, after which no packet tells of it.

use std::time::Duration;

use serde_json::Value;

use crate::common::lab::{FAR, FAR_V6, Lab, kept};
use crate::common::measuring::{Measuring, instrument_drops, losses};
use crate::common::process::{self, Process};
use crate::common::{at, count, warned};

fn measured(lab: &Lab, probes: u64, target: &str) -> Value {
    let count = probes.to_string();
    lab.measure(&["--count", &count, "--interval", "2ms", "--waiting-time", "500ms", target]).document()
}

fn lost(document: &Value, direction: &str) -> u64 {
    let packets = at(document, &format!("/{direction}/packets"));
    let [sent, received, lost] = ["/sent", "/received", "/lost"].map(|name| count(packets, name));
    assert_eq!(sent, received + lost, "{direction}: {packets}");
    lost
}

#[test]
fn every_tenth_lost_on_the_way_there_is_told_as_that() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    lab.bridge("iifname e0 udp dport 862 numgen inc mod 10 0 counter name there drop");
    let document = measured(&lab, 200, FAR);
    assert_eq!(lost(&document, "forward"), 20);
    assert_eq!(lab.counted("E", "bridge", "there"), 20);
    assert_eq!(lost(&document, "reverse"), 0);
    assert_eq!(count(&document, "/reverse/packets/sent"), 180);
    assert_eq!(lost(&document, "round_trip"), 20);
    let loss = at(&document, "/forward/loss");
    assert_eq!(loss["ratio"], 0.1);
    assert_eq!(loss["periods"], Value::from(vec![1; 20]));
    assert_eq!(loss["distances"], Value::from(vec![10; 19]));
}

#[test]
fn random_losses_on_the_way_back_are_as_many_as_the_kernel_dropped() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    lab.bridge("iifname e1 udp sport 862 numgen random mod 4 0 counter name back drop");
    let document = measured(&lab, 200, FAR);
    assert_eq!(lost(&document, "forward"), 0);
    assert_eq!(lost(&document, "reverse"), lab.counted("E", "bridge", "back"));
    assert_eq!(lost(&document, "round_trip"), lost(&document, "reverse"));
}

#[test]
fn losses_in_both_directions_are_told_apart() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    lab.bridge(
        "iifname e0 udp dport 862 numgen inc mod 5 1 counter name there drop
         iifname e1 udp sport 862 numgen inc mod 8 3 counter name back drop",
    );
    let document = measured(&lab, 200, FAR);
    let [there, back] = ["there", "back"].map(|counter| lab.counted("E", "bridge", counter));
    assert_eq!((there, back), (40, 20));
    assert_eq!((lost(&document, "forward"), lost(&document, "reverse")), (there, back));
    assert_eq!(lost(&document, "round_trip"), there + back);
}

#[test]
fn a_burst_lost_in_a_router_is_one_period_in_the_other_family_too() {
    let lab = Lab::router();
    let _responder = lab.respond(&[]);
    // Sequence numbers 20 to 29.
    lab.filter(
        "R",
        "table inet test {
            counter there { }
            chain forward {
                type filter hook forward priority 0
                iifname r0 udp dport 862 @th,64,32 20-29 counter name there drop
            }
        }",
    );
    for (target, so_far) in [("198.19.0.2", 10), ("2001:2:0:19::2", 20)] {
        let document = measured(&lab, 100, target);
        assert_eq!(lab.counted("R", "inet", "there"), so_far);
        assert_eq!((lost(&document, "forward"), lost(&document, "reverse")), (10, 0));
        assert_eq!(at(&document, "/forward/loss/periods"), &Value::from(vec![10]));
    }
}

#[test]
fn nothing_but_losses_is_a_result_where_the_far_end_keeps_a_log() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    lab.bridge("iifname e0 udp dport 862 counter name there drop");
    let document = measured(&lab, 20, FAR_V6);
    assert_eq!(lost(&document, "forward"), 20);
    assert_eq!(lab.counted("E", "bridge", "there"), 20);
    assert_eq!(count(&document, "/reverse/packets/sent"), 0);
    assert_eq!(at(&document, "/forward/loss/ratio"), 1.0);
    assert!(at(&document, "/forward/delay_ns/mean").is_null());
}

#[test]
fn copies_are_counted_in_the_direction_that_made_them_and_are_not_received_twice() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let double = |from: &str, to: &str, port: &str, every: u32| {
        lab.filter(
            "E",
            &format!(
                "table netdev test {{
                    counter {from} {{ }}
                    chain {from} {{
                        type filter hook ingress device {from} priority 0
                        udp {port} 862 @th,64,32 != 0x726f6d65 numgen inc mod {every} 0 counter name {from} dup to {to}
                    }}
                }}"
            ),
        );
    };
    double("e0", "e1", "dport", 4);
    let document = measured(&lab, 100, FAR);
    assert_eq!(lab.counted("E", "netdev", "e0"), 25);
    assert_eq!(count(&document, "/forward/packets/duplicated"), 25);
    assert_eq!(count(&document, "/forward/packets/received"), 100);
    assert_eq!((lost(&document, "forward"), count(&document, "/round_trip/packets/lost")), (0, 0));
    assert_eq!(count(&document, "/forward/duplicates/spacing_ns/count"), 25);
    lab.filter("E", "delete table netdev test");
    double("e1", "e0", "sport", 5);
    let document = measured(&lab, 100, FAR);
    assert_eq!(lab.counted("E", "netdev", "e1"), 20);
    assert_eq!(count(&document, "/forward/packets/duplicated"), 0);
    assert_eq!(count(&document, "/reverse/packets/duplicated"), 20);
    assert_eq!(count(&document, "/round_trip/packets/received"), 100);
}

#[test]
fn what_found_the_responders_socket_full_up_to_the_end_is_not_lost() {
    let lab = Lab::path();
    // Without the right to more, its socket has the room that the system gives everybody.
    let without_rights = ["--bounding-set=-net_admin", "--inh-caps=-net_admin", process::PROGRAM, "respond"];
    let mut responder = Process::start(lab.command("B", "setpriv").args(without_rights));
    assert!(responder.line().starts_with("responding: "));
    let measuring = Measuring::closely(&lab, FAR, &["--direction", "forward"]);
    responder.signal("STOP");
    std::thread::sleep(Duration::from_secs(4));
    measuring.process.signal("INT");
    // Nothing is sent any more when it goes on.
    std::thread::sleep(Duration::from_secs(2));
    responder.signal("CONT");
    measuring.process.wait().with_code(130);
    let document = kept(&measuring.home);
    let (drops, lost) =
        (instrument_drops(&document, "forward"), losses(&document, "forward").iter().sum::<u64>());
    // Those that a busy machine drops in its queues besides.
    assert!(drops > 1_000 && lost * 20 < drops, "{document:#}");
}

#[test]
fn a_probe_whose_number_was_altered_on_the_way_is_lost_and_no_other_is_taken_for_late() {
    let lab = Lab::router();
    let _responder = lab.respond(&[]);
    // Probe 100 gets a number that none has, and no checksum tells of it.
    let rules = "add table inet altering; \
                 add chain inet altering forward { type filter hook forward priority 0; }; \
                 add rule inet altering forward iifname \"r0\" meta l4proto udp @th,64,32 100 @th,64,8 set 64 @th,48,16 set 0";
    process::run(lab.command("R", "nft").arg(rules)).with_code(0);
    for direction in ["round-trip", "both"] {
        let asked =
            ["measure", "198.19.0.2", "--count", "500", "--interval", "2ms", "--json", "-", "--no-route"];
        let mut command = lab.romer("A", &[&asked[..], &["--direction", direction]].concat());
        let document: Value = serde_json::from_str(&process::run(&mut command).with_code(0).stdout).unwrap();
        let packets = |name: &str| count(&document, &format!("/forward/packets/{name}"));
        assert_eq!([packets("sent"), packets("reordered")], [500, 0], "{document:#}");
        // One-way probes have no such number there.
        let expected = if direction == "both" { 0 } else { 1 };
        assert!((expected..=expected + 2).contains(&packets("lost")), "{document:#}");
        let told = "1 datagram arrived at the responder with a sequence number that was not sent: altered on the path";
        let is_told = warned(&document).contains(told);
        assert_eq!(is_told, direction == "round-trip", "{document:#}");
    }
}

#[test]
fn probes_of_one_direction_that_the_path_alters_are_lost_and_told_as_altered() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    // Half of the tag: what comes names the session, and is none of its probes.
    // The checksum goes with it, as where whoever alters a packet makes its checksum anew.
    lab.bridge(
        "iifname e0 udp dport 862 numgen inc mod 10 0 @th,112,16 set 0x5a5a udp checksum set 0 counter name there",
    );
    let options = ["--direction", "forward", "--count", "100", "--interval", "2ms"];
    let document = lab.measure(&[&options[..], &[FAR]].concat()).document();
    let altered = lab.counted("E", "bridge", "there");
    assert_eq!((lost(&document, "forward"), altered), (10, 10));
    let warnings = warned(&document);
    assert!(
        warnings
            .contains("10 datagrams arrived at the responder with this session's identifier and a wrong tag"),
        "{warnings}"
    );
}
