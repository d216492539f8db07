//! What cargo knows of the workspace.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

/// The part of `cargo metadata` that the rules look at.
#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    /// The repository's folder.
    #[serde(rename = "workspace_root")]
    pub(crate) root: String,
    /// The packages of this repository.
    pub(crate) packages: Vec<Package>,
}

/// One package.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
}

/// What a manifest asks for.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Absent for normal dependencies, else `dev` or `build`.
    pub(crate) kind: Option<String>,
}

impl Workspace {
    /// Asks cargo.
    pub(crate) fn load() -> Result<Self> {
        let output = cargo(&["metadata", "--format-version", "1", "--no-deps"])?;
        serde_json::from_slice(&output).context("cargo metadata is not what it used to be")
    }

    /// Where a package lies, from the root, such as `crates/model/units`.
    pub(crate) fn folder(&self, package: &Package) -> String {
        let folder = package.manifest_path.parent().unwrap_or(Path::new(""));
        folder.strip_prefix(&self.root).unwrap_or(folder).display().to_string()
    }
}

/// The repository's folder: the parent of this crate's, so that the chores work from any folder.
pub(crate) fn root() -> Result<PathBuf> {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").context("run this as `cargo xtask`")?;
    Ok(Path::new(&here).parent().context("xtask lies in no repository")?.to_owned())
}

/// Runs the cargo that runs us, in the repository, and gives what it printed.
pub(crate) fn cargo(arguments: &[&str]) -> Result<Vec<u8>> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root()?)
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cargo cannot be run")?;
    ensure!(output.status.success(), "cargo {} failed ({})", arguments[0], output.status);
    Ok(output.stdout)
}
