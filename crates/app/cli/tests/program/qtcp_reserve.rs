//! Live tests of Qtcp with RSVP: reservations, shaping and marks by service, and every way in which a reservation can fail.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use romer_rsvp::message::{Flow, Forwarded, SenderReference};
use romer_rsvp::object::Style;
use romer_rsvp::{ErrorCode, ErrorSpec, Filter, Flowspec, Hop, Message, PROTOCOL, Packet, Session, Tspec};
use serde_json::Value;
use socket2::{Domain, Protocol, Socket, Type};
use tempfile::TempDir;

use super::common::lab::{FAR, Lab, is_inside};
use super::common::process::{self, PROGRAM, Process};
use super::common::{at, count, number, schema};

/// Address of host A.
const NEAR: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// Address of host B, as [`FAR`].
const FAR_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 3);
/// A token rate of 64 kB/s in packets of 64 bytes, with 28 bytes of headers each.
const RESERVED: &str = "guaranteed service, 92000 bytes/s, bursts of 92 bytes, packets of at most 92 bytes";
/// Drops all RSVP messages, and Resv messages: the second octet of a message is its type.
const NO_RSVP: &str = "ip protocol 46 drop";
const NO_RESV: &str = "ip protocol 46 @th,8,8 2 drop";
/// A measured packet: the octet of the kind is the sixth of the payload.
const MEASURED: &str = "udp dport 5003 @th,104,8 1";

fn filter(lab: &Lab, host: &str, counters: &[&str], rules: &[&str]) {
    let counters: String = counters.iter().map(|name| format!("counter {name} {{ }}; ")).collect();
    let rules: String = rules.iter().map(|rule| format!("{rule}; ")).collect();
    let chain = format!("chain input {{ type filter hook input priority 0; {rules}}}");
    lab.filter(host, &format!("table ip test {{ {counters}{chain}; }}"));
}

/// Counts measured packets with and without a code point at host B, in the counters `marked` and `other`.
fn count_marks(lab: &Lab, dscp: &str) {
    let marked = format!("{MEASURED} ip dscp {dscp} counter name marked");
    let other = format!("{MEASURED} ip dscp != {dscp} counter name other");
    filter(lab, "B", &["marked", "other"], &[&marked, &other]);
}

fn marks(lab: &Lab) -> [u64; 2] {
    ["marked", "other"].map(|counter| lab.counted("B", "ip", counter))
}

/// A receiver on host B that is ready, with the folder of its files.
fn receive(lab: &Lab, arguments: &[&str]) -> (Process, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = lab.romer("B", ["qtcp"]);
    command.args(arguments).arg("-f").arg(folder.path().join("got"));
    command.arg("--json").arg(folder.path().join("got.json")).arg("-r");
    let mut receiver = Process::start_with_input(&mut command);
    assert_eq!(receiver.line(), "Waiting for QoS sender to initiate QoS connection.\n");
    (receiver, folder)
}

/// A sender on host A, which writes its document into `folder`.
fn send(lab: &Lab, folder: &Path, arguments: &[&str]) -> Process {
    let mut command = lab.romer("A", ["qtcp", "-l64"]);
    command.args(arguments).arg("--json").arg(folder.join("sent.json")).args(["-t", FAR]);
    let mut sender = Process::start_with_input(&mut command);
    assert_eq!(sender.line(), "Initiated QoS connection. Waiting for receiver.\n");
    sender
}

fn document(folder: &Path, name: &str) -> Value {
    let document =
        serde_json::from_str(&fs::read_to_string(folder.join(format!("{name}.json"))).unwrap()).unwrap();
    schema::assert_valid(&document, if name == "sent" { "qtcp-sender" } else { "qtcp-receiver" });
    document
}

/// The port that a sender announces, from its line.
fn announced_port(line: &str) -> u16 {
    let rest = line.strip_prefix("announcing 198.18.0.2:").unwrap_or_else(|| panic!("{line:?}"));
    rest.split_once(' ').unwrap().0.parse().unwrap()
}

/// A test with guaranteed service is reserved, shaped and marked, and both documents and the `.sta` say so.
#[test]
fn guaranteed_tests_are_reserved() {
    let lab = Lab::path();
    count_marks(&lab, "cs5");
    let (receiver, folder) = receive(&lab, &["-n1000"]);
    let mut sender = send(&lab, folder.path(), &["-SGR", "-R64", "-n50"]);
    let line = sender.line();
    let port = announced_port(&line);
    let announced = format!(
        "announcing 198.18.0.2:{port} > {FAR}:5003: 92000 bytes/s, bursts of 92 bytes, packets of 92 bytes\n"
    );
    assert_eq!(line, announced);
    assert_eq!(sender.line(), format!("reserved: {RESERVED}\n"));
    let sent = sender.wait().with_code(0);
    assert!(sent.stdout.contains("Sent 50 packets in "), "{sent:?}");
    assert!(sent.stdout.contains("Reserved: guaranteed, 92000.0 bytes/s\n"), "{sent:?}");
    let received = receiver.wait().with_code(0);
    let reserving = format!("reserving for 198.18.0.2:{port}: {RESERVED}; queueing delay at most 1.00 ms\n");
    assert!(received.stdout.contains(&reserving), "{received:?}");
    assert!(received.stdout.contains(&format!("reserved for 198.18.0.2:{port}, confirmed by 198.18.0.2\n")));
    assert_eq!(marks(&lab), [50, 0]);
    let document = [document(folder.path(), "sent"), document(folder.path(), "got")];
    assert_eq!(at(&document[0], "/reservation/state"), "reserved");
    let control = at(&document[0], "/traffic_control");
    assert_eq!((at(control, "/shaped"), count(control, "/dscp")), (&true.into(), 40));
    assert_eq!((count(control, "/priority"), count(control, "/non_conforming_packets")), (5, 0));
    for one in &document {
        let reservation = at(one, "/reservation");
        assert_eq!(at(reservation, "/service"), "guaranteed");
        assert!((number(reservation, "/rate_octets_per_s") - 92_000.0).abs() < 1e-6);
        assert_eq!(count(reservation, "/announced/max_packet_octets"), 92);
    }
    assert_eq!(at(&document[1], "/reservation/confirmed_by"), "198.18.0.2");
    assert_eq!(count(&document[1], "/reservation/path/mtu_octets"), 1_500);
    assert!((number(&document[1], "/reservation/path/delay_bound_ns") - 1e6).abs() <= 1.0);
    let statistics = fs::read_to_string(folder.path().join("got.sta")).unwrap();
    let keys = "service: guaranteed\ntoken rate: 64000\nbucket depth: 64\nreservation: ";
    assert!(statistics.contains(keys) && statistics.contains("reserved rate: 92000.0\n"), "{statistics}");
}

/// Controlled load is sent at once, and its excess is marked as non-conforming traffic; `-e` shapes it.
#[test]
fn controlled_load_is_shaped_on_request() {
    for shape in [true, false] {
        let lab = Lab::path();
        count_marks(&lab, "cs3");
        let (receiver, folder) = receive(&lab, &["-n1000"]);
        let arguments: &[&str] =
            if shape { &["-SCL", "-R64", "-n100", "-e"] } else { &["-SCL", "-R4", "-n100"] };
        let sent = send(&lab, folder.path(), arguments).wait().with_code(0);
        receiver.wait().with_code(0);
        assert!(sent.stdout.contains("reserved: controlled load, "), "{sent:?}");
        let control = document(folder.path(), "sent");
        let excess = count(&control, "/traffic_control/non_conforming_packets");
        assert_eq!(at(&control, "/traffic_control/shaped"), shape);
        // Without shaping, packets every 16 ms conform.
        assert_eq!(excess == 0, shape, "{excess}");
        assert_eq!(marks(&lab), [100 - excess, excess]);
    }
}

/// A table of marks replaces the code point, and `-m` and `-M` are announced with the headers.
#[test]
fn marks_and_sizes_are_those_requested() {
    let lab = Lab::path();
    count_marks(&lab, "ef");
    let (receiver, folder) = receive(&lab, &["-n1000"]);
    let table = folder.path().join("marks.toml");
    fs::write(&table, "[guaranteed]\ndscp = \"ef\"\n").unwrap();
    let arguments = ["-SGR", "-R64", "-n20", "-m100", "-M200", "--marks", table.to_str().unwrap()];
    send(&lab, folder.path(), &arguments).wait().with_code(0);
    receiver.wait().with_code(0);
    assert_eq!(marks(&lab), [20, 0]);
    let sent = document(folder.path(), "sent");
    let announced = at(&sent, "/reservation/announced");
    assert_eq!((count(announced, "/min_policed_octets"), count(announced, "/max_packet_octets")), (128, 228));
}

/// `-v` holds the reservation, and sends nothing, until return is pressed or the program is interrupted.
#[test]
fn reservations_alone_are_held() {
    let lab = Lab::path();
    for (interrupts, code, end) in [(false, 0, "released"), (true, 130, "interrupted")] {
        let (mut receiver, folder) = receive(&lab, &[]);
        let mut sender = send(&lab, folder.path(), &["-v", "-R64"]);
        announced_port(&sender.line());
        assert_eq!(sender.line(), format!("reserved: {RESERVED}\n"));
        assert_eq!(sender.line(), "Holding the reservation. Press return to remove it.\n");
        assert!(sender.is_running() && receiver.is_running());
        if interrupts {
            sender.signal("INT");
        } else {
            sender.enter("");
        }
        let ended = sender.wait().with_code(code);
        assert!(ended.stdout.contains("No packets were sent.\n"), "{ended:?}");
        let received = receiver.wait().with_code(0);
        assert!(received.stdout.contains("Received 0 buffers\n"), "{received:?}");
        let sent = document(folder.path(), "sent");
        assert_eq!((at(&sent, "/end"), at(&sent, "/reservation/state")), (&end.into(), &"reserved".into()));
        assert_eq!(count(&document(folder.path(), "got"), "/all/packets"), 0);
    }
}

/// A firewall that drops RSVP is an error after 30 s, which names `-W`; with `-W` the test continues without a reservation.
#[test]
fn missing_reservations_are_errors() {
    let lab = Lab::path();
    filter(&lab, "B", &[], &[NO_RSVP]);
    let (receiver, folder) = receive(&lab, &[]);
    let sent = send(&lab, folder.path(), &["-SGR", "-R64", "-n50"]).wait().with_code(5);
    let error = format!("error: no reservation ({FAR}:5003): no receiver has reserved within 30 s; ");
    assert!(sent.stderr.contains(&error) && sent.stderr.contains("(-W)"), "{sent:?}");
    let received = receiver.wait().with_code(0);
    assert!(received.stdout.contains("Received 0 buffers\n"), "{received:?}");
    let (receiver, folder) = receive(&lab, &[]);
    let sent = send(&lab, folder.path(), &["-SGR", "-W", "-R64", "-n50"]).wait().with_code(0);
    assert!(sent.stdout.contains("Sent 50 packets in "), "{sent:?}");
    receiver.wait().with_code(0);
    assert_eq!(at(&document(folder.path(), "sent"), "/reservation/state"), "none");
    assert_eq!(count(&document(folder.path(), "got"), "/all/packets"), 50);
}

/// Sends an RSVP message from this host, without Router Alert: of the type, for the sender with the port, that the environment
/// names.
fn inject() {
    let [kind, port] = [KIND, PORT].map(|name| std::env::var(name).unwrap());
    let filter = Filter::new(NEAR, port.parse().unwrap()).unwrap();
    let session = Session::new(FAR_V4, 17, 5_003).unwrap();
    let tspec = Tspec::new(92_000.0, 92.0, f32::INFINITY, 92, 92).unwrap();
    let forwarded = Forwarded::new();
    let (destination, message) = match kind.as_str() {
        "resverr" => {
            let flowspec = Flowspec::guaranteed(tspec, 92_000.0, 0).unwrap();
            let message = Message::ResvErr {
                session,
                hop: Hop::new(NEAR, 0).unwrap(),
                error: ErrorSpec::new(Ipv4Addr::new(198, 18, 0, 9), ErrorCode::BANDWIDTH),
                style: Style::FIXED_FILTER,
                flow: Some(Flow { flowspec: Some(flowspec), filter }),
                forwarded,
            };
            (FAR_V4, message)
        }
        _ => {
            let sender = SenderReference { template: filter, tspec: Some(tspec), adspec: None };
            let error = ErrorSpec::new(Ipv4Addr::new(198, 18, 0, 8), ErrorCode::BAD_TSPEC);
            (NEAR, Message::PathErr { session, error, sender: Some(sender), forwarded })
        }
    };
    let octets = Packet { send_ttl: 255, message }.emit().unwrap();
    let protocol = Protocol::from(i32::from(PROTOCOL));
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(protocol)).unwrap();
    socket.send_to(&octets, &SocketAddr::from((destination, 0)).into()).unwrap();
}

/// Variables of the environment of [`inject`].
const KIND: &str = "ROMER_TEST_KIND";
const PORT: &str = "ROMER_TEST_PORT";

/// Errors that nodes of the path report appear as text at both ends: those of the flow at the sender, those of its reservation
/// at the receiver, which passes them on.
#[test]
fn reported_errors_have_words() {
    const NAME: &str = "qtcp_reserve::reported_errors_have_words";
    if is_inside() {
        return inject();
    }
    let lab = Lab::path();
    filter(&lab, "A", &[], &[NO_RESV]);
    let (mut receiver, folder) = receive(&lab, &[]);
    let mut sender = send(&lab, folder.path(), &["-SGR", "-R64", "-n50"]);
    let port = announced_port(&sender.line());
    assert!(receiver.line().starts_with(&format!("reserving for 198.18.0.2:{port}: ")));
    for (host, kind) in [("A", "resverr"), ("B", "patherr")] {
        let mut injecting = lab.command(host, std::env::current_exe().unwrap());
        injecting.args([NAME, "--exact", "--nocapture", "--test-threads=1"]).env("ROMER_TEST_INSIDE", "1");
        let ended = process::run(injecting.env(KIND, kind).env(PORT, port.to_string())).with_code(0);
        assert!(ended.stdout.contains("1 passed"), "{ended:?}");
    }
    let sent = sender.wait().with_code(5).stderr;
    let refusal = "198.18.0.9 reports: the requested bandwidth is not available (code 1, value 2)";
    assert!(sent.contains(&format!("note: the reservation is refused: {refusal}\n")), "{sent}");
    let path_error = "198.18.0.8 reports: the SENDER_TSPEC is wrong (code 21, value 4)";
    assert!(sent.contains(&format!("note: {path_error}\n")), "{sent}");
    assert!(sent.contains(&format!("error: no reservation ({FAR}:5003): 198.18.0.")), "{sent}");
    let received = receiver.wait().with_code(0).stderr;
    assert!(
        received.contains(&format!("note: no reservation for 198.18.0.2:{port}: {refusal}\n")),
        "{received}"
    );
    let document = document(folder.path(), "got");
    let error = at(&document, "/reservation/errors/0");
    assert_eq!((at(error, "/node"), count(error, "/code")), (&"198.18.0.9".into(), 1));
}

/// Without the capability a sender ends with code 4. A receiver names it, and the sender learns that it cannot reserve.
#[test]
fn missing_rights_are_named() {
    let lab = Lab::path();
    let without = ["--bounding-set=-net_raw", "--inh-caps=-net_raw", PROGRAM, "qtcp"];
    let mut command = lab.command("A", "setpriv");
    let refused = process::run(command.args(without).args(["-SGR", "-l64", "-t", FAR])).with_code(4);
    assert!(refused.stderr.contains("cannot exchange RSVP messages (system): "), "{refused:?}");
    assert!(refused.stderr.contains("CAP_NET_RAW"), "{refused:?}");
    let mut receiver = Process::start(lab.command("B", "setpriv").args(without).arg("-r"));
    receiver.line();
    let folder = tempfile::tempdir().unwrap();
    let sent = send(&lab, folder.path(), &["-SGR", "-n50"]).wait().with_code(5);
    assert!(sent.stderr.contains("the receiver cannot reserve: it needs the capability CAP_NET_RAW"));
    let received = receiver.wait().with_code(0);
    assert!(received.stderr.contains("note: cannot exchange RSVP messages (system): "), "{received:?}");
    assert!(received.stderr.contains("CAP_NET_RAW"), "{received:?}");
}

/// What the kernel has of queueing disciplines and rules at both hosts.
fn network(lab: &Lab) -> Vec<String> {
    let ask = |host: &str, program: &str, arguments: &[&str]| {
        process::run(lab.command(host, program).args(arguments)).with_code(0).stdout
    };
    let both = |host| [ask(host, "tc", &["qdisc", "show"]), ask(host, "nft", &["list", "ruleset"])];
    ["A", "B"].into_iter().flat_map(both).collect()
}

/// Both ends leave nothing in the kernel, also if they are killed. Reservations in routers then time out
/// (`soft_state_follows_its_refreshes`).
#[test]
fn killed_ends_leave_nothing() {
    let lab = Lab::path();
    let before = network(&lab);
    let (mut receiver, folder) = receive(&lab, &[]);
    let mut sender = send(&lab, folder.path(), &["-v", "-R64"]);
    announced_port(&sender.line());
    assert!(sender.line().starts_with("reserved: "));
    assert!(receiver.line().starts_with("reserving for "));
    sender.signal("KILL");
    receiver.signal("KILL");
    assert_eq!([sender.wait().code, receiver.wait().code], [None, None]);
    assert_eq!(network(&lab), before);
}
