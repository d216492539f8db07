//! What the kernel tells of its network: rtnetlink's notifications, read from their bytes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::NetworkChange;
use crate::netlink::{Draft, REQUEST, attribute, message, u32_at};

/// Lengths of `struct ifinfomsg`, `ifaddrmsg` and `rtmsg`.
const LINK: usize = 16;
const ADDRESS: usize = 8;
const ROUTE: usize = 12;

/// What a notification says, before it is compared with what was known.
pub(super) fn read(bytes: &[u8]) -> Vec<NetworkChange> {
    let mut changes = Vec::new();
    let mut rest = bytes;
    while let Some((kind, body, behind)) = message(rest) {
        changes.extend(change(kind, body));
        rest = behind;
    }
    changes
}

fn change(kind: u16, body: &[u8]) -> Option<NetworkChange> {
    match kind {
        libc::RTM_NEWLINK => link(body),
        libc::RTM_DELLINK => {
            let interface = u32_at(body, 4)?;
            Some(NetworkChange::Link {
                interface,
                name: name(body),
                on: false,
                up: false,
                mtu: None,
                carrier_changes: None,
            })
        }
        libc::RTM_NEWADDR | libc::RTM_DELADDR => address(body, kind == libc::RTM_NEWADDR),
        libc::RTM_NEWROUTE | libc::RTM_DELROUTE => route(body, kind == libc::RTM_NEWROUTE),
        _ => None,
    }
}

/// The request for the state of the interface `name`.
pub(super) fn request(name: &str) -> Vec<u8> {
    /// `RTEXT_FILTER_SKIP_STATS`: what it has counted is not asked for.
    const WITHOUT_COUNTS: u32 = 1 << 3;
    let mut draft = Draft::new(libc::RTM_GETLINK, REQUEST, &[0; LINK]);
    draft.attribute(libc::IFLA_EXT_MASK, &WITHOUT_COUNTS.to_ne_bytes());
    draft.attribute(libc::IFLA_IFNAME, &[name.as_bytes(), b"\0"].concat());
    draft.finish()
}

pub(super) fn link(body: &[u8]) -> Option<NetworkChange> {
    let interface = u32_at(body, 4)?;
    let flags = u32_at(body, 8)?;
    let has = |flag: i32| flags & flag.cast_unsigned() != 0;
    let on = has(libc::IFF_UP);
    // The interface is switched on, and its carrier is there. RFC 2863's operational state (`IFF_RUNNING`) says the same, but
    // up to a second later.
    let up = on && has(libc::IFF_LOWER_UP);
    let attributes = body.get(LINK..)?;
    let number = |kind| attribute(attributes, kind).and_then(|bytes| u32_at(bytes, 0));
    let (mtu, carrier_changes) = (number(libc::IFLA_MTU), number(libc::IFLA_CARRIER_CHANGES));
    Some(NetworkChange::Link { interface, name: name(body), on, up, mtu, carrier_changes })
}

fn name(body: &[u8]) -> String {
    let bytes = body.get(LINK..).and_then(|bytes| attribute(bytes, libc::IFLA_IFNAME)).unwrap_or_default();
    let end = bytes.iter().position(|octet| *octet == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn address(body: &[u8], added: bool) -> Option<NetworkChange> {
    let interface = u32_at(body, 4)?;
    let attributes = body.get(ADDRESS..)?;
    let own = attribute(attributes, libc::IFA_LOCAL).or_else(|| attribute(attributes, libc::IFA_ADDRESS))?;
    Some(NetworkChange::Address { interface, address: ip(own)?, added })
}

fn route(body: &[u8], added: bool) -> Option<NetworkChange> {
    let (family, prefix, table, kind) = (*body.first()?, *body.get(1)?, *body.get(4)?, *body.get(7)?);
    let attributes = body.get(ROUTE..)?;
    // The host's own addresses and groups are no ways to anywhere.
    if table == libc::RT_TABLE_LOCAL || kind != libc::RTN_UNICAST {
        return None;
    }
    let any = if i32::from(family) == libc::AF_INET {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED)
    } else {
        IpAddr::V6(Ipv6Addr::UNSPECIFIED)
    };
    let to = attribute(attributes, libc::RTA_DST).map_or(Some(any), ip)?;
    let gateway = attribute(attributes, libc::RTA_GATEWAY).and_then(ip);
    let interface = attribute(attributes, libc::RTA_OIF).and_then(|bytes| u32_at(bytes, 0));
    Some(NetworkChange::Route { to, prefix, gateway, interface, added })
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
        return Some(IpAddr::V4(octets.into()));
    }
    <[u8; 16]>::try_from(bytes).ok().map(|octets| IpAddr::V6(octets.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{HEADER, aligned};
    use proptest::prelude::*;

    fn attribute_of(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(u16::try_from(4 + value.len()).unwrap().to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    fn message_of(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(u32::try_from(HEADER + body.len()).unwrap().to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(HEADER, 0);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn each_kind_of_notification_is_read() {
        let mut link = vec![0; LINK];
        link[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        link[8..12].copy_from_slice(&u32::try_from(libc::IFF_UP | libc::IFF_LOWER_UP).unwrap().to_ne_bytes());
        link.extend(attribute_of(libc::IFLA_IFNAME, b"t0\0"));
        link.extend(attribute_of(libc::IFLA_MTU, &1_280_u32.to_ne_bytes()));
        link.extend(attribute_of(libc::IFLA_CARRIER_CHANGES, &5_u32.to_ne_bytes()));
        let mut address = vec![0; ADDRESS];
        address[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        address.extend(attribute_of(libc::IFA_LOCAL, &[198, 18, 0, 2]));
        let mut route = vec![0; ROUTE];
        (route[0], route[1], route[4], route[7]) = (2, 15, 254, libc::RTN_UNICAST);
        route.extend(attribute_of(libc::RTA_DST, &[198, 18, 0, 0]));
        route.extend(attribute_of(libc::RTA_GATEWAY, &[192, 0, 2, 1]));
        route.extend(attribute_of(libc::RTA_OIF, &7_u32.to_ne_bytes()));
        let mut bytes = message_of(libc::RTM_NEWLINK, &link);
        bytes.extend(message_of(libc::RTM_DELADDR, &address));
        bytes.extend(message_of(libc::RTM_NEWROUTE, &route));
        assert_eq!(
            read(&bytes),
            [
                NetworkChange::Link {
                    interface: 7,
                    name: "t0".into(),
                    on: true,
                    up: true,
                    mtu: Some(1_280),
                    carrier_changes: Some(5)
                },
                NetworkChange::Address { interface: 7, address: "198.18.0.2".parse().unwrap(), added: false },
                NetworkChange::Route {
                    to: "198.18.0.0".parse().unwrap(),
                    prefix: 15,
                    gateway: Some("192.0.2.1".parse().unwrap()),
                    interface: Some(7),
                    added: true
                },
            ]
        );
        let local = {
            let mut route = route;
            route[4] = 255;
            message_of(libc::RTM_NEWROUTE, &route)
        };
        assert_eq!(read(&local), []);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 16_u16..26) {
            let _ = read(&bytes);
            let _ = read(&message_of(kind, &bytes));
        }
    }
}
