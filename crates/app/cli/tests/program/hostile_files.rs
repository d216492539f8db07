//! Files from strangers: what is in them reaches no terminal raw, and links in a folder are not followed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::common::process::{self, romer};

/// Colours text, sets the title of a terminal, clears its screen, and does the same by a single character of eight bits.
const HARMFUL: &str = "\u{1b}[31m\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}2J";

fn assert_harmless(text: &str) {
    let harmful = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    assert_eq!(harmful, None, "{text:?}");
}

/// Keys and values of `.sta` files, as a table for people and as CSV.
#[test]
fn statistics_reach_no_terminal_raw() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.sta"), format!("re{HARMFUL}: 3\nlost: {HARMFUL}\n")).unwrap();
    for more in [&[][..], &["--csv", "-"]] {
        let ended = process::run(romer(["qtcp", "-A"]).arg(folder.path()).args(more)).with_code(0);
        assert!(ended.stdout.contains("[2J"), "{}", ended.stdout);
        assert_harmless(&ended.stdout);
    }
}

/// Keeps an emulation of 20 packets in the folder `run` of `folder`.
fn keep_emulation(folder: &TempDir) {
    let file = |name: &str| folder.path().join(name);
    let arrivals = (0..20)
        .fold(String::from("time_ns,port,size\n"), |text, n| text + &format!("{},a,100\n", n * 1_000_000));
    fs::write(file("in.csv"), arrivals).unwrap();
    fs::write(file("s.toml"), "[a_to_b.delay]\nfixed = \"2ms\"\n").unwrap();
    let mut command = romer(["emulate", "--offline", "--quiet"]);
    command
        .arg("--scenario")
        .arg(file("s.toml"))
        .arg("--arrivals")
        .arg(file("in.csv"))
        .arg("--out")
        .arg(file("run"));
    process::run(command.env("XDG_STATE_HOME", file("state"))).with_code(0);
}

/// The samples, document and page of an emulation that somebody else kept; and links in its folder.
#[test]
fn kept_emulations_are_harmless() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name);
    keep_emulation(&folder);
    let report = |arguments: &[&str]| process::run(romer(["report"]).arg(file("run")).args(arguments));
    let samples = fs::read_to_string(file("run/samples.csv")).unwrap();
    assert_eq!(report(&["--csv", "-"]).with_code(0).stdout, samples, "what is harmless is not changed");
    fs::write(file("run/samples.csv"), format!("{samples}{HARMFUL}\n")).unwrap();
    let shown = report(&["--csv", "-"]).with_code(0).stdout;
    assert!(shown.starts_with(&samples) && shown.ends_with("\\u009b2J\n"), "{shown:?}");
    assert_harmless(&shown);
    fs::write(file("secret"), "of the system").unwrap();
    for (name, flag) in [("samples.csv", "--csv"), ("report.html", "--html")] {
        fs::remove_file(file(&format!("run/{name}"))).unwrap();
        symlink(file("secret"), file(&format!("run/{name}"))).unwrap();
        let refused = report(&[flag, "-"]).with_code(3);
        assert!(
            refused.stderr.contains("symbolic link") && !refused.stdout.contains("of the system"),
            "{}",
            refused.stderr
        );
    }
}

/// `--force` replaces a link and does not follow it; a pipe that nobody reads from is refused at once.
#[test]
fn outputs_follow_no_link() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name);
    keep_emulation(&folder);
    let report = |flag: &str, target: &Path| {
        process::run(romer(["report", "--quiet", "--force", flag]).arg(target).arg(file("run")))
    };
    fs::write(file("victim"), "precious").unwrap();
    for (flag, target) in
        [("--html", "run/page.html"), ("--csv", "run/table.csv"), ("--json", "run/all.json")]
    {
        symlink(file("victim"), file(target)).unwrap();
        report(flag, &file(target)).with_code(0);
        assert!(!file(target).is_symlink() && fs::read(file(target)).unwrap().len() > 100, "{target}");
        assert_eq!(fs::read_to_string(file("victim")).unwrap(), "precious");
    }
    assert!(Command::new("mkfifo").arg(file("run/pipe")).status().unwrap().success());
    let refused = report("--html", &file("run/pipe")).with_code(4);
    assert!(refused.stderr.contains("no process reads from this pipe"), "{}", refused.stderr);
    // The streams of the program itself are written to.
    let samples = fs::read_to_string(file("run/samples.csv")).unwrap();
    assert_eq!(report("--csv", Path::new("/dev/stdout")).with_code(0).stdout, samples);
    report("--csv", Path::new("/dev/null")).with_code(0);
}
