//! The number that an interface has as a port of its bridge.
//!
//! A bridge gives the least number that is free, and spanning tree breaks ties by it. Of two interfaces that were taken
//! out of one bridge the one with the less number must be back first, so the guard of the other waits for that.

use std::os::fd::RawFd;

use romer_host::ethtool::name_of;

/// `SIOCDEVPRIVATE`, by which a bridge answers what its first tools asked.
const ASK: libc::c_ulong = 0x89f0;
/// `BRCTL_GET_PORT_LIST`: which interfaces its ports are, by their numbers.
const PORTS: libc::c_ulong = 7;
/// `BR_MAX_PORTS`; numbers begin at 1.
const MAX_BRIDGE_PORTS: usize = 1024;
/// How often it is looked whether all less numbers are taken, and how long there is between: 0.3 s at the most.
const LOOKS: u32 = 60;
static BETWEEN: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 5_000_000 };

/// An interface's place in its bridge.
pub(crate) struct BridgePortNumber {
    /// The bridge's name, which may have changed when it is waited for.
    pub(crate) bridge: libc::ifreq,
    index: libc::c_int,
    number: usize,
    ports: [libc::c_int; MAX_BRIDGE_PORTS],
}

impl BridgePortNumber {
    /// Of the interface with this index, which is in `bridge`; `None` where the kernel does not tell.
    pub(crate) fn query(control: RawFd, bridge: &str, index: u32) -> Option<Self> {
        let index = libc::c_int::try_from(index).ok()?;
        let mut seat = Self { bridge: name_of(bridge), index, number: 0, ports: [0; MAX_BRIDGE_PORTS] };
        seat.read_ports(control)?;
        seat.number = seat.ports.iter().position(|port| *port == index)?;
        Some(seat)
    }

    /// Waits until the bridge would give the number that the interface had, or nobody takes the less ones. Makes system
    /// calls only.
    pub(crate) fn wait(&mut self, control: RawFd) {
        for _ in 0..LOOKS {
            if self.read_ports(control).is_none() || self.ports.contains(&self.index) || self.is_next() {
                return;
            }
            // SAFETY: the call reads a constant, and writes nothing where it is given no place for the rest.
            unsafe { libc::nanosleep(&raw const BETWEEN, std::ptr::null_mut()) };
        }
    }

    /// Whether no less number is free.
    fn is_next(&self) -> bool {
        self.ports.iter().take(self.number).skip(1).all(|port| *port != 0)
    }

    /// Reads the bridge's ports.
    fn read_ports(&mut self, control: RawFd) -> Option<()> {
        self.ports.fill(0);
        let ports = self.ports.as_mut_ptr().expose_provenance() as libc::c_ulong;
        let mut ask: [libc::c_ulong; 4] = [PORTS, ports, MAX_BRIDGE_PORTS as libc::c_ulong, 0];
        self.bridge.ifr_ifru.ifru_data = (&raw mut ask).cast();
        // SAFETY: the request names the bridge and points at the question, and that at room for as many numbers as it
        // says; both outlive the call.
        (unsafe { libc::ioctl(control, ASK, &raw mut self.bridge) } >= 0).then_some(())
    }
}
