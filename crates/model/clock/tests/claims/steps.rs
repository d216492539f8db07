//! Steps of the clock in a stream of probes whose true times are known.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use romer_clock::steps::{ClockChange, ClockReadings, ClockWatch, undo_steps};
use romer_record::document::ProbeDirection;
use romer_record::event::{ClockStep, Event, EventKind, EventLocation};
use romer_record::manifest::ClockRelation;
use romer_record::{RoundTrip, Stamps};
use romer_units::{Clock, Timestamp};

const MS: i64 = 1_000_000;
const START: i64 = 1_700_000_000_000 * MS;

fn reading(true_ns: i64, step: i64, asleep: i64) -> ClockReadings {
    ClockReadings {
        realtime: START + true_ns + step,
        monotonic: 5 * MS + true_ns - asleep,
        boottime: 9 * MS + true_ns,
        within: 500,
    }
}

#[test]
fn a_step_a_suspension_and_a_pause_are_told_apart_and_slewing_is_none_of_them() {
    let mut watch = ClockWatch::new(reading(0, 0, 0));
    assert_eq!(watch.look(reading(20 * MS, 0, 0)), []);
    // 500 parts in a million, the fastest that a kernel slews.
    assert_eq!(watch.look(reading(40 * MS, 10_000, 0)), []);
    let stepped = watch.look(reading(60 * MS, -7 * MS + 10_000, 0));
    let step = ClockStep {
        size_ns: -7 * MS,
        // A thousandth of the 20 ms, and what the clocks of each reading may lie apart.
        size_interval_ns: Some([-7 * MS - 21_000, -7 * MS + 21_000]),
        before_ns: START + 40 * MS + 10_000,
        after_ns: START + 53 * MS + 10_000,
    };
    assert_eq!(stepped, [ClockChange::Step(step)]);
    assert_eq!(watch.look(reading(1_060 * MS, -7 * MS, 0)), []);
    assert_eq!(watch.look(reading(2_061 * MS, -7 * MS, 0)), [ClockChange::Paused(1_001 * MS)]);
    assert_eq!(watch.look(reading(5_060 * MS, -7 * MS, 0)), [ClockChange::Paused(2_999 * MS)]);
    let slept = watch.look(reading(3_605_080 * MS, -7 * MS, 3_600_000 * MS));
    assert_eq!(slept, [ClockChange::Suspended(3_600_000 * MS)]);
    assert_eq!(watch.look(reading(3_605_100 * MS, -7 * MS, 3_600_000 * MS)), []);
}

fn event(location: EventLocation, step: ClockStep) -> Event {
    Event { step: Some(step), ..Event::new(EventKind::ClockStep, location, 0, step.after_ns) }
}

/// A clock that steps by `size` at the true time `at`.
#[derive(Clone, Copy)]
struct Stepping {
    at: i64,
    size: i64,
}

impl Stepping {
    fn read(self, true_ns: i64) -> i64 {
        START + true_ns + if true_ns >= self.at { self.size } else { 0 }
    }
    fn stamps<C: Clock>(self, kernel: i64, user: i64) -> Stamps<C> {
        let stamp = |true_ns| Some(Timestamp::from_nanos(self.read(true_ns)));
        Stamps { nic: None, kernel: stamp(kernel), user: stamp(user), told: None }
    }
    /// As one who looks every 20 ms notices it.
    fn event(self, location: EventLocation) -> Event {
        let (before, after) = (self.at - 13 * MS, self.at + 7 * MS);
        let step = ClockStep {
            size_ns: self.size,
            size_interval_ns: None,
            before_ns: self.read(before),
            after_ns: self.read(after),
        };
        event(location, step)
    }
}

struct Truth {
    t: [i64; 4],
}

/// Probes every 20 ms, 10 to 14 ms each way, each stamp's kernel 30 us from its program.
fn stream(near: Stepping, far: Stepping) -> (Vec<RoundTrip>, Vec<Truth>) {
    let mut rows = Vec::new();
    let mut truths = Vec::new();
    for sequence in 0..300_u64 {
        let n = i64::try_from(sequence).unwrap();
        let wobble = |salt: i64| (n * 7_919 + salt) % 4_000 * 1_000;
        let t1 = 20 * MS * n;
        let t2 = t1 + 10 * MS + wobble(1);
        let t3 = t2 + 100_000;
        let t4 = t3 + 10 * MS + wobble(2);
        rows.push(RoundTrip {
            sequence,
            t1: near.stamps(t1, t1 - 30_000),
            t2: far.stamps(t2, t2 + 30_000),
            t3: far.stamps(t3, t3 - 30_000),
            t4: near.stamps(t4, t4 + 30_000),
            returned: true,
            seen_by_responder: true,
            ..RoundTrip::default()
        });
        truths.push(Truth { t: [t1, t2, t3, t4] });
    }
    (rows, truths)
}

#[test]
fn stamps_around_a_step_of_either_clock_are_put_right_or_left_out_and_those_far_from_it_are_put_right() {
    let never = Stepping { at: i64::MAX, size: 0 };
    for size in [1, -1, 3, -3, 12, -12, 40, -40, 700, -700, 2_000, -2_000, 86_400_000] {
        for shift in [0, 3, 9, 11, 19] {
            let step = Stepping { at: 3_000 * MS + shift * MS + 1, size: size * MS };
            for (near, far, location) in
                [(step, never, EventLocation::Sender), (never, step, EventLocation::Responder)]
            {
                let (mut rows, truths) = stream(near, far);
                let left_out = undo_steps(&mut rows, &[step.event(location)], ClockRelation::Unknown);
                let mut missing = 0;
                for (row, truth) in rows.iter().zip(&truths) {
                    let found = [
                        row.t1.kernel.map(Timestamp::as_nanos),
                        row.t2.kernel.map(Timestamp::as_nanos),
                        row.t3.kernel.map(Timestamp::as_nanos),
                        row.t4.kernel.map(Timestamp::as_nanos),
                    ];
                    for (found, truth) in found.into_iter().zip(truth.t) {
                        missing += u64::from(found.is_none());
                        let distance = (truth - step.at).abs();
                        let far_off = distance > (size.abs().min(60) + 40) * MS;
                        assert!(
                            found.is_some() || !far_off,
                            "{size} ms: a stamp {distance} ns away is left out"
                        );
                        assert!(
                            found.is_none_or(|found| found == START + truth),
                            "{size} ms: {found:?} {truth}"
                        );
                    }
                }
                assert_eq!(missing, left_out, "{size} ms");
            }
        }
    }
}

#[test]
fn where_the_way_changes_by_as_much_as_the_clock_the_probes_nearby_tell() {
    let never = Stepping { at: i64::MAX, size: 0 };
    for size in [30, -30] {
        let step = Stepping { at: 1_500 * MS + 1, size: size * MS };
        let (mut rows, truths) = stream(never, step);
        // From the 200th probe on the way there takes 30 ms more, so that over all probes both epochs fit around the step.
        for row in rows.iter_mut().filter(|row| row.sequence >= 200) {
            row.t2.kernel = row.t2.kernel.map(|stamp| Timestamp::from_nanos(stamp.as_nanos() + 30 * MS));
            row.t2.user = row.t2.user.map(|stamp| Timestamp::from_nanos(stamp.as_nanos() + 30 * MS));
        }
        undo_steps(&mut rows, &[step.event(EventLocation::Responder)], ClockRelation::Unknown);
        for (row, truth) in rows.iter().zip(&truths) {
            let expected = START + truth.t[1] + if row.sequence >= 200 { 30 * MS } else { 0 };
            assert_eq!(row.t2.kernel.map(Timestamp::as_nanos), Some(expected), "{size}: {}", row.sequence);
        }
    }
}

#[test]
fn a_clock_that_both_ends_read_is_put_right_at_both_ends() {
    let step = Stepping { at: 3_000 * MS + 1, size: -2_000 * MS };
    let (mut rows, truths) = stream(step, step);
    undo_steps(&mut rows, &[step.event(EventLocation::Sender)], ClockRelation::Shared);
    let (last, truth) = (rows.last().unwrap(), truths.last().unwrap());
    assert_eq!(last.t2.kernel.unwrap().as_nanos(), START + truth.t[1]);
    assert_eq!(last.t4.kernel.unwrap().as_nanos(), START + truth.t[3]);
}

#[test]
fn a_clock_that_is_set_by_more_than_the_run_is_long_loses_no_stamp() {
    for size in [-3_600_000 * MS, -7_000 * MS, 3_600_000 * MS] {
        for (ours, theirs) in [(size, 0), (0, size)] {
            let (near, far) =
                (Stepping { at: 2_003 * MS, size: ours }, Stepping { at: 2_003 * MS, size: theirs });
            let (mut rows, truths) = stream(near, far);
            let events = if ours == 0 {
                [far.event(EventLocation::Responder)]
            } else {
                [near.event(EventLocation::Sender)]
            };
            let left_out = undo_steps(&mut rows, &events, ClockRelation::Unknown);
            assert_eq!(left_out, 0, "{ours} {theirs}");
            for (row, truth) in rows.iter().zip(&truths) {
                let stamps = [
                    row.t1.kernel.unwrap().as_nanos(),
                    row.t2.kernel.unwrap().as_nanos(),
                    row.t3.kernel.unwrap().as_nanos(),
                    row.t4.kernel.unwrap().as_nanos(),
                ];
                assert_eq!(stamps, truth.t.map(|t| START + t), "{ours} {theirs} {}", row.sequence);
            }
        }
    }
}

#[test]
fn numbers_in_another_order_than_that_of_departure_leave_out_no_stamp_but_near_the_step() {
    // A packet each 20 ms; one in twenty leaves after the next one; the clock is set back in the middle.
    for (size, near) in [(-500 * MS, 60), (-5_000 * MS, 600)] {
        let (at, number) = (30_000 * MS, 3_000_i64);
        let clock = |moment: i64| START + moment + if moment >= at { size } else { 0 };
        let left = |n: i64| n * 20 * MS + if n % 20 == 0 { 30 * MS } else { 0 };
        let mut rows: Vec<RoundTrip> = (0..number)
            .map(|n| {
                let mut row = RoundTrip {
                    sequence: n.unsigned_abs(),
                    way: ProbeDirection::Forward,
                    ..RoundTrip::default()
                };
                row.t1.kernel = Some(Timestamp::from_nanos(clock(left(n))));
                row.t2.kernel = Some(Timestamp::from_nanos(START + left(n) + 5 * MS));
                row
            })
            .collect();
        let step = ClockStep {
            size_ns: size,
            size_interval_ns: None,
            before_ns: clock(at - 20 * MS),
            after_ns: clock(at),
        };
        undo_steps(&mut rows, &[event(EventLocation::Sender, step)], ClockRelation::Unknown);
        let mut left_out = 0;
        for (n, row) in (0..number).zip(&rows) {
            match row.t1.kernel {
                Some(stamp) => assert_eq!(stamp.as_nanos(), START + left(n), "{size}: {n}"),
                None => left_out += 1,
            }
        }
        assert!(left_out <= near, "{size}: {left_out} left out");
    }
}
