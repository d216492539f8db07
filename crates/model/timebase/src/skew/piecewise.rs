//! Our own estimator: floors between events, in each direction by itself, and then both together.

use super::corners;
use super::correction::{Correction, Leg};
use super::ends;
use super::estimator::{ChangeKind, ClockChange, Estimate, Heading, Skew, coarse};
use super::floors::Floors;
use super::hidden;
use super::humps;
use super::near::{borne_out, mirrored, two_steps};
use super::posterior::{Line, Observation, Told, leverage, roughly, told};
use super::round_trip::{self, Settled, is_path};
use super::sizes;
use super::survey::{Survey, TooLittle, Transition};
use super::unrest::{self, Side, Unrest};
use super::wander::{self, Curve, Shown};
use super::{many, rounded};

/// A floor that moves for more than this share of the run is no floor.
const MOVING: f64 = 0.25;
/// Both directions' rates may differ by so many errors.
const DISAGREE: f64 = 6.0;
/// Changes in both directions belong together if they are no further apart than this share of the run.
pub(crate) const TOGETHER: f64 = 0.02;
/// So far apart may they lie if the packets in between say so.
const APART: f64 = 0.04;
/// A slew that both directions take for a jump lasts no longer than this share of the run: it has few floors.
const HIDDEN: f64 = 0.06;
/// Two changes cancel each other if what remains is no more than so many errors, or than this share of the greater.
const CANCEL: (f64, f64) = (6.0, 0.1);
/// What stamps do not tell makes a slope uncertain by this share of what it would if all of it lay against it: three times
/// what they tell apart, over the run. Where simulated clocks drift by less than that the error was below a half of it.
const TILT: f64 = 0.6;
/// The leverage of many heights at equal times, over their length.
const STRAIGHT: f64 = 3.0;
/// Changes of no more than so many times what they may be off may be bends of a rate that wanders; and what each of them must explain, as the
/// logarithm of a likelihood, to be more than that: it is the clearest of all moments, and has a size of its own.
const PLAIN: f64 = 3.0;
const SPARED: f64 = 12.0;
/// Ranks of neighbouring floors that are alike by so many times what chance makes them depend on each other.
const DEPENDENT: f64 = 3.0;
/// A longer transition is a slew, as a share of the run.
const GRADUAL: f64 = 0.008;
/// From this share of the run on a round trip sets apart what both directions show of one moment of the responder's; and steps of its clock
/// are no further apart than the second one once that is taken off.
const NOTICED: f64 = 0.004;
const AT_ONCE: f64 = 0.01;
/// So many floors on either side of a jump tell how far it went where the rate wanders.
const BESIDE_JUMP: f64 = 4.0;
/// Slews that hide in what packets wait, at most.
const HIDDEN_SLEWS: usize = 2;

/// Both directions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Piecewise {
    floors: [Floors; 2],
}

/// What one direction says of the rate, nanoseconds a second of the responder's clock.
struct Rate {
    mean: f64,
    variance: f64,
    draws: Vec<f64>,
    /// From what, and how the responder's clock enters its delays.
    observations: Vec<Observation>,
    line: Line,
    heading: Heading,
    sign: f64,
    /// The ranks of all floors' heights, by group.
    ranks: Vec<Vec<f64>>,
    /// By how much it may be off besides because of what stamps do not tell.
    tilt: f64,
    /// These tell no single nanoseconds.
    is_coarse: bool,
}

/// Something that happened, with both directions put together.
#[derive(Clone)]
pub(crate) struct Event {
    pub(crate) transition: Transition,
    /// When a jump was forward and in reverse, where those were found apart: moments are the sender's clock's, and the
    /// responder stamps a packet later than it left and earlier than it came back.
    pub(crate) apart: Option<[f64; 2]>,
    pub(crate) kind: ChangeKind,
    pub(crate) heading: Option<Heading>,
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

impl Piecewise {
    pub(crate) fn push(&mut self, heading: Heading, point: super::hull::Point) {
        self.floors[usize::from(heading == Heading::Reverse)].push(point);
    }

    pub(crate) fn absorb(&mut self, other: Self) {
        self.floors.iter_mut().zip(other.floors).for_each(|(own, theirs)| own.absorb(theirs));
    }

    /// What can be said now of delays that may be off by `grains`, nanoseconds, because of what stamps do not tell. `bases` is by how much the
    /// round trip is longer than the sum of a delay of either direction, nanoseconds.
    pub(crate) fn estimate(&self, origin_ns: i64, grains: [f64; 2], bases: f64) -> Estimate {
        let [there, back] = &self.floors;
        let mut surveys = humps::without([Survey::of(there, grains[0]), Survey::of(back, grains[1])]);
        let mut told = None;
        let (mut lag, mut both) = (0.0, 0.0);
        if let [Ok(forward), Ok(reverse)] = &surveys {
            let as_sent = told_by(forward, reverse);
            let late = round_trip::least(forward, reverse, bases) / 1e9;
            both = late;
            if !as_sent.events.is_empty() && late > NOTICED * forward.length {
                let earlier = reverse.earlier(late);
                let as_stamped = told_by(forward, &earlier);
                if plainer(&as_stamped, &as_sent, forward.length) {
                    (told, lag) = (Some(as_stamped), late);
                    surveys[1] = Ok(earlier);
                }
            }
            told = told.or(Some(as_sent));
        }
        if told.is_none() {
            for (survey, heading) in surveys.iter_mut().zip(Heading::BOTH) {
                let Ok(survey) = survey else { continue };
                make_gradual(survey);
                *survey = without_wandering(survey.clone(), heading);
            }
        }
        let some = usable(&surveys);
        if some.is_empty() {
            let why = surveys.iter().filter_map(|survey| survey.as_ref().err()).max();
            return Estimate::refused(&why.map_or_else(String::new, |why| why.words()));
        }
        let Settled { mut events, doubt_ns } =
            told.unwrap_or_else(|| Settled { events: events(&some), doubt_ns: 0.0 });
        if let Some(why) = restless(&some, &events) {
            return Estimate::refused(&why);
        }
        let mut curve = curve(&some, &events);
        if let [Ok(forward), Ok(reverse)] = &mut surveys {
            let left = curve.as_ref().map_or(&events, |(_, left)| left);
            if let Some(found) = with_hidden([forward, reverse], left) {
                events = found;
                curve = self::curve(&usable(&surveys), &events);
            }
        }
        let some = usable(&surveys);
        let mut estimate = match curve {
            Some((curve, events)) => wandering(&some, &curve, &events, origin_ns),
            None => steady(&some, &events, origin_ns),
        };
        let beside = doubt_ns + if lag > 0.0 { 0.0 } else { beside_slews(&estimate.events, both) };
        estimate.corrections.iter_mut().for_each(|one| one.floor_error_ns += beside);
        later(&mut estimate, rounded(lag * 1e9));
        estimate
    }
}

/// The directions that tell something.
fn usable(surveys: &[Result<Survey, TooLittle>; 2]) -> Vec<(&Survey, Heading)> {
    let each = surveys.iter().zip(Heading::BOTH);
    each.filter_map(|(survey, heading)| Some((survey.as_ref().ok()?, heading))).collect()
}

/// The clock if its rate wanders, and the events that are left.
fn curve(surveys: &[(&Survey, Heading)], events: &[Event]) -> Option<(Curve, Vec<Event>)> {
    calm(surveys, events)
        .or_else(|| Seen::of(surveys, events).curve().map(|(curve, _)| (curve, events.to_vec())))
}

/// The events with slews that hide in what packets wait, where there are such; of what either direction shows, `left` is what is told.
fn with_hidden(surveys: [&mut Survey; 2], left: &[Event]) -> Option<Vec<Event>> {
    let [forward, reverse] = surveys;
    let mut events = left.to_vec();
    for _ in 0..HIDDEN_SLEWS {
        let near = TOGETHER * forward.length;
        let is_told = |one: &Transition| {
            let of_it = |event: &Event| {
                event.transition.from <= one.to + near && event.transition.to >= one.from - near
            };
            events.iter().any(of_it)
        };
        let [mut there, mut back] = [&*forward, &*reverse].map(|survey| survey.without(is_told));
        let busy: Vec<(f64, f64)> =
            events.iter().map(|event| (event.transition.from, event.transition.to)).collect();
        let Some((slew, [faster, slower])) = hidden::slew(&there, &back, &busy) else { break };
        there.part(&slew, faster);
        back.part(&Transition { size: -slew.size, ..slew }, slower);
        (*forward, *reverse) = (there, back);
        let is_gradual = slew.to - slew.from > GRADUAL * forward.length;
        let kind = if is_gradual { ChangeKind::Slew } else { ChangeKind::ClockStep };
        events.push(Event { kind, ..step(slew) });
    }
    (events.len() > left.len()).then_some(events)
}

/// Takes jumps of a direction that is alone for slews where its floors rise or fall gradually.
fn make_gradual(survey: &mut Survey) {
    for jump in survey.parts.clone().into_iter().filter(|one| one.to <= one.from) {
        let mut joined = survey.without(|other| *other != jump);
        if let Some((slew, slope)) = hidden::as_slew(&joined, &jump, GRADUAL) {
            joined.part(&slew, slope);
            *survey = joined;
        }
    }
}

/// A direction that is alone without changes that a level of the way explains as well which wanders by itself and comes back: no other direction
/// tells what its bends are. The least certain are asked first.
fn without_wandering(mut survey: Survey, heading: Heading) -> Survey {
    loop {
        let mut doubtful: Vec<Transition> =
            survey.transitions.iter().filter(|one| one.size.abs() <= PLAIN * one.half()).copied().collect();
        doubtful.sort_by(|a, b| (a.size.abs() / a.half()).total_cmp(&(b.size.abs() / b.half())));
        let told = events(&[(&survey, heading)]);
        let within = |one: &Transition, whole: &Transition| one.from >= whole.from && one.to <= whole.to;
        let is_needless = |change: &&Transition| {
            let left: Vec<Event> =
                told.iter().filter(|event| !within(&event.transition, change)).cloned().collect();
            let [with, without] = [&told, &left].map(|events| Seen::of(&[(&survey, heading)], events));
            wander::as_a_level(&with.shown, with.slope())
                < wander::as_a_level(&without.shown, with.slope()) + SPARED
        };
        let Some(needless) = doubtful.iter().find(is_needless).copied() else { return survey };
        survey = survey.without(|one| !within(one, &needless));
    }
}

/// What both directions tell together.
fn told_by(forward: &Survey, reverse: &Survey) -> Settled {
    let events = events(&[(forward, Heading::Forward), (reverse, Heading::Reverse)]);
    round_trip::settle(forward, reverse, events)
}

/// Whether there is less to explain where both directions are laid on the moments of the responder's stamps, whose clock was set or slewed then:
/// fewer changes of the path, then fewer slews, then steps nearer to each other. (A step of the sender's clock is at one moment of its own in
/// both directions, and one of the responder's a round trip apart.)
fn plainer(as_stamped: &Settled, as_sent: &Settled, length: f64) -> bool {
    let apart = |one: &Event| one.apart.map_or(0.0, |[there, back]| (there - back).abs());
    let number = |told: &Settled, kind: ChangeKind| told.events.iter().filter(|one| one.kind == kind).count();
    let rank = |told: &Settled| (number(told, ChangeKind::PathChange), number(told, ChangeKind::Slew));
    let off = |told: &Settled| told.events.iter().map(apart).sum::<f64>();
    let (stamped, sent) = (rank(as_stamped), rank(as_sent));
    as_stamped.events.iter().all(|one| apart(one) <= AT_ONCE * length)
        && (stamped < sent || stamped == sent && off(as_stamped) < off(as_sent))
}

/// By how much delays in a slew are off because it is told at one moment for both directions, nanoseconds: the responder stamps a packet half of a
/// round trip, in seconds, later than it left, and as much earlier than it came back.
fn beside_slews(events: &[ClockChange], round_trip: f64) -> f64 {
    let rate = |event: &ClockChange| {
        let lasts = event.until_ns?.saturating_sub(event.at_ns) as f64 / 1e9;
        (event.kind == ChangeKind::Slew && lasts > 0.0).then(|| (event.size_ns as f64 / lasts).abs())
    };
    events.iter().filter_map(rate).fold(0.0, f64::max) * round_trip.max(0.0) / 2.0
}

/// Lays what was found of packets in reverse, as if they had come back as they left the sender, on the moments at which they came.
fn later(estimate: &mut Estimate, lag_ns: i64) {
    if lag_ns == 0 {
        return;
    }
    let correction = &mut estimate.corrections[1];
    correction.anchor_ns = correction.anchor_ns.saturating_add(lag_ns);
    correction.legs.iter_mut().for_each(|leg| leg.from_ns = leg.from_ns.saturating_add(lag_ns));
    for event in estimate.events.iter_mut().filter(|event| event.heading == Some(Heading::Reverse)) {
        event.at_ns = event.at_ns.saturating_add(lag_ns);
        event.until_ns = event.until_ns.map(|until| until.saturating_add(lag_ns));
    }
    estimate.events.sort_by_key(|event| event.at_ns);
}

/// Why there is no floor to go by.
fn restless(surveys: &[(&Survey, Heading)], events: &[Event]) -> Option<String> {
    let slewed: f64 = events
        .iter()
        .filter(|event| event.kind == ChangeKind::Slew)
        .map(|event| event.transition.to - event.transition.from)
        .sum();
    surveys.iter().find_map(|(survey, heading)| {
        let moving = survey.moving - if surveys.len() == 2 { slewed } else { 0.0 };
        (moving > MOVING * survey.length).then(|| {
            format!(
                "the least delay itself moves {} ({:.0} % of the time), so that a clock's rate cannot be told from it",
                heading.name(),
                100.0 * moving / survey.length
            )
        })
    })
}

/// A steady rate between the events.
fn steady(surveys: &[(&Survey, Heading)], events: &[Event], origin_ns: i64) -> Estimate {
    let rates: Vec<Rate> = surveys.iter().filter_map(|(survey, heading)| rate(survey, *heading)).collect();
    if let [a, b] = &rates[..] {
        let error = (a.variance + b.variance).sqrt();
        if (a.mean - b.mean).abs() > DISAGREE * error + a.tilt + b.tilt + 50.0 {
            return Estimate::refused(&format!(
                "the directions contradict each other: {:.3} ppm forward and {:.3} ppm in reverse, so that the least \
                 delay of one of them itself moves",
                a.mean / 1e3,
                b.mean / 1e3
            ));
        }
    }
    let Some(Combined { mean, draws, tilt, dependence, wander }) = combine(&rates) else {
        return Estimate::refused("there are too few packets between the events");
    };
    let sides: Vec<sizes::Side<'_>> = surveys
        .iter()
        .filter_map(|(survey, heading)| {
            let rate = rates.iter().find(|rate| rate.heading == *heading)?;
            Some(sizes::Side {
                survey,
                heading: *heading,
                line: &rate.line,
                observations: &rate.observations,
            })
        })
        .collect();
    let events = &sizes::told(&sides, &sizes::Rates { draws: &draws, dependence, tilt: wander }, events)[..];
    let (events, corner_error) = corners::placed(surveys, events, |x| mean * x);
    let events = &events[..];
    let floor_error = clock_error(events) + corner_error;
    let [low, high] = [0.025, 0.975].map(|share| quantile(&draws, share));
    let interval = [low - tilt, high + tilt];
    let middle = surveys.iter().map(|(survey, _)| center(survey)).sum::<f64>() / many(surveys.len());
    let half = (interval[1] - mean).max(mean - interval[0]);
    let line = |x: f64| mean * x;
    finish(&Found { mean, interval, events, origin_ns, middle, half, floor_error }, &[0.0], line)
}

/// How far delays after changes of the clock may be off against those before, because how far it went is not known better, nanoseconds.
fn clock_error(events: &[Event]) -> f64 {
    let clock = events.iter().filter(|event| event.kind != ChangeKind::PathChange);
    super::classic::NORMAL * clock.map(|event| event.transition.error).fold(0.0, f64::hypot)
}

/// What the directions show of a clock that may wander.
struct Seen {
    shown: Vec<Shown>,
    /// Of the responder's clock, by each of them.
    slopes: Vec<f64>,
    span: (f64, f64),
}

impl Seen {
    /// Without what happened.
    fn of(surveys: &[(&Survey, Heading)], events: &[Event]) -> Self {
        let shown = surveys.iter().map(|(survey, heading)| Shown {
            floors: survey.level(|x| events.iter().map(|event| event.longer(*heading, x)).sum()),
            sign: heading.sign(),
            coarse: coarse(survey.grain),
        });
        let slopes = surveys.iter().map(|(survey, heading)| heading.sign() * survey.slope);
        Self { shown: shown.collect(), slopes: slopes.collect(), span: span(surveys) }
    }

    fn slope(&self) -> f64 {
        self.slopes.iter().sum::<f64>() / many(self.slopes.len())
    }

    /// Each direction's curve by itself.
    fn each(&self) -> Option<Vec<Curve>> {
        let alone =
            |(one, slope): (&Shown, &f64)| wander::follow(core::slice::from_ref(one), *slope, self.span, &[]);
        self.shown.iter().zip(&self.slopes).map(alone).collect()
    }

    /// The responder's clock if its rate wanders: by what both directions see of it, and each by itself alike; and how much the floors of
    /// each vary. (Of one direction it can only be told by how it wanders: a level comes back, and is less smooth than a clock.)
    fn curve(&self) -> Option<(Curve, Vec<f64>)> {
        let each = self.each()?;
        let noises: Vec<f64> = each.iter().map(|one| one.noise).collect();
        let curve = match &each[..] {
            [one, other] if wander::of_one_clock(one, other) => {
                wander::follow(&self.shown, self.slope(), self.span, &noises)?
            }
            [one] if wander::is_a_clocks(&self.shown, self.slope(), self.span)? => one.clone(),
            _ => return None,
        };
        Some((curve, noises))
    }
}

/// A rate that wanders bends the floors, and a bend may be taken for a change. Where such a clock explains them as well without the changes
/// that are not many times what they may be off, there are none: the clock, and the events that are left.
fn calm(surveys: &[(&Survey, Heading)], events: &[Event]) -> Option<(Curve, Vec<Event>)> {
    let is_plain = |one: &Transition| one.size.abs() > PLAIN * one.half();
    let left: Vec<Event> = events.iter().filter(|event| is_plain(&event.transition)).cloned().collect();
    if left.len() == events.len() || surveys.len() < 2 {
        return None;
    }
    let (with, without) = (Seen::of(surveys, events), Seen::of(surveys, &left));
    let (curve, noises) = without.curve()?;
    let better =
        wander::explained_better([&without.shown, &with.shown], without.slope(), without.span, &noises)?;
    (better + SPARED * many(events.len() - left.len()) > 0.0).then_some((curve, left))
}

/// The first moment and the last that any direction shows.
fn span(surveys: &[(&Survey, Heading)]) -> (f64, f64) {
    let moments = || surveys.iter().flat_map(|(survey, _)| survey.fine.iter().map(|one| one.x));
    (moments().fold(f64::INFINITY, f64::min), moments().fold(f64::NEG_INFINITY, f64::max))
}

/// A rate that wanders.
fn wandering(surveys: &[(&Survey, Heading)], curve: &Curve, events: &[Event], origin_ns: i64) -> Estimate {
    let (mean, error) = curve.rate;
    let length = surveys.iter().map(|(survey, _)| survey.length).fold(1e-9, f64::max);
    // How far the clock went is known no better than how far its changes went: a jump to what the few floors beside it tell, and a slew to
    // what it may be off.
    let size = |event: &Event| match event.transition.to > event.transition.from {
        true => event.transition.half() / super::classic::NORMAL,
        false => (2.0 * curve.noise / BESIDE_JUMP).sqrt(),
    };
    let sizes = events.iter().map(|event| size(event) / length);
    let error = sizes.fold(error, f64::hypot);
    let grain = surveys.iter().map(|(survey, _)| survey.grain / survey.length.max(1e-9)).fold(0.0, f64::max);
    let half = super::classic::NORMAL * error + TILT * STRAIGHT * grain;
    let knots: Vec<f64> = curve.knots.iter().map(|knot| knot.0).collect();
    let zero = knots.iter().map(|x| curve.at(*x)).sum::<f64>() / many(knots.len().max(1));
    let (events, corner_error) = corners::placed(surveys, events, |x| curve.at(x));
    let found = Found {
        mean,
        interval: [mean - half, mean + half],
        events: &events,
        origin_ns,
        middle: center(surveys[0].0),
        half: 0.0,
        floor_error: super::classic::NORMAL * curve.variance_at_ends().sqrt() + corner_error,
    };
    finish(&found, &knots, |x| curve.at(x) - zero)
}

/// What is known before the correction is drawn.
struct Found<'a> {
    mean: f64,
    interval: [f64; 2],
    events: &'a [Event],
    origin_ns: i64,
    middle: f64,
    half: f64,
    floor_error: f64,
}

/// Puts an estimate together: `line` is by how much the responder's clock is ahead, without events.
fn finish(found: &Found<'_>, knots: &[f64], line: impl Fn(f64) -> f64) -> Estimate {
    let correction = |heading: Heading| Correction {
        origin_ns: found.origin_ns,
        legs: legs(found.events, heading, knots, &line),
        rate_error: found.half / 1e9,
        floor_error_ns: found.floor_error,
        anchor_ns: rounded(found.middle * 1e9),
    };
    let moment = |x: f64| found.origin_ns.saturating_add(rounded(x * 1e9));
    let mut events: Vec<ClockChange> = found
        .events
        .iter()
        .filter(|event| !is_none(event))
        .map(|event| ClockChange {
            at_ns: moment(event.transition.from),
            until_ns: (event.transition.to > event.transition.from).then(|| moment(event.transition.to)),
            kind: event.kind,
            heading: event.heading,
            size_ns: rounded(event.transition.size),
            error_ns: event.transition.half(),
        })
        .collect();
    events.sort_by_key(|event| event.at_ns);
    Estimate {
        skew: Some(Skew { ppm: found.mean / 1e3, interval_ppm: found.interval.map(|end| end / 1e3) }),
        why_not: None,
        events,
        corrections: Heading::BOTH.map(correction),
        coarse_ns: 0.0,
    }
}

/// Whether what is told of a path is as well nothing, by what its size may be off.
fn is_none(event: &Event) -> bool {
    is_path(event) && event.transition.size.abs() <= event.transition.half()
}

/// What is taken off the delays of a direction: the line with the clocks' changes, as that direction sees them.
fn legs(events: &[Event], heading: Heading, knots: &[f64], line: &impl Fn(f64) -> f64) -> Vec<Leg> {
    let clock: Vec<Transition> = events
        .iter()
        .filter(|event| event.kind != ChangeKind::PathChange)
        .map(|event| event.seen(heading))
        .collect();
    let mut breaks = knots.to_vec();
    breaks.extend(clock.iter().flat_map(|one| [one.from, one.to]));
    breaks.sort_by(f64::total_cmp);
    breaks.dedup();
    let after = |x: f64| line(x) + clock.iter().map(|one| one.gone(x)).sum::<f64>();
    let jump_at = |x: f64| {
        clock
            .iter()
            .filter(|one| one.to <= one.from && one.to >= x && one.to <= x)
            .map(|one| one.size)
            .sum::<f64>()
    };
    let start = after(breaks.first().copied().unwrap_or(0.0));
    let leg = |(index, x): (usize, &f64)| {
        let to = breaks.get(index + 1).copied().unwrap_or(x + 1.0);
        let rise = after(to) - jump_at(to) - after(*x);
        Leg {
            from_ns: rounded(x * 1e9),
            value_ns: heading.sign() * (after(*x) - start),
            slope: heading.sign() * rise / (to - x) / 1e9,
        }
    };
    breaks.iter().enumerate().map(leg).collect()
}

fn center(survey: &Survey) -> f64 {
    survey.floors.iter().map(|floor| floor.x).sum::<f64>() / many(survey.floors.len().max(1))
}

fn rate(survey: &Survey, heading: Heading) -> Option<Rate> {
    let observations = survey.observations();
    let tilt = TILT * leverage(&observations) * survey.grain;
    let line = Line::of(&observations, survey.slope)?;
    let sign = heading.sign();
    let Told { mean, variance, draws } = roughly(&line, sign)?;
    let is_coarse = coarse(survey.grain) > 0.0;
    let variance = variance + if is_coarse { (0.5 * tilt).powi(2) } else { 0.0 };
    let groups = survey.groups.iter().map(|group| &survey.floors[group.clone()]);
    let ranks = groups.map(|group| ranked(group.iter().map(|floor| floor.above(sign * mean)))).collect();
    Some(Rate { mean, variance, draws, observations, line, heading, sign, ranks, tilt, is_coarse })
}

/// What both directions leave open of the rate.
struct Combined {
    mean: f64,
    /// In order.
    draws: Vec<f64>,
    /// By how much the whole may be off because of what stamps do not tell.
    tilt: f64,
    /// By how many times a variance is greater because neighbouring floors are alike.
    dependence: f64,
    /// The variance of what floors that wander add.
    wander: f64,
}

/// Both directions by what each leaves open of the rate, with what floors that wander leave open besides.
fn combine(rates: &[Rate]) -> Option<Combined> {
    let total: f64 = rates.iter().map(|rate| 1.0 / rate.variance.max(1e-12)).sum();
    let Told { mean, mut draws, .. } = match rates {
        [a, b] if a.is_coarse || b.is_coarse => added(rates, total)?,
        _ => told(&rates.iter().map(|rate| (&rate.line, rate.sign)).collect::<Vec<_>>())?,
    };
    let dependence = dependence(rates, mean);
    // Neither does another direction tell of one that is alone how far its floors move together: the least of so many fewer lies as much higher.
    let dependence = if rates.len() == 1 { dependence * dependence } else { dependence };
    let wider = dependence.sqrt();
    draws.iter_mut().for_each(|draw| *draw = mean + wider * (*draw - mean));
    let unrest = unrest(rates, mean, total);
    let wander = unrest.as_ref().map_or(0.0, Unrest::variance);
    if let Some(unrest) = unrest {
        unrest.add(&mut draws);
    }
    draws.sort_by(f64::total_cmp);
    let tilt = rates.iter().map(|rate| rate.tilt / rate.variance.max(1e-12)).sum::<f64>() / total;
    Some(Combined { mean, draws, tilt, dependence, wander })
}

/// Each direction by how sure it is; the draws of both added up in an order that has nothing to do with theirs. `total` is the sum of the
/// inverse variances. So what stamps do not tell counts as well, of which no floor knows.
fn added(rates: &[Rate], total: f64) -> Option<Told> {
    let mean = rates.iter().map(|rate| rate.mean / rate.variance.max(1e-12)).sum::<f64>() / total;
    let length = rates.iter().map(|rate| rate.draws.len()).min()?;
    let stride = [1, 1_009];
    let draws: Vec<f64> = (0..length)
        .map(|index| {
            let part = |(rate, stride): (&Rate, usize)| {
                let draw = rate.draws[(index * stride + stride / 2) % length];
                draw / rate.variance.max(1e-12) / total
            };
            rates.iter().zip(stride).map(part).sum()
        })
        .collect();
    Some(Told { mean, variance: 1.0 / total, draws })
}

/// By how many times the variance of a rate is greater because neighbouring floors are high or low together: where the ranks of all floors
/// show that plainly, one and twice the sum of the correlations of those that the rate is told by, of both directions together.
fn dependence(rates: &[Rate], slope: f64) -> f64 {
    let all: Vec<&[f64]> = rates.iter().flat_map(|rate| rate.ranks.iter().map(Vec::as_slice)).collect();
    if alike(&all, 1) < DEPENDENT / many(all.iter().map(|group| group.len()).sum()).max(1.0).sqrt() {
        return 1.0;
    }
    let told: Vec<Vec<f64>> = rates
        .iter()
        .flat_map(|rate| {
            let groups = rate.observations.chunk_by(|a, b| a.group == b.group);
            groups.map(|group| {
                let height = |one: &Observation| one.y - rate.sign * slope * one.x;
                let lowest = group.iter().map(height).fold(f64::INFINITY, f64::min);
                ranked(group.iter().map(|one| (height(one) - lowest) / one.scale))
            })
        })
        .collect();
    let told: Vec<&[f64]> = told.iter().map(Vec::as_slice).collect();
    let longest = told.iter().map(|group| group.len()).max().unwrap_or(0);
    let positive = (1..longest / 4).map(|lag| alike(&told, lag)).take_while(|alike| *alike > 0.0);
    1.0 + 2.0 * positive.sum::<f64>()
}

/// The correlation of ranks at a distance within groups.
fn alike(groups: &[&[f64]], lag: usize) -> f64 {
    let squares: f64 = groups.iter().flat_map(|group| group.iter()).map(|rank| rank * rank).sum();
    let products = groups.iter().flat_map(|group| group.iter().zip(group.iter().skip(lag)));
    products.map(|(a, b)| a * b).sum::<f64>() / squares.max(1e-9)
}

/// The ranks of values, from -1 to 1.
fn ranked(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = values.collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    for (rank, place) in order.into_iter().enumerate() {
        ranks[place] = (2.0 * many(rank) + 1.0) / many(values.len()) - 1.0;
    }
    ranks
}

/// What the floors leave open of the rate because they wander; `total` is the sum of the inverse variances.
fn unrest(rates: &[Rate], slope: f64, total: f64) -> Option<Unrest> {
    let weight = |rate: &Rate| 1.0 / rate.variance.max(1e-12) / total;
    let sides: Vec<Side<'_>> = rates
        .iter()
        .map(|rate| Side { observations: &rate.observations, sign: rate.sign, weight: weight(rate) })
        .collect();
    let apart = match rates {
        [a, b] => Some((a.mean - b.mean).powi(2) / (a.variance + b.variance).max(1e-12)),
        _ => None,
    };
    Unrest::of(&sides, unrest::Told { slope, variance: 1.0 / total, apart })
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = usize::try_from(rounded(share * many(sorted.len()))).unwrap_or(0);
    sorted[place.min(sorted.len() - 1)]
}

/// Puts the transitions of both directions together: what is opposite and equal in both is a clock's, the rest are the
/// path's. Of one direction alone a jump is taken for the path's, since routes change more often than clocks are set,
/// and a gradual change for a slew.
fn events(surveys: &[(&Survey, Heading)]) -> Vec<Event> {
    let length = surveys.iter().map(|(survey, _)| survey.length).fold(0.0, f64::max);
    let gradual = |one: &Transition| one.to - one.from > GRADUAL * length;
    let mut found = Vec::new();
    let Some((first, heading)) = surveys.first() else { return found };
    let mut others: Vec<Transition> = surveys.get(1).map_or(Vec::new(), |(survey, _)| survey.parts.clone());
    let mut ones = Vec::new();
    for one in &first.parts {
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
        let kind =
            if surveys.len() == 1 && gradual(&one) { ChangeKind::Slew } else { ChangeKind::PathChange };
        let transition = signed(&one, kind, first_sign(surveys));
        let heading = (kind == ChangeKind::PathChange).then_some(*heading);
        Event { transition, apart: None, kind, heading }
    }));
    found.extend(others.into_iter().map(|transition| Event {
        transition,
        apart: None,
        kind: ChangeKind::PathChange,
        heading: Some(Heading::Reverse),
    }));
    if let [(forward, _), (reverse, _)] = surveys {
        let known: Vec<(f64, f64)> =
            found.iter().map(|one| (one.transition.from, one.transition.to)).collect();
        let at_ends = ends::steps(forward, reverse, &known).into_iter();
        found.extend(at_ends.map(|end| Event { apart: Some(end.apart), ..step(end.transition) }));
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
            Event {
                transition: Transition { from, to, size: sign * one.size, ..one },
                apart: None,
                kind: if gradual { ChangeKind::Slew } else { ChangeKind::ClockStep },
                heading: None,
            }
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
    Event { transition, apart: None, kind: ChangeKind::ClockStep, heading: None }
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

fn both(forward: &Transition, reverse: &Transition, gradual: bool, hidden: Option<(f64, f64)>) -> Event {
    let (a, b) = (forward.error.powi(-2), reverse.error.powi(-2));
    let size = (a * forward.size - b * reverse.size) / (a + b);
    let error = (a + b).powf(-0.5);
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
    Event { transition: Transition { from, to, size, error, doubt }, apart, kind, heading: None }
}
