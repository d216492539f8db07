//! What is shown of a measurement, and what is written of the program.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use super::common::lab::{FAR, Lab};
use serde_json::Value;

use super::common::process::{self, romer};
use super::common::{repository, schema};

#[test]
fn many_streams_are_summed_up_in_a_line_each() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let home = tempfile::tempdir().unwrap();
    let mut command = lab.romer("A", ["measure", "--count", "5", "--interval", "20ms", "--out"]);
    let ended = process::run(command.arg(home.path().join("run")).args([FAR; 9])).with_code(0);
    let streams = ended.stdout.lines().filter(|line| line.starts_with(FAR)).count();
    assert_eq!(streams, 9, "{}", ended.stdout);
    assert!(ended.stdout.starts_with("9 streams") && ended.stdout.lines().count() < 16, "{}", ended.stdout);
}

/// What a program draws on a terminal of 40 rows and 120 columns in which `key` is pressed once `awaited` is there, and its exit code.
fn on_a_terminal(command: &Command, awaited: &str, key: &[u8]) -> (String, Option<i32>) {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let line = format!("stty rows 40 cols 120 && exec {}", words.join(" "));
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).env("TERM", "xterm-256color");
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    let mut screen = child.stdout.take().unwrap();
    let (mut drawn, mut piece, mut pressed) = (Vec::new(), [0; 4096], false);
    loop {
        let read = screen.read(&mut piece).unwrap();
        if read == 0 {
            break;
        }
        drawn.extend_from_slice(&piece[..read]);
        if !pressed && String::from_utf8_lossy(&drawn).contains(awaited) {
            keys.write_all(key).unwrap();
            pressed = true;
        }
    }
    (String::from_utf8_lossy(&drawn).into_owned(), child.wait().unwrap().code())
}

#[test]
fn the_whole_terminal_is_taken_and_given_back() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let home = tempfile::tempdir().unwrap();
    let mut command = lab.romer("A", ["measure", FAR, "--tui", "--duration", "1h", "--out"]);
    command.arg(home.path().join("run"));
    let (drawn, code) = on_a_terminal(&command, "q quits", b"q");
    assert_eq!(code, Some(130), "{drawn}");
    let (before, after) = drawn.split_once("\x1b[?1049l").unwrap();
    assert!(before.contains("\x1b[?1049h") && before.contains("round-trip delay"), "{drawn}");
    assert!(after.contains("interrupted by the user") && after.contains("Saved to"), "{drawn}");
    assert!(after.contains("/run/report.html"), "{drawn}");
}

#[test]
fn packets_that_go_one_way_have_their_delays_on_the_terminal_while_they_go() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let home = tempfile::tempdir().unwrap();
    let measured = |options: &[&str], name: &str| {
        let mut command = lab.romer("A", ["measure", FAR, "--duration", "1h", "--out"]);
        command.arg(home.path().join(name)).args(options);
        command
    };
    // A panel that is drawn when there are delays, and not before.
    let command = measured(&["--direction", "both", "--tui"], "drawn");
    let (drawn, code) = on_a_terminal(&command, "p99", b"q");
    assert_eq!(code, Some(130), "{drawn}");
    let command = measured(&["--direction", "forward", "--live-delays"], "line");
    let (drawn, code) = on_a_terminal(&command, "jitter", b"\x03");
    assert_eq!(code, Some(130), "{drawn}");
    assert!(drawn.contains("one-way delay available after the run") && drawn.contains("forward "), "{drawn}");
    for (more, name) in [(&["--live-delays"][..], "told"), (&[], "untold")] {
        let options =
            [&["--direction", "both", "--json-lines", "--interval", "5ms", "--duration", "2s"], more]
                .concat();
        let mut command = lab.romer("A", ["measure", FAR, "--json-lines-interval", "100ms", "--out"]);
        let ended = process::run(command.arg(home.path().join(name)).args(options)).with_code(0);
        let lines: Vec<Value> =
            ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.iter().for_each(|line| schema::assert_valid(line, "stream"));
        let delays = |way: &str| {
            let told = lines
                .iter()
                .filter(|line| line["type"] == "interval" && line[way]["delays"].as_u64() > Some(0));
            let told = told.inspect(|line| assert!(line[way]["delay_median_ns"].is_f64(), "{line}"));
            told.map(|line| line[way]["delays"].as_u64().unwrap()).sum::<u64>()
        };
        for way in ["forward", "reverse"] {
            // Most of the 400; those of the last moments are known when it has ended.
            let expected = if more.is_empty() { 0..=0 } else { 200..=400 };
            assert!(expected.contains(&delays(way)), "{name} {way}: {}", delays(way));
            // Counts are totals since the start, whatever became known within an interval.
            for total in ["sent", "arrived"] {
                let told = lines.iter().filter(|line| line["type"] == "interval");
                let told: Vec<u64> = told.filter_map(|line| line[way][total].as_u64()).collect();
                assert!(told.is_sorted(), "{name} {way} {total}: {told:?}");
                let last = told.last().copied().unwrap_or(0);
                assert!(more.is_empty() || (200..=400).contains(&last), "{name} {way} {total}: {told:?}");
            }
        }
    }
    let ended = process::run(&mut measured(&["--live-delays"], "wrong")).with_code(2);
    assert!(ended.stderr.contains("leave --live-delays out"), "{}", ended.stderr);
}

#[test]
fn the_manual_has_a_page_for_each_command_and_completions_for_each_shell() {
    let folder = tempfile::tempdir().unwrap();
    let ended = process::run(romer(["manual"]).arg(folder.path())).with_code(0);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let help = process::run(&mut romer(["--help"])).with_code(0).stdout;
    assert!(!help.contains("manual"), "it is for whoever packs romer");
    for command in ["measure", "respond", "analyze", "compare", "report", "lab", "demo", "doctor"] {
        assert!(help.contains(command) && text("romer.1").contains(command), "{command}");
        let page = text(&format!("romer-{command}.1"));
        assert!(page.contains(".TH") && page.contains("SYNOPSIS"), "{page}");
    }
    assert!(
        text("romer-measure.1").contains("departure\\-jitter") && text("romer-lab-up.1").contains("prefix")
    );
    // What is published is of this program, and the plans of the documentation are as it says.
    let schema: Value = serde_json::from_str(&text("romer-plan.schema.json")).unwrap();
    let published = repository().join("docs/plan.schema.json");
    if std::env::var_os("ROMER_GOLDEN").is_some() {
        std::fs::write(&published, text("romer-plan.schema.json")).unwrap();
    }
    let published = std::fs::read_to_string(published).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&published).unwrap(), schema, "ROMER_GOLDEN=write renews it");
    let scenario: Value = serde_json::from_str(&text("romer-scenario.schema.json")).unwrap();
    assert!(scenario["properties"].get("a_to_b").is_some(), "{scenario}");
    let documented = std::fs::read_to_string(repository().join("docs/reference/bench-plan.md")).unwrap();
    let plans: Vec<&str> =
        documented.split("```toml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect();
    assert!(!plans.is_empty());
    for plan in plans {
        romer_testing::schema::assert_follows(&toml::from_str(plan).unwrap(), &schema, "plan");
    }
    schema_and_program_take_the_same(&schema);
    for file in ["romer.bash", "_romer", "romer.fish"] {
        assert!(text(file).contains("departure-jitter"), "{file}");
    }
}

/// That the published schema of plans refuses what the program refuses, and nothing else.
fn schema_and_program_take_the_same(schema: &Value) {
    let matches = |pattern: &str, text: &str| {
        let words = ["-c", "printf '%s\\n' \"$2\" | grep -Eq -- \"$1\"", "sh", pattern, text];
        Command::new("sh").args(words).status().unwrap().success()
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.toml");
    for (line, is_taken) in [
        ("expect_vlan = '10=4094'", true),
        ("expect_vlan = '10=4095'", false),
        ("expect_vlan = ['10=20', '10=x']", false),
        ("expect_vlan = ['x:10=untagged']", true),
        ("expect_vlan = 10", false),
        ("expect_priority = '5=8'", false),
        ("expect_priority = '5=07'", true),
        ("expect_ecn = 'ect0=CE'", true),
        ("expect_ecn = 'ect0=ect9'", false),
        ("expect_marking = 'cs0=EF'", true),
        ("expect_marking = 'cs0=63'", true),
        ("expect-marking = ['cs0=64']", false),
        // A number alone may stand in quotes, as the console's page writes it; in a list it may not.
        ("repeat = '3'", true),
        ("repeat = 3", true),
        ("frame_sizes = '64'", true),
        ("frame_sizes = ['64']", false),
        ("frame_sizes = [64, 128]", true),
    ] {
        let plan = format!(
            "procedure = 'load-sweep'\ntx = 'a'\nrx = 'b'\nsource = '198.18.0.2'\ndestination = '198.19.0.2'\n{line}\n\
             [[case]]\nname = 'x'\ncommand = 'true'\n[[stream]]\nvlan = '10'\npcp = 5\necn = 'ect0'\nports = '5001'\n"
        );
        std::fs::write(&file, &plan).unwrap();
        let ended = process::run(romer(["bench"]).arg(&file).arg("--dry-run"));
        let faults = romer_testing::schema::faults(&toml::from_str(&plan).unwrap(), schema, matches);
        assert_eq!(
            (ended.code == Some(0), faults.is_empty()),
            (is_taken, is_taken),
            "{line}: {faults:?} {ended:?}"
        );
    }
}
