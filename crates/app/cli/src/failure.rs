//! How a command fails: one line on standard error, and an exit code.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::panic::PanicHookInfo;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use romer_analyze::analysis::AnalysisError;
use romer_analyze::measured::MeasuredError;
use romer_emulate::EmulateError;
use romer_endpoint::EndpointError;
use romer_record::Exit;
use romer_report::escape::one_line;
use romer_store::StoreError;

use crate::output;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    text: String,
    place: Option<(usize, usize)>,
}

impl Failure {
    /// A command that asks for something that cannot be.
    pub(crate) fn usage(text: impl Display) -> Self {
        Self::with_exit(Exit::Usage, text)
    }
    /// The environment or a missing right stands in the way.
    pub(crate) fn environment(text: impl Display) -> Self {
        Self::with_exit(Exit::Environment, text)
    }
    /// A `--stream-number` that `name`, with `count` streams, does not have.
    pub(crate) fn no_stream(number: impl Into<usize>, name: &str, count: usize) -> Self {
        MeasuredError::NoStream { number: number.into(), name: name.to_owned(), count }.into()
    }
    /// A fault of romer itself.
    pub(crate) fn own(text: impl Display) -> Self {
        Self::with_exit(Exit::Fault, format!("{text}; this is a fault of romer, please report it"))
    }
    /// With this exit code.
    pub(crate) fn with_exit(exit: Exit, text: impl Display) -> Self {
        Self { exit, text: text.to_string(), place: None }
    }

    /// The same, about this line and column of what was read, from 1.
    pub(crate) fn at(self, line: usize, column: usize) -> Self {
        Self { place: Some((line, column)), ..self }
    }

    /// The line and column of what was read that are meant, from 1.
    pub(crate) const fn place(&self) -> Option<(usize, usize)> {
        self.place
    }

    /// The same, with the word that the run is kept in `folder` all the same.
    pub(crate) fn but_kept(self, folder: &Path) -> Self {
        Self { text: format!("{}; the run is kept in {}", self.text, folder.display()), ..self }
    }

    /// The same, with this behind it.
    pub(crate) fn and_then(self, what: &str) -> Self {
        Self { text: format!("{}; {what}", self.text), ..self }
    }

    /// The same, of this one of several runs.
    pub(crate) fn of_run(self, run: &str) -> Self {
        Self { text: format!("{run}: {}", self.text), ..self }
    }

    /// Prints the line and gives the exit code.
    pub(crate) fn print(self) -> Exit {
        output::eprint_line(&format!("error: {}", one_line(&self.text)));
        self.exit
    }

    /// Prints the line and ends with the exit code.
    pub(crate) fn report(self) -> ExitCode {
        ExitCode::from(self.print().code())
    }

    /// The exit code.
    pub(crate) const fn exit(&self) -> Exit {
        self.exit
    }

    /// What it says.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the command asks for something that cannot be.
    pub(crate) fn is_usage(&self) -> bool {
        self.exit == Exit::Usage
    }
}

/// Tells of a panic, which is always a fault of romer's, in one line. A place is told once: a server goes on, and whoever has found
/// an input that makes it fail may repeat it without end.
pub(crate) fn report_panic(panic: &PanicHookInfo<'_>) {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    // It becomes an error of the file.
    if romer_store::decoding::is_decoding() {
        return;
    }
    let place = panic.location().map_or_else(|| "unknown place".into(), ToString::to_string);
    if !TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(place.clone()) {
        return;
    }
    let why = panic.payload_as_str().unwrap_or("no reason given");
    output::eprint_line(&format!(
        "error: romer has failed ({place}): {}; this is a fault of romer, please report it",
        one_line(why)
    ));
}

impl From<EndpointError> for Failure {
    fn from(error: EndpointError) -> Self {
        Self::with_exit(error.exit(), error)
    }
}

impl From<AnalysisError> for Failure {
    fn from(error: AnalysisError) -> Self {
        Self::with_exit(error.exit(), error)
    }
}

impl From<MeasuredError> for Failure {
    fn from(error: MeasuredError) -> Self {
        Self::with_exit(error.exit(), error)
    }
}

impl From<EmulateError> for Failure {
    fn from(error: EmulateError) -> Self {
        Self::with_exit(error.exit(), error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::with_exit(error.exit(), error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line_that_cannot_speak_to_the_terminal() {
        let shown = one_line("first\n   second \u{1b}[31m\u{7}third");
        assert!(!shown.contains(|c: char| c.is_control()), "{shown:?}");
        assert!(shown.starts_with("first second"));
    }
}
