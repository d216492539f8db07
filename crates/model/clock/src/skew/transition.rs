//! A change that one direction shows.

use super::classic::NORMAL;

/// A change of the level, or a stretch of another rate that ends in one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Transition {
    /// From when to when, seconds; the same for a jump.
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// How much raw delays have more afterwards, nanoseconds, and its error.
    pub(crate) size: f64,
    pub(crate) error: f64,
    /// What the floors on either side lie above their lines: a level that itself moves a little moves by no more.
    pub(crate) doubt: f64,
}

impl Transition {
    /// How much of it has happened at a moment.
    pub(crate) fn gone(&self, x: f64) -> f64 {
        if x >= self.to {
            self.size
        } else {
            self.size * ((x - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
        }
    }

    /// How far its size may be off, at 95 %.
    pub(crate) fn half(&self) -> f64 {
        NORMAL * self.error + self.doubt
    }
}
