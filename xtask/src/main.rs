//! Chores of the repository, run as `cargo xtask COMMAND`.
//!
//! `check` reports what breaks the rules of the repository: layers, circles of modules, purity of `model/`, sentences in
//! `model/` and `engine/`, tidy files, and false statements of documents. `schema` writes the JSON schemas and the reference of warnings. `test-executables` lists the
//! tests that meet the kernel, for `scripts/rootless-tests` to run them again without privileges.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks to the terminal")]

mod cycles;
mod dependencies;
mod docs;
mod doctor;
mod events;
mod executables;
mod files;
mod finding;
mod layers;
mod literals;
mod purity;
mod schema;
mod sentences;
mod tidy;
mod warnings;
mod wording;
mod workspace;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::finding::Violation;
use crate::workspace::Workspace;

const USAGE: &str = "cargo xtask check             hold the repository to its rules
cargo xtask schema            write docs/schema/*.json and pages of docs/reference from the types
cargo xtask schema --check    say which of them are out of date
cargo xtask test-executables  build the tests; list those of sys, io, engine and app: folder, tab, executable";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["check"] => check(),
        ["schema"] => workspace::root().and_then(|root| schema::write(&root)).map(|()| true),
        ["schema", "--check"] => {
            workspace::root().and_then(|root| schema::check(&root)).map(|found| report(&found))
        }
        ["test-executables"] => executables::list().map(|()| true),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn check() -> Result<bool> {
    let workspace = Workspace::load()?;
    let root = Path::new(&workspace.root);
    let files = files::texts(root).context("the repository's files cannot be read")?;
    let mut findings = layers::check(&workspace);
    findings.extend(purity::check(&workspace, &files)?);
    findings.extend(cycles::check(&workspace, &files));
    findings.extend(sentences::check(&files));
    findings.extend(tidy::check(root, &files));
    findings.extend(docs::check(&workspace, &files));
    findings.extend(wording::check(&files));
    findings.extend(schema::check(root)?);
    findings.extend(dependencies::check(root)?);
    Ok(report(&findings))
}

/// Prints what was found; true when nothing of it is an error.
fn report(findings: &[Violation]) -> bool {
    for Violation { place, what, warning } in findings {
        let grade = if *warning { "warning" } else { "error" };
        println!("{grade}: {place}: {what}");
    }
    let errors = findings.iter().filter(|finding| !finding.warning).count();
    println!("xtask: {errors} errors, {} warnings", findings.len() - errors);
    errors == 0
}
