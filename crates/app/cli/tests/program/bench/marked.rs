//! What markings a real router and a real bridge are held to, and what a real policer is.

use super::*;

const QUICK: [&str; 10] = [
    "--frame-sizes",
    "128",
    "--loads",
    "20%",
    "--line-rate",
    "2Mbit",
    "--trial",
    "300ms",
    "--settle",
    "100ms",
];

/// The claims about markings that a benchmark came to, with whether they hold, and its exit code.
fn held(ended: &Ended) -> (Vec<(String, bool)>, Option<i32>) {
    let found = ended.document();
    schema::assert_valid(&found, "benchmark");
    let verdicts = at(&found, "/verdicts").as_array().unwrap();
    let told = |one: &Value| {
        let text = format!("{}: {}", subject(one), observed(one));
        (text, one["passed"] == true)
    };
    (verdicts.iter().map(told).collect(), ended.code)
}

#[test]
fn a_bridge_that_keeps_vlan_and_priority_holds_and_one_that_moves_frames_to_another_vlan_does_not() {
    let lab = Lab::path();
    lab.bridge("");
    let sent = ["--stream", "name=tagged,vlan=10,pcp=5,share=50%", "--stream", "name=plain"];
    let judged = |claims: &[&str]| held(&bench(&lab, &[&["load-sweep"], &QUICK[..], &sent, claims].concat()));
    let kept = ["--expect-vlan", "10=10", "--expect-priority", "5=5", "--expect-vlan", "untagged=untagged"];
    let (verdicts, code) = judged(&kept);
    if code != Some(4) {
        assert_eq!((verdicts.len(), code), (3, Some(0)), "{verdicts:?}");
        assert!(verdicts.iter().all(|(_, holds)| *holds), "{verdicts:?}");
    }
    lab.filter(
        "E",
        "table bridge tags { chain c { type filter hook prerouting priority 0 ; vlan id 10 vlan id set 20 ; } ; }",
    );
    let (verdicts, code) = judged(&["--expect-vlan", "10=10", "--expect-priority", "untagged=3"]);
    if code != Some(4) {
        assert_eq!(code, Some(6), "{verdicts:?}");
        let [(vlan, false), (priority, false)] = &verdicts[..] else { panic!("{verdicts:?}") };
        assert!(vlan.starts_with("VLAN 10: 0 frames conform, ") && vlan.ends_with(" as 20"), "{vlan}");
        assert!(
            priority.starts_with("priority untagged: ") && priority.ends_with(" as untagged"),
            "{priority}"
        );
    }
}

#[test]
fn a_router_that_marks_all_as_congested_breaks_what_is_claimed_of_it() {
    let lab = Lab::router();
    let sent = ["--stream", "ecn=ect0", "--expect-ecn", "ect0=ect0"];
    let judged = || held(&bench(&lab, &[&["load-sweep"], &QUICK[..], &sent].concat()));
    let (verdicts, code) = judged();
    if code != Some(4) {
        assert_eq!((verdicts.len(), code), (1, Some(0)), "{verdicts:?}");
    }
    lab.filter(
        "R",
        "table ip test { chain c { type filter hook forward priority 0 ; udp dport 50001 ip ecn set ce ; } ; }",
    );
    let (verdicts, code) = judged();
    if code != Some(4) {
        assert_eq!(code, Some(6), "{verdicts:?}");
        assert!(
            verdicts[0].0.starts_with("ECN ect0: 0 frames conform, ") && verdicts[0].0.ends_with(" as ce")
        );
    }
}

#[test]
fn a_router_that_polices_two_classes_and_remarks_one_of_them_is_held_to_both() {
    let lab = Lab::router();
    let rules = |excess: &str| {
        format!(
            "table ip test {{ chain c {{ type filter hook forward priority 0 ; \
             ip dscp af11 limit rate over 625/second burst 20 packets ip dscp set {excess} ; \
             ip dscp af21 limit rate over 300/second burst 10 packets drop ; }} ; }}"
        )
    };
    lab.filter("R", &rules("af13"));
    let streams = [
        "--stream",
        "name=gold,dscp=af11,share=50%,profile=625pps,20",
        "--stream",
        "name=silver,dscp=af21,share=50%,profile=300pps,10",
    ];
    let claims =
        ["--expect-marking", "af11=af11", "--excess-marking", "af11=af13", "--expect-marking", "af21=af21"];
    // 844 frames a second of each.
    let load = ["--frame-sizes", "128", "--line-rate", "2Mbit", "--loads", "100%", "--trial", "2s"];
    let judged = |claims: &[&str]| bench(&lab, &[&["policing"], &streams[..], claims, &load].concat());
    let ended = judged(&claims);
    let found = ended.document();
    schema::assert_valid(&found, "benchmark");
    if is_valid(trials(&found).last().unwrap()) {
        let verdicts = verdicts(&found);
        assert_eq!(ended.code, Some(0), "{:#}", found["verdicts"]);
        for subject in [
            "in profile, stream gold",
            "in profile, stream silver",
            "code point af11, out of profile",
            "code point af21",
        ] {
            assert!(
                verdicts.iter().any(|(of, holds)| of.starts_with(subject) && *holds),
                "{subject}: {verdicts:?}"
            );
        }
        assert!(!at(&found, "/warnings").to_string().contains("bucket-shared"), "{:#}", found["warnings"]);
    }
    lab.filter("R", "delete table ip test");
    lab.filter("R", &rules("af12"));
    let ended = judged(&claims);
    let found = ended.document();
    if is_valid(trials(&found).last().unwrap()) {
        assert_eq!(ended.code, Some(6), "{:#}", found["verdicts"]);
        let broken: Vec<String> =
            verdicts(&found).into_iter().filter(|(_, holds)| !holds).map(|(subject, _)| subject).collect();
        assert_eq!(broken, ["code point af11, out of profile"], "one fault has one name");
    }
}
