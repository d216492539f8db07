//! Runs: what was measured, here or on the command line.

pub(crate) mod exports;
#[cfg(test)]
#[path = "../tests/fixtures/emulation.rs"]
mod fixture;
#[cfg(test)]
mod hostile_tests;
mod run_summary;
pub(crate) mod stored_runs;

use std::path::{Component, Path, PathBuf};

use axum::http::StatusCode;
use romer_analyze::reading;
use romer_record::benchmark::Benchmark;
use romer_record::comparison::Comparison;
use romer_record::document::{Measurement, ProbeDirection};
use romer_record::emulation::{Emulated, Emulation as EmulationDocument};
use romer_report::comparison::{self, Figure, Subject};
use romer_store::{MEASUREMENT_FILE, Run, Runs, State, StoreError, untrusted};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::problem::Problem;
use crate::scenario;
use crate::warning_text::WithWarningText;

/// What a folder among the runs holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "RunKind")]
pub(crate) enum FolderKind {
    /// A measurement.
    Measurement,
    /// A benchmark.
    Benchmark,
    /// An emulation that was stored with `--out`.
    Emulation,
}

/// A run in the list.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Listed {
    /// The folder's name.
    name: String,
    /// What it is.
    kind: FolderKind,
    /// When it was begun, RFC 3339; empty where that cannot be read.
    created: String,
    /// `complete`, `partial`, `recovered`, `running` or `killed`; `damaged` where it cannot be read.
    state: String,
    /// The targets; of a benchmark and an emulation, the ports.
    targets: Vec<String>,
    /// The schedule; of a benchmark, the procedure.
    traffic: Option<String>,
    /// Which ways its packets went.
    direction: Option<ProbeDirection>,
    /// The user's words.
    comment: Option<String>,
    /// Why it cannot be read.
    error: Option<String>,
    /// Delay, loss and rating of each direction of a measurement.
    figures: Vec<run_summary::FigureOutline>,
    /// How many limits were judged; of a benchmark also its claims.
    limits: u64,
    /// Limits and claims that do not hold, in words.
    broken: Vec<String>,
    /// Where the folder is, of one that lies elsewhere and is listed here by a link; deleting it takes the link away.
    elsewhere: Option<String>,
}

/// A run, opened.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Opened {
    /// The folder's name.
    name: String,
    /// Where it is stored.
    folder: String,
    /// As in the list.
    state: String,
    /// What it is.
    kind: FolderKind,
    /// One for each stream.
    measurements: Vec<WithWarningText<Measurement>>,
    /// What a benchmark has found.
    benchmark: Option<WithWarningText<Benchmark>>,
    /// What an emulation did.
    emulation: Option<WithWarningText<EmulationDocument>>,
    /// Whether frames are stored with it.
    frames: bool,
    /// The emulation that a measurement passed through, if it is stored with it.
    emulated: Option<Emulated>,
    /// The scenario of that or of the emulation, as JSON.
    scenario: Option<Map<String, Value>>,
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
            StoreError::NotARun { .. } | StoreError::NotABenchmark { .. } => StatusCode::NOT_FOUND,
            StoreError::InUse { .. } => StatusCode::CONFLICT,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::new(status, "run", error.to_string())
    }
}

/// The runs, newest first.
pub(crate) fn list(runs: &Runs) -> Result<Vec<Listed>, Problem> {
    let mut all: Vec<Listed> = runs.list()?.iter().map(measurement).collect();
    all.extend(stored_runs::list(runs));
    // Names begin with the time; those that do not come last.
    all.sort_by(|a, b| (&b.created, &b.name).cmp(&(&a.created, &a.name)));
    Ok(all)
}

impl Listed {
    /// The folder, as long as nothing else is known of it.
    fn damaged(folder: &Path, kind: FolderKind) -> Self {
        Self {
            name: folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            kind,
            created: String::new(),
            state: "damaged".into(),
            targets: Vec::new(),
            traffic: None,
            direction: None,
            comment: None,
            error: None,
            figures: Vec::new(),
            limits: 0,
            broken: Vec::new(),
            elsewhere: elsewhere(folder),
        }
    }
}

/// Where a folder is that is listed by a link.
fn elsewhere(folder: &Path) -> Option<String> {
    std::fs::read_link(folder).ok().map(|to| to.display().to_string())
}

fn measurement(listed: &romer_store::Listed) -> Listed {
    let nothing = Listed::damaged(&listed.path, FolderKind::Measurement);
    match &listed.run {
        Ok(run) => {
            let manifest = run.manifest();
            let first = manifest.streams.first();
            let outline = run_summary::measurement(&listed.path, run.state() != State::Complete);
            Listed {
                created: manifest.created.clone(),
                state: state(run.state()).into(),
                targets: manifest.streams.iter().map(|stream| stream.target.clone()).collect(),
                traffic: first.map(|stream| stream.traffic.model.clone()),
                direction: first.map(|stream| stream.traffic.direction),
                comment: first.and_then(|stream| stream.metadata.comment.clone()),
                figures: outline.figures,
                limits: outline.limits,
                broken: outline.broken,
                ..nothing
            }
        }
        Err(error) => Listed { error: Some(error.to_string()), ..nothing },
    }
}

fn unknown() -> Problem {
    Problem::not_found("there is no such run; the list has those that there are")
}

/// The path of a folder among the runs, by its name, which leads nowhere else.
pub(crate) fn path(runs: &Runs, name: &str) -> Result<PathBuf, Problem> {
    if name.chars().any(char::is_control) {
        return Err(Problem::unprocessable(
            "name",
            "a run's name has no line breaks and no other control characters",
        ));
    }
    let mut parts = Path::new(name).components();
    let alone = matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name);
    if alone { Ok(runs.root().join(name)) } else { Err(unknown()) }
}

/// The folder of a measurement.
fn folder(runs: &Runs, name: &str) -> Result<PathBuf, Problem> {
    let folder = path(runs, name)?;
    if untrusted::is_file(&folder.join("manifest.json")) {
        return Ok(folder);
    }
    Err(match stored_runs::kind(&folder) {
        Some(_) => Problem::unprocessable("kind", "the run is no measurement; open a measurement for this"),
        None => unknown(),
    })
}

/// A run with its documents; one whose program was killed is completed first.
pub(crate) fn open(runs: &Runs, name: &str) -> Result<Opened, Problem> {
    let any = path(runs, name)?;
    if let Some(kind) = stored_runs::kind(&any) {
        return stored_runs::open(&any, name, kind);
    }
    let folder = folder(runs, name)?;
    let run = Run::open(&folder)?;
    let measurements = match run.state() {
        State::Complete | State::Partial | State::Recovered => run.measurements().ok(),
        State::Running => {
            return Err(Problem::conflict(
                "running",
                "the run is being measured; wait for its end, or stop it",
            ));
        }
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
    Ok(Opened {
        name: name.into(),
        folder: elsewhere(&folder).unwrap_or_else(|| folder.display().to_string()),
        state: state(state_now).into(),
        kind: FolderKind::Measurement,
        measurements: measurements.into_iter().map(WithWarningText).collect(),
        benchmark: None,
        emulation: None,
        frames: untrusted::is_file(&folder.join(exports::FRAMES_FILE)),
        scenario: emulated.as_ref().map(|emulated| scenario::json_of(&emulated.scenario)),
        emulated,
    })
}

fn read(runs: &Runs, name: &str) -> Result<reading::RunContents, Problem> {
    let folder = folder(runs, name)?;
    Ok(reading::read(&folder)?)
}

/// The report of a run as a page.
pub(crate) fn report(runs: &Runs, name: &str) -> Result<String, Problem> {
    let any = path(runs, name)?;
    if stored_runs::kind(&any).is_some() {
        return stored_runs::report(&any);
    }
    let folder = folder(runs, name)?;
    let run = Run::open(&folder)?;
    if matches!(run.state(), State::Complete | State::Partial | State::Recovered)
        && let Ok(page) = run.report()
    {
        return Ok(page);
    }
    if run.state() == State::Running {
        return Err(Problem::conflict("running", "the run is being measured; wait for its end, or stop it"));
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
    let folder = folder(runs, name)?;
    if Run::open(&folder).is_ok_and(|run| run.state() == State::Running) {
        return Err(Problem::conflict("running", "the run is being measured; stop it first"));
    }
    let files = [
        "report.html",
        MEASUREMENT_FILE,
        "packets.parquet",
        "packets.log",
        stored_runs::EMULATED_FILE,
        "manifest.json",
    ];
    remove(&folder, &files)
}

fn failed(folder: &Path, error: &std::io::Error) -> Problem {
    let folder = folder.display();
    Problem::unprocessable(
        "delete",
        format!("the run cannot be removed ({folder}): {error}; see its folder's rights"),
    )
}

/// Only what romer keeps there; a folder with more in it stays, with that.
fn remove(folder: &Path, files: &[&str]) -> Result<(), Problem> {
    let failed = |error: std::io::Error| failed(folder, &error);
    for file in files {
        match std::fs::remove_file(folder.join(file)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
    }
    match std::fs::remove_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => Ok(()),
        removed => removed.map_err(failed),
    }
}

/// The difference between two streams, each of a run.
pub(crate) fn compare(
    runs: &Runs,
    (a, stream_a): (&str, usize),
    (b, stream_b): (&str, usize),
    by: Option<&str>,
) -> Result<Comparison, Problem> {
    let by = by.unwrap_or("delay_ns.median").parse::<Figure>();
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
