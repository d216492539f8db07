//! `romer calibrate`, and what later runs make of it.

use std::fs;

use serde_json::{Value, json};

use crate::common::lab::Lab;
use crate::common::process::{self, Process, romer};
use crate::common::{number, schema, warned};

#[test]
fn a_calibration_is_measured_kept_told_and_subtracted() {
    let home = tempfile::tempdir().unwrap();
    let calibrate = |arguments: &[&str]| {
        let mut command = romer(["calibrate", "--rounds", "1", "--probes", "100"]);
        process::run(command.args(arguments).env("XDG_STATE_HOME", home.path()))
    };
    let ended = calibrate(&["--json", "-", "--quiet"]).with_code(0);
    let document = ended.document();
    schema::assert_valid(&document, "calibration");
    assert_eq!(ended.stderr, "");
    let kept = fs::read_to_string(home.path().join("romer/calibration.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), document);
    let places: Vec<_> =
        document["stamp_errors"].as_array().unwrap().iter().map(|one| one["stamp_source"].clone()).collect();
    assert_eq!(places, ["kernel", "user"]);
    // The program stamps before the kernel does on the way out, and after it on the way in.
    let floor = |place: usize| document["stamp_errors"][place]["round_trip"]["baseline_ns"].as_f64().unwrap();
    assert!(floor(0) < floor(1), "{document}");
    let rates = document["two_rates"].as_array().unwrap();
    assert_eq!(rates.is_empty(), !document["two_rates_missing"].is_null(), "{document}");
    assert!(rates.iter().all(|one| one["octets_sent"] == 1_514), "{rates:?}");

    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let measure = |arguments: &[&str]| {
        let (mut command, run) = lab.measuring(arguments);
        command.args(["--count", "20", "--interval", "2ms", "--json", "-"]).arg(crate::common::lab::FAR);
        let ended = process::run(command.env("XDG_STATE_HOME", home.path()));
        drop(run);
        ended
    };
    let told = measure(&[]).with_code(0).document();
    schema::assert_valid(&told, "measurement");
    assert_eq!(told["calibration"]["subtracted"], false);
    assert_eq!(told["calibration"]["baseline_ns"], document["stamp_errors"][0]["round_trip"]["baseline_ns"]);
    let subtracted = measure(&["--subtract-baseline"]).with_code(0).document();
    assert_eq!(subtracted["calibration"]["subtracted"], true);
    let taken_out =
        |document: &Value, way: usize| document["stamps"]["delay_definition"][way]["baseline_ns"].clone();
    assert_eq!(taken_out(&subtracted, 2), subtracted["calibration"]["baseline_ns"], "{subtracted}");
    assert!((0..3).all(|way| taken_out(&told, way).is_null()), "{told}");

    let other = kept.replacen(&document["machine"]["kernel"].to_string(), "\"0.0\"", 1);
    fs::write(home.path().join("romer/calibration.json"), other).unwrap();
    let refused = measure(&["--subtract-baseline"]).with_code(4);
    assert!(refused.stderr.contains("kernel 0.0"), "{refused:?}");
    let unused = measure(&[]).with_code(0).document();
    assert!(unused["calibration"].is_null(), "{}", unused["calibration"]);
    assert!(warned(&unused).contains("kernel 0.0"), "{}", unused["warnings"]);

    fs::write(home.path().join("romer/calibration.json"), r#"{"schema":"x"}"#).unwrap();
    measure(&["--subtract-baseline"]).with_code(3);
    let damaged = measure(&[]).with_code(0).document();
    let warnings = warned(&damaged);
    assert!(damaged["calibration"].is_null(), "{}", damaged["calibration"]);
    assert!(
        warnings.contains("the calibration is not used") && warnings.contains("calibration.json"),
        "{warnings}"
    );
}

#[test]
fn without_a_calibration_there_is_no_baseline_to_subtract() {
    let home = tempfile::tempdir().unwrap();
    let mut command = romer(["measure", "127.0.0.1", "--count", "1", "--subtract-baseline"]);
    let ended = process::run(command.env("XDG_STATE_HOME", home.path())).with_code(4);
    assert!(
        ended.stderr.contains("--subtract-baseline") && ended.stderr.contains("romer calibrate"),
        "{ended:?}"
    );
}

#[test]
fn a_clock_that_lies_is_found_out_over_loopback() {
    let arguments = ["--duration", "6s", "--clock-skew", "-41ppm", "--clock-step", "3s:+7ms", "--json", "-"];
    let prove = || {
        let ended = process::run(romer(["calibrate", "--clock"]).args(arguments));
        let document = ended.document();
        schema::assert_valid(&document, "clock-proof");
        // The machine may be busy with other tests: what the proof says of itself is its verdict, and it is true.
        assert_eq!(ended.code, Some(if document["passed"] == true { 0 } else { 6 }), "{document}");
        document
    };
    // It may be so busy that six seconds tell no rate: then that is what is said, and it does not hold.
    let tells = |document: &Value| {
        let is_told = document["skew_ppm"]["estimated"].is_number();
        assert!(is_told || document["passed"] == false, "{document}");
        is_told
    };
    let document = (0..3).map(|_| prove()).find(tells).expect("one of three proofs tells a rate");
    let skew = &document["skew_ppm"];
    assert_eq!(skew["simulated"], -41.0);
    assert!((skew["estimated"].as_f64().unwrap() + 41.0).abs() < 20.0, "{document}");
    let steps = document["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 1, "{document}");
    assert_eq!(steps[0]["at_ns"], 3_000_000_000_i64);
    assert!((steps[0]["size_ns"]["estimated"].as_f64().unwrap() - 7e6).abs() < 2e6, "{document}");
}

#[test]
fn a_step_after_the_end_of_the_proof_is_refused() {
    let mut command = romer(["calibrate", "--clock", "--duration", "5s", "--clock-step", "5s:1ms"]);
    let refused = process::run(&mut command).with_code(2);
    assert!(refused.stderr.contains("--clock-step 5s"), "{refused:?}");
}

/// Two packet logs of one link at 10 and 100 Mbit/s, 72 bytes on the wire and an error of 7 µs: both are found.
#[test]
fn two_rates_give_the_constant_error() {
    let folder = tempfile::tempdir().unwrap();
    let log = |name: &str, half_ns: u64| {
        let mut text = String::from("sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n");
        for sequence in 0..300_u64 {
            let t1 = 1_000_000_000 + sequence * 20_000_000;
            let (t2, t4) = (t1 + half_ns, t1 + 2 * half_ns);
            text.push_str(&format!("{sequence},14,{t1},{t2},{t2},{t4}\n"));
        }
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (slow, fast) = (log("slow.csv", 57_600 + 7_000), log("fast.csv", 5_760 + 7_000));
    let rates = [format!("{slow}@10Mbit"), format!("{fast}@100Mbit")];
    let said = process::run(romer(["calibrate", "--rates"]).args(&rates)).with_code(0).stdout;
    assert!(said.contains("computed 72.0 bytes on the wire (sent 72"), "{said}");
    assert!(said.contains("constant error 7.00 µs"), "{said}");
    let json = process::run(romer(["calibrate", "--json", "-", "--rates"]).args(&rates)).with_code(0);
    let document = json.document();
    schema::assert_valid(&document, "two-rates");
    assert!((number(&document, "/two_rates/octets") - 72.0).abs() < 1e-6, "{document}");
    assert!((number(&document, "/two_rates/error_ns") - 7_000.0).abs() < 1e-3, "{document}");
    assert_eq!(document["runs"][0], slow);
}

/// Two listeners of one host stamp each common packet with the same reading of its clock, and their files give no difference.
#[test]
fn listeners_of_one_host_have_one_clock() {
    let port = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let group = format!("127.255.255.255:{port}");
    let common = |action: &str| {
        let mut command = romer(["calibrate", "--common-event", action, "--events", "20", "--group", &group]);
        command.args(["--interface", "lo"]);
        command
    };
    let mut listeners = [common("listen"), common("listen")].map(|mut command| Process::start(&mut command));
    for listener in &mut listeners {
        assert_eq!(listener.line().trim_end(), "event,clock_ns,bound_ns");
    }
    process::run(&mut common("send")).with_code(0);
    let [first, second] = listeners.map(|listener| listener.wait().with_code(0).stdout);
    let stamps = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned()).collect()
    };
    let [one, other] = [stamps(&first), stamps(&second)];
    assert_eq!((one.len(), other.len()), (20, 20));
    // The kernel stamps a packet once, for all who receive it, as soon as somebody has asked for stamps.
    assert!(one.iter().any(|stamp| other.contains(stamp)), "{one:?} {other:?}");
    let folder = tempfile::tempdir().unwrap();
    let files = [("a.csv", first), ("b.csv", second)].map(|(name, text)| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    });
    let said = process::run(romer(["calibrate", "--common-event"]).args(&files)).with_code(0).stdout;
    assert!(said.contains("20 in both files; 0 only in the first, 0 only in the second"), "{said}");
}

/// The exit code says whether the difference of two clocks exceeds the bounds that their hosts state.
#[test]
fn common_events_contradict_stated_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let stamps = |name: &str, ahead_ns: i64, bound: &str| {
        let lines = (0..50).map(|event: i64| format!("{event},{},{bound}\n", event * 1_000_000 + ahead_ns));
        let path = folder.path().join(name);
        fs::write(&path, format!("event,clock_ns,bound_ns\n{}", lines.collect::<String>())).unwrap();
        path
    };
    let first = stamps("first.csv", 0, "1000000");
    for (ahead_ns, bound, code, verdict) in [
        (1_500_000, "1000000", 0, "within the sum"),
        (2_500_000, "1000000", 6, "beyond the sum"),
        (2_500_000, "", 0, "states no bound"),
    ] {
        let second = stamps("second.csv", ahead_ns, bound);
        let mut command = romer(["calibrate", "--common-event"]);
        let said = process::run(command.args([&first, &second])).with_code(code).stdout;
        assert!(said.contains(verdict), "{said}");
        let mut command = romer(["calibrate", "--json", "-", "--common-event"]);
        let document = process::run(command.args([&first, &second])).with_code(code).document();
        schema::assert_valid(&document, "common-events");
        assert_eq!(document["within_bounds"], if bound.is_empty() { Value::Null } else { json!(code == 0) });
        let median = number(&document, "/clocks/difference_ns/median");
        assert_eq!(median.to_string(), ahead_ns.to_string());
    }
}
