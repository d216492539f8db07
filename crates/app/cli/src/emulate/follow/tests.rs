//! Decisions about periods, and fits of made singletons that are applied and recorded.

use romer_emulate::model_fit::{self, FitInput};
use romer_emulate::offline;
use romer_emulate::{Arrival, Arrivals};
use romer_impair::{Headers, PortId};
use romer_record::Leaving;
use romer_units::Timestamp;
use romer_units::random::Seed;

use super::*;

const MS: Nanos = 1_000_000;

fn period(number: u64, measured: Result<char, Option<String>>) -> Period<char> {
    Period { number, measured }
}

/// Of what waits, the newest answered period is fitted and no older one; a period without answers is said in its turn.
#[test]
fn the_newest_answered_period_is_fitted() {
    let waiting = || vec![period(4, Err(None)), period(2, Ok('b')), period(3, Ok('c')), period(1, Ok('a'))];
    let skipped = [(1, Decision::Skip), (2, Decision::Skip)];
    let [first, second] = skipped;
    assert_eq!(
        decide(waiting(), 0),
        [first, second, (3, Decision::Fit('c')), (4, Decision::Unanswered(None))]
    );
    let late = decide(vec![period(2, Ok('b')), period(3, Err(Some("no answer".into())))], 3);
    assert_eq!(late, [(2, Decision::Skip), (3, Decision::Unanswered(Some("no answer".into())))]);
}

/// Periods keep their grid; those that passed while the host stood still are left out.
#[test]
fn periods_keep_their_grid() {
    let [second, every] = [1, 30].map(StdDuration::from_secs);
    let next = |elapsed| next_period(elapsed, every);
    assert_eq!([StdDuration::ZERO, second, every - second].map(next), [2, 2, 2]);
    assert_eq!([every, 2 * every + second, 10 * every].map(next), [3, 4, 12]);
}

/// A fit of a period of packets that all took so long in both directions.
fn modelled(number: u64, delay: Nanos) -> Modelled {
    let singleton = |sequence: u32| {
        let departure = i64::from(sequence) * 20 * MS;
        OneWaySingleton {
            sequence: sequence.into(),
            copy: 0,
            size: 44,
            fate: Fate::Arrived,
            departure: Some(Timestamp::from_nanos(departure)),
            arrival: Some(Timestamp::from_nanos(departure + delay)),
            delay: Some(Duration::from_nanos(delay)),
            ttl: None,
            tos: None,
            leaving: Leaving::UNKNOWN,
        }
    };
    let singletons: Vec<OneWaySingleton> = (0..200).map(singleton).collect();
    model_fit::model(&FitInput {
        run: "far",
        ways: [&singletons, &singletons],
        round_trip: &[],
        findings: &[],
        ordered: [true; 2],
        absolute: true,
        kind: ModelKind::Models,
        stem: &stem(number),
        year: 2026,
        only_udp: false,
        headers: Headers::default(),
        waiting: 2_000 * MS,
        allowed: 0,
    })
    .unwrap()
}

fn fit_of(modelled: &Modelled, number: u64) -> PeriodFit<'_> {
    PeriodFit { number, modelled, packets: 200, now: 1 }
}

/// The recorded timeline has the scenarios at the moments from which they held, and repeats their delays.
#[test]
fn recorded_timelines_repeat_the_refits() {
    let folder = tempfile::tempdir().unwrap();
    let start = "seed = [1, 2, 3, 4, 5, 6]\n[b_to_a.delay]\nfixed = \"1ms\"\n";
    let times = [2_123_456_789, 4_000_000_001];
    let mut applied = Vec::new();
    let apply = |opened: Opened| -> Result<(u64, Nanos), LiveError> {
        applied.push(opened);
        Ok((applied.len() as u64 + 1, times[applied.len() - 1]))
    };
    let recording = Some(Recording::new(folder.path(), start, "far \"x\""));
    let mut refitter = Refitter { apply, recording };
    let mut events = Vec::new();
    for (number, delay) in [(1, 10 * MS), (3, 30 * MS)] {
        let modelled = modelled(number, delay);
        assert!(refitter.refit(&fit_of(&modelled, number), &mut events).is_continue());
    }
    drop(refitter);
    let scenarios = ["scenario-001.toml", "scenario-003.toml"];
    for (place, event) in events.iter().enumerate() {
        let RefitEvent::Refitted { at_ns, revision, scenario, packets: 200, .. } = event else {
            panic!("{event:?}")
        };
        let expected = (times[place], place as u64 + 2, Some(scenarios[place]));
        assert_eq!((*at_ns, *revision, scenario.as_deref()), expected);
    }
    let opened = romer_emulate::open_scenario(&folder.path().join("scenario.toml")).unwrap();
    let config = &opened.scenario.config;
    assert_eq!(config.timeline.iter().map(|step| step.at).collect::<Vec<_>>(), times);
    for (step, applied) in config.timeline.iter().zip(&applied) {
        assert_eq!(step.setting, applied.scenario.config.base);
    }
    // The packets around each change.
    let arrivals = [0, times[0] - 1, times[0], times[1] - 1, times[1]];
    let packets = arrivals.map(|at| Arrival::new(at, PortId::A, 100));
    let arrivals = Arrivals { packets: packets.to_vec(), ..Arrivals::default() };
    let mut out = Vec::new();
    offline::run(&opened.scenario, &opened.text, Seed([1, 2, 3, 4, 5, 6]), &arrivals, &mut out).unwrap();
    let table = String::from_utf8(out).unwrap();
    let delays: Vec<&str> = table.lines().skip(1).map(|line| line.split(',').nth(8).unwrap()).collect();
    assert_eq!(delays, ["0", "0", "10000000", "10000000", "30000000"], "{table}");
}

/// Another scenario, applied by somebody else, remains; a scenario that does not fit into the buffer is left out; an emulation that has
/// ended has no more events.
#[test]
fn refused_refits_are_events() {
    let fit = modelled(1, 10 * MS);
    let outcome = |error: LiveError| {
        let mut error = Some(error);
        let apply = |_: Opened| -> Result<(u64, Nanos), LiveError> { Err(error.take().unwrap()) };
        let mut events = Vec::new();
        let next = Refitter { apply, recording: None }.refit(&fit_of(&fit, 1), &mut events);
        (next.is_break(), events.pop())
    };
    let (is_end, event) = outcome(LiveError::Stale { revision: 7 });
    assert_eq!((is_end, event), (true, Some(RefitEvent::Superseded { period: 1, at_ns: 1, revision: 7 })));
    let (is_end, event) = outcome(LiveError::Buffer { needed: 2, frames: 2, limit: 1, slots: 1 });
    assert!(!is_end && matches!(event, Some(RefitEvent::RefitFailed { period: 1, .. })), "{event:?}");
    assert_eq!(outcome(LiveError::Ended), (true, None));
}

/// A refit that cannot be saved is not applied, and is the last.
#[test]
fn unsaved_refits_are_not_applied() {
    let folder = tempfile::tempdir().unwrap();
    let apply = |_: Opened| -> Result<(u64, Nanos), LiveError> { panic!("it is not saved") };
    let recording = Some(Recording::new(&folder.path().join("gone"), "", "far"));
    let fit = modelled(1, 10 * MS);
    let mut events = Vec::new();
    let next = Refitter { apply, recording }.refit(&fit_of(&fit, 1), &mut events);
    assert!(matches!(next, ControlFlow::Break(Err(_))));
    assert!(
        matches!(&events[..], [RefitEvent::RefitFailed { error, .. }] if error.contains("gone")),
        "{events:?}"
    );
}
