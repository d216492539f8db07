use super::*;

const SEED: Seed = Seed([1, 2, 3, 4, 5, 6]);

fn line() -> LineRate {
    LineRate::new(100_000_000).unwrap()
}

fn flow(pace: Pace) -> Flow {
    Flow { share: 1.0, frames: None, pace, overhead: 46, least: 64 }
}

fn size(octets: u32) -> Frames {
    Frames::Size(FrameSize::new(octets).unwrap())
}

fn second(load: f64) -> [Phase; 1] {
    [Phase { load, length: Duration::from_secs(1) }]
}

fn all(flows: &[Flow], frames: &Frames, phases: &[Phase]) -> Vec<Due> {
    let all: Vec<Due> = FrameSchedule::new(flows, frames, line(), phases, SEED).collect();
    assert!(all.windows(2).all(|pair| pair[0].at <= pair[1].at), "in order of time");
    assert!(u64::try_from(all.len()).unwrap() <= FrameSchedule::most(flows, frames, line(), phases));
    all
}

#[test]
fn a_full_line_carries_the_rates_of_rfc_2544() {
    for (octets, count) in [(64, 148_810), (68, 142_046), (128, 84_460), (512, 23_497), (1_518, 8_128)] {
        assert_eq!(all(&[flow(Pace::Constant)], &size(octets), &second(1.0)).len(), count);
    }
}

#[test]
fn constant_gaps_do_not_drift() {
    let dues = all(&[flow(Pace::Constant)], &size(64), &second(0.1));
    for (number, due) in (0_u32..).zip(&dues) {
        let exact = f64::from(number) * 672.0 * 1e9 / 10e6;
        assert!((nanos(due.at) - exact).abs() <= 0.5, "{number}: {due:?}");
    }
}

#[test]
fn equal_streams_take_turns_and_share_the_load() {
    let flows = [0.5, 0.25, 0.25].map(|share| Flow { share, ..flow(Pace::Constant) });
    let dues = all(&flows, &size(64), &second(0.1));
    let of = |stream| dues.iter().filter(|due| due.stream == stream).count();
    assert_eq!((of(0), of(1), of(2)), (7_441, 3_720, 3_720));
    assert_eq!(dues.iter().filter(|due| due.at == Duration::ZERO).count(), 1);
}

#[test]
fn random_gaps_have_the_mean_that_was_asked_for() {
    // 14,881 gaps: the sum is within 5 deviations (probability below 1e-6), and they are not even.
    let dues = all(&[flow(Pace::Poisson)], &size(64), &second(0.1));
    let count = f64::from(u32::try_from(dues.len()).unwrap());
    assert!((count - 14_881.0).abs() < 5.0 * 14_881.0_f64.sqrt(), "{count}");
    let short = dues.windows(2).filter(|pair| pair[1].at - pair[0].at < Duration::from_nanos(67_200));
    let share = f64::from(u32::try_from(short.count()).unwrap()) / count;
    assert!((share - 0.632).abs() < 0.02, "{share}");
}

#[test]
fn bursts_keep_the_lines_distance_and_the_mean_load() {
    let dues = all(&[flow(Pace::Burst(16))], &size(64), &second(0.1));
    assert!((14_880..=14_896).contains(&dues.len()), "{}", dues.len());
    for (number, pair) in dues.windows(2).enumerate() {
        let gap = (pair[1].at - pair[0].at).as_nanos();
        if number % 16 == 15 {
            assert!(gap > 900_000, "{number}: {gap}");
        } else {
            assert!((6_719..=6_721).contains(&gap), "{number}: {gap}");
        }
    }
}

#[test]
fn a_bucket_counts_payload_as_seed_001_does() {
    // 64 octets of payload at 16 kB/s: 250 frames a second.
    let bucket = "16kBps,64B".parse().unwrap();
    let dues = all(&[flow(Pace::Bucket(bucket))], &size(110), &second(1.0));
    assert_eq!(dues.len(), 250);
    assert_eq!(dues[1].at, Duration::from_millis(4));
}

#[test]
fn a_given_gap_lies_between_the_end_of_a_frame_and_the_next() {
    let dues = all(&[flow(Pace::Gap(Duration::from_micros(100)))], &size(64), &second(1.0));
    // 72 octets of preamble and frame take 5,760 ns.
    assert!(dues.windows(2).all(|pair| (pair[1].at - pair[0].at).as_nanos().abs_diff(105_760) <= 1));
}

#[test]
fn phases_follow_one_another_with_their_loads() {
    let phases = [(0.2, 500), (0.0, 100), (0.1, 500)]
        .map(|(load, millis)| Phase { load, length: Duration::from_millis(millis) });
    let dues = all(&[flow(Pace::Constant)], &size(64), &phases);
    let between = |from: i64, to: i64| {
        dues.iter().filter(|due| (from..to).contains(&(due.at.as_nanos() / 1_000_000))).count()
    };
    assert_eq!((between(0, 500), between(500, 600), between(600, 1_100)), (14_881, 0, 7_441));
}

#[test]
fn a_mixture_has_its_load_and_pads_what_is_too_small() {
    let frames = Frames::Mixture("chadda2004".parse().unwrap());
    let dues = all(&[flow(Pace::Constant)], &frames, &second(0.5));
    assert!(dues.iter().all(|due| due.octets >= 64));
    let forwarded: f64 = dues.iter().map(|due| f64::from(due.octets + 20) * 8.0).sum();
    assert!((forwarded / 50e6 - 1.0).abs() < 0.001, "{forwarded}");
    let expected = frames.frames_per_second(line(), 0.5);
    let found = f64::from(u32::try_from(dues.len()).unwrap());
    assert!((found / expected - 1.0).abs() < 0.05, "{found} {expected}");
}
