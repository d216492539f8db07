//! Arguments of `romer emulate`.

use std::path::PathBuf;

use clap::Args;
use romer_units::random::Seed;
use romer_units::{Duration, Rate};

use super::console::ServingArgs;
use super::shared::OutputArgs;
use crate::emulate::PortArgument;
use crate::formats::Format;
use crate::values;

/// Arguments of `romer emulate`.
#[derive(Debug, Args)]
#[command(
    long_about = "Emulate a network: packets that pass between two ports are lost, delayed and held to a rate as asked \
        for, each direction by itself, and every one of them is accounted for.\n\nThe ports are bridged transparently: \
        any Ethernet frame passes, and they need no addresses. For the time of the run their offloads are off, and an \
        interface that belongs to a bridge of the kernel is taken out of it; all is put back at the end, also when the \
        program is killed. It runs until its --duration is over, it is interrupted or ended by SIGTERM, or \
        its terminal is closed (unless that is to be ignored: nohup).",
    after_help = "Examples:\n  romer emulate --port a=eth1 --port b=eth2 --delay 30ms --loss 1%\n  romer lab up path\n  \
        romer lab run E -- romer emulate --port a=e0 --port b=e1 --rate 10Mbit --delay 20ms\n  \
        romer emulate --port a=eth1 --port b=eth2 --preset wpt-4g\n  \
        romer emulate --offline --arrivals packets.csv --delay 30ms --loss 1% --departures -"
)]
pub(crate) struct EmulateArgs {
    /// The two ports, an interface each: a=[NETNS/]IFACE and b=[NETNS/]IFACE
    #[arg(long = "port", value_name = "a=IF", required_unless_present_any = ["offline", "list_presets"], value_parser = values::parsed::<PortArgument>)]
    pub(crate) ports: Vec<PortArgument>,
    /// How packets come in and go out
    #[arg(long, value_name = "PLANE", default_value = "auto")]
    pub(crate) data_plane: DataPlane,
    /// End after this time, or `forever` [default: forever]
    #[arg(long, value_name = "D", value_parser = values::duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Take ports even if this host reaches the world by one of them
    #[arg(long)]
    pub(crate) yes_cut_me_off: bool,
    /// Draw it on the whole terminal while it runs: rates, ledger, delay asked for and held; q ends, p holds the picture
    #[arg(long, conflicts_with_all = ["offline", "quiet"])]
    pub(crate) tui: bool,
    /// Let programs and browsers watch and change it, at this address: ADDR or ADDR:PORT [default port: 8870]
    #[arg(long, value_name = "ADDR:PORT", value_parser = values::api, conflicts_with = "offline")]
    pub(crate) api: Option<std::net::SocketAddr>,
    /// How that is served.
    #[command(flatten)]
    pub(crate) serving: ServingArgs,
    /// What is done to packets.
    #[command(flatten)]
    pub(crate) impairments: ImpairmentArgs,
    /// Files instead of ports.
    #[command(flatten)]
    pub(crate) files: OfflineArgs,
    /// Samples.
    #[command(flatten)]
    pub(crate) samples: SampleArgs,
    /// Where the results go.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What is kept of single packets.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct SampleArgs {
    /// Write what became of each packet and copy, a line each, in order of arrival
    #[arg(long, value_name = "FILE.csv", conflicts_with = "offline", value_parser = Format::TABLE.packet_file())]
    pub(crate) samples: Option<PathBuf>,
    /// Write the packets as they arrived, each with its fate and delay as a comment
    #[arg(long, value_name = "FILE.pcapng", conflicts_with = "offline", value_parser = Format::CAPTURE.packet_file())]
    pub(crate) pcapng: Option<PathBuf>,
    /// Keep samples, results and a page of figures in this folder, a new or an empty one
    #[arg(long, value_name = "DIR", value_parser = Format::FOLDER.path())]
    pub(crate) out: Option<PathBuf>,
}

/// What is done to packets.
#[derive(Debug, Args)]
#[command(next_help_heading = "Impairments, of both directions")]
pub(crate) struct ImpairmentArgs {
    /// Hold every packet this long, in order
    #[arg(long, value_name = "D", value_parser = values::delay, allow_hyphen_values = true)]
    pub(crate) delay: Option<Duration>,
    /// Lose this share of the packets, each by itself: 1% or 0.01
    #[arg(long, value_name = "P", value_parser = values::share, allow_hyphen_values = true)]
    pub(crate) loss: Option<f64>,
    /// Let no more than this through, counted in frames (layer 2), with a queue of 64 KiB before it
    #[arg(long, value_name = "RATE", value_parser = values::parsed::<Rate>, allow_hyphen_values = true)]
    pub(crate) rate: Option<Rate>,
    /// Seed of all chance: six numbers, as a run prints them [default: a random one]
    #[arg(long, value_name = "S1,...,S6", value_parser = values::parsed::<Seed>, allow_hyphen_values = true)]
    pub(crate) seed: Option<Seed>,
}

/// Files instead of ports.
#[derive(Debug, Args)]
#[command(next_help_heading = "Scenarios, and virtual time: recorded arrivals instead of ports")]
pub(crate) struct OfflineArgs {
    /// Show the scenarios that come with romer, with source and year
    #[arg(long, exclusive = true)]
    pub(crate) list_presets: bool,
    /// In virtual time, from --arrivals to --departures, as a scenario, a preset or --delay, --loss and --rate say
    #[arg(long, requires = "arrivals",
        conflicts_with_all = ["ports", "data_plane", "duration", "yes_cut_me_off"])]
    pub(crate) offline: bool,
    /// What network to emulate: a file in TOML
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = ["preset", "delay", "loss", "rate"])]
    pub(crate) scenario: Option<PathBuf>,
    /// What network to emulate: one that comes with romer (see --list-presets)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["delay", "loss", "rate"])]
    pub(crate) preset: Option<String>,
    /// The packets that arrive: lines of time_ns,port,size, or a capture (pcap, pcapng) whose first interface is port a
    /// and whose second is port b
    #[arg(long, value_name = "FILE", requires = "offline")]
    pub(crate) arrivals: Option<PathBuf>,
    /// The largest IP packet that the output takes, of a capture: one with longer frames is refused [default: 1500B]
    #[arg(long, value_name = "B", requires = "offline", value_parser = values::mtu, allow_hyphen_values = true)]
    pub(crate) mtu: Option<u32>,
    /// Take longer frames of a capture apart, which offloads have joined (GRO, TSO)
    #[arg(long, requires = "offline")]
    pub(crate) segment: bool,
    /// Leave out longer frames of a capture that are not taken apart
    #[arg(long, requires = "offline")]
    pub(crate) skip: bool,
    /// What becomes of them, a line for each packet and copy; - is standard output (not needed with --out)
    #[arg(long, value_name = "FILE.csv", value_parser = Format::TABLE.target(), requires = "offline")]
    pub(crate) departures: Option<String>,
}

/// How packets come in and go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DataPlane {
    /// XDP where both ports take it and show VLAN tags as the wire would (not on virtual links), else packet
    Auto,
    /// Packet sockets: any interface that can be kept from joining frames, also without root in a lab of one's own
    Packet,
    /// AF_XDP sockets: twice the rate; as root, one receive queue, an MTU of up to 3,814 octets (the driver may take less)
    Xdp,
}
