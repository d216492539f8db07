use super::super::tests::{REPLY, REQUEST};
use super::super::{LIMIT, Reflected, SyncSource};
use super::*;
use crate::stamp::{BASE, ErrorEstimate, ReflectorPacket, ReplyFormat, SenderPacket};

/// Octets 0x40 to 0x67.
pub(super) fn key() -> Key {
    let octets: Vec<u8> = (0x40..0x68).collect();
    Key::new(&octets).unwrap()
}

pub(super) fn dscp(value: u8) -> Dscp {
    Dscp::new(value).unwrap()
}

/// A reflector that knows everything: what the reply of the independent codec was made with.
pub(super) fn knowing() -> TlvContext {
    let software = TimestampMethod::SOFTWARE;
    TlvContext {
        request_sequence: 9,
        reply_sequence: 77,
        must_be_protected: false,
        format: TimestampFormat::Ntp,
        clock: Some(TimestampInformation {
            sync_in: SyncSource::NTP,
            method_in: software,
            sync_out: SyncSource::NTP,
            method_out: software,
        }),
        arrival: Some(Arrival { dscp: dscp(34), ecn: Ecn::Ce }),
        permitted: DscpSet::NONE,
        in_profile: Some(InProfile { received: 990, transmitted: 42 }),
        follow_up: Some(FollowUp {
            sequence: 76,
            departed_unix_nanos: 1_657_711_200_500_000_000,
            method: TimestampMethod::HARDWARE,
        }),
    }
}

/// A stateless reflector that knows nothing of itself or of the request.
pub(super) fn ignorant() -> TlvContext {
    TlvContext { clock: None, arrival: None, in_profile: None, follow_up: None, ..knowing() }
}

pub(super) fn reflected(request: &[u8], context: &TlvContext, key: Option<&Key>) -> (Vec<u8>, TlvOutcome) {
    let mut out = vec![0xee; request.len() + 3];
    let outcome = reflect(request, context, key, &mut out).unwrap();
    assert_eq!(out.split_off(request.len()), [0xee; 3], "nothing is written past the reply");
    (out, outcome)
}

/// One TLV with U set.
pub(super) fn tlv(kind: u8, value: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(value.len()).unwrap().to_be_bytes();
    [&[0x80, kind, high, low], value].concat()
}

/// The flags of the TLVs, the last one's too if it is malformed.
fn flags(extensions: &[u8]) -> Vec<u8> {
    Tlvs::new(extensions).map(|tlv| tlv.map_or_else(|cut| cut.flags, |tlv| tlv.flags).bits()).collect()
}

pub(super) fn sealed(request: &[u8], sequence: u32) -> Vec<u8> {
    [request, &tlv(kind::HMAC, &key().tag(&[&sequence.to_be_bytes(), request]))].concat()
}

#[test]
fn every_tlv_is_answered_as_an_independent_codec_writes_it() {
    let (reply, outcome) = reflected(&REQUEST, &knowing(), Some(&key()));
    assert_eq!(reply, REPLY);
    let expected = TlvOutcome {
        integrity: Integrity::Verified,
        understood: 6,
        unrecognized: 1,
        dscp: Some(dscp(34)),
        ..TlvOutcome::default()
    };
    assert_eq!(outcome, expected);
}

#[test]
fn no_room_is_said_and_nothing_written() {
    let mut out = [0xee; 85];
    let refused = reflect(&REQUEST, &knowing(), None, &mut out);
    assert_eq!(refused, Err(StampError::NoRoom { need: 86, have: 85 }));
    assert_eq!(out, [0xee; 85]);
}

#[test]
fn an_unknown_type_comes_back_with_u_and_otherwise_as_it_was() {
    for unknown in [0, kind::LOCATION, kind::ACCESS_REPORT, 9, 175, 239, 240, 251, 252, 254, 255] {
        // A sender that sets other flags is not listened to.
        for sent in [0x00, 0x80, 0x5f, 0xff] {
            let mut request = tlv(unknown, b"four and more");
            request[0] = sent;
            let (reply, outcome) = reflected(&request, &knowing(), None);
            assert_eq!(reply[0], 0x80);
            assert_eq!(reply[1..], request[1..]);
            assert_eq!((outcome.unrecognized, outcome.understood, outcome.malformed), (1, 0, false));
        }
    }
}

#[test]
fn a_length_past_the_end_is_malformed_and_the_rest_is_copied() {
    let request = [tlv(kind::EXTRA_PADDING, &[7; 4]), vec![0x80, 4, 0, 5, 1, 2, 3, 4]].concat();
    let (reply, outcome) = reflected(&request, &knowing(), None);
    assert_eq!(flags(&reply), [0x00, 0x40], "the one before it is answered");
    assert_eq!(reply[9..], request[9..]);
    assert!(outcome.malformed && outcome.understood == 1);
    // Of an unknown type; without an octet for the type.
    assert_eq!(flags(&reflected(&[0x80, 99, 0xff, 0xff, 1], &knowing(), None).0), [0xc0]);
    assert_eq!(flags(&reflected(&[0x80], &knowing(), None).0), [0xc0]);
}

#[test]
fn nothing_after_a_malformed_tlv_is_touched() {
    let after = [tlv(kind::CLASS_OF_SERVICE, &[0; 4]), tlv(99, &[]), vec![0x9f, 1, 2]].concat();
    for (bad, length) in [
        (kind::TIMESTAMP_INFORMATION, 3),
        (kind::CLASS_OF_SERVICE, 5),
        (kind::DIRECT_MEASUREMENT, 8),
        (252, 3),
    ] {
        let request = [tlv(bad, &vec![9; length]), after.clone()].concat();
        let (reply, outcome) = reflected(&request, &knowing(), None);
        let expected = if bad == 252 { 0xc0 } else { 0x40 };
        assert_eq!(reply[0], expected, "type {bad}");
        assert_eq!(reply[1..], request[1..]);
        let expected = TlvOutcome { malformed: true, ..TlvOutcome::default() };
        assert_eq!(outcome, expected);
    }
}

#[test]
fn a_follow_up_of_the_wrong_length_is_zeroed_where_its_fields_are() {
    for length in [0usize, 5, 12, 15, 17, 30] {
        let request = tlv(kind::FOLLOW_UP_TELEMETRY, &vec![0xab; length]);
        let (reply, outcome) = reflected(&request, &knowing(), None);
        assert_eq!(reply[0], 0x40);
        let zeroed = length.min(12);
        assert_eq!(reply[4..4 + zeroed], vec![0; zeroed]);
        assert_eq!(reply[4 + zeroed..], vec![0xab; length - zeroed]);
        assert!(outcome.malformed);
    }
}

#[test]
fn a_stateless_reflector_follows_up_with_zeros() {
    let request = tlv(kind::FOLLOW_UP_TELEMETRY, &[0xab; 16]);
    let (reply, outcome) = reflected(&request, &ignorant(), None);
    assert_eq!(reply, [&[0, 7, 0, 16][..], &[0; 16]].concat());
    assert_eq!(outcome.understood, 1);
    let read = FollowUpTelemetry::from_octets(*reply[4..].first_chunk().unwrap());
    assert!(read.is_empty());
}

#[test]
fn a_follow_up_is_in_the_format_of_the_reply() {
    let request = tlv(kind::FOLLOW_UP_TELEMETRY, &[0; 16]);
    for format in [TimestampFormat::Ntp, TimestampFormat::Ptp] {
        let (reply, _) = reflected(&request, &TlvContext { format, ..knowing() }, None);
        let read = FollowUpTelemetry::from_octets(*reply[4..].first_chunk().unwrap());
        let departed = 1_657_711_200_500_000_000;
        assert_eq!(read.timestamp.to_unix_nanos(format, departed), Some(departed));
        assert_eq!((read.sequence, read.method), (76, TimestampMethod::HARDWARE));
    }
}

#[test]
fn what_cannot_be_answered_now_gets_u() {
    let request = [
        tlv(kind::TIMESTAMP_INFORMATION, &[0; 4]),
        tlv(kind::CLASS_OF_SERVICE, &[0xb8, 0, 0, 0]),
        tlv(kind::DIRECT_MEASUREMENT, &[1; 12]),
    ]
    .concat();
    let (reply, outcome) = reflected(&request, &ignorant(), None);
    assert_eq!(reply, request);
    assert_eq!((outcome.understood, outcome.unrecognized, outcome.dscp), (0, 3, None));
}

#[test]
fn the_code_point_asked_for_is_used_where_it_is_permitted() {
    let context = TlvContext { permitted: DscpSet::NONE.with(dscp(10)).with(dscp(46)), ..knowing() };
    let ask = |wanted: u8| tlv(kind::CLASS_OF_SERVICE, &[wanted << 2, 0xff, 0xff, 0xff]);
    let answer = |reply: &[u8]| ClassOfService::from_octets(*reply[4..].first_chunk().unwrap());
    let arrived = ClassOfService { received: dscp(34), ecn: Ecn::Ce, ..ClassOfService::default() };

    let (reply, outcome) = reflected(&ask(46), &context, None);
    assert_eq!(answer(&reply), ClassOfService { wanted: dscp(46), reverse_path: 0, ..arrived });
    assert_eq!(reply[6..], [0, 0], "what is reserved is zero");
    assert_eq!(outcome.dscp, Some(dscp(46)));

    // Refused even if it is the one that the request had: RP then says that the policy refused it.
    for wanted in [0, 34, 63] {
        let (reply, outcome) = reflected(&ask(wanted), &context, None);
        let refused = ClassOfService { wanted: dscp(wanted), reverse_path: 1, ..arrived };
        assert_eq!((answer(&reply), outcome.dscp), (refused, Some(dscp(34))));
    }

    // The first decides.
    let (reply, outcome) = reflected(&[ask(10), ask(46), ask(10)].concat(), &context, None);
    let paths: Vec<u8> = reply.chunks(8).map(|tlv| answer(tlv).reverse_path).collect();
    assert_eq!((paths, outcome.dscp), (vec![0, 1, 0], Some(dscp(10))));
    assert!(DscpSet::ALL.contains(dscp(63)) && !DscpSet::NONE.contains(dscp(0)));
}

#[test]
fn tlvs_within_timestamp_information_get_u() {
    let within = [tlv(1, &[5; 3]), tlv(77, &[])].concat();
    let mut request = tlv(kind::TIMESTAMP_INFORMATION, &[&[0; 4][..], &within].concat());
    request[8] = 0;
    let (reply, outcome) = reflected(&request, &knowing(), None);
    assert_eq!(reply, [&[0, 3, 0, 15, 1, 2, 1, 2][..], &within].concat());
    assert_eq!((outcome.understood, outcome.unrecognized), (1, 0));

    request[11] = 8;
    let (reply, outcome) = reflected(&request, &knowing(), None);
    assert_eq!((reply[0], reply[8]), (0x40, 0xc0), "it and what holds it are malformed");
    assert_eq!(reply[4..8], [0; 4]);
    assert!(outcome.malformed && outcome.understood == 0);
}

#[test]
fn the_sixty_fifth_tlv_is_malformed_at_the_top_and_within_another() {
    for kind in [kind::EXTRA_PADDING, 99] {
        let (reply, outcome) = reflected(&tlv(kind, &[]).repeat(1000), &knowing(), None);
        let known = kind == kind::EXTRA_PADDING;
        assert_eq!(reply[4 * 63], if known { 0x00 } else { 0x80 });
        assert_eq!(reply[4 * 64], if known { 0x40 } else { 0xc0 });
        assert!(reply.chunks(4).skip(65).all(|tlv| tlv[0] == 0x80));
        assert_eq!(outcome.understood + outcome.unrecognized, LIMIT);
        assert!(outcome.malformed);
    }
    let nested = tlv(kind::TIMESTAMP_INFORMATION, &tlv(1, &[]).repeat(1000));
    let (reply, outcome) = reflected(&nested, &knowing(), None);
    assert_eq!((reply[0], reply[8 + 4 * 64]), (0x40, 0xc0));
    assert!(outcome.malformed);
}

#[test]
fn sixty_kilobytes_of_padding_come_back() {
    let request = tlv(kind::EXTRA_PADDING, &[0x5a; 60_000]);
    let (reply, outcome) = reflected(&request, &knowing(), None);
    assert_eq!(reply[1..], request[1..]);
    assert_eq!((reply[0], outcome.understood), (0, 1));
}

#[test]
fn zeros_are_padding_of_twamp_and_come_back_untouched() {
    for len in [0, 1, 3, 4, 27, 1400] {
        for must_be_protected in [false, true] {
            let context = TlvContext { must_be_protected, ..knowing() };
            let (reply, outcome) = reflected(&vec![0; len], &context, Some(&key()));
            assert!(reply.iter().all(|octet| *octet == 0));
            assert_eq!(outcome, TlvOutcome { zero_padding: len > 0, ..TlvOutcome::default() });
        }
    }
}

/// Every TLV has I, and is as it was; the fault is `fault`.
fn assert_refused(request: &[u8], context: &TlvContext, key: Option<&Key>, fault: IntegrityFault) {
    let (mut reply, outcome) = reflected(request, context, key);
    assert_eq!(outcome.integrity, Integrity::Failed(fault), "{request:?}");
    assert_eq!((outcome.understood, outcome.unrecognized, outcome.dscp), (0, 0, None));
    let mut places = Vec::new();
    for tlv in Tlvs::new(&reply) {
        let (offset, flags) = tlv.map_or_else(|cut| (cut.offset, cut.flags), |tlv| (tlv.offset, tlv.flags));
        assert!(flags.integrity());
        places.push(offset);
    }
    for place in places {
        reply[place] = request[place];
    }
    assert_eq!(reply, request, "nothing but flags has changed");
}

#[test]
fn a_wrong_code_sets_i_everywhere_and_answers_nothing() {
    for bit in 0..REQUEST.len() * 8 {
        let mut request = REQUEST;
        request[bit / 8] ^= 1 << (bit % 8);
        let (_, outcome) = reflected(&request, &knowing(), Some(&key()));
        let verified = outcome.integrity == Integrity::Verified;
        match bit / 8 {
            // The flags of the code itself and Extra Padding after it are not covered.
            60 | 80 | 84 | 85 => assert!(verified, "bit {bit}"),
            // With another length, the padding may leave octets behind that are no padding.
            82 | 83 => {}
            _ => assert!(!verified, "bit {bit}"),
        }
    }
    let mut request = REQUEST;
    request[64] ^= 1;
    assert_refused(&request, &knowing(), Some(&key()), IntegrityFault::WrongCode);
    let context = TlvContext { request_sequence: 10, ..knowing() };
    assert_refused(&REQUEST, &context, Some(&key()), IntegrityFault::WrongCode);
    assert_refused(&REQUEST, &knowing(), None, IntegrityFault::NoKey);
}

#[test]
fn a_code_that_is_not_last_sets_i_everywhere() {
    let covered = tlv(kind::CLASS_OF_SERVICE, &[0; 4]);
    let good = sealed(&covered, 9);
    for after in [
        tlv(kind::CLASS_OF_SERVICE, &[0; 4]),
        tlv(99, &[]),
        tlv(kind::HMAC, &[0; 16]),
        vec![0x80, 5, 0, 12],
        vec![0],
    ] {
        let request = [good.clone(), after].concat();
        assert_refused(&request, &knowing(), Some(&key()), IntegrityFault::Misplaced);
    }
    for code in [vec![], vec![0; 15], vec![0; 17]] {
        let request = [covered.clone(), tlv(kind::HMAC, &code)].concat();
        assert_refused(&request, &knowing(), Some(&key()), IntegrityFault::Misplaced);
        assert_eq!(flags(&reflected(&request, &knowing(), Some(&key())).0), [0xa0, 0xe0]);
    }
    // Cut off.
    assert_refused(&good[..good.len() - 1], &knowing(), Some(&key()), IntegrityFault::Misplaced);
    // Extra Padding may follow, even some that is cut off.
    let padded = [good, tlv(kind::EXTRA_PADDING, &[1]), vec![0x80, 1, 0, 9, 1]].concat();
    let (reply, outcome) = reflected(&padded, &knowing(), Some(&key()));
    assert_eq!(outcome.integrity, Integrity::Verified);
    assert_eq!(flags(&reply), [0, 0, 0, 0x40]);
}

#[test]
fn where_tlvs_must_be_protected_only_one_extra_padding_goes_without_a_code() {
    let context = TlvContext { must_be_protected: true, ..knowing() };
    let padding = tlv(kind::EXTRA_PADDING, &[3; 9]);
    let (reply, outcome) = reflected(&padding, &context, Some(&key()));
    assert_eq!((outcome.integrity, outcome.understood), (Integrity::Unprotected, 1));
    assert_eq!(reply[0], 0);
    for request in [
        padding.repeat(2),
        [padding.clone(), vec![0x80]].concat(),
        padding[..12].to_vec(),
        tlv(kind::CLASS_OF_SERVICE, &[0; 4]),
        tlv(99, &[]),
    ] {
        assert_refused(&request, &context, Some(&key()), IntegrityFault::Missing);
        assert_refused(&request, &context, None, IntegrityFault::Missing);
    }
    // Elsewhere, a key alone does not demand a code.
    let (_, outcome) = reflected(&padding.repeat(2), &knowing(), Some(&key()));
    assert_eq!((outcome.integrity, outcome.understood), (Integrity::Unprotected, 2));
}

#[test]
fn a_malformed_tlv_under_a_right_code_is_reported_under_a_right_code() {
    let bad = [tlv(kind::CLASS_OF_SERVICE, &[0; 5]), tlv(kind::DIRECT_MEASUREMENT, &[0; 12])].concat();
    let (reply, outcome) = reflected(&sealed(&bad, 9), &knowing(), Some(&key()));
    assert_eq!((outcome.integrity, outcome.malformed), (Integrity::Verified, true));
    assert_eq!(flags(&reply), [0x40, 0x80, 0x00]);
    let mut read = Reflected::new(&reply, 77, Some(&key())).unwrap();
    assert_eq!(read.by_ref().count(), 0);
    assert!(read.malformed());
}

#[test]
fn the_reply_has_its_own_format_whatever_the_request_has() {
    let estimate = |format| ErrorEstimate::new(true, format, 12, 200).unwrap();
    for asked in [TimestampFormat::Ntp, TimestampFormat::Ptp] {
        assert_eq!(ReplyFormat::default().answering(estimate(asked)), TimestampFormat::Ntp);
        assert_eq!(ReplyFormat::Ptp.answering(estimate(asked)), TimestampFormat::Ptp);
        assert_eq!(ReplyFormat::AsRequested.answering(estimate(asked)), asked);
        for own in [TimestampFormat::Ntp, TimestampFormat::Ptp] {
            assert_eq!(estimate(own).with_format(asked), estimate(asked));
        }
    }
    // A request in PTP, answered in NTP: its T1 comes back to the bit, beside its own Z.
    let (now, error) = (1_657_711_200_500_000_001, estimate(TimestampFormat::Ptp));
    let timestamp = WireTime::from_unix_nanos(now, TimestampFormat::Ptp);
    let request = SenderPacket { sequence: 1, timestamp, error, ssid: None };
    let format = ReplyFormat::Ntp.answering(request.error);
    let own = WireTime::from_unix_nanos(now + 7, format);
    let mut octets = [0; BASE];
    ReflectorPacket::answering(&request, own, own, error.with_format(format), 64)
        .emit_over(&mut octets)
        .unwrap();
    let read = ReflectorPacket::parse(&octets).unwrap();
    assert_eq!(read.error.format(), TimestampFormat::Ntp);
    assert_eq!(read.timestamp.to_unix_nanos(read.error.format(), now), Some(now + 7));
    assert_eq!((read.sender_timestamp, read.sender_error), (Some(timestamp), Some(error)));
}
