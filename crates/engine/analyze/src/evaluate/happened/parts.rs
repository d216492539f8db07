//! A responder tells in parts of what its host refuses for long, so that word of it comes while it lasts. In the end it is
//! one thing that happened.

use romer_record::event::{Event, EventDetail, EventKind, EventLocation};
use romer_units::Duration;

/// What goes on after so long without a refusal is another time, as it is at this end.
const OVER: Duration = Duration::from_millis(500);

/// The `events`, which are in the order of their moments, with the parts of one thing joined.
pub(super) fn joined(events: Vec<Event>) -> Vec<Event> {
    let mut all: Vec<Event> = Vec::with_capacity(events.len());
    for event in events {
        // Whatever else happened meanwhile stands between two parts.
        let joined =
            all.iter_mut().rev().find(|one| is_alike(one, &event)).is_some_and(|one| join(one, &event));
        if !joined {
            all.push(event);
        }
    }
    all
}

fn is_alike(one: &Event, other: &Event) -> bool {
    let is_told_in_parts =
        |event: &Event| event.kind == EventKind::NotSent && event.location == EventLocation::Responder;
    is_told_in_parts(one) && is_told_in_parts(other) && one.mtu == other.mtu
}

/// Takes `next` into `one`, where it goes on with it: whether it does.
fn join(one: &mut Event, next: &Event) -> bool {
    let Some(until) = one.until_ns.filter(|until| next.at_ns.saturating_sub(*until) <= OVER.as_nanos())
    else {
        return false;
    };
    let (Some(first), Some(second)) = (&one.detail, &next.detail) else { return false };
    let Some(detail) = sum(first, second) else { return false };
    one.detail = Some(detail);
    one.until_ns = Some(until.max(next.until_ns.unwrap_or(next.at_ns)));
    true
}

/// The packets of both, where the details are the same but for their number.
fn sum(one: &EventDetail, next: &EventDetail) -> Option<EventDetail> {
    let (mut whole, mut part) = (one.clone(), next.clone());
    let (all, more) = (whole.unsent_mut()?, part.unsent_mut()?);
    let packets = all.packets.checked_add(more.packets)?;
    (all.packets, more.packets) = (packets, packets);
    (whole == part).then_some(whole)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use romer_record::event::Unsent;

    use super::*;

    fn event(detail: EventDetail, at_ms: i64, until_ms: i64) -> Event {
        let event = Event::with(detail, EventLocation::Responder, at_ms * 1_000_000, 1);
        Event { until_ns: Some(until_ms * 1_000_000), mtu: Some(1_000), ..event }
    }

    #[test]
    fn what_a_far_end_tells_in_parts_is_one_thing_that_happened() {
        let target = IpAddr::from([198, 18, 0, 1]);
        let unsent = |packets, replies| Unsent { packets, replies };
        let too_long =
            |packets| EventDetail::TooLong { unsent: unsent(packets, true), target, host_limit: false };
        let down = EventDetail::InterfaceDown { interface: "b0".into(), times: 1 };
        let other = event(down, 3_145, 3_147);
        let parts = vec![
            event(too_long(1), 2_431, 2_431),
            event(too_long(71), 2_441, 3_141),
            other.clone(),
            event(too_long(79), 3_151, 3_931),
        ];
        let whole = event(too_long(151), 2_431, 3_931);
        assert_eq!(joined(parts), [whole.clone(), other]);
        // What is another thing, or was half a second later, is told by itself.
        let probes = EventDetail::TooLong { unsent: unsent(5, false), target, host_limit: false };
        let late = EventDetail::TooLate { unsent: unsent(5, true), late_ns: 2_000_000_000 };
        for apart in [
            event(too_long(5), 4_432, 4_440),
            event(probes, 3_941, 3_950),
            event(late, 3_941, 3_950),
            Event { mtu: Some(900), ..event(too_long(5), 3_941, 3_950) },
            Event { location: EventLocation::Sender, ..event(too_long(5), 3_941, 3_950) },
        ] {
            let both = vec![whole.clone(), apart];
            assert_eq!(joined(both.clone()), both);
        }
    }
}
