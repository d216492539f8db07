//! The laboratories: hosts, links, addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use romer_host::link::Mac;
use romer_units::Duration;
use serde::{Deserialize, Serialize};

use crate::error::LabError;

/// The prefix of a laboratory whose user names none.
pub const DEFAULT_PREFIX: &str = "romer";
/// The most emulators of a chain.
pub const MOST_EMULATORS: u8 = 8;
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
    /// Two hosts and places for several emulators between them, one after the other.
    Chain {
        /// How many, 1 to [`MOST_EMULATORS`].
        emulators: u8,
    },
}

impl Topology {
    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Router => "router",
            Self::Chain { .. } => "chain",
        }
    }

    /// The hosts: the two ends, then those between them.
    pub fn hosts(self) -> Vec<Host> {
        [Host::A, Host::B].into_iter().chain(self.between()).collect()
    }

    /// The hosts between the two ends, from A to B.
    pub fn between(self) -> Vec<Host> {
        match self {
            Self::Path => vec![Host::E],
            Self::Router => vec![Host::R],
            Self::Chain { emulators } => {
                (1..=emulators.clamp(1, MOST_EMULATORS)).map(Host::Emulator).collect()
            }
        }
    }

    /// The host at one end of a measurement.
    pub const fn endpoint(self, end: Host) -> Option<Endpoint> {
        match (self, end) {
            (_, Host::A) => Some(Endpoint::new("t0", 0x18, 2)),
            (Self::Path | Self::Chain { .. }, Host::B) => Some(Endpoint::new("t1", 0x18, 3)),
            (Self::Router, Host::B) => Some(Endpoint::new("t1", 0x19, 2)),
            _ => None,
        }
    }
}

/// The ports of the router, towards A and towards B.
pub(crate) const ROUTER_PORTS: [LabPort; 2] =
    [LabPort { name: "r0", mac: mac(0x18, 1) }, LabPort { name: "r1", mac: mac(0x19, 1) }];

/// A host of a laboratory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Host {
    /// The first end.
    A,
    /// The other end.
    B,
    /// Where an emulator goes, in a path.
    E,
    /// Where one of several emulators goes, in a chain: the first is next to A.
    Emulator(u8),
    /// The router.
    R,
}

impl Host {
    /// What it is called: `A`, `E2`.
    fn label(self) -> String {
        match self {
            Self::A => "A".into(),
            Self::B => "B".into(),
            Self::E => "E".into(),
            Self::Emulator(number) => format!("E{number}"),
            Self::R => "R".into(),
        }
    }

    /// The ports of a host between the two ends, towards A and towards B.
    pub(crate) const fn ports(self) -> Option<[LabPort; 2]> {
        let number = match self {
            Self::A | Self::B => return None,
            Self::R => return Some(ROUTER_PORTS),
            Self::E => 1,
            Self::Emulator(number) => number,
        };
        // The emulators of a chain have addresses one after the other, as far as a byte goes.
        let first = 0xe0_u8.wrapping_add(2_u8.wrapping_mul(number.wrapping_sub(1)));
        Some([
            LabPort { name: "e0", mac: mac(0x18, first) },
            LabPort { name: "e1", mac: mac(0x18, first.wrapping_add(1)) },
        ])
    }

    /// The name of this host's network namespace.
    pub fn namespace(self, prefix: &str) -> String {
        format!("{prefix}{}", self.label())
    }

    /// The host that `text` means (`A`, or in full `romerA`) in a laboratory of `kind`.
    ///
    /// # Errors
    /// There is no such host in it.
    pub fn find(text: &str, kind: Topology, prefix: &str) -> Result<Self, LabError> {
        let found =
            kind.hosts().into_iter().find(|host| text == host.label() || text == host.namespace(prefix));
        found.ok_or_else(|| LabError::UnknownHost {
            host: text.into(),
            hosts: kind
                .hosts()
                .into_iter()
                .map(|host| format!("{} ({})", host.label(), host.namespace(prefix)))
                .collect::<Vec<_>>()
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
        let chain = Topology::Chain { emulators: MOST_EMULATORS };
        for (kind, ports) in [(Topology::Path, 4), (Topology::Router, 4), (chain, 18)] {
            let ends = [Host::A, Host::B].map(|host| kind.endpoint(host).unwrap().port);
            let between = kind.between().into_iter().filter_map(Host::ports).flatten();
            let mut macs: Vec<_> = ends.into_iter().chain(between).map(|port| port.mac.0).collect();
            macs.sort_unstable();
            macs.dedup();
            assert_eq!(macs.len(), ports, "{kind:?}");
        }
    }

    #[test]
    fn a_host_is_found_by_letter_and_by_full_name() {
        assert_eq!(Host::find("A", Topology::Path, "x").unwrap(), Host::A);
        assert_eq!(Host::find("xE", Topology::Path, "x").unwrap(), Host::E);
        assert_eq!(Host::find("R", Topology::Router, "x").unwrap(), Host::R);
        let chain = Topology::Chain { emulators: 2 };
        assert_eq!(Host::find("E2", chain, "x").unwrap(), Host::Emulator(2));
        assert_eq!(Host::find("xE1", chain, "x").unwrap(), Host::Emulator(1));
        assert!(Host::find("E3", chain, "x").is_err() && Host::find("E", chain, "x").is_err());
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
