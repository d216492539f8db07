//! chronyd states the synchronisation of a host's clock, and romer reads it. chronyd runs in a lab with `-x`, so that it leaves the
//! clock alone.

use std::fs;
use std::path::Path;

use super::common::at;
use super::common::lab::{FAR, Lab, kept};
use super::common::process::{self, Process};

/// Where distributions place it.
const CHRONYD: &str = "/usr/sbin/chronyd";

/// Whether a chronyd runs on this machine already, which romer would see as well.
fn is_running() -> bool {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut names = processes.filter_map(|one| fs::read_to_string(one.path().join("comm")).ok());
    names.any(|name| name.trim_end() == "chronyd")
}

/// chronyd on host A, once it answers; `None` if it is not installed, which CI does not allow.
fn chronyd(lab: &Lab, folder: &Path) -> Option<Process> {
    if !Path::new(CHRONYD).exists() {
        assert!(std::env::var_os("CI").is_none(), "{CHRONYD} is missing; scripts/need chronyd installs it");
        return None;
    }
    let file = |name: &str| folder.join(name).display().to_string();
    let configuration =
        format!("local stratum 8\nbindcmdaddress {}\npidfile {}\n", file("socket"), file("pid"));
    fs::write(folder.join("chrony.conf"), configuration).unwrap();
    let mut command = lab.command("A", CHRONYD);
    command.args(["-x", "-n", "-U", "-u", "root", "-f"]).arg(folder.join("chrony.conf"));
    let mut daemon = Process::start(&mut command);
    let answers = || process::run(lab.command("A", "/usr/bin/chronyc").args(["-n", "-c", "tracking"]));
    while answers().code != Some(0) {
        assert!(daemon.is_running(), "{:?}", daemon.wait());
    }
    Some(daemon)
}

/// The answer of chronyd is in the document, and its end during the run is an event of the host. Its bound of nanoseconds, which
/// grows from answer to answer, is no holdover.
#[test]
fn end_of_chronyd_is_an_event() {
    if is_running() {
        return;
    }
    let lab = Lab::path();
    let folder = tempfile::tempdir().unwrap();
    let Some(daemon) = chronyd(&lab, folder.path()) else { return };
    let _responder = lab.respond(&[]);
    // The daemons are asked every 16 s.
    let arguments = ["--duration", "40s", "--interval", "50ms", "--json-lines", FAR];
    let (mut command, home) = lab.measuring(&arguments);
    let mut measuring = Process::start(&mut command);
    assert!(!measuring.line().is_empty());
    drop(daemon);
    measuring.wait().with_code(0);
    let document = kept(&home);
    assert_eq!(at(&document, "/metadata/clock_sync/chrony/stratum"), 8);
    assert_eq!(at(&document, "/metadata/clock_sync/sync_daemons/0"), "chronyd");
    let events = at(&document, "/events").as_array().unwrap();
    let stopped =
        events.iter().find(|event| event["detail"] == "sync-daemon-stopped").expect("it is an event");
    assert_eq!((&stopped["code"], &stopped["daemon"]), (&"clock-sync-lost".into(), &"chronyd".into()));
    assert_eq!(stopped["location"], "sender");
    assert!(
        events.iter().all(|event| event["detail"] != "holdover"),
        "nothing was wrong before: {events:#?}"
    );
    assert!(at(&document, "/metadata/clock_sync_end/chrony").is_null());
}
