//! Losses that are none of the path's: what arrived at a host whose program stood still until its socket was full.

use std::collections::BTreeSet;

use romer_record::event::{Event, EventKind, Side};
use romer_record::{Fate, Passage};

/// So long after it goes on again, a program may still be reading what had waited, while the kernel drops what comes.
const CATCHING_UP_NS: i64 = 250_000_000;

/// The sequence numbers of those of `passages` that are lost, and that the kernel of the host at `receiving` dropped unread
/// because the program there stood still, by `events`: a socket fills up and then takes nothing more, so that these are the
/// ones that were lost one after the other, the most of them at once in the standstill. They would have arrived as long after
/// their departure as the one before them that did. Only where the kernel has told of drops, and of half as many at the least:
/// the path may have lost some of them before.
pub fn unread(passages: &[Passage], events: &[Event], receiving: Side) -> BTreeSet<u64> {
    let own = |kind| events.iter().filter(move |event| event.side == receiving && event.kind == kind);
    let standstills: Vec<(i64, i64, u64)> = own(EventKind::Pause)
        .filter_map(|pause| {
            let until = pause.clock_ns.saturating_add(pause.until_ns?.saturating_sub(pause.at_ns));
            let told = own(EventKind::ReceiveOverflow).find(|told| told.clock_ns >= pause.clock_ns)?;
            Some((pause.clock_ns, until.saturating_add(CATCHING_UP_NS), told.datagrams?))
        })
        .collect();
    if standstills.is_empty() {
        return BTreeSet::new();
    }
    let runs = runs(passages);
    let mut unread = BTreeSet::new();
    for (from, until, dropped) in standstills {
        let within = runs.iter().map(|run| run.iter().filter(|(_, due)| (from..=until).contains(due)));
        let Some(longest) = within.max_by_key(|run| run.clone().count()) else { continue };
        if longest.clone().count() as u64 / 2 <= dropped {
            unread.extend(longest.map(|(sequence, _)| sequence));
        }
    }
    unread
}

/// The losses without one between them that arrived, each with the moment at which it would have.
fn runs(passages: &[Passage]) -> Vec<Vec<(u64, i64)>> {
    let mut runs = vec![Vec::new()];
    let mut taking = None;
    for passage in passages.iter().filter(|passage| passage.copy == 0) {
        let Some(left) = passage.departure.map(|left| left.as_nanos()) else { continue };
        match (passage.fate, taking) {
            (Fate::Lost, Some(taking)) => {
                if let Some(run) = runs.last_mut() {
                    run.push((passage.sequence, left.saturating_add(taking)));
                }
            }
            (Fate::Arrived, _) => {
                taking = passage.arrival.map(|at| at.as_nanos().saturating_sub(left)).or(taking);
                if runs.last().is_some_and(|run| !run.is_empty()) {
                    runs.push(Vec::new());
                }
            }
            _ => {}
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use romer_units::Timestamp;

    use super::*;
    use crate::astray::tests::passage;

    const MS: i64 = 1_000_000;

    /// One a millisecond, 30 ms on the way to a clock that is an hour ahead; those that `is_lost` says are lost.
    fn sent(is_lost: impl Fn(i64) -> bool) -> Vec<Passage> {
        let one = |n: i64| {
            let lost = is_lost(n);
            let fate = if lost { Fate::Lost } else { Fate::Arrived };
            Passage {
                arrival: (!lost).then(|| Timestamp::from_nanos(HOUR + (n + 30) * MS)),
                ..passage(n.unsigned_abs(), Some(n * MS), fate)
            }
        };
        (0..10_000).map(one).collect()
    }

    const HOUR: i64 = 3_600_000 * MS;

    fn event(kind: EventKind, side: Side, at: i64, length: Option<i64>) -> Event {
        Event {
            at_ns: at * MS,
            until_ns: length.map(|length| (at + length) * MS),
            kind,
            side,
            detail: String::new(),
            clock_ns: HOUR + at * MS,
            step: None,
            datagrams: None,
            mtu: None,
        }
    }

    #[test]
    fn what_a_full_socket_took_no_more_was_not_lost_by_the_path() {
        // The program stands still from 2 to 6 s; its socket is full at 4 s, and empty again at 6.05 s. The path loses every
        // hundredth, and fifty at 8 s.
        let path = |n: i64| n % 100 == 50 || (8_000..8_050).contains(&n);
        let full = |n: i64| (3_970..6_020).contains(&n);
        let passages = sent(|n| path(n) || full(n));
        let pause = event(EventKind::Pause, Side::Responder, 2_000, Some(4_000));
        let told = |at, datagrams| Event {
            datagrams: Some(datagrams),
            ..event(EventKind::ReceiveOverflow, Side::Responder, at, None)
        };
        let gone = unread(&passages, &[pause.clone(), told(6_500, 2_029)], Side::Responder);
        assert!(gone == (3_970..6_020).collect(), "{:?} to {:?}", gone.first(), gone.last());
        // Of another host's, or where the kernel dropped nothing, or did so before, or much less: the path lost them.
        assert!(unread(&passages, &[pause.clone(), told(6_500, 2_029)], Side::Sender).is_empty());
        assert!(unread(&passages, std::slice::from_ref(&pause), Side::Responder).is_empty());
        assert!(unread(&passages, &[pause.clone(), told(1_000, 2_029)], Side::Responder).is_empty());
        assert!(unread(&passages, &[pause.clone(), told(6_500, 50)], Side::Responder).is_empty());
        // That the program stood still is noticed some time after it goes on.
        let late = event(EventKind::Pause, Side::Responder, 2_000, Some(4_900));
        let gone = unread(&passages, &[late, told(6_901, 2_029)], Side::Responder);
        assert!(gone == (3_970..6_020).collect(), "{:?} to {:?}", gone.first(), gone.last());
    }
}
