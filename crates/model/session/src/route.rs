//! The way to a target, found by probes whose time to live (or hop limit) runs out on it: the router that takes the
//! last hop from one tells its sender (RFC 792, RFC 4443 section 3.3), and the target answers the one that reaches it.
//!
//! A [`Trace`] says which probe is to leave next and takes the answers. Probes are known by the number that they carry,
//! which most routers return with the packet that they could not forward. Of an answer without it nobody can tell which
//! probe it is about unless only one is on its way; once that has happened, one is sent at a time.

use core::net::IpAddr;

use romer_units::{Duration, Monotonic, Timestamp};

/// The farthest hop that is looked for.
pub const MOST_HOPS: u8 = 30;
/// The longest that a trace takes.
pub const LONGEST: Duration = Duration::from_secs(3);
/// Probes on their way at a time. Routers answer a few at once, and then about one a second.
const AT_ONCE: usize = 4;
/// Probes to a hop that does not answer.
const TRIES: u8 = 3;
/// Silent hops in a row after which nobody is looked for behind them.
const MAX_SILENT_HOPS: u8 = 5;
/// How long the answer to a probe is waited for, at the most.
const PROBE_TIMEOUT: Duration = Duration::from_millis(700);
/// The least of it: once the target has answered, others are waited for as often as long as it took, and so much more.
const LEAST_PATIENCE: Duration = Duration::from_millis(200);
const TIMES_LONGER: i64 = 4;

/// A probe that is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteProbe {
    /// Its time to live, or hop limit.
    pub hop: u8,
    /// The number that it carries.
    pub number: u32,
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteAnswer {
    /// A router forwards such packets, and has let this one go no farther because it had no hop left.
    Expired,
    /// Somebody on the way does not forward such packets.
    Refused,
    /// The target has it.
    Reached,
}

/// Who answered from a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopResponder {
    /// Its address.
    pub address: IpAddr,
    /// It is the target.
    pub target: bool,
}

/// The hops in order, the first is hop 1; `None` for one that did not answer. The last has answered.
pub type Route = Vec<Option<HopResponder>>;

#[derive(Clone, Copy, Debug)]
struct Sent {
    hop: u8,
    at: Timestamp<Monotonic>,
    waiting: bool,
}

/// The search for the way to a target.
#[derive(Debug)]
pub struct Trace {
    start: Timestamp<Monotonic>,
    base: u32,
    sent: Vec<Sent>,
    tries: [u8; MOST_HOPS as usize],
    found: [Option<HopResponder>; MOST_HOPS as usize],
    /// Nothing is to be found from this hop on.
    end: u8,
    patience: Duration,
    at_once: usize,
}

impl Trace {
    /// A search that begins at `now`. The probes are numbered from `base` on, which should be hard to guess: who does
    /// not see the probes cannot forge an answer that carries its number.
    pub const fn new(base: u32, now: Timestamp<Monotonic>) -> Self {
        Self {
            start: now,
            base,
            sent: Vec::new(),
            tries: [0; MOST_HOPS as usize],
            found: [None; MOST_HOPS as usize],
            end: MOST_HOPS + 1,
            patience: PROBE_TIMEOUT,
            at_once: AT_ONCE,
        }
    }

    /// The next probe that is to leave now; `None` while answers are to be waited for, until
    /// [`wait_until`](Self::wait_until).
    pub fn next_probe(&mut self, now: Timestamp<Monotonic>) -> Option<RouteProbe> {
        if now - self.start >= LONGEST {
            return None;
        }
        for sent in &mut self.sent {
            sent.waiting &= now - sent.at < self.patience;
        }
        if self.waiting().count() >= self.at_once {
            return None;
        }
        let hop = self.wanted().find(|hop| self.waiting().all(|sent| sent.hop != *hop))?;
        self.tries[index(hop)] += 1;
        let number = self.base.wrapping_add(u32::try_from(self.sent.len()).unwrap_or(u32::MAX));
        self.sent.push(Sent { hop, at: now, waiting: true });
        Some(RouteProbe { hop, number })
    }

    /// An answer came from `address`, about the probe with this number, if it told.
    pub fn on_answer(
        &mut self,
        number: Option<u32>,
        answer: RouteAnswer,
        address: IpAddr,
        now: Timestamp<Monotonic>,
    ) {
        let Some(place) = self.place_of(number) else { return };
        let Some(sent) = self.sent.get_mut(place) else { return };
        sent.waiting = false;
        let (hop, took) = (sent.hop, now - sent.at);
        if hop >= self.end {
            return;
        }
        let known = &mut self.found[index(hop)];
        if known.is_none() {
            *known = Some(HopResponder { address, target: answer == RouteAnswer::Reached });
        }
        if answer != RouteAnswer::Expired {
            self.end = hop + 1;
            let longer = took.checked_mul(TIMES_LONGER).unwrap_or(PROBE_TIMEOUT) + LEAST_PATIENCE;
            self.patience = self.patience.min(longer);
        }
    }

    /// The place of the probe with this number, or of the only one that may have been meant.
    fn place_of(&mut self, number: Option<u32>) -> Option<usize> {
        if let Some(number) = number {
            return usize::try_from(number.wrapping_sub(self.base)).ok();
        }
        let mut places = self.sent.iter().enumerate().filter(|(_, sent)| sent.waiting);
        let (first, second) = (places.next().map(|(place, _)| place), places.next().is_some());
        if second {
            self.at_once = 1;
            return None;
        }
        first
    }

    fn waiting(&self) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(|sent| sent.waiting)
    }

    /// Hops that have not answered and may yet, in order.
    fn wanted(&self) -> impl Iterator<Item = u8> {
        let last = (1..self.end).rev().find(|hop| self.found[index(*hop)].is_some()).unwrap_or(0);
        let end = self.end.min(last + MAX_SILENT_HOPS + 1);
        (1..end).filter(|hop| self.found[index(*hop)].is_none() && self.tries[index(*hop)] < TRIES)
    }

    /// When to look again if no answer comes; `None` where nothing is to be waited for.
    pub fn wait_until(&self) -> Option<Timestamp<Monotonic>> {
        let last = self.start + LONGEST;
        let next =
            self.waiting().filter(|sent| sent.hop < self.end).map(|sent| sent.at + self.patience).min()?;
        Some(next.min(last))
    }

    /// Whether the search is over.
    pub fn is_over(&self, now: Timestamp<Monotonic>) -> bool {
        let expected = || self.waiting().any(|sent| sent.hop < self.end && now - sent.at < self.patience);
        now - self.start >= LONGEST || (self.wanted().next().is_none() && !expected())
    }

    /// What was found.
    pub fn route(&self) -> Route {
        let mut route: Route = self.found[..index(self.end)].to_vec();
        while route.last().is_some_and(Option::is_none) {
            route.pop();
        }
        route
    }
}

const fn index(hop: u8) -> usize {
    hop as usize - 1
}

/// A hop from which another answered than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The hop's number.
    pub hop: u8,
    /// Who answered first.
    pub before: HopResponder,
    /// Who answered later.
    pub after: HopResponder,
}

/// Where two searches for one target differ. A hop that was silent in one of them tells nothing: routers answer when
/// they have the time. Where the way has become longer or shorter, the nearer of the two ends differs.
pub fn changes(before: &[Option<HopResponder>], after: &[Option<HopResponder>]) -> Vec<Change> {
    let hops = (1..).zip(before.iter().zip(after));
    let both =
        hops.filter_map(|(hop, (before, after))| Some(Change { hop, before: (*before)?, after: (*after)? }));
    both.filter(|change| change.before != change.after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BASE: u32 = 0xffff_fffe;

    fn router(hop: u8) -> IpAddr {
        IpAddr::from([10, 0, hop, 1])
    }

    fn target() -> IpAddr {
        IpAddr::from([192, 0, 2, 1])
    }

    /// A way of `length` hops, the last of which is the target, whose answers take `delay`.
    #[derive(Clone, Debug)]
    struct SimulatedPath {
        length: u8,
        silent: Vec<u8>,
        /// Routers return as little of a packet as RFC 792 demands.
        mute: bool,
        delay: Duration,
        /// Every such probe is lost.
        lost: Option<u32>,
    }

    /// Which probe is answered, how, and by whom.
    type ReceivedAnswer = (Option<u32>, RouteAnswer, IpAddr);

    impl SimulatedPath {
        fn answer(&self, probe: RouteProbe) -> Option<ReceivedAnswer> {
            let lost = self.lost.is_some_and(|each| probe.number.wrapping_sub(BASE).is_multiple_of(each));
            if lost || self.silent.contains(&probe.hop.min(self.length)) {
                return None;
            }
            Some(if probe.hop >= self.length {
                (Some(probe.number), RouteAnswer::Reached, target())
            } else {
                ((!self.mute).then_some(probe.number), RouteAnswer::Expired, router(probe.hop))
            })
        }

        /// The search to its end, with the probes that left and how long it took.
        fn trace(&self) -> (Route, Vec<RouteProbe>, Duration) {
            let start = Timestamp::from_nanos(5);
            let mut now = start;
            let mut trace = Trace::new(BASE, now);
            let mut coming: Vec<(Timestamp<Monotonic>, ReceivedAnswer)> = Vec::new();
            let mut probes = Vec::new();
            while !trace.is_over(now) {
                while let Some(probe) = trace.next_probe(now) {
                    probes.push(probe);
                    coming.extend(self.answer(probe).map(|answer| (now + self.delay, answer)));
                    assert!(probes.len() <= usize::from(MOST_HOPS) * usize::from(TRIES));
                }
                let Some(until) = trace.wait_until() else { break };
                let next = coming.iter().map(|(at, _)| *at).min().filter(|at| *at <= until);
                now = next.unwrap_or(until).max(now + Duration::from_nanos(1));
                let (due, later) = coming.into_iter().partition(|(at, _)| *at <= now);
                coming = later;
                for (_, (number, answer, address)) in due {
                    trace.on_answer(number, answer, address, now);
                }
            }
            (trace.route(), probes, now - start)
        }

        fn truth(&self) -> Route {
            let mut route: Route = (1..=self.length)
                .map(|hop| {
                    let last = hop == self.length;
                    let found =
                        HopResponder { address: if last { target() } else { router(hop) }, target: last };
                    (!self.silent.contains(&hop)).then_some(found)
                })
                .collect();
            while route.last().is_some_and(Option::is_none) {
                route.pop();
            }
            route
        }
    }

    fn world(length: u8) -> SimulatedPath {
        SimulatedPath {
            length,
            silent: Vec::new(),
            mute: false,
            delay: Duration::from_millis(20),
            lost: None,
        }
    }

    #[test]
    fn a_way_is_found_whole_and_each_hop_is_asked_once() {
        for length in [1, 2, 5, 12, 30] {
            let (route, probes, took) = world(length).trace();
            assert_eq!(route, world(length).truth());
            let beyond = probes.iter().filter(|probe| probe.hop > length).count();
            assert!(beyond < AT_ONCE && probes.len() - beyond == usize::from(length), "{probes:?}");
            assert!(took < Duration::from_secs(1), "{took}");
        }
    }

    #[test]
    fn silent_hops_are_asked_again_and_hold_up_nobody() {
        let silent = SimulatedPath { silent: vec![2, 5], ..world(8) };
        let (route, probes, took) = silent.trace();
        assert_eq!(route, silent.truth());
        assert_eq!(probes.iter().filter(|probe| probe.hop == 2).count(), usize::from(TRIES));
        assert!(took <= LONGEST, "{took}");
    }

    #[test]
    fn a_target_that_never_answers_ends_the_search_after_a_few_hops() {
        let dead = SimulatedPath { silent: (4..=30).collect(), ..world(30) };
        let (route, probes, took) = dead.trace();
        assert_eq!(route, dead.truth());
        assert_eq!(route.len(), 3);
        assert!(probes.iter().all(|probe| probe.hop <= 3 + MAX_SILENT_HOPS), "{probes:?}");
        assert!(took <= LONGEST, "{took}");
        let nobody = SimulatedPath { silent: (1..=30).collect(), ..world(30) };
        assert_eq!(nobody.trace().0, Route::new());
    }

    #[test]
    fn routers_that_return_no_number_are_asked_one_at_a_time() {
        let mute = SimulatedPath { mute: true, ..world(6) };
        let (route, ..) = mute.trace();
        assert_eq!(route, mute.truth());
    }

    #[test]
    fn who_refuses_is_the_last_that_is_found() {
        let mut trace = Trace::new(0, Timestamp::from_nanos(0));
        let now = Timestamp::from_nanos(1);
        let probes: Vec<RouteProbe> = std::iter::from_fn(|| trace.next_probe(now)).collect();
        assert_eq!(probes.len(), AT_ONCE);
        trace.on_answer(Some(probes[2].number), RouteAnswer::Refused, router(3), now);
        trace.on_answer(Some(probes[3].number), RouteAnswer::Refused, router(3), now);
        trace.on_answer(Some(probes[0].number), RouteAnswer::Expired, router(1), now);
        trace.on_answer(Some(77), RouteAnswer::Reached, target(), now);
        let found = |hop| Some(HopResponder { address: router(hop), target: false });
        assert_eq!(trace.route(), [found(1), None, found(3)]);
        assert_eq!(trace.next_probe(now), None, "the second is still waited for");
        assert!(!trace.is_over(now) && trace.is_over(now + LONGEST));
    }

    #[test]
    fn ways_differ_where_both_are_known() {
        let (short, long) = (world(3).truth(), world(4).truth());
        let found = |hop| HopResponder { address: router(hop), target: false };
        let end = HopResponder { address: target(), target: true };
        assert_eq!(changes(&short, &short), []);
        assert_eq!(changes(&short, &long), [Change { hop: 3, before: end, after: found(3) }]);
        assert_eq!(changes(&long, &short), [Change { hop: 3, before: found(3), after: end }]);
        let silent = SimulatedPath { silent: vec![3], ..world(4) }.truth();
        assert_eq!(changes(&short, &silent), [], "it may be the router that was not asked long enough");
        assert_eq!(changes(&[], &long), []);
    }

    proptest! {
        /// Whatever is silent or lost, the search ends and states nothing false.
        #[test]
        fn route_search_ends_without_false_hops(
            length in 1u8..40,
            silent in proptest::collection::vec(1u8..40, 0..10),
            mute: bool,
            delay_ms in 0i64..900,
            lost in proptest::option::of(2u32..6),
        ) {
            let world = SimulatedPath { length, silent, mute, delay: Duration::from_millis(delay_ms), lost };
            let (route, _, took) = world.trace();
            prop_assert!(took <= LONGEST);
            prop_assert!(route.len() <= usize::from(MOST_HOPS));
            for (hop, found) in (1..).zip(&route) {
                let Some(found) = found else { continue };
                if found.target {
                    prop_assert!(hop >= length && usize::from(hop) == route.len());
                } else if !mute {
                    prop_assert_eq!(found.address, router(hop));
                }
            }
        }
    }
}
