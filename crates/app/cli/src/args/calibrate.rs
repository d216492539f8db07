//! Arguments of `romer calibrate`.

use clap::Args;

use super::shared::OutputArgs;
use crate::values;

/// Arguments of `romer calibrate`.
#[derive(Debug, Args)]
#[command(
    long_about = "Measure the tool's own error on this machine, in a laboratory of its own: what romer adds to a delay by the \
        place of its stamps, over a path that takes no time; whether a path that is the same in both directions is measured so; \
        and what of a delay does not depend on the rate of a link.\n\n\
        The result is kept in $XDG_STATE_HOME/romer/calibration.json, stands in every later measurement, and is taken out of \
        its delays by `romer measure --subtract-baseline`."
)]
pub(crate) struct CalibrateArgs {
    /// How often everything is measured; each figure is the median of the rounds'
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = values::rounds, allow_hyphen_values = true)]
    pub(crate) rounds: u32,
    /// Round trips of each round, 2 ms apart, and a tenth as many pairs at each rate of the slowed link
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = values::calibration_probes, allow_hyphen_values = true)]
    pub(crate) probes: u32,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// This process is inside the laboratory of this prefix
    #[arg(long, value_name = "PREFIX", hide = true)]
    pub(crate) inside: Option<String>,
}
