//! Arguments of `romer bench`.

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

use super::shared::{KeepArgs, OutputArgs};
use romer_method::policing::Profile;

use crate::bench::stream::StreamArgument;
use crate::bench::values::{self as bench_values, CaseArgument, Label, Loads, Sizes};
use crate::formats::Format;
use crate::values;

/// Arguments of `romer bench`.
#[derive(Debug, Args)]
#[command(
    long_about = "Benchmark a device between two ports: test frames leave by one and are taken in by the other, each \
        with its stream, number and stamp, so that the fate and the latency of every single one is known. First the tester \
        itself is tested, over a link beside the device.\n\n\
        throughput   the highest load that loses nothing (RFC 2544 section 26.1)\n\
        load-sweep   offered against carried load, latency and jitter at each load\n\
        latency      the same, at the loads given\n\
        frame-loss   loss from the full line downwards (RFC 2544 section 26.3)\n\
        back-to-back the longest burst that loses nothing (RFC 9004)\n\
        recovery     how long losses go on after an overload (RFC 2544 section 26.5)\n\
        reset        how long the device is away that --reset resets (RFC 6201)\n\
        policing     whether a policer passes what conforms and nothing else, frame by frame\n\
        priority     whether each class gets what its scheduler owes it\n\
        self-test    the tester itself, over a link from one port to the other\n\n\
        All of it can stand in a file: romer bench PLAN.toml, with the options' names as keys, [[stream]] and [[case]].\n\n\
        Every trial is kept as it ends: a benchmark that was interrupted goes on by romer bench --resume DIR.\n\n\
        Frames that the tester could not send are told apart and are never counted as lost. Run it against devices of \
        your own, in a network of their own (RFC 6815).",
    after_help = "Examples:\n  romer lab up router\n  romer lab run A -- romer bench load-sweep --tx romerA/t0 --rx romerB/t1 \
        --frame-sizes 64,512,1518 --loads 10%..90%:20% --line-rate 10Mbit --trial 2s --repeat 3 \
        --case none=true --json -\n  romer bench throughput --tx eth1 --rx eth2 --source 198.18.0.2 \
        --destination 198.19.0.2 --line-rate 1000Mbit --trial 60s\n  romer bench self-test --tx eth1 --rx eth2 --source 198.18.0.2 \
        --destination 198.18.0.3 --line-rate 1000Mbit"
)]
pub(crate) struct BenchArgs {
    /// throughput, load-sweep, latency, frame-loss, back-to-back, recovery, reset, policing, priority, self-test; or a plan, FILE.toml
    #[arg(value_name = "PROCEDURE|PLAN.toml", value_parser = bench_values::wish, required_unless_present = "resume")]
    pub(crate) wish: Option<Wish>,
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
    #[arg(long, value_name = "MAC", value_parser = bench_values::mac)]
    pub(crate) next_hop: Option<MacAddress>,
    /// What the load is.
    #[command(flatten)]
    pub(crate) load: BenchLoadArgs,
    /// How trials go.
    #[command(flatten)]
    pub(crate) trials: BenchTrialArgs,
    /// What the device is held to.
    #[command(flatten)]
    pub(crate) claims: BenchClaimArgs,
    /// Write a page with figures and tables of the results
    #[arg(long, value_name = "FILE", value_parser = Format::PAGE.target(), help_heading = "Output")]
    pub(crate) html: Option<String>,
    /// Write the figures of that page, each a file, to this folder
    #[arg(long, value_name = "DIR", value_parser = Format::FIGURES.path(), help_heading = "Output")]
    pub(crate) svg: Option<PathBuf>,
    /// Write the frames of a trial as a capture, each with what became of it (200,000 of each port at the most)
    #[arg(long, value_name = "FILE", value_parser = Format::CAPTURE.target(), help_heading = "Output")]
    pub(crate) pcapng: Option<String>,
    /// Of which trial, counted from 1
    #[arg(long, value_name = "N", default_value = "1", requires = "pcapng", value_parser = values::rounds, allow_hyphen_values = true, help_heading = "Output")]
    pub(crate) pcapng_trial: u32,
    /// Go on with an interrupted benchmark: the same trials in the same order, from the first that was not kept
    #[arg(long, value_name = "DIR", conflicts_with = "out", help_heading = "Output")]
    pub(crate) resume: Option<PathBuf>,
    /// Where the trials are kept, each as it ends.
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    /// Where the results go.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What the load is.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct BenchLoadArgs {
    /// Frame sizes with check sequence, one after the other [default: 64,128,256,512,1024,1280,1518]
    #[arg(long, value_name = "B,...", value_parser = values::parsed::<Sizes>, conflicts_with = "imix")]
    pub(crate) frame_sizes: Option<Sizes>,
    /// A mixture of sizes: seed003, simple, or a genome of RFC 6985 such as aaafg
    #[arg(long, value_name = "MIX", value_parser = values::parsed::<Imix>)]
    pub(crate) imix: Option<Imix>,
    /// Loads in percent of the line rate: 10%..95%:5% (both ends included), 10%,50% or both, with commas [default: 10%..95%:5%; of priority what makes 50 %, 100 % and 150 % of --capacity, and of strict priority where each class competes with the next]
    #[arg(long, value_name = "LOADS", value_parser = values::parsed::<Loads>, allow_hyphen_values = true)]
    pub(crate) loads: Option<Loads>,
    /// What loads are percentages of, with preamble and gap (layer 1)
    #[arg(long, value_name = "RATE", default_value = "100Mbit", value_parser = bench_values::line_rate, allow_hyphen_values = true)]
    pub(crate) line_rate: LineRate,
    /// Greatest loss ratio that passes, of throughput: 0 is RFC 2544's, 0.5% a usual other one [default: 0]
    #[arg(long, value_name = "P", value_parser = values::share, allow_hyphen_values = true)]
    pub(crate) loss_ratio: Option<f64>,
    /// How a throughput is searched for [default: binary]
    #[arg(long, value_name = "HOW")]
    pub(crate) search: Option<SearchName>,
    /// Share of bad trials that is forgiven, with --search mlr [default: 0]
    #[arg(long, value_name = "P", value_parser = values::share, allow_hyphen_values = true)]
    pub(crate) exceed_ratio: Option<f64>,
    /// A stream: name=voice,dscp=ef,share=20%,ports=5001,... (see the manual); may be repeated
    #[arg(long = "stream", value_name = "K=V,...", value_parser = values::parsed::<StreamArgument>)]
    pub(crate) streams: Vec<StreamArgument>,
    /// To how much of the line rate a throughput is found [default: 0.5%]
    #[arg(long, value_name = "P", value_parser = bench_values::resolution, allow_hyphen_values = true)]
    pub(crate) resolution: Option<f64>,
}

/// How trials go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Trials")]
pub(crate) struct BenchTrialArgs {
    /// How long a trial sends, up to a day (RFC 2544 wants 60s of those that decide)
    #[arg(long, value_name = "D", default_value = "10s", value_parser = bench_values::time, allow_hyphen_values = true)]
    pub(crate) trial: Duration,
    /// How long a trial sends that only leads a search [default: a tenth of --trial]
    #[arg(long, value_name = "D", value_parser = bench_values::time, allow_hyphen_values = true)]
    pub(crate) search_trial: Option<Duration>,
    /// How often all of it is done; intervals need two (five make them narrow), that of a median over repeats six [default: 1]
    #[arg(long, value_name = "N", value_parser = values::rounds, allow_hyphen_values = true)]
    pub(crate) repeat: Option<u32>,
    /// How long is waited before each trial, and after it for frames under way (at given loads, from the last that came on) [default: 2s, in a laboratory 200ms; with --profile as long as its bucket takes to fill]
    #[arg(long, value_name = "D", value_parser = bench_values::time, allow_hyphen_values = true)]
    pub(crate) settle: Option<Duration>,
    /// How long a device that has stopped forwarding is waited for
    #[arg(long, value_name = "D", default_value = "60s", value_parser = values::duration, allow_hyphen_values = true)]
    pub(crate) patience: Duration,
    /// A state of the device, and the shell command that brings it there; may be repeated
    #[arg(long = "case", value_name = "NAME=COMMAND", value_parser = values::parsed::<CaseArgument>)]
    pub(crate) cases: Vec<CaseArgument>,
    /// How long the command of a case, or that of --reset, may take before it is ended and the benchmark with it [default: 10m]
    #[arg(long, value_name = "D", value_parser = bench_values::time, allow_hyphen_values = true)]
    pub(crate) case_time: Option<Duration>,
    /// The shell command that resets the device, of the procedure reset: a fifth of --trial after its beginning
    #[arg(long, value_name = "COMMAND")]
    pub(crate) reset: Option<String>,
    /// What is known of the device: model=..., software=..., or anything else; may be repeated
    #[arg(long = "dut-label", value_name = "K=V", value_parser = values::parsed::<Label>)]
    pub(crate) labels: Vec<Label>,
    /// Leave out the test of the tester itself, which else comes first and bounds what the results may claim
    #[arg(long)]
    pub(crate) skip_self_test: bool,
    /// Take the tester's own part, as its test has found it, out of every latency
    #[arg(long, conflicts_with = "skip_self_test")]
    pub(crate) subtract_baseline: bool,
    /// Seed of the order of trials, of random sizes and gaps [default: a random one]
    #[arg(long, value_name = "S1,...,S6", value_parser = values::parsed::<Seed>, allow_hyphen_values = true)]
    pub(crate) seed: Option<Seed>,
    /// Print the trials and how long they take, and make none; --json writes them as a document
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// What the device is held to.
#[derive(Debug, Args)]
#[command(next_help_heading = "What the device is held to")]
pub(crate) struct BenchClaimArgs {
    /// What a policer lets through, of all streams together that have no profile= of their own: frames, 625pps,20, or octets of IP packets, 5Mbit,20kB
    #[arg(long, value_name = "RATE,DEPTH", value_parser = bench_values::profile, allow_hyphen_values = true)]
    pub(crate) profile: Option<Profile>,
    /// How a scheduler serves the streams, the most important first
    #[arg(long, value_name = "HOW")]
    pub(crate) discipline: Option<DisciplineName>,
    /// What its line carries, of frames with check sequence (layer 2)
    #[arg(long, value_name = "RATE", value_parser = bench_values::line_rate, allow_hyphen_values = true)]
    pub(crate) capacity: Option<LineRate>,
    /// With which code point frames come out, in all cases (IN=OUT) or in one (CASE:IN=OUT), such as remark:cs0=ef; with --profile, those in profile; may be repeated, as all --expect-...
    #[arg(long = "expect-marking", value_name = "[CASE:]IN=OUT", value_parser = bench_values::marking)]
    pub(crate) markings: Vec<MarkingClaim>,
    /// In which VLAN frames come out, likewise: 10=20, 10=untagged, untagged=10; 0 is a tag for its priority only
    #[arg(long = "expect-vlan", value_name = "[CASE:]IN=OUT", value_parser = bench_values::vlan)]
    pub(crate) vlans: Vec<MarkingClaim>,
    /// With which 802.1p priority frames come out, likewise: 5=5, 5=untagged
    #[arg(long = "expect-priority", value_name = "[CASE:]IN=OUT", value_parser = bench_values::priority)]
    pub(crate) priorities: Vec<MarkingClaim>,
    /// With which code point of congestion notification frames come out, likewise: ect0=ect0, not-ect=not-ect
    #[arg(long = "expect-ecn", value_name = "[CASE:]IN=OUT", value_parser = bench_values::ecn)]
    pub(crate) ecns: Vec<MarkingClaim>,
    /// With which code point frames come out that are out of profile, where the policer remarks them: af11=af13; may be repeated
    #[arg(long = "excess-marking", value_name = "[CASE:]IN=OUT", value_parser = bench_values::marking)]
    pub(crate) excess: Vec<MarkingClaim>,
    /// Anomalies that break no claim: order (frames of a flow are reordered), copies (frames are duplicated); separated by commas
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',')]
    pub(crate) allow: Vec<AnomalyName>,
    /// End with exit code 6 also where a claim is NOT KNOWN: neither broken nor shown to hold [default: such a claim leaves it at 0]
    #[arg(long)]
    pub(crate) require_verdicts: bool,
    /// A limit on a result in all cases, sizes and loads, such as 'loss_ratio<=0.1%' (broken: exit code 6); may be repeated
    #[arg(long, value_name = "LIMIT", value_parser = values::parsed::<Limit>)]
    pub(crate) limit: Vec<Limit>,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// A procedure, by options.
    Procedure(ProcedureName),
    /// What a file says.
    Plan(String),
}

/// An anomaly that `--allow` accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AnomalyName {
    /// The device reorders frames of a flow
    Order,
    /// The device duplicates frames
    Copies,
}

/// How a scheduler serves its classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DisciplineName {
    /// A class is served when none before it waits
    Strict,
    /// Each has its share by weight
    Weighted,
    /// All wait in one queue of so many frames
    Fifo,
    /// All wait in one queue of so many octets, in which large frames find room no more often than small ones
    FifoOctets,
}

/// How a throughput is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SearchName {
    /// By halving
    Binary,
    /// By multiple loss ratio search
    Mlr,
}

/// What is to be found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ProcedureName {
    /// The highest load that loses nothing
    Throughput,
    /// Offered against carried, latency and jitter at each load
    LoadSweep,
    /// Latency and jitter at the loads given
    Latency,
    /// Loss from the full line downwards
    FrameLoss,
    /// The longest burst that loses nothing
    BackToBack,
    /// How long losses go on after an overload
    Recovery,
    /// How long the device is away that is reset
    Reset,
    /// Whether a policer passes what conforms and nothing else
    Policing,
    /// Whether each class gets what its scheduler owes it
    Priority,
    /// Whether the tester itself does what it is asked for, over a link from one port to the other
    SelfTest,
}
