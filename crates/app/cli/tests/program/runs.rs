//! Saved runs: their list, and their deletion.

use std::fs;

use serde_json::Value;

use super::common::lab::{FAR, Lab};
use super::common::process::{self, romer};
use super::common::{at, schema};

/// The list has the results of each run, without reading its packets; `prune` deletes what exceeds a limit, but not with --dry-run.
#[test]
fn runs_are_listed_and_pruned() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("runs");
    let measured =
        ["measure", FAR, "--count", "5", "--interval", "5ms", "--quiet", "--every", "300ms", "--times", "2"];
    let limit = ["--limit", "round_trip.loss.ratio<1%"];
    process::run(lab.romer("A", measured).args(limit).arg("--out").arg(&folder)).with_code(0);
    // What a reader of the packets would refuse, the list does not look at.
    let oldest = fs::read_dir(&folder).unwrap().map(|run| run.unwrap().path()).min().unwrap();
    fs::write(oldest.join("packets.parquet"), "not read").unwrap();
    let runs = |words: &[&str]| {
        let mut command = romer([&["runs"][..], words].concat());
        process::run(command.arg("--runs").arg(&folder)).with_code(0)
    };
    let list = runs(&["list", "--json", "-"]).document();
    schema::assert_valid(&list, "runs");
    let entries = at(&list, "/runs").as_array().unwrap().clone();
    assert_eq!(entries.len(), 2, "{list:#}");
    for entry in &entries {
        let round_trip = at(entry, "/figures").as_array().unwrap().last().unwrap();
        assert_eq!(at(round_trip, "/direction"), "round_trip");
        assert_eq!(at(round_trip, "/loss_ratio"), 0.0);
        assert!(at(round_trip, "/delay_median_ns").as_f64().unwrap() > 0.0);
        assert_eq!((at(entry, "/limits"), at(entry, "/state")), (&Value::from(1), &Value::from("complete")));
    }
    let names: Vec<&str> = entries.iter().map(|entry| at(entry, "/name").as_str().unwrap()).collect();
    let text = runs(&["list"]).stdout;
    assert!(
        text.lines().count() == 3 && text.contains("1/1 passed") && text.contains("round trip"),
        "{text}"
    );
    assert!(runs(&["latest"]).stdout.trim_end().ends_with(names[0]));
    let shown = runs(&["show", names[0], "--json", "-"]).document();
    schema::assert_valid(&shown, "measurement");
    let would = runs(&["prune", "--keep-number", "1", "--dry-run"]).stdout;
    assert!(
        would.starts_with(names[1]) && would.contains("1 run, ") && would.contains("would be"),
        "{would}"
    );
    assert_eq!(runs(&["prune", "--keep", "1d"]).stdout, "0 runs, 0 B deleted\n");
    assert!(folder.join(names[1]).exists());
    runs(&["prune", "--keep-number", "1"]);
    assert!(!folder.join(names[1]).exists() && folder.join(names[0]).exists());
    runs(&["rm", names[0]]);
    assert_eq!(runs(&["list"]).stdout, "no run\n");
}
