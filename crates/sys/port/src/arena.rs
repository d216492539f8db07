//! The memory of all frames of a bridge.

use romer_units::{Monotonic, Timestamp};

use crate::error::PortError;
use crate::port::Frame;
use crate::sys;

/// Octets that the kernel leaves free before a frame of an XDP socket, for the program.
pub(crate) const XDP_HEADROOM: usize = 256;

/// Octets before a received frame: for the kernel's header to it, and for a tag that is put back.
pub(crate) const HEADROOM: usize = 64;
/// Slots begin at multiples of this, a size of cache lines and of what XDP sockets take.
const ALIGNMENT: usize = 2_048;

/// Octets that are taken from the system before the first frame comes, so that no frame waits until it gives them; what
/// is held beyond them takes its memory as it comes.
const PREALLOCATED_OCTETS: usize = 256 << 20;

/// The right to one slot of an [`Arena`]. Only the arena makes them, one for each slot, and none can be copied.
#[derive(Debug)]
pub struct Slot(u32);

impl Slot {
    /// Its place, from 0.
    pub(crate) const fn number(&self) -> u32 {
        self.0
    }
}

/// A fixed number of slots of one length, made at once. Slots that were given back last are taken first, so that
/// few slots in use touch little memory.
#[derive(Debug)]
pub struct Arena {
    region: sys::Region,
    slot_octets: usize,
    slots: u32,
    free: Vec<Slot>,
}

impl Arena {
    /// `slots` slots, each with room for a frame of `frame_octets` and what a port needs around it.
    ///
    /// # Errors
    /// [`PortError::Memory`] where the system does not give as much.
    pub fn new(slots: u32, frame_octets: usize) -> Result<Self, PortError> {
        let slot_octets = Self::slot_octets_for(frame_octets);
        let octets = usize::try_from(slots).unwrap_or(usize::MAX).saturating_mul(slot_octets);
        let region = sys::Region::new(octets).map_err(|_| PortError::Memory { octets })?;
        region.make_ready(PREALLOCATED_OCTETS);
        Ok(Self { region, slot_octets, slots, free: (0..slots).rev().map(Slot).collect() })
    }

    /// Octets of a slot with room for a frame of `frame_octets` and what a port of either kind needs around it.
    pub fn slot_octets_for(frame_octets: usize) -> usize {
        frame_octets.saturating_add(HEADROOM.max(XDP_HEADROOM)).next_multiple_of(ALIGNMENT)
    }

    /// Octets of all slots together.
    pub const fn octets(&self) -> usize {
        self.region.octets()
    }
    /// How many slots there are.
    pub const fn slots(&self) -> u32 {
        self.slots
    }
    /// How many slots are free.
    pub const fn free(&self) -> usize {
        self.free.len()
    }
    /// The longest frame that a slot takes.
    pub const fn longest_frame(&self) -> usize {
        self.slot_octets - HEADROOM
    }

    /// The octets of a frame.
    pub fn octets_of(&self, frame: &Frame) -> &[u8] {
        &self.slot(&frame.slot)[frame.start..frame.start + frame.length]
    }
    /// The octets of a frame, to be changed.
    pub fn octets_of_mut(&mut self, frame: &Frame) -> &mut [u8] {
        &mut self.slot_mut(&frame.slot)[frame.start..frame.start + frame.length]
    }

    /// A frame of its own with the same octets and arrival; `None` where the arena is full.
    pub fn copy(&mut self, frame: &Frame) -> Option<Frame> {
        let slot = self.take()?;
        let [from, to] = [&frame.slot, &slot].map(|slot| self.offset(slot) + frame.start);
        self.region.copy(from, to, frame.length);
        Some(Frame { slot, start: frame.start, length: frame.length, arrival: frame.arrival })
    }

    /// A frame of these octets, as if it had arrived at `arrival`; `None` where the arena is full or the octets are
    /// more than a slot takes.
    pub fn frame(&mut self, octets: &[u8], arrival: Timestamp<Monotonic>) -> Option<Frame> {
        if octets.len() > self.longest_frame() {
            return None;
        }
        let slot = self.take()?;
        self.slot_mut(&slot)[HEADROOM..HEADROOM + octets.len()].copy_from_slice(octets);
        Some(Frame { slot, start: HEADROOM, length: octets.len(), arrival })
    }

    /// Takes a frame's slot back.
    pub fn release(&mut self, frame: Frame) {
        self.give_back(frame.slot);
    }

    pub(crate) fn take(&mut self) -> Option<Slot> {
        self.free.pop()
    }

    pub(crate) fn give_back(&mut self, slot: Slot) {
        debug_assert!(self.free.len() < self.free.capacity(), "a slot of another arena");
        self.free.push(slot);
    }

    /// Octets from one slot to the next.
    pub(crate) const fn slot_octets(&self) -> usize {
        self.slot_octets
    }

    /// Where the first slot lies, for the kernel.
    pub(crate) fn address(&self) -> u64 {
        self.region.address()
    }

    fn offset(&self, slot: &Slot) -> usize {
        usize::try_from(slot.0).unwrap_or(usize::MAX).saturating_mul(self.slot_octets)
    }

    pub(crate) fn slot(&self, slot: &Slot) -> &[u8] {
        self.region.part(self.offset(slot), self.slot_octets)
    }

    pub(crate) fn slot_mut(&mut self, slot: &Slot) -> &mut [u8] {
        self.region.part_mut(self.offset(slot), self.slot_octets)
    }
}
