//! Steps of a host's clock, and pauses: found by comparing its clocks, and taken out of the stamps.

use core::ops::RangeInclusive;

use romer_record::event::{ClockStep, Event, EventKind, EventLocation};
use romer_record::manifest::ClockRelation;
use romer_record::{RoundTrip, Stamps};
use romer_units::{Clock, Timestamp};

/// A program that looks often and has not looked for so long has stood still, in nanoseconds.
pub const PAUSE_NS: i64 = 1_000_000_000;
/// Smaller steps are taken for the clock's own slewing and the error of reading it.
const LEAST_STEP_NS: i64 = 200_000;
/// A clock is slewed by at most a 2000th (`adjtimex`); twice that is allowed for.
const SLEW_DIVISOR: i64 = 1_000;
/// What one probe's delay may differ from all the others' besides half their range.
const SLACK_NS: i64 = 1_000_000;
/// Where several epochs fit by that, so many certain probes before and after tell what the delay is there.
const BESIDE: usize = 32;

/// A host's clocks at one moment, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReadings {
    /// The clock of the stamps.
    pub realtime: i64,
    /// The clock that nobody sets, and that stands still while the host is suspended.
    pub monotonic: i64,
    /// The clock that nobody sets, and that does not stand still.
    pub boottime: i64,
    /// The readings may lie so far apart.
    pub within: i64,
}

/// What a look at the clocks has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockChange {
    /// The real-time clock was set.
    Step(ClockStep),
    /// The host was suspended for so many nanoseconds.
    Suspended(i64),
    /// Nobody looked for so many nanoseconds.
    Paused(i64),
}

/// Compares a host's clocks from one look to the next.
#[derive(Clone, Copy, Debug)]
pub struct ClockWatch {
    last: ClockReadings,
}

impl ClockWatch {
    /// Begins with the first look.
    pub const fn new(first: ClockReadings) -> Self {
        Self { last: first }
    }

    /// Looks again, and says what has happened since.
    pub fn look(&mut self, now: ClockReadings) -> Vec<ClockChange> {
        let last = std::mem::replace(&mut self.last, now);
        let apart = last.within.saturating_add(now.within);
        let elapsed = now.boottime.saturating_sub(last.boottime);
        let awake = now.monotonic.saturating_sub(last.monotonic);
        let size_ns = now.realtime.saturating_sub(last.realtime).saturating_sub(elapsed);
        let mut changes = Vec::new();
        let suspended = elapsed.saturating_sub(awake);
        if suspended > apart.saturating_add(LEAST_STEP_NS) {
            changes.push(ClockChange::Suspended(suspended));
        }
        if awake > PAUSE_NS {
            changes.push(ClockChange::Paused(awake));
        }
        let error = apart.saturating_add(elapsed / SLEW_DIVISOR);
        if size_ns.saturating_abs() > error.saturating_add(LEAST_STEP_NS) {
            let step = ClockStep {
                size_ns,
                size_interval_ns: Some([size_ns.saturating_sub(error), size_ns.saturating_add(error)]),
                before_ns: last.realtime,
                after_ns: now.realtime,
            };
            changes.push(ClockChange::Step(step));
        }
        changes
    }
}

/// The steps of one clock, in order; between them lie its epochs, counted from 0.
struct Epochs(Vec<ClockStep>);

impl Epochs {
    fn from_events(events: &[Event], location: EventLocation) -> Self {
        let own =
            events.iter().filter(|event| event.kind == EventKind::ClockStep && event.location == location);
        Self(own.filter_map(|event| event.step).collect())
    }

    /// The epochs in which a stamp may have been taken.
    fn candidates(&self, stamp: i64) -> Vec<usize> {
        let after = |epoch: usize| {
            let step = epoch.checked_sub(1).and_then(|before| self.0.get(before));
            step.is_none_or(|step| stamp >= step.before_ns.saturating_add(step.size_ns))
        };
        let before = |epoch: usize| {
            self.0.get(epoch).is_none_or(|step| stamp <= step.after_ns.saturating_sub(step.size_ns))
        };
        (0..=self.0.len()).filter(|epoch| after(*epoch) && before(*epoch)).collect()
    }

    /// Whether a step may be why a stamp is below the one before it.
    fn goes_back(&self, before: i64, after: i64) -> bool {
        let may_be = |step: &&ClockStep| {
            step.size_ns < 0
                && before >= step.before_ns.saturating_add(step.size_ns)
                && after <= step.after_ns.saturating_sub(step.size_ns)
        };
        let set = self.0.iter().filter(may_be).fold(0_i64, |set, step| set.saturating_add(step.size_ns));
        after < before && set < 0 && after.saturating_sub(before) >= set.saturating_sub(SLACK_NS)
    }

    /// Where stamps one after another are on either side of a step back: as many places as there are such steps, and those where they go
    /// back most, for stamps that are not in order by themselves do so, too.
    fn backs(&self, stamps: &[Option<i64>]) -> Vec<bool> {
        let mut places = vec![false; stamps.len()];
        let steps = self.0.iter().filter(|step| step.size_ns < 0).count();
        let known: Vec<(usize, i64)> =
            stamps.iter().enumerate().filter_map(|(place, stamp)| Some((place, (*stamp)?))).collect();
        let pairs = known.windows(2).map(|pair| (pair[0].1, pair[1]));
        let mut backs: Vec<(i64, usize)> = pairs
            .filter(|(before, (_, after))| self.goes_back(*before, *after))
            .map(|(before, (place, after))| (after.saturating_sub(before), place))
            .collect();
        backs.sort_unstable();
        backs.iter().take(steps).for_each(|(_, place)| places[*place] = true);
        places
    }

    /// What the clock would have shown, had it not been set.
    fn undo(&self, stamp: i64, epoch: usize) -> i64 {
        self.0.iter().take(epoch).fold(stamp, |stamp, step| stamp.saturating_sub(step.size_ns))
    }
}

/// Takes the steps of both hosts' clocks out of the stamps of `rows`, which are in order of sequence and copy: they
/// then read as if no clock had been set since before the first of them. A stamp of which it cannot be told whether it
/// was taken before a step or after is left out. Gives how many moments were.
///
/// Probes leave one after another, so that a departure stamp below the one before it, or one that only one side of the
/// step can have, tells for its neighbours, too. Of the other moments, what the time since the departure is for the
/// probes that are certain decides. On a shared clock the sender's steps are the responder's.
pub fn undo_steps(rows: &mut [RoundTrip], events: &[Event], relation: ClockRelation) -> u64 {
    let near = Epochs::from_events(events, EventLocation::Sender);
    let mut far = Epochs::from_events(events, EventLocation::Responder);
    if far.0.is_empty() && relation == ClockRelation::Shared {
        far = Epochs(near.0.clone());
    }
    if near.0.is_empty() && far.0.is_empty() {
        return 0;
    }
    let departures = departures(rows, &near);
    let mut left_out = 0;
    left_out += undo_moment(rows, &near, &departures, |row| &mut row.t4);
    left_out += undo_moment(rows, &far, &departures, |row| &mut row.t2);
    left_out += undo_moment(rows, &far, &departures, |row| &mut row.t3);
    for (row, departure) in rows.iter_mut().zip(departures) {
        if main_stamp(&row.t1).is_some() {
            left_out += u64::from(departure.is_none() && row.copy == 0);
            settle(&mut row.t1, &near, departure);
        }
    }
    left_out
}

fn main_stamp<C: Clock>(stamps: &Stamps<C>) -> Option<i64> {
    stamps.user.or(stamps.kernel).or(stamps.told).map(Timestamp::as_nanos)
}

/// The departure of each row's probe with the steps taken out; `None` where it cannot be told.
fn departures(rows: &[RoundTrip], epochs: &Epochs) -> Vec<Option<i64>> {
    let stamps: Vec<Option<i64>> = rows.iter().map(|row| main_stamp(&row.t1)).collect();
    let backs = epochs.backs(&stamps);
    let mut lowest = vec![None; rows.len()];
    let mut floor = 0;
    for ((stamp, is_back), lowest) in stamps.iter().zip(&backs).zip(&mut lowest) {
        let Some(stamp) = *stamp else { continue };
        floor += usize::from(*is_back);
        *lowest = epochs.candidates(stamp).into_iter().find(|epoch| *epoch >= floor);
        floor = lowest.unwrap_or(floor);
    }
    let mut departures = vec![None; rows.len()];
    let (mut ceiling, mut is_after_back) = (epochs.0.len(), false);
    for (index, stamp) in stamps.iter().enumerate().rev() {
        let Some(stamp) = *stamp else { continue };
        ceiling = ceiling.saturating_sub(usize::from(std::mem::replace(&mut is_after_back, backs[index])));
        let highest = epochs.candidates(stamp).into_iter().rfind(|epoch| *epoch <= ceiling);
        ceiling = highest.unwrap_or(ceiling);
        let certain = highest.filter(|epoch| lowest[index] == Some(*epoch));
        departures[index] = certain.map(|epoch| epochs.undo(stamp, epoch));
    }
    departures
}

/// Takes the steps out of one moment of all rows, and gives how many were left out.
fn undo_moment<C: Clock>(
    rows: &mut [RoundTrip],
    epochs: &Epochs,
    departures: &[Option<i64>],
    moment: impl Fn(&mut RoundTrip) -> &mut Stamps<C>,
) -> u64 {
    if epochs.0.is_empty() {
        return 0;
    }
    let mut certain = Vec::with_capacity(rows.len());
    let mut known = Vec::with_capacity(rows.len());
    for (row, departure) in rows.iter_mut().zip(departures) {
        let stamp = main_stamp(moment(row));
        let candidates: Vec<i64> = stamp.map_or_else(Vec::new, |stamp| {
            epochs.candidates(stamp).into_iter().map(|epoch| epochs.undo(stamp, epoch)).collect()
        });
        certain.push(match (&candidates[..], departure) {
            (&[only], Some(departure)) => Some(only.saturating_sub(*departure)),
            _ => None,
        });
        known.push(candidates);
    }
    let whole =
        singleton(certain.iter().flatten()).or_else(|| singleton(alike(epochs, &known, departures).iter()));
    let mut left_out = 0;
    for (place, ((row, candidates), departure)) in rows.iter_mut().zip(known).zip(departures).enumerate() {
        let stamps = moment(row);
        if main_stamp(stamps).is_none() {
            continue;
        }
        let settled = match (&candidates[..], departure) {
            (&[only], _) => Some(only),
            (several, Some(departure)) => {
                let only = |range: Option<RangeInclusive<i64>>| {
                    let range = range?;
                    let away = |stamp: &&i64| range.contains(&stamp.saturating_sub(*departure));
                    let mut fitting = several.iter().filter(away);
                    fitting.next().filter(|_| fitting.next().is_none()).copied()
                };
                only(whole.clone()).or_else(|| {
                    let (before, after) = certain.split_at(place);
                    let before = before.iter().rev().flatten().take(BESIDE);
                    only(singleton(before.chain(after.iter().flatten().take(BESIDE))))
                })
            }
            _ => None,
        };
        left_out += u64::from(settled.is_none());
        settle(stamps, epochs, settled);
    }
    left_out
}

/// Where no delay is certain, because a clock was set by more than the run is long: what all probes took if each took about the
/// same, of what each may have taken. Nothing where that may be several things.
fn alike(epochs: &Epochs, known: &[Vec<i64>], departures: &[Option<i64>]) -> Vec<i64> {
    /// To such a part of the least step probes take the same.
    const PART: u64 = 4;
    let Some(least) = epochs.0.iter().map(|step| step.size_ns.unsigned_abs()).min() else {
        return Vec::new();
    };
    let took: Vec<Vec<i64>> = known
        .iter()
        .zip(departures)
        .filter_map(|(stamps, departure)| {
            let departure = (*departure)?;
            (!stamps.is_empty()).then(|| stamps.iter().map(|stamp| stamp.saturating_sub(departure)).collect())
        })
        .collect();
    let nearest = |level: i64, took: &[i64]| took.iter().copied().min_by_key(|took| took.abs_diff(level));
    let of_level = |level: i64| -> Vec<i64> {
        let near = |took: &i64| took.abs_diff(level) <= least / PART;
        took.iter().filter_map(|took| nearest(level, took).filter(near)).collect()
    };
    // Those before the step and those after it have but one in common.
    let ends = [took.first(), took.last()];
    let levels = ends.into_iter().flatten().flatten();
    let mut all: Vec<Vec<i64>> =
        levels.map(|level| of_level(*level)).filter(|all| all.len() == took.len()).collect();
    all.sort_unstable();
    all.dedup();
    if all.len() == 1 { all.swap_remove(0) } else { Vec::new() }
}

/// What one probe's delay may be where these have theirs.
fn singleton<'a>(took: impl Iterator<Item = &'a i64>) -> Option<RangeInclusive<i64>> {
    let range = took.fold(None, |range, took| {
        Some(range.map_or((*took, *took), |(low, high): (i64, i64)| (low.min(*took), high.max(*took))))
    });
    range.map(|(low, high)| {
        let slack = high.saturating_sub(low) / 2 + SLACK_NS;
        low.saturating_sub(slack)..=high.saturating_add(slack)
    })
}

/// Puts the stamps of one moment right by its settled one, or takes them away.
fn settle<C: Clock>(stamps: &mut Stamps<C>, epochs: &Epochs, settled: Option<i64>) {
    let right = |stamp: Option<Timestamp<C>>| {
        let (stamp, settled) = (stamp?.as_nanos(), settled?);
        let undone = epochs.candidates(stamp).into_iter().map(|epoch| epochs.undo(stamp, epoch));
        undone.min_by_key(|stamp| stamp.abs_diff(settled)).map(Timestamp::from_nanos)
    };
    *stamps = Stamps {
        nic: right(stamps.nic),
        kernel: right(stamps.kernel),
        user: right(stamps.user),
        told: right(stamps.told),
    };
}
