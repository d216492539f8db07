//! Headers that a device changes as text.

use romer_record::benchmark::ChangedHeader;
use romer_wire::ip;

use crate::sentence::Text;

impl Text for ChangedHeader {
    fn text(&self) -> String {
        match *self {
            Self::EtherType { ether_type } => {
                let name = match ether_type {
                    0x8847 | 0x8848 => " (MPLS)",
                    0x8863 | 0x8864 => " (PPPoE)",
                    0x88e7 => " (802.1ah)",
                    0x88e5 => " (MACsec)",
                    _ => "",
                };
                format!("ethertype 0x{ether_type:04x}{name}")
            }
            Self::Tunnel { protocol, port, source, destination } => {
                let outer = port.map_or_else(|| packet(protocol), |port| datagram(protocol, port));
                format!("{outer} from {source} to {destination}")
            }
            Self::SourceAddress { address } => format!("source address {address}"),
            Self::DestinationAddress { address } => format!("destination address {address}"),
            Self::SourcePort { port } => format!("source port {port}"),
            Self::DestinationPort { port } => format!("destination port {port}"),
            Self::Others => "others".into(),
        }
    }
}

/// An outer packet without ports.
fn packet(protocol: u8) -> String {
    let name = match protocol {
        4 => " (IPv4 in IP)",
        41 => " (IPv6 in IP)",
        47 => " (GRE)",
        50 => " (ESP)",
        51 => " (AH)",
        _ => "",
    };
    format!("IP protocol {protocol}{name}")
}

/// An outer packet with ports.
fn datagram(protocol: u8, port: u16) -> String {
    let name = match port {
        1_701 => " (L2TP)",
        2_152 => " (GTP-U)",
        4_500 => " (ESP in UDP)",
        4_754 => " (GRE in UDP)",
        4_789 => " (VXLAN)",
        6_081 => " (Geneve)",
        6_635 => " (MPLS in UDP)",
        51_820 => " (WireGuard)",
        _ => "",
    };
    let transport = if protocol == ip::protocol::TCP { "TCP" } else { "UDP" };
    format!("outer {transport} port {port}{name}")
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    /// Known labels and tunnels have their names.
    #[test]
    fn headers_in_words() {
        let [source, destination] = [1, 2].map(|host| IpAddr::V4(Ipv4Addr::new(192, 0, 2, host)));
        let tunnel = |protocol, port| ChangedHeader::Tunnel { protocol, port, source, destination }.text();
        assert_eq!(ChangedHeader::EtherType { ether_type: 0x8847 }.text(), "ethertype 0x8847 (MPLS)");
        assert_eq!(tunnel(4, None), "IP protocol 4 (IPv4 in IP) from 192.0.2.1 to 192.0.2.2");
        assert_eq!(tunnel(17, Some(4_789)), "outer UDP port 4789 (VXLAN) from 192.0.2.1 to 192.0.2.2");
        assert_eq!(ChangedHeader::SourceAddress { address: source }.text(), "source address 192.0.2.1");
    }
}
