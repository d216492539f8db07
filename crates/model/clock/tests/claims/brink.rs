//! Steps of a clock so near an end of a run that a few cells hold all of what lies beyond them: they decide which delay is the least.

use romer_clock::skew::{ChangeKind, Continuous, Estimate, InTurn, Method, continuous, correct, state};
use romer_record::OneWaySingleton;
use romer_record::manifest::SkewRequest;
use romer_sim::clocks::{Play, Probe, Queue, Scenario, Wander};
use romer_units::Direction;
use romer_units::random::{RandomStream, Seed};

use crate::common::{self, singleton};

fn estimate(play: &Play) -> Estimate {
    common::estimate(Method::Best, play)
}

/// A few packets beside a step may be on the wrong side of it before the estimate is sharpened.
const FEW: usize = 5;

/// By how much more the median of a direction lies above its lowest delays than it does in truth, and by how much it may, nanoseconds.
/// `truth` is by how much a packet's way is longer than the least.
fn off(found: &Estimate, play: &Play, heading: Direction, truth: impl Fn(usize) -> f64) -> (f64, f64) {
    let probes = &play.probes[usize::from(heading == Direction::Reverse)];
    let correction = found.correction(heading);
    let above = |mut delays: Vec<f64>| {
        delays.sort_by(f64::total_cmp);
        delays[delays.len() / 2] - delays[FEW]
    };
    let told = probes.iter().map(|probe| {
        let here = if heading == Direction::Forward { probe.departure_ns } else { probe.arrival_ns };
        (probe.arrival_ns - probe.departure_ns - correction.at(here)) as f64
    });
    let told = above(told.collect());
    let error = probes.iter().map(|probe| correction.error_at(probe.departure_ns)).fold(0.0, f64::max);
    ((told - above((0..probes.len()).map(truth).collect())).abs(), error + 5_000.0)
}

/// Light delays, five minutes or one, set near an end.
fn set(length: f64, at: f64, size: f64) -> Scenario {
    let clock = Wander { steps: vec![(at, size)], ..Wander::default() };
    Scenario { length, mean: 0.3e-3, clock, ..Scenario::default() }
}

/// Of plays, how near an end, and of how much.
fn random_scenario(seed: u32, near: (f64, f64), length: f64) -> (f64, f64) {
    let block = RandomStream::new(Seed([seed, 0, 0, 0, 0, 0x6272_696e]), [1, 0]).block(1);
    let unit = |place: usize| f64::from(block[place]) / 4_294_967_296.0;
    let away = near.0 + unit(0) * (near.1 - near.0);
    let at = if seed.is_multiple_of(2) { away } else { length - away };
    let size = (0.003 + 0.027 * unit(1)) * if seed % 4 < 2 { 1.0 } else { -1.0 };
    (at, size)
}

/// Before, 31 of 40 other plays of five minutes were told, and 16 medians of 80 were off by the step.
#[test]
fn a_step_that_some_twenty_packets_show_is_told_wherever_it_lies() {
    for (length, near) in [(300.0, (0.5, 3.0)), (60.0, (0.4, 1.2))] {
        let mut told = 0;
        for seed in 1..=40 {
            let (at, size) = random_scenario(seed, near, length);
            let play = set(length, at, size).play(seed);
            let found = estimate(&play);
            let is_it = matches!(&found.events[..], [one] if one.kind == ChangeKind::ClockStep && one.may_be.is_none()
                && (one.size_ns as f64 - size * 1e9).abs() <= one.error_ns
                && (one.at_ns as f64 / 1e9 - 10.0 - at).abs() < 0.1);
            if !is_it {
                println!("{length} s, seed {seed}: {size} s at {at} s: {:?}", found.events);
            }
            told += usize::from(is_it);
            for heading in Direction::BOTH {
                let waited =
                    |number: usize| play.probes[usize::from(heading == Direction::Reverse)][number].waited_ns;
                let (off, most) = off(&found, &play, heading, waited);
                assert!(
                    off <= most,
                    "{length} s, seed {seed}, {}: off by {off} ns of {most}",
                    heading.name()
                );
            }
        }
        println!("{told} of 40 of {length} s");
        assert!(told >= 39, "{told} of 40 of {length} s");
    }
}

/// By how much single delays are off at the most, of either direction, and by how much they may.
fn most_off(play: &Play) -> ([f64; 2], f64) {
    let of = |probes: &[Probe]| -> Vec<OneWaySingleton> {
        (0..).zip(probes).map(|(n, one)| singleton(n, one.departure_ns, one.arrival_ns)).collect()
    };
    let singletons = play.probes.each_ref().map(|probes| of(probes));
    let request = SkewRequest::default();
    let Continuous { estimate: found, singletons: mut ways, .. } = continuous(&request, singletons, &InTurn);
    let least = [0, 1].map(|way| correct(&mut ways[way], Direction::BOTH[way], &found, &InTurn));
    let clock = state(&request, &found, &ways[0], &ways[1], least).0;
    let off = [0, 1].map(|way| {
        let probes = &play.probes[way];
        let least = probes.iter().map(|one| one.waited_ns).fold(f64::INFINITY, f64::min);
        let each = ways[way].iter().filter_map(|told| {
            let number = usize::try_from(told.sequence).ok()?;
            Some((told.delay?.as_nanos() as f64 - (probes[number].waited_ns - least)).abs())
        });
        each.fold(0.0, f64::max)
    });
    (off, clock.delay_error_ns.unwrap_or(f64::INFINITY))
}

/// Of 16 others of 120,000 packets each way, seven had delays that were off by the step, six of them up to 0.6 s beside it: what tells packets
/// apart looked for them so far from it that nothing was left towards the end. No packet is off by more than is stated, but for a microsecond.
#[test]
fn no_packet_of_a_long_run_is_on_the_wrong_side_of_a_step_near_its_end() {
    for seed in 1..=6 {
        let (at, size) = random_scenario(seed, (2.0, 12.0), 1_200.0);
        let play = Scenario { interval: 0.01, ..set(1_200.0, at, size) }.play(seed);
        let (off, error) = most_off(&play);
        for (off, heading) in off.into_iter().zip(Direction::BOTH) {
            assert!(off <= error + 1_000.0, "{seed}, {}: off by {off} ns of {error}", heading.name());
        }
    }
}

/// What packets wait in a queue that is never empty: its length walks.
fn walking(seed: u32, packets: usize) -> Vec<f64> {
    let stream = RandomStream::new(Seed([seed, 0, 0, 0, 0, 0x7761_6c6b]), [1, 0]);
    let (mut length, mut lengths) = (40e6, Vec::new());
    for block in (1..).map(|ordinal| stream.block(ordinal)) {
        for word in block {
            if lengths.len() == packets {
                return lengths;
            }
            length = f64::max(10e6, length + (f64::from(word) / 4_294_967_296.0 - 0.5) * 2e6);
            lengths.push(length);
        }
    }
    lengths
}

#[test]
#[expect(
    clippy::cast_possible_truncation,
    reason = "a wait of milliseconds is far within the range of whole nanoseconds"
)]
fn a_step_beside_a_full_queue_is_told_or_left_open() {
    let (mut told, mut open, mut wrong) = (0, 0, 0);
    for seed in 1..=40 {
        let (at, size) = random_scenario(seed, (0.3, 1.2), 60.0);
        let mut play = set(60.0, at, size).play(seed);
        let place = usize::from(seed.is_multiple_of(3));
        let lengths = walking(seed, play.probes[place].len());
        for (probe, length) in play.probes[place].iter_mut().zip(&lengths) {
            probe.arrival_ns += *length as i64;
        }
        let found = estimate(&play);
        let kinds: Vec<_> = found.events.iter().map(|one| (one.kind, one.may_be)).collect();
        match kinds[..] {
            [(ChangeKind::ClockStep, _)] => told += 1,
            [(ChangeKind::PathChange, Some(ChangeKind::ClockStep))] => open += 1,
            _ => println!(
                "seed {seed}: {size} s at {at} s, full {place}: {:?} {:?}",
                found.events, found.why_not
            ),
        }
        if found.skew.is_none() {
            continue;
        }
        for (direction, heading) in Direction::BOTH.into_iter().enumerate() {
            let waited = |number: usize| {
                play.probes[direction][number].waited_ns
                    + if direction == place { lengths[number] } else { 0.0 }
            };
            let (off, most) = off(&found, &play, heading, waited);
            if off > most {
                println!(
                    "seed {seed}, full {place}, {}: off by {off} ns of {most}: {size} s at {at} s, {:?}",
                    heading.name(),
                    found.events
                );
            }
            wrong += usize::from(off > most);
        }
    }
    println!("{told} told, {open} open, {wrong} medians off");
    assert!(told + open >= 36, "{told} told and {open} left open of 40");
    assert!(wrong <= 4, "{wrong} medians of 80 are off");
}

#[test]
fn no_change_is_invented_at_an_end() {
    let queues =
        [Queue::Exponential, Queue::Pareto(1.5), Queue::Bimodal, Queue::SingleServer(0.9), Queue::Diurnal];
    let mut invented = 0;
    for (seed, queue) in (1..=100_u32).zip(queues.into_iter().cycle()) {
        let (length, mean) = if seed.is_multiple_of(3) { (300.0, 0.3e-3) } else { (60.0, 2e-3) };
        let routes = if seed.is_multiple_of(4) { vec![(0.4 * length, 5e-3, 0.0)] } else { Vec::new() };
        let changes = routes.len();
        let found = estimate(&Scenario { length, mean, queue, routes, ..Scenario::default() }.play(seed));
        let near = found.events.iter().filter(|one| {
            let at = one.at_ns as f64 / 1e9 - 10.0;
            at < 0.1 * length || at > 0.9 * length
        });
        let near = near.count();
        if near > 0 || found.events.len() > changes {
            println!("seed {seed}, {queue:?}: {:?}", found.events);
        }
        invented += near;
    }
    assert_eq!(invented, 0);
}
