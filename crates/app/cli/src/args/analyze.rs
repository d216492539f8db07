//! Arguments of `romer analyze`.

use std::path::PathBuf;

use clap::Args;
use romer_analyze::analysis::FlowChoice;
use romer_analyze::limits::Limit;
use romer_units::Duration;

use super::shared::{OutputArgs, SkewArgs, VoiceArgs};
use crate::formats::Format;
use crate::values;

/// Arguments of `romer analyze`.
#[derive(Debug, Args)]
#[command(
    long_about = "The measurement document once more, from the packets: of a run, the one that it ended with; of a \
        packet log, what its stamps give. A packet log is a table in CSV, a .raw or .log of Qtcp, what `irtt client -o` \
        wrote (.json), or two captures of one stream of UDP packets (pcap or pcapng), whose packets are found again \
        by their content.\n\n\
        A table has the header line\n    sequence,size,sent_ns,received_ns\nfor packets that go one way, or\n    \
        sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\nfor reflected ones (t1 sent, t2 arrived there, t3 left there, t4 back). \
        Stamps are nanoseconds, each on its own host's clock, from any origin. An empty field is a lost packet; a \
        duplicate repeats its sequence number. The program's own stamps may stand beside them, in columns of the same \
        names with user_ before them. `romer report RUN --csv FILE` writes such a file, \
        and of a run whose ends both sent a second one for --reverse, FILE-reverse.csv.",
    after_help = "Examples:\n  romer analyze ~/.local/state/romer/runs/20261121T090000Z-host --json -\n  \
        romer analyze there.csv --reverse back.csv\n  romer analyze packets.csv --limit 'forward.loss.ratio<=1%'\n  \
        romer analyze --capture-a here.pcapng --capture-b there.pcapng\n  romer analyze voice.raw --html voice.html\n  \
        romer analyze --concatenate bluetooth.csv cable.csv --against both.csv"
)]
pub(crate) struct AnalyzeArgs {
    /// Folder of a run, or a packet log: .csv, .raw or .log (Qtcp), .json (irtt), each also compressed by gzip (.json.gz)
    #[arg(value_name = "RUN|FILE", required_unless_present_any = ["capture_a", "concatenate"], conflicts_with = "capture_a")]
    pub(crate) input: Option<PathBuf>,
    /// The packets of the other direction, of a log that goes one way
    #[arg(long, value_name = "FILE", conflicts_with = "capture_a")]
    pub(crate) reverse: Option<PathBuf>,
    /// A capture of a stream, taken where it begins
    #[arg(long, value_name = "FILE", requires = "capture_b")]
    pub(crate) capture_a: Option<PathBuf>,
    /// A capture of the same stream, taken where it ends
    #[arg(long, value_name = "FILE", requires = "capture_a")]
    pub(crate) capture_b: Option<PathBuf>,
    /// Which flow of the captures, where both have several: its number among those that are listed, or its two ends; the one
    /// with the most packets otherwise
    #[arg(long, value_name = "N|ADDR:PORT-ADDR:PORT", requires = "capture_a", value_parser = values::parsed::<FlowChoice>, allow_hyphen_values = true)]
    pub(crate) flow: Option<FlowChoice>,
    /// Two networks in series: add the delays of these two runs or packet logs, of one stream each
    #[arg(long, value_names = ["A", "B"], num_args = 2, conflicts_with_all = ["input", "reverse", "capture_a", "flow", "limit", "calibration", "waiting_time", "skew", "path_minimum", "codec", "jitter_buffer", "voice_ie", "voice_bpl", "html", "log"])]
    pub(crate) concatenate: Option<Vec<PathBuf>>,
    /// Hold the sum against a measurement of both in series
    #[arg(long, value_name = "C")]
    pub(crate) against: Option<PathBuf>,
    /// Take packets of 48 octets or less in a .raw, which Qtcp cannot send
    #[arg(long, conflicts_with_all = ["capture_a", "concatenate"])]
    pub(crate) any_size: bool,
    /// The stamps of a .raw or .log are in this unit [default: 100ns]
    #[arg(long, value_name = "D", value_parser = values::stamp_unit, allow_hyphen_values = true, conflicts_with_all = ["capture_a", "concatenate"])]
    pub(crate) unit: Option<Duration>,
    /// All stamps come from one clock, as in two captures on one host: one-way delays are absolute
    #[arg(long, conflicts_with_all = ["concatenate", "skew", "path_minimum", "calibration"])]
    pub(crate) one_clock: bool,
    /// A packet that took longer is late, and counts as lost [default: a run's own; of a file, 2s]
    #[arg(long, value_name = "D", value_parser = values::waiting, allow_hyphen_values = true)]
    pub(crate) waiting_time: Option<Duration>,
    /// Hold a result against a bound; repeat for more; one that is broken gives exit code 6
    #[arg(long, value_name = "PATH<BOUND", value_parser = values::parsed::<Limit>)]
    pub(crate) limit: Vec<Limit>,
    /// The first N packets of a direction were sent to fit the clocks by, over a quiet path; with --skew least-squares,
    /// least-absolute, least-absolute-jumps or hull
    #[arg(long, value_name = "N", value_parser = values::calibration_packets, allow_hyphen_values = true)]
    pub(crate) calibration: Option<u64>,
    /// Write the page to this file
    #[arg(long, value_name = "FILE", value_parser = Format::PAGE.target())]
    pub(crate) html: Option<String>,
    /// Write the packets as a .log of Qtcp: normalised, and without what the analysis takes out for the clocks
    #[arg(long, value_name = "FILE.log", value_parser = Format::QTCP_LOG.target())]
    pub(crate) log: Option<String>,
    #[command(flatten)]
    pub(crate) clocks: SkewArgs,
    #[command(flatten)]
    pub(crate) voice: VoiceArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
