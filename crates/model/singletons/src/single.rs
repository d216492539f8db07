//! Single packets: false stamps of theirs, and their copies.

use romer_clock::skew::{Resolution, Step};
use romer_record::{Leaving, OneWaySingleton};

use crate::rejected::LEAST;

/// Packets of each direction that show what the stamps tell apart.
const SHOW: usize = 4_096;
/// One stamp in so many may have another unit than the others.
const ODD: usize = 10;
/// From one packet of one way in so many on that is too early, and from three on, its stamps are not single false ones.
const BEFORE: u64 = 100;

/// Whether so many packets of so many that are too early are too many for single false stamps.
pub(crate) const fn are_no_single_ones(count: u64, all: u64) -> bool {
    count >= LEAST && count.saturating_mul(BEFORE) >= all
}

/// What the stamps of both directions tell apart, nanoseconds; either may be without packets.
pub(crate) fn unit(directions: [&[OneWaySingleton]; 2]) -> i64 {
    let [forward, reverse] = directions.map(|singletons| {
        let mut resolution = Resolution::default();
        let stamps = singletons.iter().filter_map(|one| one.departure.zip(one.arrival));
        stamps.take(SHOW).for_each(|(left, came)| resolution.push(left.as_nanos(), came.as_nanos()));
        resolution
    });
    i64::try_from(forward.coarser(&reverse)).unwrap_or(i64::MAX)
}

/// The same, where delays that are nearly all equal do not count as evidence: then the unit divides nearly all stamps.
pub(crate) fn resolution(directions: [&[OneWaySingleton]; 2]) -> i64 {
    let unit = unit(directions);
    let stamps = |singletons: &[OneWaySingleton]| -> Vec<[i64; 2]> {
        let both = singletons.iter().filter_map(|one| one.departure.zip(one.arrival));
        both.take(SHOW).map(|(left, came)| [left.as_nanos(), came.as_nanos()]).collect()
    };
    let directions = directions.map(stamps);
    let is_constant = |stamps: &Vec<[i64; 2]>| {
        let mut delays: Vec<i64> = stamps.iter().map(|[left, came]| came.saturating_sub(*left)).collect();
        delays.sort_unstable();
        delays.chunk_by(|a, b| a == b).any(|equal| equal.len() * ODD > delays.len() * (ODD - 1))
    };
    if !directions.iter().any(is_constant) {
        return unit;
    }
    let common = |stamp: &i64| {
        let mut common = Step::from_zero();
        [unit, *stamp].into_iter().for_each(|value| common.take(value));
        common.length()
    };
    let mut each: Vec<u64> = directions.iter().flatten().flatten().map(common).collect();
    each.sort_unstable();
    each.get(each.len() / ODD).and_then(|unit| i64::try_from(*unit).ok()).unwrap_or(unit)
}

/// Takes the stamps of a packet away, of which one is false: it has no delay, and no place in the order.
pub(crate) fn withdraw(singleton: &mut OneWaySingleton) {
    (singleton.departure, singleton.arrival, singleton.delay) = (None, None, None);
    singleton.leaving = Leaving::UNKNOWN;
}

/// Numbers the copies of one packet by arrival; those whose stamp is missing come last, in the order in which
/// they became known.
pub(crate) fn number_copies(singletons: &mut [OneWaySingleton]) {
    if singletons.len() < 2 {
        return;
    }
    singletons.sort_by_key(|singleton| (singleton.arrival.is_none(), singleton.arrival));
    for (singleton, copy) in singletons.iter_mut().zip(0..) {
        singleton.copy = copy;
    }
}
