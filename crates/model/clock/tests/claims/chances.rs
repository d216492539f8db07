//! Draws for plays.

use romer_units::random::RandomStream;

/// Draws of a stream, one after another.
pub(crate) struct Chances {
    random: RandomStream,
    drawn: u64,
}

impl Chances {
    pub(crate) fn new(random: RandomStream) -> Self {
        Self { random, drawn: 0 }
    }

    pub(crate) fn unit(&mut self) -> f64 {
        self.drawn += 1;
        self.random.unit(self.drawn)
    }

    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}
