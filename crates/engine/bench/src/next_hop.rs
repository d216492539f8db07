//! Where frames go on the first link.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use romer_host::{HostError, netns};
use romer_port::PortName;

/// Who is to be asked for the link-layer address that frames for `destination` go to: the gateway that this host's own
/// routes name for that interface, or the destination itself.
pub(crate) fn whom_to_ask(port: &PortName, destination: IpAddr) -> Result<IpAddr, HostError> {
    let file = match destination {
        IpAddr::V4(_) => "/proc/thread-self/net/route",
        IpAddr::V6(_) => "/proc/thread-self/net/ipv6_route",
    };
    let read = || fs::read_to_string(file).unwrap_or_default();
    let table = match port.namespace() {
        Some(namespace) => netns::with_namespace(namespace, read)?,
        None => read(),
    };
    let find = if destination.is_ipv4() { gateway_v4 } else { gateway_v6 };
    Ok(find(&table, port.interface(), destination).unwrap_or(destination))
}

/// The gateway of the longest prefix that holds the destination, in the kernel's table of routes of IPv4.
fn gateway_v4(table: &str, interface: &str, destination: IpAddr) -> Option<IpAddr> {
    let IpAddr::V4(destination) = destination else { return None };
    // Numbers in hexadecimal, octets in the order of the network read as one of the machine.
    let word = |text: &str| Some(u32::from_be_bytes(u32::from_str_radix(text, 16).ok()?.to_ne_bytes()));
    let best = table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [name, network, gateway, _, _, _, _, mask, ..] = fields.as_slice() else { return None };
        let (network, gateway, mask) = (word(network)?, word(gateway)?, word(mask)?);
        let holds = *name == interface && u32::from(destination) & mask == network;
        holds.then_some((mask.count_ones(), gateway))
    });
    let (_, gateway) = best.max_by_key(|(length, _)| *length)?;
    (gateway != 0).then(|| IpAddr::V4(Ipv4Addr::from(gateway)))
}

/// The same in that of IPv6.
fn gateway_v6(table: &str, interface: &str, destination: IpAddr) -> Option<IpAddr> {
    let IpAddr::V6(destination) = destination else { return None };
    let address = |text: &str| u128::from_str_radix(text, 16).ok();
    let best = table.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [network, length, _, _, gateway, _, _, _, _, name] = fields.as_slice() else { return None };
        let (network, gateway) = (address(network)?, address(gateway)?);
        let length = u32::from_str_radix(length, 16).ok().filter(|length| *length <= 128)?;
        let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        let holds = *name == interface && u128::from(destination) & mask == network & mask;
        holds.then_some((length, gateway))
    });
    let (_, gateway) = best.max_by_key(|(length, _)| *length)?;
    (gateway != 0).then(|| IpAddr::V6(Ipv6Addr::from(gateway)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
        t0\t00000000\t010012C6\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
        t0\t000012C6\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";

    #[test]
    fn the_gateway_is_that_of_the_longest_prefix() {
        let find = |destination: &str| gateway_v4(V4, "t0", destination.parse().unwrap());
        assert_eq!(find("198.19.0.2"), Some("198.18.0.1".parse().unwrap()));
        assert_eq!(find("198.18.0.7"), None, "on the link");
        assert_eq!(gateway_v4(V4, "t9", "198.19.0.2".parse().unwrap()), None);
        let v6 = "20010002000000180000000000000000 40 00000000000000000000000000000000 00 \
            00000000000000000000000000000000 00000100 00000001 00000000 00000001       t0\n\
            00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
            20010002000000180000000000000001 00000400 00000001 00000000 00000003       t0\n";
        let find = |destination: &str| gateway_v6(v6, "t0", destination.parse().unwrap());
        assert_eq!(find("2001:2:0:19::2"), Some("2001:2:0:18::1".parse().unwrap()));
        assert_eq!(find("2001:2:0:18::9"), None);
    }
}
