//! The reflector: datagrams from anywhere, one after another.

use core::net::{IpAddr, Ipv4Addr};

use romer_session::limit::Limiter;
use romer_session::reflector::{Incoming, Prefix, Reflector, ReflectorAction};
use romer_units::{Duration, Monotonic, Responder, Timestamp};
use romer_wire::stamp::{BASE, ErrorEstimate, SHORTEST_RECOGNISABLE, TimestampFormat, looks_like_reply};

use crate::Seed;
use crate::script::Script;

/// A moment in 2026.
const NOW: i64 = 1_795_000_000_000_000_000;
/// From a request to its reply.
const STAY: i64 = 40_000;
/// Packets a second from one prefix: few, so that the limit is met.
const RATE: u64 = 8;
/// Octets of the headers of IPv4 and UDP.
const HEADERS: usize = 28;

pub(crate) fn run(octets: &[u8]) {
    let mut script = Script::new(octets);
    let mut now = Timestamp::<Monotonic>::from_nanos(1_000_000_000);
    let allowed = match script.octet() {
        Some(1) => vec![Prefix::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 0)), 24).expect("a legal range")],
        _ => Vec::new(),
    };
    let mut reflector = Reflector::new(Limiter::new(RATE, 4, (1, 2), now), allowed.clone());
    let (mut datagrams, mut answers) = (0, 0);
    // Each datagram: source, destination, TTL, milliseconds since the last, length, payload.
    while let Some(how) = script.octet() {
        let (source, destination) = (script.address(), script.address());
        now = now + Duration::from_millis(script.word().into());
        let length = script.octet().unwrap_or(0);
        let incoming = Incoming {
            payload: script.take(length.into()),
            source,
            destination,
            ttl: (how & 1 != 0).then_some(how),
            tos: (how & 4 != 0).then_some(how),
            arrived: Timestamp::<Responder>::from_nanos(NOW),
            proved: how & 2 != 0,
            expected: how & 4 != 0,
        };
        datagrams += 1;
        if let ReflectorAction::Answer(answer) = reflector.on_datagram(&incoming, now) {
            answers += 1;
            let is_allowed = |range: &Prefix| range.contains_in_either_form(source.ip());
            assert!(allowed.is_empty() || allowed.iter().any(is_allowed));
            assert!(
                source.port() != 0 && !source.ip().to_canonical().is_multicast() && source != destination
            );
            let error = ErrorEstimate::new(true, TimestampFormat::Ntp, 12, 200).expect("a legal estimate");
            let mut reply = [0; 256];
            let departs = Timestamp::<Responder>::from_nanos(NOW + STAY);
            let answered = answer.write(departs, error, &mut reply).expect("there is room");
            let written = answered.octets;
            let received = incoming.payload.len();
            let is_mirrored = incoming.proved && received >= SHORTEST_RECOGNISABLE;
            let expected = if is_mirrored { received } else { received.max(BASE) };
            assert_eq!(written, expected, "a reply is as long as its request, or a base packet");
            assert!((written + HEADERS) * 100 <= (received + HEADERS) * 172, "amplification");
            assert!(looks_like_reply(&reply[..written]), "a reply could be taken for a request");
            let short = written - 1;
            assert_eq!(answer.write(departs, error, &mut reply[..short]), None);
            reflector.on_reflected(&answered);
        }
    }
    let counters = reflector.counters();
    let refused = counters.refused();
    assert_eq!(counters.received, datagrams);
    assert_eq!((counters.reflected, answers + counters.associations + refused), (answers, datagrams));
}

/// A script of one datagram.
fn datagram(source: [u8; 4], destination: [u8; 4], wait: u16, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).expect("a short payload");
    [&[255][..], &source, &destination, &wait.to_be_bytes(), &[length], payload].concat()
}

pub(crate) fn seeds() -> Vec<Seed> {
    let stamp = [0x5a; BASE];
    let (from, here) = ([0, 9, 0x9c, 0x40], [0, 1, 0x03, 0x5e]);
    let open = |datagrams: &[Vec<u8>]| [vec![0], datagrams.concat()].concat();
    let association = romer_session::association::datagram([7; 16]);
    let one = |source: [u8; 4], payload: &[u8]| open(&[datagram(source, here, 1, payload)]);
    let mut zeros = [0; BASE];
    zeros[13] = 1;
    zeros[4..12].copy_from_slice(&[0xee, 0x80, 0, 0, 0, 0, 0, 1]);
    vec![
        Seed::new("empty", []),
        Seed::new("stamp", one(from, &zeros)),
        Seed::new("timestamp_zero", one(from, &[0; BASE])),
        Seed::new("octets_that_must_be_zero", one(from, &stamp)),
        Seed::new("twamp_light", one(from, &zeros[..14])),
        Seed::new("too_short", one(from, &zeros[..13])),
        Seed::new("no_payload", one(from, &[])),
        Seed::new("padding", one(from, &[zeros.as_slice(), &[0; 100]].concat())),
        Seed::new("association", one(from, &association)),
        Seed::new("port_zero", one([0, 9, 0, 0], &zeros)),
        Seed::new("port_of_a_reflector", one([0, 9, 0x03, 0x5e], &zeros)),
        Seed::new("multicast", one([2, 1, 0x9c, 0x40], &zeros)),
        Seed::new("broadcast", one([3, 255, 0x9c, 0x40], &zeros)),
        Seed::new("from_itself", one(here, &zeros)),
        Seed::new("loopback_from_outside", one([1, 1, 0x9c, 0x40], &zeros)),
        Seed::new("ipv4_in_ipv6", one([6, 9, 0x9c, 0x40], &zeros)),
        Seed::new("not_allowed", [vec![1], datagram([4, 9, 0x9c, 0x40], here, 1, &zeros)].concat()),
        Seed::new("allowed", [vec![1], datagram(from, here, 1, &zeros)].concat()),
        Seed::new("over_the_rate", open(&vec![datagram(from, here, 1, &zeros); 12])),
        Seed::new("rate_again_after_a_second", open(&vec![datagram(from, here, 400, &zeros); 12])),
    ]
}
