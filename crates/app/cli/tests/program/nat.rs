//! Through a NAT: the router between the hosts masquerades what comes from host A.

use std::time::{Duration, Instant};

use crate::common::lab::Lab;
use crate::common::measuring::{Measuring, losses, lost_by};
use crate::common::{at, count, event_text, process, warned};

/// Host B, and the address of the router on its network.
const TARGET: &str = "198.19.0.2";
const ROUTER: &str = "198.19.0.1";

const DIRECTIONS: [&str; 4] = ["round-trip", "forward", "reverse", "both"];

/// Has the router put its own address, and a port from these, in the place of those that UDP from host A has. What is
/// said over TCP has its address too, and a mapping that is not forgotten with the others: whether a conversation
/// outlives that hangs on who speaks first.
fn masquerade(lab: &Lab, ports: &str) {
    let tcp = format!("oifname r1 meta l4proto tcp snat to {ROUTER}");
    translate(lab, &format!("oifname r1 meta l4proto udp masquerade to :{ports}\n{tcp}"));
}

/// Has the router translate addresses by these rules and no others.
fn translate(lab: &Lab, rules: &str) {
    let table = format!(
        "table ip nat {{ }}
         delete table ip nat
         table ip nat {{
             chain out {{
                 type nat hook postrouting priority srcnat
                 {rules}
             }}
         }}"
    );
    lab.filter("R", &table);
}

/// Counts at host B what comes from the router's address, and what comes from host A's own.
fn count_sources(lab: &Lab) {
    let rules = format!(
        "table ip test {{
            counter router {{ }}
            counter own {{ }}
            chain input {{
                type filter hook input priority 0
                udp dport 862 ip saddr {ROUTER} counter name router
                ip saddr 198.18.0.0/24 counter name own
            }}
        }}"
    );
    lab.filter("B", &rules);
}

/// Makes the router forget its mappings: what is masqueraded out of an interface is forgotten when that goes down.
fn forget(lab: &Lab) {
    for state in ["down", "up"] {
        process::run(lab.command("R", "ip").args(["link", "set", "r1", state])).with_code(0);
    }
}

fn ways(direction: &str) -> &'static [&'static str] {
    match direction {
        "round-trip" => &["forward", "reverse", "round_trip"],
        "forward" => &["forward"],
        "reverse" => &["reverse"],
        _ => &["forward", "reverse"],
    }
}

#[test]
fn every_direction_is_measured_through_a_nat_with_both_logs() {
    let lab = Lab::router();
    masquerade(&lab, "40000-40099");
    count_sources(&lab);
    let _responder = lab.respond(&[]);
    for direction in DIRECTIONS {
        let options = ["--direction", direction, "--count", "50", "--interval", "5ms", TARGET];
        let document = lab.measure(&options).document();
        for way in ways(direction) {
            let packets = at(&document, &format!("/{way}/packets"));
            let counts = ["/sent", "/received", "/lost", "/duplicated"].map(|name| count(packets, name));
            assert_eq!(counts, [50, 50, 0, 0], "{direction}, {way}: {document:#}");
            assert_eq!(count(&document, &format!("/{way}/delay_ns/count")), 50);
        }
        assert_eq!(at(&document, "/partial"), false, "{document:#}");
    }
    // Fifty probes of round trips, forward and both, and the associations.
    assert!(lab.counted("B", "ip", "router") >= 150);
    assert_eq!(lab.counted("B", "ip", "own"), 0);
}

/// The same, with the control conversations' ports taken from `ports` too, so that they are forgotten with the others.
fn masquerade_all(lab: &Lab, ports: &str) {
    translate(lab, &format!("oifname r1 meta l4proto {{ tcp, udp }} masquerade to :{ports}"));
}

#[test]
fn a_conversation_that_a_nat_has_forgotten_goes_on_over_another_connection() {
    let lab = Lab::router();
    let _responder = lab.respond(&[]);
    for direction in ["round-trip", "reverse"] {
        masquerade_all(&lab, "40000-40099");
        let mut measuring = Measuring::begin(&lab, TARGET, &["--direction", direction]);
        masquerade_all(&lab, "50000-50099");
        forget(&lab);
        measuring.await_told(&["the session continues over another one"]);
        measuring.await_more();
        let document = measuring.end();
        let events = at(&document, "/events").as_array().unwrap();
        let resumed = events.iter().filter(|event| event["code"] == "resumed").count();
        assert_eq!(resumed, 1, "both ends know of it, and one tells: {direction}: {events:?}");
        if direction == "round-trip" {
            // The far end saw the first probe from there, and told of it over the conversation that was no more.
            let moved = events.iter().find(|event| event["code"] == "address-change").unwrap();
            let length = moved["until_ns"].as_i64().map(|until| until - moved["at_ns"].as_i64().unwrap());
            assert!(length.is_some_and(|length| length < 1_500_000_000), "{events:#?}");
        }
        let warnings = warned(&document);
        assert!(!warnings.contains("responder-log-incomplete"), "{direction}: {warnings}");
        for way in ways(direction) {
            losses(&document, way);
        }
    }
}

#[test]
fn refused_port_is_an_event() {
    let lab = Lab::router();
    let _responder = lab.respond(&[]);
    masquerade(&lab, "40000-40099");
    let mut measuring = Measuring::begin(&lab, TARGET, &["--direction", "reverse"]);
    // What would make a new mapping does not pass until the refusals are told.
    let shut = "table ip shut { }
        delete table ip shut
        table ip shut {
            chain forward {
                type filter hook forward priority 0
                udp dport 862 drop
            }
        }";
    lab.filter("R", shut);
    masquerade(&lab, "50000-50099");
    forget(&lab);
    measuring.await_told(&[
        "did not send",
        "reported earlier ones as undeliverable, for example after a NAT mapping expired",
    ]);
    lab.filter("R", "delete table ip shut");
    measuring.await_told(&[&format!(" to {ROUTER}:500")]);
    measuring.await_more();
    let document = measuring.end();
    let events = at(&document, "/events").as_array().unwrap();
    let refused =
        events.iter().filter(|event| event["code"] == "not-sent" && event["location"] == "responder");
    assert!(refused.count() > 0, "{events:?}");
    losses(&document, "reverse");
    assert!(count(&document, "/reverse/packets/not_sent") > 0, "{document:#}");
}

#[test]
fn a_nat_that_forgets_its_mapping_is_told_and_every_direction_goes_on() {
    let lab = Lab::router();
    let _responder = lab.respond(&[]);
    for direction in DIRECTIONS {
        masquerade(&lab, "40000-40099");
        let mut measuring = Measuring::begin(&lab, TARGET, &["--direction", direction]);
        masquerade(&lab, "50000-50099");
        forget(&lab);
        measuring.await_told(&[&format!(" to {ROUTER}:500")]);
        measuring.await_more();
        let document = measuring.end();
        let events = at(&document, "/events").as_array().unwrap();
        let moved: Vec<_> = events.iter().filter(|event| event["code"] == "address-change").collect();
        assert!(
            !moved.is_empty() && moved.iter().all(|event| event["location"] == "path"),
            "{direction}: {events:?}"
        );
        for way in ways(direction) {
            let [unknown, _] = losses(&document, way);
            // What the responder sent to a mapping that was no more has that cause. A busy machine may lose one itself.
            assert!(unknown <= 3, "{direction}, {way}: {document:#}");
            assert!(
                count(&document, &format!("/{way}/packets/received")) > 100,
                "{direction}, {way}: {document:#}"
            );
        }
    }
}

/// A new mapping is one event, of the path, and nothing else is told to have happened to an address.
fn assert_one_rebinding(document: &serde_json::Value) {
    let events = at(document, "/events").as_array().unwrap();
    let moved: Vec<_> = events.iter().filter(|event| event["code"] == "address-change").collect();
    assert!(matches!(moved[..], [one] if one["location"] == "path"), "{events:#?}");
    let warnings = warned(document);
    assert!(!warnings.contains("responder-log-incomplete"), "{warnings}");
}

/// Has the router take another outer address in the place of the one it has.
fn change_outer_address(lab: &Lab) {
    take_outer_address(lab, 77, 1);
}

/// The same of outer addresses with these last octets.
fn take_outer_address(lab: &Lab, new: u8, old: u8) {
    for (change, last) in [("add", new), ("del", old)] {
        let address = format!("198.19.0.{last}/24");
        process::run(lab.command("R", "ip").args(["address", change, &address, "dev", "r1"])).with_code(0);
    }
}

/// A router that masquerades all, and may take another outer address.
fn masquerading() -> Lab {
    let lab = Lab::router();
    let keep = ["-qw", "net.ipv4.conf.r1.promote_secondaries=1"];
    process::run(lab.command("R", "sysctl").args(keep)).with_code(0);
    translate(&lab, "oifname r1 masquerade");
    lab
}

#[test]
fn new_mapping_is_one_event() {
    let lab = masquerading();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, TARGET, &["--direction", "both"]);
    change_outer_address(&lab);
    measuring.await_told(&["198.19.0.77", "the session continues over another one"]);
    // Both directions have asked anew by then.
    std::thread::sleep(Duration::from_secs(4));
    measuring.await_more();
    let told = measuring.told.clone();
    let document = measuring.end();
    assert_one_rebinding(&document);
    let notes = told.iter().filter(|told| told.contains("198.19.0.77")).count();
    assert!(notes <= 1, "{told:#?}");
    for way in ["forward", "reverse"] {
        let [unknown, _] = losses(&document, way);
        // A busy machine may lose some itself.
        assert!(unknown <= 3, "{way}: {document:#}");
    }
}

/// What was sent to two mappings that were gone soon after each other has that cause.
#[test]
fn rebinding_twice_is_cause_of_losses() {
    let lab = masquerading();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, TARGET, &["--direction", "both"]);
    let mut last = 1;
    for round in 0..3_u8 {
        let [first, second] = [100 + 2 * round, 101 + 2 * round];
        take_outer_address(&lab, first, last);
        measuring.await_told(&[&format!(" to 198.19.0.{first}:")]);
        take_outer_address(&lab, second, first);
        measuring.await_told(&[&format!(" to 198.19.0.{second}:")]);
        measuring.await_more();
        last = second;
    }
    let document = measuring.end();
    let [unknown, _] = losses(&document, "reverse");
    // A busy machine may lose some itself.
    assert!(unknown <= 3 && lost_by(&document, "reverse", "nat-rebinding") >= 30, "{document:#}");
}

#[test]
fn a_mapping_that_is_gone_right_after_the_last_probe_costs_nothing() {
    for direction in ["both", "forward", "reverse", "round-trip"] {
        let lab = masquerading();
        let _responder = lab.respond(&[]);
        let options = ["--direction", direction, "--count", "200", "--interval", "10ms", TARGET];
        let stream = ["--json-lines", "--json-lines-interval", "20ms"];
        let (mut command, home) = lab.measuring(&[&options[..], &stream].concat());
        let mut measuring = process::Process::start(&mut command);
        let all = if direction == "both" { 400 } else { 200 };
        loop {
            let line: serde_json::Value = serde_json::from_str(&measuring.line()).unwrap();
            if line["sent"].as_u64() >= Some(all) || line["type"] == "final" {
                break;
            }
        }
        change_outer_address(&lab);
        measuring.wait().with_code(0);
        let document = crate::common::lab::kept(&home);
        assert_eq!(at(&document, "/partial"), false, "{direction}: {document:#}");
        assert!(at(&document, "/early_end").is_null(), "{direction}: {document:#}");
        let events = at(&document, "/events").as_array().unwrap();
        let moved: Vec<_> = events.iter().filter(|event| event["code"] == "address-change").collect();
        // It may have come when nobody needed it any more.
        assert!(
            moved.len() <= 1 && moved.iter().all(|one| one["location"] == "path"),
            "{direction}: {events:#?}"
        );
        let warnings = warned(&document);
        assert!(!warnings.contains("responder-log-incomplete"), "{direction}: {warnings}");
        for way in ways(direction) {
            let [unknown, _] = losses(&document, way);
            assert_eq!(
                count(&document, &format!("/{way}/packets/sent")),
                200,
                "{direction}, {way}: {document:#}"
            );
            // A busy machine may lose some itself.
            assert!(unknown <= 3, "{direction}, {way}: {document:#}");
        }
    }
}

/// Has the responder answer to a mapping that is gone: what it was sent by the old one waits while it stands still. Gives when
/// that began.
fn answer_the_dead(lab: &Lab, responder: &process::Process) -> Instant {
    let begin = Instant::now();
    responder.signal("STOP");
    std::thread::sleep(Duration::from_millis(300));
    masquerade(lab, "50000-50099");
    forget(lab);
    std::thread::sleep(Duration::from_millis(100));
    responder.signal("CONT");
    begin
}

/// What was answered to a mapping that was gone is lost for that, and the log of the far end is whole. The new mapping was seen
/// within `time`.
fn assert_dead_answers_lost(document: &serde_json::Value, time: Duration) {
    let milliseconds = u64::try_from(time.as_millis()).unwrap();
    for way in ["reverse", "round_trip"] {
        let [unknown, known] = losses(document, way);
        // A hundred a second; what came to the router while its interface was down is lost there.
        let most = 100 + milliseconds / 10;
        assert!((15..=most).contains(&known) && unknown <= 8, "{way}: {document:#}");
        assert!(lost_by(document, way, "nat-rebinding") > 0, "{way}: {document:#}");
    }
    let packets = |way: &str| at(document, &format!("/{way}/packets")).clone();
    // Those that it answered by the new mapping before that was proved are in its log as well.
    assert_eq!(packets("reverse")["received"], packets("round_trip")["received"], "{document:#}");
    let events = at(document, "/events").as_array().unwrap();
    let moved: Vec<_> = events.iter().filter(|event| event["code"] == "address-change").collect();
    let [moved] = moved[..] else { panic!("{events:#?}") };
    assert!(event_text(moved).contains("between the last packet from there"), "{moved}");
    // The two packets are no further apart than that.
    let length = moved["until_ns"].as_i64().unwrap() - moved["at_ns"].as_i64().unwrap();
    assert!(u64::try_from(length / 1_000_000).unwrap() <= milliseconds, "{moved}");
    let warnings = warned(document);
    assert!(!warnings.contains("responder-log-incomplete"), "{warnings}");
}

#[test]
fn answers_to_a_gone_mapping_are_lost() {
    let lab = Lab::router();
    let responder = lab.respond(&[]);
    masquerade(&lab, "40000-40099");
    let mut measuring = Measuring::begin(&lab, TARGET, &[]);
    let begin = answer_the_dead(&lab, &responder);
    measuring.await_told(&[&format!(" to {ROUTER}:500")]);
    let time = begin.elapsed();
    measuring.await_more();
    assert_dead_answers_lost(&measuring.end(), time);
}

#[test]
fn mapping_gone_before_the_end_is_cause() {
    let lab = Lab::router();
    let responder = lab.respond(&[]);
    masquerade(&lab, "40000-40099");
    let options =
        ["--duration", "5s", "--interval", "10ms", "--json-lines", "--json-lines-interval", "100ms", TARGET];
    let (mut command, home) = lab.measuring(&options);
    let mut measuring = process::Process::start(&mut command);
    // A second before the end; keep-alives come every three seconds.
    loop {
        let line: serde_json::Value = serde_json::from_str(&measuring.line()).unwrap();
        if line["elapsed_ns"].as_i64() > Some(3_700_000_000) {
            break;
        }
    }
    let begin = answer_the_dead(&lab, &responder);
    measuring.wait().with_code(0);
    assert_dead_answers_lost(&crate::common::lab::kept(&home), begin.elapsed());
}

#[test]
fn what_arrives_by_a_nats_new_outer_address_is_not_lost_and_nobody_answers_it() {
    let lab = masquerading();
    let responder = lab.respond(&[]);
    // What host B would answer to an address that is not the session's.
    let rules = "table ip test {
            counter answers { }
            chain output {
                type filter hook output priority 0
                udp sport 862 ip daddr != 198.19.0.1 counter name answers
            }
        }";
    lab.filter("B", rules);
    let options = ["--direction", "forward", "--size", "44B"];
    let mut measuring = Measuring::begin(&lab, TARGET, &options);
    change_outer_address(&lab);
    measuring.await_told(&["198.19.0.77"]);
    measuring.await_more();
    let document = measuring.end();
    assert_one_rebinding(&document);
    let [sent, received, lost] =
        ["sent", "received", "lost"].map(|name| count(&document, &format!("/forward/packets/{name}")));
    // A busy machine may lose one itself.
    assert!(lost <= 3 && received > 100 && received + 3 >= sent, "{document:#}");
    assert_eq!(lab.counted("B", "ip", "answers"), 0, "one-way probes are answered by nobody");
    responder.signal("TERM");
    let ended = responder.wait().with_code(0);
    assert!(ended.stderr.contains("probes from an address outside their session"), "{ended:?}");
}

#[test]
fn what_came_by_a_mapping_that_was_gone_before_it_was_proved_has_arrived() {
    const ROUNDS: u32 = 3;
    let lab = Lab::router();
    let _responder = lab.respond(&[]);
    masquerade(&lab, "40000-40099");
    let mut measuring = Measuring::begin(&lab, TARGET, &[]);
    let mut between = Vec::new();
    for round in 0..ROUNDS {
        // After an address is proved there are three seconds until it is proved anew: the second is gone by then, unless the
        // machine is very busy.
        let [proved, gone, last] = [0, 1, 2].map(|place| 410 + 30 * round + 10 * place);
        for ports in [proved, gone, last] {
            masquerade(&lab, &format!("{ports}00-{ports}99"));
            forget(&lab);
            if ports == gone {
                measuring.await_more();
            } else {
                measuring.await_told(&[&format!(" to {ROUTER}:{ports}")]);
            }
        }
        between.push(format!("{ROUTER}:{gone}"));
    }
    measuring.await_more();
    let document = measuring.end();
    let events = at(&document, "/events").as_array().unwrap();
    let names = |event: &serde_json::Value| {
        let text = event_text(event);
        let others = text.split_once("meanwhile the responder received ").map(|(_, others)| others);
        others.is_some_and(|others| between.iter().any(|address| others.contains(address)))
    };
    assert!(events.iter().any(names), "{events:#?}");
    let packets = |way: &str, name: &str| count(&document, &format!("/{way}/packets/{name}"));
    for way in ["forward", "reverse", "round_trip"] {
        losses(&document, way);
    }
    // Half a second of each round came by what was gone.
    for moment in ["responder_arrival", "responder_departure"] {
        assert!(count(&document, &format!("/stamps/missing/{moment}")) <= 9, "{document:#}");
    }
    assert_eq!(packets("reverse", "received"), packets("round_trip", "received"), "{document:#}");
}
