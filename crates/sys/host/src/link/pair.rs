//! Whether two interfaces are the two ends of one veth pair, in whatever namespaces they are.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use crate::bridge_port::route_socket;
use crate::netlink::{Draft, REQUEST, attribute, exchange, u32_at};
use crate::{HostError, netns};

/// `RTM_GETLINK` and the length of `struct ifinfomsg`.
const GET_LINK: u16 = 18;
const LINK: usize = 16;
/// `IFLA_LINK`, `IFLA_LINKINFO` and its `IFLA_INFO_KIND`, `IFLA_LINK_NETNSID`.
const PEER: u16 = 5;
const LINK_INFO: u16 = 18;
const INFO_KIND: u16 = 1;
const PEER_NAMESPACE: u16 = 37;
/// `RTM_GETNSID`, the padded length of `struct rtgenmsg`, `NETNSA_FD` and `NETNSA_NSID`.
const GET_NAMESPACE: u16 = 90;
const GENERAL: usize = 4;
const BY_DESCRIPTOR: u16 = 3;
const NUMBER: u16 = 1;

/// The other end of a veth, as the namespace of the first end names it.
struct Peer {
    index: u32,
    /// The number that the namespace has in that of the first end; `None` for the same namespace.
    namespace: Option<u32>,
}

/// Whether two interfaces, each the index `index` of the network namespace `namespace` (this thread's where `None`), are
/// the two ends of one veth pair.
///
/// # Errors
/// There is no such namespace or interface, or the kernel does not answer.
pub fn is_pair(one: (Option<&str>, u32), other: (Option<&str>, u32)) -> Result<bool, HostError> {
    let [ours, theirs] = [open(one.0)?, open(other.0)?];
    let look = || {
        let socket = route_socket()?;
        let Some(peer) = peer_of(&socket, one.1)? else { return Ok(false) };
        let is_there = match peer.namespace {
            None => inode_of(&ours)? == inode_of(&theirs)?,
            number => number_of(&socket, &theirs)? == number,
        };
        Ok(peer.index == other.1 && is_there)
    };
    match one.0 {
        Some(namespace) => netns::with_namespace(namespace, look)?,
        None => look(),
    }
}

fn open(namespace: Option<&str>) -> Result<File, HostError> {
    const HERE: &str = "/proc/thread-self/ns/net";
    match namespace {
        Some(name) => netns::open(name).map(File::from),
        None => File::open(HERE).map_err(|source| netns::failed("open", HERE.as_ref(), source)),
    }
}

fn inode_of(namespace: &File) -> Result<u64, HostError> {
    let status = namespace.metadata();
    let failed = |source| HostError::System { operation: "look at", subject: "a namespace".into(), source };
    status.map(|status| status.ino()).map_err(failed)
}

/// The other end of the interface of that index; `None` where it is no veth.
fn peer_of(socket: &OwnedFd, index: u32) -> Result<Option<Peer>, HostError> {
    let mut fixed = [0; LINK];
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    let mut found = None;
    exchange(socket.as_fd(), &Draft::new(GET_LINK, REQUEST, &fixed).finish(), |body| {
        let rest = body.get(LINK..).unwrap_or_default();
        let kind = attribute(rest, LINK_INFO).and_then(|info| attribute(info, INFO_KIND));
        let number = |wanted| attribute(rest, wanted).and_then(|value| u32_at(value, 0));
        if kind.is_some_and(|kind| kind.starts_with(b"veth"))
            && let Some(index) = number(PEER)
        {
            found = Some(Peer { index, namespace: number(PEER_NAMESPACE) });
        }
    })?;
    Ok(found)
}

/// The number that a namespace has in that of the socket.
fn number_of(socket: &OwnedFd, namespace: &File) -> Result<Option<u32>, HostError> {
    let mut draft = Draft::new(GET_NAMESPACE, REQUEST, &[0; GENERAL]);
    draft.attribute(BY_DESCRIPTOR, &namespace.as_raw_fd().to_ne_bytes());
    let mut number = None;
    exchange(socket.as_fd(), &draft.finish(), |body| {
        let rest = body.get(GENERAL..).unwrap_or_default();
        number = attribute(rest, NUMBER).and_then(|value| u32_at(value, 0));
    })?;
    Ok(number)
}
