//! Losses that are none of the path's: packets that were longer than the interface of the host took that they came to.

use std::collections::BTreeSet;

use romer_record::event::{Event, EventKind, Side};
use romer_record::{Fate, Passage};

use crate::due::due;
use crate::steps::HEARD_WITHIN_NS;

/// The sequence numbers of those of `passages` that are lost, and that would have arrived while the MTU of the interface at
/// `receiving` was too small for them, by `events`: many an interface does not take what is longer than that. They would have
/// arrived as long after their departure as the one before them that did. Where one came that was as long, the interface took
/// them nevertheless, or they came by another, and it was not that. `headers` are the octets of IP and UDP.
pub fn too_long(passages: &[Passage], events: &[Event], receiving: Side, headers: u32) -> BTreeSet<u64> {
    let own = events.iter().filter(|event| event.side == receiving && event.kind == EventKind::MtuChange);
    let mut changes: Vec<(i64, u32)> = own.filter_map(|event| Some((event.clock_ns, event.mtu?))).collect();
    changes.sort_unstable();
    let ends = changes.iter().skip(1).map(|(at, _)| *at).chain([i64::MAX]);
    let mut all = BTreeSet::new();
    for ((from, mtu), until) in changes.iter().zip(ends) {
        all.extend(within(passages, [*from, until], mtu.saturating_sub(headers)).into_iter().flatten());
    }
    all
}

/// What is lost of packets of more than `most` octets of payload that would have arrived between these moments; `None` where
/// one of them arrived.
fn within(passages: &[Passage], [from, until]: [i64; 2], most: u32) -> Option<Vec<u64>> {
    let mut lost = Vec::new();
    for (passage, due) in due(passages).filter(|(passage, _)| passage.size > most) {
        let Some(due) = due else { continue };
        // A change is heard of a little after it was made: one to a larger MTU, too.
        let surely = from.saturating_add(HEARD_WITHIN_NS)..until.saturating_sub(HEARD_WITHIN_NS);
        match passage.fate {
            Fate::Arrived if surely.contains(&due) => return None,
            Fate::Lost if (from.saturating_sub(HEARD_WITHIN_NS)..=until).contains(&due) => {
                lost.push(passage.sequence);
            }
            _ => {}
        }
    }
    Some(lost)
}

#[cfg(test)]
mod tests {
    use romer_units::Timestamp;

    use super::*;
    use crate::astray::tests::passage;

    const MS: i64 = 1_000_000;

    /// One every 10 ms, 30 ms on the way to a clock that is an hour ahead, every fifth of 100 octets and the others of 1,400;
    /// those that `is_lost` says are lost.
    fn sent(is_lost: impl Fn(i64) -> bool) -> Vec<Passage> {
        let one = |n: i64| {
            let lost = is_lost(n);
            let fate = if lost { Fate::Lost } else { Fate::Arrived };
            Passage {
                size: if n % 5 == 0 { 100 } else { 1_400 },
                arrival: (!lost).then(|| Timestamp::from_nanos(3_600_000 * MS + n * 10 * MS + 30 * MS)),
                ..passage(n.unsigned_abs(), Some(n * 10 * MS), fate)
            }
        };
        (0..1_000).map(one).collect()
    }

    fn mtu(side: Side, at: i64, mtu: u32) -> Event {
        Event {
            at_ns: at * MS,
            until_ns: None,
            kind: EventKind::MtuChange,
            side,
            detail: String::new(),
            clock_ns: (3_600_000 + at) * MS,
            step: None,
            datagrams: None,
            mtu: Some(mtu),
            sequence: None,
            noticed_late_ns: None,
        }
    }

    #[test]
    fn what_was_too_long_for_the_interface_there_is_no_loss_of_the_path_and_nothing_else() {
        let long = |n: i64| n % 5 != 0;
        // A short one is lost meanwhile too, and a long one before and one after.
        let passages = sent(|n| ((400..600).contains(&n) && long(n)) || [101, 505, 901].contains(&n));
        let lowered = [mtu(Side::Sender, 4_031, 1_000), mtu(Side::Sender, 6_029, 1_500)];
        let gone = too_long(&passages, &lowered, Side::Sender, 28);
        assert_eq!(gone, (400..600u64).filter(|n| n % 5 != 0).collect());
        assert!(too_long(&passages, &lowered, Side::Responder, 28).is_empty(), "another host's");
        // It stays so to the end, in two steps.
        let passages = sent(|n| n >= 400 && long(n));
        let steps = [mtu(Side::Sender, 4_031, 1_420), mtu(Side::Sender, 7_000, 1_000)];
        assert_eq!(too_long(&passages, &steps, Side::Sender, 28).len(), 480);
        // 1,400 octets of payload and their headers are not more than that.
        let enough = [mtu(Side::Sender, 4_031, 1_428)];
        assert!(too_long(&passages, &enough, Side::Sender, 28).is_empty());
        assert_eq!(too_long(&passages, &enough, Side::Sender, 48).len(), 480, "those of IPv6 are");
    }

    #[test]
    fn where_as_long_a_packet_came_it_was_the_path_that_lost_the_others() {
        let passages = sent(|n| (400..600).contains(&n) && n % 5 != 0 && n != 501);
        let lowered = [mtu(Side::Sender, 4_031, 1_000), mtu(Side::Sender, 6_029, 1_500)];
        assert!(too_long(&passages, &lowered, Side::Sender, 28).is_empty());
    }
}
