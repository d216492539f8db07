//! Histograms with round edges.

use romer_record::document::Histogram;

use crate::value::{Whole, real, to_usize};

/// Most bins.
const MOST_BINS: i128 = 200;
/// This share of the values at either end may fall into a wide bin, so that a few outliers do not flatten the
/// rest.
const TAIL: f64 = 0.001;

/// The histogram of `values`, at most 200 bins with whole nanoseconds for edges.
///
/// The bins' width is that of Freedman and Diaconis, 2 IQR / n^(1/3), rounded down to 1, 2 or 5 times a power of ten,
/// and their edges are multiples of it. Where the values reach further than 200 such bins, the bins cover the
/// values between the 0.1 % and the 99.9 % quantile and what else they reach, and the first and the last bin are as wide as it takes to
/// hold the rest; where that is not enough, the width grows to the next round number. Each bin holds the values
/// from its lower edge on and below its upper one; the last holds its upper edge too.
pub fn histogram(values: &[i64]) -> Histogram {
    of_sorted(&crate::sort::ascending(values))
}

/// The same of values that are ascending.
pub(crate) fn of_sorted<V: Whole>(sorted: &[V]) -> Histogram {
    let (Some(least), Some(greatest)) = (sorted.first(), sorted.last()) else { return Histogram::default() };
    let edges = edges(sorted, least.nanos(), greatest.nanos());
    let below = |edge: i64| sorted.partition_point(|value| value.nanos() < edge);
    let last = edges.len().saturating_sub(2);
    let counts = edges.windows(2).enumerate().map(|(bin, pair)| {
        let end = if bin == last { sorted.len() } else { below(pair[1]) };
        (end - below(pair[0])) as u64
    });
    let counts = counts.collect();
    Histogram { bin_edges_ns: edges, counts }
}

/// Ascending edges; the first is at most `least`, the last at least `greatest`.
fn edges<V: Whole>(sorted: &[V], least: i64, greatest: i64) -> Vec<i64> {
    let at = |share: f64| sorted[to_usize(share * real(sorted.len() - 1))].nanos();
    let mut width = round_width(freedman_diaconis(sorted));
    if bins(least, greatest, width) <= MOST_BINS {
        return multiples(least, greatest, width);
    }
    let (low, high) = (at(TAIL), at(1.0 - TAIL));
    // Two bins are kept for what lies outside.
    while bins(low, high, width) > MOST_BINS - 2 {
        width = next_width(width);
    }
    let (low, high) = stretched(sorted, low, high, width);
    let mut edges = multiples(low, high, width);
    if edges.first().is_some_and(|first| least < *first) {
        edges.insert(0, least);
    }
    if edges.last().is_some_and(|last| greatest > *last) {
        edges.push(greatest);
    }
    edges
}

/// The values furthest out on either side that the bins left over can still reach.
fn stretched<V: Whole>(sorted: &[V], low: i64, high: i64, width: u64) -> (i64, i64) {
    let spare = (MOST_BINS - 2 - bins(low, high, width)) / 2 * i128::from(width);
    let from = sorted.partition_point(|value| i128::from(value.nanos()) < i128::from(low) - spare);
    let to = sorted.partition_point(|value| i128::from(value.nanos()) <= i128::from(high) + spare);
    (sorted[from].nanos(), sorted[to - 1].nanos())
}

/// The width in nanoseconds by the rule, at least 1.
fn freedman_diaconis<V: Whole>(sorted: &[V]) -> u64 {
    let n = sorted.len();
    let spread = sorted[n * 3 / 4].above(sorted[n / 4]);
    #[expect(clippy::cast_precision_loss, reason = "the width is rounded to one digit")]
    let width = 2.0 * spread as f64 / real(n).cbrt();
    (to_usize(width) as u64).max(1)
}

/// The greatest of 1, 2, 5, 10, 20, 50, ... that is not above `width`.
fn round_width(width: u64) -> u64 {
    let power = 10_u64.pow(width.max(1).ilog10());
    let fits = |digit: &u64| power.checked_mul(*digit).is_some_and(|round| round <= width);
    power * [5, 2].into_iter().find(fits).unwrap_or(1)
}

/// The round width after `width`, which is one.
fn next_width(width: u64) -> u64 {
    let power = 10_u64.pow(width.ilog10());
    match width / power {
        1 => power.saturating_mul(2),
        2 => power.saturating_mul(5),
        _ => power.saturating_mul(10),
    }
}

/// The multiple of `width` at or below `value`.
fn floor(value: i64, width: u64) -> i128 {
    let width = i128::from(width);
    i128::from(value).div_euclid(width) * width
}

/// Bins of `width` that hold everything from `low` to `high`.
fn bins(low: i64, high: i64, width: u64) -> i128 {
    (floor(high, width) - floor(low, width)) / i128::from(width) + 1
}

/// Multiples of `width` from at or below `low` to above `high`, kept within the range of the integers.
fn multiples(low: i64, high: i64, width: u64) -> Vec<i64> {
    let within = |edge: i128| i64::try_from(edge.clamp(i64::MIN.into(), i64::MAX.into())).unwrap_or_default();
    let first = floor(low, width);
    let mut edges: Vec<i64> =
        (0..=bins(low, high, width)).map(|n| within(first + n * i128::from(width))).collect();
    edges.dedup();
    if edges.len() == 1 {
        edges.insert(0, edges[0] - 1);
    }
    edges
}
