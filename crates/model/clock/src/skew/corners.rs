//! When a slew began and ended, by the packets themselves.
//!
//! The floors of a survey are many packets apart, and those in which a slew begins or ends are of neither level: so it seems to begin earlier and to
//! end later than it did, by a floor or two, and delays beside its corners are off by what the clock goes in that time. The least packets of each
//! cell of time are many more. Where exactly the corners are is what explains them best in both directions; what they leave open of it is told with it.

use super::arithmetic::{many, median, rounded};
use super::classic::NORMAL;
use super::estimate::ChangeKind;
use super::event::{Event, FASTEST_SLEW};
use super::survey::Survey;
use super::tails;
use super::transition::Transition;
use romer_units::Direction;

/// The share of the cells that lie below the level: what lies below it costs so many times as much as what lies above as those are fewer.
const BELOW: f64 = 0.05;
/// What a cell lies above the level by so many times what it usually waits, and more, says the less the higher it is.
const HIGH: f64 = 3.0;
/// Cells of one level that tell it, on either side of the slew; and how many of all there are at least.
const BESIDE: usize = 300;
const FEWEST: usize = 24;
/// Corners are looked for so many floors away from where they seem to be, and by this share of what the slew lasts.
const AROUND: (f64, f64) = (4.0, 0.3);
/// Moments that are tried for either corner, and how often what counts is looked at more closely.
const MOMENTS: usize = 13;
const ROUNDS: usize = 6;
/// What is so much less likely, as a logarithm, does not count.
const COUNTING: f64 = 6.0;
/// So much plainer, as the logarithm of the likelihood, must it be in both directions together, and in each, that a step took its time; with so many
/// cells in it.
const DRAWN_OUT: (f64, f64) = (20.0, 4.0);
const WITHIN: usize = 2;
/// Cells that lie so far between both levels tell about when it began and ended, to so many cells.
const BETWEEN: [f64; 2] = [0.1, 0.9];
const BESIDE_ENDS: f64 = 3.0;
/// In the time of a round trip a slew goes no further than this share of all of it.
const LATER: f64 = 0.01;
/// A step takes less than this, seconds.
const AT_ONCE: f64 = 1e-6;

/// One direction's cells beside a slew, above its level before.
#[derive(Clone)]
struct SlewCells {
    /// When, and how high.
    cells: Vec<(f64, f64)>,
    wait: f64,
    sign: f64,
}

impl SlewCells {
    /// By the responder's clock without `events`, which is ahead by `line`. The slew is one of the events, and others end before `span` and begin
    /// after it.
    fn new(
        (survey, heading): (&Survey, Direction),
        place: usize,
        events: &[Event],
        line: &impl Fn(f64) -> f64,
        (low, high): (f64, f64),
        (begin, end): (f64, f64),
    ) -> Option<Self> {
        let slew = &events[place].transition;
        let sign = heading.sign();
        let others = |x: f64| -> f64 {
            let others = events.iter().enumerate().filter(|(other, _)| *other != place);
            others.map(|(_, event)| event.longer(heading, x)).sum()
        };
        let mut heights: Vec<(f64, f64)> = survey
            .fine
            .iter()
            .filter(|cell| cell.x > begin && cell.x < end)
            .map(|cell| (cell.x, cell.y - sign * line(cell.x) - others(cell.x)))
            .collect();
        heights.sort_by(|a, b| a.0.total_cmp(&b.0));
        let first = heights.partition_point(|cell| cell.0 < low);
        let last = heights.partition_point(|cell| cell.0 <= high);
        let before = heights[first.saturating_sub(BESIDE)..first].iter().map(|cell| cell.1);
        let after =
            heights[last..(last + BESIDE).min(heights.len())].iter().map(|cell| cell.1 - sign * slew.size);
        let mut beside: Vec<f64> = before.chain(after).collect();
        if beside.len() < FEWEST || last - first < FEWEST / 2 {
            return None;
        }
        let lowest = rounded(BELOW * many(beside.len()));
        let lowest = usize::try_from(lowest).unwrap_or(0).min(beside.len() - 1);
        let level = *beside.select_nth_unstable_by(lowest, f64::total_cmp).1;
        beside.iter_mut().for_each(|height| *height = (*height - level).max(0.0));
        let wait = (median(&mut beside) / core::f64::consts::LN_2).max(survey.grain).max(1.0);
        let cells = heights[first..last].iter().map(|(x, height)| (*x, height - level)).collect();
        Some(Self { cells, wait, sign })
    }

    /// What it costs that the clock went on from one moment to another, as minus the logarithm of a likelihood.
    fn cost(&self, (from, to): (f64, f64), size: f64) -> f64 {
        let each = self.cells.iter().map(|(x, height)| {
            let above = (height - self.sign * size * ((x - from) / (to - from)).clamp(0.0, 1.0)) / self.wait;
            if above < 0.0 { above * (1.0 - 1.0 / BELOW) } else { HIGH * (above / HIGH).ln_1p() }
        });
        each.sum()
    }
}

/// The events with slews begun and ended when the packets of all directions say, and by how much delays beside their corners may be off, nanoseconds.
/// `line` is by how much the responder's clock is ahead without them.
pub(crate) fn placed(
    surveys: &[(&Survey, Direction)],
    events: &[Event],
    line: impl Fn(f64) -> f64,
) -> (Vec<Event>, f64) {
    let mut events = events.to_vec();
    let run = tails::run(surveys);
    let mut off: f64 = 0.0;
    for place in 0..events.len() {
        if events[place].kind != ChangeKind::Slew {
            continue;
        }
        let slew = &events[place].transition;
        let goes_on = [slew.from <= run.0, slew.to >= run.1];
        if let Some([from, to]) = corners(surveys, place, &events, &line, goes_on) {
            let slew = &mut events[place].transition;
            (slew.from, slew.to) = (from.0, to.0);
            tails::gone_on(slew, goes_on, run);
            off = off.max(slew.size.abs() / (slew.to - slew.from) * from.1.max(to.1));
        } else {
            // Where floors alone tell, it may have begun and ended anywhere between two of them.
            let lasts = slew.to - slew.from;
            off = off.max(slew.size.abs() * (floor(surveys) / lasts).min(1.0) / NORMAL);
        }
    }
    (events, NORMAL * off)
}

/// What tells when a slew began and ended: the cells of the directions, and from when to when they are looked at.
#[derive(Clone)]
struct Around {
    sides: Vec<SlewCells>,
    from: f64,
    to: f64,
    /// How far away from where it seems to begin or end it may.
    around: f64,
    low: f64,
    high: f64,
}

fn around(
    surveys: &[(&Survey, Direction)],
    place: usize,
    events: &[Event],
    line: &impl Fn(f64) -> f64,
) -> Option<Around> {
    let slew = events[place].transition;
    let (from, to) = (slew.from, slew.to);
    let middle = f64::midpoint(from, to);
    let floor = floor(surveys);
    let around = (AROUND.0 * floor).max(AROUND.1 * (to - from));
    let others =
        || events.iter().enumerate().filter(|(other, _)| *other != place).map(|one| &one.1.transition);
    let begin = others().map(|one| one.to + floor).filter(|x| *x < middle).fold(f64::NEG_INFINITY, f64::max);
    let end = others().map(|one| one.from - floor).filter(|x| *x > middle).fold(f64::INFINITY, f64::min);
    let run = tails::run(surveys);
    // What lies before it and after it tells the levels, and is left for that.
    let (low, high) = ((from - around).max(begin), (to + around).min(end));
    let low = if from > run.0 { low.max(f64::midpoint(from, begin.max(run.0))) } else { low };
    let high = if to < run.1 { high.min(f64::midpoint(to, end.min(run.1))) } else { high };
    let sides: Vec<SlewCells> = surveys
        .iter()
        .filter_map(|survey| SlewCells::new(*survey, place, events, line, (low, high), (begin, end)))
        .collect();
    let is_any = !sides.is_empty() && to > from && low < from && high > to;
    is_any.then_some(Around { sides, from, to, around, low, high })
}

/// How long a floor is at the most, seconds.
fn floor(surveys: &[(&Survey, Direction)]) -> f64 {
    surveys.iter().map(|(survey, _)| tails::width(survey.length, survey.floors.len())).fold(0.0, f64::max)
}

/// The events with those steps of the clock as slews that took their time by the packets of both directions: floors are too far apart to tell.
pub(crate) fn drawn_out(
    surveys: &[(&Survey, Direction)],
    events: Vec<Event>,
    line: impl Fn(f64) -> f64,
) -> Vec<Event> {
    let slews: Vec<Option<Event>> =
        (0..events.len()).map(|place| as_slew(surveys, place, &events, &line)).collect();
    events.into_iter().zip(slews).map(|(step, slew)| slew.unwrap_or(step)).collect()
}

fn as_slew(
    surveys: &[(&Survey, Direction)],
    place: usize,
    events: &[Event],
    line: &impl Fn(f64) -> f64,
) -> Option<Event> {
    let step = &events[place];
    if step.kind != ChangeKind::ClockStep || surveys.len() < 2 {
        return None;
    }
    let at = step.apart.unwrap_or([step.transition.from; 2]);
    let floor = floor(surveys);
    let (from, to) = (at[0].min(at[1]) - floor, at[0].max(at[1]) + floor);
    let mut told = events.to_vec();
    told[place] = Event {
        kind: ChangeKind::Slew,
        apart: None,
        transition: Transition { from, to, ..step.transition },
        ..step.clone()
    };
    let size = step.transition.size;
    let mut around = around(surveys, place, &told, line)?.about(size)?;
    // In reverse it shows later by a part of the round trip: what it goes in that time is none of what packets wait.
    around.sides.iter_mut().for_each(|side| side.wait = side.wait.max(LATER * size.abs()));
    let [from, to] = around.searched(size)?;
    let (from, to) = (from.0, to.0);
    // Each direction has a step where it explains its own packets best.
    let plainer = around.sides.iter().map(|side| {
        let steps = side.cells.iter().map(|cell| side.cost((cell.0 - AT_ONCE, cell.0), size));
        steps.fold(f64::INFINITY, f64::min) - side.cost((from, to), size)
    });
    let plainer: Vec<f64> = plainer.collect();
    let within = |side: &SlewCells| side.cells.iter().filter(|cell| cell.0 > from && cell.0 < to).count();
    let is_slew = plainer.len() == 2
        && plainer.iter().all(|one| *one > DRAWN_OUT.1)
        && plainer.iter().sum::<f64>() > DRAWN_OUT.0
        && around.sides.iter().all(|side| within(side) >= WITHIN)
        && size.abs() <= FASTEST_SLEW * (to - from);
    let transition = Transition { from, to, ..step.transition };
    is_slew.then(|| Event { transition, ..told[place].clone() })
}

/// Mean and deviation of either end of a slew.
fn corners(
    surveys: &[(&Survey, Direction)],
    place: usize,
    events: &[Event],
    line: &impl Fn(f64) -> f64,
    goes_on: [bool; 2],
) -> Option<[(f64, f64); 2]> {
    let size = events[place].transition.size;
    let around = around(surveys, place, events, line)?;
    // From moments far from the right ones the search may end in a place that is the best one near to it.
    // (Of one that goes on to an end of the run the line has no end there.)
    let about = around.clone().about(size).filter(|_| goes_on == [false; 2]);
    let found = [around.searched(size), about.and_then(|about| about.searched(size))];
    found
        .into_iter()
        .flatten()
        .min_by(|one, other| around.cost(one, size).total_cmp(&around.cost(other, size)))
}

impl Around {
    /// The same about where the cells between both levels lie on a line.
    fn about(mut self, size: f64) -> Option<Self> {
        let share = |side: &SlewCells| {
            let each = side.cells.iter().map(|(x, height)| (*x, side.sign * height / size));
            each.filter(|(_, share)| (BETWEEN[0]..BETWEEN[1]).contains(share)).collect::<Vec<_>>()
        };
        let between: Vec<(f64, f64)> = self.sides.iter().flat_map(share).collect();
        let pairs = between.iter().enumerate().flat_map(|(place, one)| {
            let later = between[place + 1..].iter();
            later.filter(|other| other.0 > one.0).map(|other| (other.1 - one.1) / (other.0 - one.0))
        });
        let mut slopes: Vec<f64> = pairs.collect();
        if slopes.is_empty() {
            return None;
        }
        let slope = median(&mut slopes);
        let begin = median(&mut between.iter().map(|(x, share)| x - share / slope).collect::<Vec<_>>());
        let lasts = slope.recip();
        let cells = self.sides.iter().map(|side| side.cells.len()).min().unwrap_or(1);
        self.around = (AROUND.1 * lasts).max(BESIDE_ENDS * (self.high - self.low) / many(cells.max(1)));
        (self.from, self.to) = (begin, begin + lasts);
        (slope > 0.0 && self.from > self.low && self.to < self.high).then_some(self)
    }

    /// What it costs that the clock went on between two moments.
    fn cost(&self, [from, to]: &[(f64, f64); 2], size: f64) -> f64 {
        self.sides.iter().map(|side| side.cost((from.0, to.0), size)).sum()
    }

    /// Mean and deviation of either end of a slew that goes so far.
    fn searched(&self, size: f64) -> Option<[(f64, f64); 2]> {
        let Self { sides, from, to, around, low, high } = self;
        let (from, to, around, low, high) = (*from, *to, *around, *low, *high);
        let middle = f64::midpoint(from, to);
        let short = 0.1 * (to - from);
        let mut ends = [
            (low, (from + around).min(middle - short / 2.0)),
            ((to - around).max(middle + short / 2.0), high),
        ];
        let mut told = None;
        for _ in 0..ROUNDS {
            let steps = ends.map(|(low, high)| (high - low) / many(MOMENTS - 1));
            let moment = |end: usize, n: usize| ends[end].0 + steps[end] * many(n);
            let pairs = (0..MOMENTS).flat_map(|a| (0..MOMENTS).map(move |b| (a, b)));
            let priced: Vec<(f64, f64, f64)> = pairs
                .map(|(a, b)| (moment(0, a), moment(1, b)))
                .map(|(a, b)| (a, b, sides.iter().map(|side| side.cost((a, b), size)).sum()))
                .collect();
            let least = priced.iter().map(|one| one.2).fold(f64::INFINITY, f64::min);
            let counted: Vec<[f64; 3]> = priced
                .iter()
                .filter(|one| one.2 < least + COUNTING)
                .map(|one| [one.0, one.1, (least - one.2).exp()])
                .collect();
            let share: f64 = counted.iter().map(|one| one[2]).sum();
            let of_end = |end: usize| {
                let mean = counted.iter().map(|one| one[2] * one[end]).sum::<f64>() / share;
                let variance =
                    counted.iter().map(|one| one[2] * (one[end] - mean).powi(2)).sum::<f64>() / share;
                // Between two moments nothing is known.
                (mean, (variance + steps[end].powi(2) / 12.0).sqrt())
            };
            told = Some([of_end(0), of_end(1)]);
            let wide = [0, 1].map(|end| {
                let (first, last) =
                    counted.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| {
                        (low.min(one[end]), high.max(one[end]))
                    });
                let (low, high) = ends[end];
                ((first - steps[end]).max(low), (last + steps[end]).min(high))
            });
            let narrower = |end: usize| wide[end].1 - wide[end].0 < 0.7 * (ends[end].1 - ends[end].0);
            if !narrower(0) && !narrower(1) {
                break;
            }
            ends = wide;
        }
        told
    }
}
