//! What there is to say of two interfaces before they are bridged.

use romer_host::HostError;
use romer_host::link::{Network, pair};
use romer_port::{NotRestored, PortName};

/// In words: addresses at which this host goes on to answer, links that are down, packets that will not fit.
/// `heard` is whether the host goes on to see what arrives.
pub(super) fn notes(ports: &[PortName; 2], heard: bool) -> Result<Vec<String>, HostError> {
    let mut notes = Vec::new();
    let mut mtus = [0; 2];
    for (port, mtu) in ports.iter().zip(&mut mtus) {
        let network = Network::open(port.namespace())?;
        let link = network.link(port.interface())?;
        let addresses = network.addresses(port.interface())?;
        let own: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        if heard && !own.is_empty() {
            notes.push(format!(
                "{port} has addresses of this host ({}): the host answers there itself, bypassing the emulator; remove the \
                 addresses, or use --data-plane xdp",
                own.join(", ")
            ));
        }
        if !link.running {
            notes.push(format!(
                "the link of {port} is down: packets to it are lost (undeliverable) until it is up"
            ));
        }
        *mtu = link.mtu;
    }
    notes.extend(narrower(ports, mtus));
    Ok(notes)
}

/// Whether the ports are the two ends of one veth pair.
pub(super) fn is_loop(ports: &[PortName; 2]) -> Result<bool, HostError> {
    let [a, b] = ports;
    let index = |port: &PortName| -> Result<u32, HostError> {
        Ok(Network::open(port.namespace())?.link(port.interface())?.index)
    };
    pair::is_pair((a.namespace(), index(a)?), (b.namespace(), index(b)?))
}

/// What could not be restored of a port, and how to restore it by hand.
pub(super) fn not_restored(
    port: &PortName,
    bridge: Option<String>,
    left: NotRestored,
) -> impl Iterator<Item = String> {
    let interface = port.interface();
    let bridge = bridge.filter(|_| left.bridge).map(|bridge| {
        format!(
            "cannot restore {port} to bridge {bridge}: one of the two is no longer in the network namespace; to restore it, \
             use `{}`",
            port.ip(&format!("link set {interface} master {bridge}"))
        )
    });
    let offloads = left.offloads.then(|| {
        format!(
            "cannot restore the offloads of {port}: the interface was not found in any network namespace; if it still \
             exists, use `ethtool -K {interface} tso on gso on gro on tx on` in its namespace"
        )
    });
    bridge.into_iter().chain(offloads)
}

fn narrower(ports: &[PortName; 2], mtus: [u32; 2]) -> Option<String> {
    let narrow = usize::from(mtus[1] < mtus[0]);
    let wide = 1 - narrow;
    (mtus[0] != mtus[1]).then(|| {
        format!(
            "the MTU of {} is {} bytes, that of {} is {}: longer packets from {} are lost (oversize)",
            ports[narrow], mtus[narrow], ports[wide], mtus[wide], ports[wide]
        )
    })
}
