//! A scenario from a measurement: what the path did, so that it can be done again.
//!
//! | what | how |
//! | --- | --- |
//! | delay | the measured distribution, as a process in time with the correlation time of the normal scores |
//! | loss | none; Bernoulli; or a chain of two states in time |
//! | delay and loss together | a chain in time over regimes, each with its distribution and loss ratio |
//! | a bottleneck | a rate with its queue, behind one of these models of the waiting for cross-traffic |
//! | reordering | displacement in time: what reordered packets (RFC 4737) took longer than the others |
//! | duplication | Bernoulli, with the copies' median distance |
//!
//! `romer-fit` chooses the families of delay and loss by the likelihood of held-out blocks of time. The scenario is then run over the
//! departures of the measurement, and models of one half of the blocks over those of the other half, thinned. Where a
//! direction fails, its recorded delays and losses replace the models ([`model`]).
//!
//! Where the delays of a direction are unknown, half of each round trip is used, and the scenario says so. Reordering of an unknown
//! order is not modelled. Delays of packets that were displaced are left out: another stage makes them.

mod describe;
mod plan;
mod sequence;

pub use plan::plan;
pub use sequence::{Part, Sequence, sequence};

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use romer_fit::bottleneck::{Bottleneck, Evidence};
use romer_fit::choice::{BLOCKS, Choice, DelayModel, choose};
use romer_fit::loss::LossFamily;
use romer_fit::regimes::Regimes;
use romer_fit::{Observation, Scores, Series};
use romer_impair::{Config, Headers, Nanos};
use romer_metrics::bootstrap::{Statistic, resampled};
use romer_metrics::{autocorrelation, reordering, wilson_interval};
use romer_record::document::ProbeDirection;
use romer_record::fidelity::{
    DirectionModel, Fidelity, FidelityDirection, FidelityVerdict, HeldOutCheck, Supported,
};
use romer_record::warning::ModelWarning;
use romer_record::{Fate, Passage};
use romer_units::{Duration, Timestamp};

use self::describe::Misfits;
use crate::predictive_check::{self, FittedModel, MeasuredStream, Question, count, quantile, real};
use crate::scenario::Opened;

/// Steps of a chain in the mean time that a state lasts: so many make the time as good as exponential.
const STEPS_OF_SOJOURN: f64 = 50.0;
/// Octets of an IP packet around the payload of UDP over IPv4.
const IP_AND_UDP: u32 = 28;
/// The tables of both directions in a scenario.
pub(crate) const TABLES: [&str; 2] = ["a_to_b", "b_to_a"];
/// Both directions: of probes, in documents, and their tables.
pub(crate) const DIRECTIONS: [(ProbeDirection, &str, &str); 2] =
    [(ProbeDirection::Forward, "forward", TABLES[0]), (ProbeDirection::Reverse, "reverse", TABLES[1])];
/// The shortest step of a chain and the shortest correlation time, in seconds.
const SHORTEST: f64 = 1e-6;
/// The shortest step of regimes, in seconds.
const SHORTEST_STEP: f64 = 1e-3;
/// The longest time that a scenario may state for delays and spacings, in seconds.
const LONGEST_TIME: f64 = 3_600.0;
/// The least standard deviation of interpolated delays, as a share of the measured one: the tolerance of a reproduced delay.
const LEAST_KEPT: f64 = 0.95;
/// Packets of the held-out stretches that are compared: every so many.
const THINNED: [u32; 2] = [2, 4];
/// A held-out stretch is compared if it has this many packets after thinning.
const FEWEST_HELD_OUT: usize = 100;

/// How the path is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// By models in time; by the recorded delays and losses where these do not reproduce the measurement.
    Models,
    /// By the recorded delays and losses, in time.
    Trace,
}

/// What a scenario is made of.
#[derive(Clone, Debug)]
pub struct FitInput<'a> {
    /// What the run is called.
    pub run: &'a str,
    /// From sender to responder, and back; each in order of sequence and copy.
    pub ways: [&'a [Passage]; 2],
    /// There and back, in order of sequence and copy.
    pub round_trip: &'a [Passage],
    /// Whether the order in which packets arrived is known, of each of the two ways.
    pub ordered: [bool; 2],
    /// Whether the delays are absolute.
    pub absolute: bool,
    /// How to keep it.
    pub kind: ModelKind,
    /// How the files beside the scenario are to begin.
    pub stem: &'a str,
    /// The year that the scenario names.
    pub year: u64,
    /// Whether only UDP is to be treated so, and all else to pass at once.
    pub only_udp: bool,
    /// Headers of the packets.
    pub headers: Headers,
    /// Packets that took longer are lost.
    pub waiting: Nanos,
    /// The most that hosts and links outside the path may have added to a delay.
    pub allowed: Nanos,
}

/// A scenario with its files.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The scenario.
    pub text: String,
    /// Files that it names, to stand beside it: name and content.
    pub files: Vec<(String, String)>,
    /// What was found, by direction.
    pub directions: Vec<DirectionModel>,
    /// What a reader should know.
    pub warnings: Vec<ModelWarning>,
}

impl Fitted {
    /// The scenario as the emulator reads it.
    ///
    /// # Errors
    /// In words, where it cannot be read: romer wrote a wrong scenario.
    pub fn config(&self) -> Result<Config, String> {
        self.open().map(|opened| opened.scenario.config)
    }

    /// The same with its text, to be put in force.
    ///
    /// # Errors
    /// As [`Fitted::config`].
    pub fn open(&self) -> Result<Opened, String> {
        let mut load = |name: &str| {
            let found = self.files.iter().find(|(file, _)| file == name);
            found.map(|(_, content)| content.clone()).ok_or_else(|| format!("there is no {name}"))
        };
        romer_scenario::parse(&self.text, "the model", &mut load)
            .map(|scenario| Opened { scenario, text: self.text.clone() })
            .map_err(|error| error.to_string())
    }
}

/// A scenario with the checks that it was put to.
#[derive(Clone, Debug, PartialEq)]
pub struct Modelled {
    /// The scenario.
    pub fitted: Fitted,
    /// The whole measurement compared with it.
    pub check: Fidelity,
    /// Held-out stretches compared with models of the others.
    pub held_out: Vec<HeldOutCheck>,
}

impl Modelled {
    /// The directions that a check refuses.
    pub fn misfits(&self) -> Vec<ProbeDirection> {
        [(ProbeDirection::Forward, "forward"), (ProbeDirection::Reverse, "reverse")]
            .into_iter()
            .filter(|(_, name)| self.refusals(name).next().is_some())
            .map(|(direction, _)| direction)
            .collect()
    }

    /// What the checks that refuse a direction found.
    fn refusals(&self, name: &str) -> impl Iterator<Item = &FidelityDirection> {
        let all = std::iter::once(&self.check).chain(self.held_out.iter().map(|check| &check.fidelity));
        let directions = all.flat_map(|fidelity| &fidelity.directions);
        directions.filter(move |one| one.direction == name && one.verdict == FidelityVerdict::Differs)
    }

    /// The figure in which a direction deviates most.
    fn misfit(&self, name: &str) -> Option<String> {
        let worst = self.refusals(name).min_by(|a, b| a.p_value.total_cmp(&b.p_value))?;
        predictive_check::deviates_most(worst).map(str::to_owned)
    }
}

/// Fits and checks. Of a direction whose model fails, the next best family is tried; where all fail, the recorded delays and losses are kept.
///
/// # Errors
/// In words, where there is nothing to make a scenario of.
pub fn model(source: &FitInput<'_>) -> Result<Modelled, String> {
    settled(source, &mut [Way::new(source.kind), Way::new(source.kind)])
}

/// The same. `ways` become how each direction is kept.
fn settled(source: &FitInput<'_>, ways: &mut [Way; 2]) -> Result<Modelled, String> {
    loop {
        let modelled = checked(source, ways)?;
        let mut has_failed = false;
        for (way, name) in ways.iter_mut().zip(["forward", "reverse"]) {
            if way.kind == ModelKind::Models && modelled.refusals(name).next().is_some() {
                has_failed = true;
                way.refuse(modelled.misfit(name));
            }
        }
        if !has_failed {
            return Ok(modelled);
        }
    }
}

/// How one direction is kept.
#[derive(Clone, Debug)]
struct Way {
    kind: ModelKind,
    /// The families, once they are chosen: of a trace, those that it replaces.
    choice: Option<Choice>,
    /// The figures in which refused families deviated most.
    misfits: Misfits,
}

impl Way {
    const fn new(kind: ModelKind) -> Self {
        Self { kind, choice: None, misfits: Misfits::new() }
    }

    /// Refuses the chosen families; where none is left, a trace replaces them.
    fn refuse(&mut self, misfit: Option<String>) {
        let Some(choice) = &mut self.choice else { return };
        if let (Some(candidate), Some(misfit)) = (choice.candidates.get(choice.chosen), misfit) {
            self.misfits.insert(candidate.name.clone(), misfit);
        }
        if !choice.refuse() {
            self.kind = ModelKind::Trace;
        }
    }
}

fn checked(source: &FitInput<'_>, ways: &mut [Way; 2]) -> Result<Modelled, String> {
    let fitted = fit(source, ways, false)?;
    let config = fitted.config()?;
    let check = compare(source, &config, source.ways, 1.0);
    let mut held_out = Vec::new();
    // A trace has no parts that another part could predict.
    let parts = [0, 1].map(|half| {
        [0, 1]
            .map(|way| half_of(if ways[way].kind == ModelKind::Trace { &[] } else { source.ways[way] }, half))
    });
    let round_trip = half_of(source.round_trip, 0);
    let train = FitInput { ways: [&parts[0][0], &parts[0][1]], round_trip: &round_trip, ..source.clone() };
    if parts.iter().flatten().any(|part| !part.is_empty()) {
        let config = fit(&train, ways, true)?.config()?;
        for every in THINNED {
            let thinned = [0, 1].map(|way| thin(&parts[1][way], every));
            let is_enough = thinned.iter().any(|part| part.len() >= FEWEST_HELD_OUT);
            if is_enough {
                // Both halves have as many packets.
                let fidelity = compare(source, &config, [&thinned[0], &thinned[1]], std::f64::consts::SQRT_2);
                held_out.push(HeldOutCheck { every, fidelity });
            }
        }
    }
    Ok(Modelled { fitted, check, held_out })
}

/// Packets of every second block of time, the first or the second one.
fn half_of(passages: &[Passage], half: usize) -> Vec<Passage> {
    let departures = || passages.iter().filter_map(|passage| passage.departure).map(Timestamp::as_nanos);
    let (Some(first), Some(last)) = (departures().min(), departures().max()) else { return Vec::new() };
    let span = real(last - first).max(1.0);
    let is_in = |passage: &&Passage| {
        passage.departure.is_some_and(|departure| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "from 0 to the number of blocks"
            )]
            let block = (real(departure.as_nanos() - first) / span * count(BLOCKS)) as usize;
            block.min(BLOCKS - 1) % 2 == half
        })
    };
    passages.iter().filter(is_in).copied().collect()
}

/// Every `every`-th packet, with its copies.
fn thin(passages: &[Passage], every: u32) -> Vec<Passage> {
    passages.iter().filter(|passage| passage.sequence % u64::from(every) == 0).copied().collect()
}

fn compare(source: &FitInput<'_>, config: &Config, ways: [&[Passage]; 2], widening: f64) -> Fidelity {
    predictive_check::fidelity(&Question {
        config,
        headers: source.headers,
        streams: vec![MeasuredStream { forward: ways[0], reverse: ways[1] }],
        absolute: source.absolute,
        waiting: source.waiting,
        allowed: source.allowed,
        seeks_allowance: false,
        fit: Some(FittedModel { widening }),
    })
}

/// Makes the scenario. Families that `ways` lacks are chosen; to a part of the measurement the chosen ones are fitted again.
fn fit(source: &FitInput<'_>, ways: &mut [Way; 2], is_part: bool) -> Result<Fitted, String> {
    let mut fitted =
        Fitted { text: String::new(), files: Vec::new(), directions: Vec::new(), warnings: Vec::new() };
    let mut are_relative = false;
    for (number, (direction, name, table)) in DIRECTIONS.into_iter().enumerate() {
        let (passages, ordered) = (source.ways[number], source.ordered[number]);
        if passages.iter().any(|passage| passage.fate == Fate::Unknown) {
            fitted.warnings.push(ModelWarning::FatesUnknown { direction, setting: table.into() });
        }
        if passages.is_empty() {
            continue;
        }
        let delays = DelaySource::from_passages(passages, source.round_trip);
        let setting = table.to_owned();
        match delays {
            DelaySource::OneWay => are_relative |= !source.absolute,
            DelaySource::HalfRoundTrip => {
                fitted.warnings.push(ModelWarning::DelaysHalved { direction, setting });
            }
            DelaySource::None => fitted.warnings.push(ModelWarning::DelaysUnknown { direction, setting }),
        }
        let fit = DirectionFit { table, passages, ordered, delays, is_part, source };
        match ways[number].kind {
            ModelKind::Models => {
                if !ordered && passages.iter().any(|passage| passage.fate == Fate::Arrived) {
                    let setting = table.to_owned();
                    fitted.warnings.push(ModelWarning::OrderUnknown { direction, setting });
                }
                fit.models(name, &mut ways[number], &mut fitted);
            }
            ModelKind::Trace => fit.trace(name, &ways[number], &mut fitted),
        }
    }
    if fitted.directions.is_empty() {
        return Err("there are no packets in any direction".into());
    }
    if are_relative {
        fitted.warnings.push(ModelWarning::DelaysRelative);
    }
    fitted.text.insert_str(0, &head(source, &fitted.directions));
    Ok(fitted)
}

fn head(source: &FitInput<'_>, directions: &[DirectionModel]) -> String {
    let flow = if source.only_udp { "[[flow]]\nmatch = { protocol = \"udp\" }\n" } else { "" };
    format!(
        "# Made by `romer model` from a measurement.\n[about]\ntitle = {}\nsource = \"romer model\"\n\
         year = {}\n{}{flow}",
        romer_scenario::quoted(&format!("Measured: {}", source.run)),
        source.year,
        supported(directions)
    )
}

/// The table of the traffic that the measurement supports in both directions.
fn supported(directions: &[DirectionModel]) -> String {
    let all = || directions.iter().map(|model| model.supported);
    let [low, high] = [
        all().map(|one| one.spacing_ns[0]).fold(0.0, f64::max),
        all().map(|one| one.spacing_ns[1]).fold(f64::INFINITY, f64::min),
    ];
    let load = all().map(|one| one.load_bit_per_s).fold(f64::INFINITY, f64::min);
    let small = all().map(|one| one.size_octets[0]).max().unwrap_or(0);
    let large = all().map(|one| one.size_octets[1]).min().unwrap_or(0);
    let mut text = String::new();
    if low >= 1.0 && low <= high && high.is_finite() {
        let [low, high] = [low, high].map(|nanos| time((nanos / 1e9).min(LONGEST_TIME)));
        let _ = writeln!(text, "min_spacing = \"{low}\"\nmax_spacing = \"{high}\"");
    }
    if small > 0 && small <= large {
        let _ = writeln!(text, "min_size = \"{small}B\"\nmax_size = \"{large}B\"");
    }
    if load >= 1.0 && load.is_finite() {
        let _ = writeln!(text, "max_load = \"{load:.0}bit\"");
    }
    if text.is_empty() { text } else { format!("[about.supported]\n{text}") }
}

/// What the path carried and a host dropped unread is not.
const fn is_lost(passage: &Passage) -> bool {
    !matches!(passage.fate, Fate::Arrived | Fate::InstrumentDrop)
}

/// What the delays of a direction are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DelaySource {
    /// Its own.
    OneWay,
    /// Half of each round trip: its own are unknown.
    HalfRoundTrip,
    /// Nothing.
    None,
}

impl DelaySource {
    /// Of a direction with these packets.
    fn from_passages(passages: &[Passage], round_trip: &[Passage]) -> Self {
        let has = |passages: &[Passage]| passages.iter().any(|passage| passage.delay.is_some());
        if has(passages) || !passages.iter().any(|passage| passage.fate == Fate::Arrived) {
            Self::OneWay
        } else if has(round_trip) {
            Self::HalfRoundTrip
        } else {
            Self::None
        }
    }
}

impl DelaySource {
    /// What a comment in the scenario calls the delays.
    const fn text(self) -> &'static str {
        match self {
            Self::HalfRoundTrip => "halves of round trips, because one-way delays are unknown",
            Self::OneWay | Self::None => "delays",
        }
    }
}

/// Half of a round trip.
fn half(passage: &Passage) -> Option<Duration> {
    passage.delay.map(|delay| Duration::from_nanos(delay.as_nanos() / 2))
}

/// First copies of what says something of the path.
fn firsts(passages: &[Passage]) -> impl Iterator<Item = &Passage> {
    passages.iter().filter(|passage| passage.copy == 0 && passage.fate != Fate::InFlight)
}

struct DirectionFit<'a> {
    table: &'static str,
    passages: &'a [Passage],
    /// Whether the order in which the packets arrived is known.
    ordered: bool,
    delays: DelaySource,
    /// Whether the passages are a part of the measurement, to which the families of the whole are fitted again.
    is_part: bool,
    source: &'a FitInput<'a>,
}

impl DirectionFit<'_> {
    fn models(&self, name: &str, way: &mut Way, fitted: &mut Fitted) {
        let mut model = self.blank(name);
        let mut text = String::new();
        self.copies(&mut model, &mut text);
        let displaced = if self.ordered { self.order(&mut model, &mut text) } else { HashSet::new() };
        let series = self.series(&displaced);
        let choice = match way.choice.take() {
            Some(choice) if self.is_part => {
                let refitted = choice.refitted(&series);
                way.choice = Some(choice);
                refitted
            }
            Some(choice) if choice.is_refused() => way.choice.insert(choice.with_best(&series)).clone(),
            Some(choice) => way.choice.insert(choice).clone(),
            None => way.choice.insert(choose(&series)).clone(),
        };
        fitted.text.push_str(&text);
        describe::choice(&choice, &way.misfits, &series, &mut model);
        if !self.is_part {
            self.loss_interval(&choice, &mut model);
        }
        model.supported.is_correlation_time_bound =
            matches!(&choice.delay, DelayModel::Correlated(time) if time.is_bound);
        let waiting = choice.bottleneck.as_ref().map(|bottleneck| bottleneck.waiting(&series));
        let waiting = waiting.as_ref().unwrap_or(&series);
        if let DelayModel::Regimes(regimes) = &choice.delay {
            self.regimes(regimes, waiting, fitted);
        } else {
            self.loss(&choice, waiting, &mut fitted.text);
            self.delay(&choice, waiting, fitted);
        }
        if let Some(bottleneck) = &choice.bottleneck {
            self.rate(bottleneck, &mut fitted.text);
            if bottleneck.evidence == Evidence::Dispersion {
                model.supported.load_bit_per_s = model.supported.load_bit_per_s.max(bottleneck.rate.value);
            }
        }
        fitted.directions.push(model);
    }

    /// What each first copy showed, in order of departure. Delays of `displaced` packets are unknown.
    fn series(&self, displaced: &HashSet<u64>) -> Series {
        let is_halved = self.delays == DelaySource::HalfRoundTrip;
        let there_and_back: HashMap<u64, &Passage> = if is_halved {
            firsts(self.source.round_trip).map(|passage| (passage.sequence, passage)).collect()
        } else {
            HashMap::new()
        };
        let one = |passage: &Passage| {
            let other = there_and_back.get(&passage.sequence);
            let departure = passage.departure.or_else(|| other?.departure)?.as_nanos();
            let known = if is_halved { other.and_then(|other| half(other)) } else { passage.delay };
            let is_known =
                passage.fate == Fate::Arrived && (is_halved || !displaced.contains(&passage.sequence));
            // Halves of round trips are no times on a path, so their sizes show nothing.
            let size = (!is_halved).then(|| passage.size.saturating_add(IP_AND_UDP));
            Some((departure, size, is_lost(passage), known.filter(|_| is_known)))
        };
        let all: Vec<_> = self.firsts().filter_map(one).collect();
        let first = all.iter().map(|(departure, ..)| *departure).min().unwrap_or(0);
        let observation =
            |(departure, size, is_lost, delay): (Nanos, Option<u32>, bool, Option<Duration>)| Observation {
                at: real(departure - first) / 1e9,
                size,
                is_lost,
                delay: delay.map(|delay| real(delay.as_nanos().max(0)) / 1e9),
            };
        Series::new(all.into_iter().map(observation).collect())
    }

    fn loss(&self, choice: &Choice, series: &Series, text: &mut String) {
        let header = self.header();
        let (lost, sent) = (series.lost(), series.observations().len());
        match (choice.loss.family, choice.loss.states) {
            (LossFamily::None, _) => {}
            (_, None) => {
                let _ = writeln!(
                    text,
                    "[{header}.loss] # {lost} of {sent}\nmodel = \"bernoulli\"\nprobability = {:.6}",
                    choice.loss.ratio
                );
            }
            (_, Some(states)) => {
                let _ = writeln!(
                    text,
                    "[{header}.loss] # {lost} of {sent}; a good state of {} and a bad one of {} on average\n\
                     model = \"markov\"\nstep = \"time\"",
                    time(states.good.value),
                    time(states.bad.value)
                );
                let leaves = 1.0 / STEPS_OF_SOJOURN;
                let _ = writeln!(
                    text,
                    "transition = [[{:.2}, {leaves:.2}], [{leaves:.2}, {:.2}]]\nstate = [",
                    1.0 - leaves,
                    1.0 - leaves
                );
                for (mean, loss) in [(states.good, states.loss_good), (states.bad, states.loss_bad)] {
                    let duration = time((mean.value / STEPS_OF_SOJOURN).max(SHORTEST));
                    let _ =
                        writeln!(text, "  {{ duration = \"{duration}\", probability = {:.6} }},", loss.value);
                }
                text.push_str("]\n");
            }
        }
    }

    fn delay(&self, choice: &Choice, series: &Series, fitted: &mut Fitted) {
        let delays = series.delays();
        let Some(least) = delays.iter().copied().reduce(f64::min) else { return };
        // Without its transmission, a delay that is hardly longer can be less than 0.
        let fixed = time(if self.is_absolute() { least.max(0.0) } else { 0.0 });
        let header = self.header();
        let _ = writeln!(
            fitted.text,
            "[{header}.delay] # {} {}; median {}\nfixed = \"{fixed}\"",
            delays.len(),
            self.delays.text(),
            time(median(&delays))
        );
        if let DelayModel::Correlated(correlation) = &choice.delay {
            let time = (!correlation.is_bound).then_some(correlation.time.value);
            let variable = self.variable(&delays, least, time, "", fitted);
            let _ = writeln!(fitted.text, "variable = {variable}");
        }
    }

    /// The rate behind the delay. Sizes are those of IP packets.
    fn rate(&self, bottleneck: &Bottleneck, text: &mut String) {
        let from = match bottleneck.evidence {
            Evidence::Dispersion => "from packets that departed close to each other",
            Evidence::Size => "from the delays of packets of different sizes",
        };
        let _ = writeln!(
            text,
            "[{}.rate] # {from}\nlimit = \"{:.0}bit\"\nlayer = \"l3\"\nqueue = {{ bytes = \"{:.0}B\" }}",
            self.header(),
            bottleneck.rate.value.max(1.0),
            bottleneck.queue
        );
    }

    /// A law of delays, in a file of its own: with a correlation time in seconds, or as independent as packet order allows.
    fn variable(
        &self,
        delays: &[f64],
        least: f64,
        correlation: Option<f64>,
        name: &str,
        fitted: &mut Fitted,
    ) -> String {
        let file = format!("{}.{}{name}.delays", self.source.stem, self.table);
        let mut content = String::from("delay_ns\n");
        for delay in delays {
            let _ = writeln!(content, "{:.0}", (delay - least) * 1e9);
        }
        let law = format!("{{ model = \"empirical\", file = \"{file}\" }}");
        fitted.files.push((file, content));
        let correlation = correlation.map_or_else(
            || "coefficient = 0".to_owned(),
            |seconds| format!("time = \"{}\"", time(seconds.clamp(SHORTEST, LONGEST_TIME))),
        );
        format!("{{ model = \"correlated\", distribution = {law}, {correlation} }}")
    }

    /// A chain over regimes; each has the delays of the packets that are most probably in it.
    fn regimes(&self, regimes: &Regimes, series: &Series, fitted: &mut Fitted) {
        let scores = Scores::new(&series.delays());
        let states = regimes.decode(series.observations(), &scores);
        let regimes = regimes.with_step_from(SHORTEST_STEP);
        let rows: Vec<String> = regimes.transition.iter().map(|row| row_of(row)).collect();
        let _ = writeln!(
            fitted.text,
            "[{}.regimes] # {} {}\nstep = \"{}\"\ntransition = [{}]\nstate = [",
            self.header(),
            series.delays().len(),
            self.delays.text(),
            time(regimes.step),
            rows.join(", ")
        );
        let base = if self.is_absolute() {
            0.0
        } else {
            series.delays().into_iter().reduce(f64::min).unwrap_or(0.0)
        };
        for (number, regime) in regimes.regimes.iter().enumerate() {
            let in_it = states.iter().zip(series.observations()).filter(|(state, _)| **state == number);
            let delays: Vec<f64> = in_it.filter_map(|(_, one)| one.delay).collect();
            let mut stages = Vec::new();
            if regime.loss_ratio.value > 0.0 {
                stages.push(format!("loss = {{ probability = {:.6} }}", regime.loss_ratio.value));
            }
            if let Some(least) = delays.iter().copied().reduce(f64::min) {
                let mut delay = format!("delay = {{ fixed = \"{}\"", time((least - base).max(0.0)));
                if delays.len() > 1 {
                    let correlation = match regime.correlation_time.value {
                        known if known > 0.0 => known,
                        _ => regimes.step / romer_fit::correlated::INDEPENDENT_FROM,
                    };
                    let name = format!(".{}", number + 1);
                    let variable = self.variable(&delays, least, Some(correlation), &name, fitted);
                    let _ = write!(delay, ", variable = {variable}");
                }
                delay.push_str(" }");
                stages.push(delay);
            }
            let _ = writeln!(fitted.text, "  {{ {} }},", stages.join(", "));
        }
        fitted.text.push_str("]\n");
    }

    fn trace(&self, name: &str, way: &Way, fitted: &mut Fitted) {
        let mut model = self.blank(name);
        let series = self.series(&HashSet::new());
        describe::trace(way.choice.as_ref(), &way.misfits, &series, &mut model);
        self.ratio_of_loss(&mut model);
        model.duplicated_ratio = self.duplicates().0;
        let is_halved = self.delays == DelaySource::HalfRoundTrip;
        let halves: HashMap<u64, Duration> = if is_halved {
            firsts(self.source.round_trip)
                .filter_map(|passage| Some((passage.sequence, half(passage)?)))
                .collect()
        } else {
            HashMap::new()
        };
        let known = |passage: &Passage| passage.delay.or_else(|| halves.get(&passage.sequence).copied());
        let least = self.passages.iter().filter_map(known).min();
        // A packet that arrived without a known delay has that of the packet before it.
        let mut last = least.unwrap_or(Duration::ZERO);
        let file = format!("{}.{}.csv", self.source.stem, self.table);
        let stamps =
            if self.table == "a_to_b" { "t1_ns,t2_ns,t3_ns,t4_ns" } else { "t3_ns,t4_ns,t1_ns,t2_ns" };
        let mut content = format!("sequence,size,{stamps}\n");
        for passage in self.passages.iter().filter(|passage| passage.fate.is_observed()) {
            last = known(passage).unwrap_or(last);
            let departure = passage.departure.map(Timestamp::as_nanos);
            // A departure on an unusable clock is that of a packet that took this delay.
            let before_arrival = || passage.arrival.map(|arrival| arrival.as_nanos() - last.as_nanos());
            let departure = if is_halved { before_arrival().or(departure) } else { departure };
            let Some(departure) = departure else { continue };
            let arrival = if passage.fate == Fate::Arrived {
                (departure + last.as_nanos()).to_string()
            } else {
                String::new()
            };
            let _ = writeln!(content, "{},{},{departure},{arrival},,", passage.sequence, passage.size);
        }
        let fixed = least.filter(|_| self.is_absolute()).unwrap_or(Duration::ZERO);
        let between = if is_smooth(&series.delays()) { "linear" } else { "hold" };
        let _ = writeln!(
            fitted.text,
            "[{}.trace] # {} {}\nfile = \"{file}\"\nformat = \"measurement\"\nby = \"time\"\nbetween = \"{between}\"\n\
             fixed = \"{}\"",
            self.header(),
            series.delays().len(),
            self.delays.text(),
            Duration::from_nanos_f64(real(fixed.as_nanos().max(0)))
        );
        if self.ordered {
            let reordered = reordering(self.passages).len();
            if reordered > 0 {
                let _ = writeln!(fitted.text, "order = \"independent\" # {reordered} packets were reordered");
            }
            model.reordered_ratio = self.ratio_of_arrived(reordered);
        }
        fitted.files.push((file, content));
        fitted.directions.push(model);
    }

    fn is_absolute(&self) -> bool {
        self.source.absolute || self.delays == DelaySource::HalfRoundTrip
    }

    /// Its table in the scenario.
    fn header(&self) -> String {
        format!("{}{}", if self.source.only_udp { "flow." } else { "" }, self.table)
    }

    /// First copies of what says something of the path.
    fn firsts(&self) -> impl Iterator<Item = &Passage> {
        firsts(self.passages)
    }

    fn blank(&self, name: &str) -> DirectionModel {
        DirectionModel {
            direction: name.into(),
            packets: self.firsts().count() as u64,
            delay: "unknown".into(),
            loss: "none".into(),
            replaced: None,
            candidates: Vec::new(),
            loss_ratio: None,
            loss_ratio_interval: None,
            parameters: Vec::new(),
            delays: 0,
            reordered_ratio: None,
            duplicated_ratio: None,
            supported: self.supported(),
        }
    }

    fn supported(&self) -> Supported {
        let sizes = || self.firsts().map(|passage| passage.size.saturating_add(IP_AND_UDP));
        let series = self.series(&HashSet::new());
        let octets: f64 = sizes().map(f64::from).sum();
        let duration = series.duration();
        Supported {
            spacing_ns: [series.spacing(0.05) * 1e9, (duration / 10.0).max(series.spacing(0.05)) * 1e9],
            size_octets: [sizes().min().unwrap_or(0), sizes().max().unwrap_or(0)],
            load_bit_per_s: if duration > 0.0 { octets * 8.0 / duration } else { 0.0 },
            is_correlation_time_bound: false,
        }
    }

    fn ratio_of_loss(&self, model: &mut DirectionModel) {
        let sent = self.firsts().count();
        let lost = self.firsts().filter(|passage| is_lost(passage)).count();
        model.loss_ratio = Some(count(lost) / count(sent.max(1)));
        model.loss_ratio_interval = wilson_interval(lost, sent);
    }

    /// The loss ratio with its interval: losses that are not independent need blocks.
    fn loss_interval(&self, choice: &Choice, model: &mut DirectionModel) {
        self.ratio_of_loss(model);
        if matches!(choice.loss.family, LossFamily::None | LossFamily::Bernoulli) {
            return;
        }
        let fates: Vec<f64> = self.firsts().map(|passage| if is_lost(passage) { 1.0 } else { 0.0 }).collect();
        let drawn = resampled(&fates, &[Statistic::Mean], 2).and_then(|mut drawn| drawn.pop());
        if let Some(mut drawn) = drawn {
            drawn.sort_by(f64::total_cmp);
            model.loss_ratio_interval = Some([quantile(&drawn, 0.025), quantile(&drawn, 0.975)]);
        }
    }

    fn arrived(&self) -> usize {
        self.firsts().filter(|passage| passage.fate == Fate::Arrived).count()
    }

    fn ratio_of_arrived(&self, packets: usize) -> Option<f64> {
        let arrived = self.arrived();
        (arrived > 0).then(|| count(packets) / count(arrived))
    }

    /// The share of packets that were duplicated, and how much later than the packet each copy arrived, nanoseconds.
    fn duplicates(&self) -> (Option<f64>, Vec<f64>) {
        let mut spacings = Vec::new();
        let mut doubled = HashSet::new();
        for pair in self.passages.windows(2).filter(|pair| pair[0].sequence == pair[1].sequence) {
            doubled.insert(pair[0].sequence);
            if let (Some(first), Some(second)) = (pair[0].delay, pair[1].delay) {
                spacings.push(real((second - first).as_nanos().max(0)));
            }
        }
        (self.ratio_of_arrived(doubled.len()), spacings)
    }

    fn copies(&self, model: &mut DirectionModel, text: &mut String) {
        let (ratio, spacings) = self.duplicates();
        model.duplicated_ratio = ratio;
        let Some(ratio) = model.duplicated_ratio.filter(|ratio| *ratio > 0.0) else { return };
        let _ = writeln!(
            text,
            "[{}.duplicate]\nmodel = \"bernoulli\"\nprobability = {ratio:.6}\ndelay = \"{}\"",
            self.header(),
            Duration::from_nanos_f64(median(&spacings))
        );
    }

    /// The reorder stage; the packets that it displaced.
    fn order(&self, model: &mut DirectionModel, text: &mut String) -> HashSet<u64> {
        let reordered: HashSet<u64> =
            reordering(self.passages).iter().map(|packet| packet.sequence).collect();
        model.reordered_ratio = self.ratio_of_arrived(reordered.len());
        let (Some(ratio), false) = (model.reordered_ratio, reordered.is_empty()) else { return reordered };
        // The mean and the variance.
        let moments = |is_displaced: bool| {
            let of = self.firsts().filter(|passage| reordered.contains(&passage.sequence) == is_displaced);
            let delays: Vec<f64> = of.filter_map(|passage| Some(real(passage.delay?.as_nanos()))).collect();
            let of = count(delays.len().max(1));
            let mean = delays.iter().sum::<f64>() / of;
            (mean, delays.iter().map(|delay| (delay - mean).powi(2)).sum::<f64>() / of)
        };
        // The delay of displaced packets is that of the others and the time for which they waited: a uniform one with these moments.
        let [(displaced, displaced_variance), (usual, usual_variance)] = [true, false].map(moments);
        let (wait, half) = (displaced - usual, (3.0 * (displaced_variance - usual_variance).max(0.0)).sqrt());
        let [low, high] = [wait - half, wait + half].map(|nanos| time(nanos.max(0.0) / 1e9));
        let _ = writeln!(
            text,
            "[{}.reorder] # {} of {}\nmodel = \"bernoulli\"\nprobability = {ratio:.6}\n\
             displacement = {{ model = \"time\", low = \"{low}\", high = \"{high}\" }}",
            self.header(),
            reordered.len(),
            self.arrived(),
        );
        reordered
    }
}

/// Whether lines between successive delays keep the variation of the delays. Halfway on average, an interpolated delay has the variance
/// (2 + r) / 3 of theirs, where r is the correlation of successive delays.
fn is_smooth(delays: &[f64]) -> bool {
    let delays: Vec<Option<f64>> = delays.iter().copied().map(Some).collect();
    let correlation = autocorrelation(&delays, &[1])[0].unwrap_or(1.0);
    ((2.0 + correlation) / 3.0).sqrt() >= LEAST_KEPT
}

fn median(series: &[f64]) -> f64 {
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

/// A row of transition probabilities. Rounded, it must still have the sum 1.
fn row_of(row: &[f64]) -> String {
    let rounded: Vec<f64> = row.iter().map(|p| (p * 1e9).round() / 1e9).collect();
    let own = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(place, _)| place);
    let others: f64 = rounded.iter().enumerate().filter(|(place, _)| *place != own).map(|(_, p)| p).sum();
    let cell = |(place, p): (usize, &f64)| format!("{:.9}", if place == own { 1.0 - others } else { *p });
    format!("[{}]", rounded.iter().enumerate().map(cell).collect::<Vec<_>>().join(", "))
}

/// Seconds as a scenario writes them.
fn time(seconds: f64) -> Duration {
    Duration::from_nanos_f64((seconds * 1e9).round())
}

#[cfg(test)]
#[path = "model_fit_tests.rs"]
mod tests;
