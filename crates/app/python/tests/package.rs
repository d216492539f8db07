//! The Python package, tested in Python (`tests/*.py`), and the notebooks of the documentation.
//!
//! Cargo builds the extension module for this test. It has the name of the package beside the Python files here. The program `romer`,
//! with which the package is compared, is the one that `cargo test --workspace` builds, or `$ROMER`.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The place of the extension module and of the program that were built with this test.
fn built() -> [PathBuf; 2] {
    let own = std::env::current_exe().unwrap();
    let libraries = own.parent().unwrap();
    let program = std::env::var_os("ROMER").map_or_else(|| libraries.with_file_name("romer"), PathBuf::from);
    [libraries.join("lib_romer.so"), program]
}

/// The package gives the results of the program, to Python and to the libraries that read Arrow, and refuses what the program refuses. The
/// notebooks print what they show.
#[test]
fn package_equals_the_program() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let [module, program] = built();
    assert!(program.exists(), "{} is missing: cargo build --package romer", program.display());
    let place = tempfile::tempdir().unwrap();
    let package = place.path().join("romer");
    fs::create_dir(&package).unwrap();
    for file in fs::read_dir(crate_folder.join("python/romer")).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            fs::copy(file.path(), package.join(file.file_name())).unwrap();
        }
    }
    fs::copy(module, package.join("_romer.abi3.so")).unwrap();
    let mut test = Command::new(crate_folder.join("../../../scripts/python-test"));
    let done = test.arg(place.path()).arg(program).output().unwrap();
    let [printed, errors] =
        [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(done.status.success(), "{printed}\n{errors}");
}
