//! A disk that fills up while measuring: a small tmpfs in a mount namespace of our own.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{at, count, lab, process, schema};
use crate::{assert_intact, responder};

/// Probes of the measurement; their log is several times as large as the disk.
const PROBES: u64 = 2_000;
/// Octets of the disk.
const DISK: u32 = 96 << 10;

/// `script` where a disk of [`DISK`] octets is mounted at `$1`; it sees the program as `$0`.
fn with_small_disk(script: &str, arguments: &[&Path]) -> process::Ended {
    let mut command = Command::new("unshare");
    if !lab::is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    let script = format!("mount -t tmpfs -o size={DISK} tmpfs \"$1\"\n{script}");
    command.args(["--mount", "--propagation", "private", "sh", "-euc", &script, process::PROGRAM]);
    process::run(command.args(arguments))
}

#[test]
fn a_disk_that_fills_up_ends_neither_the_measurement_nor_what_was_acknowledged() {
    let (_responder, there) = responder();
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    fs::create_dir(path("disk")).unwrap();
    // What is on the disk is brought away before the disk goes.
    let script = format!(
        "set +e\n\"$0\" measure {there} --count {PROBES} --interval 500us --waiting-time 100ms --quiet \\\n\
         --json-lines --json-lines-interval 20ms --out \"$1\"/run --json \"$2\"\ncode=$?\n\
         set -e\ncp -r \"$1\"/run \"$3\"\nexit $code"
    );
    let ended = with_small_disk(&script, &[&path("disk"), &path("document.json"), &path("run")]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended.stderr.starts_with("error: ") && ended.stderr.contains("No space left"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("disk/run") && ended.stderr.contains("free some space"),
        "{}",
        ended.stderr
    );
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);

    let document = serde_json::from_slice(&fs::read(path("document.json")).unwrap()).unwrap();
    schema::assert_valid(&document, "measurement");
    assert_eq!(count(&document, "/round_trip/packets/sent"), PROBES, "the measurement went on to its end");
    assert_eq!(at(&document, "/partial"), false);

    let acknowledged = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter_map(|line| line["durable_sent"].as_u64())
        .max()
        .unwrap();
    assert!((1..PROBES).contains(&acknowledged), "{acknowledged} of {PROBES} probes were kept");
    assert_intact(&path("run"), acknowledged, "what the full disk holds", true);
}

#[test]
fn what_could_be_converted_before_the_disk_was_full_stays_beside_the_raw_file() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    fs::create_dir(path("disk")).unwrap();
    // Three fifths of the disk: there is no room for as much again.
    let line = |n: u32| format!("{}:{}:30:64:{n}\n", 1_000_000 + n * 200_000, 1_000_030 + n * 200_000);
    let raw: String = (0..).map(line).take(2_000).collect();
    fs::write(path("a.raw"), &raw).unwrap();
    let script = "cp \"$2\" \"$1\"/a.raw\nset +e\n\"$0\" qtcp -F \"$1\"/a -k 0\ncode=$?\nset -e\n\
                  test ! -e \"$1\"/a.log\ncmp \"$2\" \"$1\"/a.raw\ncp \"$1\"/a.log.partial \"$3\"\nexit $code";
    let ended = with_small_disk(script, &[&path("disk"), &path("a.raw"), &path("partial")]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains("No space left") && ended.stderr.contains("a.log.partial"), "{ended:?}");
    let partial = fs::read_to_string(path("partial")).unwrap();
    assert!(
        partial.starts_with("0:0:0:64:0\n200000:200000:0:64:1\n") && partial.len() < raw.len(),
        "{partial}"
    );
}
