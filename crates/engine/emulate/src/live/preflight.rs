//! What there is to say of two interfaces before they are bridged.

use romer_host::HostError;
use romer_host::link::{Network, pair};
use romer_port::{NotRestored, PortName, TakenOver};
use romer_record::warning::EmulationWarning;

/// Addresses at which this host goes on to answer, links that are down, packets that will not fit.
/// `heard` is whether the host goes on to see what arrives.
pub(super) fn notes(ports: &[PortName; 2], heard: bool) -> Result<Vec<EmulationWarning>, HostError> {
    let mut notes = Vec::new();
    let mut mtus = [0; 2];
    for (port, mtu) in ports.iter().zip(&mut mtus) {
        let network = Network::open(port.namespace())?;
        let link = network.link(port.interface())?;
        let addresses = network.addresses(port.interface())?;
        let own: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        if heard && !own.is_empty() {
            notes.push(EmulationWarning::PortHasAddresses { port: port.to_string(), addresses: own });
        }
        if !link.running {
            notes.push(EmulationWarning::LinkDown { port: port.to_string() });
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
    taken: TakenOver,
    left: NotRestored,
) -> impl Iterator<Item = EmulationWarning> {
    let interface = port.interface();
    let bridge = taken.bridge.filter(|_| left.bridge).map(|bridge| EmulationWarning::BridgeNotRestored {
        port: port.to_string(),
        command: port.ip(&format!("link set {interface} master {bridge}")),
        bridge,
    });
    let offloads = left.offloads.then(|| EmulationWarning::OffloadsNotRestored {
        port: port.to_string(),
        command: taken
            .offloads
            .iter()
            .fold(format!("ethtool -K {interface}"), |command, name| format!("{command} {name} on")),
    });
    bridge.into_iter().chain(offloads)
}

fn narrower(ports: &[PortName; 2], mtus: [u32; 2]) -> Option<EmulationWarning> {
    let narrow = usize::from(mtus[1] < mtus[0]);
    let wide = 1 - narrow;
    (mtus[0] != mtus[1]).then(|| EmulationWarning::MtusDiffer {
        narrow_port: ports[narrow].to_string(),
        narrow_mtu_bytes: mtus[narrow],
        wide_port: ports[wide].to_string(),
        wide_mtu_bytes: mtus[wide],
    })
}
