//! Arguments of `romer measure`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use romer_analyze::limits::Limit;
use romer_endpoint::names::Target;
use romer_measure::ShaperChoice;
use romer_record::service::Service;
use romer_traffic::{DepartureJitter, TokenBucket, TrafficModel};
use romer_units::random::Seed;
use romer_units::{Dscp, Duration, Ecn};

use super::shared::{
    CLOCK, ChannelArgs, ExporterArgs, KeepArgs, OUTPUT, OutputArgs, SkewArgs, StampPlace, ThreadArgs,
    VoiceArgs,
};
use super::start::{self, Start};
use crate::values;

/// Headings of the help.
const TARGET: &str = "Target";
const TRAFFIC: &str = "Traffic";
const SCHEDULE: &str = "Schedule";
const MARKING: &str = "Marking";
const LIMITS: &str = "Limits";

/// What `--help` says of `--traffic`.
const TRAFFIC_MODELS: &str = "When probes leave, and how large they are:

  periodic              at exact multiples of the interval
  poisson               at independent, exponentially distributed gaps
  melp                  MELP speech: 7 B every 22.5 ms, two frames to a packet
  g711, g729            telephone speech in RTP, every 20 ms
  opus[:RATE]           Opus speech in RTP, every 20 ms, at 32kbit or RATE
  amr-wb[:RATE]         AMR-WB speech in RTP, every 20 ms, at 12.65kbit or RATE
  evs[:RATE]            EVS speech in RTP, every 20 ms, at 24.4kbit or RATE
  im                    like instant messaging: about every 5 s, mostly small
  talkspurt:MODEL[@CODEC]
                        alternating talk and silence (models p59, brady, hyper),
                        with the packets of CODEC, or one every --interval
                        (default 20 ms)
  onoff:ON,OFF[@CODEC]  lengths exponential (1s), constant (=1s) or mixed
                        (0.7*400ms+0.3*2s)
  imix:simple, imix:chadda2004, imix:GENOME
                        frame sizes in turn; a genome of RFC 6985 such as
                        aaafg, 20(abcd)5(ggga) or AAZ,A=70B,Z=1400B
  trace:FILE            as recorded: a table with the header offset_ns,size, or
                        a packet log
  token-bucket:RATE,DEPTH
                        as fast as the bucket lets packets of --size pass;
                        both count payload: token-bucket:16kBps,64B
";

/// Arguments of `romer measure`.
#[derive(Debug, Args)]
#[command(
    override_usage = "romer measure [OPTIONS] <TARGET>...",
    long_about = "Measure delay, delay variation, loss and reordering to one or more targets.\n\n\
        The target runs `romer respond`. It returns its packet log, and both directions are measured with time stamps \
        of both kernels. Without a romer responder, any STAMP or TWAMP-Light reflector at UDP port 862 is measured, with \
        what it reports. Each run is saved in a folder of its own, also if it is interrupted or killed.\n\n\
        Several targets are measured in parallel, in one run. A target that does not answer or refuses does not delay the \
        others; the exit code is then 5.",
    after_help = "Examples:\n  \
        romer measure HOST -c 100 -i 20ms --limit 'rtt.p99<150ms' --limit 'loss<=1%'\n  \
        romer measure HOST --traffic g711 --direction both -t 1m --dscp ef\n  \
        romer measure 192.0.2.7:8620 --stamp-only",
    after_long_help = "Examples:\n  \
        romer measure HOST -c 100 -i 20ms --limit 'rtt.p99<150ms' --limit 'loss<=1%'\n  \
        romer measure HOST --traffic g711 --direction both -t 1m --dscp ef\n  \
        romer measure 192.0.2.7:8620 --stamp-only\n  \
        romer measure 192.0.2.1 2001:db8::1 -i 20ms -c 1000 --json result.json\n  \
        romer measure HOST --traffic g711 --limit 'mos>=4' --jitter-buffer 60ms\n  \
        romer measure HOST --every 1h --times 24 --out day --quiet"
)]
pub(crate) struct MeasureArgs {
    /// Targets.
    #[arg(
        help = "HOST, HOST:PORT or [IPV6]:PORT",
        long_help = "HOST, HOST:PORT or [IPV6]:PORT. The port is that of the responder's control channel [default: 8862]; with \
            --stamp-only, the UDP port of the reflector [default: 862]",
        required = true, value_name = "TARGET", value_parser = values::parsed::<Target>)]
    pub(crate) targets: Vec<Target>,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    /// round-trip, forward, reverse or both
    ///
    /// With reverse, only the target sends. With both, each end sends its own packets.
    #[arg(long, value_name = "DIRECTION", default_value = "round-trip", hide_possible_values = true)]
    pub(crate) direction: DirectionOption,
    /// IPv4 only
    #[arg(short = '4', long = "ipv4", conflicts_with = "ipv6", help_heading = TARGET)]
    pub(crate) ipv4: bool,
    /// IPv6 only
    #[arg(short = '6', long = "ipv6", help_heading = TARGET)]
    pub(crate) ipv6: bool,
    /// Source address of the probes
    #[arg(long, value_name = "ADDR", value_parser = values::source, allow_hyphen_values = true, help_heading = TARGET)]
    pub(crate) source: Option<IpAddr>,
    /// Interface of the probes
    #[arg(long, short = 'I', value_name = "IFACE", value_parser = values::interface, help_heading = TARGET)]
    pub(crate) interface: Option<String>,
    /// Measure a STAMP or TWAMP-Light reflector that is not romer
    ///
    /// There is no control channel. The UDP port is 862 unless the target has one.
    #[arg(long, help_heading = TARGET)]
    pub(crate) stamp_only: bool,
    /// Authenticate with the key in this file, which both ends have (mode 0600, 32 bytes or more)
    #[arg(long, value_name = "FILE", help_heading = TARGET, hide_short_help = true)]
    pub(crate) key_file: Option<PathBuf>,
    /// Authenticate the probes with keys of the TLS control channel; no key file is needed
    #[arg(long, help_heading = TARGET, hide_short_help = true, conflicts_with_all = ["key_file", "stamp_only", "insecure"])]
    pub(crate) authenticate: bool,
    #[command(flatten)]
    pub(crate) channel: ChannelArgs,
    /// Skip the discovery of the routers on the path, before the first probe and after the last
    #[arg(long, help_heading = TARGET, hide_short_help = true)]
    pub(crate) no_route: bool,
    #[command(flatten)]
    pub(crate) turns: TurnArgs,
    /// DSCP of the probes: a name (EF, AF41, CS5) or 0 to 63
    #[arg(long, value_name = "DSCP", default_value = "cs0", value_parser = values::parsed::<Dscp>, allow_hyphen_values = true, help_heading = MARKING)]
    pub(crate) dscp: Dscp,
    /// ECN of the probes: not-ect, ect0, ect1 or ce
    #[arg(long, value_name = "ECN", default_value = "not-ect", value_parser = values::parsed::<Ecn>, help_heading = MARKING)]
    pub(crate) ecn: Ecn,
    /// TTL or hop limit of the probes [default: 255]
    #[arg(long, value_name = "N", value_parser = values::ttl, allow_hyphen_values = true, help_heading = MARKING)]
    pub(crate) ttl: Option<u8>,
    /// Service level, which sets DSCP and priority: guaranteed, controlled-load, best-effort or non-conforming
    ///
    /// The priority is that of the packets within this host, which a VLAN maps to the one of IEEE 802.1p. Defaults:
    /// guaranteed cs5 and 5, controlled-load cs3 and 3, best-effort cs0 and 0, non-conforming cs0 and 1.
    #[arg(long, value_name = "LEVEL", value_parser = values::parsed::<Service>, conflicts_with = "dscp", help_heading = MARKING, hide_short_help = true)]
    pub(crate) service: Option<Service>,
    /// Table of the marks of service levels, in TOML, instead of the defaults
    #[arg(long, value_name = "FILE", requires = "service", help_heading = MARKING, hide_short_help = true)]
    pub(crate) marks: Option<PathBuf>,
    /// Mark packets beyond this token bucket (16kBps,640B) as non-conforming: cs0, and priority 1
    ///
    /// Rate and depth count UDP payload. The kernel of this host marks packets that --service would mark otherwise. --marks replaces
    /// the marks ([non-conforming]). This needs nftables and root.
    #[arg(long, value_name = "RATE,DEPTH", value_parser = values::parsed::<TokenBucket>, requires = "service", conflicts_with = "shape",
        allow_hyphen_values = true, help_heading = MARKING, hide_short_help = true)]
    pub(crate) profile: Option<TokenBucket>,
    /// Fail (exit code 6) if a metric does not meet this limit; repeatable
    ///
    /// METRIC is [DIRECTION.]METRIC[.STATISTIC], such as forward.delay_ns.p99, or an alias: loss, rtt.p99, jitter, mos.
    /// `romer help metrics` lists all. The exit code is 5 if a target does not answer.
    #[arg(long, value_name = "METRIC<VALUE", value_parser = values::parsed::<Limit>, help_heading = LIMITS)]
    pub(crate) limit: Vec<Limit>,
    /// Time until a missing packet counts as lost, in seconds or with a unit (500ms)
    #[arg(long, short = 'W', value_name = "D", default_value = "2s", value_parser = values::waiting, allow_hyphen_values = true, help_heading = LIMITS)]
    pub(crate) waiting_time: Duration,
    /// Shape the stream in the kernel, by the token bucket of --traffic: kernel, kernel:htb or kernel:tbf
    ///
    /// htb shapes the stream alone, tbf everything that leaves by the interface. Default: htb, or tbf if the kernel lacks it.
    /// The queueing discipline of the interface is restored at exit, also if romer is killed. This needs CAP_NET_ADMIN.
    #[arg(long, value_name = "SHAPER", value_parser = values::parsed::<ShaperChoice>, help_heading = TRAFFIC, hide_short_help = true)]
    pub(crate) shape: Option<ShaperChoice>,
    /// Probes that are received: whole, those with a right checksum; header, damaged ones too, which are counted
    ///
    /// Damaged probes are counted as corrupted and as lost, with the positions of the flipped bits. Probes then have at least 80
    /// bytes of UDP payload, one-way ones 41. This needs CAP_NET_RAW at both ends.
    #[arg(long, value_name = "COVERAGE", default_value = "whole", help_heading = TRAFFIC, hide_short_help = true)]
    pub(crate) checksum: ChecksumCoverage,
    /// Where the time stamps are taken: best, nic, kernel, user or in-packet
    ///
    /// in-packet: programs of the kernel at both ends write them into the packets. The target is `romer respond --in-packet`, a
    /// STAMP reflector or an echo of UDP beside it; there is no control channel.
    #[arg(long, value_name = "PLACE", default_value = "best", help_heading = CLOCK, hide_short_help = true)]
    pub(crate) stamp: StampPlace,
    #[command(flatten)]
    pub(crate) clocks: SkewArgs,
    /// Fit the clocks to the first N packets of each direction; keep the path idle while they are sent
    ///
    /// With --skew least-squares, least-absolute, least-absolute-jumps or hull. These packets are reported separately; no
    /// metric, limit or rating includes them.
    #[arg(long, value_name = "N", value_parser = values::calibration_packets, allow_hyphen_values = true, help_heading = CLOCK, hide_short_help = true)]
    pub(crate) calibration: Option<u64>,
    /// Subtract the tool's own delay, as `romer calibrate` measured it on this machine
    #[arg(long, help_heading = CLOCK, hide_short_help = true)]
    pub(crate) subtract_baseline: bool,
    #[command(flatten)]
    pub(crate) voice: VoiceArgs,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Also print the test setup, and every metric as named in --limit
    #[arg(long, short, help_heading = OUTPUT, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Write report.html to the folder of the run [default: if standard output is a terminal]
    ///
    /// `romer report RUN --html FILE` writes the report of any run.
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) report: bool,
    /// Full-screen display while running; q quits, p pauses
    #[arg(long, help_heading = OUTPUT, conflicts_with_all = ["json_lines", "quiet"])]
    pub(crate) tui: bool,
    #[command(flatten)]
    pub(crate) exporter: ExporterArgs,
    /// Write one JSON object per line to standard output while running
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) json_lines: bool,
    /// Also write a line of --json-lines for each reply, as it returns: forward, reverse and round-trip delay
    ///
    /// One-way delays are corrected by the clock skew as estimated so far. A line `delays-revised` follows if a later estimate moves
    /// earlier delays by more than their stated error.
    #[arg(long, help_heading = OUTPUT, requires = "json_lines", hide_short_help = true)]
    pub(crate) each: bool,
    /// Time between two lines of --json-lines
    #[arg(long, help_heading = OUTPUT, value_name = "D", default_value = "500ms", value_parser = values::json_lines_interval, allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) json_lines_interval: Duration,
    /// Return the responder's time stamps during the run, to show one-way metrics live
    ///
    /// This takes about 40 bytes per packet of the reverse direction. --tui always has it.
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) live_delays: bool,
    /// Comment to store with the run
    #[arg(long, value_name = "TEXT", help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) comment: Option<String>,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
}

/// What must be right in a probe that is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ChecksumCoverage {
    /// The checksum of UDP over the whole probe
    Whole,
    /// What identifies the probe; damage is counted
    Header,
}

/// Which ways probes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DirectionOption {
    /// To the target and reflected
    RoundTrip,
    /// To the target: one-way probes, logged at both ends
    Forward,
    /// From the target, which sends
    Reverse,
    /// Both directions at the same time, each end sending
    Both,
}

/// What is sent, and when.
#[derive(Debug, Args)]
pub(crate) struct TrafficArgs {
    /// Number of probes; 0 sends none
    #[arg(long, short, value_name = "N", value_parser = values::count, allow_hyphen_values = true, conflicts_with = "duration")]
    pub(crate) count: Option<u64>,
    /// Time between probes, such as 20ms [default: 100ms, or the codec's]
    ///
    /// For random traffic: the mean. For traffic with pauses: the interval within a talk spurt.
    #[arg(long, short, value_name = "D", value_parser = values::interval, allow_hyphen_values = true)]
    pub(crate) interval: Option<Duration>,
    /// Duration in seconds, or 500ms, 5m, 1h, forever [default: 10s]
    ///
    /// The default is 2m with --traffic im, and the length of a trace.
    #[arg(long, short = 't', value_name = "D", value_parser = values::duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// UDP payload in bytes [default: as the traffic needs]
    ///
    /// Round trips need at least 36 bytes; 44 with reflectors other than romer.
    #[arg(long, short, value_name = "BYTES", value_parser = values::size, allow_hyphen_values = true, conflicts_with = "packet_size")]
    pub(crate) size: Option<u32>,
    /// Traffic model, such as g711 (see --help)
    #[arg(long = "traffic", value_name = "MODEL", long_help = TRAFFIC_MODELS, default_value = "periodic", value_parser = values::parsed::<TrafficModel>)]
    pub(crate) model: TrafficModel,
    /// Size of the IP packet in bytes, instead of --size
    #[arg(long, help_heading = TRAFFIC, value_name = "BYTES", value_parser = values::size, allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) packet_size: Option<u32>,
    /// Codec frames per packet [default: 2; opus, amr-wb, evs: 1]
    ///
    /// melp: 2 to 5; g711, g729: 1 to 20, of 10 ms each; opus: 1 to 6; amr-wb, evs: 1 to 10.
    #[arg(long, help_heading = TRAFFIC, value_name = "N", value_parser = values::bundle, allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) bundle: Option<u32>,
    /// Delay each departure on purpose, in order: uniform:LOW,HIGH normal:MEAN,STDDEV exponential:MEAN tick:PERIOD
    #[arg(long, help_heading = TRAFFIC, value_name = "MODEL", value_parser = values::parsed::<DepartureJitter>, hide_short_help = true)]
    pub(crate) departure_jitter: Option<DepartureJitter>,
    /// Seed of random schedules: six numbers, as a run prints them [default: random]
    #[arg(long, help_heading = TRAFFIC, value_name = "S1,...,S6", value_parser = values::parsed::<Seed>, allow_hyphen_values = true, hide_short_help = true)]
    pub(crate) seed: Option<Seed>,
}

/// When it is measured, and how often.
#[derive(Debug, Args)]
pub(crate) struct TurnArgs {
    /// Repeat the measurement every D
    ///
    /// Each run has a folder of its own under --out; --json - prints one document per line. Runs do not overlap.
    #[arg(long, value_name = "D", value_parser = values::every, allow_hyphen_values = true, help_heading = SCHEDULE)]
    pub(crate) every: Option<Duration>,
    /// Number of runs with --every [default: until interrupted]
    #[arg(long, value_name = "N", value_parser = values::times, allow_hyphen_values = true, requires = "every", help_heading = SCHEDULE)]
    pub(crate) times: Option<u64>,
    /// Start at this time (2026-11-22T09:00:00Z), or after this delay (+10s)
    #[arg(long, value_name = "TIME|+D", value_parser = start::start, help_heading = SCHEDULE)]
    pub(crate) start: Option<Start>,
    /// Start when the calibration of a live Qtcp test is complete: HOST or HOST:PORT of its receiver (`romer qtcp -r`)
    ///
    /// The port is 5003 by default. The receiver need not have started.
    #[arg(long, value_name = "HOST", value_parser = values::parsed::<Target>, conflicts_with_all = ["start", "every"], help_heading = SCHEDULE,
        hide_short_help = true)]
    pub(crate) after: Option<Target>,
}
