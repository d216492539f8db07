//! Where packets wait: for a moment, or for others to go past.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use crate::nanos::Nanos;
use crate::packet::Outcome;

/// What never comes: later than any moment that a caller has.
pub(crate) const NEVER: Nanos = Nanos::MAX;

/// A packet or copy inside the engine.
pub(crate) type InFlight = Outcome;

/// Where a piece lies in [`Slab`].
pub(crate) type SlabKey = u32;

/// The packets and copies inside a path. Each stays where it was put until it comes out, and only its place moves from
/// stage to stage. Of the free places the one that was freed last is used first, so that few packets need little memory
/// to be near the processor.
#[derive(Clone, Debug)]
pub(crate) struct Slab {
    all: Vec<InFlight>,
    free: Vec<SlabKey>,
}

impl Slab {
    /// Room for `capacity` pieces before anything is allocated.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self { all: Vec::with_capacity(capacity), free: Vec::with_capacity(capacity) }
    }

    /// Keeps a piece. There are fewer than 2^32: no path holds as many.
    pub(crate) fn put(&mut self, piece: InFlight) -> SlabKey {
        if let Some(place) = self.free.pop() {
            self.all[place as usize] = piece;
            return place;
        }
        self.all.push(piece);
        u32::try_from(self.all.len() - 1).unwrap_or(SlabKey::MAX)
    }

    /// The piece at a place that [`Slab::put`] gave.
    pub(crate) fn at(&self, place: SlabKey) -> &InFlight {
        &self.all[place as usize]
    }

    /// The same, to be changed.
    pub(crate) fn at_mut(&mut self, place: SlabKey) -> &mut InFlight {
        &mut self.all[place as usize]
    }

    /// The same, whose place is free then.
    pub(crate) fn take(&mut self, place: SlabKey) -> InFlight {
        self.free.push(place);
        self.all[place as usize]
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len() - self.free.len()
    }
}

/// Things that become due, earliest first, of equal ones the one that came first. What comes in order lies in a ring,
/// so that a constant delay costs no heap.
#[derive(Clone, Debug)]
pub(crate) struct TimerHeap<T> {
    ring: VecDeque<Due<T>>,
    heap: BinaryHeap<Reverse<Due<T>>>,
    next: u64,
}

#[derive(Clone, Debug)]
struct Due<T> {
    at: Nanos,
    number: u64,
    thing: T,
}

impl<T> PartialEq for Due<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl<T> Eq for Due<T> {}
impl<T> PartialOrd for Due<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Due<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl<T> TimerHeap<T> {
    /// Room for `capacity` things before anything is allocated.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self { ring: VecDeque::with_capacity(capacity), heap: BinaryHeap::with_capacity(capacity), next: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.ring.len() + self.heap.len()
    }

    pub(crate) fn push(&mut self, at: Nanos, thing: T) {
        let due = Due { at, number: self.next, thing };
        self.next += 1;
        if self.ring.back().is_none_or(|last| last.at <= at) {
            self.ring.push_back(due);
        } else {
            self.heap.push(Reverse(due));
        }
    }

    /// When the earliest is due; [`NEVER`] where there is none.
    pub(crate) fn next_at(&self) -> Nanos {
        let first = self.ring.front().map_or(NEVER, |due| due.at);
        if self.heap.is_empty() {
            return first;
        }
        self.heap.peek().map_or(first, |Reverse(due)| due.at.min(first))
    }

    /// The earliest, with when it was due.
    pub(crate) fn pop(&mut self) -> Option<(Nanos, T)> {
        let from_ring = self.heap.is_empty()
            || match (self.ring.front(), self.heap.peek()) {
                (Some(a), Some(Reverse(b))) => a < b,
                (ring, _) => ring.is_some(),
            };
        let due = if from_ring { self.ring.pop_front() } else { self.heap.pop().map(|Reverse(due)| due) };
        if self.ring.is_empty() {
            // Begin at its first place again, which the processor still has at hand.
            self.ring.clear();
        }
        due.map(|due| (due.at, due.thing))
    }
}

/// Displaced packets, until so many later ones have left the stage, or until they have waited long enough.
///
/// A packet that waits counts every packet that came to the stage after it and has left: those that are not displaced,
/// and displaced ones that are released. Each departure adds 1 to the counts of older packets only, and of several that
/// are due the oldest is released first. So no count goes beyond its displacement, and one that stays below it belongs to
/// a packet whose time was up.
#[derive(Clone, Debug)]
pub(crate) struct ReorderBuffer {
    /// As they came.
    waiting: VecDeque<DisplacedPacket>,
    /// Packets that were not displaced and left the stage, which count for all that wait.
    passed: u64,
    /// The least `until` of all that wait; the greatest number where none waits.
    soonest: u64,
    /// [`NEVER`]: none waits.
    flush_at: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct DisplacedPacket {
    /// What `passed` is when enough have left: less by each displaced packet that came later and was released.
    until: u64,
    displacement: u32,
    flush_at: Nanos,
    place: SlabKey,
}

impl ReorderBuffer {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self { waiting: VecDeque::with_capacity(capacity), passed: 0, soonest: u64::MAX, flush_at: NEVER }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Holds what lies at `place` until `displacement` later packets have left, or until `flush_at`.
    pub(crate) fn hold(&mut self, place: SlabKey, displacement: u32, flush_at: Nanos) {
        let until = self.passed + u64::from(displacement);
        self.waiting.push_back(DisplacedPacket { until, displacement, flush_at, place });
        self.soonest = self.soonest.min(until);
        self.flush_at = self.flush_at.min(flush_at);
    }

    /// A packet that is not displaced goes past.
    pub(crate) const fn pass(&mut self) {
        self.passed += 1;
    }

    /// The oldest for which enough have left, and whether any had.
    pub(crate) fn release(&mut self) -> Option<(SlabKey, bool)> {
        if self.soonest > self.passed {
            return None;
        }
        let index = self.waiting.iter().position(|waiting| waiting.until <= self.passed)?;
        self.leave(index)
    }

    /// When the next has waited long enough; [`NEVER`] where none waits.
    pub(crate) const fn flush_at(&self) -> Nanos {
        self.flush_at
    }

    /// The first that has waited long enough by `now`, when that was, and whether any had gone past it.
    pub(crate) fn flush(&mut self, now: Nanos) -> Option<(Nanos, SlabKey, bool)> {
        let due = self.flush_at;
        if due > now {
            return None;
        }
        let index = self.waiting.iter().position(|waiting| waiting.flush_at == due)?;
        self.leave(index).map(|(place, passed)| (due, place, passed))
    }

    /// The first that is held, without more ado.
    pub(crate) fn take(&mut self) -> Option<SlabKey> {
        self.leave(0).map(|(place, _)| place)
    }

    /// The packet at `index` leaves, which counts for all older ones; whether any had gone past it.
    fn leave(&mut self, index: usize) -> Option<(SlabKey, bool)> {
        let left = self.waiting.remove(index)?;
        for older in self.waiting.range_mut(..index) {
            older.until = older.until.saturating_sub(1);
        }
        self.soonest = self.waiting.iter().map(|waiting| waiting.until).min().unwrap_or(u64::MAX);
        if self.flush_at == left.flush_at {
            self.flush_at = self.waiting.iter().map(|waiting| waiting.flush_at).min().unwrap_or(NEVER);
        }
        Some((left.place, self.passed + u64::from(left.displacement) > left.until))
    }
}
