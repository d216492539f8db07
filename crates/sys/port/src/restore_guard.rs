//! Taking an interface over, and putting it back whatever happens to this process.
//!
//! Before anything is changed, a [`WatchdogProcess`] is forked that knows how things were. When the [`HostGuard`] is dropped, or
//! this process ends in whatever way, it puts the interface back into its bridge, what was set of it as a port there
//! (which the bridge forgets when the interface leaves), its number there, and its features as they were. It finds the
//! interface under another name and in another network namespace, too.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use romer_host::bridge_port::{PortSettings, route_socket};
use romer_host::identity::{Identity, name_at};
use romer_host::link::Network;
use romer_host::watchdog_process::WatchdogProcess;
use romer_host::{HostError, netns};

use crate::bridge_port_number::BridgePortNumber;
use crate::error::PortError;
use crate::features::{Features, Restore, name_of, switch_off};
use crate::name::PortName;
use crate::sys;

/// `SIOCBRADDIF`, by which a bridge takes an interface.
const BRIDGE_ADD: libc::c_ulong = 0x89a2;

/// What was found and changed when an interface was taken over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenOver {
    /// The bridge that the interface was taken out of, to be put back at the end.
    pub bridge: Option<String>,
    /// The offloads that were on and are off now, by the names that `ethtool -K` has for them.
    pub offloads: Vec<&'static str>,
}

/// What could not be put back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotRestored {
    /// The interface is not in its bridge.
    pub bridge: bool,
    /// Its offloads are off.
    pub offloads: bool,
    /// It is in another network namespace.
    pub namespace: bool,
}

impl NotRestored {
    const BRIDGE: u8 = 1;
    const OFFLOADS: u8 = 2;
    const NAMESPACE: u8 = 4;

    /// From what the guard says; one that was killed has put nothing back.
    const fn from_answer(answer: Option<u8>, taken: &TakenOver) -> Self {
        let said = match answer {
            Some(said) => said,
            None => Self::BRIDGE | Self::OFFLOADS,
        };
        Self {
            bridge: said & Self::BRIDGE != 0 && taken.bridge.is_some(),
            offloads: said & Self::OFFLOADS != 0 && !taken.offloads.is_empty(),
            namespace: said & Self::NAMESPACE != 0,
        }
    }
}

/// Keeps an interface taken over; dropping it puts the interface back, and waits for that.
#[derive(Debug)]
pub struct HostGuard {
    guardian: WatchdogProcess,
    taken: TakenOver,
}

/// Keeps two interfaces taken over; dropping it puts both back, and waits for that. What one of them waits for, the other
/// does: two ports of one bridge come back in the order of their numbers.
#[derive(Debug)]
pub struct HostGuards([HostGuard; 2]);

impl HostGuards {
    /// Both together.
    pub const fn new(guards: [HostGuard; 2]) -> Self {
        Self(guards)
    }

    /// What was changed.
    pub fn taken(&self) -> [&TakenOver; 2] {
        self.0.each_ref().map(HostGuard::taken)
    }

    /// Puts both back and waits for that; what could not be. To be called once.
    pub fn restore(&mut self) -> [NotRestored; 2] {
        self.begin();
        self.0.each_mut().map(HostGuard::finish)
    }

    /// None is waited for before all have begun.
    fn begin(&mut self) {
        for guard in &mut self.0 {
            guard.guardian.begin();
        }
    }
}

impl Drop for HostGuards {
    fn drop(&mut self) {
        self.begin();
    }
}

/// All that the guard needs, prepared before it is forked.
struct RestorePlan {
    restore: Restore,
    identity: Identity,
    bridge: Option<Membership>,
}

/// What an interface was in its bridge.
struct Membership {
    /// Of the bridge.
    index: libc::c_int,
    /// With which the bridge takes the interface.
    request: libc::ifreq,
    settings: PortSettings,
    seat: Option<BridgePortNumber>,
}

/// The sockets of the guard, all of the port's namespace.
struct Sockets {
    control: OwnedFd,
    route: OwnedFd,
    /// While somebody has it, nobody else takes the interface.
    mark: OwnedFd,
}

impl Sockets {
    /// In this thread's namespace; `None` where another process has the interface of that index, and keeps it.
    fn open(index: u32) -> Result<Option<Self>, HostError> {
        /// How long a guard may take that is putting things back.
        const RESTORE_TIMEOUT: Duration = Duration::from_millis(500);
        let give_up = Instant::now() + RESTORE_TIMEOUT;
        let mark = loop {
            match sys::mark(&format!("romer-port-{index}"))? {
                Some(mark) => break mark,
                None if Instant::now() < give_up => std::thread::sleep(RESTORE_TIMEOUT / 50),
                None => return Ok(None),
            }
        };
        let control = sys::open_socket(libc::AF_INET, libc::SOCK_DGRAM, 0, "open a control socket")?;
        Ok(Some(Self { control, route: route_socket()?, mark }))
    }
}

impl HostGuard {
    /// Takes the interface over: out of its bridge if it is in one, offloads off.
    ///
    /// # Errors
    /// There is no such namespace or interface ([`HostError::Missing`]), it belongs to something other than a bridge
    /// ([`PortError::Occupied`]), another romer has it ([`PortError::InUse`]), the rights are missing (`EPERM`: it takes
    /// `CAP_NET_ADMIN`), or the driver goes on to join frames ([`PortError::Offload`]). The interface is as before then.
    pub fn take_over(name: &PortName) -> Result<Self, PortError> {
        let interface = name.interface();
        let network = Network::open(name.namespace())?;
        // Whoever had it before has put it back once we have the mark: only then is how it stands how it was.
        let index = network.link(interface)?.index;
        let sockets = in_namespace(name, || Sockets::open(index))??;
        let Some(sockets) = sockets else { return Err(PortError::InUse(interface.into())) };
        let link = network.link(interface)?;
        let bridge = match link.controller {
            None => None,
            Some(index) => Some((controlling_bridge(&network, interface, index)?, index)),
        };
        let control = sockets.control.as_fd();
        let before = Features::read(control, interface)?;
        let mut in_bridge = None;
        if let Some((bridge, index)) = &bridge {
            let mut request = name_of(bridge);
            request.ifr_ifru.ifru_ifindex = libc::c_int::try_from(link.index).unwrap_or(0);
            in_bridge = Some(Membership {
                index: libc::c_int::try_from(*index).unwrap_or(0),
                request,
                settings: PortSettings::read(&sockets.route, link.index, *index)?,
                seat: BridgePortNumber::query(control.as_raw_fd(), bridge, link.index),
            });
        }
        let bridge = bridge.map(|(name, _)| name);
        let identity = Identity::from_socket(control, interface)?;
        let way = RestorePlan { restore: before.restore(), identity, bridge: in_bridge };
        let mut guard = guard(&sockets, way)?;
        // From here on, every way out goes by the guard.
        if bridge.is_some() {
            network.set_bridge(interface, None)?;
        }
        let switched_off = switch_off(control, interface)?;
        if let Some(offload) = switched_off.left {
            return Err(PortError::Offload { interface: interface.into(), offload });
        }
        guard.taken = TakenOver { bridge, offloads: switched_off.names };
        Ok(guard)
    }

    /// What was changed.
    pub const fn taken(&self) -> &TakenOver {
        &self.taken
    }

    fn finish(&mut self) -> NotRestored {
        NotRestored::from_answer(self.guardian.finish(), &self.taken)
    }
}

/// Runs `work` in the port's namespace.
pub(crate) fn in_namespace<T: Send>(
    name: &PortName,
    work: impl FnOnce() -> T + Send,
) -> Result<T, HostError> {
    match name.namespace() {
        Some(namespace) => netns::with_namespace(namespace, work),
        None => Ok(work()),
    }
}

fn controlling_bridge(network: &Network, interface: &str, index: u32) -> Result<String, PortError> {
    let links = network.links()?;
    let controller = links.into_iter().find(|link| link.index == index);
    match controller {
        Some(link) if link.kind.as_deref() == Some("bridge") => Ok(link.name),
        Some(link) => Err(PortError::Occupied {
            interface: interface.into(),
            kind: link.kind.unwrap_or_else(|| "link".into()),
            controller: link.name,
        }),
        None => Err(HostError::Missing { what: "bridge of", name: interface.into() }.into()),
    }
}

/// Forks the guard, which knows the `way` back.
fn guard(sockets: &Sockets, mut way: RestorePlan) -> Result<HostGuard, PortError> {
    let kept = [sockets.control.as_fd(), sockets.route.as_fd(), sockets.mark.as_fd()];
    let guardian = WatchdogProcess::over(kept, |kept| put_back(kept, &mut way))?;
    Ok(HostGuard { guardian, taken: TakenOver::default() })
}

/// Makes system calls only: it runs in a copy of a process that may have had threads. What could not be put back.
fn put_back([control, route, _]: [RawFd; 3], way: &mut RestorePlan) -> u8 {
    let mut left = 0;
    let is_here = way.identity.named_here(control).is_some();
    if let Some(membership) = &mut way.bridge
        && !(is_here && membership.enter(control, route))
    {
        left |= NotRestored::BRIDGE;
    }
    let RestorePlan { restore, identity, .. } = way;
    let mut is_found = false;
    let is_restored = identity.reach(control, |socket, name| {
        is_found = true;
        restore.apply(socket, name).is_ok()
    });
    if !is_restored {
        left |= NotRestored::OFFLOADS;
    }
    if is_found && !is_here {
        left |= NotRestored::NAMESPACE;
    }
    left
}

impl Membership {
    /// Puts the interface back into its bridge, whatever that is called now; whether it is there.
    fn enter(&mut self, control: RawFd, route: RawFd) -> bool {
        if let Some(bridge) = name_at(control, self.index) {
            self.request.ifr_name = bridge.ifr_name;
        }
        if let Some(seat) = &mut self.seat {
            seat.bridge.ifr_name = self.request.ifr_name;
            seat.wait(control);
        }
        // SAFETY: the request is complete and outlives the call.
        let answer = unsafe { libc::ioctl(control, BRIDGE_ADD, &raw mut self.request) };
        // Somebody may have put it into a bridge before.
        let is_there = answer >= 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EBUSY);
        self.settings.apply(route);
        is_there
    }
}
