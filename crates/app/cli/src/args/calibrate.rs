//! Arguments of `romer calibrate`.

use clap::Args;
use romer_units::Duration;

use super::shared::OutputArgs;
use crate::values;

/// Arguments of `romer calibrate`.
#[derive(Debug, Args)]
#[command(
    long_about = "Measure the tool's own error on this machine, in a laboratory of its own: what romer adds to a delay by the \
        place of its stamps, over a path that takes no time; whether a path that is the same in both directions is measured so; \
        and what of a delay does not depend on the rate of a link.\n\n\
        The result is kept in $XDG_STATE_HOME/romer/calibration.json, stands in every later measurement, and is taken out of \
        its delays by `romer measure --subtract-baseline`.\n\n\
        With --clock nothing is kept: packets go over loopback, the stamps of one end are passed through a clock that runs \
        wrong and is set now and then, and what it did is found out from the packets alone. Exit code 6 if it is not."
)]
pub(crate) struct CalibrateArgs {
    /// How often everything is measured; each figure is the median of the rounds'
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = values::rounds, allow_hyphen_values = true)]
    pub(crate) rounds: u32,
    /// Round trips of each round, 2 ms apart, and a tenth as many pairs at each rate of the slowed link
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = values::calibration_probes, allow_hyphen_values = true)]
    pub(crate) probes: u32,
    /// Prove that a clock's error is found: pretend one over loopback, and find it out
    #[arg(long, conflicts_with_all = ["rounds", "probes"])]
    pub(crate) clock: bool,
    /// How long round trips are sent, one every 5 ms
    #[arg(long, value_name = "TIME", default_value = "20s", requires = "clock", value_parser = values::proof_duration, allow_hyphen_values = true)]
    pub(crate) duration: Duration,
    /// How much faster the pretended clock runs
    #[arg(long, value_name = "PPM", default_value = "37.25ppm", requires = "clock", value_parser = values::ppm, allow_hyphen_values = true)]
    pub(crate) clock_skew: f64,
    /// When the pretended clock is set, and by how much (from 100us to 1h, either way): 7s:-2.5ms; repeatable [default: after a third of the time by +4ms,
    /// after two thirds by -2.5ms]
    #[arg(long, value_name = "AT:SIZE", requires = "clock", value_parser = values::clock_step, allow_hyphen_values = true)]
    pub(crate) clock_step: Vec<(Duration, Duration)>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// This process is inside the laboratory of this prefix
    #[arg(long, value_name = "PREFIX", hide = true)]
    pub(crate) inside: Option<String>,
}
