//! Stamps of the responder that causality contradicts.

use romer_record::{RoundTrip, Stamps};
use romer_singletons::{RejectedStamps, Selection, StampCheck};
use romer_units::random::{RandomStream, Seed};
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

/// The same with delays that wait, 100 us on average each way, and time to answer.
fn waiting(count: i64, ahead: impl Fn(i64) -> [i64; 2]) -> Vec<RoundTrip> {
    let random = RandomStream::new(Seed([3, 6, 9, 0, 0, 0]), [0, 0]);
    #[expect(clippy::cast_possible_truncation, reason = "some microseconds")]
    let wait = |number: u64| (-1e5 * (1.0 - random.unit(number)).ln()) as i64;
    let mut all = rows(count, |number| ahead(number).map(|far| far + wait(2 * number.unsigned_abs() + 1)));
    for row in &mut all {
        row.t3.told = row.t3.told.map(|at| Timestamp::from_nanos(at.as_nanos() + MS / 10));
        let back = MS / 10 + wait(2 * row.sequence + 1) + wait(2 * row.sequence + 2);
        row.t4.told = row.t4.told.map(|at| Timestamp::from_nanos(at.as_nanos() + back));
    }
    all
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

/// All rows of a probe are passed on together, whichever of them have false stamps or none, and however the probes come in parts.
#[test]
fn copies_stay_together() {
    let kinds: [fn(u64, u32) -> bool; 4] =
        [|_, _| true, |number, _| number == 0, |_, copy| copy == 0, |_, copy| copy == 1];
    for (kind, is_false) in kinds.into_iter().enumerate() {
        for is_absent in [true, false] {
            let mut all = Vec::new();
            for row in rows(40, |_| [0, 0]) {
                for copy in 0..2 {
                    let mut row = RoundTrip { copy, forward_copy: copy, ..row };
                    if is_false(row.sequence, copy) {
                        row.t3.told = row.t3.told.map(|at| Timestamp::from_nanos(at.as_nanos() - MS));
                        if is_absent {
                            (row.t2, row.t3) = Default::default();
                        }
                    }
                    all.push(row);
                }
            }
            for probes in [1, 3, 40] {
                let mut passed = 0;
                let mut pass = |rows: &[RoundTrip]| {
                    let is_whole = rows.len().is_multiple_of(2) && rows[0].copy == 0;
                    assert!(is_whole, "kind {kind}, {is_absent}, in parts of {probes}: {}", rows.len());
                    passed += rows.len();
                };
                let mut check = StampCheck::new(Selection::default());
                all.chunks(2 * probes).for_each(|part| check.take(part, &mut pass));
                check.finish(&mut pass);
                assert_eq!(passed, all.len());
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
            } else if n < 20 {
                1_000 * MS
            } else {
                2_000 * MS
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

/// Where the responder shows another time for some round trips and then the former one again, these are rejected, however many of up to 64; not those
/// after a clock that was set.
#[test]
fn time_that_comes_back_is_rejected() {
    for (count, off) in [(3, -10), (3, 10), (20, -10), (40, 10), (63, -1_000), (64, 1_000)] {
        let all = waiting(600, |n| if (200..200 + count).contains(&n) { [off * MS; 2] } else { [0, 0] });
        let (passed, rejected) = checked(&all, 64);
        let false_ones = passed.iter().filter(|row| row.far_stamps_rejected);
        let false_ones: Vec<i64> = false_ones.map(|row| row.sequence.cast_signed()).collect();
        assert_eq!(false_ones, (200..200 + count).collect::<Vec<_>>(), "{off}: {rejected:?}");
        assert!(!rejected.are_most(), "{rejected:?}");
    }
    // Single ones at random, some of them close to each other.
    let random = RandomStream::new(Seed([3, 6, 24, 0, 0, 0]), [0, 0]);
    let is_false = |n: i64| n > 20 && n < 580 && random.unit(n.unsigned_abs() + 1) < 0.04;
    let all = waiting(600, |n| if is_false(n) { [-1_000 * MS; 2] } else { [0, 0] });
    let (passed, rejected) = checked(&all, 64);
    let false_ones = passed.iter().filter(|row| row.far_stamps_rejected);
    let false_ones: Vec<i64> = false_ones.map(|row| row.sequence.cast_signed()).collect();
    assert_eq!(false_ones, (0..600).filter(|n| is_false(*n)).collect::<Vec<_>>(), "{rejected:?}");
    assert!(!rejected.are_most() && false_ones.len() > 15, "{rejected:?}");
}

/// Lost replies and contradictory ones do not stand between a false reply and its neighbours, and the order of rows stays.
#[test]
fn parts_make_no_difference() {
    let random = RandomStream::new(Seed([3, 6, 3, 0, 0, 0]), [0, 0]);
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

/// A false pair is rejected at either end of a stream, beside another one, and where it is off by less than the round trip; and no
/// other is.
#[test]
fn false_pairs_are_rejected_anywhere() {
    let places: [&[i64]; 8] = [&[0], &[1], &[199], &[198], &[0, 1], &[198, 199], &[100, 101], &[60, 140]];
    for place in places {
        for off in [-1_000, -15, -3, 3, 15, 1_000].map(|off| off * MS) {
            let all = waiting(200, |number| if place.contains(&number) { [off; 2] } else { [0, 0] });
            let (passed, rejected) = checked(&all, 64);
            let false_ones = passed.iter().filter(|row| row.far_stamps_rejected);
            let false_ones: Vec<i64> = false_ones.map(|row| row.sequence.cast_signed()).collect();
            assert_eq!(false_ones, place, "{off}: {rejected:?}");
        }
    }
}

/// One stamp of the two is enough: an early t2, or a late t3, within the round trip.
#[test]
fn single_stamps_within_the_round_trip() {
    for off in [[-3 * MS, 0], [-8 * MS, 0], [0, 3 * MS], [0, 4 * MS]] {
        for place in [0, 100, 199] {
            let all = waiting(200, |number| if number == place { off } else { [0, 0] });
            let (_, rejected) = checked(&all, 200);
            assert_eq!(
                (rejected.replies(), rejected.apart.first),
                (1, Some(place.unsigned_abs())),
                "{off:?}"
            );
        }
    }
}

/// A packet that finds a standing queue empty is fast both by its own stamps and by the round trip: nothing is false.
#[test]
fn fast_packets_keep_their_stamps() {
    let mut all = waiting(200, |_| [30 * MS; 2]);
    for row in &mut all {
        // A queue of 30 ms on the way there, but for every fortieth; the clocks agree.
        let off = if row.sequence % 40 == 39 { -30 * MS } else { 0 };
        let moved = |at: i64| Timestamp::from_nanos(at + off);
        row.t2.told = row.t2.told.map(|at| moved(at.as_nanos()));
        row.t3.told = row.t3.told.map(|at| moved(at.as_nanos()));
        row.t4.told = row.t4.told.map(|at| Timestamp::from_nanos(at.as_nanos() + 30 * MS + off));
    }
    let (passed, rejected) = checked(&all, 50);
    assert_eq!((rejected.replies(), &passed), (0, &all), "{rejected:?}");
}

/// Stamps of whole units, which jump by one now and then, are not false.
#[test]
fn coarse_stamps_are_kept() {
    for unit in [MS, 10 * MS, 100 * MS, 1_000 * MS] {
        let mut all = waiting(500, |number| [number * MS / 100; 2]);
        for row in &mut all {
            let floor = |at: i64| Timestamp::from_nanos(at.div_euclid(unit) * unit);
            row.t2.told = row.t2.told.map(|at| floor(at.as_nanos()));
            row.t3.told = row.t3.told.map(|at| floor(at.as_nanos()));
        }
        let (_, rejected) = checked(&all, 50);
        // Where a unit begins between t2 and t3, and is longer than the round trip, the two contradict it.
        assert_eq!(rejected.apart.replies + rejected.early.replies, 0, "{unit}: {rejected:?}");
    }
}

/// Where a responder falls silent, rows do not wait for its next reply without end.
#[test]
fn silence_does_not_hold_rows() {
    let mut all = waiting(70_000, |_| [0, 0]);
    for row in &mut all[20..] {
        (row.returned, row.t2, row.t3, row.t4) = Default::default();
    }
    let mut check = StampCheck::new(Selection::default());
    let mut passed = 0;
    check.take(&all, &mut |rows| passed += rows.len());
    assert_eq!(passed, all.len());
}

/// The numbers of the rejected replies.
fn rejected_numbers(rows: &[RoundTrip]) -> Vec<i64> {
    rows.iter().filter(|row| row.far_stamps_rejected).map(|row| row.sequence.cast_signed()).collect()
}

/// Round trips of 10 ms every 20 ms. `queues` gives the waiting time of each direction, and `clock` the offset, both in nanoseconds.
fn honest(count: i64, queues: impl Fn(i64) -> [f64; 2], clock: impl Fn(i64) -> f64) -> Vec<RoundTrip> {
    #[expect(clippy::cast_possible_truncation, reason = "within seconds")]
    let at = |nanos: f64| nanos.round() as i64;
    let mut all = rows(count, |_| [0, 0]);
    for (number, row) in (0..).zip(&mut all) {
        let t1 = number * 20 * MS;
        let [forward, reverse] = queues(number);
        let t2 = t1 + 5 * MS + at(forward);
        let t3 = t2 + MS / 20;
        row.t1.told = Some(Timestamp::from_nanos(t1));
        row.t2.told = Some(Timestamp::from_nanos(t2 + at(clock(number))));
        row.t3.told = Some(Timestamp::from_nanos(t3 + at(clock(number))));
        row.t4.told = Some(Timestamp::from_nanos(t3 + 5 * MS + at(reverse)));
    }
    all
}

/// Adds `off` to both stamps of the responder where `is_false`.
fn falsify(rows: &mut [RoundTrip], off: i64, is_false: impl Fn(i64) -> bool) {
    for row in rows.iter_mut().filter(|row| is_false(row.sequence.cast_signed())) {
        row.t2.told = row.t2.told.map(|at| Timestamp::from_nanos(at.as_nanos() + off));
        row.t3.told = row.t3.told.map(|at| Timestamp::from_nanos(at.as_nanos() + off));
    }
}

/// Waiting times by an exponential law, 100 us and `reverse` ns on average.
fn exponential(random: &RandomStream, reverse: f64) -> impl Fn(i64) -> [f64; 2] {
    let wait = |number: u64| -(1.0 - random.unit(number)).ln();
    move |number| [1e5 * wait(2 * number.unsigned_abs()), reverse * wait(2 * number.unsigned_abs() + 1)]
}

/// False pairs that are off by less than a quarter of the round trip are rejected and no others, alone, at the ends, in runs, and
/// scattered over 8 % of a stream; also where the other direction waits 30 times as long.
#[test]
fn false_pairs_within_the_path_are_rejected() {
    let random = RandomStream::new(Seed([3, 7, 1, 0, 0, 0]), [0, 0]);
    let drifts = |number: i64| 1e3 * number as f64;
    let quiet = honest(3_000, exponential(&random, 1e5), drifts);
    let loaded = honest(3_000, exponential(&random, 3e6), drifts);
    let scattered = |number: i64| random.unit(1_000_000 + number.unsigned_abs()) < 0.08;
    let kinds: [&dyn Fn(i64) -> bool; 6] = [
        &|number| [500, 1_500, 2_500].contains(&number),
        &|number| number >= 2_996,
        &|number| number < 4,
        &|number| (700..710).contains(&number),
        &|number| (700..730).contains(&number),
        &scattered,
    ];
    let logs = [(&quiet, -2 * MS), (&quiet, 2 * MS), (&quiet, -MS), (&quiet, MS), (&loaded, -2 * MS)];
    for (kind, is_false) in kinds.iter().enumerate() {
        let expected: Vec<i64> = (0..3_000).filter(|number| is_false(*number)).collect();
        // Of many, one that is hardly off or waits in a loaded path can look like a packet that was faster.
        let most = if kind == 5 { 2 } else { logs.len() };
        for (rows, off) in &logs[..most] {
            let (mut rows, off) = (rows.to_vec(), *off);
            falsify(&mut rows, off, is_false);
            let (passed, rejected) = checked(&rows, 64);
            assert_eq!(rejected_numbers(&passed), expected, "kind {kind}, {off}");
            assert!(!rejected.are_most(), "kind {kind}, {off}: {rejected:?}");
        }
    }
}

/// A delay below zero is rejected also in a direction whose delays vary by more than the round trip.
#[test]
fn delay_below_zero_is_rejected() {
    let random = RandomStream::new(Seed([3, 7, 13, 0, 0, 0]), [0, 0]);
    for number in (100..2_900).step_by(97) {
        let mut rows = honest(3_000, exponential(&random, 1e7), |_| 0.0);
        falsify(&mut rows, 60 * MS, |one| one == number);
        let (passed, _) = checked(&rows, 64);
        assert_eq!(rejected_numbers(&passed), [number]);
    }
}

/// A responder that pauses answers all probes of that time together, while the reverse delay swings by 4 ms: no stamp is false.
#[test]
fn pauses_keep_their_stamps() {
    let random = RandomStream::new(Seed([3, 7, 12, 0, 0, 0]), [0, 0]);
    let wait = exponential(&random, 2e4);
    for begin in (200..2_600).step_by(75) {
        let swing = |number: i64| 2e6 * (1.0 + (number as f64 / 150.0).sin());
        let mut rows = honest(3_000, |number| [wait(number)[0], wait(number)[1] + swing(number)], |_| 0.0);
        let paused = rows.iter_mut().filter(|row| (begin..begin + 40).contains(&row.sequence.cast_signed()));
        for row in paused {
            let pause = (begin + 40 - row.sequence.cast_signed()) * 20 * MS;
            row.t3.told = row.t3.told.map(|at| Timestamp::from_nanos(at.as_nanos() + pause));
            // What the swing has become until then.
            let swung = swing(begin + 40) - swing(row.sequence.cast_signed());
            #[expect(clippy::cast_possible_truncation, reason = "within seconds")]
            let later = pause + swung as i64;
            row.t4.told = row.t4.told.map(|at| Timestamp::from_nanos(at.as_nanos() + later));
        }
        let (passed, _) = checked(&rows, 64);
        assert_eq!(rejected_numbers(&passed), [0; 0], "{begin}");
    }
}

/// Of honest packets that wait by an exponential law, at most one in 100,000 loses its stamps: of these 600,000, none.
#[test]
fn honest_stamps_are_kept() {
    for seed in 0..200 {
        let random = RandomStream::new(Seed([3, 8, seed, 0, 0, 0]), [0, 0]);
        let (reverse, drift) = if seed % 2 == 0 { (1e5, 0.0) } else { (3e6, 1e3) };
        let rows = honest(3_000, exponential(&random, reverse), |number| drift * number as f64);
        let (passed, _) = checked(&rows, 64);
        assert_eq!(rejected_numbers(&passed), [0; 0], "seed {seed}");
    }
}

/// Steps and slews of a clock, and route changes of either direction, are no false stamps.
#[test]
fn changes_keep_their_stamps() {
    for seed in 0..20 {
        let random = RandomStream::new(Seed([3, 9, seed, 0, 0, 0]), [0, 0]);
        let waits = exponential(&random, 1e5);
        let steps = |number: i64| match number {
            ..1_000 => 0.0,
            1_000..1_200 => -2e6,
            _ => -1.5e6,
        };
        let slews = |number: i64| 1e4 * (number - 1_500).abs() as f64 + 4e3 * (number - 500).abs() as f64;
        let routes = |number: i64| {
            let [forward, reverse] = waits(number);
            let longer = [number / 300 % 2 == 0, number / 170 % 3 == 0].map(|is| if is { 1e6 } else { 0.0 });
            [forward + longer[0], reverse + 2.0 * longer[1]]
        };
        let logs =
            [honest(3_000, &waits, steps), honest(3_000, &waits, slews), honest(3_000, routes, |_| 0.0)];
        for (place, rows) in logs.iter().enumerate() {
            let (passed, _) = checked(rows, 64);
            assert_eq!(rejected_numbers(&passed), [0; 0], "seed {seed}, log {place}");
        }
    }
}
