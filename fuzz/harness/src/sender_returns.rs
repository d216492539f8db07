//! What a sender makes of datagrams that come to its port.

use core::net::{Ipv4Addr, SocketAddr};
use core::num::NonZeroU16;
use std::sync::Arc;

use romer_record::log::{Entries, Entry, encode};
use romer_session::sender::{Arrival, Departures, EchoedFields, Form, ReplyMatcher};
use romer_units::{Duration, Timestamp};
use romer_wire::stamp::{BASE, ErrorEstimate, ReflectorPacket, SenderPacket, TimestampFormat, WireTime};

use crate::Seed;
use crate::script::Script;

const NOW: i64 = 1_795_000_000_000_000_000;
const SSID: u16 = 0x1234;
/// Probes that have left.
const PROBES: u32 = 100;

fn target() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 862))
}

fn error() -> ErrorEstimate {
    ErrorEstimate::new(true, TimestampFormat::Ntp, 12, 200).expect("a legal estimate")
}

/// When probe `sequence` left.
fn departure(sequence: u32) -> i64 {
    NOW + i64::from(sequence) * 1_000_000
}

pub(crate) fn run(octets: &[u8]) {
    let echoes = Arc::new(EchoedFields::new(PROBES.into()));
    let schedule = (0..PROBES).map(|number| (Duration::from_millis(number.into()), 44));
    let form = Form::Stamp { ssid: SSID, error: error(), echoes: Arc::clone(&echoes) };
    let mut departures = Departures::new(schedule, Timestamp::from_nanos(0), form);
    let mut buffer = [0; BASE];
    for sequence in 0..PROBES {
        let due = departures.next_due().expect("as many as were asked for");
        assert_eq!(departures.write(&due, departure(sequence), &mut buffer), Some(BASE));
    }
    let mut returns = ReplyMatcher::new(target(), Some(SSID), PROBES.into(), echoes);
    let mut script = Script::new(octets);
    let mut datagrams = 0;
    // Each datagram: how it came, its length, its payload.
    while let Some(how) = script.octet() {
        let source = if how & 1 != 0 { script.address() } else { target() };
        let length = script.octet().unwrap_or(0);
        let arrival = Arrival {
            payload: script.take(length.into()),
            source,
            user_ns: if how & 2 != 0 { i64::MIN } else { departure(PROBES) },
            kernel_ns: (how & 4 != 0).then_some(NOW),
            ttl: (how & 8 != 0).then_some(64),
            tos: None,
        };
        datagrams += 1;
        let sent = if how & 16 != 0 { 0 } else { PROBES.into() };
        if let Ok(entry) = returns.on_datagram(&arrival, sent) {
            assert_eq!(source, target());
            assert!(matches!(entry, Entry::Returned { .. }) && entry.sequence() < sent);
            let mut written = Vec::new();
            encode(0, &entry, &mut written);
            assert_eq!(Entries::new(&written).next(), Some(Ok((0, entry))));
        }
    }
    assert_eq!(returns.distinct() + returns.copies() + returns.replies().rejected.total(), datagrams);
    assert!(returns.distinct() <= PROBES.into());
}

/// The reflection of probe `sequence`, in a script.
fn reflection(how: u8, sequence: u32, ssid: u16, t1: i64, length: u8) -> Vec<u8> {
    let time = |nanos| WireTime::from_unix_nanos(nanos, TimestampFormat::Ntp);
    let request = SenderPacket { sequence, timestamp: time(t1), error: error(), ssid: NonZeroU16::new(ssid) };
    let mut payload = vec![0; length.into()];
    let reply = ReflectorPacket::answering(&request, time(t1 + 50_000), time(t1 + 60_000), error(), 63);
    if reply.emit_over(&mut payload).is_err() {
        payload.fill(0x5a);
    }
    [vec![how], if how & 1 != 0 { vec![0, 7, 3, 0x5e] } else { vec![] }, vec![length], payload].concat()
}

pub(crate) fn seeds() -> Vec<Seed> {
    let plain = |sequence: u32| reflection(12, sequence, SSID, departure(sequence), 44);
    vec![
        Seed::new("empty", []),
        Seed::new("first", plain(0)),
        Seed::new("last", plain(99)),
        Seed::new("never_sent", reflection(12, 100, SSID, departure(100), 44)),
        Seed::new("sequence_of_another_era", reflection(12, u32::MAX, SSID, departure(0), 44)),
        Seed::new("copies", [plain(5), plain(5), plain(5)].concat()),
        Seed::new("out_of_order", [plain(9), plain(3), plain(7)].concat()),
        Seed::new("another_session", reflection(12, 5, 99, departure(5), 44)),
        Seed::new("no_session", reflection(12, 5, 0, departure(5), 44)),
        Seed::new("forged_time", reflection(12, 5, SSID, departure(6), 44)),
        Seed::new("from_elsewhere", reflection(13, 5, SSID, departure(5), 44)),
        Seed::new("twamp_light", reflection(12, 5, SSID, departure(5), 41)),
        Seed::new("shortest", reflection(12, 5, SSID, departure(5), 14)),
        Seed::new("too_short", reflection(12, 5, SSID, departure(5), 13)),
        Seed::new("nothing_sent_yet", reflection(28, 5, SSID, departure(5), 44)),
        Seed::new("clock_before_all_time", reflection(14, 5, SSID, departure(5), 44)),
    ]
}
