//! Stamps that tell no less than a microsecond or a millisecond apart: what they leave open, the intervals hold, and a unit of
//! theirs is no step of a clock.

use romer_clock::skew::{Estimate, Estimator, InTurn, Method, correct, state, usable};
use romer_record::document::ClockState;
use romer_record::manifest::SkewRequest;
use romer_units::random::{RandomStream, Seed};
use romer_units::{Direction, Timestamp};

use crate::common::singleton;

/// A stream with stamps in whole units.
#[derive(Clone, Copy)]
struct Coarse {
    /// Nanoseconds that stamps tell apart.
    unit: f64,
    /// What packets wait on average, nanoseconds.
    wait: f64,
    seconds: f64,
    apart: f64,
    /// Clocks differ by no more than so many parts in a million.
    most_ppm: f64,
    ways: usize,
    /// Packets leave at equal times, or up to half of those later.
    even: bool,
}

/// Skew and estimate.
fn play(coarse: &Coarse, seed: u32) -> (f64, Estimate) {
    let random = RandomStream::new(Seed([seed, 0x636f_6172, 0, 0, 0, 0]), [0, 0]);
    let mut drawn = 0;
    let mut unit = || {
        drawn += 1;
        random.unit(drawn)
    };
    let skew = (2.0 * unit() - 1.0) * coarse.most_ppm * 1e-6;
    let ahead = unit() * 1e9;
    let mut estimator = Estimator::new(Method::Best, None);
    let number = coarse.seconds / coarse.apart;
    for heading in Direction::BOTH.into_iter().take(coarse.ways) {
        let mut n = 0.0;
        while n < number {
            let later = if coarse.even { 0.0 } else { 0.5 * unit() };
            let left = (n + later) * coarse.apart * 1e9;
            let there = left + 5e6 - coarse.wait * (1.0 - unit()).ln();
            let responder = |moment: f64| moment + skew * moment + ahead;
            let (departure, arrival) = match heading {
                Direction::Forward => (left, responder(there)),
                Direction::Reverse => (responder(left), there),
            };
            #[expect(clippy::cast_possible_truncation, reason = "minutes")]
            let whole = |moment: f64| ((moment / coarse.unit).floor() * coarse.unit) as i64;
            let (departure, arrival) = (whole(departure), whole(arrival));
            estimator.push(heading, Timestamp::from_nanos(departure), Timestamp::from_nanos(arrival));
            n += 1.0;
        }
    }
    (skew * 1e6, estimator.estimate())
}

/// How many intervals of 40 seeds missed, how many were not given, and what was told to have happened.
fn counted(coarse: &Coarse) -> (u32, u32, usize) {
    let (mut missed, mut refused, mut events) = (0, 0, 0);
    for seed in 1..=40 {
        let (ppm, found) = play(coarse, seed);
        events += found.events.len();
        match found.skew {
            Some(skew) => missed += u32::from(ppm < skew.interval_ppm[0] || ppm > skew.interval_ppm[1]),
            None => refused += 1,
        }
    }
    (missed, refused, events)
}

/// Of 40 intervals at 95 %, ten miss with a probability below 1e-5 in each case; nothing happens in any of them.
fn holds(coarse: Coarse) {
    for (ways, even) in [(1, false), (1, true), (2, false), (2, true)] {
        let (missed, refused, events) = counted(&Coarse { ways, even, ..coarse });
        assert!(missed < 10 && refused == 0, "{ways} {even}: {missed} missed, {refused} refused");
        assert_eq!(events, 0, "{ways} {even}");
    }
}

const MINUTE: Coarse =
    Coarse { unit: 1e6, wait: 1e6, seconds: 60.0, apart: 0.02, most_ppm: 20.0, ways: 1, even: false };

#[test]
fn stamps_of_a_millisecond_hold_the_skew_in_and_are_no_steps() {
    holds(MINUTE);
    holds(Coarse { most_ppm: 60.0, ..MINUTE });
}

#[test]
fn stamps_of_a_microsecond_do_where_nothing_waits_and_the_clocks_drift_by_less_than_one() {
    let short =
        Coarse { unit: 1e3, wait: 0.0, seconds: 20.0, apart: 0.01, most_ppm: 2.0, ways: 1, even: false };
    holds(short);
    holds(Coarse { most_ppm: 0.04, ..short });
}

#[test]
fn equal_delays_leave_open_what_a_nanosecond_does_where_stamps_tell_it() {
    let mut estimator = Estimator::new(Method::Best, None);
    for n in 0..1_000i64 {
        let at = n * 20_000_000 + n * n % 9_973;
        estimator.push(Direction::Forward, Timestamp::from_nanos(at), Timestamp::from_nanos(at + 5_000_000));
    }
    let [low, high] = estimator.estimate().skew.expect("a skew").interval_ppm;
    assert!(low < -5e-5 && high > 5e-5 && high - low < 1e-3, "{low} to {high}");
}

/// The clocks as the document has them, for packets of a minute or of another time at equal times, by stamps in whole units; skew (ppm) and
/// offset (ns) at the first packet are drawn.
fn documented(unit: f64, wait: f64, seconds: f64, ways: usize, seed: u32) -> (f64, f64, ClockState) {
    let random = RandomStream::new(Seed([seed, 0x756e_6974, 0, 0, 0, 0]), [0, 0]);
    let mut drawn = 0;
    let mut some = || {
        drawn += 1;
        random.unit(drawn)
    };
    let (skew, ahead, way) = ((2.0 * some() - 1.0) * 30e-6, (2.0 * some() - 1.0) * 1e9, 50e3 + 1e6 * some());
    #[expect(clippy::cast_possible_truncation, reason = "minutes")]
    let whole = |moment: f64| ((moment / unit).floor() * unit) as i64;
    let mut directions = [Vec::new(), Vec::new()];
    let mut n = 0u32;
    while f64::from(n) * 0.02 < seconds {
        let left = 1e12 + f64::from(n) * 2e7;
        let there = left + way - wait * (1.0 - some()).ln();
        let back = there + 5e3 + way - wait * (1.0 - some()).ln();
        let responder = |moment: f64| moment + skew * (moment - 1e12) + ahead;
        let stamps = [[left, responder(there)], [responder(there + 5e3), back]];
        for (singletons, [departure, arrival]) in directions.iter_mut().zip(stamps).take(ways) {
            singletons.push(singleton(u64::from(n), whole(departure), whole(arrival)));
        }
        n += 1;
    }
    let [mut forward, mut reverse] = directions;
    let request = SkewRequest::default();
    let (estimate, _) = usable(&request, &forward, &reverse, &InTurn);
    let least = [
        correct(&mut forward, Direction::Forward, &estimate, &InTurn),
        correct(&mut reverse, Direction::Reverse, &estimate, &InTurn),
    ];
    (skew * 1e6, ahead, state(&request, &estimate, &forward, &reverse, least).0)
}

/// All packets, or nearly all, of a direction lie on one tick: nothing is known of the rate, and of the offset what a tick leaves.
#[test]
fn stamps_coarser_than_what_delays_vary_by_tell_no_rate_and_widen_the_bounds() {
    for unit in [10e6, 15.625e6, 1e9] {
        for (wait, ways) in [(20e3, 2), (20e3, 1), (1e6, 2), (1e6, 1)] {
            for seed in 0..5 {
                let (_, ahead, clock) = documented(unit, wait, 60.0, ways, seed);
                assert!(!clock.identifiable, "{unit}, {wait}, {ways}, {seed}: {clock:?}");
                let holds = |[low, high]: [i64; 2]| low as f64 <= ahead && ahead <= high as f64;
                assert_eq!(clock.offset_bounds_ns.is_some(), ways == 2);
                assert!(
                    clock.offset_bounds_ns.is_none_or(holds),
                    "{unit}, {wait}, {seed}: {ahead}, {clock:?}"
                );
            }
        }
    }
}

/// The interval is wider by 1.8 units over the run, half of which a floor that moves by one cannot tilt a line by: none of ten misses.
#[test]
fn where_a_run_is_long_enough_for_such_stamps_the_rate_is_as_wide_as_they_leave_it() {
    for seed in 0..10 {
        let (ppm, ahead, clock) = documented(10e6, 1e6, 400.0, 2, seed);
        let Some([low, high]) = clock.skew_interval_ppm else { continue };
        assert!(
            high - low > 2.0 * 10e6 / 400.0 / 1e3 && low <= ppm && ppm <= high,
            "{seed}: {ppm}, {clock:?}"
        );
        assert!(clock.delay_error_ns >= Some(10e6), "{seed}: {clock:?}");
        let [low, high] = clock.offset_bounds_ns.expect("bounds");
        assert!(low as f64 <= ahead && ahead <= high as f64, "{seed}: {ahead}, {clock:?}");
    }
}

#[test]
fn what_the_stamps_do_not_tell_is_in_every_delay_and_a_run_too_short_for_them_is_as_wide() {
    let (_, found) = play(&MINUTE, 1);
    let correction = found.correction(Direction::Forward);
    assert!(correction.error_at(30_000_000_000) >= 1e6, "{correction:?}");
    let (ppm, found) = play(&Coarse { seconds: 5.0, ..MINUTE }, 1);
    let [low, high] = found.skew.expect("a skew").interval_ppm;
    assert!(high - low > 2.0 * 1e6 / 5.0 / 1e3 && low < ppm && ppm < high, "{low} to {high}");
}

#[test]
fn a_step_of_several_units_is_told_all_the_same() {
    let mut estimator = Estimator::new(Method::Best, None);
    let random = RandomStream::new(Seed([3; 6]), [0, 0]);
    for n in 0..3_000i64 {
        #[expect(clippy::cast_possible_truncation, reason = "some milliseconds")]
        let wait = (-1e6 * (1.0 - random.unit(n.unsigned_abs())).ln()) as i64;
        let step = if n < 1_500 { 0 } else { 8_000_000 };
        let (left, there) =
            (n * 20_000_000 + n % 7 * 1_000_000, n * 20_000_000 + n % 7 * 1_000_000 + wait + step);
        let there = there.div_euclid(1_000_000) * 1_000_000;
        estimator.push(Direction::Forward, Timestamp::from_nanos(left), Timestamp::from_nanos(there));
    }
    let found = estimator.estimate();
    assert_eq!(found.events.len(), 1, "{found:?}");
    assert!((found.events[0].size_ns - 8_000_000).abs() < 2_000_000, "{found:?}");
}
