//! How sure a median is, as it is shown behind it: one rule for terminals, pages and sentences.

use romer_record::document::Summary;

use crate::number::{NO_BREAK, counted, time, time_with_half};

/// What the 95 % interval of a median allows to be said of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sure {
    /// Plus or minus so much, nanoseconds: as far as the interval reaches from the median, to the side where it reaches further,
    /// so that not too much is promised where it is lopsided.
    Within(f64),
    /// The interval itself. It reaches as far as the median is long, or further: behind a plus-minus that would say nothing.
    Between([f64; 2]),
    /// So few values do not tell.
    NotKnown,
}

impl Sure {
    /// Of the median of `delay`; `None` where there is none.
    pub(crate) fn of(delay: &Summary) -> Option<Self> {
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

/// The median with how sure it is, in a sentence about `one` such packet or several: `121.8 ± 0.7 µs`,
/// `27.0 µs (95 %: 26.5 µs to 697 ms)`, `27.0 µs (3 probes: too few, or too dependent, for a confidence interval)`. `None` where there is none.
pub(crate) fn median(delay: &Summary, one: &str, unicode: bool) -> Option<String> {
    let median = delay.median?;
    let alone = time(median, unicode);
    Some(match Sure::of(delay)? {
        Sure::Within(half) => time_with_half(median, half, unicode),
        Sure::Between([low, high]) => {
            format!("{alone} (95{NO_BREAK}%: {} to {})", time(low, unicode), time(high, unicode))
        }
        Sure::NotKnown => {
            let those = counted(delay.count, one, &format!("{one}s"));
            format!("{alone} ({those}: too few, or too dependent, for a confidence interval)")
        }
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
            (900, 121_800.0, Some([121_300.0, 122_483.0]), Sure::Within(683.0), "121.8 ± 0.7 µs"),
            (
                9,
                27_000.0,
                Some([26_500.0, 696_713_800.0]),
                Sure::Between([26_500.0, 696_713_800.0]),
                "27.0 µs (95 %: 26.5 µs to 697 ms)",
            ),
            (
                9,
                27_000.0,
                Some([0.0, 30_000.0]),
                Sure::Between([0.0, 30_000.0]),
                "27.0 µs (95 %: 0 ns to 30.0 µs)",
            ),
            (9, 27_000.0, Some([27_000.0; 2]), Sure::Within(0.0), "27.0 ± 0.0 µs"),
            (9, 0.0, Some([0.0; 2]), Sure::Within(0.0), "0 ± 0 ns"),
            (9, 0.0, Some([0.0, 5.0]), Sure::Between([0.0, 5.0]), "0 ns (95 %: 0 ns to 5 ns)"),
            (
                3,
                27_000.0,
                None,
                Sure::NotKnown,
                "27.0 µs (3 probes: too few, or too dependent, for a confidence interval)",
            ),
            (
                1,
                27_000.0,
                None,
                Sure::NotKnown,
                "27.0 µs (1 probe: too few, or too dependent, for a confidence interval)",
            ),
        ] {
            let delay = summary(count, median_ns, interval);
            assert_eq!(Sure::of(&delay), Some(sure));
            assert_eq!(median(&delay, "probe", true).unwrap().replace(NO_BREAK, " "), text);
        }
        assert_eq!(Sure::of(&Summary::default()), None);
    }

    #[test]
    fn a_table_has_the_farther_end() {
        let farther = |ends, unicode| farther(ends, 27_000.0, unicode).replace(NO_BREAK, " ");
        assert_eq!(farther([26_500.0, 696_713_800.0], true), "≤ 697 ms");
        assert_eq!(farther([26_500.0, 696_713_800.0], false), "<= 697 ms");
        assert_eq!(farther([0.0, 30_000.0], true), "≥ 0 ns");
    }
}
