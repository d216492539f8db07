//! The numbers that samples are made of, and whole numbers as real ones.

use std::borrow::Cow;
use std::ops::Range;

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

impl Value for i32 {
    fn value(self) -> f64 {
        self.into()
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

/// A whole number of nanoseconds.
pub trait Whole: Value + Ord + Default {
    /// In 64 bits.
    fn nanos(self) -> i64;

    /// By how much it lies above `least`, which is no greater.
    fn above(self, least: Self) -> u64;

    /// The difference, or the end of the range beyond it.
    fn less(self, other: Self) -> Self;

    /// Without its sign.
    fn size(self) -> Self;
}

impl Whole for i64 {
    fn nanos(self) -> i64 {
        self
    }

    fn above(self, least: Self) -> u64 {
        self.abs_diff(least)
    }

    fn less(self, other: Self) -> Self {
        self.saturating_sub(other)
    }

    fn size(self) -> Self {
        self.saturating_abs()
    }
}

impl Whole for i32 {
    fn nanos(self) -> i64 {
        self.into()
    }

    fn above(self, least: Self) -> u64 {
        self.abs_diff(least).into()
    }

    fn less(self, other: Self) -> Self {
        self.saturating_sub(other)
    }

    fn size(self) -> Self {
        self.saturating_abs()
    }
}

/// The values of a sample, in measured or in sorted order.
pub(crate) trait SampleValues: Copy {
    /// How many there are.
    fn count(self) -> usize;

    /// The one at `place`, which is below the count.
    fn at(self, place: usize) -> f64;

    /// Those at these places.
    fn part(self, places: Range<usize>) -> Self;

    /// All.
    fn iter(self) -> impl Iterator<Item = f64>;

    /// So many from the middle, or all.
    fn middle(self, most: usize) -> Self {
        let (all, count) = (self.count(), self.count().min(most));
        let from = (all - count) / 2;
        self.part(from..from + count)
    }
}

impl<V: Value> SampleValues for &[V] {
    fn count(self) -> usize {
        self.len()
    }

    fn at(self, place: usize) -> f64 {
        self[place].value()
    }

    fn part(self, places: Range<usize>) -> Self {
        &self[places]
    }

    fn iter(self) -> impl Iterator<Item = f64> {
        <[V]>::iter(self).map(|value| value.value())
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
pub(crate) const fn to_usize(value: f64) -> usize {
    value as usize
}
