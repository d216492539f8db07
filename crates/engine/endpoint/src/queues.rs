//! What a host's own queues drop of the packets that they have taken: no send call tells of it.

use std::collections::BTreeMap;

use romer_host::clock;
use romer_host::queue::{Queue, Queues};
use romer_record::event::{Event, EventDetail, EventLocation};
use romer_singletons::dropped::is_of_queue;
use romer_units::{Duration, Monotonic, Timestamp};

use crate::host_events::detailed;

/// Between two looks.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Packets that are lost with a queue that another takes the place of, at the most: as many as an interface's first queue holds as
/// a rule (`txqueuelen`). What had come to it since the last look is not known.
const HELD: u64 = 1_000;
/// What drops packets on behalf of a path that it stands for: that they do not leave is what is to be measured.
const EMULATOR: &str = "netem";
/// Drops that are no further apart go on, nanoseconds.
const GOES_ON_NS: i64 = 3_000_000_000;

/// Packets that a queue of an interface dropped, or the queue that was there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drops {
    /// The interface.
    pub interface: String,
    /// What the queue is called.
    kind: String,
    /// At the most.
    count: u64,
    /// The look before, and this one.
    between: [Timestamp<Monotonic>; 2],
}

impl Drops {
    /// The event of it, at the host that is this `location`, with times told from `start`.
    pub fn event(&self, location: EventLocation, start: Timestamp<Monotonic>) -> Event {
        let detail = EventDetail::QueueDrops {
            interface: self.interface.clone(),
            queue: self.kind.clone(),
            of_stream: false,
        };
        let now = detailed(detail, location, start);
        let [earliest, latest] = self.between.map(|at| (clock::monotonic_now() - at).as_nanos().max(0));
        Event { datagrams: Some(self.count), ..now.between(earliest, latest) }
    }
}

/// Takes `next` up in `event` if it tells of the same queue, which goes on dropping; gives whether it does.
pub fn go_on(event: &mut Event, next: &Event) -> bool {
    let length = |one: &Event| one.until_ns.map_or(0, |until| until.saturating_sub(one.at_ns));
    let is_same = is_of_queue(event) && event.location == next.location && event.detail == next.detail;
    let over = event.clock_ns.saturating_add(length(event));
    if !is_same || !(event.clock_ns..=over.saturating_add(GOES_ON_NS)).contains(&next.clock_ns) {
        return false;
    }
    let until = over.max(next.clock_ns.saturating_add(length(next)));
    event.until_ns = Some(event.at_ns.saturating_add(until.saturating_sub(event.clock_ns)));
    event.datagrams = event.datagrams.map(|count| count.saturating_add(next.datagrams.unwrap_or(0)));
    true
}

/// Watches the queues of the interfaces that packets leave by.
#[derive(Debug)]
pub struct QueueWatch {
    queues: Option<Queues>,
    known: BTreeMap<u32, Vec<Queue>>,
    looked: Timestamp<Monotonic>,
}

impl QueueWatch {
    /// Those of the network namespace of the current thread. Where the system gives no way to ask, nothing is told.
    pub fn begin() -> Self {
        Self { queues: Queues::open().ok(), known: BTreeMap::new(), looked: clock::monotonic_now() }
    }

    /// When the next look is due.
    pub fn due(&self) -> Timestamp<Monotonic> {
        self.looked + POLL_INTERVAL
    }

    /// What was dropped since the last look by the queues of the interfaces that are `used`, each by its index and its name. Of one
    /// that was not used then nothing is known.
    pub fn look(&mut self, used: &BTreeMap<u32, String>) -> Vec<Drops> {
        let now = clock::monotonic_now();
        let before = std::mem::replace(&mut self.looked, now);
        if used.is_empty() {
            self.known.clear();
            return Vec::new();
        }
        let Some(all) = self.queues.as_ref().and_then(|queues| queues.all().ok()) else { return Vec::new() };
        let mut known: BTreeMap<u32, Vec<Queue>> = used.keys().map(|index| (*index, Vec::new())).collect();
        for queue in all {
            if let Some(own) = known.get_mut(&queue.interface) {
                own.push(queue);
            }
        }
        let last = std::mem::replace(&mut self.known, known);
        let drops = used.iter().filter_map(|(index, name)| {
            let (kind, count) = dropped(last.get(index)?, self.known.get(index)?)?;
            Some(Drops { interface: name.clone(), kind, count, between: [before, now] })
        });
        drops.collect()
    }
}

/// How many packets the queues of one interface have dropped at the most between two looks, if any, and which of them.
fn dropped(before: &[Queue], now: &[Queue]) -> Option<(String, u64)> {
    if before.iter().chain(now).any(|queue| queue.kind == EMULATOR) {
        return None;
    }
    let root = |queues: &[Queue]| queues.iter().find(|queue| queue.is_root).cloned();
    let (was, is) = (root(before), root(now));
    let is_same = |one: &Queue, other: &Queue| (one.handle, &one.kind) == (other.handle, &other.kind);
    let grown = |queue: &Queue| {
        let before = before.iter().find(|one| is_same(one, queue)).map_or(0, |one| one.dropped);
        queue.dropped.wrapping_sub(before)
    };
    match (was, is) {
        (Some(was), Some(is)) if is_same(&was, &is) => {
            let count = u64::from(grown(&is));
            let leaves = now.iter().filter(|queue| !queue.is_root && grown(queue) > 0);
            let kind = leaves.max_by_key(|queue| grown(queue)).map_or(is.kind, |queue| queue.kind.clone());
            (count > 0).then_some((kind, count))
        }
        // Another took its place, and what waited in it was dropped.
        (Some(was), is) => {
            let count = is.as_ref().map_or(0, |is| u64::from(is.dropped));
            Some((was.kind, count.saturating_add(HELD.max(was.waiting.into()))))
        }
        (None, Some(is)) => (is.dropped > 0).then(|| (is.kind, is.dropped.into())),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(handle: u32, is_root: bool, kind: &str, dropped: u32) -> Queue {
        Queue { interface: 3, handle, is_root, kind: kind.into(), waiting: 5, dropped }
    }

    /// Drops that the root queue counts are attributed to the inner queue that counts most.
    #[test]
    fn drops_belong_to_the_inner_queue() {
        let now = |of_root, of_leaf| [queue(1, true, "tbf", of_root), queue(16, false, "fq_codel", of_leaf)];
        assert_eq!(dropped(&now(7, 7), &now(7, 7)), None);
        assert_eq!(dropped(&now(7, 7), &now(226, 220)), Some(("fq_codel".into(), 219)));
        assert_eq!(dropped(&now(7, 7), &now(9, 7)), Some(("tbf".into(), 2)));
        assert_eq!(dropped(&now(u32::MAX, 7), &now(1, 7)), Some(("tbf".into(), 2)), "it begins anew");
        let replaced = [queue(0, true, "pfifo_fast", 3)];
        assert_eq!(dropped(&now(7, 7), &replaced), Some(("tbf".into(), 1_003)));
        assert_eq!(dropped(&now(7, 7), &[]), Some(("tbf".into(), 1_000)));
        assert_eq!(dropped(&[], &now(7, 7)), Some(("tbf".into(), 7)));
        assert_eq!(dropped(&[], &now(0, 0)), None);
    }

    /// Drops of netem, or below it, are losses of the emulated path, not drops of the host.
    #[test]
    fn emulator_drops_are_no_queue_drops() {
        let netem = |dropped| [queue(1, true, "htb", dropped), queue(2, false, "netem", dropped)];
        assert_eq!(dropped(&netem(1), &netem(9)), None);
        assert_eq!(dropped(&netem(1), &[queue(3, true, "tbf", 9)]), None);
    }

    /// Continued drops of a queue are one event.
    #[test]
    fn continued_drops_are_one_event() {
        let start = clock::monotonic_now();
        let second = Duration::from_secs(1);
        let drops = |from: i64, count| Drops {
            interface: "b0".into(),
            kind: "codel".into(),
            count,
            between: [start, start + second].map(|at| at + Duration::from_secs(from)),
        };
        let tell = |from, count| {
            let told = drops(from, count).event(EventLocation::Responder, start);
            Event {
                at_ns: from * 1_000_000_000,
                until_ns: Some((from + 1) * 1_000_000_000),
                clock_ns: from * 1_000_000_000,
                ..told
            }
        };
        let mut one = tell(10, 5);
        let queue = |queue: &str| {
            Some(EventDetail::QueueDrops { interface: "b0".into(), queue: queue.into(), of_stream: false })
        };
        assert!(is_of_queue(&one) && one.detail == queue("codel"), "{one:?}");
        assert!(go_on(&mut one, &tell(11, 6)) && go_on(&mut one, &tell(13, 7)));
        assert_eq!(
            (one.clock_ns, one.until_ns, one.datagrams),
            (10_000_000_000, Some(14_000_000_000), Some(18))
        );
        assert!(!go_on(&mut one, &tell(18, 1)), "it had stopped");
        let other = Event { detail: queue("fq"), ..tell(14, 1) };
        assert!(
            !go_on(&mut one, &other)
                && !go_on(&mut one, &Event { location: EventLocation::Sender, ..tell(14, 1) })
        );
    }
}
