//! Packets that are too long for a link of the path: told with what passes, each way, and not taken for loss.

use serde_json::Value;

use crate::common::lab::{FAR, Lab};
use crate::common::measuring::{Measuring, losses, lost_by};
use crate::common::{at, count, event_text, process, warned};

/// Behind the router of a laboratory.
const BEHIND: &str = "198.19.0.2";
/// The same by IPv6.
const BEHIND_V6: &str = "2001:2:0:19::2";

/// Has the router return what is of more than 1,300 octets and goes to `network`. What comes from there passes: its interfaces
/// are as they were.
fn narrow(lab: &Lab, [network, interface]: [&str; 2]) {
    let mut narrow = vec!["route", "replace", network, "dev", interface, "mtu", "1300"];
    if network.contains(':') {
        // Of the kernel's own route.
        narrow.extend(["metric", "256"]);
    }
    process::run(lab.command("R", "ip").args(narrow)).with_code(0);
}

#[test]
fn what_a_router_returns_as_too_long_is_told_with_what_passes_and_is_not_lost() {
    let (v4, v6) = (["198.19.0.0/24", "r1"], ["2001:2:0:19::/64", "r1"]);
    for (target, network, most, options) in [
        (BEHIND, v4, "1272B", &[][..]),
        (BEHIND_V6, v6, "1252B", &[]),
        (BEHIND, v4, "1272B", &["--direction", "forward"]),
        (BEHIND, v4, "1272B", &["--stamp-only"]),
    ] {
        let lab = Lab::router();
        let _responder = lab.respond(&[]);
        let mut measuring = Measuring::begin(&lab, target, &[&["--size", "1400B"], options].concat());
        narrow(&lab, network);
        measuring.await_told(&["ICMP packet too big from the path", "not sent: "]);
        let document = measuring.end();
        let way = if options.contains(&"forward") { "forward" } else { "round_trip" };
        let [unknown, _] = losses(&document, way);
        // Of a hundred a second one or two had left. A busy machine may lose one itself.
        let refused = lost_by(&document, way, "path-mtu");
        assert!((1..10).contains(&refused) && unknown <= 2, "{target} {options:?}: {document:#}");
        let events = at(&document, "/events").as_array().unwrap();
        let event = events.iter().find(|event| event["code"] == "path-error").unwrap();
        assert_eq!(event["mtu"], 1_300, "{event}");
        for kind in ["path-error", "not-sent"] {
            let event = events.iter().find(|event| event["code"] == kind).unwrap();
            let text = event_text(event);
            assert!(text.ends_with(&format!("set --size to at most {most}")), "{text}");
        }
    }
}

/// Has the router drop what is of more than 1,000 octets and comes in by `interface`, and tell nobody.
fn drop_long(lab: &Lab, interface: &str) {
    drop_longer(lab, interface, 1_000);
}

/// The same of so many octets.
fn drop_longer(lab: &Lab, interface: &str, octets: u32) {
    let rules = format!(
        "add table inet long; \
         add chain inet long forward {{ type filter hook forward priority 0; }}; \
         add rule inet long forward iifname \"{interface}\" meta length > {octets} drop"
    );
    process::run(lab.command("R", "nft").arg(rules)).with_code(0);
}

#[test]
fn packets_that_a_router_drops_for_their_length_in_silence_are_told_with_the_lengths_that_pass() {
    let imix = ["--traffic", "imix:simple", "--interval", "5ms", "--duration", "2s", "--json", "-"];
    for (interface, direction, way) in
        [("r0", "round-trip", "forward"), ("r1", "round-trip", "reverse"), ("r1", "both", "reverse")]
    {
        let lab = Lab::router();
        let _responder = lab.respond(&[]);
        drop_long(&lab, interface);
        let asked = [&["measure", BEHIND, "--direction", direction], &imix[..]].concat();
        let run = process::run(&mut lab.romer("A", &asked)).with_code(0);
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        let findings = at(&document, "/findings").as_array().unwrap();
        let by_length: Vec<&Value> = findings.iter().filter(|one| one["code"] == "loss-by-length").collect();
        let [finding] = by_length[..] else { panic!("{findings:#?}") };
        assert_eq!(finding["direction"], way, "{finding}");
        assert!(count(finding, "/longest_arrived_bytes") <= 972, "{finding}");
        assert!(count(finding, "/shortest_lost_bytes") > 972, "{finding}");
    }
}

#[test]
fn where_all_packets_are_of_one_length_and_none_passes_it_is_said_that_shorter_ones_did() {
    let lab = Lab::router();
    let _responder = lab.respond(&[]);
    drop_long(&lab, "r0");
    let said = |size: &str, options: &[&str]| {
        let asked =
            ["measure", BEHIND, "--size", size, "--interval", "10ms", "--duration", "500ms", "--json", "-"];
        let mut command = lab.romer("A", &[&asked, options].concat());
        let document: Value = serde_json::from_str(&process::run(&mut command).with_code(0).stdout).unwrap();
        warned(&document)
    };
    let words = |way: &str, short_ones: &str| {
        format!(
            "with 1400 B of payload arrived {way}, while {short_ones}: the path may drop packets by their length; try --size 548B, \
             which every path should carry, and --size 44B, which is known to arrive"
        )
    };
    let route = "the search for the route, which sends 44 B, was answered";
    let conversation = "the control connection to the responder, with segments of 512 B at most, continued";
    let warnings = said("1400B", &[]);
    assert!(warnings.contains(&words("forward", route)), "{warnings}");
    for direction in ["round-trip", "forward"] {
        let warnings = said("1400B", &["--no-route", "--direction", direction]);
        assert!(warnings.contains(&words("forward", conversation)), "{direction}: {warnings}");
    }
    let warnings = said("548B", &[]);
    assert!(!warnings.contains("all-packets-lost"), "{warnings}");
    process::run(lab.command("R", "nft").args(["delete", "table", "inet", "long"])).with_code(0);
    drop_long(&lab, "r1");
    let warnings = said("1400B", &["--direction", "both"]);
    assert!(
        warnings.contains(&words("in reverse", route)) && !warnings.contains("arrived forward, "),
        "{warnings}"
    );
}

#[test]
fn where_a_way_takes_less_than_every_path_is_meant_to_a_size_is_told_that_is_known_to_pass() {
    let lab = Lab::router();
    // The handshake of TLS has longer packets than this path takes.
    let _responder = lab.respond(&["--insecure"]);
    let no_route = ["--no-route", "--direction"];
    for (interface, takes, size, options, way, code) in [
        // What the first words of a conversation take there, and do not take back.
        ("r0", 400, "500B", &[][..], "forward", 0),
        ("r1", 400, "500B", &[], "there and back", 5),
        ("r0", 552, "530B", &[no_route[0], no_route[1], "forward"], "forward", 0),
        ("r1", 552, "530B", &[no_route[0], no_route[1], "reverse"], "in reverse", 0),
        ("r1", 552, "530B", &[], "in reverse", 0),
        ("r1", 552, "530B", &["--direction", "both"], "in reverse", 0),
    ] {
        drop_longer(&lab, interface, takes);
        let asked = [
            "measure",
            BEHIND,
            "--insecure",
            "--size",
            size,
            "--interval",
            "10ms",
            "--duration",
            "300ms",
            "--json",
            "-",
        ];
        let run = process::run(&mut lab.romer("A", &[&asked, options].concat())).with_code(code);
        let warnings = warned(&serde_json::from_str(&run.stdout).unwrap());
        let came = format!("with {size} of payload arrived {way}, while").replace("B of", " B of");
        assert!(warnings.contains(&came), "{options:?}: {warnings}");
        let told = "by their length; try --size 44B, which is known to arrive";
        assert!(warnings.contains(told), "{options:?}: {warnings}");
        process::run(lab.command("R", "nft").args(["delete", "table", "inet", "long"])).with_code(0);
    }
    let asked = [
        "measure",
        BEHIND,
        "--insecure",
        "--size",
        "44B",
        "--count",
        "5",
        "--interval",
        "10ms",
        "--json",
        "-",
    ];
    process::run(&mut lab.romer("A", &asked)).with_code(0);
}

#[test]
fn what_a_link_took_that_takes_more_again_is_what_is_told() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, FAR, &["--size", "1200B"]);
    let takes = |octets: &str| {
        process::run(lab.command("A", "ip").args(["link", "set", "t0", "mtu", octets])).with_code(0);
    };
    takes("900");
    measuring.await_told(&["its MTU is 900 bytes"]);
    std::thread::sleep(std::time::Duration::from_secs(1));
    takes("1500");
    measuring.await_more();
    let document = measuring.end();
    let events = at(&document, "/events").as_array().unwrap();
    let event = events.iter().find(|event| event["code"] == "not-sent").unwrap();
    assert!(event["mtu"] == 900 && event_text(event).ends_with("set --size to at most 872B"), "{event}");
}

#[test]
fn what_the_way_back_refuses_as_too_long_is_told_and_is_not_lost() {
    let lab = Lab::router();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, BEHIND, &["--size", "1400B", "--direction", "reverse"]);
    process::run(lab.command("R", "ip").args(["link", "set", "r0", "mtu", "1300"])).with_code(0);
    measuring.await_told(&["the responder's host did not send"]);
    let document = measuring.end();
    let [unknown, _] = losses(&document, "reverse");
    // Of a hundred a second one or two had left. A busy machine may lose one itself.
    let refused = lost_by(&document, "reverse", "path-mtu");
    assert!((1..10).contains(&refused) && unknown <= 2, "{document:#}");
    let events = at(&document, "/events").as_array().unwrap();
    let event = events.iter().find(|event| event["code"] == "not-sent").unwrap();
    assert_eq!((&event["location"], &event["mtu"]), (&"responder".into(), &1_300.into()), "{event}");
    assert!(event_text(event).ends_with("set --size to at most 1272B"), "{event}");
}

#[test]
fn replies_too_long_for_the_way_back() {
    for (target, network, most) in
        [(BEHIND, "198.18.0.0/24", "1272B"), (BEHIND_V6, "2001:2:0:18::/64", "1252B")]
    {
        let lab = Lab::router();
        let _responder = lab.respond(&[]);
        let mut measuring = Measuring::begin(&lab, target, &["--size", "1400B"]);
        narrow(&lab, [network, "r0"]);
        let passes = format!("set --size to at most {most}");
        measuring.await_told(&[
            "the responder's host did not send",
            "replies: too long for the path",
            &passes,
        ]);
        let document = measuring.end();
        let [unknown, _] = losses(&document, "reverse");
        // Of a hundred a second one or two had left. A busy machine may lose one itself.
        let refused = lost_by(&document, "reverse", "path-mtu");
        assert!((1..10).contains(&refused) && unknown <= 2, "{target}: {document:#}");
        let not_sent = count(&document, "/reverse/packets/not_sent");
        // It is told half a second after the first.
        assert!(not_sent >= 30, "{target}: {document:#}");
        let [unknown, _] = losses(&document, "round_trip");
        let round_trips = lost_by(&document, "round_trip", "path-mtu");
        assert!(unknown <= 2 && round_trips == refused + not_sent, "{target}: {document:#}");
        let events = at(&document, "/events").as_array().unwrap();
        let event = events.iter().find(|event| event["code"] == "not-sent").unwrap();
        assert_eq!((&event["location"], &event["mtu"]), (&"responder".into(), &1_300.into()), "{event}");
    }
}

#[test]
fn who_cannot_be_told_that_replies_are_too_long_for_the_way_back_has_them_in_fragments() {
    for (target, network) in [(BEHIND, "198.18.0.0/24"), (BEHIND_V6, "2001:2:0:18::/64")] {
        let lab = Lab::router();
        let responder = lab.respond(&["--json", "-"]);
        let mut measuring = Measuring::begin(&lab, target, &["--size", "1400B", "--stamp-only"]);
        narrow(&lab, [network, "r0"]);
        for _ in 0..2 {
            measuring.await_more();
        }
        let document = measuring.end();
        let [unknown, _] = losses(&document, "round_trip");
        // The first, which nothing was known of. A busy machine may lose some itself.
        assert!(unknown <= 3, "{target}: {document:#}");
        responder.signal("TERM");
        let ended = responder.wait().with_code(0);
        let own = ended.document();
        assert_eq!(count(&own, "/replies/not_sent"), 0, "{own:#}");
    }
}

#[test]
fn a_host_that_does_not_hear_routers_is_named_before_the_start_and_with_the_losses() {
    let mends = "set that to 0, or use a --size of at most 548B";
    for (deaf, whose, network, way, those) in [
        ("A", "this host", ["198.19.0.0/24", "r1"], "forward", "probes"),
        ("B", "the responder's host", ["198.18.0.0/24", "r0"], "reverse", "replies"),
    ] {
        let lab = Lab::router();
        let setting = ["-qw", "net.ipv4.ip_no_pmtu_disc=2"];
        process::run(lab.command(deaf, "sysctl").args(setting)).with_code(0);
        let _responder = lab.respond(&[]);
        let measuring = Measuring::begin(&lab, BEHIND, &["--size", "1400B"]);
        let unheard = format!("{whose} ignores ICMP errors for IPv4 packets that are too long");
        let told =
            measuring.told.iter().filter(|told| told.contains("ignores ICMP errors")).collect::<Vec<_>>();
        assert!(
            matches!(told[..], [told] if told.starts_with(&unheard)
                && told.contains(&format!("{those} that are too long")) && told.ends_with(mends)),
            "{told:?}"
        );
        narrow(&lab, network);
        std::thread::sleep(std::time::Duration::from_secs(1));
        let document = measuring.end();
        let [unknown, _] = losses(&document, way);
        assert!(unknown >= 50, "{way}: {document:#}");
        let warnings = at(&document, "/warnings").as_array().unwrap();
        let said: Vec<&Value> = warnings.iter().filter(|one| one["code"] == "path-mtu-ignored").collect();
        assert!(
            matches!(said[..], [said] if said["replies"] == (those == "replies") && said["ip_no_pmtu_disc"] == 2),
            "{said:?}"
        );
    }
}
