//! One-way probes of one direction, of which each end tells its half.

use std::collections::BTreeMap;

use romer_record::document::{DelayKind, Synchronisation};
use romer_record::log::ResponderDeparture;
use romer_record::manifest::ClockRelation;
use romer_singletons::WatchedDelays;
use romer_units::{Direction, Timestamp};

use super::{AWAITED, LiveWay, last};

/// A packet that left so long before another is waited for no more, nanoseconds.
const WAITED_FOR: i64 = 2_000_000_000;

/// Where the packets arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrives {
    /// At the other end, which tells of it when it is asked: what it does not tell may have arrived.
    There,
    /// Here, and that is known at once.
    Here,
}

/// One stamp of a moment: the kernel's, and the program's only where the kernel gives none at all, so that no two delays
/// span different places.
#[derive(Clone, Copy, Debug)]
struct Moment {
    /// The kernel's are wanted.
    kernel: bool,
    stamped: bool,
}

impl Moment {
    fn stamp(&mut self, user_ns: i64, kernel_ns: Option<i64>) -> Option<i64> {
        let kernel_ns = kernel_ns.filter(|_| self.kernel);
        self.stamped |= kernel_ns.is_some();
        if self.stamped { kernel_ns } else { Some(user_ns) }
    }
}

/// What is known of a probe. `None` within `Some`: it did so, at a moment that no stamp tells.
#[derive(Clone, Copy, Debug, Default)]
struct PendingProbe {
    user_ns: Option<i64>,
    left: Option<Option<i64>>,
    came: Option<Option<i64>>,
    paired: bool,
}

/// The probes of a direction.
#[derive(Debug)]
pub(super) struct OneWayState {
    arrives: Arrives,
    awaited: BTreeMap<u64, PendingProbe>,
    departure: Moment,
    arrival: Moment,
    /// The last number that is known to have arrived.
    last_arrived: Option<u64>,
    /// The latest departure that is known, by the clock of the end that sends.
    latest_ns: i64,
    left: u64,
    pairs: u64,
    /// Departures and arrivals of those of the interval that are known whole.
    whole: Vec<(i64, i64)>,
    delays: WatchedDelays,
}

impl OneWayState {
    /// None yet. `kernel`: by the kernel's stamps where there are any.
    pub(super) fn new(arrives: Arrives, relation: ClockRelation, kernel: bool) -> Self {
        let moment = Moment { kernel, stamped: false };
        Self {
            arrives,
            awaited: BTreeMap::new(),
            departure: moment,
            arrival: moment,
            last_arrived: None,
            latest_ns: i64::MIN,
            left: 0,
            pairs: 0,
            whole: Vec::new(),
            delays: WatchedDelays::new(relation),
        }
    }

    /// Of clocks that are stated to be synchronised.
    pub(super) fn with_synchronisation(self, stated: Option<&Synchronisation>) -> Self {
        let heading = match self.arrives {
            Arrives::There => Direction::Forward,
            Arrives::Here => Direction::Reverse,
        };
        Self { delays: self.delays.with_synchronisation(stated, heading), ..self }
    }

    /// Treats the clocks as not synchronised from here on.
    pub(super) const fn withdraw_synchronisation(&mut self) {
        self.delays.withdraw_synchronisation();
    }

    /// What the delays are.
    pub(super) const fn kind(&self) -> DelayKind {
        self.delays.kind()
    }

    /// A probe of this host's left; the kernel's stamp of it, if there is one, is told by [`OneWayState::stamped`].
    pub(super) fn sent(&mut self, sequence: u64, user_ns: i64) {
        self.departed(user_ns);
        self.change(sequence, |probe| probe.user_ns = Some(user_ns));
    }

    /// The kernel's stamp of it.
    pub(super) fn stamped(&mut self, sequence: u64, kernel_ns: i64) {
        if self.departure.kernel {
            self.departure.stamped = true;
            self.change(sequence, |probe| probe.left = Some(Some(kernel_ns)));
        }
    }

    /// The other end has told of a probe of its own.
    pub(super) fn record_departure(&mut self, sent: &ResponderDeparture) {
        if sent.refused {
            return;
        }
        let left = self.departure.stamp(sent.user_ns, sent.kernel_ns);
        self.departed(sent.user_ns);
        self.change(sent.sequence, |probe| (probe.user_ns, probe.left) = (Some(sent.user_ns), Some(left)));
    }

    fn departed(&mut self, user_ns: i64) {
        self.left += 1;
        self.latest_ns = self.latest_ns.max(user_ns);
    }

    /// A probe arrived, here or there.
    pub(super) fn came(&mut self, sequence: u64, user_ns: i64, kernel_ns: Option<i64>) {
        let came = self.arrival.stamp(user_ns, kernel_ns);
        self.last_arrived = self.last_arrived.max(Some(sequence));
        // Of several copies the first.
        self.change(sequence, |probe| probe.came = probe.came.or(Some(came)));
    }

    fn change(&mut self, sequence: u64, change: impl FnOnce(&mut PendingProbe)) {
        let probe = self.awaited.entry(sequence).or_default();
        change(probe);
        if !probe.paired && probe.user_ns.is_some() && probe.came.is_some() {
            probe.paired = true;
            self.pairs += 1;
        }
        if let (Some(_), Some(left), Some(came)) = (probe.user_ns, probe.left, probe.came) {
            self.awaited.remove(&sequence);
            self.whole.extend(left.zip(came));
        } else if self.awaited.len() > AWAITED {
            self.awaited.pop_first();
        }
    }

    /// Where the kernel does not tell when probes leave, the program's own stamps have to do.
    fn settle(&mut self) {
        if self.departure.stamped {
            return;
        }
        let whole = &mut self.whole;
        self.awaited.retain(|_, probe| {
            let known = probe.user_ns.zip(probe.came);
            whole.extend(known.and_then(|(left, came)| Some((left, came?))));
            known.is_none()
        });
    }

    /// What came within the interval.
    pub(super) fn interval(&mut self) -> LiveWay {
        self.settle();
        // The two halves do not come in the order of the arrivals.
        self.whole.sort_unstable_by_key(|(_, came)| *came);
        for (left, came) in self.whole.drain(..) {
            self.delays.take(Timestamp::from_nanos(left), Timestamp::from_nanos(came), None);
        }
        LiveWay {
            delay_ns: last(&self.delays.fresh()),
            jitter_rfc3550_ns: self.delays.jitter(),
            sent: self.due(),
            arrived: self.due().map(|_| self.pairs),
        }
    }

    /// Those of which it is time that they have arrived; `None` before anything has.
    fn due(&self) -> Option<u64> {
        let told = self.last_arrived.is_some() && (self.left > 0);
        let overtaken = self.last_arrived.map_or(0, |last| last.saturating_add(1));
        let young = self.awaited.range(overtaken..).filter(|(_, probe)| {
            let waits = |left: i64| {
                self.arrives == Arrives::There || left > self.latest_ns.saturating_sub(WAITED_FOR)
            };
            probe.came.is_none() && probe.user_ns.is_some_and(waits)
        });
        told.then(|| self.left.saturating_sub(u64::try_from(young.count()).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The other end's clock is an hour ahead.
    const AHEAD: i64 = 3_600_000_000_000;
    const GAP: i64 = 20_000_000;

    fn there(relation: ClockRelation) -> OneWayState {
        OneWayState::new(Arrives::There, relation, true)
    }

    /// Sends the next probes of a stream that goes there, one each gap.
    fn send(stream: &mut OneWayState, sequences: std::ops::Range<u64>) {
        for sequence in sequences {
            let at = GAP * i64::try_from(sequence).unwrap();
            stream.sent(sequence, at);
            stream.stamped(sequence, at + 40);
        }
    }

    fn arrive(stream: &mut OneWayState, sequence: u64, delay: i64) {
        let at = GAP * i64::try_from(sequence).unwrap() + 40 + delay + AHEAD;
        stream.came(sequence, at + 700, Some(at));
    }

    fn figures(way: &LiveWay) -> (u64, Option<f64>, Option<u64>, Option<u64>) {
        (way.delay_ns.count(), way.delay_ns.max, way.sent, way.arrived)
    }

    /// Delays are known when the other end reports; with two clocks they are relative to the minimum.
    #[test]
    fn delays_need_the_other_end() {
        let mut stream = there(ClockRelation::Unknown);
        send(&mut stream, 0..4);
        assert_eq!(
            figures(&stream.interval()),
            (0, None, None, None),
            "nothing is told yet, so that nothing is lost"
        );
        for (sequence, delay) in [(0, 7_000), (1, 7_300), (3, 7_100)] {
            arrive(&mut stream, sequence, delay);
        }
        let way = stream.interval();
        assert_eq!(figures(&way), (3, Some(300.0), Some(4), Some(3)));
        let jitter = |first: f64, second: f64| first / 16.0 + (second - first / 16.0) / 16.0;
        assert_eq!(way.jitter_rfc3550_ns, Some(jitter(300.0, 200.0)));
        assert_eq!(figures(&stream.interval()).0, 0, "each is told once");
        let mut one_clock = there(ClockRelation::Shared);
        send(&mut one_clock, 0..1);
        one_clock.came(0, 9_999, Some(5_040));
        assert_eq!(figures(&one_clock.interval()), (1, Some(5_000.0), Some(1), Some(1)));
    }

    /// A packet that may be in flight is not missing until a later one has arrived.
    #[test]
    fn packets_in_flight_are_not_missing() {
        let mut stream = there(ClockRelation::Unknown);
        send(&mut stream, 0..10);
        for sequence in [0, 1, 4] {
            arrive(&mut stream, sequence, 500);
        }
        assert_eq!(
            figures(&stream.interval()),
            (3, Some(0.0), Some(5), Some(3)),
            "of those up to the fourth"
        );
        // A late one, and a copy.
        arrive(&mut stream, 2, 90_000_000);
        arrive(&mut stream, 2, 95_000_000);
        assert_eq!(figures(&stream.interval()), (1, Some(89_999_500.0), Some(5), Some(4)));
        send(&mut stream, 10..1_000);
        assert_eq!(
            figures(&stream.interval()).2,
            Some(5),
            "what the other end did not tell may have arrived"
        );
    }

    /// Of packets to this host, those are missing that left two seconds ago.
    #[test]
    fn received_streams_miss_after_two_seconds() {
        let mut stream = OneWayState::new(Arrives::Here, ClockRelation::Unknown, true);
        let sent = |sequence: u64, refused| {
            let user_ns = GAP * i64::try_from(sequence).unwrap() + AHEAD;
            ResponderDeparture {
                sequence,
                user_ns,
                kernel_ns: Some(user_ns + 40),
                refused,
                ..ResponderDeparture::default()
            }
        };
        for sequence in 0..10 {
            stream.came(sequence, 0, Some(GAP * i64::try_from(sequence).unwrap() + 2_000));
        }
        assert_eq!(figures(&stream.interval()), (0, None, None, None), "when they left is not told yet");
        (0..60).for_each(|sequence| stream.record_departure(&sent(sequence, false)));
        stream.record_departure(&sent(60, true));
        assert_eq!(
            figures(&stream.interval()),
            (10, Some(0.0), Some(10), Some(10)),
            "fifty may be on their way"
        );
        (61..161).for_each(|sequence| stream.record_departure(&sent(sequence, false)));
        // The last left at 3.2 s: those of up to 1.2 s, which are 0 to 59 and one that was not sent.
        assert_eq!(figures(&stream.interval()), (0, None, Some(60), Some(10)));
    }

    /// Stamp sources are never mixed, and a packet without a stamp still counts as received.
    #[test]
    fn stamp_sources_are_never_mixed() {
        let mut stream = there(ClockRelation::Unknown);
        send(&mut stream, 0..3);
        arrive(&mut stream, 0, 1_000);
        stream.came(1, AHEAD + GAP + 90_000, None);
        arrive(&mut stream, 2, 1_000);
        assert_eq!(figures(&stream.interval()), (2, Some(0.0), Some(3), Some(3)), "no kernel saw the second");
        // None of the kernel's at all, or none wanted.
        for kernel in [true, false] {
            let mut stream = OneWayState::new(Arrives::There, ClockRelation::Shared, kernel);
            stream.sent(0, 1_000);
            stream.came(0, 3_500, (!kernel).then_some(3_000));
            if !kernel {
                stream.stamped(0, 1_040);
            }
            assert_eq!(figures(&stream.interval()), (1, Some(2_500.0), Some(1), Some(1)), "{kernel}");
        }
    }

    /// Both halves of a probe may come in any order; the number of incomplete probes is bounded.
    #[test]
    fn halves_come_in_any_order() {
        let mut stream = there(ClockRelation::Unknown);
        arrive(&mut stream, 0, 500);
        stream.stamped(0, 40);
        stream.sent(0, 0);
        assert_eq!(figures(&stream.interval()), (1, Some(0.0), Some(1), Some(1)));
        let many = u64::try_from(AWAITED).unwrap() + 10;
        send(&mut stream, 1..many);
        assert!(stream.awaited.len() <= AWAITED);
        arrive(&mut stream, many - 1, 600);
        assert_eq!(
            figures(&stream.interval()),
            (1, Some(100.0), Some(many), Some(2)),
            "lost, though forgotten"
        );
    }
}
