//! Targets as people write them.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use romer_host::link::{Link, Network};
use romer_units::excerpt;

use crate::EndpointError;

/// A target: `HOST`, `HOST:PORT`, `192.0.2.1:PORT`, `2001:db8::1`, `[2001:db8::1]:PORT`, `fe80::1%eth0`,
/// `[fe80::1%eth0]:PORT`. Text with several colons and without brackets that is an IPv6 address is taken for one, whatever its
/// last group looks like: a port needs brackets (RFC 3986 section 3.2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name or address.
    pub host: String,
    /// The port, if one was written.
    pub port: Option<u16>,
    /// As it was written.
    pub text: String,
}

/// Which addresses of a name may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// Whichever the resolver gives.
    #[default]
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (host, port) = split(text)?;
        let port = port
            .map(|port| match port.parse::<u16>() {
                Ok(0) | Err(_) => {
                    Err(format!("{} is not a port; write a number from 1 to 65535", quoted(port)))
                }
                Ok(port) => Ok(port),
            })
            .transpose()?;
        check_host(host)?;
        Ok(Self { host: host.into(), port, text: text.into() })
    }
}

fn quoted(text: &str) -> String {
    format!("{:?}", excerpt(text, 80))
}

fn split(text: &str) -> Result<(&str, Option<&str>), String> {
    if text.is_empty() {
        return Err("the target is empty; write a host name or an address".into());
    }
    if text.len() > 300 {
        return Err(format!("{} is too long for a host name; write at most 253 characters", quoted(text)));
    }
    if text.contains("://") {
        return Err(format!(
            "{} is the address of a page; write a host name or an address, and a port behind a colon where it is not the usual one",
            quoted(text)
        ));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest
            .split_once(']')
            .ok_or_else(|| format!("{} has no closing bracket; write [2001:db8::1]:8862", quoted(text)))?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => {
                Err(format!("{} has something behind its bracket; write [2001:db8::1]:8862", quoted(text)))
            }
        };
    }
    match text.matches(':').count() {
        0 => Ok((text, None)),
        1 => Ok(text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)))),
        _ if text.split('%').next().is_some_and(is_v6) && !zone(text).contains(':') => Ok((text, None)),
        _ => Err(match text.rsplit_once(':') {
            Some((address, port)) if address.split('%').next().is_some_and(is_v6) => format!(
                "{} is an IPv6 address with a port and without brackets; write [{}]:{}",
                quoted(text),
                excerpt(address, 60).escape_debug(),
                excerpt(port, 20).escape_debug()
            ),
            _ => format!(
                "{} is neither an address nor a host name with a port; write HOST, HOST:PORT or [IPV6]:PORT",
                quoted(text)
            ),
        }),
    }
}

fn is_v6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// The zone (RFC 4007 section 11) of an address; empty where it has none.
fn zone(text: &str) -> &str {
    text.split_once('%').map_or("", |(_, zone)| zone)
}

fn check_host(host: &str) -> Result<(), String> {
    if host.is_empty() {
        return Err("the target has no host; write a host name or an address before the port".into());
    }
    let (bare, scope) = host.split_once('%').map_or((host, None), |(bare, scope)| (bare, Some(scope)));
    if let Ok(address) = bare.parse::<IpAddr>() {
        if scope.is_some_and(|scope| address.is_ipv4() || !is_scope(scope)) {
            return Err(format!("{} has no interface behind its %; write fe80::1%eth0", quoted(host)));
        }
        let is_local = matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local() || v6.is_multicast());
        if let Some(scope) = scope.filter(|_| !is_local) {
            return Err(format!(
                "{} names an interface, as only link-local addresses do; write {bare}, and --interface {scope} where it is to leave by that",
                quoted(host)
            ));
        }
        return check_address(address, host);
    }
    let numeric = host.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let legal = host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'));
    if numeric || !legal || host.starts_with('-') || host.split('.').any(|label| label.len() > 63) {
        return Err(format!("{} is not an address and not a host name; write one of the two", quoted(host)));
    }
    Ok(())
}

/// Whether an address's scope can be the name or number of an interface.
fn is_scope(scope: &str) -> bool {
    // IFNAMSIZ, 16, counts the octet that ends the name.
    let legal = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'.' | b'-' | b'_' | b'@');
    (1..16).contains(&scope.len()) && scope.bytes().all(legal)
}

fn check_address(address: IpAddr, host: &str) -> Result<(), String> {
    // An IPv4 address in IPv6's clothes is what it is in its own.
    let address = address.to_canonical();
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    if address.is_unspecified() {
        return Err(format!(
            "{host} is the unspecified address and no destination; write the address of one host"
        ));
    }
    if address.is_multicast() || broadcast {
        return Err(format!(
            "{host} is a multicast or broadcast address, and paths to single hosts are measured; write the address of one host"
        ));
    }
    if matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local()) && !host.contains('%') {
        return Err(format!("{host} is link-local and needs its interface; write {host}%eth0"));
    }
    Ok(())
}

impl Target {
    /// The addresses of the target in `family`, with `port`, in the order in which they are to be tried: the resolver's
    /// (RFC 6724), families taking turns (RFC 8305 section 4). There is at least one.
    ///
    /// # Errors
    /// [`EndpointError::Name`] where the resolver gives none; [`EndpointError::Usage`] where none is a destination.
    pub fn addresses(&self, family: Family, port: u16) -> Result<Vec<SocketAddr>, EndpointError> {
        let named = |why: String| EndpointError::Name { name: self.host.clone(), why };
        self.check_family(family)?;
        let resolved = (self.host.as_str(), port).to_socket_addrs();
        let found =
            resolved.map_err(|error| self.without_interface().unwrap_or_else(|| named(error.to_string())))?;
        let suits = |address: &SocketAddr| match family {
            Family::Any => true,
            Family::V4 => address.is_ipv4(),
            Family::V6 => address.is_ipv6(),
        };
        let mut unfit = None;
        let mut fit = Vec::new();
        for address in found.map(canonical).filter(suits) {
            // A zone came with the name, not with the bare address.
            let has_zone = matches!(address, SocketAddr::V6(v6) if v6.scope_id() != 0);
            match check_address(address.ip(), &self.host) {
                Err(why) if !has_zone => _ = unfit.get_or_insert(why),
                _ if fit.contains(&address) => {}
                _ => fit.push(address),
            }
        }
        match unfit {
            _ if !fit.is_empty() => Ok(in_turns(&fit)),
            Some(why) => Err(EndpointError::Usage(format!("bad target ({}): {why}", self.host))),
            None => Err(named(match family {
                Family::V4 => "it has no IPv4 address".into(),
                Family::V6 => "it has no IPv6 address".into(),
                Family::Any => "the resolver knows none".into(),
            })),
        }
    }

    /// The zone of the target, where this host has no such interface: the resolver knows no such name then.
    fn without_interface(&self) -> Option<EndpointError> {
        let zone = Some(zone(&self.host)).filter(|zone| !zone.is_empty())?;
        let links = Network::open(None).and_then(|network| network.links()).ok()?;
        let is_missing = links.iter().all(|link| link.name != zone);
        is_missing.then(|| {
            EndpointError::Usage(format!(
                "bad target ({}): this host has no interface {zone}; name one of those that `ip link` lists",
                self.host
            ))
        })
    }

    /// An address of one family cannot be measured over the other.
    fn check_family(&self, family: Family) -> Result<(), EndpointError> {
        let (asked, is) = match (family, self.host.split('%').next().unwrap_or_default().parse()) {
            (Family::V4, Ok(IpAddr::V6(v6))) if v6.to_ipv4_mapped().is_none() => ("-4", "IPv6"),
            (Family::V6, Ok(IpAddr::V4(_))) => ("-6", "IPv4"),
            _ => return Ok(()),
        };
        Err(EndpointError::Usage(format!(
            "options cannot be combined ({asked}, {}): it is an {is} address; leave {asked} out, or give a \
             name",
            self.host
        )))
    }
}

/// An address with the name of its zone, as a user writes it; the number where this host has no such interface.
pub fn with_zone(address: SocketAddr) -> String {
    let link = link_of_zone(address);
    link.map_or_else(
        || address.to_string(),
        |link| format!("[{}%{}]:{}", address.ip(), link.name, address.port()),
    )
}

/// The interface that the zone of an address means (RFC 4007 section 11).
pub fn link_of_zone(address: SocketAddr) -> Option<Link> {
    let zone = match address {
        SocketAddr::V6(v6) => v6.scope_id(),
        SocketAddr::V4(_) => 0,
    };
    let links = || Network::open(None).and_then(|network| network.links()).ok();
    (zone != 0).then(links).flatten()?.into_iter().find(|link| link.index == zone)
}

/// The addresses in their order within a family, the two families taking turns; that of the first begins.
fn in_turns(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let is_first =
        |address: &&SocketAddr| Some(address.is_ipv4()) == addresses.first().map(SocketAddr::is_ipv4);
    let (mut one, mut other) =
        (addresses.iter().filter(is_first), addresses.iter().filter(|address| !is_first(address)));
    let mut turns = Vec::with_capacity(addresses.len());
    while turns.len() < addresses.len() {
        turns.extend(one.next().into_iter().chain(other.next()));
    }
    turns
}

/// An IPv4 address in IPv6's clothes as what it is: the two do not meet on the wire.
fn canonical(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) => match v6.ip().to_ipv4_mapped() {
            Some(v4) => SocketAddr::from((v4, v6.port())),
            None => address,
        },
        SocketAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddrV6;

    use romer_record::Exit;

    use super::*;

    /// An error names the interface of a link-local address as the user wrote it.
    /// What is written back of a text is short, however long its parts are.
    #[test]
    fn refusals_are_short() {
        let long = "\u{15}".repeat(500);
        for long in [&long[..280], &long] {
            for text in [format!("::ffff:0{long}"), format!("::%{long}:0"), format!("a:b:{long}")] {
                let refused = text.parse::<Target>().unwrap_err();
                assert!(refused.len() < 400, "{refused}");
            }
        }
    }

    #[test]
    fn zone_has_its_name() {
        let links = Network::open(None).unwrap().links().unwrap();
        let link = links.first().unwrap();
        let local = |zone| SocketAddr::from(SocketAddrV6::new("fe80::1".parse().unwrap(), 9_201, 0, zone));
        assert_eq!(with_zone(local(link.index)), format!("[fe80::1%{}]:9201", link.name));
        assert_eq!(with_zone(local(0)), "[fe80::1]:9201");
        assert_eq!(with_zone(([192, 0, 2, 1], 862).into()), "192.0.2.1:862");
    }

    /// The resolver knows no name with such a zone; what is missing is the interface.
    #[test]
    fn missing_interface_is_named() {
        let target: Target = "fe80::1%nosuch0".parse().unwrap();
        let why = target.addresses(Family::Any, 862).unwrap_err().to_string();
        assert!(why.contains("(fe80::1%nosuch0): this host has no interface nosuch0; "), "{why}");
    }

    #[test]
    fn targets_are_read_as_people_write_them() {
        for (text, host, port) in [
            ("host.example", "host.example", None),
            ("host.example:8862", "host.example", Some(8862)),
            ("192.0.2.1", "192.0.2.1", None),
            ("192.0.2.1:862", "192.0.2.1", Some(862)),
            ("2001:db8::1", "2001:db8::1", None),
            ("::1", "::1", None),
            ("[2001:db8::1]:5000", "2001:db8::1", Some(5000)),
            ("[2001:db8::1]", "2001:db8::1", None),
            ("fe80::1%eth0", "fe80::1%eth0", None),
            ("[fe80::1%eth0]", "fe80::1%eth0", None),
            ("[fe80::1%eth0]:8862", "fe80::1%eth0", Some(8862)),
            // A last group of four digits is no port.
            ("2606:4700:4700::1111", "2606:4700:4700::1111", None),
            ("2001:db8::1:5000", "2001:db8::1:5000", None),
            ("fe80::1:5000%eth0", "fe80::1:5000%eth0", None),
        ] {
            let target: Target = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((target.host.as_str(), target.port), (host, port), "{text}");
        }
    }

    /// An IPv4-mapped IPv6 address is an IPv4 address.
    #[test]
    fn mapped_addresses_are_ipv4() {
        let target: Target = "::ffff:127.0.0.1".parse().unwrap();
        for family in [Family::Any, Family::V4] {
            assert_eq!(target.addresses(family, 862).unwrap(), ["127.0.0.1:862".parse().unwrap()]);
        }
    }

    /// Addresses keep the resolver's order within a family, and the families alternate (RFC 8305 section 4).
    #[test]
    fn addresses_in_turns() {
        let of = |text: &str| SocketAddr::new(text.parse().unwrap(), 862);
        let all = |texts: &[&str]| texts.iter().map(|text| of(text)).collect::<Vec<_>>();
        for (given, tried) in [
            (
                &["::1", "::2", "::3", "192.0.2.1", "192.0.2.2"][..],
                &["::1", "192.0.2.1", "::2", "192.0.2.2", "::3"][..],
            ),
            (&["192.0.2.1", "::1"], &["192.0.2.1", "::1"]),
            (&["192.0.2.1", "192.0.2.2"], &["192.0.2.1", "192.0.2.2"]),
            (&["::1"], &["::1"]),
        ] {
            assert_eq!(in_turns(&all(given)), all(tried));
        }
    }

    /// An address of another family than requested is refused.
    #[test]
    fn other_address_family_is_refused() {
        for (text, family) in [("127.0.0.1", Family::V6), ("::1", Family::V4), ("fe80::1%lo", Family::V4)] {
            let error = text.parse::<Target>().unwrap().addresses(family, 862).unwrap_err();
            assert_eq!(error.exit(), Exit::Usage, "{error}");
        }
    }

    /// An invalid target is refused with the reason.
    #[test]
    fn invalid_targets_state_the_reason() {
        for (text, part) in [
            ("", "empty"),
            ("256.1.1.1", "not an address and not a host name"),
            ("2001:db8:0:0:0:0:0:1:5000", "write [2001:db8:0:0:0:0:0:1]:5000"),
            ("fe80::1%eth0:5000", "write [fe80::1%eth0]:5000"),
            ("fe80::x:5000", "neither an address"),
            ("fe80::1", "%eth0"),
            ("224.0.0.1", "multicast"),
            ("255.255.255.255", "broadcast"),
            ("0.0.0.0", "unspecified"),
            ("::", "unspecified"),
            ("host:0", "port"),
            ("host:70000", "port"),
            ("host:x", "port"),
            ("http://192.0.2.1/", "the address of a page"),
            (":862", "no host"),
            ("[::1", "bracket"),
            ("ho\u{1b}[31mst", "\\u{1b}"),
            ("-rf", "not an address"),
            ("::ffff:224.0.0.1", "multicast"),
            ("fe80::1%", "no interface"),
            ("fe80::1%eth0]", "no interface"),
            ("fe80::1%\u{1b}[31m", "\\u{1b}"),
            ("127.0.0.1%lo", "no interface"),
        ] {
            let error = text.parse::<Target>().unwrap_err();
            assert!(error.contains(part), "{text:?}: {error}");
            assert!(!error.contains('\u{1b}'));
        }
        assert!("x".repeat(200_000).parse::<Target>().unwrap_err().len() < 300);
    }
}
