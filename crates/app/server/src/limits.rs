//! Limits of a measurement that do not hold, in words.

use romer_record::document::Limit;
use romer_record::metric::Unit;

/// The limits of streams that do not hold, in words. Of a measurement that has ended before its time, what is not known
/// may still hold.
pub(crate) fn broken(streams: &[(&str, &[Limit])], partial: bool) -> Vec<String> {
    let each = streams.iter().flat_map(|(target, limits)| limits.iter().map(move |limit| (target, limit)));
    let broken = each.filter(|(_, limit)| !limit.held && (limit.value.is_some() || !partial));
    broken
        .map(|(target, limit)| {
            let target = if streams.len() > 1 { format!("{target}: ") } else { String::new() };
            format!("{target}{}, and the value is {}", limit.limit, value_of(limit))
        })
        .collect()
}

/// A limit's value with the unit of its number: times in the document are nanoseconds, shares are of 1.
fn value_of(limit: &Limit) -> String {
    match (limit.value, romer_record::limit::unit(&limit.limit)) {
        (None, _) => "not known".into(),
        (Some(value), Some(Unit::Time)) => romer_report::maybe_time(Some(value), true),
        (Some(value), Some(Unit::Ratio)) => romer_report::percent(value),
        (Some(value), _) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_do_not_hold_are_told_with_the_value_in_its_unit() {
        let limit = |limit: &str, value, held| Limit { limit: limit.into(), value, held };
        let limits = [
            limit("round_trip.delay_ns.p99<1ms", Some(57_300_000.0), false),
            limit("forward.loss.ratio<1%", Some(0.1), false),
            limit("forward.delay_ns.count>9", Some(3.0), false),
            limit("reverse.packets.lost<1", Some(0.0), true),
            limit("reverse.delay_ns.max<1s", None, false),
        ];
        let told = broken(&[("there", &limits)], false).join("\n").replace('\u{a0}', " ");
        assert_eq!(
            told,
            "round_trip.delay_ns.p99<1ms, and the value is 57.3 ms\nforward.loss.ratio<1%, and the value is 10.0 %\n\
             forward.delay_ns.count>9, and the value is 3\nreverse.delay_ns.max<1s, and the value is not known"
        );
        assert_eq!(
            broken(&[("there", &limits), ("here", &limits)], true).len(),
            6,
            "of a part what is not known may still hold"
        );
    }
}
