//! The bounds of the offset hold by causality alone, whatever the estimator made of the packets.

use romer_clock::skew::{InTurn, correct, state, usable};
use romer_record::document::ClockState;
use romer_record::manifest::SkewRequest;
use romer_units::Direction;
use romer_units::random::{RandomStream, Seed};

use crate::common::singleton;

/// What happens in a run of a minute of round trips every 20 ms, over ways of 5 ms (times in seconds, lengths in nanoseconds).
#[derive(Clone, Default)]
struct Run {
    skew: f64,
    /// When, and by how much the responder's clock is set.
    step: Option<(f64, f64)>,
    /// When, for how long, and at which rate besides it is slewed.
    slew: Option<(f64, f64, f64)>,
    /// When the way there becomes longer, and by how much.
    path: Option<(f64, f64)>,
    /// A queue in both ways that is never empty and swings once in the run, by so much.
    swings: f64,
    seconds: f64,
}

impl Run {
    /// By how much the responder's clock is ahead.
    fn ahead(&self, at: f64) -> f64 {
        let step = self.step.filter(|step| at >= step.0).map_or(0.0, |step| step.1);
        let slew = self.slew.map_or(0.0, |(from, long, rate)| rate * (at - from).clamp(0.0, long) * 1e9);
        300e6 + self.skew * at * 1e9 + step + slew
    }

    /// The clocks as the document has them.
    fn clocks(&self, method: &str, calibration: Option<u64>, seed: u32) -> ClockState {
        let random = RandomStream::new(Seed([seed, 0x626f_756e, 0, 0, 0, 0]), [0, 0]);
        let mut drawn = 0;
        let mut waits = || {
            drawn += 1;
            -1e6 * (1.0 - random.unit(drawn)).ln()
        };
        let (mut forward, mut reverse) = (Vec::new(), Vec::new());
        let mut number = 0u32;
        while f64::from(number) * 0.02 < self.seconds {
            let left = f64::from(number) * 0.02;
            let queue = self.swings * (2.0 + (std::f64::consts::TAU * left / self.seconds).sin());
            let longer = self.path.filter(|path| left >= path.0).map_or(0.0, |path| path.1);
            let there = left + (5e6 + waits() + queue + longer) / 1e9;
            let again = there + 5e-5;
            let back = again + (5e6 + waits() + queue) / 1e9;
            let sender = |at: f64| whole(at * 1e9);
            let responder = |at: f64| whole(at * 1e9 + self.ahead(at));
            forward.push(singleton(number.into(), sender(left), responder(there)));
            reverse.push(singleton(number.into(), responder(again), sender(back)));
            number += 1;
        }
        let request = SkewRequest {
            method: method.into(),
            calibration,
            path_minimum_ns: None,
            ..SkewRequest::default()
        };
        let (estimate, _) = usable(&request, &forward, &reverse, &InTurn);
        let least = [
            correct(&mut forward, Direction::Forward, &estimate, &InTurn),
            correct(&mut reverse, Direction::Reverse, &estimate, &InTurn),
        ];
        state(&request, &estimate, &forward, &reverse, least).0
    }
}

#[expect(clippy::cast_possible_truncation, reason = "minutes")]
fn whole(moment: f64) -> i64 {
    moment.round() as i64
}

/// The offset at the first packet lies within the bounds, which are no wider than the first packets took there and back.
fn holds(run: &Run, clock: &ClockState, most: f64, of: &str) {
    let [low, high] = clock.offset_bounds_ns.unwrap_or_else(|| panic!("{of}: {clock:?}"));
    let truth = run.ahead(0.005);
    assert!((low as f64) <= truth && truth <= high as f64, "{of}: {truth} in {clock:?}");
    assert!((high - low) as f64 <= most, "{of}: {clock:?}");
}

#[test]
fn they_hold_whatever_line_a_method_has_drawn() {
    let run = Run {
        skew: 23e-6,
        step: Some((40.0, 5e6)),
        path: Some((20.0, 10e6)),
        seconds: 60.0,
        ..Run::default()
    };
    let methods = [
        ("none", None),
        ("least-squares", None),
        ("least-absolute", None),
        ("least-absolute-jumps", None),
        ("hull", None),
        ("hull", Some(2)),
        ("khlifi:5s,0.9", None),
        ("best", None),
    ];
    for (method, calibration) in methods {
        for seed in 0..4 {
            let clock = run.clocks(method, calibration, seed);
            // The first tenth of a second has five packets each way, that waited a millisecond on average.
            holds(&run, &clock, 20e6, &format!("{method}, {calibration:?}, {seed}"));
        }
    }
}

#[test]
fn they_hold_where_the_rate_is_refused() {
    for (seconds, skew) in [(600.0, 20e-6), (600.0, 50e-6), (150.0, -40e-6)] {
        let run = Run { skew, swings: 1e6, seconds, ..Run::default() };
        let clock = run.clocks("best", None, 7);
        assert!(!clock.identifiable, "{clock:?}");
        holds(&run, &clock, 20e6, &format!("{seconds} s, {skew}"));
    }
}

/// What came after an event, whatever it is told as, says nothing of the offset before it.
#[test]
fn they_hold_however_a_slew_is_told() {
    for (from, long, rate) in [(2.0, 5.0, -1e-4), (25.0, 2.5, 4e-4), (40.0, 5.0, 1e-4), (30.0, 10.0, -5e-5)] {
        for seed in 0..4 {
            let run = Run { skew: -30e-6, slew: Some((from, long, rate)), seconds: 60.0, ..Run::default() };
            let clock = run.clocks("best", None, seed);
            holds(&run, &clock, 15e6, &format!("{from} s, {rate}, {seed}"));
        }
    }
}

#[test]
fn a_rate_that_is_known_narrows_them_to_what_the_quickest_packets_took() {
    let run = Run { skew: 40e-6, seconds: 60.0, ..Run::default() };
    for seed in 0..4 {
        let clock = run.clocks("best", None, seed);
        holds(&run, &clock, 10.1e6, &format!("{seed}"));
    }
}

/// Also at a rate that only a steered clock has: chrony slews by up to 8.33 %.
#[test]
fn bounds_hold_at_steered_rates() {
    for skew in [0.002, -0.01, 0.0833, -0.0833] {
        for seed in 0..4 {
            let run = Run { skew, seconds: 60.0, ..Run::default() };
            let clock = run.clocks("best", None, seed);
            holds(&run, &clock, 12e6, &format!("{skew}, {seed}"));
        }
    }
}
