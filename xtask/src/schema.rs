//! The JSON schemas in `docs/schema/`, written from the types that fill the documents.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::Finding;

/// Where they lie.
const FOLDER: &str = "docs/schema";

/// Every schema as its file should be, by file name.
fn expected() -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for (name, schema) in romer_record::schemas() {
        files.insert(format!("{name}.json"), serde_json::to_string_pretty(&schema)? + "\n");
    }
    Ok(files)
}

/// Writes every schema.
pub(crate) fn write(root: &Path) -> Result<()> {
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("{FOLDER} cannot be made"))?;
    for (name, content) in expected()? {
        fs::write(folder.join(&name), content)
            .with_context(|| format!("{FOLDER}/{name} cannot be written"))?;
    }
    Ok(())
}

/// The schemas that differ from their types, are missing, or belong to no type.
pub(crate) fn check(root: &Path) -> Result<Vec<Finding>> {
    let folder = root.join(FOLDER);
    let expected = expected()?;
    let mut findings = Vec::new();
    for (name, content) in &expected {
        if fs::read_to_string(folder.join(name)).ok().as_ref() != Some(content) {
            let what = "is not what the types say: run `cargo xtask schema`";
            findings.push(Finding::error(format!("{FOLDER}/{name}"), what));
        }
    }
    for entry in fs::read_dir(&folder).into_iter().flatten() {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !expected.contains_key(&name) {
            findings.push(Finding::error(format!("{FOLDER}/{name}"), "is the schema of no type: remove it"));
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_up_to_date_and_every_change_is_found() {
        let root = std::env::temp_dir().join(format!("romer-xtask-schema-{}", std::process::id()));
        let number = expected().unwrap().len();
        assert_eq!(check(&root).unwrap().len(), number, "all are missing");
        write(&root).unwrap();
        assert_eq!(check(&root).unwrap(), []);
        fs::write(root.join(FOLDER).join("measurement.json"), "{}").unwrap();
        fs::write(root.join(FOLDER).join("stray.json"), "{}").unwrap();
        assert_eq!(check(&root).unwrap().len(), 2);
        fs::remove_dir_all(&root).unwrap();
    }
}
