//! Documents of romer as dictionaries of Python.

use pyo3::prelude::*;
use serde::Serialize;

use crate::failure::Failure;

/// The JSON of a document, as the program writes it, on one line.
pub(crate) fn json(document: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(document).map_err(Failure::own)
}

/// A JSON text as the objects of Python.
pub(crate) fn load<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}
