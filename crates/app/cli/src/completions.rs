//! `romer completions`: the completions of a shell, from the same source as `--help`.

use clap::CommandFactory;
use clap_complete::generate;
use romer_record::Exit;

use crate::args::{Cli, CompletionsArgs};
use crate::output;

/// Prints them, and gives the exit code.
pub(crate) fn run(arguments: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    generate(arguments.shell, &mut Cli::command(), "romer", &mut script);
    output::print(&String::from_utf8_lossy(&script));
    Exit::Success
}
