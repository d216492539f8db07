//! What other programs recorded: Qtcp's files, irtt's documents, captures.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::common::lab::{FAR, Lab};
use super::common::process::{self, romer};
use super::common::{at, count, number, pcap, schema};

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
    let warnings = at(&document, "/warnings").to_string();
    let all = up + down + unknown;
    assert!(
        warnings.contains(&format!(
            "of {all} packets that did not come back irtt says that {up} were lost on the way there and {down} on the way back; \
             of {unknown} it does not know"
        )),
        "{warnings}"
    );
    assert!(!warnings.contains("far end's log"), "{warnings}");

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
    assert_eq!(document.pointer("/forward/packets/lost_at_least"), None);
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
    let warnings = at(&document, "/warnings").to_string();
    assert!(warnings.contains("the time that it had the packets for, too"), "{warnings}");
    assert!(warnings.contains("no packet has the stamps of both ends"), "{warnings}");
    assert!(!warnings.contains(" did not come, of packets"), "{warnings}");
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
type Packet = (i64, [u16; 2], u8, u32);

/// Writes a capture of UDP packets between 10.0.0.1 (ports below 20000) and 10.0.0.2, without their frames.
fn write_capture(file: &Path, packets: &mut [Packet]) {
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
    let warnings = at(&document, "/warnings").to_string();
    assert!(warnings.contains(listed) && warnings.contains("--flow N chooses among"), "{warnings}");
    let definition = at(&document, "/stamps/delay_definition").to_string();
    assert!(definition.contains("the stamps are the captures'"), "{definition}");
    let mut plain = romer(["analyze", "--capture-a"]);
    plain.arg(&near).arg("--capture-b").arg(&far);
    let said = process::run(&mut plain).with_code(0).stdout;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("All four stamps are the captures'."), "{said}");
    for flow in ["2", "10.0.0.1:3000-10.0.0.2:24000", "10.0.0.2:24000-10.0.0.1:3000"] {
        let document = analyze(&["--flow", flow]).with_code(0).document();
        assert_eq!(count(&document, "/forward/packets/sent"), 100, "{flow}");
        let warnings = at(&document, "/warnings").to_string();
        assert!(warnings.contains("10.0.0.1:3000 to 10.0.0.2:24000: 100 of them"), "{warnings}");
        assert!(!warnings.contains("astray"), "nothing comes back of a flow that goes one way: {warnings}");
        assert!(!warnings.contains("told apart"), "{warnings}");
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
    let packets = |later: i64, ttl: u8, lost: u32| -> Vec<Packet> {
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
    let warnings = at(&snapped, "/warnings").to_string();
    assert!(warnings.contains("far.pcap: of 380 packets only the beginning was captured"), "{warnings}");
}

#[test]
fn packets_of_captures_that_cannot_be_told_apart_are_said_to_be_so() {
    let folder = tempfile::tempdir().unwrap();
    let (near, far) = (folder.path().join("near.pcap"), folder.path().join("far.pcap"));
    let packets = |later: i64, ttl: u8| -> Vec<Packet> {
        (0..50).map(|n| (n * 20_000_000 + later, [1_000, 21_000], ttl, 7)).collect()
    };
    write_capture(&near, &mut packets(0, 64));
    write_capture(&far, &mut packets(5_000_000, 62));
    let document = analyzed(&["--capture-a", "--capture-b"], &[&near, &far]);
    let warnings = at(&document, "/warnings").to_string();
    assert!(
        warnings.contains("50 of the 50 packets") && warnings.contains("cannot be told apart"),
        "{warnings}"
    );
}

/// As microseconds they are a tenth of what a reader takes them for; the file of the run's counts has its duration.
#[test]
fn stamps_in_another_unit_are_told_by_the_statistics_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let raw = folder.path().join("a.raw");
    let line = |n: u64| format!("{}:{}:30:64:{n}\n", 1_000 + n * 20_000, 1_030 + n * 20_000);
    std::fs::write(&raw, (0..50).map(line).collect::<String>()).unwrap();
    let told = "`--unit 1us` takes them so";
    let warnings = || at(&analyzed(&[], &[&raw]), "/warnings").to_string();
    let each = "units of 100 ns, by which a packet was sent each 2ms; if that is not so, --unit says";
    assert!(warnings().contains(each), "{}", warnings());
    assert!(process::run(romer(["qtcp", "--force", "-F"]).arg(&raw)).with_code(0).stderr.contains(each));
    let reported = process::run(romer(["report"]).arg(&raw)).with_code(0).stdout;
    assert!(reported.contains("--unit says"), "{reported}");
    // Of what is normalised, and so was taken for a unit already, nothing is asked; nor where it is stated.
    assert!(!at(&analyzed(&[], &[&raw.with_extension("log")]), "/warnings").to_string().contains("--unit"));
    for verb in ["analyze", "report"] {
        let stated = || romer([verb, "--quiet", "--json", "-", "--unit", "1us"]);
        let document = process::run(stated().arg(&raw)).with_code(0).document();
        assert_eq!(count(&document, "/traffic/interval_ns"), 20_000_000, "{verb}");
        assert!(!at(&document, "/warnings").to_string().contains("--unit"), "{verb}: {document}");
        // Its packets, read again, are in it as well.
        let table = folder.path().join("a.csv");
        if verb == "report" {
            process::run(romer([verb, "--quiet", "--force", "--unit", "1us", "--csv"]).arg(&table).arg(&raw))
                .with_code(0);
            assert!(std::fs::read_to_string(&table).unwrap().contains("1000000,1030000"));
        }
        std::fs::write(&table, "sequence,size,sent_ns,received_ns\n0,100,1,2\n").unwrap();
        let refused = process::run(stated().arg(&table)).with_code(2).stderr;
        assert!(refused.contains("(--unit)") && refused.contains("is no .raw or .log"), "{refused}");
    }
    for (statistics, doubted) in
        [("duration: 0.98\n", true), ("duration: 0.098\n", false), ("rate: 3200\n", true)]
    {
        std::fs::write(folder.path().join("a.sta"), format!("received: 50\nlost: 0\n{statistics}")).unwrap();
        assert_eq!(warnings().contains(told), doubted, "{statistics}");
        let converted = process::run(romer(["qtcp", "--force", "-F"]).arg(&raw)).with_code(0);
        assert_eq!(converted.stderr.contains(told), doubted, "{statistics}: {converted:?}");
        // Where the statistics say that it is so, nothing is asked.
        assert!(!converted.stderr.contains("a packet was sent each"), "{converted:?}");
    }
}

#[test]
fn a_raw_file_is_analysed_and_its_gaps_are_losses() {
    let folder = tempfile::tempdir().unwrap();
    let raw = folder.path().join("a.raw");
    std::fs::write(&raw, "1000:1030:30:64:0\n1100:1190:90:64:1\n1300:1360:60:64:3\n").unwrap();
    let document = analyzed(&[], &[&raw]);
    assert_eq!(count(&document, "/forward/packets/sent"), 4);
    assert_eq!(count(&document, "/forward/packets/lost"), 1);
    assert_eq!(
        count(&document, "/traffic/interval_ns"),
        10_000,
        "between the first and the last one more left"
    );
    // When it left is not in the file, and no stamp that did not come.
    assert_eq!(count(&document, "/stamps/missing/sender_departure"), 0);
    // 6 microseconds above the least of 3.
    assert!((number(&document, "/forward/delay_ns/max") - 6_000.0).abs() < 1e-6);
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
    let said = format!("in the first 1048576 of {packets} delays, until 1048s after the start");
    assert!(at(&document, "/warnings").to_string().contains(&said), "{}", at(&document, "/warnings"));
}

/// How many lines a file has.
fn lines(file: &Path) -> usize {
    std::fs::read_to_string(file).unwrap().lines().count()
}

#[test]
fn each_line_of_a_file_is_a_packet_that_arrived_however_coarse_its_stamps_are() {
    let folder = tempfile::tempdir().unwrap();
    // Stamps in whole milliseconds: of five packets one comes twice, and half of the copies have the same stamp.
    let stamps = |n: i64| (n * 200_000, n * 200_000 + 50_000 + n * 7_919 % 13 * 10_000);
    let copies = |n: i64| if n % 5 > 0 { vec![0] } else { vec![0, n % 2 * 10_000] };
    let (mut raw, mut csv) = (String::new(), "sequence,size,sent_ns,received_ns\n".to_owned());
    for n in 0..300 {
        let (sent, received) = stamps(n);
        for later in copies(n) {
            let received = received + later;
            raw.push_str(&format!("{sent}:{received}:{}:64:{n}\n", received - sent));
            csv.push_str(&format!("{n},64,{},{}\n", sent * 100, received * 100));
        }
    }
    for (name, text) in [("copies.raw", raw), ("copies.csv", csv)] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let document = analyzed(&[], &[&path]);
        assert_eq!(count(&document, "/forward/packets/received"), 300, "{name}");
        assert_eq!(count(&document, "/forward/packets/duplicated"), 60, "{name}");
        let prefix = folder.path().join(format!("{name}-written"));
        let table = folder.path().join(format!("{name}-written.csv"));
        process::run(romer(["report", "--quiet", "--qtcp"]).arg(&prefix).arg("--csv").arg(&table).arg(&path))
            .with_code(0);
        let written = |ending: &str| folder.path().join(format!("{name}-written.{ending}"));
        assert_eq!((lines(&written("raw")), lines(&written("log"))), (360, 360), "{name}");
        assert_eq!(lines(&table), 361, "{name}");
        let counts = std::fs::read_to_string(written("sta")).unwrap();
        assert!(counts.contains("received: 300\nlost: 0\nduplicated: 60\n"), "{name}: {counts}");
    }
}

#[test]
fn a_runs_files_of_qtcp_hold_its_packets_and_convert_into_each_other() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = lab.measure(&["--count", "60", "--interval", "2ms", FAR]);
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

/// What the lines of a `.log` have for latencies, in units of 100 ns, by number.
fn latencies(log: &Path) -> BTreeMap<u64, i64> {
    let text = std::fs::read_to_string(log).unwrap();
    let line = |line: &str| {
        let fields: Vec<i64> = line.split(':').map(|field| field.parse().unwrap()).collect();
        (fields[4].unsigned_abs(), fields[2])
    };
    text.lines().map(line).collect()
}

#[test]
fn a_log_is_without_what_the_analysis_of_the_same_packets_took_out_and_a_page_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let name = |file: &str| folder.path().join(file);
    // Reflected packets every 20 ms; the far clock runs 30 ppm faster and is set ahead by 3 ms after 30 s of 60.
    let far = |at: i64| at + 128_000_000 + at * 3 / 100_000 + if at < 30_000_000_000 { 0 } else { 3_000_000 };
    let waits = |n: i64| (n * 7_919) % 997 * 500;
    let mut table = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n".to_owned();
    let mut raw = String::new();
    for n in 0..3_000_i64 {
        let left = n * 20_000_000;
        let there = left + 500_000 + waits(n);
        table += &format!(
            "{n},100,{left},{},{},{}\n",
            far(there),
            far(there + 30_000),
            there + 530_000 + waits(n + 3)
        );
        let (sent, received) = (left / 100, far(there) / 100);
        raw += &format!("{sent}:{received}:{}:100:{n}\n", received - sent);
    }
    std::fs::write(name("both.csv"), table).unwrap();
    std::fs::write(name("there.raw"), raw).unwrap();
    let mut command = romer(["analyze", "--json", "-", "--log"]);
    command.arg(name("both.log")).arg("--html").arg(name("page.html")).arg(name("both.csv"));
    let ended = process::run(&mut command).with_code(0);
    assert!(ended.stderr.contains("1 jump of a clock was compensated"), "{ended:?}");
    let found = latencies(&name("both.log"));
    assert_eq!(found.len(), 3_000);
    let most = number(&ended.document(), "/forward/pdv_ns/max");
    let least = found.values().min().unwrap();
    let spread = 100.0 * f64::from(i32::try_from(found.values().max().unwrap() - least).unwrap());
    assert!((spread - most).abs() <= 300.0, "{spread} in the log, {most} in the document");
    assert!(most < 2e6, "the step is in neither: {most}");
    let page = std::fs::read_to_string(name("page.html")).unwrap();
    let stands_out = page.split_once("What stands out").unwrap().1.split_once("</section>").unwrap().0;
    assert!(stands_out.contains("a clock was set by 3.00"), "{stands_out}");

    // Of one direction, both commands find the same jump by the same method, and write the same file.
    let mut command = romer(["analyze", "--quiet", "--skew", "least-absolute-jumps", "--log"]);
    process::run(command.arg(name("analysed.log")).arg(name("there.raw"))).with_code(0);
    let mut prefix = std::ffi::OsString::from("-F");
    prefix.push(name("there"));
    process::run(romer(["qtcp", "--quiet", "-k", "3"]).arg(&prefix)).with_code(0);
    let read = |file: &str| std::fs::read_to_string(name(file)).unwrap();
    assert!(read("analysed.log") == read("there.log"), "the two commands disagree");
    assert!(*latencies(&name("there.log")).values().max().unwrap() < 20_000, "the step is still in it");
    // And what cannot be told is refused with its reason, not left in.
    let few: String = read("there.raw").lines().take(20).map(|line| format!("{line}\n")).collect();
    std::fs::write(name("few.raw"), few).unwrap();
    let mut command = romer(["analyze", "--quiet", "--log"]);
    let refused = process::run(command.arg(name("few.log")).arg(name("few.raw"))).with_code(3);
    assert!(refused.stderr.contains("fewer than 60 packets"), "{refused:?}");
}

#[test]
fn a_log_counts_latencies_from_the_least_delay_of_the_document_also_where_a_packet_waited_right_at_a_step() {
    let folder = tempfile::tempdir().unwrap();
    let name = |file: &str| folder.path().join(file);
    const STEP: i64 = 5_000_000;
    // The far clock is set ahead 6 ms after a packet left, which comes just before that; or 2 ms after, and it comes after it.
    for before in [6_000_000, 2_000_000] {
        let far = |at: i64| at + 128_000_000 + if at < 30_000_000_000 + before { 0 } else { STEP };
        let waits = |n: i64| 500_000 + (n * 7_919) % 997 * 500;
        let mut texts = ["sequence,size,sent_ns,received_ns\n"; 2].map(str::to_owned);
        for n in 0..3_000_i64 {
            let (left, replied) = (n * 20_000_000, n * 20_000_000 + 7_000_000);
            // Four fifths of the step: as late as one after the step that came a millisecond too soon.
            let held = if n == 1_500 { 4_000_000 } else { 0 };
            texts[0] += &format!("{n},100,{left},{}\n", far(left + 500_000 + waits(n) / 10 + held));
            texts[1] += &format!("{n},100,{},{}\n", far(replied), replied + waits(n + 3));
        }
        let files = ["there.csv", "back.csv"].map(name);
        for (file, text) in files.iter().zip(&texts) {
            std::fs::write(file, text).unwrap();
        }
        let mut command = romer(["analyze", "--force", "--json", "-", "--log"]);
        command.arg(name("one.log")).arg(&files[0]).arg("--reverse").arg(&files[1]);
        let document = process::run(&mut command).with_code(0).document();
        let found = latencies(&name("one.log"));
        let mean = found.values().map(|units| *units as f64).sum::<f64>() * 100.0 / found.len() as f64;
        let stated = number(&document, "/forward/delay_ns/mean");
        assert!((mean - stated).abs() < 200.0, "{before}: {mean} in the log, {stated} in the document");
        assert!(mean < 100_000.0, "{before}: {mean}: nearly all wait less than a tenth of a millisecond");
    }
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
fn a_raw_file_that_is_a_pipe_is_converted_as_the_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let name = |file: &str| folder.path().join(file);
    let line = |n: i64| {
        let latency = 5_000 + (n * 7_919) % 997 * (n % 13) + n / 10;
        format!("{}:{}:{latency}:100:{n}\n", 70_000 + n * 200_000, 70_000 + n * 200_000 + latency)
    };
    let lines: String = (0..3_000).filter(|n| n % 37 > 0).map(line).collect();
    std::fs::write(name("file.raw"), &lines).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(name("pipe.raw")).status().unwrap().success());
    let convert = |prefix: &str| {
        let mut argument = std::ffi::OsString::from("-F");
        argument.push(name(prefix));
        process::run(romer(["qtcp", "-d"]).arg(argument)).with_code(0);
        std::fs::read_to_string(name(&format!("{prefix}.log"))).unwrap()
    };
    let writer = {
        let pipe = name("pipe.raw");
        std::thread::spawn(move || std::fs::write(pipe, lines).unwrap())
    };
    assert_eq!(convert("pipe"), convert("file"));
    writer.join().unwrap();
    let mut left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["file.log", "file.raw", "pipe.log", "pipe.raw"]);
}

#[test]
fn a_receiver_that_was_set_back_is_told_from_a_shorter_way_by_the_order_of_the_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("packets.raw");
    // Every 20 ms, in units of 100 ns; after 30 s the receiver's clock is set back, or the way is shorter by as much.
    let analysed = |set: i64, shorter: i64| {
        let packet = |n: i64| {
            let left = n * 200_000;
            let way = 50_000 - if n < 1_500 { 0 } else { shorter };
            let arrives = left + way + (n * 7_919) % 997 * (n % 13);
            (arrives, left, n)
        };
        let mut packets: Vec<(i64, i64, i64)> = (0..3_000).map(packet).collect();
        packets.sort_unstable();
        let line = |(arrives, left, n): (i64, i64, i64)| {
            let stamp = arrives - if arrives < 300_000_000 { 0 } else { set };
            format!("{}:{}:{}:100:{n}\n", left + 10_000_000_000, stamp + 10_000_000_000, stamp - left)
        };
        std::fs::write(&path, packets.into_iter().map(line).collect::<String>()).unwrap();
        analyzed(&[], &[&path])
    };
    for set in [300_000, 1_000_000, 100_000_000] {
        let document = analysed(set, 0);
        let events = at(&document, "/clock/events").as_array().unwrap();
        let [event] = &events[..] else { panic!("{set}: {events:#?}") };
        assert_eq!(event["kind"], "clock-step");
        assert!((event["size_ns"].as_i64().unwrap() + set * 100).abs() < 50_000, "{set}: {event}");
        assert!((event["at_ns"].as_i64().unwrap() - 30_000_000_000).abs() <= 20_000_000, "{set}: {event}");
        assert_eq!(count(&document, "/forward/packets/reordered"), 0);
        assert_eq!(count(&document, "/forward/packets/lost"), 0);
        assert_eq!(count(&document, "/forward/delay_ns/count"), 3_000);
        assert!(number(&document, "/forward/delay_ns/max") < 1.5e6, "{set}: the step is in the delays");
        let told = at(&document, "/events").to_string();
        assert!(told.contains("the receiver's clock was set back by about"), "{told}");
        assert!(!at(&document, "/warnings").to_string().contains("do not compare"), "{document:#}");
    }
    let document = analysed(0, 300_000);
    assert!(count(&document, "/forward/packets/reordered") > 0);
    let events = at(&document, "/clock/events").as_array().unwrap();
    assert!(events.iter().all(|event| event["kind"] == "path-change") && events.len() == 1, "{events:#?}");
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
