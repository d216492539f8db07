//! A way whose queue is never empty beside one that has a floor: the clocks are told by that one.

use romer_clock::skew::{
    ChangeKind, ClockChange, Continuous, Estimate, Estimator, InTurn, Method, continuous, correct, state,
};
use romer_record::manifest::SkewRequest;
use romer_record::warning::MeasurementWarning;
use romer_sim::clocks::{Queue, Scenario, standard_scenarios};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Direction, Timestamp};

use crate::chances::Chances;
use crate::common::singleton;

const SEEDS: core::ops::RangeInclusive<u32> = 1..=20;

/// A play of a scenario, of which the packets of one direction wait in a queue that is never empty; and its truth, ppm.
fn estimate(scenario: &Scenario, full: Direction, seed: u32) -> (Estimate, f64) {
    let queue = Scenario { queue: Queue::NeverEmpty, mean: standard_scenarios()[5].mean, ..scenario.clone() };
    let (free, queue) = (scenario.play(seed), queue.play(seed));
    let mut estimator = Estimator::new(Method::Best, None);
    for (place, heading) in Direction::BOTH.into_iter().enumerate() {
        for probe in &(if heading == full { &queue } else { &free }).probes[place] {
            let stamps = (Timestamp::from_nanos(probe.departure_ns), Timestamp::from_nanos(probe.arrival_ns));
            estimator.push(heading, stamps.0, stamps.1);
        }
    }
    (estimator.estimate(), free.skew_ppm)
}

/// Before, such a run was refused. Of 20 intervals that hold with 95 % each, fewer than 16 do with a probability of 0.003.
#[test]
fn the_rate_is_told_by_the_direction_that_has_a_floor() {
    let scenarios = standard_scenarios();
    for (number, full) in
        [1, 3, 9, 11].into_iter().flat_map(|number| Direction::BOTH.map(|heading| (number, heading)))
    {
        let mut held = 0;
        for seed in SEEDS {
            let (found, truth) = estimate(&scenarios[number - 1], full, seed);
            let skew = found.skew.unwrap_or_else(|| panic!("S{number}, seed {seed}: {:?}", found.why_not));
            held += usize::from(skew.interval_ppm[0] <= truth && truth <= skew.interval_ppm[1]);
            let half = (skew.interval_ppm[1] - skew.interval_ppm[0]) / 2.0;
            assert!(half < 1.0, "S{number}, seed {seed}: an interval of {half} ppm either location");
            let moves = matches!(found.remarks.first(), Some(MeasurementWarning::SkewByOneDirection {
                direction, ..
            }) if *direction == full.into());
            assert!(moves, "S{number}, seed {seed}: {:?}", found.remarks);
        }
        assert!(held >= 16, "S{number}, full {}: {held} of 20 hold the truth", full.name());
    }
}

/// What the clock did, the full queue shows as well, and what the path did, it does not. Of 400 other plays of each, all steps and changes
/// of the path are told as what they were, and 395 slews (the others with a jump of a quarter of the size beside them, which was
/// none): of 40, more than three such have a probability of 0.002.
#[test]
fn the_full_queue_tells_whose_a_change_was() {
    let scenarios = standard_scenarios();
    let told = |number: usize, full: Direction, seed: u32| {
        let (found, _) = estimate(&scenarios[number - 1], full, seed);
        found.events.iter().map(|event| (event.kind, event.heading, event.size_ns)).collect::<Vec<_>>()
    };
    let is_one = |told: &[(ChangeKind, Option<Direction>, i64)], kind, heading, size: i64| matches!(told, [one] if (one.0, one.1) == (kind, heading) && (one.2 - size).abs() < 100_000);
    let mut slews = 0;
    for seed in SEEDS {
        for full in Direction::BOTH {
            let stepped = told(9, full, seed);
            assert!(
                is_one(&stepped, ChangeKind::ClockStep, None, 5_000_000),
                "seed {seed}, full {}: {stepped:?}",
                full.name()
            );
            slews += usize::from(is_one(&told(11, full, seed), ChangeKind::Slew, None, 1_000_000));
        }
        let longer = told(10, Direction::Reverse, seed);
        assert!(
            is_one(&longer, ChangeKind::PathChange, Some(Direction::Forward), 10_000_000),
            "seed {seed}: {longer:?}"
        );
    }
    assert!(slews >= 37, "{slews} of 40 slews are told as one");
}

#[test]
fn where_neither_has_a_floor_there_is_no_rate() {
    for seed in SEEDS {
        let scenario = &standard_scenarios()[5];
        let (found, _) = estimate(scenario, Direction::Forward, seed);
        assert!(found.skew.is_none() && found.remarks.is_empty(), "seed {seed}: {found:?}");
    }
}

/// A minute there and back, 20 ms apart, as packets: those forward wait in a queue that walks at random, of 10 ms at least, and are
/// told apart from the others by nothing but their stamps. The responder's clock is ahead by what `ahead` says of a moment. Gives the medians of
/// both ways, and what they are in truth, and by how much delays may be off, as is stated, milliseconds.
fn medians(seed: u32, ahead: impl Fn(f64) -> f64) -> Option<([(f64, f64); 2], f64)> {
    let mut chances = Chances::new(RandomStream::new(Seed([seed, 0x6675_6c6c, 0, 0, 0, 0]), [0, 0]));
    let (mut queue, mut free) = (40e-3_f64, 0.0_f64);
    let mut ways = [Vec::new(), Vec::new()];
    let mut truth = [Vec::new(), Vec::new()];
    for n in 0..3_000_u32 {
        let left = f64::from(n) * 0.02;
        // As good as normal: the sum of twelve.
        let step = (0..12).map(|_| chances.unit()).sum::<f64>() - 6.0;
        queue = (queue + 0.6e-3 * step).max(10e-3);
        let came = (left + 0.01 + queue + chances.exponential(1e-3)).max(free);
        free = came;
        let home = came + 0.012 + chances.exponential(0.3e-3);
        #[expect(clippy::cast_possible_truncation, reason = "a minute")]
        let at = |seconds: f64| (seconds * 1e9).round() as i64;
        let read = |time: f64| at(time * (1.0 + 20e-6) + 0.3 + ahead(time));
        ways[0].push(singleton(u64::from(n), at(left), read(came)));
        ways[1].push(singleton(u64::from(n), read(came), at(home)));
        for (truth, delay) in truth.iter_mut().zip([came - left, home - came]) {
            truth.push(delay * 1e3);
        }
    }
    let Continuous { estimate: found, singletons, .. } = continuous(&SkewRequest::default(), ways, &InTurn);
    // Now and then such a walk stays near some level.
    let clocks = found.events.iter().filter(|one| one.kind != ChangeKind::PathChange);
    if found.full != Some(Direction::Forward) || clocks.count() != 1 {
        return None;
    }
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2] - values[0]
    };
    let mut ways = singletons;
    let mut least = [None; 2];
    let medians = [0, 1].map(|way| {
        least[way] = correct(&mut ways[way], Direction::BOTH[way], &found, &InTurn);
        let told = ways[way].iter().filter_map(|one| Some(one.delay?.as_nanos() as f64 / 1e6));
        (middle(told.collect()), middle(std::mem::take(&mut truth[way])))
    });
    let clock = state(&SkewRequest::default(), &found, &ways[0], &ways[1], least).0;
    Some((medians, clock.delay_error_ns? / 1e6))
}

/// Where the least packet of a full queue lies near a change of the clock, it is the least all the same: delays were 13.5 ms too short, and one in eight
/// was 0. And a clock that was set back by about as much as there is between two packets puts none of either direction on its other side:
/// the whole direction was off by the step.
#[test]
fn delays_are_above_the_least_whatever_the_clock_did() {
    let mut plays = 0;
    for seed in 0..12 {
        let (at, size) = (8.0 + 4.0 * f64::from(seed), if seed % 2 == 0 { -18.84e-3 } else { 25e-3 });
        let slewed = medians(seed, |time| 3e-3 * ((time - at / 2.0) / 6.0).clamp(0.0, 1.0));
        let set = medians(seed, |time| if time >= at { size } else { 0.0 });
        for (what, told) in [("slewed", slewed), ("set", set)] {
            let Some((told, _)) = told else { continue };
            plays += 1;
            for ((told, truth), way) in told.into_iter().zip(Direction::BOTH) {
                // What is left are the two packets beside the least, and the slew's or the queue's part at a step.
                let spare = if way == Direction::Forward { 3.1 } else { 0.1 };
                assert!(
                    (told - truth).abs() < spare,
                    "seed {seed}, {what}, {}: {told}, not {truth}",
                    way.name()
                );
            }
        }
    }
    assert!(plays >= 14, "{plays} of 24 plays have a full queue and a change of the clock");
}

/// Where the least packet of a full queue lies beside a step it may be another's, and what packets beside a step are off by nobody sees: what is
/// stated holds it.
#[test]
fn what_delays_behind_a_full_queue_are_off_by_is_stated() {
    let (mut plays, mut missed) = (0, Vec::new());
    for seed in 100..140 {
        let at = 6.0 + 1.2 * f64::from(seed - 100);
        let size = if seed % 2 == 0 { -18.84e-3 } else { 25e-3 };
        let slewed = medians(seed, |time| 3e-3 * ((time - at) / 6.0).clamp(0.0, 1.0));
        let set = medians(seed, |time| if time >= at { size } else { 0.0 });
        for (what, told) in [("slewed", slewed), ("set", set)] {
            let Some((told, error)) = told else { continue };
            plays += 1;
            let off = told.into_iter().map(|(told, truth)| (told - truth).abs()).fold(0.0, f64::max);
            if off > error + 1e-3 {
                missed.push((seed, what, off, error));
            }
        }
    }
    assert!(plays >= 40, "{plays} of 80 plays have a full queue and a change of the clock");
    assert!(missed.len() <= 4, "{} of {plays}: {missed:?}", missed.len());
}

/// How a full queue stands, milliseconds, packet by packet: a sawtooth, as a sender makes it that fills a link and halves, or a walk at random.
fn full_queue(seed: u32, is_saw: bool, chances: &mut Chances) -> Vec<f64> {
    let (top, period) = (80.0 + 10.0 * f64::from(seed), 3.0 + 0.7 * f64::from(seed));
    let mut height = 40.0 + 4.0 * f64::from(seed);
    let each = (0..3_000).map(|_| {
        if is_saw {
            height += top * 0.01 / period * (0.2 + 1.6 * chances.unit());
            if height > top {
                height *= 0.55 + 0.2 * chances.unit();
            }
            height + chances.exponential(2.0)
        } else {
            let step = (0..12).map(|_| chances.unit()).sum::<f64>() - 6.0;
            height = (height + 0.6 * step).max(10.0);
            height + chances.exponential(1.0)
        }
    });
    each.collect()
}

/// What happens in a play at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Happens {
    /// The responder's clock is set ahead, or the sender's, milliseconds.
    Responder(f64),
    Sender(f64),
    /// The way without a queue becomes longer.
    Way(f64),
}

/// A minute there and back, 20 ms apart, of which the packets forward wait in a full queue: the estimate, and how many of their delays are off by more
/// than half of what happened.
fn behind_a_queue(seed: u32, is_saw: bool, at: f64, happens: Happens) -> (Estimate, usize) {
    let mut chances =
        Chances::new(RandomStream::new(Seed([seed, u32::from(is_saw), 0x7361_7721, 0, 0, 0]), [0, 0]));
    let queue = full_queue(seed, is_saw, &mut chances);
    let past = |time: f64, size: f64| if time > at { size / 1e3 } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, reason = "a minute")]
    let nanos = |seconds: f64| (seconds * 1e9).round() as i64;
    let there = |time: f64| {
        let set = if let Happens::Responder(size) = happens { past(time, size) } else { 0.0 };
        nanos(time * (1.0 - 30e-6) + 0.3 + set)
    };
    let here =
        |time: f64| nanos(time + if let Happens::Sender(size) = happens { past(time, size) } else { 0.0 });
    let mut free = 0.0_f64;
    let mut ways = [Vec::new(), Vec::new()];
    let mut truth = Vec::new();
    for (number, wait) in (0_u32..).zip(queue) {
        let left = f64::from(number) * 0.02 + 5e-6 * chances.unit();
        let came = (left + 0.01 + wait / 1e3).max(free + 1e-6);
        free = came;
        let longer = if let Happens::Way(size) = happens { past(came, size) } else { 0.0 };
        let home = came + 0.012 + longer + chances.exponential(0.4e-3);
        ways[0].push(singleton(u64::from(number), here(left), there(came)));
        ways[1].push(singleton(u64::from(number), there(came), here(home)));
        truth.push((came - left) * 1e3);
    }
    let Continuous { estimate: found, singletons: [mut forward, _], .. } =
        continuous(&SkewRequest::default(), ways, &InTurn);
    correct(&mut forward, Direction::Forward, &found, &InTurn);
    let mut off: Vec<f64> = forward
        .iter()
        .zip(truth)
        .filter_map(|(one, truth)| Some(one.delay?.as_nanos() as f64 / 1e6 - truth))
        .collect();
    let (Happens::Responder(size) | Happens::Sender(size) | Happens::Way(size)) = happens;
    off.sort_by(f64::total_cmp);
    let middle = off[off.len() / 2];
    (found, off.iter().filter(|off| (**off - middle).abs() > size.abs() / 2.0).count())
}

/// A queue that moves by much in a second moves by little in the time that a change is known to: of 24 steps behind such queues 3 were told as
/// a step (the rest as a change of the way), and of a change of the way none may be told as a clock's. What is not told is left open, as an event by itself. And
/// the step is put between the two packets where it belongs, whichever clock was set: of 24 that the queue hides two packets at the most are on
/// the wrong side.
#[test]
fn a_full_queue_that_moves_tells_whose_a_step_was_or_leaves_it_open() {
    let (mut told, mut wrong_side) = (0, 0);
    for seed in 0..6 {
        for is_saw in [true, false] {
            let (at, size) = (12.0 + 6.1 * f64::from(seed), 8.0 + 2.0 * f64::from(seed));
            for happens in [Happens::Responder(size), Happens::Sender(-size), Happens::Way(size)] {
                let (found, off) = behind_a_queue(seed, is_saw, at, happens);
                let play = format!("seed {seed}, saw {is_saw}, {happens:?}: {:?}", found.events);
                let beside = |one: &ClockChange| (one.at_ns as f64 / 1e9 - at).abs() < 1.0;
                let events: Vec<&ClockChange> = found.events.iter().filter(|one| beside(one)).collect();
                let [event] = events[..] else { panic!("{play}") };
                let is_clocks = !matches!(happens, Happens::Way(_));
                if event.may_be.is_some() {
                    // Then a delay may be off by it.
                    assert!(found.corrections[0].floor_error_ns > 0.9e6 * size, "{play}");
                    continue;
                }
                assert_eq!(event.kind == ChangeKind::ClockStep, is_clocks, "{play}");
                told += usize::from(is_clocks);
                wrong_side += if is_clocks { off } else { 0 };
            }
        }
    }
    assert!(told >= 20, "{told} of 24 steps are told");
    assert!(wrong_side <= 2, "{wrong_side} packets are on the wrong location of {told} steps");
}
