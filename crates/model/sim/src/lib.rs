//! A deterministic network with drifting clocks.
//!
//! Virtual time runs in [`True`] nanoseconds, which no host can read; a host reads its own [`HostClock`], which is
//! off, runs at its own rate and may step. A [`Network`] carries datagrams over [`Link`]s that lose, duplicate
//! and delay (and so reorder) them, every fate drawn from the seed: the same seed gives the same run on any
//! machine. Our tests run the session machines in it; a dry run of a scenario can, too.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use romer_units::random::{Seed, Stream};
use romer_units::{Clock, Duration, Timestamp};

/// Time as nobody in the simulation can read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum True {}

impl Clock for True {
    const NAME: &'static str = "true time";
}

/// A sudden change of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When it happens.
    pub at: Timestamp<True>,
    /// How much is added.
    pub by: Duration,
}

/// A host's real-time clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostClock {
    /// What it reads at true time zero.
    pub offset: Duration,
    /// How much faster than true time it runs, parts in 10^9.
    pub skew_ppb: i32,
    /// Sudden changes, in order of time.
    pub steps: Vec<Step>,
}

impl HostClock {
    /// What the clock reads at true time `now`.
    pub fn read<C: Clock>(&self, now: Timestamp<True>) -> Timestamp<C> {
        let elapsed = i128::from(now.as_nanos());
        let drift = elapsed * i128::from(self.skew_ppb) / 1_000_000_000;
        let steps: Duration =
            self.steps.iter().filter(|step| step.at <= now).fold(Duration::ZERO, |sum, step| sum + step.by);
        let reading = elapsed + drift + i128::from(self.offset.as_nanos()) + i128::from(steps.as_nanos());
        Timestamp::from_nanos(i64::try_from(reading).unwrap_or(i64::MAX))
    }
}

/// One direction of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Every datagram takes at least this long.
    pub delay: Duration,
    /// And up to this much more, uniformly.
    pub variation: Duration,
    /// Probability that a datagram is lost.
    pub loss: f64,
    /// Probability that a datagram arrives twice, each copy with its own delay.
    pub duplication: f64,
    /// While true time is in this interval, everything is lost.
    pub outage: Option<[Timestamp<True>; 2]>,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(1),
            variation: Duration::ZERO,
            loss: 0.0,
            duplication: 0.0,
            outage: None,
        }
    }
}

/// A datagram on its way, or a host's own alarm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<P> {
    /// When it happens.
    pub at: Timestamp<True>,
    /// What happens.
    pub what: P,
}

/// Links by number, and everything that is still to happen.
#[derive(Debug)]
pub struct Network<P> {
    links: Vec<(Link, Stream, u64)>,
    pending: BTreeMap<(i64, u64), P>,
    ordinal: u64,
    now: Timestamp<True>,
}

impl<P: Clone> Network<P> {
    /// A network of `links`, its fates drawn from `seed`.
    pub fn new(seed: Seed, links: &[Link]) -> Self {
        let links = links
            .iter()
            .zip(0..)
            .map(|(link, name)| (*link, Stream::new(seed, [0x7369_6d00, name]), 0))
            .collect();
        Self { links, pending: BTreeMap::new(), ordinal: 0, now: Timestamp::from_nanos(0) }
    }

    /// True time.
    pub fn now(&self) -> Timestamp<True> {
        self.now
    }

    /// Has `what` happen at `at`, or at once if that has passed.
    pub fn schedule(&mut self, at: Timestamp<True>, what: P) {
        let at = at.max(self.now);
        self.pending.insert((at.as_nanos(), self.ordinal), what);
        self.ordinal += 1;
    }

    /// Sends `what` over link `link` now. Gives the number of copies that will arrive.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn send(&mut self, link: usize, what: &P) -> usize {
        let (link, stream, sent) = &mut self.links[link];
        let (link, stream, ordinal) = (*link, *stream, *sent);
        *sent += 1;
        let out = link.outage.is_some_and(|[from, to]| (from..to).contains(&self.now));
        if out || stream.unit(4 * ordinal) < link.loss {
            return 0;
        }
        let copies = 1 + usize::from(stream.unit(4 * ordinal + 1) < link.duplication);
        for copy in 0..copies {
            let draw = stream.bits(4 * ordinal + 2 + u64::try_from(copy).unwrap_or(0));
            let span = u128::from(link.variation.as_nanos().max(0).unsigned_abs()) + 1;
            let extra = i64::try_from((u128::from(draw) * span) >> 64).unwrap_or(0);
            let at = self.now + link.delay + Duration::from_nanos(extra);
            self.schedule(at, what.clone());
        }
        copies
    }

    /// The next thing that happens; true time moves to it.
    pub fn next_event(&mut self) -> Option<Event<P>> {
        let ((nanos, _), what) = self.pending.pop_first()?;
        self.now = Timestamp::from_nanos(nanos);
        Some(Event { at: self.now, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_units::{Responder, Sender};

    const SEED: Seed = Seed([1, 2, 3, 4, 5, 6]);

    fn arrivals(seed: Seed, link: Link, count: u32) -> Vec<(i64, u32)> {
        let mut network = Network::new(seed, &[link]);
        for number in 0..count {
            network.send(0, &number);
        }
        core::iter::from_fn(|| network.next_event()).map(|event| (event.at.as_nanos(), event.what)).collect()
    }

    #[test]
    fn a_seed_replays_its_run_and_another_does_not() {
        let link =
            Link { variation: Duration::from_millis(5), loss: 0.1, duplication: 0.1, ..Link::default() };
        assert_eq!(arrivals(SEED, link, 1_000), arrivals(SEED, link, 1_000));
        assert_ne!(arrivals(SEED, link, 1_000), arrivals(Seed([9; 6]), link, 1_000));
    }

    #[test]
    fn loss_and_duplication_come_at_their_rates() {
        // 10,000 draws at 0.1: the standard deviation is 30; 150 is five of them (error probability below 1e-6).
        let lossy = arrivals(SEED, Link { loss: 0.1, ..Link::default() }, 10_000).len();
        assert!(lossy.abs_diff(9_000) < 150, "{lossy}");
        let doubled = arrivals(SEED, Link { duplication: 0.1, ..Link::default() }, 10_000).len();
        assert!(doubled.abs_diff(11_000) < 150, "{doubled}");
    }

    #[test]
    fn delays_stay_within_their_range_and_overtake() {
        let link = Link { variation: Duration::from_millis(5), ..Link::default() };
        let arrived = arrivals(SEED, link, 1_000);
        assert!(arrived.iter().all(|(at, _)| (1_000_000..=6_000_000).contains(at)));
        assert!(arrived.windows(2).any(|pair| pair[0].1 > pair[1].1), "nothing was reordered");
    }

    #[test]
    fn a_clock_is_off_by_its_offset_its_rate_and_its_steps() {
        let clock = HostClock {
            offset: Duration::from_secs(5),
            skew_ppb: 50_000,
            steps: vec![Step { at: Timestamp::from_nanos(2_000_000_000), by: Duration::from_millis(-7) }],
        };
        let read = |nanos| clock.read::<Sender>(Timestamp::from_nanos(nanos)).as_nanos();
        assert_eq!(read(0), 5_000_000_000);
        assert_eq!(read(1_000_000_000), 6_000_050_000);
        assert_eq!(read(2_000_000_000), 7_000_100_000 - 7_000_000);
        assert_eq!(HostClock::default().read::<Responder>(Timestamp::from_nanos(9)).as_nanos(), 9);
    }
}
