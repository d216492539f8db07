//! Losses that are none of the path's: packets that a router returned as too long for the path.

use std::collections::BTreeSet;

use romer_record::event::{Event, EventKind, Side};
use romer_record::{Fate, Passage};

/// How long before a host knew what the path takes the first may have left that was too long.
const KNOWN_WITHIN_NS: i64 = 2_000_000_000;

/// The sequence numbers of those of `passages`, which left the host at `sending`, that are lost, and were refused on the way as
/// too long, by `events`. The path reports the first of them (RFC 1191, RFC 8201), and few of the others, for routers limit how
/// many errors they send. So it took what was as long and left from the first on until this host knew; up to one that arrived,
/// if one did. Where the report is not seen, but that the host refuses what is too long (`not-sent` with an `mtu`, and its own
/// interface has not changed), it took what was lost of them directly before. `headers` are the octets of IP and UDP.
pub fn refused(passages: &[Passage], events: &[Event], sending: Side, headers: u32) -> BTreeSet<u64> {
    let mut all = BTreeSet::new();
    let has_changed = events.iter().any(|one| one.kind == EventKind::MtuChange && one.side == sending);
    for event in events {
        let Some(mtu) = event.mtu else { continue };
        let most = mtu.saturating_sub(headers);
        let as_long = passages.iter().filter(|one| one.copy == 0 && one.size > most);
        match (event.kind, event.sequence) {
            (EventKind::PathError, Some(first)) if sending == Side::Sender => {
                let length = event.until_ns.map_or(0, |until| until.saturating_sub(event.at_ns));
                let known = event.clock_ns.saturating_add(length);
                let before = |one: &&Passage| one.left().is_some_and(|left| left.as_nanos() <= known);
                let before = as_long.filter(|one| one.sequence >= first).filter(before);
                let until_one_came = before.take_while(|one| one.fate != Fate::Arrived);
                all.extend(until_one_came.filter(|one| one.fate == Fate::Lost).map(|one| one.sequence));
            }
            (EventKind::NotSent, _) if event.side == sending && !has_changed => {
                let from = event.clock_ns.saturating_sub(KNOWN_WITHIN_NS);
                let before = |one: &&Passage| {
                    one.left().is_some_and(|left| (from..=event.clock_ns).contains(&left.as_nanos()))
                };
                let before: Vec<&Passage> = as_long.filter(before).collect();
                let last = before.iter().rev().take_while(|one| one.fate == Fate::Lost);
                all.extend(last.map(|one| one.sequence));
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use romer_units::Timestamp;

    use super::*;
    use crate::astray::tests::passage;

    const MS: i64 = 1_000_000;

    /// One every 10 ms, 30 ms on the way, every fifth of 100 octets and the others of 1,400; those that `is_lost` says are lost.
    fn sent(is_lost: impl Fn(i64) -> bool) -> Vec<Passage> {
        let one = |n: i64| {
            let fate = if is_lost(n) { Fate::Lost } else { Fate::Arrived };
            Passage {
                size: if n % 5 == 0 { 100 } else { 1_400 },
                arrival: (!is_lost(n)).then(|| Timestamp::from_nanos(n * 10 * MS + 30 * MS)),
                ..passage(n.unsigned_abs(), Some(n * 10 * MS), fate)
            }
        };
        (0..1_000).map(one).collect()
    }

    fn reported(mtu: Option<u32>, first: Option<u64>, at: i64) -> Event {
        Event {
            at_ns: at * MS,
            until_ns: None,
            kind: EventKind::PathError,
            side: Side::Path,
            detail: String::new(),
            clock_ns: at * MS,
            step: None,
            datagrams: None,
            mtu,
            sequence: first,
            noticed_late_ns: None,
        }
    }

    #[test]
    fn what_the_path_refused_as_too_long_until_this_host_knew_is_no_loss_of_the_path_and_nothing_else() {
        // From 400 on a link takes 1,300 octets; the report of it is there when 405 has left. The path loses one before, a short
        // one meanwhile, and one after this host has sent as long ones again.
        let passages = sent(|n| [398, 405, 700].contains(&n) || (401..=406).contains(&n));
        let gone = |mtu, first| refused(&passages, &[reported(mtu, first, 4_065)], Side::Sender, 28);
        assert_eq!(gone(Some(1_300), Some(401)), [401, 402, 403, 404, 406].into());
        assert_eq!(gone(Some(1_300), Some(403)), [403, 404, 406].into(), "from the first that is known of");
        assert!(gone(Some(1_428), Some(401)).is_empty(), "they were not longer than that");
        assert!(gone(None, Some(401)).is_empty() && gone(Some(1_300), None).is_empty());
        let longer = Event { until_ns: Some(9_000 * MS), ..reported(Some(1_300), Some(401), 4_065) };
        assert_eq!(
            refused(&passages, &[longer], Side::Sender, 28),
            [401, 402, 403, 404, 406].into(),
            "407 came"
        );
    }

    #[test]
    fn what_was_lost_directly_before_a_host_refused_what_is_too_long_was_refused_by_the_path() {
        // From 400 on a link of the way back takes 1,300 octets, which the far host knows when 403 has left. The path loses one
        // before, and a short one.
        let passages = sent(|n| [398, 405].contains(&n) || (401..=403).contains(&n));
        let refuses = |side, mtu| Event { kind: EventKind::NotSent, side, ..reported(mtu, None, 4_035) };
        let gone = |events: &[Event]| refused(&passages, events, Side::Responder, 28);
        let own = refuses(Side::Responder, Some(1_300));
        assert_eq!(gone(std::slice::from_ref(&own)), [401, 402, 403].into(), "399 came");
        assert!(gone(&[refuses(Side::Sender, Some(1_300))]).is_empty(), "another host's");
        assert!(gone(&[refuses(Side::Responder, None)]).is_empty(), "refused for something else");
        let changed = Event { kind: EventKind::MtuChange, ..own.clone() };
        assert!(gone(&[changed, own]).is_empty(), "its own interface does not take them");
    }
}
