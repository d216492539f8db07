//! Runs computed again, and packet logs read back.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::common::lab::{FAR, FAR_V6, Lab};
use super::common::process::{self, romer};
use super::common::{at, count, number, schema, warned};

/// The document of what is at `path`.
fn analyzed(path: &Path, more: &[&str]) -> Value {
    let mut command = romer(["analyze", "--quiet", "--json", "-"]);
    let document = process::run(command.arg(path).args(more)).with_code(0).document();
    if document.get("measurements").is_none() {
        schema::assert_valid(&document, "measurement");
    }
    document
}

/// A run knows its calibration packets, and `analyze` uses them unless other ones are given. By the hull, which a stall of the
/// host does not tilt: a rate that contradicts round trips of 50 us is refused.
#[test]
fn calibration_packets_of_a_run() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let few = ["measure", "--quiet", "--skew", "least-squares", "--calibration", "60", "--count", "60", FAR];
    let refused = process::run(&mut romer(few)).with_code(2).stderr;
    assert!(refused.contains("no packets are left to measure (--calibration 60)"), "{refused}");
    let arguments = ["--count", "200", "--interval", "1ms", "--skew", "hull", "--calibration", "120", FAR];
    let run = lab.measure(&arguments);
    let path = run.folder().join("manifest.json");
    let manifest = std::fs::read_to_string(&path).unwrap();
    let stream: Value = serde_json::from_str(&manifest).unwrap();
    let skew = at(&stream, "/streams/0/skew");
    assert_eq!((&skew["method"], &skew["calibration"]), (&"hull".into(), &120.into()));
    let [measured, apart] = ["", "/calibration_phase"]
        .map(|phase| count(&run.document(), &format!("{phase}/round_trip/packets/sent")));
    assert_eq!([measured, apart], [80, 120]);
    let folder = tempfile::tempdir().unwrap();
    let mut converted = romer(["report", "--quiet", "--qtcp"]);
    process::run(converted.arg(folder.path().join("run")).arg(run.folder())).with_code(0);
    let sta = std::fs::read_to_string(folder.path().join("run.sta")).unwrap();
    assert!(sta.contains("\nreceived: 200\n") && sta.contains("\ncalibration packets: 120\n"), "{sta}");
    // As if its ends had a clock each: here they have one.
    std::fs::write(&path, manifest.replace("\"shared\"", "\"unknown\"")).unwrap();
    let clock = |more: &[&str]| at(&analyzed(&run.folder(), more), "/clock").clone();
    let (own, stated) = (clock(&[]), clock(&["--skew", "hull", "--calibration", "120"]));
    assert_eq!(own, stated);
    assert_eq!(own["calibration_packets"], 120, "{own}");
    let all = clock(&["--skew", "hull"]);
    assert!(all["calibration_packets"].is_null(), "{all}");
    // Without a method it is the run's own.
    let fewer = clock(&["--calibration", "100"]);
    assert_eq!(fewer, clock(&["--skew", "hull", "--calibration", "100"]));
    assert_eq!(fewer["calibration_packets"], 100, "{fewer}");
    std::fs::write(&path, manifest.replace("hull", "piecewise")).unwrap();
    let mut all_of_them = romer(["analyze", "--quiet", "--skew", "hull", "--calibration", "200"]);
    let refused = process::run(all_of_them.arg(run.folder())).with_code(3).stderr;
    assert!(refused.contains("no packets are left to measure (--calibration 200)"), "{refused}");
    let mut no_use = romer(["analyze", "--quiet", "--calibration", "60"]);
    let refused = process::run(no_use.arg(run.folder())).with_code(2).stderr;
    assert!(refused.contains("piecewise follows the clocks"), "{refused}");
}

/// Figures, losses and limits are of the packets after those for calibration, which stand apart in document and summary.
#[test]
fn calibration_phase_apart() {
    let folder = tempfile::tempdir().unwrap();
    // 40 packets without loss that take 1 ms, and 60 that take 3 ms, every tenth of which is lost.
    let lines: String = (0..100_i64)
        .map(|n| {
            let (sent, took) = (n * 20_000_000, if n < 40 { 1_000_000 } else { 3_000_000 });
            let arrived = (n < 40 || n % 10 != 5).then(|| (sent + took).to_string());
            format!("{n},64,{sent},{}\n", arrived.unwrap_or_default())
        })
        .collect();
    let log = table(folder.path(), "log.csv", "sequence,size,sent_ns,received_ns", &lines);
    let phases = ["--skew", "least-squares", "--calibration", "40"];
    let document = analyzed(&log, &phases);
    let counts = |way: &str| ["sent", "lost"].map(|name| count(&document, &format!("{way}/packets/{name}")));
    assert_eq!(counts("/forward"), [60, 6]);
    assert_eq!(counts("/calibration_phase/forward"), [40, 0]);
    assert_eq!(count(&document, "/calibration_phase/packets"), 40);
    let rise = number(&document, "/forward/delay_ns/median")
        - number(&document, "/calibration_phase/forward/delay_ns/median");
    assert!((rise - 2e6).abs() < 1e3, "{document:#}");
    assert!(number(&document, "/forward/loss/ratio") > 0.099);
    let mut limited = romer(["analyze", "--limit", "forward.loss.ratio<=8%"]);
    let ended = process::run(limited.arg(&log).args(phases)).with_code(6);
    assert!(
        ended.stdout.contains("calibration with the first 40 packets of each direction, not in the"),
        "{ended:?}"
    );
    // Without phases all is measured.
    let whole = analyzed(&log, &["--skew", "least-squares"]);
    assert_eq!(count(&whole, "/forward/packets/sent"), 100);
    assert!(whole.get("calibration_phase").is_none());
}

/// A packet log with `header` and `lines`.
fn table(folder: &Path, name: &str, header: &str, lines: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, format!("{header}\n{lines}")).unwrap();
    path
}

const ONE_WAY: &str = "sequence,size,sent_ns,received_ns";
const FOUR: &str = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns";

#[test]
fn a_run_gives_the_document_again_that_it_ended_with() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run =
        lab.measure(&["--count", "50", "--interval", "2ms", "--limit", "round_trip.delay_ns.p99<10s", FAR]);
    assert_eq!(analyzed(&run.folder(), &[]), run.document());
    // Another limit takes the place of the run's own.
    let again = analyzed(&run.folder(), &["--limit", "forward.packets.sent>=50"]);
    assert_eq!(at(&again, "/limits/0/limit"), "forward.packets.sent>=50");
    assert_eq!(at(&again, "/limits/0/passed"), true);
}

#[test]
fn the_packets_that_a_run_exports_give_its_figures_so_far_as_stamps_alone_give_them() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = lab.measure(&["--count", "60", "--interval", "2ms", FAR]);
    let csv = run.home.path().join("packets.csv");
    process::run(romer(["report", "--quiet", "--csv"]).arg(&csv).arg(run.folder())).with_code(0);
    let (document, again) = (run.document(), analyzed(&csv, &[]));
    for pointer in [
        "/round_trip/delay_ns",
        "/round_trip/packets",
        "/forward/ipdv_ns",
        "/reverse/pdv_ns",
        "/location_error_ns",
    ] {
        assert_eq!(at(&again, pointer), at(&document, pointer), "{pointer}");
    }
    assert_eq!(at(&again, "/source").as_str(), csv.to_str());
    assert_eq!(at(&again, "/forward/delay_kind"), "variable", "a file does not tell whose clocks they were");
}

#[test]
fn each_stream_of_a_run_is_exported_in_one_call() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = lab.try_measure(&["--count", "20", "--interval", "2ms", FAR, FAR_V6]);
    assert_eq!(run.ended.code, Some(0), "{:?}", run.ended);
    let report = |target: &str, more: &[&str]| {
        let mut command = romer(["report", "--quiet", "--csv"]);
        process::run(command.arg(run.home.path().join(target)).arg(run.folder()).args(more))
    };
    report("packets/", &[]).with_code(0);
    report("packets.csv", &["--fates"]).with_code(0);
    for stream in 0..2 {
        let plain =
            std::fs::read_to_string(run.home.path().join(format!("packets/stream-{stream}.csv"))).unwrap();
        let fates = std::fs::read_to_string(run.home.path().join(format!("packets-{stream}.csv"))).unwrap();
        assert_eq!(plain.lines().count(), 21);
        let without: String = fates.lines().fold(String::new(), |mut all, line| {
            let (row, fate) = line.rsplit_once(',').unwrap();
            assert!(["fate", "arrived"].contains(&fate), "{line}");
            writeln!(all, "{row}").unwrap();
            all
        });
        assert_eq!(without, plain);
    }
    let refused = process::run(romer(["report", "--quiet", "--csv", "-"]).arg(run.folder())).with_code(2);
    assert!(refused.stderr.contains("--stream-number"), "{refused:?}");
}

#[test]
fn a_one_way_log_has_no_way_back_and_no_round_trip() {
    let folder = tempfile::tempdir().unwrap();
    // Clocks 5 s apart; number 2 is lost, 1 comes twice, and 4 comes after 3.
    let lines = "0,44,1000,5000021000\n1,44,2000,5000022500\n1,44,2000,5000029000\n2,44,3000,\n3,44,4000,5000027000\n\
                 4,44,5000,5000026000\n";
    let document = analyzed(&table(folder.path(), "one.csv", ONE_WAY, lines), &[]);
    for (pointer, expected) in
        [("sent", 5), ("received", 4), ("lost", 1), ("duplicated", 1), ("reordered", 1)].map(|(a, b)| (a, b))
    {
        assert_eq!(count(&document, &format!("/forward/packets/{pointer}")), expected, "{pointer}");
    }
    assert_eq!(at(&document, "/forward/delay_kind"), "variable");
    // 20,000, 20,500, 23,000 and 21,000 ns on these clocks.
    assert!((number(&document, "/forward/delay_ns/median") - 750.0).abs() < 1e-6);
    assert!((number(&document, "/forward/delay_ns/max") - 3_000.0).abs() < 1e-6);
    for way in ["reverse", "round_trip"] {
        assert!(document.pointer(&format!("/{way}/packets/sent")).is_none_or(Value::is_null), "{way}");
        assert!(document.pointer(&format!("/{way}/delay_ns/median")).is_none_or(Value::is_null), "{way}");
    }
}

#[test]
fn a_log_of_four_stamps_tells_the_ways_of_losses_and_the_bounds_of_the_offset() {
    let folder = tempfile::tempdir().unwrap();
    // The far clock is 1,000,000 ns ahead; 300 ns there, 200 back, 50 between. 3 is lost there, 4 on the way back.
    let lines = "0,100,0,1000300,1000350,550\n1,100,1000,1001310,1001360,1560\n2,100,2000,1002300,1002350,2560\n\
                 3,100,3000,,,\n4,100,4000,1004300,1004350,\n";
    let document = analyzed(&table(folder.path(), "four.csv", FOUR, lines), &[]);
    assert_eq!(count(&document, "/forward/packets/lost"), 1);
    assert_eq!(count(&document, "/reverse/packets/lost"), 1);
    assert_eq!(count(&document, "/round_trip/packets/lost"), 2);
    let bounds: Vec<i64> = serde_json::from_value(at(&document, "/clock/offset_bounds_ns").clone()).unwrap();
    // From 999,800 to 1,000,300 by causality alone; and within the 2 us to the packet that took least on the way back clocks
    // may have drifted by as much as a nanosecond. Of so few packets no unit of the stamps is told.
    assert_eq!(bounds, [999_799, 1_000_300]);
    assert!((number(&document, "/round_trip/delay_ns/min") - 500.0).abs() < 1e-6);
    assert!((number(&document, "/round_trip/delay_ns/max") - 510.0).abs() < 1e-6);
    assert!(at(&document, "/stamps/sender_departure").is_null(), "a file does not tell the place");
}

#[test]
fn replies_that_left_before_their_requests_came_are_told_with_what_becomes_of_their_delays() {
    let folder = tempfile::tempdir().unwrap();
    let of = |backward: &[i64]| {
        let line = |n: i64| {
            let (sent, there) = (n * 10_000_000, if backward.contains(&n) { -40_000 * n } else { 50_000 });
            let came = sent + 3_000_000 + n * 31 % 17;
            format!("{n},100,{sent},{came},{},{}\n", came + there, came + 2_000_000 + 50_000)
        };
        let lines: String = (0..100).map(line).collect();
        let path = table(folder.path(), &format!("{}.csv", backward.len()), FOUR, &lines);
        analyzed(&path, &[])
    };
    let told = |document: &Value| -> Vec<String> {
        let warnings = warned(document);
        warnings.lines().filter(|warning| warning.contains("t3 before t2")).map(str::to_owned).collect()
    };
    assert_eq!(told(&of(&[])), [""; 0]);
    let document = of(&[7, 20, 33]);
    let [words] = &told(&document)[..] else { panic!("{document:#}") };
    for part in [
        "stamps of 3 replies contradict each other",
        "the first is packet 7",
        "by up to 1.32 ms",
        "no one-way delays",
    ] {
        assert!(words.contains(part), "{part:?}: {words}");
    }
    let longest = number(&document, "/round_trip/delay_ns/max");
    assert!((longest - 5_050_000.0).abs() < 100.0, "{longest}");
    assert!(told(&of(&[7]))[0].contains("stamps of 1 reply contradict each other"));
}

#[test]
fn what_gives_a_table_the_far_ends_stamps_is_said_of_romer_and_not_of_another_program() {
    let folder = tempfile::tempdir().unwrap();
    let line = |n: i64| format!("{n},100,{},,,{}\n", n * 1_000_000, n * 1_000_000 + 70_000 + n * 31 % 17);
    let lines: String = (0..100).map(line).collect();
    let document = analyzed(&table(folder.path(), "two.csv", FOUR, &lines), &[]);
    let warnings = warned(&document);
    assert!(
        warnings.contains("t2_ns and t3_ns are missing, empty or zero") && warnings.contains("romer respond"),
        "{warnings}"
    );
    assert!(!warnings.contains("irtt"), "{warnings}");
}

#[test]
fn a_rate_of_three_packets_is_not_told_with_an_infinite_error() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "0,100,0,5000000\n1,100,1000000000,1005000100\n2,100,2000000000,2005000050\n";
    let path = table(folder.path(), "three.csv", ONE_WAY, lines);
    // A hull takes four.
    let four = format!("{lines}3,100,3000000000,3005000070\n");
    let four = table(folder.path(), "four.csv", ONE_WAY, &four);
    for (path, method) in [
        (&path, "least-squares"),
        (&path, "least-absolute"),
        (&path, "least-absolute-jumps"),
        (&four, "hull"),
        (&path, "khlifi:1s,0.5"),
        (&path, "best"),
    ] {
        let document = analyzed(path, &["--skew", method]);
        let text = document.to_string();
        assert!(!text.contains("inf ") && !text.contains("NaN"), "{method}: {}", at(&document, "/warnings"));
        if method == "least-absolute" {
            assert_eq!(at(&document, "/clock/identifiable"), false);
            assert!(text.contains(r#""reason":"uncertainty-unknown""#), "{text}");
        }
    }
}

#[test]
fn what_a_spreadsheet_made_of_a_table_is_read_and_what_it_lost_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let header = "\u{feff}sequence,size,sent_ns,received_ns,delay in ms,,\r".to_owned();
    let lines = |unit: i64| {
        let line = |n: i64| {
            let sent = 1_795_654_250_313_298_178 + n * 10_012_345;
            let [sent, came] = [sent, sent + 5_000_123 + n % 7 * 1_357].map(|stamp| stamp / unit * unit);
            format!("{n},100,\"{sent}\",{came},\"5,0\",,\r\n")
        };
        (0..40).map(line).collect::<String>()
    };
    for (unit, cut) in [(1, false), (10_000, true)] {
        let document = analyzed(&table(folder.path(), &format!("{unit}.csv"), &header, &lines(unit)), &[]);
        assert_eq!(count(&document, "/forward/packets/received"), 40);
        let warnings = warned(&document);
        assert_eq!(warnings.contains("digits-truncated"), cut, "{unit}: {warnings}");
        assert!(
            warnings.contains(r#"a column is not part of a packet log and not used: "delay in ms""#),
            "{warnings}"
        );
    }
}

#[test]
fn a_table_that_ends_within_its_last_value_loses_that_line_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String =
        (0..100).map(|n| format!("{n},100,{},{}\n", n * 10_000_000, n * 10_000_000 + 5_000_000)).collect();
    for (name, last, sent, said) in [
        ("digits.csv", "100,100,1000000000,10050", 100, "the file ends within line 102"),
        ("fields.csv", "100,100,1000", 100, "the file ends within line 102"),
        ("whole.csv", "100,100,1000000000,1005001000", 101, "does not end with a line end"),
    ] {
        let file = table(folder.path(), name, ONE_WAY, &format!("{lines}{last}"));
        let document = analyzed(&file, &[]);
        assert_eq!(document["forward"]["packets"]["sent"], sent, "{name}");
        assert!(document["forward"]["delay_ns"]["max"].as_f64().unwrap() < 6e6, "{name}");
        let warnings = warned(&document);
        assert!(warnings.contains(said), "{name}: {warnings}");
    }
}

#[test]
fn in_flight_by_fate_is_no_loss() {
    let folder = tempfile::tempdir().unwrap();
    let sent = |n: u64| 1_000_000 * n;
    let line = |n: u64, arrived: bool, fate: &str| {
        let arrival = if arrived { (sent(n) + 500).to_string() } else { String::new() };
        format!("{n},44,{},{arrival},{fate}\n", sent(n))
    };
    let lines: String = (0..40)
        .map(|n| match n {
            10..20 => line(n, false, "in-flight"),
            20..23 => line(n, false, "lost-forward"),
            23 => line(n, false, "unknown"),
            _ => line(n, true, "arrived"),
        })
        .collect();
    let path = table(folder.path(), "fates.csv", "sequence,size,sent_ns,received_ns,fate", &lines);
    let document = analyzed(&path, &[]);
    let packets = |name: &str| count(&document, &format!("/forward/packets/{name}"));
    assert_eq!((packets("sent"), packets("received"), packets("lost")), (29, 26, 3), "{document:#}");
    let warnings = warned(&document);
    assert!(
        warnings.contains("11 packets that did not arrive are in flight or unknown by the file"),
        "{warnings}"
    );
}

#[test]
fn a_summary_is_as_narrow_as_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..400_i64)
        .map(|n| format!("{n},100,{},{}\n", n * 10_000_000, n * 10_000_000 + 5_000_000 + 997 * (n * n % 89)))
        .collect();
    let file = table(folder.path(), "a.csv", ONE_WAY, &lines);
    // What a file is called stands on one line.
    let widest = |text: &str| {
        let lines = text.lines().filter(|line| !line.contains("a.csv"));
        lines.map(|line| line.trim_end_matches('\r').chars().count()).max().unwrap()
    };
    for columns in [40, 60, 100] {
        let mut command = romer(["analyze"]);
        command.arg(&file).env("COLUMNS", columns.to_string());
        let width = widest(&process::run(&mut command).with_code(0).stdout);
        assert!(width <= columns && width > columns - 12, "{width} of {columns}");
    }
    // A terminal that knows its columns and not its rows.
    let program = romer(["analyze", "--color", "never"]);
    let words = std::iter::once(program.get_program()).chain(program.get_args());
    let words: Vec<&str> = words.map(|word| word.to_str().unwrap()).chain([file.to_str().unwrap()]).collect();
    let mut script = std::process::Command::new("script");
    script.args(["--quiet", "--return", "--command", &format!("stty cols 60 && exec {}", words.join(" "))]);
    let width = widest(&process::run(script.arg("/dev/null").env_remove("COLUMNS")).with_code(0).stdout);
    assert!(width <= 60 && width > 48, "{width}");
}

#[test]
fn what_did_not_arrive_has_no_delays_for_the_clocks_to_be_in() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..100).map(|n| format!("{n},100,{},\n", n * 10_000_000)).collect();
    let document = analyzed(&table(folder.path(), "lost.csv", ONE_WAY, &lines), &[]);
    assert_eq!(document["forward"]["packets"]["lost"], 100);
    let warnings = warned(&document);
    assert!(!warnings.contains("one-way delays"), "{warnings}");
}

#[test]
fn a_file_of_which_nothing_arrived_tells_nothing_of_lengths_that_pass() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..4).map(|k| format!("{k},200,{},,\n", 1_000_000_000 + k * 20_000_000)).collect();
    let one_way = table(folder.path(), "one", ONE_WAY, &lines.replace(",,", ","));
    let four = table(folder.path(), "four", FOUR, &lines.replace(",,\n", ",,,\n"));
    for log in [one_way, four] {
        let document = analyzed(&log, &[]);
        let told = warned(&document);
        assert!(!told.contains("length"), "{told}");
    }
}

#[test]
fn two_networks_in_series_are_two() {
    let said = process::run(&mut romer(["analyze", "--concatenate", "a.csv"])).with_code(2).stderr;
    assert!(said.contains("it takes 2, not 1"), "{said}");
}

#[test]
fn round_trips_that_no_path_can_give_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let lines = |third: u32| {
        format!(
            "0,64,1000000,1400000,1500000,2000000\n1,64,2000000,2400000,2500000,3000000\n2,64,3000000,3400000,3500000,{third}\n"
        )
    };
    for (third, told) in [(4_000_000, false), (2_900_000, true)] {
        let document = analyzed(&table(folder.path(), &format!("{third}.csv"), FOUR, &lines(third)), &[]);
        let warnings = warned(&document);
        assert_eq!(warnings.contains("time-stamps-missing"), told, "{third}: {warnings}");
    }
}

#[test]
fn two_one_way_logs_are_both_directions_and_bound_the_offset() {
    let folder = tempfile::tempdir().unwrap();
    // The far clock is 1,000,000 ns ahead; 300 ns and more there, 200 and more back; one is lost on the way back.
    let there =
        table(folder.path(), "there.csv", ONE_WAY, "0,44,0,1000300\n1,44,1000,1001340\n2,44,2000,1002310\n");
    let back =
        table(folder.path(), "back.csv", ONE_WAY, "0,44,1000000,200\n1,44,1001000,1210\n2,44,1002000,\n");
    let document = analyzed(&there, &["--reverse", back.to_str().unwrap()]);
    assert_eq!(
        (count(&document, "/forward/packets/lost"), count(&document, "/reverse/packets/lost")),
        (0, 1)
    );
    assert!((number(&document, "/forward/delay_ns/max") - 40.0).abs() < 1e-6);
    assert!((number(&document, "/reverse/delay_ns/max") - 10.0).abs() < 1e-6);
    let bounds: Vec<i64> = serde_json::from_value(at(&document, "/clock/offset_bounds_ns").clone()).unwrap();
    // Stamps may tell no less than 10 ns apart.
    assert_eq!(bounds, [999_799, 1_000_300]);
    let four = table(folder.path(), "four.csv", FOUR, "0,44,0,1,2,3\n");
    let refused = process::run(romer(["analyze", "--reverse"]).arg(&four).arg(&there)).with_code(3);
    assert!(refused.stderr.contains("four.csv:1") && refused.stderr.contains("alone"), "{refused:?}");
}

#[test]
fn a_packet_that_took_longer_than_the_waiting_time_is_late_and_lost() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "0,44,0,5,6,100\n1,44,1000,1005,1006,500001000\n";
    let path = table(folder.path(), "late.csv", FOUR, lines);
    let lost = |more: &[&str]| count(&analyzed(&path, more), "/round_trip/packets/lost");
    assert_eq!((lost(&[]), lost(&["--waiting-time", "400ms"])), (0, 1));
}

#[test]
fn a_long_log_is_read_in_any_order_of_its_lines() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = String::new();
    for n in (0..100_000).rev() {
        writeln!(lines, "{n},44,{},{}", n * 1_000, n * 1_000 + 700 + n % 7).unwrap();
    }
    let document = analyzed(&table(folder.path(), "long.csv", ONE_WAY, &lines), &[]);
    assert_eq!(count(&document, "/forward/packets/received"), 100_000);
    assert_eq!(
        count(&document, "/forward/packets/reordered"),
        0,
        "the order of lines is not that of arrival"
    );
    assert!((number(&document, "/forward/delay_ns/max") - 6.0).abs() < 1e-6);
}

/// Round trips 20 ms apart, each way at least so long and an exponential time longer, by a generator of its own.
fn round_trips(folder: &Path, name: &str, seed: u64, ways: &[f64]) -> std::path::PathBuf {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut waited = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        #[expect(clippy::cast_precision_loss, reason = "a made-up delay")]
        let unit = ((state >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0;
        -unit.ln()
    };
    let mut lines = String::new();
    for sequence in 0..800_i64 {
        let left = 1_700_000_000_000_000_000 + sequence * 20_000_000;
        #[expect(clippy::cast_possible_truncation, reason = "a made-up delay")]
        let there = ways.iter().map(|mean| (1e6 * mean * (1.0 + waited())) as i64).sum::<i64>();
        writeln!(lines, "{sequence},44,{left},{0},{0},{1}", left + there / 2, left + there).unwrap();
    }
    table(folder, name, FOUR, &lines)
}

#[test]
fn two_networks_in_series_take_the_sum_of_their_delays_and_another_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let a = round_trips(path, "a.csv", 1, &[2.0]);
    let b = round_trips(path, "b.csv", 2, &[3.0]);
    let both = round_trips(path, "both.csv", 3, &[2.0, 3.0]);
    let other = round_trips(path, "other.csv", 4, &[3.0, 3.0]);
    let concatenated = |measured: &Path| {
        let mut command = romer(["analyze", "--quiet", "--json", "-", "--concatenate"]);
        let document =
            process::run(command.args([&a, &b]).arg("--measured").arg(measured)).with_code(0).document();
        schema::assert_valid(&document, "concatenation");
        document
    };
    let same = concatenated(&both);
    let directions = at(&same, "/directions").as_array().unwrap();
    let place = directions.iter().position(|one| one["direction"] == "round_trip").unwrap();
    let of = |document: &Value, what: &str| at(document, &format!("/directions/{place}/{what}")).clone();
    assert_eq!(of(&same, "independence/independent"), true, "{same:#}");
    assert_eq!(of(&same, "test/passed"), true, "{same:#}");
    // Of delays above the median there is no median.
    let medians =
        |one: &Value| one["figures"].as_array().unwrap().iter().any(|figure| figure["name"] == "median");
    assert!(directions.iter().any(|one| one["delay_kind"] == "variable"), "{same:#}");
    assert!(directions.iter().all(|one| medians(one) == (one["delay_kind"] == "absolute")), "{same:#}");
    // Twice 2 and twice 3 ms.
    let mean = of(&same, "predicted_delay_ns/mean").as_f64().unwrap();
    assert!((mean - 10e6).abs() < 0.5e6, "{mean}");
    let differs = concatenated(&other);
    assert_eq!(of(&differs, "test/passed"), false, "{differs:#}");
    // Delay variation has no offset of clocks, and no mean.
    let mut command = romer(["analyze", "--quiet", "--json", "-", "--of", "jitter", "--concatenate"]);
    let jitter = process::run(command.args([&a, &b]).arg("--measured").arg(&both)).with_code(0).document();
    schema::assert_valid(&jitter, "concatenation");
    assert_eq!(at(&jitter, "/quantity"), "ipdv");
    let directions = at(&jitter, "/directions").as_array().unwrap();
    assert!(directions.iter().all(|one| one["delay_kind"] == "absolute"), "{jitter:#}");
    let names = |one: &Value| -> Vec<Value> {
        one["figures"].as_array().unwrap().iter().map(|figure| figure["name"].clone()).collect()
    };
    assert!(directions.iter().all(|one| names(one) == vec![Value::from("p95"), "p99".into()]), "{jitter:#}");
    let text = process::run(romer(["analyze", "--concatenate"]).args([&a, &b])).with_code(0).stdout;
    assert!(text.contains("A + B") && text.contains("no significant correlation"), "{text}");
}

/// A packet log is of no codec: it is rated where the user names one, by its values, with the jitter buffer that is stated.
#[test]
fn log_is_rated_for_stated_codec() {
    let folder = tempfile::tempdir().unwrap();
    let log = round_trips(folder.path(), "call.csv", 5, &[2.0]);
    assert_eq!(at(&analyzed(&log, &[]), "/voice").as_array().map(Vec::len), Some(0), "no codec");
    let r = |more: &[&str]| number(&analyzed(&log, more), "/voice/0/r");
    // Nothing is lost, and the best buffer discards next to nothing: 93.2 less Ie.
    assert!((93.2 - r(&["--codec", "g711"])).abs() < 0.5, "{}", r(&["--codec", "g711"]));
    let g729 = analyzed(&log, &["--codec", "g729", "--jitter-buffer", "100ms"]);
    assert_eq!(number(&g729, "/voice/0/discard_ratio").to_string(), "0");
    assert!((number(&g729, "/voice/0/r") - 82.2).abs() < 0.5, "{g729:#}");
    // Half of the round trip of some 5 ms, a packet of 20 ms, 5 ms of look-ahead, the buffer.
    assert!((number(&g729, "/voice/0/mouth_to_ear_ns") - 127e6).abs() < 3e6, "{g729:#}");
    let table: Vec<f64> = at(&g729, "/voice/0/jitter_buffers")
        .as_array()
        .unwrap()
        .iter()
        .map(|one| number(one, "/jitter_buffer_ns") / 1e6)
        .collect();
    assert_eq!(table, [20.0, 40.0, 60.0, 80.0, 100.0]);
    let values = ["--voice-ie", "11", "--voice-bpl", "19", "--jitter-buffer", "100ms"];
    let stated = analyzed(&log, &values);
    assert_eq!(at(&stated, "/voice/0/codec/name"), "custom");
    assert!((number(&stated, "/voice/0/r") - 82.2).abs() < 0.5, "{stated:#}");
    for (wrong, part) in [
        (&["--jitter-buffer", "60ms"][..], "no telephone call"),
        (&["--codec", "melp", "--jitter-buffer", "20ms"], "one melp frame, 22.5ms"),
        (&["--codec", "g999"], "amr-wb[:RATE]"),
        (&["--voice-scale", "wideband"], "--voice-ie"),
    ] {
        let mut command = romer(["analyze", "--quiet"]);
        let refused = process::run(command.arg(&log).args(wrong)).with_code(2).stderr;
        assert!(refused.contains(part), "{wrong:?}: {refused}");
    }
}
