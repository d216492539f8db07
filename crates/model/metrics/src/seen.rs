//! What arriving packets carried: hops and code points.

use std::collections::BTreeMap;

use romer_record::Passage;
use romer_record::document::{Ttl, TtlChange};
use romer_units::{Dscp, Ecn};

use crate::sample::{in_order_of_arrival, received};

/// Time to live, or hop limit, of the packets that arrived; changes between consecutive arrivals.
pub fn ttl(passages: &[Passage]) -> Ttl {
    let seen = || received(passages).filter_map(|passage| passage.ttl);
    let mut changes = Vec::new();
    let mut last = None;
    for passage in in_order_of_arrival(passages) {
        let Some(to) = passage.ttl else { continue };
        if let Some(from) = last.filter(|from| *from != to) {
            changes.push(TtlChange { sequence: passage.sequence, from, to });
        }
        last = Some(to);
    }
    Ttl { min: seen().min(), max: seen().max(), changes }
}

/// How many packets arrived with each code point, by its name.
pub fn dscp_received(passages: &[Passage]) -> BTreeMap<String, u64> {
    let mut counts = [0_u64; 64];
    for tos in received(passages).filter_map(|passage| passage.tos) {
        counts[usize::from(Dscp::of_tos(tos).value())] += 1;
    }
    let named = (0_u8..).zip(counts).filter(|(_, count)| *count > 0);
    named.filter_map(|(value, count)| Some((Dscp::new(value)?.to_string(), count))).collect()
}

/// How many packets arrived with each setting of the ECN bits, by its name.
pub fn ecn_received(passages: &[Passage]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for tos in received(passages).filter_map(|passage| passage.tos) {
        *counts.entry(Ecn::of_tos(tos).to_string()).or_default() += 1;
    }
    counts
}
