//! What the commands give up once they are set up, and the capabilities that suffice for them.

use std::fs;

use serde_json::Value;

use crate::common::lab::{FAR, Lab, kept, may_load_programs};
use crate::common::process::{self, Process};
use crate::common::{at, count};

/// A field of what the kernel reports of every thread of a process.
fn of_threads(process: &Process, field: &str) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{}/task", process.id())).unwrap();
    let value = |thread: fs::DirEntry| {
        // A thread may end meanwhile.
        let status = fs::read_to_string(thread.path().join("status")).ok()?;
        Some(status.lines().find_map(|line| line.strip_prefix(field))?.trim().to_owned())
    };
    threads.filter_map(|thread| value(thread.ok()?)).collect()
}

/// Capabilities by the kernel's numbers.
fn bits(numbers: &[u32]) -> u64 {
    numbers.iter().fold(0, |bits, number| bits | 1 << number)
}

/// Checks that every thread is confined, and has these capabilities at most.
fn check(process: &Process, most: u64) {
    for field in ["NoNewPrivs:", "Seccomp:"] {
        let expected = if field == "Seccomp:" { "2" } else { "1" };
        let values = of_threads(process, field);
        assert!(!values.is_empty() && values.iter().all(|value| value == expected), "{field} {values:?}");
    }
    for field in ["CapPrm:", "CapEff:", "CapInh:", "CapAmb:"] {
        for value in of_threads(process, field) {
            let beyond = u64::from_str_radix(&value, 16).unwrap() & !most;
            assert_eq!(beyond, 0, "{field} {value}");
        }
    }
}

/// All threads of a responder are confined when it says that it responds; with `--no-confine` none is.
#[test]
fn responders_are_confined() {
    let lab = Lab::path();
    let mut responder = lab.respond(&[]);
    let key = responder.line();
    assert!(key.starts_with("key: sha256:"), "{key}");
    let line = responder.line();
    assert!(line.starts_with("confined: capabilities "), "{line}");
    assert!(line.contains("no new privileges, filtered system calls"), "{line}");
    // net_bind_service, net_admin, net_raw, ipc_lock, sys_nice.
    check(&responder, bits(&[10, 12, 13, 14, 23]));
    lab.measure(&["--count", "20", "--interval", "5ms", FAR]);
    responder.signal("INT");
    responder.wait().with_code(130);
    let mut responder = lab.respond(&["--no-confine"]);
    assert!(responder.line().starts_with("key: sha256:"));
    assert_eq!(responder.line(), "not confined (--no-confine)\n");
    assert!(of_threads(&responder, "Seccomp:").iter().all(|value| value == "0"));
    responder.signal("INT");
    responder.wait().with_code(130);
}

/// A measurement is confined before its first probe, and keeps its run and its document.
#[test]
fn measurements_are_confined() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let (mut command, home) = lab.measuring(&["--json-lines", "--json-lines-interval", "100ms", FAR]);
    let document = home.path().join("document.json");
    command.args(["--duration", "1h", "--interval", "5ms", "--json"]).arg(&document);
    let mut measuring = Process::start(&mut command);
    loop {
        let line: Value = serde_json::from_str(&measuring.line()).unwrap();
        if at(&line, "/type") == "interval" {
            break;
        }
    }
    // net_raw, ipc_lock, sys_nice.
    check(&measuring, bits(&[13, 14, 23]));
    measuring.signal("INT");
    measuring.wait().with_code(130);
    assert!(count(&kept(&home), "/round_trip/packets/sent") > 0);
    assert!(document.exists());
}

/// An emulator with XDP sockets takes `bpf` and `ipc_lock` besides.
#[test]
fn stated_capabilities_suffice_for_xdp() {
    if !may_load_programs() {
        return;
    }
    let lab = Lab::path();
    let emulate = |capabilities: &str| {
        let mut command = lab.command("E", "setpriv");
        command
            .arg(format!("--bounding-set=-all,{capabilities}"))
            .args(["--inh-caps=-all", process::PROGRAM]);
        let ports = ["--port", "a=e0", "--port", "b=e1", "--delay", "5ms", "--duration", "1s"];
        command.arg("emulate").args(ports).args(["--data-plane", "xdp", "--quiet"]);
        process::run(&mut command)
    };
    emulate("+net_raw,+net_admin,+bpf,+ipc_lock").with_code(0);
    emulate("+net_raw,+net_admin").with_code(4);
}

/// A measurement takes no capability. An emulator takes `net_raw` and `net_admin`, is confined, and so are its guardians.
#[test]
fn stated_capabilities_suffice() {
    let lab = Lab::path();
    let only = |host: &str, capabilities: &str| {
        let mut command = lab.command(host, "setpriv");
        command.arg(format!("--bounding-set=-all{capabilities}")).args(["--inh-caps=-all", process::PROGRAM]);
        command
    };
    let mut command = only("E", ",+net_raw,+net_admin");
    let ports = ["emulate", "--port", "a=e0", "--port", "b=e1", "--delay", "5ms", "--data-plane", "packet"];
    let mut emulator = Process::start(command.args(ports));
    let line = emulator.line();
    assert!(line.starts_with("emulating: "), "{line:?} {:?}", emulator.wait());
    let mut line = emulator.line();
    while !line.starts_with("confined: ") {
        assert!(!line.is_empty(), "{:?}", emulator.wait());
        line = emulator.line();
    }
    check(&emulator, bits(&[12, 13]));
    let _responder = lab.respond(&[]);
    let home = tempfile::tempdir().unwrap();
    let mut command = only("A", "");
    command.args(["measure", "--count", "20", "--interval", "5ms", "--no-route", "--out"]);
    process::run(command.arg(home.path().join("run")).arg(FAR)).with_code(0);
    assert_eq!(count(&kept(&home), "/round_trip/packets/received"), 20);
    emulator.signal("INT");
    emulator.wait().with_code(130);
}
