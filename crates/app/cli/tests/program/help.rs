//! Help, completions, and the list of metrics.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::common::process::{self, romer};

/// Lines that short help has fewer than, at 100 columns.
const SHORT: usize = 50;

fn shown(words: &[&str]) -> String {
    let ended = process::run(&mut romer(words)).with_code(0);
    assert_eq!(ended.stderr, "", "{words:?}");
    ended.stdout
}

/// The commands that a command's short help lists.
fn inner(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| !["Commands:", "Procedures:"].contains(line)).skip(1);
    let rows = lines.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    rows.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Each command explains itself in less than a screen, and at greater length on request, with an example.
#[test]
fn short_help_is_short() {
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    let mut long: Vec<String> = Vec::new();
    let mut seen = 0;
    while let Some(path) = commands.pop() {
        seen += 1;
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        let help = shown(&[&words[..], &["-h"]].concat());
        let lines = help.lines().count();
        if lines >= SHORT {
            long.push(format!("romer {} -h: {lines} lines", path.join(" ")));
        }
        let full = shown(&[&words[..], &["--help"]].concat());
        assert!(full.lines().count() + 2 >= lines, "romer {} --help is shorter", path.join(" "));
        assert!(full.contains("Usage: romer"), "{full}");
        if words.first() != Some(&"help") {
            assert_eq!(shown(&[&["help"], &words[..]].concat()), full);
        }
        for name in inner(&help).into_iter().filter(|name| path.is_empty() || name != "help") {
            commands.push([&path[..], &[name]].concat());
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
    assert!(seen > 25, "{seen} commands");
}

/// Without arguments, romer prints its short help.
#[test]
fn no_arguments_print_help() {
    assert_eq!(shown(&[]), shown(&["-h"]));
}

/// Basics come first in the help of a measurement.
#[test]
fn measure_help_begins_with_basics() {
    let help = shown(&["measure", "-h"]);
    let place = |part: &str| help.find(part).unwrap_or_else(|| panic!("{part}: {help}"));
    let order = [
        "<TARGET>...  ",
        "-c, --count",
        "-i, --interval",
        "-t, --duration",
        "-s, --size",
        "--traffic",
        "--ttl",
    ];
    assert!(order.map(place).is_sorted(), "{help}");
}

/// Each shell has completions, and bash reads its own.
#[test]
fn shells_have_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = shown(&["completions", shell]);
        assert!(script.contains("measure") && script.contains("waiting-time"), "{shell}");
        if shell == "bash" {
            let mut child = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
            assert!(child.wait().unwrap().success());
        }
    }
}

/// The list of metrics has what `--limit` and `--by` take, with aliases.
#[test]
fn metrics_are_listed() {
    let text = shown(&["help", "metrics"]);
    for part in ["  delay_ns.*  ", "  loss.ratio  ", "  voice.mos  ", "  rtt  ", "  throughput_percent  "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let unknown = process::run(&mut romer(["help", "metric"])).with_code(2);
    assert!(unknown.stderr.contains("did you mean `romer help metrics`?"), "{unknown:?}");
}
