//! A valid conversation whose fields are changed one by one: what a responder answers stays small, whatever is asked of it.

use core::net::{Ipv4Addr, SocketAddr};

use romer_record::document::ProbeDirection;
use romer_session::control::{Action, LONGEST_FRAME, Limits, Message, Request, ReverseStreamRequest, Server};
use romer_traffic::{Limit, Request as Traffic};
use romer_units::{Duration, Monotonic, Timestamp};
use serde_json::Value;

use crate::Seed;
use crate::control::{hello, welcome};
use crate::json::change;
use crate::script::Script;

/// Octets of all answers of a responder before a session is open: a few messages, each of a bounded length.
const MOST_ANSWERED: usize = 16 << 10;
/// The first octet says which way probes go; then each change has an octet for the message (hello or request), and what
/// [`change`] takes.
pub(crate) fn run(octets: &[u8]) {
    let mut script = Script::new(octets);
    let direction =
        [ProbeDirection::RoundTrip, ProbeDirection::Forward, ProbeDirection::Reverse, ProbeDirection::Both]
            [usize::from(script.octet().unwrap_or(0)) % 4];
    let mut bodies = [value(&hello()), value(&request(direction))];
    for _ in 0..8 {
        let Some(which) = script.octet() else { break };
        change(&mut bodies[usize::from(which) % 2], &mut script);
    }
    let templates = [Message::Hello(hello()), Message::Request(request(direction))];
    let now = Timestamp::<Monotonic>::from_nanos(0);
    let server = Server::new(Limits::default(), welcome(), [7; 16], now).with_one_way([8; 16]);
    let mut server = server.with_resumption([9; 16]);
    let (mut answered, mut opened) = (0, 0);
    for (template, body) in templates.iter().zip(&bodies) {
        for action in server.on_bytes(&frame(template, body), false, now) {
            match action {
                Action::Send(message) => {
                    let mut written = Vec::new();
                    message.encode(&mut written);
                    answered += written.len();
                }
                Action::Open(session) => {
                    opened += 1;
                    if let Some(stream) = &session.request.stream {
                        assert!(stream.schedule().is_ok(), "granted, and has no schedule: {stream:?}");
                    }
                    let own = session.request.stream.is_some();
                    assert!(own || session.request.count > 0, "granted for nothing: {session:?}");
                }
                _ => {}
            }
        }
    }
    assert!(answered <= MOST_ANSWERED, "{answered} octets of answers");
    assert!(opened <= 1, "one conversation, one session");
    let source = SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 40_000));
    server.on_associated(source, now);
    if let Some(deadline) = server.deadline() {
        server.on_time(deadline);
    }
}

/// A frame of the type of `template` with this body.
fn frame(template: &Message, body: &Value) -> Vec<u8> {
    let mut valid = Vec::new();
    template.encode(&mut valid);
    let kind = valid.get(4).copied().unwrap_or_default();
    let mut text = body.to_string().into_bytes();
    text.truncate(LONGEST_FRAME - 1);
    let length = u32::try_from(text.len() + 1).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], &[kind], &text].concat()
}

fn value(body: &impl serde::Serialize) -> Value {
    serde_json::to_value(body).expect("a message is JSON")
}

fn request(direction: ProbeDirection) -> Request {
    let traffic = Traffic {
        interval: Some(Duration::from_millis(20)),
        size: Some(64),
        ..Traffic::new("periodic".parse().expect("a model"), Limit::Count(100))
    };
    let stream =
        matches!(direction, ProbeDirection::Reverse).then(|| ReverseStreamRequest::new(&traffic, 0, 0, 64));
    Request { ssid: 7, interval_ns: 20_000_000, count: 100, payload_octets: 64, direction, stream }
}

pub(crate) fn seeds() -> Vec<Seed> {
    // The fields of a request are in the order of their names, the stream is the last but one; so are those of the stream.
    let of_stream = |field: u8, value: [u8; 2]| [2, 1, 5, field, value[0], value[1]];
    vec![
        Seed::new("empty", []),
        Seed::new("round_trip", [0]),
        Seed::new("forward", [1]),
        Seed::new("reverse", [2]),
        Seed::new("both", [3]),
        Seed::new("count_of_all", [0, 1, 0, 5, 0]),
        Seed::new("interval_of_nothing", [0, 1, 2, 2, 0]),
        Seed::new("direction_as_number", [0, 1, 1, 2, 1]),
        Seed::new("stream_of_null", [2, 1, 5, 14, 0, 0]),
        Seed::new("model_of_empty_groups", of_stream(9, [7, 2])),
        Seed::new("model_of_large_groups", of_stream(9, [7, 3])),
        Seed::new("model_of_a_file", of_stream(9, [7, 6])),
        Seed::new("jitter_of_hours", of_stream(8, [7, 8])),
        Seed::new("count_of_a_stream", of_stream(1, [5, 0])),
        Seed::new("software_with_escape", [0, 0, 2, 7, 18]),
        Seed::new("version_of_null", [0, 0, 3, 0, 0]),
        Seed::new("deep", [0, 0, 4, 10, 255]),
        Seed::new("two_changes", [2, 1, 0, 2, 10, 1, 5, 2, 2, 10]),
    ]
}
