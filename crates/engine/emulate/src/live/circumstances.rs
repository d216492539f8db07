//! What there is to say of two interfaces before they are bridged.

use romer_host::HostError;
use romer_host::link::Network;
use romer_port::PortName;

/// In words: addresses at which this host goes on to answer, links that are down, packets that will not fit.
/// `heard` is whether the host goes on to see what arrives.
pub(super) fn notes(ports: &[PortName; 2], heard: bool) -> Result<Vec<String>, HostError> {
    let mut notes = Vec::new();
    let mut mtus = [0; 2];
    for (port, mtu) in ports.iter().zip(&mut mtus) {
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
        *mtu = link.mtu;
    }
    notes.extend(narrower(ports, mtus));
    Ok(notes)
}

const fn is_link_local(address: std::net::IpAddr) -> bool {
    match address {
        std::net::IpAddr::V4(_) => false,
        std::net::IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

fn narrower(ports: &[PortName; 2], mtus: [u32; 2]) -> Option<String> {
    let narrow = usize::from(mtus[1] < mtus[0]);
    let wide = 1 - narrow;
    (mtus[0] != mtus[1]).then(|| {
        format!(
            "{} takes packets of {} octets, {} of {}: longer ones that come by the other are lost (oversize)",
            ports[narrow], mtus[narrow], ports[wide], mtus[wide]
        )
    })
}
