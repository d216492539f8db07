//! Closed loops in the folder of runs. Each is a folder with two runs, the scenario, the document and the page.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use romer_loop::folder::{self, DOCUMENT, EMULATED, EMULATION, PAGE, PATH, SAMPLES, SCENARIO};
use romer_record::closed_loop::{ClosedLoop, LOOP};
use romer_record::run_list::{RunKind, RunListEntry};
use romer_store::{MANIFEST_FILE, Run, Runs, State, untrusted};

use super::{RunDocuments, StoredLoop, name_among, not_removed, remove, stored_runs};
use crate::problem::Problem;
use crate::request_guard::LARGEST_BODY;
use crate::scenario;
use crate::warning_text::WithWarningText;

/// Whether a folder is that of a loop.
pub(super) fn is_loop(folder: &Path) -> bool {
    untrusted::is_file(&folder.join(DOCUMENT))
        || [PATH, EMULATED].into_iter().any(|name| inner(folder, name).is_some())
}

/// The folder of a run of the loop in `folder`, where there is one of this name.
pub(super) fn run(folder: &Path, name: &str) -> Option<PathBuf> {
    if is_loop(folder) { inner(folder, name) } else { None }
}

/// The same of a folder that may be something else. A link is not followed.
fn inner(folder: &Path, name: &str) -> Option<PathBuf> {
    let run = folder.join([PATH, EMULATED].into_iter().find(|known| *known == name)?);
    (untrusted::is_folder(&run) && untrusted::is_file(&run.join(MANIFEST_FILE))).then_some(run)
}

fn document(folder: &Path) -> Result<Option<ClosedLoop>, Problem> {
    let file = folder.join(DOCUMENT);
    if !untrusted::is_file(&file) {
        return Ok(None);
    }
    stored_runs::document(&file, LOOP).map(Some)
}

/// Its runs, that of the path first, as far as it has them.
fn opened_runs(folder: &Path) -> Result<Vec<Run>, Problem> {
    let folders = [PATH, EMULATED].into_iter().filter_map(|name| inner(folder, name));
    Ok(folders.map(|run| Run::open(&run)).collect::<Result<Vec<_>, _>>()?)
}

/// Fills in what the list of runs shows of a loop.
pub(super) fn outline(folder: &Path, listed: &mut RunListEntry) -> Result<(), Problem> {
    let document = document(folder)?;
    let runs = opened_runs(folder)?;
    if let Some(run) = runs.first() {
        let streams = &run.manifest().streams;
        listed.created = run.manifest().created.clone();
        listed.targets = streams.iter().map(|stream| stream.target.clone()).collect();
        listed.traffic = streams.first().map(|stream| stream.traffic.model.clone());
        listed.direction = streams.first().map(|stream| stream.traffic.direction);
    }
    if let Some(document) = &document {
        listed.targets = vec![document.path.target.clone()];
        listed.verdict = Some(document.verdict);
    }
    let is_running = runs.iter().any(|run| run.state() == State::Running);
    listed.state = match (document.is_some(), is_running) {
        (true, _) => "complete",
        (false, true) => "running",
        (false, false) => "partial",
    }
    .into();
    Ok(())
}

/// A loop with its document and the names of its runs.
pub(super) fn open(runs: &Runs, folder: &Path, name: &str) -> Result<RunDocuments, Problem> {
    let document = document(folder)?;
    let listed = stored_runs::listed(folder, RunKind::Loop);
    // The path may have been measured elsewhere.
    let path = match (inner(folder, PATH), &document) {
        (Some(_), _) => Some(format!("{name}/{PATH}")),
        (None, Some(document)) => name_among(runs, Path::new(&document.path.name)),
        (None, None) => None,
    };
    Ok(RunDocuments {
        name: name.into(),
        folder: super::link_target(folder).unwrap_or_else(|| folder.display().to_string()),
        state: listed.state,
        kind: RunKind::Loop,
        measurements: Vec::new(),
        benchmark: None,
        emulation: None,
        scenario: document.as_ref().map(|document| scenario::json_of(&document.scenario)),
        closed_loop: Some(StoredLoop {
            document: document.map(WithWarningText),
            path,
            emulated: inner(folder, EMULATED).map(|_| format!("{name}/{EMULATED}")),
        }),
        frames: false,
        emulated: None,
    })
}

/// The files of the scenario besides itself, as text by name.
///
/// # Errors
/// They cannot be read, or are larger together than a request that puts them in force may be.
pub(super) fn scenario_files(folder: &Path) -> Result<BTreeMap<String, String>, Problem> {
    let mut files = BTreeMap::new();
    let mut left = LARGEST_BODY as u64;
    for name in scenario_names(folder).into_iter().filter(|name| name != SCENARIO) {
        let text = untrusted::read_text(&folder.join(&name), left).map_err(|error| {
            let detail = format!(
                "a file of the scenario cannot be read ({name}): {error}; use `romer emulate --scenario` with the file in the \
                 folder of the loop"
            );
            Problem::unprocessable("files", detail)
        })?;
        left = left.saturating_sub(text.len() as u64);
        files.insert(name, text);
    }
    Ok(files)
}

/// The names of the scenario's files, itself among them.
fn scenario_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| folder::is_of_scenario(name)).collect()
}

/// Takes a loop away, with the runs in its folder. A run of the path that is elsewhere stays.
pub(super) fn delete(folder: &Path) -> Result<(), Problem> {
    let runs = [PATH, EMULATED].into_iter().filter_map(|name| inner(folder, name));
    let runs: Vec<PathBuf> = runs.collect();
    if runs.iter().any(|run| Run::open(run).is_ok_and(|run| run.state() == State::Running)) {
        return Err(Problem::conflict("running", "a run of the loop is being measured; stop it first"));
    }
    for run in &runs {
        Run::remove(run).map_err(not_removed)?;
    }
    let names = scenario_names(folder);
    let results = [SAMPLES, EMULATION, PAGE, DOCUMENT];
    let files: Vec<&str> = names.iter().map(String::as_str).chain(results).collect();
    remove(folder, &files)
}

/// Takes a loop away that has no run and no document. Gives whether it did.
pub(super) fn discard(folder: &Path) -> bool {
    !is_loop(folder) && delete(folder).is_ok() && !folder.exists()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A link in the folder of a loop is neither opened as its run nor followed when the loop is deleted.
    #[test]
    fn links_are_no_runs_of_a_loop() {
        let place = tempfile::tempdir().unwrap();
        let (folder, elsewhere) = (place.path().join("loop"), place.path().join("elsewhere"));
        for folder in [&folder, &elsewhere] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(elsewhere.join("manifest.json"), "{}").unwrap();
        fs::write(folder.join(DOCUMENT), "{}").unwrap();
        symlink(&elsewhere, folder.join(PATH)).unwrap();
        symlink(elsewhere.join("manifest.json"), folder.join("scenario.csv")).unwrap();
        assert!(is_loop(&folder) && run(&folder, PATH).is_none());
        assert!(scenario_files(&folder).is_err());
        delete(&folder).unwrap();
        assert!(elsewhere.join("manifest.json").exists() && !folder.join(DOCUMENT).exists());
    }

    /// A folder with a scenario alone is discarded, one with a run is not.
    #[test]
    fn loops_without_runs_are_discarded() {
        let place = tempfile::tempdir().unwrap();
        let [empty, begun] = ["empty", "begun"].map(|name| place.path().join(name));
        fs::create_dir(&empty).unwrap();
        fs::create_dir_all(begun.join(EMULATED)).unwrap();
        fs::write(begun.join(EMULATED).join("manifest.json"), "{}").unwrap();
        for folder in [&empty, &begun] {
            fs::write(folder.join(SCENARIO), "").unwrap();
        }
        assert!(discard(&empty) && !empty.exists());
        assert!(!discard(&begun) && begun.join(SCENARIO).exists());
    }

    /// A loop has the runs of its two names only, and the files of its scenario.
    #[test]
    fn loops_have_two_runs() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        assert!(!is_loop(folder));
        for name in [PATH, "other"] {
            fs::create_dir(folder.join(name)).unwrap();
            fs::write(folder.join(name).join("manifest.json"), "{}").unwrap();
        }
        assert_eq!(run(folder, PATH), Some(folder.join(PATH)));
        for name in ["other", EMULATED, "path/", "../path", ""] {
            assert_eq!(run(folder, name), None, "{name:?}");
        }
        for name in [SCENARIO, "scenario.a_to_b.csv", "scenarios.csv"] {
            fs::write(folder.join(name), name).unwrap();
        }
        let files: Vec<String> = scenario_files(folder).unwrap().into_keys().collect();
        assert_eq!(files, ["scenario.a_to_b.csv"]);
    }
}
