//! The error of clocks, taken out of the delays of a packet log.

use std::fmt::Write;

use serde_json::Value;

use super::common::process::{self, romer};
use super::common::{number, schema};

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
    assert!(document["warnings"].to_string().contains("still in them"), "{}", document["warnings"]);
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
