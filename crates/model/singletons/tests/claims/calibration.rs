//! The tool's own error: the seed's own example, paths whose truth is known, and what a measurement does with it.

use proptest::prelude::*;
use romer_record::calibration::{AddedDelay, StampSourceError};
use romer_record::log::{Entry, ResponderRecord};
use romer_record::manifest::{CalibrationUse, ClockRelation, StampRequest};
use romer_record::warning::{CalibrationUnused, MeasurementWarning};
use romer_record::{RoundTrip, Stamps, assemble};
use romer_singletons::calibration::{AtRate, apply, pair_delays, share, symmetry, two_rates, two_rates_of};
use romer_singletons::{ResponderLog, Selection, StreamSingletons, relate};
use romer_units::{Duration, TimestampPoint};

const MBIT: u64 = 1_000_000;

fn close(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "{found} is not {expected}");
}

#[test]
fn the_two_rates_of_seed_000_give_its_85_octets_and_7_microseconds() {
    let at = |mbit: u64, micros: f64| AtRate { bits_per_second: mbit * MBIT, delay_ns: micros * 1_000.0 };
    let (octets, error) = two_rates(at(10, 75.0), at(100, 14.0)).expect("two rates");
    close(octets, 85.0, 0.5);
    close(error, 7_000.0, 300.0);
    assert_eq!(two_rates(at(10, 75.0), at(10, 75.0)), None, "one rate is not two");
    assert_eq!(two_rates(at(10, 75.0), at(0, 75.0)), None);
}

proptest! {
    #[test]
    fn any_error_and_length_are_found_again(
        octets in 64.0_f64..9_000.0, error in -1e6_f64..1e6, slow in 1_u64..1_000, faster in 1_u64..100,
    ) {
        let at = |mbit: u64| {
            let bits_per_second = mbit * MBIT;
            AtRate { bits_per_second, delay_ns: octets * 8e3 / f64::from(u32::try_from(mbit).expect("small")) + error }
        };
        let (found, rest) = two_rates(at(slow), at(slow + faster)).expect("two rates");
        prop_assert!((found - octets).abs() < 1e-3 * octets, "{found} {octets}");
        prop_assert!((rest - error).abs() < 1.0 + 1e-3 * error.abs(), "{rest} {error}");
    }
}

/// A probe with its kernel stamps; user stamps lie 10 us further out.
fn probe(sequence: u64, t1: i64, t2: i64, t3: i64, t4: i64) -> Vec<Entry> {
    vec![
        Entry::Sent { sequence, size: 44, wake_error_ns: 0, user_ns: t1 - 10_000 },
        Entry::SentStamp { sequence, kernel_ns: t1 },
        Entry::Far(ResponderRecord {
            sequence,
            t2_user_ns: t2 + 10_000,
            t2_kernel_ns: Some(t2),
            t3_user_ns: Some(t3 - 10_000),
            t3_kernel_ns: Some(t3),
            ttl: Some(64),
            tos: Some(0),
        }),
        Entry::Returned {
            sequence,
            user_ns: t4 + 10_000,
            kernel_ns: Some(t4),
            told_t2_ns: Some(t2),
            told_t3_ns: Some(t3),
            ttl: Some(64),
            tos: Some(0),
            told_ttl: None,
            reply_number: None,
        },
    ]
}

fn rows(probes: &[(i64, i64)]) -> Vec<RoundTrip> {
    let entries: Vec<Entry> = (0_u64..)
        .zip(probes)
        .flat_map(|(sequence, (t1, t2))| probe(sequence, *t1, *t2, t2 + 50_000, t2 + 50_400))
        .collect();
    assemble(&entries)
}

#[test]
fn a_pair_counts_from_the_first_departure_to_the_second_arrival() {
    // 1,514 octets take 1,211,200 ns at 10 Mbit; this path adds 5 us to each packet.
    let start = 1_000_000_000;
    let late = start + 10_000_000;
    let found = rows(&[
        (start, start + 5_000),
        (start + 20_000, start + 1_211_200 + 5_000),
        (late, late + 5_000),
        (late + 2_000_000, late + 2_005_000),
    ]);
    let (delays, excluded) = pair_delays(&found, TimestampPoint::Kernel, 10 * MBIT, 1_514);
    assert_eq!(delays, [1_216_200]);
    assert_eq!(excluded, 1, "between the second pair the link came to rest");
    let (delays, _) = pair_delays(&found, TimestampPoint::User, 10 * MBIT, 1_514);
    assert_eq!(delays, [1_236_200], "10 us later at the end, 10 us earlier at the begin");
    let without: Vec<_> = found.iter().map(|row| RoundTrip { t2: Stamps::default(), ..*row }).collect();
    assert_eq!(
        pair_delays(&without, TimestampPoint::Kernel, 10 * MBIT, 1_514),
        (vec![], 2),
        "no such stamps"
    );
    assert_eq!(
        pair_delays(&found[..1], TimestampPoint::Kernel, 10 * MBIT, 1_514),
        (vec![], 1),
        "half a pair"
    );
}

#[test]
fn each_figure_of_a_share_is_the_median_of_the_rounds() {
    let round = |floor: i64| (floor..=floor + 100).collect::<Vec<_>>();
    let found = share(&[round(200), round(500), round(210), Vec::new()]).expect("rounds");
    close(found.baseline_ns, 210.0, 1e-9);
    close(found.median_ns, 260.0, 1e-9);
    close(found.uncertainty_ns, 99.0, 1e-9);
    close(found.max_ns, 100.0, 1e-9);
    assert_eq!(share(&[Vec::new()]), None);
}

#[test]
fn two_rates_are_judged_by_the_octets_that_were_sent() {
    let judge = |sent| {
        let rounds = [(1_216_200.0, 126_120.0), (1_216_200.0, 126_120.0)];
        two_rates_of(TimestampPoint::Kernel, (10 * MBIT, 100 * MBIT), sent, &rounds, (2, 0)).expect("rounds")
    };
    close(judge(1_514).octets, 1_514.0, 0.01);
    close(judge(1_514).error_ns, 5_000.0, 1.0);
    assert!(judge(1_514).passed && !judge(1_400).passed);
    assert_eq!(two_rates_of(TimestampPoint::Kernel, (MBIT, 2 * MBIT), 1_514, &[], (0, 0)), None);
}

fn error(place: TimestampPoint, forward: f64, reverse: f64) -> StampSourceError {
    let of = |nanos: f64| AddedDelay {
        baseline_ns: nanos,
        median_ns: nanos + 100.0,
        uncertainty_ns: 900.0,
        max_ns: 5_000.0,
    };
    StampSourceError {
        stamp_source: place,
        forward: of(forward),
        reverse: of(reverse),
        round_trip: of(forward + reverse),
    }
}

#[test]
fn a_path_is_held_for_the_same_both_ways_within_the_uncertainty() {
    assert!(symmetry(&error(TimestampPoint::Kernel, 400.0, 300.0)).passed);
    let crooked = symmetry(&error(TimestampPoint::Kernel, 4_000.0, 300.0));
    assert!(!crooked.passed);
    close(crooked.half_round_trip_ns, 2_200.0, 1e-9);
    close(crooked.difference_ns, 1_900.0, 1e-9);
    close(crooked.tolerance_ns, 900.0, 1e-9);
}

fn related(relation: ClockRelation, request: StampRequest) -> (StreamSingletons, Selection) {
    let rows = rows(&[(1_000_000_000, 1_000_020_000), (1_002_000_000, 1_002_030_000)]);
    let selection = Selection::choose(&rows, request, true);
    (relate(&rows, &selection, relation, Duration::from_secs(2), ResponderLog::Complete), selection)
}

fn used(subtract: bool) -> CalibrationUse {
    CalibrationUse {
        measured: "2026-11-22T00:00:00Z".into(),
        stamp_errors: vec![error(TimestampPoint::Kernel, 400.0, 300.0)],
        subtract,
        refused: None,
    }
}

fn delays(singletons: &[romer_record::OneWaySingleton]) -> Vec<i64> {
    singletons.iter().filter_map(|singleton| singleton.delay.map(Duration::as_nanos)).collect()
}

#[test]
fn a_baseline_is_told_and_subtracted_only_where_that_was_asked_for() {
    let (mut found, selection) = related(ClockRelation::Shared, StampRequest::Kernel);
    let (told, warnings) = apply(&mut found, &selection, Some(&used(false)));
    let told = told.expect("the stamps are the kernel's");
    assert_eq!((told.baseline_ns, told.uncertainty_ns, told.subtracted), (Some(700.0), Some(900.0), false));
    assert_eq!(told.forward.map(|share| share.baseline_ns), Some(400.0));
    assert!(warnings.is_empty());
    assert_eq!(delays(&found.forward), [20_000, 30_000]);

    let (told, warnings) = apply(&mut found, &selection, Some(&used(true)));
    assert!(told.is_some_and(|told| told.subtracted) && warnings.is_empty(), "{warnings:?}");
    assert_eq!(delays(&found.forward), [19_600, 29_600]);
    assert_eq!(delays(&found.reverse), [100, 100]);
    assert_eq!(delays(&found.round_trip), [19_700, 29_700]);
}

#[test]
fn delays_that_are_shorter_than_the_baseline_are_counted_and_said() {
    let (mut found, selection) = related(ClockRelation::Shared, StampRequest::Kernel);
    let too_much =
        CalibrationUse { stamp_errors: vec![error(TimestampPoint::Kernel, 400.0, 500.0)], ..used(true) };
    let (_, warnings) = apply(&mut found, &selection, Some(&too_much));
    assert_eq!(delays(&found.reverse), [-100, -100]);
    assert_eq!(warnings, [MeasurementWarning::BaselineExceedsDelays { delays: 2 }]);
}

#[test]
fn a_baseline_is_not_taken_out_of_delays_that_are_not_absolute() {
    let (mut found, selection) = related(ClockRelation::Unknown, StampRequest::Kernel);
    let before = delays(&found.forward);
    let (told, warnings) = apply(&mut found, &selection, Some(&used(true)));
    let told = told.expect("the stamps are the kernel's");
    assert_eq!((told.forward, told.reverse), (None, None));
    assert!(
        warnings.contains(&MeasurementWarning::BaselineRoundTripsOnly { round_trips: true }),
        "{warnings:?}"
    );
    assert_eq!(delays(&found.forward), before);
    assert_eq!(delays(&found.round_trip), [19_700, 29_700]);
}

#[test]
fn a_calibration_of_other_places_or_of_another_machine_is_said_and_not_used() {
    let (mut found, selection) = related(ClockRelation::Shared, StampRequest::User);
    let before = found.clone();
    let (told, warnings) = apply(&mut found, &selection, Some(&used(true)));
    let expected = [MeasurementWarning::CalibrationSourceMissing { subtract: true }];
    assert!(told.is_none() && warnings == expected, "{warnings:?}");
    let (mut found, selection) = related(ClockRelation::Shared, StampRequest::Kernel);
    let why = CalibrationUnused::OtherHost { calibrated: "x".into(), current: "y".into() };
    let refused = CalibrationUse { refused: Some(why.clone()), ..used(true) };
    let (told, warnings) = apply(&mut found, &selection, Some(&refused));
    assert!(told.is_none() && warnings == [MeasurementWarning::CalibrationNotUsed(why)], "{warnings:?}");
    assert_eq!(before.round_trip.len(), found.round_trip.len());
    assert_eq!(delays(&found.round_trip), [20_400, 30_400]);
    assert_eq!(apply(&mut found, &selection, None), (None, Vec::new()));
}
