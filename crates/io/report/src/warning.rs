//! Warnings as text: the one place that has the sentences.

mod benchmark;
mod clock;
mod comparison;
mod emulation;
mod file;
mod measurement;
mod qtcp;
mod refit;
#[cfg(test)]
mod tests;

pub use crate::sentence::Text;
pub use clock::skew_unknown;
pub use measurement::calibration_unused;
