//! Runs: what was measured, here or on the command line.

use std::path::PathBuf;

use axum::http::StatusCode;
use romer_measure::{export, reading};
use romer_record::comparison::Comparison;
use romer_record::document::{Measurement, Way};
use romer_report::comparison::{self, Figure, Subject};
use romer_store::{Run, Runs, State, StoreError};
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::Problem;

/// A run in the list.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Listed {
    /// The folder's name.
    name: String,
    /// When it was begun, RFC 3339; empty where that cannot be read.
    created: String,
    /// `complete`, `partial`, `recovered`, `running` or `killed`; `damaged` where it cannot be read.
    state: String,
    /// The targets.
    targets: Vec<String>,
    /// The schedule.
    traffic: Option<String>,
    /// Which ways its packets went.
    direction: Option<Way>,
    /// The user's words.
    comment: Option<String>,
    /// Why it cannot be read.
    error: Option<String>,
}

/// A run, opened.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Opened {
    /// The folder's name.
    name: String,
    /// Where it is kept.
    folder: String,
    /// As in the list.
    state: String,
    /// One for each stream.
    measurements: Vec<Measurement>,
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
            StoreError::NotARun { .. } => StatusCode::NOT_FOUND,
            StoreError::InUse { .. } => StatusCode::CONFLICT,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::new(status, "run", error.to_string())
    }
}

/// The runs, newest first.
pub(crate) fn list(runs: &Runs) -> Result<Vec<Listed>, Problem> {
    let listed = runs.list()?;
    Ok(listed
        .into_iter()
        .map(|listed| {
            let name =
                listed.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            match listed.run {
                Ok(run) => {
                    let manifest = run.manifest();
                    let first = manifest.streams.first();
                    Listed {
                        name,
                        created: manifest.created.clone(),
                        state: state(run.state()).into(),
                        targets: manifest.streams.iter().map(|stream| stream.target.clone()).collect(),
                        traffic: first.map(|stream| stream.traffic.model.clone()),
                        direction: first.map(|stream| stream.traffic.direction),
                        comment: first.and_then(|stream| stream.metadata.comment.clone()),
                        error: None,
                    }
                }
                Err(error) => Listed {
                    name,
                    created: String::new(),
                    state: "damaged".into(),
                    targets: Vec::new(),
                    traffic: None,
                    direction: None,
                    comment: None,
                    error: Some(error.to_string()),
                },
            }
        })
        .collect())
}

/// The folder of a run, by a name that must be one in the folder of runs.
pub(crate) fn folder(runs: &Runs, name: &str) -> Result<PathBuf, Problem> {
    let plain = !name.is_empty()
        && name.len() <= 255
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
        && !name.starts_with('.');
    let none = || Problem::not_found("there is no such run; the list has those that there are");
    if !plain {
        return Err(none());
    }
    let folder = runs.root().join(name);
    if folder.join("manifest.json").is_file() { Ok(folder) } else { Err(none()) }
}

/// A run with its documents; one whose program was killed is completed first.
pub(crate) fn open(runs: &Runs, name: &str) -> Result<Opened, Problem> {
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
    Ok(Opened {
        name: name.into(),
        folder: folder.display().to_string(),
        state: state(state_now).into(),
        measurements,
    })
}

fn read(runs: &Runs, name: &str) -> Result<reading::Reading, Problem> {
    let folder = folder(runs, name)?;
    reading::read(&folder).map_err(|error| Problem::from(&error))
}

/// The report of a run as a page.
pub(crate) fn report(runs: &Runs, name: &str) -> Result<String, Problem> {
    let folder = folder(runs, name)?;
    let run = Run::open(&folder)?;
    if matches!(run.state(), State::Complete | State::Partial | State::Recovered)
        && let Ok(page) = std::fs::read_to_string(run.report_path())
    {
        return Ok(page);
    }
    if run.state() == State::Running {
        return Err(Problem::conflict("running", "the run is being measured; wait for its end, or stop it"));
    }
    Ok(romer_measure::measure::page(&read(runs, name)?.streams))
}

/// The packets of a stream, as a table that others can read.
pub(crate) fn packets(runs: &Runs, name: &str, stream: u16, way: Option<Way>) -> Result<Vec<u8>, Problem> {
    let reading = read(runs, name)?;
    let place = usize::from(stream);
    let (Some(evaluated), Some(of)) = (reading.streams.get(place), reading.run.manifest().streams.get(place))
    else {
        let detail = format!("the run has {} streams, counted from 0", reading.streams.len());
        return Err(Problem::not_found(detail));
    };
    let went = of.traffic.direction;
    let way = match (went, way) {
        (Way::Both, Some(way @ (Way::Forward | Way::Reverse))) => way,
        (Way::Both, _) => Way::Forward,
        (went, _) => went,
    };
    let nothing = Vec::new();
    let rows = reading.rows.get(&stream).unwrap_or(&nothing);
    let mut table = Vec::new();
    export::csv(&mut table, of, evaluated, rows, way, false)
        .map_err(|error| Problem::unprocessable("packets", error.to_string()))?;
    Ok(table)
}

/// Takes a run away.
pub(crate) fn delete(runs: &Runs, name: &str) -> Result<(), Problem> {
    let folder = folder(runs, name)?;
    if Run::open(&folder).is_ok_and(|run| run.state() == State::Running) {
        return Err(Problem::conflict("running", "the run is being measured; stop it first"));
    }
    // Only what romer keeps there; a folder with more in it stays, with that.
    let failed = |error: std::io::Error| {
        Problem::unprocessable(
            "delete",
            format!("the run {name} cannot be removed: {error}; see its folder's rights"),
        )
    };
    for file in ["report.html", "measurement.json", "packets.parquet", "packets.log", "manifest.json"] {
        match std::fs::remove_file(folder.join(file)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
    }
    match std::fs::remove_dir(&folder) {
        Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => Ok(()),
        removed => removed.map_err(failed),
    }
}

/// The difference between two runs' first streams.
pub(crate) fn compare(runs: &Runs, a: &str, b: &str, by: Option<&str>) -> Result<Comparison, Problem> {
    let by = by.unwrap_or("delay_ns.median").parse::<Figure>();
    let by = by.map_err(|why| Problem::unprocessable("by", why))?;
    let [first, second] = [read(runs, a)?, read(runs, b)?];
    let (Some(of_a), Some(of_b)) = (first.streams.first(), second.streams.first()) else {
        return Err(Problem::unprocessable("streams", "a run has no stream"));
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
