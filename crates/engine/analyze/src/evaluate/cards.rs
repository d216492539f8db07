//! What is to be said of network cards' stamps: where they were asked for and are not, and what they show of the kernel's.

use romer_record::document::ProbeDirection;
use romer_record::event::EventLocation;
use romer_record::manifest::{StampRequest, Stream};
use romer_record::warning::{MeasurementWarning, StampMoment};
use romer_singletons::{CardEvidence, Selection};
use romer_units::TimestampPoint;

/// The warnings, most important first.
pub(super) fn warnings(
    stream: &Stream,
    selection: &Selection,
    cards: &CardEvidence,
    any: bool,
) -> Vec<MeasurementWarning> {
    let mut warnings: Vec<MeasurementWarning> = without_card(stream, selection, any).into_iter().collect();
    for (found, location) in
        cards.bunches().into_iter().zip([EventLocation::Sender, EventLocation::Responder])
    {
        let Some(found) = found else { continue };
        warnings.push(MeasurementWarning::InterruptCoalescing {
            location,
            packets: found.bunched,
            arrivals: found.arrivals,
            longest_ns: found.longest_ns,
        });
    }
    warnings
}

/// The moments whose stamps are not the network card's, though those were asked for.
fn without_card(stream: &Stream, selection: &Selection, any: bool) -> Option<MeasurementWarning> {
    if stream.stamp_request != StampRequest::Nic || !any {
        return None;
    }
    let way = stream.traffic.direction;
    let (there, back) = (way != ProbeDirection::Reverse, way != ProbeDirection::Forward);
    let moments = [
        (there, selection.t1, StampMoment::SenderDeparture),
        (there, selection.t2, StampMoment::ResponderArrival),
        (back, selection.t3, StampMoment::ResponderDeparture),
        (back, selection.t4, StampMoment::SenderArrival),
    ];
    let moments: Vec<StampMoment> = moments
        .into_iter()
        .filter(|(concerned, place, _)| *concerned && *place != Some(TimestampPoint::Nic))
        .map(|(.., moment)| moment)
        .collect();
    (!moments.is_empty()).then_some(MeasurementWarning::NicTimeStampsUnavailable { stamps: moments })
}
