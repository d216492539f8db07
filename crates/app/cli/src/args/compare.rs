//! Arguments of `romer compare`.

use std::path::PathBuf;

use clap::Args;
use romer_analyze::limits::Limit;
use romer_report::comparison::Figure;

use super::shared::OutputArgs;
use crate::values;

/// Arguments of `romer compare`.
#[derive(Debug, Args)]
#[command(
    long_about = "Compare two measurements: a verdict for each common direction, and the difference of each metric, B - A, \
        with its 95 % confidence interval.\n\n\
        A and B are run folders, packet logs (CSV, .raw or .log of Qtcp, .json of irtt), or measurement documents. \
        Documents have no packets: only means, medians and loss ratios get an interval. A --limit applies to the \
        difference.",
    after_help = "Examples:\n  romer compare BEFORE AFTER\n  \
        romer compare BEFORE AFTER --by rtt.p99 --limit 'rtt.p99<1ms'\n  \
        romer compare RUN --reference sender.pcapng responder.pcapng"
)]
pub(crate) struct CompareArgs {
    /// Baseline: RUN, FILE.csv, FILE.raw or FILE.json
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// Measurement to compare with the baseline: RUN, FILE.csv, FILE.raw or FILE.json
    #[arg(value_name = "B", required_unless_present = "reference", conflicts_with = "reference")]
    pub(crate) b: Option<PathBuf>,
    /// Compare A with two captures of its packets, at its sender and at its responder
    ///
    /// The flow with the most packets is that of the run. Each time stamp of A is also compared with that of the same packet in
    /// the capture, by the sequence number.
    #[arg(long, value_names = ["FILE", "FILE"], num_args = 2)]
    pub(crate) reference: Option<Vec<PathBuf>>,
    /// Metric that decides the verdict, such as rtt.p99 or jitter; by default all metrics that differ clearly
    ///
    /// `romer help metrics` lists all metrics.
    #[arg(long, value_name = "METRIC", value_parser = values::parsed::<Figure>)]
    pub(crate) by: Option<Figure>,
    /// Also print the method of the confidence intervals
    #[arg(long, short = 'v', visible_alias = "verbose")]
    pub(crate) explain: bool,
    /// Stream to compare, counted from 0, where there are several
    #[arg(long, value_name = "N", value_parser = values::stream_number, allow_hyphen_values = true)]
    pub(crate) stream_number: Option<u16>,
    /// Fail (exit code 6) if a difference, B - A, does not meet this limit; repeatable
    #[arg(long, help_heading = "Limits", value_name = "METRIC<VALUE", value_parser = values::parsed::<Limit>)]
    pub(crate) limit: Vec<Limit>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
