//! What happened to the clocks and the path, of the changes that each direction shows.

use super::brink;
use super::ends;
use super::estimator::{ChangeKind, Heading};
use super::faint;
use super::near::{borne_out, mirrored, two_steps};
use super::survey::{Survey, Transition};
use super::tails;

/// Changes in both directions belong together if they are no further apart than this share of the run.
pub(crate) const TOGETHER: f64 = 0.02;
/// So far apart may they lie if the packets in between say so.
const APART: f64 = 0.04;
/// A slew that both directions take for a jump lasts no longer than this share of the run: it has few floors.
const HIDDEN: f64 = 0.06;
/// Two changes cancel each other if what remains is no more than so many errors, or than this share of the greater.
const CANCEL: (f64, f64) = (6.0, 0.1);
/// A longer transition is a slew, as a share of the run.
pub(crate) const GRADUAL: f64 = 0.008;
/// No clock is slewed faster, in nanoseconds a second: a kernel lets one run a tenth faster or slower at the most.
pub(crate) const FASTEST_SLEW: f64 = 1e8;

/// Something that happened, with both directions put together.
#[derive(Clone)]
pub(crate) struct Event {
    pub(crate) transition: Transition,
    /// When a jump was forward and in reverse, where those were found apart: moments are the sender's clock's, and the
    /// responder stamps a packet later than it left and earlier than it came back.
    pub(crate) apart: Option<[f64; 2]>,
    pub(crate) kind: ChangeKind,
    pub(crate) heading: Option<Heading>,
    /// The direction that tells its moment, where the other does not.
    pub(crate) dated_by: Option<Heading>,
    /// What it may be as well.
    pub(crate) may_be: Option<ChangeKind>,
}

impl Event {
    /// The transition as a direction sees it.
    pub(crate) fn seen(&self, heading: Heading) -> Transition {
        match self.apart {
            Some([forward, reverse]) => {
                let at = if heading == Heading::Forward { forward } else { reverse };
                Transition { from: at, to: at, ..self.transition }
            }
            None => self.transition,
        }
    }
}

impl Event {
    /// Leaves open whether it was a clock's or the path's.
    pub(crate) fn leave_open(&mut self) {
        let of_a_clock = match self.transition.to > self.transition.from {
            true => ChangeKind::Slew,
            false => ChangeKind::ClockStep,
        };
        self.may_be = Some(match self.kind {
            ChangeKind::PathChange => of_a_clock,
            _ => ChangeKind::PathChange,
        });
    }

    /// By how much longer a direction's packets of a moment take for it, by the clocks.
    pub(crate) fn longer(&self, heading: Heading, x: f64) -> f64 {
        let one = self.seen(heading);
        match (self.kind, self.heading) {
            (ChangeKind::PathChange, Some(whose)) if whose != heading => 0.0,
            (ChangeKind::PathChange, _) => one.gone(x),
            _ => heading.sign() * one.gone(x),
        }
    }
}

/// Puts the transitions of both directions together: what is opposite and equal in both is a clock's, the rest are the
/// path's. Of one direction alone a jump is taken for the path's, since routes change more often than clocks are set,
/// and a gradual change for a slew, unless no clock is as fast.
pub(crate) fn events(surveys: &[(&Survey, Heading)]) -> Vec<Event> {
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
        heading: Some(Heading::Reverse),
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

/// Whether the changes of one direction and those of the other cancel each other.
pub(crate) fn cancel(ones: &[Transition], others: &[Transition]) -> bool {
    let size = |all: &[Transition]| all.iter().map(|one| one.size).sum::<f64>();
    let error = ones.iter().chain(others).fold(0.0, |error: f64, one| error.hypot(one.error));
    let rest = (size(ones) + size(others)).abs();
    rest <= CANCEL.0 * error || rest <= CANCEL.1 * size(ones).abs().max(size(others).abs())
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
    judges: Option<[(&Survey, Heading); 2]>,
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

/// A step of the responder's clock.
pub(crate) fn step(transition: Transition) -> Event {
    Event {
        transition,
        apart: None,
        kind: ChangeKind::ClockStep,
        heading: None,
        dated_by: None,
        may_be: None,
    }
}

fn first_sign(surveys: &[(&Survey, Heading)]) -> f64 {
    surveys.first().map_or(1.0, |(_, heading)| heading.sign())
}

/// A slew is the responder's clock's, a path change the direction's.
fn signed(one: &Transition, kind: ChangeKind, sign: f64) -> Transition {
    match kind {
        ChangeKind::PathChange => *one,
        _ => Transition { size: sign * one.size, ..*one },
    }
}

/// How far a clock went that both directions show, each by what its own error leaves open, and how far that may be off.
pub(crate) fn by_both(forward: &Transition, reverse: &Transition) -> (f64, f64) {
    let (a, b) = (forward.error.powi(-2), reverse.error.powi(-2));
    ((a * forward.size - b * reverse.size) / (a + b), (a + b).powf(-0.5))
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
