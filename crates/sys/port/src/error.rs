//! What can go wrong with a port.

use std::borrow::Cow;

use romer_host::HostError;

/// A port that cannot be opened or used.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The system refused.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The name is not `[NETNS/]IFACE`.
    #[error("{name:?} is not a port: {why}")]
    BadName {
        /// The name as given.
        name: String,
        /// The rule it breaks.
        why: &'static str,
    },
    /// The interface does not carry Ethernet frames.
    #[error("interface {0} is not an Ethernet interface")]
    NotEthernet(String),
    /// The interface belongs to another that would lose or alter its frames.
    #[error("interface {interface} belongs to the {kind} {controller}")]
    Occupied {
        /// The interface.
        interface: String,
        /// The kind of what it belongs to (`bond`, `team`, `vrf`).
        kind: String,
        /// The name of what it belongs to.
        controller: String,
    },
    /// Another romer uses it.
    #[error("interface {0} is in use by another romer")]
    InUse(String),
    /// An offload that joins or splits frames cannot be disabled.
    #[error("interface {interface}: {offload} cannot be disabled, so frames differ from those on the wire")]
    Offload {
        /// The interface.
        interface: String,
        /// The offload.
        offload: &'static str,
    },
    /// The interface cannot have an XDP socket, and a packet socket would do.
    #[error("no XDP socket on interface {interface}: {why}")]
    NoXdp {
        /// The interface.
        interface: String,
        /// Why, and where the interface can be brought to take one, how.
        why: Cow<'static, str>,
    },
    /// The arena is larger than the system can give.
    #[error("cannot allocate {octets} bytes for frames")]
    Memory {
        /// Octets asked for.
        octets: usize,
    },
}

impl PortError {
    /// Whether a right is missing (`EPERM` or `EACCES`), so that another user or a capability would mend it.
    pub fn is_permission(&self) -> bool {
        matches!(self, Self::Host(error) if error.is_permission())
    }
}
