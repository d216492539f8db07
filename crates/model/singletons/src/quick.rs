//! Packets of one way that took less time than those before and after them, where no round trip says why.
//!
//! An arrival stamp that is early, or a departure stamp that is late, makes one packet seem quicker than its path. On two clocks all
//! other delays are counted from it. So a packet is compared with its neighbours, as the stamps of round trips are: it is too quick where
//! it lies below all of them by more than their spread. A larger neighbour may take longer, and is not compared.
//!
//! What a path does, it does again. Single packets lose their stamps. Where too many for single false stamps are too quick, the path may
//! have a quicker way, and all keep them.

use std::collections::VecDeque;

use romer_clock::across;
use romer_record::OneWaySingleton;
use romer_record::manifest::ClockRelation;

use crate::neighbours::UNITS;
use crate::rejected::nanos;
use crate::single::{are_no_single_ones, number_copies, unit, withdraw};

/// Packets on each side that one is compared with.
const NEIGHBOURS: usize = 8;
/// Of the neighbours that follow so many may be false as well; those before were accepted.
const FALSE_NEIGHBOURS: usize = 2;
/// A delay is too low by more than so many spreads of its neighbours.
const SPREADS: i128 = 4;
/// On one clock it is too low by more than one in so many of the least delay.
const SHARE: i128 = 4;
/// Of fewer differences between neighbours there is no spread.
const MIN_DIFFERENCES: usize = 6;

/// Packets of a direction whose delay is too low to be true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelayOutliers {
    /// Packets with both stamps.
    pub compared: u64,
    /// How many of them are too quick.
    pub packets: u64,
    /// The first.
    pub first: Option<u64>,
    /// By how much they lie below their neighbours at the most, nanoseconds.
    pub most_ns: i64,
}

impl DelayOutliers {
    /// Whether they are too many for single false stamps, and have kept theirs.
    pub const fn are_kept(&self) -> bool {
        are_no_single_ones(self.packets, self.compared)
    }
}

/// The first arrival of a packet.
#[derive(Clone, Copy, Debug)]
struct Seen {
    sequence: u64,
    size: u32,
    raw: i128,
}

/// Takes the stamps from single packets that are too quick. `singletons` are in order of sequence and copy.
pub(crate) fn reject(singletons: &mut [OneWaySingleton], relation: ClockRelation) -> DelayOutliers {
    let mut found = DelayOutliers::default();
    let mut too_quick: Vec<(u64, i128)> = Vec::new();
    let (mut before, mut open) = (VecDeque::new(), VecDeque::new());
    let mut unit_ns = None;
    let mut all = singletons.iter().filter_map(seen);
    loop {
        while open.len() <= NEIGHBOURS
            && let Some(next) = all.next()
        {
            open.push_back(next);
        }
        let Some(one) = open.pop_front() else { break };
        found.compared += 1;
        let by_unit = |low: &(i128, i128)| {
            low.0 > UNITS * *unit_ns.get_or_insert_with(|| i128::from(unit([singletons, &[]])))
        };
        if let Some((by, lowest)) = too_low(&one, &before, &open, relation).filter(by_unit) {
            found.packets += 1;
            found.first.get_or_insert(one.sequence);
            found.most_ns = found.most_ns.max(nanos(by));
            too_quick.push((one.sequence, lowest));
            continue;
        }
        if before.len() >= NEIGHBOURS {
            before.pop_front();
        }
        before.push_back(one);
    }
    if too_quick.is_empty() || found.are_kept() {
        return found;
    }
    for (sequence, lowest) in too_quick {
        let from = singletons.partition_point(|one| one.sequence < sequence);
        let copies = singletons[from..].iter().take_while(|one| one.sequence == sequence).count();
        let copies = &mut singletons[from..from + copies];
        copies.iter_mut().filter(|copy| raw(copy).is_some_and(|raw| raw < lowest)).for_each(withdraw);
        number_copies(copies);
    }
    found
}

fn raw(singleton: &OneWaySingleton) -> Option<i128> {
    Some(across(singleton.departure?, singleton.arrival?))
}

fn seen(singleton: &OneWaySingleton) -> Option<Seen> {
    let raw = raw(singleton).filter(|_| singleton.copy == 0)?;
    Some(Seen { sequence: singleton.sequence, size: singleton.size, raw })
}

/// Values of the neighbours on one side or on both, in their order: without an allocation, as each packet has some.
#[derive(Clone, Copy)]
struct Few<const MOST: usize> {
    values: [i128; MOST],
    count: usize,
}

impl<const MOST: usize> Few<MOST> {
    /// The first `MOST` of `values`.
    fn new(values: impl Iterator<Item = i128>) -> Self {
        let mut few = Self { values: [0; MOST], count: 0 };
        for (place, value) in few.values.iter_mut().zip(values) {
            *place = value;
            few.count += 1;
        }
        few
    }

    fn values(&self) -> &[i128] {
        &self.values[..self.count]
    }

    fn ascending(mut self) -> Self {
        self.values[..self.count].sort_unstable();
        self
    }
}

/// One side.
type Side = Few<NEIGHBOURS>;
/// Both of them.
type Sides = Few<{ 2 * NEIGHBOURS }>;

/// The least of a side, where so many may be false.
fn low(side: Side, may_be_false: usize) -> Option<i128> {
    side.ascending().values().get(may_be_false).copied()
}

/// How far values of neighbours lie apart from one to the next: the upper quartile, which a false one among them does not change
/// much; and of how many differences it is.
fn upper_quartile_apart(sides: [&Side; 2]) -> (i128, usize) {
    let pairs = sides.into_iter().flat_map(|side| side.values().windows(2));
    let apart = Sides::new(pairs.map(|pair| (pair[1] - pair[0]).abs())).ascending();
    (apart.values().get(apart.count * 3 / 4).copied().unwrap_or(0), apart.count)
}

/// What the middle half of both sides spans.
fn middle_half(sides: [&Side; 2]) -> i128 {
    let all = Sides::new(sides.into_iter().flat_map(Side::values).copied()).ascending();
    let at = |quarter: usize| all.values().get(all.count * quarter / 4).copied().unwrap_or(0);
    at(3) - at(1)
}

/// What a side spans, where so many of the lowest may be false.
fn range(side: Side, may_be_false: usize) -> i128 {
    let ends = side.values().iter().copied().max().zip(low(side, may_be_false));
    ends.map_or(0, |(most, least)| most - least)
}

/// By how much `one` lies below its neighbours, if that is too much, and the least of theirs.
fn too_low(
    one: &Seen,
    before: &VecDeque<Seen>,
    after: &VecDeque<Seen>,
    relation: ClockRelation,
) -> Option<(i128, i128)> {
    let no_larger = |side: &VecDeque<Seen>| {
        Side::new(side.iter().filter(|other| other.size <= one.size).map(|other| other.raw))
    };
    // Nearly every packet has a quicker one before it.
    if before.iter().any(|other| other.size <= one.size && other.raw <= one.raw) {
        return None;
    }
    let [before, after] = [before, after].map(no_larger);
    let lowest = low(before, 0).into_iter().chain(low(after, FALSE_NEIGHBOURS)).min()?;
    let by = Some(lowest - one.raw).filter(|by| *by > 0)?;
    let (spread, differences) = upper_quartile_apart([&before, &after]);
    if differences < MIN_DIFFERENCES {
        return None;
    }
    // At an end of the stream one side alone speaks: delays that fall and begin anew, as by a schedule, are below it by their whole range.
    let spread = if before.count == 0 || after.count <= FALSE_NEIGHBOURS {
        range(before, 0).max(range(after, FALSE_NEIGHBOURS))
    } else {
        spread
    };
    // On one clock it is known how long the path is.
    let share = if relation == ClockRelation::Shared { lowest / SHARE } else { 0 };
    // Delays may change little from one to the next, and much over a few.
    let limit = (SPREADS * spread).max(middle_half([&before, &after])).max(share);
    (by > limit).then_some((by, lowest))
}
