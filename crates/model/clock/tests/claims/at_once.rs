//! A step behind a queue that is often empty, so that the floors lie on their line exactly, but for a few in which all packets waited.

use crate::chances::Chances;
use romer_clock::skew::{ChangeKind, ClockChange, Estimator, Method};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Clock, Direction, Timestamp};

#[expect(clippy::cast_possible_truncation, reason = "a minute")]
fn at<C: Clock>(seconds: f64) -> Timestamp<C> {
    Timestamp::from_nanos((seconds * 1e9).round() as i64)
}

/// A queue that others' packets fill, each of which takes 0.5 ms on average: half of the time it is empty.
#[derive(Default)]
struct Queue {
    work: f64,
    last: f64,
    next: f64,
}

impl Queue {
    fn wait(&mut self, now: f64, chances: &mut Chances) -> f64 {
        while self.next < now {
            self.work = (self.work - (self.next - self.last)).max(0.0) + chances.exponential(5e-4);
            self.last = self.next;
            self.next += chances.exponential(1e-3);
        }
        self.work = (self.work - (now - self.last)).max(0.0);
        self.last = now;
        self.work
    }
}

/// A minute of packets that leave at random, 30 ms apart on average, while the responder's clock is set or slewed by 10 ms from 7 s or 47 s on, within `lasts`.
fn events(seed: u32, lasts: f64) -> (f64, Vec<ClockChange>) {
    let random = RandomStream::new(Seed([seed, 0x6f6e_6365, 0, 0, 0, 0]), [0, 0]);
    let mut chances = Chances::new(random);
    let (rate, size) = (1e-4 * (chances.unit() - 0.5), if seed.is_multiple_of(2) { 1e-2 } else { -1e-2 });
    let from = 7.0 + if seed % 4 < 2 { 40.0 } else { 0.0 } + chances.unit();
    let gone = |x: f64| if x < from { 0.0 } else { ((x - from) / lasts.max(1e-9)).min(1.0) };
    let ahead = |x: f64| rate * x + size * gone(x);
    let (mut there, mut back) = (Queue::default(), Queue::default());
    let mut estimator = Estimator::new(Method::Best, None);
    let mut left = 0.0;
    for _ in 0..2_000 {
        let came = left + 0.04 + there.wait(left, &mut chances);
        let home = came + 0.02 + back.wait(left, &mut chances);
        estimator.push(Direction::Forward, at(left), at(came + ahead(came)));
        estimator.push(Direction::Reverse, at(came + ahead(came)), at(home));
        left += chances.exponential(0.03);
    }
    (from, estimator.estimate().events)
}

/// (Two of sixty were slews of some seconds, and the delays in these off by milliseconds.)
#[test]
fn a_step_between_floors_that_waited_is_no_slew() {
    for seed in 0..12 {
        let (from, events) = events(seed, 0.0);
        let [one] = events[..] else { panic!("{seed}: {events:?}") };
        assert_eq!(one.kind, ChangeKind::ClockStep, "{seed}: {one:?}");
        assert!((one.at_ns as f64 / 1e9 - from).abs() < 0.3, "{seed}: {from} {one:?}");
    }
}

#[test]
fn a_slew_there_has_not_come_at_once() {
    for seed in 0..8 {
        let (_, events) = events(seed, 4.0);
        assert!(events.iter().any(|one| one.kind == ChangeKind::Slew), "{seed}: {events:?}");
    }
}

/// Two minutes of round trips, one each 10 ms, that wait little, while the responder's clock is slewed at 500 ppm for some seconds.
fn short(seed: u32) -> (f64, f64, Vec<ClockChange>) {
    let mut chances = Chances::new(RandomStream::new(Seed([seed, 0x7368_6f72, 0, 0, 0, 0]), [0, 0]));
    let (rate, way) = (1e-4 * (chances.unit() - 0.5), if seed.is_multiple_of(2) { 5e-4 } else { -5e-4 });
    let (from, lasts) = (10.0 + 90.0 * chances.unit(), 1.5 + 2.0 * chances.unit());
    let waits = if seed % 4 < 2 { 5e-5 } else { 2e-4 };
    let ahead = |x: f64| rate * x + way * (x - from).clamp(0.0, lasts);
    let mut estimator = Estimator::new(Method::Best, None);
    for number in 0..12_000 {
        let left = 0.01 * f64::from(number);
        let came = left + 0.004 + chances.exponential(waits);
        let home = came + 0.004 + chances.exponential(waits);
        estimator.push(Direction::Forward, at(left), at(came + ahead(came)));
        estimator.push(Direction::Reverse, at(came + ahead(came)), at(home));
    }
    (from, lasts, estimator.estimate().events)
}

/// (Many were steps, and the delays in them off by hundreds of microseconds.)
#[test]
fn a_slew_of_few_floors_is_no_step() {
    for seed in 0..12 {
        let (from, lasts, events) = short(seed);
        let [one] = events[..] else { panic!("{seed}: {events:?}") };
        assert_eq!(one.kind, ChangeKind::Slew, "{seed}: {from} for {lasts}: {one:?}");
        let seconds = |nanos: i64| nanos as f64 / 1e9;
        let (begun, over) = (seconds(one.at_ns), seconds(one.until_ns.unwrap()));
        let off = (begun - from).abs().max((over - from - lasts).abs());
        assert!(off < 0.3 * lasts, "{seed}: {from} for {lasts}, and not from {begun} to {over}");
    }
}
