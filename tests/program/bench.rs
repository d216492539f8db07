//! A benchmark of the laboratory's router. The rates are low, so that a busy machine keeps up; what must agree must
//! agree frame for frame at any rate.

use serde_json::Value;

use crate::common::lab::Lab;
use crate::common::process::{self, Ended};
use crate::common::{at, count, number, schema};

/// A benchmark from host A over the router, with these arguments; settled and patient enough for a busy machine.
fn bench(lab: &Lab, arguments: &[&str]) -> Ended {
    let prefix = lab.prefix();
    let ports = ["--tx", &format!("{prefix}A/t0"), "--rx", &format!("{prefix}B/t1")].map(str::to_owned);
    let mut command = lab.romer("A", ["bench"]);
    command.args(arguments).args(ports).args(["--json", "-", "--quiet"]);
    process::run(&mut command)
}

fn document(ended: Ended) -> Value {
    let document = ended.with_code(0).document();
    schema::assert_valid(&document, "benchmark");
    document
}

fn trials(document: &Value) -> &[Value] {
    at(document, "/trials").as_array().unwrap()
}

/// Whether the tester itself failed, as it may on a machine that others use up.
fn is_valid(trial: &Value) -> bool {
    trial["invalid"].is_null()
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
        assert_eq!(of("/offered/frames"), of("/carried/frames") + of("/lost"), "{trial:#}");
        assert_eq!(of("/intended_load/frames"), of("/offered/frames") + of("/unsent"), "{trial:#}");
        assert_eq!((of("/duplicated"), of("/altered"), of("/reordered")), (0, 0, 0), "{trial:#}");
        assert_eq!(of("/latency_ns/count"), of("/carried/frames"), "every frame has its latency");
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
        let carried = results.iter().filter(|one| one["quantity"] == "carried_percent");
        for one in carried {
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
    let case = bench(&lab, &["load-sweep", "--case", "broken=exit 7"]).with_code(4);
    assert!(case.stderr.contains("exit status: 7"), "{case:?}");
    let large = bench(&lab, &["load-sweep", "--frame-sizes", "9018"]).with_code(2);
    assert!(large.stderr.contains("IP packets of 1500 octets"), "{large:?}");
}

/// The verdicts of a benchmark: subject, and whether it holds.
fn verdicts(document: &Value) -> Vec<(String, bool)> {
    let all = at(document, "/verdicts").as_array().unwrap();
    all.iter()
        .map(|one| (one["subject"].as_str().unwrap().to_owned(), one["holds"].as_bool().unwrap()))
        .collect()
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
        wrong.stderr.contains("plan.toml:2:1): there is no key \"frame_sizs\"; did you mean frame-sizes?"),
        "{wrong:?}"
    );
    std::fs::write(&plan, "procedure = \"load-sweep\"\nline_rate = \"10MB\"\n").unwrap();
    let wrong = bench(&lab, &[plan.to_str().unwrap()]).with_code(3);
    assert!(wrong.stderr.contains("plan.toml:2:13): bad value (--line-rate)"), "{wrong:?}");
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
    assert_eq!(verdicts(&found), [("frames of 128 octets".into(), false)]);
    let lost: Vec<u64> =
        trials(&found).iter().filter(|one| one["frame_size"] != 128).map(|one| count(one, "/lost")).collect();
    assert_eq!(lost, [0, 0], "the others are not touched");
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
        let all: u64 =
            trial["policed"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
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
    let trial = &trials(&found)[0];
    let carried = |place: usize| number(trial, &format!("/per_stream/{place}/carried_l2_bps"));
    assert!(carried(0) > carried(1) && carried(1) > carried(2), "{:#}", trial["per_stream"]);
    assert!(carried(0) > 0.9 * number(trial, "/per_stream/0/offered_l2_bps"));
    assert!(
        verdicts(&found).iter().filter(|(subject, holds)| subject.starts_with("class") && !holds).count()
            >= 2
    );
}
