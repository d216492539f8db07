//! What must hold for the answer to any request.

use super::super::{LIMIT, Reflected, Tlv, TlvWriter, Value};
use super::tests::{dscp, ignorant, key, knowing, reflected, sealed, tlv};
use super::*;
use crate::stamp::{AUTHENTICATED_BASE, BASE, ErrorEstimate, ReflectorPacket, ReplyLength, SenderPacket};
use proptest::prelude::*;
use romer_units::random::{RandomStream, Seed};

/// Draws from one stream, in order.
struct Draws {
    stream: RandomStream,
    next: u64,
}

impl Draws {
    fn bits(&mut self) -> u64 {
        self.next += 1;
        self.stream.bits(self.next)
    }
    fn below(&mut self, n: u64) -> usize {
        usize::try_from(self.bits() % n).unwrap()
    }
    fn octets(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.bits().to_le_bytes()[0]).collect()
    }
}

/// A request with up to twelve TLVs of every type, most of them right, as well as code, padding and cut.
fn generated(draws: &mut Draws) -> (Vec<u8>, u32) {
    let mut extensions = Vec::new();
    for _ in 0..draws.below(12) {
        let kind = match draws.below(12) {
            0..=9 => u8::try_from(draws.below(10)).unwrap(),
            _ => draws.bits().to_le_bytes()[0],
        };
        let right = [3, 9, 8, 4, 4, 12, 4, 16, 16];
        let length = match draws.below(10) {
            0 => draws.below(40),
            _ => right.get(usize::from(kind)).copied().unwrap_or(5),
        };
        let mut one = tlv(kind, &draws.octets(length));
        if draws.below(10) == 0 {
            one[0] = draws.bits().to_le_bytes()[0];
        }
        extensions.extend(one);
    }
    let sequence = u32::try_from(draws.bits() >> 32).unwrap();
    if draws.below(2) == 0 {
        extensions = sealed(&extensions, sequence);
    }
    if draws.below(3) == 0 {
        let length = draws.below(30);
        extensions.extend(tlv(kind::EXTRA_PADDING, &draws.octets(length)));
    }
    if draws.below(5) == 0 {
        extensions.truncate(draws.below(extensions.len() as u64 + 1));
    }
    (extensions, sequence)
}

#[test]
fn replies_to_100_000_requests_with_every_tlv_are_never_longer_than_they() {
    let mut draws = Draws { stream: RandomStream::new(Seed([8, 9, 7, 2, 0, 3]), [0, 0]), next: 0 };
    let (key, mut asked, mut answered) = (key(), 0usize, 0usize);
    let (mut verified, mut failed, mut malformed, mut seen) = (0, 0, 0, [0u32; 256]);
    let (mut request, mut out) = (Vec::new(), vec![0; 4096]);
    for _ in 0..100_000 {
        let (extensions, sequence) = generated(&mut draws);
        let authenticated = draws.below(2) == 0;
        let base = if authenticated { AUTHENTICATED_BASE } else { BASE };
        request.clear();
        request.resize(base + extensions.len(), 0);
        let error = ErrorEstimate::from_bits(1);
        let packet = SenderPacket { sequence, timestamp: WireTime(1), error, ssid: None };
        if authenticated {
            packet.emit_authenticated(&mut request, &key).unwrap();
        } else {
            packet.emit(&mut request).unwrap();
        }
        request[base..].copy_from_slice(&extensions);
        Tlvs::new(&extensions).flatten().for_each(|tlv| seen[usize::from(tlv.kind)] += 1);

        let reply = ReflectorPacket::answering(&packet, WireTime(2), WireTime(3), error, 64);
        out.fill(0xee);
        let len = if authenticated {
            reply.emit_authenticated(&request, &mut out, &key).unwrap()
        } else {
            reply.emit_reply(&request, ReplyLength::Symmetric, &mut out).unwrap()
        };
        let known = if draws.below(4) == 0 { ignorant() } else { knowing() };
        let context = TlvContext {
            request_sequence: sequence,
            reply_sequence: sequence,
            must_be_protected: authenticated,
            ..known
        };
        let key = Some(&key).filter(|_| authenticated || draws.below(2) == 0);
        let outcome = reflect_over(&mut out[base..len], &context, key);
        assert!(out[len..].iter().all(|octet| *octet == 0xee), "written past the reply");
        asked += request.len();
        answered += len;
        verified += u32::from(outcome.integrity == Integrity::Verified);
        failed += u32::from(matches!(outcome.integrity, Integrity::Failed(_)));
        malformed += u32::from(outcome.malformed);
        assert!(len <= request.len());
    }
    assert_eq!(answered, asked);
    // The generator reaches what it is meant to reach.
    assert!(verified > 10_000 && failed > 10_000 && malformed > 10_000, "{verified} {failed} {malformed}");
    assert!(seen.iter().all(|count| *count > 0), "every type");
}

fn any_context() -> impl Strategy<Value = TlvContext> {
    let parts = (any::<(u32, u32, bool, bool)>(), any::<[bool; 4]>(), 0u8..64, any::<(u64, u32, i64)>());
    parts.prop_map(|((request, reply, must, ptp), [clock, arrival, counts, follow], tos, (set, n, nanos))| {
        let full = knowing();
        TlvContext {
            request_sequence: request,
            reply_sequence: reply,
            must_be_protected: must,
            format: if ptp { TimestampFormat::Ptp } else { TimestampFormat::Ntp },
            clock: full.clock.filter(|_| clock),
            arrival: arrival.then_some(Arrival { dscp: dscp(tos), ecn: Ecn::of_tos(tos) }),
            permitted: DscpSet(set),
            in_profile: counts.then_some(InProfile { received: n, transmitted: !n }),
            follow_up: follow.then_some(FollowUp {
                sequence: n,
                departed_unix_nanos: nanos,
                method: TimestampMethod::SOFTWARE,
            }),
        }
    })
}

/// Octets that look like TLVs more often than chance would have it.
fn extensions() -> impl Strategy<Value = Vec<u8>> {
    let one = (any::<u8>(), 0u8..12, prop::collection::vec(any::<u8>(), 0..20));
    let tlvs = prop::collection::vec(one, 0..8).prop_map(|tlvs| {
        let one = |(flags, kind, value): (u8, u8, Vec<u8>)| {
            let mut octets = tlv(kind, &value);
            octets[0] = flags;
            octets
        };
        tlvs.into_iter().flat_map(one).collect::<Vec<u8>>()
    });
    let rest = prop::collection::vec(any::<u8>(), 0..40);
    (tlvs, rest, any::<bool>()).prop_map(|(tlvs, rest, both)| if both { [tlvs, rest].concat() } else { tlvs })
}

proptest! {
    #[test]
    fn any_bytes_are_answered_with_as_many_that_have_the_same_bounds(
        request in extensions(), context in any_context(), locked: bool,
    ) {
        let key = locked.then(key);
        let (reply, outcome) = reflected(&request, &context, key.as_ref());
        let bounds = |octets: &[u8]| -> Vec<_> {
            let whole = |tlv: Tlv<'_>| (tlv.offset, Some(tlv.kind), tlv.value.len());
            Tlvs::new(octets).map(|tlv| tlv.map_or_else(|cut| (cut.offset, cut.kind, 0), whole)).collect()
        };
        prop_assert_eq!(bounds(&reply), bounds(&request));
        prop_assert!(outcome.understood + outcome.unrecognized <= LIMIT);
        prop_assert_eq!(outcome.dscp.is_some() && context.arrival.is_none(), false);
        // I is everywhere or nowhere before the first malformed one.
        let failed = matches!(outcome.integrity, Integrity::Failed(_));
        let answered = Tlvs::new(&reply).map_while(|tlv| tlv.ok().filter(|tlv| !tlv.flags.malformed()));
        if !outcome.zero_padding {
            for tlv in answered {
                prop_assert_eq!(tlv.flags.integrity(), failed);
            }
        }
    }

    #[test]
    fn octets_that_are_not_understood_stay(request in extensions(), context in any_context()) {
        let (reply, outcome) = reflected(&request, &context, None);
        let failed = matches!(outcome.integrity, Integrity::Failed(_));
        for (before, after) in Tlvs::new(&request).zip(Tlvs::new(&reply)) {
            let (Ok(before), Ok(after)) = (before, after) else { break };
            if failed || after.flags.unrecognized() || after.kind == kind::EXTRA_PADDING {
                prop_assert_eq!(before.value, after.value);
            } else if after.flags.malformed() {
                break;
            } else if !outcome.zero_padding {
                let value = after.value();
                prop_assert!(matches!(value, Ok(value) if !matches!(value, Value::Other(_))));
            }
        }
    }

    #[test]
    fn an_answer_is_answered_with_itself(request in extensions(), context in any_context(), locked: bool) {
        // Its sequence number is its own, so that the code is right for either.
        let context = TlvContext { reply_sequence: context.request_sequence, ..context };
        let key = locked.then(key);
        let request = if locked { sealed(&request, context.request_sequence) } else { request };
        let (once, first) = reflected(&request, &context, key.as_ref());
        let (twice, second) = reflected(&once, &context, key.as_ref());
        prop_assert_eq!(once, twice);
        prop_assert_eq!(first, second);
    }

    #[test]
    fn a_sender_can_use_what_a_reflector_answered(
        context in any_context(), wanted in 0u8..64, sent: u32, padding in 0usize..50,
    ) {
        let mut request = [0; 200];
        let mut writer = TlvWriter::new(&mut request);
        writer.timestamp_information().unwrap();
        writer.class_of_service(dscp(wanted)).unwrap();
        writer.direct_measurement(sent).unwrap();
        writer.follow_up_telemetry().unwrap();
        writer.seal(context.request_sequence, &key()).unwrap();
        writer.padding(padding, |octets| octets.fill(0x5a)).unwrap();
        let len = writer.len();
        let (reply, outcome) = reflected(&request[..len], &context, Some(&key()));
        prop_assert_eq!(outcome.integrity, Integrity::Verified);
        let used: Vec<_> = Reflected::new(&reply, context.reply_sequence, Some(&key())).unwrap().collect();
        let there = [context.clock.is_some(), context.arrival.is_some(), context.in_profile.is_some()];
        prop_assert_eq!(used.len(), 2 + there.iter().filter(|there| **there).count());
        for tlv in used {
            match tlv.value().unwrap() {
                Value::TimestampInformation(clock, _) => prop_assert_eq!(Some(clock), context.clock),
                Value::ClassOfService(class) => {
                    let arrival = Arrival { dscp: class.received, ecn: class.ecn };
                    prop_assert_eq!(Some(arrival), context.arrival);
                    let kept = context.permitted.contains(dscp(wanted));
                    prop_assert_eq!(class.reverse_path == 0, kept);
                    prop_assert_eq!(outcome.dscp, Some(if kept { dscp(wanted) } else { arrival.dscp }));
                }
                Value::DirectMeasurement(counts) => {
                    prop_assert_eq!(counts.sender_transmitted, sent);
                    let InProfile { received, transmitted } = context.in_profile.unwrap();
                    prop_assert_eq!(
                        (counts.reflector_received, counts.reflector_transmitted), (received, transmitted)
                    );
                }
                Value::FollowUpTelemetry(follow) => {
                    prop_assert_eq!(follow.sequence, context.follow_up.map_or(0, |reply| reply.sequence));
                }
                Value::ExtraPadding(octets) => prop_assert_eq!(octets, vec![0x5a; padding]),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
