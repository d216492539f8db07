//! The arguments: what there is, and how it is explained.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use romer_measure::limits::Limit;
use romer_measure::names::Target;
use romer_session::reflector::Prefix;
use romer_traffic::{DepartureJitter, TrafficModel};
use romer_units::random::Seed;
use romer_units::{Dscp, Duration};

use crate::failure::Failure;
use crate::output::Color;
use crate::values;

/// The longest argument that is looked at.
const LONGEST: usize = 4_096;

/// A network-performance laboratory: measure a path, and know how far each number can be trusted.
#[derive(Debug, Parser)]
#[command(
    name = "romer",
    version,
    about = "A network-performance laboratory: measure a path, and know how far each number can be trusted.",
    long_about = "A network-performance laboratory: measure a path, and know how far each number can be trusted.\n\n\
        Start a responder on one host and measure it from another:\n\n    \
        there$ romer respond\n    here$  romer measure THERE\n\n\
        or see it all on this machine, without a network:\n\n    romer demo",
    after_help = "Quantities carry their units: 45ms 10us 1m30s, 64B, 100Mbit, 148809pps.\n\
        Exit codes: 0 done, 1 fault of romer, 2 usage, 3 bad data, 4 environment, 5 far end, 6 a limit broken,\n130 interrupted.",
    subcommand_required = true,
    arg_required_else_help = false
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What romer does.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure delay, its variation, loss and order to one or more targets
    Measure(Box<MeasureArgs>),
    /// Answer test packets: a STAMP reflector, and the far end of romer's own sessions
    Respond(RespondArgs),
    /// Read a run again: summary, page, JSON, CSV; completes a run whose program was killed
    Report(ReportArgs),
    /// Test hosts in network namespaces of this machine
    Lab(LabArgs),
    /// The whole story on this machine: lab, voice streams, report
    Demo(DemoArgs),
    /// What this machine can do, what follows from it, and what to mend
    Doctor(DoctorArgs),
}

/// Arguments of `romer measure`.
#[derive(Debug, Args)]
#[command(
    long_about = "Measure delay, its variation, loss and order to one or more targets.\n\n\
        The target runs `romer respond`, whose log then comes back, so that both directions are known by stamps of \
        both kernels. Where no romer answers, any STAMP or TWAMP-Light reflector at UDP port 862 is measured, with \
        what it tells. Each run is kept in a folder of its own, also when it is interrupted or killed.",
    after_help = "Examples:\n  \
        romer measure voice.example --traffic melp --duration 1m --dscp ef\n  \
        romer measure 192.0.2.1 2001:db8::1 --interval 20ms --count 1000 --json result.json\n  \
        romer measure 192.0.2.7:8620 --stamp-only\n  \
        romer measure voice.example --limit 'round_trip.delay_ns.p99<150ms' --limit 'forward.loss.ratio<=1%'"
)]
pub(crate) struct MeasureArgs {
    /// Where to.
    #[arg(
        help = "Where to: HOST, HOST:CONTROLPORT, [IPV6]:CONTROLPORT; with --stamp-only the port is the reflector's UDP port",
        required = true, value_name = "TARGET", value_parser = |text: &str| text.parse::<Target>())]
    pub(crate) targets: Vec<Target>,
    /// Send so many probes
    #[arg(long, value_name = "N", value_parser = values::count, allow_hyphen_values = true, conflicts_with = "duration")]
    pub(crate) count: Option<u64>,
    /// Send for so long, or `forever` [default: 10s, and a trace to its end]
    #[arg(long, value_name = "D", value_parser = values::duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Mean time between probes, in talk where the traffic falls silent [default: 100ms; codecs have their own]
    #[arg(long, value_name = "D", value_parser = values::interval, allow_hyphen_values = true)]
    pub(crate) interval: Option<Duration>,
    /// Octets of UDP payload [default: as the traffic asks, and at least 44B, a STAMP packet]
    #[arg(long, value_name = "B", value_parser = values::size, allow_hyphen_values = true, conflicts_with = "packet_size")]
    pub(crate) size: Option<u32>,
    /// Octets of IP packet
    #[arg(long, value_name = "B", value_parser = values::size, allow_hyphen_values = true)]
    pub(crate) packet_size: Option<u32>,
    /// When probes leave, and how large they are: periodic, poisson, melp, g711, opus, talkspurt:p59, ... (see --help)
    #[arg(long, value_name = "MODEL", long_help = crate::traffic::HELP, default_value = "periodic", value_parser = |text: &str| text.parse::<TrafficModel>().map_err(|error| error.to_string()))]
    pub(crate) traffic: TrafficModel,
    /// Codec frames in a packet (melp: 2 to 5; g711, g729: 10 ms each, 1 to 20; opus: 1 to 6) [default: 2; opus: 1]
    #[arg(long, value_name = "N", value_parser = values::bundle, allow_hyphen_values = true)]
    pub(crate) bundle: Option<u32>,
    /// Delay each departure on purpose, in order: uniform:LOW,HIGH normal:MEAN,STDDEV exponential:MEAN tick:PERIOD
    #[arg(long, value_name = "MODEL", value_parser = |text: &str| text.parse::<DepartureJitter>().map_err(|error| error.to_string()))]
    pub(crate) departure_jitter: Option<DepartureJitter>,
    /// Which stamps: best, kernel, user
    #[arg(long, value_name = "PLACE", default_value = "best")]
    pub(crate) stamp: StampPlace,
    /// Code point of the probes: EF, AF41, CS5 or 0 to 63
    #[arg(long, value_name = "NAME|N", default_value = "cs0", value_parser = |text: &str| text.parse::<Dscp>().map_err(|error| error.to_string()), allow_hyphen_values = true)]
    pub(crate) dscp: Dscp,
    /// Time to live, or hop limit, of the probes [default: 255]
    #[arg(long, value_name = "N", value_parser = values::ttl, allow_hyphen_values = true)]
    pub(crate) ttl: Option<u8>,
    /// Source address of the probes
    #[arg(long, value_name = "ADDR", value_parser = values::source, allow_hyphen_values = true)]
    pub(crate) source: Option<IpAddr>,
    /// Interface of the probes
    #[arg(long, value_name = "IF", value_parser = values::interface)]
    pub(crate) interface: Option<String>,
    /// Measure a reflector that is not romer: no control channel, port 862 unless the target has one
    #[arg(long)]
    pub(crate) stamp_only: bool,
    /// Wait so long for a reflection before it counts as lost
    #[arg(long, value_name = "D", default_value = "2s", value_parser = values::waiting, allow_hyphen_values = true)]
    pub(crate) waiting_time: Duration,
    /// Hold a result against a bound; repeat for more; one that is broken gives exit code 6
    #[arg(long, value_name = "PATH<BOUND", value_parser = |text: &str| text.parse::<Limit>())]
    pub(crate) limit: Vec<Limit>,
    /// Words to keep with the run
    #[arg(long, value_name = "TEXT")]
    pub(crate) comment: Option<String>,
    /// Seed of random schedules: six numbers, as a run prints them [default: a random one]
    #[arg(long, value_name = "S1,...,S6", value_parser = |text: &str| text.parse::<Seed>().map_err(|error| error.to_string()), allow_hyphen_values = true)]
    pub(crate) seed: Option<Seed>,
    /// Folder of the run [default: a new one under $XDG_STATE_HOME/romer/runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the run in --out, and the file of --json
    #[arg(long)]
    pub(crate) force: bool,
    /// Write the measurement document (romer/measurement/1) at the end; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<String>,
    /// Write one JSON object a line to standard output while running
    #[arg(long)]
    pub(crate) stream: bool,
    /// Time between two lines of --stream
    #[arg(long, value_name = "D", default_value = "500ms", value_parser = values::stream_interval, allow_hyphen_values = true)]
    pub(crate) stream_interval: Duration,
    /// Print no prose
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// IPv4 only
    #[arg(short = '4', long = "ipv4", conflicts_with = "ipv6")]
    pub(crate) ipv4: bool,
    /// IPv6 only
    #[arg(short = '6', long = "ipv6")]
    pub(crate) ipv6: bool,
    /// Colour of the summary
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

/// Where stamps are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum StampPlace {
    /// The nearest to the wire that both ends have
    Best,
    /// By the network card (refused: this version cannot)
    Nic,
    /// By the kernel
    Kernel,
    /// By the program
    User,
}

/// Arguments of `romer respond`.
#[derive(Debug, Args)]
#[command(
    long_about = "Answer test packets: a reflector for STAMP (RFC 8762) and TWAMP-Light senders, and the far end of \
        romer's own sessions.\n\nOpen to all by default, within its limits: a reply is never longer than its request, \
        and each /32 or /56 has a rate. It runs until it is interrupted or ended by SIGTERM.",
    after_help = "Examples:\n  romer respond\n  romer respond --listen 192.0.2.1:8620 --control 192.0.2.1:8862 --allow 192.0.2.0/24"
)]
pub(crate) struct RespondArgs {
    /// Where test packets are received; repeat for more [default: port 862 of all addresses]
    #[arg(long, value_name = "ADDR:PORT", value_parser = values::listen_address, allow_hyphen_values = true)]
    pub(crate) listen: Vec<SocketAddr>,
    /// Where control conversations are received; repeat for more [default: port 8862 of the same addresses]
    #[arg(long, value_name = "ADDR:PORT", value_parser = values::listen_address, allow_hyphen_values = true)]
    pub(crate) control: Vec<SocketAddr>,
    /// Which stamps: best, kernel, user
    #[arg(long, value_name = "PLACE", default_value = "best")]
    pub(crate) stamp: StampPlace,
    /// Answer only this range; repeat for more [default: all]
    #[arg(long, value_name = "PREFIX", value_parser = |text: &str| text.parse::<Prefix>())]
    pub(crate) allow: Vec<Prefix>,
    /// Packets that one /32 or /56 may send, burst one second
    #[arg(long, value_name = "RATE", default_value = "100000pps", value_parser = values::packet_rate, allow_hyphen_values = true)]
    pub(crate) rate: u64,
    /// Print no prose
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Arguments of `romer report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  romer report ~/.local/state/romer/runs/20261121T090000Z-host\n  \
    romer report RUN --csv packets.csv --html report.html")]
pub(crate) struct ReportArgs {
    /// Folder of a run
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Write the page to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<String>,
    /// Write the charts, each a file, to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,
    /// Write the packet log; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<String>,
    /// Write the document, computed again from the packet log; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<String>,
    /// Which stream of the run, from 0, for --csv [default: 0]
    #[arg(long, value_name = "N", value_parser = values::stream_number, allow_hyphen_values = true)]
    pub(crate) stream: Option<u16>,
    /// Overwrite files
    #[arg(long)]
    pub(crate) force: bool,
    /// Print no prose
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Colour of the summary
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

/// Arguments of `romer lab`.
#[derive(Debug, Args)]
#[command(
    long_about = "Test hosts in network namespaces of this machine, as root or (where the kernel allows it) without.\n\n\
        path    A/t0 - E/e0, E/e1 - B/t1: one network, with a place between for an emulator\n\
        router  A/t0 - R/r0, R/r1 - B/t1: a real Linux router between two networks",
    after_help = "Examples:\n  romer lab up path\n  romer lab run B -- romer respond &\n  romer lab run A -- romer measure 198.18.0.3\n  romer lab down"
)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

/// What a lab does.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Make the hosts and their links
    Up {
        /// path or router
        kind: LabKind,
        /// What the hosts' names begin with
        #[arg(long, default_value = "romer", value_name = "X")]
        prefix: String,
    },
    /// Remove everything that `up` made
    Down {
        /// What the hosts' names begin with
        #[arg(long, default_value = "romer", value_name = "X")]
        prefix: String,
    },
    /// Run a command on a host
    Run {
        /// A, B, E or R, or the host's whole name
        host: String,
        /// What the hosts' names begin with
        #[arg(long, default_value = "romer", value_name = "X")]
        prefix: String,
        /// The command and its arguments, after --
        #[arg(required = true, last = true, value_name = "CMD")]
        command: Vec<OsString>,
    },
}

/// The kinds of lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LabKind {
    /// Two hosts on one network, with a place between for an emulator
    Path,
    /// Two hosts in two networks, with a router between
    Router,
}

/// Arguments of `romer demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Measure for so long
    #[arg(long, value_name = "D", default_value = "10s", value_parser = values::duration, allow_hyphen_values = true)]
    pub(crate) duration: Duration,
    /// Write the document (romer/demo/1); - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<String>,
    /// Folder of the run [default: a new one under $XDG_STATE_HOME/romer/runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the run in --out, and the file of --json
    #[arg(long)]
    pub(crate) force: bool,
    /// Print no prose
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Colour of the summary
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// The part of the demonstration that runs on the lab's first host, towards this target
    #[arg(long, hide = true, value_name = "TARGET", value_parser = |text: &str| text.parse::<Target>())]
    pub(crate) inside: Option<Target>,
}

/// Arguments of `romer doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Write the document (romer/doctor/1) to standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Colour
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

/// What the arguments come to.
pub(crate) enum Invocation {
    /// Do this.
    Run(Cli),
    /// Show this text: help, or the version.
    Show(String),
}

/// Reads the arguments.
pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, Failure> {
    let arguments = checked(arguments)?;
    let command = Cli::command();
    match command.try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => Ok(Invocation::Run(cli)),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                Ok(Invocation::Show(error.render().to_string()))
            }
            _ => Err(Failure::usage(explained(&error))),
        },
    }
}

/// Arguments that are text and of a sane length. What follows `--` belongs to another program and is left alone.
fn checked(arguments: impl IntoIterator<Item = OsString>) -> Result<Vec<OsString>, Failure> {
    let mut ours = true;
    let mut checked = Vec::new();
    for (place, argument) in arguments.into_iter().enumerate() {
        if ours && place > 0 {
            let Some(text) = argument.to_str() else {
                let head: Vec<u8> = argument.as_encoded_bytes().iter().take(60).copied().collect();
                return Err(Failure::usage(format!(
                    "an argument is not text (argument {place}): \"{}\" is not valid UTF-8; write it in UTF-8",
                    head.escape_ascii()
                )));
            };
            if text.len() > LONGEST {
                return Err(Failure::usage(format!(
                    "an argument is too long (argument {place}): {:?}... has {} octets; write at most {LONGEST}",
                    text.chars().take(60).collect::<String>(),
                    text.len()
                )));
            }
            ours = text != "--";
        }
        checked.push(argument);
    }
    Ok(checked)
}

/// clap's error as one line: what, where, why, what to do.
fn explained(error: &clap::Error) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        Some(ContextValue::StyledStr(text)) => Some(text.to_string()),
        Some(ContextValue::StyledStrs(texts)) => {
            Some(texts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
        _ => None,
    };
    let short = |text: String| -> String { text.chars().take(200).collect() };
    let argument = context(ContextKind::InvalidArg).map(short).unwrap_or_default();
    let flag = name(&argument);
    let did_you_mean = |kind| context(kind).map(|text| format!("; did you mean {text}?"));
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let mend = did_you_mean(ContextKind::SuggestedArg)
                .unwrap_or_else(|| "; see --help for those that there are".into());
            format!("unknown argument ({flag}): there is none of this name{mend}")
        }
        ErrorKind::InvalidSubcommand => {
            let name = context(ContextKind::InvalidSubcommand).map(short).unwrap_or_default();
            let mend = did_you_mean(ContextKind::SuggestedSubcommand)
                .unwrap_or_else(|| "; see `romer --help` for those that there are".into());
            let name = if name.is_empty() { "\"\"".into() } else { name };
            format!("unknown command ({name}): there is none of this name{mend}")
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "a command is missing (command line): nothing says what to do; see --help, or begin with `romer demo`"
                .into()
        }
        ErrorKind::MissingRequiredArgument => {
            format!("an argument is missing ({argument}): it cannot be left out; see --help for an example")
        }
        ErrorKind::ArgumentConflict => match context(ContextKind::PriorArg).map(|prior| name(&prior)) {
            Some(other) if other != flag => {
                format!("two arguments contradict each other ({flag}, {other}): only one can hold; choose one")
            }
            _ => format!("an argument is given twice ({flag}): only one can hold; choose one"),
        },
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let value = context(ContextKind::InvalidValue).map(short).unwrap_or_default();
            let valid = context(ContextKind::ValidValue).filter(|valid| !valid.is_empty());
            match (std::error::Error::source(error), valid) {
                (Some(why), _) => format!("bad value ({flag}): {why}"),
                (None, Some(valid)) if value.is_empty() => {
                    format!("a value is missing ({flag}): it is one of {valid}; choose one")
                }
                (None, Some(valid)) => {
                    format!("bad value ({flag}): {value:?} is none of {valid}; choose one")
                }
                (None, None) => format!("a value is missing ({flag}): it cannot be left out; see --help"),
            }
        }
        ErrorKind::TooManyValues => {
            format!("a value too many ({flag}): it takes none; leave out what follows the name")
        }
        ErrorKind::WrongNumberOfValues | ErrorKind::TooFewValues => {
            format!("wrong number of values ({flag}): it takes another number; see --help")
        }
        _ => {
            let why = short(error.render().to_string().trim_start_matches("error: ").replace('\n', " "));
            format!("bad arguments (command line): {why}; see --help")
        }
    }
}

/// The name of an argument that clap shows with its value.
fn name(argument: &str) -> String {
    argument.split([' ', '=']).next().unwrap_or_default().trim_matches(['<', '>', '.']).to_string()
}
