//! Which stamps were taken, and which did not come.

use romer_record::document::{Calibration, MissingStamps, StampPlaces, Way};
use romer_record::manifest::Stream;
use romer_record::{Fate, Passage};
use romer_timebase::{Related, Selection};
use romer_units::{Place, counted};

/// What delays span where the far end's stamps contradict themselves.
pub(crate) const UNTRUE: &str = "forward: no delay, for the far end's stamps contradict themselves; reverse: no delay, for the same \
     reason; round trip: t4-t1, with the responder's own time";

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
        delay_definition: if related.far_stamps_wrong {
            UNTRUE.into()
        } else {
            defined(&places.delay_definition, &without)
        },
        sender_departure: places.sender_departure.filter(|_| left(there) || left(both)),
        responder_arrival: places.responder_arrival.filter(|_| came(there) && !related.far_stamps_wrong),
        responder_departure: places
            .responder_departure
            .filter(|_| (left(back) || came(back)) && !related.far_stamps_wrong),
        sender_arrival: places.sender_arrival.filter(|_| came(back) || came(both)),
        ..places
    }
}

/// What a delay spans, with the ways `without` any arrival told as such.
fn defined(definition: &str, without: &[&str]) -> String {
    let told = definition.split("; ").map(|part| match part.split_once(": ") {
        Some((way, _)) if without.contains(&way) => {
            format!("{way}: no delay, for nothing is known to have arrived")
        }
        _ => part.to_owned(),
    });
    told.collect::<Vec<String>>().join("; ")
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
        ("departures here", selection.t1, missing.sender_departure),
        ("arrivals there", selection.t2, missing.responder_arrival),
        ("departures there", selection.t3, missing.responder_departure),
        ("arrivals here", selection.t4, missing.sender_arrival),
    ];
    let those = |of_card: bool| {
        let lacking = moments
            .iter()
            .filter(|(_, place, count)| *count > 0 && (*place == Some(Place::Nic)) == of_card)
            .copied();
        let all: u64 = lacking.clone().map(|(.., count)| count).sum();
        let each: Vec<String> = lacking.map(|(moment, _, count)| format!("{count} of {moment}")).collect();
        (all > 0).then(|| (counted(all, "stamp"), each.join(", ")))
    };
    let of_cards = those(true).map(|(stamps, each)| {
        format!(
            "{stamps} of network cards did not come (many a card stamps one departure at a time), {each}: the kernel's stand in \
             for them, which are microseconds off"
        )
    });
    let others = those(false).map(|(stamps, each)| {
        format!("{stamps} did not come, of packets that were lost or of others: {each}")
    });
    of_cards.into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use romer_record::document::Way;

    use super::*;

    #[test]
    fn a_way_on_which_nothing_arrived_is_not_told_to_have_stamps_of_arrivals() {
        let selection = Selection { t1: Some(Place::Kernel), t2: Some(Place::User), ..Selection::default() };
        let whole = selection.document(MissingStamps::default(), Way::RoundTrip).delay_definition;
        assert_eq!(defined(&whole, &[]), whole);
        let told = defined(&whole, &["forward", "round trip"]);
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
        assert!(told[0].starts_with("1 stamp of network cards") && told[0].contains("1 of departures there"));
        let others = "403182 stamps did not come, of packets that were lost or of others: 403180 of departures here, 2 of arrivals here";
        assert_eq!(told[1], others);
        selection.t3 = Some(Place::Kernel);
        assert!(missing(&lacking, &selection)[0].contains("1 of departures there"));
        assert!(missing(&MissingStamps::default(), &selection).is_empty());
    }
}
