//! Laboratories as their users have them, by `romer lab`: as root named namespaces of the machine, else namespaces
//! of a user namespace that a process holds.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

#[path = "../common/mod.rs"]
mod common;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use common::lab::{self, Lab, Prefix};
use common::process::{self, Ended, Process, romer};
use common::{at, count};

fn lab(arguments: &[&str], prefix: &Prefix) -> Ended {
    process::run(romer(["lab"]).args(arguments).args(["--prefix", prefix.as_str()]))
}

fn names_of_namespaces() -> Vec<String> {
    let Ok(entries) = fs::read_dir("/run/netns") else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The process that holds a laboratory of a user namespace, by what romer has noted.
fn holder(prefix: &Prefix) -> Option<u64> {
    let note = fs::read_to_string(lab::state_folder().join(format!("{}.json", prefix.as_str()))).ok()?;
    serde_json::from_str::<Value>(&note).unwrap().pointer("/holder/process")?.as_u64()
}

fn is_running(process: u64) -> bool {
    // A process that has ended and whose parent has not looked yet has no command line.
    fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// Whether a name belongs to the laboratory of `prefix`, and not to one whose number only begins with the same digits.
fn is_of(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn assert_nothing_left(prefix: &Prefix, holder: Option<u64>) {
    let prefix = prefix.as_str();
    let folder = lab::state_folder();
    let notes = fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().file_name());
    let notes: Vec<_> = notes.filter(|name| is_of(&name.to_string_lossy(), prefix)).collect();
    assert!(notes.is_empty(), "{notes:?}");
    assert_nothing_runs(prefix, holder);
}

fn assert_nothing_runs(prefix: &str, holder: Option<u64>) {
    let left: Vec<String> = names_of_namespaces().into_iter().filter(|name| is_of(name, prefix)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!lab::noted_prefixes().iter().any(|noted| noted == prefix), "{prefix} is still noted");
    assert!(!holder.is_some_and(is_running), "the holder {holder:?} still runs");
}

#[test]
fn a_laboratory_is_put_up_used_and_taken_down_and_nothing_is_left() {
    for (kind, middle) in [("path", "E"), ("router", "R")] {
        let prefix = Prefix::new();
        let up = lab(&["up", kind], &prefix).with_code(0);
        assert_eq!(up.stderr, "");
        assert!(up.stdout.contains(&format!("romer lab down --prefix {}", prefix.as_str())), "{up:?}");
        let holder = holder(&prefix);
        assert_eq!(holder.is_none(), lab::is_root());
        assert!(holder.is_none_or(is_running));
        let mut inside = Vec::new();
        for host in ["A", "B", middle] {
            let mut command = romer(["lab", "run", host, "--prefix", prefix.as_str(), "--", "sh", "-c"]);
            inside.push(Process::start(command.arg("echo here; exec sleep 1000")));
            assert_eq!(inside.last_mut().unwrap().line(), "here\n");
        }
        lab(&["down"], &prefix).with_code(0);
        for process in inside {
            assert_eq!(process.wait().code, None, "a program inside is ended by a signal");
        }
        assert_nothing_left(&prefix, holder);
        let again = lab(&["down"], &prefix).with_code(4);
        assert!(again.stderr.starts_with("error: no lab is up "), "{again:?}");
    }
}

#[test]
fn a_command_on_a_host_has_our_folder_our_input_and_gives_its_exit_code() {
    let lab = Lab::path();
    let folder = tempfile::tempdir().unwrap().path().canonicalize().unwrap();
    fs::create_dir_all(&folder).unwrap();
    let mut command = lab.command("B", "sh");
    command.args(["-c", "pwd; cat; ip -o link; exit 7"]).current_dir(&folder);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"said\n").unwrap();
    let output = child.wait_with_output().unwrap();
    fs::remove_dir(&folder).unwrap();
    assert_eq!(output.status.code(), Some(7));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    assert_eq!((lines.next(), lines.next()), (folder.to_str(), Some("said")));
    assert!(lines.any(|line| line.contains(" t1@")), "{text}");
    let whole_name = format!("{}A", lab.prefix());
    process::run(&mut lab.command(&whole_name, "true")).with_code(0);
    let unknown = process::run(&mut lab.command("R", "true")).with_code(2);
    assert!(unknown.stderr.contains("unknown host (lab run \"R\")"), "{unknown:?}");
    process::run(&mut lab.command("A", "/nonexistent/program")).with_code(4);
}

#[test]
fn a_laboratory_that_is_up_is_not_put_up_again_whichever_kind_is_asked_for() {
    let prefix = Prefix::new();
    lab(&["up", "path"], &prefix).with_code(0);
    for kind in ["path", "router"] {
        let again = lab(&["up", kind], &prefix).with_code(4);
        assert!(again.stderr.starts_with("error: the lab is already up "), "{again:?}");
        assert!(again.stderr.contains("romer lab down") && again.stderr.lines().count() == 1, "{again:?}");
    }
    let mut still = romer(["lab", "run", "E", "--prefix", prefix.as_str(), "--", "true"]);
    process::run(&mut still).with_code(0);
}

#[test]
fn a_namespace_that_is_not_ours_is_neither_used_nor_removed() {
    let prefix = Prefix::new();
    let foreign = format!("{}B", prefix.as_str());
    let made = Command::new("ip").args(["netns", "add", &foreign]).stderr(Stdio::null()).status().unwrap();
    // Names of the machine are root's to give; in a user namespace of our own all are ours.
    assert_eq!(made.success(), lab::is_root());
    if lab::is_root() {
        let up = lab(&["up", "path"], &prefix);
        let down = lab(&["down"], &prefix);
        let still = names_of_namespaces().contains(&foreign);
        assert!(Command::new("ip").args(["netns", "delete", &foreign]).status().unwrap().success());
        assert!(still, "{up:?} {down:?}");
        assert_eq!((up.code, down.code), (Some(4), Some(4)), "{up:?} {down:?}");
        assert!(up.stderr.contains("does not belong to this lab"), "{up:?}");
        assert!(down.stderr.starts_with("error: no lab is up "), "{down:?}");
    }
    assert_nothing_left(&prefix, None);
}

#[test]
fn a_namespace_of_another_in_the_place_of_ours_is_not_removed() {
    let prefix = Prefix::new();
    lab(&["up", "path"], &prefix).with_code(0);
    if !lab::is_root() {
        // Nobody else can put one there.
        return;
    }
    let name = format!("{}A", prefix.as_str());
    let ip = |arguments: &[&str]| assert!(Command::new("ip").args(arguments).status().unwrap().success());
    ip(&["netns", "delete", &name]);
    ip(&["netns", "add", &name]);
    ip(&["-n", &name, "link", "add", "theirs", "type", "bridge"]);
    let [down, up] = [lab(&["down"], &prefix), lab(&["up", "path"], &prefix)];
    let still = names_of_namespaces().contains(&name);
    ip(&["netns", "delete", &name]);
    assert!(still, "{down:?} {up:?}");
    assert_eq!((down.code, up.code), (Some(4), Some(4)), "{down:?} {up:?}");
    assert!(down.stderr.contains("does not belong to this lab"), "{down:?}");
    lab(&["down"], &prefix).with_code(0);
    assert_nothing_left(&prefix, None);
}

/// Draws a number below `bound` by a linear congruence: the same ones at every run.
fn draw(state: &mut u64, bound: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % bound
}

/// A lab killed at any time during `up` is removed by the next `up` or `down`.
#[test]
fn killed_labs_are_removed_by_up_or_down() {
    let prefix = Prefix::new();
    let begin = Instant::now();
    lab(&["up", "router"], &prefix).with_code(0);
    // The kills fall over the whole of it, and a little beyond.
    let whole = u64::try_from(begin.elapsed().as_micros()).unwrap() * 11 / 10;
    lab(&["down"], &prefix).with_code(0);
    let mut state = 1;
    for round in 0..20 {
        let mut up = romer(["lab", "up", "router", "--prefix", prefix.as_str()])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(draw(&mut state, whole)));
        up.kill().unwrap();
        up.wait().unwrap();
        let held = holder(&prefix);
        if round % 2 == 0 {
            let up = lab(&["up", "path"], &prefix);
            let already = up.code == Some(4) && up.stderr.contains("is already up");
            assert!(up.code == Some(0) || already, "round {round}: {up:?}");
            let mut run = romer(["lab", "run", "B", "--prefix", prefix.as_str(), "--", "true"]);
            process::run(&mut run).with_code(0);
        }
        let held_now = holder(&prefix);
        let down = lab(&["down"], &prefix);
        let none = down.code == Some(4) && down.stderr.starts_with("error: no lab is up ");
        assert!(down.code == Some(0) || none, "round {round}: {down:?}");
        assert_nothing_left(&prefix, held);
        assert_nothing_left(&prefix, held_now);
    }
    lab(&["up", "router"], &prefix).with_code(0);
    let held = holder(&prefix);
    lab(&["down"], &prefix).with_code(0);
    assert_nothing_left(&prefix, held);
}

#[test]
fn a_laboratory_whose_holder_was_killed_says_so_and_is_healed_by_up_or_down() {
    let prefix = Prefix::new();
    for heal in ["up", "down"] {
        lab(&["up", "path"], &prefix).with_code(0);
        let Some(holder) = holder(&prefix) else {
            assert!(lab::is_root(), "only root needs no holder");
            return;
        };
        Command::new("sh").args(["-c", &format!("kill -KILL {holder}")]).status().unwrap();
        while is_running(holder) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut run = romer(["lab", "run", "A", "--prefix", prefix.as_str(), "--", "true"]);
        let broken = process::run(&mut run).with_code(4);
        assert!(broken.stderr.contains("is incomplete") && broken.stderr.contains("lab down"), "{broken:?}");
        if heal == "up" {
            lab(&["up", "router"], &prefix).with_code(0);
        }
        lab(&["down"], &prefix).with_code(0);
        assert_nothing_left(&prefix, Some(holder));
    }
}

#[test]
fn a_router_takes_a_hop_and_a_path_none() {
    for (lab, targets, hops) in [
        (Lab::path(), ["198.18.0.3", "2001:2:0:18::3"], 255),
        (Lab::router(), ["198.19.0.2", "2001:2:0:19::2"], 254),
    ] {
        let _responder = lab.respond(&[]);
        for target in targets {
            let document = lab.measure(&["--count", "10", "--interval", "2ms", target]).document();
            for direction in ["forward", "reverse"] {
                assert_eq!(count(&document, &format!("/{direction}/ttl/min")), hops, "{target} {direction}");
                assert_eq!(count(&document, &format!("/{direction}/ttl/max")), hops, "{target} {direction}");
            }
            assert_eq!(at(&document, "/forward/ttl/changes").as_array().unwrap().len(), 0);
        }
    }
}

#[test]
fn the_very_first_packet_of_a_laboratory_arrives() {
    for (kind, targets) in
        [("path", ["198.18.0.3", "2001:2:0:18::3"]), ("router", ["198.19.0.2", "2001:2:0:19::2"])]
    {
        let prefix = Prefix::new();
        lab(&["up", kind], &prefix).with_code(0);
        for target in targets {
            let mut ping = romer(["lab", "run", "A", "--prefix", prefix.as_str(), "--", "ping"]);
            process::run(ping.args(["-n", "-c", "1", "-W", "10", target])).with_code(0);
        }
    }
}

#[test]
fn two_laboratories_do_not_hear_each_other() {
    let (one, other) = (Lab::path(), Lab::path());
    let _responder = one.respond(&[]);
    one.measure(&["--count", "1", lab::FAR]);
    let nobody = other.try_measure(&["--count", "1", "--waiting-time", "100ms", lab::FAR]);
    assert_eq!(nobody.ended.code, Some(5), "{:?}", nobody.ended);
}

#[test]
fn a_prefix_that_cannot_name_a_namespace_is_refused_before_anything_is_made() {
    for bad in ["", "a/b", "../x", "-x", "a b", &"x".repeat(65)] {
        let mut up = romer(["lab", "up", "path"]);
        let ended = process::run(up.arg(format!("--prefix={bad}"))).with_code(2);
        assert!(ended.stderr.starts_with("error: ") && ended.stderr.lines().count() == 1, "{ended:?}");
    }
    let notes: Vec<PathBuf> = fs::read_dir(lab::state_folder())
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("xxxx"))
        .collect();
    assert!(notes.is_empty(), "{notes:?}");
}
