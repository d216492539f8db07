//! What can go wrong with a live test.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use romer_endpoint::EndpointError;
use romer_record::Exit;
use romer_rsvp::ErrorSpec;
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
    /// A program that waits for the calibration of a test does not learn of it.
    #[error(
        "no calibration ({address}): the receiver closed the connection before the calibration was complete; start the \
         receiver anew, of the same version, and then this program"
    )]
    NoCalibration {
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
    /// There was no reservation in time.
    #[error(
        "no reservation ({address}): {why}; check that routers admit the rate, and that nothing drops IP protocol 46, or send without \
         waiting for it (-W)"
    )]
    NoReservation {
        /// The receiver.
        address: SocketAddr,
        /// The last thing that was seen.
        why: NoReservation,
    },
    /// RSVP cannot reserve for an address.
    #[error(
        "no reservation ({address}): romer reserves for IPv4 addresses of one host; use one at the sender, or omit -S"
    )]
    NotReservable {
        /// Which.
        address: SocketAddr,
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
            Self::NoReceiver { .. }
            | Self::Busy { .. }
            | Self::NoCalibration { .. }
            | Self::Rejected { .. }
            | Self::NoReservation { .. } => Exit::Unreachable,
            Self::TooLarge { .. } | Self::NobodyContinued | Self::NotReservable { .. } => Exit::Usage,
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

/// Why there is no reservation.
#[derive(Clone, Debug, Error)]
pub enum NoReservation {
    /// Nothing was heard of one.
    #[error("no receiver has reserved within 30 s")]
    Silent,
    /// A node refused it.
    #[error("{0}")]
    Reported(ErrorSpec),
    /// The receiver cannot reserve.
    #[error("the receiver cannot reserve: it needs the capability CAP_NET_RAW and an IPv4 address")]
    ReceiverCannot,
}

/// Who rejected packets.
#[derive(Clone, Copy, Debug, Error)]
pub enum Rejection {
    /// Nobody has said why.
    #[error("nobody takes packets at this port")]
    Unexplained,
    /// No socket is open at the receiver's port.
    #[error("{by} reports that nobody takes packets at this port", by = reporter(*.0))]
    PortClosed(Option<IpAddr>),
    /// A router or a packet filter rejects them.
    #[error("{by} reports that the receiver cannot be reached (ICMP type {1}, code {2})", by = reporter(*.0))]
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each error names the place, the reason and the remedy.
    #[test]
    fn errors_name_place_and_reason() {
        let address = "192.0.2.1:5003".parse().unwrap();
        let reporter = Some("192.0.2.9".parse().unwrap());
        for (error, says) in [
            (QtcpError::Busy { address }, "(192.0.2.1:5003): it serves another sender; wait"),
            (
                QtcpError::NoReceiver { address, why: NoAnswer::Failed(address, "refused".into()) },
                "TCP to 192.0.2.1:5003: refused, for 30 s; start `romer qtcp -r`",
            ),
            (
                QtcpError::Rejected { address, why: Rejection::PortClosed(reporter), packets: 7 },
                "192.0.2.9 reports that nobody takes packets at this port, after 7 packets; start",
            ),
            (
                QtcpError::Rejected { address, why: Rejection::Unreachable(None, 3, 13), packets: 7 },
                "this host reports that the receiver cannot be reached (ICMP type 3, code 13)",
            ),
            (
                QtcpError::NoReservation {
                    address,
                    why: NoReservation::Reported(ErrorSpec::new(
                        [192, 0, 2, 9].into(),
                        romer_rsvp::ErrorCode::BANDWIDTH,
                    )),
                },
                "192.0.2.9 reports: the requested bandwidth is not available (code 1, value 2); check",
            ),
            (
                QtcpError::NoReservation { address, why: NoReservation::Silent },
                "(192.0.2.1:5003): no receiver has reserved within 30 s; check that routers admit the rate",
            ),
            (
                QtcpError::TooLarge { size: 1_500, mtu: PathMtu(1_500) },
                "(-l 1500): the path has an MTU of 1500 bytes; use",
            ),
        ] {
            assert!(error.to_string().contains(says), "{error}");
        }
    }
}
