//! The folder of a benchmark: its plan, every trial as it ends, and at the end the document and the page.
//!
//! `trials.log` is text: a line for each entry, its CRC-32 in eight hexadecimal digits, a space, and the entry in JSON. An
//! entry is synchronised before the next trial begins: trials take seconds, and nothing is measured meanwhile. A last
//! line that is not whole was being written when the program ended, and is dropped; any other that does not fit its
//! checksum is damage, and told.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use romer_record::benchmark::{BENCHMARK, BENCHMARK_PLAN, Benchmark, BenchmarkEntry, BenchmarkPlan};
use serde::Deserialize;

use crate::durable;
use crate::error::StoreError;
use crate::removal::remove_files;
use crate::run::{FolderKind, Location, read_json};
use crate::untrusted;

const PLAN_FILE: &str = "plan.json";
/// The text of the plan, where it came as one.
const PLAN_COPY: &str = "plan.toml";
const LOG_FILE: &str = "trials.log";
/// The file of a benchmark's document in its folder.
pub const BENCHMARK_FILE: &str = "benchmark.json";
const REPORT_FILE: &str = "report.html";

const BENCHMARK_KIND: FolderKind = FolderKind {
    files: &[REPORT_FILE, BENCHMARK_FILE, LOG_FILE, PLAN_COPY, PLAN_FILE],
    is_one: |folder| read_plan(folder).is_ok(),
    log: LOG_FILE,
};

/// A benchmark that is being written; locked for as long as this lives.
#[derive(Debug)]
pub struct BenchmarkRun {
    folder: PathBuf,
    log: File,
}

impl BenchmarkRun {
    /// Whether a benchmark can be kept there, as far as that can be told before.
    ///
    /// # Errors
    /// As of [`BenchmarkRun::create`].
    pub fn check(location: &Location) -> Result<(), StoreError> {
        location.check_for(&BENCHMARK_KIND)
    }

    /// Makes the folder with its plan and an empty log.
    ///
    /// # Errors
    /// [`StoreError::Exists`], [`StoreError::NotReplaceable`], [`StoreError::InUse`], [`StoreError::Io`].
    pub fn create(location: &Location, plan: &BenchmarkPlan) -> Result<Self, StoreError> {
        let folder = location.make(&BENCHMARK_KIND, &plan.started)?;
        write_json(&folder.join(PLAN_FILE), plan)?;
        let path = folder.join(LOG_FILE);
        let log = untrusted::open_with(OpenOptions::new().append(true).create(true), &path);
        let log = locked(log.map_err(StoreError::io("make the log of trials", &path))?, &folder)?;
        durable::sync_folder(&folder)?;
        Ok(Self { folder, log })
    }

    /// The plan of the benchmark in `folder`.
    ///
    /// # Errors
    /// [`StoreError::NotABenchmark`], [`StoreError::Malformed`], [`StoreError::Newer`], [`StoreError::Io`].
    pub fn plan(folder: &Path) -> Result<BenchmarkPlan, StoreError> {
        read_plan(folder)
    }

    /// Whether the benchmark in `folder` has come to its end.
    ///
    /// # Errors
    /// [`StoreError::Malformed`], [`StoreError::Newer`], [`StoreError::Io`].
    pub fn is_complete(folder: &Path) -> Result<bool, StoreError> {
        #[derive(Deserialize)]
        struct Part {
            partial: bool,
        }
        let path = folder.join(BENCHMARK_FILE);
        if !exists(&path) {
            return Ok(false);
        }
        read_json(&path, BENCHMARK).map(|Part { partial }| !partial)
    }

    /// Takes up an interrupted benchmark: what was kept, in its order. What a kill left half written is cut off.
    ///
    /// # Errors
    /// As of [`BenchmarkRun::plan`]; [`StoreError::InUse`] where another romer writes it.
    pub fn resume(folder: &Path) -> Result<(Self, Vec<BenchmarkEntry>), StoreError> {
        let path = folder.join(LOG_FILE);
        let opened = untrusted::open_with(OpenOptions::new().append(true).create(true), &path);
        let log = locked(opened.map_err(StoreError::io("open the log of trials", &path))?, folder)?;
        let text = durable::read_text(&path)?;
        let (entries, good) = read(&text, &path)?;
        if good < text.len() {
            log.set_len(good as u64).map_err(StoreError::io("cut the log of trials", &path))?;
        }
        Ok((Self { folder: folder.to_path_buf(), log }, entries))
    }

    /// Puts the text of the plan into the folder, from which it can be read again, and gives its path.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn keep_plan(&self, text: &str) -> Result<PathBuf, StoreError> {
        let path = Self::plan_copy(&self.folder);
        durable::put_bytes(&path, text.as_bytes())?;
        Ok(path)
    }

    /// Takes the benchmark in `folder` away: what romer keeps there. A folder with more in it stays, with that.
    ///
    /// # Errors
    /// As of [`BenchmarkRun::plan`]; [`StoreError::InUse`] where a romer writes it, [`StoreError::Io`].
    pub fn remove(folder: &Path) -> Result<(), StoreError> {
        read_plan(folder)?;
        let path = folder.join(LOG_FILE);
        let _held = match untrusted::open(&path) {
            Ok(log) => Some(locked(log, folder)?),
            Err(_) => None,
        };
        remove_files(folder, BENCHMARK_KIND.files)
    }

    /// The document of the benchmark in `folder`; `None` where it has not come so far.
    ///
    /// # Errors
    /// [`StoreError::Malformed`], [`StoreError::Newer`], [`StoreError::Io`].
    pub fn document(folder: &Path) -> Result<Option<Benchmark>, StoreError> {
        let path = folder.join(BENCHMARK_FILE);
        if !exists(&path) {
            return Ok(None);
        }
        read_json(&path, BENCHMARK).map(Some)
    }

    /// Where [`BenchmarkRun::keep_plan`] puts it.
    pub fn plan_copy(folder: &Path) -> PathBuf {
        folder.join(PLAN_COPY)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps an entry: when this returns it survives a loss of power.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn keep(&mut self, entry: &BenchmarkEntry) -> Result<(), StoreError> {
        let path = self.folder.join(LOG_FILE);
        let failed = |error| StoreError::io("write the log of trials", &path)(error);
        let json = serde_json::to_string(entry).map_err(|error| failed(io::Error::other(error)))?;
        let line = format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()));
        self.log.write_all(line.as_bytes()).and_then(|()| self.log.sync_data()).map_err(failed)
    }

    /// Puts the document and the page beside the trials, each whole or not at all. The trials stay: a benchmark that was
    /// interrupted goes on from them.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn finish(&self, document: &Benchmark, html: &str) -> Result<(), StoreError> {
        write_json(&self.folder.join(BENCHMARK_FILE), document)?;
        durable::put_bytes(&self.folder.join(REPORT_FILE), html.as_bytes())
    }
}

/// The log, locked. A process that was killed may have left a copy of itself behind, which has the lock until it has closed
/// what it does not need: that is waited for.
fn locked(log: File, folder: &Path) -> Result<File, StoreError> {
    /// How long that may take.
    const LOCK_TIMEOUT: Duration = Duration::from_millis(500);
    let give_up = Instant::now() + LOCK_TIMEOUT;
    loop {
        match log.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < give_up => {
                std::thread::sleep(LOCK_TIMEOUT / 50);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::InUse { path: folder.to_path_buf() });
            }
            // Where the file system has no locks, two at once cannot be told.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(log),
        }
    }
}

fn read_plan(folder: &Path) -> Result<BenchmarkPlan, StoreError> {
    let path = folder.join(PLAN_FILE);
    if !exists(&path) {
        let path = folder.to_path_buf();
        if folder.symlink_metadata().is_err() {
            return Err(StoreError::Missing { what: "benchmark", path });
        }
        return Err(StoreError::NotABenchmark { path, why: "it has no plan.json" });
    }
    read_json(&path, BENCHMARK_PLAN)
}

/// Whether anything has this name; what is no regular file is refused when it is read.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), StoreError> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| StoreError::io("write the file", path)(io::Error::other(error)))?;
    text.push('\n');
    durable::put_bytes(path, text.as_bytes())
}

/// The entries, and how many octets they take.
fn read(text: &str, path: &Path) -> Result<(Vec<BenchmarkEntry>, usize), StoreError> {
    let mut entries = Vec::new();
    let mut good = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let place = || format!("line {}", number + 1);
        let Some(whole) = line.strip_suffix('\n') else { break };
        let last = good + line.len() == text.len();
        let sum = |digits: &str| u32::from_str_radix(digits, 16).ok();
        match whole
            .split_once(' ')
            .filter(|(digits, json)| sum(digits) == Some(crc32fast::hash(json.as_bytes())))
        {
            Some((_, json)) => {
                let entry = serde_json::from_str(json);
                entries.push(entry.map_err(|error| StoreError::malformed(path, place(), error))?);
            }
            // A loss of power may leave the end of a file as something else.
            None if last => break,
            None => {
                return Err(StoreError::malformed(path, place(), "it does not fit its checksum"));
            }
        }
        good += line.len();
    }
    Ok((entries, good))
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_record::benchmark::{BenchmarkEvent, BenchmarkEventKind};

    fn plan() -> BenchmarkPlan {
        BenchmarkPlan {
            schema: BENCHMARK_PLAN.into(),
            started: "2026-11-22T08:00:00Z".into(),
            arguments: vec!["throughput".into()],
            seed: [1; 6],
            settings: std::collections::BTreeMap::new(),
        }
    }

    fn event(number: i64) -> BenchmarkEntry {
        let stream = format!("number {number}\nof many");
        BenchmarkEntry::Event(BenchmarkEvent {
            at_ns: number,
            kind: BenchmarkEventKind::StreamBack { stream },
        })
    }

    fn folder() -> (tempfile::TempDir, Location) {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Folder { path: folder.path().join("b"), force: false };
        (folder, location)
    }

    /// A log truncated anywhere keeps its earlier entries and accepts more.
    #[test]
    fn truncated_logs_keep_their_entries() {
        let (_folder, location) = folder();
        let mut run = BenchmarkRun::create(&location, &plan()).unwrap();
        let all: Vec<BenchmarkEntry> = (0..3).map(event).collect();
        let mut ends = Vec::new();
        let path = run.folder().join(LOG_FILE);
        for entry in &all {
            run.keep(entry).unwrap();
            ends.push(std::fs::metadata(&path).unwrap().len());
        }
        let home = run.folder().to_path_buf();
        assert!(matches!(BenchmarkRun::resume(&home), Err(StoreError::InUse { .. })));
        drop(run);
        assert_eq!(BenchmarkRun::plan(&home).unwrap(), plan());
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let kept = ends.iter().filter(|end| **end <= cut as u64).count();
            let (mut run, entries) = BenchmarkRun::resume(&home).unwrap();
            assert_eq!(entries, all[..kept], "cut at {cut}");
            run.keep(&event(9)).unwrap();
            drop(run);
            let (_, entries) = BenchmarkRun::resume(&home).unwrap();
            assert_eq!(entries.len(), kept + 1, "cut at {cut}");
            assert_eq!(entries.last(), Some(&event(9)));
        }
    }

    #[test]
    fn a_lock_that_is_about_to_go_is_waited_for() {
        let (_here, location) = folder();
        let run = BenchmarkRun::create(&location, &plan()).unwrap();
        let home = run.folder().to_path_buf();
        // As of a copy of a process that was killed: another handle of the same file, which goes a little later.
        let copy = run.log.try_clone().unwrap();
        drop(run);
        let gone = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            drop(copy);
        });
        assert!(BenchmarkRun::resume(&home).is_ok());
        gone.join().unwrap();
    }

    #[test]
    fn damage_within_the_log_is_told_with_its_line() {
        let (_folder, location) = folder();
        let mut run = BenchmarkRun::create(&location, &plan()).unwrap();
        for number in 0..3 {
            run.keep(&event(number)).unwrap();
        }
        let home = run.folder().to_path_buf();
        drop(run);
        let path = home.join(LOG_FILE);
        let text = std::fs::read_to_string(&path).unwrap().replace("number 1", "number 7");
        std::fs::write(&path, text).unwrap();
        let error = BenchmarkRun::resume(&home).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("checksum"), "{error}");
        let replaced = Location::Folder { path: home.clone(), force: false };
        assert!(matches!(BenchmarkRun::create(&replaced, &plan()), Err(StoreError::Exists { .. })));
        let forced = Location::Folder { path: home.clone(), force: true };
        drop(BenchmarkRun::create(&forced, &plan()).unwrap());
        assert!(BenchmarkRun::resume(&home).unwrap().1.is_empty());
        std::fs::remove_file(home.join(PLAN_FILE)).unwrap();
        assert!(matches!(BenchmarkRun::create(&forced, &plan()), Err(StoreError::NotReplaceable { .. })));
        assert!(matches!(BenchmarkRun::plan(&home), Err(StoreError::NotABenchmark { .. })));
    }
}
