//! The emulator in virtual time: `romer emulate --offline`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{at, count, number, process, schema};

/// One line of departures.
#[derive(Clone, Debug, PartialEq)]
struct DepartureRow {
    ordinal: u64,
    copy: u64,
    port: String,
    arrival: i64,
    departure: Option<i64>,
    rank: Option<u64>,
    fate: String,
    requested: Option<i64>,
    displacement: u64,
}

/// What a run left.
struct Emulated {
    rows: Vec<DepartureRow>,
    text: String,
    document: Value,
}

fn emulate(folder: &Path, scenario: &str, arrivals: &str, seed: &str) -> Emulated {
    let file = |name: &str| folder.join(name).into_os_string();
    fs::write(file("s.toml"), scenario).unwrap();
    fs::write(file("in.csv"), arrivals).unwrap();
    let mut command = process::romer(["emulate", "--offline", "--force", "--seed", seed]);
    command.arg("--scenario").arg(file("s.toml")).arg("--arrivals").arg(file("in.csv"));
    command.arg("--departures").arg(file("out.csv")).arg("--json").arg(file("out.json"));
    process::run(&mut command).with_code(0);
    let text = fs::read_to_string(file("out.csv")).unwrap();
    let document: Value = serde_json::from_str(&fs::read_to_string(file("out.json")).unwrap()).unwrap();
    schema::assert_valid(&document, "emulation");
    Emulated { rows: rows(&text), text, document }
}

fn rows(text: &str) -> Vec<DepartureRow> {
    let mut lines = text.lines();
    let header =
        "ordinal,copy,port,size,arrival_ns,departure_ns,departure_rank,fate,requested_delay_ns,displacement";
    assert_eq!(lines.next(), Some(header));
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), 10, "{line}");
        DepartureRow {
            ordinal: fields[0].parse().unwrap(),
            copy: fields[1].parse().unwrap(),
            port: fields[2].into(),
            arrival: fields[4].parse().unwrap(),
            departure: fields[5].parse().ok(),
            rank: fields[6].parse().ok(),
            fate: fields[7].into(),
            requested: fields[8].parse().ok(),
            displacement: fields[9].parse().unwrap(),
        }
    };
    lines.map(row).collect()
}

fn every(gap: i64, number: i64, port: &str) -> String {
    let mut text = String::from("time_ns,port,size\n");
    (0..number).for_each(|n| writeln!(text, "{},{port},64", n * gap).unwrap());
    text
}

/// The law of the ledger, on the document, and the document's counts against the lines.
fn balances(emulated: &Emulated) {
    for (direction, port) in [("a_to_b", "a"), ("b_to_a", "b")] {
        let count = |name: &str| at(&emulated.document, &format!("/{direction}/{name}")).as_u64().unwrap();
        let lost = at(&emulated.document, &format!("/{direction}/lost")).as_object().unwrap();
        let lost: BTreeMap<&str, u64> =
            lost.iter().map(|(name, n)| (name.as_str(), n.as_u64().unwrap())).collect();
        let sum: u64 = lost.values().sum();
        assert_eq!(
            count("received") + count("duplicates_created"),
            count("transmitted") + count("queued") + sum
        );
        let mine: Vec<&DepartureRow> = emulated.rows.iter().filter(|row| row.port == port).collect();
        let fates = |fate: &str| mine.iter().filter(|row| row.fate == fate).count() as u64;
        assert_eq!(fates("sent"), count("transmitted"));
        for (cause, number) in lost {
            assert_eq!(fates(&format!("lost:{cause}")), number, "{cause}");
        }
        assert_eq!(mine.iter().filter(|row| row.copy > 0).count() as u64, count("duplicates_created"));
    }
}

#[test]
fn a_scenario_without_impairments_is_a_wire_in_both_directions() {
    let folder = TempDir::new().unwrap();
    let arrivals = "time_ns,port,size\n5,a,64\n5,b,1518\n7,a,64\n";
    let emulated = emulate(folder.path(), "", arrivals, "1,2,3,4,5,6");
    let lines: Vec<&str> = emulated.text.lines().skip(1).collect();
    assert_eq!(lines, ["0,0,a,64,5,5,0,sent,0,0", "0,0,b,1518,5,5,0,sent,0,0", "1,0,a,64,7,7,1,sent,0,0"]);
    balances(&emulated);
}

#[test]
fn every_impairment_at_once_is_accounted_for_and_the_seed_replays_it() {
    let folder = TempDir::new().unwrap();
    let scenario = r#"
[a_to_b.loss]
probability = 0.05
[a_to_b.duplicate]
probability = 0.05
delay = "20us"
[a_to_b.reorder]
probability = 0.02
displacement = { model = "uniform", low = 1, high = 3 }
[a_to_b.delay]
fixed = "1ms"
variable = { model = "exponential", mean = "200us" }
order = "independent"
[a_to_b.corrupt]
probability = 0.01
[a_to_b.rate]
limit = "80Mbit"
layer = "l1"
queue = { bytes = "4KiB" }
[b_to_a.loss]
model = "gilbert-elliott"
p = 0.01
r = 0.25
"#;
    let mut arrivals = every(6_720, 20_000, "a");
    arrivals.push_str(every(6_720, 20_000, "b").split_once('\n').unwrap().1);
    let first = emulate(folder.path(), scenario, &arrivals, "1,2,3,4,5,6");
    balances(&first);
    for name in ["corrupted", "reordered", "duplicates_created", "lost/queue", "lost/model"] {
        let number = at(&first.document, &format!("/a_to_b/{name}")).as_u64().unwrap();
        assert!(number > 0, "{name} did not happen");
    }
    assert!(at(&first.document, "/warnings/0/code") == "arrivals-sorted");
    let again = emulate(folder.path(), scenario, &arrivals, "1,2,3,4,5,6");
    assert_eq!(first.text, again.text, "byte for byte");
    let other = emulate(folder.path(), scenario, &arrivals, "1,2,3,4,5,7");
    assert_ne!(first.text, other.text);
    // The other direction's traffic changes nothing here.
    let alone = emulate(folder.path(), scenario, &every(6_720, 20_000, "a"), "1,2,3,4,5,6");
    let of_a: Vec<DepartureRow> = first.rows.into_iter().filter(|row| row.port == "a").collect();
    assert_eq!(of_a, alone.rows);
}

#[test]
fn exact_order_keeps_order_and_distribution_where_fifo_keeps_order_alone() {
    let folder = TempDir::new().unwrap();
    let scenario = |order: &str| {
        format!(
            "[a_to_b.delay]\nfixed=\"1ms\"\norder=\"{order}\"\n\
             variable={{model=\"normal\", mean=\"50us\", stddev=\"10us\"}}\n"
        )
    };
    let arrivals = every(2_000, 100_000, "a");
    let mean = |order: &str| {
        let emulated = emulate(folder.path(), &scenario(order), &arrivals, "1,2,3,4,5,6");
        balances(&emulated);
        let rows = &emulated.rows;
        assert!(rows.iter().all(|row| row.departure.unwrap() >= row.arrival + row.requested.unwrap()));
        let kept = rows.windows(2).all(|pair| pair[0].departure.unwrap() <= pair[1].departure.unwrap());
        let ranks = rows.iter().all(|row| row.rank == Some(row.ordinal));
        assert_eq!((kept, ranks), (order != "independent", order != "independent"));
        let sum: i64 = rows.iter().map(|row| row.departure.unwrap() - row.arrival).sum();
        (sum as f64 / rows.len() as f64, emulated.document)
    };
    // 200 ms hold some 2,000 independent values of deviation 10 us: five deviations of their mean are 1.2 us.
    let (exact, document) = mean("exact");
    assert!((exact - 1_050_000.0).abs() < 1_500.0, "{exact}");
    assert!(at(&document, "/a_to_b/effective_values").as_f64().unwrap() > 300.0);
    assert_eq!(at(&document, "/a_to_b/order_delayed_ratio"), 0.0);
    assert_eq!(at(&document, "/a_to_b/delay_error_ns/max"), 0.0);
    let (fifo, document) = mean("fifo");
    assert!(fifo > 1_055_000.0, "{fifo}");
    assert!(at(&document, "/a_to_b/order_delayed_ratio").as_f64().unwrap() > 0.3);
    assert_eq!(at(&document, "/a_to_b/delay_error_ns/max"), 0.0);
    assert!(at(&document, "/a_to_b/order_wait_ns/max").as_f64().unwrap() > 0.0);
    mean("independent");
}

#[test]
fn a_run_too_short_for_its_delays_says_how_far_off_they_may_be() {
    let folder = TempDir::new().unwrap();
    let scenario = "[a_to_b.delay]\nvariable={model=\"exponential\", mean=\"10ms\"}\n";
    // On for a tenth of a second and off for nine tenths: many packets, few of which have a delay of their own.
    let bursts = |count: i64| {
        let mut arrivals = String::from("time_ns,port,size\n");
        for n in 0..count * 1_000 {
            writeln!(arrivals, "{},a,64", n / 1_000 * 1_000_000_000 + n % 1_000 * 100_000).unwrap();
        }
        arrivals
    };
    // So few that the run does not tell how few.
    let emulated = emulate(folder.path(), scenario, &bursts(5), "1,2,3,4,5,6");
    assert!(at(&emulated.document, "/a_to_b/effective_values").is_null());
    // Packets this close together are warned of on their own account.
    let told = |document: &Value| {
        let notes = at(document, "/warnings").as_array().unwrap().clone();
        notes.into_iter().filter(|note| note["code"] != "variation-limited").collect::<Vec<_>>()
    };
    let notes = told(&emulated.document);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(notes[0]["code"], "correlation-long", "{notes:?}");
    let emulated = emulate(folder.path(), scenario, &bursts(150), "1,2,3,4,5,6");
    let worth = at(&emulated.document, "/a_to_b/effective_values").as_f64().unwrap();
    let notes = told(&emulated.document);
    assert_eq!(notes.len(), 1, "{notes:?}");
    let note = &notes[0];
    assert_eq!((&note["code"], &note["direction"]), (&"few-independent-delays".into(), &"a_to_b".into()));
    assert_eq!((count(note, "/delays"), number(note, "/effective_delays")), (150_000, worth), "{note}");
    // What it says of the deviation holds, and is no empty word.
    let off =
        (at(&emulated.document, "/a_to_b/requested_delay_ns/stddev").as_f64().unwrap() / 1e7 - 1.0).abs();
    let said = number(note, "/deviation_error_ratio");
    assert!((0.1..1.0).contains(&said) && off < 2.5 * said, "{off}: {note}");
    // As many that are as far apart as need be say nothing.
    let apart = emulate(folder.path(), scenario, &every(1_000_000_000, 30_000, "a"), "1,2,3,4,5,6");
    assert_eq!(at(&apart.document, "/warnings").as_array().unwrap().len(), 0, "{:#}", apart.document);
}

#[test]
fn a_packet_that_arrives_is_not_among_those_that_are_held() {
    let folder = TempDir::new().unwrap();
    for (scenario, held) in [("", 0_u32), ("[a_to_b.delay]\nfixed=\"950us\"\n", 9)] {
        let emulated = emulate(folder.path(), scenario, &every(100_000, 1_000, "a"), "1,2,3,4,5,6");
        let [median, most] = ["median", "max"]
            .map(|name| at(&emulated.document, &format!("/a_to_b/queue_depth/{name}")).as_f64());
        let expected = Some(f64::from(held));
        assert_eq!((median, most), (expected, expected), "{scenario:?}");
        // As whoever has the lines finds it: an earlier arrival and a later departure.
        let last = emulated.rows.last().unwrap();
        let before = emulated.rows.iter().filter(|row| row.arrival < last.arrival);
        let counted = before.filter(|row| row.departure.unwrap() > last.arrival).count();
        assert_eq!(counted, usize::try_from(held).unwrap(), "{scenario:?}");
    }
}

#[test]
fn a_trace_is_replayed_packet_by_packet_in_a_circle_for_each_port() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("t.csv"), "1,0,0,0,30000\n2,0,1,0,7\n1,1,0,0,0\n1,0,0,1,5\n").unwrap();
    let scenario = "[trace]\nfile=\"t.csv\"\nformat=\"pham\"\norder=\"independent\"\n";
    let mut arrivals = every(100_000_000, 4, "a");
    arrivals.push_str("300000000,b,64\n");
    let emulated = emulate(folder.path(), scenario, &arrivals, "1,2,3,4,5,6");
    let told: Vec<(u64, u64, String, Option<i64>)> =
        emulated.rows.iter().map(|row| (row.ordinal, row.copy, row.fate.clone(), row.departure)).collect();
    let sent = |ordinal, copy, departure| (ordinal, copy, "sent".to_owned(), Some(departure));
    // The third packet is displaced by one: it leaves after the fourth has gone past, 5 us after it was let on.
    assert_eq!(
        told,
        [
            sent(0, 0, 30_000_000),
            (1, 0, "lost:trace".into(), None),
            sent(2, 0, 300_005_000),
            sent(3, 0, 330_000_000),
            sent(0, 0, 300_007_000),
            sent(0, 1, 300_007_000),
        ]
    );
    balances(&emulated);
}

#[test]
fn delivery_opportunities_carry_1500_octets_each_and_are_wasted_unused() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("t.up"), "1\n1\n5\n").unwrap();
    let scenario = "[a_to_b.trace]\nfile=\"t.up\"\nformat=\"mahimahi\"\n";
    // Two large frames need an opportunity each, and thirty small ones of 46 octets share the next.
    let mut arrivals = String::from("0,a,1518\n0,a,1518\n");
    (0..30).for_each(|_| arrivals.push_str("0,a,64\n"));
    arrivals.push_str("5000001,a,1518\n");
    let emulated = emulate(folder.path(), scenario, &arrivals, "1,2,3,4,5,6");
    let times: Vec<i64> = emulated.rows.iter().map(|row| row.departure.unwrap()).collect();
    assert_eq!(times[..2], [1_000_000, 1_000_000]);
    assert!(times[2..32].iter().all(|time| *time == 5_000_000), "{times:?}");
    assert_eq!(times[32], 6_000_000, "the trace begins again after its last moment");
}

#[test]
fn what_the_command_line_does_to_packets_it_does_in_virtual_time_as_a_file_that_says_the_same() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    fs::write(file("in.csv"), every(100_000, 2_000, "a")).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = process::romer(["emulate", "--offline", "--seed", "1,2,3,4,5,6", "--json"]);
        command.arg(file("out.json")).args(["--force", "--departures", "-", "--arrivals", &file("in.csv")]);
        let rows = rows(&process::run(command.args(arguments)).with_code(0).stdout);
        (rows, serde_json::from_str::<Value>(&fs::read_to_string(file("out.json")).unwrap()).unwrap())
    };
    let (told, document) = run(&["--delay", "7ms", "--loss", "10%", "--rate", "3Mbit"]);
    let lost = told.iter().filter(|row| row.fate == "lost:model").count();
    // Of 2,000 packets 200 are lost: five standard deviations are 67.
    assert!(lost.abs_diff(200) < 67, "{lost}");
    assert!(told.iter().filter_map(|row| row.requested).all(|delay| delay == 7_000_000));
    let pace = told.iter().filter_map(|row| row.departure).collect::<Vec<_>>();
    assert!(pace.windows(2).all(|pair| pair[1] - pair[0] >= 64 * 8_000 / 3), "64 octets at 3 Mbit/s");
    // The document says it as a file would, and that file does the same.
    fs::write(file("s.toml"), at(&document, "/scenario").as_str().unwrap()).unwrap();
    let (again, _) = run(&["--scenario", &file("s.toml")]);
    assert_eq!(again, told);
    // A preset with options: printed, as a file, it does the same.
    let (changed, _) = run(&["--preset", "cable", "--loss", "20%", "--jitter", "1ms"]);
    let printed = ["emulate", "--print-scenario", "--preset", "cable", "--loss", "20%", "--jitter", "1ms"];
    fs::write(file("p.toml"), process::run(&mut process::romer(printed)).with_code(0).stdout).unwrap();
    let (again, _) = run(&["--scenario", &file("p.toml")]);
    assert_eq!(again, changed);
    // Of 2,000 packets 400 are lost: five standard deviations are 89.
    let lost = changed.iter().filter(|row| row.fate == "lost:model").count();
    assert!(lost.abs_diff(400) < 89, "{lost}");
    let (without, _) = run(&["--delay", "1ms"]);
    assert!(without.iter().all(|row| row.departure == Some(row.arrival + 1_000_000)));
}

#[test]
fn presets_run_and_what_cannot_is_told_with_its_place() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    fs::write(file("in.csv"), every(45_000_000, 200, "a")).unwrap();
    let run = |arguments: &[&str], input: &str, out: &str| {
        let mut command = process::romer(["emulate", "--offline", "--arrivals", input, "--departures", out]);
        process::run(command.args(arguments))
    };
    let ended = run(&["--preset", "measured-bluetooth"], &file("in.csv"), "-").with_code(0);
    let delays: Vec<i64> = rows(&ended.stdout).iter().filter_map(|row| row.requested).collect();
    assert_eq!(delays.len(), 200);
    // The sending of 46 octets takes 0.510 ms more; of the source's 42, which make 4.8 ms, 0.466.
    assert!(delays.iter().all(|delay| (delay - 4_334_000) % 10_000_000 == 0), "the card's grid of 10 ms");
    assert!(ended.stderr.contains("seed "), "{}", ended.stderr);
    let presets = process::run(&mut process::romer(["emulate", "--list-presets"])).with_code(0).stdout;
    let row = |name: &str| {
        let line = presets.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("name"), ["name", "delay", "jitter", "loss", "rate", "year", "source"]);
    let wpt = row("wpt-4g");
    let [name, delay, cells @ ..] = &wpt[..] else { panic!("{presets}") };
    assert!(name == "wpt-4g" && delay.starts_with("85."), "{delay}");
    assert_eq!(cells, ["0 ns", "0.0 %", "9 Mbit/s", "2023", "WebPageTest"]);

    fs::write(file("bad.toml"), "[a_to_b.loss]\nprobabilty = 0.1\n").unwrap();
    fs::write(file("bad.csv"), "1,a,64\n2,c,64\n").unwrap();
    for (arguments, input, code, words) in [
        (["--scenario", &file("bad.toml")], "in.csv", 3, "bad.toml:2:1"),
        (["--scenario", &file("none.toml")], "in.csv", 4, "none.toml"),
        (["--scenario", &file("")], "in.csv", 4, "directory"),
        (["--scenario", "/dev/zero"], "in.csv", 4, "regular"),
        (["--preset", "wtp-3g"], "in.csv", 2, "did you mean wpt-3g"),
        (["--preset", "wpt-3g"], "bad.csv", 3, "line 2"),
        (["--preset", "wpt-3g"], "none.csv", 4, "none.csv"),
    ] {
        let ended = run(&arguments, &file(input), "-").with_code(code);
        assert!(ended.stderr.starts_with("error: ") && ended.stderr.contains(words), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
}

#[test]
fn what_a_killed_emulation_kept_is_enough_to_decide_the_same_again_and_may_be_written_over() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name);
    fs::write(file("in.csv"), every(1_000_000, 2_000, "a")).unwrap();
    // Its seed is drawn, and stands nowhere but in what is kept.
    fs::write(file("s.toml"), "[a_to_b.loss]\nmodel = \"bernoulli\"\nprobability = 0.1\n").unwrap();
    let emulate = |arrivals: &str, scenario: &str, out: &str, more: &[&str]| {
        let mut command = process::romer(["emulate", "--offline", "--quiet"]);
        command.arg("--scenario").arg(file(scenario)).arg("--arrivals").arg(file(arrivals));
        command.arg("--out").arg(file(out)).args(more).env("XDG_STATE_HOME", file("state"));
        process::run(&mut command)
    };
    emulate("in.csv", "s.toml", "run", &[]).with_code(0);
    let kept = fs::read_to_string(file("run/samples.csv")).unwrap();
    // A killed one has neither document nor page.
    for name in ["run/emulation.json", "run/report.html"] {
        fs::remove_file(file(name)).unwrap();
    }
    let told = process::run(process::romer(["report"]).arg(file("run"))).with_code(3).stderr;
    assert!(told.starts_with("error: the emulation is running or was killed ("), "{told}");
    emulate("run/samples.csv", "run/scenario.toml", "again", &[]).with_code(0);
    assert!(fs::read_to_string(file("again/samples.csv")).unwrap() == kept, "the seed was kept");
    let refused = emulate("in.csv", "s.toml", "run", &[]).with_code(2).stderr;
    assert!(refused.contains("--force"), "{refused}");
    emulate("in.csv", "s.toml", "run", &["--force"]).with_code(0);
    assert!(file("run/emulation.json").is_file());
}

#[test]
fn a_folder_keeps_samples_results_and_a_page_of_figures_and_is_not_overwritten() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name);
    fs::write(file("in.csv"), every(1_000_000, 3_000, "a")).unwrap();
    let scenario = "seed = [1, 2, 3, 4, 5, 6]\n[a_to_b.loss]\nmodel = \"bernoulli\"\nprobability = 0.05\n\
                    [a_to_b.delay]\nfixed = \"2ms\"\nvariable = { model = \"normal\", mean = \"50us\", stddev = \"10us\" }\n";
    fs::write(file("s.toml"), scenario).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = process::romer(["emulate", "--offline"]);
        command.arg("--scenario").arg(file("s.toml")).arg("--arrivals").arg(file("in.csv"));
        command.arg("--out").arg(file("run")).args(arguments).env("XDG_STATE_HOME", file("state"));
        process::run(&mut command)
    };
    let said = run(&["--departures", "-"]).with_code(0);
    assert!(said.stderr.contains("report.html"), "{}", said.stderr);
    assert_eq!(fs::read_to_string(file("run/samples.csv")).unwrap(), said.stdout);
    let document: Value =
        serde_json::from_str(&fs::read_to_string(file("run/emulation.json")).unwrap()).unwrap();
    schema::assert_valid(&document, "emulation");
    assert_eq!(fs::read_to_string(file("run/scenario.toml")).unwrap(), scenario);
    // `romer report` shows it, and gives each of its files.
    let report =
        |arguments: &[&str]| process::run(process::romer(["report"]).arg(file("run")).args(arguments));
    let shown = report(&["--svg", file("svg").to_str().unwrap()]).with_code(0).stdout;
    assert!(shown.starts_with("a to b: 3000 packets received, ") && shown.contains("report.html"), "{shown}");
    for (flag, name) in [("--html", "report.html"), ("--csv", "samples.csv")] {
        let given = report(&[flag, "-"]).with_code(0).stdout;
        assert!(given == fs::read_to_string(file("run").join(name)).unwrap(), "{name}");
    }
    let given: Value = serde_json::from_str(&report(&["--json", "-"]).with_code(0).stdout).unwrap();
    assert_eq!(given, document);
    assert_eq!(fs::read_dir(file("svg")).unwrap().count(), 13);
    let refused = report(&["--qtcp", "x"]).with_code(2).stderr;
    assert!(refused.starts_with("error: an argument does not apply (--qtcp): "), "{refused}");
    let page = fs::read_to_string(file("run/report.html")).unwrap();
    let figures = [
        "a-to-b-delay-sequence",
        "a-to-b-delay-distribution",
        "a-to-b-delay-gaps",
        "a-to-b-between-packets",
        "a-to-b-between-losses",
        "uniform-run-sequence",
        "uniform-lag",
        "uniform-histogram",
        "uniform-normal-probability",
        "normal-run-sequence",
        "normal-lag",
        "normal-histogram",
        "normal-probability",
    ];
    for figure in figures {
        let svg = fs::read_to_string(file(&format!("run/figures/{figure}.svg"))).unwrap();
        assert!(svg.starts_with("<svg ") && svg.contains("</svg>"), "{figure}");
        assert!(page.contains(&format!("\"name\":\"{figure}\"")), "{figure}");
    }
    assert_eq!(fs::read_dir(file("run/figures")).unwrap().count(), figures.len(), "nothing arrived at b");
    for words in ["Kolmogorov-Smirnov", "Chi-square", "Jarque-Bera", "p = "] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("http://") && !page.contains("https://"), "the page fetches nothing");
    let refused = run(&[]).with_code(2);
    assert!(refused.stderr.contains("it is not empty"), "{}", refused.stderr);
    run(&["--force", "--quiet"]).with_code(0);
    // The console finds it among the runs: once, by a link.
    let listed: Vec<_> =
        fs::read_dir(file("state/romer/runs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert!(listed[0].is_symlink() && listed[0].join("emulation.json").is_file());
    fs::create_dir(file("other")).unwrap();
    fs::write(file("other/letter.txt"), "to a friend").unwrap();
    let mut command = process::romer(["emulate", "--offline", "--force", "--scenario"]);
    command.arg(file("s.toml")).arg("--arrivals").arg(file("in.csv")).arg("--out").arg(file("other"));
    let refused = process::run(&mut command).with_code(2);
    assert!(refused.stderr.contains("contains files that are not of an emulation"), "{}", refused.stderr);
}

#[test]
fn a_capture_arrives_as_it_was_captured_and_its_flows_are_told_apart() {
    use romer_wire::pcapng;
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name);
    let mut capture = Vec::new();
    pcapng::section(&mut capture, "test");
    for port in ["a", "b"] {
        pcapng::interface(&mut capture, pcapng::ETHERNET, port);
    }
    let tagged = |vlan: u8| {
        let mut frame = vec![2; 12];
        frame.extend([0x81, 0, 0, vlan, 0x88, 0xb5]);
        frame.resize(200, 0);
        frame
    };
    let start = 1_700_000_000_000_000_000_u64;
    for number in 0..10_u8 {
        let at = start + u64::from(number) * 1_000_000;
        pcapng::packet(&mut capture, u32::from(number % 2), at, &tagged(1 + number % 5), &[]);
    }
    fs::write(file("in.pcapng"), capture).unwrap();
    let scenario =
        "[[flow]]\nmatch = { vlan = 3 }\na_to_b.delay.fixed = \"7ms\"\nb_to_a.delay.fixed = \"9ms\"\n";
    fs::write(file("s.toml"), scenario).unwrap();
    let mut command = process::romer(["emulate", "--offline", "--departures", "-", "--scenario"]);
    command.arg(file("s.toml")).arg("--arrivals").arg(file("in.pcapng"));
    let said = process::run(&mut command).with_code(0);
    let rows = rows(&said.stdout);
    assert_eq!(rows.len(), 10);
    for (row, number) in rows.iter().zip(0_i64..) {
        assert_eq!(row.arrival, i64::try_from(start).unwrap() + number * 1_000_000);
        assert_eq!(row.port, if number % 2 == 0 { "a" } else { "b" });
        let held = match (number % 5, row.port.as_str()) {
            (2, "a") => 7_000_000,
            (2, _) => 9_000_000,
            _ => 0,
        };
        assert_eq!(row.departure, Some(row.arrival + held), "{row:?}");
    }
    assert!(said.stdout.lines().nth(1).unwrap().contains(",204,"), "the length with its check sequence");
    assert!(!said.stderr.contains("told apart"), "{}", said.stderr);
}

/// A million packets: counts lie within 4.9 standard deviations of what is asked for, beyond which chance goes in one of a million; a mean
/// delay as far as its own.
#[test]
fn of_a_million_packets_shares_and_mean_delay_are_what_is_asked_for() {
    const MANY: f64 = 1e6;
    const FAR: f64 = 4.9;
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name).into_os_string();
    let scenario = r#"
        [a_to_b.loss]
        model = "gilbert-elliott"
        p = "2%"
        r = "30%"
        loss_bad = "50%"
        [a_to_b.duplicate]
        probability = "1%"
        [a_to_b.delay]
        fixed = "5ms"
        variable = { model = "exponential", mean = "1ms" }
    "#;
    fs::write(file("s.toml"), scenario).unwrap();
    fs::write(file("in.csv"), every(10_000_000, 1_000_000, "a")).unwrap();
    let mut command = process::romer(["emulate", "--offline", "--force", "--seed", "21,2,3,4,5,6"]);
    command.arg("--scenario").arg(file("s.toml")).arg("--arrivals").arg(file("in.csv"));
    command.args(["--departures", "/dev/null"]).arg("--json").arg(file("out.json"));
    process::run(&mut command).with_code(0);
    let document: Value = serde_json::from_str(&fs::read_to_string(file("out.json")).unwrap()).unwrap();
    let figure = |place: &str| at(&document, place).as_f64().unwrap();
    // Bad one time in sixteen, and half lost there. The chain forgets 0.32 of its state a packet, so that counts vary by (1 + c) / (1 - c)
    // times as much in what the states make of them.
    let (bad, keeps) = (0.02 / 0.32, 0.68);
    let lost = figure("/a_to_b/lost/model");
    let own = 0.5 * 0.5 * bad;
    let variance = MANY * (own + 0.25 * bad * (1.0 - bad) * (1.0 + keeps) / (1.0 - keeps));
    assert!((lost - MANY * 0.5 * bad).abs() < FAR * variance.sqrt(), "{lost}");
    let copies = figure("/a_to_b/duplicates_created");
    let sent = MANY - lost;
    assert!((copies - 0.01 * sent).abs() < FAR * (0.0099 * sent).sqrt(), "{copies}");
    let mean = figure("/a_to_b/requested_delay_ns/mean");
    assert!((mean - 6e6).abs() < FAR * 1e6 / (sent + copies).sqrt(), "{mean}");
}
