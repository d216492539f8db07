//! A benchmark of the laboratory's router. The rates are low, so that a busy machine keeps up; what must agree must
//! agree frame for frame at any rate.

mod declared;
mod ended;
mod far;
mod foreseen;
mod held;
mod limit;
mod marked;
mod sent;
mod whose;

use std::path::Path;
use std::process::Command;

use romer_record::benchmark::Judgement;
use romer_report::benchmark::{observed_text, subject_text};
use serde_json::Value;

use crate::common::lab::Lab;
use crate::common::process::{self, Ended, Process};
use crate::common::{at, count, number, schema};

/// The command of a benchmark from host A over the router, kept in `folder`, with these arguments.
fn command(lab: &Lab, folder: &Path, arguments: &[&str]) -> Command {
    let prefix = lab.prefix();
    let ports = ["--tx", &format!("{prefix}A/t0"), "--rx", &format!("{prefix}B/t1")].map(str::to_owned);
    let mut command = lab.romer("A", ["bench"]);
    command.args(arguments).args(ports).arg("--out").arg(folder);
    command
}

/// Such a benchmark, without the test of the tester, run to its end.
fn bench(lab: &Lab, arguments: &[&str]) -> Ended {
    bench_in(lab, tempfile::tempdir().unwrap().path(), arguments)
}

fn bench_in(lab: &Lab, folder: &Path, arguments: &[&str]) -> Ended {
    process::run(command(lab, folder, arguments).args(["--skip-self-test", "--json", "-", "--quiet"]))
}

fn document(ended: Ended) -> Value {
    // Where a busy machine left most trials without meaning, just that is told.
    let text = ended.stderr.clone();
    let most_tell_nothing = text.contains("most trials are inconclusive (");
    let document = ended.with_code(if most_tell_nothing { 4 } else { 0 }).document();
    schema::assert_valid(&document, "benchmark");
    let valid = trials(&document).iter().filter(|trial| is_valid(trial)).count();
    assert!(!most_tell_nothing || valid * 2 < trials(&document).len(), "{text}");
    document
}

fn trials(document: &Value) -> &[Value] {
    at(document, "/trials").as_array().unwrap()
}

/// Whether the tester itself failed, as it may on a machine that others use up.
fn is_valid(trial: &Value) -> bool {
    trial["invalid"].is_null()
}

/// The first trial that tells of the device. One in which the tester was stalled, so that frames came in bursts that fill every queue,
/// is made again; where a busy machine left all trials without meaning there is none.
fn first_valid(document: &Value) -> Option<&Value> {
    trials(document).iter().find(|trial| is_valid(trial))
}

/// The command that loads rules into the router.
fn rules(lab: &Lab, rules: &str) -> String {
    format!("nsenter --net=/run/netns/{}R nft '{rules}'", lab.prefix())
}

#[test]
fn a_sweep_accounts_for_every_frame_as_the_routers_own_counters_do() {
    let lab = Lab::router();
    lab.filter(
        "R",
        "table ip test { counter seen {} ; chain c { type filter hook forward priority 0 ; udp dport 50001 counter name \
         seen ; } ; }",
    );
    let remark = rules(
        &lab,
        "add table ip qos ; add chain ip qos c { type filter hook forward priority -150 ; } ; \
        flush chain ip qos c ; add rule ip qos c udp dport 50001 ip dscp set ef",
    );
    let document = document(bench(
        &lab,
        &[
            "load-sweep",
            "--frame-sizes",
            "64,256",
            "--loads",
            "20%,50%",
            "--line-rate",
            "2Mbit",
            "--trial",
            "300ms",
            "--settle",
            "100ms",
            "--repeat",
            "2",
            "--case",
            "none=true",
            "--case",
            &format!("remark={remark}"),
            "--seed",
            "1,2,3,4,5,6",
        ],
    ));
    let trials = trials(&document);
    assert!(trials.len() >= 16, "{}", trials.len());
    let mut offered = 0;
    for trial in trials {
        let of = |name: &str| count(trial, name);
        assert_eq!(of("/offered/frames"), of("/forwarded/frames") + of("/lost"), "{trial:#}");
        assert_eq!(of("/intended_load/frames"), of("/offered/frames") + of("/unsent"), "{trial:#}");
        assert_eq!((of("/duplicated"), of("/altered"), of("/reordered")), (0, 0, 0), "{trial:#}");
        assert_eq!(of("/latency_ns/count"), of("/forwarded/frames"), "every frame has its latency");
        assert!(number(trial, "/latency_ns/min") > 0.0);
        offered += of("/offered/frames");
        // The case is set once in each repeat, and the rule stays: the first repeat's "none" may come before or after.
        let markings = at(trial, "/markings/cs0").as_object().unwrap();
        let marked = markings.contains_key("ef");
        assert!(markings.len() == 1 && (marked || markings.contains_key("cs0")), "{markings:?}");
        if trial["case"] == "remark" {
            assert!(marked, "what was remarked is seen as remarked: {markings:?}");
        }
    }
    assert_eq!(lab.counted("R", "ip", "seen"), offered + count(&document, "/setup/probes"));
    let valid = trials.iter().filter(|trial| is_valid(trial)).count();
    if valid == trials.len() {
        let results = at(&document, "/results").as_array().unwrap();
        let forwarded = results.iter().filter(|one| one["quantity"] == "forwarded_percent");
        for one in forwarded {
            assert_eq!(count(one, "/count"), 2);
            let (mean, load) = (number(one, "/mean"), number(one, "/load_percent"));
            assert!((mean / load - 1.0).abs() < 0.02, "no frame of so few is lost: {one:#}");
        }
        let differences = at(&document, "/differences").as_array().unwrap();
        assert!(
            differences.iter().any(|one| one["quantity"] == "latency_mean_ns" && count(one, "/count") == 2)
        );
    }
}

#[test]
fn the_throughput_of_a_shaped_router_is_found() {
    let lab = Lab::router();
    // 1 Mbit/s of frames of 1,000 octets without check sequence, and little room to wait.
    process::run(lab.command("R", "tc").args([
        "qdisc", "add", "dev", "r1", "root", "tbf", "rate", "1mbit", "burst", "3000", "limit", "6000",
    ]))
    .with_code(0);
    let document = document(bench(
        &lab,
        &[
            "throughput",
            "--frame-sizes",
            "1004",
            "--line-rate",
            "4Mbit",
            "--trial",
            "1s",
            "--search-trial",
            "1s",
            "--settle",
            "150ms",
            "--resolution",
            "2%",
        ],
    ));
    let found = at(&document, "/results").as_array().unwrap();
    let found = found.iter().find(|one| one["quantity"] == "throughput_percent").unwrap();
    // 1,000 octets at 1 Mbit/s are 125 frames a second, and as many of 1,024 octets with preamble and gap are 25.6 %
    // of 4 Mbit/s. The queue swallows up to nine frames in a second, 7 % more; a host that is away makes bursts,
    // which cost.
    let percent = number(found, "/mean");
    let bursts = trials(&document).iter().any(|trial| count(trial, "/longest_catch_up") > 3);
    assert!(percent < 29.0, "{found:#}");
    assert!(bursts || percent > 22.0, "{found:#}");
    assert!(found["bounded_by"].is_null() || bursts, "{found:#}");
}

#[test]
fn what_cannot_be_benchmarked_is_refused_with_a_reason() {
    let lab = Lab::router();
    // Nobody forwards to there.
    let silent =
        bench(&lab, &["load-sweep", "--destination", "203.0.113.9", "--patience", "1s"]).with_code(5);
    assert!(silent.stderr.starts_with("error: the device does not forward ("), "{silent:?}");
    let stream = "name=a,destination=203.0.113.7-203.0.113.8";
    let silent = bench(&lab, &["load-sweep", "--stream", stream, "--patience", "1s"]).with_code(5);
    assert!(silent.stderr.contains(" to 203.0.113.7-203.0.113.8;"), "what was sent is named: {silent:?}");
    let case = bench(&lab, &["load-sweep", "--case", "broken=exit 7"]).with_code(4);
    assert!(case.stderr.contains("exit status: 7"), "{case:?}");
    let large = bench(&lab, &["load-sweep", "--frame-sizes", "9018"]).with_code(2);
    assert!(large.stderr.contains("IP packets of at most 1500 bytes"), "{large:?}");
}

/// A verdict of a document.
fn judgement(one: &Value) -> Judgement {
    serde_json::from_value(one.clone()).unwrap()
}

/// The text of the subject of a verdict.
fn subject(one: &Value) -> String {
    subject_text(&judgement(one))
}

/// The text of the observed result of a verdict.
fn observed(one: &Value) -> String {
    observed_text(&judgement(one))
}

/// The verdicts of a benchmark: subject, and whether it holds.
fn verdicts(document: &Value) -> Vec<(String, bool)> {
    let all = at(document, "/verdicts").as_array().unwrap();
    // Where a busy machine stood still, some are not known.
    all.iter().filter_map(|one| Some((subject(one), one["passed"].as_bool()?))).collect()
}

fn set_case(lab: &Lab, case: &[&str]) {
    process::run(process::romer(["lab", "case"]).args(case).args(["--prefix", lab.prefix()])).with_code(0);
}

#[test]
fn a_router_that_remarks_otherwise_than_it_is_to_is_caught() {
    let lab = Lab::router();
    set_case(&lab, &["remark"]);
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    let write = |voice: &str| {
        let text = format!(
            "procedure = \"load-sweep\"\nframe_sizes = [128]\nloads = [\"30%\"]\nline_rate = \"2Mbit\"\n\
             trial = \"200ms\"\nsettle = \"100ms\"\nexpect_marking = [\"cs0={voice}\", \"cs3=cs3\"]\n\
             [dut]\nmodel = \"the kernel\"\n\
             [[stream]]\nname = \"voice\"\nports = 5001\nshare = \"50%\"\n\
             [[stream]]\nname = \"other\"\nports = \"7001-7009\"\ndscp = \"cs3\"\nshare = \"50%\"\n"
        );
        std::fs::write(&plan, text).unwrap();
    };
    write("ef");
    let held = document(bench(&lab, &[plan.to_str().unwrap()]));
    assert_eq!(verdicts(&held), [("code point cs0".into(), true), ("code point cs3".into(), true)]);
    assert_eq!(held["dut"]["model"], "the kernel");
    let streams = at(&held, "/trials/0/per_stream").as_array().unwrap();
    assert_eq!(streams.len(), 2);
    write("af11");
    let broken = bench(&lab, &[plan.to_str().unwrap()]).with_code(6).document();
    assert_eq!(verdicts(&broken), [("code point cs0".into(), false), ("code point cs3".into(), true)]);
    std::fs::write(&plan, "procedure = \"load-sweep\"\nframe_sizs = [64]\n").unwrap();
    let wrong = bench(&lab, &[plan.to_str().unwrap()]).with_code(3);
    assert!(
        wrong.stderr.contains("plan.toml:2:1): there is no key \"frame_sizs\"; did you mean frame_sizes?"),
        "{wrong:?}"
    );
    std::fs::write(&plan, "procedure = \"load-sweep\"\nline_rate = \"10MB\"\n").unwrap();
    let wrong = bench(&lab, &[plan.to_str().unwrap()]).with_code(3);
    assert!(wrong.stderr.contains("plan.toml:2:13): bad value (--line-rate)"), "{wrong:?}");
    // Nobody waits for who writes into a pipe.
    let pipe = folder.path().join("pipe.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let wrong = bench(&lab, &[pipe.to_str().unwrap()]).with_code(4);
    assert!(wrong.stderr.contains("it is not a regular file"), "{wrong:?}");
}

#[test]
fn a_router_that_drops_one_size_is_caught() {
    let lab = Lab::router();
    // Packets of 110 octets, which are frames of 128, do not pass.
    lab.filter(
        "R",
        "table ip test { chain c { type filter hook forward priority 0 ; ip length 110 drop ; } ; }",
    );
    let arguments = ["load-sweep", "--frame-sizes", "64,128,256", "--loads", "30%", "--line-rate", "2Mbit"];
    let times = ["--trial", "200ms", "--settle", "100ms"];
    let ended = bench(&lab, &[&arguments[..], &times].concat()).with_code(6);
    let found = ended.document();
    assert_eq!(verdicts(&found), [("frames of 128 B".into(), false)]);
    let lost: Vec<u64> =
        trials(&found).iter().filter(|one| one["frame_size"] != 128).map(|one| count(one, "/lost")).collect();
    // More than one of each where this host stood still in a trial, and it was done again.
    assert!(lost.len() >= 2 && lost.iter().all(|lost| *lost == 0), "the others are not touched: {lost:?}");
}

#[test]
fn a_device_that_reorders_is_caught() {
    let lab = Lab::path();
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("reorders.toml");
    let text = "[a_to_b.reorder]\nprobability = 0.1\n\
                displacement = { model = \"uniform\", low = 2, high = 5 }\n";
    std::fs::write(&scenario, text).unwrap();
    let mut emulate = lab.romer("E", ["emulate", "--port", "a=e0", "--port", "b=e1"]);
    let mut emulator = Process::start(emulate.arg("--scenario").arg(&scenario));
    let line = emulator.line();
    assert!(line.starts_with("emulating: "), "{line:?} {:?}", emulator.wait());
    let arguments = ["load-sweep", "--frame-sizes", "64,128", "--loads", "30%", "--line-rate", "2Mbit"];
    let times = ["--trial", "500ms", "--settle", "100ms"];
    let found = bench(&lab, &[&arguments[..], &times].concat()).with_code(6).document();
    assert_eq!(verdicts(&found), [("order".into(), false)]);
    let counted = |name: &str| trials(&found).iter().map(|one| count(one, name)).sum::<u64>();
    assert_eq!(counted("/lost"), 0, "what comes late is not lost");
    // A tenth of some 900 frames: fewer than 20 of them with a probability far below 1e-6.
    assert!(counted("/reordered") >= 20, "{found:#}");
}

#[test]
fn a_policer_is_judged_frame_by_frame() {
    let lab = Lab::router();
    set_case(&lab, &["police"]);
    let judged = |profile: &str| {
        bench(
            &lab,
            &[
                "policing",
                "--profile",
                profile,
                "--frame-sizes",
                "128",
                "--line-rate",
                "1184kbit",
                "--loads",
                "100%",
                "--trial",
                "2s",
                "--settle",
                "200ms",
            ],
        )
    };
    // 1,000 frames a second, of which 625 are in profile. A profile of half the rate is broken by what passes.
    let ended = judged("300pps,20");
    let found = ended.with_code(6).document();
    schema::assert_valid(&found, "benchmark");
    let trial = trials(&found).iter().find(|trial| is_valid(trial));
    if let Some(trial) = trial {
        assert!(count(trial, "/policed/excess_passed") > 100, "{:#}", trial["policed"]);
        assert!(count(trial, "/policed/total/min_excess_passed") > 100, "{:#}", trial["policed"]);
        let verdicts = trial["policed"].as_object().unwrap().iter();
        // Of those at the edge, some are told once more, and all together.
        let verdicts =
            verdicts.filter(|(name, _)| !["at_boundary_stopped", "total"].contains(&name.as_str()));
        let all: u64 = verdicts.map(|(_, count)| count.as_u64().unwrap()).sum();
        assert!(count(trial, "/policed/at_boundary_stopped") <= count(trial, "/policed/at_boundary"));
        assert_eq!(all, count(trial, "/offered/frames"), "every frame has its verdict");
    }
}

#[test]
fn the_classes_of_a_scheduler_are_judged_each_by_itself() {
    let lab = Lab::router();
    set_case(&lab, &["priority", "--rate", "1Mbit"]);
    let streams = [("first", "ef"), ("second", "af21"), ("third", "cs0")]
        .map(|(name, dscp)| format!("name={name},dscp={dscp},share=33.3%"));
    let judged = |discipline: &str| {
        let mut arguments =
            vec!["priority", "--discipline", discipline, "--capacity", "1Mbit", "--frame-sizes", "512"];
        for stream in &streams {
            arguments.extend(["--stream", stream]);
        }
        arguments.extend(["--line-rate", "2Mbit", "--loads", "90%", "--trial", "3s", "--settle", "800ms"]);
        bench(&lab, &arguments)
    };
    // Each class offers some 58 % of what the line carries: the first gets all of it, the last nothing.
    let found = judged("fifo").with_code(6).document();
    schema::assert_valid(&found, "benchmark");
    let trial = first_valid(&found).expect("a verdict is of a valid trial");
    let forwarded = |place: usize| number(trial, &format!("/per_stream/{place}/forwarded_l2_bps"));
    // Chance decides how much each class offers, so that it counts what of that is forwarded.
    let share =
        |place: usize| forwarded(place) / number(trial, &format!("/per_stream/{place}/offered_l2_bps"));
    assert!(share(0) > share(1) && share(1) > share(2), "{:#}", trial["per_stream"]);
    assert!(forwarded(0) > 0.9 * number(trial, "/per_stream/0/offered_l2_bps"));
    assert!(
        verdicts(&found).iter().filter(|(subject, holds)| subject.starts_with("class") && !holds).count()
            >= 2
    );
    // The laboratory's rate and the stated capacity count the same octets: 64 of the smallest frames, of which the kernel has 60.
    let streams: Vec<&str> = streams.iter().flat_map(|stream| ["--stream", stream]).collect();
    let small =
        ["--discipline", "fifo", "--capacity", "1Mbit", "--frame-sizes", "64", "--line-rate", "4Mbit"];
    let times = ["--loads", "60%", "--trial", "2s", "--settle", "300ms"];
    let ended = bench(&lab, &[&["priority"], &small[..], &times, &streams].concat());
    let trial = trials(&ended.document())[0].clone();
    let sum: f64 = (0..3).map(|place| number(&trial, &format!("/per_stream/{place}/forwarded_l2_bps"))).sum();
    assert!(sum < 1.04e6, "{:#}", trial["per_stream"]);
    // A router that takes the first for the last is caught, and both are named.
    lab.filter(
        "R",
        "table ip test { chain c { type filter hook forward priority 0 ; ip dscp ef meta priority set 1:30 ; \
         ip dscp cs0 meta priority set 1:10 ; } ; }",
    );
    let swapped = verdicts(&judged("strict").with_code(6).document());
    let named = |begins: &str| swapped.iter().any(|(subject, holds)| subject.starts_with(begins) && !holds);
    assert!(named("class first") && named("class third"), "{swapped:?}");
    assert!(named("classes first and third"), "{swapped:?}");
}

#[test]
fn a_device_that_was_away_is_waited_for_and_its_absence_is_no_loss() {
    let lab = Lab::router();
    let folder = tempfile::tempdir().unwrap();
    // The second case takes the router's far link away the first time that it is set, until that was noticed.
    let [once, run] = ["once", "run"].map(|name| folder.path().join(name));
    let router = format!("nsenter --net=/run/netns/{}R ip link set r1", lab.prefix());
    let noticed = format!("grep -q device-silent {}/trials.log", run.display());
    let away = format!(
        "away=test -e {0} || {{ touch {0}; {router} down; \
         (until {noticed}; do sleep 0.1; done; {router} up) >/dev/null 2>&1 & }}",
        once.display()
    );
    let loads = ["--frame-sizes", "128", "--loads", "30%", "--line-rate", "2Mbit", "--seed", "1,2,3,4,5,6"];
    let times = ["--trial", "200ms", "--settle", "100ms"];
    let cases = ["--case", "none=true", "--case", &away];
    let found = document(bench_in(&lab, &run, &[&["load-sweep"], &loads[..], &times, &cases].concat()));
    assert_eq!(trials(&found)[0]["case"], "none", "the seed has it first");
    let events = at(&found, "/events").as_array().unwrap();
    let codes: Vec<&str> = events.iter().map(|event| event["code"].as_str().unwrap()).collect();
    assert!(codes.starts_with(&["device-silent", "device-rebooted"]), "{events:#?}");
    for trial in trials(&found).iter().filter(|trial| is_valid(trial)) {
        assert_eq!(count(trial, "/lost"), 0, "{trial:#}");
    }
}

#[test]
fn the_tester_is_tested_first_and_says_what_may_be_claimed() {
    let lab = Lab::router();
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["load-sweep", "--frame-sizes", "128", "--loads", "30%", "--line-rate", "2Mbit"];
    let times =
        ["--trial", "100ms", "--settle", "50ms", "--subtract-baseline", "--limit", "loss_ratio<=100%"];
    let mut command = command(&lab, &folder.path().join("run"), &[&arguments[..], &times].concat());
    let ended = process::run(command.args(["--json", "-", "--quiet"]));
    let found = document(ended);
    let tests = at(&found, "/self_test/tests").as_array().unwrap();
    for name in ["line-rate", "line-rate-marked", "above-line-rate", "gap-100us", "loopback-latency"] {
        assert!(tests.iter().any(|test| test["name"] == name), "{name}: {tests:#?}");
    }
    assert!(number(&found, "/self_test/received_gap_error_ns") > 0.0);
    assert_eq!(found["calibration"]["subtracted"], true);
    assert!(number(&found, "/calibration/median_ns") > 0.0);
    assert_eq!(found["limits"][0]["passed"], true);
    let page = std::fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    assert!(page.contains("Tester self-test: what these results can support"));
}

#[test]
fn an_interrupted_self_test_is_kept_and_does_not_say_that_it_goes_on() {
    let lab = Lab::router();
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut asked = command(&lab, &run, &["self-test", "--trial", "30s", "--settle", "10ms"]);
    let interrupted = Process::start(asked.args(["--color", "never"]));
    std::thread::sleep(std::time::Duration::from_secs(2));
    interrupted.signal("INT");
    let ended = interrupted.wait().with_code(130);
    assert!(ended.stderr.starts_with("benchmark self-test from "), "{ended:?}");
    assert!(ended.stdout.contains("; a self-test cannot be resumed"), "{ended:?}");
    assert!(!ended.stdout.contains("--resume"), "{ended:?}");
    assert!(run.join("benchmark.json").is_file());
}

#[test]
fn a_killed_benchmark_goes_on_where_it_was() {
    let lab = Lab::router();
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let arguments = ["load-sweep", "--frame-sizes", "64,128", "--loads", "20%,30%", "--line-rate", "2Mbit"];
    let times = ["--trial", "300ms", "--settle", "100ms", "--repeat", "2", "--skip-self-test", "--quiet"];
    let mut killed = Process::start(&mut command(&lab, &run, &[&arguments[..], &times].concat()));
    let kept = || {
        let log = std::fs::read_to_string(run.join("trials.log")).unwrap_or_default();
        log.lines().filter(|line| line.contains("{\"trial\":")).count()
    };
    while kept() < 2 {
        assert!(killed.is_running(), "it ended before two trials were kept");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    killed.signal("KILL");
    killed.wait();
    let before = kept();
    let resume = |more: &[&str]| {
        let mut command = lab.romer("A", ["bench"]);
        process::run(command.args(more).arg("--resume").arg(&run).args(["--json", "-", "--quiet"]))
    };
    let prefix = lab.prefix();
    let ports = ["--tx", &format!("{prefix}A/t0"), "--rx", &format!("{prefix}B/t1")].map(str::to_owned);
    let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
    let changed = resume(&["--repeat", "3"]).with_code(2);
    assert!(changed.stderr.contains(", repeat): it was 2, and is now 3; "), "{changed:?}");
    let changed = resume(&[&["load-sweep", "--loads", "10%"], &ports[..]].concat()).with_code(2);
    assert!(changed.stderr.starts_with("error: cannot resume ("), "{changed:?}");
    assert_eq!(changed.stderr.lines().count(), 1);
    let whole = document(resume(&[]));
    assert_eq!(whole["partial"], false);
    let trials = trials(&whole).iter().filter(|trial| is_valid(trial)).count();
    assert!(trials <= 8 && kept() >= 8.max(before), "{trials}");
    let places: std::collections::BTreeSet<String> = at(&whole, "/trials")
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {} {}", one["frame_size"], one["duration_ns"], one["repeat"]))
        .collect();
    assert_eq!(places.len(), 4, "both sizes in both repeats");
    assert!(at(&whole, "/events").as_array().unwrap().iter().any(|event| event["code"] == "resumed"));
    let report = |more: &[&str]| process::run(process::romer(["report"]).arg(&run).args(more));
    let figures = folder.path().join("figures");
    report(&["--quiet", "--svg", figures.to_str().unwrap()]).with_code(0);
    let drawn: Vec<String> = std::fs::read_dir(&figures)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(drawn.len() >= 5 && drawn.iter().all(|name| name.ends_with(".svg")), "{drawn:?}");
    let twice = report(&["--quiet", "--svg", figures.to_str().unwrap()]).with_code(2);
    assert!(twice.stderr.contains("there are figures already (--svg "), "{twice:?}");
    let table = report(&["--csv", "-"]).with_code(0);
    assert!(table.stdout.starts_with("case,frame_size,load_percent,quantity,"), "{table:?}");
    assert!(report(&[]).with_code(0).stdout.contains("% of line"));
    let packets = report(&["--qtcp", "x"]).with_code(2);
    assert!(packets.stderr.contains("does not apply (--qtcp)"), "{packets:?}");
    let again = resume(&[]).with_code(2);
    assert!(again.stderr.starts_with("error: nothing to resume ("), "{again:?}");
}

#[test]
fn a_benchmark_killed_within_the_testers_own_tests_goes_on_as_well() {
    let lab = Lab::router();
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let arguments = ["load-sweep", "--frame-sizes", "64", "--loads", "20%", "--line-rate", "2Mbit"];
    let times = ["--trial", "300ms", "--settle", "100ms", "--quiet"];
    let mut killed = Process::start(&mut command(&lab, &run, &[&arguments[..], &times].concat()));
    while !run.join("trials.log").exists() {
        assert!(killed.is_running(), "it ended before its folder was made");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    killed.signal("KILL");
    killed.wait();
    assert_eq!(std::fs::read_to_string(run.join("trials.log")).unwrap(), "", "nothing had been found out");
    let mut resume = lab.romer("A", ["bench"]);
    let whole = document(process::run(resume.arg("--resume").arg(&run).args(["--json", "-", "--quiet"])));
    assert_eq!((&whole["partial"], trials(&whole).len()), (&serde_json::json!(false), 1));
    assert!(whole["self_test"].is_object(), "the tester was tested again: {whole}");
    let event = at(&whole, "/events/0");
    assert_eq!(event["code"], "resumed");
    assert_eq!(event["since"], "start", "no result was stored: {event}");
}

#[test]
fn between_ports_that_are_no_laboratorys_the_addresses_are_asked_for() {
    let lab = Lab::router();
    let refused = |more: &[&str]| {
        let mut command = lab.romer("A", ["bench", "throughput", "--tx", "t0", "--rx", "lo"]);
        process::run(command.args(more)).with_code(2).stderr
    };
    let error = refused(&[]);
    assert!(error.starts_with("error: missing option (--source)"), "{error}");
    let error = refused(&["--source", "198.18.0.2"]);
    assert!(error.starts_with("error: missing option (--destination)"), "{error}");
}

#[test]
fn a_reset_is_timed_and_a_trial_can_be_seen_as_a_capture() {
    let lab = Lab::router();
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("trial.pcapng");
    // The router is reset by its far link, which comes back when nothing can be in a queue any more.
    let router = format!("nsenter --net=/run/netns/{}R ip link set r1", lab.prefix());
    let reset = format!("{router} down; sleep 0.3; {router} up");
    let loads = ["--frame-sizes", "128", "--loads", "30%", "--line-rate", "2Mbit", "--trial", "3s"];
    let stream = "name=all,destination=198.19.0.66-198.19.0.69,share=100%";
    let more =
        ["--settle", "100ms", "--reset", &reset, "--stream", stream, "--pcapng", capture.to_str().unwrap()];
    let ended = bench(&lab, &[&["reset"], &loads[..], &more].concat());
    // The router asks for its four neighbours anew when the link is back; what waited for one of them may be overtaken by what
    // comes when it is known, and the order is then said to be broken, which it was. Nothing else may be.
    let found = if ended.code == Some(6) {
        let found = ended.document();
        assert_eq!(verdicts(&found), [("order".into(), false)]);
        found
    } else {
        document(ended)
    };
    let trial = &trials(&found)[0];
    if is_valid(trial) {
        let results = at(&found, "/results").as_array().unwrap();
        let away = results.iter().find(|one| one["quantity"] == "reset_by_loss_ns").unwrap();
        // It was away for as long as the command had it, at the least.
        assert!(number(away, "/mean") > 250e6, "{away:#}");
        assert!(count(trial, "/lost") > 0);
    }
    let octets = std::fs::read(&capture).unwrap();
    let text = String::from_utf8_lossy(&octets);
    assert!(octets.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) && text.contains("romer bench"));
    assert!(text.contains("all, frame 0, ") && text.contains("latency "), "frames are told with their fate");
    assert_eq!(text.matches("; lost").count() as u64, count(trial, "/lost"));
    // Each of the four addresses was taught before the trial.
    assert!(count(&found, "/setup/probes") >= 5, "{:#}", found["setup"]);
}

#[test]
fn a_reset_that_takes_the_testers_link_is_timed_as_well() {
    let lab = Lab::router();
    // What is due meanwhile cannot leave, and does not leave at once when the link is back.
    let router = format!("nsenter --net=/run/netns/{}R ip link set r0", lab.prefix());
    let reset = format!("{router} down; sleep 0.5; {router} up");
    let loads = ["--frame-sizes", "128", "--loads", "30%", "--line-rate", "2Mbit", "--trial", "3s"];
    let ended = bench(&lab, &[&["reset"], &loads[..], &["--settle", "100ms", "--reset", &reset]].concat());
    let found = document(ended);
    let trial = &trials(&found)[0];
    let [unlinked, lost] = ["/unlinked", "/lost"].map(|path| count(trial, path));
    let asked = count(trial, "/intended_load/frames");
    let result = |name: &str| {
        let results = at(&found, "/results").as_array().unwrap();
        results.iter().find(|one| one["quantity"] == name).map(|one| number(one, "/mean")).unwrap()
    };
    let events = at(&found, "/events").as_array().unwrap();
    assert!(events.iter().any(|event| event["code"] == "link-lost"), "{events:#?}");
    if is_valid(trial) {
        assert!(unlinked > 0, "{trial:#}");
        #[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
        let by_count = 3e9 * (unlinked + lost) as f64 / asked as f64;
        assert!((result("reset_by_loss_ns") - by_count).abs() < 0.01 * by_count, "{found:#}");
        // The command had it away for half a second, of which the port may take ten milliseconds for a full queue.
        for name in ["reset_by_loss_ns", "reset_by_times_ns"] {
            assert!(result(name) > 480e6, "{name}: {found:#}");
        }
    }
}
