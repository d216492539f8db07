//! A benchmark from its first trial to its document.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use romer_host::clock::{monotonic_now, rfc3339};
use romer_host::ending::{self, Stage};
use romer_method::campaign::{Campaign, Procedure};
use romer_method::{RemainingTrials, TrialRequest};
use romer_record::benchmark::{
    BENCHMARK, Baseline, Benchmark, BenchmarkEntry, BenchmarkEventKind, Device, InvalidTrial, ResumedFrom,
    Trial,
};
use romer_units::Duration;

use crate::check::check;
use crate::design::{design, takes};
use crate::document::{Summed, outcome_of, summarize, sweep, trial};
use crate::error::BenchError;
use crate::numbers::{real, to_u64};
use crate::options::{BenchOptions, Case};
use crate::setup::setup;
use crate::testbed::{TestBed, TrialOptions};
use crate::tester::Tester;
use crate::tester_evidence::{RATE_TOLERANCE_FACTOR, TesterEvidence, unaccounted};
use crate::trial::{CaseTrial, TrialRecord, frames_words};
use crate::verdicts::{undecided, verdicts};
use crate::warnings::warnings;
use crate::{cases, self_test, volume};

mod dedup;
mod liveness;
mod pace;
mod running;
mod sizes;
mod streams;
mod watcher;

use liveness::Standing;
use pace::{Pacing, scaled};
use running::Running;
pub use watcher::{Progress, Watcher};

/// How often a trial is made again that told nothing of the device.
const AGAIN: u32 = 2;
/// A device is reset when this part of its trial is over.
const RESET_AFTER: i64 = 5;

/// What an interrupted benchmark has already come to.
#[derive(Clone, Debug)]
pub struct Journal {
    /// When it began.
    pub started: SystemTime,
    /// What was kept of it, in its order.
    pub entries: Vec<BenchmarkEntry>,
}

impl Journal {
    /// How many trials were kept.
    pub fn trials(&self) -> u64 {
        self.entries.iter().filter(|entry| matches!(entry, BenchmarkEntry::Trial { .. })).count() as u64
    }
}

/// Runs all of it, after what there is of it already; ends early, with what there is, when `stop` is set.
///
/// # Errors
/// [`BenchError`]: a port, the next hop, a case, the device's forwarding at the beginning, or what was kept is of
/// another benchmark.
pub fn run(
    options: &BenchOptions,
    past: Option<Journal>,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Benchmark, BenchError> {
    check(options)?;
    run_on(open(options, stop)?, options, past, stop, watcher)
}

/// The tester. A device may forward, and so answer for its next hop, only when it is in a case: where nobody answers, it
/// is brought into the first that has a command, and asked again.
fn open(options: &BenchOptions, stop: &AtomicBool) -> Result<Tester, BenchError> {
    let opened = Tester::open(options);
    let case = options.cases.iter().find(|case| case.command.is_some());
    match (&opened, case) {
        (Err(BenchError::NextHop { .. } | BenchError::PortState(_)), Some(case)) => {
            if !cases::set(case, options.case_time, stop)? {
                return Err(BenchError::Interrupted(case.name.clone()));
            }
            Tester::open(options)
        }
        _ => opened,
    }
}

/// The same, on any bed.
pub(crate) fn run_on<B: TestBed>(
    bed: B,
    options: &BenchOptions,
    past: Option<Journal>,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Benchmark, BenchError> {
    for frames in &options.frames {
        bed.longest(options, frames)?;
    }
    let goes_on = past.is_some();
    let past = past.unwrap_or_else(|| Journal { started: SystemTime::now(), entries: Vec::new() });
    let mut running = Running {
        options,
        stop,
        bed,
        watcher,
        begin: monotonic_now(),
        offset: Duration::ZERO,
        case: None,
        gone_since: None,
        silent: BTreeSet::new(),
        begun: false,
        proof: None,
        pace: Pacing::default(),
        kept: Vec::new(),
        events: Vec::new(),
    };
    let mut campaign = Campaign::new(&design(options));
    let mut pending = running.replay(&mut campaign, &past)?;
    if goes_on {
        running.resumed(&past)?;
    }
    let mut partial = stop.load(Ordering::Acquire);
    while !partial && let Some(ask) = pending.take().or_else(|| volume::next_trial(options, &mut campaign)) {
        let begun = monotonic_now();
        match running.run_once(&campaign, &ask)? {
            Some(record) => {
                campaign.record_outcome(&record.figures.outcome);
                let forecast = takes(options, RemainingTrials::new(1, ask.length()), running.bed.path());
                running.pace.ends(forecast, monotonic_now() - begun, &record);
                partial = running.ends_early(&campaign)?;
            }
            None => partial = true,
        }
    }
    let _evaluating = Stage::begin(ending::EVALUATION);
    Ok(running.document(&campaign, past.started, partial))
}

impl<B: TestBed> Running<'_, B> {
    /// Goes through what was kept as if it were made now; the trial that was to be made again, if one was.
    fn replay(
        &mut self,
        campaign: &mut Campaign,
        past: &Journal,
    ) -> Result<Option<TrialRequest>, BenchError> {
        let mut pending = None;
        let mut last = Duration::ZERO;
        for entry in &past.entries {
            match entry {
                BenchmarkEntry::SelfTest { self_test, calibration } => {
                    self.proof =
                        Some(TesterEvidence { found: self_test.clone(), baseline: calibration.clone() });
                }
                BenchmarkEntry::Event(event) => self.events.push(event.clone()),
                BenchmarkEntry::Trial { trial, judged } => {
                    let number = self.kept.len() + 1;
                    let ask = pending.take().or_else(|| volume::next_trial(self.options, campaign));
                    let ask = ask.filter(|ask| is_of(self.options, ask, trial));
                    let ask = ask.ok_or(BenchError::OtherTrials(number))?;
                    if *judged {
                        campaign.record_outcome(&outcome_of(trial));
                    }
                    last = Duration::from_nanos(trial.at_ns.saturating_add(trial.duration_ns));
                    self.kept.push(CaseTrial {
                        case: ask.case,
                        frames: ask.frames.clone(),
                        load: ask.load(),
                        trial: trial.as_ref().clone(),
                    });
                    pending = (!judged).then_some(ask);
                }
            }
        }
        let since = SystemTime::now().duration_since(past.started).unwrap_or_default();
        self.offset = Duration::from_std(since).max(last);
        Ok(pending)
    }

    /// That the benchmark goes on.
    fn resumed(&mut self, past: &Journal) -> Result<(), BenchError> {
        let last = self.kept.last().map(|kept| kept.trial.at_ns.saturating_add(kept.trial.duration_ns));
        let away_ns = (self.offset - Duration::from_nanos(last.unwrap_or(0))).as_nanos();
        let proven = past.entries.iter().any(|entry| matches!(entry, BenchmarkEntry::SelfTest { .. }));
        let since = match (last, !proven) {
            (Some(_), _) => ResumedFrom::Trial,
            (None, false) => ResumedFrom::SelfTest,
            (None, true) => ResumedFrom::Start,
        };
        self.event(BenchmarkEventKind::Resumed { away_ns, since })
    }

    /// Tests the tester itself, where that is wanted and was not done; whether to go on.
    fn run_self_test(&mut self) -> Result<bool, BenchError> {
        let Some(length) = self.options.self_test.filter(|_| self.proof.is_none()) else { return Ok(true) };
        self.watcher.on_self_test()?;
        let begun = monotonic_now();
        let Some(proof) = self.bed.run_self_test(self.options, length, self.stop)? else { return Ok(false) };
        self.pace.proves(monotonic_now() - begun);
        self.watcher.keep(&BenchmarkEntry::SelfTest {
            self_test: proof.found.clone(),
            calibration: proof.baseline.clone(),
        })?;
        self.proof = Some(proof);
        Ok(true)
    }

    /// How far it is: when a trial begins, and right before the first, when more is known.
    fn report_progress(&mut self, campaign: &Campaign, ask: &TrialRequest, is_ready: bool) {
        let options = self.options;
        let (trial, outlook) = (campaign.asked(), campaign.outlook());
        let rest = [outlook.usual, outlook.most];
        // The tester's own tests come before the first trial.
        let before = if self.proof.is_none() { self_test::time(options) } else { [Duration::ZERO; 2] };
        let (slower, path) = (self.pace.slower(), self.bed.path());
        let trials = rest
            .map(|rest| scaled(takes(options, rest + RemainingTrials::new(1, ask.length()), path), slower));
        let left = [trials[0] + before[0], trials[1] + before[1]];
        let passed = monotonic_now() - self.begin;
        let of = rest.map(|rest| trial + rest.trials);
        let case = options.cases.get(ask.case).map_or("", |case| case.name.as_str());
        let last = self.kept.last().map(|kept| &kept.trial);
        let whole = left.map(|left| passed + left);
        let progress = Progress { trial, of, left, whole, ask, case, last };
        if is_ready { self.watcher.on_forecast(&progress) } else { self.watcher.begins(&progress) }
    }

    /// One trial, made again where it told nothing of the device; `None` where the benchmark ends.
    fn run_once(
        &mut self,
        campaign: &Campaign,
        ask: &TrialRequest,
    ) -> Result<Option<TrialRecord>, BenchError> {
        self.report_progress(campaign, ask, false);
        let mut again = 0;
        loop {
            // The device first: that it does not forward is better told at once.
            if !self.ready(ask)? || !self.run_self_test()? {
                return Ok(None);
            }
            if !self.begun {
                self.report_progress(campaign, ask, true);
            }
            let at = self.now();
            let mut record = self.trial(ask)?;
            if self.stop.load(Ordering::Acquire) {
                return Ok(None);
            }
            self.begun = true;
            if let Some(octets) = record.capture.take() {
                self.watcher.captured(&octets)?;
            }
            self.check_device(ask, &mut record, at)?;
            let unproven = self.bound_tester_loss(ask, &mut record);
            if record.clock_set {
                self.event(BenchmarkEventKind::ClockSet)?;
            }
            if again < AGAIN {
                self.invalidate_if_undecided(ask, &mut record, at);
            }
            let hopeless = unproven || self.is_beyond_tester(&record);
            let repeated = record.invalid.is_some() && !hopeless && again < AGAIN;
            let trial = trial(self.options, ask, &record, at);
            self.watcher
                .keep(&BenchmarkEntry::Trial { trial: Box::new(trial.clone()), judged: !repeated })?;
            self.kept.push(CaseTrial { case: ask.case, frames: ask.frames.clone(), load: ask.load(), trial });
            match record.invalid.clone() {
                Some(invalid) if repeated => {
                    self.event(BenchmarkEventKind::TrialRepeated { invalid })?;
                    again += 1;
                }
                Some(invalid) => {
                    self.event(if record.figures.outcome.device_unreachable {
                        BenchmarkEventKind::DeviceUnsteady { invalid }
                    } else {
                        BenchmarkEventKind::TesterOverloaded { invalid }
                    })?;
                    return Ok(Some(record));
                }
                None => return Ok(Some(record)),
            }
        }
    }

    /// Whether the tester was too slow for a rate that it has not shown to offer: then it would be so again.
    fn is_beyond_tester(&self, record: &TrialRecord) -> bool {
        let proven = self.proof.as_ref().and_then(|proof| proof.found.highest_pps).unwrap_or(0.0);
        record.is_slow()
            && record.figures.intended.pps > proven.max(self.pace.highest_pps()) * RATE_TOLERANCE_FACTOR
    }

    /// Makes a trial one that tells nothing, in which the device stood still so that it decides nothing of what it is held to.
    fn invalidate_if_undecided(&self, ask: &TrialRequest, record: &mut TrialRecord, at: i64) {
        if record.invalid.is_some() || record.figures.standstills.count == 0 {
            return;
        }
        let trial = trial(self.options, ask, record, at);
        let kept = CaseTrial { case: ask.case, frames: ask.frames.clone(), load: ask.load(), trial };
        if let Some(why) = undecided(self.options, &kept) {
            record.invalidate(why);
        }
    }

    /// The trial itself; the device is reset in it where that is what it is for.
    fn trial(&mut self, ask: &TrialRequest) -> Result<TrialRecord, BenchError> {
        let (options, stop) = (self.options, self.stop);
        let capture = options.capture == Some(self.kept.len() as u64 + 1);
        let manner = TrialOptions { baseline: self.baseline(), capture };
        let Some(command) = options.reset.as_ref().filter(|_| ask.purpose == TrialRequest::RESET) else {
            return self.bed.trial(options, ask, manner, stop);
        };
        let case = Case { name: TrialRequest::RESET.into(), command: Some(command.clone()) };
        let wait = Duration::from_nanos(ask.length().as_nanos() / RESET_AFTER);
        let (record, was_reset) = std::thread::scope(|scope| {
            let resetting =
                std::thread::Builder::new().name("bench-reset".into()).spawn_scoped(scope, || {
                    let begins = cases::wait(wait, stop);
                    let ended = !begins || cases::set(&case, options.case_time, stop)?;
                    Ok(ended)
                });
            let resetting = resetting.map_err(|_| BenchError::Thread("bench-reset"))?;
            let record = self.bed.trial(options, ask, manner, stop);
            let ended = resetting.join().map_err(|_| BenchError::Thread("bench-reset"))?;
            Ok::<_, BenchError>((record, ended.map_err(BenchError::of_reset)?))
        })?;
        if !was_reset {
            self.event(BenchmarkEventKind::CommandEnded { case: None })?;
        }
        // What was reset may have forgotten its case.
        self.case = None;
        record
    }

    /// What of a latency is the tester's own and is taken out of it.
    fn baseline(&self) -> Duration {
        let known = self.proof.as_ref().and_then(|proof| proof.baseline.as_ref());
        let median = known.filter(|_| self.options.subtract_baseline).and_then(|baseline| baseline.median_ns);
        median.map_or(Duration::ZERO, Duration::from_nanos_f64)
    }

    /// Of a loss at a rate for which the tester has not proved itself, what it loses in its own tests at such rates without
    /// knowing may be its own, and all where there are none; whether the trial tells nothing for that.
    fn bound_tester_loss(&self, ask: &TrialRequest, record: &mut TrialRecord) -> bool {
        let Some(proof) = self.proof.as_ref() else { return false };
        let proven = proof.found.highest_pps.unwrap_or(0.0);
        // What was due, at the greatest load of its phases: streams may have frames and paces of their own.
        let loads = || ask.phases.iter().map(|phase| phase.load);
        let sum: f64 = ask.phases.iter().map(|phase| phase.load * phase.length.as_secs_f64()).sum();
        let mean = sum / ask.length().as_secs_f64().max(1e-9);
        let greater = if mean > 0.0 { loads().fold(0.0, f64::max) / mean } else { 1.0 };
        let asked = record.figures.intended.pps * greater;
        let (lost, offered) = (record.figures.outcome.lost, record.figures.outcome.offered);
        if record.invalid.is_some() || lost == 0 || asked <= proven * RATE_TOLERANCE_FACTOR {
            return false;
        }
        let own = unaccounted(&proof.found, asked);
        let attribution = &mut record.figures.attribution;
        attribution.charge(own.map_or(offered, |ratio| to_u64(ratio * real(offered))));
        if own.is_some() && attribution.tells(&self.options.procedure.criteria()) {
            return false;
        }
        let lost_by_device = attribution.device;
        record.invalidate(InvalidTrial::NotProven {
            lost_frames: lost,
            intended_pps: asked,
            proven_pps: proven,
            self_test_loss_ratio: own,
            lost_by_device,
        });
        true
    }

    /// Whether the benchmark ends here because the tester is the limit. To a search, what the tester cannot offer is a bound like
    /// another, below which it goes on; where no trial of a whole search was conclusive, no other search follows.
    fn ends_early(&mut self, campaign: &Campaign) -> Result<bool, BenchError> {
        let left = campaign.outlook().usual.trials;
        let stated = matches!(
            self.options.procedure,
            Procedure::Sweep { .. } | Procedure::FrameLoss { .. } | Procedure::Reset { .. }
        );
        let may_end = stated || self.pace.told_nothing() && !campaign.findings().is_empty();
        let Some(limit) = self.pace.limit(campaign.asked() + left).filter(|_| may_end && left > 0) else {
            return Ok(false);
        };
        self.event(limit)?;
        Ok(true)
    }

    /// Brings the device into the case and sees that it forwards; whether to go on.
    fn ready(&mut self, ask: &TrialRequest) -> Result<bool, BenchError> {
        loop {
            let changed = self.case != Some(ask.case);
            if changed && let Some(case) = self.options.cases.get(ask.case) {
                if !cases::set(case, self.options.case_time, self.stop)? {
                    self.event(BenchmarkEventKind::CommandEnded { case: Some(case.name.clone()) })?;
                    return Ok(false);
                }
                self.case = Some(ask.case);
            }
            if !cases::wait(self.options.settle, self.stop) {
                return Ok(false);
            }
            match self.forwards()? {
                Standing::Forwards => return Ok(true),
                Standing::Ends => return Ok(false),
                // What has been away may have forgotten its case.
                Standing::IsBack => self.case = None,
            }
        }
    }

    fn document(self, campaign: &Campaign, started: SystemTime, partial: bool) -> Benchmark {
        let options = self.options;
        let Summed { results, differences, overall, outliers } = match options.procedure {
            Procedure::Sweep { .. } | Procedure::FrameLoss { .. } => sweep(options, &self.kept),
            _ => summarize(options, campaign.findings()),
        };
        let verdicts = verdicts(options, &self.kept);
        let warnings = warnings(options, self.proof.as_ref(), &self.kept);
        let (self_test, calibration) =
            self.proof.map_or((None, None), |proof| (Some(proof.found), proof.baseline));
        Benchmark {
            schema: BENCHMARK.into(),
            started: rfc3339(started),
            ended: rfc3339(SystemTime::now()),
            partial,
            procedure: options.name.into(),
            criterion: options.criterion.clone(),
            dut: Device {
                model: options.labels.get("model").cloned(),
                software: options.labels.get("software").cloned(),
                age: options.labels.get("age").cloned(),
                labels: options.labels.clone(),
            },
            setup: setup(options, &self.bed),
            warnings,
            trials: self.kept.into_iter().map(|kept| kept.trial).collect(),
            results,
            differences,
            overall,
            verdicts,
            outliers,
            events: dedup::once(&self.events),
            calibration: calibration
                .map(|baseline| Baseline { subtracted: options.subtract_baseline, ..baseline }),
            self_test,
            limits: Vec::new(),
        }
    }
}

/// Whether a trial that was kept is the one that is asked for.
fn is_of(options: &BenchOptions, ask: &TrialRequest, trial: &Trial) -> bool {
    let case = options.cases.get(ask.case).map(|case| case.name.as_str());
    let (size, mixture) = frames_words(&ask.frames);
    case == Some(trial.case.as_str())
        && (size, &mixture) == (trial.frame_size, &trial.mixture)
        && (ask.repeat, ask.purpose) == (trial.repeat, trial.purpose.as_str())
        && ask.length().as_nanos() == trial.duration_ns
}
