//! The folder where runs are kept.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::run::{Location, Run};

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
            if !matches!(run, Err(StoreError::NotARun { .. })) {
                runs.push(Listed { path, run });
            }
        }
        // Names begin with the time.
        runs.sort_by(|a, b| b.path.cmp(&a.path));
        Ok(runs)
    }
}
