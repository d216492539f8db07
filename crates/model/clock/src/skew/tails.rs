//! Slews that a run begins or ends in.
//!
//! Of a slew within a run the floors tell the level before it and the one after it. One that is under way when the run begins or ends has one level
//! only, and a rate of its own up to the end: the floors turn, and do not turn back. A clock's rate that changes for good is the same.

use super::arithmetic::{many, rounded};
use super::changes::Segment;
use super::estimate::ChangeKind;
use super::event::{Event, by_both, cancel, step};
use super::survey::{Survey, predicted};
use super::transition::Transition;
use romer_record::warning::MeasurementWarning;
use romer_units::Direction;

/// Both directions turn within this share of the run, or of what the slew lasts, of each other.
const TOGETHER: f64 = 0.04;
const OF_IT: f64 = 0.3;
/// What no clock does, nanoseconds a second: one that is slewed runs a thousandth faster or slower at the most, here.
const STEEP: f64 = 1e6;
/// Rates that follow each other in a slew differ by no more than this share, or so many errors.
const ONE_RATE: (f64, f64) = (0.1, 4.0);
/// Of the floors that go on so many lie on one line, or all have the same rate.
const MOST: f64 = 0.7;
/// Where the floors turn lies no further than so many floors from those beside: the last ones of either line may be high by what they have gone on,
/// or waited.
const AROUND: f64 = 12.0;
/// And of one direction alone so many outwards: a level that wanders by itself has ends, too.
const ALONE: f64 = 3.0;
/// What clocks tell apart, nanoseconds.
const TICK: f64 = 10.0;
/// Both ends of a run have the clocks' rate, and a slew is between them, if they have so many floors together, and this share of all: what is
/// beside the slew of them does not tell the rate.
const ENDS: (f64, f64) = (24.0, 0.16);

/// The rate of both ends of the run, where it is the same and another than in most of it: one slew is plainer than two.
pub(crate) fn of_ends(cuts: &[Segment], moves: impl Fn(&Segment) -> bool, steady: f64) -> Option<f64> {
    let (first, last) = (cuts.first()?, cuts.last()?);
    if cuts.len() < 3
        || !moves(first)
        || !moves(last)
        || first.count() + last.count() < ENDS.0.max(ENDS.1 * many(last.to))
    {
        return None;
    }
    let ((one, error), (other, others)) = (first.rate(), last.rate());
    let (a, b) = ((error.powi(2) + 1e-12).recip(), (others.powi(2) + 1e-12).recip());
    ((one - other).abs() <= 3.0 * error.hypot(others) + steady).then_some((a * one + b * other) / (a + b))
}

/// How a direction's level goes on from a segment of the usual rate, `base`, to the end of the run, by the segments `moved` between, in order of
/// time; and whether it tells that by itself. `at` is the end of the run, and `width` what a floor lasts.
pub(crate) fn tail(
    level: &Segment,
    moved: &[Segment],
    base: f64,
    at: f64,
    (end, begin): (f64, f64),
    width: f64,
) -> Option<(Transition, bool)> {
    let is_first = at < level.middle;
    let longest = moved.iter().max_by(|one, other| one.count().total_cmp(&other.count()))?;
    // Beside a long line few floors lie on others by chance.
    let all: f64 = moved.iter().map(Segment::count).sum();
    let is_one = longest.count() >= MOST * all;
    let [inner, outer] = match is_one {
        true => [longest, longest],
        false if is_first => [moved.last()?, moved.first()?],
        false => [moved.first()?, moved.last()?],
    };
    let (slope, error) = outer.rate();
    let is_one = is_one
        || moved.iter().all(|one| {
            let (other, others) = one.rate();
            (slope - other).abs() <= ONE_RATE.0 * (slope - base).abs() + ONE_RATE.1 * error.hypot(others)
        });
    if !is_one || (slope - base).abs() > STEEP {
        return None;
    }
    let away = |x: f64| inner.at(x) - predicted(level, base, x).0;
    let edge = f64::midpoint(end, begin);
    let turns = edge - away(edge) / (inner.slope - base);
    let near = end - AROUND * width..=begin + AROUND * width;
    let is_firm = if is_first { turns >= begin - ALONE * width } else { turns <= end + ALONE * width };
    if !near.contains(&turns) {
        return None;
    }
    let (usual, usual_error) = predicted(level, base, at);
    let gone = outer.at(at) - usual;
    let tilt = outer.error * (at - outer.middle).abs();
    let own = 2.0 * outer.excess.max(level.excess) / outer.count();
    let error = usual_error.hypot(tilt).hypot(own).hypot(TICK);
    let doubt = level.doubt().hypot(outer.doubt());
    let (from, to, size) = if is_first { (at, turns, -gone) } else { (turns, at, gone) };
    (from < to).then_some((Transition { from, to, size, error, doubt }, is_firm))
}

/// The slews that both directions are in at an end of the run; of one that is alone, what it shows there is left open.
pub(crate) fn events(surveys: &[(&Survey, Direction)]) -> Vec<Event> {
    let ends = match surveys {
        [(survey, heading)] => survey.own_tails().map(|tail| tail.map(|tail| alone(tail, *heading))),
        [(forward, _), (reverse, _)] => [0, 1].map(|end| both(forward, reverse, end)),
        _ => [None, None],
    };
    ends.into_iter().flatten().collect()
}

/// Adds what a direction shows at an end of the run where the other shows a gradual change that stops shortly before it: it is the same slew.
pub(crate) fn beside_changes(survey: &Survey, others: &[Transition], shown: &mut Vec<Transition>) {
    let near = TOGETHER * survey.length;
    for (end, tail) in survey.tails.iter().enumerate() {
        let Some(tail) = tail else { continue };
        let is_of_it = |other: &&Transition| {
            let (at, of) = if end == 0 { (tail.from, other.from) } else { (tail.to, other.to) };
            let (turn, turns) = if end == 0 { (tail.to, other.to) } else { (tail.from, other.from) };
            let is_near = (at - of).abs() <= near && (turn - turns).abs() <= near;
            other.to > other.from && is_near && other.size * tail.size < 0.0
        };
        let Some(other) = others.iter().find(is_of_it) else { continue };
        // It has gone as far as the other has, at its own rate.
        let lasts = (other.to - other.from) / (tail.to - tail.from);
        let part = Transition { from: other.from, to: other.to, size: tail.size * lasts.min(1.0), ..*tail };
        if cancel(&[part], &[*other]) {
            if end == 0 { shown.insert(0, part) } else { shown.push(part) }
        }
    }
}

/// By how much delays of a direction that is alone may be off because of what it shows at the ends of the run, nanoseconds.
pub(crate) fn open(surveys: &[(&Survey, Direction)]) -> f64 {
    let [(survey, _)] = surveys else { return 0.0 };
    survey.own_tails().iter().flatten().map(|tail| tail.size.abs() + tail.half()).fold(0.0, f64::max)
}

/// That delays may be off by that, where they may.
pub(crate) fn opened(off_ns: f64) -> Option<MeasurementWarning> {
    (off_ns > 0.0).then(|| MeasurementWarning::DriftAmbiguousAtEnd { delay_error_ns: rounded(off_ns) })
}

fn alone(transition: Transition, heading: Direction) -> Event {
    let mut event = Event { kind: ChangeKind::PathChange, heading: Some(heading), ..step(transition) };
    event.leave_open();
    event
}

fn both(forward: &Survey, reverse: &Survey, end: usize) -> Option<Event> {
    let (there, back) = (forward.tails[end]?, reverse.tails[end]?);
    let length = forward.length.max(reverse.length);
    let lasts = |one: &Transition| one.to - one.from;
    let near = (TOGETHER * length).max(OF_IT * lasts(&there).min(lasts(&back)));
    let turn = |one: &Transition| if end == 0 { one.to } else { one.from };
    let is_one = (turn(&there) - turn(&back)).abs() <= near && cancel(&[there], &[back]);
    is_one.then(|| {
        let (size, error) = by_both(&there, &back);
        let turns = f64::midpoint(turn(&there), turn(&back));
        let (from, to) = match end {
            0 => (there.from.min(back.from), turns),
            _ => (turns, there.to.max(back.to)),
        };
        let doubt = there.doubt.min(back.doubt);
        Event { kind: ChangeKind::Slew, ..step(Transition { from, to, size, error, doubt }) }
    })
}

/// From when to when all directions have packets.
pub(crate) fn run(surveys: &[(&Survey, Direction)]) -> (f64, f64) {
    let ends = surveys.iter().map(|(survey, _)| survey.ends());
    ends.fold((f64::INFINITY, f64::NEG_INFINITY), |all, one| (all.0.min(one.0), all.1.max(one.1)))
}

/// A slew that goes on to an end of the run, at its own rate: it is placed by packets as if it had stopped somewhere there.
pub(crate) fn gone_on(slew: &mut Transition, [first, last]: [bool; 2], run: (f64, f64)) {
    let rate = slew.size / (slew.to - slew.from);
    if first {
        slew.from = run.0.min(slew.to - 1e-9);
    }
    if last {
        slew.to = run.1.max(slew.from + 1e-9);
    }
    slew.size = rate * (slew.to - slew.from);
}

/// How many seconds a floor lasts.
pub(crate) fn width(length: f64, floors: usize) -> f64 {
    length / many(floors.max(1))
}
