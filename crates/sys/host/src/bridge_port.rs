//! What was set of a bridge's port, read whole, and the messages that set it again once the interface is back in its
//! bridge (`include/uapi/linux/if_link.h`, `if_bridge.h`, `neighbour.h`).
//!
//! A bridge forgets all of it when an interface leaves. What it learns by itself (addresses, groups with members that
//! ask for them) it learns again. Not kept: states and options of single VLANs, tunnels' ids, source lists of groups, and
//! a backup port that is taken out at the same time.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};

use crate::HostError;
use crate::netlink::{DUMP, Draft, REQUEST, attribute, attributes, exchange, u16_at, u32_at};
use crate::sys::open_protocol;

const AF_BRIDGE: u8 = 7;
/// `RTM_DELLINK`, `_GETLINK`, `_SETLINK`, `_NEWNEIGH`, `_GETNEIGH`, `_NEWMDB`, `_GETMDB`.
const DELETE_LINK: u16 = 17;
const GET_LINK: u16 = 18;
const SET_LINK: u16 = 19;
const NEW_NEIGHBOUR: u16 = 28;
const GET_NEIGHBOUR: u16 = 30;
const NEW_GROUP: u16 = 84;
const GET_GROUP: u16 = 86;

/// Lengths of `struct ifinfomsg`, `ndmsg`, `br_port_msg` and `br_mdb_entry`.
const LINK: usize = 16;
const NEIGHBOUR: usize = 12;
const PORT: usize = 8;
const GROUP: usize = 28;

/// `IFLA_LINKINFO` and what lies in it: of the link itself, and of it as a port.
const LINK_INFO: u16 = 18;
const INFO_DATA: u16 = 2;
const INFO_SLAVE_DATA: u16 = 5;
/// `IFLA_PROTINFO`, with the bit of an attribute that holds others.
const PORT_DATA: u16 = 12;
const NESTED: u16 = 0x8000;
/// `IFLA_BR_VLAN_DEFAULT_PVID`.
const DEFAULT_VLAN: u16 = 39;
/// `IFLA_EXT_MASK`, and `RTEXT_FILTER_BRVLAN_COMPRESSED` in it.
const MASK: u16 = 29;
const WITH_VLANS: u32 = 1 << 2;
/// `IFLA_AF_SPEC` and `IFLA_BRIDGE_VLAN_INFO`.
const FAMILY_DATA: u16 = 26;
const VLAN: u16 = 2;
/// `NDA_LLADDR`, `NDA_VLAN`, and the states `NUD_NOARP` and `NUD_PERMANENT` of entries that stay.
const NEIGHBOUR_ADDRESS: u16 = 2;
const NEIGHBOUR_VLAN: u16 = 5;
const STAYS: u16 = 0x40 | 0x80;
/// `MDBA_SET_ENTRY_ATTRS`, and the address from which a group is wanted: `MDBA_MDB_EATTR_SOURCE` as it is told,
/// `MDBE_ATTR_SOURCE` as it is set.
const MORE_OF_GROUP: u16 = 2;
const SOURCE_TOLD: u16 = 4;
const SOURCE_SET: u16 = 1;
/// `MDBA_MDB`, `MDBA_MDB_ENTRY`, `MDBA_MDB_ENTRY_INFO` and `MDBA_SET_ENTRY` are all 1.
const GROUPS: u16 = 1;

/// `IFLA_BRPORT_STATE`.
const STATE: u16 = 1;
/// The rest that can be set: priority, cost, hairpin to VLAN proxies (without the unset `LEARNING_SYNC`), the
/// multicast router, flooding, tunnels, forwarded groups, neighbour suppression, isolation, the backup port, limits,
/// locking. What it holds beside these is told by the bridge and cannot be set.
const SETTABLE: [u16; 26] =
    [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 25, 27, 28, 29, 30, 31, 32, 33, 34, 37, 39, 40, 42, 43, 44, STATE];

/// What was set of a port, as messages that set it again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSettings {
    messages: Vec<Vec<u8>>,
}

/// A socket of the routing family in the network namespace of this thread.
///
/// # Errors
/// The system gives no more sockets (`EMFILE`).
pub fn route_socket() -> Result<OwnedFd, HostError> {
    const NETLINK_ROUTE: libc::c_int = 0;
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    open_protocol(libc::AF_NETLINK, kind, NETLINK_ROUTE, "open a netlink socket")
}

impl PortSettings {
    /// What is set of the interface `port`, which is in the bridge `bridge` (both by their indices).
    ///
    /// # Errors
    /// The kernel does not answer, or there is no such interface (`ENODEV`).
    pub fn read(socket: &OwnedFd, port: u32, bridge: u32) -> Result<Self, HostError> {
        let socket = socket.as_fd();
        let mut messages = settings(socket, port)?;
        messages.extend(vlans(socket, port, bridge)?);
        messages.extend(addresses(socket, port)?);
        messages.extend(groups(socket, port)?);
        Ok(Self { messages })
    }

    /// Sets it all again. Makes system calls only, for the sake of a process that was forked off others with threads;
    /// what this kernel refuses stays as it is.
    pub fn apply(&self, socket: RawFd) {
        for message in &self.messages {
            // SAFETY: pointer and length describe `message`, which the call only reads.
            unsafe { libc::send(socket, message.as_ptr().cast(), message.len(), libc::MSG_DONTWAIT) };
        }
    }
}

/// Settings of the port, each in a message of its own: one that is refused keeps none of the others away.
fn settings(socket: BorrowedFd<'_>, port: u32) -> Result<Vec<Vec<u8>>, HostError> {
    let mut found = Vec::new();
    exchange(socket, &Draft::new(GET_LINK, REQUEST, &link(0, port)).finish(), |body| {
        let info = body.get(LINK..).and_then(|rest| attribute(rest, LINK_INFO)).unwrap_or_default();
        let data = attribute(info, INFO_SLAVE_DATA).unwrap_or_default();
        found = attributes(data).map(|(kind, value)| (kind, value.to_vec())).collect();
    })?;
    let settable = SETTABLE.iter().filter_map(|wanted| found.iter().find(|(kind, _)| kind == wanted));
    Ok(settable
        .map(|(kind, value)| {
            // The message that changes a link of any kind would have a port that is off looked at, and switched on.
            let mut draft = Draft::new(SET_LINK, REQUEST, &link(AF_BRIDGE, port));
            let data = draft.open(PORT_DATA | NESTED);
            draft.attribute(*kind, value);
            draft.close(data);
            draft.finish()
        })
        .collect())
}

/// The port's VLANs, in place of the one that it gets as a new port.
fn vlans(socket: BorrowedFd<'_>, port: u32, bridge: u32) -> Result<Vec<Vec<u8>>, HostError> {
    let mut default = None;
    exchange(socket, &Draft::new(GET_LINK, REQUEST, &link(0, bridge)).finish(), |body| {
        let info = body.get(LINK..).and_then(|rest| attribute(rest, LINK_INFO));
        let data = info.and_then(|info| attribute(info, INFO_DATA));
        default = data.and_then(|data| attribute(data, DEFAULT_VLAN)).and_then(|value| u16_at(value, 0));
    })?;
    // A kernel without VLANs in bridges has no default.
    let Some(default) = default else { return Ok(Vec::new()) };
    let mut draft = Draft::new(GET_LINK, DUMP, &link(AF_BRIDGE, 0));
    draft.attribute(MASK, &WITH_VLANS.to_ne_bytes());
    let mut found: Vec<Vec<u8>> = Vec::new();
    exchange(socket, &draft.finish(), |body| {
        if u32_at(body, 4) == Some(port) {
            let data = body.get(LINK..).and_then(|rest| attribute(rest, FAMILY_DATA)).unwrap_or_default();
            found.extend(attributes(data).filter(|(kind, _)| *kind == VLAN).map(|(_, value)| value.to_vec()));
        }
    })?;
    let mut messages = Vec::new();
    if default != 0 {
        let [flags, number] = [0_u16.to_ne_bytes(), default.to_ne_bytes()];
        messages.push(of_vlans(DELETE_LINK, port, &[[flags, number].concat()]));
    }
    if !found.is_empty() {
        messages.push(of_vlans(SET_LINK, port, &found));
    }
    Ok(messages)
}

fn of_vlans(kind: u16, port: u32, vlans: &[Vec<u8>]) -> Vec<u8> {
    let mut draft = Draft::new(kind, REQUEST, &link(AF_BRIDGE, port));
    let data = draft.open(FAMILY_DATA);
    for vlan in vlans {
        draft.attribute(VLAN, vlan);
    }
    draft.close(data);
    draft.finish()
}

/// Entries of the bridge's table of addresses that somebody set for this port.
fn addresses(socket: BorrowedFd<'_>, port: u32) -> Result<Vec<Vec<u8>>, HostError> {
    /// `NTF_MASTER` asks for an entry of the bridge, not of the interface itself; where one is told it is `NDA_MASTER`
    /// that says whose it is.
    const OF_BRIDGE: u8 = 4;
    const BRIDGE: u16 = 9;
    /// `NLM_F_CREATE` and `NLM_F_REPLACE`.
    const PUT: u16 = REQUEST | 0x400 | 0x100;
    let mut all = [0; NEIGHBOUR];
    all[0] = AF_BRIDGE;
    let mut messages = Vec::new();
    exchange(socket, &Draft::new(GET_NEIGHBOUR, DUMP, &all).finish(), |body| {
        let Some((fixed, rest)) = body.split_first_chunk::<NEIGHBOUR>() else { return };
        let mut fixed = *fixed;
        let mine = fixed[0] == AF_BRIDGE && u32_at(&fixed, 4) == Some(port);
        let stays = u16_at(&fixed, 8).is_some_and(|state| state & STAYS != 0);
        let set = stays && attribute(rest, BRIDGE).is_some();
        if let (true, true, Some(address)) = (mine, set, attribute(rest, NEIGHBOUR_ADDRESS)) {
            fixed[10] |= OF_BRIDGE;
            let mut draft = Draft::new(NEW_NEIGHBOUR, PUT, &fixed);
            draft.attribute(NEIGHBOUR_ADDRESS, address);
            if let Some(vlan) = attribute(rest, NEIGHBOUR_VLAN) {
                draft.attribute(NEIGHBOUR_VLAN, vlan);
            }
            messages.push(draft.finish());
        }
    })?;
    Ok(messages)
}

/// Multicast groups that somebody set for this port for good.
fn groups(socket: BorrowedFd<'_>, port: u32) -> Result<Vec<Vec<u8>>, HostError> {
    const PERMANENT: u8 = 1;
    const CREATE: u16 = REQUEST | 0x400;
    let mut all = [0; PORT];
    all[0] = AF_BRIDGE;
    let mut messages = Vec::new();
    let asked = exchange(socket, &Draft::new(GET_GROUP, DUMP, &all).finish(), |body| {
        let Some((told, rest)) = body.split_first_chunk::<PORT>() else { return };
        let mut fixed = *told;
        fixed[0] = AF_BRIDGE;
        let tables = attributes(rest).filter(|(kind, _)| *kind == GROUPS);
        let entries = tables.flat_map(|(_, table)| attributes(table)).filter(|(kind, _)| *kind == GROUPS);
        for (_, info) in entries.flat_map(|(_, entry)| attributes(entry)).filter(|(kind, _)| *kind == GROUPS)
        {
            let Some(mut entry) = info.first_chunk::<GROUP>().copied() else { continue };
            if u32_at(&entry, 0) == Some(port) && entry[4] == PERMANENT {
                // Its flags are told by the kernel, not set.
                entry[5] = 0;
                let mut draft = Draft::new(NEW_GROUP, CREATE, &fixed);
                draft.attribute(GROUPS, &entry);
                if let Some(source) = info.get(GROUP..).and_then(|more| attribute(more, SOURCE_TOLD)) {
                    let more = draft.open(MORE_OF_GROUP | NESTED);
                    draft.attribute(SOURCE_SET, source);
                    draft.close(more);
                }
                messages.push(draft.finish());
            }
        }
    });
    match asked {
        // A kernel without snooping has no such table.
        Err(error) if error.errno() != Some(libc::EOPNOTSUPP) => Err(error),
        _ => Ok(messages),
    }
}

/// A `struct ifinfomsg`.
fn link(family: u8, index: u32) -> [u8; LINK] {
    let mut fixed = [0; LINK];
    fixed[0] = family;
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    fixed
}
