//! What tests of the whole program share: the program as its users start it, laboratories that go away with their
//! test, and documents compared with their schemas.
#![allow(dead_code, reason = "shared by several test programs, each of which uses a part")]

pub(crate) mod lab;
pub(crate) mod measuring;
pub(crate) mod process;
pub(crate) mod reflector;
pub(crate) mod schema;

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// The value at `pointer` (RFC 6901), which must be there.
pub(crate) fn at<'a>(document: &'a Value, pointer: &str) -> &'a Value {
    document.pointer(pointer).unwrap_or_else(|| panic!("nothing at {pointer} in {document:#}"))
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
