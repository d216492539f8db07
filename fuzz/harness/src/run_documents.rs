//! The documents of a run's folder, changed field by field, and what is printed and drawn of them.

use romer_record::benchmark::Benchmark;
use romer_record::document::Measurement;
use romer_record::emulation::Emulation;
use romer_record::manifest::Manifest;
use romer_report::text::TextStyle;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Seed;
use crate::json::change;
use crate::script::Script;

/// Documents as romer writes them, with short lists. [`assert_current`] fails where they are none any more; then they are made again.
const DOCUMENTS: [&str; 4] = [
    include_str!("../documents/measurement.json"),
    include_str!("../documents/manifest.json"),
    include_str!("../documents/emulation.json"),
    include_str!("../documents/benchmark.json"),
];
/// Changes of one document.
const CHANGES: usize = 8;

/// The first octet says which document, then come its changes.
pub(crate) fn run(octets: &[u8]) {
    let mut script = Script::new(octets);
    let which = usize::from(script.octet().unwrap_or(0)) % DOCUMENTS.len();
    let mut document: Value = serde_json::from_str(DOCUMENTS[which]).expect("it is JSON");
    for _ in 0..CHANGES {
        if !script.is_over() {
            change(&mut document, &mut script);
        }
    }
    check(which, document);
}

fn check(which: usize, document: Value) -> bool {
    match which {
        0 => read(document).is_some_and(|measurement: Measurement| {
            let summary = romer_report::text::summary(&[measurement], None, &TextStyle::default(), true);
            assert_printable(&summary);
            true
        }),
        1 => read::<Manifest>(document).is_some(),
        2 => read(document).is_some_and(|emulation: Emulation| {
            assert_markup(&romer_report::emulation::report_of_counts(&emulation));
            true
        }),
        _ => read(document).is_some_and(|benchmark: Benchmark| {
            assert_markup(&romer_report::benchmark::page(&benchmark));
            assert_printable(&romer_report::benchmark::csv(&benchmark));
            true
        }),
    }
}

/// What is read is written as something that reads the same.
fn read<T: DeserializeOwned + Serialize>(document: Value) -> Option<T> {
    let read: T = serde_json::from_value(document).ok()?;
    let written = serde_json::to_value(&read).expect("a document is JSON");
    let again: T = serde_json::from_value(written.clone()).expect("what was written is read");
    assert_eq!(serde_json::to_value(&again).expect("a document is JSON"), written);
    Some(read)
}

/// A terminal shows it, and does nothing else with it.
fn assert_printable(text: &str) {
    let control = |c: char| c.is_control() && c != '\n';
    assert!(!text.chars().any(control), "control characters in {text:?}");
}

/// No text of a document becomes markup: the only scripts are the page's own.
fn assert_markup(page: &str) {
    assert!(!page.contains("<b>fuzz"), "text of the document is markup of the page");
    assert!(!page.contains('\u{1b}'), "control characters in the page");
}

/// The documents are what romer reads.
pub(crate) fn assert_current() {
    for (which, text) in DOCUMENTS.iter().enumerate() {
        let document = serde_json::from_str(text).expect("it is JSON");
        assert!(check(which, document), "document {which} of fuzz/harness/documents is not current");
    }
}

pub(crate) fn seeds() -> Vec<Seed> {
    vec![
        Seed::new("empty", []),
        Seed::new("measurement", [0]),
        Seed::new("manifest", [1]),
        Seed::new("emulation", [2]),
        Seed::new("benchmark", [3]),
        Seed::new("measurement_target_with_escape", [0, 200, 7, 18]),
        Seed::new("measurement_number_of_all", [0, 10, 0, 5, 0]),
        Seed::new("measurement_infinite", [0, 12, 3, 6, 0]),
        Seed::new("measurement_direction_empty", [0, 12, 255, 9, 0]),
        Seed::new("manifest_streams_of_null", [1, 20, 0, 0]),
        Seed::new("emulation_without_ports", [2, 13, 9, 0]),
        Seed::new("benchmark_list_of_nulls", [3, 9, 9, 255]),
        Seed::new("benchmark_text", [3, 3, 8, 9, b'<', b'b', b'>', b'f', b'u', b'z', b'z', b'<', b'/']),
        Seed::new("benchmark_control_characters", [3, 110, 12, 0, 0, 96, 26, 0, 0, 0, 0, 0]),
        Seed::new("benchmark_deep", [3, 5, 0, 10, 200]),
    ]
}
