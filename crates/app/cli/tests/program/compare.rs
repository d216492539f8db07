//! Measurements compared.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::common::lab::{FAR, Lab, packets};
use super::common::process::{self, romer};
use super::common::{at, count, number, schema};

/// A packet log of four stamps: `probes` probes whose round trip takes `base` ns and up to 1,000 more, drawn by
/// `seed`; one in `lost_one_in` is lost.
fn log(folder: &Path, name: &str, probes: u64, base: u64, seed: u64, lost_one_in: u64) -> PathBuf {
    let mut text = String::from("sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n");
    let mut state = seed;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for n in 0..probes {
        let t1 = n * 1_000_000;
        let (there, back) = (t1 + base / 2 + draw() % 500, base - base / 2 + draw() % 500);
        if lost_one_in > 0 && draw() % lost_one_in == 0 {
            writeln!(text, "{n},44,{t1},,,").unwrap();
        } else {
            writeln!(text, "{n},44,{t1},{there},{},{}", there + 10, there + 10 + back).unwrap();
        }
    }
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn compare(a: &Path, b: &Path, more: &[&str], code: i32) -> Value {
    let mut command = romer(["compare", "--quiet", "--json", "-"]);
    let document = process::run(command.arg(a).arg(b).args(more)).with_code(code).document();
    schema::assert_valid(&document, "comparison");
    document
}

/// The direction of this name.
fn way<'a>(document: &'a Value, name: &str) -> &'a Value {
    let ways = at(document, "/directions").as_array().unwrap();
    ways.iter().find(|way| way["direction"] == name).unwrap_or_else(|| panic!("no {name} in {document:#}"))
}

fn figure<'a>(way: &'a Value, name: &str) -> &'a Value {
    let figures = at(way, "/figures").as_array().unwrap();
    figures.iter().find(|figure| figure["figure"] == name).unwrap_or_else(|| panic!("no {name} in {way:#}"))
}

fn interval(figure: &Value) -> [f64; 2] {
    [number(figure, "/interval/0"), number(figure, "/interval/1")]
}

#[test]
fn a_longer_path_is_told_with_how_much_longer_and_one_alike_is_not_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let a = log(folder.path(), "a.csv", 1_000, 20_000, 1, 0);
    let b = log(folder.path(), "b.csv", 1_000, 20_300, 2, 0);
    let alike = log(folder.path(), "alike.csv", 1_000, 20_000, 3, 0);
    let document = compare(&a, &b, &[], 0);
    let round_trip = way(&document, "round_trip");
    assert_eq!(at(round_trip, "/verdict"), "worse");
    let words = at(round_trip, "/text").as_str().unwrap();
    assert!(words.starts_with("round trip worse: median delay +"), "{words}");
    for name in ["delay_ns.mean", "delay_ns.median", "delay_ns.p95"] {
        let [low, high] = interval(figure(round_trip, name));
        assert!(low < 300.0 && 300.0 < high && high - low < 300.0, "{name}: {low} to {high}");
    }
    let back = compare(&b, &a, &[], 0);
    assert_eq!(at(way(&back, "round_trip"), "/verdict"), "improved");
    let same = compare(&a, &alike, &[], 0);
    assert_eq!(at(way(&same, "round_trip"), "/verdict"), "not_significant");
    let words = at(way(&same, "round_trip"), "/text").as_str().unwrap();
    assert!(words.starts_with("round trip without significant difference: median delay"), "{words}");
    assert!(!words.contains("; "), "{words}");
    assert_eq!(compare(&a, &b, &[], 0), document, "the seed is fixed");
}

#[test]
fn a_greater_loss_is_told_by_the_figure_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let a = log(folder.path(), "a.csv", 2_000, 20_000, 4, 100);
    let b = log(folder.path(), "b.csv", 2_000, 20_000, 5, 8);
    let document = compare(&a, &b, &["--by", "loss.ratio"], 0);
    assert_eq!(at(&document, "/by"), "loss.ratio");
    assert_eq!(at(way(&document, "forward"), "/verdict"), "worse");
    let one = compare(&a, &b, &["--by", "forward.delay_ns.p90"], 0);
    assert_eq!(at(&one, "/directions").as_array().unwrap().len(), 1);
    assert_eq!(figure(way(&one, "forward"), "delay_ns.p90")["figure"], "delay_ns.p90");
}

#[test]
fn a_verdict_by_one_figure_names_the_others_that_differ() {
    let folder = tempfile::tempdir().unwrap();
    let a = log(folder.path(), "a.csv", 2_000, 20_000, 4, 100);
    let b = log(folder.path(), "b.csv", 2_000, 20_000, 5, 8);
    let forward = compare(&a, &b, &[], 0);
    let forward = way(&forward, "forward");
    assert_eq!(at(forward, "/verdict"), "worse");
    let words = at(forward, "/text").as_str().unwrap();
    assert!(words.starts_with("forward worse: loss +"), "{words}");
    let by_median = compare(&a, &b, &["--by", "delay.median"], 0);
    let words = at(way(&by_median, "forward"), "/text").as_str().unwrap();
    assert!(words.starts_with("forward without significant difference: median delay "), "{words}");
    assert!(words.contains("; also worse: loss +"), "{words}");
}

/// The terminal leads with the verdicts; the method of the intervals is printed on request.
#[test]
fn method_needs_explain() {
    let folder = tempfile::tempdir().unwrap();
    let a = log(folder.path(), "a.csv", 500, 20_000, 1, 0);
    let b = log(folder.path(), "b.csv", 500, 25_000, 2, 0);
    let text =
        |more: &[&str]| process::run(romer(["compare"]).arg(&a).arg(&b).args(more)).with_code(0).stdout;
    let short = text(&[]);
    assert!(short.starts_with("No significant difference: forward"), "{short}");
    assert!(short.contains("\nRound trip mixed: median delay +"), "{short}");
    assert!(!short.contains("bootstrap"), "{short}");
    let long = text(&["--explain"]);
    assert!(
        long.starts_with(short.trim_end()) && long.contains("Method: 95 % confidence intervals"),
        "{long}"
    );
}

#[test]
fn a_difference_beyond_its_limit_has_a_code_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let a = log(folder.path(), "a.csv", 500, 20_000, 6, 0);
    let b = log(folder.path(), "b.csv", 500, 25_000, 7, 0);
    let limits = ["--limit", "round_trip.delay_ns.p99<1us", "--limit", "round_trip.packets.lost<=0"];
    let document = compare(&a, &b, &limits, 6);
    let held: Vec<bool> = serde_json::from_value(
        at(&document, "/limits").as_array().unwrap().iter().map(|limit| limit["passed"].clone()).collect(),
    )
    .unwrap();
    assert_eq!(held, [false, true]);
}

#[test]
fn documents_alone_give_intervals_to_means_and_medians_only() {
    let folder = tempfile::tempdir().unwrap();
    let document_of = |log: &Path| {
        let path = log.with_extension("json");
        process::run(romer(["analyze", "--quiet", "--json"]).arg(&path).arg(log)).with_code(0);
        path
    };
    let a = document_of(&log(folder.path(), "a.csv", 1_000, 20_000, 8, 0));
    let b = document_of(&log(folder.path(), "b.csv", 1_000, 20_300, 9, 0));
    let document = compare(&a, &b, &[], 0);
    let round_trip = way(&document, "round_trip");
    let [low, high] = interval(figure(round_trip, "delay_ns.median"));
    assert!(low < 300.0 && 300.0 < high, "{low} to {high}");
    assert!(figure(round_trip, "delay_ns.p99")["interval"].is_null());
    assert!(at(&document, "/method").as_str().unwrap().contains("Welch"));
}

#[test]
fn directions_that_only_one_has_are_left_out_and_none_in_common_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let both = log(folder.path(), "both.csv", 100, 20_000, 10, 0);
    let one = folder.path().join("one.csv");
    let lines: String =
        (0..100).map(|n| format!("{n},44,{},{}\n", n * 1_000, n * 1_000 + 7_000 + n * 31 % 17)).collect();
    std::fs::write(&one, format!("sequence,size,sent_ns,received_ns\n{lines}")).unwrap();
    let document = compare(&both, &one, &[], 0);
    assert_eq!(at(&document, "/directions").as_array().unwrap().len(), 1, "forward alone");
    let mut command = romer(["compare", "--by", "reverse.delay_ns.p99"]);
    let refused = process::run(command.arg(&both).arg(&one)).with_code(3);
    assert_eq!((refused.stdout.as_str(), refused.stderr.lines().count()), ("", 1), "{refused:?}");
}

/// A capture (pcap, nanoseconds) of these frames with their times.
fn capture(path: &Path, frames: &mut [(i64, Vec<u8>)]) {
    frames.sort();
    let word = |number: i64| u32::try_from(number).unwrap().to_le_bytes();
    let mut octets = [0xa1b2_3c4d, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
    for (at_ns, frame) in frames {
        let length = word(i64::try_from(frame.len()).unwrap());
        octets.extend([word(*at_ns / 1_000_000_000), word(*at_ns % 1_000_000_000), length, length].concat());
        octets.extend_from_slice(frame);
    }
    std::fs::write(path, octets).unwrap();
}

/// A probe of the run, or its reply, as a frame: a STAMP packet between the hosts of a lab.
fn frame(sequence: u64, is_reply: bool) -> Vec<u8> {
    use romer_wire::ethernet::{self, EtherType, MacAddress, Tags};
    use romer_wire::{checksum, ip, ipv4, udp};

    let mac = |last| MacAddress([2, 0, 0, 0, 0, last]);
    let link =
        ethernet::Repr { destination: mac(2), source: mac(1), tags: Tags::None, ether_type: EtherType::IPV4 };
    let [mut source, mut destination] = [(2, 40_000), (3, 862)];
    if is_reply {
        std::mem::swap(&mut source, &mut destination);
    }
    let address = |last| std::net::Ipv4Addr::new(198, 18, 0, last);
    let packet = ipv4::Repr {
        source: address(source.0),
        destination: address(destination.0),
        dscp: romer_units::Dscp::DEFAULT,
        ecn: ip::Ecn::NotEct,
        identification: 0,
        dont_fragment: true,
        ttl: 255,
        protocol: ip::protocol::UDP,
        options: ipv4::Options::NONE,
    };
    let mut octets = vec![0; link.octets() + ipv4::HEADER + udp::HEADER + 44];
    let datagram = packet.emit(link.emit(&mut octets).unwrap()).unwrap();
    let number = u32::try_from(sequence).unwrap().to_be_bytes();
    datagram[udp::HEADER..udp::HEADER + 4].copy_from_slice(&number);
    if is_reply {
        // The reflector's own number differs from the probe's, which it returns.
        datagram[udp::HEADER] = 0x80;
        datagram[udp::HEADER + 24..udp::HEADER + 28].copy_from_slice(&number);
    }
    let ports = udp::Repr { source_port: source.1, destination_port: destination.1 };
    let pseudo = checksum::Pseudo::V4 { source: packet.source, destination: packet.destination };
    ports.emit(pseudo, datagram).unwrap();
    octets
}

/// Each stamp of a run is compared with that of the same packet in a capture at its host, and a packet that a capture lacks is
/// counted.
#[test]
fn stamps_are_compared_with_captures() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = lab.measure(&["--count", "50", "--interval", "5ms", FAR]);
    let rows = packets(&run.home);
    assert_eq!(rows.len(), 50);
    let (mut sender, mut responder) = (Vec::new(), Vec::new());
    for row in &rows {
        let [t1, t4] = [row.t1, row.t4].map(|stamps| stamps.kernel.unwrap().as_nanos());
        let [t2, t3] = [row.t2, row.t3].map(|stamps| stamps.kernel.unwrap().as_nanos());
        let (probe, reply) = (frame(row.sequence, false), frame(row.sequence, true));
        if row.sequence != 3 {
            sender.push((t1 - 700, probe.clone()));
        }
        responder.push((t2 - 300, probe));
        responder.push((t3 + 100, reply.clone()));
        sender.push((t4 + 900, reply));
    }
    let paths = ["sender.pcap", "responder.pcap"].map(|name| run.home.path().join(name));
    capture(&paths[0], &mut sender);
    capture(&paths[1], &mut responder);
    let mut command = romer(["compare", "--quiet", "--json", "-"]);
    command.arg(run.folder()).arg("--reference").args(&paths);
    let document = process::run(&mut command).with_code(0).document();
    schema::assert_valid(&document, "comparison");
    let stamps = at(&document, "/stamps").as_array().unwrap();
    for (moment, difference, packets, unmatched) in [
        ("sender-departure", 700.0, 49, 1),
        ("responder-arrival", 300.0, 50, 0),
        ("responder-departure", -100.0, 50, 0),
        ("sender-arrival", -900.0, 50, 0),
    ] {
        let stamp = stamps
            .iter()
            .find(|stamp| stamp["moment"] == moment && stamp["stamp_source"] == "kernel")
            .unwrap_or_else(|| panic!("no {moment}: {stamps:#?}"));
        for name in ["min", "median", "max"] {
            let found = number(stamp, &format!("/difference_ns/{name}"));
            assert!((found - difference).abs() < 1e-6, "{moment} {name}: {stamp:#}");
        }
        assert_eq!(count(stamp, "/difference_ns/count"), packets, "{moment}");
        assert_eq!(count(stamp, "/unmatched"), unmatched, "{moment}");
    }
    let mut command = romer(["compare"]);
    let said = process::run(command.arg(run.folder()).arg("--reference").args(&paths)).with_code(0).stdout;
    assert!(said.contains("t1, departure at the sender, kernel: median +700 ns"), "{said}");
    assert!(!said.contains("the delays cannot be compared"), "the captures are of the same clock: {said}");
}
