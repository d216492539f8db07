//! Live tests of Qtcp: both ends in a lab, each condition that ends a test, and foreign peers.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::common::lab::{FAR, Lab};
use super::common::process::{self, Ended, Process, romer};
use super::common::{at, count, number, schema};

/// Drops connections, and with them DONE, at a host.
const NO_CONTROL: &str = "tcp dport 5003 drop";
/// Drops termination packets: the octet of the kind is the sixth of the payload.
const NO_TERMINATION: &str = "udp dport 5003 @th,104,8 2 drop";

fn filter(lab: &Lab, rules: &[&str]) {
    let rules: String = rules.iter().map(|rule| format!("{rule}; ")).collect();
    let chain = format!("chain input {{ type filter hook input priority 0; {rules}}}");
    lab.filter("B", &format!("table ip test {{ {chain}; }}"));
}

/// A receiver on host B that is ready. It writes its files and its document with the prefix `got` in `folder`.
fn receive(lab: &Lab, folder: &Path, arguments: &[&str]) -> Process {
    let prefix = folder.join("got");
    let mut command = lab.romer("B", ["qtcp"]);
    command.args(arguments).arg("-f").arg(&prefix).arg("--json").arg(folder.join("got.json")).arg("-r");
    let mut receiver = Process::start_with_input(&mut command);
    let line = receiver.line();
    assert_eq!(line, "Waiting for QoS sender to initiate QoS connection.\n", "{:?}", receiver.wait());
    receiver
}

/// A sender on host A, to its end.
fn send(lab: &Lab, arguments: &[&str]) -> Ended {
    process::run(lab.romer("A", ["qtcp"]).args(arguments).args(["-t", FAR]))
}

/// What a receiver has written.
fn document(folder: &Path) -> Value {
    let document = serde_json::from_str(&fs::read_to_string(folder.join("got.json")).unwrap()).unwrap();
    schema::assert_valid(&document, "qtcp-receiver");
    document
}

fn lines(file: &Path) -> usize {
    fs::read_to_string(file).unwrap().lines().count()
}

/// A test with calibration packets has its files, and figures of both phases; the `.raw` converts to the same `.log`.
#[test]
fn both_phases_have_files_and_figures() {
    let lab = Lab::path();
    let folder = tempfile::tempdir().unwrap();
    let at_home = |name: &str| folder.path().join(name);
    let receiver = receive(&lab, folder.path(), &["-c100", "-n200", "-k0"]);
    let json = at_home("sent.json");
    let traffic = ["-l64", "-R16", "-c100", "-n200", "-y", "--json", json.to_str().unwrap()];
    let sent = send(&lab, &traffic).with_code(0);
    let greeting = "Initiated QoS connection. Waiting for receiver.\n...\n";
    assert!(sent.stdout.starts_with(greeting), "{sent:?}");
    assert!(sent.stdout.contains("Sent 200 packets after 100 calibration packets in "), "{sent:?}");
    let received = receiver.wait().with_code(0);
    assert!(received.stdout.starts_with("...\nReceived 300 buffers\n"), "{received:?}");
    let sent: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    schema::assert_valid(&sent, "qtcp-sender");
    assert_eq!((count(&sent, "/all/packets"), count(&sent, "/measured/packets")), (300, 200));
    // A host that pauses makes it lower; the bucket never lets more through.
    let rate = number(&sent, "/measured/rate_octets_per_s");
    assert!(rate > 0.0 && rate < 16_500.0, "{rate}");
    let document = document(folder.path());
    assert_eq!(at(&document, "/session"), at(&sent, "/session"));
    assert_eq!(count(&document, "/all/packets"), 300);
    assert_eq!(count(&document, "/measured/packets"), 200);
    assert_eq!(count(&document, "/announced/calibration_packets"), 100);
    assert!(
        number(&document, "/measured/queuing_delay_ns/max")
            >= number(&document, "/measured/queuing_delay_ns/min")
    );
    let statistics = fs::read_to_string(at_home("got.sta")).unwrap();
    assert!(
        statistics.contains("received: 300\nlost: 0\n") && statistics.contains("measured received: 200\n")
    );
    assert_eq!((lines(&at_home("got.raw")), lines(&at_home("got.log"))), (300, 300));
    let log = fs::read(at_home("got.log")).unwrap();
    process::run(romer(["qtcp", "--force", "-k0", "-F"]).arg(at_home("got"))).with_code(0);
    assert!(fs::read(at_home("got.log")).unwrap() == log);
}

/// The sender prompts after the calibration, continues by `c`, and refuses to go on if there is nobody who could enter it.
#[test]
fn calibration_waits_for_the_user() {
    let lab = Lab::path();
    let traffic = ["qtcp", "-l64", "-R100", "-c100", "-n50", "-t", FAR];
    for enters in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let receiver = receive(&lab, folder.path(), &["-c100", "-n1000"]);
        let mut command = lab.romer("A", traffic);
        let mut sender =
            if enters { Process::start_with_input(&mut command) } else { Process::start(&mut command) };
        let seen = [sender.line(), sender.line(), sender.line()];
        assert_eq!(seen[1..], [".\n", "Calibration complete. Type 'c' to continue.\n"]);
        if enters {
            sender.enter("no");
            sender.enter("c");
        }
        let ended = sender.wait().with_code(if enters { 0 } else { 2 });
        assert_eq!(ended.stderr.contains("no confirmation (standard input)"), !enters, "{ended:?}");
        // Without the measured phase the result is partial.
        let received = receiver.wait().with_code(if enters { 0 } else { 130 });
        assert_eq!(received.stdout.contains("Partial: the sender ended the test"), !enters, "{received:?}");
        let document = document(folder.path());
        assert_eq!(count(&document, "/all/packets"), if enters { 150 } else { 100 });
        assert_eq!(*at(&document, "/partial"), !enters);
    }
}

/// The receiver's own number of packets ends a test alone. The sender then learns that its packets are rejected.
#[test]
fn own_count_ends_alone() {
    let lab = Lab::path();
    filter(&lab, &[NO_CONTROL, NO_TERMINATION]);
    let folder = tempfile::tempdir().unwrap();
    let receiver = receive(&lab, folder.path(), &["-W", "-n50"]);
    let sent = send(&lab, &["-W", "-l64", "-R64", "-n5000"]).with_code(5);
    assert!(sent.stderr.contains("network transmission rejected (198.18.0.3:5003)"), "{sent:?}");
    let received = receiver.wait().with_code(0);
    assert!(received.stdout.contains("Received 50 buffers"), "{received:?}");
    let document = document(folder.path());
    assert_eq!((at(&document, "/end"), count(&document, "/all/lost")), (&"quota".into(), 0));
}

/// The receiver's own time ends a test alone, long before the sender's last packet.
#[test]
fn own_time_ends_alone() {
    let lab = Lab::path();
    filter(&lab, &[NO_CONTROL, NO_TERMINATION]);
    let folder = tempfile::tempdir().unwrap();
    let receiver = receive(&lab, folder.path(), &["-W", "-n1s"]);
    send(&lab, &["-W", "-l64", "-R64", "-n600s"]).with_code(5);
    receiver.wait().with_code(0);
    assert_eq!(at(&document(folder.path()), "/end"), "quota");
}

/// A termination packet ends a test alone, though the receiver expects more packets.
#[test]
fn termination_ends_alone() {
    let lab = Lab::path();
    filter(&lab, &[NO_CONTROL]);
    let folder = tempfile::tempdir().unwrap();
    let receiver = receive(&lab, folder.path(), &["-W"]);
    send(&lab, &["-W", "-l64", "-R64", "-n50"]).with_code(0);
    receiver.wait().with_code(0);
    let document = document(folder.path());
    assert_eq!((at(&document, "/end"), count(&document, "/all/packets")), (&"termination".into(), 50));
}

/// `DONE` on the control connection ends a test alone.
#[test]
fn done_ends_alone() {
    let lab = Lab::path();
    filter(&lab, &[NO_TERMINATION]);
    let folder = tempfile::tempdir().unwrap();
    let receiver = receive(&lab, folder.path(), &[]);
    send(&lab, &["-l64", "-R64", "-n50"]).with_code(0);
    receiver.wait().with_code(0);
    let document = document(folder.path());
    assert_eq!((at(&document, "/end"), count(&document, "/all/packets")), (&"done".into(), 50));
}

/// `q` and return, or an interruption, ends a test alone; what has arrived is written, and marked as partial.
#[test]
fn users_end_alone() {
    let lab = Lab::path();
    filter(&lab, &[NO_CONTROL, NO_TERMINATION]);
    for (interrupts, code, end) in [(false, 0, "keyboard"), (true, 130, "interrupted")] {
        let folder = tempfile::tempdir().unwrap();
        let mut receiver = receive(&lab, folder.path(), &["-W"]);
        send(&lab, &["-W", "-l64", "-R64", "-n50"]).with_code(0);
        assert!(receiver.is_running());
        if interrupts {
            receiver.signal("INT");
        } else {
            receiver.enter("q");
        }
        let received = receiver.wait().with_code(code);
        assert!(received.stdout.contains("Received 50 buffers") && received.stdout.contains("Partial: "));
        let document = document(folder.path());
        assert_eq!((at(&document, "/end"), at(&document, "/partial")), (&end.into(), &true.into()));
        assert_eq!(lines(&folder.path().join("got.raw")), 50);
    }
}

/// Lost numbers are listed on the terminal, unless `-P`, and in the `.sta`; dummies stand for them in the `.log`.
#[test]
fn lost_numbers_are_listed() {
    let lab = Lab::path();
    // The low half of the sequence number, of packets that are measured.
    let lost = ["7", "9", "10", "49"];
    let rules = lost.map(|number| format!("udp dport 5003 @th,104,8 1 @th,160,32 {number} drop"));
    filter(&lab, &rules.each_ref().map(String::as_str));
    for (option, lists) in [("-d", true), ("-P", false)] {
        let folder = tempfile::tempdir().unwrap();
        let receiver = receive(&lab, folder.path(), &[option]);
        send(&lab, &["-l64", "-R64", "-n50"]).with_code(0);
        let received = receiver.wait().with_code(0);
        assert!(received.stdout.contains("Received 46 buffers"), "{received:?}");
        assert_eq!(received.stdout.contains("Dropped packets: 7, 9-10, 49\n"), lists, "{received:?}");
        let statistics = fs::read_to_string(folder.path().join("got.sta")).unwrap();
        let listed: Vec<&str> =
            statistics.lines().filter_map(|line| line.strip_prefix("lost sequence: ")).collect();
        assert_eq!(listed, lost);
        assert_eq!(lines(&folder.path().join("got.raw")), 46);
        assert_eq!(lines(&folder.path().join("got.log")), if lists { 50 } else { 46 });
    }
}

/// A sender without a receiver says where, why and what to do; with `-W` it sends at once, and is rejected.
#[test]
fn without_a_receiver_is_an_error() {
    let lab = Lab::path();
    let rejected = send(&lab, &["-W", "-l64"]).with_code(5);
    assert!(
        rejected.stderr.contains("network transmission rejected")
            && rejected.stderr.contains("`romer qtcp -r`")
    );
    let waiting = Process::start(lab.romer("A", ["qtcp"]).args(["-l64", "-t", FAR]));
    let ended = waiting.wait().with_code(5);
    assert!(ended.stderr.contains("no receiver (198.18.0.3:5003): TCP to 198.18.0.3:5003:"), "{ended:?}");
}

/// A packet that the path does not take is refused by its size.
#[test]
fn large_packets_are_refused() {
    let lab = Lab::path();
    let folder = tempfile::tempdir().unwrap();
    let mut receiver = receive(&lab, folder.path(), &[]);
    let refused = send(&lab, &["-l1473"]).with_code(2);
    assert!(refused.stderr.contains("packet too large (-l 1473)"), "{refused:?}");
    assert!(receiver.is_running());
}

/// Options that describe a service are refused without one, and so is the one without a documented meaning.
#[test]
fn unavailable_options_are_refused() {
    for option in ["-e", "-m64", "-M64"] {
        let refused = process::run(&mut romer(["qtcp", option, "-t", "127.0.0.1"])).with_code(2).stderr;
        assert!(refused.contains(&format!("no service ({})", &option[..2])), "{refused}");
        assert!(refused.contains("-S GR"), "{refused}");
    }
    for (options, says) in [(["-M63", "-m64"], "(-M 63)"), (["-M64", "-m65"], "-m 65, -M 64")] {
        let mut command = romer(["qtcp", "-SGR", "-l64", "-t", "127.0.0.1"]);
        let refused = process::run(command.args(options)).with_code(2).stderr;
        assert!(refused.contains(says), "{refused}");
    }
    let refused = process::run(&mut romer(["qtcp", "-a3", "-r"])).with_code(2).stderr;
    assert!(refused.contains("(-a)") && refused.contains("does not state its meaning"), "{refused}");
    let refused = process::run(&mut romer(["qtcp", "-l64", "-B63", "-t", "127.0.0.1"])).with_code(2).stderr;
    assert!(refused.contains("(-B 63)") && refused.contains("use -B 64"), "{refused}");
}

/// A port that is free for UDP and TCP.
fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    TcpListener::bind(("127.0.0.1", port)).unwrap();
    port
}

/// A header as the reference describes it.
fn header(kind: u8, sequence: u64, stamp: u64) -> Vec<u8> {
    let numbers = [sequence, stamp, 0, stamp - 5, 0x0a0b_0c0d_0102_0304];
    let mut octets = vec![b'Q', b'T', b'C', b'P', 1, kind, 0, 0];
    octets.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    octets.extend([0; 16]);
    octets
}

/// A sender that was written from the documentation: it announces a test, sends packets with its own time stamps, and `DONE`.
#[test]
fn foreign_senders_are_received() {
    let port = free_port();
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("got.json");
    let mut command = romer(["qtcp", "-r", "-n1000", "-p", &port.to_string(), "--json"]);
    let mut receiver = Process::start(command.arg(&json));
    receiver.line();
    let mut control = TcpStream::connect(("127.0.0.1", port)).unwrap();
    control
        .write_all(b"TEST session=0a0b0c0d01020304 size=64 calibration=0 packets=20 rate=1000 depth=64\n")
        .unwrap();
    let mut answers = BufReader::new(control.try_clone().unwrap()).lines();
    assert_eq!(answers.next().unwrap().unwrap(), "READY stamps=kernel");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for sequence in 0..20 {
        let stamp = 17_000_000_000_000_000 + sequence * 10_000;
        socket.send_to(&header(1, sequence, stamp), ("127.0.0.1", port)).unwrap();
    }
    control.write_all(b"DONE\r\n").unwrap();
    assert!(answers.next().unwrap().unwrap().starts_with("ENDED received="));
    receiver.wait().with_code(0);
    let document: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(at(&document, "/end"), "done");
    assert_eq!((count(&document, "/all/packets"), count(&document, "/all/lost")), (20, 0));
    assert_eq!(at(&document, "/departure_stamps"), "packet");
}

/// A receiver that was written from the documentation: it answers the announcement, counts packets until a termination packet, and
/// reads the control connection to its end.
#[test]
fn foreign_receivers_are_served() {
    let port = free_port();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let socket = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut command = romer(["qtcp", "-l64", "-R100", "-n50", "-c10", "-y", "-p", &port.to_string()]);
    let sender = Process::start(command.args(["-t", "127.0.0.1"]));
    let (mut control, _) = listener.accept().unwrap();
    let mut messages = BufReader::new(control.try_clone().unwrap()).lines().map(Result::unwrap);
    let offer = messages.next().unwrap();
    assert!(
        offer.starts_with("TEST session=") && offer.contains(" size=64 calibration=10 packets=50 "),
        "{offer}"
    );
    control.write_all(b"READY stamps=kernel\n").unwrap();
    let (mut packet, mut seen) = ([0; 100], Vec::new());
    loop {
        let (length, _) = socket.recv_from(&mut packet).unwrap();
        assert_eq!((length, &packet[..5]), (64, &b"QTCP\x01"[..]));
        let sequence = u64::from_be_bytes(packet[8..16].try_into().unwrap());
        if packet[5] == 2 {
            assert_eq!(sequence, 60);
            break;
        }
        seen.push((packet[5], sequence));
    }
    let expected: Vec<(u8, u64)> = (0..60).map(|n| (u8::from(n >= 10), n)).collect();
    assert_eq!(seen, expected);
    let rest: Vec<String> = messages.by_ref().take_while(|message| !message.starts_with("DONE")).collect();
    assert_eq!(rest[..2], ["CALIBRATED", "MEASURING"]);
    assert!(rest[2].starts_with("STAMPS 0 ") && rest[2].split(' ').count() == 62, "{rest:?}");
    drop((control, messages, socket));
    sender.wait().with_code(0);
}
