//! The delays of one direction, as far as they can be told while its packets come.

use romer_metrics::jitter::InterarrivalJitter;
use romer_record::document::{DelayKind, Synchronisation};
use romer_record::manifest::ClockRelation;
use romer_units::{Arrival, Departure, Direction, Duration, Timestamp};

use crate::delays;
use crate::rejected::are_many;
use romer_clock::{across, length};

/// Takes in the singletons of one direction in the order of their arrival.
///
/// On a shared clock, and on synchronised clocks, a delay is what it is, unless the stamps contradict the synchronisation: then, and on
/// two other clocks, it is what it has above the least that came so far: an earlier
/// one may turn out to have been told too small, and how far one clock runs from the other is still in it. Where many are longer than
/// their round trips, there is no delay of the interval. The document of the whole measurement says better.
#[derive(Clone, Debug)]
pub struct WatchedDelays {
    relation: ClockRelation,
    /// Offset of the clocks in this direction, and the bound of its error, nanoseconds.
    synchronised: Option<[i64; 2]>,
    least: Option<i128>,
    /// The differences of the stamps, with the round trip that contains them, if any.
    fresh: Vec<(i128, Option<i64>)>,
    jitter: InterarrivalJitter,
}

impl WatchedDelays {
    /// None so far.
    pub fn new(relation: ClockRelation) -> Self {
        let jitter = InterarrivalJitter::default();
        Self { relation, synchronised: None, least: None, fresh: Vec::new(), jitter }
    }

    /// Of the direction `heading` of clocks that are stated to be synchronised, if they are two.
    #[must_use]
    pub fn with_synchronisation(self, stated: Option<&Synchronisation>, heading: Direction) -> Self {
        let of_two = stated.filter(|_| self.relation == ClockRelation::Unknown);
        let synchronised = of_two.map(|stated| {
            let offset = if heading == Direction::Forward { stated.offset_ns } else { -stated.offset_ns };
            [offset, stated.bound_ns]
        });
        Self { synchronised, ..self }
    }

    /// Treats the clocks as not synchronised from here on: the stamps of the other direction contradict it.
    pub const fn withdraw_synchronisation(&mut self) {
        self.synchronised = None;
    }

    /// What the delays are.
    pub const fn kind(&self) -> DelayKind {
        match self.synchronised {
            Some(_) => DelayKind::Absolute,
            None => delays::delay_kind(self.relation),
        }
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
        // A packet does not arrive before it leaves by more than the bound.
        self.synchronised =
            self.synchronised.filter(|[offset, bound]| raw - i128::from(*offset) >= -i128::from(*bound));
        self.fresh.push((raw, round_trip.map(Duration::as_nanos)));
        // The estimator sees differences only: what the clocks are apart falls out of it.
        if let Some(transit) = length(raw) {
            self.jitter.take(transit.as_nanos());
        }
    }

    /// The delays of what was taken in since the last call, nanoseconds, in order of arrival.
    pub fn fresh(&mut self) -> Vec<i64> {
        let base = match (self.relation, self.synchronised) {
            (ClockRelation::Shared, _) => 0,
            (ClockRelation::Unknown, Some([offset, _])) => i128::from(offset),
            (ClockRelation::Unknown, None) => self.least.unwrap_or(0),
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

    /// Delays of synchronised clocks are absolute, less the known offset in its direction, until a packet arrives before it left by more
    /// than the bound.
    #[test]
    fn delays_of_synchronised_clocks_are_absolute() {
        let ahead = |offset| PASSAGES.map(|(departure, arrival)| (departure, arrival + offset));
        for (heading, offset, expected) in [
            (Direction::Forward, 7_000, [1_050, 1_030, 1_090, 1_040]),
            (Direction::Reverse, -7_000, [1_050, 1_030, 1_090, 1_040]),
            (Direction::Forward, 5_900, [-50, -70, -10, -60]),
            (Direction::Forward, 5_800, [20, 0, 60, 10]),
        ] {
            let stated = Synchronisation::by_user(100, 7_000);
            let mut watched =
                WatchedDelays::new(ClockRelation::Unknown).with_synchronisation(Some(&stated), heading);
            for (departure, arrival) in ahead(offset) {
                watched.take(Timestamp::from_nanos(departure), Timestamp::from_nanos(arrival), None);
            }
            let is_absolute = offset != 5_800;
            assert_eq!(watched.kind() == DelayKind::Absolute, is_absolute, "{offset}");
            assert_eq!(watched.fresh(), expected, "{offset}");
        }
        let stated = Synchronisation::by_user(0, 500);
        let shared =
            WatchedDelays::new(ClockRelation::Shared).with_synchronisation(Some(&stated), Direction::Forward);
        assert_eq!((shared.kind(), shared.synchronised), (DelayKind::Absolute, None));
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
