//! Where a sender's clock was set back.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::thinned::Thinned;

/// A place in the order of numbers: a packet's number, and its place in the file, which tells copies apart.
pub(super) type Place = (u64, u64);

/// What a step is made of: where it is, by how much send times fell there, and over how many numbers.
#[derive(Clone, Copy, Debug)]
struct Fall {
    place: Place,
    units: i64,
    packets: i64,
}

/// Looks for packets that were sent before the one of the number before them, which cannot be. Packets are put in the order of
/// their numbers first, so many at a time: one that comes later than that is no sign of a step.
#[derive(Debug)]
pub(super) struct Falls {
    waiting: BinaryHeap<Reverse<(Place, i64)>>,
    most: usize,
    last: Option<(Place, i64)>,
    gaps: Thinned<i64>,
    falls: Vec<Fall>,
    /// There were more than are kept.
    too_many: bool,
}

impl Falls {
    /// With so many packets at a time.
    pub(super) fn new(most: usize) -> Self {
        Self {
            waiting: BinaryHeap::new(),
            most,
            last: None,
            gaps: Thinned::new(most),
            falls: Vec::new(),
            too_many: false,
        }
    }

    /// Takes in a packet, sent at `sent` by the clock that may have been set.
    pub(super) fn push(&mut self, place: Place, sent: i64) {
        self.waiting.push(Reverse((place, sent)));
        if self.waiting.len() > self.most {
            self.check_next();
        }
    }

    fn check_next(&mut self) {
        let Some(Reverse((place, sent))) = self.waiting.pop() else { return };
        if let Some((before, sent_before)) = self.last {
            if place < before {
                return;
            }
            let (units, packets) =
                (sent - sent_before, i64::try_from(place.0 - before.0).unwrap_or(i64::MAX));
            if units > 0 && packets > 0 {
                self.gaps.push(self.gaps.seen(), units / packets);
            }
            if units < 0 {
                self.too_many |= self.falls.len() >= self.most;
                if !self.too_many {
                    self.falls.push(Fall { place, units, packets });
                }
            }
        }
        self.last = Some((place, sent));
    }

    /// What undoes the steps: from each on, packets were sent the usual gap after the one before.
    pub(super) fn finish(mut self) -> Shifts {
        while !self.waiting.is_empty() {
            self.check_next();
        }
        let mut gaps: Vec<i64> = self.gaps.values().iter().map(|(_, gap)| *gap).collect();
        gaps.sort_unstable();
        let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(0);
        let mut sum = 0i64;
        let shifted = |fall: &Fall| {
            sum = sum.saturating_add(usual.saturating_mul(fall.packets).saturating_sub(fall.units));
            (fall.place, sum)
        };
        Shifts { steps: self.falls.iter().map(shifted).collect(), too_many: self.too_many }
    }
}

/// By how much send times are moved on, from which place on.
#[derive(Clone, Debug, Default)]
pub(super) struct Shifts {
    steps: Vec<(Place, i64)>,
    too_many: bool,
}

impl Shifts {
    /// How many steps there were.
    pub(super) fn count(&self) -> usize {
        self.steps.len()
    }

    /// Whether there were more, which are those of no clock.
    pub(super) fn are_too_many(&self) -> bool {
        self.too_many
    }

    /// By how much the packet of this place is moved on.
    pub(super) fn at(&self, place: Place) -> i64 {
        let later = self.steps.partition_point(|(from, _)| *from <= place);
        later.checked_sub(1).map_or(0, |last| self.steps[last].1)
    }
}
