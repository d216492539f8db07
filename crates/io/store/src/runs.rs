//! The folder where runs are kept.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::run::{Location, Run, make_link, make_namesake, make_runs};

/// The user's folder of runs: `$XDG_STATE_HOME/romer/runs`, by default `~/.local/state/romer/runs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    root: PathBuf,
}

/// A folder among the runs.
#[derive(Debug)]
pub struct Listed {
    /// The folder.
    pub path: PathBuf,
    /// The run in it, or why it cannot be read.
    pub run: Result<Run, StoreError>,
}

impl Runs {
    /// The runs under `root`.
    pub fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// The runs of this program's user, by its environment.
    ///
    /// # Errors
    /// [`StoreError::NoHome`].
    pub fn of_user() -> Result<Self, StoreError> {
        Self::by_environment(std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"))
    }

    /// The runs of a user with these variables. A relative `XDG_STATE_HOME` is ignored, as the XDG base directory
    /// specification wants it.
    ///
    /// # Errors
    /// [`StoreError::NoHome`] where neither gives an absolute path.
    pub fn by_environment(state: Option<OsString>, home: Option<OsString>) -> Result<Self, StoreError> {
        let absolute = |value: Option<OsString>| value.map(PathBuf::from).filter(|path| path.is_absolute());
        let state = absolute(state).or_else(|| absolute(home).map(|home| home.join(".local/state")));
        state.map(|state| Self { root: state.join("romer/runs") }).ok_or(StoreError::NoHome)
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a new run of this name goes.
    pub fn location(&self, name: &str) -> Location {
        Location::Under { runs: self.root.clone(), name: name.to_owned() }
    }

    /// Makes an empty folder among the runs for what was begun at `created` (RFC 3339) and is no measurement.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn make_folder(&self, name: &str, created: &str) -> Result<PathBuf, StoreError> {
        make_namesake(&self.root, created, name)
    }

    /// Lists a folder that lies elsewhere, and was begun at `created` (RFC 3339), among the runs: by a link to it. Gives
    /// the link; `None` for a folder that lies among them. Links to folders that are gone are taken away.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn list_elsewhere(&self, folder: &Path, created: &str) -> Result<Option<PathBuf>, StoreError> {
        make_runs(&self.root)?;
        let whole = |path: &Path| fs::canonicalize(path).map_err(StoreError::io("look for the folder", path));
        let (folder, root) = (whole(folder)?, whole(&self.root)?);
        if folder.parent() == Some(root.as_path()) {
            return Ok(None);
        }
        let reading = || StoreError::io("read the folder of runs", &self.root);
        for entry in fs::read_dir(&self.root).map_err(reading())? {
            let link = entry.map_err(reading())?.path();
            match fs::read_link(&link) {
                // It was made anew in its place.
                Ok(to) if to == folder => return Ok(Some(link)),
                Ok(to) if to.is_absolute() && !to.exists() => {
                    fs::remove_file(&link).map_err(StoreError::io("take away a link", &link))?;
                }
                _ => {}
            }
        }
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        make_link(&self.root, &folder, created, &name).map(Some)
    }

    /// The runs, newest first. Folders without a manifest are not listed; those with a bad one are, with the error.
    ///
    /// # Errors
    /// [`StoreError::Io`]; a folder that does not exist holds no runs.
    pub fn list(&self) -> Result<Vec<Listed>, StoreError> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::io("read the folder of runs", &self.root)(error)),
        };
        let mut runs = Vec::new();
        for entry in entries {
            let path = entry.map_err(StoreError::io("read the folder of runs", &self.root))?.path();
            let run = Run::open(&path);
            if !matches!(run, Err(StoreError::NotARun { .. } | StoreError::Missing { .. })) {
                runs.push(Listed { path, run });
            }
        }
        // Names begin with the time.
        runs.sort_by(|a, b| b.path.cmp(&a.path));
        Ok(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_lies_elsewhere_is_listed_by_a_link_once_and_one_that_is_gone_is_not() {
        let place = tempfile::tempdir().unwrap();
        let runs = Runs::at(place.path().join("runs"));
        let of = |name: &str| {
            let folder = place.path().join(name);
            fs::create_dir_all(&folder).unwrap();
            folder
        };
        let created = "2026-11-22T10:00:00Z";
        let link = runs.list_elsewhere(&of("elsewhere/a b"), created).unwrap().unwrap();
        assert_eq!(link.file_name().unwrap(), "20261122T100000Z-a-b");
        assert_eq!(fs::canonicalize(&link).unwrap(), fs::canonicalize(of("elsewhere/a b")).unwrap());
        assert_eq!(
            runs.list_elsewhere(&of("elsewhere/a b"), "2027-01-01T00:00:00Z").unwrap(),
            Some(link.clone())
        );
        let namesake = runs.list_elsewhere(&of("other/a b"), created).unwrap().unwrap();
        assert_eq!(namesake.file_name().unwrap(), "20261122T100000Z-a-b-2");
        assert_eq!(runs.list_elsewhere(&of("runs/among them"), created).unwrap(), None);
        fs::remove_dir(of("elsewhere/a b")).unwrap();
        assert!(runs.list_elsewhere(&of("third"), created).unwrap().is_some());
        assert!(!link.is_symlink() && namesake.is_symlink());
    }
}
