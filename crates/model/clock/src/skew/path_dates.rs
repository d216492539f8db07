//! When a way became longer or shorter: between which two packets. The floors that tell of it are as far apart as a thousandth of the run and
//! more, or a packet of them waited, so that it would be told seconds late in a long one.

use romer_record::OneWaySingleton;

use super::correction::{Correction, Leg};
use super::estimate::{ChangeKind, Estimate};
use super::sharpen::sharpen;
use super::stamps::stamps;
use romer_units::Direction;

/// Moves the changes of ways that came at once to where packets have them, as jumps of a clock are.
pub(super) fn by_packets(estimate: &mut Estimate, forward: &[OneWaySingleton], reverse: &[OneWaySingleton]) {
    for (heading, singletons) in Direction::BOTH.into_iter().zip([forward, reverse]) {
        // Packets of a queue that is never empty lie anywhere.
        if estimate.full == Some(heading) {
            continue;
        }
        let is_one = |event: &super::ClockChange| {
            event.kind == ChangeKind::PathChange && event.heading == Some(heading) && event.until_ns.is_none()
        };
        let changes: Vec<(i64, i64)> =
            estimate.events.iter().filter(|one| is_one(one)).map(|one| (one.at_ns, one.size_ns)).collect();
        if changes.is_empty() {
            continue;
        }
        // What the way adds to the clocks' difference, for as long as it takes to look.
        let mut both = estimate.correction(heading).clone();
        let jumps: Vec<Option<usize>> =
            changes.iter().map(|(at, size)| add(&mut both, *at, *size as f64)).collect();
        sharpen(&mut both, heading, singletons.iter().filter_map(stamps));
        let events = estimate.events.iter_mut().filter(|one| is_one(one));
        for (event, jump) in events.zip(jumps) {
            if let Some(leg) = jump.and_then(|jump| both.legs.get(jump)) {
                event.at_ns = both.origin_ns.saturating_add(leg.from_ns);
            }
        }
    }
    estimate.events.sort_by_key(|event| event.at_ns);
}

/// Has a correction jump at a moment, which is later than those of the jumps that were added before; and gives the leg from there on.
fn add(correction: &mut Correction, at_ns: i64, size_ns: f64) -> Option<usize> {
    if correction.legs.is_empty() {
        correction.legs.push(Leg { from_ns: i64::MIN, value_ns: 0.0, slope: 0.0 });
    }
    let from_ns = at_ns.saturating_sub(correction.origin_ns);
    let place = correction.legs.partition_point(|leg| leg.from_ns <= from_ns);
    let before = *correction.legs.get(place.checked_sub(1)?)?;
    correction.legs.insert(place, Leg { from_ns, value_ns: before.at(from_ns), ..before });
    correction.legs[place..].iter_mut().for_each(|leg| leg.value_ns += size_ns);
    Some(place)
}
