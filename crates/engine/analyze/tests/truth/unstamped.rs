//! Packets whose departure the kernel did not stamp, as of a busy host: they have no delay, but what became of them is told as
//! of all others. And packets that the far end's log does not tell of, which did not come back whole.

use romer_analyze::evaluate::evaluate;
use romer_record::document::{DirectionResults, Measurement, Packets, ProbeDirection, Traffic};
use romer_record::event::{Event, EventKind, EventLocation};
use romer_record::manifest::{ClockRelation, EntryKind, NotLogged, StampRequest, Stream};
use romer_record::warning::MeasurementWarning;
use romer_record::{RoundTrip, Stamps};
use romer_units::{Clock, Timestamp};

use crate::world::{WAITING, World};

const MS: i64 = 1_000_000;
/// How far the far end's clock is ahead where it is another.
const AHEAD: i64 = 3_600_000 * MS;
/// The receiving program stands still between these.
const STANDS: [i64; 2] = [2_500 * MS, 7_500 * MS];
/// Its kernel holds what comes up to here, and drops the rest.
const FULL: i64 = 4_000 * MS;

fn at<C: Clock>(kernel: Option<i64>, user: i64) -> Stamps<C> {
    Stamps {
        kernel: kernel.map(Timestamp::from_nanos),
        user: Some(Timestamp::from_nanos(user)),
        ..Stamps::default()
    }
}

/// One a millisecond for 10 s, 1 ms on the way. Every fourth departure is stamped, or but every fourth, and the path loses every
/// hundredth. Gives the rows, and how many found a full socket.
fn rows(way: ProbeDirection, mostly: bool, ahead: i64) -> (Vec<RoundTrip>, u64) {
    let mut dropped = 0;
    let row = |n: i64| {
        let (left, came) = (n * MS, (n + 1) * MS);
        let read = if (STANDS[0]..STANDS[1]).contains(&came) { STANDS[1] } else { came };
        let is_lost = n % 100 == 7;
        let is_dropped = (FULL..STANDS[1]).contains(&came);
        dropped += u64::from(is_dropped && !is_lost);
        let comes = !is_lost && !is_dropped;
        let stamped = ((n % 4 == 0) != mostly).then_some(left);
        let row = RoundTrip { way, sequence: n.unsigned_abs(), size: 14, ..RoundTrip::default() };
        let (there, here) = (ahead, 0);
        match way {
            ProbeDirection::Reverse => RoundTrip {
                t3: at(stamped.map(|left| left + there), left - MS / 10 + there),
                t4: if comes { at(Some(came + here), read + here) } else { Stamps::default() },
                returned: comes,
                ..row
            },
            _ => RoundTrip {
                t1: at(stamped.map(|left| left + here), left - MS / 10 + here),
                t2: if comes { at(Some(came + there), read + there) } else { Stamps::default() },
                seen_by_responder: comes,
                ..row
            },
        }
    };
    let rows = (0..10_000).map(row).collect();
    (rows, dropped)
}

fn evaluated(
    way: ProbeDirection,
    mostly: bool,
    relation: ClockRelation,
    request: StampRequest,
) -> (Measurement, u64) {
    let ahead = if relation == ClockRelation::Shared { 0 } else { AHEAD };
    let (rows, dropped) = rows(way, mostly, ahead);
    let location =
        if way == ProbeDirection::Reverse { EventLocation::Sender } else { EventLocation::Responder };
    let by = if location == EventLocation::Responder { ahead } else { 0 };
    let overflow = Event {
        until_ns: Some(STANDS[1]),
        datagrams: Some(dropped),
        ..Event::new(EventKind::ReceiveOverflow, location, FULL, FULL + by)
    };
    let any = crate::manifest(&World::new(romer_units::random::Seed([1; 6]), true), true);
    let traffic = Traffic { direction: way, waiting_time_ns: 2_000 * MS, ..any.traffic.clone() };
    let stream =
        Stream { traffic, clock_relation: relation, stamp_request: request, events: vec![overflow], ..any };
    assert!(stream.traffic.waiting_time_ns > WAITING.as_nanos());
    (evaluate(&stream, &rows, false).measurement, dropped)
}

/// A program that stands still at the far end, or here, makes none late that the kernel had in time, and none of those that the
/// kernel dropped is a loss.
#[test]
fn kernel_drops_are_instrument_drops() {
    for way in [ProbeDirection::Forward, ProbeDirection::Reverse] {
        for mostly in [false, true] {
            for (relation, request) in [
                (ClockRelation::Shared, StampRequest::Best),
                (ClockRelation::Shared, StampRequest::Kernel),
                (ClockRelation::Unknown, StampRequest::Best),
                (ClockRelation::Unknown, StampRequest::Kernel),
            ] {
                let (document, dropped) = evaluated(way, mostly, relation, request);
                let direction =
                    if way == ProbeDirection::Reverse { &document.reverse } else { &document.forward };
                let Packets { sent, received, lost, late, instrument_drops, .. } = direction.packets.clone();
                let what = format!("{way:?} {mostly} {relation:?} {request:?}: {:?}", document.warnings);
                assert!(late.is_none_or(|late| late == 0), "{late:?}, {what}");
                assert_eq!((lost, instrument_drops), (Some(100), Some(dropped)), "{what}");
                assert_eq!((sent, received), (Some(10_000), Some(9_900 - dropped)), "{what}");
                assert_eq!(direction.loss.ratio, Some(0.01), "{what}");
            }
        }
    }
}

/// The path loses every tenth on the way there, and of the replies those to every other tenth. The far host's program does not read
/// for 3 s, and this one's for 3 s later.
#[test]
fn instrument_drops_leave_loss_ratio() {
    let any = crate::manifest(&World::new(romer_units::random::Seed([1; 6]), true), true);
    let mut dropped = [0; 2];
    let row = |n: i64| {
        let (left, got_there, came) = (n * MS, n * MS + MS / 2, (n + 1) * MS);
        let full = [(1_000..4_000).contains(&n), (6_000..9_000).contains(&n)];
        let there = n % 10 != 7;
        dropped[0] += u64::from(there && full[0]);
        let seen = there && !full[0];
        let back = seen && n % 10 != 3;
        dropped[1] += u64::from(back && full[1]);
        let returned = back && !full[1];
        RoundTrip {
            sequence: n.unsigned_abs(),
            size: 44,
            t1: at(Some(left), left),
            t2: if seen { at(Some(got_there), got_there) } else { Stamps::default() },
            t3: if seen { at(Some(got_there), got_there) } else { Stamps::default() },
            t4: if returned { at(Some(came), came) } else { Stamps::default() },
            seen_by_responder: seen,
            returned,
            ..RoundTrip::default()
        }
    };
    let rows: Vec<RoundTrip> = (0..10_000).map(row).collect();
    let overflow = |location, from: i64, datagrams| Event {
        until_ns: Some((from + 3_000) * MS),
        datagrams: Some(datagrams),
        ..Event::new(EventKind::ReceiveOverflow, location, from * MS, from * MS)
    };
    let events = vec![
        overflow(EventLocation::Responder, 1_000, dropped[0]),
        overflow(EventLocation::Sender, 6_000, dropped[1]),
    ];
    let found = evaluate(&Stream { events, ..any }, &rows, false).measurement;
    let of = |direction: &DirectionResults| {
        let packets = &direction.packets;
        (packets.lost, packets.instrument_drops, direction.loss.ratio.map(|ratio| (ratio * 1e9).round()))
    };
    assert_eq!(of(&found.forward), (Some(1_000), Some(2_700), Some(1e8)));
    let ninth = (1e9_f64 / 9.0).round();
    assert_eq!(of(&found.reverse), (Some(700), Some(2_400), Some(ninth)));
    // Those that either host dropped were sent and not lost.
    assert_eq!(of(&found.round_trip), (Some(1_700), Some(5_100), Some(1.7e8)));
    for direction in [&found.forward, &found.reverse] {
        let longest = direction.loss.periods.iter().max();
        assert!(
            longest.is_some_and(|longest| *longest <= 2),
            "{longest:?}: they lie evenly among the dropped"
        );
    }
}

#[test]
fn a_log_that_did_not_come_back_whole_is_told_and_makes_one_way_figures_those_of_a_part() {
    let any = crate::manifest(&World::new(romer_units::random::Seed([1; 6]), true), true);
    let evaluated = |way: ProbeDirection, responder_log: bool, responder_log_complete: bool| {
        let traffic = Traffic { direction: way, ..any.traffic.clone() };
        let stream = Stream { traffic, responder_log, responder_log_complete, ..any.clone() };
        let rows = rows(if way == ProbeDirection::Both { ProbeDirection::Forward } else { way }, true, 0).0;
        let document = evaluate(&stream, &rows, false).measurement;
        (document.responder_log_complete, document.partial)
    };
    for way in [ProbeDirection::Forward, ProbeDirection::Reverse, ProbeDirection::Both] {
        assert_eq!(evaluated(way, true, true), (Some(true), false), "{way:?}");
        assert_eq!(evaluated(way, true, false), (Some(false), true), "{way:?}");
    }
    // Of round trips this end knows what came back.
    assert_eq!(evaluated(ProbeDirection::RoundTrip, true, false), (Some(false), false));
    assert_eq!(evaluated(ProbeDirection::RoundTrip, false, false), (None, false));
}

#[test]
fn what_this_hosts_log_did_not_keep_is_neither_lost_nor_received() {
    let any = crate::manifest(&World::new(romer_units::random::Seed([1; 6]), true), true);
    let lacking = [NotLogged { kind: EntryKind::Arrival, entries: 150, first: 2_000, last: 6_000 }];
    for way in [ProbeDirection::Reverse, ProbeDirection::RoundTrip] {
        let evaluated = |rows: &[RoundTrip], not_logged: &[NotLogged]| {
            let traffic = Traffic { direction: way, ..any.traffic.clone() };
            let stream =
                Stream { traffic, responder_log: true, not_logged: not_logged.to_vec(), ..any.clone() };
            evaluate(&stream, rows, false).measurement
        };
        let of = |document: &Measurement| {
            let direction =
                if way == ProbeDirection::Reverse { &document.reverse } else { &document.round_trip };
            direction.packets.clone()
        };
        let there_and_back = |row: RoundTrip| RoundTrip {
            t3: row.t2,
            t4: row.t2.kernel.map_or_else(Stamps::default, |came| at(Some(came.as_nanos()), came.as_nanos())),
            returned: row.seen_by_responder,
            ..row
        };
        let all = rows(way, true, 0).0;
        let all: Vec<RoundTrip> =
            if way == ProbeDirection::Reverse { all } else { all.into_iter().map(there_and_back).collect() };
        let whole = evaluated(&all, &[]);
        let lost = of(&whole).lost.unwrap();
        assert!(lost > 0 && !whole.partial && of(&whole).instrument_drops.is_none(), "{way:?}");
        // Each 30th arrival from 2,000 to 6,000 has no entry.
        let left_out =
            |row: &RoundTrip| (2_000..=6_000).contains(&row.sequence) && row.sequence.is_multiple_of(30);
        let mut lacks = all.clone();
        for row in lacks.iter_mut().filter(|row| left_out(row)) {
            (row.returned, row.t4) = (false, Stamps::default());
        }
        let without = all.iter().filter(|row| left_out(row) && row.returned).count() as u64;
        let part = evaluated(&lacks, &lacking);
        let (before, after) = (of(&whole), of(&part));
        assert!(part.partial && !part.not_logged.is_empty(), "{way:?}");
        assert_eq!(after.received, before.received.map(|received| received - without), "{way:?}");
        assert_eq!((after.sent, after.not_sent), (before.sent, before.not_sent), "{way:?}");
        assert_eq!(after.lost, None, "{way:?}: those of the span may have arrived");
        assert!(
            part.warnings.contains(&MeasurementWarning::EntriesNotLogged { entries: lacking.to_vec() }),
            "{:?}",
            part.warnings
        );
        // Outside the span it is known what was lost.
        let outside = [NotLogged { first: 9_910, last: 9_990, ..lacking[0] }];
        assert_eq!(of(&evaluated(&all, &outside)).lost, Some(lost), "{way:?}");
    }
}
