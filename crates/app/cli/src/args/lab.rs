//! Arguments of `romer lab`.

use std::ffi::OsString;

use clap::{Args, Subcommand};

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
    /// Set what the router does with the packets that it forwards
    Case {
        /// What it does
        case: LabCase,
        /// What the hosts' names begin with
        #[arg(long, default_value = "romer", value_name = "X")]
        prefix: String,
        /// What the line carries that priority, weighted and small-passes share, of frames with check sequence (layer 2), as --capacity of a benchmark
        #[arg(long, default_value = "10Mbit", value_name = "RATE", value_parser = crate::bench::values::line_rate, allow_hyphen_values = true)]
        rate: romer_units::LineRate,
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

/// What the laboratory's router does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LabCase {
    /// It forwards
    None,
    /// It classifies by code point, port, address, protocol and interface
    Classify,
    /// It classifies and remarks: UDP port 5001 and 50001 to EF, 5002 to AF21, 5003 to CS1
    Remark,
    /// Three classes by strict priority, EF, AF21 and the rest, on a line of --rate
    Priority,
    /// The same classes in turns: 6,000, 4,000 and 2,000 octets in each pass
    Weighted,
    /// The same with 200, 150 and 100 octets in a pass, so that large frames of the last class have more than theirs
    SmallPasses,
    /// It lets 625 packets a second pass, in bursts of 20
    Police,
}
