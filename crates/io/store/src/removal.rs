//! The removal of runs: of one, and of those that have expired.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::StoreError;
use crate::run::{FILES, MANIFEST_FILE, Run, State};
use crate::runs::Runs;
use crate::untrusted;

/// Octets of the time at the beginning of a run's folder: `20261122T100000Z`.
const TIME_OCTETS: usize = 16;

/// What is kept of the runs of a folder. A limit that is `None` does not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Time since the start of a run, at most.
    pub age: Option<Duration>,
    /// Number of runs, at most.
    pub number: Option<u64>,
    /// Size of all runs together, bytes, at most.
    pub octets: Option<u64>,
}

/// A run, as far as a [`Retention`] depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Start of the run; `None` if it is unknown.
    pub began: Option<SystemTime>,
    /// Bytes that its removal frees.
    pub octets: u64,
    /// Whether it may be removed: not while it is being written, nor if it cannot be read.
    pub is_removable: bool,
}

impl Retention {
    /// The removable ones of `runs` that exceed a limit at the time `now`. `runs` are sorted, newest first, and all of them count.
    /// `describe` gives what the limits apply to.
    pub fn excess<R>(
        &self,
        runs: impl IntoIterator<Item = R>,
        describe: impl Fn(&R) -> Candidate,
        now: SystemTime,
    ) -> Vec<R> {
        let oldest = self.age.and_then(|age| now.checked_sub(age));
        let (mut number, mut octets) = (0_u64, 0_u64);
        let mut excess = Vec::new();
        for run in runs {
            let candidate = describe(&run);
            number += 1;
            octets = octets.saturating_add(candidate.octets);
            let is_old = oldest.zip(candidate.began).is_some_and(|(oldest, began)| began < oldest);
            let is_beyond = is_old
                || self.number.is_some_and(|most| number > most)
                || self.octets.is_some_and(|most| octets > most);
            if is_beyond && candidate.is_removable {
                excess.push(run);
            }
        }
        excess
    }
}

impl Run {
    /// Removes the measurement in `folder`: the files that romer stores there. A folder with other files remains, with these.
    ///
    /// # Errors
    /// [`StoreError::InUse`] while it is being written; [`StoreError::Io`].
    pub fn remove(folder: &Path) -> Result<(), StoreError> {
        if Self::open(folder).is_ok_and(|run| run.state() == State::Running) {
            return Err(StoreError::InUse { path: folder.to_path_buf() });
        }
        remove_files(folder, &FILES)
    }
}

impl Runs {
    /// Removes the measurements that began more than `keep` before `now`, by the times in the names of their folders. Gives their number.
    /// Folders without such a time or without a manifest remain, as do links, and runs that are being written.
    ///
    /// # Errors
    /// [`StoreError::Io`] if a folder cannot be read or removed; further expired runs may then remain.
    pub fn remove_expired(&self, keep: Duration, now: SystemTime) -> Result<u64, StoreError> {
        let entries = match fs::read_dir(self.root()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            entries => entries.map_err(StoreError::io("read the folder of runs", self.root()))?,
        };
        let mut dated: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in entries {
            let entry = entry.map_err(StoreError::io("read the folder of runs", self.root()))?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let time = entry.file_name().to_str().and_then(began).filter(|_| is_folder);
            dated.extend(time.map(|time| (time, entry.path())));
        }
        let retention = Retention { age: Some(keep), ..Retention::default() };
        let describe = |(began, path): &(SystemTime, PathBuf)| Candidate {
            began: Some(*began),
            octets: 0,
            is_removable: untrusted::is_file(&path.join(MANIFEST_FILE)),
        };
        let mut removed = 0;
        for (_, path) in retention.excess(dated, describe, now) {
            match Run::remove(&path) {
                Ok(()) => removed += 1,
                Err(StoreError::InUse { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(removed)
    }
}

/// Removes these files of a folder, and then the folder if it is empty.
///
/// # Errors
/// [`StoreError::Io`]. Files that do not exist are none.
pub fn remove_files(folder: &Path, files: &[&str]) -> Result<(), StoreError> {
    for file in files {
        let path = folder.join(file);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("remove the file", &path)(error));
            }
            _ => {}
        }
    }
    match fs::remove_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        removed => removed.map_err(StoreError::io("remove the folder", folder)),
    }
}

/// The time that the name of a run's folder begins with.
fn began(name: &str) -> Option<SystemTime> {
    let (time, rest) = name.split_at_checked(TIME_OCTETS)?;
    let digits = |from: usize, to: usize| time.get(from..to);
    let text = format!(
        "{}-{}-{}T{}:{}:{}Z",
        digits(0, 4)?,
        digits(4, 6)?,
        digits(6, 8)?,
        digits(9, 11)?,
        digits(11, 13)?,
        digits(13, 15)?
    );
    let is_time = time.as_bytes().get(8) == Some(&b'T') && time.ends_with('Z') && rest.starts_with('-');
    humantime::parse_rfc3339(&text).ok().filter(|_| is_time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::EMULATED_FILE;

    /// Expired runs are removed with their files. Younger ones, other folders, files, links and files of users remain.
    #[test]
    fn expired_runs_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let make = |name: &str, files: &[&str]| {
            fs::create_dir(home.path().join(name)).unwrap();
            for file in files {
                fs::write(home.path().join(name).join(file), "{}").unwrap();
            }
        };
        make("20261101T095959Z-far", &[MANIFEST_FILE, "packets.parquet", EMULATED_FILE]);
        make("20261101T100000Z-far", &[MANIFEST_FILE]);
        make("20261130T100000Z-far", &[MANIFEST_FILE]);
        make("20200101T000000Z-notes", &[]);
        make("20201301T000000Z-month", &[MANIFEST_FILE]);
        make("notes", &[MANIFEST_FILE]);
        make("20200101T000000Z-mine", &[MANIFEST_FILE, "notes.txt"]);
        fs::write(home.path().join("20200101T000000Z-file"), "").unwrap();
        let link = home.path().join("20200101T000000Z-link");
        std::os::unix::fs::symlink(home.path().join("20261130T100000Z-far"), link).unwrap();
        let now = humantime::parse_rfc3339("2026-12-01T10:00:00Z").unwrap();
        let month = Duration::from_secs(30 * 86_400);
        let runs = Runs::at(home.path().into());
        assert_eq!(runs.remove_expired(month, now).unwrap(), 2);
        assert!(!home.path().join("20261101T095959Z-far").exists());
        let mine = home.path().join("20200101T000000Z-mine");
        assert!(mine.join("notes.txt").exists() && !mine.join(MANIFEST_FILE).exists());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 8);
        assert_eq!(runs.remove_expired(month, now).unwrap(), 0, "once");
        assert_eq!(runs.remove_expired(Duration::MAX, now).unwrap(), 0, "before all time");
        let none = Runs::at(home.path().join("nowhere"));
        assert_eq!(none.remove_expired(month, now).unwrap(), 0);
    }

    /// Names of folders begin with a time, or not.
    #[test]
    fn times_are_read_from_names() {
        let time = humantime::parse_rfc3339("2026-11-22T10:11:12Z").unwrap();
        assert_eq!(began("20261122T101112Z-far"), Some(time));
        for name in
            ["20261122T101112Z", "20261122T101112Zfar", "20261322T101112Z-a", "2026112\u{e9}T101112Z-a", "a"]
        {
            assert_eq!(began(name), None, "{name}");
        }
    }
}
