//! Benchmarks and emulations in the folder of runs, and the emulation stored with a measurement.

use std::path::Path;

use crate::warning_text::WithWarningText;
use romer_loop::folder::PAGE;
use romer_record::emulation::{EMULATED, EMULATION, Emulated, Emulation};
use romer_record::run_list::{RunKind, RunListEntry};
use romer_store::{BenchmarkRun, EMULATED_FILE, MANIFEST_FILE, Runs, put_bytes, untrusted};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{RunDocuments, remove, run_summary, stored_loops, unread};
use crate::problem::Problem;
use crate::scenario;

const EMULATION_FILE: &str = "emulation.json";
const REPORT_FILE: &str = "report.html";
const SCENARIO_FILE: &str = "scenario.toml";
/// The file in which a run has frames, where they are stored with it (`--pcapng`).
pub(crate) const FRAMES_FILE: &str = "frames.pcapng";
/// What emulations that a page ended are called.
const EMULATION_NAME: &str = "emulation";
/// Emulations among the runs beyond which no other is added to them: each takes some ten thousand octets.
pub(super) const MOST_EMULATIONS: usize = 200;
/// Octets of a document that is read.
const MAX_DOCUMENT_OCTETS: u64 = 64 << 20;

/// What a folder is; `None` for a measurement, and for what is nothing of romer's.
pub(super) fn kind(folder: &Path) -> Option<RunKind> {
    if untrusted::is_file(&folder.join(MANIFEST_FILE)) {
        return None;
    }
    if BenchmarkRun::plan(folder).is_ok() {
        return Some(RunKind::Benchmark);
    }
    // A loop has the document of its emulation too.
    if stored_loops::is_loop(folder) {
        return Some(RunKind::Loop);
    }
    untrusted::is_file(&folder.join(EMULATION_FILE)).then_some(RunKind::Emulation)
}

/// The part of a document that identifies its schema.
#[derive(Default, Deserialize)]
#[serde(default)]
struct DocumentHeader {
    schema: String,
}

/// A document of this schema.
pub(super) fn document<T: DeserializeOwned>(path: &Path, schema: &str) -> Result<T, Problem> {
    let refused = |why: &str| {
        Problem::unprocessable("document", format!("{}: {why}; the folder is damaged", path.display()))
    };
    let text =
        untrusted::read_text(path, MAX_DOCUMENT_OCTETS).map_err(|error| refused(&error.to_string()))?;
    let head: DocumentHeader = serde_json::from_str(&text).map_err(|error| refused(&error.to_string()))?;
    if head.schema != schema {
        return Err(refused(&format!("it is no {schema}")));
    }
    serde_json::from_str(&text).map_err(|error| refused(&error.to_string()))
}

/// The benchmarks and emulations among the runs.
pub(super) fn list(runs: &Runs) -> Vec<RunListEntry> {
    let Ok(entries) = std::fs::read_dir(runs.root()) else { return Vec::new() };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    paths.filter_map(|path| kind(&path).map(|kind| listed(&path, kind))).collect()
}

pub(super) fn listed(folder: &Path, kind: RunKind) -> RunListEntry {
    let mut listed = unread(folder, kind);
    let filled = match kind {
        RunKind::Loop => stored_loops::outline(folder, &mut listed),
        RunKind::Emulation => emulation(folder).map(|document| {
            listed.targets = document.ports.values().map(|port| port.interface.clone()).collect();
            listed.created = document.started;
            listed.state = "complete".into();
        }),
        RunKind::Benchmark | RunKind::Measurement => benchmark(folder, &mut listed),
    };
    listed.error = filled.err().map(|problem| problem.detail().to_owned());
    listed
}

fn benchmark(folder: &Path, listed: &mut RunListEntry) -> Result<(), Problem> {
    let plan = BenchmarkRun::plan(folder)?;
    listed.created = plan.started;
    listed.targets = ["tx", "rx"].iter().filter_map(|port| plan.settings.get(*port).cloned()).collect();
    listed.traffic = plan.settings.get("procedure").cloned();
    listed.state = if BenchmarkRun::is_complete(folder)? { "complete" } else { "partial" }.into();
    let outline = run_summary::benchmark(folder);
    listed.limits = outline.limits;
    listed.failed_limits = outline.failed_limits;
    Ok(())
}

fn emulation(folder: &Path) -> Result<Emulation, Problem> {
    document(&folder.join(EMULATION_FILE), EMULATION)
}

/// One of them with its document.
pub(super) fn open(folder: &Path, name: &str, kind: RunKind) -> Result<RunDocuments, Problem> {
    let listed = listed(folder, kind);
    let emulation = if kind == RunKind::Emulation { Some(emulation(folder)?) } else { None };
    let benchmark = if kind == RunKind::Benchmark { BenchmarkRun::document(folder)? } else { None };
    Ok(RunDocuments {
        name: name.into(),
        folder: super::link_target(folder).unwrap_or_else(|| folder.display().to_string()),
        state: listed.state,
        kind,
        measurements: Vec::new(),
        benchmark: benchmark.map(WithWarningText),
        scenario: emulation.as_ref().map(|document| scenario::json_of(&document.scenario)),
        emulation: emulation.map(WithWarningText),
        closed_loop: None,
        frames: untrusted::is_file(&folder.join(FRAMES_FILE)),
        emulated: None,
    })
}

/// The page that lies in the folder.
pub(super) fn report(folder: &Path, kind: RunKind) -> Result<String, Problem> {
    let (file, who) = match kind {
        RunKind::Loop => (PAGE, "loop"),
        RunKind::Benchmark | RunKind::Emulation | RunKind::Measurement => (REPORT_FILE, "benchmark"),
    };
    untrusted::read_text(&folder.join(file), MAX_DOCUMENT_OCTETS).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Problem::not_found(format!(
            "there is no report in the folder yet; a {who} has one when it has ended"
        )),
        _ => Problem::unprocessable("report", format!("{file} cannot be read: {error}")),
    })
}

/// Takes one away.
pub(super) fn delete(folder: &Path, kind: RunKind) -> Result<(), Problem> {
    match kind {
        RunKind::Emulation => {}
        RunKind::Loop => return stored_loops::delete(folder),
        RunKind::Benchmark | RunKind::Measurement => return Ok(BenchmarkRun::remove(folder)?),
    }
    // A link leads to figures that are not the emulation's.
    let figures = folder.join("figures");
    if untrusted::is_folder(&figures) {
        let entries = std::fs::read_dir(&figures).into_iter().flatten().filter_map(Result::ok);
        let drawn = entries.map(|entry| entry.path());
        for figure in drawn.filter(|path| path.extension().is_some_and(|extension| extension == "svg")) {
            // What cannot be removed keeps its folder, which is told.
            let _ = std::fs::remove_file(figure);
        }
        let _ = std::fs::remove_dir(&figures);
    }
    remove(folder, &["samples.csv", FRAMES_FILE, SCENARIO_FILE, REPORT_FILE, EMULATION_FILE])
}

/// Keeps an emulation that has ended as a run, and gives its name.
///
/// # Errors
/// In words: there are too many already, or nothing can be written.
pub(crate) fn keep_emulation(runs: &Runs, document: &Emulation) -> Result<String, String> {
    let entries = std::fs::read_dir(runs.root()).into_iter().flatten().filter_map(Result::ok);
    let held = entries.filter(|entry| untrusted::is_file(&entry.path().join(EMULATION_FILE))).count();
    if held >= MOST_EMULATIONS {
        return Err(format!("{held} emulations are kept already; delete some of them (Runs) first"));
    }
    let folder = runs.make_folder(EMULATION_NAME, &document.started).map_err(|error| error.to_string())?;
    let written = write_emulation(&folder, document);
    if let Err(error) = written {
        // Half a run is none.
        let _ = remove(&folder, &[SCENARIO_FILE, REPORT_FILE, EMULATION_FILE]);
        return Err(format!("{}: {error}", folder.display()));
    }
    Ok(folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default())
}

fn write_emulation(folder: &Path, document: &Emulation) -> Result<(), String> {
    let mut text = serde_json::to_string_pretty(document).map_err(|error| error.to_string())?;
    text.push('\n');
    let report = romer_report::emulation::report_of_counts(document);
    // The document last: a folder that has it is whole.
    for (name, text) in [(SCENARIO_FILE, &document.scenario), (REPORT_FILE, &report), (EMULATION_FILE, &text)]
    {
        put_bytes(&folder.join(name), text.as_bytes()).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// What a measurement passed through, where that was kept with it and can be read.
pub(super) fn emulated(folder: &Path) -> Option<Emulated> {
    let path = folder.join(EMULATED_FILE);
    document(&path, EMULATED).ok()
}

/// Keeps what a measurement passes through in its folder, whole or not at all.
pub(crate) fn store_emulated(folder: &Path, emulated: &Emulated) -> Result<(), String> {
    let mut text = serde_json::to_string_pretty(emulated).map_err(|error| error.to_string())?;
    text.push('\n');
    put_bytes(&folder.join(EMULATED_FILE), text.as_bytes()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::emulation;
    use super::*;

    /// An ended emulation is stored as a run with its page, up to a limit.
    #[test]
    fn ended_emulations_become_runs() {
        let place = tempfile::tempdir().unwrap();
        let runs = Runs::at(place.path().join("runs"));
        let document = emulation();
        let name = keep_emulation(&runs, &document).unwrap();
        let other = keep_emulation(&runs, &document).unwrap();
        assert_ne!(name, other);
        let folder = runs.root().join(&name);
        assert_eq!(kind(&folder), Some(RunKind::Emulation));
        let opened = open(&folder, &name, RunKind::Emulation).unwrap();
        assert_eq!(opened.emulation.unwrap(), WithWarningText(document.clone()));
        assert!(report(&folder, RunKind::Emulation).unwrap().contains("a to b: 7 packets"));
        delete(&folder, RunKind::Emulation).unwrap();
        assert!(!folder.exists(), "nothing of it is left");
        for number in 1..MOST_EMULATIONS {
            let held = runs.root().join(number.to_string());
            std::fs::create_dir_all(&held).unwrap();
            std::fs::write(held.join(EMULATION_FILE), "{}").unwrap();
        }
        let why = keep_emulation(&runs, &document).unwrap_err();
        assert!(why.contains("200 emulations are kept already"), "{why}");
    }
}
