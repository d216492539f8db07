//! The error of clocks: what two clocks allow to be said of a delay, and how well it is known.
//!
//! The stamps of a packet are on the clocks of two hosts, and their types keep them apart. Only [`across`] subtracts
//! a time of one clock from a time of the other. The result contains the offset of the clocks. [`skew`] estimates how
//! that offset changes: the rate of one clock by the other, steps, slews, and changes of the path, each with its
//! uncertainty. The offset itself has the bounds that causality gives: no packet arrives before it was sent.
//!
//! - [`skew`]: the estimate from the singletons of one or both directions, and the correction of their delays.
//! - [`steps`]: steps of one host's clock, detected by comparing that host's clocks, and removed from its stamps.
//! - [`SyncWatch`]: losses and changes of the synchronisation of one host's clock, as its kernel and its daemons report it.
//! - [`card`]: the stamps of a network card, converted to the clock of the card's host.
//! - [`SimulatedClock`]: a known error that is added to real stamps, to verify the estimate.
//!
//! ```
//! use romer_clock::skew::{Estimator, Method};
//! use romer_units::{Direction, Timestamp};
//!
//! // The responder's clock is a second ahead and gains 20 us each second.
//! let far = |at: i64| at + at / 50_000 + 1_000_000_000;
//! let mut estimator = Estimator::new(Method::Piecewise, None);
//! for packet in 0..3_000 {
//!     // One packet each 10 ms. It takes 5 ms, and waits for up to 50 us.
//!     let left = packet * 10_000_000;
//!     let arrived = left + 5_000_000 + packet * 7_919 % 50_000;
//!     let [forward, reverse] = [[left, far(arrived)], [far(left), arrived]];
//!     estimator.push(Direction::Forward, Timestamp::from_nanos(forward[0]), Timestamp::from_nanos(forward[1]));
//!     estimator.push(Direction::Reverse, Timestamp::from_nanos(reverse[0]), Timestamp::from_nanos(reverse[1]));
//! }
//! let skew = estimator.estimate().skew.expect("thirty seconds are enough");
//! assert!((skew.ppm - 20.0).abs() < 0.1, "{skew:?}");
//! ```
#![forbid(unsafe_code)]

pub mod card;
mod clocks;
mod pretended;
pub mod skew;
pub mod steps;
mod sync_watch;

pub use clocks::{across, elapsed, length};
pub use pretended::{ClockTestResult, SimulatedClock};
pub use sync_watch::{CLOCK_QUERY_INTERVAL, SyncWatch, bound_growth};
