//! What stands out in a stream besides its figures: patterns that are looked for, and told where chance does not explain
//! them.
//!
//! | pattern | how it is found | what chance could do |
//! | --- | --- | --- |
//! | periodic delay spikes | autocorrelation of the moments at which packets begin to wait long (the excess over the local median, clipped to yes or no), then folding by each candidate (`periods`) | hits in a cycle, given how many spikes that cycle has and when packets were sent in it |
//! | grids of delay and of its differences | the characteristic function's peaks, then counts on the points and between them (`grids`) | a density with one peak |
//! | steps of delay, changes of route | counts above a level and means on both sides of a place, and how far delays jump there (`levels`, `jumps`, `steps`), with TTL | the same counts of a stream of that dependence without a step |
//! | bursts of duplicates | runs of consecutive numbers (`copies`) | duplicates that are independent of each other |
//! | periodic loss | the moments at which groups of losses begin, looked at as those of spikes are (`periodic_loss`) | the same of groups of losses |
//! | loss by length | the longest packet that arrived, against those longer that were lost (`lengths`) | losses that have nothing to do with lengths |
//! | coalesced arrivals | gaps near nothing against those a little longer, and against those of the same delays in another order (`arrivals`) | a density of gaps that is smooth near nothing, a clock that ticks, delays of few values |
//!
//! Each test bounds the probability of a false alarm over all that it looks through, at [`FALSE_ALARM`]. Long streams are
//! looked at in their first [`LOOKED_AT`] packets.

mod change_points;
mod coalescing;
mod differences;
mod duplicate_bursts;
mod evidence;
mod grids;
mod periodic_loss;
mod periodic_plateaus;
mod periods;
mod series;
mod size_dependent_loss;
mod steps;

use romer_record::document::{DelayKind, ProbeDirection};
use romer_record::finding::Finding;
use romer_record::{Fate, OneWaySingleton};

use crate::sample::{delay, received};

pub use evidence::FALSE_ALARM;
use evidence::UndirectedFinding;
pub use series::LOOKED_AT;
use series::{DelaySeries, FEWEST};

/// What stands out in the ways of a stream, those that hold throughout first, then in order of time. The round trip is
/// looked at where the delays of neither way are known, and for its losses where nobody knows on which way they were.
/// The delays of the ways are of the kind `kind`; those of the round trip are absolute.
pub fn findings(
    forward: &[OneWaySingleton],
    reverse: &[OneWaySingleton],
    round_trip: &[OneWaySingleton],
    kind: DelayKind,
) -> Vec<Finding> {
    let looks = looks(forward, reverse, round_trip, kind);
    in_order(looks.into_iter().map(Scan::findings).collect())
}

/// A way that is to be looked through, which can be done while another one is.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a> {
    way: ProbeDirection,
    singletons: &'a [OneWaySingleton],
    absolute: bool,
    /// Of the round trip where delays of its ways are known, but not on which of them its losses were.
    losses_alone: bool,
    rate_error: f64,
}

impl Scan<'_> {
    /// The same of delays from which a rate of the clocks was taken that may be off by so much, at 95 %: as a share of the time. The round trip
    /// holds none.
    #[must_use]
    pub fn of_rate_error(self, rate_error: f64) -> Self {
        Self { rate_error: if self.way == ProbeDirection::RoundTrip { 0.0 } else { rate_error }, ..self }
    }

    /// How many of its packets have a delay, and until when after the first departure delays are looked through, nanoseconds; `None` where all of
    /// them are.
    pub fn only_until(self) -> Option<(usize, i64)> {
        if self.singletons.len() <= LOOKED_AT {
            return None;
        }
        let first = crate::sample::sent(self.singletons).filter_map(|singleton| singleton.departure).min()?;
        let mut delayed =
            received(self.singletons).filter(|singleton| !self.losses_alone && delay(singleton).is_some());
        let last = delayed.by_ref().take(LOOKED_AT).filter_map(|singleton| singleton.departure).max()?;
        let further = delayed.count();
        (further > 0).then(|| (LOOKED_AT + further, (last - first).as_nanos()))
    }

    /// What stands out in it.
    pub fn findings(self) -> Vec<Finding> {
        if self.losses_alone {
            return losses(self.singletons).into_iter().map(|found| found.with_direction(self.way)).collect();
        }
        of_way(self.way, self.singletons, self.absolute, self.rate_error)
    }
}

/// The ways that [`findings`] looks through.
pub fn looks<'a>(
    forward: &'a [OneWaySingleton],
    reverse: &'a [OneWaySingleton],
    round_trip: &'a [OneWaySingleton],
    kind: DelayKind,
) -> Vec<Scan<'a>> {
    let known = |singletons: &[OneWaySingleton]| {
        received(singletons).filter_map(delay).take(FEWEST).count() >= FEWEST
    };
    let absolute = kind == DelayKind::Absolute;
    let mut looks: Vec<Scan<'_>> = [(ProbeDirection::Forward, forward), (ProbeDirection::Reverse, reverse)]
        .into_iter()
        .map(|(way, singletons)| Scan { way, singletons, absolute, losses_alone: false, rate_error: 0.0 })
        .collect();
    let losses_alone = known(forward) || known(reverse);
    if !losses_alone || forward.iter().any(|singleton| singleton.fate == Fate::Unknown) {
        let singletons = round_trip;
        looks.push(Scan {
            way: ProbeDirection::RoundTrip,
            singletons,
            absolute: true,
            losses_alone,
            rate_error: 0.0,
        });
    }
    looks
}

/// What was found in each way of [`looks`], in their order, as one.
pub fn in_order(found: Vec<Vec<Finding>>) -> Vec<Finding> {
    let mut found: Vec<Finding> = found.into_iter().flatten().collect();
    found.sort_by_key(|finding| finding.at_ns);
    found
}

fn of_way(
    way: ProbeDirection,
    singletons: &[OneWaySingleton],
    absolute: bool,
    rate_error: f64,
) -> Vec<Finding> {
    let series = DelaySeries { rate_error, ..DelaySeries::from_singletons(singletons) };
    let mut found = Vec::new();
    if series.at.len() >= FEWEST {
        found.extend(periods::spikes(&series));
        found.extend(grids::grids(&series, absolute));
    }
    let (steps, repeating) = periodic_plateaus::steps(&series, &found);
    found.extend(repeating);
    found.extend(steps::changes(&series, singletons, steps));
    // The search for repeated losses takes as much memory again.
    drop(series);
    found.extend(duplicate_bursts::bursts(singletons));
    found.extend(losses(singletons));
    found.extend(coalescing::coalesced(singletons));
    found.into_iter().map(|found: UndirectedFinding| found.with_direction(way)).collect()
}

/// What stands out in the losses of a way.
fn losses(singletons: &[OneWaySingleton]) -> Vec<UndirectedFinding> {
    let by_length = size_dependent_loss::lost_by_length(singletons);
    let periodic = periodic_loss::losses(singletons, by_length.as_ref());
    by_length.into_iter().chain(periodic).collect()
}

#[cfg(test)]
mod tests;
