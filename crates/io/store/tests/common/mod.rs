//! Rows and entries of every kind, for the tests.
#![allow(dead_code, reason = "each test program uses a part, so that no expectation fits all")]

use std::ops::Range;

use proptest::prelude::*;
use romer_record::document::ProbeDirection;
use romer_record::log::{Entry, ResponderRecord};
use romer_record::manifest::{ClockRelation, MANIFEST, Manifest, Status, Stream};
use romer_record::plausible::{MOMENTS, SPANS};
use romer_record::{RoundTrip, Stamps};
use romer_units::{Clock, Timestamp};

fn some(range: Range<i64>) -> impl Strategy<Value = Option<i64>> {
    prop::option::of(range)
}

/// Any entry of times that can be.
pub(crate) fn entry() -> impl Strategy<Value = Entry> {
    let times = || [some(MOMENTS), some(MOMENTS), some(MOMENTS)];
    prop_oneof![
        (any::<u64>(), any::<u32>(), SPANS, MOMENTS).prop_map(|(sequence, size, wake_error_ns, user_ns)| {
            Entry::Sent { sequence, size, wake_error_ns, user_ns }
        }),
        (any::<u64>(), MOMENTS).prop_map(|(sequence, kernel_ns)| Entry::SentStamp { sequence, kernel_ns }),
        (any::<u64>(), any::<u32>(), any::<i32>(), MOMENTS)
            .prop_map(|(sequence, size, errno, user_ns)| Entry::NotSent { sequence, size, errno, user_ns }),
        (any::<u64>(), MOMENTS, times(), any::<[Option<u8>; 3]>(), any::<Option<u32>>()).prop_map(
            |(sequence, user_ns, times, octets, reply_number)| {
                Entry::Returned {
                    sequence,
                    user_ns,
                    kernel_ns: times[0],
                    told_t2_ns: times[1],
                    told_t3_ns: times[2],
                    ttl: octets[0],
                    tos: octets[1],
                    told_ttl: octets[2],
                    reply_number,
                }
            }
        ),
        (any::<u64>(), MOMENTS, times(), any::<[Option<u8>; 2]>()).prop_map(
            |(sequence, t2_user_ns, times, octets)| {
                Entry::Far(ResponderRecord {
                    sequence,
                    t2_user_ns,
                    t2_kernel_ns: times[0],
                    t3_user_ns: times[1],
                    t3_kernel_ns: times[2],
                    ttl: octets[0],
                    tos: octets[1],
                })
            }
        ),
    ]
}

/// The probe's entry when it is sent.
pub(crate) fn sent(sequence: u64) -> Entry {
    Entry::Sent { sequence, size: 44, wake_error_ns: 5, user_ns: 1_700_000_000_000_000_000 }
}

fn stamps<C: Clock>() -> impl Strategy<Value = Stamps<C>> {
    [some(MOMENTS), some(MOMENTS), some(MOMENTS), some(MOMENTS)].prop_map(|[nic, kernel, user, told]| {
        Stamps {
            nic: nic.map(Timestamp::from_nanos),
            kernel: kernel.map(Timestamp::from_nanos),
            user: user.map(Timestamp::from_nanos),
            told: told.map(Timestamp::from_nanos),
        }
    })
}

/// Any row of times that can be.
pub(crate) fn row() -> impl Strategy<Value = RoundTrip> {
    let numbers = (any::<u64>(), any::<u32>(), any::<u32>(), any::<u32>(), some(SPANS));
    let rest = any::<([Option<u8>; 4], [bool; 3], u8, [Option<u32>; 2])>();
    (numbers, stamps(), stamps(), stamps(), stamps(), rest).prop_map(
        |(
            (sequence, copy, forward_copy, size, wake_error_ns),
            t1,
            t2,
            t3,
            t4,
            (octets, flags, way, [nic_error_ns, reply_number]),
        )| {
            RoundTrip {
                way: [ProbeDirection::RoundTrip, ProbeDirection::Forward, ProbeDirection::Reverse]
                    [usize::from(way % 3)],
                sequence,
                copy,
                forward_copy,
                size,
                wake_error_ns,
                t1,
                t2,
                t3,
                t4,
                nic_error_ns,
                reply_number,
                forward_ttl: octets[0],
                reverse_ttl: octets[1],
                forward_tos: octets[2],
                reverse_tos: octets[3],
                not_sent: flags[0],
                seen_by_responder: flags[1],
                // A run's own log tells of all, or is not whole.
                untold_by_responder: false,
                far_stamps_rejected: false,
                returned: flags[2],
            }
        },
    )
}

/// A manifest with so many streams.
pub(crate) fn manifest(streams: usize) -> Manifest {
    let stream = Stream {
        target: "198.18.0.2".into(),
        started: "2026-11-07T10:11:12Z".into(),
        clock_relation: ClockRelation::Unknown,
        responder_log_complete: false,
        ..romer_testing::stream()
    };
    Manifest {
        schema: MANIFEST.into(),
        name: String::new(),
        created: "2026-11-07T10:11:12Z".into(),
        status: Status::Running,
        software: "romer 0.1.0".into(),
        streams: vec![stream; streams],
    }
}
