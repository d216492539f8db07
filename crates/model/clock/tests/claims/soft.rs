//! Delays without a firm floor: noise makes them shorter as often as longer, and the least of them lies by itself now and then.

use romer_clock::skew::{ChangeKind, Estimate, Estimator, Method};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Direction, Timestamp};

/// Laws of delays, all of 1 ms deviation or about, above or about 10 ms.
const LAWS: [&str; 6] = ["normal", "lognormal", "gamma 5", "gamma 2", "uniform", "exponential"];

struct Chances {
    random: RandomStream,
    drawn: u64,
}

impl Chances {
    fn new(seed: u32) -> Self {
        Self { random: RandomStream::new(Seed([seed, 0x736f_6674, 0, 0, 0, 0]), [0, 0]), drawn: 0 }
    }

    fn unit(&mut self) -> f64 {
        self.drawn += 1;
        self.random.unit(self.drawn)
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    fn gamma(&mut self, shape: u32) -> f64 {
        (0..shape).map(|_| self.exponential()).sum()
    }

    /// A delay, nanoseconds.
    fn delay(&mut self, law: &str) -> f64 {
        10e6 + 1e6
            * match law {
                "normal" => self.normal(),
                "lognormal" => 2.0 * (0.5 * self.normal()).exp(),
                "gamma 5" => 0.45 * self.gamma(5),
                "gamma 2" => 0.7 * self.gamma(2),
                "uniform" => 3.5 * self.unit(),
                _ => self.exponential(),
            }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "minutes")]
fn at<C: romer_units::Clock>(ns: f64) -> Timestamp<C> {
    Timestamp::from_nanos(ns.round() as i64)
}

fn rate(seed: u32) -> f64 {
    let mut chances = Chances::new(seed);
    (chances.unit() - 0.5) * 1e-4
}

/// A minute of packets 20 ms apart, forward and, if asked for, in reverse; after half of it the way forward takes `longer`.
fn estimate(law: &str, seed: u32, both: bool, longer: f64) -> Estimate {
    let mut chances = Chances::new(seed);
    let rate = (chances.unit() - 0.5) * 1e-4;
    let mut estimator = Estimator::new(Method::Best, None);
    for n in 0..3_000_u32 {
        let left = f64::from(n) * 20e6;
        let came = left + chances.delay(law) + if n >= 1_500 { longer } else { 0.0 };
        estimator.push(Direction::Forward, at(left), at(came * (1.0 + rate)));
        if both {
            let home = came + chances.delay(law);
            estimator.push(Direction::Reverse, at(came * (1.0 + rate)), at(home));
        }
    }
    estimator.estimate()
}

/// Of 20 plays of each law, one way and two ways, none tells a change. (Where what lies above a line was the only measure of it, 15 and 21
/// of 100 normal ones did, and 8 and 15 lognormal ones.) If two in a hundred did, all 240 would pass with a probability below 0.01.
#[test]
fn nothing_is_told_of_noise_without_a_firm_floor() {
    for law in LAWS {
        for both in [false, true] {
            for seed in 0..20 {
                let found = estimate(law, seed, both, 0.0);
                assert_eq!(found.events, [], "{law}, seed {seed}, both ways: {both}");
                assert!(found.skew.is_some(), "{law}, seed {seed}, both ways: {both}: {:?}", found.why_not);
            }
        }
    }
}

/// The intervals of the rates hold in 93 to 97 of 100: of 120 more than 16 miss with a probability below 1e-3 if 5 of 100 do.
#[test]
fn the_rate_lies_within_its_interval_where_there_is_no_firm_floor() {
    for both in [false, true] {
        let plays = LAWS[..4].iter().flat_map(|law| (100..130).map(move |seed| (*law, seed)));
        let missed = plays.filter(|(law, seed)| {
            let truth = rate(*seed) * 1e6;
            let within = |[low, high]: [f64; 2]| low <= truth && truth <= high;
            !estimate(law, *seed, both, 0.0).skew.is_some_and(|skew| within(skew.interval_ppm))
        });
        let missed = missed.count();
        assert!(missed <= 16, "{missed} of 120, both ways: {both}");
    }
}

/// A way that becomes longer by three deviations is told as that, with its moment to a second. Its size lies within its interval: of 120 no more than 12
/// miss, which has a probability of 0.99 if 5 of 100 do, and none by as much again.
#[test]
fn a_change_of_the_way_is_told_though_there_is_no_firm_floor() {
    const LONGER: f64 = 3e6;
    let mut missed = 0;
    for law in LAWS {
        for both in [false, true] {
            for seed in 200..210 {
                let found = estimate(law, seed, both, LONGER).events;
                let [one] = &found[..] else { panic!("{law}, seed {seed}, both ways: {both}: {found:?}") };
                assert_eq!(
                    (one.kind, one.heading),
                    (ChangeKind::PathChange, Some(Direction::Forward)),
                    "{one:?}"
                );
                assert!((one.at_ns - 30_000_000_000).abs() < 1_000_000_000, "{law}, seed {seed}: {one:?}");
                let off = (one.size_ns as f64 - LONGER).abs();
                assert!(off <= 2.0 * one.error_ns, "{law}, seed {seed}: {one:?}");
                missed += u32::from(off > one.error_ns);
            }
        }
    }
    assert!(missed <= 12, "{missed} of 120");
}

/// A rate's interval where each delay keeps nine tenths of what the one before it was off by, and 0.97 of it: of 60 each no more than 8 miss, which
/// has a probability below 0.01 if 5 of 100 do. (Where floors counted for independent, 11 of 50 missed of the latter.)
#[test]
fn the_rate_lies_within_its_interval_where_neighbouring_floors_are_alike() {
    for keep in [0.9, 0.97_f64] {
        let missed = (0..60).filter(|seed| {
            let mut chances = Chances::new(*seed);
            let rate = (chances.unit() - 0.5) * 1e-4;
            let mut last = [0.0; 2];
            let mut delay = |way: usize| {
                last[way] = keep * last[way] + (1.0 - keep * keep).sqrt() * chances.normal();
                10e6 + 1e6 * last[way]
            };
            let mut estimator = Estimator::new(Method::Best, None);
            for n in 0..3_000_u32 {
                let left = f64::from(n) * 20e6;
                let came = left + delay(0);
                estimator.push(Direction::Forward, at(left), at(came * (1.0 + rate)));
                estimator.push(Direction::Reverse, at(came * (1.0 + rate)), at(came + delay(1)));
            }
            let within = |[low, high]: [f64; 2]| low <= rate * 1e6 && rate * 1e6 <= high;
            !estimator.estimate().skew.is_some_and(|skew| within(skew.interval_ppm))
        });
        let missed = missed.count();
        assert!(missed <= 8, "{missed} of 60 where {keep} is kept");
    }
}

/// One way only, of which each delay keeps 0.97 or 0.99 of what the one before it was off by (as the logarithm): no event is told, and where a rate is,
/// its interval holds it. Of 80 intervals more than 9 miss with a probability below 0.02 if 5 of 100 do. (Where bends counted for a clock's, and
/// floors for as good as independent, half of them missed, and one play in ten told of changes of the way.)
#[test]
fn one_way_whose_level_wanders_is_no_clock() {
    let (mut missed, mut told) = (0, 0);
    for keep in [0.97, 0.99_f64] {
        for seed in 0..40 {
            let mut chances = Chances::new(seed);
            let rate = (chances.unit() - 0.5) * 1e-4;
            let mut last = 0.0;
            let mut estimator = Estimator::new(Method::Best, None);
            for n in 0..3_000_u32 {
                last = keep * last + (1.0 - keep * keep).sqrt() * chances.normal();
                let left = f64::from(n) * 20e6;
                let came = left + 5e6 + 1e6 * (0.6 * last).exp();
                estimator.push(Direction::Forward, at(left), at(came * (1.0 + rate)));
            }
            let found = estimator.estimate();
            assert_eq!(found.events, [], "seed {seed}, {keep} kept");
            let Some(skew) = found.skew else { continue };
            let [low, high] = skew.interval_ppm;
            told += 1;
            missed += u32::from(!(low <= rate * 1e6 && rate * 1e6 <= high));
        }
    }
    assert!(told >= 60 && missed <= 9, "{missed} of {told}");
}
