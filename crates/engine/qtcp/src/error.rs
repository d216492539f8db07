//! What can go wrong with a live test.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use romer_endpoint::EndpointError;
use romer_record::Exit;
use thiserror::Error;

/// What went wrong. The text has the form `WHAT (WHERE): WHY; REMEDY`.
#[derive(Debug, Error)]
pub enum QtcpError {
    /// The system refused something.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// No receiver was ready in time.
    #[error(
        "no receiver ({address}): {why}, for 30 s; start `romer qtcp -r` there and open its port for TCP and UDP, or send without \
         waiting (-W)"
    )]
    NoReceiver {
        /// Where.
        address: SocketAddr,
        /// The last thing that was seen.
        why: NoAnswer,
    },
    /// The receiver serves another sender.
    #[error(
        "the receiver is busy ({address}): it serves another sender; wait for its end, or use another port on both hosts (-p)"
    )]
    Busy {
        /// Where.
        address: SocketAddr,
    },
    /// Packets were rejected before the end of the test.
    #[error(
        "network transmission rejected ({address}): {why}, after {packets} packets; start `romer qtcp -r` there, and check the packet \
         filters of the path"
    )]
    Rejected {
        /// Where.
        address: SocketAddr,
        /// By whom.
        why: Rejection,
        /// How many packets were sent.
        packets: u64,
    },
    /// A packet is longer than the path takes.
    #[error(
        "packet too large (-l {size}): {mtu}; use a smaller -l, e.g. -l 1472 for an MTU of 1500 bytes with IPv4"
    )]
    TooLarge {
        /// Octets of payload.
        size: u32,
        /// What the path takes.
        mtu: PathMtu,
    },
    /// There is no memory for the log.
    #[error(
        "could not allocate {octets} bytes for log buffer (-n): this host does not have the memory; use a smaller -n or -c"
    )]
    LogBuffer {
        /// How many octets.
        octets: u64,
    },
    /// There was nobody who could continue after the calibration.
    #[error(
        "no confirmation (standard input): it ended before the user typed c; use a terminal, or continue without the pause (-y)"
    )]
    NobodyContinued,
}

impl QtcpError {
    /// The exit code of the program.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Endpoint(error) => error.exit(),
            Self::NoReceiver { .. } | Self::Busy { .. } | Self::Rejected { .. } => Exit::Unreachable,
            Self::TooLarge { .. } | Self::NobodyContinued => Exit::Usage,
            Self::LogBuffer { .. } => Exit::Environment,
        }
    }
}

/// Why there is no control connection.
#[derive(Clone, Debug, Error)]
pub enum NoAnswer {
    /// Nothing was tried yet.
    #[error("nothing answered")]
    Silent,
    /// A connection was refused, or failed.
    #[error("TCP to {0}: {1}")]
    Failed(SocketAddr, String),
    /// It was closed without an answer.
    #[error("TCP to {0}: the connection was closed")]
    Closed(SocketAddr),
}

/// Who rejected packets.
#[derive(Clone, Copy, Debug, Error)]
pub enum Rejection {
    /// Nobody has said why.
    #[error("nobody takes packets at this port")]
    Unexplained,
    /// No socket is open at the receiver's port.
    #[error("{} reports that nobody takes packets at this port", reporter(*.0))]
    PortClosed(Option<IpAddr>),
    /// A router or a packet filter rejects them.
    #[error("{} reports that the receiver cannot be reached (ICMP type {1}, code {2})", reporter(*.0))]
    Unreachable(Option<IpAddr>, u8, u8),
}

fn reporter(address: Option<IpAddr>) -> String {
    address.map_or_else(|| "this host".into(), |address| address.to_string())
}

/// The largest packet of a path, as far as it is known; octets of IP packet, 0 if unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMtu(pub u32);

impl fmt::Display for PathMtu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("the path does not take packets of this size"),
            mtu => write!(f, "the path has an MTU of {mtu} bytes"),
        }
    }
}
