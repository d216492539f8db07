//! What this host's own routes, filters and interfaces have to do with what it refuses.

use std::io;
use std::net::SocketAddr;

use romer_host::link::{Link, Mac, Network};
use romer_host::{HostError, host_info};

use romer_endpoint::names::link_of_zone;

/// Interfaces that are named.
const NAMED: usize = 3;

/// An error of the system with what it is as a rule, where this host itself refuses what is to go to `target`: the number alone
/// does not say that a route does.
pub(super) fn explained(error: &io::Error, target: SocketAddr) -> String {
    let words = by_routes(error, target);
    if error.kind() != io::ErrorKind::NetworkUnreachable {
        return words;
    }
    let links = Network::open(None).and_then(|network| network.links()).unwrap_or_default();
    unusable(&links).map_or(words.clone(), |links| format!("{words}; {links}"))
}

/// Whether it is this host that has no way to `target`, by its routes.
pub(super) fn is_here(error: &io::Error, target: SocketAddr) -> bool {
    error.kind() == io::ErrorKind::NetworkUnreachable && host_info::route_to(target).is_err()
}

/// Interfaces that routes may have gone with, and what to do: those that are switched off or have no carrier. A bridge without ports has
/// none as a rule, and an interface without an address of the link was made by the kernel for all.
fn unusable(links: &[Link]) -> Option<String> {
    let is_real = |link: &&Link| link.mac.is_some_and(|mac| mac != Mac([0; 6]));
    let carries = |link: &&Link| link.running || (link.up && link.kind.as_deref() == Some("bridge"));
    let those: Vec<&Link> = links.iter().filter(is_real).filter(|link| !link.up || !carries(link)).collect();
    let told = those.iter().take(NAMED).map(|link| {
        let name = &link.name;
        if link.up {
            format!("its interface {name} has no carrier (see to its cable, or to the other end of it)")
        } else {
            format!("its interface {name} is down (ip link set {name} up)")
        }
    });
    let told: Vec<String> = told.collect();
    let more = those.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(", and so it is with {more} more") } else { String::new() };
    (!told.is_empty())
        .then(|| format!("{}{more}: the routes over such a one are gone until it is up", told.join(", ")))
}

/// Why nothing leaves by interface `name`: a cable that is not there is mended elsewhere than an interface that is switched off.
pub(super) fn cause(name: &str) -> &'static str {
    let links = Network::open(None).and_then(|network| network.links()).unwrap_or_default();
    let link = links.iter().find(|link| link.name == name);
    if link.is_some_and(|link| link.up && !link.running) { "had no carrier" } else { "was down" }
}

/// What routes and filters have to do with it.
fn by_routes(error: &io::Error, target: SocketAddr) -> String {
    let is_swallowed = error.raw_os_error() == Some(HostError::SWALLOWED);
    let cause = match error.kind() {
        _ if is_swallowed => "a route of this host swallows what goes to",
        io::ErrorKind::PermissionDenied => {
            "a route of this host (prohibit) or a packet filter of it forbids what goes to"
        }
        io::ErrorKind::HostUnreachable => {
            "a route of this host (unreachable), or a next host that does not answer for its hardware address, keeps back what goes to"
        }
        io::ErrorKind::NetworkUnreachable => "this host has no route for what goes to",
        _ => return error.to_string(),
    };
    let kind = if is_swallowed { "blackhole; " } else { "" };
    format!("{error}: as a rule {cause} {} ({kind}see ip route get {})", target.ip(), with_link(target))
}

/// A target as `ip route get` takes it: the interface of a link-local address stands beside it.
fn with_link(target: SocketAddr) -> String {
    let link = link_of_zone(target);
    link.map_or_else(|| target.ip().to_string(), |link| format!("{} oif {}", target.ip(), link.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_route_of_this_host_refuses_is_told_as_that() {
        let told = |error: io::Error| by_routes(&error, ([127, 0, 0, 1], 862).into());
        let swallowed = told(io::Error::from_raw_os_error(HostError::SWALLOWED));
        assert!(
            swallowed.ends_with("swallows what goes to 127.0.0.1 (blackhole; see ip route get 127.0.0.1)")
        );
        for (kind, cause) in [
            (io::ErrorKind::PermissionDenied, "a route of this host (prohibit)"),
            (io::ErrorKind::HostUnreachable, "a route of this host (unreachable)"),
            (io::ErrorKind::NetworkUnreachable, "this host has no route"),
        ] {
            let told = told(kind.into());
            assert!(told.contains(cause) && told.ends_with("see ip route get 127.0.0.1)"), "{told}");
        }
        assert!(!told(io::ErrorKind::ConnectionReset.into()).contains("route"));
    }

    #[test]
    fn an_interface_that_is_down_or_has_no_carrier_is_named_and_none_that_routes_cannot_have_gone_with() {
        let link = |name: &str, mac, up, running, kind: Option<&str>| Link {
            index: 1,
            name: name.into(),
            mac,
            mtu: 1_500,
            up,
            running,
            kind: kind.map(str::to_owned),
            alias: None,
            controller: None,
            lower: None,
            remote: None,
        };
        let card = Some(Mac([2, 0, 0, 0, 0, 1]));
        let fine = [
            link("lo", Some(Mac([0; 6])), false, false, None),
            link("tunl0", None, false, false, Some("ipip")),
            link("gretap0", Some(Mac([0; 6])), false, false, Some("gretap")),
            link("docker0", card, true, false, Some("bridge")),
            link("eth0", card, true, true, None),
        ];
        assert_eq!(unusable(&fine), None);
        let words = |links: &[Link]| unusable(&[&fine[..], links].concat()).unwrap();
        let [down, unplugged] =
            [link("eth1", card, false, false, None), link("eth2", card, true, false, None)];
        assert_eq!(
            words(&[down.clone(), unplugged]),
            "its interface eth1 is down (ip link set eth1 up), its interface eth2 has no carrier (see to its cable, or to the other \
             end of it): the routes over such a one are gone until it is up"
        );
        assert!(words(&[&down; 5].map(Link::clone)).contains(", and so it is with 2 more: "));
    }
}
