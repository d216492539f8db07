use super::super::sender_zeros_are_zero;
use super::super::strategies::sender;
use super::*;
use proptest::prelude::*;

fn reply() -> impl Strategy<Value = ReflectorPacket> {
    (sender(), any::<(u32, u64, u64, u16, u8)>()).prop_map(|(request, (sequence, t2, t3, error, ttl))| {
        let error = ErrorEstimate::from_bits(error);
        ReflectorPacket {
            sequence,
            ..ReflectorPacket::answering(&request, WireTime(t2), WireTime(t3), error, ttl)
        }
    })
}

const NOW: i64 = 1_795_000_000_123_456_789;

/// A request made at `NOW` and the reply of a reflector with a clock that is `offset` nanoseconds ahead.
fn exchange(format: TimestampFormat, offset: i64, stay: i64) -> (SenderPacket, ReflectorPacket) {
    let error = ErrorEstimate::new(true, format, 12, 200).unwrap();
    let time = |nanos| WireTime::from_unix_nanos(NOW + nanos, format);
    let request = SenderPacket { sequence: 9, timestamp: time(0), error, ssid: NonZeroU16::new(77) };
    let reply = ReflectorPacket::answering(&request, time(offset), time(offset + stay), error, 63);
    (request, reply)
}

#[test]
fn the_packet_is_laid_out_as_rfc_8972_figure_2_has_it() {
    let packet = ReflectorPacket {
        sequence: 0x0102_0304,
        timestamp: WireTime(0x1112_1314_1516_1718),
        error: ErrorEstimate::from_bits(0x2122),
        ssid: NonZeroU16::new(0x2324),
        receive_timestamp: Some(WireTime(0x3132_3334_3536_3738)),
        sender_sequence: Some(0x4142_4344),
        sender_timestamp: Some(WireTime(0x5152_5354_5556_5758)),
        sender_error: Some(ErrorEstimate::from_bits(0x6162)),
        sender_ttl: Some(0x71),
    };
    let mut buf = [0xff; BASE];
    packet.emit_over(&mut buf).unwrap();
    let expected = [
        0x01, 0x02, 0x03, 0x04, // sequence number
        0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, // timestamp
        0x21, 0x22, 0x23, 0x24, // error estimate, SSID
        0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, // receive timestamp
        0x41, 0x42, 0x43, 0x44, // sender's sequence number
        0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, // sender's timestamp
        0x61, 0x62, 0x00, 0x00, // sender's error estimate, zero
        0x71, 0x00, 0x00, 0x00, // sender's TTL, zero
    ];
    assert_eq!(buf, expected);
    assert_eq!(ReflectorPacket::parse(&buf), Ok(packet));
}

#[test]
fn packets_of_an_independent_codec_read_and_write_the_same() {
    // Made by scapy 2.6.1 (scapy.contrib.stamp), 2022-07-13 11:20:00 UTC and quarters of a second.
    const THEN: i64 = 1_657_711_200_000_000_000;
    let time = |nanos| WireTime::from_unix_nanos(THEN + nanos, TimestampFormat::Ntp);
    let error = ErrorEstimate::new(true, TimestampFormat::Ntp, 12, 200).unwrap();
    let ssid = NonZeroU16::new(0x1234);

    let made = [
        0x01, 0x02, 0x03, 0x04, 0xe6, 0x79, 0x28, 0xe0, 0x80, 0x00, 0x00, 0x00, 0x8c, 0xc8, 0x12, 0x34, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    ];
    let request = SenderPacket { sequence: 0x0102_0304, timestamp: time(500_000_000), error, ssid };
    assert_eq!(SenderPacket::parse(&made), Ok(request));
    let mut written = [0xff; BASE];
    request.emit(&mut written).unwrap();
    assert_eq!(written, made);

    let made = [
        0x00, 0x00, 0x00, 0x05, 0xe6, 0x79, 0x28, 0xe0, 0xc0, 0x00, 0x00, 0x00, 0x8c, 0xc8, 0x12, 0x34, 0xe6,
        0x79, 0x28, 0xe0, 0xa0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0xe6, 0x79, 0x28, 0xe0, 0x80, 0x00,
        0x00, 0x00, 0x01, 0x01, 0x00, 0x00, 0x3f, 0x00, 0x00, 0x00,
    ];
    let request = SenderPacket {
        sequence: 5,
        error: ErrorEstimate::new(false, TimestampFormat::Ntp, 1, 1).unwrap(),
        ..request
    };
    let reply = ReflectorPacket::answering(&request, time(625_000_000), time(750_000_000), error, 63);
    assert_eq!(ReflectorPacket::parse(&made), Ok(reply));
    reply.emit_over(&mut written).unwrap();
    assert_eq!(written, made);
    assert!(looks_like_reply(&made));
}

#[test]
fn each_field_appears_with_the_length_that_holds_it() {
    let octets = [0x11; 60];
    let fields = |len: usize| {
        let packet = ReflectorPacket::parse(&octets[..len]).unwrap();
        [
            packet.ssid.is_some(),
            packet.receive_timestamp.is_some(),
            packet.sender_sequence.is_some(),
            packet.sender_timestamp.is_some(),
            packet.sender_error.is_some(),
            packet.sender_ttl.is_some(),
        ]
        .iter()
        .take_while(|there| **there)
        .count()
    };
    let first_with = [16, 24, 28, 36, 38, 41];
    for len in SHORTEST..=60 {
        assert_eq!(fields(len), first_with.iter().filter(|first| len >= **first).count(), "{len}");
    }
    assert_eq!(ReflectorPacket::parse(&octets[..13]), Err(StampError::TooShort(13)));
}

#[test]
fn a_reply_in_the_smallest_packet_of_seed_004_has_t1_to_t3() {
    // An IP packet of 64 octets holds 36 octets of UDP payload.
    let (request, reply) = exchange(TimestampFormat::Ntp, 5_000, 2_000);
    let mut asked = [0; 36];
    request.emit(&mut asked).unwrap();
    let mut buf = [0xff; 100];
    assert_eq!(reply.emit_reply(&asked, ReplyLength::Symmetric, &mut buf), Ok(36));
    let read = ReflectorPacket::parse(&buf[..36]).unwrap();
    assert_eq!(read.sender_timestamp, Some(request.timestamp));
    assert_eq!((read.receive_timestamp, read.timestamp), (reply.receive_timestamp, reply.timestamp));
    assert_eq!((read.sender_error, read.sender_ttl), (None, None));
    assert_eq!(buf[36..], [0xff; 64], "nothing is written past the reply");
}

#[test]
fn times_survive_both_formats_to_the_nanosecond() {
    for format in [TimestampFormat::Ntp, TimestampFormat::Ptp] {
        let (_, reply) = exchange(format, -3_333, 1);
        let back = |time: Option<WireTime>| time.and_then(|time| time.to_unix_nanos(format, NOW));
        assert_eq!(back(reply.sender_timestamp), Some(NOW));
        assert_eq!(back(reply.receive_timestamp), Some(NOW - 3_333));
        assert_eq!(back(Some(reply.timestamp)), Some(NOW - 3_332));
    }
}

#[test]
fn every_reply_that_has_its_receive_time_is_known_for_one() {
    for format in [TimestampFormat::Ntp, TimestampFormat::Ptp] {
        for (offset, stay) in [(0, 0), (5_000_000_000, 20_000), (-7, 9_999_999_999), (0, -9_000_000_000)] {
            let (request, reply) = exchange(format, offset, stay);
            for len in SHORTEST..100 {
                let mut octets = vec![0; len];
                request.emit(&mut octets).unwrap();
                assert!(!looks_like_reply(&octets), "a request of {len}");
                reply.emit_over(&mut octets).unwrap();
                assert_eq!(looks_like_reply(&octets), len >= 24, "a reply of {len}");
            }
        }
    }
}

/// A reply is known by its receive timestamp near its departure, and by nothing else: what must be zero is ignored,
/// and a request whose own timestamp was zero has a reply like any other.
#[test]
fn receive_timestamp_marks_a_reply() {
    let (_, reply) = exchange(TimestampFormat::Ntp, 0, 1_000);
    let looks = |reply: ReflectorPacket, damage: usize| {
        let mut octets = [0; BASE];
        reply.emit_over(&mut octets).unwrap();
        octets[damage] |= 1;
        looks_like_reply(&octets)
    };
    for zero in [38, 39, 41, 42, 43] {
        assert!(looks(reply, zero), "octet {zero}");
    }
    assert!(looks(ReflectorPacket { sender_timestamp: Some(WireTime(0)), ..reply }, 43));
    assert!(!looks(ReflectorPacket { receive_timestamp: Some(WireTime(0)), ..reply }, 43));
    let (_, late) = exchange(TimestampFormat::Ntp, 0, 10_000_000_002);
    assert!(!looks(late, 43));
    let (_, early) = exchange(TimestampFormat::Ptp, 0, -10_000_000_001);
    assert!(!looks(early, 43));
}

/// A reply to a packet of ours returns our time, in either format, whatever else it states; a request does not.
#[test]
fn our_time_marks_replies_to_us() {
    for format in [TimestampFormat::Ntp, TimestampFormat::Ptp] {
        let (request, reply) = exchange(format, -3_600_000_000_000, 20);
        let mut octets = [0; BASE];
        request.emit(&mut octets).unwrap();
        assert!(!returns_time_near(&octets, NOW), "{format:?}");
        ReflectorPacket { receive_timestamp: None, ..reply }.emit_over(&mut octets).unwrap();
        for (later, near) in [(0, true), (9_999_999_999, true), (10_000_000_002, false), (-1_000_000, true)] {
            assert_eq!(returns_time_near(&octets, NOW + later), near, "{later} ns, {format:?}");
        }
        assert!(!returns_time_near(&octets[..35], NOW));
    }
    assert!(!returns_time_near(&[0; BASE], 0) && !returns_time_near(&[0xff; BASE], NOW));
}

/// A request shorter than a base packet gets 44 octets, every field of which is there; by configuration it gets as many
/// octets as it has.
#[test]
fn short_requests_get_the_base_packet() {
    let (request, reply) = exchange(TimestampFormat::Ntp, 5_000, 2_000);
    for len in SHORTEST..100 {
        let mut asked = vec![0x5a; len];
        request.emit(&mut asked[..SHORTEST]).unwrap();
        let mut buf = [0xff; 120];
        assert_eq!(reply.emit_reply(&asked, ReplyLength::AtLeastBase, &mut buf), Ok(len.max(BASE)));
        assert_eq!(ReflectorPacket::parse(&buf[..BASE]), Ok(reply), "{len}");
        assert_eq!(buf.get(BASE..len.max(BASE)), Some(asked.get(BASE..).unwrap_or_default()), "{len}");
        assert!(buf[len.max(BASE)..].iter().all(|octet| *octet == 0xff), "{len}");
        assert_eq!(reply.emit_reply(&asked, ReplyLength::Symmetric, &mut buf), Ok(len));
    }
}

#[test]
fn times_near_a_change_of_era_still_mark_a_reply() {
    // T2 in the last second of an NTP era, T3 in the first of the next.
    let error = ErrorEstimate::from_bits(1);
    let request = SenderPacket { sequence: 0, timestamp: WireTime(1), error, ssid: None };
    let (t2, t3) = (WireTime(0xffff_ffff << 32), WireTime(1 << 32));
    let mut octets = [0; BASE];
    ReflectorPacket::answering(&request, t2, t3, error, 1).emit_over(&mut octets).unwrap();
    assert!(looks_like_reply(&octets));
}

proptest! {
    #[test]
    fn a_reply_is_read_as_written_at_every_length(packet in reply(), request: Vec<u8>) {
        let mut buf = vec![0xee; request.len() + 3];
        match packet.emit_reply(&request, ReplyLength::Symmetric, &mut buf) {
            Err(error) => {
                prop_assert_eq!(error, StampError::TooShort(request.len()));
                prop_assert!(request.len() < SHORTEST);
            }
            Ok(len) => {
                prop_assert_eq!(len, request.len());
                prop_assert_eq!(ReflectorPacket::parse(&buf[..len]), Ok(packet.truncated(len)));
                prop_assert_eq!(&buf[len..], &[0xee; 3], "nothing is written past it");
                // What lies beyond the base packet comes back to the bit (RFC 8762 section 4.3).
                prop_assert_eq!(buf.get(BASE..len), request.get(BASE..));
                let zeros = [38, 39, 41, 42, 43].iter().filter(|place| **place < len);
                prop_assert!(zeros.into_iter().all(|place| buf[*place] == 0));
                let mut over = request.clone();
                packet.emit_over(&mut over).unwrap();
                prop_assert_eq!(&over, &buf[..len]);
            }
        }
    }

    #[test]
    fn the_senders_fields_come_back_to_the_bit(
        request in proptest::collection::vec(any::<u8>(), BASE..120), t2: u64, t3: u64, error: u16, ttl: u8,
    ) {
        let packet = SenderPacket::parse(&request).unwrap();
        let error = ErrorEstimate::from_bits(error);
        let mut octets = request.clone();
        let reply = ReflectorPacket::answering(&packet, WireTime(t2), WireTime(t3), error, ttl);
        reply.emit_over(&mut octets).unwrap();
        prop_assert_eq!(&octets[24..38], &request[..14]);
        prop_assert_eq!(&octets[14..16], &request[14..16]);
        prop_assert_eq!(octets[40], ttl);
    }

    #[test]
    fn a_buffer_without_room_is_refused(
        packet in reply(), request in proptest::collection::vec(any::<u8>(), SHORTEST..99), base: bool,
    ) {
        let length = if base { ReplyLength::AtLeastBase } else { ReplyLength::Symmetric };
        let need = length.of_reply(request.len());
        let mut buf = vec![0; need - 1];
        let refused = StampError::NoRoom { need, have: need - 1 };
        prop_assert_eq!(packet.emit_reply(&request, length, &mut buf), Err(refused));
    }

    #[test]
    fn any_bytes_are_survived(octets: Vec<u8>) {
        prop_assert_eq!(ReflectorPacket::parse(&octets).is_ok(), octets.len() >= SHORTEST);
        let _ = looks_like_reply(&octets);
    }

    #[test]
    fn a_request_with_anything_where_zeros_should_be_is_still_a_request(
        packet in sender(), ptp: bool, noise in proptest::collection::vec(any::<u8>(), 1..60),
    ) {
        // One case in 2 * 10^8 passes for a reply: 256 cases of a run, about 10^-6.
        let format = if ptp { TimestampFormat::Ptp } else { TimestampFormat::Ntp };
        let error = ErrorEstimate::new(packet.error.synchronized(), format, 20, 1).unwrap();
        let timestamp = WireTime::from_unix_nanos(NOW, format);
        let mut octets = vec![0; 16 + noise.len()];
        SenderPacket { error, timestamp, ..packet }.emit(&mut octets).unwrap();
        octets[16..].copy_from_slice(&noise);
        prop_assert!(!looks_like_reply(&octets), "{:?}", octets);
        prop_assert_eq!(sender_zeros_are_zero(&octets), noise.iter().take(28).all(|octet| *octet == 0));
    }

    #[test]
    fn a_ring_of_reflectors_ends_after_one_answer(request in sender(), t3: u64, stay in 0u64..1 << 33) {
        let t2 = WireTime(t3.wrapping_sub(stay));
        prop_assume!(!t2.is_zero());
        let error = ErrorEstimate::from_bits(1);
        let mut octets = [0; BASE];
        ReflectorPacket::answering(&request, t2, WireTime(t3), error, 64).emit_over(&mut octets).unwrap();
        prop_assert!(looks_like_reply(&octets));
    }
}
