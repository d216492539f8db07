//! What a user declares of a device: streams that it is to drop, and what it may do although no device does as a rule.

use crate::options::Anomaly;
use romer_record::Exit;
use romer_record::benchmark::HeaderFrames;
use romer_record::warning::BenchmarkWarning;

use super::*;

/// Two streams, of which the second is to be dropped.
fn filtered(asked: BenchOptions) -> BenchOptions {
    let stream = |name: &str, expect_drop| StreamOptions {
        name: name.into(),
        share: 0.5,
        expect_drop,
        ..StreamOptions::default()
    };
    BenchOptions { streams: vec![stream("tcp", false), stream("udp", true)], ..asked }
}

/// A device that passes the first stream and nothing of the second.
fn filter(device: Device) -> Simulated {
    Simulated { mute: Some((0..1_000, 1, 0..i64::MAX)), ..Simulated::with(device) }
}

/// A filter that does what it is declared to do has no loss, no silence and no broken claim.
#[test]
fn declared_drop_holds() {
    let asked = BenchOptions { repeats: 3, ..filtered(sweep(&[0.2, 0.4, 0.6])) };
    let document = run(&asked, filter(carries(1.0, 100)));
    let told: Vec<_> = document.verdicts.iter().map(|one| (subject_text(one), one.passed)).collect();
    assert_eq!(told, [("stream udp".to_owned(), Some(true))], "{:?}", document.verdicts);
    assert!(
        document.events.is_empty() && document.outliers.is_empty(),
        "{:?} {:?}",
        document.events,
        document.outliers
    );
    for trial in &document.trials {
        assert_eq!((trial.lost, &trial.invalid), (0, &None));
        let [offered, forwarded] = [trial.offered.frames, trial.forwarded.frames];
        let dropped = trial.per_stream[1].lost;
        assert!(dropped > 100 && offered == forwarded + dropped, "{offered} {forwarded} {dropped}");
    }
    for one in document.results.iter().filter(|one| one.quantity == "loss_ratio") {
        assert_eq!(one.mean, Some(0.0));
    }
    let forwarded = document.results.iter().find(|one| one.quantity == "forwarded_percent").unwrap();
    assert!((forwarded.theoretical.unwrap() - 10.0).abs() < 1e-9, "half of 20 %: {forwarded:?}");
}

/// A search looks at what the device is to carry alone.
#[test]
fn declared_drop_is_no_loss_of_a_search() {
    let document = run(&filtered(options(Procedure::Throughput(goal(0.0)))), filter(carries(0.5, 10)));
    // Of half of the line that is offered, half is to be forwarded.
    let [percent, pps] = ["throughput_percent", "throughput_pps"].map(|name| value(&document, name));
    assert!(
        percent > 24.75 && percent < 25.5 && (pps / 8_445.95 * 100.0 - percent).abs() < 1e-3,
        "{percent} {pps}"
    );
    let theoretical = document.results.iter().find_map(|one| one.theoretical).unwrap();
    assert!((theoretical - 50.0).abs() < 1e-9, "{theoretical}");
    let told = BenchmarkWarning::DroppedStreamsOffered { streams: vec!["udp".into()], offered_ratio: 0.5 };
    assert!(document.warnings.contains(&told), "{:#?}", document.warnings);
}

/// What comes of a stream that is to be dropped breaks the claim; what else is lost stays loss.
#[test]
fn declared_drop_that_passes_is_broken() {
    let document = run(&filtered(sweep(&[0.2])), Simulated::with(carries(1.0, 100)));
    assert_eq!(broken(&document), ["stream udp"]);
    assert!(observed_text(&document.verdicts[0]).ends_with(" frames received"), "{:?}", document.verdicts);
    // Neither the load that was carried nor the latency has it.
    let trial = &document.trials[0];
    let [pass, drop] = &trial.per_stream[..] else { panic!("{trial:#?}") };
    assert!(drop.forwarded > 100 && trial.offered.frames == pass.offered + drop.offered, "{trial:#?}");
    assert_eq!((trial.forwarded.frames, trial.latency_ns.count), (pass.forwarded, pass.forwarded));
    let forwarded = document.results.iter().find(|one| one.quantity == "forwarded_percent").unwrap();
    assert!((forwarded.mean.unwrap() - 10.0).abs() < 0.2, "half of 20 %: {forwarded:?}");
    let noisy = Device { noise: 0.1, ..carries(1.0, 100) };
    let lost = run(&filtered(sweep(&[0.4])), filter(noisy));
    // A tenth of 1,689 frames, within five deviations.
    assert!(lost.trials[0].lost.abs_diff(169) < 62, "{}", lost.trials[0].lost);
}

/// A stream of which nothing comes, where others come, has the option named that declares it.
#[test]
fn undeclared_drop_names_option() {
    let mut asked = filtered(sweep(&[0.2]));
    asked.streams[1].expect_drop = false;
    let error = |bed: Simulated| {
        let stop = AtomicBool::new(false);
        run_on(bed, &asked, None, &stop, &mut Hand(&mut Vec::new(), &stop, None)).unwrap_err().to_string()
    };
    let told = error(Simulated { silent_stream: Some(1), ..Simulated::with(carries(1.0, 100)) });
    assert!(told.contains("30 frames of stream udp") && told.contains("expect=drop"), "{told}");
}

/// Where all is to be dropped, nothing shows that the device is there.
#[test]
fn all_dropped_is_refused() {
    let mut asked = filtered(sweep(&[0.2]));
    assert!(crate::check(&asked).is_ok());
    asked.streams.remove(0);
    let told = crate::check(&asked).unwrap_err();
    assert_eq!(told.exit(), Exit::Usage);
    assert!(told.to_string().starts_with("every stream is to be dropped (--stream expect=drop)"), "{told}");
}

/// Another order and copies break nothing where they are allowed, and are told all the same.
#[test]
fn allowed_anomalies_break_nothing() {
    let faulty = Device { reorders: 0.01, duplicates: 0.01, ..carries(1.0, 100) };
    let with = |allowed: &[Anomaly]| {
        let claims = Claims { allowed: allowed.to_vec(), ..Claims::default() };
        run(&BenchOptions { claims, ..sweep(&[0.3]) }, Simulated::with(faulty.clone()))
    };
    assert_eq!(broken(&with(&[])), ["order", "copies"]);
    assert_eq!(broken(&with(&[Anomaly::Copies])), ["order"]);
    let allowed = with(&[Anomaly::Order, Anomaly::Copies]);
    let told: Vec<_> = allowed.verdicts.iter().map(|one| (&one.subject, one.passed)).collect();
    assert_eq!(told, [(&ClaimSubject::Order, Some(true)), (&ClaimSubject::Copies, Some(true))]);
}

/// A device that puts a label before each packet forwards all of it: frames are counted as they were sent, and the header is named.
#[test]
fn labelled_frames_are_carried() {
    let options = BenchOptions {
        claims: Claims { markings: vec![claimed(None, Field::CodePoint, "cs0=cs0")], ..Claims::default() },
        ..sweep(&[0.2])
    };
    let document = run(&options, Simulated { labels: true, ..Simulated::with(carries(1.0, 10)) });
    let trial = &document.trials[0];
    assert_eq!(
        (trial.lost, trial.altered, trial.forwarded.frames),
        (0, 0, trial.offered.frames),
        "{trial:#?}"
    );
    let label = ChangedHeader::EtherType { ether_type: 0x8847 };
    let frames = trial.offered.frames;
    assert_eq!(trial.other_headers, [HeaderFrames { header: label, frames }]);
    assert_eq!(trial.latency_ns.count, trial.offered.frames);
    let told = BenchmarkWarning::HeadersChanged { headers: trial.other_headers.clone() };
    assert!(document.warnings.contains(&told), "{:#?}", document.warnings);
    // What code point the packet has behind the label nobody read.
    assert!(document.verdicts.iter().all(|verdict| verdict.passed.is_none()), "{:#?}", document.verdicts);
}
