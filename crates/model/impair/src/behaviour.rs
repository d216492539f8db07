//! The claims of the models, on what the whole engine makes of a million packets.
#![expect(clippy::cast_possible_truncation, reason = "the tests' numbers are small")]

use std::sync::Arc;

use romer_units::random::Seed;
use romer_units::{Layer, Rate};

use crate::chain::{Chain, DwellUnit};
use crate::claims;
use crate::config::Config;
use crate::config::{
    Corrupt, DEFAULT_FLUSH, Delay, Discipline, Displacement, Duplicate, Model, Order, Path, RateLimit,
    Reorder, Setting, TimelineStep, Variable,
};
use crate::distribution::DelayDistribution;
use crate::engine::{Engine, Limits};
use crate::generator::Generator;
use crate::loss_model::Decision;
use crate::nanos::Nanos;
use crate::packet::{Cause, Outcome, Packet, PortId};
use crate::regimes::Regimes;

pub(crate) const MANY: u64 = 1_000_000;

pub(crate) fn config(path: Path) -> Config {
    let flush = if path.flush == 0 { DEFAULT_FLUSH } else { path.flush };
    let path = Some(Arc::new(Path { flush, ..path }));
    let base = Setting { paths: [vec![path.clone()], vec![path]] };
    Config { seed: Some(Seed([1, 2, 3, 4, 5, 6])), base, ..Config::default() }
}

fn packet(number: u64, port: PortId, arrival: Nanos) -> Packet {
    Packet::new(u32::try_from(number).unwrap(), port, 64, arrival)
}

/// Everything that becomes of packets at these moments, port a: what was lost at once, then what came out.
pub(crate) fn run(
    config: Config,
    arrivals: impl Iterator<Item = Nanos>,
) -> (Engine, Vec<bool>, Vec<Outcome>) {
    let mut engine = Engine::new(config, Limits::growing(), 0);
    let (mut lost, mut out) = (Vec::new(), Vec::new());
    for (number, arrival) in (0..).zip(arrivals) {
        while let Some(outcome) = engine.poll(arrival - 1) {
            out.push(outcome);
        }
        lost.push(engine.admit(&packet(number, PortId::A, arrival)).lost.is_some());
    }
    while let Some(outcome) = engine.poll(Nanos::MAX) {
        out.push(outcome);
    }
    assert!(engine.ledger(PortId::A).balances(), "{:?}", engine.ledger(PortId::A));
    assert_eq!(engine.ledger(PortId::A).queued, 0);
    (engine, lost, out)
}

pub(crate) fn every(gap: Nanos) -> impl Iterator<Item = Nanos> {
    (0..).map(move |n| n * gap)
}

fn lossy(decision: Decision) -> Vec<bool> {
    let path = Path { loss: Model::Plain(decision), ..Path::default() };
    run(config(path), every(1_000).take(MANY as usize)).1
}

fn ratio(flags: &[bool]) -> f64 {
    flags.iter().filter(|flag| **flag).count() as f64 / flags.len() as f64
}

fn autocorrelation(flags: &[bool], lag: usize) -> f64 {
    let mean = ratio(flags);
    let value = |flag: bool| f64::from(u8::from(flag)) - mean;
    let pairs: f64 = flags.iter().zip(&flags[lag..]).map(|(a, b)| value(*a) * value(*b)).sum();
    pairs / (flags.len() as f64 * mean * (1.0 - mean))
}

#[test]
fn bernoulli_loses_its_share_and_no_packet_knows_of_another() {
    for probability in [0.01, 0.3] {
        let lost = lossy(Decision::Bernoulli { probability });
        let count = lost.iter().filter(|lost| **lost).count() as u64;
        claims::binomial("lost", count, MANY, probability);
        // Ljung and Box over 50 lags: chi-squared with 50 degrees of freedom, 1e-6 at 118.
        let n = MANY as f64;
        let sum: f64 = (1..=50).map(|lag| autocorrelation(&lost, lag).powi(2) / (n - lag as f64)).sum();
        let statistic = n * (n + 2.0) * sum;
        assert!(statistic < 118.0, "{statistic}");
    }
}

#[test]
fn with_every_generator_loss_is_what_was_asked_for() {
    for generator in [Generator::Mrg, Generator::Mrg32k3a] {
        let path = Path { loss: Model::Plain(Decision::Bernoulli { probability: 0.05 }), ..Path::default() };
        let (engine, _, _) = run(Config { generator, ..config(path) }, every(10).take(200_000));
        claims::binomial("lost", engine.ledger(PortId::A).lost_for(Cause::Model), 200_000, 0.05);
    }
}

#[test]
fn correlated_loss_has_both_its_probability_and_its_correlation() {
    let (p, c) = (0.1, 0.25);
    let lost = lossy(Decision::Correlated { probability: p, correlation: c });
    let n = MANY as f64;
    // The variance of the mean of a chain of two states is that of independent trials times (1 + c)/(1 - c).
    claims::near("ratio", ratio(&lost), p, (p * (1.0 - p) / n * (1.0 + c) / (1.0 - c)).sqrt());
    for lag in 1..=4_i32 {
        // Bartlett's bound for a correlogram that falls geometrically, generously.
        let stddev = ((1.0 + c * c) / (1.0 - c * c) / n).sqrt() * 1.5;
        let found = autocorrelation(&lost, usize::try_from(lag).unwrap());
        claims::near("autocorrelation", found, c.powi(lag), stddev);
    }
}

#[test]
fn gilbert_and_elliott_lose_in_geometric_bursts() {
    let (p, r) = (0.01, 0.25);
    let lost = lossy(Decision::GilbertElliott { p, r, good: 0.0, bad: 1.0 });
    claims::near("ratio", ratio(&lost), 0.038_461_538, 4.98e-4);
    let mut bursts = [0_u64; 12];
    for run in lost.split(|lost| !lost).filter(|run| !run.is_empty()) {
        bursts[run.len().min(bursts.len()) - 1] += 1;
    }
    let all = bursts.iter().sum::<u64>() as f64;
    // Chi-squared with 11 degrees of freedom, 1e-6 at 50.6.
    let chi: f64 = (0..12)
        .map(|at| {
            let survives = (1.0 - r).powi(at);
            let expected = all * if at == 11 { survives } else { survives * r };
            (bursts[usize::try_from(at).unwrap()] as f64 - expected).powi(2) / expected
        })
        .sum();
    assert!(chi < 50.6, "{chi}: {bursts:?}");
}

#[test]
fn four_states_lose_their_share() {
    let model = Decision::FourState { p13: 0.01, p31: 0.3, p32: 0.1, p23: 0.5, p14: 0.001 };
    let pi = 1.0 / (1.0 + 0.001 + 0.01 / 0.3 + 0.01 * 0.1 / (0.3 * 0.5));
    let expected = pi * (0.01 / 0.3 + 0.001);
    assert!((model.ratio() - expected).abs() < 1e-12);
    let lost = lossy(model);
    // The deviation by batches of a thousand packets, which are as good as independent.
    let batches: Vec<f64> = lost.chunks(1_000).map(ratio).collect();
    let variance = batches.iter().map(|batch| (batch - expected).powi(2)).sum::<f64>() / 1e3;
    claims::near("ratio", ratio(&lost), expected, (variance / 1e3).sqrt());
}

#[test]
fn a_chain_by_time_duplicates_the_share_of_seed_002_done_right() {
    // Pham 2004, 6.2, its dwell a thousand times shorter: v = (9/11, 2/11), so 0.82 * 0.1 % + 0.18 = 18.26 %.
    let rows = [vec![0.8, 0.2], vec![0.9, 0.1]];
    let chain = Arc::new(Chain::new(DwellUnit::Time, &rows, &[5_000_000, 5_000_000], 0).unwrap());
    let state = |probability| Duplicate { decision: Decision::Bernoulli { probability }, delay: 0 };
    let duplicate = Model::Markov { chain, states: Arc::new([state(0.001), state(1.0)]) };
    let path = Path { duplicate, ..Path::default() };
    let (engine, _, _) = run(config(path), every(154_780).take(1_938_179));
    let share = engine.ledger(PortId::A).duplicates_created as f64 / 1_938_179.0;
    // 4.4 points in 300 s of the seed's dwell, so 4.4/sqrt(1000) here.
    claims::near("duplicated", share, 0.182_636, 0.044 / 1_000_f64.sqrt());
}

#[test]
fn a_chain_by_packets_delays_as_seed_002_done_right() {
    // Pham 2004, 6.1: v = (4/7, 3/7), of packets 8/11 and 3/11, so (8 * 20 + 3 * 50)/11 = 28.18 us; not 29.6.
    let rows = [vec![0.4, 0.6], vec![0.8, 0.2]];
    let chain = Arc::new(Chain::new(DwellUnit::Packets, &rows, &[200, 100], 0).unwrap());
    let state = |micros: i64| Delay { fixed: micros * 1_000, variable: None };
    let delay = Model::Markov { chain, states: Arc::new([state(20), state(50)]) };
    let (_, _, out) = run(config(Path { delay, ..Path::default() }), every(100_000).take(MANY as usize));
    assert!(out.iter().all(|o| [20_000, 50_000].contains(&o.requested) && o.time == o.arrival + o.requested));
    let mean = out.iter().map(|o| o.requested as f64).sum::<f64>() / MANY as f64;
    // 0.31 us in 100,000 packets.
    claims::near("mean delay", mean, 310_000.0 / 11.0, 310.0 / 10_f64.sqrt());
}

#[test]
fn a_copy_takes_its_own_delay_and_then_its_own_way() {
    let duplicate = Duplicate { decision: Decision::Bernoulli { probability: 1.0 }, delay: 70 };
    let law = DelayDistribution::Uniform { low: 0.0, high: 1e6 };
    let delay = Delay { fixed: 5, variable: Some(Variable::new(law, None)) };
    let path = Path {
        duplicate: Model::Plain(duplicate),
        delay: Model::Plain(delay),
        order: Order::Independent,
        ..Path::default()
    };
    let (engine, _, out) = run(config(path), every(10).take(1_000));
    assert_eq!(engine.ledger(PortId::A).duplicates_created, 1_000);
    assert!(out.iter().all(|o| o.time == o.entered + o.requested && o.requested >= 5));
    assert!(out.iter().all(|o| o.entered == o.arrival + 70 * i64::from(o.copy)));
    let mut by_ordinal = vec![[0; 2]; 1_000];
    out.iter().for_each(|o| by_ordinal[o.ordinal as usize][usize::from(o.copy)] = o.requested);
    assert!(by_ordinal.iter().filter(|pair| pair[0] == pair[1]).count() < 5, "delays are drawn apart");
}

/// Arrivals of four kinds, none of which depends on the delays.
fn patterns() -> Vec<(&'static str, Vec<Nanos>)> {
    let unit = |n: i64| {
        let stream = romer_units::random::RandomStream::new(Seed([7; 6]), [1, 1]);
        stream.unit(n.unsigned_abs())
    };
    let mut poisson = Vec::new();
    let mut at = 0;
    for n in 0..200_000 {
        at += (-100_000.0 * (1.0 - unit(n)).ln()) as Nanos;
        poisson.push(at);
    }
    let bursts = (0..200_000).map(|n| n / 20 * 2_000_000 + n % 20 * 6_720).collect();
    let on_off = (0..200_000).map(|n| n / 2_000 * 900_000_000 + n % 2_000 * 50_000).collect();
    vec![
        ("constant", every(100_000).take(200_000).collect()),
        ("poisson", poisson),
        ("bursts", bursts),
        ("on/off", on_off),
    ]
}

#[test]
fn exact_order_keeps_both_the_distribution_and_the_order_for_any_arrivals() {
    let laws = [
        DelayDistribution::Normal { mean: 5e7, stddev: 1e7 },
        DelayDistribution::Normal { mean: 5e6, stddev: 1e7 },
        DelayDistribution::Uniform { low: 1e7, high: 5e7 },
        DelayDistribution::Exponential { mean: 1e7 },
        DelayDistribution::Pareto { scale: 1e7, shape: 3.0 },
        DelayDistribution::Gamma { shape: 0.5, scale: 2e7 },
        DelayDistribution::Gamma { shape: 4.0, scale: 3e6 },
    ];
    for (name, arrivals) in patterns() {
        for law in &laws {
            let delay = Delay { fixed: 1_000, variable: Some(Variable::new(law.clone(), None)) };
            let path = Path { delay: Model::Plain(delay), ..Path::default() };
            let (engine, _, out) = run(config(path), arrivals.iter().copied());
            assert!(out.windows(2).all(|pair| pair[0].ordinal < pair[1].ordinal), "{name} {law:?}");
            assert!(out.iter().all(|o| o.time == o.arrival + o.requested), "{name} {law:?}: none waited");
            assert_eq!(engine.ledger(PortId::A).waited, 0);
            let effective = engine.correlation(PortId::A).unwrap().effective_values().unwrap();
            assert!(effective > 50.0, "{name} {law:?}: {effective} effective values");
            let sample: Vec<f64> = out.iter().map(|o| (o.requested - 1_000) as f64).collect();
            // The estimate of the effective number is good to a fifth or so: half of it leaves the claim sharp.
            claims::kolmogorov_of(sample, effective / 2.0, |x| law.share_up_to(x));
        }
    }
}

/// Delays that are a process in time have their law at any spacing, with every arrival in order and none waiting. A run holds a value for
/// each two correlation times or grids, so that a fourth of its length in these is below the number of independent ones.
#[test]
fn delays_in_time_keep_law_and_order() {
    let laws = [
        DelayDistribution::Normal { mean: 5e7, stddev: 5e6 },
        DelayDistribution::Normal { mean: 1e6, stddev: 2e6 },
        DelayDistribution::Exponential { mean: 3e6 },
        DelayDistribution::Gamma { shape: 0.5, scale: 1e7 },
        DelayDistribution::Empirical((0..=1_000).map(|n| f64::from(n * n) * 20.0).collect()),
    ];
    for (number, law) in laws.into_iter().enumerate() {
        for time in [10_000_000, 100_000_000] {
            let delay = Delay { fixed: 1_000, variable: Some(Variable::in_time(law.clone(), time)) };
            let path = Path { delay: Model::Plain(delay), ..Path::default() };
            let alike =
                time.max(4 * Variable::in_time(law.clone(), time).process().unwrap().slowest().unwrap_or(0));
            for spacing in [100_000, 1_000_000, 5_000_000, 20_000_000, 100_000_000] {
                let count = 50_000;
                let (engine, _, out) = run(config(path.clone()), every(spacing).take(count));
                let name = format!("law {number}, {time}, {spacing}");
                assert!(out.windows(2).all(|pair| pair[0].ordinal < pair[1].ordinal), "{name}");
                assert_eq!(engine.ledger(PortId::A).waited, 0, "{name}");
                let sample: Vec<f64> = out.iter().map(|o| (o.requested - 1_000) as f64).collect();
                let worth = (spacing * 50_000 / alike) as f64 / 4.0;
                claims::kolmogorov_of(sample, worth.min(count as f64), |x| law.share_up_to(x));
            }
        }
    }
}

/// The delay of a packet depends on its arrival alone: with half of the others gone, or a pause before it, it is the same.
#[test]
fn delays_in_time_ignore_other_packets() {
    let variable = Variable::in_time(DelayDistribution::Gamma { shape: 2.0, scale: 2e6 }, 50_000_000);
    let delay = Delay { fixed: 0, variable: Some(variable) };
    for order in [Order::Exact, Order::Fifo, Order::Independent] {
        let path = Path { delay: Model::Plain(delay.clone()), order, ..Path::default() };
        let delays = |step: usize, from: Nanos| -> std::collections::BTreeMap<Nanos, Nanos> {
            let arrivals = every(700_000).take(200_000).step_by(step).filter(|at| *at >= from);
            run(config(path.clone()), arrivals).2.iter().map(|o| (o.arrival, o.time - o.arrival)).collect()
        };
        let all = delays(1, 0);
        for (step, from) in [(2, 0), (97, 0), (1, 100_000_000_000)] {
            assert!(
                delays(step, from).iter().all(|(at, delay)| all[at] == *delay),
                "{order:?} {step} {from}"
            );
        }
    }
}

/// A direction with three regimes: 1 ms at 10 Mbit/s, 5 ms at 1 Mbit/s, and nothing passes.
fn three_regimes() -> Path {
    let state = |delay: Nanos, rate: u64, lost: f64| {
        let limit = Rate::Bits(rate);
        let rate = RateLimit { limit, layer: Layer::L2, queue: 1 << 20, discipline: Discipline::TailDrop };
        Arc::new(Path {
            loss: Model::Plain(Decision::Bernoulli { probability: lost }),
            delay: Model::Plain(Delay { fixed: delay, variable: None }),
            rate: Some(rate),
            ..Path::default()
        })
    };
    let states = vec![
        state(1_000_000, 10_000_000, 0.0),
        state(5_000_000, 1_000_000, 0.0),
        state(2_000_000, 1_000_000, 1.0),
    ];
    let rows = [vec![0.9, 0.06, 0.04], vec![0.1, 0.9, 0.0], vec![0.2, 0.0, 0.8]];
    let regimes = Regimes::new(10_000_000, &rows, states).unwrap();
    Path { regimes: Some(Arc::new(regimes)), ..Path::default() }
}

/// Loss, delay and rate of a packet are those of one regime, whatever other packets there are, and the regime changes for all at once.
#[test]
fn regimes_govern_all_stages() {
    let fates = |arrivals: &[Nanos]| {
        let (engine, lost, out) = run(config(three_regimes()), arrivals.iter().copied());
        assert!(out.windows(2).all(|pair| pair[0].ordinal < pair[1].ordinal));
        assert!(engine.ledger(PortId::A).balances());
        let mut fates: std::collections::BTreeMap<Nanos, Option<(Nanos, Nanos)>> =
            arrivals.iter().zip(lost).map(|(at, lost)| (*at, lost.then_some((0, 0)))).collect();
        for o in &out {
            fates.insert(o.arrival, Some((o.requested, o.time - o.released)));
        }
        fates
    };
    let all: Vec<Nanos> = every(3_000_000).take(50_000).collect();
    let fate_of_all = fates(&all);
    // Sending 64 octets takes 51.2 us at 10 Mbit/s. A packet of a slow regime may leave in the next one.
    let sending = |rate: i64| 64 * 8 * 1_000_000_000 / rate;
    let mut counts = [0_u64; 3];
    for fate in fate_of_all.values() {
        match fate.unwrap() {
            (0, _) => counts[2] += 1,
            (1_000_000, took) if took <= sending(10_000_000) => counts[0] += 1,
            (5_000_000, took) if took >= sending(10_000_000) => counts[1] += 1,
            (1_000_000, took) => assert!(took <= sending(1_000_000), "{took}"),
            other => panic!("{other:?}"),
        }
    }
    // Shares 5/9, 3/9 and 1/9, over 15,000 steps whose states are alike for some ten.
    for (count, share) in counts.into_iter().zip([5.0 / 9.0, 3.0 / 9.0, 1.0 / 9.0]) {
        let found = count as f64 / all.len() as f64;
        assert!((found - share).abs() < 0.08, "{found} for {share}");
    }
    let few: Vec<Nanos> = all.iter().copied().step_by(311).collect();
    assert!(fates(&few).iter().all(|(at, fate)| fate_of_all[at].unwrap().0 == fate.unwrap().0));
}

/// A backlog is served at the rate of each regime in turn: (5 * 10 + 4 * 1)/9 Mbit/s, to 15 %, which is five
/// times what some 1,000 changes leave open.
#[test]
fn a_backlog_is_served_at_the_regimes_rates() {
    let Some(regimes) = three_regimes().regimes else { panic!() };
    let states = regimes.states().iter().map(|state| {
        Arc::new(Path { loss: Model::default(), delay: Model::default(), ..Path::clone(state) })
    });
    let rows = [vec![0.9, 0.06, 0.04], vec![0.1, 0.9, 0.0], vec![0.2, 0.0, 0.8]];
    let regimes = Regimes::new(10_000_000, &rows, states.collect()).unwrap();
    let path = Path { regimes: Some(Arc::new(regimes)), ..Path::default() };
    // 64 octets every 50 us: 10.24 Mbit/s, more than any regime carries.
    let (_, _, out) = run(config(path), every(50_000).take(1_000_000));
    let sent = out.iter().filter(|o| o.lost.is_none() && o.time < 50_000_000_000).count() as f64;
    let rate = sent * 64.0 * 8.0 / 50.0;
    assert!((rate / 6e6 - 1.0).abs() < 0.15, "{rate}");
}

/// Spearman's correlation of values at a distance of `lag`.
fn spearman(sample: &[f64], lag: usize) -> f64 {
    let mut places: Vec<usize> = (0..sample.len()).collect();
    places.sort_by(|a, b| sample[*a].total_cmp(&sample[*b]));
    let mut rank = vec![0.0; sample.len()];
    places.iter().enumerate().for_each(|(r, at)| rank[*at] = r as f64 / sample.len() as f64 - 0.5);
    let pairs: f64 = rank.iter().zip(&rank[lag..]).map(|(a, b)| a * b).sum();
    pairs / sample.len() as f64 * 12.0
}

#[test]
fn exact_order_keeps_the_distribution_of_correlated_delays_and_their_correlation_where_gaps_allow_it() {
    let laws = [
        DelayDistribution::Normal { mean: 5e6, stddev: 1e6 },
        DelayDistribution::Uniform { low: 1e6, high: 5e6 },
        DelayDistribution::Exponential { mean: 1e6 },
        DelayDistribution::Empirical([1e6, 1e6, 2e6, 2e6, 2.5e6, 4e6].into()),
    ];
    for correlation in [-0.5, 0.8] {
        for law in &laws {
            let path = |order| {
                let delay = Delay { fixed: 0, variable: Some(Variable::new(law.clone(), Some(correlation))) };
                Path { delay: Model::Plain(delay), order, ..Path::default() }
            };
            for (name, arrivals) in &patterns()[1..3] {
                let (engine, _, out) = run(config(path(Order::Exact)), arrivals.iter().copied());
                assert!(out.windows(2).all(|pair| pair[0].ordinal < pair[1].ordinal), "{name} {law:?}");
                let sample: Vec<f64> = out.iter().map(|o| o.requested as f64).collect();
                let effective = engine.correlation(PortId::A).unwrap().effective_values().unwrap();
                if matches!(law, DelayDistribution::Empirical(_)) {
                    continue;
                }
                assert_eq!(engine.ledger(PortId::A).waited, 0, "{name} {law:?}");
                claims::kolmogorov_of(sample, effective / 4.0, |x| law.share_up_to(x));
            }
            // Packets so far apart that their order asks for nothing.
            let (_, _, out) = run(config(path(Order::Exact)), every(60_000_000).take(200_000));
            let exact: Vec<f64> = out.iter().map(|o| o.requested as f64).collect();
            let (_, _, mut out) = run(config(path(Order::Independent)), every(60_000_000).take(200_000));
            out.sort_by_key(|o| o.ordinal);
            let independent: Vec<f64> = out.iter().map(|o| o.requested as f64).collect();
            for lag in 1..=2 {
                let expected = spearman(&independent, lag);
                claims::near("Spearman", spearman(&exact, lag), expected, 0.006 * std::f64::consts::SQRT_2);
            }
        }
    }
}

#[test]
fn correlated_delays_in_exact_order_do_not_stay_in_a_tail() {
    // Steps from far out lead further than the gap, nearly always.
    for (correlation, seeds) in [(-0.6, 1..=30), (0.0, 1..=10)] {
        for gap in [10_000_000, 20_000_000] {
            for seed in seeds.clone() {
                let law = DelayDistribution::Exponential { mean: 5e6 };
                let delay = Delay { fixed: 0, variable: Some(Variable::new(law.clone(), Some(correlation))) };
                let path = Path { delay: Model::Plain(delay), ..Path::default() };
                let config = Config { seed: Some(Seed([seed, 2, 3, 4, 5, 6])), ..config(path) };
                let (engine, _, out) = run(config, every(gap).take(20_000));
                let delays: Vec<f64> = out.iter().map(|o| o.requested as f64).collect();
                let stay =
                    delays.chunk_by(|a, b| a.to_bits() == b.to_bits()).map(<[f64]>::len).max().unwrap();
                // A packet in 15 stays where it was, at the most: 40 in a row are none in 10^40.
                assert!(stay < 40, "{correlation} {gap} {seed}: {stay} in a row");
                let effective = engine.correlation(PortId::A).unwrap().effective_values().unwrap();
                assert!(effective > 300.0, "{correlation} {gap} {seed}: {effective}");
                claims::kolmogorov_of(delays, effective / 4.0, |x| law.share_up_to(x));
            }
        }
    }
}

#[test]
fn the_note_of_correlated_delays_says_from_which_gap_on_few_steps_are_refused() {
    let from = |law: DelayDistribution, correlation| {
        Variable::new(law, Some(correlation)).correlated_from().unwrap()
    };
    // Without correlation two exponential delays differ by an exponential length of the same mean.
    let exponential = from(DelayDistribution::Exponential { mean: 5e6 }, 0.0) / (-5e6 * 0.003_f64.ln());
    assert!((exponential - 1.0).abs() < 0.1, "{exponential}");
    // Normal ones by a normal length, beyond 2.968 deviations of which 0.003 lie.
    for correlation in [-0.6, 0.0, 0.9] {
        let normal = from(DelayDistribution::Normal { mean: 50e6, stddev: 1e6 }, correlation);
        let theory = 2.968e6 * (2.0 * (1.0 - correlation)).sqrt();
        assert!((normal / theory - 1.0).abs() < 0.1, "{correlation}: {normal} for {theory}");
    }
    assert!(from(DelayDistribution::Exponential { mean: 5e6 }, 1.0) < 1e-3);
}

#[test]
fn of_a_law_without_a_variance_nothing_tells_how_near_the_mean_is() {
    for (shape, order) in [(1.5, Order::Exact), (1.5, Order::Independent), (2.5, Order::Exact)] {
        let delay = Delay {
            fixed: 0,
            variable: Some(Variable::new(DelayDistribution::Pareto { scale: 1e6, shape }, None)),
        };
        let path = Path { delay: Model::Plain(delay), order, ..Path::default() };
        let (engine, _, _) = run(config(path), every(1_000_000).take(20_000));
        let noted = engine.correlation(PortId::A).unwrap();
        assert_eq!(noted.has_infinite_variance(), shape < 2.0);
        assert_eq!(noted.effective_values().is_none() && noted.spread().is_none(), shape < 2.0);
        assert_eq!(noted.effective_at_most(), None);
    }
}

#[test]
fn a_queue_over_independent_draws_is_what_exact_order_is_not() {
    // Facts of a simulation: Normal(50, 10) ms at 10,000 packets a second comes out with mean 71 ms.
    let law = DelayDistribution::Normal { mean: 5e7, stddev: 1e7 };
    let delay = Delay { fixed: 0, variable: Some(Variable::new(law, None)) };
    let path = Path { delay: Model::Plain(delay), order: Order::Fifo, ..Path::default() };
    let (engine, _, out) = run(config(path), every(100_000).take(MANY as usize));
    let mean = out.iter().map(|o| (o.time - o.arrival) as f64).sum::<f64>() / MANY as f64;
    assert!((70.5e6..72.0e6).contains(&mean), "{mean}");
    assert!(engine.ledger(PortId::A).waited > MANY / 2);
    assert!(out.windows(2).all(|pair| pair[0].ordinal < pair[1].ordinal));
}

#[test]
fn correlated_delay_has_its_law_and_spearmans_correlation() {
    let law = DelayDistribution::Exponential { mean: 1e6 };
    let delay = Delay { fixed: 0, variable: Some(Variable::new(law.clone(), Some(0.8))) };
    let path = Path { delay: Model::Plain(delay), order: Order::Independent, ..Path::default() };
    let (_, _, mut out) = run(config(path), every(10).take(200_000));
    out.sort_by_key(|o| o.ordinal);
    let sample: Vec<f64> = out.iter().map(|o| o.requested as f64).collect();
    // (1 - 0.8)/(1 + 0.8) of the values are worth as much as independent ones, for a mean of normal scores.
    claims::kolmogorov_of(sample.clone(), 200_000.0 / 9.0, |x| law.share_up_to(x));
    for lag in 1..=3_usize {
        let found = spearman(&sample, lag);
        let expected = crate::special_functions::spearman_of_normal(0.8_f64.powi(lag as i32));
        claims::near("Spearman", found, expected, 0.006);
    }
}

#[test]
fn a_rate_lets_nothing_leave_too_soon_and_loses_what_its_queue_cannot_hold() {
    let limit = Rate::Bits(10_000_000);
    for (layer, counted) in [(Layer::L1, 84), (Layer::L2, 64), (Layer::L3, 42)] {
        let rate = RateLimit { limit, layer, queue: 640, discipline: Discipline::TailDrop };
        let path = Path { rate: Some(rate), ..Path::default() };
        let mut engine = Engine::new(config(path), Limits::growing(), 0);
        for number in 0..100 {
            engine.admit(&Packet { network_length: 42, ..packet(number, PortId::A, 1_000) });
        }
        let out: Vec<Outcome> = std::iter::from_fn(|| engine.poll(Nanos::MAX)).collect();
        let sent: Vec<Nanos> = out.iter().filter(|o| o.lost.is_none()).map(|o| o.time).collect();
        let each = counted * 8 * 100;
        assert_eq!(sent, (1..=10).map(|n| 1_000 + n * each).collect::<Vec<_>>(), "{layer}");
        assert_eq!(engine.ledger(PortId::A).lost_for(Cause::Queue), 90);
    }
}

/// An opportunity of a mahimahi trace carries 1,500 octets of IP packets, by their own length.
#[test]
fn opportunities_count_ip_packets() {
    let trace = crate::trace::read_mahimahi("1\n").unwrap();
    let path = Path { trace: Some(Arc::new(trace)), ..Path::default() };
    let mut engine = Engine::new(config(path), Limits::growing(), 0);
    for number in 0..100 {
        engine.admit(&Packet { network_length: 42, ..packet(number, PortId::A, 1) });
    }
    let out: Vec<Outcome> = std::iter::from_fn(|| engine.poll(Nanos::MAX)).collect();
    let by = |ms: Nanos| out.iter().filter(|o| o.time <= ms * 1_000_000).count();
    // 35 of 42 octets fit 1,500, and 71 fit 3,000.
    assert_eq!([by(1), by(2), by(3)], [35, 71, 100]);
}

#[test]
fn a_fraction_of_a_nanosecond_is_not_lost_at_a_rate() {
    let rate = RateLimit {
        limit: Rate::Packets(148_809),
        layer: Layer::L2,
        queue: 1 << 40,
        discipline: Discipline::TailDrop,
    };
    let path = Path { rate: Some(rate), ..Path::default() };
    let (_, _, out) = run(config(path), (0..148_809).map(|_| 0));
    let last = out.last().unwrap().time;
    assert!((1_000_000_000..=1_000_000_001).contains(&last), "{last}");
}

#[test]
fn corrupted_packets_have_the_bits_that_were_asked_for() {
    let corrupt =
        Corrupt { decision: Decision::Bernoulli { probability: 0.1 }, bits: 3, repair_checksum: true };
    let (engine, _, out) = run(config(Path { corrupt, ..Path::default() }), every(10).take(100_000));
    claims::binomial("corrupted", engine.ledger(PortId::A).corrupted, 100_000, 0.1);
    for corruption in out.iter().filter_map(|o| o.corruption) {
        let mut bits: Vec<u32> = corruption.positions(46).collect();
        bits.sort_unstable();
        bits.dedup();
        assert_eq!(bits.len(), 3);
        assert!(bits.iter().all(|bit| *bit < 46 * 8) && corruption.repair_checksum);
    }
}

#[test]
fn fates_depend_on_seed_port_stage_and_ordinal_only() {
    let path = || Path {
        loss: Model::Plain(Decision::Bernoulli { probability: 0.1 }),
        delay: Model::Plain(Delay {
            fixed: 100,
            variable: Some(Variable::new(DelayDistribution::Exponential { mean: 1e5 }, None)),
        }),
        order: Order::Independent,
        ..Path::default()
    };
    let requested = |gap: Nanos, both: bool, reserve: usize| {
        let limits = Limits { held: 1 << 20, reserved: reserve };
        let mut engine = Engine::new(config(path()), limits, 0);
        let mut fates = vec![None; 20_000];
        for n in 0..20_000_u64 {
            let now = i64::try_from(n).unwrap() * gap;
            if both {
                engine.admit(&packet(n, PortId::B, now));
            }
            engine.admit(&packet(n, PortId::A, now));
            if n % 7 == 0 {
                while let Some(out) = engine.poll(now) {
                    if out.port == PortId::A {
                        fates[out.ordinal as usize] = Some(out.requested);
                    }
                }
            }
        }
        while let Some(out) = engine.poll(Nanos::MAX) {
            if out.port == PortId::A {
                fates[out.ordinal as usize] = Some(out.requested);
            }
        }
        fates
    };
    let alone = requested(1_000, false, 16);
    assert_eq!(alone, requested(3, true, 4_096), "other times, other traffic, other reserve: the same fates");
    assert!(alone.iter().any(Option::is_none) && alone.iter().any(Option::is_some));
}

#[test]
fn a_timeline_changes_settings_at_its_moments_and_keeps_order() {
    let fixed = |fixed| Path { delay: Model::Plain(Delay { fixed, variable: None }), ..Path::default() };
    let mut config_of = config(fixed(1_000));
    let step = |at, path: Path| TimelineStep { at, setting: config(path).base };
    config_of.timeline = vec![step(5_000, fixed(3_000)), step(8_000, fixed(500))];
    let (engine, _, out) = run(config_of, (0..20).map(|n| n * 500));
    for o in &out {
        let wanted = if o.arrival < 5_000 {
            1_000
        } else if o.arrival < 8_000 {
            3_000
        } else {
            500
        };
        assert_eq!(o.requested, wanted, "{o:?}");
    }
    assert!(out.windows(2).all(|pair| pair[0].ordinal < pair[1].ordinal), "in order over the changes");
    assert!(engine.ledger(PortId::A).waited > 0, "which cost some of them a wait");
}

pub(crate) mod properties {
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn paths() -> impl Strategy<Value = Path> {
        let probability = prop_oneof![Just(0.0), 0.0..1.0, Just(1.0)];
        (
            probability.clone(),
            probability.clone(),
            probability,
            0..5_000_i64,
            prop_oneof![Just(Order::Exact), Just(Order::Fifo), Just(Order::Independent)],
            prop_oneof![Just(None), (1_u64..1_000_000_000, 0..2_000_u64).prop_map(Some)],
            0..3_u8,
        )
            .prop_map(|(lose, copy, displace, delay, order, rate, discipline)| {
                let bernoulli = |probability| Decision::Bernoulli { probability };
                let variable = Some(Variable::new(DelayDistribution::Exponential { mean: 2_000.0 }, None));
                let discipline = match discipline {
                    0 => Discipline::TailDrop,
                    1 => Discipline::Red { low: 200, high: 800, probability: 0.1, weight: 0.1 },
                    _ => Discipline::CoDel { target: 1_000, interval: 5_000 },
                };
                Path {
                    loss: Model::Plain(bernoulli(lose)),
                    duplicate: Model::Plain(Duplicate { decision: bernoulli(copy), delay }),
                    reorder: Model::Plain(Reorder {
                        decision: bernoulli(displace),
                        displacement: Displacement::Normal { mean: 2.0, stddev: 2.0 },
                    }),
                    flush: 3_000,
                    delay: Model::Plain(Delay { fixed: delay, variable }),
                    order,
                    corrupt: Corrupt { decision: bernoulli(lose), bits: 1, repair_checksum: false },
                    rate: rate.map(|(bits, queue)| RateLimit {
                        limit: Rate::Bits(bits),
                        layer: Layer::L2,
                        queue,
                        discipline,
                    }),
                    trace: None,
                    regimes: None,
                }
            })
    }

    #[derive(Clone, Debug)]
    enum Act {
        Arrive { port: bool, after: Nanos },
        Poll { after: Nanos },
        Change(Box<Path>),
        Kernel(bool),
        Refuse,
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let act = prop_oneof![
            8 => (any::<bool>(), 0..3_000_i64).prop_map(|(port, after)| Act::Arrive { port, after }),
            4 => (0..5_000_i64).prop_map(|after| Act::Poll { after }),
            1 => paths().prop_map(|path| Act::Change(Box::new(path))),
            1 => any::<bool>().prop_map(Act::Kernel),
            1 => Just(Act::Refuse),
        ];
        proptest::collection::vec(act, 1..120)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        /// A live engine lets packets leave before earlier arrivals are admitted. Without a rate no fate depends on it: regimes with delays in time and
        /// losses of their own have the same fates and deadlines, whatever the arrivals and however far ahead the engine was polled.
        #[test]
        fn fates_in_time_ignore_polls(
            gaps in prop::collection::vec((prop_oneof![0..50_i64, 0..3_000_000_i64, 0..400_000_000_i64], 0..2_000_000_i64), 1..200),
            seed in 1..u32::MAX,
        ) {
            let law = DelayDistribution::Gamma { shape: 2.0, scale: 1e6 };
            let state = |fixed, probability| Arc::new(Path {
                loss: Model::Plain(Decision::Bernoulli { probability }),
                delay: Model::Plain(Delay { fixed, variable: Some(Variable::in_time(law.clone(), 20_000_000)) }),
                ..Path::default()
            });
            let rows = [vec![0.8, 0.2], vec![0.3, 0.7]];
            let regimes = Regimes::new(10_000_000, &rows, vec![state(0, 0.1), state(5_000_000, 0.4)]).unwrap();
            let config = Config {
                seed: Some(Seed([seed; 6])),
                ..config(Path { regimes: Some(Arc::new(regimes)), ..Path::default() })
            };
            let fates = |ahead: bool| {
                let mut engine = Engine::new(config.clone(), Limits::growing(), 0);
                let (mut at, mut lost, mut out) = (0, Vec::new(), std::collections::BTreeMap::new());
                for (number, (gap, early)) in (0..).zip(&gaps) {
                    at += gap;
                    while let Some(outcome) = engine.poll(if ahead { at + early } else { at - 1 }) {
                        out.insert(outcome.ordinal, outcome.time);
                    }
                    lost.push(engine.admit(&packet(number, PortId::A, at)).lost);
                }
                while let Some(outcome) = engine.poll(Nanos::MAX) {
                    out.insert(outcome.ordinal, outcome.time);
                }
                (lost, out)
            };
            prop_assert_eq!(fates(true), fates(false));
        }
    }

    proptest! {
        #[test]
        fn whatever_happens_the_ledger_balances_at_every_instant(path in paths(), acts in acts(), held in 1_usize..40) {
            let mut engine = Engine::new(config(path), Limits::fixed(held), 0);
            let (mut now, mut number) = (0, 0);
            // Outcomes still to come for each slot, which the caller counts to know when it is free.
            let mut owed = std::collections::BTreeMap::new();
            for act in acts {
                let settle = |out: &Outcome, owed: &mut std::collections::BTreeMap<u32, u16>| {
                    let left = owed.get_mut(&out.slot).expect("an outcome of a packet that was let in");
                    *left -= 1;
                };
                match act {
                    Act::Arrive { port, after } => {
                        now += after;
                        number += 1;
                        let port = if port { PortId::A } else { PortId::B };
                        let admission = engine.admit(&packet(number, port, now));
                        prop_assert_eq!(admission.lost.is_some(), admission.outcomes == 0);
                        owed.insert(u32::try_from(number).unwrap(), admission.outcomes);
                    }
                    Act::Poll { after } => {
                        now += after;
                        while let Some(out) = engine.poll(now) {
                            prop_assert!(out.time <= now && out.time >= out.arrival);
                            settle(&out, &mut owed);
                            prop_assert!(engine.ledger(out.port).balances());
                        }
                    }
                    Act::Change(path) => {
                        engine.apply(Config { seed: None, ..config(*path) }, now);
                    }
                    Act::Kernel(port) => {
                        engine.dropped_before(if port { PortId::A } else { PortId::B }, 3);
                    }
                    Act::Refuse => {
                        if let Some(out) = engine.poll(now) {
                            settle(&out, &mut owed);
                            engine.undelivered(&out, Cause::Undeliverable);
                        }
                    }
                }
                for port in PortId::BOTH {
                    prop_assert!(engine.ledger(port).balances(), "{:?}", engine.ledger(port));
                    prop_assert!(engine.held_for(port) <= held);
                    prop_assert_eq!(engine.ledger(port).queued, engine.held_for(port) as u64);
                }
            }
            while let Some(out) = engine.shut_down(now) {
                prop_assert_eq!(out.lost, Some(Cause::Shutdown));
                *owed.get_mut(&out.slot).unwrap() -= 1;
            }
            prop_assert!(owed.values().all(|left| *left == 0), "every outcome was given exactly once");
            for port in PortId::BOTH {
                prop_assert!(engine.ledger(port).balances() && engine.ledger(port).queued == 0);
            }
        }
    }
}
