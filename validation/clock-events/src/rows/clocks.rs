//! Clocks that several families use.

use crate::draws::Draws;
use crate::world::Clock;

/// A rate of up to `ppm`, of either sign.
pub(super) fn rate(draws: &mut Draws, ppm: f64) -> f64 {
    draws.between(-ppm, ppm) * 1e-6
}

/// A clock of this rate.
pub(super) fn clock(rate: f64) -> Clock {
    Clock { rate, ..Clock::default() }
}
