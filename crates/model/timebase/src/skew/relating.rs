//! The estimate of a stream's clocks, and its delays without their error.

use romer_record::Passage;
use romer_record::document::{ClockEvent, ClockSoFar, ClockState, DelayKind};
use romer_record::manifest::SkewRequest;

use super::{ChangeKind, Correction, Estimate, Estimator, Heading, Method, Skew};
use crate::Related;
use crate::clocks::{across, length};

/// Rates of clocks do not differ by more than the kernel can steer them; a greater slope is told, and not taken out.
const PLAUSIBLE_PPM: f64 = 500.0;
/// A skew that is less certain than this would spoil more than it mends.
const USELESS_PPM: f64 = 100.0;

/// What was asked for; the default for what a later romer may have written.
pub fn method_of(request: &SkewRequest) -> Method {
    request.method.parse().unwrap_or_default()
}

/// Estimates the clocks of two directions. Packets without both stamps say nothing.
pub fn estimate(request: &SkewRequest, forward: &[Passage], reverse: &[Passage]) -> Estimate {
    let mut estimator = Estimator::new(method_of(request), request.calibration);
    for (heading, passages) in Heading::BOTH.into_iter().zip([forward, reverse]) {
        for (departure, arrival) in
            passages.iter().filter_map(|passage| passage.departure.zip(passage.arrival))
        {
            estimator.push(heading, departure, arrival);
        }
    }
    estimator.estimate()
}

/// The moment of a passage on the sender's clock.
fn moment(passage: &Passage, heading: Heading) -> Option<i64> {
    match heading {
        Heading::Forward => passage.departure.map(romer_units::Timestamp::as_nanos),
        Heading::Reverse => passage.arrival.map(romer_units::Timestamp::as_nanos),
    }
}

/// The difference of a passage's stamps without the correction.
fn corrected(passage: &Passage, heading: Heading, correction: &Correction) -> Option<i128> {
    let raw = across(passage.departure?, passage.arrival?);
    Some(raw - i128::from(correction.at(moment(passage, heading)?)))
}

/// Moves the jumps of a correction to between two packets: after one upwards no packet may lie well below the new
/// level, and before one downwards none below the old.
fn sharpen(correction: &mut Correction, passages: &[Passage], heading: Heading) {
    /// Legs that meet do so to rounding, nanoseconds; most legs of a rate that wanders do.
    const MEET: f64 = 1.0;
    if correction.legs.len() < 2 {
        return;
    }
    let origin = correction.origin_ns;
    let mut points: Vec<(i64, f64)> = passages
        .iter()
        .filter_map(|passage| {
            let raw = across(passage.departure?, passage.arrival?);
            Some((moment(passage, heading)?.saturating_sub(origin), raw as f64))
        })
        .collect();
    points.sort_by_key(|point| point.0);
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
    // As near as the search for jumps has come, and a stretch that tells the level on either side.
    let near = last.0.saturating_sub(first.0) / 100;
    let far = near.saturating_mul(10);
    for index in 1..correction.legs.len() {
        let (before, after) = (correction.legs[index - 1], correction.legs[index]);
        let line = |leg: &super::correction::Leg, at: i64| {
            leg.value_ns + leg.slope * at.saturating_sub(leg.from_ns) as f64
        };
        let jump = after.value_ns - line(&before, after.from_ns);
        if jump.abs() < MEET {
            continue;
        }
        // Where the points begin that lie so far from the jump, or further.
        let place = |away: i64| {
            let at = after.from_ns.saturating_add(away);
            points.partition_point(|point| point.0 < at)
        };
        let level = |leg: &super::correction::Leg, stretch: &[(i64, f64)]| {
            stretch.iter().map(|point| point.1 - line(leg, point.0)).reduce(f64::min)
        };
        let (begin, end) = (place(-near), place(near + 1));
        let old = level(&before, &points[place(-far)..begin]);
        let new = level(&after, &points[end..place(far + 1)]);
        let (Some(old), Some(new)) = (old, new) else { continue };
        let mut doubtful = points[begin..end].iter();
        let spare = jump.abs() / 4.0;
        let at = if jump > 0.0 {
            let earlier = doubtful.rfind(|point| point.1 - line(&after, point.0) < new - spare);
            earlier.map(|point| point.0.saturating_add(1))
        } else {
            doubtful.find(|point| point.1 - line(&before, point.0) < old - spare).map(|point| point.0)
        };
        if let Some(at) = at {
            let leg = &mut correction.legs[index];
            leg.value_ns = line(&after, at);
            leg.from_ns = at;
        }
    }
}

/// The least corrected difference. What lies next to a change of the clock, or within a slew, may be corrected too much,
/// because when exactly the change began or ended is not known: it does not count, unless there is nothing else.
fn least(passages: &[Passage], heading: Heading, correction: &Correction) -> Option<i128> {
    let doubtful = changes(passages, heading, correction);
    let sure = |passage: &&Passage| {
        moment(passage, heading)
            .is_some_and(|at| !doubtful.iter().any(|[begin, end]| (*begin..=*end).contains(&at)))
    };
    let least_of = |passages: &mut dyn Iterator<Item = &Passage>| {
        passages.filter_map(|passage| corrected(passage, heading, correction)).min()
    };
    least_of(&mut passages.iter().filter(sure)).or_else(|| least_of(&mut passages.iter()))
}

/// The times around jumps and sudden changes of rate, and the short times between two of them, on the sender's clock.
fn changes(passages: &[Passage], heading: Heading, correction: &Correction) -> Vec<[i64; 2]> {
    /// A jump by so many nanoseconds, and a change of rate by so much: a rate that wanders has smaller ones.
    const JUMP: f64 = 1_000.0;
    const TURN: f64 = 20e-6;
    /// A time between two changes is short below one in so many of the longest.
    const SHORT: i64 = 3;
    let moments = || passages.iter().filter_map(|passage| moment(passage, heading));
    if correction.legs.len() < 2 {
        return Vec::new();
    }
    let (Some(first), Some(last)) = (moments().min(), moments().max()) else { return Vec::new() };
    let near = last.saturating_sub(first) / 100;
    let sudden = |pair: &&[super::correction::Leg]| {
        let [before, after] = [pair[0], pair[1]];
        let met = before.value_ns + before.slope * after.from_ns.saturating_sub(before.from_ns) as f64;
        (after.value_ns - met).abs() >= JUMP || (after.slope - before.slope).abs() >= TURN
    };
    let sudden = correction.legs.windows(2).filter(sudden);
    let at = sudden.map(|pair| correction.origin_ns.saturating_add(pair[1].from_ns));
    let bounds: Vec<i64> = core::iter::once(first).chain(at).chain([last]).collect();
    let longest = bounds.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap_or(0);
    let short = bounds.windows(2).filter(|pair| pair[1].saturating_sub(pair[0]) < longest / SHORT);
    let around = |at: &i64| [at.saturating_sub(near), at.saturating_add(near)];
    let inner = bounds.get(1..bounds.len() - 1).unwrap_or_default();
    inner.iter().map(around).chain(short.map(|pair| [pair[0], pair[1]])).collect()
}

/// Takes the clocks' error out of the delays of one direction: they become what is above the least one, or 0 where they
/// were corrected too much.
pub fn correct(passages: &mut [Passage], heading: Heading, estimate: &Estimate) {
    let correction = estimate.correction(heading);
    let base = least(passages, heading, correction).unwrap_or(0);
    for passage in passages {
        let above = corrected(passage, heading, correction).map(|nanos| (nanos - base).max(0));
        passage.delay = above.and_then(length);
    }
}

/// Estimates the clocks of a stream, takes their error out of its delays, and says what is known of them; where they are
/// one clock already, nothing is done. Gives warnings.
pub fn relate_clocks(related: &mut Related, request: &SkewRequest) -> Vec<String> {
    if related.delay_kind == DelayKind::Absolute {
        return Vec::new();
    }
    let (estimate, warnings) = usable(request, &related.forward, &related.reverse);
    correct(&mut related.forward, Heading::Forward, &estimate);
    correct(&mut related.reverse, Heading::Reverse, &estimate);
    related.clock = state(request, &estimate, &related.forward, &related.reverse);
    related.corrections = estimate.corrections;
    warnings
}

/// Why a skew is not to be believed, or of no use.
fn doubt(skew: &Skew) -> Option<String> {
    let half = (skew.interval_ppm[1] - skew.interval_ppm[0]) / 2.0;
    if skew.ppm.abs() > PLAUSIBLE_PPM {
        let ppm = skew.ppm;
        Some(format!("{ppm:+.1} ppm is more than clocks differ by, so that the path itself changes"))
    } else if half > USELESS_PPM {
        Some(format!("the run is too short: {:+.0} ppm, and {half:.0} more or less", skew.ppm))
    } else {
        None
    }
}

/// What an estimator that goes on can say by now: the figure of [`usable`], as far as the packets have come.
pub fn so_far(estimator: &Estimator) -> ClockSoFar {
    let estimate = estimator.estimate();
    let doubt = estimate.skew.as_ref().and_then(doubt);
    let skew = estimate.skew.filter(|_| doubt.is_none());
    ClockSoFar {
        method: shown(estimator.method()),
        skew_ppm: skew.map(|skew| skew.ppm),
        skew_interval_ppm: skew.map(|skew| skew.interval_ppm),
        why_not: doubt.or(estimate.why_not),
    }
}

/// The method by its own name.
fn shown(method: Method) -> String {
    if method == Method::Best { Method::Piecewise.to_string() } else { method.to_string() }
}

/// An estimate whose corrections can be trusted, with words on what is left out and why.
pub fn usable(request: &SkewRequest, forward: &[Passage], reverse: &[Passage]) -> (Estimate, Vec<String>) {
    let mut found = estimate(request, forward, reverse);
    for ((correction, heading), passages) in
        found.corrections.iter_mut().zip(Heading::BOTH).zip([forward, reverse])
    {
        sharpen(correction, passages, heading);
    }
    let mut warnings = Vec::new();
    if let Some(why) = found.skew.as_ref().and_then(doubt) {
        found = Estimate::refused(&why);
    }
    if let Some(why) = &found.why_not
        && !(forward.is_empty() && reverse.is_empty())
    {
        warnings.push(format!(
            "the clocks' difference in rate is not identifiable: {why}; what they drift apart (tens of microseconds a \
             second between free-running clocks) is still in the one-way delays"
        ));
    }
    (found, warnings)
}

/// What the document says of the clocks. The bounds of the offset are those of the moment of the first packet: after
/// correction no packet may have arrived before it left, or before the least time that a way is known to take.
pub fn state(
    request: &SkewRequest,
    estimate: &Estimate,
    forward: &[Passage],
    reverse: &[Passage],
) -> ClockState {
    let error = [(Heading::Forward, forward), (Heading::Reverse, reverse)]
        .into_iter()
        .flat_map(|(heading, passages)| {
            let ends = passages.first().into_iter().chain(passages.last());
            ends.filter_map(move |passage| {
                Some(estimate.correction(heading).error_at(moment(passage, heading)?))
            })
        })
        .fold(0.0, f64::max);
    ClockState {
        method: shown(method_of(request)),
        identifiable: estimate.skew.is_some(),
        skew_ppm: estimate.skew.map(|skew| skew.ppm),
        skew_interval_ppm: estimate.skew.map(|skew| skew.interval_ppm),
        offset_bounds_ns: bounds(request, estimate, forward, reverse, error),
        delay_error_ns: estimate.skew.map(|_| error),
        events: estimate.events.iter().map(|event| told(event, estimate)).collect(),
    }
}

fn bounds(
    request: &SkewRequest,
    estimate: &Estimate,
    forward: &[Passage],
    reverse: &[Passage],
    error: f64,
) -> Option<[i64; 2]> {
    let spare = i128::from(request.path_minimum_ns.unwrap_or(0)) - i128::from(super::rounded(error));
    let there = least(forward, Heading::Forward, estimate.correction(Heading::Forward))?;
    let back = least(reverse, Heading::Reverse, estimate.correction(Heading::Reverse))?;
    let low = i64::try_from(spare - back).ok()?;
    let high = i64::try_from(there - spare).ok()?;
    (low <= high).then_some([low, high])
}

fn told(event: &super::ClockChange, estimate: &Estimate) -> ClockEvent {
    let origin = estimate.correction(Heading::Forward).origin_ns;
    ClockEvent {
        at_ns: event.at_ns.saturating_sub(origin),
        kind: event.kind.name().into(),
        direction: Some(match (event.kind, event.heading) {
            (ChangeKind::PathChange, Some(heading)) => heading.name().into(),
            _ => "both".into(),
        }),
        size_ns: Some(event.size_ns),
    }
}
