//! Changes that were told as the path's, judged by the round trip.
//!
//! What a clock does is in both directions, with opposite signs, and the sum of both does not know of it. So where the sum
//! of the least delays is after some changes what it was before, and in no time between is higher or lower, they are the
//! clock's, however each direction shows them. Which course the clock took is then looked for among those that each
//! direction shows by itself, and those of a slew beside a step: all packets of both have to bear it out.

use super::arithmetic::{many, median};
use super::course::{self, Course, DirectionCells};
use super::estimate::ChangeKind;
use super::event::{Event, step};
use super::floors::Floor;
use super::survey::Survey;
use super::transition::Transition;
use romer_units::Direction;

/// Cells of a window, whose least packets are added up; and how many it has at least, of either direction.
const WINDOW: (usize, usize) = (12, 4);
/// Windows before and after the changes that tell the levels, at most and at least.
const BESIDE: (f64, f64) = (10.0, 3.0);
/// What windows lie above their level elsewhere, at the most, times this, is what chance explains.
const CHANCE: f64 = 1.5;
/// Changes that belong together follow each other within the first share of the run, and last for no more than the second.
const REACH: (f64, f64) = (0.1, 0.2);
/// More changes than these, one after another, are not looked at together.
const TOGETHER: usize = 8;
/// A change that is less than so many times what chance explains cannot be told from it.
const TOLD: f64 = 2.0;
/// So many times what the least packets wait on average may the levels of both directions differ.
const LEVEL: f64 = 6.0;
/// How much wider a time is looked at in which a change may be hidden, before and after, as shares of the run.
const WIDER: [f64; 5] = [0.0, 0.03, 0.06, 0.1, 0.15];
/// Changes of both directions that cancel to what their levels may be off are a clock's if each is so many times as much, and if that explains the
/// packets better than what is told, or no worse than by so much, as the logarithm of the likelihood.
const OPPOSITE: f64 = 2.0;
const DEARER: f64 = 5.0;
/// Of so many cells one may lie below the course of the clock, besides so many next to each change.
const EARLY: (usize, usize) = (200, 1);
/// A longer transition is a slew, as a share of the run.
const GRADUAL: f64 = 0.008;

/// What became of the events: those that are told, and by how much delays may be off because it cannot be told whose a
/// change was, nanoseconds.
pub(crate) struct Settled {
    pub(crate) events: Vec<Event>,
    pub(crate) doubt_ns: f64,
}

/// How a run of events is to be taken.
enum Verdict {
    /// The path's, or not to be told better.
    AsTold,
    /// The clock's, which went so; how far it went may be off by so many nanoseconds.
    Clock(Course, f64),
    /// It cannot be told whose: delays after it differ by so many nanoseconds.
    Ambiguous(f64),
}

/// Gives the events of both directions with what is a clock's told so.
pub(crate) fn settle(forward: &Survey, reverse: &Survey, mut events: Vec<Event>) -> Settled {
    events.sort_by(|a, b| a.transition.from.total_cmp(&b.transition.from));
    let mut doubt_ns = 0.0;
    if !events.iter().any(is_path) {
        return Settled { events, doubt_ns };
    }
    let both = Both::new(forward, reverse, &events);
    let mut first = 0;
    while first < events.len() {
        let mut until = both.reach(&events, first);
        while until > first {
            match both.judge(&events, first..until) {
                Verdict::Clock(course, off) => {
                    doubt_ns = doubt_ns.max(off);
                    let doubt = events[first..until].iter().map(|one| one.transition.doubt);
                    let doubt = doubt.fold(f64::INFINITY, f64::min);
                    events.splice(first..until, both.told(&course, doubt));
                    break;
                }
                Verdict::Ambiguous(size) => {
                    doubt_ns = f64::max(doubt_ns, size);
                    events[first..until].iter_mut().filter(|one| is_path(one)).for_each(Event::leave_open);
                }
                Verdict::AsTold => {}
            }
            until -= 1;
        }
        first += 1;
    }
    let doubt_ns = doubt_ns.max(gradual(&mut events)).max(both.unaccounted(&events));
    Settled { doubt_ns, events }
}

/// The least round trip, usually, without the responder's own time, nanoseconds: `bases` is by how much it is longer than the sum of a delay of
/// either direction.
pub(crate) fn least(forward: &Survey, reverse: &Survey, bases: f64) -> f64 {
    let back = &reverse.floors;
    let beside = |there: &Floor| {
        let next = back.partition_point(|one| one.x < there.x).min(back.len().saturating_sub(1));
        back.get(next).map(|back| there.y + back.y)
    };
    bases + median(&mut forward.floors.iter().filter_map(beside).collect::<Vec<_>>())
}

/// The greatest change of a path that came gradually, as paths seldom change and clocks do: the other direction may hide that it
/// was a clock's behind a change of its own, and so that is left open.
fn gradual(events: &mut [Event]) -> f64 {
    let gradual = events.iter_mut().filter(|one| is_path(one) && one.transition.to > one.transition.from);
    gradual.fold(0.0, |most, one| {
        one.leave_open();
        f64::max(most, one.transition.size.abs())
    })
}

pub(crate) fn is_path(event: &Event) -> bool {
    event.kind == ChangeKind::PathChange
}

/// Both directions' cells without the difference of the clocks' rates.
struct Both<'a> {
    surveys: [&'a Survey; 2],
    /// When, and how high, in order of time.
    cells: [Vec<(f64, f64)>; 2],
    /// From when to when something happens.
    busy: Vec<(f64, f64)>,
    width: f64,
    length: f64,
    /// What cells wait on average, of each direction.
    wait: [f64; 2],
    /// What the sum of both directions' least in a window may lie above its level by chance.
    chance: f64,
}

impl<'a> Both<'a> {
    fn new(forward: &'a Survey, reverse: &'a Survey, events: &[Event]) -> Self {
        let surveys = [forward, reverse];
        let rate = f64::midpoint(forward.slope, -reverse.slope);
        let heights = |survey: &Survey, slope: f64| -> Vec<(f64, f64)> {
            let mut cells: Vec<(f64, f64)> =
                survey.fine.iter().map(|cell: &Floor| (cell.x, cell.above(slope))).collect();
            cells.sort_by(|a, b| a.0.total_cmp(&b.0));
            cells
        };
        let cells = [heights(forward, rate), heights(reverse, -rate)];
        let length = forward.length.max(reverse.length);
        let least = cells[0].len().min(cells[1].len());
        let width = length * many(WINDOW.0) / many(least.max(WINDOW.0));
        let mut both = Self {
            surveys,
            cells,
            busy: events.iter().map(|one| (one.transition.from, one.transition.to)).collect(),
            width,
            length,
            wait: [0.0; 2],
            chance: f64::INFINITY,
        };
        both.look_beside();
        both
    }

    /// What cells and windows lie above their level where nothing happens.
    fn look_beside(&mut self) {
        let mut at = self.start();
        let mut waits = [Vec::new(), Vec::new()];
        let mut highest: Option<f64> = None;
        let step = BESIDE.0 * self.width;
        while at + step <= self.start() + self.length {
            let (from, to) = (at, at + step);
            at = to;
            if self.busy.iter().any(|(begin, end)| *begin < to + self.width && *end > from - self.width) {
                continue;
            }
            let sums = self.windows(from, to, |_| 0.0);
            let Some(level) = sums.iter().map(|sum| sum.0).reduce(f64::min) else { continue };
            for (waits, direction) in waits.iter_mut().zip(0..) {
                let part: Vec<f64> = self.within(direction, from, to).map(|(_, height)| height).collect();
                let least = part.iter().copied().fold(f64::INFINITY, f64::min);
                waits.extend(part.iter().map(|height| height - least));
            }
            let most = sums.iter().map(|(sum, share)| (sum - level) * share).fold(0.0, f64::max);
            highest = Some(highest.unwrap_or(0.0).max(most));
        }
        let grains = [self.surveys[0].grain, self.surveys[1].grain];
        let wait =
            |waits: &mut Vec<f64>, grain: f64| median(waits).max(grain).max(1.0) / core::f64::consts::LN_2;
        let [there, back] = &mut waits;
        self.wait = [wait(there, grains[0]), wait(back, grains[1])];
        self.chance = highest.map_or(f64::INFINITY, |most| CHANCE * most.max(grains[0] + grains[1]));
    }

    fn start(&self) -> f64 {
        self.cells.iter().filter_map(|cells| cells.first()).map(|cell| cell.0).fold(f64::INFINITY, f64::min)
    }

    fn within(&self, direction: usize, from: f64, to: f64) -> impl Iterator<Item = (f64, f64)> {
        let cells = &self.cells[direction];
        let begin = cells.partition_point(|cell| cell.0 < from);
        let end = cells.partition_point(|cell| cell.0 < to).max(begin);
        cells[begin..end].iter().copied()
    }

    /// The least of a direction and how many cells there are.
    fn least(
        &self,
        direction: usize,
        from: f64,
        to: f64,
        ahead: impl Fn(f64) -> f64,
    ) -> Option<(f64, usize)> {
        let sign = sign(direction);
        self.within(direction, from, to)
            .map(|(x, height)| (height - sign * ahead(x), 1))
            .reduce(|a, b| (a.0.min(b.0), a.1 + b.1))
    }

    /// The sums of the least of both directions in windows that overlap, where the responder's clock is `ahead`, and by which
    /// share each has the cells that it should: the least of few lies higher.
    fn windows(&self, from: f64, to: f64, ahead: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let mut sums = Vec::new();
        let mut at = from;
        while at + self.width <= to {
            let least = [0, 1].map(|direction| self.least(direction, at, at + self.width, &ahead));
            if let [Some((there, a)), Some((back, b))] = least
                && a.min(b) >= WINDOW.1
            {
                sums.push((there + back, many(a.min(b).min(WINDOW.0)) / many(WINDOW.0)));
            }
            at += self.width / 4.0;
        }
        sums
    }

    /// Up to which event those from `first` on may belong together.
    fn reach(&self, events: &[Event], first: usize) -> usize {
        let span = |one: &Event| (one.transition.from, one.transition.to);
        let (begin, mut end) = span(&events[first]);
        let mut until = first + 1;
        while let Some((from, to)) = events.get(until).map(span)
            && from <= end + REACH.0 * self.length
            && to.max(end) <= begin + REACH.1 * self.length
            && until < first + TOGETHER
        {
            end = end.max(to);
            until += 1;
        }
        until
    }

    /// Whose these events were. A slew hides in what packets wait, early in the one direction and late in the other, so that it may have begun
    /// long before what shows of it, and ended long after: wider and wider times are looked at, as far as nothing else happens in them.
    fn judge(&self, events: &[Event], run: core::ops::Range<usize>) -> Verdict {
        let part = &events[run.clone()];
        let from = part.iter().map(|one| one.transition.from).fold(f64::INFINITY, f64::min);
        let to = part.iter().map(|one| one.transition.to).fold(f64::NEG_INFINITY, f64::max);
        let others = || {
            events
                .iter()
                .enumerate()
                .filter(|(place, _)| !run.contains(place))
                .map(|other| &other.1.transition)
        };
        let mut verdict = Verdict::AsTold;
        for share in WIDER {
            let (low, high) = (from - share * self.length, to + share * self.length);
            if share > 0.0 && others().any(|one| one.from < high && one.to > low) {
                break;
            }
            match self.judge_within(part, low, high) {
                Verdict::AsTold => {}
                Verdict::Ambiguous(size) if matches!(verdict, Verdict::AsTold) => {
                    verdict = Verdict::Ambiguous(size);
                }
                Verdict::Ambiguous(_) => {}
                clock @ Verdict::Clock(..) => return clock,
            }
        }
        verdict
    }

    /// The same, if all of it was between two moments.
    fn judge_within(&self, part: &[Event], from: f64, to: f64) -> Verdict {
        let size =
            part.iter().filter(|one| is_path(one)).map(|one| one.transition.size.abs()).fold(0.0, f64::max);
        if size <= 0.0 {
            return Verdict::AsTold;
        }
        let Some([there, back]) = self.sides(from, to) else { return Verdict::AsTold };
        let spare = self.chance.min(f64::MAX) / 4.0 / CHANCE;
        let rest = there.after + back.after;
        let sure = there.error + back.error;
        if rest.abs() > spare.max(sure) {
            return Verdict::AsTold;
        }
        // Both directions moved, by as much as nothing but a clock moves them: that tells more than any window does.
        let opposite = rest.abs() <= sure && there.after.abs().min(back.after.abs()) > OPPOSITE * sure;
        let net = f64::midpoint(there.after, -back.after);
        // What the directions say of the size differs by as much as each may be off.
        let off = rest.abs().max(sure / LEVEL);
        let own = |direction: usize| self.shown(direction, from, to);
        let found = course::best(
            [&there, &back],
            (from, to, self.width),
            net,
            [own(0), own(1)],
            GRADUAL * self.length,
        );
        let Some(found) = found else { return Verdict::AsTold };
        let low = -self.chance;
        let (begin, end) = (from - 2.0 * self.width, to + 2.0 * self.width);
        let sums = self.windows(begin, end, |x| found.at(x));
        let level = there.level + back.level;
        let is_longer = sums.iter().any(|(sum, share)| (sum - level) * share > self.chance);
        let told = told_cost(part, [&there, &back]);
        let cost = found.cost([&there, &back]);
        if is_longer {
            return Verdict::AsTold;
        }
        let early = [&there, &back].into_iter().map(|side| side.early(&found, low)).sum::<usize>();
        let cells = there.cells.len() + back.cells.len();
        let borne_out = early <= EARLY.1 * found.changes.len() + cells / EARLY.0;
        if !found.is_shown([&there, &back]) {
            return Verdict::AsTold;
        }
        let most = found.most();
        if borne_out && opposite && cost <= told + DEARER {
            return Verdict::Clock(found, off);
        }
        if most <= self.chance / TOLD {
            return Verdict::AsTold;
        }
        if borne_out && (size > TOLD * self.chance || self.contradicted(part, &found, level, spare)) {
            return Verdict::Clock(found, off);
        }
        if borne_out || net.abs() > self.chance { Verdict::Ambiguous(most) } else { Verdict::AsTold }
    }

    /// Whether the round trip is, between these events or after them, not what it were if they had been as they are told.
    fn contradicted(&self, events: &[Event], course: &Course, level: f64, spare: f64) -> bool {
        let mut longer = 0.0;
        let next = events.iter().skip(1).map(|one| one.transition.from);
        let last = events.iter().map(|one| one.transition.to).fold(f64::NEG_INFINITY, f64::max);
        events.iter().zip(next.chain([last + BESIDE.1 * self.width])).any(|(event, until)| {
            longer += if is_path(event) { event.transition.size } else { 0.0 };
            let (from, to) = (event.transition.to, until);
            let least = [0, 1].map(|direction| self.least(direction, from, to, |x| course.at(x)));
            let [Some((there, a)), Some((back, b))] = least else { return false };
            let (measured, error) =
                (there + back - level, LEVEL * (self.wait[0] / many(a) + self.wait[1] / many(b)));
            a.min(b) >= WINDOW.1
                && longer.abs() > TOLD * (spare + error)
                && measured.abs() < longer.abs() / 2.0
        })
    }

    /// Both directions around changes, if there is enough before and after to tell the levels.
    fn sides(&self, from: f64, to: f64) -> Option<[DirectionCells; 2]> {
        let (begin, end) = (from - self.width, to + self.width);
        let inside = |x: f64, y: f64| x < to && y > from;
        let others = || self.busy.iter().filter(|(x, y)| !(inside(*x, *y) || *x >= from && *y <= to));
        let before = others().map(|other| other.1).filter(|x| *x <= from).fold(f64::NEG_INFINITY, f64::max);
        let after = others().map(|other| other.0).filter(|x| *x >= to).fold(f64::INFINITY, f64::min);
        let low = (before + self.width).max(begin - BESIDE.0 * self.width).max(self.start());
        let high = (after - self.width).min(end + BESIDE.0 * self.width).min(self.start() + self.length);
        if begin - low < BESIDE.1 * self.width || high - end < BESIDE.1 * self.width {
            return None;
        }
        let side = |direction: usize| {
            let (level, a) = self.least(direction, low, begin, |_| 0.0)?;
            let (after, b) = self.least(direction, end, high, |_| 0.0)?;
            let cells = self.within(direction, begin - self.width, end + self.width);
            let cells: Vec<(f64, f64)> = cells.map(|(x, height)| (x, height - level)).collect();
            let error = LEVEL * self.wait[direction] / many(a.min(b));
            let error = error + self.surveys[direction].grain;
            Some(DirectionCells {
                cells,
                level,
                after: after - level,
                error,
                wait: self.wait[direction],
                sign: sign(direction),
            })
        };
        Some([side(0)?, side(1)?])
    }

    /// The most that a direction's level changes between two times of quiet without an event that tells it, nanoseconds; 0 where the events
    /// account for all that its floors show.
    fn unaccounted(&self, events: &[Event]) -> f64 {
        let rates = (self.surveys[0].slope + self.surveys[1].slope).abs();
        let mut spans: Vec<(f64, f64)> =
            events.iter().map(|one| (one.transition.from, one.transition.to)).collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        spans.push((self.start() + self.length, f64::INFINITY));
        let mut most: f64 = 0.0;
        for (direction, heading) in (0..).zip(Direction::BOTH) {
            let mut last: Option<(f64, f64, f64)> = None;
            let mut quiet_from = self.start();
            for (from, to) in &spans {
                let (begin, end) = (quiet_from + self.width, from - self.width);
                quiet_from = quiet_from.max(*to);
                if end - begin < BESIDE.1 * self.width {
                    continue;
                }
                let Some((level, cells)) = self.least(direction, begin, end, |_| 0.0) else { continue };
                let known = LEVEL * self.wait[direction] / many(cells);
                let told: f64 = events
                    .iter()
                    .filter(|one| one.transition.to <= begin)
                    .map(|one| seen(heading, one))
                    .sum();
                let (left, middle) = (level - told, f64::midpoint(begin, end));
                if let Some((before, error, at)) = last.replace((left, known, middle)) {
                    let sure = known + error + self.surveys[direction].grain + rates * (middle - at);
                    if (left - before).abs() > TOLD * sure {
                        most = most.max((left - before).abs());
                    }
                }
            }
        }
        most
    }

    /// What a direction shows there by itself, as the clock's.
    fn shown(&self, direction: usize, from: f64, to: f64) -> Vec<Transition> {
        let near = |one: &&Transition| one.from <= to + self.width && one.to >= from - self.width;
        let parts = self.surveys[direction].parts.iter().filter(near);
        parts.map(|one| Transition { size: sign(direction) * one.size, ..*one }).collect()
    }

    /// The events of a course.
    fn told(&self, course: &Course, doubt: f64) -> Vec<Event> {
        let error = (self.wait[0].hypot(self.wait[1])) / many(WINDOW.0);
        let event = |(from, to, size): &(f64, f64, f64)| {
            let transition = Transition { from: *from, to: *to, size: *size, error, doubt };
            let kind = if to > from { ChangeKind::Slew } else { ChangeKind::ClockStep };
            Event { kind, ..step(transition) }
        };
        course.changes.iter().map(event).collect()
    }
}

/// By how much more a direction's packets take after an event, as it is told.
fn seen(heading: Direction, event: &Event) -> f64 {
    match event.kind {
        ChangeKind::PathChange if event.heading == Some(heading) => event.transition.size,
        ChangeKind::PathChange => 0.0,
        _ => heading.sign() * event.transition.size,
    }
}

/// What it costs that these events were what they are told as.
fn told_cost(events: &[Event], sides: [&DirectionCells; 2]) -> f64 {
    let each = sides.into_iter().zip(Direction::BOTH).map(|(side, heading)| {
        let changes = events.iter().map(|one| {
            let at = one.seen(heading);
            (at.from, at.to, side.sign * seen(heading, one))
        });
        Course { changes: changes.collect() }.cost([side])
    });
    each.sum()
}

/// How a direction sees that the responder's clock is ahead.
const fn sign(direction: usize) -> f64 {
    if direction == 0 { 1.0 } else { -1.0 }
}
