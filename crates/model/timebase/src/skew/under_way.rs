//! A clock that is slewed where a run ends, or was before it began: no level follows, or none was before, so that what there is between two levels
//! is none of it. What both directions show there, opposite to each other and beside all that was taken out, is the clock's.

use super::classic::NORMAL;
use super::correction::{Correction, Leg};
use super::estimator::{ChangeKind, ClockChange, Estimate, Heading};
use super::survey::Survey;
use super::{many, median, rounded};

/// Floors of a direction next to the edge that tell the level, and floors beyond it, at least.
const BESIDE: usize = 30;
const BEYOND: usize = 4;
/// The edge may lie so many floors before the first that is on no level.
const EARLIER: usize = 12;
/// What both directions say of the rate may differ by this share of it.
const OPPOSITE: f64 = 0.2;
/// A slew goes so many times as far as floors scatter, and at a rate of more than this, nanoseconds a second.
const CLEAR: f64 = 6.0;
const LEAST: f64 = 5_000.0;

/// A floor of either direction: how long after the edge it is, as time goes on to the end of the run, and how much more it has there than the level.
type Seen = [Vec<(f64, f64)>; 2];

/// A slew that an end of the run cuts off.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// From when to when, seconds.
    from: f64,
    to: f64,
    /// By how much the responder's clock gains in each second, nanoseconds, and how far what it gained may be off.
    rate: f64,
    error: f64,
}

/// Whether a direction has floors at an end that are on no level.
pub(crate) fn may_be(surveys: [&Survey; 2]) -> bool {
    surveys.into_iter().any(|survey| edge(survey, 0).is_some() || edge(survey, 1).is_some())
}

/// Tells of slews that an end of the run cuts off, and takes them out; gives whether there is one. `round_trip` is the least there is, seconds.
pub(crate) fn add(estimate: &mut Estimate, surveys: [&Survey; 2], round_trip: f64, origin_ns: i64) -> bool {
    if estimate.skew.is_none() {
        return false;
    }
    let cuts = [0, 1].map(|end| cut(estimate, surveys, end, origin_ns));
    for (end, cut) in cuts.into_iter().enumerate() {
        let Some(cut) = cut else { continue };
        let moment = |x: f64| origin_ns.saturating_add(rounded(x * 1e9));
        let error = cut.error + (cut.rate * round_trip / 2.0).abs();
        for (heading, correction) in Heading::BOTH.into_iter().zip(&mut estimate.corrections) {
            let since = [cut.from, cut.to].map(|x| moment(x).saturating_sub(correction.origin_ns));
            turn(correction, end, since, heading.sign() * cut.rate / 1e9);
            correction.floor_error_ns += error;
        }
        estimate.events.push(ClockChange {
            at_ns: moment(cut.from),
            until_ns: Some(moment(cut.to)),
            kind: ChangeKind::Slew,
            heading: None,
            size_ns: rounded(cut.rate * (cut.to - cut.from)),
            error_ns: error,
            dated_by: None,
            may_be: None,
        });
    }
    estimate.events.sort_by_key(|event| event.at_ns);
    cuts.iter().any(Option::is_some)
}

/// The slew at an end, if there is one that was not told.
fn cut(estimate: &Estimate, surveys: [&Survey; 2], end: usize, origin_ns: i64) -> Option<Cut> {
    let edges = surveys.map(|survey| edge(survey, end));
    let edge = edges.into_iter().flatten().reduce(f64::min)?;
    let way = way(end);
    let moment = |x: f64| origin_ns.saturating_add(rounded(way * x * 1e9));
    // What was told there is taken out as it was told.
    let is_told = |event: &ClockChange| match end {
        0 => event.at_ns < moment(edge),
        _ => event.until_ns.unwrap_or(event.at_ns) > moment(edge),
    };
    if estimate.events.iter().any(is_told) {
        return None;
    }
    let mut seen: Seen = Default::default();
    for ((survey, seen), heading) in surveys.into_iter().zip(&mut seen).zip(Heading::BOTH) {
        let correction = estimate.correction(heading);
        let mut floors: Vec<(f64, f64)> = survey
            .floors
            .iter()
            .map(|floor| (way * floor.x, floor.y - correction.at(moment(way * floor.x)) as f64))
            .collect();
        floors.sort_by(|a, b| a.0.total_cmp(&b.0));
        let first = floors.partition_point(|floor| floor.0 < edge);
        let inner = first.saturating_sub(EARLIER);
        let mut level: Vec<f64> =
            floors[inner.saturating_sub(BESIDE)..inner].iter().map(|floor| floor.1).collect();
        if level.len() < BESIDE / 2 || floors.len() < first + BEYOND {
            return None;
        }
        let level = median(&mut level);
        *seen = floors[inner.saturating_sub(BESIDE)..].iter().map(|(x, y)| (*x, y - level)).collect();
    }
    let outermost = surveys.iter().flat_map(|survey| &survey.outermost[end]);
    let last = outermost.map(|packet| way * packet.x).reduce(f64::max)?;
    let Line { from, rate, scatter, number } = line(&seen, hinge(&seen, edge)?)?;
    let [there, back] = [0, 1].map(|place| steepness(&seen[place], from));
    let grain = surveys[0].grain.max(surveys[1].grain);
    let is_slew = rate.abs() > LEAST
        && (there + back).abs() <= OPPOSITE * rate.abs()
        && rate.abs() * (last - from) > CLEAR * scatter.max(grain);
    // How far a line is off at its ends, and the level before it.
    let error = NORMAL * scatter * (2.0 / many(number).sqrt() + 1.0 / many(2 * BESIDE).sqrt()) + grain;
    let (one, other) = (way * from, way * last);
    // Where time goes back to the first packet, what it gains on the way there it loses.
    is_slew.then(|| Cut { from: one.min(other), to: one.max(other), rate: way * rate, error })
}

/// Where the floors at an end are no more on the level that those before them are on, as time goes on to that end.
fn edge(survey: &Survey, end: usize) -> Option<f64> {
    let floors = &survey.floors;
    let (beside, beyond) = match end {
        0 => {
            let first = survey.groups.first()?.start;
            (floors.get(first)?, floors.get(first.checked_sub(1)?)?)
        }
        _ => {
            let past = survey.groups.last()?.end;
            (floors.get(past.checked_sub(1)?)?, floors.get(past)?)
        }
    };
    Some(way(end) * f64::midpoint(beside.x, beyond.x))
}

/// From which of the floors on forward has more and reverse has less, as it fits both best.
fn hinge(seen: &Seen, edge: f64) -> Option<f64> {
    let near = |floors: &Vec<(f64, f64)>| {
        let first = floors.partition_point(|floor| floor.0 < edge);
        floors[first.saturating_sub(EARLIER)..(first + EARLIER).min(floors.len().saturating_sub(BEYOND - 1))]
            .to_vec()
    };
    let moments = seen.iter().flat_map(near).map(|floor| floor.0);
    let fit = |from: f64| {
        let (mut of, mut squares) = (0.0, 0.0);
        for (floors, heading) in seen.iter().zip(Heading::BOTH) {
            for (x, y) in floors.iter().filter(|floor| floor.0 > from) {
                of += heading.sign() * y * (x - from);
                squares += (x - from).powi(2);
            }
        }
        let rate = of / squares.max(1e-18);
        let off = seen.iter().zip(Heading::BOTH).flat_map(|(floors, heading)| {
            floors.iter().map(move |(x, y)| (y - heading.sign() * rate * (x - from).max(0.0)).abs())
        });
        (off.sum::<f64>(), from)
    };
    moments.map(fit).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, from)| from)
}

/// A line that floors beyond the edge lie on.
struct Line {
    /// Where it leaves the level, and by how much in each second.
    from: f64,
    rate: f64,
    /// How much they scatter about it, and how many they are.
    scatter: f64,
    number: usize,
}

/// The line beyond a moment, which leaves the level near to it.
fn line(seen: &Seen, near: f64) -> Option<Line> {
    // Of the first floor of each direction some packets may be on the level.
    let beyond = |floors: &Vec<(f64, f64)>| floors.partition_point(|floor| floor.0 <= near) + 1;
    let points: Vec<(f64, f64)> = seen
        .iter()
        .zip(Heading::BOTH)
        .flat_map(|(floors, heading)| {
            floors.iter().skip(beyond(floors)).map(move |(x, y)| (*x, heading.sign() * y))
        })
        .collect();
    let number = points.len();
    if number < BEYOND {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / many(number);
    let (x0, y0) = (mean(|point| point.0), mean(|point| point.1));
    let squares: f64 = points.iter().map(|(x, _)| (x - x0).powi(2)).sum();
    let rate = points.iter().map(|(x, y)| (x - x0) * (y - y0)).sum::<f64>() / squares.max(1e-18);
    // They lie above the line further than below it: what is usual would tell too little.
    let off: f64 = points.iter().map(|(x, y)| (y - y0 - rate * (x - x0)).powi(2)).sum();
    let scatter = (off / many(number - 2)).sqrt();
    let from = x0 - y0 / rate;
    from.is_finite().then_some(Line { from, rate, scatter, number })
}

/// By how much a direction has more in each second.
fn steepness(floors: &[(f64, f64)], from: f64) -> f64 {
    let beyond = || floors.iter().filter(|floor| floor.0 > from);
    let squares: f64 = beyond().map(|(x, _)| (x - from).powi(2)).sum();
    beyond().map(|(x, y)| y * (x - from)).sum::<f64>() / squares.max(1e-18)
}

fn way(end: usize) -> f64 {
    if end == 0 { -1.0 } else { 1.0 }
}

/// Has a correction go on at a rate that is greater by `rate`, nanoseconds for each nanosecond, beyond a moment or before it.
fn turn(correction: &mut Correction, end: usize, [from, to]: [i64; 2], rate: f64) {
    if correction.legs.is_empty() {
        correction.legs.push(Leg { from_ns: 0, value_ns: 0.0, slope: 0.0 });
    }
    let legs = &mut correction.legs;
    let at = |legs: &[Leg], since: i64| {
        let place = legs.partition_point(|leg| leg.from_ns <= since).saturating_sub(1);
        Leg { from_ns: since, value_ns: legs[place].at(since), slope: legs[place].slope }
    };
    let inner = at(legs, if end == 0 { to } else { from });
    if end == 0 {
        let beyond = Leg { slope: inner.slope + rate, ..inner };
        let first = Leg { from_ns: from, value_ns: beyond.at(from), ..beyond };
        legs.retain(|leg| leg.from_ns > to);
        legs.splice(0..0, [first, inner]);
    } else {
        legs.retain(|leg| leg.from_ns < from);
        legs.push(Leg { slope: inner.slope + rate, ..inner });
    }
}
