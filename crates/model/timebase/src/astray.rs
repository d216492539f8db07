//! Losses that are none of the path's: what left while the other end was looked for under an address that it had no more.

use romer_record::event::{Event, EventKind, Side};
use romer_record::{Fate, Passage};
use romer_units::Duration;

/// A change of an address is known within this time as a rule.
const KNOWN_WITHIN_NS: i64 = 50_000_000;

/// How many of `passages` are lost and left while an address changed, by `events` of the host at `side`, whose clock the
/// departures are on. What was on its way when the address went is lost with it: `longest` is the longest delay that was
/// seen.
pub fn astray(passages: &[Passage], events: &[Event], side: Side, longest: Duration) -> u64 {
    let windows: Vec<(i64, i64)> = events
        .iter()
        .filter(|event| event.kind == EventKind::AddressChange && event.side == side)
        .filter_map(|event| {
            let length = event.until_ns?.saturating_sub(event.at_ns);
            let before = longest.as_nanos().saturating_add(KNOWN_WITHIN_NS);
            Some((event.clock_ns.saturating_sub(before), event.clock_ns.saturating_add(length)))
        })
        .collect();
    if windows.is_empty() {
        return 0;
    }
    let lost = passages.iter().filter(|passage| passage.fate == Fate::Lost);
    let left = lost.filter_map(|passage| passage.departure).map(|departure| departure.as_nanos());
    let count = left.filter(|left| windows.iter().any(|(from, to)| (*from..=*to).contains(left))).count();
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_units::Timestamp;

    const MS: i64 = 1_000_000;

    fn passage(sequence: u64, departure: Option<i64>, fate: Fate) -> Passage {
        Passage {
            sequence,
            copy: 0,
            size: 44,
            fate,
            departure: departure.map(Timestamp::from_nanos),
            arrival: None,
            delay: None,
            ttl: None,
            tos: None,
            departure_error: None,
        }
    }

    fn moved(side: Side, length: Option<i64>) -> Event {
        Event {
            at_ns: 0,
            until_ns: length,
            kind: EventKind::AddressChange,
            side,
            detail: String::new(),
            clock_ns: 5_000 * MS,
            step: None,
        }
    }

    #[test]
    fn what_left_while_the_address_changed_went_astray_and_nothing_else() {
        // One every 10 ms from 0 to 10 s, of which those that left from 4.9 s to 7 s are lost, and one long before.
        let passages: Vec<Passage> = (0..1_000)
            .map(|n: i64| {
                let lost = (490..=700).contains(&n) || n == 100;
                let fate = if lost { Fate::Lost } else { Fate::Arrived };
                passage(n.unsigned_abs(), Some(n * 10 * MS), fate)
            })
            .collect();
        let longest = Duration::from_millis(60);
        let window = |side, length| astray(&passages, &[moved(side, length)], Side::Sender, longest);
        assert_eq!(window(Side::Sender, Some(2_000 * MS)), 211, "with those that were on their way");
        assert_eq!(window(Side::Sender, Some(1_000 * MS)), 111);
        assert_eq!(window(Side::Responder, Some(2_000 * MS)), 0, "another clock's window");
        assert_eq!(window(Side::Sender, None), 0, "it had no length");
        let unknown = [passage(0, Some(6_000 * MS), Fate::Unknown), passage(1, None, Fate::Lost)];
        assert_eq!(astray(&unknown, &[moved(Side::Sender, Some(9_000 * MS))], Side::Sender, longest), 0);
    }
}
