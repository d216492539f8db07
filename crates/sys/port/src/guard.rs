//! Taking an interface over, and putting it back whatever happens to this process.
//!
//! Before anything is changed, a small process is forked that knows how things were and waits at a pipe. The pipe
//! closes when the [`HostGuard`] is dropped, or when this process ends in whatever way; then the guard puts the
//! interface back into its bridge, its features as they were, and ends. So there is one way back, and every end
//! goes it. What no process can mend: the guard itself being killed (it is in a session of its own and blocks all
//! signals that can be blocked).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use romer_host::link::Network;
use romer_host::{HostError, netns};

use crate::features::{Features, Restore, name_of, switch_off};
use crate::{PortError, PortName, sys};

/// Descriptor numbers that the guard uses before it closes all but the first two.
const HIGH: libc::c_int = 64;
/// `SIOCBRADDIF`, by which a bridge takes an interface.
const BRIDGE_ADD: libc::c_ulong = 0x89a2;

/// What was found and changed when an interface was taken over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenOver {
    /// The bridge that the interface was taken out of, to be put back at the end.
    pub bridge: Option<String>,
    /// Whether any offload was on that is off now.
    pub offloads: bool,
}

/// Keeps an interface taken over; dropping it puts the interface back, and waits for that.
#[derive(Debug)]
pub struct HostGuard {
    pipe: Option<OwnedFd>,
    process: libc::pid_t,
    taken: TakenOver,
}

/// All that the guard needs, prepared before it is forked.
struct Way {
    restore: Restore,
    interface: libc::ifreq,
    bridge: Option<libc::ifreq>,
}

impl HostGuard {
    /// Takes the interface over: out of its bridge if it is in one, offloads off.
    ///
    /// # Errors
    /// There is no such namespace or interface ([`HostError::Missing`]), it belongs to something other than a bridge
    /// ([`PortError::Occupied`]), the rights are missing (`EPERM`: it takes `CAP_NET_ADMIN`), or the driver goes on
    /// to join frames ([`PortError::Offload`]). The interface is as before then.
    pub fn take_over(name: &PortName) -> Result<Self, PortError> {
        let interface = name.interface();
        let network = Network::open(name.namespace())?;
        let link = network.link(interface)?;
        let bridge = match link.controller {
            None => None,
            Some(index) => Some(controlling_bridge(&network, interface, index)?),
        };
        let control = in_namespace(name, || {
            sys::open_socket(libc::AF_INET, libc::SOCK_DGRAM, 0, "open a control socket")
        })??;
        let before = Features::read(control.as_fd(), interface)?;
        let in_bridge = bridge.as_ref().map(|bridge| {
            let mut request = name_of(bridge);
            request.ifr_ifru.ifru_ifindex = libc::c_int::try_from(link.index).unwrap_or(0);
            request
        });
        let way = Way { restore: before.restore(), interface: name_of(interface), bridge: in_bridge };
        let mut guard = fork_guard(control.as_fd(), way)?;
        // From here on, every way out goes by the guard.
        if bridge.is_some() {
            network.set_bridge(interface, None)?;
        }
        if let Some(offload) = switch_off(control.as_fd(), interface)? {
            return Err(PortError::Offload { interface: interface.into(), offload });
        }
        let offloads = Features::read(control.as_fd(), interface)? != before;
        guard.taken = TakenOver { bridge, offloads };
        Ok(guard)
    }

    /// What was changed.
    pub const fn taken(&self) -> &TakenOver {
        &self.taken
    }
}

impl Drop for HostGuard {
    fn drop(&mut self) {
        drop(self.pipe.take());
        let mut status = 0;
        loop {
            // SAFETY: the call writes one integer into `status`.
            let answer = unsafe { libc::waitpid(self.process, &raw mut status, 0) };
            if answer >= 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                break;
            }
        }
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

fn fork_guard(control: BorrowedFd<'_>, mut way: Way) -> Result<HostGuard, PortError> {
    let mut ends = [0; 2];
    // SAFETY: the call writes two integers into `ends`.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(sys::last("make a pipe", "").into());
    }
    // SAFETY: both descriptors were opened just now and nobody else has them.
    let [read, write] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    // SAFETY: the child makes system calls over memory prepared before, and never returns.
    let process = unsafe { libc::fork() };
    match process {
        0 => watch(read.as_raw_fd(), control.as_raw_fd(), &mut way),
        1.. => Ok(HostGuard { pipe: Some(write), process, taken: TakenOver::default() }),
        _ => Err(sys::last("fork", "a guard of the interface").into()),
    }
}

/// The guard's whole life. Makes system calls only: it runs in a copy of a process that may have had threads.
fn watch(pipe: RawFd, control: RawFd, way: &mut Way) -> ! {
    let block_all = block_signals();
    let kept = [pipe, control].map(|descriptor| {
        // SAFETY: the call takes plain numbers.
        unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, HIGH) }
    });
    for (number, descriptor) in [0, 1].into_iter().zip(kept) {
        // SAFETY: the call takes plain numbers; what stood at the number is not used any more.
        unsafe { libc::dup2(descriptor, number) };
    }
    // Whoever waits for the end of our output must not wait for this process, nor this one for another guard.
    // SAFETY: the call takes plain numbers; nothing uses what it closes.
    unsafe { libc::syscall(libc::SYS_close_range, 2, libc::c_uint::MAX, 0) };
    // SAFETY: the call takes nothing.
    unsafe { libc::setsid() };
    // SAFETY: the path is a constant string.
    unsafe { libc::chdir(c"/".as_ptr()) };
    // SAFETY: the name is a constant string.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"romer-guard".as_ptr(), 0, 0, 0) };
    if block_all {
        wait_for_end();
    }
    put_back(way);
    // SAFETY: the call ends the process without running anything of it.
    unsafe { libc::_exit(0) }
}

fn block_signals() -> bool {
    // SAFETY: a signal set is an array of integers, for which zero is valid.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the call fills `all`.
    unsafe { libc::sigfillset(&raw mut all) };
    // SAFETY: the call reads `all`.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut()) == 0 }
}

/// Returns when the other end of the pipe at number 0 is closed.
fn wait_for_end() {
    let mut octet = 0_u8;
    // SAFETY: the call writes at most one octet into `octet`.
    while unsafe { libc::read(0, (&raw mut octet).cast(), 1) } > 0 {}
}

fn put_back(way: &mut Way) {
    if let Some(bridge) = &mut way.bridge {
        // SAFETY: the request is complete and outlives the call. It fails where the interface is in the bridge
        // already or one of both is no more, and then there is nothing to do.
        unsafe { libc::ioctl(1, BRIDGE_ADD, &raw mut *bridge) };
    }
    let _ = way.restore.apply(1, &way.interface);
}
