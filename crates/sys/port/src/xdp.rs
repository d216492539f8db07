//! Ports over XDP sockets (`AF_XDP`): frames are taken before the kernel's stack, with the time at which the program
//! in the kernel had them, and the arena is the memory that socket and kernel share.
//!
//! The kernel copies between the interface's buffers and the arena (`XDP_COPY`), so that every driver will do. What
//! cannot be seen here, unlike by a packet socket: a VLAN tag that another interface of this machine left beside the
//! frame for its driver to put in, as virtual links do; and a checksum left to the driver is known only by its look
//! (see [`crate::offload::finish_hidden`]).

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use romer_bpf::{Link, XdpMode};
use romer_host::HostError;
use romer_host::clock::monotonic_now;
use romer_units::{Duration, Monotonic, Timestamp};

use crate::arena::{Arena, Slot, XDP_HEADROOM as HEADROOM};
use crate::bpf::{Loaded, STAMP};
use crate::error::PortError;
use crate::name::PortName;
use crate::offload::finish_hidden;
use crate::packet::{InterfaceMonitor, query_link};
use crate::port::{ArrivalClock, BURST, Frame, LinkState, Port, Received, Refusal, Sent};
use crate::restore_guard::in_namespace;
use crate::rings::{Ring, RingLayout};
use crate::sys;

/// `SOL_XDP`.
const SOL_XDP: libc::c_int = 283;
/// Octets around the largest IP packet: the header and three tags.
const AROUND: usize = 14 + 3 * 4;
/// The largest slot that the kernel takes: a page.
const LARGEST_SLOT: usize = 4_096;
/// The largest MTU whose frames fit into that.
const LARGEST_MTU: usize = LARGEST_SLOT - HEADROOM - AROUND;
/// Entries of the rings by which frames come, and of those by which slots go back and forth.
const RECEIVE_RING: u32 = 4_096;
/// Entries of the ring by which frames go.
const SEND_RING: u32 = 256;

/// A port over an XDP socket.
#[derive(Debug)]
pub struct XdpPort {
    /// Ends first, so that nothing comes any more.
    _program: Link,
    socket: OwnedFd,
    eye: InterfaceMonitor,
    mode: XdpMode,
    /// As it was when the interface was last asked how it is.
    mtu: Cell<u32>,
    fill: Ring<u64>,
    completion: Ring<u64>,
    receive: Ring<libc::xdp_desc>,
    send: Ring<libc::xdp_desc>,
    /// The slots that the kernel has, by their number: to receive into, or to be sent.
    in_kernel: Vec<Option<Slot>>,
    /// Slots to receive into that the kernel is to have.
    wanted: u32,
    slot_octets: usize,
    arrivals: ArrivalClock,
    drops: u64,
}

impl XdpPort {
    /// Opens a port on the interface, whose frames come from and go into slots of `arena`.
    ///
    /// # Errors
    /// There is no such namespace or interface ([`HostError::Missing`]), it carries no Ethernet frames
    /// ([`PortError::NotEthernet`]), it has several queues or frames longer than a page ([`PortError::NoXdp`]), the
    /// rights are missing (`EPERM`: it takes `CAP_NET_ADMIN`, `CAP_NET_RAW` and `CAP_BPF` of the machine, not of a
    /// user namespace), the driver has no such mode (`EOPNOTSUPP`), or another program is there (`EBUSY`).
    pub fn open(name: &PortName, arena: &mut Arena, mode: XdpMode) -> Result<Self, PortError> {
        let (link, control) = query_link(name)?;
        let refused = |why| PortError::NoXdp { interface: name.interface().into(), why };
        let slot_octets = arena.slot_octets();
        let longest = usize::try_from(link.mtu).unwrap_or(usize::MAX).saturating_add(AROUND + HEADROOM);
        if slot_octets > LARGEST_SLOT || !slot_octets.is_power_of_two() || longest > slot_octets {
            return Err(refused(Cow::Owned(format!(
                "its MTU is {}, and up to {LARGEST_MTU} fits; set it lower, or use packet sockets (--data-plane packet)",
                link.mtu
            ))));
        }
        if crate::features::queues(control.as_fd(), name.interface()) > 1 {
            return Err(refused(Cow::Borrowed(
                "it has several receive queues; use packet sockets (--data-plane packet)",
            )));
        }
        let (socket, eye) = in_namespace(name, || {
            let socket = sys::open_socket(libc::AF_XDP, libc::SOCK_RAW, 0, "open an XDP socket")?;
            Ok::<_, PortError>((socket, InterfaceMonitor::open(name.interface(), link.index, control)?))
        })??;
        // Before memory is lent, of which an ordinary user has too little: what is missing are rights.
        let loaded = Loaded::load()?;
        let rings = Rings::set_up(socket.as_fd(), arena)?;
        let share = u32::try_from(arena.free() / 4).unwrap_or(u32::MAX);
        let wanted = share.min(RECEIVE_RING);
        if wanted < u32::try_from(BURST).unwrap_or(u32::MAX) {
            return Err(HostError::Unsuitable("an arena with fewer slots than four bursts").into());
        }
        bind_when_free(socket.as_fd(), link.index)?;
        let program = in_namespace(name, || loaded.attach(link.index, mode, socket.as_fd()))??;
        let mut port = Self {
            _program: program,
            socket,
            eye,
            mode,
            mtu: Cell::new(link.mtu),
            fill: rings.fill,
            completion: rings.completion,
            receive: rings.receive,
            send: rings.send,
            in_kernel: (0..arena.slots()).map(|_| None).collect(),
            wanted,
            slot_octets,
            arrivals: ArrivalClock::new(),
            drops: 0,
        };
        port.refill(arena);
        Ok(port)
    }

    /// Whether every frame comes by an XDP socket as its wire would see it. Another interface of this machine may
    /// leave a VLAN tag beside the frame for a virtual link to carry, and here it would be lost.
    ///
    /// # Errors
    /// There is no such namespace or interface ([`HostError::Missing`]).
    pub fn sees_tags(name: &PortName) -> Result<bool, PortError> {
        let (link, _) = query_link(name)?;
        Ok(link.kind.as_deref() != Some("veth"))
    }

    /// Closes the port; the slots that were to receive come back to the arena.
    pub fn close(mut self, arena: &mut Arena) {
        self.reclaim(arena);
        let Self { _program: program, socket, in_kernel, .. } = self;
        drop((program, socket));
        for slot in in_kernel.into_iter().flatten() {
            arena.give_back(slot);
        }
    }

    /// Where the program is at work.
    pub const fn mode(&self) -> XdpMode {
        self.mode
    }

    fn address(&self, slot: &Slot) -> u64 {
        u64::from(slot.number()) * u64::try_from(self.slot_octets).unwrap_or(0)
    }

    /// Number of the slot that an address lies in, and the place in it.
    fn place(&self, address: u64) -> (usize, usize) {
        let address = usize::try_from(address).unwrap_or(usize::MAX);
        (address / self.slot_octets, address % self.slot_octets)
    }

    /// Gives the kernel slots to receive into, as many as it is to have and the arena allows.
    fn refill(&mut self, arena: &mut Arena) {
        let begin = self.fill.produced();
        let mut end = begin;
        let in_rings = self.fill.waiting() + self.receive.waiting();
        for _ in in_rings..self.wanted.max(in_rings) {
            let Some(slot) = arena.take() else { break };
            // What stands there from before is no stamp.
            arena.slot_mut(&slot)[HEADROOM - STAMP..HEADROOM].fill(0);
            self.fill.write(end, self.address(&slot));
            end = end.wrapping_add(1);
            self.store_slot(slot);
        }
        if end != begin {
            self.fill.produce_to(end);
        }
    }

    fn store_slot(&mut self, slot: Slot) {
        let number = usize::try_from(slot.number()).unwrap_or(usize::MAX);
        if let Some(place) = self.in_kernel.get_mut(number) {
            *place = Some(slot);
        }
    }

    /// The frame of a descriptor, whose slot is ours again.
    fn frame(
        &mut self,
        arena: &mut Arena,
        said: libc::xdp_desc,
        now: &mut Timestamp<Monotonic>,
    ) -> Option<Frame> {
        let (number, start) = self.place(said.addr);
        let slot = self.in_kernel.get_mut(number)?.take()?;
        let length = usize::try_from(said.len).unwrap_or(usize::MAX);
        let bytes = arena.slot_mut(&slot);
        let Some(octets) = bytes.get_mut(start..start.saturating_add(length)) else {
            arena.give_back(slot);
            return None;
        };
        finish_hidden(octets);
        let stamp = start.checked_sub(STAMP).and_then(|begin| bytes.get(begin..start)?.try_into().ok());
        let stamp = stamp.map_or(0, i64::from_ne_bytes);
        let age =
            |now: Timestamp<Monotonic>| (now, Duration::from_nanos(now.as_nanos().saturating_sub(stamp)));
        let arrival = self.arrivals.next(now, age, monotonic_now);
        Some(Frame { slot, start, length, arrival })
    }

    /// Has the kernel send what stands in the ring; what it answers.
    fn kick(&self) -> Option<libc::c_int> {
        // SAFETY: the call takes no memory of ours but what the rings name.
        let answer = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                std::ptr::null(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null(),
                0,
            )
        };
        if answer >= 0 { None } else { std::io::Error::last_os_error().raw_os_error() }
    }

    /// Has the kernel send what stands between two positions of the ring; what it answers at last, and how many it
    /// took. It stops at each entry that was withdrawn, so that it must be asked as often as there may be such.
    fn kick_through(&self, begin: u32, end: u32) -> (Option<libc::c_int>, u32) {
        let mut error = None;
        let mut taken = 0;
        for _ in 0..=SEND_RING {
            error = self.kick();
            let consumed = self.send.consumed();
            taken = consumed.wrapping_sub(begin).cast_signed().max(0).cast_unsigned();
            if error.is_some() || consumed == end {
                break;
            }
        }
        (error, taken)
    }

    /// Puts up to a burst of frames into the ring and has them sent.
    fn send_burst(&mut self, arena: &mut Arena, frames: &mut VecDeque<Frame>) -> Sent {
        let most = BURST.min(frames.len());
        let wanted = u32::try_from(most).unwrap_or(0);
        if self.send.room() < wanted {
            // What was withdrawn is still there.
            self.kick();
        }
        if self.send.room() < wanted {
            return Sent { frames: 0, refused: Some(Refusal::Busy) };
        }
        let begin = self.send.produced();
        let mut end = begin;
        let mut refused = None;
        for frame in frames.iter().take(most) {
            if frame.length > longest_frame(arena.octets_of(frame), self.mtu.get()) {
                refused = Some(Refusal::Oversize);
                break;
            }
            let (start, length) = (u64::try_from(frame.start), u32::try_from(frame.length));
            let address = self.address(&frame.slot) + start.unwrap_or(0);
            self.send.write(end, libc::xdp_desc { addr: address, len: length.unwrap_or(0), options: 0 });
            end = end.wrapping_add(1);
        }
        if end == begin {
            return Sent { frames: 0, refused };
        }
        self.send.produce_to(end);
        let (error, taken) = self.kick_through(begin, end);
        self.withdraw(begin.wrapping_add(taken), end);
        // The kernel lets go of a frame that the interface dropped, and says so at the end.
        let dropped = error == Some(libc::EBUSY);
        let sent = taken.saturating_sub(u32::from(dropped));
        for frame in frames.drain(..usize::try_from(sent).unwrap_or(0)) {
            self.store_slot(frame.slot);
        }
        let complete = begin.wrapping_add(taken) == end;
        let refused = match error {
            None | Some(libc::EINTR) if complete => refused,
            None | Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => Some(Refusal::Busy),
            Some(_) => Some(Refusal::Undeliverable),
        };
        Sent { frames: usize::try_from(sent).unwrap_or(0), refused }
    }

    /// Makes the entries between two positions into what the kernel passes over.
    fn withdraw(&mut self, from: u32, to: u32) {
        let nothing = libc::xdp_desc { addr: u64::MAX, len: 0, options: u32::MAX };
        let mut position = from;
        while position != to {
            self.send.write(position, nothing);
            position = position.wrapping_add(1);
        }
    }
}

/// What the interface takes, as a packet socket would: a tag of the customer's kind comes on top.
fn longest_frame(octets: &[u8], mtu: u32) -> usize {
    const HEADER: usize = 14;
    const TAG: usize = 4;
    let is_tagged = octets.get(12..14) == Some(&[0x81, 0]);
    let mtu = usize::try_from(mtu).unwrap_or(usize::MAX);
    mtu.saturating_add(HEADER + if is_tagged { TAG } else { 0 })
}

impl AsFd for XdpPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Port for XdpPort {
    fn rx_burst(&mut self, arena: &mut Arena, frames: &mut Vec<Frame>) -> Result<Received, PortError> {
        let mut received = Received::default();
        let begin = self.receive.consumed();
        let waiting = self.receive.waiting();
        let count = waiting.min(u32::try_from(BURST).unwrap_or(0));
        received.more = waiting > count;
        if count > 0 {
            let mut now = monotonic_now();
            for position in 0..count {
                let said = self.receive.read(begin.wrapping_add(position));
                if let Some(frame) = self.frame(arena, said, &mut now) {
                    received.frames += 1;
                    frames.push(frame);
                }
            }
            self.receive.consume_to(begin.wrapping_add(count));
        }
        self.refill(arena);
        Ok(received)
    }

    fn tx_burst(&mut self, arena: &mut Arena, frames: &mut VecDeque<Frame>) -> Sent {
        let mut sent = Sent::default();
        while !frames.is_empty() && sent.refused.is_none() {
            let burst = self.send_burst(arena, frames);
            sent.frames += burst.frames;
            sent.refused = burst.refused;
            self.reclaim(arena);
        }
        sent
    }

    fn reclaim(&mut self, arena: &mut Arena) -> usize {
        let (begin, count) = (self.completion.consumed(), self.completion.waiting());
        let mut reclaimed = 0;
        for position in 0..count {
            let (number, _) = self.place(self.completion.read(begin.wrapping_add(position)));
            // A frame that was dropped is its owner's still.
            if let Some(slot) = self.in_kernel.get_mut(number).and_then(Option::take) {
                arena.give_back(slot);
                reclaimed += 1;
            }
        }
        self.completion.consume_to(begin.wrapping_add(count));
        reclaimed
    }

    fn kernel_drops(&mut self) -> Result<u64, PortError> {
        const WORDS: usize = size_of::<libc::xdp_statistics>() / 4;
        let words: [u32; WORDS] =
            sys::option(self.socket.as_fd(), SOL_XDP, libc::XDP_STATISTICS, "read the drops of")?;
        let count = |index: usize| u64::from(words[2 * index]) | u64::from(words[2 * index + 1]) << 32;
        // Dropped for want of a slot or as too long; and for want of room in the ring.
        let drops = count(0) + count(3);
        let fresh = drops.saturating_sub(self.drops);
        self.drops = drops;
        Ok(fresh)
    }

    fn link(&self) -> LinkState {
        if let Some(mtu) = self.eye.mtu() {
            self.mtu.set(mtu);
        }
        self.eye.link()
    }

    fn carries(&self) -> bool {
        self.eye.carries()
    }

    fn mtu(&self) -> u32 {
        self.mtu.get()
    }

    fn data_plane(&self) -> &'static str {
        self.mode.name()
    }
}

struct Rings {
    fill: Ring<u64>,
    completion: Ring<u64>,
    receive: Ring<libc::xdp_desc>,
    send: Ring<libc::xdp_desc>,
}

impl Rings {
    /// Lends the arena to the socket and makes its rings.
    fn set_up(socket: BorrowedFd<'_>, arena: &Arena) -> Result<Self, PortError> {
        let mut lent = [0; 32];
        lent[..8].copy_from_slice(&arena.address().to_ne_bytes());
        lent[8..16].copy_from_slice(&u64::try_from(arena.octets()).unwrap_or(0).to_ne_bytes());
        lent[16..20].copy_from_slice(&u32::try_from(arena.slot_octets()).unwrap_or(0).to_ne_bytes());
        sys::set_option(socket, SOL_XDP, libc::XDP_UMEM_REG, &lent, "lend memory to")?;
        let rings = [
            (libc::XDP_UMEM_FILL_RING, RECEIVE_RING),
            (libc::XDP_UMEM_COMPLETION_RING, RECEIVE_RING),
            (libc::XDP_RX_RING, RECEIVE_RING),
            (libc::XDP_TX_RING, SEND_RING),
        ];
        for (ring, size) in rings {
            sys::set_option(socket, SOL_XDP, ring, &size.to_ne_bytes(), "make a ring of")?;
        }
        // Producer, consumer, entries, flags of four rings, 64 bits each.
        let words: [u32; 32] = sys::option(socket, SOL_XDP, libc::XDP_MMAP_OFFSETS, "find the rings of")?;
        let place = |ring: usize, page: u64| {
            let word = |index: usize| {
                let at = ring * 8 + index * 2;
                u64::from(words[at]) | u64::from(words[at + 1]) << 32
            };
            let offsets =
                libc::xdp_ring_offset { producer: word(0), consumer: word(1), desc: word(2), flags: word(3) };
            RingLayout { page: libc::off_t::try_from(page).unwrap_or(libc::off_t::MAX), offsets }
        };
        // The places at which each ring is to be mapped.
        const RECEIVE: u64 = 0;
        const SEND: u64 = 0x8000_0000;
        Ok(Self {
            fill: Ring::map(socket, &place(2, libc::XDP_UMEM_PGOFF_FILL_RING), RECEIVE_RING)?,
            completion: Ring::map(socket, &place(3, libc::XDP_UMEM_PGOFF_COMPLETION_RING), RECEIVE_RING)?,
            receive: Ring::map(socket, &place(0, RECEIVE), RECEIVE_RING)?,
            send: Ring::map(socket, &place(1, SEND), SEND_RING)?,
        })
    }
}

/// How long a queue may still belong to a socket that has been closed: the kernel clears up after it later.
const CLEARED_UP: std::time::Duration = std::time::Duration::from_secs(1);

/// Binds the socket to queue 0 of the interface, which a socket that was closed right before may hold a moment longer, as
/// that of a mode which the driver refused.
fn bind_when_free(socket: BorrowedFd<'_>, index: u32) -> Result<(), PortError> {
    let begin = std::time::Instant::now();
    loop {
        match bind(socket, index) {
            Err(PortError::Host(error))
                if error.errno() == Some(libc::EBUSY) && begin.elapsed() < CLEARED_UP =>
            {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            answer => return answer,
        }
    }
}

/// Binds the socket to queue 0 of the interface.
fn bind(socket: BorrowedFd<'_>, index: u32) -> Result<(), PortError> {
    let address = libc::sockaddr_xdp {
        sxdp_family: u16::try_from(libc::AF_XDP).unwrap_or(0),
        sxdp_flags: libc::XDP_COPY,
        sxdp_ifindex: index,
        sxdp_queue_id: 0,
        sxdp_shared_umem_fd: 0,
    };
    let length = sys::socklen_of::<libc::sockaddr_xdp>();
    // SAFETY: pointer and length describe `address`, which the call only reads.
    let answer = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if answer == 0 { Ok(()) } else { Err(sys::last("bind an XDP socket", "").into()) }
}
