//! Changes near the ends of a run: few packets tell of them, and each is labelled as what it was all the same.

use romer_clock::skew::{ChangeKind, ClockChange, Estimator, Method};
use romer_sim::clocks::{Scenario, Wander};
use romer_units::{Direction, Timestamp};

fn events(scenario: &Scenario, seed: u32) -> Vec<ClockChange> {
    let mut estimator = Estimator::new(Method::Best, None);
    for (heading, probes) in Direction::BOTH.into_iter().zip(&scenario.play(seed).probes) {
        for probe in probes {
            let (departure, arrival) = (probe.departure_ns, probe.arrival_ns);
            estimator.push(heading, Timestamp::from_nanos(departure), Timestamp::from_nanos(arrival));
        }
    }
    estimator.estimate().events
}

/// A minute in which the clock is set.
fn set(at: f64, size: f64) -> Scenario {
    Scenario { clock: Wander { steps: vec![(at, size)], ..Wander::default() }, ..Scenario::default() }
}

/// Whether just that is told of a clock that was set.
fn is_told(found: &[ClockChange], at: f64, size: f64) -> bool {
    // The scenario's clocks begin at 10 s.
    matches!(found, [one] if one.kind == ChangeKind::ClockStep
        && (one.at_ns as f64 / 1e9 - 10.0 - at).abs() < 0.3
        && (one.size_ns as f64 / 1e9 - size).abs() < 0.2 * size.abs())
}

#[test]
fn a_clock_that_is_set_near_an_end_is_told_so() {
    for at in [1.0, 2.0, 3.0, 57.0, 58.0, 59.0] {
        let told = (1..=10).filter(|seed| {
            let size = if seed % 2 == 0 { 3e-3 } else { -3e-3 };
            is_told(&events(&set(at, size), *seed), at, size)
        });
        let told = told.count();
        assert!(told >= 9, "{told} of 10 at {at} s of 60");
    }
}

#[test]
fn a_path_that_changes_near_an_end_is_no_clocks() {
    for at in [0.3, 1.0, 2.0, 58.0, 59.0, 59.7] {
        for longer in [(3e-3, 0.0), (0.0, -3e-3), (3e-3, 3e-3)] {
            let scenario = Scenario { routes: vec![(at, longer.0, longer.1)], ..Scenario::default() };
            for seed in 1..=5 {
                let found = events(&scenario, seed);
                let clocks = found.iter().filter(|one| one.kind != ChangeKind::PathChange).count();
                assert_eq!(clocks, 0, "{longer:?} at {at}, seed {seed}: {found:?}");
            }
        }
    }
}

#[test]
fn a_clock_that_is_set_within_the_last_or_first_half_second_is_told_so() {
    for at in [0.2, 0.4, 59.6, 59.8] {
        let told = (1..=10).filter(|seed| {
            let size = if seed % 2 == 0 { 3e-3 } else { -3e-3 };
            is_told(&events(&set(at, size), *seed), at, size)
        });
        let told = told.count();
        assert!(told >= 9, "{told} of 10 at {at} s of 60");
    }
}
