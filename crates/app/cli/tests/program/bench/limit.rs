//! Rates beyond the tester's own, and waits that reach their bound.

use super::*;

/// A search at a rate that no tester offers through a virtual link tries it once, and nothing above what the tester could offer.
#[test]
fn slow_tester_ends_search() {
    let lab = Lab::router();
    let rate = ["throughput", "--frame-sizes", "64", "--line-rate", "10Gbit"];
    let times = ["--trial", "200ms", "--search-trial", "100ms", "--settle", "50ms"];
    let found = document(bench(&lab, &[&rate[..], &times].concat()));
    let all = trials(&found);
    let rate_of = |trial: &Value| number(trial, "/intended_load/pps");
    let mut limit = number(&all[0], "/tester_limit_pps");
    assert!(limit > 0.0 && limit < rate_of(&all[0]), "{:#}", all[0]);
    for trial in &all[1..] {
        // A frame more or less is in the schedule of so short a trial.
        assert!(rate_of(trial) <= limit * 1.01, "{limit}: {trial:#}");
        limit = trial["tester_limit_pps"].as_f64().map_or(limit, |own| own.min(limit));
    }
    // As many as are forecast at the most.
    let loads: std::collections::BTreeSet<u64> =
        all.iter().map(|trial| count(trial, "/intended_load/frames")).collect();
    assert!(loads.len() <= 18, "{loads:?}");
    let warnings = at(&found, "/warnings").to_string();
    assert!(warnings.contains(r#""code":"tester-rate-limit","frames":"64 B""#), "{warnings}");
    if all.iter().all(|trial| count(trial, "/lost") == 0) {
        let results = at(&found, "/results").as_array().unwrap();
        assert!(
            !results.is_empty() && results.iter().all(|one| one["bounded_by"] == "tester"),
            "{results:#?}"
        );
    }
}

/// Frames that still come when the wait for them is over are said to, with the option that waits longer.
#[test]
fn bound_of_wait_is_told() {
    let lab = Lab::router();
    // 300 frames of 128 octets a second, and room for all that are sent.
    process::run(lab.command("R", "tc").args([
        "qdisc", "add", "dev", "r1", "root", "tbf", "rate", "300kbit", "burst", "1600", "limit", "1000000",
    ]))
    .with_code(0);
    let load = ["throughput", "--frame-sizes", "128", "--line-rate", "2Mbit", "--resolution", "40%"];
    let times = ["--trial", "1s", "--search-trial", "1s", "--settle", "200ms"];
    let found = bench(&lab, &[&load[..], &times].concat()).document();
    let first = &trials(&found)[0];
    assert_eq!(first["still_arriving"], true, "{first:#}");
    assert!(count(first, "/lost") > 0, "{first:#}");
    let warnings = at(&found, "/warnings").to_string();
    assert!(
        warnings.contains("frames-still-arriving") && warnings.contains(r#""settle_ns":200"#),
        "{warnings}"
    );
}
