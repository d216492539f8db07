//! What several tests need.

use romer_clock::skew::{Estimate, Estimator, Method};
use romer_record::{Fate, Leaving, OneWaySingleton};
use romer_sim::clocks::Play;
use romer_units::{Direction, Timestamp};

/// A packet that arrived, with its stamps.
pub(crate) fn singleton(sequence: u64, departure: i64, arrival: i64) -> OneWaySingleton {
    OneWaySingleton {
        sequence,
        copy: 0,
        size: 64,
        fate: Fate::Arrived,
        departure: Some(Timestamp::from_nanos(departure)),
        arrival: Some(Timestamp::from_nanos(arrival)),
        delay: None,
        ttl: None,
        tos: None,
        leaving: Leaving::UNKNOWN,
    }
}

/// What a method makes of a play.
pub(crate) fn estimate(method: Method, play: &Play) -> Estimate {
    estimate_of(method, play, Direction::BOTH.len())
}

/// What it makes of the first so many directions.
pub(crate) fn estimate_of(method: Method, play: &Play, ways: usize) -> Estimate {
    let mut estimator = Estimator::new(method, None);
    for (heading, probes) in Direction::BOTH.into_iter().zip(&play.probes).take(ways) {
        for probe in probes {
            let (departure, arrival) = (probe.departure_ns, probe.arrival_ns);
            estimator.push(heading, Timestamp::from_nanos(departure), Timestamp::from_nanos(arrival));
        }
    }
    estimator.estimate()
}
