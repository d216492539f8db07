//! The first invariant: `model/` knows of no operating system.
//!
//! Three ways into one are watched: unsafe code (each crate forbids it), packages that make system calls (none may
//! be in a model crate's graph, however far away) and the standard library's own (by name in the source;
//! `crates/model/clippy.toml` bans the calls besides).

use anyhow::Result;

use crate::files::{Text, has_word};
use crate::finding::Violation;
use crate::workspace::{Workspace, cargo};

/// Where the crates are that must be pure.
const MODEL: &str = "crates/model/";

/// Packages that speak to the system.
const SYSTEM: [&str; 10] = [
    "getrandom",
    "libc",
    "mio",
    "netlink-sys",
    "nix",
    "rtnetlink",
    "rustix",
    "signal-hook",
    "socket2",
    "tokio",
];

/// Parts of the standard library that do.
const STANDARD: [&str; 11] = [
    "std::env",
    "std::fs",
    "std::os",
    "std::process",
    "std::thread",
    "std::time",
    "Instant",
    "SystemTime",
    "TcpListener",
    "TcpStream",
    "UdpSocket",
];

/// Every breach of purity in `crates/model`.
pub(crate) fn check(workspace: &Workspace, files: &[Text]) -> Result<Vec<Violation>> {
    let mut findings = Vec::new();
    for package in &workspace.packages {
        let folder = workspace.folder(package);
        if !folder.starts_with(MODEL) {
            continue;
        }
        let linked =
            ["tree", "--package", &package.name, "--edges", "normal,no-proc-macro", "--prefix", "none"];
        let linked = String::from_utf8_lossy(&cargo(&linked)?).into_owned();
        findings.extend(system_packages(&folder, &linked));
        let library = format!("{folder}/src/lib.rs");
        findings.extend(files.iter().filter(|file| file.path == library).filter_map(unsafe_code));
    }
    let sources = files.iter().filter(|file| file.path.starts_with(MODEL) && file.path.contains("/src/"));
    findings.extend(sources.flat_map(system_names));
    Ok(findings)
}

/// The packages of [`SYSTEM`] among those that `cargo tree` says are linked into the crate in `folder`.
fn system_packages(folder: &str, linked: &str) -> Vec<Violation> {
    let names = linked.lines().filter_map(|line| line.split(' ').next());
    let mut names: Vec<&str> = names.filter(|name| SYSTEM.contains(name)).collect();
    names.sort_unstable();
    names.dedup();
    let what = |name| format!("reaches {name}, which makes system calls (`cargo tree -i {name}` shows how)");
    names.into_iter().map(|name| Violation::error(folder, what(name))).collect()
}

/// A library that might hold unsafe code.
fn unsafe_code(library: &Text) -> Option<Violation> {
    let forbids = library.content.contains("#![forbid(unsafe_code)]");
    (!forbids).then(|| Violation::error(&library.path, "does not say #![forbid(unsafe_code)]"))
}

fn system_names(file: &Text) -> Vec<Violation> {
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        let code = line.split("//").next().unwrap_or(line);
        for name in STANDARD.iter().filter(|name| has_word(code, name)) {
            findings.push(Violation::error(
                format!("{}:{number}", file.path),
                format!(
                    "names {name}: model/ has no clock, threads or I/O; take what it gives as an argument"
                ),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_package_is_found_however_far_away_and_once() {
        let linked =
            "romer-wire v0.1.0 (/repo)\nfar v1.0.0\nlibc v0.2.191\nlibc v0.2.191 (*)\nlibcryptic v1.0.0\n";
        let findings = system_packages("crates/model/wire", linked);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].what.contains("libc"));
    }

    #[test]
    fn a_library_that_does_not_forbid_unsafe_code_is_found() {
        let library =
            |content: &str| Text { path: "crates/model/a/src/lib.rs".into(), content: content.into() };
        assert_eq!(unsafe_code(&library("//! Frames.\n#![forbid(unsafe_code)]\n")), None);
        assert!(unsafe_code(&library("//! Frames.\n")).is_some());
    }

    #[test]
    fn clocks_are_found_in_code_and_not_in_comments() {
        let content = "/// Not an Instant.\nfn now() { let _ = std::time::Instant::now(); }\n";
        let findings = system_names(&Text { path: "a.rs".into(), content: content.into() });
        assert_eq!(findings.len(), 2, "std::time and Instant: {findings:?}");
        assert!(findings.iter().all(|finding| finding.place == "a.rs:2"));
    }
}
