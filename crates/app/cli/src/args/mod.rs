//! The arguments: what there is, and how it is explained. A module for each command, [`shared`] for what several take,
//! [`reading`] for how they are read and how a bad one is told.

mod analyze;
mod bench;
mod calibrate;
mod compare;
mod completions;
mod console;
mod demo;
mod doctor;
mod emulate;
mod help;
mod lab;
mod manual;
mod measure;
mod model;
mod qtcp;
mod reading;
mod report;
mod respond;
mod shared;

use clap::{CommandFactory, Parser, Subcommand};

pub(crate) use analyze::AnalyzeArgs;
pub(crate) use bench::{
    AnomalyName, BenchArgs, DeviceArgs, DisciplineName, FrameArgs, PolicingArgs, PriorityArgs, ProcedureArgs,
    RunArgs, SearchArgs, SearchName,
};
pub(crate) use calibrate::CalibrateArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use completions::CompletionsArgs;
pub(crate) use console::{ConsoleArgs, ServingArgs};
pub(crate) use demo::DemoArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use emulate::{DataPlane, EmulateArgs, ImpairmentArgs, OfflineArgs, SampleArgs};
pub(crate) use help::HelpArgs;
pub(crate) use lab::{LabArgs, LabCase, LabCommand, LabKind};
pub(crate) use manual::ManualArgs;
pub(crate) use measure::{Direction, MeasureArgs, TrafficArgs, TurnArgs};
pub(crate) use model::ModelArgs;
pub(crate) use qtcp::QtcpArgs;
pub(crate) use reading::{Invocation, read};
pub(crate) use report::{OneWay, ReportArgs};
pub(crate) use respond::{RespondArgs, TimestampsArg};
pub(crate) use shared::{OutputArgs, StampPlace, check_calibration};

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
    disable_help_subcommand = true,
    arg_required_else_help = false
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The version as `--version` prints it.
pub(crate) fn version() -> String {
    Cli::command().render_version()
}

/// What romer does.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure delay, its variation, loss and order to one or more targets
    Measure(Box<MeasureArgs>),
    /// Answer test packets: a STAMP reflector, and the far end of romer's own sessions
    Respond(RespondArgs),
    /// Compute a run's document once more, or that of a packet log: CSV, Qtcp, irtt, captures
    Analyze(Box<AnalyzeArgs>),
    /// Compare two measurements, with confidence intervals
    Compare(CompareArgs),
    /// Read a run again: summary, page, JSON, CSV; completes a run whose program was killed
    Report(ReportArgs),
    /// Convert and collate the files of Qtcp
    Qtcp(QtcpArgs),
    /// Emulate a network between two ports: loss, delay, rate
    Emulate(Box<EmulateArgs>),
    /// Turn a measured path into a scenario, or check a scenario against a measurement
    Model(ModelArgs),
    /// Benchmark a device between two ports: throughput, loss, latency and DSCP re-marking
    Bench(Box<BenchArgs>),
    /// See and steer the laboratory in a browser
    Console(ConsoleArgs),
    /// Test hosts in network namespaces of this machine
    Lab(LabArgs),
    /// End-to-end demo on this machine: lab, emulation, voice streams, report
    Demo(DemoArgs),
    /// Check this machine and suggest fixes
    Doctor(DoctorArgs),
    /// Explain a command, or list every metric (romer help metrics)
    Help(HelpArgs),
    /// Write the manual's pages and the completions of shells
    #[command(hide = true)]
    Manual(ManualArgs),
    /// Print the completions for a shell
    Completions(CompletionsArgs),
    /// Print the version
    #[command(hide = true)]
    Version,
    /// Measure the tool's own error on this machine, and keep it for later runs
    Calibrate(CalibrateArgs),
}
