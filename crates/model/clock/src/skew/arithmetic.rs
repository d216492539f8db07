//! Numbers as all methods compute with them: rounding, conversion, medians.

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
