//! Several targets of which some cannot be measured.

use serde_json::Value;

use crate::common::lab::{FAR, FAR_V6, Lab};
use crate::common::{at, count, schema};

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
        let warnings = at(stream, "/warnings").to_string();
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
    let kept = std::fs::read_to_string(run.folder().join("measurement.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
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
