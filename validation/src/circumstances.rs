//! What one measurement went on beside.

use serde::Serialize;

use crate::steal_log::{Condition, HostGaps};

/// The circumstances of one measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Circumstances {
    /// From 1.
    pub(crate) run: u32,
    pub(crate) condition: Condition,
    /// Load average over a minute as the run began, before its own load.
    pub(crate) load_average: f64,
    /// Whether other programs were at rest just before.
    pub(crate) quiet: bool,
    pub(crate) host: HostGaps,
}
