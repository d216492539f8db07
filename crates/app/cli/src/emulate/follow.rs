//! An emulation that follows a path: the path is measured period after period, and the scenario is fitted again to each.
//!
//! One thread begins a measurement at the start of each period. Each measurement has a thread of its own, because it waits for its last
//! packets while the next one sends. Another thread fits what was measured, and applies the fits through the handle that the API uses, so
//! that no packet is lost by a change. A period without answers changes nothing.

mod recording;

use std::fs::{self, DirBuilder};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration as StdDuration, Instant, SystemTime, UNIX_EPOCH};

use romer_analyze::evaluate::Evaluated;
use romer_emulate::Opened;
use romer_emulate::live::{Control, LiveError};
use romer_emulate::model_fit::{ModelKind, Modelled};
use romer_endpoint::names::Target;
use romer_endpoint::tls::{ChannelOptions, TlsFiles};
use romer_impair::Nanos;
use romer_measure::{MeasureOptions, ProbeSize, StreamOptions, check_sizes};
use romer_record::document::ProbeDirection;
use romer_record::warning::RefitEvent;
use romer_record::{Fate, OneWaySingleton};
use romer_report::escape;
use romer_store::Location;
use romer_traffic::{Limit, Request, TrafficModel};
use romer_units::{Dscp, Duration};

use super::run_folder::{MEASUREMENTS, REFIT};
use crate::args::FollowArgs;
use crate::command;
use crate::failure::Failure;
use crate::measure::exit_code;
use recording::Recording;

/// How often the threads look whether they are to end.
const POLL_INTERVAL: StdDuration = StdDuration::from_millis(50);
/// Measurements at a time: besides that of the period, earlier ones may wait for their last packets, or for a target that does not answer.
const MOST_MEASUREMENTS: usize = 3;
/// How long the target is measured before the emulation begins, and the longest time between two packets then: enough that one of them arrives on
/// a path that can be followed.
const CHECK_DURATION: Duration = Duration::from_millis(200);
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// The run of that, which is not kept.
const CHECK: &str = "check";
/// Packets that must have arrived in a period for a fit.
const FEWEST_PACKETS: u64 = 20;

/// The threads that follow a path.
pub(super) struct Follower {
    stop: Arc<AtomicBool>,
    measuring: JoinHandle<()>,
    fitting: JoinHandle<Result<(), Failure>>,
    /// Of runs that are not kept.
    scratch: Option<PathBuf>,
}

/// The path, and how it is measured in each period.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    target: Target,
    every: Duration,
    interval: Duration,
    direction: ProbeDirection,
    stamp_only: bool,
    dscp: Dscp,
    /// UDP payload of the packets and the size of their IP packets, octets, if they are known by [`Plan::check`].
    sizes: Option<(u32, Option<u32>)>,
}

impl Plan {
    /// What is asked for; `None` where no path is to be followed.
    pub(super) fn read(arguments: &FollowArgs) -> Result<Option<Self>, Failure> {
        let Some(target) = arguments.target.clone() else { return Ok(None) };
        let plan = Self {
            target,
            every: arguments.refit_every,
            interval: arguments.interval,
            direction: arguments.direction.into(),
            stamp_only: arguments.stamp_only,
            dscp: arguments.dscp,
            sizes: None,
        };
        let probes = plan.every.as_nanos() / plan.interval.as_nanos().max(1);
        if probes.unsigned_abs() < FEWEST_PACKETS {
            return Err(Failure::usage(format!(
                "too few probes for a fit (--refit-every {}, --interval {}): {probes} in a period, of at least {FEWEST_PACKETS}; use a \
                 longer period or a shorter interval",
                plan.every, plan.interval
            )));
        }
        check_sizes(&plan.options(Path::new(""), plan.every))?;
        Ok(Some(plan))
    }

    /// Measures for a moment, before the emulation begins, and notes how large packets are.
    ///
    /// # Errors
    /// The target does not answer, or this host cannot measure.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        let scratch = make_scratch()?;
        let checked = Self { interval: self.interval.min(CHECK_INTERVAL), ..self.clone() };
        let options = checked.options(&scratch.join(CHECK), CHECK_DURATION);
        let outcome = romer_measure::measure(&options, &AtomicBool::new(false), &mut ());
        let _ = fs::remove_dir_all(&scratch);
        let outcome = outcome?;
        exit_code(&outcome)?;
        let traffic = outcome.streams.first().map(|stream| &stream.measurement.traffic);
        self.sizes = traffic.map(|traffic| (traffic.payload_octets, traffic.packet_octets));
        Ok(())
    }

    /// What is followed, in words.
    pub(super) fn text(&self) -> String {
        let size = match self.sizes {
            Some((payload, Some(packet))) => format!(" of {payload} bytes (IP packets of {packet} bytes)"),
            Some((payload, None)) => format!(" of {payload} bytes"),
            None => String::new(),
        };
        format!(
            "follows {}, with a packet{size} every {} and a refit every {}",
            escape::terminal(&self.target.text),
            self.interval.rounded(),
            self.every.rounded()
        )
    }

    /// A measurement of this length, whose run goes to `folder`.
    fn options(&self, folder: &Path, duration: Duration) -> MeasureOptions {
        let limit = Limit::Duration(duration);
        let traffic =
            Request { interval: Some(self.interval), ..Request::new(TrafficModel::Periodic, limit) };
        let stream = StreamOptions { target: self.target.clone(), traffic, size: ProbeSize::Natural };
        let location = Location::Folder { path: folder.into(), force: false };
        MeasureOptions {
            direction: self.direction,
            stamp_only: self.stamp_only,
            channel: ChannelOptions::Tls(TlsFiles::default()),
            dscp: self.dscp,
            report_every: self.every,
            comment: Some("path that an emulation follows".into()),
            ..MeasureOptions::new(vec![stream], command::as_given(), location)
        }
    }

    /// Measures a period. An error is that of the measurement, or nothing where it only has no answers.
    fn measure(&self, folder: &Path, stop: &AtomicBool) -> Result<Evaluated, Option<String>> {
        let outcome = romer_measure::measure(&self.options(folder, self.every), stop, &mut ())
            .map_err(|error| Some(error.to_string()))?;
        let lost = outcome.responder_lost.as_ref().map(ToString::to_string);
        outcome.streams.into_iter().next().filter(|stream| arrived(stream) > 0).ok_or(lost)
    }
}

/// The packets that arrived, of the direction with the most.
fn arrived(stream: &Evaluated) -> u64 {
    let related = &stream.related;
    let count = |singletons: &Vec<OneWaySingleton>| {
        singletons.iter().filter(|singleton| singleton.fate == Fate::Arrived && singleton.copy == 0).count()
            as u64
    };
    [&related.round_trip, &related.forward, &related.reverse].into_iter().map(count).max().unwrap_or(0)
}

/// A period that was measured; an error as of [`Plan::measure`].
struct Period<T> {
    number: u64,
    measured: Result<T, Option<String>>,
}

/// What is done with a period.
#[derive(Debug, PartialEq, Eq)]
enum Decision<T> {
    Fit(T),
    Skip,
    Unanswered(Option<String>),
}

/// Of periods that wait, the newest with answers is fitted, unless one after it was already: `last`. In their order.
fn decide<T>(mut waiting: Vec<Period<T>>, last: u64) -> Vec<(u64, Decision<T>)> {
    waiting.sort_by_key(|period| period.number);
    let answered = waiting.iter().filter(|period| period.measured.is_ok()).map(|period| period.number);
    let newest = answered.max().filter(|newest| *newest > last);
    let decision = |period: Period<T>| {
        let decision = match period.measured {
            Ok(measured) if newest == Some(period.number) => Decision::Fit(measured),
            Ok(_) => Decision::Skip,
            Err(error) => Decision::Unanswered(error),
        };
        (period.number, decision)
    };
    waiting.into_iter().map(decision).collect()
}

/// The number of the period that begins next, so long after the beginning of the first. Those that have begun meanwhile, while this
/// host stood still, are left out.
fn next_period(elapsed: StdDuration, every: StdDuration) -> u64 {
    let begun = elapsed.as_nanos() / every.as_nanos().max(1);
    u64::try_from(begun).unwrap_or(u64::MAX).saturating_add(2)
}

/// Waits for a moment. Gives whether it came before the end.
fn wait_until(due: Instant, stop: &AtomicBool) -> bool {
    loop {
        if stop.load(Ordering::Acquire) {
            return false;
        }
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(POLL_INTERVAL));
    }
}

/// Measures every period until the end.
fn measure_all(plan: &Plan, runs: &Path, keeps: bool, stop: &AtomicBool, out: &Sender<Period<Evaluated>>) {
    let (begin, every) = (Instant::now(), plan.every.to_std());
    let running = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let mut number = 1_u64;
        loop {
            let after = every.saturating_mul(u32::try_from(number - 1).unwrap_or(u32::MAX));
            if !wait_until(begin + after, stop) {
                return;
            }
            if running.load(Ordering::Acquire) < MOST_MEASUREMENTS {
                running.fetch_add(1, Ordering::AcqRel);
                let (running, out) = (&running, out.clone());
                let folder = runs.join(format!("{number:03}"));
                scope.spawn(move || {
                    let measured = plan.measure(&folder, stop);
                    if !keeps {
                        let _ = fs::remove_dir_all(&folder);
                    }
                    running.fetch_sub(1, Ordering::AcqRel);
                    // Nobody waits for it any more once the refits have ended.
                    let _ = out.send(Period { number, measured });
                });
            } else {
                let error = format!("{MOST_MEASUREMENTS} measurements of earlier periods have not ended");
                let _ = out.send(Period { number, measured: Err(Some(error)) });
            }
            number = next_period(begin.elapsed(), every);
        }
    });
}

/// A period with its fit.
struct PeriodFit<'a> {
    number: u64,
    modelled: &'a Modelled,
    packets: u64,
    /// Nanoseconds after the start of the emulation.
    now: Nanos,
}

/// Applies fits and records them. `apply` gives the number of the scenario, and since when it holds, nanoseconds after the start.
struct Refitter<A> {
    apply: A,
    recording: Option<Recording>,
}

impl<A: FnMut(Opened) -> Result<(u64, Nanos), LiveError>> Refitter<A> {
    /// Applies a fit, and adds what there is to be known of it to `events`. Refits end where they cannot be saved, or where another scenario
    /// was applied by somebody else.
    fn refit(
        &mut self,
        fit: &PeriodFit<'_>,
        events: &mut Vec<RefitEvent>,
    ) -> ControlFlow<Result<(), Failure>> {
        let PeriodFit { number: period, modelled, packets, now: at_ns } = *fit;
        let fitted = &modelled.fitted;
        let failed = |error: String| RefitEvent::RefitFailed { period, at_ns, error };
        let opened = match fitted.open() {
            Ok(opened) => opened,
            Err(why) => {
                events.push(failed(why));
                return ControlFlow::Continue(());
            }
        };
        let config = opened.scenario.config.clone();
        let saved = self.recording.as_ref().map(|recording| recording.save(&stem(period), fitted));
        let scenario = match saved.transpose() {
            Ok(scenario) => scenario,
            Err(failure) => {
                events.push(failed(failure.text().to_owned()));
                return ControlFlow::Break(Err(failure));
            }
        };
        let (revision, since) = match (self.apply)(opened) {
            Ok(applied) => applied,
            Err(LiveError::Stale { revision }) => {
                events.push(RefitEvent::Superseded { period, at_ns, revision });
                return ControlFlow::Break(Ok(()));
            }
            Err(LiveError::Ended) => return ControlFlow::Break(Ok(())),
            Err(error) => {
                events.push(failed(error.to_string()));
                return ControlFlow::Continue(());
            }
        };
        events.push(RefitEvent::Refitted {
            period,
            at_ns: since,
            revision,
            scenario: scenario.clone(),
            packets,
            misfits: modelled.misfits(),
            warnings: fitted.warnings.clone(),
        });
        let Some((recording, name)) = self.recording.as_mut().zip(scenario) else {
            return ControlFlow::Continue(());
        };
        match recording.add(&name, since, fitted, &config) {
            Ok(false) => ControlFlow::Continue(()),
            Ok(true) => {
                events.push(RefitEvent::TimelineFull { period, at_ns: since });
                ControlFlow::Continue(())
            }
            Err(failure) => {
                events.push(failed(failure.text().to_owned()));
                ControlFlow::Break(Err(failure))
            }
        }
    }
}

/// The name of the scenario of a period, without its ending.
fn stem(period: u64) -> String {
    format!("{REFIT}{period:03}")
}

/// Fits what was measured until the end, and applies it.
fn refit_all<A: FnMut(Opened) -> Result<(u64, Nanos), LiveError>>(
    refitter: &mut Refitter<A>,
    (control, begin): (&Control, Instant),
    target: &str,
    stop: &AtomicBool,
    measured: &Receiver<Period<Evaluated>>,
) -> Result<(), Failure> {
    let now = || i64::try_from(begin.elapsed().as_nanos()).unwrap_or(i64::MAX);
    let mut last = 0;
    while let Ok(first) = measured.recv() {
        let waiting = std::iter::once(first).chain(measured.try_iter()).collect();
        for (period, decision) in decide(waiting, last) {
            if stop.load(Ordering::Acquire) {
                return Ok(());
            }
            let stream = match decision {
                Decision::Fit(stream) => stream,
                Decision::Skip => {
                    control.note_refit(RefitEvent::PeriodSkipped { period, at_ns: now() });
                    continue;
                }
                Decision::Unanswered(error) => {
                    control.note_refit(RefitEvent::Unanswered { period, at_ns: now(), error });
                    continue;
                }
            };
            last = period;
            let packets = arrived(&stream);
            let modelled = match fit(&stream, packets, target, &stem(period)) {
                Ok(modelled) => modelled,
                Err(error) => {
                    control.note_refit(RefitEvent::RefitFailed { period, at_ns: now(), error });
                    continue;
                }
            };
            let mut events = Vec::new();
            let fit = PeriodFit { number: period, modelled: &modelled, packets, now: now() };
            let next = refitter.refit(&fit, &mut events);
            events.into_iter().for_each(|event| control.note_refit(event));
            if let ControlFlow::Break(result) = next {
                stop.store(true, Ordering::Release);
                return result;
            }
        }
    }
    Ok(())
}

/// A scenario of a period, whose files begin with `stem`.
fn fit(stream: &Evaluated, packets: u64, target: &str, stem: &str) -> Result<Modelled, String> {
    if packets < FEWEST_PACKETS {
        let arrived = romer_units::counted(packets, "packet");
        return Err(format!("{arrived} arrived, and a fit needs {FEWEST_PACKETS}"));
    }
    romer_loop::path_model::fit(stream, target, stem, ModelKind::Models, false, Duration::ZERO)
        .map_err(|error| error.to_string())
}

impl Follower {
    /// Begins to follow a path, for an emulation that began at `begin` with the scenario `start`. What is kept goes to `out`.
    pub(super) fn start(
        plan: Plan,
        control: Control,
        begin: Instant,
        start: &str,
        out: Option<&Path>,
    ) -> Result<Self, Failure> {
        let scratch = if out.is_none() { Some(make_scratch()?) } else { None };
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, measured) = channel();
        let target = plan.target.text.clone();
        let recording = out.map(|folder| Recording::new(folder, start, &target));
        let refused = |error: io::Error| {
            Failure::environment(format!("cannot start a thread (for --follow): {error}; see `romer doctor`"))
        };
        let fitting = {
            let stop = Arc::clone(&stop);
            let work = move || {
                let mut expected = control.scenario().revision;
                let apply = |opened: Opened| -> Result<(u64, Nanos), LiveError> {
                    let applied = control.apply(opened, Some(expected))?;
                    expected = applied.revision;
                    Ok((applied.revision, applied.after))
                };
                let mut refitter = Refitter { apply, recording };
                refit_all(&mut refitter, (&control, begin), &target, &stop, &measured)
            };
            Builder::new().name("follow-fit".into()).spawn(work).map_err(refused)?
        };
        let runs = match out {
            Some(out) => make_runs(out)?,
            None => scratch.clone().unwrap_or_default(),
        };
        let keeps = out.is_some();
        let measuring = {
            let stop = Arc::clone(&stop);
            let work = move || measure_all(&plan, &runs, keeps, &stop, &sender);
            Builder::new().name("follow".into()).spawn(work).map_err(refused)?
        };
        Ok(Self { stop, measuring, fitting, scratch })
    }

    /// Tells the threads to end.
    pub(super) fn halt(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Waits for their end.
    ///
    /// # Errors
    /// A refit could not be saved.
    pub(super) fn end(self) -> Result<(), Failure> {
        self.halt();
        let measured = self.measuring.join();
        let fitted = self.fitting.join();
        if let Some(scratch) = &self.scratch {
            let _ = fs::remove_dir_all(scratch);
        }
        match (measured, fitted) {
            (Ok(()), Ok(fitted)) => fitted,
            _ => Err(Failure::own("a thread has ended (emulate --follow): unknown cause")),
        }
    }
}

/// The folder for runs that are kept, in the folder of the emulation.
fn make_runs(out: &Path) -> Result<PathBuf, Failure> {
    let runs = out.join(MEASUREMENTS);
    fs::create_dir_all(&runs).map_err(|error| {
        Failure::environment(format!(
            "cannot make a folder for measurements ({}): {error}; name another folder with --out",
            escape::path(&runs)
        ))
    })?;
    Ok(runs)
}

/// A new folder for runs that are not kept.
fn make_scratch() -> Result<PathBuf, Failure> {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let path = std::env::temp_dir().join(format!("romer-follow-{}-{nanos}", std::process::id()));
    DirBuilder::new().mode(0o700).create(&path).map_err(|error| {
        Failure::environment(format!(
            "cannot make a folder for measurements ({}): {error}; name a folder with --out, or set TMPDIR",
            escape::path(&path)
        ))
    })?;
    Ok(path)
}

#[cfg(test)]
mod tests;
