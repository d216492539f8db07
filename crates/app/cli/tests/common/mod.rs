//! What tests of the whole program share: the program as its users start it, laboratories that go away with their
//! test, and documents compared with their schemas.
#![allow(dead_code, reason = "shared by several test programs, each of which uses a part")]

pub(crate) mod lab;
pub(crate) mod measuring;
pub(crate) mod process;
pub(crate) mod reflector;
pub(crate) mod schema;

use std::path::{Path, PathBuf};

use romer_record::event::Event;
use romer_record::warning::MeasurementWarning;
use romer_report::warning::Text;
use serde_json::Value;

/// The repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// The value at `pointer` (RFC 6901), which must be there.
pub(crate) fn at<'a>(document: &'a Value, pointer: &str) -> &'a Value {
    document.pointer(pointer).unwrap_or_else(|| panic!("nothing at {pointer} in {document:#}"))
}

/// The warnings of a measurement: as they are written, and as people read them, each on a line.
pub(crate) fn warned(document: &Value) -> String {
    let warnings = at(document, "/warnings");
    let typed: Vec<MeasurementWarning> = serde_json::from_value(warnings.clone()).unwrap();
    let written = warnings.as_array().unwrap().iter().map(Value::to_string);
    written.chain(typed.iter().map(Text::text)).collect::<Vec<String>>().join("\n")
}

/// An event of a measurement, as people read it.
pub(crate) fn event_text(event: &Value) -> String {
    serde_json::from_value::<Event>(event.clone()).unwrap().text()
}

/// The events of a measurement, as people read them.
pub(crate) fn event_texts(document: &Value) -> Vec<String> {
    at(document, "/events").as_array().unwrap().iter().map(event_text).collect()
}

/// The count at `pointer`.
pub(crate) fn count(document: &Value, pointer: &str) -> u64 {
    at(document, pointer)
        .as_u64()
        .unwrap_or_else(|| panic!("no count at {pointer}: {}", at(document, pointer)))
}

/// The number at `pointer`.
pub(crate) fn number(document: &Value, pointer: &str) -> f64 {
    at(document, pointer)
        .as_f64()
        .unwrap_or_else(|| panic!("no number at {pointer}: {}", at(document, pointer)))
}
