//! How much faster one clock runs than another, from one-way delays alone.
//!
//! Two free-running clocks differ in rate by tens of parts in a million: a delay measured between them grows or
//! shrinks by microseconds each second. A packet's raw delay is the way's least time, plus what it waited, plus the
//! difference of the clocks; the waiting is never negative. The estimators differ in what they make of that:
//!
//! | method | what it fits | right where | source |
//! | --- | --- | --- | --- |
//! | [`Method::None`] | nothing | the clocks are one | |
//! | [`Method::LeastSquares`] | the line with the least sum of squares | the waiting is symmetric, or there are calibration packets | seed 001, `-k1` |
//! | [`Method::LeastAbsolute`] | the line with the least sum of absolute deviations | few packets wait long | seed 001, `-k2` |
//! | [`Method::LeastAbsoluteJumps`] | the same between jumps of the clock | a clock is set by a fixed amount now and then | seed 001, `-k3` (the way of finding them is ours) |
//! | [`Method::Hull`] | the line below all delays and closest to them | some packets do not wait, the rate is constant | Moon, Skelly, Towsley 1999; Zhang, Liu, Xia 2002 |
//! | [`Method::Khlifi`] | a hull for each window, smoothed | online, rates that change slowly | Khlifi, Gregoire 2006; seed 004, equation (1) |
//! | [`Method::Piecewise`] | floors between events, in both directions | steps, slews, path changes, losses, outliers, wander | ours |
//!
//! An [`Estimator`] takes packets one by one, as they come or from a log, and can be asked at any time.
//! Times are whole nanoseconds; what decides the course of a hull is computed in 128-bit integers, so that nothing
//! overflows or rounds for a hundred years.

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
mod estimator;
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
mod sizes;
mod survey;
mod tails;
mod unrest;
mod wander;
mod whose;

pub use correction::{Correction, Leg};
pub use estimator::{ChangeKind, ClockChange, Estimate, Estimator, Heading, Skew};
pub use hull::{Hull, Point};
pub use method::{Method, MethodError};
pub use relating::{
    Both, InTurn, calibrated_until, correct, estimate, for_calibration, method_of, put_right, sharpen,
    sharpened, so_far, state, usable, usable_of,
};
pub use resolution::{Resolution, Step};
pub use set_back::SetBack;

/// The farthest that two moments, or two raw delays, of one estimation may lie apart: 146 years. What is beyond is not
/// used. Products of such differences, and sums of two of them, fit 128 bits.
pub const REACH_NS: i64 = 1 << 62;

/// A float as the nearest whole number; beyond the range, its end.
#[expect(clippy::cast_possible_truncation, reason = "a float beyond the range becomes its end")]
pub fn rounded(value: f64) -> i64 {
    // A call to round takes longer than the rest: from 2^52 on there is nothing to round, and below it the part is exact.
    let whole = value as i64;
    let part = value - whole as f64;
    whole.saturating_add(i64::from(part >= 0.5)).saturating_sub(i64::from(part <= -0.5))
}

/// The nearest float of a wide integer.
pub(crate) fn float(value: i128) -> f64 {
    value as f64
}

/// The nearest float of a number of things.
pub(crate) fn many(value: usize) -> f64 {
    value as f64
}

/// The median of `values`, which are put in another order; 0 of nothing.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let (middle, odd) = (values.len() / 2, values.len() % 2 == 1);
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if odd {
        return upper;
    }
    let lower = below.iter().copied().max_by(f64::total_cmp).unwrap_or(upper);
    f64::midpoint(lower, upper)
}

/// The deviation of values about 0, by the median of how far off they are: that of a normal law, whatever a few of them are.
pub(crate) fn scatter(values: impl IntoIterator<Item = f64>) -> f64 {
    1.4826 * median(&mut values.into_iter().map(f64::abs).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn rounding_is_that_of_the_library() {
        let mut values =
            vec![0.0, 0.5, 0.49999999999999994, 1.5, 2.5, 1e15 + 0.5, 4.5e15, 9.3e18, 1e300, f64::NAN];
        values.extend((0..2_000).map(|n| f64::from(n) * 0.125 - 100.0));
        for value in values.into_iter().flat_map(|value| [value, -value]) {
            #[expect(clippy::cast_possible_truncation, reason = "as the function has it")]
            let expected = value.round() as i64;
            assert_eq!(rounded(value), expected, "{value}");
        }
    }
}
