//! Arguments of `romer doctor`.

use clap::Args;

use crate::output::Color;

/// Arguments of `romer doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Write the document (romer/doctor/1) to standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Colour
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}
