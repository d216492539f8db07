//! Arguments of `romer qtcp`.

use std::path::PathBuf;

use clap::Args;
use romer_units::Duration;

use crate::formats::Format;
use crate::values;

/// Arguments of `romer qtcp`.
#[derive(Debug, Args)]
#[command(
    long_about = "Convert and collate files of Qtcp. With -F, PREFIX.raw is normalised, corrected for the clock skew, and written \
        to PREFIX.log; no other file is changed. With -A, all .sta files of a folder are joined in one table.\n\n\
        A line of .raw and .log is `sent:received:latency:size:sequence`, times in units of 100 ns. `romer report RUN \
        --qtcp PREFIX` writes such files of a run, and `romer analyze FILE.raw` computes everything else from them.\n\n\
        A .raw may have any length: it is read several times and never held in memory. With more than 1,048,576 packets, -k 2 \
        and -k 3 fit the skew to a sample, which is reported; -k 1 fits it to all.",
    after_help = "Examples:\n  romer qtcp -F\"voice\" -c 1000\n  romer qtcp -F voice -k 1 -d -q 10 --force\n  \
        romer qtcp -F voice -k 0\n  \
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
    /// Number of calibration packets at the start, to which the skew is fitted [default: 0, all packets]
    #[arg(short = 'c', value_name = "N", value_parser = values::qtcp_calibration, allow_hyphen_values = true, conflicts_with = "folder")]
    pub(crate) calibration: Option<u64>,
    /// Skew correction: 0 none, 1 least squares, 2 least absolute deviation, 3 as 2 with clock steps
    #[arg(short = 'k', value_name = "0..3", value_parser = values::skew_number, default_value = "2",
        allow_hyphen_values = true, conflicts_with = "folder")]
    pub(crate) skew: u8,
    /// Write a dummy entry for each lost packet: times of 0, and the maximum latency
    #[arg(short = 'd', conflicts_with = "folder")]
    pub(crate) dummies: bool,
    /// Write every Nth packet: those with a number divisible by N
    #[arg(short = 'q', value_name = "N", value_parser = values::every_nth, default_value = "1", allow_hyphen_values = true,
        conflicts_with = "folder")]
    pub(crate) every: u64,
    /// Unit of the time stamps in the .raw file [default: 100ns]
    #[arg(long, value_name = "D", value_parser = values::stamp_unit, allow_hyphen_values = true, conflicts_with = "folder")]
    pub(crate) unit: Option<Duration>,
    /// Accept packets of 48 bytes or less, which Qtcp cannot send
    #[arg(long, conflicts_with = "folder")]
    pub(crate) any_size: bool,
    /// If a latency is not received minus sent, use the latency and ignore the receive time stamp
    #[arg(long, conflicts_with = "folder")]
    pub(crate) trust_latency: bool,
    /// Also correct a skew above 500 ppm, which real clocks do not have
    #[arg(long, conflicts_with = "folder")]
    pub(crate) any_skew: bool,
    /// Also convert files that are already normalised
    #[arg(long, conflicts_with = "folder")]
    pub(crate) again: bool,
    /// Write the table as CSV; - is standard output
    #[arg(long, value_name = "FILE", value_parser = Format::TABLE.target(), conflicts_with = "prefix")]
    pub(crate) csv: Option<String>,
    /// Overwrite existing files
    #[arg(long)]
    pub(crate) force: bool,
    /// Print no text summary
    #[arg(long)]
    pub(crate) quiet: bool,
}
