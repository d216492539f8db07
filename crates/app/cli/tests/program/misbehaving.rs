//! Measuring against reflectors that misbehave.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::process::{self, Ended, Process, romer};
use crate::common::reflector::{Fault, Reflector};
use crate::common::{at, count, schema, warned};

/// Probes of one measurement; 80 ms of them.
const PROBES: u64 = 40;

/// A measurement of a reflector, of [`PROBES`] probes.
fn command(reflector: &Reflector, arguments: &[&str]) -> (Command, TempDir) {
    let home = tempfile::tempdir().unwrap();
    let mut command = romer(["measure", "--stamp-only", "--no-route", "--interval", "2ms"]);
    command.args(["--count", &PROBES.to_string(), "--json", "-"]);
    command.args(arguments).arg(reflector.address.to_string()).arg("--out").arg(home.path().join("run"));
    (command, home)
}

fn measure(fault: Fault) -> Ended {
    let reflector = Reflector::start(fault);
    let ended = process::run(&mut command(&reflector, &[]).0);
    assert_eq!(reflector.seen(), PROBES, "{fault:?}: {}", ended.stderr);
    ended
}

fn document(ended: &Ended) -> Value {
    let document = ended.document();
    schema::assert_valid(&document, "measurement");
    document
}

/// Round trips and their losses do not depend on what a reflector writes into its time stamps, nor on fields that are not
/// needed to find the probe of a reply.
#[test]
fn faults_that_keep_round_trips() {
    let (second, ms) = (1_000_000_000, Duration::from_millis);
    for fault in [
        Fault::None,
        Fault::Ptp,
        Fault::WrongFraction,
        Fault::PtpWithoutZ,
        Fault::ZeroStamps,
        Fault::ZeroReceive,
        Fault::AllOnes,
        Fault::Swapped,
        Fault::LittleEndian,
        Fault::Constant,
        Fault::SecondEarly { probe: 20 },
        Fault::SecondLate { probe: 20 },
        Fault::SameStamps { after: ms(3) },
        Fault::Ahead { nanos: 3_600 * second },
        Fault::Fast { ppm: 600 },
        Fault::EraChange { after: ms(40) },
        Fault::Padded { octets: 20 },
        Fault::NonZeroMbz,
        Fault::NoTtl,
        Fault::NoSession,
        // A reflector that knows RFC 8762 alone has other octets there.
        Fault::OtherSession,
        Fault::ZeroEstimate,
        Fault::Slow { after: ms(3) },
        Fault::Noise,
    ] {
        let ended = measure(fault);
        assert_eq!(ended.code, Some(0), "{fault:?}: {}", ended.stderr);
        let document = document(&ended);
        let of = |name: &str| count(&document, &format!("/round_trip/packets/{name}"));
        assert_eq!([of("sent"), of("received"), of("lost")], [PROBES, PROBES, 0], "{fault:?}");
    }
}

/// A reflector's losses and copies are counted as they were made.
#[test]
fn faults_that_lose_or_copy() {
    let lost = PROBES / 10;
    for (fault, lost, copies) in [
        (Fault::ForwardLoss { nth: 10 }, lost, 0),
        (Fault::ReverseLoss { nth: 10 }, lost, 0),
        (Fault::Loss { nth: 10 }, lost, 0),
        (Fault::Duplicates, 0, PROBES),
        (Fault::Reordered, 0, 0),
    ] {
        let ended = measure(fault);
        assert_eq!(ended.code, Some(0), "{fault:?}: {}", ended.stderr);
        let document = document(&ended);
        let of = |name: &str| count(&document, &format!("/round_trip/packets/{name}"));
        assert_eq!([of("sent"), of("lost"), of("duplicated")], [PROBES, lost, copies], "{fault:?}");
    }
}

/// Rejected replies are counted by their cause, and the error names the cause and where they came from.
#[test]
fn faults_that_reject() {
    for (fault, cause, words) in [
        (Fault::OtherPort, "port", "from another port (127.0.0.1:"),
        (Fault::OtherAddress, "address", "from another address (127.0.0.2:"),
        (Fault::WrongSequence { by: 1_000 }, "sequence", "with a sequence number that was not sent"),
        (Fault::WrongEcho, "echo", "with another sender time stamp than the probe"),
        (Fault::Length { octets: 9 }, "size", "too short"),
    ] {
        let ended = measure(fault);
        assert_eq!(ended.code, Some(5), "{fault:?}: {}", ended.stderr);
        let document = document(&ended);
        assert_eq!(count(&document, &format!("/replies/rejected/{cause}")), PROBES, "{fault:?}");
        let words = format!("{PROBES} {words}");
        let error = ended.stderr.lines().find(|line| line.starts_with("error: no reply")).unwrap();
        assert!(error.contains(&words), "{fault:?}: {error}");
        let warnings = warned(&document);
        assert!(warnings.contains(&words), "{fault:?}: {warnings}");
    }
}

/// Datagrams that are no replies are counted beside good replies, which are not affected.
#[test]
fn noise_beside_replies() {
    let ended = measure(Fault::Noise);
    let document = document(&ended.with_code(0));
    let rejected = at(&document, "/replies/rejected").as_object().unwrap();
    let total: u64 = rejected.values().filter_map(Value::as_u64).sum();
    assert_eq!((total, count(&document, "/round_trip/packets/received")), (PROBES, PROBES));
}

/// Replies of another length than their requests are counted with their length; others are not mentioned.
#[test]
fn replies_of_other_length() {
    for (fault, other) in [
        (Fault::None, None),
        (Fault::Length { octets: 100 }, None),
        (Fault::Padded { octets: 20 }, Some(120)),
        (Fault::Length { octets: 44 }, Some(44)),
    ] {
        let reflector = Reflector::start(fault);
        let ended = process::run(&mut command(&reflector, &["--size", "100B"]).0).with_code(0);
        let document = document(&ended);
        let found = document.pointer("/replies/other_length").filter(|found| !found.is_null());
        let of = |name| found.map(|found| count(found, name));
        let names = ["/replies", "/payload_octets_min", "/payload_octets_max"];
        assert_eq!(names.map(of), [other.map(|_| PROBES), other, other], "{fault:?}");
        let warnings = warned(&document);
        let words = format!("not as long as the request, with {} bytes", other.unwrap_or_default());
        assert_eq!(warnings.contains(&words), other.is_some(), "{fault:?}: {warnings}");
    }
}

/// A Session-Sender TTL of zero is not known.
#[test]
fn zero_ttl_is_null() {
    for (fault, ttl) in [(Fault::None, Some(255)), (Fault::NoTtl, None)] {
        let document = document(&measure(fault).with_code(0));
        assert_eq!(at(&document, "/forward/ttl/min").as_u64(), ttl, "{fault:?}");
    }
}

/// While a measurement runs, its losses are those of the probes whose waiting time is over.
#[test]
fn live_loss_of_the_same_probes() {
    let reflector = Reflector::start(Fault::Loss { nth: 10 });
    let home = tempfile::tempdir().unwrap();
    let mut command = romer(["measure", "--stamp-only", "--no-route", "--interval", "5ms", "--count", "400"]);
    command.args(["--waiting-time", "500ms", "--json-lines", "--json-lines-interval", "100ms"]);
    command.arg(reflector.address.to_string()).arg("--out").arg(home.path().join("run"));
    let ended = process::run(&mut command).with_code(0);
    let lines = ended.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let intervals: Vec<Value> = lines.filter(|line| at(line, "/type") == "interval").collect();
    let early = intervals.iter().filter(|one| count(one, "/elapsed_ns") < 500_000_000);
    for one in early {
        assert_eq!([count(one, "/settled"), count(one, "/lost")], [0, 0], "{one}");
    }
    let settled: Vec<&Value> = intervals.iter().filter(|one| count(one, "/settled") >= 100).collect();
    assert!(settled.len() >= 5, "{intervals:?}");
    for one in settled {
        // A reply that comes later than the waiting time on a machine that stands still is lost as well.
        let [probes, lost, outstanding] = ["/settled", "/lost", "/outstanding"].map(|name| count(one, name));
        assert!((probes / 10..=probes / 10 + 20).contains(&lost), "{one}");
        let open = count(one, "/sent") - probes;
        assert!(outstanding <= open, "{one}");
    }
}

/// Relays a control conversation, and sends frames of an unknown type without end once the far end is silent.
fn relay_and_flood(listener: &TcpListener, far_end: &str) {
    let (mut near, _) = listener.accept().unwrap();
    let mut far = TcpStream::connect(far_end).unwrap();
    far.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let (mut asked, mut asking) = (far.try_clone().unwrap(), near.try_clone().unwrap());
    std::thread::spawn(move || std::io::copy(&mut asking, &mut asked));
    let mut buffer = [0; 4_096];
    while let Ok(count) = far.read(&mut buffer) {
        near.write_all(&buffer[..count]).unwrap();
    }
    let flood = [0, 0, 0, 1, 200].repeat(1_000);
    while near.write_all(&flood).is_ok() {}
}

/// The error of a measurement whose far end sent more than its probes can make names that reason.
#[test]
fn excess_is_the_reason() {
    let listen = "127.0.0.1:0";
    let mut responder = Process::start(&mut romer(["respond", "--listen", listen, "--control", listen]));
    let line = responder.line();
    let far_end = line.trim().rsplit_once("TCP ").unwrap().1.to_owned();
    let listener = TcpListener::bind(listen).unwrap();
    let target = listener.local_addr().unwrap().to_string();
    let flooding = std::thread::spawn(move || relay_and_flood(&listener, &far_end));
    let home = TempDir::new().unwrap();
    let mut command = romer(["measure", "--count", "400", "--interval", "10ms", &target, "--out"]);
    let ended = process::run(command.arg(home.path().join("run")).env("XDG_STATE_HOME", home.path()));
    let ended = ended.with_code(5);
    let error =
        ended.stderr.lines().find(|line| line.starts_with("error: the responder broke the control protocol"));
    let error = error.unwrap_or_else(|| panic!("{ended:?}"));
    assert!(error.contains("more log rows and messages than its probes can cause"), "{error}");
    assert!(ended.stdout.contains("the responder broke the control protocol"), "{ended:?}");
    assert!(
        !ended.stderr.contains("became unreachable") && !ended.stdout.contains("became unreachable"),
        "{ended:?}"
    );
    flooding.join().unwrap();
    responder.signal("TERM");
    responder.wait().with_code(0);
}
