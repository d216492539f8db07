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
