//! A measurement from end to end: its numbers, its documents, its folder.

use std::fs;

use serde_json::Value;

use crate::common::lab::{FAR, FAR_V6, Lab, Run, packets, stored};
use crate::common::process::{self, romer};
use crate::common::{at, count, number, schema};

const DIRECTIONS: [&str; 3] = ["forward", "reverse", "round_trip"];

fn ten_probes(lab: &Lab, more: &[&str]) -> Run {
    lab.measure(&[&["--count", "10", "--interval", "5ms"], more].concat())
}

fn assert_all_arrived(document: &Value, probes: u64) {
    for direction in DIRECTIONS {
        let packets = at(document, &format!("/{direction}/packets"));
        for (name, wanted) in
            [("sent", probes), ("received", probes), ("lost", 0), ("duplicated", 0), ("late", 0)]
        {
            assert_eq!(count(packets, &format!("/{name}")), wanted, "{direction} {name}: {packets}");
        }
    }
}

#[test]
fn every_probe_is_told_in_both_directions_with_four_stamps_of_the_kernel_and_one_clock() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = lab.measure(&["--count", "100", "--interval", "5ms", FAR]);
    let document = run.document();
    assert_all_arrived(&document, 100);
    for moment in ["sender_departure", "sender_arrival", "responder_arrival", "responder_departure"] {
        assert_eq!(at(&document, &format!("/stamps/{moment}")), "kernel", "{moment}");
        assert_eq!(count(&document, &format!("/stamps/missing/{moment}")), 0, "{moment}");
    }
    assert_eq!(at(&document, "/clock/method"), "shared");
    for direction in DIRECTIONS {
        assert_eq!(at(&document, &format!("/{direction}/delay_kind")), "absolute");
        assert_eq!(count(&document, &format!("/{direction}/delay_ns/count")), 100);
    }
    // Both ends are on one kernel, which says the same of its clock to both.
    for field in ["synchronised", "state", "tai_offset_s", "sync_daemons"] {
        let told = |whose: &str| at(&document, &format!("/metadata/{whose}/{field}")).clone();
        assert_eq!(told("clock_sync"), told("responder_clock_sync"), "{field}");
        assert_ne!(told("clock_sync"), Value::Null, "{field}");
    }
    assert_eq!(at(&document, "/partial"), false);
    assert_eq!(at(&document, "/warnings").as_array().unwrap().len(), 0);
    for end in ["sender", "responder"] {
        for moment in ["departure", "arrival"] {
            let errors = format!("/location_error_ns/{end}/{moment}");
            assert_eq!(count(&document, &format!("{errors}/count")), 100);
            assert!(
                number(&document, &format!("{errors}/min")) >= 0.0,
                "a program stamps outside the kernel"
            );
        }
    }
}

/// Chen et al. 2013, equation (4).
#[test]
fn forward_and_reverse_delay_make_the_round_trip_probe_by_probe_and_in_the_document() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = lab.measure(&["--count", "200", "--interval", "2ms", FAR]);
    let rows = run.rows();
    assert_eq!(rows.len(), 200);
    let mut delays = [Vec::new(), Vec::new(), Vec::new()];
    for (row, sequence) in rows.iter().zip(0..) {
        assert_eq!((row.sequence, row.size), (sequence, 44));
        let [t1, t2, t3, t4] = row.four();
        let [forward, reverse, round_trip] = [t2 - t1, t4 - t3, (t4 - t1) - (t3 - t2)];
        assert_eq!(forward + reverse, round_trip);
        assert!(forward > 0 && reverse > 0 && t3 >= t2, "{row:?}");
        for (delays, delay) in delays.iter_mut().zip([forward, reverse, round_trip]) {
            delays.push(delay);
        }
    }
    let document = run.document();
    for (direction, delays) in DIRECTIONS.iter().zip(&mut delays) {
        delays.sort_unstable();
        let mean = delays.iter().sum::<i64>() as f64 / 200.0;
        let median = (delays[99] + delays[100]) as f64 / 2.0;
        for (name, wanted) in
            [("min", delays[0] as f64), ("max", delays[199] as f64), ("mean", mean), ("median", median)]
        {
            let told = number(&document, &format!("/{direction}/delay_ns/{name}"));
            assert!((told - wanted).abs() < 1e-3, "{direction} {name}: {told}, by the rows {wanted}");
        }
    }
    let median = |direction| number(&document, &format!("/{direction}/delay_ns/median"));
    assert!(median("round_trip") > median("forward").max(median("reverse")));
    // By the program's own stamps, which the run has too, a round trip takes longer: they lie outside of the kernel's.
    let by = |place: &str| {
        let mut command = romer(["analyze", "--quiet", "--json", "-", "--stamp", place]);
        process::run(command.arg(run.folder())).with_code(0).document()
    };
    let (kernel, user) = (by("kernel"), by("user"));
    assert_eq!(at(&kernel, "/stamps/sender_departure"), at(&document, "/stamps/sender_departure"));
    assert_eq!(at(&user, "/stamps/sender_departure"), "user");
    let least = |document: &Value| number(document, "/round_trip/delay_ns/min");
    assert!(least(&user) > least(&kernel), "{} {}", least(&user), least(&kernel));
}

#[test]
fn a_run_is_kept_whole_and_gives_the_same_document_again_from_its_rows() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = ten_probes(&lab, &[FAR, "--comment", "it's a test"]);
    let mut names: Vec<String> = fs::read_dir(run.folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["manifest.json", "measurement.json.gz", "packets.parquet"]);
    assert_eq!(stored(&run.folder()), run.document());
    let mut report = romer(["report", "--quiet", "--json", "-"]);
    assert_eq!(process::run(report.arg(run.folder())).with_code(0).stdout, run.ended.stdout);
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(run.folder().join("manifest.json")).unwrap()).unwrap();
    schema::assert_valid(&manifest, "manifest");
    let parquet = fs::read(run.folder().join("packets.parquet")).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    let document = run.document();
    assert_eq!(at(&document, "/metadata/comment"), "it's a test");
    let command = at(&document, "/metadata/command").as_str().unwrap();
    assert!(
        command.starts_with("romer measure --count 10") && command.contains(r"'it'\''s a test'"),
        "{command}"
    );
}

#[test]
fn a_run_is_not_overwritten_without_force() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let (mut first, home) = lab.measuring(&["--count", "1", "--quiet", FAR]);
    process::run(&mut first).with_code(0);
    let before = fs::read(home.path().join("run/measurement.json.gz")).unwrap();
    let again = process::run(&mut first).with_code(2);
    assert!(again.stderr.starts_with("error: ") && again.stderr.contains("--force"), "{again:?}");
    assert_eq!(fs::read(home.path().join("run/measurement.json.gz")).unwrap(), before);
    process::run(first.arg("--force")).with_code(0);
    assert_ne!(fs::read(home.path().join("run/measurement.json.gz")).unwrap(), before);
}

#[test]
fn both_families_are_measured() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for (target, packet) in [(FAR, 72), (FAR_V6, 92), ("[2001:2:0:18::3]:8862", 92)] {
        let run = ten_probes(&lab, &[target]);
        assert_all_arrived(&run.document(), 10);
        assert_eq!(count(&run.document(), "/traffic/packet_octets"), packet);
        assert_eq!(at(&run.document(), "/target"), target);
    }
}

#[test]
fn probes_have_the_size_that_was_asked_for_and_none_is_fragmented() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for (size, payload, packet) in [
        (["--packet-size", "64B"], 36, 64),
        (["--packet-size", "1500B"], 1_472, 1_500),
        (["--size", "1472B"], 1_472, 1_500),
        (["--size", "100B"], 100, 128),
    ] {
        let run = ten_probes(&lab, &[FAR, size[0], size[1]]);
        let document = run.document();
        assert_all_arrived(&document, 10);
        assert_eq!(count(&document, "/traffic/payload_octets"), payload);
        assert_eq!(count(&document, "/traffic/packet_octets"), packet);
        assert!(run.rows().iter().all(|row| row.size == payload));
    }
    for (target, too_large) in
        [(FAR, ["--size", "1473B"]), (FAR, ["--packet-size", "1501B"]), (FAR_V6, ["--size", "1453B"])]
    {
        let ended = lab.try_measure(&["--count", "1", target, too_large[0], too_large[1]]).ended.with_code(2);
        assert!(ended.stderr.contains("MTU is 1500"), "{ended:?}");
        assert!(ended.stderr.contains(too_large[0]) && ended.stderr.lines().count() == 1, "{ended:?}");
    }
}

#[test]
fn no_probes_make_a_document_without_numbers() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = lab.measure(&["--count", "0", FAR]);
    let document = run.document();
    assert_eq!(at(&document, "/partial"), false, "all that was asked for was done");
    for direction in DIRECTIONS {
        assert_eq!(count(&document, &format!("/{direction}/packets/sent")), 0);
        assert_eq!(count(&document, &format!("/{direction}/delay_ns/count")), 0);
        assert!(at(&document, &format!("/{direction}/delay_ns/mean")).is_null());
        assert!(at(&document, &format!("/{direction}/loss/ratio")).is_null());
    }
    assert!(run.rows().is_empty());
    assert!(!run.ended.stdout.contains("NaN") && !run.ended.stdout.contains("inf"));
}

#[test]
fn a_seed_replays_its_schedule_and_another_does_not() {
    const SEED: &str = "1,2,3,4,5,6";
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let poisson = |seed: &str| {
        let run = lab.measure(&[
            "--traffic",
            "poisson",
            "--interval",
            "10ms",
            "--count",
            "40",
            "--seed",
            seed,
            FAR,
        ]);
        let document = run.document();
        let told = at(&document, "/traffic/seed").as_array().unwrap().clone();
        assert_eq!(told.iter().map(ToString::to_string).collect::<Vec<_>>().join(","), seed);
        // When each was due: the program's stamp, taken just after it woke, without how late that was.
        let rows = packets(&run.home);
        rows.iter()
            .map(|row| row.t1.user.unwrap().as_nanos() - row.wake_error_ns.unwrap())
            .collect::<Vec<i64>>()
    };
    let (once, again, other) = (poisson(SEED), poisson(SEED), poisson("6,5,4,3,2,1"));
    assert_eq!([once.len(), again.len(), other.len()], [40; 3]);
    // How late a probe woke is in no such time, and what the host did between waking and stamping in few: the median passes over
    // them. Gaps of two seeds differ by 7 ms at the median.
    let apart = |a: &[i64], b: &[i64]| {
        let gaps = |due: &[i64]| due.windows(2).map(|two| two[1] - two[0]).collect::<Vec<_>>();
        let mut apart: Vec<u64> = gaps(a).iter().zip(gaps(b)).map(|(a, b)| a.abs_diff(b)).collect();
        apart.sort_unstable();
        apart[apart.len() / 2]
    };
    let (same, different) = (apart(&once, &again), apart(&once, &other));
    assert!(same < different / 4, "gaps of one seed differ by {same} ns, of two seeds by {different} ns");
}

#[test]
fn a_drawn_seed_is_told_in_the_document_and_in_the_command_that_repeats_the_run() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let draw = || {
        let document = ten_probes(&lab, &["--traffic", "poisson", FAR]).document();
        let seed = at(&document, "/traffic/seed").as_array().unwrap().clone();
        let words = seed.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let command = at(&document, "/metadata/command").as_str().unwrap();
        assert!(command.ends_with(&format!(" --seed {words}")), "{command}");
        seed
    };
    let first = draw();
    assert_eq!(first.len(), 6);
    assert_ne!(first, draw());
}

#[test]
fn several_targets_are_measured_side_by_side_in_one_run() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = lab.try_measure(&["--count", "50", "--interval", "10ms", FAR, FAR_V6]);
    assert_eq!(run.ended.code, Some(0), "{:?}", run.ended);
    let document = run.document();
    schema::assert_valid(&document, "measurements");
    assert_eq!(at(&document, "/schema"), "romer/measurement/1");
    let streams = at(&document, "/measurements").as_array().unwrap();
    assert_eq!(streams.len(), 2);
    for (stream, target) in streams.iter().zip([FAR, FAR_V6]) {
        assert_eq!(at(stream, "/target"), target);
        assert_all_arrived(stream, 50);
    }
    let mut times = [0, 1].map(|stream: u16| {
        let mut report = romer(["report", "--quiet", "--csv", "-", "--stream-number", &stream.to_string()]);
        let csv = process::run(report.arg(run.folder())).with_code(0).stdout;
        csv.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse().unwrap()).collect::<Vec<i64>>()
    });
    assert!(times.iter().all(|times| times.len() == 50));
    let [first, second] = &mut times;
    assert!(first[0] < *second.last().unwrap() && second[0] < *first.last().unwrap(), "one after the other");
}

#[test]
fn stamps_of_the_program_are_used_where_they_are_asked_for() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = ten_probes(&lab, &["--stamp", "user", FAR]);
    let document = run.document();
    assert_all_arrived(&document, 10);
    for moment in ["sender_departure", "sender_arrival", "responder_arrival", "responder_departure"] {
        assert_eq!(at(&document, &format!("/stamps/{moment}")), "user", "{moment}");
    }
    for row in run.rows() {
        assert_eq!(row.stamps[..4], row.stamps[4..]);
    }
}
