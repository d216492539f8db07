//! What a bridge needs of an interface: frames in bursts, with their arrivals.

use std::collections::VecDeque;
use std::os::fd::AsFd;

use romer_units::{Duration, Monotonic, Timestamp};

use crate::arena::{Arena, Slot};
use crate::error::PortError;

/// Most frames that one burst takes in.
pub const BURST: usize = 32;

/// A frame in the arena, from its destination address to the end of its payload, without the frame check sequence.
#[derive(Debug)]
pub struct Frame {
    pub(crate) slot: Slot,
    pub(crate) start: usize,
    pub(crate) length: usize,
    pub(crate) arrival: Timestamp<Monotonic>,
}

impl Frame {
    /// Octets of the frame, without the frame check sequence.
    pub const fn octets(&self) -> usize {
        self.length
    }
    /// The number of its slot in the arena, which no other frame has while this one lives.
    pub const fn number(&self) -> u32 {
        self.slot.number()
    }
    /// When the kernel took it from the interface, on the clock of schedules. Never earlier than that of the frame
    /// before it on this port.
    pub const fn arrival(&self) -> Timestamp<Monotonic> {
        self.arrival
    }
}

/// The arrivals of a port, none earlier than that before it.
#[derive(Debug)]
pub(crate) struct ArrivalClock {
    last: Timestamp<Monotonic>,
}

impl ArrivalClock {
    /// Before the first.
    pub(crate) const fn new() -> Self {
        Self { last: Timestamp::from_nanos(i64::MIN) }
    }

    /// The next, of a frame that `age` says the age of at a moment. Where it came after `now`, which stays while a burst
    /// is read, the clocks are read `anew`: the reader may have stood still meanwhile, and a frame that is held from
    /// `now` would leave too soon. No frame waits for seconds to be read, nor comes from the future even then: such an
    /// age means that a clock was set or that there is no stamp, and then the frame has come just now.
    pub(crate) fn next<N: Copy>(
        &mut self,
        now: &mut N,
        age: impl Fn(N) -> (Timestamp<Monotonic>, Duration),
        anew: impl FnOnce() -> N,
    ) -> Timestamp<Monotonic> {
        const OLDEST: Duration = Duration::from_secs(10);
        let mut at = age(*now);
        if at.1 < Duration::ZERO {
            *now = anew();
            at = age(*now);
        }
        let (moment, age) = at;
        let age = if age < Duration::ZERO || age > OLDEST { Duration::ZERO } else { age };
        self.last = (moment - age).max(self.last);
        self.last
    }
}

/// What one call of [`Port::rx_burst`] brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Frames that were handed over.
    pub frames: usize,
    /// Frames that came and were let go because the arena is full.
    pub without_slot: u64,
    /// Frames that came and were let go because they are longer than a slot, or are several packets in one of a kind
    /// that is not taken apart (within another packet, SCTP, more than 64 KiB).
    pub oversize: u64,
    /// Whether more was waiting already when the burst was full. What waits came no earlier than the burst's last frame.
    pub more: bool,
}

/// Why a frame was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no room now. The frame stays at the front, to be sent later.
    Busy,
    /// It is longer than the interface takes. The frame stays at the front.
    Oversize,
    /// The interface is down or gone, or dropped the frame. The frame stays at the front; whoever sends it again
    /// may send it twice.
    Undeliverable,
}

/// What one call of [`Port::tx_burst`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames that the interface took, from the front.
    pub frames: usize,
    /// What became of the frame after these, where it was refused.
    pub refused: Option<Refusal>,
}

/// What an interface can do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It carries frames.
    Up,
    /// It is switched off, or its other end is. Frames may come again.
    Down,
    /// It is no more; nothing will come again.
    Gone,
}

/// An interface as a bridge sees it. Frames that the host itself sends by it are not seen.
pub trait Port: AsFd + Send {
    /// Appends to `frames` what has come, [`BURST`] at most, in order of arrival. Packets that a sender's offloads have
    /// joined come as the frames that the wire would have had. Allocates nothing where `frames` has room for as many. Nothing comes from an interface that is down or gone.
    ///
    /// # Errors
    /// The system's refusal to receive.
    fn rx_burst(&mut self, arena: &mut Arena, frames: &mut Vec<Frame>) -> Result<Received, PortError>;

    /// Sends frames from the front of `frames` until one is refused or all are sent. What is sent is taken off, and
    /// comes back to the arena by [`Port::reclaim`] at the latest. An interface whose other end is switched off may
    /// take frames and lose them: [`Port::link`] tells.
    fn tx_burst(&mut self, arena: &mut Arena, frames: &mut VecDeque<Frame>) -> Sent;

    /// Takes the slots of frames back into the arena that the interface has finished sending; how many.
    fn reclaim(&mut self, arena: &mut Arena) -> usize;

    /// Frames that the kernel dropped before they could be taken in, since the last call.
    ///
    /// # Errors
    /// The system does not say.
    fn kernel_drops(&mut self) -> Result<u64, PortError>;

    /// What the interface can do now.
    fn link(&self) -> LinkState;

    /// Whether what the interface has taken just now went on from there: one whose link is down may take frames and drop
    /// them without a word. Cheaper than [`Port::link`].
    fn carries(&self) -> bool {
        true
    }

    /// The largest IP packet of the interface when the port was opened, in octets.
    fn mtu(&self) -> u32;

    /// How it is named to users: `packet`, `xdp-native`, `xdp-generic`.
    fn data_plane(&self) -> &'static str;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An arrival stamped at `stamp`, read at `now`, where the clocks read anew say `anew`.
    fn arrival(arrivals: &mut ArrivalClock, stamp: i64, now: &mut i64, anew: i64) -> i64 {
        let age = |now| (Timestamp::from_nanos(now), Duration::from_nanos(now - stamp));
        arrivals.next(now, age, || anew).as_nanos()
    }

    #[test]
    fn what_comes_while_the_reader_stands_still_has_come_when_its_stamp_says() {
        let (mut arrivals, mut now) = (ArrivalClock::new(), 10_000_000);
        assert_eq!(arrival(&mut arrivals, 9_999_000, &mut now, 0), 9_999_000);
        // Between the reading of the clocks and this frame the thread was away for 5 ms.
        assert_eq!(arrival(&mut arrivals, 13_900_000, &mut now, 15_000_000), 13_900_000);
        assert_eq!(now, 15_000_000, "the frames after it are reckoned from the later reading");
        assert_eq!(arrival(&mut arrivals, 14_000_000, &mut now, 0), 14_000_000);
    }

    #[test]
    fn a_stamp_of_a_clock_that_was_set_is_not_believed() {
        let (mut arrivals, mut now) = (ArrivalClock::new(), 20_000_000_000);
        assert_eq!(arrival(&mut arrivals, 90_000_000_000, &mut now, 20_000_000_100), 20_000_000_100);
        assert_eq!(
            arrival(&mut arrivals, 0, &mut now, 0),
            20_000_000_100,
            "older than any frame, nor before the last"
        );
    }
}
