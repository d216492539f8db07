//! Which stamps were taken, and which did not come.

use romer_record::document::{
    DelayDefinition, DelaySpan, Measurement, MissingStamps, NoDelay, ProbeDirection, StampPlaces,
};
use romer_record::manifest::Stream;
use romer_record::warning::MeasurementWarning;
use romer_record::{Fate, OneWaySingleton};
use romer_singletons::{Selection, StreamSingletons};
use romer_units::TimestampPoint;

/// The places of the stamps. A moment that no packet had has none.
pub(super) fn places(stream: &Stream, related: &StreamSingletons, selection: &Selection) -> StampPlaces {
    let places = selection.document(related.missing.clone(), stream.traffic.direction);
    let left = |singletons: &[OneWaySingleton]| singletons.iter().any(|singleton| singleton.left().is_some());
    let came = |singletons: &[OneWaySingleton]| {
        singletons.iter().any(|one| one.arrival.is_some() || matches!(one.fate, Fate::Arrived | Fate::Late))
    };
    let (there, back, both) = (&related.forward, &related.reverse, &related.round_trip);
    let ways = [
        (ProbeDirection::Forward, there),
        (ProbeDirection::Reverse, back),
        (ProbeDirection::RoundTrip, both),
    ];
    let without: Vec<ProbeDirection> =
        ways.into_iter().filter(|(_, singletons)| !came(singletons)).map(|(way, _)| way).collect();
    StampPlaces {
        delay_definition: defined(&places.delay_definition, &without, related),
        round_trip_includes_responder: includes_far_time(related),
        sender_departure: places.sender_departure.filter(|_| left(there) || left(both)),
        responder_arrival: places.responder_arrival.filter(|_| came(there) && !related.far_stamps_wrong),
        responder_departure: places
            .responder_departure
            .filter(|_| (left(back) || came(back)) && !related.far_stamps_wrong),
        sender_arrival: places.sender_arrival.filter(|_| came(back) || came(both)),
        ..places
    }
}

/// Whether the round trips, if there are any, contain the time that the responder took.
pub(crate) fn includes_far_time(related: &StreamSingletons) -> bool {
    (related.far_time_unknown || related.far_stamps_wrong) && !related.round_trip.is_empty()
}

/// What delays span, with what they do not span: of the ways `without` any arrival, and where stamps were refused.
pub(crate) fn defined(
    definition: &[DelayDefinition],
    without: &[ProbeDirection],
    related: &StreamSingletons,
) -> Vec<DelayDefinition> {
    let refused = if related.far_stamps_wrong {
        Some(NoDelay::ResponderStampsUnusable)
    } else {
        related.one_way_refused.then_some(NoDelay::ClocksUnrelated)
    };
    let includes = includes_far_time(related);
    let arrivals = related.forward.iter().any(|one| one.arrival.is_some());
    let stamped = related.reverse.iter().any(|one| one.departure.is_some());
    let none = |reason| DelaySpan::None { reason };
    let span = |one: &DelayDefinition| match (one.direction, one.span) {
        (direction, _) if without.contains(&direction) => none(NoDelay::NothingArrived),
        (ProbeDirection::RoundTrip, _) if includes => DelaySpan::RoundTripWithResponder,
        (ProbeDirection::Forward | ProbeDirection::Reverse, span) => match (refused, one.direction) {
            (Some(reason), _) => none(reason),
            (None, ProbeDirection::Forward) if includes && !arrivals => none(NoDelay::ArrivalsUnknown),
            (None, ProbeDirection::Reverse) if includes && !stamped => none(NoDelay::DeparturesUnknown),
            (None, ProbeDirection::Reverse) if includes => with_responder(span),
            _ => span,
        },
        (_, span) => span,
    };
    definition.iter().map(|one| DelayDefinition { span: span(one), ..one.clone() }).collect()
}

/// A span of one way that contains the time of the responder.
const fn with_responder(span: DelaySpan) -> DelaySpan {
    match span {
        DelaySpan::OneWay { departure, arrival, .. } => {
            DelaySpan::OneWay { departure, arrival, includes_responder: true }
        }
        other => other,
    }
}

/// Why the round trips contain the time that the far end took to answer, where they do and its stamps are not wrong.
pub(crate) fn includes_responder(m: &Measurement, related: &StreamSingletons) -> Option<MeasurementWarning> {
    let came = m.round_trip.delay_ns.count > 0;
    if !came || !m.stamps.round_trip_includes_responder || related.far_stamps_wrong {
        return None;
    }
    // What is refused was there.
    let refused = related.one_way_refused;
    let arrived = refused || related.forward.iter().any(|one| one.arrival.is_some());
    let left = refused || related.reverse.iter().any(|one| one.departure.is_some());
    Some(MeasurementWarning::ResponderTimeIncluded {
        arrivals_stamped: arrived,
        departures_stamped: left,
        in_reverse: left && !refused,
        remedy: None,
    })
}

/// That stamps of the chosen places did not come: of which moments, and how many of each.
pub(super) fn missing(missing: &MissingStamps, selection: &Selection) -> Vec<MeasurementWarning> {
    let those = |of_card: bool| {
        let of = |place: Option<TimestampPoint>, count: u64| {
            if (place == Some(TimestampPoint::Nic)) == of_card { count } else { 0 }
        };
        let lacking = MissingStamps {
            sender_departure: of(selection.t1, missing.sender_departure),
            responder_arrival: of(selection.t2, missing.responder_arrival),
            responder_departure: of(selection.t3, missing.responder_departure),
            sender_arrival: of(selection.t4, missing.sender_arrival),
        };
        (lacking != MissingStamps::default()).then_some(lacking)
    };
    let of_cards = those(true).map(MeasurementWarning::NicTimeStampsMissing);
    of_cards.into_iter().chain(those(false).map(MeasurementWarning::TimeStampsMissing)).collect()
}

#[cfg(test)]
mod tests {
    use romer_record::document::ProbeDirection;
    use romer_record::manifest::ClockRelation;
    use romer_singletons::{ResponderLog, relate};
    use romer_units::Duration;

    use super::*;

    #[test]
    fn a_way_on_which_nothing_arrived_is_not_told_to_have_stamps_of_arrivals() {
        let selection = Selection {
            t1: Some(TimestampPoint::Kernel),
            t2: Some(TimestampPoint::User),
            ..Selection::default()
        };
        let whole = selection.document(MissingStamps::default(), ProbeDirection::RoundTrip).delay_definition;
        let related =
            relate(&[], &selection, ClockRelation::Unknown, Duration::from_secs(2), ResponderLog::None);
        assert_eq!(defined(&whole, &[], &related), whole);
        let ways = [ProbeDirection::Forward, ProbeDirection::RoundTrip];
        let spans: Vec<DelaySpan> =
            defined(&whole, &ways, &related).into_iter().map(|one| one.span).collect();
        let none = DelaySpan::None { reason: NoDelay::NothingArrived };
        assert_eq!(spans, [none, whole[1].span, none]);
    }

    #[test]
    fn of_stamps_that_did_not_come_it_is_told_whose_they_are_and_of_which_moment() {
        let lacking = MissingStamps {
            sender_departure: 403_180,
            responder_departure: 1,
            sender_arrival: 2,
            ..MissingStamps::default()
        };
        let mut selection = Selection { t3: Some(TimestampPoint::Nic), ..Selection::default() };
        let of_card = MissingStamps { responder_departure: 1, ..MissingStamps::default() };
        let others = MissingStamps { responder_departure: 0, ..lacking.clone() };
        assert_eq!(
            missing(&lacking, &selection),
            [
                MeasurementWarning::NicTimeStampsMissing(of_card),
                MeasurementWarning::TimeStampsMissing(others)
            ]
        );
        selection.t3 = Some(TimestampPoint::Kernel);
        let all = MeasurementWarning::TimeStampsMissing(lacking.clone());
        assert_eq!(missing(&lacking, &selection), [all]);
        assert!(missing(&MissingStamps::default(), &selection).is_empty());
    }
}
