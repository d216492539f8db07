//! What is answered, and with what.

use super::*;
use proptest::prelude::*;
use romer_units::Duration;
use romer_wire::stamp::TimestampFormat;

const HERE: &str = "203.0.113.2:862";

fn reflector(allowed: &[&str]) -> Reflector {
    let limiter = Limiter::new(1_000_000, 16, (1, 2), Timestamp::from_nanos(0));
    Reflector::new(limiter, allowed.iter().map(|prefix| prefix.parse().unwrap()).collect())
}
fn incoming<'a>(payload: &'a [u8], source: &str) -> Incoming<'a> {
    Incoming {
        payload,
        source: source.parse().unwrap(),
        destination: HERE.parse().unwrap(),
        ttl: Some(61),
        tos: Some(0),
        arrived: Timestamp::from_nanos(1_700_000_000_000_000_000),
        proved: false,
        expected: false,
    }
}
fn judge(reflector: &mut Reflector, payload: &[u8], source: &str) -> Option<Refusal> {
    match reflector.on_datagram(&incoming(payload, source), Timestamp::from_nanos(0)) {
        ReflectorAction::Refused(refusal) => Some(refusal),
        ReflectorAction::Answer(_) | ReflectorAction::Association(_) => None,
    }
}
fn error() -> ErrorEstimate {
    ErrorEstimate::at_least(Duration::from_micros(5), false, TimestampFormat::Ntp)
}
fn request() -> [u8; 44] {
    let mut bytes = [0; 44];
    bytes[3] = 7;
    bytes[4..12].copy_from_slice(&[0xe9, 0, 0, 0, 0, 0, 0, 1]);
    bytes[12..14].copy_from_slice(&error().bits().to_be_bytes());
    bytes
}

#[test]
fn sources_that_are_no_single_sender_are_refused() {
    let mut reflector = reflector(&[]);
    for (source, refusal) in [
        ("192.0.2.1:0", Refusal::BadSource),
        ("192.0.2.1:862", Refusal::BadSource),
        ("192.0.2.1:53", Refusal::BadSource),
        ("192.0.2.1:19", Refusal::BadSource),
        ("192.0.2.1:123", Refusal::BadSource),
        ("224.0.0.1:5000", Refusal::BadSource),
        ("255.255.255.255:5000", Refusal::BadSource),
        ("0.0.0.0:5000", Refusal::BadSource),
        ("127.0.0.1:5000", Refusal::BadSource),
        ("[ff02::1]:5000", Refusal::BadSource),
        (HERE, Refusal::Loop),
    ] {
        assert_eq!(judge(&mut reflector, &request(), source), Some(refusal), "{source}");
    }
    assert_eq!(judge(&mut reflector, &request(), "192.0.2.1:5000"), None);
    let counters = reflector.counters();
    assert_eq!((counters.bad_source, counters.looped, counters.received), (10, 1, 12));
}

/// A port of a well-known service is served once the control channel has proved it.
#[test]
fn proved_service_ports_are_served() {
    let mut reflector = reflector(&[]);
    let bytes = request();
    let proved = Incoming { proved: true, ..incoming(&bytes, "192.0.2.1:862") };
    assert!(matches!(reflector.on_datagram(&proved, Timestamp::from_nanos(0)), ReflectorAction::Answer(_)));
}

/// A sender's own port may be one of ill repute, as where it is the reflector's: an association that is waited for is taken.
#[test]
fn expected_associations_come_from_any_port() {
    let mut reflector = reflector(&[]);
    let token = [7; 16];
    let bytes = association::datagram(token);
    for source in ["192.0.2.1:862", "192.0.2.1:53", "192.0.2.1:5000"] {
        let expected = Incoming { expected: true, ..incoming(&bytes, source) };
        let verdict = reflector.on_datagram(&expected, Timestamp::from_nanos(0));
        assert!(
            matches!(verdict, ReflectorAction::Association(taken) if taken == token),
            "{source}: {verdict:?}"
        );
    }
    assert_eq!(judge(&mut reflector, &bytes, "192.0.2.1:862"), Some(Refusal::BadSource));
}

/// Under 14 octets there is no reply; up to 43 it is a base packet of 44, and from there on it is as long as the request.
#[test]
fn short_requests_get_base_replies() {
    let mut reflector = reflector(&[]);
    for length in 0..200 {
        let mut bytes = vec![0; length];
        bytes.iter_mut().zip(request()).for_each(|(octet, value)| *octet = value);
        let incoming = incoming(&bytes, "192.0.2.1:5000");
        match reflector.on_datagram(&incoming, Timestamp::from_nanos(0)) {
            ReflectorAction::Refused(refusal) => {
                assert!(length < 14 && refusal == Refusal::TooShort, "{length}");
            }
            ReflectorAction::Answer(answer) => {
                let mut reply = [0; 300];
                let written = answer.write(incoming.arrived, error(), &mut reply);
                assert_eq!(written.map(|written| written.octets), Some(length.max(44)));
                assert_eq!(answer.sequence(), 7);
            }
            ReflectorAction::Association(_) => panic!("nobody proved anything"),
        }
    }
}

#[test]
fn a_reply_is_never_answered() {
    let (mut first, mut second) = (reflector(&[]), reflector(&[]));
    let bytes = request();
    let asked = incoming(&bytes, "192.0.2.1:5000");
    let ReflectorAction::Answer(answer) = first.on_datagram(&asked, Timestamp::from_nanos(0)) else {
        panic!("refused")
    };
    let mut reply = [0; 44];
    answer.write(asked.arrived + Duration::from_micros(10), error(), &mut reply).unwrap();
    assert_eq!(judge(&mut second, &reply, "192.0.2.1:8620"), Some(Refusal::NotRequest));
    assert_eq!(second.counters().not_request, 1);
}

#[test]
fn only_allowed_ranges_are_answered() {
    let mut reflector =
        reflector(&["192.0.2.0/24", "2001:db8::/32", "198.51.100.7", "::ffff:203.0.113.0/120"]);
    for (source, allowed) in [
        ("192.0.2.255:5000", true),
        ("192.0.3.0:5000", false),
        ("198.51.100.7:5000", true),
        ("198.51.100.8:5000", false),
        ("[2001:db8:ffff::1]:5000", true),
        ("[2001:db9::1]:5000", false),
        ("[::ffff:192.0.2.1]:5000", true),
        ("203.0.113.9:5000", true),
        ("[::ffff:203.0.113.9]:5000", true),
        ("203.0.114.9:5000", false),
    ] {
        let refusal = judge(&mut reflector, &request(), source);
        assert_eq!(refusal, (!allowed).then_some(Refusal::NotAllowed), "{source}");
    }
}

#[test]
fn faults_that_must_be_ignored_are_ignored_and_counted() {
    let mut reflector = reflector(&[]);
    let mut bytes = request();
    bytes[40] = 1;
    bytes[13] = 0;
    assert_eq!(judge(&mut reflector, &bytes, "192.0.2.1:5000"), None);
    let counters = reflector.counters();
    assert_eq!((counters.nonzero_mbz, counters.bad_error_estimate), (1, 1));
}

proptest! {
    #[test]
    fn no_datagram_makes_the_reflector_send_much_more_than_it_received(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..1500), 1..20),
    ) {
        let mut reflector = reflector(&[]);
        for payload in &payloads {
            let verdict = reflector.on_datagram(&incoming(payload, "192.0.2.1:5000"), Timestamp::from_nanos(0));
            if let ReflectorAction::Answer(answer) = verdict {
                let mut reply = vec![0; 2_000];
                let arrived = incoming(payload, "192.0.2.1:5000").arrived;
                let written = answer.write(arrived, error(), &mut reply).unwrap();
                prop_assert_eq!(written.octets, payload.len().max(BASE));
                prop_assert!((written.octets + 28) * 100 <= (payload.len() + 28) * 172, "octets of IP");
                reflector.on_reflected(&written);
            }
        }
        let counters = reflector.counters();
        prop_assert_eq!(counters.received, counters.reflected + counters.associations + counters.refused());
    }
}

/// The answers to what only some requests ask for.
mod extended {
    use super::*;
    use crate::reflector::table::PLACES;
    use romer_wire::stamp::tlv::{
        ClassOfService, DirectMeasurement, FollowUpTelemetry, Reflected, SyncSource, TimestampMethod, Tlv,
        TlvWriter, Tlvs, Value, kind,
    };

    const SOURCE: &str = "192.0.2.1:5000";

    fn key(fill: u8) -> Arc<Key> {
        Arc::new(Key::new(&[fill; 32]).unwrap())
    }
    fn ruled(rules: Rules) -> Reflector {
        let limiter = Limiter::new(1_000_000, 16, (1, 2), Timestamp::from_nanos(0));
        let mut reflector = Reflector::with_rules(limiter, rules, (3, 4));
        reflector.set_clock(TimestampInformation {
            sync_in: SyncSource::NTP,
            method_in: TimestampMethod::SOFTWARE,
            sync_out: SyncSource::NTP,
            method_out: TimestampMethod::SOFTWARE,
        });
        reflector
    }
    fn packet(sequence: u32, ssid: u16) -> SenderPacket {
        let nanos = 1_700_000_000_000_000_000 + i64::from(sequence) * 1_000_000;
        SenderPacket {
            sequence,
            timestamp: WireTime::from_unix_nanos(nanos, TimestampFormat::Ntp),
            error: error(),
            ssid: NonZeroU16::new(ssid),
        }
    }
    fn plain(sequence: u32, extensions: &[u8]) -> Vec<u8> {
        let mut octets = vec![0; BASE];
        packet(sequence, 9).emit(&mut octets).unwrap();
        [octets, extensions.to_vec()].concat()
    }
    fn authentic(sequence: u32, key: &Key, extensions: &[u8]) -> Vec<u8> {
        let mut octets = vec![0; AUTHENTICATED_BASE];
        packet(sequence, 9).emit_authenticated(&mut octets, key).unwrap();
        [octets, extensions.to_vec()].concat()
    }
    fn asked(write: impl FnOnce(&mut TlvWriter<'_>)) -> Vec<u8> {
        let mut buffer = [0; 500];
        let mut writer = TlvWriter::new(&mut buffer);
        write(&mut writer);
        let length = writer.len();
        buffer[..length].to_vec()
    }
    /// The reply to a request, as it is sent.
    fn exchange(reflector: &mut Reflector, request: &[u8]) -> Result<(Vec<u8>, Written), Refusal> {
        exchange_at(reflector, &incoming(request, SOURCE), Timestamp::from_nanos(0))
    }
    fn exchange_at(
        reflector: &mut Reflector,
        incoming: &Incoming<'_>,
        now: Timestamp<Monotonic>,
    ) -> Result<(Vec<u8>, Written), Refusal> {
        match reflector.on_datagram(incoming, now) {
            ReflectorAction::Refused(refusal) => Err(refusal),
            ReflectorAction::Association(_) => panic!("nobody proved anything"),
            ReflectorAction::Answer(answer) => {
                let mut reply = vec![0xee; 2_000];
                let departs = incoming.arrived + Duration::from_micros(20);
                let written = answer.write(departs, error(), &mut reply).unwrap();
                assert_eq!(written.octets, incoming.payload.len().max(BASE));
                assert!(reply[written.octets..].iter().all(|octet| *octet == 0xee), "written past the reply");
                reflector.on_reflected(&written);
                reply.truncate(written.octets);
                Ok((reply, written))
            }
        }
    }
    fn values(reply: &[u8]) -> Vec<(u8, bool, bool)> {
        let read = |tlv: Tlv<'_>| (tlv.kind, tlv.flags.unrecognized(), tlv.flags.malformed());
        Tlvs::new(reply).map(|tlv| tlv.map_or((0, false, true), read)).collect()
    }

    /// With a key, only packets made with it are answered, each once.
    #[test]
    fn keys_admit_each_packet_once() {
        let mut reflector = ruled(Rules { key: Some(key(1)), ..Rules::default() });
        let first = authentic(100, &key(1), &[]);
        let (reply, _) = exchange(&mut reflector, &first).unwrap();
        let read = ReflectorPacket::parse_authenticated(&reply, &key(1)).unwrap();
        assert_eq!((read.sender_sequence, read.sequence, read.sender_ttl), (Some(100), 100, Some(61)));
        let refused = |reflector: &mut Reflector, octets: &[u8]| exchange(reflector, octets).err();
        let mut forged = first.clone();
        forged[3] ^= 1;
        let short = &first[..111];
        for (what, octets, refusal) in [
            ("the same again", &first[..], Refusal::Replayed),
            ("another key", &authentic(101, &key(2), &[])[..], Refusal::NotAuthentic),
            ("changed on the way", &forged[..], Refusal::NotAuthentic),
            ("cut short", short, Refusal::TooShort),
            ("without a code", &plain(5, &[])[..], Refusal::NotAuthentic),
            ("without a code, and as long as with one", &plain(5, &[0; 68])[..], Refusal::NotAuthentic),
            ("nothing", &[], Refusal::TooShort),
            ("our own reply", &reply[..], Refusal::NotRequest),
        ] {
            assert_eq!(refused(&mut reflector, octets), Some(refusal), "{what}");
        }
        assert!(exchange(&mut reflector, &authentic(9_000, &key(1), &[])).is_ok());
        assert_eq!(refused(&mut reflector, &authentic(99, &key(1), &[])), Some(Refusal::Replayed));
        let counters = reflector.counters();
        assert_eq!((counters.replayed, counters.not_authentic, counters.too_short), (2, 4, 2));
        assert_eq!(counters.received, counters.reflected + counters.refused());
    }

    /// A session with a key of its own is answered by that key only, on a reflector that has none.
    #[test]
    fn session_keys_admit_their_session() {
        let mut reflector = reflector(&[]);
        let own = key(1);
        let mut answer = |octets: &[u8]| {
            let one = Incoming { proved: true, ..incoming(octets, SOURCE) };
            match reflector.on_session_datagram(&one, &own, Timestamp::from_nanos(0)) {
                ReflectorAction::Answer(answer) => {
                    let mut reply = vec![0; 1_500];
                    let written = answer.write(one.arrived, error(), &mut reply).unwrap();
                    reply.truncate(written.octets);
                    Ok(reply)
                }
                ReflectorAction::Refused(refusal) => Err(refusal),
                ReflectorAction::Association(_) => panic!("an association"),
            }
        };
        let reply = answer(&authentic(100, &own, &[])).unwrap();
        let read = ReflectorPacket::parse_authenticated(&reply, &own).unwrap();
        assert_eq!((read.sender_sequence, read.sequence), (Some(100), 100));
        for octets in [authentic(101, &key(2), &[]), plain(102, &[]), plain(103, &[0; 68])] {
            assert_eq!(answer(&octets), Err(Refusal::NotAuthentic));
        }
        assert_eq!(answer(&reply), Err(Refusal::NotRequest));
    }

    /// After a key is replaced, sessions that are remembered go on with the former one, and strangers do not.
    #[test]
    fn replaced_keys_serve_sessions() {
        let mut reflector = ruled(Rules { key: Some(key(1)), ..Rules::default() });
        assert!(exchange(&mut reflector, &authentic(100, &key(1), &[])).is_ok());
        reflector.replace_key(key(2));
        let (reply, _) = exchange(&mut reflector, &authentic(101, &key(1), &[])).unwrap();
        assert!(ReflectorPacket::parse_authenticated(&reply, &key(1)).is_ok(), "the key of the request");
        let stranger = "192.0.2.1:5001";
        let of = |octets: &[u8], reflector: &mut Reflector| {
            exchange_at(reflector, &incoming(octets, stranger), Timestamp::from_nanos(0)).map(drop)
        };
        assert_eq!(of(&authentic(102, &key(1), &[]), &mut reflector), Err(Refusal::NotAuthentic));
        assert_eq!(of(&authentic(102, &key(2), &[]), &mut reflector), Ok(()));
        reflector.replace_key(key(3));
        let refused = exchange(&mut reflector, &authentic(103, &key(1), &[])).err();
        assert_eq!(refused, Some(Refusal::NotAuthentic), "two replacements later");
    }

    /// TLVs as chance has them: of each kind that is known, of the private ones and of unknown ones, with the length that
    /// they have, another one, or one that goes beyond the end; any flags; an HMAC among them or last.
    fn drawn(chance: &romer_units::random::RandomStream, number: u64) -> Vec<u8> {
        const KINDS: [(u8, usize); 11] = [
            (kind::EXTRA_PADDING, 40),
            (kind::LOCATION, 4),
            (kind::TIMESTAMP_INFORMATION, 4),
            (kind::CLASS_OF_SERVICE, 4),
            (kind::DIRECT_MEASUREMENT, 12),
            (kind::ACCESS_REPORT, 4),
            (kind::FOLLOW_UP_TELEMETRY, 16),
            (kind::HMAC, 16),
            (kind::PRIVATE_FIRST, 8),
            (99, 24),
            (0, 0),
        ];
        let mut octets = Vec::new();
        let mut draw = (0..).map(|nth| chance.bits(number << 8 | nth));
        let mut below = |bound: u64| draw.next().unwrap() % bound;
        for _ in 0..below(6) {
            let (kind, proper) = KINDS[usize::try_from(below(11)).unwrap()];
            let length = match below(8) {
                0 => below(1_400),
                1 => 65_535,
                2 => 0,
                _ => proper as u64,
            };
            let there = usize::try_from(length.min(if below(16) == 0 { 3 } else { 400 })).unwrap();
            let flags = if below(3) == 0 { u8::try_from(below(256)).unwrap() } else { 0x80 };
            octets.extend([flags, kind]);
            octets.extend(u16::try_from(length).unwrap().to_be_bytes());
            let fill = u8::try_from(below(256)).unwrap();
            octets.extend(std::iter::repeat_n(fill, there));
        }
        octets.truncate(octets.len().saturating_sub(usize::try_from(below(4)).unwrap()));
        octets
    }

    #[test]
    fn a_hundred_thousand_requests_with_every_tlv_are_answered_with_their_length_or_a_base_packet() {
        const REQUESTS: u32 = 100_000;
        let chance =
            romer_units::random::RandomStream::new(romer_units::random::Seed([1, 2, 3, 4, 5, 6]), [0, 0]);
        let (mut answered, mut seen) = (0, [false; 256]);
        for (share, key) in [(0, None), (1, Some(key(1)))] {
            let mut reflector = ruled(Rules { stateful: true, key: key.clone(), ..Rules::default() });
            for sequence in 0..REQUESTS / 2 {
                let extensions = drawn(&chance, u64::from(sequence) * 2 + share);
                seen[extensions.get(1).copied().map_or(0, usize::from)] = true;
                let mut request = match &key {
                    Some(key) => authentic(sequence, key, &extensions),
                    None => plain(sequence, &extensions),
                };
                request.truncate(1_900);
                // Every twentieth is cut somewhere.
                if sequence.is_multiple_of(20) {
                    let length = request.len() as u64;
                    request.truncate(
                        usize::try_from(chance.bits(u64::MAX - u64::from(sequence)) % length).unwrap(),
                    );
                }
                let now = Timestamp::from_nanos(i64::from(sequence) * 1_000_000);
                // The lengths are compared in it, octet for octet.
                answered += u32::from(exchange_at(&mut reflector, &incoming(&request, SOURCE), now).is_ok());
            }
            let counters = reflector.counters();
            assert_eq!(counters.received, counters.reflected + counters.refused());
        }
        assert!((1..9).all(|kind| seen[kind]), "every kind was asked for");
        assert!(answered > REQUESTS / 2, "{answered} were answered");
    }

    #[test]
    fn a_stateful_reflector_numbers_the_replies_of_each_session_by_itself() {
        let mut reflector = ruled(Rules { stateful: true, ..Rules::default() });
        for (number, sequence) in [(0, 7), (1, 8), (2, 100), (3, 9)] {
            let (reply, _) = exchange(&mut reflector, &plain(sequence, &[])).unwrap();
            let read = ReflectorPacket::parse(&reply).unwrap();
            assert_eq!((read.sequence, read.sender_sequence), (number, Some(sequence)));
        }
        let other = plain(50, &[]);
        let elsewhere = incoming(&other, "192.0.2.1:5001");
        let (reply, _) = exchange_at(&mut reflector, &elsewhere, Timestamp::from_nanos(0)).unwrap();
        assert_eq!(ReflectorPacket::parse(&reply).unwrap().sequence, 0, "another port, another session");
        assert_eq!(reflector.remembered(), 2);
        // A reply that the network did not take leaves no gap.
        let unsent = plain(51, &[]);
        let unsent = incoming(&unsent, SOURCE);
        assert!(matches!(
            reflector.on_datagram(&unsent, Timestamp::from_nanos(0)),
            ReflectorAction::Answer(_)
        ));
        let (reply, _) = exchange(&mut reflector, &plain(52, &[])).unwrap();
        assert_eq!(ReflectorPacket::parse(&reply).unwrap().sequence, 4);
    }

    #[test]
    fn what_comes_with_a_key_is_counted_for_direct_measurement_and_without_either_nothing_is() {
        let open = asked(|tlvs| tlvs.direct_measurement(77).unwrap());
        let (reply, _) = exchange(&mut ruled(Rules::default()), &plain(1, &open)).unwrap();
        assert_eq!(values(&reply[BASE..]), [(kind::DIRECT_MEASUREMENT, true, false)]);
        let key = key(1);
        let mut keyed = ruled(Rules { key: Some(key.clone()), ..Rules::default() });
        for (sequence, reflector_received, reflector_transmitted) in [(1, 1, 0), (2, 2, 1)] {
            let sealed = asked(|tlvs| {
                tlvs.direct_measurement(77).unwrap();
                tlvs.seal(sequence, &key).unwrap();
            });
            let (reply, written) = exchange(&mut keyed, &authentic(sequence, &key, &sealed)).unwrap();
            let mut tlvs = Reflected::new(&reply[AUTHENTICATED_BASE..], sequence, Some(&key)).unwrap();
            let counts =
                DirectMeasurement { sender_transmitted: 77, reflector_received, reflector_transmitted };
            assert!(
                matches!(tlvs.next().unwrap().value(), Ok(Value::DirectMeasurement(found)) if found == counts)
            );
            assert_eq!(written.sequence, sequence, "it numbers nothing by itself");
        }
    }

    #[test]
    fn every_tlv_is_answered_with_what_is_known() {
        let mut reflector = ruled(Rules { stateful: true, ..Rules::default() });
        let extensions = asked(|tlvs| {
            tlvs.timestamp_information().unwrap();
            tlvs.class_of_service(Dscp::EF).unwrap();
            tlvs.direct_measurement(77).unwrap();
            tlvs.follow_up_telemetry().unwrap();
            tlvs.padding(20, |octets| octets.fill(5)).unwrap();
        });
        let marked = |request| Incoming { tos: Some(0b0010_1001), ..incoming(request, SOURCE) };
        let first = plain(1, &extensions);
        let (reply, written) =
            exchange_at(&mut reflector, &marked(&first), Timestamp::from_nanos(0)).unwrap();
        assert_eq!(written.dscp, Some(Dscp::EF));
        let read = |reply: &[u8]| {
            let found: Vec<Value<'_>> =
                Reflected::new(&reply[BASE..], 0, None).unwrap().map(|tlv| tlv.value().unwrap()).collect();
            let [
                Value::TimestampInformation(clock, _),
                Value::ClassOfService(class),
                Value::DirectMeasurement(counts),
                Value::FollowUpTelemetry(follow_up),
                Value::ExtraPadding(_),
            ] = found[..]
            else {
                panic!("{found:?}")
            };
            assert_eq!((clock.sync_in, clock.method_out), (SyncSource::NTP, TimestampMethod::SOFTWARE));
            let wanted = ClassOfService {
                wanted: Dscp::EF,
                received: Dscp::of_tos(0b0010_1000),
                ecn: Ecn::of_tos(1),
                reverse_path: 0,
            };
            assert_eq!(class, wanted);
            (counts, follow_up)
        };
        let counts = |received, transmitted| DirectMeasurement {
            sender_transmitted: 77,
            reflector_received: received,
            reflector_transmitted: transmitted,
        };
        assert_eq!(read(&reply), (counts(1, 0), FollowUpTelemetry::default()));

        let departed = 1_700_000_000_123_456_789;
        let told = FollowUp {
            sequence: written.sequence,
            departed_unix_nanos: departed,
            method: TimestampMethod::SOFTWARE,
        };
        reflector.on_departed(written.held.unwrap(), told);
        let second = plain(2, &extensions);
        let (reply, _) = exchange_at(&mut reflector, &marked(&second), Timestamp::from_nanos(0)).unwrap();
        let (counted, follow_up) = read(&reply);
        assert_eq!(counted, counts(2, 1));
        assert_eq!((follow_up.sequence, follow_up.method), (0, TimestampMethod::SOFTWARE));
        assert_eq!(follow_up.timestamp.to_unix_nanos(TimestampFormat::Ntp, departed), Some(departed));
    }

    #[test]
    fn what_is_not_understood_malformed_or_not_authentic_is_marked_and_counted() {
        let mut reflector = ruled(Rules::default());
        let padding = asked(|tlvs| tlvs.padding(4, |octets| octets.fill(1)).unwrap());
        let unknown = [&[0x80, 200, 0, 2, 1, 2][..], &padding].concat();
        let (reply, _) = exchange(&mut reflector, &plain(1, &unknown)).unwrap();
        assert_eq!(values(&reply[BASE..]), [(200, true, false), (kind::EXTRA_PADDING, false, false)]);
        let past_the_end = [&padding[..], &[0x80, kind::CLASS_OF_SERVICE, 0xff, 0xff, 1]].concat();
        let (reply, _) = exchange(&mut reflector, &plain(2, &past_the_end)).unwrap();
        assert_eq!(values(&reply[BASE..]), [(kind::EXTRA_PADDING, false, false), (0, false, true)]);
        let sealed = asked(|tlvs| {
            tlvs.timestamp_information().unwrap();
            tlvs.seal(3, &key(1)).unwrap();
        });
        let (reply, _) = exchange(&mut reflector, &plain(3, &sealed)).unwrap();
        assert!(
            Tlvs::new(&reply[BASE..]).flatten().all(|tlv| tlv.flags.integrity()),
            "no key to verify it with"
        );
        let counters = reflector.counters();
        assert_eq!(
            (counters.tlvs_unrecognized, counters.tlvs_malformed, counters.tlvs_not_authentic),
            (1, 1, 1)
        );
    }

    #[test]
    fn in_an_authenticated_test_the_tlvs_are_sealed_both_ways() {
        let mut reflector = ruled(Rules { key: Some(key(1)), ..Rules::default() });
        let sealed = asked(|tlvs| {
            tlvs.class_of_service(Dscp::EF).unwrap();
            tlvs.seal(8, &key(1)).unwrap();
        });
        let (reply, _) = exchange(&mut reflector, &authentic(8, &key(1), &sealed)).unwrap();
        let mut used = Reflected::new(&reply[AUTHENTICATED_BASE..], 8, Some(&key(1))).unwrap();
        assert!(matches!(used.next().unwrap().value(), Ok(Value::ClassOfService(_))));
        let open = asked(|tlvs| tlvs.class_of_service(Dscp::EF).unwrap());
        let (reply, written) = exchange(&mut reflector, &authentic(9, &key(1), &open)).unwrap();
        assert!(Tlvs::new(&reply[AUTHENTICATED_BASE..]).flatten().all(|tlv| tlv.flags.integrity()));
        assert_eq!((written.dscp, reflector.counters().tlvs_not_authentic), (None, 1));
    }

    #[test]
    fn times_are_written_in_the_format_that_was_chosen() {
        for (format, request, reply) in [
            (ReplyFormat::Ntp, TimestampFormat::Ptp, TimestampFormat::Ntp),
            (ReplyFormat::Ptp, TimestampFormat::Ntp, TimestampFormat::Ptp),
            (ReplyFormat::AsRequested, TimestampFormat::Ptp, TimestampFormat::Ptp),
            (ReplyFormat::AsRequested, TimestampFormat::Ntp, TimestampFormat::Ntp),
        ] {
            let mut reflector = ruled(Rules { format, ..Rules::default() });
            let mut octets = [0; BASE];
            let asked = packet(1, 9);
            SenderPacket { error: asked.error.with_format(request), ..asked }.emit(&mut octets).unwrap();
            let (answered, _) = exchange(&mut reflector, &octets).unwrap();
            let read = ReflectorPacket::parse(&answered).unwrap();
            assert_eq!(read.error.format(), reply);
            assert_eq!(read.error.error(), error().error());
            let arrived = incoming(&octets, SOURCE).arrived.as_nanos();
            let told = read.receive_timestamp.unwrap().to_unix_nanos(reply, arrived);
            assert_eq!(told, Some(arrived));
            assert_eq!(read.sender_error.map(ErrorEstimate::format), Some(request), "as it came");
        }
    }

    #[test]
    fn who_is_too_far_away_is_not_answered() {
        let mut reflector = ruled(Rules { least_ttl: 62, ..Rules::default() });
        let request = plain(1, &[]);
        for (ttl, refusal) in [
            (Some(61), Some(Refusal::BelowMinTtl)),
            (None, Some(Refusal::BelowMinTtl)),
            (Some(62), None),
            (Some(255), None),
        ] {
            let incoming = Incoming { ttl, ..incoming(&request, SOURCE) };
            assert_eq!(exchange_at(&mut reflector, &incoming, Timestamp::from_nanos(0)).err(), refusal);
        }
        assert_eq!(reflector.counters().below_min_ttl, 2);
    }

    #[test]
    fn our_own_ports_are_no_senders() {
        let mut reflector = ruled(Rules { own_ports: vec![862, 8_620], ..Rules::default() });
        let request = plain(1, &[]);
        for (source, refusal) in [
            ("203.0.113.2:8620", Refusal::Loop),
            ("203.0.113.2:862", Refusal::Loop),
            ("192.0.2.9:8620", Refusal::BadSource),
            ("0.1.2.3:5000", Refusal::BadSource),
            ("240.0.0.1:5000", Refusal::BadSource),
        ] {
            assert_eq!(judge(&mut reflector, &request, source), Some(refusal), "{source}");
        }
        assert_eq!(judge(&mut reflector, &request, "203.0.113.2:5000"), None, "a sender on our own host");
    }

    /// All ports of one host, or a million IPv6 addresses, evict nobody.
    #[test]
    fn one_host_evicts_nobody() {
        const RATE: u64 = 1_000;
        let second = |seconds: i64| Timestamp::<Monotonic>::from_nanos(seconds * 1_000_000_000);
        for key in [None, Some(key(1))] {
            let limiter = Limiter::new(RATE, 256, (5, 6), second(0));
            let rules = Rules { stateful: true, key: key.clone(), ..Rules::default() };
            let mut reflector = Reflector::with_rules(limiter, rules, (7, 8));
            let request = |sequence| match &key {
                Some(key) => authentic(sequence, key, &[]),
                None => plain(sequence, &[]),
            };
            // With a key, somebody sends again what he has caught of another.
            let flood = request(1);
            // From one host, all in one moment: its rate, whatever the port.
            for port in 1..=u16::MAX {
                let source = SocketAddr::new("198.51.100.1".parse().unwrap(), port);
                let one = Incoming { source, ..incoming(&flood, SOURCE) };
                let _ = exchange_at(&mut reflector, &one, second(1));
            }
            assert!(reflector.counters().reflected <= RATE);
            assert!(reflector.remembered() <= usize::try_from(RATE).unwrap());
            // One address after another, each from a prefix of its own.
            for hop in 0..1_000_000u128 {
                let address = core::net::Ipv6Addr::from((0x2001_0db8_u128 << 96) | (hop << 72) | 1);
                let source = SocketAddr::new(address.into(), 5_000);
                let destination = "[2001:db8:ffff::2]:862".parse().unwrap();
                let one = Incoming { source, destination, ..incoming(&flood, SOURCE) };
                let _ = exchange_at(&mut reflector, &one, second(2));
            }
            assert!(reflector.remembered() <= PLACES);
            // Who comes then, and asks a few times a second, is served within a second.
            let served = (2..12u32).any(|n| {
                let octets = request(n);
                let now = second(2) + Duration::from_millis(100 * i64::from(n - 1));
                exchange_at(&mut reflector, &incoming(&octets, SOURCE), now).is_ok()
            });
            assert!(served, "a legitimate sender was shut out");
            let counters = reflector.counters();
            assert!(counters.octets_reflected <= counters.octets_received);
            assert_eq!(counters.received, counters.reflected + counters.refused());
        }
    }

    /// A captured packet opens no further session from any address.
    #[test]
    fn replayed_packets_open_no_session() {
        let key = key(1);
        let rules = Rules { key: Some(key.clone()), ..Rules::default() };
        let limiter = Limiter::new(1_000_000, 256, (5, 6), Timestamp::from_nanos(0));
        let mut reflector = Reflector::with_rules(limiter, rules, (7, 8));
        let now = Timestamp::<Monotonic>::from_nanos(0);
        let caught: Vec<Vec<u8>> = (0..100).map(|n| authentic(n, &key, &[])).collect();
        for octets in &caught {
            assert!(exchange_at(&mut reflector, &incoming(octets, SOURCE), now).is_ok());
        }
        for port in 10_001..=11_000u16 {
            for octets in &caught {
                let source = SocketAddr::new("198.51.100.1".parse().unwrap(), port);
                let again = Incoming { source, ..incoming(octets, SOURCE) };
                assert_eq!(exchange_at(&mut reflector, &again, now).err(), Some(Refusal::Replayed));
            }
        }
        assert_eq!((reflector.remembered(), reflector.counters().replayed), (1, 100_000));
        // The session itself goes on, from another port of a NAT as well.
        let next = authentic(100, &key, &[]);
        let moved = Incoming { source: "192.0.2.1:9999".parse().unwrap(), ..incoming(&next, SOURCE) };
        assert!(exchange_at(&mut reflector, &moved, now).is_ok());
        assert!(exchange_at(&mut reflector, &incoming(&authentic(101, &key, &[]), SOURCE), now).is_ok());
    }

    /// A proved sender is served although replayed packets fill the table.
    #[test]
    fn proved_senders_survive_replays() {
        let key = key(1);
        let rules = Rules { key: Some(key.clone()), ..Rules::default() };
        let limiter = Limiter::new(1_000_000, 1 << 16, (5, 6), Timestamp::from_nanos(0));
        let mut reflector = Reflector::with_rules(limiter, rules, (7, 8));
        let now = Timestamp::<Monotonic>::from_nanos(0);
        for number in 0..100_000u32 {
            let octets = authentic(number, &key, &[]);
            let address = core::net::Ipv4Addr::from(0x0a00_0000 | number);
            let one = Incoming { source: (address, 5_000).into(), ..incoming(&octets, SOURCE) };
            let _ = exchange_at(&mut reflector, &one, now);
        }
        assert_eq!(reflector.remembered(), PLACES);
        for number in 0..100 {
            let octets = authentic(200_000 + number, &key, &[]);
            let proved = Incoming { proved: true, ..incoming(&octets, "203.0.113.77:4000") };
            assert!(exchange_at(&mut reflector, &proved, now).is_ok(), "{number}");
        }
    }
}
