//! Arguments of `romer loop`.

use std::path::PathBuf;

use clap::Args;
use romer_endpoint::names::Target;
use romer_units::Dscp;

use super::measure::{DirectionOption, TrafficArgs};
use super::shared::{ChannelArgs, OUTPUT, OutputArgs};
use crate::formats::Format;
use crate::values;

/// Arguments of `romer loop`.
#[derive(Debug, Args)]
#[command(
    override_usage = "romer loop [OPTIONS] <TARGET>\n       romer loop [OPTIONS] --run <RUN>",
    long_about = "Measure a path, model it, emulate the model, measure again, and compare.\n\n\
        The path to TARGET is measured as by `romer measure`. `romer model` makes a scenario of the run. The scenario is \
        emulated between two hosts in network namespaces of this machine, which needs no root. The emulated path is measured with \
        the same plan: direction, schedule, size, DSCP, seed and duration.\n\nThe verdict comes first: the emulation reproduces the \
        path if each judged figure differs by no more than its tolerance, or than a second measurement of the path would. Everything is saved in one folder.",
    after_help = "Examples:\n  romer loop far.example.net -i 20ms -t 2m --out loop\n  \
        romer loop far.example.net --direction both --traffic g711 -t 1m\n  \
        romer loop --run path-run --out loop --limit fidelity"
)]
pub(crate) struct LoopArgs {
    /// HOST, HOST:PORT or [IPV6]:PORT, as for `romer measure`
    #[arg(value_name = "TARGET", value_parser = values::parsed::<Target>, required_unless_present = "run")]
    pub(crate) target: Option<Target>,
    /// Folder of a finished run, instead of a measurement
    #[arg(long, value_name = "RUN", conflicts_with_all = ["target", "count", "interval", "duration", "size", "model", "packet_size", "bundle", "departure_jitter", "seed", "direction", "dscp", "stamp_only"])]
    pub(crate) run: Option<PathBuf>,
    /// Stream of the run, counted from 0
    #[arg(long, value_name = "N", default_value = "0", requires = "run", value_parser = values::stream_number, allow_hyphen_values = true)]
    pub(crate) stream_number: u16,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    /// round-trip, forward, reverse or both
    #[arg(long, value_name = "DIRECTION", default_value = "round-trip", hide_possible_values = true)]
    pub(crate) direction: DirectionOption,
    /// DSCP of the probes: a name (EF, AF41, CS5) or 0 to 63
    #[arg(long, value_name = "DSCP", default_value = "cs0", value_parser = values::parsed::<Dscp>, allow_hyphen_values = true)]
    pub(crate) dscp: Dscp,
    /// Measure a STAMP or TWAMP-Light reflector that is not romer
    #[arg(long)]
    pub(crate) stamp_only: bool,
    #[command(flatten)]
    pub(crate) channel: ChannelArgs,
    /// Fail (exit code 6) unless the emulation reproduces the path
    #[arg(long, value_name = "LIMIT")]
    pub(crate) limit: Option<LoopLimit>,
    /// Folder of the loop [default: new, under $XDG_STATE_HOME/romer/runs]
    #[arg(long, help_heading = OUTPUT, value_name = "DIR", value_parser = Format::FOLDER.path())]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// The part that measures on the lab's first host, towards this target
    #[arg(long, hide = true, value_name = "TARGET", value_parser = values::parsed::<Target>, requires_all = ["run", "out"])]
    pub(crate) inside: Option<Target>,
}

/// What is required of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LoopLimit {
    /// The emulation reproduces the path
    Fidelity,
}
