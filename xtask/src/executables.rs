//! The test executables that meet the kernel, for a second run without privileges.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::workspace::{cargo, root};

/// Where crates lie whose tests meet the kernel: every layer but `model`.
const FOLDERS: [&str; 4] = ["crates/sys", "crates/io", "crates/engine", "crates/app"];

/// The part of cargo's build messages that matters here.
#[derive(Debug, Deserialize)]
struct Message {
    manifest_path: Option<PathBuf>,
    executable: Option<PathBuf>,
    profile: Option<Profile>,
}

#[derive(Debug, Deserialize)]
struct Profile {
    test: bool,
}

/// Builds the tests as `cargo test --workspace` does and prints a line for each executable: the folder in which
/// it expects to run, a tab, its path.
pub(crate) fn list() -> Result<()> {
    let arguments = [
        "test",
        "--workspace",
        "--locked",
        "--quiet",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ];
    let messages = String::from_utf8(cargo(&arguments)?).context("cargo's messages are not text")?;
    let found = select(&root()?, &messages)?;
    ensure!(!found.is_empty(), "no test executable in {FOLDERS:?}");
    for (folder, executable) in found {
        println!("{}\t{}", folder.display(), executable.display());
    }
    Ok(())
}

fn select(root: &Path, messages: &str) -> Result<Vec<(PathBuf, PathBuf)>> {
    let mut found = Vec::new();
    for line in messages.lines() {
        let message: Message =
            serde_json::from_str(line).context("cargo's messages are not what they were")?;
        let (Some(manifest), Some(executable), Some(Profile { test: true })) =
            (message.manifest_path, message.executable, message.profile)
        else {
            continue;
        };
        let folder = manifest.parent().context("a manifest lies in no folder")?;
        if FOLDERS.iter().any(|layer| folder.starts_with(root.join(layer))) {
            found.push((folder.to_owned(), executable));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tests_outside_model_are_selected_and_nothing_else() {
        let artifact = |crate_folder: &str, executable: Option<&str>, test: bool| {
            json!({"reason": "compiler-artifact", "manifest_path": format!("/repo/{crate_folder}/Cargo.toml"),
                   "executable": executable, "profile": {"test": test}})
            .to_string()
        };
        let messages = [
            artifact("crates/model/wire", Some("/t/wire"), true),
            artifact("crates/sys/host", Some("/t/host"), true),
            artifact("crates/app/cli", Some("/t/romer"), false),
            artifact("crates/app/cli", None, true),
            artifact("crates/app/cli", Some("/t/lab"), true),
            artifact("xtask", Some("/t/xtask"), true),
            json!({"reason": "build-finished", "success": true}).to_string(),
        ]
        .join("\n");
        let expected = [("/repo/crates/sys/host", "/t/host"), ("/repo/crates/app/cli", "/t/lab")];
        let expected = expected.map(|(folder, path)| (PathBuf::from(folder), PathBuf::from(path)));
        assert_eq!(select(Path::new("/repo"), &messages).unwrap(), expected);
    }
}
