//! Files of Qtcp: analysed, converted, and written of what was measured.

use std::collections::BTreeMap;
use std::path::Path;

use super::common::lab::{FAR, Lab};
use super::common::process::{self, romer};
use super::common::{at, count, event_texts, number, warned};
use super::recorded::analyzed;

/// As microseconds they are a tenth of what a reader takes them for; the file of the run's counts has its duration.
#[test]
fn stamps_in_another_unit_are_told_by_the_statistics_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let raw = folder.path().join("a.raw");
    let line = |n: u64| format!("{}:{}:30:64:{n}\n", 1_000 + n * 20_000, 1_030 + n * 20_000);
    std::fs::write(&raw, (0..50).map(line).collect::<String>()).unwrap();
    let told = "`--unit 1us` states that";
    let warnings = || warned(&analyzed(&[], &[&raw]));
    let each = "units of 100 ns, a packet was sent every 2.00 ms; for another unit, use";
    assert!(warnings().contains(each), "{}", warnings());
    assert!(process::run(romer(["qtcp", "--force", "-F"]).arg(&raw)).with_code(0).stderr.contains(each));
    let reported = process::run(romer(["report"]).arg(&raw)).with_code(0).stdout;
    assert!(reported.contains("--unit"), "{reported}");
    // Of what is normalised, and so was taken for a unit already, nothing is asked; nor where it is stated.
    assert!(!warned(&analyzed(&[], &[&raw.with_extension("log")])).contains("--unit"));
    for verb in ["analyze", "report"] {
        let stated = || romer([verb, "--quiet", "--json", "-", "--unit", "1us"]);
        let document = process::run(stated().arg(&raw)).with_code(0).document();
        assert_eq!(count(&document, "/traffic/interval_ns"), 20_000_000, "{verb}");
        assert!(!warned(&document).contains("--unit"), "{verb}: {document}");
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
    // Nor has such a file packets that are too small for Qtcp.
    let table = folder.path().join("a.csv");
    let refused = process::run(romer(["analyze", "--any-size"]).arg(&table)).with_code(2).stderr;
    assert!(refused.contains("(--any-size)") && refused.contains("is no .raw or .log"), "{refused}");
    for (statistics, doubted) in
        [("duration: 0.98\n", true), ("duration: 0.098\n", false), ("rate: 3200\n", true)]
    {
        std::fs::write(folder.path().join("a.sta"), format!("received: 50\nlost: 0\n{statistics}")).unwrap();
        assert_eq!(warnings().contains(told), doubted, "{statistics}");
        let converted = process::run(romer(["qtcp", "--force", "-F"]).arg(&raw)).with_code(0);
        assert_eq!(converted.stderr.contains(told), doubted, "{statistics}: {converted:?}");
        // Where the statistics say that it is so, nothing is asked.
        assert!(!converted.stderr.contains("a packet was sent every"), "{converted:?}");
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

/// The skew in the `.log` is fitted to the run's own calibration packets, unless others are stated.
#[test]
fn qtcp_with_the_runs_calibration() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let calibration = ["--skew", "least-squares", "--calibration", "20"];
    let run = lab.measure(&[&calibration[..], &["--count", "60", "--interval", "2ms", FAR]].concat());
    // The file and the words about it: a skew that no pair of clocks has is in the words alone.
    let log = |name: &str, more: &[&str]| {
        let prefix = run.home.path().join(name);
        let mut command = romer(["report", "-k", "1", "--qtcp"]);
        let ended = process::run(command.arg(&prefix).arg(run.folder()).args(more)).with_code(0);
        let file = std::fs::read_to_string(prefix.with_extension("log")).unwrap();
        (file, ended.stderr.replace(prefix.to_str().unwrap(), ""))
    };
    let (own, stated, all) = (log("own", &[]), log("stated", &["-c", "20"]), log("all", &["-c", "0"]));
    assert_eq!(own, stated);
    assert_ne!(own, all);
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
    // On a busy machine, so few packets have a skew that no pair of clocks has.
    let said = process::run(romer(["qtcp", "--force", "--any-skew"]).arg(&prefix)).with_code(0);
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

/// The `.sta` files of a folder have a summary: figures of each variable over files with equal settings, or with equal keys of the
/// user's choice.
#[test]
fn repeats_are_summarised() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, service: &str, lost: u32| {
        let text = format!("format: romer-sta/1\nrun: {name}\nservice: {service}\nsize: 64\nlost: {lost}\n");
        std::fs::write(folder.path().join(format!("{name}.sta")), text).unwrap();
    };
    write("a", "guaranteed", 0);
    write("b", "best-effort", 109);
    write("c", "guaranteed", 3);
    let collate =
        |arguments: &[&str]| process::run(romer(["qtcp"]).args(arguments).arg("-A").arg(folder.path()));
    let printed = collate(&[]).with_code(0).stdout;
    assert!(printed.contains("\n\nsummary of files with equal service, size\nservice "), "{printed}");
    let summary = |arguments: &[&str]| {
        collate(&[&["--quiet", "--summary-csv", "-"][..], arguments].concat()).with_code(0).stdout
    };
    assert_eq!(
        summary(&[]),
        "service,size,variable,files,mean,min,max\nguaranteed,64,lost,2,1.5,0,3\nbest-effort,64,lost,1,109.0,109,109\n"
    );
    assert_eq!(summary(&["--by", "size"]), "size,variable,files,mean,min,max\n64,lost,3,37.3,0,109\n");
    let refused = collate(&["--by", "lots"]).with_code(2).stderr;
    assert!(refused.contains("unknown key (--by lots)") && refused.contains("--by \"lost\""), "{refused}");
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
    let stands_out = page.split_once("<h2>Findings</h2>").unwrap().1.split_once("</section>").unwrap().0;
    assert!(stands_out.contains("Clock step of "), "{stands_out}");

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
        let told = event_texts(&document).join("\n");
        assert!(told.contains("the receiver's clock was set back by about"), "{told}");
        assert!(!warned(&document).contains("do not compare"), "{document:#}");
    }
    let document = analysed(0, 300_000);
    assert!(count(&document, "/forward/packets/reordered") > 0);
    let events = at(&document, "/clock/events").as_array().unwrap();
    assert!(events.iter().all(|event| event["kind"] == "path-change") && events.len() == 1, "{events:#?}");
}
