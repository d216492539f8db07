//! Whether a host reaches the world by an interface, which then is not to be taken away from it unasked.

use romer_host::link::Network;
use romer_host::route::default_routes;
use romer_host::{HostError, netns};
use romer_port::PortName;

/// The first of the ports by which its namespace reaches the world: by a route to everything, or to half of it, over the
/// interface or over the bridge that it is in.
pub(super) fn default_route_among(ports: &[PortName; 2]) -> Result<Option<&PortName>, HostError> {
    for port in ports {
        let with_default = match port.namespace() {
            Some(namespace) => netns::with_namespace(namespace, default_routes)??,
            None => default_routes()?,
        };
        let link = Network::open(port.namespace())?.link(port.interface())?;
        if std::iter::once(link.index).chain(link.controller).any(|index| with_default.contains(&index)) {
            return Ok(Some(port));
        }
    }
    Ok(None)
}
