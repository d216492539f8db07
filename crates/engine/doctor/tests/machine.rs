//! What holds of the doctor on any machine, for root and for others alike.
//!
//! It has a `main` of its own because it is also the program that the doctor starts as a probe, which must not have
//! threads, as the harness of `cargo test` has.

#![expect(clippy::print_stdout, reason = "a test program tells what it tests")]

use std::process::ExitCode;

use romer_doctor::{DoctorOptions, PROBE_ARGUMENT, examine, probe_main, text};
use romer_record::document::{CheckVerdict, Doctor, DoctorFinding};
use romer_report::text::TextStyle;
use romer_units::Duration;

/// The findings, in their order.
const NAMES: [&str; 30] = [
    "kernel_stamps",
    "stolen_time",
    "pacing",
    "clock_sync",
    "clock_source",
    "receive_buffer",
    "port_862",
    "port_8862",
    "run_folder",
    "lab",
    "privileges",
    "nic_stamps",
    "offloads",
    "interrupt_coalescing",
    "interrupts",
    "rp_filter",
    "path_mtu",
    "conntrack",
    "cores",
    "affinity",
    "real_time",
    "locked_memory",
    "idle_states",
    "packet_access",
    "xdp_modes",
    "in_packet_stamps",
    "veth",
    "time_namespace",
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
    let doctor = examine(&if show { DoctorOptions::default() } else { short });
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
    let names: Vec<&str> = doctor.findings.iter().map(|finding| finding.name.as_str()).collect();
    assert_eq!(names, NAMES);
}

fn every_finding_is_complete(doctor: &Doctor) {
    for finding in &doctor.findings {
        let DoctorFinding { verdict, observed: found, consequence, fix, .. } = finding;
        assert!(is_sentence(found) && is_sentence(consequence), "{finding:?}");
        match fix {
            None => assert_eq!(*verdict, CheckVerdict::Good, "{finding:?}"),
            Some(fix) => {
                assert_ne!(*verdict, CheckVerdict::Good, "{finding:?}");
                assert!(is_sentence(fix) || is_command(fix), "{finding:?}");
            }
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
        "for ",
        "exec ",
    ];
    !text.ends_with('.') && known.iter().any(|word| text.starts_with(word))
}

/// Against the schema that users are given: its names, and what it requires.
fn the_document_is_that_of_the_schema(doctor: &Doctor) {
    let json = serde_json::to_value(doctor).expect("a document");
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/schema/doctor.json");
    let schema: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(schema).expect("the schema")).expect("JSON");
    let fits = |object: &serde_json::Value, schema: &serde_json::Value| {
        let fields = object.as_object().expect("an object");
        let known = schema["properties"].as_object().expect("properties");
        assert!(fields.keys().all(|name| known.contains_key(name)), "{object}");
        let mut required = schema["required"].as_array().expect("required names").iter();
        assert!(required.all(|name| name.as_str().is_some_and(|name| fields.contains_key(name))), "{object}");
    };
    fits(&json, &schema);
    for finding in json["findings"].as_array().expect("findings") {
        fits(finding, &schema["$defs"]["DoctorFinding"]);
    }
    assert_eq!(json["schema"], "romer/doctor/1");
    let again: Doctor = serde_json::from_value(json).expect("the same document");
    assert_eq!(again.findings.len(), doctor.findings.len());
}

fn the_laboratory_is_tried(doctor: &Doctor) {
    let lab = doctor.findings.iter().find(|finding| finding.name == "lab").expect("a finding");
    assert!(["root", "rootless"].iter().any(|how| lab.values["tried"] == *how), "{lab:?}");
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
