//! Which stamps were taken, and which did not come.

use romer_passages::{Related, Selection};
use romer_record::document::{Calibration, Measurement, MissingStamps, ProbeDirection, StampPlaces};
use romer_record::manifest::Stream;
use romer_record::warning::MeasurementWarning;
use romer_record::{Fate, Passage};
use romer_units::Place;

/// The places of the stamps. A moment that no packet had has none.
pub(super) fn places(stream: &Stream, related: &Related, selection: &Selection) -> StampPlaces {
    let places = selection.document(related.missing.clone(), stream.traffic.direction);
    let left = |passages: &[Passage]| passages.iter().any(|passage| passage.left().is_some());
    let came = |passages: &[Passage]| {
        passages.iter().any(|one| one.arrival.is_some() || matches!(one.fate, Fate::Arrived | Fate::Late))
    };
    let (there, back, both) = (&related.forward, &related.reverse, &related.round_trip);
    let ways = [("forward", there), ("reverse", back), ("round trip", both)];
    let without: Vec<&str> =
        ways.into_iter().filter(|(_, passages)| !came(passages)).map(|(way, _)| way).collect();
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
pub(crate) fn includes_far_time(related: &Related) -> bool {
    (related.far_time_unknown || related.far_stamps_wrong) && !related.round_trip.is_empty()
}

/// What a delay spans, with what it does not span: of the ways `without` any arrival, and where stamps were refused.
pub(crate) fn defined(definition: &str, without: &[&str], related: &Related) -> String {
    let refused = if related.far_stamps_wrong {
        Some("because the responder's time stamps are unusable")
    } else {
        related.one_way_refused.then_some("because the two clocks cannot be related")
    };
    let includes = includes_far_time(related);
    let arrivals = related.forward.iter().any(|one| one.arrival.is_some());
    let stamped = related.reverse.iter().any(|one| one.departure.is_some());
    let part = |part: &str| {
        let Some((way, what)) = part.split_once(": ") else { return part.to_owned() };
        match (way, refused) {
            _ if without.contains(&way) => format!("{way}: no delay, for nothing is known to have arrived"),
            ("forward" | "reverse", Some(why)) => format!("{way}: no delay, {why}"),
            ("forward", None) if includes && !arrivals => {
                format!("{way}: no delay, for the responder gives no t2")
            }
            ("reverse", None) if includes && !stamped => {
                format!("{way}: no delay, for the responder gives no t3")
            }
            ("reverse", None) if includes => format!("{way}: {what}, with the responder's own time"),
            ("round trip", _) if includes => format!("{way}: t4-t1, with the responder's own time"),
            _ => part.to_owned(),
        }
    };
    definition.split("; ").map(part).collect::<Vec<String>>().join("; ")
}

/// Why the round trips contain the time that the far end took to answer, where they do and its stamps are not wrong.
pub(crate) fn includes_responder(m: &Measurement, related: &Related) -> Option<MeasurementWarning> {
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

/// What is to be added to what a delay spans, where a baseline is taken out of it: nothing else in the stamps tells such a
/// delay from one of the same stamps as they were.
pub(super) fn without_baseline(calibration: &Calibration) -> Option<String> {
    let ways = [
        ("forward", ProbeDirection::Forward),
        ("reverse", ProbeDirection::Reverse),
        ("round trip", ProbeDirection::RoundTrip),
    ];
    let told: Vec<String> = ways
        .into_iter()
        .filter_map(|(name, way)| Some(format!("{name} {} ns", calibration.taken_out(way)?)))
        .collect();
    (!told.is_empty()).then(|| format!("; the calibrated baseline is taken out of it ({})", told.join(", ")))
}

/// That stamps of the chosen places did not come: of which moments, and how many of each.
pub(super) fn missing(missing: &MissingStamps, selection: &Selection) -> Vec<MeasurementWarning> {
    let those = |of_card: bool| {
        let of = |place: Option<Place>, count: u64| {
            if (place == Some(Place::Nic)) == of_card { count } else { 0 }
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
    use romer_passages::{ResponderLog, relate};
    use romer_record::document::ProbeDirection;
    use romer_record::manifest::ClockRelation;
    use romer_units::Duration;

    use super::*;

    #[test]
    fn a_way_on_which_nothing_arrived_is_not_told_to_have_stamps_of_arrivals() {
        let selection = Selection { t1: Some(Place::Kernel), t2: Some(Place::User), ..Selection::default() };
        let whole = selection.document(MissingStamps::default(), ProbeDirection::RoundTrip).delay_definition;
        let related =
            relate(&[], &selection, ClockRelation::Unknown, Duration::from_secs(2), ResponderLog::None);
        assert_eq!(defined(&whole, &[], &related), whole);
        let told = defined(&whole, &["forward", "round trip"], &related);
        assert!(
            told.starts_with("forward: no delay, for nothing is known to have arrived; reverse: from "),
            "{told}"
        );
        assert!(told.ends_with("round trip: no delay, for nothing is known to have arrived"), "{told}");
        assert!(!told.contains("responder's arrival"), "{told}");
    }

    #[test]
    fn of_stamps_that_did_not_come_it_is_told_whose_they_are_and_of_which_moment() {
        let lacking = MissingStamps {
            sender_departure: 403_180,
            responder_departure: 1,
            sender_arrival: 2,
            ..MissingStamps::default()
        };
        let mut selection = Selection { t3: Some(Place::Nic), ..Selection::default() };
        let of_card = MissingStamps { responder_departure: 1, ..MissingStamps::default() };
        let others = MissingStamps { responder_departure: 0, ..lacking.clone() };
        assert_eq!(
            missing(&lacking, &selection),
            [
                MeasurementWarning::NicTimeStampsMissing(of_card),
                MeasurementWarning::TimeStampsMissing(others)
            ]
        );
        selection.t3 = Some(Place::Kernel);
        let all = MeasurementWarning::TimeStampsMissing(lacking.clone());
        assert_eq!(missing(&lacking, &selection), [all]);
        assert!(missing(&MissingStamps::default(), &selection).is_empty());
    }
}
