//! What markings are to come out: of all frames, and of those that a policer does not let through.

use romer_method::policing::{Profile, TokenUnit};
use romer_record::benchmark::StreamResult;
use romer_record::warning::BenchmarkWarning;
use romer_sim::device::Policer;
use romer_units::Ecn;
use romer_wire::ethernet::{Tag, TagProtocol};

use super::*;
use crate::remarking::markings;

const BUCKET: Profile = Profile { rate: 1_000.0, depth: 20.0, unit: TokenUnit::Frames, tolerance: 1.0 };

/// What is found of a policer that makes CS1 of what is beyond, or drops it, where this is claimed of what conforms and what does
/// not.
fn policed(remark: Option<u8>, conforming: &[&str], excess: &[&str]) -> Benchmark {
    let claim = |marking: &&str| claimed(None, Field::CodePoint, marking);
    let claims = Claims {
        profile: Some(BUCKET),
        markings: conforming.iter().map(claim).collect(),
        excess: excess.iter().map(claim).collect(),
        ..Claims::default()
    };
    let policer = Some(Policer { rate: 1_000.0, depth: 20.0, remark });
    let asked = BenchOptions { claims, name: "policing", ..sweep(&[0.4]) };
    run(&asked, Simulated::with(Device { policer, ..carries(1.0, 100) }))
}

#[test]
fn what_is_beyond_a_profile_may_come_out_with_a_code_point_of_its_own() {
    // Both sides are said, and both are so.
    let right = policed(Some(8), &["cs0=cs0"], &["cs0=cs1"]);
    assert_eq!(broken(&right), Vec::<&str>::new());
    let told = |of: &str| {
        let found = right.verdicts.iter().find(|one| subject_text(one) == of);
        found.map(observed_text).unwrap_or_else(|| panic!("{:?}", right.verdicts))
    };
    assert!(told("code point cs0").contains(" out of profile, received as cs1 as expected"));
    assert!(told("code point cs0, out of profile").ends_with(" frames conform"));
    // Without a word of what exceeds, frames that were remarked are wrong ones; with it, others are.
    assert_eq!(broken(&policed(Some(8), &["cs0=cs0"], &[])), ["code point cs0"]);
    let other = policed(Some(10), &["cs0=cs0"], &["cs0=cs1"]);
    assert_eq!(broken(&other), ["code point cs0, out of profile"], "one fault has one name");
    let known = other.verdicts.iter().find(|one| subject_text(one) == "code point cs0").unwrap();
    assert!(
        known.passed == Some(true) && observed_text(known).contains(" out of profile, received as af11"),
        "{known:?}"
    );
    // What is to be remarked is not to be dropped.
    let dropping = policed(None, &[], &["cs0=cs1"]);
    assert_eq!(broken(&dropping), ["code point cs0, out of profile"]);
    let lost = dropping.verdicts.iter().find(|one| one.passed == Some(false)).unwrap();
    assert!(
        observed_text(lost).starts_with("0 frames conform, ")
            && observed_text(lost).ends_with(" not received"),
        "{lost:?}"
    );
}

#[test]
fn what_conforms_may_be_to_come_out_otherwise() {
    // It makes EF of all, and CS1 of what is beyond.
    let claims = Claims {
        profile: Some(BUCKET),
        markings: vec![claimed(None, Field::CodePoint, "cs0=ef")],
        excess: vec![claimed(None, Field::CodePoint, "cs0=cs1")],
        ..Claims::default()
    };
    let policer = Some(Policer { rate: 1_000.0, depth: 20.0, remark: Some(8) });
    let device = |remarks: &[(u8, u8)]| Device {
        policer,
        remarks: remarks.iter().copied().collect(),
        ..carries(1.0, 100)
    };
    let asked = BenchOptions { claims, name: "policing", ..sweep(&[0.4]) };
    let plain = run(&asked, Simulated::with(device(&[])));
    assert!(broken(&plain).iter().any(|one| one.starts_with("in profile")), "{:#?}", plain.verdicts);
    let marked = run(&asked, Simulated::with(device(&[(0, 46)])));
    assert_eq!(broken(&marked), Vec::<&str>::new(), "{:#?}", marked.verdicts);
    assert!(marked.verdicts.iter().any(|one| one.expected == Expectation::PassedMarked));
}

#[test]
fn each_stream_may_have_a_bucket_of_its_own() {
    let stream = |name: &str, rate: Option<f64>| StreamOptions {
        name: name.into(),
        share: 0.5,
        profile: rate.map(|rate| Profile { rate, ..BUCKET }),
        ..StreamOptions::default()
    };
    let judged = |rates: [Option<f64>; 2], shared: Option<Profile>| {
        let claims = Claims { profile: shared, ..Claims::default() };
        let streams = vec![stream("a", rates[0]), stream("b", rates[1])];
        let asked = BenchOptions { claims, streams, name: "policing", ..sweep(&[0.4]) };
        run(&asked, Simulated::with(carries(1.0, 100)))
    };
    // 1,689 frames a second of each, of which all pass: one has more than its bucket lets through.
    let document = judged([Some(1_000.0), Some(2_000.0)], None);
    let [wrong] = &broken(&document)[..] else { panic!("{:#?}", document.verdicts) };
    assert!(wrong.starts_with("out of profile, stream a, "), "{wrong}");
    let held = document.verdicts.iter().filter(|one| one.passed == Some(true));
    assert!(
        held.clone().any(|one| subject_text(one).starts_with("in profile, stream b, ")),
        "{:#?}",
        document.verdicts
    );
    let trial = &document.trials[0];
    assert!(trial.policed.is_none() && trial.per_stream.iter().all(|stream| stream.policed.is_some()));
    let warned =
        |document: &Benchmark| document.warnings.contains(&BenchmarkWarning::BucketShared { streams: 2 });
    assert!(!warned(&document));
    let open = document.verdicts.iter().find(|one| one.passed.is_none()).unwrap();
    assert_eq!(subject_text(open), "out of profile, stream b");
    assert!(
        observed_text(open).starts_with("not tested: no frame of stream b was out of profile"),
        "{open:?}"
    );
    // The other has the one that is everybody's.
    let document = judged([Some(1_000.0), None], Some(Profile { rate: 2_000.0, ..BUCKET }));
    assert!(document.trials[0].policed.is_some() && document.trials[0].per_stream[1].policed.is_none());
    assert_eq!(broken(&document).len(), 1, "{:#?}", document.verdicts);
    assert!(!warned(&document));
    assert!(warned(&judged([None, None], Some(BUCKET))));
}

#[test]
fn what_is_wrong_in_profile_is_not_told_of_what_is_beyond_it() {
    // It makes AF11 of what is in profile, and CS1 of what is not, as it is to.
    let claims = Claims {
        profile: Some(BUCKET),
        markings: vec![claimed(None, Field::CodePoint, "cs0=cs0")],
        excess: vec![claimed(None, Field::CodePoint, "cs0=cs1")],
        ..Claims::default()
    };
    let policer = Some(Policer { rate: 1_000.0, depth: 20.0, remark: Some(8) });
    let device = Device { policer, remarks: [(0, 10)].into(), ..carries(1.0, 100) };
    let asked = BenchOptions { claims: claims.clone(), name: "policing", ..sweep(&[0.4]) };
    let document = run(&asked, Simulated::with(device));
    let named = broken(&document);
    assert!(
        named.iter().any(|one| one == "code point cs0")
            && !named.iter().any(|one| one == "code point cs0, out of profile"),
        "{named:?}"
    );
    // Where nothing is beyond, nobody knows what would become of it.
    let light = BenchOptions { claims, name: "policing", ..sweep(&[0.1]) };
    let document = run(&light, Simulated::with(Device { policer, ..carries(1.0, 100) }));
    let open: Vec<String> =
        document.verdicts.iter().filter(|one| one.passed.is_none()).map(subject_text).collect();
    assert_eq!(open, ["code point cs0, out of profile", "out of profile"], "{:?}", document.verdicts);
}

#[test]
fn what_does_not_come_at_all_is_lost_and_no_wrong_marking() {
    let tag = Tag::new(TagProtocol::Customer, 5, false, 10);
    let streams = vec![
        StreamOptions { name: "tagged".into(), tag, share: 0.5, ..StreamOptions::default() },
        StreamOptions { name: "plain".into(), share: 0.5, ..StreamOptions::default() },
    ];
    let claim = |field, text| claimed(None, field, text);
    let markings = vec![
        claim(Field::Vlan, "10=10"),
        claim(Field::Priority, "5=5"),
        claim(Field::Ecn, "not-ect=not-ect"),
    ];
    let claims = Claims { markings, ..Claims::default() };
    let asked = BenchOptions { streams, claims, ..sweep(&[0.2, 0.4]) };
    let mute = Some((0..9, 0, 0..i64::MAX));
    let document = run(&asked, Simulated { mute, ..Simulated::with(carries(1.0, 100)) });
    assert_eq!(broken(&document), ["stream tagged"], "{:#?}", document.verdicts);
    for subject in ["VLAN 10", "priority 5"] {
        let one = document.verdicts.iter().find(|one| subject_text(one) == subject).unwrap();
        assert!(one.passed.is_none() && observed_text(one).starts_with("no such frame received"), "{one:?}");
    }
}

#[test]
fn claims_of_a_case_of_which_no_trial_tells_anything_are_not_known() {
    let claims = Claims {
        profile: Some(BUCKET),
        scheduler: Some((romer_method::priority::Discipline::Strict, 1e6)),
        markings: vec![
            claimed(None, Field::CodePoint, "cs0=cs0"),
            claimed(Some("b"), Field::CodePoint, "cs0=ef"),
        ],
        excess: vec![claimed(None, Field::CodePoint, "cs0=cs1")],
        allowed: Vec::new(),
    };
    let asked = BenchOptions { claims, ..sweep(&[0.4]) };
    let open = crate::verdicts::verdicts(&asked, &[]);
    let subjects: Vec<String> = open.iter().map(subject_text).collect();
    assert_eq!(
        subjects,
        ["code point cs0", "code point cs0, out of profile", "the policer", "the scheduler"]
    );
    let is_open =
        |one: &Judgement| one.passed.is_none() && one.observed.finding == ClaimFinding::NoConclusiveTrial;
    assert!(open.iter().all(is_open), "{open:?}");
}

/// A trial in which ten frames came of each stream, of which these changed so: what went in, what came out, and how many.
fn trial(changes: [(Field, &str, &str, u64); 2]) -> Trial {
    let came =
        |code: &str| StreamResult { dscp_out: [(code.to_owned(), 10)].into(), ..StreamResult::default() };
    let mut trial = Trial { per_stream: vec![came("cs0"), came("cs0")], ..Trial::default() };
    for (field, sent, out, count) in changes {
        let all = match field {
            Field::CodePoint => &mut trial.markings,
            Field::Vlan => &mut trial.vlans,
            Field::Priority => &mut trial.priorities,
            Field::Ecn => &mut trial.ecns,
        };
        *all.entry(sent.into()).or_default().entry(out.into()).or_default() += count;
    }
    trial
}

#[test]
fn tags_and_congestion_notification_are_held_to_what_is_said_of_them() {
    let tag = Tag::new(TagProtocol::Customer, 5, false, 10);
    let streams = vec![
        StreamOptions { tag, ecn: Ecn::Ect0, ..StreamOptions::default() },
        StreamOptions { name: "plain".into(), ..StreamOptions::default() },
    ];
    let judged = |field, claim: &str, changes| {
        let claims = Claims { markings: vec![claimed(None, field, claim)], ..Claims::default() };
        let options = BenchOptions { claims, streams: streams.clone(), ..sweep(&[0.1]) };
        let found = markings(&options, "baseline", &[&trial(changes)]);
        assert_eq!(found.len(), 1);
        (found[0].passed, observed_text(&found[0]))
    };
    let whole = |field, sent, out| [(field, sent, out, 10), (field, sent, out, 0)];
    for (field, sent, out, other) in [
        (Field::Vlan, "10", "10", "untagged"),
        (Field::Vlan, "10", "20", "10"),
        (Field::Priority, "5", "5", "0"),
        (Field::Ecn, "ect0", "ect0", "ce"),
        // Nothing is told of frames that have neither before nor after.
        (Field::Vlan, "untagged", "30", "untagged"),
        (Field::Ecn, "not-ect", "ce", "not-ect"),
    ] {
        let claim = format!("{sent}={out}");
        assert_eq!(judged(field, &claim, whole(field, sent, out)), (Some(true), "10 frames conform".into()));
        let some = [(field, sent, out, 7), (field, sent, other, 3)];
        assert_eq!(judged(field, &claim, some), (Some(false), format!("7 frames conform, 3 as {other}")));
    }
    let none = || [(Field::CodePoint, "cs0", "cs0", 20), (Field::CodePoint, "cs0", "cs0", 0)];
    for (field, sent) in [(Field::Vlan, "untagged"), (Field::Priority, "untagged"), (Field::Ecn, "not-ect")] {
        let same = format!("{sent}={sent}");
        assert_eq!(judged(field, &same, none()), (Some(true), "10 frames conform".into()));
        let other = format!("{sent}=7");
        assert_eq!(judged(field, &other, none()), (Some(false), format!("0 frames conform, 10 as {sent}")));
    }
}
