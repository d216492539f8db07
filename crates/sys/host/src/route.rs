//! By which interfaces a host reaches the world, in whatever table its routes stand.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::os::fd::AsFd;

use crate::HostError;
use crate::bridge_port::route_socket;
use crate::netlink::{DUMP, Draft, REQUEST, attribute, attributes, exchange, u16_at, u32_at};

/// `RTM_GETROUTE`, and the length of `struct rtmsg`.
const GET_ROUTE: u16 = 26;
const ROUTE: usize = 12;
/// `RTN_UNICAST`: a route that packets are sent by.
const UNICAST: u8 = 1;
/// `RTN_BROADCAST`, `RTN_ANYCAST` and `RTN_MULTICAST`: what goes there is not for one host.
const NOT_OF_ONE_HOST: [u8; 3] = [3, 4, 5];
/// `RTA_DST`.
const DESTINATION: u16 = 1;
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

/// The index of the interface by which packets to `address` leave this thread's network namespace; `None` where no route
/// leads there.
///
/// # Errors
/// The system gives no netlink socket, or no answer.
pub fn interface_towards(address: IpAddr) -> Result<Option<u32>, HostError> {
    towards(address, |body| {
        let attributes = body.get(ROUTE..).unwrap_or_default();
        attribute(attributes, INTERFACE).and_then(|value| u32_at(value, 0))
    })
}

/// Whether `address` stands for several hosts in this thread's network namespace: the broadcast address of one of its networks
/// (on some kernels the network's own address, too), or that of a group. The system opens sockets with some of these all the same.
///
/// # Errors
/// The system gives no netlink socket, or no answer.
pub fn is_of_several_hosts(address: IpAddr) -> Result<bool, HostError> {
    let kind = towards(address, |body| body.get(7).copied())?;
    Ok(address.is_multicast() || kind.is_some_and(|kind| NOT_OF_ONE_HOST.contains(&kind)))
}

/// What `read` finds in the route by which packets to `address` go; `None` where there is none.
fn towards<T>(address: IpAddr, read: impl Fn(&[u8]) -> Option<T>) -> Result<Option<T>, HostError> {
    let socket = route_socket()?;
    let (family, octets) = match address {
        IpAddr::V4(address) => (libc::AF_INET, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6, address.octets().to_vec()),
    };
    let mut fixed = [0; ROUTE];
    fixed[0] = u8::try_from(family).unwrap_or_default();
    fixed[1] = u8::try_from(8 * octets.len()).unwrap_or_default();
    let mut request = Draft::new(GET_ROUTE, REQUEST, &fixed);
    request.attribute(DESTINATION, &octets);
    let mut found = None;
    let answer = exchange(socket.as_fd(), &request.finish(), |body| found = read(body));
    match answer {
        Err(HostError::System { source, .. }) if is_no_route(&source) => Ok(None),
        answer => answer.map(|()| found),
    }
}

/// Whether the kernel says that no route leads there, or none that packets may take.
fn is_no_route(error: &std::io::Error) -> bool {
    let refusals = [libc::ENETUNREACH, libc::EHOSTUNREACH, libc::EACCES, libc::EINVAL];
    error.raw_os_error().is_some_and(|number| refusals.contains(&number))
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
    fn the_way_to_an_address_is_found() {
        for address in ["127.0.0.1", "127.9.8.7", "::1"] {
            assert_eq!(interface_towards(address.parse().unwrap()).unwrap(), Some(1), "{address}");
        }
    }

    #[test]
    fn the_address_of_a_network_of_hosts_is_told_from_that_of_one() {
        for (address, several) in [
            ("127.0.0.1", false),
            ("127.9.8.7", false),
            ("::1", false),
            ("127.255.255.255", true),
            ("255.255.255.255", true),
            ("224.0.0.1", true),
            ("ff02::1", true),
        ] {
            assert_eq!(is_of_several_hosts(address.parse().unwrap()).unwrap(), several, "{address}");
        }
    }

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
