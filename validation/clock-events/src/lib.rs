//! How well the estimate of the clocks finds rates, events and delays in simulated runs whose truth is known.
//!
//! - A `row` is a family of runs, for instance "step 1 to 3 s from an end". `rows` has all of them.
//! - `world` simulates a run from its description and a seed; `queue` has the laws of waiting times.
//! - `judge` compares one estimate with the truth of its `play`.
//! - `page` and `csv` write the figures of all rows; `compare` compares a second method with the first, row by row.
//!
//! No packet is sent. The delays are those that `romer analyze` would report: steps back are removed, events are placed
//! by packets, and delays are corrected before they are compared with the truth.
#![forbid(unsafe_code)]

mod compare;
mod csv;
mod draws;
mod judge;
mod page;
mod play;
mod queue;
mod row;
mod rows;
mod run;
#[cfg(test)]
mod tests;
mod world;

pub use run::{Plan, Results, run};
