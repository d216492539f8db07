//! Arguments of `romer compare`.

use std::path::PathBuf;

use clap::Args;
use romer_measure::limits::Limit;
use romer_report::comparison::Figure;

use super::shared::OutputArgs;
use crate::values;

/// Arguments of `romer compare`.
#[derive(Debug, Args)]
#[command(
    long_about = "Compare two measurements: the difference of each figure, B minus A, with its 95 % interval, and a \
        verdict for each direction that both have.\n\n\
        A and B are folders of runs, packet logs (CSV, .raw or .log of Qtcp, .json of irtt), or measurement \
        documents. Of documents the packets are not at \
        hand, and only means and medians get an interval, where they are not of delays above their least. A --limit holds for the difference.",
    after_help = "Examples:\n  romer compare BEFORE AFTER\n  \
        romer compare BEFORE AFTER --by forward.delay_ns.p99 --limit 'forward.delay_ns.p99<1ms'"
)]
pub(crate) struct CompareArgs {
    /// What is compared with: RUN, FILE.csv, FILE.raw or FILE.json
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// What is compared: RUN, FILE.csv, FILE.raw or FILE.json
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,
    /// The figure by which the verdict is given
    #[arg(long, value_name = "FIGURE", default_value = Figure::DEFAULT, value_parser = values::parsed::<Figure>)]
    pub(crate) by: Figure,
    /// Which stream of both, from 0, where there are several
    #[arg(long, value_name = "N", value_parser = values::stream_number, allow_hyphen_values = true)]
    pub(crate) stream: Option<u16>,
    /// Hold a difference, B minus A, against a bound; repeat for more; one that is broken gives exit code 6
    #[arg(long, value_name = "PATH<BOUND", value_parser = values::parsed::<Limit>)]
    pub(crate) limit: Vec<Limit>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
