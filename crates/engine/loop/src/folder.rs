//! The folder of a loop.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use romer_host::clock::rfc3339;
use romer_store::{Runs, put_bytes};

use crate::error::{FolderFault, LoopError};

/// The run of the path, where that is measured for the loop.
pub const PATH: &str = "path";
/// The scenario; its other files have names that begin with [`STEM`] and a full stop.
pub const SCENARIO: &str = "scenario.toml";
/// The document of the emulator.
pub const EMULATION: &str = "emulation.json";
/// The fate of each packet in the emulator.
pub const SAMPLES: &str = "emulation.csv";
/// The run of the emulation.
pub const EMULATED: &str = "emulated";
/// The document of the loop.
pub const DOCUMENT: &str = "loop.json";
/// The page of the loop.
pub const PAGE: &str = "loop.html";
/// The name of the scenario without its ending.
pub const STEM: &str = "scenario";

/// The folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopFolder(PathBuf);

impl LoopFolder {
    /// Makes a new one for `name` among `runs`.
    ///
    /// # Errors
    /// [`LoopError::Store`].
    pub fn among(runs: &Runs, name: &str) -> Result<Self, LoopError> {
        let now = rfc3339(SystemTime::now());
        Ok(Self(runs.make_folder(&format!("loop-{name}"), &now)?))
    }

    /// Whether `folder` can be that of a loop: it does not exist, is empty, or with `force` has a loop, which is written over.
    ///
    /// # Errors
    /// [`LoopError::Folder`].
    pub fn check(folder: &Path, force: bool) -> Result<(), LoopError> {
        let refused = |fault| Err(LoopError::Folder { folder: folder.into(), fault });
        match fs::read_dir(folder) {
            Ok(entries) => {
                let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
                if !names.iter().all(|name| is_own(&name.to_string_lossy())) {
                    return refused(FolderFault::OtherThings);
                }
                if !names.is_empty() && !force {
                    return refused(FolderFault::NotEmpty);
                }
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(_) => refused(FolderFault::Unreadable),
        }
    }

    /// Makes the folder `folder`, if [`Self::check`] does not refuse it.
    ///
    /// # Errors
    /// [`LoopError::Folder`], [`LoopError::Make`].
    pub fn at(folder: &Path, force: bool) -> Result<Self, LoopError> {
        Self::check(folder, force)?;
        fs::create_dir_all(folder).map_err(|source| LoopError::Make {
            what: "folder",
            path: folder.into(),
            source,
        })?;
        let made = Self(folder.into());
        // What an earlier loop has left is not taken for this one's.
        for name in [EMULATION, SAMPLES, DOCUMENT, PAGE] {
            let _ = fs::remove_file(made.0.join(name));
        }
        Ok(made)
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// The run of the path.
    pub fn path(&self) -> PathBuf {
        self.0.join(PATH)
    }

    /// The document.
    pub fn document(&self) -> PathBuf {
        self.0.join(DOCUMENT)
    }

    /// The page.
    pub fn page(&self) -> PathBuf {
        self.0.join(PAGE)
    }

    /// The scenario.
    pub(crate) fn scenario(&self) -> PathBuf {
        self.0.join(SCENARIO)
    }

    /// The document of the emulator.
    pub(crate) fn emulation(&self) -> PathBuf {
        self.0.join(EMULATION)
    }

    /// The fate of each packet in the emulator.
    pub(crate) fn samples(&self) -> PathBuf {
        self.0.join(SAMPLES)
    }

    /// The run of the emulation.
    pub(crate) fn emulated(&self) -> PathBuf {
        self.0.join(EMULATED)
    }

    /// Writes a file of this name, whole or not at all.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), LoopError> {
        Ok(put_bytes(&self.0.join(name), text.as_bytes())?)
    }
}

/// Whether a loop's folder has something of this name.
fn is_own(name: &str) -> bool {
    [PATH, EMULATION, SAMPLES, EMULATED, DOCUMENT, PAGE].contains(&name) || is_of_scenario(name)
}

/// Whether a loop's folder has a file of its scenario by this name.
pub fn is_of_scenario(name: &str) -> bool {
    name.strip_prefix(STEM).is_some_and(|rest| rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with other things is refused, one with a loop is written over on request only, and old results go.
    #[test]
    fn used_folders_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a/loop");
        let made = LoopFolder::at(&folder, false).unwrap();
        for name in [SCENARIO, DOCUMENT, PAGE] {
            made.write(name, "old").unwrap();
        }
        let fault = |force| match LoopFolder::at(&folder, force).unwrap_err() {
            LoopError::Folder { fault, .. } => fault,
            other => panic!("{other}"),
        };
        assert_eq!(fault(false), FolderFault::NotEmpty);
        assert!(LoopFolder::check(&folder, false).is_err() && LoopFolder::check(&folder, true).is_ok());
        assert!(folder.join(DOCUMENT).exists(), "a check removes nothing");
        let absent = place.path().join("absent");
        assert!(LoopFolder::check(&absent, false).is_ok() && !absent.exists());
        LoopFolder::at(&folder, true).unwrap();
        assert!(folder.join(SCENARIO).exists() && !folder.join(DOCUMENT).exists() && !made.page().exists());
        fs::write(folder.join("scenarios"), "mine").unwrap();
        assert_eq!(fault(true), FolderFault::OtherThings);
        assert!(LoopFolder::at(&folder.join("scenarios"), true).is_err());
    }

    /// Loops of one name have folders of their own among the runs.
    #[test]
    fn loops_have_folders_of_their_own() {
        let place = tempfile::tempdir().unwrap();
        let runs = Runs::at(place.path().join("runs"));
        let [a, b] = [0, 1].map(|_| LoopFolder::among(&runs, "far").unwrap());
        assert_ne!(a, b);
        assert!(a.folder().starts_with(runs.root()) && a.folder().is_dir());
    }
}
