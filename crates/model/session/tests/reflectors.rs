//! Reflectors against each other, and against requests that somebody has changed: what they send is bounded.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::sync::Arc;

use romer_session::limit::Limiter;
use romer_session::reflector::{Incoming, Reflector, ReflectorAction, Refusal, Rules};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Duration, Monotonic, Responder, Timestamp};
use romer_wire::stamp::{
    AUTHENTICATED_BASE, BASE, ErrorEstimate, Key, ReflectorPacket, ReplyFormat, ReplyLength, SHORTEST,
    SHORTEST_RECOGNISABLE, SenderPacket, TimestampFormat, WireTime,
};

const NOW: i64 = 1_795_000_000_123_456_789;
/// Octets of the headers of IPv4 and UDP.
const HEADERS: usize = 28;

fn error() -> ErrorEstimate {
    ErrorEstimate::new(true, TimestampFormat::Ntp, 12, 200).unwrap()
}

fn reflector(rules: Rules) -> Reflector {
    let limiter = Limiter::new(1_000_000_000, 16, (1, 2), Timestamp::from_nanos(0));
    Reflector::with_rules(limiter, rules, (3, 4))
}

fn request(sequence: u32) -> SenderPacket {
    let timestamp = WireTime::from_unix_nanos(NOW, TimestampFormat::Ntp);
    SenderPacket { sequence, timestamp, error: error(), ssid: NonZeroU16::new(0x5a5b) }
}

/// Where a datagram comes from and goes to, and whether a session has proved the source.
#[derive(Clone, Copy)]
struct Path {
    source: SocketAddr,
    destination: SocketAddr,
    proved: bool,
}

/// The reply to `payload`, which comes `at` nanoseconds after [`NOW`], and leaves `stay` later.
fn reply(
    reflector: &mut Reflector,
    payload: &[u8],
    Path { source, destination, proved }: Path,
    at: Duration,
    stay: Duration,
) -> Option<Vec<u8>> {
    let arrived = Timestamp::<Responder>::from_nanos(NOW) + at;
    let incoming = Incoming {
        payload,
        source,
        destination,
        ttl: Some(61),
        tos: Some(0),
        arrived,
        proved,
        expected: false,
    };
    let now = Timestamp::<Monotonic>::from_nanos(at.as_nanos());
    let ReflectorAction::Answer(answer) = reflector.on_datagram(&incoming, now) else { return None };
    let mut buffer = vec![0xee; 2_000];
    let written = answer.write(arrived + stay, error(), &mut buffer)?;
    reflector.on_reflected(&written);
    buffer.truncate(written.octets);
    Some(buffer)
}

/// Of two reflectors at unlike ports, the reply of one is never answered by the other, whatever the spoofed datagram
/// that began it holds and however long it is, though sessions have proved each to the other as a sender.
#[test]
fn replies_are_never_answered() {
    let lengths = [ReplyLength::AtLeastBase, ReplyLength::Symmetric];
    let formats = [ReplyFormat::Ntp, ReplyFormat::Ptp, ReplyFormat::AsRequested];
    let ports = [[862, 862], [862, 40_000], [40_000, 862], [40_000, 50_001], [1_024, 65_535]];
    let mut answered = 0;
    for [length, other_length] in lengths.map(|one| lengths.map(|other| [one, other])).into_iter().flatten() {
        for [format, other_format] in
            formats.map(|one| formats.map(|other| [one, other])).into_iter().flatten()
        {
            for [port, other_port] in ports {
                let addresses = [
                    SocketAddr::new("192.0.2.1".parse().unwrap(), port),
                    SocketAddr::new("198.51.100.2".parse().unwrap(), other_port),
                ];
                let rules = |length, format, port| Rules {
                    length,
                    format,
                    stateful: false,
                    own_ports: vec![port],
                    ..Rules::default()
                };
                let mut both = [
                    reflector(rules(length, format, port)),
                    reflector(rules(other_length, other_format, other_port)),
                ];
                for octets in 0..=200 {
                    for (content, proved) in
                        [0, 0xff, 1].into_iter().flat_map(|content| [(content, false), (content, true)])
                    {
                        let mut datagram = vec![content; octets];
                        if content == 1 {
                            datagram.fill(0);
                            let mut valid = [0; BASE];
                            request(7).emit(&mut valid).unwrap();
                            datagram.iter_mut().zip(valid).for_each(|(octet, value)| *octet = value);
                        }
                        let replies = exchange(&mut both, addresses, proved, datagram);
                        assert!(
                            replies <= 1,
                            "{octets} octets of {content}, {addresses:?}, {length:?} and {other_length:?}, {proved}"
                        );
                        answered += replies;
                    }
                }
            }
        }
    }
    assert!(answered > 10_000, "{answered} were answered at all");
}

/// A datagram that seems to come from the second of `both` reaches the first; gives how many replies that makes before
/// one is not answered, 10 at most.
fn exchange(
    both: &mut [Reflector; 2],
    addresses: [SocketAddr; 2],
    proved: bool,
    mut datagram: Vec<u8>,
) -> usize {
    for replies in 0..10 {
        let here = replies % 2;
        let path = Path { source: addresses[1 - here], destination: addresses[here], proved };
        let at = Duration::from_millis(i64::try_from(replies).unwrap());
        match reply(&mut both[here], &datagram, path, at, Duration::from_micros(30)) {
            Some(answer) => datagram = answer,
            None => return replies,
        }
    }
    10
}

/// A reflector of somebody else's, which answers whatever it gets and states a receive timestamp that is none: zero, another
/// clock's, or one octet of padding. Ours answers the datagram that seems to come from it, and one reply of its at the most.
#[test]
fn foreign_reflectors_start_no_loop() {
    let addresses = ["192.0.2.1:40000".parse().unwrap(), "198.51.100.2:50001".parse().unwrap()];
    let [ours, theirs] = addresses;
    let hour = WireTime::from_unix_nanos(NOW - 3_600_000_000_000, TimestampFormat::Ntp);
    let paths = [false, true].map(|proved| Path { source: theirs, destination: ours, proved });
    for (received, path) in [WireTime(0), hour, WireTime(u64::MAX)]
        .map(|time| paths.map(|path| (time, path)))
        .into_iter()
        .flatten()
    {
        for length in [ReplyLength::AtLeastBase, ReplyLength::Symmetric] {
            for octets in SHORTEST..=200 {
                let mut one = reflector(Rules { length, ..Rules::default() });
                let mut datagram = vec![0; octets];
                request(7).emit(&mut datagram).unwrap();
                let mut replies = 0;
                while let Some(answer) = reply(
                    &mut one,
                    &datagram,
                    path,
                    Duration::from_millis(20 * replies),
                    Duration::from_micros(30),
                ) {
                    replies += 1;
                    assert!(replies < 3, "{octets} octets, {length:?}, {received:?}");
                    let asked = SenderPacket::parse(&answer).unwrap();
                    let departs = WireTime::from_unix_nanos(NOW, TimestampFormat::Ntp);
                    datagram = answer;
                    let back = ReflectorPacket::answering(&asked, received, departs, error(), 64);
                    back.emit_over(&mut datagram).unwrap();
                }
            }
        }
    }
}

/// With one key for both, neither answers the other's replies.
#[test]
fn authenticated_replies_are_never_answered() {
    let key = Arc::new(Key::new(&[7; 32]).unwrap());
    for time in [0, NOW] {
        for octets in AUTHENTICATED_BASE..=200 {
            let rules = || Rules { key: Some(Arc::clone(&key)), ..Rules::default() };
            let addresses = ["192.0.2.1:40000".parse().unwrap(), "198.51.100.2:50001".parse().unwrap()];
            let timestamp =
                if time == 0 { WireTime(0) } else { WireTime::from_unix_nanos(time, TimestampFormat::Ntp) };
            let mut datagram = vec![0; octets];
            SenderPacket { timestamp, ..request(7) }.emit_authenticated(&mut datagram, &key).unwrap();
            for proved in [false, true] {
                let mut both = [reflector(rules()), reflector(rules())];
                let replies = exchange(&mut both, addresses, proved, datagram.clone());
                assert_eq!(replies, 1, "{octets} octets, time {time}, {proved}");
            }
        }
    }
}

/// A reply that leaves so late that it could not be recognised as one does not leave, to nobody.
#[test]
fn late_replies_are_not_sent() {
    let [source, destination] = ["198.51.100.2:50001", "192.0.2.1:40000"].map(|at| at.parse().unwrap());
    let paths = [false, true].map(|proved| Path { source, destination, proved });
    for (format, path) in [ReplyFormat::Ntp, ReplyFormat::Ptp]
        .map(|format| paths.map(|path| (format, path)))
        .into_iter()
        .flatten()
    {
        for (stay_ms, sent) in [(0, true), (9_999, true), (10_001, false), (60_000, false), (-10_001, false)]
        {
            let mut datagram = vec![0; BASE];
            request(7).emit(&mut datagram).unwrap();
            let mut one = reflector(Rules { format, ..Rules::default() });
            let stay = Duration::from_millis(stay_ms);
            let answer = reply(&mut one, &datagram, path, Duration::ZERO, stay);
            assert_eq!(answer.is_some(), sent, "{stay_ms} ms, {format:?}");
        }
    }
}

/// Where replies are as long as requests, a request whose reply could not be recognised is too short. A sender that has proved
/// itself gets replies as long as its requests where these can be recognised.
#[test]
fn symmetric_replies_hold_their_marks() {
    for (length, octets, proved, reply) in [
        (ReplyLength::Symmetric, 35, false, None),
        (ReplyLength::Symmetric, 35, true, None),
        (ReplyLength::Symmetric, 14, true, None),
        (ReplyLength::Symmetric, 36, false, Some(36)),
        (ReplyLength::Symmetric, 43, false, Some(43)),
        (ReplyLength::AtLeastBase, 13, false, None),
        (ReplyLength::AtLeastBase, 14, false, Some(44)),
        (ReplyLength::AtLeastBase, 43, false, Some(44)),
        (ReplyLength::AtLeastBase, 45, false, Some(45)),
        // A stream that the control channel has arranged is as long in both directions.
        (ReplyLength::AtLeastBase, 36, true, Some(36)),
        (ReplyLength::AtLeastBase, 35, true, Some(44)),
        (ReplyLength::AtLeastBase, 14, true, Some(44)),
    ] {
        let mut datagram = vec![0; octets];
        let _ = request(7).emit(&mut datagram);
        let mut one = reflector(Rules { length, ..Rules::default() });
        let incoming = Incoming {
            payload: &datagram,
            source: "198.51.100.2:50001".parse().unwrap(),
            destination: "192.0.2.1:40000".parse().unwrap(),
            ttl: Some(61),
            tos: Some(0),
            arrived: Timestamp::from_nanos(NOW),
            proved,
            expected: false,
        };
        let written = match one.on_datagram(&incoming, Timestamp::from_nanos(0)) {
            ReflectorAction::Answer(answer) => {
                let mut buffer = [0; 100];
                answer.write(Timestamp::from_nanos(NOW + 1), error(), &mut buffer).map(|one| one.octets)
            }
            ReflectorAction::Refused(refusal) => {
                assert_eq!(refusal, Refusal::TooShort);
                None
            }
            ReflectorAction::Association(_) => panic!("nobody proved anything"),
        };
        assert_eq!(written, reply, "{length:?}, {octets} octets, proved {proved}");
    }
}

/// Draws from a seeded stream.
struct Draw {
    stream: RandomStream,
    next: u64,
}

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.next += 1;
        usize::try_from(self.stream.bits(self.next) % u64::try_from(bound).unwrap()).unwrap()
    }

    fn octet(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }

    /// A value for a field: all zeros, all ones, one bit flipped, or random octets.
    fn mutate(&mut self, field: &mut [u8]) {
        match self.below(4) {
            0 => field.fill(0),
            1 => field.fill(0xff),
            2 if !field.is_empty() => {
                let at = self.below(field.len());
                field[at] ^= 1 << self.below(8);
            }
            _ => field.iter_mut().for_each(|octet| *octet = self.octet()),
        }
    }
}

/// A valid request with one to three of its fields changed; `key` makes the code anew in half of the cases.
fn mutated(draw: &mut Draw, key: Option<&Key>, sequence: u32) -> Vec<u8> {
    /// Extensions as RFC 8972 has them: Extra Padding, Class of Service, Follow-Up Telemetry, HMAC, an unknown one.
    const EXTENSIONS: [&[u8]; 5] = [
        &[0x80, 1, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8],
        &[0x80, 4, 0, 4, 0xb8, 0, 0, 0],
        &[0x80, 7, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0x80, 8, 0, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
        &[0x80, 99, 0, 0],
    ];
    let mut octets;
    let fields: &[std::ops::Range<usize>] = if let Some(key) = key {
        octets = vec![0; AUTHENTICATED_BASE];
        request(sequence).emit_authenticated(&mut octets, key).unwrap();
        &[0..4, 4..16, 16..24, 24..26, 26..28, 28..32, 32..40, 40..96, 96..112]
    } else {
        octets = vec![0; BASE];
        request(sequence).emit(&mut octets).unwrap();
        &[0..4, 4..12, 12..14, 14..16, 16..24, 24..28, 28..36, 36..38, 38..40, 40..41, 41..44]
    };
    let base = octets.len();
    (0..draw.below(4)).for_each(|_| octets.extend(EXTENSIONS[draw.below(5)]));
    for _ in 0..=draw.below(3) {
        match draw.below(8) {
            0 => {
                let length = draw.below(octets.len() + 1);
                octets.truncate(length);
            }
            1 => {
                let (fill, more) = (draw.octet(), draw.below(1_400));
                octets.extend(std::iter::repeat_n(fill, more));
            }
            // A header of an extension, or its value.
            2 if octets.len() > base => {
                let at = base + draw.below(octets.len() - base);
                let end = octets.len().min(at + 4);
                draw.mutate(&mut octets[at..end]);
            }
            _ => {
                let field = fields[draw.below(fields.len())].clone();
                let (start, end) = (field.start.min(octets.len()), field.end.min(octets.len()));
                draw.mutate(&mut octets[start..end]);
            }
        }
    }
    if let (Some(key), Some(covered), 0) = (key, octets.get(..96), draw.below(2)) {
        let code = key.tag(&[covered]);
        octets.iter_mut().skip(96).zip(code).for_each(|(octet, value)| *octet = value);
    }
    octets
}

/// No request, whatever is changed in it, makes a reflector send more than 1.72 times its octets of IP; and no reflector answers
/// what it sent, whether a session has proved the address or not.
#[test]
fn mutated_requests_bound_replies() {
    const REQUESTS: u32 = 60_000;
    let key = Arc::new(Key::new(&[7; 32]).unwrap());
    let here: SocketAddr = "192.0.2.1:40000".parse().unwrap();
    let mut draw = Draw { stream: RandomStream::new(Seed([3, 5, 0, 4, 3, 6]), [0, 0]), next: 0 };
    let cases = [
        Rules::default(),
        Rules { stateful: true, format: ReplyFormat::AsRequested, ..Rules::default() },
        Rules { length: ReplyLength::Symmetric, ..Rules::default() },
        Rules { key: Some(Arc::clone(&key)), ..Rules::default() },
    ];
    let mut longer = 0;
    for rules in cases {
        let (keyed, symmetric) = (rules.key.clone(), rules.length == ReplyLength::Symmetric);
        let (mut one, mut other) = (reflector(rules.clone()), reflector(rules));
        let mut answered = 0;
        for sequence in 0..REQUESTS / 4 {
            let payload = mutated(&mut draw, keyed.as_deref(), sequence);
            let proved = draw.below(4) == 0;
            // A session of its own: a number or a time that was changed makes others of its session replays.
            let port = 2_000 + u16::try_from(sequence).unwrap();
            let source = SocketAddr::new("198.51.100.2".parse().unwrap(), port);
            let incoming = Incoming {
                payload: &payload,
                source,
                destination: here,
                ttl: Some(61),
                tos: Some(0),
                arrived: Timestamp::from_nanos(NOW),
                proved,
                expected: false,
            };
            let now = Timestamp::from_nanos(i64::from(sequence) * 1_000_000);
            let ReflectorAction::Answer(answer) = one.on_datagram(&incoming, now) else { continue };
            let mut buffer = vec![0xee; 8_000];
            let Some(written) = answer.write(Timestamp::from_nanos(NOW + 30_000), error(), &mut buffer)
            else {
                panic!("request {sequence}: nothing was late")
            };
            one.on_reflected(&written);
            answered += 1;
            assert!(buffer[written.octets..].iter().all(|octet| *octet == 0xee), "request {sequence}");
            if symmetric || (proved && payload.len() >= SHORTEST_RECOGNISABLE) {
                assert_eq!(written.octets, payload.len(), "request {sequence}");
            }
            longer += u32::from(written.octets > payload.len());
            let bound = (payload.len() + HEADERS) * 172;
            assert!((written.octets + HEADERS) * 100 <= bound, "request {sequence}");
            let sent = Incoming { payload: &buffer[..written.octets], ..incoming };
            let verdict = other.on_datagram(&sent, now);
            assert!(
                matches!(verdict, ReflectorAction::Refused(Refusal::NotRequest)),
                "request {sequence}: {verdict:?}"
            );
        }
        assert!(answered > REQUESTS / 16, "{answered} of {} were answered", REQUESTS / 4);
    }
    assert!(longer > 0 && SHORTEST < BASE, "base packets were among the replies");
}
