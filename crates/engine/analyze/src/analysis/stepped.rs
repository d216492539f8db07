//! Steps of a clock that its own stamps show, in the order in which they were taken: time goes on between two stamps, so that one below the
//! one before it is of a clock that was set. By how much, the other clock says, which stamped the same packets: what lies between both from
//! there on is another.
//!
//! Captures, departures by their numbers, and lines in order of arrival are looked at in this one way.

use std::cell::Cell;

use romer_clock::skew::Resolution;

/// Of so many stamps that go back most do so because they are in another order.
const MIN_STAMPS_PER_STEP: usize = 12;
/// Smaller steps are left to the clocks' estimate.
pub(super) const LEAST_NS: i64 = 200_000;
/// With more steps than this it is no clock that is set, but stamps that are not in the order in which they were taken.
pub(super) const MAX_STEPS: usize = 32;
/// Packets on either side that tell a level, at the most and at the least.
pub(super) const MAX_NEIGHBOUR_PACKETS: usize = 64;
const MIN_NEIGHBOUR_PACKETS: usize = 4;
/// A level is known to so many of its deviations.
const SIGNIFICANT_DEVIATIONS: i64 = 3;
/// Both measures of a step, by stamps and by levels, differ by no more than its part in so many, or so much, besides what either may be off.
pub(super) const PART: i64 = 10;
const PART_MOST_NS: i64 = 50_000_000;
/// Clocks drift apart by no more than a part in so many.
const DRIFT: i64 = 2_000;
/// A step is larger than so many of what the stamps tell apart.
const UNITS: i64 = 3;
/// Departures must be so regular for one that is late or early by a step to be told from a pause: the step is larger than so many times their spread.
const REGULAR: i64 = 20;
/// Among stamps that are not regular, a step ahead is greater than so many usual times between two of them.
const PLAIN: i64 = 20;
/// So many packets on either side of a step, those next to it, are at its levels, to such a part of it.
const NEXT: usize = 5;
const AT_LEVEL: i64 = 4;
/// Both clocks are set back by more: by less, stamps go back of packets that stand in another order.
const LEAST_OF_BOTH_NS: i64 = 500_000_000;
/// So many stamps after both clocks were set back lie below the one before.
const PERSISTENT: usize = 8;
/// What a way becomes longer or shorter by at once, and for all packets, is less.
const LONGEST_CHANGE_NS: i64 = 1_000_000_000;
/// A clock that was set stays so, and a queue that filled empties: for so many times as long as a step is large, but no longer than this, the
/// quickest packets on either side are at its levels, to a part of it in so many.
const STAYS: i64 = 2;
const STAYS_MOST_NS: i64 = 60_000_000_000;
const STAYS_AT: i64 = 10;

/// A stamp of a clock, and the other one's of the same packet, with the way that it went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamped {
    pub(super) own: i64,
    pub(super) other: Option<(i64, bool)>,
}

/// What is asked of stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scan {
    /// Of departures of one direction only: whatever they show. A way by which a packet comes later than the waiting time, in nanoseconds, is none.
    OneWay(i64),
    /// Only where they go back: what else there is, the estimate of both directions sees.
    Back,
    /// Of a capture.
    Captured,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The first stamp after it.
    pub(super) place: usize,
    /// By how much the clock was set, and how uncertain that is.
    pub(super) size_ns: i64,
    pub(super) uncertain_ns: i64,
    /// What the stamps tell apart.
    pub(super) unit_ns: i64,
    /// The stamps themselves tell the size.
    pub(super) is_exact: bool,
    /// Which.
    pub(super) whose: SteppedClock,
    /// The stamps on either side, as they were taken.
    pub(super) before_ns: i64,
    pub(super) after_ns: i64,
    /// The other clock's that are certainly of before it, and of after it, as they were taken.
    pub(super) others: Option<(i64, i64)>,
}

impl Step {
    /// What the clock was set by, as well as it is known: no better than what a stamp tells.
    pub(super) const fn interval_ns(&self) -> [i64; 2] {
        let half = self.uncertain_ns.saturating_add(self.unit_ns);
        [self.size_ns.saturating_sub(half), self.size_ns.saturating_add(half)]
    }
}

/// Which clock was stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SteppedClock {
    /// That of these stamps.
    Own,
    /// The other one.
    Others,
    /// Both, by as much.
    Both,
}

/// What lies between two stamps.
#[derive(Clone, Copy, Debug)]
struct Usual {
    /// Seldom less; as a rule; and between which most lie.
    low: i64,
    gap: i64,
    spread: i64,
    /// What the stamps tell apart, and the least step that they may show.
    unit: i64,
    least: i64,
}

impl Usual {
    /// Of stamps of which there are some.
    fn new(stamped: &[Stamped]) -> Option<Self> {
        let mut gaps: Vec<i64> = gaps(stamped).collect();
        if gaps.len() < 2 * MIN_NEIGHBOUR_PACKETS {
            return None;
        }
        let mut quantile = |share: usize| {
            let place = (gaps.len() - 1) * share / 100;
            *gaps.select_nth_unstable(place).1
        };
        let (low, gap, high) = (quantile(5), quantile(50).max(0), quantile(95));
        Some(Self { low, gap, spread: high.saturating_sub(low), unit: 1, least: LEAST_NS })
    }

    /// Whether such a gap may hold a step.
    fn may_hold(&self, gap: i64, look: Scan) -> bool {
        gap < -self.least
            || match look {
                Scan::Back => false,
                Scan::Captured => gap >= self.gap.saturating_mul(PLAIN).max(self.least),
                Scan::OneWay(_) => gap.saturating_sub(self.gap).saturating_abs() > self.uneven(),
            }
    }

    /// What is less is no odd gap.
    const fn uneven(&self) -> i64 {
        let spread = self.spread.saturating_mul(REGULAR);
        if spread > self.least { spread } else { self.least }
    }
}

/// Where the packets of each way are, so that those beside a place are found whatever lies between, and how many stamps were looked at
/// for all places together.
struct Ways {
    places: [Vec<usize>; 2],
    looks: Cell<usize>,
    /// Of these, those that were to tell whether a clock stays as it was set.
    stays: Cell<usize>,
}

impl Ways {
    fn new(stamped: &[Stamped]) -> Self {
        let of = |way: bool| {
            let is_of = |one: &Stamped| one.other.is_some_and(|(_, of_way)| of_way == way);
            let all = stamped.iter().enumerate().filter(|(_, one)| is_of(one));
            all.map(|(place, _)| place).collect()
        };
        Self { places: [of(false), of(true)], looks: Cell::new(0), stays: Cell::new(0) }
    }

    /// The packets of a way before a place, the nearest first, and those from it on.
    fn neighbours(
        &self,
        way: bool,
        place: usize,
    ) -> (impl Iterator<Item = usize> + '_, impl Iterator<Item = usize> + '_) {
        let places = &self.places[usize::from(way)];
        let (before, after) = places.split_at(places.partition_point(|one| *one < place));
        let look = |place: &usize| {
            self.looks.set(self.looks.get() + 1);
            *place
        };
        (before.iter().rev().map(look), after.iter().map(look))
    }

    fn look_whether_it_stays(&self) {
        self.looks.set(self.looks.get() + 1);
        self.stays.set(self.stays.get() + 1);
    }
}

/// The steps in order of place; they are taken out of the stamps. `None` where the stamps are in no order.
pub(super) fn take_out(stamped: &mut [Stamped], look: Scan) -> Option<Vec<Step>> {
    take_out_by(stamped, &Ways::new(stamped), look)
}

fn take_out_by(stamped: &mut [Stamped], ways: &Ways, look: Scan) -> Option<Vec<Step>> {
    let Some(mut usual) = Usual::new(stamped) else { return Some(Vec::new()) };
    // As a rule there is none, and what the stamps tell apart need not be known.
    if candidates(stamped, &usual, look).is_empty() {
        return Some(Vec::new());
    }
    let stamps = stamped.iter().filter_map(|one| Some((one.own, one.other?.0)));
    (usual.unit, usual.least) = told_apart(stamps);
    let as_taken = stamped.to_vec();
    let mut found = Vec::new();
    // Where stamps go back there is no doubt; what is left is looked at without that.
    for look in [Scan::Back, look] {
        let candidates = candidates(stamped, &usual, look);
        let drops: Vec<(usize, i64)> = candidates
            .iter()
            .map(|place| (*place, gap(stamped, *place)))
            .filter(|(_, gap)| *gap < -usual.least)
            .collect();
        let usual_drop = if drops.len() < MIN_STAMPS_PER_STEP { 0 } else { quartile(&drops) };
        for place in candidates {
            let drops_from = |place: usize| drops.partition_point(|(drop, _)| *drop < place);
            let until = drops.get(drops_from(place + 1)).map_or(stamped.len(), |(drop, _)| *drop);
            let own = gap(stamped, place);
            // Where many go back, those that are no more than these do so by the order in which they stand.
            let is_odd = own >= -usual.least || own < usual_drop.saturating_mul(SIGNIFICANT_DEVIATIONS);
            let next = &drops[drops_from(place.saturating_sub(NEXT))..drops_from(place + NEXT + 1)];
            if !is_odd || next.iter().any(|(_, gap)| *gap < own) {
                continue;
            }
            let found_step = step(stamped, ways, (place, until), &usual, look);
            // As many as would be looked at for all steps that there may be, each as far as the stamps reach.
            if ways.stays.get() > 2 * MAX_STEPS * stamped.len() {
                return None;
            }
            let Some(step) = found_step else { continue };
            if found.len() == MAX_STEPS {
                return None;
            }
            let after = &mut stamped[place..];
            if step.whose != SteppedClock::Others {
                after.iter_mut().for_each(|one| one.own = one.own.saturating_sub(step.size_ns));
            }
            if step.whose != SteppedClock::Own {
                let others = after.iter_mut().filter_map(|one| one.other.as_mut());
                others.for_each(|other| other.0 = other.0.saturating_sub(step.size_ns));
            }
            let (before_ns, after_ns) = (as_taken[place - 1].own, as_taken[place].own);
            found.push(Step { before_ns, after_ns, others: others(&as_taken, place), ..step });
        }
    }
    found.sort_by_key(|step| step.place);
    Some(found)
}

/// What a quarter of the stamps that go back do so by, or more.
fn quartile(drops: &[(usize, i64)]) -> i64 {
    let mut gaps: Vec<i64> = drops.iter().map(|(_, gap)| *gap).collect();
    *gaps.select_nth_unstable(drops.len() / 4).1
}

/// What these stamps of two clocks tell apart, and the least step that they may show.
pub(super) fn told_apart(stamps: impl Iterator<Item = (i64, i64)>) -> (i64, i64) {
    let mut resolution = Resolution::default();
    stamps.for_each(|(one, other)| resolution.push(one, other));
    let unit = i64::try_from(resolution.nanos()).unwrap_or(i64::MAX);
    (unit, LEAST_NS.max(unit.saturating_mul(UNITS)))
}

/// Stamps of the other clock that are certainly of before a place, and of after it.
fn others(stamped: &[Stamped], place: usize) -> Option<(i64, i64)> {
    let of = |one: &Stamped| one.other.map(|(other, _)| other);
    let before = || stamped[..place].iter().filter_map(of);
    let after = || stamped[place..].iter().filter_map(of);
    let before = before().rev().nth(MAX_NEIGHBOUR_PACKETS).or_else(|| before().next())?;
    Some((before, after().nth(MAX_NEIGHBOUR_PACKETS).or_else(|| after().next_back())?))
}

fn gaps(stamped: &[Stamped]) -> impl Iterator<Item = i64> {
    stamped.windows(2).map(|pair| pair[1].own.saturating_sub(pair[0].own))
}

fn gap(stamped: &[Stamped], place: usize) -> i64 {
    stamped[place].own.saturating_sub(stamped[place - 1].own)
}

/// Where a step may be: by the gaps, and, of one direction, by the delays.
fn candidates(stamped: &[Stamped], usual: &Usual, look: Scan) -> Vec<usize> {
    let mut found: Vec<usize> = (1..)
        .zip(gaps(stamped))
        .filter(|(_, gap)| usual.may_hold(*gap, look))
        .map(|(place, _)| place)
        .collect();
    if matches!(look, Scan::OneWay(_)) {
        let apart = |(place, one): (usize, &Stamped)| Some((place, one.own.saturating_sub(one.other?.0)));
        let all = || stamped.iter().enumerate().filter_map(apart);
        let far = |((_, one), (_, next)): &((usize, i64), (usize, i64))| {
            one.abs_diff(*next) > LONGEST_CHANGE_NS.unsigned_abs()
        };
        found.extend(all().zip(all().skip(1)).filter(far).map(|(_, (place, _))| place));
        found.sort_unstable();
        found.dedup();
    }
    found
}

/// The step before the stamp at `place`, of which stamps before `until` tell.
fn step(
    stamped: &[Stamped],
    ways: &Ways,
    (place, until): (usize, usize),
    usual: &Usual,
    look: Scan,
) -> Option<Step> {
    let gap = gap(stamped, place);
    let change = Change::new(stamped, ways, place, until)?;
    let (size, slack) = (change.size_ns, change.slack(usual));
    let is_plain =
        size.saturating_abs() > usual.least.max(change.uncertain_ns.saturating_mul(SIGNIFICANT_DEVIATIONS));
    // What has passed by the other clock, which is what has passed, if it was not set.
    let passed = gap.saturating_sub(size);
    let odd = gap.saturating_sub(usual.gap);
    let is_usual = passed.saturating_sub(usual.gap).saturating_abs() <= slack.saturating_add(usual.spread);
    let whose = if gap < -usual.least && passed < -slack {
        (gap < -LEAST_OF_BOTH_NS && is_persistent(stamped, place)).then_some(SteppedClock::Both)?
    } else if !is_plain {
        return None;
    } else if gap < -usual.least {
        let is_back = size < 0 && passed >= usual.low.saturating_sub(slack);
        (is_back && (is_usual || !is_swapped(stamped, place))).then_some(SteppedClock::Own)?
    } else {
        let is_late = is_usual && odd.saturating_abs() > usual.uneven();
        change.whose(look, (gap, passed, slack), is_late, usual, || stays(stamped, ways, place, size))?
    };
    let is_exact = usual.spread <= change.uncertain_ns && is_usual;
    let (size_ns, uncertain_ns) = match whose {
        SteppedClock::Own if is_exact => (odd, usual.spread),
        SteppedClock::Own => (size, change.uncertain_ns),
        SteppedClock::Others => (size.saturating_neg(), change.uncertain_ns),
        SteppedClock::Both => (odd, usual.spread),
    };
    let (before_ns, after_ns) = (stamped[place - 1].own, stamped[place].own);
    let is_exact = whose == SteppedClock::Both || (whose == SteppedClock::Own && is_exact);
    let unit_ns = usual.unit;
    Some(Step { place, size_ns, uncertain_ns, unit_ns, is_exact, whose, before_ns, after_ns, others: None })
}

/// By how much the clock is further ahead of the other after a place.
struct Change {
    size_ns: i64,
    uncertain_ns: i64,
    /// How long the stamps took that tell it.
    span_ns: i64,
    /// How far the levels are apart at the most, with what packets waited.
    most_ns: i64,
    /// Neither side rises or falls towards it or away from it.
    is_level: bool,
}

impl Change {
    /// Each way by itself, which have to agree.
    fn new(stamped: &[Stamped], ways: &Ways, place: usize, until: usize) -> Option<Self> {
        let of_way = |way: bool| Self::of_way(stamped, ways, (place, until), way);
        match (of_way(false), of_way(true)) {
            (Some(one), Some(other)) => {
                let slack = (one.size_ns.saturating_abs() / PART).saturating_add(
                    one.uncertain_ns
                        .saturating_add(other.uncertain_ns)
                        .saturating_mul(SIGNIFICANT_DEVIATIONS),
                );
                let apart = other.size_ns.saturating_sub(one.size_ns);
                (apart.saturating_abs() <= slack).then(|| Self {
                    size_ns: one.size_ns.saturating_add(apart / 2),
                    uncertain_ns: one.uncertain_ns.max(other.uncertain_ns),
                    span_ns: one.span_ns.max(other.span_ns),
                    most_ns: one.most_ns.max(other.most_ns),
                    is_level: one.is_level && other.is_level,
                })
            }
            (one, other) => one.or(other),
        }
    }

    fn of_way(stamped: &[Stamped], ways: &Ways, (place, until): (usize, usize), way: bool) -> Option<Self> {
        let apart = |place: usize| Some(stamped[place].own.saturating_sub(stamped[place].other?.0));
        let after = |until: usize| -> Vec<i64> {
            let after = ways.neighbours(way, place).1.take_while(|one| *one < until);
            after.filter_map(apart).take(MAX_NEIGHBOUR_PACKETS).collect()
        };
        let before: Vec<i64> =
            ways.neighbours(way, place).0.filter_map(apart).take(MAX_NEIGHBOUR_PACKETS).collect();
        let mut later = after(until);
        if later.len() < MIN_NEIGHBOUR_PACKETS {
            later = after(stamped.len());
        }
        let (first, last) = (
            place.saturating_sub(2 * MAX_NEIGHBOUR_PACKETS),
            (place + 2 * MAX_NEIGHBOUR_PACKETS).min(stamped.len()),
        );
        let next = |values: &[i64]| Some(level(values.iter().copied().take(NEXT).collect())?.0);
        let (near_before, near_after) = (next(&before)?, next(&later)?);
        let nearest = [&before, &later].map(|values| values.iter().copied().take(NEXT).collect::<Vec<i64>>());
        let passed = gaps(&stamped[first..place]).chain(gaps(&stamped[place..last]));
        let span_ns = passed.fold(0_i64, |sum, gap| sum.saturating_add(gap.max(0)));
        let sides = [before.clone(), later.clone()];
        let (before, after) = (level(before)?, level(later)?);
        let (size_ns, uncertain_ns) = (after.0.saturating_sub(before.0), before.1.saturating_add(after.1));
        // A step elsewhere among them is none here.
        let off = |near: i64, level: i64| near.saturating_sub(level).saturating_abs();
        let off = off(near_before, before.0).max(off(near_after, after.0));
        let allowed =
            (size_ns.saturating_abs() / AT_LEVEL).max(uncertain_ns.saturating_mul(PART).min(PART_MOST_NS));
        // What no way is longer by, no packet next to it waited.
        let is_long = size_ns.saturating_abs() > LONGEST_CHANGE_NS;
        let is_at = |one: i64, level: i64| one.saturating_sub(level).saturating_abs() <= allowed;
        let all_near = |values: &[i64], level: i64| {
            let away = values.iter().filter(|one| !is_at(**one, level)).count();
            away <= 1 && values.first().is_some_and(|one| is_at(*one, level))
        };
        let is_sharp = !is_long || (all_near(&nearest[0], before.0) && all_near(&nearest[1], after.0));
        let above =
            sides[1].iter().map(|one| one.saturating_sub(after.0).saturating_abs()).max().unwrap_or(0);
        (off <= allowed && is_sharp).then(|| Self {
            size_ns,
            uncertain_ns,
            span_ns,
            most_ns: size_ns.saturating_abs().saturating_add(above),
            is_level: sides.iter().all(|side| is_level(side, size_ns)),
        })
    }

    /// What else may be between it and the step.
    fn slack(&self, usual: &Usual) -> i64 {
        let part = (self.size_ns.saturating_abs() / PART).min(PART_MOST_NS);
        part.saturating_add(self.uncertain_ns.saturating_mul(SIGNIFICANT_DEVIATIONS))
            .saturating_add(usual.unit)
    }

    /// Whose step it is where no stamp goes back. `stays` is asked of a large one, unless what left later would have come first.
    fn whose(
        &self,
        look: Scan,
        (gap, passed, slack): (i64, i64, i64),
        is_late: bool,
        usual: &Usual,
        stays: impl FnOnce() -> bool,
    ) -> Option<SteppedClock> {
        let size = self.size_ns;
        match look {
            Scan::Back => None,
            Scan::OneWay(longest) => {
                // A queue that fills or empties has packets take longer and shorter, too, and a pause makes it shorter by as much.
                if !self.is_level {
                    return None;
                }
                if is_late {
                    return Some(SteppedClock::Own);
                }
                // The less has passed the better.
                let own = size > 0 && passed >= -slack;
                // Of a way that became shorter by it, what left later would have come first, whatever is waited for.
                let overtakes = size > 0 && !own;
                let (by, least) = if overtakes { (size, 0) } else { (self.most_ns, longest) };
                let is_clocks = size.saturating_abs() > LONGEST_CHANGE_NS && by > least;
                (is_clocks && (overtakes || stays())).then_some(if own {
                    SteppedClock::Own
                } else {
                    SteppedClock::Others
                })
            }
            Scan::Captured => {
                let is_usual =
                    passed <= slack.saturating_add(usual.gap.saturating_mul(SIGNIFICANT_DEVIATIONS));
                let is_clocks = size > LONGEST_CHANGE_NS.max(self.span_ns / DRIFT);
                (gap > 0 && size > 0 && passed >= -slack && (is_usual || is_clocks))
                    .then_some(SteppedClock::Own)
            }
        }
    }
}

/// The median, and how uncertain it is.
fn level(mut values: Vec<i64>) -> Option<(i64, i64)> {
    if values.len() < MIN_NEIGHBOUR_PACKETS {
        return None;
    }
    values.sort_unstable();
    let at = |share: usize| values[values.len() * share / 4];
    let root = i64::try_from(values.len().isqrt()).unwrap_or(i64::MAX).max(1);
    Some((at(2), at(3).saturating_sub(at(1)) / root))
}

/// Whether these values, nearest to a step first, neither rise nor fall: the nearer half lies where the other does, to a part of the step or
/// what both are uncertain by. Of few, that is not known.
fn is_level(values: &[i64], size_ns: i64) -> bool {
    let (near, far) = values.split_at(values.len() / 2);
    let (Some(near), Some(far)) = (level(near.to_vec()), level(far.to_vec())) else { return true };
    let uncertain = near.1.saturating_add(far.1).saturating_mul(SIGNIFICANT_DEVIATIONS);
    near.0.saturating_sub(far.0).saturating_abs() <= uncertain.max(size_ns.saturating_abs() / PART)
}

/// Whether the clocks are apart by as much for as long as a queue that made the step would be seen to empty, after it and, where the delay
/// became less, before it, or up to the next one. No clock is known to have been set by what is seen for a moment.
fn stays(stamped: &[Stamped], ways: &Ways, place: usize, size_ns: i64) -> bool {
    let long = size_ns.saturating_abs().saturating_mul(STAYS).min(STAYS_MOST_NS);
    // No queue holds what is longer.
    let least = if long == STAYS_MOST_NS { 0 } else { LONGEST_CHANGE_NS.unsigned_abs() };
    let apart = |one: &Stamped| Some((one.own, one.own.saturating_sub(one.other?.0)));
    let at_level = |beside: &mut dyn Iterator<Item = &Stamped>| {
        let mut values = Vec::new();
        let (mut lasts, mut first, mut before) = (0, None, None);
        for (own, apart) in beside.inspect(|_| ways.look_whether_it_stays()).filter_map(apart) {
            let last = *before.get_or_insert(apart);
            lasts = own.abs_diff(*first.get_or_insert(own));
            if lasts > long.unsigned_abs() || apart.abs_diff(last) > LONGEST_CHANGE_NS.unsigned_abs() {
                break;
            }
            before = Some(apart);
            values.push(apart);
        }
        // What is quick there has the greatest difference.
        let mut quickest = values
            .chunks(MAX_NEIGHBOUR_PACKETS)
            .filter(|some| some.len() >= MIN_NEIGHBOUR_PACKETS)
            .filter_map(|some| some.iter().max());
        let Some(next) = quickest.next() else { return false };
        let near = size_ns.unsigned_abs() / STAYS_AT.unsigned_abs();
        lasts >= least && quickest.all(|one| one.abs_diff(*next) <= near)
    };
    at_level(&mut stamped[place..].iter()) && (size_ns < 0 || at_level(&mut stamped[..place].iter().rev()))
}

/// Whether two stamps are in the order of each other: the one after them is above both.
fn is_swapped(stamped: &[Stamped], place: usize) -> bool {
    let (before, after) = (stamped[place - 1].own, stamped[place].own);
    let next = stamped.get(place + 1).map(|one| one.own);
    next.is_some_and(|next| {
        next > before
            && before.saturating_sub(after)
                <= next.saturating_sub(after).saturating_mul(SIGNIFICANT_DEVIATIONS)
    })
}

/// Whether the stamps stay back: up to the next pause they are below the one before, and these are some.
fn is_persistent(stamped: &[Stamped], place: usize) -> bool {
    let before = stamped[place - 1].own;
    let pause = before.saturating_sub(stamped[place].own) / 2;
    // One that is alone above the others is not of before a step.
    let last = place.checked_sub(2).map_or(i64::MIN, |last| stamped[last].own);
    if last < stamped[place].own {
        return false;
    }
    let after = stamped[place..].windows(2).take(PERSISTENT);
    let short = after.take_while(|pair| pair[1].own.saturating_sub(pair[0].own) < pause);
    let all: Vec<i64> = short.map(|pair| pair[1].own).collect();
    all.len() >= MIN_NEIGHBOUR_PACKETS && all.iter().all(|own| *own < before)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Packets of one way in another order than they left, as stamps that go back; and delays that alternate in blocks.
    fn reordered(number: usize, delay: impl Fn(i64) -> i64) -> Vec<Stamped> {
        (0..i64::try_from(number).unwrap())
            .map(|n| {
                // Of each five, the last two stand first.
                let left = (n / 5 * 5 + [3, 4, 0, 1, 2][usize::try_from(n % 5).unwrap()]) * 20 * MS;
                Stamped { own: left, other: Some((left + delay(n), false)) }
            })
            .collect()
    }

    /// Twice as many stamps cost twice as many looks, whatever they show: stamps that go back all the time, none of the other way, none
    /// of the other clock, and delays that are another one again and again.
    #[test]
    fn looks_are_linear() {
        type Make = fn(usize) -> Vec<Stamped>;
        let makes: [(&str, Make, Scan); 5] = [
            ("reordered", |number| reordered(number, |n| n * 7_919 % MS), Scan::Back),
            (
                "reordered, one way",
                |number| reordered(number, |n| n * 7_919 % MS),
                Scan::OneWay(600_000 * MS),
            ),
            (
                "unmatched",
                |number| {
                    let mut all = reordered(number, |n| n * 7_919 % MS);
                    all.iter_mut().skip(20).for_each(|one| one.other = None);
                    all
                },
                Scan::Captured,
            ),
            (
                "alternating",
                |number| reordered(number, |n| if n / 40 % 2 == 0 { 0 } else { 5_000 * MS }),
                Scan::OneWay(600_000 * MS),
            ),
            (
                "alternating, in order",
                |number| {
                    let mut all = reordered(number, |n| if n / 40 % 2 == 0 { 0 } else { 5_000 * MS });
                    all.sort_by_key(|one| one.own);
                    all
                },
                Scan::OneWay(2_000 * MS),
            ),
        ];
        for (name, make, look) in makes {
            let looks = |number: usize| {
                let mut stamped = make(number);
                let ways = Ways::new(&stamped);
                take_out_by(&mut stamped, &ways, look);
                ways.looks.get()
            };
            let (once, twice) = (looks(10_000), looks(20_000));
            assert!(twice * 10 <= once * 22, "{name}: {once} looks, {twice} for twice as many");
        }
    }
}
