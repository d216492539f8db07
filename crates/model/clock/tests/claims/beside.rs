//! A slew: what lies within it, or so near its ends that it may, is not taken for the least delay.

use crate::chances::Chances;
use crate::common::singleton;
use romer_clock::skew::{InTurn, correct, state, usable};
use romer_record::OneWaySingleton;
use romer_record::document::ClockState;
use romer_record::manifest::SkewRequest;
use romer_units::Direction;
use romer_units::random::{RandomStream, Seed};

fn between(chances: &mut Chances, low: f64, high: f64) -> f64 {
    low + (high - low) * chances.unit()
}

fn one_of<T: Copy>(chances: &mut Chances, all: &[T]) -> T {
    let place = place_of(chances.unit(), all.len());
    all[place]
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few things")]
fn place_of(unit: f64, length: usize) -> usize {
    (unit * length as f64) as usize
}

#[expect(clippy::cast_possible_truncation, reason = "a minute")]
fn nanos(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

/// A minute of packets 30 ms apart.
struct Play {
    singletons: [Vec<OneWaySingleton>; 2],
    /// What each packet waited, nanoseconds.
    waited: [Vec<f64>; 2],
    clock: ClockState,
}

/// The responder's clock is slewed by 100, 200 or 500 ppm for 2 to 12 s.
fn play(seed: u32) -> Play {
    let random = RandomStream::new(Seed([seed, 0x736c_6577, 0, 0, 0, 0]), [0, 0]);
    let mut chances = Chances::new(random);
    let rate = between(&mut chances, -60e-6, 60e-6);
    let (from, lasts) = (between(&mut chances, 6.0, 40.0), between(&mut chances, 2.0, 12.0));
    let slewed = one_of(&mut chances, &[1e-4, 2e-4, 5e-4]) * one_of(&mut chances, &[1.0, -1.0]);
    let wait = one_of(&mut chances, &[5e-5, 2e-4, 5e-4]);
    let shape = one_of(&mut chances, &[1_u32, 2]);
    let poisson = chances.unit() < 0.5;
    let least = [between(&mut chances, 2e-4, 6e-2), between(&mut chances, 2e-4, 6e-2)];
    let ahead = |x: f64| rate * x + slewed * (x - from).clamp(0.0, lasts);
    let (mut singletons, mut waited) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    let mut left = 0.0;
    for n in 0..2_000_u64 {
        let waits: [f64; 2] = std::array::from_fn(|_| {
            wait / f64::from(shape) * (0..shape).map(|_| chances.exponential(1.0)).sum::<f64>()
        });
        let came = left + least[0] + waits[0];
        let again = came + 5e-5;
        let home = again + least[1] + waits[1];
        singletons[0].push(singleton(n, nanos(left), nanos(came + ahead(came))));
        singletons[1].push(singleton(n, nanos(again + ahead(again)), nanos(home)));
        for (waited, wait) in waited.iter_mut().zip(waits) {
            waited.push(wait * 1e9);
        }
        left += if poisson { 0.03 * chances.exponential(1.0) } else { 0.03 };
    }
    let request = SkewRequest::default();
    let (found, _) = usable(&request, &singletons[0], &singletons[1], &InTurn);
    let [forward, reverse] = &mut singletons;
    let least = [
        correct(forward, Direction::Forward, &found, &InTurn),
        correct(reverse, Direction::Reverse, &found, &InTurn),
    ];
    let clock = state(&request, &found, forward, reverse, least).0;
    Play { singletons, waited, clock }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, number) = values.fold((0.0, 0.0), |(sum, number), one| (sum + one, number + 1.0));
    sum / number
}

/// Of 40 directions no more may be off by more than they tell than chance has it: if 5 of 100 are, more than 6 are with a probability below 0.01. (12 were,
/// by up to 124 us.)
#[test]
fn the_least_delay_is_not_taken_from_within_a_slew() {
    let mut missed = 0;
    for seed in 40..60 {
        let play = play(seed);
        let error = play.clock.delay_error_ns.unwrap();
        for (singletons, waited) in play.singletons.iter().zip(&play.waited) {
            let least = waited.iter().copied().fold(f64::INFINITY, f64::min);
            let truth = mean(waited.iter().map(|one| one - least));
            let found = mean(singletons.iter().map(|one| one.delay.unwrap().as_nanos() as f64));
            let off = (found - truth).abs();
            missed += u32::from(off > error + 1_000.0);
            assert!(off < 20_000.0, "{seed}: off by {off} ns, {:?}", play.clock);
        }
    }
    assert!(missed <= 6, "{missed} of 40");
}
