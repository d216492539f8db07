//! What would be done, before anything is.

use super::*;

#[test]
fn what_would_be_done_is_a_document_and_no_trial_beyond_it_is_promised() {
    let asked = [
        "bench",
        "load-sweep",
        "--tx",
        "a",
        "--rx",
        "b",
        "--source",
        "198.18.0.2",
        "--destination",
        "198.19.0.2",
    ];
    let more =
        ["--frame-sizes", "64,128", "--loads", "10%,20%,30%", "--repeat", "2", "--seed", "1,2,3,4,5,6"];
    let romer = |more: &[&str], last: &[&str]| process::run(process::romer(asked).args(more).args(last));
    let found = romer(&more, &["--dry-run", "--json", "-"]).with_code(0).document();
    schema::assert_valid(&found, "benchmark-forecast");
    assert_eq!((at(&found, "/trials").as_array().unwrap().len(), count(&found, "/trials_at_most")), (12, 12));
    // Twelve trials of ten seconds.
    assert!(number(&found, "/time_at_most_ns") > 120e9 && number(&found, "/time_at_most_ns") < 240e9);
    let plain = romer(&more, &["--dry-run"]).with_code(0);
    assert!(plain.stdout.contains("12 trials, ") && plain.stdout.lines().count() > 12, "{plain:?}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.pcapng");
    let late = romer(&more, &["--pcapng", file.to_str().unwrap(), "--pcapng-trial", "13"]).with_code(2);
    assert!(
        late.stderr.contains("no such trial (--pcapng-trial 13): those to be made are 1 to 12"),
        "{late:?}"
    );
    // Each trial of a search follows from the one before.
    let mut search = asked;
    search[1] = "throughput";
    let found =
        process::run(process::romer(search).args(["--dry-run", "--json", "-"])).with_code(0).document();
    assert!(at(&found, "/trials").as_array().unwrap().is_empty() && count(&found, "/trials_at_most") > 6);
    let unfilled = ["bench", "policing", "--profile", "10pps,20", "--settle", "1s"];
    let unfilled = process::run(process::romer(unfilled).args(&asked[2..])).with_code(2);
    assert!(unfilled.stderr.contains("the bucket would not be full again (--settle 1s)"), "{unfilled:?}");
}
