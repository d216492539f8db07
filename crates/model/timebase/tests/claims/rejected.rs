//! Stamps of the responder that causality contradicts.

use romer_record::{RoundTrip, Stamps};
use romer_timebase::{RejectedStamps, Selection, StampCheck};
use romer_units::random::{Seed, Stream};
use romer_units::{Clock, Timestamp};

const MS: i64 = 1_000_000;

/// Round trips of 10 ms every 50 ms; the responder's stamps are `ahead` of the true ones by number.
fn rows(count: i64, ahead: impl Fn(i64) -> [i64; 2]) -> Vec<RoundTrip> {
    fn at<C: Clock>(nanos: i64) -> Stamps<C> {
        Stamps { told: Some(Timestamp::from_nanos(nanos)), ..Stamps::default() }
    }
    let row = |number: i64| {
        let t1 = number * 50 * MS;
        let [far2, far3] = ahead(number);
        RoundTrip {
            sequence: number.unsigned_abs(),
            t1: at(t1),
            t2: at(t1 + 5 * MS + far2),
            t3: at(t1 + 5 * MS + far3),
            t4: at(t1 + 10 * MS),
            returned: true,
            ..RoundTrip::default()
        }
    };
    (0..count).map(row).collect()
}

/// What comes out of rows that come in parts of so many.
fn checked(rows: &[RoundTrip], part: usize) -> (Vec<RoundTrip>, RejectedStamps) {
    let mut check = StampCheck::new(Selection::default());
    let mut passed = Vec::new();
    for part in rows.chunks(part) {
        check.take(part, &mut |rows| passed.extend_from_slice(rows));
    }
    let rejected = check.finish(&mut |rows| passed.extend_from_slice(rows));
    (passed, rejected)
}

/// Each kind of false stamp is rejected alone, however the rows come in parts, and all other rows stay as they are.
#[test]
fn single_false_stamps_are_rejected() {
    let second = 1_000 * MS;
    let kinds = [[-second, 0], [second, 0], [0, -second], [0, second], [-second, -second], [second, second]];
    for kind in kinds {
        let all = rows(40, |number| if number == 20 { kind } else { [0, 0] });
        for part in [1, 2, 3, 7, 20, 21, 40] {
            let (passed, rejected) = checked(&all, part);
            assert_eq!(rejected.replies(), 1, "{kind:?} in parts of {part}: {rejected:?}");
            assert_eq!(rejected.compared, 40);
            assert_eq!(passed.len(), all.len());
            for (one, before) in passed.iter().zip(&all) {
                if one.sequence == 20 {
                    let cleared = [one.t2.told.is_none(), one.t3.told.is_none(), one.far_stamps_rejected];
                    assert_eq!(cleared, [true; 3]);
                    assert_eq!((one.t1, one.t4), (before.t1, before.t4));
                } else {
                    assert_eq!(one, before);
                }
            }
        }
    }
}

/// A clock that drifts, is slewed or is set keeps all its stamps, also where neighbours do not agree.
#[test]
fn clocks_keep_their_stamps() {
    type Clock = fn(i64) -> i64;
    let clocks: [(&str, Clock); 6] = [
        ("600 ppm of minutes", |n| n * 36 * MS),
        ("stands still", |n| -n * 50 * MS),
        ("set at once", |n| if n < 17 { 0 } else { -1_000 * MS }),
        ("set twice", |n| {
            if n < 17 {
                0
            } else if n < 19 {
                1_000 * MS
            } else {
                3 * MS
            }
        }),
        ("slewed", |n| n.clamp(10, 20) * 12 * MS),
        ("slewed back", |n| (n - 20).abs() * 4 * MS),
    ];
    for (name, clock) in clocks {
        let all = rows(40, |number| [clock(number); 2]);
        for part in [1, 5, 40] {
            let (passed, rejected) = checked(&all, part);
            assert_eq!((rejected.replies(), &passed), (0, &all), "{name}: {rejected:?}");
        }
    }
}

/// Lost replies and contradictory ones do not stand between a false reply and its neighbours, and the order of rows stays.
#[test]
fn parts_make_no_difference() {
    let random = Stream::new(Seed([3, 6, 3, 0, 0, 0]), [0, 0]);
    let mut all = rows(300, |number| match random.unit(number.unsigned_abs() + 1) {
        unit if unit < 0.03 => [-1_000 * MS; 2],
        unit if unit < 0.06 => [0, 700 * MS],
        _ => [0, 0],
    });
    for row in &mut all {
        if random.unit(1_000 + row.sequence) < 0.2 {
            (row.returned, row.t2, row.t3, row.t4) = Default::default();
        }
    }
    let whole = checked(&all, all.len());
    assert!(whole.1.apart.replies > 2 && whole.1.long.replies > 2, "{:?}", whole.1);
    assert!(whole.0.iter().map(|row| row.sequence).eq(0..300));
    for part in [1, 2, 3, 10, 64] {
        assert_eq!(checked(&all, part), whole, "{part}");
    }
}
