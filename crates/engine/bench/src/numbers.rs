//! Counts as numbers, and numbers as counts.

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
pub(crate) const fn real(count: u64) -> f64 {
    count as f64
}

/// A number of frames, rounded up.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of frames, rounded up")]
pub(crate) const fn to_u64(value: f64) -> u64 {
    value.ceil() as u64
}

/// Whether two loads are one.
pub(crate) fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}
