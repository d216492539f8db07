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
    #[error("{name:?} is no port: {why}")]
    BadName {
        /// The name as given.
        name: String,
        /// The rule it breaks.
        why: &'static str,
    },
    /// The interface does not carry Ethernet frames.
    #[error("interface {0} carries no Ethernet frames")]
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
    /// Another romer has taken it.
    #[error("interface {0} is taken by another romer")]
    InUse(String),
    /// The driver goes on to join or cut frames.
    #[error("interface {interface} goes on with {offload}, so that its frames are not those of the wire")]
    Offload {
        /// The interface.
        interface: String,
        /// What the driver does.
        offload: &'static str,
    },
    /// The interface cannot have an XDP socket, and a packet socket would do.
    #[error("interface {interface} takes no XDP socket: {why}")]
    NoXdp {
        /// The interface.
        interface: String,
        /// Why, and where the interface can be brought to take one, how.
        why: Cow<'static, str>,
    },
    /// The arena is larger than the system can give.
    #[error("{octets} octets for frames cannot be had")]
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
