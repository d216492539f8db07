//! Far ends that are not romer, or do not want to be.

use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::common::lab::{FAR, Lab, is_inside, stored};
use crate::common::process::romer;
use crate::common::{at, count, process, schema, warned};

/// What is known, and what is not, where the far end keeps no log and `lost` of the probes did not come back.
fn assert_without_responder_log(document: &Value, probes: u64, lost: u64) {
    assert_eq!(count(document, "/round_trip/packets/sent"), probes);
    assert_eq!(count(document, "/round_trip/packets/lost"), lost);
    for direction in ["forward", "reverse"] {
        // Where everything came back, nothing was lost either way; else the direction of a loss is not known.
        let wanted = if lost == 0 { Value::from(0) } else { Value::Null };
        assert_eq!(at(document, &format!("/{direction}/packets/lost")), &wanted, "{direction}");
        assert_eq!(at(document, &format!("/{direction}/loss/ratio")).is_null(), lost > 0, "{direction}");
    }
    for (moment, place) in [("sender_departure", "kernel"), ("sender_arrival", "kernel")] {
        assert_eq!(at(document, &format!("/stamps/{moment}")), place);
    }
    for moment in ["responder_arrival", "responder_departure"] {
        assert!(at(document, &format!("/stamps/{moment}")).is_null(), "{moment}");
    }
    // A reflector that does not say whose clock it reads may read any.
    assert_eq!(at(document, "/forward/delay_kind"), "variable");
    assert_eq!(at(document, "/round_trip/delay_kind"), "absolute");
    let warnings = warned(document);
    assert!(warnings.contains("the direction of a loss is unknown"), "{warnings}");
}

#[test]
fn without_a_control_channel_the_reflector_is_measured_with_what_it_tells_and_that_is_said() {
    let lab = Lab::path();
    let _responder = lab.respond(&["--listen", "198.18.0.3:862", "--control", "198.18.0.3:9999"]);
    let (mut command, home) = lab.measuring(&["--count", "20", "--interval", "5ms", FAR]);
    let ended = process::run(&mut command).with_code(0);
    assert_eq!(ended.stderr.lines().count(), 1);
    assert!(ended.stderr.starts_with("note: no romer responder at 198.18.0.3:8862"), "{ended:?}");
    let document = stored(&home.path().join("run"));
    schema::assert_valid(&document, "measurement");
    assert_without_responder_log(&document, 20, 0);
}

#[test]
fn without_a_far_log_the_direction_of_a_loss_is_not_claimed() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for (side, port) in [("e0", "dport"), ("e1", "sport")] {
        let rule = format!("iifname {side} udp {port} 862 numgen inc mod 10 0 drop");
        lab.filter(
            "E",
            &format!("table bridge test {{ chain c {{ type filter hook forward priority 0; {rule}; }}; }}"),
        );
        let run = lab.measure(&["--stamp-only", "--count", "50", "--interval", "2ms", "198.18.0.3:862"]);
        assert_without_responder_log(&run.document(), 50, 5);
        lab.filter("E", "delete table bridge test");
    }
}

#[test]
fn the_control_channel_is_found_at_the_port_that_the_target_names() {
    let lab = Lab::path();
    let _responder = lab.respond(&["--listen", "198.18.0.3:8620", "--control", "198.18.0.3:9999"]);
    let document = lab.measure(&["--count", "5", "--interval", "5ms", "198.18.0.3:9999"]).document();
    assert_eq!(count(&document, "/forward/packets/received"), 5);
    assert_eq!(at(&document, "/stamps/responder_departure"), "kernel");
}

#[test]
fn where_the_control_port_was_named_nothing_else_is_measured_instead() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for more in [&[][..], &["--quiet"]] {
        let options = ["--count", "5", "--interval", "5ms", "198.18.0.3:1"];
        let (mut command, _home) = lab.measuring(&[&options, more].concat());
        let ended = process::run(&mut command).with_code(5);
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        let why = "error: no answer (198.18.0.3:1): nothing listens at this TCP port; give the control port";
        assert!(ended.stderr.starts_with(why), "{ended:?}");
    }
}

#[test]
fn stamp_only_asks_for_no_control_channel_and_takes_the_port_for_the_reflectors() {
    let lab = Lab::path();
    let _responder = lab.respond(&["--listen", "198.18.0.3:8620", "--control", "198.18.0.3:8862"]);
    let run = lab.measure(&["--stamp-only", "--count", "20", "--interval", "5ms", "198.18.0.3:8620"]);
    assert_eq!(run.ended.stderr, "");
    assert_without_responder_log(&run.document(), 20, 0);
}

#[test]
fn another_service_at_the_control_port_is_not_taken_for_romer() {
    const NAME: &str = "fallback::another_service_at_the_control_port_is_not_taken_for_romer";
    if is_inside() {
        let listener = TcpListener::bind("198.18.0.3:8862").unwrap();
        println!("\nlistening");
        // Until the laboratory is taken down.
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(b"SSH-2.0-anything\r\n");
        }
    }
    let lab = Lab::path();
    let _responder = lab.respond(&["--listen", "198.18.0.3:862", "--control", "198.18.0.3:9999"]);
    let mut service = lab.again(NAME, "B");
    while service.line() != "listening\n" {}
    let run = lab.measure(&["--count", "5", "--interval", "5ms", FAR]);
    assert!(run.ended.stderr.starts_with("note: no romer responder at 198.18.0.3:8862"), "{:?}", run.ended);
    assert_without_responder_log(&run.document(), 5, 0);
}

#[test]
fn where_nobody_answers_the_exit_code_says_so_and_the_run_is_kept() {
    let lab = Lab::path();
    let run = lab.try_measure(&["--count", "3", "--interval", "5ms", "--waiting-time", "100ms", FAR]);
    assert_eq!(run.ended.code, Some(5), "{:?}", run.ended);
    let errors: Vec<&str> = run.ended.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(matches!(errors[..], [error] if error.contains("198.18.0.3")), "{:?}", run.ended);
    let document = run.document();
    assert_eq!(count(&document, "/round_trip/packets/lost"), 3);
    assert!(at(&document, "/forward/packets/lost").is_null());
    assert!(run.folder().join("packets.parquet").exists());
}

/// The probes that are to be lost on the way there, and those whose replies are. Of 300 to 302 two are lost there and one
/// back, between the same two replies.
const LOST_THERE: [u64; 13] = [40, 41, 42, 43, 44, 100, 150, 200, 201, 202, 203, 300, 301];
const LOST_BACK: [u64; 6] = [60, 61, 62, 120, 302, 350];

/// Rules that lose them: the probes by their numbers, the replies by those that the reflector counts.
fn losing(there: &[u64], back: &[u64]) -> String {
    let set = |numbers: &mut dyn Iterator<Item = u64>| {
        numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
    };
    let counted = |probe: &u64| *probe - there.iter().filter(|lost| *lost < probe).count() as u64;
    format!(
        "iifname e0 udp dport 862 @th,64,32 {{ {} }} counter name there drop
         iifname e1 udp sport 862 @th,64,32 {{ {} }} counter name back drop",
        set(&mut there.iter().copied()),
        set(&mut back.iter().map(counted))
    )
}

#[test]
fn a_reflector_that_counts_its_replies_tells_on_which_way_probes_were_lost() {
    let lab = Lab::path();
    let _responder = lab.respond(&["--stateful"]);
    lab.bridge(&losing(&LOST_THERE, &LOST_BACK));
    let run = lab.measure(&["--stamp-only", "--count", "400", "--interval", "2ms", "198.18.0.3:862"]);
    let [there, back] = ["there", "back"].map(|counter| lab.counted("E", "bridge", counter));
    assert_eq!([there, back], [13, 6], "the kernel's own count");
    let again = process::run(romer(["report", "--quiet", "--json", "-"]).arg(run.folder())).with_code(0);
    for document in [run.document(), again.document()] {
        let packets = |way: &str| at(&document, &format!("/{way}/packets")).clone();
        for (way, sent, lost) in
            [("forward", 400, there), ("reverse", 400 - there, back), ("round_trip", 400, there + back)]
        {
            let found = packets(way);
            assert_eq!((count(&found, "/sent"), count(&found, "/lost")), (sent, lost), "{way}: {found}");
            assert_eq!(count(&found, "/received"), sent - lost, "{way}");
            let exact = |count: u64| f64::from(u32::try_from(count).unwrap());
            let ratio = at(&document, &format!("/{way}/loss/ratio")).as_f64().unwrap();
            assert!((ratio - exact(lost) / exact(sent)).abs() < 1e-12, "{way}: {ratio}");
        }
        assert_eq!(at(&document, "/reverse/loss/periods"), &Value::from(vec![3, 1, 1, 1]));
        assert_eq!(
            at(&document, "/forward/loss/periods"),
            &Value::from(Vec::<u64>::new()),
            "which is not known"
        );
        let warnings = warned(&document);
        assert!(
            warnings.contains("13 were lost forward or not answered, and 6 replies were lost in reverse"),
            "{warnings}"
        );
        assert!(warnings.contains(r#""unnamed":3"#), "{warnings}");
        assert!(!warnings.contains("the direction of a loss is unknown"), "{warnings}");
    }
    let mut command = romer(["report", "--quiet", "--csv", "-", "--fates"]);
    let table = process::run(command.arg(run.folder())).with_code(0).stdout;
    for line in table.lines().skip(1) {
        let probe: u64 = line.split(',').next().unwrap().parse().unwrap();
        let fate = match probe {
            300..=302 => "lost",
            _ if LOST_THERE.contains(&probe) => "lost-forward",
            _ if LOST_BACK.contains(&probe) => "lost-reverse",
            _ => "arrived",
        };
        assert_eq!(line.rsplit(',').next(), Some(fate), "{line}");
    }
}

#[test]
fn behind_the_last_reply_the_way_of_a_loss_is_not_known_and_what_is_known_is_told() {
    let lab = Lab::path();
    let _responder = lab.respond(&["--stateful"]);
    lab.bridge(&losing(&[10, 99], &[20, 98]));
    let run = lab.measure(&["--stamp-only", "--count", "100", "--interval", "2ms", "198.18.0.3:862"]);
    let document = run.document();
    for way in ["forward", "reverse"] {
        assert!(at(&document, &format!("/{way}/packets/lost")).is_null(), "{way}");
        assert_eq!(count(&document, &format!("/{way}/packets/lost_at_least")), 1, "{way}");
    }
    let warnings = warned(&document);
    assert!(warnings.contains(r#""unknown":2"#), "{warnings}");
    let told = process::run(romer(["report", "--color", "never"]).arg(run.folder())).with_code(0).stdout;
    assert!(told.contains("at least 1 lost"), "{told}");
}

#[test]
fn replies_without_the_code_of_the_key_are_told_as_that() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let home = tempfile::tempdir().unwrap();
    let key = home.path().join("key");
    std::fs::write(&key, [7; 32]).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let (mut command, _run) = lab.measuring(&["--stamp-only", "--count", "10", "--interval", "2ms"]);
    command.args(["--waiting-time", "200ms", "--json", "-", "198.18.0.3:862", "--key-file"]).arg(&key);
    let document = process::run(&mut command).document();
    assert_eq!(count(&document, "/round_trip/packets/lost"), 10);
    let warnings = warned(&document);
    assert!(
        warnings.contains(
            "10 datagrams arrived that are not counted as replies: 10 with a missing or wrong HMAC"
        ),
        "{warnings}"
    );
    assert_eq!(count(&document, "/replies/rejected/code"), 10);
}
