//! Runs: what was measured, here or on the command line.

pub(crate) mod delays;
pub(crate) mod exports;
#[cfg(test)]
#[path = "../tests/fixtures/emulation.rs"]
mod fixture;
#[cfg(test)]
mod hostile_tests;
mod run_summary;
mod stored_loops;
pub(crate) mod stored_runs;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use axum::http::StatusCode;
use romer_analyze::reading;
use romer_record::benchmark::Benchmark;
use romer_record::closed_loop::ClosedLoop;
use romer_record::comparison::Comparison;
use romer_record::document::Measurement;
use romer_record::emulation::{Emulated, Emulation as EmulationDocument};
use romer_record::run_list::{RunKind, RunListEntry};
use romer_report::comparison::{self, Figure, Subject};
use romer_store::{MANIFEST_FILE, Run, Runs, State, StoreError, untrusted};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::problem::Problem;
use crate::scenario;
use crate::warning_text::WithWarningText;

/// A run with its documents.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct RunDocuments {
    /// Name of the run and its folder.
    name: String,
    /// Path of the folder.
    folder: String,
    /// State, with the values of the list of runs.
    state: String,
    /// Kind of the run.
    kind: RunKind,
    /// Results of a measurement, one document for each stream (romer/measurement/1).
    measurements: Vec<WithWarningText<Measurement>>,
    /// Results of a benchmark (romer/benchmark/1).
    benchmark: Option<WithWarningText<Benchmark>>,
    /// Results of an emulation (romer/emulation/1).
    emulation: Option<WithWarningText<EmulationDocument>>,
    /// Results of a closed loop, and its runs.
    closed_loop: Option<StoredLoop>,
    /// Whether the run stores its frames (`frames.pcapng`).
    frames: bool,
    /// Emulation that the measurement passed through, if stored with the run.
    emulated: Option<Emulated>,
    /// Scenario of the emulation or the loop, as JSON.
    scenario: Option<Map<String, Value>>,
}

/// A closed loop, with the names of its runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct StoredLoop {
    /// Results (romer/loop/1); `null` if the loop was not closed.
    document: Option<WithWarningText<ClosedLoop>>,
    /// Name of the run of the path, as other operations take it; `null` if it is not among the runs.
    path: Option<String>,
    /// Name of the run of the emulation, as other operations take it; `null` if there is none.
    emulated: Option<String>,
}

const fn state(state: State) -> &'static str {
    match state {
        State::Complete => "complete",
        State::Partial => "partial",
        State::Recovered => "recovered",
        State::Running => "running",
        State::Killed => "killed",
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let status = match &error {
            StoreError::Missing { .. } | StoreError::NotARun { .. } | StoreError::NotABenchmark { .. } => {
                StatusCode::NOT_FOUND
            }
            StoreError::InUse { .. } => StatusCode::CONFLICT,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::new(status, "run", error.to_string())
    }
}

/// The runs, newest first.
pub(crate) fn list(runs: &Runs) -> Result<Vec<RunListEntry>, Problem> {
    let mut all: Vec<RunListEntry> = runs.list()?.iter().map(measurement).collect();
    all.extend(stored_runs::list(runs));
    // Names begin with the time; those that do not come last.
    all.sort_by(|a, b| (&b.created, &b.name).cmp(&(&a.created, &a.name)));
    Ok(all)
}

/// The folder, as long as nothing else is known of it.
fn unread(folder: &Path, kind: RunKind) -> RunListEntry {
    RunListEntry {
        name: folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        kind,
        state: "damaged".into(),
        size_octets: size(folder, FOLDER_DEPTH),
        link_target: link_target(folder),
        ..RunListEntry::default()
    }
}

/// Folders within each other in a run: a loop has its runs, and an emulation its figures.
const FOLDER_DEPTH: u32 = 2;

/// The size of the files in a folder and, so many levels deep, in its folders. Links within it are not followed.
fn size(folder: &Path, depth: u32) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let sizes = entries.filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        match (metadata.is_dir(), depth.checked_sub(1)) {
            (true, Some(depth)) => Some(size(&entry.path(), depth)),
            (true, None) => None,
            (false, _) => Some(metadata.len()),
        }
    });
    sizes.fold(0, u64::saturating_add)
}

/// Where a folder is that is listed by a link.
fn link_target(folder: &Path) -> Option<String> {
    std::fs::read_link(folder).ok().map(|to| to.display().to_string())
}

fn measurement(listed: &romer_store::Listed) -> RunListEntry {
    let nothing = unread(&listed.path, RunKind::Measurement);
    match &listed.run {
        Ok(run) => {
            let manifest = run.manifest();
            let first = manifest.streams.first();
            let outline = run_summary::measurement(&listed.path, run.state() != State::Complete);
            RunListEntry {
                created: manifest.created.clone(),
                state: state(run.state()).into(),
                targets: manifest.streams.iter().map(|stream| stream.target.clone()).collect(),
                traffic: first.map(|stream| stream.traffic.model.clone()),
                direction: first.map(|stream| stream.traffic.direction),
                comment: first.and_then(|stream| stream.metadata.comment.clone()),
                figures: outline.figures,
                limits: outline.limits,
                failed_limits: outline.failed_limits,
                ..nothing
            }
        }
        Err(error) => RunListEntry { error: Some(error.to_string()), ..nothing },
    }
}

fn unknown() -> Problem {
    Problem::not_found("there is no such run; the list has those that there are")
}

/// That a run has no results yet.
pub(crate) fn unfinished() -> Problem {
    Problem::conflict("running", "the run is being measured; wait for its end, or stop it")
}

/// The path of a folder among the runs, by its name, which leads nowhere else. The runs of a loop have the name of the loop and their own,
/// with a slash between.
pub(crate) fn path(runs: &Runs, name: &str) -> Result<PathBuf, Problem> {
    if name.chars().any(char::is_control) {
        return Err(Problem::unprocessable(
            "name",
            "a run's name has no line breaks and no other control characters",
        ));
    }
    let (outer, inner) = name.split_once('/').map_or((name, None), |(outer, inner)| (outer, Some(inner)));
    let mut parts = Path::new(outer).components();
    let alone =
        matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == outer);
    if !alone {
        return Err(unknown());
    }
    let folder = runs.root().join(outer);
    match inner {
        None => Ok(folder),
        Some(inner) => stored_loops::run(&folder, inner).ok_or_else(unknown),
    }
}

/// The name of a folder among the runs; `None` if [`path`] does not lead there.
pub(crate) fn name_among(runs: &Runs, folder: &Path) -> Option<String> {
    let name = folder.strip_prefix(runs.root()).ok()?.to_str()?;
    path(runs, name).is_ok().then(|| name.to_owned())
}

/// The folder of a measurement.
pub(crate) fn measurement_folder(runs: &Runs, name: &str) -> Result<PathBuf, Problem> {
    let folder = path(runs, name)?;
    if untrusted::is_file(&folder.join(MANIFEST_FILE)) {
        return Ok(folder);
    }
    Err(match stored_runs::kind(&folder) {
        Some(_) => Problem::unprocessable("kind", "the run is no measurement; open a measurement for this"),
        None => unknown(),
    })
}

/// A run with its documents; one whose program was killed is completed first.
pub(crate) fn open(runs: &Runs, name: &str) -> Result<RunDocuments, Problem> {
    let any = path(runs, name)?;
    match stored_runs::kind(&any) {
        Some(RunKind::Loop) => return stored_loops::open(runs, &any, name),
        Some(kind) => return stored_runs::open(&any, name, kind),
        None => {}
    }
    let folder = measurement_folder(runs, name)?;
    let run = Run::open(&folder)?;
    let measurements = match run.state() {
        State::Complete | State::Partial | State::Recovered => run.measurements().ok(),
        State::Running => return Err(unfinished()),
        State::Killed => None,
    };
    let (state_now, measurements) = match measurements {
        Some(measurements) => (run.state(), measurements),
        None => {
            let reading = read(runs, name)?;
            let measurements = reading.streams.iter().map(|stream| stream.measurement.clone()).collect();
            (reading.run.state(), measurements)
        }
    };
    let emulated = stored_runs::emulated(&folder);
    Ok(RunDocuments {
        name: name.into(),
        folder: link_target(&folder).unwrap_or_else(|| folder.display().to_string()),
        state: state(state_now).into(),
        kind: RunKind::Measurement,
        measurements: measurements.into_iter().map(WithWarningText).collect(),
        benchmark: None,
        emulation: None,
        closed_loop: None,
        frames: untrusted::is_file(&folder.join(stored_runs::FRAMES_FILE)),
        scenario: emulated.as_ref().map(|emulated| scenario::json_of(&emulated.scenario)),
        emulated,
    })
}

fn read(runs: &Runs, name: &str) -> Result<reading::RunContents, Problem> {
    let folder = measurement_folder(runs, name)?;
    Ok(reading::read(&folder)?)
}

/// The report of a run as a page.
pub(crate) fn report(runs: &Runs, name: &str) -> Result<String, Problem> {
    let any = path(runs, name)?;
    if let Some(kind) = stored_runs::kind(&any) {
        return stored_runs::report(&any, kind);
    }
    let folder = measurement_folder(runs, name)?;
    let run = Run::open(&folder)?;
    if matches!(run.state(), State::Complete | State::Partial | State::Recovered)
        && let Ok(page) = run.report()
    {
        return Ok(page);
    }
    if run.state() == State::Running {
        return Err(unfinished());
    }
    Ok(romer_analyze::page(&read(runs, name)?.streams))
}

/// Takes a run away.
pub(crate) fn delete(runs: &Runs, name: &str) -> Result<(), Problem> {
    let any = path(runs, name)?;
    if any.is_symlink() {
        // What lies elsewhere stays there.
        return std::fs::remove_file(&any).map_err(|error| failed(&any, &error));
    }
    if let Some(kind) = stored_runs::kind(&any) {
        return stored_runs::delete(&any, kind);
    }
    if name.contains('/') {
        let detail = "the run is part of a closed loop; delete the loop";
        return Err(Problem::unprocessable("loop", detail));
    }
    Run::remove(&measurement_folder(runs, name)?).map_err(not_removed)
}

fn failed(folder: &Path, error: &std::io::Error) -> Problem {
    let folder = folder.display();
    Problem::unprocessable(
        "delete",
        format!("the run cannot be removed ({folder}): {error}; see its folder's rights"),
    )
}

/// Why a run was not removed.
fn not_removed(error: StoreError) -> Problem {
    match error {
        StoreError::InUse { .. } => Problem::conflict("running", "the run is being measured; stop it first"),
        StoreError::Io { path, source, .. } => failed(&path, &source),
        other => other.into(),
    }
}

/// Only what romer keeps there; a folder with more in it stays, with that.
fn remove(folder: &Path, files: &[&str]) -> Result<(), Problem> {
    romer_store::remove_files(folder, files).map_err(not_removed)
}

/// Removes the folder of a loop that has no run and no document. Gives whether it did.
pub(crate) fn discard_loop(folder: &Path) -> bool {
    stored_loops::discard(folder)
}

/// The files of the scenario of a loop, as text by name.
pub(crate) fn scenario_files(runs: &Runs, name: &str) -> Result<BTreeMap<String, String>, Problem> {
    let folder = path(runs, name)?;
    match stored_runs::kind(&folder) {
        Some(RunKind::Loop) => stored_loops::scenario_files(&folder),
        _ => Err(Problem::unprocessable("kind", "the run is no closed loop; open a loop for this")),
    }
}

/// The difference between two streams, each of a run.
pub(crate) fn compare(
    runs: &Runs,
    (a, stream_a): (&str, usize),
    (b, stream_b): (&str, usize),
    by: Option<&str>,
) -> Result<Comparison, Problem> {
    let by = by.map(str::parse::<Figure>).transpose();
    let by = by.map_err(|why| Problem::unprocessable("by", why))?;
    let [first, second] = [read(runs, a)?, read(runs, b)?];
    let (Some(of_a), Some(of_b)) = (first.streams.get(stream_a), second.streams.get(stream_b)) else {
        return Err(Problem::unprocessable("streams", "a run has no such stream"));
    };
    let a = Subject { name: a, stream: of_a.for_report() };
    let b = Subject { name: b, stream: of_b.for_report() };
    comparison::compare(&a, &b, by).ok_or_else(|| {
        Problem::unprocessable(
            "directions",
            "the runs have no direction in common; compare runs of the same directions",
        )
    })
}
