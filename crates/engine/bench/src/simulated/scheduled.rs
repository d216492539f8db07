//! What is sent: every pace with every mixture, streams with sizes of their own, and the load that all of it is told with.

use romer_method::schedule::Pace;
use romer_record::benchmark::NoEvidence;
use romer_record::warning::BenchmarkWarning;

use super::*;

const MIXTURES: [&str; 5] = ["64", "1518", "simple", "aaafg", "chadda2004"];

fn frames(text: &str) -> Frames {
    text.parse().map_or_else(
        |_| Frames::Mixture(text.parse().unwrap()),
        |size| Frames::Size(FrameSize::new(size).unwrap()),
    )
}

/// A stream of this pace, with these frames or those of the trial.
fn stream(name: &str, share: f64, pace: Pace, own: Option<&str>) -> StreamOptions {
    StreamOptions { name: name.into(), share, pace, frames: own.map(frames), ..StreamOptions::default() }
}

/// A sweep of trials of four seconds.
fn asked(loads: &[f64], streams: Vec<StreamOptions>) -> BenchOptions {
    let procedure = Procedure::Sweep { loads: loads.to_vec(), length: Duration::from_secs(4) };
    let mut asked = BenchOptions { streams, ..options(procedure) };
    asked.fit_sizes();
    asked
}

/// A device that carries whatever the line does.
fn sound() -> Simulated {
    Simulated::with(carries(1.0, 100_000))
}

fn near(found: f64, expected: f64, tolerance: f64) -> bool {
    (found / expected - 1.0).abs() < tolerance
}

#[test]
fn every_pace_with_every_mixture_has_the_load_that_it_is_told_with() {
    let bucket = "100kBps,3000B".parse().unwrap();
    for pace in [
        Pace::Constant,
        Pace::Poisson,
        Pace::Burst(16),
        Pace::Gap(Duration::from_millis(1)),
        Pace::Bucket(bucket),
    ] {
        for mixture in MIXTURES {
            let what = format!("{pace} of {mixture}");
            let options = asked(&[0.4], vec![stream("all", 1.0, pace, Some(mixture))]);
            let document = run(&options, sound());
            let trial = &document.trials[0];
            // It leaves as it is due: nothing is the tester's fault.
            assert_eq!((&trial.invalid, trial.lost, trial.stall_affected), (&None, 0, 0), "{what}");
            assert_eq!((trial.lateness_ns.max, document.trials.len()), (Some(0.0), 1), "{what}");
            assert!(document.events.is_empty(), "{what}: {:?}", document.events);
            assert!(
                !document.warnings.iter().any(|one| matches!(one, BenchmarkWarning::HostDescheduled { .. })),
                "{what}"
            );
            // The load that it is told with is the one that it had: of 1,300 frames or more of chance within five deviations.
            let chance = pace == Pace::Poisson || mixture == "chadda2004";
            let tolerance = if chance { 0.15 } else { 0.02 };
            let result = |quantity: &str| {
                document
                    .results
                    .iter()
                    .find(|result| result.quantity == quantity)
                    .unwrap_or_else(|| panic!("{what}"))
            };
            let forwarded = result("forwarded_percent");
            let load = forwarded.load_percent.unwrap();
            assert_eq!(pace.is_fixed(), (load - 40.0).abs() > 1e-9, "{what}: {load}");
            assert!(
                near(trial.intended_load.percent, load, tolerance),
                "{what}: {load} {:?}",
                trial.intended_load
            );
            assert_eq!(forwarded.theoretical, Some(load), "{what}");
            assert!(near(forwarded.mean.unwrap(), load, tolerance), "{what}: {forwarded:?}");
            let pps = result("forwarded_pps");
            assert!(near(pps.mean.unwrap(), pps.theoretical.unwrap(), tolerance), "{what}: {pps:?}");
            let foreseen = &crate::forecast(&options).document(&options).trials[0];
            assert!(near(foreseen.pps, trial.intended_load.pps, tolerance), "{what}: {foreseen:?}");
            // What was asked for is the same before and after.
            let asked = trial.requested_load.unwrap();
            assert!(
                near(asked.pps, foreseen.pps, 1e-9) && near(asked.percent, foreseen.load_percent, 1e-9),
                "{what}"
            );
            assert!((foreseen.load_percent - load).abs() < 1e-9, "{what}: {foreseen:?}");
        }
    }
}

#[test]
fn streams_with_and_without_a_pace_of_their_own_have_the_load_of_both() {
    let own = stream("own", 0.5, Pace::Gap(Duration::from_millis(1)), None);
    let options = BenchOptions {
        frames: sizes(&[512]),
        ..asked(&[0.2, 0.4], vec![own, stream("rest", 0.5, Pace::Constant, None)])
    };
    let document = run(&options, sound());
    // 520 octets take 416 us, and the gap 1,000: 706.2 frames a second of 532 octets are 30.06 % of the line.
    let loads: Vec<f64> = document
        .results
        .iter()
        .filter(|result| result.quantity == "forwarded_percent")
        .map(|result| {
            let load = result.load_percent.unwrap();
            assert!(near(result.mean.unwrap(), load, 0.005), "{result:?}");
            assert_eq!(result.theoretical, Some(load));
            load
        })
        .collect();
    assert!((loads[0] - 40.056).abs() < 0.01 && (loads[1] - 50.056).abs() < 0.01, "{loads:?}");
    let foreseen = crate::forecast(&options).document(&options).trials;
    assert!(foreseen.iter().all(|trial| loads.iter().any(|load| near(trial.load_percent, *load, 1e-9))));
}

#[test]
fn streams_with_sizes_of_their_own_are_swept_once() {
    let two = vec![
        stream("small", 0.5, Pace::Constant, Some("64")),
        stream("large", 0.5, Pace::Constant, Some("1518")),
    ];
    let mut options = BenchOptions { frames: sizes(&[64, 128, 256]), ..asked(&[0.2, 0.4], two) };
    options.fit_sizes();
    let document = run(&options, sound());
    assert_eq!(document.trials.len(), 2, "one for each load");
    for trial in &document.trials {
        assert_eq!((trial.frame_size, trial.mixture.as_deref()), (None, Some("of streams")));
        // Half of the load in frames of 84 B on the line, half of 1,538.
        let pps = trial.intended_load.percent / 100.0 * 1e7 / 8.0 * 0.5 * (1.0 / 84.0 + 1.0 / 1_538.0);
        assert!(near(trial.intended_load.pps, pps, 0.002), "{pps} {:?}", trial.intended_load);
        assert!(near(
            options.frames[0].frames_per_second(options.line, trial.intended_load.percent / 100.0),
            pps,
            0.002
        ));
    }
    for trial in crate::forecast(&options).document(&options).trials {
        let made =
            document.trials.iter().find(|made| near(made.intended_load.percent, trial.load_percent, 0.01));
        assert!(near(trial.pps, made.unwrap().intended_load.pps, 0.002), "{trial:?}");
    }
    // Where all have one size, it is the trials'; and where their headers need more, that.
    let one = asked(&[0.2], vec![stream("all", 1.0, Pace::Constant, Some("512"))]);
    assert_eq!(run(&one, sound()).trials[0].frame_size, Some(512));
    let v6 = |address: &str| {
        Some(crate::options::AddressRange::from(address.parse::<std::net::IpAddr>().unwrap()))
    };
    let wide = StreamOptions {
        source: v6("2001:2::1"),
        destination: v6("2001:2::2"),
        ..stream("all", 1.0, Pace::Constant, Some("64"))
    };
    assert_eq!(run(&asked(&[0.2], vec![wide]), sound()).trials[0].frame_size, Some(84));
    // One that has none of its own has the trials'.
    let part = asked(
        &[0.2],
        vec![stream("a", 0.5, Pace::Constant, Some("64")), stream("b", 0.5, Pace::Constant, None)],
    );
    assert_eq!(part.frames, sizes(&[128]));
}

#[test]
fn a_search_takes_no_more_trials_and_time_than_was_foreseen() {
    let second = Duration::from_secs(1);
    let goal = Goal { resolution: 0.02, short: Duration::from_millis(100), full: second, ..goal(0.0) };
    let limits = Limits { longest: second, step: 8, line: LineRate::new(LINE).unwrap() };
    let plan = mlr::SearchPlan {
        goals: vec![mlr::Goal {
            final_length: second,
            length_sum: second,
            loss_ratio: 0.0,
            exceed_ratio: 0.0,
        }],
        loads: [0.01, 1.0],
        width: 0.02,
        first_length: Duration::from_millis(100),
    };
    for procedure in [
        Procedure::Throughput(goal),
        Procedure::Mlr(plan),
        Procedure::BackToBack { goal, limits },
        Procedure::Recovery { goal, lengths: [second, second] },
    ] {
        // What it holds is a large part of a short trial and a small one of a full one.
        for buffer in [5, 100, 400] {
            let options = options(procedure.clone());
            let foreseen = crate::forecast(&options);
            let document = run(&options, Simulated::with(carries(0.3, buffer)));
            let made = document.trials.len() as u64;
            let time: i64 = document.trials.iter().map(|trial| trial.duration_ns).sum();
            assert!(made <= foreseen.trials, "{procedure:?}, {buffer}: {made} of {}", foreseen.trials);
            assert!(time <= foreseen.time.as_nanos(), "{procedure:?}, {buffer}: {time} of {}", foreseen.time);
            assert!(foreseen.usual.0 <= foreseen.trials && foreseen.usual.1 <= foreseen.time);
            if buffer == 5 && matches!(procedure, Procedure::Throughput(_)) {
                assert!(made <= foreseen.usual.0, "{made} of {:?}", foreseen.usual);
            }
        }
    }
}

/// Each trial above what the tester can offer is made once, and what it could offer is in the document.
#[test]
fn slow_tester_ends_search_early() {
    let options = options(Procedure::Throughput(goal(0.0)));
    let foreseen = crate::forecast(&options);
    let document = run(&options, Simulated { sends: 1_000.0, ..Simulated::with(carries(1.0, 10)) });
    assert!(!has_event(&document, "trial-repeated"), "{:#?}", document.events);
    let made = document.trials.len() as u64;
    assert!(made <= 6 && made <= foreseen.usual.0, "{made} of {:?}", foreseen.usual);
    let slow: Vec<f64> = document.trials.iter().filter_map(|trial| trial.tester_limit_pps).collect();
    assert_eq!(slow.len(), 1, "{slow:?}");
    // It takes every ninth frame of the line's 8,446 a second.
    let limit = document.warnings.iter().find_map(|warning| match warning {
        BenchmarkWarning::TesterRateLimit { limit_pps, requested_pps, .. } => {
            Some([limit_pps, requested_pps].map(|pps| format!("{pps:.0}")))
        }
        _ => None,
    });
    assert_eq!(limit, Some(["939", "8446"].map(str::to_owned)), "{:#?}", document.warnings);
    let found = document.results.iter().find(|result| result.quantity == "throughput_pps").unwrap();
    assert_eq!(found.bounded_by, Some(ResultBound::Tester));
    assert_eq!((found.interval, found.median_interval), (None, None), "a lower bound has no interval");
    assert!(found.mean.unwrap() > 840.0 && found.mean.unwrap() <= 940.0, "{found:#?}");
}

/// A rate that the tester has proved is tried again where it was too slow for it: that was chance.
#[test]
fn slow_trial_at_proved_rate_is_repeated() {
    let simulated = Simulated { sends: 1_000.0, proves_anyway: true, ..Simulated::with(carries(1.0, 10)) };
    let document = run(&sweep(&[0.5]), simulated);
    let repeated = codes(&document).iter().filter(|code| *code == "trial-repeated").count();
    assert_eq!((repeated, document.trials.len()), (2, 3), "{:#?}", document.events);
}

/// How long all of it is said to take, when a trial begins and when more is known.
#[derive(Default)]
struct ForecastLog {
    begins: Vec<[Duration; 2]>,
    knows_more: Vec<[Duration; 2]>,
}

impl Watcher for ForecastLog {
    fn begins(&mut self, progress: &Progress<'_>) {
        self.begins.push(progress.whole);
    }

    fn on_forecast(&mut self, progress: &Progress<'_>) {
        self.knows_more.push(progress.whole);
    }

    fn keep(&mut self, _: &BenchmarkEntry) -> Result<(), BenchError> {
        Ok(())
    }
}

/// The path is in the forecast as soon as it is known, before the first trial.
#[test]
fn long_path_corrects_forecast() {
    let options = BenchOptions { self_test: None, ..sweep(&[0.1, 0.2, 0.3]) };
    let path = Duration::from_secs(7);
    let simulated = Simulated { path, ..Simulated::with(carries(1.0, 10)) };
    let (mut told, stop) = (ForecastLog::default(), AtomicBool::new(false));
    let announced = crate::forecast(&options);
    run_on(simulated, &options, None, &stop, &mut told).unwrap();
    assert_eq!((told.begins.len(), told.knows_more.len()), (3, 1));
    // Each of the three waits for a frame to come before and after.
    let [usual, most] = told.knows_more[0];
    let longer = Duration::from_secs(6 * 7);
    assert!(usual >= announced.usual.1 + longer && most >= announced.time + longer, "{usual} {most}");
}

#[test]
fn a_recovery_that_was_not_found_is_said_to_be_so() {
    let procedure = Procedure::Recovery { goal: goal(0.0), lengths: [Duration::from_secs(1); 2] };
    let asked = BenchOptions { name: "recovery", ..options(procedure) };
    // It carries nothing at all.
    let document = run(&asked, Simulated::with(Device { noise: 1.0, ..carries(1.0, 10) }));
    let found = document.results.iter().find(|result| result.quantity == "recovery_ns").unwrap();
    assert_eq!((found.count, found.mean), (0, None));
    assert_eq!(found.bounded_by, Some(ResultBound::NoPassingLoad));
    let told = crate::informative(&document);
    assert!(
        !told.is_enough() && told.why == Some(NoEvidence::NoRecovery(ResultBound::NoPassingLoad)),
        "{told:?}"
    );
    let sound = run(&asked, Simulated::with(carries(0.5, 10)));
    assert!(crate::informative(&sound).is_enough());
}

#[test]
fn a_bucket_that_no_frame_fits_into_is_refused() {
    let of = |depth: &str, frames: Option<&str>| {
        let stream = StreamOptions {
            pace: Pace::Bucket(format!("100kBps,{depth}").parse().unwrap()),
            frames: frames.map(|imix| Frames::Mixture(imix.parse().unwrap())),
            ..StreamOptions::default()
        };
        crate::check::check(&BenchOptions { streams: vec![stream], ..sweep(&[0.1]) })
            .map_err(|error| error.to_string())
    };
    // Frames of 128 octets have 82 of payload over UDP and IPv4; the largest of the mixture, 1,518, have 1,472.
    assert_eq!(of("82B", None), Ok(()));
    let refused = of("81B", None).unwrap_err();
    assert!(
        refused.contains("a frame of 128 octets has 82 of payload, and the bucket holds 81"),
        "{refused}"
    );
    assert_eq!(of("1472B", Some("simple")), Ok(()));
    assert!(of("1471B", Some("simple")).unwrap_err().contains("at least 1472B"));
}

#[test]
fn a_procedure_finds_what_a_limit_on_it_may_be_of() {
    let second = Duration::from_secs(1);
    let limits = Limits { longest: second, step: 1, line: LineRate::new(LINE).unwrap() };
    let mlr_goal =
        |loss_ratio| mlr::Goal { final_length: second, length_sum: second, loss_ratio, exceed_ratio: 0.0 };
    let plan = |goals| mlr::SearchPlan { goals, loads: [0.01, 1.0], width: 0.01, first_length: second };
    let procedures = [
        Procedure::Sweep { loads: vec![0.1], length: second },
        Procedure::FrameLoss { step: 0.1, most: 1.0, length: second },
        Procedure::Throughput(goal(0.0)),
        Procedure::Mlr(plan(vec![mlr_goal(0.0)])),
        Procedure::BackToBack { goal: goal(0.0), limits },
        Procedure::Recovery { goal: goal(0.0), lengths: [second, second] },
        Procedure::Reset { load: 0.5, length: second },
    ];
    for procedure in procedures {
        let reset = matches!(procedure, Procedure::Reset { .. }).then(|| "true".to_owned());
        let asked = BenchOptions { reset, ..options(procedure.clone()) };
        let absent = asked.reset.as_ref().map(|_| (0, 300_000_000..600_000_000));
        let document = run(&asked, Simulated { absent, ..Simulated::with(carries(0.5, 20)) });
        let found: std::collections::BTreeSet<&str> =
            document.results.iter().map(|result| result.quantity.as_str()).collect();
        let told: std::collections::BTreeSet<&str> =
            crate::document::quantities_of(&procedure).into_iter().collect();
        assert_eq!(found, told, "{procedure:?}");
    }
    let limit: crate::limits::ResultLimit = "loss_ratio<=1%".parse().unwrap();
    assert_eq!(limit.check(&Procedure::Sweep { loads: vec![0.1], length: second }, "latency"), Ok(()));
    let why = limit.check(&Procedure::Throughput(goal(0.0)), "throughput").unwrap_err();
    assert_eq!(
        why,
        "no such quantity (--limit loss_ratio<=1%): throughput measures throughput_percent, throughput_pps; limit one of these"
    );
}
