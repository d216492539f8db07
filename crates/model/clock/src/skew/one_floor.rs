//! Clocks of which both directions tell, but of one of them no floor.
//!
//! Where something fills a link one way all the time (an upload beside a call), the least delay that way is a queue's, and its
//! slope tells nothing of a clock. The other way has its floor all the same: the rate and what happened are its alone. Whether a
//! change was the clock's or the path's the full queue [still tells](super::whose), mostly.

use super::arithmetic::{many, median, rounded};
use super::estimate::{ChangeKind, PLAUSIBLE_PPM};
use super::event::{Event, TOGETHER, step};
use super::joining::events;
use super::round_trip::is_path;
use super::survey::Survey;
use super::transition::Transition;
use super::whose::{Moved, Witness};
use romer_record::warning::{MeasurementWarning, SkewUnknown};
use romer_units::Direction;

/// A floor that moves for more than this share of the run is no floor.
const MOVING: f64 = 0.25;
/// Cells on either side of a change, whose median tells how high the queue stood.
const BESIDE: usize = 3;
/// Elsewhere in the run no more than this share of as short times change the queue by half of what is asked about; and so many of
/// those times are looked at, at least.
const BY_CHANCE: f64 = 0.01;
const TIMES: usize = 50;
/// Delays of one direction vary by so many times as much as those of the other.
const UNLIKE: f64 = 2.0;

/// A direction without a floor to go by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moving {
    pub(crate) heading: Direction,
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
    pub(crate) fn unknown(&self) -> SkewUnknown {
        let direction = self.heading.into();
        match self.how {
            How::Moves(moving_ratio) => SkewUnknown::MinimumMoves { direction, moving_ratio },
            How::Rises(drift_ppm) => SkewUnknown::MinimumDrifts { direction, drift_ppm },
        }
    }

    /// What an estimate rests on that goes without it.
    pub(crate) fn remark(&self) -> MeasurementWarning {
        let (moving_ratio, drift_ppm) = match self.how {
            How::Moves(share) => (Some(share), None),
            How::Rises(ppm) => (None, Some(ppm)),
        };
        MeasurementWarning::SkewByOneDirection { direction: self.heading.into(), moving_ratio, drift_ppm }
    }
}

/// The directions without a floor to go by.
pub(crate) fn restless(surveys: &[(&Survey, Direction)], told: &[Event]) -> Vec<Moving> {
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
/// be told, nanoseconds. The round trip is longer by `bases` than the sum of a delay of either direction, nanoseconds.
pub(crate) fn told_by(calm: (&Survey, Direction), full: &Survey, bases: f64) -> (Vec<Event>, f64) {
    let (survey, heading) = calm;
    let mut found = events(&[calm]);
    let busy: Vec<Transition> = found.iter().map(|event| event.transition).collect();
    let witness = Witness::new(calm, full, &busy, (bases, 0.0));
    // A slew that falls into a ramp and a jump is the clock's as a whole.
    let wholes: Vec<(Transition, Option<Moved>)> =
        survey.transitions.iter().map(|whole| (*whole, witness.moved(whole))).collect();
    let mut doubt: f64 = 0.0;
    for event in &mut found {
        let size =
            if is_path(event) { event.transition.size } else { heading.sign() * event.transition.size };
        let own = Transition { size, ..event.transition };
        let whole = wholes.iter().find(|(whole, _)| own.from >= whole.from && own.to <= whole.to);
        match whole.and_then(|(_, told)| *told).or_else(|| witness.moved(&own)) {
            None => {
                doubt = doubt.max(size.abs());
                event.leave_open();
            }
            Some(Moved::Not) => {
                let kind = ChangeKind::PathChange;
                *event = Event { kind, heading: Some(heading), ..step(own) };
            }
            Some(Moved::With(apart)) => *event = of_a_clock(&own, heading, apart),
        }
    }
    (found, doubt)
}

/// A change that a direction shows, as a clock's.
fn of_a_clock(change: &Transition, heading: Direction, apart: [f64; 2]) -> Event {
    let transition = Transition { size: heading.sign() * change.size, ..*change };
    let told = Event { dated_by: Some(heading), ..step(transition) };
    match change.to > change.from {
        true => Event { kind: ChangeKind::Slew, ..told },
        false => Event { apart: Some(apart), ..told },
    }
}

/// That delays may be off because of changes of which it could not be told whose they were, if there are such.
pub(crate) fn doubted(doubt_ns: f64) -> Option<MeasurementWarning> {
    (doubt_ns > 0.0).then(|| MeasurementWarning::ChangeAmbiguous { delay_error_ns: rounded(doubt_ns) })
}

/// Looks again at changes of one direction's path, where both have a floor, but that of the other rises and falls by as much all the time: what it
/// shows beside them says that they are the clock's, or by how much delays may be off because it cannot be told, nanoseconds.
pub(crate) fn look_again(
    surveys: [&Survey; 2],
    told: &mut [Event],
    round_trip: f64,
    (bases, lag): (f64, f64),
) -> f64 {
    let busy: Vec<Transition> = told.iter().map(|event| event.transition).collect();
    // Changes of both ways at one moment have been looked at together.
    let ways: Vec<(Option<Direction>, Transition)> =
        told.iter().filter(|event| is_path(event)).map(|event| (event.heading, event.transition)).collect();
    let mut doubt: f64 = 0.0;
    for event in told.iter_mut().filter(|event| is_path(event)) {
        let Some(heading) = event.heading else { continue };
        let other = heading.opposite();
        let near = TOGETHER * surveys[0].length + round_trip.max(0.0);
        let beside = |one: &Transition| {
            one.from <= event.transition.to + near && one.to >= event.transition.from - near
        };
        if ways.iter().any(|(whose, one)| *whose == Some(other) && beside(one)) {
            continue;
        }
        let [own, full] = if heading == Direction::Forward { surveys } else { [surveys[1], surveys[0]] };
        let change = event.transition;
        let floors: Vec<(f64, f64)> =
            full.floors.iter().map(|floor| (floor.x, floor.above(-own.slope))).collect();
        let span = change.to - change.from + 2.0 * round_trip.max(0.0);
        if varies_less(&floors, span, change.size, &busy, span) {
            continue;
        }
        let witness = Witness::new((own, heading), full, &busy, (bases, lag));
        match witness.moved(&change) {
            Some(Moved::With(apart)) => *event = of_a_clock(&change, heading, apart),
            Some(Moved::Not) => {}
            None => {
                doubt = doubt.max(change.size.abs());
                event.leave_open();
            }
        }
    }
    doubt
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

/// Has steps of a clock that both directions show be dated by one of them alone, where delays of the other vary by twice as much from cell to
/// cell: in a queue a step is dated late, or not at all.
pub(crate) fn date(surveys: [&Survey; 2], told: &mut [Event]) {
    let varies = |survey: &Survey| {
        let heights = survey
            .fine
            .windows(2)
            .map(|pair| (pair[1].above(survey.slope) - pair[0].above(survey.slope)).abs());
        median(&mut heights.collect::<Vec<_>>()).max(survey.grain)
    };
    let [there, back] = surveys.map(varies);
    let quieter = match (there, back) {
        _ if back > UNLIKE * there => Direction::Forward,
        _ if there > UNLIKE * back => Direction::Reverse,
        _ => return,
    };
    for event in told.iter_mut().filter(|event| event.kind == ChangeKind::ClockStep) {
        event.dated_by = event.dated_by.or(Some(quieter));
    }
}

/// Whether cells seldom rise or fall by half of a size in as short a time, where nothing happened within `far` seconds.
fn varies_less(cells: &[(f64, f64)], span: f64, size: f64, busy: &[Transition], far: f64) -> bool {
    let is_free = |from: &f64| busy.iter().all(|one| one.from > *from + 2.0 * far || one.to + far < *from);
    let moments = cells.iter().map(|one| one.0).filter(is_free);
    let rises: Vec<f64> = moments.filter_map(|from| rise(cells, from, span)).map(f64::abs).collect();
    let large = rises.iter().filter(|one| **one > size.abs() / 2.0).count();
    rises.len() >= TIMES && many(large) <= BY_CHANCE * many(rises.len())
}
