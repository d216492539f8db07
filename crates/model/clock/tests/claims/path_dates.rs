//! When a way changed, in long runs.

use romer_clock::skew::{ChangeKind, InTurn, usable};
use romer_record::OneWaySingleton;
use romer_record::manifest::SkewRequest;
use romer_units::Direction;
use romer_units::random::{RandomStream, Seed};

use crate::chances::Chances;
use crate::common::singleton;

/// How far apart packets leave, seconds.
const APART: f64 = 0.1;

#[expect(clippy::cast_possible_truncation, reason = "an hour")]
fn ns(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

/// An hour of packets, of which the way forward, or in reverse, becomes longer by `size` at a moment; and when the first that took it passed
/// the sender.
fn play(seed: u32, heading: Direction, size: f64) -> (i64, [Vec<OneWaySingleton>; 2]) {
    let mut chances = Chances::new(RandomStream::new(Seed([seed, 0x7061_7468, 0, 0, 0, 0]), [0, 0]));
    let rate = 6e-5 * (chances.unit() - 0.5);
    let wait = 1e-4 * 10_f64.powf(chances.unit());
    let at = 600.0 + 2_400.0 * chances.unit();
    // A temperature that goes up and down in twenty minutes.
    let turn = std::f64::consts::TAU / 1_200.0;
    let theirs = |x: f64| x * (1.0 + rate) + 1e-7 / turn * (1.0 - (turn * x).cos()) + 0.3;
    let more = |x: f64, way: Direction| if way == heading && x >= at { size } else { 0.0 };
    let mut ways = [Vec::new(), Vec::new()];
    let mut first = i64::MAX;
    for n in 0..36_000_u32 {
        let left = f64::from(n) * APART;
        let came = left + 0.01 + chances.exponential(wait) + more(left, Direction::Forward);
        let home = came + 0.012 + chances.exponential(wait) + more(came, Direction::Reverse);
        let seen = if heading == Direction::Forward { left } else { home };
        if more(if heading == Direction::Forward { left } else { came }, heading) != 0.0 {
            first = first.min(ns(seen));
        }
        ways[0].push(singleton(u64::from(n), ns(left), ns(theirs(came))));
        ways[1].push(singleton(u64::from(n), ns(theirs(came)), ns(home)));
    }
    (first, ways)
}

/// (It was told 1.2 to 3.7 seconds late.)
#[test]
fn a_change_of_a_way_is_told_when_the_packets_show_it() {
    for seed in 0..6 {
        for heading in Direction::BOTH {
            for size in [0.01, -0.004] {
                let (first, [there, back]) = play(seed, heading, size);
                let (found, _) = usable(&SkewRequest::default(), &there, &back, &InTurn);
                let name = format!("{seed}, {heading:?}, {size}: {:?}", found.events);
                let [one] = found.events[..] else { panic!("{name}") };
                assert_eq!((one.kind, one.heading), (ChangeKind::PathChange, Some(heading)), "{name}");
                // No later than the first packet that took it, and after the last one that did not.
                let early = first - one.at_ns;
                assert!((0..=ns(APART + 0.02)).contains(&early), "{name}: {early}");
            }
        }
    }
}
