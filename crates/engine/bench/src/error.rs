//! What can go wrong, and with which exit code.

use std::net::IpAddr;

use romer_host::HostError;
use romer_port::{PortError, PortName};
use romer_record::Exit;
use thiserror::Error;

use crate::port_state::PortFault;

/// What to do if a port cannot be opened.
fn port_remedy(port: &PortName, error: &PortError) -> String {
    const IN_LAB: &str = "romer lab run A -- romer bench ...";
    let list = format!("`{}` lists the interfaces", port.ip("link"));
    match (port.namespace(), error.is_permission()) {
        // Entering a network namespace needs more than the capabilities of a port.
        (Some(_), true) => format!("run as root, or inside the lab: {IN_LAB}"),
        (None, true) => format!(
            "run as root, or `sudo setcap cap_net_raw,cap_net_admin+ep $(command -v romer)`, or use a lab: romer lab up router, \
             {IN_LAB}"
        ),
        (Some(_), false) => format!("{list}; if the lab was made without root: {IN_LAB}"),
        (None, false) => list,
    }
}

/// What a limit is on, in the error of a text that is none.
pub(crate) const LIMIT_SUBJECT: &str = "a quantity of the results";

/// Why a benchmark did not come about, or ended before its time.
#[derive(Debug, Error)]
pub enum BenchError {
    /// A combination that cannot be.
    #[error("{0}")]
    Usage(String),
    /// A port cannot be had.
    #[error("cannot open port ({port}): {source}; {}", port_remedy(port, source))]
    Port {
        /// Which.
        port: PortName,
        /// Why.
        source: Box<PortError>,
    },
    /// A port cannot carry frames.
    #[error("{0}")]
    PortState(PortFault),
    /// Nobody says where frames are to be sent.
    #[error(
        "the next hop cannot be found (--next-hop): no answer from {asked} at {port} within 3 s; see that the device is \
         up, or give its address with --next-hop"
    )]
    NextHop {
        /// Who was asked.
        asked: IpAddr,
        /// By which port.
        port: PortName,
    },
    /// The device does not forward.
    #[error(
        "the device does not forward ({0}; check its routes and filters for these addresses, or wait longer for a slow device \
         (--patience)"
    )]
    Silent(String),
    /// The command of a case failed.
    #[error("case {name} cannot be set ({command}): {why}; run this command yourself")]
    Case {
        /// Its name.
        name: String,
        /// The command.
        command: String,
        /// How it ended.
        why: String,
    },
    /// The command that resets the device failed.
    #[error("the device cannot be reset (--reset): {why}; run the command yourself: {command}")]
    Reset {
        /// The command.
        command: String,
        /// How it ended.
        why: String,
    },
    /// A signal came while the device was brought into the case of this name, before there was anything to find out.
    #[error(
        "the benchmark was interrupted (--case {0}): its command was ended with all that it had started; nobody knows in which state it \
         left the device"
    )]
    Interrupted(String),
    /// What was kept does not follow from the plan.
    #[error(
        "the benchmark cannot go on (trial {0} of those that were kept): it is not the one that the plan asks for; begin \
         a new one"
    )]
    OtherTrials(usize),
    /// A trial cannot be kept.
    #[error("{text}")]
    Keep {
        /// Why, with a mend.
        text: String,
        /// The exit code that goes with it.
        exit: Exit,
    },
    /// The tester itself cannot be tested.
    #[error(
        "the tester cannot be tested (self-test): {0}; see that this user may make network namespaces (`romer doctor`), or \
         leave the test out with --skip-self-test"
    )]
    SelfTest(HostError),
    /// The system refused something.
    #[error("the benchmark failed (system): {0}; see `romer doctor`")]
    Host(#[from] HostError),
    /// A thread ended that should not have.
    #[error("the benchmark failed ({0}): its thread ended; this is a fault of romer")]
    Thread(&'static str),
}

impl BenchError {
    /// The same, where the command that failed was the one that resets the device.
    pub(crate) fn of_reset(self) -> Self {
        match self {
            Self::Case { command, why, .. } => Self::Reset { command, why },
            other => other,
        }
    }

    /// The exit code of the program.
    pub const fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::OtherTrials(_) => Exit::BadData,
            Self::Keep { exit, .. } => *exit,
            Self::Port { .. }
            | Self::PortState(_)
            | Self::NextHop { .. }
            | Self::Case { .. }
            | Self::Reset { .. }
            | Self::SelfTest(_)
            | Self::Host(_) => Exit::Environment,
            Self::Silent(_) => Exit::Unreachable,
            Self::Thread(_) => Exit::Fault,
            Self::Interrupted(_) => Exit::Interrupted,
        }
    }
}
