//! Arguments of `romer model`.

use std::path::PathBuf;

use clap::Args;
use romer_units::Duration;

use super::shared::OutputArgs;
use crate::formats::Format;
use crate::values;

/// Arguments of `romer model`.
#[derive(Debug, Args)]
#[command(
    long_about = "Turn a measured path into a scenario for `romer emulate`, or check a scenario against a \
        measurement.\n\nWith --write the scenario has the measured delay distribution (an empirical distribution in a \
        file of its own, with the measured correlation), random or bursty loss (Gilbert-Elliott) with confidence \
        intervals, reordering and duplication. With --trace it replays the fates of the packets one by one.\n\nIn both \
        cases the scenario is then run many times in virtual time over the measured departures. The report compares \
        these runs with the measurement, and gives the share of runs that deviate as much (p-value). With --against the \
        exit code is 6 unless each direction is consistent (p of 0.01 or more).",
    after_help = "Examples:\n  romer measure far.example.net --direction both --duration 1m --out path\n  \
        romer model path --write path.toml\n  romer emulate --port a=eth1 --port b=eth2 --scenario path.toml\n  \
        romer model again --against path.toml"
)]
pub(crate) struct ModelArgs {
    /// Folder of a run
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Write the scenario, and its data files to the same folder
    #[arg(long, value_name = "FILE.toml", value_parser = Format::SCENARIO.path(), conflicts_with = "against")]
    pub(crate) write: Option<PathBuf>,
    /// Replay the fate and delay of each packet, instead of fitting models
    #[arg(long, requires = "write")]
    pub(crate) trace: bool,
    /// Impair UDP only, and pass all other packets (such as a control channel) unimpaired
    #[arg(long, requires = "write")]
    pub(crate) only_udp: bool,
    /// Stream to model, counted from 0
    #[arg(long, value_name = "N", default_value = "0", requires = "write")]
    pub(crate) stream: u16,
    /// Check the measurement against this scenario, a file or a preset
    #[arg(long, value_name = "FILE.toml|PRESET")]
    pub(crate) against: Option<PathBuf>,
    /// Maximum delay that hosts and links outside the emulator may have added
    #[arg(long, value_name = "D", default_value = "0s", value_parser = values::delay, allow_hyphen_values = true)]
    pub(crate) allow: Duration,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
