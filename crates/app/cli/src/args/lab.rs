//! Arguments of `romer lab`.

use std::ffi::OsString;

use clap::{Args, Subcommand};

/// Arguments of `romer lab`.
#[derive(Debug, Args)]
#[command(
    long_about = "Test hosts in network namespaces of this machine, as root or (if the kernel allows it) without.\n\n\
        path    A/t0 - E/e0, E/e1 - B/t1: one network, with an emulator host in between\n\
        router  A/t0 - R/r0, R/r1 - B/t1: a real Linux router between two networks\n\
        chain N  A/t0 - E1/e0, E1/e1 - ... - B/t1: one network, with N emulator hosts in series",
    after_help = "Examples:\n  romer lab up path\n  romer lab run B -- romer respond &\n  romer lab run A -- romer measure 198.18.0.3\n  romer lab down\n  \
        romer lab up router --prefix r\n  romer lab case rsvp --prefix r --rate 128kbit"
)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

/// Subcommands of `romer lab`.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Create the hosts and their links
    Up {
        /// path, router or chain
        kind: LabKind,
        /// Number of emulator hosts of a chain, 1 to 8
        #[arg(value_name = "N", value_parser = crate::values::emulators)]
        emulators: Option<u8>,
        /// Prefix of the host names
        #[arg(long, default_value = "romer", value_name = "X")]
        prefix: String,
    },
    /// Remove everything that `up` created
    Down {
        /// Prefix of the host names
        #[arg(long, default_value = "romer", value_name = "X")]
        prefix: String,
    },
    /// Configure how the router treats forwarded packets
    Case {
        /// Configuration of the router
        case: LabCase,
        /// Prefix of the host names
        #[arg(long, default_value = "romer", value_name = "X")]
        prefix: String,
        /// Line rate for priority, weighted, small-passes and rsvp, as --capacity of a benchmark
        ///
        /// It counts frames with their check sequences, and with rsvp IP packets, as reservations do.
        #[arg(long, default_value = "10Mbit", value_name = "RATE", value_parser = crate::bench::values::line_rate, allow_hyphen_values = true)]
        rate: romer_units::LineRate,
        /// Be the router of rsvp, in the network namespace of this process
        #[arg(long, hide = true)]
        here: bool,
    },
    /// Run a command on a host
    Run {
        /// A, B, E, E1 to E8, or R, or the full name of the host
        host: String,
        /// Prefix of the host names
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
    /// Two hosts on one network, with an emulator host in between
    Path,
    /// Two hosts in two networks, with a router in between
    Router,
    /// Two hosts on one network, with N emulator hosts in series in between
    Chain,
}

/// Configurations of the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LabCase {
    /// Forward only
    None,
    /// Classify by code point, port, address, protocol and interface
    Classify,
    /// Classify and re-mark: UDP port 5001 and 50001 to EF, 5002 to AF21, 5003 to CS1
    Remark,
    /// Three classes by strict priority, EF, AF21 and the rest, on a line of --rate
    Priority,
    /// The same classes by weighted round robin: 6,000, 4,000 and 2,000 bytes in each round
    Weighted,
    /// The same with 200, 150 and 100 bytes in each round: large frames of the last class get more than their share
    SmallPasses,
    /// Police to 625 packets/s, with bursts of 20
    Police,
    /// Reserve bandwidth by RSVP on lines of --rate, until interrupted
    Rsvp,
}
