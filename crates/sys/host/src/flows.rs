//! Flows that romer's queueing disciplines treat by themselves, with the kernel's counts: those that a [`crate::shaper`] shapes, and
//! those that a router reserves for.
//!
//! A flow has a class of `htb` in a discipline whose handle begins with 0x72, and a filter (`u32`) that selects it. The first four bits
//! of the class are the number of its service (RFC 2210 section 3): 2 or 5, and 0 for none.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, OwnedFd};

use crate::HostError;
use crate::bridge_port::route_socket;
use crate::link::Network;
use crate::netlink::{DUMP, Draft, attribute, exchange, u32_at};

/// The numbers of services (RFC 2210 sections 3.2 and 3.3).
pub const GUARANTEED: u8 = 2;
/// Controlled load.
pub const CONTROLLED_LOAD: u8 = 5;

/// `RTM_GETQDISC`, `RTM_GETTCLASS` and `RTM_GETTFILTER`; the length of `struct tcmsg`.
const GET_DISCIPLINES: u16 = 38;
const GET_CLASSES: u16 = 42;
const GET_FILTERS: u16 = 46;
const FIXED: usize = 20;
/// `TCA_KIND`, `TCA_OPTIONS` and `TCA_STATS2`.
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const STATISTICS: u16 = 7;
/// `TCA_STATS_BASIC` and `TCA_STATS_QUEUE`.
const BASIC: u16 = 1;
const QUEUE: u16 = 3;
/// `TCA_HTB_PARMS`; `TCA_U32_CLASSID` and `TCA_U32_SEL`.
const HTB_PARAMETERS: u16 = 1;
const U32_CLASS: u16 = 1;
const U32_SELECTOR: u16 = 5;
/// `TC_H_ROOT`.
const ROOT: u32 = 0xffff_ffff;
/// The length of `struct tc_u32_sel` and of `struct tc_u32_key`.
const SELECTOR: usize = 16;
const KEY: usize = 16;
/// Handles of romer's disciplines begin with this octet.
const ROMER: u32 = 0x72;
/// Where a class has its service.
const SERVICE_SHIFT: u32 = 12;
/// `ETH_P_IPV6`.
const IPV6: u16 = 0x86dd;

/// The class of a flow in a discipline: a number below 4096, and its service (0 for none, below 16).
pub const fn class_of_service(service: u8, number: u16) -> u16 {
    ((service as u16) << SERVICE_SHIFT) | (number & 0xfff)
}

/// A flow with a class of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedFlow {
    /// The interface by which it leaves.
    pub interface: String,
    /// What selects its packets.
    pub selection: Selection,
    /// The number of its service, if it has one.
    pub service: Option<u8>,
    /// Its rate, octets per second, as the discipline counts them.
    pub octets_per_second: u32,
    /// Octets that were sent.
    pub octets: u64,
    /// Packets that were sent.
    pub packets: u32,
    /// Packets that were dropped.
    pub dropped: u32,
}

/// What the packets of a flow have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The IP protocol.
    pub protocol: Option<u8>,
    /// The source address.
    pub source: Option<IpAddr>,
    /// The source port.
    pub source_port: Option<u16>,
    /// The destination address.
    pub destination: IpAddr,
    /// The destination port.
    pub destination_port: Option<u16>,
}

/// The flows of all interfaces of this thread's network namespace.
///
/// # Errors
/// The kernel does not list interfaces or disciplines.
pub fn queued_flows() -> Result<Vec<QueuedFlow>, HostError> {
    let socket = route_socket()?;
    let mut flows = Vec::new();
    for link in Network::open(None)?.links()? {
        for handle in disciplines(&socket, link.index)? {
            let selections = selections(&socket, link.index, handle)?;
            for class in classes(&socket, link.index, handle)? {
                let of_class = selections.iter().filter(|(selected, _)| *selected == class.handle);
                flows.extend(of_class.map(|(_, selection)| QueuedFlow {
                    interface: link.name.clone(),
                    selection: *selection,
                    service: service(class.handle),
                    octets_per_second: class.octets_per_second,
                    octets: class.octets,
                    packets: class.packets,
                    dropped: class.dropped,
                }));
            }
        }
    }
    Ok(flows)
}

/// The service of a class; `None` without one.
fn service(handle: u32) -> Option<u8> {
    let [_, _, high, _] = handle.to_be_bytes();
    Some(high >> 4).filter(|service| *service != 0)
}

/// Asks for a list of an interface, and gives each entry of it.
fn dump(
    socket: &OwnedFd,
    kind: u16,
    index: u32,
    parent: u32,
    take: impl FnMut(&[u8]),
) -> Result<(), HostError> {
    let fixed: Vec<u8> = [0, index, 0, parent, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
    exchange(socket.as_fd(), &Draft::new(kind, DUMP, &fixed).finish(), take)
}

fn is_kind(body: &[u8], name: &[u8]) -> bool {
    let kind = body.get(FIXED..).and_then(|attributes| attribute(attributes, KIND));
    kind.is_some_and(|kind| kind.strip_suffix(&[0]).unwrap_or(kind) == name)
}

/// The handles of romer's disciplines with classes.
fn disciplines(socket: &OwnedFd, index: u32) -> Result<Vec<u32>, HostError> {
    let mut handles = Vec::new();
    dump(socket, GET_DISCIPLINES, index, 0, |body| {
        let (Some(of), Some(handle), Some(parent)) = (u32_at(body, 4), u32_at(body, 8), u32_at(body, 12))
        else {
            return;
        };
        if of == index && parent == ROOT && handle >> 24 == ROMER && is_kind(body, b"htb") {
            handles.push(handle);
        }
    })?;
    Ok(handles)
}

/// A class with its counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Class {
    handle: u32,
    octets_per_second: u32,
    octets: u64,
    packets: u32,
    dropped: u32,
}

impl Class {
    fn read(body: &[u8]) -> Option<Self> {
        let attributes = body.get(FIXED..)?;
        let parameters = attribute(attribute(attributes, OPTIONS)?, HTB_PARAMETERS)?;
        let statistics = attribute(attributes, STATISTICS)?;
        let basic = attribute(statistics, BASIC)?;
        let queue = attribute(statistics, QUEUE);
        Some(Self {
            handle: u32_at(body, 8)?,
            // The last word of `struct tc_ratespec`.
            octets_per_second: u32_at(parameters, 8)?,
            octets: basic.first_chunk::<8>().copied().map(u64::from_ne_bytes)?,
            packets: u32_at(basic, 8)?,
            dropped: queue.and_then(|queue| u32_at(queue, 8)).unwrap_or(0),
        })
    }
}

fn classes(socket: &OwnedFd, index: u32, handle: u32) -> Result<Vec<Class>, HostError> {
    let mut classes = Vec::new();
    dump(socket, GET_CLASSES, index, handle, |body| {
        if u32_at(body, 4) == Some(index) && is_kind(body, b"htb") {
            classes.extend(Class::read(body).filter(|class| class.handle >> 16 == handle >> 16));
        }
    })?;
    Ok(classes)
}

/// The filters of a discipline: their classes, and what they select.
fn selections(socket: &OwnedFd, index: u32, handle: u32) -> Result<Vec<(u32, Selection)>, HostError> {
    let mut found = Vec::new();
    dump(socket, GET_FILTERS, index, handle, |body| {
        if is_kind(body, b"u32") {
            found.extend(selection(body));
        }
    })?;
    Ok(found)
}

fn selection(body: &[u8]) -> Option<(u32, Selection)> {
    let options = attribute(body.get(FIXED..)?, OPTIONS)?;
    let class = u32_at(attribute(options, U32_CLASS)?, 0)?;
    let selector = attribute(options, U32_SELECTOR)?;
    // Preference and, in network order, EtherType.
    let is_v6 = u16::try_from(u32_at(body, 16)? & 0xffff).ok().map(u16::from_be)? == IPV6;
    let count = usize::from(*selector.get(2)?);
    let keys = selector.get(SELECTOR..)?.chunks_exact(KEY).take(count).filter_map(|key| {
        let word = |at: usize| key.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
        let offset = key.get(8..12)?.try_into().ok().map(i32::from_ne_bytes)?;
        Some((word(0)?, word(4)?, offset))
    });
    Selection::from_keys(&keys.collect::<Vec<_>>(), is_v6).map(|selection| (class, selection))
}

impl Selection {
    /// What the keys of a filter (mask, value, offset from the IP header) select; `None` without one whole destination address.
    fn from_keys(keys: &[(u32, u32, i32)], is_v6: bool) -> Option<Self> {
        let word = |offset: i32, mask: u32| {
            let of = |key: &&(u32, u32, i32)| key.2 == offset && key.0 & mask == mask;
            keys.iter().find(of).map(|key| key.1 & mask)
        };
        let address = |offset: i32| -> Option<IpAddr> {
            if !is_v6 {
                return Some(Ipv4Addr::from_bits(word(offset, u32::MAX)?).into());
            }
            let words = [0, 4, 8, 12].map(|more| word(offset + more, u32::MAX));
            let bits =
                words.into_iter().try_fold(0_u128, |bits, word| Some(bits << 32 | u128::from(word?)))?;
            Some(Ipv6Addr::from_bits(bits).into())
        };
        // Offsets and masks of the protocol, the addresses and the ports, behind headers without options.
        let (protocol, source, destination, ports) =
            if is_v6 { ((4, 0xff00, 8), 8, 24, 40) } else { ((8, 0x00ff_0000, 16), 12, 16, 20) };
        let (protocol_at, protocol_mask, shift) = protocol;
        let low = |word: u32| u16::try_from(word & 0xffff).ok();
        Some(Self {
            protocol: word(protocol_at, protocol_mask).and_then(|word| u8::try_from(word >> shift).ok()),
            source: address(source),
            source_port: word(ports, 0xffff_0000).and_then(|word| low(word >> 16)),
            destination: address(destination)?,
            destination_port: word(ports, 0x0000_ffff).and_then(low),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A class has its service, and the number beside it.
    #[test]
    fn classes_have_services() {
        assert_eq!(class_of_service(GUARANTEED, 1), 0x2001);
        assert_eq!(class_of_service(CONTROLLED_LOAD, 0xfff), 0x5fff);
        assert_eq!(class_of_service(0, 1), 1);
        assert_eq!([0x7276_2010, 0x7276_5010, 0x7276_0001].map(service), [Some(2), Some(5), None]);
    }

    /// Keys select addresses and ports of both families; a filter without a destination is that of no flow.
    #[test]
    fn keys_select_flows() {
        let all = u32::MAX;
        let v4 = [
            (0x00ff_0000, 0x0011_0000, 8),
            (all, 0xc612_0002, 12),
            (all, 0xc613_0002, 16),
            (all, 0x138b_138c, 20),
        ];
        let found = Selection::from_keys(&v4, false).unwrap();
        assert_eq!(
            (found.protocol, found.source_port, found.destination_port),
            (Some(17), Some(5_003), Some(5_004))
        );
        assert_eq!(found.source, Some("198.18.0.2".parse().unwrap()));
        assert_eq!(found.destination, "198.19.0.2".parse::<IpAddr>().unwrap());
        let open = Selection::from_keys(&[v4[2], (0x0000_ffff, 0x138c, 20)], false).unwrap();
        assert_eq!((open.protocol, open.source, open.source_port), (None, None, None));
        assert_eq!(open.destination_port, Some(5_004));
        assert_eq!(Selection::from_keys(&v4[..2], false), None);
        let v6 = [
            (0x0000_ff00, 0x1100, 4),
            (all, 0x2001_0db8, 24),
            (all, 0, 28),
            (all, 0, 32),
            (all, 7, 36),
            (all, 0x1234_035e, 40),
        ];
        let found = Selection::from_keys(&v6, true).unwrap();
        assert_eq!(found.destination, "2001:db8::7".parse::<IpAddr>().unwrap());
        assert_eq!(
            (found.protocol, found.source_port, found.destination_port),
            (Some(17), Some(0x1234), Some(862))
        );
        assert_eq!(Selection::from_keys(&v6[..4], true), None);
    }
}
