//! The two laboratories: hosts, links, addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use romer_host::link::Mac;
use romer_units::Duration;
use serde::{Deserialize, Serialize};

use crate::error::LabError;

/// The prefix of a laboratory whose user names none.
pub const DEFAULT_PREFIX: &str = "romer";
/// How long a benchmark waits after a trial until the laboratory's router has sent on what it holds.
pub const SETTLE: Duration = Duration::from_millis(200);
/// Longest prefix, so that names of namespaces stay readable.
const LONGEST_PREFIX: usize = 64;
/// Length of the IPv4 networks' prefix; RFC 2544 appendix C.2.2 gives 198.18.0.0/15 to benchmarks.
pub(crate) const V4_PREFIX: u8 = 24;
/// Length of the IPv6 networks' prefix; RFC 5180 section 8 gives 2001:2::/48 to benchmarks.
pub(crate) const V6_PREFIX: u8 = 64;

/// Which laboratory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topology {
    /// Two hosts and a place for an emulator between them.
    Path,
    /// Two hosts and a router between them.
    Router,
}

impl Topology {
    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Router => "router",
        }
    }

    /// The hosts: the two ends, then the one between them.
    pub const fn hosts(self) -> [Host; 3] {
        [Host::A, Host::B, self.middle()]
    }

    /// The host between the two ends.
    pub const fn middle(self) -> Host {
        match self {
            Self::Path => Host::E,
            Self::Router => Host::R,
        }
    }

    /// The host at one end of a measurement.
    pub const fn endpoint(self, end: Host) -> Option<Endpoint> {
        match (self, end) {
            (_, Host::A) => Some(Endpoint::new("t0", 0x18, 2)),
            (Self::Path, Host::B) => Some(Endpoint::new("t1", 0x18, 3)),
            (Self::Router, Host::B) => Some(Endpoint::new("t1", 0x19, 2)),
            _ => None,
        }
    }

    /// The ports of the host between, towards A and towards B.
    pub(crate) const fn middle_ports(self) -> [LabPort; 2] {
        match self {
            Self::Path => {
                [LabPort { name: "e0", mac: mac(0x18, 0xe0) }, LabPort { name: "e1", mac: mac(0x18, 0xe1) }]
            }
            Self::Router => {
                [LabPort { name: "r0", mac: mac(0x18, 1) }, LabPort { name: "r1", mac: mac(0x19, 1) }]
            }
        }
    }
}

/// A host of a laboratory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Host {
    /// The first end.
    A,
    /// The other end.
    B,
    /// Where an emulator goes, in a path.
    E,
    /// The router.
    R,
}

impl Host {
    const fn letter(self) -> char {
        match self {
            Self::A => 'A',
            Self::B => 'B',
            Self::E => 'E',
            Self::R => 'R',
        }
    }

    /// The name of this host's network namespace.
    pub fn namespace(self, prefix: &str) -> String {
        format!("{prefix}{}", self.letter())
    }

    /// The host that `text` means (`A`, or in full `romerA`) in a laboratory of `kind`.
    ///
    /// # Errors
    /// There is no such host in it.
    pub fn find(text: &str, kind: Topology, prefix: &str) -> Result<Self, LabError> {
        let found = kind
            .hosts()
            .into_iter()
            .find(|host| text == host.letter().to_string() || text == host.namespace(prefix));
        found.ok_or_else(|| LabError::UnknownHost {
            host: text.into(),
            hosts: kind
                .hosts()
                .map(|host| format!("{} ({})", host.letter(), host.namespace(prefix)))
                .join(", "),
        })
    }
}

/// An interface of the laboratory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabPort {
    /// Its name.
    pub name: &'static str,
    /// Its link-layer address.
    pub mac: Mac,
}

/// The interface of one of the two ends, and its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The interface.
    pub port: LabPort,
    /// Its IPv4 address, in a /24.
    pub v4: Ipv4Addr,
    /// Its IPv6 address, in a /64.
    pub v6: Ipv6Addr,
}

impl Endpoint {
    const fn new(name: &'static str, network: u8, host: u8) -> Self {
        Self { port: LabPort { name, mac: mac(network, host) }, v4: v4(network, host), v6: v6(network, host) }
    }

    /// Both addresses.
    pub const fn addresses(&self) -> [IpAddr; 2] {
        [IpAddr::V4(self.v4), IpAddr::V6(self.v6)]
    }
}

/// The router's own addresses at its two ports.
pub(crate) const fn router_addresses() -> [(Ipv4Addr, Ipv6Addr); 2] {
    [(v4(0x18, 1), v6(0x18, 1)), (v4(0x19, 1), v6(0x19, 1))]
}

/// 198.18.0.HOST for network 0x18, 198.19.0.HOST for 0x19: the hexadecimal digits are read as decimal ones.
const fn v4(network: u8, host: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, (network >> 4) * 10 + (network & 15), 0, host)
}

/// 2001:2:0:18::HOST or 2001:2:0:19::HOST.
const fn v6(network: u8, host: u8) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 2, 0, network as u16, 0, 0, 0, host as u16)
}

/// A locally administered address that tells network and host.
const fn mac(network: u8, host: u8) -> Mac {
    Mac([2, 0, 0, network, 0, host])
}

/// A prefix that may begin the names of namespaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamespacePrefix(String);

impl NamespacePrefix {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for NamespacePrefix {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        let bad = |why| LabError::BadPrefix { prefix: text.chars().take(80).collect(), why };
        if text.is_empty() {
            return Err(bad("it is empty"));
        }
        if text.len() > LONGEST_PREFIX {
            return Err(bad("it is too long"));
        }
        if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Err(bad("it does not begin with a letter or digit"));
        }
        if !text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            return Err(bad("it holds other characters than letters, digits, - and _"));
        }
        Ok(Self(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_addresses_are_those_of_the_contract() {
        let text =
            |kind: Topology, host| kind.endpoint(host).map(|end| end.addresses().map(|a| a.to_string()));
        assert_eq!(text(Topology::Path, Host::A).unwrap(), ["198.18.0.2", "2001:2:0:18::2"]);
        assert_eq!(text(Topology::Path, Host::B).unwrap(), ["198.18.0.3", "2001:2:0:18::3"]);
        assert_eq!(text(Topology::Router, Host::A).unwrap(), ["198.18.0.2", "2001:2:0:18::2"]);
        assert_eq!(text(Topology::Router, Host::B).unwrap(), ["198.19.0.2", "2001:2:0:19::2"]);
        assert_eq!(router_addresses()[1].0.to_string(), "198.19.0.1");
        assert_eq!(text(Topology::Path, Host::E), None);
    }

    #[test]
    fn no_two_ports_of_a_laboratory_share_an_address() {
        for kind in [Topology::Path, Topology::Router] {
            let ends = [Host::A, Host::B].map(|host| kind.endpoint(host).unwrap().port);
            let mut macs: Vec<_> =
                ends.into_iter().chain(kind.middle_ports()).map(|port| port.mac.0).collect();
            macs.sort_unstable();
            macs.dedup();
            assert_eq!(macs.len(), 4, "{kind:?}");
        }
    }

    #[test]
    fn a_host_is_found_by_letter_and_by_full_name() {
        assert_eq!(Host::find("A", Topology::Path, "x").unwrap(), Host::A);
        assert_eq!(Host::find("xE", Topology::Path, "x").unwrap(), Host::E);
        assert_eq!(Host::find("R", Topology::Router, "x").unwrap(), Host::R);
        for text in ["R", "a", "", "yA", "C"] {
            let error = Host::find(text, Topology::Path, "x").unwrap_err();
            assert!(error.is_usage() && error.to_string().contains("E (xE)"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn a_prefix_that_is_accepted_makes_legal_names(text in "\\PC{0,70}") {
            if let Ok(prefix) = text.parse::<NamespacePrefix>() {
                prop_assert!(romer_host::netns::path(&Host::A.namespace(prefix.as_str())).is_ok());
                prop_assert!(!text.contains(['/', '.', ' ']));
            }
        }
    }

    #[test]
    fn bad_prefixes_are_refused_with_the_rule() {
        for text in ["", "-x", "a/b", "..", "a b", "ä", &"x".repeat(65), "a\0"] {
            assert!(text.parse::<NamespacePrefix>().is_err(), "{text:?} was accepted");
        }
        assert_eq!("romer-1_x".parse::<NamespacePrefix>().unwrap().as_str(), "romer-1_x");
    }
}
