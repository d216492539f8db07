//! Arguments of `romer runs`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use romer_units::Duration;

use super::shared::{DocumentArgs, OUTPUT};
use crate::formats::Format;
use crate::values;

/// Arguments of `romer runs`.
#[derive(Debug, Args)]
#[command(
    long_about = "List, show and delete the runs that romer has saved: measurements, benchmarks, emulations and closed loops.\n\n\
        RUN is a name of the list. Runs with --out elsewhere are not in the list.",
    after_help = "Examples:\n  romer runs list\n  romer runs show 20261121T090000Z-host\n  romer report \"$(romer runs latest)\" --html report.html\n  \
        romer runs prune --keep 30d --dry-run"
)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    pub(crate) command: RunsCommand,
}

/// Subcommands of `romer runs`.
#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List the runs with their results, newest first
    List(ListArgs),
    /// Show the summary of a run
    Show(ShowArgs),
    /// Print the folder of the latest run
    Latest(FolderArgs),
    /// Delete old runs, by age, number or size
    Prune(PruneArgs),
    /// Delete runs
    Rm(RemoveArgs),
}

/// Where the runs are.
#[derive(Debug, Args)]
pub(crate) struct FolderArgs {
    /// Folder of the runs [default: $XDG_STATE_HOME/romer/runs]
    #[arg(long, value_name = "DIR", value_parser = Format::FOLDER.path())]
    pub(crate) runs: Option<PathBuf>,
}

/// Arguments of `romer runs list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
    #[command(flatten)]
    pub(crate) output: DocumentArgs,
}

/// Arguments of `romer runs show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Name of the run
    #[arg(value_name = "RUN")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
    /// Write the results as JSON, as `romer report RUN --json`; - is standard output
    #[arg(long, help_heading = OUTPUT, value_name = "FILE", value_parser = Format::DOCUMENT.target())]
    pub(crate) json: Option<String>,
    /// Overwrite existing files
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) force: bool,
}

/// Arguments of `romer runs prune`.
#[derive(Debug, Args)]
#[command(
    long_about = "Delete the runs that exceed a limit: of age, number or size. A run that is being written is not deleted, \
        nor one that cannot be read. Of a run that lies elsewhere only the link is deleted.",
    after_help = "Examples:\n  romer runs prune --keep 30d --dry-run\n  romer runs prune --keep-number 1000 --keep-size 2GB"
)]
pub(crate) struct PruneArgs {
    /// Keep runs that began within this time, such as 30d
    #[arg(long, value_name = "D", value_parser = values::age, allow_hyphen_values = true, required_unless_present_any = ["keep_number", "keep_size"])]
    pub(crate) keep: Option<Duration>,
    /// Keep the latest N runs
    #[arg(long, value_name = "N", value_parser = values::count, allow_hyphen_values = true)]
    pub(crate) keep_number: Option<u64>,
    /// Keep the latest runs of together at most this size, such as 2GB
    #[arg(long, value_name = "SIZE", value_parser = values::bytes, allow_hyphen_values = true)]
    pub(crate) keep_size: Option<u64>,
    /// Delete nothing; list what would be deleted
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
    #[command(flatten)]
    pub(crate) output: DocumentArgs,
}

/// Arguments of `romer runs rm`.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Names of the runs
    #[arg(required = true, value_name = "RUN")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) folder: FolderArgs,
}
