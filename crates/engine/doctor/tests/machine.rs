//! What holds of the doctor on any machine, for root and for others alike.
//!
//! It has a `main` of its own because it is also the program that the doctor starts as a probe, which must not have
//! threads, as the harness of `cargo test` has.

#![expect(clippy::print_stdout, reason = "a test program tells what it tests")]

use std::process::ExitCode;

use romer_doctor::{DoctorOptions, PROBE_ARGUMENT, examine, probe_main};
use romer_record::doctor::{CheckVerdict, Doctor, DoctorCheck, DoctorFix, ExplainedFinding};
use romer_report::doctor::{document, text};
use romer_report::text::TextStyle;
use romer_units::Duration;

/// The codes of the findings, in their order.
const CODES: [&str; 30] = [
    "kernel-stamps",
    "stolen-time",
    "pacing",
    "clock-sync",
    "clock-source",
    "receive-buffer",
    "port-862",
    "port-8862",
    "run-folder",
    "lab",
    "privileges",
    "nic-stamps",
    "offloads",
    "interrupt-coalescing",
    "interrupts",
    "rp-filter",
    "path-mtu",
    "conntrack",
    "cores",
    "affinity",
    "real-time",
    "locked-memory",
    "idle-states",
    "packet-access",
    "xdp-modes",
    "in-packet-stamps",
    "veth",
    "time-namespace",
    "confinement",
    "kernel",
];

type Claim = (&'static str, fn(&Doctor));

const CLAIMS: [Claim; 6] = [
    ("every finding is there, in its place", every_finding_is_there),
    ("every finding has its consequence and, unless it is good, its fix", every_finding_is_complete),
    ("the document is that of the schema", the_document_is_that_of_the_schema),
    ("the laboratory is tried, not guessed", the_laboratory_is_tried),
    ("nothing is left on this machine", nothing_is_left),
    ("no line is wider than the terminal unless it is one word", no_line_is_too_wide),
];

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(PROBE_ARGUMENT) {
        return probe_main();
    }
    let show = std::env::args().any(|argument| argument == "--show");
    let short = DoctorOptions {
        datagrams: 50,
        watch: Duration::from_millis(50),
        program: None,
        runs: Some(std::env::temp_dir()),
    };
    let doctor = document(examine(&if show { DoctorOptions::default() } else { short }));
    if show {
        let style = TextStyle { color: false, unicode: true, width: 80 };
        println!("{}", text(&doctor, &style));
    }
    for (name, claim) in CLAIMS {
        println!("test {name}");
        claim(&doctor);
    }
    ExitCode::SUCCESS
}

fn every_finding_is_there(doctor: &Doctor) {
    let codes: Vec<String> = doctor.findings.iter().map(|one| one.finding.check.code()).collect();
    assert_eq!(codes, CODES);
}

fn every_finding_is_complete(doctor: &Doctor) {
    for one in &doctor.findings {
        let ExplainedFinding { finding, text } = one;
        assert!(is_sentence(&text.observed) && is_sentence(&text.consequence), "{one:?}");
        assert_eq!(finding.fix.is_some(), finding.verdict != CheckVerdict::Good, "{one:?}");
        assert_eq!(finding.fix.is_some(), text.fix.is_some(), "{one:?}");
        match (&finding.fix, &text.fix) {
            (Some(DoctorFix::Command { command }), _) => assert!(is_command(command), "{one:?}"),
            (_, fix) => assert!(fix.as_deref().is_none_or(is_sentence), "{one:?}"),
        }
    }
}

fn is_sentence(text: &str) -> bool {
    // The program's own name is written small wherever it stands.
    text.ends_with('.') && (text.starts_with(char::is_uppercase) || text.starts_with("romer"))
}

fn is_command(text: &str) -> bool {
    let known = [
        "sudo ",
        "romer ",
        "echo ",
        "setcap ",
        "sysctl ",
        "ethtool ",
        "ip ",
        "timedatectl ",
        "apt-get ",
        "modprobe ",
        "exec ",
    ];
    !text.ends_with('.') && known.iter().any(|word| text.starts_with(word))
}

/// Against the schema that users are given.
fn the_document_is_that_of_the_schema(doctor: &Doctor) {
    let json = serde_json::to_value(doctor).expect("a document");
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/schema/doctor.json");
    let schema: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(schema).expect("the schema")).expect("JSON");
    romer_testing::schema::assert_follows(&json, &schema, "doctor");
    assert_eq!(json["schema"], "romer/doctor/1");
    let again: Doctor = serde_json::from_value(json).expect("the same document");
    assert_eq!(&again, doctor);
}

fn the_laboratory_is_tried(doctor: &Doctor) {
    let mut checks = doctor.findings.iter().map(|one| &one.finding.check);
    assert!(checks.any(|check| matches!(check, DoctorCheck::Lab { tried: Some(_), .. })), "{doctor:?}");
}

fn nothing_is_left(_: &Doctor) {
    let own = format!("romer-doctor-{}", std::process::id());
    assert!(!romer_host::netns::exists(&own).expect("the folder can be searched"));
}

fn no_line_is_too_wide(doctor: &Doctor) {
    for width in [40, 50, 69, 70, 80, 200] {
        let shown = text(doctor, &TextStyle { color: false, unicode: false, width });
        for line in shown.lines().filter(|line| line.chars().count() > width) {
            let words =
                line.trim_end_matches(" \\").trim_start_matches(['$', '>', ' ']).split_whitespace().count();
            assert!(words == 1, "{width}: {line:?}");
        }
    }
}
