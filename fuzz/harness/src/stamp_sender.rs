//! Datagrams that a reflector receives.

use core::num::NonZeroU16;

use romer_units::Duration;
use romer_wire::stamp::{
    BASE, ErrorEstimate, ReflectorPacket, ReplyLength, SHORTEST, SenderPacket, TimestampFormat, WireTime,
    in_packet, looks_like_reply, sender_zeros_are_zero,
};

use crate::Seed;

/// A moment in 2026, around which eras are chosen.
const NOW: i64 = 1_795_000_000_000_000_000;

pub(crate) fn run(octets: &[u8]) {
    let _ = (looks_like_reply(octets), sender_zeros_are_zero(octets));
    let parsed = SenderPacket::parse(octets);
    assert_eq!(parsed.is_ok(), octets.len() >= SHORTEST);
    let Ok(request) = parsed else { return };

    let mut again = vec![0xee; octets.len()];
    request.emit(&mut again).expect("there is room");
    assert_eq!(SenderPacket::parse(&again), Ok(request));
    assert_eq!(again.get(..SHORTEST), octets.get(..SHORTEST));
    assert!(sender_zeros_are_zero(&again));
    if let Some(echo) = in_packet::parse_echo(octets) {
        assert_eq!(echo, request);
    }
    if in_packet::emit(&mut again) {
        assert_eq!(in_packet::InPacketStamps::parse(&again), Some(in_packet::InPacketStamps::default()));
        assert_eq!(in_packet::parse_echo(&again), Some(request));
    }

    for format in [TimestampFormat::Ntp, TimestampFormat::Ptp] {
        if let Some(nanos) = request.timestamp.to_unix_nanos(format, NOW) {
            let back = WireTime::from_unix_nanos(nanos, format).to_unix_nanos(format, nanos);
            assert_eq!(back, Some(nanos));
        }
        answer(octets, &request, format);
    }
    if let Some(error) = request.error.error() {
        let written = ErrorEstimate::at_least(error, request.error.synchronized(), request.error.format());
        assert!(written.error() >= Some(error));
    }
}

/// The reply has the length that it must have, returns what it must to the bit, and is never taken for a request.
fn answer(octets: &[u8], request: &SenderPacket, format: TimestampFormat) {
    for length in [ReplyLength::AtLeastBase, ReplyLength::Symmetric] {
        answer_with(octets, request, format, length);
    }
}

fn answer_with(octets: &[u8], request: &SenderPacket, format: TimestampFormat, length: ReplyLength) {
    let error = ErrorEstimate::at_least(Duration::from_micros(1), true, format);
    let time = |nanos| WireTime::from_unix_nanos(NOW + nanos, format);
    let reply = ReflectorPacket::answering(request, time(0), time(2_000), error, 63);
    let expected = length.of_reply(octets.len());
    let mut buf = vec![0xee; expected + 8];
    assert_eq!(reply.emit_reply(octets, length, &mut buf), Ok(expected));
    let (sent, rest) = buf.split_at(expected);
    assert!(rest.iter().all(|octet| *octet == 0xee), "written past the reply");
    assert_eq!(ReflectorPacket::parse(sent), Ok(reply.truncated(sent.len())));
    assert_eq!(sent.get(BASE..).unwrap_or_default(), octets.get(BASE..).unwrap_or_default());
    if sent.len() >= BASE {
        assert_eq!(sent.get(24..38), octets.get(..14));
    }
    assert_eq!(looks_like_reply(sent), sent.len() >= 24);
}

/// A request of `len` octets.
fn request(len: usize, error: u16, timestamp: u64) -> Vec<u8> {
    let error = ErrorEstimate::from_bits(error);
    let packet =
        SenderPacket { sequence: 7, timestamp: WireTime(timestamp), error, ssid: NonZeroU16::new(0x1234) };
    let mut octets = vec![0; len];
    // Requests below the least length are seeds too.
    if packet.emit(&mut octets).is_err() {
        octets.fill(0x5a);
    }
    octets
}

pub(crate) fn seeds() -> Vec<Seed> {
    let now = WireTime::from_unix_nanos(NOW, TimestampFormat::Ntp).0;
    let ptp = WireTime::from_unix_nanos(NOW, TimestampFormat::Ptp).0;
    let with = |len, from: usize, octets: &[u8]| {
        let mut request = request(len, 0x8c01, now);
        request[from..from + octets.len()].copy_from_slice(octets);
        request
    };
    vec![
        Seed::new("empty", []),
        Seed::new("too_short", request(13, 0, 0)),
        Seed::new("twamp_light_shortest", request(14, 0x8c01, now)),
        Seed::new("twamp_light_half_an_ssid", request(15, 0x8c01, now)),
        Seed::new("twamp_light_smallest_ip_packet", request(36, 0x8c01, now)),
        Seed::new("twamp_light_symmetrical", request(41, 0x8c01, now)),
        Seed::new("one_octet_less_than_base", request(43, 0x8c01, now)),
        Seed::new("base", request(44, 0x8c01, now)),
        Seed::new("base_unsynchronised", request(44, 0x0c01, now)),
        Seed::new("ptp", request(44, 0xcc01, ptp)),
        Seed::new("ptp_too_many_nanoseconds", request(44, 0xcc01, u64::MAX)),
        Seed::new("multiplier_zero", request(44, 0x8c00, now)),
        Seed::new("largest_error", request(44, 0xbfff, now)),
        Seed::new("timestamp_zero", request(44, 0x8c01, 0)),
        Seed::new("end_of_era", request(44, 0x8c01, u64::MAX)),
        Seed::new("nonzero_where_zeros_should_be", with(44, 16, &[0xa5; 28])),
        Seed::new("extra_padding_tlv", with(60, 44, &[0x80, 1, 0, 12])),
        Seed::new("tlv_past_the_end", with(60, 44, &[0x80, 1, 0xff, 0xff])),
        Seed::new("unknown_tlv", with(52, 44, &[0x80, 200, 0, 4, 1, 2, 3, 4])),
        Seed::new("padding_of_100", request(100, 0x8c01, now)),
    ]
}
