//! Between what the clocks' offset lay at the first packet, by causality alone.
//!
//! No packet arrives before it leaves. So the responder's clock was no further ahead, when a packet arrived there, than the packet's stamps
//! differ; and no further behind, when one left there, than those of a packet back. That says something of the offset at the first packet
//! as far as it is known what the clocks did in between. Two things are known of that:
//!
//! - Clocks that nobody sets drift apart by no more than [`FASTEST`], or [`STEERED_PPM`] where the packets show a faster rate. So the
//!   packets of the first tenth of a second bound the offset at the first one.
//! - Of our own estimator, which says where a line holds and how sure it is, the rate and its interval: up to the first event that it has found,
//!   whatever kind of event that was.
//!
//! A line that fits badly, or none, narrows nothing; and where what the estimator says contradicts the first packets, these count.

use romer_record::OneWaySingleton;
use romer_record::document::ProbeDirection;
use romer_record::manifest::SkewRequest;
use romer_record::warning::{MeasurementWarning, SkewUnknown};

use super::arithmetic::rounded;
use super::estimate::Estimate;
use super::method::{Method, method_of};
use super::stamps::{moment, raw};
use romer_units::Direction;

/// Two clocks that are both steered by as much as a kernel steers them, in opposite senses, drift apart by so much, as a share of the time.
const FASTEST: f64 = 1e-3;
/// No clock is steered by more: adjtimex(2) changes the length of a tick by up to a tenth, and the frequency by up to 500 ppm. A greater
/// rate is of stamps that no clock gave.
pub(super) const STEERED_PPM: f64 = 100_500.0;
/// So long after the first packet of a direction others count by that alone, nanoseconds.
const NEAR: i64 = 100_000_000;
/// The rate lies within so many half widths of its 95 % interval, as near to surely as makes no difference; and so do the floors.
const SURE: f64 = 2.0;
/// Before an event less of the run than this share says nothing: when exactly it began is not known.
const BEFORE_EVENT: i64 = 50;

/// The bounds of the offset (responder minus sender) at the first packet, and a warning where the stated least time of a way is of no use,
/// or has to be left out because the packets contradict it. `least` are the least corrected differences, above which the
/// delays of the singletons count.
pub(crate) fn bounds(
    request: &SkewRequest,
    estimate: &Estimate,
    directions: [&[OneWaySingleton]; 2],
    least: [Option<i128>; 2],
) -> (Option<[i64; 2]>, Option<MeasurementWarning>) {
    let stated = request.path_minimum_ns.unwrap_or(0);
    let Some(most) = most(request, estimate, directions, least) else {
        let useless = (stated > 0).then_some(MeasurementWarning::PathMinimumUnused);
        return (None, useless);
    };
    let within = |[there, back]: [i128; 2], stated: i64| {
        let stated = i128::from(stated);
        let (low, high) = (i64::try_from(stated - back).ok()?, i64::try_from(there - stated).ok()?);
        (low <= high).then_some([low, high])
    };
    let holds = most.into_iter().find(|most| within(*most, 0).is_some());
    let Some([there, back]) = holds else { return (None, None) };
    if let Some(bounds) = within([there, back], stated) {
        return (Some(bounds), None);
    }
    let contradicted = MeasurementWarning::PathMinimumContradicted {
        stated_ns: stated,
        direction: ProbeDirection::Both,
        measured_ns: i64::try_from(there + back).unwrap_or(i64::MAX),
    };
    (within([there, back], 0), Some(contradicted))
}

/// By how much the responder's clock may have been ahead at the first packet, and by how much behind, nanoseconds: the narrowest first, and
/// what holds where those contradict each other after it. `None` where either direction has no packet with both stamps.
fn most(
    request: &SkewRequest,
    estimate: &Estimate,
    directions: [&[OneWaySingleton]; 2],
    least: [Option<i128>; 2],
) -> Option<[[i128; 2]; 3]> {
    let headed = || directions.into_iter().zip(Direction::BOTH);
    let begins = headed().map(|(singletons, heading)| {
        singletons.iter().filter(|one| raw(one).is_some()).filter_map(|one| moment(one, heading)).min()
    });
    let [there, back] = <[Option<i64>; 2]>::try_from(begins.collect::<Vec<_>>()).ok()?;
    let begins = [there?, back?];
    let start = begins[0].min(begins[1]);
    let coarse = i128::from(rounded(estimate.coarse_ns));
    let fastest = fastest(estimate);
    let bound = |direction: usize, within: i64| {
        let near = headed().nth(direction).into_iter().flat_map(|(singletons, heading)| {
            singletons.iter().filter_map(move |one| Some((moment(one, heading)?, raw(one)?)))
        });
        let until = begins[direction].saturating_add(within);
        let near = near.filter(|(at, _)| *at <= until);
        near.map(|(at, raw)| raw + drifted(fastest, at.saturating_sub(start)) + coarse).min()
    };
    let first = [bound(0, 0)?, bound(1, 0)?];
    let near = [bound(0, NEAR)?, bound(1, NEAR)?];
    let mut narrowest = near;
    let believed = matches!(method_of(request), Method::Piecewise | Method::Best) && estimate.skew.is_some();
    if believed {
        let until = undisturbed(estimate, directions, start);
        for (direction, (singletons, heading)) in headed().enumerate() {
            let (Some(base), correction) = (least[direction], estimate.correction(heading)) else { continue };
            let each = singletons.iter().filter_map(|one| {
                let (at, above) = (moment(one, heading)?, one.delay?);
                raw(one)?;
                let off = drifted(SURE * correction.rate_error, at.saturating_sub(start));
                (at < until).then(|| base + i128::from(above.as_nanos()) + off)
            });
            let unsure = coarse + i128::from(rounded(SURE * correction.floor_error_ns));
            if let Some(bound) = each.min() {
                narrowest[direction] = narrowest[direction].min(bound + unsure);
            }
        }
    }
    Some([narrowest, near, first])
}

/// The rate at which the clocks may drift apart: a line of the correction, or a rate that is refused, may show that they are slewed.
fn fastest(estimate: &Estimate) -> f64 {
    let mut lines = estimate.corrections.iter().flat_map(|correction| &correction.legs);
    let is_refused = estimate.why_not.as_ref().is_some_and(|why| {
        matches!(
            why,
            SkewUnknown::RateImpossible { .. }
                | SkewUnknown::RateOfPath { .. }
                | SkewUnknown::RateAmbiguous { .. }
        )
    });
    let is_fast = is_refused || lines.any(|line| line.slope.abs() > FASTEST / 2.0);
    if is_fast { STEERED_PPM / 1e6 } else { FASTEST }
}

/// By how much clocks drift apart in `time` nanoseconds at this rate.
fn drifted(rate: f64, time: i64) -> i128 {
    i128::from(rounded((rate * time as f64).ceil()))
}

/// Up to when nothing happened, of what the estimate has found.
fn undisturbed(estimate: &Estimate, directions: [&[OneWaySingleton]; 2], start: i64) -> i64 {
    let Some(first) = estimate.events.iter().map(|event| event.at_ns).min() else { return i64::MAX };
    let last = directions
        .into_iter()
        .zip(Direction::BOTH)
        .filter_map(|(singletons, heading)| moment(singletons.last()?, heading));
    let length = last.max().unwrap_or(first).saturating_sub(start);
    first.saturating_sub(length / BEFORE_EVENT)
}
