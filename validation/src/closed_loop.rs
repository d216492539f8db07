//! The closed loop: paths are measured, modelled and emulated, and the emulated path is compared with the measured one at packet
//! spacings other than that of the probes. Pure computation: no packet is sent.
//!
//! The paths are made with the engine, and with recorded links in a folder. The measurement of each is 2 minutes of probes every 20 ms. The
//! model is what `romer model` makes of it. A path that is measured again at another spacing is in the same state at the same time.

mod claims;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use romer_emulate::model_fit::{FitInput, Fitted, ModelKind, model};
use romer_impair::{Config, Engine, Headers, Limits, Packet, PortId};
use romer_metrics::bootstrap::{Statistic, interval_of_difference, resampled};
use romer_metrics::{distances, wilson_interval};
use romer_record::{Fate, Leaving, OneWaySingleton};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Duration, Timestamp};
use serde::Serialize;

use crate::romer_runner::Interrupted;

const MILLI: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MILLI;
/// The measurement.
const MEASURED: i64 = 120 * SECOND;
const PROBE_SPACING: i64 = 20 * MILLI;
/// The emulated path is looked at for so many times as long at most, so that its own chance matters less, and for no more packets than
/// these. A whole number: a recording that is replayed repeats after the time of the measurement.
const MOST_TIMES: i64 = 10;
const MOST_PACKETS: i64 = 400_000;
/// Spacings at which both paths are compared.
pub(crate) const SPACINGS: [i64; 4] = [MILLI, 5 * MILLI, PROBE_SPACING, 100 * MILLI];
/// Octets of a probe's frame, and of one of other traffic. Probes weigh next to nothing, so that a path has the same load at each spacing.
const PROBE: u32 = 1;
const OTHER: u32 = 1_500;
/// Octets of payload of a probe, for the model.
const PAYLOAD: u32 = 18;
const SEED: Seed = Seed([1905, 6, 30, 39, 9, 26]);

/// Most difference of mean, median and 95 % quantile. The largest counts of these and of the difference that another measurement of the path
/// would show.
const MOST_RATIO: f64 = 0.05;
const MOST_NS: f64 = 1e6;
/// Most difference of the 99 % quantile, as a share of it.
const MOST_P99_RATIO: f64 = 0.15;
/// Most distance of the distributions, as a share of the measured one's spread; of recorded links twice as much.
const MOST_DISTANCE: f64 = 0.1;
/// Traffic besides the probes.
#[derive(Clone, Copy, Debug)]
struct Other {
    /// Between its packets while it is on.
    spacing: i64,
    /// Mean times for which it is on and off.
    on: f64,
    off: f64,
}

/// A path to be measured.
struct Kind {
    name: String,
    scenario: String,
    other: Option<Other>,
    recorded: bool,
}

const KINDS: [(&str, &str, Option<Other>); 12] = [
    ("constant", "[a_to_b.delay]\nfixed=\"30ms\"\n", None),
    (
        "normal, alike for 100 ms",
        "[a_to_b.delay]\nfixed=\"10ms\"\nvariable={model=\"correlated\", time=\"100ms\", distribution={model=\"normal\", mean=\"20ms\", stddev=\"2ms\"}}\n",
        None,
    ),
    (
        "gamma, alike for 50 ms",
        "[a_to_b.delay]\nfixed=\"20ms\"\nvariable={model=\"correlated\", time=\"50ms\", distribution={model=\"gamma\", shape=2, scale=\"2ms\"}}\n",
        None,
    ),
    (
        "gamma, alike for 1 s",
        "[a_to_b.delay]\nfixed=\"20ms\"\nvariable={model=\"correlated\", time=\"1s\", distribution={model=\"gamma\", shape=2, scale=\"5ms\"}}\n",
        None,
    ),
    (
        "exponential in order, 1 % lost",
        "[a_to_b.loss]\nprobability=0.01\n[a_to_b.delay]\nfixed=\"15ms\"\nvariable={model=\"exponential\", mean=\"3ms\"}\n",
        None,
    ),
    (
        "Pareto, alike for 200 ms",
        "[a_to_b.delay]\nfixed=\"15ms\"\nvariable={model=\"correlated\", time=\"200ms\", distribution={model=\"pareto\", scale=\"2ms\", shape=3}}\n",
        None,
    ),
    (
        "outages of 0.3 s",
        "[a_to_b.loss]\nmodel=\"markov\"\nstep=\"time\"\ntransition=[[0.95,0.05],[0.9,0.1]]\n\
         state=[{duration=\"200ms\", probability=0}, {duration=\"270ms\", probability=1}]\n[a_to_b.delay]\nfixed=\"25ms\"\n\
         variable={model=\"correlated\", time=\"100ms\", distribution={model=\"gamma\", shape=3, scale=\"1ms\"}}\n",
        None,
    ),
    (
        "good and bad radio",
        "[a_to_b.regimes]\nstep=\"100ms\"\ntransition=[[0.97,0.03],[0.06,0.94]]\nstate=[\n\
         {delay={fixed=\"8ms\", variable={model=\"correlated\", time=\"50ms\", distribution={model=\"gamma\", shape=2, scale=\"500us\"}}}},\n\
         {loss={probability=0.05}, delay={fixed=\"25ms\", variable={model=\"correlated\", time=\"100ms\", distribution={model=\"gamma\", shape=2, scale=\"4ms\"}}}}]\n",
        None,
    ),
    (
        "three routes",
        "[a_to_b.regimes]\nstep=\"500ms\"\ntransition=[[0.9,0.05,0.05],[0.1,0.9,0],[0.1,0,0.9]]\nstate=[\n\
         {delay={fixed=\"20ms\"}}, {delay={fixed=\"35ms\"}}, {loss={probability=0.02}, delay={fixed=\"50ms\"}}]\n",
        None,
    ),
    (
        "a bottleneck with bursts of traffic",
        "[a_to_b.delay]\nfixed=\"10ms\"\n[a_to_b.rate]\nlimit=\"10Mbit\"\nlayer=\"l2\"\nqueue={bytes=\"128KiB\"}\n",
        Some(Other { spacing: 900_000, on: 0.2, off: 0.5 }),
    ),
    (
        "a full bottleneck",
        "[a_to_b.delay]\nfixed=\"10ms\"\n[a_to_b.rate]\nlimit=\"5Mbit\"\nlayer=\"l2\"\nqueue={bytes=\"64KiB\"}\n",
        Some(Other { spacing: 2_000_000, on: 1.5, off: 1.0 }),
    ),
    (
        "a handover every 15 s",
        "[a_to_b.delay]\nfixed=\"25ms\"\nvariable={model=\"correlated\", time=\"200ms\", distribution={model=\"gamma\", shape=3, scale=\"2ms\"}}\n\
         [[timeline]]\nat=\"14.5s\"\na_to_b.delay={fixed=\"60ms\", variable={model=\"correlated\", time=\"200ms\", distribution={model=\"gamma\", shape=3, scale=\"2ms\"}}}\n\
         [timeline_repeat]\nevery=\"15s\"\n",
        None,
    ),
];

/// What is compared of a path at a spacing. Times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Sample {
    pub(crate) packets: u64,
    pub(crate) mean_ns: f64,
    pub(crate) p50_ns: f64,
    pub(crate) p95_ns: f64,
    pub(crate) p99_ns: f64,
    pub(crate) loss_ratio: f64,
    /// Packets that arrived after one that had left later.
    pub(crate) reordered: u64,
}

/// A path at one spacing, measured and emulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct LoopCell {
    pub(crate) spacing_ns: i64,
    pub(crate) measured: Sample,
    pub(crate) emulated: Sample,
    /// What another measurement of the path with the same probes would show.
    pub(crate) again: Repeatability,
    /// Wasserstein's distance of the distributions of delay, and the measured one's spread (5 % to 95 %).
    pub(crate) distance_ns: f64,
    pub(crate) spread_ns: f64,
    /// What is outside its bounds.
    pub(crate) outside: Vec<&'static str>,
}

/// The differences that two measurements of a path do not exceed in 95 of 100 cases, by resampled blocks of one measurement. Unknown ones
/// are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Repeatability {
    pub(crate) mean_ns: f64,
    pub(crate) p50_ns: f64,
    pub(crate) p95_ns: f64,
    pub(crate) p99_ns: f64,
    pub(crate) loss_ratio: f64,
    pub(crate) distance_ns: f64,
}

/// A path, and what its model is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct LoopPath {
    pub(crate) path: String,
    pub(crate) recorded: bool,
    /// The families of delay and loss.
    pub(crate) model: String,
    /// The model, without its files.
    pub(crate) scenario: String,
    pub(crate) cells: Vec<LoopCell>,
}

impl LoopPath {
    /// A path in a line.
    fn progress(&self) -> String {
        let cell = |cell: &LoopCell| {
            let outside = if cell.outside.is_empty() { "holds".to_owned() } else { cell.outside.join(", ") };
            format!("{} ms: {outside}", cell.spacing_ns / MILLI)
        };
        let cells: Vec<String> = self.cells.iter().map(cell).collect();
        format!("  loop     {:<36} {:<32} {}", self.path, self.model, cells.join("; "))
    }
}

/// All paths.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Loops {
    pub(crate) paths: Vec<LoopPath>,
    pub(crate) seconds: f64,
}

/// Measures, models and emulates all paths; recorded links are those of `traces`.
pub(crate) fn run(
    traces: Option<&Path>,
    interrupted: &AtomicBool,
    say: &(dyn Fn(&str) + Sync),
) -> Result<Loops> {
    let started = Instant::now();
    let kinds = kinds(traces)?;
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let work = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(kind) = kinds.get(number) else { return Ok(()) };
            if interrupted.load(Ordering::Relaxed) {
                bail!(Interrupted);
            }
            let path = closed(kind, traces).with_context(|| kind.name.clone())?;
            say(&path.progress());
            done.lock().map_err(|_| anyhow!("a path failed"))?.insert(number, path);
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow!("a path failed"))?)
    })?;
    let paths = done.into_inner().map_err(|_| anyhow!("a path failed"))?.into_values().collect();
    Ok(Loops { paths, seconds: started.elapsed().as_secs_f64() })
}

fn kinds(traces: Option<&Path>) -> Result<Vec<Kind>> {
    let mut kinds: Vec<Kind> = KINDS
        .iter()
        .map(|(name, scenario, other)| Kind {
            name: (*name).to_owned(),
            scenario: (*scenario).to_owned(),
            other: *other,
            recorded: false,
        })
        .collect();
    let Some(folder) = traces else { return Ok(kinds) };
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    files.retain(|file| Path::new(file).extension().is_some_and(|end| end == "up" || end == "down"));
    files.sort();
    kinds.extend(files.into_iter().map(|file| Kind {
        scenario: format!(
            "[a_to_b.trace]\nfile={file:?}\nformat=\"mahimahi\"\n[a_to_b.delay]\nfixed=\"20ms\"\n"
        ),
        name: format!("recorded link {file}"),
        other: Some(Other { spacing: 12 * MILLI, on: 2.0, off: 2.0 }),
        recorded: true,
    }));
    Ok(kinds)
}

/// One path.
fn closed(kind: &Kind, traces: Option<&Path>) -> Result<LoopPath> {
    let mut load = |name: &str| {
        let folder = traces.ok_or("there is no folder of traces")?;
        std::fs::read_to_string(folder.join(name)).map_err(|why| why.to_string())
    };
    let path =
        romer_scenario::parse(&kind.scenario, &kind.name, &mut load).map_err(|why| anyhow!("{why}"))?;
    let measured = |spacing| outcomes(&path.config, SEED, spacing, MEASURED, kind.other);
    let probes = measured(PROBE_SPACING);
    let fitted = fit(&kind.name, &probes)?;
    let again = repeatability(&probes);
    let emulated = fitted.config().map_err(|why| anyhow!("{why}"))?;
    let limit = if kind.recorded { 2.0 * MOST_DISTANCE } else { MOST_DISTANCE };
    let cell = |spacing: i64| {
        let span = MEASURED * (MOST_PACKETS * spacing / MEASURED).clamp(1, MOST_TIMES);
        let emulated = outcomes(&emulated, Seed([39; 6]), spacing, span, None);
        compared(spacing, [&measured(spacing), &emulated], again, limit)
    };
    let direction = fitted.directions.first();
    Ok(LoopPath {
        path: kind.name.clone(),
        recorded: kind.recorded,
        model: direction.map_or_else(String::new, |found| format!("{}, {}", found.delay, found.loss)),
        cells: SPACINGS.map(cell).into(),
        scenario: fitted.text.clone(),
    })
}

/// When each probe left, and its delay; `None`: it was lost.
type Outcomes = Vec<(i64, Option<i64>)>;

fn outcomes(config: &Config, seed: Seed, spacing: i64, span: i64, other: Option<Other>) -> Outcomes {
    let mut arrivals: Vec<(i64, bool)> = (0..span / spacing).map(|number| (number * spacing, true)).collect();
    if let Some(other) = other {
        arrivals.extend(others(other, span).into_iter().map(|at| (at, false)));
        arrivals.sort_unstable();
    }
    let config = Config { seed: Some(seed), ..config.clone() };
    let mut engine = Engine::new(config, Limits::growing(), 0);
    let mut found: Vec<Option<i64>> = vec![None; arrivals.len()];
    for (slot, (at, is_probe)) in (0..).zip(&arrivals) {
        while let Some(outcome) = engine.poll(at - 1) {
            settle(&mut found, &outcome);
        }
        let octets = if *is_probe { PROBE } else { OTHER };
        engine.admit(&Packet::new(slot, PortId::A, octets, *at));
    }
    while let Some(outcome) = engine.poll(i64::MAX) {
        settle(&mut found, &outcome);
    }
    arrivals
        .into_iter()
        .zip(found)
        .filter(|((_, is_probe), _)| *is_probe)
        .map(|((at, _), left)| (at, left.map(|left| left - at)))
        .collect()
}

fn settle(found: &mut [Option<i64>], outcome: &romer_impair::Outcome) {
    if let (None, 0, Some(place)) = (outcome.lost, outcome.copy, found.get_mut(outcome.slot as usize)) {
        *place = Some(outcome.time);
    }
}

/// When the other traffic has its packets.
#[expect(clippy::cast_possible_truncation, reason = "times of minutes")]
fn others(other: Other, span: i64) -> Vec<i64> {
    let numbers = RandomStream::new(SEED, [1, 1]);
    let (mut at, mut number, mut moments) = (0, 0, Vec::new());
    while at < span {
        let mut length = |mean: f64| {
            number += 1;
            (-(1.0 - numbers.unit(number)).ln() * mean * 1e9) as i64
        };
        let end = at + length(other.on);
        moments.extend((0..).map(|packet| at + packet * other.spacing).take_while(|at| *at < end.min(span)));
        at = end + length(other.off);
    }
    moments
}

fn fit(name: &str, outcomes: &Outcomes) -> Result<Fitted> {
    let singleton = |(sequence, (at, delay)): (u64, &(i64, Option<i64>))| OneWaySingleton {
        sequence,
        copy: 0,
        size: PAYLOAD,
        fate: if delay.is_some() { Fate::Arrived } else { Fate::Lost },
        departure: Some(Timestamp::from_nanos(*at)),
        arrival: delay.map(|delay| Timestamp::from_nanos(at + delay)),
        delay: delay.map(Duration::from_nanos),
        ttl: None,
        tos: None,
        leaving: Leaving::UNKNOWN,
    };
    let singletons: Vec<OneWaySingleton> = (0..).zip(outcomes).map(singleton).collect();
    let modelled = model(&FitInput {
        run: name,
        ways: [&singletons, &[]],
        round_trip: &[],
        findings: &[],
        ordered: [true; 2],
        absolute: true,
        kind: ModelKind::Models,
        stem: "model",
        year: 2026,
        only_udp: false,
        headers: Headers::default(),
        waiting: 10 * SECOND,
        allowed: 0,
    });
    modelled.map(|modelled| modelled.fitted).map_err(|why| anyhow!("{why}"))
}

#[expect(clippy::cast_precision_loss, reason = "counts and times of minutes")]
fn sample(outcomes: &Outcomes) -> (Sample, Vec<f64>) {
    let mut delays: Vec<f64> =
        outcomes.iter().filter_map(|(_, delay)| delay.map(|delay| delay as f64)).collect();
    delays.sort_by(f64::total_cmp);
    let arrivals = outcomes.iter().filter_map(|(at, delay)| Some(at + (*delay)?));
    let mut latest = i64::MIN;
    let late = arrivals.filter(|arrival| {
        let is_late = *arrival < latest;
        latest = latest.max(*arrival);
        is_late
    });
    let count = outcomes.len() as f64;
    let sample = Sample {
        packets: outcomes.len() as u64,
        reordered: late.count() as u64,
        mean_ns: delays.iter().sum::<f64>() / delays.len().max(1) as f64,
        p50_ns: quantile(&delays, 0.5),
        p95_ns: quantile(&delays, 0.95),
        p99_ns: quantile(&delays, 0.99),
        loss_ratio: 1.0 - delays.len() as f64 / count,
    };
    (sample, delays)
}

/// Of sorted values; 0 of none.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index"
)]
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len().saturating_sub(1) as f64;
    let lower = place as usize;
    let Some(a) = sorted.get(lower) else { return 0.0 };
    let b = sorted.get(lower + 1).unwrap_or(a);
    a + (b - a) * (place - lower as f64)
}

fn compared(spacing: i64, outcomes: [&Outcomes; 2], again: Repeatability, most_distance: f64) -> LoopCell {
    let [(measured, delays), (emulated, others)] = outcomes.map(sample);
    let shares = (0..1_000).map(|place| (f64::from(place) + 0.5) / 1_000.0);
    let distance_ns =
        shares.map(|share| (quantile(&delays, share) - quantile(&others, share)).abs()).sum::<f64>()
            / 1_000.0;
    let spread_ns = quantile(&delays, 0.95) - quantile(&delays, 0.05);
    let near = |a: f64, b: f64, ratio: f64, again: f64| (a - b).abs() <= (ratio * a).max(MOST_NS).max(again);
    let bounds = [
        ("mean", near(measured.mean_ns, emulated.mean_ns, MOST_RATIO, again.mean_ns)),
        ("median", near(measured.p50_ns, emulated.p50_ns, MOST_RATIO, again.p50_ns)),
        ("95 %", near(measured.p95_ns, emulated.p95_ns, MOST_RATIO, again.p95_ns)),
        ("99 %", near(measured.p99_ns, emulated.p99_ns, MOST_P99_RATIO, again.p99_ns)),
        ("loss", (measured.loss_ratio - emulated.loss_ratio).abs() <= again.loss_ratio),
        ("order", emulated.reordered == 0 || measured.reordered > 0),
        // A microsecond is nothing where the path does not vary.
        ("distance", distance_ns <= (most_distance * spread_ns).max(1e3).max(again.distance_ns)),
    ];
    let outside = bounds.into_iter().filter(|(_, is_within)| !is_within).map(|(name, _)| name).collect();
    LoopCell { spacing_ns: spacing, measured, emulated, again, distance_ns, spread_ns, outside }
}

/// Of the path that the probes measured.
#[expect(clippy::cast_precision_loss, reason = "times of minutes")]
fn repeatability(probes: &Outcomes) -> Repeatability {
    let delays: Vec<f64> = probes.iter().filter_map(|(_, delay)| delay.map(|delay| delay as f64)).collect();
    let losses: Vec<f64> = probes.iter().map(|(_, delay)| f64::from(u8::from(delay.is_none()))).collect();
    let quantiles = [0.5, 0.95, 0.99].map(Statistic::Quantile);
    let [p50_ns, p95_ns, p99_ns] = differences(&delays, quantiles);
    let [mean_ns] = differences(&delays, [Statistic::Mean]);
    let [loss_ratio] = differences(&losses, [Statistic::Mean]);
    let lost = probes.len() - delays.len();
    // Where no probe or few are lost, resampling shows less than the count does.
    let by_count = wilson_interval(lost, probes.len()).map_or(0.0, |[low, high]| {
        let ratio = lost as f64 / probes.len() as f64;
        (high - ratio).hypot(ratio - low)
    });
    Repeatability {
        mean_ns,
        p50_ns,
        p95_ns,
        p99_ns,
        loss_ratio: loss_ratio.max(by_count),
        distance_ns: distances(&delays, &delays, [0, 1])
            .and_then(|found| found.wasserstein.interval)
            .map_or(0.0, |[_, high]| high),
    }
}

/// The most that each statistic differs in 95 of 100 pairs of resampled series; 0 of too few values.
fn differences<const N: usize>(series: &[f64], statistics: [Statistic; N]) -> [f64; N] {
    let drawn = [0, 1].map(|name| resampled(series, &statistics, name).unwrap_or_default());
    let difference = |place: usize| {
        let [a, b] = [&drawn[0], &drawn[1]].map(|drawn| drawn.get(place));
        let [low, high] = interval_of_difference(a?, b?)?;
        Some(low.abs().max(high.abs()))
    };
    std::array::from_fn(|place| difference(place).unwrap_or(0.0))
}
