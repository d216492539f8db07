//! A clock that is set while nothing is sent, or so far ahead that its moments have a hole: each packet is on its own side of the step.

use crate::common::singleton;
use romer_clock::skew::{ChangeKind, ClockChange, Estimate, InTurn, correct, usable};
use romer_record::OneWaySingleton;
use romer_record::manifest::SkewRequest;
use romer_units::Direction;
use romer_units::random::{RandomStream, Seed};

#[expect(clippy::cast_possible_truncation, reason = "an hour")]
fn nanos(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

/// What happens to the clocks in the middle of a run.
struct Set {
    /// Nothing is sent for so long, seconds.
    pause: f64,
    /// By how much the sender's and the responder's clock are set ahead a second before packets go on, or at once where there is no pause.
    sender: f64,
    responder: f64,
    rate: f64,
}

/// 1,000 packets 30 ms apart, over paths of 50 and 30 ms and behind exponential queues of 0.5 ms: the singletons of both directions, corrected.
fn play(seed: u32, set: &Set) -> (Estimate, [Vec<OneWaySingleton>; 2]) {
    const PACKETS: u32 = 1_000;
    let random = RandomStream::new(Seed([seed, 0x7061_7573, 0, 0, 0, 0]), [0, 0]);
    let mut drawn = 0;
    let mut wait = || {
        drawn += 1;
        -5e-4 * (1.0 - random.unit(drawn)).ln()
    };
    let left = |n: u32| 0.03 * f64::from(n) + if n >= PACKETS / 2 { set.pause } else { 0.0 };
    let from = left(PACKETS / 2) - if set.pause > 0.0 { 1.0 } else { 0.01 };
    let by_sender = |t: f64| t + if t >= from { set.sender } else { 0.0 };
    let by_responder = |t: f64| t + set.rate * t + if t >= from { set.responder } else { 0.0 };
    let mut singletons = [Vec::new(), Vec::new()];
    for n in 0..PACKETS {
        let sent = left(n);
        let came = sent + 0.05 + wait();
        let home = came + 0.03 + wait();
        singletons[0].push(singleton(n.into(), nanos(by_sender(sent)), nanos(by_responder(came))));
        singletons[1].push(singleton(n.into(), nanos(by_responder(came)), nanos(by_sender(home))));
    }
    let (found, _) = usable(&SkewRequest::default(), &singletons[0], &singletons[1], &InTurn);
    for (heading, singletons) in Direction::BOTH.into_iter().zip(&mut singletons) {
        correct(singletons, heading, &found, &InTurn);
    }
    (found, singletons)
}

/// The one step that is told, and that no packet took longer than any waited.
fn step(seed: u32, set: &Set) -> ClockChange {
    let (found, singletons) = play(seed, set);
    let [event] = found.events[..] else { panic!("{seed}: {:?}", found.events) };
    assert_eq!(event.kind, ChangeKind::ClockStep, "{seed}");
    for singletons in &singletons {
        let most = singletons.iter().filter_map(|one| one.delay).max().unwrap_or_default();
        assert!(most.as_nanos() < 100_000_000, "{seed}: {most}, {event:?}");
    }
    event
}

/// The size that is told is off by no more than it may be, and one in twenty by more.
fn off(event: &ClockChange, truth: f64) -> f64 {
    (event.size_ns as f64 - truth * 1e9).abs() / event.error_ns
}

/// (After five of six such pauses a step of the sender's clock took 5 s off a packet, and each was told up to 55 ms after the first that showed it.)
#[test]
fn no_packet_after_a_pause_is_taken_for_one_before_a_step_within_it() {
    for seed in 0..6 {
        for (sender, responder) in [(0.0, -5.0), (0.0, 5.0), (5.0, 0.0)] {
            let event = step(seed, &Set { pause: 2.0, sender, responder, rate: 20e-6 });
            let first = nanos(17.0 + sender);
            assert!((nanos(14.97)..=first).contains(&event.at_ns), "{seed}: {event:?}");
            assert!(off(&event, responder - sender) < 1.0, "{seed}: {event:?}");
        }
    }
}

/// (Ten seconds were off by 0.3 ms, at 30 ppm, and an hour by 111 ms, with a packet that was an hour too late.)
#[test]
fn a_sender_that_is_set_ahead_by_an_hour_loses_no_packet_and_is_told_without_the_skew() {
    for seed in 0..6 {
        for ahead in [10.0, 3_600.0] {
            let event = step(seed, &Set { pause: 0.0, sender: ahead, responder: 0.0, rate: 30e-6 });
            assert!(off(&event, -ahead) < 1.0, "{seed}: {event:?}");
        }
    }
}

/// A sender that is set by 0.1 s is 0.1 s and what the clocks drift apart in 0.1 s away from where it was, by the responder's clock: the interval of a
/// step that may be either's has both in it.
#[test]
fn the_size_of_a_step_is_known_no_better_than_whose_it_is() {
    for seed in 0..6 {
        for (sender, responder) in [(0.1, 0.0), (0.0, 0.1), (0.0, -0.02)] {
            let event = step(seed, &Set { pause: 0.0, sender, responder, rate: 4e-4 });
            let off = (event.size_ns as f64 - 1e9 * (responder - sender)).abs();
            assert!(off <= event.error_ns, "{seed}: {off}, {event:?}");
        }
    }
}
