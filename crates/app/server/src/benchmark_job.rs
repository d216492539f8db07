//! Benchmarks started from the console: the same as `romer bench PLAN`, each on its own thread.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use romer_bench::limits::ResultLimit;
use romer_bench::options::BenchOptions;
use romer_bench::{BenchError, Progress, Watcher};
use romer_host::clock::rfc3339;
use romer_record::benchmark::{
    BENCHMARK_PLAN, Benchmark, BenchmarkEntry, BenchmarkEvent, BenchmarkEventKind, BenchmarkPlan, Judgement,
    Trial,
};
use romer_record::document;
use romer_report::benchmark::{expected_text, observed_text, subject_text};
use romer_report::warning::Text;
use romer_store::{BenchmarkRun, Location, Runs, StoreError};
use romer_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::jobs::{Hand, JobState, Jobs, Work};
use crate::problem::{FieldError, Problem};

/// Trials of a plan that are listed before it runs.
const FORESEEN: usize = 10_000;
/// Octets of a plan.
const LONGEST_PLAN: usize = 256 * 1024;

/// What reads a plan: the text of one in, what it asks for out.
pub type PlanReader = fn(&str) -> Result<Plan, PlanFault>;

/// What a plan asks for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is to be done.
    pub options: BenchOptions,
    /// What the results are held against.
    pub limits: Vec<ResultLimit>,
}

/// Why a plan cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFault {
    /// In words.
    pub text: String,
    /// Line and column in the plan, both from 1, where they are known.
    pub place: Option<(usize, usize)>,
}

/// Request for a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BenchmarkRequest {
    /// Plan as TOML text, as for `romer bench PLAN.toml`.
    pub(crate) plan: String,
}

/// A planned trial.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct PlannedTrial {
    /// Case (device configuration).
    case: String,
    /// Frame size in bytes including FCS, or name of the mixture.
    frames: String,
    /// Load, percent of the line rate.
    load_percent: f64,
    /// Load, frames per second.
    pps: f64,
    /// Duration of the trial, nanoseconds.
    duration_ns: i64,
    /// Number of the repeat, from 0.
    repeat: u32,
}

/// Forecast of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Preview {
    /// Procedure.
    procedure: String,
    /// Criterion of the result, as text.
    criterion: String,
    /// Maximum duration, nanoseconds.
    duration_ns: i64,
    /// Planned trials; empty if each trial depends on the previous result.
    trials: Vec<PlannedTrial>,
    /// Commands that set the cases or reset the device.
    commands: Vec<String>,
}

/// A completed trial.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct TrialPoint {
    /// Case (device configuration).
    case: String,
    /// Frame size in bytes including FCS; `null` for a mixture.
    frame_size: Option<u32>,
    /// Purpose: `measure`, `search`, ...
    purpose: String,
    /// Intended load, percent of the line rate.
    intended_percent: f64,
    /// Offered load, percent of the line rate.
    offered_percent: f64,
    /// Forwarded load, percent of the line rate.
    forwarded_percent: f64,
    /// Frames lost by the device.
    lost: u64,
    /// Median latency, nanoseconds.
    latency_median_ns: Option<f64>,
    /// Maximum latency, nanoseconds.
    latency_max_ns: Option<f64>,
    /// Reason why the trial is invalid; `null` if it is valid.
    invalid: Option<String>,
}

impl From<&Trial> for TrialPoint {
    fn from(trial: &Trial) -> Self {
        Self {
            case: trial.case.clone(),
            frame_size: trial.frame_size,
            purpose: trial.purpose.clone(),
            intended_percent: trial.intended_load.percent,
            offered_percent: trial.offered.percent,
            forwarded_percent: trial.forwarded.percent,
            lost: trial.lost,
            latency_median_ns: trial.latency_ns.median,
            latency_max_ns: trial.latency_ns.max,
            invalid: trial.invalid.as_ref().map(Text::text),
        }
    }
}

/// Progress of a benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct BenchmarkProgress {
    /// Number of the current trial, from 1.
    trial: u64,
    /// Current estimate of the maximum number of trials.
    max_trials: u64,
    /// Maximum remaining duration in nanoseconds, estimated at the start of the trial; includes the self-test
    /// until that has ended.
    remaining_ns: i64,
    /// Description of the current trial, or of the self-test.
    activity: String,
}

/// A benchmark that this server started.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct BenchmarkJob {
    /// Identifier.
    pub(crate) id: u64,
    /// Plan, as TOML text.
    plan: String,
    /// Folder of the results; `romer bench --resume FOLDER` continues a benchmark that ended early.
    folder: String,
    /// Procedure.
    procedure: String,
    /// Criterion of the result, as text.
    criterion: String,
    /// Transmit port and receive port.
    ports: [String; 2],
    /// State.
    state: JobState,
    /// Start time, RFC 3339.
    started: String,
    /// Progress.
    progress: BenchmarkProgress,
    /// Completed trials.
    points: Vec<TrialPoint>,
    /// Failed limits and claims, as text.
    failed_limits: Vec<String>,
    /// Reason why the benchmark failed or is incomplete.
    error: Option<String>,
}

impl Work for BenchmarkJob {
    const NAME: &'static str = "benchmark";
    // Two would disturb each other.
    const AT_ONCE: usize = 1;
    const REMEMBERED: usize = 20;

    fn id(&self) -> u64 {
        self.id
    }

    fn state(&self) -> JobState {
        self.state
    }
}

/// All that were started here, with their documents.
pub(crate) type Benchmarks = Jobs<BenchmarkJob, Benchmark>;

/// Reads plans, and knows what they may do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plans {
    pub(crate) reader: PlanReader,
    /// Whether plans may run commands.
    pub(crate) commands: bool,
}

impl Plans {
    fn read(self, planned: &BenchmarkRequest) -> Result<Plan, Problem> {
        let about = |text: String, place: Option<(usize, usize)>| {
            let (line, column) = place.unzip();
            let error = FieldError { field: "plan".into(), detail: text.clone(), line, column };
            Problem::unprocessable("plan", text).about(error)
        };
        if planned.plan.len() > LONGEST_PLAN {
            return Err(about(format!("the plan is longer than {LONGEST_PLAN} bytes; shorten it"), None));
        }
        (self.reader)(&planned.plan).map_err(|fault| about(fault.text, fault.place))
    }

    /// What a plan comes to, without running any of it.
    pub(crate) fn preview(self, planned: &BenchmarkRequest) -> Result<Preview, Problem> {
        let options = self.read(planned)?.options;
        let forecast = romer_bench::forecast(&options);
        let trials = forecast.asks.iter().take(FORESEEN).map(|ask| {
            let nominal = options.nominal(&ask.frames, ask.load());
            PlannedTrial {
                case: options.cases.get(ask.case).map(|case| case.name.clone()).unwrap_or_default(),
                frames: ask.frames.to_string(),
                load_percent: nominal.load * 100.0,
                pps: nominal.pps,
                duration_ns: ask.length().as_nanos(),
                repeat: ask.repeat,
            }
        });
        Ok(Preview {
            procedure: options.name.into(),
            criterion: options.criterion.clone(),
            duration_ns: forecast.time.as_nanos(),
            trials: trials.collect(),
            commands: commands(&options),
        })
    }

    /// Starts a benchmark.
    pub(crate) fn start(
        self,
        benchmarks: &Benchmarks,
        runs: &Runs,
        planned: &BenchmarkRequest,
    ) -> Result<BenchmarkJob, Problem> {
        let Plan { options, limits } = self.read(planned)?;
        if !self.commands
            && let Some(command) = commands(&options).first()
        {
            let detail = format!(
                "a plan of this page may run no command ({command}): whoever has the token could run any; run the plan \
                 with `romer bench`, or start the console with --allow-commands"
            );
            return Err(Problem::new(axum::http::StatusCode::FORBIDDEN, "commands", detail));
        }
        let started = rfc3339(SystemTime::now());
        let name: String = started.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        let folder = runs.root().join(format!("{name}-{}", options.name));
        let make = |id| BenchmarkJob {
            id,
            plan: planned.plan.clone(),
            folder: folder.display().to_string(),
            procedure: options.name.into(),
            criterion: options.criterion.clone(),
            ports: [options.tx.to_string(), options.rx.to_string()],
            state: JobState::Running,
            started: started.clone(),
            progress: BenchmarkProgress::default(),
            points: Vec::new(),
            failed_limits: Vec::new(),
            error: None,
        };
        let running = options.clone();
        let kept =
            Kept { plan: planned.plan.clone(), folder: folder.clone(), started: started.clone(), run: None };
        benchmarks.start(make, move |hand, stop| {
            let mut looker = TrialObserver { hand, options: &running, kept, course: Course::new(&running) };
            let outcome = romer_bench::run(&running, None, stop, &mut looker);
            looker.end(outcome, &limits, stop.load(Ordering::Acquire));
        })
    }
}

/// Where a benchmark is kept: a folder that is made with the first thing to keep, so that `romer bench --resume` can go
/// on with it.
struct Kept {
    plan: String,
    folder: PathBuf,
    started: String,
    run: Option<BenchmarkRun>,
}

impl Kept {
    fn open(&mut self, options: &BenchOptions) -> Result<&mut BenchmarkRun, StoreError> {
        if self.run.is_none() {
            let copy = BenchmarkRun::plan_copy(&self.folder);
            let plan = BenchmarkPlan {
                schema: BENCHMARK_PLAN.into(),
                started: self.started.clone(),
                arguments: vec![copy.display().to_string()],
                seed: options.seed.0,
                settings: options.settings(),
            };
            let location = Location::Folder { path: self.folder.clone(), force: false };
            let run = BenchmarkRun::create(&location, &plan)?;
            run.keep_plan(&self.plan)?;
            self.run = Some(run);
        }
        let missing = || StoreError::NotARun { path: self.folder.clone(), why: "it could not be made" };
        self.run.as_mut().ok_or_else(missing)
    }
}

/// Receives the progress of a benchmark, publishes and stores it.
struct TrialObserver<'a> {
    hand: Hand<BenchmarkJob, Benchmark>,
    options: &'a BenchOptions,
    kept: Kept,
    course: Course,
}

/// What lies between the start and the first trial.
#[derive(Debug)]
struct Course {
    /// How long the tester's own test takes that comes first, where all is held.
    before: Duration,
}

impl Course {
    fn new(options: &BenchOptions) -> Self {
        let without = BenchOptions { self_test: None, ..options.clone() };
        let before = romer_bench::forecast(options).usual.1 - romer_bench::forecast(&without).usual.1;
        Self { before }
    }

    fn on_self_test(&self, progress: &mut BenchmarkProgress) {
        let seconds = (self.before.as_nanos() + 999_999_999) / 1_000_000_000;
        progress.activity =
            format!("before the first trial the tester itself is tested, for {seconds} s or so");
    }
}

/// A trial begins, or would but for the tester's own test, which is in what is left.
fn to_progress(progress: &Progress<'_>) -> BenchmarkProgress {
    let words = format!(
        "{}, {}, {:.2} % for {}",
        progress.case,
        progress.ask.frames,
        progress.ask.load() * 100.0,
        progress.ask.length()
    );
    BenchmarkProgress {
        trial: progress.trial,
        max_trials: progress.of[1],
        remaining_ns: progress.left[1].as_nanos(),
        activity: words,
    }
}

impl Watcher for TrialObserver<'_> {
    fn on_self_test(&mut self) -> Result<(), BenchError> {
        let course = &self.course;
        self.hand.change(|job| course.on_self_test(&mut job.progress));
        // From here on there is something to go on with.
        self.kept.open(self.options).map(drop).map_err(|error| not_kept(&error))
    }

    fn begins(&mut self, progress: &Progress<'_>) {
        self.hand.change(|job| {
            job.progress = to_progress(progress);
            job.points.extend(progress.last.map(TrialPoint::from));
        });
    }

    fn on_forecast(&mut self, progress: &Progress<'_>) {
        self.hand.change(|job| job.progress = to_progress(progress));
    }

    fn keep(&mut self, entry: &BenchmarkEntry) -> Result<(), BenchError> {
        self.kept.open(self.options).and_then(|run| run.keep(entry)).map_err(|error| not_kept(&error))
    }
}

fn not_kept(error: &StoreError) -> BenchError {
    BenchError::Keep { text: error.to_string(), exit: error.exit() }
}

impl TrialObserver<'_> {
    fn end(mut self, outcome: Result<Benchmark, BenchError>, limits: &[ResultLimit], stopped: bool) {
        let mut document = match outcome {
            Ok(document) => document,
            Err(error) => {
                return self.hand.change(|job| {
                    job.state = JobState::Failed;
                    job.error = Some(error.to_string());
                });
            }
        };
        document.limits = ResultLimit::judge_all(limits, &document);
        let page = romer_report::benchmark::page(&document);
        let not_kept = self.kept.open(self.options).and_then(|run| run.finish(&document, &page)).err();
        let points: Vec<TrialPoint> = document.trials.iter().map(TrialPoint::from).collect();
        let failed_limits = broken(&document.verdicts, &document.limits, document.partial);
        let is_gone = |event: &&BenchmarkEvent| {
            document.partial && matches!(event.kind, BenchmarkEventKind::DeviceGone { .. })
        };
        let gone = document.events.iter().rfind(is_gone);
        let error = gone.map(|event| event.text()).or_else(|| not_kept.map(|error| error.to_string()));
        let partial = document.partial || stopped || error.is_some();
        self.hand.set_result(document);
        self.hand.change(|job| {
            job.points = points;
            job.failed_limits = failed_limits;
            job.error = error;
            job.progress.remaining_ns = 0;
            job.state = if partial { JobState::Partial } else { JobState::Done };
        });
    }
}

/// Claims and limits that do not hold, in words.
pub(crate) fn broken(verdicts: &[Judgement], limits: &[document::Limit], partial: bool) -> Vec<String> {
    let verdicts = verdicts.iter().filter(|verdict| verdict.passed == Some(false)).map(|verdict| {
        format!(
            "{}, {}: expected {}, found {}",
            verdict.case,
            subject_text(verdict),
            expected_text(verdict),
            observed_text(verdict)
        )
    });
    // Of one that has ended before its time, what is not known may still hold.
    let broken = limits.iter().filter(|limit| !limit.passed);
    let broken = broken.filter(|limit| limit.value.is_some() || !partial);
    let limits = broken.map(|limit| limit.limit.clone());
    verdicts.chain(limits).collect()
}

fn commands(options: &BenchOptions) -> Vec<String> {
    options.cases.iter().filter_map(|case| case.command.clone()).chain(options.reset.clone()).collect()
}

#[cfg(test)]
mod tests {
    use romer_method::{Frames, Phase, TrialRequest};
    use romer_units::FrameSize;

    use super::*;

    /// The remaining time includes the self-test until it ends.
    #[test]
    fn forecast_includes_the_self_test() {
        let course = Course { before: Duration::from_secs(20) };
        let ask = TrialRequest {
            case: 0,
            frames: Frames::Size(FrameSize::MINIMUM),
            phases: vec![Phase { load: 0.1, length: Duration::from_secs(1) }],
            repeat: 0,
            purpose: "measure",
        };
        let progress = |left| {
            let left = [Duration::from_secs(left); 2];
            to_progress(&Progress {
                trial: 1,
                of: [4; 2],
                left,
                whole: left,
                ask: &ask,
                case: "baseline",
                last: None,
            })
        };
        let mut now = progress(26);
        assert_eq!(
            (now.remaining_ns, now.activity.as_str()),
            (26_000_000_000, "baseline, 64 B, 10.00 % for 1s")
        );
        course.on_self_test(&mut now);
        assert!(now.activity.contains("the tester itself is tested, for 20 s"), "{}", now.activity);
        now = progress(6);
        assert_eq!(
            (now.remaining_ns, now.activity.as_str()),
            (6_000_000_000, "baseline, 64 B, 10.00 % for 1s")
        );
    }
}
