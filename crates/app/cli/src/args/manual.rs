//! Arguments of `romer manual`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `romer manual`.
#[derive(Debug, Args)]
pub(crate) struct ManualArgs {
    /// Folder of the pages and of the shells' completions; files in it are replaced
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
