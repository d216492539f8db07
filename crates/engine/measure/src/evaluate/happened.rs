//! What happened during a run: when, and which packets it took that the path did not lose.

use std::collections::{BTreeMap, BTreeSet};

mod parts;

use romer_metrics::sent;
use romer_record::event::{Event, EventKind, Side};
use romer_record::manifest::{ClockRelation, CutShort, Stream};
use romer_record::{Fate, Passage};
use romer_timebase::astray::{Cause, astray, date_standing, mark};
use romer_timebase::gone::gone;
use romer_timebase::held_back::held_back;
use romer_timebase::refused::refused;
use romer_timebase::too_long::too_long;
use romer_timebase::unread::unread;
use romer_timebase::{Related, Selection};
use romer_units::{Duration, Place, counted};

/// The `events`, with those of the far host at their moment of the run: it was told of them when the network let it, and by
/// the far clock, which the stamps of what went there and back relate to this one to half a round trip.
pub(super) fn in_place(stream: &Stream, events: Vec<Event>, related: &Related) -> Vec<Event> {
    let mut events = placed(stream, events, related);
    events.sort_by_key(|event| event.at_ns);
    parts::joined(events)
}

fn placed(stream: &Stream, mut events: Vec<Event>, related: &Related) -> Vec<Event> {
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
    events
}

/// Octets of IPv4 and UDP, for where it is not known how long packets are.
const HEADERS: u32 = 28;

/// The events, with those dated by packets that a program noticed late because it stood still.
pub(super) fn dated(stream: &Stream, related: &Related) -> Vec<Event> {
    let mut events = stream.events.clone();
    let back = if related.reverse.is_empty() { &related.round_trip } else { &related.reverse };
    date_standing(&mut events, Side::Sender, back);
    date_standing(&mut events, Side::Responder, &related.forward);
    events
}

/// Finds those of the probes that did not arrive that are not the path's losses, by the dated `events`, and says so: a line for
/// each cause.
pub(super) fn mark_astray(
    stream: &Stream,
    events: &[Event],
    selection: &Selection,
    related: &mut Related,
) -> Vec<String> {
    let tells = |event: &Event| {
        matches!(
            event.kind,
            EventKind::AddressChange
                | EventKind::LinkDown
                | EventKind::ReceiveOverflow
                | EventKind::MtuChange
                | EventKind::PathError
                | EventKind::NotSent
        )
    };
    let is_gone = matches!(stream.cut_short, Some(CutShort::FarEndGone | CutShort::NoWay));
    if !events.iter().any(tells) && related.unanswered.is_empty() && !is_gone {
        return Vec::new();
    }
    let there =
        related.forward.iter().rev().find(|passage| has_come(passage)).map(|passage| passage.sequence);
    let one_clock = stream.clock_relation == ClockRelation::Shared;
    let traffic = &stream.traffic;
    let headers =
        traffic.packet_octets.map_or(HEADERS, |packet| packet.saturating_sub(traffic.payload_octets));
    let mut one_way = BTreeMap::new();
    // What this host is known to have dropped on the way back, which is at the end of the round trip as well.
    let mut carried = BTreeSet::new();
    // By the replies that the far end sent it is known which they were; among round trips are others that never got there.
    let replies_are_known = stream.far_log && stream.far_log_complete && !related.reverse.is_empty();
    let mut counts: BTreeMap<Cause, Vec<(u64, &str)>> = BTreeMap::new();
    for (passages, ends, name) in [
        (&mut related.forward, [Side::Sender, Side::Responder], "on the way there"),
        (&mut related.reverse, [Side::Responder, Side::Sender], "on the way back"),
        (&mut related.round_trip, [Side::Sender; 2], "on the round trip"),
    ] {
        let longest = passages.iter().filter_map(|passage| passage.delay).max().unwrap_or(Duration::ZERO);
        let mut causes = astray(passages, events, ends, longest);
        let mut add = |sequence, cause| {
            causes.entry(sequence).or_insert(cause);
        };
        if one_clock && ends[0] != Side::Sender {
            let here = astray(passages, events, [Side::Sender, ends[1]], longest);
            here.into_iter().for_each(|(sequence, cause)| add(sequence, cause));
        }
        let left = if ends[0] == Side::Sender { selection.t1 } else { selection.t3 };
        if left == Some(Place::User) {
            let held = held_back(passages, events, ends[0]);
            held.into_iter().for_each(|sequence| add(sequence, Cause::LeftBy));
        }
        too_long(passages, events, ends[1], headers)
            .into_iter()
            .for_each(|sequence| add(sequence, Cause::TooLong));
        refused(passages, events, ends[0], headers)
            .into_iter()
            .for_each(|sequence| add(sequence, Cause::Refused));
        let is_whole = ends[0] == ends[1];
        if !(is_whole && replies_are_known) {
            for sequence in unread(passages, events, ends[1]) {
                add(sequence, Cause::Unread);
                carried.insert(sequence);
            }
        }
        if is_whole {
            // What did not get there, or back, is no round trip.
            one_way.iter().for_each(|(sequence, cause)| add(*sequence, *cause));
            related.unanswered.iter().for_each(|sequence| add(*sequence, Cause::Unanswered));
            if is_gone {
                // Up to there the far end is known to have been there, and what did not come back was lost.
                let left =
                    passages.iter().filter(|passage| there.is_none_or(|there| passage.sequence > there));
                left.for_each(|passage| add(passage.sequence, Cause::Gone));
                gone(passages, events).into_iter().for_each(|sequence| add(sequence, Cause::Gone));
            }
        } else {
            one_way.extend(causes.clone());
        }
        mark(passages, &causes, &carried);
        if ends[1] != Side::Sender {
            carried.clear();
        }
        let mut by_cause: BTreeMap<Cause, u64> = BTreeMap::new();
        for passage in sent(passages).filter(|passage| passage.fate.is_astray()) {
            if let Some(cause) = causes.get(&passage.sequence) {
                *by_cause.entry(*cause).or_default() += 1;
            }
        }
        for (cause, count) in by_cause {
            counts.entry(cause).or_default().push((count, name));
        }
    }
    counts.into_iter().map(|(cause, counts)| said(cause, &counts)).collect()
}

/// What is to be said of a cause, by how many probes it took on each way.
fn said(cause: Cause, counts: &[(u64, &str)]) -> String {
    let astray = match cause {
        Cause::Refused => "",
        Cause::Unread => " went astray, which was not the path's doing, and",
        _ => " went astray, which says nothing of the path, and",
    };
    let count = if matches!(counts, [(1, _)]) { "counts" } else { "count" };
    let those: Vec<String> =
        counts.iter().map(|(count, way)| format!("{} {way}", counted(*count, "probe"))).collect();
    format!(
        "{}{astray} {count} as neither received nor lost: {}",
        those.join(", "),
        words(cause, count == "counts")
    )
}

/// Whether a packet has come.
const fn has_come(passage: &Passage) -> bool {
    matches!(passage.fate, Fate::Arrived | Fate::Late)
}

/// Why it was, of one probe or of several.
fn words(cause: Cause, is_one: bool) -> String {
    let [they, them, were, are, replies] =
        if is_one { ["it", "it", "was", "is", "reply"] } else { ["they", "them", "were", "are", "replies"] };
    match cause {
        Cause::Address => "a host's address changed meanwhile".into(),
        Cause::Link => format!("the interface that {they} {were} to come to was down"),
        Cause::LeftBy => format!("the interface that {they} left by was down"),
        Cause::Unwatched => format!(
            "the interface that {they} {were} to come to was down at some moment while the program there stood still, and \
             nothing tells when"
        ),
        Cause::Mapping => format!("a NAT had forgotten the mapping that {they} {were} sent to"),
        Cause::TooLong => {
            format!("the MTU of the interface that {they} came to had become too small for {them}")
        }
        Cause::Refused => format!(
            "one of the path's links takes less than {they} {are} long (ICMP), and an event says how much"
        ),
        Cause::Unread => format!(
            "{they} arrived, and the kernel there dropped {them} because its program did not read {them} in time; in the ratio of \
             what the path lost {they} {are} among what it carried"
        ),
        Cause::Unanswered => {
            format!("{they} arrived, and the host there did not send the {replies} to {them}")
        }
        Cause::Gone => format!(
            "{they} left after the last that the far end is known to have had, and whether it was still there for {them} is not \
             known"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_listed_in_order_of_their_moments() {
        let event = |at_ns| Event {
            at_ns,
            until_ns: None,
            kind: EventKind::NotSent,
            side: Side::Sender,
            detail: String::new(),
            clock_ns: 0,
            step: None,
            datagrams: None,
            mtu: None,
            sequence: None,
            noticed_late_ns: None,
        };
        // A run whose beginning is not known as a moment of the day has none to place them by.
        let stream = Stream { events: vec![event(5), event(3), event(4)], ..crate::made_up::stream() };
        let document = crate::evaluate::evaluate(&stream, &[], false).measurement;
        let order: Vec<i64> = document.events.iter().map(|event| event.at_ns).collect();
        assert_eq!(order, [3, 4, 5]);
    }

    #[test]
    fn one_probe_counts_and_several_count() {
        let one = said(Cause::Link, &[(1, "on the way there")]);
        assert!(
            one.starts_with(
                "1 probe on the way there went astray, which says nothing of the path, and counts as"
            ),
            "{one}"
        );
        assert!(one.ends_with("the interface that it was to come to was down"), "{one}");
        let unread = said(Cause::Unread, &[(1, "on the way there")]);
        assert!(!unread.contains("they") && !unread.contains("them"), "{unread}");
        let refused = said(Cause::Refused, &[(2, "on the way there"), (1, "on the round trip")]);
        assert!(
            refused.starts_with("2 probes on the way there, 1 probe on the round trip count as neither"),
            "{refused}"
        );
    }
}
