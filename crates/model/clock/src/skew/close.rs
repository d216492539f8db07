//! Two steps of a clock within a few floors, which both directions take for the one that they add up to.
//!
//! Between two such steps the clock stood elsewhere for some tenths of a second. In one direction packets of that time seem to have waited, as
//! packets do. In the other they come sooner than after any one step, which none does: that tells the steps apart.

use super::arithmetic::many;
use super::estimate::ChangeKind;
use super::event::{Event, step};
use super::near::Near;
use super::survey::Survey;
use super::transition::Transition;
use romer_units::Direction;

/// So many floors before a step and after it are looked at.
const REACH: f64 = 4.0;
/// Cells of either direction between two steps, at least.
const BETWEEN: usize = 3;
/// So much dearer must one step be in the direction whose packets come too soon, and in both, as minus the logarithm of the likelihood.
const PLAINER: f64 = 12.0;
/// Each of two steps is more than so many times what packets wait.
const LEAST: f64 = 2.0;
/// What came too soon has waited, too: by no more than so many times what packets do on average.
const WAITED: f64 = 3.0;

/// The events, each step of a clock that was two as two; and by how much delays may be off beside one that is not understood, nanoseconds. What
/// either clock does shows in reverse so many seconds later than forward, at the least and at the most.
pub(crate) fn taken_apart(
    surveys: &[(&Survey, Direction)],
    events: Vec<Event>,
    later: (f64, f64),
) -> (Vec<Event>, f64) {
    let [(forward, _), (reverse, _)] = surveys else { return (events, 0.0) };
    let spans: Vec<(f64, f64)> = events.iter().map(|one| (one.transition.from, one.transition.to)).collect();
    let mut doubt: f64 = 0.0;
    let mut told = Vec::with_capacity(events.len());
    for (place, event) in events.into_iter().enumerate() {
        let others = spans.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, span)| *span);
        let found = Sides::new([*forward, *reverse], &event, others, later).map(|sides| sides.judge(&event));
        match found {
            Some(Judged::Two(steps, off)) => {
                doubt = doubt.max(off);
                told.extend(steps);
            }
            Some(Judged::Unclear(off)) => {
                doubt = doubt.max(off);
                told.push(event);
            }
            Some(Judged::One) | None => told.push(event),
        }
    }
    (told, doubt)
}

enum Judged {
    One,
    /// It was two, and by how much the level between may be off.
    Two([Event; 2], f64),
    /// It was not one, and by how much packets come too soon.
    Unclear(f64),
}

/// The least packets of both directions beside a step.
struct Sides {
    near: [Near; 2],
    /// By how much a change of the clock shows later in reverse than forward, at the least and at the most, seconds.
    later: (f64, f64),
}

/// A course of the clock in one direction: what it costs, and from which cells on it is at its next level.
type Placed<const N: usize> = (f64, [usize; N]);

impl Sides {
    fn new(
        surveys: [&Survey; 2],
        event: &Event,
        others: impl Iterator<Item = (f64, f64)>,
        later: (f64, f64),
    ) -> Option<Self> {
        if event.kind != ChangeKind::ClockStep {
            return None;
        }
        let at = event.apart.unwrap_or([event.transition.from; 2]);
        let at = (at[0].min(at[1]), at[0].max(at[1]));
        let floor = surveys.iter().map(|one| one.length / many(one.floors.len().max(1))).fold(0.0, f64::max);
        let (mut low, mut high) = (at.0 - REACH * floor, at.1 + REACH * floor);
        for (from, to) in others {
            if to <= at.0 {
                low = low.max(to + floor);
            } else if from >= at.1 {
                high = high.min(from - floor);
            }
        }
        let of = |survey: &Survey, heading| Near::new(survey, heading, (low, high), low);
        let near = [of(surveys[0], Direction::Forward)?, of(surveys[1], Direction::Reverse)?];
        // What packets waited is between both, too.
        let waits = WAITED * (near[0].wait + near[1].wait) / 1e9;
        Some(Self { near, later: (later.0 - waits, later.1 + waits) })
    }

    fn judge(&self, event: &Event) -> Judged {
        let size = event.transition.size;
        let Some(one) = self.one(size) else { return Judged::One };
        let early = [0, 1].map(|way| self.near[way].early(|place| if place < one[way] { 0.0 } else { size }));
        let sooner = |way: usize| early[way].iter().sum::<f64>() * super::near::EARLY / self.near[way].wait;
        if sooner(0).max(sooner(1)) < PLAINER {
            return Judged::One;
        }
        // A packet of another kind tells nothing by itself.
        let most = |early: [Vec<f64>; 2]| {
            let each = early.iter().zip(&self.near);
            let each = each.filter_map(|(early, near)| Some(early.get(BETWEEN - 1)? + WAITED * near.wait));
            each.fold(0.0, f64::max)
        };
        // What lies beyond both levels is off by that, and what lies between them by what it is taken for.
        let beyond = [0, 1].map(|way| {
            let low = f64::min(0.0, self.near[way].sign * size);
            self.near[way].early(|_| self.near[way].sign * low)
        });
        let (beyond, most) = (most(beyond), most(early));
        let off = if beyond > 0.5 * most { most } else { most.max(size.abs() - most) };
        match self.two(size, one) {
            Some((level, placed)) => {
                // What packets waited is in what each direction says of the level, with the opposite sign.
                let says = [0, 1].map(|way| self.near[way].level(placed[way]));
                // So is what the level before is off by, and the rate: what follows the second step shows it.
                let off = |way: usize| {
                    (self.near[way].level([placed[way][1], self.near[way].points.len()]) - size).abs()
                };
                let unsure = (says[0] - says[1]).abs() + off(0).max(off(1));
                let of = |step: usize, size: f64| {
                    let apart = [0, 1].map(|way| self.near[way].points[placed[way][step]].0);
                    let at = f64::midpoint(apart[0], apart[1]);
                    let doubt = event.transition.doubt + unsure;
                    let transition = Transition { from: at, to: at, size, doubt, ..event.transition };
                    Event { apart: Some(apart), ..self::step(transition) }
                };
                Judged::Two([of(0, level), of(1, size - level)], unsure)
            }
            None => Judged::Unclear(off),
        }
    }

    /// From which cells of both directions on the clock was further by `size`, if it went at once.
    fn one(&self, size: f64) -> Option<[usize; 2]> {
        let costs = self.near.each_ref().map(|near| near.costs_of_one(size));
        let mut best: Option<(f64, [usize; 2])> = None;
        for (there, cost) in costs[0].iter().enumerate() {
            for (back, other) in costs[1].iter().enumerate() {
                if self.is_together([there, back]) && best.is_none_or(|best| cost + other < best.0) {
                    best = Some((cost + other, [there, back]));
                }
            }
        }
        best.map(|best| best.1)
    }

    /// Whether these cells of both directions may be the first ones after a change of one clock: it was after the cells before them.
    fn is_together(&self, places: [usize; 2]) -> bool {
        let span = |way: usize| {
            let at = |place: usize| self.near[way].points.get(place).map(|point| point.0);
            Some((places[way].checked_sub(1).and_then(at)?, at(places[way])?))
        };
        let (Some(there), Some(back)) = (span(0), span(1)) else { return false };
        back.1 - there.0 >= self.later.0 && back.0 - there.1 <= self.later.1
    }

    /// How far ahead the clock was between two steps, and the first cells of both after each, if that explains them better.
    fn two(&self, size: f64, one: [usize; 2]) -> Option<(f64, [[usize; 2]; 2])> {
        let least = LEAST * self.near[0].wait.max(self.near[1].wait);
        let levels = self.near.iter().flat_map(|near| near.points.iter().map(|point| near.sign * point.1));
        let is_plain = |level: &f64| level.abs().min((size - level).abs()) > least;
        let placed = |level: f64| -> Option<(f64, [[usize; 2]; 2])> {
            let [there, back] = [0, 1].map(|way| self.near[way].two(level, size));
            let (there, back): (Placed<2>, Placed<2>) = (there?, back?);
            let places = [there.1, back.1];
            (0..2)
                .all(|step| self.is_together([places[0][step], places[1][step]]))
                .then_some((there.0 + back.0, places))
        };
        let all = levels.filter(is_plain).filter_map(|level| Some((placed(level)?, level)));
        let ((cost, places), level) = all.min_by(|a, b| a.0.0.total_cmp(&b.0.0))?;
        let single: f64 = (0..2).map(|way| self.near[way].costs_of_one(size)[one[way]]).sum();
        (cost + PLAINER < single).then_some((level, places))
    }
}

impl Near {
    fn at(&self, place: usize, ahead: f64) -> f64 {
        super::near::cost([self.points[place].1 - self.sign * ahead].into_iter(), self.wait)
    }

    /// How far ahead the clock was, by the cells between two.
    fn level(&self, [from, to]: [usize; 2]) -> f64 {
        let least = self.points[from..to].iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
        self.sign * least
    }

    /// By how much cells lie below what they can if the clock was so far ahead, the most first.
    fn early(&self, ahead: impl Fn(usize) -> f64) -> Vec<f64> {
        let each = self.points.iter().enumerate();
        let mut early: Vec<f64> = each
            .map(|(place, (_, height))| self.sign * ahead(place) - height)
            .filter(|below| *below > 0.0)
            .collect();
        early.sort_by(|a, b| b.total_cmp(a));
        early
    }

    /// For each cell what it costs that the clock was set before it.
    fn costs_of_one(&self, size: f64) -> Vec<f64> {
        let mut cost: f64 = (0..self.points.len()).map(|place| self.at(place, size)).sum();
        let each = (0..self.points.len()).map(|place| {
            let here = cost;
            cost += self.at(place, 0.0) - self.at(place, size);
            here
        });
        each.collect()
    }

    /// The cells before which the clock was set twice, first to `level`, at the least cost.
    fn two(&self, level: f64, size: f64) -> Option<Placed<2>> {
        let none = (f64::INFINITY, [0; 2]);
        let (mut before, mut after) = (0.0, none);
        // The cheapest way to each number of cells at the level between, the last of which are as many or more.
        let mut between = [none; BETWEEN];
        for place in 0..self.points.len() {
            let [low, middle, high] = [0.0, level, size].map(|ahead| self.at(place, ahead));
            let (from, [first, _]) = between[BETWEEN - 1];
            if from < after.0 {
                after = (from, [first, place]);
            }
            for number in (1..BETWEEN).rev() {
                let more = if number == BETWEEN - 1 && between[number].0 < between[number - 1].0 {
                    between[number]
                } else {
                    between[number - 1]
                };
                between[number] = (more.0 + middle, more.1);
            }
            between[0] = (before + middle, [place, 0]);
            before += low;
            after.0 += high;
        }
        after.0.is_finite().then_some(after)
    }
}
