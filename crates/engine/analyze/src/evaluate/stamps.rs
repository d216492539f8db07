//! Which stamps were taken, and which did not come.

use romer_passages::{Related, Selection};
use romer_record::document::{Calibration, Measurement, MissingStamps, StampPlaces, Way};
use romer_record::manifest::Stream;
use romer_record::{Fate, Passage};
use romer_units::{Place, counted};

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
        Some("for the responder's time stamps tell none")
    } else {
        related.one_way_refused.then_some("for the two clocks cannot be related")
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
pub(crate) fn includes_responder(m: &Measurement, related: &Related) -> Option<String> {
    let came = m.round_trip.packets.received.is_some_and(|received| received > 0);
    if !came || !m.stamps.round_trip_includes_responder || related.far_stamps_wrong {
        return None;
    }
    // What is refused was there.
    let refused = related.one_way_refused;
    let arrived = refused || related.forward.iter().any(|one| one.arrival.is_some());
    let left = refused || related.reverse.iter().any(|one| one.departure.is_some());
    let what = match (arrived, left) {
        (true, true) => "the responder's two time stamps are equal in every reply (t2 = t3)",
        (true, false) => "the replies have no time stamp of the responder's departure (t3)",
        (false, true) => "the replies have no time stamp of the responder's arrival (t2)",
        (false, false) => "the replies have no time stamps of the responder",
    };
    let and_back = if left && !refused { " and in the delays in reverse" } else { "" };
    Some(format!("{what}: the time that it took to answer is in the round trips{and_back}"))
}

/// What is to be added to what a delay spans, where a baseline is taken out of it: nothing else in the stamps tells such a
/// delay from one of the same stamps as they were.
pub(super) fn without_baseline(calibration: &Calibration) -> Option<String> {
    let ways = [("forward", Way::Forward), ("reverse", Way::Reverse), ("round trip", Way::RoundTrip)];
    let told: Vec<String> = ways
        .into_iter()
        .filter_map(|(name, way)| Some(format!("{name} {} ns", calibration.taken_out(way)?)))
        .collect();
    (!told.is_empty()).then(|| format!("; the calibrated baseline is taken out of it ({})", told.join(", ")))
}

/// That stamps of the chosen places did not come: of which moments, and how many of each.
pub(super) fn missing(missing: &MissingStamps, selection: &Selection) -> Vec<String> {
    let moments = [
        ("departures from this host", selection.t1, missing.sender_departure),
        ("arrivals at the responder", selection.t2, missing.responder_arrival),
        ("departures from the responder", selection.t3, missing.responder_departure),
        ("arrivals at this host", selection.t4, missing.sender_arrival),
    ];
    let those = |of_card: bool| {
        let lacking = moments
            .iter()
            .filter(|(_, place, count)| *count > 0 && (*place == Some(Place::Nic)) == of_card)
            .copied();
        let all: u64 = lacking.clone().map(|(.., count)| count).sum();
        let each: Vec<String> = lacking.map(|(moment, _, count)| format!("{count} for {moment}")).collect();
        (all > 0).then(|| (counted(all, "stamp"), each.join(", ")))
    };
    let of_cards = those(true).map(|(stamps, each)| {
        format!(
            "{stamps} of network cards did not come ({each}), as many cards stamp one departure at a time: the kernel's stamps are used \
             for them, which are microseconds off"
        )
    });
    let others = those(false)
        .map(|(stamps, each)| format!("{stamps} did not come ({each}); the packets may have been lost"));
    of_cards.into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use romer_passages::{FarLog, relate};
    use romer_record::document::Way;
    use romer_record::manifest::ClockRelation;
    use romer_units::Duration;

    use super::*;

    #[test]
    fn a_way_on_which_nothing_arrived_is_not_told_to_have_stamps_of_arrivals() {
        let selection = Selection { t1: Some(Place::Kernel), t2: Some(Place::User), ..Selection::default() };
        let whole = selection.document(MissingStamps::default(), Way::RoundTrip).delay_definition;
        let related = relate(&[], &selection, ClockRelation::Unknown, Duration::from_secs(2), FarLog::None);
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
        let told = missing(&lacking, &selection);
        assert_eq!(told.len(), 2);
        assert!(
            told[0].starts_with("1 stamp of network cards")
                && told[0].contains("1 for departures from the responder")
        );
        let others = "403182 stamps did not come (403180 for departures from this host, 2 for arrivals at this host); the packets may have been lost";
        assert_eq!(told[1], others);
        selection.t3 = Some(Place::Kernel);
        assert!(missing(&lacking, &selection)[0].contains("1 for departures from the responder"));
        assert!(missing(&MissingStamps::default(), &selection).is_empty());
    }
}
