//! A scenario from a measurement: what the path did, so that it can be done again.
//!
//! | what | how |
//! | --- | --- |
//! | delay | the measured distribution, as a process in time with the correlation time of the normal scores |
//! | loss | none; Bernoulli; or a chain of two states in time |
//! | delay and loss together | a chain in time over regimes, each with its distribution and loss ratio |
//! | delay spikes that repeat | a chain in time with the period of the finding, in which the delay above is the usual state |
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
mod repeated;
mod sequence;
mod spikes;
mod text;

pub use plan::plan;
pub use sequence::{Part, Sequence, sequence};

use romer_fit::choice::{BLOCKS, Choice};
use romer_impair::{Config, Headers, Nanos};
use romer_record::document::ProbeDirection;
use romer_record::fidelity::{DirectionModel, Fidelity, FidelityDirection, FidelityVerdict, HeldOutCheck};
use romer_record::finding::Finding;
use romer_record::warning::ModelWarning;
use romer_record::{Fate, OneWaySingleton};
use romer_units::Timestamp;

use self::describe::Misfits;
use self::spikes::Spikes;
use self::text::{DelaySource, DirectionFit, first_departure, head};
use crate::predictive_check::{self, FittedModel, MeasuredStream, Question, count, real};
use crate::scenario::Opened;

/// The tables of both directions in a scenario.
pub(crate) const TABLES: [&str; 2] = ["a_to_b", "b_to_a"];
/// Both directions: of probes, in documents, and their tables.
pub(crate) const DIRECTIONS: [(ProbeDirection, &str, &str); 2] =
    [(ProbeDirection::Forward, "forward", TABLES[0]), (ProbeDirection::Reverse, "reverse", TABLES[1])];
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
    pub ways: [&'a [OneWaySingleton]; 2],
    /// There and back, in order of sequence and copy.
    pub round_trip: &'a [OneWaySingleton],
    /// What was found in the measurement. Delay spikes that repeat are modelled apart from the rest.
    pub findings: &'a [Finding],
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

    /// Takes over a newer scenario, and of the directions that `are_checked` its checks.
    fn update(&mut self, newer: Self, are_checked: [bool; 2]) {
        self.fitted = newer.fitted;
        replace(&mut self.check, newer.check.directions, are_checked);
        let mut held_out = newer.held_out;
        for check in &mut self.held_out {
            let place = held_out.iter().position(|one| one.every == check.every);
            let directions = place.map(|place| held_out.swap_remove(place).fidelity.directions);
            replace(&mut check.fidelity, directions.unwrap_or_default(), are_checked);
        }
        self.held_out.retain(|check| !check.fidelity.directions.is_empty());
    }

    /// The figure in which a direction deviates most.
    fn misfit(&self, name: &str) -> Option<String> {
        let worst = self.refusals(name).min_by(|a, b| a.p_value.total_cmp(&b.p_value))?;
        predictive_check::deviates_most(worst).map(str::to_owned)
    }
}

/// Puts newer directions in the place of those that `are_checked`.
fn replace(fidelity: &mut Fidelity, newer: Vec<FidelityDirection>, are_checked: [bool; 2]) {
    let place = |one: &FidelityDirection| DIRECTIONS.iter().position(|(_, name, _)| one.direction == *name);
    fidelity.directions.retain(|one| !place(one).is_some_and(|place| are_checked[place]));
    fidelity.directions.extend(newer);
    fidelity.directions.sort_by_key(place);
}

/// Fits and checks. Of a direction whose model fails, the next best family is tried. Where all fail, the recorded delays and losses are kept;
/// or the best family, if it has a bottleneck, because a trace has no rate. Its checks then say so.
///
/// # Errors
/// In words, where there is nothing to make a scenario of.
pub fn model(source: &FitInput<'_>) -> Result<Modelled, String> {
    settled(source, &mut [Way::new(source.kind), Way::new(source.kind)])
}

/// The same. `ways` become how each direction is kept.
fn settled(source: &FitInput<'_>, ways: &mut [Way; 2]) -> Result<Modelled, String> {
    let mut modelled = checked(source, ways, [true; 2])?;
    loop {
        let mut have_failed = [false; 2];
        for ((way, has_failed), (_, name, _)) in ways.iter_mut().zip(&mut have_failed).zip(DIRECTIONS) {
            let can_change = way.kind == ModelKind::Models && !way.is_final;
            if can_change && modelled.refusals(name).next().is_some() {
                *has_failed = true;
                way.refuse(modelled.misfit(name));
            }
        }
        if have_failed == [false; 2] {
            return Ok(modelled);
        }
        // The directions of a scenario do not affect each other.
        modelled.update(checked(source, ways, have_failed)?, have_failed);
    }
}

/// How one direction is kept.
#[derive(Clone, Debug)]
struct Way {
    kind: ModelKind,
    /// The families, once they are chosen: of a trace, those that it replaces.
    choice: Option<Choice>,
    /// Whether the choice stays although a check failed.
    is_final: bool,
    /// Delay spikes that repeat, if they are modelled apart from the rest.
    spikes: Option<Spikes>,
    /// The figures in which refused families deviated most.
    misfits: Misfits,
}

impl Way {
    const fn new(kind: ModelKind) -> Self {
        Self { kind, choice: None, is_final: false, spikes: None, misfits: Misfits::new() }
    }

    /// Refuses the chosen families. Where none is left, a trace replaces them, unless the best one has a bottleneck.
    fn refuse(&mut self, misfit: Option<String>) {
        let Some(choice) = &mut self.choice else { return };
        if let (Some(candidate), Some(misfit)) = (choice.candidates.get(choice.chosen), misfit) {
            self.misfits.insert(candidate.name.clone(), misfit);
        }
        if choice.refuse() {
            return;
        }
        if choice.accept_bottleneck() {
            self.is_final = true;
        } else {
            self.kind = ModelKind::Trace;
        }
    }
}

/// Makes the scenario, and checks the directions that `are_checked`.
fn checked(source: &FitInput<'_>, ways: &mut [Way; 2], are_checked: [bool; 2]) -> Result<Modelled, String> {
    let fitted = fit(source, ways, false)?;
    let config = fitted.config()?;
    let chosen = [0, 1].map(|way| if are_checked[way] { source.ways[way] } else { &[] });
    let check = compare(source, &config, chosen, FittedModel { widening: 1.0, begins: begins(source) });
    let mut held_out = Vec::new();
    // A trace has no parts that another part could predict.
    let parts = [0, 1].map(|half| {
        [0, 1].map(|way| half_of(if ways[way].kind == ModelKind::Trace { &[] } else { chosen[way] }, half))
    });
    let round_trip = half_of(source.round_trip, 0);
    let train = FitInput { ways: [&parts[0][0], &parts[0][1]], round_trip: &round_trip, ..source.clone() };
    if parts.iter().flatten().any(|part| !part.is_empty()) {
        let config = fit(&train, ways, true)?.config()?;
        for every in THINNED {
            let mut thinned = [0, 1].map(|way| thin(&parts[1][way], every));
            thinned.iter_mut().filter(|part| part.len() < FEWEST_HELD_OUT).for_each(Vec::clear);
            if thinned.iter().any(|part| !part.is_empty()) {
                // Both halves have as many packets.
                let widening = std::f64::consts::SQRT_2;
                let fit = FittedModel { widening, begins: begins(&train) };
                let fidelity = compare(source, &config, [&thinned[0], &thinned[1]], fit);
                held_out.push(HeldOutCheck { every, fidelity });
            }
        }
    }
    Ok(Modelled { fitted, check, held_out })
}

/// Packets of every second block of time, the first or the second one.
fn half_of(singletons: &[OneWaySingleton], half: usize) -> Vec<OneWaySingleton> {
    let departures =
        || singletons.iter().filter_map(|singleton| singleton.departure).map(Timestamp::as_nanos);
    let (Some(first), Some(last)) = (departures().min(), departures().max()) else { return Vec::new() };
    let span = real(last - first).max(1.0);
    let is_in = |singleton: &&OneWaySingleton| {
        singleton.departure.is_some_and(|departure| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "from 0 to the number of blocks"
            )]
            let block = (real(departure.as_nanos() - first) / span * count(BLOCKS)) as usize;
            block.min(BLOCKS - 1) % 2 == half
        })
    };
    singletons.iter().filter(is_in).copied().collect()
}

/// Every `every`-th packet, with its copies.
fn thin(singletons: &[OneWaySingleton], every: u32) -> Vec<OneWaySingleton> {
    singletons.iter().filter(|singleton| singleton.sequence % u64::from(every) == 0).copied().collect()
}

/// When the model of each direction begins: with its first packet, to which the moments of its spikes relate.
fn begins(source: &FitInput<'_>) -> [Option<Nanos>; 2] {
    source.ways.map(first_departure)
}

fn compare(
    source: &FitInput<'_>,
    config: &Config,
    ways: [&[OneWaySingleton]; 2],
    fit: FittedModel,
) -> Fidelity {
    predictive_check::fidelity(&Question {
        config,
        headers: source.headers,
        streams: vec![MeasuredStream { forward: ways[0], reverse: ways[1] }],
        absolute: source.absolute,
        waiting: source.waiting,
        allowed: source.allowed,
        seeks_allowance: false,
        fit: Some(fit),
    })
}

/// Makes the scenario. Families that `ways` lacks are chosen; to a part of the measurement the chosen ones are fitted again.
fn fit(source: &FitInput<'_>, ways: &mut [Way; 2], is_part: bool) -> Result<Fitted, String> {
    let mut fitted =
        Fitted { text: String::new(), files: Vec::new(), directions: Vec::new(), warnings: Vec::new() };
    let mut are_relative = false;
    for (number, (direction, name, table)) in DIRECTIONS.into_iter().enumerate() {
        let (singletons, ordered) = (source.ways[number], source.ordered[number]);
        if singletons.iter().any(|singleton| singleton.fate == Fate::Unknown) {
            fitted.warnings.push(ModelWarning::FatesUnknown { direction, setting: table.into() });
        }
        if singletons.is_empty() {
            continue;
        }
        let delays = DelaySource::from_singletons(singletons, source.round_trip);
        let setting = table.to_owned();
        match delays {
            DelaySource::OneWay => are_relative |= !source.absolute,
            DelaySource::HalfRoundTrip => {
                fitted.warnings.push(ModelWarning::DelaysHalved { direction, setting });
            }
            DelaySource::None => fitted.warnings.push(ModelWarning::DelaysUnknown { direction, setting }),
        }
        let fit = DirectionFit { table, singletons, ordered, delays, is_part, source };
        match ways[number].kind {
            ModelKind::Models => {
                if !ordered && singletons.iter().any(|singleton| singleton.fate == Fate::Arrived) {
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

#[cfg(test)]
#[path = "model_fit_tests.rs"]
mod tests;
