//! Changes of a clock that follow each other within a few floors, by the packets themselves.
//!
//! A direction in which raw delays rise hides a short time in what packets wait, and one in which they fall shows it. So
//! two steps may be seen as two by one direction and as one by the other, or by both together as one slew. The least
//! packets of each cell of time, many more than floors, tell which it was.

use super::arithmetic::{many, median};
use super::floors::Floor;
use super::survey::Survey;
use super::transition::Transition;
use romer_units::Direction;

/// What lies below a level costs so many times as much as what lies above it: nothing is early.
pub(super) const EARLY: f64 = 20.0;
/// So much less must two steps cost than a slew, in logarithms of the likelihood: they have a level more between them.
const PLAINER: f64 = 8.0;
/// Each of two steps is at least this share of the greater.
const SHARE: f64 = 0.1;
/// Cells of either direction that are looked at, at the most.
const CELLS: usize = 80;
/// Cells between two changes that tell something.
const BETWEEN: usize = 5;
/// Cells before a change that tell the level there, at least; so many times as long as what is looked at, they may reach back, and to so many
/// cells however short that is: packets wait long for a while.
const BEFORE: (usize, f64, usize) = (8, 10.0, 60);
/// How far a packet may lie below a level, and how long before and after a change the directions may differ, as a share.
const SPARE: f64 = 0.1;
/// So improbable must it be that all packets of a time waited as long by chance, as minus the logarithm.
const CHANCE: f64 = 10.0;

/// What it costs that packets which wait so long on average lie so far above a level, as minus the logarithm of the likelihood.
pub(crate) fn cost(above: impl Iterator<Item = f64>, wait: f64) -> f64 {
    above.map(|excess| if excess < 0.0 { -EARLY * excess } else { excess }).sum::<f64>() / wait
}

/// The least packets of a direction near a change, above the level before it.
pub(super) struct Near {
    /// When, nanoseconds above the level.
    pub(super) points: Vec<(f64, f64)>,
    /// What the cells before the change lie above it on average.
    pub(super) wait: f64,
    pub(super) sign: f64,
}

impl Near {
    /// The cells between two moments, above the level before `change`, which is that since the direction changed last.
    pub(super) fn new(
        survey: &Survey,
        heading: Direction,
        (from, to): (f64, f64),
        change: f64,
    ) -> Option<Self> {
        let height = |floor: &Floor| floor.above(survey.slope);
        let within = |low: f64, high: f64| survey.fine.iter().filter(move |one| one.x >= low && one.x < high);
        let earlier = survey.transitions.iter().filter(|one| one.to < change);
        let reach = change - BEFORE.1 * (to - from);
        let place = survey.fine.partition_point(|one| one.x < change).saturating_sub(BEFORE.2);
        let reach = survey.fine.get(place).map_or(reach, |one| one.x.min(reach));
        let since = earlier.map(|one| one.to).fold(reach, f64::max);
        let mut before: Vec<f64> = within(since, change).map(height).collect();
        if before.len() < BEFORE.0 {
            return None;
        }
        let level = before.iter().copied().reduce(f64::min)?;
        before.iter_mut().for_each(|one| *one -= level);
        let wait = median(&mut before).max(survey.grain) / core::f64::consts::LN_2;
        let points: Vec<(f64, f64)> = within(from, to).map(|one| (one.x, height(one) - level)).collect();
        (points.len() >= BETWEEN && points.len() <= CELLS).then(|| Self {
            points,
            wait,
            sign: heading.sign(),
        })
    }

    /// What it costs that the clock was ahead by `ahead` more than before.
    fn cost(&self, ahead: impl Fn(f64) -> f64) -> f64 {
        let each = self.points.iter().map(|(x, height)| height - self.sign * ahead(*x));
        cost(each, self.wait)
    }

    /// The farthest that the clock may have been ahead between two moments, or behind, by the packets of the time.
    fn bound(&self, from: f64, to: f64) -> Option<f64> {
        let within = self.points.iter().filter(|(x, _)| *x >= from && *x < to);
        within.map(|(_, height)| height).copied().reduce(f64::min).map(|least| self.sign * least)
    }
}

/// Two steps of a clock, where they explain the packets of both directions better than the short slew does that they were
/// taken for; sizes are the responder's clock's.
pub(crate) fn two_steps(surveys: &[(&Survey, Direction)], slew: &Transition) -> Option<[Transition; 2]> {
    let length = slew.to - slew.from;
    let (low, high) = (slew.from - length / 3.0, slew.to + length / 3.0);
    let near: Vec<Near> = surveys
        .iter()
        .filter_map(|(survey, heading)| Near::new(survey, *heading, (low, high), low))
        .collect();
    if near.len() < 2 || length <= 0.0 {
        return None;
    }
    let cost = |ahead: &dyn Fn(f64) -> f64| near.iter().map(|one| one.cost(ahead)).sum::<f64>();
    let mut moments: Vec<f64> = near.iter().flat_map(|one| one.points.iter().map(|point| point.0)).collect();
    moments.sort_by(f64::total_cmp);
    let pairs = || {
        let later = |first: usize| moments.iter().skip(first + BETWEEN);
        moments.iter().enumerate().flat_map(move |(place, a)| later(place).map(move |b| (*a, *b)))
    };
    let gradual = pairs()
        .map(|(a, b)| cost(&|x| slew.size * ((x - a) / (b - a)).clamp(0.0, 1.0)))
        .fold(f64::INFINITY, f64::min);
    let steps = pairs()
        .flat_map(|(a, b)| near.iter().filter_map(move |one| Some((a, b, one.bound(a, b)?))))
        .map(|(a, b, level)| {
            let ahead = |x: f64| match x {
                x if x < a => 0.0,
                x if x < b => level,
                _ => slew.size,
            };
            (cost(&ahead), [(a, level), (b, slew.size - level)])
        })
        .min_by(|one, other| one.0.total_cmp(&other.0))?;
    let [first, last] = steps.1.map(|(_, size)| size.abs());
    let plain = steps.0 + PLAINER < gradual && first.min(last) > SHARE * first.max(last);
    plain.then(|| {
        let wait = near.iter().map(|one| one.wait / many(one.points.len())).fold(0.0, f64::max);
        steps.1.map(|(at, size)| Transition {
            from: at,
            to: at,
            size,
            error: slew.error.hypot(wait),
            ..*slew
        })
    })
}

/// Whether the other direction's packets say that what one direction shows is a clock's: what lies lower here between two
/// changes must lie higher there, every packet of it, and the other way round.
pub(crate) fn borne_out(shown: &[Transition], other: &Survey, heading: Direction) -> bool {
    let mut sum = 0.0;
    let first = shown.first().map_or(0.0, |one| one.from);
    shown.windows(2).all(|pair| {
        sum += pair[0].size;
        let (from, to) = (pair[0].to, pair[1].from);
        let edge = SPARE * (to - from);
        let Some(near) = Near::new(other, heading, (from + edge, to - edge), first) else { return false };
        let least = near.points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
        // What one direction has less, the other has more, every packet of it; and where it has more, the other has less, as
        // nothing but the clock can make it.
        let by_chance = many(near.points.len()) * sum.abs() / near.wait;
        if sum < 0.0 {
            least > -sum * (1.0 - SPARE) && by_chance > CHANCE
        } else {
            (least + sum).abs() < 2.0 * SPARE * sum && by_chance > CHANCE
        }
    })
}

/// Cells of the other direction beside an end of the run, at least, and the farthest that a step lies from it, as a share of
/// the run.
const BESIDE_END: (usize, f64) = (8, 0.06);
/// What was a level there may differ from what is opposite to the step by this share.
const OPPOSITE: f64 = 0.15;

/// Whether the other direction, which shows no step, bears out that one near an end of the run is a clock's: from there to the
/// end its packets lie as much lower as this direction's lie higher, or the other way round, and that explains them better than
/// that nothing happened to them.
pub(crate) fn mirrored(step: &Transition, other: &Survey) -> bool {
    let (Some(first), Some(last)) = (other.fine.first(), other.fine.last()) else { return false };
    let length = last.x - first.x;
    let (since, until) = (step.from - first.x, last.x - step.to);
    let short = since.min(until);
    if short > BESIDE_END.1 * length || short <= 0.0 {
        return false;
    }
    let edge = SPARE * short;
    let within = |from: f64, to: f64| -> Vec<f64> {
        let cells = other.fine.iter().filter(|one| one.x >= from && one.x <= to);
        cells.map(|one| one.above(other.slope)).collect()
    };
    // What lies beyond the step, seen from the middle of the run, and what before it.
    let (beyond, mut before, size) = if until <= since {
        (within(step.to + edge, last.x), within(step.from - 10.0 * short, step.from - edge), -step.size)
    } else {
        (within(first.x, step.from - edge), within(step.to + edge, step.to + 10.0 * short), step.size)
    };
    let Some(level) = before.iter().copied().reduce(f64::min) else { return false };
    if beyond.len() < BESIDE_END.0 || before.len() < BESIDE_END.0 {
        return false;
    }
    before.iter_mut().for_each(|one| *one -= level);
    let wait = median(&mut before).max(other.grain) / core::f64::consts::LN_2;
    let cost = |expected: f64| cost(beyond.iter().map(|one| one - level - expected), wait);
    let least = beyond.iter().copied().fold(f64::INFINITY, f64::min) - level;
    (least - size).abs() <= OPPOSITE * size.abs() && cost(size.min(least)) + CHANCE < cost(0.0)
}
