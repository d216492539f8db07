//! Whatever times a far end or a run's folder states that are believed, a run of them has a document and a page.

use proptest::prelude::*;
use romer_analyze::evaluate::evaluate;
use romer_record::assemble_as;
use romer_record::document::{ProbeDirection, Traffic};
use romer_record::event::{ClockStep, Event, EventKind, EventLocation};
use romer_record::log::{Card, CardMoment, Entry, ResponderDeparture, ResponderRecord};
use romer_record::manifest::{ClockRelation, Stream};
use romer_record::plausible::{MOMENTS, SPANS};
use romer_report::text::{TextStyle, summary};

/// A moment of the day of the tests.
const TODAY: i64 = 1_796_000_000_000_000_000;

fn moment() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => (0..200_000_000i64).prop_map(|later| TODAY + later),
        1 => prop::sample::select(vec![MOMENTS.start, MOMENTS.end - 1, 0, 1, TODAY]),
        1 => MOMENTS,
    ]
}

fn span() -> impl Strategy<Value = i64> {
    prop_oneof![
        2 => -1_000_000_000..1_000_000_000i64,
        2 => prop::sample::select(vec![SPANS.start, SPANS.end - 1, 0, 1]),
        1 => SPANS,
    ]
}

fn some(strategy: impl Strategy<Value = i64>) -> impl Strategy<Value = Option<i64>> {
    prop::option::of(strategy)
}

/// What is known of the probes 0 to 15.
fn entry() -> impl Strategy<Value = Entry> {
    let times = || (moment(), some(moment()), some(moment()), some(moment()));
    let moments = [
        CardMoment::Left,
        CardMoment::ArrivedThere,
        CardMoment::LeftThere,
        CardMoment::Returned,
        CardMoment::TheirsLeft,
        CardMoment::TheirsCame,
    ];
    (0u64..16, times(), span(), 0u8..8, prop::sample::select(moments.to_vec())).prop_map(
        |(sequence, (one, other, third, fourth), wake_error_ns, kind, moment)| match kind {
            0 | 1 => Entry::Sent { sequence, size: 44, wake_error_ns, user_ns: one },
            2 => Entry::SentStamp { sequence, kernel_ns: one },
            3 => Entry::Far(ResponderRecord {
                sequence,
                t2_user_ns: one,
                t2_kernel_ns: other,
                t3_user_ns: third,
                t3_kernel_ns: fourth,
                ttl: Some(64),
                tos: None,
            }),
            4 => Entry::FarSent(ResponderDeparture {
                sequence,
                size: 44,
                wake_error_ns,
                user_ns: one,
                kernel_ns: other,
                refused: third.is_none() && fourth.is_none(),
            }),
            5 => Entry::Returned {
                sequence,
                user_ns: one,
                kernel_ns: other,
                told_t2_ns: third,
                told_t3_ns: fourth,
                ttl: None,
                tos: None,
                told_ttl: None,
                reply_number: None,
            },
            6 => Entry::Came { sequence, size: 44, user_ns: one, kernel_ns: other, ttl: None, tos: None },
            _ => Entry::Card(Card {
                sequence,
                moment,
                arrival_ns: one,
                card_ns: other.unwrap_or(one),
                error_ns: u32::MAX,
            }),
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    let kinds = [
        EventKind::ClockStep,
        EventKind::ClockSyncLost,
        EventKind::ClockSyncChange,
        EventKind::Suspend,
        EventKind::Pause,
        EventKind::LinkDown,
        EventKind::LinkUp,
        EventKind::AddressChange,
        EventKind::MtuChange,
        EventKind::NotSent,
        EventKind::PathError,
        EventKind::ReceiveOverflow,
    ];
    let step = prop::option::of(((span(), prop::option::of([span(), span()])), moment(), moment()));
    let kind = prop::sample::select(kinds.to_vec());
    let location =
        prop::sample::select(vec![EventLocation::Sender, EventLocation::Responder, EventLocation::Path]);
    (kind, location, (span(), some(span()), some(span())), moment(), step, prop::option::of(any::<u64>()))
        .prop_map(|(kind, location, (at_ns, until_ns, detection_latency_ns), clock_ns, step, datagrams)| {
            let step = step.map(|((size_ns, size_interval_ns), before_ns, after_ns)| ClockStep {
                size_ns,
                size_interval_ns,
                before_ns,
                after_ns,
            });
            let step = step.filter(|_| kind == EventKind::ClockStep);
            Event {
                until_ns,
                detection_latency_ns,
                step,
                datagrams,
                ..Event::new(kind, location, at_ns, clock_ns)
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Nothing overflows on the way from the log to the page.
    #[test]
    fn believed_times_overflow_nothing(
        entries in prop::collection::vec(entry(), 0..60),
        events in prop::collection::vec(event(), 0..4),
        way in prop::sample::select(vec![ProbeDirection::RoundTrip, ProbeDirection::Forward, ProbeDirection::Reverse, ProbeDirection::Both]),
        is_shared in any::<bool>(),
        waiting_time_ns in prop::sample::select(vec![0, 1_000_000_000, SPANS.end - 1]),
        interval_ns in prop::sample::select(vec![0, 20_000_000, SPANS.end - 1]),
        duration_ns in some(span()),
    ) {
        assert!(entries.iter().all(Entry::is_plausible) && events.iter().all(Event::is_plausible));
        let stream = Stream {
            started: "2026-11-30T10:11:12Z".into(),
            clock_relation: if is_shared { ClockRelation::Shared } else { ClockRelation::Unknown },
            traffic: Traffic {
                direction: way,
                waiting_time_ns,
                interval_ns,
                duration_ns,
                payload_octets: 44,
                packet_octets: Some(72),
                ..Traffic::default()
            },
            events,
            ..romer_testing::stream()
        };
        prop_assert_eq!(stream.implausible(), None);
        let evaluated = [evaluate(&stream, &assemble_as(way, &entries), false)];
        let text = summary(&[evaluated[0].measurement.clone()], None, &TextStyle::default(), true);
        prop_assert!(!text.is_empty());
        prop_assert!(!romer_analyze::page(&evaluated).is_empty());
    }
}
