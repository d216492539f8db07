//! Programs of this host's kernel that write time stamps into requests and replies.

use std::net::SocketAddr;

use romer_bpf::stamper::{PacketStamper, StampedPackets, StampingEnd};
use romer_endpoint::EndpointError;
use romer_endpoint::in_packet::{atomic_ahead, refusal};
use romer_endpoint::names::with_zone;
use romer_record::respond::RespondInPacket;

use super::in_kernel::interfaces_of;

/// Where the stamps are taken.
const STAMPS: &str = "program";

/// The programs at work.
#[derive(Debug)]
pub(super) struct InPacket {
    stamper: PacketStamper,
    /// What is stamped.
    addresses: Vec<SocketAddr>,
}

impl InPacket {
    /// Attaches the programs to the interfaces that have `addresses`, for these and for `ports` of the same hosts.
    ///
    /// # Errors
    /// [`EndpointError::Host`]: an address is of no interface, or the kernel refuses the programs.
    pub(super) fn start(addresses: &[SocketAddr], ports: &[u16]) -> Result<Self, EndpointError> {
        let place = addresses.iter().map(|address| with_zone(*address)).collect::<Vec<_>>().join(", ");
        let interfaces = interfaces_of(addresses).map_err(|error| refusal(place.clone(), error))?;
        let at = |port: u16| addresses.iter().map(move |address| SocketAddr::new(address.ip(), port));
        let others = ports.iter().flat_map(|port| at(*port));
        let mut all: Vec<SocketAddr> = addresses.iter().copied().chain(others).collect();
        all.sort_unstable();
        all.dedup();
        let stamper = PacketStamper::attach(StampingEnd::Responder, &all, atomic_ahead(), &interfaces);
        Ok(Self { stamper: stamper.map_err(|error| refusal(place, error))?, addresses: all })
    }

    /// Follows the real-time clock over a leap second.
    pub(super) fn set_clock(&self) {
        // What the kernel refuses stays as it was.
        let _ = self.stamper.set_clock(atomic_ahead());
    }

    /// The interfaces at which packets are stamped.
    pub(super) fn interfaces(&self) -> impl Iterator<Item = &str> {
        self.stamper.interfaces()
    }

    /// Its part of the document; without counts where the kernel does not say.
    pub(super) fn document(&self) -> RespondInPacket {
        let StampedPackets { arrived, departed } = self.stamper.counters().unwrap_or_default();
        RespondInPacket {
            interfaces: self.interfaces().map(Into::into).collect(),
            addresses: self.addresses.iter().map(ToString::to_string).collect(),
            stamps: STAMPS.into(),
            requests: arrived,
            replies: departed,
        }
    }
}
