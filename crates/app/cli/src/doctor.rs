//! `romer doctor`.

use std::process::ExitCode;

use romer_doctor::{DoctorOptions, PROBE_ARGUMENT, probe_main};
use romer_record::Exit;
use romer_store::Runs;

use crate::args::DoctorArgs;
use crate::failure::Failure;
use crate::output;

/// The life of the process with which the doctor tries a namespace without root, if this one was started as that.
pub(crate) fn probe() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let only = arguments.next().filter(|_| arguments.next().is_none())?;
    (only == PROBE_ARGUMENT).then(probe_main)
}

/// Examines this machine, and gives the exit code.
pub(crate) fn run(arguments: &DoctorArgs) -> Result<Exit, Failure> {
    let runs = Runs::of_user().ok().map(|runs| runs.root().to_path_buf());
    let findings = romer_doctor::examine(&DoctorOptions { runs, ..DoctorOptions::default() });
    let document = romer_report::doctor::document(findings);
    if arguments.json {
        let text = output::document_text(&document)?;
        output::print(&text);
    } else {
        output::print_summary(&romer_report::doctor::text(&document, &output::style(arguments.color)));
    }
    Ok(Exit::Success)
}
