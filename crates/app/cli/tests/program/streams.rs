//! What is said while a measurement goes on.

use serde_json::Value;

use crate::common::lab::{FAR, Lab, stored};
use crate::common::{at, count, number, process, schema};

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?}"))).collect()
}

#[test]
fn each_line_of_a_stream_is_a_valid_object_the_first_within_a_second_and_the_last_the_document() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let (mut command, home) =
        lab.measuring(&["--json-lines", "--duration", "1500ms", "--interval", "20ms", FAR]);
    let ended = process::run(&mut command).with_code(0);
    let lines = lines(&ended.stdout);
    for line in &lines {
        schema::assert_valid(line, "stream");
        assert_eq!(at(line, "/schema"), "romer/stream/1");
    }
    let intervals: Vec<&Value> = lines.iter().filter(|line| at(line, "/type") == "interval").collect();
    assert!(count(intervals[0], "/elapsed_ns") <= 1_000_000_000, "{}", intervals[0]);
    for pair in intervals.windows(2) {
        for name in ["/elapsed_ns", "/sent", "/returned", "/durable_entries", "/durable_sent"] {
            assert!(count(pair[0], name) <= count(pair[1], name), "{name} went back: {pair:?}");
        }
    }
    assert_eq!(count(intervals.last().unwrap(), "/returned"), 75);
    let (last, before) = lines.split_last().unwrap();
    assert_eq!(at(last, "/type"), "final");
    assert!(before.iter().all(|line| at(line, "/type") != "final"));
    assert_eq!(at(last, "/measurement"), &stored(&home.path().join("run")));
}

/// With `--each` every reply has a line, in which the delays of both directions add up to that of the round trip.
#[test]
fn each_reply_has_a_line() {
    const PROBES: u64 = 50;
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let (mut command, _home) =
        lab.measuring(&["--json-lines", "--each", "--count", "50", "--interval", "5ms", FAR]);
    let lines = lines(&process::run(&mut command).with_code(0).stdout);
    lines.iter().for_each(|line| schema::assert_valid(line, "stream"));
    let returns: Vec<&Value> = lines.iter().filter(|line| at(line, "/type") == "return").collect();
    let mut sequences: Vec<u64> = returns.iter().map(|line| count(line, "/sequence")).collect();
    sequences.sort_unstable();
    assert_eq!(sequences, (0..PROBES).collect::<Vec<_>>());
    for line in returns {
        // Both hosts of a lab read one clock.
        assert_eq!(at(line, "/forward/delay_kind"), "absolute", "{line}");
        let [forward, reverse, round_trip] =
            ["/forward/delay_ns", "/reverse/delay_ns", "/round_trip_delay_ns"].map(|name| number(line, name));
        // Delays below a second are exact to a microsecond in the format of the reply's time stamps.
        assert!((forward + reverse - round_trip).abs() < 1e3, "{line}");
        assert!(at(line, "/skew_ppm").is_null(), "{line}");
    }
    let (mut command, _home) = lab.measuring(&["--json-lines", "--each", "--direction", "forward", FAR]);
    let refused = process::run(&mut command);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("only round trips return"), "{refused:?}");
}

#[test]
fn a_reader_that_does_not_read_holds_up_nothing_and_is_told_what_it_missed() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let asked = ["--json-lines", "--json-lines-interval", "20ms", "--duration", "12s", "--interval", "4ms"];
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
        ended.stderr.contains(&format!("note: {skipped} lines of --json-lines were skipped")),
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
fn a_reader_that_never_reads_is_given_up_at_the_end_and_a_signal_ends_that_wait() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for is_signalled in [false, true] {
        let asked = [
            "--json-lines",
            "--json-lines-interval",
            "20ms",
            "--duration",
            "8s",
            "--interval",
            "10ms",
            "-q",
            FAR,
        ];
        let (mut command, home) = lab.measuring(&asked);
        let mut stalled = process::Process::start(&mut command);
        let kept = home.path().join("run/measurement.json.gz");
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !kept.exists() {
            assert!(std::time::Instant::now() < until, "the run is not kept");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        if is_signalled {
            std::thread::sleep(std::time::Duration::from_secs(1));
            stalled.signal("TERM");
        }
        while stalled.is_running() {
            assert!(std::time::Instant::now() < until, "it does not end");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let ended = stalled.wait().with_code(4);
        let why = if is_signalled {
            "interrupted while waiting"
        } else {
            "the reader of the pipe accepted no data for 10 s"
        };
        let told = format!("error: cannot write (standard output): {why}");
        assert!(ended.stderr.contains(&told), "{}", ended.stderr);
    }
}

/// `arguments` of the program under test, started as by a shell that closes some streams: `closing` says which.
fn without(closing: &str, arguments: &[&str]) -> std::process::Command {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &format!("exec \"$0\" \"$@\" {closing}"), process::PROGRAM]).args(arguments);
    command
}

#[test]
fn an_output_that_was_closed_from_the_start_is_told_where_something_was_to_be_written_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.csv");
    let lines = (0..100).map(|n| format!("{n},100,{},{}\n", n * 10_000_000, n * 10_000_000 + 5_000_000));
    std::fs::write(&log, format!("sequence,size,sent_ns,received_ns\n{}", lines.collect::<String>()))
        .unwrap();
    let log = log.to_str().unwrap();
    let kept = folder.path().join("document.json");
    let kept = kept.to_str().unwrap();
    let written: [&[&str]; 5] =
        [&["--help"], &["--version"], &["analyze", log], &["analyze", log, "--json", "-"], &["doctor"]];
    for arguments in written {
        let ended = process::run(&mut without(">&-", arguments)).with_code(4);
        let told = "error: cannot write (standard output): it was closed from the start; write to a file, or to /dev/null\n";
        assert_eq!(ended.stderr.lines().filter(|line| line.starts_with("error")).count(), 1, "{ended:?}");
        assert!(ended.stderr.ends_with(told), "{arguments:?}: {ended:?}");
        // Who has nothing to say does not need it, and the code is the same without a place for errors.
        process::run(&mut without(">&- 2>&-", arguments)).with_code(4);
        let fine = process::run(&mut without("<&- 2>&-", arguments)).with_code(0);
        assert!(fine.stdout.len() > 10 && fine.stderr.is_empty(), "{fine:?}");
    }
    process::run(&mut without(">&- <&- 2>&-", &["analyze", log, "--quiet", "--json", kept])).with_code(0);
    let document: Value = serde_json::from_str(&std::fs::read_to_string(kept).unwrap()).unwrap();
    schema::assert_valid(&document, "measurement");
    process::run(&mut without("2>&-", &["analyze", "nothing.csv"])).with_code(4);
}

#[test]
fn a_measurement_without_an_output_is_told_so_at_once_and_one_whose_output_is_full_is_kept() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let measured = |redirected: &str, more: &[&str], code| {
        let home = tempfile::tempdir().unwrap();
        let run = home.path().join("run");
        let asked = ["measure", FAR, "--count", "20", "--interval", "5ms", "--out", run.to_str().unwrap()];
        let mut command = lab.command("A", "sh");
        let script = format!("exec \"$0\" \"$@\" {redirected}");
        command.args(["-c", &script, process::PROGRAM]).args(asked).args(more);
        let ended = process::run(&mut command).with_code(code);
        let kept = romer_store::measurement_text(&run).ok();
        (ended, kept.map(|kept| serde_json::from_str::<Value>(&kept).unwrap()))
    };
    let received = |kept: Option<Value>| count(&kept.unwrap(), "/round_trip/packets/received");
    for more in [&[][..], &["--json", "-"], &["--json-lines"], &["--quiet", "--json-lines"]] {
        let (ended, kept) = measured(">&-", more, 4);
        let told = "error: cannot write (standard output): it was closed from the start; write to a file, or to /dev/null\n";
        assert_eq!(ended.stderr, told, "{more:?}: nothing was measured, and nothing else is told");
        assert_eq!(kept, None, "{more:?}");
        // That this is full shows only once something is written.
        let (ended, kept) = measured(">/dev/full", more, 4);
        assert!(
            ended.stderr.contains("cannot write (standard output): No space left"),
            "{more:?}: {ended:?}"
        );
        assert_eq!(received(kept), 20, "{more:?}");
    }
    // Who writes nothing to it does not need it.
    let (ended, kept) = measured(">&-", &["--quiet"], 0);
    assert_eq!((ended.stderr.as_str(), received(kept)), ("", 20));
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
    // The lines are as long as a terminal is wide.
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in [FAR, "round trip", "loss 0 % (0/5)", home.path().to_str().unwrap()] {
        assert!(text.contains(word), "no {word:?} in {}", ended.stdout);
    }
    assert!(!ended.stdout.contains('\u{1b}'), "no colour where no terminal is");
}
