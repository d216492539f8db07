//! Code points and hops.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::common::lab::{FAR, FAR_V6, Lab};
use crate::common::process::{self, Process};
use crate::common::{at, count, warned};

#[test]
fn a_code_point_is_seen_at_the_far_end_and_comes_back() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for (target, name, value, told) in
        [(FAR, "ef", 46, "ef"), (FAR_V6, "AF41", 34, "af41"), (FAR, "0", 0, "cs0"), (FAR, "7", 7, "7")]
    {
        let document =
            lab.measure(&["--count", "10", "--interval", "2ms", "--dscp", name, target]).document();
        let all_ten = json!({ told: 10 });
        assert_eq!(at(&document, "/forward/dscp/sent"), value, "{name}");
        assert_eq!(at(&document, "/forward/dscp/received"), &all_ten, "{name}");
        assert_eq!(at(&document, "/reverse/dscp"), &json!({ "sent": value, "received": all_ten }), "{name}");
    }
    // What a reflector that is not asked does to its replies it does not tell.
    let document = lab.measure(&["--count", "10", "--interval", "2ms", "--stamp-only", FAR]).document();
    assert!(at(&document, "/reverse/dscp/sent").is_null(), "{document:#}");
}

#[test]
fn a_code_point_that_the_path_rewrites_is_told_by_direction() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    lab.filter(
        "E",
        "table bridge test {
            chain forward {
                type filter hook forward priority 0
                iifname e0 udp dport 862 ip dscp set cs1
            }
        }",
    );
    let document = lab.measure(&["--count", "10", "--interval", "2ms", "--dscp", "ef", FAR]).document();
    assert_eq!(at(&document, "/forward/dscp/sent"), 46);
    assert_eq!(at(&document, "/forward/dscp/received"), &json!({ "cs1": 10 }));
    // What arrived there comes back.
    assert_eq!(at(&document, "/reverse/dscp"), &json!({ "sent": 8, "received": { "cs1": 10 } }));
}

#[test]
fn ecn_bits_are_told_as_they_were_sent_and_as_they_came_and_a_mark_on_the_path_is_said() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let measure = |target: &str| {
        lab.measure(&["--count", "10", "--interval", "2ms", "--dscp", "ef", "--ecn", "ect0", target])
            .document()
    };
    let said = |document: &serde_json::Value, text: &str| warned(document).contains(text);
    for target in [FAR, FAR_V6] {
        let document = measure(target);
        assert_eq!(at(&document, "/forward/ecn"), &json!({ "sent": "ect0", "received": { "ect0": 10 } }));
        // A reflector's replies take no part in it.
        assert_eq!(
            at(&document, "/reverse/ecn"),
            &json!({ "sent": "not-ect", "received": { "not-ect": 10 } })
        );
        assert_eq!(
            at(&document, "/round_trip/ecn"),
            at(&document, "/reverse/ecn"),
            "what comes back are replies"
        );
        assert!(!said(&document, "rewritten"), "{document}");
    }
    lab.filter(
        "E",
        "table bridge test {
            chain forward {
                type filter hook forward priority 0
                iifname e0 udp dport 862 ip ecn set ce
                iifname e1 udp sport 862 ip dscp set cs0
            }
        }",
    );
    let document = measure(FAR);
    assert_eq!(at(&document, "/reverse/dscp"), &json!({ "sent": 46, "received": { "cs0": 10 } }));
    assert_eq!(at(&document, "/forward/ecn/received"), &json!({ "ce": 10 }));
    assert_eq!(at(&document, "/forward/dscp/received"), &json!({ "ef": 10 }));
    assert!(said(
        &document,
        "forward a queue marked congestion: of 10 packets that were sent as ect0 and received, late or not, 10 arrived as ce"
    ));
    assert!(said(
        &document,
        "in reverse the code point was bleached: of 10 packets that were sent as ef and received, late or not, 10 arrived as cs0"
    ));
}

#[test]
fn hops_are_counted_from_the_ttl_that_was_asked_for() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for (target, ttl, seen) in [(FAR, None, 255), (FAR, Some("64"), 64), (FAR_V6, Some("1"), 1)] {
        let mut arguments = vec!["--count", "10", "--interval", "2ms", target];
        arguments.extend(ttl.iter().flat_map(|ttl| ["--ttl", ttl]));
        let document = lab.measure(&arguments).document();
        assert_eq!(count(&document, "/traffic/ttl"), seen);
        assert_eq!(count(&document, "/forward/ttl/min"), seen);
        assert_eq!(count(&document, "/forward/ttl/max"), seen);
        // The responder's own departures do not depend on it.
        assert_eq!(count(&document, "/reverse/ttl/min"), 255);
    }
}

/// A service level sets the code point that arrives and the priority within the sending host, by the default or a table.
#[test]
fn services_set_code_point_and_priority() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let home = tempfile::tempdir().unwrap();
    let marks = home.path().join("marks.toml");
    std::fs::write(&marks, "[guaranteed]\ndscp = \"ef\"\npriority = 6\n").unwrap();
    let marks = marks.to_str().unwrap();
    lab.filter(
        "A",
        "table inet test {
            counter five { }
            counter three { }
            counter six { }
            chain output {
                type filter hook output priority 0
                udp dport 862 meta priority 0:5 counter name five
                udp dport 862 meta priority 0:3 counter name three
                udp dport 862 meta priority 0:6 counter name six
            }
        }",
    );
    for (arguments, dscp, told, priority, counter) in [
        (vec!["--service", "guaranteed"], 40, "cs5", 5, "five"),
        (vec!["--service", "controlled-load"], 24, "cs3", 3, "three"),
        (vec!["--service", "guaranteed", "--marks", marks], 46, "ef", 6, "six"),
    ] {
        let before = lab.counted("A", "inet", counter);
        let stream =
            [&["--count", "10", "--interval", "2ms", "--direction", "forward", FAR][..], &arguments[..]]
                .concat();
        let document = lab.measure(&stream).document();
        assert_eq!(at(&document, "/forward/dscp/sent"), dscp, "{arguments:?}");
        assert_eq!(at(&document, "/forward/dscp/received"), &json!({ told: 10 }), "{arguments:?}");
        assert_eq!(at(&document, "/traffic/service"), arguments[1]);
        assert_eq!(count(&document, "/traffic/priority"), priority);
        // What associates the session has the same marks.
        assert!(lab.counted("A", "inet", counter) - before >= 10, "{arguments:?}");
    }
}

/// Tables of nftables at host A that a romer has made.
fn tables(lab: &Lab) -> usize {
    let listed = process::run(lab.command("A", "nft").args(["list", "tables"])).with_code(0).stdout;
    listed.lines().filter(|line| line.starts_with("table inet romer-")).count()
}

/// Packets beyond the profile have the marks of non-conforming packets, and those before them the marks of their service level. The
/// rules are gone at the end, also after a kill. The bucket holds ten packets, and earns one in 64 s.
#[test]
fn packets_beyond_the_profile_are_marked() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let home = tempfile::tempdir().unwrap();
    let marks = home.path().join("marks.toml");
    std::fs::write(&marks, "[non-conforming]\ndscp = \"af13\"\npriority = 2\n").unwrap();
    lab.filter(
        "A",
        "table inet test {
            counter one { }
            counter two { }
            chain output {
                type filter hook output priority 0
                udp dport 862 meta priority 0:1 counter name one
                udp dport 862 meta priority 0:2 counter name two
            }
        }",
    );
    let profile =
        ["--service", "controlled-load", "--profile", "8bit,640B", "--size", "64", "--direction", "forward"];
    let counted = ["--count", "30", "--interval", "2ms"];
    let own = ["--marks", marks.to_str().unwrap()];
    for (target, more, told, counter) in
        [(FAR, &[][..], "cs0", "one"), (FAR_V6, &[][..], "cs0", "one"), (FAR, &own[..], "af13", "two")]
    {
        let before = lab.counted("A", "inet", counter);
        let document = lab.measure(&[&profile[..], &counted[..], more, &[target][..]].concat()).document();
        assert_eq!(at(&document, "/forward/dscp/received"), &json!({ "cs3": 10, told: 20 }), "{target}");
        assert_eq!(lab.counted("A", "inet", counter) - before, 20, "{target}");
        assert_eq!(tables(&lab), 0);
    }

    let endless = ["--duration", "100s", "--json-lines", "--json-lines-interval", "20ms", FAR];
    let (mut command, _home) = lab.measuring(&[&profile[..], &endless[..]].concat());
    let mut measuring = Process::start(&mut command);
    assert!(!measuring.line().is_empty());
    assert_eq!(tables(&lab), 1);
    measuring.signal("KILL");
    measuring.wait();
    let give_up = Instant::now() + Duration::from_secs(20);
    while tables(&lab) > 0 {
        assert!(Instant::now() < give_up, "the rules are still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A profile that cannot be kept by counting packets of this size is refused.
#[test]
fn profiles_count_packets_of_one_size() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for (arguments, says) in [
        (&["--profile", "16kBps,63B", "--size", "64"][..], "no packet is in profile (--profile 16kBps,63B)"),
        (
            &["--profile", "16kBps,6400B", "--traffic", "im"][..],
            "the packets differ in size (--profile 16kBps,6400B)",
        ),
    ] {
        let common = ["--service", "controlled-load", "--direction", "forward", "--count", "1", FAR];
        let refused = lab.try_measure(&[arguments, &common[..]].concat()).ended.with_code(2);
        assert!(refused.stderr.contains(says), "{refused:?}");
        assert_eq!(tables(&lab), 0);
    }
}
