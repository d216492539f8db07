//! The error of a stream's clocks, estimated and taken out of its delays.

use core::mem::take;

use romer_clock::skew::{Both, Continuous, InTurn, continuous, correct, state};
use romer_record::document::DelayKind;
use romer_record::manifest::SkewRequest;
use romer_record::warning::MeasurementWarning;
use romer_units::Direction;

use crate::relate::StreamSingletons;

/// A stream whose delays have the clocks' error removed, as far as it is known.
#[derive(Clone, Debug)]
pub struct Corrected {
    /// The stream, with what is known of its clocks.
    pub related: StreamSingletons,
    /// What the estimate left out and why.
    pub warnings: Vec<MeasurementWarning>,
}

/// Estimates the clocks of a stream, and removes their error from its delays. Where both ends have one clock, no error is
/// estimated.
pub fn correct_clocks(related: StreamSingletons, request: &SkewRequest) -> Corrected {
    correct_clocks_by(related, request, &InTurn)
}

/// The same with `workers`.
pub fn correct_clocks_by(
    mut related: StreamSingletons,
    request: &SkewRequest,
    workers: &impl Both,
) -> Corrected {
    if related.delay_kind == DelayKind::Absolute {
        let early = related.reject_early();
        let warnings = early.into_iter().chain(too_long_for_one_clock(request, &related)).collect();
        return Corrected { related, warnings };
    }
    let uncorrected = [take(&mut related.forward), take(&mut related.reverse)];
    let Continuous { singletons, estimate, set_back, mut warnings } =
        continuous(request, uncorrected, workers);
    [related.forward, related.reverse] = singletons;
    if !set_back.is_empty() {
        related.put_in_order();
    }
    let least = [
        correct(&mut related.forward, Direction::Forward, &estimate, workers),
        correct(&mut related.reverse, Direction::Reverse, &estimate, workers),
    ];
    let (clock, warning) = state(request, &estimate, &related.forward, &related.reverse, least);
    warnings.extend(warning);
    related.clock = clock;
    if let Some(stated) = &request.synchronisation {
        let was_set = !set_back.is_empty();
        let synchronised = related.synchronise(stated, &estimate, was_set);
        related.clock.synchronisation = Some(*stated);
        match synchronised {
            Ok(()) => return Corrected { related, warnings: Vec::new() },
            Err(contradiction) => warnings.push(MeasurementWarning::SynchronisationContradicted {
                bound_ns: stated.bound_ns,
                contradiction,
            }),
        }
    }
    related.corrections = estimate.corrections;
    related.not_identifiable = estimate.why_not;
    if let Some(found) = related.refuse_impossible(least, estimate.beyond, estimate.coarse_ns) {
        warnings = vec![MeasurementWarning::OneWayDelaysRefused(found)];
    } else {
        related.convert_responder_time();
    }
    Corrected { related, warnings }
}

/// That a way is stated to take longer than packets took which one clock has timed, where it is.
fn too_long_for_one_clock(request: &SkewRequest, related: &StreamSingletons) -> Option<MeasurementWarning> {
    let stated = request.path_minimum_ns.filter(|stated| *stated > 0)?;
    let ways = [(Direction::Forward, &related.forward), (Direction::Reverse, &related.reverse)];
    ways.into_iter().find_map(|(heading, singletons)| {
        let least = singletons.iter().filter_map(|singleton| singleton.delay).min()?;
        (least.as_nanos() < stated).then(|| MeasurementWarning::PathMinimumContradicted {
            stated_ns: stated,
            direction: heading.into(),
            measured_ns: least.as_nanos(),
        })
    })
}
