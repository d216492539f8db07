//! Arguments of `romer doctor`.

use clap::Args;

use crate::output::Color;

/// Arguments of `romer doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  romer doctor\n  romer doctor --json")]
pub(crate) struct DoctorArgs {
    /// Write the results as JSON (romer/doctor/1) to standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Colours of the text
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}
