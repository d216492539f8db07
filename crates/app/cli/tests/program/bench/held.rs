//! What the router is held to in the cases that come ready.

use super::*;

#[test]
fn every_case_of_the_router_is_so_with_ipv6_too() {
    let lab = Lab::router();
    let v6 = ["--destination", "2001:2:0:19::42", "--line-rate", "2Mbit", "--settle", "150ms"];
    let small = ["--frame-sizes", "128", "--loads", "20%", "--trial", "300ms"];
    for (case, ports, claim) in [
        ("none", "5001", "cs0=cs0"),
        ("classify", "5001", "cs0=cs0"),
        ("remark", "5001", "cs0=ef"),
        ("remark", "5002", "cs0=af21"),
        ("remark", "5003", "cs0=cs1"),
    ] {
        set_case(&lab, &[case]);
        let stream = format!("name=all,ports={ports}");
        let more = ["--stream", &stream, "--expect-marking", claim];
        let found = document(bench(&lab, &[&["load-sweep"], &v6[..], &small, &more].concat()));
        assert_eq!(found["setup"]["source"], "2001:2:0:18::2", "the laboratory's own, of the same version");
        for trial in trials(&found).iter().filter(|trial| is_valid(trial)) {
            assert_eq!(count(trial, "/lost"), 0, "{case}: {trial:#}");
            assert_eq!(trial["frame_size"], 128);
        }
    }
    // The counters of the rules have seen as many as came.
    let rules = process::run(lab.command("R", "nft").args(["list", "table", "inet", "romer"])).with_code(0);
    let line = rules.stdout.lines().find(|line| line.contains("udp dport 5003 ip6 dscp set cs1")).unwrap();
    assert!(!line.contains("counter packets 0 "), "{line}");
    set_case(&lab, &["police"]);
    let police = ["--profile", "625pps,20", "--frame-sizes", "128", "--loads", "70%", "--trial", "1s"];
    let found = bench(&lab, &[&["policing"], &v6[..], &police].concat()).document();
    // 1,182 frames a second: some two of five are beyond the profile.
    if let Some(trial) = first_valid(&found) {
        let stopped = count(trial, "/policed/excess_stopped") + count(trial, "/policed/at_boundary_stopped");
        assert!(stopped > 200, "{:#}", trial["policed"]);
    }
    set_case(&lab, &["priority", "--rate", "1Mbit"]);
    let classes =
        ["--stream", "name=first,dscp=ef", "--stream", "name=second,dscp=af22", "--stream", "name=third"];
    let judged = ["--discipline", "strict", "--capacity", "1Mbit", "--frame-sizes", "512", "--loads", "90%"];
    let times =
        ["--trial", "2s", "--settle", "800ms", "--destination", "2001:2:0:19::42", "--line-rate", "2Mbit"];
    let found = bench(&lab, &[&["priority"], &classes[..], &judged, &times].concat()).document();
    if let Some(trial) = first_valid(&found) {
        // Chance decides how much each class offers, so that it counts what of that is lost.
        let of = |place: usize, what: &str| number(trial, &format!("/per_stream/{place}/{what}"));
        let lost = [0, 1, 2].map(|place| of(place, "lost") / of(place, "offered"));
        assert!(lost[0] < lost[1] && lost[1] < lost[2], "{lost:?} {:#}", trial["per_stream"]);
    }
}

#[test]
fn large_frames_of_a_low_class_are_seen_to_have_more_than_theirs() {
    let lab = Lab::router();
    let streams = [("high", "ef", 64, 200), ("middle", "af21", 64, 150), ("low", "cs0", 1_518, 100)].map(
        |(name, dscp, size, weight)| {
            format!("name={name},dscp={dscp},frame-size={size},weight={weight},pace=poisson,share=33.3%")
        },
    );
    let judged = |case: &str| {
        set_case(&lab, &[case, "--rate", "1Mbit"]);
        let mut arguments = vec!["priority", "--discipline", "weighted", "--capacity", "1Mbit"];
        for stream in &streams {
            arguments.extend(["--stream", stream]);
        }
        // Chance alone takes a class of 3,000 frames, of which 500 are so large, up to 14 % of the capacity away.
        arguments.extend(["--line-rate", "4Mbit", "--loads", "90%", "--trial", "6s"]);
        arguments.extend(["--settle", "800ms"]);
        bench(&lab, &arguments).document()
    };
    let found = judged("small-passes");
    schema::assert_valid(&found, "benchmark");
    // The streams have sizes of their own, so that there is one trial and not one for each size that others would have.
    assert!(trials(&found).iter().all(|trial| trial["mixture"] == "of streams"), "{found:#}");
    assert_eq!(trials(&found).iter().filter(|trial| is_valid(trial)).count().max(1), 1);
    let forwarded =
        |trial: &Value, place: usize| number(trial, &format!("/per_stream/{place}/forwarded_l2_bps"));
    if let Some(trial) = first_valid(&found) {
        // 200, 150 and 1,518 octets in a pass.
        assert!(forwarded(trial, 2) > 3.0 * forwarded(trial, 0), "{:#}", trial["per_stream"]);
        let verdicts = at(&found, "/verdicts").as_array().unwrap();
        let weights = verdicts.iter().find(|one| subject(one).starts_with("weights"));
        assert!(weights.is_some_and(|one| observed(one).contains("figure 1-5")), "{verdicts:#?}");
        assert!(verdicts.iter().any(|one| subject(one).starts_with("classes high and low")));
    }
    let fair = judged("weighted");
    if let Some(trial) = first_valid(&fair) {
        assert!(forwarded(trial, 0) > 1.5 * forwarded(trial, 2), "{:#}", trial["per_stream"]);
    }
}

#[test]
fn two_neighbouring_classes_that_were_swapped_are_named_without_a_load_being_chosen() {
    let lab = Lab::router();
    set_case(&lab, &["priority", "--rate", "1Mbit"]);
    let judged = |more: &[&str]| {
        let mut arguments = vec!["priority", "--discipline", "strict", "--capacity", "1Mbit"];
        for stream in ["name=first,dscp=ef", "name=second,dscp=af21", "name=third"] {
            arguments.extend(["--stream", stream]);
        }
        arguments.extend([
            "--frame-sizes",
            "256",
            "--line-rate",
            "5Mbit",
            "--trial",
            "1s",
            "--settle",
            "600ms",
        ]);
        arguments.extend(more);
        bench(&lab, &arguments)
    };
    let sound = judged(&["--loads", "15%"]).document();
    let open = |found: &Value| {
        let all = at(found, "/verdicts").as_array().unwrap().clone();
        all.into_iter().find(|one| subject(one) == "classes first and second" && one["passed"].is_null())
    };
    if trials(&sound).iter().all(is_valid) {
        let found = observed(&open(&sound).unwrap());
        assert!(found.starts_with("not tested: at these loads "), "{found}");
        assert!(found.contains(" of the capacity in total (--loads "), "{found}");
        // Who wants verdicts is told that this is none.
        let ended = judged(&["--loads", "15%", "--require-verdicts"]).with_code(6);
        let told = "error: claim inconclusive (--require-verdicts; baseline, ";
        assert!(ended.stderr.starts_with(told) && ended.stderr.lines().count() == 1, "{ended:?}");
    }
    lab.filter(
        "R",
        "table ip test { chain c { type filter hook forward priority 0 ; ip dscp ef meta priority set 1:20 ; \
         ip dscp af21 meta priority set 1:10 ; } ; }",
    );
    let ended = judged(&[]);
    let found = ended.document();
    if trials(&found).iter().all(is_valid) {
        assert_eq!(open(&found), None);
        assert_eq!(ended.code, Some(6), "{ended:?}");
        assert!(ended.stderr.starts_with("error: claim failed (baseline, "), "{ended:?}");
        let verdicts = verdicts(&found);
        let named =
            verdicts.iter().any(|(subject, holds)| subject.starts_with("classes first and second") && !holds);
        assert!(named, "{verdicts:?}");
    }
}

#[test]
fn a_router_that_carries_nothing_now_and_then_has_no_scheduler_that_fails_for_it() {
    let lab = Lab::router();
    set_case(&lab, &["priority", "--rate", "1Mbit"]);
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let streams =
        ["--stream", "name=first,dscp=ef", "--stream", "name=second,dscp=af21", "--stream", "name=third"];
    let judged =
        ["--discipline", "strict", "--capacity", "1Mbit", "--frame-sizes", "512", "--line-rate", "2Mbit"];
    let times = ["--loads", "90%", "--trial", "3s", "--settle", "600ms", "--skip-self-test", "--quiet"];
    let all = [&["priority"], &streams[..], &judged, &times].concat();
    let mut begun = Process::start(&mut command(&lab, &run, &all));
    while begun.is_running() {
        lab.filter("R", "table ip still { chain c { type filter hook forward priority 0 ; drop ; } ; }");
        std::thread::sleep(std::time::Duration::from_millis(250));
        lab.filter("R", "delete table ip still");
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    // A third of what the first class offers, 58 % of the capacity, is missing: far more than the tolerance.
    let ended = begun.wait();
    let text = std::fs::read_to_string(run.join("benchmark.json"));
    let found: Value = serde_json::from_str(&text.unwrap_or_else(|_| panic!("{ended:?}"))).unwrap();
    schema::assert_valid(&found, "benchmark");
    assert_ne!(ended.code, Some(6), "{found:#}");
    assert!(trials(&found).iter().all(|trial| count(trial, "/outages/count") >= 2), "{found:#}");
    if is_valid(trials(&found).last().unwrap()) {
        assert_eq!(trials(&found).len(), 3, "two were made in vain: {found:#}");
        let verdicts = at(&found, "/verdicts").as_array().unwrap();
        let first = verdicts.iter().find(|one| subject(one).starts_with("class first"));
        let told = observed(first.unwrap());
        assert!(told.contains("inconclusive: the device or its host stalled for"), "{told}");
        assert!(verdicts.iter().all(|one| one["passed"] != false), "{verdicts:#?}");
    }
}

#[test]
fn a_router_whose_queues_hold_all_that_is_too_much_carries_its_line_and_no_more() {
    let lab = Lab::router();
    set_case(&lab, &["priority", "--rate", "1Mbit"]);
    for class in ["1:10", "1:20", "1:30"] {
        let deep = ["qdisc", "change", "dev", "r1", "parent", class, "pfifo", "limit", "5000"];
        process::run(lab.command("R", "tc").args(deep)).with_code(0);
    }
    let streams =
        ["--stream", "name=first,dscp=ef", "--stream", "name=second,dscp=af21", "--stream", "name=third"];
    let judged =
        ["--discipline", "strict", "--capacity", "1Mbit", "--frame-sizes", "512", "--line-rate", "2Mbit"];
    // Some 2.2 s are left to carry when all was sent, far more than the time to settle.
    let times = ["--loads", "90%", "--trial", "3s", "--settle", "600ms"];
    let ended = bench(&lab, &[&["priority"], &streams[..], &judged, &times].concat());
    let found = ended.document();
    let of = |trial: &Value, place: usize, what: &str| number(trial, &format!("/per_stream/{place}/{what}"));
    for trial in trials(&found) {
        assert_eq!(count(trial, "/lost"), 0, "all comes in the end: {trial:#}");
        let sum: f64 = (0..3).map(|place| of(trial, place, "forwarded_l2_bps")).sum();
        assert!(sum < 1.05e6, "{:#}", trial["per_stream"]);
        assert!(of(trial, 2, "forwarded_l2_bps") < 0.5 * of(trial, 2, "offered_l2_bps"), "{trial:#}");
    }
    if trials(&found).iter().any(is_valid) {
        assert_ne!(ended.code, Some(6), "{:#}", found["verdicts"]);
        let events = at(&found, "/events").as_array().unwrap();
        assert!(!events.iter().any(|event| event["code"] == "stream-silent"), "{events:#?}");
        let warned = at(&found, "/warnings").as_array().unwrap();
        assert!(!warned.iter().any(|one| one["code"] == "capacity-exceeded"), "{warned:?}");
    }
}
