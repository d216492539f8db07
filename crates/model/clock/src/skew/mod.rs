//! How much faster one clock runs than another, from one-way delays alone.
//!
//! Two free-running clocks differ in rate by tens of parts in a million: a delay measured between them grows or
//! shrinks by microseconds each second. A packet's raw delay is the way's least time, plus what it waited, plus the
//! difference of the clocks; the waiting is never negative. The estimators differ in what they make of that:
//!
//! | method | what it fits | right where | source |
//! | --- | --- | --- | --- |
//! | [`Method::None`] | nothing | the clocks are one | |
//! | [`Method::LeastSquares`] | the line with the least sum of squares | the waiting is symmetric, or there are calibration packets | Qtcp, `-k1` |
//! | [`Method::LeastAbsolute`] | the line with the least sum of absolute deviations | few packets wait long | Qtcp, `-k2` |
//! | [`Method::LeastAbsoluteJumps`] | the same between jumps of the clock | a clock is set by a fixed amount now and then | Qtcp, `-k3` (the way of finding them is ours) |
//! | [`Method::Hull`] | the line below all delays and closest to them | some packets do not wait, the rate is constant | Moon, Skelly, Towsley 1999; Zhang, Liu, Xia 2002 |
//! | [`Method::Khlifi`] | a hull for each window, smoothed | online, rates that change slowly | Khlifi, Gregoire 2006; Chen et al. 2013, equation (1) |
//! | [`Method::Piecewise`] | floors between events, in both directions | steps, slews, path changes, losses, outliers, wander | ours |
//!
//! An [`Estimator`] takes packets one by one, as they come or from a log, and can be asked at any time.
//! Times are whole nanoseconds; what decides the course of a hull is computed in 128-bit integers, so that nothing
//! overflows or rounds for a hundred years.

mod arithmetic;
mod bounds;
mod brink;
mod changes;
mod classic;
mod close;
mod corners;
mod correction;
mod course;
mod dated;
mod ends;
mod estimate;
mod estimator;
mod event;
mod faint;
mod floors;
mod hidden;
mod hull;
mod humps;
mod joining;
mod jumps;
mod khlifi;
mod method;
mod near;
mod one_floor;
mod opposite;
mod outermost;
mod path_dates;
mod pauses;
mod piecewise;
mod posterior;
mod rates;
mod relating;
mod resolution;
mod round_trip;
mod schedule;
mod set_back;
mod sharpen;
mod sizes;
mod stamps;
mod survey;
mod tails;
mod transition;
mod unrest;
mod wander;
mod whose;

pub use arithmetic::{REACH_NS, rounded};
pub use correction::{Correction, Leg};
pub use estimate::{ChangeKind, ClockChange, Estimate, Skew};
pub use estimator::Estimator;
pub use hull::{Hull, Point};
pub use method::{Method, MethodError, method_of};
pub use relating::{
    Both, Continuous, InTurn, calibrated_until, continuous, correct, estimate, for_calibration,
    remove_steps_back, sharpened, so_far, state, usable,
};
pub use resolution::{Resolution, Step};
pub use set_back::SetBack;
pub use sharpen::sharpen;
