//! Whose loss it is: a tester that is starved before a sound device, a device that is overloaded before a sound tester, and
//! both at once.

use romer_record::benchmark::{BenchmarkEventKind, InvalidCause, InvalidTrial, InvalidTrials};
use romer_record::warning::BenchmarkWarning;

use super::*;

const MILLI: i64 = 1_000_000;

/// The trials of a sweep that tell something, and what they lost.
fn charged(document: &Benchmark) -> (usize, u64) {
    let valid: Vec<&Trial> = document.trials.iter().filter(|trial| trial.invalid.is_none()).collect();
    (valid.len(), valid.iter().map(|trial| trial.lost).sum())
}

fn loss_ratio(document: &Benchmark) -> Option<f64> {
    document.results.iter().find(|result| result.quantity == "loss_ratio").and_then(|result| result.mean)
}

#[test]
fn nothing_is_charged_to_a_sound_device_by_a_starved_tester() {
    // In every trial but the third the tester stands still four times, longer and longer; the device holds 20 frames.
    let still = [(100, 105), (250, 262), (500, 530), (800, 860)];
    let all = (0..2).flat_map(|trial| still.map(|(from, to)| (trial, from * MILLI..to * MILLI)));
    let bed = Simulated { stands_still: all.collect(), ..Simulated::with(carries(0.9, 20)) };
    let document = run(&sweep(&[0.5]), bed.clone());
    assert_eq!((document.trials.len(), charged(&document)), (3, (1, 0)), "{:#?}", document.trials);
    for trial in &document.trials[..2] {
        // What the burst cost is more than its frames: those right after it find the queue full as well.
        assert!(trial.lost > 200 && trial.lost_by_tester == trial.lost, "{trial:#?}");
        // It was the device that dropped them: nothing of it is its loss for certain, and all may be.
        assert_eq!(trial.lost_by_device, Some([0, trial.lost]));
    }
    assert_eq!(loss_ratio(&document), Some(0.0));
    // A search does not take it for the device's limit.
    let throughput = options(Procedure::Throughput(goal(0.0)));
    let found = value(&run(&throughput, bed), "throughput_percent");
    assert!(found > 89.0, "{found}");
}

#[test]
fn a_load_that_left_at_once_after_a_long_standstill_is_not_the_one_asked_for() {
    // Nothing is lost: the device holds all that comes.
    let stood = |length: i64, asked: &BenchOptions| {
        let still = vec![(0, 300 * MILLI..(300 + length) * MILLI)];
        run(asked, Simulated { stands_still: still, ..Simulated::with(carries(1.0, 10_000)) })
    };
    let document = stood(150, &sweep(&[0.5]));
    let why = why(&document.trials[0]);
    assert!(why.starts_with("tester stalled ") && why.contains(" in a trial of 1 s"), "{why}");
    assert_eq!((document.trials.len(), charged(&document)), (2, (1, 0)));
    let greatest = document.trials.last().unwrap().latency_ns.max.unwrap();
    assert!(greatest < 1e6, "{greatest}: of the trial that was made again");
    // A tenth of the trial is borne, and a search looks at loss alone.
    let document = stood(90, &sweep(&[0.5]));
    assert_eq!((document.trials.len(), &document.trials[0].invalid), (1, &None));
    let found = stood(150, &options(Procedure::Throughput(goal(0.0))));
    assert_eq!(found.trials[0].invalid, None);
}

#[test]
fn what_the_tester_dropped_unread_is_not_charged_to_the_device() {
    let overflows = Some((0, 400 * MILLI..500 * MILLI));
    let bed = Simulated { overflows, ..Simulated::with(carries(0.9, 20)) };
    let document = run(&sweep(&[0.5]), bed);
    let trial = &document.trials[0];
    assert!(trial.lost > 400 && trial.lost == trial.tester_drops, "{trial:#?}");
    assert_eq!((trial.lost_by_tester, trial.lost_by_device), (trial.lost, Some([0, 0])));
    let why = why(trial);
    assert!(why.contains("itself; device loss 0 to 0"), "{why}");
    assert_eq!((document.trials.len(), charged(&document)), (2, (1, 0)));
}

#[test]
fn an_overloaded_devices_loss_is_all_its_own() {
    // It carries half of what is offered.
    let document = run(&sweep(&[0.8]), Simulated::with(carries(0.4, 20)));
    let trial = &document.trials[0];
    assert_eq!((document.trials.len(), trial.lost_by_tester), (1, 0));
    assert_eq!(trial.lost_by_device, Some([trial.lost; 2]));
    // That the tester dropped a few more and stood still once changes little: the trial still tells of the device.
    for bed in [
        Simulated { overflows: Some((0, 400 * MILLI..405 * MILLI)), ..Simulated::with(carries(0.4, 20)) },
        Simulated { stands_still: vec![(0, 400 * MILLI..405 * MILLI)], ..Simulated::with(carries(0.4, 20)) },
    ] {
        let document = run(&sweep(&[0.8]), bed);
        let trial = &document.trials[0];
        assert_eq!((document.trials.len(), &trial.invalid), (1, &None), "{trial:#?}");
        let ratio = loss_ratio(&document).unwrap();
        assert!((ratio - 0.5).abs() < 0.005, "{ratio}");
        let told = document.warnings.iter().any(|one| matches!(one, BenchmarkWarning::LossOfTester { .. }));
        assert_eq!(told, trial.lost_by_tester > 0, "{:?}", document.warnings);
    }
    // Nor is the tester named for what bounds a search, where its bursts meet a device that loses on schedule as well.
    let still = (0..20).map(|trial| (trial, 400 * MILLI..430 * MILLI)).collect();
    let bed = Simulated { stands_still: still, ..Simulated::with(carries(0.4, 2_000)) };
    let document = run(&options(Procedure::Throughput(goal(0.0))), bed);
    assert!(document.results.iter().all(|result| result.bounded_by.is_none()), "{:#?}", document.results);
    let found = value(&document, "throughput_percent");
    assert!(found > 39.0 && found < 66.0, "{found}");
}

#[test]
fn what_a_full_queue_drops_is_within_the_devices_part_and_all_of_it_in_the_loss_ratio() {
    // The queue of 40 frames is full from the first tenth on; the tester stands still for a few milliseconds, again and again.
    let still = (0..10).flat_map(|trial| (2..10).map(move |n| (trial, n * 90 * MILLI..(n * 90 + 6) * MILLI)));
    let bed = Simulated { stands_still: still.collect(), ..Simulated::with(carries(0.55, 40)) };
    let document = run(&BenchOptions { repeats: 8, ..sweep(&[0.9]) }, bed);
    assert_eq!(document.trials.len(), 8);
    for trial in &document.trials {
        // All that is lost the device has dropped.
        let [least, most] = trial.lost_by_device.unwrap();
        assert!(trial.stall_affected > 500 && least <= trial.lost && most == trial.lost, "{trial:#?}");
        assert_eq!((trial.lost_by_tester, &trial.invalid), (0, &None), "{trial:#?}");
    }
    let trials = document.trials.iter();
    let lost: f64 = trials.map(|trial| trial.lost as f64 / trial.offered.frames as f64).sum();
    assert!((loss_ratio(&document).unwrap() - lost / 8.0).abs() < 1e-9);
}

#[test]
fn of_a_starved_tester_and_a_losing_device_the_devices_part_has_an_interval() {
    // The device loses 2 % by itself; what a burst of 60 ms brings at once is too much for it.
    let device = Device { noise: 0.02, ..carries(0.9, 20) };
    let still = (0..40).map(|trial| (trial, 300 * MILLI..(302 + 3 * i64::from(trial)) * MILLI)).collect();
    let bed = Simulated { stands_still: still, ..Simulated::with(device) };
    let document = run(&BenchOptions { repeats: 10, ..sweep(&[0.5]) }, bed);
    let mut outside = 0;
    for trial in &document.trials {
        let [least, most] = trial.lost_by_device.unwrap();
        let truth = 0.02 * trial.offered.frames as f64;
        // Half of what chance adds to the frames on schedule is in the trial; 5 deviations of 4,223 frames.
        assert!((least as f64) < truth + 46.0 && most as f64 > truth - 46.0, "{trial:#?}");
        outside += usize::from(
            trial.lost_by_tester + most < trial.lost || trial.lost_by_tester + least > trial.lost,
        );
        assert_eq!(trial.invalid.is_some(), (trial.lost - least) * 10 > least, "{trial:#?}");
        assert_eq!(most, trial.lost, "the tester proves none of it its own");
    }
    assert_eq!(outside, 0);
    let worst = document.trials.iter().max_by_key(|trial| trial.lost).unwrap();
    assert!(worst.lost_by_tester > 100 && why(worst).contains("stall"));
}

#[test]
fn a_tester_that_stands_still_half_of_the_time_still_knows_an_overload_and_charges_nothing_else() {
    use romer_method::schedule::Pace;

    // 12 ms of every 24, in all trials: no frame is further from a burst than one stands still.
    let still: Vec<_> = (0..3)
        .flat_map(|trial| (0..42).map(move |n| (trial, n * 24 * MILLI..(n * 24 + 12) * MILLI)))
        .collect();
    let swept = |device: Device, pace| {
        let streams = vec![StreamOptions { pace, ..StreamOptions::default() }];
        let bed = Simulated { stands_still: still.clone(), ..Simulated::with(device) };
        run(&BenchOptions { streams, ..sweep(&[0.5]) }, bed)
    };
    for pace in [Pace::Constant, Pace::Poisson] {
        // It carries 56 % of what is offered, as the tester would know without standing still.
        let document = swept(carries(0.28, 100), pace);
        let trial = &document.trials[0];
        let [least, most] = trial.lost_by_device.unwrap();
        let truth = 0.44 * trial.offered.frames as f64;
        assert!(
            (least as f64) < truth * 1.02 && most as f64 > truth * 0.95,
            "{pace:?}: {least} to {most}, {truth}"
        );
        assert!(least as f64 > 0.8 * truth, "{pace:?}: {least} to {most}, {truth}");
        // One that carries all that is offered, and a tenth more, has no room for the bursts.
        for capacity in [0.55, 0.9] {
            let document = swept(carries(capacity, 20), pace);
            for trial in &document.trials {
                let [least, _] = trial.lost_by_device.unwrap();
                assert!(
                    trial.lost > 100 && least == 0 && trial.invalid.is_some(),
                    "{pace:?} {capacity}: {trial:#?}"
                );
            }
        }
    }
}

#[test]
fn a_burst_whose_end_leaves_late_proves_no_buffer() {
    // 8,446 frames a second: the first burst is of 4,223, of which the device forwards half meanwhile.
    let limits = Limits { longest: Duration::from_millis(500), step: 1, line: LineRate::new(LINE).unwrap() };
    let asked = options(Procedure::BackToBack { goal: goal(0.0), limits });
    let first_burst = |bed: Simulated| {
        let document = run(&asked, bed);
        let place = document.trials.iter().position(|trial| trial.purpose == "burst").unwrap();
        (u32::try_from(place).unwrap(), document.trials[place].clone())
    };
    let bed = || Simulated::with(carries(0.5, 2_500));
    let (place, held) = first_burst(bed());
    assert_eq!((held.lost, held.invalid), (0, None));
    let still = |from: i64, to: i64| {
        let still = vec![(place, from * 1_000_000..to * 1_000_000)];
        first_burst(Simulated { stands_still: still, ..bed() }).1
    };
    // The last 50 ms of it leave 50 ms after its end: what is before them is a burst of 422 frames less.
    let late = still(450, 550);
    assert!(why(&late).contains("sent late"), "{late:?}");
    // In the middle it has to hold as much when that was made up for, and does.
    let middle = still(200, 250);
    assert_eq!((middle.lost, middle.invalid), (0, None));
}

#[test]
fn beyond_the_proved_rate_the_device_is_charged_with_what_the_testers_own_tests_leave() {
    let accounted = |offered_pps, unaccounted| {
        vec![Accounted { offered_pps, offered: 10_000, lost: unaccounted + 500, unaccounted }]
    };
    // The line carries 8,446 frames of 128 B; the tester has proved itself up to a thousand.
    let swept = |device: Device, loses_above, ledger| {
        let bed = Simulated { proves: 1_000.0, loses_above, ledger, ..Simulated::with(device) };
        run(&sweep(&[0.8]), bed)
    };
    let all = f64::INFINITY;
    // It knows of all that it lost at such a rate: the device that carries half is charged with the other half.
    let document = swept(carries(0.4, 20), all, accounted(9_000.0, 0));
    let trial = &document.trials[0];
    assert_eq!((document.trials.len(), &trial.invalid), (1, &None));
    let [least, most] = trial.lost_by_device.unwrap();
    // None of 10,000 is up to 0.03 % (95 %), which are 3 of the 6,757 that left.
    assert_eq!((most, trial.lost - least), (trial.lost, 3));
    assert!((loss_ratio(&document).unwrap() - 0.5).abs() < 0.005);
    let warned = document.warnings.iter().any(|one| {
        matches!(one, BenchmarkWarning::LossBeyondSelfTest { tester_loss_ratio, .. }
            if (tester_loss_ratio - 3e-4).abs() < 5e-6)
    });
    assert!(warned, "{:?}", document.warnings);
    // It loses one of a hundred without knowing: that is nothing beside the half, ...
    let document = swept(carries(0.4, 20), 1_000.0, accounted(9_000.0, 100));
    let [least, _] = document.trials[0].lost_by_device.unwrap();
    assert!(document.trials[0].invalid.is_none() && least > 3_200, "{least}");
    // ... and all that there is where the device is sound.
    let document = swept(carries(1.0, 20), 1_000.0, accounted(9_000.0, 100));
    let trial = &document.trials[0];
    let reason = why(trial);
    assert!(reason.contains("device loss 0 to ") && reason.contains("without being counted"), "{reason}");
    assert_eq!(trial.lost_by_device.map(|[least, _]| least), Some(0));
    // At a rate at which it was not tested nothing is known, however gross.
    for ledger in [Vec::new(), accounted(5_000.0, 0)] {
        let document = swept(carries(0.4, 20), all, ledger);
        let trial = &document.trials[0];
        assert!(why(trial).ends_with("the tester may have lost them"));
        assert_eq!(trial.lost_by_device.map(|[least, _]| least), Some(0));
    }
    // A search knows the device's limit then, which lies above the proved rate.
    let bed =
        Simulated { proves: 1_000.0, ledger: accounted(9_000.0, 0), ..Simulated::with(carries(0.4, 20)) };
    let document = run(&options(Procedure::Throughput(goal(0.0))), bed);
    let found = value(&document, "throughput_percent");
    assert!((39.0..41.0).contains(&found), "{found}");
    assert!(document.results.iter().all(|result| result.bounded_by.is_none()), "{:#?}", document.results);
}

/// A tester that falls half a second behind its schedule did not offer the load, however little of the trial that is and though the
/// device loses nothing.
#[test]
fn lateness_alone_invalidates() {
    let procedure = Procedure::Sweep { loads: vec![0.02, 0.03], length: Duration::from_secs(10) };
    let behind = |millis: i64| {
        let still = vec![(0, 1_000_000_000..(1_000 + millis) * 1_000_000)];
        let bed = Simulated { stands_still: still, ..Simulated::with(carries(1.0, 10_000)) };
        run(&BenchOptions { procedure: procedure.clone(), ..sweep(&[]) }, bed)
    };
    let late = behind(600);
    let why = why(&late.trials[0]);
    assert!(why.starts_with("tester stalled ") && late.trials.len() == 3, "{why}");
    assert!(behind(400).trials.iter().all(|trial| trial.invalid.is_none()));
}

/// Where the tester stands still in every trial, a sweep of many ends after six, each made three times, and says that it is the tester.
#[test]
fn sweep_ends_early_at_the_testers_limit() {
    let loads: Vec<f64> = (2..20).map(|twentieth| f64::from(twentieth) / 20.0).collect();
    let still = (0..1_000).map(|trial| (trial, 200 * MILLI..800 * MILLI)).collect();
    let bed = Simulated { stands_still: still, ..Simulated::with(carries(1.0, 100_000)) };
    let document = run(&sweep(&loads), bed);
    assert!(document.partial);
    assert_eq!(document.trials.len(), 18);
    let causes = vec![InvalidTrials { cause: InvalidCause::TesterStalled, trials: 6 }];
    let limit = BenchmarkEventKind::TesterLimit { invalid: 6, trials: 6, causes, max_valid_pps: None };
    assert_eq!(document.events.last().map(|event| &event.kind), Some(&limit));
    let stalled = |trial: &Trial| matches!(trial.invalid, Some(InvalidTrial::TesterStalled { .. }));
    assert!(document.trials.iter().all(stalled));
}

/// Where the tester stands still in every trial, one search goes down to the least load, and no other search follows.
#[test]
fn silent_search_is_the_last() {
    let still = (0..10_000).map(|trial| (trial, 200 * MILLI..800 * MILLI)).collect();
    let bed = Simulated { stands_still: still, ..Simulated::with(carries(1.0, 100_000)) };
    let asked = options(Procedure::Throughput(goal(0.0)));
    let document = run(&BenchOptions { frames: sizes(&[128, 256, 512, 1_024]), repeats: 3, ..asked }, bed);
    assert!(document.partial);
    let last = document.events.last().unwrap();
    assert!(matches!(last.kind, BenchmarkEventKind::TesterLimit { max_valid_pps: None, .. }), "{last:?}");
    assert!(document.trials.iter().all(|trial| trial.invalid.is_some()));
    // One search and the first trial of the next.
    let searches: std::collections::BTreeSet<_> =
        document.trials.iter().map(|trial| (trial.frame_size, trial.repeat)).collect();
    assert_eq!(searches.len(), 2, "{searches:?}");
    let bounds: Vec<_> = document.results.iter().filter_map(|result| result.bounded_by).collect();
    assert!(bounds.contains(&ResultBound::Tester), "{:#?}", document.results);
}
