//! How sure a grid's step and offset are, and peaks of any number that make none.

use super::*;

/// Step and offset of the grid, each with its interval, in milliseconds.
fn grid_of(findings: &[Finding], wanted: GridQuantity) -> Option<[(f64, [f64; 2]); 2]> {
    findings.iter().find_map(|one| match one.pattern {
        Pattern::DelayGrid {
            quantity,
            step_ns,
            step_interval_ns: Some(step),
            offset_ns: Some(offset_ns),
            offset_interval_ns: Some(offset),
            ..
        } if quantity == wanted => {
            let ms = |ends: [f64; 2]| ends.map(|end| end / MS);
            Some([(step_ns / MS, ms(step)), (offset_ns / MS, ms(offset))])
        }
        _ => None,
    })
}

#[test]
fn the_intervals_hold_step_and_offset_of_a_beat() {
    let mut missed = [0, 0];
    for seed in 0..40 {
        let (step, interval) = (10.0002, 45.2);
        let mut chance = Chance::new(800, seed);
        let delays: Vec<_> = (0..3_000)
            .map(|number| {
                let at = f64::from(number) * interval;
                let slot = (at / step).ceil() + (3.0 * chance.exponential()).floor().min(3.0);
                // One in twenty is held up on its way.
                let held_up = if chance.unit() < 0.05 { 10.0 * chance.unit() } else { 0.0 };
                Some((slot * step - at + 0.05 * chance.normal() + 5.0 + held_up) * MS)
            })
            .collect();
        let found = found(&singletons(interval * MS, delays));
        let Some(told) = grid_of(&found, GridQuantity::Ipdv) else { panic!("seed {seed}: {found:?}") };
        for ((missed, truth), (value, [low, high])) in
            missed.iter_mut().zip([step, 5.0 * step - interval]).zip(told)
        {
            *missed += u32::from(truth < low || high < truth);
            assert!((value - truth).abs() < 0.01 && high - low < 0.02, "seed {seed}: {value} {low} {high}");
        }
    }
    // Of 40 at 5 %, more than 11 with a probability of 1e-6.
    assert!(missed.iter().all(|missed| *missed <= 11), "{missed:?} of 40");
}

#[test]
fn routes_of_any_number_at_arbitrary_delays_make_no_grid() {
    for routes in [5, 6, 7, 8, 9, 10, 12, 14, 20] {
        for seed in 0..16 {
            let mut chance = Chance::new(810 + routes, seed);
            let width = if seed % 2 == 0 { 0.02 } else { 0.05 };
            let modes: Vec<(f64, f64, f64)> =
                (0..routes).map(|_| (10.0 + 20.0 * chance.unit(), width, 1.0)).collect();
            let delays = of_modes(&modes, 0.0, 1_500, &mut chance);
            let found = found(&singletons(20.0 * MS, delays));
            assert!(!has_grid(&found), "{routes} routes, seed {seed}: {found:?}");
        }
    }
}

#[test]
fn the_steps_of_grids_with_unlike_points_are_neither_long_nor_short() {
    const STREAMS: u32 = 100;
    let (mut missed, mut off) = (0, Vec::new());
    for seed in 0..STREAMS {
        let mut chance = Chance::new(820, seed);
        let points = 10 + seed % 21;
        let width = 0.01 * (7.0 * chance.unit()).max(0.5);
        let step = 1.0 + 19.0 * chance.unit();
        // Weights that differ by a factor of ten and more.
        let modes: Vec<(f64, f64, f64)> = (0..points)
            .map(|point| (20.0 + step * f64::from(point), step * width, 0.05 + chance.exponential()))
            .collect();
        let delays = of_modes(&modes, 0.0, 3_000, &mut chance);
        let found = found(&singletons(20.0 * MS, delays));
        let Some([(told, [low, high]), _]) = grid_of(&found, GridQuantity::Delay) else { continue };
        missed += u32::from(step < low || high < step);
        off.push((told - step) / ((high - low) / 2.0));
    }
    let count = crate::value::real(off.len());
    let mean = off.iter().sum::<f64>() / count;
    assert!(off.len() > 60, "{} of {STREAMS} have a grid", off.len());
    // The mean of 60 has a deviation of a fifteenth of the half widths, and is 4.9 of them off with a probability of 1e-6; of
    // 100 at 5 %, more than 18 are missed with less than that.
    assert!(mean.abs() < 4.9 / 1.96 / count.sqrt(), "{mean}");
    assert!(missed <= 18, "{missed} of {}", off.len());
}

/// Hershberger 2005's: steps of 10.7 ms from 2.1 ms on, and of 10 ms from 4.8 ms on, with noise whose deviation is up to a seventieth of a step,
/// over six points that are alike or seven of which each has less than half of the one before.
#[test]
fn a_few_broad_points_at_equal_steps_are_a_grid() {
    let mut missed = Vec::new();
    for (step, offset) in [(10.7, 2.1), (10.0, 4.8)] {
        for noise in [0.0, 0.015, 0.05, 0.15] {
            for (seed, alike) in (0..5).flat_map(|seed| [(seed, true), (seed, false)]) {
                let mut chance = Chance::new(830, seed);
                let delays = (0..3_000).map(|_| {
                    let point = if alike {
                        (6.0 * chance.unit()).floor()
                    } else {
                        (chance.exponential() / 0.8).floor().min(6.0)
                    };
                    Some((offset + step * point + noise * chance.normal()) * MS)
                });
                let found = found(&singletons(22.5 * MS, delays));
                match grid_of(&found, GridQuantity::Delay) {
                    Some([(told, _), (from, _)]) => {
                        assert!(
                            (told - step).abs() < 0.05 && (from - offset).abs() < 0.1,
                            "{told} from {from}"
                        );
                    }
                    None => missed.push((step, noise, seed, alike)),
                }
            }
        }
    }
    assert!(missed.len() <= 2, "{} of 80 are missed: {missed:?}", missed.len());
}

/// Points that hold a handful of values beside points that hold hundreds: a handful may lie together by chance.
#[test]
fn the_interval_holds_the_step_where_many_points_hold_few_values() {
    type Delay = fn(&mut Chance, u32) -> f64;
    let noise = |chance: &mut Chance| 0.01 * chance.normal();
    let kinds: [(&str, f64, Delay); 4] = [
        ("12 points", 20.0, |chance, _| (chance.exponential() * 12.0 / 5.0).floor().min(11.0) * 0.5),
        ("25 points", 20.0, |chance, _| (chance.exponential() * 25.0 / 5.0).floor().min(24.0) * 0.5),
        ("45 points", 20.0, |chance, _| (chance.exponential() * 45.0 / 5.0).floor().min(44.0) * 0.5),
        ("turns of 4 ms", 22.5, |chance, number| {
            let at = f64::from(number) * 22.5;
            ((at + 20.0 + 4.8 * chance.exponential()) / 4.0).ceil() * 4.0 - at
        }),
    ];
    for (kind, (name, interval, delay)) in (0..).zip(kinds) {
        let (mut told, mut missed) = (0, 0);
        for seed in 0..60 {
            let mut chance = Chance::new(840 + kind, seed);
            let delays: Vec<_> = (0..3_000)
                .map(|number| Some((5.0 + delay(&mut chance, number) + noise(&mut chance)) * MS))
                .collect();
            let found = found(&singletons(interval * MS, delays));
            let Some([(_, [low, high]), _]) = grid_of(&found, GridQuantity::Delay) else { continue };
            told += 1;
            missed += u32::from(0.5 < low || high < 0.5);
        }
        // Of 60 at 5 %, more than 14 with a probability of 2e-7.
        assert!(told >= 57 && missed <= 14, "{name}: {missed} of {told} missed");
    }
}
