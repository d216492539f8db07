//! Tables whose sequence numbers wrap, repeat or count in steps, and tables with numbers in place of missing stamps.
//!
//! The files are in `tests/vectors/packet-logs`; the right values are known by how they were made.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use romer_record::document::Measurement;

use super::file_tests::folder;
use super::{Analysis, AnalysisError, analyze};

fn vector(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/vectors/packet-logs").join(name)
}

fn document(file: &Path) -> Measurement {
    analyze(&Analysis::of(file, String::new())).unwrap().measurement
}

/// Sent, received, lost, out of order, and copies.
fn counts(m: &Measurement) -> [Option<u64>; 5] {
    let packets = &m.forward.packets;
    [packets.sent, packets.received, packets.lost, packets.reordered, packets.duplicated]
}

fn says(m: &Measurement, part: &str) -> bool {
    m.warnings.iter().any(|warning| warning.contains(part))
}

/// 100 packets 20 ms apart of one run: nothing lost, nothing out of order, no event of a clock.
#[test]
fn wrapped_numbers_are_one_run() {
    for (name, width) in [("wrap16.csv", 16), ("wrap32.csv", 32)] {
        let m = document(&vector(name));
        assert_eq!(counts(&m), [100, 100, 0, 0, 0].map(Some), "{name}");
        assert_eq!(m.traffic.interval_ns, 20_000_000, "{name}");
        assert!(m.clock.events.is_empty() && m.events.is_empty(), "{name}: {:?}", m.clock.events);
        assert!(says(&m, &format!("wrapped at 2^{width}")), "{:?}", m.warnings);
        assert!(m.forward.delay_ns.max.unwrap() < 1e6, "{name}");
    }
}

/// 70,000 packets of RTP from the number 30,000 on, each 200th lost.
#[test]
fn rtp_wraps_with_losses() {
    let folder = folder("rtp");
    let file = folder.join("rtp.csv");
    let mut text = "sequence,size,sent_ns,received_ns\n".to_owned();
    for n in 0..70_000_i64 {
        let sent = 1_700_000_000_000_000_000 + n * 20_000_000;
        let received =
            if n % 200 == 100 { String::new() } else { (sent + 5_000_000 + n * 7_919 % 997).to_string() };
        writeln!(text, "{},172,{sent},{received}", (n + 30_000) % 65_536).unwrap();
    }
    std::fs::write(&file, text).unwrap();
    let m = document(&file);
    assert_eq!(counts(&m), [70_000, 69_650, 350, 0, 0].map(Some));
    assert_eq!(m.traffic.interval_ns, 20_000_000);
    assert!(m.clock.events.is_empty(), "{:?}", m.clock.events);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A number that comes again with another departure is another packet: the second run is named by its first line.
#[test]
fn two_runs_are_refused() {
    let error = analyze(&Analysis::of(&vector("two-runs.csv"), String::new())).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    let AnalysisError::Line { line, why, .. } = error else { panic!("{error}") };
    assert_eq!(line, 52);
    assert!(why.contains("the second begins at line 52") && why.contains("head -n 51"), "{why}");
}

/// The interval follows from the departures, whatever the numbers count in; numbers between are no losses.
#[test]
fn numbers_in_tens_are_consecutive() {
    let m = document(&vector("by10.csv"));
    assert_eq!(counts(&m), [100, 100, 0, 0, 0].map(Some));
    assert_eq!(m.traffic.interval_ns, 20_000_000);
    assert!(says(&m, "in steps of 10"), "{:?}", m.warnings);
    assert!(m.forward.ipdv_ns.count > 90, "successive packets are compared");
}

/// Ten stamps of 0 stand for none: 90 delays, and no time in 1970.
#[test]
fn zero_stamps_are_missing_stamps() {
    let m = document(&vector("zero-stamp.csv"));
    assert_eq!(counts(&m), [100, 90, 10, 0, 0].map(Some));
    assert_eq!(m.forward.delay_ns.count, 90);
    assert!(m.forward.delay_ns.max.unwrap() < 1e6);
    assert!(
        says(&m, "10 stamps are 0 or -1 in the column received_ns (first in line 5)"),
        "{:?}",
        m.warnings
    );
    assert!(m.clock.events.is_empty(), "{:?}", m.clock.events);
    let folder = folder("minus-one");
    let file = folder.join("minus-one.csv");
    std::fs::write(
        &file,
        std::fs::read_to_string(vector("zero-stamp.csv")).unwrap().replace(",0\n", ",-1\n"),
    )
    .unwrap();
    assert_eq!(counts(&document(&file)), counts(&m));
    std::fs::remove_dir_all(folder).unwrap();
}
