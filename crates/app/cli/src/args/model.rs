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
    long_about = "Turn a measured path into a scenario that `romer emulate` does again, or hold a scenario against \
        what was measured.\n\nWith --write the scenario has the delays as they were (an empirical distribution in a file \
        beside it, correlated from packet to packet as they were), loss as single packets or as bursts (Gilbert and \
        Elliott's model) with its intervals, reordering and duplication. With --trace it replays the packets' fates \
        one by one.\n\nWith either, the scenario is then run in virtual time over the very departures that were \
        measured, many times: what these runs give stands beside what was measured, with the share of runs that lie as \
        far out.",
    after_help = "Examples:\n  romer measure far.example.net --direction both --duration 1m --out path\n  \
        romer model path --write path.toml\n  romer emulate --port a=eth1 --port b=eth2 --scenario path.toml\n  \
        romer model again --against path.toml"
)]
pub(crate) struct ModelArgs {
    /// Folder of a run
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Write the scenario, and the files that it names beside it
    #[arg(long, value_name = "FILE.toml", value_parser = Format::SCENARIO.path(), required_unless_present = "against", conflicts_with = "against")]
    pub(crate) write: Option<PathBuf>,
    /// Replay the packets' fates and delays one by one, instead of models of them
    #[arg(long, requires = "write")]
    pub(crate) trace: bool,
    /// Let the scenario treat UDP so, and let all else pass at once (a control channel, for one)
    #[arg(long, requires = "write")]
    pub(crate) only_udp: bool,
    /// The stream to make it from, from 0
    #[arg(long, value_name = "N", default_value = "0", requires = "write")]
    pub(crate) stream: u16,
    /// Hold this scenario, a file or the name of a preset, against what was measured
    #[arg(long, value_name = "FILE.toml|PRESET")]
    pub(crate) against: Option<PathBuf>,
    /// Let hosts and path around the emulator have added up to this to every delay
    #[arg(long, value_name = "D", default_value = "0s", value_parser = values::delay, allow_hyphen_values = true)]
    pub(crate) allow: Duration,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
