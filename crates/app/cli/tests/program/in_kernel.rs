//! The reflector in the kernel: what it answers and what it leaves to the responder, and that it ends with its process.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::lab::{FAR, FAR_V6, Lab, may_load_programs};
use crate::common::process::{self, Process};
use crate::common::{at, count, schema};

/// Kills after which the interface is looked at.
const KILLS: usize = 30;

fn listen() -> Vec<String> {
    vec![
        "--listen".into(),
        format!("{FAR}:862"),
        "--listen".into(),
        format!("[{FAR_V6}]:862"),
        "--in-kernel".into(),
    ]
}

/// A responder on host B with a reflector in the kernel, and the interface that this is attached to.
fn respond(lab: &Lab, options: &[&str]) -> (Process, String) {
    let listen = listen();
    let arguments: Vec<&str> = listen.iter().map(String::as_str).chain(options.iter().copied()).collect();
    let mut responder = lab.respond(&arguments);
    let line = responder.line();
    let interface = line.strip_prefix("reflecting in the kernel: ").and_then(|rest| rest.split(' ').next());
    let interface = interface.unwrap_or_else(|| panic!("{line:?}")).to_owned();
    assert!(line.ends_with("(xdp-native)\n") || line.ends_with("(xdp-generic)\n"), "{line:?}");
    (responder, interface)
}

/// Whether iproute2 shows a program on the interface of host B.
fn has_program(lab: &Lab, interface: &str) -> bool {
    let show = ["link", "show", "dev", interface];
    process::run(lab.command("B", "ip").args(show)).with_code(0).stdout.contains("prog/xdp")
}

/// Round trips without a session are reflected in the kernel, and their document has the reply's stamps. Sessions get the log
/// of the responder as without the option.
#[test]
fn sessions_are_left_to_the_responder() {
    if !may_load_programs() {
        return;
    }
    let lab = Lab::path();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("totals.json");
    let (responder, _) = respond(&lab, &["--json", file.to_str().unwrap()]);
    for target in [FAR, FAR_V6] {
        let document =
            lab.measure(&["--stamp-only", "--count", "200", "--interval", "1ms", target]).document();
        assert_eq!(count(&document, "/round_trip/packets/received"), 200, "{document:#}");
        let document = lab.measure(&["--count", "100", "--interval", "1ms", target]).document();
        assert_eq!(count(&document, "/forward/packets/received"), 100, "{document:#}");
        assert_eq!(at(&document, "/responder_log_complete"), true, "{document:#}");
    }
    responder.signal("TERM");
    let ended = responder.wait();
    assert!(ended.stderr.contains("reflected in the kernel"), "{ended:?}");
    let totals: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    schema::assert_valid(&totals, "respond");
    assert!(count(&totals, "/in_kernel/sent") >= 400, "{totals:#}");
    assert_eq!(at(&totals, "/in_kernel/stamps"), "program");
    assert!(count(&totals, "/replies/sent") >= 200, "{totals:#}");
}

/// After SIGKILL no program is attached to the interface.
#[test]
fn killed_responders_leave_no_program() {
    if !may_load_programs() {
        return;
    }
    let lab = Lab::path();
    for kill in 0..KILLS {
        let (responder, interface) = respond(&lab, &[]);
        assert!(has_program(&lab, &interface), "kill {kill}");
        responder.signal("KILL");
        responder.wait();
        // The kernel may remove it a moment after the process.
        let deadline = Instant::now() + Duration::from_secs(60);
        while has_program(&lab, &interface) {
            assert!(Instant::now() < deadline, "kill {kill}");
        }
    }
}

/// Without the rights of the machine, the error names them.
#[test]
fn missing_rights_state_the_remedy() {
    if may_load_programs() {
        return;
    }
    let lab = Lab::path();
    let ended = process::run(lab.romer("B", ["respond"]).args(listen())).with_code(4);
    assert!(ended.stderr.contains("CAP_BPF"), "{ended:?}");
}
