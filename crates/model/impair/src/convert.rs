//! The few conversions between integers and real numbers, each with why nothing is lost by it.

use crate::nanos::Nanos;

/// A length of time as a real number: exact below 2^53 ns, which is 104 days.
pub(crate) const fn real(nanos: Nanos) -> f64 {
    nanos as f64
}

/// A count as a real number.
pub(crate) const fn count(number: u64) -> f64 {
    number as f64
}

/// To the nearest nanosecond; not a number gives 0, and what is too large the largest.
#[expect(clippy::cast_possible_truncation, reason = "saturates at the ends of the range of time")]
pub(crate) fn nanos(value: f64) -> Nanos {
    libm::round(value) as Nanos
}

/// The number in the open interval (0, 1) that the upper 53 bits of `word` stand for.
pub(crate) const fn open_unit(word: u64) -> f64 {
    ((word >> 11) as f64 + 0.5) * (1.0 / 9_007_199_254_740_992.0)
}

/// One of the integers below `bound`, each as likely as the others to within 2^-32; 0 where `bound` is 0.
pub(crate) fn below(word: u64, bound: u32) -> u32 {
    let product = u128::from(word) * u128::from(bound);
    u32::try_from(product >> 64).unwrap_or(0)
}

/// The whole number below a place in a table; 0 below 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates at the ends")]
pub(crate) const fn index(place: f64) -> usize {
    place as usize
}
