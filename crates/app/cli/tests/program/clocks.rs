//! The error of clocks, taken out of the delays of a packet log.

use std::fmt::Write;

use serde_json::Value;

use super::common::process::{self, romer};
use super::common::{number, schema, warned};

/// A minute of probes each way: the responder's clock is an hour ahead, 40 ppm fast, and is set 4 ms ahead after 40 s.
fn log() -> String {
    let mut text = String::from("sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n");
    for n in 0..3_000i64 {
        let (sent, wait) = (n * 20_000_000, |number: i64| (number * 7_919) % 997 * (number % 13) * 100);
        let ahead =
            |at: i64| 3_600_000_000_000 + at / 25_000 + if at >= 40_000_000_000 { 4_000_000 } else { 0 };
        let there = sent + 5_000_000 + wait(n);
        let left = there + 50_000;
        let back = left + 8_000_000 + wait(n + 500);
        let _ = writeln!(text, "{n},64,{sent},{},{},{back}", there + ahead(there), left + ahead(left));
    }
    text
}

fn analyze(arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.csv");
    std::fs::write(&file, log()).unwrap();
    let mut command = romer(["analyze", "--quiet", "--json", "-"]);
    let document = process::run(command.arg(&file).args(arguments)).with_code(0).document();
    schema::assert_valid(&document, "measurement");
    document
}

#[test]
fn the_best_method_finds_rate_and_step_and_takes_both_out() {
    let document = analyze(&[]);
    assert_eq!(document["clock"]["method"], "piecewise");
    assert!((number(&document, "/clock/skew_ppm") - 40.0).abs() < 0.2, "{}", document["clock"]);
    let event = &document["clock"]["events"][0];
    assert_eq!((&event["kind"], &event["direction"]), (&"clock-step".into(), &"both".into()));
    assert!((number(event, "/size_ns") - 4e6).abs() < 1e5, "{event}");
    // What is left is what packets waited: 1.2 ms at most. With the clocks' error it would be 6 ms.
    for way in ["forward", "reverse"] {
        assert_eq!(document[way]["delay_kind"], "variable");
        assert!(number(&document[way], "/delay_ns/max") < 1.4e6, "{way}: {}", document[way]["delay_ns"]);
    }
    let bounds =
        [number(&document, "/clock/offset_bounds_ns/0"), number(&document, "/clock/offset_bounds_ns/1")];
    assert!(bounds[0] <= 3.6e12 && 3.6e12 <= bounds[1] && bounds[1] - bounds[0] < 1.4e7, "{bounds:?}");
}

#[test]
fn without_a_method_the_clocks_error_stays_and_is_said() {
    let document = analyze(&["--skew", "none"]);
    assert_eq!(
        (&document["clock"]["method"], &document["clock"]["identifiable"]),
        (&"none".into(), &false.into())
    );
    assert!(document["clock"]["skew_ppm"].is_null());
    assert!(number(&document, "/forward/delay_ns/max") > 6e6);
    assert!(warned(&document).contains("clock-skew-included"), "{}", document["warnings"]);
}

#[test]
fn calibration_packets_and_a_known_least_time_are_used() {
    let document = analyze(&["--skew", "hull", "--calibration", "1500", "--path-minimum", "4ms"]);
    assert_eq!(document["clock"]["method"], "hull");
    // Of the first half alone, before the step.
    assert!((number(&document, "/clock/skew_ppm") - 40.0).abs() < 1.0, "{}", document["clock"]);
    // Of all packets, the step is taken for skew.
    let all = analyze(&["--skew", "least-squares"]);
    assert!((number(&all, "/clock/skew_ppm") - 40.0).abs() > 1.0, "{}", all["clock"]);
}

#[test]
fn a_stated_least_time_that_the_packets_do_not_bear_out_is_said_and_not_used() {
    let plain = analyze(&[]);
    // The quickest took 5 ms there, and 8 ms back.
    let document = analyze(&["--path-minimum", "20ms"]);
    let said = warned(&document);
    assert!(said.contains("contradicts the packets (--path-minimum 20.0 ms)"), "{said}");
    let bounds =
        |document: &Value, place: &str| number(document, &format!("/clock/offset_bounds_ns/{place}"));
    assert!((bounds(&document, "0") - bounds(&plain, "0")).abs() < 1.0, "{}", document["clock"]);
    // What both ways bear narrows the bounds by twice as much.
    let narrowed = analyze(&["--path-minimum", "4ms"]);
    let width = |document: &Value| bounds(document, "1") - bounds(document, "0");
    assert!((width(&plain) - width(&narrowed) - 8e6).abs() < 1.0, "{}", narrowed["clock"]);
    assert!(!warned(&narrowed).contains("contradicts"));
    // A local network's way takes microseconds.
    let little = analyze(&["--path-minimum", "1500ns"]);
    assert!((width(&plain) - width(&little) - 3e3).abs() < 1.0, "{}", little["clock"]);
}

/// A minute of packets one way, whose sender's clock is set after 40 s.
fn one_way(set_ns: i64) -> Value {
    let mut text = String::from("sequence,size,sent_ns,received_ns\n");
    for n in 0..3_000i64 {
        let left = n * 20_000_000;
        let waits = (n * 7_919) % 997 * (n % 13) * 100;
        let set = if n >= 2_000 { set_ns } else { 0 };
        let _ = writeln!(text, "{n},64,{},{}", left + set, left + left / 25_000 + 5_000_000 + waits);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.csv");
    std::fs::write(&file, text).unwrap();
    process::run(romer(["analyze", "--quiet", "--json", "-"]).arg(&file)).with_code(0).document()
}

#[test]
fn a_senders_clock_that_is_set_is_told_from_a_change_of_the_path_though_packets_go_one_way() {
    for set in [-3_000_000_000, -50_000_000, 30_000_000] {
        let document = one_way(set);
        let events = document["clock"]["events"].as_array().unwrap();
        assert_eq!(events.len(), 1, "{set}: {events:?}");
        assert_eq!((&events[0]["kind"], &events[0]["direction"]), (&"clock-step".into(), &"both".into()));
        assert!((number(&events[0], "/at_ns") - 40e9).abs() < 1e8, "{events:?}");
        // The offset is the responder's clock less the sender's, which was set.
        assert!((number(&events[0], "/size_ns") + set as f64).abs() < 1e3, "{set}: {events:?}");
        assert!((number(&document, "/clock/skew_ppm") - 40.0).abs() < 0.5, "{}", document["clock"]);
        assert!(number(&document, "/forward/delay_ns/max") < 1.4e6, "{}", document["forward"]["delay_ns"]);
        assert_eq!(document["events"][0]["location"], "sender");
    }
}

/// A stated bound makes one-way delays absolute, unless the log contradicts it: here the clocks differ by an hour.
#[test]
fn stated_clocks_are_used_or_contradicted() {
    let document = analyze(&["--clocks", "synchronised:10ms", "--clock-offset", "3600s"]);
    assert_eq!(document["clock"]["method"], "synchronised");
    assert_eq!(document["clock"]["synchronisation"]["source"], "user");
    for way in ["forward", "reverse"] {
        assert_eq!(document[way]["delay_kind"], "absolute");
        let least = number(&document[way], "/delay_ns/min");
        assert!((-1e7..2e7).contains(&least), "{way}: {least}");
    }
    let document = analyze(&["--clocks", "synchronised:10ms"]);
    assert_eq!(document["clock"]["method"], "piecewise");
    assert!(warned(&document).contains("synchronisation-contradicted"), "{}", document["warnings"]);
    for (wrong, told) in [
        (&["--clocks", "synchronised"][..], "add the bound"),
        (&["--clock-offset", "1ms"], "add --clocks synchronised:BOUND"),
        (&["--clocks", "shared", "--skew", "hull"], "one clock needs no estimate"),
        (&["--clocks", "both"], "use auto, synchronised"),
    ] {
        let mut command = romer(["analyze", "no.csv"]);
        let ended = process::run(command.args(wrong)).with_code(2);
        assert!(ended.stderr.contains(told), "{ended:?}");
    }
}
