//! The delays of a direction as detectors look at them.

use romer_record::OneWaySingleton;

use crate::sample::{delay, received};
use crate::value::{Value as _, real, to_usize};

/// Of longer streams the first so many packets are looked at, so that looking takes a second at most.
pub const LOOKED_AT: usize = 1 << 20;
/// Fewer packets than this show nothing.
pub(super) const FEWEST: usize = 60;

/// A direction's packets that have a delay, in order of departure.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DelaySeries {
    /// Departures after the first one, nanoseconds.
    pub(super) at: Vec<f64>,
    /// Delays, nanoseconds.
    pub(super) delay: Vec<f64>,
    /// Numbers of the packets.
    pub(super) sequence: Vec<u64>,
    /// The median time between two departures.
    pub(super) interval: f64,
    /// What the coarser of both ends' stamps can tell apart.
    pub(super) resolution: f64,
    /// How far the clocks' rate may be off that is taken out of the delays, at 95 %: as a share of the time.
    pub(super) rate_error: f64,
}

/// Stamps by which their resolution is told.
pub(super) const STAMPS: usize = 4_096;

/// The greatest length of which all times between these moments are multiples, nanoseconds; 0 where they are one.
fn resolution(moments: impl Iterator<Item = i64>) -> u64 {
    let (mut found, mut before) = (0, None);
    for moment in moments.take(STAMPS) {
        let apart = before.replace(moment).map_or(0, |before: i64| moment.abs_diff(before));
        let (mut a, mut b) = (found, apart);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        found = a;
        if found == 1 {
            break;
        }
    }
    found
}

impl DelaySeries {
    pub(super) fn from_singletons(singletons: &[OneWaySingleton]) -> Self {
        let first = crate::sample::sent(singletons).filter_map(|singleton| singleton.departure).min();
        let stamped = received(singletons)
            .filter_map(|singleton| Some((singleton.departure?, delay(singleton)?, singleton)));
        let mut rows: Vec<(i64, i64, u64)> = stamped
            .take(LOOKED_AT)
            .map(|(departure, delay, singleton)| {
                (first.map_or(0, |first| (departure - first).as_nanos()), delay, singleton.sequence)
            })
            .collect();
        rows.sort_unstable();
        let mut gaps: Vec<i64> = rows.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        let moments =
            |pick: fn(&OneWaySingleton) -> Option<i64>| resolution(received(singletons).filter_map(pick));
        let departures = moments(|singleton| Some(singleton.departure?.as_nanos()));
        let arrivals = moments(|singleton| Some(singleton.arrival?.as_nanos()));
        let middle = gaps.len() / 2;
        let interval = if gaps.is_empty() { 0 } else { *gaps.select_nth_unstable(middle).1 };
        // Packets that leave at equal times show when they leave, and not what their clock tells apart.
        let departures = if departures == interval.unsigned_abs() { 0 } else { departures };
        Self {
            at: rows.iter().map(|row| row.0.value()).collect(),
            delay: rows.iter().map(|row| row.1.value()).collect(),
            sequence: rows.iter().map(|row| row.2).collect(),
            interval: interval.value(),
            resolution: i64::try_from(departures.max(arrivals)).unwrap_or(i64::MAX).value(),
            rate_error: 0.0,
        }
    }
}

/// The quantile `p` of `values`, which are put in another order; 0 of nothing.
pub(super) fn quantile(values: &mut [f64], p: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let place = to_usize(p * real(values.len() - 1));
    *values.select_nth_unstable_by(place, f64::total_cmp).1
}
