//! All rows.

mod noise;
mod paths;
mod queues;
mod slews;
mod standard;
mod steps;

use crate::row::Row;

/// All rows, in the order of the tables.
pub(crate) fn all() -> Vec<Row> {
    [standard::rows(), steps::rows(), slews::rows(), paths::rows(), queues::rows(), noise::rows()]
        .into_iter()
        .flatten()
        .collect()
}

/// A rate of up to `ppm`, of either sign.
fn rate(draws: &mut crate::draws::Draws, ppm: f64) -> f64 {
    draws.between(-ppm, ppm) * 1e-6
}

/// A clock of this rate.
fn clock(rate: f64) -> crate::world::Clock {
    crate::world::Clock { rate, ..crate::world::Clock::default() }
}
