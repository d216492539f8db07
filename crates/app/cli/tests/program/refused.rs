//! What the far host refuses to send, or has no way for: told with when it was, and not sent.

use std::time::Duration;

use serde_json::Value;

use crate::common::lab::{FAR, Lab};
use crate::common::measuring::{Measuring, losses, lost_by};
use crate::common::{at, count, process, warned};

/// Host B, beyond the router, and the router's address there.
const BEYOND: &str = "198.19.0.2";
const ROUTER: &str = "198.19.0.1";

/// Has host B send no test packets.
const FORBIDDEN: &str = "table inet refusing {
        chain output {
            type filter hook output priority 0
            udp sport 862 drop
        }
    }";

/// The real-time clock, which both hosts of a laboratory read.
fn clock_ns() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_nanos()).unwrap()
}

/// Something is so for a second. Gives when it was: no earlier, and no later.
fn for_a_second(begin: impl FnOnce(), end: impl FnOnce()) -> [i64; 2] {
    let before = clock_ns();
    begin();
    std::thread::sleep(Duration::from_secs(1));
    end();
    [before, clock_ns()]
}

/// Of a hundred a second so many did not leave the far host. They are no losses of the way back; their round trips are lost.
fn assert_refused(document: &Value, direction: &str) {
    let packets = |way: &str, name: &str| count(document, &format!("/{way}/packets/{name}"));
    let not_sent = packets("reverse", "not_sent");
    assert!(not_sent >= 80, "{direction}: {document:#}");
    let ways: &[&str] = if direction == "round-trip" { &["reverse", "round_trip"] } else { &["reverse"] };
    for way in ways {
        let [unknown, _] = losses(document, way);
        // A busy machine may lose one itself.
        assert!(unknown <= 3, "{direction}: {document:#}");
    }
    assert_eq!(at(document, "/limits/0/passed"), direction != "round-trip", "{direction}: {document:#}");
    let warnings = warned(document);
    assert!(warnings.contains("did not leave the responder's host"), "{direction}: {warnings}");
    if direction == "round-trip" {
        assert!(lost_by(document, "round_trip", "sender-queue") >= 80, "{document:#}");
    }
}

/// The far host's refusals lie within this time, and are not told as of when they were over.
fn assert_dated(document: &Value, direction: &str, [before, after]: [i64; 2]) {
    let events = at(document, "/events").as_array().unwrap();
    let refused = |event: &&Value| event["code"] == "not-sent" && event["location"] == "responder";
    let all: Vec<&Value> = events.iter().filter(refused).collect();
    let [event] = all[..] else { panic!("{direction}: {events:#?}") };
    let [from, until, clock] = ["at_ns", "until_ns", "clock_ns"].map(|name| event[name].as_i64().unwrap());
    assert!(clock >= before && clock + (until - from) <= after, "{direction}: {event}, {before} to {after}");
    assert!(until - from >= 800_000_000, "{direction}: {event}");
}

#[test]
fn what_the_far_host_refuses_to_send_is_told_with_when_it_was_and_is_not_lost() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for (direction, limited, what) in [
        ("round-trip", "round_trip", "replies"),
        ("reverse", "reverse", "probes"),
        ("both", "reverse", "probes"),
    ] {
        let limit = format!("{limited}.loss.ratio<5%");
        let mut measuring = Measuring::begin(&lab, FAR, &["--direction", direction, "--limit", &limit]);
        let when =
            for_a_second(|| lab.filter("B", FORBIDDEN), || lab.filter("B", "delete table inet refusing"));
        measuring.await_told(&["the responder's host did not send"]);
        measuring.await_more();
        let told = measuring.told.join("\n");
        assert!(told.contains(&format!(" {what}: Operation not permitted")), "{direction}: {told}");
        let document = measuring.end();
        assert_refused(&document, direction);
        assert_dated(&document, direction, when);
    }
}

#[test]
fn what_the_far_hosts_interface_drops_at_once_is_not_sent_and_not_lost() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for (direction, limited, what) in
        [("round-trip", "round_trip", "replies"), ("reverse", "reverse", "probes")]
    {
        let limit = format!("{limited}.loss.ratio<5%");
        let more = ["--direction", direction, "--limit", &limit, "--size", "1000B"];
        let mut measuring = Measuring::begin(&lab, FAR, &more);
        // A queue that lets 25 packets a second leave, and holds four.
        let queue = |arguments: &[&str]| {
            process::run(lab.command("B", "tc").args(["qdisc"]).args(arguments)).with_code(0);
        };
        let narrow = "add dev t1 root tbf rate 200kbit burst 3k limit 4k";
        for_a_second(
            || queue(&narrow.split(' ').collect::<Vec<_>>()),
            || queue(&["del", "dev", "t1", "root"]),
        );
        measuring.await_told(&["the responder's host did not send"]);
        measuring.await_more();
        let told = measuring.told.join("\n");
        assert!(
            told.contains(&format!(" {what}: the interface did not take them (No buffer space available")),
            "{direction}: {told}"
        );
        let document = measuring.end();
        let [unknown, _] = losses(&document, limited);
        // What was in the queue when that was taken away, and what a busy machine may lose.
        assert!(unknown <= 8, "{document:#}");
        assert!(count(&document, "/reverse/packets/not_sent") >= 30, "{document:#}");
        assert_eq!(at(&document, "/limits/0/passed"), direction != "round-trip", "{direction}: {document:#}");
    }
}

#[test]
fn a_far_host_that_has_no_way_back_for_a_while_tells_its_route_and_what_it_could_not_send() {
    let lab = Lab::router();
    let _responder = lab.respond(&[]);
    for (direction, limited) in [("round-trip", "round_trip"), ("both", "reverse")] {
        let limit = format!("{limited}.loss.ratio<5%");
        let mut measuring = Measuring::begin(&lab, BEYOND, &["--direction", direction, "--limit", &limit]);
        let route = |what| {
            let arguments = ["route", what, "default", "via", ROUTER];
            process::run(lab.command("B", "ip").args(arguments)).with_code(0);
        };
        let when = for_a_second(|| route("del"), || route("add"));
        measuring.await_told(&[
            "on the responder's host, the route to 0.0.0.0/0 via 198.19.0.1 was removed",
            "on the responder's host, the route to 0.0.0.0/0 via 198.19.0.1 was added",
            "Network is unreachable",
        ]);
        measuring.await_more();
        let document = measuring.end();
        assert_refused(&document, direction);
        assert_dated(&document, direction, when);
        let events = at(&document, "/events").as_array().unwrap();
        let routes = events.iter().filter(|event| event["code"] == "route-change");
        let theirs: Vec<i64> = routes
            .filter(|event| event["location"] == "responder")
            .map(|event| event["clock_ns"].as_i64().unwrap())
            .collect();
        let [gone, back] = theirs[..] else { panic!("{direction}: {events:#?}") };
        assert!(gone >= when[0] && back > gone, "{direction}: {events:#?}");
    }
}

#[test]
fn probes_that_live_for_too_few_routers_are_told_with_what_they_want() {
    let lab = Lab::router();
    let _responder = lab.respond(&[]);
    let run = lab.try_measure(&["--count", "5", "--interval", "10ms", "--ttl", "1", BEYOND]);
    let said = run.ended.with_code(5).stderr;
    assert!(said.contains("no test packet arrives; raise --ttl"), "{said}");
}

#[test]
fn an_interface_of_this_host_that_is_down_is_named_where_the_route_went_with_it() {
    let lab = Lab::path();
    process::run(lab.command("A", "ip").args(["link", "set", "t0", "down"])).with_code(0);
    for more in [&[][..], &["--direction", "forward"], &["--stamp-only"]] {
        let ended = lab.try_measure(&[&["--count", "3", FAR][..], more].concat()).ended;
        assert!(matches!(ended.code, Some(4 | 5)), "{ended:?}");
        let told = "its interface t0 is down (ip link set t0 up)";
        assert!(ended.stderr.contains(told), "{more:?}: {ended:?}");
    }
}
