//! Several targets of which some cannot be measured.

use std::process::Command;

use serde_json::Value;

use crate::common::lab::{FAR, FAR_V6, Lab, stored};
use crate::common::reflector::{Fault, Reflector};
use crate::common::{at, count, number, process, schema, warned};

/// An address of the path's network that nobody has.
const NOBODY: &str = "198.18.0.77";

fn documents(run: &crate::common::lab::Run) -> Vec<Value> {
    let document = run.document();
    schema::assert_valid(&document, "measurements");
    at(&document, "/measurements").as_array().unwrap().clone()
}

#[test]
fn targets_that_do_not_answer_have_their_documents_and_the_others_are_measured_without_them() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let options = ["--direction", "forward", "--count", "20", "--interval", "5ms"];
    let run = lab.try_measure(&[&options[..], &["nobody.invalid", FAR, NOBODY, FAR_V6]].concat());
    assert_eq!(run.ended.code, Some(5), "{:?}", run.ended);
    let streams = documents(&run);
    let targets: Vec<&Value> = streams.iter().map(|stream| at(stream, "/target")).collect();
    assert_eq!(targets, ["nobody.invalid", FAR, NOBODY, FAR_V6]);
    for (stream, alive) in streams.iter().zip([false, true, false, true]) {
        let warnings = warned(stream);
        assert_eq!(at(stream, "/partial"), !alive, "{warnings}");
        assert_eq!(warnings.contains("nothing was measured: no a"), !alive, "{warnings}");
        let packets = at(stream, "/forward/packets");
        let sent = if alive { 20 } else { 0 };
        assert_eq!((count(packets, "/sent"), count(packets, "/lost")), (sent, 0), "{packets}");
    }
    let errors: Vec<&str> = run.ended.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(
        errors.len() == 1 && errors[0].contains("nobody.invalid") && errors[0].contains("1 more"),
        "{errors:?}"
    );
    let notes =
        run.ended.stderr.lines().filter(|line| line.contains("the other targets are measured")).count();
    assert_eq!(notes, 2, "{}", run.ended.stderr);
    // What is kept tells the same when it is read again.
    let kept = stored(&run.folder());
    assert_eq!(at(&kept, "/measurements").as_array().unwrap(), &streams);
}

#[test]
fn where_no_target_answers_there_is_nothing_to_measure() {
    let lab = Lab::path();
    let options = ["--direction", "forward", "--count", "1"];
    let run = lab.try_measure(&[&options[..], &[FAR, FAR_V6]].concat());
    assert_eq!(run.ended.code, Some(5), "{:?}", run.ended);
    assert!(!run.folder().exists());
}

#[test]
fn each_target_draws_by_a_seed_of_its_own_and_the_first_as_if_it_were_alone() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let poisson = ["--traffic", "poisson", "--interval", "5ms", "--count", "60", "--seed", "10,2,3,4,5,6"];
    let alone = lab.measure(&[&poisson[..], &[FAR]].concat()).document();
    let run = lab.try_measure(&[&poisson[..], &[FAR, FAR_V6, FAR]].concat());
    let streams = documents(&run);
    let seeds: Vec<&Value> = streams.iter().map(|stream| at(stream, "/traffic/seed")).collect();
    assert_eq!(at(&alone, "/traffic/seed"), seeds[0]);
    assert_eq!(
        serde_json::json!(seeds),
        serde_json::json!([[10, 2, 3, 4, 5, 6], [10, 2, 3, 4, 6, 6], [10, 2, 3, 4, 7, 6]])
    );
    // Sixty gaps have another mean by another seed (of these seeds), by far more than anything leaves late.
    let mean = |stream| number(stream, "/forward/inter_departure_ns/mean");
    let means: Vec<f64> = streams.iter().map(mean).collect();
    for (one, other) in [(0, 1), (1, 2), (0, 2)] {
        assert!((means[one] - means[other]).abs() > 400_000.0, "{means:?}");
    }
}

#[test]
fn a_target_to_which_nothing_could_leave_is_a_part_only() {
    let lab = Lab::path();
    // There is no route to the second.
    let _responder = lab.respond(&[]);
    let targets = ["198.18.0.3:862", "203.0.113.9:862"];
    let run =
        lab.try_measure(&[&["--stamp-only", "--count", "10", "--interval", "5ms"][..], &targets].concat());
    assert_eq!(run.ended.code, Some(4), "{:?}", run.ended);
    let streams = documents(&run);
    for (stream, (partial, sent, not_sent)) in streams.iter().zip([(false, 10, 0), (true, 0, 10)]) {
        assert_eq!(at(stream, "/partial"), partial, "{stream:#}");
        let packets = at(stream, "/round_trip/packets");
        assert_eq!((count(packets, "/sent"), count(packets, "/not_sent")), (sent, not_sent), "{packets}");
    }
}

/// A name whose first address has no romer is measured at the next, which is named; one way and both directions alike.
#[test]
fn the_next_address_of_a_name() {
    let lab = Lab::path();
    let _responder = lab.respond(&["--listen", "198.18.0.3:862"]);
    for direction in ["round-trip", "both"] {
        let home = tempfile::tempdir().unwrap();
        let hosts = home.path().join("hosts");
        std::fs::write(&hosts, format!("{FAR_V6} two.test\n{FAR} two.test\n")).unwrap();
        let mut command = lab.command("A", "unshare");
        // The name is known in a mount namespace of this command alone.
        command.args(["--mount", "sh", "-c", "mount --bind \"$0\" /etc/hosts && exec \"$@\""]).arg(&hosts);
        command.arg(process::PROGRAM).args(["measure", "two.test", "--direction", direction, "--no-route"]);
        command.args(["--count", "10", "--interval", "5ms", "--json", "-", "--out"]);
        let ended = process::run(command.arg(home.path().join("run"))).with_code(0);
        let document = ended.document();
        schema::assert_valid(&document, "measurement");
        assert_eq!(at(&document, "/address"), "198.18.0.3:862", "{direction}");
        let note = format!("two.test has several addresses: measuring {FAR}:8862, not [{FAR_V6}]:8862");
        assert!(ended.stderr.contains(&note), "{direction}: {}", ended.stderr);
        assert_eq!(ended.stderr.matches("several addresses").count(), 1, "{direction}: {}", ended.stderr);
    }
}

/// Of a name without a romer the address at which a reflector answers is measured.
#[test]
fn the_address_of_a_reflector() {
    let reflector = Reflector::start(Fault::None);
    let home = tempfile::tempdir().unwrap();
    let hosts = home.path().join("hosts");
    std::fs::write(&hosts, "::1 two.test\n127.0.0.1 two.test\n").unwrap();
    let mut command = Command::new("unshare");
    command
        .args(["--map-root-user", "--mount", "sh", "-c", "mount --bind \"$0\" /etc/hosts && exec \"$@\""])
        .arg(&hosts);
    command.arg(process::PROGRAM).args(["measure", "--stamp-only", "--no-route"]);
    command.arg(format!("two.test:{}", reflector.address.port()));
    command.args(["--count", "10", "--interval", "5ms", "--json", "-", "--out"]);
    let ended = process::run(command.arg(home.path().join("run"))).with_code(0);
    let document = ended.document();
    assert_eq!(at(&document, "/address"), reflector.address.to_string().as_str());
    assert!(ended.stderr.contains("(no reflector answers)"), "{}", ended.stderr);
}

/// A link-local target with its zone and a port is measured.
#[test]
fn link_local_target() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let listed = process::run(
        lab.command("B", "ip").args(["-json", "-6", "address", "show", "dev", "t1", "scope", "link"]),
    );
    // Addresses of other scopes are listed as empty objects.
    let listed = listed.with_code(0).document();
    let addresses = at(&listed, "/0/addr_info").as_array().unwrap();
    let address = addresses.iter().find_map(|one| one["local"].as_str()).unwrap();
    for target in [format!("{address}%t0"), format!("[{address}%t0]:8862")] {
        let document = lab.measure(&["--count", "5", "--interval", "5ms", &target]).document();
        assert_eq!(count(&document, "/round_trip/packets/received"), 5, "{target}");
        assert!(
            at(&document, "/address").as_str().unwrap().starts_with(&format!("[{address}%")),
            "{document}"
        );
    }
}

/// More targets than a run may have streams are refused before anything is sent.
#[test]
fn targets_are_bounded() {
    for (direction, targets) in [("forward", 1_025), ("both", 513)] {
        let mut command = process::romer(["measure", "--direction", direction]);
        let ended = process::run(command.args(vec!["127.0.0.1"; targets])).with_code(2);
        assert!(ended.stderr.contains("a run has at most 1024 streams"), "{ended:?}");
    }
}
