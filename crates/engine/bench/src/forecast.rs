//! What a benchmark would do, and afterwards whether it told enough.

use std::collections::BTreeMap;

use romer_method::TrialRequest;
use romer_method::campaign::{Campaign, Procedure};
use romer_record::benchmark::{
    BENCHMARK_FORECAST, Benchmark, BenchmarkForecast, BenchmarkResult, ForecastTrial, NoEvidence, ResultBound,
};
use romer_units::Duration;

use crate::design::{design, takes};
use crate::frames;
use crate::options::{BenchOptions, SELF_TEST};
use crate::trial::frames_words;

/// A benchmark before its first trial.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// The trials; empty where each follows from the one before.
    pub asks: Vec<TrialRequest>,
    /// How many there will be at the most, without those that are made again; of a multiple loss ratio search, of devices that
    /// lose frames by load and length of a trial alone.
    pub trials: u64,
    /// How long all of it takes at the most.
    pub time: Duration,
    /// How many trials there will be where the device carries in long trials what it carries in short ones, and how long they
    /// take; as much as at the most where short trials lead nowhere.
    pub usual: (u64, Duration),
}

/// Every trial that can be foreseen, without making any.
pub fn forecast(options: &BenchOptions) -> Forecast {
    if options.name == SELF_TEST {
        let length = options.procedure.length();
        let asks = crate::self_test::asks(options, length);
        let [usual, most] = crate::self_test::takes(options, length);
        return Forecast { asks, trials: most.trials, time: most.time, usual: (usual.trials, usual.time) };
    }
    let mut campaign = Campaign::new(&design(options));
    let outlook = campaign.outlook();
    let mut asks = Vec::new();
    if matches!(options.procedure, Procedure::Sweep { .. } | Procedure::Reset { .. }) {
        while let Some(ask) = campaign.next_trial() {
            campaign.record_outcome(&romer_method::TrialOutcome::default());
            asks.push(ask);
        }
    }
    let before = crate::self_test::time(options);
    let time = |left, before| takes(options, left, Duration::ZERO) + before;
    let usual = (outlook.usual.trials, time(outlook.usual, before[0]));
    let most = (outlook.most.trials, time(outlook.most, before[1]));
    Forecast { asks, trials: most.0, time: most.1, usual }
}

impl Forecast {
    /// As a document.
    pub fn document(&self, options: &BenchOptions) -> BenchmarkForecast {
        let trial = |ask: &TrialRequest| {
            let (frame_size, mixture) = frames_words(&ask.frames);
            let nominal = options.nominal(&ask.frames, ask.load());
            ForecastTrial {
                case: options.cases.get(ask.case).map(|case| case.name.clone()).unwrap_or_default(),
                purpose: ask.purpose.into(),
                frame_size,
                mixture,
                load_percent: nominal.load * 100.0,
                pps: nominal.pps,
                duration_ns: ask.length().as_nanos(),
                repeat: ask.repeat,
            }
        };
        let cases = options.cases.iter().map(|case| (case.name.clone(), case.command.clone()));
        BenchmarkForecast {
            schema: BENCHMARK_FORECAST.into(),
            procedure: options.name.into(),
            criterion: options.criterion.clone(),
            tx: options.tx.to_string(),
            rx: options.rx.to_string(),
            source: options.source.to_string(),
            destination: options.destination.to_string(),
            line_rate_bps: crate::numbers::real(options.line.bits()),
            streams: options.streams.iter().map(frames::stream_setup).collect(),
            warnings: options.notes.iter().cloned().chain(options.in_step_warning()).collect(),
            cases: cases.collect(),
            repeats: options.repeats,
            seed: options.seed.0,
            trials: self.asks.iter().map(trial).collect(),
            trials_usual: self.usual.0,
            time_usual_ns: self.usual.1.as_nanos(),
            trials_at_most: self.trials,
            time_at_most_ns: self.time.as_nanos(),
        }
    }
}

/// How much of what was asked for a benchmark has told of its device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Informative {
    /// Trials at a given load, however often made, and searches.
    pub asked: u64,
    /// Those of them that told something.
    pub told: u64,
    /// Of the others, those in which the device was away.
    pub device_unreachable: u64,
    /// Why the last of those others did not; `None` if there is none.
    pub why: Option<NoEvidence>,
}

impl Informative {
    /// Those that told nothing.
    pub const fn silent(&self) -> u64 {
        self.asked - self.told
    }

    /// Whether at least half of it was told.
    pub const fn is_enough(&self) -> bool {
        self.silent() <= self.told
    }
}

/// What was told. A search tells something where a load passed, or where the device itself failed at the least one: that
/// the tester could not offer the greatest loads is told with its result, and no fault.
pub fn informative(document: &Benchmark) -> Informative {
    /// What trials that only lead somewhere are for.
    const LEADING: [&str; 4] = ["search", "confirm", TrialRequest::BURST, "recovery"];
    let mut told = Informative::default();
    let mut places = BTreeMap::new();
    for trial in document.trials.iter().filter(|trial| !LEADING.contains(&trial.purpose.as_str())) {
        let place = (&trial.case, trial.frame_size, &trial.mixture, trial.repeat, trial.intended_load.frames);
        let last = places.entry(place).or_insert(trial);
        if last.invalid.is_some() {
            *last = trial;
        }
    }
    for trial in places.into_values() {
        told.asked += 1;
        match &trial.invalid {
            None => told.told += 1,
            Some(why) => {
                told.device_unreachable += u64::from(trial.device_unreachable);
                told.why = Some(NoEvidence::InvalidTrial(why.clone()));
            }
        }
    }
    // Of a recovery the throughput only leads to it.
    for found in document.results.iter().filter(|found| found.quantity == "recovery_ns") {
        told.asked += u64::from(document.setup.repeats);
        told.told += found.count;
        if let Some(by) = found.bounded_by.filter(|_| found.mean.is_none()) {
            told.why = Some(NoEvidence::NoRecovery(by));
            let away = by == ResultBound::DeviceUnreachable;
            told.device_unreachable += if away { u64::from(document.setup.repeats) } else { 0 };
        }
    }
    let sought =
        |found: &&BenchmarkResult| found.quantity == "throughput_percent" && document.procedure != "recovery";
    for found in document.results.iter().filter(sought) {
        told.asked += found.count;
        let nothing = found.max.is_none_or(|most| most <= 0.0);
        match found.bounded_by.filter(|_| nothing) {
            None => told.told += found.count,
            Some(by) => {
                told.why = Some(NoEvidence::NoPassingLoad(by));
                let away = by == ResultBound::DeviceUnreachable;
                told.device_unreachable += if away { found.count } else { 0 };
            }
        }
    }
    told
}
