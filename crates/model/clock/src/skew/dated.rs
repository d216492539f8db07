//! Steps of a clock that one direction dates to a packet, and a queue that is never empty hides in the other.
//!
//! The sender's clock was set at the same moment of its own both ways, and the responder's between the same two packets. Which of both it was, the packets
//! between these places tell: each lies as high as those before, or as those after.

use romer_record::OneWaySingleton;

use super::arithmetic::median;
use super::estimate::{ChangeKind, ClockChange, Estimate};
use super::stamps::{moment, raw};
use romer_units::Direction;

/// Packets on either side that tell how high a queue stood.
const BESIDE: usize = 3;
/// A step lies no further than this part of the run from where its direction has it so far.
const NEAR: u64 = 50;
/// Of two places for a step the one is as good as the other, if the queue moves less at it by no more than this part of the step.
const PLAINER: f64 = 0.5;

/// Puts such steps where they belong in the direction that does not date them; the other one's jumps are in their places.
pub(super) fn by_the_other(
    estimate: &mut Estimate,
    forward: &[OneWaySingleton],
    reverse: &[OneWaySingleton],
) {
    let steps: Vec<ClockChange> =
        estimate.events.iter().filter(|event| event.kind == ChangeKind::ClockStep).copied().collect();
    for step in steps {
        let Some(heading) = step.dated_by else { continue };
        let (own, other) =
            if heading == Direction::Forward { (forward, reverse) } else { (reverse, forward) };
        let Some(placed) = placed(estimate, &step, heading, own, other) else { continue };
        let hidden = estimate.correction_mut(heading.opposite());
        if let Some((leg, at)) = placed.moved {
            hidden.put_jump(leg, at);
        }
        hidden.floor_error_ns += placed.off_ns;
    }
}

/// Where a step is in the direction that does not date it.
struct Placed {
    /// Which of its legs begins at another moment, and at which.
    moved: Option<(usize, i64)>,
    /// By how much packets beside it are off if it was elsewhere, where they do not tell, nanoseconds.
    off_ns: f64,
}

fn placed(
    estimate: &Estimate,
    step: &ClockChange,
    heading: Direction,
    own: &[OneWaySingleton],
    other: &[OneWaySingleton],
) -> Option<Placed> {
    let size = if heading == Direction::Forward { step.size_ns } else { step.size_ns.saturating_neg() };
    let [dated, hidden] = [heading, heading.opposite()].map(|heading| estimate.correction(heading));
    let (leg, _) = hidden.jump_near(step.at_ns, size.saturating_neg())?;
    let (_, from) = dated.jump_near(step.at_ns, size)?;
    let since = dated.origin_ns.saturating_add(from);
    let numbered = || own.iter().filter_map(|one| Some((moment(one, heading)?, one.sequence)));
    let last = numbered().filter(|packet| packet.0 < since).max()?;
    let next = numbered().filter(|packet| packet.0 >= since).min()?;
    // In order of time: when, its number, and how high without what the clocks drift apart.
    let (before, after) = (hidden.legs.get(leg.checked_sub(1)?)?, hidden.legs.get(leg)?);
    let mut packets: Vec<(i64, u64, f64)> = other
        .iter()
        .filter_map(|one| {
            let at = moment(one, heading.opposite())?;
            let height = raw(one)? as f64 - before.at(at.saturating_sub(hidden.origin_ns));
            Some((at, one.sequence, height))
        })
        .collect();
    packets.sort_by_key(|packet| packet.0);
    // The first packet after the step, if it was the sender's clock's, or the responder's.
    let by_moment = |at: i64| packets.partition_point(|packet| packet.0 < at);
    // Moments repeat on a sender's clock that is set back.
    let repeated = step.size_ns.max(0);
    let places = [
        by_moment(last.0.saturating_sub(repeated))..=by_moment(next.0),
        packets.iter().position(|packet| packet.1 > last.1)?
            ..=packets.iter().position(|packet| packet.1 >= next.1)?,
    ];
    let jump = before.jump_to(after);
    let level =
        |packets: &[(i64, u64, f64)]| median(&mut packets.iter().map(|one| one.2).collect::<Vec<_>>());
    // By how much less the queue moved there by itself, if it jumped there: from packet to packet, and by the few on either side.
    let needless = |place: usize| -> Option<f64> {
        let each = [1, BESIDE].into_iter().map(|many| {
            let earlier = packets.get(place.checked_sub(many)?..place)?;
            let rise = level(packets.get(place..place + many)?) - level(earlier);
            Some((rise - jump).abs() - rise.abs())
        });
        each.sum()
    };
    // Streams of one direction each have numbers of their own.
    let known = hidden.origin_ns.saturating_add(after.from_ns);
    let near = packets.last()?.0.saturating_sub(packets.first()?.0).unsigned_abs() / NEAR;
    let is_near = |place: &usize| packets.get(*place).is_some_and(|packet| packet.0.abs_diff(known) <= near);
    // Where it is may be right: a reply that a clock orders, which was set back, has a number that is not its probe's.
    let each = places.into_iter().flatten().chain([by_moment(known)]).filter(is_near);
    let each: Vec<(usize, f64)> = each.filter_map(|place| Some((place, needless(place)?))).collect();
    let (place, best) = each.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1))?;
    // By as much again as it goes is it plainer where a step is than beside it, if little else moves.
    let is_open = |other: &(usize, f64)| other.0 != place && other.1 < best + PLAINER * jump.abs();
    let off_ns = if each.iter().any(is_open) { jump.abs() } else { 0.0 };
    let at = packets.get(place)?.0.saturating_sub(hidden.origin_ns);
    // Not beyond the changes beside it.
    let beyond = hidden.legs.get(leg + 1).is_some_and(|next| at >= next.from_ns);
    let moved = (at > before.from_ns && !beyond && after.from_ns != at).then_some((leg, at));
    Some(Placed { moved, off_ns })
}
