//! Groups of arguments that several procedures of `romer bench` take.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use romer_bench::limits::ResultLimit;
use romer_bench::options::MarkingClaim;
use romer_port::PortName;
use romer_traffic::Imix;
use romer_units::random::Seed;
use romer_units::{Duration, LineRate};
use romer_wire::ethernet::MacAddress;

use crate::args::shared::{ADVANCED, KeepArgs, OUTPUT, OutputArgs};
use crate::bench::stream::StreamArgument;
use crate::bench::values::{self as bench_values, CaseArgument, Label, Loads, Sizes};
use crate::formats::Format;
use crate::values;

/// Headings of the help.
pub(super) const CLAIMS: &str = "Limits and expected markings";
pub(super) const POLICER: &str = "Policer";
pub(super) const SCHEDULER: &str = "Scheduler";
pub(super) const LOAD: &str = "Load";
pub(super) const TRIALS: &str = "Trials";

/// What every procedure takes.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Transmit port: [NETNS/]IFACE
    #[arg(long, value_name = "IF", value_parser = bench_values::port)]
    pub(crate) tx: Option<PortName>,
    /// Receive port: [NETNS/]IFACE
    #[arg(long, value_name = "IF", value_parser = bench_values::port)]
    pub(crate) rx: Option<PortName>,
    /// Source address of the test frames [default in a lab: host A]
    ///
    /// In a lab, it has the IP version of --destination.
    #[arg(long, value_name = "ADDR", value_parser = values::source)]
    pub(crate) source: Option<IpAddr>,
    /// Destination address, behind the receive port [default in a lab: next to host B]
    ///
    /// In a lab, it has the IP version of --source.
    #[arg(long, value_name = "ADDR", value_parser = values::source)]
    pub(crate) destination: Option<IpAddr>,
    /// Hardware address of the next hop [default: that of the gateway of the route, by ARP or ND]
    #[arg(long, value_name = "MAC", help_heading = ADVANCED, value_parser = bench_values::mac, hide_short_help = true)]
    pub(crate) next_hop: Option<MacAddress>,
    /// Line rate, such as 1000Mbit: 100 % load, with preamble and gap (layer 1)
    #[arg(long, value_name = "RATE", default_value = "100Mbit", value_parser = bench_values::line_rate, allow_hyphen_values = true, help_heading = LOAD)]
    pub(crate) line_rate: LineRate,
    /// Duration of a trial, in seconds or with a unit (2m), at most 1d; RFC 2544 requires 60s
    #[arg(long, short = 't', value_name = "D", default_value = "10s", value_parser = bench_values::time, allow_hyphen_values = true, help_heading = TRIALS)]
    pub(crate) trial: Duration,
    /// Wait in seconds before each trial, and after it for late frames [default: 2s; in a lab 200ms]
    ///
    /// With policing, it is at least the time a bucket takes to fill.
    #[arg(long, hide_short_help = true, value_name = "D", value_parser = bench_values::time, allow_hyphen_values = true, help_heading = TRIALS)]
    pub(crate) settle: Option<Duration>,
    /// Time in seconds to wait for a device that has stopped forwarding
    #[arg(long, value_name = "D", default_value = "60s", value_parser = values::duration, allow_hyphen_values = true, help_heading = TRIALS, hide_short_help = true)]
    pub(crate) patience: Duration,
    /// Seed of the order of trials, of random sizes and gaps: six numbers [default: random]
    #[arg(long, hide_short_help = true, value_name = "S1,...,S6", value_parser = values::parsed::<Seed>, allow_hyphen_values = true, help_heading = TRIALS)]
    pub(crate) seed: Option<Seed>,
    /// Print the trials and their duration, and run none
    #[arg(long, help_heading = TRIALS)]
    pub(crate) dry_run: bool,
    /// Write an HTML report with charts and tables
    #[arg(long, value_name = "FILE", value_parser = Format::PAGE.target(), help_heading = OUTPUT)]
    pub(crate) html: Option<String>,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What a procedure takes that tests a device.
#[derive(Debug, Default, Args)]
pub(crate) struct DeviceArgs {
    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    #[command(flatten)]
    pub(crate) trials: TrialArgs,
    #[command(flatten)]
    pub(crate) claims: ClaimArgs,
    #[command(flatten)]
    pub(crate) output: DeviceOutputArgs,
}

/// Which frames are sent.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = LOAD)]
pub(crate) struct FrameArgs {
    /// Frame sizes in bytes, with check sequence [default: 64,128,256,512,1024,1280,1518]
    #[arg(long, value_name = "B,...", value_parser = values::parsed::<Sizes>, conflicts_with = "imix")]
    pub(crate) frame_sizes: Option<Sizes>,
    /// Mixture of sizes: chadda2004, simple, or a genome of RFC 6985 such as aaafg
    #[arg(long, hide_short_help = true, value_name = "MIX", value_parser = values::parsed::<Imix>)]
    pub(crate) imix: Option<Imix>,
    /// Stream: name=voice,dscp=ef,share=20%,ports=5001,...; repeatable
    #[arg(long = "stream", value_name = "K=V,...", value_parser = values::parsed::<StreamArgument>)]
    pub(crate) streams: Vec<StreamArgument>,
}

/// At which loads it is sent.
#[derive(Debug, Args)]
#[command(next_help_heading = LOAD)]
pub(crate) struct LoadsArgs {
    /// Loads in percent of the line rate: 10%,50% or 10%..95%:5% [default: 10%..95%:5%]
    #[arg(long, value_name = "LOADS", value_parser = values::parsed::<Loads>, allow_hyphen_values = true)]
    pub(crate) loads: Option<Loads>,
}

/// How a load is searched for.
#[derive(Debug, Args)]
#[command(next_help_heading = LOAD)]
pub(crate) struct SearchArgs {
    /// Maximum loss ratio of a passed trial, such as 0.1%; RFC 2544 requires 0 [default: 0]
    #[arg(long, value_name = "P", value_parser = values::share, allow_hyphen_values = true)]
    pub(crate) loss_ratio: Option<f64>,
    /// Resolution of the throughput, in percent of the line rate [default: 0.5%]
    #[arg(long, value_name = "P", value_parser = bench_values::resolution, allow_hyphen_values = true)]
    pub(crate) resolution: Option<f64>,
    /// Duration in seconds of the first trials of a search [default: a tenth of --trial]
    #[arg(long, hide_short_help = true, value_name = "D", value_parser = bench_values::time, allow_hyphen_values = true, help_heading = TRIALS)]
    pub(crate) search_trial: Option<Duration>,
}

/// Of which device, and how often.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = TRIALS)]
pub(crate) struct TrialArgs {
    /// Number of repeats [default: 1]
    ///
    /// Confidence intervals need at least 2 repeats (better 5); the interval of a median over the repeats needs 6.
    #[arg(long, value_name = "N", value_parser = values::rounds, allow_hyphen_values = true)]
    pub(crate) repeat: Option<u32>,
    /// Device configuration to compare, and the shell command that sets it; repeatable
    #[arg(long = "case", value_name = "NAME=COMMAND", value_parser = values::parsed::<CaseArgument>)]
    pub(crate) cases: Vec<CaseArgument>,
    /// Time limit in seconds of a shell command for the device; exceeding it ends the benchmark [default: 10m]
    #[arg(long, value_name = "D", value_parser = bench_values::time, allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) case_time: Option<Duration>,
    /// Label of the device: model=..., software=..., or any other; repeatable
    #[arg(long = "dut-label", value_name = "K=V", value_parser = values::parsed::<Label>, hide_short_help = true)]
    pub(crate) labels: Vec<Label>,
    /// Skip the self-test; the results then have no error bounds of the tester
    #[arg(long, hide_short_help = true)]
    pub(crate) skip_self_test: bool,
    /// Subtract the latency of the tester, measured by the self-test, from every latency
    #[arg(long, conflicts_with = "skip_self_test", hide_short_help = true)]
    pub(crate) subtract_baseline: bool,
}

/// What the device is held to.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = CLAIMS)]
pub(crate) struct ClaimArgs {
    /// Expected DSCP, such as cs0=ef, or remark:cs0=ef in one case; repeatable
    ///
    /// With policing, it is the code point of frames in profile.
    #[arg(long = "expect-marking", value_name = "[CASE:]IN=OUT", value_parser = bench_values::marking)]
    pub(crate) markings: Vec<MarkingClaim>,
    /// Expected VLAN, in the same form: 10=20, 10=untagged, untagged=10; 0 is a priority tag
    #[arg(long = "expect-vlan", value_name = "[CASE:]IN=OUT", value_parser = bench_values::vlan, hide_short_help = true)]
    pub(crate) vlans: Vec<MarkingClaim>,
    /// Expected 802.1p priority, in the same form: 5=5, 5=untagged
    #[arg(long = "expect-priority", value_name = "[CASE:]IN=OUT", value_parser = bench_values::priority, hide_short_help = true)]
    pub(crate) priorities: Vec<MarkingClaim>,
    /// Expected ECN code point, in the same form: ect0=ect0, not-ect=not-ect
    #[arg(long = "expect-ecn", value_name = "[CASE:]IN=OUT", value_parser = bench_values::ecn, hide_short_help = true)]
    pub(crate) ecns: Vec<MarkingClaim>,
    /// Allowed anomalies: order (reordered frames of a flow), copies (duplicated frames); separated by commas
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',', hide_short_help = true)]
    pub(crate) allow_anomalies: Vec<AnomalyName>,
    /// Exit with code 6 also if a claim is INCONCLUSIVE [default: exit with 0]
    #[arg(long, hide_short_help = true)]
    pub(crate) require_verdicts: bool,
    /// Fail (exit code 6) if a result does not meet this limit, such as loss<=0.1%; repeatable
    ///
    /// It applies to all cases, sizes and loads. `romer help metrics` lists all metrics.
    #[arg(long, value_name = "METRIC<VALUE", value_parser = values::parsed::<ResultLimit>)]
    pub(crate) limit: Vec<ResultLimit>,
}

/// What is kept of a benchmark of a device.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = OUTPUT)]
pub(crate) struct DeviceOutputArgs {
    /// Write the charts as SVG files to this folder
    #[arg(long, value_name = "DIR", value_parser = Format::FIGURES.path(), hide_short_help = true)]
    pub(crate) svg: Option<PathBuf>,
    /// Write the frames of a trial as a capture, each with its fate as a comment (at most 200,000 per port)
    #[arg(long, value_name = "FILE", value_parser = Format::CAPTURE.target(), hide_short_help = true)]
    pub(crate) pcapng: Option<String>,
    /// Trial to capture, counted from 1 [default: 1]
    #[arg(long, value_name = "N", requires = "pcapng", value_parser = values::rounds, allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) pcapng_trial: Option<u32>,
    /// Continue an interrupted benchmark with its first missing trial
    #[arg(long, hide_short_help = true, value_name = "DIR", conflicts_with = "out")]
    pub(crate) resume: Option<PathBuf>,
}

/// An anomaly that `--allow-anomalies` accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AnomalyName {
    /// The device reorders frames of a flow
    Order,
    /// The device duplicates frames
    Copies,
}
