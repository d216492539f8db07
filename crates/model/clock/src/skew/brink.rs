//! What single packets at the ends of a run show. A step of a clock so near an end that a few cells hold all of what lies
//! beyond it decides all the same which delay is the least, by which all others are told: so it is told where both
//! directions show it, and where one of them does and the other leaves it open, delays may be off by it.

use super::arithmetic::{many, median, rounded};
use super::estimate::{ChangeKind, ClockChange, Estimate};
use super::event::{Event, step};
use super::near::EARLY;
use super::survey::Survey;
use super::transition::Transition;
use romer_record::warning::MeasurementWarning;
use romer_units::Direction;

/// Packets of a direction at an end, at least: half of them tell the level.
const KNOWN: usize = 60;
/// Packets that lie lower beyond a change, at least, where one direction tells of it, and packets that lie higher.
const LOWER: usize = 5;
const HIGHER: usize = 15;
/// So much plainer must a change be than none, in a direction, as the logarithm of the likelihood.
const PLAINER: f64 = 25.0;
/// And so many times what packets wait.
const CLEAR: f64 = 3.0;
/// What both directions say of the size may differ by this share, and by so many times what their least packets wait.
const OPPOSITE: (f64, f64) = (0.1, 4.0);
/// A change is larger than this, nanoseconds, and than so many times what stamps do not tell.
const LEAST: (f64, f64) = (50_000.0, 3.0);
/// Packets that a queue holds up differ by as much as they lie higher: those beyond a change of the level lie above it by no more than this
/// share of it usually, and by no more than so many times what others wait.
const LEVEL: (f64, f64) = (0.2, 3.0);
/// Stretches of packets, at least, that tell how far the least of one lies above the level.
const BLOCKS: usize = 8;
/// What was told of a change may differ from its size by this share.
const ALIKE: f64 = 0.25;

/// Packets of a direction near an end, as time goes on to it, above the level before.
struct EndPackets {
    points: Vec<(f64, f64)>,
    wait: f64,
    /// What they wait usually.
    usual: f64,
    grain: f64,
}

/// A change of a direction's level, and how many packets lie beyond it.
#[derive(Clone, Copy, Debug)]
struct Shift {
    split: usize,
    at: f64,
    size: f64,
    beyond: usize,
}

impl EndPackets {
    fn new(survey: &Survey, end: usize) -> Option<Self> {
        let way = way(end);
        let mut points: Vec<(f64, f64)> =
            survey.outermost[end].iter().map(|one| (way * one.x, one.above(survey.slope))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let inner = points.len() / 2;
        if points.len() < KNOWN {
            return None;
        }
        let level = points[..inner].iter().map(|point| point.1).reduce(f64::min)?;
        points.iter_mut().for_each(|point| point.1 -= level);
        let mut before: Vec<f64> = points[..inner].iter().map(|point| point.1).collect();
        let mean = before.iter().sum::<f64>() / many(inner);
        let usual = median(&mut before).max(survey.grain).max(1.0);
        let wait = mean.max(usual / core::f64::consts::LN_2);
        Some(Self { points, wait, usual, grain: survey.grain })
    }

    /// What it costs that so high a packet lies above a level.
    fn cost(&self, above: f64) -> f64 {
        (if above < 0.0 { -EARLY * above } else { above }) / self.wait
    }

    /// How much plainer it is that the level is higher by `size` from a packet on.
    fn plainer(&self, split: usize, size: f64) -> f64 {
        self.points[split..].iter().map(|(_, height)| self.cost(*height) - self.cost(height - size)).sum()
    }

    /// The change of the level in the outer half, if it is much plainer than none.
    fn shift(&self) -> Option<Shift> {
        let (mut level, mut lasting) = (f64::INFINITY, (0.0, 0.0));
        let mut best: Option<(f64, usize, f64)> = None;
        for (split, (_, height)) in self.points.iter().enumerate().skip(self.points.len() / 2).rev() {
            level = level.min(*height);
            let beyond = many(self.points.len() - split);
            lasting = (lasting.0 + self.cost(*height), lasting.1 + height / self.wait);
            let plainer = lasting.0 - lasting.1 + beyond * level / self.wait;
            if best.is_none_or(|best| plainer > best.0) {
                best = Some((plainer, split, level));
            }
        }
        let (plainer, split, size) = best?;
        let beyond = self.points.len() - split;
        let at = f64::midpoint(self.points[split - 1].0, self.points[split].0);
        let is_shift = plainer > PLAINER
            && beyond >= LOWER
            && size.abs() > LEAST.0.max(CLEAR * self.wait).max(LEAST.1 * self.grain);
        is_shift.then_some(Shift { split, at, size, beyond })
    }

    /// What the least packets beyond a change may have waited, and the least before it.
    fn least(&self, shift: &Shift) -> f64 {
        self.wait / many(shift.beyond) + self.wait / many(shift.split)
    }

    /// How far the least of so many packets may lie above the level, by how far it does where the level is known.
    fn unsure(&self, number: usize) -> f64 {
        let known = &self.points[..self.points.len() / 2];
        let least =
            |packets: &[(f64, f64)]| packets.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
        let each: Vec<f64> = known.chunks_exact(number.max(1)).map(least).collect();
        let most = each.iter().copied().fold(0.0, f64::max);
        if each.len() < BLOCKS { self.usual } else { most.min(self.usual) }
    }

    /// Whether what lies beyond a change has a level as all the rest has.
    fn is_level(&self, shift: &Shift) -> bool {
        let beyond = self.points[shift.split..].iter().map(|(_, height)| height - shift.size);
        let usual = median(&mut beyond.collect::<Vec<_>>());
        let enough = if shift.size < 0.0 { LOWER } else { HIGHER };
        shift.beyond >= enough
            && usual <= LEVEL.0 * shift.size.abs() + self.grain
            && usual <= LEVEL.1 * self.usual
    }

    /// Whether these packets, of the other direction, say that what that one shows is the path's.
    fn refutes(&self, at: f64, size: f64) -> bool {
        let split = self.points.partition_point(|point| point.0 < at);
        let beyond = self.points.len() - split;
        size.abs() > CLEAR * self.wait && beyond >= LOWER && self.plainer(split, -size) < -PLAINER
    }
}

fn way(end: usize) -> f64 {
    if end == 0 { -1.0 } else { 1.0 }
}

/// From when to when a direction's packets at an end are known.
fn span(survey: &Survey, end: usize) -> Option<(f64, f64)> {
    let packets = &survey.outermost[end];
    Some((packets.first()?.x, packets.last()?.x))
}

/// Adds the steps to what is told that both directions show at an end of the run; what one of them shows of such a step is none of the path's.
/// Of one that is told already packets say when it was.
pub(crate) fn add_steps(forward: &Survey, reverse: &Survey, told: &mut Vec<Event>) {
    for end in [0, 1] {
        let Some(found) = step_at(forward, reverse, end) else { continue };
        let [there, back] = [span(forward, end), span(reverse, end)];
        let (Some(there), Some(back)) = (there, back) else { continue };
        let (from, to) = (there.0.min(back.0), there.1.max(back.1));
        let within = |event: &Event| event.transition.to >= from && event.transition.from <= to;
        let of_it = |event: &Event| {
            let sign = event.heading.map_or(1.0, Direction::sign);
            event.transition.to <= event.transition.from
                && (sign * event.transition.size - found.transition.size).abs()
                    <= ALIKE * found.transition.size.abs()
        };
        if !told.iter().all(|event| !within(event) || of_it(event)) {
            continue;
        }
        let known = told.iter_mut().find(|event| within(event) && event.kind == ChangeKind::ClockStep);
        if let Some(known) = known {
            // Floors tell how far it went better, and packets when it was.
            known.apart = found.apart;
            (known.transition.from, known.transition.to) = (found.transition.from, found.transition.to);
        } else {
            told.retain(|event| !within(event));
            told.push(found);
        }
    }
}

fn step_at(forward: &Survey, reverse: &Survey, end: usize) -> Option<Event> {
    let (there, back) = (EndPackets::new(forward, end)?, EndPackets::new(reverse, end)?);
    let (ahead, behind) = (there.shift()?, back.shift()?);
    let error = there.least(&ahead).hypot(back.least(&behind));
    let grain = there.grain.max(back.grain);
    let slack = OPPOSITE.0 * ahead.size.abs() + OPPOSITE.1 * error + grain;
    let (few, more) = (ahead.beyond.min(behind.beyond), ahead.beyond.max(behind.beyond));
    let is_step = (ahead.size + behind.size).abs() <= slack && 2 * few >= more;
    is_step.then(|| {
        // What is lower tells it by the packet that waited least, and nothing is early: so does what is higher.
        let (a, b) = (there.least(&ahead).powi(-2), back.least(&behind).powi(-2));
        let size = way(end) * (a * ahead.size - b * behind.size) / (a + b);
        let apart = [ahead.at, behind.at].map(|at| way(end) * at);
        let at = f64::midpoint(apart[0], apart[1]);
        let doubt =
            there.unsure(ahead.beyond).hypot(back.unsure(behind.beyond)).min(ALIKE * size.abs()).max(grain);
        Event { apart: Some(apart), ..step(Transition { from: at, to: at, size, error, doubt }) }
    })
}

/// A change near an end in one direction, of which the other says nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    heading: Direction,
    /// From when on the packets there are known, and until when, seconds.
    span: (f64, f64),
    at: f64,
    size: f64,
    error: f64,
}

/// The changes near an end that one direction shows and the other leaves open.
pub(crate) fn open(surveys: [&Survey; 2]) -> Vec<Open> {
    let mut found = Vec::new();
    for end in [0, 1] {
        let sides = surveys.map(|survey| EndPackets::new(survey, end));
        for (place, heading) in Direction::BOTH.into_iter().enumerate() {
            let (Some(one), other) = (&sides[place], &sides[1 - place]) else { continue };
            let Some(shift) = one.shift().filter(|shift| one.is_level(shift)) else { continue };
            let Some(span) = span(surveys[place], end) else { continue };
            if other.as_ref().is_none_or(|other| !other.refutes(shift.at, shift.size)) {
                let (at, size) = (way(end) * shift.at, way(end) * shift.size);
                let error = OPPOSITE.1 * one.least(&shift).max(one.grain);
                found.push(Open { heading, span, at, size, error });
            }
        }
    }
    found
}

/// Tells of changes that are left open as such, and that delays may be off by them.
pub(crate) fn leave_open(estimate: &mut Estimate, origin_ns: i64, open: &[Open]) {
    if estimate.skew.is_none() {
        return;
    }
    let mut most: f64 = 0.0;
    for one in open {
        let moment = |x: f64| origin_ns.saturating_add(rounded(x * 1e9));
        let (from, to) = (moment(one.span.0), moment(one.span.1));
        let is_within = |event: &&mut ClockChange| {
            event.until_ns.unwrap_or(event.at_ns).max(event.at_ns) >= from && event.at_ns <= to
        };
        let mut within = estimate.events.iter_mut().filter(is_within).peekable();
        if within.peek().is_none() {
            estimate.events.push(ClockChange {
                at_ns: moment(one.at),
                until_ns: None,
                kind: ChangeKind::PathChange,
                heading: Some(one.heading),
                size_ns: rounded(one.size),
                error_ns: one.error,
                dated_by: None,
                may_be: Some(ChangeKind::ClockStep),
            });
            most = most.max(one.size.abs() + one.error);
        } else {
            let alike = |event: &&mut ClockChange| {
                event.kind == ChangeKind::PathChange
                    && event.heading == Some(one.heading)
                    && event.may_be.is_none()
                    && (event.size_ns as f64 - one.size).abs() <= ALIKE * one.size.abs()
            };
            if let Some(event) = within.find(alike) {
                event.may_be = Some(ChangeKind::ClockStep);
                most = most.max(one.size.abs() + one.error);
            }
        }
    }
    if most > 0.0 {
        estimate.events.sort_by_key(|event| event.at_ns);
        estimate.corrections.iter_mut().for_each(|one| one.floor_error_ns += most);
        estimate.remarks.push(MeasurementWarning::ChangeAmbiguousAtEnd { delay_error_ns: rounded(most) });
    }
}
