//! stamp-suite, a sender and reflector of STAMP that others wrote, against romer's, with a relay between whose delays
//! are known.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::common::process::{self, Process, romer};
use crate::common::{at, count, number, repository};
use crate::relay::{Crossing, Relay};
use crate::{ROUNDING_NS, respond};

/// How long the relay holds datagrams there and back.
const HOLDS: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(30)];
const PROBES: u64 = 20;
/// The same key for both, as both read it from a file: 32 octets in hex.
const KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// The program, built where it is not there. Tests that run side by side wait for the one that builds it.
pub(crate) fn stamp_suite() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let made = process::run(&mut Command::new(repository().join("scripts/peers")));
        assert_eq!(made.code, Some(0), "scripts/peers: {made:?}");
        repository().join(".tools/bin/stamp-suite")
    })
}

fn key_file(folder: &Path) -> PathBuf {
    let path = folder.join("key");
    fs::write(&path, KEY).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// A socket address that no other process of this host has: loopback has one for each number of a process.
fn own_address(port: u16) -> SocketAddr {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    (Ipv4Addr::new(127, 64 + (high & 0x3f), middle, low), port).into()
}

/// Waits until somebody receives there.
fn await_bound(address: SocketAddr) {
    let SocketAddr::V4(v4) = address else { panic!("{address}") };
    let entry = format!(" {:08X}:{:04X} ", u32::from_le_bytes(v4.ip().octets()), v4.port());
    let bound = (0..6_000).any(|_| {
        thread::sleep(Duration::from_millis(10));
        fs::read_to_string("/proc/net/udp").unwrap().contains(&entry)
    });
    assert!(bound, "nobody receives at {address}");
}

fn millis(hold: Duration) -> f64 {
    hold.as_secs_f64() * 1e3
}

/// stamp-suite measures romer through the relay; gives what it found.
fn measured_by_stamp_suite(responder: &[&str], sender: &[&str]) -> Value {
    let program = stamp_suite();
    let (_responder, port) = respond("127.0.0.1", responder);
    let relay = Relay::start(format!("127.0.0.1:{port}").parse().unwrap(), HOLDS);
    let mut command = Command::new(program);
    command
        .args(["-r", "127.0.0.1", "-S", "127.0.0.1", "-p", &relay.address().port().to_string()])
        .args(["-c", &PROBES.to_string(), "-d", "10", "-L", "30", "--ssid", "77", "--output-format", "json"])
        .args(["--cos", "--dscp", "46", "--timestamp-info", "--direct-measurement", "--follow-up-telemetry"])
        .args(sender);
    let found = process::run(&mut command).with_code(0).document();
    let crossings = relay.finish();
    assert_eq!(crossings.map(|way| way.len()), [20, 20], "each request one reply: {found:#}");
    found
}

fn assert_measured_well(found: &Value) {
    assert_eq!(count(found, "/packets_sent"), PROBES);
    assert_eq!(count(found, "/packets_received"), PROBES);
    assert!(number(found, "/min_rtt_ms") >= millis(HOLDS[0] + HOLDS[1]), "{found:#}");
    assert!(number(found, "/owd/forward_min_ms") >= millis(HOLDS[0]), "{found:#}");
    assert!(number(found, "/owd/reverse_min_ms") >= millis(HOLDS[1]), "{found:#}");
    assert_eq!(count(found, "/measurements/last_reflector_sequence"), PROBES - 1, "counted by itself");
    for fault in ["rejected_replies", "flags/unrecognized", "flags/malformed", "flags/integrity_failed"] {
        assert_eq!(count(found, &format!("/measurements/tlv_validation/{fault}")), 0, "{fault}: {found:#}");
    }
    let counted = at(found, "/measurements/direct_measurement");
    assert_eq!(count(counted, "/observations"), PROBES);
    assert_eq!((count(counted, "/forward_missing"), count(counted, "/reverse_missing")), (0, 0));
    let told = at(found, "/measurements/follow_up");
    assert_eq!((count(told, "/observations"), count(told, "/unmatched")), (PROBES, 0));
    assert!(count(told, "/matched") > 0, "{told:#}");
    assert!(number(told, "/reverse_delay/min_ms") >= millis(HOLDS[1]), "{told:#}");
}

#[test]
fn stamp_suite_finds_the_relays_delays_and_what_it_asks_of_romer() {
    let found = measured_by_stamp_suite(&["--stateful"], &["--extra-padding", "40"]);
    assert_measured_well(&found);
    assert_eq!(count(&found, "/measurements/tlv_validation/observed_tlvs"), 5 * PROBES);
}

#[test]
fn stamp_suite_finds_the_same_in_an_authenticated_test_and_verifies_every_code() {
    let home = tempfile::tempdir().unwrap();
    let key = key_file(home.path());
    let key = key.to_str().unwrap();
    let found =
        measured_by_stamp_suite(&["--stateful", "--key-file", key], &["-A", "A", "--hmac-key-file", key]);
    assert_measured_well(&found);
    assert_eq!(count(&found, "/measurements/tlv_validation/hmac/verified"), PROBES);
}

/// romer measures stamp-suite through the relay; each packet's stamps must enclose its crossings.
fn measure_stamp_suite(port: u16, reflector: &[&str], sender: &[&str]) {
    let (program, target) = (stamp_suite(), own_address(port));
    let _reflector = Process::start(
        Command::new(program)
            .args(["-i", "-S", &target.ip().to_string(), "-o", &port.to_string()])
            .args(reflector)
            .stderr(Stdio::null()),
    );
    await_bound(target);
    let relay = Relay::start(target, HOLDS);
    let home = tempfile::tempdir().unwrap();
    let run = home.path().join("run");
    let mut command = romer(["measure", &relay.address().to_string(), "--stamp-only", "--json", "-"]);
    command
        .args(["--no-route", "--count", &PROBES.to_string(), "--interval", "10ms"])
        .args(["--waiting-time", "30s", "--out"])
        .arg(&run)
        .args(sender);
    let found = process::run(&mut command).with_code(0).document();
    let [there, back] = relay.finish();
    assert_eq!(count(&found, "/round_trip/packets/received"), PROBES);
    let least = i32::try_from((HOLDS[0] + HOLDS[1]).as_nanos()).unwrap();
    assert!(number(&found, "/round_trip/delay_ns/min") >= f64::from(least), "{found:#}");

    let mut command = romer(["report", "--quiet", "--csv", "-"]);
    let table = process::run(command.arg(&run)).with_code(0).stdout;
    let mut rows = 0;
    for line in table.lines().skip(1) {
        let fields: Vec<i128> = line.split(',').take(6).map(|field| field.parse().unwrap()).collect();
        let [sequence, _, t1, t2, t3, t4] = fields[..] else { panic!("{line}") };
        let crossing = |way: &[Crossing]| {
            let mut found = way.iter().filter(|one| i128::from(one.sequence()) == sequence);
            found.next().cloned().unwrap_or_else(|| panic!("{sequence} has not crossed"))
        };
        let (there, back) = (crossing(&there), crossing(&back));
        for (earlier, later) in
            [(t1, there.came), (there.left, t2), (t2, t3), (t3, back.came), (back.left, t4)]
        {
            assert!(earlier <= later + ROUNDING_NS, "{line}: {there:?} {back:?}");
        }
        rows += 1;
    }
    assert_eq!(rows, PROBES);
}

#[test]
fn romers_stamps_of_stamp_suites_reflections_enclose_what_the_relay_saw() {
    measure_stamp_suite(8_620, &[], &[]);
}

#[test]
fn romer_measures_an_authenticated_reflector_of_others_alike() {
    let home = tempfile::tempdir().unwrap();
    let key = key_file(home.path());
    let key = key.to_str().unwrap();
    measure_stamp_suite(8_621, &["-A", "A", "--hmac-key-file", key], &["--key-file", key]);
}

/// The probes, and by stamp-suite's own numbers the replies, that the relay loses.
const LOST_THERE: [u64; 4] = [2, 7, 8, 13];
const LOST_BACK: [u64; 2] = [3, 8];

#[test]
fn the_numbers_of_a_stateful_reflector_of_others_tell_on_which_way_probes_were_lost() {
    let (program, target) = (stamp_suite(), own_address(8_622));
    let _reflector = Process::start(
        Command::new(program)
            .args(["-i", "--stateful-reflector", "-S", &target.ip().to_string(), "-o", "8622"])
            .stderr(Stdio::null()),
    );
    await_bound(target);
    let loses =
        |there, number| if there { LOST_THERE.contains(&number) } else { LOST_BACK.contains(&number) };
    let relay = Relay::losing(target, HOLDS, loses);
    let home = tempfile::tempdir().unwrap();
    let run = home.path().join("run");
    let mut command = romer(["measure", &relay.address().to_string(), "--stamp-only", "--json", "-"]);
    command
        .args(["--no-route", "--count", &PROBES.to_string(), "--interval", "10ms"])
        .args(["--waiting-time", "2s", "--out"])
        .arg(&run);
    let found = process::run(&mut command).with_code(0).document();
    let [there, back] = relay.finish();
    assert_eq!([there.len(), back.len()], [16, 14], "what the relay let pass");
    assert_eq!(
        [count(&found, "/forward/packets/lost"), count(&found, "/reverse/packets/lost")],
        [4, 2],
        "{found:#}"
    );
    assert_eq!(count(&found, "/reverse/packets/sent"), 16);

    let mut command = romer(["report", "--quiet", "--csv", "-", "--fates"]);
    let table = process::run(command.arg(&run)).with_code(0).stdout;
    let fates: Vec<&str> = table.lines().skip(1).map(|line| line.rsplit(',').next().unwrap()).collect();
    let crossed = |way: &[Crossing], at: usize, probe: u64| {
        let number = |one: &Crossing| u32::from_be_bytes(one.payload[at..at + 4].try_into().unwrap());
        way.iter().any(|one| u64::from(number(one)) == probe)
    };
    for (fate, probe) in fates.iter().zip(0..) {
        // A reply has the probe's number behind its own and four stamps.
        let truth = match (crossed(&there, 0, probe), crossed(&back, 24, probe)) {
            (true, true) => "arrived",
            (true, false) => "lost-reverse",
            (false, _) => "lost-forward",
        };
        assert_eq!(*fate, truth, "{probe}: {fates:?}");
    }
}
