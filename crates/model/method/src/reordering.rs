//! The order of frames within their flows.

use std::collections::HashMap;

use romer_metrics::in_order_of_arrival;
use romer_record::OneWaySingleton;

/// Frames that came after one of their own flow with a higher number (RFC 4737, Type-P-Reordered, where the type is the flow): a
/// device may send different flows by different ways. `flows`: which one each frame is of.
pub(crate) fn reordered_within_flows(singletons: &[OneWaySingleton], flows: &[u64]) -> u64 {
    let mut highest: HashMap<u64, u64> = HashMap::new();
    let mut reordered = 0;
    for singleton in in_order_of_arrival(singletons) {
        let flow = usize::try_from(singleton.sequence).ok().and_then(|place| flows.get(place));
        let highest = highest.entry(flow.copied().unwrap_or(0)).or_insert(singleton.sequence);
        reordered += u64::from(singleton.sequence < *highest);
        *highest = singleton.sequence.max(*highest);
    }
    reordered
}
