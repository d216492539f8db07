//! Clocks of which both directions tell, but of one of them no floor.
//!
//! Where something fills a link one way all the time (an upload beside a call), the least delay that way is a queue's, and its
//! slope tells nothing of a clock. The other way has its floor all the same: the rate and what happened are its alone. Whether a
//! change was the clock's or the path's the full queue still tells where it moved less in as short a time than the change is large:
//! what a clock does, it shows at the same moment and with the opposite sign.

use super::estimator::{ChangeKind, Heading};
use super::joining::{Event, TOGETHER, events};
use super::relating::PLAUSIBLE_PPM;
use super::round_trip::is_path;
use super::survey::{Survey, Transition};
use super::{many, median};

/// A floor that moves for more than this share of the run is no floor.
const MOVING: f64 = 0.25;
/// Cells on either side of a change, whose median tells how high the queue stood.
const BESIDE: usize = 3;
/// Elsewhere in the run no more than this share of as short times change the queue by half of what is asked about; and so many of
/// those times are looked at, at least.
const BY_CHANCE: f64 = 0.01;
const TIMES: usize = 50;
/// By so much of a round trip may the moment of a change be off in the other direction, either way.
const SPARE: f64 = 0.25;

/// A direction without a floor to go by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moving {
    pub(crate) heading: Heading,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    /// The floor moves for such a share of the time.
    Moves(f64),
    /// It rises so much faster, ppm, than clocks run apart.
    Rises(f64),
}

impl Moving {
    /// Why there is no rate, where none of the directions has a floor.
    pub(crate) fn words(&self) -> String {
        format!("{}, so that a clock's rate cannot be told from it", self.said())
    }

    fn said(&self) -> String {
        let way = self.heading.name();
        match self.how {
            How::Moves(share) => {
                format!("the least delay itself moves {way} ({:.0} % of the time)", 100.0 * share)
            }
            How::Rises(ppm) => {
                format!("the least delay itself moves {way} (by {ppm:+.0} ppm, more than clocks differ by)")
            }
        }
    }

    /// What an estimate rests on that goes without it.
    pub(crate) fn remark(&self) -> String {
        let other = self.heading.other().name();
        format!("{}: what is told of the clocks rests on the {other} direction alone", self.said())
    }
}

/// The directions without a floor to go by.
pub(crate) fn restless(surveys: &[(&Survey, Heading)], told: &[Event]) -> Vec<Moving> {
    let slews = told.iter().filter(|event| event.kind == ChangeKind::Slew);
    let slewed: f64 = slews.map(|event| event.transition.to - event.transition.from).sum();
    // In a clock's slew both floors move.
    let least = surveys.iter().map(|(survey, _)| survey.moving).fold(f64::INFINITY, f64::min);
    let by_clock = if surveys.len() == 2 { slewed.min(least) } else { 0.0 };
    let is_steep = |survey: &Survey| survey.slope.abs() > 1e3 * PLAUSIBLE_PPM;
    let one_is = surveys.iter().filter(|(survey, _)| is_steep(survey)).count() == 1 && surveys.len() == 2;
    let each = surveys.iter().filter_map(|(survey, heading)| {
        let share = (survey.moving - by_clock) / survey.length.max(1e-9);
        let how = match share > MOVING {
            true => How::Moves(share),
            // Where both are, it is a clock that runs so fast, or neither tells.
            false if one_is && is_steep(survey) => How::Rises(survey.slope / 1e3),
            false => return None,
        };
        Some(Moving { heading: *heading, how })
    });
    each.collect()
}

/// What the direction with a floor shows, each change with whose it was; and by how much delays may be off because that could not
/// be told, nanoseconds. A round trip takes `round_trip` seconds.
pub(crate) fn told_by(
    calm: (&Survey, Heading),
    full: (&Survey, Heading),
    round_trip: f64,
) -> (Vec<Event>, f64) {
    let (survey, heading) = calm;
    let mut found = events(&[calm]);
    let busy: Vec<Transition> = found.iter().map(|event| event.transition).collect();
    // A slew that falls into a ramp and a jump is the clock's as a whole.
    let judged = |change: &Transition| {
        let about = Transition { size: -change.size, ..*change };
        moved_too(full, -survey.slope, &about, &busy, round_trip)
    };
    let wholes: Vec<(Transition, Option<Moved>)> =
        survey.transitions.iter().map(|whole| (*whole, judged(whole))).collect();
    let mut doubt: f64 = 0.0;
    for event in &mut found {
        let size =
            if is_path(event) { event.transition.size } else { heading.sign() * event.transition.size };
        let own = Transition { size, ..event.transition };
        let whole = wholes.iter().find(|(whole, _)| own.from >= whole.from && own.to <= whole.to);
        match whole.and_then(|(_, told)| *told).or_else(|| judged(&own)) {
            None => doubt = doubt.max(size.abs()),
            Some(Moved::Not) => {
                let kind = ChangeKind::PathChange;
                *event = Event { transition: own, kind, heading: Some(heading), ..event.clone() };
            }
            Some(moved) => {
                // What the responder's clock did shows in reverse a round trip later.
                let apart = (moved == Moved::Later && own.to <= own.from).then_some(match heading {
                    Heading::Forward => [own.from, own.from + round_trip],
                    Heading::Reverse => [own.from - round_trip, own.from],
                });
                *event = Event { apart, ..of_a_clock(&own, heading) };
            }
        }
    }
    (found, doubt)
}

/// A change that a direction shows, as a clock's.
fn of_a_clock(change: &Transition, heading: Heading) -> Event {
    let kind = if change.to > change.from { ChangeKind::Slew } else { ChangeKind::ClockStep };
    let transition = Transition { size: heading.sign() * change.size, ..*change };
    Event { transition, apart: None, kind, heading: None }
}

/// That delays may be off because of changes of which it could not be told whose they were, if there are such.
pub(crate) fn doubted(doubt_ns: f64) -> Option<String> {
    let off = romer_units::Duration::from_nanos(super::rounded(doubt_ns));
    (doubt_ns > 0.0).then(|| {
        format!(
            "of a change in one direction it cannot be told whether it was the path's or a clock's, because delays of the other vary by as \
             much: delays after it may be off by {off}"
        )
    })
}

/// Looks again at changes of one direction's path, where both have a floor, but that of the other rises and falls by as much all the time: what it
/// shows beside them says that they are the clock's, or by how much delays may be off because it cannot be told, nanoseconds.
pub(crate) fn look_again(surveys: [&Survey; 2], told: &mut [Event], round_trip: f64) -> f64 {
    let busy: Vec<Transition> = told.iter().map(|event| event.transition).collect();
    // Changes of both ways at one moment have been looked at together.
    let ways: Vec<(Option<Heading>, Transition)> =
        told.iter().filter(|event| is_path(event)).map(|event| (event.heading, event.transition)).collect();
    let mut doubt: f64 = 0.0;
    for event in told.iter_mut().filter(|event| is_path(event)) {
        let Some(heading) = event.heading else { continue };
        let other = heading.other();
        let near = TOGETHER * surveys[0].length + round_trip.max(0.0);
        let beside = |one: &Transition| {
            one.from <= event.transition.to + near && one.to >= event.transition.from - near
        };
        if ways.iter().any(|(whose, one)| *whose == Some(other) && beside(one)) {
            continue;
        }
        let [own, full] = if heading == Heading::Forward { surveys } else { [surveys[1], surveys[0]] };
        let change = event.transition;
        let floors: Vec<(f64, f64)> =
            full.floors.iter().map(|floor| (floor.x, floor.above(-own.slope))).collect();
        let span = change.to - change.from + 2.0 * round_trip.max(0.0);
        if varies_less(&floors, span, change.size, &busy, span) {
            continue;
        }
        let about = Transition { size: -change.size, ..change };
        let moved = moved_too((full, other), -own.slope, &about, &busy, round_trip);
        if moved.is_some_and(|moved| moved != Moved::Not) {
            *event = Event { apart: event.apart, ..of_a_clock(&change, heading) };
        } else {
            doubt = doubt.max(change.size.abs());
        }
    }
    doubt
}

/// What packets of a direction without a floor show of a change.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moved {
    Not,
    /// They took longer by it at the same moment on the sender's clock.
    AtOnce,
    /// Or a round trip apart from it.
    Later,
}

/// Whether packets of a direction without a floor took longer by the size of a change from its moment on; `None` where they vary so
/// much in as short a time that they do not tell. The sender's clock is read at the same moments in both directions, and what the
/// responder's did, packets forward show a round trip earlier than those in reverse: they are looked at beside either moment, give or take
/// what the queue makes of the round trip. That nothing happened there takes all the time between.
fn moved_too(
    (full, heading): (&Survey, Heading),
    slope: f64,
    change: &Transition,
    busy: &[Transition],
    round_trip: f64,
) -> Option<Moved> {
    let round_trip = round_trip.max(0.0);
    let cells: Vec<(f64, f64)> = full.fine.iter().map(|cell| (cell.x, cell.above(slope))).collect();
    let lasts = change.to - change.from;
    let (beside, all) = (SPARE * round_trip, round_trip);
    let rises = |spare: f64, moments: &[f64]| -> Option<Vec<f64>> {
        let span = lasts + 2.0 * spare;
        varies_less(&cells, span, change.size, busy, span + round_trip).then_some(())?;
        moments.iter().map(|from| Some(rise(&cells, from - spare, span)? / change.size)).collect()
    };
    // Twice as far, or the other way, is neither.
    let is_whole = |rise: &f64| *rise > 0.5 && *rise < 1.5;
    let either = [change.from, change.from - heading.sign() * round_trip];
    let first = rises(beside, &either).and_then(|rises| rises.iter().position(is_whole));
    if let Some(first) = first {
        return Some([Moved::AtOnce, Moved::Later][first]);
    }
    let [rise] = rises(all, &[change.from])?[..] else { return None };
    let moved = if is_whole(&rise) { Moved::AtOnce } else { Moved::Not };
    (is_whole(&rise) || rise.abs() <= 0.5).then_some(moved)
}

/// By how much cells lie higher after some seconds from a moment on than before them.
fn rise(cells: &[(f64, f64)], from: f64, span: f64) -> Option<f64> {
    let end = cells.partition_point(|one| one.0 < from);
    let begin = cells.partition_point(|one| one.0 <= from + span);
    let level = |cells: &[(f64, f64)]| median(&mut cells.iter().map(|one| one.1).collect::<Vec<_>>());
    let before = cells.get(end.checked_sub(BESIDE)?..end)?;
    let after = cells.get(begin..begin + BESIDE)?;
    Some(level(after) - level(before))
}

/// Whether cells seldom rise or fall by half of a size in as short a time, where nothing happened within `far` seconds.
fn varies_less(cells: &[(f64, f64)], span: f64, size: f64, busy: &[Transition], far: f64) -> bool {
    let is_free = |from: &f64| busy.iter().all(|one| one.from > *from + 2.0 * far || one.to + far < *from);
    let moments = cells.iter().map(|one| one.0).filter(is_free);
    let rises: Vec<f64> = moments.filter_map(|from| rise(cells, from, span)).map(f64::abs).collect();
    let large = rises.iter().filter(|one| **one > size.abs() / 2.0).count();
    rises.len() >= TIMES && many(large) <= BY_CHANCE * many(rises.len())
}
