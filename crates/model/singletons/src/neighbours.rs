//! The neighbours of a round trip, and what they say of its stamps.

use romer_clock::skew::Step;

/// The nearest packets that follow, with which a change of the clock has to agree.
pub(crate) const NEAR: usize = 12;
/// So many packets may be false in a row. A clock that shows another time for longer was set.
pub(crate) const EXCURSION: usize = 64;
/// So many accepted packets are the neighbours before one.
pub(crate) const BEFORE: usize = 64;
/// At the end of a stream, so many packets that follow one may be as false as it.
const AT_END: usize = 3;
/// Packets that are compared for the trend of their delays, as by the rate between the clocks, are so many apart.
const TREND_DISTANCE_PACKETS: usize = 32;
/// A round trip explains a low delay if it was shorter than usual, without a pause of the responder, by more than this share of what the delay
/// is too low by. If the path was faster, the round trip is shorter by all of that. If the stamps are false, it is as long as usual.
const SHARE: f64 = 0.5;
/// The responder paused if its time was longer than usual by more than so many times what the delay is too low by.
const PAUSE: f64 = 2.0;
/// A delay is too low by more than so many differences between its neighbours' median and lower quartile. For waiting times by an
/// exponential law eight are 3.2 times the mean, and for a normal law 5.4 times the standard deviation. Delays on a busy host have more
/// extreme values than either law.
const SPREADS: f64 = 8.0;
/// Of fewer neighbours the spread is too uncertain: a delay has to contradict the shortest round trip.
const MIN_NEIGHBOURS: usize = 16;
/// The floor of so many neighbours is closer to the true one than half of them are to each other. The floor of fewer lies higher, in
/// inverse proportion to their number. Waiting times by an exponential law then pass the limit less often than once in 10^6.
const CERTAIN: usize = 32;
/// A delay is too low by more than so many units of the stamps, which neighbours may share by chance.
pub(crate) const UNITS: i128 = 2;

/// The four stamps of a round trip that does not contradict itself, and where its rows are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) sequence: u64,
    /// The number of its first row among all, and how many rows it has.
    pub(crate) rows: (u64, u64),
    /// t1, t2, t3, t4; each pair by one clock.
    pub(crate) stamps: [i64; 4],
    /// t2 - t1 and t4 - t3: the delays of both directions, with the offset in them. They are compared with those of many others.
    pub(crate) raw: [i64; 2],
}

impl Seen {
    /// t4 - t1, which does not depend on the responder's clock.
    fn away(&self) -> i128 {
        i128::from(self.stamps[3]) - i128::from(self.stamps[0])
    }

    /// t3 - t2, the responder's time.
    fn processing(&self) -> i128 {
        i128::from(self.stamps[2]) - i128::from(self.stamps[1])
    }
}

/// The times of a short round trip, t4 - t1, and of a fast responder, t3 - t2: the lower quartiles.
#[derive(Clone, Copy)]
struct Usual {
    away: i128,
    processing: i128,
}

impl Usual {
    fn new<'a>(all: impl Iterator<Item = &'a Seen> + Clone) -> Self {
        let quartile = |mut times: Vec<i128>| {
            let at = times.len() / 4;
            if times.is_empty() { 0 } else { *times.select_nth_unstable(at).1 }
        };
        let (away, processing) = (all.clone().map(Seen::away), all.map(Seen::processing));
        Self { away: quartile(away.collect()), processing: quartile(processing.collect()) }
    }

    /// Whether the round trip explains a delay that is too low by so much.
    fn explains(self, one: &Seen, by: f64) -> bool {
        let paused = (one.processing() - self.processing) as f64;
        // An early t2 or a late t3 that lowers a delay by this lengthens t3 - t2 by it. A responder that paused lengthens it by more.
        let waited = if paused > PAUSE * by { paused } else { 0.0 };
        (self.away - one.away()) as f64 + waited > SHARE * by
    }
}

/// The trends of both delays, for each nanosecond of the sender's clock: the medians over pairs of packets before, or else after. A few
/// packets have none. A step within them tilts one side down where it tilts the other one up, so that no packet is below both.
pub(crate) fn trends(before: &[Seen], after: &[Seen]) -> [Option<f64>; 2] {
    let of_side = |side: &[Seen], way: usize| {
        let of_pair = |(one, later): (&Seen, &Seen)| {
            let passed = later.stamps[0].saturating_sub(one.stamps[0]);
            (passed > 0).then(|| later.raw[way].saturating_sub(one.raw[way]) as f64 / passed as f64)
        };
        let mut trends: Vec<f64> =
            side.iter().zip(side.iter().skip(TREND_DISTANCE_PACKETS)).filter_map(of_pair).collect();
        let middle = trends.len() / 2;
        (trends.len() >= TREND_DISTANCE_PACKETS)
            .then(|| *trends.select_nth_unstable_by(middle, f64::total_cmp).1)
    };
    [0, 1].map(|way| of_side(before, way).or_else(|| of_side(after, way)))
}

/// What the neighbours say of a round trip.
pub(crate) enum Judgement {
    /// Its stamps may be true.
    Possible,
    /// The clock was set before it: those before have another offset, and those after have its own.
    Set,
    /// Its stamps are false by so much, and so are those of a run behind it, by their places among the packets after it.
    False { by: i128, run: Vec<usize> },
}

/// The delays of one direction on one side, relative to the packet that is compared.
#[derive(Clone, Copy)]
struct NeighbourDelays {
    /// The least that no shorter round trip leaves to doubt.
    floor: f64,
    /// A multiple of the difference of median and lower quartile, since a quarter of the neighbours may be false.
    spread: f64,
}

impl NeighbourDelays {
    /// By delays, each with its round trip. Delays below the lower quartile by more than the spread are left out, as false ones, unless the
    /// round trip explains them.
    fn new(delays: &[(f64, &Seen)], usual: Usual) -> Option<Self> {
        let (quartile, spread) = quartile_and_spread(delays.iter().map(|(delay, _)| *delay).collect())?;
        let is_true = |(delay, one): &&(f64, &Seen)| {
            let by = quartile - delay;
            by <= spread || usual.explains(one, by)
        };
        let floor = delays.iter().filter(is_true).map(|(delay, _)| *delay).reduce(f64::min)?;
        Some(Self { floor, spread })
    }
}

/// The lower quartile of delays, and their spread.
fn quartile_and_spread(mut delays: Vec<f64>) -> Option<(f64, f64)> {
    let (at_quartile, at_median) = (delays.len() / 4, delays.len() / 2);
    if delays.is_empty() {
        return None;
    }
    let (lower, median, _) = delays.select_nth_unstable_by(at_median, f64::total_cmp);
    let median = *median;
    let quartile =
        if lower.is_empty() { median } else { *lower.select_nth_unstable_by(at_quartile, f64::total_cmp).1 };
    Some((quartile, SPREADS * (median - quartile)))
}

/// The shortest round trip.
fn shortest(all: &[Seen]) -> f64 {
    all.iter().map(Seen::away).min().map_or(f64::INFINITY, |away| away as f64)
}

/// The floor that one has to lie below, and by how much.
#[derive(Clone, Copy)]
struct Bound {
    floor: f64,
    limit: f64,
}

/// A packet and its neighbours.
pub(crate) struct Neighbours<'a> {
    pub(crate) one: Seen,
    /// Those that were accepted before it, and how many of these came before the clock was set.
    pub(crate) accepted: &'a [Seen],
    pub(crate) outdated: usize,
    /// Those after it, which may be false.
    pub(crate) after: &'a [Seen],
    /// `None` where there are too few packets.
    pub(crate) trends: [Option<f64>; 2],
}

impl<'a> Neighbours<'a> {
    pub(crate) fn assess(&self) -> Judgement {
        let mut judgement = Judgement::Possible;
        for way in [0, 1].into_iter().filter(|way| self.may_be_low(*way)) {
            let usual = self.usual();
            let is_low = |sides: &[&[Seen]]| {
                self.bound(way, sides, usual).filter(|bound| self.is_low(&self.one, way, *bound, usual))
            };
            let below_before = is_low(&[self.before()]);
            if self.before().len() >= CERTAIN && below_before.is_none() {
                continue;
            }
            let found = self.followers().enumerate().find_map(|(skipped, near)| {
                let bound = is_low(&[self.before(), near, self.wide()])?;
                (skipped == 0 || self.returns(way, near, usual)).then_some((bound, skipped, near))
            });
            if let Some((bound, skipped, near)) = found {
                return self.run(way, bound, &self.after[..skipped], near, usual);
            }
            if below_before.is_some() && self.before().len() >= MIN_NEIGHBOURS {
                judgement = Judgement::Set;
            }
        }
        judgement
    }

    /// Those before it that have the same offset.
    fn before(&self) -> &'a [Seen] {
        &self.accepted[self.outdated..]
    }

    /// The delay of another packet relative to that of this one, without the trend.
    fn relative(&self, other: &Seen, way: usize) -> f64 {
        // Of plausible moments neither difference leaves the range.
        let passed = other.stamps[0].wrapping_sub(self.one.stamps[0]);
        other.raw[way].wrapping_sub(self.one.raw[way]) as f64
            - self.trends[way].unwrap_or(0.0) * passed as f64
    }

    /// Whether it is so low that its neighbours may exclude it: true of few packets, and quick to see.
    fn may_be_low(&self, way: usize) -> bool {
        let is_certain = self.before().len() >= CERTAIN;
        let all = if self.before().is_empty() { self.after } else { self.before() };
        let delays = || all.iter().map(|other| self.relative(other, way));
        let most = all.len() / 4;
        delays().filter(|delay| *delay <= 0.0).take(most + 1).count() <= most
            && quartile_and_spread(delays().collect()).is_some_and(|(quartile, spread)| {
                !is_certain || quartile > self.possible(way, spread, shortest(all))
            })
    }

    /// A limit for a delay that is too low, given that one which is lower by more than the shortest round trip is below zero in any case.
    /// Without a trend the rate between the clocks may lower it.
    fn possible(&self, way: usize, spread: f64, shortest: f64) -> f64 {
        self.trends[way].map_or(spread, |_| spread.min(shortest))
    }

    /// All packets after it, where those before it are too few.
    fn wide(&self) -> &'a [Seen] {
        let is_needed = self.before().len() < CERTAIN && self.after.len() > AT_END;
        if is_needed { self.after } else { &[] }
    }

    /// The packets that follow it, or follow a run of false ones.
    fn followers(&self) -> impl Iterator<Item = &'a [Seen]> {
        let (after, skip) = (self.after, self.before().len() >= MIN_NEIGHBOURS);
        let short = if after.len() > AT_END { after } else { &[] };
        let first = (after.len() < NEAR).then_some(short);
        let most = if skip { EXCURSION + 1 } else { 1 };
        first.into_iter().chain(after.windows(NEAR).take(most))
    }

    /// How many packets two sides and [`wide`](Self::wide) have, where the last contains the second.
    fn count(sides: &[&[Seen]]) -> usize {
        let sizes = |at: usize| sides.get(at).map_or(0, |side| side.len());
        sizes(0) + sizes(1).max(sizes(2))
    }

    fn usual(&self) -> Usual {
        Usual::new(self.before().iter().chain(self.wide()))
    }

    fn bound(&self, way: usize, sides: &[&[Seen]], usual: Usual) -> Option<Bound> {
        let each = sides.iter().filter_map(|side| {
            let delays = side.iter().map(|other| (self.relative(other, way), other));
            NeighbourDelays::new(&delays.collect::<Vec<(f64, &Seen)>>(), usual)
        });
        let all = each
            .reduce(|a, b| NeighbourDelays { floor: a.floor.min(b.floor), spread: a.spread.max(b.spread) })?;
        let count = Self::count(sides);
        let least = sides.iter().map(|side| shortest(side)).reduce(f64::min)?;
        let limit = if count < MIN_NEIGHBOURS {
            least
        } else {
            self.possible(way, all.spread * (CERTAIN as f64 / count as f64).max(1.0), least)
        };
        Some(Bound { floor: all.floor, limit })
    }

    /// Whether a packet lies below a floor by more than the limit, and its round trip does not say why.
    fn is_low(&self, other: &Seen, way: usize, bound: Bound, usual: Usual) -> bool {
        let by = bound.floor - self.relative(other, way);
        by > bound.limit && !usual.explains(other, by) && by > UNITS as f64 * self.unit()
    }

    /// Whether the floor of packets that follow is closer to that before than to this one.
    fn returns(&self, way: usize, near: &[Seen], usual: Usual) -> bool {
        let floor = |side: &[Seen]| self.bound(way, &[side], usual).map(|bound| bound.floor);
        floor(self.before())
            .zip(floor(near))
            .is_some_and(|(before, after)| before < 2.0 * after && after < 2.0 * before)
    }

    /// The false packets among those between this one and those that have the former offset again: up to the last that is too low, all
    /// that rise in the other direction as the lowest one does.
    fn run(&self, way: usize, bound: Bound, skipped: &[Seen], near: &[Seen], usual: Usual) -> Judgement {
        let is_low = |other: &Seen| self.is_low(other, way, bound, usual);
        let until = skipped.iter().rposition(is_low).map_or(0, |last| last + 1);
        let lowest = skipped[..until].iter().filter(|other| is_low(other));
        let by = lowest.map(|other| bound.floor - self.relative(other, way)).fold(bound.floor, f64::max);
        let other_floor = self.bound(1 - way, &[self.before(), near], usual).map(|other| other.floor);
        let rises = |other: &Seen| {
            other_floor.is_some_and(|floor| self.relative(other, 1 - way) - floor >= by - bound.limit / 2.0)
        };
        let run = skipped[..until].iter().enumerate();
        let run = run.filter(|(_, other)| is_low(other) || rises(other)).map(|(at, _)| at).collect();
        Judgement::False { by: i128::from(romer_clock::skew::rounded(by)), run }
    }

    /// The unit of the stamps, as far as the neighbours show it: the coarser one of the two clocks.
    fn unit(&self) -> f64 {
        let of_clock = |places: [usize; 2]| {
            let mut step = Step::default();
            let all = self.accepted.iter().chain(self.after);
            all.flat_map(|one| places.map(|place| one.stamps[place])).for_each(|stamp| step.take(stamp));
            step.length()
        };
        of_clock([0, 3]).max(of_clock([1, 2])) as f64
    }
}
