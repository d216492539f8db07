//! Why a bridge cannot be.

use romer_host::HostError;
use romer_port::{PortError, PortName};

/// Why a bridge cannot be, or has ended.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// A port cannot be opened or used.
    #[error("port {name}: {source}")]
    Port {
        /// The port.
        name: PortName,
        /// Why.
        source: Box<PortError>,
    },
    /// Both ports are the same.
    #[error("both ports are {0}")]
    SamePort(PortName),
    /// The host reaches the world by this interface.
    #[error(
        "port {0} carries the default route of this host, directly or through a bridge, VLAN, macvlan or tunnel on it"
    )]
    DefaultRoute(PortName),
    /// Both ports are the two ends of one veth pair.
    #[error("ports {0} and {1} are the two ends of one veth pair: frames would loop endlessly")]
    Loop(PortName, PortName),
    /// What the scenario holds does not fit.
    #[error(
        "the rates and queues of the scenario hold at least {} ({frames} frames or more), and the buffer has {slots} frames ({})",
        size(*needed),
        size(*limit)
    )]
    Buffer {
        /// Octets of frames that are held, those of a rate in packets the shortest.
        needed: u64,
        /// How many frames they are, those of a rate in bits the longest.
        frames: u64,
        /// Octets of memory that there may be.
        limit: u64,
        /// Frames that have room in it.
        slots: u32,
    },
    /// Somebody else has changed the scenario.
    #[error("the scenario is at revision {revision}")]
    Stale {
        /// The one that holds.
        revision: u64,
    },
    /// There is no place for another feed.
    #[error("{most} sample feeds are in use, which is the maximum")]
    Feeds {
        /// As many as there may be.
        most: usize,
    },
    /// The system refused.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The bridge's thread has ended.
    #[error("the bridge has ended")]
    Ended,
}

/// Octets as people say them.
fn size(octets: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.into_iter().find(|(_, unit)| octets >= *unit) {
        Some((name, unit)) => format!("{}.{} {name}", octets / unit, octets % unit * 10 / unit),
        None => format!("{octets} bytes"),
    }
}

/// A port that cannot be used.
pub(super) fn failed(name: &PortName, source: PortError) -> LiveError {
    LiveError::Port { name: name.clone(), source: Box::new(source) }
}
