//! `romer help`: the long help of a command, or a list for reference.

use romer_record::Exit;
use std::ffi::OsString;

use crate::args::{self, HelpArgs, Invocation};
use crate::failure::Failure;
use crate::{metrics, output};

/// Name of the list of metrics.
const METRICS: &str = "metrics";

/// Prints it, and gives the exit code.
pub(crate) fn run(arguments: &HelpArgs) -> Result<Exit, Failure> {
    if arguments.topic == [METRICS] {
        output::print(&metrics::text());
        return Ok(Exit::Success);
    }
    let words = ["romer"].into_iter().chain(arguments.topic.iter().map(String::as_str)).chain(["--help"]);
    if let Invocation::Show(text) = args::read(words.map(OsString::from))? {
        output::print(&text);
    }
    Ok(Exit::Success)
}
