//! Probes that a host handed to an interface which let nothing out: they never left.

use romer_record::document::ProbeDirection;
use romer_record::event::{Event, EventLocation};
use romer_record::{RoundTrip, Stamps};
use romer_units::{Clock, Timestamp};

use crate::link::{Down, downs};

/// The kernel's link watch gathers changes for a second, and may run somewhat later.
const OPEN_WITHIN_NS: i64 = 1_200_000_000;

/// Takes probes that never left back from those that were sent: those that the host which sends them (this one, or of
/// [`ProbeDirection::Reverse`] the responder) handed to an interface that was down, or let nothing out yet, as it is known by `events`,
/// that have no stamp of the driver, and of which nobody has seen anything. It lets something out again with the first that the
/// driver stamped, or, where it stamps none, with the first that somebody has seen. Gives how many there were.
pub fn withdraw_unsent(rows: &mut [RoundTrip], events: &[Event]) -> u64 {
    /// The stamps of its departure: the program's and the driver's.
    fn departure(row: &RoundTrip) -> [Option<i64>; 2] {
        fn both<C: Clock>(stamps: &Stamps<C>) -> [Option<i64>; 2] {
            [stamps.user, stamps.kernel].map(|stamp| stamp.map(Timestamp::as_nanos))
        }
        if row.way == ProbeDirection::Reverse { both(&row.t3) } else { both(&row.t1) }
    }
    let is_seen = |row: &RoundTrip| row.returned || row.seen_by_responder;
    let times = |location: EventLocation| {
        let own = || {
            rows.iter()
                .filter(|row| (row.way == ProbeDirection::Reverse) == (location == EventLocation::Responder))
        };
        let stamped = own().filter_map(|row| departure(row)[1]);
        let seen = own().filter(|row| is_seen(row)).filter_map(|row| departure(row)[0]);
        let downs = downs(events, location);
        if stamped.clone().next().is_some() { closed(downs, stamped) } else { closed(downs, seen) }
    };
    let (ours, theirs) = (times(EventLocation::Sender), times(EventLocation::Responder));
    let mut withdrawn = 0;
    for row in rows.iter_mut().filter(|row| !row.not_sent && !is_seen(row)) {
        let [user, kernel] = departure(row);
        let downs = if row.way == ProbeDirection::Reverse { &theirs } else { &ours };
        let left = user.filter(|_| kernel.is_none());
        if left.is_some_and(|left| downs.iter().any(|down| (down.from..=down.until).contains(&left))) {
            row.not_sent = true;
            withdrawn += 1;
        }
    }
    withdrawn
}

/// The times when an interface let nothing out: when it was down, and from then on up to the first departure that it is known
/// to have `let_out`, for the kernel turns a carrier that is back into an open queue up to a second later, and drops meanwhile
/// what is to leave. The driver stamps none of that; where it stamps nothing, what arrived tells. Where there is neither,
/// nothing does.
fn closed(mut downs: Vec<Down>, let_out: impl Iterator<Item = i64>) -> Vec<Down> {
    if downs.is_empty() {
        return downs;
    }
    let mut let_out: Vec<i64> = let_out.collect();
    let_out.sort_unstable();
    if let_out.is_empty() {
        return downs;
    }
    for down in &mut downs {
        let latest = down.until.saturating_add(OPEN_WITHIN_NS);
        let first = let_out.get(let_out.partition_point(|left| *left <= down.until));
        down.until = first.map_or(latest, |first| latest.min(*first));
    }
    downs
}
