//! How a transmit stamp is known to belong to a datagram.
//!
//! Since Linux 6.13 a datagram can bring an id of its own (`SCM_TS_OPT_ID`), which its stamp carries back. Before,
//! the kernel numbers the datagrams of the socket itself, and we keep the same count beside it. A send that fails
//! may or may not have used up a number (a refusal by the path MTU has not, one by a full queue or a packet filter
//! has), so after each failure the count is started afresh on both sides.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::address;
use super::control::{ControlWriter, message};
use crate::HostError;
use crate::clock::Realtime;
use crate::sys::set_option;

/// The stamps that are asked of the kernel: software stamps at departure and arrival, departures known by a number
/// and handed back without the packet.
const KERNEL_STAMPS: libc::c_uint = libc::SOF_TIMESTAMPING_TX_SOFTWARE
    | libc::SOF_TIMESTAMPING_RX_SOFTWARE
    | libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;
/// What is asked for beside them where a network card is to stamp too: its stamps as they are, and of a departure both.
const CARD_STAMPS: libc::c_uint = libc::SOF_TIMESTAMPING_TX_HARDWARE
    | libc::SOF_TIMESTAMPING_RX_HARDWARE
    | libc::SOF_TIMESTAMPING_RAW_HARDWARE
    | libc::SOF_TIMESTAMPING_OPT_TX_SWHW;
/// The control message that gives a datagram its id (`include/uapi/asm-generic/socket.h`).
pub(crate) const SCM_TS_OPT_ID: libc::c_int = 81;
/// Datagrams whose stamps may be outstanding at once while we count ourselves.
const RING: usize = 16_384;

/// The way in which stamps of a socket are matched to datagrams.
#[derive(Debug)]
pub(crate) enum Identities {
    /// Each datagram brings its id.
    Given,
    /// Kernel and we count alike.
    Counted(Mutex<OwnCount>),
}

/// Our side of the count.
#[derive(Debug)]
pub(crate) struct OwnCount {
    next: u32,
    /// A card stamps too, so that two stamps come back for a number.
    card_stamps: bool,
    ring: Box<[Option<Outstanding>]>,
}

#[derive(Clone, Copy, Debug)]
struct Outstanding {
    key: u32,
    id: u32,
    user: Realtime,
}

impl Identities {
    /// The best way this kernel has.
    pub(crate) fn best() -> Self {
        if kernel_takes_ids() { Self::Given } else { Self::counted() }
    }

    /// The way that works with every kernel; the count begins when the stamps are switched on.
    pub(crate) fn counted() -> Self {
        Self::Counted(Mutex::new(OwnCount {
            next: 0,
            card_stamps: false,
            ring: vec![None; RING].into_boxed_slice(),
        }))
    }

    /// The same for a socket whose departures network cards stamp too, where `card_stamps`.
    pub(crate) fn with_card_stamps(self, card_stamps: bool) -> Self {
        if let Self::Counted(counted) = &self {
            lock(counted).card_stamps = card_stamps;
        }
        self
    }

    /// The same for a stamp of a network card, whose clock tells nothing of when the datagram was sent here.
    pub(crate) fn id_of_card_stamp(&self, number: u32) -> Option<u32> {
        match self {
            Self::Given => Some(number),
            Self::Counted(counted) => lock(counted).find(number),
        }
    }

    /// The datagram's id, given the number that came with its stamp; `None` for a stamp of before the last
    /// restart of the count, or one that came back after 16,384 later ones.
    pub(crate) fn id_of(&self, number: u32, stamp: Realtime) -> Option<u32> {
        match self {
            Self::Given => Some(number),
            Self::Counted(counted) => lock(counted).take(number, stamp),
        }
    }
}

impl OwnCount {
    /// Remembers that the next number is `id`'s, whose send call began at `user`.
    pub(crate) fn sent(&mut self, id: u32, user: Realtime) {
        self.ring[self.next as usize % RING] = Some(Outstanding { key: self.next, id, user });
        self.next = self.next.wrapping_add(1);
    }

    /// Starts both counts at zero again. Stamps still on their way are lost to us (counted as missing by the
    /// caller, as any that never comes); should one come, it is older than the send of its new namesake and is
    /// refused for that.
    pub(crate) fn restart(&mut self, socket: BorrowedFd<'_>) -> Result<(), HostError> {
        switch(socket, stamps(self.card_stamps) & !libc::SOF_TIMESTAMPING_OPT_ID)?;
        switch_on(socket, self.card_stamps)?;
        self.next = 0;
        self.ring.fill(None);
        Ok(())
    }

    fn take(&mut self, number: u32, stamp: Realtime) -> Option<u32> {
        let slot = self.ring.get_mut(number as usize % RING)?;
        let outstanding = slot.filter(|entry| entry.key == number && entry.user <= stamp)?;
        // The card's stamp of the same datagram comes later.
        if !self.card_stamps {
            *slot = None;
        }
        Some(outstanding.id)
    }

    fn find(&self, number: u32) -> Option<u32> {
        let slot = self.ring.get(number as usize % RING).copied().flatten();
        slot.filter(|entry| entry.key == number).map(|entry| entry.id)
    }
}

/// The count behind a lock. A panic elsewhere cannot leave it half changed, so a poisoned lock is as good.
pub(crate) fn lock(counted: &Mutex<OwnCount>) -> MutexGuard<'_, OwnCount> {
    counted.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks the kernel for stamps, and cards where `card_stamps`; its count starts at zero.
pub(crate) fn switch_on(socket: BorrowedFd<'_>, card_stamps: bool) -> Result<(), HostError> {
    switch(socket, stamps(card_stamps))
}

const fn stamps(card_stamps: bool) -> libc::c_uint {
    if card_stamps { KERNEL_STAMPS | CARD_STAMPS } else { KERNEL_STAMPS }
}

fn switch(socket: BorrowedFd<'_>, flags: libc::c_uint) -> Result<(), HostError> {
    let operation = "enable kernel time stamps";
    set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING_NEW, flags.cast_signed(), operation)
}

/// Whether a datagram may bring its id; asked once, as the kernel does not change.
fn kernel_takes_ids() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| probe_ids().unwrap_or(false))
}

/// Offers an id with a datagram that is not sent: `MSG_CONFIRM` with `MSG_PROBE` and no payload checks everything
/// and puts nothing on the wire (`udp(7)`, `arp(7)`). An unknown control message is refused with `EINVAL` before
/// any route is looked up; any other answer means that it is known.
fn probe_ids() -> Result<bool, HostError> {
    /// `MSG_PROBE` (`include/linux/socket.h`).
    const MSG_PROBE: libc::c_int = 0x10;
    let target = std::net::SocketAddr::from(([127, 0, 0, 1], 9));
    let socket = address::open(target)?;
    switch_on(socket.as_fd(), false)?;
    let mut name = [0; address::ADDRESS_LEN];
    let name_length = address::encode(target, &mut name);
    let mut control = ControlWriter::new();
    control.push(libc::SOL_SOCKET, SCM_TS_OPT_ID, &1_u32.to_ne_bytes());
    let header = message(&mut name[..name_length], None, control.as_bytes());
    // SAFETY: `header` points to `name` and `control`, which outlive the call; the call only reads them.
    let answer =
        unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, libc::MSG_CONFIRM | MSG_PROBE) };
    Ok(answer >= 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::EINVAL))
}
