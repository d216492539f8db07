//! Limits of a measurement that do not hold, in words.

use romer_record::document::Limit;

/// The limits of streams that do not hold, in words. Of a measurement that has ended before its time, what is not known
/// may still hold.
pub(crate) fn broken(streams: &[(&str, &[Limit])], partial: bool) -> Vec<String> {
    let each = streams.iter().flat_map(|(target, limits)| limits.iter().map(move |limit| (target, limit)));
    let broken = each.filter(|(_, limit)| !limit.passed && (limit.value.is_some() || !partial));
    broken
        .map(|(target, limit)| {
            let target = if streams.len() > 1 { format!("{target}: ") } else { String::new() };
            let value = romer_report::limit_value(limit).unwrap_or_else(|| "unknown".into());
            format!("{target}{}, measured {value}", limit.limit)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An exceeded limit is reported with the measured value and its unit.
    #[test]
    fn exceeded_limits_state_the_value() {
        let limit = |limit: &str, value, passed| Limit { limit: limit.into(), value, passed };
        let limits = [
            limit("round_trip.delay_ns.p99<1ms", Some(57_300_000.0), false),
            limit("forward.loss.ratio<1%", Some(0.1), false),
            limit("forward.delay_ns.count>9", Some(3.0), false),
            limit("reverse.packets.lost<1", Some(0.0), true),
            limit("reverse.delay_ns.max<1s", None, false),
        ];
        let told = broken(&[("there", &limits)], false).join("\n");
        assert_eq!(
            told,
            "round_trip.delay_ns.p99<1ms, measured 57.3 ms\nforward.loss.ratio<1%, measured 10.0 %\n\
             forward.delay_ns.count>9, measured 3\nreverse.delay_ns.max<1s, measured unknown"
        );
        assert_eq!(
            broken(&[("there", &limits), ("here", &limits)], true).len(),
            6,
            "of a part what is not known may still hold"
        );
    }
}
