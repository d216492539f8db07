//! Errors as exceptions: `romer.InputError` for what the caller gave, `romer.FileError` for what the system refuses.

use std::fmt::Display;

use pyo3::prelude::*;
use romer_analyze::analysis::AnalysisError;
use romer_analyze::measured::MeasuredError;
use romer_emulate::EmulateError;
use romer_loop::LoopError;
use romer_record::Exit;
use romer_report::escape::one_line;
use romer_store::StoreError;

/// Why a call failed, in the words of the program `romer`.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    text: String,
}

impl Failure {
    /// An argument that cannot be used.
    pub(crate) fn usage(text: impl Display) -> Self {
        Self { exit: Exit::Usage, text: text.to_string() }
    }

    /// A fault of romer itself.
    pub(crate) fn own(text: impl Display) -> Self {
        let text = format!("{text}; this is a fault of romer, please report it");
        Self { exit: Exit::Fault, text }
    }

    /// The name of the exception in `romer`.
    const fn class(&self) -> &'static str {
        match self.exit {
            Exit::Environment | Exit::Unreachable => "FileError",
            Exit::Usage | Exit::BadData | Exit::LimitFailed => "InputError",
            Exit::Success | Exit::Fault | Exit::Interrupted | Exit::Command(_) => "Error",
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| {
            let made = py
                .import("romer._errors")
                .and_then(|errors| errors.getattr(failure.class()))
                .and_then(|class| class.call1((one_line(&failure.text),)));
            made.map_or_else(|error| error, Self::from_value)
        })
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self { exit: error.exit(), text: error.to_string() }
    }
}

impl From<AnalysisError> for Failure {
    fn from(error: AnalysisError) -> Self {
        Self { exit: error.exit(), text: error.to_string() }
    }
}

impl From<MeasuredError> for Failure {
    fn from(error: MeasuredError) -> Self {
        Self { exit: error.exit(), text: error.to_string() }
    }
}

impl From<EmulateError> for Failure {
    fn from(error: EmulateError) -> Self {
        Self { exit: error.exit(), text: error.to_string() }
    }
}

impl From<LoopError> for Failure {
    fn from(error: LoopError) -> Self {
        Self { exit: error.exit(), text: error.to_string() }
    }
}
