//! Time stamps that programs of the kernel write into packets, with a foreign echo of UDP at the far end.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::lab::{FAR, FAR_V6, Lab, is_inside, may_load_programs};
use crate::common::process::{self, Process};
use crate::common::{at, count, schema};

/// The port of the echo.
const ECHO: u16 = 7_007;
/// Responders that are killed.
const KILLS: usize = 5;
/// The four moments of a document.
const MOMENTS: [&str; 4] = ["sender_departure", "responder_arrival", "responder_departure", "sender_arrival"];

/// Returns every datagram as it came, until the laboratory is taken down.
fn echo() {
    let sockets = [UdpSocket::bind((FAR, ECHO)).unwrap(), UdpSocket::bind((FAR_V6, ECHO)).unwrap()];
    #[expect(clippy::print_stdout, reason = "the test that started this process reads it")]
    {
        println!("\nlistening");
    }
    std::thread::scope(|scope| {
        for socket in &sockets {
            scope.spawn(move || {
                let mut buffer = [0; 2_048];
                loop {
                    let (length, from) = socket.recv_from(&mut buffer).unwrap();
                    socket.send_to(&buffer[..length], from).unwrap();
                }
            });
        }
    });
}

/// The echo on host B, run by the test `name`.
fn start_echo(lab: &Lab, name: &str) -> Process {
    let mut service = lab.again(name, "B");
    while service.line() != "listening\n" {}
    service
}

/// A responder on host B that stamps its own packets and those of the echo.
fn respond(lab: &Lab, options: &[&str]) -> Process {
    let listen = [format!("{FAR}:862"), format!("[{FAR_V6}]:862")];
    let rule = format!("udp:{ECHO}");
    let mut arguments = vec!["--in-packet", "--rule", &rule];
    listen.iter().for_each(|address| arguments.extend(["--listen", address]));
    arguments.extend(options);
    let mut responder = lab.respond(&arguments);
    let line = responder.line();
    assert!(line.starts_with("stamping packets in the kernel: "), "{line:?}");
    responder
}

/// The places of the four stamps.
fn places(document: &Value) -> Vec<Value> {
    MOMENTS.iter().map(|moment| at(document, &format!("/stamps/{moment}")).clone()).collect()
}

/// Each return from an echo, and from the responder, has t1 to t4 of the programs in order. They give the delay of both directions
/// and the round trip, without a control channel.
#[test]
fn returns_have_both_directions() {
    const NAME: &str = "in_packet::returns_have_both_directions";
    const PROBES: u64 = 200;
    if is_inside() {
        return echo();
    }
    if !may_load_programs() {
        return;
    }
    let lab = Lab::path();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("totals.json");
    let _echo = start_echo(&lab, NAME);
    let responder = respond(&lab, &["--json", file.to_str().unwrap()]);
    let targets = [format!("{FAR}:{ECHO}"), format!("[{FAR_V6}]:{ECHO}"), FAR.into(), FAR_V6.into()];
    let number = PROBES.to_string();
    for (target, size) in targets.iter().map(String::as_str).zip(["88B", "89B", "1400B", "500B"]) {
        let options = ["--stamp", "in-packet", "--clocks", "shared", "--interval", "1ms", "--count", &number];
        let run = lab.measure(&[&options[..], &["--size", size, target]].concat());
        let document = run.document();
        assert_eq!(places(&document), ["program"; 4], "{target}: {document:#}");
        assert_eq!(document.pointer("/stamps/round_trip_includes_responder"), None, "{target}");
        for way in ["forward", "reverse", "round_trip"] {
            assert_eq!(count(&document, &format!("/{way}/delay_ns/count")), PROBES, "{target} {way}");
        }
        let rows = run.rows();
        assert_eq!(rows.len(), 200, "{target}");
        for row in rows {
            let [t1, t2, t3, t4] = row.four();
            let user = row.stamps[4].unwrap();
            // User space stamped before the program.
            assert!([user, t1, t2, t3, t4].is_sorted(), "{target}: {row:?}");
        }
    }
    responder.signal("TERM");
    responder.wait();
    let totals: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    schema::assert_valid(&totals, "respond");
    assert_eq!(at(&totals, "/in_packet/stamps"), "program");
    for counter in ["requests", "replies"] {
        assert!(count(&totals, &format!("/in_packet/{counter}")) >= 4 * PROBES, "{totals:#}");
    }
}

/// Without programs at the far end, the round trip has the programs' stamps of this end and contains the time at the far end. So it is
/// after SIGKILL of a responder.
#[test]
fn killed_responders_stamp_nothing() {
    const NAME: &str = "in_packet::killed_responders_stamp_nothing";
    if is_inside() {
        return echo();
    }
    if !may_load_programs() {
        return;
    }
    let lab = Lab::path();
    let _echo = start_echo(&lab, NAME);
    let target = format!("{FAR}:{ECHO}");
    let measured = || {
        let options = ["--stamp", "in-packet", "--clocks", "shared", "--interval", "1ms", "--count", "5"];
        places(&lab.measure(&[&options[..], &[target.as_str()]].concat()).document())
    };
    let own = [Value::from("program"), Value::Null, Value::Null, Value::from("program")];
    assert_eq!(measured(), own);
    for kill in 0..KILLS {
        let responder = respond(&lab, &[]);
        assert_eq!(measured(), ["program"; 4], "kill {kill}");
        responder.signal("KILL");
        responder.wait();
        // The kernel may remove the programs a moment after the process.
        let deadline = Instant::now() + Duration::from_secs(60);
        while measured() != own {
            assert!(Instant::now() < deadline, "kill {kill}");
        }
    }
}

/// A run with in-packet stamps can be evaluated with those of user space, and not with those of the kernel, which it lacks.
#[test]
fn runs_have_their_own_stamps() {
    if !may_load_programs() {
        return;
    }
    let lab = Lab::path();
    let _responder = respond(&lab, &[]);
    let run = lab.measure(&[
        "--stamp",
        "in-packet",
        "--clocks",
        "shared",
        "--interval",
        "1ms",
        "--count",
        "20",
        FAR,
    ]);
    let analyzed = |stamp: &str| {
        let mut command = process::romer(["analyze", "--json", "-", "--quiet", "--stamp", stamp]);
        process::run(command.arg(run.folder()))
    };
    assert_eq!(places(&analyzed("in-packet").with_code(0).document()), ["program"; 4]);
    let user = analyzed("user").with_code(0).document();
    assert_eq!(at(&user, "/stamps/sender_arrival"), "user");
    let kernel = analyzed("kernel").with_code(2);
    assert!(kernel.stderr.contains("no such time stamps (--stamp)"), "{kernel:?}");
}

/// Without the rights of the machine, the error of either end names them.
#[test]
fn missing_rights_state_the_remedy() {
    if may_load_programs() {
        return;
    }
    let lab = Lab::path();
    let respond = ["respond", "--in-packet", "--listen", "198.18.0.3:862"];
    let measure = ["measure", "--stamp", "in-packet", "--count", "1", FAR];
    for mut command in [lab.romer("B", respond), lab.romer("A", measure)] {
        let ended = process::run(&mut command).with_code(4);
        assert!(ended.stderr.contains("CAP_BPF"), "{ended:?}");
    }
}
