//! What is said to the control port.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use romer_session::control::{ClientHello, ClockIdentity, Decoder, Message, Request, ServerHello, VERSION};
use serde::Serialize;
use socket2::{Domain, Socket, Type};

use crate::common::lab::{FAR, Lab, is_inside};
use crate::table::{self, octets};

const CONTROL: &str = "198.18.0.3:8862";
/// How long an answer is waited for. The longest deadline of a responder is ten seconds.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A connection to the responder.
pub(crate) struct ControlConnection {
    stream: TcpStream,
    decoder: Decoder,
}

impl ControlConnection {
    fn open() -> Self {
        Self::over(TcpStream::connect(CONTROL).unwrap())
    }

    /// To `control`, from `address` of this host.
    pub(crate) fn from(address: IpAddr, control: SocketAddr) -> Self {
        let socket = Socket::new(Domain::for_address(control), Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::new(address, 0).into()).unwrap();
        socket.connect(&control.into()).unwrap();
        Self::over(socket.into())
    }

    fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        Self { stream, decoder: Decoder::default() }
    }

    /// Says this. A peer that has hung up is found out by listening.
    pub(crate) fn say(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// What is said next; `None` where the connection was closed.
    pub(crate) fn hear(&mut self) -> Option<Message> {
        let mut buffer = [0; 4_096];
        loop {
            if let Some(message) = self.decoder.next().unwrap() {
                return Some(message);
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(length) => self.decoder.extend(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    pub(crate) fn greet(&mut self) -> Option<Message> {
        self.say(&encoded(&hello()));
        self.hear()
    }

    pub(crate) fn request(&mut self) -> Option<Message> {
        self.say(&encoded(&Message::Request(round_trip())));
        self.hear()
    }
}

/// A request for a short session.
pub(crate) const fn round_trip() -> Request {
    Request {
        ssid: 1,
        interval_ns: 10_000_000,
        count: 10,
        payload_octets: 44,
        direction: romer_record::document::ProbeDirection::RoundTrip,
        stream: None,
    }
}

/// The greeting of a sender.
pub(crate) fn hello() -> Message {
    let clock = ClockIdentity { boot_id: String::new(), realtime_minus_boottime_ns: 0 };
    Message::Hello(ClientHello { version: VERSION, software: "test".into(), clock, features: Vec::new() })
}

pub(crate) fn encoded(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    bytes
}

/// A frame, its lengths and all, made by hand.
pub(crate) fn frame(kind: u8, body: &str) -> Vec<u8> {
    let length = u32::try_from(1 + body.len()).unwrap();
    [&length.to_be_bytes()[..], &[kind], body.as_bytes()].concat()
}

/// A code as it is written in JSON.
fn code(code: impl Serialize) -> String {
    serde_json::to_value(code).unwrap().as_str().unwrap().to_owned()
}

/// An answer as the table has it.
fn words(answer: &Message) -> String {
    match answer {
        Message::Complaint(complaint) => format!("complaint:{}", code(complaint.code)),
        Message::Refused(refused) => {
            let granted = refused.granted.map_or("-".to_owned(), |granted| granted.to_string());
            format!("refused:{}:{granted}", code(refused.code))
        }
        other => format!("{other:?}"),
    }
}

fn say_row(row: &table::Row) {
    let mut link = ControlConnection::open();
    let mut greeted = false;
    for step in row["said"].split(' ') {
        let (verb, rest) = step.split_once(':').unwrap_or((step, ""));
        match verb {
            "nothing" => {}
            "hello" => {
                assert!(
                    matches!(link.greet(), Some(Message::Welcome(ServerHello { version: VERSION, .. }))),
                    "{row:?}"
                );
                greeted = true;
            }
            "bytes" => assert!(link.say(&octets(rest)), "{row:?}"),
            "frame" => {
                let (kind, body) = rest.split_once(':').unwrap();
                assert!(link.say(&frame(kind.parse().unwrap(), body)), "{row:?}");
            }
            "drip" => drip(&mut link),
            other => panic!("{other:?} is nothing that can be said"),
        }
    }
    if row["answer"] != "nothing" {
        let answer = link.hear().unwrap_or_else(|| panic!("hung up on: {row:?}"));
        assert!(is_as_said(&words(&answer), &row["answer"]), "{row:?}: {answer:?}");
    }
    match (row["then"].as_str(), greeted) {
        ("closed", _) => assert!(link.hear().is_none(), "{row:?}"),
        (_, true) => assert!(matches!(link.request(), Some(Message::Granted(_))), "{row:?}"),
        (_, false) => assert!(matches!(link.greet(), Some(Message::Welcome(_))), "{row:?}"),
    }
}

/// Whether an answer is that of the table. The rate that may be asked for is less by what the other rows, which say their
/// own from this address meanwhile, have been granted.
fn is_as_said(answer: &str, said: &str) -> bool {
    const OTHERS: u64 = 10_000;
    let rate = |text: &str| text.strip_prefix("refused:rate:")?.parse::<u64>().ok();
    match (rate(answer), rate(said)) {
        (Some(left), Some(all)) => (all - OTHERS..=all).contains(&left),
        _ => answer == said,
    }
}

/// Says a long frame slowly, until nobody listens any more.
fn drip(link: &mut ControlConnection) {
    let slow = frame(1, &" ".repeat(1_000));
    for octet in slow {
        if !link.say(&[octet]) {
            return;
        }
        thread::sleep(Duration::from_millis(250));
    }
    panic!("250 s of dripping were listened to");
}

/// Every row of the table gets the stated answer and disturbs no other session.
#[test]
fn control_table_is_answered() {
    const NAME: &str = "control::control_table_is_answered";
    if is_inside() {
        let rows = table::rows(include_str!("frames.tsv"));
        // Side by side: those that wait for a deadline must not hold up the others.
        return thread::scope(|scope| {
            let rows: Vec<_> = rows.iter().map(|row| scope.spawn(move || say_row(row))).collect();
            assert!(rows.into_iter().all(|row| row.join().is_ok()));
        });
    }
    let lab = Lab::path();
    let responder = lab.respond(&["--insecure"]);
    thread::scope(|scope| {
        let rows = scope.spawn(|| lab.run_on_host_a(NAME));
        let document = lab.measure(&["--count", "20", "--interval", "10ms", FAR]).document();
        assert_eq!(crate::common::count(&document, "/reverse/packets/received"), 20);
        rows.join().unwrap();
    });
    responder.signal("TERM");
    let ended = responder.wait().with_code(0);
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
}

#[test]
fn conversations_that_come_to_nothing_are_counted_by_whether_they_were_understood() {
    const NAME: &str =
        "control::conversations_that_come_to_nothing_are_counted_by_whether_they_were_understood";
    if is_inside() {
        return fruitless();
    }
    let lab = Lab::path();
    let responder = lab.respond(&["--insecure", "--json", "-"]);
    lab.run_on_host_a(NAME);
    responder.signal("TERM");
    let ended = responder.wait().with_code(0);
    let document = ended.document();
    let refused = |name: &str| crate::common::count(&document, &format!("/sessions/refused/{name}"));
    assert_eq!((refused("invalid_message"), refused("no_request")), (5, 4), "{document:#}");
    let granted = crate::common::count(&document, "/sessions/accepted");
    assert_eq!((granted, refused("invalid"), refused("busy")), (1, 0, 0));
    assert!(
        ended.stderr.contains(
            ", 5 control connections with invalid messages, 4 control connections without a request"
        )
    );
}

fn fruitless() {
    for _ in 0..3 {
        drop(ControlConnection::open());
    }
    let mut greeted = ControlConnection::open();
    assert!(greeted.greet().is_some());
    drop(greeted);
    for said in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"{}hello", &[0xff; 100_000]] {
        let mut link = ControlConnection::open();
        link.say(said);
        assert!(link.hear().is_none());
    }
    for said in [frame(1, "{"), frame(99, "")] {
        let mut link = ControlConnection::open();
        link.say(&said);
        assert!(matches!(link.hear(), Some(Message::Complaint(_))));
    }
    // What was said before is heard before this one is answered.
    let mut last = ControlConnection::open();
    assert!(last.greet().is_some());
    assert!(matches!(last.request(), Some(Message::Granted(_))));
}
