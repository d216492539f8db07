//! What happened to the clocks and the path, of the changes that each direction shows.

use super::brink;
use super::ends;
use super::estimate::ChangeKind;
use super::event::{Event, FASTEST_SLEW, GRADUAL, TOGETHER, by_both, cancel, step};
use super::faint;
use super::near::{borne_out, mirrored, two_steps};
use super::survey::Survey;
use super::tails;
use super::transition::Transition;
use romer_units::Direction;

/// So far apart may they lie if the packets in between say so.
const APART: f64 = 0.04;
/// A slew that both directions take for a jump lasts no longer than this share of the run: it has few floors.
const HIDDEN: f64 = 0.06;
/// Puts the transitions of both directions together: what is opposite and equal in both is a clock's, the rest are the
/// path's. Of one direction alone a jump is taken for the path's, since routes change more often than clocks are set,
/// and a gradual change for a slew, unless no clock is as fast.
pub(crate) fn events(surveys: &[(&Survey, Direction)]) -> Vec<Event> {
    let length = surveys.iter().map(|(survey, _)| survey.length).fold(0.0, f64::max);
    let gradual = |one: &Transition| one.to - one.from > GRADUAL * length;
    let mut found = Vec::new();
    let Some((first, heading)) = surveys.first() else { return found };
    let mut others: Vec<Transition> = surveys.get(1).map_or(Vec::new(), |(survey, _)| survey.parts.clone());
    let mut ones = Vec::new();
    let mut shown = first.parts.clone();
    if let [(first, _), (second, _)] = surveys {
        tails::beside_changes(first, &others, &mut shown);
        tails::beside_changes(second, &first.parts, &mut others);
    }
    for one in &shown {
        let near = |other: &Transition| {
            other.from <= one.to + TOGETHER * length && other.to >= one.from - TOGETHER * length
        };
        let hidden =
            |other: &Transition| hidden(one, other).filter(|span| span.1 - span.0 <= HIDDEN * length);
        let together = |other: &Transition| near(other) || hidden(other).is_some();
        if let Some(place) = others.iter().position(|other| together(other) && cancel(&[*one], &[*other])) {
            let other = others.remove(place);
            let slew = hidden(&other).filter(|span| span.1 - span.0 > GRADUAL * length);
            let event = both(one, &other, gradual(one) || gradual(&other), slew);
            let short = event.transition.to - event.transition.from <= HIDDEN * length;
            let steps = (event.kind == ChangeKind::Slew && short)
                .then(|| two_steps(surveys, &event.transition))
                .flatten();
            match steps {
                Some(steps) => found.extend(steps.map(step)),
                None => found.push(event),
            }
        } else {
            ones.push(*one);
        }
    }
    found.extend(clusters(&mut ones, &mut others, length, TOGETHER, None));
    if let [(first, there), (second, back)] = surveys {
        let judges = [(*second, *back), (*first, *there)];
        found.extend(clusters(&mut ones, &mut others, length, APART, Some(judges)));
        found.extend(at_ends(&mut ones, &mut others, second, 1.0));
        found.extend(at_ends(&mut others, &mut ones, first, -1.0));
    }
    found.extend(ones.into_iter().map(|one| {
        let slews = gradual(&one) && one.size.abs() <= FASTEST_SLEW * (one.to - one.from);
        let kind = if surveys.len() == 1 && slews { ChangeKind::Slew } else { ChangeKind::PathChange };
        let transition = signed(&one, kind, first_sign(surveys));
        let heading = (kind == ChangeKind::PathChange).then_some(*heading);
        Event { kind, heading, ..step(transition) }
    }));
    found.extend(others.into_iter().map(|transition| Event {
        kind: ChangeKind::PathChange,
        heading: Some(Direction::Reverse),
        ..step(transition)
    }));
    found.extend(tails::events(surveys));
    if let [(forward, _), (reverse, _)] = surveys {
        brink::add_steps(forward, reverse, &mut found);
        let known: Vec<(f64, f64)> =
            found.iter().map(|one| (one.transition.from, one.transition.to)).collect();
        let at_ends = ends::steps(forward, reverse, &known).into_iter();
        found.extend(at_ends.map(|end| Event { apart: Some(end.apart), ..step(end.transition) }));
        found.extend(faint::slews(forward, reverse, &found));
    }
    found
}

/// A slew that lasts a few floors only is a jump to each direction: one that rises at its end, because what lies above the
/// old level hides in what packets wait, and one that falls at its beginning, because nothing may lie below the level.
fn hidden(one: &Transition, other: &Transition) -> Option<(f64, f64)> {
    let (rise, fall) = if one.size > 0.0 { (one, other) } else { (other, one) };
    let jumps = one.from >= one.to && other.from >= other.to;
    (jumps && rise.size > 0.0 && fall.size < 0.0 && fall.to < rise.from).then_some((fall.to, rise.from))
}

/// Changes that follow each other closely, of which one direction shows more than the other: of two steps of a clock, up
/// and down, what lies between is a short time with a high floor in the one, which hides it, and with a low one in the
/// other, which shows it. Where all of them together cancel, they are the clock's, as the direction has them that has more
/// of them. Such changes are taken out of both lists. They follow within this share of the run, `reach`, and where there are `judges`, for
/// each direction the other one, their packets have to bear it out; then one direction may show nothing at all.
fn clusters(
    ones: &mut Vec<Transition>,
    others: &mut Vec<Transition>,
    length: f64,
    reach: f64,
    judges: Option<[(&Survey, Direction); 2]>,
) -> Vec<Event> {
    let mut moments: Vec<(f64, f64)> =
        ones.iter().chain(others.iter()).map(|one| (one.from, one.to)).collect();
    moments.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut spans: Vec<(f64, f64)> = Vec::new();
    for (from, to) in moments {
        match spans.last_mut() {
            Some(span) if from <= span.1 + reach * length => span.1 = span.1.max(to),
            _ => spans.push((from, to)),
        }
    }
    let mut found = Vec::new();
    for (from, to) in spans {
        let within = |all: &[Transition]| -> Vec<Transition> {
            all.iter().filter(|one| one.from >= from && one.to <= to).copied().collect()
        };
        let (here, there) = (within(ones), within(others));
        if here.len() == there.len() || !cancel(&here, &there) {
            continue;
        }
        let unseen = here.is_empty() || there.is_empty();
        let (shown, sign) = if here.len() > there.len() { (here, 1.0) } else { (there, -1.0) };
        let borne_out = match judges {
            Some([other, one]) => {
                let (judge, heading) = if sign > 0.0 { other } else { one };
                shown.len() > 1 && borne_out(&shown, judge, heading)
            }
            None => !unseen,
        };
        if !borne_out {
            continue;
        }
        found.extend(shown.into_iter().map(|one| {
            let gradual = one.to - one.from > GRADUAL * length;
            let at = f64::midpoint(one.from, one.to);
            let (from, to) = if gradual { (one.from, one.to) } else { (at, at) };
            let kind = if gradual { ChangeKind::Slew } else { ChangeKind::ClockStep };
            Event { kind, ..step(Transition { from, to, size: sign * one.size, ..one }) }
        }));
        for all in [&mut *ones, &mut *others] {
            all.retain(|one| one.from < from || one.to > to);
        }
    }
    found
}

/// Steps near an end of the run that one direction shows and the packets of the other bear out; `sign` is that with which
/// they are the responder's clock's. They are taken out of the list, and so is what the other direction shows there of them.
fn at_ends(
    shown: &mut Vec<Transition>,
    opposite: &mut Vec<Transition>,
    other: &Survey,
    sign: f64,
) -> Vec<Event> {
    let (clock, path): (Vec<Transition>, _) =
        shown.drain(..).partition(|one| one.to <= one.from && mirrored(one, other));
    *shown = path;
    let reach = APART * other.length;
    let of_it = |there: &Transition| {
        clock.iter().any(|one| (one.from - there.from).abs() <= reach && one.size * there.size < 0.0)
    };
    opposite.retain(|there| !of_it(there));
    clock.into_iter().map(|one| step(Transition { size: sign * one.size, ..one })).collect()
}

fn first_sign(surveys: &[(&Survey, Direction)]) -> f64 {
    surveys.first().map_or(1.0, |(_, heading)| heading.sign())
}

/// A slew is the responder's clock's, a path change the direction's.
fn signed(one: &Transition, kind: ChangeKind, sign: f64) -> Transition {
    match kind {
        ChangeKind::PathChange => *one,
        _ => Transition { size: sign * one.size, ..*one },
    }
}

fn both(forward: &Transition, reverse: &Transition, gradual: bool, hidden: Option<(f64, f64)>) -> Event {
    let (size, error) = by_both(forward, reverse);
    let middle = |one: &Transition| f64::midpoint(one.from, one.to);
    let gradual = gradual || hidden.is_some();
    let (from, to) = if let Some(span) = hidden {
        span
    } else if gradual {
        let wide = |one: &Transition| one.to > one.from;
        match (wide(forward), wide(reverse)) {
            (true, false) => (forward.from, forward.to),
            (false, true) => (reverse.from, reverse.to),
            _ => (f64::midpoint(forward.from, reverse.from), f64::midpoint(forward.to, reverse.to)),
        }
    } else {
        let at = f64::midpoint(middle(forward), middle(reverse));
        (at, at)
    };
    let apart = (!gradual).then(|| [middle(forward), middle(reverse)]);
    let kind = if gradual { ChangeKind::Slew } else { ChangeKind::ClockStep };
    let doubt = forward.doubt.min(reverse.doubt);
    Event { apart, kind, ..step(Transition { from, to, size, error, doubt }) }
}
