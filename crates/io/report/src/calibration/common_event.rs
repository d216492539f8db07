//! The difference of two clocks by common events as text.

use romer_record::calibration::ClockDifference;
use romer_units::Duration;

use crate::number::{count, maybe_time};
use crate::text::TextStyle;

/// The difference as text, which ends with a newline.
pub fn text(found: &ClockDifference, style: &TextStyle) -> String {
    let title = "Common events: clock of the second host minus clock of the first";
    let title = if style.color { format!("\x1b[1m{title}\x1b[0m") } else { title.to_owned() };
    let time = |nanos: Option<f64>| maybe_time(nanos, style.unicode).replace('\u{a0}', " ");
    let bound = |nanos: Option<i64>| {
        nanos.map_or_else(|| "none".to_owned(), |nanos| Duration::from_nanos(nanos).rounded())
    };
    let difference = &found.difference_ns;
    let [only_first, only_second] = found.unmatched;
    let [first, second] = found.bounds_ns;
    let verdict = match found.is_within_bounds() {
        Some(true) => "the median is within the sum of both bounds",
        Some(false) => "the median is beyond the sum of both bounds",
        None => "a host states no bound",
    };
    format!(
        "{title}\nevents       {} in both files; {} only in the first, {} only in the second\ndifference   median {}; p25 {}, p75 {}; \
         minimum {}, maximum {}\nbounds       first {}, second {}: {verdict}\n",
        count(difference.count),
        count(only_first),
        count(only_second),
        time(difference.median),
        time(difference.p25),
        time(difference.p75),
        time(difference.min),
        time(difference.max),
        bound(first),
        bound(second)
    )
}

#[cfg(test)]
mod tests {
    use romer_record::document::Summary;

    use super::*;

    /// The text has the difference beside the bounds, and says whether they hold.
    #[test]
    fn difference_beside_bounds() {
        let style = TextStyle { color: false, ..TextStyle::default() };
        let of = |median, bounds_ns| {
            let difference_ns = Summary { count: 2, median: Some(median), ..Summary::default() };
            text(&ClockDifference { difference_ns, unmatched: [1, 0], bounds_ns }, &style)
        };
        let within = of(-2.5e6, [Some(1_000_000), Some(2_000_000)]);
        assert!(within.contains("2 in both files; 1 only in the first, 0 only in the second"), "{within}");
        assert!(
            within.contains("bounds       first 1.00 ms, second 2.00 ms: the median is within"),
            "{within}"
        );
        assert!(of(3.5e6, [Some(1_000_000), Some(2_000_000)]).contains("the median is beyond"));
        assert!(of(3.5e6, [Some(1_000_000), None]).contains("second none: a host states no bound"));
    }
}
