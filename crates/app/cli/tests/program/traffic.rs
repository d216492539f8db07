//! Traffic as it is on the wire: sizes and times as the model asks for them.

use std::fs;

use serde_json::Value;

use crate::common::lab::{FAR, Lab, LoggedRoundTrip};
use crate::common::process::{self, romer};
use crate::common::{at, count};

fn sizes(rows: &[LoggedRoundTrip]) -> Vec<u64> {
    rows.iter().map(|row| row.size).collect()
}

#[test]
fn a_mixture_of_sizes_leaves_as_its_genome_says_and_the_document_tells_its_range() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = lab.measure(&["--traffic", "imix:abg", "--interval", "5ms", "--count", "9", FAR]);
    // Frames of 64, 128 and 1518 octets carry 18, 82 and 1472 of UDP over IPv4; a probe has at least 44.
    assert_eq!(sizes(&run.rows()), [44, 82, 1_472].repeat(3));
    let document = run.document();
    assert_eq!(at(&document, "/traffic/model"), "imix:abg");
    for (name, octets) in [("payload_octets", 533), ("payload_octets_min", 44), ("payload_octets_max", 1_472)]
    {
        assert_eq!(count(&document, &format!("/traffic/{name}")), octets, "{name}");
    }
    assert_eq!(count(&document, "/forward/packets/received"), 9);
}

#[test]
fn a_time_in_which_chance_has_few_packets_or_none_is_told_before_and_nothing_sent_is_no_complete_run() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let seed = ["--traffic", "im", "--seed", "1,2,3,4,5,6", FAR];
    let none = lab.try_measure(&[&["--duration", "50ms"][..], &seed].concat());
    let stderr = &none.ended.stderr;
    assert_eq!(none.ended.code, Some(2), "{:?}", none.ended);
    assert!(stderr.contains("note: by chance no packet leaves this host in 50 ms"), "{stderr}");
    assert!(
        stderr.contains(
            "error: no probe was sent (198.18.0.3): the random schedule has none within the duration"
        ),
        "{stderr}"
    );
    let shown = process::run(romer(["report"]).arg(none.folder())).with_code(0).stdout;
    assert!(shown.contains("no packet was sent") && shown.contains("Partial  no probe was sent"), "{shown}");
    let document = none.document();
    assert_eq!(at(&document, "/partial"), true);
    let manifest = fs::read_to_string(none.folder().join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(at(&manifest, "/status"), "partial");
    assert_eq!(count(&document, "/round_trip/packets/sent"), 0);
    let some = lab.measure(&[&["--interval", "200ms", "--duration", "1s"][..], &seed].concat());
    let sent = count(&some.document(), "/round_trip/packets/sent");
    let told = format!("note: by chance {sent} packet");
    assert!(sent > 0 && some.ended.stderr.contains(&told), "{sent}: {}", some.ended.stderr);
    assert!(some.ended.stderr.contains("about 5 in 1 s"), "{}", some.ended.stderr);
}

#[test]
fn a_packet_log_is_replayed_as_a_trace() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.csv");
    fs::write(
        &file,
        "sequence,size,t1_ns,t4_ns\n0,60,1000,\n1,44,20001000,\n1,44,20001000,\n2,100,20001000,9\n",
    )
    .unwrap();
    let traffic = format!("trace:{}", file.display());
    let run = lab.measure(&["--traffic", &traffic, FAR]);
    let rows = run.rows();
    assert_eq!(sizes(&rows), [60, 44, 100]);
    assert!(rows.is_sorted_by_key(|row| row.four()[0]), "{rows:?}");
    let document = run.document();
    // Two gaps, of 20 ms and none.
    assert_eq!(count(&document, "/traffic/interval_ns"), 10_000_000);
    assert_eq!(count(&document, "/traffic/count"), 3);
}

#[test]
fn a_trace_of_which_nothing_is_due_in_the_time_is_refused_before_anything_is_measured() {
    let lab = Lab::path();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("late.csv");
    fs::write(&file, "offset_ns,size\n5000000000,60\n").unwrap();
    let traffic = format!("trace:{}", file.display());
    // No responder is there: nobody is asked.
    let (mut command, _home) = lab.measuring(&["--traffic", &traffic, "--duration", "1s", FAR]);
    let ended = process::run(&mut command).with_code(2);
    assert!(ended.stderr.contains("(--duration): the first packet of trace:"), "{}", ended.stderr);
    assert!(ended.stderr.contains("is due 5s after the start"), "{}", ended.stderr);
}

#[test]
fn a_jitter_on_purpose_is_told_with_the_seed_that_repeats_it() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let jitter = |arguments: &[&str]| {
        let document =
            lab.measure(&[&["--count", "5", "--interval", "5ms", FAR], arguments].concat()).document();
        (at(&document, "/traffic/departure_jitter").clone(), at(&document, "/traffic/seed").clone())
    };
    let (told, seed) = jitter(&["--departure-jitter", "uniform:0ms,4ms"]);
    assert_eq!(told, "uniform:0ns,4ms");
    assert_eq!(seed.as_array().map(Vec::len), Some(6));
    assert_eq!(jitter(&["--departure-jitter", "tick:10ms"]), (Value::from("tick:10ms"), Value::Null));
    assert_eq!(jitter(&[]), (Value::Null, Value::Null));
}
