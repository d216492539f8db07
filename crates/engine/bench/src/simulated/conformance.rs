//! What a device is held to: policing, priorities.

use romer_method::policing::{Profile, TokenUnit};
use romer_method::priority::Discipline;
use romer_method::schedule::Pace;
use romer_record::warning::BenchmarkWarning;
use romer_sim::device::{Policer, Service};

use super::*;

/// A policer of 1,000 frames a second in bursts of 20.
fn policing() -> BenchOptions {
    let claims = Claims {
        profile: Some(Profile { rate: 1_000.0, depth: 20.0, unit: TokenUnit::Frames, tolerance: 1.0 }),
        ..Claims::default()
    };
    BenchOptions { claims, name: "policing", ..sweep(&[0.1, 0.4]) }
}

fn policed(policer: Policer) -> Benchmark {
    run(&policing(), Simulated::with(Device { policer: Some(policer), ..carries(1.0, 100) }))
}

#[test]
fn a_policer_is_right_only_where_it_is() {
    let right = Policer { rate: 1_000.0, depth: 20.0, remark: None };
    let document = policed(right);
    assert_eq!(broken(&document), Vec::<&str>::new());
    // At 10 % of the line all is in profile; at 40 % both sides are tested, and nothing is left unsaid.
    let subjects: Vec<String> = document.verdicts.iter().map(subject_text).collect();
    assert_eq!(subjects.len(), 3, "{subjects:?}");
    assert!(document.verdicts.iter().all(|one| one.passed == Some(true)), "{:?}", document.verdicts);
    let light = BenchOptions { procedure: sweep(&[0.1]).procedure, ..policing() };
    let document = run(&light, Simulated::with(Device { policer: Some(right), ..carries(1.0, 100) }));
    let side = |one: &Judgement| match one.subject {
        ClaimSubject::Profile { side, .. } => side,
        _ => panic!("{one:?}"),
    };
    let holds: Vec<_> = document.verdicts.iter().map(|one| (side(one), one.passed)).collect();
    assert_eq!(
        holds,
        [(ProfileSide::In, Some(true)), (ProfileSide::Out, None)],
        "what was not tested is not known"
    );
    let untested = ClaimFinding::NoFrameInProfile { side: ProfileSide::Out, stream: None };
    assert_eq!(document.verdicts[1].observed.finding, untested);
    let remarking = policed(Policer { remark: Some(8), ..right });
    assert_eq!(broken(&remarking), Vec::<&str>::new(), "what is remarked did not pass unchanged");
    let slow = policed(Policer { rate: 900.0, ..right });
    assert!(broken(&slow).iter().all(|one| one.starts_with("in profile")) && !broken(&slow).is_empty());
    let fast = policed(Policer { rate: 1_200.0, ..right });
    assert!(broken(&fast).iter().any(|one| one.starts_with("out of profile")), "{:?}", fast.verdicts);
}

#[test]
fn a_policer_behind_latency_that_varies_is_not_called_right_unseen() {
    let stalls = Some(Stalls { every: Duration::from_millis(41), length: Duration::from_millis(20) });
    // 1,000 and 400 frames a second for a bucket of 625 in bursts of 20, of which 20 ms fill more than half.
    let judged = |device: Device, depth, load: f64| {
        let claims = Claims {
            profile: Some(Profile { rate: 625.0, depth, unit: TokenUnit::Frames, tolerance: 1.0 }),
            ..Claims::default()
        };
        run(
            &BenchOptions { claims, ..BenchOptions { name: "policing", ..sweep(&[load]) } },
            Simulated::with(device),
        )
    };
    let load = 1_000.0 * 148.0 * 8.0 / 1e7;
    let policer = |rate| Device {
        policer: Some(Policer { rate, depth: 20.0, remark: None }),
        stalls,
        ..carries(1.0, 1_000)
    };
    let document = judged(policer(625.0), 20.0, load);
    assert_eq!(broken(&document), Vec::<&str>::new(), "{:#?}", document.verdicts);
    let document = judged(policer(300.0), 20.0, load);
    assert!(broken(&document).iter().any(|one| one.starts_with("in profile")), "{:#?}", document.verdicts);
    let document = judged(policer(900.0), 20.0, load);
    assert!(
        broken(&document).iter().any(|one| one.starts_with("out of profile")),
        "{:#?}",
        document.verdicts
    );
    // No policer, but a line of half of what is sent, which is all in profile, with a queue of 20 ms.
    let line = Device { per_frame: Duration::from_micros(3_200), ..carries(1.0, 6) };
    let document = judged(line.clone(), 20.0, 0.6 * load);
    assert!(broken(&document).iter().any(|one| one.starts_with("in profile")), "{:#?}", document.verdicts);
    // Where the delays fill the whole bucket nobody knows, and it is said what would tell.
    let line = Device { buffer: 30, ..line };
    let document = judged(line, 20.0, 0.6 * load);
    let open = document.verdicts.iter().find(|one| one.passed.is_none());
    let open = open.unwrap_or_else(|| panic!("{:#?}", document.verdicts));
    assert!(
        subject_text(open).starts_with("in profile") && observed_text(open).contains("inconclusive whether "),
        "{open:?}"
    );
    assert!(observed_text(open).ends_with("or a deeper bucket"), "{open:?}");
    assert!(!document.verdicts.iter().any(|one| one.passed == Some(true)), "{:#?}", document.verdicts);
}

/// What is found of such classes.
fn classes(service: Service, discipline: Discipline, swaps: Option<[usize; 2]>) -> Benchmark {
    of_classes(discipline, Simulated::with(Device { service, swaps, ..carries(0.5, 20) }))
}

/// The same of a device with room for so many frames of each class.
fn classes_of(service: Service, discipline: Discipline, buffer: usize) -> Benchmark {
    of_classes(discipline, Simulated::with(Device { service, ..carries(0.5, buffer) }))
}

fn of_classes(discipline: Discipline, bed: Simulated) -> Benchmark {
    run(&three_classes(discipline, Duration::from_secs(1)), bed)
}

/// Three classes of which each offers 60 % of what the line carries in a trial of this length.
fn three_classes(discipline: Discipline, length: Duration) -> BenchOptions {
    let stream = |name: &str, weight| StreamOptions {
        name: name.into(),
        share: 1.0 / 3.0,
        weight,
        // In step, streams of one rate meet a full queue in turns.
        pace: Pace::Poisson,
        ..StreamOptions::default()
    };
    let claims = Claims { scheduler: Some((discipline, 5e6 * 128.0 / 148.0)), ..Claims::default() };
    let procedure = Procedure::Sweep { loads: vec![0.9], length };
    BenchOptions {
        claims,
        name: "priority",
        streams: vec![stream("voice", 3.0), stream("video", 2.0), stream("rest", 1.0)],
        ..options(procedure)
    }
}

/// A time of each trial of a second in which nothing leaves, and the queues overflow.
const STALLS: Option<Stalls> =
    Some(Stalls { every: Duration::from_millis(600), length: Duration::from_millis(150) });

#[test]
fn a_standstill_of_the_device_is_no_fault_of_its_scheduler() {
    let strict = |stalls| Device { service: Service::Strict, stalls, ..carries(0.5, 20) };
    let known = |document: &Benchmark| {
        let classes = document.verdicts.iter().filter(|one| subject_text(one).starts_with("class "));
        classes.map(|one| one.passed).collect::<Vec<_>>()
    };
    // Once: the trial is made again, and that decides.
    let absent = Some((0, 300_000_000..550_000_000));
    let once = Simulated { absent, ..Simulated::with(strict(None)) };
    let document = of_classes(Discipline::Strict, once);
    assert_eq!((document.trials.len(), known(&document)), (2, vec![Some(true); 3]), "{document:#?}");
    let why = why(&document.trials[0]);
    assert!(why.starts_with("the device or its host stalled for 0.2"), "{why}");
    assert!(why.contains(" s of 1 s (once), which may be why"), "{why}");
    assert_eq!(codes(&document), ["device-stalled", "trial-repeated"], "{:?}", document.events);
    // Always: nothing is held against it, and it is said what that rests on.
    let document = of_classes(Discipline::Strict, Simulated::with(strict(STALLS)));
    assert_eq!((document.trials.len(), broken(&document)), (3, vec![]), "{:#?}", document.verdicts);
    assert!(document.trials[2].invalid.is_none() && crate::informative(&document).is_enough());
    let open = document.verdicts.iter().filter(|one| one.passed.is_none());
    let open: Vec<String> = open.map(observed_text).collect();
    assert!(!open.is_empty(), "{:#?}", document.verdicts);
    for found in open {
        assert!(found.contains(", inconclusive: the device or its host stalled for 0.1"), "{found}");
        assert!(found.ends_with(", as in the 2 previous trials of the same"), "{found}");
    }
    assert!(known(&document).contains(&None) && !known(&document).contains(&Some(false)));
    // What a standstill does not explain is held against it.
    let swapped = Device { swaps: Some([0, 2]), ..strict(STALLS) };
    let document = of_classes(Discipline::Strict, Simulated::with(swapped));
    let named = broken(&document);
    assert!(named.iter().any(|one| one.starts_with("class voice")), "{:#?}", document.verdicts);
    assert!(named.iter().any(|one| one.starts_with("classes voice and rest")), "{named:?}");
    let voice = document.verdicts.iter().find(|one| subject_text(one).starts_with("class voice")).unwrap();
    assert!(observed_text(voice).contains("; not explained by the fact that "), "{voice:?}");
}

#[test]
fn a_standstill_that_is_short_and_a_large_part_of_the_trial_is_no_fault_of_its_scheduler() {
    // Twice 60 ms of a second: by itself each would be more than the tolerance.
    let stalls = Some(Stalls { every: Duration::from_millis(400), length: Duration::from_millis(60) });
    let device = |swaps| Device { service: Service::Strict, stalls, swaps, ..carries(0.5, 20) };
    let document = of_classes(Discipline::Strict, Simulated::with(device(None)));
    assert_eq!((document.trials.len(), broken(&document)), (3, vec![]), "{:#?}", document.verdicts);
    let stood = document.trials[2].outages.unwrap();
    assert!(stood.count == 2 && (120_000_000..130_000_000).contains(&stood.sum_ns), "{stood:?}");
    let open = document.verdicts.iter().filter(|one| one.passed.is_none());
    assert!(
        open.clone().count() > 0 && open.clone().all(|one| observed_text(one).contains("stalled for 0.12 s"))
    );
    let document = of_classes(Discipline::Strict, Simulated::with(device(Some([0, 2]))));
    assert!(broken(&document).iter().any(|one| one.starts_with("class voice")), "{:#?}", document.verdicts);
    // What gives out in bursts does not stand still between them, so that a fault of it is found.
    let stalls = Some(Stalls { every: Duration::from_millis(40), length: Duration::from_millis(20) });
    let bursts = Device { service: Service::Fifo, stalls, ..carries(1.0, 20) };
    let document = of_classes(Discipline::Strict, Simulated::with(bursts));
    assert_eq!(document.trials[0].outages.map(|stood| stood.count), Some(0));
    assert!(!broken(&document).is_empty(), "{:#?}", document.verdicts);
}

#[test]
fn a_scheduler_is_not_broken_by_the_chance_of_few_frames() {
    let judged = |device: &Device, discipline, millis, seed| {
        let asked = three_classes(discipline, Duration::from_millis(millis));
        run(&BenchOptions { seed: Seed([seed, 2, 3, 4, 5, 6]), ..asked }, Simulated::with(device.clone()))
    };
    // 21 to 422 frames on the line: each verdict is broken by chance with a probability below 1e-6.
    let mut open = 0;
    for (service, discipline) in [
        (Service::Strict, Discipline::Strict),
        (Service::Weighted(vec![3.0, 2.0, 1.0]), Discipline::Weighted),
        (Service::Fifo, Discipline::Fifo),
    ] {
        let device = Device { service, ..carries(0.5, 20) };
        for (millis, seed) in
            [5, 20, 50, 100].into_iter().flat_map(|millis| (1..20).map(move |n| (millis, n)))
        {
            let document = judged(&device, discipline, millis, seed);
            assert_eq!(broken(&document), Vec::<&str>::new(), "{seed}: {:#?}", document.verdicts);
            // That its load tells two classes not apart is no chance.
            let few = || {
                let open = document.verdicts.iter().filter(|one| one.passed.is_none());
                open.filter(|one| {
                    !matches!(one.observed.finding, ClaimFinding::ClassesNotDistinguished { .. })
                })
            };
            open += few().count();
            for one in few() {
                let is_few =
                    |one: &Reservation| matches!(one, Reservation::FewFrames { needed: Some(_), .. });
                assert!(one.observed.reservations.iter().any(is_few), "{one:?}");
                assert_eq!(document.trials.len(), 1, "another with the same chances would tell nothing else");
            }
        }
    }
    assert!(open > 20, "{open} would have been broken");
    // What chance does not explain is a fault of few frames, too.
    let swapped = Device { service: Service::Strict, swaps: Some([0, 2]), ..carries(0.5, 20) };
    let named = judged(&swapped, Discipline::Strict, 100, 1);
    let named = broken(&named);
    assert!(named.iter().any(|one| one.starts_with("class voice")), "{named:?}");
    // One that holds says how far that is known.
    let device = Device { service: Service::Strict, ..carries(0.5, 20) };
    let document = judged(&device, Discipline::Strict, 100, 1);
    let voice = document.verdicts.iter().find(|one| subject_text(one).starts_with("class voice")).unwrap();
    assert_eq!(voice.passed, Some(true), "{voice:?}");
    let is_said = |one: &Reservation| matches!(one, Reservation::Resolution { .. });
    assert!(voice.observed.reservations.iter().any(is_said), "{voice:?}");
}

#[test]
fn a_scheduler_that_holds_all_that_is_too_much_carries_no_more_than_its_line() {
    for (service, discipline) in [
        (Service::Strict, Discipline::Strict),
        (Service::Weighted(vec![3.0, 2.0, 1.0]), Discipline::Weighted),
        (Service::Fifo, Discipline::Fifo),
    ] {
        let document = classes_of(service, discipline, 1_000_000);
        assert_eq!(document.trials[0].lost, 0, "all comes in the end");
        assert!(
            (document.trials[0].forwarded.percent - 50.0).abs() < 1.0,
            "{:?}",
            document.trials[0].forwarded
        );
        assert_eq!(broken(&document), Vec::<&str>::new(), "{:#?}", document.verdicts);
        assert!(
            !document.warnings.iter().any(|one| matches!(one, BenchmarkWarning::CapacityExceeded { .. }))
        );
        assert!(document.events.is_empty(), "{:?}", document.events);
    }
    assert!(!broken(&classes_of(Service::Fifo, Discipline::Strict, 1_000_000)).is_empty());
}

#[test]
fn what_a_policer_lost_while_it_stood_still_is_not_held_against_it() {
    let right = Policer { rate: 1_000.0, depth: 20.0, remark: None };
    let policer = |policer, absent| Simulated {
        absent,
        ..Simulated::with(Device { policer: Some(policer), ..carries(1.0, 100) })
    };
    let absent = || Some((0, 300_000_000..550_000_000));
    let document = run(&policing(), policer(right, absent()));
    assert_eq!((document.trials.len(), broken(&document)), (3, vec![]), "{:#?}", document.verdicts);
    assert!(document.verdicts.iter().all(|one| one.passed == Some(true)), "{:#?}", document.verdicts);
    let document = run(&policing(), policer(Policer { rate: 900.0, ..right }, absent()));
    assert!(!broken(&document).is_empty(), "{:#?}", document.verdicts);
}

#[test]
fn one_queue_for_all_is_judged_as_one_unless_its_streams_are_in_step() {
    let judged = |pace, shares: &[f64], load: f64, seconds| {
        let streams = shares.iter().enumerate().map(|(number, share)| StreamOptions {
            name: format!("class {number}"),
            share: *share,
            pace,
            ..StreamOptions::default()
        });
        let claims = Claims { scheduler: Some((Discipline::Fifo, 5e6 * 128.0 / 148.0)), ..Claims::default() };
        let asked = BenchOptions {
            claims,
            name: "priority",
            streams: streams.collect(),
            repeats: 2,
            ..options(Procedure::Sweep { loads: vec![load], length: Duration::from_secs(seconds) })
        };
        let document = run(&asked, Simulated::with(carries(0.5, 20)));
        let warned =
            document.warnings.iter().any(|one| matches!(one, BenchmarkWarning::StreamsInStep { .. }));
        (broken(&document).len(), warned)
    };
    // At capacity, and at one and a half and twice of it, in shares that have a common measure and in shares that have none. A
    // class misses its expectation by 5 % of the capacity: by seven deviations of what 4,000 frames a second leave open.
    for shares in [&[0.5, 0.5][..], &[0.667, 0.333], &[0.9, 0.1], &[0.5, 0.25, 0.25], &[0.62, 0.38]] {
        for load in [0.5, 0.75, 1.0] {
            assert_eq!(judged(Pace::Poisson, shares, load, 1), (0, false), "{shares:?} {load}");
        }
    }
    // Evenly, the same queue looks like a scheduler, by more than chance has it in ten seconds; that it may is told.
    assert_eq!(judged(Pace::Constant, &[0.667, 0.333], 0.75, 10), (4, true));
}

#[test]
fn repeats_are_of_chances_of_their_own_and_cases_of_the_same() {
    let poisson = StreamOptions { pace: Pace::Poisson, ..StreamOptions::default() };
    let cases = ["a", "b"].map(|name| Case { name: name.into(), command: None });
    let asked = BenchOptions { cases: cases.into(), streams: vec![poisson], repeats: 2, ..sweep(&[0.5]) };
    let document = run(&asked, Simulated::with(carries(1.0, 1_000)));
    let offered = |case: &str, repeat| {
        let trial =
            document.trials.iter().find(|trial| (trial.case.as_str(), trial.repeat) == (case, repeat));
        trial.map(|trial| (trial.offered.frames, trial.latency_ns.mean.map(f64::to_bits)))
    };
    assert_eq!(offered("a", 0), offered("b", 0));
    assert_ne!(offered("a", 0), offered("a", 1));
}

#[test]
fn a_scheduler_is_right_only_where_it_is() {
    let weights = || Service::Weighted(vec![3.0, 2.0, 1.0]);
    for (service, discipline) in [
        (Service::Strict, Discipline::Strict),
        (weights(), Discipline::Weighted),
        (Service::Fifo, Discipline::Fifo),
    ] {
        let document = classes(service, discipline, None);
        assert_eq!(broken(&document), Vec::<&str>::new(), "{:#?}", document.verdicts);
    }
    assert!(!broken(&classes(Service::Fifo, Discipline::Strict, None)).is_empty());
    assert!(!broken(&classes(Service::Strict, Discipline::Weighted, None)).is_empty());
    let swapped = classes(Service::Strict, Discipline::Strict, Some([0, 2]));
    let named = broken(&swapped);
    assert!(named.iter().any(|one| one.starts_with("class voice")), "{named:?}");
    assert!(named.iter().any(|one| one.starts_with("classes voice and rest")), "{named:?}");
}

/// The example of Chadda 2004, section 1.3.3: three classes with 200, 150 and 100 octets in a pass, of which the highest
/// sends frames of 64 B and the lowest frames of 1,518. Each offers more than its share of the line.
fn large_frames_below(service: Service) -> (Benchmark, f64) {
    let capacity = 5e6;
    let stream = |name: &str, weight, size| StreamOptions {
        name: name.into(),
        share: 1.0 / 3.0,
        weight,
        frames: sizes(&[size]).pop(),
        pace: Pace::Poisson,
        ..StreamOptions::default()
    };
    let claims = Claims { scheduler: Some((Discipline::Weighted, capacity)), ..Claims::default() };
    let options = BenchOptions {
        claims,
        name: "priority",
        streams: vec![stream("voice", 200.0, 64), stream("video", 150.0, 64), stream("bulk", 100.0, 1_518)],
        ..sweep(&[1.5])
    };
    // With preamble and gap, large frames fill the capacity; small ones some three quarters of it.
    let rate = capacity * f64::from(1_518 + 20) / 1_518.0;
    (run(&options, Simulated::with(Device { service, ..Device::sound(rate, 60) })), capacity)
}

#[test]
fn the_pitfall_of_large_frames_in_a_low_class_is_named() {
    let (document, capacity) = large_frames_below(Service::Passes(vec![200, 150, 100]));
    let found = broken(&document);
    assert!(found.iter().any(|one| one.starts_with("classes voice and bulk")), "{found:?}");
    assert!(found.iter().any(|one| one.starts_with("class bulk")), "{found:?}");
    let named = document.verdicts.iter().find(|one| subject_text(one).starts_with("weights")).unwrap();
    let ClaimFinding::MatchesFaults { faults } = &named.observed.finding else { panic!("{named:?}") };
    assert!(faults.contains(&SchedulerFault::WholeFrames), "{named:?}");
    let bulk = &document.trials[0].per_stream[2];
    let owed = bulk.expected_l2_bps.unwrap();
    assert!((owed[0] - capacity * 100.0 / 450.0).abs() < 1.0 && owed[0].to_bits() == owed[1].to_bits());
    assert!(bulk.forwarded_l2_bps > 2.0 * owed[1], "{bulk:#?}");
    assert_eq!(bulk.frame_octets, Some(1_518.0));
    // Fair queueing by octets has no such pitfall. A frame of 64 octets is 84 on the line: the small ones carry less there.
    let (document, _) = large_frames_below(Service::Weighted(vec![200.0, 150.0, 100.0]));
    assert!(
        !document.verdicts.iter().any(|one| subject_text(one).starts_with("weights")),
        "{:?}",
        document.verdicts
    );
    assert!(!broken(&document).iter().any(|one| one.starts_with("classes")), "{:?}", document.verdicts);
}

#[test]
fn one_queue_that_counts_octets_is_judged_as_one() {
    let stream = |name: &str, size| StreamOptions {
        name: name.into(),
        share: 0.5,
        frames: sizes(&[size]).pop(),
        pace: Pace::Poisson,
        ..StreamOptions::default()
    };
    let judged = |discipline, service: Service| {
        let claims = Claims { scheduler: Some((discipline, 5e6 * 0.95)), ..Claims::default() };
        let options = BenchOptions {
            claims,
            name: "priority",
            streams: vec![stream("large", 1_518), stream("small", 512)],
            // Of frames so large, chance evens out in as many of them.
            ..options(Procedure::Sweep { loads: vec![0.9], length: Duration::from_secs(30) })
        };
        let octets = matches!(service, Service::Fifo).then_some(8_000);
        let device = Device { service, buffer_octets: octets, ..carries(0.5, 1_000) };
        let document = run(&options, Simulated::with(device));
        broken(&document)
    };
    assert_eq!(judged(Discipline::FifoOctets, Service::Fifo), Vec::<String>::new());
    // For one that counts frames, the small ones get too much; and what serves the large ones first is no such queue.
    assert!(!judged(Discipline::Fifo, Service::Fifo).is_empty());
    assert!(!judged(Discipline::FifoOctets, Service::Strict).is_empty());
}

#[test]
fn a_verdict_says_which_frames_it_is_of() {
    let policer = Policer { rate: 1_000.0, depth: 20.0, remark: None };
    let both = BenchOptions { frames: sizes(&[64, 512]), ..policing() };
    let document = run(&both, Simulated::with(Device { policer: Some(policer), ..carries(1.0, 100) }));
    let mut subjects: Vec<(Option<u32>, String)> =
        document.verdicts.iter().map(|one| (one.frame_size, subject_text(one))).collect();
    assert!(subjects.iter().any(|(size, text)| *size == Some(64) && text.contains(", 64 B, at 40.0 %")));
    assert!(subjects.iter().any(|(size, text)| *size == Some(512) && text.contains(", 512 B, at 40.0 %")));
    subjects.sort_unstable();
    let all = subjects.len();
    subjects.dedup();
    assert_eq!(subjects.len(), all, "no two are told alike: {subjects:?}");
    let mixture = BenchOptions { frames: vec![Frames::Mixture("simple".parse().unwrap())], ..policing() };
    let document = run(&mixture, Simulated::with(Device { policer: Some(policer), ..carries(1.0, 100) }));
    let first = &document.verdicts[0];
    assert_eq!((first.frame_size, first.mixture.as_deref()), (None, Some("simple")));
    assert!(subject_text(first).contains("frames simple, at"), "{}", subject_text(first));
}

#[test]
fn classes_that_no_load_tells_apart_are_not_known_with_what_would_tell() {
    let open = |discipline, streams: [(&str, f64, f64); 2], load: f64| {
        let stream = |(name, share, weight): (&str, f64, f64)| StreamOptions {
            name: name.into(),
            share,
            weight,
            pace: Pace::Poisson,
            ..StreamOptions::default()
        };
        let claims = Claims { scheduler: Some((discipline, 5e6 * 128.0 / 148.0)), ..Claims::default() };
        let asked =
            BenchOptions { claims, name: "priority", streams: streams.map(stream).into(), ..sweep(&[load]) };
        let document = run(&asked, Simulated::with(carries(1.0, 100)));
        let open = document.verdicts.into_iter().find(|one| one.passed.is_none());
        open.map(|one| (subject_text(&one), observed_text(&one)))
    };
    // Half of the capacity: at three halves of it, which are 75 % of the line, one of them has no room.
    let (subject, found) = open(Discipline::Strict, [("high", 0.5, 1.0), ("low", 0.5, 1.0)], 0.25).unwrap();
    assert_eq!(subject, "classes high and low");
    assert!(found.contains("use a load of about 110 % of the capacity in total (--loads "), "{found}");
    // What it offers is less than the tolerance at any load that this line takes.
    let (_, found) = open(Discipline::Strict, [("high", 0.99, 1.0), ("low", 0.01, 1.0)], 0.25).unwrap();
    assert!(found.contains("a larger share of the load for low (share=), or a faster line"), "{found}");
    assert!(!found.contains("--loads"), "{found}");
    let (_, found) = open(Discipline::Weighted, [("high", 0.5, 20.0), ("low", 0.5, 19.0)], 0.25).unwrap();
    assert!(found.contains("more different weights (weight=)"), "{found}");
}

#[test]
fn classes_that_carry_more_than_the_stated_capacity_are_told() {
    let forwarded = |capacity: f64| {
        let stream = |name: &str| StreamOptions {
            name: name.into(),
            share: 0.5,
            pace: Pace::Poisson,
            ..StreamOptions::default()
        };
        let claims = Claims { scheduler: Some((Discipline::Strict, capacity)), ..Claims::default() };
        let asked = BenchOptions {
            claims,
            name: "priority",
            streams: vec![stream("high"), stream("low")],
            ..sweep(&[0.9])
        };
        let document = run(&asked, Simulated::with(Device { service: Service::Strict, ..carries(0.5, 20) }));
        document.warnings.into_iter().find_map(|one| match one {
            BenchmarkWarning::CapacityExceeded { forwarded_ratio } => Some(forwarded_ratio),
            _ => None,
        })
    };
    // 5 Mbit/s with preamble and gap, of frames of 128 B.
    let capacity = 5e6 * 128.0 / 148.0;
    assert_eq!(forwarded(capacity), None);
    let told = forwarded(capacity / 1.0667).unwrap();
    assert!((1.06..1.07).contains(&told), "{told}");
}
