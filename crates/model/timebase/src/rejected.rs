//! Stamps of the responder that cannot be true, by causality.
//!
//! A reply leaves the responder after its request came, and both lie between the probe's departure and its return. So each round trip
//! bounds the offset of the clocks (responder minus sender) from both sides: t3 - t4 <= offset <= t2 - t1. Two rules follow, neither of
//! which needs a threshold:
//!
//! - Where a round trip's own bounds cross, or t3 lies before t2, one of the two stamps is false.
//! - Where the bounds of a round trip exclude those of the one before it and of the one after it, and these two agree, both of its
//!   stamps are false. A clock that drifts, is slewed or is set once never looks so: it would have to go and come back between three
//!   round trips.

use std::collections::HashSet;

use romer_record::document::Way;
use romer_record::{RoundTrip, Stamps};
use romer_units::{Clock, Place, Timestamp};

use crate::Selection;
use crate::clocks::elapsed;

/// From one rejected reply in so many on, all of the responder's stamps are wrong in themselves ...
const SHARE: u64 = 10;
/// ... of so many rejected replies at the least.
const LEAST: u64 = 3;

/// The replies that one rule rejects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rejected {
    /// How many.
    pub replies: u64,
    /// The first packet.
    pub first: Option<u64>,
    /// By how much the rule was broken at the most, nanoseconds.
    pub most_ns: i64,
}

impl Rejected {
    fn count(&mut self, sequence: u64, by_ns: i64) {
        self.replies += 1;
        self.first.get_or_insert(sequence);
        self.most_ns = self.most_ns.max(by_ns);
    }
}

/// What was rejected of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RejectedStamps {
    /// Replies with both of the responder's stamps.
    pub compared: u64,
    /// Those that left before their request came: t3 before t2.
    pub early: Rejected,
    /// Those that were at the responder for longer than the probe was away: t3 - t2 above t4 - t1.
    pub long: Rejected,
    /// Those whose two stamps lie apart from those of the round trips before and after.
    pub apart: Rejected,
}

impl RejectedStamps {
    /// How many replies were rejected.
    pub const fn replies(&self) -> u64 {
        self.early.replies + self.long.replies + self.apart.replies
    }

    /// Whether there are so many that the stamps are wrong in themselves, also those of the other replies.
    pub const fn are_most(&self) -> bool {
        are_many(self.replies(), self.compared)
    }
}

/// Whether so many replies of so many are too many for single false stamps.
pub(crate) const fn are_many(replies: u64, compared: u64) -> bool {
    replies >= LEAST && replies.saturating_mul(SHARE) >= compared
}

/// The bounds of the offset, responder minus sender, that one round trip gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    low: i128,
    high: i128,
}

impl Bounds {
    const fn meet(self, other: Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// How far two that do not meet lie apart.
    fn gap(self, other: Self) -> i128 {
        (self.low - other.high).max(other.low - self.high)
    }
}

/// What a round trip says of the responder's stamps.
enum Verdict {
    /// A stamp is missing.
    Nothing,
    Early(i128),
    Long(i128),
    Bounds(Bounds),
}

/// Passes rows on without the stamps that are rejected. Of a rejected reply the row [says so](RoundTrip::far_stamps_rejected).
#[derive(Clone, Debug, Default)]
pub struct StampCheck {
    selection: Selection,
    /// The bounds of the last round trip that was accepted.
    before: Option<Bounds>,
    /// The bounds of one that excludes those before it: the next one decides.
    doubted: Option<Bounds>,
    /// The rows of that one, and those after it.
    held: Vec<RoundTrip>,
    rejected: RejectedStamps,
}

impl StampCheck {
    /// Begins with no row. The stamps of the places of `selection` are compared.
    pub fn new(selection: Selection) -> Self {
        Self { selection, ..Self::default() }
    }

    /// Takes the next rows, in order of sequence and copy; all rows of a probe come together. They are passed on in the same order;
    /// some wait for the next call, or for [`finish`](Self::finish).
    pub fn take(&mut self, rows: &[RoundTrip], pass: &mut dyn FnMut(&[RoundTrip])) {
        // Rows before this one are passed on, or held.
        let (mut done, mut end) = (0, 0);
        for probe in rows.chunk_by(|a, b| (a.way, a.sequence) == (b.way, b.sequence)) {
            let begin = end;
            end += probe.len();
            let false_copies = self.false_copies(probe);
            let of_first = probe.iter().find(|row| row.returned && !false_copies.contains(&row.forward_copy));
            let bounds = of_first.and_then(|row| match self.verdict(row) {
                Verdict::Bounds(bounds) => Some(bounds),
                _ => None,
            });
            if let (Some(doubted), Some(bounds)) = (self.doubted, bounds) {
                self.decide(doubted, Some(bounds));
                pass(&self.held);
                self.held.clear();
            }
            let apart = bounds.zip(self.before).is_some_and(|(bounds, before)| !bounds.meet(before));
            if self.doubted.is_none() && !apart && false_copies.is_empty() {
                self.before = bounds.or(self.before);
                continue;
            }
            if done < begin {
                pass(&rows[done..begin]);
            }
            done = end;
            self.held.extend(probe);
            let own = self.held.len() - probe.len();
            for row in self.held[own..].iter_mut().filter(|row| false_copies.contains(&row.forward_copy)) {
                reject(row);
            }
            if self.doubted.is_some() {
                continue;
            }
            if apart {
                self.doubted = bounds;
            } else {
                self.before = bounds.or(self.before);
                pass(&self.held);
                self.held.clear();
            }
        }
        if done < rows.len() {
            pass(&rows[done..]);
        }
    }

    /// Passes on what waited, and gives what was rejected.
    pub fn finish(mut self, pass: &mut dyn FnMut(&[RoundTrip])) -> RejectedStamps {
        if !self.held.is_empty() {
            pass(&self.held);
            self.held.clear();
        }
        self.rejected
    }

    /// Rejects the first of the held probes if the round trips on either side of it agree with each other and not with it.
    fn decide(&mut self, doubted: Bounds, next: Option<Bounds>) {
        self.doubted = None;
        let around = self.before.zip(next).filter(|(before, next)| before.meet(*next));
        let Some((before, next)) = around.filter(|(_, next)| !next.meet(doubted)) else {
            self.before = Some(doubted);
            return;
        };
        let Some(first) = self.held.first().map(|row| (row.way, row.sequence)) else { return };
        let by = doubted.gap(before).min(doubted.gap(next));
        self.rejected.apart.count(first.1, nanos(by));
        self.held.iter_mut().take_while(|row| (row.way, row.sequence) == first).for_each(reject);
    }

    /// The arrivals at the responder whose stamps contradict themselves, by their numbers.
    fn false_copies(&mut self, probe: &[RoundTrip]) -> HashSet<u32> {
        let mut copies = HashSet::new();
        for row in probe.iter().filter(|row| row.returned && row.way == Way::RoundTrip) {
            let verdict = self.verdict(row);
            let is_first = row.copy == 0;
            self.rejected.compared += u64::from(is_first && !matches!(verdict, Verdict::Nothing));
            match verdict {
                Verdict::Early(by) if is_first => self.rejected.early.count(row.sequence, nanos(by)),
                Verdict::Long(by) if is_first => self.rejected.long.count(row.sequence, nanos(by)),
                Verdict::Early(_) | Verdict::Long(_) => {}
                Verdict::Nothing | Verdict::Bounds(_) => continue,
            }
            copies.insert(row.forward_copy);
        }
        copies
    }

    fn verdict(&self, row: &RoundTrip) -> Verdict {
        let at = &self.selection;
        let there = row.t2.at(at.t2).zip(row.t3.at(at.t3));
        let Some((t2, t3)) = there.filter(|_| row.way == Way::RoundTrip) else { return Verdict::Nothing };
        let lay = elapsed(t2, t3);
        if lay < 0 {
            return Verdict::Early(-lay);
        }
        let Some((t1, t4)) = row.t1.at(at.t1).zip(row.t4.at(at.t4)) else { return Verdict::Nothing };
        let over = lay - elapsed(t1, t4);
        if over > 0 {
            return Verdict::Long(over);
        }
        Verdict::Bounds(Bounds { low: apart(t3, t4), high: apart(t2, t1) })
    }
}

/// What the responder's clock shows more than the sender's.
fn apart<R: Clock, S: Clock>(there: Timestamp<R>, here: Timestamp<S>) -> i128 {
    crate::clocks::across(here.renamed(), there.renamed())
}

fn reject(row: &mut RoundTrip) {
    (row.t2, row.t3) = (Stamps::default(), Stamps::default());
    row.far_stamps_rejected = true;
}

fn nanos(by: i128) -> i64 {
    i64::try_from(by).unwrap_or(i64::MAX)
}

/// The part of a second that stamps show, of all of a stream: whether the responder writes another unit into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fractions {
    /// The greatest of the responder, nanoseconds.
    most_ns: Option<i64>,
    /// The sixteenths of a second in which the sender has stamps, a bit each.
    sender: u16,
}

/// A unit of time that is written where a fraction of 2^-32 s is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FalseUnit {
    /// Microseconds: the part of a second never exceeds 0.24 ms.
    Microseconds,
    /// Nanoseconds (a PTP time stamp without the Z bit of RFC 8762): it never exceeds 0.24 s.
    Nanoseconds,
}

const SECOND_NS: i64 = 1_000_000_000;

impl Fractions {
    /// Takes the next rows.
    pub fn take(&mut self, rows: &[RoundTrip], selection: &Selection) {
        for row in rows.iter().filter(|row| row.returned && row.way == Way::RoundTrip) {
            let there = stamp(&row.t2, selection.t2).into_iter().chain(stamp(&row.t3, selection.t3));
            let most = there.map(|at| at.rem_euclid(SECOND_NS)).max();
            let Some((most, here)) = most.zip(stamp(&row.t1, selection.t1)) else { continue };
            self.most_ns = self.most_ns.max(Some(most));
            self.sender |= 1 << (here.rem_euclid(SECOND_NS) * 16 / SECOND_NS);
        }
    }

    /// The unit that the responder writes, if its stamps show nothing but the beginning of seconds while the sender's lie all over them.
    /// Stamps of whole seconds show no unit.
    pub fn false_unit(&self) -> Option<FalseUnit> {
        let whole = |unit: i64| unit * SECOND_NS / (1 << 32);
        let most = self.most_ns.filter(|most| *most > 0 && self.sender.count_ones() > 8)?;
        match most {
            most if most <= whole(1_000_000) => Some(FalseUnit::Microseconds),
            most if most <= whole(1_000_000_000) => Some(FalseUnit::Nanoseconds),
            _ => None,
        }
    }
}

fn stamp<C: Clock>(stamps: &Stamps<C>, place: Option<Place>) -> Option<i64> {
    stamps.at(place).map(Timestamp::as_nanos)
}
