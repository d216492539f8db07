//! Arguments of `romer agent`.

use std::path::PathBuf;

use clap::Args;

use super::shared::{ExporterArgs, OUTPUT};
use crate::values;

/// Arguments of `romer agent`.
#[derive(Debug, Args)]
#[command(
    long_about = "Measure to many targets at regular intervals, in one process.\n\n\
        The file has a table for each measurement: its name, its targets, the interval between two runs (every), and the options of \
        `romer measure` as keys. The targets of a measurement are measured in parallel, in one run. Each run is saved below \
        out/NAME, and removed at the age that keep states. A run that fails or misses a limit is reported on standard error; the \
        next one starts as planned.\n\n\
        The exit code is 0 after SIGTERM; with --times, that of the first run that failed.",
    after_help = "Examples:\n  romer agent --check\n  romer agent --config agent.toml --times 3\n  \
        romer agent --metrics 9862"
)]
pub(crate) struct AgentArgs {
    /// File with the measurements
    #[arg(long, value_name = "FILE", default_value = "/etc/romer/agent.toml")]
    pub(crate) config: PathBuf,
    /// Check the file and exit
    #[arg(long)]
    pub(crate) check: bool,
    /// Number of runs of each measurement [default: until interrupted]
    #[arg(long, value_name = "N", value_parser = values::times, allow_hyphen_values = true, conflicts_with = "check")]
    pub(crate) times: Option<u64>,
    #[command(flatten)]
    pub(crate) exporter: ExporterArgs,
    /// Report failed runs only
    #[arg(long, short, help_heading = OUTPUT)]
    pub(crate) quiet: bool,
}
