//! A NAT's new mapping: seen by each session over it and by the far end, and one event.

use romer_endpoint::host_events::{detailed, event, far_words};
use romer_record::event::{Event, EventDetail, EventKind, EventLocation};
use romer_units::Duration;

use super::{InitiatorHostMonitor, TOGETHER};

/// What two sessions see of one new mapping overlaps, but for so long.
const OVERLAP_TOLERANCE: Duration = Duration::from_millis(250);
/// A far end tells of a sender's new address when that has proved it over another connection: so long after a session has
/// seen it, at the most.
const TOLD_WITHIN: Duration = Duration::from_secs(30);

/// Whether `event` says that packets come from another address than before, and not that a host has another.
pub(crate) fn is_one(event: &Event) -> bool {
    (event.kind, event.location) == (EventKind::AddressChange, EventLocation::Path)
}

/// Whether two events of new mappings, in order of their being noticed, are of one. It was at some moment of both times where
/// both have one; a far end's word, which has none, comes after it.
fn is_same(one: &Event, other: &Event) -> bool {
    let end = |event: &Event| event.until_ns.unwrap_or(event.at_ns);
    let near =
        if one.until_ns.is_some() && other.until_ns.is_some() { OVERLAP_TOLERANCE } else { TOLD_WITHIN };
    let apart = one.at_ns.saturating_sub(end(other)).max(other.at_ns.saturating_sub(end(one)));
    apart <= near.as_nanos()
}

/// Takes up in `own` what `other` knows of the same new mapping: the detail and the duration by whoever knows better when it was.
fn join(own: &mut Event, other: &Event) {
    let length = |event: &Event| event.until_ns.map_or(i64::MAX, |until| until.saturating_sub(event.at_ns));
    if length(other) < length(own) {
        own.detail.clone_from(&other.detail);
        own.duration_ns = other.duration_ns;
    }
    let (Some(until), Some(others)) = (own.until_ns, other.until_ns) else {
        if own.until_ns.is_none() && other.until_ns.is_some() {
            *own = other.clone();
        }
        return;
    };
    let later = other.at_ns.saturating_sub(own.at_ns).max(0);
    own.at_ns = own.at_ns.saturating_add(later);
    own.clock_ns = own.clock_ns.saturating_add(later);
    own.until_ns = Some(until.min(others).max(own.at_ns));
}

impl InitiatorHostMonitor {
    /// The far end sees the datagrams of stream `stream` come from another address than before. `between` is how long ago the
    /// last came there from the address before, and the first from this one, where it says so.
    pub(crate) fn moved(&mut self, stream: usize, before: &str, now: &str, between: Option<[Duration; 2]>) {
        let detail = EventDetail::MappingChanged {
            address: far_words(now),
            address_before: far_words(before),
            others: None,
        };
        let noticed = detailed(detail, EventLocation::Path, self.host.start());
        let one = match between {
            None => noticed,
            // Each is known as well as the far end's word of how long ago it was, which travelled.
            Some([last, first]) => Event {
                duration_ns: Some((last - first).as_nanos()),
                ..noticed.between(last.as_nanos(), first.as_nanos())
            },
        };
        self.rebound(stream, one, true);
    }

    /// The far end of stream `stream` tells that it finds this end at another address than before. Where this host's own has
    /// changed, that is what happened to the session there; else a NAT on the way has made a new mapping.
    pub(super) fn told_rebound(&mut self, stream: usize, told: Event) {
        if told.datagrams.is_some() {
            return self.told_others(stream, told);
        }
        let number = self.number(stream);
        let end = |event: &Event| event.until_ns.unwrap_or(event.at_ns);
        let has_moved = self.events.iter().any(|kept| {
            let own = &kept.event;
            let apart = (own.at_ns.saturating_sub(end(&told))).max(told.at_ns.saturating_sub(end(own)));
            (own.kind, own.location) == (EventKind::AddressChange, EventLocation::Sender)
                && (kept.stream.is_none() || kept.stream == number)
                && apart <= TOGETHER.as_nanos()
        });
        if has_moved {
            self.keep(Some(stream), Event { location: EventLocation::Responder, ..told });
            return;
        }
        let mut detail = told.detail;
        if let Some(EventDetail::SenderMoved { by_nat, .. }) = &mut detail {
            *by_nat = true;
        }
        let now = event(EventKind::AddressChange, EventLocation::Path, self.host.start());
        self.rebound(stream, Event { detail, ..now }, false);
    }

    /// The far end of stream `stream` tells from which other addresses probes came before it found this end at its present one: that
    /// belongs to what it told of that, right before.
    fn told_others(&mut self, stream: usize, told: Event) {
        let number = self.number(stream);
        let mut own = self.events.iter_mut().rev().filter(|kept| kept.stream == number);
        let known = own.find(|kept| is_one(&kept.event)).and_then(|kept| kept.event.detail.as_mut());
        if let Some(EventDetail::MappingChanged { others, .. } | EventDetail::SenderMoved { others, .. }) =
            known
        {
            if let Some(EventDetail::ReceivedFromOthers { others: sources }) = told.detail {
                *others = Some(sources);
            }
        } else {
            self.keep(Some(stream), Event { datagrams: None, ..told });
        }
    }

    /// A NAT has made a new mapping, as stream `stream` sees itself or is told. Each direction of a stream sees each of them
    /// once, and all are of one NAT.
    fn rebound(&mut self, stream: usize, one: Event, is_seen: bool) {
        let number = self.number(stream);
        let known = self.events.iter_mut().find(|kept| {
            let is_news = !is_seen || !kept.by.contains(&stream);
            kept.stream == number && is_one(&kept.event) && is_news && is_same(&kept.event, &one)
        });
        let Some(kept) = known else {
            let place = self.push(Some(stream), one);
            if let Some(place) = place.filter(|_| !is_seen) {
                // It may still be seen.
                self.events[place].by.clear();
            }
            return;
        };
        if is_seen {
            kept.by.push(stream);
        }
        join(&mut kept.event, &one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn seen(at_ns: i64, until_ns: Option<i64>) -> Event {
        Event {
            until_ns,
            duration_ns: until_ns.map(|until| until - at_ns),
            ..Event::new(EventKind::AddressChange, EventLocation::Path, at_ns, at_ns + 100 * S)
        }
    }

    #[test]
    fn a_new_mapping_is_as_well_dated_as_whoever_knows_best_can() {
        // A direction whose packets come here has only the associations of every three seconds to tell by.
        let (rough, fine, told) =
            (seen(S / 10, Some(4 * S)), seen(2 * S, Some(2 * S + S / 20)), seen(3 * S, None));
        for order in [[&rough, &fine, &told], [&told, &fine, &rough], [&fine, &told, &rough]] {
            let mut own = order[0].clone();
            for other in &order[1..] {
                assert!(is_same(&own, other), "{own:?} {other:?}");
                join(&mut own, other);
            }
            assert_eq!(own, fine);
        }
        let mut crossing = seen(S, Some(3 * S));
        join(&mut crossing, &seen(2 * S, Some(5 * S)));
        assert_eq!((crossing.at_ns, crossing.clock_ns, crossing.until_ns), (2 * S, 102 * S, Some(3 * S)));
        assert!(!is_same(&fine, &seen(3 * S, Some(4 * S))), "it was another, a second later");
        assert!(!is_same(&fine, &seen(40 * S, None)));
    }
}
