//! Losses that may be of packets too long for their way, of which a host that sent them does not hear.

use romer_record::manifest::Stream;
use romer_record::{Fate, Passage};
use romer_timebase::Related;

use crate::occurrences::SHORT;

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
    said.collect()
}

fn may_be_too_long(passage: &Passage) -> bool {
    matches!(passage.fate, Fate::Lost | Fate::Unknown) && passage.size > SHORT
}
