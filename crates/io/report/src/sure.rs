//! How sure a median is, as it is shown behind it: one rule for terminals and pages.

use romer_record::document::Summary;

use crate::number::{NO_BREAK, parts_with_half, time};

/// How the 95 % confidence interval of a median is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum MedianInterval {
    /// Plus or minus so much, nanoseconds: as far as the interval reaches from the median, to the side where it reaches further,
    /// so that not too much is promised where it is lopsided.
    Within(f64),
    /// The interval itself. It reaches as far as the median is long, or further: behind a plus-minus that would say nothing.
    Between([f64; 2]),
    /// So few values do not tell.
    NotKnown,
}

impl MedianInterval {
    /// Of the median of `delay`; `None` where there is none.
    pub(crate) fn from_summary(delay: &Summary) -> Option<Self> {
        let median = delay.median?;
        let Some([low, high]) = delay.median_interval else { return Some(Self::NotKnown) };
        let reach = (high - median).max(median - low);
        // Values that are all alike have an interval of nothing, also where they are 0.
        Some(if reach <= 0.0 || reach < median.abs() {
            Self::Within(reach)
        } else {
            Self::Between([low, high])
        })
    }

    /// How far a plus-minus reaches, where one is shown.
    pub(crate) const fn half(self) -> Option<f64> {
        match self {
            Self::Within(half) => Some(half),
            Self::Between(_) | Self::NotKnown => None,
        }
    }
}

/// The median with its confidence interval: `121.8 µs (95 % CI ±0.7)`, `27.0 µs (95 % CI 26.5 µs to 697 ms)`,
/// `27.0 µs (no CI: too few independent packets)`. `None` where there is none.
pub(crate) fn median(delay: &Summary, unicode: bool) -> Option<String> {
    let median = delay.median?;
    let alone = time(median, unicode);
    Some(match MedianInterval::from_summary(delay)? {
        MedianInterval::Within(half) => {
            let [median, half, unit] = parts_with_half(median, half, unicode);
            let sign = if unicode { "±" } else { "+-" };
            format!("{median}{NO_BREAK}{unit} (95{NO_BREAK}% CI {sign}{half})")
        }
        MedianInterval::Between([low, high]) => {
            format!("{alone} (95{NO_BREAK}% CI {} to {})", time(low, unicode), time(high, unicode))
        }
        MedianInterval::NotKnown if delay.count == 1 => format!("{alone} (1 packet)"),
        MedianInterval::NotKnown => format!("{alone} (no CI: too few independent packets)"),
    })
}

/// The end of an interval that is the farther from the median, as it stands in a table: `≤ 697 ms`.
pub(crate) fn farther([low, high]: [f64; 2], median: f64, unicode: bool) -> String {
    let (sign, end) = match (high - median >= median - low, unicode) {
        (true, true) => ("≤", high),
        (true, false) => ("<=", high),
        (false, true) => ("≥", low),
        (false, false) => (">=", low),
    };
    format!("{sign}{NO_BREAK}{}", time(end, unicode))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(count: u64, median: f64, interval: Option<[f64; 2]>) -> Summary {
        Summary { count, median: Some(median), median_interval: interval, ..Summary::default() }
    }

    #[test]
    fn an_interval_that_reaches_further_than_the_median_is_told_by_its_ends_and_not_by_a_plus_minus() {
        for (count, median_ns, interval, sure, text) in [
            (
                900,
                121_800.0,
                Some([121_300.0, 122_483.0]),
                MedianInterval::Within(683.0),
                "121.8 µs (95 % CI ±0.7)",
            ),
            (
                9,
                27_000.0,
                Some([26_500.0, 696_713_800.0]),
                MedianInterval::Between([26_500.0, 696_713_800.0]),
                "27.0 µs (95 % CI 26.5 µs to 697 ms)",
            ),
            (
                9,
                27_000.0,
                Some([0.0, 30_000.0]),
                MedianInterval::Between([0.0, 30_000.0]),
                "27.0 µs (95 % CI 0 ns to 30.0 µs)",
            ),
            (9, 27_000.0, Some([27_000.0; 2]), MedianInterval::Within(0.0), "27.0 µs (95 % CI ±0.0)"),
            (9, 0.0, Some([0.0; 2]), MedianInterval::Within(0.0), "0 ns (95 % CI ±0)"),
            (9, 0.0, Some([0.0, 5.0]), MedianInterval::Between([0.0, 5.0]), "0 ns (95 % CI 0 ns to 5 ns)"),
            (3, 27_000.0, None, MedianInterval::NotKnown, "27.0 µs (no CI: too few independent packets)"),
            (1, 27_000.0, None, MedianInterval::NotKnown, "27.0 µs (1 packet)"),
        ] {
            let delay = summary(count, median_ns, interval);
            assert_eq!(MedianInterval::from_summary(&delay), Some(sure));
            assert_eq!(median(&delay, true).unwrap().replace(NO_BREAK, " "), text);
        }
        assert_eq!(MedianInterval::from_summary(&Summary::default()), None);
    }

    #[test]
    fn a_table_has_the_farther_end() {
        let farther = |ends, unicode| farther(ends, 27_000.0, unicode).replace(NO_BREAK, " ");
        assert_eq!(farther([26_500.0, 696_713_800.0], true), "≤ 697 ms");
        assert_eq!(farther([26_500.0, 696_713_800.0], false), "<= 697 ms");
        assert_eq!(farther([0.0, 30_000.0], true), "≥ 0 ns");
    }
}
