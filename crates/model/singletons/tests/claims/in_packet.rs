//! Stamps that programs of the kernel wrote into the packets.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use romer_record::document::MissingStamps;
use romer_record::log::Entry;
use romer_record::manifest::{ClockRelation, StampRequest};
use romer_record::{Fate, RoundTrip, assemble};
use romer_singletons::{ResponderLog, Selection, StreamSingletons, relate};
use romer_units::{Duration, Timestamp, TimestampPoint};

const PROGRAM: Option<TimestampPoint> = Some(TimestampPoint::Program);

/// Ten probes, one in a millisecond, of which the last does not return. User space stamps 100 us before a departure and 100 us after
/// an arrival; the far end's programs stamp if `far` says so.
fn rows(far: bool) -> Vec<RoundTrip> {
    let probe = |sequence: u64| {
        let t1 = 1_000_000 * i64::try_from(sequence + 1).unwrap();
        let sent = Entry::Sent { sequence, size: 88, wake_error_ns: 0, user_ns: t1 - 100_000 };
        let stamp = Entry::SentStamp { sequence, kernel_ns: t1 };
        let returned = Entry::Returned {
            sequence,
            user_ns: t1 + 550_000 + 100_000,
            kernel_ns: Some(t1 + 550_000),
            told_t2_ns: far.then_some(t1 + 200_000),
            told_t3_ns: far.then_some(t1 + 250_000),
            ttl: Some(64),
            tos: Some(0),
            told_ttl: None,
            reply_number: None,
        };
        if sequence < 9 { vec![sent, stamp, returned] } else { vec![sent] }
    };
    let entries: Vec<Entry> = (0..10).flat_map(probe).collect();
    assemble(&entries)
}

fn related(rows: &[RoundTrip], selection: &Selection) -> StreamSingletons {
    relate(rows, selection, ClockRelation::Shared, Duration::from_secs(2), ResponderLog::None)
}

/// All four stamps are the program's, and give both one-way delays and the round trip. A lost probe lacks none: its stamp was to
/// come back within it.
#[test]
fn returns_have_three_delays() {
    let rows = rows(true);
    let selection = Selection::choose(&rows, StampRequest::InPacket, false);
    assert_eq!([selection.t1, selection.t2, selection.t3, selection.t4], [PROGRAM; 4]);
    assert_eq!(rows[0].t1.at(PROGRAM), Some(Timestamp::from_nanos(1_000_000)));
    let found = related(&rows, &selection);
    assert_eq!(found.missing, MissingStamps::default());
    for number in 0..9 {
        let delay = |nanos| Some(Duration::from_nanos(nanos));
        assert_eq!(found.forward[number].delay, delay(200_000));
        assert_eq!(found.reverse[number].delay, delay(300_000));
        assert_eq!(found.round_trip[number].delay, delay(500_000));
    }
    assert_eq!(found.round_trip[9].fate, Fate::Lost);
}

/// Where the far end has no programs, the round trip is known and the rest is not.
#[test]
fn round_trips_need_no_far_program() {
    let rows = rows(false);
    let selection = Selection::choose(&rows, StampRequest::InPacket, false);
    assert_eq!([selection.t1, selection.t2, selection.t3, selection.t4], [PROGRAM, None, None, PROGRAM]);
    let found = related(&rows, &selection);
    assert!(found.far_time_unknown);
    assert_eq!(found.round_trip[0].delay, Some(Duration::from_nanos(550_000)));
    assert_eq!(found.forward[0].delay, None);
}

/// The same run has the delays of user space, which are longer by its error.
#[test]
fn user_space_can_be_compared() {
    let rows = rows(true);
    let selection = Selection::choose(&rows, StampRequest::User, false);
    let found = related(&rows, &selection);
    assert_eq!(found.round_trip[0].delay, Some(Duration::from_nanos(700_000)));
}
