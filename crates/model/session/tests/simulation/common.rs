//! What both simulations draw and say.

use std::net::SocketAddr;

use romer_session::control::{Action, Decoder};
use romer_sim::{HostClock, Link, Step, True};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Duration, Timestamp};
use romer_wire::stamp::{ErrorEstimate, TimestampFormat};

pub(crate) struct Dice {
    pub(crate) stream: RandomStream,
    pub(crate) rolls: u64,
}

impl Dice {
    pub(crate) fn new(seed: Seed) -> Self {
        Self { stream: RandomStream::new(seed, [1, 1]), rolls: 0 }
    }
    pub(crate) fn unit(&mut self) -> f64 {
        self.rolls += 1;
        self.stream.unit(self.rolls)
    }
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        self.rolls += 1;
        u32::try_from((u128::from(self.stream.bits(self.rolls)) * u128::from(limit)) >> 64).unwrap()
    }
    pub(crate) fn nanos(&mut self, limit: i64) -> Duration {
        self.rolls += 1;
        let limit = u128::from(limit.unsigned_abs());
        Duration::from_nanos(i64::try_from((u128::from(self.stream.bits(self.rolls)) * limit) >> 64).unwrap())
    }
    pub(crate) fn maybe(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
    pub(crate) fn bytes(&mut self, count: u32) -> Vec<u8> {
        (0..count).map(|_| u8::try_from(self.below(256)).unwrap()).collect()
    }
}

pub(crate) fn link(dice: &mut Dice) -> Link {
    let from = Timestamp::<True>::from_nanos(dice.nanos(2_000_000_000).as_nanos());
    let to = from + dice.nanos(500_000_000);
    Link {
        delay: dice.nanos(200_000_000) + Duration::from_nanos(1),
        variation: if dice.maybe(0.7) { dice.nanos(100_000_000) } else { Duration::ZERO },
        loss: if dice.maybe(0.6) { dice.unit() * 0.5 } else { 0.0 },
        duplication: if dice.maybe(0.4) { dice.unit() * 0.3 } else { 0.0 },
        outage: dice.maybe(0.2).then_some([from, to]),
        ..Link::default()
    }
}

pub(crate) fn clock(dice: &mut Dice) -> HostClock {
    let base = Duration::from_secs(1_700_000_000);
    let offset = dice.nanos(20_000_000_000) - Duration::from_secs(10);
    let skew_ppb = i32::try_from(dice.below(1_000_000)).unwrap() - 500_000;
    let mut steps = Vec::new();
    if dice.maybe(0.3) {
        let at = Timestamp::from_nanos(dice.nanos(3_000_000_000).as_nanos());
        steps.push(Step { at, by: dice.nanos(400_000_000) - Duration::from_millis(200) });
    }
    HostClock { offset: base + offset, skew_ppb, steps }
}

pub(crate) fn estimate() -> ErrorEstimate {
    ErrorEstimate::at_least(Duration::from_micros(1), false, TimestampFormat::Ntp)
}

pub(crate) fn addresses() -> [SocketAddr; 2] {
    ["198.51.100.1:40000".parse().unwrap(), "203.0.113.2:862".parse().unwrap()]
}

pub(crate) fn deliver(actions: Vec<Action>, to: &mut Decoder) {
    for action in actions {
        if let Action::Send(message) = action {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            to.extend(&bytes);
        }
    }
}

/// How many schedules are simulated: `ROMER_SCHEDULES`, or `otherwise`.
#[expect(clippy::disallowed_methods, reason = "the test's own environment, not the model's")]
pub(crate) fn schedules(otherwise: u32) -> u32 {
    std::env::var("ROMER_SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

/// Runs `work` with the seeds of so many schedules; a failure names the seed that replays it.
pub(crate) fn with_seeds(which: u32, schedules: u32, work: impl Fn(Seed) + std::panic::RefUnwindSafe) {
    for number in 0..schedules {
        let seed = Seed([which, 2026, 11, 21, 0, number]);
        let outcome = std::panic::catch_unwind(|| work(seed));
        assert!(outcome.is_ok(), "the schedule of seed {seed} failed: its message stands above");
    }
}
