//! All rows.

mod clocks;
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
