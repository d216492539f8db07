//! A benchmark from its first trial to its document.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use romer_host::clock::monotonic_now;
use romer_host::host_info;
use romer_method::Ask;
use romer_method::campaign::{Campaign, Design, Procedure};
use romer_record::benchmark::{BENCHMARK, Benchmark, BenchmarkEvent, Device, Setup};
use romer_units::{Duration, Monotonic, Timestamp};

use crate::document::{Kept, Summed, found, sweep, trial};
use crate::options::BenchOptions;
use crate::tester::{Tester, TrialRecord};
use crate::verdicts::verdicts;
use crate::{BenchError, cases, frames};

/// How long a device that forwards takes to show it.
const PROMPT: Duration = Duration::from_secs(1);
/// How often a trial is made again that told nothing of the device.
const AGAIN: u32 = 2;

/// How far a benchmark is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Number of the trial that begins, from 1.
    pub trial: u64,
    /// How many there will be at the most, as things stand.
    pub of: u64,
    /// How long the rest takes at the most, as things stand.
    pub left: Duration,
    /// The trial.
    pub ask: &'a Ask,
    /// The name of its case.
    pub case: &'a str,
    /// What the one before came to.
    pub last: Option<&'a romer_record::benchmark::Trial>,
}

/// Every trial that can be foreseen, without making any: how many, and how long they take.
pub fn plan(options: &BenchOptions) -> (Vec<Ask>, Duration) {
    let mut campaign = Campaign::new(&design(options));
    let (_, most) = campaign.progress();
    let sending = campaign.time_left();
    let mut asks = Vec::new();
    if matches!(options.procedure, Procedure::Sweep { .. }) {
        while let Some(ask) = campaign.next_trial() {
            asks.push(ask);
        }
    }
    let around =
        around(options).checked_mul(i64::try_from(most).unwrap_or(i64::MAX)).unwrap_or(Duration::MAX);
    (asks, sending + around)
}

/// What a trial takes beside its sending: settling before and after, and looking whether the device forwards.
fn around(options: &BenchOptions) -> Duration {
    options.settle + options.settle + Duration::from_millis(30)
}

fn design(options: &BenchOptions) -> Design {
    Design {
        procedure: options.procedure.clone(),
        cases: options.cases.len(),
        frames: options.frames.clone(),
        repeats: options.repeats,
        seed: options.seed,
    }
}

/// A benchmark that is under way.
struct Running<'a> {
    options: &'a BenchOptions,
    stop: &'a AtomicBool,
    tester: Tester,
    begin: Timestamp<Monotonic>,
    case: Option<usize>,
    kept: Vec<Kept>,
    events: Vec<BenchmarkEvent>,
}

/// Runs all of it; ends early, with what there is, when `stop` is set.
///
/// # Errors
/// [`BenchError`]: a port, the next hop, a case, or the device's forwarding at the beginning.
pub fn run(
    options: &BenchOptions,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&Progress<'_>),
) -> Result<Benchmark, BenchError> {
    check(options)?;
    let started = SystemTime::now();
    let mut running = Running {
        options,
        stop,
        tester: Tester::open(options)?,
        begin: monotonic_now(),
        case: None,
        kept: Vec::new(),
        events: Vec::new(),
    };
    for frames in &options.frames {
        running.tester.longest(options, frames)?;
    }
    let mut campaign = Campaign::new(&design(options));
    let mut partial = false;
    while let Some(ask) = campaign.next_trial() {
        let (trial, left) = campaign.progress();
        let rest = around(options).checked_mul(i64::try_from(left + 1).unwrap_or(i64::MAX));
        let rest = campaign.time_left() + ask.length() + rest.unwrap_or(Duration::MAX);
        let case = options.cases.get(ask.case).map_or("", |case| case.name.as_str());
        let last = running.kept.last().map(|kept| &kept.trial);
        tell(&Progress { trial, of: trial + left, left: rest, ask: &ask, case, last });
        let Some(record) = running.one(&ask)? else {
            partial = true;
            break;
        };
        campaign.judge(&record.figures.outcome);
    }
    Ok(running.document(&campaign, started, partial))
}

/// What no thread should have to find out.
pub(crate) fn check(options: &BenchOptions) -> Result<(), BenchError> {
    let refuse = |text: &str| Err(BenchError::Usage(text.into()));
    if options.source.is_ipv4() != options.destination.is_ipv4() {
        return refuse(
            "the addresses do not fit each other (--source, --destination): one is of IPv4 and one of IPv6; give two of \
             one version",
        );
    }
    if options.tx == options.rx {
        return refuse(
            "the ports cannot be one (--tx, --rx): frames must pass the device between them; give two interfaces",
        );
    }
    if options.streams.is_empty() || options.streams.len() > 64 {
        return refuse("a benchmark has 1 to 64 streams (plan): state as many");
    }
    Ok(())
}

impl Running<'_> {
    /// One trial, made again where it told nothing of the device; `None` where the benchmark ends.
    fn one(&mut self, ask: &Ask) -> Result<Option<TrialRecord>, BenchError> {
        let mut again = 0;
        loop {
            if !self.ready(ask)? {
                return Ok(None);
            }
            let at = (monotonic_now() - self.begin).as_nanos();
            let mut record = self.tester.trial(self.options, ask, self.stop)?;
            if self.stop.load(Ordering::Acquire) {
                return Ok(None);
            }
            self.look_after(&mut record)?;
            if record.clock_set {
                self.event("clock-set", "the host's clock was set during a trial".into());
            }
            let invalid = record.invalid.clone();
            self.kept.push(Kept {
                case: ask.case,
                frames: ask.frames.clone(),
                load: ask.load(),
                trial: trial(self.options, ask, &record, at),
            });
            match invalid {
                Some(why) if again < AGAIN => {
                    self.event("trial-repeated", format!("a trial is made again: {why}"));
                    again += 1;
                }
                Some(why) => {
                    self.event("tester-overloaded", format!("a trial tells nothing of the device: {why}"));
                    return Ok(Some(record));
                }
                None => return Ok(Some(record)),
            }
        }
    }

    /// Brings the device into the case and sees that it forwards; whether to go on.
    fn ready(&mut self, ask: &Ask) -> Result<bool, BenchError> {
        let changed = self.case != Some(ask.case);
        if changed && let Some(case) = self.options.cases.get(ask.case) {
            cases::set(case)?;
            self.case = Some(ask.case);
        }
        std::thread::sleep(self.options.settle.to_std());
        self.forwards(self.kept.is_empty())
    }

    /// Waits until the device forwards. One that has never done so is an error, one that has stopped an event.
    fn forwards(&mut self, first: bool) -> Result<bool, BenchError> {
        let options = self.options;
        let begin = monotonic_now();
        let prompt = if first { options.patience } else { PROMPT };
        let sent = match self.tester.probe(options, prompt, self.stop)? {
            Ok(_) => return Ok(!self.stop.load(Ordering::Acquire)),
            Err(sent) => sent,
        };
        if self.stop.load(Ordering::Acquire) {
            return Ok(false);
        }
        if first {
            return Err(self.silent(sent, prompt));
        }
        self.event("device-silent", "the device has stopped forwarding; it is waited for".into());
        match self.tester.probe(options, options.patience, self.stop)? {
            Ok(_) => {
                let away = monotonic_now() - begin;
                self.event(
                    "device-back",
                    format!("the device forwards again after {:.1} s", away.as_secs_f64()),
                );
                std::thread::sleep(options.settle.to_std());
                Ok(true)
            }
            Err(_) => {
                let waited = options.patience;
                self.event("device-gone", format!("the device did not forward again within {waited}"));
                Ok(false)
            }
        }
    }

    fn silent(&self, sent: u64, waited: Duration) -> BenchError {
        let BenchOptions { tx, rx, source, destination, .. } = self.options;
        BenchError::Silent(format!(
            "{tx} to {rx}): of {sent} frames from {source} to {destination} within {waited} none came"
        ))
    }

    /// A trial whose end is all lost is looked at: did the device carry too little, or had it gone?
    fn look_after(&mut self, record: &mut TrialRecord) -> Result<(), BenchError> {
        let outcome = &record.figures.outcome;
        let suspicious = outcome.lost > 0 && (outcome.carried == 0 || ends_in_silence(record));
        if !suspicious || record.invalid.is_some() {
            return Ok(());
        }
        if self.tester.probe(self.options, PROMPT, self.stop)?.is_err() && !self.stop.load(Ordering::Acquire)
        {
            record.invalid = Some("the device stopped forwarding during the trial".into());
            record.figures.outcome.tester_failed = true;
        }
        Ok(())
    }

    fn event(&mut self, kind: &str, text: String) {
        let at_ns = (monotonic_now() - self.begin).as_nanos();
        self.events.push(BenchmarkEvent { at_ns, kind: kind.into(), text });
    }

    fn document(self, campaign: &Campaign, started: SystemTime, partial: bool) -> Benchmark {
        let options = self.options;
        let Summed { results, differences, soft_spots } = match options.procedure {
            Procedure::Sweep { .. } | Procedure::FrameLoss { .. } => sweep(options, &self.kept),
            _ => found(options, campaign.findings()),
        };
        let verdicts = verdicts(options, &self.kept);
        let rfc3339 = |time| humantime::format_rfc3339_micros(time).to_string();
        let partial = partial || self.events.iter().any(|event| event.kind == "device-gone");
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
                labels: options.labels.clone(),
            },
            setup: setup(options, &self.tester),
            warnings: warnings(options, &self.kept),
            trials: self.kept.into_iter().map(|kept| kept.trial).collect(),
            results,
            differences,
            verdicts,
            soft_spots,
            events: self.events,
            calibration: None,
            self_test: None,
            limits: Vec::new(),
        }
    }
}

/// Whether nothing came in the last tenth of the trial.
fn ends_in_silence(record: &TrialRecord) -> bool {
    record.figures.quiet_end
}

pub(crate) fn setup(options: &BenchOptions, tester: &Tester) -> Setup {
    let cases = options.cases.iter().map(|case| (case.name.clone(), case.command.clone()));
    let trial = match &options.procedure {
        Procedure::Sweep { length, .. } | Procedure::FrameLoss { length, .. } => *length,
        Procedure::Throughput(goal)
        | Procedure::BackToBack { goal, .. }
        | Procedure::Recovery { goal, .. } => goal.full,
        Procedure::Mlr(plan) => plan.goals.last().map_or(Duration::ZERO, |goal| goal.final_length),
    };
    Setup {
        tx: options.tx.to_string(),
        rx: options.rx.to_string(),
        source: options.source.to_string(),
        destination: options.destination.to_string(),
        next_hop: tester.next_hop().to_string(),
        line_rate_bps: crate::tester::real(options.line.bits()),
        streams: options.streams.iter().map(frames::words).collect(),
        trial_ns: trial.as_nanos(),
        settle_ns: options.settle.as_nanos(),
        repeats: options.repeats,
        cases: cases.collect(),
        seed: options.seed.0,
        software: env!("CARGO_PKG_VERSION").into(),
        kernel: host_info::kernel_release().unwrap_or_default(),
        rate_layer: "l1".into(),
        probes: tester.probes(),
    }
}

fn warnings(options: &BenchOptions, kept: &[Kept]) -> Vec<String> {
    let mut warnings = Vec::new();
    let invalid = kept.iter().filter(|kept| kept.trial.invalid.is_some()).count();
    if invalid > 0 {
        warnings.push(format!(
            "{invalid} of {} trials tell nothing of the device; see why with each",
            kept.len()
        ));
    }
    if options.real_line().is_none() {
        warnings.push(
            "the line is none: the interfaces have no line rate of their own, so that frames leave as fast as they are \
             given, and loads are shares of the rate that was stated"
                .into(),
        );
    }
    let bursts = kept.iter().map(|kept| kept.trial.longest_catch_up).max().unwrap_or(0);
    if bursts > 64 {
        warnings.push(format!(
            "the tester's host was away: up to {bursts} frames left at once to make up for it, which a device may not \
             hold; see longest_catch_up of each trial"
        ));
    }
    warnings
}
