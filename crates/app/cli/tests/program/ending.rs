//! Ends before the end: interrupts, and a far end that dies.

use serde_json::Value;

use crate::common::lab::{FAR, Lab, kept};
use crate::common::measuring::{Measuring, losses, lost_by};
use crate::common::process::{self, Process, romer};
use crate::common::{at, count, schema, warned};

/// Reads the lines of a stream until this many probes are back.
fn await_returned(measuring: &mut Process, probes: u64) {
    loop {
        let line = measuring.line();
        assert!(!line.is_empty(), "the measurement has ended");
        let line: Value = serde_json::from_str(&line).unwrap();
        if at(&line, "/type") == "interval" && count(&line, "/returned") >= probes {
            return;
        }
    }
}

#[test]
fn an_interrupt_ends_a_measurement_in_good_order_and_keeps_a_part() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for (signal, code) in process::ends(130) {
        let (mut command, home) =
            lab.measuring(&["--json-lines", "--json-lines-interval", "100ms", "--duration", "1h", FAR]);
        let mut measuring = Process::start(command.args(["--interval", "5ms"]));
        await_returned(&mut measuring, 20);
        measuring.signal(signal);
        measuring.wait().with_code(code);
        let document = kept(&home);
        assert_eq!(at(&document, "/partial"), true);
        let sent = count(&document, "/round_trip/packets/sent");
        assert!(sent >= 20);
        for direction in ["forward", "reverse", "round_trip"] {
            assert_eq!(
                count(&document, &format!("/{direction}/packets/received")),
                sent,
                "{signal} {direction}"
            );
            assert_eq!(count(&document, &format!("/{direction}/packets/lost")), 0, "{signal} {direction}");
        }
        let names = ["manifest.json", "packets.parquet"];
        assert!(names.iter().all(|name| home.path().join("run").join(name).exists()));
        assert!(!home.path().join("run/packets.log").exists());
        let again = process::run(romer(["report", "--json", "-"]).arg(home.path().join("run"))).with_code(0);
        assert_eq!(again.document(), document);
    }
}

#[test]
fn a_responder_that_is_told_to_end_does_so_with_its_totals() {
    let lab = Lab::path();
    for (signal, code) in process::ends(0) {
        let responder = lab.respond(&["--json", "-"]);
        lab.measure(&["--count", "10", "--interval", "2ms", FAR]);
        responder.signal(signal);
        let ended = responder.wait().with_code(code);
        let (received, rest) = ended.stderr.split_once(" probes received, ").unwrap();
        assert!(rest.starts_with("10 reflected, 1 session ("), "{rest}");
        let document = ended.document();
        schema::assert_valid(&document, "respond");
        assert_eq!(count(&document, "/replies/sent"), 10);
        assert_eq!(count(&document, "/sessions/accepted"), 1);
        assert_eq!(received, "10");
    }
    let quiet = Process::start(lab.romer("B", ["respond"]).args(["--quiet", "--listen", "198.18.0.3:862"]));
    // It does not say when it is ready.
    let listens = || {
        let sockets = process::run(lab.command("B", "ss").args(["-ltnH", "sport = :8862"])).with_code(0);
        !sockets.stdout.is_empty()
    };
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !listens() && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    lab.measure(&["--count", "1", FAR]);
    quiet.signal("TERM");
    let ended = quiet.wait().with_code(0);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
}

#[test]
fn a_responder_that_is_asked_for_its_totals_tells_those_of_that_moment() {
    let lab = Lab::path();
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("totals.json");
    let responder = lab.respond(&["--json", file.to_str().unwrap()]);
    for run in 1..=5 {
        lab.measure(&["--count", "20", "--interval", "1ms", FAR]);
        let asked = std::time::SystemTime::now();
        responder.signal("USR1");
        let document: Value = loop {
            let told = std::fs::read_to_string(&file).ok();
            if let Some(document) = told.and_then(|text| serde_json::from_str(&text).ok()) {
                break document;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        assert_eq!(count(&document, "/replies/sent"), 20 * run);
        let told = humantime::parse_rfc3339(at(&document, "/at").as_str().unwrap()).unwrap();
        // It is written in microseconds.
        assert!(told + std::time::Duration::from_micros(1) >= asked, "{run}: {document}");
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn who_was_told_to_ignore_a_closed_terminal_goes_on() {
    let lab = Lab::path();
    let listen = ["--listen", "198.18.0.3:862"];
    let mut command = lab.command("B", "sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", process::PROGRAM, "respond"]).args(listen);
    let mut responder = Process::start(&mut command);
    assert!(responder.line().starts_with("responding: "));
    responder.signal("HUP");
    lab.measure(&["--count", "5", "--interval", "2ms", FAR]);
    responder.signal("TERM");
    responder.wait().with_code(0);
}

#[test]
fn a_console_ends_in_good_order_by_each_signal() {
    let state = tempfile::tempdir().unwrap();
    for (signal, code) in process::ends(0) {
        let mut command = romer(["console", "--listen", "127.0.0.1:0"]);
        let mut console = Process::start(command.env("XDG_STATE_HOME", state.path()));
        let line = console.line();
        assert!(line.starts_with("console at "), "{line:?}");
        let line = console.line();
        assert!(line.starts_with("confined: "), "{line:?}");
        console.signal(signal);
        let ended = console.wait().with_code(code);
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""), "{signal}");
    }
}

#[test]
fn a_responder_killed_on_the_way_leaves_a_part_and_takes_the_knowledge_of_directions() {
    let lab = Lab::path();
    let responder = lab.respond(&[]);
    let (mut command, home) =
        lab.measuring(&["--json-lines", "--json-lines-interval", "100ms", "--count", "200", FAR]);
    command.args(["--limit", "round_trip.loss.ratio<20%"]);
    let mut measuring = Process::start(command.args(["--interval", "20ms", "--waiting-time", "300ms"]));
    await_returned(&mut measuring, 20);
    responder.signal("KILL");
    let ended = measuring.wait().with_code(5);
    assert!(ended.stdout.contains("the control connection failed"), "{ended:?}");
    let errors: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(errors.len() == 1 && errors[0].contains("the responder became unreachable"), "{ended:?}");
    let document = kept(&home);
    assert_eq!(at(&document, "/partial"), true);
    let [unknown, _] = losses(&document, "round_trip");
    let [sent, received] =
        ["sent", "received"].map(|name| count(&document, &format!("/round_trip/packets/{name}")));
    // What was not answered is lost, and nobody was there any more; a busy machine may lose one itself.
    let gone = lost_by(&document, "round_trip", "responder-restart");
    assert!(sent == 200 && received >= 20 && unknown <= 3 && gone > 0, "{document:#}");
    assert_eq!(at(&document, "/limits/0/passed"), false, "{document:#}");
    for direction in ["forward", "reverse"] {
        assert!(at(&document, &format!("/{direction}/packets/lost")).is_null(), "{direction}");
    }
    let warnings = warned(&document);
    assert!(warnings.contains("responder-log-incomplete"), "{warnings}");
}

#[test]
fn responder_restart_is_cause_of_losses() {
    let lab = Lab::path();
    let responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, FAR, &[]);
    responder.signal("KILL");
    drop(responder.wait());
    std::thread::sleep(std::time::Duration::from_millis(300));
    let _another = lab.respond(&[]);
    measuring.await_told(&["the control connection failed", "ICMP port unreachable from the target"]);
    measuring.await_more();
    measuring.process.signal("INT");
    drop(measuring.process.wait());
    let document = kept(&measuring.home);
    let [unknown, _] = losses(&document, "round_trip");
    // A busy machine may lose one itself.
    assert!(unknown <= 3 && lost_by(&document, "round_trip", "responder-restart") >= 20, "{document:#}");
    let events = at(&document, "/events").as_array().unwrap();
    assert!(events.iter().any(|event| event["code"] == "responder-lost"), "{events:#?}");
    assert!(!warned(&document).contains("icmp-errors"), "{document:#}");
}

#[test]
fn what_a_responder_answers_that_stood_still_past_the_end_is_not_lost() {
    let lab = Lab::path();
    let responder = lab.respond(&[]);
    let (mut command, home) = lab.measuring(&["--duration", "3s", "--interval", "50ms", "--json-lines", FAR]);
    let mut measuring = Process::start(&mut command);
    await_returned(&mut measuring, 20);
    responder.signal("STOP");
    // The run is over 2 s after its last probe.
    std::thread::sleep(std::time::Duration::from_secs(7));
    responder.signal("CONT");
    measuring.wait().with_code(0);
    let document = kept(&home);
    let packets = at(&document, "/round_trip/packets");
    assert_eq!((count(packets, "/received"), count(packets, "/lost")), (60, 0), "{document:#}");
    let events = at(&document, "/events").as_array().unwrap();
    // A busy machine may stop it for a moment.
    let is_false = |event: &&Value| {
        let length = || event["until_ns"].as_i64().unwrap() - event["at_ns"].as_i64().unwrap();
        event["code"] == "pause" && event["location"] == "sender" && length() > 3_000_000_000
    };
    assert_eq!(events.iter().find(is_false), None, "it waited");
}

#[test]
fn a_responder_needs_the_right_to_its_port_and_the_port_to_be_free() {
    let lab = Lab::path();
    let _first = lab.respond(&[]);
    let ended = process::run(&mut lab.romer("B", ["respond"])).with_code(4);
    assert!(ended.stderr.starts_with("error: ") && ended.stderr.lines().count() == 1, "{ended:?}");
    assert_eq!(ended.stdout, "");
}

/// Tells a program to end whose standard output takes nothing, and expects that it does, with this code and the words for it.
pub(crate) fn assert_ends(mut child: std::process::Child, code: i32) {
    let script = format!("kill -TERM {}", child.id());
    assert!(std::process::Command::new("sh").args(["-c", &script]).status().unwrap().success());
    let ended = (0..6_000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        child.try_wait().unwrap()
    });
    let _ = child.kill();
    let mut said = String::new();
    std::io::Read::read_to_string(child.stderr.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(ended.map(|status| status.code()), Some(Some(code)), "{said}");
    assert!(said.contains("did not within 5 s: it ends at once"), "{said}");
}

/// A program that is told to end does so though a thread of it waits without end, here for a reader of standard output.
#[test]
fn stuck_programs_end_in_time() {
    let state = tempfile::tempdir().unwrap();
    let listen = ["--listen", "127.0.0.1:0"];
    let awaited = |is_there: &dyn Fn() -> bool| {
        assert!((0..6_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            is_there()
        }));
    };
    let has_thread = |process: u32, name: &str| {
        let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
        let mut names = tasks.flatten().map(|task| std::fs::read_to_string(task.path().join("comm")));
        names.any(|found| found.is_ok_and(|found| found.trim() == name))
    };
    for arguments in [&["respond", "--control", "127.0.0.1:0"][..], &["console"]] {
        let mut command = romer(arguments);
        command.args(listen).env("XDG_STATE_HOME", state.path());
        let (child, _unread) = Process::start_unread(&mut command);
        awaited(&|| has_thread(child.id(), "romer-end"));
        assert_ends(child, 1);
    }
    let mut command = romer(["calibrate", "--clock", "--duration", "2s"]);
    let (child, _unread) = Process::start_unread(command.env("XDG_STATE_HOME", state.path()));
    // What it has found is printed once its responder has ended.
    awaited(&|| has_thread(child.id(), "romer-reflect"));
    awaited(&|| !has_thread(child.id(), "romer-reflect"));
    assert_ends(child, 130);
    let lab = Lab::path();
    let mut command = lab.romer("E", ["emulate", "--port", "a=e0", "--port", "b=e1"]);
    let (child, _unread) = Process::start_unread(&mut command);
    awaited(&|| has_thread(child.id(), "romer-end"));
    assert_ends(child, 1);
    let run = state.path().join("demonstration");
    let mut command = romer(["demo", "--duration", "1h", "--out"]);
    let (child, _unread) = Process::start_unread(command.arg(&run));
    let has_measured =
        |run: &std::path::Path| run.join("packets.log").metadata().is_ok_and(|log| log.len() > 4_096);
    awaited(&|| has_measured(&run));
    assert_ends(child, 130);
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let (mut command, home) = lab.measuring(&["--duration", "1h", "--interval", "5ms", FAR]);
    let (child, _unread) = Process::start_unread(&mut command);
    awaited(&|| has_measured(&home.path().join("run")));
    assert_ends(child, 130);
    // What was measured is there: only the summary was not printed.
    assert_eq!(at(&kept(&home), "/partial"), true);
}

/// A signal ends the program at once while it waits for a trace from a pipe that is silent.
#[test]
fn silent_traces_are_interruptible() {
    let home = tempfile::tempdir().unwrap();
    let pipe = home.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (signal, _) in process::ends(0) {
        let traffic = format!("trace:{}", pipe.display());
        let measuring = Process::start(&mut romer(["measure", "--traffic", &traffic, "127.0.0.1"]));
        // It returns when the reader is there.
        let writer = std::fs::OpenOptions::new().write(true).open(&pipe).unwrap();
        measuring.signal(signal);
        assert_eq!(measuring.wait().code, None, "{signal}: the signal itself has ended it");
        drop(writer);
    }
}
