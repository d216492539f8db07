//! `scripts/again` forgives a failed test only where it meets the kernel and then passes alone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

/// What cargo prints of a run in which the named tests of one executable failed.
fn log(executable: &Path, names: &[&str]) -> String {
    let mut text = format!(
        "     Running unittests src/lib.rs (target/debug/deps/other-1)\ntest result: ok. 3 passed; 0 failed\n     \
         Running tests/x.rs ({})\n\nfailures:\n\n---- a stdout ----\n    misleading\n\nfailures:\n",
        executable.display()
    );
    for name in names {
        text += &format!("    {name}\n");
    }
    text += "\ntest result: FAILED. 1 passed; 1 failed\n\nerror: 1 target failed:\n    `-p x --test x`\n";
    text
}

/// Judges a run in which `names` failed, with an executable that then prints `prints`.
fn judge(names: &[&str], prints: &str, meets_kernel: bool) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let executable = folder.path().join("tests-of-x");
    fs::write(&executable, format!("#!/bin/sh\n{prints}\n")).expect("an executable");
    fs::set_permissions(&executable, fs::Permissions::from_mode(0o755)).expect("its mode");
    let run = folder.path().join("log");
    fs::write(&run, log(&executable, names)).expect("a log");
    let listed = folder.path().join("executables");
    let line = format!("{}\t{}\n", folder.path().display(), executable.display());
    fs::write(&listed, if meets_kernel { line.as_str() } else { "" }).expect("a list");
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/again"))
        .args([&run, &listed])
        .output()
        .expect("bash")
}

const PASSES: &str = "echo 'test result: ok. 1 passed; 0 failed'";

#[test]
fn a_test_that_passes_alone_three_times_is_named_and_forgiven() {
    let output = judge(&["a::b"], PASSES, true);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("3 of 3") && said.ends_with("    a::b\n"), "{said}");
}

#[test]
fn a_test_that_fails_again_or_is_not_found_has_failed() {
    for prints in [
        "echo 'test result: FAILED. 0 passed; 1 failed'; exit 101",
        "echo 'test result: ok. 0 passed; 0 failed'",
        "exit 0",
    ] {
        assert_eq!(judge(&["a"], prints, true).status.code(), Some(1), "{prints}");
    }
}

#[test]
fn a_test_that_does_not_meet_the_kernel_is_not_tried_again() {
    let output = judge(&["a"], PASSES, false);
    assert_eq!(output.status.code(), Some(1));
    assert!(!String::from_utf8_lossy(&output.stdout).contains("Repeating"));
}

#[test]
fn many_failures_and_a_run_without_names_are_failures() {
    let many = ["a", "b", "c", "d", "e", "f"];
    assert_eq!(judge(&many, PASSES, true).status.code(), Some(1));
    assert_eq!(judge(&[], PASSES, true).status.code(), Some(1));
}
