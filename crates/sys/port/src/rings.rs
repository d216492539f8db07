//! The rings that an XDP socket shares with the kernel: one side writes entries and then the producer's counter, the
//! other reads them and then writes the consumer's.

use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use romer_host::HostError;

use crate::sys;

/// A ring of entries `T`, mapped from a socket.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    begin: NonNull<u8>,
    octets: usize,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    entries: NonNull<T>,
    size: u32,
}

// SAFETY: the mapping belongs to the ring alone; the kernel's side is spoken to by atomics.
unsafe impl<T: Send> Send for Ring<T> {}

/// Which ring of a socket, and where its parts lie in it.
pub(crate) struct RingLayout {
    pub(crate) page: libc::off_t,
    pub(crate) offsets: libc::xdp_ring_offset,
}

impl<T: Copy> Ring<T> {
    /// Maps a ring of `size` entries, a power of two, that the socket has.
    pub(crate) fn map(socket: BorrowedFd<'_>, place: &RingLayout, size: u32) -> Result<Self, HostError> {
        let offset = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let entries = usize::try_from(size).unwrap_or(usize::MAX).saturating_mul(size_of::<T>());
        let octets = offset(place.offsets.desc).saturating_add(entries);
        let begin = sys::map_shared(socket, octets, place.page, "")?;
        // SAFETY: the kernel says where in the mapping these lie, aligned for what they are.
        let [producer, consumer, entries] =
            [place.offsets.producer, place.offsets.consumer, place.offsets.desc]
                .map(|value| unsafe { begin.add(offset(value)) });
        Ok(Self {
            begin,
            octets,
            producer: producer.cast(),
            consumer: consumer.cast(),
            entries: entries.cast(),
            size,
        })
    }

    fn counter(&self, which: NonNull<AtomicU32>) -> &AtomicU32 {
        // SAFETY: the counter lies in the mapping, which lives as long as this, and is only used atomically.
        unsafe { which.as_ref() }
    }

    /// How far the producer has come.
    pub(crate) fn produced(&self) -> u32 {
        self.counter(self.producer).load(Ordering::Acquire)
    }
    /// How far the consumer has come.
    pub(crate) fn consumed(&self) -> u32 {
        self.counter(self.consumer).load(Ordering::Acquire)
    }
    /// Entries that wait to be consumed.
    pub(crate) fn waiting(&self) -> u32 {
        self.produced().wrapping_sub(self.consumed())
    }
    /// Entries that can be produced.
    pub(crate) fn room(&self) -> u32 {
        self.size - self.waiting().min(self.size)
    }
    /// Says how far our side has produced; entries before it are written.
    pub(crate) fn produce_to(&mut self, position: u32) {
        self.counter(self.producer).store(position, Ordering::Release);
    }
    /// Says how far our side has consumed; entries before it are read.
    pub(crate) fn consume_to(&mut self, position: u32) {
        self.counter(self.consumer).store(position, Ordering::Release);
    }

    fn entry(&self, position: u32) -> NonNull<T> {
        let index = usize::try_from(position & (self.size - 1)).unwrap_or(0);
        // SAFETY: the index is below the size, and the mapping holds as many entries.
        unsafe { self.entries.add(index) }
    }
    /// The entry at a position between consumer and producer.
    pub(crate) fn read(&self, position: u32) -> T {
        // SAFETY: the entry lies in the mapping, and the kernel has let go of it.
        unsafe { self.entry(position).read_volatile() }
    }
    /// Writes the entry at a position from the producer on, as far as there is room.
    pub(crate) fn write(&mut self, position: u32, entry: T) {
        // SAFETY: the entry lies in the mapping, and the kernel looks at it only after `produce_to`.
        unsafe { self.entry(position).write_volatile(entry) }
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and the borrows of it have ended.
        unsafe { libc::munmap(self.begin.as_ptr().cast(), self.octets) };
    }
}
