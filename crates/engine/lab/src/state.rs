//! What is noted of a laboratory, so that it can be found, and cleared away after a crash.
//!
//! One file for each prefix, in a folder of the user's own that nobody else can write. It is written before
//! anything is made and removed after everything is gone. A folder beside it holds what programs hand over. The folder itself is the lock.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use romer_host::{host_info, process};
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::lab::Mode;
use crate::topology::{NamespacePrefix, Topology};

/// Version of the file.
const SCHEMA: &str = "romer/lab-state/1";

/// What is known of a laboratory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LabState {
    schema: String,
    pub(crate) kind: Topology,
    pub(crate) mode: Mode,
    /// The run of the kernel in which it was made; namespaces and processes do not outlive it.
    boot_id: String,
    /// The process that holds it, of a rootless laboratory.
    pub(crate) holder: Option<Holder>,
    /// Whether everything was made.
    pub(crate) complete: bool,
    /// Whether the machine had no folder of named namespaces before laboratories made one.
    #[serde(default)]
    pub(crate) made_folder: bool,
}

/// A process that cannot be taken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holder {
    pub(crate) process: u32,
    start_time: u64,
}

impl Holder {
    /// The living process `id`.
    pub(crate) fn find(id: u32) -> Option<Self> {
        process::start_time(id).map(|start_time| Self { process: id, start_time })
    }

    /// Whether it still lives.
    pub(crate) fn lives(self) -> bool {
        process::start_time(self.process) == Some(self.start_time)
    }
}

impl LabState {
    /// A laboratory that is about to be made.
    pub(crate) fn begun(kind: Topology, mode: Mode, holder: Option<Holder>) -> Result<Self, LabError> {
        let boot_id = host_info::boot_id()?;
        Ok(Self { schema: SCHEMA.into(), kind, mode, boot_id, holder, complete: false, made_folder: false })
    }

    /// Whether it was made in this run of the kernel.
    fn is_of_this_boot(&self) -> Result<bool, LabError> {
        Ok(self.boot_id == host_info::boot_id()?)
    }
}

/// The folder of state files, locked against every other romer of this user.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    // Closing it gives the lock back.
    _lock: File,
}

impl Folder {
    /// Opens and locks the folder of laboratories of `mode`; makes it if need be.
    pub(crate) fn lock(mode: Mode) -> Result<Self, LabError> {
        let path = location(mode);
        loop {
            DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(trouble("make", &path))?;
            check_owner(&path)?;
            let folder = match File::open(&path) {
                // Another has removed it since.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                answer => answer.map_err(trouble("open", &path))?,
            };
            folder.lock().map_err(trouble("lock", &path))?;
            // The last one out removes the folder; who waited for its lock then holds one that nobody sees.
            let held = folder.metadata().map_err(trouble("look at", &path))?;
            match std::fs::metadata(&path) {
                Ok(seen) if (seen.dev(), seen.ino()) == (held.dev(), held.ino()) => {
                    return Ok(Self { path, _lock: folder });
                }
                _ => {}
            }
        }
    }

    fn file(&self, prefix: &NamespacePrefix) -> PathBuf {
        self.path.join(format!("{}.json", prefix.as_str()))
    }

    /// The folder for what programs of the laboratory of `prefix` hand over.
    fn scratch(&self, prefix: &NamespacePrefix) -> PathBuf {
        self.path.join(format!("{}.d", prefix.as_str()))
    }

    /// Makes that folder, which [`Folder::remove`] removes.
    pub(crate) fn make_scratch(&self, prefix: &NamespacePrefix) -> Result<PathBuf, LabError> {
        let path = self.scratch(prefix);
        DirBuilder::new().mode(0o700).create(&path).map_err(trouble("make", &path))?;
        Ok(path)
    }

    /// All prefixes under which something is noted, sorted.
    pub(crate) fn prefixes(&self) -> Result<Vec<NamespacePrefix>, LabError> {
        let entries = self.path.read_dir().map_err(trouble("read", &self.path))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect();
        names.sort_unstable();
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// What is noted under `prefix`. Notes of an earlier run of the kernel are removed and count as none.
    pub(crate) fn read(&self, prefix: &NamespacePrefix) -> Result<Option<LabState>, LabError> {
        let path = self.file(prefix);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // We hold the lock, so a draft is of a process that was killed before it could name it.
                self.remove(prefix)?;
                return Ok(None);
            }
            Err(error) => return Err(trouble("read", &path)(error)),
        };
        let state: LabState = serde_json::from_str(&text).map_err(|error| LabError::State {
            what: "understand",
            path: path.clone(),
            why: format!("{error}; if no laboratory of this prefix is up, remove the file"),
        })?;
        if state.is_of_this_boot()? {
            return Ok(Some(state));
        }
        self.remove(prefix)?;
        Ok(None)
    }

    /// Notes `state`, whole or not at all.
    pub(crate) fn write(&self, prefix: &NamespacePrefix, state: &LabState) -> Result<(), LabError> {
        let path = self.file(prefix);
        let draft = path.with_extension("json.draft");
        let text = serde_json::to_vec_pretty(state).map_err(|error| LabError::State {
            what: "write",
            path: path.clone(),
            why: error.to_string(),
        })?;
        let write = || {
            let mut file = File::create(&draft)?;
            file.write_all(&text)?;
            file.sync_all()?;
            std::fs::rename(&draft, &path)
        };
        write().map_err(trouble("write", &path))
    }

    /// Forgets `prefix`, and removes what its programs handed over.
    pub(crate) fn remove(&self, prefix: &NamespacePrefix) -> Result<(), LabError> {
        let scratch = self.scratch(prefix);
        match std::fs::remove_dir_all(&scratch) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(trouble("remove", &scratch)(error));
            }
            _ => {}
        }
        for path in [self.file(prefix), self.file(prefix).with_extension("json.draft")] {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(trouble("remove", &path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Only empty folders can be removed; one with other laboratories stays.
        let _ = std::fs::remove_dir(&self.path);
        if let Some(above) = in_tmp(&self.path) {
            let _ = std::fs::remove_dir(above);
        }
    }
}

/// Where the state files are. For real namespaces it is one place for the whole machine, whatever the environment
/// of the caller (as under `sudo`); otherwise it is the user's own.
fn location(mode: Mode) -> PathBuf {
    match mode {
        Mode::Machine => PathBuf::from("/run/romer-lab"),
        Mode::UserNamespace => match std::env::var_os("XDG_RUNTIME_DIR") {
            Some(folder) if Path::new(&folder).is_absolute() => Path::new(&folder).join("romer-lab"),
            _ => PathBuf::from(format!("/tmp/romer-{}/lab", process::user())),
        },
    }
}

/// The folder above `path` where that is one of ours in `/tmp`.
fn in_tmp(path: &Path) -> Option<&Path> {
    path.parent().filter(|above| above.parent() == Some(Path::new("/tmp")))
}

/// Refuses a folder in which others could have put a file for us to believe.
fn check_owner(path: &Path) -> Result<(), LabError> {
    let refuse = |path: &Path, why: &str| LabError::State {
        what: "use",
        path: path.into(),
        why: format!("{why}; remove it, or set XDG_RUNTIME_DIR to a folder of your own"),
    };
    for path in in_tmp(path).into_iter().chain([path]) {
        let metadata = std::fs::symlink_metadata(path).map_err(trouble("look at", path))?;
        if !metadata.is_dir() {
            return Err(refuse(path, "it is not a folder"));
        }
        if metadata.uid() != process::user() {
            return Err(refuse(path, "it belongs to another user"));
        }
        if metadata.mode() & 0o022 != 0 {
            return Err(refuse(path, "others may write to it"));
        }
    }
    Ok(())
}

fn trouble(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LabError {
    let path = path.to_owned();
    move |error| LabError::State {
        what,
        path,
        why: format!("{error}; see who owns it and whether its disk is full"),
    }
}
