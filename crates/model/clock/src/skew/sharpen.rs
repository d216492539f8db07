//! Jumps of a correction, moved to between two packets.

use romer_units::{Arrival, Departure, Direction, Timestamp};

use super::correction::{Correction, Leg};
use super::pauses::passed;
use super::stamps::moment_of;
use crate::clocks::across;

/// Fewer packets do not tell by themselves where a level is.
const FEW: usize = 60;
/// Legs that meet do so to rounding, nanoseconds; most legs of a rate that wanders do.
pub(super) const MEET: f64 = 1.0;

/// Moves the jumps of a correction to between two packets of these stamps: after one upwards no packet may lie well below the
/// new level, and before one downwards none below the old. The packets come in any order, and need not be all: of those far
/// from the jumps a part is enough.
pub fn sharpen(
    correction: &mut Correction,
    heading: Direction,
    packets: impl Iterator<Item = (Timestamp<Departure>, Timestamp<Arrival>)>,
) {
    if correction.legs.len() < 2 {
        return;
    }
    let origin = correction.origin_ns;
    let mut points: Vec<(i64, f64)> = packets
        .map(|packet| {
            let since = moment_of(packet, heading).saturating_sub(origin);
            (since, across(packet.0, packet.1) as f64)
        })
        .collect();
    points.sort_by_key(|point| point.0);
    let (passed, near) = passed(&points);
    // As near as the search for jumps has come, and a stretch that tells the level on either side.
    let far = near.saturating_mul(10);
    for index in 1..correction.legs.len() {
        let (before, after) = (correction.legs[index - 1], correction.legs[index]);
        let jump = before.jump_to(&after);
        if jump.abs() < MEET {
            continue;
        }
        // Where the points begin that lie so far from the jump, or further.
        let behind = points.partition_point(|point| point.0 < after.from_ns);
        let here = match behind.checked_sub(1) {
            Some(last) => {
                let since = after.from_ns.saturating_sub(points[last].0);
                let next = passed.get(behind).copied().unwrap_or(i64::MAX);
                passed[last].saturating_add(since).min(next)
            }
            None => 0,
        };
        let place = |away: i64| {
            let at = here.saturating_add(away);
            passed.partition_point(|passed| *passed < at)
        };
        let level = |leg: &Leg, stretch: &[(i64, f64)]| {
            stretch.iter().map(|point| point.1 - leg.at(point.0)).reduce(f64::min)
        };
        let (mut begin, mut end) = (place(-near), place(near + 1));
        let (mut first, mut last) = (place(-far), place(far + 1));
        // What lies beyond the next jump is of another level, and half of what lies before it, or before an end of the run, tells of this one.
        let at = |moment: i64| points.partition_point(|point| point.0 < moment);
        let earlier = beside(&correction.legs, index, false).map_or(0, at);
        first = first.max(earlier);
        begin = begin.max(earlier.midpoint(behind));
        let later = beside(&correction.legs, index, true).map_or(points.len(), at);
        last = last.min(later);
        end = end.min(behind.midpoint(later));
        let old = level(&before, &points[first.min(begin)..begin]);
        let new = level(&after, &points[end..last.max(end)]);
        let (Some(mut old), Some(mut new)) = (old, new) else { continue };
        // Of few packets each may have waited; how far the jump goes is known.
        let few = |packets: usize| packets < FEW;
        if few(begin.saturating_sub(first)) || few(last.saturating_sub(end)) {
            (old, new) = (old.min(new), old.min(new));
        }
        let mut doubtful = points[begin..end].iter();
        let spare = jump.abs() / 4.0;
        let at = if jump > 0.0 {
            let earlier = doubtful.rfind(|point| point.1 - after.at(point.0) < new - spare);
            earlier.map(|point| point.0.saturating_add(1))
        } else {
            doubtful.find(|point| point.1 - before.at(point.0) < old - spare).map(|point| point.0)
        };
        if let Some(at) = at {
            correction.put_jump(index, at);
        }
    }
}

/// The moment of the next jump after that before one of the legs, or of the last one before it.
fn beside(legs: &[Leg], index: usize, is_after: bool) -> Option<i64> {
    let jumps = |leg: &usize| legs[*leg - 1].jump_to(&legs[*leg]).abs() >= MEET;
    let leg = if is_after { (index + 1..legs.len()).find(jumps) } else { (1..index).rev().find(jumps) };
    leg.map(|leg| legs[leg].from_ns)
}
