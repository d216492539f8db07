//! What is said while a measurement goes on.

use serde_json::Value;

use crate::common::lab::{FAR, Lab};
use crate::common::{at, count, process, schema};

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?}"))).collect()
}

#[test]
fn each_line_of_a_stream_is_a_valid_object_the_first_within_a_second_and_the_last_the_document() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let (mut command, home) = lab.measuring(&["--stream", "--duration", "1500ms", "--interval", "20ms", FAR]);
    let ended = process::run(&mut command).with_code(0);
    let lines = lines(&ended.stdout);
    for line in &lines {
        schema::assert_valid(line, "stream");
        assert_eq!(at(line, "/schema"), "romer/stream/1");
    }
    let intervals: Vec<&Value> = lines.iter().filter(|line| at(line, "/type") == "interval").collect();
    assert!(count(intervals[0], "/elapsed_ns") <= 1_000_000_000, "{}", intervals[0]);
    for pair in intervals.windows(2) {
        for name in ["/elapsed_ns", "/sent", "/returned", "/kept_entries", "/kept_sent"] {
            assert!(count(pair[0], name) <= count(pair[1], name), "{name} went back: {pair:?}");
        }
    }
    assert_eq!(count(intervals.last().unwrap(), "/returned"), 75);
    let (last, before) = lines.split_last().unwrap();
    assert_eq!(at(last, "/type"), "final");
    assert!(before.iter().all(|line| at(line, "/type") != "final"));
    let kept = std::fs::read_to_string(home.path().join("run/measurement.json")).unwrap();
    assert_eq!(at(last, "/measurement"), &serde_json::from_str::<Value>(&kept).unwrap());
}

#[test]
fn a_reader_that_does_not_read_holds_up_nothing_and_is_told_what_it_missed() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let asked = ["--stream", "--stream-interval", "20ms", "--duration", "12s", "--interval", "4ms"];
    let asked = [&asked[..], &["--direction", "forward", "--live-delays", FAR]].concat();
    let (mut command, _home) = lab.measuring(&asked);
    let stalled = process::Process::start(&mut command);
    // Some 500 lines: more than twice what a pipe and the program hold.
    std::thread::sleep(std::time::Duration::from_secs(10));
    let ended = stalled.wait().with_code(0);
    let lines = lines(&ended.stdout);
    lines.iter().for_each(|line| schema::assert_valid(line, "stream"));
    let of = |kind: &str| lines.iter().filter(|line| at(line, "/type") == kind).collect::<Vec<_>>();
    let skipped: u64 = of("skipped").into_iter().map(|line| count(line, "/lines")).sum();
    let document = lines.last().unwrap();
    assert!(skipped > 50, "{:#?}", of("skipped"));
    assert_eq!(count(document, "/skipped_lines"), skipped);
    assert!(
        ended.stderr.contains(&format!("note: {skipped} lines of --stream were skipped")),
        "{}",
        ended.stderr
    );
    let packets = at(document, "/measurement/forward/packets");
    assert_eq!((count(packets, "/sent"), count(packets, "/received")), (3_000, 3_000), "{packets}");
    // Where lines are missing, it stands in their place.
    let place = lines.iter().position(|line| at(line, "/type") == "skipped").unwrap();
    let [before, after] = [&lines[..place], &lines[place..]]
        .map(|part| part.iter().filter(|line| at(line, "/type") == "interval").collect::<Vec<_>>());
    let gap = count(after[0], "/elapsed_ns") - count(before.last().unwrap(), "/elapsed_ns");
    assert!(gap > 1_000_000_000, "{gap}");
}

#[test]
fn quiet_prints_nothing() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let (mut command, _home) = lab.measuring(&["--quiet", "--count", "5", "--interval", "5ms", FAR]);
    let ended = process::run(&mut command).with_code(0);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
}

#[test]
fn without_options_a_summary_goes_to_standard_output_and_nothing_to_standard_error() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let (mut command, home) = lab.measuring(&["--count", "5", "--interval", "5ms", FAR]);
    let ended = process::run(&mut command).with_code(0);
    assert_eq!(ended.stderr, "");
    for word in [FAR, "round trip", "None of 5 probes was lost", home.path().to_str().unwrap()] {
        assert!(ended.stdout.contains(word), "no {word:?} in {}", ended.stdout);
    }
    assert!(!ended.stdout.contains('\u{1b}'), "no colour where no terminal is");
}
