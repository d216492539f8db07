//! Arguments of `romer demo`.

use std::path::PathBuf;

use clap::Args;
use romer_endpoint::names::Target;
use romer_units::Duration;

use super::shared::{KeepArgs, OutputArgs};
use crate::values;

/// Arguments of `romer demo`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  romer demo\n  romer demo -t 5s --out demo")]
pub(crate) struct DemoArgs {
    /// Duration of the measurement in seconds, or 5m, 1h
    #[arg(long, short = 't', value_name = "D", default_value = "8s", value_parser = values::duration, allow_hyphen_values = true)]
    pub(crate) duration: Duration,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// The part of the demonstration that runs on the lab's first host, towards this target
    #[arg(long, hide = true, value_name = "TARGET", value_parser = values::parsed::<Target>)]
    pub(crate) inside: Option<Target>,
    /// Where that part leaves its document
    #[arg(long, hide = true, value_name = "FILE", requires = "inside")]
    pub(crate) hand_over: Option<PathBuf>,
}
