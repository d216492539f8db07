//! What other programs recorded: Qtcp's files, irtt's documents, captures.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::common::lab::{FAR, Lab};
use super::common::process::{self, romer};
use super::common::{at, count, number, schema};

/// A file that was recorded on a path of the laboratory: irtt 0.9.0 with packets dropped on both ways, and tcpdump at
/// both ends of another of its streams.
fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/program/recorded").join(name)
}

fn analyzed(arguments: &[&str], paths: &[&Path]) -> Value {
    let mut command = romer(["analyze", "--quiet", "--json", "-"]);
    for (place, path) in paths.iter().enumerate() {
        command.args(arguments.get(place).filter(|argument| !argument.is_empty())).arg(path);
    }
    let document = process::run(&mut command).with_code(0).document();
    schema::assert_valid(&document, "measurement");
    document
}

#[test]
fn a_document_of_irtt_gives_irtts_own_figures() {
    let path = recorded("irtt.json");
    let document = analyzed(&[], &[&path]);
    let theirs: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(count(&document, "/round_trip/packets/sent"), count(&theirs, "/stats/packets_sent"));
    assert_eq!(count(&document, "/round_trip/packets/received"), count(&theirs, "/stats/packets_received"));
    for figure in ["min", "max", "mean", "median"] {
        let (ours, irtts) = (
            number(&document, &format!("/round_trip/delay_ns/{figure}")),
            number(&theirs, &format!("/stats/rtt/{figure}")),
        );
        // irtt cuts means and medians to whole nanoseconds.
        assert!((ours - irtts).abs() < 1.0, "{figure}: {ours} and {irtts}");
    }
    assert_eq!(at(&document, "/stamps/sender_departure"), "user");
    assert_eq!(count(&document, "/traffic/dscp"), 46);
    assert!(at(&document, "/traffic/protocol").as_str().unwrap().starts_with("irtt 0.9.0"));
    assert_eq!(at(&document, "/started").as_str(), theirs.pointer("/stats/start_time").unwrap().as_str());
}

#[test]
fn without_the_servers_stamps_irtts_round_trips_and_the_ways_of_its_losses_are_told_all_the_same() {
    let mut theirs: Value =
        serde_json::from_str(&std::fs::read_to_string(recorded("irtt.json")).unwrap()).unwrap();
    let trips = theirs["round_trips"].as_array_mut().unwrap();
    for trip in trips.iter_mut() {
        trip["timestamps"]["server"] = serde_json::json!({"receive": {}, "send": {}});
        if trip["lost"] == "true" {
            trip["lost"] = "true_down".into();
        }
    }
    let lost = |way: &str| trips.iter().map(|trip| u64::from(trip["lost"] == way)).sum::<u64>();
    let (up, down) = (lost("true_up"), lost("true_down"));
    assert!(up > 0 && down > 0, "then this tests nothing");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("irtt.json");
    std::fs::write(&path, theirs.to_string()).unwrap();
    let document = analyzed(&[], &[&path]);
    let packets = |place: &str| count(&document, place);
    assert_eq!(packets("/forward/packets/lost"), up);
    assert_eq!(packets("/reverse/packets/lost"), down);
    assert_eq!(packets("/round_trip/packets/lost"), up + down);
    assert_eq!(packets("/round_trip/delay_ns/count"), packets("/round_trip/packets/received"));
    // With the server's own time, which irtt takes off.
    let more = number(&document, "/round_trip/delay_ns/mean") - number(&theirs, "/stats/rtt/mean");
    assert!((0.0..1e6).contains(&more), "{more} ns more than irtt's");
    let warnings = at(&document, "/warnings").to_string();
    assert!(warnings.contains("the time that it had the packets for, too"), "{warnings}");
    assert!(warnings.contains("no packet has the stamps of both ends"), "{warnings}");
    assert!(!warnings.contains("stamps did not come"), "{warnings}");
}

#[test]
fn what_others_recorded_has_a_page_and_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let name = |file: &str| folder.path().join(file);
    let (irtt, near, far) = (recorded("irtt.json"), recorded("near.pcap"), recorded("far.pcap"));
    let page = |file: &str| std::fs::read_to_string(name(file)).unwrap();
    process::run(romer(["report", "--quiet", "--html"]).arg(name("a.html")).arg(&irtt)).with_code(0);
    process::run(romer(["analyze", "--quiet", "--html"]).arg(name("b.html")).arg(&irtt)).with_code(0);
    // They differ in the command that repeats them.
    assert!(page("a.html").contains("irtt 0.9.0") && page("b.html").contains("irtt 0.9.0"));
    let mut captures = romer(["analyze", "--quiet", "--html"]);
    captures.arg(name("c.html")).arg("--capture-a").arg(near).arg("--capture-b").arg(far);
    process::run(&mut captures).with_code(0);
    assert!(page("c.html").contains("data-figure"));
    // A table of the same packets is the same measurement.
    process::run(romer(["report", "--quiet", "--csv"]).arg(name("irtt.csv")).arg(&irtt)).with_code(0);
    let compare = |other: &Path| {
        let mut command = romer(["compare", "--quiet", "--json", "-"]);
        process::run(command.arg(&irtt).arg(other)).with_code(0).document()
    };
    for other in [irtt.clone(), name("irtt.csv")] {
        let document = compare(&other);
        schema::assert_valid(&document, "comparison");
        assert!(document.to_string().contains("round_trip"), "{document}");
    }
    let of = |file: &Path| analyzed(&[], &[file]);
    assert_eq!(at(&of(&irtt), "/round_trip/delay_ns"), at(&of(&name("irtt.csv")), "/round_trip/delay_ns"));
}

#[test]
fn two_captures_of_one_stream_are_both_its_ways_whichever_is_named_first() {
    let (near, far) = (recorded("near.pcap"), recorded("far.pcap"));
    let both = analyzed(&["--capture-a", "--capture-b"], &[&near, &far]);
    let turned = analyzed(&["--capture-a", "--capture-b"], &[&far, &near]);
    assert_eq!(count(&both, "/forward/packets/sent"), 17);
    assert_eq!(count(&both, "/reverse/packets/sent"), 16);
    // So that both have their rows wherever the ways are listed.
    assert_eq!(at(&both, "/traffic/direction"), "both");
    for pointer in ["delay_ns", "packets", "ipdv_ns"] {
        assert_eq!(at(&both, &format!("/forward/{pointer}")), at(&turned, &format!("/reverse/{pointer}")));
        assert_eq!(at(&both, &format!("/reverse/{pointer}")), at(&turned, &format!("/forward/{pointer}")));
    }
    assert_eq!(count(&both, "/forward/ttl/min"), 64);
    let bounds = at(&both, "/clock/offset_bounds_ns");
    let bound = |place: usize| bounds[place].as_i64().unwrap();
    assert!(bound(0) < 0 && bound(1) > 0, "both ends read one clock: {bounds}");
}

#[test]
fn a_raw_file_is_analysed_and_its_gaps_are_losses() {
    let folder = tempfile::tempdir().unwrap();
    let raw = folder.path().join("a.raw");
    std::fs::write(&raw, "1000:1030:30:64:0\n1100:1190:90:64:1\n1300:1360:60:64:3\n").unwrap();
    let document = analyzed(&[], &[&raw]);
    assert_eq!(count(&document, "/forward/packets/sent"), 4);
    assert_eq!(count(&document, "/forward/packets/lost"), 1);
    // When it left is not in the file, and no stamp that did not come.
    assert_eq!(count(&document, "/stamps/missing/sender_departure"), 0);
    // 6 microseconds above the least of 3.
    assert!((number(&document, "/forward/delay_ns/max") - 6_000.0).abs() < 1e-6);
}

#[test]
fn a_runs_files_of_qtcp_hold_its_packets_and_convert_into_each_other() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = lab.measure(&["--count", "60", "--interval", "2ms", "--size", "64B", FAR]);
    let name = |file: &str| run.home.path().join(file);
    let export = |prefix: &str, more: &[&str]| {
        let mut command = romer(["report", "--quiet", "--qtcp"]);
        process::run(command.arg(name(prefix)).arg(run.folder()).args(more)).with_code(0);
    };
    let read = |file: &str| std::fs::read_to_string(name(file)).unwrap();
    export("there", &[]);
    export("back", &["--direction", "reverse", "--normalised"]);
    assert_eq!(read("there.raw").lines().count(), 60);
    assert!(read("there.sta").contains("\nreceived: 60\nlost: 0\n"), "{}", read("there.sta"));
    let latencies = |file: &str| -> Vec<i64> {
        read(file).lines().map(|line| line.split(':').nth(2).unwrap().parse().unwrap()).collect()
    };
    assert_eq!(latencies("there.log").into_iter().min(), Some(0));
    assert_eq!(latencies("back.raw").into_iter().min(), Some(0), "it is normalised");
    let (log, raw) = (read("there.log"), read("there.raw"));
    // The conversion gives the same log again, and touches nothing else: both ends read one clock, whose skew is none.
    let mut prefix = std::ffi::OsString::from("-F");
    prefix.push(name("there"));
    process::run(romer(["qtcp", "--force", "-k0"]).arg(&prefix)).with_code(0);
    assert_eq!((read("there.log"), read("there.raw")), (log, raw.clone()));
    let said = process::run(romer(["qtcp", "--force"]).arg(&prefix)).with_code(0);
    assert!(said.stdout.contains("60 packets, 0 lost, skew "), "{said:?}");
    assert_eq!(read("there.raw"), raw);
    process::run(romer(["qtcp", "--force", "-k0", "-q", "10"]).arg(&prefix)).with_code(0);
    assert_eq!(read("there.log").lines().count(), 6);
    // The same delays come out of the file as of the run, to the unit of the file.
    let (ours, files) = (run.document(), analyzed(&[], &[&name("there.raw")]));
    for figure in ["max", "median"] {
        let pointer = format!("/forward/pdv_ns/{figure}");
        assert!((number(&ours, &pointer) - number(&files, &pointer)).abs() <= 200.0, "{figure}");
    }
    let table = process::run(romer(["qtcp", "--csv", "-", "-A"]).arg(run.home.path())).with_code(0);
    let lines: Vec<&str> = table.stdout.lines().collect();
    assert!(
        lines[0].starts_with("file,run,received,lost,duplicated,size,rate,service,duration"),
        "{table:?}"
    );
    assert!(lines.len() == 3 && lines[1].starts_with("back.sta,") && lines[2].starts_with("there.sta,"));
}

#[test]
fn a_step_of_the_far_clock_is_taken_out_of_both_files_of_a_stream_each_way() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["there.csv", "back.csv"].map(|name| folder.path().join(name));
    for step in [5_000_000_i64, -30_000_000] {
        // Even departures every 20 ms; half a millisecond and some waiting each way; the far clock is set after 40 s.
        let far = |moment: i64| moment + 123_456_789 + if moment < 40_000_000_000 { 0 } else { step };
        let mut texts = ["sequence,size,sent_ns,received_ns\n"; 2].map(str::to_owned);
        for n in 0..4_000_i64 {
            let waits = |n: i64| 500_000 + (n * 7_919) % 997 * (n % 13) * 100;
            let (left, replied) = (n * 20_000_000, n * 20_000_000 + 7_000_000);
            texts[0] += &format!("{n},100,{left},{}\n", far(left + waits(n)));
            texts[1] += &format!("{n},100,{},{}\n", far(replied), replied + waits(n + 3));
        }
        for (file, text) in files.iter().zip(&texts) {
            std::fs::write(file, text).unwrap();
        }
        let document = analyzed(&["", "--reverse"], &[&files[0], &files[1]]);
        for way in ["forward", "reverse"] {
            let spread = number(&document, &format!("/{way}/delay_ns/max"))
                - number(&document, &format!("/{way}/delay_ns/min"));
            assert!(spread < 2e6, "{step} {way}: {document:#}");
        }
        let events = at(&document, "/clock/events").as_array().unwrap();
        assert!(events.iter().all(|event| event["kind"] == "clock-step"), "{step}: {events:#?}");
        assert!(events.iter().any(|event| (event["size_ns"].as_i64().unwrap() - step).abs() < 100_000));
    }
}

#[test]
fn what_is_read_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let [kept, link] = ["kept.raw", "link.raw"].map(|name| folder.path().join(name));
    let line = |n: u32| format!("{}:{}:5000:100:{n}\n", n * 200_000, n * 200_000 + 5_000);
    let lines: String = (0..200).map(line).collect();
    std::fs::write(&kept, &lines).unwrap();
    std::fs::hard_link(&kept, &link).unwrap();
    for (command, option) in
        [("analyze", "--json"), ("analyze", "--html"), ("analyze", "--log"), ("report", "--html")]
    {
        for target in [&kept, &link] {
            let mut command = romer([command, "--force"]);
            let refused = process::run(command.arg(&kept).arg(option).arg(target)).with_code(2);
            assert!(refused.stderr.contains("the output is the input"), "{option}: {}", refused.stderr);
            assert_eq!(std::fs::read_to_string(&kept).unwrap(), lines, "{option}");
        }
    }
    let prefix = folder.path().join("kept");
    let mut qtcp = romer(["report", "--force", "--normalised", "--qtcp"]);
    process::run(qtcp.arg(&prefix).arg(&kept)).with_code(2);
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), lines);
}
