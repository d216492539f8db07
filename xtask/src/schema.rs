//! What is generated from the types that fill the documents: their JSON schemas in `docs/schema/`, and the references of warnings, events and doctor's checks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::finding::Violation;
use crate::{doctor, events, warnings};

/// Where the schemas lie.
const FOLDER: &str = "docs/schema";

/// Every generated file as it should be, by its path.
fn expected(root: &Path) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for (name, schema) in romer_record::schemas().into_iter().chain(romer_fleet::schema::schemas()) {
        files.insert(format!("{FOLDER}/{name}.json"), serde_json::to_string_pretty(&schema)? + "\n");
    }
    files.insert(doctor::PAGE.into(), doctor::page()?);
    files.insert(warnings::PAGE.into(), warnings::page()?);
    files.insert(events::PAGE.into(), events::page(root)?);
    Ok(files)
}

/// Writes every generated file.
pub(crate) fn write(root: &Path) -> Result<()> {
    for (name, content) in expected(root)? {
        let path = root.join(&name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("the folder of {name} cannot be made"))?;
        }
        fs::write(path, content).with_context(|| format!("{name} cannot be written"))?;
    }
    Ok(())
}

/// The generated files that differ from their types, are missing, or belong to no type.
pub(crate) fn check(root: &Path) -> Result<Vec<Violation>> {
    let expected = expected(root)?;
    let mut findings = Vec::new();
    for (name, content) in &expected {
        if fs::read_to_string(root.join(name)).ok().as_ref() != Some(content) {
            let what = "is not what the types say: run `cargo xtask schema`";
            findings.push(Violation::error(name.as_str(), what));
        }
    }
    for entry in fs::read_dir(root.join(FOLDER)).into_iter().flatten() {
        let name = format!("{FOLDER}/{}", entry?.file_name().to_string_lossy());
        if !expected.contains_key(&name) {
            findings.push(Violation::error(name, "is the schema of no type: remove it"));
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
        let page = root.join(events::PAGE);
        fs::create_dir_all(page.parent().unwrap()).unwrap();
        fs::write(&page, events::unwritten()).unwrap();
        let number = expected(&root).unwrap().len();
        assert_eq!(check(&root).unwrap().len(), number, "all are missing");
        write(&root).unwrap();
        assert_eq!(check(&root).unwrap(), []);
        fs::write(root.join(FOLDER).join("measurement.json"), "{}").unwrap();
        fs::write(root.join(FOLDER).join("stray.json"), "{}").unwrap();
        assert_eq!(check(&root).unwrap().len(), 2);
        fs::remove_dir_all(&root).unwrap();
    }

    /// The schemas and the reference in the repository are those of the types.
    #[test]
    fn generated_files_are_current() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert_eq!(check(root).unwrap(), []);
    }
}
