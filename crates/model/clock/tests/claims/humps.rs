//! A queue that stands high for a while is no event, and a clock that is away for as long is one.

use romer_clock::skew::{ChangeKind, Estimate, Estimator, Method};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Direction, Timestamp};

use crate::chances::Chances;

const INTERVAL: f64 = 20e6;
/// How long serving one packet takes on average: each way is busy for seven tenths of the time.
const SERVICE: f64 = 14e6;
/// Losses come eight at a time.
const LOST: f64 = 0.03;
const BURST: f64 = 8.0;

#[expect(clippy::cast_possible_truncation, reason = "half a minute")]
fn at<C: romer_units::Clock>(ns: f64) -> Timestamp<C> {
    Timestamp::from_nanos(ns.round() as i64)
}

/// One way: its queue, and whether packets are being lost.
#[derive(Clone, Copy, Default)]
struct Way {
    waits: f64,
    loses: bool,
}

impl Way {
    fn loses(&mut self, chances: &mut Chances) -> bool {
        let turns = if self.loses { 1.0 / BURST } else { LOST / (1.0 - LOST) / BURST };
        self.loses ^= chances.unit() < turns;
        self.loses
    }

    /// What a packet takes, behind those before it (Lindley).
    fn takes(&mut self, chances: &mut Chances, noise: f64) -> f64 {
        let waits = self.waits;
        self.waits = (waits + chances.exponential(SERVICE) - INTERVAL).max(0.0);
        5e6 + waits + chances.exponential(noise)
    }
}

/// Half a minute there and back. The responder's clock runs 12.5 ppm faster, and is ahead by so much between two moments.
fn estimate(seed: u32, noise: f64, (from, to, ahead): (f64, f64, f64)) -> Estimate {
    let mut chances = Chances::new(RandomStream::new(Seed([seed, 1, 7, 0, 0, 0]), [0, 0]));
    let read = |time: f64| time * (1.0 + 12.5e-6) + if (from..to).contains(&time) { ahead } else { 0.0 };
    let [mut there, mut back] = [Way::default(); 2];
    let mut estimator = Estimator::new(Method::Best, None);
    for n in 0..1_500_u32 {
        let left = f64::from(n) * INTERVAL;
        if there.loses(&mut chances) {
            continue;
        }
        let came = left + there.takes(&mut chances, noise);
        estimator.push(Direction::Forward, at(left), at(read(came)));
        if !back.loses(&mut chances) {
            let home = came + back.takes(&mut chances, noise);
            estimator.push(Direction::Reverse, at(read(came)), at(home));
        }
    }
    estimator.estimate()
}

/// In these plays one queue was busy for half a second to two, so that no packet of as long took less than tens of milliseconds, and was told as two
/// changes of the path, or as two steps of the clock where the other direction's packets were lost. Of 1,000 others none tells an event any more.
#[test]
fn a_queue_that_stands_high_for_a_while_is_no_event() {
    for (noise, seed) in [NONE.map(|seed| (0.0, seed)).as_slice(), &SOME.map(|seed| (50e3, seed))].concat() {
        let found = estimate(seed, noise, (0.0, 0.0, 0.0));
        assert_eq!(found.events, [], "seed {seed}");
        assert!(found.skew.is_some(), "seed {seed}: {:?}", found.why_not);
    }
}

const NONE: [u32; 5] = [90, 109, 138, 275, 303];
const SOME: [u32; 4] = [109, 138, 303, 454];

/// A clock that is set ahead or back by 0.1 s and put right a second later, behind such queues: the two steps are told, to a tenth.
#[test]
fn a_clock_that_is_away_for_a_second_is_told_behind_such_queues() {
    let told = (0..20).filter(|seed| {
        let ahead = if seed % 2 == 0 { 100e6 } else { -100e6 };
        let since = 5e9 + f64::from(*seed) * 1e9;
        let found = estimate(*seed, 50e3, (since, since + 1e9, ahead)).events;
        let is_step = |event: &romer_clock::skew::ClockChange, size: f64| {
            event.kind == ChangeKind::ClockStep && (event.size_ns as f64 - size).abs() < 10e6
        };
        let is_told = matches!(&found[..], [one, other] if is_step(one, ahead) && is_step(other, -ahead));
        if !is_told {
            println!("seed {seed}: {found:?}");
        }
        is_told
    });
    let told = told.count();
    assert!(told >= 16, "{told} of 20");
}
