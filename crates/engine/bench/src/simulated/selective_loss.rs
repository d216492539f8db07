//! Devices that drop the frames of a size, all or next to all, always or from some moment on.

use romer_record::benchmark::{BenchmarkEvent, BenchmarkEventKind, Load, SilentSize};

use super::*;
use crate::selective_loss::dropped;

fn named(document: &Benchmark) -> Vec<(String, String)> {
    let broken = document.verdicts.iter().filter(|one| one.passed == Some(false));
    broken.map(|one| (subject_text(one), observed_text(one))).collect()
}

#[test]
fn a_size_that_is_dropped_from_some_trial_on_is_named_with_how_many_of_its_trials() {
    let asked = BenchOptions { frames: sizes(&[64, 128, 512]), repeats: 3, ..sweep(&[0.2, 0.3]) };
    let bed = Simulated { drops: Some((128, 7..u32::MAX, 0)), ..Simulated::with(carries(1.0, 100)) };
    let document = run(&asked, bed);
    let of = document.trials.iter().filter(|trial| trial.frame_size == Some(128));
    let (came, lost): (Vec<&Trial>, Vec<&Trial>) = of.partition(|trial| trial.forwarded.frames > 0);
    assert!(!came.is_empty() && lost.len() >= 2, "some trials each");
    let frames: u64 = lost.iter().map(|trial| trial.offered.frames).sum();
    let found = format!("none of {frames} frames received, in {} of 6 trials", lost.len());
    assert_eq!(named(&document), [("frames of 128 B".to_owned(), found)]);
    // A device that does not reach its end in a trial of overload loses what it has no room for.
    let full = Device { per_frame: Duration::from_micros(600), ..carries(1.0, 5) };
    let loads = BenchOptions { frames: sizes(&[64, 512, 1_518]), ..sweep(&[0.05, 0.5, 1.0]) };
    assert_eq!(named(&run(&loads, Simulated::with(full))), []);
}

#[test]
fn a_size_of_which_next_to_none_comes_is_named() {
    // Two frames leave before it begins.
    let asked = BenchOptions { frames: sizes(&[64, 512]), ..sweep(&[0.3]) };
    let number = |document: &Benchmark| document.trials.iter().position(|one| one.frame_size == Some(64));
    let place = u32::try_from(number(&run(&asked, Simulated::with(carries(1.0, 100)))).unwrap()).unwrap();
    let drops = Some((64, place..place + 1, 600_000));
    // So many that nobody would take them for an absence of the device: it is silent for the rest of a trial of 300 ms.
    let short = Procedure::Sweep { loads: vec![0.3], length: Duration::from_millis(300) };
    let asked = BenchOptions { procedure: short, ..asked };
    let document = run(&asked, Simulated { drops, ..Simulated::with(carries(1.0, 100)) });
    let [(subject, found)] = &named(&document)[..] else { panic!("{:?}", document.events) };
    assert_eq!(
        (subject.as_str(), found.as_str()),
        ("frames of 64 B", "3 of 1340 frames received, in 1 of 1 trial")
    );
}

#[test]
fn a_stream_with_a_size_of_its_own_that_is_dropped_has_it_named() {
    let stream = |name: &str, frames: Option<u32>, share| StreamOptions {
        name: name.into(),
        share,
        frames: frames.and_then(|size| sizes(&[size]).pop()),
        ..StreamOptions::default()
    };
    let with =
        |streams: Vec<StreamOptions>| BenchOptions { streams, frames: sizes(&[512]), ..sweep(&[0.4, 0.9]) };
    let two = with(vec![stream("bulk", None, 0.7), stream("small", Some(64), 0.3)]);
    let drops = Device { drops_size: Some(64), ..carries(1.0, 100) };
    let document = run(&two, Simulated::with(drops.clone()));
    let [(subject, found)] = &named(&document)[..] else { panic!("{:?}", document.verdicts) };
    assert_eq!(subject, "frames of 64 B, stream small");
    assert!(found.starts_with("none of ") && found.ends_with("in 2 of 2 trials"), "{found}");
    // One of its size passes: it is not for that, and the stream is named; nor is a starved class dropped for its size.
    let mute = Some((0..9, 1, 0..2_000_000_000));
    let three =
        with(vec![stream("bulk", None, 0.5), stream("small", Some(64), 0.2), stream("other", Some(64), 0.3)]);
    let document = run(&three, Simulated { mute, ..Simulated::with(carries(1.0, 100)) });
    let [(subject, found)] = &named(&document)[..] else { panic!("{:?}", document.verdicts) };
    assert_eq!(subject, "stream small");
    assert!(found.starts_with("none of ") && found.ends_with("in 2 of 2 trials"), "{found}");
    let strict = Device { service: romer_sim::device::Service::Strict, ..carries(0.5, 20) };
    assert_eq!(named(&run(&two, Simulated::with(strict))), []);
}

#[test]
fn a_stream_without_a_size_of_its_own_that_is_dropped_is_a_claim_that_does_not_hold() {
    let stream =
        |name: &str| StreamOptions { name: name.into(), share: 1.0 / 3.0, ..StreamOptions::default() };
    let asked = |loads: &[f64]| BenchOptions {
        streams: vec![stream("voice"), stream("video"), stream("rest")],
        frames: sizes(&[64, 512]),
        ..sweep(loads)
    };
    let mute = |trials, times| Some((trials, 0, times));
    let all = 0..2_000_000_000;
    let told = |asked: &BenchOptions, mute| {
        named(&run(asked, Simulated { mute, ..Simulated::with(carries(0.6, 100)) }))
    };
    let [(subject, found)] = &told(&asked(&[0.2]), mute(0..9, all.clone()))[..] else { panic!("not named") };
    assert_eq!(subject, "stream voice");
    assert!(found.starts_with("none of ") && found.ends_with("in 2 of 2 trials"), "{found}");
    // Where it comes at lower loads alone it may find a queue full whenever it comes, because it sends evenly as the others do.
    let two = BenchOptions { frames: sizes(&[64]), ..asked(&[0.2, 0.4]) };
    let sound = run(&two, Simulated::with(carries(0.6, 100)));
    let high = sound.trials.iter().position(|trial| trial.intended_load.percent > 30.0).unwrap();
    for place in [0, 1] {
        let trial = u32::try_from(place).unwrap();
        assert_eq!(told(&two, mute(trial..trial + 1, all.clone())).len(), usize::from(place != high));
    }
    // From the second trial on, at whatever load.
    let [(subject, _)] = &told(&BenchOptions { repeats: 3, ..asked(&[0.2]) }, mute(1..9, all))[..] else {
        panic!("not named")
    };
    assert_eq!(subject, "stream voice");
    // Nor is one that comes in part.
    assert_eq!(told(&asked(&[0.2]), mute(0..9, 300_000_000..2_000_000_000)), []);
    // A class that its scheduler is to starve is judged by that.
    let claims =
        Claims { scheduler: Some((romer_method::priority::Discipline::Strict, 5e6)), ..Claims::default() };
    let judged = BenchOptions { claims, ..asked(&[0.2]) };
    assert!(told(&judged, mute(0..9, 0..2_000_000_000)).iter().all(|(subject, _)| subject != "stream voice"));
}

#[test]
fn streams_that_are_dropped_are_named_also_where_others_are_lost_by_chance() {
    let stream = |name: &str, size| StreamOptions {
        name: name.into(),
        share: 1.0 / 3.0,
        frames: sizes(&[size]).pop(),
        ..StreamOptions::default()
    };
    let asked = |small, large| BenchOptions {
        streams: vec![stream("voice", small), stream("video", 128), stream("rest", large)],
        ..sweep(&[0.2, 0.6])
    };
    let names = |asked: &BenchOptions, bed| {
        named(&run(asked, bed)).into_iter().map(|(subject, _)| subject).collect::<Vec<_>>()
    };
    let noisy = || Simulated::with(Device { noise: 0.02, ..carries(1.0, 100) });
    let mute = Some((0..9, 0, 0..2_000_000_000));
    assert_eq!(names(&asked(128, 128), Simulated { mute: mute.clone(), ..noisy() }), ["stream voice"]);
    // Two of three.
    let two = || Simulated { drops_above: Some(100), ..noisy() };
    let both = ["frames of 128 B, stream video", "frames of 512 B, stream rest"];
    assert_eq!(names(&asked(64, 512), two()), both);
    assert_eq!(names(&asked(64, 512), noisy()), Vec::<String>::new());
    // A class that is starved by others that fill the device is not dropped.
    let strict = Device { service: romer_sim::device::Service::Strict, ..carries(0.19, 20) };
    assert_eq!(names(&asked(128, 128), Simulated::with(strict)), Vec::<String>::new());
}

#[test]
fn at_one_load_alone_a_stream_or_size_of_which_nothing_comes_while_others_are_lost_is_not_known() {
    let open = |asked: &BenchOptions, bed| {
        let document = run(asked, bed);
        assert_eq!(named(&document), []);
        let open = document.verdicts.iter().filter(|one| one.passed.is_none());
        open.map(|one| (subject_text(one), observed_text(one))).collect::<Vec<_>>()
    };
    let stream =
        |name: &str| StreamOptions { name: name.into(), share: 1.0 / 3.0, ..StreamOptions::default() };
    let three = BenchOptions { streams: ["voice", "video", "rest"].map(stream).into(), ..sweep(&[0.2]) };
    let noisy = |noise| Simulated::with(Device { noise, ..carries(1.0, 100) });
    let mute = Some((0..9, 0, 0..2_000_000_000));
    let found = open(&three, Simulated { mute: mute.clone(), ..noisy(0.05) });
    let [(subject, found)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(subject, "stream voice");
    assert!(found.starts_with("none of ") && found.contains(", in 1 of 1 trial, inconclusive: "), "{found}");
    assert!(found.contains(" % of the others were lost as well") && found.ends_with("(--loads)"), "{found}");
    assert_eq!(open(&three, noisy(0.05)), []);
    // Of a mixture, a size.
    let mixed = BenchOptions { frames: vec![Frames::Mixture("simple".parse().unwrap())], ..sweep(&[0.2]) };
    let drops = Device { noise: 0.05, drops_size: Some(594), ..carries(1.0, 100) };
    let found = open(&mixed, Simulated::with(drops));
    assert_eq!(found.iter().map(|(subject, _)| subject.as_str()).collect::<Vec<_>>(), ["frames of 594 B"]);
    // Where others come, it is named for certain.
    let document = run(&three, Simulated { mute, ..noisy(0.0) });
    assert_eq!((named(&document).len(), document.verdicts.len()), (1, 1), "{:?}", document.verdicts);
}

#[test]
fn a_stream_that_is_dropped_is_named_though_the_tester_stands_still_in_every_trial() {
    let stream = |name: &str, size, share| StreamOptions {
        name: name.into(),
        share,
        frames: sizes(&[size]).pop(),
        ..StreamOptions::default()
    };
    let asked = BenchOptions {
        streams: vec![stream("bulk", 512, 0.7), stream("small", 64, 0.3)],
        ..sweep(&[0.2, 0.4])
    };
    // It sends for 3 ms, and stands still for 15: all that leaves does so in bursts or in their wake.
    let still =
        |trial: u32| (0..56).map(move |n| (trial, (n * 18 + 3) * 1_000_000..(n * 18 + 18) * 1_000_000));
    let stands_still: Vec<_> = (0..2).flat_map(still).collect();
    let drops = Device { drops_size: Some(64), ..carries(1.0, 1_000) };
    let document = run(&asked, Simulated { stands_still, ..Simulated::with(drops) });
    for trial in &document.trials {
        let of_small = trial.per_stream[1].offered;
        assert_eq!(
            (trial.stall_affected > trial.offered.frames / 2, trial.lost),
            (true, of_small),
            "{trial:#?}"
        );
        assert_eq!((trial.lost_by_device, &trial.invalid), (Some([of_small; 2]), &None));
    }
    assert_eq!(document.trials.len(), 2);
    let [(subject, found)] = &named(&document)[..] else { panic!("{:?}", document.verdicts) };
    assert_eq!(subject, "frames of 64 B, stream small");
    assert!(found.ends_with("in 2 of 2 trials"), "{found}");
    // Where it stands still for so long that the load is not what was asked for, the stream is silent all the same.
    let stands_still: Vec<_> = (0..6).map(|trial| (trial, 200_000_000..500_000_000)).collect();
    let drops = Device { drops_size: Some(64), ..carries(1.0, 1_000) };
    let document = run(&asked, Simulated { stands_still, ..Simulated::with(drops) });
    assert!(document.trials.len() == 6 && document.trials.iter().all(|trial| trial.invalid.is_some()));
    let [(_, found)] = &named(&document)[..] else { panic!("{:?}", document.verdicts) };
    assert!(found.starts_with("none of ") && found.ends_with("in 6 of 6 trials"), "{found}");
}

#[test]
fn where_all_sizes_that_are_asked_for_are_dropped_others_show_that_the_device_is_there() {
    let asked = BenchOptions { frames: sizes(&[64]), ..sweep(&[0.2, 0.3]) };
    let document = run(&asked, Simulated::with(Device { drops_size: Some(64), ..carries(1.0, 100) }));
    let frames: u64 = document.trials.iter().map(|trial| trial.offered.frames).sum();
    let found = format!("none of {frames} frames received, in 2 of 2 trials");
    assert_eq!(named(&document), [("frames of 64 B".to_owned(), found)]);
    assert!(document.trials.iter().all(|trial| trial.invalid.is_none()), "{:?}", document.events);
    // A device that forwards nothing at all is refused still.
    let mut keeper = RecordingWatcher::default();
    let mut hand = Hand(&mut keeper.entries, &keeper.stop, None);
    let dead = Simulated { away: true, gone: true, ..Simulated::with(carries(1.0, 100)) };
    let refused = run_on(dead, &asked, None, &AtomicBool::new(false), &mut hand);
    assert!(matches!(refused, Err(BenchError::Silent(_))), "{refused:?}");
}

/// The only event, which is of a silent size.
fn silent_size(document: &Benchmark) -> &SilentSize {
    match &document.events[..] {
        [BenchmarkEvent { kind: BenchmarkEventKind::SizeSilent(silent), .. }] => silent,
        others => panic!("{others:?}"),
    }
}

#[test]
fn a_size_that_begins_to_be_dropped_within_a_trial_is_no_absence_of_the_device() {
    let asked = BenchOptions { frames: sizes(&[64, 512]), ..sweep(&[0.2]) };
    let sound = run(&asked, Simulated::with(carries(1.0, 100)));
    let place = sound.trials.iter().position(|trial| trial.frame_size == Some(64)).unwrap();
    let place = u32::try_from(place).unwrap();
    let drops = Some((64, place..u32::MAX, 300_000_000));
    let document = run(&asked, Simulated { drops, ..Simulated::with(carries(1.0, 100)) });
    let silent = silent_size(&document);
    assert_eq!((silent.frame_size, silent.trials), (Some(64), 1), "{silent:?}");
    assert!(silent.from_ns.abs_diff(300_000_000) < 50_000_000, "{silent:?}");
    assert_eq!(
        (document.trials.len(), document.trials.iter().all(|trial| !trial.device_unreachable)),
        (2, true)
    );
    let trial = document.trials.iter().find(|trial| trial.frame_size == Some(64)).unwrap();
    let [came, of] = [trial.forwarded.frames, trial.offered.frames];
    assert!(came.abs_diff(of * 3 / 10) < 3, "{came} of {of}");
    let found = format!("{came} of {of} frames received, in 1 of 1 trial");
    assert_eq!(named(&document), [("frames of 64 B".to_owned(), found)]);
}

#[test]
fn a_size_that_is_dropped_in_each_trial_of_a_search_is_one_event() {
    let asked = BenchOptions {
        name: "throughput",
        frames: sizes(&[64, 512]),
        ..options(Procedure::Throughput(goal(0.0)))
    };
    let mut keeper = RecordingWatcher::default();
    let mut hand = Hand(&mut keeper.entries, &keeper.stop, None);
    let drops = Simulated::with(Device { drops_size: Some(64), ..carries(1.0, 100) });
    let document = run_on(drops, &asked, None, &keeper.stop, &mut hand).unwrap();
    let is_silent = |entry: &&BenchmarkEntry| {
        let BenchmarkEntry::Event(event) = entry else { return false };
        matches!(event.kind, BenchmarkEventKind::SizeSilent(_))
    };
    let kept = keeper.entries.iter().filter(is_silent).count();
    assert!(kept > 3, "{kept}");
    let silent = silent_size(&document);
    assert_eq!((silent.frame_size, silent.case.as_str()), (Some(64), "baseline"), "{silent:?}");
    assert_eq!(usize::try_from(silent.trials), Ok(kept), "{silent:?}");
    let [least, most] =
        [silent.min_load_percent, silent.max_load_percent].map(|percent| format!("{percent:.1}"));
    assert_eq!((least.as_str(), most.as_str()), ("1.0", "100.0"));
}

/// A trial of a second of frames of so many octets at so many percent of 10 Mbit/s, of which this share comes.
fn trial(octets: u32, percent: f64, share: f64) -> Trial {
    let bps = percent * 1e5;
    let pps = bps / f64::from(8 * (octets + 20));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "frames of a second")]
    let to_u64 = |frames: f64| frames as u64;
    let load = |share: f64| Load {
        frames: to_u64(pps * share),
        bps: bps * share,
        pps: pps * share,
        percent,
        ..Load::default()
    };
    let (offered, forwarded) = (load(1.0), load(share));
    let lost = offered.frames - forwarded.frames;
    let intended_load = offered;
    Trial {
        frame_size: Some(octets),
        duration_ns: 1_000_000_000,
        intended_load,
        offered,
        forwarded,
        lost,
        ..Trial::default()
    }
}

#[test]
fn what_may_be_for_the_load_is_laid_to_no_size() {
    let told = |trials: &[Trial]| {
        let trials: Vec<&Trial> = trials.iter().collect();
        let found = dropped("baseline", &trials, &trials);
        found.iter().map(|one| (one.frame_size.unwrap(), observed_text(one))).collect::<Vec<_>>()
    };
    let large = [trial(512, 10.0, 1.0), trial(512, 80.0, 1.0)];
    let with = |trials: &[Trial]| told(&[&large[..], trials].concat());
    // A device may give up where it comes to far more frames a second than it carries, ...
    assert_eq!(with(&[trial(64, 10.0, 1.0), trial(64, 80.0, 0.005)]), []);
    // ... not at half as many again; nor at fewer than it carries of another size.
    assert_eq!(with(&[trial(64, 50.0, 1.0), trial(64, 75.0, 0.0)]).len(), 1);
    assert_eq!(with(&[trial(1_518, 10.0, 1.0), trial(1_518, 80.0, 0.0)]).len(), 1);
    assert_eq!(
        with(&[trial(256, 4.0, 1.0), trial(256, 20.0, 0.0)]),
        [(256, "none of 905 frames received, in 1 of 2 trials".into())]
    );
    // Where others pass at lower loads only, nothing is said; nor where they are lost, or a tenth comes.
    assert_eq!(told(&[large[0].clone(), trial(64, 50.0, 1.0), trial(64, 75.0, 0.0)]), []);
    assert_eq!(told(&[trial(512, 80.0, 0.9), trial(64, 50.0, 1.0), trial(64, 75.0, 0.0)]), []);
    assert_eq!(with(&[trial(64, 50.0, 1.0), trial(64, 75.0, 0.1)]), []);
    // All that is dropped at every load is named, and what comes next to never at every load.
    assert_eq!(with(&[trial(64, 10.0, 0.0), trial(64, 80.0, 0.0)]).len(), 1);
    assert_eq!(with(&[trial(64, 10.0, 0.002), trial(64, 80.0, 0.002)]).len(), 1);
    // A silence of less than half a second may be the device's.
    let short = Trial { duration_ns: 400_000_000, ..trial(64, 75.0, 0.0) };
    assert_eq!(with(&[trial(64, 75.0, 1.0), short]), []);
}
