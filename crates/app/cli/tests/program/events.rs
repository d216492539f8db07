//! What happens to the measuring host during a run: seen, said, and named as the cause of losses.
//!
//! Each test does something, waits until the program says that it has seen it, and only then goes on: nothing hangs
//! on how fast that is.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::lab::{FAR, FAR_V6, Lab, kept};
use crate::common::measuring::{Measuring, losses, lost_by};
use crate::common::process::{self, Process};
use crate::common::{at, count, event_texts, schema, warned};

/// Behind the router of a laboratory.
const BEHIND: &str = "198.19.0.2";

fn ip(lab: &Lab, arguments: &[&str]) {
    process::run(lab.command("A", "ip").args(arguments)).with_code(0);
}

pub(crate) fn assert_kinds(document: &Value, kinds: &[&str]) {
    let events = at(document, "/events").as_array().unwrap();
    for kind in kinds {
        assert!(events.iter().any(|event| event["code"] == *kind), "no {kind}: {document:#}");
    }
}

/// Probes that did not leave are counted as such, and the losses have a known cause.
pub(crate) fn assert_not_sent(document: &Value) {
    let [unknown, _] = losses(document, "round_trip");
    assert!(count(document, "/round_trip/packets/not_sent") > 0, "{document:#}");
    // A busy machine may lose one itself, and one may have been on its way.
    assert!(unknown <= 3, "{document:#}");
}

#[test]
fn a_link_that_goes_down_and_comes_back_is_told_and_its_probes_are_not_lost() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, FAR, &[]);
    ip(&lab, &["link", "set", "t0", "down"]);
    measuring.await_told(&["t0 went down", "no route to 198.18.0.3", "not sent: "]);
    ip(&lab, &["link", "set", "t0", "up"]);
    measuring.await_told(&["t0 is up again", "a route to 198.18.0.3 again"]);
    measuring.await_more();
    let document = measuring.end();
    assert_kinds(&document, &["link-down", "link-up", "route-change", "not-sent"]);
    assert_not_sent(&document);
}

#[test]
fn a_link_is_told_as_it_is_and_not_when_the_kernel_tells_of_it_and_what_left_by_it_is_not_lost() {
    for (lab, target, host, interface) in [(Lab::path(), FAR, "A", "t0"), (Lab::router(), BEHIND, "R", "r0")]
    {
        let _responder = lab.respond(&[]);
        let mut measuring = Measuring::begin(&lab, target, &[]);
        // The kernel gathers changes of carriers: of those that follow one another it tells up to a second late.
        for _ in 0..4 {
            for (state, told) in [("down", "t0 went down"), ("up", "t0 is up again")] {
                process::run(lab.command(host, "ip").args(["link", "set", interface, state])).with_code(0);
                measuring.await_told(&[told]);
                std::thread::sleep(Duration::from_millis(300));
            }
        }
        measuring.await_more();
        let (document, rows) = measuring.end_with_rows();
        let [unknown, _] = losses(&document, "round_trip");
        // A busy machine may lose some itself.
        assert!(unknown <= 5, "{interface}: {document:#}");
        let events = at(&document, "/events").as_array().unwrap();
        let moments = |kind: &str| -> Vec<i64> {
            let of_kind = events.iter().filter(|event| event["code"] == kind);
            of_kind.map(|event| event["clock_ns"].as_i64().unwrap()).collect()
        };
        let (downs, ups) = (moments("link-down"), moments("link-up"));
        assert_eq!([downs.len(), ups.len()], [4, 4], "{interface}: {events:#?}");
        // What comes while it is told to be down says how late that is told: of a hundred a second. Late by half a second each, as
        // the kernel would be, it were two hundred.
        let came = rows
            .iter()
            .filter_map(|row| row.t4.kernel)
            .filter(|came| downs.iter().zip(&ups).any(|(down, up)| (*down..*up).contains(&came.as_nanos())));
        let came = came.count();
        assert!(came <= 60, "{interface}: {came} came while it was down");
    }
}

#[test]
fn an_mtu_that_shrinks_is_told_and_probes_that_do_not_fit_are_not_lost() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, FAR, &["--size", "1200B"]);
    ip(&lab, &["link", "set", "t0", "mtu", "1000"]);
    measuring.await_told(&["changed from 1500 to 1000 bytes", "not sent: "]);
    ip(&lab, &["link", "set", "t0", "mtu", "1500"]);
    measuring.await_told(&["changed from 1000 to 1500 bytes"]);
    measuring.await_more();
    let document = measuring.end();
    assert_kinds(&document, &["mtu-change", "not-sent"]);
    assert_not_sent(&document);
}

#[test]
fn what_is_too_long_for_this_hosts_interface_to_take_meanwhile_is_not_lost() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, FAR, &["--size", "1200B", "--direction", "both"]);
    ip(&lab, &["link", "set", "t0", "mtu", "1000"]);
    // Either may be told first.
    measuring.await_told(&["changed from 1500 to 1000 bytes: longer packets", "not sent: "]);
    std::thread::sleep(Duration::from_secs(1));
    ip(&lab, &["link", "set", "t0", "mtu", "1500"]);
    measuring.await_told(&["to 1500 bytes"]);
    measuring.await_more();
    let document = measuring.end();
    let [unknown, _] = losses(&document, "reverse");
    // Of a hundred a second, for a second. A busy machine may lose one itself.
    assert!(unknown <= 3 && lost_by(&document, "reverse", "interface-mtu") >= 80, "{document:#}");
    let events = at(&document, "/events").as_array().unwrap();
    assert!(events.iter().any(|event| event["code"] == "mtu-change" && event["mtu"] == 1000), "{events:?}");
}

#[test]
fn an_address_that_changes_is_told() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, FAR, &[]);
    ip(&lab, &["address", "del", "198.18.0.2/24", "dev", "t0"]);
    measuring.await_told(&["198.18.0.2, the source of the probes, was removed", "not sent: "]);
    ip(&lab, &["address", "add", "198.18.0.9/24", "dev", "t0"]);
    measuring.await_told(&["198.18.0.9"]);
    let document = measuring.end();
    assert_kinds(&document, &["address-change", "not-sent"]);
    assert_not_sent(&document);
}

/// Has the host at `end` give up its address for a second, and waits until that was `told`.
fn leave_home(lab: &Lab, measuring: &mut Measuring, [end, address, port]: [&str; 3], told: &[&str]) {
    let address = |what| process::run(lab.command(end, "ip").args(["address", what, address, "dev", port]));
    address("del").with_code(0);
    std::thread::sleep(Duration::from_secs(1));
    address("add").with_code(0);
    measuring.await_told(told);
    measuring.await_more();
}

#[test]
fn what_comes_for_an_address_that_is_away_for_a_while_is_not_lost() {
    for (home, told, way) in [
        (
            ["A", "198.18.0.2/24", "t0"],
            ["the source of the probes, was removed", "a route to 198.18.0.3 again"],
            "reverse",
        ),
        (
            ["B", "198.18.0.3/24", "t1"],
            ["198.18.0.3 of the responder's host was removed", "restored after"],
            "forward",
        ),
    ] {
        let lab = Lab::path();
        let _responder = lab.respond(&[]);
        let mut measuring = Measuring::begin(&lab, FAR, &["--direction", "both"]);
        leave_home(&lab, &mut measuring, home, &told);
        let document = measuring.end();
        let [unknown, _] = losses(&document, way);
        // Of a hundred a second, for a second. A busy machine may lose one itself.
        assert!(unknown <= 3 && lost_by(&document, way, "address-change") >= 80, "{way}: {document:#}");
    }
}

/// Has this host give up one address and take another, and waits until the session goes on from there.
fn move_house(lab: &Lab, measuring: &mut Measuring) {
    ip(lab, &["address", "del", "198.18.0.2/24", "dev", "t0"]);
    measuring.await_told(&["198.18.0.2, the source of the probes, was removed"]);
    ip(lab, &["address", "add", "198.18.0.9/24", "dev", "t0"]);
    measuring.await_told(&[
        "the session moved from 198.18.0.2 to 198.18.0.9",
        "a sender moved from 198.18.0.2 to 198.18.0.9",
    ]);
    measuring.await_more();
}

/// A session that moved is whole: both logs, and the cause of the losses is named.
fn assert_whole(document: &Value, way: &str) {
    let [unknown, known] = losses(document, way);
    // A busy machine may lose one itself.
    assert!(unknown <= 3, "{way}: {document:#}");
    assert!(known > 0 || way != "reverse", "{way}: {document:#}");
    assert!(count(document, &format!("/{way}/packets/received")) > 100, "{way}: {document:#}");
    assert!(!warned(document).contains("responder-log-incomplete"), "{document:#}");
}

#[test]
fn session_follows_new_address() {
    for (direction, ways) in
        [("round-trip", &["round_trip"][..]), ("reverse", &["reverse"]), ("both", &["forward", "reverse"])]
    {
        let lab = Lab::path();
        let responder = lab.respond(&["--json", "-"]);
        let mut measuring = Measuring::begin(&lab, FAR, &["--direction", direction]);
        move_house(&lab, &mut measuring);
        let document = measuring.end();
        ways.iter().for_each(|way| assert_whole(&document, way));
        let events = at(&document, "/events").as_array().unwrap();
        let moves = |side: &str| {
            let of = |one: &&Value| one["code"] == "address-change" && one["location"] == side;
            events.iter().filter(of).filter(|one| one["until_ns"].is_i64()).count()
        };
        // Of both directions there are two sessions, and each end tells what happened once.
        assert!(moves("sender") >= 1 && moves("responder") >= 1, "{direction}: {document:#}");
        responder.signal("TERM");
        let ended = responder.wait().with_code(0);
        let own = ended.document();
        assert_kinds(&own, &["address-change"]);
    }
}

#[test]
fn what_happens_to_a_host_is_told_once_though_each_direction_has_a_session_of_its_own() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, FAR, &["--direction", "both"]);
    move_house(&lab, &mut measuring);
    let theirs = [
        "interface t1 of the responder's host went down",
        "interface t1 of the responder's host is up again",
    ];
    for state in ["down", "up"] {
        process::run(lab.command("B", "ip").args(["link", "set", "t1", state])).with_code(0);
        if state == "down" {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    measuring.await_told(&theirs);
    measuring.await_more();
    let told = measuring.told.clone();
    let document = measuring.end();
    let kept = event_texts(&document);
    for text in [
        "198.18.0.2, the source of the probes, was removed",
        "the session moved from 198.18.0.2 to 198.18.0.9",
        "a sender moved from 198.18.0.2 to 198.18.0.9",
        theirs[0],
        theirs[1],
    ] {
        assert_eq!(told.iter().filter(|told| told.contains(text)).count(), 1, "{text}: {told:#?}");
        assert_eq!(kept.iter().filter(|kept| kept.contains(text)).count(), 1, "{text}: {kept:#?}");
    }
}

#[test]
fn an_interface_that_is_removed_and_made_again_is_followed() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let make = || {
        let made = [
            "link",
            "add",
            "link",
            "t0",
            "name",
            "v0",
            "address",
            "02:00:00:00:18:09",
            "type",
            "macvlan",
            "mode",
            "bridge",
        ];
        ip(&lab, &made);
        ip(&lab, &["address", "add", "198.18.0.9/24", "dev", "v0"]);
        ip(&lab, &["link", "set", "v0", "up"]);
    };
    make();
    for direction in ["both", "round-trip"] {
        let mut measuring = Measuring::begin(&lab, FAR, &["--direction", direction, "--interface", "v0"]);
        ip(&lab, &["link", "del", "v0"]);
        std::thread::sleep(Duration::from_millis(500));
        make();
        measuring.await_told(&["v0 was removed and created again: probes now use"]);
        measuring.await_more();
        let document = measuring.end();
        for way in if direction == "both" { &["forward", "reverse"][..] } else { &["round_trip"] } {
            let [unknown, _] = losses(&document, way);
            assert_eq!(lost_by(&document, way, "nat-rebinding"), 0, "{way}: {document:#}");
            // What came while it was being taken down, which takes a moment on a busy machine.
            assert!(unknown <= 30, "{way}: {document:#}");
        }
    }
}

#[test]
fn a_run_that_ends_without_a_way_there_says_that_it_is_this_hosts_and_not_that_it_stood_still() {
    let ways = [
        &["--direction", "round-trip"][..],
        &["--direction", "forward"],
        &["--direction", "reverse"],
        &["--direction", "both"],
        &["--stamp-only"],
        &["--stamp-only", "--source", "198.18.0.2"],
    ];
    for way in ways {
        let lab = Lab::path();
        let _responder = lab.respond(&[]);
        let stream = ["--json-lines", "--json-lines-interval", "100ms"];
        let options = [&["--duration", "3s", "--interval", "10ms", FAR], &stream[..], way].concat();
        let (mut command, home) = lab.measuring(&options);
        let mut process = Process::start(&mut command);
        while !process.line().contains("\"interval\"") {}
        if way.contains(&"--source") {
            // There is still a way, but not from there.
            ip(&lab, &["address", "add", "198.18.0.7/24", "dev", "t0"]);
            let stay = ["-qw", "net.ipv4.conf.t0.promote_secondaries=1"];
            process::run(lab.command("A", "sysctl").args(stay)).with_code(0);
        }
        ip(&lab, &["address", "del", "198.18.0.2/24", "dev", "t0"]);
        let ended = process.wait().with_code(5);
        let errors: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        let why = "error: this host lost its route to the responder (198.18.0.3)";
        assert!(matches!(errors[..], [error] if error.starts_with(why)), "{way:?}: {ended:?}");
        let document = kept(&home);
        let events = at(&document, "/events").as_array().unwrap();
        assert!(!events.iter().any(|event| event["code"] == "pause"), "nobody stopped it: {events:#?}");
        let warnings = warned(&document);
        assert!(warnings.contains(r#""cause":"no_route""#), "{way:?}: {warnings}");
        assert!(!warnings.contains("responder_lost"), "{way:?}: {warnings}");
        // A far end that is silent on a path that is there is waited for twenty seconds.
        let moment = |name: &str| humantime::parse_rfc3339(at(&document, name).as_str().unwrap()).unwrap();
        let took = moment("/ended").duration_since(moment("/started")).unwrap();
        assert!(took < Duration::from_secs(18), "{way:?}: {took:?}");
    }
}

#[test]
fn a_way_that_never_was_is_not_told_as_one_that_ended() {
    let lab = Lab::path();
    // The other end of the cable: this host's interface is up and has no carrier.
    process::run(lab.command("E", "ip").args(["link", "set", "e0", "down"])).with_code(0);
    let options = ["--stamp-only", "--count", "10", "--interval", "10ms", "--waiting-time", "300ms", FAR];
    let (mut command, home) = lab.measuring(&options);
    let ended = process::run(&mut command).with_code(5);
    let why = "error: this host had no route to the responder (198.18.0.3): interface t0 had no carrier when the first probes \
               were due, and sent nothing; fix that here and measure again";
    assert_eq!(ended.stderr.lines().rfind(|line| line.starts_with("error: ")), Some(why), "{ended:?}");
    assert!(
        !format!("{}{}{}", ended.stdout, ended.stderr, kept(&home)).contains("the route to 198"),
        "{ended:?}"
    );
    assert!(ended.stdout.contains("no route to the responder, no probe was sent"), "{}", ended.stdout);
}

#[test]
fn a_run_whose_own_largest_packet_becomes_smaller_for_good_is_told_whole() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, FAR, &["--direction", "both"]);
    // From here on segments as large as they were are not received any more.
    ip(&lab, &["link", "set", "t0", "mtu", "600"]);
    measuring.await_told(&["600"]);
    measuring.await_more();
    let document = measuring.end();
    for way in ["forward", "reverse"] {
        let [sent, received, lost] = ["sent", "received", "lost"]
            .map(|name| at(&document, &format!("/{way}/packets/{name}")).as_u64());
        assert!(sent > Some(100) && received.is_some() && lost <= Some(3), "{way}: {document:#}");
    }
}

#[test]
fn probes_that_the_responder_could_not_send_while_its_link_was_down_are_not_lost() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, FAR, &["--direction", "reverse"]);
    let carrier = |state| {
        process::run(lab.command("E", "ip").args(["link", "set", "e1", state])).with_code(0);
    };
    carrier("down");
    // It sends on, into a cable that is not plugged in.
    std::thread::sleep(Duration::from_secs(1));
    carrier("up");
    measuring.await_told(&[
        "interface t1 of the responder's host went down",
        "interface t1 of the responder's host is up again",
    ]);
    measuring.await_more();
    let document = measuring.end();
    let [unknown, _] = losses(&document, "reverse");
    assert!(count(&document, "/reverse/packets/not_sent") > unknown, "{document:#}");
}

#[test]
fn what_happens_to_the_responder_is_told_at_both_ends() {
    let lab = Lab::path();
    let responder = lab.respond(&["--json", "-"]);
    let mut measuring = Measuring::begin(&lab, FAR, &[]);
    responder.signal("STOP");
    // Longer than what counts as standing still, and than the waiting time.
    std::thread::sleep(Duration::from_secs(3));
    responder.signal("CONT");
    measuring.await_told(&["the responder was paused for"]);
    // What waited there has been answered before its interface goes down.
    measuring.await_more();
    let from = Instant::now();
    for state in ["down", "up"] {
        process::run(lab.command("B", "ip").args(["link", "set", "t1", state])).with_code(0);
        if state == "down" {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    let down = u64::try_from(from.elapsed().as_millis()).unwrap();
    measuring.await_told(&[
        "interface t1 of the responder's host went down",
        "interface t1 of the responder's host is up again",
    ]);
    measuring.await_more();
    let document = measuring.end();
    let kinds = ["pause", "link-down", "link-up"];
    assert_kinds(&document, &kinds);
    // What did not get there for want of its interface: of a hundred a second for as long as it was down, and until the addresses
    // are found again.
    let most = 50 + down / 10;
    for way in ["forward", "round_trip"] {
        let down = lost_by(&document, way, "interface-down");
        assert!((80..=most).contains(&down), "{way}: {document:#}");
        // That the program there stood still lost none.
        let [unknown, _] = losses(&document, way);
        assert!(unknown <= 3, "{way}: {document:#}");
    }
    let events = at(&document, "/events").as_array().unwrap();
    let theirs = events.iter().filter(|event| kinds.iter().any(|kind| event["code"] == *kind));
    assert!(theirs.clone().all(|event| event["location"] == "responder"), "{document:#}");
    // When it happened, not when the network let the far end tell of it: the interface was down for a second.
    let moment = |kind: &str| {
        let event =
            events.iter().find(|event| event["code"] == kind && event["location"] == "responder").unwrap();
        event["at_ns"].as_i64().unwrap()
    };
    let down = moment("link-up") - moment("link-down");
    assert!((900_000_000..10_000_000_000).contains(&down), "{down}: {document:#}");
    responder.signal("TERM");
    let ended = responder.wait().with_code(0);
    let own = ended.document();
    schema::assert_valid(&own, "respond");
    assert_kinds(&own, &kinds);
}

#[test]
fn the_conversation_leaves_from_where_the_probes_do() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for address in ["198.18.0.77/24", "2001:2:0:18::77/64"] {
        let mut add = lab.command("A", "ip");
        add.args(["address", "add", address, "dev", "t0"]);
        // A new address of IPv6 is not used before it is known to be nobody else's.
        if address.contains(':') {
            add.arg("nodad");
        }
        process::run(&mut add).with_code(0);
    }
    for (target, source) in [(FAR, "198.18.0.77"), (FAR_V6, "2001:2:0:18::77")] {
        for more in [["--direction", "round-trip"], ["--direction", "forward"], ["--interface", "t0"]] {
            let asked =
                ["measure", target, "--source", source, "--count", "5", "--interval", "10ms", "--json", "-"];
            let run = process::run(&mut lab.romer("A", &[&asked, &more[..]].concat())).with_code(0);
            let document: Value = serde_json::from_str(&run.stdout).unwrap();
            assert_eq!(at(&document, "/forward/packets/received"), 5, "{source} {more:?}: {}", run.stderr);
        }
    }
    // The system opens sockets with some of these.
    for (source, code, words) in [
        (
            "198.18.0.255",
            2,
            "198.18.0.255 is a network's broadcast address, or a group's, and no host sends from there; give",
        ),
        ("198.18.0.0", 4, "name an address of this host"),
        ("224.0.0.1", 2, "cannot be the address of a host"),
    ] {
        for options in [&[][..], &["--stamp-only"], &["--direction", "both"]] {
            let asked = [&["measure", FAR, "--source", source, "--count", "5"], options].concat();
            let run = process::run(&mut lab.romer("A", &asked)).with_code(code);
            assert!(run.stderr.contains(words) && run.stderr.lines().count() == 1, "{}", run.stderr);
        }
    }
    let asked = ["measure", FAR, "--source", "198.18.0.78", "--count", "5"];
    let run = process::run(&mut lab.romer("A", &asked)).with_code(4);
    assert!(run.stderr.contains("--source 198.18.0.78"), "{}", run.stderr);
}
