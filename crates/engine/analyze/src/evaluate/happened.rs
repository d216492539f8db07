//! The events of a run: when they were, and what they did to packets.

use std::collections::BTreeSet;

mod parts;

use romer_record::event::{Event, EventKind, EventLocation};
use romer_record::manifest::{ClockRelation, Stream};
use romer_record::{Fate, OneWaySingleton};
use romer_singletons::StreamSingletons;
use romer_singletons::causes::Causes;
use romer_singletons::instrument::instrument_drops;

/// The `events`, with those of the far host at their moment of the run: it was told of them when the network let it, and by
/// the far clock, which the stamps of what went there and back relate to this one to half a round trip.
pub(super) fn in_place(stream: &Stream, events: Vec<Event>, related: &StreamSingletons) -> Vec<Event> {
    let mut events = placed(stream, events, related);
    events.sort_by_key(|event| event.at_ns);
    parts::joined(events)
}

fn placed(stream: &Stream, mut events: Vec<Event>, related: &StreamSingletons) -> Vec<Event> {
    let is_theirs = |event: &Event| event.location == EventLocation::Responder;
    let was_set = events.iter().any(|event| is_theirs(event) && event.step.is_some());
    let Some(start) = humantime::parse_rfc3339(&stream.started).ok().filter(|_| !was_set) else {
        return events;
    };
    let start = start.duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    let took = |singletons: &[OneWaySingleton]| {
        let took = |singleton: &OneWaySingleton| {
            Some(singleton.arrival?.as_nanos() - singleton.departure?.as_nanos())
        };
        singletons.iter().filter_map(took).min()
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
    events
}

/// Octets of IPv4 and UDP, for where it is not known how long packets are.
const HEADERS: u32 = 28;

/// The causes of the losses, by the `events` of the run.
pub(super) fn causes(stream: &Stream, events: &[Event], related: &StreamSingletons) -> Causes {
    let traffic = &stream.traffic;
    let headers =
        traffic.packet_octets.map_or(HEADERS, |packet| packet.saturating_sub(traffic.payload_octets));
    Causes::from_events(related, events, headers)
}

/// Marks the packets that arrived at a host which dropped them unread, by the counts of its kernel.
pub(super) fn mark_instrument_drops(stream: &Stream, related: &mut StreamSingletons) {
    let events = &stream.events;
    if !events.iter().any(|event| event.kind == EventKind::ReceiveOverflow) {
        return;
    }
    let mut dropped = instrument_drops(&related.forward, events, EventLocation::Responder);
    mark(&mut related.forward, &dropped);
    let here = instrument_drops(&related.reverse, events, EventLocation::Sender);
    mark(&mut related.reverse, &here);
    // By the replies that the far end sent it is known which they were; among round trips are others that never got there.
    if stream.responder_log && stream.responder_log_complete && !related.reverse.is_empty() {
        dropped.extend(here);
    } else {
        dropped.extend(instrument_drops(&related.round_trip, events, EventLocation::Sender));
    }
    mark(&mut related.round_trip, &dropped);
}

fn mark(singletons: &mut [OneWaySingleton], dropped: &BTreeSet<u64>) {
    let lost = singletons.iter_mut().filter(|singleton| singleton.fate == Fate::Lost);
    lost.filter(|singleton| dropped.contains(&singleton.sequence))
        .for_each(|singleton| singleton.fate = Fate::InstrumentDrop);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_listed_in_order_of_their_moments() {
        let event = |at_ns| Event::new(EventKind::NotSent, EventLocation::Sender, at_ns, 0);
        // A run whose beginning is not known as a moment of the day has none to place them by.
        let stream = Stream { events: vec![event(5), event(3), event(4)], ..romer_testing::stream() };
        let document = crate::evaluate::evaluate(&stream, &[], false).measurement;
        let order: Vec<i64> = document.events.iter().map(|event| event.at_ns).collect();
        assert_eq!(order, [3, 4, 5]);
    }
}
