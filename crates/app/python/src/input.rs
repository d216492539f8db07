//! What a measurement is named by: a path, or an opened run.

use std::path::PathBuf;

use pyo3::prelude::*;
use romer_report::escape;

use crate::run::Run;

/// The path of a measurement: a string, an object with `__fspath__`, or an opened run.
pub(crate) fn path(input: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    if let Ok(run) = input.cast::<Run>() {
        return Ok(run.get().folder().to_path_buf());
    }
    input.extract()
}

/// The command of the program that does the same, quoted for a shell.
pub(crate) fn command(words: &[&str]) -> String {
    escape::shell(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
}
