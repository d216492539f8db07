//! Other implementations and the reflector in the kernel: scapy reads its replies, and stamp-suite measures it.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::common::lab::{FAR, FAR_V6, Lab, may_load_programs};
use super::common::process::{self, Process};
use super::common::{count, number};
use super::{assert_scapy_reads_replies, python, stamp_suite};

/// Requests of scapy without a TLV; the other two of a series are left to the responder.
const WITHOUT_TLV: u64 = 6;
const WITH_TLV: u64 = 2;
/// Requests of stamp-suite in a measurement.
const PROBES: u64 = 20;

/// A responder on host B, with a reflector in the kernel and its totals in a file.
struct Responder {
    process: Process,
    folder: tempfile::TempDir,
}

impl Responder {
    fn start(lab: &Lab) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("totals.json");
        let listen = [format!("{FAR}:862"), format!("[{FAR_V6}]:862")];
        let mut process = lab.respond(&[
            "--listen",
            &listen[0],
            "--listen",
            &listen[1],
            "--in-kernel",
            "--json",
            file.to_str().unwrap(),
        ]);
        let line = process.line();
        assert!(line.starts_with("reflecting in the kernel: "), "{line:?}");
        Self { process, folder }
    }

    /// Its totals at its end.
    fn end(self) -> Value {
        self.process.signal("TERM");
        self.process.wait().with_code(0);
        serde_json::from_str(&fs::read_to_string(self.folder.path().join("totals.json")).unwrap()).unwrap()
    }
}

/// The replies of the kernel and those of the responder, which gets the requests with a TLV, have what scapy sent and times between
/// its own.
#[test]
fn scapy_reads_replies_of_the_kernel() {
    if !may_load_programs() {
        return;
    }
    let python = python();
    let lab = Lab::path();
    let responder = Responder::start(&lab);
    for address in [FAR, FAR_V6] {
        assert_scapy_reads_replies(&mut lab.command("A", &python), address, "862");
    }
    let totals = responder.end();
    assert_eq!(count(&totals, "/in_kernel/sent"), 2 * WITHOUT_TLV, "{totals:#}");
    assert_eq!(count(&totals, "/requests/received"), 2 * WITH_TLV, "{totals:#}");
}

/// stamp-suite gets a reply of the kernel for each request, with its numbers and with times of one clock. With TLVs it gets those of
/// the responder.
#[test]
fn stamp_suite_measures_the_kernel() {
    if !may_load_programs() {
        return;
    }
    let program = stamp_suite::stamp_suite();
    let lab = Lab::path();
    let responder = Responder::start(&lab);
    let measure = |options: &[&str]| {
        let mut command: Command = lab.command("A", program);
        command
            .args(["-r", FAR, "-S", "198.18.0.2", "-p", "862", "-c", &PROBES.to_string()])
            .args(["-d", "10", "-L", "30", "--ssid", "77", "--output-format", "json"])
            .args(options);
        let found = process::run(&mut command).with_code(0).document();
        assert_eq!(count(&found, "/packets_received"), PROBES, "{found:#}");
        assert_eq!(count(&found, "/measurements/last_reflector_sequence"), PROBES - 1);
        assert_eq!(count(&found, "/measurements/tlv_validation/rejected_replies"), 0);
        for direction in ["forward", "reverse"] {
            assert!(number(&found, &format!("/owd/{direction}_min_ms")) >= 0.0, "{found:#}");
        }
        found
    };
    measure(&[]);
    let with_tlvs = measure(&["--timestamp-info"]);
    assert_eq!(count(&with_tlvs, "/measurements/tlv_validation/observed_tlvs"), PROBES);
    let totals = responder.end();
    assert_eq!(count(&totals, "/in_kernel/sent"), PROBES, "{totals:#}");
    assert_eq!(count(&totals, "/in_kernel/passed"), PROBES, "{totals:#}");
}
