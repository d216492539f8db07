//! The folder of a loop.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use romer_report::escape;
use romer_store::Runs;

use crate::failure::Failure;
use crate::output;

/// What is in it: the run of the path, the scenario, the document and the packets of the emulator, the run of the emulation, the
/// document of the loop, and its page.
const PATH: &str = "path";
pub(super) const SCENARIO: &str = "scenario.toml";
const EMULATION: &str = "emulation.json";
const SAMPLES: &str = "emulation.csv";
pub(super) const EMULATED: &str = "emulated";
pub(super) const DOCUMENT: &str = "loop.json";
pub(super) const PAGE: &str = "loop.html";
/// The name of the scenario without its ending, with which the names of its files begin.
pub(super) const STEM: &str = "scenario";

/// The folder.
pub(crate) struct LoopFolder(PathBuf);

impl LoopFolder {
    /// Makes the folder `out`, or a new one for `name` among the user's runs. One that is there must be empty, or with `force` that of
    /// a loop, which is written over.
    pub(crate) fn make(out: Option<&Path>, force: bool, name: &str) -> Result<Self, Failure> {
        let Some(folder) = out else {
            let now = romer_bench::rfc3339(SystemTime::now());
            return Ok(Self(Runs::of_user()?.make_folder(&format!("loop-{name}"), &now)?));
        };
        let shown = escape::terminal(&folder.to_string_lossy());
        let refused =
            |why: &str| Err(Failure::usage(format!("the folder cannot be used (--out {shown}): {why}")));
        match fs::read_dir(folder) {
            Ok(entries) => {
                let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
                let is_own = |name: &std::ffi::OsString| {
                    let name = name.to_string_lossy();
                    [PATH, EMULATION, SAMPLES, EMULATED, DOCUMENT, PAGE].contains(&&*name)
                        || name.starts_with(&format!("{STEM}."))
                };
                if !names.iter().all(is_own) {
                    return refused("it holds other things than a loop's; name another folder");
                }
                if !names.is_empty() && !force {
                    return refused(
                        "it is not empty; name another folder, or write over the loop in it with --force",
                    );
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return refused("it is not a folder that can be read; name another"),
        }
        fs::create_dir_all(folder).map_err(|error| {
            Failure::environment(format!(
                "cannot make a folder ({shown}): {error}; name one that can be made"
            ))
        })?;
        let made = Self(folder.into());
        // What an earlier loop has left is not taken for this one's.
        for name in [EMULATION, SAMPLES, DOCUMENT, PAGE] {
            let _ = fs::remove_file(made.0.join(name));
        }
        Ok(made)
    }

    /// The folder itself.
    pub(super) fn folder(&self) -> &Path {
        &self.0
    }

    /// The run of the path.
    pub(super) fn path(&self) -> PathBuf {
        self.0.join(PATH)
    }

    /// The scenario.
    pub(super) fn scenario(&self) -> PathBuf {
        self.0.join(SCENARIO)
    }

    /// The document of the emulator.
    pub(super) fn emulation(&self) -> PathBuf {
        self.0.join(EMULATION)
    }

    /// The fate of each packet in the emulator.
    pub(super) fn samples(&self) -> PathBuf {
        self.0.join(SAMPLES)
    }

    /// The run of the emulation.
    pub(super) fn emulated(&self) -> PathBuf {
        self.0.join(EMULATED)
    }

    /// Writes a file of this name, whole or not at all.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.0.join(name);
        output::put_file(&path, text.as_bytes()).map_err(|error| {
            Failure::environment(format!(
                "cannot write a file of the loop ({}): {error}; make room",
                escape::terminal(&path.to_string_lossy())
            ))
        })
    }
}
