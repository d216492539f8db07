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
         --stream --stream-interval 20ms --out \"$1\"/run --json \"$2\"\ncode=$?\n\
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
        .filter_map(|line| line["kept_sent"].as_u64())
        .max()
        .unwrap();
    assert!((1..PROBES).contains(&acknowledged), "{acknowledged} of {PROBES} probes were kept");
    assert_intact(&path("run"), acknowledged, "what the full disk holds", true);
}
