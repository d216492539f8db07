//! Packets of one way that took less time than those before and after.

use romer_record::document::ProbeDirection;
use romer_record::manifest::{ClockRelation, StampRequest};
use romer_record::{RoundTrip, Stamps};
use romer_singletons::{ResponderLog, Selection, StreamSingletons, relate};
use romer_units::{Clock, Duration, Timestamp};

const MS: i64 = 1_000_000;

/// A hundred packets of one way.
fn related(quicker: impl Fn(i64) -> (u32, i64)) -> StreamSingletons {
    related_of(100, quicker)
}

/// Packets of one way, one in 20 ms, that take 5 ms and wait a little: each of `size`, and quicker by so much, by its number.
fn related_of(count: i64, quicker: impl Fn(i64) -> (u32, i64)) -> StreamSingletons {
    fn at<C: Clock>(nanos: i64) -> Stamps<C> {
        Stamps { user: Some(Timestamp::from_nanos(nanos)), ..Stamps::default() }
    }
    let row = |number: i64| {
        let (size, by) = quicker(number);
        let left = number * 20 * MS;
        RoundTrip {
            way: ProbeDirection::Forward,
            sequence: number.unsigned_abs(),
            size,
            t1: at(left),
            t2: at(left + 5 * MS + number * number % 97 * 1_031 - by),
            seen_by_responder: true,
            ..RoundTrip::default()
        }
    };
    let rows: Vec<RoundTrip> = (0..count).map(row).collect();
    let selection = Selection::choose(&rows, StampRequest::User, true);
    relate(&rows, &selection, ClockRelation::Unknown, Duration::from_secs(2), ResponderLog::Complete)
}

fn without_delay(related: &StreamSingletons) -> Vec<u64> {
    related.forward.iter().filter(|one| one.delay.is_none()).map(|one| one.sequence).collect()
}

/// Wherever a single packet is too quick, it alone loses its stamps, and both of them.
#[test]
fn single_quick_packets_are_rejected() {
    for place in [0, 1, 50, 98, 99] {
        for by in [MS, 3 * MS, 1_000 * MS] {
            let related = related(|number| (100, if number == place { by } else { 0 }));
            assert_eq!(without_delay(&related), [place.unsigned_abs()], "{place}, {by}");
            let one = &related.forward[usize::try_from(place).unwrap()];
            assert_eq!((one.departure, one.arrival), (None, None));
            let [found, _] = related.too_quick;
            assert_eq!((found.compared, found.packets, found.are_kept()), (100, 1, false));
        }
    }
}

/// Up to three packets at the beginning or the end of a stream, or anywhere in it, are rejected.
#[test]
fn few_quick_packets_are_rejected() {
    for places in [[0, 1, 2], [397, 398, 399], [150, 151, 152]] {
        let related = related_of(400, |number| (100, if places.contains(&number) { 3 * MS } else { 0 }));
        assert_eq!(without_delay(&related), places.map(i64::unsigned_abs), "{places:?}");
        assert!(!related.too_quick[0].are_kept());
    }
}

/// A short packet between long ones may be quicker, one after which all are as quick shows a change, and what recurs is the path's.
#[test]
fn quick_packets_of_a_path_are_kept() {
    let short = related(|number| if number == 50 { (100, 3 * MS) } else { (1_000, 0) });
    let change = related(|number| (100, if number >= 50 { 3 * MS } else { 0 }));
    // Delays that fall and begin anew, whichever of them the first and the last are.
    let falling = (0..18).map(|phase| related(|number| (100, 30_000 * ((number + phase) % 18))));
    let rising = (0..18).map(|phase| related(|number| (100, -30_000 * ((number + phase) % 18))));
    for related in [short, change].into_iter().chain(falling).chain(rising) {
        assert_eq!((without_delay(&related), related.too_quick[0].packets), (Vec::new(), 0));
    }
    let recurring = related(|number| (100, if number % 30 == 20 { 3 * MS } else { 0 }));
    let [found, _] = recurring.too_quick;
    assert_eq!((without_delay(&recurring), found.packets, found.are_kept()), (Vec::new(), 3, true));
}
