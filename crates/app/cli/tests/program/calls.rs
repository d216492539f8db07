//! Streams as telephone calls: their ratings, limits on these, and their comparison.

use serde_json::Value;

use super::common::lab::{FAR, Lab};
use super::common::process::{self, romer};
use super::common::{at, number, schema};

/// A clean path has R 93 for G.711 in both directions, and discards nothing; limits on the rating are judged.
#[test]
fn clean_call_is_rated_and_limited() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let held = lab.measure(&[
        "--traffic",
        "g711",
        "--count",
        "120",
        "--limit",
        "voice.forward.mos>=4.3",
        "--limit",
        "voice.reverse.discard_ratio<=0%",
        "--jitter-buffer",
        "60ms",
        FAR,
    ]);
    let document = held.document();
    assert_eq!(number(&document, "/traffic/frames_per_packet").to_string(), "2");
    for way in 0..2 {
        let of = |name: &str| at(&document, &format!("/voice/{way}/{name}")).clone();
        assert!((of("r").as_f64().unwrap() - 93.2).abs() < 1e-9, "{document:#}");
        assert_eq!((of("rating"), of("jitter_buffer")), ("very-satisfied".into(), "fixed".into()));
        assert_eq!(of("jitter_buffers").as_array().map(Vec::len), Some(5));
        assert!(number(&of("adaptive"), "/jitter_buffer_ns") >= 10e6, "{document:#}");
        // A packet of 20 ms and the buffer, and a path of less than a millisecond or some of a busy host's.
        let delay = of("mouth_to_ear_ns").as_f64().unwrap();
        assert!((80e6..95e6).contains(&delay), "{delay}");
    }
    assert_eq!(at(&document, "/limits/0/passed"), true);
    // Read again with another concealment and the best buffer, and compared with what it was.
    let mut analyze = romer(["analyze", "--quiet", "--json", "-", "--codec", "g711-no-plc"]);
    let again = process::run(analyze.args(["--limit", "voice.forward.mos>=4.45"]).arg(held.folder()));
    let document = again.with_code(6).document();
    assert_eq!(at(&document, "/voice/0/codec/name"), "g711-no-plc");
    assert_eq!(at(&document, "/voice/0/jitter_buffer"), "optimal");
    let mut contradicts = romer(["analyze", "--quiet", "--codec", "g729"]);
    let refused = process::run(contradicts.arg(held.folder())).with_code(2).stderr;
    assert!(refused.contains("the stream is of g711"), "{refused}");
    let mut compare = romer(["compare", "--quiet", "--json", "-", "--limit", "voice.forward.mos>=-0.1"]);
    let compared = process::run(compare.arg(held.folder()).arg(held.folder())).with_code(0).document();
    schema::assert_valid(&compared, "comparison");
    let figures = at(&compared, "/directions/0/figures").as_array().unwrap();
    let mos = figures.iter().find(|figure| figure["figure"] == "voice.mos").unwrap();
    assert_eq!(number(mos, "/difference").to_string(), "0");
}

/// What is no call is not rated, MELP by delay and loss only, and AMR-WB on the wideband scale.
#[test]
fn rating_follows_traffic() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let rated = |more: &[&str]| -> Value {
        let arguments = [&["--direction", "forward", "--count", "100"], more, &[FAR]].concat();
        at(&lab.measure(&arguments).document(), "/voice").clone()
    };
    assert_eq!(rated(&["--interval", "5ms"]).as_array().map(Vec::len), Some(0));
    let melp = rated(&["--traffic", "melp"]);
    assert!(at(&melp, "/0/mos").is_null() && at(&melp, "/0/r").is_null(), "{melp}");
    assert_eq!(at(&melp, "/0/delay_and_loss"), "preferred");
    let amr = rated(&["--traffic", "amr-wb"]);
    assert_eq!(at(&amr, "/0/codec/scale"), "wideband");
    assert!((number(&amr, "/0/r") - 109.0).abs() < 1e-9, "{amr}");
    for (more, part) in [
        (&["--limit", "voice.forward.mos>=4"][..], "is no telephone call"),
        (&["--traffic", "melp", "--limit", "voice.forward.mos>=4"], "--voice-ie"),
        (&["--traffic", "g711", "--codec", "g729"], "the stream is of g711"),
        (&["--traffic", "melp", "--jitter-buffer", "20ms"], "one melp frame, 22.5ms"),
    ] {
        let mut command = romer(["measure", "--quiet", FAR]);
        let refused = process::run(command.args(more)).with_code(2).stderr;
        assert!(refused.contains(part), "{more:?}: {refused}");
    }
}
