//! Datagrams that a sender receives.

use core::num::NonZeroU16;

use romer_wire::stamp::{
    BASE, ErrorEstimate, ReflectorPacket, SHORTEST, SenderPacket, TimestampFormat, WireTime, looks_like_reply,
};

use crate::Seed;

/// A moment in 2026, around which eras are chosen.
const NOW: i64 = 1_795_000_000_000_000_000;

pub(crate) fn run(octets: &[u8]) {
    let parsed = ReflectorPacket::parse(octets);
    assert_eq!(parsed.is_ok(), octets.len() >= SHORTEST);
    let Ok(reply) = parsed else {
        assert!(!looks_like_reply(octets));
        return;
    };
    assert_eq!(reply.truncated(octets.len()), reply);

    let mut again = octets.to_vec();
    reply.emit_over(&mut again).expect("as long as before");
    assert_eq!(ReflectorPacket::parse(&again), Ok(reply));
    assert_eq!(again.get(BASE..), octets.get(BASE..));
    assert!(!looks_like_reply(octets) || looks_like_reply(&again));

    let times = [Some(reply.timestamp), reply.receive_timestamp, reply.sender_timestamp];
    for time in times.into_iter().flatten() {
        for format in [TimestampFormat::Ntp, TimestampFormat::Ptp] {
            for reference in [i64::MIN, 0, NOW, i64::MAX] {
                let _ = time.to_unix_nanos(format, reference);
            }
        }
    }
    for estimate in [Some(reply.error), reply.sender_error].into_iter().flatten() {
        assert_eq!(estimate.error().is_some(), estimate.is_valid());
    }
}

/// A reply of `len` octets to a request of the same length, `stay` nanoseconds after it came.
fn reply(len: usize, format: TimestampFormat, stay: i64) -> Vec<u8> {
    let error = ErrorEstimate::new(true, format, 12, 200).expect("a legal estimate");
    let time = |nanos| WireTime::from_unix_nanos(NOW + nanos, format);
    let request = SenderPacket { sequence: 7, timestamp: time(0), error, ssid: NonZeroU16::new(0x1234) };
    let mut octets = vec![0; len];
    let packet = ReflectorPacket::answering(&request, time(50_000), time(50_000 + stay), error, 63);
    // Replies below the least length are seeds too.
    if packet.emit_over(&mut octets).is_err() {
        octets.fill(0x5a);
    }
    octets
}

pub(crate) fn seeds() -> Vec<Seed> {
    use TimestampFormat::{Ntp, Ptp};
    let with = |from: usize, octets: &[u8]| {
        let mut reply = reply(BASE, Ntp, 2_000);
        reply[from..from + octets.len()].copy_from_slice(octets);
        reply
    };
    vec![
        Seed::new("empty", []),
        Seed::new("too_short", reply(13, Ntp, 0)),
        Seed::new("shortest", reply(14, Ntp, 2_000)),
        Seed::new("with_ssid", reply(16, Ntp, 2_000)),
        Seed::new("half_a_receive_time", reply(20, Ntp, 2_000)),
        Seed::new("with_receive_time", reply(24, Ntp, 2_000)),
        Seed::new("with_senders_sequence", reply(28, Ntp, 2_000)),
        Seed::new("with_senders_time", reply(36, Ntp, 2_000)),
        Seed::new("with_senders_error", reply(38, Ntp, 2_000)),
        Seed::new("twamp_symmetrical", reply(41, Ntp, 2_000)),
        Seed::new("base", reply(44, Ntp, 2_000)),
        Seed::new("base_ptp", reply(44, Ptp, 2_000)),
        Seed::new("with_padding", reply(100, Ntp, 2_000)),
        Seed::new("stayed_ten_seconds", reply(44, Ntp, 10_000_000_000)),
        Seed::new("stayed_longer", reply(44, Ptp, 10_000_000_001)),
        Seed::new("departed_before_it_came", reply(44, Ntp, -5_000)),
        Seed::new("without_receive_time", with(16, &[0; 8])),
        Seed::new("without_senders_time", with(28, &[0; 8])),
        Seed::new("nonzero_where_zeros_should_be", with(38, &[1, 2])),
        Seed::new("multipliers_zero", with(13, &[0])),
    ]
}
