//! Ports over packet sockets (`packet(7)`).
//!
//! Frames come by a ring of memory, beside each the kernel's header to it (`PACKET_VNET_HDR`), which tells of unfinished
//! checksums and joined packets, the VLAN tag that it took out, and when it had the frame. Frames that the host sends
//! itself are not seen (`PACKET_IGNORE_OUTGOING`), and promiscuity ends with the socket (`PACKET_MR_PROMISC`).
//!
//! Packets that a sender's offloads have joined are handed over part by part, each a frame as the wire would have had
//! it. Those that are longer than a slot of the ring wait whole at the socket (`PACKET_COPY_THRESH`), and are taken from
//! there first.

use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use romer_host::clock::{Now, monotonic_now, realtime_now};
use romer_host::link::{Link, Network};
use romer_units::{Duration, Monotonic, Timestamp};

use crate::arena::{Arena, HEADROOM, Slot};
use crate::error::PortError;
use crate::name::PortName;
use crate::offload::{HEADER, Joining, TAG, Unfinished, put_tag_back};
use crate::packet_ring::PacketRing;
use crate::port::{ArrivalClock, BURST, Frame, LinkState, Port, Received, Refusal, Sent};
use crate::restore_guard::in_namespace;
use crate::sys;

pub(crate) const SOL_PACKET: libc::c_int = 263;
const PACKET_ADD_MEMBERSHIP: libc::c_int = 1;
pub(crate) const PACKET_STATISTICS: libc::c_int = 6;
const PACKET_COPY_THRESH: libc::c_int = 7;
const PACKET_VNET_HDR: libc::c_int = 15;
pub(crate) const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
const PACKET_MR_PROMISC: u16 = 1;
/// The kernel's name of the Ethernet protocol that means all.
pub(crate) const ALL_PROTOCOLS: u16 = 0x0003;
/// Link types with whole Ethernet frames.
const ETHERNET: u16 = 1;
/// Octets of the ring: some 32,000 frames of up to 2,000 octets, a fifth of a second of the shortest at 100 Mbit/s.
const RING: usize = 64 << 20;
/// Octets of joined packets that wait beside it.
const RECEIVE_BUFFER: libc::c_int = 32 << 20;
const SEND_BUFFER: libc::c_int = 8 << 20;
/// Octets of a joined packet: the kernel joins 65,536 at most, unless it is asked for more (BIG TCP), with the header of
/// the link.
const LONGEST_JOINED: usize = HEADER + 65_536 + 64;

/// A port over a packet socket.
#[derive(Debug)]
pub struct PacketPort {
    // Before the socket, which would take its memory away.
    ring: PacketRing,
    socket: OwnedFd,
    control: OwnedFd,
    interface: String,
    mtu: u32,
    /// The frame that is next, if it waits whole at the socket and was taken from there.
    spill: Box<[u8]>,
    spilt: Option<usize>,
    /// Of a joined packet that is next the part that is.
    part: usize,
    arrivals: ArrivalClock,
}

/// What remains of a packet after a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remains {
    Nothing,
    /// From this part on.
    Parts(usize),
}

impl PacketPort {
    /// Opens a port on the interface, for frames that fit into slots of `arena`.
    ///
    /// # Errors
    /// There is no such namespace or interface ([`romer_host::HostError::Missing`]), it carries no Ethernet frames
    /// ([`PortError::NotEthernet`]), the rights are missing (`EPERM`: it takes `CAP_NET_RAW`), or the system has no
    /// memory for the ring.
    pub fn open(name: &PortName, arena: &Arena) -> Result<Self, PortError> {
        Self::open_with(name, arena, RING)
    }

    /// [`PacketPort::open`] with a ring of some `octets`.
    ///
    /// # Errors
    /// As of [`PacketPort::open`].
    pub fn open_with(name: &PortName, arena: &Arena, octets: usize) -> Result<Self, PortError> {
        let (link, control) = query_link(name)?;
        let socket = in_namespace(name, || {
            // No protocol yet: until it is bound and set up, nothing comes.
            let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK;
            sys::open_socket(libc::AF_PACKET, kind, 0, "open a packet socket")
        })??;
        set_up(socket.as_fd())?;
        let ring =
            PacketRing::make(socket.as_fd(), HEADER + arena.longest_frame(), octets, name.interface())?;
        join(socket.as_fd(), link.index)?;
        bind(socket.as_fd(), link.index, ALL_PROTOCOLS)?;
        Ok(Self {
            ring,
            socket,
            control,
            interface: name.interface().into(),
            mtu: link.mtu,
            spill: vec![0; LONGEST_JOINED].into(),
            spilt: None,
            part: 0,
            arrivals: ArrivalClock::new(),
        })
    }

    /// The largest IP packet of an interface that can be a port, in octets. Opens nothing for good and changes nothing.
    ///
    /// # Errors
    /// There is no such namespace or interface ([`romer_host::HostError::Missing`]), or it carries no Ethernet frames
    /// ([`PortError::NotEthernet`]).
    pub fn mtu_of(name: &PortName) -> Result<u32, PortError> {
        query_link(name).map(|(link, _)| link.mtu)
    }

    /// Hands over what is next in the ring, as far as the burst has room for frames; `None` where nothing is.
    fn hand_over(&mut self, burst: &mut Burst<'_>, now: &mut Now) -> Option<Remains> {
        let entry = self.ring.front()?;
        let unfinished = Unfinished::read(entry.header());
        let length = entry.length;
        if entry.is_at_socket && self.spilt.is_none() {
            self.spilt = Some(take_from(self.socket.as_fd(), &mut self.spill));
        }
        let octets = match self.spilt {
            Some(taken) => self.spill.get(HEADER..taken).unwrap_or_default(),
            None => entry.octets,
        };
        if octets.len() < length {
            // There was no more room for its whole.
            burst.received.without_slot += 1;
            return Some(Remains::Nothing);
        }
        // The clock of stamps can be set while we run, the clock of schedules cannot: the age of the frame leads
        // from one to the other.
        let stamp = entry.stamp.as_nanos();
        let age =
            |now: Now| (now.monotonic, Duration::from_nanos(now.realtime.as_nanos().saturating_sub(stamp)));
        burst.arrival = self.arrivals.next(now, age, both_clocks);
        burst.tag = entry.tag;
        if unfinished.joining != Joining::None {
            return Some(burst.take_apart(octets, unfinished, self.part));
        }
        burst.take_whole(octets, unfinished);
        Some(Remains::Nothing)
    }
}

/// Takes a whole frame with the kernel's header from the socket; octets of both, 0 where there is none.
fn take_from(socket: BorrowedFd<'_>, spill: &mut [u8]) -> usize {
    // SAFETY: the descriptor is open while borrowed; pointer and length describe `spill`, which the call fills.
    let answer =
        unsafe { libc::recv(socket.as_raw_fd(), spill.as_mut_ptr().cast(), spill.len(), libc::MSG_DONTWAIT) };
    usize::try_from(answer).unwrap_or(0)
}

/// What is being handed over, and what each frame of it is handed over with.
struct Burst<'a> {
    arena: &'a mut Arena,
    frames: &'a mut Vec<Frame>,
    received: Received,
    arrival: Timestamp<Monotonic>,
    tag: Option<(u16, u16)>,
}

impl Burst<'_> {
    fn take_whole(&mut self, octets: &[u8], unfinished: Unfinished) {
        if octets.len() > self.arena.longest_frame() {
            self.received.oversize += 1;
            return;
        }
        let Some(slot) = self.arena.take() else {
            self.received.without_slot += 1;
            return;
        };
        let place = &mut self.arena.slot_mut(&slot)[HEADROOM..HEADROOM + octets.len()];
        place.copy_from_slice(octets);
        unfinished.finish(place);
        self.push(slot, octets.len());
    }

    /// Hands over the parts of a joined packet, from `first` on.
    fn take_apart(&mut self, octets: &[u8], unfinished: Unfinished, first: usize) -> Remains {
        let Some(joined) = unfinished.joined(octets) else {
            self.received.oversize += 1;
            return Remains::Nothing;
        };
        for part in first..joined.parts() {
            if self.received.frames == BURST {
                return Remains::Parts(part);
            }
            let Some(slot) = self.arena.take() else {
                self.received.without_slot += 1;
                continue;
            };
            match joined.emit(part, &mut self.arena.slot_mut(&slot)[HEADROOM..]) {
                Some(length) => self.push(slot, length),
                None => {
                    self.arena.give_back(slot);
                    self.received.oversize += 1;
                }
            }
        }
        Remains::Nothing
    }

    fn push(&mut self, slot: Slot, length: usize) {
        self.frames.push(finished(self.arena, slot, length, self.tag, self.arrival));
        self.received.frames += 1;
    }
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
        if self.ring.front().is_none() {
            return Ok(Received::default());
        }
        let mut now = both_clocks();
        let (received, arrival) = (Received::default(), now.monotonic);
        let mut burst = Burst { arena, frames, received, arrival, tag: None };
        // Bounded, so that a flood of what is let go ends as well.
        for _ in 0..BURST {
            if burst.received.frames == BURST {
                break;
            }
            match self.hand_over(&mut burst, &mut now) {
                None => break,
                Some(Remains::Parts(part)) => self.part = part,
                Some(Remains::Nothing) => {
                    (self.part, self.spilt) = (0, None);
                    self.ring.advance();
                }
            }
        }
        let received = burst.received;
        Ok(Received { more: self.ring.front().is_some(), ..received })
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
        // Where it went down, the socket says so to whoever waits, until it has been asked.
        let _ = sys::option::<1>(self.socket.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR, "read the error of");
        link_state(self.socket.as_fd(), self.control.as_fd(), &self.interface)
    }

    fn carries(&self) -> bool {
        carries(self.control.as_fd(), &self.interface)
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
    let count = frames.len().min(BURST);
    for frame in frames.iter().take(count) {
        // A header of zeros says that nothing is left to be done on the frame.
        arena.slot_mut(&frame.slot)[frame.start - HEADER..frame.start].fill(0);
    }
    let arena = &*arena;
    let whole = |frame: &Frame| &arena.slot(&frame.slot)[frame.start - HEADER..frame.start + frame.length];
    sys::send_each(socket, frames.iter().take(count).map(whole)).map_err(|errno| match errno {
        Some(libc::EINTR) => None,
        Some(libc::EAGAIN) => Some(Refusal::Busy),
        Some(libc::EMSGSIZE) => Some(Refusal::Oversize),
        _ => Some(Refusal::Undeliverable),
    })
}

fn set_up(socket: BorrowedFd<'_>) -> Result<(), PortError> {
    let on = 1_i32.to_ne_bytes();
    let set = |level, name, value: &[u8], operation| sys::set_option(socket, level, name, value, operation);
    set(SOL_PACKET, PACKET_VNET_HDR, &on, "enable PACKET_VNET_HDR on")?;
    set(SOL_PACKET, PACKET_COPY_THRESH, &on, "keep what is longer than a slot on")?;
    set(SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, "leave out what the host sends on")?;
    set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on, "enable time stamps on")?;
    set_buffers(socket, RECEIVE_BUFFER, SEND_BUFFER)
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
    // RFC 2863's operational state (`IFF_RUNNING`) says so up to a second later, and where a link goes down and up again within that
    // time perhaps not at all.
    if let Some(carries) = crate::features::carrier(control, &request) {
        return if carries { LinkState::Up } else { LinkState::Down };
    }
    if runs(control, &mut request) { LinkState::Up } else { LinkState::Down }
}

/// Whether what the interface takes goes on from there.
fn carries(control: BorrowedFd<'_>, interface: &str) -> bool {
    // The kernel says that the link is down just before it takes the interface's queue away, and puts one in its place
    // that drops all and does not tell. An interface that never says that it is up has its carrier asked.
    let mut request = crate::features::name_of(interface);
    runs(control, &mut request) || crate::features::carrier(control, &request) != Some(false)
}

/// Whether the interface that a request names is switched on and its link is up, as the kernel has told last. A renamed
/// interface cannot be asked by its old name; it is taken to be up.
fn runs(control: BorrowedFd<'_>, request: &mut libc::ifreq) -> bool {
    // SAFETY: the request names an interface and outlives the call, which writes flags into it.
    let answer = unsafe { libc::ioctl(control.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut *request) };
    // SAFETY: the call has filled this member, or left the zeros.
    let flags = libc::c_int::from(unsafe { request.ifr_ifru.ifru_flags });
    let carries = libc::IFF_UP | libc::IFF_RUNNING;
    answer < 0 || flags & carries == carries
}

/// A packet socket through which nothing passes: it keeps an interface promiscuous and tells when it is gone.
#[derive(Debug)]
pub(crate) struct InterfaceMonitor {
    socket: OwnedFd,
    control: OwnedFd,
    interface: String,
}

impl InterfaceMonitor {
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

    /// Whether what the interface takes goes on from there.
    pub(crate) fn carries(&self) -> bool {
        carries(self.control.as_fd(), &self.interface)
    }

    /// The interface's MTU at this moment; `None` where it is gone, or has another name.
    pub(crate) fn mtu(&self) -> Option<u32> {
        let mut request = crate::features::name_of(&self.interface);
        // SAFETY: the request names an interface and outlives the call, which writes a number into it.
        let answer = unsafe { libc::ioctl(self.control.as_raw_fd(), libc::SIOCGIFMTU, &raw mut request) };
        // SAFETY: the call has filled this member.
        let mtu = unsafe { request.ifr_ifru.ifru_mtu };
        (answer == 0).then(|| u32::try_from(mtu).ok()).flatten()
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
pub(crate) fn query_link(name: &PortName) -> Result<(Link, OwnedFd), PortError> {
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
        return Err(sys::last("read the type of", interface).into());
    }
    // SAFETY: the call has filled this member.
    Ok(unsafe { request.ifr_ifru.ifru_hwaddr.sa_family })
}
