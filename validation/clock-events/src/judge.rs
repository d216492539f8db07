//! Comparison of one estimate with the truth of its play.

use romer_clock::skew::{ChangeKind, ClockChange, Continuous, InTurn, continuous, correct, state};
use romer_record::manifest::SkewRequest;
use romer_record::{Fate, Leaving, OneWaySingleton};
use romer_units::{Direction, Timestamp};

use crate::play::{Change, Kind, Play, Probe};

/// How near an event must be to a true change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tolerance {
    /// Time of a change that comes at once, seconds.
    pub(crate) time_s: f64,
    /// Least tolerance of a size, seconds; a fifth of the size is always tolerated.
    pub(crate) size_s: f64,
}

/// Share of a size that is tolerated.
const SIZE_SHARE: f64 = 0.2;
/// Share of a slew's duration by which its begin and its end may be off, besides [`Tolerance::time_s`].
const SLEW_SHARE: f64 = 0.3;
/// Delays have whole nanoseconds, and so have stamps.
const ROUNDING_NS: f64 = 2.0;

/// Events of one kind in one play or in several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    /// True changes.
    pub(crate) truths: usize,
    /// Events of the estimate.
    pub(crate) events: usize,
    /// Events that are true changes, within the tolerance.
    pub(crate) matched: usize,
    /// True changes that are reported with another kind and with this kind as alternative.
    pub(crate) open: usize,
}

impl Counts {
    /// Adds those of another play.
    pub(crate) fn add(&mut self, other: Self) {
        self.truths += other.truths;
        self.events += other.events;
        self.matched += other.matched;
        self.open += other.open;
    }
}

/// What is compared of delays, if the skew was estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Delays {
    /// Largest error of a corrected delay, nanoseconds.
    pub(crate) worst_ns: f64,
    /// Stated error, nanoseconds.
    pub(crate) stated_ns: f64,
    /// Share of delays with an error above the stated one.
    pub(crate) beyond: f64,
    /// Root of the mean square of the error about its mean, the worse direction, nanoseconds.
    pub(crate) rms_ns: f64,
}

/// One estimate compared with the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// Seed of the play.
    pub(crate) seed: u32,
    /// Error of the rate and bounds of its interval relative to the truth, ppm; `None` if the skew was refused.
    pub(crate) rate: Option<(f64, [f64; 2])>,
    /// Events by kind, in the order of [`Kind::ALL`].
    pub(crate) counts: [Counts; 4],
    /// Errors of delays.
    pub(crate) delays: Option<Delays>,
    /// Whether the bounds of the offset contain it; `None` if there are none.
    pub(crate) bounded: Option<bool>,
}

impl Outcome {
    /// Whether exactly the true changes are reported.
    pub(crate) fn is_exact(&self) -> bool {
        self.counts.iter().all(|counts| counts.truths == counts.matched && counts.events == counts.matched)
    }
}

/// Compares the estimate of a method with the truth of a play.
pub(crate) fn judge(method: &str, play: &Play, seed: u32, tolerance: Tolerance) -> Outcome {
    let request = SkewRequest { method: method.into(), ..SkewRequest::default() };
    let Continuous { estimate, singletons: mut ways, .. } =
        continuous(&request, play.probes.each_ref().map(|probes| singletons(probes)), &InTurn);
    let [forward, reverse] = &mut ways;
    let least = [
        correct(forward, Direction::Forward, &estimate, &InTurn),
        correct(reverse, Direction::Reverse, &estimate, &InTurn),
    ];
    let clock = state(&request, &estimate, forward, reverse, least).0;
    let rate = estimate.skew.map(|skew| {
        let about = |ppm: f64| ppm - play.skew_ppm;
        (about(skew.ppm), skew.interval_ppm.map(about))
    });
    let delays = clock.delay_error_ns.map(|stated| delays(play, &ways, stated));
    let bounded = clock.offset_bounds_ns.zip(play.probes[0].first()).map(|([low, high], probe)| {
        (low as f64) <= probe.ahead_ns + ROUNDING_NS && probe.ahead_ns - ROUNDING_NS <= high as f64
    });
    Outcome { seed, rate, counts: counts(&play.changes, &estimate.events, tolerance), delays, bounded }
}

fn singletons(probes: &[Probe]) -> Vec<OneWaySingleton> {
    let one = |(sequence, probe): (u64, &Probe)| OneWaySingleton {
        sequence,
        copy: 0,
        size: 64,
        fate: Fate::Arrived,
        departure: Some(Timestamp::from_nanos(probe.departure_ns)),
        arrival: Some(Timestamp::from_nanos(probe.arrival_ns)),
        delay: None,
        ttl: None,
        tos: None,
        leaving: Leaving::UNKNOWN,
    };
    (0..).zip(probes).map(one).collect()
}

fn delays(play: &Play, ways: &[Vec<OneWaySingleton>; 2], stated_ns: f64) -> Delays {
    let mut found = Delays { worst_ns: 0.0, stated_ns, beyond: 0.0, rms_ns: 0.0 };
    let (mut all, mut beyond) = (0_usize, 0_usize);
    for (probes, singletons) in play.probes.iter().zip(ways) {
        let least = probes.iter().map(|probe| probe.delay_ns).fold(f64::INFINITY, f64::min);
        let errors = singletons.iter().filter_map(|singleton| {
            let truth = probes.get(usize::try_from(singleton.sequence).ok()?)?.delay_ns - least;
            Some(singleton.delay?.as_nanos() as f64 - truth)
        });
        let errors: Vec<f64> = errors.collect();
        let number = errors.len().max(1) as f64;
        let mean = errors.iter().sum::<f64>() / number;
        let square = errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / number;
        found.rms_ns = found.rms_ns.max(square.sqrt());
        found.worst_ns = errors.iter().map(|error| error.abs()).fold(found.worst_ns, f64::max);
        beyond += errors.iter().filter(|error| error.abs() > stated_ns + ROUNDING_NS).count();
        all += errors.len();
    }
    found.beyond = beyond as f64 / all.max(1) as f64;
    found
}

/// The kind of an event.
fn kind(event: &ClockChange) -> Kind {
    match (event.kind, event.heading) {
        (ChangeKind::ClockStep, _) => Kind::ClockStep,
        (ChangeKind::Slew, _) => Kind::Slew,
        (ChangeKind::PathChange, Some(Direction::Reverse)) => Kind::PathReverse,
        (ChangeKind::PathChange, _) => Kind::PathForward,
    }
}

/// Whether an event may be of a kind, by its alternative.
fn may_be(event: &ClockChange, kind: Kind) -> bool {
    let own = match kind {
        Kind::ClockStep => ChangeKind::ClockStep,
        Kind::Slew => ChangeKind::Slew,
        Kind::PathForward | Kind::PathReverse => ChangeKind::PathChange,
    };
    event.may_be == Some(own)
}

/// How far apart an event and a change are in time, nanoseconds; `None` beyond the tolerance.
fn distance(change: &Change, event: &ClockChange, tolerance: Tolerance) -> Option<f64> {
    let [first, last] = change.from_ns;
    let begin = (first - event.at_ns).max(event.at_ns - last).max(0) as f64;
    let end = match (change.until_ns, event.until_ns) {
        (Some(truth), until) => truth.abs_diff(until.unwrap_or(event.at_ns)) as f64,
        (None, Some(until)) => until.abs_diff(event.at_ns) as f64,
        (None, None) => 0.0,
    };
    let lasts = change.until_ns.map_or(0.0, |until| (until - first) as f64);
    let apart = begin.max(end);
    (apart <= tolerance.time_s * 1e9 + SLEW_SHARE * lasts).then_some(apart)
}

fn is_as_large(change: &Change, event: &ClockChange, tolerance: Tolerance) -> bool {
    let most = (SIZE_SHARE * change.size_ns.abs()).max(tolerance.size_s * 1e9);
    (event.size_ns as f64 - change.size_ns).abs() <= most
}

/// Counts events by kind. Each change takes the nearest event of its kind that no other change has.
pub(crate) fn counts(changes: &[Change], events: &[ClockChange], tolerance: Tolerance) -> [Counts; 4] {
    let mut counts = [Counts::default(); 4];
    let mut is_taken = vec![false; events.len()];
    let place = |kind: Kind| Kind::ALL.iter().position(|one| *one == kind).unwrap_or(0);
    for event in events {
        counts[place(kind(event))].events += 1;
    }
    for change in changes {
        let nearest = |fits: &dyn Fn(&ClockChange) -> bool, is_taken: &[bool]| {
            let near = events.iter().enumerate().filter(|(index, event)| !is_taken[*index] && fits(event));
            near.filter_map(|(index, event)| Some((index, distance(change, event, tolerance)?)))
                .min_by(|one, other| one.1.total_cmp(&other.1))
                .map(|(index, _)| index)
        };
        let own = &mut counts[place(change.kind)];
        own.truths += 1;
        let is_own =
            |event: &ClockChange| kind(event) == change.kind && is_as_large(change, event, tolerance);
        if let Some(index) = nearest(&is_own, &is_taken) {
            is_taken[index] = true;
            own.matched += 1;
        } else if let Some(index) = nearest(&|event| may_be(event, change.kind), &is_taken) {
            is_taken[index] = true;
            own.open += 1;
        }
    }
    counts
}
