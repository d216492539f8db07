//! A device that is away, and comes back: where in a trial, with its case or without, now or when the benchmark goes on. And what
//! a reader is told of sizes and claims that came to nothing.

use romer_method::analysis::{StreamInfo, TrialTrace, figures};
use romer_record::Exit;
use romer_record::benchmark::{
    BenchmarkEvent, BenchmarkEventKind, InvalidTrial, LinkRecovery, StallEffect, TrialOutage,
};
use romer_record::warning::BenchmarkWarning;

use crate::options::Protocol;

use super::*;

const MILLI: i64 = 1_000_000;

/// The start and the extent of the first outage within a trial.
fn first_outage(document: &Benchmark) -> (Option<f64>, &TrialOutage) {
    let found = document.events.iter().find_map(|event| match &event.kind {
        BenchmarkEventKind::DeviceAway { from_ns, outage } => Some((*from_ns, outage)),
        _ => None,
    });
    let (from, outage) = found.unwrap_or_else(|| panic!("{:?}", document.events));
    (from.map(|from| Duration::from_nanos(from).as_secs_f64()), outage)
}

/// The duration of the only pause of the device, seconds after its start in the trial, and its effect.
fn only_pause(document: &Benchmark) -> ([f64; 2], StallEffect) {
    match &document.events[..] {
        [
            BenchmarkEvent {
                kind: BenchmarkEventKind::DeviceStalled { from_ns, length_ns, effect, .. }, ..
            },
        ] => ([*from_ns, *length_ns].map(|time| Duration::from_nanos(time).as_secs_f64()), *effect),
        others => panic!("{others:?}"),
    }
}

/// A device that carries nothing from so many milliseconds of the second trial on to so many.
fn absent(from: i64, to: i64) -> Simulated {
    Simulated { absent: Some((1, from * MILLI..to * MILLI)), ..Simulated::with(carries(1.0, 100)) }
}

#[test]
fn a_reboot_is_an_event_and_none_of_it_is_loss() {
    let bed = Simulated { reboots: Some(2), ..Simulated::with(carries(1.0, 100)) };
    let document = run(&sweep(&[0.1, 0.2, 0.3, 0.4]), bed);
    for code in ["device-silent", "device-rebooted"] {
        assert!(has_event(&document, code), "{code}: {:?}", document.events);
    }
    let bad: Vec<&Trial> = document.trials.iter().filter(|trial| trial.invalid.is_some()).collect();
    assert_eq!((bad.len(), document.trials.len()), (1, 5), "it is made again");
    for result in document.results.iter().filter(|result| result.quantity == "loss_ratio") {
        assert_eq!((result.count, result.mean), (1, Some(0.0)));
    }
    assert!(!has_event(&document, "tester-overloaded"), "{:?}", document.events);
    assert!(crate::informative(&document).is_enough());
    let gone = Simulated { reboots: Some(2), gone: true, ..Simulated::with(carries(1.0, 100)) };
    let document = run(&sweep(&[0.1, 0.2, 0.3, 0.4]), gone);
    let end = document.events.iter().find_map(|event| match &event.kind {
        BenchmarkEventKind::DeviceGone { port, .. } => Some(port.as_ref().map(|port| &port.state)),
        _ => None,
    });
    assert!(document.partial && end == Some(Some(&PortState::NoCarrier)), "{end:?}");
}

/// A wait that ended while frames still came is told, with what waits longer; other trials are not.
#[test]
fn ended_wait_is_told() {
    let told = |bed: Simulated| {
        let document = run(&sweep(&[0.1, 0.2, 0.3]), bed);
        let cut: Vec<bool> = document.trials.iter().map(|trial| trial.still_arriving).collect();
        let is_notice = |one: &BenchmarkWarning| matches!(one, BenchmarkWarning::FramesStillArriving { .. });
        let notices: Vec<BenchmarkWarning> = document.warnings.into_iter().filter(is_notice).collect();
        (cut, notices)
    };
    let patient = Simulated::with(carries(1.0, 100));
    assert_eq!(told(patient.clone()), (vec![false; 3], vec![]));
    let (cut, notices) = told(Simulated { waits_too_briefly: Some(1), ..patient });
    assert_eq!(cut, [false, true, false]);
    assert!(matches!(notices[..], [BenchmarkWarning::FramesStillArriving { trials: 1, .. }]), "{notices:?}");
}

#[test]
fn a_device_that_reboots_whenever_it_is_loaded_is_no_overload_of_the_tester() {
    // Vendor D of Chadda 2004: with classification it rebooted again and again.
    let bed = Simulated { always_reboots: true, ..Simulated::with(carries(1.0, 100)) };
    let document = run(&sweep(&[0.1, 0.2]), bed.clone());
    let codes = codes(&document);
    assert_eq!(codes.iter().filter(|code| *code == "device-unsteady").count(), 2, "{codes:?}");
    assert!(!has_event(&document, "tester-overloaded"), "{codes:?}");
    assert!(document.trials.iter().all(|trial| trial.device_unreachable));
    assert!(document.results.iter().all(|result| result.count == 0), "{:#?}", document.results);
    let told = crate::informative(&document);
    assert_eq!((told.asked, told.told, told.device_unreachable, told.is_enough()), (2, 0, 2, false));
    // A search does not take it for the tester's limit either.
    let document = run(&options(Procedure::Throughput(goal(0.0))), bed);
    let bounds: Vec<_> = document.results.iter().filter_map(|one| one.bounded_by).collect();
    assert!(
        !bounds.is_empty() && bounds.iter().all(|one| *one == ResultBound::DeviceUnreachable),
        "{bounds:?}"
    );
    let told = crate::informative(&document);
    assert_eq!((told.asked, told.told, told.device_unreachable), (1, 0, 1));
}

#[test]
fn an_absence_within_a_trial_is_an_event_and_none_of_it_is_loss() {
    // Two tenths of a second away within a second are loss; six are an absence.
    for (length, is_away) in [(200, false), (600, true)] {
        let absent = Some((1, 100_000_000..(100 + length) * 1_000_000));
        let bed = Simulated { absent, ..Simulated::with(carries(1.0, 100)) };
        let asked = BenchOptions {
            procedure: Procedure::Sweep { loads: vec![0.1, 0.2, 0.3], length: Duration::from_secs(1) },
            ..sweep(&[0.1])
        };
        let document = run(&asked, bed);
        assert_eq!(has_event(&document, "device-away"), is_away, "{:?}", document.events);
        let lost: f64 = document
            .results
            .iter()
            .filter(|result| result.quantity == "loss_ratio")
            .filter_map(|result| result.mean)
            .sum();
        let invalid = document.trials.iter().filter(|trial| trial.invalid.is_some()).count();
        assert_eq!((lost > 0.1, invalid), (!is_away, usize::from(is_away)), "{lost}");
    }
}

#[test]
fn an_outage_at_the_end_of_a_trial_is_an_event_and_none_of_it_is_loss() {
    for (from, is_away) in [(100, true), (400, true), (700, false)] {
        let document = run(&sweep(&[0.1, 0.2, 0.3]), absent(from, 2_000));
        assert_eq!(has_event(&document, "device-away"), is_away, "{:?}", document.events);
        let lost: u64 =
            document.trials.iter().filter(|trial| trial.invalid.is_none()).map(|trial| trial.lost).sum();
        assert_eq!((lost == 0, document.trials.len()), (is_away, if is_away { 4 } else { 3 }), "{from}");
    }
}

#[test]
fn a_tester_that_stands_still_hides_no_absence_and_makes_none() {
    // The tester stands still for 30 ms where the device is sound, and for some milliseconds while it is away.
    let still = [(60, 90), (520, 528)].map(|(from, to)| (1, from * MILLI..to * MILLI)).to_vec();
    for (from, to) in [(300, 900), (300, 2_000)] {
        let bed = Simulated { stands_still: still.clone(), ..absent(from, to) };
        let document = run(&sweep(&[0.1, 0.2, 0.3]), bed);
        assert_eq!(codes(&document), ["device-away", "trial-repeated"], "{:?}", document.events);
        let (from, _) = first_outage(&document);
        assert!(from.is_some_and(|from| (from - 0.3).abs() < 0.05), "{:?}", document.events);
        let away: Vec<bool> = document.trials.iter().map(|trial| trial.device_unreachable).collect();
        assert_eq!(away, [false, true, false, false]);
    }
    // What it drops unread for as long is a silence of its own making.
    let overflows = Some((1, 300 * MILLI..1_000 * MILLI));
    let document =
        run(&sweep(&[0.1, 0.2, 0.3]), Simulated { overflows, ..Simulated::with(carries(1.0, 100)) });
    assert_eq!(codes(&document), ["trial-repeated"], "{:?}", document.events);
    let is_named = matches!(
        &document.events[0].kind,
        BenchmarkEventKind::TrialRepeated { invalid: InvalidTrial::TesterDropped { loss } }
            if loss.dropped_frames > 0
    );
    assert!(is_named, "{:?}", document.events);
}

#[test]
fn an_absence_that_outlasts_its_trial_is_as_long_as_it_was() {
    // The last 300 ms of a trial, and until the fourth or the second frame that looks whether it forwards.
    for (answers_after, is_away) in [(5, true), (2, false)] {
        let bed = Simulated { answers_after, ..absent(700, 2_000) };
        let document = run(&sweep(&[0.1, 0.2, 0.3]), bed);
        assert_eq!(has_event(&document, "device-away"), is_away, "{:?}", document.events);
    }
}

#[test]
fn what_may_have_been_an_absence_when_nobody_looked_is_none_of_its_loss() {
    // The last 300 ms of a trial of a second, and somewhere in the time until the device is looked at again.
    for (unseen, expected) in [(0, "device-stalled"), (150, "device-stalled"), (250, "device-away")] {
        let bed = Simulated { unseen: Duration::from_millis(unseen), ..absent(700, 2_000) };
        let document = run(&sweep(&[0.1, 0.2, 0.3]), bed);
        assert_eq!(codes(&document)[0], expected, "{unseen}: {:?}", document.events);
        let lost: u64 =
            document.trials.iter().filter(|trial| trial.invalid.is_none()).map(|trial| trial.lost).sum();
        assert_eq!(lost == 0, expected == "device-away", "{unseen}: {lost}");
    }
}

#[test]
fn a_device_that_stands_still_and_loses_nothing_is_named() {
    // The host of a device that is virtual may have been away for less than half a second.
    for (to, held) in
        [(900, Some((0.7, false))), (600, Some((0.4, true))), (500, Some((0.3, true))), (350, None)]
    {
        let bed =
            Simulated { holds: Some((1, 200 * MILLI..to * MILLI)), ..Simulated::with(carries(1.0, 100)) };
        let document = run(&sweep(&[0.1, 0.2, 0.3]), bed);
        assert!(document.trials.iter().all(|trial| trial.lost == 0 && trial.invalid.is_none()));
        let Some((length, may_be_host)) = held else {
            assert!(document.events.is_empty(), "{:?}", document.events);
            continue;
        };
        let ([from, found], effect) = only_pause(&document);
        assert!((from - 0.2).abs() < 0.05 && (found - length).abs() < 0.005, "{from} {found}");
        assert!(
            matches!(effect, StallEffect::Latency { may_be_host: found, .. } if found == may_be_host),
            "{effect:?}"
        );
    }
}

#[test]
fn a_silence_that_is_no_absence_is_told_and_is_loss() {
    let document = run(&sweep(&[0.1, 0.2, 0.3]), absent(300, 550));
    let ([from, length], effect) = only_pause(&document);
    assert!((from - 0.3).abs() < 0.05 && (length - 0.25).abs() < 0.005, "{from} {length}");
    assert_eq!(effect, StallEffect::Loss { until_end: false, limit_ns: 500_000_000 });
    let lost: Vec<bool> = document.trials.iter().map(|trial| trial.lost > 100).collect();
    assert_eq!(lost, [false, true, false]);
    // Nor is what is lost between others that come.
    let document = run(&sweep(&[0.9]), Simulated::with(Device { noise: 0.5, ..carries(1.0, 100) }));
    assert!(document.events.is_empty(), "{:?}", document.events);
}

#[test]
fn what_a_full_device_gives_out_late_is_no_silence() {
    // Ten frames in a second, of which those after the fourth are not waited for.
    let flight = |last_out: i64| TrialTrace {
        streams: vec![StreamInfo {
            name: "a".into(),
            tos: 0,
            tag: UNTAGGED,
            overhead: 46,
            expect_drop: false,
        }],
        left: vec![
            (0..10).map(|n| SentFrame { due: n * 100 * MILLI, sent: n * 100 * MILLI, octets: 64 }).collect(),
        ],
        intended: vec![10],
        came: (0..4)
            .map(|n: i64| ReceivedFrame {
                received: if n == 3 { last_out * MILLI } else { n * 100 * MILLI + 1 },
                sent: n * 100 * MILLI,
                sequence: u32::try_from(n).unwrap(),
                stream: 0,
                octets: 64,
                tos: 0,
                tag: UNTAGGED,
                intact: true,
                comparable: true,
            })
            .collect(),
        length: Duration::from_secs(1),
        ..TrialTrace::default()
    };
    let prompt = figures(&flight(301)).tail.unwrap();
    assert_eq!((prompt.from, prompt.length), (Duration::from_millis(400), Duration::from_millis(500)));
    assert_eq!(prompt.frames, 6);
    assert_eq!(figures(&flight(801)).tail.map(|tail| tail.length), Some(Duration::ZERO));
    assert_eq!(figures(&flight(1_200)).tail, None);
}

#[test]
fn a_device_that_was_away_in_a_trial_is_brought_into_its_case_again() {
    let folder = tempfile::tempdir().unwrap();
    let set = |name: &str, bed: Simulated| {
        let file = folder.path().join(name);
        let command = Some(format!("echo set >> '{}'", file.display()));
        let cases = vec![Case { name: "classify".into(), command }];
        run(&BenchOptions { cases, ..sweep(&[0.1, 0.2, 0.3]) }, bed);
        std::fs::read_to_string(file).unwrap().lines().count()
    };
    assert_eq!(set("sound", Simulated::with(carries(1.0, 100))), 1);
    assert_eq!(set("within", absent(100, 700)), 2);
    assert_eq!(set("at the end", absent(300, 1_000)), 2);
    let reboots = Simulated { reboots: Some(1), ..Simulated::with(carries(1.0, 100)) };
    assert!(set("reboots", reboots) >= 2);
}

#[test]
fn a_link_that_the_device_took_from_the_tester_is_no_standstill_of_the_tester() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cases");
    let cases = vec![Case { name: "x".into(), command: Some(format!("echo set >> '{}'", file.display())) }];
    let asked = BenchOptions { cases, ..sweep(&[0.1, 0.2, 0.3]) };
    // What waited for the link leaves at once when it is back, and is more than the device holds; or nothing is lost at all.
    for holds in [20, 5_000] {
        let _ = std::fs::remove_file(&file);
        let still = vec![(1, 100 * MILLI..700 * MILLI)];
        let bed = Simulated { stands_still: still, ..Simulated::with(carries(1.0, holds)) };
        let document = run(&asked, Simulated { unplugged: Some(1), ..bed.clone() });
        assert_eq!(codes(&document), ["device-away", "trial-repeated"], "{:?}", document.events);
        let (from, outage) = first_outage(&document);
        assert!(from.is_some_and(|from| (from - 0.1).abs() < 0.05), "{from:?}");
        let is_found = matches!(
            outage,
            TrialOutage::LinkLost { port, link: LinkRecovery::InTrial { silence_ns } }
                if port == "a" && silence_ns.abs_diff(600 * MILLI) < 5_000_000
        );
        assert!(is_found, "{outage:?}");
        let away: Vec<bool> = document.trials.iter().map(|trial| trial.device_unreachable).collect();
        assert_eq!(away, [false, true, false, false]);
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 2, "the case is set again");
        // Where no link was lost, it is the tester that stood still.
        let _ = std::fs::remove_file(&file);
        let document = run(&asked, bed);
        assert!(!has_event(&document, "device-away"), "{:?}", document.events);
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
    }
}

#[test]
fn an_absence_is_counted_from_the_first_frame_that_did_not_come() {
    // It goes in the middle of a trial of a hundred seconds, and is there again as soon as somebody is patient.
    let procedure = Procedure::Sweep { loads: vec![0.01, 0.02], length: Duration::from_secs(100) };
    let bed = Simulated { reboots: Some(1), ..Simulated::with(carries(1.0, 100)) };
    let document = run(&BenchOptions { procedure, ..sweep(&[0.1]) }, bed);
    assert_eq!(codes(&document), ["device-away", "trial-repeated", "device-silent", "device-rebooted"]);
    let (from, _) = first_outage(&document);
    assert!(from.is_some_and(|from| (from - 50.0).abs() < 0.05), "{from:?}");
    // A simulated trial takes no time: by this host's clock the first frame that did not come has still to be sent.
    let last = &document.events[3].kind;
    assert!(matches!(last, BenchmarkEventKind::DeviceRebooted { away_ns } if *away_ns < 0), "{last:?}");
}

#[test]
fn what_was_gone_and_was_mended_is_finished_cleanly() {
    let asked = sweep(&[0.1, 0.2, 0.3, 0.4]);
    let gone = Simulated { reboots: Some(2), gone: true, ..Simulated::with(carries(1.0, 100)) };
    let mut keeper = RecordingWatcher::default();
    let mut hand = Hand(&mut keeper.entries, &keeper.stop, None);
    assert!(run_on(gone, &asked, None, &keeper.stop, &mut hand).unwrap().partial);
    let past = Journal { started: std::time::SystemTime::now(), entries: keeper.entries };
    let mut hand = Hand(&mut Vec::new(), &keeper.stop, None);
    let sound = Simulated::with(carries(1.0, 100));
    let document = run_on(sound, &asked, Some(past), &keeper.stop, &mut hand).unwrap();
    assert!(!document.partial, "{:?}", document.events);
    assert!(has_event(&document, "device-gone") && has_event(&document, "resumed"));
    assert_eq!(document.trials.iter().filter(|trial| trial.invalid.is_none()).count(), 4);
}

#[test]
fn a_reset_that_fails_is_told_as_one() {
    let procedure = Procedure::Reset { load: 0.3, length: Duration::from_millis(10) };
    let reset = Some("echo no such host >&2; exit 3".into());
    let asked = BenchOptions { reset, ..options(procedure) };
    let stop = AtomicBool::new(false);
    let bed = Simulated::with(carries(1.0, 10));
    let error = run_on(bed, &asked, None, &stop, &mut Hand(&mut Vec::new(), &stop, None)).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("the device cannot be reset (--reset): ") && text.contains("no such host"),
        "{text}"
    );
    assert_eq!(error.exit(), Exit::Environment);
}

#[test]
fn sizes_that_are_not_what_was_asked_for_are_told() {
    let tcp = |name: &str, protocol| StreamOptions {
        name: name.into(),
        protocol,
        share: 0.5,
        ..StreamOptions::default()
    };
    let warned = |streams: Vec<StreamOptions>| {
        let mut asked = BenchOptions { frames: sizes(&[64, 68, 128]), streams, ..sweep(&[0.1]) };
        asked.fit_sizes();
        let document = run(&asked, Simulated::with(carries(1.0, 100)));
        let sizes: Vec<u32> = document.trials.iter().filter_map(|trial| trial.frame_size).collect();
        let of_sizes = document.warnings.into_iter().filter(|one| {
            use BenchmarkWarning::{FramesTooShort, StreamFramesTooShort};
            matches!(one, FramesTooShort { .. } | StreamFramesTooShort { .. })
        });
        (of_sizes.collect::<Vec<_>>(), sizes.into_iter().min())
    };
    assert_eq!(warned(vec![tcp("a", Protocol::Udp)]), (vec![], Some(64)));
    let (warnings, least) = warned(vec![tcp("a", Protocol::Tcp), tcp("b", Protocol::Tcp)]);
    assert_eq!((warnings.len(), least), (1, Some(76)), "{warnings:?}");
    let requested_bytes = vec![64, 68];
    assert_eq!(warnings[0], BenchmarkWarning::FramesTooShort { requested_bytes, sent_bytes: 76 });
    // Where only some streams need more, the trial's size is that of the others.
    let (warnings, least) = warned(vec![tcp("a", Protocol::Udp), tcp("b", Protocol::Tcp)]);
    assert_eq!((warnings.len(), least), (1, Some(64)), "{warnings:?}");
    let of_b = |warning: &BenchmarkWarning| match warning {
        BenchmarkWarning::StreamFramesTooShort { stream, requested_bytes: 64, .. } => stream == "b",
        _ => false,
    };
    assert!(of_b(&warnings[0]), "{warnings:?}");
    let own = StreamOptions { frames: sizes(&[64]).pop(), ..tcp("b", Protocol::Tcp) };
    let (warnings, _) = warned(vec![tcp("a", Protocol::Udp), own]);
    assert!(of_b(&warnings[0]), "{warnings:?}");
}

#[test]
fn of_a_case_of_which_no_trial_tells_anything_no_marking_is_known() {
    let claims = Claims { markings: vec![claimed(None, Field::CodePoint, "cs0=ef")], ..Claims::default() };
    let asked = BenchOptions { claims, ..sweep(&[0.1]) };
    let bed = Simulated { always_reboots: true, ..Simulated::with(carries(1.0, 100)) };
    let document = run(&asked, bed);
    let [open] = &document.verdicts[..] else { panic!("{:?}", document.verdicts) };
    assert!(open.passed.is_none() && open.observed.finding == ClaimFinding::NoConclusiveTrial, "{open:?}");
    assert_eq!(broken(&run(&asked, Simulated::with(carries(1.0, 100)))), ["code point cs0"]);
}

#[test]
fn a_device_that_forwards_nothing_is_told_with_the_addresses_that_each_stream_was_sent_to() {
    let destination =
        crate::options::AddressRange::new("198.19.0.66".parse().unwrap(), "198.19.0.69".parse().unwrap());
    let stream = |name: &str, destination| StreamOptions {
        name: name.into(),
        destination,
        share: 0.5,
        ..StreamOptions::default()
    };
    let told = |streams| {
        let asked = BenchOptions { streams, ..sweep(&[0.1]) };
        let stop = AtomicBool::new(false);
        let bed = Simulated { away: true, gone: true, ..Simulated::with(carries(1.0, 10)) };
        let error = run_on(bed, &asked, None, &stop, &mut Hand(&mut Vec::new(), &stop, None)).unwrap_err();
        assert_eq!(error.exit(), Exit::Unreachable);
        error.to_string()
    };
    let alone = told(vec![stream("a", destination)]);
    assert!(
        alone.contains("none came of 1 frames from 198.18.0.2 to 198.19.0.66-198.19.0.69; check"),
        "{alone}"
    );
    assert!(!alone.contains("198.19.0.2;"), "{alone}");
    let both = told(vec![stream("a", destination), stream("b", None)]);
    assert!(
        both.contains("of stream a from 198.18.0.2 to 198.19.0.66-198.19.0.69, nor of 1 frames of stream b from 198.18.0.2 to 198.19.0.2;"),
        "{both}"
    );
}

#[test]
fn a_stream_of_which_nothing_comes_while_another_lives_is_told_once_and_is_loss() {
    let stream = |name: &str| StreamOptions { name: name.into(), share: 0.5, ..StreamOptions::default() };
    let streams = vec![stream("voice"), stream("rest")];
    let asked = |procedure: BenchOptions| BenchOptions { streams: streams.clone(), ..procedure };
    let all = 0..2_000 * MILLI;
    let mute =
        |trials, times| Simulated { mute: Some((trials, 0, times)), ..Simulated::with(carries(1.0, 100)) };
    let told = |bed: Simulated| {
        let document = run(&asked(sweep(&[0.1, 0.2, 0.3, 0.4])), bed);
        let lost: Vec<u64> = document.trials.iter().map(|trial| trial.per_stream[0].lost).collect();
        let valid = document.trials.iter().all(|trial| trial.invalid.is_none());
        (document.events, lost, valid)
    };
    let silent = |event: &BenchmarkEvent| match &event.kind {
        BenchmarkEventKind::StreamSilent(silent) => Some(silent.clone()),
        _ => None,
    };
    let is_back =
        |event: &BenchmarkEvent| event.kind == BenchmarkEventKind::StreamBack { stream: "voice".into() };
    // Through two trials of four, and through the second half of one.
    let (events, lost, valid) = told(mute(1..3, all.clone()));
    let found = silent(&events[0]).unwrap();
    assert!(events.len() == 2 && is_back(&events[1]), "{events:?}");
    assert_eq!(
        (found.stream.as_str(), found.case.as_str(), found.frame_size),
        ("voice", "baseline", Some(128))
    );
    assert!(found.from_ns < 50 * MILLI && found.others_ratio > 0.999, "{found:?}");
    assert!(found.from_start && found.to_end && found.is_loss, "{found:?}");
    assert!(valid && lost[0] == 0 && lost[1] > 100 && lost[2] > 100 && lost[3] == 0, "{lost:?}");
    let (events, ..) = told(mute(1..2, 300 * MILLI..2_000 * MILLI));
    let found = silent(&events[0]).unwrap();
    assert!(found.from_ns.abs_diff(300 * MILLI) < 50_000_000 && !found.from_start, "{found:?}");
    assert!(is_back(&events[1]), "{events:?}");
    // A trial that tells nothing of the device tells of no stream to those that do.
    let stands_still = vec![(1, 100 * MILLI..400 * MILLI)];
    let (events, ..) = told(Simulated { stands_still, ..mute(1..3, all.clone()) });
    let again = events.iter().filter(|event| matches!(event.kind, BenchmarkEventKind::TrialRepeated { .. }));
    let counted = events.iter().filter_map(silent).filter(|silent| silent.is_loss);
    assert_eq!((again.count(), counted.count()), (1, 1), "{events:?}");
    // For a moment only, or with the whole device.
    assert!(told(mute(1..2, 300 * MILLI..600 * MILLI)).0.is_empty());
    let (events, ..) = told(absent(100, 700));
    assert!(events.iter().all(|event| silent(event).is_none() && !is_back(event)), "{events:?}");
}

#[test]
fn a_class_that_is_owed_nothing_is_silent_as_it_is_to_be() {
    use romer_method::priority::Discipline;

    let stream = |name: &str| StreamOptions { name: name.into(), share: 0.5, ..StreamOptions::default() };
    let asked = |capacity| BenchOptions {
        streams: vec![stream("first"), stream("last")],
        claims: Claims { scheduler: Some((Discipline::Strict, capacity)), ..Claims::default() },
        ..sweep(&[0.8])
    };
    let bed = || Simulated { mute: Some((0..1, 1, 0..2_000 * MILLI)), ..Simulated::with(carries(1.0, 100)) };
    // Of 6.9 Mbit/s each class has a half.
    assert_eq!(codes(&run(&asked(3e6), bed())), Vec::<String>::new());
    assert_eq!(codes(&run(&asked(6e6), bed())), ["stream-silent"]);
}

#[test]
fn where_no_long_frame_comes_the_devices_mtu_is_named() {
    let warned = |dropped: u32| {
        let device = Device { drops_size: Some(dropped), ..carries(1.0, 100) };
        let asked = BenchOptions { frames: sizes(&[64, 512, 1_518]), ..sweep(&[0.1, 0.2]) };
        let document = run(&asked, Simulated::with(device));
        document.warnings.into_iter().find(|one| matches!(one, BenchmarkWarning::LongFramesLost { .. }))
    };
    let long = BenchmarkWarning::LongFramesLost { lost_bytes: 1_518, arrived_bytes: 512, mtu_bytes: 1_500 };
    assert_eq!(warned(1_518), Some(long));
    assert_eq!(warned(512), None, "longer ones come");
}

/// A port that was switched off and on again within a trial costs that trial, and is not the device's absence.
#[test]
fn port_switched_off_in_trial() {
    let still = vec![(1, 100 * MILLI..700 * MILLI)];
    let bed = Simulated { stands_still: still, ..Simulated::with(carries(1.0, 100)) };
    let document =
        run(&sweep(&[0.1, 0.2, 0.3]), Simulated { unplugged: Some(1), switched_off: Some(1), ..bed });
    assert_eq!(codes(&document), ["port-down-in-trial", "trial-repeated"], "{:?}", document.events);
    let why: Vec<Option<InvalidTrial>> = document.trials.iter().map(|trial| trial.invalid.clone()).collect();
    let off = InvalidTrial::PortDown { port: "a".into(), after: None };
    assert_eq!(why, [None, Some(off), None, None]);
    assert!(document.trials.iter().all(|trial| !trial.device_unreachable));
}

/// Where nothing comes before the first trial, the tester's own ports are looked at once more.
#[test]
fn start_check_names_own_port() {
    let stop = AtomicBool::new(false);
    let bed = Simulated { removed_while_looking: true, ..Simulated::with(carries(1.0, 100)) };
    let error =
        run_on(bed, &sweep(&[0.1]), None, &stop, &mut Hand(&mut Vec::new(), &stop, None)).unwrap_err();
    assert!(error.to_string().starts_with("the tester's port a was removed"), "{error}");
}

/// A port that was switched off on this host is waited for, named, and never the device's absence; one that was renamed ends the benchmark.
#[test]
fn own_port_down_is_no_absence() {
    let asked = BenchOptions { patience: Duration::from_millis(150), ..sweep(&[0.1, 0.2, 0.3]) };
    for (state, told) in [
        (PortState::Down, "the tester's port a is down on this host"),
        (PortState::Renamed { name: "x".into() }, "the tester's port a was renamed to x"),
        (PortState::Gone, "the tester's port a was removed"),
    ] {
        let waits = state.may_pass();
        let bed = |from| Simulated {
            port_state: Some((from, state.clone())),
            ..Simulated::with(carries(1.0, 100))
        };
        // It happens in the second trial.
        let document = run(&asked, bed(2));
        let expected: &[&str] = if waits {
            &["trial-repeated", "port-down", "port-gone"]
        } else {
            &["trial-repeated", "port-gone"]
        };
        assert_eq!(codes(&document), expected, "{:?}", document.events);
        assert!(
            document.partial && document.events.iter().all(|event| event.text().contains(told)),
            "{:?}",
            document.events
        );
        let last = document.trials.last().unwrap();
        assert!(!last.device_unreachable && why(last).contains(told), "{:?}", last.invalid);
        // Before the first trial it is an error that names it.
        let stop = AtomicBool::new(false);
        let error = run_on(bed(0), &asked, None, &stop, &mut Hand(&mut Vec::new(), &stop, None)).unwrap_err();
        assert!(error.to_string().starts_with(told) && error.exit() == Exit::Environment, "{error}");
    }
}
