//! `romer help`: the long help of a command, or a list for reference.

use std::ffi::OsString;

use romer_record::Exit;
use romer_scenario::nearest;

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
    let found = args::read(words.map(OsString::from)).map_err(|why| match &arguments.topic[..] {
        [topic] if nearest(topic, [METRICS]).is_some() => Failure::usage(format!(
            "unknown help topic ({topic}): no command has this name; did you mean `romer help {METRICS}`?"
        )),
        _ => why,
    })?;
    if let Invocation::Show(text) = found {
        output::print(&text);
    }
    Ok(Exit::Success)
}
