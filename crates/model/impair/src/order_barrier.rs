//! The order of packets that take another path than those before them did, after a live change.
//!
//! Each live change after which packets may take other paths begins a new generation in its direction. A piece is of the
//! generation in which it comes into the delay stage. One that keeps its order goes on to the rate only when no other
//! path of its direction has a piece of an earlier generation behind the reorder stage. When these will have left is not
//! worked out beforehand: a later change of a rate may make it later, or sooner.
//!
//! Nothing waits for ever: pieces that keep their order come to the gate of their path in the order of generations, so
//! that those of the earliest generation of all never wait here.

use std::collections::VecDeque;

use crate::nanos::Nanos;
use crate::packet_store::{NEVER, SlabKey};

/// Later than all generations: nothing that is older is anywhere.
pub(crate) const OPEN: u32 = u32::MAX;

/// What the gate has to know of a piece.
#[derive(Clone, Copy, Debug, Default)]
struct BarrierState {
    generation: u32,
    ordered: bool,
}

/// Where the pieces of one path wait, between its delay stage and its rate, for those of others.
#[derive(Clone, Debug)]
pub(crate) struct OrderBarrier {
    /// That of what comes into the delay stage now.
    generation: u32,
    /// By place, of the pieces behind the reorder stage.
    standings: Vec<BarrierState>,
    /// How many pieces of generations before this one are behind the reorder stage of this path, the earliest first,
    /// none with 0.
    older: VecDeque<(u32, usize)>,
    /// The earliest generation that the other paths of the direction hold, of those before this one; else [`OPEN`].
    others: u32,
    /// When that became so.
    since: Nanos,
    waiting: VecDeque<SlabKey>,
}

impl OrderBarrier {
    /// Room for `capacity` pieces before anything is allocated.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            generation: 0,
            standings: Vec::with_capacity(capacity),
            older: VecDeque::new(),
            others: OPEN,
            since: Nanos::MIN,
            waiting: VecDeque::with_capacity(capacity),
        }
    }

    /// What comes from now on is of `generation`; `inside` pieces are behind the reorder stage, and are older.
    pub(crate) fn begin(&mut self, generation: u32, inside: usize) {
        let counted: usize = self.older.iter().map(|(_, number)| number).sum();
        if inside > counted {
            self.older.push_back((self.generation, inside - counted));
        }
        self.generation = generation;
    }

    /// The piece at `place` comes into the delay stage.
    pub(crate) fn enter(&mut self, place: SlabKey, ordered: bool) {
        let place = place as usize;
        if self.standings.len() <= place {
            self.standings.resize(place + 1, BarrierState::default());
        }
        self.standings[place] = BarrierState { generation: self.generation, ordered };
    }

    /// The piece at `place` has left the path, or is lost.
    pub(crate) fn leave(&mut self, place: SlabKey) {
        if self.older.is_empty() {
            return;
        }
        let generation = self.standings[place as usize].generation;
        if let Some(at) = self.older.iter().position(|(older, _)| *older == generation) {
            self.older[at].1 -= 1;
            if self.older[at].1 == 0 {
                self.older.remove(at);
            }
        }
    }

    /// The earliest generation before this one of which pieces are in this path; else [`OPEN`].
    pub(crate) fn oldest(&self) -> u32 {
        self.older.front().map_or(OPEN, |(generation, _)| *generation)
    }

    /// Whether nothing waits or has to, and no other path waits for this one.
    pub(crate) fn is_idle(&self) -> bool {
        self.others == OPEN && self.waiting.is_empty() && self.older.is_empty()
    }

    /// From `now` on `others` is the earliest generation before this one that the other paths hold.
    pub(crate) const fn behind(&mut self, others: u32, now: Nanos) {
        if self.others != others {
            (self.others, self.since) = (others, now);
        }
    }

    /// Whether the piece at `place`, which the delay stage lets go, has to wait; if so, it does from now on.
    pub(crate) fn stops(&mut self, place: SlabKey) -> bool {
        if self.others == OPEN && self.waiting.is_empty() {
            return false;
        }
        let standing = self.standings[place as usize];
        let stops = standing.ordered && (standing.generation > self.others || !self.waiting.is_empty());
        if stops {
            self.waiting.push_back(place);
        }
        stops
    }

    /// When the first that waits may go on; [`NEVER`] while it may not, or none waits.
    pub(crate) fn next_at(&self) -> Nanos {
        match self.waiting.front() {
            Some(place) if self.standings[*place as usize].generation <= self.others => self.since,
            _ => NEVER,
        }
    }

    /// The first that waits.
    pub(crate) fn pop(&mut self) -> Option<SlabKey> {
        self.waiting.pop_front()
    }
}
