//! Arguments of `romer qtcp`.

use std::path::PathBuf;

use clap::Args;
use romer_units::Duration;

use crate::formats::Format;
use crate::values;

/// Arguments of `romer qtcp`.
#[derive(Debug, Args)]
#[command(
    long_about = "The files of Qtcp. With -F, PREFIX.raw is normalised and freed of the clocks' skew, and written to \
        PREFIX.log; nothing else is touched. With -A, all .sta files of a folder become one table.\n\n\
        A line of .raw and .log is `sent:received:latency:size:sequence`, times in units of 100 ns. `romer report RUN \
        --qtcp PREFIX` writes such files of a run, and `romer analyze FILE.raw` computes everything else from them.\n\n\
        A .raw is read several times and never kept whole, so that it may be as long as it likes. Of more than 1,048,576 packets \
        (or so many for calibration) -k 2 and -k 3 fit the skew to a part, drawn evenly, which is told; -k 1 fits it to all.",
    after_help = "Examples:\n  romer qtcp -F\"voice\" -c 1000\n  romer qtcp -F voice -k 1 -d -q 10 --force\n  \
        romer qtcp -F voice -k 0   (normalised, with the skew left in: as of three packets)\n  \
        romer qtcp -A\"results\" --csv all.csv",
    group = clap::ArgGroup::new("what").required(true).args(["prefix", "folder"])
)]
pub(crate) struct QtcpArgs {
    /// Convert PREFIX.raw to PREFIX.log; the name may be given with its .raw
    #[arg(short = 'F', value_name = "PREFIX")]
    pub(crate) prefix: Option<String>,
    /// Collate the .sta files of a folder
    #[arg(short = 'A', value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// The first N packets that were sent are for calibration: the skew is fitted to those of them that came [default: 0, to all]
    #[arg(short = 'c', value_name = "N", value_parser = values::qtcp_calibration, allow_hyphen_values = true, conflicts_with = "folder")]
    pub(crate) calibration: Option<u64>,
    /// Skew: 0 left in, 1 least squares, 2 least absolute deviation, 3 the same with jumps of a clock compensated
    #[arg(short = 'k', value_name = "0..3", value_parser = values::skew_number, default_value = "2",
        allow_hyphen_values = true, conflicts_with = "folder")]
    pub(crate) skew: u8,
    /// Write a dummy entry for each lost packet: times of 0, and the greatest latency
    #[arg(short = 'd', conflicts_with = "folder")]
    pub(crate) dummies: bool,
    /// Write every Nth packet: those whose number N divides
    #[arg(short = 'q', value_name = "N", value_parser = values::every_nth, default_value = "1", allow_hyphen_values = true,
        conflicts_with = "folder")]
    pub(crate) every: u64,
    /// The stamps of the .raw file are in this unit [default: 100ns]
    #[arg(long, value_name = "D", value_parser = values::stamp_unit, allow_hyphen_values = true, conflicts_with = "folder")]
    pub(crate) unit: Option<Duration>,
    /// Take packets of 48 octets or less, which Qtcp cannot send
    #[arg(long, conflicts_with = "folder")]
    pub(crate) any_size: bool,
    /// Where a latency is not received minus sent, take the latency, and the receive stamp for wrong
    #[arg(long, conflicts_with = "folder")]
    pub(crate) trust_latency: bool,
    /// Take a skew out that no pair of clocks has (more than 500 ppm)
    #[arg(long, conflicts_with = "folder")]
    pub(crate) any_skew: bool,
    /// Convert a file once more that is normalised already
    #[arg(long, conflicts_with = "folder")]
    pub(crate) again: bool,
    /// Write the table in CSV; - is standard output
    #[arg(long, value_name = "FILE", value_parser = Format::TABLE.target(), conflicts_with = "prefix")]
    pub(crate) csv: Option<String>,
    /// Replace files that exist
    #[arg(long)]
    pub(crate) force: bool,
    /// Print no prose
    #[arg(long)]
    pub(crate) quiet: bool,
}
