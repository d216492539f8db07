//! Scheduled measurements of several targets in one process.

use std::fs;
use std::path::Path;

use super::common::lab::{FAR, Lab, stored};
use super::common::process;
use super::common::{at, count, schema};

/// The documents of the runs in `folder`, oldest first.
fn runs(folder: &Path) -> Vec<serde_json::Value> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names.iter().filter(|run| run.join("manifest.json").is_file()).map(|run| stored(run)).collect()
}

/// An agent measures three responders for three rounds, reports a limit that fails in each round, and removes expired runs.
#[test]
fn three_responders_are_measured() {
    let lab = Lab::path();
    let _first = lab.respond(&[]);
    let places = [("8620", "8863"), ("8621", "8864")];
    let _others = places.map(|(test, control)| {
        let [test, control] = [test, control].map(|port| format!("{FAR}:{port}"));
        lab.respond(&["--listen", &test, "--control", &control])
    });
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("agent.toml");
    let out = home.path().join("runs");
    let text = format!(
        "out = {out:?}\nkeep = \"1d\"\n\
         [[measurement]]\nname = \"core\"\ntargets = [\"{FAR}\", \"{FAR}:8863\"]\nevery = \"1s\"\n\
         count = 5\ninterval = \"10ms\"\nno-route = true\n\
         [[measurement]]\nname = \"edge\"\ntargets = [\"{FAR}:8864\"]\nevery = \"1s\"\n\
         traffic = \"poisson\"\ncount = 5\ninterval = \"10ms\"\nlimit = [\"rtt.median<1ns\"]\nno-route = true\n"
    );
    fs::write(&config, text).unwrap();
    let expired = out.join("core/20200101T000000Z-old");
    fs::create_dir_all(&expired).unwrap();
    fs::write(expired.join("manifest.json"), "{}").unwrap();

    let arguments = ["agent", "--times", "3", "--config"];
    let ended = process::run(lab.romer("A", arguments).arg(&config)).with_code(6);
    assert!(!expired.exists() && ended.stderr.contains("note: core: 1 expired run removed"), "{ended:?}");
    let core = runs(&out.join("core"));
    assert_eq!(core.len(), 3, "{ended:?}");
    for run in &core {
        let streams = at(run, "/measurements").as_array().unwrap();
        assert_eq!(streams.len(), 2);
        for stream in streams {
            schema::assert_valid(stream, "measurement");
            assert_eq!(count(stream, "/round_trip/packets/received"), 5);
        }
    }
    let edge = runs(&out.join("edge"));
    assert_eq!(edge.len(), 3);
    let seeds: Vec<&str> = edge
        .iter()
        .map(|run| {
            let command = at(run, "/metadata/command").as_str().unwrap();
            assert!(command.starts_with("romer measure ") && !command.contains("--every"), "{command}");
            command.split_once("--seed ").unwrap().1
        })
        .collect();
    assert!(seeds[0] != seeds[1] && seeds[1] != seeds[2], "each run draws a seed: {seeds:?}");
    let failed = ended.stderr.lines().filter(|line| line.starts_with("error: edge, saved to "));
    assert_eq!(failed.count(), 3, "{ended:?}");
    assert_eq!(ended.stdout.lines().filter(|line| line.starts_with("core: saved to ")).count(), 3);
}

/// A check counts measurements and targets and measures nothing; a fault has its place.
#[test]
fn files_are_checked() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("agent.toml");
    let good = format!(
        "out = {:?}\n[[measurement]]\nname = \"core\"\ntargets = [\"192.0.2.1\", \"192.0.2.2\"]\nevery = \"5m\"\n",
        home.path().join("runs")
    );
    fs::write(&config, &good).unwrap();
    let check = || process::run(process::romer(["agent", "--check", "--config"]).arg(&config));
    assert_eq!(check().with_code(0).stdout, "1 measurement of 2 targets\n");
    assert!(!home.path().join("runs").exists());
    fs::write(&config, good + "direction = \"sideways\"\n").unwrap();
    let refused = check().with_code(3);
    assert!(refused.stderr.contains(":6:13): ") && refused.stderr.contains("--direction"), "{refused:?}");
    fs::write(&config, "[[measurement]]\nname = \"a\"\ntargets = [\"h\"]\nevery = \"1m\"\nstamp-only = true\ndirection = \"both\"\n").unwrap();
    let refused = check().with_code(3);
    assert!(refused.stderr.contains("cannot be combined (--direction, --stamp-only)"), "{refused:?}");
}
