//! Delays by time stamps that are multiples of a unit.
//!
//! Each of the two stamps of a delay is late or early by less than the unit, and always by the same where packets leave at multiples of
//! it. So the mean and the quantiles of delays are known to one unit however many packets there are, and those of differences of two
//! delays to two.

use romer_record::document::{DelayKind, DirectionResults, Measurement, Summary};
use romer_record::warning::MeasurementWarning;
use romer_singletons::StreamSingletons;

/// A unit is noted from so small a part of the median delay on.
const SHARE_OF_DELAY: f64 = 0.01;
/// Where only the variation of a delay is known, from so small a part of its interquartile range on.
const SHARE_OF_VARIATION: f64 = 0.1;

/// The unit of the stamps of each direction: forward, reverse, round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units([i64; 3]);

impl Units {
    /// As the stamps show it, before any is corrected.
    pub(super) fn new(resolutions_ns: [i64; 2], related: &StreamSingletons) -> Self {
        let [both, sender] = resolutions_ns.map(|unit| if unit > 1 { unit } else { 0 });
        let has_both = !related.far_stamps_wrong && !related.one_way_refused;
        let one_way = if has_both { both } else { 0 };
        let round_trip = if related.far_time_unknown || !has_both { sender } else { both.max(sender) };
        Self([one_way, one_way, round_trip])
    }

    /// Widens the intervals of delays and of their differences.
    pub(super) fn widen(self, directions: [&mut DirectionResults; 3]) {
        for (direction, unit) in directions.into_iter().zip(self.0.map(|unit| unit as f64)) {
            widen(&mut direction.delay_ns, unit);
            widen(&mut direction.ipdv_ns, 2.0 * unit);
            widen(&mut direction.pdv_ns, 2.0 * unit);
        }
    }

    /// That the unit is not small beside the delays.
    pub(super) fn note(self, measurement: &Measurement) -> Option<MeasurementWarning> {
        let [forward, reverse, round_trip] =
            [&measurement.forward, &measurement.reverse, &measurement.round_trip];
        let share = |direction: &DirectionResults, unit: i64| {
            let delay = &direction.delay_ns;
            let is_absolute = direction.delay_kind == Some(DelayKind::Absolute);
            let least =
                if is_absolute { delay.median? * SHARE_OF_DELAY } else { delay.iqr? * SHARE_OF_VARIATION };
            (unit > 0 && unit as f64 >= least).then_some(unit)
        };
        // A round trip says how long the path is. Without one, each direction speaks for itself.
        let found = if round_trip.delay_ns.count > 0 {
            share(round_trip, self.0[2])
        } else {
            share(forward, self.0[0]).into_iter().chain(share(reverse, self.0[1])).max()
        };
        found.map(|resolution_ns| MeasurementWarning::TimeStampsCoarse { resolution_ns })
    }
}

fn widen(summary: &mut Summary, by: f64) {
    // What is never below zero is not below it by coarser stamps.
    let floor = if summary.min.is_some_and(|min| min >= 0.0) { 0.0 } else { f64::NEG_INFINITY };
    let intervals = [
        &mut summary.mean_interval,
        &mut summary.median_interval,
        &mut summary.p95_interval,
        &mut summary.p99_interval,
    ];
    for interval in intervals.into_iter().flatten() {
        *interval = [(interval[0] - by).max(floor.min(interval[0])), interval[1] + by];
    }
}
