//! Default options of a benchmark whose ports are those of a lab.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use romer_port::PortName;

/// What a laboratory's ports say of themselves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lab {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
}

impl Lab {
    /// The laboratory of which these are the two ends. The destination is nobody's address, so that no host answers
    /// the test frames; the tester answers for it. `v6`: by its addresses of IPv6.
    pub(super) fn find(tx: &PortName, rx: &PortName, v6: bool) -> Option<Self> {
        let end = |port: &PortName, interface: &str, letter: char| -> Option<String> {
            let prefix = port.namespace()?.strip_suffix(letter)?;
            (port.interface() == interface).then(|| prefix.to_owned())
        };
        let prefix = end(tx, "t0", 'A')?;
        if end(rx, "t1", 'B')? != prefix {
            return None;
        }
        let there = |letter: char| romer_host::netns::exists(&format!("{prefix}{letter}")).unwrap_or(false);
        let network = match (there('R'), there('E')) {
            (true, _) => 0x19,
            (false, true) => 0x18,
            (false, false) => return None,
        };
        // The hexadecimal digits of IPv6 read as the decimal ones of IPv4.
        let [source, destination] = [(0x18, 2), (network, 66)].map(|(network, host): (u16, u8)| {
            if v6 {
                IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, network, 0, 0, 0, host.into()))
            } else {
                IpAddr::V4(Ipv4Addr::new(198, if network == 0x18 { 18 } else { 19 }, 0, host))
            }
        });
        Some(Self { source, destination })
    }
}
