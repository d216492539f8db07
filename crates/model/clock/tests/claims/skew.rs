//! The estimators of skew against closed forms, against each other, and under what must not change them.

use proptest::prelude::*;
use romer_clock::skew::{
    ChangeKind, Estimate, Estimator, Hull, InTurn, Method, Point, estimate as relate, usable,
};
use romer_record::manifest::SkewRequest;
use romer_record::warning::{MeasurementWarning, SkewUnknown};
use romer_record::{Fate, OneWaySingleton};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Direction, Duration, Timestamp};

const METHODS: [Method; 5] = [
    Method::LeastSquares,
    Method::LeastAbsolute,
    Method::LeastAbsoluteJumps,
    Method::Hull,
    Method::Khlifi { window: Duration::from_secs(5), weight: 0.5 },
];

/// Packets forward: departure and raw delay, nanoseconds.
fn estimate(method: Method, calibration: Option<u64>, packets: &[(i64, i64)]) -> Estimate {
    let mut estimator = Estimator::new(method, calibration);
    for (at, delay) in packets {
        estimator.push(Direction::Forward, Timestamp::from_nanos(*at), Timestamp::from_nanos(at + delay));
    }
    estimator.estimate()
}

fn ppm(estimate: &Estimate) -> f64 {
    estimate.skew.expect("a skew").ppm
}

/// A minute of packets with delays drawn from anywhere.
fn packets() -> impl Strategy<Value = Vec<(i64, i64)>> {
    proptest::collection::vec(0i64..3_000_000, 200..600).prop_map(|waits| {
        waits.into_iter().zip(0..).map(|(wait, number)| (number * 100_000_000, 5_000_000 + wait)).collect()
    })
}

#[test]
fn on_delays_without_waiting_every_method_finds_the_slope_exactly() {
    let line: Vec<_> = (0..600i64).map(|n| (n * 100_000_000, 5_000_000 + n * 2_000)).collect();
    for method in METHODS {
        let found = estimate(method, None, &line);
        assert!((ppm(&found) - 20.0).abs() < 1e-6, "{method}: {found:?}");
        let correction = found.correction(Direction::Forward);
        let left: Vec<_> = line.iter().map(|(at, delay)| delay - correction.at(*at)).collect();
        let spread = left.iter().max().unwrap() - left.iter().min().unwrap();
        assert!(spread <= 1, "{method}: {spread} ns are left");
    }
}

#[test]
fn least_squares_is_its_closed_form() {
    // The seed's three packets, (10,13) (11,19) (12,18): latencies 3, 8, 6, whose slope is 1.5.
    let found = estimate(Method::LeastSquares, None, &[(10, 3), (11, 8), (12, 6)]);
    assert!((ppm(&found) - 1.5e6).abs() < 1e-3);
}

#[test]
fn a_few_packets_that_wait_long_move_least_squares_and_not_least_absolute() {
    let packets: Vec<_> = (0..600i64)
        .map(|n| (n * 100_000_000, 5_000_000 + if n > 550 { 90_000_000 } else { n % 7 }))
        .collect();
    assert!(ppm(&estimate(Method::LeastSquares, None, &packets)).abs() > 100.0);
    assert!(ppm(&estimate(Method::LeastAbsolute, None, &packets)).abs() < 1e-3);
}

#[test]
fn calibration_packets_alone_decide_where_there_are_any() {
    let packets: Vec<_> = (0..600i64)
        .map(|n| (n * 100_000_000, 5_000_000 + n * 1_000 + if n >= 200 { n * 40_000 } else { 0 }))
        .collect();
    for method in [Method::LeastSquares, Method::LeastAbsolute, Method::LeastAbsoluteJumps, Method::Hull] {
        assert!((ppm(&estimate(method, Some(200), &packets)) - 10.0).abs() < 1e-6, "{method}");
    }
    assert!((ppm(&estimate(Method::LeastSquares, None, &packets)) - 10.0).abs() > 100.0);
}

/// The calibration tells the rate, and a queue that grows after it does not; a clock jumps after it all the same.
#[test]
fn jumps_after_the_calibration_are_compensated() {
    let packets: Vec<_> = (0..3_000i64)
        .map(|n| {
            let wait = (n * 7_919) % 1_000 * 300;
            let (jump, queue) = (if n >= 1_500 { 4_000_000 } else { 0 }, (n - 500).max(0) * 200);
            (n * 20_000_000, 5_000_000 + n * 600 + wait + jump + queue)
        })
        .collect();
    let found = estimate(Method::LeastAbsoluteJumps, Some(500), &packets);
    // Of all packets it would be ten more.
    assert!((ppm(&found) - 30.0).abs() < 3.0, "{found:?}");
    let [jump] = &found.events[..] else { panic!("{found:?}") };
    assert!((jump.size_ns - 4_000_000).abs() < 100_000 && jump.at_ns == 1_500 * 20_000_000, "{found:?}");
    // What is left grows by the queue alone.
    let left = |n: usize| packets[n].1 - found.correction(Direction::Forward).at(packets[n].0);
    let grown = left(2_990) - left(490);
    assert!((grown - 2_490 * 200).abs() < 300_000, "{grown}");
}

#[test]
fn jumps_of_one_size_are_compensated_and_told() {
    // Waiting by a fixed sequence; 30 ppm; three jumps of 2 ms, to and fro.
    let jumped = |n: i64| [700, 1_500, 2_200].iter().filter(|at| n >= **at).count();
    let packets: Vec<_> = (0..3_000i64)
        .map(|n| {
            let wait = (n * 7_919) % 1_000 * 300;
            let jump = if jumped(n) % 2 == 1 { 2_000_000 } else { 0 };
            (n * 20_000_000, 5_000_000 + n * 600 + wait + jump)
        })
        .collect();
    let found = estimate(Method::LeastAbsoluteJumps, None, &packets);
    assert!((ppm(&found) - 30.0).abs() < 0.3, "{found:?}");
    let sizes: Vec<_> =
        found.events.iter().map(|event| (event.size_ns + 500_000).div_euclid(1_000_000)).collect();
    assert_eq!(sizes, [2, -2, 2], "{found:?}");
    assert!((ppm(&estimate(Method::LeastAbsolute, None, &packets)) - 30.0).abs() > 1.0);
}

#[test]
fn a_step_of_the_clock_is_one_event_though_both_directions_see_it() {
    let mut estimator = Estimator::new(Method::LeastAbsoluteJumps, None);
    for n in 0..3_000i64 {
        let (at, ahead) = (n * 20_000_000, if n >= 1_700 { 3_000_000 } else { 0 });
        let wait = (n * 7_919) % 1_000 * 300;
        let stamps = |from, to| (Timestamp::from_nanos(from), Timestamp::from_nanos(to));
        let (departure, arrival) = stamps(at, at + 5_000_000 + wait + ahead);
        estimator.push(Direction::Forward, departure, arrival);
        let (departure, arrival) = stamps(at + ahead, at + 5_000_000 + wait);
        estimator.push(Direction::Reverse, departure, arrival);
    }
    let found = estimator.estimate();
    assert_eq!(found.events.len(), 1, "{found:?}");
    assert!((found.events[0].size_ns - 3_000_000).abs() < 100_000, "{found:?}");
}

#[test]
fn names_are_read_and_written_alike_and_others_are_refused() {
    for text in ["none", "least-squares", "least-absolute", "least-absolute-jumps", "hull", "khlifi:5s,0.5"] {
        assert_eq!(text.parse::<Method>().unwrap().to_string(), text);
    }
    assert_eq!("khlifi".parse::<Method>().unwrap(), Method::KHLIFI);
    for text in [
        "",
        "Hull",
        "khlifi:",
        "khlifi:5",
        "khlifi:5s",
        "khlifi:0s,0.5",
        "khlifi:5s,1",
        "khlifi:5s,NaN",
        "khlifix",
    ] {
        assert!(text.parse::<Method>().is_err(), "{text}");
    }
}

#[test]
fn a_hundred_years_do_not_overflow() {
    const YEAR: i64 = 365 * 86_400 * 1_000_000_000;
    // 50 ppm over a hundred years, and a clock that is forty years off.
    let packets: Vec<_> =
        (0..200i64).map(|n| (n * YEAR / 2, 40 * YEAR + n * (YEAR / 40_000) + (n % 3) * 1_000)).collect();
    let windows = Method::Khlifi { window: Duration::from_nanos(5 * YEAR), weight: 0.5 };
    for method in METHODS.into_iter().take(4).chain([windows]) {
        let found = estimate(method, None, &packets);
        let (skew, correction) = (ppm(&found), found.correction(Direction::Forward));
        assert!((skew - 50.0).abs() < 1e-6, "{method}: {skew}");
        assert!((correction.at(packets[199].0) - 199 * (YEAR / 40_000)).abs() < 5_000, "{method}");
    }
}

#[test]
fn stamps_from_the_ends_of_the_range_are_borne() {
    for method in METHODS {
        let mut estimator = Estimator::new(method, None);
        for (from, to) in
            [(0, 5), (i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (i64::MAX, 0), (10, 15), (20, 24)]
        {
            estimator.push(Direction::Forward, Timestamp::from_nanos(from), Timestamp::from_nanos(to));
            estimator.push(Direction::Reverse, Timestamp::from_nanos(from), Timestamp::from_nanos(to));
        }
        let _ = estimator.estimate();
    }
}

/// The line below all points with the least sum of distances, by trying every pair.
fn linear_program(points: &[Point]) -> Option<f64> {
    let mean = points.iter().map(|point| point.at as f64).sum::<f64>() / points.len() as f64;
    let mut best: Option<(f64, f64)> = None;
    for a in points {
        for b in points.iter().filter(|b| b.at > a.at) {
            let below = points.iter().all(|c| {
                let (run, rise) = (i128::from(b.at - a.at), i128::from(b.delay - a.delay));
                i128::from(c.delay - a.delay) * run >= rise * i128::from(c.at - a.at)
            });
            if !below {
                continue;
            }
            let slope = (b.delay - a.delay) as f64 / (b.at - a.at) as f64;
            let level = a.delay as f64 + slope * (mean - a.at as f64);
            if best.is_none_or(|(other, _)| level > other + 1e-9) {
                best = Some((level, slope));
            }
        }
    }
    best.map(|(level, _)| level)
}

proptest! {
    #[test]
    fn the_hulls_edge_solves_the_linear_program(
        points in proptest::collection::vec((0i64..1_000, 0i64..1_000), 2..40)
    ) {
        let points: Vec<_> = points.into_iter().map(|(at, delay)| Point { at, delay }).collect();
        let mut hull = Hull::default();
        points.iter().for_each(|point| hull.push(*point));
        let level = hull.best_edge().map(|(a, b)| {
            a.delay as f64 + (b.delay - a.delay) as f64 / (b.at - a.at) as f64 * (hull.mean_at() - a.at as f64)
        });
        match (level, linear_program(&points)) {
            (Some(a), Some(b)) => prop_assert!((a - b).abs() < 1e-6, "{a} and {b}"),
            (a, b) => prop_assert_eq!(a, b),
        }
    }

    #[test]
    fn the_hull_is_the_same_in_any_order(
        points in proptest::collection::vec((-50i64..50, -50i64..50), 1..60).prop_shuffle()
    ) {
        let of = |points: &[(i64, i64)]| {
            let mut hull = Hull::default();
            points.iter().for_each(|(at, delay)| hull.push(Point { at: *at, delay: *delay }));
            hull
        };
        let mut sorted = points.clone();
        sorted.sort_unstable();
        prop_assert_eq!(of(&points), of(&sorted));
    }

    #[test]
    fn moving_the_clocks_and_a_longer_way_change_nothing(
        packets in packets(), later in -1_000_000_000i64..1_000_000_000, more in -1_000_000_000i64..1_000_000_000
    ) {
        let moved: Vec<_> = packets.iter().map(|(at, delay)| (at + later * 1_000, delay + more)).collect();
        for method in METHODS {
            let (a, b) = (estimate(method, None, &packets), estimate(method, None, &moved));
            prop_assert_eq!(a.skew, b.skew);
        }
    }

    #[test]
    fn delays_ten_times_as_long_give_ten_times_the_slope(packets in packets()) {
        let longer: Vec<_> = packets.iter().map(|(at, delay)| (*at, delay * 10)).collect();
        for method in METHODS {
            let (a, b) = (ppm(&estimate(method, None, &packets)), ppm(&estimate(method, None, &longer)));
            prop_assert!((10.0 * a - b).abs() <= 1e-3 * (1.0 + b.abs()), "{method}: {a} and {b}");
        }
    }

    #[test]
    fn a_steady_rate_adds_itself_to_the_slope(packets in packets(), rate in -200i64..200) {
        // In parts in a million: packets leave at whole milliseconds.
        let tilted: Vec<_> = packets.iter().map(|(at, delay)| (*at, delay + at / 1_000_000 * rate)).collect();
        for method in [Method::LeastSquares, Method::LeastAbsolute, Method::Hull] {
            let (a, b) = (ppm(&estimate(method, None, &packets)), ppm(&estimate(method, None, &tilted)));
            prop_assert!((a + rate as f64 - b).abs() <= 1e-2, "{method}: {a} and {b}");
        }
    }

    #[test]
    fn the_order_of_packets_does_not_matter(packets in packets().prop_shuffle()) {
        let mut sorted = packets.clone();
        sorted.sort_unstable();
        for method in [Method::LeastSquares, Method::LeastAbsolute, Method::LeastAbsoluteJumps, Method::Hull] {
            let (a, b) = (ppm(&estimate(method, None, &packets)), ppm(&estimate(method, None, &sorted)));
            prop_assert!((a - b).abs() <= 1e-6 * (1.0 + b.abs()), "{method}: {a} and {b}");
        }
    }

    #[test]
    fn an_interval_holds_its_estimate(packets in packets()) {
        for method in METHODS {
            let skew = estimate(method, None, &packets).skew.unwrap();
            prop_assert!(skew.interval_ppm[0] <= skew.ppm && skew.ppm <= skew.interval_ppm[1], "{method}: {skew:?}");
        }
    }
}

/// Packets a tenth of a second apart that wait an exponential time of 1 ms on average, with 20 ppm.
fn exponential(seed: u32, count: i64) -> Vec<(i64, i64)> {
    let mut chances = SeededDraws::new(seed);
    (0..count).map(|n| (n * 100_000_000, 5_000_000 + n * 2_000 + chances.wait(1e6))).collect()
}

/// Draws from a seed.
struct SeededDraws(RandomStream, u64);

impl SeededDraws {
    fn new(seed: u32) -> Self {
        Self(RandomStream::new(Seed([seed, 11, 0, 0, 0, 0]), [0, 0]), 0)
    }

    /// From 0 to 1.
    fn unit(&mut self) -> f64 {
        self.1 += 1;
        (f64::from(self.0.block(self.1)[0]) + 0.5) / 4_294_967_296.0
    }

    /// An exponential time, nanoseconds.
    #[expect(clippy::cast_possible_truncation, reason = "some milliseconds")]
    fn wait(&mut self, mean: f64) -> i64 {
        (-mean * self.unit().ln()) as i64
    }
}

#[test]
fn one_packet_that_took_long_coarsens_neither_the_least_absolute_slope_nor_its_interval() {
    let mut missed = 0;
    for seed in 1..=40 {
        let clean = exponential(seed, 600);
        let mut packets = clean.clone();
        packets[0].1 = 1_500_000_000;
        let [with, without] = [&packets, &clean]
            .map(|packets| estimate(Method::LeastAbsolute, None, packets).skew.expect("a skew"));
        let [low, high] = with.interval_ppm;
        assert!(low < with.ppm && with.ppm < high, "seed {seed}: {with:?}");
        let width = high - low;
        assert!(
            (without.interval_ppm[1] - without.interval_ppm[0] - width).abs() < 0.2 * width,
            "{with:?}, {without:?}"
        );
        // It is the least: no other slope leaves less.
        let left = |ppm: f64| {
            let mut left: Vec<f64> =
                packets.iter().map(|(at, delay)| *delay as f64 - ppm * 1e-6 * *at as f64).collect();
            left.sort_by(f64::total_cmp);
            let level = left[left.len() / 2];
            left.iter().map(|one| (one - level).abs()).sum::<f64>()
        };
        for off in [-0.1, -0.02, 0.02, 0.1] {
            assert!(left(with.ppm) <= left(with.ppm + off * width), "seed {seed}: {with:?}, {off}");
        }
        missed += u32::from(low > 20.0 || high < 20.0);
    }
    // Of 40 nominal intervals of 95 %, nine miss with a probability below 1e-4.
    assert!(missed < 9, "{missed} of 40");
}

#[test]
fn each_jump_is_found_at_the_packet_at_which_it_was() {
    for seed in 1..=12 {
        let mut chances = SeededDraws::new(1_000 + seed);
        // Four of +4.65 ms, anywhere that leaves 200 packets between them, among waiting of 0.3 ms.
        #[expect(clippy::cast_possible_truncation, reason = "below a thousand")]
        let at: Vec<i64> = (0..4).map(|n| 300 + 1_300 * n + (chances.unit() * 1_100.0) as i64).collect();
        let packets: Vec<(i64, i64)> = (0..6_000i64)
            .map(|n| {
                let jumped: i64 = at.iter().filter(|at| n >= **at).map(|_| 4_650_000).sum();
                (n * 20_000_000, 5_000_000 + n * 240 + jumped + chances.wait(3e5))
            })
            .collect();
        let found = estimate(Method::LeastAbsoluteJumps, None, &packets);
        let places: Vec<i64> = found.events.iter().map(|event| event.at_ns / 20_000_000).collect();
        assert_eq!(places, at, "seed {seed}: {found:?}");
        for event in &found.events {
            assert!((event.size_ns - 4_650_000).abs() < 100_000, "seed {seed}: {found:?}");
        }
        assert!((ppm(&found) - 12.0).abs() < 1.0, "seed {seed}: {found:?}");
    }
}

#[test]
fn calibration_packets_are_those_that_were_sent_first_and_not_those_that_came() {
    // Every third is lost; from number 400 on packets wait more and more.
    let lossy = |lines: bool, from: u64| -> Vec<OneWaySingleton> {
        let all = (0..1_500i64).map(|n| {
            let came = n % 3 != 0;
            let arrival = n * 20_000_000 + 5_000_000 + n * 600 + if n >= 400 { (n - 400) * 9_000 } else { 0 };
            OneWaySingleton {
                sequence: n.unsigned_abs() + from,
                copy: 0,
                size: 60,
                fate: if came { Fate::Arrived } else { Fate::Lost },
                departure: Some(Timestamp::from_nanos(n * 20_000_000)),
                arrival: came.then(|| Timestamp::from_nanos(arrival)),
                delay: None,
                ttl: None,
                tos: None,
                leaving: romer_record::Leaving::UNKNOWN,
            }
        });
        all.filter(|singleton| lines || singleton.fate == Fate::Arrived).collect()
    };
    for (lines, from) in [(true, 0), (true, 1), (true, 77_000), (false, 0)] {
        let request = SkewRequest {
            method: Method::LeastSquares.to_string(),
            calibration: Some(400),
            ..SkewRequest::default()
        };
        let singletons = lossy(lines, from);
        let found = relate(&request, &singletons, &[], &InTurn);
        assert!((ppm(&found) - 30.0).abs() < 1e-3, "{lines} {from}: {found:?}");
        let more = SkewRequest { calibration: Some(600), ..request };
        assert!((ppm(&relate(&more, &singletons, &[], &InTurn)) - 30.0).abs() > 1.0);
    }
}

/// (The analysis gave the estimator no packet but these, so that none was found.)
#[test]
fn of_singletons_too_jumps_after_the_calibration_are_compensated() {
    let singletons: Vec<OneWaySingleton> = (0..3_000i64)
        .map(|n| {
            let wait = (n * 7_919) % 1_000 * 300 + if n >= 1_500 { 4_000_000 } else { 0 };
            let came = n % 7 != 3;
            OneWaySingleton {
                sequence: n.unsigned_abs(),
                copy: 0,
                size: 60,
                fate: if came { Fate::Arrived } else { Fate::Lost },
                departure: Some(Timestamp::from_nanos(n * 20_000_000)),
                arrival: came.then(|| Timestamp::from_nanos(n * 20_000_600 + 5_000_000 + wait)),
                delay: None,
                ttl: None,
                tos: None,
                leaving: romer_record::Leaving::UNKNOWN,
            }
        })
        .collect();
    let request = SkewRequest {
        method: Method::LeastAbsoluteJumps.to_string(),
        calibration: Some(500),
        ..SkewRequest::default()
    };
    let found = relate(&request, &singletons, &[], &InTurn);
    assert!((ppm(&found) - 30.0).abs() < 3.0, "{found:?}");
    let [jump] = &found.events[..] else { panic!("{found:?}") };
    assert!((jump.size_ns - 4_000_000).abs() < 100_000, "{found:?}");
    assert!((jump.at_ns - 1_500 * 20_000_000).abs() <= 20_000_000, "{found:?}");
}

#[test]
fn of_few_windows_it_is_said_what_khlifis_mean_is_made_of() {
    let singletons: Vec<OneWaySingleton> = (0..3_000i64)
        .map(|n| OneWaySingleton {
            sequence: n.unsigned_abs(),
            copy: 0,
            size: 60,
            fate: Fate::Arrived,
            departure: Some(Timestamp::from_nanos(n * 20_000_000)),
            arrival: Some(Timestamp::from_nanos(n * 20_000_600 + 5_000_000)),
            delay: None,
            ttl: None,
            tos: None,
            leaving: romer_record::Leaving::UNKNOWN,
        })
        .collect();
    let warnings = |method: &str| {
        let request = SkewRequest { method: method.into(), ..SkewRequest::default() };
        usable(&request, &singletons, &[], &InTurn).1
    };
    let seconds = |count: i64| count * 1_000_000_000;
    let few = warnings("khlifi");
    let [MeasurementWarning::SkewWindowsFew { window_ns, windows: 3, first_weight_ratio }] = few[..] else {
        panic!("{few:?}")
    };
    assert!(window_ns == seconds(20) && (first_weight_ratio - 0.77).abs() < 0.005, "{few:?}");
    // Of no second window there is no slope, and no word on what the first one is of a mean that there is none of.
    for (method, window) in [("khlifi:1m,0.9", 60), ("khlifi:5m,0.9", 300)] {
        let one = MeasurementWarning::SkewNotIdentifiable {
            unknown: SkewUnknown::FewPerWindow { window_ns: seconds(window) },
            skew_included: true,
        };
        assert_eq!(warnings(method), [one]);
    }
    for method in ["khlifi:5s,0.875", "hull", "khlifi:20s,0.5"] {
        assert_eq!(warnings(method), [], "{method}");
    }
}

#[test]
fn two_jumps_of_the_clock_with_a_short_time_between_them_are_two() {
    // From 45 packets on, and up to where each is found by itself at once; of the size of a few waits and of many.
    let spans = [45, 60, 70, 90, 120, 150, 200, 300];
    for (seed, between) in (1..=16).zip(spans.into_iter().cycle()) {
        for size in [1_000_000, 4_650_000] {
            let mut chances = SeededDraws::new(2_000 + seed);
            #[expect(clippy::cast_possible_truncation, reason = "below ten thousand")]
            let first = 1_000 + (chances.unit() * 3_500.0) as i64;
            let packets: Vec<(i64, i64)> = (0..6_000i64)
                .map(|n| {
                    let jumped =
                        [first, first + between].iter().filter(|at| n >= **at).map(|_| size).sum::<i64>();
                    (n * 20_000_000, 5_000_000 + n * 240 + jumped + chances.wait(3e5))
                })
                .collect();
            let found = estimate(Method::LeastAbsoluteJumps, None, &packets);
            assert_eq!(found.events.len(), 2, "seed {seed}: {found:?}");
            for (event, at) in found.events.iter().zip([first, first + between]) {
                assert!((event.at_ns / 20_000_000 - at).abs() <= 4, "seed {seed}: {found:?}");
                assert!((event.size_ns - size).abs() < 250_000, "seed {seed}: {found:?}");
            }
        }
    }
}

/// Of one direction. (Delays that rose by 1.2 s within 2.2 s were a clock's that was slewed.)
#[test]
fn a_gradual_change_faster_than_any_clock_is_slewed_is_the_paths() {
    for seed in 1..=4 {
        for (size, lasts, kind) in [
            (1_200_000_000_i64, 2_200_000_000_i64, ChangeKind::PathChange),
            (-2_900_000_000, 8_000_000_000, ChangeKind::PathChange),
            (400_000_000, 8_000_000_000, ChangeKind::Slew),
            (-5_000_000, 10_000_000_000, ChangeKind::Slew),
        ] {
            let mut chances = SeededDraws::new(2_100 + seed);
            let packets: Vec<(i64, i64)> = (0..3_000i64)
                .map(|n| {
                    let gone = (n * 20_000_000 - 20_000_000_000).clamp(0, lasts);
                    let changed = i128::from(size) * i128::from(gone) / i128::from(lasts);
                    #[expect(clippy::cast_possible_truncation, reason = "no more than the size")]
                    let changed = changed as i64;
                    (n * 20_000_000, 5_000_000_000 + n * 240 + changed + chances.wait(3e5))
                })
                .collect();
            let found = estimate(Method::Best, None, &packets);
            assert!(
                !found.events.is_empty() && found.events.iter().all(|event| event.kind == kind),
                "{size} in {lasts}, seed {seed}: {found:?}"
            );
        }
    }
}
