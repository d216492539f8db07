//! The error of a stream's clocks, estimated and taken out of its delays.

use romer_clock::skew::{Both, Heading, InTurn, correct, state, usable_of};
use romer_record::document::DelayKind;
use romer_record::manifest::SkewRequest;
use romer_record::warning::MeasurementWarning;

use crate::relate::Related;

/// Estimates the clocks of a stream, takes their error out of its delays, and says what is known of them; where they are
/// one clock already, nothing is done. Gives warnings.
pub fn relate_clocks(related: &mut Related, request: &SkewRequest) -> Vec<MeasurementWarning> {
    relate_clocks_by(related, request, &InTurn)
}

/// The same with `workers`.
pub fn relate_clocks_by(
    related: &mut Related,
    request: &SkewRequest,
    workers: &impl Both,
) -> Vec<MeasurementWarning> {
    if related.delay_kind == DelayKind::Absolute {
        let early = related.reject_early();
        return early.into_iter().chain(too_long_for_one_clock(request, related)).collect();
    }
    let (estimate, set_back, mut warnings) =
        usable_of(request, &mut related.forward, &mut related.reverse, workers);
    if !set_back.is_empty() {
        related.put_in_order();
    }
    let least = [
        correct(&mut related.forward, Heading::Forward, &estimate, workers),
        correct(&mut related.reverse, Heading::Reverse, &estimate, workers),
    ];
    let (clock, warning) = state(request, &estimate, &related.forward, &related.reverse, least);
    warnings.extend(warning);
    related.clock = clock;
    related.corrections = estimate.corrections;
    related.not_identifiable = estimate.why_not;
    if let Some(found) = related.refuse_impossible(least, estimate.beyond, estimate.coarse_ns) {
        return vec![MeasurementWarning::OneWayDelaysRefused(found)];
    }
    warnings
}

/// That a way is stated to take longer than packets took which one clock has timed, where it is.
fn too_long_for_one_clock(request: &SkewRequest, related: &Related) -> Option<MeasurementWarning> {
    let stated = request.path_minimum_ns.filter(|stated| *stated > 0)?;
    let ways = [(Heading::Forward, &related.forward), (Heading::Reverse, &related.reverse)];
    ways.into_iter().find_map(|(heading, passages)| {
        let least = passages.iter().filter_map(|passage| passage.delay).min()?;
        (least.as_nanos() < stated).then(|| MeasurementWarning::PathMinimumContradicted {
            stated_ns: stated,
            direction: heading.way(),
            measured_ns: least.as_nanos(),
        })
    })
}
