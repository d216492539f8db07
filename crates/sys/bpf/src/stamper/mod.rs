//! Time stamps within test packets, written by programs of the kernel (tcx) at an interface: t1 and t4 at the initiator, t2 and t3
//! at the responder. The packet has them in the field of [`romer_wire::stamp::in_packet`].
//!
//! A program stamps UDP datagrams of addresses and ports of its host that have the field. It repairs the checksum of UDP by the difference (RFC 1624),
//! and leaves everything else as it is. An arrival is stamped before the network stack, a departure before the queueing
//! discipline.

mod program;

use std::net::SocketAddr;

use romer_host::HostError;
use romer_host::link::Network;
use romer_units::Duration;

use crate::object::octets;
use crate::{Link, Map, MapKind, Program, TcxHook};

/// Which stamps a host writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampingEnd {
    /// t1 into probes that leave, t4 into replies that arrive.
    Initiator,
    /// t2 into probes that arrive, t3 into replies that leave.
    Responder,
}

impl StampingEnd {
    /// The stamp that is written at `hook`, from 0 for t1.
    const fn stamp(self, hook: TcxHook) -> usize {
        match (self, hook) {
            (Self::Initiator, TcxHook::Egress) => 0,
            (Self::Responder, TcxHook::Ingress) => 1,
            (Self::Responder, TcxHook::Egress) => 2,
            (Self::Initiator, TcxHook::Ingress) => 3,
        }
    }
}

/// Packets that were stamped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StampedPackets {
    /// As they arrived.
    pub arrived: u64,
    /// As they left.
    pub departed: u64,
}

/// The maps that programs and process share.
#[derive(Debug)]
struct Maps {
    /// Addresses and ports of this host: 16 octets of address, port in network order, version of IP (u16), four zeros.
    own: Map,
    /// The real-time clock less the clock of atomic time, nanoseconds.
    clock: Map,
    /// Packets stamped, as in [`StampedPackets`].
    counters: Map,
}

impl Maps {
    fn create(own: &[SocketAddr]) -> Result<Self, HostError> {
        let room = u32::try_from(own.len()).unwrap_or(u32::MAX).max(1);
        let maps = Self {
            own: Map::create(MapKind::Hash, 24, 8, room)?,
            clock: Map::create(MapKind::Array, 4, 8, 1)?,
            counters: Map::create(MapKind::Array, 4, 16, 1)?,
        };
        for address in own {
            let (version, octets) = octets(address.ip());
            let mut key = [0; 24];
            key[..16].copy_from_slice(&octets);
            key[16..18].copy_from_slice(&address.port().to_be_bytes());
            key[18..20].copy_from_slice(&version.to_ne_bytes()[..2]);
            maps.own.set(&key, &[0; 8])?;
        }
        Ok(maps)
    }

    fn set_clock(&self, atomic_ahead: Duration) -> Result<(), HostError> {
        self.clock.set(&[0; 4], &atomic_ahead.as_nanos().wrapping_neg().to_ne_bytes())
    }
}

/// The programs of one host at work on its interfaces. They end with this, and with the process.
#[derive(Debug)]
pub struct PacketStamper {
    /// They end first.
    links: Vec<(String, [Link; 2])>,
    maps: Maps,
}

impl PacketStamper {
    /// Stamps the UDP datagrams of this host's addresses and ports `own`, none of which is a wildcard, at `interfaces` of the
    /// current thread's network namespace. `atomic_ahead` is by how much the clock of international atomic time, which the programs read, is ahead of the
    /// real-time clock.
    ///
    /// # Errors
    /// There is no such interface ([`HostError::Missing`]), the rights of the machine are missing (`EPERM`: `CAP_BPF` and
    /// `CAP_NET_ADMIN`), or the kernel is older than Linux 6.6 (`EINVAL`).
    pub fn attach(
        end: StampingEnd,
        own: &[SocketAddr],
        atomic_ahead: Duration,
        interfaces: &[String],
    ) -> Result<Self, HostError> {
        let maps = Maps::create(own)?;
        maps.set_clock(atomic_ahead)?;
        let network = Network::open(None)?;
        let mut links = Vec::with_capacity(interfaces.len());
        for interface in interfaces {
            let link = network.link(interface)?;
            let attach = |hook| {
                let program = program::instructions(end.stamp(hook), hook, link.mac.is_some(), &maps)?;
                Program::load_classifier(&program)?.attach_tcx(link.index, hook)
            };
            let [ingress, egress] = TcxHook::ALL;
            links.push((interface.clone(), [attach(ingress)?, attach(egress)?]));
        }
        Ok(Self { links, maps })
    }

    /// The interfaces at which packets are stamped.
    pub fn interfaces(&self) -> impl Iterator<Item = &str> {
        self.links.iter().map(|(interface, _)| interface.as_str())
    }

    /// By how much atomic time is ahead of the real-time clock from now on: it changes with a leap second.
    ///
    /// # Errors
    /// The kernel refuses to change the map.
    pub fn set_clock(&self, atomic_ahead: Duration) -> Result<(), HostError> {
        self.maps.set_clock(atomic_ahead)
    }

    /// What has been stamped up to now.
    ///
    /// # Errors
    /// The kernel refuses to read the map.
    pub fn counters(&self) -> Result<StampedPackets, HostError> {
        let mut value = [0; 16];
        self.maps.counters.get(&[0; 4], &mut value)?;
        let mut numbers = [0; 2];
        for (number, octets) in numbers.iter_mut().zip(value.as_chunks::<8>().0) {
            *number = u64::from_ne_bytes(*octets);
        }
        let [arrived, departed] = numbers;
        Ok(StampedPackets { arrived, departed })
    }
}
