//! Stamps that programs of the kernel wrote into probes and replies, as far as they can be true.

use romer_record::plausible::MOMENTS;
use romer_wire::stamp::in_packet::{InPacketStamps, parse_echo};
use romer_wire::stamp::{ReflectorPacket, WireTime};

use super::Arrival;

/// The longest time between the stamp of a program of this host and that of user space for the same moment, nanoseconds: that of
/// the network card's stamps in `romer_record::assemble`.
const LONGEST_WAIT_NS: i64 = 1_000_000_000;
/// By how much two readings of the real-time clock and of atomic time may differ in the kernel while their rate is adjusted,
/// nanoseconds (the kernel's documentation of `ktime_get_tai_fast_ns`).
const READING_ERROR_NS: i64 = 1_000;

/// A probe that was returned as it was sent, as a reply that states no times of its own.
pub(super) fn echo(payload: &[u8]) -> Option<ReflectorPacket> {
    let probe = parse_echo(payload)?;
    Some(ReflectorPacket {
        sequence: probe.sequence,
        timestamp: WireTime(0),
        error: probe.error,
        ssid: probe.ssid,
        receive_timestamp: None,
        sender_sequence: None,
        sender_timestamp: Some(probe.timestamp),
        sender_error: Some(probe.error),
        sender_ttl: None,
    })
}

/// t2, t3 and t4 of a reply. t4 lies between the stamps of this host's socket and of user space: another one was written elsewhere.
pub(super) fn times(arrival: &Arrival<'_>) -> [Option<i64>; 3] {
    let Some(stamps) = InPacketStamps::parse(arrival.payload) else { return [None; 3] };
    let least = arrival.kernel_ns.unwrap_or(arrival.user_ns.saturating_sub(LONGEST_WAIT_NS));
    let came = least.saturating_sub(READING_ERROR_NS)..=arrival.user_ns.saturating_add(READING_ERROR_NS);
    let told = |at: Option<i64>| at.filter(|at| MOMENTS.contains(at));
    [told(stamps.t2), told(stamps.t3), stamps.t4.filter(|t4| came.contains(t4))]
}

/// t1 of a reply to a probe that user space sent at `left_ns`, real-time clock.
pub(super) fn departure(payload: &[u8], left_ns: i64) -> Option<i64> {
    let left = left_ns.saturating_sub(READING_ERROR_NS)..=left_ns.saturating_add(LONGEST_WAIT_NS);
    InPacketStamps::parse(payload)?.t1.filter(|t1| left.contains(t1))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use romer_record::log::Entry;
    use romer_units::{Duration, Timestamp};
    use romer_wire::stamp::in_packet::{SHORTEST, STAMPS};
    use romer_wire::stamp::{ErrorEstimate, SenderPacket, TimestampFormat};

    use super::super::{Departures, EchoedFields, Form, RejectReason, ReplyMatcher};
    use super::*;

    const T0: i64 = 1_800_000_000_000_000_000;

    /// A matcher, and a probe that left at [`T0`].
    fn probe() -> (ReplyMatcher, Vec<u8>) {
        let echoes = Arc::new(EchoedFields::new(1));
        let error = ErrorEstimate::at_least(Duration::from_micros(1), true, TimestampFormat::Ntp);
        let form = Form::Stamp { ssid: 7, error, echoes: Arc::clone(&echoes) };
        let schedule = [(Duration::ZERO, 100)].into_iter();
        let mut departures =
            Departures::new(schedule, Timestamp::from_nanos(0), form).with_in_packet_stamps(true);
        let due = departures.next_due().unwrap();
        let mut payload = vec![0; 100];
        departures.write(&due, T0, &mut payload).unwrap();
        let source = "203.0.113.2:7".parse().unwrap();
        (ReplyMatcher::new(source, None, 1, echoes).with_in_packet_stamps(true), payload)
    }

    fn stamp(payload: &mut [u8], stamps: [i64; 4]) {
        for (place, nanos) in STAMPS.into_iter().zip(stamps) {
            payload[place..place + 8].copy_from_slice(&nanos.to_be_bytes());
        }
    }

    fn arrival(payload: &[u8]) -> Arrival<'_> {
        Arrival {
            payload,
            source: "203.0.113.2:7".parse().unwrap(),
            user_ns: T0 + 90_000,
            kernel_ns: Some(T0 + 70_000),
            ttl: Some(64),
            tos: Some(0),
        }
    }

    /// An echo, and the reply of a STAMP reflector, both have the four stamps of the programs, and no others.
    #[test]
    fn echoes_and_replies_have_stamps() {
        let stamps = [T0 + 10_000, T0 + 5, T0 + 9, T0 + 75_000];
        for reflected in [false, true] {
            let (mut matcher, mut payload) = probe();
            stamp(&mut payload, stamps);
            if reflected {
                let request = SenderPacket::parse(&payload).unwrap();
                let time = WireTime::from_unix_nanos(T0, TimestampFormat::Ntp);
                let reply = ReflectorPacket::answering(&request, time, time, request.error, 3);
                reply.emit_over(&mut payload).unwrap();
            }
            let entry = matcher.on_datagram(&arrival(&payload), 1).unwrap();
            let Entry::Returned { sequence, user_ns, kernel_ns, told_t2_ns, told_t3_ns, .. } = entry else {
                panic!("{entry:?}")
            };
            assert_eq!((sequence, user_ns), (0, T0 + 90_000));
            assert_eq!([told_t2_ns, told_t3_ns, kernel_ns], [Some(T0 + 5), Some(T0 + 9), Some(T0 + 75_000)]);
            assert_eq!(matcher.departure_stamp(&payload, 0), Some(T0 + 10_000));
        }
    }

    /// Stamps of this host that it cannot have written are left out, and stamps that nobody wrote are unknown.
    #[test]
    fn impossible_stamps_are_left_out() {
        for [t1, t4] in [
            [0, 0],
            [T0 - 2_000, T0 + 60_000],
            [T0 + 2 * LONGEST_WAIT_NS, T0 + 100_000],
            [i64::MAX, i64::MAX],
            [-1, -1],
        ] {
            let (mut matcher, mut payload) = probe();
            stamp(&mut payload, [t1, 0, i64::MAX, t4]);
            let entry = matcher.on_datagram(&arrival(&payload), 1).unwrap();
            let Entry::Returned { kernel_ns, told_t2_ns, told_t3_ns, .. } = entry else {
                panic!("{entry:?}")
            };
            assert_eq!([told_t2_ns, told_t3_ns, kernel_ns], [None; 3], "{t1} {t4}");
            assert_eq!(matcher.departure_stamp(&payload, 0), None, "{t1}");
        }
    }

    /// An echo of another time than ours is no reply, and one is none either where none was requested.
    #[test]
    fn false_echoes_are_rejected() {
        let (mut matcher, payload) = probe();
        let mut other = payload.clone();
        other[8] ^= 1;
        assert_eq!(matcher.on_datagram(&arrival(&other), 1), Err(RejectReason::Echo));
        let mut plain = matcher.with_in_packet_stamps(false);
        assert_eq!(plain.on_datagram(&arrival(&payload), 1), Err(RejectReason::Echo));
        assert_eq!(plain.departure_stamp(&payload, 0), None);
    }

    /// A probe without room for the field is not written.
    #[test]
    fn short_probes_are_not_written() {
        let echoes = Arc::new(EchoedFields::new(1));
        let error = ErrorEstimate::from_bits(1);
        let size = u32::try_from(SHORTEST).unwrap() - 1;
        let form = Form::Stamp { ssid: 7, error, echoes };
        let mut departures =
            Departures::new([(Duration::ZERO, size)].into_iter(), Timestamp::from_nanos(0), form)
                .with_in_packet_stamps(true);
        let due = departures.next_due().unwrap();
        assert_eq!(departures.write(&due, T0, &mut [0; 200]), None);
    }
}
