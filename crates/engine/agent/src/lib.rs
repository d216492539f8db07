//! Scheduled measurements: each [`Job`] measures its targets at regular intervals, all jobs in one process.
//!
//! A job has a thread of its own, which waits for the next start, measures, and removes the job's expired runs. The targets of a
//! job are measured side by side in one run. Runs of one job do not overlap: starts that pass during a run are missed, and reported.
//!
//! - `schedule`: the start times of a job.
//!
//! The options of this job fail, so that it sends nothing: the agent reports the error, and goes on with the next start.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! use romer_agent::{Agent, AgentEvent, Job, Report};
//! use romer_endpoint::EndpointError;
//! use romer_units::Duration;
//!
//! let job = Job::<EndpointError> {
//!     name: "core".into(),
//!     every: Duration::from_millis(10),
//!     offset: Duration::ZERO,
//!     keep: None,
//!     folder: "runs/core".into(),
//!     options: Box::new(|| Err(EndpointError::Usage("no target".into()))),
//! };
//! let failed = Arc::new(AtomicU64::new(0));
//! let counted = Arc::clone(&failed);
//! let report: Report<EndpointError> = Arc::new(move |_: &str, event: AgentEvent<EndpointError>| {
//!     if let AgentEvent::Ended(run) = event {
//!         counted.fetch_add(u64::from(run.is_err()), Ordering::Relaxed);
//!     }
//! });
//! let agent = Agent::start(vec![job], Some(2), &report)?;
//! assert!(agent.finish());
//! assert_eq!(failed.load(Ordering::Relaxed), 2);
//! # Ok::<(), EndpointError>(())
//! ```
#![forbid(unsafe_code)]

mod schedule;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration as StdDuration, SystemTime};

use romer_endpoint::EndpointError;
use romer_host::HostError;
use romer_measure::{MeasureOptions, MeasurementOutcome};
use romer_store::{Runs, StoreError};
use romer_units::Duration;

pub use schedule::{Start, Starts};

/// How often a waiting job looks at the clock, and whether it is to end.
const POLL_INTERVAL: StdDuration = StdDuration::from_millis(50);
/// So long before its start a run is made ready: names are resolved, control connections opened, routes discovered.
const PREPARATION_TIME: StdDuration = StdDuration::from_secs(2);
/// The name of the threads.
const THREAD: &str = "romer-agent";

/// A measurement that is repeated. `E` is the error of its options and of its runs.
pub struct Job<E> {
    /// Its name, which no other job of an agent has.
    pub name: String,
    /// Time between two starts; positive.
    pub every: Duration,
    /// Time from the start of the agent to the first start of the job; not negative.
    pub offset: Duration,
    /// The age at which a run is removed; `None`: runs are kept.
    pub keep: Option<Duration>,
    /// The folder of its runs.
    pub folder: PathBuf,
    /// What a run measures. It is called before each run, so that seeds are fresh and key files are read again.
    pub options: Box<dyn Fn() -> Result<MeasureOptions, E> + Send + Sync>,
}

/// Something that happened to a job.
#[derive(Debug)]
pub enum AgentEvent<E> {
    /// Starts passed while the run before them went on.
    Missed {
        /// Their number.
        starts: u64,
    },
    /// A run has ended.
    Ended(Box<Result<MeasurementOutcome, E>>),
    /// Expired runs were removed.
    Removed {
        /// Their number; positive.
        runs: u64,
    },
    /// An expired run could not be removed.
    NotRemoved(StoreError),
}

/// What happens is reported here: with the name of the job, from its thread.
pub type Report<E> = Arc<dyn Fn(&str, AgentEvent<E>) + Send + Sync>;

/// Jobs at work. Dropping it lets them go on.
#[derive(Debug)]
pub struct Agent {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Agent {
    /// Starts a thread for each job, which ends after `times` runs, or when the agent [is stopped](Self::stop).
    ///
    /// # Errors
    /// [`EndpointError::Host`] where the system gives no thread. Jobs that were started end.
    pub fn start<E: From<EndpointError> + Send + 'static>(
        jobs: Vec<Job<E>>,
        times: Option<u64>,
        report: &Report<E>,
    ) -> Result<Self, EndpointError> {
        let begun = SystemTime::now();
        let mut agent = Self { stop: Arc::default(), threads: Vec::with_capacity(jobs.len()) };
        for job in jobs {
            let (stop, report) = (Arc::clone(&agent.stop), Arc::clone(report));
            let thread = std::thread::Builder::new().name(THREAD.into());
            match thread.spawn(move || repeat(&job, begun, times, &stop, &*report)) {
                Ok(thread) => agent.threads.push(thread),
                Err(source) => {
                    agent.stop();
                    return Err(EndpointError::host(
                        "start a thread",
                        "agent",
                        "raise the limit of processes",
                        HostError::System { operation: "start the thread", subject: THREAD.into(), source },
                    ));
                }
            }
        }
        Ok(agent)
    }

    /// Whether a job still works.
    pub fn is_running(&self) -> bool {
        self.threads.iter().any(|thread| !thread.is_finished())
    }

    /// Ends all jobs: waiting ones at once, runs as if they were interrupted.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Waits for all jobs to end. Gives whether none of them panicked.
    pub fn finish(self) -> bool {
        let mut all = true;
        for thread in self.threads {
            all &= thread.join().is_ok();
        }
        all
    }
}

/// Measures at each start, until `stop` is set or `times` runs were made.
fn repeat<E: From<EndpointError>>(
    job: &Job<E>,
    begun: SystemTime,
    times: Option<u64>,
    stop: &AtomicBool,
    report: &(dyn Fn(&str, AgentEvent<E>) + Send + Sync),
) {
    let mut starts = Starts::new(begun + job.offset.to_std(), job.every.to_std());
    remove(job, report);
    let mut made = 0;
    while times.is_none_or(|times| made < times) {
        let Some(Start { time, missed }) = starts.next(SystemTime::now()) else { return };
        if missed > 0 {
            report(&job.name, AgentEvent::Missed { starts: missed });
        }
        if !wait_until(time, stop) {
            return;
        }
        made += 1;
        let run = (job.options)().and_then(|options| {
            // A start that is now or has passed is as soon as possible.
            let at = Some(time).filter(|time| *time > SystemTime::now());
            romer_measure::measure(&MeasureOptions { at, ..options }, stop, &mut ()).map_err(E::from)
        });
        report(&job.name, AgentEvent::Ended(Box::new(run)));
        remove(job, report);
    }
}

/// Removes the expired runs of a job.
fn remove<E>(job: &Job<E>, report: &(dyn Fn(&str, AgentEvent<E>) + Send + Sync)) {
    let Some(keep) = job.keep else { return };
    match Runs::at(job.folder.clone()).remove_expired(keep.to_std(), SystemTime::now()) {
        Ok(0) => {}
        Ok(runs) => report(&job.name, AgentEvent::Removed { runs }),
        Err(error) => report(&job.name, AgentEvent::NotRemoved(error)),
    }
}

/// Waits until a run that begins at `time` is to be made ready. `false`: `stop` was set before.
fn wait_until(time: SystemTime, stop: &AtomicBool) -> bool {
    loop {
        if stop.load(Ordering::Acquire) {
            return false;
        }
        match time.duration_since(SystemTime::now() + PREPARATION_TIME) {
            Ok(left) if !left.is_zero() => std::thread::sleep(left.min(POLL_INTERVAL)),
            _ => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// A job whose options fail reports each failure, and ends after its number of runs.
    #[test]
    fn failing_jobs_go_on() {
        let events: Arc<Mutex<Vec<String>>> = Arc::default();
        let folder = tempfile::tempdir().unwrap();
        let job = Job::<EndpointError> {
            name: "core".into(),
            every: Duration::from_millis(10),
            offset: Duration::ZERO,
            keep: None,
            folder: folder.path().into(),
            options: Box::new(|| Err(EndpointError::Usage("of this test".into()))),
        };
        let heard = Arc::clone(&events);
        let report: Report<EndpointError> = Arc::new(move |name: &str, event: AgentEvent<EndpointError>| {
            if let AgentEvent::Ended(run) = event
                && let Err(error) = *run
            {
                heard.lock().unwrap().push(format!("{name}: {error}"));
            }
        });
        let agent = Agent::start(vec![job], Some(3), &report).unwrap();
        assert!(agent.finish());
        assert_eq!(*events.lock().unwrap(), ["core: of this test"; 3]);
    }

    /// A job that waits ends when the agent is stopped.
    #[test]
    fn waiting_jobs_are_stopped() {
        let job = Job::<EndpointError> {
            name: "core".into(),
            every: Duration::from_secs(3_600),
            offset: Duration::from_secs(3_600),
            keep: None,
            folder: PathBuf::new(),
            options: Box::new(|| Err(EndpointError::Usage(String::new()))),
        };
        let report: Report<EndpointError> =
            Arc::new(|name: &str, _: AgentEvent<EndpointError>| assert!(name.is_empty(), "it measures"));
        let agent = Agent::start(vec![job], None, &report).unwrap();
        assert!(agent.is_running());
        agent.stop();
        assert!(agent.finish());
    }
}
