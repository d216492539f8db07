//! The ring of a packet socket: slots in memory that the kernel fills with frames (`PACKET_RX_RING`, version 2 of its
//! headers), so that looking for a frame is looking at a word of memory, and a reader who comes late finds everything,
//! whatever limits the system sets to the buffers of sockets.

use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use romer_host::HostError;
use romer_host::clock::Realtime;

use crate::packet::SOL_PACKET;
use crate::sys;

const PACKET_RX_RING: libc::c_int = 5;
const PACKET_VERSION: libc::c_int = 10;
const PACKET_TIMESTAMP: libc::c_int = 17;
/// Version 2 of the ring's headers.
const TPACKET_V2: i32 = 1;
/// `SOF_TIMESTAMPING_SOFTWARE`.
const SOFTWARE_STAMPS: i32 = 1 << 4;
/// A slot belongs to the user.
const STATUS_USER: u32 = 1;
/// The whole of a frame that is longer than its slot waits at the socket.
const STATUS_COPY: u32 = 1 << 1;
/// The kernel took a VLAN tag out of the frame, and says of which protocol.
const STATUS_VLAN: u32 = 1 << 4;
const STATUS_VLAN_PROTOCOL: u32 = 1 << 6;
const CUSTOMER_TAG: u16 = 0x8100;
/// Octets of a slot before the frame at the most: the kernel's header and address (some 80), and room for its header
/// to the frame.
pub(crate) const BEFORE: usize = 112;
/// Slots begin at multiples of this (`TPACKET_ALIGNMENT`), and the beginning of a slot is where a word is.
const ALIGNMENT: usize = 16;
/// Octets of a block of slots, which the kernel takes in one piece.
const BLOCK: usize = 1 << 16;

/// A frame in its slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingFrame<'a> {
    /// Its octets, as far as the slot has room.
    pub(crate) octets: &'a [u8],
    /// What stands before them: where the socket asked for it, the kernel's header to the frame.
    before: &'a [u8],
    /// Octets of the whole of it, without check sequence and without the tag that was taken out.
    pub(crate) length: usize,
    /// Protocol and control field of that tag.
    pub(crate) tag: Option<(u16, u16)>,
    /// When the kernel had it from the driver.
    pub(crate) stamp: Realtime,
    /// Its whole waits at the socket, because the slot has no room for it.
    pub(crate) is_at_socket: bool,
}

impl RingFrame<'_> {
    /// The last `N` octets before the frame; zeros where there are not so many.
    pub(crate) fn header<const N: usize>(&self) -> [u8; N] {
        self.before.last_chunk().copied().unwrap_or([0; N])
    }
}

/// A ring, mapped from its socket.
#[derive(Debug)]
pub(crate) struct PacketRing {
    begin: NonNull<u8>,
    octets: usize,
    slot_octets: usize,
    slots_of_a_block: usize,
    slots: usize,
    next: usize,
}

// SAFETY: the mapping belongs to this value alone and goes with it; nothing of it is tied to a thread, and the kernel's
// side is spoken to by atomics.
unsafe impl Send for PacketRing {}

impl PacketRing {
    /// Makes the ring of a socket that is not bound yet: slots with room for `frame_octets` of a frame, in `octets` of
    /// memory or, where the system has not so much, less.
    ///
    /// # Errors
    /// The system's refusal.
    pub(crate) fn make(
        socket: BorrowedFd<'_>,
        frame_octets: usize,
        octets: usize,
        interface: &str,
    ) -> Result<Self, HostError> {
        let set = |name, value: &[u8], operation| sys::set_option(socket, SOL_PACKET, name, value, operation);
        set(PACKET_VERSION, &TPACKET_V2.to_ne_bytes(), "choose the ring's form on")?;
        set(PACKET_TIMESTAMP, &SOFTWARE_STAMPS.to_ne_bytes(), "enable kernel time stamps on")?;
        let slot_octets = (frame_octets + BEFORE).next_multiple_of(ALIGNMENT);
        let block = slot_octets.next_power_of_two().max(BLOCK);
        let slots_of_a_block = block / slot_octets;
        let mut blocks = (octets / block).max(1);
        loop {
            let shape = [block, blocks, slot_octets, blocks * slots_of_a_block]
                .map(|number| u32::try_from(number).unwrap_or(0).to_ne_bytes());
            match set(PACKET_RX_RING, shape.as_flattened(), "make a ring on") {
                Ok(()) => break,
                Err(error) if error.errno() == Some(libc::ENOMEM) && blocks > 1 => blocks /= 2,
                Err(error) => return Err(error),
            }
        }
        let octets = block * blocks;
        let begin = sys::map_shared(socket, octets, 0, interface)?;
        Ok(Self { begin, octets, slot_octets, slots_of_a_block, slots: blocks * slots_of_a_block, next: 0 })
    }

    /// The slot that is next, which begins with its status.
    fn slot(&self) -> NonNull<u8> {
        let block = self.octets / (self.slots / self.slots_of_a_block);
        let offset =
            self.next / self.slots_of_a_block * block + self.next % self.slots_of_a_block * self.slot_octets;
        // SAFETY: `next` is below the number of slots, so that the slot lies within the mapping.
        unsafe { self.begin.add(offset) }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: a slot begins with its status, aligned to four; the kernel writes it as one word, and both sides use
        // it as one.
        unsafe { AtomicU32::from_ptr(self.slot().as_ptr().cast()) }
    }

    /// The oldest frame that waits, if any does. Makes no system call.
    pub(crate) fn front(&self) -> Option<RingFrame<'_>> {
        let status = self.status().load(Ordering::Acquire);
        if status & STATUS_USER == 0 {
            return None;
        }
        // SAFETY: while the status gives the slot to the user the kernel does not touch it; it is given back by
        // `advance` alone, which no borrow of this outlives.
        let slot = unsafe { std::slice::from_raw_parts(self.slot().as_ptr(), self.slot_octets) };
        Some(entry(slot, status))
    }

    /// Gives the oldest frame's slot back.
    pub(crate) fn advance(&mut self) {
        self.status().store(0, Ordering::Release);
        self.next = if self.next + 1 == self.slots { 0 } else { self.next + 1 };
    }
}

impl Drop for PacketRing {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and the borrows of it have ended.
        unsafe { libc::munmap(self.begin.as_ptr().cast(), self.octets) };
    }
}

/// What a slot holds (`struct tpacket2_hdr`); a frame of no octets where the kernel's header contradicts itself.
fn entry(slot: &[u8], status: u32) -> RingFrame<'_> {
    let word =
        |at: usize| slot.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_ne_bytes(*word));
    let half =
        |at: usize| slot.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |half| u16::from_ne_bytes(*half));
    let octets = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let (length, kept, begin) = (octets(word(4)), octets(word(8)), usize::from(half(12)));
    let nanos = i64::from(word(16)) * 1_000_000_000 + i64::from(word(20));
    let protocol = if status & STATUS_VLAN_PROTOCOL != 0 { half(26) } else { CUSTOMER_TAG };
    RingFrame {
        octets: slot.get(begin..begin.saturating_add(kept).min(slot.len())).unwrap_or_default(),
        before: slot.get(..begin).unwrap_or_default(),
        length,
        tag: (status & STATUS_VLAN != 0).then(|| (protocol, half(24))),
        stamp: Realtime::from_nanos(nanos),
        is_at_socket: status & STATUS_COPY != 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_slot_is_read_without_panic(slot in proptest::collection::vec(any::<u8>(), 0..300), status: u32) {
            let entry = entry(&slot, status);
            prop_assert!(entry.octets.len() <= slot.len());
            let _: [u8; 10] = entry.header();
        }
    }

    #[test]
    fn a_slot_says_when_how_long_and_which_tag() {
        let mut slot = vec![0; 256];
        for (at, word) in [(4, 1_000_u32), (8, 100), (16, 7), (20, 9)] {
            slot[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        for (at, half) in [(12, 98_u16), (24, 0x2005), (26, 0x88a8)] {
            slot[at..at + 2].copy_from_slice(&half.to_ne_bytes());
        }
        slot[88..98].copy_from_slice(b"0123456789");
        slot[98..198].fill(1);
        let found = entry(&slot, STATUS_USER | STATUS_VLAN | STATUS_VLAN_PROTOCOL | STATUS_COPY);
        assert_eq!(found.octets, [1; 100]);
        assert_eq!(found.header(), *b"0123456789");
        assert_eq!((found.length, found.tag, found.is_at_socket), (1_000, Some((0x88a8, 0x2005)), true));
        assert_eq!(found.stamp.as_nanos(), 7_000_000_009);
        assert_eq!(entry(&slot, STATUS_USER | STATUS_VLAN).tag, Some((CUSTOMER_TAG, 0x2005)));
        assert_eq!(entry(&slot, STATUS_USER).tag, None);
    }
}
