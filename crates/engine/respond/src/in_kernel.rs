//! The reflector in the kernel: which interfaces it is attached to, and what it leaves to user space.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use romer_bpf::XdpMode;
use romer_bpf::reflector::{KernelCounters, KernelReflector, ReflectorRules, ReplyClock};
use romer_endpoint::EndpointError;
use romer_endpoint::circumstances::{clock_error, random};
use romer_endpoint::in_packet::atomic_ahead;
use romer_endpoint::names::with_zone;
use romer_host::{HostError, host_info};
use romer_record::respond::{RespondKernel, RespondKernelInterface};
use romer_session::reflector::ANSWERING_PORTS;
use romer_wire::stamp::ErrorEstimate;

use super::options::RespondOptions;

/// Where T2 and T3 of its replies are taken.
const STAMPS: &str = "program";

/// The reflector in the kernel, and the sessions that it leaves to user space.
#[derive(Debug)]
pub(super) struct InKernel {
    reflector: KernelReflector,
    /// The identifier of each session.
    sessions: Mutex<HashMap<u32, u16>>,
}

impl InKernel {
    /// Attaches it to the interfaces that have `addresses`.
    ///
    /// # Errors
    /// [`EndpointError::Host`] where an address is of no interface, or the kernel refuses the program.
    pub(super) fn start(options: &RespondOptions, addresses: &[SocketAddr]) -> Result<Self, EndpointError> {
        let place = addresses.iter().map(|address| with_zone(*address)).collect::<Vec<_>>().join(", ");
        let refused = |error| refusal(place.clone(), error);
        if options.key.is_some() || options.stateful {
            return Err(refused(HostError::Unsuitable("it has neither a key nor state")));
        }
        let interfaces = interfaces_of(addresses).map_err(refused)?;
        let own = addresses.iter().map(SocketAddr::port);
        let rules = ReflectorRules {
            addresses: addresses.to_vec(),
            allowed: options.allow.clone(),
            refused_ports: ANSWERING_PORTS.iter().copied().chain(own).collect(),
            least_ttl: options.least_ttl,
            rate: options.rate,
            format: options.format,
            secret: [u64::from_ne_bytes(random()), u64::from_ne_bytes(random())],
        };
        let reflector =
            KernelReflector::attach(&rules, reply_clock(clock_error()), &interfaces, &XdpMode::ALL);
        let reflector = reflector.map_err(refused)?;
        Ok(Self { reflector, sessions: Mutex::default() })
    }

    /// States the error of the clock from now on.
    pub(super) fn set_clock(&self, error: ErrorEstimate) {
        // What the kernel refuses stays as it was.
        let _ = self.reflector.set_clock(reply_clock(error));
    }

    /// Leaves the packets with this identifier to user space until the session has ended.
    pub(super) fn open(&self, session: u32, ssid: u16) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.insert(session, ssid);
        // The map has a place for every identifier.
        let _ = self.reflector.leave_to_user_space(ssid, true);
    }

    /// The session has ended.
    pub(super) fn close(&self, session: u32) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ssid) = sessions.remove(&session)
            && !sessions.values().any(|other| *other == ssid)
        {
            // What the kernel refuses to remove is answered by user space.
            let _ = self.reflector.leave_to_user_space(ssid, false);
        }
    }

    /// The interfaces, and the mode of each.
    pub(super) fn interfaces(&self) -> impl Iterator<Item = (&str, XdpMode)> {
        self.reflector.interfaces()
    }

    /// What has been counted up to now; nothing where the kernel does not say.
    pub(super) fn counters(&self) -> KernelCounters {
        self.reflector.counters().unwrap_or_default()
    }

    /// Its part of the document.
    pub(super) fn document(&self) -> RespondKernel {
        let KernelCounters { reflected, octets_reflected, rate_limited, passed } = self.counters();
        let interfaces = self.interfaces().map(|(interface, mode)| RespondKernelInterface {
            interface: interface.into(),
            mode: mode.name().into(),
        });
        RespondKernel {
            interfaces: interfaces.collect(),
            stamps: STAMPS.into(),
            sent: reflected,
            octets: octets_reflected,
            rate_limited,
            passed,
        }
    }
}

/// The interfaces that have these addresses, each once.
///
/// # Errors
/// An address is of no interface ([`HostError::Missing`]), or the kernel refuses to list the interfaces.
pub(super) fn interfaces_of(addresses: &[SocketAddr]) -> Result<Vec<String>, HostError> {
    let mut interfaces = Vec::new();
    for address in addresses {
        let missing =
            || HostError::Missing { what: "interface with the address", name: address.ip().to_string() };
        let interface = host_info::interface_with(address.ip())?.ok_or_else(missing)?;
        if !interfaces.contains(&interface) {
            interfaces.push(interface);
        }
    }
    Ok(interfaces)
}

fn reply_clock(error: ErrorEstimate) -> ReplyClock {
    ReplyClock { error, atomic_ahead: atomic_ahead() }
}

fn refusal(place: String, source: HostError) -> EndpointError {
    EndpointError::host(
        "reflect in the kernel",
        place,
        match &source {
            error if error.is_permission() => {
                "it needs CAP_BPF and CAP_NET_ADMIN of the machine: run as root outside of containers, or omit --in-kernel"
            }
            error if error.errno() == Some(HostError::BUSY) => {
                "another XDP program is on the interface (`ip link show`): end it, or omit --in-kernel"
            }
            HostError::Missing { .. } => "choose an address of an interface with --listen",
            HostError::Unsuitable(_) => "omit --in-kernel",
            _ => "it needs Linux 6.1 and an Ethernet interface: omit --in-kernel",
        },
        source,
    )
}
