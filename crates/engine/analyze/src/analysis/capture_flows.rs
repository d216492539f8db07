//! Which flow of the one capture is which of the other: packets that go against each other are never the same, though what they carry be.
//!
//! An echo carries what it answers, and its IP header may have no identification (IPv6, and IPv4 that is not to be taken apart), so that
//! addresses and ports alone tell it from a copy. Where these are translated between the two captures, what is left of them tells it; where
//! nothing is left, that a packet comes before its echo in either capture.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use romer_exchange::capture::{Captured, Flow};

/// Flows that may carry one content, at the most: more of them do not tell which is which.
const MAX_FLOWS_WITH_SAME_CONTENT: usize = 16;

/// Flows of the second capture by other addresses than the first has, and what that calls them.
pub(super) type Translated = BTreeMap<Flow, Flow>;

/// Gives the flows of the second capture the addresses by which the first has them, and takes into account for each packet's `content` in
/// which flow it is. Gives the flows whose addresses are others.
pub(super) fn match_flows([a, b]: [&mut [Captured]; 2]) -> Translated {
    let translated = translated([a, b]);
    for packet in &mut *b {
        packet.flow = translated.get(&packet.flow).copied().unwrap_or(packet.flow);
    }
    for packet in a.iter_mut().chain(b) {
        let mut hasher = DefaultHasher::new();
        (packet.content, packet.flow).hash(&mut hasher);
        packet.content = hasher.finish();
    }
    translated
}

fn translated([a, b]: [&[Captured]; 2]) -> Translated {
    let flows =
        |packets: &[Captured]| -> BTreeSet<Flow> { packets.iter().map(|packet| packet.flow).collect() };
    let [own, others] = [a, b].map(flows);
    // What both captures have by one name, in either direction, is no other.
    let alone = |flows: &BTreeSet<Flow>, in_other: &BTreeSet<Flow>| -> BTreeSet<Flow> {
        let is_alone = |flow: &&Flow| !in_other.contains(*flow) && !in_other.contains(&flow.back());
        flows.iter().filter(is_alone).copied().collect()
    };
    let (own, others) = (alone(&own, &others), alone(&others, &own));
    let shared = shared([a, b], [&own, &others]);
    let count = |of: Flow, other: Flow| shared.get(&(of, other)).copied().unwrap_or(0);
    let fits = |of: Flow, other: Flow| count(of, other) + count(of.back(), other.back());
    // Those that carry nothing of a flow are not looked at: captures of a scan have a flow for each packet.
    let mut alike: BTreeMap<Flow, BTreeSet<Flow>> = BTreeMap::new();
    for (of, other) in shared.keys() {
        alike.entry(*other).or_default().insert(*of);
        alike.entry(other.back()).or_default().insert(of.back());
    }
    let mut translated = Translated::new();
    for other in others.iter().filter(|flow| **flow <= flow.back() || !others.contains(&flow.back())) {
        let Some(ways) = alike.get(other) else { continue };
        let most = ways.iter().map(|of| fits(*of, *other)).max().unwrap_or(0);
        // An echo carries as much of the one way as of the other.
        let close = ways.iter().filter(|of| 10 * fits(**of, *other) >= 9 * most);
        let likeness = |of: &Flow| (ends_alike(*of, *other), fits(*of, *other));
        let Some(best) = close.max_by_key(|of| likeness(of)).copied() else { continue };
        let is_open = ends_alike(best, *other) == ends_alike(best.back(), *other)
            && 10 * fits(best.back(), *other) >= 9 * most;
        let is_against = is_open
            && comes_first(a, best).zip(comes_first(b, *other)).is_some_and(|(here, there)| here != there);
        let best = if is_against { best.back() } else { best };
        translated.extend([(*other, best), (other.back(), best.back())]);
    }
    translated
}

/// How many packets of a flow of the second capture carry what a flow of the first does.
fn shared([a, b]: [&[Captured]; 2], [own, others]: [&BTreeSet<Flow>; 2]) -> BTreeMap<(Flow, Flow), usize> {
    let mut shared = BTreeMap::new();
    if own.is_empty() || others.is_empty() {
        return shared;
    }
    let mut carried: HashMap<u64, Vec<Flow>> = HashMap::new();
    for packet in a.iter().filter(|packet| own.contains(&packet.flow)) {
        let flows = carried.entry(packet.content).or_default();
        if flows.len() < MAX_FLOWS_WITH_SAME_CONTENT && !flows.contains(&packet.flow) {
            flows.push(packet.flow);
        }
    }
    for packet in b.iter().filter(|packet| others.contains(&packet.flow)) {
        for flow in carried.get(&packet.content).into_iter().flatten() {
            *shared.entry((*flow, packet.flow)).or_default() += 1;
        }
    }
    shared
}

/// How many of the addresses and ports are the same, each in its place.
fn ends_alike(one: Flow, other: Flow) -> u8 {
    let ends = [(one.source, other.source), (one.destination, other.destination)];
    ends.into_iter().map(|(one, other)| u8::from(one.0 == other.0) + u8::from(one.1 == other.1)).sum()
}

/// Whether what both the flow and the one back carry is in the flow first, most of it; `None` where they carry nothing alike.
fn comes_first(packets: &[Captured], flow: Flow) -> Option<bool> {
    // Of each content, in which of both it was first, and whether it was in the other since.
    let mut seen: HashMap<u64, (bool, bool)> = HashMap::new();
    for packet in packets {
        if packet.flow == flow || packet.flow == flow.back() {
            let is_back = packet.flow != flow;
            let (first, both) = seen.entry(packet.content).or_insert((is_back, false));
            *both |= *first != is_back;
        }
    }
    let both = || seen.values().filter(|(_, both)| *both);
    let first = both().filter(|(is_back, _)| !is_back).count();
    (both().next().is_some()).then(|| 2 * first >= both().count())
}
