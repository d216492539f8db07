//! The two ends of a traffic tester: one that gives frames to an interface as directly as a packet socket can, and
//! one that sees every frame that comes, with the kernel's stamp.
//!
//! The sender passes the interface's queue by (`PACKET_QDISC_BYPASS`), so that what it hands over is with the driver
//! when the call returns. The receiver takes the first octets of each frame only ([`SNAP`]), which is where a test
//! frame has what is to be read, and tells how long it was.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use romer_host::HostError;
use romer_host::clock::Realtime;
use romer_host::link::{Mac, Network};

use crate::guard::in_namespace;
use crate::packet::{
    ALL_PROTOCOLS, PACKET_IGNORE_OUTGOING, PACKET_STATISTICS, SOL_PACKET, bind, join, set_buffers,
};
use crate::{PortError, PortName, sys};

/// Octets of a received frame that are kept.
pub const SNAP: usize = 128;
/// Most frames that one call sends or takes in.
pub const TESTER_BURST: usize = 64;

const PACKET_RX_RING: libc::c_int = 5;
const PACKET_VERSION: libc::c_int = 10;
const PACKET_TIMESTAMP: libc::c_int = 17;
const PACKET_QDISC_BYPASS: libc::c_int = 20;
/// Version 2 of the ring's headers.
const TPACKET_V2: i32 = 1;
/// `SOF_TIMESTAMPING_SOFTWARE`.
const SOFTWARE_STAMPS: i32 = 1 << 4;
/// A slot belongs to the user.
const STATUS_USER: u32 = 1;
/// The kernel took a VLAN tag out of the frame.
const STATUS_VLAN: u32 = 1 << 4;
/// Octets of a slot: the kernel's header and address (some 80) and what is kept of the frame.
const SLOT: usize = 256;
/// Octets of a block of slots, which the kernel takes in one piece.
const BLOCK: usize = 1 << 16;
/// Octets of the ring: 131,072 frames, most of a second of the shortest frames at 100 Mbit/s.
const RING: usize = 32 << 20;
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
    /// It can carry frames now: it is up, and so is its other end.
    pub running: bool,
}

/// Looks at an interface that is to be used.
///
/// # Errors
/// There is no such namespace or interface ([`HostError::Missing`]), or it has no link-layer address
/// ([`PortError::NotEthernet`]).
pub fn look_at(name: &PortName) -> Result<TesterLink, PortError> {
    let link = Network::open(name.namespace())?.link(name.interface())?;
    let mac = link.mac.ok_or_else(|| PortError::NotEthernet(name.interface().into()))?;
    Ok(TesterLink { mac, mtu: link.mtu, virtual_line: link.kind.is_some(), running: link.running })
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
        // SAFETY: both are pointers and integers, for which zero is valid.
        let (mut headers, mut vectors): ([libc::mmsghdr; TESTER_BURST], [libc::iovec; TESTER_BURST]) =
            unsafe { std::mem::zeroed() };
        let count = frames.len().min(TESTER_BURST);
        for (index, frame) in frames.iter().take(count).enumerate() {
            vectors[index] = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
            headers[index].msg_hdr.msg_iov = &raw mut vectors[index];
            headers[index].msg_hdr.msg_iovlen = 1;
        }
        let messages = libc::c_uint::try_from(count).unwrap_or(0);
        // SAFETY: the first `messages` headers point to vectors that outlive the call, and they to frames, which a
        // send only reads.
        let answer = unsafe {
            libc::sendmmsg(self.socket.as_raw_fd(), headers.as_mut_ptr(), messages, libc::MSG_DONTWAIT)
        };
        if let Ok(sent) = usize::try_from(answer) {
            return (sent.min(count), None);
        }
        let stopped = match std::io::Error::last_os_error().raw_os_error() {
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
pub struct Came<'a> {
    /// Its first octets, without a VLAN tag that the kernel took out.
    pub octets: &'a [u8],
    /// Octets of the whole of it, without check sequence and without that tag.
    pub length: usize,
    /// The control field of that tag.
    pub tag: Option<u16>,
    /// When the kernel had it from the driver.
    pub stamp: Realtime,
}

/// The receiving end: a ring in memory that the kernel fills (`PACKET_RX_RING`, version 2 of its headers), so that a
/// reader who comes late finds everything, whatever limits the system sets to the buffers of sockets.
#[derive(Debug)]
pub struct TestReceiver {
    socket: OwnedFd,
    ring: NonNull<u8>,
    next: usize,
}

// SAFETY: the mapping belongs to this value alone and goes with it; nothing of it is tied to a thread.
unsafe impl Send for TestReceiver {}

impl TestReceiver {
    /// Opens the receiving end on an interface, which is promiscuous as long as it lives. Frames that the host sends
    /// itself are not seen.
    ///
    /// # Errors
    /// As of [`TestSender::open`]; or the system has no memory for the ring.
    pub fn open(name: &PortName) -> Result<Self, PortError> {
        let link = Network::open(name.namespace())?.link(name.interface())?;
        let socket = raw_socket(name)?;
        let set = |level, name, value: &[u8], operation| {
            sys::set_option(socket.as_fd(), level, name, value, operation)
        };
        let number = |number: i32| number.to_ne_bytes();
        set(SOL_PACKET, PACKET_VERSION, &number(TPACKET_V2), "choose the ring's form on")?;
        set(SOL_PACKET, PACKET_IGNORE_OUTGOING, &number(1), "leave out what the host sends on")?;
        set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &number(1), "ask for stamps on")?;
        set(SOL_PACKET, PACKET_TIMESTAMP, &number(SOFTWARE_STAMPS), "ask for the kernel's stamps on")?;
        let shape = [BLOCK, RING / BLOCK, SLOT, RING / SLOT]
            .map(|number| u32::try_from(number).unwrap_or(0).to_ne_bytes());
        set(SOL_PACKET, PACKET_RX_RING, shape.as_flattened(), "make a ring on")?;
        // SAFETY: the kernel chooses the place of a new mapping; the length is that of the ring just made.
        let mapping = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                RING,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                socket.as_raw_fd(),
                0,
            )
        };
        let ring = NonNull::new(mapping.cast::<u8>()).filter(|_| mapping != libc::MAP_FAILED);
        let ring = ring.ok_or_else(|| sys::last("map the ring of", name.interface()))?;
        let receiver = Self { socket, ring, next: 0 };
        let socket = receiver.socket.as_fd();
        join(socket, link.index)?;
        bind(socket, link.index, ALL_PROTOCOLS)?;
        Ok(receiver)
    }

    /// Gives what has come to `take`, [`TESTER_BURST`] frames at most, in order of arrival; how many there were.
    /// Makes no system call, allocates nothing and does not wait. An interface that is down brings nothing.
    pub fn receive(&mut self, mut take: impl FnMut(Came<'_>)) -> usize {
        for count in 0..TESTER_BURST {
            // SAFETY: `next` is below the number of slots, so that the slot lies within the mapping.
            let slot = unsafe { self.ring.as_ptr().add(self.next * SLOT) };
            // SAFETY: a slot begins with its status, aligned to four; the kernel writes it as one word.
            let status = unsafe { AtomicU32::from_ptr(slot.cast()) };
            let state = status.load(Ordering::Acquire);
            if state & STATUS_USER == 0 {
                return count;
            }
            // SAFETY: while the status gives the slot to the user the kernel does not touch it, and nobody else
            // refers to it until it is given back below.
            let octets = unsafe { std::slice::from_raw_parts(slot, SLOT) };
            if let Some(came) = came(octets, state) {
                take(came);
            }
            status.store(0, Ordering::Release);
            self.next = (self.next + 1) % (RING / SLOT);
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

impl Drop for TestReceiver {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and the borrows of it have ended.
        unsafe { libc::munmap(self.ring.as_ptr().cast(), RING) };
    }
}

/// What a slot holds (`struct tpacket2_hdr`); `None` where the kernel's header contradicts itself.
fn came(slot: &[u8], status: u32) -> Option<Came<'_>> {
    let word = |at: usize| Some(u32::from_ne_bytes(*slot.get(at..)?.first_chunk()?));
    let half = |at: usize| Some(u16::from_ne_bytes(*slot.get(at..)?.first_chunk()?));
    let (length, kept, begin) = (word(4)?, word(8)?, usize::from(half(12)?));
    let nanos = i64::from(word(16)?) * 1_000_000_000 + i64::from(word(20)?);
    let end = begin.checked_add(usize::try_from(kept).ok()?)?.min(begin + SNAP);
    Some(Came {
        octets: slot.get(begin..end)?,
        length: usize::try_from(length).ok()?,
        tag: (status & STATUS_VLAN != 0).then(|| half(24)).flatten(),
        stamp: Realtime::from_nanos(nanos),
    })
}

fn raw_socket(name: &PortName) -> Result<OwnedFd, HostError> {
    in_namespace(name, || {
        // No protocol yet: until it is bound and set up, nothing comes.
        sys::open_socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, 0, "open a packet socket")
    })?
}
