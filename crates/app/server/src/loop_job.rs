//! Closed loops started from the console: the same as `romer loop`, each on its own thread.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as StdDuration, SystemTime};

use romer_endpoint::names::Target;
use romer_host::clock::rfc3339;
use romer_loop::{FAR, LAB_STEM, LabPath, LoopError, LoopFolder, LoopObserver, PathRun, Talk};
use romer_measure::{MeasureOptions, Observer};
use romer_record::closed_loop::LoopVerdict;
use romer_record::document::StreamInterval;
use romer_record::manifest::StampRequest;
use romer_record::note::Note;
use romer_store::{Location, Run, Runs, State};
use romer_traffic::TrafficModel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::jobs::{Hand, JobState, Jobs, Work};
use crate::measurement_job::{self, MeasurementRequest, wrong};
use crate::problem::Problem;
use crate::runs::{self, name_among};

/// Between two reports of progress.
const REPORT_INTERVAL: StdDuration = StdDuration::from_millis(500);

/// Request for a closed loop that starts from a finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = crate::request_defaults::may_be_left_out)]
pub(crate) struct LoopOfRun {
    /// Name of the run of the path.
    run: String,
    /// Stream of the run, from 0.
    #[serde(default)]
    stream: u16,
}

/// Phase of a closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LoopPhase {
    /// The path is measured.
    Measuring,
    /// A scenario is made of the measurement.
    Modelling,
    /// The emulator starts in a lab.
    Emulating,
    /// The emulation is measured with the same plan.
    MeasuringAgain,
    /// Both measurements are compared.
    Comparing,
}

impl From<romer_loop::LoopPhase> for LoopPhase {
    fn from(phase: romer_loop::LoopPhase) -> Self {
        match phase {
            romer_loop::LoopPhase::Modelling => Self::Modelling,
            romer_loop::LoopPhase::Emulating => Self::Emulating,
            romer_loop::LoopPhase::MeasuringAgain => Self::MeasuringAgain,
            romer_loop::LoopPhase::Comparing => Self::Comparing,
        }
    }
}

/// A closed loop that this server started.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct LoopJob {
    /// Identifier.
    pub(crate) id: u64,
    /// Target of the path.
    target: String,
    /// Request of the measurement; `null` if the loop started from a run.
    request: Option<MeasurementRequest>,
    /// Name of the run from which the loop started; `null` if the path is measured.
    from_run: Option<String>,
    /// Stream of that run, from 0.
    stream: u16,
    /// Equivalent command line.
    command: String,
    /// State.
    state: JobState,
    /// Start time, RFC 3339.
    started: String,
    /// Phase; of a loop that has ended, the last phase.
    phase: LoopPhase,
    /// Time since the start of the phase, nanoseconds; only while one of the two measurements runs.
    elapsed_ns: i64,
    /// Expected duration of the phase, nanoseconds; `null` if unknown.
    expected_ns: Option<i64>,
    /// Name of the run in which the loop is stored.
    run: Option<String>,
    /// Verdict; `null` until both measurements are compared.
    verdict: Option<LoopVerdict>,
    /// Reason why the loop failed or is incomplete.
    error: Option<String>,
}

impl Work for LoopJob {
    const NAME: &'static str = "loop";
    // Each has a lab, which has the number of this process in its name.
    const AT_ONCE: usize = 1;
    const REMEMBERED: usize = 20;

    fn id(&self) -> u64 {
        self.id
    }

    fn state(&self) -> JobState {
        self.state
    }
}

/// Loops started by this server.
pub(crate) type Loops = Jobs<LoopJob>;

/// Starts one that measures its path first, and is stored among `runs`.
pub(crate) fn start(loops: &Loops, runs: &Runs, asked: MeasurementRequest) -> Result<LoopJob, Problem> {
    let options = options(&asked, runs)?;
    let target = options.streams.first().map(|stream| stream.target.clone());
    let target = target.ok_or_else(|| wrong("targets", "name one host"))?;
    let job = |id| LoopJob {
        id,
        target: target.text.clone(),
        request: Some(asked),
        from_run: None,
        stream: 0,
        command: options.command.clone(),
        state: JobState::Running,
        started: rfc3339(SystemTime::now()),
        phase: LoopPhase::Measuring,
        elapsed_ns: 0,
        expected_ns: measurement_job::expected_ns(&options),
        run: None,
        verdict: None,
        error: None,
    };
    let runs = runs.clone();
    let source = Source::Target { options: Box::new(options.clone()), host: target.host.clone() };
    loops.start(job, move |hand, stop| run(&hand, stop, &runs, source))
}

/// Starts one of a finished run.
pub(crate) fn start_of_run(loops: &Loops, runs: &Runs, request: &LoopOfRun) -> Result<LoopJob, Problem> {
    let folder = runs::measurement_folder(runs, &request.run)?;
    let opened = Run::open(&folder)?;
    if opened.state() == State::Running {
        return Err(runs::unfinished());
    }
    let streams = &opened.manifest().streams;
    let stream = streams.get(usize::from(request.stream)).ok_or_else(|| {
        wrong("stream", &format!("no such stream: streams of the run: {}, counted from 0", streams.len()))
    })?;
    if stream.traffic.model.parse::<TrafficModel>().is_ok_and(|model| model.trace_file().is_some()) {
        return Err(wrong("run", RECORDED));
    }
    let (path, number) = (folder.to_string_lossy().into_owned(), request.stream.to_string());
    let words =
        ["romer", "loop", "--run", path.as_str(), "--stream-number", number.as_str()].map(str::to_owned);
    let job = |id| LoopJob {
        id,
        target: stream.target.clone(),
        request: None,
        from_run: Some(request.run.clone()),
        stream: request.stream,
        command: romer_report::escape::shell(&words),
        state: JobState::Running,
        started: rfc3339(SystemTime::now()),
        phase: LoopPhase::Modelling,
        elapsed_ns: 0,
        expected_ns: None,
        run: None,
        verdict: None,
        error: None,
    };
    let source = Source::Run { folder, stream: request.stream };
    let runs = runs.clone();
    loops.start(job, move |hand, stop| run(&hand, stop, &runs, source))
}

/// Whether one of them writes to the run of this name, or reads it or a run in it.
pub(crate) fn is_used(loops: &Loops, run: &str) -> bool {
    let is_in =
        |used: &str| used.strip_prefix(run).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    loops.any_running(|job| [&job.run, &job.from_run].into_iter().flatten().any(|used| is_in(used)))
}

/// Why a recorded schedule is refused: the second measurement would read a file that the request names.
const RECORDED: &str = "a recorded schedule (trace:FILE) is not repeated from a page; use `romer loop`";

/// How the path is measured; its location is that of a measurement.
fn options(asked: &MeasurementRequest, runs: &Runs) -> Result<MeasureOptions, Problem> {
    if asked.targets.len() != 1 {
        return Err(wrong("targets", "name one host; a loop has one path"));
    }
    let model = asked.traffic.as_deref().and_then(|text| text.trim().parse::<TrafficModel>().ok());
    if model.is_some_and(|model| model.trace_file().is_some()) {
        return Err(wrong("traffic", RECORDED));
    }
    let has = |text: Option<&String>| text.is_some_and(|text| !text.trim().is_empty());
    let inapplicable = [
        ("trace", asked.trace.is_some()),
        ("limits", asked.limits.iter().any(|limit| !limit.trim().is_empty())),
        ("comment", has(asked.comment.as_ref())),
        ("stamp", asked.stamp != StampRequest::Best),
        ("log_at_end", asked.log_at_end),
        ("emulated", asked.emulated.flatten().is_some()),
    ];
    if let Some((field, _)) = inapplicable.iter().find(|(_, given)| *given) {
        return Err(wrong(field, "does not apply to a closed loop; leave it out"));
    }
    let options = measurement_job::checked(asked, runs)?;
    let traffic = options.streams.first().map(|stream| &stream.traffic);
    let drawn = traffic.filter(|traffic| traffic.is_random() && asked.seed.is_none()).map(|one| one.seed);
    // The records of the responder come at the end: on their way they would be part of the traffic.
    let at_end = MeasurementRequest { log_at_end: true, ..asked.clone() };
    let command = measurement_job::command("loop", &at_end, drawn);
    Ok(MeasureOptions { command, live_delays: false, route: false, ..options })
}

/// Where the run of the path comes from.
enum Source {
    /// It is measured.
    Target { options: Box<MeasureOptions>, host: String },
    /// It exists.
    Run { folder: PathBuf, stream: u16 },
}

/// How a loop ended.
enum Ending {
    Closed(LoopVerdict),
    /// Stopped by the user.
    Stopped,
    /// The path is measured, but the loop is not closed.
    Measured(String),
    /// There are no results.
    Failed(String),
}

/// Does all of it, and ends the job.
fn run(hand: &Hand<LoopJob>, stop: &AtomicBool, runs: &Runs, source: Source) {
    let ending = steps(hand, stop, runs, source).unwrap_or_else(|error| Ending::Failed(error.to_string()));
    hand.change(|job| match ending {
        Ending::Closed(verdict) => {
            job.verdict = Some(verdict);
            job.state = JobState::Done;
        }
        Ending::Stopped => job.state = JobState::Partial,
        Ending::Measured(error) => {
            job.error = Some(error);
            job.state = JobState::Partial;
        }
        Ending::Failed(error) => {
            job.error = Some(error);
            job.state = JobState::Failed;
        }
    });
}

fn steps(hand: &Hand<LoopJob>, stop: &AtomicBool, runs: &Runs, source: Source) -> Result<Ending, LoopError> {
    let (folder, run, stream) = match source {
        Source::Run { folder: run, stream } => (make_folder(hand, runs, "run")?, run, stream),
        Source::Target { options, host } => {
            let folder = make_folder(hand, runs, &host)?;
            match measure(hand, stop, &folder, *options) {
                Ok(None) => {}
                Ok(Some(ending)) => return Ok(ending),
                Err(error) => {
                    discard(hand, &folder);
                    return Err(error);
                }
            }
            let run = folder.path();
            (folder, run, 0)
        }
    };
    let closed = close(hand, stop, &folder, &run, stream);
    let ending = closed.unwrap_or_else(|error| Ending::Measured(error.to_string()));
    if !matches!(ending, Ending::Closed(_)) {
        discard(hand, &folder);
    }
    Ok(ending)
}

/// Removes a folder without any run, which is no loop.
fn discard(hand: &Hand<LoopJob>, folder: &LoopFolder) {
    if runs::discard_loop(folder.folder()) {
        hand.change(|job| job.run = None);
    }
}

/// Makes the folder of the loop, and publishes its name.
fn make_folder(hand: &Hand<LoopJob>, runs: &Runs, name: &str) -> Result<LoopFolder, LoopError> {
    let folder = LoopFolder::among(runs, name)?;
    hand.change(|job| job.run = name_among(runs, folder.folder()));
    Ok(folder)
}

/// Measures the path. Gives how the loop ended, if it did with that.
fn measure(
    hand: &Hand<LoopJob>,
    stop: &AtomicBool,
    folder: &LoopFolder,
    options: MeasureOptions,
) -> Result<Option<Ending>, LoopError> {
    let location = Location::Folder { path: folder.path(), force: false };
    let options = MeasureOptions { location, ..options };
    let outcome = romer_measure::measure(&options, stop, &mut PathObserver { hand })?;
    Ok(match measurement_job::shortfall(&outcome) {
        Some(error) => Some(Ending::Measured(error)),
        None if outcome.partial => Some(Ending::Stopped),
        None => None,
    })
}

/// Closes the loop of a measured path in a lab.
fn close(
    hand: &Hand<LoopJob>,
    stop: &AtomicBool,
    folder: &LoopFolder,
    run: &Path,
    stream: u16,
) -> Result<Ending, LoopError> {
    let mut observer = PhaseObserver { hand, again_ns: None, reported: StdDuration::ZERO };
    observer.on_phase(romer_loop::LoopPhase::Modelling);
    let path = PathRun::read(run, stream)?;
    let far: Target = FAR.parse().map_err(LoopError::Document)?;
    // What cannot be repeated is refused before a lab is put up.
    observer.again_ns = measurement_job::expected_ns(&path.plan(None, &far, run, "")?);
    if stop.load(Ordering::Acquire) {
        return Ok(Ending::Stopped);
    }
    let mut lab = LabPath::up("loop", LAB_STEM)?;
    let closed = romer_loop::close(&mut lab, folder, &path, Talk::Silent, &mut observer, stop)?;
    Ok(closed.map_or(Ending::Stopped, |closed| Ending::Closed(closed.verdict)))
}

/// Receives the progress of the measurement of the path, and publishes it.
struct PathObserver<'a> {
    hand: &'a Hand<LoopJob>,
}

impl Observer for PathObserver<'_> {
    fn on_start(&mut self, _folder: &Path, _streams: usize) {}

    // The report of the run has its notes.
    fn on_note(&mut self, _stream: u16, _note: &Note) {}

    fn on_interval(&mut self, interval: &StreamInterval) {
        self.hand.change(|job| job.elapsed_ns = interval.elapsed_ns);
    }
}

/// Receives the progress of the steps after it, and publishes it.
struct PhaseObserver<'a> {
    hand: &'a Hand<LoopJob>,
    /// How long the second measurement takes.
    again_ns: Option<i64>,
    /// Up to when the progress of this phase was published.
    reported: StdDuration,
}

impl LoopObserver for PhaseObserver<'_> {
    fn on_phase(&mut self, phase: romer_loop::LoopPhase) {
        self.reported = StdDuration::ZERO;
        let is_again = phase == romer_loop::LoopPhase::MeasuringAgain;
        let expected_ns = self.again_ns.filter(|_| is_again);
        self.hand.change(|job| {
            job.phase = phase.into();
            job.elapsed_ns = 0;
            job.expected_ns = expected_ns;
        });
    }

    fn on_progress(&mut self, elapsed: StdDuration) {
        if elapsed < self.reported + REPORT_INTERVAL {
            return;
        }
        self.reported = elapsed;
        let elapsed_ns = i64::try_from(elapsed.as_nanos()).unwrap_or(i64::MAX);
        self.hand.change(|job| job.elapsed_ns = elapsed_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(body: &str) -> MeasurementRequest {
        serde_json::from_str(body).unwrap()
    }

    /// The command is that of `romer loop`, with the seed that was drawn and no option that it does not have.
    #[test]
    fn commands_are_those_of_loop() {
        let runs = Runs::at("runs".into());
        let command = |body: &str| options(&asked(body), &runs).unwrap().command;
        assert_eq!(
            command(
                r#"{"targets":["far"],"direction":"both","interval":"20ms","duration":"2m","dscp":"ef"}"#
            ),
            "romer loop far --direction both --interval 20ms --duration 2m --dscp ef"
        );
        let drawn = command(r#"{"targets":["far"],"traffic":"poisson"}"#);
        assert!(drawn.starts_with("romer loop far --traffic poisson --seed "), "{drawn}");
    }

    /// The records of the responder are not part of the measured traffic.
    #[test]
    fn records_come_at_the_end() {
        let options =
            options(&asked(r#"{"targets":["far"],"direction":"forward"}"#), &Runs::at("runs".into()));
        assert!(!options.unwrap().live_delays);
    }
}
