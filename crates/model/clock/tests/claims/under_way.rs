//! A clock that is slewed where a run ends, or was before it began.

use romer_clock::skew::{ChangeKind, Estimate, Method};
use romer_record::warning::MeasurementWarning;
use romer_sim::clocks::{Play, Scenario, Wander};
use romer_units::Direction;
use romer_units::random::{RandomStream, Seed};

use crate::common;

fn estimate(play: &Play) -> Estimate {
    common::estimate(Method::Best, play)
}

/// How far the delays of any packet are off beside those of most, nanoseconds, and how far they are told to be.
fn off(found: &Estimate, play: &Play) -> (f64, f64) {
    let mut most = (0.0_f64, 0.0_f64);
    for (heading, probes) in Direction::BOTH.into_iter().zip(&play.probes) {
        let correction = found.correction(heading);
        let here = |probe: &romer_sim::clocks::Probe| {
            if heading == Direction::Forward { probe.departure_ns } else { probe.arrival_ns }
        };
        let mut left: Vec<f64> = probes
            .iter()
            .map(|probe| {
                let told = probe.arrival_ns - probe.departure_ns - correction.at(here(probe));
                told as f64 - probe.waited_ns
            })
            .collect();
        if left.is_empty() {
            continue;
        }
        left.sort_by(f64::total_cmp);
        let middle = left[left.len() / 2];
        most.0 = left.iter().map(|one| (one - middle).abs()).fold(most.0, f64::max);
        most.1 = probes.iter().map(|probe| correction.error_at(here(probe))).fold(most.1, f64::max);
    }
    most
}

/// A slew of 100 to 500 ppm over the last of the run, or the first, from a sixteenth of it to a fifth.
fn cut_off(seed: u32, length: f64, mean: f64) -> Play {
    let block = RandomStream::new(Seed([seed, 0, 0, 0, 0, 0x736c_6577]), [1, 0]).block(1);
    let unit = |place: usize| f64::from(block[place]) / 4_294_967_296.0;
    let lasts = length * (0.0625 + 0.1375 * unit(0));
    let rate = (100e-6 + 400e-6 * unit(1)) * if seed % 4 < 2 { 1.0 } else { -1.0 };
    let from = if seed.is_multiple_of(2) { 0.0 } else { length - lasts };
    let clock = Wander { slews: vec![(from, rate, lasts)], ..Wander::default() };
    Scenario { length, mean, clock, ..Scenario::default() }.play(seed)
}

/// By how much the responder's clock gained in the run besides its steady rate, nanoseconds.
fn gained(play: &Play) -> f64 {
    let (first, last) = (play.probes[0][0], play.probes[0][play.probes[0].len() - 1]);
    let steadily = play.skew_ppm * 1e-6 * (last.departure_ns - first.departure_ns) as f64;
    last.ahead_ns - first.ahead_ns - steadily
}

/// Before, none was told, and delays were off by all of it, half a millisecond to 24, with an error of some microseconds. Of 400 other plays all are
/// told with a size within its interval, and of 394 all delays are within their error, of 200 of a minute 194: of 40, fewer than 35 and fewer than
/// 31 have a probability of 1e-6.
#[test]
fn a_slew_that_an_end_cuts_off_is_told_and_taken_out() {
    for (length, mean) in [(60.0, 0.3e-3), (300.0, 1e-3)] {
        let (mut told, mut held) = (0, 0);
        for seed in 1..=40 {
            let play = cut_off(seed, length, mean);
            let (found, size) = (estimate(&play), gained(&play));
            let (off, error) = off(&found, &play);
            let is_it = matches!(&found.events[..], [one] if one.kind == ChangeKind::Slew && one.may_be.is_none()
                && (one.size_ns as f64 - size).abs() <= one.error_ns);
            if !is_it || off > error {
                println!("{length} s, seed {seed}: {size} ns, off by {off} of {error}: {:?}", found.events);
            }
            told += usize::from(is_it);
            held += usize::from(off <= error);
        }
        assert!(told >= 35 && held >= 31, "{length} s: {told} told, {held} with delays within their error");
    }
}

/// A slew of 100 to 500 ppm that takes a part of the run, between the ends of it or up to one of them.
fn long(seed: u32, length: f64, mean: f64, part: f64, is_within: bool) -> Play {
    let block = RandomStream::new(Seed([seed, 0, 0, 0, 0, 0x6c6f_6e67]), [1, 0]).block(1);
    let unit = |place: usize| f64::from(block[place]) / 4_294_967_296.0;
    let lasts = length * part;
    let rate = (100e-6 + 300e-6 * unit(1)) * if seed % 4 < 2 { 1.0 } else { -1.0 };
    let from = match (is_within, seed.is_multiple_of(2)) {
        (true, _) => (length - lasts) * (0.35 + 0.3 * unit(0)),
        (false, true) => 0.0,
        (false, false) => length - lasts,
    };
    let clock = Wander { slews: vec![(from, rate, lasts)], ..Wander::default() };
    Scenario { length, mean, clock, ..Scenario::default() }.play(seed)
}

/// Of what takes most of a run, or half of it to its end, either rate may be the usual one: delays are right by both, and the directions take the same
/// for it. Before, all but the shortest within the run were refused, or told as nothing with delays off by all of it.
#[test]
fn a_slew_of_half_of_a_run_and_more_is_told_and_taken_out() {
    for (length, mean) in [(60.0, 0.3e-3), (300.0, 1e-3)] {
        for (part, is_within) in
            [(0.5, true), (0.7, true), (0.9, true), (0.5, false), (0.7, false), (0.9, false)]
        {
            let (mut told, mut held) = (0, 0);
            for seed in 1..=12 {
                let play = long(seed, length, mean, part, is_within);
                let found = estimate(&play);
                let (off, error) = off(&found, &play);
                let is_told = !found.events.is_empty()
                    && found.events.iter().all(|one| one.kind == ChangeKind::Slew && one.may_be.is_none());
                if !is_told || off > error {
                    println!(
                        "{length} s, {part} of it, seed {seed}: off by {off} of {error}: {:?}",
                        found.events
                    );
                }
                told += usize::from(is_told);
                held += usize::from(off <= error);
            }
            assert!(
                told >= 11 && held >= 10,
                "{length} s, {part} of it: {told} told, {held} within their error"
            );
        }
    }
}

/// Where packets wait a millisecond the corner of such a slew is told no better than to some tenths of a second; what its size may be off by has that in it.
#[test]
fn a_slew_that_an_end_cuts_off_begins_when_packets_say_so_where_they_wait_long() {
    let (mut sizes, mut held) = (0, 0);
    for seed in 1..=40 {
        let block = RandomStream::new(Seed([seed, 0, 0, 0, 0, 0x636f_726e]), [1, 0]).block(1);
        let lasts = 6.0 + 8.0 * f64::from(block[0]) / 4_294_967_296.0;
        let from = if seed % 2 == 0 { 0.0 } else { 60.0 - lasts };
        let rate = if seed % 4 < 2 { 200e-6 } else { -200e-6 };
        let clock = Wander { slews: vec![(from, rate, lasts)], ..Wander::default() };
        let play = Scenario { clock, ..Scenario::default() }.play(seed);
        let (found, size) = (estimate(&play), gained(&play));
        let (off, error) = off(&found, &play);
        let is_held = matches!(&found.events[..], [one] if (one.size_ns as f64 - size).abs() <= one.error_ns);
        if !is_held || off > error {
            println!("seed {seed}: {size} in {lasts} s, off by {off} of {error}: {:?}", found.events);
        }
        sizes += usize::from(is_held);
        held += usize::from(off <= error);
    }
    // Of 40 that hold in 95 of 100, fewer than 34 have a probability of 0.003.
    assert!(sizes >= 34 && held >= 34, "{sizes} sizes and {held} delays within their error");
}

/// Floors tell neither: of 40 plays each none was told, and in none were all delays within the error.
#[test]
fn a_slew_that_an_end_cuts_off_is_told_by_packets_where_it_is_short_or_slight() {
    // A thirtieth of the run at 200 ppm is 0.4 of what packets wait; 10 ppm for 9 s of five minutes are 90 us.
    for (length, mean, rate, lasts) in [(60.0, 1e-3, 200e-6, 2.0), (300.0, 0.2e-3, 10e-6, 9.0)] {
        let (mut told, mut held) = (0, 0);
        for seed in 1..=40 {
            let from = if seed % 2 == 0 { 0.0 } else { length - lasts };
            let rate = if seed % 4 < 2 { rate } else { -rate };
            let clock = Wander { slews: vec![(from, rate, lasts)], ..Wander::default() };
            let play = Scenario { length, mean, clock, ..Scenario::default() }.play(seed);
            let found = estimate(&play);
            let (off, error) = off(&found, &play);
            let is_told = matches!(&found.events[..], [one] if one.kind == ChangeKind::Slew);
            if !is_told || off > error {
                println!("{length} s, seed {seed}: off by {off} of {error}: {:?}", found.events);
            }
            told += usize::from(is_told);
            held += usize::from(off <= error);
        }
        assert!(told >= 34 && held >= 33, "{length} s: {told} told, {held} with delays within their error");
    }
}

/// A slew of some seconds in ten minutes is shorter than two floors, which take it for a step; packets tell that it took its time, and that a step took none.
#[test]
fn a_slew_that_is_short_beside_the_run_is_no_step() {
    for (mean, rate) in [(2e-6, 500e-6), (0.1e-3, 500e-6)] {
        let (mut slews, mut steps, mut held) = (0, 0, 0);
        for seed in 1..=20 {
            let block = RandomStream::new(Seed([seed, 0, 0, 0, 0, 0x7368_6f72]), [1, 0]).block(1);
            let unit = |place: usize| f64::from(block[place]) / 4_294_967_296.0;
            let (at, lasts) = (600.0 * (0.2 + 0.6 * unit(0)), 1.0 + 3.0 * unit(1));
            let rate = if seed % 4 < 2 { rate } else { -rate };
            let of = |clock: Wander| {
                let play =
                    Scenario { length: 600.0, interval: 0.05, mean, clock, ..Scenario::default() }.play(seed);
                (estimate(&play), play)
            };
            let (found, play) = of(Wander { slews: vec![(at, rate, lasts)], ..Wander::default() });
            let (off, error) = off(&found, &play);
            let is_slew = matches!(&found.events[..], [one] if one.kind == ChangeKind::Slew);
            if !is_slew || off > error {
                println!("{mean} s, seed {seed}: {lasts} s, off by {off} of {error}: {:?}", found.events);
            }
            slews += usize::from(is_slew);
            held += usize::from(off <= error);
            let (found, _) = of(Wander { steps: vec![(at, rate * lasts)], ..Wander::default() });
            let is_step = matches!(&found.events[..], [one] if one.kind == ChangeKind::ClockStep);
            if !is_step {
                println!("{mean} s, seed {seed}, a step: {:?}", found.events);
            }
            steps += usize::from(is_step);
        }
        assert!(
            slews >= 18 && held >= 18 && steps == 20,
            "{mean} s: {slews} slews, {steps} steps, {held} held"
        );
    }
}

/// Of one direction alone it cannot be told whether a clock is slewed there or the way becomes longer: it stays in the delays, and in their error.
#[test]
fn what_one_direction_shows_at_an_end_is_left_open() {
    for seed in 1..=20 {
        let mut play = cut_off(seed, 60.0, 0.3e-3);
        let size = gained(&play);
        play.probes[1].clear();
        let found = estimate(&play);
        let [one] = &found.events[..] else { panic!("seed {seed}: {:?}", found.events) };
        assert_eq!(
            (one.kind, one.may_be),
            (ChangeKind::PathChange, Some(ChangeKind::Slew)),
            "seed {seed}: {one:?}"
        );
        let (off, error) = off(&found, &play);
        assert!(off <= error && error < 1.5 * size.abs() + 1e5, "seed {seed}: off by {off} of {error}");
        assert!(
            matches!(found.remarks[..], [MeasurementWarning::DriftAmbiguousAtEnd { .. }, ..]),
            "seed {seed}"
        );
    }
}

/// A way that becomes longer and longer up to the end, in one direction or in both, is no clock.
#[test]
fn a_queue_that_grows_up_to_an_end_is_no_clock_that_is_slewed() {
    for seed in 1..=20 {
        for both in [false, true] {
            let mut play = Scenario { mean: 0.3e-3, ..Scenario::default() }.play(seed);
            let begins = play.probes[0][0].departure_ns + 52_000_000_000;
            let ways = if both { 0..2 } else { 0..1 };
            for probe in play.probes[ways].iter_mut().flatten() {
                // Three tenths of a millisecond a second, wherever the clocks are: they are ahead by a second at the most.
                let grown = (probe.departure_ns - begins).max(0) * 3 / 10_000;
                probe.arrival_ns += grown;
                probe.waited_ns += grown as f64;
            }
            let found = estimate(&play);
            assert!(
                found.events.iter().all(|event| event.kind != ChangeKind::Slew || event.may_be.is_some()),
                "seed {seed}, both: {both}: {:?}",
                found.events
            );
        }
    }
}
