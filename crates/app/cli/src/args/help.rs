//! Arguments of `romer help`.

use clap::Args;

/// Arguments of `romer help`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  romer help measure\n  romer help bench throughput\n  romer help metrics"
)]
pub(crate) struct HelpArgs {
    /// Command to explain, or `metrics`: every metric of --limit and --by
    #[arg(value_name = "COMMAND|metrics")]
    pub(crate) topic: Vec<String>,
}
