//! Our own estimator: floors between events, in each direction by itself, and then both together.

use super::arithmetic::{many, rounded};
use super::brink;
use super::close;
use super::corners;
use super::correction::{Correction, Leg};
use super::estimate::{ChangeKind, ClockChange, Estimate, Skew, coarse};
use super::event::{Event, GRADUAL, TOGETHER, step};
use super::floors::Floors;
use super::hidden;
use super::humps;
use super::joining::events;
use super::one_floor::{self, Moving};
use super::rates::{Combined, Rate, TILT, combine, rate};
use super::round_trip::{self, Settled, is_path};
use super::sizes;
use super::survey::{SLEWED, Survey, TooLittle};
use super::tails;
use super::transition::Transition;
use super::wander::{self, Curve, Shown};
use romer_record::warning::SkewUnknown;
use romer_units::Direction;

/// Both directions' rates may differ by so many errors.
const DISAGREE: f64 = 6.0;
/// The leverage of many heights at equal times, over their length.
const STRAIGHT: f64 = 3.0;
/// Changes of no more than so many times what they may be off may be bends of a rate that wanders; and what each of them must explain, as the
/// logarithm of a likelihood, to be more than that: it is the clearest of all moments, and has a size of its own.
const PLAIN: f64 = 3.0;
const SPARED: f64 = 12.0;
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

impl Piecewise {
    pub(crate) fn push(&mut self, heading: Direction, point: super::hull::Point) {
        self.floors[usize::from(heading == Direction::Reverse)].push(point);
    }

    pub(crate) fn absorb(&mut self, other: Self) {
        self.floors.iter_mut().zip(other.floors).for_each(|(own, theirs)| own.absorb(theirs));
    }

    /// What can be said now of delays that may be off by `grains`, nanoseconds, because of what stamps do not tell. `bases` is by how much the
    /// round trip is longer than the sum of a delay of either direction, nanoseconds.
    pub(crate) fn estimate(&self, origin_ns: i64, grains: [f64; 2], bases: f64) -> Estimate {
        let [there, back] = &self.floors;
        let surveys = humps::without(surveyed([there, back], grains));
        let open = match &surveys {
            [Ok(forward), Ok(reverse)] => brink::open([forward, reverse]),
            _ => Vec::new(),
        };
        let mut estimate = Self::by_surveys(surveys, origin_ns, bases);
        brink::leave_open(&mut estimate, origin_ns, &open);
        estimate
    }

    /// What the directions tell.
    fn by_surveys(mut surveys: [Result<Survey, TooLittle>; 2], origin_ns: i64, bases: f64) -> Estimate {
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
            for (survey, heading) in surveys.iter_mut().zip(Direction::BOTH) {
                let Ok(survey) = survey else { continue };
                *survey = without_wandering(made_gradual(survey.clone()), heading);
            }
        }
        let some = usable(&surveys);
        if some.is_empty() {
            let why = surveys.iter().filter_map(|survey| survey.as_ref().err()).max();
            return Estimate::refused(why.map_or(SkewUnknown::NoTimeStamps, |why| why.unknown()));
        }
        let Settled { mut events, mut doubt_ns } =
            told.unwrap_or_else(|| Settled { events: events(&some), doubt_ns: tails::open(&some) });
        let opened = tails::opened(tails::open(&some));
        match (&one_floor::restless(&some, &events)[..], &some[..]) {
            ([], _) => {}
            ([moving], [one, other]) => {
                let (full, calm) = if one.1 == moving.heading { (one, other) } else { (other, one) };
                return by_the_other(*calm, full.0, bases, moving, origin_ns);
            }
            ([moving, ..], _) => return Estimate::refused(moving.unknown()),
        }
        let mut doubted = None;
        if let [(forward, _), (reverse, _)] = some[..] {
            let doubt = one_floor::look_again([forward, reverse], &mut events, both, (bases, lag));
            one_floor::date([forward, reverse], &mut events);
            doubt_ns = doubt_ns.max(doubt);
            doubted = one_floor::doubted(doubt);
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
        let later = (-lag, both.max(0.0) - lag);
        let mut estimate = match curve {
            Some((curve, events)) => wandering(&some, &curve, &events, origin_ns, later),
            None => steady(&some, &events, origin_ns, later),
        };
        let beside = doubt_ns + if lag > 0.0 { 0.0 } else { beside_slews(&estimate.events, both) };
        estimate.corrections.iter_mut().for_each(|one| one.floor_error_ns += beside);
        put_later(&mut estimate, rounded(lag * 1e9));
        if estimate.remarks.is_empty() {
            estimate.remarks.extend(doubted.or(opened));
        }
        estimate
    }
}

/// Both directions; where each takes another of two rates for the usual one, by the same.
fn surveyed([there, back]: [&Floors; 2], grains: [f64; 2]) -> [Result<Survey, TooLittle>; 2] {
    let both = [Survey::new(there, grains[0]), Survey::new(back, grains[1])];
    let [Ok(forward), Ok(reverse)] = &both else { return both };
    let differ = |one: &Survey, other: &Survey| (one.slope + other.slope).abs() > SLEWED.0;
    if !differ(forward, reverse) {
        return both;
    }
    let shown = |forward: &Survey, reverse: &Survey| {
        let both = [(forward, Direction::Forward), (reverse, Direction::Reverse)];
        !differ(forward, reverse) && !tails::events(&both).is_empty()
    };
    if let Ok(again) = Survey::at_rate(back, grains[1], Some(-forward.slope))
        && shown(forward, &again)
    {
        return [both.into_iter().next().unwrap_or(Err(TooLittle::Nothing)), Ok(again)];
    }
    match Survey::at_rate(there, grains[0], Some(-reverse.slope)) {
        Ok(again) if shown(&again, reverse) => {
            [Ok(again), both.into_iter().next_back().unwrap_or(Err(TooLittle::Nothing))]
        }
        _ => both,
    }
}

/// The directions that tell something.
fn usable(surveys: &[Result<Survey, TooLittle>; 2]) -> Vec<(&Survey, Direction)> {
    let each = surveys.iter().zip(Direction::BOTH);
    each.filter_map(|(survey, heading)| Some((survey.as_ref().ok()?, heading))).collect()
}

/// The clock if its rate wanders, and the events that are left.
fn curve(surveys: &[(&Survey, Direction)], events: &[Event]) -> Option<(Curve, Vec<Event>)> {
    calm(surveys, events)
        .or_else(|| Seen::new(surveys, events).curve().map(|(curve, _)| (curve, events.to_vec())))
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

/// A direction that is alone with jumps taken for slews where its floors rise or fall gradually.
fn made_gradual(mut survey: Survey) -> Survey {
    for jump in survey.parts.clone().into_iter().filter(|one| one.to <= one.from) {
        let mut joined = survey.without(|other| *other != jump);
        if let Some((slew, slope)) = hidden::as_slew(&joined, &jump, GRADUAL) {
            joined.part(&slew, slope);
            survey = joined;
        }
    }
    survey
}

/// A direction that is alone without changes that a level of the way explains as well which wanders by itself and comes back: no other direction
/// tells what its bends are. The least certain are asked first.
fn without_wandering(mut survey: Survey, heading: Direction) -> Survey {
    loop {
        let mut doubtful: Vec<Transition> =
            survey.transitions.iter().filter(|one| one.size.abs() <= PLAIN * one.half()).copied().collect();
        doubtful.sort_by(|a, b| (a.size.abs() / a.half()).total_cmp(&(b.size.abs() / b.half())));
        let told = events(&[(&survey, heading)]);
        let within = |one: &Transition, whole: &Transition| one.from >= whole.from && one.to <= whole.to;
        let is_needless = |change: &&Transition| {
            let left: Vec<Event> =
                told.iter().filter(|event| !within(&event.transition, change)).cloned().collect();
            let [with, without] = [&told, &left].map(|events| Seen::new(&[(&survey, heading)], events));
            wander::as_a_level(&with.shown, with.slope())
                < wander::as_a_level(&without.shown, with.slope()) + SPARED
        };
        let Some(needless) = doubtful.iter().find(is_needless).copied() else { return survey };
        survey = survey.without(|one| !within(one, &needless));
    }
}

/// What both directions tell together.
fn told_by(forward: &Survey, reverse: &Survey) -> Settled {
    let events = events(&[(forward, Direction::Forward), (reverse, Direction::Reverse)]);
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
/// round trip, in seconds, later than it left, and as much earlier than it came back; and the packets of one may have placed it for both.
fn beside_slews(events: &[ClockChange], round_trip: f64) -> f64 {
    let rate = |event: &ClockChange| {
        let lasts = event.until_ns?.saturating_sub(event.at_ns) as f64 / 1e9;
        (event.kind == ChangeKind::Slew && lasts > 0.0).then(|| (event.size_ns as f64 / lasts).abs())
    };
    events.iter().filter_map(rate).fold(0.0, f64::max) * round_trip.max(0.0)
}

/// Lays what was found of packets in reverse, as if they had come back as they left the sender, on the moments at which they came.
fn put_later(estimate: &mut Estimate, lag_ns: i64) {
    if lag_ns == 0 {
        return;
    }
    let correction = &mut estimate.corrections[1];
    correction.anchor_ns = correction.anchor_ns.saturating_add(lag_ns);
    correction.legs.iter_mut().for_each(|leg| leg.from_ns = leg.from_ns.saturating_add(lag_ns));
    for event in estimate.events.iter_mut().filter(|event| event.heading == Some(Direction::Reverse)) {
        event.at_ns = event.at_ns.saturating_add(lag_ns);
        event.until_ns = event.until_ns.map(|until| until.saturating_add(lag_ns));
    }
    estimate.events.sort_by_key(|event| event.at_ns);
}

/// The clocks by the one direction that has a floor.
fn by_the_other(
    calm: (&Survey, Direction),
    full: &Survey,
    bases: f64,
    moving: &Moving,
    origin_ns: i64,
) -> Estimate {
    let heading = calm.1;
    let calm = without_wandering(made_gradual(calm.0.clone()), heading);
    let calm = (&calm, heading);
    let (events, doubt) = one_floor::told_by(calm, full, bases);
    let mut estimate = match curve(&[calm], &events) {
        Some((curve, events)) => wandering(&[calm], &curve, &events, origin_ns, (0.0, 0.0)),
        None => steady(&[calm], &events, origin_ns, (0.0, 0.0)),
    };
    // Whose a slew was nobody has asked: it may show in the queue's direction as much as a round trip sooner or later.
    let [there, back] = if heading == Direction::Forward { [calm.0, full] } else { [full, calm.0] };
    let beside = beside_slews(&estimate.events, round_trip::least(there, back, bases) / 1e9);
    estimate.corrections.iter_mut().for_each(|one| one.floor_error_ns += doubt + beside);
    estimate.remarks = [moving.remark()].into_iter().chain(one_floor::doubted(doubt)).collect();
    estimate.full = Some(moving.heading);
    estimate
}

/// A steady rate between the events; a change of a clock shows in reverse `later` than forward, seconds, at the least and at the most.
fn steady(surveys: &[(&Survey, Direction)], events: &[Event], origin_ns: i64, later: (f64, f64)) -> Estimate {
    let rates: Vec<Rate> = surveys.iter().filter_map(|(survey, heading)| rate(survey, *heading)).collect();
    let apart = match &rates[..] {
        [a, b] => match contradiction(a, b) {
            Ok(apart) => apart,
            Err(why) => return Estimate::refused(why),
        },
        _ => None,
    };
    let Some(Combined { mean, draws, tilt, dependence, wander }) = combine(&rates) else {
        return Estimate::refused(SkewUnknown::FewBetweenEvents);
    };
    let sides: Vec<sizes::SurveyedDirection<'_>> = surveys
        .iter()
        .filter_map(|(survey, heading)| {
            let rate = rates.iter().find(|rate| rate.heading == *heading)?;
            Some(sizes::SurveyedDirection {
                survey,
                heading: *heading,
                line: &rate.line,
                observations: &rate.observations,
            })
        })
        .collect();
    let events = sizes::told(&sides, &sizes::Rates { draws: &draws, dependence, tilt: wander }, events);
    let (events, left) = certain(events);
    let (events, between) = close::taken_apart(surveys, events, later);
    let events = corners::drawn_out(surveys, events, |x| mean * x);
    let (events, corner_error) = corners::placed(surveys, &events, |x| mean * x);
    let mut events = events.to_vec();
    let length = surveys.iter().map(|(survey, _)| survey.length).fold(0.0, f64::max);
    // What the directions contradict each other by over the run is a clock's or a path's.
    let contradicted = apart.map_or(0.0, |[low, high]| (high - low) * length);
    if apart.is_some() {
        events.iter_mut().filter(|event| is_path(event)).for_each(Event::leave_open);
    }
    let events = &events[..];
    let floor_error = clock_error(events) + corner_error + left + between + contradicted;
    let [low, high] = [0.025, 0.975].map(|share| quantile(&draws, share));
    let [least, most] = apart.unwrap_or([low, high]);
    let interval = [low.min(least) - tilt, high.max(most) + tilt];
    let middle = surveys.iter().map(|(survey, _)| center(survey)).sum::<f64>() / many(surveys.len());
    let half = (interval[1] - mean).max(mean - interval[0]);
    let line = |x: f64| mean * x;
    let found = Found { mean, interval, events, origin_ns, middle, half, floor_error };
    let mut estimate = finish(&found, &[0.0], line);
    estimate.remarks.extend(one_floor::doubted(contradicted));
    estimate
}

/// The lower and the higher rate of two directions that differ by more than their errors, nanoseconds a second. Where the rates have more in common
/// than they differ by, that much is the clocks', and taking it out makes delays better: otherwise there is no rate.
fn contradiction(a: &Rate, b: &Rate) -> Result<Option<[f64; 2]>, SkewUnknown> {
    let error = (a.variance + b.variance).sqrt();
    let differ = (a.mean - b.mean).abs();
    if differ <= DISAGREE * error + a.tilt + b.tilt + 50.0 {
        return Ok(None);
    }
    if a.mean * b.mean > 0.0 && differ < a.mean.abs().min(b.mean.abs()) {
        return Ok(Some([a.mean.min(b.mean), a.mean.max(b.mean)]));
    }
    Err(SkewUnknown::DirectionsDiffer { forward_ppm: a.mean / 1e3, reverse_ppm: b.mean / 1e3 })
}

/// The events that are not as well none, by what their sizes may be off; and by how much delays are off at the most because one of a clock is left
/// out so, nanoseconds.
fn certain(events: Vec<Event>) -> (Vec<Event>, f64) {
    let (left, events): (Vec<Event>, _) =
        events.into_iter().partition(|event| event.transition.size.abs() <= event.transition.half());
    let clock = left.iter().filter(|event| !is_path(event));
    (events, clock.map(|event| event.transition.size.abs() + event.transition.half()).sum())
}

/// How far delays after changes of the clock may be off against those before, because how far it went is not known better, nanoseconds.
fn clock_error(events: &[Event]) -> f64 {
    let clock = events.iter().filter(|event| event.kind != ChangeKind::PathChange);
    clock.map(|event| event.transition.half()).fold(0.0, f64::hypot)
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
    fn new(surveys: &[(&Survey, Direction)], events: &[Event]) -> Self {
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
fn calm(surveys: &[(&Survey, Direction)], events: &[Event]) -> Option<(Curve, Vec<Event>)> {
    let is_plain = |one: &Transition| one.size.abs() > PLAIN * one.half();
    let left: Vec<Event> = events.iter().filter(|event| is_plain(&event.transition)).cloned().collect();
    if left.len() == events.len() || surveys.len() < 2 {
        return None;
    }
    let (with, without) = (Seen::new(surveys, events), Seen::new(surveys, &left));
    let (curve, noises) = without.curve()?;
    let better =
        wander::explained_better([&without.shown, &with.shown], without.slope(), without.span, &noises)?;
    (better + SPARED * many(events.len() - left.len()) > 0.0).then_some((curve, left))
}

/// The first moment and the last that any direction shows.
fn span(surveys: &[(&Survey, Direction)]) -> (f64, f64) {
    let moments = || surveys.iter().flat_map(|(survey, _)| survey.fine.iter().map(|one| one.x));
    (moments().fold(f64::INFINITY, f64::min), moments().fold(f64::NEG_INFINITY, f64::max))
}

/// A rate that wanders; the rest as of a steady one.
fn wandering(
    surveys: &[(&Survey, Direction)],
    curve: &Curve,
    events: &[Event],
    origin_ns: i64,
    later: (f64, f64),
) -> Estimate {
    let (events, left) = certain(events.to_vec());
    let (events, between) = close::taken_apart(surveys, events, later);
    let events = corners::drawn_out(surveys, events, |x| curve.at(x));
    let events = &events[..];
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
        floor_error: super::classic::NORMAL * curve.variance_at_ends.sqrt() + corner_error + left + between,
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
    let correction = |heading: Direction| Correction {
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
        .map(|event| ClockChange {
            at_ns: moment(event.transition.from),
            until_ns: (event.transition.to > event.transition.from).then(|| moment(event.transition.to)),
            kind: event.kind,
            heading: event.heading,
            size_ns: rounded(event.transition.size),
            error_ns: event.transition.half(),
            dated_by: event.dated_by,
            may_be: event.may_be,
        })
        .collect();
    events.sort_by_key(|event| event.at_ns);
    Estimate {
        skew: Some(Skew { ppm: found.mean / 1e3, interval_ppm: found.interval.map(|end| end / 1e3) }),
        why_not: None,
        remarks: Vec::new(),
        full: None,
        events,
        corrections: Direction::BOTH.map(correction),
        beyond: None,
        coarse_ns: 0.0,
    }
}

/// What is taken off the delays of a direction: the line with the clocks' changes, as that direction sees them.
fn legs(events: &[Event], heading: Direction, knots: &[f64], line: &impl Fn(f64) -> f64) -> Vec<Leg> {
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

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = usize::try_from(rounded(share * many(sorted.len()))).unwrap_or(0);
    sorted[place.min(sorted.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left out of a clock may be in the delays all the same; of a path it is.
    #[test]
    fn an_event_whose_interval_holds_none_is_told_of_neither_clock_nor_path() {
        let of = |size: f64, kind, heading| Event {
            kind,
            heading,
            ..step(Transition { from: 1.0, to: 2.0, size, error: 10.0, doubt: 5.0 })
        };
        let events = vec![
            of(-24.0, ChangeKind::Slew, None),
            of(-25.0, ChangeKind::Slew, None),
            of(24.0, ChangeKind::PathChange, Some(Direction::Forward)),
            of(25.0, ChangeKind::ClockStep, None),
        ];
        let half = events[0].transition.half();
        let (told, left) = certain(events);
        assert_eq!(told.iter().map(|one| one.transition.size).collect::<Vec<_>>(), [-25.0, 25.0]);
        assert!((left - 24.0 - half).abs() < 1e-9, "{left}");
    }
}
