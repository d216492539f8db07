//! The numbers that samples are made of, and whole numbers as real ones.

use std::borrow::Cow;

use crate::sort;

/// A number that a sample is made of.
pub trait Value: Copy {
    /// The number as the statistics count it.
    fn value(self) -> f64;

    /// The values that are finite, in the order in which they were measured.
    fn finite(values: &[Self]) -> Cow<'_, [Self]>;

    /// Finite values, ascending.
    fn ascending(values: &[Self]) -> Vec<Self>;
}

impl Value for i64 {
    #[expect(clippy::cast_precision_loss, reason = "exact below 2^53, which is 104 days of nanoseconds")]
    fn value(self) -> f64 {
        self as f64
    }

    fn finite(values: &[Self]) -> Cow<'_, [Self]> {
        Cow::Borrowed(values)
    }

    fn ascending(values: &[Self]) -> Vec<Self> {
        sort::ascending(values)
    }
}

impl Value for f64 {
    fn value(self) -> f64 {
        self
    }

    fn finite(values: &[Self]) -> Cow<'_, [Self]> {
        if values.iter().all(|value| value.is_finite()) {
            return Cow::Borrowed(values);
        }
        Cow::Owned(values.iter().copied().filter(|value| value.is_finite()).collect())
    }

    fn ascending(values: &[Self]) -> Vec<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    }
}

/// `value`, unless it is not a finite number.
pub(crate) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// A count as a real number.
#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
pub(crate) const fn real(count: usize) -> f64 {
    count as f64
}

/// The whole part of a number that is not negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the whole part is what is wanted"
)]
pub(crate) const fn whole(value: f64) -> usize {
    value as usize
}
