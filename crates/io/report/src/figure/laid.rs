//! Runs in one chart.

use super::drawing::Ink;
use super::times::Times;
use crate::input::Singletons;

/// A run drawn over others.
pub(crate) struct OverlaidRun<'a> {
    /// As the legend names it.
    pub(crate) name: String,
    pub(crate) ink: Ink,
    pub(crate) singletons: Singletons<'a>,
    pub(crate) times: Times,
    /// What is taken off its delays, nanoseconds: where some runs know only what delays are above the least, the least of the
    /// others is.
    pub(crate) floor: f64,
}

/// A run's name, its colour, and its delays, ascending.
pub(super) type Row<'a> = (String, Ink, &'a [f64]);
