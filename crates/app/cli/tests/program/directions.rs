//! One-way sessions: each direction by itself and both at once, every packet logged at both ends.

use std::fs;

use serde_json::Value;

use crate::common::lab::{FAR, FAR_V6, Lab, Run, kept, stored};
use crate::common::process::{self, Process, romer};
use crate::common::{at, count, warned};

/// The packet log of one direction: sequence, size, sent, received.
fn lines(run: &Run, direction: &str) -> Vec<(u64, u64, Option<i64>, Option<i64>)> {
    let mut report = romer(["report", "--quiet", "--csv", "-", "--direction", direction]);
    let csv = process::run(report.arg(run.folder())).with_code(0).stdout;
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("sequence,size,sent_ns,received_ns,user_sent_ns,user_received_ns"));
    let read = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let stamp = |at: usize| (!fields[at].is_empty()).then(|| fields[at].parse().unwrap());
        (fields[0].parse().unwrap(), fields[1].parse().unwrap(), stamp(2), stamp(3))
    };
    lines.map(read).collect()
}

fn ways(direction: &str) -> &'static [&'static str] {
    match direction {
        "forward" => &["forward"],
        "reverse" => &["reverse"],
        _ => &["forward", "reverse"],
    }
}

#[test]
fn the_voice_packet_goes_each_way_in_its_real_size_and_is_logged_at_both_ends() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    lab.bridge(
        "iifname e0 udp dport 862 udp length 22 counter name there
         iifname e1 udp sport 862 udp length 22 counter name back",
    );
    let mut so_far = [0, 0];
    for direction in ["forward", "reverse", "both"] {
        let run = lab.measure(&["--direction", direction, "--traffic", "melp", "--count", "20", FAR]);
        let document = run.document();
        assert_eq!(at(&document, "/traffic/direction"), direction);
        assert_eq!(count(&document, "/traffic/payload_octets"), 14);
        assert_eq!(at(&document, "/partial"), false);
        for way in ["forward", "reverse", "round_trip"] {
            let packets = at(&document, &format!("/{way}/packets"));
            if ways(direction).contains(&way) {
                let counts = ["/sent", "/received", "/lost", "/duplicated", "/not_sent"];
                assert_eq!(counts.map(|name| count(packets, name)), [20, 20, 0, 0, 0], "{direction}: {way}");
                assert_eq!(count(&document, &format!("/{way}/delay_ns/count")), 20);
                assert_eq!(count(&document, &format!("/{way}/departure_error_ns/count")), 20);
                let rows = lines(&run, way);
                assert_eq!(rows.len(), 20);
                for (row, number) in rows.iter().zip(0..) {
                    assert_eq!((row.0, row.1), (number, 14));
                    assert!(row.2.unwrap() < row.3.unwrap(), "{direction}, {way}: {row:?}");
                }
            } else {
                assert!(packets["sent"].is_null() && packets["received"].is_null(), "{direction}: {packets}");
                assert_eq!(count(&document, &format!("/{way}/delay_ns/count")), 0);
            }
        }
        so_far[0] += if ways(direction).contains(&"forward") { 20 } else { 0 };
        so_far[1] += if ways(direction).contains(&"reverse") { 20 } else { 0 };
        let counted = ["there", "back"].map(|counter| lab.counted("E", "bridge", counter));
        assert_eq!(counted, so_far, "packets of 14 octets on the wire after {direction}");
    }
}

#[test]
fn a_far_end_sends_less_than_a_packet_a_second_too() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = lab.measure(&["--direction", "both", "--interval", "1200ms", "--count", "2", FAR]);
    for way in ["forward", "reverse"] {
        let counts =
            ["sent", "received"].map(|name| count(&run.document(), &format!("/{way}/packets/{name}")));
        assert_eq!(counts, [2, 2], "{way}");
    }
}

#[test]
fn a_loss_is_told_in_the_direction_in_which_the_kernel_dropped() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    lab.bridge(
        "iifname e0 udp dport 862 numgen inc mod 5 1 counter name there drop
         iifname e1 udp sport 862 numgen random mod 4 0 counter name back drop",
    );
    let mut dropped = [0, 0];
    for direction in ["forward", "reverse", "both"] {
        for target in [FAR, FAR_V6] {
            let options = ["--direction", direction, "--count", "100", "--interval", "2ms"];
            let document = lab.measure(&[&options[..], &[target]].concat()).document();
            let now = ["there", "back"].map(|counter| lab.counted("E", "bridge", counter));
            for (way, place) in [("forward", 0), ("reverse", 1)] {
                if !ways(direction).contains(&way) {
                    assert_eq!(now[place], dropped[place], "{direction} sent {way}");
                    continue;
                }
                let packets = at(&document, &format!("/{way}/packets"));
                let [sent, received, lost] = ["/sent", "/received", "/lost"].map(|name| count(packets, name));
                assert_eq!((sent, received + lost), (100, 100), "{direction}, {way}: {packets}");
                assert_eq!(lost, now[place] - dropped[place], "{direction}, {way}");
            }
            dropped = now;
        }
    }
    assert!(dropped[0] > 0 && dropped[1] > 0);
}

#[test]
fn both_ends_draw_their_schedules_by_the_seed_that_is_told_and_not_the_same() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = |direction: &str, seed: &str| {
        let traffic = ["--traffic", "imix:ab", "--interval", "1ms", "--departure-jitter"];
        let random = ["exponential:1ms", "--count", "30", "--seed", seed, "--direction", direction, FAR];
        lab.measure(&[&traffic[..], &random].concat())
    };
    let poisson = |direction: &str, seed: &str, way: &str| {
        let options = ["--traffic", "poisson", "--interval", "10ms", "--count", "40", "--seed", seed];
        let run = lab.measure(&[&options[..], &["--direction", direction, FAR]].concat());
        let rows = lines(&run, way);
        rows.windows(2).map(|two| two[1].2.unwrap() - two[0].2.unwrap()).collect::<Vec<i64>>()
    };
    // The median passes over what the host's pauses displace; gaps of two seeds differ by 7 ms at the median.
    let apart = |a: &[i64], b: &[i64]| {
        let mut apart: Vec<u64> = a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).collect();
        apart.sort_unstable();
        apart[apart.len() / 2]
    };
    let here = poisson("forward", "1,2,3,4,5,6", "forward");
    let there = poisson("reverse", "1,2,3,4,5,6", "reverse");
    let next = poisson("both", "1,2,3,4,5,5", "reverse");
    assert!(apart(&here, &there) < 3_000_000, "the far end makes another schedule of the same seed");
    assert!(apart(&here, &next) < 3_000_000, "of both, the far end takes the next seed");
    let other = poisson("both", "1,2,3,4,5,6", "reverse");
    assert!(apart(&here, &other) > 3_000_000, "both directions have one schedule");
    let mixed = run("reverse", "1,1,1,1,1,1");
    let sizes: Vec<u64> = lines(&mixed, "reverse").iter().map(|row| row.1).collect();
    assert_eq!(sizes, [18, 82].repeat(15), "frames of 64 and 128 octets over IPv4");
}

#[test]
fn a_one_way_run_gives_its_document_again_and_holds_limits_by_direction() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let options = ["--direction", "both", "--count", "20", "--interval", "5ms", "--report", FAR];
    let run = lab.measure(&options);
    assert_eq!(stored(&run.folder()), run.document());
    let mut report = romer(["report", "--quiet", "--json", "-"]);
    assert_eq!(process::run(report.arg(run.folder())).with_code(0).stdout, run.ended.stdout);
    let page = fs::read_to_string(run.folder().join("report.html")).unwrap();
    assert!(
        page.contains("<span>Forward: ") && page.contains("<span>Reverse: ") && !page.contains("<span>Round")
    );
    let held = ["--limit", "reverse.packets.lost<1", "--limit", "forward.packets.received>=20"];
    lab.measure(&[&options[..], &held].concat());
    let broken = lab.try_measure(&[&options[..], &["--limit", "reverse.packets.received<20"]].concat());
    broken.ended.with_code(6);
}

#[test]
fn what_cannot_be_sent_one_way_is_refused_in_words_before_anything_is_sent() {
    let lab = Lab::path();
    let _responder = lab.respond(&["--rate", "1000pps"]);
    let trace = tempfile::NamedTempFile::new().unwrap();
    let burst: String = (0..1_001).map(|n| format!("{},44\n", n * 900_000)).collect();
    fs::write(trace.path(), format!("offset_ns,size\n{burst}")).unwrap();
    let traced = format!("trace:{}", trace.path().display());
    for (arguments, code, part) in [
        (&["--direction", "forward", "--stamp-only"][..], 2, "--stamp-only"),
        (&["--direction", "reverse", "--traffic", &traced], 5, "its limit is 1000"),
        (&["--direction", "reverse", "--size", "8B"], 2, "at least 9 bytes"),
        (&["--direction", "forward", "--packet-size", "36B"], 2, "at least 37 bytes"),
        (&["--direction", "sideways"], 2, "round-trip"),
        (
            &["--direction", "both", "--limit", "round_trip.delay_ns.p99<1s"],
            2,
            "write forward.delay_ns.p99 or reverse.delay_ns.p99",
        ),
        (&["--direction", "reverse", "--interval", "900us"], 5, "1000"),
        (&["--direction", "reverse", "--duration", "1000h"], 5, "long"),
    ] {
        let ended = lab.try_measure(&[arguments, &[FAR]].concat()).ended.with_code(code);
        let errors: Vec<&str> = ended.stderr.lines().collect();
        assert!(errors[0].starts_with("error: ") && errors.len() == 1, "{ended:?}");
        assert!(ended.stderr.contains(part), "{ended:?}");
    }
}

#[test]
fn a_trace_is_played_by_whichever_end_sends() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let trace = tempfile::NamedTempFile::new().unwrap();
    // More packets than one message tells, in pairs every 300 us, each of its own size.
    let lines_of_file: String =
        (0..6_000).map(|n| format!("{},{}\n", n / 2 * 300_000, 20 + n % 50)).collect();
    fs::write(trace.path(), format!("offset_ns,size\n{lines_of_file}")).unwrap();
    let traced = format!("trace:{}", trace.path().display());
    for direction in ["forward", "reverse", "both"] {
        let run = lab.measure(&["--direction", direction, "--traffic", &traced, FAR]);
        for way in ways(direction) {
            let rows = lines(&run, way);
            assert_eq!(rows.len(), 6_000, "{direction}, {way}");
            for (row, number) in rows.iter().zip(0..) {
                assert_eq!((row.0, row.1), (number, 20 + number % 50), "{direction}, {way}");
            }
            let [first, last] = [rows.first(), rows.last()].map(|row| row.unwrap().2.unwrap());
            // It never leaves early, however late a busy machine makes it.
            assert!(last - first > 800_000_000, "{direction}, {way}: {first} to {last}");
        }
        assert_eq!(at(&run.document(), "/traffic/model"), traced.as_str());
    }
}

/// Reads the lines of a stream until this many probes have arrived.
fn await_arrived(measuring: &mut Process, probes: u64) {
    loop {
        let line = measuring.line();
        assert!(!line.is_empty(), "the measurement has ended");
        let line: Value = serde_json::from_str(&line).unwrap();
        if at(&line, "/type") == "interval" && count(&line, "/returned") >= probes {
            return;
        }
    }
}

fn endless(lab: &Lab, direction: &str) -> (Process, tempfile::TempDir) {
    let options = ["--json-lines", "--json-lines-interval", "100ms", "--duration", "1h", "--interval", "5ms"];
    let (mut command, home) = lab.measuring(&[&options[..], &["--direction", direction, FAR]].concat());
    (Process::start(&mut command), home)
}

#[test]
fn an_interrupt_ends_the_far_end_too_and_keeps_all_that_was_sent() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for direction in ["reverse", "both"] {
        let (mut measuring, home) = endless(&lab, direction);
        await_arrived(&mut measuring, 20);
        measuring.signal("INT");
        measuring.wait().with_code(130);
        let document = kept(&home);
        assert_eq!(at(&document, "/partial"), true);
        assert_eq!(at(&document, "/early_end"), "interrupted");
        for way in ways(direction) {
            let packets = at(&document, &format!("/{way}/packets"));
            let [sent, received] = ["/sent", "/received"].map(|name| count(packets, name));
            assert!(sent >= 10 && sent == received, "{direction}, {way}: {packets}");
        }
    }
}

#[test]
fn a_far_end_that_dies_ends_a_one_way_run_and_it_is_said() {
    let lab = Lab::path();
    for direction in ["forward", "reverse", "both"] {
        let responder = lab.respond(&[]);
        let (mut measuring, home) = endless(&lab, direction);
        await_arrived(&mut measuring, 20);
        responder.signal("KILL");
        let ended = measuring.wait().with_code(5);
        let errors: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert!(errors.len() == 1 && errors[0].contains("the responder became unreachable"), "{ended:?}");
        let document = kept(&home);
        assert_eq!(at(&document, "/partial"), true, "{direction}");
        let warnings = warned(&document);
        assert!(warnings.contains("responder_lost"), "{warnings}");
        if direction != "forward" {
            assert!(count(&document, "/reverse/packets/received") >= 1);
            assert!(at(&document, "/reverse/packets/lost").is_null(), "what it sent last is not known");
            assert_eq!(at(&document, "/reverse/packets/received_at_least"), true, "{document:#}");
        }
        assert_eq!(at(&document, "/early_end"), "responder_lost", "{direction}");
        let run = home.path().join("run");
        let shown = process::run(romer(["report"]).arg(&run)).with_code(0).stdout;
        assert!(shown.contains("Partial  the responder became unreachable"), "{shown}");
        assert!(direction == "forward" || shown.contains("at least"), "{shown}");
        let page = home.path().join("page.html");
        process::run(romer(["report", "--quiet", "--html"]).arg(&page).arg(&run)).with_code(0);
        let page = fs::read_to_string(page).unwrap();
        assert!(page.contains("partial: the responder became unreachable"), "{direction}");
    }
}

/// A killed reverse run is completed from its log, and its responder stops sending.
#[test]
fn killed_reverse_runs_are_completed() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let (mut measuring, home) = endless(&lab, "reverse");
    await_arrived(&mut measuring, 40);
    measuring.signal("KILL");
    measuring.wait();
    let report = process::run(romer(["report", "--json", "-"]).arg(home.path().join("run"))).with_code(0);
    let document = report.document();
    assert_eq!(at(&document, "/partial"), true);
    assert_eq!(at(&document, "/early_end"), "killed");
    assert!(count(&document, "/reverse/packets/received") >= 20, "{document}");
    // What the far end still sends is counted at the bridge; there comes a second in which it is nothing.
    lab.bridge("iifname e1 udp sport 862 counter name back");
    let mut before = None;
    loop {
        let now = lab.counted("E", "bridge", "back");
        if before == Some(now) {
            break;
        }
        before = Some(now);
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}

#[test]
fn the_packets_of_both_directions_go_to_two_files_and_are_read_back_from_them() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = lab.measure(&["--direction", "both", "--count", "60", "--interval", "5ms", FAR]);
    let csv = run.home.path().join("packets.csv");
    let back = run.home.path().join("packets-reverse.csv");
    let report = |file: &std::path::Path| {
        let mut command = romer(["report", "--quiet", "--csv"]);
        process::run(command.arg(file).arg(run.folder()))
    };
    report(&csv).with_code(0);
    let again = report(&csv).with_code(2);
    assert!(again.stderr.contains("packets.csv"), "nothing is written over: {again:?}");
    fs::remove_file(&csv).unwrap();
    let again = report(&csv).with_code(2);
    assert!(again.stderr.contains("packets-reverse.csv"), "nor is the second: {again:?}");
    assert!(!csv.exists(), "nor is one written without the other");
    fs::remove_file(&back).unwrap();
    report(&csv).with_code(0);
    let mut analyze = romer(["analyze", "--quiet", "--json", "-"]);
    let read = process::run(analyze.arg(&csv).arg("--reverse").arg(&back)).with_code(0).document();
    let measured = run.document();
    for way in ["forward", "reverse"] {
        for figure in ["packets/sent", "packets/received", "packets/lost", "ipdv_ns/count", "ipdv_ns/max"] {
            let of = |document| at(document, &format!("/{way}/{figure}"));
            assert_eq!(of(&read), of(&measured), "{way} {figure}");
        }
    }
    let folder = run.home.path().join("tables/");
    report(&folder).with_code(0);
    for (name, same) in [("stream-0.csv", &csv), ("stream-0-reverse.csv", &back)] {
        assert_eq!(fs::read(folder.join(name)).unwrap(), fs::read(same).unwrap());
    }
    let refused = process::run(romer(["report", "--csv", "-"]).arg(run.folder())).with_code(2);
    assert!(refused.stderr.contains("--direction"), "{refused:?}");
}
