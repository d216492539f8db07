//! Groups of arguments that several procedures of `romer bench` take.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use romer_bench::limits::Limit;
use romer_bench::options::MarkingClaim;
use romer_port::PortName;
use romer_traffic::Imix;
use romer_units::random::Seed;
use romer_units::{Duration, LineRate};
use romer_wire::ethernet::MacAddress;

use crate::args::shared::{KeepArgs, OutputArgs};
use crate::bench::stream::StreamArgument;
use crate::bench::values::{self as bench_values, CaseArgument, Label, Loads, Sizes};
use crate::formats::Format;
use crate::values;

/// Heading of what the device must do.
pub(super) const CLAIMS: &str = "What the device is held to";

/// What every procedure takes.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The port that sends: [NETNS/]IFACE
    #[arg(long, value_name = "IF", value_parser = bench_values::port)]
    pub(crate) tx: Option<PortName>,
    /// The port that takes in
    #[arg(long, value_name = "IF", value_parser = bench_values::port)]
    pub(crate) rx: Option<PortName>,
    /// Source address of the test frames [default: in a laboratory, its host A; of IPv6 where --destination is]
    #[arg(long, value_name = "ADDR", value_parser = values::source)]
    pub(crate) source: Option<IpAddr>,
    /// Destination address, behind the receiving port [default: in a laboratory, one beside its host B; of IPv6 where --source is]
    #[arg(long, value_name = "ADDR", value_parser = values::source)]
    pub(crate) destination: Option<IpAddr>,
    /// The link-layer address that frames are sent to [default: that of the route's gateway, which is asked for it]
    #[arg(long, value_name = "MAC", value_parser = bench_values::mac, hide_short_help = true)]
    pub(crate) next_hop: Option<MacAddress>,
    /// What loads are percentages of, with preamble and gap (layer 1)
    #[arg(long, value_name = "RATE", default_value = "100Mbit", value_parser = bench_values::line_rate, allow_hyphen_values = true, help_heading = "Load")]
    pub(crate) line_rate: LineRate,
    /// How long a trial sends, up to a day (RFC 2544 wants 60s of those that decide)
    #[arg(long, value_name = "D", default_value = "10s", value_parser = bench_values::time, allow_hyphen_values = true, help_heading = "Trials")]
    pub(crate) trial: Duration,
    /// How long is waited before each trial, and after it for frames under way (at given loads, from the last that came on) [default: 2s, in a laboratory 200ms; of policing as long as a bucket takes to fill, where that is more]
    #[arg(long, value_name = "D", value_parser = bench_values::time, allow_hyphen_values = true, help_heading = "Trials")]
    pub(crate) settle: Option<Duration>,
    /// How long a device that has stopped forwarding is waited for
    #[arg(long, value_name = "D", default_value = "60s", value_parser = values::duration, allow_hyphen_values = true, help_heading = "Trials", hide_short_help = true)]
    pub(crate) patience: Duration,
    /// Seed of the order of trials, of random sizes and gaps [default: a random one]
    #[arg(long, value_name = "S1,...,S6", value_parser = values::parsed::<Seed>, allow_hyphen_values = true, help_heading = "Trials")]
    pub(crate) seed: Option<Seed>,
    /// Print the trials and how long they take, and make none; --json writes them as a document
    #[arg(long, help_heading = "Trials")]
    pub(crate) dry_run: bool,
    /// Write a page with figures and tables of the results
    #[arg(long, value_name = "FILE", value_parser = Format::PAGE.target(), help_heading = "Output")]
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
#[command(next_help_heading = "Load")]
pub(crate) struct FrameArgs {
    /// Frame sizes with check sequence, one after the other [default: 64,128,256,512,1024,1280,1518]
    #[arg(long, value_name = "B,...", value_parser = values::parsed::<Sizes>, conflicts_with = "imix")]
    pub(crate) frame_sizes: Option<Sizes>,
    /// A mixture of sizes: seed003, simple, or a genome of RFC 6985 such as aaafg
    #[arg(long, value_name = "MIX", value_parser = values::parsed::<Imix>)]
    pub(crate) imix: Option<Imix>,
    /// A stream: name=voice,dscp=ef,share=20%,ports=5001,... (see the manual); may be repeated
    #[arg(long = "stream", value_name = "K=V,...", value_parser = values::parsed::<StreamArgument>)]
    pub(crate) streams: Vec<StreamArgument>,
}

/// At which loads it is sent.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadsArgs {
    /// Loads in percent of the line rate: 10%..95%:5% (both ends included), 10%,50% or both, with commas [default: 10%..95%:5%]
    #[arg(long, value_name = "LOADS", value_parser = values::parsed::<Loads>, allow_hyphen_values = true)]
    pub(crate) loads: Option<Loads>,
}

/// How a load is searched for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct SearchArgs {
    /// Greatest loss ratio that passes: 0 is RFC 2544's, 0.5% a usual other one [default: 0]
    #[arg(long, value_name = "P", value_parser = values::share, allow_hyphen_values = true)]
    pub(crate) loss_ratio: Option<f64>,
    /// To how much of the line rate a throughput is found [default: 0.5%]
    #[arg(long, value_name = "P", value_parser = bench_values::resolution, allow_hyphen_values = true)]
    pub(crate) resolution: Option<f64>,
    /// How long a trial sends that only leads a search [default: a tenth of --trial]
    #[arg(long, value_name = "D", value_parser = bench_values::time, allow_hyphen_values = true, help_heading = "Trials")]
    pub(crate) search_trial: Option<Duration>,
}

/// Of which device, and how often.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Trials")]
pub(crate) struct TrialArgs {
    /// How often all of it is done; intervals need two (five make them narrow), that of a median over repeats six [default: 1]
    #[arg(long, value_name = "N", value_parser = values::rounds, allow_hyphen_values = true)]
    pub(crate) repeat: Option<u32>,
    /// A state of the device, and the shell command that brings it there; may be repeated
    #[arg(long = "case", value_name = "NAME=COMMAND", value_parser = values::parsed::<CaseArgument>)]
    pub(crate) cases: Vec<CaseArgument>,
    /// How long a shell command for the device may take before it is ended and the benchmark with it [default: 10m]
    #[arg(long, value_name = "D", value_parser = bench_values::time, allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) case_time: Option<Duration>,
    /// What is known of the device: model=..., software=..., or anything else; may be repeated
    #[arg(long = "dut-label", value_name = "K=V", value_parser = values::parsed::<Label>, hide_short_help = true)]
    pub(crate) labels: Vec<Label>,
    /// Leave out the test of the tester itself, which else comes first and bounds what the results may claim
    #[arg(long, hide_short_help = true)]
    pub(crate) skip_self_test: bool,
    /// Take the tester's own part, as its test has found it, out of every latency
    #[arg(long, conflicts_with = "skip_self_test", hide_short_help = true)]
    pub(crate) subtract_baseline: bool,
}

/// What the device is held to.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = CLAIMS)]
pub(crate) struct ClaimArgs {
    /// With which code point frames come out, in all cases (IN=OUT) or in one (CASE:IN=OUT), such as remark:cs0=ef; of policing, those in profile; may be repeated, as all --expect-...
    #[arg(long = "expect-marking", value_name = "[CASE:]IN=OUT", value_parser = bench_values::marking)]
    pub(crate) markings: Vec<MarkingClaim>,
    /// In which VLAN frames come out, likewise: 10=20, 10=untagged, untagged=10; 0 is a tag for its priority only
    #[arg(long = "expect-vlan", value_name = "[CASE:]IN=OUT", value_parser = bench_values::vlan, hide_short_help = true)]
    pub(crate) vlans: Vec<MarkingClaim>,
    /// With which 802.1p priority frames come out, likewise: 5=5, 5=untagged
    #[arg(long = "expect-priority", value_name = "[CASE:]IN=OUT", value_parser = bench_values::priority, hide_short_help = true)]
    pub(crate) priorities: Vec<MarkingClaim>,
    /// With which code point of congestion notification frames come out, likewise: ect0=ect0, not-ect=not-ect
    #[arg(long = "expect-ecn", value_name = "[CASE:]IN=OUT", value_parser = bench_values::ecn, hide_short_help = true)]
    pub(crate) ecns: Vec<MarkingClaim>,
    /// Anomalies that break no claim: order (frames of a flow are reordered), copies (frames are duplicated); separated by commas
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',', hide_short_help = true)]
    pub(crate) allow: Vec<AnomalyName>,
    /// End with exit code 6 also where a claim is NOT KNOWN: neither broken nor shown to hold [default: such a claim leaves it at 0]
    #[arg(long, hide_short_help = true)]
    pub(crate) require_verdicts: bool,
    /// A limit on a result in all cases, sizes and loads, such as 'loss_ratio<=0.1%' (broken: exit code 6); may be repeated
    #[arg(long, value_name = "LIMIT", value_parser = values::parsed::<Limit>)]
    pub(crate) limit: Vec<Limit>,
}

/// What is kept of a benchmark of a device.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct DeviceOutputArgs {
    /// Write the figures of the page, each a file, to this folder
    #[arg(long, value_name = "DIR", value_parser = Format::FIGURES.path(), hide_short_help = true)]
    pub(crate) svg: Option<PathBuf>,
    /// Write the frames of a trial as a capture, each with what became of it (200,000 of each port at the most)
    #[arg(long, value_name = "FILE", value_parser = Format::CAPTURE.target(), hide_short_help = true)]
    pub(crate) pcapng: Option<String>,
    /// Of which trial, counted from 1 [default: 1]
    #[arg(long, value_name = "N", requires = "pcapng", value_parser = values::rounds, allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) pcapng_trial: Option<u32>,
    /// Continue an interrupted benchmark: the same trials in the same order, from the first that was not kept
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub(crate) resume: Option<PathBuf>,
}

/// An anomaly that `--allow` accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AnomalyName {
    /// The device reorders frames of a flow
    Order,
    /// The device duplicates frames
    Copies,
}
