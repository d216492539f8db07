//! Arguments of `romer report`.

use std::path::PathBuf;

use clap::Args;
use romer_units::Duration;

use super::shared::OutputArgs;
use crate::formats::Format;
use crate::values;

/// Arguments of `romer report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  romer report ~/.local/state/romer/runs/20261121T090000Z-host\n  \
    romer report RUN --csv packets.csv --html report.html\n  romer report voice.raw --html voice.html\n  romer report BEFORE AFTER --overlay --html both.html")]
pub(crate) struct ReportArgs {
    /// Folder of a run or of a benchmark, or a packet log: .csv, .raw or .log (Qtcp), .json (irtt), each also compressed by gzip (.json.gz)
    #[arg(required = true, value_name = "RUN|FILE")]
    pub(crate) runs: Vec<PathBuf>,
    /// Write the page to this file
    #[arg(long, value_name = "FILE", value_parser = Format::PAGE.target())]
    pub(crate) html: Option<String>,
    /// Put up to five runs on the same axes, each against the first; to the file of --html
    #[arg(long, requires = "html")]
    pub(crate) overlay: bool,
    /// Write the charts, each a file, to this folder
    #[arg(long, value_name = "DIR", value_parser = Format::FIGURES.path())]
    pub(crate) svg: Option<PathBuf>,
    /// Write the packets of each stream (of a benchmark its results), one to FILE, several to FILE-0.csv, FILE-1.csv, ... or into a folder; of one whose ends both sent, what came back beside it in FILE-reverse.csv, for `romer analyze FILE --reverse FILE-reverse.csv`; - is standard output
    #[arg(long, value_name = "FILE|DIR/", value_parser = Format::TABLE.target())]
    pub(crate) csv: Option<String>,
    /// Write PREFIX.raw, PREFIX.sta and PREFIX.log, as Qtcp does; of several streams PREFIX-0.raw, PREFIX-1.raw, ...
    #[arg(long, value_name = "PREFIX", value_parser = Format::QTCP_FILES.target())]
    pub(crate) qtcp: Option<String>,
    /// Skew in the .log of --qtcp: 0 left in, 1 least squares, 2 least absolute deviation, 3 the same with jumps of a clock compensated [default: 2, and 0 of one clock]
    #[arg(short = 'k', value_name = "0..3", value_parser = values::skew_number, allow_hyphen_values = true, requires = "qtcp")]
    pub(crate) skew: Option<u8>,
    /// The first N packets that were sent are for calibration: the skew in the .log of --qtcp is fitted to those of them that came [default: the number that the run states; 0 fits to all]
    #[arg(short = 'c', value_name = "N", value_parser = values::qtcp_calibration, allow_hyphen_values = true, requires = "qtcp")]
    pub(crate) calibration: Option<u64>,
    /// Refused with the way to do it: a run holds no frames
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) pcapng: Option<PathBuf>,
    /// Write the .raw of --qtcp after normalisation: the first departure and the least latency are 0
    #[arg(long, requires = "qtcp")]
    pub(crate) normalised: bool,
    /// Add a column to --csv that says what became of each packet
    #[arg(long, requires = "csv")]
    pub(crate) fates: bool,
    /// The stamps of a .raw or .log are in this unit [default: 100ns]
    #[arg(long, value_name = "D", value_parser = values::stamp_unit, allow_hyphen_values = true)]
    pub(crate) unit: Option<Duration>,
    /// Which stream of the run, from 0, for --csv and --qtcp [default: all]
    #[arg(long, value_name = "N", value_parser = values::stream_number, allow_hyphen_values = true)]
    pub(crate) stream: Option<u16>,
    /// Which direction, of a stream whose ends both sent, for --csv [default: both], and of any for --qtcp [default: forward]
    #[arg(long, value_name = "WAY")]
    pub(crate) direction: Option<OneWay>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// One of two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OneWay {
    /// To the target
    Forward,
    /// From the target
    Reverse,
}
