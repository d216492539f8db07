use super::*;
use crate::ip::Ecn;
use crate::stamp::{Key, WireTime};
use proptest::prelude::*;
use romer_units::Dscp;

/// Octets 0x40 to 0x67.
fn key() -> Key {
    let octets: Vec<u8> = (0x40..0x68).collect();
    Key::new(&octets).unwrap()
}

// TLVs written by scapy 2.8.0 (scapy.contrib.stamp), values by Python's struct, codes by its hmac and
// hashlib. The request's is over sequence number 9, the reply's over 77. Flags are given as numbers: by
// name, scapy puts U in the lowest bit.
pub(super) const REQUEST: [u8; 86] = [
    0x80, 0x03, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x80, 0x04, 0x00, 0x04, 0xb8, 0x00, 0x00, 0x00, 0x80,
    0x05, 0x00, 0x0c, 0x00, 0x00, 0x03, 0xe8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x07,
    0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x80, 0xc8, 0x00, 0x04, 0x61, 0x62, 0x63, 0x64, 0x80, 0x08, 0x00, 0x10, 0x77, 0x2b, 0x4f, 0xd3,
    0x6d, 0x19, 0xaf, 0x24, 0x15, 0x14, 0xc8, 0xaa, 0xa4, 0xe2, 0x68, 0xa2, 0x80, 0x01, 0x00, 0x02, 0xaa,
    0xbb,
];
pub(super) const REPLY: [u8; 86] = [
    0x00, 0x03, 0x00, 0x04, 0x01, 0x02, 0x01, 0x02, 0x00, 0x04, 0x00, 0x04, 0xba, 0x2d, 0x00, 0x00, 0x00,
    0x05, 0x00, 0x0c, 0x00, 0x00, 0x03, 0xe8, 0x00, 0x00, 0x03, 0xde, 0x00, 0x00, 0x00, 0x2a, 0x00, 0x07,
    0x00, 0x10, 0x00, 0x00, 0x00, 0x4c, 0xe6, 0x79, 0x28, 0xe0, 0x80, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00,
    0x00, 0x80, 0xc8, 0x00, 0x04, 0x61, 0x62, 0x63, 0x64, 0x00, 0x08, 0x00, 0x10, 0x59, 0xd2, 0xa2, 0x35,
    0x3c, 0x75, 0x14, 0x49, 0x07, 0x9e, 0xf5, 0xda, 0x2c, 0x50, 0xb8, 0x2c, 0x00, 0x01, 0x00, 0x02, 0xaa,
    0xbb,
];

fn typed(extensions: &[u8]) -> Vec<(u8, Value<'_>)> {
    Tlvs::new(extensions)
        .map(|tlv| tlv.unwrap())
        .map(|tlv| (tlv.flags.bits(), tlv.value().unwrap()))
        .collect()
}

#[test]
fn a_request_reads_and_writes_the_same_as_by_an_independent_codec() {
    let code = *REQUEST[64..80].first_chunk().unwrap();
    let wanted = ClassOfService { wanted: Dscp::EF, ..ClassOfService::default() };
    let counted = DirectMeasurement { sender_transmitted: 1000, ..DirectMeasurement::default() };
    let expected = [
        Value::TimestampInformation(TimestampInformation::default(), &[]),
        Value::ClassOfService(wanted),
        Value::DirectMeasurement(counted),
        Value::FollowUpTelemetry(FollowUpTelemetry::default()),
        Value::Other(b"abcd"),
        Value::Hmac(code),
        Value::ExtraPadding(&[0xaa, 0xbb]),
    ]
    .map(|value| (0x80, value));
    assert_eq!(typed(&REQUEST), expected);

    let mut buf = [0xff; 100];
    let mut writer = TlvWriter::new(&mut buf);
    assert!(writer.is_empty());
    writer.timestamp_information().unwrap();
    writer.class_of_service(Dscp::EF).unwrap();
    writer.direct_measurement(1000).unwrap();
    writer.follow_up_telemetry().unwrap();
    writer.push(200, 4, |value| value.copy_from_slice(b"abcd")).unwrap();
    writer.seal(9, &key()).unwrap();
    writer.padding(2, |value| value.copy_from_slice(&[0xaa, 0xbb])).unwrap();
    assert_eq!(writer.len(), REQUEST.len());
    assert_eq!(buf[..86], REQUEST);
    assert_eq!(buf[86..], [0xff; 14], "nothing is written past the last TLV");
}

#[test]
fn a_reply_reads_the_same_as_by_an_independent_codec() {
    let software = TimestampMethod::SOFTWARE;
    let answered = [
        Value::TimestampInformation(
            TimestampInformation {
                sync_in: SyncSource::NTP,
                method_in: software,
                sync_out: SyncSource::NTP,
                method_out: software,
            },
            &[],
        ),
        Value::ClassOfService(ClassOfService {
            wanted: Dscp::EF,
            received: Dscp::new(34).unwrap(),
            ecn: Ecn::Ce,
            reverse_path: 1,
        }),
        Value::DirectMeasurement(DirectMeasurement {
            sender_transmitted: 1000,
            reflector_received: 990,
            reflector_transmitted: 42,
        }),
        Value::FollowUpTelemetry(FollowUpTelemetry {
            sequence: 76,
            timestamp: WireTime(0xe679_28e0_8000_0000),
            method: TimestampMethod::HARDWARE,
        }),
        Value::ExtraPadding(&[0xaa, 0xbb]),
    ];
    let mut reflected = Reflected::new(&REPLY, 77, Some(&key())).unwrap();
    let read: Vec<_> = reflected.by_ref().map(|tlv| tlv.value().unwrap()).collect();
    assert_eq!(read, answered, "the one with U and the code are skipped");
    assert!(!reflected.malformed());
}

#[test]
fn a_reply_that_was_changed_or_marked_is_not_used() {
    assert_eq!(Reflected::new(&REPLY, 76, Some(&key())).unwrap_err(), ReplyFault::WrongCode);
    let mut changed = REPLY;
    changed[8] = 0x40;
    assert_eq!(Reflected::new(&changed, 77, Some(&key())).unwrap_err(), ReplyFault::WrongCode);
    changed[80] = 0x20;
    assert_eq!(Reflected::new(&changed, 77, None).unwrap_err(), ReplyFault::IntegrityFlag);
    assert_eq!(Reflected::new(&REPLY[..60], 77, Some(&key())).unwrap_err(), ReplyFault::NoCode);
    assert_eq!(Reflected::new(&REPLY, 77, None).unwrap_err(), ReplyFault::NoKey);
    assert_eq!(Reflected::new(&REPLY[..60], 77, None).unwrap().count(), 4);
}

#[test]
fn a_code_is_not_needed_over_one_extra_padding_alone() {
    for (extensions, needs) in [
        (&[][..], false),
        (&[0; 9], false),
        (&[0, 1, 0, 2, 5, 5], false),
        (&[0, 1, 0, 0, 0, 1, 0, 0], true),
        (&[0, 1, 0, 2, 5, 5, 0], true),
        (&[0, 200, 0, 2, 5, 5], true),
    ] {
        let read = Reflected::new(extensions, 1, Some(&key()));
        assert_eq!(read.err(), needs.then_some(ReplyFault::NoCode), "{extensions:?}");
    }
}

#[test]
fn nothing_is_used_from_the_first_malformed_tlv_on() {
    let mut marked = REPLY;
    marked[16] = 0x40;
    let mut reflected = Reflected::new(&marked[..60], 77, None).unwrap();
    assert_eq!(reflected.by_ref().count(), 2);
    assert!(reflected.malformed());
    let mut cut = Reflected::new(&REPLY[..50], 77, None).unwrap();
    assert_eq!(cut.by_ref().count(), 3);
    assert!(cut.malformed());
}

#[test]
fn octets_that_end_too_early_are_malformed_where_they_begin() {
    for (extensions, offset, flags, kind) in [
        (&[0xe0][..], 0, 0xe0, None),
        (&[0x80, 7], 0, 0x80, Some(7)),
        (&[0x80, 7, 0], 0, 0x80, Some(7)),
        (&[0x80, 1, 0, 1], 0, 0x80, Some(1)),
        (&[0x80, 1, 0, 0, 0x1f], 4, 0, None),
        (&[0x80, 1, 0, 1, 9, 0x80, 3, 0xff, 0xff, 5], 5, 0x80, Some(3)),
    ] {
        let last = Tlvs::new(extensions).last();
        let flags = Flags::from_bits(flags);
        assert_eq!(last, Some(Err(Malformed { offset, flags, kind })), "{extensions:?}");
    }
    assert_eq!(Tlvs::new(&[]).next(), None);
}

#[test]
fn no_more_than_64_are_looked_at() {
    let header = [0x80, 1, 0, 0];
    assert!(Tlvs::new(&header.repeat(64)).all(|tlv| tlv.is_ok()));
    let many = header.repeat(1000);
    let tlvs: Vec<_> = Tlvs::new(&many).collect();
    assert_eq!(tlvs.len(), 65);
    let flags = Flags::UNRECOGNIZED;
    assert_eq!(tlvs[64], Err(Malformed { offset: 256, flags, kind: Some(1) }));
}

#[test]
fn values_of_other_lengths_are_not_read() {
    for (kind, lengths) in [
        (kind::TIMESTAMP_INFORMATION, &[0, 3][..]),
        (kind::CLASS_OF_SERVICE, &[0, 3, 5]),
        (kind::DIRECT_MEASUREMENT, &[11, 13]),
        (kind::FOLLOW_UP_TELEMETRY, &[15, 17]),
        (kind::HMAC, &[0, 15, 17, 32]),
        (252, &[0, 3]),
        (254, &[3]),
    ] {
        for length in lengths {
            let value = vec![0; *length];
            let tlv = Tlv { flags: Flags::NONE, kind, value: &value, offset: 0 };
            assert_eq!(tlv.value(), Err(TlvError::Length { kind, length: *length }));
        }
    }
}

#[test]
fn a_writer_refuses_what_a_reflector_would() {
    let mut buf = [0; 400];
    let mut writer = TlvWriter::new(&mut buf[..50]);
    assert_eq!(writer.padding(47, |_| {}), Err(TlvError::NoRoom { need: 51, have: 50 }));
    assert_eq!(writer.padding(65_536, |_| {}), Err(TlvError::Length { kind: 1, length: 65_536 }));
    assert_eq!(writer.push(kind::HMAC, 16, |_| {}), Err(TlvError::Length { kind: 8, length: 16 }));
    assert!(writer.is_empty());
    writer.seal(0, &key()).unwrap();
    assert_eq!(writer.seal(0, &key()), Err(TlvError::AfterHmac));
    assert_eq!(writer.class_of_service(Dscp::EF), Err(TlvError::AfterHmac));
    assert_eq!(writer.padding(26, |_| {}), Ok(()));
    assert_eq!(writer.len(), 50);

    let mut writer = TlvWriter::new(&mut buf);
    for _ in 0..LIMIT {
        writer.padding(0, |_| {}).unwrap();
    }
    assert_eq!(writer.padding(0, |_| {}), Err(TlvError::TooMany));
}

proptest! {
    #[test]
    fn any_bytes_are_survived(octets: Vec<u8>, sequence: u32, locked: bool) {
        let mut end = 0;
        for tlv in Tlvs::new(&octets) {
            match tlv {
                Ok(tlv) => {
                    prop_assert_eq!(tlv.offset, end);
                    end = tlv.offset + HEADER + tlv.value.len();
                    prop_assert!(end <= octets.len());
                    let _ = tlv.value();
                }
                Err(cut) => {
                    prop_assert_eq!(cut.offset, end);
                    end = octets.len();
                }
            }
        }
        prop_assert_eq!(end, octets.len());
        let key = locked.then(key);
        if let Ok(reflected) = Reflected::new(&octets, sequence, key.as_ref()) {
            prop_assert!(reflected.count() <= LIMIT);
        }
    }

    #[test]
    fn values_are_read_as_written(a: [u8; 4], b: [u8; 4], c: [u8; 12], d: [u8; 16]) {
        prop_assert_eq!(TimestampInformation::from_octets(a).to_octets(), a);
        let [b0, b1, ..] = b;
        prop_assert_eq!(ClassOfService::from_octets(b).to_octets(), [b0, b1, 0, 0]);
        prop_assert_eq!(DirectMeasurement::from_octets(c).to_octets(), c);
        let mut without_reserved = d;
        without_reserved[13..].fill(0);
        prop_assert_eq!(FollowUpTelemetry::from_octets(d).to_octets(), without_reserved);
    }

    #[test]
    fn what_a_writer_wrote_is_read(
        tlvs in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..40)), 0..20),
        sequence: u32,
    ) {
        let mut buf = vec![0; 2000];
        let mut writer = TlvWriter::new(&mut buf);
        let mut written = Vec::new();
        for (kind, value) in &tlvs {
            if writer.push(*kind, value.len(), |room| room.copy_from_slice(value)).is_ok() {
                written.push((*kind, value.as_slice()));
            }
        }
        writer.seal(sequence, &key()).unwrap();
        let len = writer.len();
        let read: Vec<_> = Tlvs::new(&buf[..len]).map(|tlv| tlv.unwrap()).collect();
        prop_assert!(read.iter().all(|tlv| tlv.flags == Flags::UNRECOGNIZED));
        let pairs: Vec<_> = read.iter().map(|tlv| (tlv.kind, tlv.value)).collect();
        prop_assert_eq!(&pairs[..written.len()], &written[..]);
        prop_assert_eq!(pairs.len(), written.len() + 1);
    }
}
