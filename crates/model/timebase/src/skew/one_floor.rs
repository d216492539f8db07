//! Clocks of which both directions tell, but of one of them no floor.
//!
//! Where something fills a link one way all the time (an upload beside a call), the least delay that way is a queue's, and its
//! slope tells nothing of a clock. The other way has its floor all the same: the rate and what happened are its alone. Whether a
//! change was the clock's or the path's the full queue still tells where it moved less in as short a time than the change is large:
//! what a clock does, it shows at the same moment and with the opposite sign.

use super::estimator::{ChangeKind, Heading};
use super::joining::{Event, events};
use super::median;
use super::round_trip::is_path;
use super::survey::{Survey, Transition};

/// A floor that moves for more than this share of the run is no floor.
const MOVING: f64 = 0.25;
/// Cells on either side of a change, whose median tells how high the queue stood.
const BESIDE: usize = 3;
/// Elsewhere in the run no more than this share of as short times change the queue by half of what is asked about; and so many of
/// those times are looked at, at least.
const BY_CHANCE: f64 = 0.02;
const TIMES: usize = 50;

/// A direction without a floor to go by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moving {
    pub(crate) heading: Heading,
    /// Of the time.
    share: f64,
}

impl Moving {
    /// Why there is no rate, where none of the directions has a floor.
    pub(crate) fn words(&self) -> String {
        format!("{}, so that a clock's rate cannot be told from it", self.said())
    }

    fn said(&self) -> String {
        format!(
            "the least delay itself moves {} ({:.0} % of the time)",
            self.heading.name(),
            100.0 * self.share
        )
    }

    /// What an estimate rests on that goes without it.
    pub(crate) fn remark(&self) -> String {
        let other = if self.heading == Heading::Forward { Heading::Reverse } else { Heading::Forward };
        format!("{}, so that the clocks' rate is told by the packets in {} alone", self.said(), way(other))
    }
}

fn way(heading: Heading) -> &'static str {
    match heading {
        Heading::Forward => "forward direction",
        Heading::Reverse => "reverse direction",
    }
}

/// The directions without a floor to go by.
pub(crate) fn restless(surveys: &[(&Survey, Heading)], told: &[Event]) -> Vec<Moving> {
    let slews = told.iter().filter(|event| event.kind == ChangeKind::Slew);
    let slewed: f64 = slews.map(|event| event.transition.to - event.transition.from).sum();
    // In a clock's slew both floors move.
    let least = surveys.iter().map(|(survey, _)| survey.moving).fold(f64::INFINITY, f64::min);
    let by_clock = if surveys.len() == 2 { slewed.min(least) } else { 0.0 };
    let each = surveys.iter().map(|(survey, heading)| {
        let share = (survey.moving - by_clock) / survey.length.max(1e-9);
        Moving { heading: *heading, share }
    });
    each.filter(|one| one.share > MOVING).collect()
}

/// What the direction with a floor shows, each change with whose it was; and by how much delays may be off because that could not
/// be told, nanoseconds. A round trip takes `round_trip` seconds.
pub(crate) fn told_by(calm: (&Survey, Heading), full: &Survey, round_trip: f64) -> (Vec<Event>, f64) {
    let (survey, heading) = calm;
    let mut found = events(&[calm]);
    let busy: Vec<Transition> = found.iter().map(|event| event.transition).collect();
    // A slew that falls into a ramp and a jump is the clock's as a whole.
    let judged = |change: &Transition| {
        let about = Transition { size: -change.size, ..*change };
        moved_too(full, -survey.slope, &about, &busy, round_trip)
    };
    let wholes: Vec<(Transition, Option<bool>)> =
        survey.transitions.iter().map(|whole| (*whole, judged(whole))).collect();
    let mut doubt: f64 = 0.0;
    for event in &mut found {
        let size =
            if is_path(event) { event.transition.size } else { heading.sign() * event.transition.size };
        let own = Transition { size, ..event.transition };
        let whole = wholes.iter().find(|(whole, _)| own.from >= whole.from && own.to <= whole.to);
        match whole.and_then(|(_, told)| *told).or_else(|| judged(&own)) {
            None => doubt = doubt.max(size.abs()),
            Some(true) => {
                let kind = if own.to > own.from { ChangeKind::Slew } else { ChangeKind::ClockStep };
                let transition = Transition { size: heading.sign() * size, ..own };
                *event = Event { transition, kind, heading: None, ..event.clone() };
            }
            Some(false) => {
                let kind = ChangeKind::PathChange;
                *event = Event { transition: own, kind, heading: Some(heading), ..event.clone() };
            }
        }
    }
    (found, doubt)
}

/// Whether packets of a direction without a floor took longer by the size of a change from its moment on; `None` where they vary so
/// much in as short a time that they do not tell.
fn moved_too(
    full: &Survey,
    slope: f64,
    change: &Transition,
    busy: &[Transition],
    round_trip: f64,
) -> Option<bool> {
    let span = change.to - change.from + 2.0 * round_trip.max(0.0);
    let cells: Vec<(f64, f64)> = full.fine.iter().map(|cell| (cell.x, cell.above(slope))).collect();
    let rise = |from: f64| {
        let end = cells.partition_point(|one| one.0 < from);
        let begin = cells.partition_point(|one| one.0 <= from + span);
        let level = |cells: &[(f64, f64)]| median(&mut cells.iter().map(|one| one.1).collect::<Vec<_>>());
        let before = cells.get(end.checked_sub(BESIDE)?..end)?;
        let after = cells.get(begin..begin + BESIDE)?;
        Some(level(after) - level(before))
    };
    let is_free = |from: &f64| {
        let apart = |one: &Transition| one.from > *from + 2.0 * span || one.to + span < *from;
        busy.iter().all(apart)
    };
    let elsewhere: Vec<f64> =
        cells.iter().map(|one| one.0).filter(is_free).filter_map(rise).map(f64::abs).collect();
    let large = elsewhere.iter().filter(|one| **one > change.size.abs() / 2.0).count();
    if elsewhere.len() < TIMES || super::many(large) > BY_CHANCE * super::many(elsewhere.len()) {
        return None;
    }
    let rise = rise(change.from - round_trip.max(0.0))? / change.size;
    // Twice as far, or the other way, is neither.
    (rise > -0.5 && rise < 1.5).then_some(rise > 0.5)
}
