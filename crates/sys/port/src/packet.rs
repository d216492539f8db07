//! Ports over packet sockets (`packet(7)`).
//!
//! The kernel's header (`PACKET_VNET_HDR`) tells of unfinished checksums and joined packets, its auxiliary data
//! (`PACKET_AUXDATA`) of the VLAN tag that it took out, and `SO_TIMESTAMPNS` when it had the frame. Frames that the
//! host sends itself are not seen (`PACKET_IGNORE_OUTGOING`), and promiscuity ends with the socket
//! (`PACKET_MR_PROMISC`).
//!
//! Packets that a sender's offloads have joined are longer than a slot: what does not fit goes into a spill, from
//! where they are handed over part by part, each a frame as the wire would have had it.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use romer_host::HostError;
use romer_host::clock::{Now, monotonic_now, realtime_now};
use romer_host::link::{Link, Network};
use romer_units::{Duration, Monotonic, Timestamp};

use crate::arena::HEADROOM;
use crate::control::Said;
use crate::guard::in_namespace;
use crate::offload::{HEADER, Joining, TAG, Unfinished, put_tag_back};
use crate::{
    Arena, Arrivals, BURST, Frame, LinkState, Port, PortError, PortName, Received, Refusal, Sent, Slot, sys,
};

pub(crate) const SOL_PACKET: libc::c_int = 263;
const PACKET_ADD_MEMBERSHIP: libc::c_int = 1;
pub(crate) const PACKET_STATISTICS: libc::c_int = 6;
pub(crate) const PACKET_AUXDATA: libc::c_int = 8;
const PACKET_VNET_HDR: libc::c_int = 15;
pub(crate) const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
const PACKET_MR_PROMISC: u16 = 1;
/// The kernel's name of the Ethernet protocol that means all.
pub(crate) const ALL_PROTOCOLS: u16 = 0x0003;
/// Link types with whole Ethernet frames.
const ETHERNET: u16 = 1;
/// Octets that the kernel may hold for us: some 20,000 short frames.
const RECEIVE_BUFFER: libc::c_int = 32 << 20;
const SEND_BUFFER: libc::c_int = 8 << 20;
/// Octets for the auxiliary data (40) and the stamp (32) of a frame.
const CONTROL: usize = 128;
/// Messages that are asked for where none were waiting the last time.
const LEAST_ASKED: usize = 4;
/// Where the kernel's header stands in a slot.
const BEGIN: usize = HEADROOM - HEADER;
/// Octets of a joined packet beyond a slot: the kernel joins 65,536 at most, unless it is asked for more (BIG TCP).
const SPILL: usize = 65_536;

/// Control messages of one frame, aligned as the kernel writes them.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
struct Control([u8; CONTROL]);

/// A port over a packet socket.
#[derive(Debug)]
pub struct PacketPort {
    socket: OwnedFd,
    control: OwnedFd,
    interface: String,
    mtu: u32,
    /// Slots to be filled by the next receive.
    prepared: Vec<Slot>,
    controls: Box<[Control; BURST]>,
    /// What is longer than a slot, a part of equal length for each message. The beginning of each part is room for
    /// what fills the slot.
    spill: Box<[u8]>,
    waiting: Waiting,
    arrivals: Arrivals,
    /// How many messages the next call asks for: each costs time to ask for even if none comes, and an idle port is
    /// asked all the time.
    ask: usize,
}

/// Messages that were received and are not handed over yet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    messages: [Message; BURST],
    count: usize,
    /// The next to be handed over, and of a joined packet its next part.
    next: usize,
    part: usize,
}

/// One message: octets of the frame with the kernel's header, and of the control messages.
#[derive(Clone, Copy, Debug, Default)]
struct Message {
    octets: usize,
    control: usize,
    cut: bool,
}

/// What remains of a message after a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remains {
    Nothing,
    /// From this part on.
    Parts(usize),
}

impl PacketPort {
    /// Opens a port on the interface, with slots of `arena` to receive into.
    ///
    /// # Errors
    /// There is no such namespace or interface ([`HostError::Missing`]), it carries no Ethernet frames
    /// ([`PortError::NotEthernet`]), the rights are missing (`EPERM`: it takes `CAP_NET_RAW`), or the arena is full.
    pub fn open(name: &PortName, arena: &mut Arena) -> Result<Self, PortError> {
        Self::open_with(name, arena, RECEIVE_BUFFER)
    }

    /// [`PacketPort::open`] with a receive buffer of `octets` as the system counts them, at least its least.
    ///
    /// # Errors
    /// As of [`PacketPort::open`].
    pub fn open_with(
        name: &PortName,
        arena: &mut Arena,
        receive_buffer: libc::c_int,
    ) -> Result<Self, PortError> {
        let (link, control) = look_at(name)?;
        let socket = in_namespace(name, || {
            // No protocol yet: until it is bound and set up, nothing comes.
            let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK;
            sys::open_socket(libc::AF_PACKET, kind, 0, "open a packet socket")
        })??;
        set_up(socket.as_fd(), receive_buffer)?;
        join(socket.as_fd(), link.index)?;
        bind(socket.as_fd(), link.index, ALL_PROTOCOLS)?;
        let mut port = Self {
            socket,
            control,
            interface: name.interface().into(),
            mtu: link.mtu,
            prepared: Vec::with_capacity(BURST),
            controls: Box::new([Control([0; CONTROL]); BURST]),
            spill: vec![0; BURST * (arena.slot_octets() + SPILL)].into(),
            waiting: Waiting { messages: [Message::default(); BURST], count: 0, next: 0, part: 0 },
            arrivals: Arrivals::new(),
            ask: LEAST_ASKED,
        };
        port.prepare(arena);
        if port.prepared.len() < BURST {
            return Err(HostError::Unsuitable("an arena with fewer slots than a burst").into());
        }
        Ok(port)
    }

    /// The largest IP packet of an interface that can be a port, in octets. Opens nothing for good and changes nothing.
    ///
    /// # Errors
    /// There is no such namespace or interface ([`HostError::Missing`]), or it carries no Ethernet frames
    /// ([`PortError::NotEthernet`]).
    pub fn mtu_of(name: &PortName) -> Result<u32, PortError> {
        look_at(name).map(|(link, _)| link.mtu)
    }

    fn prepare(&mut self, arena: &mut Arena) {
        while self.prepared.len() < BURST
            && let Some(slot) = arena.take()
        {
            self.prepared.push(slot);
        }
    }

    /// Fills the prepared slots with what has come.
    fn receive(&mut self, arena: &mut Arena, received: &mut Received) -> Result<(), PortError> {
        let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; BURST];
        let mut vectors = [const { MaybeUninit::<[libc::iovec; 2]>::uninit() }; BURST];
        let ask = self.ask.min(self.prepared.len());
        let spills = self.spill.chunks_exact_mut(self.spill.len() / BURST);
        let places = headers.iter_mut().zip(&mut vectors).zip(&mut *self.controls);
        let slots = self.prepared.iter().zip(spills).take(ask);
        for (((header, vector), control), (slot, spill)) in places.zip(slots) {
            let room = &mut arena.slot_mut(slot)[BEGIN..];
            let beyond = &mut spill[room.len()..];
            let vector = vector.write(
                [room, beyond]
                    .map(|part| libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: part.len() }),
            );
            // SAFETY: a mmsghdr is pointers and integers, for which zero is valid.
            let header = &mut header.write(unsafe { std::mem::zeroed() }).msg_hdr;
            header.msg_iov = vector.as_mut_ptr();
            header.msg_iovlen = 2;
            header.msg_control = control.0.as_mut_ptr().cast();
            header.msg_controllen = CONTROL;
        }
        let count = libc::c_uint::try_from(ask).unwrap_or(0);
        // SAFETY: the first `count` headers were written, and point to vectors, slots, spills and control buffers that
        // outlive the call and that nobody else refers to.
        let answer = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                headers.as_mut_ptr().cast(),
                count,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        if let Ok(count) = usize::try_from(answer) {
            // Whoever gets all that was asked for asks for all that there may be.
            self.ask = if count == ask { BURST } else { count.clamp(LEAST_ASKED, BURST) };
            for (message, header) in self.waiting.messages.iter_mut().zip(&headers[..count.min(ask)]) {
                // SAFETY: of the first `ask` headers all were written.
                let header = unsafe { header.assume_init_ref() };
                *message = Message {
                    octets: usize::try_from(header.msg_len).unwrap_or(usize::MAX),
                    control: header.msg_hdr.msg_controllen.min(CONTROL),
                    cut: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
                };
            }
            (self.waiting.count, self.waiting.next, self.waiting.part) = (count, 0, 0);
            return Ok(());
        }
        self.ask = LEAST_ASKED;
        // What comes all the time makes no error with words, which would take memory.
        match std::io::Error::last_os_error().raw_os_error() {
            // The interface was switched off or taken away since the last call; `link` tells which.
            Some(libc::EAGAIN | libc::EINTR | libc::ENETDOWN | libc::ENODEV | libc::ENXIO) => Ok(()),
            // The kernel has no words for how a packet was joined (SCTP), and lets it go.
            Some(libc::EINVAL) => {
                received.oversize += 1;
                Ok(())
            }
            _ => Err(sys::last("receive from", &self.interface).into()),
        }
    }

    /// Hands over what is next of what was received, as far as the burst has room for frames.
    fn hand_over(
        &mut self,
        arena: &mut Arena,
        frames: &mut Vec<Frame>,
        now: Now,
        received: &mut Received,
    ) -> Remains {
        let index = self.waiting.next;
        let message = self.waiting.messages[index];
        let said = Said::read(&self.controls[index].0[..message.control]);
        let Some(length) = message.octets.checked_sub(HEADER).filter(|_| !message.cut) else {
            received.oversize += 1;
            return Remains::Nothing;
        };
        let mut header = [0; HEADER];
        header.copy_from_slice(&arena.slot(&self.prepared[index])[BEGIN..HEADROOM]);
        let unfinished = Unfinished::read(header);
        // The clock of stamps can be set while we run, the clock of schedules cannot: the age of the frame leads
        // from one to the other.
        let age = said.stamp.map_or(Duration::ZERO, |stamp| {
            Duration::from_nanos(now.realtime.as_nanos().saturating_sub(stamp))
        });
        let arrival = self.arrivals.next(now.monotonic, age);
        if unfinished.joining != Joining::None {
            let burst = Burst { arena, frames, received, arrival, tag: said.tag };
            return self.take_apart(index, length, unfinished, burst);
        }
        if length > arena.longest_frame() {
            received.oversize += 1;
            return Remains::Nothing;
        }
        let Some(fresh) = arena.take() else {
            // The slot is needed for the next frame; this one ends here.
            received.without_slot += 1;
            return Remains::Nothing;
        };
        let slot = std::mem::replace(&mut self.prepared[index], fresh);
        unfinished.finish(&mut arena.slot_mut(&slot)[HEADROOM..HEADROOM + length]);
        frames.push(finished(arena, slot, length, said.tag, arrival));
        received.frames += 1;
        Remains::Nothing
    }

    /// Hands over the parts of a joined packet, from the one on that is next.
    fn take_apart(
        &mut self,
        index: usize,
        length: usize,
        unfinished: Unfinished,
        burst: Burst<'_>,
    ) -> Remains {
        let Burst { arena, frames, received, arrival, tag } = burst;
        let each = self.spill.len() / BURST;
        let spill = &mut self.spill[index * each..(index + 1) * each];
        if self.waiting.part == 0 {
            let filled = &arena.slot(&self.prepared[index])[BEGIN..];
            spill[..filled.len()].copy_from_slice(filled);
        }
        let Some(joined) = unfinished.joined(&spill[HEADER..HEADER + length]) else {
            received.oversize += 1;
            return Remains::Nothing;
        };
        for part in self.waiting.part..joined.parts() {
            if received.frames == BURST {
                return Remains::Parts(part);
            }
            let Some(slot) = arena.take() else {
                received.without_slot += 1;
                continue;
            };
            match joined.emit(part, &mut arena.slot_mut(&slot)[HEADROOM..]) {
                Some(length) => {
                    frames.push(finished(arena, slot, length, tag, arrival));
                    received.frames += 1;
                }
                None => {
                    arena.give_back(slot);
                    received.oversize += 1;
                }
            }
        }
        Remains::Nothing
    }
}

/// What the parts of a joined packet are handed over with.
struct Burst<'a> {
    arena: &'a mut Arena,
    frames: &'a mut Vec<Frame>,
    received: &'a mut Received,
    arrival: Timestamp<Monotonic>,
    tag: Option<(u16, u16)>,
}

/// The frame of `length` octets that begins behind the headroom of its slot, its tag put back.
fn finished(
    arena: &mut Arena,
    slot: Slot,
    length: usize,
    tag: Option<(u16, u16)>,
    arrival: Timestamp<Monotonic>,
) -> Frame {
    let (start, length) = match tag {
        Some((protocol, control)) => {
            (put_tag_back(arena.slot_mut(&slot), HEADROOM, protocol, control), length + TAG)
        }
        None => (HEADROOM, length),
    };
    Frame { slot, start, length, arrival }
}

impl AsFd for PacketPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Port for PacketPort {
    fn rx_burst(&mut self, arena: &mut Arena, frames: &mut Vec<Frame>) -> Result<Received, PortError> {
        let mut received = Received::default();
        if self.waiting.next == self.waiting.count {
            self.receive(arena, &mut received)?;
        }
        if self.waiting.next == self.waiting.count {
            return Ok(received);
        }
        let now = both_clocks();
        while self.waiting.next < self.waiting.count && received.frames < BURST {
            match self.hand_over(arena, frames, now, &mut received) {
                Remains::Nothing => (self.waiting.next, self.waiting.part) = (self.waiting.next + 1, 0),
                Remains::Parts(part) => self.waiting.part = part,
            }
        }
        Ok(received)
    }

    fn tx_burst(&mut self, arena: &mut Arena, frames: &mut VecDeque<Frame>) -> Sent {
        let mut sent = Sent::default();
        while !frames.is_empty() && sent.refused.is_none() {
            match send(self.socket.as_fd(), arena, frames) {
                Ok(count) => {
                    sent.frames += count;
                    for frame in frames.drain(..count) {
                        arena.release(frame);
                    }
                }
                Err(refusal) => sent.refused = refusal,
            }
        }
        sent
    }

    fn reclaim(&mut self, _: &mut Arena) -> usize {
        // The kernel has copied what was sent.
        0
    }

    fn kernel_drops(&mut self) -> Result<u64, PortError> {
        let [_, drops] =
            sys::option(self.socket.as_fd(), SOL_PACKET, PACKET_STATISTICS, "read the drops of")?;
        Ok(u64::from(drops))
    }

    fn link(&self) -> LinkState {
        link_state(self.socket.as_fd(), self.control.as_fd(), &self.interface)
    }

    fn mtu(&self) -> u32 {
        self.mtu
    }

    fn data_plane(&self) -> &'static str {
        "packet"
    }
}

/// Both clocks at one moment, to half a microsecond as a rule. Whatever comes between the readings shows in the
/// clock of schedules, which is read before and after, and then all is read again.
fn both_clocks() -> Now {
    const NEAR: Duration = Duration::from_micros(1);
    const READINGS: usize = 8;
    let read = || {
        let before = monotonic_now();
        let realtime = realtime_now();
        let apart = monotonic_now() - before;
        (apart, Now { monotonic: before + Duration::from_nanos(apart.as_nanos() / 2), realtime })
    };
    let mut best = read();
    for _ in 1..READINGS {
        if best.0 <= NEAR {
            break;
        }
        let next = read();
        if next.0 < best.0 {
            best = next;
        }
    }
    best.1
}

/// Sends up to a burst of frames from the front; how many the kernel took, or why it took none (`None`: it was
/// interrupted).
fn send(
    socket: BorrowedFd<'_>,
    arena: &mut Arena,
    frames: &VecDeque<Frame>,
) -> Result<usize, Option<Refusal>> {
    let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; BURST];
    let mut vectors = [const { MaybeUninit::<libc::iovec>::uninit() }; BURST];
    let count = frames.len().min(BURST);
    for ((frame, header), vector) in frames.iter().zip(&mut headers).zip(&mut vectors) {
        // A header of zeros says that nothing is left to be done on the frame.
        let whole = &mut arena.slot_mut(&frame.slot)[frame.start - HEADER..frame.start + frame.length];
        whole[..HEADER].fill(0);
        let vector = vector.write(libc::iovec { iov_base: whole.as_mut_ptr().cast(), iov_len: whole.len() });
        // SAFETY: a mmsghdr is pointers and integers, for which zero is valid.
        let header = &mut header.write(unsafe { std::mem::zeroed() }).msg_hdr;
        header.msg_iov = vector;
        header.msg_iovlen = 1;
    }
    let messages = libc::c_uint::try_from(count).unwrap_or(0);
    let headers = headers.as_mut_ptr().cast();
    // SAFETY: the first `messages` headers were written, and point to vectors that outlive the call, and they to slots,
    // which a send only reads.
    let answer = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers, messages, libc::MSG_DONTWAIT) };
    if let Ok(sent) = usize::try_from(answer) {
        return Ok(sent.min(count));
    }
    Err(match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EINTR) => None,
        Some(libc::EAGAIN) => Some(Refusal::Busy),
        Some(libc::EMSGSIZE) => Some(Refusal::Oversize),
        _ => Some(Refusal::Undeliverable),
    })
}

fn set_up(socket: BorrowedFd<'_>, receive_buffer: libc::c_int) -> Result<(), PortError> {
    let on = 1_i32.to_ne_bytes();
    let set = |level, name, value: &[u8], operation| sys::set_option(socket, level, name, value, operation);
    set(SOL_PACKET, PACKET_VNET_HDR, &on, "ask for unfinished checksums on")?;
    set(SOL_PACKET, PACKET_AUXDATA, &on, "ask for VLAN tags on")?;
    set(SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, "leave out what the host sends on")?;
    set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on, "ask for stamps on")?;
    set_buffers(socket, receive_buffer, SEND_BUFFER)
}

/// Sets the sizes of the two buffers, in octets as the system counts them; 0 leaves one as it is.
pub(crate) fn set_buffers(
    socket: BorrowedFd<'_>,
    receive: libc::c_int,
    send: libc::c_int,
) -> Result<(), PortError> {
    let buffers =
        [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, receive), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, send)];
    for (forced, asked, octets) in buffers.into_iter().filter(|(_, _, octets)| *octets > 0) {
        let octets = octets.to_ne_bytes();
        let set = |name| sys::set_option(socket, libc::SOL_SOCKET, name, &octets, "set a buffer of");
        // Without the right to force it, the kernel gives what it allows.
        if set(forced).is_err() {
            set(asked)?;
        }
    }
    Ok(())
}

/// Makes the interface promiscuous for as long as the socket lives (`struct packet_mreq`).
pub(crate) fn join(socket: BorrowedFd<'_>, index: u32) -> Result<(), PortError> {
    let mut request = [0; 16];
    request[..4].copy_from_slice(&index.to_ne_bytes());
    request[4..6].copy_from_slice(&PACKET_MR_PROMISC.to_ne_bytes());
    Ok(sys::set_option(socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, "listen to all on")?)
}

/// What the interface can do now, to which the packet socket is bound.
fn link_state(socket: BorrowedFd<'_>, control: BorrowedFd<'_>, interface: &str) -> LinkState {
    if !is_bound(socket) {
        return LinkState::Gone;
    }
    let mut request = crate::features::name_of(interface);
    // SAFETY: the request names an interface and outlives the call, which writes flags into it.
    let answer = unsafe { libc::ioctl(control.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request) };
    // SAFETY: the call has filled this member, or left the zeros.
    let flags = libc::c_int::from(unsafe { request.ifr_ifru.ifru_flags });
    let carries = libc::IFF_UP | libc::IFF_RUNNING;
    // A renamed interface cannot be asked by its old name; while the socket is bound it is there.
    if answer < 0 || flags & carries == carries { LinkState::Up } else { LinkState::Down }
}

/// A packet socket through which nothing passes: it keeps an interface promiscuous and tells when it is gone.
#[derive(Debug)]
pub(crate) struct Eye {
    socket: OwnedFd,
    control: OwnedFd,
    interface: String,
}

impl Eye {
    /// For an interface of the current thread's namespace, with a socket to ask of it by.
    pub(crate) fn open(interface: &str, index: u32, control: OwnedFd) -> Result<Self, PortError> {
        let socket = sys::open_socket(libc::AF_PACKET, libc::SOCK_RAW, 0, "open a packet socket")?;
        join(socket.as_fd(), index)?;
        bind(socket.as_fd(), index, 0)?;
        Ok(Self { socket, control, interface: interface.into() })
    }

    pub(crate) fn link(&self) -> LinkState {
        link_state(self.socket.as_fd(), self.control.as_fd(), &self.interface)
    }
}

fn empty_address() -> libc::sockaddr_ll {
    // SAFETY: the address is integers, for which zero is valid.
    unsafe { std::mem::zeroed() }
}

pub(crate) fn bind(socket: BorrowedFd<'_>, index: u32, protocol: u16) -> Result<(), PortError> {
    let mut address = empty_address();
    address.sll_family = libc::sa_family_t::try_from(libc::AF_PACKET).unwrap_or(0);
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = libc::c_int::try_from(index).unwrap_or(0);
    let length = sys::socklen_of::<libc::sockaddr_ll>();
    // SAFETY: pointer and length describe `address`, which the call only reads.
    let answer = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if answer == 0 { Ok(()) } else { Err(sys::last("bind a packet socket", "").into()) }
}

/// Whether the socket still has its interface. The kernel takes it away when the interface ends.
fn is_bound(socket: BorrowedFd<'_>) -> bool {
    let mut address = empty_address();
    let mut length = sys::socklen_of::<libc::sockaddr_ll>();
    // SAFETY: the call writes at most `length` octets, the size of `address`.
    let answer = unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut address).cast(), &raw mut length) };
    answer == 0 && address.sll_ifindex > 0
}

/// The link, and a socket to ask of it by, if it carries Ethernet frames.
pub(crate) fn look_at(name: &PortName) -> Result<(Link, OwnedFd), PortError> {
    let link = Network::open(name.namespace())?.link(name.interface())?;
    let control = in_namespace(name, || {
        sys::open_socket(libc::AF_INET, libc::SOCK_DGRAM, 0, "open a control socket")
    })??;
    if hardware_type(control.as_fd(), name.interface())? != ETHERNET {
        return Err(PortError::NotEthernet(name.interface().into()));
    }
    Ok((link, control))
}

fn hardware_type(control: BorrowedFd<'_>, interface: &str) -> Result<u16, PortError> {
    let mut request = crate::features::name_of(interface);
    // SAFETY: the request names an interface and outlives the call, which writes an address into it.
    let answer = unsafe { libc::ioctl(control.as_raw_fd(), libc::SIOCGIFHWADDR, &raw mut request) };
    if answer < 0 {
        return Err(sys::last("ask the kind of", interface).into());
    }
    // SAFETY: the call has filled this member.
    Ok(unsafe { request.ifr_ifru.ifru_hwaddr.sa_family })
}
