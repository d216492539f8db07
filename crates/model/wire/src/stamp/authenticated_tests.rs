use super::super::strategies::sender;
use super::super::{TimestampFormat, looks_like_reply};
use super::*;
use proptest::prelude::*;

/// Octets 0x40 to 0x67.
fn key() -> Key {
    let octets: Vec<u8> = (0x40..0x68).collect();
    Key::new(&octets).unwrap()
}

fn reply() -> impl Strategy<Value = ReflectorPacket> {
    (sender(), any::<(u32, u64, u64, u16, u8)>()).prop_map(|(request, (sequence, t2, t3, error, ttl))| {
        let error = ErrorEstimate::from_bits(error);
        ReflectorPacket {
            sequence,
            ..ReflectorPacket::answering(&request, WireTime(t2), WireTime(t3), error, ttl)
        }
    })
}

/// 2022-07-13 11:20:00.5 UTC and as many nanoseconds.
fn time(nanos: i64) -> WireTime {
    WireTime::from_unix_nanos(1_657_711_200_500_000_000 + nanos, TimestampFormat::Ntp)
}

fn exchange() -> (SenderPacket, ReflectorPacket) {
    let error = ErrorEstimate::new(true, TimestampFormat::Ntp, 12, 200).unwrap();
    let ssid = NonZeroU16::new(0x1234);
    let request = SenderPacket { sequence: 0x0102_0304, timestamp: time(0), error, ssid };
    let reply = ReflectorPacket::answering(&request, time(125_000_000), time(250_000_000), error, 63);
    (request, ReflectorPacket { sequence: 5, ..reply })
}

// Both packed from the figures of RFC 8972 by Python's struct, their codes made by its hmac and hashlib.
const SENDER: [u8; AUTHENTICATED_BASE] = [
    0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xe6,
    0x79, 0x28, 0xe0, 0x80, 0x00, 0x00, 0x00, 0x8c, 0xc8, 0x12, 0x34, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf8, 0x05, 0x19, 0x14, 0xea, 0xef,
    0x1c, 0x8f, 0x97, 0x2d, 0x70, 0xb8, 0x9d, 0x0c, 0xc0, 0xc0,
];
const REFLECTOR: [u8; AUTHENTICATED_BASE] = [
    0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xe6,
    0x79, 0x28, 0xe0, 0xc0, 0x00, 0x00, 0x00, 0x8c, 0xc8, 0x12, 0x34, 0x00, 0x00, 0x00, 0x00, 0xe6, 0x79,
    0x28, 0xe0, 0xa0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x03,
    0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xe6, 0x79, 0x28, 0xe0,
    0x80, 0x00, 0x00, 0x00, 0x8c, 0xc8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x3f, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x7f, 0xec, 0x95, 0x78, 0x85, 0x0c,
    0x82, 0xe2, 0x59, 0x85, 0x11, 0x8d, 0x81, 0x2a, 0x59, 0x7a,
];

#[test]
fn packets_are_laid_out_as_rfc_8972_figures_3_and_4_have_them() {
    let (request, reply) = exchange();
    assert_eq!(SenderPacket::parse_authenticated(&SENDER, &key()), Ok(request));
    let mut written = [0xff; AUTHENTICATED_BASE];
    request.emit_authenticated(&mut written, &key()).unwrap();
    assert_eq!(written, SENDER);

    assert_eq!(ReflectorPacket::parse_authenticated(&REFLECTOR, &key()), Ok(reply));
    reply.emit_authenticated_over(&mut written, &key()).unwrap();
    assert_eq!(written, REFLECTOR);
}

#[test]
fn a_packet_of_111_octets_is_none() {
    for len in 0..AUTHENTICATED_BASE {
        let short = AuthError::TooShort(len);
        assert_eq!(SenderPacket::parse_authenticated(&SENDER[..len], &key()), Err(short));
        assert_eq!(ReflectorPacket::parse_authenticated(&REFLECTOR[..len], &key()), Err(short));
        let mut buf = vec![0xee; len];
        assert_eq!(exchange().0.emit_authenticated(&mut buf, &key()), Err(short));
        assert_eq!(exchange().1.emit_authenticated_over(&mut buf, &key()), Err(short));
        assert!(buf.iter().all(|octet| *octet == 0xee));
    }
}

/// The HMAC covers every bit of a packet.
#[test]
fn hmac_covers_every_bit() {
    for bit in 0..AUTHENTICATED_BASE * 8 {
        let mut octets = SENDER;
        octets[bit / 8] ^= 1 << (bit % 8);
        let read = SenderPacket::parse_authenticated(&octets, &key());
        assert_eq!(read, Err(AuthError::WrongCode), "bit {bit}");
    }
}

#[test]
fn a_packet_made_with_another_key_is_refused() {
    let other = Key::new(&[0x40; 40]).unwrap();
    assert_eq!(SenderPacket::parse_authenticated(&SENDER, &other), Err(AuthError::WrongCode));
    assert_eq!(ReflectorPacket::parse_authenticated(&REFLECTOR, &other), Err(AuthError::WrongCode));
}

#[test]
fn what_follows_the_base_is_not_covered_and_comes_back() {
    let request = [&SENDER[..], &[1, 2, 3, 4, 5]].concat();
    assert_eq!(SenderPacket::parse_authenticated(&request, &key()), Ok(exchange().0));
    let mut buf = [0xee; 130];
    let reply = exchange().1;
    assert_eq!(reply.emit_authenticated(&request, &mut buf, &key()), Ok(117));
    assert_eq!(buf[..112], REFLECTOR);
    assert_eq!(buf[112..118], [1, 2, 3, 4, 5, 0xee], "nothing is written past the reply");
    let no_room = AuthError::NoRoom { need: 117, have: 116 };
    assert_eq!(reply.emit_authenticated(&request, &mut buf[..116], &key()), Err(no_room));
}

#[test]
fn octets_that_should_be_zero_are_noticed_and_nothing_else_is() {
    for place in 0..120 {
        let mut octets = [0; 120];
        octets[place] = 1;
        let zeros = !((4..16).contains(&place) || (28..96).contains(&place));
        assert_eq!(authenticated_sender_zeros_are_zero(&octets), zeros, "{place}");
    }
    assert!(!authenticated_sender_zeros_are_zero(&[0; 111]));
}

#[test]
fn a_reply_under_the_same_key_is_known_for_one() {
    let (request, reply) = exchange();
    assert!(looks_like_authenticated_reply(&REFLECTOR));
    assert!(looks_like_authenticated_reply(&[&REFLECTOR[..], &[9; 50]].concat()));
    assert!(!looks_like_authenticated_reply(&REFLECTOR[..111]));
    assert!(!looks_like_authenticated_reply(&SENDER));
    // The code is right all the same.
    assert!(SenderPacket::parse_authenticated(&REFLECTOR, &key()).is_ok());

    let looks = |reply: ReflectorPacket| {
        let mut octets = [0; AUTHENTICATED_BASE];
        reply.emit_authenticated_over(&mut octets, &key()).unwrap();
        looks_like_authenticated_reply(&octets)
    };
    assert!(!looks(ReflectorPacket { receive_timestamp: None, ..reply }));
    assert!(looks(ReflectorPacket { sender_timestamp: None, ..reply }));
    assert!(!looks(ReflectorPacket { timestamp: time(10_125_000_002), ..reply }));
    assert!(!looks(ReflectorPacket::answering(&request, WireTime(0), time(0), request.error, 1)));
}

#[test]
fn the_two_modes_do_not_take_each_other_for_replies() {
    let mut octets = [0; AUTHENTICATED_BASE];
    exchange().1.emit_over(&mut octets).unwrap();
    assert!(looks_like_reply(&octets) && !looks_like_authenticated_reply(&octets));
    assert!(!looks_like_reply(&SENDER));
}

proptest! {
    #[test]
    fn a_request_is_read_as_written(packet in sender(), len in AUTHENTICATED_BASE..200) {
        let mut buf = vec![0xff; len];
        packet.emit_authenticated(&mut buf, &key()).unwrap();
        prop_assert_eq!(SenderPacket::parse_authenticated(&buf, &key()), Ok(packet));
        prop_assert!(authenticated_sender_zeros_are_zero(&buf));
        prop_assert!(!looks_like_authenticated_reply(&buf));
        prop_assert!(buf[AUTHENTICATED_BASE..].iter().all(|octet| *octet == 0));
    }

    #[test]
    fn a_reply_is_read_as_written_and_as_long_as_its_request(
        packet in reply(), request in prop::collection::vec(any::<u8>(), AUTHENTICATED_BASE..300),
    ) {
        let mut buf = vec![0xff; 300];
        prop_assert_eq!(packet.emit_authenticated(&request, &mut buf, &key()), Ok(request.len()));
        let (written, rest) = buf.split_at(request.len());
        prop_assert_eq!(ReflectorPacket::parse_authenticated(written, &key()), Ok(packet));
        prop_assert_eq!(&written[AUTHENTICATED_BASE..], &request[AUTHENTICATED_BASE..]);
        prop_assert!(rest.iter().all(|octet| *octet == 0xff));
    }

    #[test]
    fn any_bytes_are_survived_and_refused(octets in prop::collection::vec(any::<u8>(), 0..300)) {
        let refusal = if octets.len() < AUTHENTICATED_BASE {
            AuthError::TooShort(octets.len())
        } else {
            AuthError::WrongCode
        };
        prop_assert_eq!(SenderPacket::parse_authenticated(&octets, &key()), Err(refusal));
        prop_assert_eq!(ReflectorPacket::parse_authenticated(&octets, &key()), Err(refusal));
        let _ = (looks_like_authenticated_reply(&octets), authenticated_sender_zeros_are_zero(&octets));
    }
}
