//! Steps of a capturing host's clock: a capture has its packets in the order in which it took them, so that a stamp that goes back,
//! or one that is late by as much as all packets from there on are late by the other capture, is a clock's that was set.
//!
//! The steps are taken out of the stamps before packets of two captures are compared by time, but for a little, which the clocks'
//! estimate then finds, and tells how large the whole was.

use std::collections::HashMap;
use std::hash::Hash;

use romer_exchange::capture::Captured;
use romer_record::event::EventLocation;

use super::known::{self, Known};
use super::stepped::{self, Scan, Stamped, SteppedClock};

/// Steps of both clocks at once are of the same size to a part in so many.
const SIZE_TOLERANCE_DIVISOR: i64 = 10;

/// Where packets of a capture are in the other one, both in the order of their files, and the conversation's flow of each.
pub(super) struct Matched {
    pairs: [Vec<Option<(usize, bool)>>; 2],
}

impl Matched {
    /// Finds packets by their `key`; `way` tells those that are heeded: of the one flow or of the other.
    pub(super) fn detect<K: Eq + Hash>(
        captures: [&[Captured]; 2],
        key: impl Fn(&Captured) -> K,
        way: impl Fn(&Captured) -> Option<bool>,
    ) -> Self {
        let mut there: HashMap<K, Vec<usize>> = HashMap::new();
        for (place, packet) in captures[1].iter().enumerate().rev() {
            there.entry(key(packet)).or_default().push(place);
        }
        let mut pairs = captures.map(|packets| vec![None; packets.len()]);
        for (place, packet) in captures[0].iter().enumerate() {
            let Some(way) = way(packet) else { continue };
            if let Some(other) = there.get_mut(&key(packet)).and_then(Vec::pop) {
                pairs[0][place] = Some((other, way));
                pairs[1][other] = Some((place, way));
            }
        }
        Self { pairs }
    }
}

/// Puts the packets of captures in the order in which they were taken, where a clock was set back meanwhile and the capture was sorted by time
/// since, as programs do that join captures: the other capture has the order. Gives by how much each was set back.
pub(super) fn as_taken(captures: [&mut Vec<Captured>; 2], matched: &Matched) -> [Option<i64>; 2] {
    let [near, far] = captures;
    if ![&*near, &*far].into_iter().all(|packets| packets.is_sorted_by_key(|packet| packet.at_ns)) {
        return [None; 2];
    }
    let first = Sorted::detect_in(near, far, &matched.pairs[0]);
    let second = Sorted::detect_in(far, near, &matched.pairs[1]);
    // Either order may be wrong: that one is right by which less time has passed meanwhile.
    let passed = |sorted: &Option<Sorted>| sorted.as_ref().map_or(i64::MAX, |sorted| sorted.passed_ns);
    let is_first = passed(&first) <= passed(&second);
    [
        first.filter(|_| is_first).map(|sorted| sorted.undo(near, far)),
        second.filter(|_| !is_first).map(|sorted| sorted.undo(far, near)),
    ]
}

/// A step of the clock of a capture that was sorted since.
struct Sorted {
    /// The packets that both have, in the other capture's order: their places there and here.
    both: Vec<(usize, usize, bool)>,
    /// The first packet there after the step, and by how much the clock was set back.
    there: usize,
    size_ns: i64,
    /// What has passed between two packets meanwhile.
    passed_ns: i64,
}

impl Sorted {
    fn detect_in(own: &[Captured], other: &[Captured], pairs: &[Option<(usize, bool)>]) -> Option<Self> {
        /// A step is longer than ways there and back are.
        const LEAST_NS: i64 = 1_000_000_000;
        let matched =
            |(place, pair): (usize, &Option<(usize, bool)>)| pair.map(|(there, way)| (there, place, way));
        let mut both: Vec<(usize, usize, bool)> = pairs.iter().enumerate().filter_map(matched).collect();
        both.sort_unstable();
        // One way by itself: packets of the other are on their way meanwhile.
        let back = both.iter().filter(|one| one.2).count();
        let fuller = 2 * back > both.len();
        let shown: Vec<&(usize, usize, bool)> = both.iter().filter(|one| one.2 == fuller).collect();
        let of = |one: &&(usize, usize, bool)| Stamped {
            own: own[one.1].at_ns,
            other: Some((other[one.0].at_ns, one.2)),
        };
        let mut stamped: Vec<Stamped> = shown.iter().map(of).collect();
        // A packet that was overtaken may seem to be another.
        let mut steps = stepped::take_out(&mut stamped, Scan::Back)?;
        steps.retain(|step| step.whose == SteppedClock::Own && step.size_ns <= -LEAST_NS);
        let [step] = steps[..] else { return None };
        let passed_ns = step.after_ns.saturating_sub(step.before_ns).saturating_sub(step.size_ns);
        let there = shown[step.place].0;
        Some(Self { both, there, size_ns: step.size_ns, passed_ns })
    }

    /// Puts the packets in the order in which they were taken.
    fn undo(&self, own: &mut Vec<Captured>, other: &[Captured]) -> i64 {
        /// Packets so near to the step in the other capture's order are told by their levels: ways there and back take a while.
        const NEAR: usize = 256;
        let apart =
            |(there, place, _): &(usize, usize, bool)| own[*place].at_ns.saturating_sub(other[*there].at_ns);
        let place = self.both.partition_point(|one| one.0 < self.there);
        let mut before: Vec<i64> = self.both[..place].iter().rev().take(NEAR).map(apart).collect();
        let middle = before.len() / 2;
        let level = *before.select_nth_unstable(middle).1;
        let mut after: Vec<Option<bool>> = vec![None; own.len()];
        for (order, one) in self.both.iter().enumerate() {
            let is_low = apart(one).saturating_sub(level) < self.size_ns / 2;
            let is_later = order >= place;
            after[one.1] = Some(if order.abs_diff(place) < NEAR { is_low } else { is_later });
        }
        // What the other capture does not have is of the time of the packet before it.
        let mut last = after.iter().copied().flatten().next().unwrap_or(false);
        let told = |(packet, after): (&Captured, Option<bool>)| {
            last = after.unwrap_or(last);
            (last, *packet)
        };
        let mut told: Vec<(bool, Captured)> = own.iter().zip(after).map(told).collect();
        told.sort_by_key(|(is_after, packet)| (*is_after, packet.at_ns));
        *own = told.into_iter().map(|(_, packet)| packet).collect();
        self.size_ns
    }
}

/// Takes the steps of both captures' clocks out of their stamps and gives them, those of the first as the sender's. What is left of each is
/// for the estimate to find, where `is_left` says that it can.
pub(super) fn take_out(captures: [&mut [Captured]; 2], matched: &Matched, is_answered: bool) -> Vec<Known> {
    let [near, far] = captures;
    let mut found = of_one(near, far, &matched.pairs[0], is_answered, EventLocation::Sender);
    let mut theirs = of_one(far, near, &matched.pairs[1], is_answered, EventLocation::Responder);
    // What nothing tells of a step of both, is not known of the other's either.
    for one in &mut theirs {
        let is_same = |other: &&Known| {
            let (size, others) = (one.taken_ns.saturating_add(one.left_ns), other.taken_ns);
            size.saturating_sub(others).saturating_abs() <= size.saturating_abs() / SIZE_TOLERANCE_DIVISOR
        };
        one.common_ns = found.iter().filter(is_same).map(|other| other.common_ns).max().unwrap_or(0);
    }
    found.extend(theirs);
    // When it was by the first capture's clock.
    for known in &mut found {
        let pairs = &matched.pairs[usize::from(known.location == EventLocation::Responder)];
        let place = known.place;
        let at = |place: Option<usize>| place.and_then(|place| near.get(place)).map(|packet| packet.at_ns);
        let (last, next) = match known.location {
            EventLocation::Sender => (at(place.checked_sub(1)), at(Some(place))),
            _ => {
                let matched = |pair: &Option<(usize, bool)>| pair.map(|(other, _)| other);
                let (before, after) = pairs.split_at(place);
                (at(before.iter().rev().find_map(matched)), at(after.iter().find_map(matched)))
            }
        };
        known.near_ns = next.or(last).unwrap_or(0);
        known.since_ns = last.unwrap_or(known.near_ns);
    }
    found
}

fn of_one(
    own: &mut [Captured],
    other: &[Captured],
    pairs: &[Option<(usize, bool)>],
    is_answered: bool,
    location: EventLocation,
) -> Vec<Known> {
    let of = |(packet, pair): (&Captured, &Option<(usize, bool)>)| {
        let other = pair.and_then(|(place, way)| Some((other.get(place)?.at_ns, way)));
        Stamped { own: packet.at_ns, other }
    };
    let mut stamped: Vec<Stamped> = own.iter().zip(pairs).map(of).collect();
    let look = if is_answered { Scan::Captured } else { Scan::OneWay(0) };
    // What is in no order tells nothing.
    let mut steps = stepped::take_out(&mut stamped, look).unwrap_or_default();
    steps.retain(|step| step.whose != SteppedClock::Others);
    let mut found = Vec::new();
    for step in steps {
        let left_ns = if step.is_exact { 0 } else { known::left(step.uncertain_ns) };
        let taken_ns = step.size_ns.saturating_sub(left_ns);
        own[step.place..].iter_mut().for_each(|packet| packet.at_ns = packet.at_ns.saturating_sub(taken_ns));
        let (before, after) = (own[step.place - 1].at_ns, own[step.place].at_ns);
        found.push(Known {
            location,
            place: step.place,
            from_ns: before.saturating_add(after.saturating_sub(before) / 2),
            taken_ns,
            left_ns,
            uncertain_ns: if step.whose == SteppedClock::Both { 0 } else { step.uncertain_ns },
            common_ns: if step.whose == SteppedClock::Both { step.uncertain_ns } else { 0 },
            since_ns: 0,
            near_ns: 0,
            before_ns: step.before_ns,
            after_ns: step.after_ns,
        });
    }
    found
}
