//! `romer fleet`: many measuring hosts with one plan.

mod plan;
mod traffic;

use romer_record::Exit;

use crate::args::{FleetArgs, FleetCommand};
use crate::failure::Failure;

/// Does what a subcommand of `romer fleet` does, and gives the exit code.
pub(crate) fn run(arguments: &FleetArgs) -> Result<Exit, Failure> {
    match &arguments.command {
        FleetCommand::Plan(command) => plan::run(command),
    }
}
