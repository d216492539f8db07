//! Datagrams for the reflector.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use crate::common::lab::{Lab, is_inside};
use crate::table::{self, octets};
use crate::tap::{REFLECTOR, Tap, send_as};

/// How long an answer is waited for that is known to come.
const TIMEOUT: Duration = Duration::from_secs(10);

/// An ordinary request, whose number tells it from others.
fn request(sequence: u32) -> Vec<u8> {
    let mut request = octets("00000000 e900000000000001 8001 0000 00*28");
    request[..4].copy_from_slice(&sequence.to_be_bytes());
    request
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("198.18.0.2:0").unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    socket
}

/// Asks the reflector something ordinary. It answers in order, so that what it had to say before has been said.
fn assert_answers(socket: &UdpSocket, sequence: u32) {
    let mut reply = [0; 100];
    socket.send_to(&request(sequence), REFLECTOR).unwrap();
    assert_eq!(socket.recv(&mut reply).expect("the reflector answers"), 44);
    assert_eq!(reply[24..28], sequence.to_be_bytes());
}

/// The counters that a responder tells of at its end, by their words.
fn totals(stderr: &str) -> BTreeMap<String, u64> {
    let line = stderr.lines().next().unwrap();
    // One of the words has a comma of its own.
    let line = line.replace("replies, not requests", "replies not requests");
    let parts = line.split(", ").map(|part| part.split_once(' ').unwrap());
    parts.map(|(count, words)| (words.to_owned(), count.parse().unwrap())).collect()
}

fn ordinary_rows() -> Vec<table::Row> {
    table::rows(include_str!("datagrams.tsv"))
}

/// Every row of the table is answered or not, and counted, as it states.
#[test]
fn datagram_table_is_answered_and_counted() {
    const NAME: &str = "datagrams::datagram_table_is_answered_and_counted";
    if is_inside() {
        return ordinary_rows().iter().zip(0..).for_each(|(row, sequence)| send_row(row, sequence));
    }
    let lab = Lab::path();
    let responder = lab.respond(&["--listen", "198.18.0.3:862", "--control", "198.18.0.3:8862"]);
    lab.run_on_host_a(NAME);
    responder.signal("TERM");
    let ended = responder.wait().with_code(0);
    assert_eq!(ended.stderr.lines().count(), 1, "bad packets make no lines: {ended:?}");
    let mut totals = totals(&ended.stderr);
    let rows = ordinary_rows();
    let answered = rows.iter().filter(|row| row["reply"] != "none").count() + rows.len();
    assert_eq!(totals.remove("reflected"), Some(answered.try_into().unwrap()));
    // Whether the kernel takes in what comes from its network's broadcast address depends on its settings; it does
    // not let us answer it.
    totals.retain(|words, _| {
        !["probes received", "replies not sent"].contains(&words.as_str()) && !words.starts_with("sessions")
    });
    let mut expected = BTreeMap::new();
    for row in rows.iter().filter(|row| row["counted"] != "-") {
        *expected.entry(row["counted"].replace(", ", " ")).or_insert(0) += 1;
    }
    assert_eq!(totals, expected);
}

fn send_row(row: &table::Row, sequence: u32) {
    let payload = octets(&row["payload"]);
    let tap = Tap::open();
    let ordinary = socket();
    let own = ordinary.local_addr().unwrap().port();
    let mut sender = None;
    match row["source"].strip_prefix("raw:") {
        Some(source) => send_as(source.parse().unwrap(), &payload),
        None => {
            let port = if row["source"] == "any" { "0" } else { &row["source"] };
            let socket = UdpSocket::bind(format!("198.18.0.2:{port}")).unwrap();
            socket.send_to(&payload, REFLECTOR).unwrap();
            sender = Some(socket);
        }
    }
    if row["reply"] != "none" {
        let heard = tap.hear(TIMEOUT).unwrap_or_else(|| panic!("no reply: {row:?}"));
        assert_eq!(heard.port, sender.unwrap().local_addr().unwrap().port(), "{row:?}");
        let expected = if row["reply"] == "base" { 44 } else { payload.len() };
        assert_eq!(heard.payload.len(), expected, "{row:?}");
        assert_eq!(heard.payload[24..38], payload[..14], "number, time and error come back: {row:?}");
    }
    assert_answers(&ordinary, sequence);
    let mut heard = std::iter::from_fn(|| tap.hear(Duration::from_millis(1)));
    assert!(heard.all(|heard| heard.port == own), "another reply: {row:?}");
}

/// Draws by a linear congruence: the same numbers at every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn octets(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| u8::try_from(self.below(256)).unwrap()).collect()
    }

    /// A datagram of one of the kinds that a reflector may get.
    fn datagram(&mut self) -> Vec<u8> {
        match self.below(5) {
            0 => {
                let length = self.below(60);
                self.octets(length)
            }
            1 => {
                let length = self.below(1_473);
                self.octets(length)
            }
            2 => {
                let mut reply = octets(
                    "00000001 e900000000020000 8001 0001 e900000000010000 00000001 e900000000000001 8001 0000 ff000000",
                );
                let (at, value) = (self.below(reply.len()), self.octets(1)[0]);
                reply[at] = value;
                reply.truncate(14 + self.below(31));
                reply
            }
            3 => [b"romer-associate1".to_vec(), self.octets(16), vec![0; 12]].concat(),
            _ => {
                let length = self.below(100);
                [request(0), self.octets(length)].concat()
            }
        }
    }
}

/// No datagram gets more than one reply, or one longer than itself and a base packet.
#[test]
fn replies_do_not_amplify() {
    const NAME: &str = "datagrams::replies_do_not_amplify";
    if is_inside() {
        let (asked, answered) = (0..20).map(send_batch).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        assert!(answered > asked / 10, "{answered} octets answered {asked}");
        return;
    }
    let lab = Lab::path();
    let responder = lab.respond(&["--listen", "198.18.0.3:862", "--control", "198.18.0.3:8862"]);
    lab.run_on_host_a(NAME);
    responder.signal("TERM");
    let ended = responder.wait().with_code(0);
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    let totals = totals(&ended.stderr);
    assert!(totals["reflected"] < totals["probes received"] && totals["too short"] > 0, "{totals:?}");
}

/// Sends 200 datagrams, each from a socket of its own, so that each reply is known to be to which. Gives the octets
/// sent and those that came back.
fn send_batch(number: u32) -> (usize, usize) {
    let mut draw = Draw(u64::from(number));
    let tap = Tap::open();
    let mut sent = BTreeMap::new();
    let sockets: Vec<UdpSocket> = (0..200).map(|_| socket()).collect();
    for socket in &sockets {
        let datagram = draw.datagram();
        socket.send_to(&datagram, REFLECTOR).unwrap();
        sent.insert(socket.local_addr().unwrap().port(), datagram.len());
    }
    let asked = sent.values().sum();
    let ordinary = socket();
    assert_answers(&ordinary, number);
    let mut answered = 0;
    while let Some(heard) = tap.hear(Duration::from_millis(20)) {
        if heard.port == ordinary.local_addr().unwrap().port() {
            continue;
        }
        let length = sent.remove(&heard.port).unwrap_or_else(|| panic!("a second reply: {heard:?}"));
        assert!(heard.payload.len() <= length.max(44), "{} octets for {length}", heard.payload.len());
        // With the headers of IPv4 and UDP: 72 octets for 42 at the most.
        assert!((heard.payload.len() + 28) * 100 <= (length + 28) * 172);
        answered += heard.payload.len();
    }
    (asked, answered)
}

/// Packets a second that the flooded responder grants.
const RATE: u64 = 200;

/// A flood is answered at the granted rate, and service resumes after it.
#[test]
fn floods_are_rate_limited() {
    const NAME: &str = "datagrams::floods_are_rate_limited";
    if is_inside() {
        return flood();
    }
    let lab = Lab::path();
    let responder = lab.respond(&[
        "--listen",
        "198.18.0.3:862",
        "--control",
        "198.18.0.3:8862",
        "--rate",
        &format!("{RATE}pps"),
    ]);
    lab.run_on_host_a(NAME);
    responder.signal("TERM");
    let totals = totals(&responder.wait().with_code(0).stderr);
    assert!(totals["over the rate limit"] > 0, "{totals:?}");
    assert_eq!(totals["probes received"], totals["reflected"] + totals["over the rate limit"], "{totals:?}");
}

fn flood() {
    let tap = Tap::open();
    let begin = Instant::now();
    let sender = socket();
    for sequence in 0..4_000 {
        sender.send_to(&request(sequence), REFLECTOR).unwrap();
        if sequence % 100 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let mut answered = 0;
    while tap.hear(Duration::from_millis(50)).is_some() {
        answered += 1;
    }
    // A full bucket, and what has dripped into it since.
    let granted = RATE + u64::try_from(begin.elapsed().as_nanos()).unwrap() * RATE / 1_000_000_000 + 1;
    assert!(answered >= RATE && answered <= granted, "{answered} answered, {granted} granted");
    // Whatever is left of the flood's debt, an ordinary sender is served again.
    sender.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut reply = [0; 100];
    while sender.recv(&mut reply).is_ok() {}
    let asked = (10_000..10_200).find(|sequence| {
        sender.send_to(&request(*sequence), REFLECTOR).unwrap();
        sender.recv(&mut reply).is_ok()
    });
    assert!(asked.is_some(), "no service after the flood");
}
