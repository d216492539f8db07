//! What several commands take.

use std::path::PathBuf;

use clap::Args;

use crate::output::Color;

/// Where the results of a command go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Write the document of the results; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<String>,
    /// Replace files that exist, and the run in --out
    #[arg(long)]
    pub(crate) force: bool,
    /// Print no prose
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Colour of the summary
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

impl OutputArgs {
    /// Whether the document goes to standard output.
    pub(crate) fn json_to_stdout(&self) -> bool {
        self.json.as_deref() == Some("-")
    }
}

/// Where a run is kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct KeepArgs {
    /// Folder of the run [default: a new one under $XDG_STATE_HOME/romer/runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Where stamps are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum StampPlace {
    /// The nearest to the wire that both ends have
    Best,
    /// By the network card (refused: this version cannot)
    Nic,
    /// By the kernel
    Kernel,
    /// By the program
    User,
}
