//! Arguments of `romer emulate`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use romer_endpoint::names::Target;
use romer_port::{PortError, PortName};
use romer_units::random::Seed;
use romer_units::{Dscp, Duration, Rate};

use super::console::{SERVING, ServingArgs};
use super::measure::DirectionOption;
use super::shared::{ADVANCED, ExporterArgs, OUTPUT, OutputArgs};
use crate::formats::Format;
use crate::values;

/// Headings of the help.
const IMPAIRMENTS: &str = "Impairments, in both directions";
const SCENARIO: &str = "Scenario";
const OFFLINE: &str = "Recorded packets";
const FOLLOW: &str = "A path to follow";

/// Arguments of `romer emulate`.
#[derive(Debug, Args)]
#[command(
    long_about = "Emulate a network: apply loss, delay and a rate to the packets between two ports, for each direction \
        separately. Every packet is accounted for.\n\nThe ports are bridged transparently: any Ethernet frame passes, and \
        they need no addresses. During the run their offloads are off, and an interface that belongs to a bridge is \
        removed from it. Both are restored at exit, also if the program is killed. The emulation ends after --duration, \
        by SIGINT or SIGTERM, or when its terminal is closed (except under nohup).",
    after_help = "Examples:\n  romer emulate --port a=eth1 --port b=eth2 --delay 30ms --loss 1%\n  romer lab up path\n  \
        romer lab run E -- romer emulate --port a=e0 --port b=e1 --rate 10Mbit --delay 20ms\n  \
        romer emulate --port a=eth1 --port b=eth2 --preset 4g-download --loss 2%\n  \
        romer emulate --port a=eth1 --port b=eth2 --follow far.example.net --out followed\n  \
        romer emulate --offline --arrivals packets.csv --delay 30ms --loss 1% --departures -"
)]
pub(crate) struct EmulateArgs {
    /// Port a=[NETNS/]IFACE or b=[NETNS/]IFACE; give the option once for each
    #[arg(long = "port", value_name = "a=IF", required_unless_present_any = ["offline", "list_presets", "print_scenario"], value_parser = values::parsed::<PortArgument>)]
    pub(crate) ports: Vec<PortArgument>,
    /// Duration in seconds, or 5m, 1h, forever [default: forever]
    #[arg(long, short = 't', value_name = "D", value_parser = values::duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// What is done to packets.
    #[command(flatten)]
    pub(crate) impairments: ImpairmentArgs,
    /// Files instead of ports.
    #[command(flatten)]
    pub(crate) files: OfflineArgs,
    /// A path whose model is emulated.
    #[command(flatten)]
    pub(crate) follow: FollowArgs,
    /// Samples.
    #[command(flatten)]
    pub(crate) samples: SampleArgs,
    /// Where the results go.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Full-screen display while running; q quits, p pauses
    #[arg(long, help_heading = OUTPUT, conflicts_with_all = ["offline", "quiet"])]
    pub(crate) tui: bool,
    #[command(flatten)]
    pub(crate) exporter: ExporterArgs,
    /// Serve the API and the console of the emulation [default port: 8870]
    ///
    /// They show and change the emulation while it runs.
    #[arg(long, help_heading = SERVING, value_name = "ADDR:PORT", value_parser = values::api, conflicts_with = "offline")]
    pub(crate) api: Option<std::net::SocketAddr>,
    /// How that is served.
    #[command(flatten)]
    pub(crate) serving: ServingArgs,
    /// Sockets that receive and send packets
    #[arg(long, help_heading = ADVANCED, hide_short_help = true, value_name = "PLANE", default_value = "auto")]
    pub(crate) data_plane: DataPlane,
    /// Allow an interface that carries this host's default route
    #[arg(long, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) allow_default_route: bool,
}

/// What is kept of single packets.
#[derive(Debug, Args)]
#[command(next_help_heading = OUTPUT)]
pub(crate) struct SampleArgs {
    /// Write the fate of each packet and duplicate of a live emulation
    #[arg(long, hide_short_help = true, value_name = "FILE.csv", conflicts_with = "offline", value_parser = Format::TABLE.packet_file())]
    pub(crate) samples: Option<PathBuf>,
    /// Write the arriving packets, with fate and delay as comments
    #[arg(long, hide_short_help = true, value_name = "FILE.pcapng", conflicts_with = "offline", value_parser = Format::CAPTURE.packet_file())]
    pub(crate) pcapng: Option<PathBuf>,
    /// Save samples, results and an HTML report to a new folder
    #[arg(long, value_name = "DIR", value_parser = Format::FOLDER.path())]
    pub(crate) out: Option<PathBuf>,
}

/// A path that is measured while its model is emulated.
#[derive(Debug, Args)]
#[command(next_help_heading = FOLLOW)]
pub(crate) struct FollowArgs {
    /// Measure the path to TARGET meanwhile, and refit the scenario to it
    ///
    /// Packets from port a to port b get the forward direction of the path. Until the first refit, the impairments of the command line apply.
    #[arg(long = "follow", value_name = "TARGET", value_parser = values::parsed::<Target>, conflicts_with_all = ["offline", "scenario", "preset"])]
    pub(crate) target: Option<Target>,
    /// Length of a period, 2s to 24h; a refit follows each
    #[arg(long, hide_short_help = true, value_name = "D", default_value = "30s", requires = "target", value_parser = values::refit_period, allow_hyphen_values = true)]
    pub(crate) refit_every: Duration,
    /// Time between probes
    #[arg(long, short, hide_short_help = true, value_name = "D", default_value = "20ms", requires = "target", value_parser = values::interval, allow_hyphen_values = true)]
    pub(crate) interval: Duration,
    /// round-trip, forward, reverse or both
    #[arg(
        long,
        value_name = "DIRECTION",
        default_value = "round-trip",
        requires = "target",
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub(crate) direction: DirectionOption,
    /// DSCP of the probes: a name (EF, AF41, CS5) or 0 to 63
    #[arg(long, hide_short_help = true, value_name = "DSCP", default_value = "cs0", requires = "target", value_parser = values::parsed::<Dscp>, allow_hyphen_values = true)]
    pub(crate) dscp: Dscp,
    /// The target is a STAMP or TWAMP-Light reflector that is not romer
    #[arg(long, hide_short_help = true, requires = "target")]
    pub(crate) stamp_only: bool,
}

/// What is done to packets.
#[derive(Debug, Args)]
#[command(next_help_heading = IMPAIRMENTS)]
pub(crate) struct ImpairmentArgs {
    /// Delay every packet by D, such as 30ms, in order
    #[arg(long, value_name = "D", value_parser = values::delay, allow_hyphen_values = true)]
    pub(crate) delay: Option<Duration>,
    /// Add a random delay of mean J (exponential), such as 5ms, in order
    ///
    /// J is also the mean absolute difference of the delays of consecutive packets, at intervals above the delays.
    #[arg(long, value_name = "J", value_parser = values::delay, allow_hyphen_values = true)]
    pub(crate) jitter: Option<Duration>,
    /// Random loss of this share of the packets: 1% or 0.01
    ///
    /// Values of 1 or more need a percent sign.
    #[arg(long, value_name = "P", value_parser = values::share, allow_hyphen_values = true)]
    pub(crate) loss: Option<f64>,
    /// Duplicate this share of the packets: 1% or 0.01
    #[arg(long, hide_short_help = true, value_name = "P", value_parser = values::share, allow_hyphen_values = true)]
    pub(crate) duplicate: Option<f64>,
    /// Reorder this share of the packets, each by one packet: 1% or 0.01
    #[arg(long, hide_short_help = true, value_name = "P", value_parser = values::share, allow_hyphen_values = true)]
    pub(crate) reorder: Option<f64>,
    /// Rate limit in layer-2 frames, such as 10Mbit, with a queue of 64 KiB
    ///
    /// With a preset that has a rate, its layer and queue stay.
    #[arg(long, value_name = "RATE", value_parser = values::parsed::<Rate>, allow_hyphen_values = true)]
    pub(crate) rate: Option<Rate>,
    /// Size of the queue before the rate limit, 64B to 4GiB
    #[arg(long, hide_short_help = true, value_name = "BYTES", value_parser = values::queue, allow_hyphen_values = true)]
    pub(crate) queue: Option<u64>,
    /// Seed of all random decisions: six numbers, as a run prints them [default: random]
    #[arg(long, hide_short_help = true, value_name = "S1,...,S6", value_parser = values::parsed::<Seed>, allow_hyphen_values = true)]
    pub(crate) seed: Option<Seed>,
}

impl ImpairmentArgs {
    /// Whether an option changes what is done to packets.
    pub(crate) const fn is_any(&self) -> bool {
        self.delay.is_some()
            || self.jitter.is_some()
            || self.loss.is_some()
            || self.duplicate.is_some()
            || self.reorder.is_some()
            || self.rate.is_some()
            || self.queue.is_some()
    }
}

/// Files instead of ports.
#[derive(Debug, Args)]
#[command(next_help_heading = OFFLINE)]
pub(crate) struct OfflineArgs {
    /// List the included scenarios with delay, jitter, loss, rate and source
    #[arg(long, help_heading = SCENARIO, exclusive = true)]
    pub(crate) list_presets: bool,
    /// Print the scenario that would be emulated, as a file, and end
    #[arg(long, help_heading = SCENARIO, hide_short_help = true, conflicts_with = "offline")]
    pub(crate) print_scenario: bool,
    /// Run in virtual time, from --arrivals to --departures
    #[arg(long, requires = "arrivals",
        conflicts_with_all = ["ports", "data_plane", "duration", "allow_default_route", "metrics", "otlp"])]
    pub(crate) offline: bool,
    /// Scenario file (TOML)
    #[arg(long, help_heading = SCENARIO, value_name = "FILE.toml", conflicts_with_all = ["preset", "delay", "jitter", "loss", "duplicate", "reorder", "rate", "queue"])]
    pub(crate) scenario: Option<PathBuf>,
    /// Included scenario, see --list-presets
    ///
    /// Impairments that are given too replace those of the preset.
    #[arg(long, help_heading = SCENARIO, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// Arriving packets: a table (time_ns,port,size) or a capture
    ///
    /// In a capture (pcap, pcapng), interface 0 is port a, and interface 1 is port b.
    #[arg(long, value_name = "FILE", requires = "offline")]
    pub(crate) arrivals: Option<PathBuf>,
    /// Largest IP packet of the output, in bytes; a capture with longer packets is refused [default: 1500]
    #[arg(long, hide_short_help = true, value_name = "BYTES", requires = "offline", value_parser = values::mtu, allow_hyphen_values = true)]
    pub(crate) mtu: Option<u32>,
    /// Split longer frames of a capture, which offloads have merged (GRO, TSO)
    #[arg(long, hide_short_help = true, requires = "offline")]
    pub(crate) segment: bool,
    /// Skip longer frames of a capture that are not split
    #[arg(long, hide_short_help = true, requires = "offline")]
    pub(crate) skip: bool,
    /// Fates of packets and duplicates with --offline; - is standard output
    ///
    /// Not needed with --out.
    #[arg(long, value_name = "FILE.csv", value_parser = Format::TABLE.target(), requires = "offline")]
    pub(crate) departures: Option<String>,
}

/// How packets come in and go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DataPlane {
    /// XDP if both ports support it and VLAN tags are visible (not on virtual links), else packet
    Auto,
    /// Packet sockets: any interface with switchable offloads, also without root in a lab
    Packet,
    /// AF_XDP sockets: twice the rate; needs root, one receive queue, and an MTU of at most 3,814 bytes (less with some drivers)
    Xdp,
}

/// A port as it is given: `a=IF` or `b=IF`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortArgument {
    /// 0 for a, 1 for b.
    pub(crate) place: usize,
    pub(crate) name: PortName,
}

impl FromStr for PortArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shown = romer_units::excerpt(text, 64);
        let (place, name) = match text.split_once('=') {
            Some(("a", name)) => (0, name),
            Some(("b", name)) => (1, name),
            _ => return Err(format!("{shown:?} is neither a=IF nor b=IF; write a=eth1 or b=NETNS/eth1")),
        };
        let name = name.parse().map_err(|error: PortError| {
            format!("{error}; write an interface, or NETNS/IF for one of another network namespace")
        })?;
        Ok(Self { place, name })
    }
}
