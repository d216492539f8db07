//! The socket itself: how it is opened, bound and set up.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use romer_units::{Dscp, Duration, Ecn};

use super::address;
use super::identity::{self, Identities};
use super::wait::{Ready, wait_any};
use crate::HostError;
use crate::link::Network;
use crate::service_manager::is_one_family;
use crate::sys::{option, set_option, set_option_bytes, socklen_of};

/// Index of the dropped datagrams in the answer to `SO_MEMINFO` (`SK_MEMINFO_DROPS`), and the answer's length.
const MEMINFO_DROPS: usize = 8;
const MEMINFO_LEN: usize = 9;

/// How a [`StampingSocket`] is to be set up.
#[derive(Clone, Debug)]
pub struct SocketOptions {
    /// Send and receive by this interface only (`SO_BINDTODEVICE`).
    pub interface: Option<String>,
    /// Code point of what is sent, unless a datagram brings its own class octet.
    pub dscp: Dscp,
    /// ECN bits of what is sent, unless a datagram brings its own class octet.
    pub ecn: Ecn,
    /// Time to live (hop limit) of what is sent; `None` leaves the system's (64 as a rule).
    pub ttl: Option<u8>,
    /// Priority of what is sent, which queueing disciplines and the egress map of a VLAN read; `None` leaves the one that the
    /// system derives from the code point. 7 and above take `CAP_NET_ADMIN`.
    pub priority: Option<u8>,
    /// Whether the kernel is to stamp departures and arrivals. Without, only user stamps are taken.
    pub kernel_stamps: bool,
    /// Whether network cards are to stamp them too, beside the kernel. Those do whose stamps are
    /// [switched on](crate::phc::HardwareStamping::switch_on).
    pub card_stamps: bool,
    /// Octets of receive buffer to ask for. Without privilege the system's limit (`net.core.rmem_max`) holds;
    /// [`StampingSocket::receive_buffer`] tells what was given.
    pub receive_buffer: u32,
    /// Never fragment: a datagram longer than the path's known MTU is an error of its send, unless it
    /// [may be taken apart](super::Outgoing::may_fragment).
    pub dont_fragment: bool,
    /// Report ICMP errors that datagrams of this socket provoke as [`PathError`](super::PathError)s. Only then does the kernel tell a send, too,
    /// that a queue or interface of this host dropped its datagram at once (`ENOBUFS`): without, such a send succeeds. Errors of
    /// earlier datagrams, or of strangers', fail neither a send nor a receive; they have to be taken as transmit stamps are.
    pub path_errors: bool,
}

impl SocketOptions {
    /// The octets of receive buffer that hold `per_second` datagrams for a second, as long as a host may take the processor
    /// from who reads them; with room for the stamps of as many that were sent, which wait in the same buffer. Never less
    /// than the default, nor more than 128 MiB.
    pub fn buffer_for(per_second: u64) -> u32 {
        /// What the kernel counts for a short datagram or stamp, of which it grants twice the octets asked for.
        const EACH: u64 = 1 << 10;
        const MAX_BUFFER_OCTETS: u64 = 128 << 20;
        let octets =
            per_second.saturating_mul(EACH).clamp(Self::default().receive_buffer.into(), MAX_BUFFER_OCTETS);
        u32::try_from(octets).unwrap_or(u32::MAX)
    }
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            interface: None,
            dscp: Dscp::DEFAULT,
            ecn: Ecn::NotEct,
            ttl: None,
            priority: None,
            kernel_stamps: true,
            card_stamps: false,
            receive_buffer: 4 << 20,
            dont_fragment: false,
            path_errors: false,
        }
    }
}

/// A UDP socket with kernel and user stamps. See the [module](super) for its use.
///
/// One thread may send while another receives. Several sending threads are safe too, but where the kernel cannot
/// take an id with a datagram (before Linux 6.13) they take turns.
#[derive(Debug)]
pub struct StampingSocket {
    pub(super) descriptor: OwnedFd,
    pub(super) local: SocketAddr,
    pub(super) identities: Option<Identities>,
    pub(super) path_errors: bool,
    pub(super) dont_fragment: bool,
}

impl StampingSocket {
    /// Opens a socket at `address`; port 0 lets the system choose. An IPv6 socket serves IPv6 only.
    ///
    /// # Errors
    /// A system call's refusal: the address is not ours (`EADDRNOTAVAIL`) or in use (`EADDRINUSE`), its port is
    /// privileged (`EACCES`), the interface is not there (`ENODEV`), the family is switched off (`EAFNOSUPPORT`).
    pub fn bind(address: SocketAddr, options: &SocketOptions) -> Result<Self, HostError> {
        Self::bind_with(address, options, Identities::best())
    }

    /// Sets up a UDP socket that was opened and bound elsewhere, such as by a [service manager](crate::service_manager). What it
    /// received before has no time stamps.
    ///
    /// # Errors
    /// As of [`StampingSocket::bind`]; and an IPv6 socket that serves IPv4, too.
    pub fn adopt(descriptor: OwnedFd, options: &SocketOptions) -> Result<Self, HostError> {
        let local = local_address(descriptor.as_fd())?;
        if !is_one_family(descriptor.as_fd(), local)? {
            return Err(HostError::Unsuitable(
                "an inherited IPv6 socket receives IPv4, too; set BindIPv6Only=ipv6-only in the socket unit",
            ));
        }
        configure(descriptor.as_fd(), local, options)?;
        Self::stamping(descriptor, local, options, Identities::best())
    }

    /// Opens a socket that receives what is sent to all members of `group`: a multicast address, or a broadcast address of this
    /// host's network. Other sockets may listen to the same group and port. A multicast group is joined at
    /// [`SocketOptions::interface`], or where the route leads.
    ///
    /// # Errors
    /// As of [`StampingSocket::bind`], and without a route to a multicast group (`ENODEV`).
    pub fn listen_to(group: SocketAddr, options: &SocketOptions) -> Result<Self, HostError> {
        let any: IpAddr = match group {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let any = SocketAddr::new(any, group.port());
        let descriptor = address::open(any)?;
        let operation = "share the socket's port";
        set_option(descriptor.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1, operation)?;
        let socket = Self::bind_descriptor(descriptor, any, options, Identities::best())?;
        if group.ip().is_multicast() {
            let interface = options.interface.as_deref();
            let link = interface.map(|name| Network::open(None)?.link(name)).transpose()?;
            join(socket.as_fd(), group.ip(), link.map_or(0, |link| link.index))?;
        }
        Ok(socket)
    }

    /// Lets this socket send to broadcast addresses.
    ///
    /// # Errors
    /// None that an open socket gives.
    pub fn allow_broadcast(&self) -> Result<(), HostError> {
        set_option(self.as_fd(), libc::SOL_SOCKET, libc::SO_BROADCAST, 1, "allow broadcast")
    }

    /// A second socket at this one's address and port, to which everything goes that `peer` sends there from now
    /// on. `options` should be those of this socket.
    ///
    /// It is for who sends with this one: a stamp that returns to a socket wakes whoever waits for that socket, in
    /// the middle of the send call, between the transmit stamp and the driver's own work. Waking an idle core takes
    /// several microseconds, by which the packet is late. Nobody needs to wait for this socket when what comes is
    /// received by the other.
    ///
    /// # Errors
    /// As of [`StampingSocket::bind`], and where there is no route to `peer` (`ENETUNREACH`).
    pub fn receiver_from(&self, peer: SocketAddr, options: &SocketOptions) -> Result<Self, HostError> {
        share_port(self.as_fd(), true)?;
        let descriptor = address::open(self.local)?;
        let receiver = share_port(descriptor.as_fd(), true)
            .and_then(|()| Self::bind_descriptor(descriptor, self.local, options, Identities::best()))
            .and_then(|receiver| {
                connect(receiver.as_fd(), peer)?;
                Ok(receiver)
            });
        // The connected ones go on sharing, so that there may be several, each for a peer of its own; the kernel prefers
        // them for what comes from there. Who does not ask to share is kept out; who does must be of the same user.
        share_port(self.as_fd(), false)?;
        receiver
    }

    /// Has a socket from [`StampingSocket::receiver_from`] go on receiving what `peer` sends after this host's address has
    /// changed: connected, it hears only what is sent to the address that it had.
    ///
    /// # Errors
    /// There is no route to `peer` (`ENETUNREACH`). It then hears what anybody sends to its port.
    pub fn connect_anew(&self, peer: SocketAddr) -> Result<(), HostError> {
        disconnect(self.as_fd())?;
        connect(self.as_fd(), peer)
    }

    /// Sends and receives by the interface that is called so now: a socket that [was bound](SocketOptions::interface) to one that
    /// was removed stays bound to that, though another of its name has come.
    ///
    /// # Errors
    /// There is none of that name (`ENODEV`), or this process may not bind a bound socket anew (`EPERM`: it takes
    /// CAP_NET_RAW).
    pub fn bind_interface_anew(&self, interface: &str) -> Result<(), HostError> {
        bind_to_interface(self.as_fd(), interface)
    }

    pub(super) fn bind_with(
        address: SocketAddr,
        options: &SocketOptions,
        identities: Identities,
    ) -> Result<Self, HostError> {
        Self::bind_descriptor(address::open(address)?, address, options, identities)
    }

    fn bind_descriptor(
        descriptor: OwnedFd,
        address: SocketAddr,
        options: &SocketOptions,
        identities: Identities,
    ) -> Result<Self, HostError> {
        if address.is_ipv6() {
            let operation = "keep IPv4 out";
            set_option(descriptor.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1, operation)?;
        }
        configure(descriptor.as_fd(), address, options)?;
        bind_to(descriptor.as_fd(), address)?;
        let local = local_address(descriptor.as_fd())?;
        Self::stamping(descriptor, local, options, identities)
    }

    /// Switches the stamps of a bound socket on.
    fn stamping(
        descriptor: OwnedFd,
        local: SocketAddr,
        options: &SocketOptions,
        identities: Identities,
    ) -> Result<Self, HostError> {
        let card_stamps = options.kernel_stamps && options.card_stamps;
        let identities = identities.with_card_stamps(card_stamps);
        if options.kernel_stamps {
            identity::switch_on(descriptor.as_fd(), card_stamps)?;
        }
        let identities = options.kernel_stamps.then_some(identities);
        let SocketOptions { path_errors, dont_fragment, .. } = *options;
        Ok(Self { descriptor, local, identities, path_errors, dont_fragment })
    }

    /// The address and port the socket is bound to.
    pub const fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Whether kernel stamps were asked for.
    pub const fn has_kernel_stamps(&self) -> bool {
        self.identities.is_some()
    }

    /// Datagrams that the kernel dropped before they could be read: the receive buffer was full, or the UDP
    /// checksum was wrong. Counts from the opening of the socket; wraps at 2^32.
    ///
    /// # Errors
    /// `SO_MEMINFO` is refused (kernels before 4.12).
    pub fn kernel_drops(&self) -> Result<u32, HostError> {
        let values: [u32; MEMINFO_LEN] =
            option(self.as_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO, "read the drop counter")?;
        Ok(values[MEMINFO_DROPS])
    }

    /// Octets of receive buffer that the kernel gave, counted in its own book-keeping (about twice the payload).
    ///
    /// # Errors
    /// None that an open socket gives.
    pub fn receive_buffer(&self) -> Result<u32, HostError> {
        let [value] =
            option(self.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, "read the receive buffer's size")?;
        Ok(value)
    }

    /// Gives what is sent from now on this code point, without ECN, and this priority within the host. A datagram that
    /// [brings its own class octet](super::Outgoing::tos) is not concerned.
    ///
    /// # Errors
    /// A priority of 7 and above takes `CAP_NET_ADMIN`.
    pub fn mark(&self, dscp: Dscp, priority: u8) -> Result<(), HostError> {
        let class = i32::from(dscp.tos() | Ecn::NotEct.bits());
        let (level, name) = match self.local {
            SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
            SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
        };
        set_option(self.as_fd(), level, name, class, "set the service class")?;
        // The service class, which sets a priority as well, comes before.
        set_priority(self.as_fd(), priority)
    }

    /// Asks for so many octets of receive buffer from here on, as [`SocketOptions::receive_buffer`] does at first.
    ///
    /// # Errors
    /// None that an open socket gives.
    pub fn ask_receive_buffer(&self, octets: u32) -> Result<(), HostError> {
        enlarge_receive_buffer(self.as_fd(), octets)
    }

    /// Waits until datagrams or transmit events can be read, or `timeout` has passed (`None`: without end).
    ///
    /// # Errors
    /// None but the system's own want of memory.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Ready, HostError> {
        wait_any(&[self.as_fd()], None, timeout)
    }
}

impl AsFd for StampingSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn configure(socket: BorrowedFd<'_>, address: SocketAddr, options: &SocketOptions) -> Result<(), HostError> {
    if let Some(interface) = &options.interface {
        bind_to_interface(socket, interface)?;
    }
    enlarge_receive_buffer(socket, options.receive_buffer)?;
    set_option(socket, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1, "enable SO_RXQ_OVFL")?;
    let tos = i32::from(options.dscp.tos() | options.ecn.bits());
    match address {
        SocketAddr::V4(_) => configure_v4(socket, tos, options)?,
        SocketAddr::V6(_) => configure_v6(socket, tos, options)?,
    }
    // The service class, which sets a priority as well, comes before.
    match options.priority {
        None => Ok(()),
        Some(priority) => set_priority(socket, priority),
    }
}

/// Joins a multicast group at the interface of this index; 0 is where the route leads.
fn join(socket: BorrowedFd<'_>, group: IpAddr, interface: u32) -> Result<(), HostError> {
    let operation = "join the multicast group";
    let joined = match group {
        // struct ip_mreqn: group, local address, index.
        IpAddr::V4(group) => {
            let index = interface.to_ne_bytes();
            let request = [group.octets(), [0; 4], index].concat();
            set_option_bytes(socket, libc::IPPROTO_IP, libc::IP_ADD_MEMBERSHIP, &request, operation)
        }
        // struct ipv6_mreq: group, index.
        IpAddr::V6(group) => {
            let request = [&group.octets()[..], &interface.to_ne_bytes()].concat();
            set_option_bytes(socket, libc::IPPROTO_IPV6, libc::IPV6_ADD_MEMBERSHIP, &request, operation)
        }
    };
    joined.map_err(|error| error.on(group.to_string()))
}

fn set_priority(socket: BorrowedFd<'_>, priority: u8) -> Result<(), HostError> {
    let operation = "set the priority of packets";
    set_option(socket, libc::SOL_SOCKET, libc::SO_PRIORITY, i32::from(priority), operation)
}

fn bind_to_interface(socket: BorrowedFd<'_>, interface: &str) -> Result<(), HostError> {
    let operation = "bind the socket to interface";
    set_option_bytes(socket, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, interface.as_bytes(), operation)
        .map_err(|error| error.on(interface.to_owned()))
}

fn configure_v4(socket: BorrowedFd<'_>, tos: i32, options: &SocketOptions) -> Result<(), HostError> {
    let set = |name, value, operation| set_option(socket, libc::IPPROTO_IP, name, value, operation);
    set(libc::IP_PKTINFO, 1, "enable IP_PKTINFO")?;
    set(libc::IP_RECVTTL, 1, "enable IP_RECVTTL")?;
    set(libc::IP_RECVTOS, 1, "enable IP_RECVTOS")?;
    set(libc::IP_TOS, tos, "set the service class")?;
    if let Some(ttl) = options.ttl {
        set(libc::IP_TTL, i32::from(ttl), "set the time to live")?;
    }
    if options.dont_fragment {
        forbid_fragments(socket, true, true)?;
    }
    if options.path_errors {
        set(libc::IP_RECVERR, 1, "enable IP_RECVERR")?;
    }
    Ok(())
}

fn configure_v6(socket: BorrowedFd<'_>, tos: i32, options: &SocketOptions) -> Result<(), HostError> {
    let set = |name, value, operation| set_option(socket, libc::IPPROTO_IPV6, name, value, operation);
    set(libc::IPV6_RECVPKTINFO, 1, "enable IPV6_RECVPKTINFO")?;
    set(libc::IPV6_RECVHOPLIMIT, 1, "enable IPV6_RECVHOPLIMIT")?;
    set(libc::IPV6_RECVTCLASS, 1, "enable IPV6_RECVTCLASS")?;
    set(libc::IPV6_TCLASS, tos, "set the traffic class")?;
    if let Some(ttl) = options.ttl {
        set(libc::IPV6_UNICAST_HOPS, i32::from(ttl), "set the hop limit")?;
    }
    if options.dont_fragment {
        forbid_fragments(socket, false, true)?;
    }
    if options.path_errors {
        set(libc::IPV6_RECVERR, 1, "enable IPV6_RECVERR")?;
    }
    Ok(())
}

/// Has what `socket`, of IPv4 or IPv6, sends never be taken apart, or be where it is longer than the path is known to take.
pub(super) fn forbid_fragments(socket: BorrowedFd<'_>, is_ipv4: bool, forbid: bool) -> Result<(), HostError> {
    let operation = if forbid { "forbid fragments" } else { "allow fragments" };
    if is_ipv4 {
        let how = if forbid { libc::IP_PMTUDISC_DO } else { libc::IP_PMTUDISC_WANT };
        return set_option(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, how, operation);
    }
    let how = if forbid { libc::IPV6_PMTUDISC_DO } else { libc::IPV6_PMTUDISC_WANT };
    set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, how, operation)?;
    set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG, i32::from(forbid), operation)
}

fn enlarge_receive_buffer(socket: BorrowedFd<'_>, octets: u32) -> Result<(), HostError> {
    let octets = i32::try_from(octets).unwrap_or(i32::MAX);
    let operation = "set the receive buffer's size";
    // With CAP_NET_ADMIN the system's limit may be passed; without, it holds.
    set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, octets, operation)
        .or_else(|_| set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, octets, operation))
}

fn bind_to(socket: BorrowedFd<'_>, address: SocketAddr) -> Result<(), HostError> {
    let mut bytes = [0; address::ADDRESS_LEN];
    let length = address::encode(address, &mut bytes);
    let length = libc::socklen_t::try_from(length).unwrap_or(0);
    // SAFETY: pointer and length describe `bytes`, which the call only reads.
    let answer = unsafe { libc::bind(socket.as_raw_fd(), bytes.as_ptr().cast(), length) };
    if answer == 0 { Ok(()) } else { Err(HostError::last_on("bind", address.to_string())) }
}

/// Lets further sockets have this one's address and port, or no more.
fn share_port(socket: BorrowedFd<'_>, share: bool) -> Result<(), HostError> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_REUSEPORT, i32::from(share), "share the socket's port")
}

fn connect(socket: BorrowedFd<'_>, peer: SocketAddr) -> Result<(), HostError> {
    let mut bytes = [0; address::ADDRESS_LEN];
    let length = address::encode(peer, &mut bytes);
    let length = libc::socklen_t::try_from(length).unwrap_or(0);
    // SAFETY: pointer and length describe `bytes`, which the call only reads.
    let answer = unsafe { libc::connect(socket.as_raw_fd(), bytes.as_ptr().cast(), length) };
    if answer == 0 { Ok(()) } else { Err(HostError::last_on("connect to", peer.to_string())) }
}

/// Forgets the peer, and the address that the connection chose.
fn disconnect(socket: BorrowedFd<'_>) -> Result<(), HostError> {
    // A family of AF_UNSPEC, which is zero, and nothing more that would be looked at.
    let bytes = [0_u8; address::ADDRESS_LEN];
    let length = socklen_of::<[u8; address::ADDRESS_LEN]>();
    // SAFETY: pointer and length describe `bytes`, which the call only reads.
    let answer = unsafe { libc::connect(socket.as_raw_fd(), bytes.as_ptr().cast(), length) };
    if answer == 0 { Ok(()) } else { Err(HostError::last("disconnect")) }
}

fn local_address(socket: BorrowedFd<'_>) -> Result<SocketAddr, HostError> {
    let mut bytes = [0_u8; address::ADDRESS_LEN];
    let mut length = socklen_of::<[u8; address::ADDRESS_LEN]>();
    // SAFETY: the call writes at most `length` octets, the size of `bytes`.
    let answer = unsafe { libc::getsockname(socket.as_raw_fd(), bytes.as_mut_ptr().cast(), &raw mut length) };
    if answer != 0 {
        return Err(HostError::last("read the socket's address"));
    }
    address::decode(&bytes).ok_or(HostError::Unsuitable("the socket's own address is of no family we know"))
}
