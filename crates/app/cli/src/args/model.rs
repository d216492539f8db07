//! Arguments of `romer model`.

use std::path::PathBuf;

use clap::Args;
use romer_units::Duration;

use super::shared::{CaptureArgs, ClocksArgs, OutputArgs};
use crate::formats::Format;
use crate::values;

/// Arguments of `romer model`.
#[derive(Debug, Args)]
#[command(
    long_about = "Turn a measured path into a scenario for `romer emulate`, or check a scenario against a \
        measurement.\n\nWith --write, romer fits models in time to delay and loss: constant, independent or correlated delay, random or \
        bursty loss, chains of regimes, and the rate of a bottleneck. It chooses the smallest family that predicts held-out blocks of \
        time well. The scenario holds at any packet spacing, and only packets that the path reordered are overtaken.\n\nThe scenario is \
        checked by simulated runs with the measured departures. Models of one half of the run are also compared with every 2nd and every \
        4th packet of the other half. If a check fails, the next family is tried. If all fail, the direction replays its recorded delays \
        and losses, by time; --trace always does so. With --limit fidelity the exit code is 6 if the scenario still differs. With \
        --against the exit code is 6 unless each direction is consistent.\n\nSeveral runs become one scenario with a timeline, in which \
        each part lasts as long as its run; the timeline repeats. Packet logs of other programs are read as by `romer analyze`: CSV, irtt, \
        Qtcp, output of ping, and two captures. A table of the rate of a link (time_s,rate_bit_per_s) or a mahimahi trace becomes a \
        link with these rates, without delay and loss. Output of ping and recorded rates are recognised by their content.",
    after_help = "Examples:\n  romer measure far.example.net --direction both --duration 1m --out path\n  \
        romer model path --write path.toml\n  romer emulate --port a=eth1 --port b=eth2 --scenario path.toml\n  \
        romer model again --against path.toml\n  romer model day night --write day-and-night.toml\n  \
        romer model ping.txt --write path.toml\n  romer model link.up --reverse link.down --write link.toml"
)]
pub(crate) struct ModelArgs {
    /// Folders of runs, packet logs, or recorded rates of a link
    ///
    /// Packet logs are CSV, irtt JSON, Qtcp, or output of ping. Several runs follow one another in a timeline.
    #[arg(value_name = "RUN|FILE", required_unless_present = "capture_a", conflicts_with = "capture_a")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Packet log or rates of the other direction, if FILE has one direction
    #[arg(long, value_name = "FILE", conflicts_with = "capture_a")]
    pub(crate) reverse: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) captures: CaptureArgs,
    #[command(flatten)]
    pub(crate) clocks: ClocksArgs,
    /// Write the scenario, and its data files to the same folder
    #[arg(long, value_name = "FILE.toml", value_parser = Format::SCENARIO.path(), conflicts_with = "against")]
    pub(crate) write: Option<PathBuf>,
    /// Replay the recorded delays and losses by time, instead of fitting models
    #[arg(long, requires = "write")]
    pub(crate) trace: bool,
    /// Fail (exit code 6) if the scenario does not reproduce the measurement
    #[arg(long, value_name = "fidelity", value_parser = ["fidelity"], requires = "write")]
    pub(crate) limit: Option<String>,
    /// Print measurements that would determine what the model leaves unknown
    #[arg(long, requires = "write")]
    pub(crate) plan: bool,
    /// Impair UDP only, and pass all other packets (such as a control channel) unimpaired
    #[arg(long, requires = "write")]
    pub(crate) only_udp: bool,
    /// Stream to model, counted from 0
    #[arg(long, value_name = "N", default_value = "0", requires = "write")]
    pub(crate) stream_number: u16,
    /// Check the measurement against this scenario, a file or a preset
    #[arg(long, value_name = "FILE.toml|PRESET")]
    pub(crate) against: Option<PathBuf>,
    /// Maximum delay that hosts and links outside the emulator may have added
    #[arg(long, value_name = "D", default_value = "0s", value_parser = values::delay, allow_hyphen_values = true)]
    pub(crate) allowance: Duration,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
