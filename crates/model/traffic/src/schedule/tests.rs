use super::*;
use crate::draw::tests::{KOLMOGOROV, kolmogorov};
use proptest::prelude::*;

fn request(model: &str, limit: Limit) -> Request {
    Request::new(model.parse().unwrap(), limit)
}

fn every(model: &str, interval_ns: i64, limit: Limit) -> Request {
    Request { interval: Some(Duration::from_nanos(interval_ns)), ..request(model, limit) }
}

fn offsets(request: &Request) -> Vec<i64> {
    Schedule::new(request).unwrap().map(|departure| departure.offset.as_nanos()).collect()
}

fn trace(text: &str) -> Option<Trace> {
    Some(Trace::parse(text.as_bytes()).unwrap())
}

const HOUR: Limit = Limit::Duration(Duration::from_secs(3_600));

#[test]
fn a_million_periodic_departures_are_exact_multiples() {
    // A third of a millisecond and a prime: nothing that a float would hold exactly.
    for interval in [333_333, 1, 7_919] {
        let schedule = every("periodic", interval, Limit::Count(1_000_001));
        let wrong = offsets(&schedule).into_iter().zip(0..).find(|(offset, n)| *offset != n * interval);
        assert_eq!(wrong, None);
    }
    assert_eq!(offsets(&request("melp", Limit::Count(1_000_001))).last(), Some(&45_000_000_000_000));
}

#[test]
fn a_duration_ends_before_itself() {
    let count =
        |limit_ns| offsets(&every("periodic", 10, Limit::Duration(Duration::from_nanos(limit_ns)))).len();
    assert_eq!((count(1), count(10), count(11), count(100), count(101)), (1, 1, 2, 10, 11));
    let schedule = Schedule::new(&every("periodic", 10, Limit::Duration(Duration::from_nanos(101)))).unwrap();
    assert_eq!((schedule.expected_count(), schedule.most_count()), (11, 11));
    assert_eq!(schedule.expected_length(), Duration::from_nanos(101));
    let counted = Schedule::new(&every("periodic", 10, Limit::Count(7))).unwrap();
    assert_eq!(counted.expected_length(), Duration::from_nanos(70));
}

#[test]
fn a_codec_asks_for_its_frames_and_keeps_its_own_interval() {
    let plain = request("melp", Limit::Count(2));
    let departures: Vec<Departure> = Schedule::new(&plain).unwrap().collect();
    assert_eq!(departures[1], Departure { offset: Duration::from_millis(45), size: 14 });
    let five = Request { bundle: Some(5), ..plain.clone() };
    assert_eq!(Schedule::new(&five).unwrap().interval(), Duration::from_micros(112_500));
    assert_eq!(Schedule::new(&five).unwrap().size(), 35);
    let large = Request { size: Some(64), ..plain };
    assert_eq!(Schedule::new(&large).unwrap().size(), 64);
    for (model, size) in [("g711", 172), ("g729", 32), ("opus", 92), ("opus:64kbit", 172)] {
        let schedule = Schedule::new(&request(model, Limit::Count(1))).unwrap();
        assert_eq!((schedule.interval(), schedule.size()), (Duration::from_millis(20), size), "{model}");
    }
}

#[test]
fn a_request_that_contradicts_itself_is_refused() {
    let of = |model| request(model, Limit::Count(1));
    let (periodic, melp, bucket) = (of("periodic"), of("melp"), of("token-bucket:16kBps,64B"));
    let twenty = Some(Duration::from_millis(20));
    let sized = Request { trace: trace("offset_ns,size\n0,44\n"), ..of("trace:x") };
    let late = trace("offset_ns,size\n5000000000,44\n");
    for (wrong, part) in [
        (
            Request { interval: Some(Duration::from_millis(45)), ..melp.clone() },
            "melp sends a packet every 45ms",
        ),
        (Request { size: Some(13), ..melp.clone() }, "at least 14B"),
        (Request { bundle: Some(6), ..melp }, "use 2 to 5"),
        (Request { bundle: Some(2), ..periodic.clone() }, "periodic has no frames"),
        (Request { bundle: Some(2), ..of("talkspurt:p59") }, "no frames"),
        (Request { interval: Some(Duration::ZERO), ..periodic.clone() }, "above 0"),
        (Request { interval: Some(Duration::from_nanos(-1)), ..periodic.clone() }, "above 0"),
        (Request { limit: Limit::Duration(Duration::ZERO), ..periodic.clone() }, "above 0"),
        (Request { limit: Limit::Count(u64::MAX), ..periodic }, "292 years"),
        (Request { limit: Limit::Count(u64::MAX / 40), ..of("poisson") }, "292 years"),
        (Request { limit: Limit::Count(u64::MAX / 40), ..bucket.clone() }, "292 years"),
        (Request { interval: twenty, ..bucket.clone() }, "use another rate or size"),
        (Request { size: Some(65), ..bucket.clone() }, "a packet of 65"),
        (Request { size: Some(0), ..bucket }, "a packet of 0"),
        (Request { interval: twenty, ..of("talkspurt:p59@g711") }, "sends a packet every 20ms"),
        (Request { interval: Some(Duration::from_secs(2)), ..of("talkspurt:p59") }, "on for 1.004s"),
        (Request { size: Some(100), ..of("imix:simple") }, "defines its packet sizes"),
        (Request { size: Some(100), ..of("im") }, "defines its packet sizes"),
        (of("trace:x"), "was not read"),
        (
            Request { limit: Limit::Duration(Duration::from_secs(5)), trace: late.clone(), ..of("trace:x") },
            "is due 5s after the start",
        ),
        (Request { interval: twenty, ..sized.clone() }, "omit --interval"),
        (Request { size: Some(100), ..sized }, "defines its packet sizes"),
    ] {
        let error = Schedule::new(&wrong).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("; "), "{wrong:?}: {error}");
    }
    assert_eq!(Schedule::new(&of("periodic")).unwrap().interval(), DEFAULT_INTERVAL);
}

#[test]
fn a_seed_replays_and_another_seed_differs() {
    for model in ["poisson", "im", "talkspurt:p59", "talkspurt:hyper@melp", "onoff:1s,2s", "imix:chadda2004"]
    {
        let one = request(model, Limit::Count(1_000));
        let other = Request { seed: Seed([1, 0, 0, 0, 0, 0]), ..one.clone() };
        let departures = |request| Schedule::new(request).unwrap().collect::<Vec<_>>();
        assert!(one.is_random(), "{model}");
        assert_eq!(departures(&one), departures(&one), "{model}");
        assert_ne!(departures(&one), departures(&other), "{model}");
    }
}

#[test]
fn a_schedule_without_random_numbers_does_not_depend_on_the_seed() {
    for model in ["periodic", "g711", "onoff:=1s,=500ms", "imix:simple", "token-bucket:16kBps,64B"] {
        let one = Request { jitter: "tick:3ms".parse().ok(), ..request(model, Limit::Count(1_000)) };
        let other = Request { seed: Seed([1, 0, 0, 0, 0, 0]), ..one.clone() };
        assert!(!one.is_random(), "{model}");
        assert!(Schedule::new(&one).unwrap().eq(Schedule::new(&other).unwrap()), "{model}");
    }
}

#[test]
fn random_offsets_are_those_of_every_machine() {
    // Pinned: a change here breaks every seed that was ever printed.
    let seed = Seed([1, 2, 3, 4, 5, 6]);
    let poisson = Request { seed, ..every("poisson", 1_000_000, Limit::Count(5)) };
    assert_eq!(offsets(&poisson), [1_361_663, 1_502_578, 1_653_627, 1_835_253, 2_089_766]);
    let p59 = Request { seed, ..request("talkspurt:p59", Limit::Count(10_000)) };
    let spurts: Vec<i64> = offsets(&p59)
        .windows(2)
        .filter(|pair| pair[1] - pair[0] > 20_000_000)
        .flat_map(|pair| [pair[0] / 1_000_000, pair[1] / 1_000_000])
        .take(6)
        .collect();
    assert_eq!(spurts, PINNED_SPURTS);
    let jittered =
        Request { seed, jitter: "normal:5ms,1ms".parse().ok(), ..request("melp", Limit::Count(4)) };
    assert_eq!(offsets(&jittered), PINNED_JITTER);
    let imix = Request { seed, ..request("imix:chadda2004", Limit::Count(12)) };
    let sizes: Vec<u32> = Schedule::new(&imix).unwrap().map(|departure| departure.size).collect();
    assert_eq!(sizes, PINNED_SIZES);
}

const PINNED_SPURTS: [i64; 6] = [1_480, 4_500, 4_940, 6_060, 6_180, 6_320];
const PINNED_JITTER: [i64; 4] = [5_485_349, 49_839_479, 93_349_265, 141_814_696];
const PINNED_SIZES: [u32; 12] = [1_472, 12, 12, 548, 1_027, 12, 548, 548, 548, 12, 12, 875];

#[test]
fn poisson_gaps_are_exponential() {
    for (model, mean) in [("poisson", 1e8), ("im", 5e9)] {
        let all = offsets(&request(model, Limit::Count(100_000)));
        let gaps = core::iter::once(all[0]).chain(all.windows(2).map(|pair| pair[1] - pair[0]));
        let distance = kolmogorov(gaps.map(|gap| gap as f64).collect(), |gap| 1.0 - (-gap / mean).exp());
        assert!(distance < KOLMOGOROV, "{model}: {distance}");
    }
}

#[test]
fn poisson_gaps_do_not_depend_on_their_neighbours() {
    // The lag-1 correlation of n independent gaps is normal with variance 1/n: 4.9 sigma is 1e-6.
    let all = offsets(&every("poisson", 1_000_000, Limit::Count(100_000)));
    let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6 - 1.0).collect();
    let products: f64 = gaps.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let squares: f64 = gaps.iter().map(|gap| gap * gap).sum();
    let correlation = products / squares;
    assert!(correlation.abs() * (gaps.len() as f64).sqrt() < 4.9, "{correlation}");
}

#[test]
fn a_poisson_schedule_by_time_has_the_expected_number_of_departures() {
    // 100,000 expected: the count is Poisson, deviation 316; 4.9 of these is 1e-6.
    let schedule = every("poisson", 10_000, Limit::Duration(Duration::from_secs(1)));
    let count = offsets(&schedule).len() as f64;
    assert!((count - 100_000.0).abs() < 4.9 * 316.3, "{count}");
}

#[test]
fn talk_has_its_share_of_the_time_and_the_mean_interval_tells_it() {
    // In 400,000 s there are n = 400,000 / (on + off) cycles. The time in talk is normal with variance n times that
    // of (on x off' - off x on') / (on + off), which is 2 (on x off / (on + off))^2 for exponential lengths; 4.9
    // deviations are 1e-6.
    let total = 400_000.0_f64;
    for (model, on, off, step) in [
        ("talkspurt:p59", 1.004, 1.587, 0.020),
        ("talkspurt:brady@g729", 1.2, 1.8, 0.020),
        ("talkspurt:p59@melp", 1.004, 1.587, 0.045),
        ("onoff:500ms,2s", 0.5, 2.0, 0.100),
    ] {
        let schedule = Schedule::new(&request(model, Limit::Duration(Duration::from_secs(400_000)))).unwrap();
        let (expected, most) = (schedule.expected_count(), schedule.most_count());
        let count = schedule.count() as f64;
        let share = on / (on + off);
        let deviation = (2.0 * total / (on + off)).sqrt() * on * off / (on + off);
        assert!((count * step - share * total).abs() < 4.9 * deviation, "{model}: {count}");
        assert!((expected as f64 * step - share * total).abs() < 1.0, "{model}: {expected}");
        assert!(count < most as f64 && (most as f64) < 1.1 * expected as f64, "{model}: {most}");
    }
}

#[test]
fn a_gated_codec_keeps_its_clock_and_its_packets() {
    let spurts = request("talkspurt:p59@g711", HOUR);
    for departure in Schedule::new(&spurts).unwrap() {
        assert_eq!((departure.offset.as_nanos() % 20_000_000, departure.size), (0, 172));
    }
    let plain = Request { size: Some(100), ..every("talkspurt:p59", 30_000_000, HOUR) };
    for departure in Schedule::new(&plain).unwrap() {
        assert_eq!((departure.offset.as_nanos() % 30_000_000, departure.size), (0, 100));
    }
    let bundled = Request { bundle: Some(3), ..request("onoff:1s,1s@melp", HOUR) };
    let first = Schedule::new(&bundled).unwrap().nth(1).unwrap();
    assert_eq!((first.offset.as_nanos() % 67_500_000, first.size), (0, 21));
}

#[test]
fn instant_messaging_is_slow_and_mostly_small() {
    let schedule = Schedule::new(&request("im", HOUR)).unwrap();
    assert_eq!(schedule.interval(), Duration::from_secs(5));
    let departures: Vec<Departure> = schedule.collect();
    // 720 expected, deviation 27; of these 70 % small, deviation 12: 4.9 deviations are 1e-6.
    let count = departures.len() as f64;
    let small = departures.iter().filter(|departure| departure.size < 60).count() as f64;
    assert!((count - 720.0).abs() < 4.9 * 26.9, "{count}");
    assert!((small / count - 0.70).abs() < 4.9 * 0.0175, "{small}");
    assert!(departures.iter().all(|departure| (20..=1_000).contains(&departure.size)));
}

#[test]
fn a_mixture_leaves_at_the_interval_in_payloads_of_its_ip() {
    let v4 = every("imix:aaafg", 1_000, Limit::Count(6));
    let sizes = |request| Schedule::new(request).unwrap().map(|departure| departure.size).collect::<Vec<_>>();
    assert_eq!(offsets(&v4), [0, 1_000, 2_000, 3_000, 4_000, 5_000]);
    assert_eq!(sizes(&v4), [18, 18, 18, 1_234, 1_472, 18]);
    let v6 = Request { version: IpVersion::V6, ..v4.clone() };
    assert_eq!(sizes(&v6), [0, 0, 0, 1_214, 1_452, 0]);
    assert_eq!(Schedule::new(&v6).unwrap().size(), 1_452);
}

#[test]
fn a_bucket_of_one_packet_gives_equal_gaps() {
    let seed_001 = request("token-bucket:16kBps,64B", Limit::Duration(Duration::from_secs(1)));
    let schedule = Schedule::new(&seed_001).unwrap();
    assert_eq!((schedule.expected_count(), schedule.size()), (250, 64));
    let offsets = offsets(&seed_001);
    assert_eq!(offsets.len(), 250);
    assert!(offsets.into_iter().zip(0..).all(|(offset, n)| offset == n * 4_000_000));
    let burst = Request { size: Some(32), ..seed_001 };
    let gaps: Vec<i64> = Schedule::new(&burst).unwrap().take(4).map(|d| d.offset.as_nanos()).collect();
    assert_eq!(gaps, [0, 0, 2_000_000, 4_000_000]);
}

#[test]
fn a_trace_is_played_once_and_no_further_than_the_limit() {
    let text = "offset_ns,size\n5,100\n10,50\n10,200\n40,60\n";
    let all = Request { trace: trace(text), ..request("trace:x", HOUR) };
    let schedule = Schedule::new(&all).unwrap();
    assert_eq!((schedule.expected_count(), schedule.interval().as_nanos()), (4, 11));
    assert_eq!(schedule.expected_length().as_nanos(), 40);
    assert_eq!(schedule.payloads(0), Payloads { least: 50, mean: 102.5, most: 200 });
    let played: Vec<(i64, u32)> = schedule.map(|d| (d.offset.as_nanos(), d.size)).collect();
    assert_eq!(played, [(5, 100), (10, 50), (10, 200), (40, 60)]);
    for (limit, count) in
        [(Limit::Count(2), 2), (Limit::Count(9), 4), (Limit::Duration(Duration::from_nanos(40)), 3)]
    {
        let part = Request { limit, ..all.clone() };
        let schedule = Schedule::new(&part).unwrap();
        assert_eq!(
            (schedule.expected_count(), schedule.size_hint()),
            (count, (usize::try_from(count).unwrap(), usize::try_from(count).ok()))
        );
        assert_eq!(schedule.count() as u64, count);
    }
    let times = Request { trace: trace("offset_ns\n0\n7\n"), size: Some(99), ..all };
    assert_eq!(Schedule::new(&times).unwrap().map(|departure| departure.size).collect::<Vec<_>>(), [99, 99]);
}

#[test]
fn a_jittered_schedule_keeps_its_packets_and_their_order() {
    for model in
        ["periodic", "poisson", "g711", "talkspurt:p59@melp", "token-bucket:1Mbit,10kB", "imix:chadda2004"]
    {
        let plain = request(model, Limit::Count(5_000));
        let jittered = Request { jitter: "normal:50ms,40ms".parse().ok(), ..plain.clone() };
        let (plain, schedule) = (Schedule::new(&plain).unwrap(), Schedule::new(&jittered).unwrap());
        let again: Vec<Departure> = Schedule::new(&jittered).unwrap().collect();
        let late: Vec<Departure> = schedule.collect();
        assert_eq!(late, again, "{model}: a seed replays");
        assert!(late.is_sorted_by_key(|departure| departure.offset), "{model}");
        assert!(plain.zip(&late).all(|(a, b)| a.size == b.size && a.offset <= b.offset), "{model}");
    }
}

#[test]
fn what_is_announced_holds_what_is_sent() {
    for model in [
        "periodic",
        "poisson",
        "im",
        "talkspurt:p59",
        "talkspurt:hyper@g711",
        "onoff:=1s,0.9*1s+0.1*60s",
        "imix:simple",
        "token-bucket:1Mbit,10kB",
    ] {
        for limit in [Limit::Count(1), Limit::Count(1_000), HOUR] {
            for seed in 0..20 {
                let jitter = "exponential:20ms".parse().ok();
                let asked = Request { seed: Seed([seed; 6]), jitter, ..request(model, limit) };
                let mut schedule = Schedule::new(&asked).unwrap();
                let (most, interval) = (schedule.most_count(), schedule.interval().as_nanos());
                // So that it does not end there.
                schedule.margin += 1_000_000;
                let (mut count, mut last) = (0, 0);
                for departure in schedule {
                    (count, last) = (count + 1, departure.offset.as_nanos());
                }
                assert!(count <= most, "{model} {limit:?}: {count} of {most}");
                assert!(
                    i128::from(last) <= i128::from(most) * i128::from(interval),
                    "{model} {limit:?}: {last}"
                );
            }
        }
    }
}

/// A random schedule that would have more departures than [`Schedule::most_count`] ends there: of its seeds, one in a million does,
/// and most do where nothing is added to the mean.
#[test]
fn no_schedule_exceeds_its_most() {
    for model in ["poisson", "im", "talkspurt:p59"] {
        let limit = Limit::Duration(Duration::from_secs(2_000));
        let (mut ended, mut whole) = (0, 0);
        for seed in 0..20 {
            let asked = Request { seed: Seed([seed; 6]), ..request(model, limit) };
            let own = Schedule::new(&asked).unwrap();
            let (count, expected) = (u64::try_from(own.clone().count()).unwrap(), own.expected_count());
            let bare = Schedule { margin: 0, ..own.clone() };
            assert_eq!(bare.most_count(), expected);
            assert!(bare.eq(own.take(usize::try_from(count.min(expected)).unwrap())), "{model}, seed {seed}");
            *if count > expected { &mut ended } else { &mut whole } += 1;
        }
        assert!(ended > 0 && whole > 0, "{model}: {ended} ended, {whole} did not");
    }
}

const MODELS: [&str; 13] = [
    "periodic",
    "poisson",
    "melp",
    "g711",
    "opus:6kbit",
    "im",
    "talkspurt:hyper",
    "talkspurt:brady@g729",
    "onoff:=1ms,1h",
    "imix:chadda2004",
    "imix:simple",
    "trace:x",
    "token-bucket:1Mbit,1kB",
];

proptest! {
    #[test]
    fn offsets_are_running_sums_of_the_gaps(seed: [u32; 6], count in 0u64..200) {
        let asked = Request { seed: Seed(seed), ..every("poisson", 20_000_000, Limit::Count(count)) };
        let stream = draw::stream(Seed(seed), b"gaps");
        let mut sum = 0;
        for (offset, ordinal) in offsets(&asked).into_iter().zip(0..) {
            sum += draw::exponential(&stream, ordinal, Duration::from_millis(20)).as_nanos();
            prop_assert_eq!(offset, sum);
        }
    }

    #[test]
    fn a_count_is_kept_and_offsets_never_decrease(count in 0u64..300, interval in 1i64..1_000_000, which in 0usize..4) {
        let model = ["periodic", "poisson", "talkspurt:p59", "imix:chadda2004"][which];
        let all = offsets(&every(model, interval, Limit::Count(count)));
        prop_assert_eq!(all.len() as u64, count);
        prop_assert!(all.is_sorted());
    }

    #[test]
    fn no_request_panics(
        interval: Option<i64>, size: Option<u32>, bundle: Option<u32>, limit: i64, by_count: bool, which in 0..MODELS.len(),
        jitter in prop::option::of(0usize..4), v6: bool,
    ) {
        let limit =
            if by_count { Limit::Count(limit.unsigned_abs()) } else { Limit::Duration(Duration::from_nanos(limit)) };
        let jitters = ["uniform:0s,1h", "normal:1h,1h", "exponential:1h", "tick:1ns"];
        let asked = Request {
            interval: interval.map(Duration::from_nanos),
            size,
            bundle,
            jitter: jitter.and_then(|which| jitters[which].parse().ok()),
            trace: trace("offset_ns,size\n0,1\n9223372036854775807,2\n"),
            version: if v6 { IpVersion::V6 } else { IpVersion::V4 },
            ..request(MODELS[which], limit)
        };
        if let Ok(schedule) = Schedule::new(&asked) {
            schedule.most_count();
            schedule.payloads(44);
            prop_assert!(schedule.take(50).map(|d| d.offset).is_sorted());
        }
    }
}

/// The mean interval of a schedule leads back to its request, also where silence is in it; a codec has one mean only.
#[test]
fn requests_have_the_stated_mean() {
    let of = |model: &str, interval: Option<i64>| Request {
        interval: interval.map(Duration::from_nanos),
        ..request(model, HOUR)
    };
    for stated in [
        of("periodic", None),
        of("poisson", Some(7_000_000)),
        of("g711", None),
        of("talkspurt:p59", None),
        of("talkspurt:p59", Some(30_000_000)),
        of("talkspurt:brady@g729", None),
        of("onoff:1s,2s", Some(40_000_000)),
        of("token-bucket:16kBps,64B", None),
    ] {
        let mean = Schedule::new(&stated).unwrap().interval();
        let found = Request { interval: None, ..stated.clone() }.with_mean_interval(mean).unwrap();
        let error = (Schedule::new(&found).unwrap().interval() - mean).as_nanos().abs();
        assert!(error * 1_000_000 <= mean.as_nanos(), "{stated:?} {found:?}");
    }
    assert_eq!(of("g711", None).with_mean_interval(Duration::from_millis(2)), None);
}
