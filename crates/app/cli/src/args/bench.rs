//! Arguments of `romer bench`: a subcommand for each procedure, which takes what applies to it and nothing else.

mod groups;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use romer_bench::options::MarkingClaim;
use romer_method::policing::Profile;
use romer_units::LineRate;

use crate::bench::values::{self as bench_values, Loads};
use crate::values;

pub(crate) use groups::{AnomalyName, DeviceArgs, FrameArgs, LoadsArgs, RunArgs, SearchArgs};

/// Arguments of `romer bench`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_value_name = "PROCEDURE",
    subcommand_help_heading = "Procedures",
    override_usage = "romer bench PROCEDURE [OPTIONS]\n       romer bench PLAN.toml [OPTIONS]\n       romer bench --resume DIR [OPTIONS]",
    long_about = "Benchmark a device between two ports: test frames leave by one port and arrive at the other. Each frame has its \
        stream, number and time stamp, so the fate and the latency of every frame are known. A self-test of the tester comes \
        first, over a link that bypasses the device.\n\n\
        `romer bench PROCEDURE --help` shows the options of a procedure.\n\n\
        A plan is a file with the options as keys, [[stream]] and [[case]]: romer bench PLAN.toml. Options after its name \
        replace keys of the plan.\n\n\
        Every trial is saved as it ends. romer bench --resume DIR continues an interrupted benchmark.\n\n\
        Frames that the tester could not send are counted separately, never as lost. Benchmark only your own devices, in a \
        network of their own (RFC 6815).",
    after_help = "Examples:\n  romer lab up router\n  romer lab run A -- romer bench throughput --tx romerA/t0 --rx romerB/t1 \\\n    \
        --line-rate 10Mbit --trial 2s\n  romer bench throughput --tx eth1 --rx eth2 --source 198.18.0.2 \\\n    \
        --destination 198.19.0.2 --line-rate 1000Mbit --trial 60s\n  romer bench self-test --tx eth1 --rx eth2 --source 198.18.0.2 \\\n    \
        --destination 198.18.0.3 --line-rate 1000Mbit\n\n\
        Options of a procedure or plan, such as --tx, --rx and --line-rate: romer bench PROCEDURE --help"
)]
pub(crate) struct BenchArgs {
    /// The procedure.
    #[command(subcommand)]
    pub(crate) procedure: Option<ProcedureArgs>,
    /// Continue an interrupted benchmark with its first missing trial
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<PathBuf>,
    /// Benchmark plan; the options after it replace its keys
    #[arg(value_name = "PLAN.toml", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

/// A procedure and its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum ProcedureArgs {
    /// Find the highest load without loss (RFC 2544 section 26.1)
    #[command(after_help = "Example:\n  romer bench throughput --tx eth1 --rx eth2 --source 198.18.0.2 \\\n\
            \x20   --destination 198.19.0.2 --line-rate 1000Mbit --trial 60s")]
    Throughput(Box<ThroughputArgs>),
    /// Measure offered vs. forwarded load, loss, latency and its variation at each load
    #[command(
        after_help = "Example:\n  romer lab run A -- romer bench load-sweep --tx romerA/t0 --rx romerB/t1 \\\n\
            \x20   --frame-sizes 64,512,1518 --loads 10%..90%:20% --line-rate 10Mbit \\\n\
            \x20   --trial 2s --repeat 3"
    )]
    LoadSweep(Box<SweepArgs>),
    /// Measure the latency of every frame at each load (RFC 2544 section 26.2)
    #[command(
        after_help = "Example:\n  romer lab run A -- romer bench latency --tx romerA/t0 --rx romerB/t1 \\\n\
            \x20   --frame-sizes 64,1518 --loads 50% --line-rate 10Mbit"
    )]
    Latency(Box<SweepArgs>),
    /// Measure loss from full line rate downwards (RFC 2544 section 26.3)
    #[command(
        after_help = "Example:\n  romer lab run A -- romer bench frame-loss --tx romerA/t0 --rx romerB/t1 \\\n\
            \x20   --frame-sizes 64,512 --line-rate 10Mbit"
    )]
    FrameLoss(Box<FrameLossArgs>),
    /// Find the longest burst without loss (RFC 9004)
    #[command(after_help = "Example:\n  romer lab run A -- romer bench back-to-back --tx romerA/t0 \\\n\
            \x20   --rx romerB/t1 --frame-sizes 64 --line-rate 10Mbit --trial 2s")]
    BackToBack(Box<SearchedArgs>),
    /// Measure how long losses continue after an overload (RFC 2544 section 26.5)
    #[command(
        after_help = "Example:\n  romer lab run A -- romer bench recovery --tx romerA/t0 --rx romerB/t1 \\\n\
            \x20   --frame-sizes 512 --line-rate 100Mbit"
    )]
    Recovery(Box<SearchedArgs>),
    /// Measure how long a reset by --reset takes (RFC 6201)
    #[command(after_help = "Example:\n  romer bench reset --tx eth1 --rx eth2 --source 198.18.0.2 \\\n\
            \x20   --destination 198.19.0.2 --line-rate 1000Mbit --frame-sizes 512 \\\n\
            \x20   --trial 120s --reset 'ssh device reload'")]
    Reset(Box<ResetArgs>),
    /// Test the conformance of a policer, frame by frame
    #[command(
        after_help = "Example:\n  romer lab run A -- romer bench policing --tx romerA/t0 --rx romerB/t1 \\\n\
            \x20   --profile 625pps,20 --frame-sizes 128 --line-rate 1184kbit \\\n\
            \x20   --loads 50%,100% --trial 3s"
    )]
    Policing(Box<PolicingArgs>),
    /// Test the share of each class of a scheduler
    #[command(
        after_help = "Example:\n  romer lab run A -- romer bench priority --tx romerA/t0 --rx romerB/t1 \\\n\
            \x20   --discipline strict --capacity 1Mbit --line-rate 4Mbit \\\n\
            \x20   --stream name=high,dscp=ef --stream name=low"
    )]
    Priority(Box<PriorityArgs>),
    /// Test the tester itself, over a link between its ports
    #[command(after_help = "Example:\n  romer bench self-test --tx eth1 --rx eth2 --source 198.18.0.2 \\\n\
            \x20   --destination 198.18.0.3 --line-rate 1000Mbit")]
    SelfTest(Box<RunArgs>),
}

impl ProcedureArgs {
    /// What every procedure takes, and what those take that test a device.
    pub(crate) fn shared(&self) -> (&RunArgs, Option<&DeviceArgs>) {
        match self {
            Self::Throughput(own) => (&own.run, Some(&own.device)),
            Self::LoadSweep(own) | Self::Latency(own) => (&own.run, Some(&own.device)),
            Self::FrameLoss(own) => (&own.run, Some(&own.device)),
            Self::BackToBack(own) | Self::Recovery(own) => (&own.run, Some(&own.device)),
            Self::Reset(own) => (&own.run, Some(&own.device)),
            Self::Policing(own) => (&own.run, Some(&own.device)),
            Self::Priority(own) => (&own.run, Some(&own.device)),
            Self::SelfTest(run) => (run, None),
        }
    }

    /// What every procedure takes.
    pub(crate) fn run(&self) -> &RunArgs {
        self.shared().0
    }

    /// What those take that search for a load.
    pub(crate) fn search(&self) -> Option<&SearchArgs> {
        match self {
            Self::Throughput(own) => Some(&own.search),
            Self::BackToBack(own) | Self::Recovery(own) => Some(&own.search),
            _ => None,
        }
    }

    /// The given loads.
    pub(crate) fn loads(&self) -> Option<&Loads> {
        match self {
            Self::LoadSweep(own) | Self::Latency(own) => own.loads.loads.as_ref(),
            Self::Reset(own) => own.loads.as_ref(),
            Self::Policing(own) => own.loads.loads.as_ref(),
            Self::Priority(own) => own.loads.as_ref(),
            _ => None,
        }
    }
}

/// Arguments of `romer bench throughput`.
#[derive(Debug, Args)]
pub(crate) struct ThroughputArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    /// Search method [default: binary]
    #[arg(long = "search", value_name = "HOW", help_heading = groups::LOAD)]
    pub(crate) how: Option<SearchName>,
    /// Tolerated share of failed trials, such as 10%, with --search mlr [default: 0]
    #[arg(long, value_name = "P", value_parser = values::share, allow_hyphen_values = true, help_heading = groups::LOAD)]
    pub(crate) exceed_ratio: Option<f64>,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// Arguments of `romer bench load-sweep` and `latency`.
#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) loads: LoadsArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// Arguments of `romer bench frame-loss`.
#[derive(Debug, Args)]
pub(crate) struct FrameLossArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// Arguments of `romer bench back-to-back` and `recovery`.
#[derive(Debug, Args)]
pub(crate) struct SearchedArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// Arguments of `romer bench reset`.
#[derive(Debug, Args)]
pub(crate) struct ResetArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Shell command that resets the device, run after a fifth of --trial
    #[arg(long, value_name = "COMMAND", help_heading = groups::TRIALS)]
    pub(crate) reset: Option<String>,
    /// Load during the reset, in percent of the line rate [default: 50%]
    #[arg(long, value_name = "LOAD", value_parser = values::parsed::<Loads>, allow_hyphen_values = true, help_heading = groups::LOAD)]
    pub(crate) loads: Option<Loads>,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// Arguments of `romer bench policing`.
#[derive(Debug, Args)]
pub(crate) struct PolicingArgs {
    /// Profile: 625pps,20 (frames) or 5Mbit,20kB (bytes of IP)
    ///
    /// It applies to streams without a profile= of their own.
    #[arg(long, value_name = "RATE,DEPTH", value_parser = bench_values::profile, allow_hyphen_values = true, help_heading = groups::POLICER)]
    pub(crate) profile: Option<Profile>,
    /// Expected DSCP of excess frames: af11=af13; repeatable
    #[arg(long = "excess-marking", value_name = "[CASE:]IN=OUT", value_parser = bench_values::marking, help_heading = groups::POLICER)]
    pub(crate) excess: Vec<MarkingClaim>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) loads: LoadsArgs,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// Arguments of `romer bench priority`.
#[derive(Debug, Args)]
pub(crate) struct PriorityArgs {
    /// Scheduling discipline, with the streams in order of priority
    #[arg(long, value_name = "HOW", help_heading = groups::SCHEDULER)]
    pub(crate) discipline: Option<DisciplineName>,
    /// Line rate behind the scheduler: 10Mbit (layer 2 with check sequence)
    #[arg(long, value_name = "RATE", value_parser = bench_values::line_rate, allow_hyphen_values = true, help_heading = groups::SCHEDULER)]
    pub(crate) capacity: Option<LineRate>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Loads in percent of the line rate: 10%,50% [default: by --capacity]
    ///
    /// The default is 50 %, 100 % and 150 % of --capacity, and with strict a load at which each class competes with the next.
    #[arg(long, value_name = "LOADS", value_parser = values::parsed::<Loads>, allow_hyphen_values = true, help_heading = groups::LOAD)]
    pub(crate) loads: Option<Loads>,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// How a scheduler serves its classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DisciplineName {
    /// Strict priority
    Strict,
    /// Shares by weight
    Weighted,
    /// One queue, limited in frames
    Fifo,
    /// One queue, limited in bytes
    FifoOctets,
}

/// How a throughput is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SearchName {
    /// Binary search
    Binary,
    /// Multiple loss ratio search (MLRsearch)
    Mlr,
}
