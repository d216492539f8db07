//! What happened during a run: when, and which packets it took that the path did not lose.

use std::collections::BTreeSet;

use romer_metrics::sent;
use romer_record::event::{Event, EventKind, Side};
use romer_record::manifest::{ClockRelation, Stream};
use romer_record::{Fate, Passage};
use romer_timebase::Related;
use romer_timebase::astray::{astray, mark};
use romer_timebase::too_long::too_long;
use romer_timebase::unread::unread;
use romer_units::Duration;

/// The events, with those of the far host at their moment of the run: it was told of them when the network let it, and by
/// the far clock, which the stamps of what went there and back relate to this one to half a round trip.
pub(super) fn in_place(stream: &Stream, related: &Related) -> Vec<Event> {
    let mut events = stream.events.clone();
    let is_theirs = |event: &Event| event.side == Side::Responder;
    let was_set = events.iter().any(|event| is_theirs(event) && event.step.is_some());
    let Some(start) = humantime::parse_rfc3339(&stream.started).ok().filter(|_| !was_set) else {
        return events;
    };
    let start = start.duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    let took = |passages: &[Passage]| {
        let took = |passage: &Passage| Some(passage.arrival?.as_nanos() - passage.departure?.as_nanos());
        passages.iter().filter_map(took).min()
    };
    // Going through all packets is for where it matters.
    let ahead = if stream.clock_relation == ClockRelation::Shared || !events.iter().any(is_theirs) {
        Some(0)
    } else {
        match (took(&related.forward), took(&related.reverse)) {
            (Some(there), Some(back)) => Some((there - back) / 2),
            (there, back) => there.or(back.map(|back| -back)),
        }
    };
    let (Some(ahead), Ok(start)) = (ahead, i64::try_from(start)) else { return events };
    for event in events.iter_mut().filter(|event| is_theirs(event) && event.clock_ns > 0) {
        let length = event.until_ns.map(|until| until - event.at_ns);
        // What was told of can have been no later than that.
        let at = event.clock_ns.saturating_sub(ahead).saturating_sub(start);
        event.at_ns = at.clamp(0, event.at_ns.max(0));
        event.until_ns = length.map(|length| event.at_ns + length);
    }
    events.sort_by_key(|event| event.at_ns);
    events
}

/// Octets of IPv4 and UDP, for where it is not known how long packets are.
const HEADERS: u32 = 28;

/// Finds those of the probes that did not arrive that are not the path's losses, and says so.
pub(super) fn mark_astray(stream: &Stream, related: &mut Related) -> Vec<String> {
    let tells = |event: &Event| {
        matches!(
            event.kind,
            EventKind::AddressChange
                | EventKind::LinkDown
                | EventKind::ReceiveOverflow
                | EventKind::MtuChange
        )
    };
    if !stream.events.iter().any(tells) {
        return Vec::new();
    }
    let one_clock = stream.clock_relation == ClockRelation::Shared;
    let traffic = &stream.traffic;
    let headers =
        traffic.packet_octets.map_or(HEADERS, |packet| packet.saturating_sub(traffic.payload_octets));
    let mut there = BTreeSet::new();
    let mut words = Vec::new();
    for (passages, ends, name) in [
        (&mut related.forward, [Side::Sender, Side::Responder], "on the way there"),
        (&mut related.reverse, [Side::Responder, Side::Sender], "on the way back"),
        (&mut related.round_trip, [Side::Sender; 2], "on the round trip"),
    ] {
        let longest = passages.iter().filter_map(|passage| passage.delay).max().unwrap_or(Duration::ZERO);
        let mut gone = astray(passages, &stream.events, ends, longest);
        if one_clock && ends[0] != Side::Sender {
            gone.extend(astray(passages, &stream.events, [Side::Sender, ends[1]], longest));
        }
        gone.extend(unread(passages, &stream.events, ends[1]));
        gone.extend(too_long(passages, &stream.events, ends[1], headers));
        match ends {
            [Side::Sender, Side::Responder] => there.clone_from(&gone),
            // What did not get there does not come back.
            [Side::Sender, Side::Sender] => gone.extend(&there),
            _ => {}
        }
        mark(passages, &gone);
        let count = sent(passages).filter(|passage| passage.fate == Fate::Astray).count();
        if count > 0 {
            let (probes, they) = if count == 1 { ("probe was", "it") } else { ("probes were", "they") };
            words.push(format!(
                "{count} {probes} under way {name} while a host's address changed, its interface was down or its MTU too \
                 small for them, or its program stood still until its socket was full: {they} went astray, which says nothing of the path, and {they} \
                 count{} as neither received nor lost",
                if count == 1 { "s" } else { "" }
            ));
        }
    }
    words
}
