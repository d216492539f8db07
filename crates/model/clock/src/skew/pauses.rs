//! Clocks that are set while no packet leaves, or so far ahead that their moments have a hole.

use romer_record::OneWaySingleton;

use super::arithmetic::rounded;
use super::estimate::{ChangeKind, Estimate};
use super::stamps::stamps;
use romer_units::Direction;

/// How much time has passed by each of these packets, in order, since the first, without pauses, and a hundredth of the whole. What lies in a pause, as
/// the step of a clock, or what a clock left out that was set ahead, is as near to the packets before as to those after it.
pub(super) fn passed(points: &[(i64, f64)]) -> (Vec<i64>, i64) {
    const SHARE: i64 = 100;
    /// And what the search tells apart at the least is such a part of the whole, with pauses.
    const CELLS: i64 = 1_000;
    /// A pause is longer than so many times between packets, on average.
    const LONG: i64 = 8;
    /// And counts as such a part of what is near.
    const PART: i64 = 4;
    let gaps = || points.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0));
    let whole = gaps().fold(0, i64::saturating_add);
    // Packets that are few have no pause between any two.
    let longest = (whole / SHARE).max(whole / i64::try_from(points.len()).unwrap_or(i64::MAX).max(1) * LONG);
    let near = gaps().filter(|gap| *gap <= longest).fold(0, i64::saturating_add) / SHARE;
    let near = near.max(whole / CELLS);
    let counted = |gap: i64| if gap > longest { gap.min(near / PART) } else { gap };
    let mut passed = 0;
    let all = core::iter::once(0).chain(gaps().map(|gap| {
        passed += counted(gap);
        passed
    }));
    (all.take(points.len()).collect(), near)
}

/// Places steps of the clocks that lie in a time without packets no later than the first packet after it. And where that time is what a sender left
/// out that was set ahead, what the clocks drift apart in it is none of the step. Of other steps nothing says which of both clocks was set, and so whether
/// it is.
pub(super) fn in_pauses(estimate: &mut Estimate, forward: &[OneWaySingleton]) {
    /// A pause is longer than so many times between packets, on average.
    const LONG: i64 = 8;
    let correction = estimate.correction(Direction::Forward).clone();
    let origin = correction.origin_ns;
    for event in estimate.events.iter_mut().filter(|event| event.kind == ChangeKind::ClockStep) {
        let size = event.size_ns as f64 / (1.0 + estimate.skew.map_or(0.0, |skew| skew.ppm) / 1e6);
        // A method that says nothing of a size has no interval to be wider.
        let drift = if event.error_ns > 0.0 { (size - event.size_ns as f64).abs() } else { 0.0 };
        event.error_ns += drift;
        let Some((_, from)) = correction.jump_near(event.at_ns, event.size_ns) else { continue };
        let from = origin.saturating_add(from);
        let stamps =
            || forward.iter().filter_map(stamps).map(|(left, came)| (left.as_nanos(), came.as_nanos()));
        let last = stamps().filter(|packet| packet.0 < from).max();
        let next = stamps().filter(|packet| packet.0 >= from).min();
        let (Some(last), Some(next)) = (last, next) else { continue };
        let ends = stamps().fold(last, |ends, packet| (ends.0.min(packet.0), ends.1.max(packet.0)));
        let pause = next.0.saturating_sub(last.0);
        let packets = i64::try_from(forward.len()).unwrap_or(i64::MAX).max(1);
        let usual = ends.1.saturating_sub(ends.0).saturating_sub(pause) / packets;
        if pause <= usual.saturating_mul(LONG) {
            continue;
        }
        event.at_ns = event.at_ns.min(next.0);
        // The time that has passed by the other clock.
        let passed = next.1.saturating_sub(last.1);
        let Some(skew) = estimate.skew.filter(|_| passed >= 0 && event.size_ns < 0) else { continue };
        if passed <= usual.saturating_mul(LONG) {
            let unsure = (skew.interval_ppm[1] - skew.interval_ppm[0]) / 2e6;
            event.size_ns = rounded(size);
            event.error_ns += size.abs() * unsure - drift;
        }
    }
    estimate.events.sort_by_key(|event| event.at_ns);
}
