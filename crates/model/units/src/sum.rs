//! Sums of counts that may be any number, as in files and reports of peers.

use core::borrow::Borrow;

/// The sum of counts, or the largest count where the sum is beyond it.
///
/// ```
/// use romer_units::saturating_sum;
/// assert_eq!(saturating_sum([1, 2]), 3);
/// assert_eq!(saturating_sum(&[u64::MAX, 1]), u64::MAX);
/// ```
pub fn saturating_sum<T: Borrow<u64>>(counts: impl IntoIterator<Item = T>) -> u64 {
    counts.into_iter().fold(0, |sum, count| sum.saturating_add(*count.borrow()))
}
