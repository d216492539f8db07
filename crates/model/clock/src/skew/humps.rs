//! Times in which a queue stood high, which look like a level that came and went.
//!
//! Packets that wait behind one another are high together, so that the least of a few floors may lie above all others though nothing happened but
//! that the queue was not empty for as long. A level that is really higher for a while is met there as often as the usual one is elsewhere; a
//! queue's height is met by one packet or two, at its edges, and the others lie above it by as much as it seems to be a level.

use super::arithmetic::median;
use super::event::{TOGETHER, cancel};
use super::floors::Floor;
use super::survey::{Survey, TooLittle};
use super::transition::Transition;

/// Such a time is no longer than this share of the run: what lasts has been looked at by many floors.
const LASTS: f64 = 0.15;
/// It is a queue's where packets lie above its level by so many times what they do beside it, and its height is no more than so many times that.
const UNLIKE: f64 = 2.0;
const HIGH: f64 = 5.0;
/// Cells in it and beside it, at least.
const CELLS: usize = 8;
/// What comes and goes leaves no more than this share of it behind, or so many times what both may be off.
const LEFT: (f64, f64) = (0.1, 3.0);

/// The directions without what is no more than a queue that stood high. What the other direction shows as well, with the opposite sign, no queue
/// does.
pub(crate) fn without(surveys: [Result<Survey, TooLittle>; 2]) -> [Result<Survey, TooLittle>; 2] {
    let shown = surveys
        .each_ref()
        .map(|survey| survey.as_ref().map_or_else(|_| Vec::new(), |survey| survey.transitions.clone()));
    let [there, back] = surveys;
    let only = |survey: Survey, opposite: &[Transition]| {
        let humps = of(&survey, opposite);
        let kept = |one: &Transition| !humps.iter().any(|(from, to)| one.from >= *from && one.to <= *to);
        if humps.is_empty() { survey } else { survey.without(kept) }
    };
    [there.map(|survey| only(survey, &shown[1])), back.map(|survey| only(survey, &shown[0]))]
}

/// From when to when a direction shows changes that are no more than a queue that stood high.
fn of(survey: &Survey, opposite: &[Transition]) -> Vec<(f64, f64)> {
    let last = survey.transitions.len();
    if survey.groups.len() != last + 1 {
        return Vec::new();
    }
    let near = TOGETHER * survey.length;
    let is_borne_out = |one: &Transition| {
        let mut others =
            opposite.iter().filter(|other| other.from <= one.to + near && other.to >= one.from - near);
        others.any(|other| one.size * other.size < 0.0 && cancel(&[*one], &[*other]))
    };
    let each = (0..=last).filter_map(|place| {
        let before = place.checked_sub(1).and_then(|before| survey.transitions.get(before));
        let after = survey.transitions.get(place);
        let height = height(before, after)?;
        if before.is_some_and(is_borne_out) || after.is_some_and(is_borne_out) {
            return None;
        }
        let from = before.map_or(f64::NEG_INFINITY, |one| one.from);
        let to = after.map_or(f64::INFINITY, |one| one.to);
        is_hump(survey, place, height).then_some((from, to))
    });
    each.collect()
}

/// How high a group lies above those beside it, where it lies above them: a group at an end of the run has one beside it.
fn height(before: Option<&Transition>, after: Option<&Transition>) -> Option<f64> {
    let height = match (before, after) {
        (Some(up), Some(down)) => {
            let left = (up.size + down.size).abs();
            let height = up.size.min(-down.size);
            let spare = (LEFT.0 * height).max(LEFT.1 * up.error.hypot(down.error));
            (left <= spare).then_some(height)?
        }
        (Some(up), None) => up.size,
        (None, Some(down)) => -down.size,
        (None, None) => return None,
    };
    (height > 0.0).then_some(height)
}

fn is_hump(survey: &Survey, place: usize, height: f64) -> bool {
    let span = |group: &core::ops::Range<usize>| {
        let (first, last) = (survey.floors.get(group.start)?, survey.floors.get(group.end.checked_sub(1)?)?);
        Some((first.x, last.x))
    };
    let Some((from, to)) = span(&survey.groups[place]) else { return false };
    if to - from > LASTS * survey.length {
        return false;
    }
    let cells = |(from, to): (f64, f64)| {
        let begin = survey.fine.partition_point(|one| one.x < from);
        let end = survey.fine.partition_point(|one| one.x <= to).max(begin);
        &survey.fine[begin..end]
    };
    let within = cells((from, to));
    let before = place.checked_sub(1).and_then(|one| span(survey.groups.get(one)?)).map(cells);
    let after = span(survey.groups.get(place + 1).unwrap_or(&(0..0))).map(cells);
    // As many on either side.
    let before = before.map(|cells| &cells[cells.len().saturating_sub(within.len())..]);
    let after = after.map(|cells| &cells[..cells.len().min(within.len())]);
    let mut beside = [before, after]
        .into_iter()
        .flatten()
        .flat_map(|cells| above(cells, survey.slope))
        .collect::<Vec<_>>();
    let mut within = above(within, survey.slope);
    if within.len() < CELLS || beside.len() < CELLS {
        return false;
    }
    let waits = median(&mut within).max(survey.grain);
    waits > UNLIKE * median(&mut beside).max(survey.grain) && height < HIGH * waits
}

/// By how much cells lie above the least of them.
fn above(cells: &[Floor], slope: f64) -> Vec<f64> {
    let heights = || cells.iter().map(|one| one.above(slope));
    let least = heights().fold(f64::INFINITY, f64::min);
    heights().map(|height| height - least).collect()
}
