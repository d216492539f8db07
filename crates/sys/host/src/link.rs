//! Links, addresses, routes and neighbours of a network namespace, by netlink.
//!
//! All calls block until the kernel has answered.

mod neighbours;
pub mod pair;
mod shaping;
mod tunnel;

use std::fmt;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};

use futures_util::TryStreamExt as _;
use rtnetlink::packet_route::address::{AddressFlags, AddressHeaderFlags};
use rtnetlink::packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, Stats64,
};
use rtnetlink::{Handle, LinkBridge, LinkMessageBuilder, LinkUnspec, LinkVeth, RouteMessageBuilder};

use crate::ethtool::{self, Coalescing, Offload, Stamping};
use crate::{HostError, netns};
pub use shaping::LinkShaping;

/// Longest name of an interface (`IFNAMSIZ` with its NUL is 16).
const LONGEST_NAME: usize = 15;

/// A link-layer address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// What the kernel says of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its index, unique in its namespace.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its link-layer address; `None` where it has none of six octets.
    pub mac: Option<Mac>,
    /// Its largest IP packet, in octets.
    pub mtu: u32,
    /// Whether it was switched on.
    pub up: bool,
    /// Whether it can carry frames now.
    pub running: bool,
    /// The kind of virtual link (`veth`, `bridge`); `None` for others.
    pub kind: Option<String>,
    /// The free text that someone gave it (`ifalias`).
    pub alias: Option<String>,
    /// Index of the bridge it is a port of.
    pub controller: Option<u32>,
    /// Index of the interface of the same namespace that carries its frames, as of a VLAN, a macvlan or a tunnel.
    pub lower: Option<u32>,
    /// Where the other end of a tunnel is, to which its frames go by the route there (VXLAN, Geneve, GRE, IP in IP, VTI);
    /// `None` where it has none, or several.
    pub remote: Option<IpAddr>,
}

/// What a link has carried since it was made, frames with their check sequences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Octets of the frames that it received.
    pub received_octets: u64,
    /// Octets of the frames that it sent.
    pub sent_octets: u64,
}

/// Frames that a network card lost since it was made, because this host did not keep up with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overruns {
    /// Frames that came and that nobody had made room for.
    pub received: u64,
    /// Frames that the driver had taken and that did not leave.
    pub sent: u64,
}

impl From<&Stats64> for Overruns {
    fn from(counts: &Stats64) -> Self {
        // Drivers count one frame under several names.
        let received = counts.rx_missed_errors.max(counts.rx_fifo_errors).max(counts.rx_over_errors);
        Self { received, sent: counts.tx_errors }
    }
}

/// An open line to one network namespace. It stays with that namespace whichever thread uses it.
#[derive(Debug)]
pub struct Network {
    namespace: Option<String>,
    runtime: tokio::runtime::Runtime,
    handle: Handle,
    control: OwnedFd,
}

impl Network {
    /// Opens the namespace `name`, or the current thread's where `None`.
    ///
    /// # Errors
    /// There is no such namespace, or the system refuses a socket.
    pub fn open(name: Option<&str>) -> Result<Self, HostError> {
        match name {
            None => Self::here(None),
            Some(name) => netns::with_namespace(name, || Self::here(Some(name.into())))?,
        }
    }

    fn here(namespace: Option<String>) -> Result<Self, HostError> {
        let system =
            |operation| move |source| HostError::System { operation, subject: String::new(), source };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .map_err(system("start the netlink driver"))?;
        let (connection, handle, _) = {
            let _inside = runtime.enter();
            rtnetlink::new_connection().map_err(system("open netlink"))?
        };
        runtime.spawn(connection);
        let control = ethtool::control_socket()?;
        Ok(Self { namespace, runtime, handle, control })
    }

    /// All links, in order of their index.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn links(&self) -> Result<Vec<Link>, HostError> {
        let messages = self.runtime.block_on(self.handle.link().get().execute().try_collect::<Vec<_>>());
        let mut links: Vec<Link> =
            messages.map_err(refused("list", "the links"))?.iter().filter_map(read_link).collect();
        links.sort_by_key(|link| link.index);
        Ok(links)
    }

    /// The link `name`.
    ///
    /// # Errors
    /// There is none ([`HostError::Missing`]).
    pub fn link(&self, name: &str) -> Result<Link, HostError> {
        let found = self.links()?.into_iter().find(|link| link.name == name);
        found.ok_or_else(|| HostError::Missing { what: "interface", name: name.into() })
    }

    /// What the link `name` has carried.
    ///
    /// # Errors
    /// There is none ([`HostError::Missing`]), or it does not count.
    pub fn carried(&self, name: &str) -> Result<Carried, HostError> {
        let counts = self.counts(name)?;
        // The kernel counts frames without their check sequences.
        let with_check = |octets: u64, frames: u64| octets.saturating_add(frames.saturating_mul(4));
        Ok(Carried {
            received_octets: with_check(counts.rx_bytes, counts.rx_packets),
            sent_octets: with_check(counts.tx_bytes, counts.tx_packets),
        })
    }

    /// What the network card behind the link `name` has lost; nothing of a virtual link.
    ///
    /// # Errors
    /// There is none ([`HostError::Missing`]), or it does not count.
    pub fn overruns(&self, name: &str) -> Result<Overruns, HostError> {
        Ok(Overruns::from(&self.counts(name)?))
    }

    /// How often the link `name` has lost its carrier since it was made: its other end, or itself, was switched off or unplugged.
    ///
    /// # Errors
    /// There is none ([`HostError::Missing`]), or it does not count.
    pub fn carrier_losses(&self, name: &str) -> Result<u32, HostError> {
        self.count(name, |attribute| match attribute {
            LinkAttribute::CarrierDownCount(count) => Some(*count),
            _ => None,
        })
    }

    fn counts(&self, name: &str) -> Result<Stats64, HostError> {
        self.count(name, |attribute| match attribute {
            LinkAttribute::Stats64(counts) => Some(*counts),
            _ => None,
        })
    }

    /// What one of the attributes of the link `name` counts.
    fn count<T>(&self, name: &str, of: impl Fn(&LinkAttribute) -> Option<T>) -> Result<T, HostError> {
        let missing = || HostError::Missing { what: "interface", name: name.into() };
        let request = self.handle.link().get().match_name(name);
        let messages = self.runtime.block_on(request.execute().try_collect::<Vec<_>>());
        let messages = messages.map_err(refused("read the counts of", name))?;
        messages.iter().flat_map(|message| &message.attributes).find_map(of).ok_or_else(missing)
    }

    /// Makes a pair of virtual Ethernet links: `name` here, and `peer` in the namespace `peer_namespace`, or here
    /// too where `None`. Both are down.
    ///
    /// # Errors
    /// A name is taken ([`HostError::Exists`]) or not legal, or the rights are missing (`EPERM`).
    pub fn add_veth(&self, name: &str, peer: &str, peer_namespace: Option<&str>) -> Result<(), HostError> {
        check_name(name)?;
        check_name(peer)?;
        let namespace = peer_namespace.map(netns::open).transpose()?;
        let mut other = LinkUnspec::new_with_name(peer);
        if let Some(namespace) = &namespace {
            other = other.setns_by_fd(std::os::fd::AsRawFd::as_raw_fd(namespace));
        }
        let message =
            LinkVeth::new(name, peer).set_info_data(InfoData::Veth(InfoVeth::Peer(other.build()))).build();
        self.add(message, &format!("{name} - {peer}"))
    }

    /// Makes a bridge that is up and passes frames on at once (no spanning tree).
    ///
    /// # Errors
    /// The name is taken ([`HostError::Exists`]) or not legal, or the rights are missing (`EPERM`).
    pub fn add_bridge(&self, name: &str) -> Result<(), HostError> {
        check_name(name)?;
        self.add(LinkBridge::new(name).build(), name)
    }

    fn add(&self, message: LinkMessage, name: &str) -> Result<(), HostError> {
        let answer = self.runtime.block_on(self.handle.link().add(message).execute());
        match answer.map_err(refused("make link", name)) {
            Err(error) if error.errno() == Some(libc::EEXIST) => {
                Err(HostError::Exists { what: "interface", name: name.into() })
            }
            answer => answer,
        }
    }

    /// Removes the link `name`, and with it its peer if it is a veth.
    ///
    /// # Errors
    /// There is none, or the rights are missing (`EPERM`).
    pub fn delete_link(&self, name: &str) -> Result<(), HostError> {
        let index = self.link(name)?.index;
        self.runtime.block_on(self.handle.link().del(index).execute()).map_err(refused("remove link", name))
    }

    fn set(
        &self,
        name: &str,
        operation: &'static str,
        change: impl FnOnce(LinkMessageBuilder<LinkUnspec>) -> LinkMessageBuilder<LinkUnspec>,
    ) -> Result<(), HostError> {
        let message = change(LinkUnspec::new_with_index(self.link(name)?.index)).build();
        self.runtime.block_on(self.handle.link().set(message).execute()).map_err(refused(operation, name))
    }

    /// Switches the link `name` on or off.
    ///
    /// # Errors
    /// There is none, or the rights are missing (`EPERM`); this holds for all that follow.
    pub fn set_up(&self, name: &str, up: bool) -> Result<(), HostError> {
        self.set(name, "switch link", |link| if up { link.up() } else { link.down() })
    }

    /// Sets the link's largest IP packet, in octets.
    ///
    /// # Errors
    /// As of [`Network::set_up`]; `EINVAL` for a size the link cannot have.
    pub fn set_mtu(&self, name: &str, mtu: u32) -> Result<(), HostError> {
        self.set(name, "set the MTU of", |link| link.mtu(mtu))
    }

    /// Sets the link's own link-layer address.
    ///
    /// # Errors
    /// As of [`Network::set_up`].
    pub fn set_mac(&self, name: &str, mac: Mac) -> Result<(), HostError> {
        self.set(name, "set the link-layer address of", |link| link.address(mac.0.to_vec()))
    }

    /// Gives the link a free text, up to 255 octets.
    ///
    /// # Errors
    /// As of [`Network::set_up`].
    pub fn set_alias(&self, name: &str, alias: &str) -> Result<(), HostError> {
        self.set(name, "set the alias of", |link| link.alias(alias))
    }

    /// Makes the link a port of `bridge`, or of none.
    ///
    /// # Errors
    /// As of [`Network::set_up`].
    pub fn set_bridge(&self, name: &str, bridge: Option<&str>) -> Result<(), HostError> {
        let index = bridge.map(|bridge| self.link(bridge)).transpose()?.map_or(0, |bridge| bridge.index);
        self.set(name, "set the bridge of", |link| link.controller(index))
    }

    /// Gives the link an address. An IPv6 address serves at once, without the search for a double.
    ///
    /// # Errors
    /// As of [`Network::set_up`]; `EEXIST` where it has the address.
    pub fn add_address(&self, name: &str, address: IpAddr, prefix: u8) -> Result<(), HostError> {
        let index = self.link(name)?.index;
        let mut request = self.handle.address().add(index, address, prefix);
        if address.is_ipv6() {
            request.message_mut().header.flags |= AddressHeaderFlags::Nodad;
        }
        self.runtime
            .block_on(request.execute())
            .map_err(refused("add address", &format!("{address}/{prefix} to {name}")))
    }

    /// The IP addresses of the link that are ready to be used.
    ///
    /// # Errors
    /// As of [`Network::set_up`].
    pub fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, HostError> {
        use rtnetlink::packet_route::address::AddressAttribute;
        let index = self.link(name)?.index;
        let request = self.handle.address().get().set_link_index_filter(index);
        let messages = self.runtime.block_on(request.execute().try_collect::<Vec<_>>());
        let messages = messages.map_err(refused("list the addresses of", name))?;
        let ready = messages.iter().filter(|message| {
            !message.attributes.iter().any(|attribute| {
                matches!(attribute, AddressAttribute::Flags(flags) if flags.contains(AddressFlags::Tentative))
            })
        });
        Ok(ready
            .filter_map(|message| {
                message.attributes.iter().find_map(|attribute| match attribute {
                    AddressAttribute::Address(address) => Some(*address),
                    _ => None,
                })
            })
            .collect())
    }

    /// Adds a route to `destination/prefix` by `gateway`. `0.0.0.0/0` and `::/0` are the default routes.
    ///
    /// # Errors
    /// The gateway cannot be reached directly (`ENETUNREACH`, `EHOSTUNREACH`), is of the other family, the route
    /// is there (`EEXIST`), or the rights are missing (`EPERM`).
    pub fn add_route(&self, destination: IpAddr, prefix: u8, gateway: IpAddr) -> Result<(), HostError> {
        let subject = format!("{destination}/{prefix} by {gateway}");
        let unsuitable = |_| HostError::Netlink {
            operation: "add route",
            subject: subject.clone(),
            answer: "destination and gateway are not of one family, or the prefix is too long".into(),
            errno: Some(libc::EINVAL),
        };
        let route = RouteMessageBuilder::<IpAddr>::new()
            .destination_prefix(destination, prefix)
            .and_then(|route| route.gateway(gateway))
            .map_err(unsuitable)?
            .build();
        self.runtime
            .block_on(self.handle.route().add(route).execute())
            .map_err(refused("add route", &subject))
    }

    /// Tells the link for good which link-layer address `neighbour` has, so that it never asks.
    ///
    /// # Errors
    /// As of [`Network::set_up`].
    pub fn set_neighbour(&self, name: &str, neighbour: IpAddr, mac: Mac) -> Result<(), HostError> {
        let index = self.link(name)?.index;
        let request = self.handle.neighbours().add(index, neighbour).link_layer_address(&mac.0).replace();
        self.runtime
            .block_on(request.execute())
            .map_err(refused("set neighbour", &format!("{neighbour} of {name}")))
    }

    /// Switches off everything that would let one packet of this link be other than one frame of its true size
    /// with its true checksum: segmentation and receive offloads, scatter-gather and both checksum offloads.
    /// What the link does not have is left.
    ///
    /// # Errors
    /// There is no such link, or the rights are missing (`EPERM`).
    pub fn disable_offloads(&self, name: &str) -> Result<(), HostError> {
        for offload in Offload::ALL {
            ethtool::set_offload(self.control.as_fd(), name, offload, false)?;
        }
        Ok(())
    }

    /// Whether an offload of the link is on; `None` where the link does not have it.
    ///
    /// # Errors
    /// There is no such link.
    pub fn offload(&self, name: &str, offload: Offload) -> Result<Option<bool>, HostError> {
        ethtool::offload(self.control.as_fd(), name, offload)
    }

    /// The driver of the link, as `veth` or `virtio_net`; `None` where it does not say.
    ///
    /// # Errors
    /// There is no such link.
    pub fn driver(&self, name: &str) -> Result<Option<String>, HostError> {
        ethtool::driver(self.control.as_fd(), name)
    }

    /// What the driver of the link says of its stamps.
    ///
    /// # Errors
    /// There is no such link.
    pub fn stamping(&self, name: &str) -> Result<Stamping, HostError> {
        ethtool::stamping(self.control.as_fd(), name)
    }

    /// How long the driver of the link lets packets gather; `None` where it does not say.
    ///
    /// # Errors
    /// There is no such link.
    pub fn coalescing(&self, name: &str) -> Result<Option<Coalescing>, HostError> {
        ethtool::coalescing(self.control.as_fd(), name)
    }

    /// Sets a system parameter of this namespace, such as `net/ipv4/ip_forward`.
    ///
    /// # Errors
    /// There is no such parameter (`ENOENT`), it does not take the value (`EINVAL`), or the rights are missing
    /// (`EACCES`, `EPERM`).
    pub fn set_parameter(&self, name: &str, value: &str) -> Result<(), HostError> {
        let path = std::path::Path::new("/proc/sys").join(name);
        let legal = name.starts_with("net/") && !name.split('/').any(|part| part == "..");
        if !legal {
            return Err(HostError::BadName {
                what: "network parameter",
                name: name.into(),
                why: "it does not lie under net/",
            });
        }
        // The files under /proc/sys/net speak of the namespace of the thread that opens them.
        let write = || std::fs::write(&path, value).map_err(|source| netns::failed("set", &path, source));
        match &self.namespace {
            None => write(),
            Some(namespace) => netns::with_namespace(namespace, write)?,
        }
    }
}

/// Whether the kernel will take `name` for an interface.
fn check_name(name: &str) -> Result<(), HostError> {
    let bad = |why| Err(HostError::BadName { what: "interface", name: name.into(), why });
    match name {
        "" | "." | ".." => bad("it is empty or means a folder"),
        _ if name.len() > LONGEST_NAME => bad("it is longer than 15 bytes"),
        _ if name.contains(|c: char| c == '/' || c == ':' || c == '\0' || c.is_whitespace()) => {
            bad("it holds a slash, a colon or a space")
        }
        _ => Ok(()),
    }
}

fn refused(operation: &'static str, subject: &str) -> impl FnOnce(rtnetlink::Error) -> HostError {
    let subject = subject.to_owned();
    move |error| {
        let errno = match &error {
            rtnetlink::Error::NetlinkError(message) => Some(message.raw_code().saturating_abs()),
            _ => None,
        };
        let answer = errno
            .map_or_else(|| error.to_string(), |errno| std::io::Error::from_raw_os_error(errno).to_string());
        HostError::Netlink { operation, subject, answer, errno }
    }
}

fn read_link(message: &LinkMessage) -> Option<Link> {
    let mut link = Link {
        index: message.header.index,
        name: String::new(),
        mac: None,
        mtu: 0,
        up: message.header.flags.contains(LinkFlags::Up),
        running: message.header.flags.contains(LinkFlags::Up | LinkFlags::LowerUp | LinkFlags::Running),
        kind: None,
        alias: None,
        controller: None,
        lower: None,
        remote: None,
    };
    let mut is_elsewhere = false;
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name.clone_from(name),
            LinkAttribute::Address(octets) => link.mac = octets.as_slice().try_into().ok().map(Mac),
            LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
            LinkAttribute::IfAlias(alias) => link.alias = Some(alias.clone()),
            LinkAttribute::Controller(index) => link.controller = Some(*index),
            LinkAttribute::Link(index) => link.lower = Some(*index).filter(|index| *index != 0),
            LinkAttribute::LinkNetNsId(_) => is_elsewhere = true,
            LinkAttribute::LinkInfo(infos) => {
                link.kind = infos.iter().find_map(|info| match info {
                    LinkInfo::Kind(kind) => Some(kind_name(kind)),
                    _ => None,
                });
                for info in infos {
                    if let LinkInfo::Data(data) = info {
                        let (lower, remote) = tunnel::ends(data);
                        link.lower = link.lower.or(lower);
                        link.remote = remote.filter(|remote| !remote.is_unspecified());
                    }
                }
            }
            _ => {}
        }
    }
    if is_elsewhere {
        link.remote = None;
    }
    if is_elsewhere || link.kind.as_deref() == Some("veth") {
        // Of a pair, what is named is the other end, which lies beside.
        link.lower = None;
    }
    (!link.name.is_empty()).then_some(link)
}

fn kind_name(kind: &InfoKind) -> String {
    kind.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_card_lost_is_counted_once() {
        // One overrun as a driver may count it, under two names.
        let mut counts = Stats64::default();
        (counts.rx_missed_errors, counts.rx_fifo_errors) = (7, 7);
        (counts.rx_dropped, counts.rx_crc_errors, counts.tx_errors) = (50, 3, 2);
        assert_eq!(Overruns::from(&counts), Overruns { received: 7, sent: 2 });
        assert_eq!(Network::open(None).unwrap().overruns("lo").unwrap(), Overruns::default());
    }

    #[test]
    fn loopback_is_there_with_its_figures() {
        let network = Network::open(None).unwrap();
        let link = network.link("lo").unwrap();
        assert_eq!((link.index, link.mac), (1, Some(Mac([0; 6]))));
        assert!(link.mtu >= 1_280);
        assert!(matches!(network.link("no-such-link"), Err(HostError::Missing { .. })));
    }

    #[test]
    fn names_that_the_kernel_would_refuse_are_refused_before() {
        for name in ["", ".", "..", "a/b", "a b", "a:b", "sixteen-octets-x", "a\0"] {
            assert!(check_name(name).is_err(), "{name:?} was accepted");
        }
        assert!(check_name("fifteen-octets-").is_ok());
    }

    #[test]
    fn only_network_parameters_can_be_set() {
        let network = Network::open(None).unwrap();
        for name in ["kernel/panic", "net/../kernel/panic", "/net/ipv4/ip_forward"] {
            assert!(matches!(network.set_parameter(name, "0"), Err(HostError::BadName { .. })), "{name}");
        }
    }

    #[test]
    fn a_link_layer_address_is_written_as_people_do() {
        assert_eq!(Mac([2, 0, 0, 0x18, 0, 0xff]).to_string(), "02:00:00:18:00:ff");
    }
}
