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
    assert!(plain.stdout.contains(", plus repeated trials"), "{plain:?}");
    // The tests of the tester are seven, however many sizes and loads there may be.
    let mut tests = asked;
    tests[1] = "self-test";
    let ended = process::run(process::romer(tests).args(["--trial", "1s", "--dry-run", "--json", "-"]));
    let tests = ended.with_code(0).document();
    let names: Vec<&str> = at(&tests, "/trials")
        .as_array()
        .unwrap()
        .iter()
        .map(|test| test["purpose"].as_str().unwrap())
        .collect();
    assert_eq!(names[..3], ["line-rate", "line-rate-marked", "above-line-rate"]);
    assert_eq!((at(&tests, "/trials").as_array().unwrap().len(), count(&tests, "/trials_usual")), (7, 7));
    assert!(
        number(&tests, "/time_usual_ns") < 40e9 && number(&tests, "/time_at_most_ns") < 80e9,
        "{tests:#}"
    );
    let mut named = asked;
    named[1] = "self-test";
    let plain = process::run(process::romer(named).args(["--trial", "1s", "--dry-run"])).with_code(0).stdout;
    for name in names {
        assert!(plain.lines().any(|line| line.contains(&format!("  {name} "))), "{name}: {plain}");
    }
    let unfit = process::run(process::romer(named).args(["--loads", "10%", "--dry-run"])).with_code(2);
    assert!(unfit.stderr.contains("unknown option (--loads): "), "{unfit:?}");
    let nobody = romer(&more, &["--expect-marking", "nosuch:cs0=ef", "--dry-run"]).with_code(2);
    assert!(nobody.stderr.contains("no such case (--expect-marking nosuch:cs0=ef)"), "{nobody:?}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.pcapng");
    let late = romer(&more, &["--pcapng", file.to_str().unwrap(), "--pcapng-trial", "13"]).with_code(2);
    assert!(
        late.stderr.contains("no such trial (--pcapng-trial 13): remaining trials are 1 to 12"),
        "{late:?}"
    );
    // More frames than are kept are refused before anything is done, and with the same words where nothing is to be done.
    let day = ["--trial", "24h", "--line-rate", "1Gbit", "--loads", "50%", "--frame-sizes", "64"];
    let [dry, run] = [&["--dry-run"][..], &[]].map(|last| romer(&day, last).with_code(2).stderr);
    assert_eq!(dry, run);
    assert!(
        dry.contains("a trial has too many frames (--trial 1 d): frames 64 B at 50.0 % of the line"),
        "{dry}"
    );
    assert!(dry.contains("use 53s or shorter"), "{dry}");
    // Each trial of a search follows from the one before.
    let mut search = asked;
    search[1] = "throughput";
    let found =
        process::run(process::romer(search).args(["--dry-run", "--json", "-"])).with_code(0).document();
    assert!(at(&found, "/trials").as_array().unwrap().is_empty());
    // Seven sizes: the line once, 8 halvings in short trials, one full trial; and where that fails, 8 full ones more.
    assert_eq!((count(&found, "/trials_usual"), count(&found, "/trials_at_most")), (7 * 10, 7 * 18));
    let more = number(&found, "/time_at_most_ns") - number(&found, "/time_usual_ns");
    assert!(more > 7.0 * 8.0 * 10e9 && more < 7.0 * 8.0 * 15e9, "{more}");
    // Whether it comes to a trial of which frames are wanted is said before the first; beyond the most there can be it is refused.
    let of_search = |number: &str| {
        let capture = ["--pcapng", file.to_str().unwrap(), "--pcapng-trial", number, "--frame-sizes", "64"];
        process::run(process::romer(search).args(capture).arg("--dry-run"))
    };
    let perhaps = of_search("3").with_code(0);
    assert!(perhaps.stdout.contains("there may be no trial 3 (--pcapng-trial)"), "{perhaps:?}");
    assert!(!of_search("1").with_code(0).stdout.contains("--pcapng-trial"));
    let late = of_search("40").with_code(2);
    assert!(
        late.stderr.contains("no such trial (--pcapng-trial 40): remaining trials are 1 to 18 at most"),
        "{late:?}"
    );
    // A scheduler's streams are of chance, and those that are not are told.
    let mut classes = asked;
    classes[1] = "priority";
    let of_classes = |streams: [&str; 2], json: &[&str]| {
        let judged =
            ["--discipline", "fifo", "--capacity", "1Mbit", "--stream", streams[0], "--stream", streams[1]];
        process::run(process::romer(classes).args(judged).arg("--dry-run").args(json)).with_code(0)
    };
    let chance = of_classes(["name=a", "name=b"], &[]).stdout;
    assert!(chance.contains("stream a: UDP") && chance.contains(", poisson"), "{chance}");
    assert!(!chance.contains("send evenly"), "{chance}");
    let evenly = ["name=a,pace=constant", "name=b,pace=constant"];
    let even = of_classes(evenly, &[]).stdout;
    assert!(even.contains("the streams a, b send evenly"), "{even}");
    let found = of_classes(evenly, &["--json", "-"]).document();
    assert_eq!(at(&found, "/warnings/0/code"), "streams-in-step");
    // What would be tried and cannot be offered is told in the document as in words.
    let judged =
        ["--discipline", "strict", "--capacity", "90Mbit", "--stream", "name=a", "--stream", "name=b"];
    let wide = ["--line-rate", "100Mbit", "--dry-run", "--json", "-"];
    let found = process::run(process::romer(classes).args(judged).args(wide)).with_code(0).document();
    schema::assert_valid(&found, "benchmark-forecast");
    let [warning] = &at(&found, "/warnings").as_array().unwrap()[..] else { panic!("{found:#}") };
    assert_eq!(at(warning, "/code"), "loads-above-line");
    let unfilled = ["bench", "policing", "--profile", "10pps,20", "--settle", "1s"];
    let unfilled = process::run(process::romer(unfilled).args(&asked[2..])).with_code(2);
    assert!(unfilled.stderr.contains("the bucket would not be full again (--settle 1s)"), "{unfilled:?}");
}

#[test]
fn what_a_plan_asked_for_goes_on_after_an_interrupt_which_breaks_no_limit() {
    let lab = Lab::router();
    let folder = tempfile::tempdir().unwrap();
    let [plan, run] = ["asked.toml", "run"].map(|name| folder.path().join(name));
    let text = "procedure = \"load-sweep\"\nframe_sizes = [128]\nloads = [\"10%..20%:5%\", \"30%\"]\n\
                line_rate = \"2Mbit\"\ntrial = \"300ms\"\nsettle = \"100ms\"\nrepeat = 2\nskip_self_test = true\n\
                limit = [\"loss_ratio.max<=100%\"]\n";
    std::fs::write(&plan, text).unwrap();
    let mut begun = Process::start(&mut command(&lab, &run, &[plan.to_str().unwrap()]));
    let kept = || {
        let log = std::fs::read_to_string(run.join("trials.log")).unwrap_or_default();
        log.lines().filter(|line| line.contains("{\"trial\":")).count()
    };
    while kept() < 1 {
        assert!(begun.is_running(), "it ended before a trial was kept");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    begun.signal("INT");
    let ended = begun.wait().with_code(130);
    assert!(ended.stdout.contains("limit INCONCLUSIVE: loss_ratio.max<=100%"), "{ended:?}");
    // As it was printed, and nothing after it.
    let resume = format!("romer bench --resume {}", run.display());
    assert!(ended.stdout.contains(&format!("to continue: {resume}")), "{ended:?}");
    let mut resumed = lab.romer("A", ["bench"]);
    let rest = process::run(resumed.arg("--resume").arg(&run));
    assert!(!rest.stderr.contains("missing value"), "{rest:?}");
    let whole: Value =
        serde_json::from_str(&std::fs::read_to_string(run.join("benchmark.json")).unwrap()).unwrap();
    assert_eq!(whole["partial"], false, "{rest:?}");
    let loads: std::collections::BTreeSet<String> = trials(&whole)
        .iter()
        .map(|trial| format!("{:.0}", number(trial, "/intended_load/percent")))
        .collect();
    assert_eq!(loads.len(), 4, "10, 15, 20 and 30 %: {loads:?}");
}
