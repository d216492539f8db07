//! Who is next on the way, and whether they answer.

use std::net::{IpAddr, SocketAddr};

use futures_util::TryStreamExt as _;
use rtnetlink::RouteMessageBuilder;
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use rtnetlink::packet_route::route::{RouteAddress, RouteAttribute, RouteMessage};

use super::{Network, refused};
use crate::HostError;

impl Network {
    /// Whoever is next on the way to `target`, if the kernel asks them for their hardware address, or has asked them in vain: until
    /// they answer, nothing leaves.
    ///
    /// # Errors
    /// There is no route, or the system does not tell.
    pub fn unanswering(&self, target: SocketAddr) -> Result<Option<IpAddr>, HostError> {
        let subject = target.ip().to_string();
        let bits = if target.is_ipv4() { 32 } else { 128 };
        let asked = RouteMessageBuilder::<IpAddr>::new().destination_prefix(target.ip(), bits);
        let Ok(mut asked) = asked.map(RouteMessageBuilder::build) else { return Ok(None) };
        if let SocketAddr::V6(v6) = target
            && v6.scope_id() != 0
        {
            asked.attributes.push(RouteAttribute::Oif(v6.scope_id()));
        }
        let answer = self.runtime.block_on(self.handle.route().get(asked).execute().try_collect::<Vec<_>>());
        let routes = answer.map_err(refused("find a route to", &subject))?;
        let Some(route) = routes.first() else { return Ok(None) };
        let next = gateway(route).unwrap_or(target.ip());
        let family = if next.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        let request = self.handle.neighbours().get().set_address_family(family);
        let known = self.runtime.block_on(request.execute().try_collect::<Vec<_>>());
        let known = known.map_err(refused("list the neighbours towards", &subject))?;
        let link = interface(route);
        let is_unanswered = known.iter().any(|one| {
            address(one) == Some(next)
                && link.is_none_or(|link| link == one.header.ifindex)
                && matches!(one.header.state, NeighbourState::Incomplete | NeighbourState::Failed)
        });
        Ok(is_unanswered.then_some(next))
    }
}

fn gateway(route: &RouteMessage) -> Option<IpAddr> {
    route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Gateway(RouteAddress::Inet(address)) => Some((*address).into()),
        RouteAttribute::Gateway(RouteAddress::Inet6(address)) => Some((*address).into()),
        _ => None,
    })
}

fn interface(route: &RouteMessage) -> Option<u32> {
    route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Oif(index) => Some(*index),
        _ => None,
    })
}

fn address(neighbour: &NeighbourMessage) -> Option<IpAddr> {
    neighbour.attributes.iter().find_map(|attribute| match attribute {
        NeighbourAttribute::Destination(NeighbourAddress::Inet(address)) => Some((*address).into()),
        NeighbourAttribute::Destination(NeighbourAddress::Inet6(address)) => Some((*address).into()),
        _ => None,
    })
}
