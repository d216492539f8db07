//! What is to be said of network cards' stamps: where they were asked for and are not, and what they show of the kernel's.

use romer_passages::{CardEvidence, Selection};
use romer_record::document::Way;
use romer_record::manifest::{StampRequest, Stream};
use romer_units::Place;

/// The warnings, most important first.
pub(super) fn warnings(
    stream: &Stream,
    selection: &Selection,
    cards: &CardEvidence,
    any: bool,
) -> Vec<String> {
    let mut warnings: Vec<String> = without_card(stream, selection, any).into_iter().collect();
    for (found, end) in cards.bunches().into_iter().zip(["here", "at the responder"]) {
        let Some(found) = found else { continue };
        warnings.push(format!(
            "{} of {} packets that arrived {end} were held back by the network card and handed over together, for up to {} \
             us, as its own stamps show (interrupt coalescing): kernel stamps of them are late by that",
            found.bunched,
            found.arrivals,
            found.longest_ns / 1_000
        ));
    }
    warnings
}

/// The moments whose stamps are not the network card's, though those were asked for.
fn without_card(stream: &Stream, selection: &Selection, any: bool) -> Option<String> {
    if stream.stamp_request != StampRequest::Nic || !any {
        return None;
    }
    let way = stream.traffic.direction;
    let (there, back) = (way != Way::Reverse, way != Way::Forward);
    let moments = [
        (there, selection.t1, "departures from this host"),
        (there, selection.t2, "arrivals at the responder"),
        (back, selection.t3, "departures from the responder"),
        (back, selection.t4, "arrivals at this host"),
    ];
    let without: Vec<&str> = moments
        .into_iter()
        .filter(|(concerned, place, _)| *concerned && *place != Some(Place::Nic))
        .map(|(.., words)| words)
        .collect();
    let (last, others) = without.split_last()?;
    let list =
        if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) };
    Some(format!(
        "no network card stamped {list}, or fewer than half of them: those stamps were taken elsewhere, so that delays span \
         more than the wire"
    ))
}
