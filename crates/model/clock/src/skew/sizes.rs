//! How far a clock or a path went at a change, by what the floors on either side leave open of their levels.
//!
//! A survey finds changes by what floors lie above their lines usually, which is far more than what their levels are known to. Once the rate of the
//! clocks is known, so is each level: as far as what the rate leaves open, what the floors leave open besides ([`posterior`](super::posterior)),
//! and what floors that depend on each other or that wander add to both.

use super::arithmetic::many;
use super::estimate::{ChangeKind, coarse};
use super::event::Event;
use super::posterior::{Line, Observation};
use super::survey::Survey;
use romer_units::Direction;

/// Rates that stand for all that is left open of it.
const RATES: usize = 11;
/// What clocks tell apart, nanoseconds.
const TICK: f64 = 10.0;
/// The quantile of the error is so many times its deviation, in units of that of a normal one: the levels' are exponential ones.
const TAILS: f64 = 1.1;
/// A direction shows a change that is told within this share of the run, and with a size that differs by so many times what that may be off.
const NEAR: f64 = 0.02;
const ALIKE: f64 = 1.5;

/// What a direction shows.
pub(crate) struct SurveyedDirection<'a> {
    pub(crate) survey: &'a Survey,
    pub(crate) heading: Direction,
    pub(crate) line: &'a Line,
    pub(crate) observations: &'a [Observation],
}

/// What is left open of the rate.
pub(crate) struct Rates<'a> {
    /// Slopes of equal probability, in order.
    pub(crate) draws: &'a [f64],
    /// By how many times the variance of a level is greater because neighbouring floors are alike.
    pub(crate) dependence: f64,
    /// By what a level that wanders tilts the slope, as a variance.
    pub(crate) tilt: f64,
}

/// A direction's rise at an event, between two of its groups: for each rate its mean and variance.
struct Rises<'a> {
    side: &'a SurveyedDirection<'a>,
    pair: [usize; 2],
    each: &'a [(f64, f64)],
}

/// The events with what is known of their sizes, where floors on both sides of them tell it.
pub(crate) fn told(sides: &[SurveyedDirection<'_>], rates: &Rates<'_>, events: &[Event]) -> Vec<Event> {
    let mut events = events.to_vec();
    let shown: Vec<Vec<Option<[usize; 2]>>> = sides.iter().map(|side| side.pairs(&events)).collect();
    let rises: Vec<Vec<Vec<(f64, f64)>>> =
        sides.iter().zip(&shown).map(|(side, pairs)| side.rises(rates, pairs)).collect();
    for (place, event) in events.iter_mut().enumerate() {
        let of_it: Vec<Rises<'_>> = sides
            .iter()
            .zip(&shown)
            .zip(&rises)
            .filter_map(|((side, pairs), rises)| {
                Some(Rises { side, pair: pairs[place]?, each: &rises[place] })
            })
            .collect();
        if let Some((size, variance)) = size(&of_it, rates, event) {
            event.transition.size = size;
            event.transition.error = TAILS * variance.sqrt().hypot(TICK);
            event.transition.doubt = 0.0;
        }
    }
    events
}

/// The mean and the variance of the size of an event.
fn size(sides: &[Rises<'_>], rates: &Rates<'_>, event: &Event) -> Option<(f64, f64)> {
    if sides.is_empty() {
        return None;
    }
    let (mut sum, mut squares, mut own) = (0.0, 0.0, 0.0);
    let number = many(RATES);
    let mut apart: f64 = 0.0;
    for rate in 0..RATES {
        let each: Vec<(f64, f64)> = sides
            .iter()
            .map(|Rises { side, pair, each }| {
                let (rise, variance) = each[rate];
                let sign = if event.kind == ChangeKind::PathChange { 1.0 } else { side.heading.sign() };
                (sign * rise, variance * rates.dependence + side.wander(*pair, rates) + 1.0)
            })
            .collect();
        let known: f64 = each.iter().map(|one| one.1.recip()).sum();
        let mean = each.iter().map(|one| one.0 / one.1).sum::<f64>() / known;
        if let [one, other] = &each[..] {
            apart += (one.0 - other.0).powi(2) / (one.1 + other.1) / number;
        }
        (sum, squares, own) =
            (sum + mean / number, squares + mean * mean / number, own + known.recip() / number);
    }
    // What directions differ by more than they may is not known of either.
    Some((sum, (squares - sum * sum).max(0.0) + own * (apart / 4.0).max(1.0)))
}

impl SurveyedDirection<'_> {
    /// For each event the groups before and after it, where this direction shows it and nothing else between them.
    fn pairs(&self, events: &[Event]) -> Vec<Option<[usize; 2]>> {
        let survey = self.survey;
        let mut found = vec![None; events.len()];
        if coarse(survey.grain) > 0.0 || survey.groups.len() != survey.transitions.len() + 1 {
            return found;
        }
        let number = |group: &core::ops::Range<usize>| {
            let (first, last) =
                (survey.floors.get(group.start)?.x, survey.floors.get(group.end.checked_sub(1)?)?.x);
            self.observations.iter().find(|one| one.x >= first && one.x <= last).map(|one| one.group)
        };
        let span = |place: usize| {
            let begin = place
                .checked_sub(1)
                .and_then(|place| survey.transitions.get(place))
                .or(survey.tails[0].as_ref().filter(|_| place == 0))
                .map_or(f64::NEG_INFINITY, |one| one.to);
            let next = survey.transitions.get(place + 1).or(survey.tails[1].as_ref());
            let end = next.map_or(f64::INFINITY, |one| one.from);
            (begin, end)
        };
        let near = NEAR * survey.length;
        for (place, one) in survey.transitions.iter().enumerate() {
            let (begin, end) = span(place);
            let within = |event: &&(usize, &Event)| {
                let seen = event.1.seen(self.heading);
                self.sees(event.1) && seen.to > begin + near && seen.from < end - near
            };
            let numbered: Vec<(usize, &Event)> = events.iter().enumerate().collect();
            let of_it: Vec<&(usize, &Event)> = numbered.iter().filter(within).collect();
            let [(event, told)] = of_it[..] else { continue };
            let seen = told.seen(self.heading);
            let sign = if told.kind == ChangeKind::PathChange { 1.0 } else { self.heading.sign() };
            let is_it = seen.from <= one.to + near
                && seen.to >= one.from - near
                && (sign * seen.size - one.size).abs() <= ALIKE * (seen.half() + one.half());
            let pair = number(&survey.groups[place]).zip(number(&survey.groups[place + 1]));
            found[*event] = pair.filter(|pair| is_it && pair.0 != pair.1).map(|pair| [pair.0, pair.1]);
        }
        found
    }

    fn sees(&self, event: &Event) -> bool {
        event.kind != ChangeKind::PathChange || event.heading == Some(self.heading)
    }

    /// How much higher this direction's floors are after each event that it shows, for each rate.
    fn rises(&self, rates: &Rates<'_>, pairs: &[Option<[usize; 2]>]) -> Vec<Vec<(f64, f64)>> {
        let mut found = vec![Vec::new(); pairs.len()];
        let shown: Vec<[usize; 2]> = pairs.iter().flatten().copied().collect();
        if shown.is_empty() {
            return found;
        }
        for rate in 0..RATES {
            let place = (2 * rate + 1) * rates.draws.len() / (2 * RATES);
            let slope = self.heading.sign() * rates.draws[place.min(rates.draws.len() - 1)];
            let mut rises = self.line.rises(slope, &shown).into_iter();
            for (found, _) in found.iter_mut().zip(pairs).filter(|one| one.1.is_some()) {
                found.extend(rises.next());
            }
        }
        found
    }

    /// The variance of what a level that wanders adds to the difference of the levels of two groups.
    fn wander(&self, pair: [usize; 2], rates: &Rates<'_>) -> f64 {
        let length = self.survey.length;
        let lasts = |number: usize| {
            let of_it = || self.observations.iter().filter(|one| one.group == number).map(|one| one.x);
            let (first, last) =
                (of_it().fold(f64::INFINITY, f64::min), of_it().fold(f64::NEG_INFINITY, f64::max));
            (last - first).max(0.02 * length)
        };
        let mean = rates.tilt * length * length / 12.0;
        mean * pair.into_iter().map(|number| length / lasts(number)).sum::<f64>()
    }
}
