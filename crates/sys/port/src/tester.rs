//! The two ends of a traffic tester: one that gives frames to an interface as directly as a packet socket can, and
//! one that sees every frame that comes, with the kernel's stamp.
//!
//! The sender passes the interface's queue by (`PACKET_QDISC_BYPASS`), so that what it hands over is with the driver
//! when the call returns. The receiver takes as many octets of each frame as it is asked for ([`SNAP`] where that is nothing
//! special: there a test frame has what is to be read), and tells how long it was.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use romer_host::HostError;
use romer_host::clock::Realtime;
use romer_host::link::{Mac, Network};

use crate::error::PortError;
use crate::name::PortName;
use crate::packet::{
    ALL_PROTOCOLS, PACKET_IGNORE_OUTGOING, PACKET_STATISTICS, SOL_PACKET, bind, join, set_buffers,
};
use crate::packet_ring::{PacketRing, RingFrame};
use crate::restore_guard::in_namespace;
use crate::sys;

/// Octets of a received frame that are kept at the least.
pub const SNAP: usize = 128;
/// Most frames that one call sends or takes in.
pub const TESTER_BURST: usize = 64;

const PACKET_QDISC_BYPASS: libc::c_int = 20;
/// Octets of the ring: 131,072 frames, most of a second of the shortest frames at 100 Mbit/s.
const RING: usize = 32 << 20;
/// What larger frames have, of which so many are to find room.
const LARGE_RING: usize = 64 << 20;
const LARGE_FRAMES: usize = 32_768;
const SEND_BUFFER: libc::c_int = 8 << 20;

/// What is known of a tester's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TesterLink {
    /// Its link-layer address.
    pub mac: Mac,
    /// Its largest IP packet, octets.
    pub mtu: u32,
    /// It is of software (veth and the like), so that frames take no time on a line.
    pub virtual_line: bool,
    /// It was switched on.
    pub up: bool,
    /// It can carry frames now: it is up, and so is its other end.
    pub running: bool,
    /// Its index, unique in its namespace.
    pub index: u32,
}

/// Looks at an interface that is to be used.
///
/// # Errors
/// There is no such namespace or interface ([`HostError::Missing`]), or it has no link-layer address
/// ([`PortError::NotEthernet`]).
pub fn query_link(name: &PortName) -> Result<TesterLink, PortError> {
    let link = Network::open(name.namespace())?.link(name.interface())?;
    let mac = link.mac.ok_or_else(|| PortError::NotEthernet(name.interface().into()))?;
    Ok(TesterLink {
        mac,
        mtu: link.mtu,
        virtual_line: link.kind.is_some(),
        up: link.up,
        running: link.running,
        index: link.index,
    })
}

/// Why the kernel took fewer frames than it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It has no room now.
    Busy,
    /// The next frame is longer than the interface takes.
    Oversize,
    /// The interface is down or gone.
    Down,
}

/// The sending end.
#[derive(Debug)]
pub struct TestSender {
    socket: OwnedFd,
}

impl TestSender {
    /// Opens the sending end on an interface.
    ///
    /// # Errors
    /// There is no such namespace or interface, or the rights are missing (`EPERM`: it takes `CAP_NET_RAW`).
    pub fn open(name: &PortName) -> Result<Self, PortError> {
        let link = Network::open(name.namespace())?.link(name.interface())?;
        let socket = raw_socket(name)?;
        let on = 1_i32.to_ne_bytes();
        // Kernels without it send by the queue.
        let _ = sys::set_option(socket.as_fd(), SOL_PACKET, PACKET_QDISC_BYPASS, &on, "pass the queue by on");
        set_buffers(socket.as_fd(), 0, SEND_BUFFER)?;
        // Bound to no protocol, it receives nothing.
        bind(socket.as_fd(), link.index, 0)?;
        Ok(Self { socket })
    }

    /// Sends frames from the front of `frames`, [`TESTER_BURST`] at most; how many the interface took, and why not
    /// all of those.
    pub fn send(&mut self, frames: &[&[u8]]) -> (usize, Option<Stopped>) {
        let errno = match sys::send_each(self.socket.as_fd(), frames.iter().take(TESTER_BURST).copied()) {
            Ok(sent) => return (sent, None),
            Err(errno) => errno,
        };
        let stopped = match errno {
            Some(libc::EINTR) => return (0, None),
            Some(libc::EMSGSIZE) => Stopped::Oversize,
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => Stopped::Down,
            _ => Stopped::Busy,
        };
        (0, Some(stopped))
    }
}

/// A frame that came.
#[derive(Clone, Copy, Debug)]
pub struct RawFrame<'a> {
    /// Its octets, as far as they are kept, without a VLAN tag that the kernel took out.
    pub octets: &'a [u8],
    /// Octets of the whole of it, without check sequence and without that tag.
    pub length: usize,
    /// The control field of that tag.
    pub tag: Option<u16>,
    /// When the kernel had it from the driver.
    pub stamp: Realtime,
}

/// The receiving end, by a ring of memory.
#[derive(Debug)]
pub struct TestReceiver {
    // Before the socket, which would take its memory away.
    ring: PacketRing,
    socket: OwnedFd,
}

impl TestReceiver {
    /// Opens the receiving end on an interface, which is promiscuous as long as it lives. Frames that the host sends
    /// itself are not seen.
    ///
    /// # Errors
    /// As of [`TestSender::open`]; or the system has no memory for the ring.
    pub fn open(name: &PortName) -> Result<Self, PortError> {
        Self::open_for(name, SNAP)
    }

    /// The same, where so many octets of each frame are to be seen.
    ///
    /// # Errors
    /// As of [`TestReceiver::open`].
    pub fn open_for(name: &PortName, octets: usize) -> Result<Self, PortError> {
        let link = Network::open(name.namespace())?.link(name.interface())?;
        let socket = raw_socket(name)?;
        let on = 1_i32.to_ne_bytes();
        let set = |level, name, operation| sys::set_option(socket.as_fd(), level, name, &on, operation);
        set(SOL_PACKET, PACKET_IGNORE_OUTGOING, "leave out what the host sends on")?;
        set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, "enable time stamps on")?;
        let octets = octets.max(SNAP);
        let room = RING.max(octets.saturating_mul(LARGE_FRAMES).min(LARGE_RING));
        let ring = PacketRing::make(socket.as_fd(), octets, room, name.interface())?;
        join(socket.as_fd(), link.index)?;
        bind(socket.as_fd(), link.index, ALL_PROTOCOLS)?;
        Ok(Self { ring, socket })
    }

    /// Gives what has come to `take`, [`TESTER_BURST`] frames at most, in order of arrival; how many there were.
    /// Makes no system call, allocates nothing and does not wait. An interface that is down brings nothing.
    pub fn receive(&mut self, mut take: impl FnMut(RawFrame<'_>)) -> usize {
        for count in 0..TESTER_BURST {
            let Some(entry) = self.ring.front() else { return count };
            take(came(&entry));
            self.ring.advance();
        }
        TESTER_BURST
    }

    /// Frames that the kernel dropped because the ring was full, since the last call.
    ///
    /// # Errors
    /// The system does not say.
    pub fn kernel_drops(&mut self) -> Result<u64, PortError> {
        let [_, drops] =
            sys::option(self.socket.as_fd(), SOL_PACKET, PACKET_STATISTICS, "read the drops of")?;
        Ok(u64::from(drops))
    }
}

impl AsFd for TestReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn came<'a>(entry: &RingFrame<'a>) -> RawFrame<'a> {
    RawFrame {
        octets: entry.octets,
        length: entry.length,
        tag: entry.tag.map(|(_, control)| control),
        stamp: entry.stamp,
    }
}

fn raw_socket(name: &PortName) -> Result<OwnedFd, HostError> {
    in_namespace(name, || {
        // No protocol yet: until it is bound and set up, nothing comes.
        sys::open_socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, 0, "open a packet socket")
    })?
}
