//! What the kernel dropped because a socket was full, by what the datagrams around it tell.

use romer_host::socket::Datagram;
use romer_host::{clock, host_info};
use romer_record::event::{Event, EventKind, EventLocation};
use romer_units::{Monotonic, Timestamp};

use crate::host_events::event;

/// Drops that are no further apart are told together, nanoseconds.
const TOGETHER_NS: i64 = 100_000_000;
/// An overflow is over when nothing was dropped for so long.
const GOES_ON_NS: i64 = 1_000_000_000;
/// Told at once, at the most; further ones are counted with the last.
const MAX_PENDING_EVENTS: usize = 64;
/// A datagram that came so long before the host's counter was read came after no overflow that this had not counted: longer than
/// datagrams are on their way from their stamp to the socket, nanoseconds.
const COUNTED_NS: i64 = 1_000_000;
/// A reading that is so much later than a datagram was made before the clock was set, nanoseconds.
const SET_NS: i64 = 1_000_000_000;

/// Datagrams that a socket had no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// When the last one before them came, and the first after them, nanoseconds of the real-time clock.
    pub between: [i64; 2],
    /// How many.
    pub count: u64,
}

impl Overflow {
    /// The event of it, at the host that is this `location`, with times told from `start`.
    pub fn event(&self, location: EventLocation, start: Timestamp<Monotonic>) -> Event {
        let [from, until] = self.between;
        let count = self.count;
        let now = event(EventKind::ReceiveOverflow, location, start);
        let ago = |at: i64| now.clock_ns.saturating_sub(at).max(0);
        let (earliest, latest) = (ago(from), ago(until));
        Event { datagrams: Some(count), ..now.between(earliest, latest) }
    }
}

/// Takes `next` up in the event of an overflow, if that goes on with it; gives whether it does. How long it was is told by the
/// clock of the host where it was: when the one and the other were heard of says nothing of that.
pub fn go_on(event: &mut Event, next: &Event) -> bool {
    let (Some([from, until]), Some([next_from, next_until])) = (span(event), span(next)) else {
        return false;
    };
    let is_after = next_from <= until.saturating_add(GOES_ON_NS);
    let goes_on = is_after && next_until >= from.saturating_sub(GOES_ON_NS);
    if goes_on {
        merge(event, next, [from.min(next_from), until.max(next_until)]);
    }
    goes_on
}

/// Takes `next` up in the event of an overflow however long it was over by then, because no more events are kept.
pub fn add_to(event: &mut Event, next: &Event) {
    if let (Some([from, until]), Some([next_from, next_until])) = (span(event), span(next)) {
        merge(event, next, [from.min(next_from), until.max(next_until)]);
    }
}

/// Between which readings of its host's clock it was.
fn span(event: &Event) -> Option<[i64; 2]> {
    let length = event.until_ns?.saturating_sub(event.at_ns).max(0);
    Some([event.clock_ns, event.clock_ns.saturating_add(length)])
}

fn merge(event: &mut Event, next: &Event, [from, until]: [i64; 2]) {
    event.at_ns = event.at_ns.saturating_sub(event.clock_ns.saturating_sub(from)).max(0);
    event.clock_ns = from;
    event.until_ns = Some(event.at_ns.saturating_add(until.saturating_sub(from)));
    let count = event.datagrams.unwrap_or(0).saturating_add(next.datagrams.unwrap_or(0));
    event.datagrams = Some(count);
}

/// What the host has counted of datagrams for which sockets had no room.
#[derive(Clone, Copy, Debug, Default)]
struct OverflowReading {
    /// Nothing, if the host does not tell.
    counted: Option<u64>,
    /// Nanoseconds of the real-time clock.
    at_ns: i64,
}

impl OverflowReading {
    fn now() -> Self {
        Self { counted: host_info::udp_overflows().ok(), at_ns: clock::realtime_now().as_nanos() }
    }
}

/// Follows the drops of one socket. The kernel counts damaged datagrams among these: a drop is an overflow as far as the host has
/// counted overflows in the meantime.
#[derive(Debug, Default)]
pub struct Overflows {
    dropped: u32,
    last_ns: Option<i64>,
    /// What the host had counted when it was asked last.
    host: OverflowReading,
    /// Overflows that the host has counted and this socket has not told of.
    untold: u64,
    total: u64,
    found: Vec<Overflow>,
}

impl Overflows {
    /// Of a socket to which nothing has come yet.
    pub fn new() -> Self {
        Self { host: OverflowReading::now(), ..Self::default() }
    }

    /// A datagram was read.
    pub fn take(&mut self, datagram: &Datagram<'_>) {
        self.take_one(
            datagram.kernel.unwrap_or(datagram.user).as_nanos(),
            datagram.dropped_before,
            OverflowReading::now,
        );
    }

    /// The host is asked by `read`, which takes a while, and only if something was dropped.
    fn take_one(&mut self, at_ns: i64, dropped: u32, read: impl FnOnce() -> OverflowReading) {
        let more = dropped.wrapping_sub(self.dropped);
        let before = self.last_ns.replace(at_ns).unwrap_or(at_ns);
        // A datagram that was waiting when the total was looked at tells of less.
        if (1..=u32::MAX / 2).contains(&more) {
            self.dropped = dropped;
            let between = [before.min(at_ns), at_ns];
            let count = self.unread(between, more.into(), read);
            if count > 0 {
                self.total += count;
                self.add(Overflow { between, count });
            }
        }
    }

    /// How many of `drops` were overflows.
    fn unread(
        &mut self,
        [before, at_ns]: [i64; 2],
        drops: u64,
        read: impl FnOnce() -> OverflowReading,
    ) -> u64 {
        if before > self.host.at_ns {
            // All that this socket had dropped by then has been told: the rest was another's.
            self.untold = 0;
        }
        let is_counted = (COUNTED_NS..SET_NS).contains(&self.host.at_ns.saturating_sub(at_ns));
        if self.untold < drops && !is_counted {
            let now = read();
            let Some((counted, earlier)) = now.counted.zip(self.host.counted) else { return drops };
            self.untold += counted.saturating_sub(earlier);
            self.host = now;
        }
        let count = drops.min(self.untold);
        self.untold -= count;
        count
    }

    /// What was dropped since the last datagram, after which none came, is told by the socket's `total`, up to `now_ns`.
    pub fn end(&mut self, total: u32, now_ns: i64) {
        self.take_one(now_ns, total, OverflowReading::now);
    }

    fn add(&mut self, one: Overflow) {
        let full = self.found.len() >= MAX_PENDING_EVENTS;
        match self.found.last_mut() {
            Some(last) if full || one.between[0] <= last.between[1].saturating_add(TOGETHER_NS) => {
                last.between[1] = one.between[1];
                last.count += one.count;
            }
            _ => self.found.push(one),
        }
    }

    /// How many there were in all.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// What was found since the last call.
    pub fn take_new(&mut self) -> Vec<Overflow> {
        std::mem::take(&mut self.found)
    }

    /// Gives what was found to `told`, one after the other, until that has no room for it: what is left stays for the next call.
    pub fn drain_into(&mut self, mut told: impl FnMut(Overflow) -> bool) {
        let all = self.found.iter().position(|one| !told(*one)).unwrap_or(self.found.len());
        self.found.drain(..all);
    }

    /// Whether nothing is left that was found and not told.
    pub const fn is_told(&self) -> bool {
        self.found.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Dropped datagrams lie between those that report the drop.
    #[test]
    fn drops_lie_between_reports() {
        let mut overflows = Overflows::default();
        for (at, dropped) in [(1, 0), (2, 0), (90, 7), (91, 7), (95, 9), (500, 9), (700, 12), (701, 12)] {
            overflows.take_one(at * MS, dropped, OverflowReading::default);
        }
        let expected = [([2, 95], 9), ([500, 700], 3)];
        let expected =
            expected.map(|(between, count)| Overflow { between: between.map(|at| at * MS), count });
        assert_eq!(overflows.take_new(), expected);
        overflows.take_one(900 * MS, 12, OverflowReading::default);
        assert!(overflows.take_new().is_empty(), "each is told once");
        overflows.take_one(1_000 * MS, 14, OverflowReading::default);
        assert_eq!(overflows.take_new(), [Overflow { between: [900 * MS, 1_000 * MS], count: 2 }]);
        // What had waited then tells of less, and what came after it of more.
        for (at, dropped) in [(990, 13), (1_001, 14), (1_500, 20)] {
            overflows.take_one(at * MS, dropped, OverflowReading::default);
        }
        assert_eq!(overflows.take_new(), [Overflow { between: [1_001 * MS, 1_500 * MS], count: 6 }]);
        // What there was no room to tell is told later, and once.
        let mut overflows = Overflows::default();
        for (at, dropped) in [(1, 1), (500, 1), (900, 3), (1_400, 3), (1_900, 7)] {
            overflows.take_one(at * MS, dropped, OverflowReading::default);
        }
        let mut told = Vec::new();
        overflows.drain_into(|one| {
            told.push(one.count);
            told.len() < 2
        });
        assert!(told == [1, 2] && !overflows.is_told());
        overflows.drain_into(|one| {
            told.push(one.count);
            true
        });
        assert!(told == [1, 2, 2, 4] && overflows.is_told());
        // It counts to 2^32 and then begins anew; at the first datagram it is not known since when.
        let mut overflows = Overflows { dropped: u32::MAX, ..Overflows::default() };
        overflows.take_one(5, 1, OverflowReading::default);
        assert_eq!(overflows.take_new(), [Overflow { between: [5, 5], count: 2 }]);
    }

    /// What was damaged is no overflow: it is one as far as the host has counted overflows since it was asked before. The host is
    /// asked for drops alone, and once for what had come by then.
    #[test]
    fn damaged_or_unread() {
        let host = |at: i64, counted| OverflowReading { counted: Some(counted), at_ns: at * MS };
        let mut overflows = Overflows { host: host(0, 100), ..Overflows::default() };
        let never = || -> OverflowReading { panic!("the host is not asked") };
        overflows.take_one(10 * MS, 0, never);
        // Damaged.
        overflows.take_one(20 * MS, 5, || host(21, 100));
        overflows.take_one(30 * MS, 9, || host(50, 100));
        overflows.take_one(40 * MS, 12, never);
        assert_eq!((overflows.take_new(), overflows.total()), (Vec::new(), 0));
        // Both, read late: one reading tells of all that waited.
        for (at, dropped) in [(60, 20), (70, 25), (80, 30)] {
            overflows.take_one(at * MS, dropped, || host(100, 111));
        }
        assert_eq!(overflows.take_new(), [Overflow { between: [40 * MS, 70 * MS], count: 11 }]);
        // What others had dropped when nothing of this one waited does not make damage an overflow later.
        overflows.take_one(110 * MS, 31, || host(111, 161));
        assert_eq!(overflows.take_new().len(), 1);
        overflows.take_one(120 * MS, 31, never);
        overflows.take_one(130 * MS, 40, || host(131, 161));
        assert_eq!((overflows.take_new(), overflows.total()), (Vec::new(), 12));
        // The clock is set back by a minute.
        overflows.take_one(-60_000 * MS, 42, || host(-59_999, 163));
        assert_eq!(overflows.take_new().iter().map(|one| one.count).sum::<u64>(), 2);
        // Where the host does not tell, a drop is taken for an overflow.
        overflows.take_one(-50_000 * MS, 45, OverflowReading::default);
        assert_eq!(overflows.take_new().iter().map(|one| one.count).sum::<u64>(), 3);
    }

    fn dropped(heard: i64, from: i64, until: i64, datagrams: u64) -> Event {
        let start = clock::monotonic_now();
        let event = Overflow { between: [0, 1], count: datagrams }.event(EventLocation::Responder, start);
        let at_ns = (heard - (until - from)) * MS;
        Event { at_ns, until_ns: Some(heard * MS), clock_ns: from * MS, ..event }
    }

    /// An overflow has the times of the host where it was, however late its parts arrive.
    #[test]
    fn overflow_times_are_local() {
        // A conversation that is seconds behind tells all at nearly the same time.
        let mut one = dropped(8_000, 3_400, 3_600, 5);
        for (heard, from, until) in [(8_010, 3_700, 5_000), (8_020, 5_100, 7_900), (8_900, 8_000, 8_500)] {
            assert!(go_on(&mut one, &dropped(heard, from, until, 4)));
        }
        let length = one.until_ns.unwrap() - one.at_ns;
        assert_eq!((one.clock_ns, length, one.datagrams), (3_400 * MS, 5_100 * MS, Some(17)));
        // What was over for a second before the next is another, as is what was by a clock that has been set.
        for next in [dropped(9_000, 9_501, 9_600, 1), dropped(9_000, 1_000, 2_399, 1)] {
            assert!(!go_on(&mut one, &next));
        }
        // Unless there is no room for another.
        add_to(&mut one, &dropped(20_000, 20_000, 20_100, 1));
        assert_eq!((one.clock_ns, one.until_ns.unwrap() - one.at_ns), (3_400 * MS, 16_700 * MS));
        assert_eq!(one.datagrams, Some(18));
    }
}
