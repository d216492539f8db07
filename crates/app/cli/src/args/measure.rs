//! Arguments of `romer measure`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use romer_analyze::limits::Limit;
use romer_endpoint::names::Target;
use romer_traffic::{DepartureJitter, TrafficModel};
use romer_units::random::Seed;
use romer_units::{Dscp, Duration, Ecn};

use super::shared::{KeepArgs, OutputArgs, SkewArgs, StampPlace, ThreadArgs, VoiceArgs};
use crate::turns::{self, Start};
use crate::values;

/// Arguments of `romer measure`.
#[derive(Debug, Args)]
#[command(
    long_about = "Measure delay, its variation, loss and order to one or more targets.\n\n\
        The target runs `romer respond`, whose log then comes back, so that both directions are known by stamps of \
        both kernels. Where no romer answers, any STAMP or TWAMP-Light reflector at UDP port 862 is measured, with \
        what it tells. Each run is kept in a folder of its own, also when it is interrupted or killed.\n\n\
        Several targets are measured side by side, in one run. One of them that does not answer, or refuses, has its \
        document with the reason and holds up none of the others; the exit code is then 5.",
    after_help = "Examples:\n  \
        romer measure voice.example --traffic melp --duration 1m --dscp ef\n  \
        romer measure 192.0.2.1 2001:db8::1 --interval 20ms --count 1000 --json result.json\n  \
        romer measure 192.0.2.7:8620 --stamp-only\n  \
        romer measure voice.example --traffic melp --direction both\n  \
        romer measure voice.example --limit 'round_trip.delay_ns.p99<150ms' --limit 'forward.loss.ratio<=1%'\n  \
        romer measure voice.example --traffic g711 --limit 'voice.forward.mos>=4' --jitter-buffer 60ms"
)]
pub(crate) struct MeasureArgs {
    /// Where to.
    #[arg(
        help = "Where to: HOST, HOST:CONTROLPORT, [IPV6]:CONTROLPORT; with --stamp-only the port is the reflector's UDP port",
        required = true, value_name = "TARGET", value_parser = values::parsed::<Target>)]
    pub(crate) targets: Vec<Target>,
    /// Which way probes go: round-trip, forward, reverse (the target sends), both (each sends, at once)
    #[arg(long, value_name = "WAY", default_value = "round-trip")]
    pub(crate) direction: Direction,
    /// Which stamps: best, kernel, user
    #[arg(long, value_name = "PLACE", default_value = "best")]
    pub(crate) stamp: StampPlace,
    /// Code point of the probes: EF, AF41, CS5 or 0 to 63
    #[arg(long, value_name = "NAME|N", default_value = "cs0", value_parser = values::parsed::<Dscp>, allow_hyphen_values = true)]
    pub(crate) dscp: Dscp,
    /// ECN bits of the probes: not-ect, ect0, ect1 or ce
    #[arg(long, value_name = "NAME", default_value = "not-ect", value_parser = values::parsed::<Ecn>)]
    pub(crate) ecn: Ecn,
    /// Time to live, or hop limit, of the probes [default: 255]
    #[arg(long, value_name = "N", value_parser = values::ttl, allow_hyphen_values = true)]
    pub(crate) ttl: Option<u8>,
    /// Source address of the probes
    #[arg(long, value_name = "ADDR", value_parser = values::source, allow_hyphen_values = true)]
    pub(crate) source: Option<IpAddr>,
    /// Interface of the probes
    #[arg(long, value_name = "IF", value_parser = values::interface)]
    pub(crate) interface: Option<String>,
    /// IPv4 only
    #[arg(short = '4', long = "ipv4", conflicts_with = "ipv6")]
    pub(crate) ipv4: bool,
    /// IPv6 only
    #[arg(short = '6', long = "ipv6")]
    pub(crate) ipv6: bool,
    /// Measure a reflector that is not romer: no control channel, port 862 unless the target has one
    #[arg(long)]
    pub(crate) stamp_only: bool,
    /// Authenticate the tests with the key in this file, which both ends have (mode 0600, 32 octets or more)
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Do not look for the routers on the way, which is done before the first probe and after the last
    #[arg(long)]
    pub(crate) no_route: bool,
    /// Wait so long for a probe or its reflection before it counts as lost
    #[arg(long, value_name = "D", default_value = "2s", value_parser = values::waiting, allow_hyphen_values = true)]
    pub(crate) waiting_time: Duration,
    /// Hold a result against a bound; repeat for more; one that is broken gives exit code 6, unless a far end is not there (5)
    #[arg(long, value_name = "PATH<BOUND", value_parser = values::parsed::<Limit>)]
    pub(crate) limit: Vec<Limit>,
    /// Take the tool's own baseline out of every delay, as `romer calibrate` found it on this machine
    #[arg(long)]
    pub(crate) subtract_baseline: bool,
    /// The first N packets of a direction are sent to fit the clocks by, over a quiet path; with --skew least-squares,
    /// least-absolute, least-absolute-jumps or hull. They are reported separately, and no figure, limit or rating includes them
    #[arg(long, value_name = "N", value_parser = values::calibration_packets, allow_hyphen_values = true)]
    pub(crate) calibration: Option<u64>,
    #[command(flatten)]
    pub(crate) clocks: SkewArgs,
    #[command(flatten)]
    pub(crate) voice: VoiceArgs,
    /// Words to keep with the run
    #[arg(long, value_name = "TEXT")]
    pub(crate) comment: Option<String>,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    #[command(flatten)]
    pub(crate) turns: TurnArgs,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Write one JSON object a line to standard output while running
    #[arg(long, help_heading = "Output")]
    pub(crate) stream: bool,
    /// Have the far end tell its stamps while the run goes on and not at its end, so that delays, jitter and losses of packets
    /// that go one way are shown meanwhile, in the live line and by --stream: takes some 40 octets a packet of the way from there. --tui always has it
    #[arg(long, help_heading = "Output")]
    pub(crate) live_delays: bool,
    /// Draw it on the whole terminal while it runs: delay as curves, and each stream; q ends, p holds the picture
    #[arg(long, help_heading = "Output", conflicts_with_all = ["stream", "quiet"])]
    pub(crate) tui: bool,
    /// Time between two lines of --stream
    #[arg(long, help_heading = "Output", value_name = "D", default_value = "500ms", value_parser = values::stream_interval, allow_hyphen_values = true)]
    pub(crate) stream_interval: Duration,
}

/// Which ways probes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Direction {
    /// There, and reflected back
    RoundTrip,
    /// There only: one-way probes, logged at both ends
    Forward,
    /// Here only: the target sends
    Reverse,
    /// Both at once, each end sending its own
    Both,
}

/// What is sent, and when.
#[derive(Debug, Args)]
#[command(next_help_heading = "Traffic")]
pub(crate) struct TrafficArgs {
    /// Send so many probes; 0 sends none, and the run is whole all the same
    #[arg(long, value_name = "N", value_parser = values::count, allow_hyphen_values = true, conflicts_with = "duration")]
    pub(crate) count: Option<u64>,
    /// Send for so long, or `forever` [default: 10s, im: 2m, and a trace to its end]
    #[arg(long, value_name = "D", value_parser = values::duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Mean time between probes, in talk where the traffic falls silent [default: 100ms; codecs have their own]
    #[arg(long, value_name = "D", value_parser = values::interval, allow_hyphen_values = true)]
    pub(crate) interval: Option<Duration>,
    /// Octets of UDP payload [default: as the traffic asks; round trips: at least 44B, a STAMP packet]
    #[arg(long, value_name = "B", value_parser = values::size, allow_hyphen_values = true, conflicts_with = "packet_size")]
    pub(crate) size: Option<u32>,
    /// Octets of IP packet
    #[arg(long, value_name = "B", value_parser = values::size, allow_hyphen_values = true)]
    pub(crate) packet_size: Option<u32>,
    /// When probes leave, and how large they are: periodic, poisson, melp, g711, opus, talkspurt:p59, ... (see --help)
    #[arg(long = "traffic", value_name = "MODEL", long_help = crate::traffic::HELP, default_value = "periodic", value_parser = values::parsed::<TrafficModel>)]
    pub(crate) model: TrafficModel,
    /// Codec frames in a packet (melp: 2 to 5; g711, g729: 10 ms each, 1 to 20; opus: 1 to 6; amr-wb, evs: 1 to 10) [default: 2; opus, amr-wb, evs: 1]
    #[arg(long, value_name = "N", value_parser = values::bundle, allow_hyphen_values = true)]
    pub(crate) bundle: Option<u32>,
    /// Delay each departure on purpose, in order: uniform:LOW,HIGH normal:MEAN,STDDEV exponential:MEAN tick:PERIOD
    #[arg(long, value_name = "MODEL", value_parser = values::parsed::<DepartureJitter>)]
    pub(crate) departure_jitter: Option<DepartureJitter>,
    /// Seed of random schedules: six numbers, as a run prints them [default: a random one]
    #[arg(long, value_name = "S1,...,S6", value_parser = values::parsed::<Seed>, allow_hyphen_values = true)]
    pub(crate) seed: Option<Seed>,
}

/// When it is measured, and how often.
#[derive(Debug, Args)]
#[command(next_help_heading = "Turns")]
pub(crate) struct TurnArgs {
    /// Begin at this time (2026-11-22T09:00:00Z, or with +01:00 for Z) or after so long (+10s)
    #[arg(long, value_name = "TIME|+D", value_parser = turns::start)]
    pub(crate) start: Option<Start>,
    /// Measure again and again, each run in a folder of its own under --out, with --json - a document each, on a line; runs do not overlap
    #[arg(long, value_name = "D", value_parser = values::every, allow_hyphen_values = true)]
    pub(crate) every: Option<Duration>,
    /// So many runs of --every [default: until interrupted]
    #[arg(long, value_name = "N", value_parser = values::times, allow_hyphen_values = true, requires = "every")]
    pub(crate) times: Option<u64>,
}
