//! What this host's own routes, filters and interfaces have to do with what it refuses.

use std::io;
use std::net::SocketAddr;

use romer_host::host_info;
use romer_host::link::{Link, Mac, Network};
use romer_record::event::UnusableInterface;
use romer_report::event::refusal;

use romer_endpoint::names::link_of_zone;

/// An error of the system with what it is as a rule, where this host itself refuses what is to go to `target`: the number alone
/// does not say that a route does.
pub(super) fn explained(error: &io::Error, target: SocketAddr) -> String {
    // As `ip route get` takes it: the interface of a link-local address stands beside it.
    let link = link_of_zone(target).map(|link| link.name);
    refusal(error, target.ip(), link.as_deref(), &unusable_interfaces(error))
}

/// Interfaces that routes may have gone with, where the error says that there is no route.
pub(super) fn unusable_interfaces(error: &io::Error) -> Vec<UnusableInterface> {
    if error.kind() != io::ErrorKind::NetworkUnreachable {
        return Vec::new();
    }
    unusable(&links())
}

fn links() -> Vec<Link> {
    Network::open(None).and_then(|network| network.links()).unwrap_or_default()
}

/// Whether it is this host that has no way to `target`, by its routes.
pub(super) fn is_here(error: &io::Error, target: SocketAddr) -> bool {
    error.kind() == io::ErrorKind::NetworkUnreachable && host_info::route_to(target).is_err()
}

/// Interfaces that routes may have gone with: those that are switched off or have no carrier. A bridge without ports has none as a
/// rule, and an interface without an address of the link was made by the kernel for all.
fn unusable(links: &[Link]) -> Vec<UnusableInterface> {
    let is_real = |link: &&Link| link.mac.is_some_and(|mac| mac != Mac([0; 6]));
    let carries = |link: &&Link| link.running || (link.up && link.kind.as_deref() == Some("bridge"));
    let those = links.iter().filter(is_real).filter(|link| !link.up || !carries(link));
    those.map(|link| UnusableInterface { interface: link.name.clone(), no_carrier: link.up }).collect()
}

/// Whether interface `name` is switched on and has no carrier: a cable that is not there is mended elsewhere than an interface that is
/// switched off.
pub(super) fn lacks_carrier(name: &str) -> bool {
    links().iter().any(|link| link.name == name && link.up && !link.running)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(unusable(&fine), []);
        let [down, unplugged] =
            [link("eth1", card, false, false, None), link("eth2", card, true, false, None)];
        let named =
            |interface: &str, no_carrier| UnusableInterface { interface: interface.into(), no_carrier };
        assert_eq!(
            unusable(&[&fine[..], &[down, unplugged]].concat()),
            [named("eth1", false), named("eth2", true)]
        );
    }
}
