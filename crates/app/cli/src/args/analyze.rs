//! Arguments of `romer analyze`.

use std::path::PathBuf;

use clap::Args;
use romer_analyze::limits::Limit;
use romer_record::concatenation::AddedQuantity;
use romer_units::Duration;

use super::shared::{CLOCK, CaptureArgs, OUTPUT, OutputArgs, SkewArgs, StampPlace, VoiceArgs};
use crate::formats::Format;
use crate::values;

/// A heading of the help.
const QTCP: &str = "Files of Qtcp";

/// Arguments of `romer analyze`.
#[derive(Debug, Args)]
#[command(
    long_about = "Compute the results of a run again from its packets, or those of a packet log of another program: a table \
        in CSV, a .raw or .log of Qtcp, the output of `irtt client -o` (.json) or of ping, or two captures of one stream of UDP packets \
        (pcap or pcapng), whose packets are matched by their content.\n\n\
        A table has the header line\n    sequence,size,sent_ns,received_ns\nfor one-way packets, or\n    \
        sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\nfor reflected ones (t1 sent, t2 received by the reflector, t3 sent by it, t4 received). \
        Time stamps are nanoseconds of each host's own clock, from any origin. A field is empty if the packet did not get that far; a \
        duplicate repeats its sequence number. The program's own time stamps may have columns of the same \
        names with the prefix user_. `romer report RUN --csv FILE` writes such a file, \
        and FILE-reverse.csv for --reverse if both ends sent.",
    after_help = "Examples:\n  romer analyze ~/.local/state/romer/runs/20261121T090000Z-host --json -\n  \
        romer analyze forward.csv --reverse reverse.csv\n  romer analyze packets.csv --limit 'loss<=1%'\n  \
        romer analyze --capture-a sender.pcapng --capture-b receiver.pcapng\n  romer analyze voice.raw --html voice.html\n  \
        romer analyze --concatenate bluetooth.csv cable.csv --measured both.csv"
)]
pub(crate) struct AnalyzeArgs {
    /// Folder of a run, or a packet log: .csv, .raw, .log, .json, output of ping, or these with .gz
    ///
    /// .raw and .log are files of Qtcp, .json of irtt. Output of ping is recognised under any name.
    #[arg(value_name = "RUN|FILE", required_unless_present_any = ["capture_a", "concatenate"], conflicts_with = "capture_a")]
    pub(crate) input: Option<PathBuf>,
    /// Packet log of the other direction, if FILE is one-way
    #[arg(long, value_name = "FILE", conflicts_with = "capture_a")]
    pub(crate) reverse: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) captures: CaptureArgs,
    /// Two networks in series: add the delays of two runs or packet logs
    #[arg(long, value_names = ["A", "B"], num_args = 2, conflicts_with_all = ["input", "reverse", "capture_a", "flow", "limit", "calibration", "waiting_time", "skew", "path_minimum", "clocks", "clock_offset", "codec", "jitter_buffer", "voice_ie", "voice_bpl", "html", "log"])]
    pub(crate) concatenate: Option<Vec<PathBuf>>,
    /// Values that are added: delay, or jitter (the signed difference of consecutive delays) [default: delay]
    #[arg(
        long,
        hide_short_help = true,
        value_name = "VALUE",
        requires = "concatenate",
        hide_possible_values = true
    )]
    pub(crate) of: Option<AddedValue>,
    /// Compare the sum with a measurement of both networks in series
    #[arg(long, value_name = "C")]
    pub(crate) measured: Option<PathBuf>,
    /// Accept packets of 48 bytes or less in a .raw, which Qtcp cannot send
    #[arg(long, help_heading = QTCP, hide_short_help = true, conflicts_with_all = ["capture_a", "concatenate"])]
    pub(crate) any_size: bool,
    /// Unit of the time stamps in a .raw or .log [default: 100ns]
    #[arg(long, help_heading = QTCP, hide_short_help = true, value_name = "D", value_parser = values::stamp_unit, allow_hyphen_values = true, conflicts_with_all = ["capture_a", "concatenate"])]
    pub(crate) unit: Option<Duration>,
    /// Time stamps of the delays of a run: best, nic, kernel, user or in-packet [default: those of the run]
    #[arg(long, hide_short_help = true, value_name = "SOURCE", hide_possible_values = true, conflicts_with_all = ["concatenate", "capture_a"])]
    pub(crate) stamp: Option<StampPlace>,
    /// Time until a missing packet counts as lost, in seconds or with a unit (500ms) [default: that of the run; 2s]
    #[arg(long, short = 'W', help_heading = "Limits", value_name = "D", value_parser = values::waiting, allow_hyphen_values = true)]
    pub(crate) waiting_time: Option<Duration>,
    /// Fail (exit code 6) if a metric does not meet this limit, such as loss<=1%; repeatable
    ///
    /// `romer help metrics` lists all metrics.
    #[arg(long, help_heading = "Limits", value_name = "METRIC<VALUE", value_parser = values::parsed::<Limit>)]
    pub(crate) limit: Vec<Limit>,
    /// Fit the clocks to the first N packets of each direction; the path was idle while they were sent
    ///
    /// With --skew least-squares, least-absolute, least-absolute-jumps or hull.
    #[arg(long, help_heading = CLOCK, hide_short_help = true, value_name = "N", value_parser = values::calibration_packets, allow_hyphen_values = true)]
    pub(crate) calibration: Option<u64>,
    /// Write an HTML report
    #[arg(long, help_heading = OUTPUT, value_name = "FILE", value_parser = Format::PAGE.target())]
    pub(crate) html: Option<String>,
    /// Write the packets as a .log of Qtcp: normalised, with corrected clocks
    #[arg(long, help_heading = QTCP, hide_short_help = true, value_name = "FILE.log", value_parser = Format::QTCP_LOG.target())]
    pub(crate) log: Option<String>,
    #[command(flatten)]
    pub(crate) clocks: SkewArgs,
    #[command(flatten)]
    pub(crate) voice: VoiceArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Also print the test setup, and every metric as named in --limit
    #[arg(long, short, help_heading = OUTPUT, conflicts_with_all = ["quiet", "concatenate"])]
    pub(crate) verbose: bool,
}

/// Values that are added for networks in series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AddedValue {
    /// Delays.
    #[default]
    Delay,
    /// Signed differences of consecutive delays.
    Jitter,
}

impl From<AddedValue> for AddedQuantity {
    fn from(value: AddedValue) -> Self {
        match value {
            AddedValue::Delay => Self::Delay,
            AddedValue::Jitter => Self::Ipdv,
        }
    }
}
