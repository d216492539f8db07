//! The delays of one direction, as far as they can be told while its packets come.

use romer_metrics::jitter::InterarrivalJitter;
use romer_record::document::DelayKind;
use romer_record::manifest::ClockRelation;
use romer_units::{Arrival, Departure, Duration, Timestamp};

use crate::delays;
use crate::rejected::are_many;
use romer_clock::{across, length};

/// Takes in the singletons of one direction in the order of their arrival.
///
/// On a shared clock a delay is what it is. On two clocks it is what it has above the least that came so far: an earlier
/// one may turn out to have been told too small, and how far one clock runs from the other is still in it. Where many are longer than
/// their round trips, there is no delay of the interval. The document of the whole measurement says better.
#[derive(Clone, Debug)]
pub struct WatchedDelays {
    relation: ClockRelation,
    least: Option<i128>,
    /// The differences of the stamps, with the round trip that contains them, if any.
    fresh: Vec<(i128, Option<i64>)>,
    jitter: InterarrivalJitter,
}

impl WatchedDelays {
    /// None so far.
    pub fn new(relation: ClockRelation) -> Self {
        Self { relation, least: None, fresh: Vec::new(), jitter: InterarrivalJitter::default() }
    }

    /// What the delays are.
    pub const fn kind(&self) -> DelayKind {
        delays::delay_kind(self.relation)
    }

    /// The next singleton. `round_trip` is the time there and back, if it is part of one.
    pub fn take(
        &mut self,
        departure: Timestamp<Departure>,
        arrival: Timestamp<Arrival>,
        round_trip: Option<Duration>,
    ) {
        let raw = across(departure, arrival);
        let least = *self.least.get_or_insert(raw);
        self.least = Some(least.min(raw));
        self.fresh.push((raw, round_trip.map(Duration::as_nanos)));
        // The estimator sees differences only: what the clocks are apart falls out of it.
        if let Some(transit) = length(raw) {
            self.jitter.take(transit.as_nanos());
        }
    }

    /// The delays of what was taken in since the last call, nanoseconds, in order of arrival.
    pub fn fresh(&mut self) -> Vec<i64> {
        let base = match self.relation {
            ClockRelation::Shared => 0,
            ClockRelation::Unknown => self.least.unwrap_or(0),
        };
        let is_longer =
            |one: &&(i128, Option<i64>)| one.1.is_some_and(|whole| one.0 - base > i128::from(whole));
        let longer = self.fresh.iter().filter(is_longer).count() as u64;
        if are_many(longer, self.fresh.len() as u64) {
            self.fresh.clear();
        }
        let fresh = self.fresh.drain(..).filter_map(|(raw, _)| length(raw - base));
        fresh.map(|delay| delay.as_nanos()).collect()
    }

    /// Interarrival jitter (RFC 3550 section 6.4.1) up to now, nanoseconds; `None` below two singletons.
    pub const fn jitter(&self) -> Option<f64> {
        self.jitter.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(relation: ClockRelation, singletons: &[(i64, i64)]) -> WatchedDelays {
        let mut watched = WatchedDelays::new(relation);
        for (departure, arrival) in singletons {
            watched.take(Timestamp::from_nanos(*departure), Timestamp::from_nanos(*arrival), None);
        }
        watched
    }

    const PASSAGES: [(i64, i64); 4] = [(0, 1_050), (100, 1_130), (200, 1_290), (300, 1_340)];

    #[test]
    fn delays_of_two_clocks_are_told_above_the_least_so_far_whatever_their_offset() {
        for offset in [0, -1_700_000_000_000_000_000, i64::MAX - 10_000] {
            let singletons = PASSAGES.map(|(departure, arrival)| (departure, arrival + offset));
            let mut watched = taken(ClockRelation::Unknown, &singletons);
            assert_eq!(watched.fresh(), [20, 0, 60, 10], "{offset}");
            assert!(watched.fresh().is_empty(), "each is told once");
            assert_eq!(watched.kind(), DelayKind::Variable);
        }
    }

    #[test]
    fn the_least_of_before_counts_for_what_comes_after() {
        let mut watched = taken(ClockRelation::Unknown, &PASSAGES[..2]);
        watched.fresh();
        watched.take(Timestamp::from_nanos(400), Timestamp::from_nanos(1_435), None);
        assert_eq!(watched.fresh(), [5]);
    }

    #[test]
    fn delays_of_one_clock_are_what_they_are() {
        let mut watched = taken(ClockRelation::Shared, &PASSAGES);
        assert_eq!(watched.fresh(), [1_050, 1_030, 1_090, 1_040]);
        assert_eq!(watched.kind(), DelayKind::Absolute);
    }

    /// Stamps of whole seconds tell no delay of a round trip of 10 ms.
    #[test]
    fn longer_than_the_round_trip_is_none() {
        let round_trip = Some(Duration::from_millis(10));
        for (unit, given) in [(1_000_000_000, 0), (1_000_000, 100)] {
            let mut watched = WatchedDelays::new(ClockRelation::Unknown);
            for number in 0..100_i64 {
                let left = number * 23_456_789;
                let came = (left + 5_000_000) / unit * unit;
                watched.take(Timestamp::from_nanos(left), Timestamp::from_nanos(came), round_trip);
            }
            assert_eq!(watched.fresh().len(), given, "{unit}");
        }
    }

    #[test]
    fn the_jitter_is_that_of_all_singletons_and_no_offset_changes_it() {
        let mut estimator = InterarrivalJitter::default();
        [1_050, 1_030, 1_090, 1_040].into_iter().for_each(|transit| estimator.take(transit));
        let expected = estimator.value();
        let mut watched = taken(ClockRelation::Shared, &PASSAGES);
        assert_eq!(watched.jitter(), expected);
        watched.fresh();
        assert_eq!(watched.jitter(), expected, "it goes on from interval to interval");
        let moved = PASSAGES.map(|(departure, arrival)| (departure, arrival - 9_000_000));
        assert_eq!(taken(ClockRelation::Unknown, &moved).jitter(), expected);
        assert_eq!(taken(ClockRelation::Shared, &PASSAGES[..1]).jitter(), None);
    }
}
