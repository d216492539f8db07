//! The estimate of a stream's clocks, and its delays without their error.

use romer_record::document::{ClockEvent, ClockSoFar, ClockState};
use romer_record::manifest::SkewRequest;
use romer_record::warning::{MeasurementWarning, SkewUnknown};
use romer_record::{Fate, OneWaySingleton};

use super::arithmetic::rounded;
use super::bounds::{STEERED_PPM, bounds};
use super::correction::{Correction, Leg};
use super::estimate::{ChangeKind, ClockChange, Estimate, PLAUSIBLE_PPM, Skew};
use super::estimator::Estimator;
use super::method::{Method, method_of};
use super::opposite::opposite_movement;
use super::pauses::in_pauses;
use super::set_back::SetBack;
use super::sharpen::sharpen;
use super::stamps::{moment, stamps};
use super::{dated, path_dates};
use romer_units::Direction;

use crate::clocks::{across, length};

/// So many packets beside a jump may be on its wrong side.
const STRAY: usize = 3;
/// A skew that is less certain than this would spoil more than it mends.
const USELESS_PPM: f64 = 100.0;

/// Does two things, at once where the caller has threads for it: the model has none.
pub trait Both {
    /// Does both, and gives what they gave.
    fn both<A: Send, B: Send>(&self, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B);
}

/// One after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct InTurn;

impl Both for InTurn {
    fn both<A: Send, B: Send>(&self, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
        (a(), b())
    }
}

/// The number after that of the last of the first `stated` packets that were sent, of these singletons in order of number. Where
/// there is none for any packet that was lost, and numbers are missing, packets count from 0; else from the first there is.
/// Numbers that begin beyond `stated` begin anywhere.
pub fn calibrated_until(singletons: &[OneWaySingleton], stated: u64) -> u64 {
    let Some(first) = singletons.first() else { return stated };
    // A file that has no line for what was lost has no departure of it.
    let lines = || singletons.iter().filter(|singleton| singleton.departure.is_some());
    let whole = || {
        lines().zip(lines().skip(1)).all(|(one, next)| next.sequence.saturating_sub(one.sequence) <= 1)
            || lines().any(|singleton| singleton.fate == Fate::Lost)
    };
    let from = if first.sequence < stated && !whole() { 0 } else { first.sequence };
    from.saturating_add(stated)
}

/// The singletons of the first `stated` packets that were sent, whether they arrived or not: in order of number, as they are.
pub fn for_calibration(singletons: &[OneWaySingleton], stated: u64) -> &[OneWaySingleton] {
    let until = calibrated_until(singletons, stated);
    &singletons[..singletons.partition_point(|singleton| singleton.sequence < until)]
}

/// Estimates the clocks of two directions. Packets without both stamps say nothing. With calibration packets, the methods that
/// take them use the first so many that were sent, of which those that came count.
pub fn estimate(
    request: &SkewRequest,
    forward: &[OneWaySingleton],
    reverse: &[OneWaySingleton],
    workers: &impl Both,
) -> Estimate {
    let method = method_of(request);
    let stated = request.calibration.filter(|_| method.takes_calibration());
    let (all, mut estimator) = ([forward, reverse], Estimator::new(method, None));
    let calibrating =
        all.map(|singletons| stated.map_or(singletons, |stated| for_calibration(singletons, stated)));
    let [forward, reverse] = match (&method, stated) {
        // A clock jumps after its calibration, too.
        (Method::LeastAbsoluteJumps, Some(_)) => {
            let came = |singletons: &[OneWaySingleton]| singletons.iter().filter_map(stamps).count() as u64;
            estimator = Estimator::calibrated(method, calibrating.map(came));
            all
        }
        _ => calibrating,
    };
    // The first packet of each direction is what the others are counted from.
    let mut rest = [&[][..]; 2];
    for ((heading, singletons), rest) in Direction::BOTH.into_iter().zip([forward, reverse]).zip(&mut rest) {
        let first = singletons.iter().position(|singleton| stamps(singleton).is_some());
        let (first, others) = singletons.split_at(first.map_or(singletons.len(), |first| first + 1));
        push(&mut estimator, heading, &first[first.len().saturating_sub(1)..]);
        *rest = others;
    }
    let [there, back] = rest;
    let Some(mut other) = estimator.fork() else {
        push(&mut estimator, Direction::Forward, there);
        push(&mut estimator, Direction::Reverse, back);
        return estimator.estimate();
    };
    let total = there.len() + back.len();
    let (near, far) = there.split_at(there.len().min(total / 2));
    let (first, last) = back.split_at((total / 2).saturating_sub(near.len()).min(back.len()));
    workers.both(
        || {
            push(&mut estimator, Direction::Forward, near);
            push(&mut estimator, Direction::Reverse, first);
        },
        || {
            push(&mut other, Direction::Forward, far);
            push(&mut other, Direction::Reverse, last);
        },
    );
    estimator.absorb(other);
    estimator.estimate()
}

fn push(estimator: &mut Estimator, heading: Direction, singletons: &[OneWaySingleton]) {
    for (departure, arrival) in singletons.iter().filter_map(stamps) {
        estimator.push(heading, departure, arrival);
    }
}

/// The difference of a singleton's stamps without the correction.
fn corrected(singleton: &OneWaySingleton, heading: Direction, correction: &Correction) -> Option<i128> {
    let raw = across(singleton.departure?, singleton.arrival?);
    Some(raw - i128::from(correction.at(moment(singleton, heading)?)))
}

/// The times around jumps and sudden changes of rate, those of slews, and the short times between two changes, on the sender's clock. In a direction
/// whose queue is never empty the least packet may lie anywhere, so that there it is no more than the times around the jumps.
fn changes(singletons: &[OneWaySingleton], heading: Direction, estimate: &Estimate) -> Vec<[i64; 2]> {
    /// A jump by so many nanoseconds, and a change of rate by so much: a rate that wanders has smaller ones.
    const JUMP: f64 = 1_000.0;
    const TURN: f64 = 20e-6;
    /// A time between two changes is short below one in so many of the longest.
    const SHORT: i64 = 3;
    /// A slew may have begun so much earlier, and ended so much later, as a part of its length.
    const WIDER: i64 = 4;
    let correction = estimate.correction(heading);
    let moments = || singletons.iter().filter_map(|singleton| moment(singleton, heading));
    // Also those that are out of the stamps already.
    let steps = estimate.events.iter().filter(|event| event.kind == ChangeKind::ClockStep);
    let steps: Vec<i64> = steps.map(|step| step.at_ns).collect();
    if correction.legs.len() < 2 && steps.is_empty() {
        return Vec::new();
    }
    let (Some(first), Some(last)) = (moments().min(), moments().max()) else { return Vec::new() };
    let is_full = estimate.is_full(heading);
    let near = last.saturating_sub(first) / if is_full { 200 } else { 100 };
    let sudden = |pair: &&[Leg]| {
        let [before, after] = [pair[0], pair[1]];
        // Beside a turn a correction is off by far less than such a queue varies.
        before.jump_to(&after).abs() >= JUMP || !is_full && (after.slope - before.slope).abs() >= TURN
    };
    let sudden = correction.legs.windows(2).filter(sudden);
    let at = sudden.map(|pair| correction.origin_ns.saturating_add(pair[1].from_ns));
    let bounds: Vec<i64> = core::iter::once(first).chain(at).chain([last]).collect();
    let longest = bounds.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap_or(0);
    let short = bounds.windows(2).filter(|pair| pair[1].saturating_sub(pair[0]) < longest / SHORT);
    let around = |at: &i64| [at.saturating_sub(near), at.saturating_add(near)];
    let inner = bounds.get(1..bounds.len() - 1).unwrap_or_default();
    let slews = estimate.events.iter().filter(|event| event.kind == ChangeKind::Slew);
    let slews = slews.filter_map(|slew| {
        let until = slew.until_ns?;
        let wider = near.max(until.saturating_sub(slew.at_ns) / WIDER);
        Some([slew.at_ns.saturating_sub(wider), until.saturating_add(wider)])
    });
    let longer = short.map(|pair| [pair[0], pair[1]]).chain(slews).filter(|_| !is_full);
    inner.iter().chain(&steps).map(around).chain(longer).collect()
}

/// The least corrected differences: of the packets that count, and of all.
type Least = [Option<i128>; 2];

fn lesser(a: Least, b: Least) -> Least {
    let least = |place: usize| a[place].into_iter().chain(b[place]).min();
    [least(0), least(1)]
}

/// By how much the least delay may be another than what [`correct`] takes for it, or a packet has been cut to it, nanoseconds: what lies next to a
/// change may be lower than all else, because it is, or because it was corrected too much.
fn in_doubt(singletons: &[OneWaySingleton], heading: Direction, estimate: &Estimate) -> f64 {
    let doubtful = changes(singletons, heading, estimate);
    if doubtful.is_empty() {
        return 0.0;
    }
    let correction = estimate.correction(heading);
    let least = singletons.iter().filter_map(|singleton| {
        let one = corrected(singleton, heading, correction)?;
        let at = moment(singleton, heading)?;
        Some([Some(one).filter(|_| !is_within(&doubtful, at)), Some(one)])
    });
    match least.fold([None; 2], lesser) {
        [Some(sure), Some(any)] => (sure - any) as f64,
        _ => 0.0,
    }
}

fn is_within(spans: &[[i64; 2]], at: i64) -> bool {
    spans.iter().any(|[begin, end]| (*begin..=*end).contains(&at))
}

/// Takes the clocks' error out of the delays of one direction: they become what is above the least one, or 0 where they
/// were corrected too much. Gives the least corrected difference of the stamps.
///
/// What lies next to a change of the clock, or within a slew, may be corrected too much, because when exactly the change
/// began or ended is not known: it does not count for the least, unless there is nothing else.
pub fn correct(
    singletons: &mut [OneWaySingleton],
    heading: Direction,
    estimate: &Estimate,
    workers: &impl Both,
) -> Option<i128> {
    let correction = estimate.correction(heading);
    let doubtful = changes(singletons, heading, estimate);
    let (one, other) = singletons.split_at_mut(singletons.len() / 2);
    let fill = |singletons: &mut [OneWaySingleton]| fill(singletons, heading, correction, &doubtful);
    let (a, b) = workers.both(|| fill(one), || fill(other));
    let [sure, any] = lesser(a, b);
    let base = match (sure, any) {
        // Of a full queue many packets beside a jump may be lower than all others; of what the jump put wrong there are few.
        (Some(sure), Some(any)) if estimate.is_full(heading) => {
            let lower = |singleton: &&OneWaySingleton| {
                singleton.delay.is_some_and(|delay| i128::from(delay.as_nanos()) < sure)
            };
            Some(if singletons.iter().filter(lower).count() > STRAY { any } else { sure })
        }
        _ => sure.or(any),
    };
    let (one, other) = singletons.split_at_mut(singletons.len() / 2);
    let settle =
        |singletons: &mut [OneWaySingleton]| settle(singletons, heading, correction, base.unwrap_or(0));
    workers.both(|| settle(one), || settle(other));
    base
}

/// Puts the corrected differences where the delays belong, so far as they fit, and gives the least of them.
fn fill(
    singletons: &mut [OneWaySingleton],
    heading: Direction,
    correction: &Correction,
    doubtful: &[[i64; 2]],
) -> Least {
    let mut least = [None; 2];
    for singleton in singletons {
        let corrected = corrected(singleton, heading, correction);
        singleton.delay = corrected.and_then(length);
        if corrected.is_none() {
            continue;
        }
        let doubted =
            !doubtful.is_empty() && moment(singleton, heading).is_some_and(|at| is_within(doubtful, at));
        least = lesser(least, [corrected.filter(|_| !doubted), corrected]);
    }
    least
}

/// Makes delays of what [`fill`] has put there.
fn settle(singletons: &mut [OneWaySingleton], heading: Direction, correction: &Correction, base: i128) {
    for singleton in singletons {
        let there = match singleton.delay {
            Some(delay) => Some(i128::from(delay.as_nanos())),
            // What does not fit by itself may fit above the least.
            None => corrected(singleton, heading, correction),
        };
        singleton.delay = there.map(|nanos| (nanos - base).max(0)).and_then(length);
        if let (Some(delay), Some(at)) = (singleton.delay, moment(singleton, heading)) {
            let more = correction.more(at, heading, delay.as_nanos());
            singleton.delay = length(i128::from(delay.as_nanos().saturating_sub(more).max(0)));
        }
    }
}

/// What a rate of more than [`PLAUSIBLE_PPM`] is, by each direction alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attribution {
    /// Both directions show it equal and opposite: it is the clocks'.
    Clocks,
    /// They do not: the least delay of one of them changes.
    Path,
    /// There is one direction only, or it was not asked for.
    Open,
}

/// Whose a rate is that is too large for clocks as a rule.
fn attribution(
    request: &SkewRequest,
    [forward, reverse]: [&[OneWaySingleton]; 2],
    workers: &impl Both,
) -> Attribution {
    /// Rates are equal within so many half widths of both intervals.
    const WITHIN: f64 = 2.0;
    let alone = [(forward, &[][..]), (&[][..], reverse)]
        .map(|(forward, reverse)| estimate(request, forward, reverse, workers).skew);
    let [Some(one), Some(other)] = alone else { return Attribution::Open };
    let half = |skew: Skew| (skew.interval_ppm[1] - skew.interval_ppm[0]) / 2.0;
    let alike = (one.ppm - other.ppm).abs() <= WITHIN * (half(one) + half(other));
    if alike { Attribution::Clocks } else { Attribution::Path }
}

/// Why a skew is not to be believed, or of no use.
fn doubt(skew: &Skew, coarse_ns: f64, attribution: impl FnOnce() -> Attribution) -> Option<SkewUnknown> {
    let half = (skew.interval_ppm[1] - skew.interval_ppm[0]) / 2.0;
    if !half.is_finite() {
        Some(SkewUnknown::UncertaintyUnknown { skew_ppm: skew.ppm })
    } else if let Some(why) = too_fast(skew.ppm, attribution) {
        Some(why)
    } else {
        (half > USELESS_PPM).then(|| SkewUnknown::RunTooShort {
            skew_ppm: skew.ppm,
            error_ppm: half,
            resolution_ns: (coarse_ns > 0.0).then(|| rounded(coarse_ns)),
        })
    }
}

/// Why a rate of clocks is too large to be believed, if it is.
fn too_fast(skew_ppm: f64, attribution: impl FnOnce() -> Attribution) -> Option<SkewUnknown> {
    if skew_ppm.abs() <= PLAUSIBLE_PPM {
        return None;
    }
    match attribution() {
        Attribution::Clocks => {
            (skew_ppm.abs() > STEERED_PPM).then_some(SkewUnknown::RateImpossible { skew_ppm })
        }
        Attribution::Path => Some(SkewUnknown::RateOfPath { skew_ppm }),
        Attribution::Open => Some(SkewUnknown::RateAmbiguous { skew_ppm }),
    }
}

/// What an estimator that goes on can say by now: the figure of [`usable`], as far as the packets have come.
pub fn so_far(estimator: &Estimator) -> ClockSoFar {
    let estimate = estimator.estimate();
    let doubt = estimate.skew.as_ref().and_then(|skew| doubt(skew, estimate.coarse_ns, || Attribution::Open));
    let skew = estimate.skew.filter(|_| doubt.is_none());
    ClockSoFar {
        method: shown(estimator.method()),
        skew_ppm: skew.map(|skew| skew.ppm),
        skew_interval_ppm: skew.map(|skew| skew.interval_ppm),
        why_not: doubt.or(estimate.why_not),
        revision_ns: None,
    }
}

/// The method by its own name.
fn shown(method: Method) -> String {
    if method == Method::Best { Method::Piecewise.to_string() } else { method.to_string() }
}

/// The [`estimate`], with the jumps of its corrections between the two packets where they belong.
pub fn sharpened(
    request: &SkewRequest,
    forward: &[OneWaySingleton],
    reverse: &[OneWaySingleton],
    workers: &impl Both,
) -> Estimate {
    let mut found = estimate(request, forward, reverse, workers);
    for ((correction, heading), singletons) in
        found.corrections.iter_mut().zip(Direction::BOTH).zip([forward, reverse])
    {
        // Where the queue is never empty, packets tell less of a jump's moment than those of the other direction.
        if found.full != Some(heading) {
            sharpen(correction, heading, singletons.iter().filter_map(stamps));
        }
    }
    dated::by_the_other(&mut found, forward, reverse);
    found.date_steps();
    path_dates::by_packets(&mut found, forward, reverse);
    in_pauses(&mut found, forward);
    found
}

/// That more packets are stated to be for calibration than were sent in either direction, where that is so.
fn fewer_than_stated(
    request: &SkewRequest,
    directions: [&[OneWaySingleton]; 2],
) -> Option<MeasurementWarning> {
    let stated = request.calibration.filter(|_| method_of(request).takes_calibration())?;
    let sent = |singletons: &[OneWaySingleton]| {
        let (first, last) = (singletons.first()?, singletons.last()?);
        Some((last.sequence - first.sequence).saturating_add(1))
    };
    let sent = directions.into_iter().filter_map(sent).max().filter(|sent| *sent < stated)?;
    Some(MeasurementWarning::CalibrationPacketsMissing { stated, sent })
}

/// That the first window is most of what Khlifi's mean holds, where it is: of few windows, which say little of each other.
fn few_windows(request: &SkewRequest, directions: [&[OneWaySingleton]; 2]) -> Option<MeasurementWarning> {
    /// A greater share of the first window is told.
    const MOST: f64 = 0.5;
    let Method::Khlifi { window, weight } = method_of(request) else { return None };
    let span = |(singletons, heading): (&[OneWaySingleton], Direction)| {
        let mut moments =
            singletons.iter().filter(|one| stamps(one).is_some()).filter_map(|one| moment(one, heading));
        let first = moments.next()?;
        let (low, high) = moments.fold((first, first), |(low, high), at| (low.min(at), high.max(at)));
        Some(high.saturating_sub(low))
    };
    let span = directions.into_iter().zip(Direction::BOTH).filter_map(span).max()?;
    // What is left over at the end is a window from half of one on.
    let windows = (span.saturating_add(window.as_nanos() / 2) / window.as_nanos()).max(1);
    let share = weight.powi(i32::try_from(windows.saturating_sub(1)).unwrap_or(i32::MAX));
    (share > MOST).then(|| MeasurementWarning::SkewWindowsFew {
        window_ns: window.as_nanos(),
        windows,
        first_weight_ratio: share,
    })
}

/// An estimate whose corrections can be trusted, with warnings of what is left out and why.
pub fn usable(
    request: &SkewRequest,
    forward: &[OneWaySingleton],
    reverse: &[OneWaySingleton],
    workers: &impl Both,
) -> (Estimate, Vec<MeasurementWarning>) {
    let mut found = sharpened(request, forward, reverse, workers);
    let mut warnings = Vec::new();
    if let Some(skew) = found.skew {
        let mut attributed = None;
        let why = doubt(&skew, found.coarse_ns, || {
            *attributed.insert(attribution(request, [forward, reverse], workers))
        });
        let beyond = Some(skew).filter(|_| attributed == Some(Attribution::Clocks));
        match why {
            Some(why) => {
                found = Estimate { coarse_ns: found.coarse_ns, beyond, ..Estimate::refused(why) };
            }
            None => found.beyond = beyond,
        }
    }
    warnings.extend(fewer_than_stated(request, [forward, reverse]));
    warnings.extend(few_windows(request, [forward, reverse]).filter(|_| found.why_not.is_none()));
    warnings.extend(found.remarks.iter().cloned());
    let all = || forward.iter().chain(reverse);
    // Of packets of which none arrived nothing is asked of the clocks.
    if let Some(why) = &found.why_not
        && all().any(|singleton| singleton.fate == Fate::Arrived)
    {
        let both = |singleton: &OneWaySingleton| singleton.departure.is_some() && singleton.arrival.is_some();
        warnings.push(MeasurementWarning::SkewNotIdentifiable {
            unknown: why.clone(),
            skew_included: all().any(both),
        });
        let raw = |singleton: &OneWaySingleton| Some(across(singleton.departure?, singleton.arrival?));
        if let Some(movement) = opposite_movement([forward, reverse], raw) {
            warnings.push(MeasurementWarning::ClockMovementIncluded { movement_ns: rounded(movement) });
        }
    }
    (found, warnings)
}

/// Singletons of both directions whose responder's clock does not go back, with the estimate of their clocks.
#[derive(Debug)]
pub struct Continuous {
    /// Forward and reverse. Which singleton is the first of its packet may be another than it was before.
    pub singletons: [Vec<OneWaySingleton>; 2],
    /// The estimate of these singletons.
    pub estimate: Estimate,
    /// The steps back that were removed.
    pub set_back: SetBack,
    /// What is left out of the estimate and why.
    pub warnings: Vec<MeasurementWarning>,
}

/// The [`usable`] estimate, after the steps back of the responder's clock are removed from the stamps.
pub fn continuous(
    request: &SkewRequest,
    singletons: [Vec<OneWaySingleton>; 2],
    workers: &impl Both,
) -> Continuous {
    let estimated = usable(request, &singletons[0], &singletons[1], workers);
    remove_steps_back(request, estimated, singletons, workers)
}

/// Removes the steps back of the responder's clock from stamps whose `estimated` clocks are at hand.
pub fn remove_steps_back(
    request: &SkewRequest,
    (mut estimate, warnings): (Estimate, Vec<MeasurementWarning>),
    singletons: [Vec<OneWaySingleton>; 2],
    workers: &impl Both,
) -> Continuous {
    let [forward, reverse] = &singletons;
    let by_floors = matches!(method_of(request), Method::Piecewise | Method::Best) && estimate.skew.is_some();
    if by_floors {
        let set_back = SetBack::take_out(&mut estimate, forward, reverse);
        return Continuous { singletons: set_back.undo_both(singletons), estimate, set_back, warnings };
    }
    if !go_back(forward) {
        return Continuous { singletons, estimate, set_back: SetBack::default(), warnings };
    }
    // Other methods report no steps, or not of both directions. The order is another without the steps all the same.
    let mut floors = sharpened(&SkewRequest::default(), forward, reverse, workers);
    let set_back = SetBack::take_out(&mut floors, forward, reverse);
    if set_back.is_empty() {
        return Continuous { singletons, estimate, set_back, warnings };
    }
    let singletons = set_back.undo_both(singletons);
    let (mut estimate, warnings) = usable(request, &singletons[0], &singletons[1], workers);
    set_back.tell(&floors, &mut estimate);
    Continuous { singletons, estimate, set_back, warnings }
}

/// Whether arrivals of packets that were sent one after another go back.
fn go_back(forward: &[OneWaySingleton]) -> bool {
    let mut arrivals = forward.iter().filter(|one| one.copy == 0).filter_map(|one| one.arrival);
    let later = arrivals.clone().skip(1);
    arrivals.by_ref().zip(later).any(|(one, next)| next < one)
}

/// What the document says of the clocks, of singletons whose delays are [corrected](correct). The bounds of the offset are those of the moment
/// of the first packet: no packet may have arrived before it left, or before the least time that a way is known to take. Where that
/// time contradicts the packets, it is not used, and a warning says so. `least` are the least corrected differences of both
/// directions, as [`correct`] gives them.
pub fn state(
    request: &SkewRequest,
    estimate: &Estimate,
    forward: &[OneWaySingleton],
    reverse: &[OneWaySingleton],
    least: [Option<i128>; 2],
) -> (ClockState, Option<MeasurementWarning>) {
    let error = [(Direction::Forward, forward), (Direction::Reverse, reverse)]
        .into_iter()
        .flat_map(|(heading, singletons)| {
            let ends = singletons.first().into_iter().chain(singletons.last());
            let at_ends = ends.filter_map(move |singleton| {
                Some(estimate.correction(heading).error_at(moment(singleton, heading)?))
            });
            at_ends.chain(estimate.skew.map(|_| in_doubt(singletons, heading, estimate)))
        })
        .chain(opposite_movement([forward, reverse], |singleton| Some(singleton.delay?.as_nanos().into())))
        .fold(estimate.coarse_ns, f64::max);
    let (offset_bounds_ns, warning) = bounds(request, estimate, [forward, reverse], least);
    let method = method_of(request);
    let clock = ClockState {
        method: shown(method),
        synchronisation: None,
        calibration_packets: request.calibration.filter(|_| method.takes_calibration()),
        identifiable: estimate.skew.is_some(),
        skew_ppm: estimate.skew.map(|skew| skew.ppm),
        skew_interval_ppm: estimate.skew.map(|skew| skew.interval_ppm),
        offset_bounds_ns,
        delay_error_ns: estimate.skew.map(|_| error),
        events: estimate.events.iter().map(|event| told(event, estimate)).collect(),
    };
    (clock, warning)
}

fn told(event: &ClockChange, estimate: &Estimate) -> ClockEvent {
    let origin = estimate.correction(Direction::Forward).origin_ns;
    let since = |moment: i64| moment.saturating_sub(origin);
    // Both ways a packet's time on its way is seen by the responder's clock, and delays are told by the sender's.
    let size_ns = match (event.kind, &estimate.skew) {
        (ChangeKind::PathChange, Some(skew)) => rounded(event.size_ns as f64 / (1.0 + skew.ppm / 1e6)),
        _ => event.size_ns,
    };
    ClockEvent {
        at_ns: since(event.at_ns),
        until_ns: event.until_ns.map(since),
        kind: event.kind.name().into(),
        direction: Some(match (event.kind, event.heading) {
            (ChangeKind::PathChange, Some(heading)) => heading.name().into(),
            _ => "both".into(),
        }),
        alternative_kind: event.may_be.map(|kind| kind.name().into()),
        size_ns: Some(size_ns),
        size_interval_ns: (event.error_ns > 0.0 && event.error_ns.is_finite()).then(|| {
            let half = rounded(event.error_ns);
            [size_ns.saturating_sub(half), size_ns.saturating_add(half)]
        }),
    }
}
