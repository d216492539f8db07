//! What there is to say of two interfaces before they are bridged.

use romer_host::HostError;
use romer_host::link::{Link, Network};
use romer_port::PortName;

/// In words: addresses at which this host goes on to answer, links that are down, packets that will not fit.
/// `heard` is whether the host goes on to see what arrives.
pub(super) fn notes(ports: &[PortName; 2], heard: bool) -> Result<Vec<String>, HostError> {
    let mut notes = Vec::new();
    let mut links = Vec::new();
    for port in ports {
        let network = Network::open(port.namespace())?;
        let link = network.link(port.interface())?;
        let addresses = network.addresses(port.interface())?;
        let own: Vec<String> =
            addresses.iter().filter(|address| !is_link_local(**address)).map(ToString::to_string).collect();
        if heard && !own.is_empty() {
            notes.push(format!(
                "{port} has addresses of this host ({}): the host answers there itself, beside the emulator and without its \
                 delay; take them off, or use --data-plane xdp",
                own.join(", ")
            ));
        }
        if !link.running {
            notes.push(format!(
                "the link of {port} is down: what is to leave by it is lost (undeliverable) until it is up"
            ));
        }
        links.push(link);
    }
    if let [a, b] = &links[..] {
        notes.extend(narrower(ports, a, b));
    }
    Ok(notes)
}

const fn is_link_local(address: std::net::IpAddr) -> bool {
    match address {
        std::net::IpAddr::V4(_) => false,
        std::net::IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

fn narrower(ports: &[PortName; 2], a: &Link, b: &Link) -> Option<String> {
    let (wide, narrow) =
        if a.mtu > b.mtu { ((&ports[0], a), (&ports[1], b)) } else { ((&ports[1], b), (&ports[0], a)) };
    (wide.1.mtu != narrow.1.mtu).then(|| {
        format!(
            "{} takes packets of {} octets, {} of {}: longer ones that come by the other are lost (oversize)",
            narrow.0, narrow.1.mtu, wide.0, wide.1.mtu
        )
    })
}
