//! What changes of the setting do, by the timeline and by the hand of a user, to packets that are inside.

use std::sync::Arc;

use romer_units::{Layer, Rate};

use crate::behaviour::{config, run};
use crate::chain::{Chain, DwellUnit};
use crate::config::Config;
use crate::config::{
    Delay, Discipline, Duplicate, Match, Model, Order, Path, RateLimit, TimelineStep, Variable,
};
use crate::distribution::DelayDistribution;
use crate::engine::{Admission, Engine, Limits};
use crate::loss_model::Decision;
use crate::nanos::Nanos;
use crate::packet::{Headers, Outcome, Packet, PortId};
use crate::regimes::Regimes;
use crate::trace::{Between, By, read_mahimahi, read_measurement};

const MS: Nanos = 1_000_000;
const UDP: u8 = 17;

/// The packets of port a at so many times 10 ms, and at `change` another configuration.
fn changed(before: Config, after: Config, change: Nanos, packets: u32) -> Vec<Outcome> {
    let mut engine = Engine::new(before, Limits::growing(), 0);
    let mut after = Some(after);
    let mut out = Vec::new();
    let headers = Headers { protocol: Some(UDP), ..Headers::default() };
    for number in 0..packets {
        let arrival = Nanos::from(number) * 10 * MS;
        if arrival >= change
            && let Some(after) = after.take()
        {
            out.extend(std::iter::from_fn(|| engine.poll(change)));
            engine.apply(after, change);
        }
        out.extend(std::iter::from_fn(|| engine.poll(arrival - 1)));
        engine.admit(&Packet { headers, ..Packet::new(number, PortId::A, 1_000, arrival) });
    }
    out.extend(std::iter::from_fn(|| engine.poll(Nanos::MAX)));
    assert_eq!(out.len(), packets as usize);
    out
}

fn mahimahi(text: &str) -> Path {
    Path { trace: Some(Arc::new(read_mahimahi(text).unwrap())), ..Path::default() }
}

fn fixed(fixed: Nanos) -> Path {
    Path { delay: Model::Plain(Delay { fixed, variable: None }), ..Path::default() }
}

fn rate(bits: u64) -> Path {
    let limit = RateLimit {
        limit: Rate::Bits(bits),
        layer: Layer::L2,
        queue: 1 << 30,
        discipline: Discipline::TailDrop,
    };
    Path { rate: Some(limit), ..Path::default() }
}

fn in_order(out: &[Outcome]) -> bool {
    out.windows(2).all(|pair| pair[0].ordinal < pair[1].ordinal && pair[0].time <= pair[1].time)
}

#[test]
fn a_recorded_link_goes_on_while_something_else_changes() {
    let before = config(mahimahi("7\n"));
    let mut after = before.clone();
    after.base.paths[1] = vec![Some(Arc::new(fixed(MS)))];
    let not_stall_affected = changed(before.clone(), before.clone(), Nanos::MAX, 400);
    assert_eq!(changed(before, after, 2_003 * MS, 400), not_stall_affected);
}

#[test]
fn a_step_from_one_recorded_link_to_another_uses_the_new_one_from_then_on() {
    let mut config_of = config(mahimahi("1000\n"));
    config_of.timeline = vec![TimelineStep { at: 2_000 * MS, setting: config(mahimahi("1\n")).base }];
    let (_, _, out) = run(config_of, (0..200).map(|n| n * 10 * MS));
    assert!(in_order(&out));
    // One opportunity takes some twenty frames of 64 octets: two come before the step, then one a millisecond.
    let moments: std::collections::BTreeSet<Nanos> = out.iter().map(|o| o.time).collect();
    assert!(moments.iter().all(|at| *at == 1_000 * MS || *at >= 2_000 * MS), "{moments:?}");
    assert!(moments.range(2_001 * MS..=2_010 * MS).count() >= 5, "{moments:?}");
}

#[test]
fn of_a_frame_that_is_being_sent_the_rest_goes_at_the_new_rate() {
    // 64 octets are 512 bits: 200 of them have gone after 2 s at 100 bit/s, and 312 go at 512 bit/s.
    let mut config_of = config(rate(100));
    config_of.timeline = vec![TimelineStep { at: 2_000 * MS, setting: config(rate(512)).base }];
    let (_, _, out) = run(config_of, [0, 0].into_iter());
    let left = 312 * 1_000_000_000 / 512;
    assert_eq!(out.iter().map(|o| o.time).collect::<Vec<_>>(), [2_000 * MS + left, 3_000 * MS + left]);
}

#[test]
fn what_waits_for_a_recorded_link_leaves_at_the_rate_that_takes_its_place() {
    // 1,000 octets at 800 kbit/s are 10 ms.
    let out = changed(config(mahimahi("100000\n")), config(rate(800_000)), 1_000 * MS, 150);
    assert!(in_order(&out));
    assert_eq!(out[0].time, 1_010 * MS);
    assert!(out.windows(2).all(|pair| pair[1].time - pair[0].time == 10 * MS));
}

#[test]
fn flows_that_come_and_go_leave_the_packets_in_order() {
    let plain = config(fixed(500 * MS));
    let mut flowing = plain.clone();
    flowing.flows = vec![Match { protocol: Some(UDP), ..Match::default() }];
    flowing.base.paths[0].push(Some(Arc::new(fixed(10 * MS))));
    assert!(in_order(&changed(plain.clone(), flowing.clone(), 1_000 * MS, 300)));
    flowing.base.paths[0][1] = Some(Arc::new(fixed(900 * MS)));
    assert!(in_order(&changed(flowing.clone(), plain, 1_000 * MS, 300)));
    // Out of a queue too.
    let mut slow = config(rate(400_000));
    slow.base.paths[0].push(None);
    flowing.base.paths[0][1] = Some(Arc::new(fixed(MS)));
    assert!(in_order(&changed(slow, flowing, 1_000 * MS, 300)));
}

#[test]
fn a_ramp_keeps_what_a_correlated_stage_remembers() {
    let copying = |probability| {
        let decision = Decision::Correlated { probability, correlation: 0.99 };
        config(Path { duplicate: Model::Plain(Duplicate { decision, delay: 0 }), ..Path::default() })
    };
    let mut config_of = copying(0.2);
    config_of.timeline = (1..1_000)
        .map(|n| TimelineStep { at: n * MS, setting: copying(0.2 + 1e-9 * n as f64).base })
        .collect();
    let (engine, _, out) = run(config_of, (0..100_000).map(|n| n * 10_000));
    let mut copied = vec![false; 100_000];
    out.iter().filter(|o| o.copy > 0).for_each(|o| copied[usize::try_from(o.ordinal).unwrap()] = true);
    // A run of copies ends with probability 0.8 (1 - 0.99) at each packet: some 160 runs, and one and a half times as
    // many, and more, if each of a thousand steps forgot. Their number has a deviation of some 13; 1e-6 is at 230.
    let runs = copied.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    assert!((90..230).contains(&runs), "{runs} runs, {} copies", engine.ledger(PortId::A).duplicates_created);
}

/// The delays asked for of packets of port a at these moments, each admitted so much later than it
/// came, after what was due by then and did not wait for arrivals.
fn delays_when_taken_up_late(config: Config, arrivals: &[Nanos], late: Nanos) -> Vec<(u64, u8, Nanos)> {
    let mut engine = Engine::new(config, Limits::growing(), 0);
    let mut out = Vec::new();
    for (number, &arrival) in (0..).zip(arrivals) {
        engine.set_received_until(PortId::A, arrival - 1);
        out.extend(std::iter::from_fn(|| engine.poll(arrival - 1 + late)));
        let admission = engine.admit(&Packet::new(number, PortId::A, 1_000, arrival));
        assert_eq!(admission.arrival, arrival, "nothing was decided too soon");
    }
    engine.set_received_until(PortId::A, Nanos::MAX);
    out.extend(std::iter::from_fn(|| engine.poll(Nanos::MAX)));
    let mut delays: Vec<_> = out.iter().map(|o| (o.ordinal, o.copy, o.requested)).collect();
    delays.sort_unstable();
    delays
}

#[test]
fn a_step_holds_for_what_arrived_from_its_moment_on_however_late_that_is_taken_up() {
    let ramp = |order, mean: f64| {
        let decision = Decision::Bernoulli { probability: 0.1 };
        let variable = Some(Variable::new(DelayDistribution::Exponential { mean }, None));
        config(Path {
            duplicate: Model::Plain(Duplicate { decision, delay: 0 }),
            delay: Model::Plain(Delay { fixed: MS, variable }),
            order,
            ..Path::default()
        })
    };
    for order in [Order::Exact, Order::Fifo, Order::Independent] {
        let mut config_of = ramp(order, 1e6);
        config_of.timeline = (1..1_000)
            .map(|n| TimelineStep { at: n * MS, setting: ramp(order, 1e6 + 1e4 * n as f64).base })
            .collect();
        config_of.repeat = Some(1_500 * MS);
        // With a gap of several rounds.
        let arrivals: Vec<Nanos> =
            (0..5_000).map(|n| n * MS / 3 + if n > 4_000 { 7_000 * MS } else { 0 }).collect();
        let wanted = delays_when_taken_up_late(config_of.clone(), &arrivals, 0);
        for late in [MS / 10, 2 * MS, 50 * MS] {
            assert!(
                delays_when_taken_up_late(config_of.clone(), &arrivals, late) == wanted,
                "{order:?}, {late} ns"
            );
        }
    }
}

/// Chains by time and repeated timelines take an idle time of 146 years in a bounded number of steps, and the fates
/// depend on arrivals alone.
#[test]
fn idle_time_is_skipped() {
    let chain = Chain::new(DwellUnit::Time, &[vec![0.5, 0.5], vec![0.3, 0.7]], &[1_000, 3_000], 0).unwrap();
    let states = [MS, 2 * MS].map(|fixed| Delay { fixed, variable: None });
    let path = |bits| {
        let delay = Model::Markov { chain: Arc::new(chain.clone()), states: Arc::new(states.clone()) };
        Path { delay, ..rate(bits) }
    };
    let mut config_of = config(path(1_000_000_000));
    config_of.timeline = vec![TimelineStep { at: 500, setting: config(path(10_000_000_000)).base }];
    config_of.repeat = Some(1_000);
    let arrivals: Vec<Nanos> = (0..62).map(|power| 1 << power).collect();
    let fates = |polls: Nanos| {
        let mut engine = Engine::new(config_of.clone(), Limits::growing(), 0);
        let mut out = Vec::new();
        let mut last = 0;
        for (number, &arrival) in (0..).zip(&arrivals) {
            for poll in 1..=polls {
                let at = last + (arrival - last) / polls * poll - 1;
                out.extend(std::iter::from_fn(|| engine.poll(at)));
            }
            engine.admit(&Packet::new(number, PortId::A, 1_000, arrival));
            last = arrival;
        }
        out.extend(std::iter::from_fn(|| engine.poll(Nanos::MAX)));
        out
    };
    let wanted = fates(1);
    assert_eq!(wanted.len(), arrivals.len());
    assert_eq!(fates(3), wanted);
    assert_eq!(fates(100), wanted);
}

/// A timeline under which no packet ever leaves does not occupy its thread, and its packets are still there when another
/// setting comes.
#[test]
fn stalled_queues_wait() {
    let mut config_of = config(mahimahi("1000\n"));
    config_of.timeline = vec![TimelineStep { at: 500 * MS, setting: config(mahimahi("2000\n")).base }];
    config_of.repeat = Some(1_000 * MS);
    let mut engine = Engine::new(config_of, Limits::growing(), 0);
    let late = 1 << 61;
    for (number, arrival) in [(0, 0), (1, 400 * MS), (2, 10_000 * MS), (3, late)] {
        assert_eq!(engine.poll(arrival), None);
        engine.admit(&Packet::new(number, PortId::A, 1_000, arrival));
    }
    assert_eq!((engine.poll(late * 2 - 2), engine.held()), (None, 4));
    engine.apply(config(mahimahi("1\n")), late + MS);
    let out: Vec<Outcome> = std::iter::from_fn(|| engine.poll(Nanos::MAX)).collect();
    assert!(in_order(&out));
    assert_eq!((out.len(), engine.held()), (4, 0));
}

#[test]
fn a_step_leaves_what_arrived_before_it_even_where_a_copy_was_made_after_it() {
    // The copy of the first packet comes to the delay stage at 10 ms, the step is at 5 ms, and a packet of 4 ms is taken
    // up afterwards.
    let copying = |fixed| {
        let decision = Decision::Bernoulli { probability: 1.0 };
        config(Path {
            duplicate: Model::Plain(Duplicate { decision, delay: 10 * MS }),
            delay: Model::Plain(Delay { fixed, variable: None }),
            order: Order::Independent,
            ..Path::default()
        })
    };
    let mut config_of = copying(MS);
    config_of.timeline = vec![TimelineStep { at: 5 * MS, setting: copying(2 * MS).base }];
    let wanted = [(0, 0, MS), (0, 1, 2 * MS), (1, 0, MS), (1, 1, 2 * MS)];
    assert_eq!(delays_when_taken_up_late(config_of, &[0, 4 * MS], 7 * MS), wanted);
}

/// One UDP flow, a packet of 204 octets a millisecond for 150 ms, and these configurations at these moments.
fn through(first: Config, changes: &[(Nanos, Config)]) -> Vec<Outcome> {
    let mut engine = Engine::new(first, Limits::growing(), 0);
    let mut changes = changes.iter().peekable();
    let mut out = Vec::new();
    let headers = Headers { protocol: Some(UDP), ..Headers::default() };
    for number in 0..150_u32 {
        let arrival = Nanos::from(number) * MS;
        while let Some((at, config)) = changes.next_if(|(at, _)| *at <= arrival) {
            out.extend(std::iter::from_fn(|| engine.poll(*at)));
            engine.apply(config.clone(), *at);
        }
        out.extend(std::iter::from_fn(|| engine.poll(arrival - 1)));
        engine.admit(&Packet { headers, ..Packet::new(number, PortId::A, 204, arrival) });
    }
    out.extend(std::iter::from_fn(|| engine.poll(Nanos::MAX)));
    assert_eq!((out.len(), engine.held()), (150, 0));
    out
}

/// A path for UDP besides that of the others.
fn with_flow(others: Path, own: Option<Path>) -> Config {
    let mut config_of = config(others);
    config_of.flows = vec![Match { protocol: Some(UDP), ..Match::default() }];
    config_of.base.paths[0].push(own.map(Arc::new));
    config_of
}

/// Half a megabit a second behind a delay: a packet of 204 octets takes 3.264 ms.
fn slow(delay: Nanos) -> Path {
    Path { rate: rate(500_000).rate, ..fixed(delay) }
}

#[test]
fn a_flow_keeps_its_order_whatever_changes_and_whenever() {
    let plain = config(fixed(25 * MS));
    let quick = || Some(fixed(4 * MS));
    let flow = with_flow(fixed(25 * MS), quick());
    for (name, first, changes) in [
        ("a flow comes", plain.clone(), vec![(60, flow.clone())]),
        ("a rate comes", plain.clone(), vec![(60, config(slow(0)))]),
        (
            "a flow comes, then a rate for both",
            plain.clone(),
            vec![(60, flow.clone()), (68, with_flow(slow(0), Some(slow(0))))],
        ),
        (
            "a flow comes, then goes with a rate",
            plain.clone(),
            vec![(60, flow.clone()), (68, config(slow(0)))],
        ),
        (
            "a flow comes, then a rate for those before it",
            plain.clone(),
            vec![(60, flow.clone()), (68, with_flow(slow(0), quick()))],
        ),
        ("a flow and a rate come at once", plain, vec![(60, with_flow(slow(0), quick()))]),
        (
            "a flow comes where delay and rate were",
            config(slow(25 * MS)),
            vec![(60, with_flow(slow(25 * MS), quick()))],
        ),
        ("a path comes for a flow", with_flow(fixed(25 * MS), None), vec![(60, flow.clone())]),
        (
            "the path of a flow goes",
            with_flow(fixed(4 * MS), Some(slow(25 * MS))),
            vec![(60, with_flow(fixed(4 * MS), None))],
        ),
        (
            "flows come and go while packets wait for each other",
            flow.clone(),
            vec![
                (60, config(slow(0))),
                (62, flow.clone()),
                (64, config(fixed(0))),
                (66, with_flow(fixed(0), Some(slow(MS)))),
                (68, config(fixed(0))),
            ],
        ),
    ] {
        let changes: Vec<_> = changes.into_iter().map(|(at, config)| (at * MS, config)).collect();
        assert!(in_order(&through(first, &changes)), "{name}");
    }
}

#[test]
fn a_flow_keeps_its_order_through_changes_drawn_at_random() {
    let mut state = 1_u64;
    let mut below = |number: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % number
    };
    let mut path = move || {
        let delay = |ms: u64| fixed(Nanos::try_from(ms).unwrap() * MS);
        match below(5) {
            0 => rate(300_000 + 100_000 * below(30)),
            1 => mahimahi("3\n5\n"),
            2 => Path { rate: rate(300_000 + 100_000 * below(30)).rate, ..delay(below(30)) },
            3 => Path {
                order: Order::Exact,
                delay: Model::Plain(Delay {
                    fixed: MS,
                    variable: Some(Variable::new(DelayDistribution::Exponential { mean: 5e6 }, None)),
                }),
                ..Path::default()
            },
            _ => delay(below(30)),
        }
    };
    for round in 0..300_u32 {
        let mut config_of = |number: u32| match number % 4 {
            0 => config(path()),
            1 => with_flow(path(), Some(path())),
            2 => with_flow(path(), None),
            _ => {
                let mut config_of = with_flow(path(), None);
                config_of.flows.push(Match { protocol: Some(UDP), ..Match::default() });
                config_of.flows[0].protocol = Some(6);
                config_of.base.paths[0].push(Some(Arc::new(path())));
                config_of
            }
        };
        let first = config_of(round);
        let gap = Nanos::from(round % 13 + 1) * MS;
        let changes: Vec<_> =
            (1..10).map(|n: u32| (Nanos::from(n) * gap, config_of(n * (1 + round % 3) + round))).collect();
        let out = through(first, &changes);
        assert!(in_order(&out), "round {round}");
        assert!(
            out.iter().all(|o| o.entered + o.requested <= o.released && o.released <= o.time),
            "round {round}"
        );
    }
}

#[test]
fn what_takes_another_path_goes_on_when_the_last_before_it_has_left_and_no_later() {
    // The packet of 59 ms would leave at 84 ms; at 68 ms the rate of its path changes, and it leaves later.
    let changes = [
        (60 * MS, with_flow(fixed(25 * MS), Some(fixed(4 * MS)))),
        (68 * MS, with_flow(slow(0), Some(fixed(4 * MS)))),
    ];
    let out = through(config(fixed(25 * MS)), &changes);
    let last = out[59].time;
    assert!(last > 85 * MS);
    // Those that would have left sooner have waited, and leave together; the next ones are as without a change.
    let meets = |o: &Outcome| o.released.max(o.arrival + 4 * MS) == o.time && !o.rated;
    assert!(out[60..].iter().all(meets));
    assert!(out[60..].iter().all(|o| o.time == last.max(o.arrival + 4 * MS)), "{last}");
}

/// What becomes of packets of port a at irregular moments, with these configurations at these moments.
fn fates(first: Config, changes: &[(Nanos, Config)]) -> (Vec<Admission>, Vec<Outcome>) {
    let mut engine = Engine::new(first, Limits::growing(), 0);
    let mut changes = changes.iter().peekable();
    let (mut admitted, mut out) = (Vec::new(), Vec::new());
    for number in 0..6_000_u32 {
        let arrival = Nanos::from(number) * MS + Nanos::from(number * 7_919 % 1_000) * 900;
        while let Some((at, config)) = changes.next_if(|(at, _)| *at <= arrival) {
            out.extend(std::iter::from_fn(|| engine.poll(*at - 1)));
            engine.apply(config.clone(), *at);
        }
        out.extend(std::iter::from_fn(|| engine.poll(arrival - 1)));
        admitted.push(engine.admit(&Packet::new(number, PortId::A, 204, arrival)));
    }
    out.extend(std::iter::from_fn(|| engine.poll(Nanos::MAX)));
    (admitted, out)
}

/// A timeline whose steps are the configurations that were applied, at the same moments, repeats every fate: of the stages that a fit
/// of a measurement has.
#[test]
fn a_timeline_repeats_what_was_applied() {
    let delay = |mean: f64| {
        let variable = Variable::in_time(DelayDistribution::Exponential { mean }, 20 * MS);
        Model::Plain(Delay { fixed: MS, variable: Some(variable) })
    };
    let burst = |duration: Nanos| {
        let rows = [vec![0.9, 0.1], vec![0.2, 0.8]];
        let chain = Chain::new(DwellUnit::Time, &rows, &[duration, duration], 0).unwrap();
        let states = [0.0, 1.0].map(|probability| Decision::Bernoulli { probability });
        let loss = Model::Markov { chain: Arc::new(chain), states: Arc::new(states) };
        Path { loss, delay: delay(2e6), ..Path::default() }
    };
    let states = [MS, 30 * MS].map(|fixed| Arc::new(Path { delay: delay(5e6), ..self::fixed(fixed) }));
    let regimes = Regimes::new(10 * MS, &[vec![0.9, 0.1], vec![0.3, 0.7]], states.to_vec()).unwrap();
    let regimes = Path { regimes: Some(Arc::new(regimes)), ..Path::default() };
    let rows = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n0,44,0,9000000,,\n1,44,50000000,,,\n\
        2,44,80000000,90000000,,\n";
    let trace = read_measurement(rows, false, By::Time(Between::Linear), MS).unwrap();
    let trace = Path { trace: Some(Arc::new(trace)), order: Order::Fifo, ..Path::default() };
    let applied: Vec<(Nanos, Config)> =
        [burst(3 * MS), burst(7 * MS), fixed(20 * MS), regimes.clone(), trace, burst(5 * MS), regimes]
            .into_iter()
            .zip(1..)
            .map(|(path, n)| (n * 700 * MS + n * 123_457, config(path)))
            .collect();
    let mut replay = config(fixed(MS));
    let steps = applied.iter().map(|(at, config)| TimelineStep { at: *at, setting: config.base.clone() });
    replay.timeline = steps.collect();
    let wanted = fates(config(fixed(MS)), &applied);
    let lost = wanted.0.iter().filter(|admission| admission.lost.is_some()).count();
    assert!((200..3_000).contains(&lost), "{lost}");
    assert!(fates(replay, &[]) == wanted);
}

#[test]
fn what_keeps_no_order_waits_for_no_other_path() {
    let free = |delay| Path { order: Order::Independent, ..fixed(delay) };
    let out = through(config(slow(25 * MS)), &[(60 * MS, with_flow(slow(25 * MS), Some(free(4 * MS))))]);
    let of_flow: Vec<_> = out.iter().filter(|o| o.ordinal >= 60).collect();
    assert!(of_flow.len() == 90 && of_flow.iter().all(|o| o.time == o.arrival + 4 * MS));
}
