//! By which interfaces a host reaches the world, in whatever table its routes stand.

use std::collections::BTreeSet;
use std::os::fd::AsFd;

use crate::HostError;
use crate::bridge_port::route_socket;
use crate::netlink::{DUMP, Draft, attribute, attributes, exchange, u16_at, u32_at};

/// `RTM_GETROUTE`, and the length of `struct rtmsg`.
const GET_ROUTE: u16 = 26;
const ROUTE: usize = 12;
/// `RTN_UNICAST`: a route that packets are sent by.
const UNICAST: u8 = 1;
/// `RTA_OIF` and `RTA_MULTIPATH`, and the length of `struct rtnexthop`.
const INTERFACE: u16 = 4;
const SEVERAL: u16 = 9;
const NEXT_HOP: usize = 8;

/// The indices of the interfaces that have a route to everything, or to half of everything, in any table of this
/// thread's network namespace, of either family.
///
/// # Errors
/// The system gives no netlink socket, or no answer.
pub fn default_routes() -> Result<BTreeSet<u32>, HostError> {
    let socket = route_socket()?;
    let mut found = BTreeSet::new();
    exchange(socket.as_fd(), &Draft::new(GET_ROUTE, DUMP, &[0; ROUTE]).finish(), |body| {
        found.extend(interfaces(body));
    })?;
    Ok(found)
}

/// The interfaces of one route, if it is such a route.
fn interfaces(body: &[u8]) -> Vec<u32> {
    let Some((fixed, rest)) = body.split_first_chunk::<ROUTE>() else { return Vec::new() };
    if fixed[1] > 1 || fixed[7] != UNICAST {
        return Vec::new();
    }
    let one = attribute(rest, INTERFACE).and_then(|value| u32_at(value, 0));
    let mut hops = attributes(rest).find(|(kind, _)| *kind == SEVERAL).map_or(&[][..], |(_, hops)| hops);
    let mut found: Vec<u32> = one.into_iter().collect();
    while let Some(length) = u16_at(hops, 0).map(usize::from).filter(|length| *length >= NEXT_HOP) {
        found.extend(u32_at(hops, 4));
        hops = hops.get(crate::netlink::aligned(length)..).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_to_everything_and_to_halves_of_it_are_told_from_others() {
        let route = |prefix: u8, kind: u8, attributes: &[u8]| {
            let mut body = vec![2, prefix, 0, 0, 254, 3, 0, kind, 0, 0, 0, 0];
            body.extend_from_slice(attributes);
            body
        };
        let by_seven = [8, 0, 4, 0, 7, 0, 0, 0];
        assert_eq!(interfaces(&route(0, UNICAST, &by_seven)), [7]);
        assert_eq!(interfaces(&route(1, UNICAST, &by_seven)), [7]);
        assert!(interfaces(&route(8, UNICAST, &by_seven)).is_empty(), "a network");
        assert!(interfaces(&route(0, 7, &by_seven)).is_empty(), "unreachable");
        let by_two = [20, 0, 9, 0, 8, 0, 0, 0, 3, 0, 0, 0, 8, 0, 0, 0, 5, 0, 0, 0];
        assert_eq!(interfaces(&route(0, UNICAST, &by_two)), [3, 5]);
        for length in 0..by_two.len() {
            interfaces(&route(0, UNICAST, &by_two[..length]));
        }
    }
}
