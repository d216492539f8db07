//! Arguments of `romer report`.

use std::path::PathBuf;

use clap::Args;
use romer_units::Duration;

use super::shared::{OUTPUT, OutputArgs};
use crate::formats::Format;
use crate::values;

/// Headings of the help.
const EXPORT: &str = "Export";
const QTCP: &str = "Files of Qtcp";

/// Arguments of `romer report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  romer report ~/.local/state/romer/runs/20261121T090000Z-host\n  \
    romer report RUN --csv packets.csv --html report.html\n  romer report BEFORE AFTER --overlay --html both.html")]
pub(crate) struct ReportArgs {
    /// Folder of a run or of a benchmark, or a packet log: .csv, .raw, .log, .json, or these with .gz
    ///
    /// .raw and .log are of Qtcp, .json is of irtt.
    #[arg(required = true, value_name = "RUN|FILE")]
    pub(crate) runs: Vec<PathBuf>,
    /// Write an HTML report
    #[arg(long, help_heading = EXPORT, value_name = "FILE", value_parser = Format::PAGE.target())]
    pub(crate) html: Option<String>,
    /// Show up to five runs in one HTML report, each compared with the first
    #[arg(long, help_heading = EXPORT, requires = "html")]
    pub(crate) overlay: bool,
    /// Write the charts as SVG files to this folder
    #[arg(long, help_heading = EXPORT, value_name = "DIR", value_parser = Format::FIGURES.path())]
    pub(crate) svg: Option<PathBuf>,
    /// Write the packets of each stream, or the results of a benchmark; - is standard output
    ///
    /// Several streams are written to FILE-0.csv, FILE-1.csv, ... or into a folder. If both ends sent, FILE-reverse.csv has the
    /// reverse direction, for `romer analyze FILE --reverse FILE-reverse.csv`.
    #[arg(long, help_heading = EXPORT, value_name = "FILE|DIR/", value_parser = Format::TABLE.target())]
    pub(crate) csv: Option<String>,
    /// Write PREFIX.raw, PREFIX.sta and PREFIX.log, as Qtcp does
    ///
    /// Several streams are written to PREFIX-0.raw, PREFIX-1.raw, ...
    #[arg(long, help_heading = QTCP, value_name = "PREFIX", value_parser = Format::QTCP_FILES.target())]
    pub(crate) qtcp: Option<String>,
    /// Skew correction in the .log of --qtcp, 0 to 3 [default: 2, and 0 with one clock]
    ///
    /// 0: none; 1: least squares; 2: least absolute deviation; 3: as 2, with compensation of clock steps.
    #[arg(help_heading = QTCP, hide_short_help = true, short = 'k', value_name = "0..3", value_parser = values::skew_number, allow_hyphen_values = true, requires = "qtcp")]
    pub(crate) skew: Option<u8>,
    /// Number of calibration packets at the start, to which the skew of the .log is fitted [default: that of the run]
    ///
    /// 0 fits it to all packets.
    #[arg(help_heading = QTCP, hide_short_help = true, short = 'c', value_name = "N", value_parser = values::qtcp_calibration, allow_hyphen_values = true, requires = "qtcp")]
    pub(crate) calibration: Option<u64>,
    /// Refused with the way to do it: a run holds no frames
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) pcapng: Option<PathBuf>,
    /// Normalise the .raw of --qtcp: the first departure and the minimum latency are 0
    #[arg(long, help_heading = QTCP, hide_short_help = true, requires = "qtcp")]
    pub(crate) normalised: bool,
    /// Write a dummy entry for each lost packet to the .log of --qtcp: times of 0, and the maximum latency
    #[arg(long, help_heading = QTCP, hide_short_help = true, requires = "qtcp")]
    pub(crate) dummies: bool,
    /// Write every Nth packet to the .log of --qtcp: those with a number divisible by N
    #[arg(long, help_heading = QTCP, hide_short_help = true, value_name = "N", value_parser = values::every_nth, allow_hyphen_values = true, requires = "qtcp")]
    pub(crate) every: Option<u64>,
    /// Use the time stamps of the programs in the files of --qtcp
    #[arg(long, help_heading = QTCP, hide_short_help = true, requires = "qtcp")]
    pub(crate) user_stamps: bool,
    /// Add a column to --csv with the fate of each packet
    #[arg(long, help_heading = EXPORT, requires = "csv")]
    pub(crate) fates: bool,
    /// Unit of the time stamps in a .raw or .log [default: 100ns]
    #[arg(long, help_heading = QTCP, hide_short_help = true, value_name = "D", value_parser = values::stamp_unit, allow_hyphen_values = true)]
    pub(crate) unit: Option<Duration>,
    /// Stream to export with --csv or --qtcp, counted from 0 [default: all]
    #[arg(long, help_heading = EXPORT, value_name = "N", value_parser = values::stream_number, allow_hyphen_values = true)]
    pub(crate) stream_number: Option<u16>,
    /// Direction to export, if both ends sent [default: both; with --qtcp: forward]
    #[arg(long, help_heading = EXPORT, value_name = "DIRECTION")]
    pub(crate) direction: Option<ExportDirection>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Also print the test setup, and every metric as named in --limit
    #[arg(long, short, help_heading = OUTPUT, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

/// One of two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExportDirection {
    /// To the target
    Forward,
    /// From the target
    Reverse,
}
