//! What other programs recorded: irtt's documents, captures, tables.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use romer_testing::pcap;
use serde_json::Value;

use super::common::process::{self, romer};
use super::common::{at, count, number, schema, warned};

/// A file that was recorded on a path of the laboratory: irtt 0.9.0 with packets dropped on both ways, and tcpdump at
/// both ends of another of its streams.
fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/recorded").join(name)
}

pub(crate) fn analyzed(arguments: &[&str], paths: &[&Path]) -> Value {
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

/// irtt compresses what it writes, unless it is told not to; captures are kept compressed as well.
#[test]
fn what_gzip_compressed_gives_the_same_figures_as_what_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let packed = |name: &str, octets: &[u8]| {
        let path = folder.path().join(name);
        let mut encoder = flate2::write::GzEncoder::new(
            std::fs::File::create(&path).unwrap(),
            flate2::Compression::default(),
        );
        encoder.write_all(octets).unwrap();
        encoder.finish().unwrap();
        path
    };
    let of = |name: &str| packed(&format!("{name}.gz"), &std::fs::read(recorded(name)).unwrap());
    let figures = |arguments: &[&str], paths: &[&Path]| {
        let document = analyzed(arguments, paths);
        ["forward", "reverse", "round_trip", "clock"].map(|part| at(&document, &format!("/{part}")).clone())
    };
    assert_eq!(figures(&[], &[&of("irtt.json")]), figures(&[], &[&recorded("irtt.json")]));
    let captures = ["--capture-a", "--capture-b"];
    let plain = figures(&captures, &[&recorded("near.pcap"), &recorded("far.pcap")]);
    assert_eq!(figures(&captures, &[&of("near.pcap"), &of("far.pcap")]), plain);
    // The name without gzip's ending says what it is, and where that has none, what it begins with.
    let table = b"sequence,size,sent_ns,received_ns\n0,44,1000,21000\n1,44,2000,23000\n";
    for name in ["table.csv.gz", "table.gz", "table"] {
        let path = packed(name, table);
        assert_eq!(count(&analyzed(&[], &[&path]), "/forward/packets/received"), 2, "{name}");
        let page = process::run(romer(["report", "--csv", "-"]).arg(&path)).with_code(0);
        assert!(page.stdout.starts_with("sequence,size,sent_ns,received_ns"), "{name}: {}", page.stdout);
    }
    let raw = packed("voice.raw.gz", b"1000:1030:30:64:0\n1100:1190:90:64:1\n1200:1260:60:64:2\n");
    assert_eq!(count(&analyzed(&[], &[&raw]), "/forward/packets/received"), 3);
}

/// Recorded as the other, with `nft` dropping packets on both ways, and the last one on a way that irtt does not know.
#[test]
fn irtts_losses_are_each_charged_to_their_way_and_the_last_to_none() {
    let path = recorded("irtt-lossy.json");
    let theirs: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let trips = theirs["round_trips"].as_array().unwrap();
    let lost = |way: &str| trips.iter().map(|trip| u64::from(trip["lost"] == way)).sum::<u64>();
    let (up, down, unknown) = (lost("true_up"), lost("true_down"), lost("true"));
    assert!(up > 0 && down > 0 && unknown > 0, "then this tests nothing");
    let document = analyzed(&[], &[&path]);
    let packets = |place: &str| count(&document, place);
    let sent = u64::try_from(trips.len()).unwrap();
    assert_eq!(packets("/forward/packets/sent"), sent);
    assert_eq!(packets("/forward/packets/lost_at_least"), up);
    // Its server counts what came there, of which nothing was copied.
    assert_eq!(packets("/forward/packets/received"), count(&theirs, "/stats/server_packets_received"));
    assert_eq!(at(&document, "/forward/packets/received_at_least"), true);
    assert_eq!(at(&document, "/forward/packets/lost"), &Value::Null);
    assert_eq!(packets("/reverse/packets/lost_at_least"), down);
    assert_eq!(at(&document, "/reverse/packets/sent"), &Value::Null);
    assert_eq!(packets("/round_trip/packets/lost"), up + down + unknown);
    let warnings = warned(&document);
    let all = up + down + unknown;
    assert!(
        warnings.contains(&format!(
            "of {all} packets without a reply, irtt reports {up} lost forward and {down} in reverse; for {unknown} the direction is \
             unknown"
        )),
        "{warnings}"
    );
    assert!(!warnings.contains("responder-log-incomplete"), "{warnings}");

    // As versions before 0.9.0 wrote it, and the manual still has it.
    let mut old = theirs.clone();
    old.as_object_mut().unwrap().remove("version");
    old["stats"]["start_time"] =
        serde_json::json!({"wall": 1_508_180_723_502_727_340_u64, "monotonic": 2_776_704});
    for trip in old["round_trips"].as_array_mut().unwrap() {
        trip["lost"] = (trip["lost"] != "false").into();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.json");
    std::fs::write(&path, old.to_string()).unwrap();
    let document = analyzed(&[], &[&path]);
    assert_eq!(count(&document, "/round_trip/packets/lost"), all);
    assert_eq!(at(&document, "/forward/packets/lost"), &Value::Null);
    // The server's total as of the last reply divides the losses before it.
    assert_eq!(count(&document, "/forward/packets/lost_at_least"), up);
    assert!(at(&document, "/started").as_str().unwrap().starts_with("2026-"), "of the first departure");
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
    let warnings = warned(&document);
    assert!(warnings.contains("the replies have no time stamps of the responder"), "{warnings}");
    assert!(warnings.contains("no packet has the time stamps of both hosts"), "{warnings}");
    assert!(!warnings.contains("time-stamps-missing"), "{warnings}");
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

/// A packet of a capture: when, from which port to which of the two hosts, with which TTL, and its content.
type CapturedPacket = (i64, [u16; 2], u8, u32);

/// Writes a capture of UDP packets between 10.0.0.1 (ports below 20000) and 10.0.0.2, without their frames.
fn write_capture(file: &Path, packets: &mut [CapturedPacket]) {
    packets.sort_unstable();
    let mut octets = pcap::file(65_535, pcap::RAW);
    for (at, [from, to], ttl, content) in packets {
        let end = |port: u16| (if port < 20_000 { 1 } else { 2 }, port);
        let packet = pcap::udp(end(*from), end(*to), *ttl, &content.to_be_bytes().repeat(5));
        pcap::add_whole(&mut octets, *at, &packet);
    }
    std::fs::write(file, octets).unwrap();
}

#[test]
fn of_captures_with_several_flows_the_one_that_is_meant_is_analysed_and_all_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let (near, far) = (folder.path().join("near.pcap"), folder.path().join("far.pcap"));
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for n in 0..200_u32 {
        let at = i64::from(n) * 20_000_000;
        // One flow is answered; of another, which is not, every second packet is there.
        here.push((at, [1_000, 21_000], 64, n));
        there.push((at + 5_000_000, [1_000, 21_000], 62, n));
        there.push((at + 6_000_000, [21_000, 1_000], 64, 1_000 + n));
        here.push((at + 10_000_000, [21_000, 1_000], 62, 1_000 + n));
        if n % 2 == 0 {
            here.push((at + 1_000_000, [3_000, 24_000], 64, 2_000 + n));
            there.push((at + 8_000_000, [3_000, 24_000], 62, 2_000 + n));
        }
    }
    write_capture(&near, &mut here);
    write_capture(&far, &mut there);
    let analyze = |flow: &[&str]| {
        let mut command = romer(["analyze", "--quiet", "--json", "-", "--capture-a"]);
        command.arg(&near).arg("--capture-b").arg(&far).args(flow);
        process::run(&mut command)
    };
    let listed = "1: 10.0.0.1:1000-10.0.0.2:21000 (200 packets, 200 back); 2: 10.0.0.1:3000-10.0.0.2:24000 (100 packets, 0 back)";
    let document = analyze(&[]).with_code(0).document();
    assert_eq!(count(&document, "/forward/packets/sent"), 200);
    let warnings = warned(&document);
    assert!(warnings.contains(listed) && warnings.contains("--flow N chooses among"), "{warnings}");
    let definition = at(&document, "/stamps/delay_definition/0");
    assert_eq!([&definition["departure"], &definition["arrival"]], ["kernel"; 2], "{definition}");
    let mut plain = romer(["analyze", "--verbose", "--capture-a"]);
    plain.arg(&near).arg("--capture-b").arg(&far);
    let said = process::run(&mut plain).with_code(0).stdout;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("All from the captures."), "{said}");
    for flow in ["2", "10.0.0.1:3000-10.0.0.2:24000", "10.0.0.2:24000-10.0.0.1:3000"] {
        let document = analyze(&["--flow", flow]).with_code(0).document();
        assert_eq!(count(&document, "/forward/packets/sent"), 100, "{flow}");
        let warnings = warned(&document);
        assert!(warnings.contains("10.0.0.1:3000 to 10.0.0.2:24000: 100 of them"), "{warnings}");
        assert!(at(&document, "/forward/packets").get("in_flight").is_none(), "{document:#}");
        assert!(!warnings.contains("packets-indistinguishable"), "{warnings}");
    }
    for flow in ["3", "10.0.0.1:3000-10.0.0.2:21000"] {
        let refused = analyze(&["--flow", flow]).with_code(2);
        assert!(
            refused.stderr.contains("there is no such flow") && refused.stderr.contains(listed),
            "{refused:?}"
        );
    }
}

#[test]
fn a_capture_of_the_beginnings_of_packets_is_matched_by_them() {
    let folder = tempfile::tempdir().unwrap();
    let (near, far) = (folder.path().join("near.pcap"), folder.path().join("far.pcap"));
    let packets = |later: i64, ttl: u8, lost: u32| -> Vec<CapturedPacket> {
        let sent = (0..400_u32).filter(|n| lost == 0 || n % lost != 7);
        sent.map(|n| (i64::from(n) * 20_000_000 + later, [1_000, 21_000], ttl, n)).collect()
    };
    write_capture(&near, &mut packets(0, 64, 0));
    write_capture(&far, &mut packets(5_000_000, 62, 20));
    let whole = analyzed(&["--capture-a", "--capture-b"], &[&near, &far]);
    assert_eq!((count(&whole, "/forward/packets/sent"), count(&whole, "/forward/packets/lost")), (400, 20));
    // As tcpdump -s 36 has it: the headers, and 8 octets of the payload.
    let octets = std::fs::read(&far).unwrap();
    let mut cut = octets[..24].to_vec();
    for record in octets[24..].chunks(16 + 48) {
        cut.extend(&record[..8]);
        cut.extend(36_u32.to_le_bytes());
        cut.extend(&record[12..16 + 36]);
    }
    std::fs::write(&far, cut).unwrap();
    let snapped = analyzed(&["--capture-a", "--capture-b"], &[&near, &far]);
    for pointer in ["packets", "delay_ns", "loss"] {
        let pointer = format!("/forward/{pointer}");
        assert_eq!(at(&snapped, &pointer), at(&whole, &pointer));
    }
    let warnings = warned(&snapped);
    assert!(warnings.contains("far.pcap: of 380 packets only the beginning was captured"), "{warnings}");
}

#[test]
fn packets_of_captures_that_cannot_be_told_apart_are_said_to_be_so() {
    let folder = tempfile::tempdir().unwrap();
    let (near, far) = (folder.path().join("near.pcap"), folder.path().join("far.pcap"));
    let packets = |later: i64, ttl: u8| -> Vec<CapturedPacket> {
        (0..50).map(|n| (n * 20_000_000 + later, [1_000, 21_000], ttl, 7)).collect()
    };
    write_capture(&near, &mut packets(0, 64));
    write_capture(&far, &mut packets(5_000_000, 62));
    let document = analyzed(&["--capture-a", "--capture-b"], &[&near, &far]);
    let warnings = warned(&document);
    assert!(
        warnings.contains("50 of the 50 packets") && warnings.contains("cannot be distinguished"),
        "{warnings}"
    );
}

#[test]
fn a_stream_that_is_too_long_to_be_looked_through_says_until_when_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("long.csv");
    let packets = (1 << 20) + 1_000_i64;
    let mut lines = String::from("sequence,size,sent_ns,received_ns\n");
    let mut chance = 1_u64;
    for n in 0..packets {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        lines += &format!(
            "{n},64,{},{}\n",
            n * 1_000_000,
            n * 1_000_000 + 5_000_000 + i64::from((chance >> 44) as u32)
        );
    }
    std::fs::write(&table, lines).unwrap();
    let document = analyzed(&["--skew=none"], &[&table]);
    let said = format!("in the first 1048576 of {packets} delays, until 1048 s after the start");
    assert!(warned(&document).contains(&said), "{}", at(&document, "/warnings"));
}

#[test]
fn what_is_read_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept.raw");
    let line = |n: u32| format!("{}:{}:5000:100:{n}\n", n * 200_000, n * 200_000 + 5_000);
    let lines: String = (0..200).map(line).collect();
    std::fs::write(&kept, &lines).unwrap();
    for (name, command, option) in [
        ("link.json", "analyze", "--json"),
        ("link.html", "analyze", "--html"),
        ("link.log", "analyze", "--log"),
        ("page.html", "report", "--html"),
    ] {
        let link = folder.path().join(name);
        std::fs::hard_link(&kept, &link).unwrap();
        for input in [&kept, &link] {
            let mut command = romer([command, "--force"]);
            let refused = process::run(command.arg(input).arg(option).arg(&link)).with_code(2);
            assert!(refused.stderr.contains("the output is the input"), "{option}: {}", refused.stderr);
            assert_eq!(std::fs::read_to_string(&kept).unwrap(), lines, "{option}");
        }
    }
    let prefix = folder.path().join("kept");
    let mut qtcp = romer(["report", "--force", "--normalised", "--qtcp"]);
    process::run(qtcp.arg(&prefix).arg(&kept)).with_code(2);
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), lines);
}

/// A measurement is compared with captures of its packets: with its own, no figure differs.
#[test]
fn captures_are_a_reference() {
    let folder = tempfile::tempdir().unwrap();
    let (near, far) = (recorded("near.pcap"), recorded("far.pcap"));
    let document = analyzed(&["--capture-a", "--capture-b"], &[&near, &far]);
    let run = folder.path().join("run.json");
    std::fs::write(&run, document.to_string()).unwrap();
    let mut command = romer(["compare", "--quiet", "--json", "-"]);
    command.arg(&run).arg("--reference").args([&near, &far]);
    let compared = process::run(&mut command).with_code(0).document();
    schema::assert_valid(&compared, "comparison");
    let directions = at(&compared, "/directions").as_array().unwrap();
    assert!(!directions.is_empty(), "{compared:#}");
    for direction in directions {
        let differences = direction["figures"].as_array().unwrap().iter();
        let differences: Vec<f64> = differences.filter_map(|figure| figure["difference"].as_f64()).collect();
        assert!(!differences.is_empty() && differences.iter().all(|one| one.abs() < 1e-3), "{direction:#}");
    }
    let refused = process::run(romer(["compare"]).arg(&run).arg(&run).arg("--reference").args([&near, &far]));
    assert!(refused.with_code(2).stderr.contains("--reference"));
}
