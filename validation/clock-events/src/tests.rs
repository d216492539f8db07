//! Claims about the comparison itself.

use romer_clock::skew::{ChangeKind, ClockChange};
use romer_units::Direction;

use crate::compare::Comparison;
use crate::draws::Draws;
use crate::judge::{Counts, Outcome, Tolerance, counts};
use crate::play::{Change, Kind};
use crate::row::{Figures, Row};
use crate::rows;
use crate::world::{Clock, Route, World};

const TOLERANCE: Tolerance = Tolerance { time_s: 0.3, size_s: 1e-3 };

fn event(kind: ChangeKind, at_s: i64, size_ns: i64) -> ClockChange {
    ClockChange {
        at_ns: at_s * 1_000_000_000,
        until_ns: None,
        kind,
        heading: (kind == ChangeKind::PathChange).then_some(Direction::Forward),
        size_ns,
        error_ns: 0.0,
        dated_by: None,
        may_be: None,
    }
}

fn step(at_s: i64, size_ns: f64) -> Change {
    Change { kind: Kind::ClockStep, from_ns: [at_s * 1_000_000_000; 2], until_ns: None, size_ns }
}

fn of(counts: [Counts; 4], kind: Kind) -> Counts {
    counts[Kind::ALL.iter().position(|one| *one == kind).unwrap()]
}

/// An event counts for one change of its kind, near it and about as large; any other is only reported.
#[test]
fn events_match_by_kind_time_and_size() {
    let truth = [step(30, 5e6)];
    let matched = |found: &[ClockChange]| of(counts(&truth, found, TOLERANCE), Kind::ClockStep).matched;
    assert_eq!(matched(&[event(ChangeKind::ClockStep, 30, 5_500_000)]), 1);
    assert_eq!(matched(&[event(ChangeKind::ClockStep, 31, 5_000_000)]), 0);
    assert_eq!(matched(&[event(ChangeKind::ClockStep, 30, 7_000_000)]), 0);
    assert_eq!(matched(&[event(ChangeKind::PathChange, 30, 5_000_000)]), 0);
    let twice = [event(ChangeKind::ClockStep, 30, 5_000_000); 2];
    let both = of(counts(&truth, &twice, TOLERANCE), Kind::ClockStep);
    assert_eq!((both.matched, both.events), (1, 2));
}

/// A change that is reported with another kind is open if its own kind is the alternative.
#[test]
fn alternatives_are_counted_as_open() {
    let open =
        ClockChange { may_be: Some(ChangeKind::ClockStep), ..event(ChangeKind::PathChange, 30, 5_000_000) };
    let found = of(counts(&[step(30, 5e6)], &[open], TOLERANCE), Kind::ClockStep);
    assert_eq!((found.truths, found.matched, found.open), (1, 0, 1));
}

/// Raw delays of a play are the true delay, the base and what the clocks differ by: for steps of both clocks, slews,
/// a wandering rate and changed paths.
#[test]
fn plays_agree_with_their_truth() {
    let responder = Clock {
        rate: 40e-6,
        swing: Some((1e-6, 20.0, 1.0)),
        walk: 1e-7,
        steps: vec![(20.0, 5e-3)],
        slews: vec![(30.0, 2e-4, 5.0)],
    };
    let sender = Clock { steps: vec![(45.0, -2e-3)], ..Clock::default() };
    let world = World { responder, sender, routes: vec![Route::new(10.0, 0, 4e-3)], ..World::default() };
    let play = world.play(3);
    assert_eq!(play, world.play(3));
    assert_ne!(play, world.play(4));
    for (probes, sign) in play.probes.iter().zip([1.0, -1.0]) {
        let off = probes.iter().map(|probe| {
            (probe.arrival_ns - probe.departure_ns) as f64 - sign * probe.ahead_ns - probe.delay_ns
        });
        // A packet that is under way during the sender's step has a stamp on either side of it.
        let wrong = off.filter(|off| off.abs() > 2.0).count();
        assert!(wrong <= 1, "{wrong} of {}", probes.len());
    }
    let sizes: Vec<f64> = play.changes.iter().map(|change| change.size_ns.round()).collect();
    assert_eq!(sizes, [4e6, 5e6, 1e6, 2e6]);
}

/// Names of rows are unique, and each row simulates packets.
#[test]
fn rows_have_own_names_and_packets() {
    let all = rows::all();
    let mut names: Vec<&str> = all.iter().map(|row| row.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len());
    let is_short = |row: &&Row| row.most_plays > 40;
    for row in all.iter().filter(is_short) {
        assert!((row.make)(1).probes[0].len() >= 100, "{}", row.name);
    }
}

fn figures(errors: impl Iterator<Item = f64>) -> Figures {
    let outcome = |(seed, error): (u32, f64)| Outcome {
        seed,
        rate: Some((error, [error - 0.2, error + 0.2])),
        counts: [Counts::default(); 4],
        delays: None,
        bounded: None,
    };
    let outcomes = (1..).zip(errors).map(outcome).collect();
    Figures { row: "row".into(), method: "method".into(), has_rate: true, outcomes, seconds: 0.0 }
}

/// A method with errors of 1.5 times the reference's is worse, and the same errors are not. Of 200 pairs of normal errors,
/// the bootstrap calls equal methods worse with a probability far below one in a million, since the pairs are equal.
#[test]
fn larger_errors_are_worse() {
    let mut draws = Draws::new(1, 5);
    let errors: Vec<f64> = (0..200).map(|_| 0.1 * draws.normal()).collect();
    let reference = figures(errors.iter().copied());
    assert_eq!(Comparison::new(&reference, &reference).worse(), Vec::<&str>::new());
    let worse = figures(errors.iter().map(|error| 1.5 * error));
    assert!(Comparison::new(&reference, &worse).worse().contains(&"RMS"));
}
