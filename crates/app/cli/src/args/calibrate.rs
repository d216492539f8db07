//! Arguments of `romer calibrate`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use romer_units::Duration;

use super::shared::OutputArgs;
use crate::values;

/// Headings of the help.
const TEST: &str = "Test of the clock estimator";
const COMMON: &str = "Common events of two hosts";

/// Arguments of `romer calibrate`.
#[derive(Debug, Args)]
#[command(
    long_about = "Measure the tool's own error on this machine, in a lab of its own: the delay that romer adds, by the place \
        of its time stamps, over a path without delay; the difference between the directions of a symmetric path; and the part \
        of a delay that does not depend on the rate of a link.\n\n\
        The result is saved in $XDG_STATE_HOME/romer/calibration.json and copied to every later measurement. \
        `romer measure --subtract-baseline` subtracts it from the delays.\n\n\
        With --clock nothing is saved. Packets go over loopback, and the time stamps of one end are converted to a simulated \
        clock with skew and steps. romer estimates both from the packets alone. The exit code is 6 if it does not find them.\n\n\
        With --common-event nothing is saved either. Two hosts stamp the same multicast packets or the same pulse per second, and \
        their stamps are compared. The exit code is 6 if the median difference of the clocks exceeds the bounds that they state.",
    after_help = "Examples:\n  romer calibrate\n  romer calibrate --clock --clock-skew 50 --clock-step 7s:-2.5ms\n  \
        romer calibrate --rates run10@10Mbit run100@100Mbit\n  \
        romer calibrate --common-event listen > a.csv\n  romer calibrate --common-event a.csv b.csv"
)]
pub(crate) struct CalibrateArgs {
    /// Number of rounds; each result is the median of all rounds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = values::rounds, allow_hyphen_values = true)]
    pub(crate) rounds: u32,
    /// Round trips per round, 2 ms apart
    ///
    /// A link with a rate limit is also tested, with N/10 packet pairs at each rate.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = values::calibration_probes, allow_hyphen_values = true)]
    pub(crate) probes: u32,
    /// Compute the constant error of a network card from two runs over one link at two rates
    ///
    /// Both runs are round trips of packets of one size. The rate follows the name of the run: run10@10Mbit.
    #[arg(long, value_names = ["RUN@RATE", "RUN@RATE"], num_args = 2, value_parser = values::run_at_rate, conflicts_with_all = ["rounds", "probes", "clock"])]
    pub(crate) rates: Option<Vec<(PathBuf, u64)>>,
    /// Test the clock estimator with a simulated clock error
    #[arg(long, help_heading = TEST, conflicts_with_all = ["rounds", "probes"])]
    pub(crate) clock: bool,
    /// Duration of the test in seconds, or 5m; a round trip every 5 ms
    #[arg(long, short = 't', help_heading = TEST, value_name = "TIME", default_value = "20s", requires = "clock", value_parser = values::proof_duration, allow_hyphen_values = true)]
    pub(crate) duration: Duration,
    /// Skew of the simulated clock, in ppm
    #[arg(long, help_heading = TEST, value_name = "PPM", default_value = "37.25ppm", requires = "clock", value_parser = values::ppm, allow_hyphen_values = true)]
    pub(crate) clock_skew: f64,
    /// Step of the simulated clock, such as 7s:-2.5ms; repeatable
    ///
    /// From 100us to 1h, of either sign [default: +4ms after a third of the time, -2.5ms after two thirds]
    #[arg(long, help_heading = TEST, value_name = "AT:SIZE", requires = "clock", value_parser = values::clock_step, allow_hyphen_values = true)]
    pub(crate) clock_step: Vec<(Duration, Duration)>,
    /// Stamp common events (listen), send common packets (send), or compare the stamps of two hosts (FILE FILE)
    ///
    /// `listen` writes a line for each event to standard output. Both hosts listen, and a third host sends. The comparison of two files has
    /// a JSON document (--json).
    #[arg(long, help_heading = COMMON, value_name = "listen|send|FILE", num_args = 1..=2, conflicts_with_all = ["rounds", "probes", "rates", "clock"])]
    pub(crate) common_event: Option<Vec<PathBuf>>,
    /// Number of events
    #[arg(long, help_heading = COMMON, value_name = "N", default_value_t = 100, requires = "common_event", value_parser = values::common_events, allow_hyphen_values = true)]
    pub(crate) events: u64,
    /// Multicast or broadcast address, and port, of the common packets
    #[arg(long, help_heading = COMMON, value_name = "ADDRESS:PORT", default_value = "239.255.136.62:8863", requires = "common_event", value_parser = values::group, hide_short_help = true)]
    pub(crate) group: SocketAddr,
    /// Interface of the common packets [default: that of the route]
    #[arg(long, short = 'I', help_heading = COMMON, value_name = "IFACE", requires = "common_event", value_parser = values::interface, hide_short_help = true)]
    pub(crate) interface: Option<String>,
    /// Listen to a pulse per second instead of packets, such as pps0
    #[arg(long, help_heading = COMMON, value_name = "SOURCE", requires = "common_event", conflicts_with_all = ["group", "interface"], hide_short_help = true)]
    pub(crate) pps: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// This process is inside the lab of this prefix
    #[arg(long, value_name = "PREFIX", hide = true)]
    pub(crate) inside: Option<String>,
}
