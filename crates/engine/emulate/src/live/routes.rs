//! Whether a host reaches the world by an interface, which then is not to be taken away from it unasked.

use romer_host::{HostError, netns};
use romer_port::PortName;

/// The first of the ports that carries a default route of its namespace.
pub(super) fn default_route_among(ports: &[PortName; 2]) -> Result<Option<&PortName>, HostError> {
    for port in ports {
        // The files speak of the namespace of the thread that reads them.
        let read = || {
            let text = |name: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{name}"));
            [text("route"), text("ipv6_route")].map(Result::unwrap_or_default)
        };
        let [v4, v6] = match port.namespace() {
            Some(namespace) => netns::with_namespace(namespace, read)?,
            None => read(),
        };
        if in_v4(&v4, port.interface()) || in_v6(&v6, port.interface()) {
            return Ok(Some(port));
        }
    }
    Ok(None)
}

/// In `/proc/net/route`: interface, destination, gateway, flags, use counts, metric, mask.
fn in_v4(table: &str, interface: &str) -> bool {
    table.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields.first() == Some(&interface)
            && fields.get(1) == Some(&"00000000")
            && fields.get(7) == Some(&"00000000")
    })
}

/// In `/proc/net/ipv6_route`: destination and its prefix first, the interface last.
fn in_v6(table: &str, interface: &str) -> bool {
    table.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let to_all = fields.first().is_some_and(|to| to.bytes().all(|octet| octet == b'0'));
        to_all && fields.get(1) == Some(&"00") && fields.last() == Some(&interface)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_route_is_told_from_others() {
        let v4 = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
                  eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                  eth1\t000012C6\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
        assert!(in_v4(v4, "eth0"));
        assert!(!in_v4(v4, "eth1") && !in_v4(v4, "eth") && !in_v4("", "eth0"));
        let zeros = "0".repeat(32);
        let v6 = format!(
            "{zeros} 00 {zeros} 00 {zeros} 00000400 00000001 00000000 00000003     eth0\n\
             2001{} 40 {zeros} 00 {zeros} 00000100 00000001 00000000 00000001     eth1\n",
            "0".repeat(28)
        );
        assert!(in_v6(&v6, "eth0") && !in_v6(&v6, "eth1"));
    }
}
