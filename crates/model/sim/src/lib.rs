//! A deterministic network with drifting clocks.
//!
//! Virtual time runs in [`True`] nanoseconds, which no host can read; a host reads its own [`HostClock`], which is
//! off, runs at its own rate and may step. A [`Network`] carries datagrams over [`Link`]s that lose (singly and in
//! bursts), duplicate, delay, hold back, re-mark and re-route them, every fate drawn from the seed: the same seed
//! gives the same run on any machine. A [`device::Device`] is one under a benchmark, whose truth is known. Our tests run the session machines in it; a dry run of a scenario can, too.
#![forbid(unsafe_code)]

pub mod clocks;
pub mod device;

use std::collections::BTreeMap;

use romer_units::random::{RandomStream, Seed};
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
    /// Losses in bursts, beside the single ones.
    pub burst: Option<Burst>,
    /// Probability that a datagram is held back, so that later ones overtake it.
    pub held: f64,
    /// How much longer one that is held back takes.
    pub hold: Duration,
    /// Routers on the way: so much is taken off the time to live.
    pub hops: u8,
    /// A change of the route.
    pub reroute: Option<Reroute>,
    /// What happens to the service octet.
    pub marking: Option<Marking>,
}

/// A chain of two states (Gilbert): in the bad one everything is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// Probability, at a datagram, of going from good to bad.
    pub begin: f64,
    /// Probability, at a datagram, of going from bad to good.
    pub end: f64,
}

/// Another route from some moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reroute {
    /// When it begins.
    pub at: Timestamp<True>,
    /// Its routers.
    pub hops: u8,
    /// How much longer it is.
    pub longer: Duration,
}

/// A rewriting of the service octet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marking {
    /// Probability that a datagram is rewritten.
    pub probability: f64,
    /// Bits that are cleared.
    pub clear: u8,
    /// Bits that are set then.
    pub set: u8,
}

/// What routers change of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Time to live.
    pub ttl: u8,
    /// TOS or traffic class.
    pub tos: u8,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(1),
            variation: Duration::ZERO,
            loss: 0.0,
            duplication: 0.0,
            outage: None,
            burst: None,
            held: 0.0,
            hold: Duration::ZERO,
            hops: 0,
            reroute: None,
            marking: None,
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

/// Random numbers that the fate of one datagram may take.
const DRAWS: u64 = 8;

/// A link in use.
#[derive(Clone, Copy, Debug)]
struct LinkState {
    link: Link,
    stream: RandomStream,
    sent: u64,
    /// In a burst of losses.
    bad: bool,
}

impl LinkState {
    fn unit(&self, ordinal: u64, draw: u64) -> f64 {
        self.stream.unit(DRAWS * ordinal + draw)
    }

    /// Whether datagram `ordinal`, sent at `now`, is lost.
    fn loses(&mut self, ordinal: u64, now: Timestamp<True>) -> bool {
        if let Some(burst) = self.link.burst {
            let turn = self.unit(ordinal, 4) < if self.bad { burst.end } else { burst.begin };
            self.bad ^= turn;
        }
        let out = self.link.outage.is_some_and(|[from, to]| (from..to).contains(&now));
        out || self.bad || self.unit(ordinal, 0) < self.link.loss
    }

    /// What the routers make of `header`; `None` where its time to live ends on the way.
    fn header(&self, ordinal: u64, header: Header, now: Timestamp<True>) -> Option<Header> {
        let rerouted = self.link.reroute.filter(|route| route.at <= now);
        let hops = rerouted.map_or(self.link.hops, |route| route.hops);
        let ttl = header.ttl.checked_sub(hops).filter(|ttl| *ttl > 0)?;
        let marking = self.link.marking.filter(|marking| self.unit(ordinal, 5) < marking.probability);
        let tos = marking.map_or(header.tos, |marking| header.tos & !marking.clear | marking.set);
        Some(Header { ttl, tos })
    }

    /// How long the datagram's copy number `copy` takes.
    fn delay(&self, ordinal: u64, copy: u64, now: Timestamp<True>) -> Duration {
        let draw = self.stream.bits(DRAWS * ordinal + 2 + copy);
        let span = u128::from(self.link.variation.as_nanos().max(0).unsigned_abs()) + 1;
        let extra = i64::try_from((u128::from(draw) * span) >> 64).unwrap_or(0);
        let held = if self.unit(ordinal, 6) < self.link.held { self.link.hold } else { Duration::ZERO };
        let longer = self.link.reroute.filter(|route| route.at <= now).map(|route| route.longer);
        self.link.delay + Duration::from_nanos(extra) + held + longer.unwrap_or(Duration::ZERO)
    }
}

/// Links by number, and everything that is still to happen.
#[derive(Debug)]
pub struct Network<P> {
    links: Vec<LinkState>,
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
            .map(|(link, name)| LinkState {
                link: *link,
                stream: RandomStream::new(seed, [0x7369_6d00, name]),
                sent: 0,
                bad: false,
            })
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
        self.carry(link, Header { ttl: 255, tos: 0 }, |_| what.clone()).len()
    }

    /// Sends a datagram with this header over link `link` now; `make` gives what arrives, by the header that it then
    /// has. Gives when each copy will arrive, and with what header, in order of the copies' making.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn carry(
        &mut self,
        link: usize,
        header: Header,
        make: impl Fn(Header) -> P,
    ) -> Vec<(Timestamp<True>, Header)> {
        let now = self.now;
        let line = &mut self.links[link];
        let ordinal = line.sent;
        line.sent += 1;
        let lost = line.loses(ordinal, now);
        let Some(header) = line.header(ordinal, header, now).filter(|_| !lost) else { return Vec::new() };
        let line = *line;
        let copies = 1 + u64::from(line.unit(ordinal, 1) < line.link.duplication);
        let arrivals: Vec<_> =
            (0..copies).map(|copy| (now + line.delay(ordinal, copy, now), header)).collect();
        for (at, header) in &arrivals {
            self.schedule(*at, make(*header));
        }
        arrivals
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
    fn bursts_outlast_single_losses_and_come_at_their_rate() {
        let burst = Burst { begin: 0.02, end: 0.2 };
        let arrived = arrivals(SEED, Link { burst: Some(burst), ..Link::default() }, 50_000);
        // In the long run 1/11 of the time is bad. A burst has 5 datagrams in the mean, so that the number of lost
        // ones has a standard deviation of about 190; 1,000 is five of them (error probability below 1e-6).
        assert!(arrived.len().abs_diff(45_455) < 1_000, "{}", arrived.len());
    }

    #[test]
    fn routers_take_hops_mark_and_change_the_way() {
        let link = Link {
            hops: 3,
            reroute: Some(Reroute {
                at: Timestamp::from_nanos(1_000),
                hops: 5,
                longer: Duration::from_millis(2),
            }),
            marking: Some(Marking { probability: 1.0, clear: 0b1111_1100, set: 0b0010_0000 }),
            ..Link::default()
        };
        let mut network = Network::new(SEED, &[link]);
        let sent = Header { ttl: 64, tos: 0b1011_1010 };
        let first = network.carry(0, sent, |header| header);
        assert_eq!(first, [(Timestamp::from_nanos(1_000_000), Header { ttl: 61, tos: 0b0010_0010 })]);
        assert_eq!(network.next_event().map(|event| event.what), Some(first[0].1));
        let second = network.carry(0, sent, |header| header);
        assert_eq!((second[0].0.as_nanos(), second[0].1.ttl), (4_000_000, 59));
        assert!(
            network.carry(0, Header { ttl: 5, tos: 0 }, |header| header).is_empty(),
            "its time to live ends"
        );
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
