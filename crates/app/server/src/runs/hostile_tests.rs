//! Folders among the runs that somebody made to harm their reader.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use romer_store::Runs;

use super::stored_runs::keep_emulation;
use super::{delete, exports, fixture, list, open, report};

struct TestFolder {
    place: tempfile::TempDir,
    runs: Runs,
}

impl TestFolder {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let runs = Runs::at(place.path().join("runs"));
        fs::create_dir(runs.root()).unwrap();
        fs::write(place.path().join("secret"), "of the system").unwrap();
        Self { place, runs }
    }

    fn secret(&self) -> PathBuf {
        self.place.path().join("secret")
    }

    /// An emulation that was kept, and its name.
    fn emulation(&self) -> (PathBuf, String) {
        let name = keep_emulation(&self.runs, &fixture::emulation()).unwrap();
        (self.runs.root().join(&name), name)
    }
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A link in a run's folder is not followed: neither for its page nor for its files.
#[test]
fn links_are_not_served() {
    let place = TestFolder::new();
    for name in ["report.html", "frames.pcapng", "emulation.json"] {
        let (folder, run) = place.emulation();
        let _ = fs::remove_file(folder.join(name));
        symlink(place.secret(), folder.join(name)).unwrap();
        let served = [
            report(&place.runs, &run).ok(),
            exports::frames(&place.runs, &run).ok().map(|octets| String::from_utf8(octets).unwrap()),
        ];
        assert!(!served.iter().flatten().any(|text| text.contains("of the system")), "{name}: {served:?}");
        assert!(open(&place.runs, &run).is_ok_and(|opened| !opened.frames) || name == "emulation.json");
    }
}

/// A named pipe in a folder does not hold up the list of the others.
#[test]
fn pipes_do_not_block_list() {
    let place = TestFolder::new();
    place.emulation();
    for name in ["manifest.json", "plan.json", "emulation.json", "benchmark.json", "emulated.json"] {
        let folder = place.runs.root().join(format!("pipe-{name}"));
        fs::create_dir(&folder).unwrap();
        pipe(&folder.join(name));
    }
    let listed = list(&place.runs).unwrap();
    assert!(listed.iter().any(|one| one.state == "complete"), "{listed:?}");
    for one in listed.iter().filter(|one| one.name.starts_with("pipe-")) {
        assert_eq!(one.state, "damaged", "{one:?}");
        assert!(open(&place.runs, &one.name).is_err() && report(&place.runs, &one.name).is_err());
    }
}

/// Deleting a run takes away what is in its folder, and nothing that a link in it leads to.
#[test]
fn deleting_follows_no_link() {
    let place = TestFolder::new();
    let (folder, run) = place.emulation();
    let elsewhere = place.place.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("drawing.svg"), "<svg/>").unwrap();
    let _ = fs::remove_dir(folder.join("figures"));
    symlink(&elsewhere, folder.join("figures")).unwrap();
    let _ = fs::remove_file(folder.join("report.html"));
    symlink(place.secret(), folder.join("report.html")).unwrap();
    delete(&place.runs, &run).unwrap();
    assert!(elsewhere.join("drawing.svg").exists() && place.secret().exists());
}
