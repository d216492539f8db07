//! Whether a host reaches the world by an interface, which then is not to be taken away from it unasked.

use std::collections::BTreeSet;

use romer_host::link::{Link, Network};
use romer_host::route::{default_routes, interface_towards};
use romer_host::{HostError, netns};
use romer_port::PortName;

/// The first of the ports by which its namespace reaches the world: by a route to everything, or to half of it, over the
/// interface, the bridge that it is in, or what else its frames are carried for: a VLAN, a macvlan, a tunnel that is bound to
/// it or whose other end is reached by it.
pub(super) fn default_route_among(ports: &[PortName; 2]) -> Result<Option<&PortName>, HostError> {
    for port in ports {
        let network = Network::open(port.namespace())?;
        let index = network.link(port.interface())?.index;
        let mut links = network.links()?;
        let mut look = || {
            links.iter_mut().try_for_each(carried_by)?;
            default_routes()
        };
        let with_default = match port.namespace() {
            Some(namespace) => netns::with_namespace(namespace, look)??,
            None => look()?,
        };
        if !above(index, &links).is_disjoint(&with_default) {
            return Ok(Some(port));
        }
    }
    Ok(None)
}

/// Of a tunnel that is bound to no interface: finds the one by which its other end is reached from this thread's network
/// namespace.
fn carried_by(link: &mut Link) -> Result<(), HostError> {
    if let (None, Some(remote)) = (link.lower, link.remote) {
        link.lower = interface_towards(remote)?;
    }
    Ok(())
}

/// An interface, and all those whose frames pass through it.
fn above(index: u32, links: &[Link]) -> BTreeSet<u32> {
    let mut found = BTreeSet::from([index]);
    loop {
        let more: BTreeSet<u32> = links
            .iter()
            .flat_map(|link| {
                let controller = link.controller.filter(|_| found.contains(&link.index));
                let upper = link.lower.filter(|lower| found.contains(lower)).map(|_| link.index);
                controller.into_iter().chain(upper)
            })
            .filter(|index| !found.contains(index))
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(index: u32, controller: Option<u32>, lower: Option<u32>) -> Link {
        Link {
            index,
            name: format!("i{index}"),
            mac: None,
            mtu: 1_500,
            up: true,
            running: true,
            kind: None,
            alias: None,
            controller,
            lower,
            remote: None,
        }
    }

    #[test]
    fn what_is_carried_by_an_interface_is_found_through_bridges_and_tags() {
        // 2 is in bridge 3, on which VLAN 4 stands, on which macvlan 5; 6 and 7 are others.
        let links = [
            link(5, None, Some(4)),
            link(4, None, Some(3)),
            link(3, None, None),
            link(2, Some(3), None),
            link(6, Some(3), None),
            link(7, None, None),
        ];
        assert_eq!(above(2, &links), BTreeSet::from([2, 3, 4, 5]));
        assert_eq!(above(4, &links), BTreeSet::from([4, 5]));
        assert_eq!(above(7, &links), BTreeSet::from([7]));
    }

    #[test]
    fn what_lies_upon_one_another_in_a_ring_comes_to_an_end() {
        assert_eq!(above(2, &[link(2, None, Some(3)), link(3, None, Some(2))]), BTreeSet::from([2, 3]));
    }
}
