//! Other implementations: scapy builds STAMP requests and reads romer's replies; stamp-suite measures romer, and is
//! measured by it ([`stamp_suite`]); both do so with the reflector in the kernel ([`in_kernel`]). tshark reads its RSVP messages ([`rsvp`]). romer reads the answers of chronyd ([`chrony`]).
//!
//! All read RFC 8762 and RFC 8972 for themselves, so that they agree with more than with each other.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

mod chrony;
#[path = "../common/mod.rs"]
mod common;
mod in_kernel;
mod packets;
mod relay;
mod rsvp;
mod stamp_suite;

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use common::process::{self, Process, romer};
use common::{at, count};

/// The kernel's stamps and Python's are read from one clock; NTP's fraction of a second is cut to 0.23 ns.
const ROUNDING_NS: i128 = 2;

/// The Python that has scapy.
fn python() -> PathBuf {
    let made = process::run(&mut Command::new(common::repository().join("scripts/venv")));
    assert_eq!(made.code, Some(0), "scripts/venv: {made:?}");
    common::repository().join(".tools/venv/bin/python")
}

/// A responder at any free ports of loopback, and the port of its reflector.
fn respond(address: &str, arguments: &[&str]) -> (Process, String) {
    let any = format!("{address}:0");
    let mut command = romer(["respond", "--listen", &any, "--control", &any]);
    let mut responder = Process::start(command.args(arguments));
    let line = responder.line();
    let rest = line
        .strip_prefix(&format!("responding: test packets at UDP {address}:"))
        .unwrap_or_else(|| panic!("{line:?}"));
    let port = rest.split(',').next().unwrap().to_owned();
    (responder, port)
}

fn octets(exchange: &Value, name: &str) -> Vec<u8> {
    let digits = at(exchange, name).as_str().unwrap().as_bytes();
    digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Nanoseconds since 1970 of eight octets: NTP's format (RFC 5905 section 6), or PTP's (RFC 8186 section 2.1).
fn nanos(octets: &[u8], ptp: bool) -> i128 {
    let word = |at: usize| i128::from(u32::from_be_bytes(octets[at..at + 4].try_into().unwrap()));
    if ptp {
        return word(0) * 1_000_000_000 + word(4);
    }
    (word(0) - 2_208_988_800) * 1_000_000_000 + ((word(4) * 1_000_000_000) >> 32)
}

fn assert_answered(exchange: &Value) {
    let name = at(exchange, "/case").as_str().unwrap();
    let (request, reply) = (at(exchange, "/request"), at(exchange, "/reply"));
    assert_eq!(at(exchange, "/from"), true, "{name}: from where it was sent to");
    // RFC 8762 section 4.3: a stateless reflector copies the number; RFC 8972 section 3: and the session's.
    assert_eq!(at(reply, "/seq"), at(request, "/seq"), "{name}");
    assert_eq!(at(reply, "/seq_sender"), at(request, "/seq"), "{name}");
    assert_eq!(at(reply, "/ssid"), at(request, "/ssid"), "{name}");
    assert_eq!(at(reply, "/err_estimate_sender"), at(request, "/err_estimate"), "{name}");
    assert_eq!((at(reply, "/mbz1"), at(reply, "/mbz2")), (&json!(0), &json!(0)), "{name}");
    assert_eq!(at(reply, "/ttl_sender"), 77, "{name}");
    // RFC 4656 section 4.1.2: a multiplier of 0 would be no estimate.
    assert!(count(reply, "/err_estimate/multiplier") > 0, "{name}");

    let [sent, received] = ["/request_octets", "/reply_octets"].map(|name| octets(exchange, name));
    assert_eq!(received.len(), sent.len(), "{name}: section 4.3, symmetrical");
    assert_eq!(received[28..36], sent[4..12], "{name}: the sender's time, bit by bit");
    let ours = at(reply, "/err_estimate/z") == 1;
    let [t2, t3] = [16..24, 4..12].map(|place| nanos(&received[place], ours));
    let moment = |pointer| i128::from(at(exchange, pointer).as_i64().unwrap());
    assert!(t2 <= t3, "{name}: arrived at {t2}, left at {t3}");
    assert!(moment("/before_ns") - ROUNDING_NS <= t2, "{name}: {t2} is before {exchange}");
    assert!(t3 <= moment("/after_ns") + ROUNDING_NS, "{name}: {t3} is after {exchange}");
}

/// scapy's series of requests to the reflector at `address` and `port`, by `python`: each reply has what was sent and the times of the
/// reflector.
fn assert_scapy_reads_replies(python: &mut Command, address: &str, port: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/exchange.py");
    // scapy keeps its settings at home.
    let home = tempfile::tempdir().unwrap();
    python.arg("-B").arg(script).args([address, port]).env("HOME", home.path()).env_remove("XDG_CONFIG_HOME");
    let ended = process::run(python).with_code(0);
    let exchanges: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = exchanges.iter().map(|one| at(one, "/case").as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "plain",
            "numbered",
            "session",
            "synchronised",
            "ptp",
            "padded with zeros",
            "padded by a TLV",
            "largest"
        ]
    );
    exchanges.iter().for_each(assert_answered);
    let sent =
        |name| octets(exchanges.iter().find(|one| at(one, "/case") == name).unwrap(), "/request_octets");
    assert_eq!([sent("plain").len(), sent("padded by a TLV").len()], [44, 144]);
    assert_eq!(sent("ptp")[12] & 0x40, 0x40, "scapy has set Z");
}

#[test]
fn scapy_reads_in_each_reply_what_it_asked_and_the_reflectors_times() {
    let python = python();
    for address in ["127.0.0.1", "[::1]"] {
        let (_responder, port) = respond(address, &[]);
        let bare = address.trim_matches(['[', ']']);
        assert_scapy_reads_replies(&mut Command::new(&python), bare, &port);
    }
}
