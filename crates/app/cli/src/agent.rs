//! `romer agent`: scheduled measurements.

mod file;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use romer_agent::{Agent, AgentEvent, Job, Report};
use romer_host::service_manager::ServiceManager;
use romer_measure::{MeasureOptions, MeasurementOutcome, Telemetry};
use romer_record::Exit;
use romer_store::Runs;
use romer_telemetry::{AgentMetrics, ProbeMetrics, Registry, RunOutcome};
use romer_traffic::Trace;
use romer_units::counted;

pub(crate) use self::file::options as measurement_options;
use self::file::{File, Scheduled};
use crate::args::AgentArgs;
use crate::failure::Failure;
use crate::telemetry::Exporter;
use crate::{command, measure, output, signals};

/// How often the signals are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Measures until it is ended, and gives the exit code.
pub(crate) fn run(arguments: &AgentArgs) -> Result<Exit, Failure> {
    let file = File::read(&arguments.config, &folder()?)?;
    let targets: usize = file.measurements.iter().map(|one| one.arguments.targets.len()).sum();
    let traces = file.measurements.iter().map(|one| check(&file, one)).collect::<Result<Vec<_>, _>>()?;
    if arguments.check {
        let [measurements, targets] = [(file.measurements.len(), "measurement"), (targets, "target")]
            .map(|(number, what)| counted(u64::try_from(number).unwrap_or(u64::MAX), what));
        output::print(&format!("{measurements} of {targets}\n"));
        return Ok(Exit::Success);
    }
    let mut manager = ServiceManager::from_environment();
    let ending = signals::ending()?;
    // Each stream takes descriptors; what the system does not give shows when they are used up.
    let _ = romer_host::descriptors::raise();
    let exporter = Exporter::start(&arguments.exporter)?;
    if let (Some(exporter), false) = (&exporter, arguments.quiet) {
        output::eprint_line(exporter.text().trim_end());
    }
    let registry = exporter.as_ref().map(|exporter| &exporter.registry);
    let metrics = registry.map(AgentMetrics::new);
    if let Some(metrics) = &metrics {
        file.measurements.iter().for_each(|one| metrics.add_measurement(&one.name));
    }
    let jobs = file.measurements.into_iter().zip(traces).map(|(one, trace)| {
        let telemetry = registry.map(|registry| target_metrics(registry, &one));
        job(one, trace, telemetry)
    });
    let jobs = jobs.collect();
    let tally = Arc::new(Mutex::new(Tally::default()));
    let (counts, quiet) = (Arc::clone(&tally), arguments.quiet);
    let report: Report<Failure> = Arc::new(move |name: &str, event: AgentEvent<Failure>| {
        if let (Some(metrics), AgentEvent::Missed { starts }) = (&metrics, &event) {
            metrics.add_missed(name, *starts);
        }
        if let Some(exit) = report_event(name, event, quiet) {
            if let Some(metrics) = &metrics {
                metrics.add_run(name, run_outcome(exit));
            }
            counts.lock().unwrap_or_else(PoisonError::into_inner).count(exit);
        }
    });
    let agent = Agent::start(jobs, arguments.times, &report)?;
    manager.ready();
    let mut stated = Tally::default();
    while !ending.has_come() && agent.is_running() {
        manager.alive();
        let now = *tally.lock().unwrap_or_else(PoisonError::into_inner);
        if now != stated {
            manager.status(&format!("{}, {} failed", counted(now.runs, "run"), now.failed));
            stated = now;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    manager.stopping();
    agent.stop();
    if !agent.finish() {
        return Err(Failure::own(
            "a measurement has ended by an internal error (agent): see the message above",
        ));
    }
    if ending.has_come() {
        return Ok(ending.exit());
    }
    let worst = tally.lock().unwrap_or_else(PoisonError::into_inner).worst;
    Ok(worst)
}

/// Where runs are saved unless the file says so: the folder that the service manager made, or the user's.
fn folder() -> Result<PathBuf, Failure> {
    let made = std::env::var("STATE_DIRECTORY").unwrap_or_default();
    match made.split(':').next() {
        Some(folder) if !folder.is_empty() => Ok(folder.into()),
        _ => Ok(Runs::of_user()?.root().to_owned()),
    }
}

/// Refuses a measurement that no target can have. Gives its trace.
fn check(file: &File, one: &Scheduled) -> Result<Option<Trace>, Failure> {
    let trace = crate::traffic::trace(&one.arguments.traffic)?;
    let options = measure::options(&one.arguments, trace.clone())?;
    romer_measure::check(&options).map_err(|error| file.fault(&one.place, error))?;
    Ok(trace)
}

/// The metrics of the targets of a measurement, which exist from now on.
fn target_metrics(registry: &Registry, one: &Scheduled) -> Telemetry {
    let metrics = ProbeMetrics::of_measurement(registry, &one.name);
    for target in &one.arguments.targets {
        metrics.target(&target.text);
    }
    Telemetry { metrics: Arc::new(metrics), delays_at_end: true }
}

/// A measurement as the engine repeats it.
fn job(one: Scheduled, trace: Option<Trace>, telemetry: Option<Telemetry>) -> Job<Failure> {
    let Scheduled { name, every, offset, keep, folder, arguments, words, .. } = one;
    let options = move || -> Result<MeasureOptions, Failure> {
        let options = measure::options(&arguments, trace.clone())?;
        let traffic = options.streams.first().map(|stream| &stream.traffic);
        let drawn = traffic.filter(|traffic| traffic.is_random() && arguments.traffic.seed.is_none());
        let command = command::of(words.clone(), drawn.map(|traffic| traffic.seed));
        Ok(MeasureOptions { command, telemetry: telemetry.clone(), ..options })
    };
    Job { name, every, offset, keep, folder, options: Box::new(options) }
}

/// What the runs came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tally {
    runs: u64,
    failed: u64,
    /// The exit code of the first run that failed.
    worst: Exit,
}

impl Default for Tally {
    fn default() -> Self {
        Self { runs: 0, failed: 0, worst: Exit::Success }
    }
}

impl Tally {
    fn count(&mut self, exit: Exit) {
        self.runs += 1;
        if exit != Exit::Success {
            self.failed += 1;
            self.worst = if self.worst == Exit::Success { exit } else { self.worst };
        }
    }
}

const fn run_outcome(exit: Exit) -> RunOutcome {
    match exit {
        Exit::Success => RunOutcome::Passed,
        Exit::LimitFailed => RunOutcome::LimitFailed,
        _ => RunOutcome::Failed,
    }
}

/// Prints what happened to a measurement. Gives the exit code of a run that has ended.
fn report_event(name: &str, event: AgentEvent<Failure>, quiet: bool) -> Option<Exit> {
    let note = |text: String| {
        if !quiet {
            output::eprint_line(&format!("note: {name}: {text}"));
        }
    };
    match event {
        AgentEvent::Missed { starts } => {
            note(format!(
                "{} missed: the previous run had not ended; runs do not overlap",
                counted(starts, "start")
            ));
        }
        AgentEvent::Removed { runs } => note(format!("{} removed", counted(runs, "expired run"))),
        AgentEvent::NotRemoved(error) => output::eprint_line(&format!("warning: {name}: {error}")),
        AgentEvent::Ended(run) => {
            return Some(match *run {
                Err(failure) => failure.of_run(name).print(),
                Ok(outcome) => report_run(name, &outcome, quiet),
            });
        }
    }
    None
}

/// Prints what a run came to, and gives its exit code. One that the end of the agent interrupted is a success.
fn report_run(name: &str, outcome: &MeasurementOutcome, quiet: bool) -> Exit {
    let folder = outcome.folder.display();
    match measure::exit_code(outcome) {
        Err(failure) => failure.of_run(&format!("{name}, saved to {folder}")).print(),
        Ok(_) => {
            if !quiet {
                output::print(&format!("{name}: saved to {folder}\n"));
            }
            Exit::Success
        }
    }
}
