//! Losses that may be of packets too long for their way, of which a host that sent them does not hear.

use romer_record::manifest::Stream;
use romer_record::{Fate, Passage};
use romer_timebase::Related;
use romer_units::counted;
use romer_wire::stamp::BASE;

use crate::occurrences::SHORT;

/// Packets that must be lost, and none have arrived, before their length may be why.
const FEWEST: usize = 3;

/// What is to be said of the losses of either way.
pub(super) fn words(stream: &Stream, related: &Related) -> Vec<String> {
    let probes = if related.forward.is_empty() { "probes" } else { "replies" };
    let ends = [
        ("this host", stream.routers_unheard, &related.forward, "probes"),
        ("the responder's host", stream.responder_routers_unheard, &related.reverse, probes),
    ];
    let said = ends.into_iter().filter_map(|(host, setting, passages, those)| {
        let setting = setting.filter(|_| passages.iter().any(may_be_too_long))?;
        Some(format!(
            "{host} does not hear routers that return packets of IPv4 as too long (net.ipv4.ip_no_pmtu_disc is {setting}): some of \
             the losses may be of {those} that are too long for their way"
        ))
    });
    said.chain(none_arrived(stream, related)).collect()
}

/// That no packet came through of those of a stream that are all longer than what every path takes, while shorter ones did:
/// the search for the way had reached the target, and its end had answered.
fn none_arrived(stream: &Stream, related: &Related) -> Option<String> {
    let mut answers =
        stream.metadata.route.iter().flatten().flat_map(|hop| [&hop.at_start, &hop.at_end]).flatten();
    let reached = answers.any(|answer| answer.target);
    let ways = [
        ("on the way there", &related.forward),
        ("on the way back", &related.reverse),
        ("there and back", &related.round_trip),
    ];
    // Of packets of which nobody knows the way the round trip tells.
    let all_lost = |passages: &[Passage]| {
        passages.len() >= FEWEST && passages.iter().all(|passage| passage.fate == Fate::Lost)
    };
    let (way, passages) = ways.into_iter().find(|(_, passages)| reached && all_lost(passages))?;
    let sizes = || passages.iter().map(|passage| passage.size);
    let (shortest, longest) = (sizes().min()?, sizes().max()?);
    let and_more = if shortest < longest { " and more" } else { "" };
    (shortest > SHORT).then(|| {
        format!(
            "none of {} of {shortest} B of payload{and_more} came through {way}, while the search for the route, which sends {BASE} B, \
             was answered: something may drop packets for their length; see what becomes of --size {SHORT}B",
            counted(passages.len() as u64, "packet")
        )
    })
}

fn may_be_too_long(passage: &Passage) -> bool {
    matches!(passage.fate, Fate::Lost | Fate::Unknown) && passage.size > SHORT
}
