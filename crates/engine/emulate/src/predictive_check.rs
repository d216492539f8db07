//! What a scenario makes one expect, beside what was measured.
//!
//! The scenario is run in virtual time over the very departures of the measurement, many times with other seeds. What
//! these runs give is what the scenario makes one expect, chance, correlation and all stages included; a measurement
//! that lies out farther than nearly all of them did not come from it (a Monte Carlo test: Barnard 1963). Nothing is
//! assumed of independence, and it holds for every scenario.

use romer_impair::{Config, Decision, Engine, Headers, Limits, Nanos, Packet, PortId};
use romer_metrics::bootstrap::{Statistic, resampled};
use romer_metrics::{kolmogorov_smirnov, reordering, wilson_interval};
use romer_record::fidelity::{
    Distribution, FIDELITY, Fidelity, FidelityDirection, FidelityFigure, FidelityVerdict,
};
use romer_record::warning::FidelityWarning;
use romer_record::{Fate, OneWaySingleton};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Duration, Timestamp};

/// The distribution of delay as a whole, among the names of figures.
pub(crate) const DISTRIBUTION: &str = "delay_distribution";
/// The most runs of a scenario.
const MOST_REPLICATES: usize = 499;
/// The fewest, however many packets there are.
const FEWEST_REPLICATES: usize = 199;
/// Packets of all runs together that there is time for.
const WORK: usize = 5_000_000;
/// Values by which the distribution of all runs is told.
const FINE: usize = 10_000;
/// Fewer packets than this say too little.
const FEWEST_PACKETS: usize = 25;
/// Below this share of runs as far out, the measurement is not what was asked for.
const LEVEL: f64 = 0.01;
/// The median of Kolmogorov's distribution: of the distance times the root of the number of values.
const KOLMOGOROV_MEDIAN: f64 = 0.827_573_555_189_9;
/// The name of the random numbers of the timeline's phase.
const PHASE: u32 = 0x7068_6173;
/// Octets of a frame around the payload of UDP over IPv4: headers and check sequence.
const AROUND: u32 = 46;
const SHORTEST: u32 = 64;
/// Octets of the Ethernet header and the check sequence.
const FRAMING: u32 = 18;

/// One stream of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredStream<'a> {
    /// From sender to responder.
    pub forward: &'a [OneWaySingleton],
    /// Back.
    pub reverse: &'a [OneWaySingleton],
}

/// What is to be compared.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// What was asked for. The sender of the measurement is at port a.
    pub config: &'a Config,
    /// What the probes are told apart by, for scenarios with flows.
    pub headers: Headers,
    /// What was measured at once; all streams went through the network together.
    pub streams: Vec<MeasuredStream<'a>>,
    /// Whether the delays are absolute; else they count from the least one of each direction.
    pub absolute: bool,
    /// Packets that took longer are lost.
    pub waiting: Nanos,
    /// The most that hosts and path around the emulator may have added to a delay.
    pub allowed: Nanos,
    /// Whether to look for an allowance that would explain a difference.
    pub seeks_allowance: bool,
    /// Of a check of a fitted model: that.
    pub fit: Option<FittedModel>,
}

/// A check of a fitted model. It has further figures: loss runs, and the autocorrelation of delays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FittedModel {
    /// How much wider the ranges of the figures are than in runs of the scenario: the fit has an error too. A model fitted to as many packets
    /// as it is compared with has twice the variance.
    pub widening: f64,
    /// When the scenario begins for each direction, forward and reverse; `None`, or later than the first packet: with that.
    pub begins: [Option<Nanos>; 2],
}

/// Compares both directions.
pub fn fidelity(question: &Question<'_>) -> Fidelity {
    let mut warnings = Vec::new();
    let mut directions = Vec::new();
    for (direction, port) in [
        (romer_record::document::ProbeDirection::Forward, PortId::A),
        (romer_record::document::ProbeDirection::Reverse, PortId::B),
    ] {
        let of = |stream: &MeasuredStream<'_>| -> Vec<OneWaySingleton> {
            let singletons = if port == PortId::A { stream.forward } else { stream.reverse };
            let of_the_path =
                |singleton: &&OneWaySingleton| singleton.departure.is_some() && singleton.fate.is_observed();
            singletons.iter().filter(of_the_path).copied().collect()
        };
        let streams: Vec<Vec<OneWaySingleton>> = question.streams.iter().map(of).collect();
        if streams.iter().all(Vec::is_empty) {
            continue;
        }
        if streams.iter().flatten().any(|singleton| singleton.fate == Fate::Unknown) {
            warnings.push(FidelityWarning::FatesUnknown { direction });
            continue;
        }
        let mut arrived =
            streams.iter().flatten().filter(|singleton| singleton.fate == Fate::Arrived).peekable();
        if arrived.peek().is_some() && arrived.all(|singleton| singleton.delay.is_none()) {
            warnings.push(FidelityWarning::DelaysUnknown { direction });
            continue;
        }
        directions.push(DirectionCheck { question, port, streams }.compare(if port == PortId::A {
            "forward"
        } else {
            "reverse"
        }));
    }
    if !question.absolute {
        warnings.push(FidelityWarning::DelaysRelative);
    } else {
        warnings.push(FidelityWarning::LinksIncluded);
    }
    if !question.config.timeline.is_empty() {
        warnings.push(FidelityWarning::TimelinePhaseUnknown);
    }
    warnings.extend(damage(question.config));
    Fidelity {
        schema: FIDELITY.into(),
        method: "Monte Carlo test: the scenario is run in virtual time over the measured departures, with other seeds. The \
                 p-value of a metric is the share of these runs that deviate as much."
            .into(),
        directions,
        warnings,
    }
}

/// What becomes of packets that the scenario corrupts.
fn damage(config: &Config) -> impl Iterator<Item = FidelityWarning> {
    let settings = std::iter::once(&config.base).chain(config.timeline.iter().map(|step| &step.setting));
    let paths = settings.flat_map(|setting| setting.paths.iter().flatten().flatten());
    let (mut dropped, mut repaired) = (false, false);
    for corrupt in paths.map(|path| &path.corrupt) {
        let (Decision::Bernoulli { probability } | Decision::Correlated { probability, .. }) =
            corrupt.decision
        else {
            continue;
        };
        if probability <= 0.0 {
            continue;
        }
        *(if corrupt.repair_checksum { &mut repaired } else { &mut dropped }) = true;
    }
    let dropped = dropped.then_some(FidelityWarning::CorruptedProbesLost);
    dropped.into_iter().chain(repaired.then_some(FidelityWarning::CorruptedProbesAltered))
}

/// What one run, measured or made, comes to.
#[derive(Clone, Debug, Default)]
struct Observed {
    sent: usize,
    lost: usize,
    arrived: usize,
    copies: usize,
    reordered: usize,
    /// Of first copies, in order of departure.
    delays: Vec<f64>,
    sorted: Vec<f64>,
    /// Of a check of a fitted model: the figures of [`SHAPE`].
    shape: Option<[f64; SHAPE.len()]>,
}

impl Observed {
    fn from_streams(streams: &[Vec<OneWaySingleton>], absolute: bool, has_shape: bool) -> Self {
        let mut observed = Self::default();
        let mut delays = Vec::new();
        for singleton in streams.iter().flatten() {
            if singleton.copy > 0 {
                observed.copies += 1;
                continue;
            }
            observed.sent += 1;
            match (singleton.fate, singleton.delay, singleton.departure) {
                (Fate::Arrived, Some(delay), Some(departure)) => {
                    observed.arrived += 1;
                    delays.push((departure.as_nanos(), real(delay.as_nanos())));
                }
                (Fate::Arrived, ..) => observed.arrived += 1,
                _ => observed.lost += 1,
            }
        }
        observed.reordered = streams.iter().map(|singletons| reordering(singletons).len()).sum();
        delays.sort_by_key(|(departure, _)| *departure);
        let least = delays.iter().map(|(_, delay)| *delay).fold(f64::INFINITY, f64::min);
        let base = if absolute { 0.0 } else { least };
        observed.delays = delays.into_iter().map(|(_, delay)| delay - base).collect();
        observed.sorted.clone_from(&observed.delays);
        observed.sorted.sort_by(f64::total_cmp);
        if has_shape {
            let ranks = ranks(&observed.delays, &observed.sorted);
            let [one, some, many] = LAGS.map(|lag| autocorrelation(&ranks, lag));
            observed.shape = Some([loss_run(streams), one, some, many]);
        }
        observed
    }

    /// The figures, in the order of [`NAMES`], then of [`SHAPE`].
    fn figures(&self) -> Vec<f64> {
        let share = |part: usize, of: usize| if of == 0 { 0.0 } else { count(part) / count(of) };
        let mean = self.delays.iter().sum::<f64>() / count(self.delays.len().max(1));
        let [p25, p50, p75, p90, p95, p99] = QUANTILES.map(|p| quantile(&self.sorted, p));
        let base = [
            share(self.lost, self.sent),
            share(self.copies, self.arrived),
            share(self.reordered, self.arrived),
            mean,
            p25,
            p50,
            p75,
            p90,
            p95,
            p99,
        ];
        base.into_iter().chain(self.shape.into_iter().flatten()).collect()
    }

    /// Of the figures of [`NAMES`]; those of [`SHAPE`] have none.
    fn intervals(&self) -> [Option<[f64; 2]>; NAMES.len()] {
        let statistics = [Statistic::Mean].into_iter().chain(QUANTILES.map(Statistic::Quantile));
        let drawn = resampled(&self.delays, &statistics.collect::<Vec<_>>(), 1);
        let delay = |place: usize| {
            let mut values = drawn.as_ref()?.get(place)?.clone();
            values.sort_by(f64::total_cmp);
            Some([quantile(&values, 0.025), quantile(&values, 0.975)])
        };
        [
            wilson_interval(self.lost, self.sent),
            wilson_interval(self.copies, self.arrived),
            wilson_interval(self.reordered, self.arrived),
            delay(0),
            delay(1),
            delay(2),
            delay(3),
            delay(4),
            delay(5),
            delay(6),
        ]
    }
}

const NAMES: [&str; 10] = [
    "loss_ratio",
    "duplicated_ratio",
    "reordered_ratio",
    "delay_ns.mean",
    "delay_ns.p25",
    "delay_ns.median",
    "delay_ns.p75",
    "delay_ns.p90",
    "delay_ns.p95",
    "delay_ns.p99",
];
/// Further figures of a check of a fitted model.
const SHAPE: [&str; 4] = [
    "loss_run.mean",
    "delay_autocorrelation.lag_1",
    "delay_autocorrelation.lag_5",
    "delay_autocorrelation.lag_20",
];
/// The lags of [`SHAPE`], in packets that arrived.
const LAGS: [usize; 3] = [1, 5, 20];
const QUANTILES: [f64; 6] = [0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

/// Of [`NAMES`], the first of delay.
const FIRST_OF_DELAY: usize = 3;

/// What all runs of the scenario give together.
struct Expected {
    /// The mean of each figure over the runs.
    figures: Vec<f64>,
    /// How much wider the ranges of figures are than the runs.
    widening: f64,
    /// The delays of all runs, ascending, thinned to as many as show the distribution to a fraction of what one run can.
    pool: Vec<f64>,
}

impl Expected {
    fn new(runs: &[Observed], figures: &[Vec<f64>], widening: f64) -> Self {
        let mut pool: Vec<f64> = runs.iter().flat_map(|run| run.sorted.iter().copied()).collect();
        pool.sort_by(f64::total_cmp);
        let step = (pool.len() / FINE).max(1);
        let mean = |place: usize| figures[place].iter().sum::<f64>() / count(figures[place].len().max(1));
        Self {
            figures: (0..figures.len()).map(mean).collect(),
            widening,
            pool: pool.into_iter().skip(step / 2).step_by(step).collect(),
        }
    }

    /// The delays of a run, ascending, each less what hosts and path may have added to it: as far as it is longer than the
    /// expected delay of its rank, up to `allowed`.
    fn lowered(&self, run: &Observed, allowed: f64) -> Vec<f64> {
        let values = count(run.sorted.len());
        let rank = |place: usize| (count(place) + 0.5) / values;
        let each = run.sorted.iter().enumerate();
        each.map(|(place, delay)| lowered(*delay, quantile(&self.pool, rank(place)), allowed)).collect()
    }

    /// What a run is judged by: its figures, those of delay less what may have been added, and last the distance of its
    /// delays from those of all runs. A figure that is lowered to what is expected equals it to the bit, so rounding does not
    /// rank runs.
    fn judged(&self, run: &Observed, allowed: f64) -> Vec<f64> {
        let mut figures = run.figures();
        for (figure, expected) in figures.iter_mut().zip(&self.figures).take(NAMES.len()).skip(FIRST_OF_DELAY)
        {
            *figure = lowered(*figure, *expected, allowed);
        }
        figures.push(kolmogorov_smirnov(&self.lowered(run, allowed), &self.pool).unwrap_or(0.0));
        figures
    }

    /// What a run of the scenario is judged by, farther from the expected by the widening.
    fn judged_run(&self, run: &Observed, allowed: f64) -> Vec<f64> {
        let mut figures = self.judged(run, allowed);
        for (figure, expected) in figures.iter_mut().zip(self.figures.iter().chain([&0.0])) {
            *figure = expected + self.widening * (*figure - expected);
        }
        figures
    }

    /// Compares the measurement with the runs; all are lowered alike, so none has an advantage.
    fn test(&self, measured: &Observed, runs: &[Observed], allowed: f64) -> Test {
        let made: Vec<Vec<f64>> = runs.iter().map(|run| self.judged_run(run, allowed)).collect();
        let columns = columns(&made);
        let distance = self.figures.len();
        let each = |figures: &[f64]| -> Vec<f64> {
            // Only too far is out for the distance, and it counts as one side of two: as much as another figure.
            let p_of = |(place, value): (usize, &f64)| {
                if place < distance {
                    two_sided(&columns[place], *value)
                } else {
                    2.0 * upper(&columns[place], *value)
                }
            };
            figures.iter().enumerate().map(p_of).collect()
        };
        let least = |each: &[f64]| each.iter().copied().fold(f64::INFINITY, f64::min);
        let figures = self.judged(measured, allowed);
        let each_p = each(&figures);
        let farthest = least(&each_p);
        let mut farthest_made: Vec<f64> = made.iter().map(|figures| least(&each(figures))).collect();
        farthest_made.sort_by(f64::total_cmp);
        let as_far = farthest_made.partition_point(|p| *p <= farthest);
        // The smallest p of a figure that the verdict accepts: so many runs have a smaller one that p of the whole is at the threshold.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of at most 499 runs"
        )]
        let place = (LEVEL * count(runs.len() + 1) - 1.0).ceil().max(1.0) as usize - 1;
        let critical = farthest_made.get(place).copied().unwrap_or(0.0);
        Test {
            p_value: count(as_far + 1) / count(runs.len() + 1),
            accepted: columns[..distance].iter().map(|column| accepted(column, critical)).collect(),
            accepted_distance: accepted(&columns[distance], critical)[1],
            each_p,
            distance: figures[distance],
            typical_distance: quantile(&columns[distance], 0.5),
        }
    }

    /// The smallest of [`ALLOWANCES`] with which the measurement is consistent. It is at most the expected median delay: more
    /// than the scenario's own delay is not an error of hosts and links.
    fn sufficient_allowance(&self, measured: &Observed, runs: &[Observed], allowed: f64) -> Option<f64> {
        let most = self.figures[NAMES.iter().position(|name| *name == "delay_ns.median")?];
        let candidates: Vec<f64> =
            ALLOWANCES.into_iter().map(real).filter(|one| (allowed..=most).contains(one)).collect();
        let is_sufficient = |one: &f64| self.test(measured, runs, *one).p_value >= LEVEL;
        if !candidates.last().is_some_and(is_sufficient) {
            return None;
        }
        candidates.get(candidates.partition_point(|one| !is_sufficient(one))).copied()
    }
}

/// Values of `--allowance` that are proposed.
const ALLOWANCES: [Nanos; 16] = [
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
];

/// `value`, less what it is above `expected`, up to `allowed`.
fn lowered(value: f64, expected: f64, allowed: f64) -> f64 {
    match value - expected {
        below if below <= 0.0 => value,
        within if within <= allowed => expected,
        _ => value - allowed,
    }
}

/// The value that `lowered` makes `end`: the greatest one, so that what is measured in the range is accepted.
fn raised(end: f64, expected: f64, allowed: f64) -> f64 {
    if end >= expected { end + allowed } else { end }
}

/// How a measurement lies among runs of the scenario.
struct Test {
    /// Share of runs that deviate as much.
    p_value: f64,
    /// Of each figure, and last of the distance of the distributions.
    each_p: Vec<f64>,
    /// Of each figure: the range that does not make the measurement differ.
    accepted: Vec<[f64; 2]>,
    /// The greatest distance that does not.
    accepted_distance: f64,
    distance: f64,
    /// The median of the runs' distances.
    typical_distance: f64,
}

struct DirectionCheck<'q> {
    question: &'q Question<'q>,
    port: PortId,
    streams: Vec<Vec<OneWaySingleton>>,
}

impl DirectionCheck<'_> {
    fn compare(&self, name: &str) -> FidelityDirection {
        let measured =
            Observed::from_streams(&self.streams, self.question.absolute, self.question.fit.is_some());
        let mut direction = FidelityDirection {
            direction: name.into(),
            packets: measured.sent as u64,
            replicates: 0,
            verdict: FidelityVerdict::TooFew,
            p_value: 1.0,
            text: format!("too few packets for a verdict ({})", measured.sent),
            added_ns: 0.0,
            sufficient_allowance_ns: None,
            figures: Vec::new(),
            distribution: None,
        };
        if measured.sent < FEWEST_PACKETS || measured.delays.len() < FEWEST_PACKETS {
            return direction;
        }
        let replicates = (WORK / measured.sent).clamp(FEWEST_REPLICATES, MOST_REPLICATES);
        let runs: Vec<Observed> = (0..replicates).map(|number| self.run(number)).collect();
        let figures = columns(&runs.iter().map(Observed::figures).collect::<Vec<_>>());
        let widening = self.question.fit.map_or(1.0, |fit| fit.widening);
        let expected = Expected::new(&runs, &figures, widening);
        let allowed = real(self.question.allowed);
        let test = expected.test(&measured, &runs, allowed);
        direction.p_value = test.p_value;
        direction.replicates = u32::try_from(replicates).unwrap_or(u32::MAX);
        let added = measured.sorted.iter().zip(expected.lowered(&measured, allowed));
        direction.added_ns =
            added.map(|(delay, lowered)| delay - lowered).sum::<f64>() / count(measured.sorted.len());
        let intervals = measured.intervals();
        for (place, (name, value)) in NAMES.iter().chain(&SHAPE).zip(measured.figures()).enumerate() {
            let column = &figures[place];
            let is_of_delay = (FIRST_OF_DELAY..NAMES.len()).contains(&place);
            let allowed = if is_of_delay { allowed } else { 0.0 };
            let accepted = test.accepted[place].map(|end| raised(end, expected.figures[place], allowed));
            direction.figures.push(FidelityFigure {
                figure: (*name).into(),
                requested: if place <= FIRST_OF_DELAY {
                    expected.figures[place]
                } else {
                    quantile(column, 0.5)
                },
                requested_interval: [quantile(column, 0.025), quantile(column, 0.975)],
                accepted,
                detectable: detectable(column, accepted),
                measured: value,
                measured_interval: intervals.get(place).copied().flatten(),
                p_value: test.each_p[place],
            });
        }
        direction.distribution = Some(Distribution {
            ks_distance: test.distance,
            accepted: test.accepted_distance,
            p_value: test.each_p[expected.figures.len()] / 2.0,
            effective_values: if test.typical_distance > 0.0 {
                (KOLMOGOROV_MEDIAN / test.typical_distance).powi(2).min(count(measured.delays.len()))
            } else {
                count(measured.delays.len())
            },
        });
        set_verdict(&mut direction);
        if direction.verdict == FidelityVerdict::Differs && self.question.seeks_allowance {
            direction.sufficient_allowance_ns = expected.sufficient_allowance(&measured, &runs, allowed);
        }
        direction
    }

    fn run(&self, number: usize) -> Observed {
        Observed::from_streams(&self.made(number), self.question.absolute, self.question.fit.is_some())
    }

    /// The scenario once more, with a seed of its own.
    fn made(&self, number: usize) -> Vec<Vec<OneWaySingleton>> {
        let mut events: Vec<(Nanos, usize, usize)> = Vec::new();
        for (stream, singletons) in self.streams.iter().enumerate() {
            for (place, singleton) in
                singletons.iter().enumerate().filter(|(_, singleton)| singleton.copy == 0)
            {
                let departure = singleton.departure.map_or(0, Timestamp::as_nanos);
                events.push((departure, stream, place));
            }
        }
        events.sort_unstable();
        let word = u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
        let seed = Seed([word, 1676, 11, 22, word, 9]);
        // When the emulator started is unknown, so each run begins at a point of the timeline of its own.
        let first = events.first().map_or(0, |event| event.0);
        let begins = self.question.fit.map(|fit| fit.begins).unwrap_or_default();
        let begin = begins[if self.port == PortId::A { 0 } else { 1 }].unwrap_or(first).min(first);
        let start = begin.saturating_sub(phase(self.question.config, seed));
        let config = Config { seed: Some(seed), ..self.question.config.clone() };
        let limits = Limits { held: 1 << 24, reserved: 64 };
        let mut engine = Engine::new(config, limits, start);
        let mut arrivals: Vec<Vec<Nanos>> = vec![Vec::new(); events.len()];
        let mut last = Nanos::MIN;
        let mut settle = |engine: &mut Engine, now| {
            while let Some(outcome) = engine.poll(now) {
                // Packets that are due at one moment leave in the engine's order, which the line keeps.
                last = outcome.time.max(last.saturating_add(1));
                let place = usize::try_from(outcome.slot).unwrap_or(usize::MAX);
                // Checksums that are not repaired tell the damage where it arrives, and it is dropped there.
                let is_dropped = outcome.corruption.is_some_and(|damage| !damage.repair_checksum);
                let has_arrived = outcome.lost.is_none() && !is_dropped;
                if let Some(arrivals) = arrivals.get_mut(place).filter(|_| has_arrived) {
                    arrivals.push(last);
                }
            }
        };
        for (slot, (departure, stream, place)) in (0_u32..).zip(&events) {
            settle(&mut engine, departure - 1);
            let size = self.streams[*stream][*place].size;
            engine.admit(&Packet {
                slot,
                port: self.port,
                length: size.saturating_add(AROUND).max(SHORTEST),
                network_length: size.saturating_add(AROUND - FRAMING),
                arrival: *departure,
                headers: self.question.headers,
            });
        }
        settle(&mut engine, Nanos::MAX);
        let mut streams: Vec<Vec<OneWaySingleton>> = vec![Vec::new(); self.streams.len()];
        for ((departure, stream, place), arrivals) in events.iter().zip(&mut arrivals) {
            arrivals.sort_unstable();
            let original = &self.streams[*stream][*place];
            for (copy, arrival) in (0..).zip(&*arrivals) {
                let delay = arrival - departure;
                let fate = if delay > self.question.waiting { Fate::Late } else { Fate::Arrived };
                streams[*stream].push(OneWaySingleton {
                    copy,
                    fate,
                    arrival: Some(Timestamp::from_nanos(*arrival)),
                    delay: Some(Duration::from_nanos(delay)),
                    ..*original
                });
            }
            if arrivals.is_empty() {
                let lost =
                    OneWaySingleton { copy: 0, fate: Fate::Lost, arrival: None, delay: None, ..*original };
                streams[*stream].push(lost);
            }
        }
        streams
    }
}

/// The verdict, and its words.
fn set_verdict(direction: &mut FidelityDirection) {
    let packets = direction.packets;
    let added = if direction.added_ns >= 1.0 {
        format!(
            "; the hosts and links around the emulator added {:.0} µs on average",
            direction.added_ns / 1e3
        )
    } else {
        String::new()
    };
    if direction.p_value >= LEVEL {
        direction.verdict = FidelityVerdict::AsRequested;
        direction.text = format!(
            "consistent with the scenario ({packets} packets; {:.1} % of simulated runs deviate as much, threshold 1 %){added}",
            direction.p_value * 100.0
        );
        return;
    }
    direction.verdict = FidelityVerdict::Differs;
    let what = match deviates_most(direction) {
        Some(DISTRIBUTION) => "the distribution of delay".to_owned(),
        figure => {
            figure.unwrap_or_default().replace("_ns.", " ").replace("_ratio", "").replace(['_', '.'], " ")
        }
    };
    direction.text = format!(
        "not consistent with the scenario: {what} deviates most ({packets} packets; fewer than 1 % of simulated runs deviate as \
         much){added}"
    );
}

/// The figure with the smallest p-value, or [`DISTRIBUTION`].
pub(crate) fn deviates_most(direction: &FidelityDirection) -> Option<&str> {
    let distribution = direction.distribution.iter().map(|found| (DISTRIBUTION, found.p_value));
    let figures = direction.figures.iter().map(|figure| (figure.figure.as_str(), figure.p_value));
    figures.chain(distribution).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, _)| name)
}

/// A random point of the timeline, in nanoseconds after its start; 0 where there is none.
fn phase(config: &Config, seed: Seed) -> Nanos {
    let last = config.timeline.last().map_or(0, |step| step.at);
    let span = if config.timeline.is_empty() { 0 } else { config.repeat.unwrap_or(last) };
    let unit = RandomStream::new(seed, [PHASE, 0]).unit(0);
    #[expect(clippy::cast_possible_truncation, reason = "a part of the span")]
    let phase = (unit * real(span)) as Nanos;
    phase
}

/// The values with a two-sided p of at least `critical` among a column, ascending.
fn accepted(column: &[f64], critical: f64) -> [f64; 2] {
    // From two_sided: the runs that must lie at or beyond the value on either side. Runs count themselves, so it is at least one.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of at most 499 runs"
    )]
    let beyond = (critical * count(column.len() + 1) / 2.0 - 1.0 - 1e-9).ceil().max(1.0) as usize;
    let beyond = beyond.min(column.len());
    [column[beyond - 1], column[column.len() - beyond]]
}

/// The shift, in either direction, that puts 95 % of a column, ascending, outside the accepted range.
fn detectable(column: &[f64], [low, high]: [f64; 2]) -> f64 {
    (high - quantile(column, 0.05)).max(quantile(column, 0.95) - low)
}

/// The ranks of values, from 0 to 1; equal ones share the mean of theirs.
fn ranks(values: &[f64], sorted: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let [below, up_to] = [sorted.partition_point(|x| x < value), sorted.partition_point(|x| x <= value)];
        count(below + up_to) / count(2 * sorted.len())
    };
    values.iter().map(rank).collect()
}

/// Of ranks, so many values apart; 0 where all are equal.
fn autocorrelation(ranks: &[f64], lag: usize) -> f64 {
    let square: f64 = ranks.iter().map(|rank| (rank - 0.5).powi(2)).sum();
    let products = ranks.iter().zip(ranks.iter().skip(lag)).map(|(a, b)| (a - 0.5) * (b - 0.5));
    if square > 1e-12 { products.sum::<f64>() / square } else { 0.0 }
}

/// The mean number of packets that are lost in a row; 0 where none is.
fn loss_run(streams: &[Vec<OneWaySingleton>]) -> f64 {
    let (mut lost, mut runs) = (0, 0);
    for singletons in streams {
        let fates = || {
            singletons
                .iter()
                .filter(|singleton| singleton.copy == 0)
                .map(|singleton| singleton.fate != Fate::Arrived)
        };
        lost += fates().filter(|is_lost| *is_lost).count();
        runs += fates()
            .zip(std::iter::once(false).chain(fates()))
            .filter(|(now, before)| *now && !before)
            .count();
    }
    count(lost) / count(runs.max(1))
}

/// Of each figure what all runs have, ascending.
fn columns(runs: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let column = |place: usize| {
        let mut column: Vec<f64> = runs.iter().map(|figures| figures[place]).collect();
        column.sort_by(f64::total_cmp);
        column
    };
    (0..runs.first().map_or(0, Vec::len)).map(column).collect()
}

/// Share of the `column`, ascending, that lies as far out as `value`, on either side; `value` counts as one of it.
fn two_sided(column: &[f64], value: f64) -> f64 {
    let below = column.partition_point(|x| *x <= value);
    let above = column.len() - column.partition_point(|x| *x < value);
    (2.0 * count(below.min(above) + 1) / count(column.len() + 1)).min(1.0)
}

/// Share that is as large or larger.
fn upper(column: &[f64], value: f64) -> f64 {
    count(column.len() - column.partition_point(|x| *x < value) + 1) / count(column.len() + 1)
}

/// By linear interpolation between order statistics; 0 of nothing.
pub(crate) fn quantile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let at = p * count(last);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the last place")]
    let below = (at.floor() as usize).min(last);
    let above = (below + 1).min(last);
    sorted[below] + (at - count(below)) * (sorted[above] - sorted[below])
}

#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
pub(crate) const fn count(number: usize) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "exact below 2^53 nanoseconds, which are 104 days")]
pub(crate) const fn real(nanos: i64) -> f64 {
    nanos as f64
}

#[cfg(test)]
#[path = "predictive_check_tests.rs"]
mod tests;
