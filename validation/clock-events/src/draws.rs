//! Random numbers of one play.

use romer_units::random::{Blocks, RandomStream, Seed};

/// Random numbers in a row, from a seed and a name.
pub(crate) struct Draws {
    blocks: Blocks,
    drawn: u64,
}

impl Draws {
    /// The numbers of `seed` and `name`; other names give independent numbers.
    pub(crate) fn new(seed: u32, name: u32) -> Self {
        let stream = RandomStream::new(Seed([seed, 0, 0, 0, 0, 0x6576_6e74]), [name, 0]);
        Self { blocks: Blocks::new(stream), drawn: 0 }
    }

    /// Uniform in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        self.drawn += 1;
        self.blocks.unit(self.drawn)
    }

    /// Uniform in [`low`, `high`).
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// 1 or -1.
    pub(crate) fn sign(&mut self) -> f64 {
        if self.unit() < 0.5 { 1.0 } else { -1.0 }
    }

    /// One of `all`, which is not empty.
    pub(crate) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        let place = self.unit() * all.len() as f64;
        let reached = (1..all.len()).filter(|index| place >= *index as f64).count();
        all[reached]
    }

    /// Exponential with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// Normal with mean 0 and standard deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// A time in seconds as whole nanoseconds.
#[expect(clippy::cast_possible_truncation, reason = "a float beyond the range becomes its end")]
pub(crate) fn nanos(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}
