//! The control channel: frames in any chunks, at any times, and the responder's machine behind them.

use core::net::{Ipv4Addr, SocketAddr};

use romer_record::document::ProbeDirection;
use romer_record::log::{ResponderDeparture, ResponderRecord};
use romer_record::refusal::Refusal;
use romer_session::control::{
    Action, ClientHello, Decoder, LONGEST_FRAME, Limits, Message, Received, Request, Resume, Server, VERSION,
};
use romer_traffic::Departure;
use romer_units::{Duration, Monotonic, Timestamp};

use crate::Seed;
use crate::control::{hello, welcome};
use crate::log_entries::far;
use crate::script::Script;

/// Octets before a frame: its length.
const LENGTH: usize = 4;
/// The longest message of a complaint or refusal.
const LONGEST_MESSAGE: usize = 2_000;

pub(crate) fn run(octets: &[u8]) {
    decode(octets);
    converse(octets);
}

/// The bytes as frames: what is read is written as something that reads the same.
fn decode(octets: &[u8]) {
    let mut decoder = Decoder::default();
    decoder.extend(octets);
    // No frame is shorter than its length and its type.
    for _ in 0..=octets.len() / (LENGTH + 1) {
        match decoder.next() {
            Ok(Some(Message::Unknown(_))) => {}
            Ok(Some(message)) => assert_reads_back(&message),
            Ok(None) => return,
            Err(error) => {
                let closes = matches!(error, romer_session::control::CodecError::Length { .. });
                assert!(error.to_string().len() < LONGEST_MESSAGE, "{error}");
                if closes {
                    return;
                }
            }
        }
    }
    panic!("more frames than octets for them");
}

fn assert_reads_back(message: &Message) {
    let mut written = Vec::new();
    message.encode(&mut written);
    assert!(written.len() <= LENGTH + LONGEST_FRAME, "{} octets", written.len());
    let mut decoder = Decoder::default();
    decoder.extend(&written);
    assert_eq!(decoder.next().ok().flatten().as_ref(), Some(message));
}

/// The bytes as what happens: octets below 128 say how many more are received, the others are events.
fn converse(octets: &[u8]) {
    let mut now = Timestamp::<Monotonic>::from_nanos(0);
    let limits = Limits { buffered_records: 16, ..Limits::default() };
    let server = Server::new(limits, welcome(), [7; 16], now).with_one_way([8; 16]);
    let mut server = server.with_resumption([9; 16]);
    let source = SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 40_000));
    let (mut script, mut opened, mut closed) = (Script::new(octets), 0, false);
    while let Some(what) = script.octet() {
        let mut actions = match what {
            0..=127 => server.on_bytes(script.take(usize::from(what) + 1), false, now),
            128..=159 => {
                now = now + Duration::from_micros(1 << (what - 128));
                server.on_time(now)
            }
            160..=175 => server.on_associated(source, now),
            176..=191 => {
                server.on_record(if what % 2 == 0 { far(what.into()) } else { ResponderRecord::default() })
            }
            192..=199 => server
                .on_departure(ResponderDeparture { refused: what % 2 == 0, ..ResponderDeparture::default() }),
            200..=207 => server.on_departed(what.into()),
            208..=223 => server.finish(),
            224..=231 => {
                server.on_losses(3, 4);
                Vec::new()
            }
            255 => {
                server.on_lost_connection(now);
                Vec::new()
            }
            232..=239 => server.on_bytes(script.take(128 << (what - 232)), true, now),
            _ => server.on_bytes(script.take(128 << (what - 240)), false, now),
        };
        assert!(!closed || actions.is_empty(), "{actions:?} after the end");
        if let Some(Action::Resume(resume)) = actions.last() {
            assert!(!server.is_shown(resume), "there is no session yet");
            actions.extend(server.refuse_resumption(Refusal::NoSession));
        }
        for action in actions {
            match action {
                Action::Send(message) => {
                    if let Message::Complaint(complaint) = &message {
                        assert!(complaint.message.len() < LONGEST_MESSAGE);
                    }
                    assert_reads_back(&message);
                }
                Action::Open(session) => {
                    opened += 1;
                    let request = &session.request;
                    let own = request.stream.is_some();
                    assert!(own || (request.interval_ns > 0 && request.count > 0), "{session:?}");
                }
                Action::Finish
                | Action::Start
                | Action::Halt
                | Action::CountDamage(_)
                | Action::Resume(_)
                | Action::Pair(_)
                | Action::Authenticate
                | Action::Repeat(_) => {}
                Action::Close => closed = true,
            }
        }
        assert_eq!(closed, server.is_over());
    }
    assert!(opened <= 1, "one conversation, one session");
    // Whatever was said, time ends it.
    if let Some(deadline) = server.deadline() {
        assert_eq!(server.on_time(deadline), [Action::Close]);
        assert!(server.is_over());
    }
}

pub(crate) fn seeds() -> Vec<Seed> {
    let frame = |message: &Message| {
        let mut octets = Vec::new();
        message.encode(&mut octets);
        octets
    };
    // As much at once as the script's shortest way of saying it.
    let said = |octets: &[u8]| {
        octets
            .chunks(128)
            .flat_map(|chunk| [&[u8::try_from(chunk.len() - 1).expect("at most 128")][..], chunk].concat())
            .collect::<Vec<u8>>()
    };
    let hello =
        |version| frame(&Message::Hello(ClientHello { version, features: vec!["resume".into()], ..hello() }));
    let request = |interval_ns, count, payload_octets| {
        frame(&Message::Request(Request {
            ssid: 7,
            interval_ns,
            count,
            payload_octets,
            direction: ProbeDirection::RoundTrip,
            stream: None,
        }))
    };
    let stop = frame(&Message::Stop);
    let begun = [said(&hello(VERSION)), said(&request(20_000_000, 100, 44))].concat();
    let raw = |octets: &[u8]| octets.to_vec();
    vec![
        Seed::new("empty", []),
        Seed::new("hello", said(&hello(VERSION))),
        Seed::new("hello_of_another_version", said(&hello(99))),
        Seed::new(
            "hello_octet_by_octet",
            hello(VERSION).iter().flat_map(|octet| [0, *octet]).collect::<Vec<_>>(),
        ),
        Seed::new("session", begun.clone()),
        Seed::new(
            "session_to_its_end",
            [begun.clone(), raw(&[160]), vec![176; 20], said(&stop), raw(&[177, 208])].concat(),
        ),
        Seed::new(
            "session_with_losses",
            [begun.clone(), raw(&[160, 224]), said(&stop), raw(&[208])].concat(),
        ),
        Seed::new("request_first", said(&request(20_000_000, 100, 44))),
        Seed::new("request_too_fast", [said(&hello(VERSION)), said(&request(1, 100, 44))].concat()),
        Seed::new(
            "request_too_long",
            [said(&hello(VERSION)), said(&request(i64::MAX, u64::MAX, 44))].concat(),
        ),
        Seed::new("request_of_nothing", [said(&hello(VERSION)), said(&request(0, 0, 0))].concat()),
        Seed::new("request_twice", [begun.clone(), said(&request(20_000_000, 100, 44))].concat()),
        Seed::new(
            "resume",
            [
                said(&hello(VERSION)),
                said(&frame(&Message::Resume(Resume { secret: "09".repeat(16), heard: 1, silent_ns: 5 }))),
            ]
            .concat(),
        ),
        Seed::new(
            "received_and_lost",
            [
                begun.clone(),
                vec![176; 20],
                said(&frame(&Message::Received(Received { messages: 1 }))),
                raw(&[255]),
            ]
            .concat(),
        ),
        Seed::new(
            "departures_told",
            [
                said(&hello(VERSION)),
                said(&frame(&Message::Part(vec![
                    Departure { offset: Duration::from_millis(5), size: 44 };
                    3
                ]))),
            ]
            .concat(),
        ),
        Seed::new("stop_first", said(&stop)),
        Seed::new("nothing_said", raw(&[128 + 23])),
        Seed::new("no_association", [begun, raw(&[128 + 31])].concat()),
        Seed::new("length_zero", said(&[0, 0, 0, 0])),
        Seed::new("length_largest", said(&[0xff; 8])),
        Seed::new("unknown_type", said(&[0, 0, 0, 1, 200])),
        Seed::new("body_that_is_no_json", said(&[0, 0, 0, 2, 1, b'{'])),
        Seed::new("log_frame", frame(&Message::Log(vec![far(1), ResponderRecord::default()]))),
        Seed::new("two_frames", [hello(VERSION), stop].concat()),
        Seed::new("tls_client_hello", said(&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3])),
    ]
}
