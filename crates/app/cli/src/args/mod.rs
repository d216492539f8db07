//! The arguments and their help. A module for each command, [`shared`] for arguments of several commands, [`parse`] for parsing
//! and for errors.

mod agent;
mod analyze;
mod bench;
mod calibrate;
mod closed_loop;
mod compare;
mod completions;
mod console;
mod demo;
mod doctor;
mod emulate;
mod fleet;
mod help;
mod lab;
mod manual;
mod measure;
mod model;
mod noise;
mod pair;
mod parse;
mod qtcp;
mod report;
mod respond;
mod rsvp;
mod runs;
mod shared;
mod start;

use clap::{CommandFactory, Parser, Subcommand};

pub(crate) use agent::AgentArgs;
pub(crate) use analyze::AnalyzeArgs;
pub(crate) use bench::{
    AnomalyName, BenchArgs, DeviceArgs, DisciplineName, FrameArgs, PolicingArgs, PriorityArgs, ProcedureArgs,
    RunArgs, SearchArgs, SearchName,
};
pub(crate) use calibrate::CalibrateArgs;
pub(crate) use closed_loop::{LoopArgs, LoopLimit};
pub(crate) use compare::CompareArgs;
pub(crate) use completions::CompletionsArgs;
pub(crate) use console::{ConsoleArgs, ServingArgs};
pub(crate) use demo::DemoArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use emulate::{
    DataPlane, EmulateArgs, FollowArgs, ImpairmentArgs, OfflineArgs, PortArgument, SampleArgs,
};
pub(crate) use fleet::{
    FleetArgs, FleetCommand, PlanCheckArgs, PlanCommand, PlanDiffArgs, PlanOutputArgs, PlanShowArgs,
};
pub(crate) use help::HelpArgs;
pub(crate) use lab::{LabArgs, LabCase, LabCommand, LabKind};
pub(crate) use manual::ManualArgs;
pub(crate) use measure::{ChecksumCoverage, DirectionOption, MeasureArgs, TrafficArgs, TurnArgs};
pub(crate) use model::ModelArgs;
pub(crate) use noise::{NoiseArgs, NoiseCommand, SinkArgs, SourceArgs};
pub(crate) use pair::PairArgs;
pub(crate) use parse::{Invocation, read};
pub(crate) use qtcp::{QtcpArgs, ServiceArg};
pub(crate) use report::{ExportDirection, ReportArgs};
pub(crate) use respond::{RespondArgs, TimestampsArg};
pub(crate) use rsvp::{RsvpArgs, RsvpCommand, RsvpReceiveArgs, RsvpSendArgs, RsvpSessionArgs, ServiceOption};
pub(crate) use runs::{FolderArgs, PruneArgs, RemoveArgs, RunsArgs, RunsCommand, ShowArgs};
pub(crate) use shared::{DocumentArgs, ExporterArgs, OutputArgs, StampPlace, check_calibration};
pub(crate) use start::Start;

/// Measure network paths, emulate networks and benchmark forwarding devices.
#[derive(Debug, Parser)]
#[command(
    name = "romer",
    version,
    about = "Measure network paths, emulate networks and benchmark forwarding devices.",
    long_about = "Measure network paths, emulate networks and benchmark forwarding devices.\n\n\
        Start a responder on one host and measure it from another:\n\n    \
        host-b$ romer respond\n    host-a$ romer measure HOST-B\n\n\
        Without a network, see a demonstration on this machine:\n\n    romer demo",
    after_help = "Start with: romer demo, or romer respond on one host and romer measure HOST on another.\n\
        Units: 45ms 10us 1m30s, 64B, 100Mbit, 148809pps, 1%. A number without a unit is accepted where the help states its unit.\n\
        Exit codes: 0 success, 1 internal error, 2 usage, 3 bad data, 4 environment, 5 responder,\n            \
        6 limit failed, 130 interrupted.",
    subcommand_required = true,
    disable_help_subcommand = true,
    arg_required_else_help = false
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Keep all rights of the process after the set-up, to find the cause of a fault
    #[arg(long, global = true, hide = true)]
    pub(crate) no_confine: bool,
}

/// The version as `--version` prints it.
pub(crate) fn version() -> String {
    Cli::command().render_version()
}

/// What romer does.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure delay, jitter, loss and reordering to one or more targets
    Measure(Box<MeasureArgs>),
    /// Answer test packets: a STAMP reflector, and the responder of romer measure
    Respond(Box<RespondArgs>),
    /// Pair this host with a responder, by a code that it shows
    Pair(PairArgs),
    /// Measure to many targets at regular intervals, from a file
    Agent(AgentArgs),
    /// Plan which hosts of a fleet measure each other
    Fleet(FleetArgs),
    /// Analyse a run again, or a packet log: CSV, Qtcp, irtt, ping, captures
    Analyze(Box<AnalyzeArgs>),
    /// Compare two measurements, with confidence intervals
    Compare(CompareArgs),
    /// Show or export a run: summary, HTML, JSON, CSV
    Report(Box<ReportArgs>),
    /// List, show and delete saved runs
    Runs(RunsArgs),
    /// Measure queuing delay as Qtcp does; convert and collate its files
    Qtcp(Box<QtcpArgs>),
    /// Reserve bandwidth for a flow with RSVP
    Rsvp(RsvpArgs),
    /// Emulate a network between two ports: loss, delay, rate
    Emulate(Box<EmulateArgs>),
    /// Turn a measured path into a scenario, or check a scenario against a measurement
    Model(Box<ModelArgs>),
    /// Measure a path, model it, emulate the model, measure again, and compare
    Loop(Box<LoopArgs>),
    /// Benchmark a device between two ports: throughput, loss, latency and DSCP re-marking
    Bench(Box<BenchArgs>),
    /// Send cross traffic of a stated rate, or receive it
    Noise(Box<NoiseArgs>),
    /// Control romer in a browser
    Console(ConsoleArgs),
    /// Test hosts in network namespaces of this machine
    Lab(LabArgs),
    /// End-to-end demo on this machine: lab, emulation, voice streams, report
    Demo(DemoArgs),
    /// Check this machine and suggest fixes
    Doctor(DoctorArgs),
    /// Measure the tool's own error on this machine, and save it for later runs
    Calibrate(Box<CalibrateArgs>),
    /// Write manual pages, shell completions and schemas
    #[command(hide = true)]
    Manual(ManualArgs),
    /// Print the completions for a shell
    Completions(CompletionsArgs),
    /// Explain a command, or list every metric (romer help metrics)
    Help(HelpArgs),
    /// Print the version
    #[command(hide = true)]
    Version,
}
