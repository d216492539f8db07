//! The removal of expired runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use romer_store::MANIFEST_FILE;

/// Octets of the time at the beginning of a run's folder: `20261122T100000Z`.
const TIME_OCTETS: usize = 16;

/// Why expired runs were not removed.
#[derive(Debug, thiserror::Error)]
#[error("cannot remove expired runs ({}): {source}; check the rights of the folder", path.display())]
pub struct RetentionError {
    /// The run, or the folder of the runs.
    pub path: PathBuf,
    /// The system's answer.
    pub source: io::Error,
}

/// Removes the runs in `folder` that began more than `keep` before `now`, by the time in their names. Gives their number. What is no
/// folder, has no time in its name or no manifest is left alone, as are links.
///
/// # Errors
/// The system's, where a folder cannot be read or removed. Further runs may then remain.
pub fn remove_expired(folder: &Path, keep: Duration, now: SystemTime) -> Result<u64, RetentionError> {
    let cutoff = now.checked_sub(keep).filter(|time| *time >= SystemTime::UNIX_EPOCH);
    let Some(cutoff) = cutoff.map(time_of_folder) else { return Ok(0) };
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| RetentionError { path, source }
    };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries.map_err(failed(folder))?,
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry.map_err(failed(folder))?;
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let name = entry.file_name();
        let began = name.to_str().and_then(began);
        if is_folder
            && began.is_some_and(|began| began < cutoff.as_str())
            && path.join(MANIFEST_FILE).is_file()
        {
            fs::remove_dir_all(&path).map_err(failed(&path))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// A time as the names of run folders begin with.
fn time_of_folder(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string().replace(['-', ':'], "")
}

/// The time that the name of a run's folder begins with.
fn began(name: &str) -> Option<&str> {
    let (time, rest) = name.split_at_checked(TIME_OCTETS)?;
    let is_time = time.bytes().enumerate().all(|(place, octet)| match place {
        8 => octet == b'T',
        15 => octet == b'Z',
        _ => octet.is_ascii_digit(),
    });
    (is_time && rest.starts_with('-')).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expired runs are removed; younger ones, other folders, files and links are left.
    #[test]
    fn expired_runs_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let make = |name: &str, has_manifest: bool| {
            fs::create_dir(home.path().join(name)).unwrap();
            if has_manifest {
                fs::write(home.path().join(name).join(MANIFEST_FILE), "{}").unwrap();
            }
        };
        make("20261101T095959Z-far", true);
        make("20261101T100000Z-far", true);
        make("20261130T100000Z-far", true);
        make("20200101T000000Z-notes", false);
        make("notes", true);
        fs::write(home.path().join("20200101T000000Z-file"), "").unwrap();
        let link = home.path().join("20200101T000000Z-link");
        std::os::unix::fs::symlink(home.path().join("20261130T100000Z-far"), link).unwrap();
        let now = humantime::parse_rfc3339("2026-12-01T10:00:00Z").unwrap();
        let month = Duration::from_secs(30 * 86_400);
        assert_eq!(remove_expired(home.path(), month, now).unwrap(), 1);
        assert!(!home.path().join("20261101T095959Z-far").exists());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 6);
        assert_eq!(remove_expired(home.path(), Duration::MAX, now).unwrap(), 0, "before all time");
        assert_eq!(remove_expired(&home.path().join("nowhere"), month, now).unwrap(), 0);
    }
}
