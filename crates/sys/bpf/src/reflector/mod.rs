//! A stateless STAMP reflector (RFC 8762, unauthenticated) in the kernel: an XDP program answers requests before they reach
//! the network stack, and returns each by the interface that it came from.
//!
//! It answers what is a base packet with zeros behind it, and passes everything else to user space: requests with TLVs (RFC
//! 8972) or shorter than a base packet, packets of sessions, replies, sources and addresses that the rules leave out, and
//! damaged datagrams. So a reply is never longer than its request. Over the rate of its prefix a request is dropped.
//!
//! T2 and T3 are the program's: the first is taken once the request is known to be for the reflector, the second before the
//! reply is handed to the driver.

mod program;

use std::net::{IpAddr, SocketAddr};

use romer_host::HostError;
use romer_host::link::Network;
use romer_host::xdp::xdp_support;
use romer_units::{Duration, Prefix};
use romer_wire::stamp::{ErrorEstimate, ReplyFormat};

use crate::object::octets;
use crate::{Link, Map, MapKind, Program, XdpMode};

/// Buckets of the rate limits, as a power of two. A bucket belongs to all prefixes that are mixed to its number by a secret:
/// a flood from many prefixes takes little of each.
const BUCKETS_LOG2: i32 = 16;
/// Bits of the longest key of [`Maps::allowed`]: the version of IP and an address.
const ALLOWED_BITS: i32 = 32 + 128;
/// The most ranges of addresses.
const MOST_RANGES: u32 = 4_096;
/// The most addresses that are served.
const MOST_ADDRESSES: u32 = 1_024;

/// What the reflector in the kernel answers, and how.
#[derive(Clone, Debug)]
pub struct ReflectorRules {
    /// The addresses and ports at which requests are received. None is a wildcard.
    pub addresses: Vec<SocketAddr>,
    /// The ranges that are answered; all, if there are none.
    pub allowed: Vec<Prefix>,
    /// Ports of senders that are left to user space: those of services that answer any datagram.
    pub refused_ports: Vec<u16>,
    /// The least TTL or hop limit with which a request may arrive; 0 for any.
    pub least_ttl: u8,
    /// Replies per second to an IPv4 address or an IPv6 /56, at least 1; the burst is one second of them.
    pub rate: u64,
    /// The format of T2 and T3.
    pub format: ReplyFormat,
    /// Random numbers that hide which prefixes share a bucket.
    pub secret: [u64; 2],
}

/// What replies state of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyClock {
    /// The error of T2 and T3. The program sets its Z bit by the format of the reply.
    pub error: ErrorEstimate,
    /// By how much the clock of international atomic time, which the program reads, is ahead of the real-time clock.
    pub atomic_ahead: Duration,
}

/// What the program has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelCounters {
    /// Requests answered.
    pub reflected: u64,
    /// Octets of UDP payload of the replies.
    pub octets_reflected: u64,
    /// Requests dropped because their prefix had used up its rate.
    pub rate_limited: u64,
    /// Datagrams for the reflector that were passed to user space.
    pub passed: u64,
}

/// The maps that program and process share.
#[derive(Debug)]
struct Maps {
    /// Addresses and ports: 16 octets of address, version of IP (u32), port in network order, two zeros.
    served: Map,
    /// Allowed ranges: bits (u32), version of IP (u32), 16 octets of address.
    allowed: Map,
    /// Numbers of the sessions that user space answers (u32), in network order.
    sessions: Map,
    /// When each bucket is full again, nanoseconds of the monotonic clock.
    buckets: Map,
    /// The real-time clock less the clock of atomic time, nanoseconds, and the error estimate in network order.
    clock: Map,
    /// The fields of [`KernelCounters`] in their order.
    counters: Map,
}

impl Maps {
    fn create(rules: &ReflectorRules) -> Result<Self, HostError> {
        let maps = Self {
            served: Map::create(MapKind::Hash, 24, 8, MOST_ADDRESSES)?,
            allowed: Map::create(MapKind::PrefixTree, 24, 8, MOST_RANGES)?,
            sessions: Map::create(MapKind::Hash, 4, 8, 1 << 16)?,
            buckets: Map::create(MapKind::Array, 4, 8, 1 << BUCKETS_LOG2)?,
            clock: Map::create(MapKind::Array, 4, 16, 1)?,
            counters: Map::create(MapKind::Array, 4, 32, 1)?,
        };
        for address in &rules.addresses {
            let mut key = [0; 24];
            let (version, octets) = octets(address.ip());
            key[..16].copy_from_slice(&octets);
            key[16..20].copy_from_slice(&version.to_ne_bytes());
            key[20..22].copy_from_slice(&address.port().to_be_bytes());
            maps.served.set(&key, &[0; 8])?;
        }
        for prefix in &rules.allowed {
            maps.allow(prefix.address(), prefix.length())?;
        }
        if rules.allowed.is_empty() {
            maps.allow(IpAddr::from([0; 4]), 0)?;
            maps.allow(IpAddr::from([0; 16]), 0)?;
        }
        Ok(maps)
    }

    fn set_clock(&self, clock: ReplyClock) -> Result<(), HostError> {
        let mut value = [0; 16];
        value[..8].copy_from_slice(&clock.atomic_ahead.as_nanos().wrapping_neg().to_ne_bytes());
        value[8..10].copy_from_slice(&clock.error.bits().to_be_bytes());
        self.clock.set(&[0; 4], &value)
    }

    fn allow(&self, address: IpAddr, length: u8) -> Result<(), HostError> {
        /// Bits before an address of IPv4 that is written as one of IPv6.
        const MAPPED: u8 = 96;
        let (address, length) = match (address.to_canonical(), length.checked_sub(MAPPED)) {
            (canonical @ IpAddr::V4(_), Some(length)) if address.is_ipv6() => (canonical, length),
            _ => (address, length),
        };
        let (version, octets) = match address {
            IpAddr::V4(_) => octets(address),
            IpAddr::V6(address) => (6, address.octets()),
        };
        let mut key = [0; 24];
        key[..4].copy_from_slice(&(32 + u32::from(length)).to_ne_bytes());
        key[4..8].copy_from_slice(&version.to_ne_bytes());
        key[8..].copy_from_slice(&octets);
        self.allowed.set(&key, &[0; 8])
    }
}

/// The reflector at work on its interfaces. It ends with this, and with the process.
#[derive(Debug)]
pub struct KernelReflector {
    /// They end first.
    links: Vec<(String, XdpMode, Link)>,
    maps: Maps,
}

impl KernelReflector {
    /// Attaches the reflector to `interfaces` of the current thread's network namespace, to each in the first of `modes` that
    /// it has. Native mode takes a driver that runs programs and sends what they return.
    ///
    /// # Errors
    /// There is no such interface ([`HostError::Missing`]), another program is there (`EBUSY`), the rights of the machine
    /// are missing (`EPERM`: `CAP_BPF` and `CAP_NET_ADMIN`), or the kernel is older than Linux 6.1 (`EINVAL`).
    pub fn attach(
        rules: &ReflectorRules,
        clock: ReplyClock,
        interfaces: &[String],
        modes: &[XdpMode],
    ) -> Result<Self, HostError> {
        let maps = Maps::create(rules)?;
        maps.set_clock(clock)?;
        let network = Network::open(None)?;
        // A kernel that does not say what its drivers can do gets the mode that all of them have.
        let support = xdp_support()?.unwrap_or_default();
        let mut links = Vec::new();
        for interface in interfaces {
            let link = network.link(interface)?;
            if link.mac.is_none() {
                return Err(HostError::Unsuitable("the interface carries no Ethernet frames"));
            }
            let index = link.index;
            let driver = support.get(&index).copied().unwrap_or_default();
            let mut refusal = HostError::Unsuitable("no XDP mode to attach in");
            let possible = |mode: &XdpMode| match mode {
                XdpMode::Native => driver.native && driver.transmit,
                XdpMode::Generic => true,
            };
            let mut attached = None;
            for mode in modes.iter().copied().filter(possible) {
                let program = Program::load_xdp(&program::instructions(rules, &maps, mode)?)?;
                match program.attach_xdp(index, mode) {
                    Ok(link) => {
                        attached = Some((interface.clone(), mode, link));
                        break;
                    }
                    // In another mode the kernel would refuse for the mode of that program.
                    Err(error) if error.errno() == Some(HostError::BUSY) => {
                        return Err(named(error, interface));
                    }
                    Err(error) => refusal = named(error, interface),
                }
            }
            links.push(attached.ok_or(refusal)?);
        }
        Ok(Self { links, maps })
    }

    /// The interfaces, and where the program is at work on each.
    pub fn interfaces(&self) -> impl Iterator<Item = (&str, XdpMode)> {
        self.links.iter().map(|(interface, mode, _)| (interface.as_str(), *mode))
    }

    /// What replies state of the clock from now on.
    ///
    /// # Errors
    /// The kernel refuses to change the map.
    pub fn set_clock(&self, clock: ReplyClock) -> Result<(), HostError> {
        self.maps.set_clock(clock)
    }

    /// Whether user space answers the requests with this session identifier.
    ///
    /// # Errors
    /// The kernel refuses to change the map.
    pub fn leave_to_user_space(&self, session: u16, leave: bool) -> Result<(), HostError> {
        let mut key = [0; 4];
        key[..2].copy_from_slice(&session.to_be_bytes());
        if leave {
            return self.maps.sessions.set(&key, &[0; 8]);
        }
        match self.maps.sessions.remove(&key) {
            Err(error) if error.errno() == Some(libc::ENOENT) => Ok(()),
            answer => answer,
        }
    }

    /// What has been counted up to now.
    ///
    /// # Errors
    /// The kernel refuses to read the map.
    pub fn counters(&self) -> Result<KernelCounters, HostError> {
        let mut value = [0; 32];
        self.maps.counters.get(&[0; 4], &mut value)?;
        let mut numbers = [0; 4];
        for (number, octets) in numbers.iter_mut().zip(value.as_chunks::<8>().0) {
            *number = u64::from_ne_bytes(*octets);
        }
        let [reflected, octets_reflected, rate_limited, passed] = numbers;
        Ok(KernelCounters { reflected, octets_reflected, rate_limited, passed })
    }
}

/// The same error, of `interface`.
fn named(error: HostError, interface: &str) -> HostError {
    match error {
        HostError::System { operation, source, .. } => {
            HostError::System { operation, subject: interface.into(), source }
        }
        other => other,
    }
}
