//! Singletons held against a simulated truth: paths and clocks that the test knows, and this crate does not.

use proptest::prelude::*;
use romer_record::document::{DelayKind, DelaySpan, MissingStamps, ProbeDirection};
use romer_record::log::{Entry, ResponderRecord};
use romer_record::manifest::{ClockRelation, StampRequest};
use romer_record::{Fate, OneWaySingleton, RoundTrip, Stamps, assemble};
use romer_singletons::{ResponderLog, Selection, StreamSingletons, location_errors, relate};
use romer_units::{Clock, Duration, Timestamp, TimestampPoint};

const INTERVAL: i64 = 1_000_000;
const TURNAROUND: i64 = 40_000;
const WAIT: Duration = Duration::from_secs(2);

/// t1 to t4 and the wake error, of any size or missing.
type Wild = (Option<i64>, Option<i64>, Option<i64>, Option<i64>, Option<i64>);

/// What a reply met: not sent at all, or sent and copied this often, each copy with its delay.
type Reply = Option<Vec<i64>>;

/// One probe: each of its arrivals there, with its delay and the reply to it.
#[derive(Clone, Debug)]
struct Probe {
    arrivals: Vec<(i64, Reply)>,
}

/// The true state of affairs. The responder's clock is ahead by `offset`.
#[derive(Clone, Debug)]
struct OffsetClocks {
    probes: Vec<Probe>,
    offset: i64,
}

impl OffsetClocks {
    /// The log that both ends would have written, with kernel stamps 1 us nearer to the wire than the user's.
    fn entries(&self, responder_log: bool) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (sequence, probe) in (0_u64..).zip(&self.probes) {
            let t1 = 1_000_000_000 + i64::try_from(sequence).expect("a small number") * INTERVAL;
            entries.push(Entry::Sent { sequence, size: 44, wake_error_ns: 7, user_ns: t1 - 1_000 });
            entries.push(Entry::SentStamp { sequence, kernel_ns: t1 });
            for (delay, reply) in &probe.arrivals {
                let t2 = t1 + delay + self.offset;
                let t3 = t2 + TURNAROUND;
                if responder_log {
                    entries.push(far(sequence, t2, reply.is_some().then_some(t3)));
                }
                for back in reply.iter().flatten() {
                    entries.push(returned(sequence, t2, t3, t3 - self.offset + back));
                }
            }
        }
        entries
    }
    fn rows(&self, responder_log: bool) -> Vec<RoundTrip> {
        assemble(&self.entries(responder_log))
    }
    fn replies(&self) -> impl Iterator<Item = &Vec<i64>> {
        self.probes.iter().flat_map(|probe| &probe.arrivals).filter_map(|(_, reply)| reply.as_ref())
    }
    fn least_forward(&self) -> i64 {
        self.probes.iter().flat_map(|probe| &probe.arrivals).map(|(delay, _)| *delay).min().unwrap_or(0)
    }
}

fn far(sequence: u64, t2: i64, t3: Option<i64>) -> Entry {
    Entry::Far(ResponderRecord {
        sequence,
        t2_user_ns: t2 + 1_000,
        t2_kernel_ns: Some(t2),
        t3_user_ns: t3.map(|t3| t3 - 1_000),
        t3_kernel_ns: t3,
        ttl: Some(63),
        tos: Some(184),
    })
}

fn returned(sequence: u64, t2: i64, t3: i64, t4: i64) -> Entry {
    Entry::Returned {
        sequence,
        user_ns: t4 + 1_000,
        kernel_ns: Some(t4),
        told_t2_ns: Some(t2),
        told_t3_ns: Some(t3),
        ttl: Some(62),
        tos: Some(0),
        told_ttl: Some(63),
        reply_number: None,
    }
}

/// Up to three delays, all different, so that every copy has its own stamps.
fn delays() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::btree_set(1_000_i64..5_000_000, 0..3)
        .prop_map(|delays| delays.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
}

fn probe() -> impl Strategy<Value = Probe> {
    delays().prop_flat_map(|delays| {
        let replies = prop::collection::vec(prop::option::weighted(0.9, self::delays()), delays.len());
        replies.prop_map(move |replies| Probe { arrivals: delays.iter().copied().zip(replies).collect() })
    })
}

fn world() -> impl Strategy<Value = OffsetClocks> {
    let offset = prop_oneof![Just(0), -1_i64 << 60..1 << 60];
    (prop::collection::vec(probe(), 0..30), offset)
        .prop_map(|(probes, offset)| OffsetClocks { probes, offset })
}

/// As the engine calls it.
fn related(rows: &[RoundTrip], relation: ClockRelation, responder_log: ResponderLog) -> StreamSingletons {
    let selection = Selection::choose(rows, StampRequest::Best, responder_log != ResponderLog::None);
    relate(rows, &selection, relation, WAIT, responder_log)
}

fn count(singletons: &[OneWaySingleton], of: impl Fn(&OneWaySingleton) -> bool) -> usize {
    singletons.iter().filter(|singleton| of(singleton)).count()
}

fn sequences(singletons: &[OneWaySingleton]) -> Vec<(u64, u32)> {
    singletons.iter().map(|singleton| (singleton.sequence, singleton.copy)).collect()
}

proptest! {
    #[test]
    fn with_both_logs_every_fate_is_the_true_one(world in world()) {
        let found = related(&world.rows(true), ClockRelation::Unknown, ResponderLog::Complete);
        let probes = &world.probes;
        let arrivals: usize = probes.iter().map(|probe| probe.arrivals.len()).sum();
        let never = probes.iter().filter(|probe| probe.arrivals.is_empty()).count();
        prop_assert_eq!(count(&found.forward, |p| p.copy == 0), probes.len());
        prop_assert_eq!(count(&found.forward, |p| p.fate == Fate::Arrived), arrivals);
        prop_assert_eq!(count(&found.forward, |p| p.fate == Fate::Lost), never);
        prop_assert_eq!(count(&found.reverse, |p| p.copy == 0), world.replies().count());
        let back: usize = world.replies().map(Vec::len).sum();
        prop_assert_eq!(count(&found.reverse, |p| p.fate == Fate::Arrived), back);
        prop_assert_eq!(count(&found.reverse, |p| p.fate == Fate::Lost), world.replies().filter(|r| r.is_empty()).count());
        prop_assert_eq!(count(&found.round_trip, |p| p.copy == 0), probes.len());
        prop_assert_eq!(count(&found.round_trip, |p| p.fate == Fate::Arrived), back);
        prop_assert_eq!(found.not_replied, (arrivals - world.replies().count()) as u64);
        let silent = |probe: &Probe| !probe.arrivals.is_empty() && probe.arrivals.iter().all(|(_, reply)| reply.is_none());
        let unanswered: Vec<u64> = (0..).zip(probes).filter(|(_, probe)| silent(probe)).map(|(number, _)| number).collect();
        prop_assert_eq!(found.unanswered, unanswered);
        prop_assert!(found.reverse_complete);
    }

    #[test]
    fn singletons_are_in_order_and_their_copies_in_order_of_arrival(world in world()) {
        let found = related(&world.rows(true), ClockRelation::Unknown, ResponderLog::Complete);
        for singletons in [&found.forward, &found.reverse, &found.round_trip] {
            let order = sequences(singletons);
            prop_assert!(order.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", order);
            for pair in singletons.windows(2).filter(|pair| pair[0].sequence == pair[1].sequence) {
                prop_assert!(pair[0].arrival <= pair[1].arrival);
                prop_assert_eq!(pair[0].copy + 1, pair[1].copy);
            }
        }
    }

    #[test]
    fn on_a_shared_clock_delays_are_the_true_ones(mut world in world()) {
        world.offset = 0;
        let found = related(&world.rows(true), ClockRelation::Shared, ResponderLog::Complete);
        let mut truth: Vec<i64> = world.probes.iter().flat_map(|p| &p.arrivals).map(|(delay, _)| *delay).collect();
        let mut forward: Vec<i64> = found.forward.iter().filter_map(|p| p.delay).map(Duration::as_nanos).collect();
        truth.sort_unstable();
        forward.sort_unstable();
        prop_assert_eq!(forward, truth);
        let mut truth: Vec<i64> = world.replies().flatten().copied().collect();
        let mut reverse: Vec<i64> = found.reverse.iter().filter_map(|p| p.delay).map(Duration::as_nanos).collect();
        truth.sort_unstable();
        reverse.sort_unstable();
        prop_assert_eq!(reverse, truth);
        prop_assert_eq!(found.delay_kind, DelayKind::Absolute);
        prop_assert_eq!(found.clock.offset_bounds_ns, Some([0, 0]));
    }

    #[test]
    fn without_a_common_clock_no_delay_depends_on_the_offset(world in world(), other in -1_i64 << 60..1 << 60) {
        let rows = world.rows(true);
        let moved = OffsetClocks { offset: other, ..world.clone() }.rows(true);
        let found = related(&rows, ClockRelation::Unknown, ResponderLog::Complete);
        let again = related(&moved, ClockRelation::Unknown, ResponderLog::Complete);
        let delays = |singletons: &[OneWaySingleton]| singletons.iter().map(|p| p.delay).collect::<Vec<_>>();
        for (one, two) in [
            (&found.forward, &again.forward),
            (&found.reverse, &again.reverse),
            (&found.round_trip, &again.round_trip),
        ] {
            prop_assert_eq!(delays(one), delays(two));
        }
        let least = world.least_forward();
        for (sequence, probe) in (0_u64..).zip(&world.probes) {
            let first = probe.arrivals.iter().map(|(delay, _)| delay - least).min();
            let singleton = found.forward.iter().find(|p| p.sequence == sequence).expect("a singleton");
            prop_assert_eq!(singleton.delay.map(Duration::as_nanos), first);
        }
        prop_assert_eq!(found.delay_kind, DelayKind::Variable);
        prop_assert_eq!((found.clock.method.as_str(), found.clock.identifiable), ("none", false));
    }

    #[test]
    fn the_bounds_hold_the_offset_whenever_both_directions_have_packets(world in world()) {
        let found = related(&world.rows(true), ClockRelation::Unknown, ResponderLog::Complete);
        let both = world.replies().any(|reply| !reply.is_empty());
        prop_assert_eq!(found.clock.offset_bounds_ns.is_some(), both);
        if let Some([low, high]) = found.clock.offset_bounds_ns {
            prop_assert!(low <= world.offset && world.offset <= high);
            let least = world.replies().flatten().min().copied().unwrap_or(0);
            prop_assert_eq!((low, high), (world.offset - least, world.offset + world.least_forward()));
        }
    }

    #[test]
    fn the_round_trip_is_both_ways_and_not_the_responders_time(world in world()) {
        // Chen et al. 2013 equation (4): the sum of the two true delays, whatever the offset.
        let found = related(&world.rows(true), ClockRelation::Unknown, ResponderLog::Complete);
        let mut truth: Vec<i64> = Vec::new();
        for (there, reply) in world.probes.iter().flat_map(|probe| &probe.arrivals) {
            truth.extend(reply.iter().flatten().map(|back| there + back));
        }
        let mut delays: Vec<i64> = found.round_trip.iter().filter_map(|p| p.delay).map(Duration::as_nanos).collect();
        truth.sort_unstable();
        delays.sort_unstable();
        prop_assert_eq!(delays, truth);
    }

    #[test]
    fn without_a_far_log_the_way_of_a_loss_is_not_claimed(world in world()) {
        let rows = world.rows(false);
        let found = related(&rows, ClockRelation::Unknown, ResponderLog::None);
        let returned = |probe: &Probe| probe.arrivals.iter().any(|(_, reply)| reply.as_ref().is_some_and(|r| !r.is_empty()));
        let silent = world.probes.iter().filter(|probe| !returned(probe)).count();
        prop_assert_eq!(count(&found.forward, |p| p.fate == Fate::Unknown), silent);
        prop_assert_eq!(count(&found.forward, |p| p.fate == Fate::Lost), 0);
        prop_assert_eq!(count(&found.reverse, |p| p.fate != Fate::Arrived), 0);
        prop_assert_eq!(count(&found.round_trip, |p| p.fate == Fate::Lost), silent);
        prop_assert_eq!(found.reverse_complete, silent == 0);
        prop_assert_eq!(Selection::choose(&rows, StampRequest::Best, false).t2, None);
    }

    #[test]
    fn what_happens_on_the_way_there_is_not_seen_on_the_way_back(mut world in world()) {
        // The way back is perfect: one copy, one delay.
        for (_, reply) in world.probes.iter_mut().flat_map(|probe| &mut probe.arrivals) {
            *reply = Some(vec![100_000]);
        }
        for (responder_log, known) in [(true, ResponderLog::Complete), (false, ResponderLog::None)] {
            let found = related(&world.rows(responder_log), ClockRelation::Unknown, known);
            prop_assert!(found.reverse.iter().all(|p| p.copy == 0 && p.fate == Fate::Arrived));
            prop_assert_eq!(romer_metrics::reordering(&found.reverse), vec![]);
            prop_assert!(found.reverse.iter().all(|p| p.delay == Some(Duration::ZERO)));
        }
    }

    #[test]
    fn a_partial_far_log_claims_no_loss_of_what_it_does_not_hold(world in world(), keep in 0_usize..100) {
        let entries = world.entries(true);
        let kept = entries.iter().enumerate().filter(|(n, e)| !matches!(e, Entry::Far(_)) || n * 37 % 100 < keep);
        let rows = assemble(kept.map(|(_, entry)| entry));
        let found = related(&rows, ClockRelation::Unknown, ResponderLog::Partial);
        prop_assert_eq!(count(&found.forward, |p| p.fate == Fate::Lost), 0);
        for singleton in found.forward.iter().filter(|p| p.fate == Fate::Unknown) {
            let of_probe = |row: &&RoundTrip| row.sequence == singleton.sequence;
            prop_assert!(rows.iter().filter(of_probe).all(|row| !row.returned && !row.seen_by_responder));
        }
        let lost = count(&found.reverse, |p| p.fate == Fate::Lost);
        prop_assert!(lost <= world.replies().filter(|reply| reply.is_empty()).count());
    }

    #[test]
    fn no_stamps_of_any_size_break_it(
        stamps in prop::collection::vec(any::<Wild>(), 0..20),
        shared: bool, wait: i64, responder_log: bool,
    ) {
        let row = |(n, (t1, t2, t3, t4, wake)): (u32, &Wild)| {
            let mut row = RoundTrip::default();
            (row.sequence, row.copy, row.forward_copy) = (u64::from(n / 2), n % 2, n % 3);
            row.wake_error_ns = *wake;
            row.t1.user = t1.map(Timestamp::from_nanos);
            row.t2.told = t2.map(Timestamp::from_nanos);
            row.t2.user = row.t2.told;
            row.t3.told = t3.map(Timestamp::from_nanos);
            row.t3.user = row.t3.told;
            row.t4.user = t4.map(Timestamp::from_nanos);
            row.returned = t4.is_some();
            row.seen_by_responder = n % 3 == 0;
            row
        };
        let rows: Vec<RoundTrip> = (0..).zip(&stamps).map(row).collect();
        let relation = if shared { ClockRelation::Shared } else { ClockRelation::Unknown };
        let known = if responder_log { ResponderLog::Complete } else { ResponderLog::None };
        let selection = Selection::choose(&rows, StampRequest::Best, responder_log);
        let found = relate(&rows, &selection, relation, Duration::from_nanos(wait), known);
        prop_assert!(found.clock.offset_bounds_ns.is_none_or(|[low, high]| low <= high));
        location_errors(&rows);
    }
}

fn one(t2: i64, t3: i64, t4: i64) -> Vec<Entry> {
    vec![
        Entry::Sent { sequence: 0, size: 44, wake_error_ns: 7, user_ns: 9_000 },
        Entry::SentStamp { sequence: 0, kernel_ns: 10_000 },
        far(0, t2, Some(t3)),
        returned(0, t2, t3, t4),
    ]
}

#[test]
fn a_negative_delay_on_a_shared_clock_is_kept() {
    let found =
        related(&assemble(&one(9_800, 12_000, 15_000)), ClockRelation::Shared, ResponderLog::Complete);
    assert_eq!(found.forward[0].delay, Some(Duration::from_nanos(-200)));
    assert_eq!(found.forward[0].fate, Fate::Arrived);
}

#[test]
fn the_departure_error_is_that_of_waking_and_of_the_way_to_the_wire() {
    let found =
        related(&assemble(&one(11_000, 12_000, 15_000)), ClockRelation::Shared, ResponderLog::Complete);
    assert_eq!(found.forward[0].departure_error(), Some(Duration::from_nanos(1_007)));
    assert_eq!(found.round_trip[0].departure_error(), Some(Duration::from_nanos(1_007)));
    assert_eq!(found.reverse[0].departure_error(), None, "the responder has no schedule");
}

#[test]
fn a_round_trip_beyond_the_waiting_time_is_late() {
    let wait = WAIT.as_nanos();
    // It left at 10 us, and lay there for 10 us, which are not the path's.
    let entries = one(20_000, 30_000, 20_000 + wait + 1);
    let found = related(&assemble(&entries), ClockRelation::Unknown, ResponderLog::Complete);
    assert_eq!(found.round_trip[0].fate, Fate::Late);
    assert_eq!(found.reverse[0].fate, Fate::Arrived, "how long one way took is not known");
    let found = related(
        &assemble(&one(20_000, 30_000, 20_000 + wait)),
        ClockRelation::Unknown,
        ResponderLog::Complete,
    );
    assert_eq!(found.round_trip[0].fate, Fate::Arrived, "exactly the waiting time is in time");
    let entries = one(20_000, 30_000, 30_001 + wait);
    let found = related(&assemble(&entries), ClockRelation::Shared, ResponderLog::Complete);
    assert_eq!((found.forward[0].fate, found.reverse[0].fate), (Fate::Arrived, Fate::Late));
}

#[test]
fn a_stamp_that_is_missing_costs_the_delay_and_not_the_packet() {
    let mut entries = one(20_000, 30_000, 40_000);
    entries.remove(1);
    let rows = assemble(&entries);
    let selection = Selection {
        t1: Some(TimestampPoint::Kernel),
        t2: Some(TimestampPoint::Kernel),
        t3: Some(TimestampPoint::Kernel),
        t4: Some(TimestampPoint::Kernel),
    };
    let found = relate(&rows, &selection, ClockRelation::Unknown, WAIT, ResponderLog::Complete);
    assert_eq!((found.forward[0].fate, found.forward[0].delay), (Fate::Arrived, None));
    assert_eq!((found.round_trip[0].fate, found.round_trip[0].delay), (Fate::Arrived, None));
    assert_eq!(found.reverse[0].delay, Some(Duration::ZERO));
    assert_eq!(found.missing.sender_departure, 1);
    assert_eq!(found.missing.sender_arrival, 0);
}

#[test]
fn bounds_that_drift_has_crossed_are_not_given() {
    // The responder's clock loses 3 ms between two probes whose delays are 1 ms each way.
    let entries =
        [(0, 1_000_000_000_i64, 0), (1, 2_000_000_000, -3_000_000)].map(|(sequence, t1, offset)| {
            let (t2, t4) = (t1 + 1_000_000 + offset, t1 + 2_000_000);
            vec![
                Entry::Sent { sequence, size: 44, wake_error_ns: 0, user_ns: t1 },
                far(sequence, t2, Some(t2)),
                returned(sequence, t2, t2, t4),
            ]
        });
    let found = related(&assemble(&entries.concat()), ClockRelation::Unknown, ResponderLog::Complete);
    assert_eq!(found.clock.offset_bounds_ns, None);
}

#[test]
fn a_probe_that_the_host_refused_is_in_no_direction() {
    let rows = assemble(&[Entry::NotSent { sequence: 0, size: 44, errno: 105, user_ns: 1 }]);
    let found = related(&rows, ClockRelation::Shared, ResponderLog::Complete);
    assert!(found.forward.is_empty() && found.reverse.is_empty() && found.round_trip.is_empty());
    assert_eq!(found.not_sent, 1);
    assert_eq!(found.missing.sender_departure, 0);
}

#[test]
fn replies_keep_the_numbers_of_their_probes_with_the_gaps_of_what_never_arrived() {
    let arrive = |delay| Probe { arrivals: vec![(delay, Some(vec![10_000]))] };
    let lost = Probe { arrivals: vec![] };
    // Probe 2 arrives there before probe 1; probe 3 never; probe 4 twice.
    let twice = Probe { arrivals: vec![(100_000, Some(vec![10_000])), (200_000, Some(vec![10_000]))] };
    let probes = vec![arrive(100_000), arrive(3_000_000), arrive(100_000), lost, twice, arrive(100_000)];
    let found = related(
        &OffsetClocks { probes, offset: 5 }.rows(true),
        ClockRelation::Unknown,
        ResponderLog::Complete,
    );
    assert_eq!(sequences(&found.reverse), [(0, 0), (1, 0), (2, 0), (4, 0), (5, 0), (6, 0)]);
    assert_eq!(found.forward.iter().map(|p| p.sequence).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 4, 5]);
}

#[test]
fn best_is_the_kernel_where_at_least_half_of_the_packets_have_it() {
    let kernel = |share: usize| {
        let rows: Vec<RoundTrip> = (0..10)
            .map(|n| {
                let mut row = assemble(&one(20_000, 30_000, 40_000))[0];
                row.sequence = n as u64;
                if n >= share {
                    row.t1.kernel = None;
                    row.t2.kernel = None;
                }
                row
            })
            .collect();
        Selection::choose(&rows, StampRequest::Best, true)
    };
    assert_eq!(kernel(5).t1, Some(TimestampPoint::Kernel));
    assert_eq!(
        (kernel(4).t1, kernel(4).t2, kernel(4).t4),
        (Some(TimestampPoint::User), Some(TimestampPoint::User), Some(TimestampPoint::Kernel))
    );
    let rows = assemble(&one(20_000, 30_000, 40_000));
    let user = Selection::choose(&rows, StampRequest::User, true);
    assert!([user.t1, user.t2, user.t3, user.t4].iter().all(|place| *place == Some(TimestampPoint::User)));
    let foreign = Selection::choose(&rows, StampRequest::Kernel, false);
    assert_eq!((foreign.t1, foreign.t2, foreign.t3), (Some(TimestampPoint::Kernel), None, None));
    let definition = foreign.document(MissingStamps::default(), ProbeDirection::RoundTrip).delay_definition;
    let [forward, reverse, _] = &definition[..] else { panic!("{definition:?}") };
    let one_way = |departure, arrival| DelaySpan::OneWay { departure, arrival, includes_responder: false };
    assert_eq!(forward.span, one_way(Some(TimestampPoint::Kernel), None));
    assert_eq!(reverse.span, one_way(None, Some(TimestampPoint::Kernel)));
}

#[test]
fn what_never_left_does_not_choose_the_stamps_of_what_came() {
    let row = |n: u64| {
        let mut row = assemble(&one(20_000, 30_000, 40_000))[0];
        row.sequence = n;
        if n >= 3 {
            // The host took it and dropped it: the program's stamp is all that there is.
            let gone = Stamps { kernel: None, ..row.t1 };
            row = RoundTrip { sequence: n, t1: gone, ..RoundTrip::default() };
        }
        row
    };
    let place = |rows: &[RoundTrip]| Selection::choose(rows, StampRequest::Best, true).t1;
    let rows: Vec<RoundTrip> = (0..10).map(row).collect();
    assert_eq!(place(&rows), Some(TimestampPoint::Kernel), "all that came have the kernel's");
    assert_eq!(place(&rows[3..]), Some(TimestampPoint::User), "none came");
}

#[test]
fn a_far_log_of_which_little_came_back_leaves_what_was_told() {
    let told_only = |sequence: u64| {
        let mut row = assemble(&one(20_000, 30_000, 40_000))[0];
        row.sequence = sequence;
        (row.t2.kernel, row.t2.user, row.t3.kernel, row.t3.user) = (None, None, None, None);
        row
    };
    let mut rows: Vec<RoundTrip> = (0..9).map(told_only).collect();
    rows.push(assemble(&one(20_000, 30_000, 40_000))[0]);
    let selection = Selection::choose(&rows, StampRequest::Best, true);
    assert_eq!((selection.t2, selection.t3), (None, None));
}

#[test]
fn location_errors_are_positive_where_the_kernel_is_nearer_to_the_wire() {
    let found = location_errors(&assemble(&one(20_000, 30_000, 40_000)));
    for errors in [&found.sender, &found.responder] {
        assert_eq!((errors.departure.count, errors.departure.mean), (1, Some(1_000.0)));
        assert_eq!((errors.arrival.count, errors.arrival.mean), (1, Some(1_000.0)));
    }
    let mut rows = assemble(&one(20_000, 30_000, 40_000));
    rows[0].t1.kernel = None;
    assert_eq!(location_errors(&rows).sender.departure.count, 0);
}

/// A round trip of 40 ms there, `lay` at the responder and 40 ms back, the responder's clock an hour ahead.
fn round_trip(sequence: u64, lay: i64) -> RoundTrip {
    fn at<C: Clock>(nanos: i64) -> Stamps<C> {
        Stamps {
            kernel: Some(Timestamp::from_nanos(nanos)),
            user: Some(Timestamp::from_nanos(nanos)),
            ..Stamps::default()
        }
    }
    const LEG: i64 = 40_000_000;
    const HOUR: i64 = 3_600_000_000_000;
    let t1 = i64::try_from(sequence).unwrap_or(0) * 10_000_000;
    RoundTrip {
        sequence,
        t1: at(t1),
        t2: at(t1 + LEG + HOUR),
        t3: at(t1 + LEG + HOUR + lay),
        t4: at(t1 + 2 * LEG + lay),
        returned: true,
        seen_by_responder: true,
        ..RoundTrip::default()
    }
}

#[test]
fn a_responder_that_stands_still_makes_no_probe_late() {
    let second = 1_000_000_000;
    let rows = [round_trip(0, 1_000), round_trip(1, 30 * second), round_trip(2, 2_000)];
    let found = related(&rows, ClockRelation::Unknown, ResponderLog::Complete);
    assert!(
        found.round_trip.iter().all(|singleton| singleton.fate == Fate::Arrived),
        "{:?}",
        found.round_trip
    );
    assert!(found.round_trip.iter().all(|singleton| singleton.delay == Some(Duration::from_millis(80))));
    // The same time on the way is another matter.
    let mut rows = rows;
    rows[1].t3 = rows[0].t3;
    assert_eq!(related(&rows, ClockRelation::Unknown, ResponderLog::Complete).round_trip[1].fate, Fate::Late);
}

/// What came back in time was in time both ways, whatever the clocks show; of what did not come back the delay above the least one tells.
#[test]
fn round_trip_in_time_is_in_time_both_ways() {
    let mut rows: Vec<RoundTrip> = (0..4).map(|n| round_trip(n, 1_000)).collect();
    rows[3].returned = false;
    rows[3].t4 = Stamps::default();
    let mut found = related(&rows, ClockRelation::Unknown, ResponderLog::Complete);
    let late = Some(Duration::from_nanos(WAIT.as_nanos() + 1));
    for singleton in found.forward.iter_mut().chain(&mut found.reverse) {
        singleton.delay = late;
    }
    found.find_late(WAIT);
    let fates = |singletons: &[OneWaySingleton]| {
        singletons.iter().map(|singleton| singleton.fate).collect::<Vec<_>>()
    };
    assert_eq!(fates(&found.forward), [Fate::Arrived, Fate::Arrived, Fate::Arrived, Fate::Late]);
    assert_eq!(fates(&found.reverse), [Fate::Arrived, Fate::Arrived, Fate::Arrived, Fate::Lost]);
}

#[test]
fn more_than_the_waiting_time_above_the_least_delay_is_late_whatever_the_offset() {
    let mut rows: Vec<RoundTrip> = (0..3).map(|n| round_trip(n, 0)).collect();
    rows.iter_mut().for_each(|row| row.returned = false);
    let mut found = related(&rows, ClockRelation::Unknown, ResponderLog::Complete);
    let above = [0, WAIT.as_nanos(), WAIT.as_nanos() + 1].map(Duration::from_nanos);
    for (singleton, delay) in found.forward.iter_mut().zip(above) {
        singleton.delay = Some(delay);
    }
    found.find_late(WAIT);
    let fates: Vec<Fate> = found.forward.iter().map(|singleton| singleton.fate).collect();
    assert_eq!(fates, [Fate::Arrived, Fate::Arrived, Fate::Late]);
}

#[test]
fn of_a_far_end_that_stamps_nothing_the_round_trip_is_the_whole_time_away_and_its_answers_are_known_by_their_numbers()
 {
    let row = |sequence: u64, back: Option<i64>, answered: bool| {
        let t1 = 1_000_000 * i64::try_from(sequence).unwrap();
        let mut row = RoundTrip { sequence, size: 64, returned: back.is_some(), ..RoundTrip::default() };
        row.t1.kernel = Some(Timestamp::from_nanos(t1));
        row.t4.kernel = back.map(|back| Timestamp::from_nanos(t1 + back));
        row.seen_by_responder = answered;
        row.reply_number = answered.then(|| u32::try_from(sequence).unwrap());
        row
    };
    let rows =
        [row(0, Some(5_000), false), row(1, None, true), row(2, None, false), row(3, Some(7_000), false)];
    let found = related(&rows, ClockRelation::Unknown, ResponderLog::Complete);
    assert!(found.far_time_unknown);
    let delays: Vec<_> = found.round_trip.iter().map(|one| one.delay.map(Duration::as_nanos)).collect();
    assert_eq!(delays, [Some(5_000), None, None, Some(7_000)]);
    let fates = |singletons: &[OneWaySingleton]| {
        singletons.iter().map(|one| (one.sequence, one.fate)).collect::<Vec<_>>()
    };
    use Fate::{Arrived, Lost};
    assert_eq!(fates(&found.forward), [(0, Arrived), (1, Arrived), (2, Lost), (3, Arrived)]);
    assert_eq!(fates(&found.reverse), [(0, Arrived), (1, Lost), (3, Arrived)]);
    assert_eq!((found.missing.responder_arrival, found.missing.responder_departure), (0, 0));
}

/// Of a reply that comes twice, equal stamps of the responder or equal numbers of its count show that it was copied on the way
/// back. Without either, neither direction has the copy.
#[test]
fn unstamped_copies_have_no_direction() {
    let attributed = |told: Option<i64>, numbers: [u32; 2]| {
        let entries = [0_u64, 1].map(|sequence| {
            let t1 = 1_000_000_000 + i64::try_from(sequence).unwrap() * INTERVAL;
            let number = numbers[usize::try_from(sequence).unwrap()];
            let reply = |t4: i64| {
                let mut entry = returned(sequence, t1 + 1_000, t1 + 2_000, t4);
                if let Entry::Returned { told_t2_ns, told_t3_ns, reply_number, .. } = &mut entry {
                    (*told_t2_ns, *told_t3_ns) =
                        (told.map(|more| t1 + 1_000 + more), told.map(|_| t1 + 2_000));
                    *reply_number = Some(number);
                }
                entry
            };
            let sent = Entry::Sent { sequence, size: 44, wake_error_ns: 7, user_ns: t1 };
            [sent, reply(t1 + 9_000), reply(t1 + 9_500)]
        });
        let rows = assemble(&entries.concat());
        let found = related(&rows, ClockRelation::Unknown, ResponderLog::None);
        assert_eq!(count(&found.round_trip, |one| one.copy == 1), 2);
        found.copies_attributed
    };
    assert!(attributed(Some(0), [0, 1]), "by stamps");
    assert!(attributed(None, [7, 8]), "by numbers");
    assert!(!attributed(None, [0, 1]), "by neither");
}
